CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x')

CREATE FUNCTION ex(q text) RETURNS int LANGUAGE plpgsql AS $$begin execute q; return 1; end$$

CREATE INDEX ti ON t (a)

SELECT ex('ALTER TABLE t ADD c int') FROM t

SELECT ex('ALTER TABLE t ENABLE TRIGGER ALL') FROM t

SELECT ex('DROP TABLE t') FROM t

SELECT ex('TRUNCATE t') FROM t

SELECT ex('CREATE INDEX ON t (b)') FROM t

WITH w AS (SELECT * FROM t) SELECT ex('ALTER TABLE t ADD c int') FROM w

SELECT (SELECT ex('TRUNCATE t') FROM t LIMIT 1)

SELECT ex('ALTER TABLE t ADD c int')

SELECT * FROM t

CREATE VIEW vt AS SELECT a FROM t

SELECT ex('TRUNCATE t') FROM vt

DROP VIEW vt

CREATE MATERIALIZED VIEW mv AS SELECT a FROM t

SELECT ex('REFRESH MATERIALIZED VIEW mv') FROM mv

DROP MATERIALIZED VIEW mv

CREATE TABLE pa (a int) PARTITION BY LIST (a); CREATE TABLE pa1 PARTITION OF pa FOR VALUES IN (1); INSERT INTO pa VALUES (1)

SELECT ex('DROP TABLE pa1') FROM pa

SELECT ex('TRUNCATE pa') FROM pa1

SELECT ex('ALTER TABLE pa ADD x int') FROM pa1

CREATE FUNCTION does() RETURNS trigger LANGUAGE plpgsql AS $$begin execute tg_argv[0]; return new; end$$

CREATE TABLE w (a int); CREATE TRIGGER t BEFORE INSERT ON w FOR EACH ROW EXECUTE FUNCTION does('alter table w add c int')

INSERT INTO w VALUES (1)

DROP TRIGGER t ON w; CREATE TRIGGER t AFTER INSERT ON w FOR EACH ROW EXECUTE FUNCTION does('truncate w')

INSERT INTO w VALUES (1)

DROP TRIGGER t ON w; CREATE TRIGGER t AFTER INSERT ON w FOR EACH STATEMENT EXECUTE FUNCTION does('drop table w')

INSERT INTO w VALUES (1)

DROP TRIGGER t ON w; CREATE TRIGGER t BEFORE INSERT ON w FOR EACH STATEMENT EXECUTE FUNCTION does('alter table w add d int')

INSERT INTO w VALUES (1)

DROP TRIGGER t ON w; CREATE TRIGGER t BEFORE TRUNCATE ON w FOR EACH STATEMENT EXECUTE FUNCTION does('alter table w add d int')

TRUNCATE w

DROP TRIGGER t ON w; CREATE TRIGGER t AFTER INSERT ON w FOR EACH ROW EXECUTE FUNCTION does('drop trigger t on w')

INSERT INTO w VALUES (1)

SELECT * FROM w

ALTER TABLE w ADD e int

DROP TABLE w

CREATE SCHEMA s

CREATE FUNCTION s.big(a int) RETURNS boolean LANGUAGE sql AS 'SELECT a > 10'

CREATE FUNCTION says() RETURNS trigger LANGUAGE plpgsql AS $$begin raise notice '% % %', tg_name, tg_op, new; return new; end$$

CREATE TABLE k (a int, b text, c int)

SET search_path TO public, s

CREATE TRIGGER big BEFORE INSERT ON k FOR EACH ROW WHEN (big(NEW.a) AND NEW."b" IS NOT NULL) EXECUTE FUNCTION says()

CREATE TRIGGER differs BEFORE UPDATE ON k FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION says()

CREATE TRIGGER of_c BEFORE UPDATE OF c ON k FOR EACH ROW WHEN (OLD.c+1 = new.c or new.b in ('x','y')) EXECUTE FUNCTION says('a', 'it''s')

RESET search_path

