//! Do sessions whose rows could conflict by an exclusion constraint wait for each other, and no others?
//!
//! Compared with a private PostgreSQL 15 (a Debian package); then rows at random of several sessions, here.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/actor.rs"]
mod actor;
#[path = "support/actors.rs"]
mod actors;
mod support;

use std::sync::Arc;

use onlap_base::rng::Rng;
use onlap_testkit::for_seeds;
use onlap_testkit::simple::Outcome;
use support::Fixture;

const SCRIPTS: &str = "== who comes second waits, and is refused
a: create table t (id int, room int4range, during int4range, constraint x exclude using gist (room with =, during with &&))
a: begin
a: insert into t values (1, '[1,2)', '[1,5)')
b~ insert into t values (2, '[1,2)', '[4,9)')
a: commit
b<
a: select id from t order by id
== or goes on
a: create table t (id int, room int4range, during int4range, constraint x exclude using gist (room with =, during with &&))
a: begin
a: insert into t values (1, '[1,2)', '[1,5)')
b~ insert into t values (2, '[1,2)', '[4,9)')
a: rollback
b<
a: select id from t order by id
== others do not wait
a: create table t (id int, room int4range, during int4range, constraint x exclude using gist (room with =, during with &&))
a: begin
a: insert into t values (1, '[1,2)', '[1,5)')
b: begin
b: insert into t values (2, '[1,2)', '[5,9)')
b: insert into t values (3, '[2,3)', '[1,9)')
b: insert into t values (4, null, '[1,9)')
a: insert into t values (5, '[1,2)', '[9,12)')
a: insert into t values (6, null, '[1,9)')
a: commit
b: commit
a: select id from t order by id
== a row that goes is waited for
a: create table t (id int, during int4range, exclude using gist (during with &&))
a: insert into t values (1, '[1,5)'), (2, '[5,9)')
a: begin
a: delete from t where id = 1
b~ insert into t values (3, '[2,3)')
a: commit
b<
a: begin
a: delete from t where id = 2
b~ insert into t values (4, '[6,7)')
a: rollback
b<
a: select id from t order by id
== a row that changes is waited for
a: create table t (id int, during int4range, exclude using gist (during with &&))
a: insert into t values (1, '[1,5)'), (2, '[5,9)')
a: begin
a: update t set during = '[20,30)' where id = 1
b~ insert into t values (3, '[2,3)')
a: commit
b<
a: begin
a: update t set id = 22 where id = 2
b~ insert into t values (4, '[6,7)')
a: commit
b<
a: select id from t order by id
== a row that is locked is not waited for
a: create table t (id int, during int4range, exclude using gist (during with &&))
a: insert into t values (1, '[1,5)'), (2, '[5,9)')
a: begin
a: select id from t where id = 1 for share
b: insert into t values (3, '[2,3)')
a: commit
== doing nothing waits, too
a: create table t (id int, during int4range, exclude using gist (during with &&))
a: begin
a: insert into t values (1, '[1,5)')
b~ insert into t values (2, '[2,3)') on conflict do nothing
a: commit
b<
a: begin
a: delete from t where id = 1
b~ insert into t values (3, '[2,3)') on conflict do nothing
a: commit
b<
a: begin
a: delete from t where id = 3
b~ insert into t values (4, '[2,3)') on conflict do nothing
a: rollback
b<
a: select id from t order by id
== a savepoint gives up what came since
a: create table t (id int, during int4range, exclude using gist (during with &&))
a: begin
a: insert into t values (1, '[1,5)')
a: savepoint s
a: insert into t values (2, '[5,9)')
a: rollback to s
b: insert into t values (3, '[6,7)')
b~ insert into t values (4, '[2,3)')
a: commit
b<
a: select id from t order by id
== what is put off waits when it is judged
a: create table t (id int, during int4range, constraint x exclude using gist (during with &&) deferrable initially deferred)
a: begin
a: insert into t values (1, '[1,5)')
a: set constraints x immediate
b: begin
b: insert into t values (2, '[2,3)')
b~ commit
a: commit
b<
a: select id from t order by id
== snapshots see less than the rule does
a: create table t (id int, during int4range, exclude using gist (during with &&))
b: begin isolation level repeatable read
b: select count(*) from t
a: insert into t values (1, '[1,5)')
b: insert into t values (2, '[2,3)')
b: rollback
b: begin isolation level repeatable read
b: select count(*) from t
a: insert into t values (3, '[5,6)')
b: insert into t values (4, '[5,6)') on conflict do nothing
b: rollback
a: select id from t order by id
== two of them close a circle
a: create table t (id int, during int4range, exclude using gist (during with &&))
a: begin
b: begin
a: insert into t values (1, '[1,5)')
b: insert into t values (2, '[5,9)')
a~ insert into t values (3, '[6,7)')
# PostgreSQL looks for a circle when a wait has lasted a second, and ends who looks.
c: select pg_sleep(1.5)
b: insert into t values (4, '[2,3)')
b: rollback
a<
a: commit
a: select id from t order by id
== a constraint comes when the rows are there
a: create table t (id int, during int4range)
b: begin
b: insert into t values (1, '[1,5)')
a~ alter table t add constraint x exclude using gist (during with &&)
b: insert into t values (2, '[2,3)')
b: commit
a<
a: delete from t where id = 1
a: alter table t add constraint x exclude using gist (during with &&)
a: insert into t values (1, '[1,5)')
";

