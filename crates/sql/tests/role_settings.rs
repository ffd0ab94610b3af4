//! Do sessions begin with what ALTER ROLE and ALTER DATABASE say, and do sequences get other names, as in PostgreSQL?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use support::{Fixture, Talk};

const SCRIPT: &str = include_str!("../testdata/role_settings_beside.sql");

#[test]
fn settings_of_roles_are_postgresqls() {
    compared::compare(SCRIPT);
}

fn show(talk: &mut Talk, name: &str) -> String {
    talk.rows(&format!("SHOW {name}"))[0][0].clone().expect("a value")
}

#[test]
fn sessions_begin_with_them() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let open = || Fixture::at(dir.path());
    {
        let mut talk = open().session();
        talk.rows("CREATE ROLE r LOGIN");
        talk.rows("CREATE DATABASE d");
        talk.rows("ALTER ROLE ALL SET lock_timeout = '1s'");
        talk.rows("ALTER ROLE ALL SET statement_timeout = '1min'");
        talk.rows("ALTER DATABASE d SET lock_timeout = '2s'");
        talk.rows("ALTER ROLE r SET lock_timeout = '3s'");
        talk.rows("ALTER ROLE r IN DATABASE d SET lock_timeout = '4s'");
        talk.rows("ALTER ROLE r SET search_path = app");
        talk.rows("ALTER ROLE r SET app.color = 'red'");
        // A session that runs goes on as it was.
        assert_eq!(show(&mut talk, "lock_timeout"), "0");
    }
    let fixture = open();
    for (role, database, expected) in [
        ("postgres", "postgres", "1s"),
        ("postgres", "d", "2s"),
        ("r", "postgres", "3s"),
        ("r", "d", "4s"),
    ] {
        let mut talk = fixture.session_in(role, database);
        assert_eq!(show(&mut talk, "lock_timeout"), expected, "{role} in {database}");
        assert_eq!(show(&mut talk, "statement_timeout"), "1min");
        talk.rows("SET lock_timeout = 9");
        talk.rows("RESET lock_timeout");
        assert_eq!(show(&mut talk, "lock_timeout"), expected);
    }
    let mut talk = fixture.session_of("r");
    assert_eq!(show(&mut talk, "search_path"), "app");
    assert_eq!(show(&mut talk, "app.color"), "red");
    let mut own = fixture.session();
    own.rows("ALTER ROLE r RESET ALL");
    own.rows("DROP DATABASE d");
    let left = "SELECT count(*) FROM pg_db_role_setting";
    drop(talk);
    assert_eq!(own.rows(left), [[Some("1".to_string())]]);
}

#[test]
fn what_is_not_served_is_refused() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for (text, state) in [
        ("ALTER ROLE postgres SET role = 'x'", "0A000"),
        ("ALTER ROLE postgres SET SESSION AUTHORIZATION 'x'", "0A000"),
        ("ALTER ROLE postgres SET data_dir = 'x'", "55P02"),
        ("ALTER ROLE postgres SET", "42601"),
        ("ALTER DATABASE postgres SET nope = 1", "42704"),
    ] {
        assert_eq!(talk.run(text).error.expect("it is refused").0, state, "{text}");
    }
}

#[test]
fn default_privileges_are_of_one_database() {
    let fixture = Fixture::new(false);
    let mut here = fixture.session();
    here.rows("CREATE DATABASE d");
    here.rows("CREATE ROLE r");
    here.rows("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO r");
    here.rows("ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT INSERT ON TABLES TO r");
    let may = "SELECT has_table_privilege('r', 't', 'SELECT')::text, \
               has_table_privilege('r', 't', 'INSERT')::text, \
               (SELECT count(*)::text FROM pg_default_acl)";
    let found = |talk: &mut Talk| {
        talk.rows("CREATE TABLE t (a int)");
        let row = talk.rows(may).remove(0);
        row.into_iter().map(|value| value.expect("a value")).collect::<Vec<String>>()
    };
    assert_eq!(found(&mut here), ["true", "true", "2"]);
    {
        let mut there = fixture.session_in("postgres", "d");
        assert_eq!(found(&mut there), ["false", "false", "0"]);
        there.rows("CREATE SCHEMA s");
        there.rows("ALTER DEFAULT PRIVILEGES IN SCHEMA s GRANT SELECT ON TABLES TO r");
        there.rows("ALTER DEFAULT PRIVILEGES REVOKE ALL ON FUNCTIONS FROM PUBLIC");
        assert_eq!(there.rows("SELECT count(*)::text FROM pg_default_acl")[0][0], Some("2".into()));
    }
    here.rows("DROP DATABASE d");
    assert_eq!(here.rows("SELECT count(*)::text FROM pg_default_acl")[0][0], Some("2".into()));
}
