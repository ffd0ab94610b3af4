//! Which value does a text mean, and how is a value printed?
//!
//! PostgreSQL's input and output forms, so that what the one prints the other reads back. Nothing
//! depends on a session: no time zone but UTC, no `DateStyle`, `bytea_output` is hex.

use std::fmt::Write;

use onlap_base::{Error, ErrorKind, Result};

use super::time::{self, Refusal};
use super::{check_text, json, numeric};
use crate::types::DataType;
use crate::value::Value;

/// Reads a value of a type. Blanks around numbers, dates and identifiers do not count.
///
/// ```
/// use onlap_format::convert::{format_text, parse_text};
/// use onlap_format::DataType;
/// let value = parse_text(DataType::Timestamptz, "2024-02-29T12:00:00.50+02:00")?;
/// let mut text = String::new();
/// format_text(DataType::Timestamptz, &value, &mut text);
/// assert_eq!(text, "2024-02-29 10:00:00.5+00");
/// # Ok::<(), onlap_base::Error>(())
/// ```
pub fn parse_text(ty: DataType, s: &str) -> Result<Value> {
    let refused = |refusal: Refusal| match refusal {
        Refusal::Syntax => syntax(ty, s),
        Refusal::Range => range(ty, s),
    };
    match ty {
        DataType::Bool => parse_bool(s.trim()).map(Value::Bool).ok_or_else(|| syntax(ty, s)),
        DataType::Int2 | DataType::Int4 | DataType::Int8 => parse_int(ty, s).map(Value::Int),
        DataType::Float4 | DataType::Float8 => parse_float(ty, s).map(Value::Float),
        DataType::Numeric(declared) => {
            let n = numeric::parse(s.trim(), declared.map(|(_, scale)| scale)).map_err(refused)?;
            let fits = declared.is_none_or(|(p, _)| n.is_nan() || n.digits() <= u32::from(p));
            if fits { Ok(Value::Numeric(n)) } else { Err(range(ty, s)) }
        }
        DataType::Text
        | DataType::Varchar(_)
        | DataType::Char(_)
        | DataType::Json
        | DataType::Folded => {
            check_text(ty, s, "")?;
            Ok(Value::Text(s.to_owned()))
        }
        DataType::Bytea => parse_bytea(s).map(Value::Bytes).ok_or_else(|| syntax(ty, s)),
        DataType::Uuid => parse_uuid(s.trim()).map(Value::Uuid).ok_or_else(|| syntax(ty, s)),
        DataType::Date => time::parse_date(s).map(Value::Date).map_err(refused),
        DataType::Time => time::parse_time(s).map(Value::Time).map_err(refused),
        DataType::Timestamp | DataType::Timestamptz => {
            let zoned = ty == DataType::Timestamptz;
            time::parse_timestamp(s, zoned).map(Value::Timestamp).map_err(refused)
        }
    }
}

/// Appends a value as PostgreSQL prints it; nothing for NULL.
pub fn format_text(ty: DataType, value: &Value, out: &mut String) {
    match value {
        Value::Null => {}
        Value::Bool(b) => out.push(if *b { 't' } else { 'f' }),
        Value::Int(v) => write!(out, "{v}").expect("strings take any text"),
        Value::Float(f) => format_float(*f, ty == DataType::Float4, out),
        Value::Numeric(n) => numeric::format(*n, out),
        Value::Text(s) => out.push_str(s),
        Value::Bytes(bytes) => {
            out.push_str("\\x");
            bytes.iter().for_each(|b| put_hex(*b, out));
        }
        Value::Uuid(bytes) => {
            for (i, byte) in bytes.iter().enumerate() {
                if matches!(i, 4 | 6 | 8 | 10) {
                    out.push('-');
                }
                put_hex(*byte, out);
            }
        }
        Value::Date(days) => time::format_date(*days, out),
        Value::Time(us) => time::format_time(*us, out),
        Value::Timestamp(us) => {
            time::format_timestamp(*us, if ty == DataType::Timestamptz { "+00" } else { "" }, out);
        }
    }
}

#[cold]
fn syntax(ty: DataType, s: &str) -> Error {
    Error::new(ErrorKind::InvalidText, format!("no {ty}: \"{}\"", shortened(s)))
}

#[cold]
fn range(ty: DataType, s: &str) -> Error {
    Error::new(ErrorKind::OutOfRange, format!("out of range for {ty}: \"{}\"", shortened(s)))
}

/// Enough of an input to know it again.
fn shortened(s: &str) -> String {
    match s.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &s[..at]),
        None => s.to_owned(),
    }
}

