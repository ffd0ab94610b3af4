//! What do statements that waited for a table, or that meet a table in use, say and do?
//!
//! Scripts of several sessions run here and in a private PostgreSQL 15 (a Debian package): what each statement answers, and
//! what waits, must be the same.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/actor.rs"]
mod actor;
#[path = "support/actors.rs"]
mod actors;
#[path = "support/script.rs"]
mod script;
mod support;

use onlap_testkit::postgres::NEEDED;
use onlap_testkit::programs;
use onlap_testkit::simple::Outcome;

fn shown(outcome: &Outcome) -> String {
    let Outcome { tags, error, detail, hint, rows, notices, .. } = outcome;
    format!("{tags:?} {error:?} {detail:?} {hint:?} {rows:?} {notices:?}")
}

fn same(scripts: &str) {
    if programs::are_there(&NEEDED) {
        actors::compare(scripts, shown);
    }
}

#[test]
fn what_waited_looks_its_names_up_again() {
    same(include_str!("../testdata/renamed.sessions"));
}

#[test]
fn tables_are_locked_as_in_postgresql() {
    same(include_str!("../testdata/locked.sessions"));
}

#[test]
fn tables_in_use_are_left_alone_as_in_postgresql() {
    same(include_str!("../testdata/in_use.sessions"));
}

#[test]
fn kept_texts_mean_what_they_meant() {
    same(include_str!("../testdata/kept_names.sessions"));
}

#[test]
fn schemas_databases_and_columns_of_views_get_other_names() {
    if programs::are_there(&NEEDED) {
        script::same(include_str!("../testdata/new_names.sql"));
    }
}

#[test]
fn nothing_reads_what_goes_meanwhile() {
    same(include_str!("../testdata/dropped_meanwhile.sessions"));
}

#[test]
fn other_names_are_there_after_a_restart() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    {
        let fixture = support::Fixture::at(dir.path());
        let mut talk = fixture.session();
        for statement in [
            "CREATE SCHEMA one",
            "CREATE TABLE one.t (id serial PRIMARY KEY, a int)",
            "INSERT INTO one.t (a) VALUES (7)",
            "CREATE VIEW one.v WITH (security_invoker) AS SELECT a FROM one.t",
            "CREATE VIEW over_v AS SELECT v.a FROM one.v",
            "ALTER SCHEMA one RENAME TO two",
            "ALTER VIEW two.v RENAME COLUMN a TO b",
            "CREATE DATABASE first",
            "ALTER DATABASE first RENAME TO second",
        ] {
            talk.rows(statement);
        }
    }
    let fixture = support::Fixture::at(dir.path());
    let mut talk = fixture.session();
    let seven = [[Some("7".to_string())]];
    assert_eq!(talk.rows("SELECT b FROM two.v"), seven);
    assert_eq!(talk.rows("SELECT a FROM over_v"), seven);
    talk.rows("INSERT INTO two.t (a) VALUES (8)");
    assert_eq!(talk.rows("SELECT max(id) FROM two.t"), [[Some("2".to_string())]]);
    let databases = "SELECT datname FROM pg_database WHERE datname IN ('first', 'second')";
    assert_eq!(talk.rows(databases), [[Some("second".to_string())]]);
    let options = "SELECT reloptions FROM pg_class WHERE relname = 'v'";
    assert_eq!(talk.rows(options), [[Some("{security_invoker=true}".to_string())]]);
}

#[test]
fn rows_that_children_name_are_locked_as_in_postgresql() {
    same(include_str!("../testdata/parents.sessions"));
}
