-- What is done: a line is a text of one or several statements. A heading says how it is compared:
--   rows    answers have to be the same rows as well
--   tags    only tags and errors are compared
--   outside outside of a transaction block, so that nothing is undone: for what changes nothing
-- and `tiers` that it is done with the native tier on and off.

[rows tiers] reading a table
SELECT * FROM s.t ORDER BY id
SELECT n FROM s.t ORDER BY n
SELECT v FROM s.t WHERE id = 1
SELECT n FROM s.t WHERE n = 10
SELECT id FROM s.t WHERE id = 1
SELECT count(*) FROM s.t
SELECT 1 FROM s.t LIMIT 1
SELECT max(n) FROM s.t
SELECT t.n FROM s.t AS t WHERE t.n IN (SELECT n FROM s.shared) ORDER BY 1
SELECT shared.n FROM s.shared, s.t ORDER BY 1
SELECT (SELECT max(n) FROM s.t)
SELECT x.n FROM (SELECT n FROM s.t) AS x ORDER BY 1
WITH x AS (SELECT n FROM s.t) SELECT count(*) FROM x
WITH x AS (SELECT id FROM s.t) SELECT 1
SELECT n FROM s.t UNION ALL SELECT 1 ORDER BY 1
SELECT id FROM s.shared WHERE EXISTS (SELECT 1 FROM s.t)
SELECT id FROM s.t WHERE id = 1 FOR UPDATE
SELECT id FROM s.t WHERE id = 1 FOR SHARE
SELECT * FROM s.t WHERE id = 1 FOR UPDATE
SELECT id FROM s.shared WHERE id = 1 FOR UPDATE
SELECT row_to_json(t) FROM s.t AS t WHERE id = 1
SELECT a.id FROM s.t AS a JOIN s.t AS b ON a.id = b.id AND b.n = 10
SELECT * FROM s.shared
SELECT * FROM hidden.t
SELECT n FROM hidden.t WHERE id = 1
SELECT * FROM open.own
SELECT * FROM s.missing
SELECT * FROM hidden.missing
SELECT missing FROM s.t
SELECT id FROM s.t WHERE id = $$x$$

[rows tiers] writing a table
INSERT INTO s.t VALUES (3, 30, 'three')
INSERT INTO s.t (id) VALUES (3)
INSERT INTO s.t (id, n) VALUES (3, 30)
INSERT INTO s.t VALUES (3, 30, 'three'), (4, 40, 'four')
INSERT INTO s.t VALUES (3, 30, 'three') RETURNING id
INSERT INTO s.t (id) VALUES (3) RETURNING id
INSERT INTO s.t (id, n) VALUES (3, 30) RETURNING *
INSERT INTO s.t (id, n) VALUES (3, 30) RETURNING 1
INSERT INTO s.t SELECT id + 2, n FROM s.shared
INSERT INTO s.t SELECT id + 2 FROM s.t
INSERT INTO s.shared SELECT id + 2 FROM s.t
INSERT INTO s.t VALUES (1, 30, 'three') ON CONFLICT DO NOTHING
INSERT INTO s.t (id) VALUES (1) ON CONFLICT DO NOTHING
INSERT INTO s.t (id) VALUES (1) ON CONFLICT (id) DO NOTHING
INSERT INTO s.t (id, n) VALUES (1, 30) ON CONFLICT (id) DO UPDATE SET n = 5
INSERT INTO s.t (id, n) VALUES (1, 30) ON CONFLICT (id) DO UPDATE SET n = excluded.n
INSERT INTO s.t (id, n) VALUES (1, 30) ON CONFLICT (id) DO UPDATE SET n = t.n + 1
INSERT INTO s.t (id, n) VALUES (7, 30) ON CONFLICT (id) DO UPDATE SET n = 5
INSERT INTO s.t (id, n) VALUES (1, 30) ON CONFLICT (id) DO UPDATE SET v = 'x' WHERE t.n = 10
INSERT INTO s.t (id, n) VALUES (1, 30) ON CONFLICT (id) DO UPDATE SET n = 5 RETURNING id
INSERT INTO s.t DEFAULT VALUES
UPDATE s.t SET n = 5
UPDATE s.t SET n = n + 1
UPDATE s.t SET n = 5 WHERE id = 1
UPDATE s.t SET n = 5 WHERE true
UPDATE s.t SET n = n + 1 WHERE id = 1
UPDATE s.t SET v = 'x' WHERE id = 1
UPDATE s.t SET v = 'x'
UPDATE s.t SET n = 5, v = 'x'
UPDATE s.t SET n = DEFAULT
UPDATE s.t SET id = 9 WHERE id = 2
UPDATE s.t SET n = 5 WHERE n = 10
UPDATE s.t SET n = 5 RETURNING n
UPDATE s.t SET n = 5 WHERE id = 1 RETURNING *
UPDATE s.t SET n = shared.n FROM s.shared WHERE shared.id = t.id
UPDATE s.shared SET n = t.n FROM s.t WHERE shared.id = t.id
UPDATE s.t SET n = (SELECT max(n) FROM s.shared)
UPDATE s.shared SET n = (SELECT max(n) FROM s.t)
DELETE FROM s.t
DELETE FROM s.t WHERE id = 1
DELETE FROM s.t WHERE n = 10
DELETE FROM s.t WHERE true
DELETE FROM s.t RETURNING id
DELETE FROM s.t WHERE id = 1 RETURNING 1
DELETE FROM s.t USING s.shared WHERE shared.id = t.id
DELETE FROM s.shared USING s.t WHERE shared.id = t.id
DELETE FROM s.shared WHERE id IN (SELECT id FROM s.t)
INSERT INTO s.shared VALUES (5, 5) RETURNING *
UPDATE s.shared SET n = 5 WHERE id = 1
DELETE FROM s.shared WHERE id = 1
INSERT INTO s.child VALUES (1, 1)
INSERT INTO s.child VALUES (1, 99)
DELETE FROM s.parent
DELETE FROM s.parent WHERE id = 1
INSERT INTO s.numbered (v) VALUES ('x')
INSERT INTO s.numbered (id, v) VALUES (77, 'x')
INSERT INTO hidden.t VALUES (2, 2)
UPDATE hidden.t SET n = 5 WHERE id = 1
DELETE FROM hidden.t WHERE id = 1
UPDATE open.own SET n = 2

