-- What a user asks is asked of no row that policies hide: no function sees one, and no error tells of one.

[roles]
postgres: CREATE ROLE ann LOGIN
postgres: CREATE ROLE own LOGIN
postgres: GRANT CREATE ON SCHEMA public TO own, ann
own: CREATE TABLE t (id int PRIMARY KEY, who text, n int, note text)
own: CREATE INDEX ON t (n)
own: INSERT INTO t VALUES (1, 'ann', 1, '1'), (2, 'own', 0, 'secret'), (3, 'ann', 3, '3'), (4, 'own', 0, 'hidden')
own: GRANT ALL ON t TO ann
own: ALTER TABLE t ENABLE ROW LEVEL SECURITY
own: CREATE POLICY mine ON t USING (who = current_user)

[errors of conditions]
ann: SELECT id FROM t WHERE 1 / n > 0 ORDER BY id
ann: SELECT id FROM t WHERE note::int > 0 ORDER BY id
ann: SELECT id FROM t WHERE 10 / n > 0 AND id > 0 ORDER BY id
ann: SELECT id FROM t WHERE n IN (0, 1) AND 1 / n = 1
ann: SELECT id FROM t WHERE id = 2 AND 1 / n = 1
ann: SELECT id, 1 / n FROM t ORDER BY id
ann: SELECT id FROM t ORDER BY 1 / n, id
ann: SELECT 10 / n, count(*) FROM t GROUP BY 1 ORDER BY 1
ann: SELECT sum(1 / n) FROM t
ann: SELECT count(*) FILTER (WHERE 1 / n > 0) FROM t
ann: SELECT a.id FROM t a JOIN t b ON 1 / b.n = a.n ORDER BY 1
ann: SELECT v.i FROM (VALUES (1), (2)) v(i) LEFT JOIN t ON t.id = v.i AND 1 / t.n > 0 ORDER BY 1
ann: SELECT i FROM generate_series(1, 4) i WHERE EXISTS (SELECT FROM t WHERE id = i AND note::int > 0) ORDER BY i
ann: SELECT i, (SELECT note::int FROM t WHERE id = i) FROM generate_series(1, 4) i ORDER BY i
ann: UPDATE t SET n = n WHERE 1 / n > 0
ann: UPDATE t SET n = 5 / n
ann: DELETE FROM t WHERE note::int = 100
ann: DELETE FROM t USING (VALUES (0)) v(i) WHERE 1 / t.n = 77
ann: COPY (SELECT note::int FROM t) TO STDOUT
ann: SELECT id FROM t WHERE CASE WHEN n = 0 THEN 1 / n = 1 ELSE true END ORDER BY id
ann: SELECT id FROM t WHERE note::int = ANY (ARRAY[1, 3]) ORDER BY id
ann: SELECT max(1 / n) FROM t
ann: SELECT id FROM t WHERE n < 2 AND 1 / n = 1 FOR UPDATE
ann: MERGE INTO t USING (VALUES (1), (2)) v(i) ON t.id = v.i AND 1 / t.n = 1 WHEN MATCHED THEN UPDATE SET note = '1'

[functions of users]
ann: CREATE FUNCTION tell(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS 'BEGIN RAISE NOTICE ''saw %'', $1; RETURN true; END'
ann: SELECT id FROM t WHERE tell(note) ORDER BY id
ann: SELECT id FROM t WHERE tell(note) AND id = 2
ann: SELECT id FROM t WHERE id = 1 AND tell(note)
ann: SELECT count(*) FROM t WHERE tell(who || note)
ann: UPDATE t SET n = 1 WHERE tell(note) AND id = 4
ann: DELETE FROM t WHERE tell(note) AND id = 2
ann: SELECT i FROM generate_series(2, 2) i WHERE EXISTS (SELECT FROM t WHERE t.id = i AND tell(note))
ann: COPY (SELECT id FROM t WHERE tell(note) AND id > 1) TO STDOUT
ann: CREATE FUNCTION fail(text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT 1 / length(replace($1, ''secret'', '''')) > 0'
ann: SELECT id FROM t WHERE fail(note) ORDER BY id
ann: SELECT id FROM t WHERE id = 2 AND fail(note)

[a view is a wall by its owner's policies]
own: CREATE VIEW v AS SELECT * FROM t
postgres: GRANT SELECT ON t TO own
own: ALTER TABLE t FORCE ROW LEVEL SECURITY
own: GRANT SELECT ON v TO ann
ann: SELECT id FROM v WHERE tell(note) ORDER BY id
own: SELECT count(*) FROM t WHERE 1 / (n + 1) >= 0
own: DROP VIEW v
own: ALTER TABLE t NO FORCE ROW LEVEL SECURITY

[indexes of expressions]
own: CREATE INDEX ON t ((n + 1))
own: CREATE INDEX ON t (id) WHERE n > 0
ann: SELECT id FROM t WHERE n + 1 = 1
ann: SELECT id FROM t WHERE n + 1 = 2
ann: SELECT id FROM t WHERE n + 1 < 10 AND 1 / n > 0 ORDER BY id
ann: SELECT id FROM t WHERE n > 0 AND id < 10 ORDER BY id
ann: DROP FUNCTION tell(text)
ann: DROP FUNCTION fail(text)
own: DROP TABLE t
