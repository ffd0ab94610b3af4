CREATE SCHEMA s1
CREATE TYPE s1.mood AS ENUM ('sad', 'ok')
CREATE TYPE s1.pair AS (a int, b text)
CREATE DOMAIN s1.small AS int CHECK (value < 10)
CREATE SEQUENCE s1.q START 5
CREATE TABLE s1.t (id serial PRIMARY KEY, m s1.mood DEFAULT 'ok'::s1.mood, p s1.pair, d s1.small, n int DEFAULT nextval('s1.q'))
CREATE INDEX t_m ON s1.t (m)
CREATE TABLE s1.child (t int REFERENCES s1.t, CHECK (t > 0))
CREATE TABLE s1.parts (k int, v text) PARTITION BY LIST (k)
CREATE TABLE s1.parts_1 PARTITION OF s1.parts FOR VALUES IN (1)
INSERT INTO s1.t (p, d) VALUES (ROW(1, 'x'), 3)
INSERT INTO s1.child VALUES (1)
INSERT INTO s1.parts VALUES (1, 'one')
CREATE VIEW s1.v AS SELECT id, d FROM s1.t
CREATE VIEW over_v AS SELECT v.id, t.n FROM s1.v JOIN s1.t ON t.id = v.id
CREATE MATERIALIZED VIEW s1.mv AS SELECT count(*) AS many FROM s1.v
CREATE FUNCTION s1.f(a int) RETURNS int LANGUAGE sql AS 'SELECT a + 1'
COMMENT ON SCHEMA s1 IS 'of tests'
CREATE SCHEMA s0
ALTER SCHEMA s1 RENAME TO s0
ALTER SCHEMA missing RENAME TO s9
ALTER SCHEMA s1 RENAME TO pg_s
ALTER SCHEMA s1 RENAME TO s2
SELECT * FROM s1.t
SELECT id, m, p, d, n FROM s2.t
SELECT nspname, obj_description(oid) FROM pg_namespace WHERE nspname LIKE 's_'
SELECT c.relname, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 's2' ORDER BY 1
SELECT t.typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname = 's2' AND t.typtype IN ('e', 'd') ORDER BY 1
SELECT proname, pronamespace::regnamespace FROM pg_proc WHERE proname = 'f'
INSERT INTO s2.t (p, d) VALUES (ROW(2, 'y'), 4) RETURNING id, m, p, d, n
INSERT INTO s2.t (d) VALUES (40)
INSERT INTO s2.child VALUES (9)
INSERT INTO s2.parts VALUES (1, 'more')
SELECT tableoid::regclass, k, v FROM s2.parts
SELECT * FROM over_v ORDER BY 1
SELECT pg_get_viewdef('over_v'::regclass), pg_get_viewdef('s2.v'::regclass)
REFRESH MATERIALIZED VIEW s2.mv
SELECT * FROM s2.mv
SELECT s2.f(1)
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 's2.t'::regclass ORDER BY adnum
SELECT nextval('s2.q'), pg_get_serial_sequence('s2.t', 'id')
CREATE SCHEMA s1
CREATE TABLE s1.t (other int)
SELECT * FROM s1.t
BEGIN
ALTER SCHEMA s2 RENAME TO s3
SELECT count(*) FROM s3.t
ROLLBACK
SELECT count(*) FROM s2.t
SELECT count(*) FROM s3.t
DROP TABLE s1.t
DROP SCHEMA s1
ALTER SCHEMA s2 RENAME TO s1
SELECT id FROM s1.t ORDER BY 1
DROP VIEW over_v
DROP TABLE s1.parts
DROP MATERIALIZED VIEW s1.mv
DROP VIEW s1.v
DROP TABLE s1.child
DROP TABLE s1.t
DROP FUNCTION s1.f
DROP SEQUENCE s1.q
DROP DOMAIN s1.small
DROP TYPE s1.pair
DROP TYPE s1.mood
DROP SCHEMA s1
CREATE DATABASE d1
COMMENT ON DATABASE d1 IS 'one'
CREATE DATABASE d0
ALTER DATABASE d1 RENAME TO d0
ALTER DATABASE missing RENAME TO d9
ALTER DATABASE postgres RENAME TO d9
ALTER DATABASE d1 RENAME TO d2
SELECT datname, shobj_description(oid, 'pg_database') FROM pg_database WHERE datname LIKE 'd_'
CREATE TABLE t (a int PRIMARY KEY, b text)
INSERT INTO t VALUES (1, 'one'), (2, 'two')
CREATE VIEW v AS SELECT a, b FROM t
CREATE VIEW v2 AS SELECT v.b, x.a FROM v, v AS x WHERE v.a = x.a
CREATE VIEW v3 AS SELECT * FROM v
CREATE VIEW v4 AS SELECT v FROM v
CREATE MATERIALIZED VIEW mv AS SELECT a FROM v
CREATE TABLE log (what text)
CREATE RULE r AS ON UPDATE TO v WHERE new.b = 'log' DO ALSO INSERT INTO log VALUES (old.a || ' ' || new.b)
ALTER VIEW v RENAME COLUMN missing TO x
ALTER VIEW v RENAME COLUMN a TO b
ALTER VIEW v RENAME COLUMN a TO ctid
SELECT ctid FROM v ORDER BY 1
ALTER VIEW v RENAME COLUMN ctid TO number
SELECT * FROM v ORDER BY 1
SELECT a FROM v
SELECT * FROM v2 ORDER BY 2
SELECT * FROM v3 ORDER BY 1
SELECT (v).number FROM v4 ORDER BY 1
SELECT pg_get_viewdef('v'::regclass), pg_get_viewdef('v2'::regclass), pg_get_viewdef('v3'::regclass)
ALTER TABLE v RENAME b TO "the Text"
SELECT * FROM v WHERE "the Text" = 'two'
SELECT * FROM v2 ORDER BY 2
UPDATE v SET "the Text" = 'zwei' WHERE number = 2
INSERT INTO v (number, "the Text") VALUES (3, 'drei')
SELECT * FROM t ORDER BY a
SELECT attname, attnum FROM pg_attribute WHERE attrelid = 'v'::regclass ORDER BY attnum
REFRESH MATERIALIZED VIEW mv
SELECT * FROM mv ORDER BY a
ALTER VIEW mv RENAME COLUMN a TO c
ALTER VIEW t RENAME COLUMN b TO c
SELECT * FROM t ORDER BY a
SELECT * FROM v ORDER BY 1
ALTER VIEW IF EXISTS nothing RENAME COLUMN b TO c
ALTER VIEW nothing RENAME COLUMN b TO c
CREATE OR REPLACE VIEW v AS SELECT a AS number, c AS "the Text", a + 1 AS next FROM t
SELECT * FROM v3 ORDER BY 1
SELECT * FROM v ORDER BY 1
