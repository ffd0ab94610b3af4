-- One statement a line, by the role before the colon. PostgreSQL 15 says what each gives.
postgres: create role owner_of_it login
postgres: create role stranger login
postgres: create role writer login
postgres: create role clerk login createrole
postgres: create role admin superuser
postgres: grant create on schema public to owner_of_it
postgres: grant create on schema public to writer
postgres: create schema low authorization stranger
postgres: create schema closed
postgres: create table public.pay (id int primary key, v text)
postgres: insert into public.pay values (1, 'secret')
-- A view reads what it was made of.
stranger: create table low.pay (id int primary key, v text)
stranger: insert into low.pay values (2, 'own')
stranger: create view low.spy as select id, v from low.pay
stranger: select * from low.spy
stranger: alter table low.pay rename to wage
stranger: set search_path = public, low
stranger: select * from low.spy
stranger: alter table low.wage rename column v to w
stranger: select * from low.spy
stranger: create table low.pay (id int primary key, v text)
stranger: insert into low.pay values (3, 'other')
stranger: select * from low.spy
stranger: select * from public.pay
-- What a view reads is judged by its owner's rights, when it is read.
stranger: create view low.other as select id, v from public.pay
stranger: select * from low.other
postgres: grant select on public.pay to stranger
stranger: select * from low.other
postgres: revoke select on public.pay from stranger
stranger: select * from low.other
stranger: select count(*) from low.other
stranger: alter table low.wage drop column w
-- What others own.
owner_of_it: create table t (id serial primary key, a int, b int)
owner_of_it: create index t_a on t (a)
owner_of_it: create view tv as select a from t
owner_of_it: create sequence s
owner_of_it: insert into t (a, b) values (1, 10), (2, 20)
stranger: drop table t
stranger: drop index t_a
stranger: drop view tv
stranger: drop sequence s
stranger: drop schema closed
stranger: drop schema public cascade
stranger: create or replace view tv as select 1 as a
stranger: alter sequence s increment by 2
stranger: alter sequence s owner to stranger
stranger: alter view tv owner to stranger
stranger: alter view tv rename to tw
stranger: alter table t owner to stranger
stranger: alter table t add column c int
stranger: alter index t_a rename to t_b
stranger: alter schema closed owner to stranger
stranger: alter database postgres owner to stranger
stranger: create index on t (b)
stranger: comment on table t is 'mine'
stranger: comment on column t.a is 'mine'
stranger: comment on index t_a is 'mine'
stranger: comment on view tv is 'mine'
stranger: comment on sequence s is 'mine'
stranger: comment on schema closed is 'mine'
stranger: comment on database postgres is 'mine'
stranger: comment on role owner_of_it is 'mine'
stranger: comment on constraint t_pkey on t is 'mine'
stranger: select setval('s', 9)
stranger: select nextval('s')
stranger: select currval('s')
stranger: truncate t
stranger: reindex table t
stranger: reindex index t_a
stranger: reindex schema closed
stranger: checkpoint
owner_of_it: alter table t owner to stranger
owner_of_it: alter table t owner to writer
owner_of_it: select nextval('s')
owner_of_it: begin read only; select nextval('s')
-- What is written says what is read.
owner_of_it: grant insert on t to writer
writer: insert into t values (3, 3, 3)
writer: insert into t (a) values (4)
owner_of_it: grant usage on sequence t_id_seq to writer
writer: insert into t (a) values (4)
writer: insert into t values (5, 5, 5) returning a
writer: insert into t values (5, 5, 5) returning a + 1
writer: insert into t values (5, 5, 5) on conflict (id) do nothing
writer: insert into t values (1, 5, 5) on conflict (id) do update set a = 7
writer: insert into t values (1, 5, 5) on conflict do nothing
owner_of_it: grant select (id) on t to writer
writer: insert into t values (1, 5, 5) on conflict (id) do nothing
writer: insert into t values (1, 5, 5) on conflict (id) do update set a = 7
owner_of_it: grant update (a) on t to writer
writer: insert into t values (1, 5, 5) on conflict (id) do update set a = 7
writer: insert into t values (1, 5, 5) on conflict (id) do update set a = excluded.b
writer: insert into t values (1, 5, 5) on conflict (id) do update set a = t.a + 1
writer: insert into t values (1, 5, 5) on conflict (id) do update set b = 1
writer: insert into t values (1, 5, 5) on conflict (id) do update set a = 1 where t.b > 0
writer: update t set a = 1
writer: update t set a = a + 1
writer: update t set a = 1 where b = 1
writer: update t set a = 1 where id = 1
writer: update t set b = 1
writer: update t set a = 1 where id = 1 returning b
writer: update t set a = 1 where id = 1 returning id
writer: delete from t
owner_of_it: grant delete on t to writer
writer: delete from t where id = 99
writer: delete from t where b = 99
writer: delete from t where b + 1 = 99
writer: delete from t where id = 99 returning a
writer: select id from t where id = 99
writer: select a from t
writer: select * from t
writer: select count(*) from t where id = 99
writer: select t.id from t join pay on pay.id = t.id
writer: select id from t order by b
writer: select id from t where id = 99 for update
writer: select x.id from (select id, b from t) as x
writer: with x as (select id from t where id = 99) select * from x
writer: select id from t where exists (select 1 from pay)
writer: select (select max(a) from t)
writer: explain select a from t
writer: explain update t set a = 1 where b = 1
writer: explain delete from t where b + 1 = 1
-- REFERENCES.
writer: create table child (id int references t (id))
owner_of_it: grant references on t to writer
writer: create table child (id int references t (id))
writer: create table child_of_pay (id int, constraint c foreign key (id) references pay)
-- Making things.
stranger: create table public.x (i int)
stranger: create schema another
stranger: create database another
stranger: create table closed.x (i int)
stranger: select * from closed.x
stranger: create sequence public.x
stranger: create view public.x as select 1 as a
stranger: create table low.made as select 1 as a
stranger: select * from low.made
writer: create table copied as select id from t where id = 99
writer: select count(*) from copied
-- Roles.
stranger: create role r
stranger: drop role writer
stranger: alter role writer nologin
stranger: alter role writer rename to w
stranger: set role writer
stranger: set session authorization postgres
stranger: grant select on t to stranger
stranger: grant writer to stranger
clerk: create role r superuser
clerk: alter role admin nologin
clerk: alter role admin rename to other_admin
clerk: alter role admin password 'x'
clerk: drop role admin
clerk: grant admin to clerk
clerk: alter role writer createdb
clerk: alter role clerk superuser
clerk: create role pg_new
clerk: alter role clerk rename to clerk2
clerk: drop role clerk
clerk: create role team
clerk: grant team to stranger
clerk: grant team to stranger
clerk: grant stranger to team
clerk: grant team to team
clerk: revoke team from writer
postgres: grant select on public.pay to team
stranger: select id from pay
stranger: set role team; select current_user, session_user
clerk: alter role stranger noinherit
stranger: select id from pay
stranger: set role team; select id from pay
clerk: revoke team from stranger
stranger: set role team
clerk: drop role team
postgres: revoke all on public.pay from team
clerk: drop role team
-- A role that is renamed is the same role.
postgres: alter role owner_of_it rename to renamed
postgres: create role owner_of_it
owner_of_it: select * from t
owner_of_it: drop table t
renamed: select count(*) > 0 from t
postgres: drop role renamed
-- Grants on grants.
renamed: grant select on t to writer with grant option
writer: grant select on t to stranger
writer: grant update on t to stranger
writer: grant all on t to stranger
stranger: grant select on t to clerk
renamed: revoke select on t from writer
renamed: revoke grant option for select on t from writer
renamed: revoke select on t from writer cascade
stranger: select * from t
renamed: grant select on t to public with grant option
renamed: grant usage on t to writer
renamed: grant connect on t to writer
renamed: grant nonsense on t to writer
renamed: grant select (nothing) on t to writer
renamed: grant delete (a) on t to writer
renamed: grant usage on sequence t to writer
renamed: grant select on t to nobody_there
renamed: grant select on nothing to writer
renamed: grant select on sequence s to stranger
stranger: grant usage on schema closed to stranger
stranger: grant create on database postgres to stranger
-- Default privileges.
renamed: alter default privileges grant select on tables to stranger
renamed: create table fresh (i int)
stranger: select * from fresh
writer: select * from fresh
stranger: alter default privileges for role renamed grant select on tables to stranger
renamed: alter default privileges revoke select on tables from stranger
renamed: create table fresher (i int)
stranger: select * from fresher
-- Passwords.
stranger: select count(*) > 0 from pg_authid
stranger: select count(*) > 0 from pg_roles
-- REASSIGN and DROP OWNED.
stranger: reassign owned by renamed to stranger
postgres: reassign owned by renamed to writer
renamed: select a from t
postgres: drop role renamed
postgres: drop owned by renamed
postgres: drop role renamed
postgres: drop owned by writer cascade
writer: select 1 from t
-- What a role granted on stays where it may still grant it by other roles' rights.
postgres: create role chief login
postgres: create role group_of_granters
postgres: create role granter login
postgres: create role given login
postgres: create table chiefs (a int, b int)
postgres: alter table chiefs owner to chief
chief: grant select, update on chiefs to granter with grant option
granter: grant select, update (a) on chiefs to given
chief: revoke select on chiefs from granter
chief: grant select on chiefs to group_of_granters with grant option
postgres: grant group_of_granters to granter
chief: revoke select on chiefs from granter
given: select a from chiefs
chief: revoke select on chiefs from group_of_granters
granter: select a from chiefs
granter: grant select on chiefs to given
postgres: grant chief to granter
chief: revoke update on chiefs from granter
given: update chiefs set a = 1
chief: grant insert on chiefs to granter with grant option
postgres: alter role granter superuser
chief: revoke insert on chiefs from granter
-- Who may go by other roles is settled when a session begins.
postgres: create role climber login
climber: select 1
postgres: alter role climber superuser
climber: set session authorization given
climber: select current_user
-- What is the new owner's already asks for nothing.
postgres: create role keeper login
postgres: create schema kept authorization keeper
keeper: reassign owned by keeper to keeper
keeper: alter schema kept owner to keeper
-- Some settings are a superuser's.
given: set log_statement = 'all'
given: set local deadlock_timeout = '5s'
given: set session_replication_role = replica
given: set lc_messages = 'C'
given: set track_activities = off
given: reset log_statement
given: select set_config('log_statement', 'all', false)
given: set statement_timeout = '5s'
given: select context from pg_settings where name = 'log_statement'
postgres: set log_statement = 'none'
postgres: reset log_statement
postgres: set session authorization given
postgres: set log_statement = 'none'
postgres: reset session authorization
-- What is taken from a view is taken from its columns, each of which is asked for.
chief: create schema if not exists nothing
postgres: create schema chiefs_own authorization chief
chief: create view chiefs_own.v as select a, b from chiefs
chief: grant trigger on chiefs_own.v to writer
chief: grant usage on schema chiefs_own to writer
writer: revoke select on chiefs_own.v from given
writer: revoke trigger on chiefs_own.v from given
chief: grant select (a) on chiefs_own.v to writer with grant option
writer: revoke select on chiefs_own.v from given
writer: revoke grant option for select on all tables in schema chiefs_own from given cascade
-- Each column that something is taken from has a grantor of its own.
postgres: alter role granter nosuperuser
postgres: create schema shared_one
postgres: grant usage, create on schema shared_one to chief, granter, writer
chief: create table shared_one.t (a int, b int, c int)
chief: grant select (a), update (b) on shared_one.t to writer with grant option
chief: grant select, insert on shared_one.t to granter with grant option
postgres: grant granter to writer
writer: grant select (a) on shared_one.t to given with grant option
writer: grant select, insert on shared_one.t to given
granter: grant select (a, b) on shared_one.t to given with grant option
granter: grant select on shared_one.t to clerk with grant option
postgres: select attname, attacl from pg_attribute where attrelid = 'shared_one.t'::regclass and attacl is not null order by 1
writer: revoke grant option for select on shared_one.t from given
postgres: select relacl from pg_class where oid = 'shared_one.t'::regclass
postgres: select attname, attacl from pg_attribute where attrelid = 'shared_one.t'::regclass and attacl is not null order by 1
granter: revoke select on shared_one.t from given cascade
postgres: select attname, attacl from pg_attribute where attrelid = 'shared_one.t'::regclass and attacl is not null order by 1
chief: revoke all on shared_one.t from writer cascade
postgres: select attname, attacl from pg_attribute where attrelid = 'shared_one.t'::regclass and attacl is not null order by 1
clerk: revoke select on shared_one.t from writer
given: revoke insert on shared_one.t from writer
chief: create sequence shared_one.s
writer: revoke select on shared_one.s from given
-- A key is an index, which its schema must allow.
postgres: create schema bare
postgres: create table bare.t (a int not null, b int)
postgres: alter table bare.t owner to chief
chief: alter table bare.t add unique (b)
postgres: grant usage on schema bare to chief
chief: alter table bare.t add unique (b)
chief: alter table bare.t add primary key (a)
chief: alter table bare.t add column c int unique
postgres: grant create on schema bare to chief
chief: alter table bare.t add unique (b)
chief: alter table bare.t add primary key (a)
-- A table's indexes need names that are free where it goes.
postgres: create schema other_home
postgres: create table public.moving (id int primary key)
postgres: create table other_home.has_it (id int, constraint moving_pkey primary key (id))
postgres: alter table public.moving set schema other_home
postgres: alter table other_home.has_it rename constraint moving_pkey to has_it_pkey
postgres: alter table public.moving set schema other_home
postgres: create table public.moving (id int)
postgres: alter table public.moving set schema other_home
-- Who makes a table of a query needs no right to look into its schema.
postgres: create schema blindly
postgres: grant create on schema blindly to chief
chief: create table blindly.made as select 1 as a
chief: create table blindly.plain (a int)
chief: select * from blindly.made
chief: insert into blindly.made values (1)
chief: create table blindly.seen as select * from blindly.made
-- What falls with what a role owned leaves nothing of its rights.
postgres: create role leaver login
postgres: create role stayer login
postgres: create schema of_both
postgres: grant usage, create on schema of_both to leaver, stayer
leaver: create table of_both.base (a int)
leaver: grant select on of_both.base to stayer
stayer: create view of_both.above as select a from of_both.base
stayer: grant select on of_both.above to leaver with grant option
leaver: drop owned by leaver cascade
postgres: drop owned by stayer
postgres: revoke all on schema of_both from stayer
postgres: drop role stayer
postgres: revoke all on schema of_both from leaver
postgres: drop role leaver
-- What hangs on a role is told by name: columns, default privileges with their schema.
postgres: create role hung login
postgres: create role hanger login
postgres: create schema hooks
postgres: create schema hooks_of_hung authorization hung
postgres: create table public.hung_one (a int, b int, c int)
postgres: create table hooks.hung_two (x int primary key, y text)
postgres: create view hooks.hung_view as select a, b from public.hung_one
postgres: create sequence hooks.hung_sequence
postgres: grant select on hung_one to hung
postgres: grant select (b, a), update (c) on hung_one to hung
postgres: grant insert (y) on hooks.hung_two to hung
postgres: grant select (b) on hooks.hung_view to hung
postgres: grant usage on sequence hooks.hung_sequence to hung
postgres: grant usage on schema hooks to hung
postgres: grant create on database postgres to hung
postgres: alter default privileges for role hanger grant select on tables to hung
postgres: alter default privileges for role hanger in schema hooks grant select on tables to hung
postgres: alter default privileges for role hanger in schema hooks grant usage on sequences to hung
postgres: alter default privileges for role hung grant usage on schemas to hanger
postgres: drop role hung
postgres: drop role hanger
postgres: drop owned by hung
postgres: drop role hung
postgres: drop owned by hanger
postgres: drop role hanger
