//! What may be done with a table while something of it is still to be judged, and with keys that an index cannot have?
//!
//! Scripts are compared with a private PostgreSQL 15 (a Debian package).

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use onlap_testkit::simple::Outcome;

/// What gets another name, and what is refused, while rows of a child are to be judged.
const CHILDREN: &str = r#"
create table p (id int primary key, v int)
insert into p values (1, 1), (2, 2)
create table c (id int constraint ck references p deferrable initially deferred, x int)
insert into c values (1, 1)
create index cx on c (x)
begin
insert into c values (5, 1)
alter table c rename column x to y
alter table c rename column id to pid
alter table c rename constraint ck to ckk
alter index cx rename to cxx
alter table c rename to cc
alter table p rename to pp
alter table pp rename column id to idd
insert into pp values (5, 5)
commit
select * from cc order by pid
begin
insert into cc values (6, 1)
alter table cc rename constraint ckk to again
savepoint s
alter table cc rename constraint again to third
set constraints third immediate
rollback to s
set constraints again immediate
rollback
begin
insert into cc values (6, 1)
savepoint s
alter table cc rename constraint ckk to fourth
rollback to s
commit
begin
insert into cc values (6, 1)
create table c3 (id int references pp)
alter table c3 add foreign key (id) references pp
alter table pp add column zz int
drop index cxx
create schema s1
alter table cc set schema s1
savepoint s
alter table s1.cc add column q int
rollback to s
alter table s1.cc alter y set default 4
rollback to s
create index on s1.cc (y)
rollback to s
create unique index on s1.cc (y)
rollback to s
truncate s1.cc
rollback to s
drop table s1.cc
rollback to s
alter table s1.cc drop constraint ckk
rollback to s
alter table s1.cc rename constraint nope to n2
rollback to s
delete from s1.cc where pid = 6
alter table s1.cc rename column y to z
commit
select conname, pg_get_constraintdef(oid) from pg_constraint where contype = 'f' order by 1
"#;

/// The same while a parent has lost keys.
const PARENTS: &str = r#"
create table p (id int primary key, v int)
insert into p values (1, 1), (2, 2)
create table c (id int constraint ck references p deferrable initially deferred, x int)
insert into c values (1, 1)
begin
delete from p where id = 1
savepoint s
alter table p rename column v to vv
alter table p rename to pp
alter table c add column qq int
create index on c (id)
savepoint s
alter table c drop constraint ck
rollback to s
alter table pp add column qq int
rollback to s
create index on pp (vv)
rollback to s
drop table pp cascade
rollback to s
alter table c rename column id to pid
alter table c rename constraint ck to ckk
commit
select * from c
begin
delete from p where id = 1
alter table p rename to pp
update c set x = 2
drop table c
commit
select * from pp
create table d (a int unique deferrable initially deferred)
insert into d values (1)
begin
insert into d values (1)
alter table d rename column a to b
alter table d rename constraint d_a_key to key
savepoint s
alter table d add column c int
rollback to s
commit
select * from d
begin
insert into d values (1)
alter table d rename column a to b
alter table d rename constraint d_a_key to key
delete from d where b = 1
insert into d values (1)
commit
select * from d
"#;

/// Foreign keys that old rows may break, and rows of the transaction itself.
const UNPROVEN: &str = r#"
create table p (id int primary key)
create table c (id int, x int)
insert into c values (1, 1)
begin
insert into c values (4, 1)
alter table c add constraint f foreign key (id) references p (id) not valid
savepoint s
update c set x = 2 where id = 1
update c set x = 3 where id = 1
rollback to s
update c set x = 2 where id = 4
rollback to s
insert into p values (4)
update c set x = 2 where id = 4
update c set x = 3 where id = 4
commit
update c set x = 9
select * from c order by id
begin
alter table c alter constraint f deferrable initially deferred
insert into p values (7)
insert into c values (7, 1)
set constraints f immediate
delete from p where id = 7
rollback
"#;

/// Keys that no index has, which a statement fails for that brings them.
const LONG: &str = r#"
create table t (id int primary key, k text)
create index on t (k)
create table texts (k text)
insert into texts select string_agg(md5(i::text), '') from generate_series(1, 200) i
begin
insert into t values (1, 'short')
savepoint s
insert into t select 2, k from texts
rollback to s
insert into t values (3, 'other')
savepoint s
update t set k = texts.k from texts
rollback to s
insert into t select 1, k from texts on conflict (id) do nothing
insert into t select 1, k from texts on conflict (id) do update set k = excluded.k
rollback to s
commit
select id, length(k) from t order by id
begin
create table u (k text)
insert into u select k from texts
savepoint s
create index on u (k)
rollback to s
insert into u values ('a')
commit
select count(*) from u
create table w (k text)
create index on w (k) where length(k) < 10
insert into w select k from texts
create index on w (lower(k)) where length(k) < 10
select count(*) from w
"#;

