-- Who and what the matrix is about, made alike in both systems. Each line is a statement of postgres,
-- or of the role before the colon.

CREATE ROLE stranger LOGIN
CREATE ROLE super LOGIN SUPERUSER
CREATE ROLE owner LOGIN
CREATE ROLE schema_owner LOGIN
CREATE ROLE database_owner LOGIN
CREATE ROLE creator LOGIN CREATEROLE
CREATE ROLE dbcreator LOGIN CREATEDB
CREATE ROLE victim LOGIN
CREATE ROLE plain
CREATE ROLE settled LOGIN PASSWORD 'secret'
CREATE ROLE high SUPERUSER

-- One role per privilege, and those that statements need together.
CREATE ROLE t_select LOGIN
CREATE ROLE t_insert LOGIN
CREATE ROLE t_update LOGIN
CREATE ROLE t_delete LOGIN
CREATE ROLE t_truncate LOGIN
CREATE ROLE t_references LOGIN
CREATE ROLE t_trigger LOGIN
CREATE ROLE t_all LOGIN
CREATE ROLE t_select_insert LOGIN
CREATE ROLE t_insert_update LOGIN
CREATE ROLE t_select_insert_update LOGIN
CREATE ROLE t_select_update LOGIN
CREATE ROLE t_select_delete LOGIN
CREATE ROLE c_select LOGIN
CREATE ROLE c_insert LOGIN
CREATE ROLE c_update LOGIN
CREATE ROLE c_select_update LOGIN
CREATE ROLE c_select_insert LOGIN
CREATE ROLE c_references LOGIN
CREATE ROLE c_every LOGIN
CREATE ROLE q_usage LOGIN
CREATE ROLE q_select LOGIN
CREATE ROLE q_update LOGIN
CREATE ROLE q_all LOGIN
CREATE ROLE s_usage LOGIN
CREATE ROLE s_create LOGIN
CREATE ROLE s_all LOGIN
CREATE ROLE d_create LOGIN
CREATE ROLE d_temporary LOGIN
CREATE ROLE o_select LOGIN
CREATE ROLE o_all LOGIN
CREATE ROLE o_column LOGIN
CREATE ROLE o_sequence LOGIN
CREATE ROLE o_schema LOGIN

-- Members: of a group with every privilege, of the owner, of a superuser, of PostgreSQL's own roles.
CREATE ROLE g_all
CREATE ROLE g_middle
CREATE ROLE g_member LOGIN
CREATE ROLE g_nested LOGIN
CREATE ROLE g_noinherit LOGIN NOINHERIT
CREATE ROLE g_set LOGIN NOINHERIT
CREATE ROLE g_admin LOGIN
CREATE ROLE m_owner LOGIN
CREATE ROLE m_owner_noinherit LOGIN NOINHERIT
CREATE ROLE m_owner_set LOGIN NOINHERIT
CREATE ROLE m_super LOGIN
CREATE ROLE m_super_set LOGIN
CREATE ROLE m_read LOGIN
CREATE ROLE m_write LOGIN
CREATE ROLE m_monitor LOGIN
CREATE ROLE m_signal LOGIN
CREATE ROLE m_victim LOGIN
CREATE ROLE m_creator LOGIN
GRANT g_all TO g_member
GRANT g_all TO g_middle
GRANT g_middle TO g_nested
GRANT g_all TO g_noinherit
GRANT g_all TO g_set
GRANT g_all TO g_admin WITH ADMIN OPTION
GRANT owner TO m_owner, m_owner_noinherit, m_owner_set
GRANT super TO m_super, m_super_set
GRANT victim TO m_victim
GRANT creator TO m_creator
GRANT pg_read_all_data TO m_read
GRANT pg_write_all_data TO m_write
GRANT pg_monitor TO m_monitor
GRANT pg_signal_backend TO m_signal

ALTER DATABASE rights OWNER TO database_owner
GRANT CREATE ON DATABASE rights TO d_create
GRANT TEMPORARY ON DATABASE rights TO d_temporary
REVOKE TEMPORARY ON DATABASE rights FROM PUBLIC

-- Schemas: of others than its tables' owner; where all may create; where few may look.
CREATE SCHEMA s AUTHORIZATION schema_owner
GRANT USAGE ON SCHEMA s TO PUBLIC
GRANT CREATE ON SCHEMA s TO owner
GRANT ALL ON SCHEMA s TO o_schema WITH GRANT OPTION
CREATE SCHEMA open
GRANT USAGE, CREATE ON SCHEMA open TO PUBLIC
CREATE SCHEMA hidden
GRANT USAGE ON SCHEMA hidden TO s_usage
GRANT CREATE ON SCHEMA hidden TO s_create
GRANT ALL ON SCHEMA hidden TO s_all
CREATE TABLE hidden.t (id int PRIMARY KEY, n int)
INSERT INTO hidden.t VALUES (1, 1)
CREATE VIEW hidden.w AS SELECT n FROM hidden.t
CREATE SEQUENCE hidden.q
GRANT ALL ON hidden.t, hidden.w, hidden.q TO PUBLIC
CREATE SCHEMA bare AUTHORIZATION owner

