//! May the role call what is calculated of the rows that it writes?
//!
//! The engine calculates checks, generated columns and keys of indexes below SQL, where no role is known. PostgreSQL asks
//! EXECUTE of the functions in them of who writes rows, when the first is written: so it is asked here, before rows are
//! handed over. Rows that foreign keys change are the engine's, and no role is asked; PostgreSQL asks the table's owner.
//!
//! A table that calls no function of its database costs a look at its description. Thread safety: a [`Once`] is of one statement,
//! and of its thread.

use std::cell::RefCell;

use hashbrown::HashSet;
use onlap::{ColumnId, Expr, IndexSchema, TableId, TableSchema};

use crate::error::Result;
use crate::formulas;
use crate::query::sql_error;
use crate::rights::{Action, Need};
use crate::view::View;

/// Fails unless the role may call what is calculated of rows that it writes: whole ones, or those in which it gives columns other
/// values.
///
/// # Errors
/// `42501`; `XX001`: no release wrote what the table calculates.
pub fn must(view: &View, schema: &TableSchema, set: Option<&[&str]>) -> Result<()> {
    must_of_rows(view, schema, set)?;
    must_of_indexes(view, schema, set)
}

/// Fails unless the role may call what generated columns and checks calculate of whole rows, or of those in which it sets columns.
///
/// # Errors
/// As of [`must`].
pub fn must_of_rows(view: &View, schema: &TableSchema, set: Option<&[&str]>) -> Result<()> {
    if calls_nothing(view, schema) {
        return Ok(());
    }
    let set = ids(schema, set);
    view.must(&needs(view, of_rows(schema, set.as_deref()))?)
}

/// The same of what indexes calculate, which PostgreSQL looks at once rows are written: of an update, those in which columns get
/// other values.
///
/// # Errors
/// As of [`must`].
pub fn must_of_indexes(view: &View, schema: &TableSchema, set: Option<&[&str]>) -> Result<()> {
    if calls_nothing(view, schema) {
        return Ok(());
    }
    let set = ids(schema, set);
    view.must(&needs(view, of_indexes(schema, set.as_deref()))?)
}

/// The same of what some indexes calculate.
///
/// # Errors
/// As of [`must`].
pub fn must_of(view: &View, schema: &TableSchema, indexes: &[IndexSchema]) -> Result<()> {
    if calls_nothing(view, schema) {
        return Ok(());
    }
    let mut open: Vec<ColumnId> = Vec::new();
    for index in indexes {
        open.extend(index.key.iter().map(|part| part.column).chain(index.filter));
    }
    let mut programs = Vec::new();
    while let Some(derived) = open.pop().map(|id| schema.derived(id)) {
        let Some(derived) = derived else { continue };
        programs.push(derived.program.as_str());
        open.extend(derived.only_if);
    }
    view.must(&needs(view, programs)?)
}

/// What a statement has asked already: once for each table, as PostgreSQL does.
#[derive(Default)]
pub struct Once {
    rows: RefCell<HashSet<TableId>>,
    arbiters: RefCell<HashSet<TableId>>,
    indexes: RefCell<HashSet<TableId>>,
}

impl Once {
    /// As [`must_of_rows`] of whole rows.
    ///
    /// # Errors
    /// As of [`must`].
    pub fn of_rows(&self, view: &View, schema: &TableSchema) -> Result<()> {
        once(&self.rows, schema, || must_of_rows(view, schema, None))
    }

    /// As [`must_of`]: the indexes are always the same of a table.
    ///
    /// # Errors
    /// As of [`must`].
    pub fn of(&self, view: &View, schema: &TableSchema, indexes: &[IndexSchema]) -> Result<()> {
        once(&self.arbiters, schema, || must_of(view, schema, indexes))
    }

    /// As [`must_of_indexes`] of whole rows.
    ///
    /// # Errors
    /// As of [`must`].
    pub fn of_indexes(&self, view: &View, schema: &TableSchema) -> Result<()> {
        once(&self.indexes, schema, || must_of_indexes(view, schema, None))
    }
}

fn once(
    asked: &RefCell<HashSet<TableId>>,
    schema: &TableSchema,
    ask: impl FnOnce() -> Result<()>,
) -> Result<()> {
    if !asked.borrow().contains(&schema.id) {
        ask()?;
        asked.borrow_mut().insert(schema.id);
    }
    Ok(())
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

fn ids(schema: &TableSchema, set: Option<&[&str]>) -> Option<Vec<ColumnId>> {
    let places = set?.iter().filter_map(|name| schema.position_by_name(name));
    Some(places.map(|at| schema.columns[at].id).collect())
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

/// The programs of indexes: a row that stays the same to all of them keeps its entries. Generated columns change with what they
/// read.
fn of_indexes<'s>(schema: &'s TableSchema, set: Option<&[ColumnId]>) -> Vec<&'s str> {
    let set = set.map(|set| {
        let generated = set.iter().flat_map(|id| schema.generated_from(*id));
        set.iter().copied().chain(generated).collect::<Vec<_>>()
    });
    let changes = |index: &IndexSchema| {
        reads(&schema.columns_of(index), set.as_deref()) || reads(&index.include, set.as_deref())
    };
    match schema.indexes.iter().any(changes) {
        true => schema.derived.iter().map(|of| of.program.as_str()).collect(),
        false => Vec::new(),
    }
}

fn needs(view: &View, programs: Vec<&str>) -> Result<Vec<Need>> {
    let (functions, mut needs) = (view.objects.functions(), Vec::new());
    for program in programs.into_iter().filter(|program| formulas::carries(program)) {
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
