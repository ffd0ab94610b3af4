create table p (id int primary key, email text, status varchar(20), n int, x int, created timestamp, tz timestamptz, data json, ok bool, r real, v numeric(10,2))
insert into p select g, 'User' || g || '@Example.com', case g % 3 when 0 then 'open' when 1 then 'closed' end, g % 10, g % 4, timestamp '2024-01-01' + g * interval '7 hours', '2024-01-01 00:00+00', ('{"sku": "s' || g % 5 || '"}')::json, g % 2 = 0, g, g from generate_series(1, 60) g
create index on p (lower(email))
create unique index p_lower on p (lower(email))
create index on p (n) where status = 'open'
create index on p ((data->>'sku'))
create index on p (date_trunc('day', created))
create index on p (lower(email), n desc, (x + 1))
create index on p ((x + n), (x * n), abs(n))
create index on p (coalesce(n, 0), nullif(x, 3), greatest(n, x))
create index on p ((n))
create unique index p_open on p (n, x, id) where status = 'open' and n is not null
create index part_inc on p (x) include (n, status) where n > 5
create index if not exists p_lower on p (lower(email))
create index on p (lower(email)) where ok
create index on p (x) where not ok
create index on p (x) where ok is true
create index on p (x) where email in ('open', 'closed')
create index on p (x) where n between 3 and 5 or status is null
create index on p ((status || email)) where length(email) > 3
create index on p ((v::int)) where v < 10.5
create index on p ((created::date))
create index on p (upper(p.email))
create index on p ((x::text))
create index on p (extract(year from created))
create index on p (substring(email from 1 for 3) desc)
create index on p ((case when n > 3 then 'a' else 'b' end))
create index on p ((n > 3))
create index on p ((email = 'a'), (status is null))
create index on p (md5(email), length(email))
create index on p ((r * 2))
create index on p (trim(email))
create index on p (((x)))
select relname from pg_class where relkind = 'i' and relname not like 'pg\_%' order by 1
select indexname, indexdef from pg_indexes where tablename = 'p' order by 1
select c.relname, i.indnatts, i.indnkeyatts, i.indisunique, i.indkey, pg_get_expr(i.indexprs, i.indrelid), pg_get_expr(i.indpred, i.indrelid), pg_get_expr(i.indpred, i.indrelid, true) from pg_index i join pg_class c on c.oid = i.indexrelid where i.indrelid = 'p'::regclass order by 1
select c.relname, a.attname, a.attnum, format_type(a.atttypid, a.atttypmod), pg_get_indexdef(c.oid, a.attnum, true), pg_get_indexdef(c.oid, a.attnum, false) from pg_class c join pg_attribute a on a.attrelid = c.oid where c.relkind = 'i' and c.relname not like 'pg\_%' order by 1, 3
select c2.relname, pg_get_indexdef(i.indexrelid, 0, true) from pg_index i join pg_class c2 on c2.oid = i.indexrelid where i.indrelid = 'p'::regclass order by 1
create index on p (random())
create index on p ((n + random()))
create index on p (now())
create index on p ((created::timestamptz))
create index on p (date_trunc('day', tz))
create index on p ((tz::text))
create index on p ((created::text))
create index on p (to_char(created, 'YYYY'))
create index on p (n) where created < now()
create index on p (n) where created > current_date
create index on p (n) where random() > 0.5
create index on p (n) where n
create index on p (n) where 5
create index on p (n) where nosuch = 1
create index on p (lower(nosuch))
create index on p (nosuch(email))
create index on p (lower(n))
create index on p (sum(n))
create index on p (n) where sum(n) > 1
create index on p ((row_number() over ()))
create index on p (n) where row_number() over () > 1
create index on p ((select 1))
create index on p (n) where (select true)
create index on p (n) where exists (select 1 from p)
create index on p (generate_series(1, n))
create index on p (n) where generate_series(1, n) > 1
create index on p (n) include (lower(email))
create index on p (lower(email)) where other.n > 1
create index on p (data)
create index on p ((data->'sku'))
create index on p (n) where n = $1
create index on p ((ctid))
create index p_lower on p (n)
create index on nosuch (lower(a))
insert into p (id, email) values (100, 'USER1@example.COM')
insert into p (id, email) values (100, 'user100@example.com'), (101, 'USER100@example.com')
update p set email = 'user2@EXAMPLE.com' where id = 1
update p set email = 'USER1@example.com' where id = 1 returning id, email
insert into p (id, email, status, n, x) values (200, 'q', 'open', 3, 1)
create unique index on p (n) where id >= 200
insert into p (id, email, status, n, x) values (201, 'r', 'open', 3, 1)
insert into p (id, email, status, n, x) values (199, 'r', 'open', 3, 1)
update p set id = 300 where id = 199
update p set n = 4 where id = 199
update p set id = 300 where id = 199
select id, n from p where id >= 199 order by 1
drop index p_n_idx1
create table u (a int, b text, c int, live bool default true)
create unique index u_lower on u (lower(b))
create unique index u_live on u (a) where live
insert into u values (1, 'One', 1) on conflict (lower(b)) do update set c = u.c + 1 returning *
insert into u values (2, 'ONE', 1) on conflict (lower(b)) do update set c = u.c + 1, b = excluded.b returning *
insert into u values (3, 'oNe', 1) on conflict (lower(b)) do nothing returning *
insert into u values (1, 'Two', 1) on conflict (a) where live do update set c = 10 returning *
insert into u values (1, 'Three', 1) on conflict (a) where live and c > 0 do nothing returning *
insert into u values (1, 'Four', 1) on conflict (a) do nothing
insert into u values (1, 'Four', 1) on conflict (b) do nothing
insert into u values (1, 'Four', 1) on conflict (upper(b)) do nothing
insert into u values (1, 'Four', 1) on conflict (a) where not live do nothing
insert into u values (1, 'Four', 1) on conflict (lower(b), a) do nothing
insert into u values (1, 'Four', 1) on conflict on constraint u_live do nothing
insert into u values (1, 'Four', 1) on conflict do nothing returning a
insert into u values (1, 'Five', 1, false) on conflict (a) where live do nothing returning a, b, live
insert into u values (1, 'Six', 1, null) returning a, live
update u set live = true where b = 'Five'
update u set live = false where b = 'ONE' returning a, b, live
update u set live = true where b = 'Five' returning a, b, live
select a, b, c, live from u order by 1, 2
select b from u where lower(b) = 'five'
select b from u where lower(b) in ('five', 'six', 'seven') order by lower(b) desc
select a, b from u where a = 1 and live
alter table u add constraint uu unique using index u_live
alter table u add constraint uu unique using index u_lower
alter table u rename column b to bb
select indexdef from pg_indexes where tablename = 'u' order by 1
insert into u values (9, 'ONE', 9)
select bb from u where lower(bb) = 'one'
alter table u rename to uuu
select indexdef from pg_indexes where tablename = 'uuu' order by 1
alter table uuu drop column live
select indexname from pg_indexes where tablename = 'uuu' order by 1
alter table uuu drop column bb
select indexname from pg_indexes where tablename = 'uuu' order by 1
insert into uuu values (1, 1), (1, 1) returning a
create table z (a int, b int)
insert into z values (1, 0), (2, 5)
create index z_inv on z ((10 / b)) where b <> 0
create index on z ((10 / b))
insert into z values (3, 0) returning a
drop index z_inv
create index z_all on z ((10 / b)) where a = 2
insert into z values (2, 0)
update z set b = 0 where a = 2
update z set a = 2 where a = 1
insert into z values (7, 0), (2, 0)
select a, b from z order by 1
begin
create index z_neg on z ((- a)) where b = 0
insert into z values (8, 0)
select a from z where -a = -8 and b = 0
savepoint s
create unique index z_u on z ((a * 0))
rollback to s
create unique index z_u on z ((a * 2))
insert into z values (8, 9)
rollback
select indexname from pg_indexes where tablename = 'z' order by 1
begin
create unique index z_u on z ((a * 2))
insert into z values (9, 9)
commit
insert into z values (9, 1)
drop index z_u
insert into z values (9, 1) returning a
select id, email from p where lower(email) = 'user7@example.com'
select id from p where lower(email) like 'user1%' order by 1
select id from p where lower(email) > 'user5' order by lower(email), id limit 5
select id from p where status = 'open' and n = 3 order by 1
select count(*) from p where status = 'open'
select id from p where data->>'sku' = 's2' order by 1
select id from p where date_trunc('day', created) = timestamp '2024-01-03' order by 1
select id from p where x + n = 7 and x * n = 12 order by 1
select id, n from p where n > 5 and x = 2 order by 1
select id, n from p where n > 7 and x = 2 order by 1
select id, n from p where n >= 5 and x = 2 order by 1
select id from p where ok and lower(email) = 'user8@example.com'
select id from p where not ok and x = 1 order by 1
select id from p where ok = true and x = 2 order by 1
select id from p where status = 'closed' and x = 1 order by 1
select id from p where status in ('open') and x = 1 order by 1
select max(n), min(x) from p where status = 'open'
select a.id, b.id from p a join p b on lower(a.email) = lower(b.email) where a.id < 5 order by 1
select date_trunc('day', created), count(*) from p group by 1 order by 1 limit 3
update p set n = n + 1 where status = 'open' and n = 3
select id from p where status = 'open' and n = 4 order by 1
delete from p where lower(email) = 'user7@example.com' returning id
select id from p where n > 5 and x is not null order by n, id limit 3
reindex table p
truncate p
insert into p (id, email) values (1, 'a'), (2, 'A')
insert into p (id, email) values (1, 'a')
select id from p where lower(email) = 'a'
drop table p
create table longer (id int primary key, a varchar(5), b varchar(9), note varchar(20))
create index on longer (lower(a)) where b <> 'x'
create unique index on longer ((a || b))
insert into longer values (1, 'Ab', 'c'), (2, 'abcde', 'f')
alter table longer alter column a type varchar(20)
insert into longer values (3, 'Longer Than Before', 'x'), (4, 'LONGER than before', 'y')
select id from longer where lower(a) = 'longer than before' and b <> 'x'
alter table longer alter column b type varchar(30), alter column a type varchar(25)
alter table longer alter column a type varchar(25), alter column b type varchar(30) using b::varchar(30)
select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'longer'::regclass order by 1
insert into longer values (5, 'Ab', 'c')
alter table longer add constraint shown check (note is null or length(note) < 9)
alter table longer alter column note type varchar(30)
alter table longer alter column note type varchar(60)
alter table longer add column w varchar(255)[]
alter table longer alter column w type varchar(255)[]
insert into longer (id, note) values (6, 'not so very long')
drop table longer
create table shorter (id int primary key, name varchar(40) constraint once unique, c char(3) unique, t text[] unique)
comment on column shorter.name is 'told'
alter table shorter alter column name type varchar(9)
select conname, contype from pg_constraint where conrelid = 'shorter'::regclass order by 1
select col_description('shorter'::regclass, (select attnum from pg_attribute where attrelid = 'shorter'::regclass and attname = 'name'))
select a.indexrelid::regclass, o.opcname, o.opcdefault from pg_index a join pg_opclass o on o.oid = any (a.indclass) where indrelid = 'shorter'::regclass order by 1
insert into shorter values (1, 'a'), (2, 'a')
alter table shorter drop constraint once
drop table shorter
