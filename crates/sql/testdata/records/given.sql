create table t(a int, b text)
insert into t values (1, 'x'), (2, null)
create type ct as (a int, b text)
create view v as select a + 10 as a, b from t
create function r1() returns record language sql as 'select t from t order by a limit 1'
select r1()
select r1()::text
select to_jsonb(r1()), row_to_json(r1())
select r1() = r1(), r1() is null, r1() is not null
select r1() from t order by r1()
select count(distinct r1()) from t
create function r2() returns record language sql as 'select t, 2 from t order by a limit 1'
select r2()
select * from r2() as (x t, n int)
select (x).b, n from r2() as (x t, n int)
select * from r1() as (a int, b text)
select * from r1() as (x t)
create function r3() returns record language sql as 'select v, array[t], row(t, v) from t, v order by t.a, v.a limit 1'
select r3()
select to_jsonb(r3())
create function r4() returns setof record language sql as 'select t, v from t, v order by t.a, v.a'
select r4()::text
select count(*) from r4() as (x t, y v)
create function r5() returns record language sql as 'select c from (select 1 as a, array[t] as l from t order by t.a limit 1) c'
select r5()
create function p1() returns record language plpgsql as $$ begin return (select q from (select t, 1 n from t order by a limit 1) q); end $$
select p1()
select to_jsonb(p1())
create function p2() returns record language plpgsql as $$ declare r record; begin select t as w, 5 as n into r from t order by a limit 1; return r; end $$
select p2(), p2()::text
create function p3() returns setof record language plpgsql as $$ declare r record; begin for r in select t as w, v from t, v order by t.a, v.a loop return next r; end loop; end $$
select x::text, y::text from p3() as (x t, y v)
create function r9() returns setof record language sql as 'select t from t order by a'
select r9(), r9()::text
select * from r9() as (a int, b text)
select array[r1(), r2()]::text
select row(r1(), 5)
select greatest(r1(), r1())
select r1(), r2(), r1() from t
create temp table own(z int, w numeric(5,2))
insert into own values (1, 2.5)
create function r6() returns record language sql as 'select own, own.z from own'
select r6()
begin
create table young(y date, k int[])
insert into young values ('2024-02-29', '{1,2}')
create function r7() returns record language sql as 'select young, array[young] from young'
select r7()
select to_json(r7())
rollback
create function r8() returns record language sql as 'select n, n.nspname from pg_namespace n where nspname = ''pg_catalog'''
select (r8()::text) like '("(11,pg_catalog,%'
prepare given as select r1(), r2()
execute given
begin
execute given
commit
