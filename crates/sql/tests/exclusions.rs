//! Do exclusion constraints refuse what PostgreSQL's refuse, with its words and in its catalogs?
//!
//! Scripts are compared with a private PostgreSQL 15 (a Debian package).

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use compared::compare;
use onlap_base::rng::Rng;
use onlap_testkit::for_seeds;
use onlap_testkit::simple::Outcome;
use support::Fixture;

/// Tags, rows, SQLSTATE, message, detail, hint, and which schema, table, column and constraint an error names.
fn with_fields(outcome: &Outcome) -> String {
    let Outcome { tags, error, detail, hint, rows, said, .. } = outcome;
    let named: Vec<_> = said.iter().filter(|(letter, _)| "stcdn".contains(*letter)).collect();
    format!("{tags:?} {error:?} {detail:?} {hint:?} {named:?} {rows:?}")
}

/// Definitions, and what of them is refused.
const DEFINITIONS: &str = r#"
create table a (room int, during tsrange, exclude using gist (room with =, during with &&))
create table a (room text, exclude using gist (room with =))
create extension btree_gist
create table a (room int, during int4range, x numrange, n cidr, i inet, exclude using gist (room with =, during with &&) where (room > 0), constraint q exclude (room with =), exclude using btree (room with =, during with =) deferrable initially deferred, exclude using hash (room with =), exclude using gist (i inet_ops with &&), exclude using gist (int4range(room, room + 2) with &&, (room + 1) with =))
insert into a values (1, '[1,5)', null, null, '10.0.0.0/8'), (2, '[1,5)', null, null, '11.0.0.0/8')
insert into a values (1, '[1,5)', null, null, '11.0.0.0/8')
alter table a drop constraint q, drop constraint a_room_excl
insert into a values (1, '[3,6)', null, null, '12.0.0.0/8')
insert into a values (6, '[3,6)', null, null, '11.0.0.0/9')
insert into a values (0, '[3,6)', null, null, '14.0.0.0/9')
insert into a values (-1, '[3,6)', null, null, '15.0.0.0/9'), (-1, '[3,7)', null, null, '16.0.0.0/9')
select * from a order by room, during
create table c (a int, d int4range)
insert into c values (1, '[1,5)'), (2, '[3,9)'), (1, '[2,3)'), (1, '[0,9)')
alter table c add exclude using gist (a with =, d with &&)
alter table c add exclude using gist (a with =, d with <@)
alter table c add exclude using gist (a with =, d with @>)
alter table c add exclude using gist (a with &&)
alter table c add exclude using btree (a with <)
alter table c add exclude using btree (d with &&)
alter table c add exclude using hash (a with =, d with =)
alter table c add exclude using hash (a with =) include (d)
alter table c add exclude using brin (a with =)
alter table c add exclude using gin (a with =)
alter table c add exclude using foo (a with =)
alter table c add exclude using gist (z with =)
alter table c add exclude using gist (a with ===)
alter table c add exclude using gist (a with operator(pg_catalog.=))
alter table c add exclude using gist (a with operator(nowhere.=))
alter table c add exclude using gist (a desc with =)
alter table c add exclude using gist (a nulls first with =)
alter table c add exclude using gist (a foo_ops with =)
alter table c add exclude using btree (a desc nulls first with =)
alter table c add exclude (a with =) include (d)
alter table c add exclude (a with =) not valid
delete from c where a = 1 and d <> '[1,5)'
alter table c add constraint both exclude using gist (d with &&, a with =)
alter table c add constraint both exclude using gist (d with &&, a with =)
insert into c values (1, '[4,9)')
insert into c values (1, '[5,9)'), (1, 'empty'), (1, 'empty'), (null, '[1,9)'), (null, '[1,9)'), (1, null), (1, null)
insert into c values (1, '[9,)'), (1, '(,1)')
insert into c values (1, '(,)')
create table p (a int, d int4range, exclude using gist (d with &&)) partition by range (a)
create table p (a int, d int4range) partition by range (a)
alter table p add exclude using gist (d with &&)
create table p1 partition of p for values from (0) to (10)
alter table p1 add exclude using gist (d with &&)
insert into p values (1, '[1,5)'), (2, '[5,6)')
insert into p values (3, '[2,3)')
insert into p values (3, '[2,3)') on conflict do nothing
create table e (a int[], c point)
alter table e add exclude using gist (a with &&)
alter table a alter constraint a_room_during_excl deferrable
alter table a validate constraint a_room_during_excl
drop index a_room_during_excl
reindex table a
create table l (like a including all)
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'l'::regclass order by 1
insert into l select * from a
insert into l values (1, '[4,5)', null, null, null)
alter table a rename constraint a_room_during_excl to foo
alter index foo rename to foo2
alter table a rename column during to d2
insert into a values (1, '[3,6)', null, null, '12.0.0.0/8')
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'a'::regclass order by 1
alter table a drop column d2
select conname from pg_constraint where conrelid = 'a'::regclass order by 1
insert into a values (1, null, null, '10.2.0.0/16')
alter table a drop constraint nothing
alter table a drop constraint a_i_excl
insert into a values (9, null, null, '10.2.0.0/16')
create table "Odd" ("A b" int, "D" daterange, exclude using gist ("A b" with =, "D" with &&))
insert into "Odd" values (1, '[2020-01-01,2020-01-05)'), (1, '[2020-01-05,2020-01-06)')
insert into "Odd" values (1, '[2020-01-04,2020-01-05]')
drop table a, c, l, p, "Odd" cascade
"#;

