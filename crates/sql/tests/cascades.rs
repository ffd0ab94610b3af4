//! Does DROP take along what it does in PostgreSQL?
//!
//! Scripts run statement by statement here and in a private PostgreSQL 15 (Debian packages): what depends on what, what CASCADE says
//! and drops, and that it touches nothing of other databases.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use support::Fixture;

const EXTENSIONS: &str = include_str!("../testdata/cascades/extensions.sql");

const MEMBERS: &str = include_str!("../testdata/cascades/members.sql");
const IMMUTABLE: &str = include_str!("../testdata/cascades/immutable.sql");
const CYCLES: &str = include_str!("../testdata/cascades/cycles.sql");
const RELATIONS: &str = include_str!("../testdata/cascades/relations.sql");
const SCHEMAS: &str = include_str!("../testdata/cascades/schemas.sql");

fn compare(script: &str) {
    let differ = compared::differences(script.lines(), "", compared::all_but_columns);
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn what_uses_extensions_goes_with_them() {
    compare(EXTENSIONS);
}

#[test]
fn what_an_extension_has_is_its_own() {
    compare(MEMBERS);
}

#[test]
fn what_indexes_calculate_may_be_what_postgresql_lets_them() {
    compare(IMMUTABLE);
}

#[test]
fn what_depends_on_each_other_goes_once() {
    compare(CYCLES);
}

#[test]
fn relations_take_along_what_uses_them() {
    compare(RELATIONS);
}

#[test]
fn schemas_and_types_take_along_what_uses_them() {
    compare(SCHEMAS);
}

#[test]
fn other_databases_keep_what_they_have() {
    let fixture = Fixture::new(false);
    fixture.session().rows("CREATE DATABASE d");
    let made = [
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "CREATE TABLE t (a int, b int DEFAULT f())",
        "CREATE RULE r AS ON INSERT TO t WHERE f() = 2 DO NOTHING",
        "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW WHEN (f() = 1) EXECUTE FUNCTION fire()",
        "CREATE VIEW v AS SELECT f()",
        "CREATE MATERIALIZED VIEW m AS SELECT f()",
        "CREATE DOMAIN d AS int DEFAULT f()",
        "CREATE FUNCTION g(a int DEFAULT f()) RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ];
    let asked = [
        "SELECT rulename FROM pg_rules WHERE rulename = 'r'",
        "SELECT tgname FROM pg_trigger",
        "SELECT column_default FROM information_schema.columns WHERE column_name = 'b'",
        "SELECT relname FROM pg_class WHERE relname IN ('t', 'v', 'm') ORDER BY 1",
        "SELECT typname FROM pg_type WHERE typname = 'd'",
        "SELECT proname FROM pg_proc WHERE proname IN ('f', 'g', 'fire') ORDER BY 1",
    ];
    let (mut here, mut there) = (fixture.session(), fixture.session_in("postgres", "d"));
    for sql in made {
        here.rows(sql);
        there.rows(sql);
    }
    let before: Vec<_> = asked.iter().map(|sql| here.rows(sql)).collect();
    there.rows("DROP FUNCTION fire() CASCADE");
    there.rows("DROP FUNCTION f() CASCADE");
    let after: Vec<_> = asked.iter().map(|sql| here.rows(sql)).collect();
    assert_eq!(after, before);
    let left: Vec<_> = asked.iter().map(|sql| there.rows(sql).len()).collect();
    // The column has no default, the table is there.
    assert_eq!(left, [0, 0, 1, 1, 0, 0]);
    here.rows("INSERT INTO t (a) VALUES (1)");
    assert_eq!(here.rows("SELECT b FROM t"), [[Some("1".to_string())]]);
}

#[test]
fn what_went_is_gone_after_a_restart_and_what_came_back_is_there() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let made = [
        "CREATE SCHEMA s",
        "CREATE VIEW s.v AS SELECT 1 AS a",
        "CREATE FUNCTION f(s.v) RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE OR REPLACE VIEW s.v AS SELECT f(NULL) AS a",
        "CREATE DOMAIN s.d AS int DEFAULT 3",
        "CREATE TABLE t (a s.d, b int)",
        "CREATE VIEW w AS SELECT a, b FROM t",
    ];
    let asked = "SELECT (SELECT count(*) FROM pg_class WHERE relname IN ('v', 'w')), \
                 (SELECT count(*) FROM pg_proc WHERE proname = 'f'), \
                 (SELECT count(*) FROM pg_type WHERE typname = 'd')";
    let ask = |fixture: &Fixture| fixture.session().rows(asked).concat();
    let some = |texts: [&str; 3]| texts.map(|text| Some(text.to_string())).to_vec();
    {
        let fixture = Fixture::at(dir.path());
        let mut talk = fixture.session();
        made.iter().for_each(|sql| drop(talk.rows(sql)));
        talk.rows("BEGIN");
        talk.rows("SAVEPOINT a");
        talk.rows("DROP SCHEMA s CASCADE");
        assert_eq!(talk.rows(asked).concat(), some(["0", "0", "0"]));
        talk.rows("ROLLBACK TO a");
        assert_eq!(talk.rows(asked).concat(), some(["2", "1", "1"]));
        talk.rows("COMMIT");
    }
    {
        let fixture = Fixture::at(dir.path());
        assert_eq!(ask(&fixture), some(["2", "1", "1"]));
        fixture.session().rows("DROP SCHEMA s CASCADE");
    }
    let fixture = Fixture::at(dir.path());
    assert_eq!(ask(&fixture), some(["0", "0", "0"]));
    let mut talk = fixture.session();
    talk.rows("DROP TABLE t");
    made.iter().for_each(|sql| drop(talk.rows(sql)));
    assert_eq!(ask(&fixture), some(["2", "1", "1"]));
}

#[test]
fn only_what_is_named_must_be_the_roles_own() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("CREATE ROLE maker LOGIN");
    talk.rows("CREATE ROLE reader LOGIN");
    talk.rows("GRANT CREATE ON SCHEMA public TO maker, reader");
    fixture.session_of("maker").rows("CREATE TABLE t (a int, b int)");
    fixture.session_of("maker").rows("GRANT SELECT ON t TO reader");
    fixture.session_of("reader").rows("CREATE VIEW v AS SELECT b FROM t");
    let error = fixture.session_of("reader").run("DROP TABLE t CASCADE").error;
    assert_eq!(error.expect("it is another's").0, "42501");
    fixture.session_of("maker").rows("ALTER TABLE t DROP COLUMN b CASCADE");
    let views = talk.rows("SELECT count(*) FROM pg_class WHERE relname = 'v'");
    assert_eq!(views, [[Some("0".to_string())]]);
}

