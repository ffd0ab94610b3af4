//! How are floats read and written, and which are equal?
//!
//! Digits are the shortest that read back as the same value. PostgreSQL's algorithm never uses a decimal that lies
//! exactly half way to a neighbour, though it would read back (rounding to even): 1e23 is
//! 1e+23 elsewhere and 9.999999999999999e+22 there. See [`shortest`].

use std::fmt::Write;

use super::{fixed, invalid, scan};
use crate::{Error, Result};

/// What the two widths differ in.
struct Width {
    name: &'static str,
    /// Decimal digits that any value keeps: DBL_DIG, FLT_DIG.
    digits: i32,
    /// From this decimal exponent on, digits are written with an exponent.
    large: i32,
}

const DOUBLE: Width = Width { name: "double precision", digits: 15, large: 15 };
const SINGLE: Width = Width { name: "real", digits: 6, large: 6 };

/// float8in.
pub fn parse8(text: &str) -> Result<f64> {
    parse(text, &DOUBLE, |digits| digits.parse().ok(), |exact, power| exact * 2_f64.powi(power))
}

/// float4in.
pub fn parse4(text: &str) -> Result<f32> {
    parse(
        text,
        &SINGLE,
        |digits| digits.parse::<f32>().ok().map(f64::from),
        |exact, power| f64::from((exact * 2_f64.powi(power)) as f32),
    )
    .map(|value| value as f32)
}

fn parse(
    text: &str,
    width: &Width,
    decimal: impl Fn(&str) -> Option<f64>,
    scaled: impl Fn(f64, i32) -> f64,
) -> Result<f64> {
    let start = scan::trim_start(text);
    let (value, rest) = match special(start) {
        Some(found) => found,
        None => {
            let (value, length, zero) = if let Some(found) = hexadecimal(start) {
                (scaled(found.0, found.1), found.2, found.0 == 0.0)
            } else {
                let (length, zero) = number(start).ok_or_else(|| invalid(width.name, text))?;
                let value = decimal(&start[..length]).ok_or_else(|| invalid(width.name, text))?;
                (value, length, zero)
            };
            if value.is_infinite() || (value == 0.0 && !zero) {
                // float4in shows the whole text.
                let number = if width.digits == SINGLE.digits { text } else { &start[..length] };
                let message = format!("\"{number}\" is out of range for type {}", width.name);
                return Err(Error::new("22003", message));
            }
            (value, &start[length..])
        }
    };
    if scan::is_blank(rest) { Ok(value) } else { Err(invalid(width.name, text)) }
}

/// NaN and the infinities, and what follows them.
fn special(text: &str) -> Option<(f64, &str)> {
    let (sign, rest) = match text.as_bytes().first() {
        Some(b'-') => (-1.0, &text[1..]),
        Some(b'+') => (1.0, &text[1..]),
        _ => (1.0, text),
    };
    for word in ["infinity", "inf"] {
        if let Some(rest) = scan::strip_word(rest, word) {
            return Some((sign * f64::INFINITY, rest));
        }
    }
    let rest = scan::strip_word(rest, "nan")?;
    let inner = rest.strip_prefix('(').and_then(|inner| {
        let length = inner.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        inner[length..].strip_prefix(')')
    });
    Some((f64::NAN, inner.unwrap_or(rest)))
}

/// The length of the decimal number at the beginning of a text, and whether it is zero.
fn number(text: &str) -> Option<(usize, bool)> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let begin = at;
    let mut count = digits(at);
    at += count;
    if bytes.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if count + fraction > 0 {
            at += 1 + fraction;
            count += fraction;
        }
    }
    if count == 0 {
        return None;
    }
    let zero = bytes[begin..at].iter().all(|b| matches!(b, b'0' | b'.'));
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'-' | b'+')));
        let exponent = digits(at + 1 + sign);
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    Some((at, zero))
}

