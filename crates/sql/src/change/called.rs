//! May the role call what is calculated of the rows that it writes?
//!
//! The engine calculates checks, generated columns and keys of indexes below SQL, where no role is known. PostgreSQL asks
//! EXECUTE of the functions in them of who writes rows, when the first is written: so it is asked here, before rows are
//! handed over. Rows that foreign keys change are the engine's, as they are the table's owner's in PostgreSQL.
//!
//! A table that calls no function of its database costs a look at its description. Thread safety: pure.

use onlap::{ColumnId, Expr, TableSchema};

use crate::error::Result;
use crate::formulas;
use crate::query::sql_error;
use crate::rights::{Action, Need};
use crate::view::View;

/// Fails unless the role may call what is calculated of rows that it writes: whole ones, or those in which it sets columns.
///
/// # Errors
/// `42501`; `XX001`: no release wrote what the table calculates.
pub fn must(view: &View, schema: &TableSchema, set: Option<&[&str]>) -> Result<()> {
    if calls_nothing(view, schema) {
        return Ok(());
    }
    let set: Option<Vec<ColumnId>> = set.map(|names| {
        let places = names.iter().filter_map(|name| schema.position_by_name(name));
        places.map(|at| schema.columns[at].id).collect()
    });
    let set = set.as_deref();
    view.must(&needs(view, of_rows(schema, set))?)?;
    view.must(&needs(view, of_indexes(schema, set))?)
}

/// Fails unless the role may call what generated columns and checks calculate of whole rows.
///
/// # Errors
/// As of [`must`].
pub fn must_of_rows(view: &View, schema: &TableSchema) -> Result<()> {
    match calls_nothing(view, schema) {
        true => Ok(()),
        false => view.must(&needs(view, of_rows(schema, None))?),
    }
}

/// The same of what indexes calculate, which PostgreSQL looks at once rows are written.
///
/// # Errors
/// As of [`must`].
pub fn must_of_indexes(view: &View, schema: &TableSchema) -> Result<()> {
    match calls_nothing(view, schema) {
        true => Ok(()),
        false => view.must(&needs(view, of_indexes(schema, None))?),
    }
}

/// Whether the role may write any rows of a table without being asked more.
pub fn may(view: &View, schema: &TableSchema) -> bool {
    must(view, schema, None).is_ok()
}

fn calls_nothing(view: &View, schema: &TableSchema) -> bool {
    let has_formulas = schema.indexes.iter().any(|index| index.filter.is_some())
        || !schema.generated.is_empty()
        || !schema.checks.is_empty()
        || !schema.derived.is_empty();
    !has_formulas || view.objects.functions().is_empty() || view.judge.is_superuser()
}

fn reads(columns: &[ColumnId], set: Option<&[ColumnId]>) -> bool {
    set.is_none_or(|set| columns.iter().any(|id| set.contains(id)))
}

/// The programs of generated columns and of checks.
fn of_rows<'s>(schema: &'s TableSchema, set: Option<&[ColumnId]>) -> Vec<&'s str> {
    let generated = schema.generated.iter().filter(|of| reads(&of.reads, set));
    let mut programs: Vec<&str> = generated.map(|of| of.program.as_str()).collect();
    programs.extend(schema.checks.iter().filter_map(|check| match &check.expr {
        Expr::Formula(program, _) => Some(program.as_str()),
        _ => None,
    }));
    programs
}

/// The programs of indexes: a row that stays the same to all of them keeps its entries.
fn of_indexes<'s>(schema: &'s TableSchema, set: Option<&[ColumnId]>) -> Vec<&'s str> {
    match schema.indexes.iter().any(|index| reads(&schema.columns_of(index), set)) {
        true => schema.derived.iter().map(|of| of.program.as_str()).collect(),
        false => Vec::new(),
    }
}

fn needs(view: &View, programs: Vec<&str>) -> Result<Vec<Need>> {
    let (functions, mut needs) = (view.objects.functions(), Vec::new());
    for program in programs {
        let made = formulas::made(program).map_err(|e| sql_error(&e, ""))?;
        for oid in &made.functions {
            if let Some(function) = functions.by_oid(*oid) {
                let (class, name) = (function.class(), function.name.name.as_str());
                needs.push(Need::new(Action::Call, class, function.rights(), name));
            }
        }
    }
    Ok(needs)
}
