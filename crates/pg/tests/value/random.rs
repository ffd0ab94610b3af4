//! Seeded random texts and values, asked of PostgreSQL beside this crate.

use onlap_base::Rng;
use onlap_testkit::postgres::Postgres;

use crate::case::Case;
use crate::cases::check;
use crate::oracle;

pub fn compare(cases: Vec<Case>) {
    let postgres = Postgres::start();
    let answers = oracle::answers(&postgres, &cases);
    check(cases.into_iter().zip(answers).collect());
}

pub fn pick<'a>(rng: &mut Rng, from: &[&'a str]) -> &'a str {
    from[rng.below(from.len() as u64) as usize]
}

/// Text of a few characters out of an alphabet.
pub fn text(rng: &mut Rng, alphabet: &[&str], longest: u64) -> String {
    let length = rng.below(longest + 1);
    (0..length).map(|_| pick(rng, alphabet)).collect()
}

fn digits(rng: &mut Rng, longest: u64) -> String {
    let length = rng.below(longest) + 1;
    (0..length)
        .map(|_| pick(rng, &["0", "0", "9", "5", "4", "1", "2", "3", "6", "7", "8"]))
        .collect()
}

/// A number, mostly.
pub fn number(rng: &mut Rng, longest: u64) -> String {
    if rng.below(20) == 0 {
        return pick(rng, &["NaN", "Infinity", "-Infinity", "0", "1", "-1", "0.00", "1e-10"])
            .to_owned();
    }
    let sign = pick(rng, &["", "", "-", "+"]);
    let whole = digits(rng, longest);
    let fraction =
        if rng.below(2) == 0 { format!(".{}", digits(rng, longest)) } else { String::new() };
    let exponent = match rng.below(4) {
        0 => format!("e{}{}", pick(rng, &["", "-", "+"]), rng.below(longest * 2)),
        _ => String::new(),
    };
    format!("{sign}{whole}{fraction}{exponent}")
}

const NUMBER_PARTS: &[&str] = &[
    "0",
    "1",
    "9",
    "12",
    "327",
    "67",
    "68",
    "2147483647",
    "922337203685477580",
    ".",
    "-",
    "+",
    "e",
    "E",
    "e3",
    " ",
    "\t",
    "\n",
    "x",
    "0x",
    "nan",
    "inf",
    "inity",
    "p1",
    "(",
    ")",
    "_",
    "e-320",
    "e308",
    "é",
];

#[test]
fn number_texts_are_read_and_written_alike() {
    let mut rng = Rng::new(1);
    let mut cases = Vec::new();
    for _ in 0..1500 {
        for kind in ["int2", "int4", "int8", "oid", "float4", "float8", "numeric", "numeric(6,2)"] {
            cases.push(Case::new(kind, "", &[&text(&mut rng, NUMBER_PARTS, 4)]));
        }
    }
    for _ in 0..1500 {
        for kind in ["numeric", "numeric(6,2)", "numeric(4,-2)", "numeric(3,5)", "send numeric"] {
            cases.push(Case::new(kind, "", &[&number(&mut rng, 20)]));
        }
        for kind in ["int2", "int4", "int8"] {
            cases.push(Case::new(&format!("cast numeric {kind}"), "", &[&number(&mut rng, 10)]));
            cases.push(Case::new(&format!("cast float8 {kind}"), "", &[&number(&mut rng, 10)]));
        }
        for kind in ["numeric float8", "numeric float4", "float8 numeric", "float4 numeric"] {
            cases.push(Case::new(&format!("cast {kind}"), "", &[&number(&mut rng, 10)]));
        }
    }
    compare(cases);
}

#[test]
fn floats_are_written_alike() {
    let mut rng = Rng::new(2);
    let mut cases = Vec::new();
    for n in 0..8000 {
        let bits = rng.next_u64();
        // Few bits of the fraction: halves, boundaries, whole numbers.
        let bits = if n % 2 == 0 { bits } else { bits & (0xfff << 52 | 0xff << rng.below(45)) };
        let double = f64::from_bits(bits);
        let single = f32::from_bits((bits >> 32) as u32);
        let near = f64::from_bits((1023 + rng.below(90)) << 52 | bits & ((1 << 52) - 1));
        let settings =
            ["", "", "extra_float_digits=0", "extra_float_digits=-3", "extra_float_digits=-15"]
                [rng.below(5) as usize];
        cases.push(Case::new("float8", settings, &[&format!("{double:e}")]));
        cases.push(Case::new("float8", settings, &[&format!("{near:e}")]));
        cases.push(Case::new("float4", settings, &[&format!("{single:e}")]));
        cases.push(Case::new("send float8", "", &[&format!("{double:e}")]));
        cases.push(Case::new("send float4", "", &[&format!("{single:e}")]));
    }
    compare(cases);
}

