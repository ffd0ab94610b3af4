//! INSERT of one row with ON CONFLICT DO UPDATE by the primary key.
//!
//! The engine changes the row that has the key without reading it where it can, or inserts the new one. A row that has
//! come between the two, of another transaction, is found in the newest committed state and changed there.

use std::sync::Arc;

use onlap::{Change as ColumnChange, ErrorKind, IndexSchema, Isolation, Row, RowId, Time};
use onlap::{Transaction, Value};
use onlap_pg::ast::{self, Assigned, Column, Conflict, ConflictAction, ConflictTarget};
use onlap_pg::ast::{Expr, ExprId, IndexElement, Tree};

use super::Source;
use super::change::{Set, added, change_of, changed, is_whole};
use super::conditions::Operand;
use super::insert::{Insert, bind_rows};
use crate::catalog::Name;
use crate::change::lock_mode;
use crate::ddl::defaults;
use crate::error::{Result, SqlError};
use crate::rights::{Action, Need};
use crate::scope::Scope;
use crate::session::Parameter;
use crate::session::answer::Answer;
use crate::types::PgType;
use crate::view::View;

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
    /// Types of parameters by number.
    pub parameters: Vec<(usize, PgType)>,
    /// What it does.
    pub needs: Vec<Need>,
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

/// Binds an INSERT; `None` for one that needs more.
pub(super) fn bind(
    view: &View,
    tree: &Tree,
    insert: &ast::Insert,
    conflict: &Conflict,
) -> Option<Upsert> {
    let ConflictAction::Update(assigned, None) = &conflict.action else { return None };
    if !insert.returning.is_empty() {
        return None;
    }
    let rows = bind_rows(view, tree, insert)?;
    let schema = &rows.source.schema;
    if rows.count() != 1 || rows.source.alias == "excluded" || schema.blind {
        return None;
    }
    let index = schema.indexes.iter().find(|index| index.primary && index.ready)?;
    let key: Vec<usize> =
        index.key.iter().map(|part| schema.position(part.column)).collect::<Option<_>>()?;
    if index.time() != Time::Statement || !is_about(conflict, index, &key, &rows.source) {
        return None;
    }
    let seen = |at: &usize| *at < schema.columns.len() && rows.gives(*at);
    if !key.iter().all(seen) {
        return None;
    }
    let names = Names { source: &rows.source, is_renamed: insert.into.alias.is_some(), tree };
    let mut set: Vec<(usize, To)> = Vec::with_capacity(assigned.len());
    let (mut parameters, mut read) = (rows.parameters.clone(), key.clone());
    for assigned in assigned {
        let Assigned::One(Column { name, steps, place: _ }, value) = assigned else { return None };
        let at = schema.position_by_name(name).filter(|_| steps.is_empty())?;
        let is_own = !rows.source.types[at].is_native()
            || schema.is_generated(at)
            || defaults::is_always(view, schema.id, schema.columns[at].id);
        if is_own || set.iter().any(|(known, _)| *known == at) {
            return None;
        }
        let to = names.to(at, *value)?;
        if let To::Given(Set::To(value) | Set::Plus(value) | Set::Minus(value)) = &to
            && let Operand::Parameter(n) = value
        {
            parameters.push((*n, PgType::of_engine(schema.columns[at].ty)));
        }
        // As in PostgreSQL, reading what was to be inserted is reading the column.
        match to {
            To::Given(Set::To(_)) => {}
            To::Given(_) => read.push(at),
            To::Excluded(from) => read.push(from),
            To::Added(from, _) => read.extend([at, from]),
        }
        set.push((at, to));
    }
    // A parameter has the type of its first place.
    let differs = |(n, ty): &(usize, PgType)| {
        parameters.iter().any(|(other, known)| other == n && known != ty)
    };
    if parameters.iter().any(differs) {
        return None;
    }
    read.sort_unstable();
    read.dedup();
    let mut needs = rows.needs.clone();
    needs.push(rows.source.need(Action::Update, set.iter().map(|(at, _)| *at)));
    needs.push(rows.source.need(Action::Read, read));
    let index = index.name.clone();
    Some(Upsert { insert: rows, index, key, set, parameters, needs })
}