/// Rules get the names that others have, or had, while something of them is to be judged.
const SWAPPED: &str = r#"
create table p (id int primary key, u int)
insert into p values (1, 1)
create table c (a int constraint ka references p deferrable initially deferred, b int constraint kb references p deferrable)
create table d (a int constraint ua unique deferrable initially deferred, b int constraint ub unique deferrable)
begin
insert into c values (5, 1)
alter table c rename constraint ka to t
alter table c rename constraint kb to ka
alter table c rename constraint t to kb
savepoint s
set constraints ka immediate
set constraints kb immediate
rollback to s
commit
begin
insert into c values (5, 1)
alter table c rename constraint ka to t
alter table c rename constraint kb to ka
alter table c rename constraint t to kb
update c set a = 1
insert into c values (1, 6)
commit
select * from c
begin
insert into c values (5, 1)
set constraints ka deferred
alter table c rename constraint ka to t
alter table c rename constraint kb to ka
savepoint s
insert into c values (1, 6)
rollback to s
alter table c rename constraint t to kb
set constraints ka deferred
insert into c values (1, 6)
insert into p values (6, 6)
savepoint s
set constraints all immediate
rollback to s
set constraints ka immediate
set constraints kb immediate
rollback
begin
insert into d values (1, 1), (1, 2)
alter index ua rename to t
alter index ub rename to ua
alter index t rename to ub
savepoint s
set constraints ua immediate
set constraints ub immediate
rollback to s
delete from d where b = 2
commit
select * from d
begin
set constraints ub deferred
insert into d values (1, 3)
alter table d rename constraint ua to t
alter table d rename constraint ub to ua
savepoint s
alter table d rename constraint t to ub
rollback to s
savepoint s
set constraints t immediate
rollback to s
set constraints ua immediate
rollback
begin
insert into c values (7, 1)
alter table c rename constraint ka to k7
create table c2 (x int constraint ka references p deferrable initially deferred)
insert into c2 values (8)
alter table c rename to c7
alter table c2 rename to c
alter table c rename constraint ka to k8
alter table c7 rename constraint k7 to ka
savepoint s
set constraints ka immediate
rollback to s
set constraints k8 immediate
rollback
begin
insert into c values (7, 1)
create schema moved
alter table c set schema moved
alter schema moved rename to moved2
savepoint s
set constraints moved2.ka immediate
rollback to s
insert into p values (7, 7)
set constraints moved2.ka immediate
alter table moved2.c drop constraint ka
alter table moved2.c add constraint ka foreign key (a) references p deferrable initially deferred
insert into moved2.c values (8, 1)
savepoint s
alter table moved2.c rename constraint ka to kx
rollback to s
commit
select * from c
begin
insert into c values (9, 1)
set constraints all deferred
update c set a = 1 where a = 9
set constraints all immediate
alter table c drop constraint ka
alter table c rename constraint kb to ka
set constraints all deferred
insert into c values (10, 10)
alter table c rename constraint ka to kb
commit
select * from c
begin
insert into c values (1, 1)
set constraints all immediate
savepoint s
alter table c drop constraint ka
alter table c add constraint ka foreign key (b) references p deferrable initially deferred
insert into c values (33, 1)
insert into c values (33, 34)
rollback to s
set constraints ka deferred
insert into c values (35, 1)
commit
select * from c
"#;

fn states(outcome: &Outcome) -> String {
    let state = outcome.error.as_ref().map(|error| &error.0);
    format!("{:?} {state:?} {:?}", outcome.tags, outcome.rows)
}

#[test]
fn names_change_while_rows_of_children_are_to_be_judged() {
    compared::compare(CHILDREN);
}

#[test]
fn rules_are_known_whatever_their_names() {
    compared::compare(SWAPPED);
}

#[test]
fn names_change_while_lost_keys_are_to_be_judged() {
    compared::compare(PARENTS);
}

#[test]
fn rows_of_the_transaction_are_judged_by_keys_that_old_ones_may_break() {
    compared::compare(UNPROVEN);
}

#[test]
fn a_key_that_is_too_long_fails_its_statement_alone() {
    for before in ["", "set fast_path = off"] {
        let differ = compared::differences(LONG.lines(), before, states);
        assert!(differ.is_empty(), "{}", differ.join("\n"));
    }
}

/// Sessions read and write a table while another makes and drops its indexes.
#[test]
fn statements_go_on_while_indexes_come_and_go() {
    go_on_while_indexes_come_and_go(&[]);
}

#[test]
fn they_do_so_where_the_database_has_functions() {
    go_on_while_indexes_come_and_go(&[
        "create function twice(n int) returns int language plpgsql immutable as \
         $$ begin return n * 2; end $$",
    ]);
}

