-- Each story runs in both systems; a line is a role and its statement. Roles stay from one story to the next.

[roles]
postgres: CREATE ROLE ann LOGIN
postgres: CREATE ROLE bob LOGIN
postgres: CREATE ROLE own LOGIN
postgres: CREATE ROLE grp
postgres: CREATE ROLE free LOGIN BYPASSRLS
postgres: GRANT grp TO bob
postgres: GRANT CREATE ON SCHEMA public TO own, ann
ann: CREATE ROLE x BYPASSRLS
postgres: SELECT rolname, rolbypassrls FROM pg_roles WHERE rolname IN ('ann', 'free', 'postgres') ORDER BY 1

[no policy is no row]
own: CREATE TABLE t (id int PRIMARY KEY, who text, note text)
own: INSERT INTO t VALUES (1, 'ann', 'a1'), (2, 'bob', 'b1'), (3, 'ann', 'a2'), (4, 'own', 'o1')
own: GRANT ALL ON t TO ann, bob, free
ann: SELECT count(*) FROM t
own: ALTER TABLE t ENABLE ROW LEVEL SECURITY
ann: SELECT * FROM t
ann: SELECT count(*) FROM t
ann: SELECT max(id), min(id) FROM t
ann: SELECT * FROM t WHERE id = 1
ann: UPDATE t SET note = 'x'
ann: DELETE FROM t
ann: INSERT INTO t VALUES (10, 'ann', 'n')
ann: INSERT INTO t SELECT 10, 'ann', 'n'
ann: COPY t TO STDOUT
ann: COPY (SELECT * FROM t) TO STDOUT
ann: COPY t FROM STDIN
ann: SELECT * FROM t FOR UPDATE
ann: MERGE INTO t USING (VALUES (1)) v(i) ON t.id = v.i WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (99, 'ann', '')
own: SELECT count(*) FROM t
free: SELECT count(*) FROM t
postgres: SELECT count(*) FROM t
own: ALTER TABLE t FORCE ROW LEVEL SECURITY
own: SELECT count(*) FROM t
own: ALTER TABLE t NO FORCE ROW LEVEL SECURITY
own: SELECT count(*) FROM t

[one permissive policy for all]
own: CREATE POLICY mine ON t USING (who = current_user)
ann: SELECT * FROM t ORDER BY id
ann: SELECT * FROM t WHERE id = 2
ann: SELECT * FROM t WHERE id IN (1, 2, 3)
ann: SELECT id FROM t WHERE id BETWEEN 1 AND 3 ORDER BY id DESC LIMIT 1
ann: SELECT count(*), max(id), min(note) FROM t
ann: SELECT a.id, b.id FROM t a JOIN t b ON a.who = b.who ORDER BY 1, 2
ann: SELECT * FROM (VALUES (1), (2), (3)) v(i) LEFT JOIN t ON t.id = v.i ORDER BY i
ann: SELECT i, (SELECT note FROM t WHERE id = i) FROM generate_series(1, 4) i ORDER BY i
ann: SELECT t FROM t ORDER BY id
ann: SELECT EXISTS (SELECT FROM t WHERE id = 2), 2 IN (SELECT id FROM t)
ann: WITH w AS (SELECT * FROM t) SELECT count(*) FROM w
ann: SELECT id FROM t UNION SELECT 100 ORDER BY 1
ann: SELECT tableoid = 't'::regclass, id FROM t ORDER BY id
ann: SELECT * FROM t ORDER BY id OFFSET 1
ann: SELECT note FROM t ORDER BY id DESC LIMIT 1
ann: SELECT id FROM t WHERE ctid IN (SELECT ctid FROM t) ORDER BY id
ann: INSERT INTO t VALUES (10, 'ann', 'n')
ann: INSERT INTO t VALUES (11, 'bob', 'n')
ann: INSERT INTO t VALUES (12, 'ann', 'n'), (13, 'bob', 'n')
ann: INSERT INTO t VALUES (12, NULL, 'n')
ann: INSERT INTO t SELECT 20, 'ann', 'n' RETURNING *
ann: INSERT INTO t SELECT 21, 'bob', 'n'
ann: UPDATE t SET note = 'seen' WHERE id = 2
ann: UPDATE t SET note = 'seen' WHERE id = 1
ann: UPDATE t SET note = note || '!' RETURNING id, note
ann: UPDATE t SET who = 'bob' WHERE id = 1
ann: UPDATE t SET note = 'all'
ann: DELETE FROM t WHERE id = 2
ann: DELETE FROM t WHERE id = 10
ann: DELETE FROM t USING (VALUES (20), (2)) v(i) WHERE t.id = v.i RETURNING t.id
ann: COPY t TO STDOUT
ann: COPY t (note, id) TO STDOUT WITH (FORMAT csv, HEADER)
ann: COPY t FROM STDIN
own: COPY t FROM STDIN
own: DELETE FROM t WHERE id = 90
own: SELECT * FROM t ORDER BY id
bob: SELECT * FROM t ORDER BY id
free: SELECT * FROM t ORDER BY id
ann: TRUNCATE t
ann: SELECT count(*) FROM t
own: INSERT INTO t VALUES (1, 'ann', 'a1'), (2, 'bob', 'b1'), (3, 'ann', 'a2'), (4, 'own', 'o1')

