//! Are deep and long statements answered right, and those beyond the limits refused as PostgreSQL refuses them?
//!
//! On a thread with the stack that threads of sessions have, without optimization: the frames are the largest that there are.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use support::{Fixture, Talk};

fn filled() -> Fixture {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table t (id int primary key, a int, b text)");
    talk.rows("insert into t values (1, 10, 'x'), (2, 20, 'y'), (3, 20, 'z')");
    fixture
}

/// What is nested: its name, how deep it is answered, the statement of a depth, and its answer.
type Shape = (&'static str, usize, fn(usize) -> String, fn(usize) -> String);

fn around(n: usize, before: &str, inner: &str, after: &str) -> String {
    format!("{}{inner}{}", before.repeat(n), after.repeat(n))
}

fn listed(n: usize, by: &str, one: impl Fn(usize) -> String) -> String {
    (0..n).map(one).collect::<Vec<_>>().join(by)
}

const SHAPES: &[Shape] = &[
    (
        "scalar subqueries",
        64,
        |n| format!("select {}", around(n, "(select ", "7", ")")),
        |_| "7".into(),
    ),
    (
        "scalar subqueries of a table",
        64,
        |n| format!("select {}", around(n, "(select max(id) + ", "0", " from t)")),
        |n| (3 * n).to_string(),
    ),
    (
        "correlated subqueries",
        64,
        |n| {
            let inner =
                listed(n, "", |i| format!("(select t{i}.id + t{}.id * 0 + ", i.saturating_sub(1)));
            let ends =
                listed(n, "", |i| format!(" from t t{} where t{}.id = 3)", n - 1 - i, n - 1 - i));
            format!("select {inner}0{ends} from t limit 1")
        },
        |n| (3 * n).to_string(),
    ),
    (
        "derived tables",
        64,
        |n| {
            format!(
                "select id + 0 from {}",
                around(n, "(select id + 1 as id from ", "t where id = 1", ") x")
            )
        },
        |n| (1 + n).to_string(),
    ),
    (
        "derived tables with limits",
        64,
        |n| {
            format!(
                "select id from {}",
                around(n, "(select id + 1 as id from ", "t where id = 1", " limit 5) x")
            )
        },
        |n| (1 + n).to_string(),
    ),
    (
        "exists",
        64,
        |n| {
            format!(
                "select count(*) from t where {}",
                around(n, "exists (select 1 from t where ", "id = 2", ")")
            )
        },
        |_| "3".into(),
    ),
    (
        "in",
        64,
        |n| {
            format!(
                "select count(*) from t where {}",
                around(n, "id in (select id from t where ", "id = 2", ")")
            )
        },
        |_| "1".into(),
    ),
    (
        "not in",
        64,
        |n| {
            format!(
                "select count(*) from t where {}",
                around(n, "id not in (select id from t where ", "id = 2", ")")
            )
        },
        |n| if n % 2 == 0 { "1".into() } else { "2".into() },
    ),
    (
        "brackets",
        1000,
        |n| format!("select {} from t where id = 2", around(n, "(", "id", ")")),
        |_| "2".into(),
    ),
    (
        "brackets with operators",
        1000,
        |n| format!("select {} from t where id = 2", around(n, "(1 + ", "id", ")")),
        |n| (2 + n).to_string(),
    ),
    (
        "conditions in brackets",
        1000,
        |n| format!("select count(*) from t where {}", around(n, "(id = 2 or ", "id = 1", ")")),
        |_| "2".into(),
    ),
    (
        "calls",
        1000,
        |n| format!("select {} from t where id = 2", around(n, "abs(", "id", ")")),
        |_| "2".into(),
    ),
    (
        "case",
        500,
        |n| {
            format!(
                "select {} from t where id = 2",
                around(n, "case when id = 2 then 1 + ", "0", " end")
            )
        },
        |n| n.to_string(),
    ),
    (
        "or",
        100_000,
        |n| format!("select count(*) from t where {}", listed(n, " or ", |i| format!("id = {i}"))),
        |n| (n - 1).min(3).to_string(),
    ),
    (
        "or of two columns",
        25_000,
        |n| {
            format!(
                "select count(*) from t where {}",
                listed(n, " or ", |i| format!("(id = {i} and a = {i}0)"))
            )
        },
        |n| (n - 1).min(2).to_string(),
    ),
    (
        "and",
        100_000,
        |n| {
            format!(
                "select count(*) from t where {}",
                listed(n, " and ", |i| format!("id <> {}", i + 3))
            )
        },
        |_| "2".into(),
    ),
    (
        "in list",
        100_000,
        |n| format!("select count(*) from t where id in ({})", listed(n, ", ", |i| i.to_string())),
        |n| (n - 1).min(3).to_string(),
    ),
    (
        "not in list",
        100_000,
        |n| {
            format!(
                "select count(*) from t where a not in ({})",
                listed(n, ", ", |i| i.to_string())
            )
        },
        |n| [10, 20, 20].iter().filter(|a| **a >= n).count().to_string(),
    ),
    (
        "with",
        400,
        |n| {
            let one = |i: usize| format!("w{} as (select id + 1 as id from w{i})", i + 1);
            format!("with w0 as (select 0 as id), {} select id from w{n}", listed(n, ", ", one))
        },
        |n| n.to_string(),
    ),
    (
        "with within with",
        64,
        |n| around(n, "with w as (", "select 7 as id", ") select id from w"),
        |_| "7".into(),
    ),
];

fn answer(talk: &mut Talk, sql: &str) -> String {
    let outcome = talk.run(sql);
    match outcome.error {
        Some((state, message)) => format!("{state} {message}"),
        None => outcome.rows[0][0].clone().unwrap_or("NULL".into()),
    }
}

/// What more of is answered, too: lists are one node.
const WIDE: [&str; 2] = ["in list", "not in list"];

#[test]
fn deep_statements_are_answered_right() {
    let only = std::env::var("ONLAP_ONLY").unwrap_or_default();
    let fixture = filled();
    let mut talk = fixture.session();
    let mut wrong = Vec::new();
    for (name, n, text, right) in SHAPES.iter().filter(|shape| shape.0.contains(&only)) {
        for n in [1, 2, 3, 4, 5, 7, 9, *n / 4, *n] {
            let began = std::time::Instant::now();
            let (got, right) = (answer(&mut talk, &text(n)), right(n));
            println!("{n} {name}: {:.60} in {:?}", got, began.elapsed());
            if got != right {
                wrong.push(format!("{n} {name}: {got:.200}, not {right}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn far_deeper_ones_are_refused_as_by_postgresql() {
    let only = std::env::var("ONLAP_ONLY").unwrap_or_default();
    let fixture = filled();
    let mut talk = fixture.session();
    let narrow = SHAPES.iter().filter(|shape| !WIDE.contains(&shape.0) && shape.0.contains(&only));
    for (name, n, text, _) in narrow {
        for times in [10, 40] {
            let got = answer(&mut talk, &text(n * times));
            // A text of tens of megabytes takes more memory than the machine may have, which is asked first.
            let is_refused = got == "54001 stack depth limit exceeded"
                || got.starts_with("53200 understanding this statement takes");
            assert!(is_refused, "{name}, {} deep: {got}", n * times);
        }
        assert_eq!(answer(&mut talk, "select 1"), "1", "{name}");
    }
}

/// Up to the limits and beyond: the answer, or the refusal, and the session goes on.
#[test]
fn at_the_limits_no_stack_overflows() {
    let fixture = filled();
    let mut talk = fixture.session();
    for (name, n, text, right) in SHAPES.iter().filter(|shape| shape.1 <= 1000) {
        let mut refused = 0;
        for n in [n * 5 / 4, n * 3 / 2, n * 7 / 4, n * 31 / 16, n * 2, n * 6] {
            let got = answer(&mut talk, &text(n));
            match got == "54001 stack depth limit exceeded" {
                true => refused += 1,
                false => assert_eq!(got, right(n), "{name}, {n} deep"),
            }
        }
        assert!(refused > 0, "{name}");
        assert_eq!(answer(&mut talk, "select 1"), "1", "{name}");
    }
}

/// Views that read each other; each adds one.
#[test]
fn views_within_views_are_answered_right() {
    let fixture = filled();
    let mut talk = fixture.session();
    talk.rows("create view v0 as select id from t where id = 1");
    let mut refused = None;
    for i in 1..=200 {
        let outcome = talk.run(&format!("create view v{i} as select id + 1 as id from v{}", i - 1));
        if let Some(error) = outcome.error {
            refused = Some((i, error));
            break;
        }
    }
    let (first, error) = refused.expect("there is a limit");
    assert!(first > 101, "view {first}: {error:?}");
    assert_eq!((&*error.0, &*error.1), ("54001", "stack depth limit exceeded"));
    for n in [10, 100] {
        let began = std::time::Instant::now();
        assert_eq!(answer(&mut talk, &format!("select id from v{n}")), (n + 1).to_string());
        println!("{n} views: {:?}", began.elapsed());
    }
}
