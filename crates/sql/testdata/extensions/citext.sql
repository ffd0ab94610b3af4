CREATE EXTENSION citext
SELECT 'a'::citext = 'A'::citext, 'a'::citext <> 'A', 'a'::citext < 'B', 'B'::citext > 'a', 'a'::citext <= 'A', 'A'::citext >= 'a'
SELECT 'a'::citext = 'A'::text, 'a'::citext = 'A'::varchar, 'A'::text = 'a'::citext
SELECT 'É'::citext = 'é', 'ß'::citext = 'SS'
SELECT NULL::citext = 'a'
SELECT 'Abc'::citext, 'Abc'::citext::text, 'Abc'::citext::varchar(2), 'x'::char(3)::citext || '|', true::citext, '10.0.0.1'::inet::citext, 5::text::citext
SELECT pg_typeof('a'::citext || 'b'), pg_typeof('a'::citext || 'b'::citext), pg_typeof(lower('A'::citext)), pg_typeof(max('A'::citext))
SELECT 'Abc'::citext LIKE 'a%', 'Abc'::citext LIKE 'A%'::text, 'Abc'::citext NOT LIKE 'a%', 'Abc'::citext ILIKE 'aB_', 'Abc'::citext NOT ILIKE 'x'
SELECT 'Abc'::citext ~ '^a', 'Abc'::citext !~ '^A', 'Abc'::citext ~* 'B', 'Abc'::citext !~* 'B', 'Abc'::citext ~ 'B'::text
SELECT regexp_match('fooBAR'::citext, 'BAR'), regexp_match('fooBAR'::citext, 'bar', 'c'), regexp_match('fooBAR'::citext, 'bar', '')
SELECT regexp_matches('foobarbequebaz'::citext, '(BAR)(BEQUE)'), regexp_matches('aXbx'::citext, 'x', 'g')
SELECT regexp_replace('Thomas'::citext, '.[MN]A.', 'M'), regexp_replace('Thomas'::citext, '.[MN]A.', 'M', 'c'), regexp_replace('aXbx'::citext, 'x', '-', 'g')
SELECT regexp_split_to_array('helloTworldt!'::citext, 't'), regexp_split_to_array('helloTworldt!'::citext, 't', 'c')
SELECT regexp_split_to_table('helloTworldt!'::citext, 't')
SELECT strpos('high'::citext, 'IG'), strpos('high'::citext, 'z'), replace('abcdefabcdef'::citext, 'CD', 'XX'), replace('a.b.C'::citext, '.', '-')
SELECT split_part('abcTdefTghi'::citext, 't', 2), split_part('abcTdef'::citext, 't', 9), split_part('a.b.c'::citext, '.', 3), split_part('a'::citext, 'b', -1)
SELECT translate('abcdefabcdef'::citext, 'CD', 'XX'), translate('AbC'::citext, 'abc', 'xy')
SELECT length('abc'::citext), upper('abc'::citext), initcap('aBC'::citext), substr('Abc'::citext, 2), trim(' A '::citext), md5('A'::citext), 'A'::citext || 'b', position('B' in 'abc'::citext), concat('A'::citext, 1), left('Abc'::citext, 2), reverse('Abc'::citext)
SELECT citext_cmp('a', 'B') < 0, citext_cmp('a', 'A'), citext_larger('a', 'B'), citext_smaller('a', 'A'), citext_pattern_lt('a', 'B')
SELECT 'a'::citext ~<~ 'B', 'a'::citext ~>=~ 'B'
SELECT 'a'::citext IN ('A', 'B'), 'a'::citext = ANY (ARRAY['x', 'A']::citext[]), 'a'::citext NOT IN ('A')
SELECT ARRAY['a', 'B']::citext[] = ARRAY['A', 'b']::citext[], ARRAY['a']::citext[] @> ARRAY['A']::citext[], '{Abc,"d e"}'::citext[]
SELECT greatest('a'::citext, 'B'), least('B'::citext, 'a'), coalesce(NULL, 'A'::citext), nullif('a'::citext, 'A'), CASE 'A'::citext WHEN 'a' THEN 1 END
SELECT 'a'::citext IS DISTINCT FROM 'A', ROW('a'::citext, 1) = ROW('A'::citext, 1), ROW('a'::citext, 1) < ROW('B'::citext, 0)
SELECT 1::citext
SELECT 'a'::citext + 1
SELECT '5'::citext::int
CREATE TABLE t (id int PRIMARY KEY, c citext)
INSERT INTO t VALUES (1, 'Abc'), (2, 'aBC'), (3, 'b'), (4, NULL), (5, 'B'), (6, 'C')
SELECT * FROM t WHERE c = 'ABC' ORDER BY id
SELECT * FROM t ORDER BY c, id
SELECT * FROM t ORDER BY c DESC, id
SELECT lower(min(c)), count(*) FROM t GROUP BY c ORDER BY 2, 1
SELECT count(DISTINCT c), lower(min(c)), lower(max(c)) FROM t
SELECT min(c), max(c) FROM t WHERE id IN (3, 6)
SELECT lower(c) FROM (SELECT DISTINCT c FROM t) x ORDER BY 1
SELECT a.id, b.id FROM t a JOIN t b ON a.c = b.c WHERE a.id < b.id ORDER BY 1
SELECT a.id, b.id FROM t a JOIN t b USING (c) WHERE a.id < b.id ORDER BY 1
SELECT id, rank() OVER (ORDER BY c), count(*) OVER (PARTITION BY c) FROM t ORDER BY id
SELECT lower(c) FROM t WHERE id < 3 UNION SELECT c FROM t ORDER BY 1
SELECT string_agg(c, ',' ORDER BY id), array_agg(c ORDER BY id) FROM t
SELECT id FROM t WHERE c IN (SELECT c FROM t WHERE id = 1) ORDER BY id
SELECT id FROM t WHERE c LIKE 'a%' ORDER BY id
SELECT id FROM t WHERE c > 'ABC' AND c <= 'B' ORDER BY id
UPDATE t SET c = 'abc' WHERE c = 'ABC'
SELECT * FROM t ORDER BY id
DELETE FROM t WHERE c = 'B'
SELECT id FROM t ORDER BY id
CREATE TABLE u (email citext PRIMARY KEY, n int)
INSERT INTO u VALUES ('Bob@x.org', 1)
INSERT INTO u VALUES ('bob@x.org', 2)
INSERT INTO u VALUES ('bob@X.org', 2) ON CONFLICT (email) DO UPDATE SET n = u.n + 10
INSERT INTO u VALUES ('BOB@x.org', 2) ON CONFLICT DO NOTHING
SELECT * FROM u WHERE email = 'BOB@X.ORG'
SELECT * FROM u WHERE email IN ('BOB@X.ORG', 'x')
INSERT INTO u SELECT 'user' || g || '@X.org', g FROM generate_series(1, 300) g
SELECT n FROM u WHERE email = 'USER77@x.ORG'
SELECT n FROM u WHERE email >= 'USER298' ORDER BY email
SELECT email FROM u ORDER BY email LIMIT 3
SELECT email FROM u ORDER BY email DESC LIMIT 2
UPDATE u SET email = 'user1@x.org' WHERE email = 'user2@x.org'
UPDATE u SET email = 'USER2@x.org' WHERE email = 'user2@x.org'
SELECT email FROM u WHERE email = 'user2@x.org'
DELETE FROM u WHERE email = 'USER3@x.org'
SELECT count(*) FROM u
CREATE TABLE v (id int, e citext REFERENCES u)
INSERT INTO v VALUES (1, 'USER5@X.ORG')
INSERT INTO v VALUES (2, 'none')
DELETE FROM u WHERE n = 5
SELECT v.e, u.email FROM v JOIN u ON u.email = v.e
CREATE INDEX t_c ON t (c)
CREATE UNIQUE INDEX t_cc ON t (c)
SELECT pg_get_indexdef('t_c'::regclass)
SELECT indclass::text = (SELECT oid::text FROM pg_opclass WHERE opcname = 'citext_ops' AND opcmethod = 403) FROM pg_index WHERE indexrelid = 't_c'::regclass
SELECT id FROM t WHERE c = 'ABC' ORDER BY id
CREATE INDEX t_l ON t (lower(c))
SELECT id FROM t WHERE lower(c) = 'abc' ORDER BY id
CREATE INDEX t_p ON t (id) WHERE c = 'ABC'
SELECT id FROM t WHERE c = 'ABC' ORDER BY id
ALTER TABLE t ADD COLUMN d citext DEFAULT 'X'
ALTER TABLE t ADD UNIQUE (id, d)
SELECT DISTINCT d FROM t WHERE d = 'x'
CREATE VIEW w AS SELECT id, c FROM t WHERE c = 'ABC' OR c ~ 'x'
SELECT id FROM w ORDER BY id
SELECT pg_get_viewdef('w'::regclass)
CREATE DOMAIN email AS citext CHECK (VALUE ~ '^[a-z]+@x$')
SELECT 'Bob@X'::email, 'bob@x'::email = 'BOB@X'
SELECT 'bob'::email
CREATE TYPE pair AS (a citext, b int)
SELECT ROW('A', 1)::pair = ROW('a', 1)::pair, (ROW('A', 1)::pair).a
CREATE TEMP TABLE x (c citext)
INSERT INTO x VALUES ('A'), ('a') RETURNING c
SELECT c, count(*) OVER () FROM x GROUP BY c
SELECT to_json('A'::citext), row_to_json(ROW('A'::citext)), to_jsonb('A'::citext)
PREPARE p AS SELECT id FROM t WHERE c = $1 ORDER BY id
EXECUTE p ('aBc')
PREPARE q (citext) AS SELECT $1 = 'ABC'
EXECUTE q ('abc')
CREATE TABLE big (c citext UNIQUE)
INSERT INTO big SELECT chr(65 + g % 26) || chr(97 + g / 26 % 26) || g FROM generate_series(1, 2000) g
INSERT INTO big SELECT lower(c) FROM big WHERE c = 'BA1'
INSERT INTO big SELECT lower(c) FROM big ON CONFLICT DO NOTHING
SELECT count(*), min(c), max(c) FROM big
SELECT c FROM big WHERE c BETWEEN 'aa' AND 'AB' ORDER BY c LIMIT 5
