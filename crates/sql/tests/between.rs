//! Do sessions keep each other out, and wait for each other, as PostgreSQL's do: advisory locks, LOCK TABLE, channels?
//!
//! Scripts of several sessions run statement by statement here and in a private PostgreSQL 15 (a Debian package). The tag, the
//! rows, SQLSTATE, the message and warnings must be the same.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use onlap_testkit::postgres::{NEEDED, Postgres};
use onlap_testkit::programs;
use onlap_testkit::simple::{Outcome, SimpleClient};
use support::{Fixture, Talk};

fn shown(outcome: Outcome) -> String {
    let Outcome { tags, error, rows, notices, .. } = outcome;
    format!("{tags:?} {error:?} {rows:?} {notices:?}")
}

/// Statements whose answers differ.
fn differences(script: &str) -> Vec<String> {
    let (postgres, fixture) = (Postgres::start(), Fixture::new(false));
    let mut theirs: BTreeMap<&str, SimpleClient> = BTreeMap::new();
    let mut ours: BTreeMap<&str, Talk> = BTreeMap::new();
    let mut differ = Vec::new();
    // The names of the snapshots that were exported last, here and there.
    let mut names = [String::new(), String::new()];
    for line in script.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (session, sql) = line.split_once(": ").expect("a session and a statement");
        if sql == "end" {
            ours.remove(session);
            theirs.remove(session);
            // It cleans up after the client is gone.
            std::thread::sleep(Duration::from_millis(300));
            continue;
        }
        let new = || SimpleClient::connect(postgres.port(), "postgres", "postgres");
        let client = theirs.entry(session).or_insert_with(|| new().expect("it is there"));
        let texts = names.each_ref().map(|name| sql.replace("$snapshot", name));
        let mut other = client.run(&texts[1]).expect("PostgreSQL answers");
        let mut own = ours.entry(session).or_insert_with(|| fixture.session()).run(&texts[0]);
        if sql.ends_with("pg_export_snapshot()") {
            let name = |outcome: &mut Outcome| {
                let cell = outcome.rows.first_mut().and_then(|row| row.first_mut());
                cell.and_then(Option::take).unwrap_or_default()
            };
            names = [name(&mut own), name(&mut other)];
        }
        let hidden = |shown: String, name: &String| match name.is_empty() {
            true => shown,
            false => shown.replace(name, "$snapshot"),
        };
        let (own, other) = (hidden(shown(own), &names[0]), hidden(shown(other), &names[1]));
        if own != other {
            differ.push(format!("{line}\n  ours   {own}\n  theirs {other}"));
        }
    }
    differ
}

fn same(script: &str) {
    if !programs::are_there(&NEEDED) {
        return;
    }
    let differ = differences(script);
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn snapshots_are_taken_over_as_in_postgresql() {
    same(include_str!("../testdata/exported.sessions"));
}

#[test]
fn numbers_are_locked_and_channels_listened_to_as_in_postgresql() {
    same(include_str!("../testdata/between.sessions"));
}

fn waits(fixture: &Fixture) -> usize {
    let mut talk = fixture.session();
    let waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted";
    let rows = talk.rows(waiting);
    rows[0][0].as_deref().and_then(|n| n.parse().ok()).expect("a number")
}

fn until(what: &str, is: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Many more wait than queries may work at a time: who has the lock can still give it back.
#[test]
fn who_waits_for_a_number_keeps_no_other_query_back() {
    let fixture = Fixture::new(false);
    let mut first = fixture.session();
    first.rows("select pg_advisory_lock(1)");
    std::thread::scope(|scope| {
        for _ in 0..80 {
            let mut talk = fixture.session();
            scope.spawn(move || {
                let sql = "select count(pg_advisory_lock(n)) from (values (1)) as v (n)";
                assert_eq!(talk.rows(sql).len(), 1);
                talk.rows("select pg_advisory_unlock(1)");
            });
        }
        until("all wait", || waits(&fixture) == 80);
        first.rows("select pg_advisory_unlock(1)");
    });
    assert_eq!(waits(&fixture), 0);
    assert!(fixture.session().rows("select from pg_locks").is_empty(), "none is left");
}

#[test]
fn a_wait_for_a_number_ends_when_it_is_not_wanted() {
    let fixture = Fixture::new(false);
    let mut first = fixture.session();
    first.rows("select pg_advisory_lock(1)");
    let mut second = fixture.session();
    second.rows("set statement_timeout = '50ms'");
    let (state, text) = second.run("select pg_advisory_lock(1)").error.expect("it is late");
    assert_eq!(
        (state.as_str(), text.as_str()),
        ("57014", "canceling statement due to statement timeout")
    );
    second.rows("set statement_timeout = 0");
    let key = second.session.key();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| second.run("select pg_advisory_lock_shared(1)"));
        until("it waits", || waits(&fixture) == 1);
        fixture.instance.cancel(key);
        let error = waiting.join().expect("it ends").error.expect("it was cancelled");
        assert_eq!(error.0, "57014");
    });
    assert_eq!(waits(&fixture), 0);
}

