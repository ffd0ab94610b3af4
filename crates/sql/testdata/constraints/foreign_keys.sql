create table p (a int, b int, w text, primary key (a, b))
insert into p values (1, 1), (1, 2), (2, 1), (0, 0), (1, 0)
create table f (id int, a int, b int, constraint f_ab foreign key (a, b) references p match full)
insert into f values (1, 1, 1)
insert into f values (2, null, null)
insert into f values (3, 1, null)
insert into f values (3, 9, 9)
update f set b = null where id = 1
update f set a = null, b = null where id = 1
select * from f
create table g (id int, a int, b int)
insert into g values (1, 1, null)
alter table g add foreign key (a, b) references p match full
alter table g add constraint g_ab foreign key (a, b) references p match simple
alter table g drop constraint g_ab
alter table g add constraint g_ab foreign key (a, b) references p match full not valid
select conname, confmatchtype, convalidated, pg_get_constraintdef(oid) from pg_constraint where conname in ('g_ab', 'f_ab')
insert into g values (2, 2, null)
insert into g values (2, 9, 9)
update g set id = 5
alter table g validate constraint g_ab
update g set b = 1
alter table g validate constraint g_ab
alter table g validate constraint g_ab
select conname, convalidated, pg_get_constraintdef(oid) from pg_constraint where conname = 'g_ab'
alter table g validate constraint nosuch
create table h (id int, a int default 1, b int default 0, foreign key (a, b) references p on delete set null (b))
insert into h values (1, 1, 1)
delete from p where a = 1 and b = 1
select * from h
create table i (id int, a int default 1, b int default 0, foreign key (a, b) references p on delete set default (b))
insert into i values (1, 1, 2)
delete from p where a = 1 and b = 2
select * from i
select pg_get_constraintdef(oid), confdeltype, confupdtype, confdelsetcols from pg_constraint where conrelid in ('h'::regclass, 'i'::regclass)
create table j (id int, a int default 0, b int default 0, foreign key (a, b) references p on delete set default on update set default)
insert into j values (1, 2, 1)
update p set a = 7 where a = 2
select * from j
update j set a = 7, b = 1
delete from p where a = 7
select * from j
delete from p where a = 0
create table k (id int, a int default 3, foreign key (a, id) references p (a, b) on delete set default (a))
insert into p values (5, 5)
insert into k values (5, 5)
delete from p where a = 5
create table bad (a int, b int, c int, foreign key (a, b) references p on delete set null (c))
create table bad (a int, b int, foreign key (a, b) references p on update set null (a))
create table bad (a int, b int, foreign key (a, b) references p on delete cascade (a))
create table bad (a int references p)
create table bad (a int references p (w))
create table bad (a int references p (nosuch))
create table nokey (a int)
create table bad (a int references nokey)
create table bad (a int references nokey (a))
create table bad (a int references nosuch)
create table ck (a int)
insert into ck values (-1), (1)
alter table ck add constraint ck_a check (a > 0)
alter table ck add constraint ck_a check (a > 0) not valid
insert into ck values (-2)
update ck set a = -3 where a = -1
update ck set a = -1 where a = 1
select conname, convalidated, connoinherit, pg_get_constraintdef(oid) from pg_constraint where conname = 'ck_a'
alter table ck validate constraint ck_a
delete from ck where a < 0
alter table ck validate constraint ck_a
select conname, convalidated, pg_get_constraintdef(oid) from pg_constraint where conname = 'ck_a'
create table ni (a int check (a > 0) no inherit, b int, constraint b check (b > 0) no inherit)
select conname, connoinherit, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'ni'::regclass
create table nv (a int, check (a > 0) not valid)
select conname, convalidated, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'nv'::regclass
create table u (a int, b int, c int)
create unique index u_a on u (a)
create unique index u_b on u (b desc)
create index u_c on u (c)
alter table u add constraint u_pk primary key using index u_a
alter table u add constraint u_u unique using index u_b
alter table u add constraint u_u unique using index u_c
alter table u add constraint u_u unique using index nosuch
alter table u add constraint u_u unique using index u_pk
create unique index u_bb on u (b)
alter table u add unique using index u_bb
select conname, contype, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'u'::regclass
insert into u values (null, 1, 1)
insert into u values (1, 1, 1), (2, 1, 1)
create table inc (a int, b int, c int, primary key (a) include (b), unique (b) include (c, a))
select conname, contype, conkey, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'inc'::regclass
select indexrelid::regclass, indnatts, indnkeyatts, indkey from pg_index where indrelid = 'inc'::regclass
insert into inc values (1, 1, 1)
insert into inc values (1, 2, 2)
insert into inc values (2, 1, 2)
alter table inc add constraint inc_c unique (c) include (b)
create table bad (a int, primary key (a) include (nosuch))
create table del (id int primary key)
create table del_c (id int references del on delete restrict on update restrict)
select confdeltype, confupdtype, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'del_c'::regclass
select update_rule, delete_rule, match_option from information_schema.referential_constraints order by 1, 2, 3
create table tp (id int primary key, up int references tp)
create table tc (id int primary key, p int references tp)
create table tg (id int references tc deferrable initially deferred)
insert into tp values (1, 1)
insert into tc values (1, 1)
insert into tg values (1)
truncate tp
truncate tp, tc
truncate tg
truncate tp, tg, tc
insert into tp values (1, 1)
insert into tc values (1, 1)
insert into tg values (1)
begin
truncate tc
rollback
begin
truncate tp cascade
select (select count(*) from tp), (select count(*) from tc), (select count(*) from tg)
rollback
truncate tp cascade
select (select count(*) from tp), (select count(*) from tc), (select count(*) from tg)
alter table tp drop constraint tp_pkey
alter table tc drop constraint tc_pkey cascade
select conname from pg_constraint where conrelid in ('tp'::regclass, 'tc'::regclass, 'tg'::regclass) order by 1
alter table tp drop constraint tp_pkey cascade
select conname from pg_constraint where conrelid in ('tp'::regclass, 'tc'::regclass, 'tg'::regclass) order by 1
create sequence counted
create table two_defaults (x int default nextval('counted'), y text, z int default -1 * currval('counted'), check (x + z = 0))
insert into two_defaults (y) select 'a' from generate_series(1, 5)
insert into two_defaults (y) values ('b'), ('c'), ('d')
insert into two_defaults (x, y) values (1, 'e')
select * from two_defaults
