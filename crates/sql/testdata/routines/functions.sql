CREATE TABLE t (id int PRIMARY KEY, v text)

CREATE FUNCTION add(a int, b int) RETURNS int LANGUAGE sql AS 'SELECT a + b'

SELECT add(1, 2), add(b => 5, a => 1), add(1, b => 2)

SELECT add(1)

SELECT add('x', 2)

CREATE FUNCTION add(a int, b int) RETURNS int LANGUAGE sql AS 'SELECT a'

CREATE OR REPLACE FUNCTION add(a int, c int) RETURNS int LANGUAGE sql AS 'SELECT a'

CREATE OR REPLACE FUNCTION add(a int, b int) RETURNS text LANGUAGE sql AS 'SELECT a::text'

CREATE FUNCTION add(a text, b text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS 'SELECT a || b'

SELECT add('x', 'y'), add('x'::text, NULL), add(1, NULL)

CREATE FUNCTION f(x int DEFAULT 3, y int DEFAULT 4) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN x * 10 + y; END $$

SELECT f(), f(1), f(y => 1), f(1, 2)

CREATE FUNCTION bad(a int DEFAULT 1, b int) RETURNS int LANGUAGE sql AS 'SELECT 1'

CREATE FUNCTION bad(a int, a int) RETURNS int LANGUAGE sql AS 'SELECT 1'

CREATE FUNCTION bad() RETURNS int LANGUAGE sql AS 'SELECT ''x''::text'

CREATE FUNCTION bad() RETURNS int LANGUAGE sql AS 'SELECT 1, 2'

CREATE FUNCTION bad() RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (1)'

CREATE FUNCTION bad() RETURNS int LANGUAGE sql AS 'SELECT nope FROM t'

CREATE FUNCTION bad() RETURNS int LANGUAGE sql AS 'SELEC 1'

CREATE FUNCTION bad() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETRUN 1; END'

CREATE FUNCTION bad() RETURNS int AS 'SELECT 1'

CREATE FUNCTION bad() RETURNS int LANGUAGE sql

CREATE FUNCTION bad() RETURNS int LANGUAGE sql IMMUTABLE STABLE AS 'SELECT 1'

CREATE FUNCTION bad() RETURNS int LANGUAGE nope AS 'SELECT 1'

CREATE FUNCTION bad() RETURNS nope LANGUAGE sql AS 'SELECT 1'

CREATE FUNCTION bad() LANGUAGE sql AS 'SELECT 1'

CREATE FUNCTION bad() RETURNS anyelement LANGUAGE sql AS 'SELECT 1'

CREATE FUNCTION bad(VARIADIC a int[], b int) RETURNS int LANGUAGE sql AS 'SELECT 1'

CREATE FUNCTION bad(VARIADIC a int) RETURNS int LANGUAGE sql AS 'SELECT 1'

CREATE FUNCTION bad(OUT a int, OUT b int) RETURNS int LANGUAGE sql AS 'SELECT 1, 2'

CREATE FUNCTION bad() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN; END $$

CREATE FUNCTION bad() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN NEXT 1; END $$

CREATE FUNCTION bad() RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$

CREATE FUNCTION bad() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$

CREATE FUNCTION bad(OUT a int) LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$

CREATE FUNCTION bad(internal) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$

CREATE FUNCTION none() RETURNS int LANGUAGE plpgsql AS $$ BEGIN END $$

SELECT none()

INSERT INTO t SELECT g, 'v' || f(g, 0) FROM generate_series(1, 3) g

SELECT * FROM t WHERE f(id) > 20 ORDER BY id

CREATE FUNCTION s(n int) RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1..n LOOP RETURN NEXT i; END LOOP; RETURN QUERY SELECT 100; END $$

SELECT * FROM s(3)

SELECT s(2)

SELECT id, s(id) FROM t ORDER BY 1, 2

SELECT x, n FROM s(2) WITH ORDINALITY AS a(x, n)

SELECT * FROM t, LATERAL s(t.id) x ORDER BY 1, 3

CREATE FUNCTION tab() RETURNS TABLE (id int, v text) LANGUAGE sql AS 'SELECT id, v FROM t ORDER BY id'

SELECT * FROM tab() ORDER BY id

SELECT tab()

SELECT v FROM tab() WHERE id = 2

CREATE FUNCTION tabp(lo int) RETURNS TABLE (a int, b text) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT id, v FROM t WHERE id >= lo; a := 99; b := 'last'; RETURN NEXT; END $$

SELECT * FROM tabp(2) ORDER BY a

CREATE FUNCTION rt(i int) RETURNS t LANGUAGE plpgsql AS $$ DECLARE r t; BEGIN SELECT * INTO r FROM t WHERE t.id = i; RETURN r; END $$

SELECT * FROM rt(2)

SELECT (rt(1)).v

SELECT rt(9) IS NULL

CREATE FUNCTION rs() RETURNS SETOF t LANGUAGE sql AS 'SELECT * FROM t ORDER BY id DESC'

SELECT * FROM rs() ORDER BY id

SELECT v FROM rs() WHERE id < 3 ORDER BY v

CREATE FUNCTION rec() RETURNS record LANGUAGE sql AS 'SELECT 1, ''x''::text'

SELECT * FROM rec() AS r(a int, b text)

SELECT * FROM rec()

SELECT rec()

CREATE FUNCTION o(IN a int, OUT b int, OUT c text) LANGUAGE plpgsql AS $$ BEGIN b := a + 1; c := 'x' || a; END $$

SELECT * FROM o(4)

SELECT o(4), (o(5)).c

CREATE FUNCTION io(INOUT a int, IN b int) LANGUAGE plpgsql AS $$ BEGIN a := a * b; END $$

SELECT io(3, 4)

SELECT * FROM io(3, 4)

CREATE FUNCTION div(a int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'in %', a; RETURN 1 / a; END $$

SELECT div(0)

CREATE FUNCTION outer_div(a int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE r int;
BEGIN
  r := div(a);
  RETURN r;
END $$

SELECT outer_div(0)

CREATE FUNCTION catches(a int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM div(a); RETURN 'fine'; EXCEPTION WHEN division_by_zero THEN RETURN sqlerrm; END $$

SELECT catches(0), catches(1)

CREATE FUNCTION sqlfail() RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (1, ''dup''); SELECT 1'

SELECT sqlfail()

CREATE FUNCTION fac(n numeric) RETURNS numeric LANGUAGE plpgsql AS $$ BEGIN IF n <= 1 THEN RETURN 1; END IF; RETURN n * fac(n - 1); END $$

SELECT fac(20)

CREATE FUNCTION w(i int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (i, 'w'); END $$

SELECT w(10)

SELECT w(g) FROM generate_series(11, 13) g

SELECT count(*) FROM t

SELECT w(14), (SELECT count(*) FROM t)

CREATE FUNCTION stable_w() RETURNS int LANGUAGE plpgsql STABLE AS $$ BEGIN INSERT INTO t VALUES (77, 'w'); RETURN 1; END $$

SELECT stable_w()

CREATE FUNCTION any2(a anyelement, b anyelement) RETURNS anyarray LANGUAGE sql AS 'SELECT ARRAY[a, b]'

SELECT any2(1, 2), any2('a'::text, 'b')

SELECT any2(1, 'x'::text)

CREATE FUNCTION anyp(a anyelement) RETURNS anyelement LANGUAGE plpgsql AS $$ BEGIN RETURN a; END $$

SELECT anyp(1), anyp('x'::text), anyp(now() IS NULL)

CREATE FUNCTION var(VARIADIC a int[]) RETURNS int LANGUAGE sql AS 'SELECT sum(x)::int FROM unnest(a) x'

SELECT var(1, 2, 3), var(VARIADIC ARRAY[4, 5])

CREATE FUNCTION nm(int, text) RETURNS text LANGUAGE sql AS 'SELECT $2 || $1'

SELECT nm(1, 'x')

CREATE FUNCTION amb(id int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT id FROM t LIMIT 1); END $$

SELECT amb(1)

CREATE FUNCTION cols(id int) RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM t WHERE t.id = cols.id'

SELECT cols(1)

CREATE FUNCTION ddl() RETURNS int LANGUAGE plpgsql AS $$ BEGIN CREATE TABLE made (a int); INSERT INTO made VALUES (1), (2); RETURN (SELECT count(*) FROM made); END $$

SELECT ddl()

SELECT * FROM made ORDER BY a

CREATE FUNCTION dyn(n text) RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE 'SELECT a FROM ' || quote_ident(n) || ' WHERE a > $1' USING 1; END $$

SELECT * FROM dyn('made')

CREATE FUNCTION misfit() RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT 'x'::text; END $$

SELECT * FROM misfit()

CREATE FUNCTION cast_back() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 'x'; END $$

SELECT cast_back()

SELECT * FROM t WHERE id = f(0, 1)

UPDATE t SET v = add(v, '!') WHERE id = 1

SELECT v FROM t WHERE id = 1

DELETE FROM t WHERE id = add(10, 1)

CREATE TABLE d (a int DEFAULT f(7), b int)

INSERT INTO d (b) VALUES (1)

SELECT * FROM d

CREATE VIEW v AS SELECT id, add(id, 1) AS more FROM t

SELECT * FROM v WHERE id = 1

SELECT pg_get_viewdef('v'::regclass)

SELECT pg_get_functiondef('add(int,int)'::regprocedure)

SELECT pg_get_functiondef('tab'::regproc)

SELECT pg_get_function_arguments(oid), pg_get_function_identity_arguments(oid), pg_get_function_result(oid) FROM pg_proc WHERE proname IN ('o', 'io', 'var', 'tab', 's', 'f', 'nm') ORDER BY proname

SELECT proname, prokind, provolatile, proisstrict, proretset, pronargs, pronargdefaults, prorettype::regtype, proargmodes, proargnames, prosrc, prolang = 14 AS is_sql FROM pg_proc WHERE proname IN ('add', 'o', 'tab', 'f') ORDER BY proname, pronargs, prosrc

SELECT routine_name, routine_type, data_type, routine_body, external_language, is_deterministic, security_type FROM information_schema.routines WHERE specific_schema = 'public' AND routine_name IN ('add', 'f', 's') ORDER BY 1, 3

SELECT parameter_name, ordinal_position, parameter_mode, data_type FROM information_schema.parameters WHERE specific_schema = 'public' AND specific_name LIKE 'o\_%' ORDER BY 2

ALTER FUNCTION add(text, text) VOLATILE CALLED ON NULL INPUT SECURITY DEFINER

SELECT pg_get_functiondef('add(text,text)'::regprocedure)

ALTER FUNCTION add(text, text) SET search_path TO public, pg_temp

SELECT proconfig, prosecdef FROM pg_proc WHERE proname = 'add' AND prosecdef

SELECT add('a', 'b'::text)

ALTER FUNCTION add(text, text) RESET ALL

ALTER FUNCTION add RENAME TO plus

ALTER FUNCTION add(text, text) RENAME TO plus

SELECT plus('a', 'b'::text)

CREATE SCHEMA other

ALTER FUNCTION plus SET SCHEMA other

SELECT plus('a', 'b'::text)

SELECT other.plus('a', 'b'::text)

SELECT other.nope(1)

SELECT nope.plus(1)

DROP FUNCTION nope(int)

DROP FUNCTION IF EXISTS nope(int), nope

DROP FUNCTION other.plus(int, int)

DROP FUNCTION other.plus

COMMENT ON FUNCTION s(int) IS 'counts'

SELECT obj_description('s(int)'::regprocedure, 'pg_proc')

CREATE ROLE r1

REVOKE EXECUTE ON FUNCTION s(int) FROM PUBLIC

GRANT EXECUTE ON FUNCTION f(int, int) TO r1

SET ROLE r1

SELECT s(1)

SELECT f(1)

CREATE OR REPLACE FUNCTION f(x int DEFAULT 3, y int DEFAULT 4) RETURNS int LANGUAGE sql AS 'SELECT 1'

DROP FUNCTION f(int, int)

RESET ROLE

CREATE TABLE secret (a int)

INSERT INTO secret VALUES (42)

CREATE FUNCTION peek() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT a FROM secret'

CREATE FUNCTION peek_own() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT a FROM secret); END'

CREATE FUNCTION who() RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT current_user::text'

SET ROLE r1

SELECT peek(), who(), current_user

SELECT peek_own()

RESET ROLE

CREATE FUNCTION setting() RETURNS text LANGUAGE plpgsql SET datestyle TO 'German' AS $$ BEGIN RETURN current_setting('datestyle'); END $$

SELECT setting(), current_setting('datestyle')

CREATE FUNCTION sets() RETURNS void LANGUAGE plpgsql AS $$ BEGIN SET LOCAL work_mem TO '5MB'; PERFORM set_config('my.x', 'y', false); END $$

SELECT sets()

SELECT current_setting('my.x')

BEGIN

CREATE FUNCTION rolled() RETURNS int LANGUAGE sql AS 'SELECT 1'

SELECT rolled()

SAVEPOINT a

DROP FUNCTION rolled()

ROLLBACK TO a

SELECT rolled()

ROLLBACK

SELECT rolled()

SELECT sum(f(id)) FROM t WHERE id < 4

SELECT f(id), count(*) FROM t GROUP BY f(id) HAVING f(id) > 11 ORDER BY f(id)

SELECT CASE WHEN id = 1 THEN f(id) ELSE 0 END FROM t ORDER BY id LIMIT 2

SELECT array_agg(f(g)) FROM generate_series(1, 3) g

SELECT (SELECT f(t.id) FROM (SELECT 1) x) FROM t WHERE id = 2

SELECT 'f(int,int)'::regprocedure, 's'::regproc

CREATE PROCEDURE pr(a int, b text DEFAULT 'd') LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (a, b); END $$

CALL pr(200)

CALL pr(201, 'two')

CALL pr('x')

CALL pr()

CALL f(1)

SELECT pr(1)

SELECT id, v FROM t WHERE id >= 200 ORDER BY id

CREATE PROCEDURE pio(INOUT a int, IN b int) LANGUAGE plpgsql AS $$ BEGIN a := a + b; END $$

CALL pio(1, 2)

CALL pio(a => 5, b => 6)

CREATE PROCEDURE psql(a int) LANGUAGE sql AS 'INSERT INTO t VALUES (a, ''s''); DELETE FROM t WHERE id = a - 1'

CALL psql(300)

CREATE PROCEDURE nested() LANGUAGE plpgsql AS $$ BEGIN CALL pr(400, 'nested'); END $$

CALL nested()

CALL nested()

SELECT id, v FROM t WHERE id >= 300 ORDER BY id

CREATE PROCEDURE bad() RETURNS int LANGUAGE sql AS 'SELECT 1'

CREATE PROCEDURE bad() LANGUAGE sql STRICT AS 'SELECT 1'

DROP FUNCTION pr(int, text)

SELECT pg_get_functiondef('pr'::regproc)

DROP PROCEDURE pr

DROP ROUTINE pio, psql

DROP FUNCTION f(int, int)

DROP FUNCTION f(int, int) CASCADE

INSERT INTO d (b) VALUES (2)

SELECT * FROM d ORDER BY b

DROP FUNCTION add(int, int)

DROP FUNCTION add CASCADE

SELECT * FROM v

CREATE FUNCTION void_sql() RETURNS void LANGUAGE sql AS 'SELECT 1'

CREATE FUNCTION void_plpgsql() RETURNS void LANGUAGE plpgsql AS 'begin end'

SELECT void_sql() IS NULL, void_plpgsql() IS NULL

SELECT count(*), count(x) FROM void_sql() x

CREATE FUNCTION sums(n int) RETURNS int LANGUAGE sql AS 'SELECT CASE WHEN n <= 0 THEN 0 ELSE n + sums(n - 1) END'

SELECT sums(10), sums(0), sums(-1), sums(null)

SELECT sums(250)

CREATE OR REPLACE FUNCTION sums(n int) RETURNS int LANGUAGE sql AS 'SELECT CASE WHEN n <= 0 THEN 0 ELSE 2 * n + sums(n - 1) END'

SELECT sums(10)

CREATE OR REPLACE FUNCTION sums(n int) RETURNS int LANGUAGE sql AS 'SELECT sums(n, 1)'

CREATE FUNCTION counts_down(n int) RETURNS SETOF int LANGUAGE sql AS 'SELECT n UNION ALL SELECT counts_down(n - 1) WHERE n > 0'

SELECT counts_down(3)

CREATE FUNCTION never_made(n int) RETURNS int LANGUAGE sql AS 'SELECT never_made(n, 1)'

SELECT count(*) FROM pg_proc WHERE proname = 'never_made'

CREATE FUNCTION never_made(n int) RETURNS int LANGUAGE sql AS 'SELECT never_made(n), 1'

CREATE FUNCTION never_made(n text) RETURNS int LANGUAGE sql AS 'SELECT never_made(''x''::text)::text'

SELECT count(*) FROM pg_proc WHERE proname = 'never_made'

CREATE FUNCTION is_even(n int) RETURNS bool LANGUAGE sql AS 'SELECT CASE WHEN n = 0 THEN true ELSE is_odd(n - 1) END'

SET check_function_bodies = off

CREATE FUNCTION is_even(n int) RETURNS bool LANGUAGE sql AS 'SELECT CASE WHEN n = 0 THEN true ELSE is_odd(n - 1) END'

RESET check_function_bodies

CREATE FUNCTION is_odd(n int) RETURNS bool LANGUAGE sql AS 'SELECT CASE WHEN n = 0 THEN false ELSE is_even(n - 1) END'

SELECT is_even(7), is_odd(7)

CREATE TABLE nodes (id int, parent int)

INSERT INTO nodes VALUES (1, null), (2, 1), (3, 2), (4, 1)

CREATE FUNCTION path_of(n int) RETURNS text LANGUAGE sql STABLE AS 'SELECT coalesce(path_of(parent) || ''/'', '''') || id FROM nodes WHERE id = n'

SELECT id, path_of(id) FROM nodes ORDER BY id

CREATE PROCEDURE fills(n int) LANGUAGE sql AS 'INSERT INTO nodes SELECT 100 + n, null; CALL fills(n)'

CREATE OR REPLACE FUNCTION sums(n int) RETURNS int LANGUAGE sql AS 'SELECT 1'

SELECT sums(10)
