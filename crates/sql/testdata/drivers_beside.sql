CREATE TYPE e AS ENUM ('a', 'b')
BEGIN
DROP TYPE e
SELECT to_regtype('e')
CREATE TYPE e AS ENUM ('c')
SELECT 'c'::e
COMMIT
SELECT 'c'::e, 'a'::e
CREATE VIEW v AS SELECT 1 AS a
BEGIN
DROP VIEW v
CREATE VIEW v AS SELECT 2 AS a
COMMIT
SELECT * FROM v
BEGIN
DROP VIEW v
CREATE TABLE v (a int)
DROP TABLE v
CREATE SEQUENCE v
DROP SEQUENCE v
CREATE VIEW v AS SELECT 3 AS a
ROLLBACK
SELECT * FROM v
CREATE DOMAIN d AS int CHECK (value > 0)
BEGIN
DROP DOMAIN d
CREATE DOMAIN d AS int CHECK (value > 1)
SELECT 1::d
ROLLBACK
CREATE TYPE c AS (a int)
BEGIN
DROP TYPE c
CREATE TYPE c AS (a int, b text)
CREATE TYPE c2 AS (a c)
COMMIT
SELECT (1, 'x')::c, row(row(1, 'y')::c)::c2
CREATE TABLE r (a int)
CREATE RULE n AS ON INSERT TO r DO INSTEAD NOTHING
BEGIN
DROP RULE n ON r
CREATE RULE n AS ON DELETE TO r DO INSTEAD NOTHING
COMMIT
INSERT INTO r VALUES (1)
DELETE FROM r
SELECT * FROM r
BEGIN ISOLATION LEVEL READ UNCOMMITTED
SHOW transaction_isolation
SELECT current_setting('transaction_isolation')
COMMIT
SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ UNCOMMITTED
SHOW transaction_isolation
SHOW default_transaction_isolation
RESET default_transaction_isolation
BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE
SELECT current_setting('transaction_deferrable'), current_setting('transaction_read_only'), current_setting('transaction_isolation')
SELECT name, setting FROM pg_settings WHERE name IN ('transaction_deferrable', 'transaction_isolation', 'transaction_read_only') ORDER BY 1
COMMIT
SELECT name, setting FROM pg_settings WHERE name IN ('transaction_deferrable', 'transaction_isolation', 'transaction_read_only') ORDER BY 1
SET SESSION CHARACTERISTICS AS TRANSACTION DEFERRABLE
BEGIN NOT DEFERRABLE
SHOW transaction_deferrable
COMMIT
SHOW transaction_deferrable
RESET default_transaction_deferrable
BEGIN
SET transaction_isolation = 'serializable'
SHOW transaction_isolation
COMMIT
SHOW transaction_isolation
BEGIN
SET transaction_isolation = 'sometimes'
ROLLBACK
BEGIN
SET transaction_read_only = on
SHOW transaction_read_only
CREATE TABLE not_made (a int)
ROLLBACK
BEGIN
SELECT 1
SET transaction_isolation = 'serializable'
ROLLBACK
CREATE TABLE kept (a int)
BEGIN
INSERT INTO kept VALUES (1)
SET TRANSACTION READ ONLY
INSERT INTO kept VALUES (2)
COMMIT
BEGIN
INSERT INTO kept VALUES (3)
SET TRANSACTION READ ONLY
SELECT * FROM kept
COMMIT
SELECT * FROM kept
BEGIN READ ONLY
SELECT count(*) FROM kept
SET TRANSACTION READ WRITE
ROLLBACK
BEGIN READ ONLY
SET TRANSACTION READ WRITE
INSERT INTO kept VALUES (4)
COMMIT
BEGIN
SAVEPOINT a
INSERT INTO kept VALUES (5)
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
ROLLBACK
BEGIN
SAVEPOINT a
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
ROLLBACK
BEGIN
SELECT 1
SET TRANSACTION DEFERRABLE
ROLLBACK
BEGIN
SELECT 1
SET TRANSACTION ISOLATION LEVEL READ COMMITTED
ROLLBACK
BEGIN
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
SAVEPOINT x
SET TRANSACTION READ ONLY
INSERT INTO kept VALUES (7)
ROLLBACK TO x
INSERT INTO kept VALUES (8)
COMMIT
BEGIN
INSERT INTO kept VALUES (9)
SAVEPOINT x
SET TRANSACTION READ ONLY
UPDATE kept SET a = 0
ROLLBACK TO x
SET TRANSACTION READ ONLY
RELEASE x
INSERT INTO kept VALUES (10)
COMMIT
SELECT * FROM kept ORDER BY a
BEGIN READ ONLY
DELETE FROM kept
ROLLBACK
BEGIN READ ONLY
TRUNCATE kept
ROLLBACK
BEGIN READ ONLY
CREATE UNIQUE INDEX i ON kept (a)
ROLLBACK
BEGIN READ ONLY
CREATE OR REPLACE VIEW w AS SELECT 1
ROLLBACK
BEGIN READ ONLY
DROP TABLE kept
ROLLBACK
BEGIN READ ONLY
GRANT SELECT ON kept TO PUBLIC
ROLLBACK
BEGIN READ ONLY
COMMENT ON TABLE kept IS 'x'
ROLLBACK
SELECT 'e'::regtype, to_regtype('e'), to_regtype('public.e'), to_regtype('"e"'), to_regtype('e[]'), to_regtype('nowhere.e'), to_regtype('none'), 'kept'::regtype, to_regtype('kept[]')
SELECT '"timestamp"'::regtype, '"text"'::regtype, '"timetz"'::regtype, 'timetz'::regtype, 'character varying'::regtype, 'varchar(10)'::regtype, 'double precision[]'::regtype, '"char"'::regtype, 'char'::regtype, 'pg_catalog.int4'::regtype, 'pg_catalog."time"'::regtype, '23'::regtype, 'interval second(3)'::regtype, 'bit varying(5)[]'::regtype
SELECT '"int"'::regtype
SELECT 'no such type'::regtype
SELECT to_regtype('(')
SELECT ''::regtype
SELECT 'timestamp with'::regtype
SELECT typname FROM pg_type t WHERE t.oid = to_regtype('e')
SELECT name, labels FROM (SELECT t.typname AS name, array_agg(e.enumlabel) AS labels FROM pg_type t LEFT JOIN pg_enum e ON e.enumtypid = t.oid WHERE t.oid = to_regtype('"e"') GROUP BY t.typname) x
SET standard_conforming_strings = off
SELECT 'a\'b', 'c\\d', E'e\nf', 'g\x41h', 'plain', $$i\n$$
SELECT 'a\n' AS "b\n", 'it''s \t' -- '\
SELECT b'101', x'1f', /* '\ */ '\\'
SELECT'\n'
SELECT 'a\n' 'b'
SELECT '\n', nothing
SELECT U&'\0041'
SELECT 'ends \'
SELECT 1 '\n'
SELECT E'\x' 1 '\n'
SHOW standard_conforming_strings
PREPARE escaped AS SELECT 'a\\b' AS a
EXECUTE escaped
SET standard_conforming_strings = on
SELECT 'a\'
EXECUTE escaped
SELECT point '(1,2)', '1,2'::point, ' ( -1e3 , .5 ) '::point, '(NaN,-Infinity)'::point, point '(1,2)'::text
SELECT ('(1,2)'::point)[0:1]
SELECT (f)[:1] FROM (VALUES ('((1,2),(3,4))'::box)) AS v(f)
SELECT lseg '[(1,2),(3,4)]', '((1,2),(3,4))'::lseg, '(1,2),(3,4)'::lseg, '1,2,3,4'::lseg
SELECT box '(1,2),(3,4)', '((3,2),(1,4))'::box, '1,2,3,4'::box, '{(1,2),(3,4);(5,6),(7,8)}'::box[], ARRAY[box '(1,2),(3,4)', NULL]
SELECT path '[(1,2),(3,4)]', '((1,2),(3,4))'::path, '(1,2),(3,4)'::path, '1,2,3,4'::path, '(1,2,3,4)'::path, '[1,2]'::path
SELECT polygon '((1,2),(3,4),(5,6))', '(1,2),(3,4)'::polygon, '1,2,3,4'::polygon
SELECT line '{1,2,3}', '[(1,2),(3,4)]'::line, '(1,2),(1,4)'::line, '1,2,3,2'::line, '0,0,1,1'::line
SELECT circle '<(1,2),3>', '((1,2),3)'::circle, '(1,2),3'::circle, '1,2,3'::circle
SELECT point '(1)'
SELECT point '(1,2'
SELECT point '1,2 x'
SELECT point '(1e999,2)'
SELECT box '[(1,2),(3,4)]'
SELECT path '1,2,3'
SELECT path '[(1,2),(3,4))'
SELECT polygon ''
SELECT line '{0,0,1}'
SELECT line '(1,2),(1,2)'
SELECT circle '<(1,2),-3>'
SELECT circle '<(1,2),3'
SELECT '{(1,2),(3,4)}'::point[]
SELECT '{"(1,2)","(3,4)"}'::point[], ARRAY[point '(1,2)'], '{{"(1,2)"}}'::point[]
CREATE TABLE shapes (a point, b lseg, c path, d box, e polygon, f line, g circle, h point[], i box[])
INSERT INTO shapes VALUES ('(1,2)', '[(1,2),(3,4)]', '[(1,2),(3,4)]', '(1,2),(3,4)', '((1,2),(3,4))', '{1,2,3}', '<(1,2),3>', '{"(1,2)"}', '{(1,2),(3,4);(5,6),(7,8)}')
INSERT INTO shapes DEFAULT VALUES
SELECT * FROM shapes
SELECT a FROM shapes ORDER BY a
CREATE INDEX ON shapes (a)
ALTER TABLE shapes ADD UNIQUE (d)
CREATE TABLE by_shape (a point) PARTITION BY RANGE (a)
SELECT DISTINCT a FROM shapes
UPDATE shapes SET a = '(3,4)' WHERE d IS NOT NULL
SELECT a, c FROM shapes
DROP TABLE shapes
SELECT tid '(1,2)', '(4294967295,65535)'::tid::text, tid '(1,2)'
SELECT tid '(1)'
SELECT tid '(1,65536)'
SELECT tid 'x'
SELECT txid_snapshot '100:1000:100,200,200,300', pg_snapshot '1:1:', '10:20:10,14,15'::pg_snapshot::text
SELECT txid_snapshot '1000:100:'
SELECT pg_snapshot '10:20:5'
SELECT pg_snapshot 'x'
SELECT '18446744073709551615'::xid8, '0'::xid8::text
SELECT '0x10'::xid8, '010'::xid8, 'abc'::xid8, '-1'::xid8, '12abc'::xid8, '99999999999999999999'::xid8, ' +7 '::xid8, ''::xid8, '09'::xid8, '0x'::xid8
SELECT '0x10'::xid, '010'::xid, 'abc'::xid, '-1'::xid, '12abc'::xid, '4294967296'::xid, '99999999999999999999'::cid, ' 7'::cid
SELECT x FROM (VALUES ('18446744073709551615'::xid8), ('1'), ('9223372036854775808'), ('0')) v(x) ORDER BY x
SELECT ARRAY['18446744073709551615'::xid8] > ARRAY['1'::xid8]
SELECT '(,2)'::tid, '(1,)'::tid, '(1,2)x'::tid, '(-1,2)'::tid, 'x(1,2)'::tid, '(+1,2)'::tid, '1(,)'::tid
SELECT '( 1 , 2 )'::tid
SELECT '(4294967296,2)'::tid
SELECT '(-2147483649,1)'::tid
SELECT '(1,-1)'::tid
SELECT '(1),2)'::tid
SELECT 'nan,1,2,3'::box, '1,nan,2,3'::box, '1,2,nan,3'::box, '(1,2),(3,nan)'::box
SELECT ('abc'::name)[0], ('abc'::name)[1], ('abc'::name)[3], ('abc'::name)[63], ('abc'::name)[64], ('abc'::name)[-1], (null::name)[0], ('abc'::name)[null], pg_typeof(('abc'::name)[0]), ('é'::name)[0]
SELECT ('abc'::name)[0][1]
SELECT ('abc'::name)[0:1]
SELECT 4294967295::oid::int4, (-1)::oid, (-2147483648)::int4::oid, 2147483648::oid::int4 + 1, 7::oid::int4::oid
SELECT x::int4 FROM (VALUES (4294967295::oid), (3), (NULL)) v(x) ORDER BY x::int4
CREATE SEQUENCE counted START 7 INCREMENT 3
SELECT * FROM counted
SELECT nextval('counted'), nextval('counted')
SELECT last_value, is_called, c.tableoid::regclass FROM counted c
SELECT setval('counted', 20, false), setval('counted', 30)
SELECT last_value, is_called FROM counted
SELECT setval('counted', 20, false)
SELECT last_value, is_called FROM counted
SELECT s.*, is_called AND true FROM public.counted s
SELECT count(*) FROM counted
INSERT INTO counted VALUES (1, 1, true)
UPDATE counted SET last_value = 5
DELETE FROM counted
SELECT last_value FROM counted FOR UPDATE
DROP SEQUENCE counted
SELECT * FROM counted
CREATE EXTENSION citext
CREATE DOMAIN mail AS citext NOT NULL DEFAULT 'a@b' CONSTRAINT at CHECK (value LIKE '%@%')
CREATE DOMAIN few AS int CHECK (value > 0 AND value < 10 OR value = 100)
SELECT conname, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) FROM pg_constraint WHERE contypid IN ('mail'::regtype, 'few'::regtype) ORDER BY 1
SELECT typcollation, typoutput, typstorage, typlen FROM pg_type WHERE typname = 'mail'
CREATE TABLE had (a int, b text, c mail, d few, e int GENERATED ALWAYS AS (d * 2) STORED)
CREATE INDEX ON had ((d + 1)) WHERE d > 2
INSERT INTO had (a, d) VALUES (1, 4) RETURNING *
ALTER TABLE had DROP COLUMN b
SELECT attnum, attname, atttypid::regtype, attisdropped, attnotnull FROM pg_attribute WHERE attrelid = 'had'::regclass AND attnum > 0 ORDER BY 1
SELECT relnatts FROM pg_class WHERE oid = 'had'::regclass
SELECT count(*) FROM had WHERE d + 1 = 5 AND d > 2
CREATE VIEW seen AS SELECT a, c FROM had WHERE d > 1
CREATE MATERIALIZED VIEW kept AS SELECT a FROM seen
SELECT c.relname, r.relname, d.refobjsubid, d.deptype FROM pg_depend d JOIN pg_rewrite w ON w.oid = d.objid JOIN pg_class c ON c.oid = w.ev_class JOIN pg_class r ON r.oid = d.refobjid WHERE d.classid = 'pg_rewrite'::regclass AND c.relname IN ('seen', 'kept') AND d.refclassid = 'pg_class'::regclass ORDER BY 1, 2, 3, 4
CREATE TABLE numbered (id serial, n int DEFAULT 3)
SELECT a.adnum, d.refobjid::regclass, d.refobjsubid, d.deptype FROM pg_depend d JOIN pg_attrdef a ON a.oid = d.objid WHERE d.classid = 'pg_attrdef'::regclass AND a.adrelid = 'numbered'::regclass ORDER BY 1, 3, 4
SELECT c.relacl IS NOT DISTINCT FROM p.initprivs FROM pg_class c JOIN pg_init_privs p ON p.objoid = c.oid AND p.classoid = 'pg_class'::regclass WHERE c.oid = 'pg_class'::regclass
SELECT option_name, option_value FROM pg_options_to_table('{a=1,b,c=2=3}')
SELECT NULL::anyarray
CREATE VIEW none AS SELECT NULL::anyarray
DROP MATERIALIZED VIEW kept
DROP VIEW seen
DROP TABLE numbered, had
DROP DOMAIN mail, few
DROP EXTENSION citext
SELECT typname, typname[0] = '_' FROM pg_type WHERE oid IN (23, 1007) ORDER BY 1
SELECT txid_current() = txid_current()
BEGIN
SELECT txid_current() > 0
COMMIT