/// Whole words and their unique beginnings, as PostgreSQL takes them.
fn parse_bool(s: &str) -> Option<bool> {
    let lower = s.to_ascii_lowercase();
    let begins = |word: &str, least: usize| lower.len() >= least && word.starts_with(&lower);
    if lower == "1" || begins("true", 1) || begins("yes", 1) || lower == "on" {
        Some(true)
    } else if lower == "0" || begins("false", 1) || begins("no", 1) || begins("off", 2) {
        Some(false)
    } else {
        None
    }
}

fn parse_int(ty: DataType, s: &str) -> Result<i64> {
    let text = s.trim();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(syntax(ty, s));
    }
    let (min, max) = super::int_range(ty);
    let v: i64 = text.parse().map_err(|_| range(ty, s))?;
    if (min..=max).contains(&v) { Ok(v) } else { Err(range(ty, s)) }
}

fn parse_float(ty: DataType, s: &str) -> Result<f64> {
    let text = s.trim();
    let f = if ty == DataType::Float4 {
        text.parse::<f32>().map(f64::from)
    } else {
        text.parse::<f64>()
    };
    let f = f.map_err(|_| syntax(ty, s))?;
    let significant = text.bytes().take_while(|b| !matches!(b, b'e' | b'E'));
    let in_words = !text.bytes().any(|b| b.is_ascii_digit());
    let vanished = f == 0.0 && significant.into_iter().any(|b| matches!(b, b'1'..=b'9'));
    if f.is_infinite() && !in_words || vanished {
        return Err(range(ty, s));
    }
    Ok(f)
}

/// The shortest digits that read back as the same number, with an exponent where PostgreSQL has one.
fn format_float(f: f64, single: bool, out: &mut String) {
    if f.is_nan() {
        return out.push_str("NaN");
    }
    if f.is_infinite() {
        return out.push_str(if f > 0.0 { "Infinity" } else { "-Infinity" });
    }
    let scientific = if single { format!("{:e}", f as f32) } else { format!("{f:e}") };
    let (mantissa, exponent) = scientific.split_once('e').expect("{:e} prints an exponent");
    let exponent: i32 = exponent.parse().expect("{:e} prints a number");
    if exponent < -4 || exponent >= if single { 6 } else { 15 } {
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{mantissa}e{sign}{:02}", exponent.abs()).expect("strings take any text");
    } else if single {
        write!(out, "{}", f as f32).expect("strings take any text");
    } else {
        write!(out, "{f}").expect("strings take any text");
    }
}

/// `\x` and hexadecimal digits, or plain bytes with `\\` and `\ooo`.
fn parse_bytea(s: &str) -> Option<Vec<u8>> {
    if let Some(hex) = s.strip_prefix("\\x") {
        let mut digits = hex.bytes().filter(|b| !b.is_ascii_whitespace());
        let mut bytes = Vec::with_capacity(hex.len() / 2);
        while let Some(high) = digits.next() {
            bytes.push(hex_digit(high)? << 4 | hex_digit(digits.next()?)?);
        }
        return Some(bytes);
    }
    let mut bytes = Vec::with_capacity(s.len());
    let mut rest = s.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest {
            [b'\\', tail @ ..] => {
                bytes.push(b'\\');
                rest = tail;
            }
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = tail;
            }
            _ => return None,
        }
    }
    Some(bytes)
}

/// 32 hexadecimal digits, hyphens after any four of them, braces around all.
fn parse_uuid(s: &str) -> Option<[u8; 16]> {
    let inner = match s.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}')?,
        None => s,
    };
    let mut uuid = [0u8; 16];
    let mut count = 0;
    let mut after_hyphen = true;
    for byte in inner.bytes() {
        if byte == b'-' {
            if after_hyphen || count % 4 != 0 || count == 32 {
                return None;
            }
            after_hyphen = true;
            continue;
        }
        after_hyphen = false;
        let digit = hex_digit(byte)?;
        let place = uuid.get_mut(count / 2)?;
        *place = *place << 4 | digit;
        count += 1;
    }
    (count == 32).then_some(uuid)
}

fn hex_digit(b: u8) -> Option<u8> {
    (b as char).to_digit(16).map(|d| d as u8)
}

fn put_hex(b: u8, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(DIGITS[usize::from(b >> 4)] as char);
    out.push(DIGITS[usize::from(b & 15)] as char);
}

/// Fails with the place where a text stops being JSON.
pub(super) fn check_json(s: &str, name: &str) -> Result<()> {
    json::validate(s.as_bytes()).map_err(|at| {
        let message = format!("column \"{name}\": no JSON from byte {at} on: \"{}\"", shortened(s));
        Error::new(ErrorKind::InvalidText, message)
    })
}
