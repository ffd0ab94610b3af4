create table t (a int, b int)
insert into t values (1, 0), (2, 1), (3, 2)
create table e (a int, b int)
create function boom(int) returns int language plpgsql volatile as 'begin raise exception ''boom %'', $1; end'
create function boomi(int) returns int language plpgsql immutable as 'begin raise exception ''boomi %'', $1; end'
create function booms(int) returns int language plpgsql stable as 'begin raise exception ''booms %'', $1; end'
select boom(1) limit 0
select boom(a) from t limit 0
select 1/0 limit 0
select 1/b from t limit 0
select a from t where 1/b > 0 limit 0
select (select 1/0) limit 0
select (select boom(1)) limit 0
select (select 1/b from t where a = 1) limit 0
select (select a from t) limit 0
select (select a from t) from e
select (select a from t) from t limit 0
select (select 1/0) from e
select (select boom(1)) from e
select boom(1) from e
select 1/0 from e
select * from t where (select a from t) > 0 limit 0
select * from t where false and 1/0 = 1
select * from t where 1/0 = 1 and false
select * from t where a = 5 and 1/0 = 1
select * from t where a = 5 and 1/b = 1
select * from t where a = 5 and boom(a) = 1
select * from e where 1/0 = 1
select * from e where boom(1) = 1
select * from e where (select 1/0) = 1
select * from e where (select 1/0 from t limit 1) = 1
select * from t where true or 1/0 = 1
select * from t where 1/0 = 1 or true
select * from t where a > 0 or 1/0 = 1
select * from t where a > 0 or 1/b = 1
select * from t where a > 0 or boom(a) = 1
select case when true then 1 else 1/0 end
select case when false then 1/0 else 1 end
select case when a > 0 then 1 else 1/0 end from t
select case when a > 0 then 1 else 1/b end from t
select case when a > 0 then 1 else a/0 end from t
select case a when 1 then 1 when 1/0 then 2 else 3 end from t
select case 1 when 1 then 1 when 1/0 then 2 else 3 end
select case when a > 0 then 1 else booms(1) end from t
select case when a > 0 then 1 else 'x'::int end from t
select case when true then 1 else 'x'::int end
select case when true then 1 else 'x'::text::int end
select coalesce(1, 1/0)
select coalesce(a, 1/0) from t
select coalesce(a, 1/b) from t
select coalesce(null, 1, 1/0)
select coalesce((select 1), 1/0)
select exists (select 1/0)
select exists (select 1/0 from t)
select exists (select 1/b from t)
select exists (select boom(1) from t)
select exists (select boom(1))
select exists (select 1/0 from e)
select exists (select boom(a) from t where a = 9)
select exists (select 1/0 from t limit 0)
select exists (select 1 from t limit 1/0)
select exists (select distinct 1/b from t)
select exists (select max(1/b) from t)
select exists (select 1/b from t group by 1)
select exists (select 1/b from t order by 1)
select exists (select 1 from t order by 1/b)
select exists (select 1 from t order by boom(a))
select exists (select 1/0 union all select 1)
select exists (select a from t union select 1/b from t)
select a from t where exists (select 1/0 from t)
select a from t where exists (select 1/b from t u where u.a = t.a) order by a
select a from t where not exists (select boom(1) from t u where u.a = t.a)
select a from t where a in (select 1/b from t where b > 0) order by a
select a from t where a in (select 1/0)
select a from t where a in (1, 1/0)
select a from e where a in (1, 1/0)
select 1 where false and (select boom(1)) = 1
select 1 where null and 1/0 = 1
select count(boom(1)) from e
select sum(1/0) from e
select sum(1/b) from e
select count(*) filter (where 1/0 = 1) from e
select sum(1/b) filter (where b > 0) from t
select a, sum(1/0) from e group by a
select max(a) from t having 1/0 = 1
select max(a) from e having max(a) > 0 and 1/0 = 1
select max(a) from t having false and 1/0 = 1
select a from t order by 1/0
select a from e order by 1/0
select a from e order by boom(a)
select a from t order by boom(a) limit 0
select a from t order by 1/b limit 0
select distinct 1/b from t limit 0
select count(*) from (select boom(a) from t) s
select count(*) from (select 1/b from t) s
select count(*) from (select 1/0 from t) s
select count(*) from (select boom(a) from t limit 2) s
select count(*) from (select distinct 1/b from t) s
select a from (select a, boom(a) x from t) s
select a from (select a, 1/b x from t) s order by a
select a from (select a, 1/0 x from t) s order by a
select a from (select a, booms(a) x from t) s order by a
select a from (select a, 1/b x from t offset 0) s order by a
select a from (select a, boom(a) x from t offset 0) s order by a
with s as (select 1/b x, a from t) select a from s order by a
with s as (select 1/0 x, a from t) select a from s order by a
with s as (select 1/b x from t) select 1
with s as (select 1/0 x from t) select 1
with s as materialized (select 1/b x, a from t) select a from s
with s as (select boom(1) x) select 1
with s as (select boom(1) x) select 1 from s
with s as (select boom(1) x) select x from s limit 0
with s as materialized (select boom(1) x) select x from s limit 0
select * from t join e on 1/b = 1
select * from t left join e on t.a = e.a and 1/e.b = 1 order by 1
select * from e join t on 1/t.b = e.a
select * from e join (select boom(1) x) s on true
select * from (select boom(1) x) s join e on true
select * from e, lateral (select boom(e.a)) s
select * from t left join lateral (select 1/0) s on false order by 1
select * from t left join (select 1/0 y) s on false order by 1
select a from t where false or exists (select boom(1) from e)
select nullif(1, 1/0)
select greatest(1, 1/0)
select a from t where a = any (array[1, 1/0])
select a from e where a = any (array[1, 1/0])
select a from e where a = any (array[1, 1/(select 0)])
select * from generate_series(1, 1/0) limit 0
select * from generate_series(1, boom(1)) limit 0
select generate_series(1, 1/(select 0)) limit 0
select unnest(array[1/b]) from t limit 0
select a from t limit 0 offset 1/0
select a from t limit (select 1/0)
select a from t limit (select 0)
select 1 union all select 1/0 limit 1
select 1 union all select boom(1) limit 1
select a from t union all select 1/0 limit 1
(select 1) union all (select 1/b from t) limit 1
select 1 union select 1/0 limit 0
select 1 except select boom(1) limit 0
select a, row_number() over (order by 1/0) from e
select row_number() over (order by boom(a)) from t limit 0
select sum(a) over (rows between 1/0 preceding and current row) from e
select (select boom(a) from e) from t
select array(select boom(a) from e)
select array(select boom(a) from t limit 0)
select array(select 1/b from t limit 0)
select * from t where a = (select boom(1) from e)
select * from t where (select max(1/b) from e) is null order by a
update e set a = 1/0
update e set a = boom(1)
update t set a = 1/0 where false
update t set a = boom(1) where false
update t set a = boom(1) where a = 99
delete from t where false and boom(a) = 1
delete from t where a = 99 and 1/b = 1
insert into e select boom(1) limit 0
insert into e select boom(a), 1 from t where a = 99
insert into e select 1/0, 1 where false
insert into e select 1/0, 1 from t limit 0
insert into e values (case when true then 1 else 1/0 end, 0)
select * from e
delete from e
select true or boom(1) = 1
select boom(1) = 1 or true
select false and boom(1) = 1
select boom(1) = 1 and false
select null or boom(1) = 1
select true or 1/0 = 1
select (1/0 = 1) is null or true
select a from t where a > 0 and (a < 5 or 1/0 = 1)
select a from t where a > 0 and (a < 5 or 1/b = 1) order by a
select a from t where not (a > 0 or 1/b = 1)
select a from t where case when b = 0 then false else 1/b = 1 end
select a from t where b <> 0 and 1/b = 1
select a from t group by a having a > 0 or 1/0 = 1
select count(*) from t where b <> 0 group by 1/b
select case when count(*) > 0 then 1 else 1/0 end from t
select case when count(*) > 0 then 1 else 1/count(*) end from t
select case when min(b) > 0 then sum(1/b) else 0 end from t
select coalesce(max(a), 1/0) from t
select a from t where a is not null or 1/b = 1 order by a
prepare p as select case when $1 > 0 then 1 else 1/0 end
prepare p2 (int) as select case when $1 > 0 then 1 else 1/0 end
execute p2(1)
execute p2(0)
prepare p3 (int) as select a from t where a > 0 or 1/$1 = 1 order by a
execute p3(0)
select a from t where a > 0 or a = 1/0
create view v as select case when a > 0 then 1 else 1/0 end x from t
select * from v
select x from v limit 0
drop view v
create view v as select 1/0 x, a from t
select a from v order by a
select x from v limit 0
select count(*) from v
select count(x) from v
with w as (insert into e values (7, 7) returning a) select a from w limit 0
select * from e
select a from t limit (select count(*) - 3 from t)
select 1/b from t limit (select 0)
select a from t order by 1/b fetch first 0 rows only
select exists (select a from t group by a, b order by 1/b)
select exists (select distinct on (a) 1/b from t order by a, b)
select exists (select a from e group by a)
select a from t where exists (select distinct 1/u.b from t u where u.a = t.a) order by a
select a from t where not exists (select u.a from t u where u.a > t.a group by u.a order by 1/u.a) order by a
select exists (select count(*) from e)
select exists (select a from e group by grouping sets ((a), ()))
select exists (select a from t group by a having a > 9)
select exists (select a from t group by 1 limit 0)
select exists (select distinct a from t offset 3)
select exists (select row_number() over (order by 1/b) from t)
select exists (select generate_series(1, 0) from t)
begin
select a from t for update limit 0
commit
