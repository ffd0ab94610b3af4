"""What DuckDB does with a database that it attaches; each line is a statement and what came of it."""

import glob

import duckdb
import duckdb_ext

SCRIPT = """
attach '' as pg (type postgres)
create table pg.duck (id integer primary key, name varchar, price decimal(9,2), moment timestamp, big bigint, ok boolean, d date, f double, u uuid, b blob, l integer[])
insert into pg.duck select i, 'n' || i, i / 4, timestamp '2026-01-01' + interval 1 second * i, i::bigint * 10000000000, i % 2 = 0, date '2026-01-01' + i::integer, i / 3, '6f9619ff-8b86-d011-b42d-00c04fc964ff', 'ab'::blob, [i, null, i + 1] from range(2000) t(i)
select count(*), sum(price), min(moment), max(big) from pg.duck
select * from pg.duck where id in (3, 1999) order by id
select count(*) from pg.duck where name like 'n1%' and ok
set pg_pages_per_task = 1
select count(*), sum(id) from pg.duck
set pg_experimental_filter_pushdown = true
select id, name from pg.duck where id > 1995 and name <> 'n1997' order by id
update pg.duck set name = 'changed' where id < 10
delete from pg.duck where id between 20 and 29
select count(*), count(*) filter (where name = 'changed') from pg.duck
begin
insert into pg.duck (id, name) values (9001, 'x')
update pg.duck set name = 'y' where id = 9001
select name from pg.duck where id = 9001
rollback
select count(*) from pg.duck where id = 9001
insert into pg.duck (id, name) values (1, 'again')
create index duck_name on pg.duck (name)
alter table pg.duck add column extra integer
alter table pg.duck rename column extra to more
create view pg.over_duck as select 1 as x
select * from postgres_query('pg', 'select id, name from duck where id < 3 order by id')
call postgres_execute('pg', 'create table made (id int, e numeric, t timestamptz, j jsonb, i interval, a text[])')
call pg_clear_cache()
insert into pg.made values (1, 1.5, timestamptz '2026-01-01 00:00:00+00', '{"a": 1}', interval 1 day, ['a', 'b'])
select id, e, j, i, a from pg.made
create table pg.copied as select * from pg.duck where id < 5
select count(*) from pg.copied
create schema pg.other
create table pg.other.t (id int)
insert into pg.other.t values (1), (2)
select d.id, t.id from pg.duck d join pg.other.t t on d.id = t.id order by 1
drop schema pg.other cascade
create type pg.mood as enum ('sad', 'ok')
select table_name from information_schema.tables where table_catalog = 'pg' order by 1
drop table pg.duck
drop table pg.copied
detach pg
"""

connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
[extension] = glob.glob(
    list(duckdb_ext.__path__)[0] + "/extensions/*/*/postgres_scanner.duckdb_extension"
)
connection.execute(f"load '{extension}'")
for statement in filter(None, SCRIPT.split("\n")):
    try:
        answer = connection.execute(statement).fetchall()
    except duckdb.Error as error:
        answer = type(error).__name__, str(error)
    print(statement[:60], answer)
