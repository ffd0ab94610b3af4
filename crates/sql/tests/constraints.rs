//! Are constraints judged when PostgreSQL judges them, and with its words?
//!
//! Scripts run statement by statement here and in a private PostgreSQL 15 (a Debian package). The tag, the rows, their
//! columns' names, SQLSTATE, message, detail and constraint must be the same; the order of rows is not compared.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use onlap::{Database, Options, SyncMode};
use onlap_sql::Instance;
use support::Fixture;

#[test]
fn foreign_keys_that_are_put_off() {
    compared::compare(include_str!("../testdata/constraints/deferred_keys.sql"));
}

#[test]
fn foreign_keys_and_checks_of_every_kind() {
    compared::compare(include_str!("../testdata/constraints/foreign_keys.sql"));
}

#[test]
fn rows_of_one_insert_may_refer_to_each_other() {
    compared::compare(include_str!("../testdata/constraints/rows_together.sql"));
}

/// What was declared, and how rows broke it.
#[test]
fn rules_are_the_same_after_a_reopen() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let open = || {
        let options = Options::default().sync(SyncMode::Os).memory_limit(256 << 20);
        let db = Database::open(dir.path(), options).expect("it opens");
        Fixture::of(Instance::open(db).expect("the catalog is as it was"))
    };
    const SHOWN: &str = "select conname, contype, condeferrable, condeferred, convalidated, connoinherit, \
        pg_get_constraintdef(oid) from pg_constraint where conrelid in ('c'::regclass, 'p'::regclass) order by 1";
    let before = {
        let fixture = open();
        let mut talk = fixture.session();
        talk.rows("create table p (a int, b int, primary key (a, b), unique (b) include (a))");
        talk.rows(
            "create table c (a int default 1, b int default 2, k int unique deferrable, n int)",
        );
        talk.rows("insert into c values (9, 9, 1, -1)");
        talk.rows("alter table c add constraint f foreign key (a, b) references p match full \
                   on delete set default (b) on update restrict deferrable initially deferred not valid");
        talk.rows("alter table c add constraint positive check (n > 0) no inherit not valid");
        talk.rows("create unique index on c (n) nulls not distinct");
        talk.rows(SHOWN)
    };
    let fixture = open();
    let mut talk = fixture.session();
    assert_eq!(talk.rows(SHOWN), before);
    let state = |talk: &mut support::Talk, sql: &str| talk.run(sql).error.map(|e| e.0);
    assert_eq!(state(&mut talk, "insert into c values (8, 8, 2, 2)").as_deref(), Some("23503"));
    assert_eq!(state(&mut talk, "update c set k = 5").as_deref(), Some("23514"));
    assert_eq!(state(&mut talk, "alter table c validate constraint f").as_deref(), Some("23503"));
    talk.rows("begin");
    talk.rows("insert into c values (1, 2, 3, null)");
    talk.rows("insert into p values (1, 2)");
    talk.rows("commit");
    let twice = "insert into c (k, n) values (4, null)";
    assert_eq!(state(&mut talk, twice).as_deref(), Some("23505"));
    assert_eq!(talk.rows("update c set k = k + 1 where k = 3").len(), 0);
    talk.rows("delete from c where n < 0");
    talk.rows("alter table c validate constraint f");
    talk.rows("alter table c validate constraint positive");
}

#[test]
fn unique_keys_that_are_judged_by_a_look_at_the_rows() {
    compared::compare(include_str!("../testdata/constraints/unique.sql"));
}