[long statements, and functions where the role may not look]
ann: INSERT INTO t VALUES (70, 'bob', 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy')
ann: INSERT INTO t VALUES (70, 'ann', 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy')
ann: SELECT id, length(note) FROM t WHERE id = 70
ann: DELETE FROM t WHERE id = 70
postgres: CREATE SCHEMA auth AUTHORIZATION own
own: CREATE FUNCTION auth.uid() RETURNS text LANGUAGE sql STABLE AS 'SELECT current_user::text'
own: CREATE POLICY uid ON t AS RESTRICTIVE USING (who = auth.uid())
ann: SELECT count(*) FROM t
ann: SELECT auth.uid()
ann: INSERT INTO t VALUES (71, 'ann', '')
ann: DELETE FROM t WHERE id = 71
own: REVOKE EXECUTE ON FUNCTION auth.uid() FROM public
ann: SELECT count(*) FROM t
ann: UPDATE t SET note = note
own: SELECT count(*) FROM t
own: DROP FUNCTION auth.uid() CASCADE
own: DROP SCHEMA auth

[keys that are hidden]
ann: INSERT INTO t VALUES (2, 'ann', 'taken')
ann: INSERT INTO t VALUES (1, 'ann', 'taken')
ann: UPDATE t SET id = 2 WHERE id = 1
own: INSERT INTO t VALUES (2, 'ann', 'taken')
free: INSERT INTO t VALUES (2, 'ann', 'taken')
ann: INSERT INTO t VALUES (2, 'ann', 'x') ON CONFLICT DO NOTHING
ann: INSERT INTO t VALUES (1, 'ann', 'x') ON CONFLICT DO NOTHING
ann: INSERT INTO t VALUES (2, 'ann', 'x') ON CONFLICT (id) DO NOTHING
ann: INSERT INTO t VALUES (2, 'ann', 'x') ON CONFLICT (id) DO UPDATE SET note = 'up'
ann: INSERT INTO t VALUES (1, 'ann', 'x') ON CONFLICT (id) DO UPDATE SET note = 'up'
ann: INSERT INTO t VALUES (1, 'bob', 'x') ON CONFLICT (id) DO UPDATE SET note = 'up'
ann: INSERT INTO t VALUES (1, 'ann', 'x') ON CONFLICT (id) DO UPDATE SET who = 'bob'
ann: INSERT INTO t VALUES (1, 'ann', 'x') ON CONFLICT (id) DO UPDATE SET who = 'bob' WHERE t.note = 'nothing'
ann: INSERT INTO t VALUES (1, 'ann', 'x') ON CONFLICT (id) DO UPDATE SET note = excluded.note RETURNING *
ann: INSERT INTO t VALUES (50, 'ann', 'x') ON CONFLICT ON CONSTRAINT t_pkey DO UPDATE SET note = 'up' RETURNING *
ann: DELETE FROM t WHERE id = 50
own: SELECT * FROM t ORDER BY id

[merge]
ann: MERGE INTO t USING (VALUES (1), (2), (3)) v(i) ON t.id = v.i WHEN MATCHED THEN UPDATE SET note = 'm'
ann: MERGE INTO t USING (VALUES (1)) v(i) ON t.id = v.i WHEN MATCHED THEN UPDATE SET who = 'bob'
ann: MERGE INTO t USING (VALUES (2)) v(i) ON t.id = v.i WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN DO NOTHING
ann: MERGE INTO t USING (VALUES (60)) v(i) ON t.id = v.i WHEN NOT MATCHED THEN INSERT VALUES (i, 'bob', 'm')
ann: MERGE INTO t USING (VALUES (60)) v(i) ON t.id = v.i WHEN NOT MATCHED THEN INSERT VALUES (i, 'ann', 'm')
ann: MERGE INTO t USING (VALUES (60)) v(i) ON t.id = v.i WHEN MATCHED THEN DELETE
own: SELECT * FROM t ORDER BY id

[policies for each command]
own: DROP POLICY mine ON t
own: CREATE POLICY s ON t FOR SELECT USING (who IN (current_user, 'own'))
own: CREATE POLICY i ON t FOR INSERT WITH CHECK (id < 1000)
own: CREATE POLICY u ON t FOR UPDATE USING (who = current_user) WITH CHECK (note <> 'bad')
own: CREATE POLICY d ON t FOR DELETE USING (note LIKE 'd%')
ann: SELECT * FROM t ORDER BY id
ann: INSERT INTO t VALUES (100, 'zoe', 'hidden')
ann: INSERT INTO t VALUES (101, 'zoe', 'hidden') RETURNING id
ann: INSERT INTO t VALUES (102, 'ann', 'dead') RETURNING id
ann: INSERT INTO t VALUES (1002, 'ann', 'x')
ann: UPDATE t SET note = 'bad'
ann: UPDATE t SET note = 'good' WHERE id = 4
ann: UPDATE t SET note = 'good' WHERE id = 100
ann: UPDATE t SET note = 'd4' WHERE id = 1
ann: UPDATE t SET who = 'zoe' WHERE id = 1
ann: UPDATE t SET who = 'zoe'
ann: DELETE FROM t
ann: DELETE FROM t WHERE true RETURNING *
ann: SELECT * FROM t FOR UPDATE
ann: SELECT id FROM t FOR SHARE
ann: SELECT id FROM t FOR KEY SHARE
ann: MERGE INTO t USING (VALUES (4)) v(i) ON t.id = v.i WHEN MATCHED THEN UPDATE SET note = 'm'
ann: MERGE INTO t USING (VALUES (4)) v(i) ON t.id = v.i WHEN MATCHED THEN DELETE
ann: MERGE INTO t USING (VALUES (3)) v(i) ON t.id = v.i WHEN MATCHED THEN UPDATE SET note = 'bad'
ann: MERGE INTO t USING (VALUES (3)) v(i) ON t.id = v.i WHEN MATCHED AND note = 'zzz' THEN DELETE WHEN MATCHED THEN DO NOTHING
ann: INSERT INTO t VALUES (4, 'ann', 'x') ON CONFLICT (id) DO UPDATE SET note = 'up'
ann: INSERT INTO t VALUES (2, 'ann', 'x') ON CONFLICT (id) DO UPDATE SET note = 'up'
ann: INSERT INTO t VALUES (2, 'zoe', 'x') ON CONFLICT (id) DO UPDATE SET note = 'up'
ann: INSERT INTO t VALUES (3, 'ann', 'x') ON CONFLICT (id) DO UPDATE SET note = 'bad'
ann: INSERT INTO t VALUES (3, 'ann', 'x') ON CONFLICT (id) DO UPDATE SET note = 'up' RETURNING *
own: SELECT * FROM t ORDER BY id

[restrictive policies, with names]
own: CREATE POLICY b_first ON t AS RESTRICTIVE USING (id <> 3)
own: CREATE POLICY a_second ON t AS RESTRICTIVE FOR INSERT WITH CHECK (note <> 'no')
own: CREATE POLICY c_third ON t AS RESTRICTIVE FOR UPDATE USING (note <> 'locked') WITH CHECK (length(note) < 10)
ann: SELECT * FROM t ORDER BY id
ann: INSERT INTO t VALUES (200, 'ann', 'no')
ann: INSERT INTO t VALUES (3, 'ann', 'x')
ann: INSERT INTO t VALUES (2000, 'ann', 'no')
ann: UPDATE t SET note = 'much too long a note' WHERE who = 'ann'
ann: UPDATE t SET id = 3 WHERE id = 1
ann: UPDATE t SET note = 'x' WHERE id = 3
ann: INSERT INTO t VALUES (4, 'ann', 'x') ON CONFLICT (id) DO UPDATE SET note = 'up'
ann: MERGE INTO t USING (VALUES (4)) v(i) ON t.id = v.i WHEN MATCHED THEN UPDATE SET note = 'm'
own: DROP POLICY s ON t
ann: SELECT * FROM t
ann: INSERT INTO t VALUES (201, 'ann', 'ok') RETURNING *
ann: INSERT INTO t VALUES (201, 'ann', 'ok')
own: SELECT * FROM t ORDER BY id
own: DROP TABLE t

[roles of policies]
own: CREATE TABLE r (a int)
own: INSERT INTO r VALUES (1), (2), (3), (4)
own: GRANT ALL ON r TO ann, bob, grp
own: ALTER TABLE r ENABLE ROW LEVEL SECURITY
own: CREATE POLICY p1 ON r TO ann USING (a = 1)
own: CREATE POLICY p2 ON r TO grp USING (a = 2)
own: CREATE POLICY p3 ON r TO PUBLIC, ann USING (a = 3)
own: CREATE POLICY p4 ON r TO CURRENT_USER USING (a = 4)
ann: SELECT * FROM r
bob: SELECT * FROM r
own: ALTER TABLE r FORCE ROW LEVEL SECURITY
own: SELECT * FROM r
postgres: SET ROLE ann
postgres: SELECT * FROM r
postgres: SET ROLE bob
postgres: SELECT * FROM r
postgres: RESET ROLE
postgres: SELECT * FROM r
own: ALTER POLICY p1 ON r TO bob
ann: SELECT * FROM r
bob: SELECT * FROM r
postgres: ALTER ROLE bob NOINHERIT
bob: SELECT * FROM r
postgres: ALTER ROLE bob INHERIT
postgres: REVOKE grp FROM bob
bob: SELECT * FROM r
postgres: GRANT grp TO bob
postgres: ALTER ROLE bob BYPASSRLS
bob: SELECT * FROM r
postgres: ALTER ROLE bob NOBYPASSRLS
bob: SELECT * FROM r
own: SELECT polname, polcmd, polpermissive, polroles::regrole[], pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid) FROM pg_policy ORDER BY 1
own: SELECT * FROM pg_policies ORDER BY policyname
own: DROP TABLE r
own: SELECT count(*) FROM pg_policy

[prepared statements follow roles, policies and settings]
own: CREATE TABLE p (id int PRIMARY KEY, who text)
own: INSERT INTO p VALUES (1, 'ann'), (2, 'bob')
own: GRANT ALL ON p TO ann, bob
postgres: PREPARE q AS SELECT * FROM p WHERE id = $1
postgres: PREPARE a AS SELECT count(*) FROM p
postgres: PREPARE w AS INSERT INTO p VALUES ($1, $2)
postgres: EXECUTE q(1)
postgres: EXECUTE q(2)
postgres: EXECUTE a
own: ALTER TABLE p ENABLE ROW LEVEL SECURITY
postgres: EXECUTE q(2)
postgres: SET ROLE ann
postgres: EXECUTE q(2)
postgres: EXECUTE a
postgres: EXECUTE w(3, 'ann')
own: CREATE POLICY x ON p USING (who = current_user)
postgres: EXECUTE q(1)
postgres: EXECUTE q(2)
postgres: EXECUTE a
postgres: EXECUTE w(3, 'ann')
postgres: EXECUTE w(4, 'bob')
postgres: SET ROLE bob
postgres: EXECUTE q(1)
postgres: EXECUTE q(2)
postgres: EXECUTE a
postgres: SET row_security = off
postgres: EXECUTE q(1)
postgres: EXECUTE a
postgres: EXECUTE w(5, 'bob')
postgres: RESET row_security
postgres: EXECUTE a
own: ALTER TABLE p DISABLE ROW LEVEL SECURITY
postgres: EXECUTE a
own: ALTER TABLE p ENABLE ROW LEVEL SECURITY
postgres: EXECUTE a
postgres: BEGIN
postgres: RESET ROLE
postgres: ALTER POLICY x ON p USING (true)
postgres: SET ROLE bob
postgres: EXECUTE a
postgres: ROLLBACK
postgres: SET ROLE bob
postgres: EXECUTE a
postgres: RESET ROLE
postgres: EXECUTE a

[the setting]
ann: SET row_security = off
ann: SELECT * FROM p
ann: SELECT 1 FROM p WHERE false
ann: UPDATE p SET who = 'x'
ann: INSERT INTO p VALUES (9, 'ann')
ann: DELETE FROM p
ann: COPY p TO STDOUT
ann: COPY p FROM STDIN
ann: SELECT row_security_active('p'), row_security_active('p'::regclass)
free: SET row_security = off
free: SELECT row_security_active('p')
own: SET row_security = off
own: SELECT count(*) FROM p
own: SELECT row_security_active('p')
own: ALTER TABLE p FORCE ROW LEVEL SECURITY
own: SELECT count(*) FROM p
own: SELECT row_security_active('p')
own: ALTER TABLE p NO FORCE ROW LEVEL SECURITY
ann: RESET row_security
ann: SELECT row_security_active('p'), row_security_active(99999), row_security_active('pg_class')
ann: SELECT row_security_active('none')
ann: SELECT * FROM p
own: SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE relname = 'p'
own: SELECT rowsecurity FROM pg_tables WHERE tablename = 'p'
own: RESET row_security

[views read by their owners' policies]
own: CREATE VIEW v AS SELECT * FROM p
own: GRANT ALL ON v TO ann, bob
ann: SELECT * FROM v ORDER BY id
ann: SELECT * FROM v WHERE id = 2
ann: INSERT INTO v VALUES (20, 'zoe')
ann: UPDATE v SET who = 'yes' WHERE id = 20
ann: DELETE FROM v WHERE id = 20
postgres: GRANT ALL ON p TO grp
postgres: CREATE VIEW bv AS SELECT * FROM p
postgres: ALTER VIEW bv OWNER TO bob
bob: GRANT ALL ON bv TO ann
ann: SELECT * FROM bv
ann: SELECT count(*) FROM bv WHERE id > 0
ann: INSERT INTO bv VALUES (30, 'ann')
ann: INSERT INTO bv VALUES (30, 'bob')
ann: UPDATE bv SET who = 'ann' WHERE id = 30
ann: UPDATE bv SET id = 31 WHERE id = 30
ann: UPDATE bv SET id = 32 WHERE id = 1
ann: DELETE FROM bv
bob: SELECT * FROM bv
own: CREATE VIEW vv AS SELECT count(*) AS n FROM v
own: GRANT SELECT ON vv TO ann
ann: SELECT * FROM vv
own: INSERT INTO p VALUES (2, 'bob')
ann: SET row_security = off
ann: SELECT * FROM v
ann: SELECT * FROM bv
ann: RESET row_security
own: CREATE MATERIALIZED VIEW mv AS SELECT * FROM p
own: GRANT SELECT ON mv TO ann
ann: SELECT * FROM mv ORDER BY id
postgres: ALTER TABLE mv OWNER TO bob
postgres: REFRESH MATERIALIZED VIEW mv
ann: SELECT * FROM mv ORDER BY id
bob: REFRESH MATERIALIZED VIEW mv
bob: SELECT * FROM mv ORDER BY id
postgres: DROP VIEW bv
postgres: DROP MATERIALIZED VIEW mv
own: DROP VIEW v CASCADE

[functions run as who they run as]
own: CREATE FUNCTION all_of() RETURNS SETOF p LANGUAGE sql SECURITY DEFINER AS 'SELECT * FROM p ORDER BY id'
own: CREATE FUNCTION seen_of() RETURNS SETOF p LANGUAGE sql AS 'SELECT * FROM p ORDER BY id'
own: CREATE FUNCTION many() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM p); END'
own: CREATE FUNCTION many_all() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RETURN (SELECT count(*) FROM p); END'
ann: SELECT * FROM all_of()
ann: SELECT * FROM seen_of()
ann: SELECT many(), many_all()
bob: SELECT many(), many_all()
own: SELECT many(), many_all()
ann: SELECT many(), many_all()
bob: SELECT * FROM seen_of()
postgres: SELECT many()
postgres: SET ROLE ann
postgres: SELECT many()
postgres: SET ROLE bob
postgres: SELECT many()
postgres: RESET ROLE
postgres: SELECT many()
own: DROP FUNCTION all_of(), seen_of(), many(), many_all()
own: DROP TABLE p

[policies that ask other tables]
own: CREATE TABLE member (who text, team int)
own: INSERT INTO member VALUES ('ann', 1), ('ann', 2), ('bob', 2)
own: CREATE TABLE doc (id int PRIMARY KEY, team int, body text)
own: INSERT INTO doc VALUES (1, 1, 'one'), (2, 2, 'two'), (3, 3, 'three')
own: GRANT ALL ON doc TO ann, bob
own: ALTER TABLE doc ENABLE ROW LEVEL SECURITY
own: CREATE POLICY team ON doc USING (team IN (SELECT m.team FROM member m WHERE m.who = current_user))
ann: SELECT * FROM doc
own: GRANT SELECT ON member TO ann, bob
ann: SELECT * FROM doc ORDER BY id
bob: SELECT * FROM doc ORDER BY id
ann: INSERT INTO doc VALUES (4, 1, 'four')
ann: INSERT INTO doc VALUES (5, 3, 'five')
ann: UPDATE doc SET team = 3 WHERE id = 4
ann: UPDATE doc SET body = body || '!' RETURNING *
ann: DELETE FROM doc WHERE id = 4
own: ALTER TABLE member ENABLE ROW LEVEL SECURITY
ann: SELECT * FROM doc
own: CREATE POLICY own_rows ON member USING (who = current_user AND team > 1)
ann: SELECT * FROM doc
own: ALTER POLICY team ON doc USING (EXISTS (SELECT FROM member WHERE member.team = doc.team))
ann: SELECT * FROM doc
own: SELECT policyname, qual FROM pg_policies ORDER BY 1
own: CREATE POLICY around ON member USING (EXISTS (SELECT FROM doc))
ann: SELECT * FROM doc
ann: SELECT * FROM member
ann: UPDATE doc SET body = ''
own: SELECT count(*) FROM doc
own: DROP POLICY around ON member
own: CREATE POLICY self ON doc AS RESTRICTIVE USING (id = (SELECT max(id) FROM doc))
ann: SELECT * FROM doc
own: DROP POLICY self ON doc
ann: SELECT * FROM doc
own: DROP TABLE doc
own: DROP TABLE member

[foreign keys see all rows]
own: CREATE TABLE parent (id int PRIMARY KEY, who text)
own: CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE, who text)
own: INSERT INTO parent VALUES (1, 'ann'), (2, 'bob')
own: INSERT INTO child VALUES (1, 1, 'ann'), (2, 1, 'bob'), (3, 2, 'bob')
own: GRANT ALL ON parent, child TO ann, bob
own: ALTER TABLE parent ENABLE ROW LEVEL SECURITY
own: ALTER TABLE child ENABLE ROW LEVEL SECURITY
own: CREATE POLICY p ON parent USING (who = current_user)
own: CREATE POLICY c ON child USING (who = current_user)
ann: INSERT INTO child VALUES (4, 2, 'ann')
ann: INSERT INTO child VALUES (5, 9, 'ann')
own: INSERT INTO child VALUES (5, 9, 'ann')
ann: SELECT * FROM child ORDER BY id
ann: DELETE FROM parent
own: SELECT * FROM child ORDER BY id
own: CREATE TABLE late (parent int REFERENCES parent)
own: GRANT ALL ON late TO ann, bob
own: INSERT INTO late VALUES (2)
bob: DELETE FROM parent
bob: UPDATE parent SET id = 3
own: DROP TABLE late, child, parent