#[test]
fn sessions_wait_as_in_postgresql() {
    actors::compare(SCRIPTS, |outcome: &Outcome| {
        let Outcome { tags, error, detail, rows, .. } = outcome;
        let detail = match error {
            // The detail has numbers of processes.
            Some((state, _)) if state == "40P01" => "",
            _ => detail,
        };
        format!("{tags:?} {error:?} {detail:?} {rows:?}")
    });
}

/// A known difference: a row that another session holds FOR UPDATE or FOR NO KEY UPDATE is waited for, though nothing may become
/// of it. PostgreSQL refuses at once.
#[test]
fn rows_that_are_locked_for_an_update_are_waited_for() {
    let fixture = Fixture::new(false);
    let (mut a, mut b) = (fixture.session(), fixture.session());
    a.rows("create table t (id int, during int4range, exclude using gist (during with &&))");
    a.rows("insert into t values (1, '[1,5)')");
    b.rows("set lock_timeout = '50ms'");
    for (mode, state) in [
        ("share", "23P01"),
        ("key share", "23P01"),
        ("no key update", "55P03"),
        ("update", "55P03"),
    ] {
        a.rows("begin");
        a.rows(&format!("select id from t for {mode}"));
        assert_eq!(b.run("insert into t values (2, '[2,3)')").state(), state, "{mode}");
        a.rows("commit");
        assert_eq!(b.run("insert into t values (2, '[2,3)')").state(), "23P01", "{mode}");
    }
}

/// Changes of one row again and again take one lock, and who brings very many rows waits before it holds any.
#[test]
fn few_locks_are_taken_and_loads_stand_in_line() {
    let fixture = Fixture::new(false);
    let (mut a, mut b) = (fixture.session(), fixture.session());
    a.rows("create table t (id int, during int4range, exclude using gist (during with &&))");
    a.rows("insert into t values (1, '[1,5)')");
    b.rows("set lock_timeout = '50ms'");
    a.rows("begin");
    for _ in 0..1100 {
        a.rows("update t set during = during where id = 1");
    }
    b.rows("insert into t values (2, '[5,6)')");
    let load = |from: u32| {
        let rows = format!("generate_series({from}, {from} + 1999) n");
        format!("insert into t select n, int4range(n, n + 1) from {rows}")
    };
    b.rows("begin");
    b.rows("savepoint s");
    assert_eq!(b.run(&load(10_000)).state(), "55P03");
    b.rows("rollback to s");
    a.rows("insert into t values (3, '[10000,20000)')");
    a.rows("rollback");
    b.rows(&load(10_000));
    a.rows("set lock_timeout = '50ms'");
    assert_eq!(a.run("insert into t values (4, '[7,8)')").state(), "55P03");
    b.rows("commit");
    a.rows("insert into t values (4, '[7,8)')");
}

/// One statement at random.
fn statement(rng: &mut Rng, id: u64) -> String {
    let (room, lower) = (rng.below(3), rng.below(60));
    let upper = lower + rng.below(9);
    let other = rng.below(id.max(1));
    match rng.below(12) {
        0 => "begin".into(),
        1 | 2 => "commit".into(),
        3 => "rollback".into(),
        4 => format!("delete from t where id = {other}"),
        5 => format!("update t set during = int4range({lower}, {upper}) where id = {other}"),
        6 => format!("update t set room = {room} where id = {other}"),
        7 => format!(
            "insert into t values ({id}, {room}, int4range({lower}, {upper})) on conflict do nothing"
        ),
        8 => format!(
            "insert into t values ({id}, {room}, int4range({lower}, {upper})), \
             ({id}, {room}, int4range({upper}, {upper} + 2))"
        ),
        _ => format!("insert into t values ({id}, {room}, int4range({lower}, {upper}))"),
    }
}

/// Rows of four sessions at once never overlap, whatever is rolled back; and each session can go on.
#[test]
fn rows_of_sessions_never_overlap() {
    for_seeds("rows_of_sessions_never_overlap", 6, |rng| {
        let rng = &mut rng.clone();
        let fixture = Arc::new(Fixture::new(false));
        let mut talk = fixture.session();
        let deferred = ["", "deferrable", "deferrable initially deferred"][rng.index(3)];
        talk.rows("create extension btree_gist");
        talk.rows(&format!(
            "create table t (id int, room int, during int4range, \
             exclude using gist (room with =, during with &&) {deferred})"
        ));
        let clients = (0..4).map(|client| {
            let (fixture, mut rng) = (Arc::clone(&fixture), rng.fork());
            std::thread::spawn(move || {
                let mut talk = fixture.session();
                for n in 0..60 {
                    let outcome = talk.run(&statement(&mut rng, client * 100 + n));
                    let usual = ["", "23P01", "25P02", "40P01", "25001", "25P01", "55000"];
                    assert!(usual.contains(&outcome.state()), "{:?}", outcome.error);
                }
                talk.run("commit");
            })
        });
        let clients: Vec<_> = clients.collect();
        clients.into_iter().for_each(|client| client.join().expect("it ends"));
        let pairs = talk.rows(
            "select a.*, b.* from t a join t b on a.room = b.room and a.during && b.during \
             where a.ctid < b.ctid",
        );
        assert!(pairs.is_empty(), "{pairs:?}");
    });
}