INSERT INTO k VALUES (11, 'x', 1), (2, 'y', 2), (12, NULL, 3)

SELECT tgname, pg_get_triggerdef(oid), pg_get_triggerdef(oid, true) FROM pg_trigger WHERE tgrelid = 'k'::regclass ORDER BY tgname

SELECT trigger_name, action_condition FROM information_schema.triggers WHERE event_object_table = 'k' ORDER BY trigger_name

ALTER TABLE k RENAME b TO "B b"

ALTER TABLE k RENAME a TO z

ALTER TABLE k RENAME c TO cc

SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'k'::regclass ORDER BY tgname

INSERT INTO k VALUES (13, 'x', 1), (2, 'y', 2)

UPDATE k SET cc = 5 WHERE z = 2

UPDATE k SET cc = 5 WHERE z = 2

ALTER TABLE k DROP COLUMN z

ALTER TABLE k DROP COLUMN cc

ALTER TABLE k ALTER COLUMN cc TYPE bigint

ALTER TABLE k ADD a int

DROP FUNCTION s.big(int)

BEGIN

ALTER TABLE k DROP COLUMN z CASCADE

SELECT tgname FROM pg_trigger WHERE tgrelid = 'k'::regclass ORDER BY tgname

ROLLBACK

DROP FUNCTION s.big(int) CASCADE

ALTER TABLE k DROP COLUMN cc CASCADE

SELECT tgname FROM pg_trigger WHERE tgrelid = 'k'::regclass ORDER BY tgname

CREATE TRIGGER x BEFORE INSERT ON k FOR EACH ROW WHEN (new.nix) EXECUTE FUNCTION says()

CREATE TRIGGER x BEFORE INSERT ON k FOR EACH ROW WHEN (new.z) EXECUTE FUNCTION says()

CREATE TRIGGER x BEFORE INSERT ON k FOR EACH ROW WHEN (z > 1) EXECUTE FUNCTION says()

CREATE TRIGGER x BEFORE INSERT ON k FOR EACH ROW WHEN (old.z > 1) EXECUTE FUNCTION says()

CREATE TRIGGER x BEFORE DELETE ON k FOR EACH ROW WHEN (new.z > 1) EXECUTE FUNCTION says()

CREATE TRIGGER x BEFORE INSERT ON k WHEN (new.z > 1) EXECUTE FUNCTION says()

CREATE TRIGGER x BEFORE INSERT ON k FOR EACH ROW WHEN (EXISTS (SELECT 1)) EXECUTE FUNCTION says()

CREATE TRIGGER x BEFORE INSERT ON k FOR EACH ROW WHEN (count(new.z) > 1) EXECUTE FUNCTION says()

CREATE TRIGGER x BEFORE INSERT ON k FOR EACH ROW WHEN (generate_series(1, new.z) > 1) EXECUTE FUNCTION says()

CREATE TRIGGER x BEFORE INSERT ON k FOR EACH ROW WHEN (new.tableoid > 1) EXECUTE FUNCTION says()

DROP TABLE k

CREATE TABLE k (a int); CREATE TRIGGER x BEFORE INSERT ON k FOR EACH ROW WHEN (1 / new.a > 0) EXECUTE FUNCTION says()

INSERT INTO k VALUES (0)

DROP TRIGGER x ON k

CREATE FUNCTION s.small(a int) RETURNS boolean LANGUAGE sql AS 'SELECT a < 10'

CREATE TRIGGER x BEFORE INSERT ON k FOR EACH ROW WHEN (s.small(new.a)) EXECUTE FUNCTION says()

CREATE ROLE r0; GRANT INSERT ON k TO r0; SET ROLE r0

INSERT INTO k VALUES (1), (11)

SELECT s.small(1)

RESET ROLE

ALTER FUNCTION says() RENAME TO says_it

INSERT INTO k VALUES (2)

ALTER FUNCTION says_it() RENAME TO says

COMMENT ON TRIGGER x ON k IS 'of x'

DROP FUNCTION says()

DROP FUNCTION says() CASCADE

