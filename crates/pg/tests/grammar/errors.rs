//! Errors, compared with PostgreSQL's: SQLSTATE, message, hint and place.

use std::fmt::Write;

use onlap_base::rng::Rng;
use onlap_pg::Error;
use onlap_pg::ast::Statement;
use onlap_pg::grammar::parse;
use onlap_testkit::described::Describer;
use onlap_testkit::postgres::Postgres;

use crate::random;

const RECORDED: &str = include_str!("errors.tsv");
/// Texts of the file, and how many are asked of a PostgreSQL beside.
const KEPT: usize = 1500;
const ASKED: usize = 40_000;

/// Texts whose errors no change of a statement would find.
const WRITTEN: &[&str] = &[
    "",
    "create tble x()",
    "select 'abc",
    "select \"abc",
    "select \"\"",
    "select $x$abc",
    "select /* abc",
    "select B'101",
    "select X'1F",
    "select E'\\u00'",
    "select E'\\U0000'",
    "select E'\\ud800'",
    "select E'\\ud800x'",
    "select E'\\ud800\\u0041'",
    "select E'\\udc00'",
    "select E'\\U00110000'",
    "select E'\\xff'",
    "select E'a\\000b'",
    "select U&'\\061'",
    "select U&'\\d800'",
    "select U&'\\d800\\0041'",
    "select U&'\\dc00'",
    "select U&'\\+110000'",
    "select U&'a' uescape 'xx'",
    "select U&'a' uescape '+'",
    "select U&'a' uescape 5",
    "select 123abc",
    "select 1.5x",
    "select 1e",
    "select 1e+",
    "select 1.5e-x",
    "select $1a",
    "select 1 +*- 2",
    "select 1 ++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++~ 2",
    "select a b c from t",
    "select * from (select 1)",
    "select * from (values (1))",
    "select * from lateral (select 1)",
    "select 1 limit 1, 2",
    "(select 1 order by 1) order by 2",
    "(select 1 limit 1) limit 2",
    "(select 1 offset 1) offset 2",
    "with a as (select 1) (with b as (select 2) select 3)",
    "select 1 fetch first 1 row with ties",
    "select 1 order by 1 for update skip locked fetch first 1 row with ties",
    "select float(0) '1'",
    "select 1::float(54)",
    "select unique (select 1)",
    "select (1) overlaps (2, 3)",
    "select row(1) overlaps row(2, 3)",
    "select (1, 2) overlaps (3, 4, 5)",
    "select sum(1 order by 1) within group (order by 2)",
    "select sum(distinct 1) within group (order by 2)",
    "select sum(variadic array[1]) within group (order by 2)",
    "select sum(1) over (rows unbounded following)",
    "select sum(1) over (rows 1 following)",
    "select sum(1) over (rows between unbounded following and current row)",
    "select sum(1) over (rows between current row and unbounded preceding)",
    "select sum(1) over (rows between current row and 1 preceding)",
    "select sum(1) over (rows between 1 following and current row)",
    "select numeric(a => 1) '1'",
    "select foo(1 order by 1) 'x'",
    "select t.*.a from t",
    "select a.*[1] from t",
    "select 1 < 2 < 3",
    "select a between 1 and 2 between 3 and 4 from t",
    "select a in (1) = any (array[true]) like 'a' like 'b'",
    "select 1 is distinct from 2 is distinct from 3",
    "insert into t(a) values (1) returning",
    "update t set",
    "select from inner",
    "select * from a.b.c.d",
    "insert into a.b.c.d values (1)",
    "select ä1 ö ü ß from t",
];

/// What is compared of an error.
fn shown(error: &Error, text: &str) -> String {
    let place = error.position.map(|at| text[..at as usize].chars().count() + 1);
    let place = place.map(|at| at.to_string()).unwrap_or_default();
    let hint = error.hint.clone().unwrap_or_default();
    format!("{}\t{}\t{hint}\t{place}", error.state, error.message)
}

