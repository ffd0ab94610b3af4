//! How are bytes written as text?
//!
//! The bytes are payload, binary form and key at once.

use super::{MAX_BYTES, Settings};
use crate::{Error, Result, worked};

/// byteain: hexadecimal after `\x`, else the escape form.
pub fn parse(text: &str) -> Result<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(hex) => parse_hex(hex),
        None => parse_escape(text),
    }
}

/// Hexadecimal digits in pairs, with white space between them.
pub fn parse_hex(text: &str) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 2);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        worked(1)?;
        if matches!(first, ' ' | '\n' | '\t' | '\r') {
            rest = &rest[1..];
            continue;
        }
        let high = hex_digit(first)?;
        let Some(second) = rest[1..].chars().next() else {
            return Err(Error::new("22023", "invalid hexadecimal data: odd number of digits"));
        };
        out.push((high << 4 | hex_digit(second)?) as u8);
        rest = &rest[2..];
    }
    Ok(out)
}

fn hex_digit(c: char) -> Result<u32> {
    c.to_digit(16).ok_or_else(|| Error::new("22023", format!("invalid hexadecimal digit: \"{c}\"")))
}

/// The escape form: `\\` and `\ooo` mean a byte, all else itself.
pub fn parse_escape(text: &str) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        worked(1)?;
        if *first != b'\\' {
            out.push(*first);
            rest = tail;
            continue;
        }
        match tail {
            [b'\\', tail @ ..] => {
                out.push(b'\\');
                rest = tail;
            }
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..] => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = tail;
            }
            _ => return Err(Error::new("22P02", "invalid input syntax for type bytea")),
        }
    }
    Ok(out)
}

/// byteaout. Its text may be four times as long as the bytes, and must fit a value, too.
pub fn print(value: &[u8], settings: &Settings) -> Result<String> {
    let longest = if settings.bytea_hex { 2 } else { 4 };
    if value.len() > MAX_BYTES / longest {
        return Err(Error::new("54000", "invalid memory alloc request size"));
    }
    let mut out = String::with_capacity(value.len() * 2 + 2);
    if settings.bytea_hex {
        out.push_str("\\x");
        for byte in value {
            worked(1)?;
            out.extend(
                [byte >> 4, byte & 15].map(|d| char::from(b"0123456789abcdef"[usize::from(d)])),
            );
        }
        return Ok(out);
    }
    for &byte in value {
        worked(1)?;
        match byte {
            b'\\' => out.push_str("\\\\"),
            0x20..=0x7e => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\{byte:03o}")),
        }
    }
    Ok(out)
}
