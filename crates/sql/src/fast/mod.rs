//! Which statements need no planner?
//!
//! The native tier: reads and changes of one table by its indexes, answered from the engine's blocks. It matches the tree that
//! the binder gives, as the planner does, so that names, types and conversions have one meaning. It declines every clause
//! that it does not know, and at run time every value whose comparison with a column is more than that of the column's
//! type; what it declines the planner does. `SET fast_path = off` switches it off, which never changes an answer.
//!
//! | statement | module |
//! |---|---|
//! | SELECT of columns, with conditions on columns, ORDER BY, LIMIT, DISTINCT | [`select`]; with FOR UPDATE, [`locking`] |
//! | count, sum, min, max without GROUP BY | [`aggregate`] |
//! | UPDATE and DELETE by conditions that indexes decide | [`change`] |
//! | INSERT of constants and parameters | [`insert`]; of many literals, [`literals`]; of one row with ON CONFLICT, [`upsert`] |
//!
//! What of a statement it can carry out at all says [`statement`]; constants and parameters are [`values`].

use std::sync::Arc;

use onlap::{DataType, LockMode, Table, TableSchema};
use onlap_pg::bound::ModifyKind;

use crate::columns::Types;
use crate::error::Result;
use crate::plan::access;
use crate::query::Bound;
use crate::scope::Scope;
use crate::session::Parameter;
use crate::session::answer::Answer;
use crate::view::View;

mod aggregate;
mod change;
mod conditions;
mod insert;
pub mod literals;
mod locking;
mod select;
mod statement;
mod upsert;
mod values;

use statement::Statement;

pub use select::{Select, bytes_of};

/// A statement of the native tier.
#[derive(Debug)]
pub enum Fast {
    /// Rows of a table.
    Select(Select),
    /// One row of aggregates.
    Aggregate(aggregate::Aggregate),
    /// UPDATE or DELETE.
    Change(change::Change),
    /// INSERT.
    Insert(insert::Insert),
    /// INSERT with ON CONFLICT DO UPDATE.
    Upsert(upsert::Upsert),
}

/// The table of a statement.
#[derive(Clone)]
pub struct Source {
    /// The engine's table.
    pub table: Table,
    /// Its columns and indexes.
    pub schema: Arc<TableSchema>,
    /// What its columns are to PostgreSQL.
    pub types: Types,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.schema.name)
    }
}

impl Source {
    /// The places of its columns.
    fn all(&self) -> Box<dyn Iterator<Item = usize>> {
        Box::new(0..self.schema.columns.len())
    }
}

impl Fast {
    /// How a bound statement runs without a planner; `None` for one that the planner is to do.
    pub fn of(view: &View, bound: &Bound) -> Option<Fast> {
        let (of, source) = Statement::of(view, bound)?;
        match of.modify() {
            None if of.query.has_aggregates => aggregate::matched(&of, source).map(Fast::Aggregate),
            None => select::matched(&of, source).map(Fast::Select),
            Some(modify) => match (modify.kind, &modify.conflict) {
                (ModifyKind::Update | ModifyKind::Delete, _) => {
                    change::matched(&of, source).map(Fast::Change)
                }
                (ModifyKind::Insert, None) => insert::matched(&of, source).map(Fast::Insert),
                (ModifyKind::Insert, Some(_)) => upsert::matched(&of, source).map(Fast::Upsert),
                (ModifyKind::Merge, _) => None,
            },
        }
    }

