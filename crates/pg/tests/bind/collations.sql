-- What collations expressions have, and where they collide. The tree has them node by node.
select d < c, c < d, d < p, n < d, n < c from coll
select c < p from coll
select c || p from coll
select (c || p) collate "C" from coll
select c || p || d from coll
select c || p || ('x' collate "POSIX") from coll
select d || c, c || 'x', 'x' || 'y', upper(c), upper(d), lower(d || c) from coll
select c collate "C" < p collate "POSIX" from coll
select 'a' collate "C" || 'b' collate "POSIX"
select 'a' collate "C" || 'b' collate "C"
select c collate "default" || d collate "default" from coll
select id collate "C" from coll
select m collate "C" from coll
select 1 collate "C"
select null collate "C", 'x' collate "POSIX"
select c collate "nowhere" from coll
select ca collate "POSIX", ca || pa, ca || c, pa || d from coll
select array[c, p] from coll
select array[c, d], array[d, 'x'], array[c collate "POSIX", p] from coll
select ca[1] < 'x', pa[1] || ca[1], pa[1:2] from coll
select c = any(pa), d = any(pa), c in ('a', d), c in (p, d), p not in ('a', 'b') from coll
select c like p, d ~ c, d like p escape 'x', d similar to p from coll
select coalesce(c, d), coalesce(d, 'x'), coalesce(c, p) from coll
select greatest(c, d), least(c, p), nullif(c, p), nullif(d, p) from coll
select case when true then c else d end, case when true then c else p end, case c when p then d else 'y' end from coll
select case c when d then p when 'x' then p end, case d when p then 1 end from coll
select case when c < p then p end from coll
select c is distinct from p, c is not distinct from d, c between d and p, c between symmetric d and 'x' from coll
select (c, p) < (d, d), (c, d) < (p, p), (c, d) = (p, p), row(c, p) is distinct from row(d, c) from coll
select row(c collate "C", p collate "POSIX"), row(c, p)
  from coll
