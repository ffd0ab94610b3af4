create table t(a int)
create function f1() returns t language sql as $$ select 1 $$
create function f2() returns t language plpgsql as $$ begin return row(1); end $$
create function f3() returns t language plpgsql as $$ declare r t; begin r.a := 3; return r; end $$
create function f4() returns setof t language plpgsql as $$ begin return query select 1; end $$
create function f5() returns record language sql as $$ select t, t.a from t $$
create function f6(t) returns int language plpgsql as $$ begin return $1.a; end $$
insert into t values (7)
select f1(), f2(), f3(), f4(), f5(), f6(row(4))
alter table t add b text
select f1()
select f2()
select f3()
select f4()
select f5()
select f6(row(4, 'x'))
alter table t drop a
select f1()
select f2()
select f5()
alter table t rename to u
select f2()
drop table u cascade
select f2()