SELECT count(*) FROM pg_description WHERE description = 'of x'

DROP TABLE k

CREATE TABLE q (a int, b int) PARTITION BY LIST (a); CREATE TABLE q1 PARTITION OF q FOR VALUES IN (1); CREATE TABLE q2 PARTITION OF q FOR VALUES IN (2)

CREATE FUNCTION moves() RETURNS trigger LANGUAGE plpgsql AS $$begin new.a := new.b; return new; end$$

CREATE TRIGGER movement BEFORE INSERT ON q FOR EACH ROW EXECUTE FUNCTION moves()

INSERT INTO q VALUES (1, 2)

INSERT INTO q VALUES (1, 9)

INSERT INTO q1 VALUES (1, 2)

INSERT INTO q VALUES (1, 2) ON CONFLICT DO NOTHING

INSERT INTO q VALUES (1, 1)

DROP TRIGGER movement ON q; CREATE TRIGGER own BEFORE INSERT ON q1 FOR EACH ROW EXECUTE FUNCTION moves()

INSERT INTO q VALUES (1, 2)

INSERT INTO q VALUES (1, 2) ON CONFLICT DO NOTHING

INSERT INTO q VALUES (1, 1)

CREATE FUNCTION returns_it() RETURNS trigger LANGUAGE plpgsql AS $$begin new.a := 1; return new; end$$

CREATE TRIGGER own_back BEFORE INSERT ON q1 FOR EACH ROW EXECUTE FUNCTION returns_it()

INSERT INTO q VALUES (1, 2)

SELECT tableoid::regclass, * FROM q ORDER BY 1, 2, 3

CREATE FUNCTION sets() RETURNS text LANGUAGE plpgsql SET datestyle = 'German' AS $$begin set work_mem = '3MB'; set local statement_timeout = '7s'; perform set_config('app.x', 'y', false); return current_setting('datestyle'); end$$

SELECT sets()

SHOW datestyle

SHOW work_mem

SELECT current_setting('app.x')

BEGIN

SELECT sets()

SHOW statement_timeout

SHOW datestyle

ROLLBACK

CREATE FUNCTION sets_its() RETURNS text LANGUAGE plpgsql SET work_mem = '5MB' AS $$begin set work_mem = '6MB'; return current_setting('work_mem'); end$$

SELECT sets_its()

SHOW work_mem

CREATE FUNCTION sets_its_locally() RETURNS text LANGUAGE plpgsql SET work_mem = '5MB' AS $$begin set local work_mem = '8MB'; return current_setting('work_mem'); end$$

SELECT sets_its_locally()

SHOW work_mem

CREATE FUNCTION fails() RETURNS text LANGUAGE plpgsql SET work_mem = '5MB' AS $$begin raise exception 'no'; end$$

SELECT fails()

SHOW work_mem

RESET work_mem

CREATE ROLE r1

CREATE FUNCTION turns() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$begin perform set_config('role', 'r1', false); end$$

SELECT turns()

CREATE FUNCTION turns_back() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$begin perform set_config('role', 'none', true); end$$

SELECT turns_back()

CREATE FUNCTION turns_session() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$begin perform set_config('session_authorization', 'r1', true); end$$

SELECT turns_session()

SELECT current_user

BEGIN

SELECT set_config('transaction_isolation', 'serializable', true)

ROLLBACK

BEGIN READ ONLY

SELECT set_config('transaction_read_only', 'off', true)

ROLLBACK

BEGIN

SELECT set_config('transaction_isolation', 'read committed', true)

SELECT set_config('transaction_read_only', 'on', true)

CREATE TABLE nothing ()

ROLLBACK

CREATE TYPE mood AS ENUM ('ok'); CREATE DOMAIN d AS int; CREATE TYPE pair AS (x int, y int)

CREATE FUNCTION of_mood(m mood) RETURNS int LANGUAGE sql AS 'SELECT 1'

CREATE FUNCTION of_moods(m mood[]) RETURNS int LANGUAGE sql AS 'SELECT 1'

