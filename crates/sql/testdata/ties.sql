create table tied (n int, k int, t text)
insert into tied select n, n * 7919 % 3, 'x' from generate_series(0, 9) n
select n, k from tied order by k
select n, k from tied order by k desc
select n, first_value(n) over (order by k) from tied order by k
select n, row_number() over (partition by t order by k) from tied order by t
select distinct on (k) k, n from tied order by k
insert into tied select n, n * 7919 % 7, null from generate_series(10, 59) n
select n, k from tied order by k
select n, k from tied order by k nulls first, t desc
select n, k from tied order by k limit 12
select n, k from tied order by k limit 25 offset 3
select n, k from tied order by k limit 31
select n, k from tied order by k fetch first 2 rows with ties
select n, sum(n) over (order by k rows between 1 preceding and current row) from tied order by k
insert into tied select n, n * 7919 % 11, 'y' || n % 5 from generate_series(60, 3000) n
select n, k from tied order by k
select n, t from tied order by t, k
select n from tied order by k limit 100
