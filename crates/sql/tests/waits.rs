//! Which statements wait, for how long and with how much memory, and which are refused rather than do half of what they say?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use onlap_sql::{Session, SessionInfo};
use support::{Fixture, Talk};

fn state(talk: &mut Talk, sql: &str) -> String {
    talk.run(sql).error.unwrap_or_else(|| panic!("{sql} is refused")).0
}

fn filled() -> Fixture {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table t (id int primary key, a int, b text) with (history = '1h')");
    talk.rows("insert into t values (1, 10, 'x'), (2, 20, 'y'), (3, 20, 'z')");
    fixture
}

#[test]
fn a_wait_for_a_lock_ends_with_its_time() {
    let fixture = filled();
    let (mut first, mut second) = (fixture.session(), fixture.session());
    first.rows("begin");
    assert_eq!(first.rows("select id from t where id = 1 for update").len(), 1);
    second.rows("set lock_timeout = '30ms'");
    assert_eq!(state(&mut second, "update t set a = 1 where id = 1"), "55P03");
    second.rows("set lock_timeout = 0");
    second.rows("set statement_timeout = '30ms'");
    let error = second.run("update t set a = 1 where id = 1").error.expect("it is too late");
    assert_eq!(error.0, "57014", "{error:?}");
    assert!(error.1.contains("statement timeout"), "{error:?}");
    first.rows("commit");
    second.rows("update t set a = 1 where id = 1");
}

#[test]
fn a_query_ends_with_its_time_and_the_next_has_its_own() {
    let fixture = filled();
    let mut talk = fixture.session();
    talk.rows("set statement_timeout = '300ms'");
    let long = "select count(*) from generate_series(1, 20000) a, generate_series(1, 20000) b \
                where a.a <> b.b";
    assert_eq!(state(&mut talk, long), "57014");
    assert_eq!(talk.rows("select 1").len(), 1);
}

#[test]
fn idle_sessions_have_the_time_that_settings_give() {
    let fixture = filled();
    let mut talk = fixture.session();
    assert!(talk.session.idle_limit().is_none());
    talk.rows("set idle_session_timeout = '2s'");
    talk.rows("set idle_in_transaction_session_timeout = '1s'");
    let (time, error) = talk.session.idle_limit().expect("a limit");
    assert_eq!((time.as_millis(), error.state()), (2000, "57P05"));
    talk.rows("begin");
    let (time, error) = talk.session.idle_limit().expect("a limit");
    assert_eq!((time.as_millis(), error.state()), (1000, "25P03"));
}

#[test]
fn rows_are_locked_or_the_query_is_refused() {
    let fixture = filled();
    for path in ["on", "off"] {
        let (mut first, mut second) = (fixture.session(), fixture.session());
        for talk in [&mut first, &mut second] {
            talk.rows(&format!("set fast_path = {path}"));
        }
        // No index finds these.
        first.rows("begin");
        assert_eq!(first.rows("select id from t where a = 20 order by b desc for update").len(), 2);
        let skipping = "select id from t where a = 20 for update skip locked";
        assert!(second.rows(skipping).is_empty());
        first.rows("rollback");
        assert_eq!(second.rows(skipping).len(), 2);
        let join = "select x.id from t x join t y on x.id = y.a for update";
        assert!(second.rows(join).is_empty());
    }
}

#[test]
fn the_past_is_only_read() {
    let fixture = filled();
    let mut talk = fixture.session();
    assert_eq!(state(&mut talk, "delete from t as of 3"), "0A000");
    assert_eq!(state(&mut talk, "select id from t as of 3 where id = 1 for update"), "0A000");
    assert_eq!(talk.rows("select id from t").len(), 3);
}

#[test]
fn who_is_refused_leaves_nothing_behind() {
    let fixture = filled();
    let info = SessionInfo {
        user: "postgres".into(),
        settings: vec![("statement_timeout".into(), "soon".into())],
        ..SessionInfo::default()
    };
    assert!(Session::new(&fixture.instance, info).is_err());
    let mut talk = fixture.session();
    let there = talk.rows("select pid from pg_stat_activity");
    assert_eq!(there.len(), 1, "{there:?}");
}

