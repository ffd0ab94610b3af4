//! Do statements that drivers and their test suites send get PostgreSQL's answers?
//!
//! A script runs statement by statement here and in a private PostgreSQL 15 (a Debian package).

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

const SCRIPT: &str = include_str!("../testdata/drivers_beside.sql");
/// Sums that leave their types, and numbers of sequences that upserts take.
const SUMS: &str = include_str!("../testdata/sums.sql");

#[test]
fn drivers_statements_are_answered_as_by_postgresql() {
    [SCRIPT, SUMS].into_iter().for_each(compared::compare);
}
