create table k (id int primary key, o text, c text collate "C")
create view kv as select id, upper(o) u, o, lower(o) || c as both, split_part(o, ',', 1) as first, c from k
create view deeper as select id, initcap(u) as name, replace(u, 'A', 'x') as other, u, o from kv where u <> 'NONE'
insert into kv (id, o) values (1, 'a') returning *
insert into kv (id, o, c) values (2, 'b,z', 'C') returning u, both, first
insert into kv (id, o) select n, chr(96 + n) from generate_series(3, 6) n returning id, u
update kv set o = 'c' where u = 'B,Z'
update kv set o = 'd,e' where u ~ '^A' returning u, first
update kv set o = 'f' where u in ('C', 'D,E') returning u
update kv set o = 'g' where first = 'f' and greatest(u, 'A') = 'F' returning id, least(u, first)
update kv set c = u where u < 'D' returning id, u, c, both
update kv set c = 'x' where u collate "C" > 'A' and id = 3 returning c, u collate "POSIX"
insert into kv (id, o) values (1, 'z') on conflict (id) do update set o = excluded.o || kv.u where kv.u = 'G' and excluded.u = 'Z' returning u, first
insert into kv (id, o) values (1, 'z') on conflict (id) do update set o = excluded.u where kv.u <> excluded.u returning u, first, regexp_replace(u, 'Z', 'y')
insert into deeper (id, o) values (7, 'deep') returning *
update deeper set o = 'very deep' where name = 'Deep' returning name, other, u
update deeper set o = 'none' where name between 'A' and 'Zz' and id > 6 returning *
delete from deeper where name like 'V%' or u = 'NONE' returning *
delete from deeper where name = 'E' returning id, name
delete from kv where u = 'D' returning *
delete from kv using k other where kv.u = upper(other.o) and other.id = 6 returning kv.id, kv.u
merge into kv using (values (3, 'm')) v (id, o) on kv.id = v.id and kv.u = 'C' when matched then update set o = v.o
select * from kv order by id
create view two as select id, o collate "C" || c as joined, o < c as less, o from k where o > c
update two set o = 'y' where joined = 'zx'
create view open as select id, o || (c collate "POSIX") as mixed, o from k
update open set o = 'y' where mixed > 'a' collate "C" and upper(mixed) <> ''
create view whole as select v, v.id from kv v
delete from whole where (v).u = 'NONE'
create view guarded as select id, upper(o) as u, o from k where upper(o) < 'N' with check option
insert into guarded values (20, default, 'a')
insert into guarded (id, o) values (20, 'z')
insert into guarded (id, o) values (20, 'b') returning u
update guarded set o = 'q' where u = 'B'
update guarded set o = 'e' where u = 'B' returning *
prepare p as update guarded set o = $1 where u = $2 returning u
execute p('h', 'E')
execute p('h', 'E')
delete from guarded where u = 'H'
select * from k order by id
