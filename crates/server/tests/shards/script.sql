select count(*) from ev
insert into ev values (1, 'one', 1.5, '2026-01-01 00:00:00+00', true, '{"a": 1}', 10)
insert into ev values (2, 'two', 2.5, '2026-01-02 00:00:00+00', false, null, 20), (3, 'three', null, null, null, '[1, 2]', 30), (4, 'four', 4.25, '2026-01-04 12:34:56.789+00', true, '{}', 40), (5, 'five', -5, '2026-01-05 00:00:00+00', false, '"x"', 50)
insert into ev (id, name, n) select i, 'name ' || i, i * 10 from generate_series(6, 2500) i
insert into ev (id, name) values (3000, 'thr''ee \ "thousand"'), (3001, E'a\nb\tc')
select * from ev where id = 3
select * from ev where id in (1, 2, 3, 4, 5)
select * from ev where id > 2490 order by id
select id, name from ev where name like 'name 24%' order by id limit 7
select id, name from ev where name ilike 'NAME 124_' order by id desc
select count(*), sum(n), min(id), max(id), avg(n) from ev
select count(*), sum(amount), min(at), max(at) from ev where amount is not null
select at, count(*) from ev where id < 10 group by at order by at nulls first
select n % 100 as rest, count(*) from ev group by 1 order by 1 limit 5
select on_, count(*) from ev group by on_ order by on_
select id from ev order by n desc nulls last, id limit 3 offset 2
select id from ev where n between 100 and 150 order by id
select id from ev where n = any (array[100, 200, 300]) order by id
select id from ev where name = 'two' or n = 30 order by id
select id, doc ->> 'a' from ev where doc is not null order by id
select id from ev where doc @> '{"a": 1}'
select id from ev where at > '2026-01-02' and at < '2026-01-05' order by id
select id, at at time zone 'America/New_York' from ev where id = 4
select id, random() < 2 from ev where id = 4
select id from ev where id % 1000 = 0 and random() < 2 order by id
select id, upper(name), length(name) from ev where length(name) < 5 order by id
select id, coalesce(amount, 0), case when on_ then 'yes' else 'no' end from ev where id <= 5 order by id
select distinct on_ from ev order by 1
select count(distinct name) from ev
select tableoid::regclass::text, count(*) > 1000 from ev group by 1 order by 1
select a.id, b.id from ev a join ev b on a.id = b.id + 1 where a.id < 8 order by 1
select a.id, b.name from ev a join ev b on a.id = b.id where a.n = 40 order by 1
select e.id, l.note from ev e join lines l on l.event = e.id order by 1, 2
select e.id, count(l.note) from ev e left join lines l on l.event = e.id where e.id < 6 group by e.id order by 1
select id from ev where exists (select from lines where event = ev.id) order by id
select id from ev where id in (select event from lines) order by id
select id, (select max(note) from lines where event = ev.id) from ev where id < 4 order by 1
with w as materialized (select * from ev where id < 4) select count(*) from w, ev where ev.id = w.id
select id, row_number() over (order by n desc, id) from ev where id between 10 and 14 order by id
select id from ev where id = 1 union all select id from ev where id = 2 order by 1
select a.id, b.id from ev0 a join ev0 b on a.id = b.id where a.id < 20 order by 1
select a.id, b.id from ev0 a left join ev0 b on a.id = b.id and b.n > 100 where a.id < 30 order by 1, 2
select count(*) from ev0 a full join ev0 b on a.id = b.id + 1
select a.id from ev0 a where exists (select from ev0 b where b.id = a.id and b.n < 100) order by 1
select n % 10, count(*), sum(n), string_agg(name, ',' order by id) from ev0 where id < 40 group by 1 having count(*) > 1 order by 1
select name from ev where id = (select min(event) from lines)
select id from ev where at = (select timestamptz '2026-01-05')
select id from ev where amount = (select 4.25)
select id from ev where doc = (select '{}'::jsonb)
select id from ev where name = any (array(select 'name ' || event from lines)) order by id
select l.note, x.name from lines l cross join lateral (select name from ev where ev.id = l.event) x order by 1, 2
select count(*) filter (where n > 50), round(stddev(n), 6), bool_or(n > 3), array_agg(id order by id desc) from ev0 where id < 30
select substring(name from 1 for 6), count(*) from ev0 group by 1 order by 2 desc, 1 limit 5
select id from ev0 where name ~ '^name 1[0-3]$' order by id
select id from ev0 where name similar to 'name (11|12)(0|1|2)' order by id
select id from ev0 where n % 7 = 3 and abs(n - 500) < 300 order by id
select case when n > 100 then 'big' else 'small' end, count(*) from ev0 group by 1 order by 1
select id, round(amount / 3, 4), amount::text, n::numeric / 7 from ev where amount is not null order by id
select id, (n, name) is distinct from (10, 'one') from ev0 where id < 20 order by id
select n / 1000, count(*) from ev0 group by grouping sets ((n / 1000), ()) order by 1, 2 limit 5
select e from ev0 e where id < 20 order by id
select a, b.id from ev0 a join ev0 b on a.id = b.id where a.id < 20 order by b.id
select a.id, b from ev0 a left join ev0 b on a.id = b.id and b.n > 100 where a.id < 20 order by a.id
select e.id from ev0 e join ev0 f on e.id = f.id where e.id < 20 order by 1 for update of e
select e.id, l.note from ev0 e join lines l on l.event = e.id order by 1, 2 for update of e
update ev0 e set name = f.name || '?' from ev0 f where e.id = f.id and f.n between 300 and 330 returning e.id, e.name, f.n
update ev0 e set n = 1 + f.n from ev0 f where e.id = f.id and e.id < 3 and random() < 2 returning e, f.id
delete from ev0 e using ev0 f where e.id = f.id and f.name = 'name 700' returning e.id, f.name
delete from ev e using lines l where e.id = l.event + 1000000 returning e.id, l.note
select count(*) from ev
update ev set name = 'uno' where id = 1
update ev set name = 'changed', n = n + 1 where id in (2, 3)
update ev set name = name || '!' where n between 100 and 200
update ev set amount = 7 where name = 'four' and random() < 2
update ev set name = l.note from lines l where l.event = ev.id and l.note <> 'a' and random() < 2
update ev set n = n + 1 where id < 30 returning id, n
update ev set n = default where id = 5 returning *
update ev set at = at + interval '1 day' where id = 4 returning at
update ev0 set name = upper(name) where id < 20 returning id, name
update ev set doc = '{"b": [1, {"c": null}]}' where id = 3 returning doc
select * from ev where id < 25 order by id
delete from ev where id = 6
delete from ev where id between 7 and 9 returning id, name
delete from ev where n = 111 and random() < 2 returning id
delete from ev using lines l where l.event = ev.id and l.note = 'gone'
delete from ev where id in (select event from lines where note = 'gone too')
select count(*), sum(n), sum(id) from ev
insert into ev values (1, 'again')
insert into ev values (1, 'again') on conflict do nothing
insert into ev values (1, 'again'), (4000, 'new'), (2, 'again') on conflict do nothing
insert into ev (id, name) select i, 'x' from generate_series(1, 50) i on conflict do nothing
insert into ev (id, name) values (4001, 'r'), (4002, 's') returning id, name, n
insert into ev values (null, 'no key')
insert into ev values (4003, null)
insert into ev (id, name, n) values (4004, 'too much', -1)
insert into ev (id, name, amount) values (4005, 'wide', 123456789012)
insert into ev (id, name) values (4006, 'a name that is longer than the forty characters it may have')
update ev set n = -2 where id = 1
update ev set name = null where id = 1
select count(*), sum(n), sum(id) from ev
begin
insert into ev (id, name) values (5000, 'in it')
select count(*) from ev where id = 5000
savepoint a
insert into ev (id, name) values (5001, 'in a')
savepoint b
insert into ev (id, name) values (5000, 'twice')
rollback to b
update ev set name = 'changed' where id in (5000, 5001)
release a
savepoint c
delete from ev where id = 5000
rollback to c
select id, name from ev where id >= 5000 order by id
commit
select id, name from ev where id >= 5000 order by id
begin
insert into ev (id, name) values (5002, 'lost')
insert into ev (id, name) values (5003, null)
select 1
rollback
select count(*) from ev where id >= 5002
begin isolation level repeatable read
select count(*) from ev
update ev set n = 1 where id = 5000 returning id, n
select n from ev where id = 5000
rollback
begin isolation level serializable
select sum(n) from ev where id in (1, 2, 3)
insert into ev (id, name) values (5004, 'serial')
commit
select id, name from ev where id = 5004
begin read only
select count(*) from ev where id < 10
insert into ev (id, name) values (5005, 'no')
rollback
begin
declare c cursor for select id, name from ev where id < 15 order by id
fetch 3 from c
fetch 4 from c
move 1 from c
fetch all from c
close c
select id from ev where id = 10 for update
update ev set n = 77 where id = 10
commit
select id from ev where id in (10, 11) order by id for share
prepare one (int) as select id, name from ev where id = $1
execute one (1)
execute one (2)
execute one (3)
execute one (4)
execute one (5)
execute one (10)
execute one (11)
prepare put (int, text) as insert into ev (id, name) values ($1, $2)
execute put (6000, 'p')
execute put (6001, 'p')
execute put (6000, 'p')
prepare change (int, int) as update ev set n = $2 where id = $1
execute change (6000, 5)
execute change (6001, 6)
select id, n from ev where id >= 6000 order by id
deallocate all
update only ev0 set n = 3 where id = 6000 or id = 6001
merge into ev using (values (1, 2)) v (a, b) on id = a when matched then update set n = b
select kind, count(*), sum(v) from kinds group by kind order by kind
insert into kinds values (1, 'a', 1), (2, 'b', 2), (3, 'a', 3), (4, 'b', 4), (5, 'c', 5)
update kinds set kind = 'b' where id = 1
update kinds set kind = 'a' where id = 2 returning id, kind, tableoid::regclass::text
update kinds set kind = 'a', v = v + 100 where kind = 'b'
select * from kinds order by id
delete from kinds where kind = 'a' and v > 100 returning id
select tableoid::regclass::text, * from kinds order by id
insert into types values (1, 2, 3, 1.5, 2.5, 'c', '2026-01-01', '2026-01-01 10:00', '10:00', '1 day 2 hours', '\x00ff', '6f9619ff-8b86-d011-b42d-00c04fc964ff', '{1,2,null}', '{a,"b c",null}', '127.0.0.1', 'NaN', 'infinity', '[1,5)')
insert into types (id, r4, r8, d, ts, num) values (2, 'NaN', '-Infinity', '-infinity', 'infinity', 12345678901234567890.123456789), (3, 3.4028235e38, 1e-300, '0044-03-15 BC', '290000-12-31', -0.000001), (4, 0.1, 0.1, '1582-10-15', '1900-01-01 00:00:00.000001', 0)
select * from types order by id
select id from types where num > 1 order by id
select id from types where r8 = 0.1 or d = '1582-10-15' order by id
select id from types where b = '\x00ff' and u = '6f9619ff-8b86-d011-b42d-00c04fc964ff'
select id from types where ia = '{1,2,null}' or 'b c' = any (ta)
select id from types where iv > interval '1 hour' or ip = '127.0.0.1'
update types set iv = iv * 2, ia = ia || 4, b = b || '\x01' where id = 1 returning *
select r4, r8, num from types where r4 = 'NaN'
select i2 + 1, i8 * 2 from types where i2 = 2
analyze ev0
analyze ev
select reltuples > 1000 from pg_class where oid = 'ev1'::regclass
explain (costs off) select 1
truncate kinds
select count(*) from kinds
truncate ev0
select count(*) > 0, min(tableoid::regclass::text) from ev
begin
truncate ev
select count(*) from ev
rollback
select count(*) > 100 from ev
truncate ev, kinds
select count(*) from ev
