//! Do sequences go on as PostgreSQL's do when they are altered, and remember what a session took of them?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/script.rs"]
mod script;
mod support;

/// What a session took is remembered, whatever changes the sequence.
const TAKEN: &str = "\
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
begin
alter sequence s rename to r
select nextval('r')
savepoint a
alter sequence r increment by 11
select nextval('r')
rollback to a
select nextval('r')
alter sequence r rename to q
select nextval('q')
commit
select nextval('q'), currval('q')
select last_value, is_called from q
alter sequence q rename to s
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
begin
alter sequence sq_a_seq increment by 10
insert into sq (b) values (1) returning a
rollback
select currval('sq_a_seq'), lastval()
insert into sq (b) values (1) returning a
begin
alter sequence sq_a_seq increment by 10
insert into sq (b) values (1), (2) returning a
commit
insert into sq (b) values (1) returning a
select currval('sq_a_seq'), lastval()
begin
drop table sq
select lastval()
rollback
select lastval()
drop table sq
select lastval()
create sequence sq_a_seq
select currval('sq_a_seq')
";

/// Where a sequence goes on after it was altered.
const STEPS: &str = "\
create sequence s
alter sequence s increment by 5
select last_value, is_called from s
select nextval('s')
select last_value, is_called from s
alter sequence s increment by 3
select nextval('s'), nextval('s')
select setval('s', 100)
alter sequence s increment by 50
select nextval('s')
select setval('s', 200, false)
select last_value, is_called from s
select last_value from pg_sequences where sequencename = 's'
alter sequence s increment by 7
select last_value, is_called from s
select nextval('s'), nextval('s')
alter sequence s increment by -2
select nextval('s')
alter sequence s restart
select last_value, is_called from s
alter sequence s increment by 4
select nextval('s'), nextval('s')
alter sequence s start with 30
select nextval('s')
alter sequence s restart increment by 2
select nextval('s'), nextval('s')
select last_value from pg_sequences where sequencename = 's'
alter sequence s maxvalue 31
alter sequence s maxvalue 32
select nextval('s')
alter sequence s minvalue 40 maxvalue 50 start 40
alter sequence s minvalue 40 maxvalue 50 start 40 restart
select nextval('s')
alter sequence s minvalue 40 maxvalue 50 start 40 restart 51
alter sequence s restart 39
alter sequence s increment by 9 cycle
select nextval('s'), nextval('s'), nextval('s')
alter sequence s increment by -9 no cycle
select nextval('s')
alter sequence s cycle
select nextval('s'), nextval('s'), nextval('s')
create sequence e maxvalue 3
select nextval('e'), nextval('e'), nextval('e')
select nextval('e')
select last_value, is_called from e
alter sequence e maxvalue 4
select nextval('e')
select nextval('e')
alter sequence e increment by -1
select nextval('e'), nextval('e'), nextval('e')
select nextval('e')
alter sequence e no minvalue restart 0
alter sequence e minvalue -1 restart 0
select nextval('e'), nextval('e')
select nextval('e')
create table t (a int generated always as identity (increment by 2 start with 5), b int)
insert into t (b) values (1), (2) returning a
alter table t alter a restart
insert into t (b) values (1), (2) returning a
alter sequence t_a_seq increment by 100
insert into t (b) values (1), (2) returning a
truncate t restart identity
insert into t (b) values (1), (2) returning a
begin
truncate t restart identity
insert into t (b) values (1) returning a
rollback
insert into t (b) values (1) returning a
begin
alter sequence s increment by 2 no maxvalue
select nextval('s'), nextval('s')
commit
select nextval('s')
select last_value, is_called from s
begin
savepoint a
alter sequence s increment by 1000
select nextval('s')
rollback to a
select nextval('s')
commit
select nextval('s')
begin
select nextval('s')
alter sequence s increment by 5
select nextval('s')
select setval('s', 7000)
select nextval('s')
rollback
select nextval('s')
";

#[test]
fn what_was_taken_is_remembered_as_in_postgresql() {
    script::same(TAKEN);
}

#[test]
fn values_follow_the_last_one_as_in_postgresql() {
    script::same(STEPS);
}

/// What was taken of a sequence is known to a session while another one alters it.
#[test]
fn other_sessions_remember_too() {
    let fixture = support::Fixture::new(false);
    let (mut one, mut two) = (fixture.session(), fixture.session());
    one.rows("create sequence s");
    let value = |n: &str| vec![vec![Some(n.to_string())]];
    assert_eq!(two.rows("select nextval('s')"), value("1"));
    one.rows("alter sequence s increment by 10");
    one.rows("alter sequence s rename to r");
    assert_eq!(two.rows("select currval('r')"), value("1"));
    assert_eq!(two.rows("select lastval()"), value("1"));
    // Both names hand out values of one counter until the commit.
    one.rows("begin");
    one.rows("alter sequence r rename to q");
    assert_eq!(one.rows("select nextval('q')"), value("11"));
    assert_eq!(two.rows("select nextval('r')"), value("21"));
    assert_eq!(one.rows("select nextval('q')"), value("31"));
    one.rows("commit");
    assert_eq!(two.rows("select nextval('q')"), value("41"));
    one.rows("drop sequence q");
    assert_eq!(two.run("select lastval()").error.map(|e| e.0).as_deref(), Some("55000"));
}

/// A crash leaves a last value behind all that were taken, and what was not taken as it was.
#[test]
fn another_increment_counts_from_the_last_value_after_a_crash() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    {
        let fixture = support::Fixture::at(dir.path());
        let mut talk = fixture.session();
        talk.rows("create sequence s");
        talk.rows("create sequence untaken");
        talk.rows("select nextval('s')");
    }
    let fixture = support::Fixture::at(dir.path());
    let mut talk = fixture.session();
    talk.rows("alter sequence s increment by 10");
    talk.rows("alter sequence untaken increment by 10");
    let mut number = |sql: &str| -> i64 {
        let rows = talk.rows(sql);
        rows[0][0].as_ref().expect("a number").parse().expect("a number")
    };
    let last = number("select last_value from pg_sequences where sequencename = 's'");
    assert!(last >= 1);
    assert_eq!(number("select nextval('s')"), last + 10);
    assert_eq!(number("select nextval('untaken')"), 1);
}
