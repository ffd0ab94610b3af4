//! Does a database go to PostgreSQL and back by pg_dump, and would a difference be seen?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use onlap_proofs::dumps::{schema, there_and_back};
use onlap_proofs::served::can_run;

#[test]
fn a_database_comes_back_as_it_was() {
    if can_run(true) {
        let way = there_and_back(&schema(4)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(way.tables, 16);
    }
}

#[test]
fn a_difference_is_found() {
    if can_run(true) {
        let written = "CREATE TABLE a (n int); CREATE TABLE b (n int); \
                       CREATE RULE r AS ON INSERT TO a DO ALSO insert into b values (1);";
        let found = there_and_back(written).err().unwrap_or_default();
        assert!(found.contains("PostgreSQL's dump differs"), "{found}");
    }
}