/// What the catalogs say.
const CATALOGS: &str = r#"
create extension btree_gist
create table a (room int, during int4range, x int8range, n cidr, i inet, exclude using gist (room with =, during with &&) where (room > 0), exclude using gist (during with &&, x with =, room with =) deferrable, constraint q exclude (room with =), exclude using gist (i inet_ops with &&), exclude using gist (int4range(room, room + 2) with &&, (room + 1) with =) include (x))
select conname, contype, conkey, conexclop::text, conindid::regclass::text, condeferrable, condeferred, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true), connoinherit, conislocal, coninhcount, convalidated from pg_constraint where conrelid = 'a'::regclass order by conname
select indexrelid::regclass::text, indisunique, indisexclusion, indisprimary, indimmediate, indkey::text, indoption::text, indcollation::text, indnatts, indnkeyatts, pg_get_indexdef(indexrelid), pg_get_indexdef(indexrelid, 1, true), pg_get_indexdef(indexrelid, 2, false), pg_get_expr(indexprs, indrelid), pg_get_expr(indpred, indrelid) from pg_index where indrelid = 'a'::regclass order by 1
select c.relname, m.amname, c.relkind, c.relnatts from pg_class c join pg_am m on m.oid = c.relam where relname like 'a\_%' order by 1
select i.indexrelid::regclass::text, (select string_agg(opcname, ',' order by at) from unnest(i.indclass::oid[]) with ordinality as u(o, at) join pg_opclass p on p.oid = u.o) from pg_index i where indrelid = 'a'::regclass order by 1
select attrelid::regclass::text, attnum, attname from pg_attribute where attrelid in (select indexrelid from pg_index where indrelid = 'a'::regclass) order by 1, 2
select constraint_name, constraint_type from information_schema.table_constraints where table_name = 'a' order by 1
select * from information_schema.constraint_column_usage where table_name = 'a'
select * from information_schema.key_column_usage where table_name = 'a'
select extname, extversion from pg_extension order by 1
drop extension btree_gist
drop extension btree_gist cascade
select conname from pg_constraint where conrelid = 'a'::regclass order by 1
create function f(int) returns int4range immutable language sql as 'select int4range($1, $1 + 5)'
create table g (id int, exclude using gist (f(id) with &&))
insert into g values (1), (7)
insert into g values (4)
drop function f(int)
drop function f(int) cascade
insert into g values (4)
create temp table tt (r int4range, exclude using gist (r with &&))
insert into tt values ('[1,5)'), ('[5,6)')
insert into tt values ('[4,5)')
create table pp (a int, d int4range) partition by range (a)
create table pp1 partition of pp (exclude using gist (d with &&)) for values from (0) to (10)
insert into pp values (1, '[1,5)')
insert into pp values (1, '[4,6)')
create domain hours as int4range check (not isempty(value))
create table dd (h hours, exclude using gist (h with &&))
insert into dd values ('[1,5)'), ('[5,6)')
insert into dd values ('[4,5)')
create table s (id int, r int4range, exclude using gist (r with &&))
insert into s values (1, '[1,5)')
create function tried() returns text language plpgsql as $$ declare d text; c text; begin insert into s values (3, '[1,2)'); return 'in'; exception when exclusion_violation then get stacked diagnostics d = pg_exception_detail, c = constraint_name; return c || ': ' || d; end $$
select tried()
create role only_in
grant insert on s to only_in
set role only_in
insert into s values (2, '[2,3)')
reset role
"#;

