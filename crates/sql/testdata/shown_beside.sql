create table d (a int, b text, c varchar(10), d date, e timestamp, f timestamptz, g numeric(10,2), h char(5), i bigint, j float8, k jsonb, l int[], m interval, n bool, o time, p bytea, q uuid, r real, s smallint, u "char", w name, x bit(4), y money, z inet)
create view v1 as select b = 'a' c1, c = 'a' c2, a::text c3, b::int c4, a = 1 c5, i = 1 c6, g > 1 c7, g > 1.5 c8, j > 1 c9, h = 'x' c10, d > '2020-01-01' c11, e > '2020-01-01' c12, f > '2020-01-01 00:00:00+00' c13, m > '1 day' c14, n and true c15, o > '10:00' c16, l = '{1,2}' c17, k ->> 'a' c18, k -> 0 c19, 'abc' c20, null c21, null::int c22, 'x'::varchar(3) c23, 1.5 c24, -1 c25, 1::bigint c26, '1'::bigint c27, 1e10 c28, 10000000000 c29, true c30 from d
select pg_get_viewdef('v1'::regclass)
select pg_get_viewdef('v1'::regclass, true)
create view v2 as select s = 1 c1, i + a c2, r + 1 c3, r + j c4, a + 1.5 c5, a / 2.0::float8 c6, c || b c7, b || 'x' c8, a || 'x' c9, c like 'a%' c10, h like 'a%' c11, b in ('a', 'b') c12, c in ('a', 'b') c13, a in (1, 2) c14, a = any (array[1, 2]) c15, coalesce(c, 'x') c16, coalesce(b, c) c17, case when n then 'a' else c end c18, case c when 'a' then 1 end c19, nullif(c, 'a') c20, greatest(a, i) c21, d + 1 c22, e + '1 day' c23, f at time zone 'utc' c24, extract(year from e) c25, upper(c) c26, length(c) c27, substring(c from 1 for 2) c28, trim(both 'x' from c) c29, position('a' in c) c30 from d
select pg_get_viewdef('v2'::regclass, true)
create view v3 as select c::text c1, c::varchar(5) c2, g::int c3, a::numeric(5,1) c4, e::date c5, d::timestamp c6, f::timestamp c7, cast(b as int) c8, int4(b::float8) c9, (a + 1)::text c10, (a || b)::varchar c11, l::text[] c12, array[a, 1]::bigint[] c13, row(a, b) c14, row(a, b)::text c15, 'a'::char(3) c16, '2020-01-01'::date c17, date '2020-01-01' c18, interval '1' day c19, interval '1 day 2 hours' c20, time '10:00' c21, timestamp '2020-01-01' c22, timestamptz '2020-01-01 12:00+02' c23, '\x00'::bytea c24, b'101' c25, '1.2.3.4'::inet c26, '{"a":1}'::jsonb c27, 'f'::bool c28, 1::bool c29, n::int c30 from d
select pg_get_viewdef('v3'::regclass, true)
create view v4 as select -a c1, - -a c2, (-1)::int2 c3, -(1::int2) c4, +a c5, not n c6, a is null c7, (a + 1) * 2 c8, a + 1 * 2 c9, a - (1 - 2) c10, n is true c11, a between 1 and 2 c12, a not between 1 and 2 c13, a is distinct from 1 c14, (a, i) = (1, 2) c15, a < all (array[1]) c16, b ~ 'x' c17, b not like 'x' c18, b ilike 'x' c19, b similar to 'x' c20, l[1] c21, l[1:2] c22, (k -> 'a') -> 'b' c23, k @> '{}' c24, k #>> '{a,b}' c25, current_date c26, current_timestamp c27, now() c28, current_user c29, localtimestamp(3) c30 from d
select pg_get_viewdef('v4'::regclass, true)
create view v5 as select w = 'x' c1, w::text c2, u = 'x' c3, p = '\x00' c4, q = '00000000-0000-0000-0000-000000000001' c5, r = 1.5 c6, j = 1.5 c7, s + 1 c8, i * 1.5 c9, x = b'1010' c10, y > '1.0' c11, z = '1.2.3.4' c12, c = b c13, h = b c14, h = c c15, c > 'a' || b c16, b = a::text c17, w = c c18, c || 1 c19, format('%s', c) c20, concat(a, c) c21, md5(c) c22, lower(w) c23, round(j) c24, round(g, 1) c25, power(a, 2) c26, sqrt(a) c27, abs(s) c28, mod(i, a) c29, date_trunc('day', d) c30 from d
select pg_get_viewdef('v5'::regclass, true)
create view v6 as select sum(a) c1, count(*) c2, count(distinct b) c3, sum(a) filter (where n) c4, string_agg(c, ',') c5, array_agg(a order by b desc nulls last) c6, max(c) c7, min(h) c8, avg(g) c9, percentile_cont(0.5) within group (order by a) c10, json_agg(a) c11, rank() over (partition by b order by a desc) c12, sum(sum(a)) over (order by b rows between 1 preceding and current row) c13, lag(b, 1, 'x') over () c14 from d group by b, a
select pg_get_viewdef('v6'::regclass, true)
create index i1 on d (lower(b))
create index i2 on d (a) where b = 'x'
create index i3 on d (a) where e > '2020-01-01'
create index i4 on d (a) where f > '2020-01-01 00:00:00+00'
create index i5 on d (a) where f > '2020-07-01 12:00:00.5+00' and d > '2020-02-03'
create index i6 on d ((a + 1), (c || 'x'))
create index i8 on d (a) where c = 'a' and h = 'b' and g > 1 and i > 1 and s > 1 and j > 1
create index i9 on d ((a::bigint)) where n
create index i10 on d (((k ->> 'a'))) where k is not null
create index i11 on d (date_trunc('day', e)) where o > '10:00' and m > '1 day'
create index i12 on d ((d + 1)) where not n
create index i13 on d (coalesce(c, '')) where q = '00000000-0000-0000-0000-000000000001'
create index i14 on d (((a || 'x')::text)) where l = '{1,2}'
create index i14 on d ((c::text)) where l = '{1,2}' and p = '\x00'
create index i15 on d (a desc nulls last, b collate "C") include (c) where a is not null
create unique index i16 on d (upper(c)) where a between 1 and 10
create index i17 on d (a) where j = 1.5 and r = 1.5 and g = 1.5
create index i18 on d (a) where m = interval '1' day or m = '1 year 2 mons'
create index i19 on d (a) where z = '1.2.3.4' and y > '1.0'
select indexrelid::regclass::text, pg_get_indexdef(indexrelid) from pg_index where indrelid = 'd'::regclass order by 1
select indexrelid::regclass::text, pg_get_expr(indpred, indrelid) from pg_index where indrelid = 'd'::regclass order by 1
select indexrelid::regclass::text, pg_get_expr(indpred, indrelid, true) from pg_index where indrelid = 'd'::regclass order by 1
select indexrelid::regclass::text, pg_get_expr(indexprs, indrelid) from pg_index where indrelid = 'd'::regclass order by 1
select indexrelid::regclass::text, pg_get_indexdef(indexrelid, 1, true) from pg_index where indrelid = 'd'::regclass order by 1
set timezone = 'America/New_York'
set datestyle = 'SQL, DMY'
set intervalstyle = 'iso_8601'
select indexrelid::regclass::text, pg_get_indexdef(indexrelid) from pg_index where indrelid = 'd'::regclass order by 1
select indexrelid::regclass::text, pg_get_expr(indpred, indrelid) from pg_index where indrelid = 'd'::regclass order by 1
create index i20 on d (a) where d > '02/03/2020' and f > '02/03/2020 10:00'
select pg_get_indexdef('i20'::regclass)
select indexdef from pg_indexes where indexname = 'i20'
alter table d add constraint k20 check (d > '02/03/2020' and f > '02/03/2020 10:00' and m > 'P1D')
alter table d alter d set default '02/03/2020', alter f set default '02/03/2020 10:00'
select pg_get_constraintdef(oid) from pg_constraint where conname = 'k20'
select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'd'::regclass order by adnum
create view v7 as select d > '02/03/2020' a, f > '02/03/2020 10:00' b, m > 'P1D' c from d
select pg_get_viewdef('v7'::regclass)
reset timezone
reset datestyle
reset intervalstyle
select pg_get_indexdef('i20'::regclass)
select pg_get_constraintdef(oid) from pg_constraint where conname = 'k20'
select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'd'::regclass order by adnum
select pg_get_viewdef('v7'::regclass)
create table ck (a int check (a > 0), b text default 'x' check (b <> ''), c varchar(5) default 'y' check (c in ('y', 'n')), d date default '2020-01-01', e timestamptz default '2020-01-01 00:00+00' check (e > '2020-01-01 00:00+00'), f numeric default 1.5 check (f >= 0), g int default -1, h bigint default 1 check (h > -1), i float8 default 1.5::float8 + 0, j bool default true check (j), k jsonb default '{}' check (k ? 'a'), l text[] default '{}' check (l <> '{}'), m interval default '1 day', n char(3) default 'abc' check (n = 'a'), o timestamp default now(), p text default current_user, q int default 1 + 2, r text default 'a' || 'b', s smallint default 1 check (s = 1), t text check (t ~ '^a' and length(t) > 2), u int check (u between 1 and 5), v int check (v = any (array[1, 2])), w int check (w not in (3, 4)), x text check (x is null or x like '%a'), y varchar(10) check (y::text = upper(y)), z text default null)
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'ck'::regclass order by 1
select conname, pg_get_constraintdef(oid, true) from pg_constraint where conrelid = 'ck'::regclass order by 1
select adnum, pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'ck'::regclass order by 1
select column_name, column_default from information_schema.columns where table_name = 'ck' order by ordinal_position
create table gen (a int, b int generated always as (a * 2) stored, c text generated always as (upper('x' || a::text)) stored, d numeric generated always as (a * 1.5) stored)
select adnum, pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'gen'::regclass order by 1
create view v8 as select * from d where c = 'a' and a in (select a from ck where b = 'x') and exists (select 1 from ck where ck.a = d.a) order by a desc limit 5
select pg_get_viewdef('v8'::regclass)
create view v9 as select a from d union all select 1 union select a::int from ck order by 1
select pg_get_viewdef('v9'::regclass)
create view v10 as with x as (select a, 'q' t from d), y as (select 1) select x.a, t, (select max(a) from ck) from x left join ck on x.a = ck.a and ck.b = 'z' cross join y
select pg_get_viewdef('v10'::regclass)
create view v11 as select d.a x, ck.b from d join ck using (a) where d.b = ck.b
select pg_get_viewdef('v11'::regclass)
create view v12 (p, q) as values (1, 'a'), (2, 'b')
select pg_get_viewdef('v12'::regclass)
create view v13 as select generate_series(1, 3) g, unnest('{1,2}'::int[]) u
select pg_get_viewdef('v13'::regclass)
create view v14 as select * from generate_series(1, 3) g, lateral (select g + 1 h) s, unnest(array['a', 'b']) with ordinality u (x, n)
select pg_get_viewdef('v14'::regclass)
create table pt (a int, d date, t text) partition by range (d)
create table pt1 partition of pt for values from ('2020-01-01') to ('2021-01-01')
create table pl (a int, t text) partition by list (t)
create table pl1 partition of pl for values in ('a', null)
select pg_get_expr(relpartbound, oid), pg_get_partition_constraintdef(oid) from pg_class where relname in ('pt1', 'pl1') order by 1