#[test]
fn long_chains_and_large_schemas_go() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("CREATE SCHEMA s");
    talk.rows("CREATE TABLE base (a int)");
    for at in 0..60 {
        let below = if at % 20 == 0 { "base".to_string() } else { format!("s.v{}", at - 1) };
        talk.rows(&format!("CREATE FUNCTION s.f{at}(int) RETURNS int LANGUAGE sql AS 'SELECT 1'"));
        talk.rows(&format!("CREATE TABLE s.t{at} (a int DEFAULT s.f{at}(1), b int)"));
        talk.rows(&format!("CREATE VIEW s.v{at} AS SELECT s.f{at}(a) AS a FROM {below}"));
    }
    let outcome = talk.run("DROP TABLE base");
    assert_eq!(outcome.state(), "2BP01");
    assert_eq!(outcome.detail.lines().count(), 60);
    let outcome = talk.run("DROP SCHEMA s");
    let last = outcome.detail.lines().last().unwrap_or_default().to_string();
    assert_eq!(last, "and 80 other objects (see server log for list)");
    let outcome = talk.run("DROP SCHEMA s CASCADE");
    let told: Vec<&str> = outcome.notices.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!((outcome.error, told), (None, vec!["drop cascades to 180 other objects"]));
    talk.rows("DROP TABLE base");
}

#[test]
fn what_cannot_be_bound_goes_with_no_other_extension() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for made in [
        "CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE VIEW v AS SELECT f('1')",
        // The call is ambiguous from now on.
        "CREATE FUNCTION f(a date) RETURNS int LANGUAGE sql AS 'SELECT 2'",
        "CREATE EXTENSION citext",
        "DROP EXTENSION citext CASCADE",
    ] {
        talk.rows(made);
    }
    let views = talk.rows("SELECT count(*)::text FROM pg_class WHERE relname = 'v'");
    assert_eq!(views, [[Some("1".to_string())]]);
}

#[test]
fn an_extension_that_is_named_stays_in_its_schema() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for made in [
        "CREATE SCHEMA a",
        "CREATE SCHEMA b",
        "CREATE EXTENSION pgcrypto SCHEMA a",
        "ALTER EXTENSION pgcrypto SET SCHEMA b",
        "CREATE TABLE t (i int, d bytea DEFAULT b.digest('a', 'md5'))",
    ] {
        talk.rows(made);
    }
    let refused = talk.run("ALTER EXTENSION pgcrypto SET SCHEMA a").error;
    assert_eq!(refused.map(|error| error.0), Some("0A000".to_string()));
    talk.rows("INSERT INTO t (i) VALUES (1)");
}
