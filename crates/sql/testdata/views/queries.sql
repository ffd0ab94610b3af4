SELECT * FROM t
SELECT a, b AS "Name", c AS select_me, d AS "values", f AS "time" FROM t
SELECT t.a, x.b FROM t, u x WHERE t.a = x.a
SELECT 1 AS one, 'x' AS text, 1.5 AS num, -7 AS minus, 3000000000 AS big, -3000000000 AS lessbig, true AS yes, NULL AS nothing, -1.25 AS negative
SELECT 'it''s' AS quoted, 'a\b' AS back, E'tab\there' AS tab, '' AS empty
SELECT '2020-1-2'::date AS d, '12:30'::time AS t, 'infinity'::timestamp AS inf, '1 day 2 hours'::interval AS i, '\xDEADBEEF'::bytea AS y, 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid AS z
SELECT '5'::int AS i, '5'::bigint AS l, '5'::smallint AS s, '1.50'::numeric AS q, '1.5'::float8 AS x, 't'::boolean AS f, 'x'::varchar(3) AS v, 'x'::char(4) AS c, 'x'::"char" AS k, 'abc'::name AS n
SELECT 1.5::numeric(10,2) AS q, 'x'::text::varchar(5) AS v, 5::bigint AS l, 5::text AS t, a::text AS at, b::int AS bi, c::int AS ci, a::float8 AS ax FROM t
SELECT '{1,2}'::int[] AS k, ARRAY[1,2,3] AS l, ARRAY['a','b'] AS m, ARRAY[[1,2],[3,4]] AS n, ARRAY[]::text[] AS o, ARRAY[1,2.5] AS p, ARRAY[1,2]::bigint[] AS q
SELECT '{"a": 1}'::jsonb AS m, '[1, 2]'::json AS n, m -> 'a' AS o, m ->> 'b' AS p, m #> '{a,b}' AS q, m @> '{}' AS r FROM w
SELECT a + 1 AS x, a - 1 - 2 AS y, a - (1 - 2) AS z, a * (b + 1) AS p, -a AS q, a * b + 1 AS r, (a + b) * (a - b) AS s, a % 2 / 3 AS m FROM (SELECT a, g::int AS b FROM u) v
SELECT a > 1 AND f OR NOT f AND (a < 5 OR a = 7) AS x, NOT (a = 1) AS y, NOT f AS z, (f AND f) AND f AS p, f AND (f AND f) AS q FROM t
SELECT a IS NULL AS x, a IS NOT NULL AS y, f IS TRUE AS z, f IS NOT FALSE AS p, f IS UNKNOWN AS q, (a = 1) IS NOT TRUE AS r, t IS NULL AS s, t IS NOT NULL AS v FROM t
SELECT a BETWEEN 1 AND 5 AS x, a NOT BETWEEN 1 AND 5 AS y, a BETWEEN SYMMETRIC 5 AND 1 AS z FROM t
SELECT a IN (1, 2, 3) AS x, a NOT IN (1, 2) AS y, b IN ('a', 'b') AS z, a IN (1) AS p, a IN (1, a + 1) AS q FROM t
SELECT b IN ('a', 'b') AS x, b = 'a' AS y, b LIKE 'a%' AS z, h = 'x' AS p, b || h AS q, b > h AS r FROM u
SELECT a = ANY (ARRAY[1,2]) AS x, a <> ALL ('{1,2}') AS y, a < ANY (k) AS z, b = ANY (l) AS p FROM w
SELECT a IS DISTINCT FROM 1 AS x, a IS NOT DISTINCT FROM 1 AS y, b IS DISTINCT FROM NULL AS z FROM t
SELECT b LIKE 'x%' AS a1, b NOT LIKE 'x%' AS a2, b ILIKE 'x' AS a3, b LIKE 'x!%' ESCAPE '!' AS a4, b SIMILAR TO 'x|y' AS a5, b ~ 'x' AS a6, b !~* 'x' AS a7, b NOT SIMILAR TO 'a' ESCAPE '#' AS a8 FROM t
SELECT CASE WHEN a = 1 THEN 'one' WHEN a = 2 THEN 'two' ELSE 'many' END AS x, CASE a WHEN 1 THEN 'one' END AS y, CASE b WHEN 'x' THEN 1 ELSE 2.5 END AS z FROM t
SELECT CASE WHEN f THEN CASE WHEN a > 1 THEN 1 ELSE 2 END ELSE 3 END AS x FROM t
SELECT COALESCE(a, 1) AS x, COALESCE(b, 'none') AS y, NULLIF(a, 1) AS z, GREATEST(a, 1, 2) AS p, LEAST(c, a) AS q, COALESCE(c, a, 0) AS r FROM t
SELECT upper(b) AS x, length(b) AS y, substr(b, 1, 2) AS z, lower(b || 'X') AS p, concat(a, b, 'c') AS q, format('%s', a) AS r, left(b, 1) AS s, right(b, 2) AS v FROM t
SELECT extract(year FROM d) AS x, extract(epoch FROM e) AS y, date_part('day', d) AS z, date_trunc('month', e) AS p, e AT TIME ZONE 'UTC' AS q, now() AS r FROM t
SELECT substring(b FROM 2) AS x, substring(b FROM 1 FOR 2) AS y, substring(b, 1) AS z, substring(b FROM 'x') AS p, trim(b) AS q, trim(leading 'x' FROM b) AS r, trim(trailing FROM b) AS s, trim(both 'x' from b) AS v, btrim(b) AS w FROM t
SELECT position('x' IN b) AS x, overlay(b PLACING 'x' FROM 1 FOR 2) AS y, overlay(b placing 'x' from 2) AS z, strpos(b, 'x') AS p FROM t
SELECT (d, d) OVERLAPS (d, d) AS x, (ts, i) OVERLAPS (ts, i) AS y FROM (SELECT da AS d, ts, i FROM moments) v
SELECT ts AT TIME ZONE 'Europe/Berlin' AS x, tz AT TIME ZONE i AS y, tt AT TIME ZONE 'UTC' AS z, (ts + i) AT TIME ZONE ('U' || 'TC') AS p FROM moments
SELECT normalize('x') AS x, normalize(b, NFC) AS y, b IS NORMALIZED AS z, b IS NFC NORMALIZED AS p FROM t
SELECT CURRENT_DATE AS a1, CURRENT_TIMESTAMP AS a2, CURRENT_TIME AS a3, LOCALTIME AS a4, LOCALTIMESTAMP AS a5, CURRENT_TIMESTAMP(2) AS a6, LOCALTIME(0) AS a7
SELECT CURRENT_USER AS a1, SESSION_USER AS a2, CURRENT_ROLE AS a3, USER AS a4, CURRENT_SCHEMA AS a5, CURRENT_CATALOG AS a6
SELECT i + interval '1 day' AS x, i * 2 AS y, interval '1' year AS z, interval '2' day AS p, interval(3) '1.5 seconds' AS q, interval '1-2' year to month AS r FROM moments
SELECT i::interval day to second AS x, ts::timestamp(3) AS y, ti::time(2) AS z, da + 1 AS p, da - da AS q, ts - ts AS r FROM moments
SELECT s + n AS x, n + l AS y, n + r AS z, q + n AS p, x + n AS o, s * q AS v, l / 2 AS w, n ^ 2 AS m, |/ x AS sq, @ n AS ab, n & 3 AS an, ~ n AS no, n << 2 AS sh FROM numbers
SELECT n = l AS x, s < n AS y, n = 1.5 AS z, q = n AS p, x > 1 AS o, n::numeric = q AS w FROM numbers
SELECT z = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' AS x, y || '\x00' AS y, encode(y, 'hex') AS e FROM numbers
SELECT k[1] AS x, k[1:2] AS y, k[:2] AS z, k[2:] AS p, l[1] || 'x' AS q, (ARRAY[1,2,3])[2] AS r, k[a::int] AS s, array_length(k, 1) AS v, k || 5 AS o, 5 = ANY(k) AS w, k && ARRAY[1] AS ov FROM w
SELECT ROW(1, 2) = ROW(a, 2) AS y, (a, b) = (1, 'x') AS z, (a, b) < (1, 'x') AS p, ROW(a, b) IS NULL AS q, (a, c) <> (1, 2) AS r, ROW(a, b)::text AS x FROM t
SELECT t AS whole, t.* IS NULL AS x, (t).a AS y, ROW(t.*) IS NULL AS z, ROW(t, 1)::text AS w, row_to_json(t) AS j FROM t
SELECT (x.t).b AS y FROM (SELECT t FROM t) x
SELECT t.*, u.a AS ua FROM t JOIN u ON t.a = u.a
SELECT a, d, g FROM t JOIN u USING (a)
SELECT a, t.b, u.b AS ub FROM t LEFT JOIN u USING (a)
SELECT a, t.b FROM t RIGHT JOIN u USING (a)
SELECT a, t.b FROM t FULL JOIN u USING (a)
SELECT * FROM t FULL JOIN w USING (a, b)
SELECT * FROM t NATURAL JOIN u
SELECT * FROM t NATURAL LEFT JOIN far.t AS ft
SELECT t.a, u.g, w.m FROM t JOIN u ON t.a = u.a JOIN w ON w.a = u.g
SELECT t.a, u.g, w.m FROM t JOIN (u JOIN w ON w.a = u.g) ON t.a = u.a
SELECT t.a, u.g FROM t CROSS JOIN u
SELECT t.a, u.g FROM t LEFT JOIN u ON true
SELECT t.a, u.g, w.k FROM (t CROSS JOIN u) LEFT JOIN w ON w.a = t.a AND u.a = 1
SELECT j.a, j.b, j.g FROM (t JOIN u USING (a)) AS j (a, b, c, d, e, f, b2, g)
SELECT j.d, j.g FROM (t JOIN u ON t.a = u.a) j
SELECT j2.a, j2::text AS whole FROM t JOIN u USING (a) AS j2
SELECT x.a, t.b FROM t JOIN u USING (a) AS x
SELECT a, t.b AS tb, w.b AS wb FROM t JOIN u USING (a) JOIN w USING (a)
SELECT a, t.b AS tb, w.b AS wb FROM t FULL JOIN u USING (a) FULL JOIN w USING (a)
SELECT a, x.b AS xb, z.b AS zb FROM t x JOIN t y USING (a) JOIN t z USING (a)
SELECT x.* FROM t x (p, q), t y
SELECT t.a AS ta, ft.a AS fa, only_there.z FROM t JOIN far.t AS ft ON ft.a = t.a, far.only_there
SELECT a, z FROM far.only_there
SELECT a, z FROM far.t
SELECT o.z FROM far.only_there o WHERE o.a IN (SELECT t.a FROM t)
SELECT "Odd name", a AS "a b", g AS "G" FROM u AS "My Table"
SELECT * FROM (SELECT a, b FROM t WHERE a > 1) s
SELECT s.x, s.y FROM (SELECT a, b FROM t) s (x, y)
SELECT s.x FROM (SELECT a + 1 AS x, count(*) OVER () AS n FROM t) AS s WHERE s.n > 1
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a)
SELECT a FROM t WHERE a IN (SELECT a FROM u)
SELECT a FROM t WHERE a NOT IN (SELECT u.a FROM u WHERE u.a IS NOT NULL)
SELECT a FROM t WHERE a = (SELECT max(u.a) FROM u)
SELECT a FROM t WHERE (a, b) IN (SELECT u.a, u.b FROM u)
SELECT a FROM t WHERE a > ALL (SELECT a FROM u) OR a < ANY (SELECT a FROM u)
SELECT a FROM t WHERE (a, a) < (SELECT u.a, u.a FROM u LIMIT 1)
SELECT a, (SELECT count(*) FROM u WHERE u.a = t.a) AS n, ARRAY(SELECT u.a FROM u ORDER BY u.a DESC) AS l FROM t
SELECT a FROM t WHERE a = ANY ((SELECT k FROM w LIMIT 1)::int[])
SELECT t.a, s.n FROM t, LATERAL (SELECT count(*) AS n FROM u WHERE u.a = t.a) s
SELECT t.a, s.g FROM t LEFT JOIN LATERAL (SELECT u.g FROM u WHERE u.a = t.a LIMIT 1) s ON true
SELECT t.a, x FROM t, generate_series(1, t.a) x
SELECT * FROM generate_series(1, 10)
SELECT * FROM generate_series(1, 10) AS g (n)
SELECT g, o FROM generate_series(1, 10) WITH ORDINALITY AS s (g, o)
SELECT * FROM unnest(ARRAY[1,2], ARRAY['a','b']) AS z (p, q)
SELECT * FROM ROWS FROM (generate_series(1, 3), generate_series(1, 5)) AS z (p, q)
SELECT * FROM json_to_record('{"a": 1}') AS x (a int, b text)
SELECT * FROM jsonb_each('{"a": 1}')
SELECT e.key, e.value FROM w, jsonb_each(w.m) e
SELECT * FROM upper('x')
SELECT * FROM current_date
SELECT generate_series(1, a) AS g FROM t
SELECT DISTINCT a, b FROM t
SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, b DESC
SELECT DISTINCT ON (lower(b), a + 1) a FROM t ORDER BY lower(b), a + 1
SELECT a, b FROM t ORDER BY a DESC, b NULLS FIRST, c DESC NULLS LAST, 1
SELECT a FROM t ORDER BY b USING >, a USING <, lower(b) USING ~<~
SELECT a FROM t ORDER BY a + 1, lower(b), -a
SELECT a FROM t LIMIT 10
SELECT a FROM t LIMIT 10 OFFSET 5
SELECT a FROM t ORDER BY a OFFSET 5 ROWS FETCH FIRST 3 ROWS ONLY
SELECT a FROM t ORDER BY a FETCH FIRST 3 ROWS WITH TIES
SELECT a FROM t ORDER BY a FETCH FIRST ROW WITH TIES
SELECT a FROM t LIMIT ALL
SELECT a FROM t LIMIT (SELECT 1) OFFSET 1 + 1
SELECT a FROM t FOR UPDATE
SELECT t.a FROM t JOIN u ON t.a = u.a FOR UPDATE OF t NOWAIT
SELECT t.a FROM t, u FOR SHARE OF t SKIP LOCKED
SELECT a FROM t FOR NO KEY UPDATE
SELECT a FROM t FOR KEY SHARE
SELECT count(*) FROM t
SELECT b, count(*), sum(a), avg(c), max(d), min(e), bool_and(f) FROM t GROUP BY b
SELECT b, count(DISTINCT a) AS n, string_agg(b, ',' ORDER BY a DESC) AS s, array_agg(DISTINCT a ORDER BY a) AS l FROM t GROUP BY b HAVING count(*) > 1
SELECT count(*) FILTER (WHERE f) AS n, sum(a) FILTER (WHERE a > 1 AND f) AS s FROM t
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) AS p, mode() WITHIN GROUP (ORDER BY b DESC) AS m, rank(3) WITHIN GROUP (ORDER BY a) AS r FROM t
SELECT percentile_disc(ARRAY[0.25, 0.5]) WITHIN GROUP (ORDER BY c) FILTER (WHERE f) AS p FROM t
SELECT lower(b) AS l, count(*) FROM t GROUP BY lower(b) ORDER BY 2 DESC, lower(b)
SELECT a % 2 AS m, b, count(*) FROM t GROUP BY 1, 2
SELECT b, f, count(*), GROUPING(b, f) FROM t GROUP BY ROLLUP (b, f)
SELECT b, f, count(*), grouping(f) FROM t GROUP BY GROUPING SETS ((b, f), (b), ())
SELECT b, f, d, count(*) FROM t GROUP BY CUBE (b, (f, d))
SELECT b, f, d, count(*) FROM t GROUP BY b, ROLLUP (f, d), GROUPING SETS (d, ROLLUP (f))
SELECT b, f FROM t GROUP BY DISTINCT ROLLUP (b), ROLLUP (f)
SELECT count(*) FROM t GROUP BY ()
SELECT a, b, c FROM t GROUP BY a
SELECT a, row_number() OVER (ORDER BY a) AS n, rank() OVER (PARTITION BY b ORDER BY a DESC) AS r, sum(a) OVER () AS s FROM t
SELECT sum(a) OVER w AS s, avg(a) OVER (w ORDER BY b) AS v FROM t WINDOW w AS (PARTITION BY f)
SELECT sum(a) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM t
SELECT sum(a) OVER (ORDER BY a ROWS 2 PRECEDING) AS s, sum(a) OVER (ORDER BY a RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE TIES) AS p FROM t
SELECT sum(a) OVER (ORDER BY a GROUPS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING EXCLUDE GROUP) AS s, count(*) OVER (ORDER BY d RANGE BETWEEN '1 day' PRECEDING AND '10 days' FOLLOWING) AS n FROM t
SELECT first_value(a) OVER x AS s, lag(a, 1, 0) OVER x AS l, count(*) FILTER (WHERE f) OVER x AS n, nth_value(b, 2) OVER y AS v FROM t WINDOW x AS (ORDER BY a), y AS (x ROWS UNBOUNDED PRECEDING)
SELECT a FROM t UNION SELECT a FROM u
SELECT a FROM t UNION ALL SELECT a FROM u UNION ALL SELECT a FROM w
SELECT a FROM t UNION SELECT a FROM u INTERSECT SELECT n FROM numbers
SELECT a FROM t EXCEPT (SELECT a FROM u UNION ALL SELECT n FROM numbers)
(SELECT a FROM t ORDER BY a LIMIT 1) UNION ALL (SELECT a FROM u ORDER BY a LIMIT 2) ORDER BY 1 DESC
SELECT a, 'x' AS b FROM t UNION SELECT a, b FROM u ORDER BY a, 2 LIMIT 3
SELECT 1 AS n UNION SELECT 2.5 UNION SELECT NULL
(SELECT a FROM t EXCEPT SELECT a FROM u) INTERSECT ALL SELECT n FROM numbers
SELECT a FROM t UNION (WITH x AS (SELECT 1 AS a) SELECT a FROM x)
VALUES (1, 'a'), (2, 'b')
SELECT * FROM (VALUES (1, 'a'), (2, NULL)) AS v (n, s)
SELECT n FROM (VALUES (1), (2.5)) v (n) ORDER BY n
WITH x AS (SELECT a FROM t) SELECT a FROM x
WITH x AS (SELECT a FROM t), y (n) AS (SELECT a + 1 FROM x) SELECT x.a, y.n FROM x, y
WITH x AS MATERIALIZED (SELECT 1 AS a), y AS NOT MATERIALIZED (SELECT 2 AS b) SELECT * FROM x, y
WITH RECURSIVE r (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT n FROM r
WITH RECURSIVE sub AS (SELECT d.* FROM departments d WHERE name = 'A' UNION ALL SELECT d.* FROM departments d, sub s WHERE d.parent = s.id) SELECT * FROM sub
WITH RECURSIVE s AS (SELECT f, t, label FROM graph UNION ALL SELECT g.f, g.t, g.label FROM graph g, s WHERE g.f = s.t) SEARCH DEPTH FIRST BY f, t SET seq SELECT f, t, label FROM s ORDER BY seq
WITH RECURSIVE s AS (SELECT f, t, label FROM graph UNION ALL SELECT g.f, g.t, g.label FROM graph g, s WHERE g.f = s.t) SEARCH BREADTH FIRST BY f SET seq SELECT f, t, label FROM s ORDER BY seq
WITH RECURSIVE s AS (SELECT f, t, label FROM graph UNION ALL SELECT g.f, g.t, g.label FROM graph g, s WHERE g.f = s.t) CYCLE f, t SET is_cycle USING path SELECT f, t, label FROM s
WITH RECURSIVE s (f, t) AS (SELECT f, t FROM graph UNION SELECT g.f, g.t FROM graph g, s WHERE g.f = s.t) CYCLE f SET is_cycle TO 'Y' DEFAULT 'N' USING path SELECT f, t, is_cycle FROM s
WITH t AS (SELECT 1 AS n) SELECT * FROM t, public.t AS pt
WITH x AS (SELECT a FROM t) SELECT * FROM (WITH y AS (SELECT a FROM x) SELECT a FROM y) z
SELECT a FROM t WHERE a IN (WITH q AS (SELECT a FROM u) SELECT a FROM q)
SELECT b COLLATE "C" AS x, b < 'x' COLLATE "C" AS y FROM t ORDER BY b COLLATE "C" DESC
SELECT make_interval(days => 3) AS x, make_interval(1, months => 2) AS y, concat_ws(',', VARIADIC ARRAY['a', 'b']) AS z, format('%s', VARIADIC l) AS p FROM w
SELECT num_nulls(a, b) AS x, json_build_object('a', a, 'b', b) AS y, greatest(d, CURRENT_DATE) AS z FROM t
SELECT to_char(e, 'YYYY') AS x, age(e) AS y, to_date('2020', 'YYYY') AS z, random() AS p, pi() AS q FROM t
SELECT pg_typeof(a) AS x, 'pg_class'::regclass AS y, 'int4'::regtype AS z FROM t
SELECT relname, relkind FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace
SELECT table_name FROM information_schema.tables
SELECT c.relname, n.nspname FROM pg_catalog.pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname LIKE 'pg%'
SELECT ctid, tableoid, t.a FROM t
SELECT a FROM ONLY t
SELECT a FROM t TABLESAMPLE bernoulli (10)
SELECT t1.a FROM t t1, t t2, t t3 WHERE t1.a = t2.a AND EXISTS (SELECT 1 FROM t t1 WHERE t1.a = t3.a)
SELECT t.a FROM t WHERE EXISTS (SELECT 1 FROM t WHERE t.a = 1)
SELECT t.a FROM t, (SELECT t.a FROM t) x
SELECT a AS very_long_name_for_a_column_number_one, b AS very_long_name_for_a_column_number_two, c AS very_long_name_for_a_column_number_three FROM t
SELECT s.a FROM (SELECT a FROM (SELECT a FROM (SELECT a FROM (SELECT a FROM (SELECT a FROM t) s5) s4) s3) s2) s
SELECT sum(CASE WHEN f THEN 1 ELSE 0 END) AS n, max(a) FILTER (WHERE CASE WHEN f THEN true ELSE false END) AS m FROM t
SELECT (SELECT a FROM t LIMIT 1) + 1 AS x, -(SELECT 5) AS y, NOT EXISTS (SELECT 1) AS z, (SELECT 1) IS NULL AS p, COALESCE((SELECT 1), 2) AS q
SELECT (a = 1) = f AS x, (a > 1) IS NULL AS y, (a IS NULL) = f AS z, (a IN (1, 2)) = f AS p FROM t
SELECT ((a + 1))::text || 'x' AS x, (a::text || b)::varchar(10) AS y, (-5)::text AS z, (- a)::text AS p, (a IS NULL)::int AS q FROM t
SELECT a FROM t WHERE f
SELECT a FROM t WHERE NOT f AND NOT (a = 1 OR b = 'x') AND (c > 1 OR (d < '2020-01-01' AND e IS NULL))
SELECT a FROM t WHERE c > 1 AND c < 2.5 AND c = '7' AND a = 1.0 AND b > 'x' AND d = '2020-02-03' AND e > '2020-01-01 00:00:00+00'
SELECT a FROM u WHERE b = 'x' AND h = 'y' AND g = 1 AND g = '2' AND b IN ('p', 'q') AND b LIKE '%z' AND upper(b) = 'Z' AND h IN ('a', 'b')
SELECT B'101' AS x, X'1F' AS y, B'10'::bit(4) AS z, 'x'::bpchar AS p
SELECT xx.a FROM t AS xx (a, b) WHERE xx.b = 'x'
SELECT count(*) AS n, b AS k FROM t GROUP BY b ORDER BY count(*) DESC, k LIMIT 5
SELECT max(a) - min(a) AS spread, count(*) * 100.0 / 7 AS share, round(avg(c), 2) AS r FROM t
SELECT a, lead(d) OVER (PARTITION BY f ORDER BY d) - d AS gap FROM t
SELECT m['a'] AS x, (m -> 'b')[1] AS y FROM w
SELECT date '2020-01-01' + time '12:00' AS x, timestamp '2020-01-01 10:00:00.5' AS y, timestamptz '2020-01-01 10:00:00+02' AS z
SELECT array_agg(a) AS x, array_agg(ROW(a, b))::text AS y, json_agg(t) AS z, jsonb_object_agg(b, a) AS p FROM t
SELECT '{[23, 43]}'::int4multirange AS r
SELECT a FROM t WHERE e > 'yesterday' AND d = 'today'::date
SELECT ROW(1, 'x')::far.t AS r, (NULL::t).b AS x
SELECT old.a, new.b FROM t old, t new
SELECT a FROM t WHERE a = ANY (ARRAY(SELECT u.a FROM u)) AND b = ANY (string_to_array('a,b', ','))
SELECT j.n, j.d FROM (t JOIN u ON t.a = u.a) AS j (n)
SELECT count(*) AS n FROM t WHERE (SELECT count(*) FROM u WHERE u.a = t.a AND EXISTS (SELECT 1 FROM w WHERE w.a = t.a)) > 0
SELECT x.n FROM (SELECT 1 AS n UNION ALL SELECT a FROM t ORDER BY 1 LIMIT 2) x
SELECT a FROM t ORDER BY (SELECT max(u.a) FROM u WHERE u.a < t.a), a
SELECT upper(b) AS u, sum(a) FROM t GROUP BY upper(b) HAVING sum(a) > 1 AND NOT bool_or(f)
