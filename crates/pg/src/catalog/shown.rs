//! How do messages write types, operators and functions?

use std::borrow::Cow;

use super::{Catalog, oids};
use crate::{Oid, TypeRef};

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
            Some(found) => self.in_schema(found).into_owned(),
            None => "???".into(),
        }
    }
}

impl Catalog {
    /// A type with its modifier, as format_type writes it.
    pub fn shown_with(&self, ty: TypeRef) -> String {
        let element = self.element(ty.oid);
        let (own, array) = (element.unwrap_or(ty.oid), if element.is_some() { "[]" } else { "" });
        let shown = self.shown(own);
        if ty.modifier < 0 {
            // Without a length these words would mean a length of one.
            return match own {
                1042 => format!("bpchar{array}"),
                1560 => format!("\"bit\"{array}"),
                _ => self.shown(ty.oid),
            };
        }
        let modifier = ty.modifier;
        let written = match own {
            1042 | 1043 => format!("({})", modifier - 4),
            1560 | 1562 => format!("({modifier})"),
            1700 => {
                let scale = ((modifier - 4) & 0x7ff ^ 1024) - 1024;
                format!("({},{scale})", (modifier - 4) >> 16 & 0xffff)
            }
            oids::INTERVAL => interval_fields(modifier),
            1083 | 1266 | 1114 | 1184 => {
                let (first, rest) = shown.split_once(' ').unwrap_or((&shown, ""));
                return format!("{first}({modifier}) {rest}{array}");
            }
            _ => return self.shown(ty.oid),
        };
        format!("{shown}{written}{array}")
    }
}

/// Which fields an interval has, and how many decimals its seconds.
fn interval_fields(modifier: i32) -> String {
    let (fields, precision) = (modifier >> 16 & 0x7fff, modifier & 0xffff);
    let (year, month, day, hour, minute, second) = (4, 2, 8, 1 << 10, 1 << 11, 1 << 12);
    let known = [
        (year, " year"),
        (month, " month"),
        (day, " day"),
        (hour, " hour"),
        (minute, " minute"),
        (second, " second"),
        (year | month, " year to month"),
        (day | hour, " day to hour"),
        (day | hour | minute, " day to minute"),
        (day | hour | minute | second, " day to second"),
        (hour | minute, " hour to minute"),
        (hour | minute | second, " hour to second"),
        (minute | second, " minute to second"),
    ];
    let named = known.iter().find(|(mask, _)| *mask == fields).map_or("", |(_, name)| name);
    match precision {
        0xffff => named.to_string(),
        precision => format!("{named}({precision})"),
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
