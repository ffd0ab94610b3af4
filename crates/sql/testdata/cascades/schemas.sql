CREATE SCHEMA s
CREATE FUNCTION s.f(int) RETURNS int LANGUAGE sql AS 'SELECT 1'
CREATE PROCEDURE s.p() LANGUAGE sql AS 'SELECT 1'
CREATE DOMAIN d AS int DEFAULT s.f(1)
CREATE TABLE t (a d, b int DEFAULT s.f(2))
CREATE VIEW v AS SELECT a FROM t
DROP FUNCTION s.f
DROP SCHEMA s
BEGIN
DROP SCHEMA s CASCADE
SELECT attname FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 AND NOT attisdropped
SELECT count(*) FROM pg_class WHERE relname = 'v'
ROLLBACK
SELECT count(*) FROM pg_class WHERE relname = 'v'
DROP FUNCTION s.f CASCADE
CREATE TYPE s.mood AS ENUM ('sad', 'glad')
CREATE TABLE tm (m s.mood, n text DEFAULT 'sad'::s.mood)
CREATE FUNCTION feel(s.mood, s.mood[]) RETURNS int LANGUAGE sql AS 'SELECT 1'
CREATE VIEW vf AS SELECT feel('sad', NULL) AS x
CREATE VIEW vm AS SELECT 'sad'::s.mood AS m
CREATE MATERIALIZED VIEW mm AS SELECT m FROM vm
CREATE DOMAIN dm AS s.mood CONSTRAINT glad CHECK (VALUE <> 'sad'::s.mood)
CREATE TABLE tdm (x dm, y int)
CREATE TYPE pair AS (a int, m s.mood)
DROP TYPE s.mood
BEGIN
DROP TYPE s.mood CASCADE
SELECT relname FROM pg_class WHERE relname IN ('vf', 'vm', 'mm', 'tm', 'tdm') ORDER BY 1
SELECT attname FROM pg_attribute WHERE attrelid IN ('tm'::regclass, 'tdm'::regclass) AND attnum > 0 AND NOT attisdropped ORDER BY 1
SELECT column_default FROM information_schema.columns WHERE table_name = 'tm'
ROLLBACK
DROP DOMAIN dm
BEGIN
DROP SCHEMA s CASCADE
SELECT relname FROM pg_class WHERE relname IN ('vf', 'vm', 'mm', 'tm', 'tdm') ORDER BY 1
ROLLBACK
SET search_path = s, public
DROP FUNCTION feel(mood, mood[])
DROP PROCEDURE p
RESET search_path
DROP FUNCTION feel(s.mood, s.mood[])
CREATE VIEW s.own AS SELECT * FROM tm
CREATE TABLE s.big (a int PRIMARY KEY, b serial)
CREATE TABLE ref (a int REFERENCES s.big)
CREATE VIEW far AS SELECT * FROM s.big, s.own
CREATE SEQUENCE s.seq
CREATE TABLE qs (a int DEFAULT nextval('s.seq'))
BEGIN
DROP SCHEMA s CASCADE
SELECT count(*) FROM pg_namespace WHERE nspname = 's'
SELECT relname FROM pg_class WHERE relname IN ('far', 'own', 'big', 'ref', 'qs') ORDER BY 1
INSERT INTO qs VALUES (DEFAULT)
SELECT * FROM qs
ROLLBACK
CREATE SCHEMA s2
CREATE VIEW s2.reads AS SELECT * FROM s.big
BEGIN
DROP SCHEMA s, s2 CASCADE
SELECT count(*) FROM pg_namespace WHERE nspname IN ('s', 's2')
ROLLBACK
CREATE FUNCTION s.fire() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'
CREATE TRIGGER tr BEFORE INSERT ON s.big FOR EACH ROW EXECUTE FUNCTION s.fire()
CREATE TRIGGER tr BEFORE INSERT ON ref FOR EACH ROW EXECUTE FUNCTION s.fire()
DROP SCHEMA s CASCADE
SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal
CREATE ROLE drop_maker
GRANT CREATE ON SCHEMA public TO drop_maker
SET ROLE drop_maker
CREATE TABLE mine (a int)
CREATE PROCEDURE mine() LANGUAGE sql AS 'SELECT 1'
RESET ROLE
CREATE VIEW of_mine AS SELECT * FROM mine
CREATE MATERIALIZED VIEW mat AS SELECT 1 AS a
DROP ROLE drop_maker
DROP OWNED BY drop_maker
DROP OWNED BY drop_maker CASCADE
DROP ROLE drop_maker
CREATE VIEW vm AS SELECT 1 AS a
CREATE ROLE drop_other
SET ROLE drop_other
DROP MATERIALIZED VIEW mat
DROP VIEW vm
REFRESH MATERIALIZED VIEW mat
ALTER MATERIALIZED VIEW mat RENAME TO mat2
CREATE INDEX ON mat (a)
COMMENT ON MATERIALIZED VIEW mat IS 'x'
RESET ROLE
DROP ROLE drop_other
CREATE TYPE feel AS ENUM ('a')
CREATE TABLE above (i int, m feel)
CREATE TABLE under (k int) INHERITS (above)
CREATE TABLE lower_still (l int) INHERITS (under)
DROP TYPE feel
DROP TYPE feel CASCADE
SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relname IN ('above', 'under', 'lower_still') AND attnum > 0 AND NOT attisdropped ORDER BY 1, 2
DROP TABLE above CASCADE
CREATE TYPE feel AS ENUM ('a')
CREATE TABLE whole (i int, m feel) PARTITION BY RANGE (i)
CREATE TABLE part1 PARTITION OF whole FOR VALUES FROM (0) TO (10)
DROP TYPE feel CASCADE
SELECT count(*) FROM whole
DROP TABLE whole
