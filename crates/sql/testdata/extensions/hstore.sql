CREATE EXTENSION hstore
SELECT ''::hstore, 'a=>b'::hstore, 'a=>NULL, b=>"NULL", "c d" => "e\"f\\g"'::hstore
SELECT ' b => 1 , aa=>2,a=>3'::hstore, 'a=>1,a=>2'::hstore, 'é=>ü'::hstore, 'a=b=>c=d'::hstore, 'a=>x=y'::hstore
SELECT 'a,b=>c'::hstore, 'a=>,'::hstore, '"a"=>"",""=>b'::hstore, '\=a=>q'::hstore, 'a=>\,b'::hstore, 'a=>nul\l'::hstore
SELECT 'a'::hstore
SELECT 'a=>'::hstore
SELECT '=>1'::hstore
SELECT 'a=>1 b'::hstore
SELECT '"a'::hstore
SELECT 'a=b'::hstore
SELECT 'a=>1,'::hstore
SELECT 'é é'::hstore
SELECT '\'::hstore
SELECT 'a=>"\'::hstore
SELECT 'aa=>1, b=>2, c=>NULL'::hstore -> 'aa', 'aa=>1'::hstore -> 'x', 'c=>NULL'::hstore -> 'c', 'aa=>1, b=>2, c=>NULL'::hstore -> ARRAY['b', 'x', NULL, 'c'], 'a=>1'::hstore -> '{}'::text[], 'a=>1'::hstore -> '{{a,b},{c,a}}'::text[]
SELECT 'a=>1, b=>NULL'::hstore ? 'a', 'a=>1, b=>NULL'::hstore ? 'b', 'a=>1'::hstore ? 'c', exist('a=>1', 'a'), defined('a=>NULL', 'a'), defined('a=>1', 'a'), isexists('a=>1', 'b'), isdefined('a=>1', 'b')
SELECT 'a=>1, b=>2'::hstore ?| ARRAY['x', 'b'], 'a=>1, b=>2'::hstore ?| '{}', 'a=>1, b=>2'::hstore ?& ARRAY['a', 'b'], 'a=>1'::hstore ?& ARRAY['a', 'b'], 'a=>1'::hstore ?& '{}', 'a=>1'::hstore ?| ARRAY[NULL, 'a'], 'a=>1'::hstore ?& ARRAY[NULL, 'a']
SELECT 'a=>1, b=>2'::hstore @> 'b=>2', 'a=>1, b=>2'::hstore @> 'b=>3', 'a=>NULL'::hstore @> 'a=>NULL', 'b=>2'::hstore <@ 'a=>1, b=>2', ''::hstore <@ 'a=>1', 'a=>1'::hstore @> ''
SELECT 'a=>1, b=>2'::hstore || 'b=>3, c=>4', 'a=>1'::hstore || '', ''::hstore || 'a=>1', 'a=>1'::hstore || NULL
SELECT 'a=>1, b=>2'::hstore - 'a'::text, 'a=>1, b=>2, c=>3'::hstore - ARRAY['a', 'c', NULL], 'a=>1, b=>2, c=>NULL'::hstore - 'a=>1, b=>3, c=>NULL'::hstore, delete('a=>1, b=>2', 'b'), delete('a=>1', 'x'), delete('a=>1, b=>2', ARRAY['a']), delete('a=>1, b=>2', 'a=>1'::hstore)
SELECT 'a=>1, b=>2'::hstore = 'b=>2, a=>1', 'a=>1'::hstore <> 'a=>2', 'a=>1'::hstore = 'a=>NULL', ''::hstore = ''
SELECT 'a=>1'::hstore #<# 'a=>2', 'a=>1'::hstore #<=# 'a=>1', 'a=>2'::hstore #># 'a=>1', 'a=>2'::hstore #>=# 'a=>3'
SELECT %% 'aa=>1, cq=>l, b=>NULL'::hstore, %# 'aa=>1, cq=>l, b=>NULL'::hstore, hstore_to_array('a=>1'), hstore_to_matrix(''), hstore_to_array('')
SELECT akeys('a=>1, b=>NULL'), avals('a=>1, b=>NULL'), akeys(''), avals('')
SELECT skeys('a=>1, b=>NULL')
SELECT svals('a=>1, b=>NULL')
SELECT * FROM skeys('a=>1, b=>NULL')
SELECT * FROM each('a=>1, b=>NULL, cc=>"x y"')
SELECT (each('a=>1')).key, (each('a=>1')).value
SELECT key, count(*) FROM (SELECT (each(h)).key FROM (VALUES ('a=>1, b=>2'::hstore), ('a=>3')) v(h)) x GROUP BY key ORDER BY key
SELECT hstore('a', 'b'), hstore('a', NULL), hstore(NULL, 'b'), hstore('', '')
SELECT hstore(ARRAY['a', 'b'], ARRAY['1', NULL]), hstore(ARRAY['a', 'b'], NULL), hstore('{}'::text[], '{}'::text[]), hstore(NULL::text[], ARRAY['a'])
SELECT hstore(ARRAY['a', 'b'], ARRAY['1'])
SELECT hstore(ARRAY[NULL, 'b'], ARRAY['1', '2'])
SELECT hstore('{{a,b}}'::text[], '{1,2}'::text[])
SELECT hstore(ARRAY['a', '1', 'b', NULL]), hstore(ARRAY[['a', '1'], ['b', NULL]]), hstore('{}'::text[]), ARRAY['a', '1']::hstore
SELECT hstore(ARRAY['a'])
SELECT hstore('{{a,b,c}}'::text[])
SELECT hstore(ARRAY[NULL, '1'])
SELECT hstore('{{{a,b}}}'::text[])
SELECT slice('a=>1, b=>2, c=>NULL', ARRAY['c', 'a', 'x', 'a']), slice_array('a=>1', ARRAY['a', 'b']), fetchval('a=>1', 'a')
SELECT hstore_to_json('a=>1, b=>t, c=>NULL, "d\"e"=>x'), hstore_to_jsonb('a=>1, b=>t, c=>NULL'), hstore_to_json(''), 'a=>1'::hstore::json, 'a=>1'::hstore::jsonb
SELECT hstore_to_json_loose('a=>1, b=>t, c=>f, d=>1.50, e=>-2e3, f=>01, g=>x, h=>NULL, i=>" 1", j=>-'), hstore_to_jsonb_loose('a=>1, b=>t, c=>f, d=>1.50, e=>-2e3, f=>01, g=>x, h=>NULL, i=>"1 "')
SELECT hstore(ROW(1, 'x')), hstore(ROW(1, NULL::text, true, '2020-01-01'::date))
SELECT tconvert('a', 'b'), hstore_cmp('a=>1', 'a=>1')
SELECT pg_typeof('a=>1'::hstore), 'a=>1'::hstore::text, ('a=>1'::text)::hstore, pg_typeof(hstore('a', 'b') -> 'a')
SELECT 'a=>1'::hstore < 'a=>2'::hstore
SELECT 1::hstore
SELECT NULL::hstore, NULL::hstore -> 'a', akeys(NULL)
CREATE TABLE t (id int PRIMARY KEY, h hstore NOT NULL DEFAULT '')
INSERT INTO t VALUES (1, 'a=>1, b=>2'), (2, 'b=>2, a=>1'), (3, 'a=>NULL'), (4, 'x=>"y z"'), (5, 'aa=>1')
INSERT INTO t (id) VALUES (6)
SELECT * FROM t ORDER BY id
SELECT id FROM t ORDER BY h, id
SELECT id FROM t ORDER BY h DESC, id
SELECT h, count(*) FROM t GROUP BY h ORDER BY 2 DESC, 1
SELECT DISTINCT h FROM t ORDER BY h
SELECT a.id, b.id FROM t a JOIN t b ON a.h = b.h WHERE a.id < b.id ORDER BY 1
SELECT id, h -> 'a' FROM t WHERE h ? 'a' ORDER BY id
SELECT id FROM t WHERE h @> 'a=>1' ORDER BY id
SELECT id FROM t WHERE h -> 'a' IS NULL ORDER BY id
UPDATE t SET h = h || hstore('n', id::text) WHERE id < 3 RETURNING h
UPDATE t SET h = h - 'b'::text WHERE id = 1 RETURNING h
SELECT count(DISTINCT h) FROM t
SELECT array_agg(h ORDER BY id) FROM t WHERE id > 3
SELECT t.id, e.key, e.value FROM t, each(t.h) e ORDER BY 1, 2
SELECT h FROM t WHERE h = 'x=>"y z"'
SELECT hstore(t) FROM t ORDER BY id
SELECT hstore(t.*) -> 'id' FROM t ORDER BY id
CREATE TABLE a (hs hstore[])
INSERT INTO a VALUES (ARRAY['a=>1', NULL, 'b=>"x,y"']::hstore[])
SELECT hs, hs[1] -> 'a' FROM a
SELECT '{"a=>1","b=>2"}'::hstore[], ARRAY['a=>1'::hstore] = ARRAY['a=>1'::hstore]
CREATE VIEW v AS SELECT id, h -> 'a' AS a, h ? 'b' AS b FROM t WHERE h @> 'a=>1'
SELECT * FROM v ORDER BY id
SELECT pg_get_viewdef('v'::regclass)
CREATE INDEX t_e ON t ((h -> 'a'))
SELECT id FROM t WHERE h -> 'a' = '1' ORDER BY id
SELECT pg_get_indexdef('t_e'::regclass)
CREATE DOMAIN tags AS hstore CHECK (VALUE ? 'k')
SELECT 'k=>1'::tags
SELECT 'x=>1'::tags
CREATE TYPE c AS (h hstore, n int)
SELECT ROW('a=>1', 2)::c, (ROW('a=>1', 2)::c).h -> 'a', ROW('a=>1', 2)::c = ROW('a=>1', 2)::c
SELECT to_json('a=>1'::hstore), json_build_object('h', 'a=>1'::hstore), to_jsonb('a=>1'::hstore)
SELECT jsonb_agg(h) FROM t WHERE id = 4
SELECT E'a\x0b=>1'::hstore, E'\x0ba=>1'::hstore, E'a=>\x0c1'::hstore
