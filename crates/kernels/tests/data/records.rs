//! Do json and jsonb become rows as PostgreSQL makes them?

use onlap_kernels::json::{Field, Source, populate, populate_set};
use onlap_kernels::{Datum, TypeRef};
use onlap_pg::Oid;
use onlap_testkit::postgres::Postgres;

use crate::oracle::answers;
use crate::ours::Ours;

const FIELDS: &[(&str, Oid, &str)] = &[
    ("i", 23, "int4"),
    ("t", 25, "text"),
    ("n", 1700, "numeric"),
    ("b", 16, "bool"),
    ("j", 114, "json"),
    ("x", 3802, "jsonb"),
    ("a", 1007, "int4[]"),
    ("s", 1009, "text[]"),
];

const VALUES: &[&str] = &[
    "{}",
    "{\"i\": 1, \"t\": \"x\\ny\", \"n\": 1.50, \"b\": true}",
    "{\"i\": \"7\", \"t\": {\"q\" : [1]}, \"n\": \"NaN\", \"b\": \"yes\"}",
    "{\"i\": null, \"t\": null, \"j\": null, \"x\": null, \"a\": null}",
    "{\"t\": 1.50, \"j\": {\"q\" : [1 ]}, \"x\": {\"q\" : [1 ]}}",
    "{\"t\": [1, 2], \"j\": \"s\", \"x\": \"s\"}",
    "{\"a\": [1, \"2\", null], \"s\": [\"x y\", null, {\"k\" : 1}, true]}",
    "{\"a\": [[1, 2], [3, 4]], \"s\": []}",
    "{\"a\": [[1, 2], [3]]}",
    "{\"a\": [[1, 2], 3]}",
    "{\"a\": [1, [2]]}",
    "{\"a\": [[], []], \"s\": [[\"a\"]]}",
    "{\"a\": \"{5,6}\"}",
    "{\"a\": 5}",
    "{\"a\": {}}",
    "{\"i\": 1.5}",
    "{\"i\": [1]}",
    "{\"b\": 1}",
    "{\"i\": 1, \"i\": 2}",
    "[]",
    "1",
    "null",
    "[{\"i\": 1}, {\"t\": \"x\"}, {}]",
    "[{\"i\": 1}, 2]",
    "[[{\"i\": 1}]]",
];

fn shown(all: &Ours, row: &[Datum<'_>]) -> String {
    let fields = FIELDS.iter().zip(row);
    fields.map(|((_, oid, _), value)| all.shown(*oid, value)).collect::<Vec<_>>().join("|")
}

fn ours(all: &Ours, name: &str, text: &str) -> String {
    let field = |(name, oid, _): &(&'static str, Oid, &str)| Field {
        name,
        ty: TypeRef::new(*oid),
        default: Datum::Null,
    };
    let fields: Vec<Field<'_>> = FIELDS.iter().map(field).collect();
    let tree = all.read(3802, text);
    let source = match &tree {
        Datum::Bytes(tree) if name.starts_with("jsonb") => Source::Tree(tree),
        _ => Source::Text(text),
    };
    let cx = &mut all.cx();
    let rows = match name.ends_with("recordset") {
        true => populate_set(cx, name, source, &fields),
        false => populate(cx, source, &fields).map(|row| vec![row]),
    };
    match rows {
        Ok(rows) if rows.is_empty() => "NULL".into(),
        Ok(rows) => rows.iter().map(|row| shown(all, row)).collect::<Vec<_>>().join("; "),
        Err(e) => format!("! {} {}", e.state, e.message),
    }
}

#[test]
fn records_are_those_of_postgresql() {
    let (postgres, all) = (Postgres::start(), Ours::new());
    let columns: Vec<String> = FIELDS.iter().map(|f| format!("{} {}", f.0, f.2)).collect();
    let texts: Vec<String> = FIELDS
        .iter()
        .map(|f| {
            format!("case when num_nulls({0}) = 1 then 'NULL' else format('%s', {0}) end", f.0)
        })
        .collect();
    let (columns, texts) = (columns.join(", "), texts.join(" || '|' || "));
    let (mut queries, mut mine) = (Vec::new(), Vec::new());
    for name in ["json_to_record", "jsonb_to_record", "json_to_recordset", "jsonb_to_recordset"] {
        for text in VALUES {
            let value = text.replace('\'', "''");
            queries.push(format!(
                "select string_agg({texts}, '; ') from {name}('{value}') q({columns})"
            ));
            mine.push(ours(&all, name, text));
        }
    }
    let theirs = answers(&postgres, &queries);
    let all = queries.iter().zip(theirs.iter().zip(&mine));
    let differ: Vec<_> = all.filter(|(_, (theirs, mine))| theirs != mine).collect();
    assert!(differ.is_empty(), "{differ:#?}");
}
