//! Do policies hide and refuse the rows that PostgreSQL's do?
//!
//! Stories of several roles run statement by statement here and in a private PostgreSQL 15 (a Debian package), with the native
//! tier and without it. Tags, rows, what COPY sends, SQLSTATE, message, detail and hint must be the same; rows are in any order
//! where a statement gives them none.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use std::collections::BTreeMap;

use onlap_testkit::postgres::{NEEDED, Postgres};
use onlap_testkit::programs;
use onlap_testkit::simple::{Outcome, SimpleClient};
use support::{Fixture, Talk};

const DATABASE: &str = "secured";
/// What COPY FROM STDIN gets.
const COPIED: &[u8] = b"90\tann\tcopied\n";

/// The stories of a file: a name, and roles with their statements.
fn stories(text: &str) -> Vec<(&str, Vec<(&str, &str)>)> {
    let mut all: Vec<(&str, Vec<(&str, &str)>)> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with("--")) {
        match line.strip_prefix('[') {
            Some(name) => all.push((name.trim_end_matches(']'), Vec::new())),
            None => {
                let told = line.split_once(": ").expect("a role and a statement");
                all.last_mut().expect("a story has a name").1.push(told);
            }
        }
    }
    all
}

fn answer(sql: &str, outcome: &Outcome) -> String {
    let Outcome { tags, error, detail, hint, rows, notices, copied, .. } = outcome;
    let mut rows = rows.clone();
    let lower = sql.to_lowercase();
    if !lower.contains("order by") {
        rows.sort();
    }
    let mut copied: Vec<&[u8]> = copied.split(|byte| *byte == b'\n').collect();
    copied.sort_unstable();
    let copied: Vec<_> = copied.into_iter().map(String::from_utf8_lossy).collect();
    format!("{tags:?} {error:?} {detail:?} {hint:?} {rows:?} {notices:?} {copied:?}")
}

/// Fails where a story goes another way here than in PostgreSQL.
fn compare(text: &str) {
    if !programs::are_there(&NEEDED) {
        return;
    }
    let mut differ = Vec::new();
    for tier in ["on", "off"] {
        let postgres = Postgres::start();
        let fixture = Fixture::new(false);
        let theirs = |role: &str, database: &str| {
            SimpleClient::connect(postgres.port(), role, database).expect("the role may connect")
        };
        fixture.session().rows(&format!("CREATE DATABASE {DATABASE}"));
        let made = theirs("postgres", "postgres").run(&format!("CREATE DATABASE {DATABASE}"));
        assert_eq!(made.expect("PostgreSQL answers").error, None);
        for (name, lines) in stories(text) {
            let mut sessions: BTreeMap<&str, (Talk, SimpleClient)> = BTreeMap::new();
            for (role, sql) in lines {
                let (ours, client) = sessions.entry(role).or_insert_with(|| {
                    let mut talk = fixture.session_in(role, DATABASE);
                    talk.rows(&format!("SET fast_path = {tier}"));
                    (talk, theirs(role, DATABASE))
                });
                ours.client.input = vec![COPIED.to_vec()];
                client.input = COPIED.to_vec();
                let mine = answer(sql, &ours.run(sql));
                let other = answer(sql, &client.run(sql).expect("PostgreSQL answers"));
                if mine != other {
                    differ
                        .push(format!("{name}: {role}: {sql}\n  ours   {mine}\n  theirs {other}"));
                }
            }
        }
    }
    assert!(differ.is_empty(), "{} differ\n{}", differ.len(), differ.join("\n"));
}

#[test]
fn policies_hide_and_refuse_what_postgresqls_do() {
    compare(include_str!("../testdata/row_security/stories.sql"));
}

#[test]
fn conditions_of_users_meet_no_hidden_row() {
    compare(include_str!("../testdata/row_security/leaks.sql"));
}

#[test]
fn policies_come_and_go_as_in_postgresql() {
    compare(include_str!("../testdata/row_security/definitions.sql"));
}
