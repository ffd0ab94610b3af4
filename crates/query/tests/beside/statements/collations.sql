-- Functions that need a collation and have none
select c < 'x', c < d, d < 'b' collate "POSIX" from coll
select c < p from coll
select c < p from coll where false
select c < p from coll where id = 3
select c = p, c <> p from coll
select c >= p collate "C" from coll
select id from coll where c = p
select a.id from coll a join coll b on a.c = b.p collate "C"
select a.id from coll a left join coll b on a.c > b.p
select c is distinct from p from coll
select nullif(c, p) from coll
select c = any(array[p]) from coll
select c in (p, d) from coll
select c < any (select p from coll) from coll
select c <> all (select p from coll) from coll
select (id, c) = (select id, p from coll limit 1) from coll
select case c when p then 1 else 2 end from coll
select (1, c) < (2, p), (1, c) > (2, p) from coll
select (1, c) < (1, p) from coll
select c || p, length(c || p) from coll
select upper(c || p) from coll
select lower(c || p) from coll
select initcap(c || p) from coll
select upper(c || d) from coll
select c like p, c not like p from coll
select c ilike p from coll
select c ~ p from coll
select c ~* p from coll
select c similar to p from coll
select regexp_replace(c, p, 'z') from coll
select substring(c from p), substring(c from 1) from coll
select substring(c || p from 1 for 2) from coll
select position(c in p) from coll
select replace(c, p, 'x') from coll
select split_part(c, p, 1) from coll
select starts_with(c, p) from coll
select strpos(c, d) from coll
select n < p from coll
select n = p from coll
select n < d, n = c from coll
select c::char(3) = p::char(3) from coll
select x < 'a' from (select c from coll union all select p from coll) s (x)
select x.a < y.a from (select 'a' collate "C" as a) x, (select 'b' collate "POSIX" as a) y
select 'a' collate "C" < 'b' collate "POSIX"
select c || p from coll order by 1
select distinct c || p from coll
select c from coll union select p from coll
select collation for (c), collation for (d), collation for (p), collation for (c || p), collation for (n) from coll
select collation for ('x'), collation for ('x' collate "C"), collation for (upper('a' collate "POSIX"))
select collation for (1)
select collation for (null::int) from coll
select id collate "C" from coll
