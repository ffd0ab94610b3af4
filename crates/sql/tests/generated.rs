//! Do generated columns follow from their rows as PostgreSQL's do?
//!
//! A script runs statement by statement here and in a private PostgreSQL 15 (a Debian package). Whatever way a row takes (COPY,
//! actions of foreign keys, schema changes meanwhile, a restart), its generated columns are what their expressions say.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use support::{Fixture, Talk};

const SCRIPT: &str = include_str!("../testdata/generated_beside.sql");
const TRIGGERS: &str = include_str!("../testdata/generated_triggers_beside.sql");

#[test]
fn generated_columns_are_postgresqls() {
    compared::compare(SCRIPT);
}

#[test]
fn triggers_see_them_as_in_postgresql() {
    compared::compare(TRIGGERS);
}

/// Fails where a row has another value than its expression gives.
fn check(talk: &mut Talk, rows: usize) {
    let wrong = talk.rows("SELECT a, g FROM t WHERE g IS DISTINCT FROM a * 2 + 1");
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(talk.rows("SELECT count(*) FROM t"), [[Some(rows.to_string())]]);
}

#[test]
fn they_are_there_after_a_restart() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let open = || Fixture::at(dir.path());
    {
        let mut talk = open().session();
        talk.rows("CREATE TABLE t (k int PRIMARY KEY, a int)");
        talk.rows("INSERT INTO t SELECT i, i FROM generate_series(1, 100) i");
        talk.rows("ALTER TABLE t ADD COLUMN g bigint GENERATED ALWAYS AS (a * 2 + 1) STORED");
        talk.rows("CREATE UNIQUE INDEX ON t (g)");
        talk.rows("UPDATE t SET a = 1000 WHERE k = 7");
        check(&mut talk, 100);
    }
    for round in 0..2 {
        let mut talk = open().session();
        check(&mut talk, 100 + round);
        talk.rows(&format!("INSERT INTO t VALUES ({}, {})", 500 + round, 500 + round));
        talk.rows("UPDATE t SET a = a + 2000 WHERE k = 8");
        check(&mut talk, 101 + round);
        let taken = talk.run("INSERT INTO t VALUES (600, 1000)");
        assert_eq!(taken.error.expect("the key is taken").0, "23505");
    }
}

#[test]
fn triggers_and_they_are_there_after_a_restart() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let open = || Fixture::at(dir.path());
    {
        let mut talk = open().session();
        talk.rows("CREATE TABLE t (k int PRIMARY KEY, a int)");
        talk.rows(
            "CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS $$begin new.a := new.a + \
             coalesce(new.g, 10); return new; end$$",
        );
        talk.rows("BEGIN");
        talk.rows("ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (0) STORED");
        talk.rows("CREATE TRIGGER m BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION more()");
        talk.rows("INSERT INTO t VALUES (1, 1)");
        talk.rows("ROLLBACK");
        talk.rows("ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (a * 2 + 1) STORED");
        talk.rows(
            "CREATE TRIGGER m BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION more()",
        );
        talk.rows("INSERT INTO t VALUES (1, 1)");
    }
    let mut talk = open().session();
    talk.rows("INSERT INTO t VALUES (2, 2)");
    talk.rows("UPDATE t SET a = a + 100 WHERE k = 1");
    check(&mut talk, 2);
    assert_eq!(talk.lines(&["SELECT k, a FROM t ORDER BY k"]), ["1|121", "2|12"]);
}

#[test]
fn copied_rows_get_their_values() {
    let fixture = Fixture::new(true);
    let mut talk = fixture.session();
    talk.rows("CREATE TABLE t (g int GENERATED ALWAYS AS (a * 2 + 1) STORED NOT NULL, a int)");
    talk.client.input = vec![b"1\n2\n".to_vec(), b"3\n".to_vec()];
    talk.rows("COPY t FROM STDIN");
    check(&mut talk, 3);
    talk.client.input = vec![b"\\N\n".to_vec()];
    let refused = talk.run("COPY t (a) FROM STDIN");
    assert_eq!(refused.error.expect("NULL is refused").0, "23502");
    let many: String = (0..5000).map(|i| format!("{i}\n")).collect();
    talk.client.input = vec![many.into_bytes()];
    talk.rows("COPY t FROM STDIN");
    check(&mut talk, 5003);
    let long: Vec<String> = (0..300).map(|i| format!("({i})")).collect();
    talk.rows(&format!("INSERT INTO t (a) VALUES {}", long.join(", ")));
    check(&mut talk, 5303);
}

