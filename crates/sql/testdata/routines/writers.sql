create role writer
create role maker
grant create on schema public to maker, writer
set role maker
create function positive(int) returns boolean language sql immutable as 'select $1 > 0'
create function more(int) returns int language sql immutable as 'select $1 + 1'
create function within(int) returns int language sql immutable as 'select $1 * 2'
create function around(int) returns int language sql immutable as 'select within($1)'
create table checked (a int primary key check (positive(a)), b int)
create table made (a int, b int generated always as (more(a)) stored, c int)
create table found (a int, b int, c int)
create index on found (more(a))
create index on found (b) where more(b) > 5
create table given (a int, b int default more(5))
create table nested (a int, b int check (around(b) > 0))
create table parts (a int, b int) partition by list (a)
create table parts1 partition of parts for values in (1)
create table parts2 partition of parts (check (positive(b))) for values in (2)
create view over_checked as select * from checked
grant all on checked, made, found, given, nested, parts, over_checked to writer
revoke execute on function positive(int), more(int), within(int) from public
insert into checked values (1, 1), (2, 2)
insert into made values (1), (2)
insert into nested values (1, 1)
insert into parts values (1, 1), (1, 3), (2, 2)
reset role
set role writer
insert into checked values (3, 3)
insert into checked select 3, 3 where false
insert into checked select 3, 3
insert into checked values (1, 1) on conflict (a) do nothing
insert into checked values (1, 1) on conflict (a) do update set b = 4
update checked set b = 4
update checked set b = 4 where a = 1
update checked set b = 4 where false
delete from checked where a = 2
insert into over_checked values (5, 5)
insert into made values (1)
update made set a = 4
update made set c = 4
insert into found values (3, 3)
update found set a = 3
update found set c = 3
insert into given (a) values (1)
insert into given values (1, 1)
insert into given values (1, 1), (2, default)
update given set b = default
insert into nested values (1, 1)
update nested set a = 2
insert into parts values (1, 1)
insert into parts values (2, 2)
insert into parts values (1, 1), (2, 2)
update parts set b = 5
update parts set a = 2 where b = 3
merge into checked using (values (1, 2)) v (x, y) on a = x when matched then update set b = y when not matched then insert values (x, y)
merge into checked using (values (7, 2)) v (x, y) on a = x when not matched then insert values (x, y)
merge into checked using (values (1, 2)) v (x, y) on a = x when matched then delete when not matched then insert values (x, y)
insert into checked values (101, 1), (102, 1), (103, 1), (104, 1), (105, 1), (106, 1), (107, 1), (108, 1), (109, 1), (110, 1), (111, 1), (112, 1), (113, 1), (114, 1), (115, 1), (116, 1), (117, 1), (118, 1), (119, 1), (120, 1), (121, 1), (122, 1), (123, 1), (124, 1), (125, 1), (126, 1)
reset role
grant execute on function positive(int), more(int) to writer
set role writer
prepare one as insert into checked values ($1, 1)
prepare change as update checked set b = 9 where a = $1
prepare some as insert into checked select $1, 1
execute one (10)
execute one (11)
execute one (12)
execute change (10)
execute some (13)
reset role
revoke execute on function positive(int), more(int) from writer
set role writer
execute one (20)
execute change (10)
execute some (21)
reset role
select * from checked order by a
select * from found order by a
grant execute on function positive(int) to writer
set role writer
execute one (22)
execute change (22)
update checked set b = 8 where a = 22
create function of_owner() returns void language sql security definer as 'insert into checked values (30, 1)'
reset role
alter function of_owner() owner to postgres
revoke execute on function positive(int) from writer
set role writer
select of_owner()
execute one (31)
begin
savepoint s
insert into checked values (32, 1)
rollback to s
delete from checked where a = 30
commit
reset role
select * from checked order by a
select * from made order by a
select * from parts order by a, b
set role maker
create function kept(int) returns int language sql immutable as 'select $1 + 3'
create table behind (a int, b int generated always as (a + 1) stored, c int)
create table narrow (a int, b int generated always as (a + 1) stored, c int)
create table keyed (id int primary key, a int, note text)
create table split (id int, a int, note text) partition by list (id)
create table split1 partition of split for values in (1)
create table split2 partition of split for values in (2)
create table carried (id int primary key, a int, note text)
create function noted() returns trigger language plpgsql as 'begin new.note = new.note || ''!''; return new; end'
create table fired (id int primary key, a int, note text)
insert into behind values (1), (2)
insert into narrow (a, c) values (1, 1), (2, 2)
insert into keyed values (1, 1, 'x'), (2, 2, 'y')
insert into split values (1, 1, 'x'), (2, 2, 'y')
insert into carried values (1, 1, 'x'), (2, 2, 'y')
insert into fired values (1, 1, 'x'), (2, 2, 'y')
create unique index on behind (kept(b))
create index on narrow (c) where kept(b) > 5
create index on keyed (kept(a))
create index on split1 (kept(a))
create index on split2 (kept(a))
create index on carried (id) include (note)
create index on carried (kept(a))
create index on fired (kept(a))
create trigger noted before update on fired for each row execute function noted()
grant all on behind, narrow, keyed, split, carried, fired to writer
revoke execute on function kept(int) from public
reset role
set role writer
update behind set a = a + 10
update behind set c = 4
update behind set a = a, c = 5
insert into behind values (7)
update narrow set a = a + 10
update narrow set c = c + 10
update narrow set a = 1, c = 1 where a = 1
update keyed set id = 1, a = 1, note = 'z' where id = 1
update keyed set id = 1, a = 2, note = 'z' where id = 1
update keyed set a = a, note = note || '.' where id < 3
update keyed set a = case id when 2 then 5 else a end
insert into keyed values (1, 1, 'w') on conflict (id) do update set note = excluded.note
insert into keyed values (1, 9, 'w') on conflict (id) do update set note = excluded.note, a = keyed.a
insert into keyed values (1, 9, 'w') on conflict (id) do update set a = excluded.a
insert into keyed values (1, 9, 'w') on conflict (id) do nothing
insert into keyed values (1, 1, 'v'), (3, 1, 'v') on conflict (id) do update set note = excluded.note
insert into keyed values (3, 1, 'v') on conflict (id) do nothing
insert into keyed values (1, 9, 'w') on conflict do nothing
merge into keyed using (values (1, 1)) v (x, y) on id = x when matched then update set a = y, note = 'm'
merge into keyed using (values (1, 6)) v (x, y) on id = x when matched then update set a = y, note = 'm'
update split set a = 1, note = 'z' where id = 1
update split set a = 3, note = 'z' where id = 1
update split set id = 2 where id = 1
update carried set a = 1 where id = 1
update carried set note = 'z' where id = 1
update fired set a = 1, note = 'z' where id = 1
update fired set a = 3 where id = 1
reset role
select * from behind order by a
select * from narrow order by a
select * from keyed order by id
select * from split order by id
select * from carried order by id
select * from fired order by id
