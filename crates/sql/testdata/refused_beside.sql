create table t (a int, b int)
alter table t add primary key (a), add primary key (b)
alter table t add a2 int primary key, add primary key (b)
alter table t add primary key (a)
alter table t drop constraint t_pkey, add primary key (b)
create table x (a anyelement)
create table x (a record)
create table x (b int, a trigger)
create table x (a cstring)
create table x (a anyarray)
create table x (a unknown)
create table x (a internal)
create table if not exists t (a internal)
alter table t add z record
alter table t alter a type anyelement
create type ct as (a anyelement)
create materialized view v as select 1
create view x as select pg_notify('a', 'b')
create table x as select pg_notify('a', 'b') as n
create database template1
create database template0
create database postgres
alter database postgres rename to template1
explain (wal) select 1
explain (timing) select 1
explain (timing 1) select 1
explain (timing off, wal) select 1
explain (costs maybe) select 1
explain (costs 2) select 1
explain (format foo) select 1
explain (foo) select 1
explain (buffers 'x') select 1
explain (format) select 1
begin read only
create temp table q (a int)
rollback
begin read only
create local temporary table q (a int)
rollback
begin read only
create table q as select 1
rollback
begin read only
create unlogged table q as select 1
rollback
begin read only
select 1 into q
rollback
begin read only
create temp sequence q
rollback
begin read only
create temp view q as select 1
rollback
begin read only
create materialized view q as select 1
rollback
begin read only
drop materialized view v
rollback
begin read only
alter default privileges grant select on tables to public
rollback
begin read only
create unique index on t (a)
rollback
begin read only
comment on table t is 'x'
rollback
create function own_one(int) returns int language sql as $$ select $1 $$
create function own_two(int) returns int language sql as $$ select $1 $$
create function own_two(text) returns int language sql as $$ select 1 $$
select to_regproc('lower'), to_regproc('md5'), to_regproc('now'), to_regproc('nosuch'), to_regproc('pg_catalog.now'), to_regproc('public.now')
select to_regproc('own_one'), to_regproc('public.own_one'), to_regproc('own_two'), to_regproc(null)
select to_regprocedure('lower(text)'), to_regprocedure('lower(int)'), to_regprocedure('now()'), to_regprocedure('nosuch(text)'), to_regprocedure('pg_catalog.lower(text)')
select to_regprocedure('own_two(text)'), to_regprocedure('own_two(int)'), to_regprocedure('own_two(bigint)'), to_regprocedure(null)
select to_regprocedure('lower')
select to_regprocedure('lower(')
select to_regprocedure('lower(nosuch)')
select to_regprocedure('numeric(numeric, int4)'), to_regprocedure('int4 (bigint)'), to_regprocedure('substring(text,integer,integer)')
