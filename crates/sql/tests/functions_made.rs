//! Do functions and triggers of databases do what PostgreSQL's do?
//!
//! A script runs statement by statement here and in a private PostgreSQL 15 (a Debian package); an empty line stands between two
//! statements. Tags, rows, SQLSTATE, message, detail, hint, context and notices must be the same.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use onlap::{Database, Options};
use onlap_sql::Instance;
use support::{Fixture, Talk};

const FUNCTIONS: &str = include_str!("../testdata/routines/functions.sql");
const KEPT: &str = include_str!("../testdata/routines/kept.sql");
const TRIGGERS: &str = include_str!("../testdata/routines/triggers.sql");

#[test]
fn functions_do_what_postgresql_does() {
    let differ = compared::differences(FUNCTIONS.split("\n\n"), "", compared::all_but_columns);
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn triggers_do_what_postgresql_does() {
    let differ = compared::differences(TRIGGERS.split("\n\n"), "", compared::all_but_columns);
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn who_writes_rows_must_be_let_call_what_is_calculated_of_them() {
    compared::compare(include_str!("../testdata/routines/writers.sql"));
}

#[test]
fn what_routines_leave_and_may_change_is_as_in_postgresql() {
    let differ = compared::differences(KEPT.split("\n\n"), "", compared::all_but_columns);
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn what_triggers_do_within_statements_counts_as_in_postgresql() {
    let script = include_str!("../testdata/fired_beside.sql");
    let differ = compared::differences(script.lines(), "", compared::answer);
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn a_refresh_has_its_owners_rights_in_functions_too() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("CREATE ROLE u; GRANT CREATE ON SCHEMA public TO u; SET ROLE u");
    talk.rows(
        "CREATE FUNCTION who() RETURNS text LANGUAGE plpgsql AS 'begin return current_user; end'",
    );
    talk.rows("CREATE MATERIALIZED VIEW m AS SELECT who() AS who");
    talk.rows("RESET ROLE");
    talk.rows("REFRESH MATERIALIZED VIEW m");
    assert_eq!(one(&mut talk, "SELECT who FROM m"), "u");
    assert_eq!(one(&mut talk, "SELECT current_user"), "postgres");
    let made = |body: &str| {
        format!(
            "CREATE OR REPLACE FUNCTION who() RETURNS text LANGUAGE plpgsql AS \
             'begin {body}; return current_user; end'"
        )
    };
    talk.rows("SET ROLE u");
    talk.rows(&made("execute ''reset role''"));
    talk.rows("RESET ROLE");
    assert_eq!(error(&mut talk, "REFRESH MATERIALIZED VIEW m").0, "42501");
    talk.rows("SET ROLE u");
    talk.rows(&made("perform set_config(''role'', ''none'', false); perform 1"));
    talk.rows("RESET ROLE");
    assert_eq!(error(&mut talk, "REFRESH MATERIALIZED VIEW m").0, "42501");
    assert_eq!(one(&mut talk, "SELECT current_user"), "postgres");
}

#[test]
fn functions_are_called_where_the_role_may_look() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("CREATE ROLE u; CREATE SCHEMA s");
    talk.rows("CREATE FUNCTION s.f() RETURNS int LANGUAGE sql AS 'SELECT 1'");
    talk.rows("CREATE VIEW v AS SELECT s.f() AS f; GRANT SELECT ON v TO u; SET ROLE u");
    for call in ["SELECT s.f()", "SELECT * FROM s.f()"] {
        assert_eq!(error(&mut talk, call).0, "42501", "{call}");
    }
    assert_eq!(one(&mut talk, "SELECT f FROM v"), "1");
}

/// What is kept in a folder.
fn opened(folder: &std::path::Path) -> Fixture {
    let db = Database::open(folder, Options::default()).expect("it opens");
    Fixture::of(Instance::open(db).expect("the catalog is read"))
}

/// SQLSTATE and message of a statement.
fn error(talk: &mut Talk, statement: &str) -> (String, String) {
    talk.run(statement).error.unwrap_or_default()
}

fn one(talk: &mut Talk, query: &str) -> String {
    talk.rows(query)[0][0].clone().unwrap_or_default()
}

#[test]
fn what_is_not_done_is_refused() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("CREATE TABLE p (id int PRIMARY KEY)");
    talk.rows(
        "CREATE TABLE c (id int REFERENCES p ON DELETE CASCADE, n int) PARTITION BY LIST (n)",
    );
    talk.rows("CREATE TABLE c1 PARTITION OF c FOR VALUES IN (1)");
    let function = "CREATE FUNCTION g(a int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT a'";
    talk.rows(function);
    talk.rows(
        "CREATE FUNCTION h(a int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN a; END'",
    );
    talk.rows("CREATE FUNCTION tr() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'");
    let refused = [
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql RETURN 1",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; END",
        "CREATE FUNCTION f(p.id%TYPE) RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE FUNCTION f() RETURNS int LANGUAGE internal AS 'x'",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql WINDOW AS 'SELECT 1'",
        "CREATE TRIGGER x AFTER DELETE ON c FOR EACH ROW EXECUTE FUNCTION tr()",
        "CREATE TRIGGER x AFTER DELETE ON c1 FOR EACH ROW EXECUTE FUNCTION tr()",
        "ALTER TABLE c ADD CHECK (h(n) > 0)",
        "CREATE INDEX ON c (h(n))",
    ];
    for statement in refused {
        let (state, message) = error(&mut talk, statement);
        assert_eq!(state, "0A000", "{statement}: {message}");
    }
    talk.rows("CREATE TRIGGER x AFTER INSERT OR UPDATE ON c FOR EACH ROW EXECUTE FUNCTION tr()");
    let add = "ALTER TABLE c ADD FOREIGN KEY (n) REFERENCES p ON DELETE SET NULL";
    assert_eq!(error(&mut talk, add).0, "0A000");
}

#[test]
fn actions_of_foreign_keys_do_not_pass_triggers_of_other_parts_by() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("CREATE TABLE p (id int PRIMARY KEY)");
    talk.rows("CREATE FUNCTION tr() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN old; END'");
    let trigger = |on: &str| {
        format!("CREATE TRIGGER x BEFORE DELETE ON {on} FOR EACH ROW EXECUTE FUNCTION tr()")
    };
    let key = "REFERENCES p ON DELETE CASCADE";
    // The key below, the trigger above, and the other way round.
    talk.rows("CREATE TABLE q (a int, id int) PARTITION BY LIST (a)");
    talk.rows(&format!(
        "CREATE TABLE q1 PARTITION OF q (FOREIGN KEY (id) {key}) FOR VALUES IN (1)"
    ));
    assert_eq!(error(&mut talk, &trigger("q")).0, "0A000");
    talk.rows("DROP TABLE q");
    talk.rows("CREATE TABLE q (a int, id int) PARTITION BY LIST (a)");
    talk.rows("CREATE TABLE q1 PARTITION OF q FOR VALUES IN (1)");
    talk.rows(&trigger("q"));
    let add = format!("ALTER TABLE q1 ADD FOREIGN KEY (id) {key}");
    assert_eq!(error(&mut talk, &add).0, "0A000");
    let made = format!("CREATE TABLE q2 PARTITION OF q (FOREIGN KEY (id) {key}) FOR VALUES IN (2)");
    assert_eq!(error(&mut talk, &made).0, "0A000");
    talk.rows(&format!("CREATE TABLE q3 (a int, id int {key})"));
    let attach = "ALTER TABLE q ATTACH PARTITION q3 FOR VALUES IN (3)";
    assert_eq!(error(&mut talk, attach).0, "0A000");
    talk.rows("CREATE TABLE q4 (a int, id int)");
    talk.rows("ALTER TABLE q ATTACH PARTITION q4 FOR VALUES IN (4)");
    // Keys that change nothing go with triggers.
    talk.rows("ALTER TABLE q4 ADD FOREIGN KEY (id) REFERENCES p");
    talk.rows("DROP TRIGGER x ON q");
    talk.rows(attach);
    assert_eq!(error(&mut talk, &trigger("q")).0, "0A000");
    talk.rows("DROP TABLE q3");
    talk.rows(&trigger("q1"));
    let add = format!("ALTER TABLE q ADD FOREIGN KEY (id) {key}");
    assert_eq!(error(&mut talk, &add).0, "0A000");
}

