//! Escapes in literals: `E'…'` and `U&'…'`.

use super::scan::error;
use crate::value::utf8;
use crate::{Error, Result};

/// Reads the escape that a backslash begins, appends its bytes, and says where it ends.
///
/// # Errors
/// It is none, or no character.
pub(super) fn backslash(text: &str, from: usize, value: &mut Vec<u8>) -> Result<usize> {
    let bytes = text.as_bytes();
    let Some(&kind) = bytes.get(from + 1) else {
        value.push(b'\\');
        return Ok(from + 1);
    };
    let digits = |from: usize, most: usize, is: fn(&u8) -> bool| {
        bytes[from..].iter().take(most).take_while(|b| is(b)).count()
    };
    match kind {
        b'0'..=b'7' => {
            let length = digits(from + 1, 3, |b| matches!(b, b'0'..=b'7'));
            let end = from + 1 + length;
            value.push(u32::from_str_radix(&text[from + 1..end], 8).unwrap_or(0) as u8);
            Ok(end)
        }
        b'x' if digits(from + 2, 2, u8::is_ascii_hexdigit) > 0 => {
            let end = from + 2 + digits(from + 2, 2, u8::is_ascii_hexdigit);
            value.push(u8::from_str_radix(&text[from + 2..end], 16).unwrap_or(0));
            Ok(end)
        }
        b'u' | b'U' => {
            let (first, mut end) = code(text, from)?;
            let point = match first {
                0xd800..=0xdbff => {
                    let second = match bytes.get(end..end + 2) {
                        Some(b"\\u" | b"\\U") => Some(code(text, end)?),
                        _ => None,
                    };
                    match second {
                        Some((low @ 0xdc00..=0xdfff, after)) => {
                            end = after;
                            0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00)
                        }
                        Some((_, after)) => return Err(no_pair(text, end, after)),
                        None => return Err(no_pair(text, end, next_char(text, end))),
                    }
                }
                0xdc00..=0xdfff => return Err(no_pair(text, from, end)),
                point => point,
            };
            match char::from_u32(point).filter(|c| *c != '\0') {
                Some(c) => value.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                None => return Err(error(text, "invalid Unicode escape value", from, end)),
            }
            Ok(end)
        }
        _ => {
            let end = next_char(text, from + 1);
            match kind {
                b'b' => value.push(8),
                b'f' => value.push(0x0c),
                b'n' => value.push(b'\n'),
                b'r' => value.push(b'\r'),
                b't' => value.push(b'\t'),
                _ => value.extend_from_slice(&bytes[from + 1..end]),
            }
            Ok(end)
        }
    }
}

fn next_char(text: &str, from: usize) -> usize {
    from + text[from..].chars().next().map_or(0, char::len_utf8)
}

fn no_pair(text: &str, from: usize, to: usize) -> Error {
    error(text, "invalid Unicode surrogate pair", from, to)
}

/// The code of `\uXXXX` or `\UXXXXXXXX`, and where it ends.
fn code(text: &str, from: usize) -> Result<(u32, usize)> {
    let length = if text.as_bytes()[from + 1] == b'u' { 4 } else { 8 };
    let end = from + 2 + length;
    let digits = text.get(from + 2..end).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
    let code = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
    let refused = || {
        let hint = "Unicode escapes must be \\uXXXX or \\UXXXXXXXX.";
        Error::new("22025", "invalid Unicode escape").hint(hint).at(from as u32)
    };
    Ok((code.ok_or_else(refused)?, end))
}

/// The text that bytes are.
///
/// # Errors
/// They are none.
pub(super) fn text(bytes: Vec<u8>) -> Result<String> {
    utf8::text(&bytes)?;
    Ok(String::from_utf8(bytes).expect("it was just looked at"))
}

/// Reads the escapes of `U&'…'`; `from` is where its inner text begins in the statement.
///
/// # Errors
/// An escape is none, or no character.
pub(super) fn unicode(raw: &str, escape: char, from: u32) -> Result<String> {
    let refused = |message: &str, at: usize| Error::new("42601", message).at(from + at as u32);
    let no_pair = |at: usize| refused("invalid Unicode surrogate pair", at);
    let mut value = String::with_capacity(raw.len());
    let mut pending = None;
    let mut at = 0;
    while let Some(c) = raw[at..].chars().next() {
        let rest = &raw[at + c.len_utf8()..];
        let (digits, length) = match rest.strip_prefix('+') {
            Some(digits) => (digits.get(..6), 8),
            None => (rest.get(..4), 5),
        };
        if c != escape {
            if pending.is_some() {
                return Err(no_pair(at));
            }
            value.push(c);
            at += c.len_utf8();
            continue;
        }
        if rest.starts_with(escape) {
            if pending.is_some() {
                return Err(no_pair(at));
            }
            value.push(escape);
            at += 2;
            continue;
        }
        let digits = digits.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(code) = digits.and_then(|d| u32::from_str_radix(d, 16).ok()) else {
            let hint = "Unicode escapes must be \\XXXX or \\+XXXXXX.";
            return Err(refused("invalid Unicode escape", at).hint(hint));
        };
        if code == 0 || code > 0x10_ffff {
            return Err(refused("invalid Unicode escape value", at));
        }
        match (pending.take(), code) {
            (Some(first), 0xdc00..=0xdfff) => {
                let point = 0x10000_u32 + ((first - 0xd800_u32) << 10) + (code - 0xdc00);
                value.push(char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            (Some(_), _) | (None, 0xdc00..=0xdfff) => return Err(no_pair(at)),
            (None, 0xd800..=0xdbff) => pending = Some(code),
            (None, _) => value.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)),
        }
        at += length;
    }
    match pending {
        Some(_) => Err(no_pair(at)),
        None => Ok(value),
    }
}
