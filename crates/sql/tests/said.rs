//! Do errors say what PostgreSQL's say?
//!
//! Each line of a script is a statement that is wrong, except for those at its head. SQLSTATE, message, detail, hint, the position
//! and the names of objects must be those of a private PostgreSQL 15 (a Debian package). What still differs is told in
//! `docs/compatibility.md`: the row in the detail of NOT NULL and CHECK, and places and hints of a few definitions.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use onlap_testkit::simple::Outcome;

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
    let differ = compared::differences(SCRIPT.lines(), "", said);
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
