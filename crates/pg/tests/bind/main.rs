//! Does the binder make of a statement what PostgreSQL makes of it?
//!
//! A running PostgreSQL 15 analyses each statement of `statements.sql`, `refused.sql`, `collations.sql` and seeded random ones, and
//! prints its tree. Ours must be the same node by node, or the error: SQLSTATE, message, hint and place. Types of columns
//! and parameters are compared too. `ONLAP_BIND_RANDOM` is the number of random statements (3,000 by default),
//! `ONLAP_SEED` their seed.

#![allow(clippy::disallowed_methods, reason = "a test reads its environment")]

mod depth;
mod judge;
mod ours;
mod random;
mod schema;
mod theirs;

use std::collections::BTreeMap;

use judge::Judge;
use onlap_testkit::postgres::{NEEDED, Postgres};

/// A statement a line; one goes on where it is indented.
fn statements(file: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with("--")) {
        match (line.starts_with(' '), all.last_mut()) {
            (true, Some(last)) => {
                last.push('\n');
                last.push_str(line);
            }
            _ => all.push(line.to_string()),
        }
    }
    all
}

#[test]
fn statements_are_bound_as_postgresql_binds_them() {
    if !onlap_testkit::programs::are_there(&NEEDED) {
        return;
    }
    let mut judge = Judge::new(Postgres::start());
    let files = [
        ("statements", include_str!("statements.sql")),
        ("refused", include_str!("refused.sql")),
        ("collations", include_str!("collations.sql")),
    ];
    let mut differing = 0;
    let mut known = BTreeMap::new();
    for (name, file) in files {
        let found = judge.compare(&statements(file));
        println!("{name}: {found:?}");
        differing += found.differing;
        for (class, count) in &found.known {
            *known.entry(*class).or_insert(0) += count;
        }
        let all = found.refused + found.accepted;
        let (least, there) = match name {
            "refused" => (9 * all / 10, found.refused),
            "collations" => (all / 4, found.refused.min(found.accepted)),
            _ => (9 * all / 10, found.accepted),
        };
        assert!(there > least, "{name}");
    }
    assert_eq!(differing, 0, "statements differ");
    judge::check(&known, "in the files");
}

#[test]
fn random_statements_are_bound_as_postgresql_binds_them() {
    if !onlap_testkit::programs::are_there(&NEEDED) {
        return;
    }
    let count = std::env::var("ONLAP_BIND_RANDOM").ok().map(|n| n.parse().expect("a number"));
    let judge = std::cell::RefCell::new(Judge::new(Postgres::start()));
    onlap_testkit::for_seeds("bind", 1, |mut rng| {
        let all: Vec<String> =
            (0..count.unwrap_or(3000)).map(|_| random::statement(&mut rng)).collect();
        let found = judge.borrow_mut().compare(&all);
        println!("random: {found:?}");
        assert_eq!(found.differing, 0, "statements differ");
        if count.is_none() && std::env::var("ONLAP_SEED").is_err() {
            judge::check(&found.known, "in random statements");
        }
        assert!(found.accepted > all.len() / 3, "{found:?}");
        assert!(found.refused > all.len() / 20, "{found:?}");
    });
}
