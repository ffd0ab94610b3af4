//! Do ranges and multiranges do what PostgreSQL's do?
//!
//! Scripts run statement by statement here and in a private PostgreSQL 15 (a Debian package): texts, operators over pairs of
//! values, tables and their indexes, the catalogs. The tag, the rows, their columns' names, SQLSTATE, message and detail must
//! be the same; what is refused here is listed.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use onlap_testkit::simple::Outcome;
use support::{Fixture, Talk, texts};

const VALUES: &str = include_str!("../testdata/ranges/values.sql");
const OPERATORS: &str = include_str!("../testdata/ranges/operators.sql");
const TABLES: &str = include_str!("../testdata/ranges/tables.sql");
const CATALOGS: &str = include_str!("../testdata/ranges/catalogs.sql");

/// Beginnings of statements that are refused here.
const REFUSED: [&str; 1] = ["CREATE TYPE floatrange"];

fn compare(script: &str) {
    let is_taken = |line: &&str| !REFUSED.iter().any(|begin| line.starts_with(begin));
    let script: Vec<&str> = script.lines().filter(is_taken).collect();
    compared::compare(&script.join("\n"));
}

#[test]
fn values_are_as_in_postgresql() {
    compare(VALUES);
}

#[test]
fn operators_are_as_in_postgresql() {
    compare(OPERATORS);
}

#[test]
fn tables_are_as_in_postgresql() {
    compare(TABLES);
}

#[test]
fn catalogs_are_as_in_postgresql() {
    compare(CATALOGS);
}

#[test]
fn what_is_refused_says_so() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    let all = TABLES.lines().chain(CATALOGS.lines());
    let refused: Vec<&str> =
        all.filter(|line| REFUSED.iter().any(|begin| line.starts_with(begin))).collect();
    assert_eq!(refused.len(), REFUSED.len());
    let indexed =
        ["CREATE TABLE n (r numrange PRIMARY KEY)", "CREATE TABLE n (r nummultirange UNIQUE)"];
    for statement in refused.into_iter().chain(indexed) {
        let outcome = talk.run(statement);
        assert_eq!(outcome.error.as_ref().map(|e| e.0.as_str()), Some("0A000"), "{statement}");
    }
}

#[test]
fn columns_survive_a_restart_and_indexes_find_them() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let open = || Fixture::at(dir.path());
    let ask = |talk: &mut Talk| {
        talk.lines(&[
            "select * from r order by i",
            "select n from r where i = '[20,29]'",
            "select i from r where s > '[2000-01-30,2000-01-31)' order by s",
            "select pg_get_viewdef('v'::regclass)",
        ])
    };
    let before = {
        let mut talk = open().session();
        for sql in [
            "create table r (i int4range primary key, n numrange default '[1.0,2]', s tsrange, m int4multirange)",
            "create index on r (s)",
            "create view v as select i * '[5,50]' as c from r where n @> 1.5",
            "insert into r (i, s, m) select int4range(g, g + 10), tsrange('2000-01-01', timestamp '2000-01-01' + g * \
             interval '1 day'), int4multirange(int4range(g, g + 1), int4range(g + 5, null)) from generate_series(0, 40) g",
            "insert into r values ('empty', 'empty', '[2000-02-01,infinity]', '{}'), ('(,)', null, '(,)', null)",
        ] {
            talk.rows(sql);
        }
        ask(&mut talk)
    };
    assert!(before.len() > 43, "{before:?}");
    let fixture = open();
    let mut talk = fixture.session();
    assert_eq!(ask(&mut talk), before);
    for condition in ["i = '[20,29]'", "i > '[35,40)'", "s < '[2000-01-01,2000-01-05)'"] {
        let sql = format!("explain select n from r where {condition}");
        let plan = texts(&talk.rows(&sql)).join("\n");
        assert!(plan.contains("Index"), "{condition}: {plan}");
    }
    let refused = talk.run("insert into r (i) values ('[20,30)')");
    assert_eq!(refused.error.map(|e| e.0).as_deref(), Some("23505"));
}

fn feed(talk: &mut Talk, sql: &str, data: &[u8]) -> Outcome {
    talk.client.input = data.chunks(7).map(<[u8]>::to_vec).collect();
    let outcome = talk.run(sql);
    talk.client.input.clear();
    outcome
}

#[test]
fn copy_takes_what_it_gave() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    let columns = "i int4range, n numrange, t tstzrange, m datemultirange, a int8range[]";
    talk.rows(&format!("create table a ({columns})"));
    talk.rows(&format!("create table b ({columns})"));
    talk.rows(
        "insert into a values ('[1,5]', '[1.50,2)', '[2000-01-01 00:00+00,)', '{[2000-01-01,2000-01-02],(,1999-01-01)}', \
         '{\"[1,2]\",empty,NULL}'), ('empty', '(,)', NULL, '{}', '{}'), (NULL, 'empty', 'empty', NULL, NULL)",
    );
    let wanted = texts(&talk.rows("select * from a order by a"));
    for options in ["", " (format csv)", " (format binary)"] {
        let sent = talk.run(&format!("copy a to stdout{options}")).copied;
        assert!(!sent.is_empty(), "{options}");
        talk.rows("truncate b");
        let taken = feed(&mut talk, &format!("copy b from stdin{options}"), &sent);
        assert_eq!(taken.error, None, "{options}");
        assert_eq!(texts(&talk.rows("select * from b order by b")), wanted, "{options}");
    }
    let outcome = feed(&mut talk, "copy b (i) from stdin", b"[1,5\n");
    assert_eq!(outcome.error.map(|e| e.0).as_deref(), Some("22P02"));
}

#[test]
fn rights_count_for_columns_of_ranges() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create role reader login");
    talk.rows("create table r (i int4range, n numrange)");
    talk.rows("grant select (i) on r to reader");
    let mut reader = fixture.session_of("reader");
    assert_eq!(reader.run("select lower(i) from r").error, None);
    for sql in [
        "select upper(n) from r",
        "select i from r where n @> 1.5",
        "insert into r values ('[1,2]')",
    ] {
        assert_eq!(reader.run(sql).error.map(|e| e.0).as_deref(), Some("42501"), "{sql}");
    }
}
