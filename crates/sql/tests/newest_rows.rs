//! What does a statement that waited for a row at READ COMMITTED see of it, and of all else?
//!
//! Schedules of sessions are compared with a private PostgreSQL 15 (a Debian package): of the rows that the statement changes it
//! sees the newest versions; other tables, and the same table in subqueries, it sees as they were when it began. Above READ
//! COMMITTED the words of the refusal are compared.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/actor.rs"]
mod actor;
#[path = "support/actors.rs"]
mod actors;
mod support;

use onlap_testkit::simple::Outcome;

const SCHEDULES: &str = r#"== subqueries keep what they saw
a: create table acc (id int primary key, v int); insert into acc values (1, 100), (2, 400)
a: begin
a: update acc set v = 999 where id = 1
b~ update acc set v = (select sum(v) from acc) where id = 1 returning v
a: commit
b<
a: begin
a: update acc set v = 1 where id = 2
b~ update acc set v = v + (select max(v) from acc a where a.id <> acc.id) where id = 2 returning v
a: update acc set v = 7 where id = 1
a: commit
b<
a: select * from acc order by id

== rows are looked at anew
a: create table t (id int primary key, v int, w int); insert into t select n, n, 0 from generate_series(1, 6) n
a: begin
a: update t set v = v + 10 where id in (2, 3)
b~ update t set w = v, v = v + 1 where v < 5 returning id, v, w
a: commit
b<
a: begin
a: update t set v = 3 where id = 6
a: delete from t where id = 1
b~ delete from t where v < 4 or id = 1 returning id, v
a: commit
b<
a: select * from t order by id

== new rows of others are not seen
a: create table q (id int primary key, v int); insert into q values (1, 1), (2, 2)
a: begin
a: update q set v = 5 where id = 1
b~ update q set v = (select count(*) from q) + v where v > 0
a: insert into q values (3, 3)
a: commit
b<
a: select * from q order by id

== other tables are as they were
a: create table o (id int primary key, x int); create table p (id int primary key, o int, v int); insert into o values (1, 10), (2, 20); insert into p values (1, 1, 0), (2, 2, 0)
a: begin
a: update o set x = x + 1
a: update p set v = -1 where id = 1
b~ update p set v = p.v + o.x from o where o.id = p.o returning p.id, p.v, o.x
a: commit
b<
a: begin
a: update o set x = 0
a: update p set v = v + 1 where id = 2
b~ delete from p using o where o.id = p.o and o.x > 0 returning p.id, p.v, o.x
a: commit
b<
a: select * from p order by id

== exists and in
a: create table k (id int primary key, v int); create table l (id int primary key); insert into k values (1, 1), (2, 2); insert into l values (1), (2)
a: begin
a: delete from l where id = 1
a: update k set v = 5
b~ update k set v = v * 10 where id in (select id from l) and exists (select 1 from l where l.id = k.v) returning id, v
a: commit
b<
a: begin
a: update k set v = 2
b~ update k set v = v * 10 where id in (select id from l) and v = 2 returning id, v
a: commit
b<
a: select * from k order by id

== functions see what is there now, or what was
a: create table f (id int primary key, v int); insert into f values (1, 1)
a: create function now_is() returns bigint language sql volatile as 'select sum(v) from f'
a: create function was() returns bigint language sql stable as 'select sum(v) from f'
a: begin
a: update f set v = 50 where id = 1
b~ update f set v = v + 1000 * was() + 1000000 * now_is() where id = 1 returning v
a: commit
b<

== in a transaction, with rows of its own
a: create table m (id int primary key, v int); insert into m values (1, 1), (2, 2)
b: begin
b: update m set v = 100 where id = 2
a: begin
a: update m set v = 10 where id = 1
b~ update m set v = v + (select sum(v) from m) returning id, v
a: commit
b<
b: select * from m order by id
b: commit

== WITH
a: create table c (id int primary key, v int); create table d (n int); insert into c values (1, 1), (2, 2)
a: begin
a: update c set v = 10 where id = 1
b~ with x as (update c set v = v + 1 where id = 1 returning v), y as (insert into d select sum(v) from c returning n) select x.v, y.n, (select sum(v) from c) from x, y
a: commit
b<
a: select * from c order by id

== inherited tables
a: create table up (id int, v int); create table down () inherits (up); insert into up values (1, 1); insert into down values (2, 2)
a: begin
a: update up set v = 10
b~ update up set v = v + (select sum(v) from up) returning id, v
a: commit
b<

== triggers
a: create table g (id int primary key, v int, s int); insert into g values (1, 1, 0)
a: create function sums() returns trigger language plpgsql as $$ begin new.s = (select sum(v) from g); return new; end $$
a: create trigger sums before update on g for each row execute function sums()
a: begin
a: update g set v = 5
b~ update g set v = v + (select sum(v) from g) returning v, s
a: commit
b<

== words above READ COMMITTED
a: create table r (id int primary key, v int); insert into r values (1, 1), (2, 2), (3, 3)
b: begin isolation level repeatable read
b: select count(*) from r
a: update r set v = 10 where id = 1
a: delete from r where id = 2
b: update r set v = 5 where id = 1
b: rollback
b: begin isolation level repeatable read
b: select count(*) from r
a: delete from r where id = 3
b: update r set v = 5 where id = 3
b: rollback
b: begin isolation level serializable
b: select count(*) from r
a: begin
a: delete from r where id = 1
b~ delete from r where v = 10
a: commit
b<
b: rollback
a: insert into r values (1, 1)
a: begin
a: update r set v = 2
b: select * from r for update nowait
"#;

#[test]
fn of_rows_that_were_waited_for_the_newest_are_seen() {
    actors::compare(SCHEDULES, |outcome: &Outcome| {
        let Outcome { tags, error, said, rows, .. } = outcome;
        let mut rows = rows.clone();
        rows.sort();
        format!("{tags:?} {error:?} {said:?} {rows:?}")
    });
}
