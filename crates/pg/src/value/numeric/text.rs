//! Which texts are numerics, and how are they written?

use std::fmt;

use super::{Class, DEC_DIGITS, Numeric, overflow};
use crate::value::{invalid, scan};
use crate::{Error, Result};

impl Numeric {
    /// numeric_in, before a modifier is applied; limits are checked.
    pub fn parse(text: &str) -> Result<Numeric> {
        Numeric::parse_with(text, -1)
    }

    /// numeric_in with a type modifier.
    pub fn parse_with(text: &str, modifier: i32) -> Result<Numeric> {
        let start = scan::trim_start(text);
        if let Some((value, rest)) = special(start) {
            if !scan::is_blank(rest) {
                return Err(invalid("numeric", text));
            }
            return value.with_modifier(modifier);
        }
        let (value, rest) =
            number(start).map_err(|e| e.unwrap_or_else(|| invalid("numeric", text)))?;
        if !scan::is_blank(rest) {
            return Err(invalid("numeric", text));
        }
        value.with_modifier(modifier)
    }
}

fn special(text: &str) -> Option<(Numeric, &str)> {
    if let Some(rest) = scan::strip_word(text, "nan") {
        return Some((Numeric::nan(), rest));
    }
    let (negative, rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let rest = ["infinity", "inf"].iter().find_map(|word| scan::strip_word(rest, word))?;
    Some((Numeric::infinity(negative), rest))
}

/// set_var_from_str: the number at the beginning, and what follows it. `None` as error: not a number.
fn number(text: &str) -> std::result::Result<(Numeric, &str), Option<Error>> {
    let (negative, rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let whole = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (integer, mut rest) = rest.split_at(whole);
    let mut fraction = "";
    if let Some(after) = rest.strip_prefix('.') {
        let length = after.bytes().take_while(u8::is_ascii_digit).count();
        (fraction, rest) = after.split_at(length);
    }
    if integer.is_empty() && fraction.is_empty() {
        return Err(None);
    }
    let mut exponent = 0_i64;
    if let Some(after) = rest.strip_prefix(['e', 'E']) {
        (exponent, rest) = read_exponent(after).ok_or(None)?;
        if exponent.abs() >= i64::from(i32::MAX / 2) {
            return Err(Some(overflow()));
        }
    }
    let decimals = integer.bytes().chain(fraction.bytes());
    let decimal_weight = integer.len() as i64 - 1 + exponent;
    let weight = decimal_weight.div_euclid(i64::from(DEC_DIGITS));
    // Zeros before the first decimal that fill its digit.
    let offset = (3 - decimal_weight.rem_euclid(4)) as usize;
    let count = integer.len() + fraction.len();
    let mut digits = vec![0_u16; (offset + count).div_ceil(4)];
    for (i, decimal) in decimals.enumerate() {
        let at = offset + i;
        digits[at / 4] += u16::from(decimal - b'0') * 10_u16.pow(3 - (at % 4) as u32);
    }
    let dscale = (fraction.len() as i64 - exponent).max(0);
    Ok((Numeric::raw(negative, weight as i32, digits, dscale as i32), rest))
}

/// C's strtol, at its limits beyond them.
fn read_exponent(text: &str) -> Option<(i64, &str)> {
    let rest = scan::trim_start(text);
    let (negative, rest) = match rest.as_bytes().first() {
        Some(b'-') => (true, &rest[1..]),
        Some(b'+') => (false, &rest[1..]),
        _ => (false, rest),
    };
    let length = rest.bytes().take_while(u8::is_ascii_digit).count();
    if length == 0 {
        return None;
    }
    let value = rest[..length].parse().unwrap_or(i64::from(i32::MAX));
    Some((if negative { -value } else { value }, &rest[length..]))
}

impl fmt::Display for Numeric {
    /// numeric_out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.class {
            Class::NaN => return f.write_str("NaN"),
            Class::Infinity => return f.write_str("Infinity"),
            Class::NegativeInfinity => return f.write_str("-Infinity"),
            Class::Negative => f.write_str("-")?,
            Class::Positive => {}
        }
        if self.weight < 0 || self.digits.is_empty() {
            f.write_str("0")?;
        } else {
            write!(f, "{}", self.digits[0])?;
            for weight in (0..self.weight).rev() {
                write!(f, "{:04}", self.digit(weight))?;
            }
        }
        if self.dscale == 0 {
            return Ok(());
        }
        f.write_str(".")?;
        let whole = self.dscale / DEC_DIGITS;
        for at in 1..=whole {
            write!(f, "{:04}", self.digit(-at))?;
        }
        let left = (self.dscale % DEC_DIGITS) as usize;
        let last = format!("{:04}", self.digit(-whole - 1));
        f.write_str(&last[..left])
    }
}
