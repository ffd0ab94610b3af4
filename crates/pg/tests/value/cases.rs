//! The recorded cases.

use std::path::Path;

use onlap_testkit::postgres::Postgres;

use crate::case::Case;
use crate::oracle::{self, escape, unescape};

const FILE: &str = "tests/value/cases.tsv";

/// Kind, settings, arguments and last the answer of PostgreSQL 15 in each line; `#` begins a comment.
fn read() -> Vec<(Case, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let text = std::fs::read_to_string(path).expect("the file is in the repository");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let mut fields: Vec<String> = line.split('\t').map(unescape).collect();
            let answer = fields.pop().expect("split gives one at least");
            let args = fields.split_off(2);
            let [kind, settings] = <[String; 2]>::try_from(fields).expect("kind and settings");
            (Case { kind, settings, args }, answer)
        })
        .collect()
}

#[test]
fn recorded_cases_have_postgresqls_answers() {
    let cases = read();
    assert!(cases.len() > 200, "{} cases", cases.len());
    check(cases);
}

/// Fails with all that differs.
pub fn check(cases: Vec<(Case, String)>) {
    let mut wrong = Vec::new();
    let count = cases.len();
    for (case, theirs) in cases {
        let ours = case.ours();
        if ours != theirs {
            wrong.push(format!("{case:?}\n  PostgreSQL {theirs}\n  Onlap      {ours}"));
        }
    }
    let shown = wrong.iter().take(40).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{shown}", wrong.len());
    println!("{count} compared");
}

#[test]
fn postgresql_answers_as_recorded() {
    let cases = read();
    let postgres = Postgres::start();
    let asked: Vec<Case> = cases.iter().map(|(case, _)| case.clone()).collect();
    let answers = oracle::answers(&postgres, &asked);
    if std::env::var_os("ONLAP_RECORD").is_some() {
        let mut text = String::from("# kind, settings, arguments, PostgreSQL 15's answer\n");
        for (case, answer) in asked.iter().zip(&answers) {
            let fields = [&case.kind, &case.settings].into_iter().chain(&case.args).chain([answer]);
            text += &(fields.map(|f| escape(f)).collect::<Vec<_>>().join("\t") + "\n");
        }
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE), text).expect("writable");
        return;
    }
    for ((case, recorded), answer) in cases.iter().zip(&answers) {
        assert_eq!(recorded, answer, "{case:?}");
    }
}