/// Our answer: an error, or nothing.
fn ours(text: &str) -> String {
    parse(text).err().map(|e| shown(&e, text)).unwrap_or_default()
}

/// Whether a text is all of what is read here, and nothing that PostgreSQL's grammar says more of.
fn is_asked(text: &str) -> bool {
    let read = match parse(text) {
        Ok(tree) => {
            // Of several statements PostgreSQL tells that they are several.
            tree.statements.len() <= 1
                && !tree.statements.iter().any(|s| matches!(s.statement, Statement::Other(_)))
        }
        Err(e) => e.message != "XML is not supported",
    };
    read && !text.contains('\t')
}

/// PostgreSQL's errors of its grammar; nothing where the grammar reads the text.
fn theirs(describer: &mut Describer, texts: &[String]) -> Vec<String> {
    let all = describer.describe(texts).expect("it answers");
    all.into_iter()
        .map(|d| match d.error {
            Some(e) if is_of_grammar(&e.state, &e.message) => {
                format!("{}\t{}\t{}\t{}", e.state, e.message, e.hint, e.position)
            }
            _ => String::new(),
        })
        .collect()
}

/// Whether an error is one of the grammar, and none of an analysis behind it.
fn is_of_grammar(state: &str, message: &str) -> bool {
    const MESSAGES: &[&str] = &[
        " at or near \"",
        " at end of input",
        "must have an alias",
        "clauses not allowed",
        "Unicode",
        "OVERLAPS expression",
        "WITH TIES",
        "WITHIN GROUP",
        "type modifier cannot have",
        "LIMIT #,#",
        "invalid byte sequence",
        "precision for type float",
        "UNIQUE predicate",
        "frame start",
        "frame end",
        "improper qualified name",
    ];
    let states = ["42601", "22025", "22021", "22023", "0A000", "42P20"];
    states.contains(&state) && MESSAGES.iter().any(|part| message.contains(part))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

fn unescaped(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\\\", "\\")
}

fn texts(rng: &mut Rng, statements: &[String], n: usize) -> Vec<String> {
    let mut all: Vec<String> = WRITTEN.iter().map(|text| text.to_string()).collect();
    all.extend(random::changed(rng, statements, n));
    // `\n` in the file is a line's end.
    all.retain(|text| is_asked(text) && !text.contains("\\n"));
    all
}

/// Compares the errors with those of the file.
pub fn recorded(statements: &[String]) {
    assert!(!statements.is_empty());
    let mut count = 0;
    for line in RECORDED.lines() {
        let (text, answer) = line.split_once('\t').expect("a text and an answer");
        let text = unescaped(text);
        assert_eq!(ours(&text), unescaped(answer), "{text}");
        count += 1;
    }
    assert!(count > KEPT / 2, "{count} answers");
}

/// Compares the errors with those of a PostgreSQL, and writes the file where that is asked for.
pub fn beside(postgres: &Postgres, statements: &[String]) {
    if std::env::var_os("ONLAP_RECORD").is_some() {
        let mut describer = Describer::connect(postgres.port()).expect("it listens");
        let all = texts(&mut Rng::new(1), statements, KEPT);
        let mut file = String::new();
        for (text, answer) in all.iter().zip(theirs(&mut describer, &all)) {
            let _ = writeln!(file, "{}\t{}", escaped(text), escaped(&answer));
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/grammar/errors.tsv");
        std::fs::write(path, file).expect("the file can be written");
    }
    onlap_testkit::for_seeds("grammar", 1, |mut rng| {
        let mut describer = Describer::connect(postgres.port()).expect("it listens");
        let mut all = texts(&mut rng, statements, ASKED);
        all.extend(RECORDED.lines().filter_map(|l| l.split('\t').next()).map(unescaped));
        let answers = theirs(&mut describer, &all);
        let mut refused = 0;
        for (text, answer) in all.iter().zip(answers) {
            assert_eq!(ours(text), answer, "{text}");
            refused += usize::from(!answer.is_empty());
        }
        assert!(refused > ASKED / 4, "{refused} are refused");
    });
}
