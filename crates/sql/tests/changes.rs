//! Do statements that change rows do what PostgreSQL's do?
//!
//! A script runs statement by statement here and in a private PostgreSQL 15 (a Debian package). The tag, the rows, their
//! columns' names, SQLSTATE and the message must be the same; the order of rows is not compared.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

const SCRIPT: &str = include_str!("../testdata/changes_beside.sql");

#[test]
fn changes_do_what_postgresql_does() {
    compared::compare(SCRIPT);
}
