//! Is text search PostgreSQL's?
//!
//! Scripts run statement by statement here and in a private PostgreSQL 15 (a Debian package): texts of tsvector and tsquery,
//! functions and operators, configurations, tables with generated columns and indexes. The tag, the rows, their columns' names,
//! SQLSTATE, message and detail must be the same. Indexes and scans by chance: `tests/gin.rs`.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use support::{Fixture, Talk, texts};

const VALUES: &str = include_str!("../testdata/search/values.sql");
const TABLES: &str = include_str!("../testdata/search/tables.sql");

#[test]
fn values_are_as_in_postgresql() {
    compared::compare(VALUES);
}

#[test]
fn tables_are_as_in_postgresql() {
    compared::compare(TABLES);
}

#[test]
fn what_is_not_served_says_so() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for statement in [
        "SELECT to_tsvector('german', 'Häuser')",
        "SELECT ts_headline('a', 'a')",
        "CREATE TABLE t (v tsvector PRIMARY KEY)",
        "SELECT ts_rewrite('a'::tsquery, 'a'::tsquery, 'b'::tsquery)",
    ] {
        let outcome = talk.run(statement);
        assert_eq!(outcome.error.as_ref().map(|e| e.0.as_str()), Some("0A000"), "{statement}");
    }
}

#[test]
fn columns_and_indexes_survive_a_restart() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let open = || Fixture::at(dir.path());
    let ask = |talk: &mut Talk| {
        let mut out = talk.lines(&[
            "select id, tsv, q from doc order by id",
            "select id from doc where tsv @@ to_tsquery('english', 'cats & number') and id < 40 order by id",
            "select count(*) from doc where tsv @@ 'nu:*'",
            "select id from doc where to_tsvector('simple', body) @@ '7 <-> cats'",
        ]);
        let plan = texts(&talk.rows("explain select id from doc where tsv @@ 'cat & 77'"));
        out.push(plan.iter().any(|line| line.contains("using doc_tsv")).to_string());
        out
    };
    let before = {
        let mut talk = open().session();
        for sql in [
            "create table doc (id bigint primary key, body text, q tsquery default 'a <-> b:*A', \
             tsv tsvector generated always as (to_tsvector('english', body)) stored)",
            "create index doc_tsv on doc using gin (tsv)",
            "create index on doc using gin (to_tsvector('simple', body))",
            "insert into doc (id, body) select n, 'the number ' || n || ' cats' \
             from generate_series(1, 300) n",
            "checkpoint",
            "update doc set body = 'no animal' where id % 3 = 0",
            "delete from doc where id % 7 = 0",
        ] {
            talk.rows(sql);
        }
        ask(&mut talk)
    };
    assert_eq!(before.last().map(String::as_str), Some("true"), "the index is used");
    assert_eq!(ask(&mut open().session()), before);
}
