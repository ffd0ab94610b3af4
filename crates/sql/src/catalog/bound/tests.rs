//! Texts of views with names bound.

use super::{Use, Written, bind, query_of};

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
        ("select a from t", format!("select a from {t}.t")),
        ("select x.a from t x, s.t as y", format!("select x.a from {t} x, {s} as y")),
        ("select t.a, s.t.b, s.t.* from s.t", format!("select t.a, t.b, t.* from {s}.t")),
        ("select * from only t, only (s.t), t *", {
            format!("select * from only {t}.t, only ({s}.t), {t}.t *")
        }),
        ("select (select 1 from only t) from t", {
            format!("select (select 1 from only {t}.t) from {t}.t")
        }),
        ("select * from t x (c, d)", format!("select * from {t} x (c, d)")),
        // A comment stays, and what is not known.
        (
            "select /* t */ * from nothing, pg_class -- t",
            "select /* t */ * from nothing, pg_class".into(),
        ),
        ("select 1 from t tablesample system (1)", {
            format!("select 1 from {t}.t tablesample system (1)")
        }),
        ("select 'ä', a from s.\"Ü\"", format!("select 'ä', a from {}.\"Ü\"", name_of(3))),
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
            format!("with t as (select * from {t}.t) select * from t, {s}.t")
        }),
        ("with recursive t as (select * from t) select 1", {
            "with recursive t as (select * from t) select 1".to_string()
        }),
        ("select (with t as (select 1) select 1 from t) from t", {
            format!("select (with t as (select 1) select 1 from t) from {t}.t")
        }),
        ("with x as (select 1 from t), t as (select 2) select * from t union select 1 from t", {
            format!(
                "with x as (select 1 from {t}.t), t as (select 2) select * from t union select 1 from t"
            )
        }),
    ];
    for (text, expected) in cases {
        assert_eq!(bound(text).0, expected);
    }
}

#[test]
fn what_is_no_query_is_none() {
    for text in ["", "select from from", "insert into t values (1)", "select 1; select 2"] {
        assert!(query_of(text).is_none(), "{text}");
    }
}
