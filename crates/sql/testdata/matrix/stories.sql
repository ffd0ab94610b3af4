-- Where what was allowed before counts: each story runs in both systems, statement by statement, and each
-- answer is compared. A line is a role and its statement; a role keeps its connection during a story.

[a view follows a rename and reads nothing else]
postgres: CREATE ROLE low LOGIN
postgres: GRANT CREATE ON DATABASE rights TO low
postgres: CREATE TABLE public.pay (id int, amount int)
postgres: INSERT INTO public.pay VALUES (1, 900)
low: CREATE SCHEMA low
low: CREATE TABLE low.pay (id int, amount int)
low: INSERT INTO low.pay VALUES (1, 1)
low: CREATE VIEW low.peek AS SELECT id, amount FROM pay
low: SELECT * FROM low.peek
low: ALTER TABLE low.pay RENAME TO pay_before
low: SELECT * FROM low.peek
low: SET search_path = public
low: SELECT * FROM low.peek
low: RESET search_path
low: CREATE TABLE low.pay (id int, amount int)
low: SELECT * FROM low.peek
low: DROP TABLE low.pay_before
low: ALTER TABLE low.pay_before RENAME COLUMN amount TO sum
low: SELECT * FROM low.peek
low: DROP TABLE low.pay_before CASCADE
low: SELECT * FROM low.peek
postgres: DROP SCHEMA low CASCADE
postgres: DROP TABLE public.pay

[a view loses what its owner loses]
postgres: CREATE ROLE maker LOGIN
postgres: CREATE ROLE reader LOGIN
postgres: GRANT CREATE ON SCHEMA public TO maker
postgres: CREATE TABLE public.secret (id int PRIMARY KEY, n int)
postgres: INSERT INTO public.secret VALUES (1, 42)
postgres: GRANT SELECT ON public.secret TO maker
maker: CREATE VIEW public.shown AS SELECT n FROM secret
maker: GRANT SELECT ON public.shown TO reader
reader: SELECT * FROM public.shown
postgres: REVOKE SELECT ON public.secret FROM maker
reader: SELECT * FROM public.shown
maker: SELECT * FROM public.shown
postgres: SELECT * FROM public.shown
postgres: GRANT SELECT (n) ON public.secret TO maker
reader: SELECT * FROM public.shown
postgres: ALTER VIEW public.shown OWNER TO postgres
postgres: REVOKE SELECT (n) ON public.secret FROM maker
reader: SELECT * FROM public.shown
maker: SELECT * FROM public.shown
postgres: DROP ROLE reader
postgres: DROP TABLE public.secret CASCADE
postgres: DROP ROLE reader
postgres: DROP ROLE maker
postgres: REVOKE CREATE ON SCHEMA public FROM maker
postgres: DROP ROLE maker

[prepared statements ask again]
postgres: CREATE ROLE planner LOGIN
postgres: CREATE TABLE public.facts (id int PRIMARY KEY, n int)
postgres: INSERT INTO public.facts VALUES (1, 1)
postgres: GRANT SELECT, UPDATE ON public.facts TO planner
planner: PREPARE p AS SELECT n FROM public.facts WHERE id = 1
planner: PREPARE q AS SELECT count(*) FROM public.facts
planner: PREPARE u AS UPDATE public.facts SET n = 2
planner: EXECUTE p
planner: EXECUTE q
planner: EXECUTE u
postgres: REVOKE ALL ON public.facts FROM planner
planner: EXECUTE p
planner: EXECUTE q
planner: EXECUTE u
postgres: GRANT SELECT ON public.facts TO planner
planner: EXECUTE p
planner: EXECUTE u
planner: BEGIN
planner: DECLARE c CURSOR FOR SELECT n FROM public.facts
postgres: REVOKE SELECT ON public.facts FROM planner
planner: FETCH ALL FROM c
planner: COMMIT
planner: EXECUTE p
postgres: DROP TABLE public.facts
postgres: DROP ROLE planner

[a prepared statement of one role is asked as another]
postgres: CREATE ROLE upper LOGIN
postgres: CREATE ROLE lower LOGIN
postgres: GRANT lower TO upper
postgres: CREATE TABLE public.facts (id int PRIMARY KEY, n int)
postgres: GRANT SELECT ON public.facts TO upper
upper: PREPARE p AS SELECT n FROM public.facts WHERE id = 1
upper: PREPARE q AS SELECT sum(n) FROM public.facts
upper: EXECUTE p
upper: SET ROLE lower
upper: EXECUTE p
upper: EXECUTE q
upper: RESET ROLE
upper: EXECUTE q
postgres: PREPARE p AS SELECT n FROM public.facts WHERE id = 1
postgres: SET SESSION AUTHORIZATION lower
postgres: EXECUTE p
postgres: RESET SESSION AUTHORIZATION
postgres: EXECUTE p
postgres: DROP TABLE public.facts
postgres: DROP ROLE upper, lower