#[test]
fn notices_have_room_or_are_refused() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows(
        "CREATE FUNCTION f(n int) RETURNS int LANGUAGE plpgsql AS \
         'BEGIN RAISE NOTICE ''%'', repeat(''x'', 1000000); RETURN n; END'",
    );
    let (state, _) = error(&mut talk, "SELECT sum(f(g)) FROM generate_series(1, 100000) g");
    assert_eq!(state, "53200");
    talk.rows(
        "CREATE FUNCTION many() RETURNS int LANGUAGE plpgsql AS \
         'BEGIN FOR i IN 1..100000 LOOP RAISE NOTICE ''%'', repeat(''x'', 1000000); END LOOP; \
         RETURN 1; END'",
    );
    assert_eq!(error(&mut talk, "SELECT count(many())").0, "53200");
    assert_eq!(one(&mut talk, "SELECT 1"), "1");
    let few = talk.run("SELECT f(g) FROM generate_series(1, 20) g");
    assert_eq!((few.notices.len(), few.rows.len()), (20, 20));
}

#[test]
fn renames_and_drops_of_conditions_roll_back_and_are_there_after_a_restart() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let open = || opened(dir.path());
    let shown = "SELECT pg_get_triggerdef(oid) FROM pg_trigger";
    let is = |talk: &mut Talk, column: &str| {
        assert_eq!(
            one(talk, shown),
            format!(
                "CREATE TRIGGER x BEFORE INSERT ON public.t FOR EACH ROW WHEN ((new.{column} > 1)) \
                 EXECUTE FUNCTION tr()"
            )
        );
    };
    {
        let fixture = open();
        let mut talk = fixture.session();
        talk.rows("CREATE TABLE t (a int, z int)");
        talk.rows(
            "CREATE FUNCTION tr() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        );
        talk.rows("CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW WHEN (new.a > 1) EXECUTE FUNCTION tr()");
        talk.rows("BEGIN; SAVEPOINT s");
        talk.rows("ALTER TABLE t RENAME a TO b");
        is(&mut talk, "b");
        talk.rows("INSERT INTO t VALUES (1), (2)");
        assert_eq!(one(&mut talk, "SELECT count(*) FROM t"), "1");
        talk.rows("ROLLBACK TO s");
        is(&mut talk, "a");
        talk.rows("ALTER TABLE t DROP a CASCADE");
        assert!(talk.rows(shown).is_empty());
        talk.rows("ROLLBACK");
        is(&mut talk, "a");
        talk.rows("ALTER TABLE t RENAME a TO c");
    }
    let fixture = open();
    let mut talk = fixture.session();
    is(&mut talk, "c");
    talk.rows("INSERT INTO t VALUES (1), (2)");
    assert_eq!(one(&mut talk, "SELECT c FROM t"), "1");
}

