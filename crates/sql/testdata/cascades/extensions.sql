CREATE EXTENSION hstore
CREATE EXTENSION citext
CREATE TABLE t (a int, b text)
CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'
CREATE TRIGGER tr BEFORE UPDATE ON t FOR EACH ROW WHEN ((NEW.b::hstore -> 'a') = '1') EXECUTE FUNCTION fire()
DROP EXTENSION hstore
DROP TRIGGER tr ON t
CREATE RULE r AS ON INSERT TO t WHERE (new.b::hstore -> 'a') = '1' DO NOTHING
DROP EXTENSION hstore
DROP RULE r ON t
CREATE RULE r AS ON INSERT TO t DO ALSO DELETE FROM t WHERE defined(b::hstore, 'x')
DROP EXTENSION hstore
DROP RULE r ON t
CREATE MATERIALIZED VIEW m AS SELECT akeys(b::hstore) AS k FROM t
DROP EXTENSION hstore
DROP MATERIALIZED VIEW m
CREATE DOMAIN d AS int DEFAULT array_length(akeys('a=>1'), 1)
DROP EXTENSION hstore
DROP DOMAIN d
CREATE DOMAIN d AS text CONSTRAINT fine CHECK (VALUE::citext <> 'A')
DROP EXTENSION citext
BEGIN
DROP EXTENSION citext CASCADE
SELECT 'a'::d
SELECT conname FROM pg_constraint WHERE contypid = 'd'::regtype
ROLLBACK
SELECT 'a'::d
DROP DOMAIN d
CREATE FUNCTION f(a int DEFAULT array_length(akeys('a=>1'), 1)) RETURNS int LANGUAGE sql AS 'SELECT a'
DROP EXTENSION hstore
DROP FUNCTION f
CREATE TRIGGER tr BEFORE UPDATE ON t FOR EACH ROW WHEN ((NEW.b::hstore -> 'a') = '1') EXECUTE FUNCTION fire()
CREATE RULE r AS ON INSERT TO t WHERE (new.b::hstore -> 'a') = '1' DO NOTHING
CREATE MATERIALIZED VIEW m AS SELECT akeys(b::hstore) AS k FROM t
CREATE VIEW v AS SELECT k FROM m
BEGIN
DROP EXTENSION hstore CASCADE
SELECT relname FROM pg_class WHERE relname IN ('m', 'v', 't')
SELECT tgname FROM pg_trigger
SELECT rulename FROM pg_rules WHERE schemaname = 'public'
ROLLBACK
SELECT relname FROM pg_class WHERE relname IN ('m', 'v', 't') ORDER BY 1
DROP EXTENSION hstore CASCADE
INSERT INTO t VALUES (1, 'x')
UPDATE t SET b = 'y'
SELECT * FROM t
CREATE EXTENSION hstore
CREATE TABLE gen (h text, g text[] GENERATED ALWAYS AS (akeys(h::hstore)) STORED, n int)
CREATE INDEX ix ON gen ((h::hstore -> 'a'))
CREATE INDEX ip ON gen (n) WHERE defined(h::hstore, 'b')
CREATE VIEW vg AS SELECT g FROM gen
DROP EXTENSION hstore
DROP EXTENSION hstore CASCADE
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'gen'::regclass
SELECT attname FROM pg_attribute WHERE attrelid = 'gen'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY 1
INSERT INTO gen VALUES ('x', 1)
CREATE TABLE keyed (c citext PRIMARY KEY, d int)
CREATE INDEX lowered ON keyed (lower(c), d)
CREATE TABLE refers (c citext REFERENCES keyed, d int)
CREATE VIEW reads AS SELECT max(c) AS m FROM keyed
DROP EXTENSION citext
DROP EXTENSION citext CASCADE
SELECT attname FROM pg_attribute WHERE attrelid IN ('keyed'::regclass, 'refers'::regclass) AND attnum > 0 AND NOT attisdropped ORDER BY 1
SELECT conname FROM pg_constraint WHERE conrelid IN ('keyed'::regclass, 'refers'::regclass)
