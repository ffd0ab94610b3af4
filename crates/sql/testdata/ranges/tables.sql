CREATE TABLE t (id int PRIMARY KEY, i int4range, b int8range, n numrange, ts tsrange, tz tstzrange, d daterange)
CREATE TABLE m (id int PRIMARY KEY, i int4multirange, b int8multirange, n nummultirange, ts tsmultirange, tz tstzmultirange, d datemultirange, a int4range[])
INSERT INTO t VALUES (1, '[1,5]', '(1,9223372036854775807)', '[1.50,2.0]', '[2000-01-01,infinity]', '[2000-01-01 00:00+01,)', '[2000-01-01,2000-01-03]')
INSERT INTO t VALUES (2, 'empty', 'empty', 'empty', 'empty', 'empty', 'empty'), (3, NULL, NULL, NULL, NULL, NULL, NULL), (4, '(,)', '(,5)', '[NaN,NaN]', '(,-infinity]', '(infinity,)', '[-infinity,infinity)')
INSERT INTO m VALUES (1, '{[1,2],[5,)}', '{(,0),[7,9)}', '{[1.0,2),(2,3.00]}', '{[2000-01-01,2000-01-02]}', '{(,2000-01-01 12:00+02]}', '{[2000-01-01,2000-01-03],[2001-01-01,)}', '{"[1,2]",NULL,empty}')
INSERT INTO m VALUES (2, '{}', '{}', '{}', '{}', '{}', '{}', '{}'), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
SELECT * FROM t ORDER BY id
SELECT * FROM m ORDER BY id
INSERT INTO t (id, i) VALUES (5, '[3,2]')
INSERT INTO t (id, i) VALUES (5, '3')
INSERT INTO t (id, i) VALUES (5, 7)
UPDATE t SET i = i + '[6,9]', n = n * '[1.7,)' WHERE id = 1
UPDATE t SET i = int4range(lower(i), 20) WHERE i @> 7 RETURNING id, i
SELECT id, i, n FROM t ORDER BY id
SELECT id FROM t WHERE i = '[1,20)'
SELECT id FROM t WHERE d @> date '2000-01-02'
SELECT id FROM t WHERE n = '[NaN,NaN]' OR n = 'empty'
SELECT id FROM t ORDER BY b NULLS FIRST, id
SELECT id FROM t ORDER BY n, id
DELETE FROM t WHERE isempty(i)
SELECT count(*) FROM t
CREATE TABLE k (r int4range PRIMARY KEY, s tsrange UNIQUE, x int4multirange)
INSERT INTO k VALUES ('[1,3]', '[2000-01-01,2000-01-02)', '{[1,2]}'), ('[1,4]', '[2000-01-01,2000-01-02]', '{[1,3]}'), ('empty', NULL, '{}')
INSERT INTO k VALUES ('(0,4)', NULL, NULL)
INSERT INTO k VALUES (NULL, NULL, NULL)
INSERT INTO k VALUES ('[8,9]', '[2000-01-01,2000-01-02)', NULL)
INSERT INTO k VALUES ('[1,3]', NULL, '{[7,8]}') ON CONFLICT (r) DO UPDATE SET x = excluded.x RETURNING *
CREATE INDEX kx ON k (x)
CREATE INDEX kr ON k (lower(r))
INSERT INTO k SELECT int4range(n, n + 5), tsrange('2001-01-01', timestamp '2001-01-01' + n * interval '1 day'), int4multirange(int4range(n, n + 1)) FROM generate_series(10, 60) n
SELECT count(*) FROM k
SELECT * FROM k WHERE r = '[20,25)'
SELECT * FROM k WHERE r > '[55,57)' ORDER BY r
SELECT * FROM k WHERE r < '[10,16)' ORDER BY r
SELECT r FROM k WHERE r BETWEEN '[10,15)' AND '[12,17)' ORDER BY r DESC
SELECT r FROM k WHERE x = '{[30,31)}'
SELECT r FROM k WHERE x >= '{[58,59)}' ORDER BY x
SELECT r FROM k WHERE lower(r) = 40
SELECT r FROM k WHERE r && '[22,24)' ORDER BY r
SELECT r FROM k WHERE r IN ('[30,35)', 'empty', '[31,35)')
SELECT r FROM k ORDER BY r LIMIT 4
SELECT r FROM k ORDER BY r DESC LIMIT 3
SELECT min(lower(r)), max(upper(r)) FROM k
DELETE FROM k WHERE r = '[20,24]'
SELECT count(*) FROM k WHERE r >= '[19,20)' AND r < '[22,23)'
CREATE TABLE child (r int4range REFERENCES k, n int)
INSERT INTO child VALUES ('[21,25]', 1), (NULL, 2)
INSERT INTO child VALUES ('[20,24]', 1)
DELETE FROM k WHERE r = '[21,26)'
CREATE TABLE d (id int, r daterange DEFAULT '[2000-01-01,2000-01-05]', m int4multirange DEFAULT '{[1,2]}', n numrange DEFAULT numrange(1, 2))
INSERT INTO d (id) VALUES (1)
INSERT INTO d VALUES (2, 'empty')
INSERT INTO d VALUES (2, '[2001-01-01,2001-01-01]', DEFAULT, '[3,4]') RETURNING *
SELECT * FROM d ORDER BY id
ALTER TABLE d ADD COLUMN t tstzrange DEFAULT '[2000-01-01 00:00+00,)'
SELECT * FROM d ORDER BY id
SELECT column_name, data_type, udt_name, column_default, is_nullable FROM information_schema.columns WHERE table_name = 'd' ORDER BY ordinal_position
SELECT attname, format_type(atttypid, atttypmod), attlen, attbyval, attalign, attstorage FROM pg_attribute WHERE attrelid = 'd'::regclass AND attnum > 0 ORDER BY attnum
CREATE VIEW v AS SELECT id, r, lower(r) AS l, '{[1,5]}'::int4multirange AS x, r @> '2000-01-02'::date AS h FROM d WHERE r && '[2000-01-01,2000-01-02]'
SELECT * FROM v
SELECT pg_get_viewdef('v'::regclass)
CREATE TYPE slot AS (name text, r int4range)
CREATE TABLE s (id int, x slot, y int4multirange[])
INSERT INTO s VALUES (1, ROW('a', '[1,2]'), ARRAY['{[1,2],[4,5]}'::int4multirange, '{}'])
SELECT id, x, (x).r, y, y[1] FROM s
CREATE DOMAIN bounded AS int4range CHECK (NOT upper_inf(VALUE))
CREATE TABLE dm (r bounded)
INSERT INTO dm VALUES ('[1,5]')
INSERT INTO dm VALUES ('[1,)')
SELECT r, lower(r), r @> 3, r && '[4,9]' FROM dm
SELECT '[1,)'::bounded
BEGIN
CREATE TABLE gone (r int4range)
INSERT INTO gone VALUES ('[1,2]')
SAVEPOINT p
UPDATE t SET i = '[100,200]' WHERE id = 1
INSERT INTO gone VALUES ('[3,2]')
ROLLBACK TO p
SELECT r FROM gone
ROLLBACK
SELECT i FROM t WHERE id = 1
PREPARE q(int4range, int) AS SELECT $1 @> $2, $1 * '[3,)', lower($1)
EXECUTE q('[1,9]', 4)
EXECUTE q('[1,9', 4)
PREPARE w AS SELECT id FROM t WHERE i && $1 ORDER BY id
EXECUTE w('[2,3]')
CREATE TABLE p (r int4range, n int) PARTITION BY LIST (r)
CREATE TABLE p1 PARTITION OF p FOR VALUES IN ('[1,2]', 'empty')
INSERT INTO p VALUES ('[1,3)', 1), ('empty', 2)
INSERT INTO p VALUES ('[1,4)', 1)
SELECT tableoid::regclass, * FROM p ORDER BY n
CREATE TABLE noted (r int4range)
DO 'DECLARE x int4range := ''[5,7)''; y int4range; BEGIN y := int4range(lower(x) - 1, upper(x) + 1); IF y @> 5 THEN INSERT INTO noted VALUES (y), (''empty''); END IF; END'
SELECT * FROM noted
CREATE TABLE ex (r int4range, EXCLUDE USING gist (r WITH &&))
CREATE TABLE like_k (LIKE k)
SELECT count(*) FROM like_k
INSERT INTO t (id, i) SELECT 7, r FROM k WHERE r = '[30,34]'
SELECT i FROM t WHERE id = 7
TRUNCATE child
MERGE INTO k USING (VALUES ('[21,25]'::int4range), ('[500,501]')) v(r) ON k.r = v.r WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (v.r, NULL, NULL)
SELECT r FROM k WHERE r = '[21,25]' OR r = '[500,501]'