select (row(c, p)).f1 || (row(d, p)).f2 from coll
select (row(c || d, p)).f1 from coll
select (x).f1 || (x).f2, (x).f1 || 'y', (x).f2 from (select row(c, p) as x from coll) s
select (x).f1 || (x).f2, (x).f1 || 'y' from (select row(c || d, p || d) as x from coll) s
select (x).f1 || (x).f2 from (values (row('a' collate "C", 'b' collate "POSIX"))) s (x)
select (x).f1 || 'y', (x).f1 < (y).f2 from (select row(c, id) as x from coll) s, lateral (select row(s.x, d, p) as y) r
select (x).f1 || (x).f2, (x).f1 from (select row(c collate "POSIX", d collate "C") as x from coll) s
with w as (select row(c, p) as x from coll) select (x).f1 || (x).f2, (x).f1, (x).f2 from w
with w as (select row(c, p) as x from coll), v as (select x from w) select (x).f1 || (x).f2, (x).f1 from v
select (x).a || (x).b, (x).a from (select s as x from (select c as a, p as b from coll) s) r
select (x).f1 || 'z' from (select (select row(c, p)) as x from coll) s
select ((x).f1).f1 || (x).f2 from (select row(row(c), p) as x from coll) s
select (row(row(c, p), d)).f1, ((row(row(c, p), d)).f1).f2 || c from coll
select (x).* from (select row(c, p) as x from coll) s order by 1
select (r).*, (r).c || (r).p from (select row(c, p, d)::collated as r from coll) s
select j.x from (coll a cross join (select row(c, p) as x from coll) b) as j where (j.x).f1 < (j.x).f2
with recursive w as (select c, 1 as n from coll union all select c, n + 1 from w where n < 3) select c from w
with recursive w as (select d, 1 as n from coll union all select d collate "C", n + 1 from w where n < 3) select d from w
with recursive w as (select c || 'x' as c, 1 as n from coll union all select w.c || coll.d, n + 1 from w, coll where n < 3) select c from w
select (r).c || (r).p, (r).c || (r).d, (r).p < 'x' from hascollated
select (x).c || (x).p from (select row(c, p)::collated as x from coll) s
select (s.*).c, (s).c || (s).p from (select c, p from coll) s
select c::varchar(3) || p::varchar(2), c::char(3), c::name, n::text, d::posixtext, c::posixtext from coll
select c::posixtext || c, d::posixer || 'x', 'x'::posixtext || d, dom || d, dom || c from coll
select c::text, c::bytea, c::int, id::text, (id::text || c), date '2020-01-01'::text || p from coll
select current_user, current_user || d, session_user || p, current_schema < c from coll
select $1 || c, $1::text < p, $1::name || p from coll
select count(c), max(c), max(d), max(c || d), string_agg(c, ','), string_agg(d, p), string_agg(c, p) from coll
select max(c || p) from coll
select array_agg(c order by p), array_agg(c order by c || d), string_agg(c, ',' order by d collate "POSIX") from coll
select array_agg(c order by c || p) from coll
select count(distinct c || p) from coll
select count(distinct c), max(c) filter (where c < p), max(c collate "C") from coll
select percentile_disc(0.5) within group (order by c), mode() within group (order by p) from coll
select percentile_disc(0.5) within group (order by c || p) from coll
select rank('x') within group (order by c), rank('x', 'y') within group (order by c, p) from coll
select rank('x' collate "POSIX") within group (order by c) from coll
select rank('x' collate "C", 'y') within group (order by d, p) from coll
select rank('x' collate "C") within group (order by c collate "POSIX") from coll
select rank(h) within group (order by g) from (select max(c) as h, max(p) as g from coll) s group by h
select rank(n'x'::name) within group (order by p) from coll
select lag(c) over (order by p), lag(c, 1, d) over (), lag(c, 1, p) over (), first_value(c || d) over (partition by d) from coll
select max(c || p) over () from coll
select row_number() over (order by c || p) from coll
select row_number() over (partition by c || p) from coll
select row_number() over (order by c, p), ntile(2) over (order by c || d) from coll
select c || p from coll order by 1
select c || p from coll order by id
select id from coll order by c || p
select id from coll order by c || p collate "C"
select id from coll order by (c || p) collate "C", d
select c || p as x from coll group by x
select c || p from coll group by c, p
select distinct c || p from coll
select distinct on (c || p) id from coll
select count(*) from coll group by grouping sets ((c), (c || p))
select id from coll where c < p
select id from coll where (c < p) = (p < c)
select id from coll group by id, c having max(c) < max(p)
select id from coll limit length(c || 'x' collate "C")
select c from coll union select p from coll
select c from coll union all select p from coll
select c from coll union select d from coll
select d from coll union select c from coll union all select d from coll
select d from coll union all select p from coll union select c from coll
select c from coll intersect select p from coll
select c from coll except all select p from coll
select c from coll except select p collate "C" from coll
select c collate "C" from coll union all select p collate "POSIX" from coll
select x < 'a' from (select c from coll union all select p from coll) s (x)
select x < d from (select c from coll union all select p from coll) s (x), coll
select x from (select c from coll union all select p from coll) s (x) order by x
(select c from coll) union all (select c || d from coll order by 1) order by 1
select 'x' union select c from coll
select null union all select p from coll order by 1
select n from coll union select p from coll
select n from coll union select d from coll order by 1
values ('a', 'b' collate "C"), ('c', 'd')
values ('a' collate "C"), ('b' collate "POSIX")
select column1 < 'x', column2 || column1 from (values ('a' collate "C", 'b'), ('c', 'd')) s
select v.column1 || 'x' from coll, lateral (values (c), (p)) v
select v.column1 from coll, lateral (values (c), (p)) v order by 1
select (select c from coll limit 1) || 'x', (select d from coll limit 1), array(select c from coll), array(select c || p from coll) from coll
select (select c from coll limit 1) || (select p from coll limit 1)
select (select c || p from coll limit 1) || 'x'
select c in (select p from coll), d < all (select c from coll), (c, p) in (select p, c from coll), (c, d) > (select d, p from coll) from coll
select exists (select c || p from coll)
select (select o.c || i.p from coll i limit 1) from coll o
select (select o.c < i.d from coll i order by o.c || i.d limit 1) from coll o
select (select max(o.c || i.p) from coll i) from coll o
select x.c || y.c from (select c from coll) x, (select p as c from coll) y
select s.a || 'x' from (select c || p as a from coll) s
select s.a from (select c || p as a from coll) s order by s.a
select s.a from (select c || p as a from coll) s group by s.a
select dx < 'x', cx || dx, dp || dx, n || dx from collview
select cp < 'x' from collview
select cp from collview order by cp
select cx || dp from collview
select * from collview
select c from coll a join hascollated b using (c)
select c from coll a left join (select p as c from coll) b using (c)
select c from coll a right join (select p as c from coll) b using (c)
select c || 'x' from coll a full join (select p as c from coll) b using (c)
select c || 'x' from coll a full join (select d as c from coll) b using (c)
select c from coll a full join (select p as c from coll) b using (c) order by c
select n from coll a full join (select d as n from coll) b using (n) order by n
select j.c || 'x' from (coll a join hascollated b using (c)) as j
select a.c from coll a join coll b on a.c < b.p
select a.c from coll a join coll b on (a.c collate "C") < (b.p collate "POSIX")
select x || 'a' from unnest(array['a', 'b' collate "C"]) x
select x from coll, unnest(ca || pa) x
select x || y from coll, unnest(ca, pa) u (x, y)
select x, x || c from coll, unnest(ca) with ordinality x (x, o)
select x from regexp_split_to_table('a b' collate "C", ' ') x order by x
select key || c, value from coll, json_each_text('{}')
select x < c from coll, json_to_record('{}') as t (x text)
select x < c from coll, json_to_record('{}') as t (x text collate "POSIX")
select x < c from coll, json_to_record('{}') as t (x text, y varchar(3) collate "C", z int)
select x < c from coll, json_to_record('{}') as t (x text collate "nowhere")
select x < c from coll, json_to_record('{}') as t (x text, y int collate "C")
select id from coll tablesample system (length('a' || 'b' collate "C"))
with w as (select c, p, c || p as cp from coll) select c || 'x', cp from w
with w as (select c, p, c || p as cp from coll) select cp from w order by cp
with w (a) as (select c from coll) select a || b.p from w, coll b
with recursive r (x) as (select c from coll union all select x || 'a' from r) select x || 'b' from r
with recursive r (x) as (select d from coll union all select r.x || c from r, coll) select x from r
with recursive r (x) as (select c from coll union all select r.x || p from r, coll) select x from r
with recursive r (x) as (select c from coll union select r.x || p from r, coll) select x from r
with recursive r (x) as (select 'a' union all select x || 'b' from r) select x from r order by x
with recursive r (x) as (select 'a'::text collate "C" union all select x || 'b' from r) select x from r order by x
with recursive r (x) as (select 'a' union all select x || 'b' collate "C" from r) select x from r
insert into coll (id, d, c, p) values (1, 'a' collate "C", 'b' collate "POSIX", 'c')
insert into coll (id, d, c) values (1, 'a' collate "C" || 'b' collate "POSIX", 'c')
insert into coll (id, d) values (1, 'a' collate "C"), (2, 'b' collate "POSIX")
insert into coll (id, d) values (1, 'a' collate "C" || 'b' collate "POSIX"), (2, 'b')
insert into coll (id, d, c) values (default, default, 'x'), (1, 'y', default)
insert into coll (id, d, c) values (1, default, default) returning c || d, c || p
insert into coll (id, d) select id, c || p from coll
insert into coll (id, d) select id, c from coll union select id, p from coll
insert into coll (id, d) select id, c from coll order by c || p
insert into coll (id, d) values (1, 'a') on conflict (id) do update set d = excluded.c || coll.d, c = excluded.p
insert into coll (id, d) values (1, 'a') on conflict (id) do update set d = 'a' collate "C", c = 'b' collate "POSIX"
insert into coll (id, d) values (1, 'a') on conflict (id) do update set d = 'a' collate "C" where coll.c < excluded.p
insert into coll (id, ca[1], r.c) values (1, 'a', 'x')
insert into coll (id, ca[1], ca[2]) values (1, 'a' collate "C", 'b' collate "POSIX")
update coll set d = c || p, c = 'a' collate "C", p = 'b' collate "POSIX" where c < d returning c || p
update coll set d = 'a' collate "C" || 'b' collate "POSIX"
update coll set (c, p) = (select d, c || p from coll), d = default
update coll set (c, p) = ('a' collate "C", 'b' collate "POSIX")
update coll set ca[1] = p, pa[2] = c from hascollated h where h.c < coll.p
update hascollated set r.c = 'x' collate "C", r.p = c
delete from coll using hascollated h where h.c collate "C" = coll.p collate "POSIX"
delete from coll where c < p returning c collate "POSIX", d || c
merge into coll t using hascollated s on t.c = s.c when matched then update set d = 'a' collate "C", c = 'b' collate "POSIX"
merge into coll t using hascollated s on t.c collate "C" = s.c collate "POSIX" when matched then delete