[rows] in bulk
TRUNCATE s.t, s.child
TRUNCATE s.t CASCADE
TRUNCATE s.kid
TRUNCATE s.shared
TRUNCATE hidden.t
TRUNCATE open.own
COPY s.t TO STDOUT
COPY s.t (n) TO STDOUT
COPY s.t (id, v) TO STDOUT
COPY (SELECT n FROM s.t ORDER BY n) TO STDOUT
COPY (SELECT count(*) FROM s.t) TO STDOUT
COPY s.t FROM STDIN
COPY s.t (id, n, v) FROM STDIN
COPY hidden.t TO STDOUT
COPY s.shared TO STDOUT
COPY s.w TO STDOUT
DECLARE c CURSOR FOR SELECT n FROM s.t ORDER BY n; FETCH ALL FROM c
DECLARE c CURSOR FOR SELECT * FROM s.t
PREPARE p AS SELECT n FROM s.t ORDER BY n; EXECUTE p; DEALLOCATE p
PREPARE p(int) AS UPDATE s.t SET n = $1; EXECUTE p(5); DEALLOCATE p
PREPARE p AS INSERT INTO s.t (id) VALUES (3); EXECUTE p; DEALLOCATE p

[tags] plans
EXPLAIN SELECT * FROM s.t
EXPLAIN SELECT n FROM s.t WHERE id = 1
EXPLAIN SELECT count(*) FROM s.t
EXPLAIN UPDATE s.t SET n = 5
EXPLAIN DELETE FROM s.t
EXPLAIN INSERT INTO s.t (id) VALUES (3)
EXPLAIN ANALYZE SELECT n FROM s.t
EXPLAIN SELECT * FROM open.cannot
EXPLAIN SELECT * FROM hidden.t

[rows tiers] views
SELECT * FROM s.w ORDER BY id
SELECT n FROM s.w WHERE id = 1
SELECT count(*) FROM s.outer_w
SELECT * FROM s.outer_w ORDER BY id
SELECT * FROM open.reads ORDER BY id
SELECT id FROM open.reads WHERE id = 1
SELECT * FROM open.cannot
SELECT count(*) FROM open.cannot
SELECT * FROM open.column ORDER BY n
SELECT * FROM open.own_w
SELECT * FROM hidden.w
SELECT w.id FROM s.w JOIN open.reads r ON r.id = w.id ORDER BY 1

[tags] making views
CREATE VIEW open.made AS SELECT id FROM s.t
CREATE VIEW open.made AS SELECT id FROM s.t; SELECT * FROM open.made
CREATE VIEW open.made AS SELECT count(*) AS c FROM s.t; SELECT * FROM open.made
CREATE VIEW open.made AS SELECT n FROM s.t; SELECT n FROM open.made
CREATE VIEW open.made AS SELECT * FROM hidden.t
CREATE VIEW s.made AS SELECT 1 AS x
CREATE VIEW hidden.made AS SELECT 1 AS x
CREATE OR REPLACE VIEW s.w AS SELECT id, n FROM s.t
CREATE OR REPLACE VIEW s.w AS SELECT id, n FROM s.shared
CREATE OR REPLACE VIEW open.reads AS SELECT id, v FROM s.t WHERE id > 0
CREATE OR REPLACE VIEW s.fresh_w AS SELECT id, n FROM s.shared
CREATE OR REPLACE VIEW open.fresh_w AS SELECT id, n FROM s.t
DROP VIEW s.w CASCADE
DROP VIEW s.w
DROP VIEW open.reads
DROP VIEW IF EXISTS s.missing
DROP VIEW hidden.w
ALTER VIEW s.w RENAME TO other_w
ALTER VIEW s.w OWNER TO owner
ALTER VIEW s.w OWNER TO stranger
ALTER VIEW open.own_w OWNER TO postgres
ALTER VIEW s.w SET SCHEMA open
COMMENT ON VIEW s.w IS 'x'

