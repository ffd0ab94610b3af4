//! Random expressions without parentheses where they are not needed, and changes to statements.

use onlap_base::rng::Rng;
use onlap_pg::grammar::{Keyword, Tokens};

const OPERANDS: &[&str] = &[
    "a",
    "b",
    "c",
    "p",
    "q",
    "x",
    "y",
    "n",
    "1",
    "2",
    "-3",
    "1.5",
    "'4'",
    "null",
    "true",
    "false",
    "n[1]",
    "j",
    "array[1, 2]",
    "(a, b)",
    "(select 1)",
    "abs(a)",
    "case when p then a end",
    "ts",
    "interval '1 day'",
    "t.a",
];
const INFIX: &[&str] = &[
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "<",
    ">",
    "=",
    "<=",
    ">=",
    "<>",
    "||",
    "&",
    "|",
    "#",
    "<<",
    ">>",
    "~",
    "@>",
    "->",
    "->>",
    "and",
    "or",
    "is distinct from",
    "is not distinct from",
    "like",
    "not like",
    "ilike",
    "similar to",
    "operator(pg_catalog.+)",
    "at time zone",
];
const PREFIX: &[&str] = &["-", "+", "not", "@", "~", "|/"];
const POSTFIX: &[&str] = &[
    "is null",
    "is not null",
    "isnull",
    "notnull",
    "is true",
    "is not false",
    "is unknown",
    "::int",
    "::text",
    "::numeric(5, 2)",
    "collate \"C\"",
    "in (1, 2)",
    "not in (1)",
    "between 1 and 2",
    "not between symmetric 2 and 1",
    "= any (array[1])",
    "<> all (array[1, 2])",
    "between b + 1 and 3",
    "like 'a' escape '!'",
    "in (select 1)",
];

/// Texts of queries.
pub fn expressions(rng: &mut Rng, n: usize) -> Vec<String> {
    (0..n).map(|_| format!("select {} from t", expression(rng))).collect()
}

fn expression(rng: &mut Rng) -> String {
    let mut text = String::new();
    let operators = 1 + rng.below(4);
    for i in 0..=operators {
        if rng.below(5) == 0 {
            text += &format!("{} ", pick(rng, PREFIX));
        }
        text += pick(rng, OPERANDS);
        if rng.below(4) == 0 {
            text += &format!(" {}", pick(rng, POSTFIX));
        }
        if i < operators {
            text += &format!(" {} ", pick(rng, INFIX));
        }
    }
    text
}

fn pick(rng: &mut Rng, words: &[&'static str]) -> &'static str {
    words[rng.below(words.len() as u64) as usize]
}

/// Statements with some tokens taken out, doubled, exchanged or put in.
pub fn changed(rng: &mut Rng, statements: &[String], n: usize) -> Vec<String> {
    let tokens: Vec<Vec<String>> = statements.iter().map(|text| words(text)).collect();
    let pool: Vec<&String> = tokens.iter().flatten().collect();
    let mut below = |n: usize| rng.below(n.max(1) as u64) as usize;
    (0..n)
        .map(|_| {
            let mut text = tokens[below(tokens.len())].clone();
            for _ in 0..=below(2) {
                if text.is_empty() {
                    break;
                }
                let (at, other) = (below(text.len()), below(text.len()));
                let word = Keyword::ALL[below(Keyword::ALL.len())].word().to_string();
                let known = pool[below(pool.len())].clone();
                match below(7) {
                    0 => drop(text.remove(at)),
                    1 => text.insert(at, text[at].clone()),
                    2 => text.swap(at, other),
                    3 => text[at] = known,
                    4 => text.insert(at, known),
                    5 => text[at] = word,
                    _ => text.insert(at, word),
                }
            }
            text.join(" ")
        })
        .collect()
}

fn words(text: &str) -> Vec<String> {
    let tokens = Tokens::of(text);
    let all = tokens.all.iter().map(|t| text[t.start as usize..t.end as usize].to_string());
    all.filter(|word| !word.is_empty()).collect()
}
