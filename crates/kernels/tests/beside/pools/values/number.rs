//! Values for functions of numbers that the general ones do not test well.

use onlap_pg::Oid;
use onlap_pg::catalog::{Catalog, Proc};

const DEGREES: &[&str] = &[
    "0",
    "-0",
    "1",
    "10",
    "29.9",
    "30",
    "30.1",
    "45",
    "60",
    "75",
    "89",
    "90",
    "120",
    "135",
    "180",
    "200",
    "225",
    "270",
    "300",
    "330",
    "359",
    "360",
    "361",
    "-30",
    "-45",
    "-100",
    "-270",
    "1e10",
    "1e300",
    "NaN",
    "Infinity",
    "-Infinity",
];

const ANGLES: &[&str] = &[
    "0",
    "-0",
    "1e-300",
    "1e-9",
    "0.1",
    "0.25",
    "-0.3",
    "0.49",
    "0.5",
    "0.51",
    "0.75",
    "-0.9",
    "0.999",
    "1",
    "-1",
    "1.0001",
    "1.5",
    "-1.7",
    "2",
    "2.1",
    "3",
    "3.141592653589793",
    "-10",
    "100",
    "709",
    "710.5",
    "1e8",
    "5e8",
    "-1e9",
    "1e22",
    "1e300",
    "NaN",
    "Infinity",
    "-Infinity",
];

const FLOATS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "0.5",
    "-0.5",
    "1.5",
    "2.5",
    "-2.5",
    "3",
    "-3",
    "10",
    "1000",
    "745.2",
    "-745.2",
    "123456.789",
    "1e15",
    "1e-10",
    "1e-200",
    "1e200",
    "-1e200",
    "1e308",
    "1e-307",
    "32767.5",
    "-32768.5",
    "2147483647.4",
    "-2147483648.6",
    "9223372036854775807",
    "-9.3e18",
    "0.1",
    "0.3333",
    "NaN",
    "Infinity",
    "-Infinity",
];

const SINGLES: &[&str] = &[
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
    "123456.79",
    "1e-30",
    "1e38",
    "-3e38",
    "32767.5",
    "2147483648",
    "9.3e18",
    "0.1",
    "NaN",
    "Infinity",
    "-Infinity",
];

const NUMERICS: &[&str] = &[
    "0",
    "0.00",
    "1",
    "-1",
    "1.00",
    "1.5",
    "2.5",
    "-2.5",
    "10",
    "0.1",
    "0.5",
    "-0.25",
    "3.14159",
    "100",
    "1000.000",
    "9999",
    "10000",
    "12345.678",
    "-99999.995",
    "32767.4",
    "32767.5",
    "2147483647.5",
    "9223372036854775807",
    "9223372036854775807.5",
    "-9223372036854775808.49",
    "12345678901234567890.123456789",
    "1e-20",
    "0.000000000000000000000000000000000001",
    "1e-40",
    "123e35",
    "99999999999999999999999999999999999999",
    "170141183460469231731687303715884105727",
    "1e200",
    "1.000000000000000000000000000000000000000000000001",
    "-4e99",
    "NaN",
    "Infinity",
    "-Infinity",
];

/// Small numerics, for functions that are slow or overflow with large ones.
const MODEST: &[&str] = &[
    "0",
    "0.0",
    "1",
    "-1",
    "1.0",
    "2",
    "3",
    "-3",
    "0.5",
    "-0.5",
    "1.5",
    "2.718281828",
    "10",
    "16",
    "100.00",
    "0.001",
    "12.5",
    "-7.25",
    "1000000",
    "0.999",
    "1.00001",
    "123456789.123456789",
    "1e-15",
    "1e20",
    "-1e10",
    "NaN",
    "Infinity",
    "-Infinity",
];

const SHORTS: &[&str] = &["0", "1", "-1", "2", "7", "-7", "100", "181", "-182", "32767", "-32768"];

const INTS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "6",
    "-7",
    "31",
    "33",
    "100",
    "46341",
    "-46341",
    "65536",
    "2147483646",
    "2147483647",
    "-2147483648",
];

const LONGS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "12",
    "-18",
    "-99",
    "63",
    "65536",
    "2147483648",
    "-2147483649",
    "3037000500",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775807",
    "-9223372036854775808",
];

/// Money, without the one value whose quotient by -1 ends PostgreSQL.
const MONEY: &[&str] = &[
    "0",
    "1",
    "-1",
    "0.01",
    "-0.02",
    "12.34",
    "-1234.56",
    "1000000",
    "92233720368547758.07",
    "-5555555.55",
];

/// Texts of values for an argument, if the general ones do not do.
pub fn pool(_: &Catalog, proc: &Proc, _: usize, oid: Oid) -> Option<&'static [&'static str]> {
    let name = proc.name.as_ref();
    match name {
        "sind" | "cosd" | "tand" | "cotd" => return Some(DEGREES),
        "sin" | "cos" | "tan" | "cot" | "asin" | "acos" | "atan" | "atan2" | "sinh" | "cosh"
        | "tanh" | "asinh" | "acosh" | "atanh" | "asind" | "acosd" | "atand" | "atan2d" => {
            return Some(ANGLES);
        }
        "width_bucket" if oid == 23 => {
            return Some(&["1", "5", "10", "1000", "0", "-1", "2147483647"]);
        }
        "width_bucket" if oid == 701 => {
            return Some(&[
                "0", "1", "5", "-3", "4.99999", "10", "1e-9", "1e308", "-1e308", "NaN", "Infinity",
            ]);
        }
        "width_bucket" if oid == 1700 => {
            return Some(&[
                "0",
                "1",
                "5",
                "-3",
                "4.99999",
                "10",
                "1e-9",
                "1e30",
                "0.3333333",
                "NaN",
                "Infinity",
            ]);
        }
        "factorial" => {
            return Some(&[
                "0",
                "1",
                "2",
                "5",
                "20",
                "21",
                "100",
                "1000",
                "-1",
                "32178",
                "9223372036854775807",
            ]);
        }
        _ => {}
    }
    match oid {
        21 => Some(SHORTS),
        23 => Some(INTS),
        20 => Some(LONGS),
        700 => Some(SINGLES),
        701 => Some(FLOATS),
        790 => Some(MONEY),
        1700 if is_slow(name) => Some(MODEST),
        1700 => Some(NUMERICS),
        _ => None,
    }
    .filter(|_| is_ours(proc))
}

fn is_slow(name: &str) -> bool {
    matches!(
        name,
        "exp"
            | "numeric_exp"
            | "pow"
            | "power"
            | "numeric_power"
            | "ln"
            | "numeric_ln"
            | "log"
            | "numeric_log"
            | "log10"
    )
}

/// Whether all arguments are numbers.
fn is_ours(proc: &Proc) -> bool {
    proc.arguments.iter().all(|oid| matches!(oid, 16 | 20 | 21 | 23 | 26 | 700 | 701 | 790 | 1700))
}
