//! UPDATE and DELETE of rows that indexes find.
//!
//! Where every condition is one of an index range, the engine changes rows by their entries and reads none
//! of them, where it can: `delete_where`, `update_where`. Rows that whole unique keys name are read where
//! there are other conditions besides. Anything else goes the planner's way.

use std::sync::Arc;

use onlap::{
    Change as ColumnChange, DataType, ErrorKind, Predicate, Row, RowId, Scan, Value, convert,
};
use onlap_pg::bound::{ExprId, JoinTree, Modify, ModifyKind, Query, Target};

use super::Source;
use super::conditions::{Conditions, Resolved, Rest, WholeKey};
use super::select::holds;
use super::statement::Statement;
use super::values::Operand;
use crate::ddl::defaults;
use crate::error::{Result, SqlError};
use crate::plan::access;
use crate::scope::Scope;
use crate::session::Parameter;
use crate::session::answer::Answer;

/// A bound UPDATE or DELETE.
#[derive(Debug)]
pub struct Change {
    /// The table.
    pub source: Source,
    /// WHERE.
    pub conditions: Conditions,
    /// The primary key that they name, where that is all they do.
    pub(super) key: Option<WholeKey>,
    /// What is set; `None` deletes.
    set: Option<Vec<(usize, Set)>>,
}

impl Change {
    /// The columns that are set, by their places.
    pub(super) fn written(&self) -> impl Iterator<Item = usize> {
        self.set.iter().flatten().map(|(column, _)| *column)
    }
}

/// What a column is set to.
#[derive(Debug)]
pub(super) enum Set {
    /// A value.
    To(Operand),
    /// The value that it has, and more.
    Plus(Operand),
    /// The value that it has, and less.
    Minus(Operand),
}

/// Matches an UPDATE or DELETE; `None` for one that the planner is to do.
pub(super) fn matched(of: &Statement<'_>, source: Source) -> Option<Change> {
    let Query { targets, from, filter: _, has_subqueries: false, .. } = of.query else {
        return None;
    };
    let Modify { kind, entry, overriding: _, conflict: None, returning, checks, actions } =
        of.modify()?
    else {
        return None;
    };
    let is_alone = from[..] == [JoinTree::Entry(*entry)];
    let is_plain = returning.is_empty() && checks.is_empty() && actions.is_empty();
    if !is_alone || !is_plain || !of.changes_plainly(&source) {
        return None;
    }
    let set = match kind {
        ModifyKind::Delete => None,
        // What a partition's rows become must be its rows, too.
        ModifyKind::Update if of.view.objects.families().bound(source.schema.id).is_none() => {
            let set = targets.iter().map(|target| {
                let at = written(of, &source, target)?;
                Some((at, set_of(of, &source, at, target.value)?))
            });
            Some(set.collect::<Option<Vec<_>>>()?)
        }
        _ => return None,
    };
    let conditions = Conditions::of(of, &source)?;
    let key = conditions.whole_key(&source.schema).filter(|key| key.primary);
    Some(Change { source, conditions, key, set })
}

/// The place of a column that is written to, where it may have any value that the native tier writes.
pub(super) fn written(of: &Statement<'_>, source: &Source, target: &Target) -> Option<usize> {
    let at = target.number.checked_sub(1).filter(|_| !target.hidden)?;
    let column = source.schema.columns.get(at)?;
    // That it may only be set to DEFAULT is said where its steps are made.
    let is_own = !source.types[at].is_native()
        || source.schema.is_generated(at)
        || defaults::is_always(of.view, source.schema.id, column.id);
    (!is_own).then_some(at)
}

/// What a column is set to.
fn set_of(of: &Statement<'_>, source: &Source, at: usize, value: ExprId) -> Option<Set> {
    let ty = source.schema.columns[at].ty;
    match of.sum(value, ty) {
        None => of.given(value, ty, 1).map(Set::To),
        Some((sign, one, other)) => match (of.column(one), of.column(other)) {
            (Some(own), None) if own == at => Some(Set::added(sign, of.operand(other)?)),
            (None, Some(own)) if own == at && sign > 0 => Some(Set::Plus(of.operand(one)?)),
            _ => None,
        },
    }
}