[rights come and go with their transaction]
postgres: CREATE ROLE waits LOGIN
postgres: CREATE TABLE public.later (id int)
postgres: BEGIN
postgres: GRANT SELECT ON public.later TO waits
waits: SELECT * FROM public.later
postgres: COMMIT
waits: SELECT * FROM public.later
postgres: BEGIN
postgres: REVOKE SELECT ON public.later FROM waits
postgres: SAVEPOINT a
postgres: GRANT ALL ON public.later TO waits
postgres: ROLLBACK TO a
postgres: COMMIT
waits: SELECT * FROM public.later
postgres: BEGIN
postgres: GRANT SELECT ON public.later TO waits
postgres: ROLLBACK
waits: SELECT * FROM public.later
postgres: BEGIN
postgres: CREATE ROLE fleeting
postgres: GRANT fleeting TO waits
postgres: GRANT SELECT ON public.later TO fleeting
postgres: SET LOCAL SESSION AUTHORIZATION waits
postgres: SELECT * FROM public.later
postgres: ROLLBACK
waits: SELECT * FROM public.later
postgres: SELECT count(*) FROM pg_roles WHERE rolname = 'fleeting'
postgres: DROP TABLE public.later
postgres: DROP ROLE waits

[members gain and lose at once]
postgres: CREATE ROLE team
postgres: CREATE ROLE player LOGIN
postgres: CREATE TABLE public.pitch (id int)
postgres: GRANT SELECT ON public.pitch TO team
player: SELECT * FROM public.pitch
postgres: GRANT team TO player
player: SELECT * FROM public.pitch
postgres: ALTER ROLE player NOINHERIT
player: SELECT * FROM public.pitch
player: SET ROLE team
player: SELECT * FROM public.pitch
player: RESET ROLE
postgres: ALTER ROLE player INHERIT
player: SELECT * FROM public.pitch
postgres: REVOKE team FROM player
player: SELECT * FROM public.pitch
player: SET ROLE team
postgres: ALTER TABLE public.pitch OWNER TO team
postgres: GRANT team TO player
player: ALTER TABLE public.pitch ADD COLUMN n int
player: ALTER TABLE public.pitch OWNER TO player
postgres: GRANT CREATE ON SCHEMA public TO player
player: ALTER TABLE public.pitch OWNER TO player
player: SELECT tableowner FROM pg_tables WHERE tablename = 'pitch'
postgres: DROP ROLE team
postgres: DROP ROLE player
postgres: DROP OWNED BY player
postgres: DROP ROLE player

[a name is not an identity]
postgres: CREATE ROLE first LOGIN
postgres: GRANT CREATE ON SCHEMA public TO first
first: CREATE TABLE public.mine (id int)
first: GRANT SELECT ON public.mine TO PUBLIC
postgres: ALTER ROLE first RENAME TO second
postgres: CREATE ROLE first LOGIN
postgres: SELECT tableowner FROM pg_tables WHERE tablename = 'mine'
postgres: SET SESSION AUTHORIZATION first
postgres: DROP TABLE public.mine
postgres: INSERT INTO public.mine VALUES (1)
postgres: CREATE TABLE public.other (id int)
postgres: SET SESSION AUTHORIZATION second
postgres: INSERT INTO public.mine VALUES (1)
postgres: CREATE TABLE public.other (id int)
postgres: RESET SESSION AUTHORIZATION
postgres: DROP ROLE second
postgres: DROP ROLE first
postgres: DROP TABLE public.mine, public.other
postgres: DROP ROLE second
postgres: REVOKE ALL ON SCHEMA public FROM second
postgres: DROP ROLE second

[what was granted onward falls with its ground]
postgres: CREATE ROLE one LOGIN
postgres: CREATE ROLE two LOGIN
postgres: CREATE ROLE three LOGIN
postgres: CREATE TABLE public.chain (id int)
postgres: GRANT SELECT ON public.chain TO one WITH GRANT OPTION
one: GRANT SELECT ON public.chain TO two WITH GRANT OPTION
two: GRANT SELECT ON public.chain TO three
three: SELECT * FROM public.chain
three: GRANT SELECT ON public.chain TO one
one: REVOKE SELECT ON public.chain FROM three
three: SELECT * FROM public.chain
postgres: REVOKE SELECT ON public.chain FROM one
postgres: SELECT relacl FROM pg_class WHERE relname = 'chain'
postgres: REVOKE SELECT ON public.chain FROM one CASCADE
postgres: SELECT relacl FROM pg_class WHERE relname = 'chain'
three: SELECT * FROM public.chain
postgres: GRANT SELECT ON public.chain TO one WITH GRANT OPTION
one: GRANT SELECT ON public.chain TO two
postgres: REVOKE GRANT OPTION FOR SELECT ON public.chain FROM one CASCADE
two: SELECT * FROM public.chain
one: SELECT * FROM public.chain
postgres: REVOKE ALL ON public.chain FROM postgres
postgres: SELECT relacl FROM pg_class WHERE relname = 'chain'
postgres: ALTER TABLE public.chain OWNER TO two
postgres: SELECT relacl FROM pg_class WHERE relname = 'chain'
postgres: DROP TABLE public.chain
postgres: DROP ROLE one, two, three

