create table lockable (id int primary key, n int)
insert into lockable values (1, 10), (2, 20)
create view lockable_view as select * from lockable
begin read only
select n from lockable where id = 1 for update
rollback
begin read only
select n from lockable where n = 10 for no key update
rollback
begin read only
select n from lockable for share
rollback
begin read only
select n from lockable order by id limit 1 for key share
rollback
begin read only
select * from (select n from lockable where id = 2 for update) x
rollback
begin read only
with x as (select n from lockable where id = 2 for share) select * from x
rollback
begin read only
select a.n from lockable a join lockable b on a.id = b.id for update of b
rollback
begin read only
select n from lockable_view where id = 1 for update
rollback
create temporary table own (id int primary key, n int)
insert into own values (1, 10)
begin read only
select n from own where id = 1 for update
select n from own for share
commit
begin read only
select n from lockable order by id
commit
select n from lockable where id = 1 for update
