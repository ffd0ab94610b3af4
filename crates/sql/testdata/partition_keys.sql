CREATE TYPE mood AS ENUM ('a', 'b')
CREATE TABLE pk (m mood, x int) PARTITION BY LIST (m)
CREATE TABLE pk_a PARTITION OF pk FOR VALUES IN ('a')
CREATE TABLE other (m mood, x int)
CREATE VIEW over_pk AS SELECT x FROM pk
DROP TYPE mood
DROP TYPE mood CASCADE
SELECT relname FROM pg_class WHERE relname IN ('pk', 'pk_a', 'other', 'over_pk')
SELECT * FROM other
CREATE EXTENSION citext
CREATE TABLE pc (m citext, x int) PARTITION BY LIST (m)
DROP EXTENSION citext CASCADE
SELECT * FROM pc
CREATE DOMAIN d AS int
CREATE TABLE pd (m d, x int) PARTITION BY RANGE (m, x)
ALTER TABLE pd DROP COLUMN m
DROP DOMAIN d CASCADE
SELECT * FROM pd
CREATE ROLE plain
SELECT attname, attacl FROM pg_attribute WHERE attrelid = 'pg_subscription'::regclass AND attnum > 0 ORDER BY attnum
SELECT objsubid, classoid, privtype, initprivs FROM pg_init_privs WHERE objoid = 'pg_subscription'::regclass ORDER BY objsubid
SELECT has_column_privilege('plain', 'pg_subscription', 'subconninfo', 'select'), has_column_privilege('plain', 'pg_subscription', 'subdbid', 'select'), has_table_privilege('plain', 'pg_subscription', 'select'), has_any_column_privilege('plain', 'pg_subscription', 'select')
SET ROLE plain
SELECT count(*) FROM pg_subscription WHERE subdbid = 1
SELECT subname, subpublications FROM pg_subscription
SELECT subconninfo FROM pg_subscription
SELECT * FROM pg_subscription