[new objects get default privileges]
postgres: CREATE ROLE builder LOGIN
postgres: CREATE ROLE guest LOGIN
postgres: CREATE SCHEMA site AUTHORIZATION builder
postgres: GRANT USAGE ON SCHEMA site TO guest
builder: ALTER DEFAULT PRIVILEGES IN SCHEMA site GRANT SELECT ON TABLES TO guest
builder: ALTER DEFAULT PRIVILEGES IN SCHEMA site GRANT USAGE ON SEQUENCES TO guest
builder: CREATE TABLE site.a (id serial, n int)
builder: CREATE VIEW site.v AS SELECT n FROM site.a
builder: CREATE SEQUENCE site.q
builder: CREATE TABLE site.c AS SELECT 1 AS x
guest: SELECT * FROM site.a
guest: SELECT * FROM site.v
guest: SELECT * FROM site.c
guest: SELECT nextval('site.q')
guest: INSERT INTO site.a (n) VALUES (1)
guest: SELECT relname, relacl FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'site' ORDER BY 1
postgres: CREATE TABLE site.other (id int)
guest: SELECT * FROM site.other
builder: ALTER DEFAULT PRIVILEGES IN SCHEMA site REVOKE SELECT ON TABLES FROM guest
builder: CREATE TABLE site.b (id int)
guest: SELECT * FROM site.b
builder: ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM builder
builder: CREATE TABLE site.d (id int)
builder: SELECT * FROM site.d
guest: SELECT pg_get_userbyid(defaclrole), defaclobjtype, defaclacl FROM pg_default_acl WHERE defaclrole = 'builder'::regrole ORDER BY 1, 2
postgres: DROP ROLE guest
postgres: DROP OWNED BY builder CASCADE
postgres: DROP OWNED BY guest
postgres: DROP SCHEMA site CASCADE
postgres: DROP ROLE builder, guest

[who may create roles may not reach higher]
postgres: CREATE ROLE clerk LOGIN CREATEROLE
postgres: CREATE ROLE boss SUPERUSER
clerk: CREATE ROLE hired LOGIN
clerk: ALTER ROLE hired PASSWORD 'x'
clerk: ALTER ROLE boss PASSWORD 'x'
clerk: DROP ROLE boss
clerk: ALTER ROLE boss RENAME TO janitor
clerk: ALTER ROLE postgres PASSWORD NULL
clerk: ALTER ROLE clerk SUPERUSER
clerk: GRANT boss TO clerk
clerk: GRANT hired TO clerk
clerk: SET ROLE hired
clerk: RESET ROLE
clerk: DROP ROLE hired
clerk: ALTER ROLE clerk NOCREATEROLE
clerk: CREATE ROLE again
postgres: DROP ROLE clerk, boss

[sessions of others are left alone]
postgres: CREATE ROLE idle LOGIN
postgres: CREATE ROLE other LOGIN
idle: SELECT 'a secret'
other: SELECT query, state, usename FROM pg_stat_activity WHERE usename = 'idle'
postgres: SELECT query, state, usename FROM pg_stat_activity WHERE usename = 'idle'
idle: SELECT query LIKE '%query%', usename FROM pg_stat_activity WHERE usename = 'idle'
other: SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'idle'
other: SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = 'postgres'
other: SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'postgres'
idle: SELECT 1
postgres: GRANT idle TO other
other: SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = 'idle'
other: SELECT query, usename FROM pg_stat_activity WHERE usename = 'idle'
idle: SELECT 1
postgres: ALTER ROLE idle SUPERUSER
other: SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = 'idle'
postgres: DROP ROLE idle, other

