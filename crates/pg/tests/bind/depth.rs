//! Long and deep statements without a PostgreSQL: they are bound, or refused as too deep, on a test's stack of 2 MB.

use onlap_pg::bind::{NoRelations, bind};
use onlap_pg::catalog::Catalog;
use onlap_pg::grammar::parse;

/// The error's SQLSTATE; empty where it is bound.
fn bound(text: &str) -> String {
    let tree = parse(text).expect("it is read");
    let made = bind(&tree, &tree.statements[0].statement, &NoRelations, &Catalog::new(), &[]);
    made.err().map_or(String::new(), |error| error.state.to_string())
}

#[test]
fn long_statements_are_bound() {
    for (before, one, after, n) in [
        ("select 1 in (0", ", 1", ")", 50_000),
        ("select true", " or false", "", 50_000),
        ("select true", " and false", "", 50_000),
        ("values (1)", ", (1)", "", 50_000),
        ("select array[1", ", 1", "]", 50_000),
        ("select coalesce(1", ", 1", ")", 50_000),
        ("select case when true then 1", " when false then 2", " end", 20_000),
        ("select 1", " + 1", "", 1_000),
        ("select 1", " union all select 1", "", 1_000),
    ] {
        assert_eq!(bound(&format!("{before}{}{after}", one.repeat(n))), "", "{before}{one}");
    }
}

#[test]
fn deep_statements_are_refused() {
    for (before, one, after, n) in [
        ("select 1", " + 1", "", 100_000),
        ("select 1", "::int8::int4", "", 50_000),
        ("select 1", " union select 1", "", 50_000),
        ("select 1", " collate \"C\"", "", 50_000),
        ("select 'a'::text", " || 'x'::text", " = 5", 100_000),
    ] {
        assert_eq!(bound(&format!("{before}{}{after}", one.repeat(n))), "54001", "{before}{one}");
    }
    // What is read is bound, whatever it is within.
    for (before, inner, after) in [
        ("(select ", "1", ")"),
        ("abs(", "1", ")"),
        ("array[", "1", "]"),
        ("case when true then ", "1", " end"),
        ("row(", "1", ")"),
        ("coalesce(1, ", "1", ")"),
        ("not (", "true", ")"),
        ("1 + (", "1", ")"),
        ("exists (select ", "1", ")"),
        ("1 in (select ", "1", ")"),
        ("max(", "1", ")"),
    ] {
        let n = 300;
        let text = format!("select {}{inner}{}", before.repeat(n), after.repeat(n));
        let state = bound(&text);
        assert!(matches!(&*state, "" | "42803" | "42804" | "42883"), "{before} {state}");
    }
}

#[test]
fn grouping_sets_are_counted_before_they_are_made() {
    let cube = "cube (a, b, c, d, e, f, g, h, i, j, k, l)";
    let from = "(select 1 a, 2 b, 3 c, 4 d, 5 e, 6 f, 7 g, 8 h, 9 i, 10 j, 11 k, 12 l) x";
    let all = vec![cube; 2_000].join(", ");
    assert_eq!(bound(&format!("select 1 from {from} group by {cube}")), "");
    assert_eq!(bound(&format!("select 1 from {from} group by {all}")), "54001");
    assert_eq!(bound(&format!("select 1 from {from} group by grouping sets ({all})")), "54001");
}
