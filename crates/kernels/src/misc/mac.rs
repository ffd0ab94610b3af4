//! How are hardware addresses written?
//!
//! macaddr is 6 bytes, macaddr8 is 8. Thread safety: pure functions.

use onlap_pg::{Error, Result};

fn invalid(name: &str, text: &str) -> Error {
    Error::new("22P02", format!("invalid input syntax for type {name}: \"{text}\""))
}

/// macaddr_in: six pairs of digits with one kind of mark between, or groups of six or four digits, or none.
pub(crate) fn parse6(text: &str) -> Result<[u8; 6]> {
    let bad = || invalid("macaddr", text);
    let trimmed = text.trim_matches(|c: char| matches!(c, ' ' | '\t'..='\r'));
    let shape: String =
        trimmed.chars().map(|c| if c.is_ascii_hexdigit() { 'x' } else { c }).collect();
    let grouped =
        ["xxxxxx:xxxxxx", "xxxxxx-xxxxxx", "xxxx.xxxx.xxxx", "xxxx-xxxx-xxxx", "xxxxxxxxxxxx"];
    let digits: String = match grouped.contains(&shape.as_str()) {
        true => trimmed.chars().filter(char::is_ascii_hexdigit).collect(),
        false => pairs(trimmed, text)?,
    };
    let mut out = [0; 6];
    for (byte, pair) in out.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).map_err(|_| bad())?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| bad())?;
    }
    Ok(out)
}

/// Six numbers of one or more digits with colons or with dashes between.
fn pairs(trimmed: &str, text: &str) -> Result<String> {
    let mark = if trimmed.contains(':') { ':' } else { '-' };
    let parts: Vec<&str> = trimmed.split(mark).collect();
    let digits = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_hexdigit());
    if parts.len() != 6 || !parts.iter().all(digits) {
        return Err(invalid("macaddr", text));
    }
    let mut out = String::new();
    for part in parts {
        match u64::from_str_radix(part, 16) {
            Ok(value @ 0..=255) => out.push_str(&format!("{value:02x}")),
            _ => {
                let message = format!("invalid octet value in \"macaddr\" value: \"{text}\"");
                return Err(Error::new("22003", message));
            }
        }
    }
    Ok(out)
}

/// macaddr8_in: six or eight pairs of digits, with marks between that are all the same; six get FF and FE in their middle.
pub(crate) fn parse8(text: &str) -> Result<[u8; 8]> {
    let bad = || invalid("macaddr8", text);
    let space = |c: char| matches!(c, ' ' | '\t'..='\r');
    let mut rest = text.trim_matches(space);
    let mut mark = None;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let pair = rest.get(..2).ok_or_else(bad)?;
        if !pair.bytes().all(|byte| byte.is_ascii_hexdigit()) || found.len() == 8 {
            return Err(bad());
        }
        found.push(u8::from_str_radix(pair, 16).map_err(|_| bad())?);
        rest = &rest[2..];
        if let Some(next @ (':' | '-' | '.')) = rest.chars().next() {
            if *mark.get_or_insert(next) != next {
                return Err(bad());
            }
            rest = &rest[1..];
            if rest.is_empty() {
                return Err(bad());
            }
        }
    }
    match found.as_slice() {
        [a, b, c, d, e, f] => Ok([*a, *b, *c, 0xff, 0xfe, *d, *e, *f]),
        eight => eight.try_into().map_err(|_| bad()),
    }
}

/// macaddr_out and macaddr8_out.
pub(crate) fn print(bytes: &[u8]) -> String {
    let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    pairs.join(":")
}
