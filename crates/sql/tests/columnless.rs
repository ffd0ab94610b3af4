//! Do tables without columns do what PostgreSQL's do?
//!
//! Scripts are compared with a private PostgreSQL 15 (a Debian package).

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use support::{Fixture, texts};

const PLAIN: &str = include_str!("../testdata/columnless/plain.sql");

#[test]
fn tables_without_columns_are_as_in_postgresql() {
    compared::compare(PLAIN);
}

#[test]
fn rows_come_and_go_by_copy_and_survive() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    {
        let fixture = Fixture::at(dir.path());
        let mut talk = fixture.session();
        talk.rows("create table t ()");
        talk.rows("create table u (a int)");
        talk.rows("insert into u values (1), (2)");
        talk.rows("alter table u drop column a");
        for (options, data) in [("", "\n\n"), (" with (format csv)", "\n\n")] {
            talk.client.input = vec![data.into()];
            let outcome = talk.run(&format!("copy t from stdin{options}"));
            assert_eq!((outcome.error, &*outcome.tags[0]), (None, "COPY 2"), "{options}");
            talk.client.input = vec!["\nx\n".into()];
            let (state, text) =
                talk.run(&format!("copy t from stdin{options}")).error.expect("refused");
            assert_eq!((&*state, &*text), ("22P04", "extra data after last expected column"));
        }
        let binary = talk.run("copy t to stdout (format binary)").copied;
        talk.client.input = vec![binary];
        let outcome = talk.run("copy t from stdin (format binary)");
        assert_eq!((outcome.error, &*outcome.tags[0]), (None, "COPY 4"));
        assert_eq!(talk.run("copy t to stdout").copied, b"\n\n\n\n\n\n\n\n");
        assert_eq!(talk.run("copy u to stdout csv").copied, b"\n\n");
    }
    let fixture = Fixture::at(dir.path());
    let mut talk = fixture.session();
    let counts = "select (select count(*) from t), (select count(*) from u)";
    assert_eq!(texts(&talk.rows(counts)), ["8|2"]);
    talk.rows("delete from t");
    talk.rows("insert into u default values");
    assert_eq!(texts(&talk.rows(counts)), ["0|3"]);
}

#[test]
fn many_rows_are_spilled_and_flushed() {
    let fixture = Fixture::with(true, 48 << 20);
    let mut talk = fixture.session();
    talk.rows("create table t ()");
    talk.rows("insert into t select from generate_series(1, 3000000)");
    assert_eq!(texts(&talk.rows("select count(*) from t")), ["3000000"]);
    talk.rows("truncate t");
    assert_eq!(texts(&talk.rows("select count(*) from t")), ["0"]);
}
