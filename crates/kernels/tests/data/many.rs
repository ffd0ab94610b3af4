//! Do aggregates and functions that give sets give what PostgreSQL gives?

use onlap_kernels::{Col, Datum, find_aggregate, find_series, repr};
use onlap_pg::Oid;
use onlap_testkit::postgres::Postgres;

use crate::oracle::answers;
use crate::ours::Ours;

/// Texts of values, NULL among them.
type Texts = &'static [Option<&'static str>];

struct Case {
    signature: &'static str,
    /// Per argument its type, the name of that, and a text for each row.
    args: &'static [(Oid, &'static str, Texts)],
    result: (Oid, &'static str),
}

const INTS: Texts = &[Some("3"), None, Some("1"), Some("2"), Some("-7")];
const TEXTS: Texts = &[Some("a b"), Some("q\"x"), None, Some(""), Some("NULL")];
const JSONS: Texts =
    &[Some("{\"b\": 1, \"a\": [1,2]}"), Some("[]"), Some("null"), None, Some("\"x\"")];
const ARRAYS: Texts =
    &[Some("{1,2}"), Some("{3,NULL}"), Some("{5,6}"), Some("{0,0}"), Some("{7,8}")];
const UNEVEN: Texts = &[Some("{1}"), Some("{1,2}"), Some("{2}"), Some("{3}"), Some("{4}")];
const SOME_NULL: Texts = &[Some("{9,1}"), None, Some("{9}"), Some("{}"), Some("[0:0]={9}")];
const EMPTY: Texts = &[Some("{}"), Some("{1}"), Some("{1}"), Some("{1}"), Some("{1}")];
const NUMBERS: Texts = &[Some("1.50"), Some("NaN"), None, Some("-0"), Some("1e3")];
const KEYS: Texts = &[Some("a"), Some("b"), Some("a"), Some("cc"), Some("")];
const TIMES: Texts = &[
    Some("2024-02-29 12:00"),
    Some("infinity"),
    None,
    Some("0044-03-15 BC"),
    Some("1999-12-31 23:59:59.5"),
];
const ADDRESSES: Texts =
    &[Some("10.0.0.1"), Some("10.0.0.1/8"), None, Some("::1"), Some("9.255.255.255")];

const RANGES: Texts = &[Some("[1,50]"), None, Some("[40,60)"), Some("(45,100)"), Some("[30,)")];
const GAPS: Texts = &[Some("[7,8]"), Some("empty"), None, Some("(,3)"), Some("[5,5]")];
const LISTS: Texts =
    &[Some("{[1,9],(10,20]}"), Some("{}"), None, Some("{(5,15)}"), Some("{(,2.0],(15,16),[30,)}")];
const NO_LISTS: Texts = &[None, Some("{}"), None, Some("{}"), None];