/// A hexadecimal number as C's strtod takes it: its digits as a value, the power of two, its length.
fn hexadecimal(text: &str) -> Option<(f64, i32, usize)> {
    let bytes = text.as_bytes();
    let mut at = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    if bytes.get(at) != Some(&b'0') || !matches!(bytes.get(at + 1), Some(b'x' | b'X')) {
        return None;
    }
    let negative = bytes[0] == b'-';
    at += 2;
    let (mut mantissa, mut power, mut count, mut point) = (0_u64, 0_i32, 0, false);
    while let Some(&b) = bytes.get(at) {
        if b == b'.' && !point {
            point = true;
        } else if let Some(digit) = char::from(b).to_digit(16) {
            count += 1;
            if mantissa >> 56 == 0 {
                mantissa = mantissa << 4 | u64::from(digit);
                power -= if point { 4 } else { 0 };
            } else {
                mantissa |= u64::from(digit != 0);
                power += if point { 0 } else { 4 };
            }
        } else {
            break;
        }
        at += 1;
    }
    if count == 0 {
        return None;
    }
    if matches!(bytes.get(at), Some(b'p' | b'P')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'-' | b'+')));
        let digits = bytes[at + 1 + sign..].iter().take_while(|b| b.is_ascii_digit()).count();
        if digits > 0 {
            let exponent = &text[at + 1 + sign..at + 1 + sign + digits];
            let size = exponent.parse::<i32>().unwrap_or(100_000).min(100_000);
            power += if bytes[at + 1] == b'-' { -size } else { size };
            at += 1 + sign + digits;
        }
    }
    let value = mantissa as f64;
    Some((if negative { -value } else { value }, power, at))
}

/// float8out.
pub fn print8(value: f64, extra_digits: i32) -> String {
    if let Some(word) = name_of(value) {
        return word.to_owned();
    }
    if extra_digits <= 0 {
        return rounded(value, DOUBLE.digits + extra_digits);
    }
    let bits = value.to_bits();
    let (fraction, exponent) = (bits & ((1 << 52) - 1), (bits >> 52 & 0x7ff) as i32);
    let parts =
        if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
    let same = |text: &str| text.parse::<f64>().is_ok_and(|v| v == value);
    shortest(&format!("{value:e}"), value, parts, &DOUBLE, same)
}

/// float4out.
pub fn print4(value: f32, extra_digits: i32) -> String {
    if let Some(word) = name_of(f64::from(value)) {
        return word.to_owned();
    }
    if extra_digits <= 0 {
        return rounded(f64::from(value), SINGLE.digits + extra_digits);
    }
    let bits = value.to_bits();
    let (fraction, exponent) = (u64::from(bits & ((1 << 23) - 1)), (bits >> 23 & 0xff) as i32);
    let parts = if exponent == 0 { (fraction, -149) } else { (fraction | 1 << 23, exponent - 150) };
    let same = |text: &str| text.parse::<f32>().is_ok_and(|v| v == value);
    shortest(&format!("{value:e}"), f64::from(value), parts, &SINGLE, same)
}

fn name_of(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        Some("NaN")
    } else if value.is_infinite() {
        Some(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        None
    }
}

/// The shortest digits that are strictly nearer to the value than to its neighbours.
fn shortest(
    text: &str,
    value: f64,
    (mantissa, power): (u64, i32),
    width: &Width,
    same: impl Fn(&str) -> bool,
) -> String {
    let (mut digits, mut exponent) = parts_of(text);
    if digits.len() > 1 && digits.ends_with(['1', '3', '5', '7', '9']) {
        // Of two shortest texts that are equally near, PostgreSQL writes the even one.
        let even = format!("{value:.*e}", digits.len() - 1);
        if same(&even) {
            (digits, exponent) = parts_of(&even);
        }
    }
    if value == 0.0 || !is_half_way(&digits, exponent, mantissa, power) {
        return layout(value.is_sign_negative(), &digits, exponent, width.large);
    }
    for precision in digits.len()..17 {
        let longer = format!("{value:.precision$e}");
        let (digits, exponent) = parts_of(&longer);
        if same(&longer) && !is_half_way(&digits, exponent, mantissa, power) {
            return layout(value.is_sign_negative(), &digits, exponent, width.large);
        }
    }
    layout(value.is_sign_negative(), &digits, exponent, width.large)
}