CREATE FUNCTION of_d() RETURNS d LANGUAGE sql AS 'SELECT 1::d'

CREATE FUNCTION of_pair(OUT p pair) LANGUAGE sql AS 'SELECT (1, 2)::pair'

CREATE FUNCTION of_nothing() RETURNS mood LANGUAGE sql AS 'SELECT NULL::mood'

CREATE VIEW of_view AS SELECT of_nothing() IS NULL AS x

DROP TYPE mood

DROP DOMAIN d

DROP TYPE pair

DROP TYPE pair CASCADE

DROP DOMAIN d CASCADE

DROP VIEW of_view

DROP TYPE mood CASCADE

SELECT count(*) FROM pg_proc WHERE proname LIKE 'of\_%'

CREATE TABLE rows_of (a int); CREATE FUNCTION of_row(r rows_of) RETURNS SETOF rows_of LANGUAGE sql AS 'SELECT r'

DROP TABLE rows_of

DROP FUNCTION of_row(rows_of)

DROP TABLE rows_of

CREATE FUNCTION one() RETURNS int LANGUAGE plpgsql AS 'begin return 1; end'

CREATE MATERIALIZED VIEW of_one AS SELECT one() AS x

DROP FUNCTION one()

DROP FUNCTION one() CASCADE

SELECT count(*) FROM pg_class WHERE relname = 'of_one'

CREATE TABLE f (a int, b text)

CREATE TRIGGER x BEFORE INSERT ON f FOR EACH ROW WHEN ((new).a > 1) EXECUTE FUNCTION does('select 1')

SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'f'::regclass

DROP TRIGGER x ON f

CREATE TRIGGER x BEFORE INSERT OR UPDATE ON f FOR EACH ROW WHEN (new IS NOT NULL) EXECUTE FUNCTION does('insert into seen values (1)')

CREATE TABLE seen (a int)

ALTER TABLE f RENAME b TO c

INSERT INTO f VALUES (1, 'x'), (2, NULL)

SELECT count(*) FROM seen

CREATE TRIGGER y AFTER UPDATE ON f FOR EACH ROW WHEN (old.a <> new.a AND (new.c LIKE 'x%' OR new.c = ANY (ARRAY['a','b'])) AND coalesce(new.a, 0)::text || 'q' <> 'b' AND CASE WHEN old.a = 1 THEN true ELSE false END) EXECUTE FUNCTION does('insert into seen values (2)')

SELECT pg_get_triggerdef(oid), pg_get_triggerdef(oid, true) FROM pg_trigger WHERE tgrelid = 'f'::regclass AND tgname = 'y'

UPDATE f SET a = a + 1

SELECT count(*) FROM seen

CREATE TRIGGER z BEFORE UPDATE ON f WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION does('insert into seen values (9)')

UPDATE f SET a = 1

SELECT a, pg_trigger_depth() FROM f

SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'f'::regclass AND tgname = 'z'

CREATE VIEW of_f AS SELECT a FROM f

ALTER TABLE f DROP a CASCADE

SELECT tgname FROM pg_trigger WHERE tgrelid = 'f'::regclass ORDER BY 1

DROP TABLE f

CREATE SCHEMA ty

SET search_path TO ty, public

CREATE TYPE ty.mood AS ENUM ('sad', 'ok')

CREATE TABLE m (a int, b mood)

CREATE TRIGGER y BEFORE INSERT ON m FOR EACH ROW WHEN (new.b = 'ok'::mood OR new.a = 7) EXECUTE FUNCTION does('insert into public.seen values (3)')

RESET search_path

INSERT INTO ty.m VALUES (4, 'ok'), (4, 'sad')

SELECT count(*) FROM seen WHERE a = 3

ALTER TYPE ty.mood RENAME TO moods

INSERT INTO ty.m VALUES (4, 'ok'), (4, 'sad')

SELECT count(*) FROM seen WHERE a = 3

SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'ty.m'::regclass

DROP TYPE ty.moods

