//! Is no statement taken for shallower than it is?

use onlap_pg::grammar::Tokens;

use super::{Depth, PLAN_LEVELS, measure};

fn of(text: &str) -> Depth {
    let tokens = Tokens::of(text);
    assert_eq!(tokens.error, None, "{text}");
    measure(&tokens, 0, tokens.all.len())
}

fn wrapped(n: usize, begin: &str, end: &str) -> String {
    format!("select {}1{}", begin.repeat(n), end.repeat(n))
}

/// What is walked by recursion, of a given depth.
fn nested(n: usize) -> Vec<String> {
    vec![
        wrapped(n, "(", ")"),
        wrapped(n, "abs(", ")"),
        wrapped(n, "1 + (", ")"),
        wrapped(n, "case when true then ", " end"),
        wrapped(n, "array[", "]"),
        wrapped(n, "(select ", ")"),
        wrapped(n, "exists (with w as (values (1)) select ", " from w)"),
        wrapped(n, "1 in (", ")"),
        format!("select 1 from {}t{}", "(select * from ".repeat(n), ") x".repeat(n)),
        format!("select 1 from {}t{}", "(".repeat(n), " join t on true)".repeat(n)),
        format!("insert into t values ({}1{})", "(".repeat(n), ")".repeat(n)),
    ]
}

/// Chains of `n` operators, or parts of one.
fn chains(n: usize) -> Vec<String> {
    let of = |link: &str| format!("select a{}", link.repeat(n));
    vec![
        of(" + 1"),
        of(" || 'x'"),
        of("::text"),
        of("::\"char\""),
        of("::public.kind"),
        of(" at time zone 'UTC'"),
        of(" collate \"C\""),
        of(" is null"),
        of(" -> 'a'"),
        of(" operator(pg_catalog.+) 1"),
        of("[1]"),
        of(" between 1 and 2 = true"),
        format!("select {}a", "not ".repeat(n)),
        format!("select {}a", "- ".repeat(n)),
        format!("select 1 from t{}", " join t using (id)".repeat(n)),
        format!("select 1 from t{}", ", t".repeat(n)),
        format!("select 1 from t{}", " cross join lateral f(1)".repeat(n)),
        format!("with w as (select 1){} select 1", ", w as (select 1)".repeat(n)),
        format!("select 1{}", " union select 1 union all select 1".repeat(n)),
        format!("select 1{}", " except select 1".repeat(n)),
    ]
}

fn terms(n: usize) -> Vec<String> {
    let of = |link: &str| format!("select 1 where a{}", link.repeat(n));
    vec![of(" and b"), of(" or b = 1"), of(" or not b and c")]
}

fn sets(n: usize) -> Vec<String> {
    let of = |link: &str| format!("select 1{}", link.repeat(n));
    vec![of(" union select 1"), of(" union all select 1")]
}

#[test]
fn nothing_is_shallower_than_it_is() {
    for n in [1, 10, 3000] {
        for text in nested(n) {
            assert!(of(&text).nested >= n, "{text:.60}: {:?}", of(&text));
        }
        for text in chains(n) {
            assert!(of(&text).chain >= n, "{text:.60}: {:?}", of(&text));
        }
        for text in terms(n) {
            assert!(of(&text).terms >= n, "{text:.60}: {:?}", of(&text));
        }
        for text in sets(n) {
            assert!(of(&text).sets >= n, "{text:.60}: {:?}", of(&text));
        }
    }
}

#[test]
fn what_is_side_by_side_is_not_deep() {
    let wide = [
        format!("select {}", vec!["(1 + 2)"; 3000].join(", ")),
        format!("insert into t values {}", vec!["(1, 'x', null)"; 3000].join(", ")),
        format!("select 1 where a in ({})", vec!["1"; 3000].join(", ")),
        format!("select {}", vec!["case when a then 'and or' else b.c end"; 300].join(", ")),
        "select a, name, type, date, count, value from t where \"case\" = 'case (('".to_string(),
        "-- ((((\nselect /* (( /* [[ */ */ 1".to_string(),
    ];
    for text in wide {
        let Depth { nested, chain, terms, sets } = of(&text);
        assert!(nested < 5 && chain < 5 && terms + sets == 0, "{text:.60}: {:?}", of(&text));
    }
}

#[test]
fn a_part_is_measured_alone() {
    let text = "select ((1)); select 1 + 2 + 3; select 1";
    let tokens = Tokens::of(text);
    let ends: Vec<usize> = (0..tokens.all.len())
        .filter(|at| text[tokens.all[*at].start as usize..].starts_with(';'))
        .collect();
    let first = measure(&tokens, 0, ends[0]);
    let second = measure(&tokens, ends[0] + 1, ends[1]);
    assert_eq!((first.nested, first.chain, second.nested, second.chain), (3, 0, 1, 2));
}

#[test]
fn queries_within_expressions_count_more() {
    assert!(of(&wrapped(10, "(select ", ")")).nested >= 10 * PLAN_LEVELS);
    let derived = format!("select 1 from {}t{}", "(select * from ".repeat(10), ") x".repeat(10));
    assert!(of(&derived).nested >= 10 * PLAN_LEVELS);
    assert!(of("select 1 from (((((t)))))").nested >= 4 * PLAN_LEVELS);
}