[rows] sequences
SELECT nextval('s.q') > 0
SELECT nextval('s.q') > 0; SELECT currval('s.q') > 0; SELECT lastval() > 0
SELECT setval('s.q', 5)
SELECT setval('s.q', 5, false)
SELECT nextval('hidden.q') > 0
SELECT setval('hidden.q', 5)
SELECT nextval('s.numbered_id_seq') > 0
SELECT setval('s.numbered_id_seq', 100)

[tags] changing sequences
ALTER SEQUENCE s.q INCREMENT BY 2
ALTER SEQUENCE s.q RESTART
ALTER SEQUENCE s.q OWNED BY s.t.id
ALTER SEQUENCE s.q OWNED BY NONE
ALTER SEQUENCE s.q OWNER TO stranger
ALTER SEQUENCE s.q OWNER TO owner
ALTER SEQUENCE hidden.q INCREMENT BY 2
DROP SEQUENCE s.q
DROP SEQUENCE s.numbered_id_seq
DROP SEQUENCE hidden.q
CREATE SEQUENCE s.fresh_q
CREATE SEQUENCE open.fresh_q
CREATE SEQUENCE open.fresh_q OWNED BY s.t.id
CREATE SEQUENCE hidden.fresh_q
CREATE SEQUENCE public.fresh_q
COMMENT ON SEQUENCE s.q IS 'x'

[tags] tables and indexes
CREATE TABLE s.fresh (id int)
CREATE TABLE open.fresh (id int)
CREATE TABLE open.fresh (id int); INSERT INTO open.fresh VALUES (1); SELECT * FROM open.fresh; DROP TABLE open.fresh
CREATE TABLE hidden.fresh (id int)
CREATE TABLE hidden.fresh (id int PRIMARY KEY)
CREATE TABLE hidden.fresh (id serial)
CREATE TABLE hidden.fresh (id int CHECK (id > 0))
CREATE TABLE public.fresh (id int)
CREATE TABLE fresh (id int)
CREATE TABLE open.fresh (id serial)
CREATE TABLE open.fresh AS SELECT n FROM s.t
CREATE TABLE open.fresh AS SELECT * FROM s.t
CREATE TABLE open.fresh AS SELECT 1 AS x; SELECT * FROM open.fresh
CREATE TABLE s.fresh AS SELECT 1 AS x
CREATE TABLE open.fresh (LIKE s.t)
CREATE TABLE IF NOT EXISTS s.t (id int)
CREATE TABLE open.fresh (t_id int REFERENCES s.t)
CREATE TABLE open.fresh (t_id int REFERENCES s.t (id))
CREATE TABLE open.fresh (t_id int REFERENCES s.shared)
CREATE TABLE open.fresh (t_id int REFERENCES hidden.t)
CREATE TABLE open.fresh (t_id int); ALTER TABLE open.fresh ADD FOREIGN KEY (t_id) REFERENCES s.t
CREATE TABLE open.fresh (id int DEFAULT nextval('s.q'))
CREATE TABLE open.fresh (id int DEFAULT nextval('s.q'), x int); INSERT INTO open.fresh (x) VALUES (1)
DROP TABLE s.t
DROP TABLE s.t CASCADE
DROP TABLE s.shared
DROP TABLE IF EXISTS s.kid
DROP TABLE IF EXISTS s.missing
DROP TABLE IF EXISTS missing.t
DROP TABLE hidden.t CASCADE
DROP TABLE open.own CASCADE
ALTER TABLE s.t ADD COLUMN x int
ALTER TABLE s.t ADD COLUMN x int DEFAULT 5
ALTER TABLE s.t DROP COLUMN v
ALTER TABLE s.t ALTER COLUMN v TYPE varchar(40)
ALTER TABLE s.t ALTER COLUMN n SET DEFAULT 5
ALTER TABLE s.t ALTER COLUMN n SET NOT NULL
ALTER TABLE s.t RENAME COLUMN n TO m
ALTER TABLE s.t RENAME TO renamed
ALTER TABLE s.t RENAME CONSTRAINT t_pkey TO t_key
ALTER TABLE s.t ADD CONSTRAINT positive CHECK (n > 0)
ALTER TABLE s.t ADD UNIQUE (n)
ALTER TABLE s.t ADD FOREIGN KEY (id) REFERENCES s.parent
ALTER TABLE s.child DROP CONSTRAINT child_t_id_fkey
ALTER TABLE s.child ALTER CONSTRAINT child_t_id_fkey DEFERRABLE
ALTER TABLE s.child VALIDATE CONSTRAINT child_t_id_fkey
ALTER TABLE s.t ADD UNIQUE NULLS NOT DISTINCT (n) DEFERRABLE
ALTER TABLE s.t ADD FOREIGN KEY (id) REFERENCES s.parent DEFERRABLE INITIALLY DEFERRED NOT VALID
SET CONSTRAINTS s.child_t_id_fkey IMMEDIATE
SET CONSTRAINTS s.child_t_id_fkey DEFERRED
SET CONSTRAINTS ALL DEFERRED
ALTER TABLE s.t OWNER TO owner
ALTER TABLE s.t OWNER TO stranger
ALTER TABLE s.t OWNER TO postgres
ALTER TABLE s.t OWNER TO g_all
ALTER TABLE open.own OWNER TO stranger
ALTER TABLE open.own OWNER TO plain
ALTER TABLE s.t SET SCHEMA open
ALTER TABLE s.t SET SCHEMA bare
ALTER TABLE hidden.t ADD COLUMN x int
ALTER TABLE IF EXISTS s.missing ADD COLUMN x int
CREATE INDEX ON s.t (v)
CREATE INDEX ON s.shared (n)
CREATE UNIQUE INDEX fresh_i ON s.t (n)
CREATE INDEX ON hidden.t (n)
CREATE INDEX ON open.own (n)
DROP INDEX s.t_n
DROP INDEX IF EXISTS s.missing_n
ALTER INDEX s.t_n RENAME TO t_m
COMMENT ON TABLE s.t IS 'x'
COMMENT ON COLUMN s.t.n IS 'x'
COMMENT ON INDEX s.t_n IS 'x'
COMMENT ON TABLE open.own IS 'x'
COMMENT ON CONSTRAINT t_pkey ON s.t IS 'x'

