CREATE TABLE sums (k int PRIMARY KEY, s smallint, i int, b bigint, t text)
INSERT INTO sums VALUES (1, 32766, 2147483646, 9223372036854775806, 'x'), (2, -32767, -2147483647, -9223372036854775807, 'y'), (3, NULL, NULL, NULL, 'z')
UPDATE sums SET i = i + 1 WHERE k = 1
UPDATE sums SET i = i + 1 WHERE k = 1
UPDATE sums SET s = s + 2 WHERE k = 1
UPDATE sums SET b = b + 2 WHERE k = 1
UPDATE sums SET i = i - 2 WHERE k = 2
UPDATE sums SET s = s - 2 WHERE k = 2
UPDATE sums SET b = b - 2 WHERE k = 2
UPDATE sums SET s = 1 + s
UPDATE sums SET i = i + 5000000000 WHERE k = 1
UPDATE sums SET s = s + 1, i = i + 7 WHERE k = 1
UPDATE sums SET b = b + 0, s = s + 70000 WHERE k = 1
UPDATE sums SET i = i + 1 WHERE k IN (1, 2, 3)
UPDATE sums SET i = i + 1 WHERE k > 1
UPDATE sums SET i = i + 1 WHERE k = 3
UPDATE sums SET i = 3000000000 WHERE k = 1
SELECT * FROM sums ORDER BY k
INSERT INTO sums (k, i) VALUES (1, 1) ON CONFLICT (k) DO UPDATE SET i = sums.i + 1
INSERT INTO sums (k, i) VALUES (1, 1) ON CONFLICT (k) DO UPDATE SET i = sums.i + excluded.i
INSERT INTO sums (k, s) VALUES (1, 2) ON CONFLICT (k) DO UPDATE SET s = sums.s + excluded.s, i = sums.i + 1
INSERT INTO sums (k, b) VALUES (2, 3) ON CONFLICT (k) DO UPDATE SET b = sums.b - excluded.b
INSERT INTO sums (k, i) VALUES (3, 3) ON CONFLICT (k) DO UPDATE SET i = sums.i - excluded.i
INSERT INTO sums (k, i) VALUES (4, 3) ON CONFLICT (k) DO UPDATE SET i = sums.i - excluded.i
INSERT INTO sums (k, i) VALUES (4, 3) ON CONFLICT (k) DO UPDATE SET i = sums.i - excluded.i, t = 'w'
SELECT * FROM sums ORDER BY k
BEGIN
UPDATE sums SET i = 5 WHERE k = 1
UPDATE sums SET i = i + 2147483647 WHERE k = 1
ROLLBACK
CREATE SEQUENCE numbers
CREATE TABLE numbered (k int PRIMARY KEY, n bigint DEFAULT nextval('numbers'), c int UNIQUE, d int CHECK (d > 0))
INSERT INTO numbered (k, c, d) VALUES (1, 1, 1) ON CONFLICT (k) DO UPDATE SET d = numbered.d + 1
INSERT INTO numbered (k, c, d) VALUES (1, 1, 1) ON CONFLICT (k) DO UPDATE SET d = numbered.d + 1
SELECT lastval(), currval('numbers')
INSERT INTO numbered (k, c, d) VALUES (1, 1, 1) ON CONFLICT (k) DO UPDATE SET d = numbered.d + 2147483647
SELECT lastval(), currval('numbers')
INSERT INTO numbered (k, c, d) VALUES (2, 1, 1) ON CONFLICT (k) DO UPDATE SET d = numbered.d + 1
SELECT lastval(), currval('numbers')
INSERT INTO numbered (k, c, d) VALUES (2, 2, 0) ON CONFLICT (k) DO UPDATE SET d = numbered.d + 1
INSERT INTO numbered (k, c, d) VALUES (NULL, 2, 1) ON CONFLICT (k) DO UPDATE SET d = numbered.d + 1
INSERT INTO numbered (k, c, d) VALUES (3, 3, '4') ON CONFLICT (k) DO UPDATE SET d = '5'
INSERT INTO numbered (k, c, d) VALUES (3, 3, 4) ON CONFLICT (k) DO UPDATE SET d = 6000000000
SELECT lastval(), currval('numbers')
INSERT INTO numbered (k, c, d) VALUES (4, 4, 1), (5, 5000000000, 1)
INSERT INTO numbered (k, c, d) VALUES (4, 4, 1), (5, 5, 1)
SELECT nextval('numbers')
SELECT * FROM numbered ORDER BY k