/// Rows that come, change and go.
const ROWS: &str = r#"
create extension btree_gist
create table b (id int primary key, room int, during daterange, note text, exclude using gist (room with =, during with &&))
insert into b values (1, 1, '[2020-01-01,2020-01-05)'), (2, 1, '[2020-01-05,2020-01-09)'), (3, 2, '[2020-01-01,2020-02-01)')
insert into b values (4, 1, '[2020-02-01,2020-02-05)'), (5, 1, '[2020-02-04,2020-02-09)')
insert into b values (4, 1, '[2020-02-01,2020-02-05)'), (5, 1, '[2020-01-04,2020-01-06)')
insert into b select 10 + g, 3, daterange('2021-01-01'::date + g, '2021-01-01'::date + g + 1) from generate_series(1, 50) g
insert into b select 100 + g, 3, daterange('2021-01-01'::date + g, '2021-01-01'::date + g + 1) from generate_series(50, 90) g
update b set during = '[2020-01-04,2020-01-06)' where id = 1
update b set during = '[2020-01-02,2020-01-04)' where id = 1
update b set note = 'x' where id = 1
update b set room = 2 where id = 1
update b set room = 4
update b set room = null where id = 1
update b set room = 1 where id = 1
insert into b values (6, 1, '[2020-01-02,2020-01-03)') on conflict do nothing
insert into b values (6, 1, '[2020-03-02,2020-03-03)'), (7, 1, '[2020-03-02,2020-03-03)') on conflict do nothing
insert into b values (1, 1, '[2020-03-02,2020-03-03)') on conflict (id) do update set note = 'again'
insert into b values (8, 1, '[2020-03-02,2020-03-03)') on conflict (id) do update set note = 'again'
insert into b values (8, 1, '[2020-03-02,2020-03-03)') on conflict (id) do nothing
insert into b values (1, 1, '[2020-03-02,2020-03-03)') on conflict (id) do update set during = '[2020-01-06,2020-01-07)'
insert into b values (8, 1, '[2020-03-02,2020-03-03)') on conflict on constraint b_room_during_excl do nothing
insert into b values (8, 1, '[2020-03-02,2020-03-03)') on conflict on constraint b_room_during_excl do update set note = 'z'
insert into b values (8, 1, '[2020-03-02,2020-03-03)') on conflict (room, during) do nothing
insert into b values (8, 1, '[2020-03-02,2020-03-03)') on conflict on constraint nothing do nothing
select id, room, during, note from b where id < 10 order by id
merge into b using (values (1, date '2020-05-01'), (70, date '2020-05-02')) v(i, d) on b.id = v.i when matched then update set during = daterange(v.d, v.d + 2) when not matched then insert values (v.i, 1, daterange(v.d, v.d + 2))
merge into b using (values (1, date '2020-05-01'), (70, date '2020-05-03')) v(i, d) on b.id = v.i when matched then update set during = daterange(v.d, v.d + 2) when not matched then insert values (v.i, 1, daterange(v.d, v.d + 2))
delete from b where id = 70
insert into b values (70, 1, '[2020-05-03,2020-05-04)')
begin
delete from b where id = 70
insert into b values (71, 1, '[2020-05-03,2020-05-04)')
savepoint s
insert into b values (72, 1, '[2020-05-03,2020-05-04)')
rollback to s
update b set during = '[2020-05-03,2020-05-05)' where id = 71
insert into b values (73, 1, '[2020-05-04,2020-05-05)')
rollback
with gone as (delete from b where id = 70 returning *) insert into b select 71, room, during from gone
prepare p (int, int, daterange) as insert into b values ($1, $2, $3)
execute p (80, 9, '[2020-01-01,2020-01-02)')
execute p (81, 9, '[2020-01-01,2020-01-02)')
execute p (81, 9, '[2020-01-02,2020-01-03)')
select count(*), count(distinct room) from b
truncate b
insert into b values (1, 1, '[2020-01-01,2020-01-05)')
select * from b where room = 1 and during && '[2020-01-04,2020-02-01)'
select * from b where during = '[2020-01-01,2020-01-05)'
select * from b where room = 1 order by during desc
alter table b alter room type bigint
insert into b values (2, 1, '[2020-01-01,2020-01-02)')
alter table b alter during type text using during::text
create table n (r numrange, t tstzrange, u tsrange, k int8range, v text, exclude using gist (r with &&), exclude using gist (v with =, t with &&), exclude using gist (u with &&) where (v <> 'free'), exclude using gist (k with =))
insert into n values ('[1.0,2.5)', '[2020-01-01 00:00+00,2020-01-02 00:00+00)', '[2020-01-01,2020-01-02]', '[1,2)', 'a')
insert into n values ('[2.50,3)', '[2020-01-01 12:00+00,)', null, null, 'a')
insert into n values ('[2.49999,3)', null, null, null, 'a')
insert into n values ('[2.5,3)', null, '[2020-01-02,2020-01-03]', null, 'a')
insert into n values ('[2.5,3)', null, '[2020-01-02,2020-01-03]', null, 'free')
insert into n values ('(3,4]', null, '[2020-01-02,2020-01-03]', '[1,1]', 'free')
insert into n values ('[-1.5,-1.25]', null, null, '[2,3]', 'b'), ('[-1.25,0]', null, null, null, 'b')
insert into n values ('[-1.25,0]', '[-infinity,infinity]', null, null, 'b')
insert into n values ('[4,4]', '[2020-01-01,2020-01-02)', null, null, 'b')
insert into n values ('(4,4.1)', '[2020-01-01,2020-01-02)', null, null, 'b')
select * from n order by r
create table w (i inet, exclude using gist (i inet_ops with &&))
insert into w values ('10.0.0.0/8'), ('11.1.1.1'), ('::/0'), ('192.168.0.0/24'), (null)
insert into w values ('10.200.0.1/24')
insert into w values ('8.0.0.0/5')
insert into w values ('fe80::1')
insert into w values ('11.1.1.1/32')
insert into w values ('11.1.1.0/31')
insert into w values ('0.0.0.0/0')
insert into w values ('192.168.1.0/24'), ('192.168.0.255')
create table f (a int, b int, exclude using gist (int4range(a, b) with &&))
insert into f values (1, 5), (5, 6), (7, 7), (7, 7)
insert into f values (4, 8)
update f set b = 6 where a = 1
update f set b = 4 where a = 1
insert into f values (9, 1)
"#;

