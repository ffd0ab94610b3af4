CREATE TABLE doc (id bigint PRIMARY KEY, body text, tsv tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED, q tsquery DEFAULT 'a & b', all_of tsvector[])
CREATE INDEX doc_tsv ON doc USING gin (tsv)
CREATE INDEX doc_body ON doc USING gin (to_tsvector('simple', body))
CREATE INDEX doc_ops ON doc USING gin (tsv tsvector_ops) WHERE id > 2
INSERT INTO doc (id, body) VALUES (1, 'The quick brown fox jumps over the lazy dogs'), (2, 'A fat cat sat on a mat and ate a fat rat'), (3, NULL), (4, ''), (5, 'Foxes and cats: state-of-the-art'), (6, 'http://example.org/cats 3.5')
INSERT INTO doc (id, body, q, all_of) VALUES (7, 'cats cats cats', 'cat <-> dog:*A', array['a:1'::tsvector, NULL])
SELECT id, tsv, q, all_of FROM doc ORDER BY id
SELECT id FROM doc WHERE tsv @@ to_tsquery('english', 'cat & fat') ORDER BY id
SELECT id FROM doc WHERE tsv @@ to_tsquery('english', 'fox | rats') ORDER BY id
SELECT id FROM doc WHERE tsv @@ 'cat & !fat' ORDER BY id
SELECT id FROM doc WHERE tsv @@ '!cat' ORDER BY id
SELECT id FROM doc WHERE tsv @@ 'fo:* | qui:*' ORDER BY id
SELECT id FROM doc WHERE tsv @@ phraseto_tsquery('english', 'fat cat') ORDER BY id
SELECT id FROM doc WHERE to_tsvector('simple', body) @@ 'cats' ORDER BY id
SELECT id FROM doc WHERE to_tsvector('english', body) @@ 'cat' ORDER BY id
SELECT id FROM doc WHERE tsv @@ 'cat' AND id > 2 ORDER BY id
SELECT id, ts_rank(tsv, query) FROM doc, plainto_tsquery('english', 'fat cats') query WHERE tsv @@ query ORDER BY ts_rank(tsv, query) DESC, id
UPDATE doc SET body = 'a mouse' WHERE id = 2
UPDATE doc SET tsv = 'x' WHERE id = 2
DELETE FROM doc WHERE tsv @@ 'fox & dog'
SELECT id, tsv FROM doc WHERE tsv @@ 'mous | fox' ORDER BY id
SELECT id FROM doc WHERE tsv = 'mous:2' ORDER BY id
SELECT id FROM doc WHERE tsv IS NULL ORDER BY id
SELECT tsv FROM doc WHERE id > 3 ORDER BY tsv DESC, id
SELECT pg_get_indexdef('doc_tsv'::regclass), pg_get_indexdef('doc_body'::regclass), pg_get_indexdef('doc_ops'::regclass)
SELECT indexdef FROM pg_indexes WHERE tablename = 'doc' ORDER BY indexname
SELECT attname, atttypid::regtype, attgenerated FROM pg_attribute WHERE attrelid = 'doc'::regclass AND attnum > 0 ORDER BY attnum
SELECT column_name, data_type, udt_name, is_generated, generation_expression FROM information_schema.columns WHERE table_name = 'doc' ORDER BY ordinal_position
SELECT attname, atttypid::regtype FROM pg_attribute WHERE attrelid = 'doc_tsv'::regclass
CREATE INDEX bad ON doc USING gin (to_tsvector(body))
CREATE TABLE bad (b text, t tsvector GENERATED ALWAYS AS (to_tsvector(b)) STORED)
CREATE INDEX bad ON doc USING gin (body tsvector_ops)
CREATE INDEX bad ON doc USING gin (q)
ALTER TABLE doc ADD COLUMN more tsvector DEFAULT 'x:1'
SELECT more FROM doc WHERE more @@ 'x' ORDER BY id
SELECT more FROM doc ORDER BY id
CREATE VIEW found AS SELECT id FROM doc WHERE tsv @@ to_tsquery('english', 'cats')
SELECT pg_get_viewdef('found'::regclass)
SELECT * FROM found ORDER BY id
CREATE TABLE conf (c regconfig DEFAULT 'english', t text)
INSERT INTO conf VALUES (DEFAULT, 'the cats'), ('simple', 'the cats')
SELECT c, to_tsvector(c, t) FROM conf ORDER BY c
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid IN ('doc'::regclass, 'conf'::regclass) ORDER BY 1
DROP INDEX doc_tsv
SELECT id FROM doc WHERE tsv @@ 'cat' ORDER BY id
