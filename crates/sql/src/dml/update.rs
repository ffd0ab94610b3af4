//! UPDATE.

use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, Expr, Update, UpdateTableFromKind,
};
use onlap::{Change, RowLock, Value};

use super::Described;
use super::delete::{all_columns, parameters};
use super::returning::{self, Written};
use super::target::{Target, ids_of};
use crate::catalog::names::{fold, parts};
use crate::ddl::defaults;
use crate::error::{Result, SqlError, state};
use crate::rights::{Action, Need};
use crate::session::answer::Answer;
use crate::session::{Parameter, Session};
use crate::types::{PgType, names, value_of_array};
use crate::view::View;

/// Columns by position, and the expression each is set to; `None` for DEFAULT.
///
/// # Errors
/// An unknown column, one that is set twice, one that its sequence alone fills.
pub fn assignments(
    view: &View,
    target: &Target,
    assignments: &[Assignment],
) -> Result<Vec<(usize, Option<String>)>> {
    let mut all: Vec<(usize, Option<String>)> = Vec::new();
    for Assignment { target: to, value } in assignments {
        let pairs: Vec<(String, &Expr)> = match (to, value) {
            (AssignmentTarget::ColumnName(name), value) => {
                vec![(parts(name)?.pop().unwrap_or_default(), value)]
            }
            (AssignmentTarget::Tuple(columns), Expr::Tuple(values))
                if columns.len() == values.len() =>
            {
                let name = |c| Ok(parts(c)?.pop().unwrap_or_default());
                let columns = columns.iter().map(name).collect::<Result<Vec<_>>>()?;
                columns.into_iter().zip(values).collect()
            }
            _ => return Err(SqlError::unsupported(format!("SET {to} = {value}"))),
        };
        for (column, value) in pairs {
            let at = target.schema.position_by_name(&column).ok_or_else(|| {
                let table = &target.name.name;
                let text = format!("column \"{column}\" of relation \"{table}\" does not exist");
                SqlError::new(state::NO_COLUMN, text)
            })?;
            if all.iter().any(|(c, _)| *c == at) {
                let text = format!("multiple assignments to same column \"{column}\"");
                return Err(SqlError::new(state::SYNTAX, text));
            }
            let set = expression(value, target.schema.columns[at].ty);
            let id = target.schema.columns[at].id;
            if set.is_some() && defaults::is_always(view, target.schema.id, id) {
                return Err(only_default(&column));
            }
            all.push((at, set));
        }
    }
    Ok(all)
}

fn only_default(column: &str) -> SqlError {
    let text = format!("column \"{column}\" can only be updated to DEFAULT");
    let detail = format!("Column \"{column}\" is an identity column defined as GENERATED ALWAYS.");
    SqlError::new("428C9", text).detail(detail)
}

/// A bare parameter takes the column's type.
fn expression(value: &Expr, ty: onlap::DataType) -> Option<String> {
    match value {
        Expr::Identifier(ident) if ident.quote_style.is_none() && fold(ident) == "default" => None,
        Expr::Value(v) if v.to_string().starts_with('$') => {
            Some(format!("CAST({v} AS {})", names::of_engine(ty)))
        }
        other => Some(other.to_string()),
    }
}

fn query(target: &Target, update: &Update, set: &[(usize, Option<String>)]) -> Result<String> {
    let mut items: Vec<String> = set
        .iter()
        .enumerate()
        .map(|(i, (_, e))| format!("{} AS \"set {i}\"", e.as_deref().unwrap_or("NULL")))
        .collect();
    if update.returning.is_some() {
        items.extend(all_columns(target));
    }
    let from = match &update.from {
        None => String::new(),
        Some(UpdateTableFromKind::AfterSet(tables)) => {
            tables.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        }
        Some(UpdateTableFromKind::BeforeSet(_)) => {
            return Err(SqlError::new(state::SYNTAX, "FROM comes after SET"));
        }
    };
    Ok(target.query(&items, &from, update.selection.as_ref(), ""))
}

/// What is known before it runs.
pub fn describe(
    session: &Session,
    view: &View,
    update: &Update,
    given: &[Option<PgType>],
) -> Result<Described> {
    let target = Target::of(view, &update.table)?;
    let set = assignments(view, &target, &update.assignments)?;
    let plan = target.plan(session, view, &query(&target, update, &set)?, given)?;
    let columns = returning::describe(session, view, &target, update.returning.as_deref())?;
    Ok((parameters(&plan, given.len())?, columns))
}

/// What the statement needs to change what it sets, and to return what it returns.
fn own_needs(
    target: &Target,
    update: &Update,
    set: &[(usize, Option<String>)],
) -> Result<Vec<Need>> {
    let mut needs = vec![target.need(Action::Update, set.iter().map(|s| s.0))];
    needs.extend(returning::needs(target, update.returning.as_deref())?);
    Ok(needs)
}

/// All that the statement needs.
pub fn needs(session: &Session, view: &View, update: &Update) -> Result<Vec<Need>> {
    let target = Target::of(view, &update.table)?;
    let set = assignments(view, &target, &update.assignments)?;
    let mut needs = own_needs(&target, update, &set)?;
    needs.extend(target.plan(session, view, &query(&target, update, &set)?, &[])?.needs);
    Ok(needs)
}

/// UPDATE.
pub fn run(
    session: &mut Session,
    view: &View,
    update: &Update,
    values: &[Parameter],
) -> Result<Answer> {
    let target = Target::of(view, &update.table)?;
    let set = assignments(view, &target, &update.assignments)?;
    view.must(&own_needs(&target, update, &set)?)?;
    let text = query(&target, update, &set)?;
    let keyed = |column: &(usize, Option<String>)| {
        let id = target.schema.columns[column.0].id;
        let unique = target.schema.indexes.iter().filter(|i| i.unique);
        unique.into_iter().any(|i| i.key.iter().any(|k| k.column == id))
    };
    let mode = if set.iter().any(keyed) { RowLock::Update } else { RowLock::NoKeyUpdate };
    let found = target.find(session, view, &text, values, mode)?;
    let mut n = 0;
    let mut rows = Vec::new();
    for batch in &found.batches {
        let ids = ids_of(std::slice::from_ref(batch));
        for (row, id) in ids.into_iter().enumerate() {
            let mut new = Vec::with_capacity(set.len());
            for (i, (at, e)) in set.iter().enumerate() {
                let column = &target.schema.columns[*at];
                new.push(match e {
                    Some(_) => value_of_array(batch.column(i + 1), row, column.ty)?,
                    None => defaults::value(session, view, &target.table, *at)?,
                });
            }
            if update.returning.is_some() {
                let first = set.len() + 1;
                let mut whole: Vec<Value> = (target.schema.columns.iter().enumerate())
                    .map(|(i, c)| value_of_array(batch.column(first + i), row, c.ty))
                    .collect::<Result<_>>()?;
                for ((column, _), value) in set.iter().zip(&new) {
                    whole[*column] = value.clone();
                }
                rows.push(whole);
            }
            let changes: Vec<_> = (set.iter().zip(new))
                .map(|((c, _), v)| (target.schema.columns[*c].name.as_str(), Change::Set(v)))
                .collect();
            n += view.scope.tx()?.change_rows(&target.table, &[id], &changes)?;
        }
    }
    let written = Written { tag: "UPDATE", n, rows };
    returning::answer(session, view, &target, update.returning.as_deref(), written, values)
}