/// The digits of what `{:e}` writes, without zeros at the end, and the decimal exponent of the first.
fn parts_of(text: &str) -> (String, i32) {
    let (mantissa, exponent) = text.split_once('e').expect("{:e} writes an exponent");
    let mut digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.truncate(digits.trim_end_matches('0').len().max(1));
    (digits, exponent.parse().expect("an exponent is an integer"))
}

/// Whether a decimal is exactly half way between a float (mantissa times a power of two) and one of its neighbours.
fn is_half_way(digits: &str, exponent: i32, mantissa: u64, power: i32) -> bool {
    let Ok(number) = digits.parse::<u128>() else { return false };
    let tens = exponent - (digits.len() as i32 - 1);
    if number == 0 || tens.abs() > 27 {
        return false;
    }
    let fives = 5_u128.pow(tens.unsigned_abs());
    let odd = number >> number.trailing_zeros();
    let odd = match tens {
        0.. => odd.checked_mul(fives),
        _ => (odd % fives == 0).then(|| odd / fives),
    };
    let twos = number.trailing_zeros() as i32 + tens;
    let Some(odd) = odd else { return false };
    let m = u128::from(mantissa);
    let even_spacing = twos == power - 1 && (odd == 2 * m + 1 || odd + 1 == 2 * m);
    even_spacing || (mantissa.is_power_of_two() && twos == power - 2 && odd + 1 == 4 * m)
}

/// Digits with a point, or with an exponent of at least two digits where they would be long.
fn layout(negative: bool, digits: &str, exponent: i32, large: i32) -> String {
    let mut out = String::with_capacity(24);
    if negative {
        out.push('-');
    }
    let length = digits.len() as i32;
    if !(-4..large).contains(&exponent) {
        out.push_str(&digits[..1]);
        if length > 1 {
            out.push('.');
            out.push_str(&digits[1..]);
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "e{sign}{:02}", exponent.abs()).expect("a String takes all");
    } else if exponent < 0 {
        out.push_str("0.");
        out.extend((1..-exponent).map(|_| '0'));
        out.push_str(digits);
    } else if exponent >= length - 1 {
        out.push_str(digits);
        out.extend((0..exponent - length + 1).map(|_| '0'));
    } else {
        let (whole, fraction) = digits.split_at(exponent as usize + 1);
        out.push_str(whole);
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// C's `%.*g`.
fn rounded(value: f64, digits: i32) -> String {
    let precision = digits.max(1);
    let text = format!("{value:.*e}", precision as usize - 1);
    let (digits, exponent) = parts_of(&text);
    layout(value.is_sign_negative(), &digits, exponent, precision)
}

/// The key of a float8: -0 is 0, there is one NaN, and it comes last.
pub fn key8(value: f64) -> i64 {
    if value.is_nan() {
        return i64::MAX;
    }
    let bits = if value == 0.0 { 0 } else { value.to_bits() as i64 };
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// The key of a float4.
pub fn key4(value: f32) -> i32 {
    if value.is_nan() {
        return i32::MAX;
    }
    let bits = if value == 0.0 { 0 } else { value.to_bits() as i32 };
    bits ^ (((bits >> 31) as u32) >> 1) as i32
}

/// float8recv.
pub fn recv8(bytes: &[u8]) -> Result<f64> {
    Ok(f64::from_be_bytes(fixed(bytes)?))
}

/// float4recv.
pub fn recv4(bytes: &[u8]) -> Result<f32> {
    Ok(f32::from_be_bytes(fixed(bytes)?))
}

/// A float as an integer: halves to even; `None` outside the range, and for NaN.
pub fn to_int(value: f64, least: i64, most: i64) -> Option<i64> {
    let value = value.round_ties_even();
    // The bounds as floats: the upper one, plus one, is exact for all three widths.
    (value >= least as f64 && value < most as f64 + f64::from(most < 1 << 52))
        .then_some(value as i64)
}