/// Whether a clause is about an index, and no other can be meant.
fn is_about(conflict: &Conflict, index: &IndexSchema, key: &[usize], source: &Source) -> bool {
    let schema = &source.schema;
    match &conflict.target {
        None => false,
        Some(ConflictTarget::Constraint(name)) => **name == *index.name,
        Some(ConflictTarget::Index(_, Some(_))) => false,
        Some(ConflictTarget::Index(elements, None)) => {
            let plain = |element: &IndexElement| match element {
                IndexElement {
                    column: Some(name),
                    value: None,
                    collation: None,
                    class: None,
                    class_options: _,
                    order: ast::SortOrder::Default,
                    nulls_first: None,
                } => schema.position_by_name(name),
                _ => None,
            };
            let Some(mut named) = elements.iter().map(plain).collect::<Option<Vec<_>>>() else {
                return false;
            };
            named.sort_unstable();
            named.dedup();
            let mut key = key.to_vec();
            key.sort_unstable();
            let of = |other: &IndexSchema| {
                let at = other.key.iter().filter_map(|part| schema.position(part.column));
                let mut at: Vec<usize> = at.collect();
                at.sort_unstable();
                at
            };
            let is_other = |other: &&IndexSchema| other.id != index.id && other.is_unique();
            let mut others = schema.indexes.iter().filter(is_other);
            named == key && !others.any(|other| of(other) == key)
        }
    }
}

/// What the expressions of DO UPDATE may name.
struct Names<'a> {
    source: &'a Source,
    is_renamed: bool,
    tree: &'a Tree,
}

impl Names<'_> {
    /// What a column is set to by an expression.
    fn to(&self, at: usize, value: ExprId) -> Option<To> {
        if let Some(from) = self.excluded(value) {
            return self.is_like(at, from).then_some(To::Excluded(from));
        }
        let Expr::Op(op, left, right) = self.tree.expr(value) else {
            return Operand::of(self.tree, value).map(|value| To::Given(Set::To(value)));
        };
        let (left, right) = ((*left)?, *right);
        if !is_whole(self.source.schema.columns[at].ty) || !op.schema.is_empty() {
            return None;
        }
        let is_own = |expr| self.own(expr) == Some(at);
        let (sign, other) = match &*op.name {
            "+" if is_own(left) => (1, right),
            "-" if is_own(left) => (-1, right),
            "+" if is_own(right) => (1, left),
            _ => return None,
        };
        if let Some(from) = self.excluded(other) {
            return self.is_like(at, from).then_some(To::Added(from, sign));
        }
        let other = Operand::of(self.tree, other)?;
        Some(To::Given(if sign > 0 { Set::Plus(other) } else { Set::Minus(other) }))
    }

    /// The place of the column that an expression names of the row that is there. A column's name alone may be either row's.
    fn own(&self, expr: ExprId) -> Option<usize> {
        let Expr::Column(path) = self.tree.expr(expr) else { return None };
        let column = match &path[..] {
            [table, column] if **table == *self.source.alias => column,
            [schema, table, column] if !self.is_renamed && **table == *self.source.alias => {
                let (_, name) = Name::of_engine(&self.source.schema.name);
                (**schema == *name.schema).then_some(column)?
            }
            _ => return None,
        };
        self.source.schema.position_by_name(column)
    }

    /// The place of the column that an expression names of the row that was to be inserted.
    fn excluded(&self, expr: ExprId) -> Option<usize> {
        let Expr::Column(path) = self.tree.expr(expr) else { return None };
        match &path[..] {
            [table, column] if **table == *"excluded" => {
                self.source.schema.position_by_name(column)
            }
            _ => None,
        }
    }

    /// Whether a column's values are another's as they are.
    fn is_like(&self, at: usize, from: usize) -> bool {
        let columns = &self.source.schema.columns;
        // What a counter will give is not known here.
        columns[at].ty == columns[from].ty
            && self.source.types[at].pg == self.source.types[from].pg
            && !columns[from].is_serial()
    }
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
