//! Are rows what they are in PostgreSQL, as values of functions, of variables and of triggers?
//!
//! A script runs statement by statement, a line each, here and in a private PostgreSQL 15 (a Debian package).

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use onlap_testkit::simple::Outcome;

fn compare(script: &str) {
    let differ = compared::differences(script.lines(), "", compared::all_but_columns);
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn rows_within_records_that_functions_give_are_shown() {
    compare(include_str!("../testdata/records/given.sql"));
}

#[test]
fn what_triggers_and_functions_give_back_is_judged() {
    compare(include_str!("../testdata/records/triggers.sql"));
}

#[test]
fn parameters_that_are_rows_give_what_was_calculated() {
    compare(include_str!("../testdata/records/results.sql"));
}

#[test]
fn the_rows_of_a_table_are_a_type_in_routines() {
    compare(include_str!("../testdata/records/types.sql"));
}

#[test]
fn what_a_function_gives_is_judged_by_the_type_as_it_is_now() {
    let script = include_str!("../testdata/records/altered.sql");
    // Where PostgreSQL finds out what is wrong, its context says another thing.
    let shown =
        |outcome: &Outcome| format!("{:?} {:?} {:?}", outcome.error, outcome.detail, outcome.rows);
    let differ = compared::differences(script.lines(), "", shown);
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn records_become_what_the_query_defines() {
    compare(include_str!("../testdata/records/defined.sql"));
}

#[test]
fn values_without_a_type_are_asked_as_others() {
    compare(include_str!("../testdata/records/open.sql"));
}
