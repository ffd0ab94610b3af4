-- FROM and targets
select
select 1
select 1, 'a', null, true, 1.5, 12345678901, 1e100, b'101', x'1f'
select 'a' as x, 2 "Y", 3 z
select * from t1
select t1.* from t1
select t1.*, * from t1, t2
select t.* from t1 as t
select x.a, x.q from t1 x(id, a, q)
select public.t1.a from t1
select postgres.public.t1.a from public.t1
select s2.t1.z, t1.z from s2.t1
select t1.id from public.t1, s2.only_there
select public.t1.id, s2.t1.id from public.t1, s2.t1
select t1 from t1
select t1.t1, x.ctid, ctid, xmin from (select 1 as t1) t1, t1 x where true
select ctid, tableoid, xmin, cmin from t1
select (t1).a, (t1).* from t1
select t1.*::text from t1
select count(t1.*), count(t1) from t1
select row(t1.*, 1), row(), row(1), (1, 2) from t1
select * from dropped
select x.* from dropped as x(p, q)
select dropped from dropped
select (dropped).b from dropped
select row(dropped.*) = row(1, 'x', 2) from dropped
select * from empty
select empty from empty
select * from only parent
select * from parent, child c
select * from v1, v2, mv
select id from v1 where a1 > 1
select * from sq
select last_value from sq
select * from (select 1 as a, 2 as b) s
select s.a, s.c from (select 1 as a, 2 as b) s(a, c)
select * from (values (1, 'a'), (2, 'b')) v
select * from (values (1, 'a'), (2, null)) v(x, y) where x = 1
select * from (values ('a'), (null)) v
select v.column1 from (values (1.5::numeric(4,2)), (2)) v
values (1, 'x'), (2, 'y')
values (1, 2), (3, 4) order by 1 desc limit 1
values (1), (2.5), ('3')
values (1::varchar(3)), ('b'::varchar(3))
values ((select 1), array[1,2])
table t1
select * from (table t1) x
select s from (select 1 as a, 2 as b) s
select (s).a from (select 1 as a, 2 as b) s
select (s).* from (select 1 as a, 'x' as b) s
select (x.s).b from (select s from (select 1 as a, 'x' as b) s) x
select (x.r).f1, (x.r).* from (select row(1, 'a'::text) as r) x
select ((p).y), (p).*, p.x from types, (select row(1,2)::pair as p) z
select (p).x, (p).y, (pd).x from types
select types.p.x from types where false
select pa[1].x, (pa[1]).y, ia[1], ia[1:2], ia[:], ia[i4:], ia[1][2], ta[1] from types
select (array[1,2,3])[2], ('{1,2}'::int[])[1], jb['a'], jb['a'][1], jb[i4] from types
select nm[1], t.p from types t
select name(i4), i4.text from types
select t1.a, length(t1.b), t1.b.length from t1
-- functions in FROM
select * from generate_series(1, 3)
select * from generate_series(1, 3) g
select g.g, g from generate_series(1, 3) as g
select x from generate_series(1, 3) as g(x)
select * from generate_series(1, 3) with ordinality
select * from generate_series(1, 3) with ordinality as g(a, b)
select * from unnest(array[1,2], array['a','b'])
select * from unnest(array[1,2], array['a','b']) with ordinality u(a, b, c)
select * from unnest(array[1,2])
select * from rows from (generate_series(1,2), unnest(array['a','b'])) r(x, y)
select * from rows from (generate_series(1,2), json_to_recordset('[{"a":1}]') as (a int, b text)) with ordinality
select * from json_to_recordset('[]') as x(a int, b varchar(5), c text[])
select * from json_to_record('{}') as (a int)
select * from json_each('{}')
select * from json_each('{}') j
select key, value from jsonb_each_text('{}')
select * from jsonb_populate_record(null::pair, '{}')
select * from current_date
select * from abs(1) with ordinality
select * from upper('x') as u
select * from t1, generate_series(1, t1.a) g
select * from t1, lateral generate_series(1, t1.a) g
select * from t1 left join lateral (select t1.a + 1 as n) s on true
select * from t1, lateral (select t2.* from t2 where t2.t1_id = t1.id) s
select * from t1 cross join lateral (values (t1.a), (t1.id)) v(x)
select * from t1, lateral (select x from (select t1.a as x) q) r
select g from generate_series(1, 2) g where g > 1
select (g).* from json_each('{"a":1}') g
select * from unnest('{1,2}'::int[], null::text[]) as u(a, b)
select * from ts_parse('default', 'x')
select * from pg_show_all_settings() limit 1
select name from pg_show_all_settings()
select * from unnest((select pa from types)) 
select x, y from unnest((select pa from types))
select * from unnest((select pa from types)) with ordinality
select * from regexp_matches('a', 'b') m
select * from t1 tablesample system (10)
select * from t1 as x(p, q) tablesample bernoulli (10.5) repeatable (3)
-- joins
select * from t1 join t2 on t1.id = t2.t1_id
select * from t1 inner join t2 using (id)
select id, t1.id, t2.id from t1 left join t2 using (id)
select * from t1 right join t2 using (id)
select id, * from t1 full join t2 using (id)
select * from t1 natural join t2
select * from t1 natural full join s2.t1 x
select * from t1 natural left join empty
select * from t1 cross join t2 cross join t3
select * from t1 left join (t2 join t3 on t2.id = k1) on t1.id = t2.t1_id
select * from t1 join t2 on true join t3 on t1.id = k1 and t2.name = k2
select * from (t1 join t2 using (id)) as j
select j.id, j.name, j from (t1 join t2 using (id)) as j(id, x, y)
select j.* from (t1 full join t2 using (id)) j
select u.id, u from t1 join t2 using (id) as u
select u.* from t1 full join t2 using (id) as u where u.id > 1
select * from t1 a join t1 b using (id, a, b)
select * from types x full join t1 y on x.i4 = y.id
select * from (select 1::smallint as k) a full join (select 2::bigint as k) b using (k)
select * from (select 1::smallint as k) a join (select 2::bigint as k) b using (k)
select * from (select 1::smallint as k) a left join (select 2::bigint as k) b using (k)
select * from (select 1::smallint as k) a right join (select 2::bigint as k) b using (k)
select * from (select 'a'::varchar(3) as k) a full join (select 'b'::varchar(5) as k) b using (k)
select * from (select 'a'::varchar(3) as k) a join (select 'b'::text as k) b using (k)
select t1.a from t1 join t2 using (id) join t3 on t3.k1 = id where id = 1 group by t1.a
select * from t1 join lateral (select t1.a) s on true
select * from t1 x left join t1 y on x.id = y.id, t2
select * from ((t1 join t2 using (id)) join t3 on id = k1) j2
select (j).id from (t1 join t2 using (id)) as j
select t1.id, j.* from t1, (t2 join t3 on id = k1) j
-- WHERE and expressions
select * from t1 where a = 1 and b = 'x' or not (id <> 2)
select * from t1 where a in (1, 2, 3) and b not in ('a', 'b') and c in (1.5, id) and id in (1)
select * from t1 where a between 1 and id and b not between symmetric 'a' and 'b' and c between 1 and 2.5
select * from t1 where a is null or b is not null or (a = 1) is true or (a = 1) is not unknown
select * from t1 where b like 'a%' and b not like '%x' escape '!' and b ilike 'c' and b similar to 'd' and b ~ 'e'
select * from t1 where a is distinct from id and b is not distinct from 'x' and a is distinct from null
select * from t1 where (a, b) = (1, 'x') and (a, b) < (2, 'y') and (a, id) in ((1, 2), (3, 4)) and row(a) = row(1)
select * from t1 where (a, b) is null and t1 is not null and row(a, b) is distinct from row(1, 'x')
select * from t1 where a = any (array[1,2]) and b <> all ('{a,b}') and a = any ('{1,2}')
select case when a > 1 then 'x' when a > 2 then b else null end, case a when 1 then 2.5 when 2 then 3 end from t1
select coalesce(a, 1), coalesce(null, b, 'x'), nullif(a, 1), nullif(b, 'x'), greatest(a, 2.5), least(d, '2020-01-01') from t1
select a::text, a::varchar(3), b::char(4), c::int, '12'::numeric(5,1), a::numeric(4,1), d::timestamp from t1
select array[a, 1], array[[1,2],[3,4]], array['a', b], array[]::int[], array[1.5, a], array[null], array[array[a]] from t1
select cast('{1,2}' as int[]), array['1','2']::int[], array[[1],['2']]::numeric(3,1)[]
select '{a,b}'::varchar(4)[], ta::text[], ia::bigint[], ta::varchar(2)[] from types
select current_date, current_timestamp, current_timestamp(3), localtime, localtimestamp(2), current_user, session_user, current_catalog, current_schema, current_role, user, current_time(9)
select i2 + i4, i4 + i8, i2 * f4, n + i4, d + 1, d - d, ts + iv, tz - tz, iv * 2, t || v, t || i4, ia || 1, jb -> 'a', jb ->> 0, - i2, @ i4, ~ i8 from types
select v = c, v < t, nm = t, ch = 'a', m = 'ok', m > 'sad', pi + 1, st || 'x', r @> 5, r && '[1,2]', bt & b'1010', o = 1, x = '1' from types
select v collate "C", (t || 'x') collate "POSIX", 'a' collate "default", t < v collate "C" from types
select extract(year from d), date_trunc('month', ts), d at time zone 'UTC', overlay(t placing 'x' from 1), position('a' in t), substring(t from 1 for 2), trim(both 'x' from t), normalize(t) from types
select length(t), length(v), length(by), lower(v), upper(c), round(n, 2), round(f8), abs(i2), sqrt(i4), to_char(ts, 'YYYY'), concat(t, i4, d), concat_ws(',', t, v), format('%s', i4) from types
select concat(variadic array['a', 'b']), json_build_object('a', 1, 'b', t), jsonb_build_array(1, t), greatest(variadic_count, 1) from types, (select 1 as variadic_count) q
select make_interval(days => 3), make_interval(1, days => 2, hours => 4), jsonb_set(target => jb, path => '{a}', new_value => '1') from types
select p = row(1, 'a')::pair, p is null, row(i4, t)::pair, (i4, t)::pair, p::text, pd, pa || p, p <> p, p < p from types
select int4(t), text(i4), float8(i4), numeric(i4), date(ts), bool(i4), varchar(t), int4range(1, 2) from types
select interval '1 day', interval '1' year, interval(3) '1 s', timestamp(3) '2020-01-01 00:00', date '2020-01-01', time '12:00', '1 day'::interval(2), '3'::interval minute
select i4::posint, '5'::posint, 'abc'::shorttext, v::shorttext, 1::posint + 1, array[1,2]::posint[], row(1, 'x')::pairdom from types
select 'ok'::mood, m::text, 'sad' < m, enum_range(m), array[m, 'ok'] from types
select (1 = 1) is true, not true, true and false or null, 1 < 2 and 'a' < 'b', bool 't', null::bool
select 5 / 2, 5.0 / 2, 2 ^ 3, 5 % 3, -5, - 2.5, +1, 1 <> 2, '1' + 2, '2.5' * 2.0, '10' / '2'::int, null + 1, null || 'a', 'a' || 'b'
select 9223372036854775807, -9223372036854775808, 2147483648, -2147483648, 99999999999999999999, 0.1, .5, 1e5
select grouping(a), a from t1 group by a
select num_nulls(a, b), pg_typeof(a), pg_typeof('x'), generate_series(1, a), unnest(array[a]), unnest(array[1]) + 1 from t1
select abs(generate_series(1, 2)), (generate_series(1, 2), 3), array[generate_series(1,2)]
-- aggregates
select count(*), count(a), sum(a), avg(a), min(b), max(c), sum(c), avg(c), stddev(a), sum(id::bigint) from t1
select count(distinct a), sum(distinct c), string_agg(b, ','), string_agg(distinct b, ',' order by b), array_agg(a order by b desc nulls last, id) from t1
select string_agg(b, ',' order by b, ','), array_agg(b order by b using <), array_agg(distinct a order by a) from t1
select string_agg(v, ',' order by v), string_agg(distinct v, ',' order by v) from types
select array_agg(i4 order by i4::text), json_agg(t order by v desc), json_object_agg(t, v) from types
select count(*) filter (where a > 1), sum(a) filter (where b = 'x'), bool_and(a > 1), every(b = 'x') from t1
select percentile_cont(0.5) within group (order by a), percentile_disc(array[0.5, 0.9]) within group (order by b desc), mode() within group (order by d) from t1
select rank(5) within group (order by a), rank(1, 'x') within group (order by a, b desc), dense_rank('3') within group (order by a), cume_dist(1.5) within group (order by a) from t1
select percentile_cont(a) within group (order by id) from t1 group by a
select a, count(*) from t1 group by a having count(*) > 1 and a > 2 order by count(*) desc, a
select a + 1, count(*) from t1 group by a + 1 having a + 1 > 2 order by a + 1
select a as x, count(*) from t1 group by x
select a as b, count(*) from t1 group by b, a
select b, count(*) from t1 group by 1 order by 2, 1
select * from t1 group by id
select t1.*, count(*) from t1 join t2 on t1.id = t2.t1_id group by t1.id
select name, t1.b, count(*) from t1, t2 group by t1.id, t2.id
select v, k1, count(*) from t3 group by k1, k2
select t1 from t1 group by id
select t1.b from t1 join t2 using (id) group by t1.id
select b, sum(a) over () from t1 group by id
select date_trunc('day', ts), count(*) from types group by date_trunc('day', ts) order by 1
select case a when 1 then 'x' else 'y' end, count(*) from t1 group by case a when 1 then 'x' else 'y' end
select (select max(t2.id) from t2 where t2.t1_id = t1.id) from t1 group by id
select (select sum(t1.a)), t1.b from t1 group by b
select (select count(t1.a) from t2) from t1
select (select sum(t1.a + t2.id) from t2) from t1 group by t1.a
select a from t1 where a > (select avg(a) from t1 x where x.b = t1.b)
select sum(a) from t1 having sum(a) > 1
select 1 from t1 having true
select a, b, sum(c) from t1 group by rollup (a, b)
select a, b, grouping(a, b), sum(c) from t1 group by cube (a, b)
select a, b, sum(c) from t1 group by grouping sets ((a, b), (a), ())
select a, b, sum(c) from t1 group by grouping sets (a, rollup (b, id), cube (a, id)), d
select a, sum(c) from t1 group by grouping sets (a)
select sum(c) from t1 group by ()
select sum(c) from t1 group by grouping sets ((), ())
select a, b from t1 group by distinct rollup (a, b), rollup (a, b)
select a, b from t1 group by (a, b)
select a + 1, grouping(a + 1) from t1 group by rollup (a + 1, (a, b)) order by grouping(a + 1)
select a, grouping(a) from t1 group by grouping sets (grouping sets (a, (a, b)), b) order by a nulls first
select id, b from t1 group by grouping sets (id)
select id, max(b) from t1 full join t2 using (id) group by id
select id, count(*) from (t1 full join t2 using (id)) group by id order by id
select j.id + 1 from (t1 full join t2 using (id)) j group by j.id
select dept, avg(salary)::numeric(10,2) from emp group by dept order by avg(salary) desc limit 3
-- ORDER BY, DISTINCT, LIMIT
select a, b from t1 order by a, b desc, c nulls first, d desc nulls last
select a as x, b from t1 order by x, 2, a + 1, lower(b)
select a as b, b as a from t1 order by a, b
select a, a from t1 order by a
select a + 1 from t1 order by a + 1 using >, b using <
select b from t1 order by b using ~<~, b collate "C"
select t from types order by v, m, ia, p, r, i4, jb, u, b, ch, nm, o, iv
select 'x' as k, null as n from t1 order by k, n
select distinct a, b from t1
select distinct a, b from t1 order by b, a desc
select distinct * from t1
select distinct on (a) a, b from t1 order by a, b
select distinct on (a, b) c from t1 order by b, a, c
select distinct on (1) a, b from t1
select distinct on (lower(b)) b from t1
select distinct on (a) a as b, b as a from t1
select distinct 'x', null
select a from t1 limit 10 offset 5
select a from t1 limit all offset '3'
select a from t1 limit null
select a from t1 limit $1 offset $2
select a from t1 order by a fetch first 3 rows with ties
select a from t1 order by a fetch first row only
select a from t1 offset 1 row fetch next 2 rows only
select a from t1 limit (select count(*) from t2) offset 1 + 1
select a from t1 limit 2.5
-- windows
select row_number() over (), rank() over (order by a), sum(a) over (partition by b order by c) from t1
select sum(a) over w, count(*) over w, lag(a) over w, lag(a, 1, 0) over w, first_value(b) over w from t1 window w as (partition by b order by a)
select sum(a) over (w order by a), sum(a) over (w rows 1 preceding) from t1 window w as (partition by b)
select sum(a) over w2 from t1 window w as (partition by b), w2 as (w order by c)
select sum(a) over (order by a rows between unbounded preceding and current row), sum(a) over (order by a rows between 1 preceding and 2 following exclude ties) from t1
select sum(a) over (order by a range between 1 preceding and current row), sum(a) over (order by d range between '1 day' preceding and interval '1 month' following) from t1
select sum(i4) over (order by i2 range 1 preceding), sum(i4) over (order by f8 desc range 1.5 preceding), sum(i4) over (order by n range 2 preceding), sum(i4) over (order by ts range '1 day' preceding) from types
select sum(a) over (order by a groups between 1 preceding and 1 following exclude current row), sum(a) over (order by a groups unbounded preceding exclude group) from t1
select sum(a) over (partition by b), avg(a) over (partition by b), sum(a) over (partition by t1.b) from t1
select sum(sum(a)) over (order by b), rank() over (partition by b order by count(*)) from t1 group by b
select row_number() over (order by a) as rn from t1 order by rn, rank() over (order by b)
select count(*) filter (where a > 1) over (order by b), sum(a) filter (where true) over w from t1 window w as ()
select a, sum(a) over (partition by a + 1 order by b desc nulls last) from t1 order by sum(a) over (order by a)
select distinct rank() over (order by a) from t1
select ntile(4) over (order by a), percent_rank() over (order by a), nth_value(a, 2) over (order by b), lead(b, 2, 'x') over (order by a) from t1
select sum(a) over (order by a rows between 1 preceding and $1 following) from t1
select sum(a) over (order by generate_series(1,2)) from t1
select sum(a) over w, sum(b) over w from (select 1 a, 2 b) x window w as (order by a), unused as (order by b)
-- set operations
select 1 union select 2
select 1 union all select 2.5 union select 3
select a, b from t1 union select id, name from t2
select a from t1 intersect select id from t2 except select k1 from t3
select a from t1 union (select id from t2 intersect all select k1 from t3) order by a limit 3
select 'a' union select 'b'
select null union select 1
select null union all select null
select 'a' union select 'b' union select null
select 1, null union select null, 'x' order by 1, 2
select a as x from t1 union all select id as y from t2 order by x
(select a from t1 order by a limit 1) union all (select id from t2 order by 1 desc limit 1)
select v from types union select t from types
select v from types union select v from types
select c from types union select v from types
select '1' union select 1 union select '2'
select $1 union select 1
select 1 union select $1::text::int
values (1, 2) union all select 3, 4
select * from (select 1 a union select 2) u where a = 1
select a from t1 except all select id from t2 order by 1 desc nulls last offset 1
select 1 from t1 union select count(*) from t2
select i2 from types union select i4 from types union select i8 from types union select n from types
select array[1] union select '{2}'
select d, t from types intersect select ts, v from types
select (select 1 union select 2 limit 1), exists (select 1 union select 2), 1 in (select 1 union select 2)
-- subqueries
select (select 1), (select a from t1 limit 1), array(select a from t1), array(select ia from types), exists (select 1), exists (select from t1)
select * from t1 where a in (select id from t2) and b = any (select name from t2) and id > all (select k1 from t3) and a not in (select id from t2)
select * from t1 where (a, b) in (select id, name from t2) and (a, id) = (select 1, 2) and (a, b) <> all (select k1, k2 from t3) and row(a, id) < (select k1, 3 from t3)
select * from t1 where exists (select 1 from t2 where t2.t1_id = t1.id and exists (select 1 from t3 where k1 = t1.a and v = t2.id))
select (select t1.a + t2.id from t2 where t2.id = t1.id), (select (select t1.b)) from t1
select (select x from (select t1.a as x) s), (select count(*) from t2 where t1_id = t1.id) c from t1 order by c
select a from t1 order by (select max(id) from t2 where t2.id = t1.a)
select a from t1 group by a having a > (select 1) and exists (select 1 from t2 where id = a)
select 'x' in (select b from t1), 1 = (select 1), null in (select a from t1), (select null), (select 'x') || 'y'
select case when exists (select 1) then (select 'a') else 'b' end, coalesce((select a from t1 limit 1), 0)
select t1.a from t1 where t1.a = (select a)
select x.a from (select a, (select b) from t1) x
-- WITH
with w as (select 1 as a) select * from w
with w(x, y) as (select 1, 'a') select x, y, w from w
with w as (select a, b from t1), v as (select * from w where a > 1) select w.a, v.b from w join v using (a)
with w as materialized (select 1 a), x as not materialized (select 2 b) select * from w, x, w w2
with t1 as (select 5 as five) select * from t1, public.t1 x
with w as (select 1 a) select (select a from w), (with w as (select 2 a) select a from w)
with recursive w as (select 1 as n union all select n + 1 from w where n < 5) select * from w
with recursive w(n, t) as (values (1, 'a'::text) union select n + 1, t || 'x' from w where n < 3) select n, t from w
with recursive w as (select 1 n union all (select n + 1 from w)), v as (select * from w) select * from v
with recursive a as (select * from b), b as (select 1 x) select * from a
with recursive tree as (select id, manager, name, 1 as depth from emp where manager is null union all select e.id, e.manager, e.name, t.depth + 1 from emp e join tree t on e.manager = t.id) select * from tree order by depth
with recursive w(n) as (select null union all select n from w) select * from w
with w as (select 1 a union select 2) select a from w order by a
with w as (values (1, 2)) select * from w
with w as (select 1) select * from (with v as (select 2 b) select * from w, v) x
with w as (select 'a' x, null y) select x || y from w
select * from (with w as (select 1 a) select * from w) x, lateral (with v as (select x.a) select * from v) y
with w as (select row(1, 'x'::text) r) select (r).f1, (r).* from w
with a as (with b as (select 1 x) select * from b) select * from a
with recursive w as (select 1 n union all select w.n + 1 from w left join t1 on t1.id = w.n) select n from w
-- locks
select * from t1 for update
select * from t1, t2 for share of t2 nowait
select * from t1 x join t2 on true for no key update of x for key share of t2 skip locked
select * from (select * from t1) s for update
select * from (select * from t1, (select * from t2) q) s, t3 for share
select * from t1 for update for share nowait
select * from v1, generate_series(1,2) for update
with w as (select * from t1) select * from w, t2 for update
select * from t1 where a in (select id from t2) for update
-- parameters
select $1::int, $2::text, $1 + 1
select * from t1 where a = $1 and b = $2 and c > $3 and d in ($4, $5)
select $1
select $1, $2 || 'x', $2
select coalesce($1, a), case when $2 then $3 else b end from t1
select * from t1 where id = any ($1) and b like $2 and (a, b) = ($3, $4)
select array[$1, 1], row($2::int, $3::date), $4 in (1, 2)
values ($1, 1), (2, $2)
select * from generate_series(1, $1) g, unnest($2::int[])
-- INSERT
insert into t1 values (1, 2, 'x', 3.5, '2020-01-01')
insert into t1 values (1)
insert into t1 (id, b) values (1, 'x')
insert into t1 (b, id) values ('x', 1), (null, '2'), (default, 3)
insert into t1 default values
insert into t1 (id, a) values (1, default)
insert into t1 select * from t1
insert into t1 (id, b, c) select id, name, score from t2
insert into t1 (id, b, d) select 1, 'x', '2020-01-01'
insert into t1 (id, b, d) select 1, 'x', null union select 2, 'y', null
insert into t1 (id, a) (values (1, 2), (3, 4) order by 1)
insert into t1 (id, a) select $1, $2
insert into t1 (id, a, b) values ($1, $2, $3), ($4, 5, $6)
insert into t1 as x (id) values (1) returning x.id, *
insert into t1 (id) values (1) returning id + 1 as n, t1, ctid, 'x', (select count(*) from t2)
with w as (select 1 as id, 'x' as b) insert into t1 (id, b) select * from w returning *
insert into types (i2, i8, n2, v, c, b, ts, iv, jb, ia, ta, m, pi, st) values (1, 2, 3.14159, 'abc', 'x', true, '2020-01-01', '1 day', '{}', '{1,2}', array['a', 'b'], 'ok', 5, 'short')
insert into types (i4, f8, t, v, o, d) select i8, n, i4, t, i4, ts from types
insert into types (ia[1], ia[2]) values (1, 2)
insert into types (ia[1], p.x, p.y) values (1, 2, 'x'), (3, 4, 'y')
insert into types (ia[1:2], pa[1].x) values ('{1,2}', 5)
insert into types (p) values (row(1, 'x')), (null), ((2, 'y'))
insert into types (p.x, pd.y) values (1, 'q')
insert into types (jb['a']) values ('1')
insert into dropped values (1, 'x', 2)
insert into dropped (c, b) values (1, 'x')
insert into child values (1, 'x', 2)
insert into ident (v) values ('y')
insert into ident (id, v) overriding system value values (1, 'x')
insert into ident (id, v) overriding user value values (1, 'x')
insert into ident values (default, default, 'x', default)
insert into v1 (id, b) values (1, 'x')
insert into s2.t1 select id, b from public.t1
insert into t1 (id) select generate_series(1, 3)
insert into t1 (id) values (generate_series(1, 3))
insert into t1 values ((select 1), (select max(id) from t1))
insert into t1 (id, a) values (1, 2) on conflict do nothing
insert into t1 (id, a) values (1, 2) on conflict (id) do nothing
insert into t1 (id, a) values (1, 2), (3, 4) on conflict (id) do update set a = excluded.a + t1.a, b = 'x' where t1.a > excluded.a returning *
insert into t1 as x (id) values (1) on conflict (id) do update set a = x.a + 1, (b, c) = (select 'q', 1.5), d = default
insert into uniq values (1, 2, 'x') on conflict (b, c) do nothing
insert into uniq values (1, 2, 'x') on conflict ((lower(c))) where b > 0 do update set c = excluded.c || uniq.c
insert into uniq values (1, 2, 'x') on conflict (lower(c)) where b > 0 do nothing
insert into uniq values (1, 2, 'x') on conflict (c collate "C", b) do nothing
insert into uniq values (1, 2, 'x') on conflict on constraint uniq_a_key do update set (b, c) = (excluded.b, default)
insert into uniq values ($1, $2, $3) on conflict (a) do update set b = $4, c = $5 where uniq.b = $6
insert into empty default values
insert into t1 (id, b) select id, (select name from t2 where t2.id = t3.k1) from t3
insert into t1 (id, a) select x, y from (values (1, 2), (3, null)) v(x, y) on conflict (id) do update set a = (select max(a) from t1 q)
insert into t1 select 1, null, 'x' from t2 order by t2.id limit 1
-- UPDATE
update t1 set a = 1
update t1 set a = a + 1, b = 'x', c = default, d = null where id = 5
update t1 x set a = x.a from t2 where x.id = t2.t1_id returning x.*, t2.name
update only parent set v = 'x'
update t1 set (a, b) = (1, 'x')
update t1 set (a, b) = row(2, default), c = 5
update t1 set (a, b) = (select id, name from t2 where t2.t1_id = t1.id), (c, d) = (select 1, '2020-01-01'::date), a = 1
update t1 set (a) = (select 1)
update t1 set a = '5', b = 5, c = 1.23456, d = now()
update t1 set a = $1, b = $2 where id = $3 returning a, $4::int
update types set ia[1] = 5, ia[2:3] = '{1,2}', p.x = 1, pa[1].y = 'z', jb['a'] = '1', jb['b'][0] = '2', pd.x = 5, ta[1] = 'abcdef', p.y = t
update types set pi = 5, st = 'x', m = 'ok', v = t, i2 = i8, n2 = f8, c = v, by = 'x', u = null
update t1 set a = t2.id from t2 join t3 on t3.k1 = t2.id where t1.id = t2.t1_id and exists (select 1 from t3 where v = t1.a)
update t1 set a = s.n from (select count(*) as n from t2) s
update t1 set a = 1 from t1 as other where other.id = t1.a
with w as (select 1 as k) update t1 set a = k from w where id = k returning (select k from w)
update t1 set a = (select max(id) from t2 where t1_id = t1.id) where b in (select name from t2)
update v1 set b = 'x' where id = 1
update t1 set id = id where current of cur
update dropped set c = 1, b = a::text returning *
update t1 set a = 1 from generate_series(1, 2) g where g = id
update t1 set a = 1 from lateral (select 1) s
-- DELETE
delete from t1
delete from t1 where id = 1 returning *
delete from t1 x using t2, t3 y where x.id = t2.t1_id and t2.name = y.k2 returning x.id, t2.*, y
delete from only parent where v is null
delete from t1 where id in (select t1_id from t2) and exists (select 1 from t3 where k1 = t1.a)
with gone as (select id from t2) delete from t1 using gone where t1.id = gone.id
delete from t1 where a = $1 and b = $2
delete from t1 where current of cur
-- statements in WITH
with w as (insert into t1 (id) values (1) returning id, b) select * from w
with w as (delete from t1 where a > 1 returning *), v as (update t2 set name = 'x' from w where w.id = t2.t1_id returning t2.id, w.b) insert into t3 (k1, k2) select id, b from v
with w as (update t1 set a = 1) select 1
with recursive r as (select 1 n union all select n + 1 from r where n < 3), w as (delete from t1 using r where id = n returning id) select count(*) from w
select case when true then a end, count(*) from t1 group by case when 't'::bool then a end
select a + 5 from t1 order by a + '5', a + ' 5'
select c + 1.50 from t1 order by c + '1.50', c + 1.5
select (with w as (select 1 x) select sum((select q.y + x from w)) from (select 1 y) q) from t1
select xmlelement(name "A b", xmlattributes(1 as x, t1.a), 'y', a), xmlforest(t1.a, 1 as "O n") from t1
select xmlconcat('<a/>', null), xmlparse(document '<a/>'), xmlparse(content 'a' preserve whitespace), xmlpi(name a), xmlpi(name a, 'b')
select xmlroot('<a/>', version '1', standalone yes), xmlroot('<a/>', version no value, standalone no value), xmlroot('<a/>', version no value)
select xmlserialize(content '<a/>' as text), xmlserialize(document '<a/>' as varchar(5)), '<a/>' is document, '<a/>' is not document
