//! Do definitions that applications' migrations send mean what they mean in PostgreSQL?
//!
//! Scripts run statement by statement here and in a private PostgreSQL 15 (a Debian package), with and without the fast path. The
//! tag, the rows, their columns' names, SQLSTATE, message and detail must be the same.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use onlap_testkit::postgres::NEEDED;
use onlap_testkit::programs;

fn same(script: &str) {
    if programs::are_there(&NEEDED) {
        compared::compare(script);
    }
}

#[test]
fn relations_of_all_kinds_are_renamed_and_moved() {
    same(include_str!("../testdata/applications/renames.sql"));
}

#[test]
fn nulls_of_indexes_stand_where_they_are_declared() {
    same(include_str!("../testdata/applications/nulls.sql"));
}

#[test]
fn parameters_of_storage_are_kept() {
    same(include_str!("../testdata/applications/storage.sql"));
}

#[test]
fn functions_in_pg_temp_end_with_the_session() {
    same(include_str!("../testdata/applications/temporary_functions.sql"));
}

#[test]
fn catalogs_that_object_mappers_read() {
    same(include_str!("../testdata/applications/catalogs.sql"));
}

#[test]
fn what_reads_a_column_follows_its_type() {
    same(include_str!("../testdata/applications/types.sql"));
}

#[test]
fn rows_that_fail_are_told() {
    same(include_str!("../testdata/applications/failing_rows.sql"));
}

#[test]
fn rows_that_fail_are_told_to_who_may_see_them() {
    same(include_str!("../testdata/applications/failing_rows_seen.sql"));
}

#[test]
fn rows_have_versions() {
    same(include_str!("../testdata/applications/system_columns.sql"));
}

#[test]
fn transactions_that_only_read_lock_nothing() {
    same(include_str!("../testdata/applications/read_only.sql"));
}
