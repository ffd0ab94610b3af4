create table cm(i int, j text, k varchar(3))
create function w() returns trigger language plpgsql as $$ begin return to_jsonb(new); end $$
create trigger w before insert or update or delete on cm for each row execute function w()
insert into cm values (1)
create or replace function w() returns trigger language plpgsql as $$ begin return 5; end $$
insert into cm values (1)
create or replace function w() returns trigger language plpgsql as $$ begin return 'x'::text; end $$
insert into cm values (1)
create or replace function w() returns trigger language plpgsql as $$ begin return new.j; end $$
insert into cm values (1)
insert into cm values (1, 'x')
create or replace function w() returns trigger language plpgsql as $$ begin return true; end $$
insert into cm values (1)
create or replace function w() returns trigger language plpgsql as $$ begin return '{}'::json; end $$
insert into cm values (1)
create or replace function w() returns trigger language plpgsql as $$ begin return array[1]; end $$
insert into cm values (1)
create or replace function w() returns trigger language plpgsql as $$ begin return array[new]; end $$
insert into cm values (1)
create or replace function w() returns trigger language plpgsql as $$ begin return null; end $$
insert into cm values (1)
create or replace function w() returns trigger language plpgsql as $$ begin return null::int; end $$
insert into cm values (1)
create or replace function w() returns trigger language plpgsql as $$ begin return '{}'::bytea; end $$
insert into cm values (1)
create or replace function w() returns trigger language plpgsql as $$ begin return 1.5; end $$
insert into cm values (1)
create or replace function w() returns trigger language plpgsql as $$ begin return (1, 'lit'); end $$
insert into cm values (1)
create or replace function w() returns trigger language plpgsql as $$ begin return (1, 'lit'::text); end $$
insert into cm values (1)
create or replace function w() returns trigger language plpgsql as $$ begin return (1, 'lit', 'abc'); end $$
insert into cm values (1)
create or replace function w() returns trigger language plpgsql as $$ begin return (1, null, 'abc'::varchar(3)); end $$
insert into cm values (1)
create or replace function w() returns trigger language plpgsql as $$ begin return (1, null::text, 'abc'::varchar(3)); end $$
insert into cm values (1)
create or replace function w() returns trigger language plpgsql as $$ begin return (1, null::text, 'abc'::varchar(3), 4); end $$
insert into cm values (1)
create or replace function w() returns trigger language plpgsql as $$ begin return (1::bigint, 'x'::text, 'abc'::varchar(3)); end $$
insert into cm values (1)
create or replace function w() returns trigger language plpgsql as $$ begin return row(2, new.j, new.k)::cm; end $$
insert into cm values (1)
insert into cm values (2)
create or replace function w() returns trigger language plpgsql as $$ declare r record; begin r := new; return r; end $$
insert into cm values (3)
create or replace function w() returns trigger language plpgsql as $$ declare r cm; begin r := new; r.j := 'from r'; return r; end $$
insert into cm values (4)
create or replace function w() returns trigger language plpgsql as $$ declare r cm; begin select * into r from cm order by i limit 1; return r; end $$
insert into cm values (5)
select * from cm order by i, j
create or replace function w() returns trigger language plpgsql as $$ begin return 7; end $$
update cm set i = 9
delete from cm
select * from cm order by i, j
drop trigger w on cm
create trigger w after insert on cm for each row execute function w()
insert into cm values (6)
drop trigger w on cm
create trigger w before insert on cm for each statement execute function w()
insert into cm values (7)
create or replace function w() returns trigger language plpgsql as $$ begin return (1, 2); end $$
insert into cm values (8)
drop trigger w on cm
create view vm as select i, j from cm
create trigger w instead of insert on vm for each row execute function w()
insert into vm values (1, 'x')
create or replace function w() returns trigger language plpgsql as $$ begin return to_jsonb(new); end $$
insert into vm values (1, 'x')
create or replace function w() returns trigger language plpgsql as $$ begin return (1, 'x'::text); end $$
insert into vm values (1, 'x')
select * from cm order by i, j
create table t(a int, b text)
create function k1() returns t language plpgsql as $$ begin return (1::bigint, 'x'::text); end $$
select k1()
create function k2() returns t language plpgsql as $$ begin return (1, 'x'); end $$
select k2()
create function k3() returns t language plpgsql as $$ begin return (1, 'x'::text); end $$
select k3(), (k3()).b, to_jsonb(k3())
create function k4() returns t language plpgsql as $$ begin return (1, 'x'::text, 3); end $$
select k4()
create function k5() returns t language plpgsql as $$ begin return 5; end $$
select k5()
create function k6() returns t language plpgsql as $$ declare r record; begin select 1::smallint, 'x'::text into r; return r; end $$
select k6()
create function k7() returns setof t language plpgsql as $$ begin return next (1, 'x'::text); return next null; return next (2::bigint, 'y'::text); end $$
select k7()
create function k8() returns setof t language plpgsql as $$ declare r record; begin select 1::smallint, 'x'::text into r; return next r; end $$
select k8()
create function k9() returns setof t language plpgsql as $$ begin return next (1, 'x'::text); return next null; end $$
select k9()
select * from k9()
create function k10() returns setof t language plpgsql as $$ begin return next 5; end $$
select k10()
create type ct as (a int, b text)
create function k11() returns t language plpgsql as $$ begin return row(1, 'x')::ct; end $$
select k11(), (k11()).a
create function k12() returns ct language plpgsql as $$ declare r t; begin r := row(4, 'four'); return r; end $$
select k12()
create function k13() returns cm language plpgsql as $$ begin return row(1, 'x'::text, 'abcdef'::varchar); end $$
create function k14() returns cm language plpgsql as $$ declare r cm; begin r := row(1, 'x', 'abc'); return r; end $$
select k14()
create function k15() returns record language plpgsql as $$ begin return 5; end $$
select k15()
create function k16() returns record language plpgsql as $$ begin return null; end $$
select k16()
create function k17() returns jsonb language plpgsql as $$ declare r t; begin r := row(1, 'x'); return to_jsonb(r); end $$
select k17()
