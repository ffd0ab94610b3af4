CREATE FUNCTION digest(text, text) RETURNS bytea LANGUAGE sql AS 'SELECT NULL::bytea'
CREATE EXTENSION pgcrypto
DROP FUNCTION digest(text, text)
CREATE SCHEMA ext
CREATE EXTENSION hstore SCHEMA ext
CREATE EXTENSION pgcrypto
CREATE FUNCTION digest(text, text) RETURNS bytea LANGUAGE sql AS 'SELECT NULL::bytea'
CREATE FUNCTION ext.akeys(ext.hstore) RETURNS text[] LANGUAGE sql AS 'SELECT NULL::text[]'
CREATE FUNCTION own(text, text) RETURNS bytea LANGUAGE sql AS 'SELECT NULL::bytea'
ALTER FUNCTION own(text, text) RENAME TO digest
CREATE FUNCTION ext.digest(text, text) RETURNS bytea LANGUAGE sql AS 'SELECT NULL::bytea'
ALTER FUNCTION ext.digest(text, text) SET SCHEMA public
ALTER EXTENSION pgcrypto SET SCHEMA ext
DROP FUNCTION ext.digest(text, text)
DROP FUNCTION digest(text, text)
DROP FUNCTION digest(text, text) CASCADE
DROP FUNCTION IF EXISTS digest(text, text)
DROP FUNCTION ext.akeys
DROP FUNCTION ext.akeys(ext.hstore)
DROP TYPE ext.hstore
DROP TYPE ext.hstore CASCADE
SELECT pg_typeof('a=>1'::ext.hstore)
SELECT pg_typeof(ARRAY['a=>1'::ext.hstore])
SELECT 'ext.hstore'::regtype, 'ext.akeys(ext.hstore)'::regprocedure, 'ext.akeys'::regproc
CREATE TABLE t (h ext.hstore)
CREATE INDEX i ON t (ext.akeys(h))
CREATE INDEX j ON t ((h OPERATOR(ext.->) 'a'))
SELECT pg_get_indexdef('i'::regclass), pg_get_indexdef('j'::regclass)
SELECT pg_get_indexdef('i'::regclass, 1, true), pg_get_indexdef('j'::regclass, 1, true)
SELECT pg_get_indexdef('i'::regclass, 0, true)
CREATE FUNCTION f(ext.hstore, ext.hstore[]) RETURNS SETOF ext.hstore LANGUAGE sql AS 'SELECT $1'
SELECT pg_get_function_arguments('f'::regproc), pg_get_function_identity_arguments('f'::regproc), pg_get_function_result('f'::regproc)
SELECT pg_get_function_arguments('ext.akeys'::regproc), pg_get_function_result('ext.akeys'::regproc)
SELECT 'f'::regproc::oid::regprocedure
CREATE VIEW v AS SELECT ext.akeys(h) AS k, h OPERATOR(ext.->) 'a' AS a, 'b=>1'::ext.hstore AS b FROM t
SELECT pg_get_viewdef('v')
CREATE TABLE d (a text[] DEFAULT ext.akeys('a=>1'))
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'd'::regclass
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum = 1
DROP FUNCTION f(ext.hstore)
DROP FUNCTION f(ext.hstore, text)
DROP EXTENSION hstore
SELECT ext.akeys(1)
SELECT ext.nosuch('a=>1'::ext.hstore)
SELECT akeys('a=>1'::ext.hstore)
SELECT 'a=>1'::ext.hstore + 1
SELECT 'a=>1'::ext.hstore::int
INSERT INTO t VALUES (1)
SET search_path = public, ext
SELECT pg_typeof('a=>1'::ext.hstore)
SELECT pg_get_indexdef('i'::regclass), pg_get_indexdef('j'::regclass)
SELECT pg_get_function_arguments('f'::regproc), pg_get_function_result('f'::regproc)
SELECT pg_get_viewdef('v')
DROP EXTENSION hstore
RESET search_path
CREATE ROLE members_role
GRANT EXECUTE ON FUNCTION digest(text, text) TO members_role
GRANT EXECUTE ON FUNCTION ext.akeys(ext.hstore) TO members_role
SELECT has_function_privilege('members_role', 'digest(text, text)', 'EXECUTE')
SELECT has_function_privilege('members_role', 'ext.akeys(ext.hstore)', 'EXECUTE')
SELECT has_function_privilege('members_role', 'ext.akeys(text)', 'EXECUTE')
CREATE EXTENSION citext SCHEMA ext
CREATE TABLE ci (c ext.citext)
GRANT ALL ON ci TO members_role
SET ROLE members_role
INSERT INTO ci VALUES ('x'::char(3)), ('y')
INSERT INTO ci VALUES (true)
SELECT c FROM ci ORDER BY c
SELECT max(c) FROM ci
SELECT ext.max(c) FROM ci
SELECT digest('a', 'md5')
SELECT ext.akeys('a=>1')
SELECT 'a=>1'::ext.hstore
SELECT ext.hstore('a', 'b')
CREATE OR REPLACE FUNCTION digest(text, text) RETURNS bytea LANGUAGE sql AS 'SELECT NULL::bytea'
ALTER FUNCTION digest(text, text) RENAME TO other
DROP FUNCTION digest(text, text)
GRANT EXECUTE ON FUNCTION digest(text, text) TO members_role
RESET ROLE
GRANT CREATE ON SCHEMA public TO members_role
SET ROLE members_role
CREATE OR REPLACE FUNCTION digest(text, text) RETURNS bytea LANGUAGE sql AS 'SELECT NULL::bytea'
CREATE FUNCTION digest(text, text) RETURNS bytea LANGUAGE sql AS 'SELECT NULL::bytea'
RESET ROLE
GRANT USAGE ON SCHEMA ext TO members_role
SET ROLE members_role
SELECT ext.akeys('a=>1'), 'a=>1'::ext.hstore OPERATOR(ext.->) 'a'
RESET ROLE
REVOKE EXECUTE ON FUNCTION digest(text, text), ext.akeys(ext.hstore) FROM PUBLIC
REVOKE EXECUTE ON FUNCTION digest(text, text) FROM members_role
SELECT proacl FROM pg_proc WHERE proname = 'digest' ORDER BY pronargs, proargtypes::text
SELECT has_function_privilege('members_role', 'digest(text, text)', 'EXECUTE'), has_function_privilege('members_role', 'digest(bytea, text)', 'EXECUTE')
SELECT has_function_privilege('members_role', 'f(ext.hstore, ext.hstore[])', 'EXECUTE')
REVOKE ALL ON FUNCTION f FROM PUBLIC
SELECT has_function_privilege('members_role', 'f(ext.hstore, ext.hstore[])', 'EXECUTE')
SELECT has_function_privilege('members_role', 'lower(text)', 'EXECUTE')
SELECT has_function_privilege('members_role', 'nosuch(text)', 'EXECUTE')
SELECT has_function_privilege('members_role', 'lower', 'EXECUTE')
SELECT has_function_privilege('members_role', 0, 'EXECUTE')
SET ROLE members_role
SELECT digest('a'::text, 'md5')
SELECT digest('a'::bytea, 'md5') IS NULL
SELECT ext.akeys('a=>1')
RESET ROLE
DROP TABLE ci
DROP ROLE members_role
REVOKE ALL ON SCHEMA public FROM members_role
REVOKE ALL ON SCHEMA ext FROM members_role
REVOKE ALL ON FUNCTION digest(text, text), ext.akeys(ext.hstore) FROM members_role
DROP ROLE members_role
