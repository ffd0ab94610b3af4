//! Which rows of the catalogs are the same in every database?
//!
//! Types, casts, operator classes and so on, as PostgreSQL 15 has them: `pg15/rows.txt` was made by
//! `pg15/rows.sql`, in the text form of COPY.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::definitions::Definition;
use super::rows::{Datum, Rows};
use crate::types::oid;

/// oid[], text[], "char"[], aclitem[]
const OIDS: u32 = 1028;
const TEXTS: u32 = 1009;
const CHARS: u32 = 1002;
const ACL: u32 = 1034;

struct Part {
    columns: &'static str,
    lines: Vec<&'static str>,
}

static PARTS: LazyLock<HashMap<&'static str, Part>> = LazyLock::new(|| {
    let mut parts = HashMap::new();
    let mut current = None;
    for line in include_str!("pg15/rows.txt").lines() {
        match line.strip_prefix("# ").and_then(|head| head.split_once(": ")) {
            Some((name, columns)) => {
                parts.insert(name, Part { columns, lines: Vec::new() });
                current = Some(name);
            }
            None => {
                let part = current.and_then(|name| parts.get_mut(name));
                part.expect("a line of a table follows its head").lines.push(line);
            }
        }
    }
    parts
});

/// The rows of a table that every database has.
pub fn rows(table: &Definition) -> Option<Rows> {
    let part = PARTS.get(table.name)?;
    let types: Vec<u32> = part
        .columns
        .split(' ')
        .map(|name| {
            let at = table.columns.iter().position(|column| column.0 == name);
            at.map_or(oid::TEXT, |at| table.types[at].oid)
        })
        .collect();
    let mut rows = Rows::of(part.columns);
    for line in &part.lines {
        rows.push(line.split('\t').zip(&types).map(|(text, ty)| value(text, *ty)).collect());
    }
    Some(rows)
}

/// The value of a type that the text form of COPY means.
pub fn value(text: &str, ty: u32) -> Datum {
    let words = || text.trim_matches(['{', '}']).split(',').map(|word| word.trim_matches('"'));
    match ty {
        _ if text == "\\N" => Datum::Null,
        oid::BOOL => Datum::Bool(text == "t"),
        oid::INT2 | oid::INT4 | oid::INT8 | oid::OID | oid::REGPROC => {
            text.parse().map_or(Datum::Null, Datum::Int)
        }
        oid::FLOAT4 | oid::FLOAT8 => text.parse().map_or(Datum::Null, Datum::Float),
        oid::INT2VECTOR | oid::OIDVECTOR => {
            Datum::Ints(text.split(' ').filter_map(|n| n.parse().ok()).collect())
        }
        OIDS => Datum::Ints(words().filter_map(|n| n.parse().ok()).collect()),
        TEXTS | CHARS | ACL => Datum::Texts(words().map(str::to_string).collect()),
        _ => Datum::Text(text.to_string()),
    }
}
