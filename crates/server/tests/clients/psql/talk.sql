-- Statements, errors, variables and \copy.
\pset null '(null)'
\set VERBOSITY verbose
create table item (id int primary key, label text, price numeric(8,2), made date, ok boolean);
insert into item values (1, 'nut', 0.10, '2024-01-31', true), (2, null, 12.5, null, false);
select * from item order by id;
select 1/0;
select * from nothing;
select missing from item;
insert into item values (1, 'again', 1, null, null);
insert into item values ('x', 'word', 1, null, null);
insert into item (label) values ('no key');
selec 1;
create table item (id int);
drop table nothing;
drop table if exists nothing;
select 'abc'::int;
select 99999999999::int;
\set VERBOSITY default
\echo :LAST_ERROR_SQLSTATE :LAST_ERROR_MESSAGE
begin;
insert into item values (3, 'bolt', 1, null, null);
select 1/0;
select 1;
rollback;
select count(*) from item;
begin;
savepoint a;
insert into item values (3, 'bolt', 1, null, null);
rollback to a;
commit;
\set ON_ERROR_ROLLBACK on
begin;
insert into item values (4, 'screw', 1, null, null);
insert into item values (4, 'screw', 1, null, null);
commit;
\set ON_ERROR_ROLLBACK off
select id, label from item order by id;
\copy item to 'item.txt'
\copy item to 'item.csv' with (format csv, header)
\copy (select id, label from item order by id) to 'part.csv' csv
\! cat item.txt item.csv part.csv
create table twin (id int primary key, label text, price numeric(8,2), made date, ok boolean);
\copy twin from 'item.txt'
\copy twin from 'item.csv' with (format csv, header)
delete from twin where id = 2;
\copy twin from 'item.csv' with (format csv, header)
\copy twin (id, label) from stdin
10	ten
11	\N
\.
\copy twin from stdin with (format csv)
20,"a ""quoted"" word",1.5,2024-02-29,t
21,,,,
\.
\copy twin from stdin
x	bad
\.
copy twin (id) from stdin;
30
31
\.
select * from twin order by id;
select id as "Number", label from twin where id < 3 order by id \gx
select 1 as one, 'two' as two \gset
\echo :one :two
select id, label from item where id < 3 order by id \gdesc
select 'select ' || id || ' as made' from item where id < 3 order by id \gexec
select id, ok, label from item order by id \crosstabview
prepare by_id (int) as select label from item where id = $1;
execute by_id(1);
execute by_id(2, 3);
deallocate by_id;
execute by_id(1);
declare c cursor for select id from item;
begin;
declare c cursor for select id from item order by id;
fetch 2 from c;
fetch all from c;
close c;
commit;
\set FETCH_COUNT 2
select id from twin order by id;
\unset FETCH_COUNT
\pset format unaligned
select id, label, price from item order by id;
\pset format csv
select id, label, price from item order by id;
\pset format html
select id, label from item where id = 1;
\pset format aligned
\pset footer off
select 1 as one \; select 2 as two;
select 1 as one; select 2 as two;
show server_version_num_missing;
show transaction isolation level;
set timezone = 'Europe/Berlin';
select '2024-07-01 12:00:00+00'::timestamptz;
set datestyle = 'SQL, DMY';
reset timezone;
select 1 where false;
update item set price = price * 2 where id = 2 returning id, price;
delete from item where id = 100;
truncate item, twin;
select count(*) from item;
drop table item, twin;
explain_is_not_a_statement;
