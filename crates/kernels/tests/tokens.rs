//! Are the tokens of texts those that PostgreSQL finds, and their words?
//!
//! Texts are put together by chance from what begins, ends and joins tokens (`ONLAP_SEED`, `ONLAP_CASES`), and words from what
//! stems are taken from. ts_parse and to_tsvector of a PostgreSQL 15 that runs next to the test are the judge.

#![allow(clippy::disallowed_methods, reason = "a test writes its own files")]

#[path = "common/session.rs"]
mod session;

use std::fmt::Write as _;
use std::process::Stdio;
use std::sync::Arc;

use onlap_kernels::{Col, Cx, Datum, Repr, Types, find, find_series, output};
use onlap_pg::TypeRef;
use onlap_pg::catalog::Catalog;
use onlap_pg::value::Settings;
use onlap_testkit::postgres::Postgres;

use session::QUIET;

/// A number for a test from the environment.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Numbers by chance, from a seed (splitmix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    fn text(&mut self, of: &[&str], most: usize) -> String {
        (0..=self.below(most)).map(|_| of[self.below(of.len())]).collect()
    }
}

const PARTS: [&str; 72] = [
    "foo",
    "Bar",
    "a",
    "x",
    "12",
    "3",
    "0",
    ".",
    ".",
    "-",
    "-",
    "_",
    "@",
    "/",
    "//",
    ":",
    "://",
    "http://",
    "www.",
    "com",
    "&",
    "&amp;",
    "&#65;",
    "&#x41;",
    "<",
    "<b>",
    "</b>",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "<?xml",
    "'",
    "\"",
    "\\",
    "~",
    "+",
    "1.5",
    "1e5",
    "E",
    "e",
    "é",
    "日本",
    " ",
    " ",
    "\t",
    ",",
    "?",
    "=",
    "#",
    "%",
    "v1.2",
    "(",
    ")",
    "!",
    "|",
    "<a href=\"x\\\"y\">",
    "<br/>",
    "</style >",
    "<style",
    "8080",
    "..",
    "../",
    "./",
    "\u{a0}",
    "σ",
    "Q2",
    "<!D",
    "a.b-c",
    "x_y",
    "\n",
    "𝒳",
];

const SYLLABLES: [&str; 64] = [
    "a", "e", "i", "o", "u", "y", "b", "c", "d", "g", "l", "m", "n", "r", "s", "t", "w", "x", "bb",
    "ss", "tt", "ing", "ed", "edly", "ingly", "eed", "eedly", "s", "es", "ies", "ied", "sses",
    "us", "ational", "tional", "enci", "abli", "izer", "ization", "ator", "alism", "aliti",
    "fulness", "ousli", "iveness", "biliti", "ogi", "li", "ly", "alize", "icate", "iciti", "ative",
    "ness", "ful", "ement", "ion", "ism", "able", "'s", "gener", "commun", "é", "ll",
];

/// What kernels work with.
struct Ours {
    catalog: Arc<Catalog>,
    settings: Settings,
}

impl Ours {
    fn cx(&self) -> Cx<'_> {
        Cx { catalog: &self.catalog, settings: &self.settings, session: &QUIET }
    }

    /// Kinds and texts of tokens.
    fn tokens(&self, text: &str) -> String {
        let proc = self.catalog.procs_named("ts_parse").find(|proc| proc.arguments[0] == 25);
        let types = Types {
            args: vec![TypeRef::new(25); 2],
            result: TypeRef::new(2249),
            catalog: Arc::clone(&self.catalog),
        };
        let made = proc.and_then(|proc| find_series(proc.oid));
        let series = made.expect("it is there")(&types);
        let args = [Datum::text("default"), Datum::text(text)];
        let rows = series.start(&args, &mut self.cx()).expect("there is room");
        let mut out = String::new();
        for row in rows {
            let row = row.expect("a row");
            let (Datum::Int4(kind), Datum::Text(token)) = (&row[0], &row[1]) else {
                panic!("{row:?}")
            };
            write!(out, "{kind}[{token}]").expect("a String takes all");
        }
        out
    }

    /// to_tsvector by a configuration.
    fn vector(&self, config: u32, text: &str) -> String {
        let types = Types {
            args: vec![TypeRef::new(3734), TypeRef::new(25)],
            result: TypeRef::new(3614),
            catalog: Arc::clone(&self.catalog),
        };
        let kernel = find(3745).expect("it has a kernel")(&types);
        let column =
            |repr, value| Col::new(Datum::column(repr, [value].iter()).expect("it is short"));
        let args = [column(Repr::Oid, Datum::Oid(config)), column(Repr::Text, Datum::text(text))];
        let made = kernel.eval(&args, 1, &mut self.cx()).expect("there is room");
        let mut out = String::new();
        let value = Datum::at(&made, Repr::Bytes, 0);
        output(&mut self.cx(), 3614, &value, &mut out).expect("there is room");
        out
    }
}

/// What PostgreSQL says of each text.
fn theirs(postgres: &Postgres, texts: &[String]) -> Vec<String> {
    let mut script = String::from("create table q(n serial, t text);\ncopy q(t) from stdin;\n");
    for text in texts {
        let text = text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n");
        script.push_str(&text);
        script.push('\n');
    }
    script.push_str(
        "\\.\nselect encode(convert_to((select coalesce(string_agg(tokid || '[' || token || ']', '' order by o), '') \
         from ts_parse('default', t) with ordinality p(tokid, token, o)) || ' ' || \
         to_tsvector('english', t) || ' ' || to_tsvector('simple', t), 'UTF8'), 'hex') from q order by n;\n",
    );
    let file = postgres.folder().join("texts.sql");
    std::fs::write(&file, script).expect("the folder takes a file");
    let mut psql = postgres.psql();
    psql.args(["-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f"]).arg(&file);
    let output = psql.stdin(Stdio::null()).output().expect("psql runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    let bytes = |line: &str| {
        let byte = |at: usize| u8::from_str_radix(&line[at..at + 2], 16).expect("hex");
        (0..line.len()).step_by(2).map(byte).collect::<Vec<u8>>()
    };
    out.lines().map(|line| String::from_utf8(bytes(line)).expect("UTF-8")).collect()
}

/// Words of a text that was written by people.
const PROSE: &str = include_str!("../../../README.md");

#[test]
fn texts_have_the_tokens_and_words_that_postgresql_finds() {
    let postgres = Postgres::start();
    let ours = Ours { catalog: Arc::new(Catalog::new()), settings: Settings::default() };
    let mut draw = Draw(number("ONLAP_SEED", 5));
    let cases = number("ONLAP_CASES", 4000);
    let mut texts: Vec<String> = PROSE.lines().map(str::to_owned).collect();
    texts.push(PROSE.to_owned());
    for _ in 0..cases {
        texts.push(draw.text(&PARTS, 14));
        texts.push(draw.text(&SYLLABLES, 5));
    }
    let wanted = theirs(&postgres, &texts);
    assert_eq!(wanted.len(), texts.len(), "an answer to each text");
    let mut differ = Vec::new();
    for (text, wanted) in texts.iter().zip(&wanted) {
        let mine = format!(
            "{} {} {}",
            ours.tokens(text),
            ours.vector(13164, text),
            ours.vector(3748, text)
        );
        if mine != *wanted {
            differ.push(format!("{text:?}\n  ours   {mine}\n  theirs {wanted}"));
        }
    }
    println!("{} texts, {} differ", texts.len(), differ.len());
    assert!(differ.is_empty(), "{}", differ[..differ.len().min(20)].join("\n"));
}
