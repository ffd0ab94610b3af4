select id, row_number() over (order by id) from t
select id, row_number() over (order by id desc) from t
select id, rank() over (order by a), dense_rank() over (order by a), percent_rank() over (order by a), cume_dist() over (order by a) from t
select id, rank() over (order by f), dense_rank() over (order by f) from t
select id, rank() over (order by c), dense_rank() over (order by n desc nulls last) from t
select id, rank() over (partition by a order by b), count(*) over (partition by a) from t
select id, rank() over (), row_number() over (partition by id), percent_rank() over (), cume_dist() over () from t
select id, ntile(1) over (order by id), ntile(2) over (order by id), ntile(4) over (order by id), ntile(10) over (order by id) from t
select id, ntile(a) over (order by id) from t
select id, ntile(a) over (order by id desc) from t
select ntile(0) over (order by id) from t
select ntile(null) over (order by id) from t
select id, lag(id) over (order by id), lead(id) over (order by id) from t
select id, lag(b, 2) over (order by id), lead(b, 2, 'none') over (order by id) from t
select id, lag(id, -1) over (order by id), lead(id, 0, 5) over (order by id), lag(id, null, 7) over (order by id) from t
select id, lag(id, a, -id) over (order by id), lead(a, id) over (order by id) from t
select id, lag(n, 1, 0) over (order by id), lead(f, 1, 2) over (partition by a order by id) from t
select id, lag(id, 1000000000) over (order by id), lead(id, 2147483647, 0) over (order by id) from t
select id, first_value(id) over (order by id), last_value(id) over (order by id), nth_value(id, 2) over (order by id) from t
select id, first_value(b) over w, last_value(b) over w, nth_value(b, 3) over w from t window w as (order by id rows between unbounded preceding and unbounded following)
select id, first_value(id) over (partition by a order by id desc), last_value(id) over (partition by a order by id desc) from t
select id, nth_value(id, 0) over (order by id) from t
select id, nth_value(id, null) over (order by id), nth_value(b, a) over (order by id) from t
select id, last_value(id) over (order by a) > 0, count(*) over (order by a) from t
select id, sum(a) over (order by id), avg(a) over (order by id), count(a) over (order by id), min(b) over (order by id), max(f) over (order by id) from t
select id, sum(a) over (), sum(n) over (), count(*) over (), max(m) over () from t
select id, sum(n) over (partition by a), sum(n) over (partition by a order by id) from t
select id, sum(m) over (order by id), avg(m) over (order by id) from t where id <> 3
select id, sum(f) over (order by id rows between 1 preceding and current row) from t
select id, string_agg(b, ',') over (order by id), array_agg(a) over (order by id rows between 1 preceding and 1 following) from t
select id, sum(id) over (order by id rows 2 preceding), sum(id) over (order by id rows between 1 following and 2 following) from t
select id, sum(id) over (order by id rows between 2 preceding and 1 preceding), count(*) over (order by id rows between current row and unbounded following) from t
select id, sum(id) over (order by id rows between unbounded preceding and 1 preceding), sum(id) over (order by id rows between unbounded preceding and 1 following) from t
select id, sum(id) over (order by id rows between current row and current row), sum(id) over (order by id rows between 0 preceding and 0 following) from t
select id, sum(id) over (order by id rows between 2 following and 1 following), sum(id) over (order by id rows between 1 preceding and 2 preceding) from t
select id, count(*) over (order by id rows between 100000000000 preceding and 100000000000 following) from t
select id, sum(id) over (order by a groups between 1 preceding and current row), sum(id) over (order by a groups between current row and 1 following) from t
select id, sum(id) over (order by a groups between 1 following and 2 following), sum(id) over (order by a groups between 2 preceding and 1 preceding) from t
select id, sum(id) over (order by a groups between unbounded preceding and 1 following), sum(id) over (order by a groups current row) from t
select id, sum(id) over (order by a range between 1 preceding and current row), sum(id) over (order by a range between 1 preceding and 1 following) from t
select id, sum(id) over (order by a desc range between 1 preceding and current row), sum(id) over (order by a desc nulls last range between 1 preceding and 1 following) from t
select id, sum(id) over (order by a nulls first range between 1 preceding and current row), sum(id) over (order by a nulls first range between unbounded preceding and 1 following) from t
select id, sum(id) over (order by a range between current row and 1 following), sum(id) over (order by a range between 1 following and unbounded following) from t
select id, sum(id) over (order by a range between 2 preceding and 1 preceding), sum(id) over (order by a range between unbounded preceding and 1 preceding) from t
select id, sum(id) over (order by a range between 1 preceding and unbounded following), sum(id) over (order by a range between 0 preceding and 0 following) from t
select id, count(*) over (order by big range between 10::bigint preceding and 10::bigint following), count(*) over (order by small range between 1 preceding and 1::smallint following) from t
select id, count(*) over (order by small range between 1::bigint preceding and 1::bigint following) from t
select id, count(*) over (order by f range between 1 preceding and 1 following), count(*) over (order by f desc range between 1.5 preceding and 0 following) from t
select id, count(*) over (order by f range between 'infinity' preceding and 1 following), count(*) over (order by f range between 1 preceding and 'infinity' following) from t
select id, count(*) over (order by f::float4 range between 1 preceding and 1 following) from t
select id, count(*) over (order by n range between 1.1 preceding and 1 following), count(*) over (order by m range between 0 preceding and 0.5 following) from t
select id, count(*) over (order by m range between 'infinity' preceding and 'infinity' following), count(*) over (order by m desc range between 1 preceding and unbounded following) from t
select id, count(*) over (order by d range between '1 day' preceding and '1 day' following), count(*) over (order by d desc range between '1 mon' preceding and current row) from t
select id, count(*) over (order by ts range between '1 day' preceding and '1 year' following), count(*) over (order by tz range between '30 years' preceding and current row) from t
select id, count(*) over (order by iv range between '1 day' preceding and '29 days' following) from t
select id, count(*) over (order by ts::time range between '6 hours' preceding and '6 hours' following) from t
select sum(id) over (order by a range between -1 preceding and current row) from t
select sum(id) over (order by a rows between -1 preceding and current row) from t
select sum(id) over (order by a groups between current row and -1 following) from t
select sum(id) over (order by a rows between null preceding and current row) from t
select sum(id) over (order by a range between null::int preceding and current row) from t
select sum(id) over (order by id rows between -1 preceding and current row) from e
select sum(id) over (order by f range between 'NaN' preceding and current row) from t
select sum(id) over (order by d range between '-1 day' preceding and current row) from t
select sum(id) over (order by b range between 1 preceding and current row) from t
select id, sum(id) over (order by id rows between 1 preceding and 1 following exclude current row), sum(id) over (order by a rows between unbounded preceding and unbounded following exclude group) from t
select id, sum(id) over (order by a rows between unbounded preceding and unbounded following exclude ties), sum(id) over (order by a range between unbounded preceding and current row exclude ties) from t
select id, sum(id) over (order by a range between unbounded preceding and current row exclude current row), sum(id) over (order by a groups between 1 preceding and 1 following exclude group) from t
select id, count(*) over (rows between unbounded preceding and unbounded following exclude group), count(*) over (rows between unbounded preceding and unbounded following exclude ties) from t
select id, first_value(id) over (order by a rows between unbounded preceding and unbounded following exclude group) is null, array_agg(id) over (order by id rows between 1 preceding and 1 following exclude no others) from t
select id, first_value(id) over (order by id rows between current row and unbounded following exclude current row), last_value(id) over (order by id rows between unbounded preceding and current row exclude current row), nth_value(id, 2) over (order by id rows between 1 preceding and 1 following exclude current row) from t
select id, count(*) filter (where a > 1) over (order by id), sum(id) filter (where b = 'a') over () from t
select id, sum(10 / a) filter (where a <> 0) over (order by id), sum(id) filter (where a is null) over (order by id rows between 1 preceding and 1 following) from t
select id, sum(1 / (a - 1)) filter (where a <> 1) over () from t
select id, count(*) filter (where id % 2 = 0) over (order by id rows between 1 preceding and 1 following exclude current row) from t
select id, sum(id) over w, count(*) over w, rank() over w from t window w as (partition by a order by id)
select id, sum(id) over w, sum(id) over (w rows unbounded preceding), sum(id) over (w order by id) from t window w as (partition by a)
select id, sum(id) over w2 from t window w as (partition by a), w2 as (w order by id)
select a, sum(id), rank() over (order by sum(id) desc), sum(sum(id)) over (order by a) from t group by a
select a, count(*), count(*) over () from t group by a having count(*) > 1
select a, sum(count(*)) over (partition by a is null) from t group by a
select id, rank() over (order by id) + 1, row_number() over (order by id) * 2 from t
select id from (select id, row_number() over (partition by a order by id) as n from t) s where n = 1
select id, row_number() over (order by a, id), row_number() over (order by a desc, id), sum(id) over (partition by b) from t order by row_number() over (order by id desc) -- ordered
select id, a from t order by rank() over (order by a desc nulls last), id -- ordered
select row_number() over (order by id), count(*) over (partition by a order by id), sum(id) over (partition by a), max(id) over () from t
select id, sum(id) over (partition by a, b order by c, id), sum(id) over (partition by a order by id), sum(id) over (order by a, id) from t
select count(*) over () from e
select sum(id) over (order by id), rank() over (partition by x) from e
select count(*) over (partition by f), f from t
select count(*) over (partition by c), c from t
select count(*) over (partition by m), m from t
select count(*) over (partition by iv), iv from t
select count(*) over (partition by 1), sum(id) over (order by 1) from t
select sum(id) over (order by 1 range between 1 preceding and 1 following) from t
select id, bool_and(ok) over (order by id), every(ok) over () from t
select id, stddev(a) over (order by id), var_pop(a) over (order by id rows between 2 preceding and current row) from t
select id, jsonb_agg(a) over (order by id) from t
select id, min(d) over (order by id), max(ts) over (order by id desc) from t
select o.oid_, t.b, sum(o.qty) over (partition by t.b order by o.oid_) from o left join t on t.id = o.t_id
select id, (select count(*) over () from o where o.t_id = t.id limit 1) from t
select id, sum((select count(*) from o where o.t_id = t.id)) over (order by id) from t
select distinct a, sum(id) over (partition by a) from t
select g, sum(g) over (order by g rows between 3 preceding and 3 following) from generate_series(1, 20) g
select max(s), min(s), count(*) from (select sum(g) over (partition by g % 7 order by g) as s from generate_series(1, 30000) g) x
select max(s), min(s), count(*) from (select sum(g) over (order by g rows between 10 preceding and 10 following) as s from generate_series(1, 30000) g) x
select max(s), min(s), count(*) from (select count(*) over (order by g range between 100 preceding and 50 following) as s from generate_series(1, 30000) g) x
select max(s), min(s), sum(s) from (select row_number() over (partition by g / 3 order by g desc) as s from generate_series(1, 30000) g) x
select sum(l), sum(r), sum(n) from (select lag(g) over (order by g) as l, rank() over (order by g / 10) as r, ntile(7) over (order by g) as n from generate_series(1, 20000) g) x
select row_number() over (), id from t order by id -- ordered
select row_number() over (order by b), rank() over (order by v nulls first) from t order by 1 -- ordered
select id, lag(array[a, id]) over (order by id), first_value(row(a, b)) over (order by id) from t
select id, count(*) over (order by id rows between a preceding and current row) from t
select id, sum(id) over (order by id rows between (select 1) preceding and current row) from t
select id, lag(id, 1, 1 / 0) over (order by id) from t
select id, sum(id) over (partition by f order by c, id), count(*) over (partition by c order by f) from t
select id, sum(f) over (order by id), avg(f) over (order by id rows between 1 preceding and 1 following), min(f) over (order by id desc) from t
select id, sum(n) over (order by n range between unbounded preceding and 1 following exclude current row) from t
select id, sum(a) over (order by a nulls first groups between 1 preceding and 1 following exclude ties), array_agg(id) over (order by a desc nulls first range between 1 preceding and 0 following exclude group) from t where id <> 2
select id, count(*) over (order by a desc range between 1 following and 2 following), count(*) over (order by a desc nulls last range between unbounded preceding and 1 preceding) from t
select id, count(*) over (order by d nulls first range between '10 years' preceding and '1 day' preceding) from t
select id, nth_value(id, 3) over (order by a, id groups between 2 preceding and 2 following exclude group), last_value(id) over (order by a, id rows between unbounded preceding and unbounded following exclude ties) from t
select o.note, count(*), rank() over (order by count(*) desc, o.note), lag(o.note, 1, 'none') over (order by o.note nulls last) from o group by o.note
select id, sum(id) over (order by id rows between 1 preceding and 1 following) + count(*) over () as s from t order by s desc, id limit 3 -- ordered
select id, percent_rank() over (partition by a order by b nulls first), cume_dist() over (partition by a order by b desc) from t
select max(id) over (partition by a), x.* from (select id, a, first_value(b) over (partition by a order by id) from t union all select null, null, null) x
select g, sum(g) over (order by g rows between 1 preceding and 1 following exclude current row), avg(g) over (order by g / 2 groups 1 preceding) from generate_series(1, 10) g
select sum(x), count(x) from (select first_value(g) over (partition by g / 5000 order by g desc range between 10 preceding and 10 following) as x from generate_series(1, 30000) g) s
select id from (select id, rank() over (order by a) from t) s
select count(*) from (select a, lag(id) over (order by id), sum(a) over (partition by b) + 1 from t) s
select a from (select a, rank() over (order by sum(n)), count(*) from t group by a) s
