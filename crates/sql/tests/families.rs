//! Do tables with others below them do what PostgreSQL's do?
//!
//! Scripts run statement by statement here and in a private PostgreSQL 15 (a Debian package): inheritance, partitions, what the
//! catalogs say of them. The tag, the rows, their columns' names, SQLSTATE, message and detail must be the same; rows are in
//! any order, unless the statement gives them one.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use onlap_testkit::postgres::Postgres;
use onlap_testkit::simple::{Outcome, SimpleClient};
use support::Fixture;

const INHERITS: &str = include_str!("../testdata/families/inherits.sql");
const PARTITIONS: &str = include_str!("../testdata/families/partitions.sql");

fn shown(outcome: &mut Outcome, statement: &str) -> String {
    if !statement.contains("order by") {
        outcome.rows.sort();
    }
    let names: Vec<&String> = outcome.columns.iter().map(|column| &column.0).collect();
    let Outcome { tags, error, detail, rows, .. } = outcome;
    format!("{tags:?} {error:?} {detail:?} {names:?} {rows:?}")
}

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
    for statement in script.lines().filter(|line| !line.is_empty()) {
        let (mut ours, theirs) = (talk.run(statement), client.run(statement));
        let mut theirs = theirs.expect("PostgreSQL answers");
        // The row that a rule refuses is not shown.
        if theirs.detail.starts_with("Failing row contains") && ours.detail.is_empty() {
            theirs.detail.clear();
        }
        let (mine, other) = (shown(&mut ours, statement), shown(&mut theirs, statement));
        if mine != other {
            differ.push(format!("{statement}\n  ours   {mine}\n  theirs {other}"));
        }
    }
    differ
}

#[test]
fn inheritance_is_as_in_postgresql() {
    let differ = differences(INHERITS, "");
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn partitions_are_as_in_postgresql() {
    let differ = differences(PARTITIONS, "");
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn families_are_so_without_the_fast_path() {
    for script in [INHERITS, PARTITIONS] {
        let differ = differences(script, "SET fast_path = off");
        assert!(differ.is_empty(), "{}", differ.join("\n"));
    }
}