#[test]
fn endless_functions_end() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows(
        "CREATE FUNCTION inf(n int) RETURNS int LANGUAGE plpgsql AS \
         'BEGIN RETURN inf(n + 1); END'",
    );
    assert_eq!(error(&mut talk, "SELECT inf(1)").0, "54001");
    talk.rows("CREATE FUNCTION sql(n int) RETURNS int LANGUAGE sql AS 'SELECT sql(n + 1)'");
    assert_eq!(error(&mut talk, "SELECT sql(1)").0, "54001");
    assert_eq!(error(&mut talk, "SELECT sql(n) FROM generate_series(1, 2) n").0, "54001");
    talk.rows("CREATE FUNCTION loops() RETURNS int LANGUAGE plpgsql AS 'BEGIN LOOP END LOOP; END'");
    talk.rows("SET statement_timeout = '200ms'");
    assert_eq!(error(&mut talk, "SELECT loops()").0, "57014");
    talk.rows("RESET statement_timeout");
    talk.rows(
        "CREATE FUNCTION deep(n int) RETURNS int LANGUAGE plpgsql AS \
         'BEGIN IF n = 0 THEN RETURN 0; END IF; RETURN 1 + deep(n - 1); END'",
    );
    assert_eq!(one(&mut talk, "SELECT deep(200)"), "200");
    // A trigger that fires itself.
    talk.rows("CREATE TABLE t (a int)");
    talk.rows(
        "CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS \
         'BEGIN INSERT INTO t VALUES (new.a + 1); RETURN NULL; END'",
    );
    talk.rows("CREATE TRIGGER again AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION again()");
    assert_eq!(error(&mut talk, "INSERT INTO t VALUES (1)").0, "54001");
    assert_eq!(one(&mut talk, "SELECT count(*) FROM t"), "0");
}

