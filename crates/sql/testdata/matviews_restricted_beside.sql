CREATE FUNCTION tmp() RETURNS int LANGUAGE plpgsql AS $$begin create temp table gone (a int); return 1; end$$
CREATE FUNCTION tmp_as() RETURNS int LANGUAGE plpgsql AS $$begin create temp table gone as select 1 as a; return 1; end$$
CREATE FUNCTION tmp_seq() RETURNS int LANGUAGE plpgsql AS $$begin create temp sequence gone; return 1; end$$
CREATE FUNCTION tmp_view() RETURNS int LANGUAGE plpgsql AS $$begin create temp view gone as select 1 as a; return 1; end$$
CREATE FUNCTION becomes() RETURNS int LANGUAGE plpgsql AS $$begin set role postgres; return 1; end$$
CREATE FUNCTION becomes_local() RETURNS int LANGUAGE plpgsql AS $$begin set local role none; return 1; end$$
CREATE FUNCTION resets() RETURNS int LANGUAGE plpgsql AS $$begin reset role; return 1; end$$
CREATE FUNCTION definer() RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS $$begin create temp table gone (a int); return 1; end$$
CREATE FUNCTION definer_becomes() RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS $$begin set role none; return 1; end$$
CREATE FUNCTION hears() RETURNS int LANGUAGE plpgsql AS $$begin listen x; return 1; end$$
CREATE FUNCTION unhears() RETURNS int LANGUAGE plpgsql AS $$begin unlisten *; return 1; end$$
CREATE FUNCTION sets() RETURNS text LANGUAGE plpgsql AS $$begin perform set_config('app.x', 'within', false); set work_mem = '5MB'; return current_setting('app.x') || ' ' || current_setting('work_mem'); end$$
CREATE FUNCTION catches() RETURNS text LANGUAGE plpgsql AS $$begin begin create temp table gone (a int); exception when insufficient_privilege then return sqlerrm; end; return 'made'; end$$
CREATE MATERIALIZED VIEW m AS SELECT tmp() AS a
CREATE MATERIALIZED VIEW m AS SELECT tmp_as() AS a
CREATE MATERIALIZED VIEW m AS SELECT tmp_seq() AS a
CREATE MATERIALIZED VIEW m AS SELECT tmp_view() AS a
CREATE MATERIALIZED VIEW m AS SELECT becomes() AS a
CREATE MATERIALIZED VIEW m AS SELECT becomes_local() AS a
CREATE MATERIALIZED VIEW m AS SELECT resets() AS a
CREATE MATERIALIZED VIEW m AS SELECT definer() AS a
CREATE MATERIALIZED VIEW m AS SELECT definer_becomes() AS a
CREATE MATERIALIZED VIEW m AS SELECT hears() AS a
CREATE MATERIALIZED VIEW m AS SELECT unhears() AS a
CREATE MATERIALIZED VIEW m AS SELECT tmp() AS a WITH NO DATA
REFRESH MATERIALIZED VIEW m
DROP MATERIALIZED VIEW m
CREATE MATERIALIZED VIEW m AS SELECT becomes() AS a WITH NO DATA
REFRESH MATERIALIZED VIEW m
SELECT current_user, session_user
SET app.x = 'before'
CREATE MATERIALIZED VIEW s AS SELECT sets() AS a
SELECT * FROM s
SELECT current_setting('app.x', true), current_setting('work_mem')
SET app.x = 'own'
REFRESH MATERIALIZED VIEW s
SELECT current_setting('app.x', true), current_setting('work_mem')
BEGIN
SET LOCAL app.x = 'local'
REFRESH MATERIALIZED VIEW s
SELECT current_setting('app.x', true)
CREATE MATERIALIZED VIEW s2 AS SELECT set_config('app.x', 'there', true) AS a
SELECT current_setting('app.x', true)
COMMIT
SELECT current_setting('app.x', true)
CREATE MATERIALIZED VIEW c AS SELECT catches() AS a
SELECT * FROM c
REFRESH MATERIALIZED VIEW c
SELECT * FROM c
SELECT tmp()
SELECT * FROM gone
SELECT sets()
SELECT current_setting('app.x', true), current_setting('work_mem')
