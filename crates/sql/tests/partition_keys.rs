//! Do tables go with the types that they divide their rows by, and may all read what PostgreSQL lets all read?
//!
//! A script runs here and in a private PostgreSQL 15 (a Debian package).

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/script.rs"]
mod script;
mod support;

use onlap_testkit::{postgres, programs};

#[test]
fn tables_go_with_the_types_of_their_partition_keys() {
    if programs::are_there(&postgres::NEEDED) {
        script::same(include_str!("../testdata/partition_keys.sql"));
    }
}

#[test]
fn keys_have_what_all_below_them_divide_their_rows_by() {
    script::same(include_str!("../testdata/families/keys_below.sql"));
}
