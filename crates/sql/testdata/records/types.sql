create table src(id int, j text)
create table arch(like src)
create table t(a int, b text)
insert into t values (1, 'x'), (2, null)
create function route() returns trigger language plpgsql as $$ begin execute format('insert into %I select ($1).*', tg_argv[0]) using new; return new; end $$
create trigger r before insert on src for each row execute function route('arch')
insert into src values (1, 'a'), (2, null)
select * from arch order by id
create function j1() returns trigger language plpgsql as $$ declare v text; begin execute 'select ($1).j' using new into v; raise notice '%', v; return new; end $$
create trigger j1 before insert on src for each row execute function j1()
insert into src values (3, 'c')
create function d1(s src) returns text language plpgsql as $$ declare v text; w src; begin execute 'select ($1).j' using s into v; w := s; execute 'select ($1).id + 1, $1::text' using w into w.id, w.j; return v || w::text; end $$
select d1(row(1, 'q'))
select d1(src) from src order by id
do $$ declare r record; begin select t into r from t where a = 1; raise notice '%', r; end $$
do $$ declare r record; begin for r in select t as w, a from t order by a loop raise notice '% %', to_jsonb(r), r.w; end loop; end $$
create function s1() returns text language plpgsql as $$ declare r record; begin select t as w into r from t where a = 1; return r::text; end $$
select s1()
create function s2() returns setof record language plpgsql as $$ declare r record; begin for r in select t as w from t order by a loop return next r; end loop; end $$
select * from s2() as (w t)
do $$ declare c cursor for select t from t order by a; r record; begin open c; fetch c into r; raise notice '%', r; fetch c into r; raise notice '% %', r, r.t; close c; end $$
do $$ declare c refcursor; r record; begin open c for select t, a from t order by a; fetch c into r; raise notice '% %', r, (r.t).b; close c; end $$
do $$ declare c cursor for select t from t order by a; begin for r in c loop raise notice '%', r; end loop; end $$
do $$ declare r record; begin select row(t, 1) as x into r from t where a = 1; raise notice '%', r; end $$
do $$ declare xs t[]; begin xs[2] := row(2,'b'); raise notice '%', xs; xs[1] := null; raise notice '% %', xs, xs[2].b; end $$
create type ct as (a int, b text)
do $$ declare xs ct[]; begin xs[2] := row(2,'b'); raise notice '%', xs; end $$
do $$ declare xs t[]; r record; begin select 1, 'q'::text into r; xs[1] := r; end $$
do $$ declare xs t[] := array(select t from t order by a); e t; begin foreach e in array xs loop raise notice '% %', e, e.b; end loop; end $$
create function a1(x t[]) returns text language plpgsql as $$ declare e t; s text := ''; begin foreach e in array x loop s := s || coalesce(e.b, '-') || e.a; end loop; return s || cardinality(x); end $$
select a1(array[row(1,'p'), row(2,'q')]::t[])
select a1(array(select t from t order by a))
select a1(array_agg(t order by a)) from t
create function a2(x t[]) returns setof text language sql as $$ select b from unnest(x) order by a $$
select a2(array(select t from t))
create function a3(x t[]) returns setof t language sql as $$ select * from unnest(x) $$
select * from a3(array(select t from t)) order by a
create function a4() returns t[] language plpgsql as $$ begin return array(select t from t order by a); end $$
select a4(), (a4())[1].b
create function a5() returns t[] language sql as $$ select array_agg(t order by a) from t $$
select a5(), a5()::text
create function a6() returns t[] language plpgsql as $$ declare xs t[]; begin xs := a4() || row(9, 'n')::t; return xs; end $$
select a6()
select unnest(a6())
create function a7(anyelement) returns text language plpgsql as $$ begin return pg_typeof($1)::text || $1::text; end $$
select a7(array(select t from t order by a))
select a7(t) from t order by a
select a7(row(1, 2)::t)
create function a8(anyarray) returns anyelement language plpgsql as $$ begin return $1[1]; end $$
select a8(array(select t from t order by a)), pg_typeof(a8(array(select t from t)))
create function a9(variadic t[]) returns int language plpgsql as $$ begin return array_length($1, 1); end $$
select a9(row(1,'a')::t, row(2,'b')::t)
select a9(variadic array(select t from t))
create function b1() returns t language plpgsql as $$ declare xs t[]; begin select array_agg(t order by a) into xs from t; return xs[1]; end $$
select b1(), (b1()).b
create function b2() returns int language plpgsql as $$ declare r t; begin r := row(1,'x'); return r; end $$
select b2()
create function b3() returns text language plpgsql as $$ declare r t; begin r := row(1,'x'); return r; end $$
select b3()
create function b4() returns t language plpgsql as $$ declare c t; begin c := '(5,b)'; return c; end $$
select b4()
create function b5() returns t language plpgsql as $$ declare c t; begin c := '(5,b,)'; return c; end $$
select b5()
create function b6() returns t language plpgsql as $$ declare c t := '(6,)'; begin c.b := c.a; return c; end $$
select b6()
prepare p1(t) as select ($1).a
execute p1(row(4, 'z'))
execute p1('(5,y)')
prepare p2(t[]) as select ($1)[1].b, cardinality($1)
execute p2(array[row(4, 'z')::t])
execute p2('{"(5,y)"}')
prepare p3(public.t) as select $1::text
execute p3((7, 'k'))
prepare p4(src, int) as insert into arch select ($1).*
execute p4(row(8, 'e'), 1)
select * from arch order by id
prepare p5(nothing) as select 1
prepare p6(nothing[]) as select 1
do $$ declare r t%rowtype; s t; begin select * into r from t where a = 1; s := r; raise notice '% % %', r, s, r = s; end $$
do $$ declare r t; begin execute 'select $1' into r using row(1, 'x')::t; raise notice '%', r; end $$
do $$ declare r record; begin execute 'select $1 as w, $2 as l' into r using row(1, 'x')::t, array[row(2, 'y')::t]; raise notice '% %', r, r.l[1]; end $$
do $$ declare x jsonb; begin select to_jsonb(array_agg(t order by a)) into x from t; raise notice '%', x; end $$
do $$ declare r t; begin r := jsonb_populate_record(null::t, '{"a": 5, "b": "j"}'); raise notice '%', r; r := jsonb_populate_record(r, '{"a": 6}'); raise notice '%', r; end $$
do $$ declare r t; n int; begin insert into t values (3, 'y') returning t.* into r; raise notice '%', r; delete from t where t = r; get diagnostics n = row_count; raise notice '%', n; end $$
do $$ declare a t := row(1, 'x'); b t := row(1, 'x'); begin raise notice '% % %', a = b, a is not distinct from b, a < row(2, 'a')::t; end $$
create function x1(r record) returns text language plpgsql as $$ begin return r::text; end $$
create function x2(r anyelement) returns text language sql as $$ select to_jsonb(r)::text $$
select x2(t) from t order by a
select x2(row(1, t)) from t order by a
select x2(array[t]) from t order by a
create view vt as select a, b from t
do $$ declare r vt; x vt[]; begin select * into r from vt where a = 1; x[1] := r; raise notice '% %', r, x; end $$
create schema other
create table other.t(q int)
insert into other.t values (7)
do $$ declare r record; begin select x into r from other.t x; raise notice '% %', r, pg_typeof(r.x); end $$
create function y1() returns record language sql as 'select x, array[x] from other.t x'
select y1()
