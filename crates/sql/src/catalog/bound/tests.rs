//! Texts of views with names bound, and with the names of now.

use serde_json::json;

use super::{Use, Written, bind, query_of, shown};

/// `t` and `s.t` are tables 1 and 2, whose columns are `a` and `b`; nothing else is known.
fn resolve(parts: &[String]) -> Option<Use> {
    let oid = match parts.join(".").as_str() {
        "t" => 1,
        "s.t" => 2,
        "s.Ü" => 3,
        _ => return None,
    };
    let columns = vec![(0, "a".to_string()), (1, "b".to_string())];
    Some(Use { oid, name: parts.join("."), columns, reads: Vec::new() })
}

fn bound(text: &str) -> (String, Vec<Use>) {
    let (tree, query, span) = query_of(text).expect("it is a query");
    bind(Written { tree: &tree, query, text }, span, &mut resolve)
}

fn name_of(oid: u32) -> String {
    format!("\"onlap object\".\"{oid}\"")
}

#[test]
fn names_are_bound_where_they_stand() {
    let (t, s) = (name_of(1), name_of(2));
    let cases = [
        ("select a from t", format!("select a from {t} AS t")),
        ("select x.a from t x, s.t as y", format!("select x.a from {t} x, {s} as y")),
        ("select t.a, s.t.b, s.t.* from s.t", format!("select t.a, t.b, t.* from {s} AS t")),
        ("select * from only t, only (s.t), t *", {
            format!("select * from only {t} AS t, only ({s}) AS t, {t} * AS t")
        }),
        ("select (select 1 from only t) from t", {
            format!("select (select 1 from only {t} AS t) from {t} AS t")
        }),
        ("select * from t x (c, d)", format!("select * from {t} x (c, d)")),
        // A comment stays, and what is not known.
        (
            "select /* t */ * from nothing, pg_class -- t",
            "select /* t */ * from nothing, pg_class".into(),
        ),
        ("select 1 from t tablesample system (1)", {
            format!("select 1 from {t} AS t tablesample system (1)")
        }),
        ("select 'ä', a from s.\"Ü\"", format!("select 'ä', a from {} AS \"Ü\"", name_of(3))),
    ];
    for (text, expected) in cases {
        assert_eq!(bound(text).0, expected);
    }
}

#[test]
fn names_of_with_are_not_bound() {
    let (t, s) = (name_of(1), name_of(2));
    let cases = [
        ("with t as (select * from t) select * from t, s.t", {
            format!("with t as (select * from {t} AS t) select * from t, {s} AS t")
        }),
        ("with recursive t as (select * from t) select 1", {
            "with recursive t as (select * from t) select 1".to_string()
        }),
        ("select (with t as (select 1) select 1 from t) from t", {
            format!("select (with t as (select 1) select 1 from t) from {t} AS t")
        }),
        ("with x as (select 1 from t), t as (select 2) select * from t union select 1 from t", {
            format!(
                "with x as (select 1 from {t} AS t), t as (select 2) select * from t union select 1 from t"
            )
        }),
    ];
    for (text, expected) in cases {
        assert_eq!(bound(text).0, expected);
    }
}

#[test]
fn a_view_is_shown_with_the_names_of_now() {
    let shows = |text: &str, now: &str, columns: &[(u32, &str)]| {
        let (sql, uses) = bound(text);
        let uses: Vec<_> = uses.iter().map(Use::body).collect();
        let body = json!({ "sql": sql, "uses": uses });
        let columns = |_| columns.iter().map(|(id, name)| (*id, name.to_string())).collect();
        shown(&body, &|_| Some(now.to_string()), &columns)
    };
    let same = [(0, "a"), (1, "b")];
    assert_eq!(shows("select a from t", "t", &same), "select a from t");
    assert_eq!(shows("select t.a from t", "s.u", &same), "select t.a from s.u AS t");
    assert_eq!(shows("select x.a from only (t) x", "t", &same), "select x.a from only (t) x");
    let renamed = [(0, "c"), (1, "B")];
    assert_eq!(shows("select a from t", "t", &renamed), "select a from t AS t(a, b)");
    assert_eq!(shows("select a from t x", "t", &renamed), "select a from t x(a, b)");
    assert_eq!(shows("select c from t x (c, d)", "t", &renamed), "select c from t x (c, d)");
}

#[test]
fn what_is_no_query_is_none() {
    for text in ["", "select from from", "insert into t values (1)", "select 1; select 2"] {
        assert!(query_of(text).is_none(), "{text}");
    }
}