const AGGREGATES: &[Case] = &[
    Case {
        signature: "range_agg(anyrange)",
        args: &[(3904, "int4range", RANGES)],
        result: (4451, "int4multirange"),
    },
    Case {
        signature: "range_agg(anyrange)",
        args: &[(3904, "int4range", GAPS)],
        result: (4451, "int4multirange"),
    },
    Case {
        signature: "range_agg(anymultirange)",
        args: &[(4532, "nummultirange", LISTS)],
        result: (4532, "nummultirange"),
    },
    Case {
        signature: "range_agg(anymultirange)",
        args: &[(4532, "nummultirange", NO_LISTS)],
        result: (4532, "nummultirange"),
    },
    Case {
        signature: "range_intersect_agg(anyrange)",
        args: &[(3904, "int4range", RANGES)],
        result: (3904, "int4range"),
    },
    Case {
        signature: "range_intersect_agg(anyrange)",
        args: &[(3904, "int4range", GAPS)],
        result: (3904, "int4range"),
    },
    Case {
        signature: "range_intersect_agg(anymultirange)",
        args: &[(4532, "nummultirange", LISTS)],
        result: (4532, "nummultirange"),
    },
    Case {
        signature: "array_agg(anynonarray)",
        args: &[(23, "int4", INTS)],
        result: (1007, "int4[]"),
    },
    Case {
        signature: "array_agg(anynonarray)",
        args: &[(25, "text", TEXTS)],
        result: (1009, "text[]"),
    },
    Case {
        signature: "array_agg(anynonarray)",
        args: &[(1700, "numeric", NUMBERS)],
        result: (1231, "numeric[]"),
    },
    Case {
        signature: "array_agg(anyarray)",
        args: &[(1007, "int4[]", ARRAYS)],
        result: (1007, "int4[]"),
    },
    Case {
        signature: "array_agg(anyarray)",
        args: &[(1007, "int4[]", UNEVEN)],
        result: (1007, "int4[]"),
    },
    Case {
        signature: "array_agg(anyarray)",
        args: &[(1007, "int4[]", SOME_NULL)],
        result: (1007, "int4[]"),
    },
    Case {
        signature: "array_agg(anyarray)",
        args: &[(1007, "int4[]", EMPTY)],
        result: (1007, "int4[]"),
    },
    Case {
        signature: "max(anyarray)",
        args: &[(1007, "int4[]", SOME_NULL)],
        result: (1007, "int4[]"),
    },
    Case {
        signature: "min(anyarray)",
        args: &[(1007, "int4[]", SOME_NULL)],
        result: (1007, "int4[]"),
    },
    Case { signature: "max(inet)", args: &[(869, "inet", ADDRESSES)], result: (869, "inet") },
    Case { signature: "min(inet)", args: &[(869, "inet", ADDRESSES)], result: (869, "inet") },
    Case { signature: "json_agg(anyelement)", args: &[(23, "int4", INTS)], result: (114, "json") },
    Case { signature: "json_agg(anyelement)", args: &[(25, "text", TEXTS)], result: (114, "json") },
    Case {
        signature: "json_agg(anyelement)",
        args: &[(114, "json", JSONS)],
        result: (114, "json"),
    },
    Case {
        signature: "json_agg(anyelement)",
        args: &[(1007, "int4[]", SOME_NULL)],
        result: (114, "json"),
    },
    Case {
        signature: "json_agg(anyelement)",
        args: &[(1114, "timestamp", TIMES)],
        result: (114, "json"),
    },
    Case {
        signature: "jsonb_agg(anyelement)",
        args: &[(23, "int4", INTS)],
        result: (3802, "jsonb"),
    },
    Case {
        signature: "jsonb_agg(anyelement)",
        args: &[(1700, "numeric", NUMBERS)],
        result: (3802, "jsonb"),
    },
    Case {
        signature: "jsonb_agg(anyelement)",
        args: &[(114, "json", JSONS)],
        result: (3802, "jsonb"),
    },
    Case {
        signature: "jsonb_agg(anyelement)",
        args: &[(3802, "jsonb", JSONS)],
        result: (3802, "jsonb"),
    },
    Case {
        signature: "json_object_agg(any,any)",
        args: &[(25, "text", KEYS), (23, "int4", INTS)],
        result: (114, "json"),
    },
    Case {
        signature: "json_object_agg(any,any)",
        args: &[(25, "text", TEXTS), (23, "int4", INTS)],
        result: (114, "json"),
    },
    Case {
        signature: "jsonb_object_agg(any,any)",
        args: &[(25, "text", KEYS), (3802, "jsonb", JSONS)],
        result: (3802, "jsonb"),
    },
    Case {
        signature: "jsonb_object_agg(any,any)",
        args: &[(1007, "int4[]", ARRAYS), (23, "int4", INTS)],
        result: (3802, "jsonb"),
    },
];

/// The column of an argument, with the text that PostgreSQL reads it from.
fn column(all: &Ours, oid: Oid, texts: &[Option<&str>]) -> Col {
    let value = |text: &Option<&str>| text.map_or(Datum::Null, |text| all.read(oid, text));
    let values: Vec<Datum<'static>> = texts.iter().map(value).collect();
    let own = repr(&all.catalog, oid).expect("it has values");
    Col::new(Datum::column(own, values.iter()).expect("a column"))
}

/// The result of a group of the first `rows` rows: at once, or of two states of which one was saved.
fn aggregated(all: &Ours, case: &Case, rows: usize, split: bool) -> String {
    let oids: Vec<Oid> = case.args.iter().map(|arg| arg.0).collect();
    let proc = all.proc(case.signature);
    let types = all.types(&oids, case.result.0);
    let make = || find_aggregate(proc.oid).expect("an aggregate")(&types);
    let cx = &mut all.cx();
    let mut states = make();
    states.grow(2);
    let middle = if split { rows / 2 } else { rows };
    let take = |from: usize, to: usize| -> Vec<Col> {
        case.args.iter().map(|(oid, _, texts)| column(all, *oid, &texts[from..to])).collect()
    };
    let outcome = (|| {
        states.update(&take(0, middle), &vec![1; middle], cx)?;
        if split {
            let mut later = make();
            later.grow(1);
            later.update(&take(middle, rows), &vec![0; rows - middle], cx)?;
            let saved = later.save(1);
            states.merge(&saved, &[1], cx)?;
        }
        states.forget(1);
        states.finish(1, cx)
    })();
    match outcome {
        Ok(column) => {
            let own = repr(&all.catalog, case.result.0).expect("it has values");
            all.shown(case.result.0, &Datum::at(&column, own, 0))
        }
        Err(e) => format!("! {} {}", e.state, e.message),
    }
}

