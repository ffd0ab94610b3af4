create table p (id int primary key, name varchar(5) not null, price numeric(6,2) check (price >= 0), day date, code text unique);
create table c (id int primary key, p_id int references p (id) on delete restrict, q int not null, check (q > 0));
create table g (id int generated always as identity primary key, v int);
insert into p values (1, 'one', 1.50, '2024-01-01', 'x'), (2, 'two', 2, null, 'y');
insert into c values (1, 1, 5);
create view v as select id, name from p;
create sequence s;
create type mood as enum ('sad', 'ok');
create domain posint as int check (value > 0);
selec 1
select
select 1 +
select * form p
select 'abc
select "abc
select 1 from p where
select * from p order
insert into p
update p
delete p
select (1
select 1)
select case when true then 1
select 1 union
create table t (
create table t (a)
create index on
drop
select * from p p1 join p p2
select * from nix
select * from nix.p
select nix from p
select p.nix from p
select nix.id from p
select x.id from p
select id from p, c
select * from p x, c x
select id from p join c using (nix)
select * from p join c using (q)
select p.id from p as x
select * from p where id = (select p.nix)
select nosuch(1)
select nosuch(1, 'a', null)
select upper(1)
select length(true)
select sum('a'::text)
select sum(sum(id)) from p
select count(distinct)
select count(id, name) from p
select upper('a', 'b')
select round('x')
select 1 + 'a'
select 1 + true
select 'a'::text + 1
select date '2024-01-01' + date '2024-01-01'
select id || name from p where id = name
select * from p where name
select * from p where id
select * from p where sum(id) > 1
select * from p having id > 1
select id, count(*) from p
select p.name from p group by day
select id from p group by 2
select id from p order by 2
select distinct name from p order by id
select distinct on (id) id from p order by name
select id from p union select name from p
select 1, 2 union select 1
select * from p limit -1
select * from p offset -1
select * from p where id in (select id, name from p)
select (select id, name from p)
select (select id from p)
select * from (values (1), (1, 2)) t
select * from (select 1)
select row_number() from p
select rank() over (order by id) from p where rank() over () > 1
select lag(id) over w from p
select 'x'::int
select '1.5'::int
select '99999999999'::int
select 99999999999::int
select 32768::int2
select 2147483647 + 1
select 9223372036854775807 + 1
select 1 / 0
select 1.0 / 0
select 1::float8 / 0
select 5 % 0
select sqrt(-1)
select ln(0)
select 1e308 * 10::float8
select '1e400'::float8
select 'abc'::date
select '2024-02-30'::date
select '2024-13-01'::date
select '25:00'::time
select 'abc'::timestamp
select '1 foo'::interval
select 'abc'::uuid
select 'maybe'::bool
select '{'::json
select '{"a":}'::jsonb
select '{1,2'::int[]
select '{a}'::int[]
select '1.2.3.4.5'::inet
select 'abc'::numeric
select 12345.678::numeric(6,2)
select 'abcdef'::varchar(3)::int
select 'x'::mood
select (-1)::posint
select null::nosuch
select 1::nosuch(3)
select 1::text::mood
select true::int8
select '2024-01-01'::date::int
select array[1, 'a']
select array[[1],[2,3]]
select array[1,2][1][1]::text[]
select '{"a":1}'::jsonb -> 1.5
select '[1]'::jsonb #> 'a'
select to_date('x', 'YYYY')
select to_number('x', '9')
select to_char(1, null::text, 2)
select substring('abc' from 1 for -1)
select repeat('x', -1), chr(0)
select chr(-1)
select lpad('a', 2000000000)
select 'a' like 'a\'
select 'a' ~ '('
select regexp_replace('a', '(', 'b')
select 'abc' similar to '('
select decode('zz', 'hex')
select decode('a', 'nix')
select encode('a', 'nix')
select convert_from('\xff', 'UTF8')
select extract(nix from now())
select date_trunc('nix', now())
select date_part('hour', '2024-01-01'::date)
select now() at time zone 'Nix/Nix'
select make_date(2024, 13, 1)
select make_time(25, 0, 0)
select generate_series(1, 10, 0)
select jsonb_array_elements('{}')
select jsonb_object_keys('[]')
select jsonb_array_length('{}')
select json_object('{a}')
select jsonb_set('[]', '{a}', '1')
select jsonb_path_query('{}', '$.')
select percentile_cont(2) within group (order by id) from p
select percentile_cont(0.5) from p
select ntile(0) over () from p
select width_bucket(1, 1, 1, 1)
select nextval('nix')
select currval('s')
select setval('s', 0)
select lastval()
insert into nix values (1)
insert into p (nix) values (1)
insert into p (id, id) values (1, 1)
insert into p (id, name) values (1)
insert into p (id) values (1, 2)
insert into p values (1, 'dup', 1, null, 'z')
insert into p values (3, 'abc', 1, null, 'x')
insert into p values (3, 'abcdef', 1, null, 'z')
insert into p values (3, 'abc', 12345, null, 'z')
insert into p values (3, 'abc', 1, 'x', 'z')
insert into p values ('x', 'abc', 1, null, 'z')
insert into p select 'a'::text, 'b'
insert into c values (2, 99, 1)
insert into g (id, v) values (1, 2)
insert into g (id) overriding user value values (1), (default, 2)
insert into p values (1, 'a') on conflict (name) do nothing
insert into p values (1, 'a') on conflict (nix) do nothing
insert into p values (5, 'a'), (5, 'b') on conflict (id) do update set name = excluded.name
insert into p values (1, 'a') on conflict do update set name = 'x'
insert into p values (1, 'a') on conflict on constraint nix do nothing
update nix set a = 1
update p set nix = 1
update p set id = 'x'
update p set id = name
update p set id = 2 where id = 1
update p set id = 1, id = 2
update p set (id, name) = (select 1)
update p set (id, name) = (1, 2, 3)
update c set p_id = 99
update g set id = 5
update p set id = sum(id)
delete from nix
delete from p where nix = 1
delete from p where id = 1
delete from p using nix
truncate nix
truncate p
create table p (a int)
create table t (a int, a text)
create table t (a nosuch)
create table t (a int default 'x')
create table t (a int default nosuch(1))
create table t (a int check (b > 0))
create table t (a int references nix (id))
create table t (a int references p (nix))
create table t (a int references p (name))
create table t (a text references p (id))
create table t (a int, foreign key (a, b) references p (id))
create table t (a varchar(0))
create table t (a numeric(2000))
create table t (a numeric(5, 2000))
create table nix.t (a int)
create table t (a text generated always as identity)
create view p as select 1
create view w as select * from nix
create view w as select 1 as a, 2 as a
create or replace view v as select 1 as x
create or replace view v as select id from p
create index on nix (a)
create index on p (nix)
create index p_pkey on p (name)
create unique index on p ((1))
create index on p using nix (id)
create sequence s
create sequence s2 increment 0
create sequence s2 minvalue 10 maxvalue 5
create sequence s2 start 0 minvalue 1
alter sequence nix restart
create schema public
create schema pg_x
create type mood as enum ('a')
alter type mood add value 'ok'
alter type mood rename value 'nix' to 'b'
create domain posint as int
create domain d2 as nosuch
drop table nix
drop index nix
drop schema nix
drop type nix
drop type posint, nix
alter table nix add a int
alter table p add id int
alter table p add x nosuch
alter table p drop nix
alter table p rename id to name
alter table p rename to c
alter table p alter nix set not null
alter table p add primary key (day)
alter table p add constraint p_pkey check (id > 0)
alter table p add check (price > 100)
alter table p add unique (nix)
alter table p drop constraint nix
alter table c add foreign key (q) references p (id)
alter table p alter id add generated always as identity
comment on table nix is 'x'
comment on column p.nix is 'x'
grant select on nix to postgres
grant nix on p to postgres
grant select on p to nix
revoke select on p from nix
create role postgres
drop role nix
alter role nix login
set search_path = 1, 2
set role nix
savepoint a
release a
rollback to a
fetch 1 from nix
close nix
deallocate nix
execute nix
prepare q (int) as select $1
prepare q as select 1
execute q
execute q (1, 2)
prepare q2 (nosuch) as select 1
vacuum nix
analyze nix
analyze p (nix)
explain nix
copy nix to stdout
copy p (nix) to stdout
copy (select nix from p) to stdout
declare k cursor for select 1
with a as (select 1), a as (select 2) select * from a
with a as (select * from b), b as (select 1) select * from a
with recursive r as (select 1 union all select * from r, r r2) select * from r
with recursive r as (select count(*) from r union select 1) select * from r
with recursive r(n) as (select 1 union all select 'x' from r) select * from r
with a (x, y) as (select 1) select * from a
select * from p for update of nix
select count(*) from p for update
select distinct id from p for update
select * from p union select * from p for update
merge into nix using p on true when matched then delete
merge into p using p on true when matched then delete
values (1, 2), (3)
table nix
select * from generate_series(1, 3) as t (a, b)
select * from unnest(array[1]) with ordinality as t (a, b, c)
select * from p tablesample nix (10)
select 1 as select
select * from p where id = any (1)
select * from p where id = any ('{a}')
select * from p where (id, name) = (1)
select * from p where id between 'a' and 2
select * from p natural join c natural join nix
select coalesce(1, 'a')
select coalesce(id, name) from p
select greatest(1, true)
select nullif(1, 'a')
select case id when 'a' then 1 end from p
select case when id then 1 end from p
select case when true then 1 else 'a' end
select not 1
select 1 and true
select -'a'::text
select @ 'a'::text
select 1 <> true
select row(1, 2) = row(1)
select row(1, 2) < row(1, 'a')
select (p).nix from p
select (id).x from p
select p.* from c
select *
select count(*) filter (where 1) from p
select sum(distinct) from p
select string_agg(name) from p
select array_agg(id order by nix) from p
select id from p window w as (order by nix)
select sum(id) over (rows between 1 following and 1 preceding) from p
select sum(id) over (range between 1 preceding and current row) from p
select sum(id) over (rows between -1 preceding and current row) from p
select first_value(id) from p
select 1 where 1 in (select 'a')
select exists (select nix)
select array(select 1, 2)
select interval '1 day' * interval '1 day'
select time '10:00' + time '10:00'
select 'a' < 1
select b'102'
select x'xyz'
select E'\u00'
select U&'\zzzz'
select 1_000
select 0x1g
select 1e
select $tag$abc
select /* abc
select 'a' 'b'
select int 'a'
select date 'today' + 'x'
