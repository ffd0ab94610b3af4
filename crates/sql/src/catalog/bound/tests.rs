//! Texts of views with names bound.

use serde_json::json;

use super::{Use, Written, bind, query_of, uses, with_columns};

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
    bind(Written { tree: &tree, query, text }, span, Vec::new(), &mut resolve)
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
fn readers_of_older_releases_keep_the_names_of_columns() {
    let view = json!({ "columns": [{ "name": "a" }, { "name": "b" }] });
    let used = |oid: u32, columns: &[(u32, String)]| {
        let columns = columns.to_vec();
        Use { oid, name: "v".into(), columns, reads: vec![2] }.body()
    };
    let known = [(0, "old".to_string())];
    let body = json!({ "sql": "x", "uses": [used(6, &[]), used(5, &[])] });
    let now = with_columns(&body, 5, &view).expect("it had no columns");
    let all = uses(&now);
    assert_eq!(all[0].columns, []);
    assert_eq!(all[1].columns, [(0, "a".to_string()), (1, "b".to_string())]);
    assert_eq!(all[1].reads, [2]);
    assert_eq!(now["sql"], "x");
    let body = json!({ "uses": [used(5, &known)] });
    assert!(with_columns(&body, 5, &view).is_none());
    assert!(with_columns(&body, 7, &view).is_none());
}

#[test]
fn what_is_no_query_is_none() {
    for text in ["", "select from from", "insert into t values (1)", "select 1; select 2"] {
        assert!(query_of(text).is_none(), "{text}");
    }
}