/// What is put off, and what rows were judged in an order.
const DEFERRED: &str = r#"
create extension btree_gist
create table d (id int, room int, during int4range, constraint x exclude using gist (room with =, during with &&) deferrable, constraint y exclude using btree (id with =) deferrable initially deferred)
insert into d values (1, 1, '[1,5)'), (2, 1, '[5,9)'), (3, 1, '[9,12)')
update d set during = int4range(lower(during) + 3, upper(during) + 3)
insert into d values (4, 1, '[6,7)')
insert into d values (4, 2, '[6,7)'), (5, 2, '[5,9)')
insert into d values (4, 1, '[1,2)') on conflict do nothing
begin
set constraints x deferred
insert into d values (4, 1, '[6,7)'), (5, 1, '[6,7)')
insert into d values (6, 1, '[4,20)')
set constraints x immediate
rollback
begin
set constraints all deferred
insert into d values (4, 1, '[6,7)'), (5, 1, '[6,7)')
delete from d where id in (1, 4)
set constraints x immediate
commit
begin
insert into d values (5, 8, null)
savepoint s
insert into d values (7, 8, null)
update d set id = 8 where id = 5
commit
begin
insert into d values (2, 8, null)
commit
begin
insert into d values (2, 8, null)
set constraints y immediate
rollback
begin
set constraints all deferred
insert into d values (20, 1, '[6,7)')
commit
select * from d order by id, room
"#;