[tags] schemas and databases
CREATE SCHEMA fresh_s
CREATE SCHEMA IF NOT EXISTS s
CREATE SCHEMA fresh_s AUTHORIZATION stranger
CREATE SCHEMA AUTHORIZATION stranger
CREATE SCHEMA fresh_s; CREATE TABLE fresh_s.t (id int); DROP SCHEMA fresh_s CASCADE
DROP SCHEMA s CASCADE
DROP SCHEMA s
DROP SCHEMA open CASCADE
DROP SCHEMA hidden CASCADE
DROP SCHEMA bare
DROP SCHEMA IF EXISTS missing
ALTER SCHEMA s OWNER TO schema_owner
ALTER SCHEMA s OWNER TO stranger
ALTER SCHEMA bare OWNER TO g_all
ALTER SCHEMA public OWNER TO stranger
ALTER SCHEMA s RENAME TO other_s
ALTER SCHEMA bare RENAME TO other_s
COMMENT ON SCHEMA s IS 'x'
COMMENT ON DATABASE rights IS 'x'
ALTER DATABASE rights OWNER TO database_owner
ALTER DATABASE rights OWNER TO stranger
ALTER DATABASE postgres OWNER TO stranger

[tags outside] databases
CREATE DATABASE rights
DROP DATABASE rights
DROP DATABASE IF EXISTS missing_d
DROP DATABASE missing_d

[tags] roles
CREATE ROLE fresh_r
CREATE ROLE fresh_r LOGIN PASSWORD 'x'
CREATE USER fresh_r CREATEDB
CREATE ROLE fresh_r CREATEROLE
CREATE ROLE fresh_r SUPERUSER
CREATE ROLE fresh_r IN ROLE g_all
CREATE ROLE fresh_r IN ROLE high
CREATE ROLE fresh_r ROLE plain
CREATE ROLE plain
CREATE ROLE pg_fresh
CREATE ROLE public
DROP ROLE plain
DROP ROLE victim
DROP ROLE high
DROP ROLE settled
DROP ROLE postgres
DROP ROLE IF EXISTS missing_r
DROP ROLE missing_r
DROP ROLE CURRENT_USER
DROP ROLE pg_monitor
ALTER ROLE settled LOGIN
ALTER ROLE settled NOLOGIN
ALTER ROLE settled PASSWORD 'other'
ALTER ROLE settled PASSWORD NULL
ALTER ROLE settled SUPERUSER
ALTER ROLE settled CREATEDB
ALTER ROLE settled CREATEROLE
ALTER ROLE settled NOINHERIT
ALTER ROLE settled CONNECTION LIMIT 5
ALTER ROLE settled VALID UNTIL '2040-01-01'
ALTER ROLE high NOSUPERUSER
ALTER ROLE high PASSWORD 'x'
ALTER ROLE high LOGIN
ALTER ROLE postgres NOLOGIN
ALTER ROLE CURRENT_USER PASSWORD 'x'
ALTER ROLE CURRENT_USER CREATEDB
ALTER ROLE CURRENT_USER SUPERUSER
ALTER ROLE CURRENT_USER LOGIN
ALTER ROLE settled RENAME TO renamed_r
ALTER ROLE high RENAME TO renamed_r
ALTER ROLE plain RENAME TO settled
ALTER ROLE pg_monitor RENAME TO renamed_r
COMMENT ON ROLE settled IS 'x'
COMMENT ON ROLE high IS 'x'
GRANT g_all TO settled
GRANT g_all TO settled WITH ADMIN OPTION
GRANT owner TO settled
GRANT high TO settled
GRANT plain TO high
GRANT settled TO settled
GRANT g_middle TO g_all
GRANT pg_read_all_data TO settled
GRANT pg_monitor TO settled
REVOKE g_all FROM g_member
REVOKE ADMIN OPTION FOR g_all FROM g_admin
REVOKE owner FROM m_owner
REVOKE super FROM m_super
REVOKE plain FROM settled
GRANT missing_r TO settled
GRANT g_all TO missing_r