[partitions]
own: CREATE TABLE part (id int, who text) PARTITION BY RANGE (id)
own: CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (10)
own: CREATE TABLE part2 PARTITION OF part FOR VALUES FROM (10) TO (20)
own: INSERT INTO part VALUES (1, 'ann'), (2, 'bob'), (11, 'ann'), (12, 'bob')
own: GRANT ALL ON part, part1, part2 TO ann, bob
own: ALTER TABLE part ENABLE ROW LEVEL SECURITY
own: CREATE POLICY w ON part USING (who = current_user)
ann: SELECT * FROM part ORDER BY id
ann: SELECT * FROM part1 ORDER BY id
ann: SELECT * FROM part WHERE id = 2
ann: UPDATE part SET id = 15 WHERE id = 1
ann: UPDATE part SET who = 'bob' WHERE id = 15
ann: UPDATE part SET id = 1, who = 'bob' WHERE id = 15
ann: INSERT INTO part VALUES (3, 'bob')
ann: INSERT INTO part VALUES (3, 'ann')
ann: DELETE FROM part
own: ALTER TABLE part1 ENABLE ROW LEVEL SECURITY
ann: SELECT * FROM part1
own: INSERT INTO part VALUES (4, 'ann')
ann: SELECT * FROM part
ann: SELECT * FROM ONLY part
own: DROP TABLE part
own: CREATE TABLE above (a int, who text)
own: CREATE TABLE below () INHERITS (above)
own: GRANT ALL ON above, below TO ann
own: INSERT INTO above VALUES (1, 'ann'), (2, 'bob')
own: INSERT INTO below VALUES (3, 'ann'), (4, 'bob')
own: ALTER TABLE above ENABLE ROW LEVEL SECURITY
own: CREATE POLICY w ON above USING (who = current_user)
ann: SELECT * FROM above ORDER BY a
ann: SELECT * FROM below ORDER BY a
own: ALTER TABLE below ENABLE ROW LEVEL SECURITY
ann: SELECT * FROM above ORDER BY a
ann: SELECT * FROM below ORDER BY a
ann: UPDATE above SET a = a + 10 RETURNING a
ann: DELETE FROM above
own: DROP TABLE above CASCADE