/// Rows that are judged together, columns that go or get another type, classes, parameters, and what roles are told.
const CHANGES: &str = r#"
create extension btree_gist
create table nan (id int, f float8, v text)
insert into nan values (1, 'nan', 'nan'), (2, 'inf'::float8 - 'inf'::float8, 'NaN'), (3, 0, '0'), (4, -1, '-1')
alter table nan add constraint e exclude (f with =)
delete from nan where id = 2
insert into nan values (5, '-0', 'nan')
alter table nan add constraint e exclude (f with =)
delete from nan where id = 5
alter table nan add constraint e exclude (f with =)
insert into nan values (6, 'inf'::float8 - 'inf'::float8, '6')
insert into nan values (7, 7, 'NaN')
alter table nan add constraint ev exclude (v with =)
alter table nan alter v type float8 using v::float8
select * from nan order by id
create table t1 (id int, s int, r int4range, constraint e1 exclude using gist (r with &&, s with =) where (id > 0 and s > 0))
create table t2 (a int, b int, constraint e2 exclude using gist (a with =, int4range(a, b) with &&))
create table t3 (id int, r int4range, i int, constraint e3 exclude using gist (r with &&) where (id > 0), constraint e4 exclude (i with =) include (id))
alter table t1 drop column id
alter table t2 drop column b
alter table t3 drop column id
insert into t3 values (1, '[1,5)', 1)
insert into t3 values (2, '[1,5)', 2)
alter table t1 drop column s
alter table t2 drop column a
alter table t3 drop column id cascade
insert into t3 values ('[1,5)', 1)
select conrelid::regclass::text, conname from pg_constraint where conrelid in ('t1'::regclass, 't2'::regclass, 't3'::regclass)
create table r (room int, d int4range, id int, constraint rx exclude using gist (room with =, d with &&), constraint rq exclude (room with =, d with =), constraint ro exclude using gist (d with &&, id with =))
comment on constraint rx on r is 'of the constraint'
comment on index rx is 'of the index'
select conname, conexclop::text, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'r'::regclass order by 1
insert into r values (1, '[1,5)', 1)
alter table r alter room type bigint
select conname, conexclop::text, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'r'::regclass order by 1
select conname, obj_description(oid, 'pg_constraint'), obj_description(conindid, 'pg_class') from pg_constraint where conrelid = 'r'::regclass order by 1
select count(*) from pg_description d where d.description like 'of the %'
insert into r values (1, '[4,5)', 2)
alter table r alter room type text
select conname, conexclop::text from pg_constraint where conrelid = 'r'::regclass order by 1
insert into r values ('1', '[4,5)', 2)
select conname, obj_description(oid, 'pg_constraint'), obj_description(conindid, 'pg_class') from pg_constraint where conrelid = 'r'::regclass order by 1
create table o1 (r int4range, constraint o1x exclude using gist (r with &&) with (buffering = off, fillfactor = 50))
create table o2 (r int4range, exclude using gist (r with &&) with (buffering = foo))
create table o2 (r int4range, exclude using gist (r with &&) with (deduplicate_items = off))
create table o2 (r int, exclude using hash (r with =) with (deduplicate_items = off))
create table o2 (r int, exclude using hash (r with =) with (fillfactor = 50))
create table o3 (r int, exclude using btree (r with =) with (buffering = off))
alter index o1x set (buffering = auto)
alter index o1x set (deduplicate_items = off)
alter index o1x set (buffering = auto2)
alter index o1x set (fillfactor = 5)
select relname, reloptions from pg_class where relname like 'o%' and reloptions is not null order by 1
select pg_get_constraintdef(oid) from pg_constraint where conname = 'o1x'
create table k (a int, exclude using hash (a nonsense_ops with =))
create table k (a int, exclude using hash (a int8_ops with =))
create table k (a int, exclude using hash (a int4_ops with =))
create table k1 (a int, exclude using gist (a nowhere.gist_int4_ops with =))
create table k1 (a int, exclude using gist (a pg_catalog.gist_int4_ops with =))
create table k1 (a int, exclude using gist (a public.gist_int4_ops with =))
create table k2 (a int, exclude using gist (a range_ops with =))
create table k2 (r int4range, exclude using gist (r public.range_ops with &&))
create table k2 (r int4range, exclude using gist (r pg_catalog.range_ops with &&))
create schema x
create extension citext schema x
create table c (c x.citext, constraint cx exclude using btree (c with operator(x.=)))
insert into c values ('a'), ('A')
select pg_get_constraintdef(oid) from pg_constraint where conname = 'cx'
set search_path = public, x
select pg_get_constraintdef(oid) from pg_constraint where conname = 'cx'
reset search_path
create table p (a int, r int4range, secret text, constraint px exclude using gist (a with =, r with &&) where (secret <> 'x'))
create table p2 (a int, secret text, exclude using gist (int4range(a, a + 2) with &&))
insert into p values (1, '[1,5)', 'y')
insert into p2 values (1, 'y')
create role reader
grant insert, select (a, r) on p to reader
grant insert, select (a) on p2 to reader
set role reader
insert into p values (1, '[2,6)', 'z')
insert into p2 values (2, 'z')
reset role
revoke select (r) on p from reader
set role reader
insert into p values (1, '[2,6)', 'z')
reset role
"#;

