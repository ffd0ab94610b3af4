//! Are rows compared and written as PostgreSQL does it?

use onlap_kernels::array::record;
use onlap_kernels::{Col, Datum, find, repr};
use onlap_pg::Oid;
use onlap_testkit::postgres::Postgres;

use crate::oracle::answers;
use crate::ours::Ours;

/// A field: its type, the name of that, its text.
type Field = (Oid, &'static str, Option<&'static str>);

const ROWS: &[&[Field]] = &[
    &[],
    &[(23, "int4", Some("1"))],
    &[(23, "int4", None)],
    &[(23, "int4", Some("1")), (25, "text", Some("a b"))],
    &[(23, "int4", Some("1")), (25, "text", None)],
    &[(23, "int4", Some("2")), (25, "text", Some(""))],
    &[(23, "int4", Some("1")), (25, "text", Some("q\"\\,()"))],
    &[(20, "int8", Some("1")), (25, "text", Some("x"))],
    &[(701, "float8", Some("-0")), (1700, "numeric", Some("1.0"))],
    &[(701, "float8", Some("0")), (1700, "numeric", Some("1.00"))],
    &[(114, "json", Some("{\"a\": [1]}"))],
    &[(3802, "jsonb", Some("{\"a\": [1]}")), (1007, "int4[]", Some("{1,NULL}"))],
    &[(3802, "jsonb", Some("{\"a\": [1.0]}")), (1007, "int4[]", Some("{1,2}"))],
    &[(16, "bool", Some("t")), (1184, "timestamptz", Some("2024-02-29 12:00+00"))],
    &[(1042, "bpchar", Some("a ")), (1009, "text[]", Some("{\"a b\",NULL}"))],
];

fn ours(all: &Ours, row: &[Field]) -> Datum<'static> {
    let field =
        |(oid, _, text): &Field| (*oid, text.map_or(Datum::Null, |text| all.read(*oid, text)));
    let fields: Vec<(Oid, Datum<'static>)> = row.iter().map(field).collect();
    Datum::bytes(record::build(&fields).expect("a row"))
}

fn theirs(row: &[Field]) -> String {
    let field = |(_, name, text): &Field| match text {
        Some(text) => format!("'{}'::{name}", text.replace('\'', "''")),
        None => format!("null::{name}"),
    };
    let fields: Vec<String> = row.iter().map(field).collect();
    format!("row({})", fields.join(", "))
}

/// The answer of a function of rows.
fn call(all: &Ours, wanted: &str, args: &[(Oid, Datum<'static>)]) -> String {
    let proc = all.proc(wanted);
    let oids: Vec<Oid> = args.iter().map(|arg| arg.0).collect();
    let kernel = find(proc.oid).expect("a kernel")(&all.types(&oids, proc.result));
    let column = |(oid, value): &(Oid, Datum<'static>)| {
        let own = repr(&all.catalog, *oid).expect("it has values");
        Col::new(Datum::column(own, [value].into_iter()).expect("a column"))
    };
    let cols: Vec<Col> = args.iter().map(column).collect();
    match kernel.eval(&cols, 1, &mut all.cx()) {
        Ok(array) => {
            let own = repr(&all.catalog, proc.result).expect("it has values");
            all.shown(proc.result, &Datum::at(&array, own, 0))
        }
        Err(e) => format!("! {} {}", e.state, e.message),
    }
}

const OPERATORS: [(&str, &str); 8] = [
    ("=", "record_eq"),
    ("<>", "record_ne"),
    ("<", "record_lt"),
    ("<=", "record_le"),
    (">", "record_gt"),
    (">=", "record_ge"),
    ("*=", "record_image_eq"),
    ("*<>", "record_image_ne"),
];

#[test]
fn rows_are_compared_as_postgresql_does() {
    let (postgres, all) = (Postgres::start(), Ours::new());
    let (mut queries, mut mine) = (Vec::new(), Vec::new());
    for a in ROWS {
        for b in ROWS {
            for (sign, name) in OPERATORS {
                // Row constructors are taken apart unless they come from somewhere.
                let (x, y) = (theirs(a), theirs(b));
                queries.push(format!(
                    "select format('%s', x {sign} y) from (select {x} as x, {y} as y offset 0) q"
                ));
                let args = [(2249, ours(&all, a)), (2249, ours(&all, b))];
                mine.push(call(&all, &format!("{name}(record,record)"), &args));
            }
        }
    }
    for ((query, theirs), mine) in queries.iter().zip(answers(&postgres, &queries)).zip(&mine) {
        assert_eq!(*mine, theirs, "{query}");
    }
}

#[test]
fn rows_are_written_as_postgresql_does() {
    let (postgres, all) = (Postgres::start(), Ours::new());
    let (mut queries, mut mine) = (Vec::new(), Vec::new());
    for row in ROWS {
        let value = ours(&all, row);
        queries.push(format!("select format('%s', {})", theirs(row)));
        mine.push(all.shown(2249, &value));
        queries.push(format!("select encode(record_send({}), 'hex')", theirs(row)));
        let mut sent = Vec::new();
        onlap_kernels::send(&mut all.cx(), 2249, &value, &mut sent).expect("it is sent");
        mine.push(sent.iter().map(|byte| format!("{byte:02x}")).collect());
        for name in ["row_to_json", "to_json", "to_jsonb"] {
            let argument = if name == "row_to_json" { "record" } else { "anyelement" };
            queries.push(format!("select {name}({})", theirs(row)));
            let args = [(2249, value.clone())];
            mine.push(call(&all, &format!("{name}({argument})"), &args));
        }
        queries.push(format!("select row_to_json({}, true)", theirs(row)));
        let args = [(2249, value.clone()), (16, Datum::Bool(true))];
        mine.push(call(&all, "row_to_json(record,bool)", &args));
    }
    for ((query, theirs), mine) in queries.iter().zip(answers(&postgres, &queries)).zip(&mine) {
        assert_eq!(*mine, theirs, "{query}");
    }
}

#[test]
fn names_of_fields_are_kept() {
    let all = Ours::new();
    let fields = [(23, Datum::Int4(1)), (25, Datum::text("x"))];
    let row = record::build_named(&["id", "the \"name\""], &fields).expect("a row");
    let args = [(2249, Datum::bytes(row))];
    let shown = call(&all, "row_to_json(record)", &args);
    assert_eq!(shown, "{\"id\":1,\"the \\\"name\\\"\":\"x\"}");
}

#[test]
fn rows_in_rows_end_somewhere() {
    let mut row = record::build(&[]).expect("a row");
    let mut depth = 1;
    let refused = loop {
        match record::build(&[(2249, Datum::bytes(row.clone()))]) {
            Ok(outer) => row = outer,
            Err(e) => break e,
        }
        depth += 1;
    };
    assert_eq!((depth, refused.state), (record::MAX_DEPTH, "54001"));
    let all = Ours::new();
    assert_eq!(all.shown(2249, &Datum::bytes(record::build(&[]).expect("a row"))), "()");
    let mut key = Vec::new();
    onlap_kernels::key_bytes(&all.catalog, 2249, &Datum::bytes(row), &mut key);
    assert!(key.len() > depth);
}