#[test]
fn copied_rows_get_them_after_their_triggers() {
    let fixture = Fixture::new(true);
    let mut talk = fixture.session();
    talk.rows("CREATE TABLE log (what text)");
    talk.rows("CREATE TABLE t (g int GENERATED ALWAYS AS (a * 2 + 1) STORED, a int)");
    talk.rows(
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$begin insert into log values (tg_when || ' ' || \
         new::text); new.a := new.a + 1; return new; end$$",
    );
    talk.rows("CREATE TRIGGER b BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION note()");
    talk.rows("CREATE TRIGGER c AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION note()");
    talk.client.input = vec![b"1\n2\n".to_vec()];
    talk.rows("COPY t FROM STDIN");
    check(&mut talk, 2);
    let said = talk.rows("SELECT string_agg(what, ' ') FROM log");
    let expected = "BEFORE (,1) BEFORE (,2) AFTER (5,2) AFTER (7,3)";
    assert_eq!(said, [[Some(expected.to_string())]]);
}

#[test]
fn rows_that_were_under_way_get_them_too() {
    let fixture = Fixture::new(false);
    let (mut one, mut other) = (fixture.session(), fixture.session());
    one.rows("CREATE TABLE t (k int PRIMARY KEY, a int)");
    one.rows("INSERT INTO t SELECT i, i FROM generate_series(1, 50) i");
    // Changes of columns in place wait for no other before the column is there.
    one.rows("UPDATE t SET a = a + 5 WHERE k < 10");
    other.rows("ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (a * 2 + 1) STORED");
    one.rows("UPDATE t SET a = a + 5 WHERE k < 10");
    one.rows("UPDATE t SET a = 77 WHERE k = 20");
    check(&mut one, 50);
    other.rows("BEGIN");
    other.rows("ALTER TABLE t ADD COLUMN h int GENERATED ALWAYS AS (a) STORED");
    other.rows("ROLLBACK");
    assert_eq!(one.run("SELECT h FROM t").error.expect("it is gone").0, "42703");
    check(&mut one, 50);
}

#[test]
fn a_prepared_statement_meets_a_new_generated_column() {
    let fixture = Fixture::new(false);
    let (mut one, mut other) = (fixture.session(), fixture.session());
    one.rows("CREATE TABLE t (k int PRIMARY KEY, a int)");
    one.rows("PREPARE i AS INSERT INTO t VALUES ($1, $2)");
    one.rows("PREPARE u AS UPDATE t SET a = $2 WHERE k = $1");
    one.rows("EXECUTE i(1, 1)");
    other.rows("ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (a * 2 + 1) STORED");
    one.rows("EXECUTE i(2, 2)");
    one.rows("EXECUTE u(1, 10)");
    check(&mut one, 2);
}

#[test]
fn rights_are_asked_for_columns_that_are_named() {
    let fixture = Fixture::new(false);
    let mut owner = fixture.session();
    owner.rows("CREATE TABLE t (a int, g int GENERATED ALWAYS AS (a * 2 + 1) STORED)");
    owner.rows("CREATE ROLE r LOGIN");
    owner.rows("GRANT INSERT (a), UPDATE (a), SELECT (a) ON t TO r");
    let mut talk = fixture.session_of("r");
    talk.rows("INSERT INTO t (a) VALUES (1)");
    talk.rows("UPDATE t SET a = 2 RETURNING a");
    for refused in ["SELECT g FROM t", "UPDATE t SET a = 3 RETURNING g"] {
        assert_eq!(talk.run(refused).error.expect("g is not granted").0, "42501", "{refused}");
    }
    let refused = talk.run("ALTER TABLE t ALTER g DROP EXPRESSION");
    assert_eq!(refused.error.expect("it is another's").0, "42501");
    check(&mut owner, 1);
}

#[test]
fn what_is_not_served_is_refused() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("CREATE TYPE pair AS (x int, y int)");
    talk.rows("CREATE DOMAIN small AS int CHECK (VALUE < 10)");
    for refused in [
        "CREATE TABLE t (a pair, g pair GENERATED ALWAYS AS (a) STORED)",
        "CREATE TABLE t (a pair, g bool GENERATED ALWAYS AS (a = ROW(1, 2)::pair) STORED)",
        "CREATE TABLE t (a int, g small GENERATED ALWAYS AS (a) STORED)",
        "CREATE TABLE t (a int, g oid GENERATED ALWAYS AS (tableoid) STORED)",
        "CREATE TABLE t (a int PRIMARY KEY, g int GENERATED ALWAYS AS (1) STORED) \
         WITH (blind_writes = on)",
    ] {
        assert_eq!(talk.run(refused).error.expect("it is refused").0, "0A000", "{refused}");
    }
}