#[test]
fn bad_bodies_are_refused_in_peace() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    let words = [
        "begin", "end", ";", "return", "next", "query", "execute", "select", "1", "$1", "$", "'",
        ":=", "a", "(", "loop", "if", "then", "new", "declare", "call",
    ];
    let mut seed = 17_u64;
    for n in 0..400 {
        let mut body = String::new();
        for _ in 0..n % 23 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            body += words[(seed >> 33) as usize % words.len()];
            body += " ";
        }
        let body = body.replace('\'', "''");
        for language in ["sql", "plpgsql"] {
            let text = format!(
                "CREATE OR REPLACE FUNCTION x(a int) RETURNS int LANGUAGE {language} AS '{body}'"
            );
            let made = talk.run(&text);
            if made.error.is_none() {
                talk.run("SELECT x(1)");
            }
        }
    }
    assert_eq!(one(&mut talk, "SELECT 1"), "1");
}

#[test]
fn notices_and_changes_of_functions_reach_the_session() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("CREATE TABLE t (a int)");
    talk.rows(
        "CREATE FUNCTION f(n int) RETURNS int LANGUAGE plpgsql AS \
         'BEGIN INSERT INTO t VALUES (n); RAISE NOTICE ''%'', n; RETURN n; END'",
    );
    talk.rows("BEGIN");
    assert_eq!(talk.run("SELECT f(g) FROM generate_series(1, 3) g").notices.len(), 3);
    talk.rows("SAVEPOINT s");
    talk.rows("SELECT f(9)");
    talk.rows("ROLLBACK TO s");
    assert_eq!(one(&mut talk, "SELECT count(*) FROM t"), "3");
    talk.rows("COMMIT");
    let mut other = fixture.session();
    assert_eq!(one(&mut other, "SELECT sum(f(a)) FROM t"), "6");
    assert_eq!(one(&mut talk, "SELECT count(*) FROM t"), "6");
    // Others see a new body at once.
    assert_eq!(one(&mut talk, "SELECT f(0)"), "0");
    other.rows("CREATE OR REPLACE FUNCTION f(n int) RETURNS int LANGUAGE sql AS 'SELECT n + 100'");
    assert_eq!(one(&mut talk, "SELECT f(0)"), "100");
}

#[test]
fn functions_and_triggers_are_there_after_a_restart() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let open = || opened(dir.path());
    {
        let fixture = open();
        let mut talk = fixture.session();
        talk.rows("CREATE TABLE t (a int, b text)");
        talk.rows("CREATE FUNCTION f(a int, b text DEFAULT 'x') RETURNS text LANGUAGE sql AS 'SELECT b || a'");
        talk.rows(
            "CREATE FUNCTION tr() RETURNS trigger LANGUAGE plpgsql AS \
             'BEGIN NEW.b := f(NEW.a, tg_argv[0]); RETURN NEW; END'",
        );
        talk.rows("CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW WHEN (NEW.a > 1) EXECUTE FUNCTION tr('y')");
        talk.rows("CREATE TABLE d (a text DEFAULT f(7))");
    }
    let fixture = open();
    let mut talk = fixture.session();
    assert_eq!(one(&mut talk, "SELECT f(1)"), "x1");
    talk.rows("INSERT INTO t VALUES (1, 'a'), (2, 'b')");
    assert_eq!(one(&mut talk, "SELECT string_agg(b, ',' ORDER BY a) FROM t"), "a,y2");
    talk.rows("INSERT INTO d DEFAULT VALUES");
    assert_eq!(one(&mut talk, "SELECT a FROM d"), "x7");
    assert_eq!(error(&mut talk, "DROP FUNCTION tr()").0, "2BP01");
    talk.rows("SET search_path TO pg_catalog");
    talk.rows("INSERT INTO public.d DEFAULT VALUES");
    assert_eq!(one(&mut talk, "SELECT count(*) FROM public.d WHERE a = 'x7'"), "2");
}
