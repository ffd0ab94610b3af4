//! Do the literals of what is kept mean what they meant to the session that wrote them?
//!
//! A script is compared with a private PostgreSQL 15 (a Debian package): views, rules, policies, conditions of triggers and of
//! domains, and defaults are written under one time zone and style, and used under another.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

const SCRIPT: &str = r#"
create table e (id int primary key, ts timestamptz, d date, i interval)
insert into e values (1, '2024-07-01 07:30+00', '2024-02-01', '1 day'), (2, '2024-07-01 08:30+00', '2024-01-02', '-1 day -02:03')
set timezone = 'Europe/Berlin'
set datestyle = 'SQL, DMY'
set intervalstyle = 'sql_standard'
create view v as select id, timestamptz '2024-07-01 10:00' as at, '01/02/2024'::date as day, cast('-1 2:03' as interval) as span from e where ts >= '01/07/2024 10:00'
create view w as select id from e where ts = any ('{"01/07/2024 10:30"}') or d in ('01/02/2024', '03/04/2024')
create view x as select id, '01/02/2024' as said, (select count(*) from e o where o.ts < '01/07/2024 10:00') as n from e union all select 0, '01/02/2024', 1 order by 1
create view y as select interval '1' day as one, date '01/02/2024' + 1 as next, '[01/02/2024,02/02/2024)'::daterange as r, timestamp '01/02/2024 10:00' at time zone 'UTC' as z, time with time zone '10:00' as t
create materialized view m as select id, timestamptz '2024-07-01 10:00' as at from e where d >= '01/02/2024'
create domain dtz as timestamptz check (value > '01/07/2024 10:00') default '02/07/2024 10:00'
create domain dd as date check (value <> '01/02/2024') default '02/02/2024'
create table dom (id int, a dtz, b dd, c timestamptz default '01/07/2024 10:00', f date default '01/02/2024', g interval default '-1 2:03', h timestamptz default timestamptz '01/07/2024 10:00' + interval '1 day')
create function f (a timestamptz default '01/07/2024 10:00', b date default '01/02/2024', c interval default interval '1' hour) returns text language sql as $$ select extract(epoch from a)::text || ' ' || extract(epoch from b)::text || ' ' || c::text $$
create table log (id int)
create table known (d date default 'today', n timestamp default 'now', e date default 'January 8, 2024', t time default '040506', z timestamptz default '2024-01-01 12:00 CET', x date default date '02/01/2024')
insert into known default values
select d = current_date, n between now()::timestamp - interval '1 day' and now()::timestamp, e, t, z, x from known
create table unread (d date default 'x')
alter table known add column w date default '2024-01-01 12:00', alter d set default '03/01/2024'
insert into known default values
select d, w from known order by w, d
create table t (id int, ts timestamptz)
create function note () returns trigger language plpgsql as $$ begin insert into log values (new.id); return new; end $$
create trigger late after insert on t for each row when (new.ts >= '01/07/2024 10:00') execute function note()
create rule old as on insert to t where new.ts < '01/07/2024 10:00' do also insert into log values (-new.id)
create rule gone as on delete to t do also insert into log select 100 + id from e where ts >= '01/07/2024 10:00'
create table r (id int, ts timestamptz)
insert into r select id, ts from e
grant select on r to public
alter table r enable row level security
create policy p on r using (ts >= '01/07/2024 10:00')
create role reader
set timezone = 'America/New_York'
set datestyle = 'ISO, MDY'
set intervalstyle = 'postgres'
select * from v
select * from w
select * from x
select * from y
select pg_get_viewdef('v'::regclass)
select pg_get_viewdef('y'::regclass)
select * from m
refresh materialized view m
select * from m
insert into dom (id, a) values (1, '2024-07-01 08:00+00')
insert into dom (id, a) values (1, '2024-07-01 08:00:01+00')
insert into dom (id, b) values (2, '2024-02-01')
insert into dom (id, b) values (2, '2024-01-02')
insert into dom (id) values (3)
select * from dom order by id
select f()
insert into t values (1, '2024-07-01 07:59+00'), (2, '2024-07-01 08:00+00')
delete from t where id = 1
select * from log order by id
set role reader
select * from r
reset role
select pg_get_expr(polqual, polrelid) from pg_policy
set timezone = 'Europe/Berlin'
set datestyle = 'SQL, DMY'
select pg_get_viewdef('v'::regclass)
select * from v
create or replace view v as select id, timestamptz '2024-07-01 10:00' as at, '03/02/2024'::date as day, cast('-1 2:03' as interval) as span from e where ts >= '01/07/2024 10:00'
set datestyle = 'ISO, MDY'
select * from v
create view now_then as select timestamptz 'now' = now() as same, date 'today' = current_date as today
select pg_get_viewdef('now_then'::regclass) like '%today%'
set bytea_output = 'escape'
create view "ä" as select 'ä'::text || '\x61'::bytea::text || '01/02/2024' as u, date '03/04/2024' as ä
reset bytea_output
set datestyle = 'SQL, DMY'
select * from "ä"
"#;

#[test]
fn what_is_kept_means_what_it_meant() {
    compared::compare(SCRIPT);
}
