//! What differs between a script here and in a private PostgreSQL 15 (a Debian package)?

use onlap_testkit::postgres::Postgres;
use onlap_testkit::simple::{Outcome, SimpleClient};

use crate::support::Fixture;

/// Statements whose answers differ, with both answers as `shown` tells them. Rows are in any order, unless the statement gives
/// them one; `before` is run here alone.
pub fn differences<'a>(
    statements: impl IntoIterator<Item = &'a str>,
    before: &str,
    shown: impl Fn(&Outcome) -> String,
) -> Vec<String> {
    let postgres = Postgres::start();
    let client = SimpleClient::connect(postgres.port(), "postgres", "postgres");
    let mut client = client.expect("it is there");
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    if !before.is_empty() {
        talk.rows(before);
    }
    let mut differ = Vec::new();
    for statement in statements.into_iter().filter(|text| !text.trim().is_empty()) {
        let (mut ours, theirs) = (talk.run(statement), client.run(statement));
        let mut theirs = theirs.expect("PostgreSQL answers");
        let lower = statement.to_lowercase();
        if lower.starts_with("update ") || !lower.contains("order by") {
            ours.rows.sort();
            theirs.rows.sort();
        }
        let (mine, other) = (shown(&ours), shown(&theirs));
        if mine != other {
            differ.push(format!("{statement}\n  ours   {mine}\n  theirs {other}"));
        }
    }
    differ
}

/// Fails where a script of a statement per line is answered in another way, with the fast path and without it: another tag, other
/// rows or names of columns, another SQLSTATE, message or detail.
#[allow(dead_code, reason = "not every file of tests needs it")]
pub fn compare(script: &str) {
    for before in ["", "SET fast_path = off"] {
        let differ = differences(script.lines(), before, answer);
        assert!(differ.is_empty(), "{before}\n{}", differ.join("\n"));
    }
}

/// The tag, rows, names of columns, SQLSTATE, message and detail.
#[allow(dead_code, reason = "not every file of tests needs it")]
pub fn answer(outcome: &Outcome) -> String {
    let Outcome { tags, error, detail, rows, columns, .. } = outcome;
    let names: Vec<&String> = columns.iter().map(|column| &column.0).collect();
    format!("{tags:?} {error:?} {detail:?} {names:?} {rows:?}")
}

/// Tags, rows, SQLSTATE, message, detail, hint, context and notices.
#[allow(dead_code, reason = "not every file of tests needs it")]
pub fn all_but_columns(outcome: &Outcome) -> String {
    let Outcome { tags, error, detail, hint, context, rows, notices, .. } = outcome;
    let (error, notices) = (error.as_ref(), notices.iter().map(|(state, text)| (state, text)));
    let notices: Vec<_> = notices.collect();
    format!("{tags:?} {error:?} {detail:?} {hint:?} {context:?} {rows:?} {notices:?}")
}
