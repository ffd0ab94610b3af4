-- UNION, INTERSECT, EXCEPT
select a from t union select qty from o
select a from t union all select qty from o
select a from t intersect select qty from o
select a from t except select qty from o
select a from t intersect all select t_id from o
select a from t except all select t_id from o
select a from t union all select a from t except all select a from t where id < 3
select id, a from t union select t_id, qty from o order by 2 desc nulls last, 1 limit 3 offset 1 -- ordered
select a, b from t union select null, null
select f from t union select f from t
select f from t where f = 0 union all select f from t where f <> 0
select 'NaN'::float8 union select f from t where f is not null and f <> 0
select 0.0::float8 as f union select '-0'::float8
select '-0'::float8 as f union select 0.0::float8
select f from t except select 'NaN'::float8
select 1.0 union select 1.00
select 1.00 union select 1.0
select m from t except select 1.00
select n from t where id < 2 union select m from t where id > 2
select c from t union select 'ab'
select c from t union select 'ab'::char(3)
select c from t except select 'cd'::char(2)
select a from t union select 2.5 order by 1 -- ordered
select a from t union all select 2.5
select small from t union select big from t union select a from t
select small from t union all (select a from t union select 1.5)
(select a from t order by id limit 2) union all (select qty from o order by oid_ limit 2)
select d from t union select ts from t
select d from t intersect select ts::date from t
select b from t union select v from t
select b from t intersect select b from t where a = 1
select 1 intersect select 1 union select 2 except select 3
select 1 union (select 2 intersect select 3)
select 1 union select 2 union all select 2 union all select 2
(select 1 union select 2 union all select 2) union select 2
select iv from t union select '24:00:00'::interval
select null union select null
select null union all select 1
select null except select null
select null intersect all select null
select id from e union select x::int from e
select id from e except select id from t
select id from t except all select id from e
select id from e union all select id from e
select 'a' union select 'b' union select 'a'
select array[1, 2] union select array[1, 2] union select array[2]
select array[1] union select array[1.5]
select raw from t union select raw from t
select ok from t union all select ok from t where ok
select ok from t except select true
select u from t intersect select u from t where id > 1
select x.n, count(*) from (select a as n from t union all select qty from o) x group by x.n
select a from t where a in (select qty from o union select 1)
select (select max(q) from (select qty as q from o union all select t.a) s) from t
select id, (select string_agg(v::text, ',' order by v) from (select t.a as v union all select t.id union select 7) s) from t
select * from (select a, b from t union select qty, note from o) s where a > 1
select 1 as x union select 2 order by x desc -- ordered
select a from t union select qty from o order by a limit 2 -- ordered
select count(*) from (select union all select) s
select a from t union all select b from t
select a, b from t union select a from t
select ts from t union select tz from t
select 1 union select 'x'
select id from t intersect select id from t intersect select t_id from o
(select 1 limit 0) union all select 2
select g from generate_series(1, 20000) g except all select g from generate_series(2, 20000) g
select count(*), sum(g) from (select g % 100 as g from generate_series(1, 30000) g intersect all select g % 50 from generate_series(1, 20000) g) s
select count(*) from (select g from generate_series(1, 20000) g union select g from generate_series(10000, 30000) g) s
-- DISTINCT
select distinct a from t
select distinct a, b from t
select distinct f from t
select distinct c from t
select distinct iv from t
select distinct n from t
select distinct length(b), a from t order by 1, 2 -- ordered
select distinct 1 from t
select distinct 1, null from t
select distinct 1 from e
select distinct a, 1 from t order by a -- ordered
select distinct a from t order by a desc nulls first limit 2 -- ordered
select distinct on (a) a, id from t order by a, id -- ordered
select distinct on (a) a, id from t order by a desc, id desc -- ordered
select distinct on (a) id from t order by a nulls first, id desc limit 3 -- ordered
select distinct on (a, b) a, b, id from t order by a, b, id -- ordered
select distinct on (a, b) a, b, id from t order by b, a, id -- ordered
select distinct on (f) f, id from t order by f, id -- ordered
select distinct on (c) c, id from t order by c, id -- ordered
select distinct on (1) id from t order by 1, id -- ordered
select distinct on (length(b)) id, b from t order by length(b), id -- ordered
select distinct on (a) a, id from t where false order by a
select distinct on (a + 1) a, id from t order by a + 1, id desc -- ordered
select distinct count(*) from t group by a
select distinct a, count(*) over (partition by a) from t
select distinct a from t group by a, b
select distinct generate_series(1, 3) / 2 from t
select distinct row(a, b) from t
select distinct array[a] from t
-- WITH TIES
select id, a from t order by a fetch first 1 rows with ties
select a from t order by a fetch first 1 rows with ties -- ordered
select a from t order by a fetch first 3 rows with ties -- ordered
select a from t order by a desc nulls last offset 1 fetch first 1 rows with ties -- ordered
select f from t where f = 0 order by f fetch first 1 row with ties
select a from t order by a fetch first 0 rows with ties
select a from t order by a offset 5 fetch first 1 rows with ties -- ordered
select a from t order by a offset 10 fetch first 1 rows with ties -- ordered
select c from t order by c fetch first 2 rows with ties
select distinct a from t order by a fetch first 2 rows with ties -- ordered
select g / 3 from generate_series(1, 20) g order by g / 3 fetch first 4 rows with ties -- ordered
select f, c from t union select f, c from t
select c from t union all select b from t
select n from t union select a from t union select f from t
select n from t union all (select a from t union all select f from t)
select array_agg(v order by v) from (select a from t union select 9) s(v)
select id from t where (a, b) in (select a, b from t except select 1, 'a')
select t.id, s.x from t, lateral (select t.a as x union select t.id except select 2) s
select t.id, s.x from t left join lateral (select qty as x from o where t_id = t.id union all select t.a) s on x > 1
select (select count(*) from (select t.a intersect select t.id) s) from t
select a, count(*) from (select a from t union all select a from t) s group by a having count(*) > 2
select generate_series(1, 3) intersect select generate_series(2, 5) order by 1 -- ordered
select distinct on (a) a, count(*) over (partition by a) from t order by a -- ordered
select distinct on (g / 10) g from generate_series(1, 20000) g order by g / 10 desc, g limit 3 -- ordered
select count(*) from (select distinct g % 1000, g % 7 from generate_series(1, 30000) g) s
select id from (select id from t order by a fetch first 2 rows with ties) s where id > 1
select distinct b collate "C" from t
select distinct m, n from t
select from generate_series(1, 5) intersect select from generate_series(1, 3)
select from generate_series(1, 5) intersect all select from generate_series(1, 3)
select from generate_series(1, 5) except all select from generate_series(1, 3)
select from generate_series(1, 5) except select from generate_series(1, 3)
