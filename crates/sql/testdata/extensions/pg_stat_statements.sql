SELECT * FROM pg_stat_statements
SELECT pg_stat_statements_reset()
CREATE ROLE anyone
SET ROLE anyone
CREATE EXTENSION pg_stat_statements
RESET ROLE
CREATE EXTENSION pg_stat_statements VERSION '1.3'
CREATE EXTENSION pg_stat_statements
CREATE EXTENSION pg_stat_statements
CREATE EXTENSION IF NOT EXISTS pg_stat_statements
SELECT extname, extversion, extrelocatable FROM pg_extension ORDER BY 1
SELECT name, version, installed, superuser, trusted, relocatable, schema, requires, comment FROM pg_available_extension_versions WHERE name = 'pg_stat_statements' AND version = '1.10'
SELECT name, installed_version, comment FROM pg_available_extensions WHERE name = 'pg_stat_statements'
SELECT c.relname, c.relkind, a.attname, a.attnum, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.atthasdef FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relname IN ('pg_stat_statements', 'pg_stat_statements_info') AND a.attnum > 0 ORDER BY c.relname, a.attnum
SELECT column_name, ordinal_position, data_type, is_nullable FROM information_schema.columns WHERE table_name = 'pg_stat_statements' ORDER BY 2
SELECT 'pg_stat_statements'::regclass, 'pg_stat_statements_info'::regclass
SELECT relname, relnamespace::regnamespace, relowner::regrole, has_table_privilege('anyone', oid, 'SELECT'), has_table_privilege('anyone', oid, 'INSERT') FROM pg_class WHERE relname LIKE 'pg_stat_statements%' ORDER BY 1
SELECT p.proname, p.pronargs, p.pronargdefaults, p.proretset, p.prorettype::regtype, p.provolatile, p.proargnames, p.proargmodes, p.proallargtypes::regtype[]::text FROM pg_proc p WHERE p.proname LIKE 'pg_stat_statements%' ORDER BY 1
SELECT has_function_privilege('anyone', 'pg_stat_statements_reset(oid,oid,bigint)', 'EXECUTE'), has_function_privilege('anyone', 'pg_stat_statements(boolean)', 'EXECUTE')
SELECT classid::regclass, count(*) FROM pg_depend d JOIN pg_extension e ON refobjid = e.oid AND extname = 'pg_stat_statements' WHERE deptype = 'e' GROUP BY 1 ORDER BY 2
CREATE TABLE pg_stat_statements (a int)
CREATE VIEW pg_stat_statements_info AS SELECT 1
CREATE SCHEMA far
ALTER EXTENSION pg_stat_statements SET SCHEMA far
SELECT count(*) FROM pg_stat_statements
SELECT relnamespace::regnamespace FROM pg_class WHERE relname = 'pg_stat_statements'
SET ROLE anyone
DROP EXTENSION pg_stat_statements
RESET ROLE
DROP EXTENSION pg_stat_statements
SELECT count(*) FROM pg_class WHERE relname LIKE 'pg_stat_statements%'
SELECT * FROM far.pg_stat_statements
CREATE TABLE pg_stat_statements (a int)
CREATE EXTENSION pg_stat_statements
