CREATE EXTENSION pg_trgm
SELECT extname, extversion FROM pg_extension WHERE extname = 'pg_trgm'
SELECT show_limit()
SELECT show_trgm('word'), show_trgm('two words'), show_trgm(''), show_trgm('  a-b  '), show_trgm('Äpfel äöü 日本 x1'), show_trgm(NULL)
SELECT similarity('word', 'two words'), similarity('', ''), similarity('a', ''), similarity('abc', 'ABC'), similarity('wow', 'WOWa'), similarity('x', NULL)
SELECT word_similarity('word', 'two words'), word_similarity('', 'a'), word_similarity('a', ''), word_similarity('kabankala', 'kaban'), word_similarity('baykal', 'lake baykal is deep')
SELECT strict_word_similarity('word', 'two words'), strict_word_similarity('', 'a'), strict_word_similarity('a', ''), strict_word_similarity('baykal', 'lake baykal is deep'), strict_word_similarity('bay kal', 'bays kalium')
SELECT 'word' % 'two words', 'abc' % 'abd', 'abc' % 'xyz', '' % ''
SELECT 'word' <% 'two words', 'two words' %> 'word', 'wrd' <% 'two words', 'word' <<% 'two words', 'two words' %>> 'word', 'words' <<% 'two words'
SELECT 'word' <-> 'two words', 'word' <<-> 'two words', 'two words' <->> 'word', 'word' <<<-> 'two words', 'two words' <->>> 'word'
SELECT similarity_dist('abc', 'abd'), word_similarity_dist_op('abc', 'abd e'), strict_word_similarity_dist_op('abc', 'abd e'), word_similarity_dist_commutator_op('abd e', 'abc')
SELECT pg_typeof(similarity('a', 'b')), pg_typeof('a' <-> 'b'), pg_typeof('a' % 'b'), pg_typeof(show_trgm('a'))
SET pg_trgm.similarity_threshold = 0.9
SHOW pg_trgm.similarity_threshold
SELECT 'abc' % 'abd', 'abc' % 'abc', show_limit()
SET pg_trgm.similarity_threshold = 2
SET pg_trgm.similarity_threshold = -0.5
SET pg_trgm.similarity_threshold = 0
SELECT 'abc' % 'xyz', '' % ''
RESET pg_trgm.similarity_threshold
SHOW pg_trgm.similarity_threshold
SHOW pg_trgm.word_similarity_threshold
SHOW pg_trgm.strict_word_similarity_threshold
SET pg_trgm.word_similarity_threshold = 0.1
SET pg_trgm.strict_word_similarity_threshold = '0.95'
SELECT 'wrd' <% 'two words', 'words' <<% 'two words', 'word' <<% 'two words'
RESET ALL
SELECT set_limit(0.7)
SELECT show_limit()
SELECT current_setting('pg_trgm.similarity_threshold')
SELECT set_limit(1.5)
SELECT 0.7::real::float8 >= 0.7, 'abcdefg' % 'abcdefgh', similarity('abcdefg', 'abcdefgh')
SELECT set_limit(0.3)
CREATE TABLE t (id int PRIMARY KEY, c text)
INSERT INTO t SELECT g, md5(g::text) || ' ' || repeat(chr(97 + g % 26), 3) FROM generate_series(1, 500) g
INSERT INTO t VALUES (1001, 'The quick brown fox'), (1002, 'quick brown'), (1003, NULL), (1004, ''), (1005, 'a slow BROWN dog'), (1006, '100% of under_scores \ and more')
SELECT id, similarity(c, 'brown fox') s FROM t WHERE c % 'brown fox' ORDER BY s DESC, id
SELECT id FROM t WHERE 'brown' <% c ORDER BY id
SELECT id, c <-> 'quick' d FROM t ORDER BY d, id LIMIT 5
SELECT id, 'brwn' <<-> c d FROM t WHERE c IS NOT NULL ORDER BY d, id LIMIT 5
CREATE INDEX t_trgm ON t USING gin (c gin_trgm_ops)
SELECT id, similarity(c, 'brown fox') s FROM t WHERE c % 'brown fox' ORDER BY s DESC, id
SELECT id FROM t WHERE 'brown' <% c ORDER BY id
SELECT id FROM t WHERE c %>> 'brown' ORDER BY id
SELECT id FROM t WHERE c LIKE '%brown%' ORDER BY id
SELECT id FROM t WHERE c ILIKE '%brown%' ORDER BY id
SELECT id FROM t WHERE c LIKE 'quick%' ORDER BY id
SELECT id FROM t WHERE c LIKE '%fox' ORDER BY id
SELECT id FROM t WHERE c LIKE '%0\%%' ORDER BY id
SELECT id FROM t WHERE c LIKE '%under!_sc%' ESCAPE '!' ORDER BY id
SELECT id FROM t WHERE c LIKE '%\\ and%' ORDER BY id
SELECT count(*) FROM t WHERE c LIKE '%'
SELECT count(*) FROM t WHERE c LIKE '%a%'
SELECT count(*) FROM t WHERE c LIKE ''
SELECT id FROM t WHERE c ~ 'br.wn' ORDER BY id
SELECT id FROM t WHERE c ~* '(quick|slow) brown' ORDER BY id
SELECT id FROM t WHERE c ~ '^The\s' ORDER BY id
SELECT id FROM t WHERE c LIKE '%brown\'
SELECT id FROM t WHERE c = 'quick brown'
SELECT id FROM t WHERE c = ''
SELECT id FROM t WHERE c LIKE '%brown%' AND id > 1001 ORDER BY id
SELECT id FROM t WHERE c LIKE '%brown%' OR id = 7 ORDER BY id
SELECT id FROM t WHERE c LIKE '%quick%' OR c LIKE '%slow%' ORDER BY id
SELECT id FROM t WHERE c NOT LIKE '%a%' AND id > 1000 ORDER BY id
SELECT id FROM t WHERE c LIKE NULL
UPDATE t SET c = c || ' jumps' WHERE c LIKE '%fox%'
SELECT id, c FROM t WHERE c LIKE '%fox jumps' ORDER BY id
DELETE FROM t WHERE c ILIKE '%slow brown%'
SELECT id FROM t WHERE c ILIKE '%brown%' ORDER BY id
SELECT indexdef FROM pg_indexes WHERE indexname = 't_trgm'
DROP EXTENSION pg_trgm
DROP EXTENSION pg_trgm CASCADE
SELECT count(*) FROM pg_indexes WHERE indexname = 't_trgm'
SELECT similarity('a', 'b')
CREATE INDEX ON t USING gin (c gin_trgm_ops)
CREATE SCHEMA far
CREATE EXTENSION pg_trgm SCHEMA far
CREATE INDEX t_far ON t USING gin (c gin_trgm_ops)
CREATE INDEX t_far ON t USING gin (c far.gin_trgm_ops)
SELECT indexdef FROM pg_indexes WHERE indexname = 't_far'
SELECT id FROM t WHERE c LIKE '%fox%' ORDER BY id
SELECT id FROM t WHERE c OPERATOR(far.%) 'brown fox' ORDER BY id
DROP SCHEMA far CASCADE
SELECT count(*) FROM pg_indexes WHERE indexname = 't_far'
