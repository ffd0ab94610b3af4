//! Do few rows that an order does not tell apart come as in PostgreSQL?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

#[test]
fn ties_come_as_in_postgresql() {
    compared::compare(include_str!("../testdata/ties.sql"));
}
