CREATE ROLE low
CREATE ROLE high
CREATE TABLE t (a int PRIMARY KEY, b text, c int DEFAULT 7)
INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')
CREATE TABLE secret (a int, who text)
INSERT INTO secret VALUES (1, 'low'), (2, 'high'), (3, 'postgres')
ALTER TABLE secret ENABLE ROW LEVEL SECURITY
CREATE POLICY p ON secret USING (who = current_user)
GRANT SELECT ON secret TO low, high
CREATE VIEW by_owner AS SELECT a, b FROM t
CREATE VIEW by_invoker WITH (security_invoker) AS SELECT a, b FROM t
CREATE VIEW barred WITH (security_barrier = on, security_invoker = 'false') AS SELECT a, b FROM t WHERE a > 1
CREATE VIEW rows_invoker WITH (security_invoker = true) AS SELECT * FROM secret
CREATE VIEW rows_owner AS SELECT * FROM secret
CREATE VIEW over_invoker AS SELECT * FROM by_invoker
CREATE VIEW bad WITH (security_invoker = maybe) AS SELECT 1
CREATE VIEW bad WITH (security_barrier, security_barrier) AS SELECT 1
CREATE VIEW bad WITH (fillfactor = 10) AS SELECT 1
CREATE VIEW bad WITH (toast.security_barrier) AS SELECT 1
CREATE VIEW bad WITH (check_option = 'some') AS SELECT a FROM t
SELECT relname, reloptions FROM pg_class WHERE relkind = 'v' AND relnamespace = 'public'::regnamespace ORDER BY 1
GRANT SELECT, INSERT, UPDATE, DELETE ON by_owner, by_invoker, barred, over_invoker, rows_invoker, rows_owner TO low
SET ROLE low
SELECT * FROM by_owner ORDER BY a
SELECT * FROM by_invoker ORDER BY a
SELECT * FROM over_invoker ORDER BY a
SELECT * FROM rows_invoker
SELECT * FROM rows_owner ORDER BY a
INSERT INTO by_owner VALUES (4, 'four')
INSERT INTO by_invoker VALUES (5, 'five')
UPDATE by_invoker SET b = 'x'
DELETE FROM by_invoker
DELETE FROM over_invoker
RESET ROLE
GRANT SELECT (a, b) ON t TO low
SET ROLE low
SELECT * FROM by_invoker ORDER BY a
SELECT * FROM over_invoker ORDER BY a
UPDATE by_invoker SET b = 'x' WHERE a = 1
LOCK TABLE by_invoker IN ROW EXCLUSIVE MODE
RESET ROLE
GRANT UPDATE (b), INSERT, DELETE ON t TO low
SET ROLE low
UPDATE by_invoker SET b = 'uno' WHERE a = 1 RETURNING *
UPDATE by_invoker SET a = 9 WHERE a = 1
INSERT INTO by_invoker VALUES (5, 'five') RETURNING a
DELETE FROM over_invoker WHERE a = 5
RESET ROLE
SELECT * FROM t ORDER BY a
PREPARE q AS SELECT * FROM rows_invoker ORDER BY a
EXECUTE q
SET ROLE low
EXECUTE q
RESET ROLE
SET ROLE high
EXECUTE q
RESET ROLE
EXECUTE q
ALTER VIEW by_owner SET (security_invoker = true)
SET ROLE high
SELECT * FROM by_owner
RESET ROLE
GRANT SELECT ON by_owner TO high
SET ROLE high
SELECT * FROM by_owner
RESET ROLE
ALTER VIEW by_owner RESET (security_invoker)
SET ROLE high
SELECT count(*) FROM by_owner
RESET ROLE
ALTER VIEW by_owner RESET (security_invoker = 1)
ALTER VIEW by_owner SET (nothing = 1)
ALTER VIEW by_owner SET (security_barrier)
ALTER VIEW by_owner SET (security_barrier = false, check_option = local)
CREATE VIEW counted AS SELECT count(*) FROM t
ALTER VIEW counted SET (check_option = local)
ALTER VIEW barred SET (check_option = cascaded)
INSERT INTO barred VALUES (0, 'zero')
INSERT INTO barred VALUES (10, 'ten')
ALTER VIEW barred RESET (check_option)
INSERT INTO barred VALUES (0, 'zero')
SELECT relname, reloptions FROM pg_class WHERE relkind = 'v' AND relnamespace = 'public'::regnamespace ORDER BY 1
CREATE OR REPLACE VIEW barred AS SELECT a, b FROM t WHERE a > 1
SELECT reloptions FROM pg_class WHERE relname = 'barred'
CREATE VIEW checked WITH (security_barrier) AS SELECT a FROM t WHERE a > 1 WITH LOCAL CHECK OPTION
SELECT reloptions FROM pg_class WHERE relname = 'checked'
SELECT table_name, check_option FROM information_schema.views WHERE table_schema = 'public' ORDER BY 1
CREATE FUNCTION leaks(a int, b text) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN IF a = 1 THEN RAISE EXCEPTION 'seen %', b; END IF; RETURN true; END $$
SELECT a FROM checked WHERE leaks(a, 'x') ORDER BY a
ALTER VIEW IF EXISTS missing SET (security_barrier)
ALTER VIEW t SET (security_barrier)
