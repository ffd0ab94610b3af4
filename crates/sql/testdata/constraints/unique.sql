create table t (k int constraint t_k unique deferrable, w text)
insert into t values (1, 'a'), (2, 'b'), (3, 'c')
update t set k = k + 1
select * from t
insert into t values (2, 'x')
insert into t values (9, 'x'), (9, 'y')
begin
set constraints t_k deferred
insert into t values (2, 'x')
select count(*) from t where k = 2
update t set k = 20 where w = 'x'
commit
select * from t
begin
set constraints t_k deferred
insert into t values (2, 'y')
commit
select * from t
begin
set constraints t_k deferred
insert into t values (2, 'y')
set constraints t_k immediate
rollback
begin
set constraints t_k deferred
insert into t values (2, 'y')
delete from t where w = 'a'
set constraints all immediate
commit
select * from t
insert into t values (null, 'n'), (null, 'n')
insert into t values (2, 'z') on conflict do nothing
insert into t values (2, 'z') on conflict (k) do nothing
insert into t values (2, 'z') on conflict (k) do update set w = 'z'
insert into t values (2, 'z') on conflict on constraint t_k do nothing
insert into t select 2, 'z' where false on conflict (k) do nothing
create table bad (k int references t (k))
create table pk (a int, b int, constraint pk_k primary key (a) deferrable initially deferred)
insert into pk values (null, 1)
insert into pk values (1, 1), (2, 2)
update pk set a = 3 - a
select * from pk
insert into pk values (1, 9)
begin
insert into pk values (1, 9)
delete from pk where b = 1
select * from pk where a = 1
commit
select * from pk
begin
insert into pk values (1, 10)
savepoint s
delete from pk where b = 10
rollback to s
commit
begin
insert into pk values (1, 10)
savepoint s
delete from pk where b = 10
set constraints all immediate
rollback to s
commit
select * from pk
create table bad (k int references pk)
create table bad (k int references pk (a))
alter table pk alter column a drop not null
alter table pk add primary key (b)
select conname, contype, condeferrable, condeferred, pg_get_constraintdef(oid) from pg_constraint where conrelid in ('t'::regclass, 'pk'::regclass) order by 1
select indexrelid::regclass, indisunique, indisprimary, indimmediate, indnullsnotdistinct, pg_get_indexdef(indexrelid) from pg_index where indrelid in ('t'::regclass, 'pk'::regclass)
select constraint_name, constraint_type, is_deferrable, initially_deferred, nulls_distinct from information_schema.table_constraints where constraint_name in ('t_k', 'pk_k')
select a, b, count(*) from pk group by a
with x as (insert into t values (100, 'w')) update t set k = k + 100 where k < 100
with x as (delete from t where k = 100) insert into t values (100, 'again')
with x as (insert into t values (500, 'w')) insert into t values (500, 'v')
select * from t
alter table t add constraint t_w unique (w) deferrable
delete from t where w = 'n'
alter table t add constraint t_w unique (w) deferrable
insert into t values (600, 'w')
alter table t drop constraint t_w
insert into t values (600, 'w')
alter table t drop constraint t_k
insert into t values (600, 'w')
alter table t add constraint t_k unique (k) deferrable
drop index pk_k
alter table pk drop constraint pk_k
insert into pk values (1, 1), (1, 1)
create table n (a int, b int, constraint n_a unique nulls not distinct (a))
insert into n values (1, 1), (null, 2)
insert into n values (null, 3)
insert into n values (1, 3)
update n set a = null where a = 1
update n set a = null where a is null
insert into n values (null, 4) on conflict do nothing
insert into n values (null, 4) on conflict (a) do update set b = excluded.b returning *
insert into n values (1, 4) on conflict (a) do update set b = excluded.b returning *
insert into n values (2, 4) on conflict on constraint n_a do update set b = excluded.b returning *
insert into n values (5, 1), (6, 1), (5, 2)
insert into n values (7, 1), (7, 2) on conflict (a) do nothing
insert into n values (8, 1), (8, 2) on conflict (a) do update set b = excluded.b
select * from n
select conname, contype, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'n'::regclass
create unique index n_ab on n (a, b) nulls not distinct
create unique index n_b on n (b) nulls not distinct
select indexrelid::regclass, indisunique, indimmediate, indnullsnotdistinct, pg_get_indexdef(indexrelid) from pg_index where indrelid = 'n'::regclass
create table n2 (a int, b text)
insert into n2 values (null, null), (null, null)
create unique index on n2 (a) nulls not distinct
create unique index on n2 (a) nulls distinct
alter table n2 add unique nulls not distinct (a, b)
delete from n2
alter table n2 add unique nulls not distinct (a, b)
insert into n2 values (null, 'x'), (null, null), (1, null)
insert into n2 values (null, 'x')
insert into n2 values (null, null)
insert into n2 values (1, null)
insert into n2 values (1, 'y')
begin
delete from n2
insert into n2 values (null, null)
insert into n2 values (null, null)
rollback
merge into n2 using (values (1)) v (x) on n2.a = v.x when matched then update set a = null
create table n3 (a int unique nulls not distinct deferrable initially deferred)
begin
insert into n3 values (null)
insert into n3 values (null)
delete from n3
insert into n3 values (null)
commit
insert into n3 values (null)
select * from n3
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'n3'::regclass
create table q (a int primary key deferrable, b int unique deferrable initially deferred)
insert into q select g, g from generate_series(1, 3000) g
update q set a = a + 1, b = b - 1
select count(*), sum(a), sum(b) from q
update q set a = 5
update q set b = 5 where a < 100
update q set a = a - 1, b = b + 1
select count(*), sum(a), sum(b) from q
create table late (k int unique deferrable initially deferred, w text)
insert into late values (1, 'a')
begin
insert into late values (1, 'b')
update late set w = 'c' where w = 'b'
commit
begin
insert into late values (1, 'b')
update late set w = 'c'
delete from late where k = 1
insert into late values (1, 'd')
commit
select * from late
