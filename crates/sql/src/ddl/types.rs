//! Which type does a column declaration name?

use onlap::DataType;
use onlap_pg::ast::TypeName;
use onlap_pg::bind;

use crate::columns::ColumnType;
use crate::error::{Result, SqlError};
use crate::query::{Names, sql_error};
use crate::source::Source;
use crate::types::PgType;
use crate::view::View;

/// A column's type, and whether it is a serial one.
///
/// # Errors
/// There is no such type, or no column can have it.
pub fn column_type(view: &View, source: Source<'_>, ty: &TypeName) -> Result<(ColumnType, bool)> {
    if let Some(engine) = serial(ty) {
        if !ty.bounds.is_empty() {
            return Err(source.at(SqlError::unsupported("an array of serial"), ty.place));
        }
        return Ok((ColumnType::own(engine), true));
    }
    let names = Names::new(view);
    let found = bind::type_named(source.tree, ty, &names, names.catalog());
    let found = found.map_err(|e| sql_error(&e, source.text))?;
    let pg = PgType { oid: found.oid, modifier: found.modifier };
    match ColumnType::of(names.catalog(), pg) {
        Some(ty) => Ok((ty, false)),
        None => Err(unsupported(&shown(ty))),
    }
}

/// The same of a column of a name.
///
/// # Errors
/// As [`column_type`]; `42P16`: it stands for other types.
pub fn type_of_column(
    view: &View,
    source: Source<'_>,
    (column, ty): (&str, &TypeName),
) -> Result<(ColumnType, bool)> {
    column_type(view, source, ty).map_err(|refused| {
        let names = Names::new(view);
        match bind::type_named(source.tree, ty, &names, names.catalog()) {
            Ok(found) => {
                let pg = PgType { oid: found.oid, modifier: found.modifier };
                super::view::no_pseudo_type(column, pg).err().unwrap_or(refused)
            }
            Err(_) => refused,
        }
    })
}

/// The type of a serial column.
fn serial(ty: &TypeName) -> Option<DataType> {
    let [name] = &ty.name[..] else { return None };
    Some(match &**name {
        "serial" | "serial4" => DataType::Int4,
        "bigserial" | "serial8" => DataType::Int8,
        "smallserial" | "serial2" => DataType::Int2,
        _ => return None,
    })
}

/// The type of a sequence's values; `None` for others than whole numbers.
pub fn sequence_type(ty: &TypeName) -> Option<DataType> {
    let name = match &ty.name[..] {
        [name] => name,
        [schema, name] if &**schema == "pg_catalog" => name,
        _ => return None,
    };
    match &**name {
        "int2" => Some(DataType::Int2),
        "int4" => Some(DataType::Int4),
        "int8" => Some(DataType::Int8),
        _ => None,
    }
}

/// A type's name as it is told to clients.
pub fn shown(ty: &TypeName) -> String {
    let parts: Vec<&str> = match &ty.name[..] {
        [schema, name] if &**schema == "pg_catalog" => vec![name],
        parts => parts.iter().map(|part| &**part).collect(),
    };
    let mut text = parts.join(".");
    ty.bounds.iter().for_each(|_| text.push_str("[]"));
    text
}

fn unsupported(name: &str) -> SqlError {
    SqlError::unsupported(format!("a column of type {name}"))
        .hint("Store it as text, numeric, timestamptz or jsonb.")
}
