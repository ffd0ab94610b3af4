create table a (id int primary key, p int references a (id), check (id < 100))
insert into a values (1, 2), (2, 1)
insert into a values (3, 4), (4, 5), (5, 3)
insert into a values (6, 7), (7, 8), (8, 9), (9, 6)
insert into a values (10, 11), (11, 99)
insert into a values (10, 10)
insert into a values (11, 12), (12, 11) returning *
insert into a values (13, 14), (14, 13), (14, 13)
insert into a values (13, 14), (14, 98), (13, 1)
insert into a values (13, 97), (100, 1)
insert into a values (13, 97), (null, 1)
insert into a values (13, 97), (14, 'x')
insert into a select 15, 16 union all select 16, 15
insert into a values (17, 18), (18, (select max(id) from a))
with n as (select * from (values (21, 22), (22, 21)) v) insert into a select * from n
insert into a values (23, 24), (24, 23) on conflict do nothing
insert into a values (25, 26), (26, 25), (26, 25) on conflict (id) do nothing
insert into a values (27, 28), (28, 27) on conflict (id) do update set p = excluded.p returning *
begin
insert into a values (31, 32), (32, 31)
savepoint s
insert into a values (33, 34), (34, 96)
rollback to s
insert into a values (33, 34), (34, 33)
commit
select count(*) from a
create table u (id uuid primary key, p uuid references u)
insert into u values ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002'), ('00000000-0000-0000-0000-000000000002', '00000000-0000-0000-0000-000000000001')
create table two (x int, y text, px int, py text, primary key (x, y), foreign key (px, py) references two on delete cascade on update cascade)
insert into two values (1, 'a', 2, 'b'), (2, 'b', 3, 'c'), (3, 'c', 1, 'a')
insert into two values (4, 'a', 4, 'b'), (5, 'b', null, 'c')
delete from two where x = 2
select * from two
create table s (id serial primary key, p int references s on delete set null)
insert into s (p) values (2), (1) returning *
insert into s (p) values (4), (3), (9)
insert into s (p) values (null), (6)
select count(*) from s
create table g (id int primary key, twice int generated always as (id * 2) stored unique, p int references g (twice))
insert into g (id, p) values (1, 4), (2, 2)
insert into g (id, p) values (3, 8), (4, 9)
create table parent (id int primary key)
create table child (id int primary key, p int references parent, q int unique deferrable)
insert into parent values (1), (2)
insert into child values (1, 9, 1), (1, 1, 2)
insert into child values (1, 9, 1), (2, 1, 1)
insert into child values (1, 9, 1), (null, 1, 1)
insert into child values (1, 1, 1), (2, 9, 2), (1, 1, 3)
insert into child values (1, 1, 1), (2, 2, 2)
insert into child values (3, 1, 3), (4, 9, 4)
insert into child values (3, 1, 3), (4, 9, 4), (3, 1, 5) on conflict (q) do nothing
create table d (id int primary key, p int references d deferrable initially deferred)
begin
insert into d values (1, 2), (2, 3)
insert into d values (3, 4), (5, 1)
insert into d values (4, 4)
commit
insert into d values (6, 7), (7, 8)
create table span (r int4range, id int, exclude using gist (r with &&))
insert into span values ('[1,3)', 1), ('[2,4)', 2)
insert into span values ('[1,3)', 1), ('[2,4)', 2), ('x', 3)
create table at_all (id int primary key, r int4range, p int references at_all, exclude using gist (r with &&))
insert into at_all values (1, '[1,3)', 2), (2, '[2,4)', 1)
insert into at_all values (1, '[1,3)', 9), (2, '[2,4)', 1)
insert into at_all values (1, '[1,3)', 9), (2, '[2,4)', 1), (null, '[7,8)', 1)
insert into at_all values (1, '[1,3)', 2), (2, '[3,4)', 1)
create table part (id int, k int, p int, q int, primary key (id, k)) partition by list (k)
create table part1 partition of part for values in (1)
create table part2 partition of part for values in (2)
insert into part values (1, 1), (2, 2)
create table base (id int primary key, p int references base)
create table heir (more int) inherits (base)
insert into base values (1, 2), (2, 1)
create rule also as on insert to base do also insert into parent values (new.id + 50)
insert into base values (3, 4), (4, 3)
select * from parent order by id
create table fired (id int primary key, p int references fired)
create function pass() returns trigger language plpgsql as $$ begin return new; end $$
create trigger t before insert on fired for each row execute function pass()
insert into fired values (1, 2), (2, 1)
insert into fired values (3, 4), (4, 9)
create view over as select * from a
insert into over values (41, 42), (42, 41)
