//! Does resolution choose what PostgreSQL 15 chooses?
//!
//! For every operator over all pairs of types, functions, casts and common types: the result's type with its
//! modifier, the chosen OIDs and each conversion on the way, or the SQLSTATE. PostgreSQL's answers are files that
//! `cargo run -p xtask -- catalog` writes.

#[path = "resolve/answer.rs"]
mod answer;

use std::collections::BTreeMap;
use std::fmt::Write;

use answer::Resolver;
use onlap_pg::catalog::{Table, rows};
use onlap_testkit::postgres::{NEEDED, Postgres};
use onlap_testkit::resolution::{self, Case, Judge, facts, table};

/// Cases of each kind that are asked of a running PostgreSQL.
const SAMPLE: usize = 20_000;

fn operator_names() -> Vec<String> {
    let mut names: Vec<_> = rows(Table::Operator).map(|row| row.text(1).to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

fn functions() -> Vec<Case> {
    let mut cases =
        resolution::functions(&facts::function_names(include_str!("resolve/names.tsv")));
    cases
        .extend(resolution::named(&facts::parameter_names(include_str!("resolve/parameters.tsv"))));
    cases
}

/// Compares all cases; differences are counted by what differs.
fn compare(what: &str, cases: &[Case], expected: &str) {
    let resolver = Resolver::new();
    let mut differing: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut answers = table::answers(expected);
    for case in cases {
        let theirs = answers.next().expect("an answer for each case");
        let ours = resolver.answer(case);
        if *ours != *theirs {
            let entry = differing.entry(answer::kind(case)).or_default();
            entry.0 += 1;
            if entry.1.is_empty() {
                entry.1 = format!("{}: PostgreSQL {theirs}, here {ours}", case.sql());
            }
        }
    }
    assert!(answers.next().is_none(), "more answers than cases: run xtask catalog");
    println!("{what}: {} compared", cases.len());
    let mut text = String::new();
    for (kind, (count, example)) in &differing {
        let _ = writeln!(text, "{kind}: {count}, such as {example}");
    }
    assert!(differing.is_empty(), "{what} differ from PostgreSQL:\n{text}");
}

#[test]
fn operators_are_chosen_as_postgresql_does() {
    let cases = resolution::operators(&operator_names());
    compare("operators", &cases, include_str!("resolve/operators.txt"));
}

#[test]
fn functions_are_chosen_as_postgresql_does() {
    compare("functions", &functions(), include_str!("resolve/functions.txt"));
}

#[test]
fn casts_are_made_as_postgresql_does() {
    compare("casts", &resolution::casts(), include_str!("resolve/casts.txt"));
}

#[test]
fn common_types_are_chosen_as_postgresql_does() {
    compare("common types", &resolution::common(), include_str!("resolve/common.txt"));
}

#[test]
fn a_running_postgresql_says_the_same() {
    if !onlap_testkit::programs::are_there(&NEEDED) {
        return;
    }
    let postgres = Postgres::start();
    for ((name, query), text) in facts::FILES.iter().zip(answer::FACTS) {
        assert!(facts::text(&postgres, query) == text, "{name}.tsv is old: run xtask catalog");
    }
    assert_eq!(facts::text(&postgres, facts::FUNCTIONS), include_str!("resolve/names.tsv"));
    assert_eq!(facts::text(&postgres, facts::PARAMETERS), include_str!("resolve/parameters.tsv"));
    facts::text(&postgres, &Judge::setup());
    let oids = facts::text(&postgres, &Judge::oids());
    let oids: Vec<u32> = oids.lines().map(|oid| oid.parse().expect("an OID")).collect();
    let mut judge = Judge::new(postgres.port(), &oids).expect("PostgreSQL is there");
    let resolver = Resolver::new();
    let mut differing = Vec::new();
    let names = facts::function_names(include_str!("resolve/names.tsv"));
    let parameters = resolution::parameters(&operator_names(), &names);
    let kinds = [
        resolution::operators(&operator_names()),
        functions(),
        resolution::casts(),
        resolution::common(),
    ];
    let sampled = kinds.into_iter().map(|cases| -> Vec<Case> {
        let step = cases.len() / SAMPLE + 1;
        cases.into_iter().step_by(step).collect()
    });
    for some in sampled.chain([parameters]) {
        let answers = judge.describe(&some).expect("PostgreSQL answers");
        for (case, theirs) in some.iter().zip(&answers) {
            let ours = (resolver.answer(case), resolver.words(case));
            let words = theirs.error.as_ref().map(|e| (e.message.clone(), e.hint.clone()));
            let theirs = (judge.short(case, theirs), words);
            if ours != theirs {
                differing.push(format!("{}: PostgreSQL {theirs:?}, here {ours:?}", case.sql()));
            }
        }
    }
    assert!(
        differing.is_empty(),
        "{} differ:\n{}",
        differing.len(),
        differing[..differing.len().min(40)].join("\n")
    );
}
