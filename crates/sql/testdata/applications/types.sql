CREATE TABLE t (id int PRIMARY KEY, a int CHECK (a > 0), b varchar(20) DEFAULT 'x', c int, d int, CONSTRAINT both_positive CHECK (c > 0 AND d > c), CONSTRAINT short CHECK (length(b) < 15))
INSERT INTO t VALUES (1, 5, 'abc', 1, 2), (2, 6, 'DEF', 3, 9)
CREATE INDEX t_lower ON t (lower(b), id)
CREATE UNIQUE INDEX t_partial ON t (c DESC NULLS LAST) WHERE a > 1
CREATE INDEX t_sum ON t ((c + d)) WITH (fillfactor = 50)
COMMENT ON INDEX t_sum IS 'a sum'
COMMENT ON CONSTRAINT short ON t IS 'not long'
ALTER TABLE t ALTER COLUMN a TYPE bigint
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 't' ORDER BY 1
SELECT conname, pg_get_constraintdef(oid), convalidated FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY 1
ALTER TABLE t ALTER COLUMN b TYPE varchar(10)
ALTER TABLE t ALTER COLUMN b TYPE text
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 't' ORDER BY 1
SELECT conname, pg_get_constraintdef(oid), convalidated FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY 1
ALTER TABLE t ALTER COLUMN c TYPE bigint, ALTER COLUMN d TYPE bigint
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 't' ORDER BY 1
SELECT conname, pg_get_constraintdef(oid), convalidated FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY 1
SELECT obj_description('t_sum'::regclass), (SELECT reloptions FROM pg_class WHERE relname = 't_sum')
SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conname = 'short'
SELECT attname, atttypid::regtype, atttypmod FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attname
INSERT INTO t VALUES (3, -1, 'x', 1, 2)
INSERT INTO t VALUES (3, 1, 'x', 3, 2)
INSERT INTO t VALUES (3, 1, 'xxxxxxxxxxxxxxxxxxxxxx', 3, 4)
INSERT INTO t VALUES (3, 2, 'x', 3, 4)
INSERT INTO t (id, a, c, d) VALUES (3, 2, 4, 5)
SELECT * FROM t WHERE lower(b) = 'def'
SELECT * FROM t WHERE c + d = 12
SELECT * FROM t WHERE a > 1 ORDER BY c DESC NULLS LAST
ALTER TABLE t ALTER COLUMN b TYPE varchar(12), DROP CONSTRAINT short
SELECT conname FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY 1
ALTER TABLE t ADD CONSTRAINT never CHECK (a < 100) NOT VALID
ALTER TABLE t ALTER COLUMN a TYPE int USING a::int
SELECT conname, pg_get_constraintdef(oid), convalidated FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY 1
BEGIN
ALTER TABLE t ALTER COLUMN c TYPE int
SELECT pg_get_indexdef('t_sum'::regclass)
INSERT INTO t VALUES (9, 9, 'x', 9, 10)
SELECT id FROM t WHERE c + d = 19
ROLLBACK
SELECT id FROM t WHERE c + d = 19
SELECT id FROM t WHERE c + d = 12
SELECT attname, atttypid::regtype FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = 'c'
ALTER TABLE t ALTER COLUMN d TYPE text
SELECT id, d FROM t ORDER BY id
CREATE TABLE above (id int, v int CHECK (v > 0))
CREATE TABLE below (w int) INHERITS (above)
ALTER TABLE above ALTER COLUMN v TYPE bigint
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), conislocal, coninhcount FROM pg_constraint WHERE conname LIKE 'above_v%' ORDER BY 1
INSERT INTO below VALUES (1, -1, 1)
CREATE TABLE ev (id int, kind varchar(10), CONSTRAINT kinds CHECK (kind IN ('a', 'b')))
ALTER TABLE ev ALTER COLUMN kind TYPE varchar(5)
ALTER TABLE ev ALTER COLUMN kind TYPE text USING kind::text
INSERT INTO ev VALUES (1, 'c')
CREATE TABLE own (a int)
CREATE INDEX ON own ((a * 2))
CREATE ROLE changer
ALTER TABLE own OWNER TO changer
SET ROLE changer
ALTER TABLE own ALTER COLUMN a TYPE bigint
RESET ROLE
SELECT indexdef FROM pg_indexes WHERE tablename = 'own'
SELECT tableowner FROM pg_tables WHERE tablename = 'own'
DROP TABLE own
DROP ROLE changer
