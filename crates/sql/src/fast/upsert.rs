//! INSERT of one row with ON CONFLICT DO UPDATE by the primary key.
//!
//! The engine changes the row that has the key without reading it where it can, or inserts the new one. A row that has
//! come between the two, of another transaction, is found in the newest committed state and changed there.

use std::sync::Arc;

use onlap::{Change as ColumnChange, ErrorKind, Isolation, Row, RowId, Time, Transaction, Value};
use onlap_pg::bound::{ExprId, OnConflict};

use super::Source;
use super::change::{Set, added, change_of, changed, written};
use super::insert::{self, Insert};
use super::statement::Statement;
use crate::change::arbiters;
use crate::change::lock_mode;
use crate::error::{Result, SqlError};
use crate::scope::Scope;
use crate::session::Parameter;
use crate::session::answer::Answer;

/// A bound INSERT with ON CONFLICT DO UPDATE.
#[derive(Debug)]
pub struct Upsert {
    /// The new row.
    insert: Insert,
    /// The primary key's index.
    index: String,
    /// The places of its columns.
    key: Vec<usize>,
    /// What columns are set to, by their places.
    set: Vec<(usize, To)>,
}

/// Changes of columns, as the engine takes them.
type Changes<'a> = &'a [(&'a str, ColumnChange)];

/// Tries until another transaction's row is seen.
const TRIES: usize = 1000;

/// What a column of the row that is there becomes.
#[derive(Debug)]
enum To {
    /// What the statement says.
    Given(Set),
    /// What the new row has in a column.
    Excluded(usize),
    /// What it is with the new row's column added (1) or taken away (-1).
    Added(usize, i64),
}

/// Matches an INSERT with ON CONFLICT DO UPDATE; `None` for one that needs more.
pub(super) fn matched(of: &Statement<'_>, source: Source) -> Option<Upsert> {
    let modify = of.modify()?;
    let OnConflict {
        update: true,
        elements: _,
        index_filter: None,
        constraint: _,
        set: assigned,
        filter: None,
        excluded,
    } = modify.conflict.as_ref()?
    else {
        return None;
    };
    if !modify.returning.is_empty() || source.schema.blind {
        return None;
    }
    let insert = insert::matched(of, source)?;
    let schema = &insert.source.schema;
    // The primary key is meant, and no other.
    let target = insert.source.table.schema();
    let arbiters = arbiters(of.tree, modify, &target, crate::formulas::all()).ok()?;
    let [index] = &arbiters[..] else { return None };
    if insert.count() != 1 || !index.primary || index.time() != Time::Statement {
        return None;
    }
    let key: Vec<usize> =
        index.key.iter().map(|part| schema.position(part.column)).collect::<Option<_>>()?;
    if !key.iter().all(|at| *at < schema.columns.len() && insert.gives(*at)) {
        return None;
    }
    let excluded = *excluded;
    let set = assigned.iter().map(|target| {
        let at = written(of, &insert.source, target)?;
        Some((at, becomes(of, &insert.source, at, target.value, excluded)?))
    });
    let set = set.collect::<Option<Vec<_>>>()?;
    let index = index.name.clone();
    Some(Upsert { insert, index, key, set })
}

/// What a column of the row that is there becomes.
fn becomes(
    of: &Statement<'_>,
    source: &Source,
    at: usize,
    value: ExprId,
    excluded: usize,
) -> Option<To> {
    if let Some(from) = of.column_of(value, excluded) {
        return is_like(source, at, from).then_some(To::Excluded(from));
    }
    let ty = source.schema.columns[at].ty;
    let Some((sign, one, other)) = of.sum(value, ty) else {
        return of.given(value, ty, 1).map(|value| To::Given(Set::To(value)));
    };
    let other = match (of.column(one), of.column(other)) {
        (Some(own), None) if own == at => other,
        (None, Some(own)) if own == at && sign > 0 => one,
        _ => return None,
    };
    match of.column_of(other, excluded) {
        Some(from) => is_like(source, at, from).then_some(To::Added(from, sign)),
        None => of.operand(other).map(|other| To::Given(Set::added(sign, other))),
    }
}

/// Whether a column's values are another's as they are.
fn is_like(source: &Source, at: usize, from: usize) -> bool {
    let columns = &source.schema.columns;
    // What a counter will give is not known here.
    columns.get(from).is_some_and(|of| of.ty == columns[at].ty && !of.is_serial())
        && source.types[at].pg == source.types[from].pg
}

impl Upsert {
    /// The table.
    pub(super) fn source(&self) -> &Source {
        &self.insert.source
    }

    /// Runs it; `None` where a value or the transaction's level needs the planner.
    pub fn run(&self, scope: &Arc<Scope>, values: &[Parameter]) -> Result<Option<Answer>> {
        // A row that another transaction has deleted since a snapshot is no conflict, but cannot be updated.
        if scope.tx()?.isolation() != Isolation::ReadCommitted {
            return Ok(None);
        }
        let Some(mut rows) = self.insert.given(scope, values)? else { return Ok(None) };
        let [row] = &rows[..] else { return Ok(None) };
        let Some(changes) = self.changes(row, values)? else { return Ok(None) };
        let key: Vec<Value> = self.key.iter().map(|at| row[*at].clone()).collect();
        if key.contains(&Value::Null) {
            return Ok(None);
        }
        // From here on numbers of sequences are taken: nothing else does the statement.
        self.insert.fill(&mut rows)?;
        let table = &self.source().table;
        let mut tx = scope.tx()?;
        // What may not be inserted is refused also where a row is there already.
        tx.judge_new(table, &rows[0])?;
        let before = tx.savepoint();
        let is_there = match tx.change(table, &key, &changes) {
            Err(e) if e.kind() == ErrorKind::OutOfRange => {
                tx.rollback_to(&before)?;
                self.settle(&mut tx, &key, &changes)?
            }
            changed => changed?,
        };
        if !is_there {
            self.put(&mut tx, &rows[0], (&key, &changes))?;
        }
        Ok(Some(Answer::Done("INSERT 0 1".into())))
    }

    /// Inserts the row, or changes the one that another transaction has put in its place meanwhile.
    fn put(
        &self,
        tx: &mut Transaction,
        row: &Row,
        (key, changes): (&[Value], Changes<'_>),
    ) -> Result<()> {
        let table = &self.source().table;
        for _ in 0..TRIES {
            let before = tx.savepoint();
            let failed = match tx.insert(table, row) {
                Err(e) if e.kind() == ErrorKind::DuplicateKey => e,
                inserted => return Ok(inserted.map(drop)?),
            };
            tx.rollback_to(&before)?;
            let constraint = failed.subject().and_then(|subject| subject.constraint.as_deref());
            let is_own = constraint == Some(self.index.as_str());
            if self.settle(tx, key, changes)? {
                return Ok(());
            }
            if !is_own {
                return Err(failed.into());
            }
        }
        Err(SqlError::concurrent_update())
    }

    /// Changes the row that has the key in the newest committed state; whether there is one.
    fn settle(&self, tx: &mut Transaction, key: &[Value], changes: Changes<'_>) -> Result<bool> {
        let (table, schema) = (&self.source().table, &self.source().schema);
        let mode = lock_mode(schema, self.set.iter().map(|(at, _)| *at));
        let Some((id, row)) = tx.lock_by(table, &self.index, key, mode)? else { return Ok(false) };
        let mut values = Vec::with_capacity(changes.len());
        for ((at, _), (_, change)) in self.set.iter().zip(changes) {
            values.push(changed(&row[*at], change, schema.columns[*at].ty)?);
        }
        let columns: Vec<&str> = changes.iter().map(|(name, _)| *name).collect();
        tx.change_each(table, &[id], &columns, &mut |_: RowId| Ok(values.clone()))?;
        Ok(true)
    }

    /// What becomes of the row that is there.
    fn changes(
        &self,
        row: &Row,
        values: &[Parameter],
    ) -> Result<Option<Vec<(&str, ColumnChange)>>> {
        let mut changes = Vec::with_capacity(self.set.len());
        for (at, to) in &self.set {
            let column = &self.source().schema.columns[*at];
            let change = match to {
                To::Given(set) => change_of(set, column.ty, values)?,
                To::Excluded(from) => Some(ColumnChange::Set(row[*from].clone())),
                To::Added(from, sign) => added(&row[*from], *sign),
            };
            let Some(change) = change else { return Ok(None) };
            changes.push((column.name.as_str(), change));
        }
        Ok(Some(changes))
    }
}
