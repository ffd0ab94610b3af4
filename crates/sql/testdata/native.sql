-- Per line: the tier that a statement goes to, and the statement. Answers are compared with PostgreSQL's.
-- Those of `other` are not: what they do is not served yet, or is another thing here. `later` is refused as wrong syntax yet.
setup | create table n (id int primary key, a int, b text, "C" int, t timestamp, f boolean)
setup | insert into n select i, i % 3, 'b' || (9 - i), i * 10, '2024-01-01'::timestamp + i * interval '1 day', i > 4 from generate_series(1, 9) i
setup | insert into n (id) values (100), (101)
setup | create table m (id int primary key, a int)
setup | insert into m values (1, 1), (2, 2)
setup | set timezone = 'UTC'
native | select id from n where id = 1
native | select n.id from public.n where n.id = 1
native | select ID, N.A from N where Id = 1
native | select x.id from n x where x.id = 1
native | select x.id from n as x where ((x.id) = (1))
native | select id "Id", a as "select" from n where id = 1
native | select "C" from n where "C" = 30
native | table n
native | select * from n where id in (1, 2, null)
native | select * from n where id = 5 and a = 2 and b is not null and t is null
native | select * from n where id = 5 and a = 2 and b notnull and t isnull
native | select id from n where id >= 2 and (id < 5 and a <> 0)
native | select id from n where 3 > id
native | select id from n where id between 2 and 3
native | select id from n where id = -1
native | select id from n where id = - (-1)
native | select id from n where id = 2147483648
planned | select id from n where id > -2147483649 and id < 2.5
native | select id from n where id = '2'
native | select id from n where id = E'\x32'
native | select id from n where b = $$b8$$
native | select id from n where b = U&'\0062\0038'
native | select id from n where f = true
planned | select id from n where id = 'x'
native | select all id from n where id = 2
native | select a as b, b as a from n where id in (1, 2, 3) order by a
native | select a as b, b as a from n where id in (1, 2, 3) order by n.a, id
native | select a as "x", id from n where id < 7 order by "x", 2 desc
native | select id, a from n where id < 7 order by (2), (n.id) desc
native | select a x, a x, id from n where id < 7 order by x, id
native | select distinct a from n order by a
native | select distinct a, b from n where id < 5 order by b desc, 1
native | select id from n order by a nulls last, id
native | select id from n order by a desc nulls first, id desc
native | select id from n order by id limit 3
native | select id from n order by id limit 3 offset 2
native | select id from n order by id offset 9 rows
native | select id from n order by id limit all
native | select id from n order by id limit null offset null
native | select id from n order by id fetch first row only
native | select id from n order by id offset 1 row fetch next 2 rows only
native | select id from n order by id limit '2'
native | select id from n order by id limit 1.5
native | select id from n order by id limit 2.5 offset 0.5
native | select id from n order by id limit -1
native | select id from n order by id offset -1
planned | select id from n order by id limit 'x'
planned | select id from n order by id limit true
native | (select id from n where id < 7 order by id desc) limit 2
native | ((select id from n where id < 7)) order by id desc
native | select id from n where id = 1 for update
native | select id from n where id = 1 for no key update nowait
native | select id from n where id < 3 for share skip locked
native | select id from n where id < 3 order by id for key share
native | select id from n where id < 3 for read only
native | select count(*), count(a), count(all b) as "All", sum(a), min(id), max(b) from n
native | select count(*) from n x where x.id > 4
native | select Count(N.A) as c from n
native | select max(id) from n where a = 1
planned | with w as (select 1) select id from n where id = 1
planned | with n as (select 7 as id) select id from n where id = 7
planned | select from n where id < 3
planned | select id
planned | select id from n, m
planned | select n.id from n join m using (id)
planned | select id from (select 1 as id) n where id = 1
planned | select n from n where id = 1
native | select n.* from n where id = 1
planned | select x.id from n where id = 1
planned | select n.id from n as x where x.id = 1
native | select public.n.id from n where id = 1
planned | select m.id from n where id = 1
planned | select C from n where id = 1
planned | select id from nosuch where id = 1
planned | select id from public.public.n where id = 1
native | select id from only n where id = 1
native | select y from n x (y) where y = 1
planned | select id from n x (y) where y = 1
planned | select distinct on (a) a, id from n order by a, id
planned | select id from n where id < 4 window w as (order by id)
planned | select id from n group by id having id < 3
planned | select id from n group by id
planned | select count(*) from n group by ()
planned | select count(*) from n group by distinct a, a
planned | select count(*) from n having count(*) > 100
planned | select id from n order by a, id fetch first 5 rows with ties
planned | select id from n order by a nulls first, id
planned | select id from n order by a desc nulls last, id
native | select id from n order by id using >
planned | select id, a as id from n order by id
planned | select a as x, id as x from n order by x
planned | select id from n order by 2
planned | select id from n order by 0
planned | select id from n order by -1
planned | select id from n order by 'id'
planned | select id from n order by 1.0
planned | select id from n order by null
planned | select id from n order by id + 0 desc
planned | select id as x from n order by x + 0
planned | select distinct a from n order by id
native | select id from n order by id limit 1 + 1
native | select id from n order by id limit 2::bigint
planned | select id from n where id < 3 union all select id from m
planned | values (1), (2)
planned | select id from n where id between symmetric 3 and 1
planned | select id from n where id not between 2 and 1000
planned | select id from n where id not in (1, 2)
planned | select id from n where id in (select id from m)
planned | select id from n where id is distinct from 1
planned | select id from n where id is not distinct from 1
planned | select id from n where f
planned | select id from n where f is true
planned | select id from n where f is not unknown
planned | select id from n where not id = 1
planned | select id from n where id = 1 or id = 2
planned | select id from n where id = 1 and (id = 1 or a = 2)
native | select id from n where id operator(pg_catalog.=) 1
native | select id from n where id = +1
planned | select id from n where id = - a
native | select id from n where id = '1'::int
native | select id from n where id = int '1'
native | select id from n where b = n'b8'
native | select id from n where t = timestamp '2024-01-02'
planned | select id from n where id = any ('{1,2}')
native | select id from n where (id, a) = (1, 1)
planned | select id from n where id = a
native | select id from n where id = null::int
planned | select id from n where b like 'b8'
planned | select id from n where b = 'b8' collate "C"
planned | select id from n where id + 0 = 1
planned | select id from n where null
planned | select id from n where 1 = 1 and id = 1
planned | select id from n where id = b'1'
planned | select id, 1 from n where id = 1
planned | select id::text from n where id = 1
planned | select id from n where n = n and id = 1
planned | select count(distinct a) from n
planned | select count(a order by a) from n
planned | select count(*) filter (where a > 1) from n
planned | select count(*) over () from n where id < 3
native | select pg_catalog.count(*) from n
planned | select sum(*) from n
planned | select count() from n
planned | select count(a, id) from n
planned | select count(n) from n
planned | select count(n.*) from n
planned | select count(1) from n
planned | select max(id) + 1 from n
planned | select count(*), id from n
planned | select distinct count(*) from n
planned | select count(*) from n order by 1
planned | select count(*) from n limit 0
planned | select count(*) from n offset 1
planned | select count(*) from n for update
planned | select nosuch(id) from n
native | select id from n where id = 1 for update of n
native | select id from n where id = 1 for share for update
other | select id from n tablesample system (100) where id = 1
other | select ctid from n where id = 1
other | select id from n where id = $0
native | insert into n (id, a) values (10, default)
native | insert into n values (11, 1, 'x') returning id, b as "B", n.a
native | insert into n (b, id) values ('y', -12), (null, 12), ('z', '13')
native | insert into n (id, t) values (14, now()), (15, current_timestamp), (16, transaction_timestamp())
native | insert into public.n as x (id) values (17) returning x.id
native | insert into n (id, a) values (18, 1.5), (19, '7')
native | insert into n (id) values (10)
planned | insert into n (id, f) values (20, 'maybe')
native | insert into n (id) values ((21))
native | update n set a = 5 where id = 10
native | update n as x set a = x.a + 1, b = 'set' where x.id in (10, 11)
native | update n set a = 1 + a where id = 10
native | update n set a = a - -1, "C" = null where n.id = 10
native | update n set a = '7' where id = 11
native | delete from n where id = -12
native | delete from public.n as x where x.id in (12, 13)
native | insert into n default values
planned | insert into n (id) select 30
planned | insert into n (id) values (30), (31) order by 1 limit 1
planned | insert into n (id) values (32), (33) offset 1
planned | insert into n (id) values (34), (35) fetch first 1 row only
planned | with w as (select 1) insert into n (id) values (36)
planned | insert into n (id) with w as (select 1) values (37)
planned | insert into n (id) overriding system value values (38)
planned | insert into n (id) overriding user value values (39)
planned | insert into n (id) values (10) on conflict do nothing
native | insert into n (id, a) values (10, 3) on conflict (id) do update set a = excluded.a
native | insert into n (id, a) values (10, 4) on conflict (id) do update set a = excluded.a
native | insert into n (id, a, "C") values (10, 4, 7) on conflict on constraint n_pkey do update set a = n.a + excluded.a, "C" = -3, b = 'b'
planned | insert into n (id, a, "C") values (10, 4, 7) on conflict on constraint n_pkey do update set "C" = 5 - 3
native | insert into n as x (id, a, b) values (10, 4, 'x') on conflict (id) do update set a = x.a - 1, b = excluded.b
native | insert into n (id, a) values (10, 4) on conflict (id) do update set a = public.n.a + 1
native | insert into n (id, a) values (10, 4) on conflict (id) do update set a = 1 + n.a
native | insert into n (id, a) values (10, null) on conflict (id) do update set a = n.a + excluded.a
native | select * from n where id = 10
native | insert into n (id, a) values (10, 4) on conflict (id) do update set a = n.a + 1, "C" = excluded."C"
native | insert into n (id, "C") values (10, 2147483647) on conflict (id) do update set "C" = excluded."C"
native | insert into n (id, "C") values (10, 2147483647) on conflict (id) do update set "C" = n."C" + excluded."C"
native | insert into n (id, a) values (10, 4) on conflict (id) do update set id = 11
native | insert into n (id, a) values (11, 4) on conflict (id) do update set id = 1
native | select id, a, b, "C" from n where id in (1, 10, 11)
planned | insert into n as x (id, a) values (10, 4) on conflict (id) do update set a = n.a + 1
planned | insert into n (id, a) values (11, 4) on conflict (id) do update set a = a + 1
planned | insert into n (id, a) values (11, 4) on conflict (id) do update set a = excluded.a where n.a > 9
planned | insert into n (id, a) values (11, 4), (12, 4) on conflict (id) do update set a = excluded.a
planned | insert into n (id, a) values (11, 4) on conflict (id) do update set a = default
planned | insert into n (id, a) values (11, 4) on conflict (id) do update set a = excluded.a, a = 1
planned | insert into n (id, a) values (11, 4) on conflict (id) do update set b = excluded.a
planned | insert into n (id, a) values (11, 4) on conflict (id) do update set a = excluded.a returning id
planned | insert into n (id, a) values (11, 4) on conflict (a) do update set a = excluded.a
planned | insert into n (id, a) values (11, 4) on conflict do update set a = excluded.a
planned | insert into n (a) values (4) on conflict (id) do update set a = excluded.a
native | insert into n (id, a) values (null, 4) on conflict (id) do update set a = excluded.a
native | select id, a, b, "C" from n where id in (1, 10, 11, 12)
native | delete from n where id in (10, 11, 12)
native | insert into n (id) values (40) returning *
planned | insert into n (id) values (41) returning id + 1
planned | insert into n as x (id) values (42) returning n.id
native | insert into n (id) values (1 + 42)
native | insert into n (id) values (+44)
native | insert into n (id) values (45::int)
planned | insert into n (id, t) values (46, current_timestamp(0))
planned | insert into n (id, t) values (47, now() - interval '1 day')
planned | insert into n (id, t) values (48, localtimestamp)
planned | insert into n (id, a) values (49, now())
planned | insert into n (id, b) values (50, B'1')
planned | insert into n (id, id) values (51, 52)
planned | insert into n (id, a) values (53)
planned | insert into n (id) values (54, 55)
planned | insert into n (id, nosuch) values (56, 57)
planned | insert into n (id.x) values (58)
planned | insert into n (id[1]) values (59)
planned | update n set a = 1 from m where n.id = m.id and m.id = 1
planned | update n set a = 2 where id = 1 returning id, a
planned | with w as (select 1) update n set a = 3 where id = 1
native | update only n set a = 4 where id = 1
native | update n set (a, b) = (5, 'row') where id = 1
planned | update n set (a, b) = (select 6, 'query') where id = 1
planned | update n set a = default where id = 1
planned | update n set a = 1, a = 2 where id = 1
planned | update n set n.a = 1 where id = 1
planned | update n set a[1] = 1 where id = 1
planned | update n set a = a * 2 where id = 2
planned | update n set a = 2 - a where id = 2
planned | update n set a = -a where id = 2
native | update n set a = a operator(pg_catalog.+) 1 where id = 2
planned | update n set a = id + 1 where id = 2
planned | update n set a = a + a where id = 2
native | update n set a = 3::int where id = 2
planned | update n x set a = n.a + 1 where id = 2
other | update n set a = 1 where current of nosuch
native | delete from only n where id = 10
planned | delete from n using m where n.id = m.id and m.id = 2
planned | delete from n where id = 11 returning id, b
planned | with w as (select 1) delete from n where id = 14
planned | delete from n where id = 15 or id = 16
planned | delete from n x where n.id = 17
setup | create table z (id int primary key, w timestamptz, d date)
setup | set timezone = 'Europe/Berlin'
planned | insert into z values (1, '2024-07-01 12:00', '2024-07-01'), (2, '2024-01-01 12:00+00', null)
planned | select * from z where w = '2024-07-01 12:00'
planned | select count(*) from z where w >= '2024-07-01 12:00'
planned | update z set w = '2024-07-02 00:30' where id = 2
native | select id, w, d from z where id = 2
setup | set datestyle = 'German'
planned | select * from z where id = 1
planned | insert into z values (3, '02.07.2024 01:00', '03.07.2024')
setup | set datestyle = 'ISO, DMY'
planned | select * from z where d = '03/07/2024'
setup | reset datestyle
setup | reset timezone
native | select * from z where id = 3
setup | set bytea_output = 'escape'
planned | select id from z where id = 3
setup | reset bytea_output
planned | select x.id from n x join z on z.id = x.id where x.id < 4 order by x.id for update of x
planned | select x.id from n x left join z on z.id = x.id for update
planned | select x.id from n x left join z on z.id = x.id order by 1 limit 2 for update of x
planned | select x.id from n x left join z on z.id = x.id where z.id > 0 order by 1 for no key update
planned | select count(*) from n for update
planned | select x.id from n x join z on z.id = x.id for share of w
planned | select id from n where id in (select id from z for update skip locked) order by id