#[test]
fn what_becomes_of_them_is_as_in_postgresql() {
    same(CHANGES);
}

/// NaN equals NaN also among the rows of a group that are judged together, as one by one; btree_gist lets them pass.
#[test]
fn rows_of_a_group_of_nan_are_judged() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    let rows =
        |with: &str| format!("insert into t values (1, 'nan', '[1,5)'), (2, {with}, '[2,3)')");
    talk.rows("create extension btree_gist");
    talk.rows("create table t (id int, f float8, r int4range)");
    talk.rows(&rows("'inf'::float8 - 'inf'::float8"));
    let add = "alter table t add constraint x exclude using gist (f with =, r with &&)";
    assert_eq!(talk.run(add).state(), "23P01");
    talk.rows("truncate t");
    talk.rows(add);
    assert_eq!(talk.run(&rows("'nan'")).state(), "23P01");
    talk.rows(&rows("1"));
}

/// Many dead entries lie between a row and the living one before it.
#[test]
fn dead_rows_are_not_met() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table t (id int, r int4range, constraint x exclude using gist (r with &&))");
    talk.rows("insert into t select n, int4range(n, n + 1) from generate_series(0, 9999) n");
    talk.rows("delete from t where id between 1 and 9998");
    talk.rows("insert into t values (-1, '[1,3)'), (-2, '[5000,9999)')");
    talk.rows("begin");
    talk.rows("delete from t where id = -2");
    talk.rows("insert into t values (-2, '[3,9999)')");
    talk.rows("commit");
    for row in ["[0,1)", "[2,3)", "[9998,9999)", "[9990,20000)"] {
        let refused = talk.run(&format!("insert into t values (7, '{row}')"));
        assert_eq!(refused.state(), "23P01", "{row}");
    }
    talk.rows("insert into t values (7, '[10000,20000)')");
}

/// Indexes that are declared as of gist.
const GIST: &str = r#"
create table g (id int, r int4range, m int4multirange, i inet, t text, v tsvector, p point)
create index on g using gist (r)
create index on g using gist (m)
create index on g using gist (i)
create index on g using gist (r, m) include (id) where (id > 0)
create index on g using gist (int4range(id, id + 1))
create index on g using gist (id)
create index on g using gist (id foo_ops)
create index optioned on g using gist (r) with (buffering = auto)
create index on g using gist (r) with (nothing = 1)
create index on g using gist (nothing)
create unique index on g using gist (r)
create index on g using gist (r desc)
create extension btree_gist
create index named on g using gist (id, t, r)
create index on g using gist (id gist_int4_ops)
create index on g using gist (id gist_int8_ops)
insert into g select n, int4range(n, n + 5), int4multirange(int4range(n, n + 2)), '10.0.0.0'::inet + n, 't' || n from generate_series(1, 300) n
select id from g where r && '[7,9)' order by id
select id from g where r @> 17 order by id
select id from g where r = '[7,12)'
select id from g where i << '10.0.0.4/30' order by id
select id from g where id = 7 and t = 't7'
select indexrelid::regclass::text, pg_get_indexdef(indexrelid), indkey::text, indoption::text, indisexclusion from pg_index where indrelid = 'g'::regclass order by 1
select c.relname, m.amname from pg_class c join pg_am m on m.oid = c.relam join pg_index i on i.indexrelid = c.oid where indrelid = 'g'::regclass order by 1
create table l (like g including all)
select indexrelid::regclass::text, pg_get_indexdef(indexrelid) from pg_index where indrelid = 'l'::regclass order by 1
alter table g alter id type bigint
select indexrelid::regclass::text, pg_get_indexdef(indexrelid) from pg_index where indrelid = 'g'::regclass order by 1
alter index named rename to other
alter table g add constraint x unique using index other
drop index other
"#;