CREATE TABLE pp (a int, b int) PARTITION BY LIST (a)

CREATE TABLE pp1 (b int, a int)

ALTER TABLE pp ATTACH PARTITION pp1 FOR VALUES IN (1)

CREATE TRIGGER y BEFORE INSERT ON pp FOR EACH ROW WHEN (new.b > 3) EXECUTE FUNCTION does('insert into seen values (4)')

INSERT INTO pp VALUES (1, 3), (1, 4)

ALTER TABLE pp RENAME b TO z

INSERT INTO pp VALUES (1, 3), (1, 4)

INSERT INTO pp1 (a, z) VALUES (1, 3), (1, 4)

SELECT count(*) FROM seen WHERE a = 4

ALTER TABLE pp DROP z

ALTER TABLE pp DROP z CASCADE

SELECT count(*) FROM pg_trigger WHERE tgrelid = 'pp'::regclass

CREATE FUNCTION de() RETURNS int LANGUAGE plpgsql AS 'begin return 7; end'

CREATE FUNCTION uses_de(a int DEFAULT de()) RETURNS int LANGUAGE sql AS 'select a'

SELECT uses_de()

DROP FUNCTION de()

DROP FUNCTION de() CASCADE

SELECT count(*) FROM pg_proc WHERE proname = 'uses_de'

CREATE TABLE of_t (a int); CREATE FUNCTION with_t(r of_t) RETURNS int LANGUAGE sql AS 'select 1'

CREATE FUNCTION with_ts(r of_t[]) RETURNS of_t[] LANGUAGE sql AS 'select r'

DROP TABLE of_t

ALTER TABLE of_t RENAME TO of_tt

DROP FUNCTION with_t(int)

DROP TABLE of_tt

CREATE SCHEMA sx; CREATE TYPE sx.ty AS ENUM ('a'); CREATE DOMAIN sx.dm AS int; CREATE TABLE sx.tb (a int)

CREATE FUNCTION of_ty(r sx.ty, d sx.dm) RETURNS int LANGUAGE sql AS 'select 1'; CREATE FUNCTION sx.of_ty(r sx.ty, d sx.dm, t sx.tb) RETURNS int LANGUAGE sql AS 'select 1'; CREATE FUNCTION sx.dft(r int DEFAULT sx.of_ty(NULL, NULL, NULL)) RETURNS int LANGUAGE sql AS 'select 1'; CREATE FUNCTION dft(r int DEFAULT sx.of_ty(NULL, NULL, NULL)) RETURNS int LANGUAGE sql AS 'select 1'

CREATE VIEW sx.v AS SELECT sx.of_ty(NULL, NULL, NULL); CREATE VIEW v AS SELECT sx.of_ty(NULL, NULL, NULL); CREATE VIEW v2 AS SELECT of_ty(NULL, NULL); CREATE MATERIALIZED VIEW m AS SELECT of_ty(NULL, NULL)

CREATE TABLE tg (a int, b sx.ty); CREATE FUNCTION sx.tr() RETURNS trigger LANGUAGE plpgsql AS 'begin return new; end'; CREATE FUNCTION tr() RETURNS trigger LANGUAGE plpgsql AS 'begin return new; end'

ALTER TABLE tg DROP b

CREATE TRIGGER a BEFORE INSERT ON tg FOR EACH ROW EXECUTE FUNCTION sx.tr()

CREATE TRIGGER b BEFORE INSERT ON tg FOR EACH ROW WHEN ('a'::sx.ty = ANY (enum_range(NULL::sx.ty))) EXECUTE FUNCTION tr()

SET client_min_messages = warning

DROP SCHEMA sx CASCADE

RESET client_min_messages

SELECT proname FROM pg_proc WHERE proname IN ('of_ty', 'dft', 'tr') ORDER BY 1

SELECT relname FROM pg_class WHERE relname IN ('v', 'v2', 'm', 'tb') ORDER BY 1

SELECT tgname FROM pg_trigger WHERE NOT tgisinternal

INSERT INTO tg VALUES (1)

