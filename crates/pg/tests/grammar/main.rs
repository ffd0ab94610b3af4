//! Does the grammar read what PostgreSQL reads, as PostgreSQL reads it, and refuse what it refuses with its words?
//!
//! `statements.sql` and `definitions.sql` have a statement a line for each rule; `errors.tsv` and `definitions.tsv` have
//! texts with PostgreSQL 15's errors. All are read without a PostgreSQL. Next to one, PostgreSQL analyses each statement as it is and as it is printed
//! with all its parentheses, and must come to the same; statements with random changes must give its errors.
//! `ONLAP_RECORD=1` writes the files of errors anew.

#![allow(clippy::disallowed_methods, reason = "a test reads and writes its own files")]

mod definitions;
mod errors;
mod judge;
mod print;
mod random;

use onlap_pg::ast::Statement;
use onlap_pg::grammar::{Class, Keyword, parse};
use onlap_testkit::postgres::{NEEDED, Postgres};

/// A statement a line; one goes on where it is indented.
const STATEMENTS: &str = include_str!("statements.sql");
/// Definitions and statements about sessions, a statement a line.
const DEFINITIONS: &str = include_str!("definitions.sql");

fn definitions() -> Vec<String> {
    DEFINITIONS.lines().map(str::to_string).collect()
}

