//! Calls that do something, as PostgreSQL carries them out: row by row, from left to right.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

const SEQUENCES: &str = r#"
create table t (id int, w text)
insert into t select g, 'w' || g from generate_series(1, 5) g
create sequence s
create sequence other
select nextval('s'), currval('s') from t
select nextval('s'), nextval('s') from t
select nextval('s') - currval('s') from t
select currval('s'), nextval('s'), lastval() from t order by id
select nextval('s'), nextval('other') from t
select nextval('s'), lastval(), nextval('other'), lastval() from t
select setval('s', id * 100), nextval('s') from t order by id
select case when id % 2 = 0 then nextval('s') else currval('s') end, nextval('s') from t order by id
values (nextval('s'), nextval('s')), (nextval('s'), nextval('s')), (currval('s'), nextval('s'))
select array[nextval('s'), nextval('s')], row(nextval('s'), nextval('s')) from t
select sum(nextval('s')), sum(currval('s')) from t
create table n (a bigint default nextval('s'), b bigint default nextval('other'), c int)
insert into n (c) select id from t order by id
select * from n order by c
insert into n (c) values (10), (11), (12) returning *
insert into n values (nextval('s'), nextval('s'), 13), (nextval('s'), nextval('s'), 14) returning *
insert into n (b, a, c) select nextval('s'), nextval('s'), id + 20 from t order by id returning a, b
insert into n (b, a, c) values (nextval('s'), nextval('s'), 30) returning *
insert into n (b, a, c) values (nextval('s'), nextval('s'), 31), (nextval('s'), nextval('s'), 32) returning *
update n set b = nextval('s'), a = nextval('s') where c = 13 returning *
delete from n where c = 14 returning nextval('s'), currval('s')
create table two (a bigserial, b bigserial, c int)
insert into two (c) select id from t order by id
select * from two
with x as (select nextval('s') as a, currval('s') as b from t) select * from x where a = b
select * from (select nextval('s') as a, nextval('s') as b from t limit 2) q
select nextval('s'), currval('s') from t where nextval('s') > 0
create sequence few
create table taken (a int)
insert into taken select * from (select nextval('few') from generate_series(1, 100)) q limit 3
select last_value from few
select random() is null, nextval('s') is null, gen_random_uuid() is null from t
"#;

const FUNCTIONS: &str = r#"
create table log (n int, w text)
create function note(n int) returns int language plpgsql as $$ begin insert into log values (n, 'x'); return n; end $$
create function noted() returns bigint language sql volatile as 'select count(*) from log'
create function first_noted() returns bigint language sql stable as 'select count(*) from log'
select note(g), noted() from generate_series(1, 3) g
select noted(), note(g), noted() from generate_series(1, 3) g
select note(g) * 100 + noted() from generate_series(1, 3) g
select note(g), first_noted() from generate_series(1, 3) g
create table o (a int, b bigint)
insert into o select note(g), noted() from generate_series(1, 3) g
select * from o
insert into o values (note(7), noted()), (note(8), noted()) returning a, b
update o set a = note(a), b = noted() where a < 7 returning a, b
merge into o using (values (7), (8), (9)) v(k) on a = k when matched then update set a = note(a + 10), b = noted() when not matched then insert values (note(k), noted())
select * from o order by 1, 2
select count(note(g)), sum(noted()) from generate_series(1, 3) g
select note(g), noted() from generate_series(1, 3) g order by g desc
select distinct note(1), noted() > 0 from generate_series(1, 3) g
select note(x.a), noted() from (values (1), (2)) x(a) where note(x.a + 1) > 0
"#;