impl Set {
    /// The value that it has, with another added (1) or taken away (-1).
    pub(super) fn added(sign: i64, other: Operand) -> Set {
        if sign > 0 { Set::Plus(other) } else { Set::Minus(other) }
    }
}

/// Whether values are whole numbers.
pub(super) fn is_whole(ty: DataType) -> bool {
    matches!(ty, DataType::Int2 | DataType::Int4 | DataType::Int8)
}

/// How rows are named to the engine.
enum Rows {
    None,
    /// The row with this primary key.
    Key(Vec<Value>),
    Where(Predicate),
    /// Those with these ids, which met the conditions when they were read.
    Read(Vec<RowId>, Resolved),
}

impl Change {
    /// Runs it; `None` where its values need the planner.
    pub fn run(&self, scope: &Arc<Scope>, values: &[Parameter]) -> Result<Option<Answer>> {
        let Some(rows) = self.rows(scope, values)? else { return Ok(None) };
        let (table, schema) = (&self.source.table, &self.source.schema);
        let Some(set) = &self.set else {
            let n = match rows {
                Rows::None => 0,
                Rows::Key(key) => u64::from(scope.tx()?.delete(table, &key)?),
                Rows::Where(predicate) => scope.tx()?.delete_where(table, &predicate)?,
                Rows::Read(ids, resolved) => {
                    let mut recheck =
                        |_: RowId, row: &Row| Ok(Conditions::hold(&resolved, schema, row));
                    scope.tx()?.delete_rows_if(table, &ids, &mut recheck)?
                }
            };
            return Ok(Some(Answer::Done(format!("DELETE {n}"))));
        };
        let mut changes = Vec::with_capacity(set.len());
        for (column, what) in set {
            let column = &self.source.schema.columns[*column];
            let Some(change) = change_of(what, column.ty, values)? else { return Ok(None) };
            changes.push((column.name.as_str(), change));
        }
        let adds = changes.iter().any(|(_, change)| matches!(change, ColumnChange::Add(_)));
        let mut tx = scope.tx()?;
        let before = adds.then(|| tx.savepoint());
        let n = match rows {
            Rows::None => Ok(0),
            Rows::Key(key) => tx.change(table, &key, &changes).map(u64::from),
            Rows::Where(predicate) => tx.update_where(table, &predicate, &changes),
            Rows::Read(ids, resolved) => {
                let mut recheck =
                    |_: RowId, row: &Row| Ok(Conditions::hold(&resolved, schema, row));
                tx.change_rows_if(table, &ids, &changes, &mut recheck)
            }
        };
        match (n, before) {
            // Which sum is too large for its type, the planner's way says.
            (Err(e), Some(before)) if e.kind() == ErrorKind::OutOfRange => {
                tx.rollback_to(&before)?;
                Ok(None)
            }
            (n, _) => Ok(Some(Answer::Done(format!("UPDATE {}", n?)))),
        }
    }

    /// The rows, if indexes alone find them, or few that have to be read.
    fn rows(&self, scope: &Scope, values: &[Parameter]) -> Result<Option<Rows>> {
        let key = self.key.as_ref().map(|key| key.values(values)).transpose()?;
        if let Some(key) = key.flatten() {
            return Ok(Some(Rows::Key(key)));
        }
        let schema = &self.source.schema;
        let Some(resolved) = self.conditions.resolve(schema, values)? else { return Ok(None) };
        match self.by_index(&resolved) {
            None => self.read(scope, resolved),
            rows => Ok(rows),
        }
    }

