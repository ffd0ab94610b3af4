SELECT '0/16AE7F8'::pg_lsn, pg_lsn '0/16AE7F8' - '0/16AE7F7', pg_wal_lsn_diff('0/5', '1/1')
SELECT pg_lsn '0/10' + 16, 16::numeric + pg_lsn '0/10', pg_lsn '1/0' - 1, pg_lsn '0/1' + 0.5, pg_lsn '0/1' - 0.6
SELECT pg_lsn '0/10' - 17
SELECT pg_lsn 'FFFFFFFF/FFFFFFFF' + 1
SELECT pg_lsn '0/10' + 'NaN'::numeric
SELECT pg_lsn '0/10' - 'NaN'::numeric
SELECT pg_lsn '0/10' + 'Infinity'::numeric
SELECT '0/x'::pg_lsn
SELECT pg_lsn '0/1' < '0/2', pg_lsn 'A/0' = 'a/0', pg_lsn '0/FFFFFFFF' > '1/0', pg_lsn '0/1' BETWEEN '0/0' AND '0/1'
CREATE TABLE l (id int PRIMARY KEY, at pg_lsn, seen pg_lsn[])
CREATE INDEX l_at ON l (at)
INSERT INTO l VALUES (1, '0/1', '{0/1,FF/2}'), (2, 'FFFFFFFF/0', '{}'), (3, NULL, NULL), (4, '1/0', ARRAY[pg_lsn '2/2', NULL]), (5, '0/FFFFFFFF', NULL)
SELECT * FROM l ORDER BY at, id
SELECT id FROM l WHERE at > '0/1' ORDER BY at DESC
SELECT id FROM l WHERE at = '1/0'
SELECT max(at), min(at), count(DISTINCT at) FROM l
UPDATE l SET at = at + 1 WHERE id = 1 RETURNING at
CREATE TABLE u (at pg_lsn UNIQUE)
INSERT INTO u VALUES ('0/1'), ('0/2')
INSERT INTO u VALUES ('0/01')
SELECT at, count(*) FROM (SELECT at FROM u UNION ALL SELECT at FROM l) s GROUP BY at ORDER BY at
SELECT u.at, l.id FROM u JOIN l USING (at) ORDER BY 1
SELECT indexdef FROM pg_indexes WHERE indexname = 'l_at'
SELECT opcname FROM pg_index i, pg_opclass o WHERE i.indexrelid = 'l_at'::regclass AND o.oid = i.indclass[0]
SELECT pg_lsn_hash('1/2'), pg_lsn_hash_extended('1/2', 7)
SELECT pg_current_wal_lsn() >= '0/0', pg_current_wal_insert_lsn() >= pg_current_wal_flush_lsn(), pg_last_wal_replay_lsn() IS NULL, pg_last_wal_receive_lsn()
CREATE TABLE h (at pg_lsn) PARTITION BY HASH (at)
CREATE TABLE h0 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 0)
CREATE TABLE h1 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 1)
INSERT INTO h SELECT ('0/' || to_hex(i))::pg_lsn FROM generate_series(1, 20) i
SELECT tableoid::regclass, at FROM h ORDER BY at