[rows] becoming another role
SET ROLE owner
SET ROLE g_all; SELECT current_user, session_user
SET ROLE g_all; SELECT count(*) FROM s.t
SET ROLE g_all; RESET ROLE; SELECT current_user = session_user
SET ROLE high; SELECT current_user
SET ROLE super; DROP TABLE s.t CASCADE
SET ROLE missing_r
SET ROLE NONE
SET ROLE postgres
SET SESSION AUTHORIZATION owner; SELECT current_user, session_user
SET SESSION AUTHORIZATION postgres; SELECT current_user, session_user
SET SESSION AUTHORIZATION DEFAULT; SELECT current_user = session_user
SET SESSION AUTHORIZATION missing_r
SET session_authorization = 'owner'
SELECT set_config('role', 'owner', true)
SELECT set_config('role', 'g_all', true)
SELECT set_config('session_authorization', 'postgres', true)
SHOW is_superuser
SELECT current_user, session_user
SHOW role

[tags] granting
GRANT SELECT ON s.t TO plain
GRANT SELECT ON s.t TO PUBLIC
GRANT SELECT ON s.t TO plain WITH GRANT OPTION
GRANT SELECT, INSERT ON s.t TO plain
GRANT ALL ON s.t TO plain
GRANT SELECT (n) ON s.t TO plain
GRANT SELECT (n), UPDATE (v) ON s.t TO plain
GRANT ALL (n) ON s.t TO plain
GRANT SELECT ON ALL TABLES IN SCHEMA s TO plain
GRANT SELECT ON ALL TABLES IN SCHEMA hidden TO plain
GRANT ALL ON ALL SEQUENCES IN SCHEMA s TO plain
GRANT USAGE ON s.t TO plain
GRANT SELECT ON s.w TO plain
GRANT SELECT ON open.own TO plain
GRANT SELECT ON hidden.t TO plain
GRANT USAGE ON SEQUENCE s.q TO plain
GRANT SELECT ON SEQUENCE s.q TO plain
GRANT INSERT ON SEQUENCE s.q TO plain
GRANT SELECT ON s.q TO plain
GRANT USAGE ON SCHEMA s TO plain
GRANT USAGE ON SCHEMA hidden TO plain
GRANT ALL ON SCHEMA s TO plain
GRANT SELECT ON SCHEMA s TO plain
GRANT CREATE ON SCHEMA public TO plain
GRANT CONNECT ON DATABASE rights TO plain
GRANT CREATE ON DATABASE rights TO plain
GRANT ALL ON DATABASE rights TO plain
GRANT SELECT ON DATABASE rights TO plain
REVOKE SELECT ON s.t FROM t_select
REVOKE SELECT ON s.t FROM o_select
REVOKE SELECT ON s.t FROM o_select CASCADE
REVOKE GRANT OPTION FOR SELECT ON s.t FROM o_select CASCADE
REVOKE ALL ON s.t FROM t_all
REVOKE ALL ON s.t FROM owner; SELECT count(*) FROM s.t
REVOKE ALL ON s.t FROM PUBLIC
REVOKE SELECT (n) ON s.t FROM c_select
REVOKE SELECT ON s.t FROM c_select
REVOKE SELECT ON s.t FROM plain
REVOKE USAGE ON SCHEMA s FROM PUBLIC
REVOKE USAGE ON SEQUENCE s.q FROM q_usage
REVOKE CONNECT ON DATABASE rights FROM PUBLIC
GRANT SELECT ON s.missing TO plain
GRANT SELECT ON s.t TO missing_r
GRANT USAGE ON SCHEMA missing TO plain
GRANT SELECT (missing) ON s.t TO plain
GRANT nonsense ON s.t TO plain
ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO plain
ALTER DEFAULT PRIVILEGES IN SCHEMA s GRANT SELECT ON TABLES TO plain
ALTER DEFAULT PRIVILEGES FOR ROLE owner GRANT SELECT ON TABLES TO plain
ALTER DEFAULT PRIVILEGES FOR ROLE owner IN SCHEMA s REVOKE SELECT ON TABLES FROM stranger
ALTER DEFAULT PRIVILEGES GRANT USAGE ON SCHEMAS TO plain
ALTER DEFAULT PRIVILEGES GRANT USAGE ON SEQUENCES TO plain
ALTER DEFAULT PRIVILEGES FOR ROLE high GRANT ALL ON TABLES TO PUBLIC
ALTER DEFAULT PRIVILEGES IN SCHEMA hidden GRANT SELECT ON TABLES TO plain

