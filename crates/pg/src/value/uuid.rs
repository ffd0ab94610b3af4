//! Which texts are UUIDs?
//!
//! The sixteen bytes are payload, binary form and key at once.

use super::{fixed, invalid};
use crate::Result;

/// uuid_in: 32 hexadecimal digits of any case, a dash allowed after each fourth, braces around all.
pub fn parse(text: &str) -> Result<[u8; 16]> {
    scan(text).ok_or_else(|| invalid("uuid", text))
}

fn scan(text: &str) -> Option<[u8; 16]> {
    let mut rest = text.as_bytes();
    let braces = rest.first() == Some(&b'{');
    if braces {
        rest = &rest[1..];
    }
    let mut value = [0; 16];
    for (i, byte) in value.iter_mut().enumerate() {
        let high = char::from(*rest.first()?).to_digit(16)?;
        let low = char::from(*rest.get(1)?).to_digit(16)?;
        *byte = (high << 4 | low) as u8;
        rest = &rest[2..];
        if i % 2 == 1 && i < 15 && rest.first() == Some(&b'-') {
            rest = &rest[1..];
        }
    }
    if braces {
        rest = rest.strip_prefix(b"}")?;
    }
    rest.is_empty().then_some(value)
}

/// uuid_out.
pub fn print(value: &[u8; 16]) -> String {
    let mut out = String::with_capacity(36);
    for (i, byte) in value.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        out.push_str(&format!("{byte:02x}"));
    }
    out
}

/// uuid_recv.
pub fn recv(bytes: &[u8]) -> Result<[u8; 16]> {
    fixed(bytes)
}
