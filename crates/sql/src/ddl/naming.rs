//! What is something called that has no name?
//!
//! As in PostgreSQL: table, columns and what it is, joined by underscores, shortened to 63 bytes, with a
//! number behind where the name is taken.

use crate::catalog::{Kind, Name};
use crate::error::{Result, SqlError, state};
use crate::view::View;

/// Bytes of a name, as in PostgreSQL.
const NAME_BYTES: usize = 63;

/// A name of table, columns and label that is free.
pub fn choose(table: &str, columns: &str, label: &str, is_taken: &dyn Fn(&str) -> bool) -> String {
    let mut pass = 0;
    loop {
        let label = if pass == 0 { label.to_string() } else { format!("{label}{pass}") };
        let name = join(table, columns, &label);
        if !is_taken(&name) {
            return name;
        }
        pass += 1;
    }
}

fn join(table: &str, columns: &str, label: &str) -> String {
    let mut fixed = label.len() + 1;
    if !columns.is_empty() {
        fixed += 1;
    }
    let room = NAME_BYTES - fixed;
    let (mut a, mut b) = (table.len(), columns.len());
    while a + b > room {
        if a > b { a -= 1 } else { b -= 1 }
    }
    let table = cut(table, a);
    match columns {
        "" => format!("{table}_{label}"),
        columns => format!("{table}_{}_{label}", cut(columns, b)),
    }
}

fn cut(text: &str, mut at: usize) -> &str {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    &text[..at]
}

/// What has a name in a schema: tables, indexes, views and sequences share one space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// A table.
    Table,
    /// An index.
    Index,
    /// A view.
    View,
    /// A sequence.
    Sequence,
}

/// What has this name.
///
/// # Errors
/// The transaction has ended.
pub fn find(view: &View, name: &Name) -> Result<Option<Relation>> {
    let engine = name.engine(&view.database);
    if view.scope.tx()?.table(&engine).is_ok() {
        return Ok(Some(Relation::Table));
    }
    if view.objects.get(Kind::View, &engine).is_some() {
        return Ok(Some(Relation::View));
    }
    if view.scope.tx()?.sequence(&engine).is_ok() {
        return Ok(Some(Relation::Sequence));
    }
    let of_schema = |other: &Name| other.schema == name.schema;
    let tables = view.tables()?;
    let index = tables.iter().any(|(other, table)| {
        of_schema(other) && table.schema().index_by_name(&name.name).is_some()
    });
    Ok(index.then_some(Relation::Index))
}

/// All tables, views and sequences of the database.
///
/// # Errors
/// The transaction has ended.
pub fn all(view: &View) -> Result<Vec<(Name, Relation)>> {
    let here = |engine: &str| {
        let (database, name) = Name::of_engine(engine);
        (database == view.database).then_some(name)
    };
    let tables = view.tables()?.into_iter().map(|(name, _)| (name, Relation::Table));
    let views = view.objects.of_kind(Kind::View);
    let views = views.filter_map(|(engine, _)| Some((here(engine)?, Relation::View)));
    let sequences = view.scope.tx()?.sequences();
    let sequences = sequences.iter().filter_map(|s| Some((here(s.name())?, Relation::Sequence)));
    Ok(tables.chain(views).chain(sequences).collect())
}

/// Fails when a name is taken.
///
/// # Errors
/// `42P07`.
pub fn check_free(view: &View, name: &Name) -> Result<()> {
    match find(view, name)? {
        Some(_) => Err(taken(&name.name)),
        None => Ok(()),
    }
}

/// The name is taken.
pub fn taken(name: &str) -> SqlError {
    SqlError::new(state::DUPLICATE_TABLE, format!("relation \"{name}\" already exists"))
}
