//! Do statements give what they should?
//!
//! The files of `testdata` are sqllogictest scripts; what they expect is what PostgreSQL 15 answers. Each
//! runs with usual and with tiny memtables, and answers must not change.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use sqllogictest::{DBOutput, DefaultColumnType, Runner};
use support::{Fixture, Talk};

struct Db(Talk);

#[derive(Debug)]
struct Failed(String);

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failed {}

impl sqllogictest::DB for Db {
    type Error = Failed;
    type ColumnType = DefaultColumnType;

    fn engine_name(&self) -> &str {
        "onlap"
    }

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Failed> {
        let outcome = self.0.run(sql);
        if let Some((state, message)) = outcome.error {
            return Err(Failed(format!("{state}: {message}")));
        }
        if outcome.columns.is_empty() {
            return Ok(DBOutput::StatementComplete(0));
        }
        let value = |v: Option<String>| match v {
            None => "NULL".to_string(),
            Some(v) if v.is_empty() => "(empty)".to_string(),
            Some(v) => v,
        };
        let types = outcome.columns.iter().map(|_| DefaultColumnType::Text).collect();
        let rows = outcome.rows.into_iter().map(|r| r.into_iter().map(value).collect());
        Ok(DBOutput::Rows { types, rows: rows.collect() })
    }
}

fn run_all(tiny: bool, before: &str) {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata");
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .expect("the folder of scripts")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "slt"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    let mut failed = Vec::new();
    for file in files {
        let fixture = Fixture::new(tiny);
        let open = || {
            let mut talk = fixture.session();
            if !before.is_empty() {
                talk.rows(before);
            }
            async move { Ok(Db(talk)) }
        };
        let mut runner = Runner::new(open);
        if let Err(e) = runner.run_file(&file) {
            failed.push(format!("{e}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn scripts_give_what_they_say() {
    run_all(false, "");
}

#[test]
fn scripts_give_the_same_with_tiny_memtables() {
    run_all(true, "");
}

#[test]
fn scripts_give_the_same_without_the_fast_path() {
    run_all(false, "SET fast_path = off");
}
