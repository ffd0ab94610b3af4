//! How are sizes in bytes written and read?

use onlap_pg::value::numeric::Numeric;
use onlap_pg::{Error, Result};

use crate::{Entry, Int8, Num, Text, one};

/// pg_size_pretty and pg_size_bytes.
pub const ENTRIES: &[Entry] = &[
    ("pg_size_pretty(int8)", |_| one::<Int8, Text>(|a, _| pretty(a.into()))),
    ("pg_size_pretty(numeric)", |_| one::<Num, Text>(|a, _| pretty(a))),
    ("pg_size_bytes(text)", |_| one::<Text, Int8>(|a, _| size(a))),
];

/// A unit, and its power of two.
const UNITS: [(&str, u32); 6] =
    [("bytes", 0), ("kB", 10), ("MB", 20), ("GB", 30), ("TB", 40), ("PB", 50)];

/// The first unit in which a size has at most four digits. Beyond bytes a bit more is kept, to round by.
fn pretty(size: Numeric) -> Result<String> {
    let mut size = size;
    for (at, (name, _)) in UNITS.iter().enumerate() {
        let limit: i64 = if at == 0 { 10 * 1024 } else { 20 * 1024 - 1 };
        if at + 1 == UNITS.len() || size.abs() < limit.into() {
            if at > 0 {
                let one = Numeric::from(if size < Numeric::zero() { -1 } else { 1 });
                size = size.add(&one)?.div_trunc(&2.into())?;
            }
            return Ok(format!("{size} {name}"));
        }
        let divisor: i64 = if at == 0 { 512 } else { 1024 };
        size = size.div_trunc(&divisor.into())?;
    }
    unreachable!("the last unit takes every size")
}

fn size(text: &str) -> Result<i64> {
    let invalid = || Error::new("22023", format!("invalid size: \"{text}\""));
    let blank = |c| matches!(c, ' ' | '\t'..='\r');
    let start = text.trim_start_matches(blank);
    let length = number(start).ok_or_else(invalid)?;
    let (number, unit) = start.split_at(length);
    let number = Numeric::parse(number)?;
    let unit = unit.trim_matches(blank);
    if unit.is_empty() {
        return number.to_int8();
    }
    let known = UNITS.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name));
    let Some((_, power)) = known else {
        let hint = "Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".";
        return Err(invalid().detail(format!("Invalid size unit: \"{unit}\".")).hint(hint));
    };
    number.mul(&(1_i64 << power).into())?.to_int8()
}

/// The length of the number at the beginning of a text.
fn number(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |at: usize| bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
    let sign = |at: usize| usize::from(matches!(bytes.get(at), Some(b'-' | b'+')));
    let mut at = sign(0);
    let whole = digits(at);
    at += whole;
    let mut fraction = 0;
    if bytes.get(at) == Some(&b'.') {
        fraction = digits(at + 1);
        at += 1 + fraction;
    }
    if whole + fraction == 0 {
        return None;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let first = at + 1 + sign(at + 1);
        let exponent = digits(first);
        if exponent > 0 {
            at = first + exponent;
        }
    }
    Some(at)
}