#[test]
fn aggregates_give_what_postgresql_gives() {
    let (postgres, all) = (Postgres::start(), Ours::new());
    let (mut queries, mut mine) = (Vec::new(), Vec::new());
    for case in AGGREGATES {
        for rows in 0..=case.args[0].2.len() {
            let row = |row: usize| {
                let value = |(_, name, texts): &(Oid, &str, Texts)| match texts[row] {
                    Some(text) => format!("'{}'::{name}", text.replace('\'', "''")),
                    None => format!("null::{name}"),
                };
                let values: Vec<String> = case.args.iter().map(value).collect();
                format!("({row}, {})", values.join(", "))
            };
            let types: Vec<String> =
                case.args.iter().map(|arg| format!("null::{}", arg.1)).collect();
            let mut all_rows = vec![format!("(-1, {})", types.join(", "))];
            all_rows.extend((0..rows).map(row));
            let names: Vec<String> = (0..case.args.len()).map(|n| format!("a{n}")).collect();
            let (names, all_rows) = (names.join(", "), all_rows.join(", "));
            let name = case.signature.split('(').next().expect("a name");
            queries.push(format!(
                "select case when num_nulls(x) = 1 then 'NULL' else format('%s', x) end from \
                 (select {name}({names} order by n) as x from (values {all_rows}) v(n, {names}) where n >= 0) q"
            ));
            mine.push((aggregated(&all, case, rows, false), aggregated(&all, case, rows, true)));
        }
    }
    for ((query, theirs), mine) in queries.iter().zip(answers(&postgres, &queries)).zip(&mine) {
        assert_eq!(mine.0, theirs, "{query}");
        assert_eq!(mine.1, theirs, "merged: {query}");
    }
}

