create table p (id int primary key, w text)
create table c (id int primary key, p int constraint c_p references p (id) deferrable initially deferred)
create table d (id int, p int constraint d_p references p deferrable)
insert into c values (1, 1)
insert into d values (1, 1)
begin
insert into c values (1, 1), (2, 2)
insert into p values (2, 'two'), (1, 'one')
commit
select * from c
begin
insert into c values (3, 3)
commit
select * from c
begin
insert into c values (3, 3)
delete from c where id = 3
insert into c values (4, null)
commit
begin
delete from p where id = 1
delete from c where p = 1
commit
select * from p
select * from c
begin
delete from p where id = 2
commit
begin
delete from p where id = 2
insert into p values (2, 'again')
commit
select * from p
begin
update p set id = 5 where id = 2
update c set p = 5 where p = 2
commit
select * from c
begin
update p set id = 6 where id = 5
set constraints c_p immediate
rollback
begin
set constraints all immediate
insert into c values (7, 7)
rollback
begin
set constraints d_p deferred
insert into d values (7, 7)
set constraints d_p immediate
rollback
begin
set constraints d_p deferred
insert into d values (7, 7)
insert into p values (7, 'seven')
set constraints d_p immediate
delete from p where id = 7
rollback
begin
set constraints d_p, c_p deferred
insert into d values (8, 8)
insert into c values (8, 8)
insert into p values (8, 'eight')
set constraints all immediate
insert into d values (9, 9)
rollback
begin
insert into c values (10, 10)
savepoint a
insert into c values (11, 11)
insert into p values (10, 'ten')
rollback to a
insert into p values (10, 'other ten')
commit
select * from c
begin
insert into c values (12, 12)
savepoint a
insert into p values (12, 'x')
set constraints all immediate
rollback to a
commit
begin
savepoint a
set constraints c_p immediate
rollback to a
insert into c values (13, 13)
insert into p values (13, 'x')
commit
begin
savepoint a
insert into c values (14, 14)
release a
commit
begin
set constraints c_p deferred
set constraints nosuch deferred
rollback
begin
set constraints p_pkey deferred
rollback
begin
set constraints p_pkey immediate
set constraints public.c_p immediate
set constraints nosuch.c_p immediate
rollback
set constraints all deferred
begin
insert into c values (15, 15)
alter table c add column more int
rollback
begin
insert into c values (15, 15)
drop table c
rollback
begin
insert into c values (15, 15)
truncate c
rollback
begin
insert into c values (15, 15)
create index on c (p)
rollback
begin
delete from p
alter table p add column more int
rollback
begin
insert into c values (16, 16)
update c set p = 17 where id = 16
insert into p values (17, 'x')
commit
begin
insert into c values (18, 17)
update p set id = 19 where id = 17
update p set id = 17 where id = 19
commit
select * from c
insert into c values (20, 20)
with n as (insert into c values (20, 20) returning p) insert into p select p, 'with' from n
with n as (insert into d values (21, 21) returning p) insert into p select p, 'with' from n
with n as (insert into p values (22, 'x') returning id) insert into d select id, id from n
with g as (delete from d where p = 21) delete from p where id = 21
with g as (delete from p where id = 22) delete from d where p = 22
with g as (delete from p where id = 20) select 1
with g as (insert into d values (23, 23)) select 1
select * from d
select * from p
select conname, contype, condeferrable, condeferred, convalidated, pg_get_constraintdef(oid) from pg_constraint where conrelid in ('c'::regclass, 'd'::regclass) order by 1
select constraint_name, is_deferrable, initially_deferred from information_schema.table_constraints where constraint_name in ('c_p', 'd_p')
alter table d alter constraint d_p deferrable initially deferred
select conname, condeferrable, condeferred, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'd'::regclass
begin
insert into d values (30, 30)
commit
alter table d alter constraint d_p not deferrable
select conname, condeferrable, condeferred, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'd'::regclass
alter table d alter constraint nosuch deferrable
alter table c alter constraint c_pkey deferrable
create table tree (id int primary key, up int references tree deferrable initially deferred)
insert into tree values (1, 2), (2, 3), (3, 1)
insert into tree values (4, 5)
begin
insert into tree values (4, 5)
insert into tree values (5, 4)
commit
delete from tree where id = 1
begin
delete from tree where id in (1, 2)
delete from tree where id = 3
commit
select * from tree
create table two (a int, b int, primary key (b, a))
create table of_two (x int, y int, foreign key (x, y) references two (a, b) on delete cascade deferrable initially deferred)
begin
insert into of_two values (1, 2), (3, null)
insert into two values (1, 2)
commit
delete from two
select * from of_two
create table upper (id int primary key)
create table lower_ (id int, u int default 5, foreign key (u) references upper on delete set default on update cascade deferrable initially deferred)
insert into upper values (5), (6)
insert into lower_ values (1, 6)
delete from upper where id = 6
select * from lower_
begin
delete from upper where id = 5
select * from lower_
insert into upper values (5)
commit
begin
delete from upper where id = 5
commit
update upper set id = 50
select * from lower_
create table r (id int primary key)
create table rc (id int references r on delete restrict deferrable initially deferred)
insert into r values (1)
insert into rc values (1)
begin
delete from r
rollback
create table rn (id int primary key)
create table rnc (id int references rn on update restrict)
insert into rn values (1), (2)
insert into rnc values (1)
update rn set id = case id when 1 then 3 else 1 end
create table ru (id int primary key)
create table ruc (id int references ru on update no action)
insert into ru values (1), (2)
insert into ruc values (1)
update ru set id = case id when 1 then 3 else 1 end
select * from ru
create table bad (id int references p deferrable initially deferred not deferrable)
create table bad (id int references p not deferrable initially deferred)
create table bad (id int check (id > 0) deferrable)
create table bad (id int, check (id > 0) deferrable)
create table bad (id int not null deferrable)
create table note (id int primary key, p int references p deferrable initially deferred, w text)
begin
insert into note values (1, 99, 'a')
update note set w = 'b'
update note set id = id + 1
commit
begin
insert into note values (1, 99, 'a')
savepoint s
update note set w = 'b'
release s
savepoint t
update note set w = 'c'
rollback to t
update note set w = 'd'
commit
begin
insert into note values (1, 99, 'a')
update note set w = 'b'
insert into p values (99, 'late')
commit
select * from note
with n as (insert into note values (2, 98, 'x')) insert into p values (98, 'y')
begin
update note set w = 'again'
commit
create table zero (a float8 primary key)
create table of_zero (a float8 references zero on update cascade)
insert into zero values ('-0')
insert into of_zero values ('-0')
update zero set a = '0'
select * from of_zero
create table bad (id int, a inet references p)
create table bad (id int, a text references p (id))
create table bad (id int, a numeric, constraint named foreign key (a) references p)
create table bad (a int, foreign key (ctid) references p)
create table bad (tableoid int)
alter table p add column ctid int
create table bad (a int references p (xmin))
create table bad (a int, b int, foreign key (a, b) references two on delete set null (a, a, b))
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'bad'::regclass
alter table bad alter constraint bad_a_b_fkey no inherit
alter table bad alter constraint bad_a_b_fkey not valid
create table chk (a int, constraint z check (a > 0), constraint y check (a > 1))
insert into chk values (-1)
create table above (id serial primary key)
create table below (id serial primary key, a int references above deferrable initially deferred)
insert into above default values
insert into below (a) values (1)
begin
truncate above, below restart identity
alter table above add column w text
insert into above default values
insert into below (a) values (1)
commit
select * from above, below
begin
insert into below (a) values (9)
truncate above, below
rollback
begin
savepoint s
truncate above, below
rollback to s
insert into below (a) values (7)
commit
