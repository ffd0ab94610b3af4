CREATE TABLE a (i int, t text, g text GENERATED ALWAYS AS (i || t) STORED)
CREATE TABLE a2 (i int, t text, g text GENERATED ALWAYS AS (t || i) STORED)
CREATE TABLE a3 (i int, t text, g text GENERATED ALWAYS AS (i::text || t) STORED)
INSERT INTO a VALUES (1, 'x'), (2, NULL)
INSERT INTO a2 VALUES (1, 'x'), (2, NULL)
SELECT * FROM a
SELECT * FROM a2
CREATE INDEX ON a ((i || t))
CREATE INDEX ON a ((t || i))
CREATE INDEX ON a ((i || 'x'))
CREATE INDEX ON a ((t || 'x'))
CREATE INDEX ON a ((i::text || t))
CREATE INDEX ON a (t) WHERE i || t = '1x'
CREATE TABLE b (v varchar, c char(3), n name, g text GENERATED ALWAYS AS (v || c) STORED)
CREATE TABLE b (v varchar, c char(3), n name, g text GENERATED ALWAYS AS (v || n) STORED)
CREATE TABLE b (v varchar, d date, g text GENERATED ALWAYS AS (v || d) STORED)
CREATE EXTENSION hstore
CREATE EXTENSION citext
CREATE TABLE h (h hstore, c citext, k text[])
CREATE INDEX ON h ((h::text))
CREATE INDEX ON h ((c || 'x'))
CREATE INDEX ON h ((h || 'a'::text))
CREATE INDEX ON h ((c::text))
CREATE TABLE hg (h hstore, g text GENERATED ALWAYS AS (h::text) STORED)
CREATE TABLE hg2 (h text, g hstore GENERATED ALWAYS AS (h::hstore) STORED)
INSERT INTO h VALUES ('a=>1, b=>NULL', 'Abc')
INSERT INTO hg VALUES ('a=>1, b=>NULL')
SELECT * FROM hg
SELECT c FROM h WHERE h::text = '"a"=>"1", "b"=>NULL'
CREATE TABLE c (d date, s timestamptz, n numeric, u uuid, o bool, y bytea, j jsonb)
CREATE INDEX ON c ((d || 'x'::text))
CREATE INDEX ON c ((s || 'x'::text))
CREATE INDEX ON c ((n || 'x'::text))
CREATE INDEX ON c ((u || 'x'::text))
CREATE INDEX ON c (('x'::text || o))
CREATE INDEX ON c ((j::text || 'x'::text))
CREATE INDEX i2 ON a ((t || i)) WHERE i || t > '1'
SELECT pg_get_indexdef('i2'::regclass)
SELECT i FROM a WHERE t || i = 'x1' AND i || t > '1'
