//! Do the actions of one ALTER TABLE see each other as they do in PostgreSQL?
//!
//! A script is compared with a private PostgreSQL 15 (a Debian package): what is dropped goes first, then types change, columns
//! come, and constraints after them, whatever is written first; a statement that fails has done nothing.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

const SCRIPT: &str = r#"
create table t (id int primary key, a int, b varchar(1) default 'b', c text)
insert into t (id, a, c) values (1, 1, 'x'), (2, 2, 'y')
alter table t add constraint big check (x > 3), add column x int not null default 5
insert into t (id, x) values (3, 3)
alter table t alter b set default 'zz', alter b type varchar(10)
insert into t (id) values (4)
alter table t drop column a, add column a text default 'new'
alter table t add column a int, drop column a
select * from t order by id
alter table t alter x type text, alter x set default 'x'
alter table t drop constraint big, alter x type text, alter x set default 'x'
insert into t (id) values (5)
select id, x, a from t order by id
alter table t add column p int not null default 7, drop constraint t_pkey, add primary key (id, p)
insert into t (id, p) values (1, 7)
insert into t (id, p) values (1, 8)
create table n (id int constraint n_pkey primary key, up int constraint n_up references n)
alter table n drop constraint n_pkey, drop constraint n_up
alter table n drop constraint n_up, drop constraint n_pkey
alter table n add foreign key (up) references n (id), add constraint n_key unique (id)
insert into n values (1, 1), (2, 1)
insert into n values (3, 9)
alter table n alter up set not null, add column more int default 1, alter more set not null, add check (more > 0)
insert into n values (3, 1, null)
insert into n values (3, 1, 0)
insert into n values (3, null, 1)
alter table n add column z int default 3, add constraint wrong check (z > 5)
select * from n order by id
alter table n alter more type bigint, add constraint few check (id < 100), add column y bigint generated always as (more * 2) stored
insert into n (id, up) values (100, 1)
insert into n (id, up) values (4, 1) returning *
alter table n alter up set not null, alter more set not null
insert into n (id) values (50)
create table holes (a int, b int)
insert into holes values (1, null)
alter table holes alter b set not null
alter table holes add c int not null
alter table holes add primary key (b)
create table d (a int default 1, b varchar(1) default 'b', c int, e int)
alter table d alter a drop default, alter a type bigint, alter a set default 5
alter table d drop column c, drop column e
alter table d alter b type varchar(20), alter a set not null
insert into d (b) values ('long')
select * from d
create table p (a int, b int)
create table q (c int) inherits (p)
alter table p add constraint pos check (d > 0), add column d int default 1, drop column b
insert into q values (1, 2, 0)
insert into q values (1, 2, 3)
select * from p
select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint where conrelid::regclass::text in ('t', 'n', 'p', 'q') order by 1, 2
select attrelid::regclass::text, attname, format_type(atttypid, atttypmod), attnotnull from pg_attribute where attrelid::regclass::text in ('t', 'n', 'p', 'q') and attnum > 0 and not attisdropped order by 1, 2
"#;

#[test]
fn actions_see_each_other_as_in_postgresql() {
    compared::compare(SCRIPT);
}
