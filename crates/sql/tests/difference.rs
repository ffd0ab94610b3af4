//! Do ranges of `ctid` lead from what a table held to what it holds, and who may ask for them?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use support::{Fixture, Talk, texts};

const NEWEST: &str = "select commit_number from onlap_stat.commits";

fn one(talk: &mut Talk, sql: &str) -> String {
    talk.rows(sql)[0][0].clone().unwrap_or_default()
}

fn state(talk: &mut Talk, sql: &str) -> String {
    talk.run(sql).error.unwrap_or_else(|| panic!("{sql} was not refused")).0
}

#[test]
fn ranges_name_what_was_inserted_deleted_and_changed_in_its_place() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table t (id int primary key, n int) with (history = '1 hour')");
    talk.rows("insert into t select i, 0 from generate_series(1, 1000) i");
    let since = one(&mut talk, NEWEST);
    talk.rows("delete from t where id between 101 and 200");
    talk.rows("update t set n = 1 where id between 301 and 310");
    talk.rows("update t set id = 5000 where id = 7");
    talk.rows("insert into t select i, 0 from generate_series(2001, 2500) i");
    let upto = one(&mut talk, NEWEST);
    let changes = format!("onlap.changes('t', {since})");
    let found = talk.rows(&format!("select change, first_ctid, last_ctid, upto from {changes}"));
    let expected = [
        format!("delete|(0,7)|(0,7)|{upto}"),
        format!("delete|(0,101)|(0,200)|{upto}"),
        format!("update|(1,45)|(1,54)|{upto}"),
        format!("insert|(3,233)|(5,221)|{upto}"),
    ];
    assert_eq!(texts(&found), expected);
    // The ranges read what there was and what there is.
    let old = format!(
        "select count(*), sum(id), sum(n) from t as of commit {since} \
         where ctid between '(0,101)' and '(0,200)'"
    );
    assert_eq!(texts(&talk.rows(&old)), ["100|15050|0"]);
    let new = "select count(*), max(id) from t where ctid between '(3,233)' and '(5,221)'";
    assert_eq!(texts(&talk.rows(new)), ["501|5000"]);
    // A transaction is told of what it sees, and not of its own changes.
    talk.rows("begin isolation level repeatable read");
    talk.rows("select 1 from t limit 1");
    fixture.session().rows("delete from t where id > 2000");
    talk.rows("insert into t values (-1, 0)");
    assert_eq!(talk.rows(&format!("select change from {changes}")).len(), expected.len());
    talk.rows("rollback");
    assert_eq!(one(&mut talk, &format!("select count(*) from onlap.changes('t', {upto})")), "1");
}

#[test]
fn what_cannot_be_told_is_refused() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table t (id int primary key, n int) with (history = '1 hour')");
    talk.rows("create table plain (id int)");
    talk.rows("create table parts (id int) partition by range (id)");
    let since = one(&mut talk, NEWEST);
    talk.rows("insert into t values (1, 1)");
    talk.rows("insert into plain values (1)");
    for (of, expected) in [
        (format!("'plain', {since}"), "72000"),
        (format!("'parts', {since}"), "0A000"),
        ("'absent', 1".to_owned(), "42P01"),
        ("1, 1".to_owned(), "42P01"),
        ("'t', -1".to_owned(), "22023"),
        (format!("'t', {since} + 1000"), "22023"),
    ] {
        assert_eq!(
            state(&mut talk, &format!("select * from onlap.changes({of})")),
            expected,
            "{of}"
        );
    }
    assert!(talk.rows("select * from onlap.changes(null, 1)").is_empty());
    talk.rows("create role reader; grant select (id) on t to reader");
    talk.rows("set role reader");
    let changes = format!("select count(*) from onlap.changes('t', {since})");
    assert_eq!(state(&mut talk, &changes), "42501", "one column is not the table");
    talk.rows("reset role; grant select on t to reader");
    talk.rows("set role reader");
    assert_eq!(one(&mut talk, &changes), "1");
}

/// Ranges would tell of rows that policies hide.
#[test]
fn whom_policies_count_for_is_refused() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create role reader; create role passer bypassrls; create role owner");
    talk.rows("create table t (id int primary key, n int) with (history = '1 hour')");
    talk.rows("alter table t owner to owner; grant select on t to reader, passer");
    let since = one(&mut talk, NEWEST);
    talk.rows("insert into t values (1, 1), (2, 1)");
    let changes = format!("select count(*) from onlap.changes('t', {since})");
    talk.rows("create policy low on t using (id < 2)");
    let told = |talk: &mut Talk, role: &str| {
        talk.rows(&format!("set role {role}"));
        let told = talk.run(&changes);
        talk.rows("reset role");
        told.error.map_or_else(|| texts(&told.rows).join(" "), |error| error.0)
    };
    assert_eq!(told(&mut talk, "reader"), "1", "policies are there, and do not count");
    talk.rows("alter table t enable row level security");
    assert_eq!(told(&mut talk, "reader"), "0A000");
    for role in ["passer", "owner", "postgres"] {
        assert_eq!(told(&mut talk, role), "1", "{role}");
    }
    talk.rows("alter table t force row level security");
    assert_eq!(told(&mut talk, "owner"), "0A000");
    assert_eq!(told(&mut talk, "postgres"), "1");
    talk.rows("set row_security = off");
    assert_eq!(told(&mut talk, "reader"), "42501");
}

/// Every second row went: as many ranges as rows that went, which a small budget has no room for.
#[test]
fn ranges_are_charged_before_they_are_made() {
    let count = |memory: u64| {
        let fixture = Fixture::with(false, memory);
        let mut talk = fixture.session();
        talk.rows("create table t (id int primary key) with (history = '1 hour')");
        talk.rows("insert into t select i from generate_series(1, 240000) i");
        let since = one(&mut talk, NEWEST);
        // No transaction may change much where the budget is small.
        for from in (0..240_000).step_by(20_000) {
            let to = from + 20_000;
            talk.rows(&format!("delete from t where id % 2 = 0 and id > {from} and id <= {to}"));
        }
        let found = talk.run(&format!("select count(*) from onlap.changes('t', {since})"));
        found.error.map_or_else(|| texts(&found.rows).join(" "), |error| error.0)
    };
    assert_eq!(count(256 << 20), "120000");
    assert_eq!(count(32 << 20), "53200");
}