CREATE ROLE ow; CREATE SCHEMA so AUTHORIZATION ow; SET ROLE ow

CREATE TYPE so.ty AS ENUM ('a'); CREATE FUNCTION so.of_ty(r so.ty) RETURNS int LANGUAGE sql AS 'select 1'

RESET ROLE

CREATE FUNCTION of_other(r so.ty) RETURNS int LANGUAGE sql AS 'select 1'

SET client_min_messages = warning

DROP OWNED BY ow CASCADE

RESET client_min_messages

SELECT proname FROM pg_proc WHERE proname IN ('of_ty', 'of_other') ORDER BY 1

CREATE TABLE k1 (a int, b int); CREATE FUNCTION k1r() RETURNS SETOF k1 LANGUAGE sql AS 'select 1, 2'; CREATE VIEW k1v AS SELECT * FROM k1r(); CREATE FUNCTION k1b(x k1v) RETURNS k1[] LANGUAGE sql AS 'select null::k1[]'

SET client_min_messages = warning

DROP TABLE k1 CASCADE

RESET client_min_messages

SELECT proname FROM pg_proc WHERE proname LIKE 'k1_'

SELECT relname FROM pg_class WHERE relname LIKE 'k1%'

CREATE TABLE gn (a int, b int, c int); CREATE TRIGGER x BEFORE UPDATE OF a, b ON gn FOR EACH ROW WHEN (old.c IS DISTINCT FROM new.c) EXECUTE FUNCTION tr()

ALTER TABLE gn DROP a

BEGIN; SAVEPOINT s; ALTER TABLE gn DROP c CASCADE; ROLLBACK TO s; COMMIT

ALTER TABLE gn ALTER c TYPE text

ALTER TABLE gn ALTER a TYPE text

SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'x'

ALTER TABLE gn RENAME a TO aa

SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'x'

ALTER TABLE gn DROP aa CASCADE

UPDATE gn SET b = 1

CREATE TABLE dp (depth int); CREATE FUNCTION dpt() RETURNS trigger LANGUAGE plpgsql AS $$begin raise notice 'd %', pg_trigger_depth(); if new.depth < 3 then insert into dp values (new.depth + 1); end if; return new; end$$; CREATE TRIGGER x BEFORE INSERT ON dp FOR EACH ROW WHEN (pg_trigger_depth() < 2) EXECUTE FUNCTION dpt()

INSERT INTO dp VALUES (0)

SELECT * FROM dp ORDER BY 1

SELECT pg_trigger_depth()

CREATE FUNCTION c1(a int) RETURNS int LANGUAGE sql AS 'select 1'; CREATE FUNCTION c2(a int DEFAULT c1(1)) RETURNS int LANGUAGE sql AS 'select 1'; CREATE OR REPLACE FUNCTION c1(a int DEFAULT c2(1)) RETURNS int LANGUAGE sql AS 'select 1'

CREATE FUNCTION c3(a int DEFAULT c2(1)) RETURNS int LANGUAGE sql AS 'select 1'; CREATE VIEW c4 AS SELECT c3(2); CREATE TABLE c5 (a int DEFAULT c3(1))

DROP FUNCTION c1(int)

DROP FUNCTION c1(int) CASCADE

SELECT count(*) FROM pg_proc WHERE proname LIKE 'c_' AND pronamespace = 'public'::regnamespace

INSERT INTO c5 DEFAULT VALUES RETURNING *

CREATE TYPE ct AS ENUM ('a'); CREATE FUNCTION c1(a ct) RETURNS int LANGUAGE sql AS 'select 1'; CREATE FUNCTION c3(a int DEFAULT c1('a')) RETURNS int LANGUAGE sql AS 'select 1'; CREATE VIEW c4 AS SELECT c3(2); CREATE TABLE c6 (a int DEFAULT c3(1))

DROP TYPE ct CASCADE

SELECT count(*) FROM pg_proc WHERE proname LIKE 'c_' AND pronamespace = 'public'::regnamespace
