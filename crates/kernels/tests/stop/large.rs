//! With which values are functions called?

use onlap_pg::Oid;
use onlap_pg::catalog::{Catalog, Kind};

/// Bytes of a large value, nearly.
const BYTES: usize = 5 << 18;

/// A type in place of a polymorphic one among others.
pub fn concrete(oid: Oid, among: &[Oid]) -> Oid {
    let ranges = among.iter().any(|oid| matches!(oid, 3831 | 5080 | 4537 | 4538));
    match oid {
        2277 | 5078 if ranges => 1007,
        2276 | 2283 | 2776 | 5077 | 5079 if ranges => 23,
        2277 | 5078 => 1009,
        2276 | 2283 | 2776 | 5077 | 5079 => 25,
        3831 | 5080 => 3904,
        4537 | 4538 => 4451,
        other => other,
    }
}

fn filled(part: &str) -> String {
    part.repeat(BYTES / part.len())
}

fn listed(open: &str, part: &str, close: &str, count: usize) -> String {
    format!("{open}{}{close}", vec![part; count].join(","))
}

/// A text of which a value of the type of some megabytes is read, where there is one.
pub fn large(catalog: &Catalog, oid: Oid) -> Option<String> {
    Some(match oid {
        25 | 1042 | 1043 | 2275 => filled("ab Cd-12 ef, "),
        17 => format!("\\x{}", "6162".repeat(BYTES / 2)),
        1560 | 1562 => "10".repeat(5 << 20),
        1700 => format!("{}.{}", "7".repeat(20_000), "3".repeat(5_000)),
        114 | 3802 => {
            listed("[", r#"{"a": 1.5, "b": "text \n", "c": [null, true]}"#, "]", BYTES / 40)
        }
        142 => format!("<a>{}</a>", filled("text &amp; <b c=\"1\"/>")),
        4072 => format!("${}", ".a".repeat(BYTES / 12)),
        4451 => {
            let ranges: Vec<String> =
                (0..BYTES / 40).map(|n| format!("[{},{})", 2 * n, 2 * n + 1)).collect();
            format!("{{{}}}", ranges.join(","))
        }
        602 => listed("((1,2),", "(3,4)", ")", 40_000),
        604 => listed("((1,2),", "(3,4)", ")", 40_000),
        _ => {
            let ty = catalog.get_type(oid)?;
            let element = (ty.element != 0 && ty.length == -1).then_some(ty.element)?;
            let element = catalog.get_type(element)?;
            if element.kind != Kind::Base {
                return None;
            }
            let text = *small(catalog, element.oid).first()?;
            let text = if text.is_empty() { "\"\"".into() } else { text.replace(['\\', ','], "") };
            listed("{", &text, "}", 150_000)
        }
    })
}

/// Large texts that are values of few types.
pub fn wrong() -> Vec<String> {
    vec![
        filled("7"),
        filled(" "),
        filled("ab Cd-12 ef, "),
        format!("{{{}", filled("[1,2],")),
        format!("[{}", filled("\"a\",")),
    ]
}

/// What an argument of a function is where others are large, if the usual small value would be refused at once.
pub fn fitting(signature: &str, at: usize) -> Option<&'static str> {
    let name = signature.split('(').next().unwrap_or_default();
    let last = signature.matches(',').count();
    Some(match (name, at) {
        ("encode", 1) => "base64",
        ("decode", 1) => "escape",
        ("digest", 1) | ("hmac", 2) => "sha256",
        ("convert_from" | "convert_to" | "convert", 1) => "LATIN1",
        ("convert", 2) | ("length", 1) => "UTF8",
        ("normalize" | "is_normalized", 1) => "NFC",
        ("set_bit", 2) => "1",
        ("regexp_instr", 4) => "1",
        ("regexp_replace", 3) if last == 3 && signature.ends_with("text)") => "g",
        ("regexp_replace", 5) | ("regexp_count", 3) | ("regexp_instr", 5) => "i",
        ("regexp_substr", 4) => "i",
        ("regexp_instr", 6) | ("regexp_substr", 5) => "0",
        ("regexp_like" | "regexp_match" | "regexp_split_to_array", 2) => "i",
        ("regexp_matches" | "regexp_split_to_table", 2) => "gi",
        ("date_part" | "extract", 0) => "day",
        ("date_trunc", 0) => "day",
        ("date_trunc", 2) | ("timezone", 0) => "UTC",
        ("jsonb_set_lax", 4) => "use_json_null",
        (name, 2) if name.starts_with("jsonb_path_") => "{}",
        (name, 2) if name.ends_with("range") => "[]",
        _ => return None,
    })
}

/// The large document of a function of objects.
fn object(signature: &str) -> Option<String> {
    const OF_OBJECTS: [&str; 4] = ["each", "each_text", "object_keys", "object_field"];
    let name = signature.split('(').next()?.trim_start_matches("jsonb_");
    let name = name.trim_start_matches("json_").trim_end_matches("_text");
    OF_OBJECTS.contains(&name).then(|| {
        let pairs: Vec<String> = (0..BYTES / 20).map(|n| format!("\"key {n}\": [{n}]")).collect();
        format!("{{{}}}", pairs.join(","))
    })
}

/// As [`large`], of an argument of a function.
pub fn large_for(catalog: &Catalog, signature: &str, oid: Oid) -> Option<String> {
    let document = matches!(oid, 114 | 3802).then(|| object(signature)).flatten();
    document.or_else(|| large(catalog, oid))
}

/// Texts of small values.
pub fn small(catalog: &Catalog, oid: Oid) -> &'static [&'static str] {
    match oid {
        16 => &["t", "f"],
        21 | 23 | 20 | 26 => &["2", "1000000"],
        700 | 701 => &["2.5"],
        1700 => &["3.7", "2"],
        18 => &["a"],
        25 | 1043 | 1042 | 2275 => &["a", "b C", "", "hex", "(a|b)+", "%a_b%"],
        19 => &["a"],
        17 => &["\\x61", "\\x"],
        1560 | 1562 => &["1", "10"],
        2950 => &["00000000-0000-0000-0000-000000000000"],
        1082 => &["2024-02-29"],
        1083 => &["12:34:56"],
        1266 => &["12:34:56+01"],
        1114 | 1184 => &["2024-02-29 12:34"],
        1186 => &["1 day"],
        114 | 3802 => &["[1, 2]", "{\"a\": 1}"],
        142 => &["<a/>"],
        4072 => &["$[*]", "$.a"],
        602 | 604 => &["((1,2),(3,4))"],
        600 => &["(1,2)"],
        601 | 603 => &["(1,2),(3,4)"],
        628 => &["{1,2,3}"],
        718 => &["<(1,2),3>"],
        869 | 650 => &["10.0.0.0/8"],
        829 => &["08:00:2b:01:02:03"],
        774 => &["08:00:2b:01:02:03:04:05"],
        790 => &["1.50"],
        3904 => &["[1,5)"],
        4451 => &["{[1,5),[7,9)}"],
        _ => match catalog.get_type(oid) {
            Some(ty) if ty.element != 0 && ty.length == -1 => &["{}", "{a}", "{1}"],
            _ => &[],
        },
    }
}
