select x
select nope from t1
select t1.nope from t1
select q.a from t1
select t1.a from t1 x
select idd from t1
select iid, sid from t1
select t1.aa from t1
select t2.nme from t2
select bb from t1, t2
select t1_i from t1, t2
select id from t1, t2
select * from nope
select * from nope.t1
select * from public.nope
select * from other.public.t1
select other.public.t1.a from t1
select a.b.c.d.e from t1
select *
select nope.* from t1
select s2.t1.* from t1
select * from t1, t1
select * from t1 a, t2 a
select * from t1 a join t2 a on true
select * from (t1 join t2 using (id)) as t1, t1
select * from t1 x(a, b, c, d, e, f)
select * from (select 1) s(a, b)
select * from generate_series(1, 2) g(a, b)
select * from (t1 join t2 using (id)) j(a, b, c, d, e, f, g, h, i, j, k)
select * from t1 join t2 using (nope)
select * from t1 join t2 using (a)
select * from t1 join t2 using (name)
select * from t1 join t2 using (id, id)
select * from (t1 x join t2 y on true) join t3 using (id)
select * from t3 join (t1 x join t2 y on true) using (id)
select * from (select 1 k) a join (select 'x'::text k) b using (k)
select * from (select 1 k) a join (select date '2020-01-01' k) b using (k)
select * from (select '{}'::json k) a join (select '{}'::json k) b using (k)
select * from t1 join t2 on a
select * from t1 join t2 on t3.k1 = 1, t3
select * from t3, t1 join t2 on t3.k1 = 1
select * from t1 join t2 on count(*) > 1
select * from t1 join t2 on generate_series(1,2) = 1
select * from t1 join t2 on sum(a) over () > 1
select * from t1, (select t1.a) s
select * from t1, (select a) s
select * from t1 full join lateral (select t1.a) s on true
select * from t1 right join lateral (select a) s on true
select * from (values (t1.a)) v, t1
select t1.a from (t1 join t2 using (id)) j
select a from t1 where nope = 1
select a from t1 where a
select a from t1 where b
select a from t1 where 'x'
select a from t1 where count(*) > 1
select a from t1 where generate_series(1, 2) = 1
select a from t1 where rank() over () = 1
select a from t1 where a = 'x'::text
select a from t1 where a = d
select a + b from t1
select b + 1 from t1
select - b from t1
select 'a' + 'b'
select nope(1)
select lower(1)
select lower('a', 'b')
select abs('x'::text)
select pg_catalog.nope(1), public.lower('x')
select nope.lower('x')
select sum(b) from t1
select sum(distinct) from t1
select count() from t1
select sum(*) from t1
select lower(*) from t1
select lower(distinct b) from t1
select lower(b order by b) from t1
select lower(b) filter (where true) from t1
select lower(b) over () from t1
select lower(b) within group (order by b) from t1
select rank() from t1
select rank() over w from t1
select rank(*) over () from t1
select count(distinct a) over () from t1
select array_agg(a order by b) over () from t1
select rank() filter (where true) over () from t1
select sum(a) within group (order by b) from t1
select percentile_cont(0.5) from t1
select percentile_cont(0.5) within group (order by a) over () from t1
select percentile_cont(0.5, 1) within group (order by a) from t1
select percentile_cont(a) within group (order by id) from t1
select rank(1) within group (order by a, b) from t1
select rank('x', 'y') within group (order by a) from t1
select rank('x'::text) within group (order by a) from t1
select mode(1) within group (order by a) from t1
select sum(x => a) from t1
select make_interval(dayz => 1)
select make_interval(days => 1, 2)
select sum(sum(a)) from t1
select sum(a + count(*)) from t1
select sum(rank() over ()) from t1
select sum(generate_series(1, a)) from t1
select sum(a) filter (where count(*) > 1) from t1
select sum(a) filter (where b) from t1
select sum(a) over (order by sum(b)) from t1
select rank() over (order by rank() over ()) from t1
select sum(rank() over ()) over () from t1
select a, count(*) from t1
select a, b from t1 group by a
select a from t1 group by b
select * from t1 group by a
select t1.* from t1 group by b
select t1 from t1 group by a
select ctid from t1 group by a
select a + 1 from t1 group by a + 2
select a from t1 group by a + 1
select id, v from keyed group by id
select id, name from t2 group by t1_id
select b from t1 join t2 using (id) group by t2.id
select a from t1 having count(*) > 1
select count(*) from t1 having a > 1
select count(*) from t1 order by a
select a from t1 group by a order by b
select (select t1.b) from t1 group by a
select (select t2.id from t2 where t2.id = t1.b::int) from t1 group by a
select sum(a) over (partition by b) from t1 group by a
select b, v from t3, t1 group by k1
select a from t1 group by count(*)
select count(*) from t1 group by 1
select rank() over () from t1 group by 1
select a from t1 group by 2
select a from t1 group by 0
select a from t1 group by -1
select a from t1 group by 'x'
select a from t1 group by 1.5
select a from t1 group by null
select a from t1 group by grouping(a)
select a from t1 group by nope
select a, b from t1 group by rollup (a)
select id, b from t1 group by rollup (id)
select grouping(b) from t1 group by a
select grouping(a) from t1
select grouping(a + 1) from t1 group by a
select a from t1 where grouping(a) = 1 group by a
select a from t1 group by cube (a, b, c, d, id, a+1, a+2, a+3, a+4, a+5, a+6, a+7, a+8)
select 1 from t1 group by cube (a, b, c, d, id, a+1, a+2), cube (a, b, c, d, id, a+1, a+2)
select j from types group by j
select 1 from types order by j
select x from types order by x
select 1 from types order by bt using &
select a from t1 order by b using ||
select a from t1 order by a using <=
select a from t1 order by 2
select a from t1 order by 'x'
select a as x, b as x from t1 order by x
select a from t1 order by nope
select distinct a from t1 order by b
select distinct j from types
select distinct on (b) a from t1 order by a
select distinct on (a) b from t1 order by b, a
select distinct on (a, b) c from t1 order by a, c
select distinct on (3) a from t1
select distinct from t1
select count(distinct j) from types
select count(distinct x) from types
select string_agg(distinct b, ',' order by c) from t1
select array_agg(a order by nope) from t1
select a from t1 limit a
select a from t1 limit 'x'::text
select a from t1 limit count(*)
select a from t1 limit b
select a from t1 offset a
select a from t1 limit generate_series(1,2)
select a from t1 limit (select a)
select a from t1 order by a fetch first null rows with ties
select a from t1 limit d
select sum(a) over nope from t1
select sum(a) over (nope) from t1
select sum(a) over w from t1 window w as (order by a), w as (order by b)
select sum(a) over (w partition by a) from t1 window w as (partition by b)
select sum(a) over (w order by a) from t1 window w as (order by b)
select sum(a) over (w) from t1 window w as (order by b rows 1 preceding)
select sum(a) over (w order by c) from t1 window w as (partition by b rows 1 preceding)
select sum(a) over (range 1 preceding) from t1
select sum(a) over (order by a, b range 1 preceding) from t1
select sum(a) over (order by b range 1 preceding) from t1
select sum(a) over (order by a range '1 day'::interval preceding) from t1
select sum(a) over (order by d range 1 preceding) from t1
select sum(a) over (groups 1 preceding) from t1
select sum(a) over (order by a rows a preceding) from t1
select sum(a) over (order by a rows 'x'::text preceding) from t1
select sum(a) over (order by a rows count(*) preceding) from t1
select sum(a) over (order by a range a preceding) from t1
select sum(a) over (partition by j) from types
select lag(generate_series(1,2)) over () from t1
select 1 union select 1, 2
select 1, 2 union select 1
select 1 union select 'x'::text
select a from t1 union select b from t1
select a from t1 union select d from t1
select j from types union select j from types
select 1 union select 2 order by 1 + 1
select a from t1 union select id from t2 order by b
select a from t1 union select id from t2 order by t1.a
select a as x from t1 union select id from t2 order by a
select 1 union select 2 for update
select 1 union select 2 limit a
select a from t1 for update union select 1
select 1 union (select 2 for update)
select 1 union select 2 union select 'x'::text
select '1'::int union select 'x' union select true
(select 1 into x) union select 2
select 1 union select 2 into x
select (select 1, 2)
select (select a, b from t1)
select array(select 1, 2)
select 1 in (select 1, 2)
select (1, 2) in (select 1)
select (1, 2) = (select 1)
select (1, 2) = (select 1, 2, 3)
select (1, 2) = (1, 2, 3)
select (1, 2) < (1, 'x'::text)
select row(1) ~ row(2)
select (1, 2) = any (array[1])
select 1 = any (1)
select 1 = any (array['a'])
select 1 + any (array[1])
select 1 in ('x'::text)
select 1 in (select 'x'::text)
select a in (1, b) from t1
select exists (select nope)
select (select nope from t2) from t1
select (select t3.v) from t1
select row() = row()
select array[]
select array[1, 'x'::text]
select array[1, array[2]]
select array[array[1], array['x'::text]]
select case when 1 then 2 end
select case when true then 1 else 'x'::text end
select case 1 when 'x'::text then 1 end
select case when true then generate_series(1,2) end
select coalesce(1, 'x'::text)
select coalesce(generate_series(1,2), 1)
select greatest(1, date '2020-01-01')
select nullif(1, 'x'::text)
select nullif(1)
select 1 is true
select not 1
select 1 and true
select true or 'x'::text
select 1 is distinct from 'x'::text
select 'x'::text like 1
select 1::nope
select 1::int[]
select 1::date
select true::float8
select row(1, 2)::pair, row(1)::pair
select row(1, 2, 3)::pair
select row(1, 'x')::int
select 'a'::varchar(0)
select 1::numeric(2000)
select 1::numeric(1, 2, 3)
select 1::int(3)
select 'x'::text(3)
select a.b from (select 1 as b) x
select (a).b from t1
select (t1).nope from t1
select (p).z from types
select (p).z.q from types
select (row(1,2)).f3
select (1).x
select (a)[1] from t1
select ia['x'::text] from types
select ia[1.5] from types
select ia[1][2][3][4][5][6][7] from types
select jb[1:2] from types
select jb[d] from types
select a.* from t1
select (a).* from t1
select (row(1,2)).*, (select row(1, 2)).*
select t collate "nope" from types
select i4 collate "C" from types
select default
select * from lower('x') as (a int)
select * from json_to_record('{}')
select * from json_to_record('{}') j
select * from json_to_recordset('[]') as x(a int, a text)
select * from json_to_recordset('[]') as x(a nope)
select * from json_to_recordset('[]') with ordinality as x(a int)
select * from json_each('{}') as x(a int, b text)
select * from jsonb_populate_record(null::pair, '{}') as x(a int, b text)
select * from rows from (json_to_record('{}'), lower('x')) as x(a int)
select * from unnest(array[1], array[2]) as x(a int, b int)
select * from abs(generate_series(1,2))
select * from generate_series(1, generate_series(1, 2))
select * from count(*)
select * from rank() over ()
select * from sum(a), t1
select * from generate_series(1, a), t1
select * from rank()
select * from nope(1)
select * from unnest(1)
select * from t1 tablesample nope (1)
select * from v1 tablesample system (1)
select * from t1 tablesample system (1, 2)
select * from t1_pkey
select * from pair
with w as (select 1), w as (select 2) select * from w
with w(a, b) as (select 1) select * from w
with w as (select 1 a) select b from w
with w as (select * from v), v as (select 1) select * from w
with w as (select * from w) select * from w
with w as (select 1 a) select * from w x(a, b)
with w as (select 1 a), v as (select nope from w) select * from v
with recursive w as (select 1 n union all select n + 1 from w, w x) select * from w
with recursive w as (select * from w) select * from w
with recursive w as (select * from w union all select 1) select * from w
with recursive w as (select 1 n union all select n from w where n in (select n from w)) select * from w
with recursive w as (select 1 n union all select (select n from w)) select * from w
with recursive w as (select 1 n union all select w.n from t1 left join w on true) select * from w
with recursive w as (select 1 n union all select w.n from w full join t1 on true) select * from w
with recursive w as (select 1 n intersect select n from w) select * from w
with recursive w as (select 1 n union all select * from (select n from w except select 1) x) select * from w
with recursive w as (select 1 n union all select * from (select 2 except all select n from w) x) select * from w
with recursive w as (select 1 n union all select n from w order by n) select * from w
with recursive w as (select 1 n union all select n from w limit 1) select * from w
with recursive w as (select 1 n union all select n from w offset 1) select * from w
with recursive w as (select 1 n union all select n + 1.5 from w) select * from w
with recursive w as (select 'a'::varchar(3) n union all select n || 'x' from w) select * from w
with recursive w as (select 1 n union all select sum(n) from w) select * from w
with recursive w as (select 1 n union all select max(n) from w) select * from w
with recursive w as (select 1 n union select n, 2 from w) select * from w
with recursive a as (select * from b), b as (select * from a) select * from a
with recursive w as (with v as (select * from w) select 1 n union all select n from w) select * from w
select 1 into x from t1 union all select 2 into y
select * from (select 1 into x) y
select distinct a from t1 for update
select a from t1 group by a for update
select count(*) from t1 for update
select rank() over () from t1 for update
select generate_series(1,2) from t1 for update
select a from t1 having true for update
select * from t1 for update of nope
select * from t1 x for update of t1
select * from t1 for update of public.t1
select * from t1 join t2 on true for share of t1, t3
select * from (t1 join t2 using (id)) j for update of j
select * from generate_series(1,2) g for update of g
select * from (select count(*) from t1) s for update
select * from (select distinct a from t1) s for update of s
select * from (values (1)) v for update
with w as (select 1) select * from w for update of w
values (1) for update
values (1), (1, 2)
values (1), ('x'::text)
values (default)
values (generate_series(1,2)), (1)
values (count(*))
values (1), (a)
select $1, $1 + 1
select $1 + $2
select $1::int, $1::text
select $2::int
select coalesce($1, 1), lower($1)
select $0
select $1 is null
select $1 = $2
insert into nope values (1)
insert into t1 values (1, 2, 'x', 3, '2020-01-01', 5)
insert into t1 (id, b) values (1)
insert into t1 (id, b) values (1, 2, 3)
insert into t1 (id, b) values ((1, 'x'))
insert into t1 (id, b) select (1, 'x')
insert into t1 (id, b) select 1
insert into t1 (nope) values (1)
insert into t1 (id, id) values (1, 2)
insert into t1 (ctid) values ('(0,1)')
insert into types (ia, ia[1]) values (null, 1)
insert into types (ia[1], ia) values (1, null)
insert into t1 (id, d) values (1, 5)
insert into t1 (id) values ('x'::text)
insert into t1 (id) values (true)
insert into t1 (id) values (1), (2, 3)
insert into t1 (id, a) values (1, 2), (1)
insert into t1 (id) values (1), ('2020-01-01'::date)
insert into t1 (id) values (a)
insert into t1 (id) values (t1.a)
insert into t1 (id) values (count(*))
insert into t1 (id) values (rank() over ())
insert into t1 (id) values (1), (generate_series(1, 2))
insert into t1 (id) values (default + 1)
insert into t1 (id) select default
insert into t1 (id) (values (default) order by 1)
insert into t1 (id) select d from t1
insert into t1 (id) values (1) returning nope
insert into t1 (id) values (1) returning t2.id
insert into t1 (id) values (1) returning excluded.id
insert into t1 (id) values (1) returning count(*)
insert into t1 (id) values (1) returning rank() over ()
insert into empty default values returning *
insert into t1 (id) values (1) on conflict do update set a = 1
insert into t1 (id) values (1) on conflict (nope) do nothing
insert into t1 (id) values (1) on conflict (id asc) do nothing
insert into t1 (id) values (1) on conflict (id nulls first) do nothing
insert into t1 (id) values (1) on conflict on constraint nope do nothing
insert into t1 (id) values (1) on conflict (id) do update set nope = 1
insert into t1 (id) values (1) on conflict (id) do update set a = id
insert into t1 (id) values (1) on conflict (id) do update set a = excluded.nope
insert into t1 (id) values (1) on conflict (id) do update set a = 'x'::text
insert into t1 (id) values (1) on conflict (excluded.id) do nothing
insert into t1 (id) values (1) on conflict ((select 1)) do nothing
insert into t1 (id) values (1) on conflict ((count(*))) do nothing
insert into t1 (id) values (1) on conflict (id) where (select true) do nothing
insert into t1 (id) values (1) on conflict (id) do update set a = count(*)
insert into t1 (id) values (1) on conflict (id) do update set a = 1 where a
insert into t1 as excluded (id) values (1) on conflict (id) do update set a = excluded.a
insert into types (ia[1]) values (default)
insert into types (p.x) values (default)
insert into types (p.z) values (1)
insert into types (i4.x) values (1)
insert into types (i4[1]) values (1)
insert into types (p.x) values ('x'::text)
insert into types (ia[1]) values ('x'::text)
insert into types (ia['a'::text]) values (1)
insert into pair values (1)
update nope set a = 1
update t1 set nope = 1
update t1 set t1.a = 1
update t1 set ctid = '(0,1)'
update t1 set a = 'x'::text
update t1 set a = b
update t1 set a = d where true
update t1 set a = count(*)
update t1 set a = rank() over ()
update t1 set a = generate_series(1, 2)
update t1 set a = 1 where count(*) > 1
update t1 set a = 1 where b
update t1 set a = default + 1
update t1 set (a, b) = (1, 2, 3)
update t1 set (a, b) = (select 1)
update t1 set (a, b) = 1
update t1 set (a, b) = (select 1, 2, 3)
update t1 set a = id from t2
update t1 set a = 1 from t1
update t1 x set a = t1.a
update t1 set a = 1 from (select t1.a) s
update t1 set a = 1 from lateral (select t1.a) s
update t1 set a = 1 from t2 join t3 on t1.id = 1
update t1 set a = 1 returning nope
update t1 set a = 1 returning sum(a)
update t1 set a = nope.x
update types set ia[1] = default
update types set p.x = default
update types set p.z = 1
update types set i4.x = 1
update types set ia[1] = 'x'::text
update types set ia['x'::text] = 1
update types set p.x = 'x'::text
delete from nope
delete from t1 where nope = 1
delete from t1 using t1
delete from t1 x where t1.id = 1
delete from t1 using (select t1.a) s
delete from t1 where count(*) > 1
delete from t1 returning count(*)
with w as (insert into t1 (id) values (1)) select * from w
select * from (with w as (delete from t1 returning *) select * from w) x
with w as (delete from t1 returning *) select * from w for update of w
with recursive w as (insert into t1 select * from w returning *) select * from w
update t1 set a = 1, a = 2
update types set ia = null, ia[1] = 2
insert into t1 (id) values (1) on conflict (id) do update set a = 1, (b, a) = ('x', 2)
select '1x'::int, 'x'::float8
select a from t1 where a = 'x' or c = '1.5e' or b = 5
with recursive w as (select 'a'::char(2) n union all select 'b'::bpchar from w) select * from w
with recursive w as (select b'1'::bit(1) n union all select n & n from w) select * from w
with recursive w as (select '{}'::numeric(5,2)[] n union all select n || 1.5 from w) select * from w
with recursive w as (select '12:00'::time(2) n union all select localtime from w) select * from w
delete from t1 me using lateral (select t1.a) x
update t1 me set a = 1 from lateral (select me.a) x
select (with w as (select 1 x) select sum((select t1.a + x from w))) from t1
select (st)[1] from types
