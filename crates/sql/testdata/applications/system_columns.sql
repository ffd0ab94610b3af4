CREATE TABLE t (id int PRIMARY KEY, a text, n numeric(10, 2) DEFAULT 0, c char(4), ts timestamptz, j jsonb, g int GENERATED ALWAYS AS (id * 2) STORED)
INSERT INTO t (id, a) VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET a = excluded.a RETURNING (xmax = 0) AS inserted
INSERT INTO t (id, a) VALUES (1, 'y'), (2, 'z') ON CONFLICT (id) DO UPDATE SET a = excluded.a RETURNING id, a, (xmax = 0) AS inserted, xmax::text::bigint > 0 AS locked
INSERT INTO t (id, a) VALUES (1, 'y'), (3, 'w') ON CONFLICT (id) DO NOTHING RETURNING id, xmax = 0, xmin = 0, cmin, cmax, tableoid::regclass
INSERT INTO t (id, a) SELECT 4, 'q' RETURNING xmax, cmin, cmax, pg_typeof(xmin), pg_typeof(cmin), pg_typeof(xmax)
UPDATE t SET a = 'u' WHERE id = 3 RETURNING xmax, xmin = 0, cmin, cmax, tableoid::regclass
DELETE FROM t WHERE id = 3 RETURNING xmax = 0, xmin = 0, cmin, cmax, tableoid::regclass
SELECT id, xmin = xmin AS same, xmin = 0, xmax, cmin, cmax FROM t WHERE id <> 1 ORDER BY id
WITH w AS (INSERT INTO t (id, a, n, c, ts, j) VALUES (10, 'ü', 1.5, 'ab', '2024-01-02 03:04:05+02', '{"b": 1.0, "a": null}') RETURNING id, xmin) SELECT count(*), bool_and(xmin <> 0) FROM w
CREATE TABLE seen (id int, v xid)
WITH w AS (INSERT INTO t (id, a, n, c, ts, j) VALUES (11, 'ü', 1.50, 'ab  ', '2024-01-02 03:04:05+02', '{"b": 1.0, "a": null}') RETURNING id, xmin) INSERT INTO seen SELECT * FROM w
SELECT t.id, t.xmin = s.v FROM t JOIN seen s USING (id)
UPDATE t SET n = n + 1 WHERE id = 11
SELECT t.id, t.xmin = s.v FROM t JOIN seen s USING (id)
DELETE FROM seen
WITH w AS (UPDATE t SET n = 7, a = a || '!' WHERE id IN (10, 11) RETURNING id, xmin) INSERT INTO seen SELECT * FROM w
SELECT t.id, t.xmin = s.v FROM t JOIN seen s USING (id) ORDER BY id
UPDATE t SET a = 'locked' FROM seen s WHERE t.id = s.id AND t.xmin = s.v
UPDATE t SET a = 'again' FROM seen s WHERE t.id = s.id AND t.xmin = s.v
SELECT id, a FROM t ORDER BY id
UPDATE t SET a = 'no' WHERE id = 1 AND xmin = '0' RETURNING a
DELETE FROM t WHERE id = 1 AND xmin = '0'
INSERT INTO t (id, a) VALUES (1, 'c') ON CONFLICT (id) DO UPDATE SET a = t.a || '+' WHERE t.xmin <> '0' RETURNING a, xmax = 0
INSERT INTO t (id, a) VALUES (1, 'c') ON CONFLICT (id) DO UPDATE SET a = 'x' WHERE t.xmin = '0' RETURNING a
INSERT INTO t (id, a) VALUES (1, 'c') ON CONFLICT (id) DO UPDATE SET a = 'x' WHERE t.xmin = excluded.xmin
INSERT INTO t (id, xmin) VALUES (1, 2)
UPDATE t SET xmin = 3
SELECT xmin > 3 FROM t
SELECT xmin FROM t ORDER BY xmin
SELECT min(xmin) FROM t
SELECT xmin::int FROM t
SELECT xmin = 3::int8 FROM t
SELECT count(*) FROM t WHERE xmin::text::bigint > 0
SELECT count(*) FROM t WHERE xmin <> 0 AND xmin IS NOT NULL AND xmin = xmin AND xmin <> xmax
SELECT DISTINCT xmax, cmin FROM t WHERE id > 1
SELECT count(DISTINCT xmax::text) FROM t WHERE id > 1
SELECT l.id, r.xmin IS NULL, r.xmax FROM t l LEFT JOIN seen r ON l.id = r.id ORDER BY l.id
SELECT xmin IS NULL FROM (SELECT * FROM t) s
CREATE VIEW v AS SELECT * FROM t
SELECT xmin FROM v
CREATE VIEW vx AS SELECT id, xmin AS version FROM t
SELECT id, version <> 0 FROM vx ORDER BY id
SELECT count(*) FROM pg_class WHERE relname = 't' AND xmin <> 0 AND xmax = 0
ALTER TABLE t RENAME COLUMN a TO xmin
ALTER TABLE t RENAME COLUMN xmin TO b
ALTER TABLE t RENAME COLUMN ctid TO b
ALTER TABLE t DROP COLUMN xmin
ALTER TABLE t DROP COLUMN IF EXISTS xmin
ALTER TABLE t ALTER COLUMN xmin SET DEFAULT 3
ALTER TABLE t ALTER COLUMN xmin SET NOT NULL
ALTER TABLE t ALTER COLUMN xmin TYPE text
ALTER TABLE t ADD COLUMN xmax int
CREATE TABLE u (cmin int)
CREATE TABLE u (id int, tableoid text)
CREATE INDEX ON t (xmin)
CREATE TABLE p (id int, k int, a text, PRIMARY KEY (id, k)) PARTITION BY RANGE (k)
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)
CREATE TABLE p2 (a text, k int NOT NULL, id int NOT NULL)
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20)
DELETE FROM seen
INSERT INTO p VALUES (1, 1, 'a'), (2, 11, 'b')
INSERT INTO seen SELECT id, xmin FROM p
SELECT p.id, p.xmin = s.v, p.tableoid::regclass FROM p JOIN seen s USING (id) ORDER BY id
SELECT p.id, p.xmin = s.v FROM p2 p JOIN seen s USING (id) ORDER BY id
DELETE FROM seen
UPDATE p2 SET a = 'c' WHERE xmin IN (SELECT v FROM seen) RETURNING id
UPDATE p SET a = 'c' WHERE xmin = (SELECT v FROM seen WHERE id = 1) RETURNING id, a
SELECT p.id, p.xmin = s.v, p.tableoid::regclass FROM p JOIN seen s USING (id) ORDER BY id
INSERT INTO p VALUES (1, 11, 'n'), (5, 5, 'n') ON CONFLICT (id, k) DO UPDATE SET a = excluded.a RETURNING id, tableoid::regclass
CREATE TABLE par (id int, a text)
CREATE TABLE chi (b text) INHERITS (par)
INSERT INTO chi VALUES (1, 'a', 'b')
INSERT INTO par VALUES (2, 'a')
DELETE FROM seen
WITH w AS (UPDATE par SET a = 'z' RETURNING id, xmin) INSERT INTO seen SELECT * FROM w
SELECT par.id, par.xmin = s.v, par.tableoid::regclass FROM par JOIN seen s USING (id) ORDER BY id
UPDATE chi SET b = 'other'
SELECT par.id, par.xmin = s.v, par.tableoid::regclass FROM par JOIN seen s USING (id) ORDER BY id
MERGE INTO t USING (VALUES (1)) AS s(i) ON t.id = s.i WHEN MATCHED AND t.xmax = 0 THEN UPDATE SET a = 'm'
MERGE INTO t USING (VALUES (1), (99)) AS s(i) ON t.id = s.i AND t.xmin <> '0' WHEN MATCHED AND t.tableoid = 't'::regclass THEN UPDATE SET a = 'm' WHEN NOT MATCHED THEN INSERT (id, a) VALUES (s.i, 'new')
SELECT id, a FROM t ORDER BY id
CREATE FUNCTION bump() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN new.a = new.a || ''~''; RETURN new; END'
CREATE TRIGGER bump BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION bump()
DELETE FROM seen
WITH w AS (INSERT INTO t (id, a) VALUES (50, 'i'), (1, 'i') ON CONFLICT (id) DO UPDATE SET a = excluded.a RETURNING id, xmin, xmax) INSERT INTO seen SELECT id, xmin FROM w
SELECT t.id, t.a, t.xmin = s.v FROM t JOIN seen s USING (id) ORDER BY id
INSERT INTO t (id, a) VALUES (51, 'i'), (1, 'j') ON CONFLICT (id) DO UPDATE SET a = excluded.a RETURNING id, xmax = 0
DELETE FROM seen
WITH w AS (UPDATE t SET a = 'k' WHERE id IN (1, 50) RETURNING id, xmin, xmax) INSERT INTO seen SELECT id, xmin FROM w
SELECT t.id, t.a, t.xmin = s.v FROM t JOIN seen s USING (id) ORDER BY id
DELETE FROM t WHERE id = 50 RETURNING xmax = 0, xmin <> 0
PREPARE lock(int, xid) AS UPDATE t SET a = 'w' WHERE id = $1 AND xmin = $2 RETURNING id
EXECUTE lock(2, '0')
SELECT '4294967295'::xid, '7'::xid = 7, '7'::xid <> 7, '1'::cid = '1'::cid, '12'::xid8::xid
BEGIN
INSERT INTO t (id, a) VALUES (70, 'own')
SELECT xmin <> 0, xmax, a FROM t WHERE id = 70
SELECT count(*) FROM t WHERE id = 70 AND xmin = (SELECT xmin FROM t WHERE id = 70)
ROLLBACK
CREATE ROLE of_columns
GRANT SELECT (id), UPDATE (a) ON t TO of_columns
SET ROLE of_columns
SELECT id FROM t WHERE id < 3 ORDER BY id
SELECT id, xmin FROM t
SELECT id FROM t WHERE xmin = '1'
SELECT ctid FROM t
SELECT id, tableoid::regclass FROM t
UPDATE t SET a = 'own' WHERE id = 2 RETURNING id, xmin
UPDATE t SET a = 'own' WHERE id = 2 RETURNING id
RESET ROLE
REVOKE ALL ON t FROM of_columns
REVOKE SELECT (id), UPDATE (a) ON t FROM of_columns
DROP ROLE of_columns
PREPARE cased AS SELECT lower(x) FROM (SELECT $1 AS x UNION ALL SELECT $2) s ORDER BY 1
EXECUTE cased('B', 'A')
PREPARE counted AS WITH RECURSIVE r(x) AS (SELECT $1 UNION ALL SELECT $2 FROM r WHERE false) TABLE r
EXECUTE counted('B', 'A')