[rows] owned
REASSIGN OWNED BY owner TO g_all
REASSIGN OWNED BY CURRENT_USER TO postgres
DROP OWNED BY owner CASCADE
DROP OWNED BY stranger CASCADE
DROP OWNED BY plain

[rows] settings
SET statement_timeout = 5000
SET max_connections = 5
SET search_path = hidden, s; SELECT n FROM t WHERE id = 1
SELECT current_schemas(false)
SHOW statement_timeout

[tags outside] maintenance
VACUUM s.t
VACUUM s.shared
VACUUM hidden.t
ANALYZE s.t
ANALYZE s.shared
ANALYZE open.own
REINDEX TABLE s.t
REINDEX INDEX s.t_n
REINDEX TABLE open.own
CHECKPOINT

[rows] other sessions
SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = 'victim'
SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = 'high_session'
SELECT usename, state IS NULL, query FROM pg_stat_activity WHERE usename = 'victim'
SELECT usename, query = '<insufficient privilege>', application_name IS NULL, backend_start IS NULL, pid IS NULL, datname FROM pg_stat_activity WHERE usename = 'victim'
SELECT count(*) FROM pg_authid WHERE rolname NOT LIKE 'pg\_%'
SELECT count(*) FROM pg_shadow
SELECT rolname, rolpassword FROM pg_roles WHERE rolname = 'settled'
SELECT rolpassword IS NULL FROM pg_authid WHERE rolname = 'settled'
SELECT rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolconnlimit FROM pg_roles WHERE rolname NOT LIKE 'pg\_%' ORDER BY 1

