//! Do extensions do what PostgreSQL's do?
//!
//! Scripts run statement by statement here and in a private PostgreSQL 15 with its contrib modules (Debian packages): the
//! statements about extensions, the catalogs, and what each extension brings. The tag, the rows, their columns' names, SQLSTATE,
//! message and detail must be the same.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use compared::compare;
use onlap::{Database, Options, SyncMode};
use onlap_sql::Instance;
use support::Fixture;

const STATEMENTS: &str = include_str!("../testdata/extensions/statements.sql");
const FACTS: &str = include_str!("../testdata/extensions/facts.sql");
const CITEXT: &str = include_str!("../testdata/extensions/citext.sql");
const TRIGRAMS: &str = include_str!("../testdata/extensions/pg_trgm.sql");
const GIN: &str = include_str!("../testdata/gin/definitions.sql");
const HSTORE: &str = include_str!("../testdata/extensions/hstore.sql");
const CRYPTO: &str = include_str!("../testdata/extensions/crypto.sql");

#[test]
fn statements_are_as_in_postgresql() {
    compare(STATEMENTS);
}

#[test]
fn facts_are_those_of_postgresql() {
    compare(FACTS);
}

#[test]
fn citext_is_as_in_postgresql() {
    compare(CITEXT);
}

#[test]
fn digests_and_uuids_are_as_in_postgresql() {
    compare(CRYPTO);
}

#[test]
fn trigrams_are_as_in_postgresql() {
    compare(TRIGRAMS);
}

#[test]
fn indexes_of_gin_are_defined_as_in_postgresql() {
    compare(GIN);
}

#[test]
fn hstore_is_as_in_postgresql() {
    compare(HSTORE);
}

fn texts(rows: &[Vec<Option<String>>]) -> Vec<String> {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "NULL".into());
    rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>().join("|")).collect()
}

#[test]
fn what_was_created_is_there_after_a_restart() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let open = || {
        let db = Database::open(dir.path(), Options::default().sync(SyncMode::Os));
        Fixture::of(Instance::open(db.expect("it opens")).expect("its catalog opens"))
    };
    let before = [
        "CREATE EXTENSION citext",
        "CREATE SCHEMA s",
        "CREATE EXTENSION hstore SCHEMA s",
        "CREATE TABLE t (c citext PRIMARY KEY, h s.hstore)",
        "CREATE INDEX ON t (lower(c), (h -> 'a'))",
        "INSERT INTO t SELECT 'Name' || g, s.hstore('a', g::text) FROM generate_series(1, 500) g",
        "CREATE VIEW v AS SELECT c, h -> 'a' AS a FROM t WHERE c = 'NAME7'",
        "CHECKPOINT",
        "INSERT INTO t VALUES ('Last', 'a=>NULL')",
    ];
    let asked = [
        "SELECT extname, extversion, extnamespace::regnamespace FROM pg_extension ORDER BY 1",
        "SELECT h FROM t WHERE c = 'nAME77'",
        "SELECT c FROM t WHERE lower(c) = 'name78'",
        "SELECT * FROM v",
        "SELECT count(*), min(c), max(c) FROM t",
    ];
    let ask = |fixture: &Fixture| {
        let mut talk = fixture.session();
        asked.iter().flat_map(|sql| texts(&talk.rows(sql))).collect::<Vec<String>>()
    };
    let then = {
        let fixture = open();
        let mut talk = fixture.session();
        talk.rows("SET search_path = public, s");
        before.iter().for_each(|sql| drop(talk.rows(sql)));
        ask(&fixture)
    };
    assert_eq!(then[3], "\"a\"=>\"77\"", "{then:?}");
    let fixture = open();
    assert_eq!(ask(&fixture), then);
    let outcome = fixture.session().run("INSERT INTO t VALUES ('NAME8')");
    assert_eq!(outcome.error.expect("the key is there").0, "23505");
}

#[test]
fn who_may_create_is_asked_and_databases_have_their_own() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("CREATE ROLE maker LOGIN");
    talk.rows("CREATE ROLE other LOGIN");
    talk.rows("GRANT CREATE ON DATABASE postgres TO maker");
    talk.rows("CREATE DATABASE d");
    let refused = |role: &str, sql: &str| {
        let error = fixture.session_of(role).run(sql).error.expect("it is refused");
        format!("{} {}", error.0, error.1)
    };
    assert_eq!(
        refused("other", "CREATE EXTENSION citext"),
        "42501 permission denied to create extension \"citext\""
    );
    fixture.session_of("maker").rows("CREATE EXTENSION citext");
    assert_eq!(texts(&talk.rows("SELECT 'a'::citext = 'A'")), ["t"]);
    for sql in ["DROP EXTENSION citext", "ALTER EXTENSION citext UPDATE"] {
        assert_eq!(refused("other", sql), "42501 must be owner of extension citext");
    }
    let elsewhere = fixture.session_in("postgres", "d").run("SELECT 'a'::citext");
    assert_eq!(elsewhere.error.expect("it is of another database").0, "42704");
    let outcome = talk.run("DROP ROLE maker");
    assert!(outcome.detail.contains("owner of extension citext"), "{}", outcome.detail);
    talk.rows("REASSIGN OWNED BY maker TO postgres");
    fixture.session_in("postgres", "d").rows("CREATE EXTENSION citext");
    talk.rows("DROP DATABASE d");
    talk.rows("DROP EXTENSION citext");
}

#[test]
fn schemas_take_their_extensions_with_them() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("CREATE SCHEMA s");
    talk.rows("CREATE EXTENSION hstore SCHEMA s");
    assert_eq!(talk.run("DROP SCHEMA s").error.expect("something is in it").0, "2BP01");
    talk.rows("DROP SCHEMA s CASCADE");
    assert_eq!(texts(&talk.rows("SELECT extname FROM pg_extension")), ["plpgsql"]);
}

#[test]
fn plans_that_were_made_before_know_what_is_there() {
    let fixture = Fixture::new(false);
    let (mut talk, mut other) = (fixture.session(), fixture.session());
    let sql = "SELECT 'a=>1'::hstore -> 'a'";
    for _ in 0..3 {
        assert_eq!(talk.run(sql).error.expect("it is not there").0, "42704");
    }
    other.rows("CREATE EXTENSION hstore");
    for _ in 0..3 {
        assert_eq!(texts(&talk.rows(sql)), ["1"]);
    }
    other.rows("DROP EXTENSION hstore");
    assert_eq!(talk.run(sql).error.expect("it is gone").0, "42704");
    talk.rows("BEGIN");
    talk.rows("CREATE EXTENSION hstore");
    assert_eq!(texts(&talk.rows(sql)), ["1"]);
    assert_eq!(other.run(sql).error.expect("it is not committed").0, "42704");
    talk.rows("ROLLBACK");
    assert_eq!(talk.run(sql).error.expect("it never was").0, "42704");
}
