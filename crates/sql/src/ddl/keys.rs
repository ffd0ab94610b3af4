//! Which columns can be keys?
//!
//! An index compares bytes. Where a type's equality is more than that of what is kept, an index would let in what is equal,
//! or not find it: it is refused. Thread safety: pure functions.

use onlap::{DataType, TableSchema};
use onlap_pg::ast::References;
use onlap_pg::catalog::Catalog;
use onlap_pg::resolve::{Context, can_convert};

use crate::columns::ColumnType;
use crate::error::{Result, SqlError, state};
use crate::types::oid;

/// The type of a column by its name.
pub fn type_of(columns: &[(String, ColumnType)], name: &str) -> Option<ColumnType> {
    columns.iter().find(|(known, _)| known == name).map(|(_, ty)| *ty)
}

/// Fails unless an index can be of these columns.
///
/// # Errors
/// `42704`: the type has no order; `0A000`: what is kept has not.
pub fn must_be_ordered(
    columns: &[(String, ColumnType)],
    key: &[String],
    method: Option<&str>,
) -> Result<()> {
    let mut types = key.iter().filter_map(|name| type_of(columns, name));
    types.try_for_each(|ty| must_have_order(ty, method))
}

/// Fails unless a type's values are kept in their order.
///
/// # Errors
/// As [`must_be_ordered`].
pub fn must_have_order(ty: ColumnType, method: Option<&str>) -> Result<()> {
    if ty.is_ordered() {
        return Ok(());
    }
    must_have_class(ty, method)?;
    let text = format!("an index on a column of type {}", ty.shown());
    Err(SqlError::unsupported(text))
}

/// Fails where PostgreSQL has no operator class for a type, of the method that an index names.
///
/// # Errors
/// `42704`.
pub fn must_have_class(ty: ColumnType, method: Option<&str>) -> Result<()> {
    if !has_no_class(ty) {
        return Ok(());
    }
    let (shown, method) = (ty.shown(), method.filter(|name| *name == "hash").unwrap_or("btree"));
    let text =
        format!("data type {shown} has no default operator class for access method \"{method}\"");
    let hint = "You must specify an operator class for the index or define a default operator \
                class for the data type.";
    Err(SqlError::new(state::NO_OBJECT, text).hint(hint))
}

/// Whether PostgreSQL has no order for a type either: json, xml, geometric types and snapshots.
pub fn has_no_class(ty: ColumnType) -> bool {
    ty.is_own() && ty.engine == DataType::Json
        || matches!(ty.base.oid, 142 | 600..=604 | 628 | 718 | 2970 | 5038)
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

/// A foreign key's name, its columns and those that it refers to.
pub struct Pairs<'a> {
    /// Its name.
    pub name: &'a str,
    /// The columns of the table.
    pub columns: &'a [(String, ColumnType)],
    /// Those of the key.
    pub key: &'a [String],
    /// Those of the parent.
    pub parents: Vec<(String, ColumnType)>,
}

/// Fails where a column cannot refer to its parent.
///
/// # Errors
/// `42804`: no value of one is one of the other; `0A000`: they are kept in different forms.
pub fn must_match(catalog: &Catalog, pairs: &Pairs<'_>) -> Result<()> {
    let Pairs { name, columns, key, parents } = pairs;
    for (column, (parent, theirs)) in key.iter().zip(parents) {
        let Some(own) = type_of(columns, column) else { continue };
        let is_native = own.is_native() && theirs.is_native();
        let is_same = own.is_kept_as(*theirs) && own.pg.modifier == theirs.pg.modifier;
        let goes = match is_native {
            true => is_kept_alike(own.engine, theirs.engine),
            false => is_same || own.is_same_below(*theirs),
        };
        if goes {
            continue;
        }
        let (from, to) = (own.pg.oid, theirs.pg.oid);
        let is_compared = family(from).is_some_and(|family| Some(family) == self::family(to));
        if !is_compared && !can_convert(catalog, from, to, Context::Implicit) {
            let text = format!("foreign key constraint \"{name}\" cannot be implemented");
            let (from, to) = (catalog.shown(from), catalog.shown(to));
            let detail = format!(
                "Key columns \"{column}\" and \"{parent}\" are of incompatible types: {from} and {to}."
            );
            return Err(SqlError::new(state::MISMATCH, text).detail(detail));
        }
        let (own, theirs) = (own.shown_in(catalog), theirs.shown_in(catalog));
        let text = format!("a foreign key of type {own} that refers to one of type {theirs}");
        return Err(SqlError::unsupported(text));
    }
    Ok(())
}

/// Whether values of two of the engine's types are found in each other's indexes.
fn is_kept_alike(own: DataType, parent: DataType) -> bool {
    use DataType::{Int2, Int4, Int8, Text, Varchar};
    let is_int = |ty| matches!(ty, Int2 | Int4 | Int8);
    let is_text = |ty| matches!(ty, Text | Varchar(_));
    own == parent || is_int(own) && is_int(parent) || is_text(own) && is_text(parent)
}

/// Types that PostgreSQL compares with each other.
fn family(ty: u32) -> Option<u8> {
    Some(match ty {
        oid::INT2 | oid::INT4 | oid::INT8 => 0,
        oid::FLOAT4 | oid::FLOAT8 => 1,
        oid::DATE | oid::TIMESTAMP | oid::TIMESTAMPTZ => 2,
        oid::TEXT | oid::VARCHAR | oid::NAME => 3,
        _ => return None,
    })
}
