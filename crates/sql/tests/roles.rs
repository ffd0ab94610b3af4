//! May a role do what it was granted, and nothing else?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use support::{Fixture, Talk};

fn refused(talk: &mut Talk, sql: &str) -> (String, String) {
    talk.run(sql).error.expect(sql)
}

fn denied(name: &str) -> (String, String) {
    ("42501".to_string(), format!("permission denied for table {name}"))
}

#[test]
fn a_role_reads_and_writes_what_it_was_granted() {
    let fixture = Fixture::new(false);
    let mut owner = fixture.session();
    for sql in [
        "create table t (id int primary key, v text)",
        "insert into t values (1, 'one')",
        "create view w as select v from t",
        "create role reader login",
        "create user writer",
    ] {
        owner.rows(sql);
    }
    let mut reader = fixture.session_of("reader");
    assert_eq!(refused(&mut reader, "select * from t"), denied("t"));
    assert_eq!(refused(&mut reader, "select v from t where id = 1"), denied("t"));
    let of_view = ("42501".to_string(), "permission denied for view w".to_string());
    assert_eq!(refused(&mut reader, "select * from w"), of_view);
    assert_eq!(refused(&mut reader, "copy t to stdout"), denied("t"));
    owner.rows("grant select on t to reader");
    assert_eq!(reader.rows("select v from t where id = 1").len(), 1);
    assert_eq!(reader.run("copy t to stdout").copied, b"1\tone\n");
    for sql in [
        "insert into t values (2, '')",
        "update t set v = '' where id = 1",
        "delete from t where id = 1",
        "truncate t",
        "copy t from stdin",
    ] {
        assert_eq!(refused(&mut reader, sql), denied("t"), "{sql}");
    }
    // A view reads with its owner's rights.
    owner.rows("revoke select on t from reader");
    owner.rows("grant select on w to reader");
    assert_eq!(reader.rows("select * from w").len(), 1);
    assert_eq!(refused(&mut reader, "select * from t"), denied("t"));
    for sql in [
        "drop table t",
        "alter table t add column x int",
        "create index on t (v)",
        "grant select on t to writer",
        "create role another",
        "create database another",
        "alter role postgres nologin",
    ] {
        assert_eq!(refused(&mut reader, sql).0, "42501", "{sql}");
    }
    owner.rows("grant create on schema public to reader, writer");
    reader.rows("create table own (id int)");
    reader.rows("insert into own values (1)");
    let mut writer = fixture.session_of("writer");
    assert_eq!(refused(&mut writer, "select * from own"), denied("own"));
    reader.rows("grant all on own to writer");
    writer.rows("update own set id = 2");
    assert_eq!(refused(&mut owner, "drop role reader").0, "2BP01");
    owner.rows("alter table own owner to writer");
    assert_eq!(refused(&mut owner, "drop role reader").0, "2BP01");
    owner.rows("revoke all on w from reader");
    owner.rows("revoke all on schema public from reader, writer");
    owner.rows("drop role reader");
    writer.rows("drop table own");
    owner.rows("drop role writer");
}

#[test]
fn explain_says_what_is_read_and_runs_nothing() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table t (id int primary key, a int, b text)");
    talk.rows("insert into t values (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z')");
    let mut text = |sql: &str| {
        let rows = talk.rows(sql);
        rows.into_iter().flatten().flatten().collect::<Vec<_>>().join("\n")
    };
    let native = text("explain select * from t where id = 2");
    assert!(native.contains("Tier: native") && native.contains("Index Name: t_pkey"), "{native}");
    let planned = text("explain (format json) select a, count(*) from t group by a");
    let json: serde_json::Value = serde_json::from_str(&planned).expect("JSON");
    assert_eq!(json[0]["Plan"]["Tier"], "planner");
    let ran = text("explain (analyze, format json) select * from t where id = 2");
    let json: serde_json::Value = serde_json::from_str(&ran).expect("JSON");
    assert_eq!(json[0]["Plan"]["Actual Rows"], 1);
    for key in ["Index Entries Read", "Base Rows Read", "Blocks Read", "Filter Probes", "Rechecks"]
    {
        assert!(json[0]["Plan"][key].is_u64(), "{key} in {ran}");
    }
    text("explain delete from t");
    text("explain insert into t values (9, 9, '')");
    assert_eq!(text("select count(*) from t"), "3");
    text("explain analyze delete from t where id = 1");
    assert_eq!(text("select count(*) from t"), "2");
}
