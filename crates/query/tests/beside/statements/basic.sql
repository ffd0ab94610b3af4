select 1
select 1 + 1, 'a' || 'b', 2 * 3.5
select id, a, b from t
select * from t
select id from t where a = 1
select id from t where f > 0.5
select count(*) from t
select a, count(*), sum(n), min(b), max(f) from t group by a
select b, sum(a) from t group by b having count(*) > 1
select f, count(*) from t group by f
select m, count(*) from t group by m
select c, count(*) from t group by c
select iv, count(*) from t group by iv
select id, n from t order by n desc nulls last, id -- ordered
select id from t order by f, id -- ordered
select id from t order by m, id limit 3 -- ordered
select id from t order by id offset 2 limit 2 -- ordered
select t.id, o.qty from t join o on t.id = o.t_id
select t.id, o.qty from t left join o on t.id = o.t_id
select t.id, o.qty from t right join o on t.id = o.t_id
select t.id, o.qty from t full join o on t.id = o.t_id
select t.id, o.qty from t left join o on t.id = o.t_id where o.qty is null
select t.id, o.qty from t left join o on t.id = o.t_id and o.qty > 3
select t.id, o.note from t right join o on t.id = o.t_id where t.id is null and o.note = 'a'
select x.id, y.id from t x, t y where x.a = y.a and x.id < y.id
select x.id, y.id from t x join t y on x.f = y.f
select x.id, y.id from t x join t y on x.c = y.c
select x.id, y.id from t x join t y on x.m = y.m
select x.id, y.id from t x join t y on x.a = y.small
select x.id, y.id from t x join t y on x.id < y.id
select id from t where a in (1, 3)
select id from t where a not in (1, 2)
select id from t where a in (select qty from o)
select id from t where a not in (select qty from o)
select id from t where a not in (select t_id from o)
select id from t where exists (select 1 from o where o.t_id = t.id)
select id, (select sum(qty) from o where o.t_id = t.id) from t
select id, (select count(*) from o where o.t_id = t.id) from t
select id, (select qty from o) from t
select id, array(select qty from o where t_id = t.id order by qty) from t
select id from t where a > all (select qty from o where t_id = 1)
select id from t where a < any (select qty from o)
select id from t where (id, a) in (select t_id, 1 from o)
select case when a = 1 then 'one' when a is null then 'none' else b end from t
select case a when 1 then 10 when 2 then 20 end from t
select coalesce(a, 0), nullif(a, 1), greatest(a, 2, id), least(a, id) from t
select id from t where a <> 0 and 10 / a > 4
select id from t where b is distinct from 'a'
select id, a is null, ok is true, ok is not false, ok is unknown from t
select (a, b) = (1, 'a'), (a, b) < (2, 'b') from t
select row(a, b) from t where id < 3
select array[a, id] from t
select (array[1,2,3])[2], (array[1,2,3])[2:3], array[[1,2],[3,4]]
select 3 = any (array[1,2,3]), 3 = all (array[3,3]), null = any (array[1]), 1 = any ('{1,NULL}'::int[])
select upper(b), length(c), c || '|', v || '|' from t
select n + 1, n * 2, m / 3, -n, n::int, f::int from t where id in (1, 5)
select '2.5'::float8::int, 2.5::int, '5' * 2
select 1 / 0
select id / 0 from t
select 'abc'::int
select sum(distinct a), count(distinct b), string_agg(b, ',' order by id desc) from t
select array_agg(a order by id), count(*) filter (where a = 1) from t
select a, b, count(*) from t group by rollup (a, b)
select a, b, grouping(a, b), count(*) from t group by cube (a, b)
select a, count(*) from t group by grouping sets ((a), ())
select count(*), sum(a), max(b), avg(n) from e, t where t.id = e.id
select count(*) from t group by ()
select max(id) from e group by grouping sets ((), (x))
select id, t.* is null from t where id < 3
select x.id from (select id, a from t where a = 1) x where x.id > 1
select t.id, l.q from t, lateral (select qty as q from o where o.t_id = t.id) l
select t.id, l.q from t left join lateral (select qty + t.a as q from o where o.t_id = t.id) l on true
select * from (values (1, 'a'), (2, null)) v (x, y)
select id, b from t where b like 'a%' or b ilike 'B'
select id from t join o on t.id = o.t_id join o p on p.qty = o.qty
select * from t join o using (id)
select a.id, b.id from (select id, a from t) a natural join (select id from t) b
select id from t where d = '2024-02-29' and ts < '2024-03-01' and tz = '2024-02-29 13:00+01'
select id from t where u = '00000000000000000000000000000001'
select current_date = current_date, now() = current_timestamp, current_user
select a + b from t
select nosuch from t
select count(*) from nosuch
select a from t group by b
select sum(sum(a)) from t
select id, count(*) from t group by id, b order by 1 -- ordered
select t.id, t.b, count(o.qty) from t left join o on o.t_id = t.id group by t.id order by t.id -- ordered
select b, a from t group by b, a order by b, a -- ordered
select f from t where f = 'NaN' or f = 0
select avg(a), avg(n), avg(f), stddev(a), variance(n) from t where f <> 'NaN'
select bool_and(ok), bool_or(ok), every(ok), min(d), max(ts), max(tz), sum(iv) from t
-- No row is left of an order, and no column of a group.
select id from t order by a desc, id limit 0
select 'x' order by 1 offset 3 limit 0
(select 1) union (select 2) order by 1 limit 0
select 'x' having true
select 'x' from t having null::bool
select count(*) from (select 1 from t having true) s
select true group by grouping sets (())
select true from t group by grouping sets ((), ())
select 'x' from t where false group by grouping sets ((), (f))
select f, n, c, count(*) from t where false group by rollup (f, n, c)
-- A parameter without a value has its default; one NULL is enough for a strict function.
select jsonb_set('{"a": 1}', '{a}', '2'), jsonb_insert('[1]', '{0}', '2'), jsonb_set_lax('{"a": 1}', '{a}', null)
select normalize(b), b is normalized, is_normalized('a') from t
select jsonb_path_exists('{"a": 1}', '$.a'), jsonb_path_query_array('[1, 2]', '$[*]'), jsonb_path_query_first('[1, 2]', '$[*]')
select * from jsonb_path_query('[1, 2]', '$[*]')
select make_interval(), make_interval(1), make_interval(days => 3), make_interval(hours => 4, secs => 1.5)
select parse_ident('a.b'), parse_ident('a.b c', strict => false)
select small::oid, (2::smallint)::oid, (-1)::smallint::oid from t where small > 0
select null::int + 1 / (id - 1) from t
-- A constant is no column that a set leaves out.
select 1 + 1, a, count(*) from t group by grouping sets ((), (1 + 1), (a))
select distinct a + null::int, b from t
select distinct max(a) + null::int, upper('a') from t
select count(distinct f) from t
select count(distinct m) from t where false
select count(distinct 1) from t
select m, count(distinct c) from t group by m
select c, count(distinct f) from t group by c having count(distinct f) > 0
select b, count(distinct iv) + 1 from t group by b
select 1, count(distinct a) from t group by 1
select count(distinct (a, b)) from t
select t.id, (select count(distinct o.qty) from o where o.t_id = t.id) from t
select t.id, (select count(distinct t.a) from o limit 1) from t group by t.id
select a, count(distinct n) from t group by rollup(a)
select count(distinct b) filter (where a > 1) from t
select count(distinct f) over () from t
select a from (select a, sum(big) from t group by a) s
select count(*) from (select a, max(b) from t group by a) s
select count(*) from (select max(b) from t) s
select 1 from (select max(b), min(b) from t having count(*) > 1) s
select b from (select a, b, grouping(a), 1 + count(distinct n) as c from t group by rollup (a, b)) s
select a from (select a, (select count(*) from o where o.qty > max(t.id)) as more from t group by a) s
