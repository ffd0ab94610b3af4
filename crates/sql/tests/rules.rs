//! Do rules do what PostgreSQL's do?
//!
//! A script runs statement by statement here and in a private PostgreSQL 15 (a Debian package). The tag, the rows, their
//! columns' names, SQLSTATE and the message must be the same; the order of rows is not compared.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/script.rs"]
mod script;
mod support;

use support::Fixture;

const SCRIPT: &str = include_str!("../testdata/rules_beside.sql");

#[test]
fn rules_do_what_postgresqls_do() {
    script::same(SCRIPT);
}

#[test]
fn rules_are_there_after_a_restart() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let open = || Fixture::at(dir.path());
    {
        let fixture = open();
        let mut talk = fixture.session();
        talk.rows("CREATE TABLE t (a int)");
        talk.rows("CREATE TABLE log (a int)");
        talk.rows("CREATE RULE r AS ON INSERT TO t DO ALSO INSERT INTO log VALUES (new.a)");
    }
    let fixture = open();
    let mut talk = fixture.session();
    talk.rows("INSERT INTO t VALUES (1)");
    assert_eq!(talk.rows("SELECT a FROM log"), [[Some("1".to_string())]]);
}

#[test]
fn statements_that_were_known_before_meet_a_new_rule() {
    let fixture = Fixture::new(false);
    let (mut talk, mut other) = (fixture.session(), fixture.session());
    talk.rows("CREATE TABLE t (a int, b text)");
    talk.rows("CREATE TABLE log (a int)");
    let insert = "INSERT INTO t VALUES (1, 'x')";
    // Such a long one is read without a parser.
    let long = format!("INSERT INTO t VALUES (2, '{}')", "y".repeat(300));
    talk.rows("PREPARE p AS INSERT INTO t VALUES (3, 'z')");
    for _ in 0..2 {
        talk.rows(insert);
        talk.rows(&long);
        talk.rows("EXECUTE p");
    }
    other.rows("CREATE RULE r AS ON INSERT TO t DO INSTEAD INSERT INTO log VALUES (new.a)");
    for statement in [insert, &long, "EXECUTE p"] {
        let outcome = talk.run(statement);
        assert_eq!((outcome.tags, outcome.error), (vec!["INSERT 0 1".to_string()], None));
    }
    let found = talk.rows("SELECT a FROM log ORDER BY a");
    let wanted: Vec<_> = ["1", "2", "3"].map(|a| vec![Some(a.to_string())]).into();
    assert_eq!(found, wanted);
    assert_eq!(talk.rows("SELECT count(*) FROM t"), [[Some("6".to_string())]]);
    other.rows("DROP RULE r ON t");
    talk.rows(insert);
    assert_eq!(talk.rows("SELECT count(*) FROM t"), [[Some("7".to_string())]]);
}

#[test]
fn what_rules_make_is_bounded() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for at in (0..80).rev() {
        talk.rows(&format!("CREATE TABLE c{at} (a int)"));
        let next = at + 1;
        // The first tables double what there is, and the others only hand it on.
        let more = if at < 12 { format!("; DELETE FROM d{at}") } else { String::new() };
        talk.rows(&format!("CREATE TABLE d{at} (a int)"));
        let into = format!("INSERT INTO c{next} VALUES (new.a)");
        let twice = if at < 12 { format!("{into}; {into}{more}") } else { into };
        if at < 79 {
            talk.rows(&format!("CREATE RULE r AS ON INSERT TO c{at} DO ALSO ({twice})"));
        }
    }
    for table in ["c0", "c12"] {
        let outcome = talk.run(&format!("INSERT INTO {table} VALUES (1)"));
        assert_eq!(outcome.error.map(|e| e.0), Some("54001".to_string()), "{table}");
    }
    assert_eq!(talk.run("INSERT INTO c60 VALUES (1)").error, None);
    assert_eq!(talk.rows("SELECT a FROM c79"), [[Some("1".to_string())]]);
    assert_eq!(talk.rows("SELECT a FROM c0"), Vec::<Vec<Option<String>>>::new());
}
