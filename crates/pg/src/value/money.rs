//! What is an amount of money, and how is it written?
//!
//! A count of cents. Its texts are those of lc_monetary C: a dollar sign, commas between thousands, a point before cents.

use super::{fixed, invalid, out_of_range};
use crate::Result;

/// cash_in: signs and symbols may stand on both sides; further decimals are rounded half away from zero.
pub fn parse(text: &str) -> Result<i64> {
    let too_large = || out_of_range("money", text);
    let mut rest = skip(text);
    let mut negative = false;
    if let Some(after) = rest.strip_prefix(['-', '(']) {
        (negative, rest) = (true, after);
    } else if let Some(after) = rest.strip_prefix('+') {
        rest = after;
    }
    rest = skip(rest);
    // As a number below zero: there is one more of these.
    let mut value = 0_i64;
    let mut decimals = None;
    while let Some(first) = rest.bytes().next() {
        match (first, decimals) {
            (b'0'..=b'9', None | Some(0 | 1)) => {
                let digit = i64::from(first - b'0');
                let grown = value.checked_mul(10).and_then(|v| v.checked_sub(digit));
                value = grown.ok_or_else(too_large)?;
                decimals = decimals.map(|count| count + 1);
            }
            (b'.', None) => decimals = Some(0),
            (b',', _) => {}
            _ => break,
        }
        rest = &rest[1..];
    }
    if rest.starts_with(['5', '6', '7', '8', '9']) {
        value = value.checked_sub(1).ok_or_else(too_large)?;
    }
    for _ in decimals.unwrap_or(0)..2 {
        value = value.checked_mul(10).ok_or_else(too_large)?;
    }
    for c in rest.trim_start_matches(|c: char| c.is_ascii_digit()).chars() {
        match c {
            '-' => negative = true,
            ')' | '+' | '$' | ' ' | '\t'..='\r' => {}
            _ => return Err(invalid("money", text)),
        }
    }
    if negative { Ok(value) } else { value.checked_neg().ok_or_else(too_large) }
}

/// Without white space and a dollar sign at the beginning.
fn skip(text: &str) -> &str {
    let blank = |c| matches!(c, ' ' | '\t'..='\r');
    let rest = text.trim_start_matches(blank);
    rest.strip_prefix('$').map_or(rest, |after| after.trim_start_matches(blank))
}

/// cash_out.
pub fn print(value: i64) -> String {
    let (dollars, cents) = (value.unsigned_abs() / 100, value.unsigned_abs() % 100);
    let digits = dollars.to_string();
    let mut out = String::from(if value < 0 { "-$" } else { "$" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + &format!(".{cents:02}")
}

/// cash_recv.
pub fn recv(bytes: &[u8]) -> Result<i64> {
    Ok(i64::from_be_bytes(fixed(bytes)?))
}

const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] =
    ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const THOUSANDS: [&str; 6] =
    ["", " thousand ", " million ", " billion ", " trillion ", " quadrillion "];

/// cash_words: the amount as on a cheque.
pub fn words(value: i64) -> String {
    let size = value.unsigned_abs();
    let (dollars, cents) = (size / 100, (size % 100) as usize);
    let mut out = String::from(if value < 0 { "minus " } else { "" });
    for (power, name) in THOUSANDS.iter().enumerate().rev() {
        let group = dollars / 1000_u64.pow(power as u32) % 1000;
        if group > 0 {
            out += &group_words(group as usize);
            out += name;
        }
    }
    if dollars == 0 {
        out += "zero";
    }
    out += if dollars == 1 { " dollar and " } else { " dollars and " };
    out += &group_words(cents);
    out += if cents == 1 { " cent" } else { " cents" };
    out[..1].to_ascii_uppercase() + &out[1..]
}

/// A number below a thousand.
fn group_words(number: usize) -> String {
    let (hundreds, rest) = (number / 100, number % 100);
    let below = match rest {
        0..20 => SMALL[rest].to_owned(),
        _ if rest % 10 == 0 => TENS[rest / 10].to_owned(),
        _ => format!("{} {}", TENS[rest / 10], SMALL[rest % 10]),
    };
    match (hundreds, rest) {
        (0, _) => below,
        (_, 0) => format!("{} hundred", SMALL[hundreds]),
        (_, 1..20) => format!("{} hundred and {below}", SMALL[hundreds]),
        _ => format!("{} hundred {below}", SMALL[hundreds]),
    }
}
