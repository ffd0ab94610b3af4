//! Do triggers that applications use do what PostgreSQL's do?
//!
//! A script runs statement by statement here and in a private PostgreSQL 15 (a Debian package); an empty line stands between two
//! statements. Tags, rows, SQLSTATE, message, detail, hint, context and notices must be the same.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

fn compare(script: &str) {
    let differ = compared::differences(script.split("\n\n"), "", compared::all_but_columns);
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn tables_of_changed_rows_are_those_of_postgresql() {
    compare(include_str!("../testdata/routines/transitions.sql"));
}

#[test]
fn triggers_in_the_place_of_changes_of_views_are_those_of_postgresql() {
    compare(include_str!("../testdata/routines/instead.sql"));
}

#[test]
fn cursors_of_routines_are_those_of_postgresql() {
    compare(include_str!("../testdata/routines/cursors.sql"));
}

#[test]
fn triggers_that_are_constraints_are_those_of_postgresql() {
    compare(include_str!("../testdata/routines/constraint_triggers.sql"));
}

#[test]
fn triggers_of_rows_that_actions_of_foreign_keys_change_are_those_of_postgresql() {
    compare(include_str!("../testdata/routines/actions.sql"));
}

#[test]
fn foreign_keys_and_triggers_are_put_off_in_the_order_of_postgresql() {
    compare(include_str!("../testdata/routines/due_order.sql"));
}
