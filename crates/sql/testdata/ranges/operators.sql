CREATE TABLE a (id int, r int4range, m int4multirange)
INSERT INTO a VALUES (1, 'empty', '{}'), (2, '(,)', '{(,)}'), (3, '[1,5)', '{[1,3),[5,9)}'), (4, '[5,9)', '{[5,9)}'), (5, '(,1)', '{(,1),[9,)}')
INSERT INTO a VALUES (6, '[9,)', '{[9,)}'), (7, '[2,3)', '{[2,3),[6,7)}'), (8, NULL, NULL), (9, '[1,9)', '{[1,9)}'), (10, '[-5,0)', '{[-5,-3),[-1,0)}')
SELECT x.id, y.id, x.r = y.r, x.r <> y.r, x.r < y.r, x.r <= y.r, x.r > y.r, x.r >= y.r FROM a x, a y
SELECT x.id, y.id, x.r @> y.r, x.r <@ y.r, x.r && y.r, x.r << y.r, x.r >> y.r, x.r &< y.r, x.r &> y.r, x.r -|- y.r FROM a x, a y
SELECT x.id, y.id, x.r @> y.m, x.r <@ y.m, x.r && y.m, x.r << y.m, x.r >> y.m, x.r &< y.m, x.r &> y.m, x.r -|- y.m FROM a x, a y
SELECT x.id, y.id, x.m @> y.r, x.m <@ y.r, x.m && y.r, x.m << y.r, x.m >> y.r, x.m &< y.r, x.m &> y.r, x.m -|- y.r FROM a x, a y
SELECT x.id, y.id, x.m @> y.m, x.m <@ y.m, x.m && y.m, x.m << y.m, x.m >> y.m, x.m &< y.m, x.m &> y.m, x.m -|- y.m FROM a x, a y
SELECT x.id, y.id, x.m = y.m, x.m <> y.m, x.m < y.m, x.m <= y.m, x.m > y.m, x.m >= y.m FROM a x, a y
SELECT x.id, y.id, x.r * y.r, range_merge(x.r, y.r), x.m + y.m, x.m - y.m, x.m * y.m FROM a x, a y
SELECT x.id, y.id, x.r + y.r FROM a x, a y WHERE x.r && y.r OR x.r -|- y.r
SELECT x.id, y.id, x.r - y.r FROM a x, a y WHERE NOT x.r && y.r OR x.r <@ y.r
SELECT int4range(1, 3) + int4range(5, 7)
SELECT int4range(1, 9) - int4range(5, 7)
SELECT id, lower(r), upper(r), isempty(r), lower_inc(r), upper_inc(r), lower_inf(r), upper_inf(r), multirange(r) FROM a
SELECT id, lower(m), upper(m), isempty(m), lower_inc(m), upper_inc(m), lower_inf(m), upper_inf(m), range_merge(m) FROM a
SELECT id, n, r @> n, n <@ r, m @> n, n <@ m FROM a, (VALUES (0), (1), (2), (5), (8), (9), (NULL)) v(n)
SELECT id, unnest(m) FROM a ORDER BY id, 2
SELECT * FROM unnest('{[1,2],[5,6]}'::int4multirange) AS r(x)
SELECT id, r FROM a ORDER BY r, id
SELECT id, m FROM a ORDER BY m DESC NULLS LAST, id
SELECT range_agg(r), range_agg(m), range_intersect_agg(r), range_intersect_agg(m) FROM a
SELECT range_agg(r), range_intersect_agg(r) FROM a WHERE r IS NULL
SELECT range_agg(r), range_intersect_agg(r), range_agg(r) FILTER (WHERE id < 4), range_agg(DISTINCT r) FROM a WHERE id BETWEEN 3 AND 7
SELECT id % 3, range_agg(r ORDER BY r), range_intersect_agg(m) FROM a GROUP BY 1 ORDER BY 1
SELECT id, range_agg(r) OVER (ORDER BY id), range_intersect_agg(r) OVER (ORDER BY id ROWS 1 PRECEDING) FROM a ORDER BY id
SELECT min(r) FROM a
SELECT max(m) FROM a
SELECT count(DISTINCT r), count(DISTINCT m), count(r) FROM a
SELECT r, count(*) FROM (SELECT r FROM a UNION ALL SELECT r FROM a WHERE id > 3) t GROUP BY r
SELECT r FROM a INTERSECT SELECT r FROM a WHERE id < 5
SELECT x.id, y.id FROM a x JOIN a y USING (r)
SELECT x.id, y.id FROM a x JOIN a y ON x.m = y.m AND x.id <= y.id
SELECT x.id FROM a x WHERE r IN ('[1,5)', 'empty', '[2,2]')
SELECT x.id FROM a x WHERE r = ANY (ARRAY['[1,5)', 'empty']::int4range[])
SELECT DISTINCT r FROM (VALUES (numrange(1.0, 2)), (numrange(1, 2.00)), ('[1,2]'), ('(1,2)'), ('empty')) v(r)
SELECT count(*) FROM (SELECT r FROM (VALUES (numrange(1.0, 2)), (numrange(1, 2.00)), (numrange(1, 'NaN'))) v(r) GROUP BY r) t
SELECT x = y, x < y FROM (VALUES (numrange(1.0, 2), numrange(1, 2.0)), (numrange('NaN', NULL), numrange('Infinity', NULL)), ('[1,2]', '[1,2)')) v(x, y)
SELECT '[2000-01-01,infinity)'::tsrange @> 'infinity'::timestamp, '[2000-01-01,]'::tsrange @> 'infinity'::timestamp, '[2000-01-01,infinity]'::tsrange @> timestamp 'infinity'
SELECT '[2000-01-01,2000-01-02]'::daterange -|- '[2000-01-03,2000-01-04]', '[2000-01-01,2000-01-02]'::tsrange -|- '[2000-01-02,2000-01-04]'
SELECT numrange(1, 2) -|- numrange(2, 3), numrange(1, 2, '[]') -|- numrange(2, 3), numrange(1, 2) -|- numrange(2, 3, '(]')
SELECT int4range(1, 5) @> 3, '[1,5)' @> int4range(2, 3), 3 <@ '[1,5)'::int4range
SELECT int4range(1, 5) @> '3'
SELECT int8range(1, 5) @> 3
SELECT int4range(1, 5) @> int8range(2, 3)
SELECT int4range(1, 5) = numrange(1, 5)
SELECT int4range(1, 5) @> 2.5
SELECT int4range(1, 5) + 3
SELECT hash_range(int4range(1, 5)), hash_range('empty'::numrange), hash_multirange('{[1,2],[5,6]}'::int4multirange), hash_range_extended(int8range(1, 5), 7)
SELECT range_cmp(int4range(1, 5), int4range(1, 6)), multirange_cmp('{}', '{[1,2]}'::int4multirange)
SELECT int4range(1, 5) << ANY (ARRAY[int4range(6, 7), int4range(2, 3)]), range_merge('{[1,2],[9,10]}'::int4multirange)
SELECT row_number() OVER (PARTITION BY lower(r) ORDER BY r, id), id FROM a
SELECT id, lag(r) OVER (ORDER BY id), first_value(m) OVER (ORDER BY id) FROM a ORDER BY id
SELECT x.id FROM a x WHERE NOT EXISTS (SELECT 1 FROM a y WHERE y.r = x.r AND y.id <> x.id)
WITH RECURSIVE t(r) AS (SELECT int4range(1, 2) UNION SELECT int4range(lower(r), upper(r) + 1) FROM t WHERE upper(r) < 5) SELECT * FROM t
SELECT array_agg(r ORDER BY id), array_agg(m ORDER BY id) FROM a
SELECT string_agg(r::text, ' ' ORDER BY r) FROM a
SELECT json_agg(r ORDER BY id) FROM a
