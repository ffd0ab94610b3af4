CREATE EXTENSION nosuch
CREATE EXTENSION IF NOT EXISTS nosuch
CREATE EXTENSION "a/b"
CREATE EXTENSION "-a"
CREATE EXTENSION hstore VERSION '9'
CREATE EXTENSION hstore SCHEMA nowhere
CREATE EXTENSION hstore SCHEMA public SCHEMA public
SELECT 'a'::hstore
SELECT 'a'::citext
SELECT akeys('a=>1')
SELECT extname, extversion FROM pg_extension ORDER BY 1
CREATE EXTENSION IF NOT EXISTS plpgsql
CREATE EXTENSION hstore
CREATE EXTENSION hstore
CREATE EXTENSION IF NOT EXISTS hstore
CREATE EXTENSION IF NOT EXISTS citext WITH SCHEMA public VERSION '1.6' CASCADE
SELECT extname, nspname, extrelocatable, extversion, extconfig, extcondition, rolname FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace JOIN pg_roles r ON r.oid = extowner ORDER BY 1
SELECT * FROM pg_available_extensions WHERE name IN ('hstore', 'citext', 'pgcrypto', 'plpgsql') ORDER BY 1
SELECT name, version, installed, superuser, trusted, relocatable, schema, requires, comment FROM pg_available_extension_versions WHERE (name, version) IN (('hstore', '1.8'), ('citext', '1.6'), ('plpgsql', '1.0')) ORDER BY 1
SELECT obj_description(oid, 'pg_extension') FROM pg_extension ORDER BY extname
SELECT typname, typlen, typtype, typcategory, typispreferred, typelem <> 0, typarray <> 0, typstorage, nspname FROM pg_type t JOIN pg_namespace n ON n.oid = typnamespace WHERE typname IN ('hstore', '_hstore', 'citext', '_citext') ORDER BY 1
SELECT proname, prokind, proretset, provolatile, proisstrict, pronargs, prorettype::regtype, proargmodes, proargnames FROM pg_proc WHERE proname IN ('akeys', 'each', 'skeys', 'citext_eq') ORDER BY 1
SELECT oprname, oprkind, oprleft::regtype, oprright::regtype, oprresult::regtype FROM pg_operator WHERE oprleft = 'hstore'::regtype ORDER BY 1, 4
SELECT castsource::regtype, casttarget::regtype, castcontext, castmethod FROM pg_cast WHERE castsource IN ('citext'::regtype, 'hstore'::regtype) OR casttarget IN ('citext'::regtype, 'hstore'::regtype) ORDER BY 1, 2
SELECT opcname, opcdefault, amname FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod WHERE opcname IN ('citext_ops', 'btree_hstore_ops') AND amname = 'btree' ORDER BY 1
SELECT classid::regclass, count(*) FROM pg_depend d JOIN pg_extension e ON refobjid = e.oid AND extname = 'hstore' WHERE deptype = 'e' AND classid <> 'pg_language'::regclass GROUP BY 1 ORDER BY 1
SELECT 'hstore'::regtype, 'public.citext'::regtype, 'citext[]'::regtype
CREATE TABLE t (id int PRIMARY KEY, h hstore, c citext UNIQUE, cs citext[])
SELECT attname, format_type(atttypid, atttypmod), attcollation <> 0 FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 ORDER BY attnum
SELECT column_name, data_type, udt_schema, udt_name FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position
DROP EXTENSION nosuch
DROP EXTENSION IF EXISTS nosuch
DROP EXTENSION hstore
DROP EXTENSION citext RESTRICT
DROP EXTENSION hstore CASCADE
SELECT attname FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
SELECT '1'::hstore
CREATE EXTENSION hstore
ALTER EXTENSION hstore UPDATE
ALTER EXTENSION hstore UPDATE TO '1.8'
ALTER EXTENSION hstore UPDATE TO '9'
ALTER EXTENSION nosuch UPDATE
CREATE SCHEMA other
ALTER EXTENSION hstore SET SCHEMA nowhere
ALTER EXTENSION hstore SET SCHEMA other
SELECT 'a=>1'::hstore
SELECT 'a=>1'::other.hstore
SELECT other.akeys('a=>1')
SELECT akeys('a=>1')
CREATE TABLE u (h other.hstore)
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'u'::regclass AND attnum = 1
SET search_path = public, other
SELECT akeys('a=>1'), 'a=>1'::hstore
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'u'::regclass AND attnum = 1
RESET search_path
DROP TABLE u
DROP EXTENSION hstore
CREATE EXTENSION hstore SCHEMA other
SELECT 'a=>1'::other.hstore
DROP EXTENSION hstore
CREATE TYPE hstore AS ENUM ('a')
CREATE EXTENSION hstore
DROP TYPE hstore
CREATE EXTENSION hstore
CREATE TYPE hstore AS ENUM ('a')
CREATE TABLE hstore (a int)
COMMENT ON EXTENSION hstore IS 'pairs'
SELECT obj_description(oid, 'pg_extension') FROM pg_extension WHERE extname = 'hstore'
COMMENT ON EXTENSION nosuch IS 'x'
BEGIN
CREATE EXTENSION pgcrypto
SELECT count(*) FROM pg_extension
ROLLBACK
SELECT count(*) FROM pg_extension
BEGIN
SAVEPOINT a
DROP EXTENSION citext CASCADE
ROLLBACK TO a
SELECT 'A'::citext = 'a'
COMMIT
CREATE FUNCTION f(citext) RETURNS int LANGUAGE sql AS 'SELECT 1'
CREATE VIEW v AS SELECT id FROM t WHERE c = 'x'
DROP EXTENSION citext
DROP VIEW v
DROP FUNCTION f(citext)
CREATE DOMAIN d AS citext
CREATE TABLE w (x d, y int DEFAULT length('a'::citext))
DROP EXTENSION citext CASCADE
SELECT * FROM w
DROP EXTENSION hstore, citext
DROP EXTENSION hstore
SELECT extname FROM pg_extension
