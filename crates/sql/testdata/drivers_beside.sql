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
