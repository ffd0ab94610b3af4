CREATE EXTENSION pg_trgm
CREATE TABLE t (id int PRIMARY KEY, a int[], j jsonb, c text, v varchar(20), b char(5), p point, js json, d text[], pts point[], jss json[])
CREATE INDEX ON t USING gin (id)
CREATE INDEX ON t USING gin (p)
CREATE INDEX ON t USING gin (c)
CREATE INDEX ON t USING gin (v)
CREATE INDEX ON t USING gin (js)
CREATE INDEX ON t USING gin (b gin_trgm_ops)
CREATE UNIQUE INDEX ON t USING gin (a)
CREATE INDEX ON t USING gin (a) INCLUDE (id)
CREATE INDEX ON t USING gin (a DESC)
CREATE INDEX ON t USING gin (a ASC)
CREATE INDEX ON t USING gin (a NULLS FIRST)
CREATE INDEX ON t USING gin (a nonesuch_ops)
CREATE INDEX ON t USING gin (a text_ops)
CREATE INDEX ON t USING gin (a jsonb_ops)
CREATE INDEX ON t USING gin (j array_ops)
CREATE INDEX ON t USING gin (c jsonb_path_ops)
CREATE INDEX ON t USING gin (j nosuch.jsonb_path_ops)
CREATE INDEX ON t USING gin (nothing)
CREATE INDEX ON t USING gin ((nothing))
CREATE INDEX ON t USING gin (a COLLATE "C")
CREATE INDEX ON t USING gin (a) WITH (fastupdate = maybe)
CREATE INDEX ON t USING gin (a) WITH (gin_pending_list_limit = 1)
CREATE INDEX ON t USING gin (a) WITH (fillfactor = 50)
CREATE INDEX ON t USING gin (j jsonb_path_ops(foo=1))
CREATE INDEX ON t USING gin ((random()::text) gin_trgm_ops)
CREATE INDEX ON t USING gin (lower(c))
CREATE INDEX ON t USING nosuch (a)
CREATE UNIQUE INDEX ON t USING hash (id)
CREATE INDEX ON t USING hash (id, c)
CREATE INDEX ON t USING hash (id) INCLUDE (c)
CREATE INDEX ON t USING hash (id DESC)
CREATE UNIQUE INDEX ON t USING brin (id)
CREATE INDEX ON t USING brin (id NULLS LAST)
CREATE INDEX ON t USING brin (id) INCLUDE (c)
CREATE INDEX ON t USING gin (a)
CREATE INDEX ON t USING gin (a array_ops) WITH (fastupdate = off, gin_pending_list_limit = 64)
CREATE INDEX ON t USING gin (j)
CREATE INDEX ON t USING gin (j jsonb_path_ops)
CREATE INDEX ON t USING gin (j pg_catalog.jsonb_path_ops) WHERE id > 3
CREATE INDEX ON t USING gin ((j -> 'a'))
CREATE INDEX ON t USING gin (lower(c) gin_trgm_ops)
CREATE INDEX ON t USING gin (v public.gin_trgm_ops)
CREATE INDEX ON t USING gin (c gin_trgm_ops)
CREATE INDEX CONCURRENTLY ON t USING gin (d)
CREATE INDEX IF NOT EXISTS t_d_idx ON t USING gin (d)
CREATE INDEX t_d_idx ON t USING gin (d)
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 't' ORDER BY 1
SELECT i.indexrelid::regclass::text, am.amname, indkey, indnatts, indisunique, indoption, o.opcname, pg_get_expr(indexprs, indrelid), pg_get_expr(indpred, indrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am am ON am.oid = c.relam JOIN pg_opclass o ON o.oid = i.indclass[0] WHERE indrelid = 't'::regclass ORDER BY 1
SELECT c.relname, c.reloptions FROM pg_class c WHERE c.relkind = 'i' AND c.reloptions IS NOT NULL ORDER BY 1
SELECT attrelid::regclass::text, attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 't'::regclass) ORDER BY 1, attnum
SELECT pg_get_indexdef('t_j_idx1'::regclass), pg_get_indexdef('t_j_idx1'::regclass, 1, true), pg_get_indexdef('t_expr_idx'::regclass, 0, true), pg_get_indexdef('t_expr_idx'::regclass, 1, false)
SELECT opcname, opcintype::regtype, opcdefault, opckeytype::regtype FROM pg_opclass o JOIN pg_am a ON a.oid = opcmethod WHERE amname = 'gin' ORDER BY 1
SELECT opfname FROM pg_opfamily o JOIN pg_am a ON a.oid = opfmethod WHERE amname = 'gin' ORDER BY 1
INSERT INTO t (id, a, j, c, v, d) SELECT g, ARRAY[g, g % 10, NULL], jsonb_build_object('a', g % 7, 'b', ARRAY[g::text, 'x']), 'text ' || g, 'v' || g, ARRAY['k' || g % 5, NULL] FROM generate_series(1, 200) g
SELECT id FROM t WHERE a @> ARRAY[3, 13] ORDER BY id
SELECT count(*) FROM t WHERE a && ARRAY[3, 5]
SELECT count(*) FROM t WHERE j @> '{"a": 3}'
SELECT count(*) FROM t WHERE (j -> 'a') @> '3'
SELECT id FROM t WHERE j @> '{"b": ["17"]}' AND id > 3 ORDER BY id
SELECT id FROM t WHERE lower(c) LIKE '%t 177%' ORDER BY id
SELECT id FROM t WHERE v LIKE '%v199%' ORDER BY id
SELECT count(*) FROM t WHERE d @> ARRAY['k3']
ALTER INDEX t_a_idx RENAME TO renamed
COMMENT ON INDEX renamed IS 'about arrays'
SELECT obj_description('renamed'::regclass)
REINDEX INDEX renamed
REINDEX TABLE t
SELECT count(*) FROM t WHERE a @> ARRAY[7]
ALTER TABLE t RENAME COLUMN a TO "A b"
ALTER TABLE t RENAME COLUMN c TO cc
SELECT indexdef FROM pg_indexes WHERE indexname IN ('renamed', 't_c_idx', 't_lower_idx') ORDER BY 1
SELECT count(*) FROM t WHERE "A b" @> ARRAY[7]
SELECT id FROM t WHERE cc LIKE '%177%'
ALTER TABLE t DROP COLUMN "A b"
SELECT count(*) FROM pg_indexes WHERE tablename = 't' AND indexdef LIKE '%A b%'
DROP INDEX t_j_idx, t_j_idx1
SELECT count(*) FROM t WHERE j @> '{"a": 3}'
TRUNCATE t
SELECT count(*) FROM t WHERE d @> ARRAY['k3']
INSERT INTO t (id, d) VALUES (1, '{k3}'), (2, '{}'), (3, NULL)
SELECT id FROM t WHERE d @> ARRAY['k3']
SELECT id FROM t WHERE d <@ ARRAY['k3'] ORDER BY id
SELECT id FROM t WHERE d = '{}' ORDER BY id
DROP TABLE t