-- The objects.
owner: CREATE TABLE s.t (id int PRIMARY KEY, n int, v text)
owner: INSERT INTO s.t VALUES (1, 10, 'one'), (2, 20, 'two')
owner: CREATE INDEX t_n ON s.t (n)
owner: CREATE TABLE s.child (id int PRIMARY KEY, t_id int REFERENCES s.t)
owner: CREATE TABLE s.parent (id int PRIMARY KEY)
owner: CREATE TABLE s.kid (id int PRIMARY KEY, parent_id int REFERENCES s.parent ON DELETE CASCADE)
owner: INSERT INTO s.parent VALUES (1)
owner: INSERT INTO s.kid VALUES (1, 1)
owner: CREATE TABLE s.numbered (id serial PRIMARY KEY, v text)
owner: CREATE TABLE s.shared (id int PRIMARY KEY, n int)
owner: INSERT INTO s.shared VALUES (1, 1)
owner: CREATE SEQUENCE s.q
owner: CREATE VIEW s.w AS SELECT id, n FROM s.t
owner: CREATE VIEW s.outer_w AS SELECT id, n FROM s.w
owner: GRANT SELECT ON s.w, s.outer_w TO t_select, t_all, g_all, schema_owner
owner: GRANT ALL ON s.shared TO PUBLIC
owner: GRANT SELECT ON s.t TO t_select, t_select_insert, t_select_update, t_select_delete, t_select_insert_update
owner: GRANT INSERT ON s.t TO t_insert, t_select_insert, t_insert_update, t_select_insert_update
owner: GRANT UPDATE ON s.t TO t_update, t_select_update, t_insert_update, t_select_insert_update
owner: GRANT DELETE ON s.t TO t_delete, t_select_delete
owner: GRANT TRUNCATE ON s.t TO t_truncate
owner: GRANT REFERENCES ON s.t TO t_references
owner: GRANT TRIGGER ON s.t TO t_trigger
owner: GRANT ALL ON s.t TO t_all
owner: GRANT ALL ON s.t TO g_all
owner: GRANT INSERT ON s.child, s.numbered TO t_insert
owner: GRANT INSERT, SELECT ON s.numbered TO t_select_insert
owner: GRANT USAGE ON SEQUENCE s.numbered_id_seq TO t_select_insert
owner: GRANT DELETE ON s.parent TO t_delete
owner: GRANT SELECT, DELETE ON s.parent TO t_select_delete
owner: GRANT SELECT (n) ON s.t TO c_select
owner: GRANT INSERT (id) ON s.t TO c_insert
owner: GRANT UPDATE (n) ON s.t TO c_update
owner: GRANT SELECT (id), UPDATE (n) ON s.t TO c_select_update
owner: GRANT SELECT (id), INSERT (id, n) ON s.t TO c_select_insert
owner: GRANT REFERENCES (id) ON s.t TO c_references
owner: GRANT SELECT (id, n, v), INSERT (id, n, v), UPDATE (id, n, v) ON s.t TO c_every
owner: GRANT USAGE ON SEQUENCE s.q TO q_usage
owner: GRANT SELECT ON SEQUENCE s.q TO q_select
owner: GRANT UPDATE ON SEQUENCE s.q TO q_update
owner: GRANT ALL ON SEQUENCE s.q TO q_all, g_all
owner: GRANT SELECT ON s.t TO o_select WITH GRANT OPTION
owner: GRANT ALL ON s.t TO o_all WITH GRANT OPTION
owner: GRANT SELECT (n) ON s.t TO o_column WITH GRANT OPTION
owner: GRANT USAGE ON SEQUENCE s.q TO o_sequence WITH GRANT OPTION
o_select: GRANT SELECT ON s.t TO plain

-- Views whose owners may and may not read what is below.
t_select: CREATE VIEW open.reads AS SELECT id, v FROM s.t
t_select: GRANT SELECT ON open.reads TO PUBLIC
t_delete: CREATE VIEW open.removes AS SELECT id FROM s.t
t_delete: GRANT ALL ON open.removes TO PUBLIC
t_select_update: CREATE VIEW open.sets AS SELECT id, n FROM s.t WHERE n > 0
t_select_update: GRANT ALL ON open.sets TO PUBLIC
schema_owner: CREATE VIEW open.cannot AS SELECT id FROM s.t
schema_owner: GRANT SELECT ON open.cannot TO PUBLIC
c_select: CREATE VIEW open.column AS SELECT n FROM s.t
c_select: GRANT SELECT ON open.column TO PUBLIC
stranger: CREATE TABLE open.own (id int PRIMARY KEY, n int)
stranger: INSERT INTO open.own VALUES (1, 1)
stranger: CREATE VIEW open.own_w AS SELECT id FROM open.own
stranger: GRANT SELECT ON open.own, open.own_w TO PUBLIC
ALTER DEFAULT PRIVILEGES FOR ROLE owner IN SCHEMA s GRANT SELECT ON TABLES TO stranger
