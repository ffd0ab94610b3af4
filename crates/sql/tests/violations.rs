//! Do programs learn which rule was broken, in PostgreSQL's words?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use support::Fixture;

#[test]
fn broken_rules_are_named() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create schema s");
    talk.rows("create table s.parent (id int primary key, word text not null)");
    talk.rows(
        "create table child (id int, parent int references s.parent (id), unique (id, parent), \
         check (id > 0))",
    );
    talk.rows("insert into s.parent values (1, 'one'), (2, 'two')");
    talk.rows("insert into child values (1, 1)");
    for (statement, expected) in [
        (
            "insert into s.parent values (1, 'again')",
            "duplicate key value violates unique constraint \"parent_pkey\"",
        ),
        (
            "insert into child values (1, 1)",
            "duplicate key value violates unique constraint \"child_id_parent_key\"",
        ),
        (
            "insert into s.parent values (3, null)",
            "null value in column \"word\" of relation \"parent\" violates not-null constraint",
        ),
        (
            "update s.parent set word = null",
            "null value in column \"word\" of relation \"parent\" violates not-null constraint",
        ),
        (
            "insert into child values (-1, 1)",
            "new row for relation \"child\" violates check constraint \"child_id_check\"",
        ),
        (
            "insert into child values (2, 9)",
            "insert or update on table \"child\" violates foreign key constraint \
             \"child_parent_fkey\"",
        ),
        (
            "delete from s.parent where id = 1",
            "update or delete on table \"parent\" violates foreign key constraint \
             \"child_parent_fkey\" on table \"child\"",
        ),
    ] {
        let error = talk.run(statement).error;
        assert_eq!(error.map(|e| e.1).as_deref(), Some(expected), "{statement}");
    }
}

#[test]
fn casts_say_which_text_is_wrong() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for (statement, state, text) in [
        ("select 'abc'::int", "22P02", "invalid input syntax for type integer: \"abc\""),
        ("select 99999999999::int", "22003", "integer out of range"),
        (
            "select '99999999999'::int",
            "22003",
            "value \"99999999999\" is out of range for type integer",
        ),
        ("select '\\xzz'::bytea", "22023", "invalid hexadecimal digit: \"z\""),
    ] {
        let error = talk.run(statement).error;
        assert_eq!(error, Some((state.to_string(), text.to_string())), "{statement}");
    }
}

#[test]
fn literals_of_bytes_and_times_mean_what_they_say() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table t (id int primary key, b bytea)");
    talk.rows("insert into t values (1, '\\x00ff'::bytea), (2, 'a\\000'::bytea)");
    let rows = talk.rows("select b from t order by id");
    assert_eq!(rows, [[Some("\\x00ff".to_string())], [Some("\\x6100".to_string())]]);
    let rows = talk.rows("select '2024-07-01 12:00:00+02'::timestamptz");
    assert_eq!(rows, [[Some("2024-07-01 10:00:00+00".to_string())]]);
}

#[test]
fn grants_are_lists() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create role clerk");
    talk.rows("create table t (id int primary key)");
    talk.rows("grant select, insert on t to clerk");
    let rows = talk.rows("select array_to_string(relacl, ' ') from pg_class where relname = 't'");
    assert_eq!(rows, [[Some("postgres=arwdDxt/postgres clerk=ar/postgres".to_string())]]);
}
