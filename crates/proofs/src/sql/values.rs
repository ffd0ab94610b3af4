//! Which values are drawn for a type?
//!
//! Small ones that meet each other, and those at the edges. A type without values here is not drawn.

use onlap_base::Rng;
use onlap_pg::Oid;
use onlap_pg::catalog::Catalog;

/// What edge values are drawn instead of ordinary ones.
const EDGES: f64 = 0.2;

/// Types of values: OID, the name to cast with, ordinary values, those at the edges.
const POOLS: &[(Oid, &str, &[&str], &[&str])] = &[
    (16, "bool", &["t", "f"], &[]),
    (18, "\"char\"", &["a", "b"], &["", "\\200"]),
    (19, "name", &["a", "b", "public"], &["", "Aé"]),
    (
        20,
        "int8",
        &["0", "1", "2", "-1", "3", "7"],
        &["9223372036854775807", "-9223372036854775808", "4294967296"],
    ),
    (21, "int2", &["0", "1", "2", "-1", "3"], &["32767", "-32768"]),
    (
        23,
        "int4",
        &["0", "1", "2", "-1", "3", "4", "7", "10"],
        &["2147483647", "-2147483648", "100"],
    ),
    (25, "text", &["", "a", "b", "ab", "A", "abc", "x y"], TEXTS),
    (26, "oid", &["0", "1", "23"], &["4294967295"]),
    (
        142,
        "xml",
        &["<a/>", "<a>1</a>", "text", "", "<?xml version=\"1.0\"?><b c=\"1\"/>"],
        &["<a>&lt;</a><b/>", "<?xml version=\"1.1\"?><a/>", "<!-- c -->"],
    ),
    (
        114,
        "json",
        &["{\"a\": 1}", "[1,2]", "null", "\"a\"", "3"],
        &["{\"a\":{\"b\":[1, null]},\"a\":2}", " [ ] ", "1e400"],
    ),
    (
        700,
        "float4",
        &["0", "1", "2", "-1", "0.5"],
        &["NaN", "Infinity", "-Infinity", "-0", "1e30", "1e-30", "16777216"],
    ),
    (
        701,
        "float8",
        &["0", "1", "2", "-1", "0.5", "2.5"],
        &["NaN", "Infinity", "-Infinity", "-0", "1e15", "1e300", "1e-300"],
    ),
    (790, "money", &["1", "2.50", "-1"], &["92233720368547758.07"]),
    (829, "macaddr", &["08:00:2b:01:02:03", "00:00:00:00:00:01"], &["ff:ff:ff:ff:ff:ff"]),
    (
        869,
        "inet",
        &["10.0.0.1", "10.0.0.0/8", "::1"],
        &["0.0.0.0/0", "fe80::/10", "255.255.255.255"],
    ),
    (650, "cidr", &["10.0.0.0/8", "::1/128"], &["0.0.0.0/0", "192.168.0.0/16"]),
    (774, "macaddr8", &["08:00:2b:01:02:03:04:05"], &["00:00:00:00:00:00:00:00"]),
    (1042, "bpchar", &["", "a", "a ", "b", "ab"], &["  x", "é "]),
    (1043, "varchar", &["", "a", "b", "ab", "a "], TEXTS),
    (
        1082,
        "date",
        &["2024-02-29", "2000-01-01", "1999-12-31", "2024-03-01"],
        &["infinity", "-infinity", "0044-03-15 BC", "5874897-12-31"],
    ),
    (1083, "time", &["00:00", "12:34:56", "23:59:59.5"], &["24:00", "00:00:00.000001"]),
    (
        1114,
        "timestamp",
        &["2024-02-29 12:00", "2000-01-01", "1999-12-31 23:59:59.5"],
        &["infinity", "-infinity", "0001-01-01 BC", "294276-12-31 23:59:59", "2024-03-31 02:30"],
    ),
    (
        1184,
        "timestamptz",
        &["2024-02-29 12:00+00", "2000-01-01 00:00+01", "1999-12-31 23:59:59+00"],
        &["infinity", "-infinity", "2024-03-31 01:00+00", "2024-10-27 01:30+00"],
    ),
    (
        1186,
        "interval",
        &["1 day", "1 mon", "01:30:00", "0", "2 days 03:00:00"],
        &["-1 year 2 days", "178000000 years", "-00:00:00.000001", "1 mon -31 days"],
    ),
    (1266, "timetz", &["12:00+00", "00:00+01"], &["24:00-05", "23:59:59.999999+14"]),
    (1560, "bit(4)", &["1010", "0001"], &["0000"]),
    (1562, "varbit", &["101", "1", ""], &["11111111111111111111111111111111111111"]),
    (
        1700,
        "numeric",
        &["0", "1", "2", "-1", "1.5", "2.50", "3"],
        &[
            "NaN",
            "Infinity",
            "-Infinity",
            "12345678901234567890.5",
            "1e-20",
            "0.00",
            "1.00",
            "99999.995",
        ],
    ),
    (17, "bytea", &["\\x", "\\x01", "\\x6162"], &["\\x00ff", "abc"]),
    (
        2950,
        "uuid",
        &["00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"],
        &["FFFFFFFF-ffff-ffff-ffff-ffffffffffff"],
    ),
    (
        3802,
        "jsonb",
        &["{\"a\": 1}", "[1, 2]", "null", "\"a\"", "3", "{}"],
        &["{\"a\": {\"b\": [1, null, 1.00]}}", "[]", "1e3", "true", "[\"a\", [], {}]"],
    ),
    (3904, "int4range", INT_RANGES, &["[2147483646,2147483647)", "(,-2147483648]"]),
    (3926, "int8range", INT_RANGES, &["[9223372036854775806,)", "[-9223372036854775808,0]"]),
    (
        3906,
        "numrange",
        &["[1,2]", "[1.0,2.50)", "(0,1)", "empty", "(,1.5]", "(2,)"],
        &["(,)", "[NaN,NaN]", "[-Infinity,Infinity)", "[1,NaN)", "(0,1e-20]"],
    ),
    (
        3908,
        "tsrange",
        &["[2000-01-01,2024-02-29 12:00)", "empty", "(,2000-01-01]", "[1999-12-31 23:59:59.5,)"],
        &["(,)", "[2000-01-01,infinity]", "(-infinity,2000-01-01)"],
    ),
    (
        3910,
        "tstzrange",
        &["[2000-01-01 00:00+00,2024-02-29 12:00+00)", "empty", "(,2000-01-01 00:00+01]"],
        &["(,)", "[infinity,infinity]"],
    ),
    (
        3912,
        "daterange",
        &["[2000-01-01,2024-02-29]", "empty", "(1999-12-31,)", "[2024-03-01,2024-03-01]"],
        &["(,)", "(-infinity,infinity)", "[2000-01-01,infinity]"],
    ),
    (4451, "int4multirange", INT_LISTS, &["{(,)}", "{[2147483646,2147483647)}"]),
    (4536, "int8multirange", INT_LISTS, &["{(,)}"]),
    (
        4532,
        "nummultirange",
        &["{}", "{[1.0,2),(2,3]}", "{(,1]}", "{[1,2],[3,)}"],
        &["{(,)}", "{[NaN,NaN]}"],
    ),
    (4533, "tsmultirange", &["{}", "{[2000-01-01,2024-02-29)}", "{(,1999-12-31)}"], &["{(,)}"]),
    (4534, "tstzmultirange", &["{}", "{[2000-01-01 00:00+00,)}"], &["{(,)}"]),
    (
        4535,
        "datemultirange",
        &["{}", "{[2000-01-01,2000-01-03],[2024-02-29,)}", "{(,1999-12-31]}"],
        &["{(,)}", "{[infinity,infinity]}"],
    ),
    (
        4072,
        "jsonpath",
        &["$.a", "$[*]", "$.a.b[0]", "strict $.a", "$[*] ? (@ > 1)"],
        &["$", "lax $.**", "$.type()", "$.a + 1"],
    ),
];

