//! Does a session that reads change nothing, whatever it is asked?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use onlap_testkit::simple::Outcome;
use support::{Fixture, Talk, texts};

fn read(talk: &mut Talk, sql: &str, values: &[Option<&[u8]>], rows: usize) -> Outcome {
    let read = talk.session.read(sql, values, rows, &mut talk.client);
    let mut outcome = talk.outcome();
    if let Err(e) = read {
        outcome.error = Some((e.state().to_string(), e.to_string()));
    }
    outcome
}

fn filled() -> (Fixture, Talk) {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table t (id bigint primary key, a text)");
    talk.rows("insert into t select i, 'x' || i from generate_series(1, 5) i");
    talk.rows("create sequence s");
    talk.rows(
        "create function writes() returns int language plpgsql as \
         'begin insert into t values (100, ''y''); return 1; end'",
    );
    talk.rows(
        "create function set_it() returns text language plpgsql as \
         'begin return set_config(''transaction_read_only'', ''off'', false); end'",
    );
    let reader = fixture.session();
    (fixture, reader)
}

#[test]
fn statements_that_look_are_run() {
    let (_fixture, mut talk) = filled();
    for (sql, rows) in [
        ("select a from t where id = 3", "x3"),
        ("table t limit 1", "1|x1"),
        ("values (1, 2)", "1|2"),
        ("with w as (select 7 as n) select n from w", "7"),
        ("show default_transaction_read_only", "on"),
        ("", ""),
    ] {
        let outcome = read(&mut talk, sql, &[], 0);
        assert_eq!(outcome.error, None, "{sql}");
        assert_eq!(texts(&outcome.rows).join(","), rows, "{sql}");
    }
    let outcome = read(&mut talk, "select a from t where id = $1", &[Some(b"4")], 0);
    assert_eq!((texts(&outcome.rows).join(","), outcome.error), ("x4".into(), None));
    let plan = read(&mut talk, "explain (format json) select * from t where id = 1", &[], 0);
    assert!(texts(&plan.rows)[0].contains("Plan"), "{plan:?}");
    let plan = read(&mut talk, "explain delete from t", &[], 0);
    assert_eq!(plan.error, None);
    // Some rows of many: the columns are told, and the rest does not come.
    let some = read(&mut talk, "select i from generate_series(1, 1000) i", &[], 10);
    assert_eq!((some.rows.len(), some.tags.len(), some.columns.len()), (10, 0, 1));
    assert_eq!(talk.session.status(), b'I');
}

#[test]
fn nothing_changes() {
    let (fixture, mut talk) = filled();
    let refused = [
        "insert into t values (9, 'z')",
        "update t set a = ''",
        "delete from t",
        "with w as (delete from t returning id) select * from w",
        "explain analyze delete from t",
        "explain analyze insert into t values (9, 'z')",
        "select writes()",
        "select nextval('s')",
        "select setval('s', 9)",
        "select * into u from t",
        "select id from t for update",
        "create table u (a int)",
        "create temp table u (a int)",
        "drop table t",
        "truncate t",
        "begin",
        "begin read write",
        "commit",
        "set transaction read write",
        "set default_transaction_read_only = off",
        "set statement_timeout = 0",
        "set role postgres",
        "reset all",
        "copy t to '/tmp/onlap-never-there'",
        "copy t to stdout",
        "copy t from stdin",
        "backup to '/tmp/onlap-never-there'",
        "do 'begin delete from t; end'",
        "call nothing()",
        "prepare p as delete from t",
        "execute p",
        "declare c cursor with hold for select 1",
        "listen x",
        "notify x",
        "lock table t",
        "vacuum",
        "checkpoint",
        "select set_config('transaction_read_only', 'off', false)",
        "select set_it(), writes()",
        "select 1; select 2",
        "select 1; delete from t",
        "commit; delete from t",
        "begin; set transaction read write; delete from t",
        "explain (analyze) create table u as select 1",
    ];
    for sql in refused {
        assert!(read(&mut talk, sql, &[], 0).error.is_some(), "{sql}");
        assert_eq!(talk.session.status(), b'I', "{sql}");
    }
    // What a function sets counts for no statement that follows.
    for name in ["default_transaction_read_only", "transaction_read_only"] {
        read(&mut talk, &format!("select set_config('{name}', 'off', false)"), &[], 0);
        let outcome = read(&mut talk, "select writes()", &[], 0);
        assert_eq!(outcome.error.map(|e| e.0).as_deref(), Some("25006"), "{name}");
    }
    assert!(!std::path::Path::new("/tmp/onlap-never-there").exists());
    let mut other = fixture.session();
    let sql = "select count(*), max(a), (select last_value from s) from t";
    assert_eq!(texts(&other.rows(sql)), ["5|x5|1"]);
}

#[test]
fn rows_are_not_locked_by_who_only_reads() {
    if !onlap_testkit::programs::are_there(&onlap_testkit::postgres::NEEDED) {
        return;
    }
    compared::compare(include_str!("../testdata/reading_compared.sql"));
}
