select 1
select
select all a from t
select distinct a, b from t
select distinct on (a, b) a, b, c from t order by a, b, c desc
select a as x, b y, c "Z", d from t
select t.*, * from t
select t.a, s1.t.a, regression.s1.t.b from s1.t
select -1, - 1, +1, -1.5, -9223372036854775808, - -1, -a, +a from t
select 1 + 2 * 3 - 4 / 2 % 3 ^ 2
select -2 ^ 2, 2 ^ 3 ^ 2, (-2) ^ 2
select a + b * c, (a + b) * c, a - b - c, a - (b - c), a / b / c from t
select a < b, a <= b, a = b, a <> b, a != b, a >= b, a > b from t
select not a = b and c < d or a is null from t
select a = 1 or b = 2 and c = 3 or not d = 4 from t
select (a = 1 or b = 2) and (c = 3 or d = 4) from t
select a is null, a is not null, a isnull, a notnull from t
select p is true, p is not true, p is false, p is not false, p is unknown, p is not unknown from t
select p is null = q, p = q is null, p is true is null from t
select true is distinct from true and false, a is not distinct from b + 1 from t
select a between 1 and 2, a not between 1 and 2 = p, a between symmetric b and c, a not between symmetric 1 and 2, a between asymmetric 1 and 2 from t
select a between b + 1 and c * 2 and p from t
select a in (1, 2, b + 1), a not in (1, 2), a in (select b from t), a not in (select b from t) from t
select x like 'a%', x not like 'a%' escape '!', x ilike 'b', x not ilike 'b' escape 'c', x similar to 'c', x not similar to 'd' escape 'e' from t
select x like y || '%', x || y like 'a', x ~ y || 'a', x !~ 'b' from t
select x = y like z from t
select a = any (array[1, 2]), a <> all (array[1]), a < some (array[1, 2]), x like any (array['a', 'b']), x not ilike all (array['c']) from t
select a = any (select b from t), a >= all (select b from t), x ~~ any (select y from t) from t
select 16 >> 2 >> 1, 1 << 2 + 1, 5 & 3 | 4, 5 # 3, ~ 5, ~ 5 + 1, @ -5, |/ 4.0, 'a' || 'b' || 'c'
select j -> 'a' -> 'b', j ->> 'a' = 'b', j #> '{a,b}', j @> '{"a": 1}' and true from t
select a operator(pg_catalog.+) b * c, operator(pg_catalog.-) a, a operator(+) b from t
select a::text, a::numeric(10, 2)::int, '1'::int + 1, -1::int, - a::int, cast(a as text), cast(x || y as varchar(5)) from t
select a::int[], '{1,2}'::int[], '{{1}}'::int[][], '{1}'::int[3], '{1}'::int array, '{1}'::int array[4]
select int '1', float '1.5', float(10) '1', double precision '2', numeric '1', numeric(5, 2) '3.14', dec '1', boolean 'true', char 'abc', char(2) 'ab', varchar 'x', varchar(3) 'xyz', character varying(2) 'ab', national character varying(3) 'abc', nchar(2) 'ab', bit '1', bit(3) '101', bit varying '10', bit varying(3) '101'
select date '2024-01-01', text 'x', point '(1,2)', pg_catalog.int4 '7', jsonb '{}'
select time '12:00', time(3) '12:00', time with time zone '12:00+1', time without time zone '12:00', timestamp '2024-01-01', timestamp(0) with time zone '2024-01-01 12:00+0'
select interval '1', interval '1' year, interval '1-2' year to month, interval '1' month, interval '1' day, interval '1 2' day to hour, interval '1 2:03' day to minute, interval '1 2:03:04' day to second, interval '1' hour, interval '1:02' hour to minute, interval '1:02:03' hour to second, interval '1' minute, interval '1:02' minute to second, interval '1' second, interval '1.2345' second(2), interval(3) '1.23456'
select B'101', X'1F', E'a\n\t\'b\\', e'\x41\101\u0041\U00000041', U&'\0441\+00043b', U&'d!0061' uescape '!', $$dollar's$$, $tag$a $$ b$tag$, N'nchar', 'it''s'
select 'a'
  'b', 'c' -- a comment
  'd'
