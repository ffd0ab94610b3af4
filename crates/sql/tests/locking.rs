//! Which rows do queries with FOR UPDATE lock, in which order do they come, and when are they read?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use support::{Fixture, Talk};

fn filled() -> Fixture {
    let fixture = Fixture::with(false, 64 << 20);
    let mut talk = fixture.session();
    talk.rows("create table t (id int primary key, a int, b text)");
    talk.rows(
        "insert into t select g, (g * 7919) % 100003, repeat('x', 60) || g from generate_series(1, 60000) g",
    );
    fixture
}

fn state(talk: &mut Talk, sql: &str) -> Option<String> {
    talk.run(sql).error.map(|error| error.0)
}

#[test]
fn a_cursor_locks_its_rows() {
    let fixture = filled();
    let (mut a, mut b) = (fixture.session(), fixture.session());
    a.rows("begin");
    a.rows("declare c cursor for select id, b from t where id between 10 and 300 order by id for update");
    assert_eq!(a.rows("fetch 2 from c").len(), 2);
    let wanted = "select id from t where id = 10 for update nowait";
    assert_eq!(state(&mut b, wanted).as_deref(), Some("55P03"));
    // What the transaction itself has deleted since does not come.
    a.rows("delete from t where id = 200");
    let rest = a.rows("fetch 1000 from c");
    assert_eq!(rest.len(), 288);
    assert!(rest.iter().all(|row| row[0].as_deref() != Some("200")));
    a.rows("commit");
    assert_eq!(b.rows(wanted).len(), 1);
    let held = "declare h cursor with hold for select id from t for update";
    assert_eq!(state(&mut a, held).as_deref(), Some("0A000"));
}

#[test]
fn rows_come_in_their_order_however_many_they_are() {
    let fixture = filled();
    let mut talk = fixture.session();
    for tail in [
        "order by b desc",
        "order by a, id",
        "where a > 50000 order by b desc, a limit 100 offset 40000",
        "where a > 50000 order by b, a limit 100 offset 7",
        "where id > 100 order by id desc limit 10 offset 3",
        "order by id limit 5",
        "",
    ] {
        let plain = talk.rows(&format!("select b, id, b from t {tail}"));
        let locked = talk.rows(&format!("select b, id, b from t {tail} for update"));
        assert!(plain == locked, "{tail}");
    }
}

#[test]
fn only_as_many_rows_are_locked_as_are_answered() {
    let fixture = filled();
    let (mut a, mut b) = (fixture.session(), fixture.session());
    a.rows("begin");
    assert_eq!(a.rows("select id from t order by id limit 3 for update").len(), 3);
    let skipped = "select id from t order by id limit 2 for update skip locked";
    assert_eq!(b.rows(skipped), [[Some("4".to_string())], [Some("5".to_string())]]);
}

#[test]
fn a_subquery_may_lock_many_rows() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table t (id int primary key, b text)");
    talk.rows("insert into t select g, repeat('x', 60) || g from generate_series(1, 20000) g");
    talk.rows("delete from t where b in (select b from t where id > 5 for update)");
    assert_eq!(talk.rows("select count(*) from t")[0], [Some("5".to_string())]);
}

fn texts(rows: &[Vec<Option<String>>]) -> Vec<String> {
    let text = |row: &Vec<Option<String>>| {
        row.iter().map(|value| value.as_deref().unwrap_or("-")).collect::<Vec<_>>().join(" ")
    };
    rows.iter().map(text).collect()
}

fn two_tables() -> Fixture {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table t (id int primary key, a int, b text)");
    talk.rows("create table u (id int primary key, c text)");
    talk.rows("insert into t select g, g * 10, 'b' || g from generate_series(1, 9) g");
    talk.rows("insert into u select g, 'c' || g from generate_series(1, 9, 2) g");
    talk.rows("create view v as select t.id, t.a, u.c from t join u on u.id = t.id");
    fixture
}

#[test]
fn of_a_join_the_named_tables_are_locked() {
    let fixture = two_tables();
    let (mut a, mut b) = (fixture.session(), fixture.session());
    let join = "select t.id, c, upper(b) from t join u on u.id = t.id where t.id < 6 order by 1 desc limit 2";
    a.rows("begin");
    assert_eq!(texts(&a.rows(&format!("{join} for update of t"))), ["5 c5 B5", "3 c3 B3"]);
    let state_of = |b: &mut Talk, sql: &str| state(b, &format!("{sql} for update nowait"));
    assert_eq!(state_of(&mut b, "select id from t where id = 5").as_deref(), Some("55P03"));
    assert_eq!(state_of(&mut b, "select id from t where id = 1"), None);
    assert_eq!(state_of(&mut b, "select id from u where id = 5"), None);
    assert_eq!(texts(&b.rows(&format!("{join} for update skip locked"))), ["1 c1 B1"]);
    a.rows("commit");
    a.rows("begin");
    assert_eq!(a.rows("select id from v where c = 'c3' for no key update").len(), 1);
    assert_eq!(state_of(&mut b, "select id from t where id = 3").as_deref(), Some("55P03"));
    assert_eq!(state_of(&mut b, "select id from u where id = 3").as_deref(), Some("55P03"));
    a.rows("rollback");
    for (sql, error) in [
        ("select t.id from t left join u on u.id = t.id for update", "0A000"),
        ("select t.id from t left join u on u.id = t.id for update of t", ""),
        ("select t.id from t left join u on u.id = t.id where u.c > '' for update", ""),
        ("select count(*) from t for update", "0A000"),
        ("select t.id from t join u on u.id = t.id for share of w", "42P01"),
    ] {
        assert_eq!(state(&mut b, sql).unwrap_or_default(), error, "{sql}");
    }
}

