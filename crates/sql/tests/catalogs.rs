//! Do clients' questions about the catalogs get the answers that PostgreSQL gives?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use support::{Fixture, Talk};

fn schema() -> (Fixture, Talk) {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for statement in include_str!("../testdata/catalogs/schema.sql").split_inclusive(';') {
        talk.rows(statement);
    }
    (fixture, talk)
}

/// The OID that a statement of psql names, by the relation that it has in the recording.
fn with_oid(talk: &mut Talk, statement: &str) -> String {
    let mut text = statement.to_string();
    while let Some(at) = text.find("'@") {
        let end = text[at + 2..].find('\'').expect("a quote after the name") + at + 2;
        let name = text[at + 2..end].to_string();
        let oid = talk.rows(&format!("SELECT oid FROM pg_class WHERE relname = '{name}'"));
        let oid = oid.first().and_then(|r| r[0].clone()).unwrap_or_else(|| "0".into());
        text.replace_range(at + 1..end, &oid);
    }
    text
}

#[test]
fn statements_of_psql_are_answered() {
    let (_fixture, mut talk) = schema();
    let mut failed = Vec::new();
    for statement in include_str!("../testdata/catalogs/psql.sql").split("\n----\n") {
        let lines = statement.lines().filter(|l| !l.starts_with("####"));
        let statement = lines.collect::<Vec<_>>().join("\n");
        if statement.trim().is_empty() {
            continue;
        }
        let statement = with_oid(&mut talk, &statement);
        if let Some((state, message)) = talk.run(&statement).error {
            failed.push(format!("{state} {message}\n{statement}\n"));
        }
    }
    assert!(failed.is_empty(), "{} statements failed:\n{}", failed.len(), failed.join("\n"));
}
