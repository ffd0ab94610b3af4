//! Do sequences remember what a session took of them, when they are altered, as PostgreSQL's do?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/script.rs"]
mod script;
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
";

#[test]
fn what_was_taken_is_remembered_as_in_postgresql() {
    script::same(SCRIPT);
}