#[test]
fn numerics_are_calculated_alike() {
    let mut rng = Rng::new(3);
    let mut cases = Vec::new();
    for n in 0..2500 {
        let longest = [3, 8, 30, 60][n % 4];
        for operator in ["+", "-", "*", "/", "%"] {
            let (a, b) = (number(&mut rng, longest), number(&mut rng, longest));
            cases.push(Case::new(&format!("op numeric {operator}"), "", &[&a, &b]));
        }
        for function in ["round", "trunc"] {
            let scale = rng.below(40) as i64 - 20;
            cases.push(Case::new(
                &format!("scale {function}"),
                "",
                &[&number(&mut rng, longest), &scale.to_string()],
            ));
        }
        for function in ["ceil", "floor", "abs", "sign", "-", "sqrt"] {
            let a = number(&mut rng, longest);
            cases.push(Case::new(&format!("call numeric {function}"), "", &[&a]));
        }
        let (a, b) = (number(&mut rng, longest), number(&mut rng, longest));
        cases.push(Case::new("call numeric div", "", &[&a, &b]));
    }
    compare(cases);
}

#[test]
fn logarithms_and_powers_are_calculated_alike() {
    let mut rng = Rng::new(4);
    let mut cases = Vec::new();
    for n in 0..600 {
        let longest = [2, 3, 8, 15][n % 4];
        let (a, b) = (number(&mut rng, longest), number(&mut rng, longest));
        cases.push(Case::new("call numeric ln", "", &[&a]));
        cases.push(Case::new("call numeric log", "", &[&a, &b]));
        cases.push(Case::new("call numeric exp", "", &[&number(&mut rng, 3)]));
        cases.push(Case::new("op numeric ^", "", &[&number(&mut rng, 3), &number(&mut rng, 2)]));
        cases.push(Case::new("op numeric ^", "", &[&a, &rng.below(40).to_string()]));
    }
    compare(cases);
}

#[test]
fn texts_of_bytes_and_words_are_read_alike() {
    let mut rng = Rng::new(5);
    let mut cases = Vec::new();
    let hex = &["{", "}", "-", "0123", "abcd", "ABCD", "0", "f", "00000000", "1234567", "x", " "];
    let words = &[
        "t", "tr", "true", "fa", "lse", "YES", "n", "o", "of", "f", "on", "1", "0", " ", "\n", "é",
    ];
    let bytes =
        &["\\x", "\\", "\\\\", "\\001", "\\377", "\\4", "12", "ab", "F", " ", "\n", "é", "g", "a"];
    for _ in 0..2000 {
        cases.push(Case::new("uuid", "", &[&text(&mut rng, hex, 8)]));
        let plain = format!("{:032x}", u128::from(rng.next_u64()) * u128::from(rng.next_u64()));
        let dashed: String = plain
            .char_indices()
            .flat_map(|(i, c)| {
                let dash = i > 0 && i % 4 == 0 && rng.below(2) == 0;
                dash.then_some('-').into_iter().chain([c])
            })
            .collect();
        cases.push(Case::new("uuid", "", &[&dashed]));
        cases.push(Case::new("send uuid", "", &[&format!("{{{}}}", plain.to_uppercase())]));
        let digits = text(&mut rng, &["0", "1", "10", "11", "0", "1", "x", "B", "f", "2"], 6);
        for kind in ["varbit", "bit(5)", "varbit(7)", "send varbit"] {
            cases.push(Case::new(kind, "", &[&digits]));
        }
        cases.push(Case::new("bool", "", &[&text(&mut rng, words, 3)]));
        let settings = ["", "bytea_output=escape"][rng.below(2) as usize];
        cases.push(Case::new("bytea", settings, &[&text(&mut rng, bytes, 5)]));
        let letters = &["a", " ", "é", "  ", "b"];
        cases.push(Case::new("bpchar 3", "", &[&text(&mut rng, letters, 5)]));
        cases.push(Case::new("varchar 3", "", &[&text(&mut rng, letters, 5)]));
        cases.push(Case::new("\"char\"", "", &[&text(&mut rng, &["a", "\\", "101", "377"], 3)]));
        let long = text(&mut rng, &["abcdefghijkl", "éééééé", "x"], 9);
        cases.push(Case::new("name", "", &[&long]));
    }
    compare(cases);
}