    /// The rows, if indexes alone find them.
    fn by_index(&self, resolved: &Resolved) -> Option<Rows> {
        let schema = &self.source.schema;
        if !resolved.rest.is_empty() {
            return None;
        }
        if self.conditions.is_empty() {
            return Some(Rows::Where(Predicate::All));
        }
        let mut by_index: Vec<(String, Vec<onlap::KeyRange>)> = Vec::new();
        for bounds in &resolved.alternatives {
            let (index, choice) = access::best(schema, bounds)?;
            if choice.used.len() < bounds.len() {
                return None;
            }
            match by_index.iter_mut().find(|(name, _)| *name == index.name) {
                Some((_, ranges)) => ranges.push(choice.range),
                None => by_index.push((index.name.clone(), vec![choice.range])),
            }
        }
        let any = |(name, ranges)| Predicate::any_of(name, ranges);
        let mut all: Vec<Predicate> = by_index.into_iter().map(any).collect();
        Some(match all.len() {
            0 => Rows::None,
            1 => Rows::Where(all.remove(0)),
            _ => Rows::Where(Predicate::Or(all)),
        })
    }

    /// The rows that whole unique keys name, as far as they meet the other conditions.
    fn read(&self, scope: &Scope, resolved: Resolved) -> Result<Option<Rows>> {
        let schema = &self.source.schema;
        let mut ids = Vec::new();
        for bounds in &resolved.alternatives {
            let best = access::best(schema, bounds).filter(|(_, choice)| choice.is_one_row());
            let Some((index, choice)) = best else { return Ok(None) };
            let left = (0..bounds.len()).filter(|i| !choice.used.contains(i));
            let left = left.map(|i| Rest::Bound(bounds[i].clone()));
            let mut columns: Vec<usize> = Vec::new();
            let mut at = |column| match columns.iter().position(|c| *c == column) {
                Some(at) => at,
                None => {
                    columns.push(column);
                    columns.len() - 1
                }
            };
            let rest = left.chain(resolved.rest.iter().cloned());
            let rest: Vec<(usize, Rest)> = rest.map(|r| (at(r.column()), r)).collect();
            let names = columns.iter().map(|c| schema.columns[*c].name.clone());
            let scan = Scan::all().columns(names);
            let rows =
                scope.tx()?.index_scan(&self.source.table, &index.name, choice.range, scan)?;
            for batch in rows {
                let batch = batch?;
                let kept = (0..batch.len()).filter(|&i| holds(&rest, &batch, i));
                ids.extend(kept.map(|i| batch.row_ids[i]));
            }
        }
        Ok(Some(if ids.is_empty() { Rows::None } else { Rows::Read(ids, resolved) }))
    }
}

/// What a column is changed by; `None` where the planner has to compute it.
pub(super) fn change_of(
    what: &Set,
    ty: DataType,
    values: &[Parameter],
) -> Result<Option<ColumnChange>> {
    let (operand, sign) = match what {
        Set::To(operand) => return Ok(operand.assigned(ty, values).map(ColumnChange::Set)),
        Set::Plus(operand) => (operand, 1),
        Set::Minus(operand) => (operand, -1),
    };
    Ok(operand.value(ty, values)?.and_then(|value| added(&value, sign)))
}

/// Adds a whole number, or takes it away where the sign is -1; `None` where the planner has to compute it.
pub(super) fn added(value: &Value, sign: i64) -> Option<ColumnChange> {
    match value {
        Value::Int(n) => n.checked_mul(sign).map(|n| ColumnChange::Add(Value::Int(n))),
        // A sum with NULL is NULL.
        Value::Null => Some(ColumnChange::Set(Value::Null)),
        _ => None,
    }
}

/// What a value becomes.
///
/// # Errors
/// `22003`: a sum is too large for its type.
pub(super) fn changed(value: &Value, change: &ColumnChange, ty: DataType) -> Result<Value> {
    let name = match ty {
        DataType::Int2 => "smallint",
        DataType::Int4 => "integer",
        _ => "bigint",
    };
    match (change, value) {
        (ColumnChange::Set(value), _) => Ok(value.clone()),
        (ColumnChange::Add(_), Value::Null) => Ok(Value::Null),
        (ColumnChange::Add(Value::Int(more)), Value::Int(n)) => {
            let (min, max) = convert::int_range(ty);
            let sum = n.checked_add(*more).filter(|sum| (min..=max).contains(sum));
            sum.map(Value::Int)
                .ok_or_else(|| SqlError::new("22003", format!("{name} out of range")))
        }
        (ColumnChange::Add(_), _) => Err(SqlError::defect("no number is added to")),
    }
}
