create table a (aa text)
create table b (bb text) inherits (a)
create table c (cc text) inherits (a)
create table d (dd text) inherits (b, c, a)
insert into a(aa) values ('aaa'), ('aaaa'), ('aaaaa')
insert into b(aa) values ('bbb'), ('bbbb')
insert into c(aa) values ('ccc'), ('cccc')
insert into d(aa) values ('ddd'), ('dddd')
select relname, a.* from a, pg_class where a.tableoid = pg_class.oid order by relname, aa
select relname, b.* from b, pg_class where b.tableoid = pg_class.oid order by relname, aa
select tableoid::regclass, * from d order by aa
select tableoid::regclass, * from only a order by aa
select tableoid::regclass, * from only b order by aa
update a set aa = 'zzzz' where aa = 'aaaa'
update only a set aa = 'zzzzz' where aa = 'aaaaa'
update b set aa = 'zzz' where aa = 'bbb'
update only b set aa = 'zzz' where aa = 'nosuch'
update a set aa = 'zzzzzz' where aa like 'ccc%' returning tableoid::regclass, aa
select relname, a.* from a, pg_class where a.tableoid = pg_class.oid order by relname, aa
update a set aa = 'new'
select count(*), min(aa), max(aa) from a
select count(*) from only a
delete from only c where aa = 'new'
select tableoid::regclass, count(*) from a group by 1 order by 1
delete from a using b where a.aa = b.aa and b.bb is null and a.tableoid = 'd'::regclass returning a.tableoid::regclass
select tableoid::regclass, count(*) from a group by 1 order by 1
delete from a
select count(*) from a
select attname, attinhcount, attislocal from pg_attribute where attrelid = 'd'::regclass and attnum > 0 order by attnum
select inhrelid::regclass, inhparent::regclass, inhseqno from pg_inherits where inhrelid in ('b'::regclass, 'c'::regclass, 'd'::regclass) order by 1, 3
select relname, relhassubclass, relkind, relispartition from pg_class where relname in ('a', 'b', 'c', 'd') order by 1
drop table a
drop table b, c
drop table a cascade
select count(*) from pg_class where relname in ('a', 'b', 'c', 'd')
create table p (id int primary key, n int default 5 check (n > 0), t text not null)
create table k (x int) inherits (p)
insert into k (id, t) values (1, 'one')
insert into k (id, n, t) values (2, -1, 'two')
insert into k (id, n, t) values (2, 1, null)
insert into k (id, n, t) values (1, 7, 'again')
insert into p (id, n, t) values (1, 7, 'parent') returning *
select * from p order by t
select * from k
insert into p (id, t) values (1, 'dup')
update p set n = n + 10
select tableoid::regclass, id, n from p order by 1
update p set n = -n where id = 1
select conname, contype, conislocal, coninhcount from pg_constraint where conrelid = 'k'::regclass order by 1
alter table k drop constraint p_n_check
alter table p drop constraint p_n_check
update p set n = -n where tableoid = 'k'::regclass
select tableoid::regclass, id, n from p order by 1
alter table p add constraint small check (n < 1000)
alter table only p add constraint bad check (n < 5000)
alter table only p add constraint mine check (n > 0) no inherit
select conrelid::regclass, conname, conislocal, coninhcount, connoinherit from pg_constraint where conrelid in ('p'::regclass, 'k'::regclass) and contype = 'c' order by 1, 2
alter table p rename constraint small to little
alter table k rename constraint little to other
select conrelid::regclass, conname from pg_constraint where conrelid in ('p'::regclass, 'k'::regclass) and contype = 'c' order by 1, 2
alter table p add column z int default 3
alter table only p add column zz int
select tableoid::regclass, id, z from p order by 1
alter table k drop column z
alter table k rename column z to zzz
alter table p rename column z to y
select * from k
alter table only p rename column y to yy
alter table p alter column y type bigint
alter table k alter column y type int
alter table only p alter column y type int
select atttypid::regtype from pg_attribute where attrelid = 'k'::regclass and attname = 'y'
alter table p alter column y set default 9
insert into k (id, t, n) values (3, 'three', 3) returning y
alter table p alter column y drop default
insert into k (id, t, n) values (4, 'four', 4) returning y
alter table only p alter column y set default 1
insert into k (id, t, n) values (5, 'five', 5) returning y
update p set y = 0 where y is null
alter table p alter column y set not null
insert into k (id, t, n) values (6, 'six', 6)
alter table p alter column y drop not null
alter table only p drop column y
select attname, attinhcount, attislocal from pg_attribute where attrelid = 'k'::regclass and attnum > 0 and not attisdropped order by attnum
alter table p add column y bigint
select attname, attinhcount, attislocal from pg_attribute where attrelid = 'k'::regclass and attnum > 0 and not attisdropped order by attnum
alter table p drop column y
select attname, attinhcount, attislocal from pg_attribute where attrelid = 'k'::regclass and attnum > 0 and not attisdropped order by attnum
alter table p drop column nosuch
alter table p drop column if exists nosuch
alter table p add column x text
alter table k no inherit p
select count(*) from p
alter table k no inherit p
alter table k inherit p
select attname, attinhcount, attislocal from pg_attribute where attrelid = 'k'::regclass and attnum > 0 and not attisdropped order by attnum
alter table k inherit p
alter table p inherit k
alter table p inherit p
create table nocol (id int, n int)
alter table nocol inherit p
create table otype (id text, n int, t text not null)
alter table otype inherit p
create table nonull (id int not null, n int, t text)
alter table nonull inherit p
create table nocheck (id int not null, n int, t text not null)
alter table nocheck inherit p
alter table nocheck inherit nosuch
create table g (gg int) inherits (k)
insert into g (id, n, t) values (9, 9, 'nine')
select tableoid::regclass, count(*) from p group by 1 order by 1
alter table p add column deep int
select attname, attinhcount from pg_attribute where attrelid = 'g'::regclass and attnum > 0 and not attisdropped order by attnum
truncate p
select count(*) from g
insert into g (id, n, t) values (9, 9, 'nine')
truncate only p
select count(*) from p
truncate p, g
select count(*) from p
create table twice () inherits (p, p)
create table none () inherits (nosuch)
create table m1 (a int, b text default 'x')
create table m2 (a bigint)
create table m3 (b text default 'y')
create table mm () inherits (m1, m2)
create table mm () inherits (m1, m3)
create table mm (b text default 'z') inherits (m1, m3)
insert into mm (a) values (1) returning *
create table mm2 (a text) inherits (m1)
create table mm3 (b varchar) inherits (m1)
create view pv as select id, n, t from p
insert into g (id, n, t) values (1, 1, 'g1')
insert into k (id, n, t) values (2, 2, 'k2')
select * from pv order by id
update pv set n = n * 10
delete from pv where id = 2
select tableoid::regclass, id, n from p order by id
create view onlyv as select * from only p
select count(*) from onlyv
begin
select id from p order by id for update
update p set t = 'upd' where id in (select id from p)
savepoint s
delete from p
select count(*) from p
rollback to s
select tableoid::regclass, id, t from p order by id
rollback
select tableoid::regclass, id, t from p order by id
with gone as (delete from p where id = 1 returning *) select id, n, t from gone
merge into p using (values (2, 'm'), (7, 'n')) v (id, t) on p.id = v.id when matched then update set t = v.t when not matched then insert (id, n, t) values (v.id, 1, v.t)
insert into k (id, n, t) values (8, 8, 'k8')
merge into p using (values (8), (7)) v (id) on p.id = v.id when matched and p.id = 7 then delete when matched then update set t = 'merged'
select tableoid::regclass, id, t from p order by id
insert into p (id, n, t) values (8, 8, 'p8') on conflict (id) do update set t = 'never'
insert into p (id, n, t) values (8, 8, 'p8') on conflict (id) do update set t = 'twice'
select tableoid::regclass, id, t from p order by id, 1
select p.id, q.id from p join p q using (id) order by 1
select id from p where id = any (array[8, 9]) order by id
select max(id), min(t) from p where id < 100
select id, (select count(*) from p q where q.id <= p.id) from p order by id, 2
create index on p (n)
create index on k (n)
select id from p where n = 8 order by id
copy p to stdout
create temp table tp (a int)
create table tc () inherits (tp)
create temp table tc () inherits (tp)
insert into tc values (1)
select count(*) from tp
drop table tp
drop table tp cascade
alter table p rename to pp
select count(*) from pp
create schema s
alter table pp set schema s
select count(*) from s.pp
drop table k
drop table s.pp cascade
create table h (a int, constraint pos check (a > 0))
create table h1 (b int, constraint pos check (a > 0)) inherits (h)
create table h2 (b int, constraint pos check (a > 1)) inherits (h)
select conname, conislocal, coninhcount from pg_constraint where conrelid = 'h1'::regclass
alter table h drop constraint pos
select conname, conislocal, coninhcount from pg_constraint where conrelid = 'h1'::regclass
alter table h add constraint pos check (a > 0)
select conname, conislocal, coninhcount from pg_constraint where conrelid = 'h1'::regclass
alter table h1 drop constraint pos
alter table h1 no inherit h
alter table h1 drop constraint pos
create table i (id int generated always as identity, s serial, t text)
create table i1 () inherits (i)
insert into i (t) values ('a') returning id, s
insert into i1 (t) values ('b') returning id, s
insert into i1 (id, t) values (5, 'b') returning id, s
create table d1 (aa int, t date default now()::date + 1)
create table d2 (bb int, t date default now() :: date  +  1)
create table d3 () inherits (d1, d2)
create table d4 (cc int) inherits (d3)
alter table d1 rename t to tt
alter table d1 alter column aa type bigint
alter table d2 alter column t type text
alter table d1 add column e int check (e > 0)
alter table d2 add column e int
select attrelid::regclass, attname, attinhcount, attislocal from pg_attribute where attrelid in ('d3'::regclass, 'd4'::regclass) and attnum > 0 and not attisdropped order by 1, 2
create table e0 (a int)
create table e1 () inherits (e0)
create table e2 () inherits (e0)
create table e3 () inherits (e1, e2)
alter table e0 rename a to b
alter table e0 alter column b type bigint
alter table e0 add column c int constraint cpos check (c > 0)
alter table e1 rename b to x
alter table e1 alter column b type text
select attrelid::regclass, attname, attinhcount, atttypid::regtype from pg_attribute where attrelid in ('e0'::regclass, 'e1'::regclass, 'e2'::regclass, 'e3'::regclass) and attnum > 0 and not attisdropped order by 1, 2
select conrelid::regclass, conname, coninhcount, conislocal from pg_constraint where conname = 'cpos' order by 1
alter table e1 add constraint cpos check (c > 0)
alter table e0 drop constraint cpos
select conrelid::regclass, conname, coninhcount, conislocal from pg_constraint where conname = 'cpos' order by 1
alter table e0 drop column c
select attrelid::regclass, attname, attinhcount from pg_attribute where attrelid in ('e1'::regclass, 'e3'::regclass) and attname = 'c'
create table e4 (constraint bpos check (b > 0) no inherit) inherits (e0)
alter table e0 add constraint bpos check (b > 0)
create table e5 (constraint q check (b > 0) no inherit) inherits (e0)
create table e6 (constraint q check (b > 0)) inherits (e0)
create table e7 (constraint q check (b > 0) no inherit) inherits (e6)
create table o (a int, b text, constraint mine check (a > 0) no inherit)
create table o1 () inherits (o)
alter table o rename constraint mine to own
insert into o1 values (-1, '7')
select conrelid::regclass, conname, connoinherit, coninhcount from pg_constraint where conrelid in ('o'::regclass, 'o1'::regclass) order by 1, 2
alter table o drop constraint own
alter table o add constraint own check (a > -5)
select conrelid::regclass, conname, connoinherit, coninhcount from pg_constraint where conrelid in ('o'::regclass, 'o1'::regclass) order by 1, 2
alter table o drop constraint own
alter table o alter column a type text
select attrelid::regclass, attname, attinhcount, attislocal, atttypid::regtype from pg_attribute where attrelid in ('o'::regclass, 'o1'::regclass) and attnum > 0 and not attisdropped order by 1, 2
alter table o1 drop column a
alter table o drop column a
select * from o1