fn statements() -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in STATEMENTS.lines() {
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

/// What a text is with all its parentheses.
fn printed(text: &str) -> String {
    let tree = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    assert_eq!(tree.statements.len(), 1, "{text}");
    print::statement(&tree, &tree.statements[0].statement)
}

#[test]
fn statements_are_read_and_printed_alike() {
    for text in statements() {
        let once = printed(&text);
        assert_eq!(printed(&once), once, "{text}");
    }
}

#[test]
fn postgresql_reads_statements_alike() {
    if !onlap_testkit::programs::are_there(&NEEDED) {
        return;
    }
    let postgres = Postgres::start();
    judge::prepare(&postgres);
    let all = statements();
    let printed: Vec<String> = all.iter().map(|text| printed(text)).collect();
    let (originals, again) =
        (judge::analysed(&postgres, &all), judge::analysed(&postgres, &printed));
    let mut understood = 0;
    for ((text, printed), (original, again)) in
        all.iter().zip(&printed).zip(originals.iter().zip(&again))
    {
        assert_eq!(original, again, "\n{text}\n{printed}");
        understood += usize::from(original.is_ok());
    }
    // Some have mistakes that no grammar sees.
    assert!(understood + 15 > all.len(), "PostgreSQL understands {understood} of {}", all.len());
}

#[test]
fn postgresql_reads_random_expressions_alike() {
    if !onlap_testkit::programs::are_there(&NEEDED) {
        return;
    }
    let postgres = Postgres::start();
    judge::prepare(&postgres);
    onlap_testkit::for_seeds("grammar", 1, |mut rng| {
        let all = random::expressions(&mut rng, 20_000);
        let (read, refused): (Vec<String>, Vec<String>) =
            all.into_iter().partition(|text| parse(text).is_ok());
        assert!(read.len() > refused.len(), "{} are refused", refused.len());
        for (text, answer) in refused.iter().zip(judge::analysed(&postgres, &refused)) {
            assert_eq!(answer.expect_err(text).0, "42601", "{text}");
        }
        let printed: Vec<String> = read.iter().map(|text| printed(text)).collect();
        let originals = judge::analysed(&postgres, &read);
        let again = judge::analysed(&postgres, &printed);
        let mut understood = 0;
        for ((text, printed), (original, again)) in
            read.iter().zip(&printed).zip(originals.iter().zip(&again))
        {
            assert_eq!(original, again, "\n{text}\n{printed}");
            understood += usize::from(original.is_ok());
        }
        assert!(understood > 500, "{understood} are understood");
    });
}

#[test]
fn errors_are_those_recorded() {
    errors::recorded(&errors::QUERIES, &statements());
    errors::recorded(&errors::DEFINITIONS, &definitions());
}

#[test]
fn errors_are_postgresqls() {
    if !onlap_testkit::programs::are_there(&NEEDED) {
        return;
    }
    errors::beside(&errors::QUERIES, &Postgres::start(), &statements());
}

#[test]
fn errors_of_definitions_are_postgresqls() {
    if !onlap_testkit::programs::are_there(&NEEDED) {
        return;
    }
    errors::beside(&errors::DEFINITIONS, &Postgres::start(), &definitions());
}

#[test]
fn definitions_are_read() {
    for text in definitions() {
        let tree = parse(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let [one] = &tree.statements[..] else { panic!("{text}") };
        assert_eq!((one.start, one.end as usize), (0, text.len()), "{text}");
        assert!(!matches!(one.statement, Statement::Other(_)), "{text}");
    }
}

#[test]
fn keywords_are_postgresqls() {
    if !onlap_testkit::programs::are_there(&NEEDED) {
        return;
    }
    let postgres = Postgres::start();
    let rows = judge::lines(
        &postgres,
        "select word, catcode, barelabel from pg_get_keywords() order by word collate \"C\"",
    );
    let ours: Vec<String> = Keyword::ALL
        .iter()
        .map(|word| {
            let class = match word.class() {
                Class::Free => 'U',
                Class::Column => 'C',
                Class::Call => 'T',
                Class::Reserved => 'R',
            };
            let bare = if word.is_bare_label() { 't' } else { 'f' };
            format!("{}|{class}|{bare}", word.word())
        })
        .collect();
    assert_eq!(ours, rows);
}

#[test]
fn depth_is_bounded_and_length_is_not() {
    let deep = |before: &str, inner: &str, after: &str, n: usize| {
        parse(&format!("select {}{inner}{}", before.repeat(n), after.repeat(n)))
    };
    for (before, inner, after) in [
        ("(", "1", ")"),
        ("((", "1", "))"),
        ("f(", "1", ")"),
        ("array[", "1", "]"),
        ("case when ", "true", " then 1 end"),
        ("(select ", "1", ")"),
        ("not ", "true", ""),
        ("- ", "a", ""),
        ("a[", "1", "]"),
        ("1 + (", "1", ")"),
        ("a in (", "1", ")"),
        ("row(", "1", ")"),
        ("cast(", "1", " as int)"),
        ("coalesce(", "1", ")"),
        ("a like (", "b", ") escape 'c'"),
        ("exists (select ", "1", ")"),
    ] {
        assert!(deep(before, inner, after, 50).is_ok(), "{before}");
        let error = deep(before, inner, after, 100_000).expect_err(before);
        assert_eq!(error.state, "54001", "{before}: {error}");
    }
    let joins = format!("select * from {}a{}", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(parse(&joins).expect_err("too deep").state, "54001");
    for (before, one, n) in [
        ("select 1 in (0", ", 1", 100_000),
        ("select true", " or false", 100_000),
        ("select true", " and false", 100_000),
        ("select 1", " + 1", 100_000),
        ("select 1", "::int", 100_000),
        ("select 1", " union select 1", 100_000),
        ("values (1)", ", (1)", 100_000),
        ("select * from a", " cross join a", 100_000),
        ("select a", ".b", 100_000),
    ] {
        let close = if before.contains(" in (") { ")" } else { "" };
        let text = format!("{before}{}{close}", one.repeat(n));
        assert!(parse(&text).is_ok(), "{before}{one}…");
    }
}

#[test]
fn a_texts_statements_are_told_with_their_places() {
    let text = "select 1;; insert into t values (1) ; create table x (a int); ;select 2";
    let tree = parse(text).expect("it is read");
    let parts: Vec<&str> =
        tree.statements.iter().map(|s| &text[s.start as usize..s.end as usize]).collect();
    assert_eq!(
        parts,
        ["select 1", "insert into t values (1)", "create table x (a int)", "select 2"]
    );
    assert!(parse("").expect("nothing").statements.is_empty());
    assert_eq!(parse("select 1 from t select 2").expect_err("no semicolon").position, Some(16));
}