/// Ranges of whole numbers, of which many overlap or meet.
const INT_RANGES: &[&str] = &["[1,3]", "[2,4)", "(0,1]", "empty", "[4,7]", "(,2)", "[3,)", "(,)"];

/// Multiranges of such.
const INT_LISTS: &[&str] = &["{}", "{[1,3]}", "{[1,2),[3,4]}", "{(,0),[2,2],[7,)}", "{[5,9)}"];

/// Texts for functions that read them as something.
const TEXTS: &[&str] = &[
    "%",
    "a%",
    "_b",
    "\\",
    "(a|b)+",
    "[[:alpha:]]",
    "2024-02-29",
    "12:30",
    "1.5",
    "-7",
    "t",
    "YYYY-MM-DD HH24:MI",
    "999D99",
    "FM000",
    "é€ß",
    "  a  ",
    "a,b,,c",
    ",",
    "{1,2,NULL}",
    "[1]",
    "hex",
    "base64",
    "escape",
    "day",
    "month",
    "hour",
    "Europe/Berlin",
    "UTC",
    "NaN",
    "infinity",
    "g",
    "%s-%s",
    "1 day",
    "10.0.0.1/8",
    "$.a",
    "int4",
    "UTF8",
];

fn pool(
    ty: Oid,
) -> Option<&'static (Oid, &'static str, &'static [&'static str], &'static [&'static str])> {
    POOLS.iter().find(|pool| pool.0 == ty)
}