    /// Runs it; `None` where its values need the planner.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn run(&self, scope: &Arc<Scope>, values: &[Parameter]) -> Result<Option<Answer>> {
        if scope.is_away() && self.reads_moments() || self.is_better_planned(values)? {
            return Ok(None);
        }
        match self {
            Fast::Select(select) => select.run(scope, values),
            Fast::Aggregate(aggregate) => aggregate.run(scope, values),
            Fast::Change(change) => change.run(scope, values),
            Fast::Insert(insert) => insert.run(scope, values),
            Fast::Upsert(upsert) => upsert.run(scope, values),
        }
    }

    /// The engine's name of its table.
    pub fn table(&self) -> String {
        let source = match self {
            Fast::Select(select) => &select.source,
            Fast::Aggregate(aggregate) => &aggregate.source,
            Fast::Change(change) => &change.source,
            Fast::Insert(insert) => &insert.source,
            Fast::Upsert(upsert) => upsert.source(),
        };
        source.schema.name.clone()
    }

    /// Waits for transactions that have locked its table against what it does.
    ///
    /// # Errors
    /// Those of waits for locks.
    pub fn await_table(&self, scope: &Scope) -> Result<()> {
        let (source, mode) = match self {
            Fast::Select(select) => (&select.source, LockMode::AccessShare),
            Fast::Aggregate(aggregate) => (&aggregate.source, LockMode::AccessShare),
            Fast::Change(change) => (&change.source, LockMode::RowExclusive),
            Fast::Insert(insert) => (&insert.source, LockMode::RowExclusive),
            Fast::Upsert(upsert) => (upsert.source(), LockMode::RowExclusive),
        };
        scope.await_tables(std::slice::from_ref(&source.table), mode)
    }

    /// Whether a partial index may have the rows that its conditions leave: what they imply, the planner finds out.
    ///
    /// # Errors
    /// Values that are none of their columns' types.
    pub fn is_better_planned(&self, values: &[Parameter]) -> Result<bool> {
        let (source, conditions) = match self {
            // No index has fewer.
            Fast::Select(Select { key: Some(_), .. })
            | Fast::Change(change::Change { key: Some(_), .. }) => return Ok(false),
            Fast::Select(select) => (&select.source, &select.conditions),
            Fast::Aggregate(aggregate) => (&aggregate.source, &aggregate.conditions),
            Fast::Change(change) => (&change.source, &change.conditions),
            Fast::Insert(_) | Fast::Upsert(_) => return Ok(false),
        };
        if !access::has_partial(&source.schema) || conditions.is_empty() {
            return Ok(false);
        }
        let Some(resolved) = conditions.resolve(&source.schema, values)? else { return Ok(true) };
        let one = |bounds: &Vec<access::Bound>| {
            access::best(&source.schema, bounds).is_some_and(|(_, choice)| choice.is_one_row())
        };
        Ok(!resolved.alternatives.iter().all(one))
    }

    /// Whether it reads values for columns of timestamptz, which mean what the session's time zone makes of them.
    fn reads_moments(&self) -> bool {
        let any = |source: &Source, mut columns: Box<dyn Iterator<Item = usize> + '_>| {
            columns.any(|at| source.schema.columns[at].ty == DataType::Timestamptz)
        };
        match self {
            Fast::Select(select) => select.conditions.reads_moments(&select.source.schema),
            Fast::Aggregate(all) => all.conditions.reads_moments(&all.source.schema),
            Fast::Change(change) => {
                change.conditions.reads_moments(&change.source.schema)
                    || any(&change.source, Box::new(change.written()))
            }
            Fast::Insert(insert) => any(&insert.source, insert.source.all()),
            Fast::Upsert(upsert) => any(upsert.source(), upsert.source().all()),
        }
    }

    /// The index that it would read, for EXPLAIN; `None` for the whole table, or where it is not known
    /// before the values are.
    pub fn index(&self, values: &[Parameter]) -> Option<String> {
        let (source, conditions) = match self {
            Fast::Select(select) => (&select.source, &select.conditions),
            Fast::Aggregate(aggregate) => (&aggregate.source, &aggregate.conditions),
            Fast::Change(change) => (&change.source, &change.conditions),
            Fast::Insert(_) | Fast::Upsert(_) => return None,
        };
        let bounds = conditions.resolve(&source.schema, values).ok()??;
        let first = bounds.alternatives.first()?;
        let (index, _) = access::best(&source.schema, first)?;
        Some(index.name.clone())
    }
}
