//! Do errors say what PostgreSQL's say?
//!
//! Each line of a script is a statement that is wrong, but for those at its head. SQLSTATE, message, detail, hint, the position
//! and the names of objects must be those of a private PostgreSQL 15 (a Debian package). What still differs is told in
//! `docs/compatibility.md`: the row in the detail of NOT NULL and CHECK, and places and hints of a few definitions.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use onlap_testkit::postgres::Postgres;
use onlap_testkit::simple::{Outcome, SimpleClient};
use support::Fixture;

const SCRIPT: &str = include_str!("../testdata/said.sql");

fn said(outcome: &Outcome) -> String {
    let words: Vec<String> = outcome
        .said
        .iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(kind, text)| format!("{kind}: {text}"))
        .collect();
    format!("{} {}", outcome.state(), words.join("; "))
}

#[test]
fn errors_say_what_postgresql_says() {
    let postgres = Postgres::start();
    let mut client =
        SimpleClient::connect(postgres.port(), "postgres", "postgres").expect("it is there");
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    assert_eq!(talk.rows("SELECT 1").len(), 1);
    let (mut differ, mut wrong) = (Vec::new(), 0);
    for statement in SCRIPT.lines() {
        let (ours, theirs) = (talk.run(statement), client.run(statement));
        let theirs = theirs.expect("PostgreSQL answers");
        let (mine, other) = (said(&ours), said(&theirs));
        wrong += usize::from(theirs.error.is_some());
        if mine != other {
            differ.push(format!("{statement}\n  ours   {mine}\n  theirs {other}"));
        }
    }
    println!("{wrong} errors, {} differ", differ.len());
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
