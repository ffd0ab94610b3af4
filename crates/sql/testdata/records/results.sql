create table t(a int, b text)
create type ct as (a int, b text)
create function f1(out x ct, out n int) language sql as $$ select (1,'c')::ct, 1 $$
select * from f1()
select f1()
select (f1()).x, ((f1()).x).b
create function f2(out x t, out n int) language sql as $$ select row(1,'c')::t, 1 $$
select * from f2()
create function f3(out x ct) language sql as $$ select row(1,'c')::ct $$
select f3()
select * from f3()
select (f3()).b
create function f4(out x t) language sql as $$ select row(1,'c')::t $$
select f4(), (f4()).a
create function f5(out x ct) language sql as $$ select 1, 'c'::text $$
select f5()
select * from f5()
create function f6(k int, inout x ct) language sql as $$ select row(k,'c')::ct $$
select f6(7, (1,'in'))
select * from f6(7, (1,'in'))
create function f7(k int, inout x ct, out y t) language sql as $$ select row(k,(x).b)::ct, row(k, 'y')::t $$
select f7(7, (1,'in'))
select * from f7(7, (1,'in'))
create function f8(out x ct, out n int) language sql as $$ select null::ct, 3 $$
select * from f8()
create function f9(out x ct, out n int) language sql as $$ insert into t values(5,'i') returning (a,b)::ct, a $$
select * from f9()
create function f10(out x ct) language sql as $$ insert into t values(6,'j') returning a, b $$
select * from f10()
create function f11(out x ct, out y ct[]) language sql as $$ select row(1,'c')::ct, array[row(2,'d')::ct] $$
select * from f11()
create function f12(out x record, out n int) language sql as $$ select row(1,'c'::text), 1 $$
select * from f12()
create function f13(out x ct, out n bigint) language sql as $$ select row(1,'c')::ct, 1 $$
select * from f13()
create function f14(out x ct, out n int) language sql as $$ select row(1,'c')::ct, 1 where false $$
select * from f14()
select f14()
create function f15(out x ct) language sql as $$ select row(1,'c')::ct where false $$
select f15()
create procedure q1(inout x ct, inout n int) language sql as $$ select row(n,'q')::ct, n + 1 $$
call q1(row(1,'a'), 5)
create procedure q2(inout n int) language sql as $$ select n + 1 $$
call q2(4)
create function g1(out x ct, out n int) returns setof record language sql as $$ values (row(1,'c')::ct, 1), (null, 2), (row(3, null)::ct, 3) $$
select * from g1()
create function g2(out x ct) returns setof ct language sql as $$ values (row(1,'c')::ct), (null) $$
select * from g2()
create function g3(inout e anyelement, out l anyarray) language sql as $$ select e, array[e] $$
select * from g3(row(1,'z')::ct)
select * from g3(row(1,'z')::t)
create domain dc as ct check ((value).a > 0)
create function f16(out x dc, out n int) language sql as $$ select row(1,'c')::ct::dc, 1 $$
select * from f16()
create function f17() returns ct language sql as $$ select 1, 'c'::text $$
select f17(), (f17()).b
create function f18() returns t language sql as $$ select row(1, 'c')::t $$
select f18(), (f18()).b
create function f19() returns setof t language sql as $$ select t from t order by a $$
select f19()
select * from f19()
select a, b from t order by a