[rows] what is said of oneself
SELECT o, p, has_table_privilege(o, p) FROM (VALUES ('s.t'), ('s.w'), ('s.shared'), ('hidden.t'), ('open.own'), ('open.cannot'), ('s.q')) AS a(o), (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE'), ('TRUNCATE'), ('REFERENCES'), ('TRIGGER'), ('SELECT WITH GRANT OPTION'), ('INSERT, DELETE')) AS b(p) ORDER BY 1, 2
SELECT c, p, has_column_privilege('s.t', c, p) FROM (VALUES ('id'), ('n'), ('v')) AS a(c), (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('REFERENCES'), ('SELECT WITH GRANT OPTION')) AS b(p) ORDER BY 1, 2
SELECT p, has_any_column_privilege('s.t', p) FROM (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('REFERENCES')) AS b(p) ORDER BY 1
SELECT o, p, has_schema_privilege(o, p) FROM (VALUES ('s'), ('open'), ('hidden'), ('bare'), ('public'), ('pg_catalog')) AS a(o), (VALUES ('USAGE'), ('CREATE'), ('USAGE WITH GRANT OPTION')) AS b(p) ORDER BY 1, 2
SELECT o, p, has_sequence_privilege(o, p) FROM (VALUES ('s.q'), ('hidden.q'), ('s.numbered_id_seq')) AS a(o), (VALUES ('USAGE'), ('SELECT'), ('UPDATE'), ('USAGE WITH GRANT OPTION')) AS b(p) ORDER BY 1, 2
SELECT o, p, has_database_privilege(o, p) FROM (VALUES ('rights'), ('postgres')) AS a(o), (VALUES ('CONNECT'), ('CREATE'), ('TEMPORARY'), ('TEMP')) AS b(p) ORDER BY 1, 2
SELECT o, p, pg_has_role(o, p) FROM (VALUES ('g_all'), ('owner'), ('super'), ('victim'), ('g_middle'), ('pg_monitor'), ('plain')) AS a(o), (VALUES ('MEMBER'), ('USAGE'), ('MEMBER WITH ADMIN OPTION')) AS b(p) ORDER BY 1, 2
SELECT has_table_privilege('s.missing', 'SELECT')
SELECT has_table_privilege('s.t', 'NONSENSE')
SELECT has_table_privilege('missing_r', 's.t', 'SELECT')
SELECT has_table_privilege(0::oid, 'SELECT')
SELECT has_schema_privilege('missing', 'USAGE')
SELECT has_column_privilege('s.t', 'missing', 'SELECT')
SELECT has_sequence_privilege('s.t', 'USAGE')
SELECT has_database_privilege('missing_d', 'CONNECT')
SELECT pg_has_role('missing_r', 'MEMBER')
SELECT has_table_privilege('stranger', 's.t', 'SELECT'), has_table_privilege('owner', 's.t', 'SELECT')
SELECT has_table_privilege('public', 's.shared', 'SELECT'), has_table_privilege('public', 's.t', 'SELECT')
SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2
SELECT table_schema, table_name, column_name FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2, 3
SELECT table_schema, table_name FROM information_schema.views WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2
SELECT view_definition IS NULL FROM information_schema.views WHERE table_schema = 's' AND table_name = 'w'
SELECT schema_name, schema_owner FROM information_schema.schemata WHERE schema_name NOT LIKE 'pg\_%' ORDER BY 1
SELECT sequence_schema, sequence_name FROM information_schema.sequences ORDER BY 1, 2
SELECT grantor, grantee, table_schema, table_name, privilege_type, is_grantable FROM information_schema.table_privileges WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2, 3, 4, 5
SELECT grantor, grantee, table_schema, table_name, privilege_type, is_grantable FROM information_schema.role_table_grants WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2, 3, 4, 5
SELECT grantor, grantee, table_name, column_name, privilege_type, is_grantable FROM information_schema.column_privileges WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2, 3, 4, 5
SELECT grantor, grantee, table_name, column_name, privilege_type, is_grantable FROM information_schema.role_column_grants WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2, 3, 4, 5
SELECT grantor, grantee, object_schema, object_name, object_type, privilege_type, is_grantable FROM information_schema.usage_privileges WHERE object_type = 'SEQUENCE' ORDER BY 1, 2, 3, 4
SELECT grantee, role_name, is_grantable FROM information_schema.applicable_roles ORDER BY 1, 2
SELECT role_name FROM information_schema.enabled_roles WHERE role_name NOT LIKE 'pg\_%' ORDER BY 1
SELECT grantee, role_name, is_grantable FROM information_schema.administrable_role_authorizations ORDER BY 1, 2
SELECT constraint_schema, table_name, constraint_type FROM information_schema.table_constraints WHERE table_schema = 's' AND constraint_type <> 'CHECK' ORDER BY 1, 2, 3
SELECT table_name, column_name FROM information_schema.key_column_usage WHERE table_schema = 's' ORDER BY 1, 2
SELECT schemaname, sequencename, last_value IS NULL FROM pg_sequences ORDER BY 1, 2

[rows] what is said of all
SELECT relname, relacl FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE nspname IN ('s', 'open', 'hidden') ORDER BY 1
SELECT nspname, nspacl, pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname IN ('s', 'open', 'hidden', 'bare', 'public') ORDER BY 1
SELECT datname, datacl, pg_get_userbyid(datdba) FROM pg_database WHERE datname IN ('rights', 'postgres') ORDER BY 1
SELECT relname, attname, attacl FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid WHERE attacl IS NOT NULL AND relname = 't' ORDER BY 1, 2
SELECT relname, pg_get_userbyid(relowner) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE nspname IN ('s', 'open', 'hidden') ORDER BY 1
SELECT relname, pg_get_userbyid((x).grantor), pg_get_userbyid((x).grantee), (x).privilege_type, (x).is_grantable FROM (SELECT relname, aclexplode(relacl) AS x FROM pg_class WHERE relname IN ('t', 'q', 'shared')) AS s ORDER BY 1, 2, 3, 4
SELECT pg_get_userbyid(grantee), privilege_type FROM aclexplode(acldefault('r', 10::oid)) ORDER BY 1, 2
SELECT relname, pg_get_userbyid(grantor), CASE grantee WHEN 0 THEN 'public' ELSE pg_get_userbyid(grantee) END, privilege_type, is_grantable FROM pg_class c, aclexplode(c.relacl) WHERE c.relname IN ('t', 'q', 'shared') ORDER BY 1, 2, 3, 4
SELECT m.rolname, r.rolname, g.rolname, admin_option FROM pg_auth_members a JOIN pg_roles m ON m.oid = member JOIN pg_roles r ON r.oid = roleid JOIN pg_roles g ON g.oid = grantor WHERE m.rolname NOT LIKE 'pg\_%' ORDER BY 1, 2
SELECT pg_get_userbyid(defaclrole), nspname, defaclobjtype, defaclacl FROM pg_default_acl LEFT JOIN pg_namespace n ON n.oid = defaclnamespace ORDER BY 1, 2, 3
SELECT acldefault('r', 10::oid), acldefault('s', 10::oid), acldefault('n', 10::oid), acldefault('d', 10::oid), acldefault('c', 10::oid)
SELECT schemaname, tablename, tableowner FROM pg_tables WHERE schemaname IN ('s', 'open', 'hidden') ORDER BY 1, 2
SELECT schemaname, viewname, viewowner FROM pg_views WHERE schemaname IN ('s', 'open', 'hidden') ORDER BY 1, 2

[rows tiers] subqueries in VALUES
VALUES ((SELECT count(*) FROM s.t))

[rows] changes through a view, in WITH, by MERGE
INSERT INTO s.w VALUES (3, 30)
INSERT INTO s.w (id) VALUES (3) RETURNING id
UPDATE s.w SET n = 31
UPDATE s.w SET n = 31 WHERE id = 1
UPDATE s.w SET n = 31 WHERE id = 1 RETURNING n
UPDATE s.w SET n = n + 1
DELETE FROM s.w
DELETE FROM s.w WHERE id = 1
INSERT INTO s.outer_w VALUES (3, 30)
UPDATE s.outer_w SET n = 31 WHERE id = 1
DELETE FROM s.outer_w
DELETE FROM open.reads
DELETE FROM open.removes
DELETE FROM open.removes WHERE id = 1
INSERT INTO open.removes VALUES (3)
UPDATE open.removes SET id = 5 WHERE id = 1
UPDATE open.sets SET n = 31
UPDATE open.sets SET n = 31 WHERE id = 1 RETURNING id
UPDATE open.sets SET id = n
DELETE FROM open.sets
INSERT INTO open.sets VALUES (3, 3)
INSERT INTO open.sets VALUES (1, 3) ON CONFLICT (id) DO UPDATE SET n = 4
WITH a AS (DELETE FROM s.t RETURNING id) SELECT count(*) FROM a
WITH a AS (DELETE FROM s.t) SELECT 1
WITH a AS (UPDATE s.t SET n = 7 WHERE id = 1 RETURNING n) SELECT * FROM a
WITH a AS (INSERT INTO s.t (id) VALUES (3) RETURNING id) SELECT * FROM a
WITH a AS (INSERT INTO s.t (id) VALUES (3)) SELECT 1
WITH a AS (SELECT 1 AS id) DELETE FROM s.t USING a WHERE t.id = a.id
MERGE INTO s.t USING (VALUES (1), (3)) AS x(id) ON t.id = x.id WHEN MATCHED THEN UPDATE SET n = 8 WHEN NOT MATCHED THEN INSERT (id) VALUES (x.id)
MERGE INTO s.t USING (VALUES (1)) AS x(id) ON t.id = x.id WHEN MATCHED THEN DELETE
MERGE INTO s.t USING (VALUES (1)) AS x(id) ON t.id = x.id WHEN MATCHED THEN DO NOTHING
MERGE INTO s.t USING s.shared x ON t.id = x.id WHEN NOT MATCHED THEN INSERT (id) VALUES (9)

[locks of tables]
LOCK TABLE s.t
LOCK TABLE s.t IN ACCESS SHARE MODE
LOCK TABLE s.t IN ROW EXCLUSIVE MODE
LOCK TABLE s.shared
ALTER SEQUENCE s.q RENAME TO other_q
ALTER SEQUENCE s.q SET SCHEMA open

SELECT last_value > 0 FROM s.q
SELECT is_called FROM s.q
SELECT pg_sequence_last_value('s.q'::regclass) > 0

[not served] -- and so an error for every role; the test fails when one of them is served
CREATE TABLE open.fresh (LIKE s.w)
DROP SCHEMA public
ALTER DATABASE rights RENAME TO other_d
SET log_min_duration_statement = 5
ALTER SYSTEM SET statement_timeout = 0

[temporary relations]
CREATE TEMP TABLE temporary_t (id serial PRIMARY KEY, n int) ON COMMIT DROP
CREATE TEMP TABLE temporary_t AS SELECT 1 AS one
SELECT 1 AS one INTO TEMP temporary_t
CREATE TABLE pg_temp.temporary_t (id int)
CREATE TEMP TABLE s.temporary_t (id int)
CREATE TEMP VIEW temporary_v AS SELECT 1 AS one
CREATE TEMP VIEW temporary_v AS SELECT * FROM s.t
CREATE TEMP SEQUENCE temporary_q
CREATE TEMP TABLE temporary_t (LIKE s.t)

[tags] rules
CREATE RULE r AS ON INSERT TO s.t DO INSTEAD NOTHING
CREATE RULE r AS ON UPDATE TO s.t WHERE new.n > 1 DO ALSO DELETE FROM s.shared WHERE id = old.id
CREATE OR REPLACE RULE r AS ON DELETE TO s.t DO NOTHING
DROP RULE nothing ON s.t
DROP RULE IF EXISTS nothing ON s.t
ALTER RULE nothing ON s.t RENAME TO other
ALTER TABLE s.t DISABLE RULE nothing

[tags] blocks, whose statements are the role's
DO $$ BEGIN PERFORM n FROM s.t; END $$
DO $$ BEGIN PERFORM v FROM s.t WHERE id = 1; END $$
DO $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM s.t LOOP NULL; END LOOP; END $$
DO $$ DECLARE x s.t.n%TYPE; BEGIN SELECT n INTO x FROM s.t WHERE id = 1; END $$
DO $$ BEGIN INSERT INTO s.t VALUES (77, 7, 'x'); END $$
DO $$ BEGIN UPDATE s.t SET n = 3 WHERE id = 1; END $$
DO $$ BEGIN DELETE FROM s.t WHERE id = 1; END $$
DO $$ BEGIN EXECUTE 'SELECT v FROM s.t'; END $$
DO $$ BEGIN EXECUTE 'DROP TABLE s.t'; END $$
DO $$ BEGIN CREATE TABLE open.of_block (a int); END $$
DO $$ BEGIN PERFORM n FROM s.t; EXCEPTION WHEN insufficient_privilege THEN PERFORM n FROM s.shared; END $$
DO $$ BEGIN PERFORM nextval('s.q'); END $$