#[test]
fn a_query_that_needs_more_memory_than_its_limit_spills_or_ends() {
    let fixture = filled();
    let mut talk = fixture.session();
    let sorted = "select count(*) from (select row_number() over (order by a * 101 % 100003, a) n \
                  from generate_series(1, 400000) g(a)) q";
    let joined = "select count(*) from generate_series(1, 300000) x(a) \
                  join generate_series(1, 300000) y(b) on a = b";
    for sql in [sorted, joined] {
        assert_eq!(talk.rows(sql).len(), 1, "{sql}");
    }
    talk.rows("set query_memory_limit = '1MB'");
    let outcome = talk.run(joined);
    let (state, text) = outcome.error.expect("a megabyte does not do");
    assert_eq!(state, "53200", "{text}");
    // The session goes on, and what can spill does.
    assert_eq!(talk.rows("select 1").len(), 1);
    talk.rows("set query_memory_limit = '8MB'");
    assert_eq!(talk.rows(sorted)[0][0].as_deref(), Some("400000"));
    let counted = "select count(distinct md5(a::text)) from generate_series(1, 400000) g(a)";
    assert_eq!(talk.rows(counted)[0][0].as_deref(), Some("400000"));
    talk.rows("reset query_memory_limit");
    assert_eq!(talk.rows(joined)[0][0].as_deref(), Some("300000"));
}

#[test]
fn a_snapshot_is_taken_by_the_first_statement_that_sees_rows() {
    for level in ["repeatable read", "serializable"] {
        let fixture = filled();
        let (mut first, mut second) = (fixture.session(), fixture.session());
        first.rows(&format!("begin isolation level {level}"));
        for before in ["savepoint s", "set lock_timeout = '9s'", "show timezone"] {
            first.rows(before);
        }
        second.rows("insert into t values (4, 40, 'v')");
        assert_eq!(first.rows("select count(*) from t")[0][0].as_deref(), Some("4"), "{level}");
        second.rows("insert into t values (5, 50, 'w')");
        assert_eq!(first.rows("select count(*) from t")[0][0].as_deref(), Some("4"), "{level}");
        first.rows("update t set a = 0 where id = 4");
        first.rows("rollback to s");
        assert_eq!(first.rows("select a from t where id >= 4")[0][0].as_deref(), Some("40"));
        first.rows("commit");
    }
}

/// Waits until one session more waits for a lock.
fn until_waiting(fixture: &Fixture, before: u64) {
    while lock_waits(fixture) == before {
        std::thread::yield_now();
    }
}

fn lock_waits(fixture: &Fixture) -> u64 {
    fixture.instance.database().stats().expect("statistics").transactions.lock_waits
}

#[test]
fn a_changed_row_meets_the_conditions_again() {
    let fixture = filled();
    let mut first = fixture.session();
    for path in ["on", "off"] {
        for (sql, tag) in [
            ("update t set b = 'wrong' where id = 9 and a = 90", "UPDATE 0"),
            ("delete from t where id = 9 and b = 'n'", "DELETE 0"),
            ("update t set b = 'right' where id = 9 and a >= 90", "UPDATE 1"),
            ("delete from t where id = 9 and b <> 'k'", "DELETE 1"),
        ] {
            first.rows(
                "insert into t values (9, 90, 'n') on conflict (id) do update set a = 90, b = 'n'",
            );
            first.rows("begin");
            first.rows("update t set a = 91, b = 'm' where id = 9");
            let mut second = fixture.session();
            second.rows(&format!("set fast_path = {path}"));
            let before = lock_waits(&fixture);
            let wait = std::thread::spawn(move || second.run(sql));
            until_waiting(&fixture, before);
            first.rows("commit");
            let outcome = wait.join().expect("it ends");
            assert_eq!(outcome.tags, [tag], "{sql}, fast_path {path}: {:?}", outcome.error);
        }
    }
}

#[test]
fn who_waits_for_a_lock_lets_its_holder_query() {
    // A database that may take the whole machine leaves room for one query at a time.
    let fixture = Fixture::with(false, onlap_base::memory::machine_bytes());
    let mut first = fixture.session();
    first.rows("create table t (id int primary key, a int)");
    first.rows("insert into t values (1, 10), (2, 20)");
    first.rows("begin");
    first.rows("update t set a = 11 where id = 1");
    let mut second = fixture.session();
    let before = lock_waits(&fixture);
    let wait = std::thread::spawn(move || second.run("update t set a = a * 2 where a / 1 = 10"));
    until_waiting(&fixture, before);
    let sums = first.rows("select a % 2, sum(a * id) from t group by 1 order by 1");
    assert_eq!(sums.len(), 2);
    first.rows("commit");
    assert_eq!(wait.join().expect("it ends").tags, ["UPDATE 0"]);
}
