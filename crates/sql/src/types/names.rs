//! What are types called?
//!
//! As PostgreSQL's catalog says; types that a database has made are not known here.

use onlap::DataType;
use onlap_pg::TypeRef;
use onlap_pg::catalog::Type;

use super::{PgType, oid};
use crate::query::catalog;

/// The OID of arrays of a type; text's where there is none.
pub fn array_of(element: u32) -> u32 {
    catalog().array_of(element).unwrap_or(1009)
}

/// The OID of an array type's elements.
pub fn element_of(array: u32) -> Option<u32> {
    catalog().element(array)
}

/// The OID of a type by any of its names, of arrays too.
pub fn by_name(name: &str) -> Option<u32> {
    let lower = name.trim().to_ascii_lowercase();
    let lower = lower.strip_prefix("pg_catalog.").unwrap_or(&lower);
    if let Some(element) = lower.strip_suffix("[]") {
        return by_name(element).map(array_of);
    }
    let alias = match lower {
        "int" => "int4",
        "decimal" => "numeric",
        "string" => "text",
        "char" => return Some(oid::CHAR),
        other => other,
    };
    let is_it = |ty: &&Type| ty.shown == alias;
    let found = catalog().type_named(alias).or_else(|| catalog().types().find(is_it));
    found.map(|ty| ty.oid)
}

/// The name of a type's row in pg_type.
pub fn internal(oid: u32) -> String {
    catalog().get_type(oid).map_or_else(|| "unknown".into(), |ty| ty.name.to_string())
}

/// The name of a type as format_type() gives it.
pub fn format_type(ty: PgType) -> String {
    catalog().shown_with(TypeRef { oid: ty.oid, modifier: ty.modifier })
}

/// The SQL name of an engine type, with its length or precision.
pub fn of_engine(ty: DataType) -> String {
    format_type(PgType::of_engine(ty))
}