/// Runs a statement in a thread that waits for a transaction of this one, which is ended when it does.
fn waiting(fixture: &Fixture, begun: &mut Talk, end: &str, sql: &str) -> Vec<String> {
    std::thread::scope(|scope| {
        let (instance, sql) = (std::sync::Arc::clone(&fixture.instance), sql.to_string());
        let waiter = scope.spawn(move || texts(&Fixture::of(instance).session().rows(&sql)));
        std::thread::sleep(std::time::Duration::from_millis(150));
        assert!(!waiter.is_finished(), "it waits");
        begun.rows(end);
        waiter.join().expect("it ends")
    })
}

#[test]
fn rows_that_were_waited_for_are_judged_as_they_are_then() {
    let fixture = two_tables();
    let mut a = fixture.session();
    let join =
        "select t.id, a, c from t join u on u.id = t.id where a < 60 order by t.id for update of t";
    a.rows("begin");
    a.rows("update t set a = 99 where id = 3");
    a.rows("update t set a = 11 where id = 1");
    assert_eq!(waiting(&fixture, &mut a, "commit", join), ["1 11 c1", "5 50 c5"]);
    a.rows("begin");
    a.rows("delete from t where id = 5");
    assert_eq!(waiting(&fixture, &mut a, "commit", join), ["1 11 c1"]);
    a.rows("begin");
    a.rows("update t set a = 98 where id = 1");
    assert_eq!(waiting(&fixture, &mut a, "rollback", join), ["1 11 c1"]);
    // In a subquery of a change of rows.
    a.rows("begin");
    a.rows("update t set a = 12 where id = 1");
    let change = "update u set c = c || '!' where id in (select id from t where a < 60 for update) returning id, c";
    assert_eq!(waiting(&fixture, &mut a, "commit", change), ["1 c1!"]);
    // Above READ COMMITTED it is an error.
    let mut b = fixture.session();
    b.rows("begin isolation level repeatable read");
    b.rows("select 1 from t limit 1");
    a.rows("update t set a = 13 where id = 1");
    let error =
        state(&mut b, "select t.id from t join u on u.id = t.id where a < 60 for update of t");
    assert_eq!(error.as_deref(), Some("40001"));
}

#[test]
fn workers_of_a_queue_take_each_job_once() {
    let fixture = Fixture::new(false);
    fixture.session().rows("create table jobs (id int primary key, state text, worker int)");
    fixture.session().rows("create index on jobs (state, id)");
    fixture.session().rows("insert into jobs select g, 'new', null from generate_series(1, 300) g");
    let taken: Vec<usize> = std::thread::scope(|scope| {
        let work = |n: usize| {
            let instance = std::sync::Arc::clone(&fixture.instance);
            scope.spawn(move || {
                let mut talk = Fixture::of(instance).session();
                let take = format!(
                    "with next as (select id from jobs where state = 'new' order by id limit 1 for update skip locked) \
                     update jobs set state = 'done', worker = {n} from next where jobs.id = next.id and jobs.state = 'new' returning jobs.id"
                );
                let mut taken = 0;
                while talk.rows(&take).len() == 1 {
                    taken += 1;
                }
                taken
            })
        };
        let workers: Vec<_> = (0..4).map(work).collect();
        workers.into_iter().map(|worker| worker.join().expect("it ends")).collect()
    });
    assert_eq!(taken.iter().sum::<usize>(), 300, "{taken:?}");
    let mut talk = fixture.session();
    assert_eq!(
        talk.rows("select count(*) from jobs where state = 'done'")[0],
        [Some("300".to_string())]
    );
}

#[test]
fn a_large_answer_is_locked_within_the_memory() {
    let fixture = filled();
    let (mut a, mut b) = (fixture.session(), fixture.session());
    a.rows("set fast_path = off");
    a.rows("begin");
    let rows = a.rows("select b || b || b, id from t order by b || b for update");
    assert_eq!(rows.len(), 60_000);
    let last = rows[59_999][1].clone().expect("a number");
    let wanted = format!("select id from t where id = {last} for update nowait");
    assert_eq!(state(&mut b, &wanted).as_deref(), Some("55P03"));
}
