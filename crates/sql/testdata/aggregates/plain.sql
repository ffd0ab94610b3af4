create table t (g int, a int, b text, f float8)
insert into t values (1, 1, 'a', 1.5), (1, 2, 'b', 2.5), (2, null, 'c', null), (2, 4, null, 4), (3, null, null, null)
create aggregate mysum (int) (sfunc = int4pl, stype = int)
create aggregate mysum (int) (sfunc = int4pl, stype = int)
select mysum(a) from t
select g, mysum(a) from t group by g order by g
select mysum(a) from t where false
select g, mysum(a) filter (where a > 1), mysum(distinct a), mysum(a order by a desc) from t group by g order by g
create aggregate mysum0 (int) (sfunc = int4pl, stype = int, initcond = '10')
select g, mysum0(a) from t group by g order by g
select mysum0(a) from t where false
create function plus(a bigint, b int) returns bigint language sql as 'select coalesce(a, 0) + coalesce(b, 100)'
create aggregate lax (int) (sfunc = plus, stype = bigint)
select g, lax(a) from t group by g order by g
select lax(a) from t where false
create function pl(a text, b text) returns text language plpgsql strict as $$ begin return a || ',' || b; end $$
create aggregate joined (text) (sfunc = pl, stype = text)
select joined(b), joined(b order by b desc), joined(distinct b) from t
select g, joined(b) from t group by g order by g
create function fin(a text) returns int language sql strict as 'select length(a)'
create aggregate joinlen (text) (sfunc = pl, stype = text, finalfunc = fin)
select g, joinlen(b), pg_typeof(joinlen(b)) from t group by g order by g
create function fin0(a text) returns text language sql as $$ select coalesce(a, 'none') $$
create aggregate joinno (text) (sfunc = pl, stype = text, finalfunc = fin0)
select g, joinno(b) from t group by g order by g
create function counted(a int) returns int language sql as 'select a + 1'
create aggregate cnt (*) (sfunc = counted, stype = int, initcond = '0')
select cnt(*) from t
select cnt() from t
select cnt(a) from t
select g, cnt(*) filter (where a is not null) from t group by g order by g
create function accum(s float8[], v float8) returns float8[] language sql as 'select case when v is null then s else array[s[1] + 1, s[2] + v] end'
create function finished(s float8[]) returns float8 language sql as 'select s[2] / nullif(s[1], 0)'
create aggregate avg2 (float8) (sfunc = accum, stype = float8[], finalfunc = finished, initcond = '{0,0}')
select avg2(f), avg(f) from t
select g, avg2(f) from t group by g order by g
create aggregate collect (anycompatible) (sfunc = array_append, stype = anycompatiblearray, initcond = '{}')
select collect(a order by a), collect(b order by b), collect(f order by f) from t
select g, collect(a order by a) from t group by g order by g
create aggregate collect2 (anyelement) (sfunc = array_append, stype = anyarray, initcond = '{}')
create aggregate two (int, text) (sfunc = nosuch, stype = text)
create function step2(s text, a int, b text) returns text language sql as $$ select coalesce(s, '') || coalesce(a::text, '-') || coalesce(b, '?') $$
create aggregate two (a int, b text) (sfunc = step2, stype = text)
select two(a, b order by g, a, b) from t
select g, two(a, b order by a, b) filter (where g < 3) from t group by g order by g
select two(a, 'x'), two(null, 'x') from t where a = 1
create aggregate old (basetype = int, sfunc = int4pl, stype = int, initcond = '0')
select old(a) from t
create aggregate oldany (basetype = 'ANY', sfunc = counted, stype = int, initcond = '0')
select oldany(*) from t
select a, mysum(a) over (order by a), mysum(a) over (), mysum(a) over (order by a rows between 1 preceding and current row) from t where a is not null order by a
select g, a, joined(b) over (partition by g order by a nulls first), cnt(*) over (partition by g) from t order by g, a nulls first
select a, mysum(a) filter (where a > 1) over (order by a) from t where a is not null order by a
select g, (select mysum(x.a) from t x where x.g = t.g) from t group by g order by g
select mysum(mysum(a)) from t
select mysum(a) from t group by mysum(a)
select g from t group by g having mysum(a) > 2 order by g
select mysum(a), g from t group by rollup (g) order by g nulls last
select mysum('1')
select mysum(1.5)
select mysum(variadic array[1])
create function vstep(s int, variadic a int[]) returns int language sql as 'select s + cardinality(a)'
create aggregate vcount (variadic int[]) (sfunc = vstep, stype = int, initcond = '0')
select vcount(1, 2, 3), vcount(variadic array[1, 2]) from t
create aggregate bad (int) (sfunc = int4pl)
create aggregate bad (int) (stype = int)
create aggregate bad (int) (sfunc = nosuch, stype = int)
create aggregate bad (int) (sfunc = no.such, stype = int)
create aggregate bad (int) (sfunc = int4pl, stype = nosuch)
create aggregate bad (int) (sfunc = int8pl, stype = int)
create aggregate bad (int) (sfunc = int4eq, stype = int)
create aggregate bad (int) (sfunc = int4pl, stype = int, initcond = 'x')
create aggregate bad (int) (sfunc = int4pl, stype = int, finalfunc = nosuch)
create aggregate bad (text) (sfunc = textcat, stype = int)
create aggregate bad (bigint) (sfunc = plus, stype = bigint)
create aggregate bad (int) (sfunc = generate_series, stype = int)
create function strictplus(a bigint, b int) returns bigint language sql strict as 'select a + b'
create aggregate bad (int) (sfunc = strictplus, stype = bigint)
create aggregate bad (int) (sfunc = int4pl, stype = int, parallel = 'never')
create aggregate bad (int) (sfunc = int4pl, stype = int, finalfunc_modify = never)
create aggregate bad (int) (sfunc = int4pl, stype = int, combinefunc = int4eq)
create aggregate bad (int) (sfunc = int4pl, stype = anyelement)
create aggregate bad (basetype = int, stype = int)
create aggregate bad (sfunc = int4pl, stype = int)
create aggregate bad (int) (basetype = int, sfunc = int4pl, stype = int)
create aggregate bad (setof int) (sfunc = int4pl, stype = int)
create aggregate bad (out int) (sfunc = int4pl, stype = int)
create aggregate bad (int) (sfunc = int4pl, stype = record)
create aggregate nosuch.bad (int) (sfunc = int4pl, stype = int)
create aggregate shown (int) (sfunc = int4pl, stype = int, combinefunc = int4pl, parallel = safe, sspace = 8, finalfunc_modify = read_write, initcond = '0')
select aggfnoid, aggkind, aggnumdirectargs, aggtransfn, aggfinalfn, aggcombinefn, aggfinalextra, aggfinalmodify, aggtranstype::regtype, aggtransspace, agginitval from pg_aggregate where aggfnoid::oid >= 16384 order by aggfnoid::text
select proname, prokind, provolatile, proisstrict, proparallel, procost, prorows, prolang, prosrc, pronargs, proargtypes::regtype[]::text, prorettype::regtype, proargnames from pg_proc where prokind = 'a' and oid >= 16384 order by 1
select pg_get_function_arguments(oid), pg_get_function_identity_arguments(oid), pg_get_function_result(oid) from pg_proc where proname in ('mysum', 'two', 'vcount', 'cnt') order by proname
select pg_get_functiondef('mysum(int)'::regprocedure)
select 'mysum(int)'::regprocedure, 'cnt()'::regprocedure
create or replace aggregate shown (int) (sfunc = int4mul, stype = int, initcond = '1')
select shown(a) from t
create or replace aggregate shown (int) (sfunc = plus, stype = bigint)
create or replace aggregate plus (bigint, int) (sfunc = int4pl, stype = int)
create or replace function mysum(a int) returns int language sql as 'select 1'
create function mysum(a int) returns int language sql as 'select 1'
comment on aggregate mysum (int) is 'a sum'
select obj_description('mysum(int)'::regprocedure, 'pg_proc')
comment on aggregate nosuch (int) is 'x'
comment on aggregate plus (bigint, int) is 'x'
alter aggregate mysum (int) rename to yoursum
select yoursum(a) from t
alter aggregate yoursum (int) rename to two
alter aggregate nosuch (int) rename to x
alter aggregate nosuch (*) rename to x
alter aggregate cnt (*) owner to postgres
create schema s
alter aggregate yoursum (int) set schema s
select s.yoursum(a) from t
select yoursum(a) from t
alter aggregate s.yoursum (int) set schema public
alter function yoursum (int) strict
create view v as select g, yoursum(a) as s, cnt(*) filter (where a > 1) as c from t group by g
select * from v order by g
select pg_get_viewdef('v')
drop aggregate yoursum (int)
drop function yoursum (int)
drop function plus (bigint, int)
drop function pl (text, text)
drop aggregate if exists nosuch (int)
drop aggregate if exists nosuch (*)
drop aggregate nosuch (int)
drop aggregate nosuch (*)
drop aggregate plus (bigint, int)
drop aggregate yoursum
drop aggregate yoursum (int) cascade
drop function counted (int) cascade
select proname from pg_proc where prokind = 'a' and oid >= 16384 order by 1
begin
create aggregate late (int) (sfunc = int4pl, stype = int)
select late(a) from t
rollback
select late(a) from t
drop routine shown (int)
create type pair as (a int, b int)
create function padd(p pair, a int) returns pair language sql as 'select row(coalesce((p).a, 0) + 1, coalesce((p).b, 0) + coalesce(a, 0))::pair'
create aggregate pairs (int) (sfunc = padd, stype = pair)
select pairs(a), (pairs(a)).b from t
drop type pair
drop type pair cascade
create type color as enum ('red', 'green')
create function darker(a color, b color) returns color language sql strict as 'select greatest(a, b)'
create aggregate darkest (color) (sfunc = darker, stype = color)
select darkest(c) from (values ('red'::color), ('green'), (null)) v (c)
create aggregate first (anyelement) (sfunc = firstof, stype = anyelement)
create function firstof(anyelement, anyelement) returns anyelement language sql immutable strict as 'select $1'
create aggregate first (anyelement) (sfunc = firstof, stype = anyelement)
select first(a order by a desc), first(b order by b), first(f order by g) from t
select first(a order by a desc nulls last), pg_typeof(first(b)) from t
create function fextra(s int, a int) returns text language sql as $$ select s::text || coalesce(a::text, 'null') $$
create aggregate extra (int) (sfunc = int4pl, stype = int, finalfunc = fextra, finalfunc_extra)
select extra(a) from t
create function failing(s int, a int) returns int language plpgsql as $$ begin if a > 2 then raise exception 'too much'; end if; return s + a; end $$
create aggregate fails (int) (sfunc = failing, stype = int, initcond = '0')
select fails(a) from t where a < 3
select fails(a) from t where a is not null
