CREATE TABLE s (id int PRIMARY KEY WITH (fillfactor = 80), a int UNIQUE WITH (fillfactor=90), b text) WITH (fillfactor = 70, autovacuum_enabled = false, toast.autovacuum_enabled = off)
SELECT relname, reloptions FROM pg_class WHERE relname LIKE 's%' AND relnamespace = 'public'::regnamespace ORDER BY 1
ALTER TABLE s SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, parallel_workers=2)
SELECT reloptions FROM pg_class WHERE relname = 's'
ALTER TABLE s RESET (fillfactor, vacuum_truncate)
SELECT reloptions FROM pg_class WHERE relname = 's'
ALTER TABLE s RESET (fillfactor = 3)
ALTER TABLE s SET (fillfactor = 5)
ALTER TABLE s SET (fillfactor = 101)
ALTER TABLE s SET (fillfactor = abc)
ALTER TABLE s SET (fillfactor)
ALTER TABLE s SET (autovacuum_enabled)
ALTER TABLE s SET (autovacuum_enabled = perhaps)
ALTER TABLE s SET (autovacuum_vacuum_scale_factor = 101)
ALTER TABLE s SET (autovacuum_vacuum_scale_factor = x)
ALTER TABLE s SET (vacuum_index_cleanup = sometimes)
ALTER TABLE s SET (vacuum_index_cleanup = AUTO)
ALTER TABLE s SET (nothing = 1)
ALTER TABLE s SET (other.fillfactor = 1)
ALTER TABLE s SET (toast.fillfactor = 70)
ALTER TABLE s SET (toast.vacuum_truncate = true)
ALTER TABLE s SET (fillfactor = 70, fillfactor = 80)
ALTER TABLE s SET (log_autovacuum_min_duration = -1, toast_tuple_target = 128, user_catalog_table = true)
SELECT reloptions FROM pg_class WHERE relname = 's'
CREATE TABLE s2 (a int) WITH (oids = false)
CREATE TABLE s3 (a int) WITH (oids = true)
CREATE TABLE s3 (a int) WITH (fillfactor = 700)
CREATE TABLE s3 (a int) WITH (dedup = 700)
CREATE TABLE s3 (a int, PRIMARY KEY (a) WITH (fillfactor = 5))
CREATE TABLE s3 (a int, PRIMARY KEY (a) WITH (autovacuum_enabled = true))
SELECT reloptions FROM pg_class WHERE relname = 's2'
CREATE TABLE s4 WITH (fillfactor = 33) AS SELECT 1 AS a
CREATE MATERIALIZED VIEW s5 WITH (fillfactor = 34) AS SELECT 1 AS a
CREATE INDEX s_b ON s (b) WITH (fillfactor = 40, deduplicate_items = off)
CREATE INDEX s_bad ON s (b) WITH (toast.x = 1)
CREATE INDEX s_bad ON s (b) WITH (autosummarize = 1)
SELECT relname, reloptions FROM pg_class WHERE relname IN ('s4', 's5', 's_b') ORDER BY 1
ALTER INDEX s_b SET (fillfactor = 41)
ALTER INDEX s_b RESET (deduplicate_items)
ALTER INDEX s_b SET (parallel_workers = 1)
SELECT reloptions, pg_get_indexdef(oid) FROM pg_class WHERE relname = 's_b'
ALTER MATERIALIZED VIEW s5 SET (fillfactor = 35)
SELECT reloptions FROM pg_class WHERE relname = 's5'
BEGIN
ALTER TABLE s4 SET (fillfactor = 99)
ALTER TABLE s ADD UNIQUE (b) WITH (fillfactor = 15)
SELECT relname, reloptions FROM pg_class WHERE relname IN ('s4', 's_b_key') ORDER BY 1
ROLLBACK
SELECT relname, reloptions FROM pg_class WHERE relname IN ('s4', 's_b_key') ORDER BY 1
ALTER TABLE s ADD CONSTRAINT s_u UNIQUE (b) WITH (fillfactor = 16)
SELECT relname, reloptions FROM pg_class WHERE relname = 's_u'
SELECT pg_get_constraintdef(oid), pg_get_indexdef(conindid) FROM pg_constraint WHERE conname = 's_u'
ALTER TABLE s DROP CONSTRAINT s_u
ALTER TABLE s ADD CONSTRAINT s_u UNIQUE (b)
SELECT relname, reloptions FROM pg_class WHERE relname = 's_u'
CREATE TABLE sp (a int) PARTITION BY LIST (a) WITH (fillfactor = 70)
CREATE TABLE sp (a int) PARTITION BY LIST (a)
ALTER TABLE sp SET (fillfactor = 70)
CREATE TABLE sp1 PARTITION OF sp FOR VALUES IN (1) WITH (fillfactor = 71)
SELECT relname, reloptions FROM pg_class WHERE relname IN ('sp', 'sp1') ORDER BY 1
CREATE VIEW sv AS SELECT a FROM s WHERE a > 0 WITH LOCAL CHECK OPTION
SELECT reloptions FROM pg_class WHERE relname = 'sv'
ALTER TABLE s4 RENAME TO s6
SELECT reloptions FROM pg_class WHERE relname = 's6'
DROP TABLE s6
CREATE TABLE s6 (a int)
SELECT reloptions FROM pg_class WHERE relname = 's6'