const SETTINGS: &str = r#"
select set_config('a.b', 'x', false), current_setting('a.b')
select current_setting('a.b'), set_config('a.b', 'y', false), current_setting('a.b')
select set_config('a.b', g::text, false), current_setting('a.b') from generate_series(1, 3) g
select set_config('a.c', 'z', true), current_setting('a.c', true)
select current_setting('a.c', true)
begin
select set_config('a.c', 'z', true), current_setting('a.c', true)
select current_setting('a.c', true)
commit
select set_config('a.d', '', false), current_setting('a.d')
select set_config('work_mem', '5MB', false), current_setting('work_mem')
reset work_mem
select current_setting('a.e')
select set_config('a.e', '1', false) where current_setting('a.e', true) is null
create function tenant(t text) returns void language plpgsql as $$ begin perform set_config('app.tenant', t, false); end $$
create function tenant_now() returns text language sql stable as $$ select current_setting('app.tenant') $$
select tenant('five'), current_setting('app.tenant')
set app.tenant = 'x'
select tenant('y'), current_setting('app.tenant')
select current_setting('app.tenant'), tenant('z'), current_setting('app.tenant', true)
select tenant(g::text), current_setting('app.tenant') from generate_series(1, 3) g
select tenant(g::text), tenant_now() from generate_series(1, 3) g
select set_config('app.tenant', 'a', false), tenant('b'), current_setting('app.tenant')
select current_setting('app.tenant')
select set_config('app.tenant', 'c', false), tenant_now()
select set_config('app.tenant', g::text, false), tenant_now() from generate_series(1, 3) g
select tenant_now(), set_config('app.tenant', 'd', true), tenant_now()
select current_setting('app.tenant')
begin
select set_config('app.tenant', 'e', true), tenant_now()
savepoint p
select tenant('f'), current_setting('app.tenant')
rollback to p
select current_setting('app.tenant')
rollback
select current_setting('app.tenant')
create table of (tenant text, v int)
insert into of values ('1', 1), ('2', 2), ('d', 3)
create index on of (tenant)
select set_config('app.tenant', '2', false), v from of where tenant = '2'
select v, current_setting('app.tenant') from of where tenant = current_setting('app.tenant')
select v, current_setting('app.tenant'), tenant('1'), current_setting('app.tenant') from of where tenant = current_setting('app.tenant')
select set_config('a.f', v, false), current_setting('a.f', true) from (values ('x'), ('y')) q(v)
with s as (select set_config('a.g', 'cte', false)) select current_setting('a.g', true) from s
prepare p (text) as select set_config('a.h', $1, false), current_setting('a.h', true)
execute p('one')
execute p('two')
set app.tenant = '1'
select set_config('app.tenant', '2', false), (select count(*) from of where tenant = current_setting('app.tenant'))
select set_config('app.tenant', '1', false), (select max(v) from of where tenant = current_setting('app.tenant'))
select current_setting('app.tenant'), set_config('app.tenant', '3', false), current_setting('app.tenant')
select set_config('datestyle', 'german', false), current_setting('datestyle')
select set_config('datestyle', 'mdy', false), current_setting('datestyle'), date '2024-02-01' is null
reset datestyle
select tenant('six'), tenant_now()
select tenant_now(), current_setting('app.tenant')
set app.tenant = 'seven'
select current_setting('app.tenant'), tenant('eight')
drop function tenant(text)
drop function tenant_now()
set app.tenant = 'nine'
select current_setting('app.tenant')
"#;

const SEEN: &str = r#"
create table t (id int)
insert into t values (1), (2), (3)
select count(distinct r) from (select setseed(0.5), random() as r from t offset 0) q
select min(at) < max(at) from (select pg_sleep(0.05), clock_timestamp() as at from t offset 0) q
create sequence s
select nextval('s'), (select currval('s') + 0 * id) from t
create function half(f float8) returns float8 language sql immutable as 'select $1 / 2'
select half(id), nextval('s'), currval('s'), half(currval('s')) from t order by id
create table f (id int, f float8)
create function zero() returns trigger language plpgsql as $$ begin new.f := '-0'; return new; end $$
create trigger z before update on f for each row execute function zero()
insert into f values (1, 0)
update f set id = 2 returning f::text
select f::text from f
"#;

const WRITTEN: &str = r#"
create table vu (id int primary key, s text)
create function mx() returns int language plpgsql as 'begin return (select coalesce(max(id), 0) + 1 from vu); end'
alter table vu alter id set default mx()
insert into vu (s) values ('a'), ('b')
insert into vu (s) values ('c'), ('d'), ('e'), ('f'), ('g') returning *
insert into vu (s) select 'x' || g from generate_series(1, 4) g
insert into vu (s) values ('q1'), ('q2') on conflict do nothing
insert into vu (id, s) values (mx(), 'r1'), (mx(), 'r2') on conflict (id) do update set s = excluded.s || '!' returning *
insert into vu select mx(), 'y' || g from generate_series(1, 3) g
insert into vu select * from (select mx(), 'z' || g from generate_series(1, 3) g offset 0) q
insert into vu select mx(), 'l' || g from generate_series(1, 9) g limit 2
insert into vu (id, s) values (default, 'd1'), (mx(), 'd2'), (default, 'd3') returning id, s
select * from vu order by id
create table au (n int, tot bigint)
create function tot() returns bigint language plpgsql as $$ begin return (select coalesce(sum(n), 0) from au); end $$
create function tot_stable() returns bigint language sql stable as 'select coalesce(sum(n), 0) from au'
insert into au values (1, tot()), (2, tot()), (3, tot())
insert into au select g, tot() from generate_series(10, 14) g
insert into au select g, tot_stable() from generate_series(20, 22) g
insert into au values (30, tot()), (31, tot_stable()) returning *
select * from au order by n
create table own (id int primary key, up int references own)
create function last() returns int language sql as 'select max(id) from own'
insert into own values (1, last()), (2, last()), (3, last())
select * from own order by id
insert into own values (4, 5), (5, last()), (6, 99)
create view vv as select * from vu
insert into vv (s) values ('v1'), ('v2') returning *
"#;

#[test]
fn functions_see_rows_that_were_inserted_before() {
    compared::compare(WRITTEN);
}

#[test]
fn what_others_have_done_is_seen() {
    compared::compare(SEEN);
}

#[test]
fn sequences_are_taken_row_by_row() {
    compared::compare(SEQUENCES);
}

#[test]
fn functions_see_what_those_before_them_did() {
    compared::compare(FUNCTIONS);
}

#[test]
fn settings_are_seen_by_the_rest_of_the_statement() {
    compared::compare(SETTINGS);
}