[triggers see what is written]
own: CREATE TABLE tr (id int, who text)
own: CREATE FUNCTION set_who() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.who := current_user; RETURN NEW; END'
own: CREATE TRIGGER b BEFORE INSERT ON tr FOR EACH ROW EXECUTE FUNCTION set_who()
own: ALTER TABLE tr ENABLE ROW LEVEL SECURITY
own: CREATE POLICY w ON tr USING (who = current_user)
own: GRANT ALL ON tr TO ann
ann: INSERT INTO tr VALUES (1, 'bob') RETURNING *
ann: UPDATE tr SET who = 'bob'
ann: UPDATE tr SET id = 2
own: CREATE TRIGGER u BEFORE UPDATE ON tr FOR EACH ROW EXECUTE FUNCTION set_who()
ann: UPDATE tr SET who = 'bob' RETURNING *
ann: MERGE INTO tr USING (VALUES (2), (5)) v(i) ON tr.id = v.i WHEN MATCHED THEN UPDATE SET who = 'zoe' WHEN NOT MATCHED THEN INSERT VALUES (i, 'zoe')
ann: SELECT * FROM tr ORDER BY id
own: DROP TABLE tr
own: DROP FUNCTION set_who()

[generated columns, defaults and whole rows]
own: CREATE TABLE g (id serial PRIMARY KEY, a int, b int GENERATED ALWAYS AS (a * 2) STORED, who text DEFAULT current_user)
own: ALTER TABLE g ENABLE ROW LEVEL SECURITY
own: CREATE POLICY w ON g USING (who = current_user AND b < 100)
own: CREATE POLICY n ON g AS RESTRICTIVE FOR SELECT USING (g IS NOT NULL)
own: GRANT ALL ON g TO ann
own: GRANT ALL ON g_id_seq TO ann
ann: INSERT INTO g (a) VALUES (1), (2)
ann: INSERT INTO g (a) VALUES (50)
ann: INSERT INTO g (a, who) VALUES (1, DEFAULT) RETURNING a, b, who
ann: UPDATE g SET a = 60 WHERE a = 1
ann: UPDATE g SET a = 7 WHERE a = 2 RETURNING a, b
ann: INSERT INTO g (id, a) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET a = 70
ann: INSERT INTO g (id, a) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET a = 8 RETURNING a, b
ann: MERGE INTO g USING (VALUES (1)) v(i) ON g.id = v.i WHEN MATCHED THEN UPDATE SET a = 80
own: DROP TABLE g