[temporary rights of a schema]
postgres: CREATE ROLE walker LOGIN
postgres: CREATE SCHEMA closed
postgres: CREATE TABLE closed.t (id int PRIMARY KEY)
postgres: GRANT ALL ON closed.t TO walker
postgres: CREATE VIEW public.door AS SELECT id FROM closed.t
postgres: GRANT SELECT ON public.door TO walker
walker: SELECT * FROM closed.t
walker: SELECT * FROM public.door
walker: SET search_path = closed
walker: SELECT * FROM t
walker: RESET search_path
walker: CREATE VIEW public.w AS SELECT * FROM closed.t
walker: SELECT 'closed.t'::regclass
walker: SELECT has_table_privilege('closed.t', 'SELECT')
walker: SELECT table_name FROM information_schema.tables WHERE table_schema = 'closed'
postgres: GRANT USAGE ON SCHEMA closed TO walker
walker: SELECT * FROM closed.t
walker: SET search_path = closed
walker: SELECT * FROM t
postgres: DROP SCHEMA closed CASCADE
postgres: DROP ROLE walker

[a view that reads itself]
postgres: CREATE TABLE public.ground (a int)
postgres: CREATE VIEW public.ring AS SELECT a FROM public.ground
postgres: CREATE VIEW public.second AS SELECT a FROM public.ring
postgres: CREATE OR REPLACE VIEW public.ring AS SELECT a FROM public.ring
postgres: SELECT a FROM public.ring
postgres: CREATE OR REPLACE VIEW public.ring AS SELECT a FROM public.second
postgres: SELECT a FROM public.ring
postgres: SELECT a FROM public.second
postgres: CREATE OR REPLACE VIEW public.ring AS SELECT a FROM public.ground
postgres: SELECT a FROM public.second
postgres: DROP TABLE public.ground CASCADE

[new functions keep to default privileges]
postgres: CREATE ROLE smith LOGIN
postgres: CREATE ROLE caller LOGIN
postgres: CREATE SCHEMA forge AUTHORIZATION smith
postgres: GRANT USAGE ON SCHEMA forge TO caller
smith: ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC
smith: CREATE FUNCTION forge.e() RETURNS int LANGUAGE sql AS 'SELECT 1'
caller: SELECT forge.e()
smith: ALTER DEFAULT PRIVILEGES IN SCHEMA forge GRANT EXECUTE ON ROUTINES TO caller
smith: CREATE FUNCTION forge.f() RETURNS int LANGUAGE sql AS 'SELECT 1'
smith: CREATE PROCEDURE forge.p() LANGUAGE sql AS 'SELECT 1'
caller: SELECT forge.f()
caller: CALL forge.p()
smith: SELECT defaclobjtype, defaclnamespace = 'forge'::regnamespace, defaclacl::text FROM pg_default_acl WHERE defaclrole = 'smith'::regrole ORDER BY 1, 2
smith: ALTER DEFAULT PRIVILEGES IN SCHEMA forge REVOKE EXECUTE ON FUNCTIONS FROM caller
smith: CREATE FUNCTION forge.g() RETURNS int LANGUAGE sql AS 'SELECT 1'
caller: SELECT forge.g()
smith: SELECT forge.g()
smith: ALTER DEFAULT PRIVILEGES GRANT SELECT ON FUNCTIONS TO caller
postgres: DROP SCHEMA forge CASCADE
postgres: DROP ROLE smith
postgres: DROP OWNED BY smith
postgres: DROP ROLE smith
postgres: DROP ROLE caller

[defaults call what their table's users may not look for]
postgres: CREATE ROLE reader LOGIN
postgres: CREATE SCHEMA far
postgres: CREATE EXTENSION "uuid-ossp" SCHEMA far
postgres: CREATE EXTENSION citext SCHEMA far
postgres: CREATE FUNCTION far.one() RETURNS int LANGUAGE sql AS 'SELECT 1'
postgres: CREATE FUNCTION public.two() RETURNS int LANGUAGE sql AS 'SELECT 2'
postgres: REVOKE EXECUTE ON FUNCTION public.two() FROM PUBLIC
postgres: CREATE TABLE public.held (i int, d uuid DEFAULT far.uuid_generate_v4(), n int DEFAULT far.one(), c far.citext DEFAULT 'a'::far.citext)
postgres: CREATE TABLE public.more (i int, n int DEFAULT public.two())
postgres: CREATE VIEW public.seen AS SELECT i FROM public.held WHERE c OPERATOR(far.=) 'A'::far.citext
postgres: GRANT ALL ON public.held, public.more, public.seen TO reader
reader: INSERT INTO held (i) VALUES (1)
reader: INSERT INTO held (i) SELECT 2
reader: SELECT i, n, d IS NOT NULL FROM held ORDER BY i
reader: SELECT i FROM seen ORDER BY i
reader: SELECT far.one()
reader: INSERT INTO more (i) VALUES (1)
reader: INSERT INTO more VALUES (1, DEFAULT)
reader: INSERT INTO more VALUES (1, 7)
reader: SELECT far.max(c) OVER () FROM held
postgres: DROP TABLE public.held, public.more CASCADE
postgres: DROP FUNCTION public.two()
postgres: DROP SCHEMA far CASCADE
postgres: DROP ROLE reader
