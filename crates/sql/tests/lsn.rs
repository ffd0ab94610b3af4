//! Is pg_lsn what it is in PostgreSQL, and do places in the log rise?
//!
//! A script runs here and in a private PostgreSQL 15 (a Debian package).

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/script.rs"]
mod script;
mod support;

use onlap_testkit::{postgres, programs};
use support::Fixture;

#[test]
fn places_in_the_log_are_as_in_postgresql() {
    if programs::are_there(&postgres::NEEDED) {
        script::same(include_str!("../testdata/lsn.sql"));
    }
}

#[test]
fn places_in_the_log_rise_with_commits() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = |talk: &mut support::Talk| talk.rows("SELECT pg_current_wal_lsn()")[0][0].clone();
    let is_behind = |talk: &mut support::Talk, before: &str| {
        let rows = talk.rows(&format!("SELECT pg_current_wal_lsn() > '{before}'"));
        assert_eq!(rows, [[Some("t".to_string())]], "{before}");
    };
    let before = {
        let fixture = Fixture::at(dir.path());
        let mut talk = fixture.session();
        talk.rows("CREATE TABLE t (a int)");
        let before = at(&mut talk).expect("it is some place");
        talk.rows("INSERT INTO t VALUES (1)");
        is_behind(&mut talk, &before);
        at(&mut talk).expect("it is some place")
    };
    let fixture = Fixture::at(dir.path());
    let mut talk = fixture.session();
    talk.rows("INSERT INTO t VALUES (2)");
    is_behind(&mut talk, &before);
}
