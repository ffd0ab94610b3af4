//! Expressions by chance.

use onlap_kernels::{Col, Datum, Repr, find};
use onlap_testkit::postgres::Postgres;

use crate::call::Ours;
use crate::{Case, Draw, World, function, number, oracle, quoted};

const TEXT: u32 = 25;

/// An expression; `groups` counts those that it has.
fn expression(draw: &mut Draw, depth: usize, groups: &mut usize) -> String {
    let branches = if draw.below(4) == 0 { 2 + draw.below(2) } else { 1 };
    let made: Vec<String> = (0..branches).map(|_| branch(draw, depth, groups)).collect();
    made.join("|")
}

fn branch(draw: &mut Draw, depth: usize, groups: &mut usize) -> String {
    let atoms = [0, 1, 1, 2, 2, 3, 3, 4][draw.below(8)];
    (0..atoms).map(|_| atom(draw, depth, groups)).collect()
}

fn atom(draw: &mut Draw, depth: usize, groups: &mut usize) -> String {
    let inner = depth > 0 && draw.below(2) == 0;
    let atom = match draw.below(12) {
        0..6 if inner => {
            *groups += 1;
            format!("({})", expression(draw, depth - 1, groups))
        }
        6..9 if inner => format!("(?:{})", expression(draw, depth - 1, groups)),
        9 if inner => {
            let look = draw.one(&["?=", "?!", "?<=", "?<!"]);
            // Groups of a look are none.
            let mut none = 0;
            return format!("({look}{})", expression(draw, depth - 1, &mut none));
        }
        10 if *groups > 0 => format!("\\{}", 1 + draw.below(*groups)),
        11 => return draw.one(&["^", "$", "\\m", "\\M", "\\y", "\\Y", "\\A", "\\Z"]).into(),
        _ => draw
            .one(&["a", "a", "b", "b", "c", "ä", ".", "[ab]", "[^a]", "\\w", "\\s", "\\d"])
            .into(),
    };
    let times = match draw.below(3) {
        0 => draw.one(&["*", "+", "?", "{2}", "{1,2}", "{0,1}", "{2,}"]),
        _ => "",
    };
    let lazy = if !times.is_empty() && draw.below(3) == 0 { "?" } else { "" };
    format!("{atom}{times}{lazy}")
}

fn subject(draw: &mut Draw) -> String {
    let length = match draw.below(12) {
        0 => 0,
        // Long enough for the other machine.
        1 => 300,
        _ => 1 + draw.below(9),
    };
    let few = ["a", "b", "c", "ab"];
    let all = ["a", "b", "a", "b", "c", "ä", " ", "1", "\n", "A"];
    let plain = draw.below(2) == 0;
    (0..length).map(|_| if plain { draw.one(&few) } else { draw.one(&all) }).collect()
}

#[test]
fn expressions_find_what_postgresql_finds() {
    let postgres = Postgres::start();
    let world = World::new();
    let (seed, cases) = (number("ONLAP_SEED", 1), number("ONLAP_CASES", 1000));
    let mut draw = Draw(seed);
    let replace = function(&world.catalog, "regexp_replace(text,text,text,text)");
    let mut asked = Vec::new();
    for _ in 0..cases {
        let mut pattern = expression(&mut draw, 3, &mut 0);
        if (1..=9).any(|group| pattern.contains(&format!("\\{group}"))) {
            // After a back reference that was in vain PostgreSQL misses what is empty at the end of a text.
            pattern = format!("(?:{pattern})b");
        }
        for _ in 0..2 {
            let flags = draw.one(&["g", "g", "", "gi", "gn", "gp", "w"]);
            let new = "<\\&|\\1|\\2|\\3|\\4>";
            let texts = [&subject(&mut draw), &pattern, new, flags].map(String::from);
            let written = texts.clone().map(|text| quoted(&text)).join(", ");
            asked.push(Case {
                proc: replace,
                args: texts.into_iter().map(|text| (TEXT, Some(text))).collect(),
                result: TEXT,
                text: format!("pg_catalog.regexp_replace({written})"),
            });
        }
    }
    let theirs = oracle::answers(&postgres, &asked);
    let ours = Ours::new();
    let mut differ = Vec::new();
    for (case, theirs) in asked.iter().zip(&theirs) {
        let mine = ours.answer(case);
        if !oracle::same(&mine, theirs) {
            differ.push(format!("{}\n  ours   {mine}\n  theirs {theirs}", case.text));
        }
    }
    println!("{} calls, {} differ (seed {seed})", asked.len(), differ.len());
    assert!(differ.is_empty(), "{}", differ[..differ.len().min(40)].join("\n"));
}

/// Calls a function of texts once.
fn call(world: &World, name: &str, texts: &[&str]) -> Result<bool, onlap_pg::Error> {
    let oid = function(&world.catalog, name);
    let types = world.types(&vec![TEXT; texts.len()], 16);
    let kernel = find(oid).expect("it has a kernel")(&types);
    let args: Vec<Col> = texts
        .iter()
        .map(|text| {
            Col::new(Datum::column(Repr::Text, [Datum::text(*text)].iter()).expect("small"))
        })
        .collect();
    let found = kernel.eval(&args, 1, &mut world.cx())?;
    Ok(Datum::at(&*found, Repr::Bool, 0) == Datum::Bool(true))
}

/// What other machines need ages for, or all memory.
#[test]
fn no_expression_takes_ages_or_all_memory() {
    let world = World::new();
    let is = |text: &str, pattern: &str| call(&world, "textregexeq(text,text)", &[text, pattern]);
    let long = "a".repeat(2000);
    assert_eq!(is(&long, "(a*)*b"), Ok(false));
    assert_eq!(is(&long, "(a|a|a)*(?=b)"), Ok(false));
    assert_eq!(is(&long, "^((a*)(a*)(a*))*$"), Ok(true));
    assert_eq!(is(&long, &"a?".repeat(200)), Ok(true));
    let complex = |pattern: &str| {
        let e = is("a", pattern).expect_err("it is too complex");
        assert_eq!(e.state, "2201B");
        assert_eq!(e.message, "invalid regular expression: regular expression is too complex");
    };
    complex("((a{200}){200}){200}");
    complex(&"(".repeat(100_000));
    complex(&"(?=".repeat(10_000));
    complex(&"(a)".repeat(30_000));
    complex(&format!("({}){}", "a".repeat(40_000), "\\1".repeat(20_000)));
    complex(&"a".repeat(1 << 20));
}

/// Text of any kind is read or refused.
#[test]
fn no_expression_panics() {
    let world = World::new();
    let mut draw = Draw(number("ONLAP_SEED", 1));
    let pieces = [
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "*",
        "+",
        "?",
        "|",
        "^",
        "$",
        "\\",
        ".",
        "-",
        ":",
        "=",
        "<",
        ">",
        "!",
        "a",
        "b",
        "1",
        "9",
        ",",
        "ä",
        "[:alpha:]",
        "[.",
        "[=",
        "(?",
        "x",
        "u",
        "U",
        "\n",
        "#",
        "***",
    ];
    for _ in 0..number("ONLAP_CASES", 1000) * 5 {
        let pattern: String = (0..draw.below(12)).map(|_| draw.one(&pieces)).collect();
        let flags = draw.one(&["", "i", "n", "x", "q", "b", "e"]);
        // Whether it is one does not matter here.
        let _ = call(&world, "regexp_like(text,text,text)", &["ab1ä-[x", &pattern, flags]);
    }
}
