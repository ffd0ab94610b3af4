//! Do keys have PostgreSQL's equality and order?

use onlap_kernels::{Comparer, Datum, compare, key, key_bytes, key_column, repr};
use onlap_pg::Oid;
use onlap_testkit::postgres::Postgres;

use crate::oracle::answers;
use crate::ours::Ours;

/// Types with values among which are equal ones that look different.
const VALUES: &[(Oid, &str, &[&str])] = &[
    (16, "bool", &["t", "f"]),
    (20, "int8", &["0", "-1", "9223372036854775807", "-9223372036854775808"]),
    (26, "oid", &["0", "4294967295", "5"]),
    (700, "float4", &["0", "-0", "NaN", "1.5", "-1.5", "Infinity", "-Infinity", "1e-40"]),
    (701, "float8", &["0", "-0", "NaN", "1.5", "-1.5", "Infinity", "-Infinity", "1e-310", "2"]),
    (
        1700,
        "numeric",
        &[
            "0",
            "0.00",
            "1",
            "1.0",
            "-1",
            "NaN",
            "Infinity",
            "-Infinity",
            "1e-20",
            "1e20",
            "-1e20",
            "9999",
            "10000",
            "10000.0001",
        ],
    ),
    (25, "text", &["", "a", "ab", "b", "A", "ä", "日", "a "]),
    (1042, "bpchar", &["", " ", "a", "a ", "a  b", "a\tb", "b"]),
    (19, "name", &["", "a", "B", "b"]),
    (17, "bytea", &["", "\\x00", "\\x0000", "\\x00ff", "\\x01", "\\xff"]),
    (
        2950,
        "uuid",
        &["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    ),
    (1082, "date", &["2000-01-01", "infinity", "-infinity", "0044-03-15 BC"]),
    (1114, "timestamp", &["2000-01-01", "infinity", "-infinity", "1999-12-31 23:59:59.999999"]),
    (
        1186,
        "interval",
        &[
            "1 month",
            "30 days",
            "720 hours",
            "-1 day",
            "0",
            "1 day",
            "24:00:00",
            "178000000 years",
            "-178000000 years",
        ],
    ),
    (
        3802,
        "jsonb",
        &[
            "null",
            "[]",
            "{}",
            "1",
            "1.0",
            "-1",
            "\"a\"",
            "\"ab\"",
            "\"\"",
            "true",
            "false",
            "[1]",
            "[1, 2]",
            "[null]",
            "[\"a\"]",
            "[true]",
            "[[]]",
            "[{}]",
            "{\"a\": 1}",
            "{\"a\": 1.00}",
            "{\"b\": 0}",
            "{\"aa\": 0}",
            "{\"a\": 1, \"b\": 2}",
            "{\"a\": [1]}",
            "{\"a\": {}}",
            "[[1], 2]",
            "[1, [2]]",
            "{\"a\": null}",
        ],
    ),
    (
        1007,
        "int4[]",
        &[
            "{}",
            "{1}",
            "[0:0]={1}",
            "{1,2}",
            "{NULL}",
            "{1,NULL}",
            "{{1,2}}",
            "{{1},{2}}",
            "{2}",
            "{-1}",
            "{1,2,3}",
        ],
    ),
    (1009, "text[]", &["{}", "{a}", "{\"\"}", "{a,b}", "{ab}", "{NULL,a}", "{\"a \"}"]),
    (1022, "float8[]", &["{0}", "{-0}", "{NaN}", "{1,NaN}", "{}"]),
    (1231, "numeric[]", &["{1}", "{1.0}", "{1,2}", "{NaN}"]),
    (1014, "bpchar[]", &["{a}", "{\"a \"}", "{b}"]),
    (3807, "jsonb[]", &["{\"[]\",\"null\"}", "{\"null\"}", "{\"[]\"}", "{}"]),
    (
        869,
        "inet",
        &[
            "10.0.0.1",
            "10.0.0.1/8",
            "10.0.0.0/8",
            "10.0.0.2/8",
            "10.1.0.0/16",
            "0.0.0.0/0",
            "::1",
            "::/0",
            "255.255.255.255",
            "2001:db8::/32",
        ],
    ),
    (650, "cidr", &["10.0.0.0/8", "10.0.0.0/16", "11.0.0.0/8", "::/0"]),
    (
        3904,
        "int4range",
        &["empty", "(,)", "(,1]", "[1,)", "[1,5]", "(0,6)", "[1,6]", "(0,)", "[-3,2)"],
    ),
    (
        3906,
        "numrange",
        &[
            "empty",
            "(,)",
            "[1,2]",
            "[1.0,2.00]",
            "(1,2]",
            "[1,2)",
            "(1,2)",
            "(,2)",
            "(,2]",
            "[1,)",
            "(1,)",
            "[NaN,)",
            "[1,NaN]",
            "[-Infinity,Infinity)",
        ],
    ),
    (
        3908,
        "tsrange",
        &["empty", "(,infinity)", "(,infinity]", "(,)", "[-infinity,)", "(-infinity,2000-01-01]"],
    ),
    (
        3912,
        "daterange",
        &["empty", "(2000-01-01,2000-01-05)", "[2000-01-02,2000-01-04]", "(,infinity)", "(,)"],
    ),
    (
        4532,
        "nummultirange",
        &[
            "{}",
            "{(,)}",
            "{[1,2]}",
            "{[1.0,2.0]}",
            "{[1,2],(3,4)}",
            "{[1,2],(3.0,4),(5,6)}",
            "{[1,2),(3,4)}",
            "{(1,2),(3,4)}",
            "{(,2),(3,)}",
        ],
    ),
    (6150, "int4multirange[]", &["{}", "{\"{}\"}", "{\"{[1,2)}\"}", "{NULL}"]),
    (829, "macaddr", &["08:00:2b:01:02:03", "ff:00:00:00:00:00", "00:00:00:00:00:00"]),
];

/// For each pair of values -1, 0 or 1, by what PostgreSQL compares them with.
fn theirs(postgres: &Postgres) -> Vec<Vec<i32>> {
    let query = |(_, name, values): &(Oid, &str, &[&str])| {
        let rows: Vec<String> = values
            .iter()
            .enumerate()
            .map(|(at, text)| format!("({at}, '{}'::{name})", text.replace('\'', "''")))
            .collect();
        let rows = rows.join(",");
        format!(
            "with v(n, x) as (values {rows}) select string_agg((case when a.x < b.x then -1 when a.x = b.x then 0 \
             when a.x > b.x then 1 end)::text, ' ' order by a.n, b.n) from v a, v b"
        )
    };
    let queries: Vec<String> = VALUES.iter().map(query).collect();
    let numbers = |line: &String| {
        line.split(' ').map(|n| n.parse().unwrap_or_else(|_| panic!("{line}"))).collect()
    };
    answers(postgres, &queries).iter().map(numbers).collect()
}

#[test]
fn keys_order_as_postgresql_does() {
    let postgres = Postgres::start();
    let ours = Ours::new();
    let catalog = &ours.catalog;
    for ((oid, name, texts), orders) in VALUES.iter().zip(theirs(&postgres)) {
        let values: Vec<Datum<'static>> = texts.iter().map(|text| ours.read(*oid, text)).collect();
        let comparer = Comparer::new(catalog, *oid);
        let bytes = |value: &Datum<'_>| {
            let mut out = Vec::new();
            key_bytes(catalog, *oid, value, &mut out);
            out
        };
        let own = repr(catalog, *oid).expect("it has values");
        let column = Datum::column(own, values.iter()).expect("a column");
        let keys = key_column(catalog, *oid, &column).expect("keys");
        let key_repr = onlap_kernels::key_repr(catalog, *oid).expect("keys have a representation");
        let keys = keys.unwrap_or(column);
        for (at, theirs) in orders.iter().enumerate() {
            let (i, j) = (at / values.len(), at % values.len());
            let (a, b) = (&values[i], &values[j]);
            let what = format!("{name}: {} and {}", texts[i], texts[j]);
            assert_eq!(compare(catalog, *oid, a, b) as i32, *theirs, "{what}: compared");
            assert_eq!(comparer.compare(catalog, a, b) as i32, *theirs, "{what}: by a comparer");
            assert_eq!(bytes(a).cmp(&bytes(b)) as i32, *theirs, "{what}: bytes of keys");
            let (x, y) = (key(catalog, *oid, a), key(catalog, *oid, b));
            assert_eq!(x == y, *theirs == 0, "{what}: keys are equal");
            assert_eq!(Datum::at(&keys, key_repr, i), x, "{what}: a column of keys");
        }
    }
}

#[test]
fn no_key_is_the_beginning_of_another() {
    let ours = Ours::new();
    for (oid, name, texts) in VALUES {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        for text in *texts {
            let mut out = Vec::new();
            key_bytes(&ours.catalog, *oid, &ours.read(*oid, text), &mut out);
            keys.push(out);
        }
        let mut null = Vec::new();
        key_bytes(&ours.catalog, *oid, &Datum::Null, &mut null);
        assert!(keys.iter().all(|key| *key < null), "{name}: NULL is last");
        keys.push(null);
        for a in &keys {
            for b in &keys {
                assert!(a == b || !b.starts_with(a), "{name}: {a:?} begins {b:?}");
            }
        }
    }
}
