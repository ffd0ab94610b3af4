SELECT pg_temp.f()
DROP FUNCTION IF EXISTS pg_temp.f()
CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 41'
SELECT pg_temp.f(), pg_temp.f() + 1
SELECT f()
SELECT * FROM pg_temp.f()
CREATE OR REPLACE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 42'
CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 43'
CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'
SELECT f(), pg_temp.f(), public.f()
SET search_path = pg_temp, public
SELECT f(), pg_temp.f()
CREATE FUNCTION g(a int) RETURNS int LANGUAGE sql AS 'SELECT a * 2'
SELECT g(2)
SELECT pg_temp.g(2)
SELECT pg_temp.g('x')
SELECT pg_temp.h(2)
RESET search_path
CREATE TABLE users (id serial PRIMARY KEY, name text UNIQUE)
CREATE OR REPLACE FUNCTION pg_temp.testfunc(OUT response users, OUT caught text) RETURNS RECORD AS $$ BEGIN INSERT INTO users (name) VALUES ('a') RETURNING * INTO response; EXCEPTION WHEN unique_violation THEN GET STACKED DIAGNOSTICS caught = PG_EXCEPTION_DETAIL; END; $$ LANGUAGE plpgsql
SELECT (testfunc.response).id, (testfunc.response).name, testfunc.caught FROM pg_temp.testfunc()
SELECT (testfunc.response).id, (testfunc.response).name, testfunc.caught FROM pg_temp.testfunc()
DROP FUNCTION IF EXISTS pg_temp.testfunc()
SELECT pg_temp.testfunc()
BEGIN
CREATE FUNCTION pg_temp.k() RETURNS int LANGUAGE sql AS 'SELECT 7'
SELECT pg_temp.k()
ROLLBACK
SELECT pg_temp.k()
CREATE PROCEDURE pg_temp.p(a int) LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'p %', a; END $$
CALL pg_temp.p(3)
CALL p(3)
ALTER FUNCTION pg_temp.g(int) RENAME TO g2
SELECT pg_temp.g2(4)
ALTER FUNCTION pg_temp.g2(int) SET SCHEMA public
ALTER FUNCTION public.f() SET SCHEMA pg_temp
DROP FUNCTION g2(int)
DROP FUNCTION pg_temp.g2(int)
SELECT count(*) FROM pg_proc WHERE pronamespace = pg_my_temp_schema()
DISCARD TEMP
SELECT pg_temp.f()
SELECT count(*) FROM pg_proc WHERE pronamespace = pg_my_temp_schema()
