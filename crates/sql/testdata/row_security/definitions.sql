-- CREATE, ALTER and DROP of policies, what is wrong with them, what depends on them, and what the catalogs say.

[roles]
postgres: CREATE ROLE ann LOGIN
postgres: CREATE ROLE bob LOGIN
postgres: CREATE ROLE own LOGIN
postgres: GRANT CREATE ON SCHEMA public TO own
own: CREATE TABLE t (id int, who text, n numeric, "Odd name" text)
own: CREATE VIEW v AS SELECT 1 AS a
own: CREATE SEQUENCE s
own: CREATE MATERIALIZED VIEW m AS SELECT 1 AS a
own: CREATE INDEX ti ON t (id)

[what is wrong]
own: CREATE POLICY p ON none USING (true)
own: CREATE POLICY p ON v USING (true)
own: CREATE POLICY p ON m USING (true)
postgres: CREATE POLICY p ON pg_class USING (true)
own: CREATE POLICY p ON t USING (1)
own: CREATE POLICY p ON t USING (id)
own: CREATE POLICY p ON t USING (none = 1)
own: CREATE POLICY p ON t USING (count(*) > 1)
own: CREATE POLICY p ON t USING (row_number() OVER () > 1)
own: CREATE POLICY p ON t USING (generate_series(1, 2) > 1)
own: CREATE POLICY p ON t FOR SELECT WITH CHECK (true)
own: CREATE POLICY p ON t FOR DELETE WITH CHECK (true)
own: CREATE POLICY p ON t FOR INSERT USING (true)
own: CREATE POLICY p ON t FOR INSERT USING (true) WITH CHECK (true)
own: CREATE POLICY p ON t AS OTHER USING (true)
own: CREATE POLICY p ON t FOR TRUNCATE USING (true)
own: CREATE POLICY p ON t TO nobody USING (true)
own: CREATE POLICY p ON t USING (old.id = 1)
own: CREATE POLICY p ON t USING true
ann: CREATE POLICY p ON t USING (true)
ann: CREATE POLICY p ON none USING (true)
own: ALTER POLICY p ON t USING (true)
own: ALTER POLICY p ON none USING (true)
own: ALTER POLICY p ON t RENAME TO q
own: DROP POLICY p ON t
own: DROP POLICY IF EXISTS p ON t
own: DROP POLICY IF EXISTS p ON none
own: DROP POLICY p ON none
own: CREATE POLICY p ON t USING (id > 0)
own: CREATE POLICY p ON t USING (id > 0)
ann: ALTER POLICY p ON t USING (true)
ann: ALTER POLICY p ON t RENAME TO q
ann: DROP POLICY p ON t
ann: DROP POLICY IF EXISTS p ON t
ann: COMMENT ON POLICY p ON t IS 'x'
ann: ALTER TABLE t ENABLE ROW LEVEL SECURITY
ann: ALTER TABLE t FORCE ROW LEVEL SECURITY
own: ALTER POLICY p ON t WITH CHECK (1)
own: CREATE POLICY q ON t FOR SELECT USING (true)
own: CREATE POLICY r ON t FOR INSERT WITH CHECK (true)
own: ALTER POLICY q ON t WITH CHECK (true)
own: ALTER POLICY r ON t USING (true)
own: ALTER POLICY q ON t RENAME TO r
own: ALTER POLICY q ON t RENAME TO q
own: ALTER POLICY q ON t RENAME TO "Q q"
own: COMMENT ON POLICY p ON t IS 'first'
own: COMMENT ON POLICY none ON t IS 'first'
own: SELECT obj_description(oid, 'pg_policy') FROM pg_policy WHERE polname = 'p'
own: DROP POLICY "Q q" ON t
own: DROP POLICY r ON t
own: DROP POLICY p ON t CASCADE

[how they read]
own: CREATE POLICY a ON t USING (id > 0 AND who = current_user OR n < 1.5)
own: CREATE POLICY b ON t AS RESTRICTIVE FOR UPDATE TO ann, bob USING (who IS NOT NULL) WITH CHECK (who = ANY (ARRAY['a', 'b']) AND "Odd name" LIKE 'x%')
own: CREATE POLICY c ON t FOR INSERT TO CURRENT_USER WITH CHECK (id IN (1, 2, 3))
own: CREATE POLICY d ON t FOR DELETE TO SESSION_USER USING (CASE WHEN id = 1 THEN true ELSE t.n > 2 END)
own: CREATE POLICY e ON t FOR SELECT USING (who::name = current_user AND current_setting('app.x', true) = 'y' AND n BETWEEN 1 AND 2)
own: CREATE POLICY f ON t USING (EXISTS (SELECT 1 FROM t AS other WHERE other.id = t.id + 1))
own: CREATE POLICY g ON t USING (id = (SELECT max(x.id) FROM public.t x))
own: CREATE POLICY h ON t USING (true) WITH CHECK (false)
own: CREATE POLICY i ON t USING (public.t.id = 1)
own: SELECT * FROM pg_policies ORDER BY policyname
own: SELECT polname, polrelid::regclass, polcmd, polpermissive, pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid) FROM pg_policy ORDER BY polname
own: ALTER TABLE t RENAME COLUMN who TO person
own: ALTER TABLE t RENAME TO u
own: SELECT policyname, qual, with_check FROM pg_policies WHERE tablename = 'u' ORDER BY policyname
own: ALTER TABLE u ADD COLUMN more int
own: SELECT policyname, qual, with_check FROM pg_policies WHERE tablename = 'u' ORDER BY policyname
own: ALTER TABLE u RENAME TO t
own: ALTER TABLE t RENAME COLUMN person TO who
own: ALTER POLICY a ON t TO ann USING (id = 7)
own: ALTER POLICY b ON t WITH CHECK (true)
own: ALTER POLICY c ON t RENAME TO cc
own: SELECT policyname, roles, qual, with_check FROM pg_policies WHERE tablename = 't' ORDER BY policyname

