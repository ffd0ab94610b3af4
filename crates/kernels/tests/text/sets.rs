//! Functions that give sets.

use onlap_kernels::{Datum, find_series};
use onlap_pg::Result;
use onlap_testkit::postgres::Postgres;

use crate::{Case, World, function, oracle, quoted};

const TEXTS: [&str; 7] = ["", "a", "ab,c", "a1b22c", "foo bar  baz", "äöü", "aaa"];
const EXPRESSIONS: [&str; 12] =
    ["", "a", ",", "\\s+", "\\d", "(a)(b)?", "(.)(.)", "x*", "$", "\\y", "(", "[^a]*"];
const FLAGS: [Option<&str>; 6] = [None, Some(""), Some("g"), Some("i"), Some("z"), Some("gi")];

#[test]
fn sets_have_the_rows_that_postgresql_gives() {
    let postgres = Postgres::start();
    let world = World::new();
    let mut asked = Vec::new();
    let mut ours = Vec::new();
    for (name, result) in [("regexp_matches", 1009), ("regexp_split_to_table", 25)] {
        for (text, pattern) in TEXTS.iter().flat_map(|t| EXPRESSIONS.iter().map(move |p| (t, p))) {
            for flags in FLAGS {
                let texts: Vec<&str> = [*text, *pattern].into_iter().chain(flags).collect();
                let types = vec!["text"; texts.len()].join(",");
                let proc = function(&world.catalog, &format!("{name}({types})"));
                ours.push(match rows(&world, proc, result, &texts) {
                    Ok(rows) if rows.is_empty() => "= NULL".to_string(),
                    Ok(rows) => format!("= {}", rows.join("; ")),
                    Err(e) => format!("! {} {}", e.state, e.message),
                });
                let written: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
                let call = format!("pg_catalog.{name}({})", written.join(", "));
                let text = format!(
                    "(select string_agg(format('%s', x), '; ' order by n) from {call} with ordinality q(x, n))"
                );
                asked.push(Case { proc, args: Vec::new(), result, text });
            }
        }
    }
    let theirs = oracle::answers(&postgres, &asked);
    for ((case, mine), theirs) in asked.iter().zip(&ours).zip(&theirs) {
        assert_eq!(mine, theirs, "{}", case.text);
    }
}

fn rows(world: &World, proc: u32, result: u32, texts: &[&str]) -> Result<Vec<String>> {
    let types = world.types(&vec![25; texts.len()], result);
    let series = find_series(proc).expect("it is a set")(&types);
    let args: Vec<Datum<'_>> = texts.iter().map(|text| Datum::text(*text)).collect();
    let rows = series.start(&args, &mut world.cx())?;
    rows.map(|row| world.shown(result, &row?[0])).collect()
}
