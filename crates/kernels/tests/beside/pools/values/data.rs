//! Values for functions of arrays, rows and json that the general ones do not test well.

use onlap_pg::Oid;
use onlap_pg::catalog::{Catalog, Proc};

const INT4S: &[&str] = &[
    "{}",
    "{1}",
    "{1,2,3}",
    "{3,NULL,1,2,1}",
    "{NULL}",
    "[0:1]={1,2}",
    "[-2:0]={1,1,1}",
    "{{1,2},{3,4}}",
    "{{1,2,3}}",
    "[2:3][-1:0]={{1,2},{3,NULL}}",
    "{{{1},{2}},{{3},{4}}}",
    "{2147483647,-2147483648}",
    "[2147483646:2147483646]={7}",
    "[-2147483648:-2147483648]={7}",
];

const TEXTS: &[&str] = &[
    "{}",
    "{a}",
    "{a,b,c}",
    "{b,NULL,\"NULL\",\"\"}",
    "{\"a b\",\"c,d\",\"e\\\"f\",\"g\\\\h\"}",
    "{{a,b},{c,d}}",
    "[5:6]={x,y}",
    "{NULL,NULL}",
    "{äö,日本}",
    "{1,2,a}",
];

const NUMERICS: &[&str] =
    &["{}", "{1,1.0,1.00}", "{NaN,Infinity,-Infinity}", "{{0.5},{NULL}}", "{2,1}"];

const VECTORS: &[&str] = &["", "1", "1 2 3", "0 0", "3 2"];

/// Texts of values for an argument, if the general ones do not do.
pub fn pool(_: &Catalog, proc: &Proc, at: usize, oid: Oid) -> Option<&'static [&'static str]> {
    if let Some(pool) = of_function(proc.name, at, oid) {
        return Some(pool);
    }
    Some(match oid {
        1007 => INT4S,
        1009 | 1015 => TEXTS,
        1231 => NUMERICS,
        1005 => &["{}", "{1,2}", "{NULL,-1}"],
        1016 => &["{}", "{9223372036854775807}", "{1,NULL}"],
        1022 => &["{}", "{0,-0,NaN}", "{NULL,1.5}", "{1,2,3.25}"],
        1000 => &["{}", "{t,f,NULL}"],
        22 => VECTORS,
        30 => VECTORS,
        _ => return None,
    })
}

/// Arguments that mean something to one function.
fn of_function(name: &str, at: usize, oid: Oid) -> Option<&'static [&'static str]> {
    Some(match (name, at, oid) {
        ("array_length" | "array_lower" | "array_upper", 1, 23) => &["-1", "0", "1", "2", "3", "7"],
        ("trim_array", 1, 23) => &["-1", "0", "1", "2", "3", "5"],
        ("array_fill", 1 | 2, 1007) => &[
            "{}",
            "{2}",
            "{2,3}",
            "{0}",
            "{-1}",
            "{1,NULL}",
            "{{1}}",
            "{2147483647}",
            "{100000,100000}",
            "{1,1,1,1,1,1,1}",
            "[5:6]={3,2}",
        ],
        ("array_position", 2, 23) => &["-5", "0", "1", "2", "4"],
        ("array_position" | "array_positions" | "array_remove" | "array_replace", 1 | 2, 23) => {
            &["1", "2", "7", "-1"]
        }
        ("array_append", 1, 23) | ("array_prepend", 0, 23) => &["1", "-7"],
        ("array_to_string", 1 | 2, 25) => &["", ",", ", ", "<null>", "äö"],
        ("string_to_array", 0, 25) => &["", "a,b,c", "a,,c,", ",", "xx~^~yy~^~zz", "äbö", "null"],
        ("string_to_array", 1 | 2, 25) => &["", ",", "~^~", "b", "null", "a"],
        _ => return None,
    })
}

/// The types that a polymorphic function is called with, and that of its result.
pub fn instances(catalog: &Catalog, proc: &Proc) -> Option<Vec<(Vec<Oid>, Oid)>> {
    const RECORD: Oid = 2249;
    // Rows have no literals; functions of them have a test of their own.
    if proc.arguments.contains(&RECORD) || onlap_kernels::misc::asks_session(catalog, proc.oid) {
        return Some(Vec::new());
    }
    None
}
