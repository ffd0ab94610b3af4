SELECT 'a fat cat sat on a mat'::tsvector, 'a:1 fat:2A cat:3B,4'::tsvector, ''::tsvector, '  '::tsvector
SELECT $$the lexeme '    ' contains spaces$$::tsvector, $$'Joe''s' "x" \\ a\:b$$::tsvector, ':a'::tsvector
SELECT 'a:0'::tsvector
SELECT 'a:'::tsvector
SELECT 'a:1x'::tsvector
SELECT 'a:1AB'::tsvector
SELECT ''''::tsvector
SELECT $$'' a$$::tsvector
SELECT 'a\'::tsvector
SELECT 'a:99999 b:20000,16383A c:3000000000'::tsvector
SELECT repeat('x', 2046)::tsvector = repeat('x', 2046)::tsvector
SELECT length(repeat('x', 2046)::tsvector), numnode(repeat('x', 2046)::tsquery)
SELECT (SELECT string_agg(n || repeat('x', 1000), ' ') FROM generate_series(1, 1200) n)::tsvector IS NULL
SELECT 'fat & rat'::tsquery, 'fat & (rat | cat)'::tsquery, 'fat & rat & ! cat'::tsquery, 'fat:ab & cat'::tsquery, 'super:*'::tsquery, ''::tsquery
SELECT 'a <-> b <2> c'::tsquery, 'a <-> (b <-> c)'::tsquery, '(a | b) <-> !c'::tsquery, '!!a'::tsquery, '!(a & b)'::tsquery
SELECT 'a &'::tsquery
SELECT '& a'::tsquery
SELECT 'a b'::tsquery
SELECT '(a'::tsquery
SELECT 'a)'::tsquery
SELECT '()'::tsquery
SELECT 'a <'::tsquery
SELECT 'a <-> '::tsquery
SELECT 'a <99999> b'::tsquery
SELECT ':a'::tsquery
SELECT 'a:x'::tsquery
SELECT '!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!a'::tsquery
SELECT 'a:1'::tsvector || 'b:1'::tsvector, 'a'::tsquery && 'b | c', 'a'::tsquery || 'b & c', !!'a & b'::tsquery, 'a'::tsquery <-> 'b', tsquery_phrase('a', 'b', 5)
SELECT 'a & b'::tsquery @> 'a', 'a'::tsquery <@ 'a & b', 'a'::tsquery @> 'b'
SELECT 'a:1 b:2'::tsvector @@ 'a & b', 'a & b'::tsquery @@ 'a:1 b:2'::tsvector, 'a:1 b:2'::tsvector @@@ 'a <-> b'
SELECT 'the cats run' @@ 'cat', 'the cats run'::text @@ 'cat & run'::tsquery
SELECT to_tsvector('The Fat Rats'), to_tsquery('The & Fat & Rats'), plainto_tsquery('The Fat Rats'), phraseto_tsquery('The Fat Rats'), websearch_to_tsquery('"The Fat" Rats or -cat')
SELECT to_tsvector('english', 'The Fat Rats'), to_tsvector('pg_catalog.simple', 'The Fat Rats'), to_tsvector('Simple'::regconfig, NULL)
SELECT to_tsvector('nothing', 'a')
SELECT to_tsquery('english', 'a b')
SELECT 'english'::regconfig, 'english'::regconfig::oid, 3748::regconfig, '-'::regconfig, 99::regconfig, get_current_ts_config()
SELECT 'nothing'::regconfig
SHOW default_text_search_config
SET default_text_search_config = 'simple'
SHOW default_text_search_config
SELECT to_tsvector('The Fat Rats'), 'the cats' @@ 'cat', get_current_ts_config()
SET default_text_search_config = 'nothing'
RESET default_text_search_config
SELECT to_tsvector('{"a": "The Fat Rats", "b": ["x cats", 1, null], "c": {"d": "dogs"}}'::jsonb)
SELECT strip('a:1A b:2'), length('a:1 b'::tsvector), setweight('a:1 b:2,3', 'A'), setweight('a:1 b:2', 'b', '{b,x,NULL}')
SELECT numnode('a & !b'::tsquery), querytree('a & !b'::tsquery), querytree('!a'::tsquery), querytree('a | !b'::tsquery), querytree('')
SELECT ts_delete('a:1 b:2 c', 'b'), ts_delete('a:1 b:2 c', '{a,c}'), ts_filter('a:1A b:2,3B c', '{a,b}')
SELECT ts_filter('a:1A', '{x}')
SELECT * FROM unnest('a:1A,2 b c:3'::tsvector)
SELECT tsvector_to_array('b:1 a'), array_to_tsvector('{b,a,b}')
SELECT array_to_tsvector('{a,NULL}')
SELECT array_to_tsvector('{a,""}')
SELECT * FROM ts_parse('default', 'foo-bar x@y.org http://a.org/b?c <i>3.5</i> -1e5')
SELECT ts_rank('a:1 b:2A', 'a & b'), ts_rank('a:1 b:2A', 'a | b', 2), ts_rank_cd('a:1 b:2A c:9', 'a & b | c'), ts_rank_cd('{0.1,0.2,0.3,0.4}', 'a:1 b:2A', 'a <-> b', 4)
SELECT ts_rank('{1,2}', 'a', 'a')
SELECT array['a:1'::tsvector, 'b'], '{a:1,"b c"}'::tsvector[], array['a & b'::tsquery]
SELECT v FROM (VALUES ('b'::tsvector), ('a:1'), ('a'), ('a:1A'), ('a b'), (NULL), ('')) t(v) ORDER BY v
SELECT q FROM (VALUES ('b'::tsquery), ('a'), ('a & b'), ('a | b'), ('a <-> b'), ('a <2> b'), ('!a'), (NULL), ('')) t(q) ORDER BY q
SELECT q, count(*) FROM (VALUES ('a & b'::tsquery), ('a:A & b'), ('b')) t(q) GROUP BY q ORDER BY count(*)
SELECT DISTINCT v FROM (VALUES ('b a'::tsvector), ('a b'), ('a:1 b')) t(v) ORDER BY v
SELECT 'a'::tsvector = 'a'::tsvector, 'a'::tsvector < 'b', 'a'::tsquery = 'a:A', tsvector_cmp('a', 'b'), tsquery_cmp('a', 'b')
SELECT 'a'::tsvector::text, 'a & b'::tsquery::text, 'x y'::text::tsvector
SELECT pg_typeof(to_tsvector('a')), format_type(3614, -1), 'tsquery[]'::regtype, 'tsvector'::regtype::oid
