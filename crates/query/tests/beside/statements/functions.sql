-- Functions in FROM
select * from generate_series(1, 3)
select g + 1 from generate_series(1, 3) g
select g from generate_series(1, 3) as x(g)
select * from generate_series(3, 1)
select * from generate_series(3, 1, -1)
select * from generate_series(1, null)
select * from generate_series(1, 5, 0)
select * from generate_series(1.5, 3)
select * from generate_series(1, 3) with ordinality
select * from generate_series(1, 3) with ordinality as x(a, n) where n > 1
select * from rows from (generate_series(1, 3), generate_series(1, 2)) as x(a, b)
select * from rows from (generate_series(1, 3), generate_series(1, 2), abs(-7)) with ordinality as x(a, b, c, n)
select * from rows from (generate_series(1, 0), generate_series(1, 0))
select * from unnest(array[1, null, 3])
select * from unnest(array['a', 'b'], array[1, 2, 3]) as x(a, b)
select * from unnest(array['a', 'b'], array[1, 2, 3]) with ordinality
select * from unnest(array[]::int[])
select * from unnest(null::int[])
select * from unnest(array[array[1, 2], array[3, 4]])
select * from abs(-3)
select * from upper('x') as u
select * from abs(null::int)
select t.id, g from t, generate_series(1, t.a) g
select t.id, g from t left join generate_series(1, t.a) g on true
select t.id, g from t left join generate_series(1, t.a) g on g > 1
select t.id, g.* from t cross join lateral generate_series(t.id, t.id + 1) with ordinality g(x, n)
select t.id, x from t, unnest(array[t.b, t.v]) x
select t.id, x from t, unnest(string_to_array(t.b, 'a')) x
select id, (select sum(g) from generate_series(1, t.id) g) from t
select id, (select count(*) from generate_series(1, t.a) g where g <> t.id) from t
select id from t where exists (select from generate_series(1, t.a) g where g = 2)
select count(*) from generate_series(1, 100000)
select sum(g), min(g), max(g) from generate_series(1, 20000) g
select * from json_each('{"a": 1, "b": null}')
select key from json_each('{"a": 1, "b": null}') where value is not null
select * from jsonb_each_text('{"a": 1, "b": null}') with ordinality
select * from json_array_elements('[1, 2]') x
select t.id, j.value from t, jsonb_array_elements(to_jsonb(array[t.id, t.a])) j
select * from generate_series(1, 2) a, generate_series(1, a) b
select * from generate_series(1, 2) a join generate_series(2, 3) b on a = b
select a.n, b.n from generate_series(1, 3) with ordinality a(x, n) full join generate_series(2, 5) with ordinality b(x, n) on a.x = b.x
select x from generate_series(1, 3) x order by x desc -- ordered
select x.x from generate_series(1, 3) x group by x.x
select x from generate_series('2024-01-01'::timestamp, '2024-01-03', '1 day') x
select * from generate_subscripts(array[5, 6], 1)
select s, (array[5, 6])[s] from generate_subscripts(array[5, 6], 1) s
select * from regexp_split_to_table('a b', ' ')
select * from string_to_table('a,b', ',')
-- Sets in targets
select generate_series(1, 3)
select generate_series(1, 3), generate_series(1, 2)
select generate_series(1, 3), 'x'
select id, generate_series(1, a) from t
select id, generate_series(1, a), generate_series(1, 2) from t
select generate_series(1, 2) + 10, generate_series(1, 2)
select generate_series(1, generate_series(1, 3))
select generate_series(1, 3), generate_series(1, generate_series(1, 2))
select generate_series(1, generate_series(1, 2)), generate_series(5, 7), generate_series(1, 2)
select unnest(array[1, 2]), unnest(array['a', 'b', 'c'])
select unnest(null::int[])
select id, unnest(null::int[]) from t
select id, unnest(array[a, id]) from t order by id -- ordered
select id, unnest(array[a, id]) from t order by id desc limit 3 -- ordered
select id, unnest(array[3, 1, 2]) from t where id < 3 order by id desc -- ordered
select id, unnest(array[3, 1, 2]) x from t where id < 3 order by x, id -- ordered
select id, unnest(array[3, 1, 2]) x from t where id < 3 order by 2 desc, 1 limit 2 offset 1 -- ordered
select count(*), generate_series(1, 2) from t
select a, count(*), generate_series(1, count(*)) from t group by a
select generate_series(1, 2) g, count(*) from t group by g
select generate_series(1, 2) g, sum(id) from t group by 1 order by 1 -- ordered
select generate_series(1, max(id)) from t
select unnest(array_agg(a order by id)) from t
select generate_series(1, 3) from e
select generate_series(1, 2) from t limit 3
select generate_series(1, 2) limit 1 offset 1
select json_each('{"a": 1, "b": null}')
select row_number() over (order by id), generate_series(1, 2) from t
select generate_series(1, row_number() over (order by id)) from t where id < 4
select (select generate_series(1, 1)), id from t
select id from t where id in (select generate_series(2, 3))
select array(select generate_series(1, 3))
select x, generate_series(1, x) from (select generate_series(1, 3) x) s
select max(x) from (select generate_series(1, 50000) x) s
select generate_series(1, 1000000000) limit 2
select distinct generate_series(1, 3) % 2
select generate_series(1, 2) union select generate_series(2, 3)
select case when id > 1 then 1 else 0 end, generate_series(1, 2) from t
select generate_series(1, 3, 0)
select abs(generate_series(-1, 1))
select generate_series(1, 2) as a, generate_series(1, 2) as a
select id, generate_series(1, 2) from t fetch first 1 row only
select id, a, generate_series(1, 2) from t order by a nulls first fetch first 1 row with ties
select row(generate_series(1, 2), id) from t where id < 3
select coalesce(a, 0), unnest(array[id]) from t where b is not null
select ('{"a": [1, {"b": 2}]}'::jsonb)['a'][1]['b']
select ('[1, "x", null]'::jsonb)[-1], ('[1, "x", null]'::jsonb)['1'], ('[1]'::jsonb)[5], ('7'::jsonb)[0]
select ('{"1": true}'::jsonb)[id], ('{"1": true}'::jsonb)[b] from t
select ('{"a": 1}'::jsonb)[null], ('{"a": 1}'::jsonb)['a'::text]
select ('[1]'::jsonb)[1.0]
select ('[1]'::jsonb)[0:1]
select * from json_to_record('{"a":1,"b":"foo","c":"bar"}') as x(a int, b text, d text)
select * from jsonb_to_record('{"a":[1,2],"b":{"x":1}}') as x(a int[], b jsonb, c char(3))
select * from json_to_recordset('[{"a":1,"b":"foo"},{"a":"2","c":true}]') as x(a int, b text, c boolean)
select *, c is null from jsonb_to_recordset('[{"a":1, "b":{"c":16, "d":2}, "x":8}]') as t(a int, b jsonb, c text, x int)
select * from json_populate_record(null::record, '{"x": 776}') as (x int, y int)
select json_populate_record(row(1, 2), '{"f1": 0, "f3": 1}')
select i, jsonb_populate_recordset(row(i, 50), '[{"f1":"42"},{"f2":"43"}]') from (values (1), (2)) v(i)
select json_populate_recordset(null::record, '[{"x": 0, "y": 1}]')
select * from json_populate_recordset(row(0::int), '[{"a":"1","b":"2"}]') q (a text, b text)
select * from json_to_recordset('{"a":1}') as x(a int)
select * from json_to_record(null) as x(a int, b text)
select jsonb_path_query('"10-03-2017 12:34 +05:20"', '$.datetime("dd-mm-yyyy HH24:MI TZH:TZM")')
select jsonb_path_query('["2017-03-10", "12:34:56.5+3", "2017-03-10T12:34:56", "x"]', 'lax $[*] ? (@.datetime().type() != "date")')
select jsonb_path_query('"2017-03-10"', '$.datetime("aaa")')
select jsonb_path_query('"12:34:56 x"', '$.datetime("HH24:MI:SS")')
select jsonb_path_query('"12:34"', '$.datetime("HH24:MI:SS")')
select jsonb_path_query('["2017-03-09", "2017-03-10 00:00:00", "2017-03-11 01:00:00+3"]', '$[*].datetime() ? (@ > "10.03.2017".datetime("dd.mm.yyyy"))')
select jsonb_path_query_tz('["2017-03-09", "2017-03-10 00:00:00", "2017-03-11 01:00:00+3"]', '$[*].datetime() ? (@ > "10.03.2017".datetime("dd.mm.yyyy"))')
select jsonb_path_query('["abc", "ABd", 1, "a\nbc"]', '$[*] ? (@ like_regex "^ab.*c" flag "i")')
select '$ ? (@ like_regex "(x")'::jsonpath
select '$ ? (@ like_regex "x" flag "x")'::jsonpath
select (select s from generate_series(1, 5) s order by s limit 1 offset t.id - 1) from t
select (select count(*) from (select 1 from generate_series(1, 9) limit t.id) s) from t
select id from t where (select s from generate_series(1, 5) s limit 1 offset -t.id) > 0
select case 1 when 0 then 1 / 0 when 1 then 1 else 2 / 0 end
select 1 from t where 1 / a = 1 having 1 < 2
select distinct on (a) a, id, generate_series(1, 2) g from t order by a nulls first, id desc -- ordered
select a, sum(distinct id) from t x group by a having exists (select 1 from t y where sum(distinct x.id) = y.id)
select (select max((select i.id from t i where i.id = o.id))) from t o
select (select count(*) filter (where outer_c <> 0) from (values (1)) t0(inner_c)) from (values (2), (3)) t1(outer_c)
select (select count(inner_c) filter (where outer_c <> 0) from (values (1)) t0(inner_c)) from (values (2), (3)) t1(outer_c)
select g as x, g as y from generate_series(1, 3) g group by x, rollup(y)
select (select grouping(v1)) from (values ((select 1))) v(v1) group by cube(v1)
select array(select '11 22 33'::int2vector from generate_series(1, 2)), pg_typeof(array(select '1'::oidvector))
select timestamp 'Jan 1, 4713 BC' + interval '107000000 days', timestamp 'Jan 1, 4713 BC' + interval '109203490 days'
select concat(variadic array[1, 2, 3]), concat_ws(',', variadic array[1, 2, 3]), concat(variadic '{}'::int[])
select concat(variadic null::int[]), concat_ws(',', variadic null::int[]), format('x', variadic null::int[])
select format('%s, %s', variadic array['Hello', b]) from t
select concat_ws('-', variadic array[b, v]), num_nulls(variadic array[b, v]) from t
select json_build_array(variadic '{{1,4},{2,5}}'::int[]), json_build_array(variadic null::text[])
select json_build_object(variadic '{a,1,b,2}'::text[]), jsonb_build_object(variadic '{}'::text[])
select jsonb_build_object(variadic '{a,b,c}'::text[])
select a, grouping(a) from t group by a
select (select grouping(x.a)) from t x group by x.a
select sum(1 / a) filter (where a > 1), count(1 / (id - 1)) filter (where id > 1) from t
select float8_accum('{4,140,2900}'::float8[], 100), float8_accum('{0,0,0}', 'NaN'), float8_accum('{1,1e308,0}', 'Infinity')
select float8_accum('{2,1e308,0}', 1.7e308)
select float8_accum('{2,1}', 1)
select float8_combine('{3,60,200}'::float8[], '{0,0,0}'::float8[]), float8_combine('{0,0,0}'::float8[], '{2,180,200}'::float8[])
select float8_combine('{3,60,200}'::float8[], '{2,180,200}'::float8[])
select float8_regr_accum('{4,140,2900,1290,83075,15050}'::float8[], 200, 100)
select float8_regr_combine('{3,60,200,750,20000,2000}'::float8[], '{2,180,200,740,57800,-3400}'::float8[])
select float8_regr_combine('{0,0,0,0,0,0}'::float8[], '{2,180,200,740,57800,-3400}'::float8[])
select '2011-03-27 02:00:00 MSK'::timestamptz, '2011-03-27 01:59:59 MSK'::timestamptz, '2014-10-26 01:00:00 MSK'::timestamptz, '2014-10-26 00:59:59 msk'::timestamptz
select '2011-03-27 02:00:00'::timestamp at time zone 'MSK', '2014-10-25 21:59:59 UTC'::timestamptz at time zone 'MSK', '2014-10-25 22:00:00 UTC'::timestamptz at time zone 'MSK'
select '2010-07-01 12:00 MSK'::timestamptz, '1985-07-01 12:00 IRKT'::timestamptz, '2020-01-01 12:00 MSK MSK'::timestamptz
select '1985-07-01 12:00 IRKT'::timestamptz, '2020-01-01 12:00 SGT'::timestamptz, '1970-01-01 12:00 SGT'::timestamptz
select timestamptz '2001-07-11 10:51:14 GMT-4', 'Wed Jul 11 10:51:14 America/New_York 2001'::timestamptz
