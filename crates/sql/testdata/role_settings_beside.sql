CREATE ROLE rs LOGIN
CREATE ROLE other LOGIN
ALTER ROLE rs SET search_path = app, public
ALTER ROLE rs SET statement_timeout TO '5s'
ALTER ROLE rs SET timezone = 'Europe/Vienna'
ALTER ROLE rs SET app.color = 'red'
ALTER ROLE rs SET nope = 1
ALTER ROLE rs SET statement_timeout = 'x'
ALTER ROLE nope SET statement_timeout = 1
ALTER ROLE rs IN DATABASE nope SET statement_timeout = 1
ALTER ROLE rs IN DATABASE postgres SET work_mem = '8MB'
ALTER ROLE ALL SET lock_timeout = 7000
ALTER DATABASE postgres SET lock_timeout = 8000
ALTER DATABASE nope SET lock_timeout = 8000
SELECT rolname, rolconfig FROM pg_roles WHERE rolname IN ('rs', 'other') ORDER BY 1
SELECT usename, useconfig FROM pg_user WHERE usename = 'rs'
SELECT setdatabase <> 0, setrole <> 0, setconfig FROM pg_db_role_setting ORDER BY setdatabase, setrole
ALTER ROLE rs SET statement_timeout = 6000
ALTER ROLE rs RESET app.color
SELECT rolconfig FROM pg_roles WHERE rolname = 'rs'
ALTER ROLE rs SET timezone TO DEFAULT
ALTER ROLE rs RESET nope
SELECT rolconfig FROM pg_roles WHERE rolname = 'rs'
BEGIN
ALTER ROLE rs RESET ALL
SELECT rolconfig FROM pg_roles WHERE rolname = 'rs'
ROLLBACK
SELECT rolconfig FROM pg_roles WHERE rolname = 'rs'
SET ROLE other
ALTER ROLE other SET statement_timeout = 9
ALTER ROLE rs SET statement_timeout = 9
ALTER ROLE ALL SET statement_timeout = 9
ALTER DATABASE postgres SET statement_timeout = 9
RESET ROLE
DROP ROLE rs
ALTER ROLE ALL RESET ALL
ALTER DATABASE postgres RESET lock_timeout
SELECT setconfig FROM pg_db_role_setting
DROP ROLE other
SELECT setconfig FROM pg_db_role_setting
CREATE SEQUENCE s1 START 5 INCREMENT 5 MAXVALUE 1000
SELECT nextval('s1'), nextval('s1')
COMMENT ON SEQUENCE s1 IS 'numbers'
CREATE TABLE st (a int DEFAULT nextval('s1'), b serial)
ALTER SEQUENCE s1 RENAME TO s2
SELECT currval('s2'), lastval()
SELECT nextval('s2')
SELECT nextval('s1')
INSERT INTO st DEFAULT VALUES
SELECT * FROM st
SELECT obj_description('s2'::regclass)
ALTER SEQUENCE s2 RENAME TO st
ALTER SEQUENCE nope RENAME TO x
ALTER SEQUENCE IF EXISTS nope RENAME TO x
ALTER SEQUENCE st_b_seq RENAME TO numbers
INSERT INTO st DEFAULT VALUES
SELECT * FROM st ORDER BY b
SELECT pg_get_serial_sequence('st', 'b')
CREATE SCHEMA sq
ALTER SEQUENCE s2 SET SCHEMA sq
ALTER SEQUENCE numbers SET SCHEMA sq
ALTER SEQUENCE sq.s2 SET SCHEMA nope
SELECT nextval('sq.s2')
SELECT increment_by, max_value, start_value FROM pg_sequences WHERE sequencename = 's2'
BEGIN
ALTER SEQUENCE sq.s2 RENAME TO s3
SELECT nextval('sq.s3')
ROLLBACK
SELECT nextval('sq.s2') > 20
DROP TABLE st
SELECT sequencename FROM pg_sequences ORDER BY 1
