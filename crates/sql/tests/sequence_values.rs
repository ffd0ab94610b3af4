//! Do sequences remember what a session took of them, whatever changes them, as PostgreSQL's do?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/beside.rs"]
mod beside;
mod support;

const SCRIPT: &str = "\
create sequence s
select nextval('s')
alter sequence s increment by 5
select currval('s')
select lastval()
alter sequence s restart with 40
select currval('s')
select nextval('s')
begin
alter sequence s increment by 7
select currval('s')
select nextval('s')
rollback
select currval('s')
select lastval()
select nextval('s')
begin
alter sequence s rename to r
select nextval('r')
rollback
select nextval('s')
select lastval()
select currval('s')
begin
savepoint a
alter sequence s rename to r
select nextval('r')
rollback to a
select nextval('s')
select currval('s')
select lastval()
commit
select nextval('s')
create table sq (a serial, b int)
begin
alter table sq rename to sr
alter sequence sq_a_seq rename to other
rollback
insert into sq (b) values (1) returning a
begin
savepoint a
alter sequence sq_a_seq rename to other
insert into sq (b) values (1) returning a
rollback to a
insert into sq (b) values (1) returning a
commit
select nextval('sq_a_seq')
";

#[test]
fn what_was_taken_is_remembered_as_in_postgresql() {
    beside::compare(SCRIPT);
}
