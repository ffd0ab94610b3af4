//! Does a cursor go on where it stands, however its rows are asked for?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use onlap_testkit::simple::Outcome;
use support::{Fixture, Talk};

/// The first values of rows.
fn firsts(rows: &[Vec<Option<String>>]) -> Vec<&str> {
    rows.iter().map(|row| row[0].as_deref().expect("a value")).collect()
}

/// What the protocol's Execute sends of it.
fn execute(talk: &mut Talk, cursor: &str, rows: usize) -> Outcome {
    talk.session.execute(cursor, rows, &mut talk.client).expect("it runs");
    talk.outcome()
}

#[test]
fn execute_goes_past_rows_as_fetch_does() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("begin");
    talk.rows("declare c scroll cursor for select * from generate_series(1, 10) x");
    assert_eq!(firsts(&execute(&mut talk, "c", 3).rows), ["1", "2", "3"]);
    assert_eq!(firsts(&talk.rows("fetch prior from c")), ["2"]);
    assert_eq!(firsts(&execute(&mut talk, "c", 2).rows), ["3", "4"]);
    assert_eq!(firsts(&talk.rows("fetch absolute 8 from c")), ["8"]);
    let rest = execute(&mut talk, "c", 0);
    assert_eq!(firsts(&rest.rows), ["9", "10"]);
    assert_eq!(rest.tags, ["SELECT 2"]);
    assert_eq!(firsts(&talk.rows("fetch prior from c")), ["10"]);
    assert_eq!(firsts(&talk.rows("fetch first from c")), ["1"]);
}
