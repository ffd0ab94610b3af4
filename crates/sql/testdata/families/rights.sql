postgres: create role owner login
postgres: create role other login
postgres: create role reader login
postgres: grant create on schema public to owner, other, reader
owner: create table p (a int, b text, c int) partition by list (a)
owner: create table p1 partition of p for values in (1)
owner: create table p2 partition of p for values in (2)
owner: insert into p values (1, 'one', 1), (2, 'two', 2)
owner: grant select on p to reader
owner: grant insert, update, delete on p to other
reader: select * from p
reader: select * from p1
reader: select * from only p
reader: insert into p values (1, 'x', 1)
reader: update p set b = 'x'
reader: delete from p
reader: truncate p
reader: select * from p for update
other: insert into p values (1, 'by other', 1)
other: insert into p values (3, 'no partition', 1)
other: insert into p1 values (1, 'x', 1)
other: select count(*) from p
other: update p set b = 'all'
other: update p set a = 2
other: update p1 set b = 'x'
other: delete from p
other: delete from p1
reader: select count(*) from p
owner: grant select (a), insert on p to other
other: insert into p values (4, 'shown', 1)
owner: revoke select on p from other
other: select a from p
other: create table p3 partition of p for values in (3)
other: create table mine (a int, b text, c int)
other: alter table p attach partition mine for values in (3)
owner: alter table p attach partition mine for values in (3)
other: alter table p detach partition p1
other: alter table p add column d int
other: create index on p (b)
other: drop table p
other: drop table p1
owner: create table par (a int)
other: create table kid () inherits (par)
owner: grant select, insert on par to other
other: create table kid () inherits (par)
other: create table kid (a int)
other: alter table kid inherit par
owner: alter table kid inherit par
owner: create table child () inherits (par)
postgres: alter table child owner to other
other: insert into child values (1)
owner: select * from child
owner: select * from par
owner: alter table par add column z int
owner: alter table only par add column z int
owner: alter table par rename column a to aa
owner: alter table par add check (a > 0)
owner: truncate par
other: select count(*) from child
owner: drop table par
owner: drop table par cascade
other: select count(*) from child
postgres: select relname, pg_get_userbyid(relowner) from pg_class where relname in ('p', 'p1', 'p2', 'mine') order by 1
reader: create view seen as select a, b from p
owner: insert into p values (2, 'again', 2)
reader: select * from seen
reader: grant select on seen to other
other: select * from seen
owner: revoke select on p from reader
other: select * from seen
