create table t ()
create table t ()
create table if not exists t ()
select * from t
select from t
select count(*) from t
insert into t default values
insert into t default values
insert into t values ()
insert into t values (1)
insert into t select
insert into t select 1
insert into t select from generate_series(1, 3)
insert into t (a) values (1)
select * from t
select from t
select t.* from t
select 1 as one from t
select count(*), count(1), max(1) from t
select count(*) from t where true
select count(*) from t where false
select count(*) from t a, t b
select count(*) from t a join t b on true
select count(*) from t a left join t b on false
select exists (select from t), exists (select * from t where false)
select exists (select from t limit 0)
select count(*) from (select from t limit 3) s
select count(*) from (select from t offset 4) s
select count(*) from (select from t union all select from t) s
select from t union select from t
select from t order by 1
select distinct from t
select row_number() over () from t order by 1
select count(*) from (values (1), (2)) v, t
select count(t.*) from t
select t from t
select t is null, t is not null, row(t.*) is null from t limit 1
select to_json(t), row_to_json(t) from t limit 1
select tableoid::regclass from t limit 1
select count(distinct ctid) from t
select ctid from t order by ctid limit 1 offset 100
select a from t
select from t for update
update t set a = 1
update t set
insert into t default values returning *
insert into t default values returning 1 as x
insert into t default values returning tableoid::regclass
insert into t default values on conflict do nothing
select count(*) from t
delete from t where ctid = (select ctid from t limit 1)
select count(*) from t
delete from t where false
delete from t using t b where false
delete from t where random() > 2
begin
insert into t select from generate_series(1, 10)
savepoint s
insert into t select from generate_series(1, 10)
select count(*) from t
rollback to s
select count(*) from t
delete from t
select count(*) from t
insert into t default values
select count(*) from t
rollback
select count(*) from t
begin
insert into t select from generate_series(1, 5)
commit
select count(*) from t
create index on t (a)
create index on t ()
create index on t ((1))
create index it on t ((1)) where true
create unique index ut on t ((1))
alter table t add primary key ()
alter table t add primary key (a)
create table with_key (primary key (a))
create table checked (check (1 > 0))
insert into checked default values
create table unchecked (check (false))
select count(*) from unchecked
select relnatts, relkind, relhasindex from pg_class where relname in ('t', 'checked', 'unchecked') order by relname
select count(*) from pg_attribute where attrelid = 't'::regclass and attnum > 0
select typname, typtype from pg_type where typrelid = 't'::regclass
select table_name from information_schema.tables where table_name = 't'
select count(*) from information_schema.columns where table_name = 't'
create table copy_of (like t including all)
insert into copy_of default values
create table as1 as select
select count(*) from as1
create table as2 as select from generate_series(1, 7)
select count(*) from as2
create table as3 as select from t with no data
select count(*) from as3
create table as4 (a) as select from t
create table as5 as table t
select count(*) = (select count(*) from t) from as5
select into as6 from generate_series(1, 4)
select count(*) from as6
create temp table tt () on commit delete rows
insert into tt default values
select count(*) from tt
begin
insert into tt default values
select count(*) from tt
commit
select count(*) from tt
create view v as select from t
select count(*) from v
select * from v
create view vs as select * from t
select count(*) from vs
select count(*) from pg_attribute where attrelid = 'v'::regclass and attnum > 0
create materialized view mv as select from t
select count(*) from mv
refresh materialized view mv
select count(*) from mv
alter table t add column a int
select * from t order by a
select count(*), count(a) from t
insert into t values (1)
update t set a = 2 where a is null
select a, count(*) from t group by a order by a
alter table t drop column a
select * from t
select count(*) from t
insert into t default values
alter table t add column b int default 7, add column c text
select * from t order by b
update t set c = 'x'
alter table t drop column b, drop column c
select count(*) from t
insert into t default values
alter table t add column d serial
select d from t order by d
select * from t where d = 3
alter table t add primary key (d)
alter table t drop column d
select count(*) from t
insert into t default values
select count(*) from t
alter table t add column e int not null
delete from t
alter table t add column e int not null
insert into t values (5)
select * from t
alter table t drop column if exists e
alter table t drop column e
truncate t
select count(*) from t
alter table t rename to u
insert into u default values
select count(*) from u
create table one (a int primary key, b text generated always as ('x') stored)
insert into one values (1), (2)
alter table one drop column a, drop column b
select count(*) from one
create table gen (a int, b int generated always as (a * 2) stored)
insert into gen values (1), (2)
alter table gen drop column a
alter table gen drop column a cascade
select * from gen
select count(*) from gen
create type ty as enum ('a')
create table of_type (a ty)
insert into of_type values ('a'), ('a')
drop type ty
drop type ty cascade
select count(*) from of_type
select * from of_type
create table parent ()
create table child () inherits (parent)
create table child2 (a int) inherits (parent)
insert into parent default values
insert into child default values
insert into child2 values (1)
select count(*) from parent
select count(*) from only parent
alter table parent add column a int
select * from parent order by a
alter table parent drop column a
select count(*) from parent
select * from child2
delete from parent
select count(*) from parent
create table empty_parts () partition by list (a)
create table trig ()
create function f() returns trigger language plpgsql as $$ begin raise notice '% %', tg_op, new; return new; end $$
create trigger tr before insert on trig for each row execute function f()
insert into trig default values
insert into trig default values
select count(*) from trig
create rule r as on insert to trig do also insert into u default values
insert into trig default values
select count(*) from trig
create table secured ()
alter table secured enable row level security
comment on table secured is 'no columns'
select obj_description('secured'::regclass)
grant select on secured to public
grant select (a) on secured to public
merge into u using (values (1)) v on false when not matched then insert default values
merge into u using (values (1)) v on false when matched then delete when not matched then do nothing
select count(*) from u
with x as (insert into u default values returning 1 as a) select count(*) from x
with x as (delete from u returning 1 as a) select count(*) > 0 from x
select count(*) from u
prepare p as select from u
execute p
prepare q as insert into u default values
execute q
execute q
execute p
select count(*) from u
vacuum u
drop materialized view mv
analyze u
lock table u
drop table u
drop table u cascade
drop table parent cascade