/// Types that have values here, without arrays.
pub fn types() -> impl Iterator<Item = Oid> {
    POOLS.iter().map(|pool| pool.0)
}

/// What an array type has as elements, if they are drawn.
fn element(ty: Oid) -> Option<Oid> {
    Catalog::new().element(ty).filter(|element| pool(*element).is_some())
}

/// Whether values of a type are drawn.
pub fn is_drawn(ty: Oid) -> bool {
    pool(ty).is_some() || element(ty).is_some()
}

/// How a cast names a type.
pub fn name(ty: Oid) -> String {
    match (pool(ty), element(ty)) {
        (Some(pool), _) => pool.1.into(),
        (None, Some(element)) => format!("{}[]", name(element)),
        (None, None) => Catalog::new().shown(ty),
    }
}

/// A NULL of a type.
pub fn null(ty: Oid) -> String {
    format!("null::{}", name(ty))
}

/// The simplest value of a type.
pub fn plain(ty: Oid) -> Option<String> {
    let first = pool(ty)?.2[0];
    Some(written(ty, first))
}

/// A literal of a type. Integers, truths and texts stand as they are, some others by the type's name alone.
pub fn written(ty: Oid, text: &str) -> String {
    let quoted = format!("'{}'", text.replace('\'', "''"));
    match ty {
        23 if !text.starts_with('-') => text.to_string(),
        23 => format!("({text})"),
        16 if text == "t" => "true".into(),
        16 => "false".into(),
        _ => format!("{quoted}::{}", name(ty)),
    }
}

/// The text of a value.
pub fn text(rng: &mut Rng, ty: Oid) -> Option<String> {
    if let Some(element) = element(ty).filter(|_| pool(ty).is_none()) {
        let count = rng.below(4);
        let items: Vec<String> = (0..count)
            .map(|_| match rng.chance(0.15) {
                true => "NULL".into(),
                false => format!("\"{}\"", escaped(&text(rng, element).unwrap_or_default())),
            })
            .collect();
        let bounds = if rng.chance(0.05) && count > 0 {
            format!("[0:{}]=", count - 1)
        } else {
            String::new()
        };
        return Some(format!("{bounds}{{{}}}", items.join(",")));
    }
    let (_, _, usual, edges) = pool(ty)?;
    let from = if !edges.is_empty() && rng.chance(EDGES) { edges } else { usual };
    let chosen: &&str = rng.pick(from);
    Some((*chosen).to_string())
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// A literal.
pub fn literal(rng: &mut Rng, ty: Oid) -> String {
    if rng.chance(0.08) {
        return null(ty);
    }
    let Some(value) = text(rng, ty) else { return null(ty) };
    let quoted = format!("'{}'", value.replace('\'', "''"));
    if rng.chance(0.08)
        && let Some(narrow) = narrow(rng, ty)
    {
        return format!("{quoted}::{narrow}");
    }
    match (ty, rng.chance(0.5)) {
        // Constants without a type, numbers as they stand.
        (25, true) => quoted,
        (1700, true) if value.parse::<f64>().is_ok_and(f64::is_finite) => format!("({value})"),
        _ => written(ty, &value),
    }
}

/// The type with a modifier.
pub fn narrow(rng: &mut Rng, ty: Oid) -> Option<&'static str> {
    let of: &[&str] = match ty {
        1042 => &["char(3)", "char"],
        1043 => &["varchar(2)", "varchar(10)"],
        1700 => &["numeric(6,2)", "numeric(3)", "numeric(4,-1)", "numeric(30,10)"],
        1114 => &["timestamp(0)", "timestamp(3)"],
        1184 => &["timestamptz(0)"],
        1083 => &["time(0)"],
        1186 => &["interval(0)", "interval day to second", "interval year"],
        1560 => &["bit(2)", "bit"],
        1562 => &["varbit(2)"],
        _ => return None,
    };
    Some(of[rng.index(of.len())])
}
