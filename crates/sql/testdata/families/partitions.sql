create table r (a int, b text) partition by range (a)
select relkind, relispartition, relhassubclass from pg_class where relname = 'r'
insert into r values (1, 'x')
create table r1 partition of r for values from (1) to (10)
create table r2 partition of r for values from (10) to (20)
create table rx partition of r for values from (15) to (30)
create table rx partition of r for values from (20) to (20)
create table rx partition of r for values from (30) to (20)
create table rx partition of r for values in (1)
create table rx partition of r for values with (modulus 2, remainder 1)
create table rx partition of r for values from (20, 1) to (30)
create table rx partition of r for values from (null) to (30)
create table rx partition of r for values from ('abc') to (30)
create table rx partition of r for values from (a) to (30)
create table rx partition of r for values from (minvalue) to (1)
create table ry partition of r for values from (20) to (maxvalue)
insert into r values (-5, 'min'), (1, 'one'), (9, 'nine'), (10, 'ten'), (15, 'fifteen'), (25, 'more')
select tableoid::regclass, * from r order by a
insert into r values (null, 'none')
insert into r (b) values ('default a')
create table rd partition of r default
create table rd2 partition of r default
insert into r values (null, 'none') returning *
select tableoid::regclass, * from r where a is null
select count(*) from only r
select * from r1 order by a
insert into r1 values (50, 'no')
insert into r1 values (5, 'yes')
update r1 set a = 500 where a = 5
update r set a = 12 where a = 5
select tableoid::regclass, * from r order by a, b
update r set a = a + 1 where a in (9, 12) returning tableoid::regclass, a, b
select tableoid::regclass, * from r order by a, b
update r set b = upper(b) where a > 9
delete from r where a = 15 returning a
select tableoid::regclass, count(*) from r group by 1 order by 1
update r set a = null where a = 1
select tableoid::regclass, count(*) from r group by 1 order by 1
truncate only r
truncate r2
select tableoid::regclass, count(*) from r group by 1 order by 1
select inhrelid::regclass, inhparent::regclass from pg_inherits where inhparent = 'r'::regclass order by 1
select relname, pg_get_expr(relpartbound, oid) from pg_class where relispartition order by relname
select partrelid::regclass, partstrat, partnatts, partattrs, partdefid::regclass from pg_partitioned_table
select pg_get_partkeydef('r'::regclass), pg_get_partkeydef('r1'::regclass)
select relid, parentrelid, isleaf, level from pg_partition_tree('r') order by 1
select * from pg_partition_ancestors('r1')
select pg_partition_root('r1'), pg_partition_root('r'), pg_partition_root('pg_class')
drop table r1
insert into r values (5, 'to default')
select tableoid::regclass, * from r where a = 5
create table r1 partition of r for values from (1) to (10)
drop table rd
create table r1 partition of r for values from (1) to (10)
drop table r
select count(*) from pg_class where relname in ('r', 'r1', 'r2', 'rx', 'ry', 'rd')
create table l (k text, v int) partition by list (k)
create table l_ab partition of l for values in ('a', 'b')
create table l_null partition of l for values in (null, 'c')
create table l_x partition of l for values in ('b', 'd')
create table l_x partition of l for values in ('d', 'd')
create table l_y partition of l for values in (null)
create table l_y partition of l for values in ()
create table l_y partition of l for values in (1)
create table l_z (k text, v int) partition by list (k, v)
insert into l values ('a', 1), ('c', 2), (null, 3), ('d', 4)
insert into l values ('e', 5)
select tableoid::regclass, * from l order by v
update l set k = 'd' where k = 'a'
select tableoid::regclass, * from l order by v
update l set k = 'nowhere'
insert into l_ab values ('c', 1)
insert into l select 'a', g from generate_series(1, 1000) g
select tableoid::regclass, count(*), sum(v) from l group by 1 order by 1
delete from l where k = 'a' and v <> 77
select * from l order by v
select relname, pg_get_expr(relpartbound, oid) from pg_class where relispartition order by relname
create table h (id int, t text) partition by hash (id)
create table h0 partition of h for values with (modulus 4, remainder 0)
create table h1 partition of h for values with (modulus 4, remainder 1)
create table h2 partition of h for values with (modulus 4, remainder 2)
create table hx partition of h for values with (modulus 4, remainder 2)
create table hx partition of h for values with (modulus 4, remainder 4)
create table hx partition of h for values with (modulus 0, remainder 0)
create table hx partition of h for values with (modulus 4, remainder -1)
create table hx partition of h for values with (modulus 6, remainder 5)
create table hx partition of h default
create table h3 partition of h for values with (modulus 8, remainder 3)
create table h7 partition of h for values with (modulus 8, remainder 7)
insert into h select g, 't' || g from generate_series(1, 200) g
select tableoid::regclass, count(*), min(id), max(id) from h group by 1 order by 1
insert into h values (null, 'null')
select tableoid::regclass, * from h where id is null
select * from h where id = 42
update h set id = id + 1 where id between 10 and 20
select tableoid::regclass, count(*) from h group by 1 order by 1
insert into h0 values (1, 'x')
create table ht (a text, b bigint, c date, d numeric, e uuid, f timestamptz, g boolean, i float8) partition by hash (a, b, c, d, e, f, g, i)
create table ht0 partition of ht for values with (modulus 3, remainder 0)
create table ht1 partition of ht for values with (modulus 3, remainder 1)
create table ht2 partition of ht for values with (modulus 3, remainder 2)
insert into ht select 'text' || g, g * 1000000007::bigint, date '2020-01-01' + g, g / 7.0, ('00000000-0000-0000-0000-' || lpad(g::text, 12, '0'))::uuid, timestamptz '2020-01-01 00:00:00+00' + g * interval '1 hour', g % 2 = 0, g * 1.5 from generate_series(1, 300) g
select tableoid::regclass, count(*), sum(b) from ht group by 1 order by 1
create table hc (a char(5), b varchar(9), c smallint, d time, e bytea, f interval) partition by hash (a, b, c, d, e, f)
create table hc0 partition of hc for values with (modulus 2, remainder 0)
create table hc1 partition of hc for values with (modulus 2, remainder 1)
insert into hc select 'a' || g % 100, 'v' || g, g, time '01:00' + g * interval '1 minute', ('\x' || lpad(to_hex(g), 8, '0'))::bytea, g * interval '1 day' from generate_series(1, 200) g
select tableoid::regclass, count(*), sum(c) from hc group by 1 order by 1
create table m (a int, b int, c text) partition by range (a, b)
create table m1 partition of m for values from (minvalue, minvalue) to (10, 5)
create table m2 partition of m for values from (10, 5) to (10, 20) partition by list (c)
create table m2a partition of m2 for values in ('a')
create table m2b partition of m2 for values in ('b', null)
create table m3 (c text, b int, a int)
alter table m attach partition m3 for values from (10, 20) to (maxvalue, maxvalue)
create table mbad partition of m for values from (minvalue, 1) to (1, 1)
insert into m values (1, 1, 'x'), (10, 4, 'y'), (10, 5, 'a'), (10, 6, 'b'), (10, 7, null), (10, 20, 'z'), (11, 0, 'w')
insert into m values (10, 8, 'c')
insert into m values (10, null, 'a')
select tableoid::regclass, * from m order by a, b
insert into m2 values (10, 9, 'a')
insert into m2 values (10, 4, 'a')
insert into m2a values (10, 10, 'b')
insert into m3 values ('q', 0, 99)
insert into m3 values ('q', 0, 1)
update m set b = 50 where a = 10 and b = 6 returning tableoid::regclass, *
update m set c = 'b' where b = 5
update m2 set b = 100 where b = 5
update m set a = 0, b = 0, c = 'zero' where a = 11
select tableoid::regclass, * from m order by a, b
select relid, parentrelid, isleaf, level from pg_partition_tree('m') order by 1
select * from pg_partition_ancestors('m2a')
select pg_partition_root('m2a')
delete from m where c = 'b' returning tableoid::regclass
select a, b, c from m where a = 10 and b = 7
select a, b, c from m where a = 10 and b > 15 order by b
select a, b, c from m where a > 10 order by a
select count(*) from m where a in (0, 1, 99)
drop table m
create table e (a int, b text) partition by range ((a % 10))
create table e1 partition of e for values from (0) to (5)
create table e2 partition of e for values from (5) to (10)
insert into e select g, 'e' || g from generate_series(1, 20) g
select tableoid::regclass, count(*) from e group by 1 order by 1
insert into e values (-3, 'negative')
insert into e1 values (7, 'no')
update e set a = a + 5 where a = 3 returning tableoid::regclass, a
select pg_get_partkeydef('e'::regclass)
select * from e where a % 10 = 7 order by a
create table el (t text) partition by list (lower(t))
create table el1 partition of el for values in ('a', 'b')
insert into el values ('A'), ('b')
insert into el values ('C')
select pg_get_partkeydef('el'::regclass)
create table bad (a int) partition by foo (a)
create table bad (a int) partition by range (nosuch)
create table bad (a int) partition by range (ctid)
create table bad (a int) partition by range ((random()))
create table bad (a int) partition by range ((1))
create table bad (a int) partition by range ((sum(a)))
create table bad (a int) partition by range ((select 1))
create table bad (a json) partition by list (a)
create table bad (a int) inherits (e) partition by range (a)
create table bad () inherits (e)
create table bad () inherits (e1)
create table bad partition of h0 for values in (1)
create table bad partition of nosuch for values in (1)
create table bad (x int) partition of e for values from (1) to (2)
alter table e drop column a
alter table e alter column a type bigint
alter table e1 add column z int
alter table e add column z int default 4
select tableoid::regclass, a, z from e where a = 4
alter table e1 drop column b
alter table e drop column b
select * from e where a = 4
alter table only e drop column z
alter table e1 rename column z to zz
alter table e rename column z to zz
alter table e add constraint zpos check (zz > 0)
insert into e values (4, -1)
alter table e1 drop constraint zpos
alter table e drop constraint zpos
alter table e alter column zz set not null
alter table e1 alter column zz drop not null
insert into e (a, zz) values (4, null)
alter table e1 inherit h
alter table e1 no inherit e
create table u (a int, b int, c text, primary key (a, b)) partition by range (a)
create table u1 partition of u for values from (0) to (10)
create table u2 partition of u for values from (10) to (20)
insert into u values (1, 1, 'x'), (11, 1, 'y')
insert into u values (1, 1, 'dup')
insert into u values (2, 2, 'a'), (12, 2, 'b'), (11, 1, 'dup'), (1, 1, 'dup')
insert into u values (1, 1, 'conf') on conflict (a, b) do update set c = excluded.c || u.c returning *
insert into u values (12, 1, 'new'), (11, 1, 'old') on conflict do nothing returning *
insert into u values (1, 1, 'move') on conflict (a, b) do update set a = 15
insert into u values (1, 1, 'move') on conflict (c) do nothing
insert into u values (1, 1, 'z') on conflict on constraint u_pkey do update set c = 'named'
select tableoid::regclass, * from u order by a, b
select c.relname, c.relkind, i.indisprimary, i.indisunique, i.indisvalid from pg_index i join pg_class c on c.oid = i.indexrelid where i.indrelid in ('u'::regclass, 'u1'::regclass, 'u2'::regclass) order by 1
select inhrelid::regclass, inhparent::regclass from pg_inherits where inhparent = 'u_pkey'::regclass order by 1
select conrelid::regclass, conname, contype, conislocal, coninhcount, connoinherit, conparentid = 0 as alone from pg_constraint where conrelid in ('u'::regclass, 'u1'::regclass) order by 1, 2
create table ubad (a int primary key, b int) partition by range (b)
create table ubad (a int unique, b int) partition by range (b)
create table ubad (a int, b int, unique (a, b)) partition by range ((b + 1))
alter table u add unique (b)
alter table u add unique (b, a)
create unique index on u (c)
create unique index on u (c, a)
create index u_c on u (c)
select c.relname, c.relkind from pg_index i join pg_class c on c.oid = i.indexrelid where i.indrelid in ('u'::regclass, 'u1'::regclass) order by 1
drop index u1_c_idx
alter table u1 drop constraint u1_pkey
alter table u1 drop constraint u1_b_a_key
drop index u_c
select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid where i.indrelid in ('u'::regclass, 'u1'::regclass) order by 1
alter table u drop constraint u_b_a_key
select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid where i.indrelid in ('u'::regclass, 'u1'::regclass) order by 1
create table u3 (b int not null, a int not null, c text)
create index on u3 (c)
insert into u3 values (1, 25, 'c'), (2, 5, 'wrong')
alter table u attach partition u3 for values from (20) to (30)
delete from u3 where a = 5
alter table u attach partition u3 for values from (15) to (30)
alter table u attach partition u3 for values from (20) to (30)
alter table u attach partition u3 for values from (20) to (30)
select tableoid::regclass, * from u where a > 10 order by a, b
insert into u values (25, 1, 'dup')
insert into u3 values (1, 40, 'x')
select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid where i.indrelid = 'u3'::regclass order by 1
alter table u detach partition u3
select count(*) from u
select * from u3
insert into u3 values (1, 40, 'x')
alter table u detach partition u3
alter table u3 detach partition u2
create table more (a int not null, b int not null, c text, d int)
alter table u attach partition more for values from (20) to (30)
create table less (a int not null, b int not null)
alter table u attach partition less for values from (20) to (30)
create table other (a bigint not null, b int not null, c text)
alter table u attach partition other for values from (20) to (30)
create table nulls (a int, b int not null, c text)
alter table u attach partition nulls for values from (20) to (30)
alter table u3 attach partition u2 for values from (1) to (2)
alter table u attach partition u for values from (20) to (30)
begin
alter table u detach partition u2
select count(*) from u
savepoint s
create table u9 partition of u for values from (10) to (30)
insert into u values (29, 1, 'in')
rollback to s
insert into u values (29, 1, 'out')
rollback
select tableoid::regclass, count(*) from u group by 1 order by 1
alter table u detach partition u1 finalize
create table ref (id int primary key)
insert into ref values (1), (2)
create table f (id int references ref, k int) partition by list (k)
create table f1 partition of f for values in (1)
insert into f values (1, 1)
insert into f values (3, 1)
delete from ref where id = 2
select conrelid::regclass, conname, conislocal, coninhcount, conparentid = 0 as alone from pg_constraint where contype = 'f' order by 1
alter table f1 drop constraint f_id_fkey
create table f2 (id int, k int)
insert into f2 values (77, 2)
alter table f attach partition f2 for values in (2)
delete from f2
alter table f attach partition f2 for values in (2)
insert into f2 values (9, 2)
alter table f drop constraint f_id_fkey
insert into f values (9, 2)
select tableoid::regclass, * from f order by k
create table dflt (a int default 7, b text default 'par', c serial) partition by list (a)
create table dflt7 partition of dflt (b default 'child', constraint long check (length(b) > 2)) for values in (7)
create table dfltx partition of dflt (nosuch default 'child') for values in (8)
insert into dflt default values returning a, b, c
insert into dflt7 default values returning a, b, c
insert into dflt (b) values ('x')
create view vu as select * from u where a < 100 with check option
insert into vu values (3, 3, 'view')
insert into vu values (300, 3, 'view')
update vu set a = 13 where a = 3
select tableoid::regclass, a, b, c from u where b = 3
begin
select a, b from u order by a, b for update
update u set c = 'locked' where a = 13
rollback
with moved as (update u set a = a + 10 where a < 10 returning a, b) select * from moved order by a, b
with gone as (delete from u where a > 15 returning *), added as (insert into u select a - 15, b, c from gone returning a) select count(*) from added
select tableoid::regclass, a, b from u order by a, b
merge into u using (values (1, 1), (11, 1), (4, 4)) v (a, b) on u.a = v.a and u.b = v.b when matched and u.a = 11 then update set a = 2 when matched then delete when not matched then insert values (v.a, v.b, 'merged')
select tableoid::regclass, a, b, c from u order by a, b
merge into u using (values (99, 1)) v (a, b) on u.a = v.a when not matched then insert values (v.a, v.b, 'nowhere')
prepare pick (int) as select tableoid::regclass, a, b from u where a = $1 order by b
execute pick (12)
execute pick (4)
execute pick (null)
prepare put (int, int) as insert into u values ($1, $2, 'put')
execute put (5, 5)
execute put (15, 5)
execute put (150, 5)
select u.a, x.a from u join u x on u.a = x.a + 10 order by 1, 2
select a from u where a = (select max(a) from u)
select a, b from u where (a, b) in (select a, b from u1) order by 1, 2
copy u to stdout
copy (select a, b from u where a = 5) to stdout
insert into l_ab select * from l where k = 'a'
insert into l select * from l
select count(*) from l
create table dd (d date, n numeric(10,2)) partition by range (d)
create table dd1 partition of dd for values from ('2020-01-01') to ('2021-01-01')
create table dd2 partition of dd for values from ('2021-01-01'::date) to (date '2021-01-01' + 365)
create table dd3 partition of dd for values from (now()) to ('infinity')
insert into dd values ('2020-06-01', 1), ('2021-12-31', 2), ('2022-01-01', 3)
insert into dd values ('2020-06-01', 1), ('2021-12-31', 2)
select tableoid::regclass, * from dd order by d
select relname, pg_get_expr(relpartbound, oid) from pg_class where relname in ('dd1', 'dd2') order by relname
create table nn (n numeric) partition by list (n)
create table nn1 partition of nn for values in (1, 2.50, -3)
insert into nn values (1.0), (2.5), (-3)
insert into nn values (4)
select pg_get_expr(relpartbound, oid) from pg_class where relname = 'nn1'
create table bb (b boolean) partition by list (b)
create table bb1 partition of bb for values in (true)
create table bb0 partition of bb for values in ('false')
insert into bb values (true), (false)
insert into bb values (null)
select relname, pg_get_expr(relpartbound, oid) from pg_class where relname in ('bb1', 'bb0') order by relname
create temp table tt (a int) partition by list (a)
create table tt1 partition of tt for values in (1)
create temp table tt1 partition of tt for values in (1)
insert into tt values (1)
select * from tt
drop table u
drop table if exists u
select pg_get_partition_constraintdef('l_ab'::regclass), pg_get_partition_constraintdef('l_null'::regclass), pg_get_partition_constraintdef('l'::regclass)
select pg_get_partition_constraintdef('dd1'::regclass)
select pg_get_partition_constraintdef('e1'::regclass)
select pg_get_partition_constraintdef('el1'::regclass)
create table pc (a int, b text, c int) partition by range (a, c)
create table pc1 partition of pc for values from (1, 1) to (1, 10) partition by list (b)
create table pc2 partition of pc for values from (2, minvalue) to (5, 7)
create table pc3 partition of pc for values from (5, 7) to (9, maxvalue)
create table pc1x partition of pc1 for values in ('x', 'y')
create table pc1d partition of pc1 default
select pg_get_partition_constraintdef('pc1'::regclass), pg_get_partition_constraintdef('pc1x'::regclass), pg_get_partition_constraintdef('pc1d'::regclass)
select pg_get_partition_constraintdef('pc2'::regclass), pg_get_partition_constraintdef('pc3'::regclass)
create table pcd partition of pc default
insert into pc values (1, 'x', 1), (2, 'q', -5), (9, 'r', 1000), (10, 'd', 0), (1, 'other', 9)
select tableoid::regclass, * from pc order by a, c
create table dump (a int not null, b text) partition by range (a)
create table dump1 (a int not null, b text)
alter table only dump attach partition dump1 for values from (1) to (10)
alter table only dump add constraint dump_pkey primary key (a)
select indexrelid::regclass, indisvalid from pg_index where indrelid = 'dump'::regclass
insert into dump values (1, 'x') on conflict (a) do nothing
alter table only dump1 add constraint dump1_pkey primary key (a)
alter index dump_pkey attach partition dump1_pkey
alter index dump_pkey attach partition dump1_pkey
select indexrelid::regclass, indisvalid from pg_index where indrelid = 'dump'::regclass
create index dump_b on only dump using btree (b)
create index dump1_b on dump1 using btree (b)
create index dump1_b2 on dump1 using btree (b)
create index dump1_ba on dump1 using btree (b, a)
alter index dump_b attach partition dump1_ba
alter index dump_b attach partition dump1_b
alter index dump_b attach partition dump1_b2
alter index dump_b attach partition u1_pkey
insert into dump values (1, 'x') on conflict (a) do update set b = 'y' returning *
insert into dump values (1, 'x') on conflict (a) do update set b = 'y' returning *
select c.oid::regclass, c.relkind, inhdetachpending, pg_get_expr(c.relpartbound, c.oid) from pg_class c, pg_inherits i where c.oid = i.inhrelid and i.inhparent = 'm'::regclass
select c.oid::regclass, c.relkind, inhdetachpending, pg_get_expr(c.relpartbound, c.oid) from pg_class c, pg_inherits i where c.oid = i.inhrelid and i.inhparent = 'r'::regclass order by pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', c.oid::regclass::text
select inhparent::regclass, pg_get_expr(c.relpartbound, c.oid), inhdetachpending, pg_get_partition_constraintdef(c.oid) from pg_class c join pg_inherits i on c.oid = inhrelid where c.oid = 'dump1'::regclass
select conrelid = 'f1'::regclass as sametable, conname, pg_get_constraintdef(oid, true) as condef, conrelid::regclass as ontable from pg_constraint, pg_partition_ancestors('f1') where conrelid = relid and contype = 'f' and conparentid = 0 order by sametable desc, conname
select partrelid::regclass from pg_partitioned_table where (select c.oid from pg_opclass c join pg_am a on c.opcmethod = a.oid where opcname = 'enum_ops' and opcnamespace = 'pg_catalog'::regnamespace and amname = 'hash') = any (partclass)
select table_name, table_type from information_schema.tables where table_name in ('dump', 'dump1') order by 1
select tablename from pg_tables where tablename in ('dump', 'dump1') order by 1
insert into dump (a, b) values (2, 'ret') returning tableoid::regclass, a
update dump set a = 3 where a = 2 returning tableoid::regclass, a
drop table dump
create table tr (a int primary key) partition by list (a)
create table tr1 partition of tr for values in (1)
create table trf (a int references tr1 on delete cascade)
insert into tr values (1)
insert into trf values (1)
truncate tr
select count(*) from trf
truncate tr1
drop table tr
create table hpart (a int) partition by hash (a no_such_ops)
create table hpart (a int) partition by hash (a nothing)
create table sub (a int) partition by range (a)
create table sub1 partition of sub for values from (0) to (100) partition by range (a)
create table sub11 partition of sub1 for values from (0) to (50)
create index on sub11 (a)
create index on only sub1 (a)
create index on sub (a)
select indexrelid::regclass, indisvalid, inhparent::regclass from pg_index left join pg_inherits on indexrelid = inhrelid where indrelid in ('sub'::regclass, 'sub1'::regclass, 'sub11'::regclass) order by 1
select indexdef from pg_indexes where tablename in ('sub', 'sub11') order by 1
drop index concurrently sub_a_idx
create view trv as select * from tr1
drop table trf
drop table tr
drop view trv
drop table tr
create table deep (a int, b text) partition by range (a)
create table deepx (a int, b text) partition by list (b)
create table deepx1 partition of deepx for values in ('x')
insert into deepx values (5, 'x')
alter table deep attach partition deepx for values from (10) to (20)
create table deepd partition of deep default partition by list (b)
create table deepd1 partition of deepd default
insert into deep values (15, 'y')
create table deep1 partition of deep for values from (10) to (20)
alter table deep attach partition deepx for values from (0) to (10)
alter table only deep drop column b
alter table only deep rename column b to c
select tableoid::regclass, * from deep order by a