[statements in WITH, cursors and explain]
own: CREATE TABLE w (id int PRIMARY KEY, who text)
own: ALTER TABLE w ENABLE ROW LEVEL SECURITY
own: CREATE POLICY p ON w USING (who = current_user)
own: GRANT ALL ON w TO ann
own: INSERT INTO w SELECT i, CASE WHEN i % 2 = 0 THEN 'ann' ELSE 'bob' END FROM generate_series(1, 10) i
ann: WITH d AS (DELETE FROM w WHERE id < 5 RETURNING id) SELECT count(*) FROM d
ann: WITH u AS (UPDATE w SET id = id + 100 RETURNING id), i AS (INSERT INTO w VALUES (500, 'bob')) SELECT count(*) FROM u
ann: BEGIN
ann: DECLARE c CURSOR FOR SELECT id FROM w ORDER BY id
ann: FETCH 2 FROM c
ann: FETCH ALL FROM c
ann: COMMIT
ann: CREATE TABLE copy_of AS SELECT * FROM w
ann: SELECT * FROM copy_of ORDER BY id
ann: DROP TABLE copy_of
ann: CREATE TEMP TABLE tmp AS TABLE w
ann: SELECT count(*) FROM tmp
ann: INSERT INTO w SELECT id + 1000, who FROM w RETURNING id
ann: SELECT who, count(*), sum(id) FROM w GROUP BY who HAVING count(*) > 1
ann: SELECT DISTINCT who FROM w
ann: SELECT id, row_number() OVER (ORDER BY id) FROM w ORDER BY id
ann: SELECT id FROM w FOR UPDATE SKIP LOCKED
ann: LOCK TABLE w IN ACCESS SHARE MODE
own: SELECT who, count(*) FROM w GROUP BY who ORDER BY who
own: DROP TABLE w

