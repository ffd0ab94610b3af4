//! Which rows does a table take?
//!
//! Defaults fill what an insert leaves out ([`defaults`]), checks judge each row on its own
//! ([`checks`]). Both happen as rows come into a transaction, before anything is logged. Foreign keys
//! are kept by the transaction; here stands who refers to whom ([`references`]). Rules come and go on
//! tables that have rows ([`alter`]).
//!
//! Thread safety: plain functions; what is shared is immutable.

use std::sync::Arc;

use onlap_base::{Error, ErrorKind, Result, SequenceId, Subject};
use onlap_format::{TableSchema, Value, convert};

use crate::database::{Shared, unknown_table};
use crate::sequences::unknown_sequence;
use crate::spec::{TableSpec, build_default};

pub(crate) mod alter;
mod checks;
pub(crate) mod defaults;
mod references;

pub(crate) use checks::Checks;
pub(crate) use references::{Reference, References};

/// A column of a table is not to be NULL.
pub(crate) fn not_null(
    schema: &TableSchema,
    column: &str,
    value: impl Fn(usize) -> Value,
) -> Error {
    let text = format!("column {column} of table {} does not take NULL", schema.name);
    Error::new(ErrorKind::NotNull, text).about(Subject {
        table: schema.name.clone(),
        column: Some(column.to_owned()),
        row: convert::row_texts(schema, value),
        ..Subject::default()
    })
}

/// A column that is not to be NULL any more is NULL in some row.
pub(crate) fn has_null(schema: &TableSchema, column: &str) -> Error {
    let text = format!("column {column} of table {} has NULL in some row", schema.name);
    Error::new(ErrorKind::NotNull, text).about(Subject {
        table: schema.name.clone(),
        column: Some(column.to_owned()),
        ..Subject::default()
    })
}

/// After a table came or went: parents learn of their children.
pub(crate) fn came_or_went(shared: &Shared, schema: &TableSchema) {
    if !schema.foreign_keys.is_empty() {
        shared.references.rebuild(&shared.catalog);
    }
}

/// Finds the schema of a table by name.
pub(crate) type FindTable<'a> = dyn Fn(&str) -> Result<Arc<TableSchema>> + 'a;

/// Finds a sequence by name.
pub(crate) type FindSequence<'a> = dyn Fn(&str) -> Result<SequenceId> + 'a;

/// The sequence of a name, as everybody sees it.
pub(crate) fn find_sequence(shared: &Shared, name: &str) -> Result<SequenceId> {
    let found = shared.sequences.by_name(name);
    found.map(|state| state.id()).ok_or_else(|| unknown_sequence(name))
}

/// The table of a name, as everybody sees it.
pub(crate) fn find_table(shared: &Shared, name: &str) -> Result<Arc<TableSchema>> {
    let found = shared.catalog.by_name(name);
    found.map(|state| state.schema()).ok_or_else(|| unknown_table(name))
}

/// Adds the rules of a table's description to its schema.
pub(crate) fn complete(
    spec: &TableSpec,
    schema: &mut TableSchema,
    parents: &FindTable<'_>,
    sequence: &FindSequence<'_>,
) -> Result<()> {
    let rules = spec.rules();
    for (column, default) in &rules.defaults {
        let at = schema.position_by_name(column).ok_or_else(|| {
            let text = format!("table {} has no column {column}", schema.name);
            Error::new(ErrorKind::UnknownColumn, text)
        })?;
        schema.columns[at].default = Some(build_default(&schema.columns[at], default, sequence)?);
    }
    for check in &rules.checks {
        let check = check.build(schema)?;
        schema.checks.push(check);
    }
    for spec in &rules.foreign_keys {
        let key = if spec.parent() == schema.name {
            spec.build(schema, schema)?
        } else {
            spec.build(schema, &*parents(spec.parent())?)?
        };
        schema.add_foreign_key(key);
    }
    Ok(())
}
