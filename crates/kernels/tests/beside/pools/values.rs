//! Edge values of types, and types of polymorphic functions.

mod data;
mod number;
mod ranges;
mod search;
mod text;
mod time;

use onlap_pg::Oid;
use onlap_pg::catalog::{Catalog, Proc};

/// The types that a function is called with, and that of its result. A polymorphic one is called with several.
pub fn instances(catalog: &Catalog, proc: &Proc) -> Vec<(Vec<Oid>, Oid)> {
    let special = ranges::instances(catalog, proc).or_else(|| time::instances(proc));
    if let Some(instances) = special.or_else(|| data::instances(catalog, proc)) {
        return instances;
    }
    const ANY: [Oid; 9] = [2276, 2277, 2283, 2776, 5077, 5078, 5079, 5080, 3831];
    if !proc.arguments.iter().any(|oid| ANY.contains(oid)) {
        return vec![with_types(proc, |oid| oid)];
    }
    // Elements with their arrays.
    [(23, 1007), (25, 1009), (1700, 1231)]
        .into_iter()
        .map(|(element, array)| {
            let own = |oid: Oid| match oid {
                2277 | 5078 => array,
                2276 | 2283 | 2776 | 5077 | 5079 => element,
                other => other,
            };
            with_types(proc, own)
        })
        .collect()
}

/// A function's types, with others in place of those that it is declared with.
fn with_types(proc: &Proc, own: impl Fn(Oid) -> Oid) -> (Vec<Oid>, Oid) {
    (proc.arguments.iter().map(|oid| own(*oid)).collect(), own(proc.result))
}

/// Texts of values for an argument.
pub fn pool(catalog: &Catalog, proc: &Proc, at: usize, oid: Oid) -> &'static [&'static str] {
    let special = [search::pool, ranges::pool, text::pool, number::pool, time::pool, data::pool];
    special.iter().find_map(|pool| pool(catalog, proc, at, oid)).unwrap_or_else(|| general(oid))
}

fn general(oid: Oid) -> &'static [&'static str] {
    match oid {
        16 => &["t", "f"],
        21 => &["0", "1", "-1", "7", "32767", "-32768", "100"],
        23 => &["0", "1", "-1", "2", "5", "-7", "31", "100", "2147483647", "-2147483648"],
        20 => &["0", "1", "-1", "3", "12", "-99", "9223372036854775807", "-9223372036854775808"],
        26 => &["0", "1", "23", "4294967295"],
        700 | 701 => &[
            "0",
            "-0",
            "1",
            "-1",
            "0.5",
            "1.5",
            "2.5",
            "-2.5",
            "1e15",
            "1e-10",
            "123456.789",
            "NaN",
            "Infinity",
            "-Infinity",
            "1e30",
        ],
        1700 => &[
            "0",
            "1",
            "-1",
            "0.00",
            "1.5",
            "2.5",
            "-2.5",
            "12345678901234567890.123456789",
            "1e-20",
            "NaN",
            "Infinity",
            "-Infinity",
            "99999.995",
            "3.14159",
        ],
        18 => &["a", "Z", "", "\\200"],
        25 | 1043 => &[
            "",
            "a",
            "abc",
            "ABC def",
            "  padded  ",
            "äöü ß",
            "日本語",
            "100",
            "-1.5",
            "%",
            "a%b_c",
            "\\",
            "(a|b)+",
            "2024-02-29",
            "a,b,,c",
            "tEsT",
        ],
        1042 => &["", "a", "abc  ", "AB", "  x", "äö "],
        19 => &[
            "",
            "name",
            "public",
            "Ünicode",
            "a_very_long_name_that_is_cut_at_sixty_three_bytes_by_the_type_name_",
        ],
        17 => &["", "\\x00", "\\xdeadbeef", "\\xff00ff", "\\x616263"],
        2950 => &[
            "00000000-0000-0000-0000-000000000000",
            "123e4567-e89b-12d3-a456-426614174000",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ],
        1082 => &[
            "2000-01-01",
            "1999-12-31",
            "2024-02-29",
            "0044-03-15 BC",
            "infinity",
            "-infinity",
            "5874897-12-31",
        ],
        1083 => &["00:00", "12:34:56.789", "23:59:59.999999", "24:00"],
        1114 | 1184 => &[
            "2000-01-01 00:00",
            "1999-12-31 23:59:59.999999",
            "2024-02-29 12:34:56.5",
            "0001-01-01 00:00 BC",
            "infinity",
            "-infinity",
            "294276-12-31 23:59:59",
        ],
        1186 => &[
            "0",
            "1 day",
            "-1 month",
            "1 year 2 mons 3 days 04:05:06.7",
            "-00:00:01",
            "100 hours",
            "30 days",
            "178000000 years",
        ],
        _ => &[],
    }
}
