//! Which statements does the native tier take, and does it answer as the planner and as PostgreSQL do?
//!
//! Each line of a script runs here with the native tier, without it, and in a private PostgreSQL 15 (a Debian package);
//! SQLSTATE, tag, rows and the table that the script changes must be the same. EXPLAIN tells the tier.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use onlap_testkit::postgres::Postgres;
use onlap_testkit::simple::{Outcome, SimpleClient};
use support::{Fixture, Talk};

const SCRIPT: &str = include_str!("../testdata/native.sql");
/// What changes may do; times of the statement itself are not the same everywhere.
const CONTENT: &str = "select id, a, b, \"C\", f from n order by id";

/// What a statement gave, in the order of its rows where it says one.
fn shown(mut outcome: Outcome, sql: &str) -> String {
    if !sql.contains("order by") {
        outcome.rows.sort();
    }
    let state = outcome.error.map(|error| error.0);
    format!("{state:?} {:?} {:?}", outcome.tags, outcome.rows)
}

/// Whether EXPLAIN says that a statement goes natively; a statement that is wrong does not.
fn is_native(talk: &mut Talk, sql: &str) -> bool {
    format!("{:?}", talk.run(&format!("explain (verbose off) {sql}")).rows).contains("Tier: native")
}

/// How a statement, and then a look at its table, is answered with the native tier, without it, and by PostgreSQL, where
/// they differ.
fn differences(
    sql: &str,
    native: &mut Talk,
    planned: &mut Talk,
    client: &mut SimpleClient,
) -> String {
    let compared = |step: &str| {
        let theirs = shown(client.run(step).expect("PostgreSQL answers"), step);
        let (fast, slow) = (shown(native.run(step), step), shown(planned.run(step), step));
        let same = fast == theirs && slow == theirs;
        let each = format!("{step}\n  native  {fast}\n  planned {slow}\n  theirs  {theirs}\n");
        if same { String::new() } else { each }
    };
    let changes = ["insert", "update", "delete", "with"].iter().any(|word| sql.starts_with(word));
    let steps = [sql, CONTENT];
    steps[..1 + usize::from(changes)].iter().copied().map(compared).collect()
}

#[test]
fn the_native_tier_takes_what_it_knows_and_answers_alike() {
    let postgres = Postgres::start();
    let mut client =
        SimpleClient::connect(postgres.port(), "postgres", "postgres").expect("it is there");
    let (with, without) = (Fixture::new(false), Fixture::new(false));
    let (mut native, mut planned) = (with.session(), without.session());
    planned.rows("set fast_path = off");
    let mut differ = String::new();
    let (mut taken, mut left) = (0, 0);
    for line in SCRIPT.lines().filter(|line| !line.starts_with("--")) {
        let (tier, sql) = line.split_once(" | ").expect("a tier and a statement");
        let explained = tier != "setup" && is_native(&mut native, sql);
        if explained != (tier == "native") {
            differ.push_str(&format!("{sql}\n  is of another tier\n"));
        }
        match explained {
            true => taken += 1,
            false => left += 1,
        }
        if tier != "other" {
            differ.push_str(&differences(sql, &mut native, &mut planned, &mut client));
        }
    }
    assert!(taken > 50 && left > 100, "{taken} statements go natively, {left} do not");
    assert!(differ.is_empty(), "{differ}");
}
