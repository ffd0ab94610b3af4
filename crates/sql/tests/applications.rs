//! Do definitions that applications' migrations send mean what they mean in PostgreSQL?
//!
//! Scripts run statement by statement here and in a private PostgreSQL 15 (a Debian package), with and without the fast path. The
//! tag, the rows, their columns' names, SQLSTATE, message and detail must be the same.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/beside.rs"]
mod beside;
mod support;

use onlap_testkit::postgres::NEEDED;
use onlap_testkit::programs;

fn same(script: &str) {
    if programs::are_there(&NEEDED) {
        beside::compare(script);
    }
}

#[test]
fn relations_of_all_kinds_are_renamed_and_moved() {
    same(include_str!("../testdata/applications/renames.sql"));
}
