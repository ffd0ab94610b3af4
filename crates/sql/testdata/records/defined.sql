create function pair() returns setof record language sql as $$ select 1, 'abc'::text $$
select * from pair() as x(a bigint, b varchar)
select * from pair() as x(a numeric, b char(5))
select * from pair() as x(a text, b text)
select * from pair() as x(a date, b text)
select * from pair() as x(a bool, b text)
select * from pair() as x(a int)
select * from pair() as x(a int, b text, c int)
create function one() returns record language sql as $$ select 7, 'x'::text $$
select * from one() as x(a float8, b varchar(2))
select * from one() as x(a int, b text), pair() as y(a bigint, b text)
select * from rows from (one() as (a int8, b text), pair() as (c int2, d text)) with ordinality
create table k (b int)
create function puts() returns setof record language sql as $$ insert into k values (7), (8) returning b, 'x'::text $$
select * from puts() as x(a bigint, b varchar)
create function none() returns setof record language sql as $$ select null::int, null::text where true $$
select * from none() as x(a bigint, b date)
create function whole() returns setof record language sql as $$ select row(1, 'a'::text) $$
select * from whole() as x(a int, b text)
create function told() returns setof record language plpgsql as $$ begin return query select 1, 'a'::text; end $$
select * from told() as x(a int, b text)
create function deeper() returns setof record language sql as $$ select * from pair() as z(p int8, q text) $$
select * from deeper() as x(a int, b char(2))