#[test]
fn indexes_of_gist_are_taken() {
    compare(GIST);
}

fn same(script: &str) {
    for before in ["", "SET fast_path = off"] {
        let differ = compared::differences(script.lines(), before, with_fields);
        assert!(differ.is_empty(), "{before}\n{}", differ.join("\n"));
    }
}

#[test]
fn they_are_there_after_a_restart() {
    let dir = tempfile::tempdir().expect("a folder");
    let shown = "select pg_get_constraintdef(oid) from pg_constraint where conname = 'x'";
    let made = "EXCLUDE USING gist (during WITH &&, room WITH =) WHERE (room > 0)";
    {
        let fixture = Fixture::at(dir.path());
        let mut talk = fixture.session();
        talk.rows("create extension btree_gist");
        talk.rows(&format!("create table t (room int, during int4range, constraint x {made})"));
        talk.rows("insert into t values (1, '[1,5)'), (0, '[1,5)'), (0, '[1,5)')");
    }
    let fixture = Fixture::at(dir.path());
    let mut talk = fixture.session();
    let defined = talk.rows(shown);
    let text = defined[0][0].as_deref().expect("it is there");
    assert_eq!(text.replace("((room > 0))", "(room > 0)"), made);
    let refused = talk.run("insert into t values (1, '[4,6)')");
    assert_eq!(refused.state(), "23P01");
    let wanted =
        "Key (during, room)=([4,6), 1) conflicts with existing key (during, room)=([1,5), 1).";
    assert_eq!(refused.detail, wanted);
    talk.rows("insert into t values (1, '[5,6)'), (0, '[4,6)')");
}

#[test]
fn definitions_are_taken_and_refused_as_in_postgresql() {
    same(DEFINITIONS);
}

#[test]
fn catalogs_show_them() {
    compare(CATALOGS);
}

#[test]
fn rows_conflict_as_in_postgresql() {
    same(ROWS);
}

#[test]
fn what_is_put_off_is_judged_later() {
    same(DEFERRED);
}

/// A statement at random, of a session that is alone.
fn statement(rng: &mut Rng, id: u64) -> String {
    let (room, lower) = (rng.below(3), rng.below(50));
    let upper = lower + rng.below(7);
    let (other, range) = (rng.below(id.max(1)), format!("int4range({lower}, {upper})"));
    match rng.below(16) {
        0 => "begin".into(),
        1 => "commit".into(),
        2 => "rollback".into(),
        3 => "savepoint s".into(),
        4 => "rollback to s".into(),
        5 => "set constraints all deferred".into(),
        6 => "set constraints all immediate".into(),
        7 => format!("delete from t where id = {other}"),
        8 => format!("update t set during = {range} where id = {other}"),
        9 => format!("update t set room = {room}, during = {range} where id = {other}"),
        10 => format!("insert into t values ({id}, {room}, {range}) on conflict do nothing"),
        11 => format!(
            "insert into t values ({id}, {room}, {range}), ({id}, {room}, int4range({upper}, {upper} + 2)), \
             ({id}, {room}, null)"
        ),
        _ => format!("insert into t values ({id}, {room}, {range})"),
    }
}

/// Statements at random are answered as in PostgreSQL, to the words of each conflict.
#[test]
fn random_statements_are_answered_alike() {
    for_seeds("random_statements_are_answered_alike", 4, |rng| {
        let rng = &mut rng.clone();
        let time = ["", "", "deferrable", "deferrable initially deferred"][rng.index(4)];
        let mut script = vec![
            "create extension btree_gist".to_string(),
            format!(
                "create table t (id int, room int, during int4range, \
                 constraint x exclude using gist (room with =, during with &&) {time})"
            ),
        ];
        for id in 0..300 {
            script.push(statement(rng, id));
            if id % 20 == 0 {
                script.push("select * from t order by id, room, during".into());
            }
        }
        script.push("commit".into());
        script.push("select * from t order by id, room, during".into());
        let differ = compared::differences(script.iter().map(String::as_str), "", with_fields);
        assert!(differ.is_empty(), "{time}\n{}", differ.join("\n"));
    });
}
