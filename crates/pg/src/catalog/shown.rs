//! How do messages write types, operators and functions?

use std::borrow::Cow;

use super::Catalog;
use crate::Oid;

/// A type that is no array, by the name of its row.
pub(super) fn of(name: &str) -> Cow<'static, str> {
    let standard = match name {
        "bool" => "boolean",
        "bpchar" => "character",
        "int2" => "smallint",
        "int4" => "integer",
        "int8" => "bigint",
        "float4" => "real",
        "float8" => "double precision",
        "time" => "time without time zone",
        "timetz" => "time with time zone",
        "timestamp" => "timestamp without time zone",
        "timestamptz" => "timestamp with time zone",
        "varbit" => "bit varying",
        "varchar" => "character varying",
        // Key words of the grammar.
        "char" => "\"char\"",
        "any" => "\"any\"",
        _ => return Cow::Owned(name.to_owned()),
    };
    Cow::Borrowed(standard)
}

impl Catalog {
    /// A type as format_type writes it, without a modifier.
    pub fn shown(&self, oid: Oid) -> String {
        match self.get_type(oid) {
            Some(found) => found.shown.to_string(),
            None => "???".into(),
        }
    }
}

/// `integer + text`, or `- text`.
pub fn operator_signature(catalog: &Catalog, name: &str, left: Option<Oid>, right: Oid) -> String {
    match left {
        Some(left) => format!("{} {name} {}", catalog.shown(left), catalog.shown(right)),
        None => format!("{name} {}", catalog.shown(right)),
    }
}

/// `lower(integer)`, `make_interval(years => text)`.
pub fn procedure_signature(
    catalog: &Catalog,
    name: &str,
    arguments: &[(Option<&str>, Oid)],
) -> String {
    let written: Vec<String> = arguments
        .iter()
        .map(|(name, oid)| match name {
            Some(name) => format!("{name} => {}", catalog.shown(*oid)),
            None => catalog.shown(*oid),
        })
        .collect();
    format!("{name}({})", written.join(", "))
}