/// A lock of a row and one of a number: the one that comes last is told, whether the number is the session's or the transaction's.
#[test]
fn a_circle_over_rows_and_numbers_is_found() {
    let fixture = Fixture::new(false);
    let mut first = fixture.session();
    first.rows("create table t (a int primary key, b int)");
    first.rows("insert into t values (1, 0)");
    for held in ["select pg_advisory_lock(1)", "begin; select pg_advisory_xact_lock(1)"] {
        let mut second = fixture.session();
        first.rows("begin");
        first.rows("update t set b = b + 1");
        second.rows(held);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| first.run("select pg_advisory_lock(1)"));
            until("it waits", || waits(&fixture) == 1);
            let error = second.run("update t set b = 5").error.expect("a circle");
            assert_eq!(error, ("40P01".into(), "deadlock detected".into()));
            second.rows("rollback");
            second.rows("select pg_advisory_unlock_all()");
            assert_eq!(waiting.join().expect("it ends").error, None);
        });
        first.rows("rollback");
        first.rows("select pg_advisory_unlock_all()");
    }
}

/// A statement that began anew because it met a locked row has its numbers once.
#[test]
fn a_number_is_counted_once_by_a_statement_that_began_anew() {
    let fixture = Fixture::new(false);
    let (mut first, mut second) = (fixture.session(), fixture.session());
    first.rows("create table t (a int primary key, b int)");
    first.rows("insert into t values (1, 0), (2, 0)");
    second.rows("set fast_path = off");
    first.rows("begin");
    first.rows("update t set b = 1 where a = 2");
    std::thread::scope(|scope| {
        let locking = "select b, pg_advisory_lock(a) from t order by a for update";
        let waiting = scope.spawn(|| second.run(locking));
        std::thread::sleep(Duration::from_millis(300));
        first.rows("commit");
        assert_eq!(waiting.join().expect("it ends").error, None);
    });
    second.rows("select pg_advisory_unlock(1), pg_advisory_unlock(2)");
    assert!(second.rows("select from pg_locks").is_empty());
}

#[test]
fn numbers_are_bounded_and_belong_to_their_database() {
    let fixture = Fixture::new(false);
    let mut first = fixture.session();
    first.rows("create database other");
    let mut other = fixture.session_in("postgres", "other");
    first.rows("select pg_advisory_lock(1)");
    assert_eq!(other.rows("select pg_try_advisory_lock(1)")[0][0].as_deref(), Some("t"));
    let many = "select count(pg_advisory_lock(g)) from generate_series(2, 20000) g";
    let error = first.run(many).error.expect("they are too many");
    assert_eq!((error.0.as_str(), error.1.as_str()), ("53200", "out of shared memory"));
    first.rows("select pg_advisory_unlock_all()");
    assert_eq!(first.rows("select pg_try_advisory_lock(2)")[0][0].as_deref(), Some("t"));
}

#[test]
fn notifications_are_bounded() {
    let fixture = Fixture::new(false);
    let (mut first, mut reader) = (fixture.session(), fixture.session());
    reader.rows("listen c");
    reader.rows("begin");
    reader.rows("select 1");
    let many =
        "select count(pg_notify('c', g || repeat('x', 1000))) from generate_series(1, 1000) g";
    let last = (0..20).find_map(|_| first.run(many).error);
    let (state, text) = last.expect("they are too many");
    assert_eq!(
        (state.as_str(), text.as_str()),
        ("54000", "too many notifications in the NOTIFY queue")
    );
    reader.rows("commit");
    assert_eq!(first.rows("select pg_notification_queue_usage()")[0][0].as_deref(), Some("0"));
    first.rows(many);
}

