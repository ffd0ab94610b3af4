with x as (select a from t) select * from x
with x as (select a from t) select * from x, x y
with x as (select a from t) select count(*) from x union all select sum(a) from x
with x as materialized (select id, a from t) select * from x where a = 1
with x as not materialized (select id, a from t) select x.id, y.id from x join x y using (a)
with x(p, q) as (select id, b from t) select q, p from x
with x as (select id from t), y as (select id + 1 as id from x) select * from y
with x as (select id from t), y as (select * from x union all select * from x) select count(*) from y, y z
with x as (with y as (select id from t) select * from y where id > 2) select * from x
with x as (select 1 as n) select * from t where a in (select n from x)
with x as (select 1 as n) select id, (select n from x), exists (select from x where n = t.a) from t
with x as (select a from t) select id, (select count(*) from x where x.a = t.a) from t
with x as materialized (select a from t) select id, (select count(*) from x where x.a = t.a) from t
with x as (select 1 as n) select * from (with x as (select 2 as n) select * from x) s, x
with x as (select count(*) as n from t) select id, n from t, x
with x as (values (1, 'a'), (2, 'b')) select * from x
with x(n) as (values (1), (2)) select x.n, y.n from x, x y where x.n < y.n
with x as (select generate_series(1, 1000000000) as g) select * from x limit 2
with x as materialized (select generate_series(1, 1000000000) as g) select * from x limit 2
with x as (select random() as r) select (select r from x) = (select r from x)
with x as (select 1 / 0) select 1
with x as (select id, a from t) select id from x where a = (select max(a) from x) order by id -- ordered
with x as (select * from t) select x.b, count(*) from x join o on o.t_id = x.id group by x.b
with x as (select * from e) select * from x, x y
with x as (select * from e) select count(*) from x left join x y on true
with u as (select 1 union select 2) select * from u union all select * from u
with x as (select 1 as n) select n from x order by n -- ordered
with x as (select id from t) select x.id, y.id from x, lateral (select id from x z where z.id < x.id) y
select id, (with x as (select t.a as n) select n from x) from t
select id, (with x as (select t.a as n) select x.n + y.n from x, x y) from t
select id, (with x as (select t.a as n) select (select n from x) from generate_series(1, 1)) from t
select id, (with x as materialized (select t.a as n) select (select n from x) + (select n from x)) from t
select id, (with x as (select t.id as n), y as (select n * 2 as n from x) select (select n from y) + (select sum(n) from y, x z(k))) from t
select id, (with x as (select t.id as n) select sum(v) from (select n as v from x union all select n from x) s) from t
select s.* from t, lateral (with x as (select t.id as n) select x.n, y.n as m from x, x y) s
select s.* from t, lateral (with x as (select t.id as n) select (select n from x) as p, exists (select from x where n = 2) as q) s
-- recursive
with recursive r(n) as (values (1) union all select n + 1 from r where n < 5) select * from r
with recursive r(n) as (values (1) union all select n + 1 from r where n < 5) select * from r order by n desc -- ordered
with recursive r(n) as (select 1 union select (n + 1) % 4 from r) select * from r
with recursive r(n) as (values (1) union all select n + 1 from r) select n from r limit 5
with recursive r(n) as (values (1) union all select n + 1 from r) select n from r limit 3 offset 2
with recursive r as (select id, a from t where id = 1 union all select t.id, t.a from t join r on t.id = r.id + 1) select * from r
with recursive r(id, path) as (select id, id::text from t where id = 1 union all select t.id, r.path || '/' || t.id from t, r where t.id = r.id + 1) select * from r
with recursive r(n) as (select 1 where false union all select n + 1 from r) select * from r
with recursive r(n) as (values (1) union all select n + 1 from r where n < 3) select x.n, y.n from r x, r y
with recursive r(n) as (values (1) union all select n + 1 from r where n < 3) select (select count(*) from r), n from r
with recursive r(n) as (values (1) union all select n + 1 from r where n < 100) select count(*), sum(n) from r
with recursive r(n) as (values (1) union all select n + 1 from r where n < 3), s as (select n * 2 as m from r) select * from s, r
with recursive s as (select n * 2 as m from r), r(n) as (values (1) union all select n + 1 from r where n < 3) select * from s
with recursive r(n) as (values (1), (2) union select n from r) select * from r
with recursive r(n) as (values (null::int) union select n from r) select * from r
with recursive r(f) as (values ('NaN'::float8), (0) union select -f from r) select * from r
with recursive r(m) as (values (1.0) union select 1.00 from r) select * from r
with recursive r(a, b) as (select 1, 'x'::text union select a + 1, b || a from r where a < 4) select * from r
with recursive r(n, l) as (select 1, array[1] union all select n + 1, l || (n + 1) from r where n < 4) select * from r
with recursive r(n) as (select 1 union all select g from r, generate_series(n + 1, n + 2) g where n < 3) select n, count(*) from r group by n
with recursive r(n) as (select 1 union all (with x as (select n + 1 as k from r) select x.k from x, x y where x.k < 5)) select * from r
with recursive r(n) as (select 1 union all select n + 1 from (select * from r where n < 4) s) select * from r
with recursive r(n) as (select 1 union all select r.n + 1 from r where r.n < (select max(id) from t)) select * from r
with recursive r(n) as (select 1 union all select r.n + 1 from r where exists (select from t where t.id = r.n)) select * from r
with recursive r(n) as (select 1 union all select n + 1 from r left join t on t.id = r.n where n < 4) select * from r
with recursive x as (select 1 as n) select * from x
select t.id, (with recursive r(n) as (select t.id union all select n - 1 from r where n > 1) select sum(n) from r) from t
select t.id, s.n from t, lateral (with recursive r(n) as (select t.id union all select n - 2 from r where n > 2) select n from r) s
with recursive f(a, b) as (values (0, 1) union all select b, a + b from f where b < 100) select a from f
with recursive r(n) as (select 1 union all select n + 1 from r where n < 3 union all select n + 10 from r where n < 3) select * from r
with recursive r(n) as (select 1 union all select 2 union all select n + 2 from r where n < 5) select * from r
with recursive r(n) as (select 1 union select n from r where n > 0) select * from r
with recursive r(n) as (values (1) union all select n + 1 from r where n < 20000) select count(*) from r
with recursive q(n) as (values (1) union all select n + 1 from q where n < 3) select a.n, (with recursive p(m) as (select a.n union all select m + 1 from p where m < 4) select count(*) from p) from q a
with recursive r(n) as (select 1 union all (with x as (select n from r) select x.n + 1 from x where x.n in (select n from x) and x.n < 4)) select * from r
with recursive r(n) as (select 1 union all (with x as (select n from r) select x.n + 1 from x where x.n = (select max(n) from x) and x.n < 4)) select * from r
with recursive r(n) as (select 1 union all select n + (select count(*) from o where qty > r.n)::int + 1 from r where n < 6) select * from r
with recursive r(n) as (select 1 union all select n + 1 from r where n < 3) select * from t where id in (select n from r) and a = any (select n from r)
with x as (select id, a from t) select * from x where exists (with y as (select * from x) select from y, y z where y.a = x.a and z.id > x.id)
with x as (select 1 as n union all select 2) select s.n, (with y as (select s.n as m from x) select sum(m) from y, (select count(*) from y) c) from x s
select id, (select count(*) from (with x as materialized (select qty from o where o.t_id = t.id) select * from x union all select * from x) s) from t
with x as (select id, row_number() over (order by id desc) as n from t) select x.id, y.n from x join x y on x.n = y.id
with x(f) as (select distinct f from t) select * from x intersect all select f from x
with x as (select g from generate_series(1, 20000) g) select count(*), sum(a.g) from x a join x b on a.g = b.g + 1
-- SEARCH and CYCLE
with recursive g(f, t) as (values (1,2),(1,3),(2,3),(1,4),(4,5)), s(f, t) as (select * from g union all select g.* from g, s where g.f = s.t) search depth first by f, t set seq select * from s order by seq -- ordered
with recursive g(f, t) as (values (1,2),(1,3),(2,3),(1,4),(4,5)), s(f, t) as (select * from g union select g.* from g, s where g.f = s.t) search breadth first by f, t set seq select * from s order by seq -- ordered
with recursive g(f, t) as (values (1,2),(1,3),(2,3),(1,4),(4,5),(5,1)), s(f, t) as (select * from g union all select g.* from g, s where g.f = s.t) cycle f, t set is_cycle using path select * from s
with recursive g(f, t) as (values (1,2),(1,3),(2,3),(1,4),(4,5),(5,1)), s(f, t) as (select * from g union distinct select g.* from g, s where g.f = s.t) cycle f, t set is_cycle to 'Y' default 'N' using path select f, t, is_cycle, path from s
with recursive g(f, t) as (values (1,2),(1,3),(2,3),(1,4),(4,5),(5,1)), s(f, t) as (select * from g union all select g.* from g, s where g.f = s.t) search depth first by f, t set seq cycle f, t set is_cycle to 1 default 0 using path select * from s
with recursive s as (select 1 as x union all select x + 1 from s) search depth first by x set y select * from s limit 5
with recursive s as (select 1 as x union all select x + 1 from s) search breadth first by x set y select * from s limit 5
with recursive s as (select 1 as x union all select (x + 1) % 3 from s) cycle x set c using p select * from s
with recursive s(x) as (select 1 union all select x + 1 from s where x < 3) search depth first by z set y select * from s
with recursive s(x) as (select 1 union all select x + 1 from s where x < 3) search depth first by x, x set y select * from s
with recursive s(x, z) as (select 1, 2 union all select x + 1, 2 from s where x < 3) search depth first by x set z select * from s
with recursive s(x) as (select 1 union all select x + 1 from s where x < 3) cycle z set c using p select * from s
with recursive s(x) as (select 1 union all select x + 1 from s where x < 3) cycle x, x set c using p select * from s
with recursive s(x, z) as (select 1, 2 union all select x + 1, 2 from s where x < 3) cycle x set z using p select * from s
with recursive s(x, z) as (select 1, 2 union all select x + 1, 2 from s where x < 3) cycle x set c using z select * from s
with recursive s(x) as (select 1 union all select x + 1 from s where x < 3) cycle x set c using c select * from s
with recursive s(x) as (select 1 union all select x + 1 from s where x < 3) cycle x set c to true default 55 using p select * from s
with recursive s(x) as (select 1 union all select x + 1 from s where x < 3) cycle x set c to json '1' default '2' using p select * from s
with recursive s(x) as (select 1 union all select x + 1 from s where x < 3) search depth first by x set c cycle x set c using p select * from s
with recursive s(x) as (select 1 union all select x + 1 from s where x < 3) search depth first by x set p cycle x set c using p select * from s
with recursive s(x) as (select 1 union all select 2 union all select x + 1 from s where x < 3) search depth first by x set c select * from s
with recursive s(x) as (select 1 union all (select 2 union all select x + 1 from s where x < 3)) search depth first by x set c select * from s
with recursive s(x) as (select 1 union all select y.x + 1 from (select * from s) y where y.x < 3) search depth first by x set c select * from s
with s(x) as (select 1) search depth first by x set c select * from s
with recursive s(x) as (select 1) search depth first by x set c select * from s
