//! Which rows of the catalogs are the same in every database?
//!
//! Types, casts, operator classes and so on, as PostgreSQL 15 has them: `pg15/rows.txt` was made by
//! `pg15/rows.sql`, in the text form of COPY.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::definitions::Definition;
use super::rows::{Datum, Rows};
use crate::types::{PgType, oid};

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
    let types: Vec<PgType> = part
        .columns
        .split(' ')
        .map(|name| {
            let found = table.columns.iter().find(|c| c.0 == name);
            found.map_or(PgType::new(oid::TEXT), |c| c.1)
        })
        .collect();
    let mut rows = Rows::of(part.columns);
    for line in &part.lines {
        rows.push(line.split('\t').zip(&types).map(|(text, ty)| datum(text, *ty)).collect());
    }
    Some(rows)
}

fn datum(text: &str, ty: PgType) -> Datum {
    if text == "\\N" {
        return Datum::Null;
    }
    match ty.oid {
        oid::BOOL => Datum::Bool(text == "t"),
        oid::INT2 | oid::INT4 | oid::INT8 | oid::OID | oid::REGPROC => {
            text.parse().map_or(Datum::Null, Datum::Int)
        }
        oid::INT2VECTOR | oid::OIDVECTOR => {
            Datum::Ints(text.split(' ').filter_map(|n| n.parse().ok()).collect())
        }
        _ => Datum::Text(text.to_string()),
    }
}

/// The name of a function that the fixed rows know, by OID.
pub fn function_name(oid: u32) -> Option<&'static str> {
    let part = PARTS.get("pg_proc")?;
    part.lines.iter().find_map(|line| {
        let mut words = line.split('\t');
        (words.next()?.parse() == Ok(oid)).then(|| words.next())?
    })
}

/// The OID of a function that the fixed rows know, by name.
pub fn function_oid(name: &str) -> Option<u32> {
    let part = PARTS.get("pg_proc")?;
    part.lines.iter().find_map(|line| {
        let mut words = line.split('\t');
        let oid = words.next()?.parse().ok()?;
        (words.next()? == name).then_some(oid)
    })
}