/// What a transaction has not committed takes its own memory, and is refused at its commit where it is too much.
#[test]
fn who_notifies_of_much_keeps_no_other_from_it() {
    let fixture = Fixture::new(false);
    let (mut first, mut second) = (fixture.session(), fixture.session());
    let mut reader = fixture.session();
    reader.rows("listen c");
    first.rows("begin");
    for part in 0..10 {
        let many = "select count(pg_notify('c', g || repeat('x', 1000)))";
        first.rows(&format!("{many} from generate_series({part}001, {part}999) g"));
    }
    second.rows("notify c, 'other'");
    first.rows("savepoint s");
    first.rows("notify c, 'more'");
    first.rows("rollback to s");
    let error = first.run("commit").error.expect("they are too many");
    assert_eq!(error.0, "54000");
    assert_eq!(
        first.rows("select pg_notification_queue_usage() < 0.01")[0][0].as_deref(),
        Some("t")
    );
    first.rows("begin");
    let many = "select count(pg_notify('c', g || repeat('x', 7000)))";
    let all = format!("{many} from generate_series(1, 100000) g");
    let (state, text) = first.run(&all).error.expect("there is no such room");
    assert_eq!(state, "54000");
    assert!(text.starts_with("the transaction's changes would take"), "{text}");
    first.rows("rollback");
    first.rows("notify c, 'again'");
}

#[test]
fn one_that_does_not_read_keeps_no_other_channel_back() {
    let fixture = Fixture::new(false);
    let (mut first, mut slow, mut other) =
        (fixture.session(), fixture.session(), fixture.session());
    slow.rows("listen c");
    other.rows("listen d");
    slow.rows("begin");
    slow.rows("select 1");
    let many =
        "select count(pg_notify('c', g || repeat('x', 1000))) from generate_series(1, 500) g";
    let error = (0..50).find_map(|_| first.run(many).error).expect("it has too much to read");
    assert_eq!(error.0, "54000");
    for _ in 0..50 {
        first.rows(&many.replace("'c'", "'d'"));
        other.rows("select 1");
    }
    slow.rows("rollback");
    first.rows(many);
}

/// A commit that waits for another transaction keeps no notification of others back.
#[test]
fn a_commit_that_waits_holds_no_notification_back() {
    let fixture = Fixture::new(false);
    let (mut first, mut second, mut third) =
        (fixture.session(), fixture.session(), fixture.session());
    let mut reader = fixture.session();
    first.rows("create table t (a int unique deferrable initially deferred)");
    reader.rows("listen c");
    reader.rows("begin");
    first.rows("begin");
    first.rows("insert into t values (1)");
    first.rows("set constraints all immediate");
    second.rows("begin");
    second.rows("insert into t values (1)");
    second.rows("notify c, 'of second'");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| second.run("commit"));
        std::thread::sleep(Duration::from_millis(200));
        assert!(!waiting.is_finished());
        third.rows("notify c, 'of third'");
        let used = "select pg_notification_queue_usage() > 0";
        assert_eq!(third.rows(used)[0][0].as_deref(), Some("t"));
        reader.rows("commit");
        assert_eq!(third.rows(used)[0][0].as_deref(), Some("f"), "it was delivered");
        first.rows("rollback");
        assert_eq!(waiting.join().expect("it ends").error, None);
    });
}

/// Who has written to a table goes on with it, while another waits to lock it.
#[test]
fn who_has_written_goes_before_who_waits_to_lock() {
    let fixture = Fixture::new(false);
    let mut first = fixture.session();
    first.rows("create table t (a int primary key, b int)");
    for path in ["on", "off"] {
        first.rows(&format!("set fast_path = {path}"));
        for began in ["insert into t values (1, 1)", "alter table t alter b set default 3"] {
            let mut second = fixture.session();
            first.rows("begin");
            first.rows(began);
            second.rows("begin");
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| second.run("lock table t"));
                std::thread::sleep(Duration::from_millis(150));
                assert!(!waiting.is_finished());
                for sql in [
                    "insert into t values (2, 2)",
                    "update t set b = 5 where a = 2",
                    "update t set b = b + 1",
                    "select count(*) from t",
                    "select b from t where a = 2 for update",
                    "delete from t",
                ] {
                    assert_eq!(first.run(sql).error, None, "{sql}");
                }
                if began.starts_with("alter") {
                    assert_eq!(first.run("alter table t alter b set default 4").error, None);
                    assert_eq!(first.run("truncate t").error, None);
                }
                first.rows("commit");
                assert_eq!(waiting.join().expect("it ends").error, None);
            });
            second.rows("commit");
        }
    }
}