[they work under other names]
own: DROP TABLE t
own: CREATE TABLE t (id int, who text, spare int)
own: INSERT INTO t VALUES (1, 'ann'), (2, 'bob')
own: GRANT ALL ON t TO ann, bob
own: CREATE POLICY p ON t USING (t.who = current_user AND EXISTS (SELECT FROM t2))
own: CREATE TABLE t2 (a int)
own: INSERT INTO t2 VALUES (1)
own: GRANT SELECT ON t2 TO ann
own: CREATE POLICY p ON t USING (t.who = current_user AND EXISTS (SELECT FROM t2 WHERE t2.a = t.id))
own: ALTER TABLE t ENABLE ROW LEVEL SECURITY
ann: SELECT * FROM t
own: ALTER TABLE t RENAME COLUMN who TO person
ann: SELECT * FROM t
own: ALTER TABLE t RENAME TO tt
ann: SELECT * FROM tt
own: ALTER TABLE t2 RENAME COLUMN a TO b
own: ALTER TABLE t2 RENAME TO t3
ann: SELECT * FROM tt
own: ALTER TABLE tt DROP COLUMN spare
ann: SELECT * FROM tt
own: ALTER TABLE tt ADD COLUMN who text DEFAULT 'x'
ann: SELECT * FROM tt
own: CREATE TABLE t2 (a int)
ann: SELECT * FROM tt
own: ALTER TABLE tt RENAME TO t
own: DROP TABLE t2
ann: INSERT INTO t VALUES (1, 'ann')
ann: INSERT INTO t VALUES (2, 'ann')
ann: SELECT * FROM t

[what depends on them]
own: DROP TABLE t3
own: ALTER TABLE t3 DROP COLUMN b
own: ALTER TABLE t DROP COLUMN person
own: ALTER TABLE t ALTER COLUMN person TYPE varchar
own: ALTER TABLE t3 ALTER COLUMN b TYPE bigint
own: DROP TABLE t3 CASCADE
own: SELECT count(*) FROM pg_policy
ann: SELECT * FROM t
own: CREATE POLICY q ON t USING (person = current_user)
own: ALTER TABLE t DROP COLUMN person CASCADE
own: SELECT count(*) FROM pg_policy
own: CREATE FUNCTION f(int) RETURNS boolean LANGUAGE sql AS 'SELECT $1 > 0'
own: CREATE POLICY q ON t USING (f(id))
own: DROP FUNCTION f(int)
own: DROP FUNCTION f(int) CASCADE
own: SELECT count(*) FROM pg_policy
own: CREATE TABLE o (a int)
own: CREATE POLICY q ON t TO ann, bob USING (true)
own: CREATE POLICY r ON o TO ann USING (true)
own: REVOKE ALL ON t FROM ann
postgres: DROP ROLE ann
postgres: DROP OWNED BY ann
own: SELECT policyname, roles FROM pg_policies ORDER BY 1
own: DROP TABLE t
own: SELECT count(*) FROM pg_policy

[row security of a table]
own: SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE relname = 'o'
own: ALTER TABLE o ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY
own: SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE relname = 'o'
own: ALTER TABLE o DISABLE ROW LEVEL SECURITY
own: SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE relname = 'o'
own: ALTER TABLE o NO FORCE ROW LEVEL SECURITY
own: SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE relname = 'o'
own: ALTER TABLE v ENABLE ROW LEVEL SECURITY
own: ALTER TABLE m ENABLE ROW LEVEL SECURITY
own: ALTER TABLE v FORCE ROW LEVEL SECURITY
own: ALTER TABLE none ENABLE ROW LEVEL SECURITY
own: ALTER TABLE IF EXISTS none ENABLE ROW LEVEL SECURITY
own: BEGIN
own: ALTER TABLE o ENABLE ROW LEVEL SECURITY
own: CREATE POLICY p ON o USING (a > 1)
own: SELECT count(*) FROM pg_policies
own: ROLLBACK
own: SELECT count(*) FROM pg_policies
own: SELECT relrowsecurity FROM pg_class WHERE relname = 'o'
own: DROP TABLE o
