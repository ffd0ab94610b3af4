//! How many of PostgreSQL's own regression statements come out as in PostgreSQL?
//!
//! The scripts are not part of this repository: the command is given their folder (`src/test/regress/sql` of PostgreSQL 15's
//! sources, with `data` in it or next to it). Each is read as psql reads it ([`script`]) and carried out statement by statement by Onlap and by a
//! PostgreSQL 15, from the same beginning: what `test_setup.sql` made ([`pair`], [`run`]). What both answer is compared
//! ([`judge`]), and what differs is told by its roots ([`report`]): a table that could not be made fails every statement that reads it.

pub mod judge;
pub mod pair;
pub mod report;
pub mod roots;
pub mod run;
pub mod script;
pub mod variables;

use std::path::Path;

use crate::regression::pair::Setup;
use crate::regression::report::Report;

/// Scripts about types, expressions, queries, changes of rows and constraints: their statements are what is counted.
pub const FILES: [&str; 57] = [
    "boolean",
    "char",
    "name",
    "varchar",
    "text",
    "int2",
    "int4",
    "int8",
    "oid",
    "float4",
    "float8",
    "bit",
    "numeric",
    "uuid",
    "strings",
    "numerology",
    "date",
    "time",
    "timetz",
    "timestamp",
    "timestamptz",
    "interval",
    "horology",
    "regex",
    "unicode",
    "comments",
    "expressions",
    "case",
    "arrays",
    "rowtypes",
    "json",
    "jsonb",
    "jsonpath",
    "jsonb_jsonpath",
    "select",
    "select_into",
    "select_distinct",
    "select_distinct_on",
    "select_implicit",
    "select_having",
    "subselect",
    "union",
    "join",
    "aggregates",
    "groupingsets",
    "window",
    "limit",
    "random",
    "with",
    "tsrf",
    "returning",
    "insert",
    "insert_conflict",
    "update",
    "delete",
    "constraints",
    "prepare",
];

/// Scripts that are looked at, too, where they are asked for.
pub const MORE: [&str; 20] = [
    "foreign_key",
    "create_table",
    "create_index",
    "create_view",
    "alter_table",
    "sequence",
    "identity",
    "generated",
    "transactions",
    "portals",
    "copy",
    "copy2",
    "copyselect",
    "truncate",
    "temp",
    "money",
    "enum",
    "domain",
    "rangetypes",
    "inet",
];

/// The script that makes what others read.
pub const SETUP: &str = "test_setup";

/// Carries scripts of a folder out, each from the same beginning; a script that is not there is left out.
///
/// # Errors
/// There is no such folder, or a server does not start.
pub fn run_files(folder: &Path, names: &[&str]) -> Result<Report, String> {
    let read = |name: &str| {
        let path = folder.join(name).with_extension("sql");
        // Some are in other encodings, to be refused.
        std::fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let setup = Setup::make(folder, read(SETUP).ok().as_deref())?;
    let mut report = Report::default();
    for name in names {
        let Ok(text) = read(name) else {
            report.missing.push((*name).to_owned());
            continue;
        };
        let mut pair = setup.begin()?;
        let (judged, skipped) = run::script(&mut pair, name, &text)?;
        println!("{name}: {} statements", judged.len());
        report.add(judged, skipped);
    }
    Ok(report)
}