/// A function that gives a set: its arguments as type, name of that, text; and the types of its columns.
type Set = (&'static str, &'static [(Oid, &'static str, &'static str)], &'static [Oid]);

const SETS: &[Set] = &[
    ("unnest(anymultirange)", &[(4451, "int4multirange", "{(,3),[5,6],[9,)}")], &[3904]),
    ("unnest(anymultirange)", &[(4532, "nummultirange", "{(1.0,2.50],[3,3]}")], &[3906]),
    ("unnest(anymultirange)", &[(4451, "int4multirange", "{}")], &[3904]),
    ("unnest(anyarray)", &[(1007, "int4[]", "{1,NULL,3}")], &[23]),
    ("unnest(anyarray)", &[(1009, "text[]", "{{a,b},{c,\"d e\"}}")], &[25]),
    ("unnest(anyarray)", &[(1007, "int4[]", "{}")], &[23]),
    (
        "generate_subscripts(anyarray,int4)",
        &[(1007, "int4[]", "[3:5]={1,2,3}"), (23, "int4", "1")],
        &[23],
    ),
    (
        "generate_subscripts(anyarray,int4)",
        &[(1007, "int4[]", "{{1,2}}"), (23, "int4", "2")],
        &[23],
    ),
    (
        "generate_subscripts(anyarray,int4)",
        &[(1007, "int4[]", "{{1,2}}"), (23, "int4", "3")],
        &[23],
    ),
    ("generate_subscripts(anyarray,int4)", &[(1007, "int4[]", "{1}"), (23, "int4", "-1")], &[23]),
    (
        "generate_subscripts(anyarray,int4,bool)",
        &[(1007, "int4[]", "{7,8,9}"), (23, "int4", "1"), (16, "bool", "t")],
        &[23],
    ),
    ("string_to_table(text,text)", &[(25, "text", "a,b,,c"), (25, "text", ",")], &[25]),
    (
        "string_to_table(text,text,text)",
        &[(25, "text", "a,b,,c"), (25, "text", ","), (25, "text", "")],
        &[25],
    ),
    ("jsonb_array_elements(jsonb)", &[(3802, "jsonb", "[1, \"a\", null, {\"b\": []}]")], &[3802]),
    ("jsonb_array_elements(jsonb)", &[(3802, "jsonb", "{}")], &[3802]),
    ("jsonb_array_elements(jsonb)", &[(3802, "jsonb", "1")], &[3802]),
    (
        "jsonb_array_elements_text(jsonb)",
        &[(3802, "jsonb", "[1, \"a\", null, {\"b\": []}]")],
        &[25],
    ),
    (
        "json_array_elements(json)",
        &[(114, "json", "[1, \"\\u00e9\" , null, { \"b\": [ ] }]")],
        &[114],
    ),
    (
        "json_array_elements_text(json)",
        &[(114, "json", "[1, \"\\u00e9\" , null, { \"b\": [ ] }]")],
        &[25],
    ),
    ("json_array_elements(json)", &[(114, "json", "{}")], &[114]),
    ("json_array_elements(json)", &[(114, "json", "1")], &[114]),
    ("json_array_elements_text(json)", &[(114, "json", "[\"\\u0000\"]")], &[25]),
    ("json_array_elements(json)", &[(114, "json", "[\"\\u0000\"]")], &[114]),
    (
        "jsonb_each(jsonb)",
        &[(3802, "jsonb", "{\"bb\": 1, \"a\": \"x\", \"c\": null}")],
        &[25, 3802],
    ),
    (
        "jsonb_each_text(jsonb)",
        &[(3802, "jsonb", "{\"bb\": 1, \"a\": \"x\", \"c\": null}")],
        &[25, 25],
    ),
    ("jsonb_each(jsonb)", &[(3802, "jsonb", "[]")], &[25, 3802]),
    ("jsonb_each_text(jsonb)", &[(3802, "jsonb", "1")], &[25, 25]),
    (
        "json_each(json)",
        &[(114, "json", "{\"bb\": 1, \"a\": \"x\" , \"a\": [ 1 ], \"c\": null}")],
        &[25, 114],
    ),
    (
        "json_each_text(json)",
        &[(114, "json", "{\"bb\": 1, \"a\": \"\\n\", \"c\": null}")],
        &[25, 25],
    ),
    ("json_each(json)", &[(114, "json", "[]")], &[25, 114]),
    ("json_each(json)", &[(114, "json", "1")], &[25, 114]),
    ("jsonb_object_keys(jsonb)", &[(3802, "jsonb", "{\"bb\": 1, \"a\": {\"z\": 1}}")], &[25]),
    ("jsonb_object_keys(jsonb)", &[(3802, "jsonb", "[]")], &[25]),
    ("jsonb_object_keys(jsonb)", &[(3802, "jsonb", "1")], &[25]),
    (
        "json_object_keys(json)",
        &[(114, "json", "{\"bb\": 1, \"a\": {\"z\": 1}, \"bb\": 2}")],
        &[25],
    ),
    ("json_object_keys(json)", &[(114, "json", "[]")], &[25]),
    ("json_object_keys(json)", &[(114, "json", "1")], &[25]),
];

fn rows(all: &Ours, set: &Set) -> String {
    let (wanted, args, columns) = set;
    let proc = all.proc(wanted);
    let oids: Vec<Oid> = args.iter().map(|arg| arg.0).collect();
    let series = find_series(proc.oid).expect("a series")(&all.types(&oids, columns[0]));
    let values: Vec<Datum<'static>> =
        args.iter().map(|(oid, _, text)| all.read(*oid, text)).collect();
    let started = series.start(&values, &mut all.cx());
    let made = started.and_then(|rows| rows.collect::<onlap_kernels::Result<Vec<_>>>());
    match made {
        Err(e) => format!("! {} {}", e.state, e.message),
        Ok(made) => {
            let row = |row: &Vec<Datum<'_>>| {
                assert_eq!(row.len(), columns.len(), "{wanted}: a value per column");
                let both = row.iter().zip(*columns);
                both.map(|(value, oid)| all.shown(*oid, value)).collect::<Vec<_>>().join("|")
            };
            let lines: Vec<String> = made.iter().map(row).collect();
            if lines.is_empty() { "NULL".into() } else { lines.join("; ") }
        }
    }
}

#[test]
fn sets_are_those_of_postgresql() {
    let (postgres, all) = (Postgres::start(), Ours::new());
    let query = |(wanted, args, columns): &Set| {
        let name = wanted.split('(').next().expect("a name");
        let values: Vec<String> = args
            .iter()
            .map(|(_, ty, text)| format!("'{}'::{ty}", text.replace('\'', "''")))
            .collect();
        let names: Vec<String> = (0..columns.len()).map(|n| format!("c{n}")).collect();
        let shown: Vec<String> =
            names.iter().map(|name| format!("coalesce({name}::text, 'NULL')")).collect();
        format!(
            "select string_agg({}, '; ') from {name}({}) q({})",
            shown.join(" || '|' || "),
            values.join(", "),
            names.join(", ")
        )
    };
    let queries: Vec<String> = SETS.iter().map(query).collect();
    for ((query, theirs), set) in queries.iter().zip(answers(&postgres, &queries)).zip(SETS) {
        assert_eq!(rows(&all, set), theirs, "{query}");
    }
}
