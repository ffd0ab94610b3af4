//! Are constraints judged when PostgreSQL judges them, and with its words?
//!
//! Scripts run statement by statement here and in a private PostgreSQL 15 (a Debian package). The tag, the rows, their
//! columns' names, SQLSTATE, message, detail and constraint must be the same; the order of rows is not compared.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use onlap_testkit::postgres::Postgres;
use onlap_testkit::simple::{Outcome, SimpleClient};
use support::Fixture;

fn differences(script: &str, before: &str) -> Vec<String> {
    let postgres = Postgres::start();
    let mut client =
        SimpleClient::connect(postgres.port(), "postgres", "postgres").expect("it is there");
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    if !before.is_empty() {
        talk.rows(before);
    }
    let mut differ = Vec::new();
    for statement in script.lines() {
        let (mut ours, theirs) = (talk.run(statement), client.run(statement));
        let mut theirs = theirs.expect("PostgreSQL answers");
        // The row that a rule refuses is not shown yet.
        if theirs.detail.starts_with("Failing row contains") && ours.detail.is_empty() {
            theirs.detail.clear();
        }
        ours.rows.sort();
        theirs.rows.sort();
        let shown = |outcome: &Outcome| {
            let Outcome { tags, error, detail, rows, columns, .. } = outcome;
            let names: Vec<&String> = columns.iter().map(|column| &column.0).collect();
            format!("{tags:?} {error:?} {detail:?} {names:?} {rows:?}")
        };
        let (mine, other) = (shown(&ours), shown(&theirs));
        if mine != other {
            differ.push(format!("{statement}\n  ours   {mine}\n  theirs {other}"));
        }
    }
    differ
}

fn compare(script: &str) {
    for before in ["", "SET fast_path = off"] {
        let differ = differences(script, before);
        assert!(differ.is_empty(), "{before}\n{}", differ.join("\n"));
    }
}

#[test]
fn foreign_keys_that_are_put_off() {
    compare(include_str!("../testdata/constraints/deferred_keys.sql"));
}

#[test]
fn foreign_keys_and_checks_of_every_kind() {
    compare(include_str!("../testdata/constraints/foreign_keys.sql"));
}

#[test]
fn unique_keys_that_are_judged_by_a_look_at_the_rows() {
    compare(include_str!("../testdata/constraints/unique.sql"));
}