/// LOCK TABLE waits for who has dropped the table, and takes what has its name then.
#[test]
fn a_table_that_was_dropped_is_waited_for() {
    let fixture = Fixture::new(false);
    let mut first = fixture.session();
    let missing = Some(("42P01".to_string(), "relation \"t\" does not exist".to_string()));
    let cases = [
        ("drop table t", "commit", missing.clone()),
        ("drop table t", "rollback", None),
        ("drop table t; create table t (b int)", "commit", None),
        ("alter table t rename to u", "commit", missing),
        ("savepoint s; drop table t; rollback to s", "commit", None),
    ];
    for level in ["read committed", "repeatable read"] {
        for (change, end, expected) in &cases {
            first.rows("drop table if exists t, u");
            first.rows("create table t (a int)");
            let mut second = fixture.session();
            second.rows(&format!("begin isolation level {level}"));
            first.rows("begin");
            for part in change.split("; ") {
                first.rows(part);
            }
            let waits = !change.starts_with("savepoint");
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| second.run("lock table t in access share mode"));
                std::thread::sleep(Duration::from_millis(150));
                assert_eq!(waiting.is_finished(), !waits, "{change}");
                first.rows(end);
                let error = waiting.join().expect("it ends").error;
                assert_eq!(error, *expected, "{change}; {end} at {level}");
            });
            if expected.is_none() {
                first.rows("begin");
                let refused = first.run("lock table t in access exclusive mode nowait").error;
                assert_eq!(refused.is_some(), second.run("select 1").error.is_none(), "{change}");
                first.rows("rollback");
            }
            second.rows("rollback");
        }
    }
}

#[test]
fn tables_are_locked_as_in_postgresql() {
    same(include_str!("../testdata/lock_table.sessions"));
}

/// Every mode against every other, and against who writes: as PostgreSQL's table has it.
#[test]
fn modes_of_tables_go_together_as_in_postgresql() {
    let modes = [
        "access share",
        "row share",
        "row exclusive",
        "share update exclusive",
        "share",
        "share row exclusive",
        "exclusive",
        "access exclusive",
    ];
    let mut script = "a: create table t (a int)\nb: set lock_timeout = '60ms'\n".to_string();
    for one in modes {
        for other in modes {
            script += &format!(
                "a: begin\na: lock table t in {one} mode\nb: begin\n\
                 b: lock table t in {other} mode nowait\nb: rollback\na: rollback\n"
            );
        }
        script += &format!("a: begin\na: lock table t in {one} mode\n");
        // What the waiting one is told differs in words, not in its state: it is asked for nothing here.
        script += "b: do $$ begin insert into t values (1); exception when lock_not_available then raise notice 'late'; end $$\n";
        script += "b: do $$ begin perform a from t; exception when lock_not_available then raise notice 'late'; end $$\n";
        script += "a: rollback\n";
    }
    same(&script);
}

/// Who writes waits for a table that is locked, and sees what was committed before it was let in.
#[test]
fn who_waited_for_a_table_sees_what_was_written() {
    let fixture = Fixture::new(false);
    let mut first = fixture.session();
    first.rows("create table t (a int primary key, b int)");
    first.rows("insert into t values (1, 1)");
    let statements = [
        ("insert into t values (3, 3)", "exclusive"),
        ("insert into t select max(a) + 1, 0 from t", "share"),
        ("update t set b = 10 where b < 10", "share row exclusive"),
        ("select count(*) from t", "access exclusive"),
        ("delete from t where b = 10", "exclusive"),
        ("alter table t add c int", "share"),
        ("truncate t", "access share"),
    ];
    for path in ["on", "off"] {
        for (at, (sql, mode)) in statements.into_iter().enumerate() {
            let mut second = fixture.session();
            second.rows(&format!("set fast_path = {path}"));
            let sql = if path == "off" { sql.replace("add c", "add d") } else { sql.to_string() };
            first.rows("begin");
            first.rows(&format!("lock table t in {mode} mode"));
            first.rows(&format!("insert into t (a, b) values ({}, 5)", 100 * (at + 1)));
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| second.run(&sql));
                std::thread::sleep(Duration::from_millis(150));
                assert!(!waiting.is_finished(), "{sql}");
                first.rows("commit");
                let outcome = waiting.join().expect("it ends");
                assert_eq!(outcome.error, None, "{sql}");
            });
            if sql.starts_with("update") {
                assert!(first.rows("select from t where b < 10").is_empty());
            }
        }
        first.rows("delete from t");
    }
    assert!(first.rows("select from pg_locks").is_empty());
}

#[test]
fn a_circle_over_tables_is_found() {
    let fixture = Fixture::new(false);
    let (mut first, mut second) = (fixture.session(), fixture.session());
    first.rows("create table t (a int)");
    first.rows("create table u (a int)");
    first.rows("begin");
    second.rows("begin");
    first.rows("insert into t values (1)");
    second.rows("lock table u in share mode");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| first.run("insert into u values (1)"));
        std::thread::sleep(Duration::from_millis(200));
        let error = second.run("lock table t in exclusive mode").error.expect("a circle");
        assert_eq!(error, ("40P01".into(), "deadlock detected".into()));
        second.rows("rollback");
        assert_eq!(waiting.join().expect("it ends").error, None);
    });
    first.rows("commit");
    assert_eq!(first.rows("select from t, u").len(), 1);
}
