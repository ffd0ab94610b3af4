-- Places of rows that are not there
select rank(3) within group (order by x) from (values (1),(1),(2),(2),(3),(3),(4)) v(x)
select dense_rank(3) within group (order by x) from (values (1),(1),(2),(2),(3),(3),(4)) v(x)
select percent_rank(3) within group (order by x) from (values (1),(1),(2),(2),(3),(3),(4),(5)) v(x)
select cume_dist(3) within group (order by x) from (values (1),(1),(2),(2),(3),(3),(4)) v(x)
select rank(null::int) within group (order by x), rank(2) within group (order by x desc nulls last) from (values (1),(2),(null),(3)) v(x)
select dense_rank(2, 'b') within group (order by x desc, y) filter (where x > 1) from (values (1,'a'),(1,'b'),(2,'c'),(null,'d'),(3,null),(3,'f'),(4,'g')) v(x, y)
select rank(5, 'b', 50) within group (order by x, y desc, x) from (values (5,'a'),(5,'b'),(5,'c')) v(x, y)
select rank(3) within group (order by x), dense_rank(1) within group (order by x), percent_rank(0) within group (order by x), cume_dist(0) within group (order by x) from generate_series(1, 0) x
select a, rank(1.5) within group (order by n), cume_dist('b') within group (order by b) from t group by a
select rank('adam'::varchar) within group (order by x) from (values ('fred'),('jim')) v(x)
select rank('3') within group (order by x) from generate_series(1, 5) x
select rank('fred') within group (order by x) from generate_series(1, 5) x
select rank(1) within group (order by x, x) from generate_series(1, 5) x
select grouping(a), a, array_agg(b), rank(a) within group (order by b nulls first), rank(a) within group (order by b nulls last) from (values (1,1),(1,4),(1,5),(3,1),(3,2)) v(a, b) group by rollup (a)
select a, percentile_disc(a) within group (order by b) from (values (0.5::float8,1),(0.5,4),(0.5,5),(1,1),(1,2)) v(a, b) group by rollup (a)
-- Several parts of an ordered set at once, and parts of intervals
select percentile_disc(array[0,0.1,0.25,0.5,0.75,0.9,1]) within group (order by x) from generate_series(1, 1000) x
select percentile_disc(array[[null,1,0.5],[0.75,0.25,null]]) within group (order by x) from generate_series(1, 1000) x
select percentile_disc(array[0.25,0.5,0.75]) within group (order by x) from unnest('{fred,jim,fred,jack,jill,fred,jill,jim,jim,sheila,jim,sheila}'::text[]) u(x)
select percentile_cont(array[0,1,0.25,0.75,0.5,1,0.3,0.32,0.35,0.38,0.4]) within group (order by x) from generate_series(1, 6) x
select percentile_cont(0.3) within group (order by iv), percentile_cont(array[0.3,0.9,null]) within group (order by iv) from t
select a, percentile_cont(array[0.1,0.9]) within group (order by f) from t group by a
select percentile_cont(array[0.3,1.9,null]) within group (order by iv) from t
select percentile_cont('{}'::float8[]) within group (order by iv), percentile_cont(null::float8[]) within group (order by iv) from t
select percentile_cont(array[0.3]) within group (order by iv) from t where false
-- Each empty set of groups gives a row
select a, b, sum(a), count(*) from t where false group by grouping sets ((a, b), (), (), ())
select sum(a), count(*), grouping(a) from t where false group by grouping sets ((), (), (a))
select sum(a), count(*) from t group by grouping sets ((), (), ())
-- Rows of a table keep the names of its columns, those of a query have the names that are given
select row_to_json(i) from (select id, x from e) i(x, y)
-- Pairs come in the order of FROM
select array_agg(x || '-' || y) from generate_series(1, 2) x, generate_series(4, 5) y
-- What is not asked for is not calculated
select id from (select id, 1 / (id - id) from t) s
select id from (select id, (select id from o, t) from t) s
