//! Which columns can be keys?
//!
//! An index compares bytes. Where a type's equality is more than that of what is kept, an index would let in what is equal,
//! or not find it: it is refused. Thread safety: pure functions.

use onlap::{DataType, TableSchema};
use onlap_pg::ast::References;
use onlap_pg::catalog::Catalog;

use crate::columns::ColumnType;
use crate::error::{Result, SqlError, state};

/// The type of a column by its name.
pub fn type_of(columns: &[(String, ColumnType)], name: &str) -> Option<ColumnType> {
    columns.iter().find(|(known, _)| known == name).map(|(_, ty)| *ty)
}

/// Fails unless an index can be of these columns.
///
/// # Errors
/// `42704`: the type has no order; `0A000`: what is kept has not.
pub fn must_be_ordered(columns: &[(String, ColumnType)], key: &[String]) -> Result<()> {
    let types = key.iter().filter_map(|name| type_of(columns, name));
    let mut types = types;
    types.try_for_each(must_have_order)
}

/// Fails unless a type's values are kept in their order.
///
/// # Errors
/// As [`must_be_ordered`].
pub fn must_have_order(ty: ColumnType) -> Result<()> {
    if ty.is_ordered() {
        return Ok(());
    }
    if ty.is_own() && ty.engine == DataType::Json {
        let text = "data type json has no default operator class for access method \"btree\"";
        let hint = "You must specify an operator class for the index or define a default \
                    operator class for the data type.";
        return Err(SqlError::new(state::NO_OBJECT, text).hint(hint));
    }
    let text = format!("an index on a column of type {}", ty.shown());
    Err(SqlError::unsupported(text))
}

/// The places of the parent's columns that a foreign key names: its primary key's where it names none.
pub fn parents<'a>(
    parent: &'a TableSchema,
    key: &'a References,
) -> Box<dyn Iterator<Item = usize> + 'a> {
    if key.columns.is_empty() {
        let primary = parent.primary().into_iter().flat_map(|index| &index.key);
        return Box::new(primary.filter_map(|part| parent.position(part.column)));
    }
    Box::new(key.columns.iter().filter_map(|name| parent.position_by_name(name)))
}

/// Fails where a column and its parent are kept in different forms.
///
/// # Errors
/// `0A000`.
pub fn must_match(
    catalog: &Catalog,
    columns: &[(String, ColumnType)],
    key: &[String],
    parents: impl Iterator<Item = ColumnType>,
) -> Result<()> {
    let own = key.iter().filter_map(|name| type_of(columns, name));
    for (own, parent) in own.zip(parents) {
        // Of types that the engine compares by itself, it says which go together: text and varchar do.
        let is_native = own.is_native() && parent.is_native();
        let is_same = own.is_kept_as(parent) && own.pg.modifier == parent.pg.modifier;
        if !is_native && !is_same && !own.is_same_below(parent) {
            let (own, parent) = (own.shown_in(catalog), parent.shown_in(catalog));
            let text = format!("a foreign key of type {own} that refers to one of type {parent}");
            return Err(SqlError::unsupported(text));
        }
    }
    Ok(())
}