select 1 /* a /* nested */ comment */ + 2
select a x_1, U&"d\0061ta" from (select 1, 2) as q (a, U&"d\0061ta")
select 1.5, .5, 1., 1e10, 1.5e-3, 9223372036854775808, 2147483648
select null, true, false, default_value from (select 1) as q (default_value)
select row(1, 2), row(), row(a), (a, b), (a, b) = (c, d), row(a, b) < row(c, d), (1, (2, 3)) from t
select (date '2024-01-01', interval '1 day') overlaps (date '2024-01-01', date '2024-02-01'), row(date '2024-01-01', date '2024-01-02') overlaps row(date '2024-01-01', date '2024-02-01')
select array[1, 2, 3], array[[1, 2], [3, 4]], array[]::int[], array(select a from t), (array[1, 2])[1], n[1], n[1:2], n[:2], n[1:], n[:], t.n[1] from t
select (r).f1, (r).*, (q.r).f1, q.r from (select row(1, 2)::pair as r) as q
select (select a from t limit 1), (select row(1, 2)::pair).f1, ((select 1)), ((select 1) + 1), (((select 1)))
select exists (select 1), exists ((select 1)), not exists (select 1 from t where a = 1)
select case when a = 1 then 'x' when a = 2 then 'y' else 'z' end, case a when 1 then 2 end, case when p then 1 else 2 end + 1 from t
select coalesce(a, b, 1), nullif(a, b), greatest(a, b), least(1, 2, 3) from t
select count(*), count(a), count(distinct a), count(all a), sum(a) filter (where a > 1), array_agg(a order by b desc nulls last, c), string_agg(distinct x, ',' order by x) from t
select percentile_cont(0.5) within group (order by a), mode() within group (order by b desc) filter (where p) from t
select lower(x), pg_catalog.upper(x), now(), make_interval(days => 3, hours := 4), concat_ws(',', variadic array['a', 'b']), format('%s', variadic array['a']) from t
select extract(year from ts), extract('month' from ts), extract(epoch from ts), extract(second from ts) from t
select position('a' in x), substring(x from 2), substring(x from 2 for 3), substring(x for 3), substring(x for 3 from 2), substring(x similar 'a#"b#"c' escape '#'), substring(x, 2, 3) from t
select overlay(x placing 'b' from 2), overlay(x placing 'b' from 2 for 1), trim(x), trim(both from x), trim(leading 'a' from x), trim(trailing from x), trim('a' from x), trim(x, 'a') from t
select normalize(x), normalize(x, nfd), x is normalized, x is not nfkc normalized, collation for (x), treat(a as text) from t
select current_date, current_time, current_time(2), current_timestamp, current_timestamp(0), localtime, localtime(1), localtimestamp, localtimestamp(3), current_role, current_user, session_user, user, current_catalog, current_schema, current_schema()
select ts at time zone 'UTC', ts at time zone 'UTC' at time zone 'CET', ts + interval '1 day' at time zone 'UTC' from t
select x collate "C" < y, x < y collate "C", x || y collate "C" from t
select $1::int + $2, $1[1] from (select 1) q where $3::int[] = $4
select a and, b or, c is, d between from (select true as a, true as b, true as c, true as d) q
select a from t where a > 1 group by a having count(*) > 1 order by a limit 3 offset 2
select a, b, count(*) from t group by a, b, (a, b), rollup (a, b), cube (a, (b, c)), grouping sets ((), (a), rollup (b)), ()
select grouping(a, b), a, b from t group by grouping sets ((a, b), a, ())
select a from t group by distinct rollup (a), cube (a)
select a from t group by all a
select a from t order by a asc nulls first, b desc nulls last, c using >, d using operator(pg_catalog.<)
select a from t order by 1 limit all
select a from t limit 1 + 1 offset 2 * 3
select a from t offset 3 limit 4
select a from t offset 1 rows fetch first 2 rows only
select a from t offset 1 row
select a from t fetch first row only
select a from t fetch next (1 + 1) rows only
select a from t order by a fetch first 2 rows with ties
select a from t fetch first +2 rows only offset - 0 rows
select a from t for update
select a from t for no key update of t nowait
select a from t, s1.u for share of t for key share of u skip locked
select a from t limit 1 for update skip locked
select a from t for update skip locked limit 1
select a from t for read only
values (1, 'a'), (2, 'b')
values (1), (2) order by 1 desc limit 1
table t
table only s1.t
select 1 union select 2 union all select 3
select 1 union select 2 intersect select 2 except select 3
(select 1 union select 2) intersect select 2
select 1 union (select 2 union all select 3)
select 1 union distinct select 2
(select 1 limit 1) union all (select 2 order by 1) order by 1 limit 5
((select 1)) union ((select 2)) order by 1
(((select 1) union select 2) except select 3)
select 1 except all select 2 intersect all select 3
select * from (select 1 as a) as q, (values (1), (2)) v (a), lateral (select q.a) l
select * from t as x (aa, bb), s1.t y, only t z, t *
select * from t join s1.u on t.a = u.a left join t t2 using (a) right outer join t t3 on true full join t t4 on t4.a = t3.a
select * from t cross join s1.u natural join t t2
select * from t join (s1.u join t t2 on u.a = t2.a) on t.a = u.a
select * from t join s1.u join t t2 on u.a = t2.a on t.a = u.a
select * from (t join s1.u on t.a = u.a) as j, ((t t5 join s1.u u5 on true)) j5
select * from t natural left join s1.u
select j.a from t join s1.u using (a) as j
select * from t inner join lateral (select t.a + 1 as b) q on true
select * from ((select 1 as a) q join t on q.a = t.a)
select * from ((select 1 as a) union (select 2)) q
select * from (((select 1 as a) union (select 2)) q cross join t)
select * from generate_series(1, 3), generate_series(1, 3) g, generate_series(1, 3) as g2 (n), lateral generate_series(1, 2) g3
select * from generate_series(1, 3) with ordinality as g (n, o), unnest(array[1, 2], array['a']) u (a, b)
select * from rows from (generate_series(1, 2), generate_series(1, 3)) with ordinality as r (a, b, o)
select * from json_to_record('{"a": 1}') as j (a int, b text collate "C"), json_to_recordset('[]') j2 (x numeric(5, 2)), rows from (json_to_record('{}') as (a int, b int[])) j3
select * from current_date, coalesce(1, 2) as c, pg_catalog.now() n
select * from t tablesample bernoulli (10), s1.t u tablesample system (5) repeatable (1)
select sum(a) over (), sum(a) over w, sum(a) over (w), rank() over (partition by a, b order by c desc) from t window w as (order by a), w2 as (w rows 2 preceding)
select sum(a) over (order by a rows unbounded preceding), sum(a) over (order by a rows between 1 preceding and 2 following), sum(a) over (order by a range between unbounded preceding and unbounded following exclude current row), sum(a) over (order by a groups between current row and 1 following exclude ties), sum(a) over (order by a rows between 1 + 1 preceding and current row exclude group), sum(a) over (rows current row exclude no others) from t
with q as (select 1 as a) select * from q
with q (x, y) as materialized (select 1, 2), r as not materialized (select * from q) select * from r
with recursive q (n) as (values (1) union all select n + 1 from q where n < 5) select n from q
with recursive q (n) as (values (1) union all select n + 1 from q where n < 5) search depth first by n set o select n from q
with recursive q (n, m) as (select 1, 2 union all select n + 1, m from q where n < 5) search breadth first by n, m set o cycle n, m set c to 'y' default 'n' using p select n from q
with recursive q (n) as (values (1) union all select n + 1 from q where n < 5) cycle n set c using p select n from q
with q as (insert into t (a) values (1) returning a), r as (update t set a = 1 returning *), d as (delete from t returning a) select * from q, r, d
with time as (select 1 as a), ordinality as (select 2 as b) select * from time, ordinality
with recursive as (select 1 as a) select * from recursive
select * from (with q as (select 1 as a) select * from q) s
(with q as (select 1 as a) select * from q) union select 2
insert into t values (1, 2, 3), (4, 5, 6)
insert into t (a, b) values (1, default), (default, 2)
insert into s1.t as x (a, n[1], n[2:3]) values (1, 2, '{3,4}')
insert into t default values
insert into t select * from t
insert into t (a) (select b from t)
insert into t (select * from t)
insert into t (a) with q as (select 1) select * from q
with q as (select 1 as a) insert into t (a) select a from q
insert into t (a) table s1.u
insert into t (a) overriding system value values (1)
insert into t overriding user value select * from t
insert into t (a, b) values (1, 2) on conflict do nothing
insert into t (a, b) values (1, 2) on conflict (a) do nothing returning *, a as x
insert into t as target (a, b) values (1, 2) on conflict (a) where a > 0 do update set b = excluded.b + target.b, c = default where target.c > 1
insert into t (a, b) values (1, 2) on conflict (a int4_ops) do update set (b, c) = (excluded.b, 2)
insert into t (a, b) values (1, 2) on conflict (a, (b + 1)) do update set (b, c) = row(1, 2), d = (select 1)
insert into t (a) select a from t on conflict on constraint t_pkey do update set a = 1
update t set a = 1
update only t as x set a = a + 1, b = default, (c, d) = (select 1, 2), n[1] = 3 from s1.u, generate_series(1, 2) g where x.a = u.a returning x.a, u.*
update t set (a, b) = row(1, 2), (c) = (3)
update t * set a = 1 where b in (select b from t)
update t x set a = 1 where current of cur
with q as (select 1 as a) update t set a = q.a from q
delete from t
delete from only t as x using s1.u join t t2 using (a) where x.a = u.a returning *
delete from t where current of cur
with q as (select 1 as a) delete from t using q where t.a = q.a
merge into t using s1.u on t.a = u.a when matched and u.a > 1 then update set b = u.a, (c, d) = (1, 2) when matched then delete when not matched and u.a < 1 then insert (a, b) values (u.a, default) when not matched then do nothing
with q as (select 1 as a) merge into t as x using (select 1 as a) s on x.a = s.a when not matched then insert values (1, 2, 3) when matched then do nothing
merge into t using s1.u on true when not matched then insert default values
merge into t using s1.u on t.a = u.a when not matched then insert (a) overriding system value values (u.a)
select a into temp table made from t
select a into unlogged table made_too from t
select a into made_plain from t
select "select", "Weird ""Name""" from (select 1 as "select", 2 as "Weird ""Name""") q
select a.b.c.d from t
select language, name, values, row, time, interval from (select 1 as language, 2 as name, 3 as values, 4 as row, 5 as time, 6 as interval) q
select left('abc', 2), right('abc', 1), "left"('abc', 2), char_length('a'), "char"('x')
select xmlelement(name a), xmlelement(name "A b", xmlattributes(1 as x, b), c, c is document), xmlforest(b, 1 as "select") from (select 'x' as b, '<a/>'::xml as c) q
select xmlconcat(a, a), xmlparse(document b), xmlparse(content b preserve whitespace), xmlparse(content b strip whitespace), xmlpi(name a), xmlpi(name b, 'c') from (select '<b/>'::text as b, '<a/>'::xml as a) q
select xmlroot(a, version '1', standalone yes), xmlroot(a, version no value, standalone no), xmlroot(a, version 'b' || 'c', standalone no value) from (select '<a/>'::xml as a) q
select xmlserialize(content a as text), xmlserialize(document a as varchar(3)), a is not document, xmlexists('/a' passing by ref a), xmlexists('/a' passing by value a by ref) from (select '<a/>'::xml as a) q
