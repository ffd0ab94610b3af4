//! DELETE.

use datafusion::sql::sqlparser::ast::{Delete, FromTable, TableWithJoins};
use onlap::{RowLock, Value};

use super::Described;
use super::returning::{self, Written};
use super::target::{Asked, Target, ids_of};
use crate::error::{Result, SqlError};
use crate::rights::{Action, Need};
use crate::session::answer::Answer;
use crate::session::{Parameter, Session};
use crate::types::{PgType, value_of_array};
use crate::view::View;

fn target(view: &View, delete: &Delete) -> Result<Target> {
    let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = &delete.from;
    match &tables[..] {
        [table] => Target::of(view, table),
        _ => Err(SqlError::unsupported("DELETE from several tables")),
    }
}

fn query(target: &Target, delete: &Delete) -> Asked {
    let using = |tables: &Vec<TableWithJoins>| {
        tables.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    let from = delete.using.as_ref().map(using).unwrap_or_default();
    target.query(&[], delete.returning.is_some(), &from, delete.selection.as_ref(), "")
}

/// What is known before it runs.
pub fn describe(
    session: &Session,
    view: &View,
    delete: &Delete,
    given: &[Option<PgType>],
) -> Result<Described> {
    let target = target(view, delete)?;
    let plan = target.plan(session, view, &query(&target, delete), given)?;
    let columns = returning::describe(session, view, &target, delete.returning.as_deref())?;
    Ok((parameters(&plan, given.len())?, columns))
}

/// Types of parameters, as a plan tells.
pub fn parameters(query: &crate::plan::Query, least: usize) -> Result<Vec<Option<PgType>>> {
    let known = query.parameters()?;
    let n = known.keys().copied().max().unwrap_or(0).max(least);
    Ok((1..=n).map(|i| known.get(&i).map(|field| PgType::of_field(field))).collect())
}

/// What the statement needs to delete rows, and to return what it returns.
fn own_needs(target: &Target, delete: &Delete) -> Result<Vec<Need>> {
    let mut needs = vec![target.need(Action::Delete, [])];
    needs.extend(returning::needs(target, delete.returning.as_deref())?);
    Ok(needs)
}

/// All that the statement needs.
pub fn needs(session: &Session, view: &View, delete: &Delete) -> Result<Vec<Need>> {
    let target = target(view, delete)?;
    let mut needs = own_needs(&target, delete)?;
    needs.extend(target.plan(session, view, &query(&target, delete), &[])?.needs);
    Ok(needs)
}

/// DELETE.
pub fn run(
    session: &mut Session,
    view: &View,
    delete: &Delete,
    values: &[Parameter],
) -> Result<Answer> {
    let target = target(view, delete)?;
    view.must(&own_needs(&target, delete)?)?;
    let asked = query(&target, delete);
    let found = target.find(session, view, &asked, values, RowLock::Update)?;
    let ids = ids_of(&found.batches);
    let n = view.scope.tx()?.delete_rows(&target.table, &ids)?;
    if n != ids.len() as u64 {
        return Err(SqlError::concurrent_update());
    }
    let mut rows = Vec::new();
    if delete.returning.is_some() {
        for batch in &found.batches {
            for row in 0..batch.num_rows() {
                let value = |(i, c): (usize, &onlap::ColumnSchema)| {
                    value_of_array(batch.column(i + 1), row, c.ty)
                };
                let columns = target.schema.columns.iter().enumerate();
                rows.push(columns.map(value).collect::<Result<Vec<Value>>>()?);
            }
        }
    }
    let written = Written { tag: "DELETE", n, rows };
    returning::answer(session, view, &target, delete.returning.as_deref(), written, values)
}
