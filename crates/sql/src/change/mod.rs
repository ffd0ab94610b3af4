//! How does a statement change rows?
//!
//! Its steps ([`Bound::change`]) say which rows and which values; this room locks the rows, writes them through the
//! transaction, and answers RETURNING from what was written. Which columns there are and what the role may do was settled when
//! the statement was bound.
//!
//! Thread safety: a statement belongs to its session's thread; its steps may run on others.

mod conflict;
mod find;
mod insert;
mod returning;
mod update;

pub use insert::fill;

use arrow_array::ArrayRef;
use onlap::{Row, Table, Value};
use onlap_kernels::Datum;
use onlap_pg::bound::{Expr, Modify, ModifyKind, Target};

use crate::ddl::defaults;
use crate::error::{Result, SqlError};
use crate::plan::TableHandle;
use crate::query::{Bound, until_locked};
use crate::rights::ask::{numbers, of_table, sequences};
use crate::rights::{Action, Need};
use crate::session::Parameter;
use crate::session::answer::Answer;
use crate::view::View;

/// A statement that is carried out.
struct Statement<'a> {
    view: &'a View,
    bound: &'a Bound,
    modify: &'a Modify,
    target: &'a TableHandle,
    values: Vec<Datum<'static>>,
    text: &'a str,
}

/// Carries out INSERT, UPDATE or DELETE. `blind`: of UPSERT INTO, whose rows replace those with their primary key unread.
///
/// # Errors
/// `42501`; those of its query and of the values; conflicts with other transactions.
pub fn run(
    view: &View,
    bound: &Bound,
    values: &[Parameter],
    text: &str,
    blind: bool,
) -> Result<Answer> {
    let (modify, target) = target(bound)?;
    refuse_generated(view, bound, modify, target)?;
    view.must(bound.needs())?;
    let values = bound.values(view, values, text)?;
    let statement = Statement { view, bound, modify, target, values, text };
    let carry_out = || match modify.kind {
        ModifyKind::Insert if blind => insert::upsert(&statement),
        ModifyKind::Insert => insert::run(&statement),
        ModifyKind::Update => update::update(&statement),
        ModifyKind::Delete => update::delete(&statement),
    };
    // Rows are written when all that the statement's queries lock is locked.
    match bound.locks_rows() {
        true => until_locked(view, carry_out),
        false => carry_out(),
    }
}

/// What a statement changes, and the table.
fn target(bound: &Bound) -> Result<(&Modify, &TableHandle)> {
    let modify = bound.modify().expect("the statement changes rows");
    match bound.table(modify.entry) {
        Some(table) => Ok((modify, table)),
        None => Err(SqlError::unsupported("changing rows of what is not a table")),
    }
}

/// The places of columns that are written.
fn places(targets: &[Target]) -> impl Iterator<Item = usize> {
    targets.iter().filter(|target| !target.hidden).map(|target| target.number - 1)
}

/// What writing needs; reading, the query's own needs say.
///
/// # Errors
/// It is not a table that is written to; the transaction has ended.
pub fn needs(view: &View, bound: &Bound) -> Result<Vec<Need>> {
    if bound.modify().is_none() {
        return Ok(Vec::new());
    }
    let (modify, TableHandle { schema, .. }) = target(bound)?;
    let (tree, query) = bound.tree();
    let written = numbers(schema, places(&query.targets));
    let mut needs = Vec::new();
    match modify.kind {
        ModifyKind::Insert => {
            needs.push(of_table(Action::Insert, schema, written));
            let given = query.targets.iter().filter(|target| {
                !target.hidden && !matches!(tree.expr(target.value), Expr::Default)
            });
            let given: Vec<usize> = given.map(|target| target.number - 1).collect();
            needs.extend(sequences(view, schema, &given)?);
        }
        ModifyKind::Update => needs.push(of_table(Action::Update, schema, written)),
        ModifyKind::Delete => needs.push(of_table(Action::Delete, schema, Vec::new())),
    }
    if let Some(conflict) = &modify.conflict {
        if conflict.constraint != 0 || !conflict.elements.is_empty() {
            let arbiters = conflict::arbiters(tree, modify, schema)?;
            let keys = arbiters.iter().flat_map(|index| &index.key);
            let keys = keys.filter_map(|part| schema.position(part.column));
            needs.push(of_table(Action::Read, schema, numbers(schema, keys)));
        }
        if conflict.update {
            let set = numbers(schema, places(&conflict.set));
            needs.push(of_table(Action::Update, schema, set));
        }
    }
    Ok(needs)
}

/// Columns that only their sequences fill are updated to DEFAULT alone.
fn refuse_generated(
    view: &View,
    bound: &Bound,
    modify: &Modify,
    target: &TableHandle,
) -> Result<()> {
    let (tree, query) = bound.tree();
    let of_update = match modify.kind {
        ModifyKind::Update => &query.targets[..],
        _ => modify.conflict.as_ref().map_or(&[][..], |conflict| &conflict.set[..]),
    };
    for set in of_update.iter().filter(|set| !set.hidden) {
        let column = &target.schema.columns[set.number - 1];
        let is_given = !matches!(tree.expr(set.value), Expr::Default);
        if is_given && defaults::is_always(view, target.schema.id, column.id) {
            let name = &column.name;
            let text = format!("column \"{name}\" can only be updated to DEFAULT");
            let detail =
                format!("Column \"{name}\" is an identity column defined as GENERATED ALWAYS.");
            return Err(SqlError::new("428C9", text).detail(detail));
        }
    }
    Ok(())
}

/// A value in a column of the steps as the table's column keeps it.
fn value_at(target: &TableHandle, number: usize, array: &ArrayRef, row: usize) -> Result<Value> {
    target.types.value_of(number - 1, array, row)
}

/// A column of rows, as expressions are calculated of.
fn array_of<'r>(
    target: &TableHandle,
    number: usize,
    rows: impl Iterator<Item = &'r Value>,
) -> Result<ArrayRef> {
    let name = &target.schema.columns[number - 1].name;
    target.types.decode_values(number - 1, name, rows)
}

/// The values of a column in rows.
fn column_of(rows: &[Row], number: usize) -> impl Iterator<Item = &Value> {
    rows.iter().map(move |row| &row[number - 1])
}

/// The default of one column, for one row.
fn default_of(statement: &Statement<'_>, table: &Table, number: usize) -> Result<Value> {
    defaults::value(statement.view, table, number - 1)
}
