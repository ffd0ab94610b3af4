//! Do statements give PostgreSQL's names, types and rows?
//!
//! Starts a private PostgreSQL 15, makes the same schema there and here, and compares statement by
//! statement. Needs the Debian package postgresql.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use onlap_testkit::postgres::{self, Postgres};
use onlap_testkit::programs;
use support::Fixture;

/// Lines of columns with a tab between them.
fn lines(postgres: &Postgres, statement: &str) -> Vec<Vec<String>> {
    let script = postgres.folder().join("script");
    std::fs::write(&script, statement).expect("a script is written");
    let mut psql = postgres.psql();
    psql.args(["-A", "-t", "-F", "\t", "-P", "null=NULL", "-f"]).arg(&script);
    let output = psql.output().expect("psql runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.is_empty(), "{statement}: {said}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().map(|line| line.split('\t').map(str::to_string).collect()).collect()
}

#[test]
fn statements_give_what_postgresql_gives() {
    if !programs::are_there(&postgres::NEEDED) {
        return;
    }
    let postgres = Postgres::start();
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    let schema = include_str!("../testdata/catalogs/schema.sql");
    lines(&postgres, &format!("SET client_min_messages = warning;\n\\set QUIET on\n{schema}"));
    schema.split_inclusive(';').for_each(|statement| drop(talk.rows(statement)));
    let mut different = Vec::new();
    for statement in include_str!("../testdata/catalogs/same.sql").lines() {
        let columns = lines(&postgres, &format!("{statement} \\gdesc"));
        let rows = lines(&postgres, &format!("{statement};"));
        let outcome = talk.run(statement);
        if let Some(error) = outcome.error {
            different.push(format!("{statement}\n  {error:?}"));
            continue;
        }
        let mut ours = Vec::new();
        for (column, oid) in outcome.columns {
            let name = talk.rows(&format!("SELECT format_type({oid}, NULL)"));
            ours.push(vec![column, name[0][0].clone().unwrap_or_default()]);
        }
        // Lengths are no part of what is compared.
        let plain = |ty: &str| ty.split('(').next().unwrap_or(ty).to_string();
        let theirs: Vec<Vec<String>> =
            columns.iter().map(|c| vec![c[0].clone(), plain(&c[1])]).collect();
        if ours != theirs {
            different.push(format!("{statement}\n  ours {ours:?}\n  PostgreSQL's {theirs:?}"));
        }
        let value = |v: &Option<String>| v.clone().unwrap_or_else(|| "NULL".into());
        let found: Vec<Vec<String>> =
            outcome.rows.iter().map(|row| row.iter().map(value).collect()).collect();
        if found != rows {
            different.push(format!("{statement}\n  ours {found:?}\n  PostgreSQL's {rows:?}"));
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
}
