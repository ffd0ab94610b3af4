//! Are materialized views PostgreSQL's?
//!
//! A script runs statement by statement here and in a private PostgreSQL 15 (a Debian package). Content stays after a restart,
//! appears with the commit, and is made with the rights of the owner.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use support::{Fixture, Talk};

const SCRIPT: &str = include_str!("../testdata/matviews_beside.sql");
const RESTRICTED: &str = include_str!("../testdata/matviews_restricted_beside.sql");
const DROPPED: &str = include_str!("../testdata/matviews_dropped_beside.sql");

#[test]
fn materialized_views_are_postgresqls() {
    compared::compare(SCRIPT);
}

#[test]
fn functions_cannot_outlive_what_calls_them() {
    compared::compare(RESTRICTED);
}

#[test]
fn what_they_read_takes_them_along() {
    compared::compare(DROPPED);
}

fn count(talk: &mut Talk) -> String {
    talk.rows("SELECT count(*) FROM mv")[0][0].clone().expect("a number")
}

#[test]
fn they_are_there_after_a_restart() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let open = || Fixture::at(dir.path());
    {
        let mut talk = open().session();
        talk.rows("CREATE TABLE t (a int)");
        talk.rows("INSERT INTO t VALUES (1), (2)");
        talk.rows("CREATE MATERIALIZED VIEW mv AS SELECT a FROM t");
        talk.rows("CREATE MATERIALIZED VIEW empty AS SELECT a FROM t WITH NO DATA");
        talk.rows("CREATE UNIQUE INDEX ON mv (a)");
        talk.rows("ALTER TABLE t RENAME TO u");
        talk.rows("INSERT INTO u VALUES (3)");
    }
    let mut talk = open().session();
    assert_eq!(count(&mut talk), "2");
    assert_eq!(talk.run("SELECT * FROM empty").error.expect("it is empty").0, "55000");
    assert_eq!(talk.run("INSERT INTO mv VALUES (9)").error.expect("nothing writes it").0, "42809");
    talk.rows("REFRESH MATERIALIZED VIEW CONCURRENTLY mv");
    assert_eq!(count(&mut talk), "3");
    let populated = "SELECT relname FROM pg_class WHERE relkind = 'm' AND NOT relispopulated";
    assert_eq!(talk.rows(populated), [[Some("empty".to_string())]]);
}

#[test]
fn content_appears_with_the_commit() {
    let fixture = Fixture::new(true);
    let (mut one, mut other) = (fixture.session(), fixture.session());
    one.rows("CREATE TABLE t (a int)");
    one.rows("INSERT INTO t SELECT generate_series(1, 100)");
    one.rows("CREATE MATERIALIZED VIEW mv AS SELECT a FROM t");
    one.rows("CREATE UNIQUE INDEX ON mv (a)");
    one.rows("INSERT INTO t SELECT generate_series(101, 3000)");
    other.rows("PREPARE q AS SELECT count(*) FROM mv");
    for how in ["", "CONCURRENTLY"] {
        one.rows("BEGIN");
        one.rows(&format!("REFRESH MATERIALIZED VIEW {how} mv"));
        assert_eq!(count(&mut one), "3000");
        assert_eq!(other.rows("EXECUTE q"), [[Some("100".to_string())]]);
        one.rows("ROLLBACK");
        assert_eq!(count(&mut one), "100");
    }
    one.rows("REFRESH MATERIALIZED VIEW mv WITH NO DATA");
    assert_eq!(other.run("EXECUTE q").error.expect("it is empty").0, "55000");
    assert_eq!(other.run("SELECT a FROM mv WHERE a = 1").error.expect("it is empty").0, "55000");
    one.rows("REFRESH MATERIALIZED VIEW mv");
    assert_eq!(other.rows("EXECUTE q"), [[Some("3000".to_string())]]);
    one.rows("DELETE FROM t WHERE a > 10");
    for isolation in ["READ COMMITTED", "REPEATABLE READ"] {
        other.rows(&format!("BEGIN ISOLATION LEVEL {isolation}"));
        other.rows("SELECT 1 FROM t");
        one.rows("REFRESH MATERIALIZED VIEW mv");
        let done = other.run("REFRESH MATERIALIZED VIEW mv");
        match isolation {
            "READ COMMITTED" => assert_eq!(done.error, None),
            _ => assert_eq!(done.error.expect("it was changed").0, "40001"),
        }
        other.rows("ROLLBACK");
        assert_eq!(count(&mut one), "10");
    }
}