fn go_on_while_indexes_come_and_go(made: &[&str]) {
    let fixture = support::Fixture::new(false);
    let mut talk = fixture.session();
    made.iter().for_each(|sql| drop(talk.rows(sql)));
    talk.rows("create table h (id int primary key, k int, v int)");
    talk.rows("insert into h select i, i % 10, 0 from generate_series(1, 1000) i");
    let (ended, end) = (AtomicBool::new(false), Instant::now() + Duration::from_secs(3));
    let failed: Vec<String> = thread::scope(|scope| {
        let sessions: Vec<_> = (0..3)
            .map(|n| {
                let mut talk = fixture.session();
                let ended = &ended;
                scope.spawn(move || {
                    let statements = [
                        "select count(*) from h where k = 3",
                        "update h set v = v + 1 where k = 4 and id % 3 = 0",
                        "select * from h where k = 5 order by k, v limit 5",
                        "select count(*) from h a join h b on a.k = b.k where a.id = 7",
                        "select count(*) from h where k = 1 union all select v from h where k = 2",
                        "delete from h where k = 77",
                        "copy (select * from h where k = 6) to stdout",
                    ];
                    let mut failed = Vec::new();
                    for sql in statements.iter().cycle().skip(n) {
                        if ended.load(Ordering::Relaxed) {
                            break;
                        }
                        // Rows of its first part may have been given when the second is read.
                        let is_union = sql.contains("union");
                        let error = talk.run(sql).error;
                        let error = error.filter(|(state, _)| !is_union || state != "40001");
                        // What begins anew keeps the rows that it has locked, and another plan meets them in another order.
                        let is_update = sql.starts_with("update");
                        let error = error.filter(|(state, _)| !is_update || state != "40P01");
                        failed.extend(error.map(|(state, text)| format!("{sql}: {state} {text}")));
                    }
                    failed
                })
            })
            .collect();
        let mut rounds = 0;
        while rounds == 0 || Instant::now() < end {
            for sql in ["create index hk on h (k)", "create index hv on h (k, v) where v < 5"] {
                talk.rows(sql);
            }
            talk.rows("drop index hk");
            talk.rows("drop index hv");
            rounds += 1;
        }
        ended.store(true, Ordering::Relaxed);
        let ends = sessions.into_iter().map(|session| session.join().expect("it ends"));
        ends.flatten().collect()
    });
    assert_eq!(failed, Vec::<String>::new());
}

/// Nothing is forgotten where others have the name of a rule, or had it.
#[test]
fn rules_with_the_names_of_others_are_judged() {
    let fixture = support::Fixture::new(false);
    let mut talk = fixture.session();
    for sql in [
        "create table p (id int primary key)",
        "insert into p values (1)",
        "create table c (id int constraint ck references p deferrable initially deferred, x int)",
        "create index ck on c (x)",
        "create table c2 (x int constraint ka references p deferrable initially deferred, \
         id int constraint kb references p deferrable initially deferred, y int)",
        "create table q (a int, b int, primary key (a, b))",
        "create table c3 (id int constraint ck references p deferrable initially deferred, a int, b int)",
        "create index on c3 (a, b)",
        "create table d (a int constraint u unique deferrable initially deferred, \
         b int constraint kd references p deferrable initially deferred)",
    ] {
        talk.rows(sql);
    }
    // The last statement that succeeds must not leave an orphan or a duplicate.
    for story in [
        &["insert into c values (5, 1)", "alter index ck rename to cx"][..],
        &["insert into c values (5, 1)", "alter table c rename constraint ck to ckk"],
        &[
            "insert into c2 values (1, 1, 1)",
            "set constraints all immediate",
            "alter table c2 drop constraint ka",
            "set constraints all deferred",
            "insert into c2 values (1, 5, 1)",
            "alter table c2 rename constraint kb to ka",
            "update c2 set y = 2 where id = 5",
        ],
        &[
            "insert into c3 values (1, 1, 1)",
            "set constraints all immediate",
            "set constraints all deferred",
            "delete from p where id = 1",
            "alter table c3 drop column id",
            "alter table c3 add constraint ck foreign key (a, b) references q",
        ],
        &[
            "alter index u rename to kd",
            "insert into d values (1, 1)",
            "insert into d values (1, 1)",
        ],
    ] {
        talk.rows("begin");
        for sql in story {
            if talk.run(sql).error.is_some() {
                break;
            }
        }
        talk.run("commit");
        talk.run("rollback");
        for orphans in [
            "select count(*) from c where id <> 1",
            "select count(*) from c2 where id <> 1 or x <> 1",
            "select count(*) from c3",
            "select count(*) - count(distinct a) from d",
        ] {
            assert_eq!(talk.lines(&[orphans]), ["0"], "{orphans} after {story:?}");
        }
    }
}