[rules on views]
own: CREATE TABLE base (id int, who text)
own: CREATE TABLE log (id int, who text)
own: INSERT INTO base VALUES (1, 'ann'), (2, 'bob')
own: CREATE VIEW vr AS SELECT * FROM base
own: CREATE RULE ins AS ON INSERT TO vr DO INSTEAD INSERT INTO log VALUES (new.id, new.who)
own: CREATE RULE del AS ON DELETE TO vr DO INSTEAD DELETE FROM base WHERE base.id = old.id
own: GRANT ALL ON vr TO ann
own: ALTER TABLE base ENABLE ROW LEVEL SECURITY
own: ALTER TABLE base FORCE ROW LEVEL SECURITY
own: ALTER TABLE log ENABLE ROW LEVEL SECURITY
own: ALTER TABLE log FORCE ROW LEVEL SECURITY
own: CREATE POLICY p ON base USING (who = 'ann')
own: CREATE POLICY p ON log WITH CHECK (who = 'ann')
ann: SELECT * FROM vr
ann: INSERT INTO vr VALUES (5, 'ann')
ann: INSERT INTO vr VALUES (5, 'bob')
ann: DELETE FROM vr
postgres: SELECT * FROM base
postgres: SELECT * FROM log
own: DROP TABLE base CASCADE
own: DROP TABLE log