#[test]
fn its_owner_refreshes_it() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("CREATE TABLE t (a int)");
    talk.rows("CREATE ROLE owner LOGIN");
    talk.rows("CREATE ROLE reader LOGIN");
    talk.rows("GRANT CREATE ON SCHEMA public TO owner");
    talk.rows("CREATE MATERIALIZED VIEW mv AS SELECT a, current_user AS who FROM t");
    talk.rows("ALTER MATERIALIZED VIEW mv OWNER TO owner");
    talk.rows("INSERT INTO t VALUES (1)");
    let (mut owner, mut reader) = (fixture.session_of("owner"), fixture.session_of("reader"));
    let denied = |talk: &mut Talk, text: &str| {
        let (state, message) = talk.run(text).error.expect("it is denied");
        assert_eq!(state, "42501", "{text}");
        message
    };
    let refresh = "REFRESH MATERIALIZED VIEW mv";
    assert_eq!(denied(&mut owner, refresh), "permission denied for table t");
    // A superuser asks, and the owner's rights count.
    assert_eq!(denied(&mut talk, refresh), "permission denied for table t");
    talk.rows("GRANT SELECT ON t TO owner");
    owner.rows(refresh);
    talk.rows(refresh);
    assert_eq!(talk.rows("SELECT who FROM mv"), [[Some("owner".to_string())]]);
    let select = "SELECT a FROM mv";
    assert_eq!(denied(&mut reader, select), "permission denied for materialized view mv");
    assert_eq!(denied(&mut reader, refresh), "must be owner of materialized view mv");
    let dropped = "DROP MATERIALIZED VIEW mv";
    assert_eq!(denied(&mut reader, dropped), "must be owner of materialized view mv");
    talk.rows("GRANT SELECT ON mv TO reader");
    assert_eq!(reader.rows(select), [[Some("1".to_string())]]);
    let refused = owner.run("INSERT INTO mv VALUES (2)").error.expect("nothing writes it");
    assert_eq!(refused.1, "cannot change materialized view \"mv\"");
    talk.rows("DROP OWNED BY owner CASCADE");
    assert_eq!(talk.run(select).error.expect("it went with its owner").0, "42P01");
}

#[test]
fn a_schema_goes_with_what_reads_within_it() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("CREATE SCHEMA s");
    talk.rows("CREATE TABLE s.t (a int)");
    talk.rows("CREATE VIEW s.v AS SELECT a FROM s.t");
    talk.rows("CREATE MATERIALIZED VIEW s.m AS SELECT a FROM s.v");
    talk.rows("CREATE VIEW s.w AS SELECT a FROM s.m");
    talk.rows("CREATE MATERIALIZED VIEW outside AS SELECT a FROM s.w");
    talk.rows("DROP SCHEMA s CASCADE");
    let left = "SELECT relname FROM pg_class WHERE relname IN ('t', 'v', 'm', 'w', 'outside')";
    assert!(talk.rows(left).is_empty());
    talk.rows("CREATE TABLE t (a int)");
    talk.rows("CREATE MATERIALIZED VIEW m AS SELECT a FROM t");
    talk.rows("DROP TABLE t, t CASCADE");
    assert!(talk.rows(left).is_empty());
}

#[test]
fn what_is_not_served_is_refused() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for (text, state) in [
        ("CREATE MATERIALIZED VIEW m AS SELECT nope", "42703"),
        ("CREATE MATERIALIZED VIEW m AS SELECT FROM nope", "42P01"),
        ("CREATE MATERIALIZED VIEW m AS SELECT ROW(1, 2) AS r", "42P16"),
        ("CREATE MATERIALIZED VIEW m", "42601"),
        ("REFRESH MATERIALIZED VIEW", "42601"),
        ("REFRESH VIEW m", "42601"),
        ("CREATE OR REPLACE MATERIALIZED VIEW m AS SELECT 1", "42601"),
    ] {
        assert_eq!(talk.run(text).error.expect("it is refused").0, state, "{text}");
    }
}
