SET TimeZone = 'Europe/Berlin'
CREATE ROLE limited
CREATE TABLE f (id int PRIMARY KEY, a text, b text CHECK (b <> 'bad'), c timestamptz NOT NULL DEFAULT '2024-01-02 03:04:05+00', d bytea, e float8, i interval)
INSERT INTO f VALUES (1, 'a', 'bad', '2024-07-01 12:00+00', '\x0102', 1.5, '1 day 2 hours')
SET DateStyle = 'German'
INSERT INTO f VALUES (1, 'a', 'bad', '2024-07-01 12:00+00', '\x0102', 1.5, '1 day 2 hours')
SET bytea_output = 'escape'
SET IntervalStyle = 'iso_8601'
INSERT INTO f VALUES (1, 'a', 'bad', '2024-07-01 12:00+00', '\x0102', 0.1, '1 day 2 hours')
RESET DateStyle
RESET bytea_output
RESET IntervalStyle
INSERT INTO f VALUES (1, repeat('x', 70), 'bad', '2024-07-01 12:00+00', '\x0102', 0.1, NULL)
INSERT INTO f VALUES (1, repeat('ä', 40), 'bad', '2024-07-01 12:00+00', decode(repeat('ab', 50), 'hex'), 0.1, NULL)
INSERT INTO f VALUES (1, repeat('x', 300000), 'bad', '2024-07-01 12:00+00', decode(repeat('ab', 900000), 'hex'), 0.1, NULL)
CREATE UNIQUE INDEX ON f (c)
INSERT INTO f VALUES (1, 'a', 'b', '2024-07-01 12:00+00', '\x0102', 1.5, NULL)
INSERT INTO f VALUES (2, 'a', 'b', '2024-07-01 12:00+00', '\x0102', 1.5, NULL)
CREATE VIEW fv AS SELECT id, a, b FROM f WHERE a <> 'no' WITH CHECK OPTION
INSERT INTO fv VALUES (3, 'no', 'b')
INSERT INTO fv (b, a, id) VALUES ('b', 'no', 3)
UPDATE fv SET a = 'no' WHERE id = 1
UPDATE fv SET a = 'no', b = 'other' WHERE id = 1
INSERT INTO fv VALUES (1, 'no', 'b') ON CONFLICT (id) DO UPDATE SET a = excluded.a
SELECT * FROM fv ORDER BY id
CREATE TABLE p (id int, k int, a text CHECK (a <> 'bad')) PARTITION BY RANGE (k)
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)
CREATE TABLE p2 (a text CHECK (a <> 'bad'), extra int, k int, id int)
ALTER TABLE p2 DROP COLUMN extra
ALTER TABLE p2 DROP CONSTRAINT p2_a_check
ALTER TABLE p2 ADD CONSTRAINT p_a_check CHECK (a <> 'bad')
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20)
INSERT INTO p1 VALUES (1, 99, 'x')
INSERT INTO p1 (k, id) VALUES (99, 1)
INSERT INTO p VALUES (1, 99, 'x')
INSERT INTO p VALUES (1, 5, 'bad')
INSERT INTO p VALUES (1, 15, 'bad')
INSERT INTO p2 VALUES ('bad', 15, 1)
INSERT INTO p VALUES (1, 5, 'good')
UPDATE p1 SET k = 50
UPDATE p SET a = 'bad'
CREATE VIEW pv AS SELECT * FROM p WHERE a <> 'no' WITH CHECK OPTION
INSERT INTO pv VALUES (7, 15, 'no')
UPDATE pv SET k = 15, a = 'no'
GRANT INSERT, UPDATE ON f, p, fv, pv, p1 TO limited
GRANT SELECT (id, a) ON f TO limited
GRANT SELECT (id) ON p TO limited
SET ROLE limited
INSERT INTO f (id, b, c) VALUES (9, 'bad', '2024-08-01 12:00+00')
INSERT INTO f VALUES (9, 'x', 'bad', '2024-08-01 12:00+00')
UPDATE f SET b = 'bad'
UPDATE f SET b = 'bad' WHERE id = 1
INSERT INTO f (id, c) VALUES (9, NULL)
INSERT INTO f (id, e) VALUES (1, 3)
INSERT INTO p (k, a) VALUES (5, 'bad')
INSERT INTO p (k, a) VALUES (15, 'bad')
UPDATE p SET a = 'bad'
INSERT INTO p1 (k, id) VALUES (99, 1)
INSERT INTO fv VALUES (3, 'no', 'b')
INSERT INTO fv (id, a) VALUES (3, 'no')
UPDATE fv SET a = 'no'
INSERT INTO pv (k, a) VALUES (15, 'no')
RESET ROLE
REVOKE SELECT (id, a) ON f FROM limited
SET ROLE limited
INSERT INTO f (b) VALUES ('bad')
INSERT INTO f (id, b) SELECT 9, 'bad'
INSERT INTO f DEFAULT VALUES
UPDATE f SET b = 'bad'
INSERT INTO f (id, b) VALUES (3, 'bad') ON CONFLICT DO NOTHING
RESET ROLE
GRANT SELECT ON f TO limited
SET ROLE limited
INSERT INTO f (id, b) VALUES (9, 'bad')
RESET ROLE
CREATE FUNCTION put() RETURNS void LANGUAGE plpgsql AS 'BEGIN INSERT INTO f (b) VALUES (''bad''); END'
CREATE FUNCTION caught() RETURNS text LANGUAGE plpgsql AS 'DECLARE d text; BEGIN INSERT INTO f (id, b) VALUES (77, ''bad''); EXCEPTION WHEN check_violation THEN GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL; RETURN d; END'
REVOKE SELECT ON f FROM limited
SET ROLE limited
SELECT put()
SELECT caught()
RESET ROLE
SELECT caught()
