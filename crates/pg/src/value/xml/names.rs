//! How is a name of SQL written as one of XML, and read again?

use super::classes::{FIRST, MORE};

/// A name of SQL as one of XML. What cannot stand in one is written as `_xHHHH_`; where `full`, what XML keeps for itself
/// is written so, too.
pub fn to_xml(name: &str, full: bool) -> String {
    let mut out = String::with_capacity(name.len());
    for (at, c) in name.char_indices() {
        let rest = &name[at..];
        let begins = rest.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("xml"));
        match c {
            ':' if at == 0 || full => out.push_str("_x003A_"),
            '_' if rest.starts_with("_x") => out.push_str("_x005F_"),
            'x' if full && at == 0 && begins => out.push_str("_x0078_"),
            'X' if full && at == 0 && begins => out.push_str("_x0058_"),
            c if at == 0 && is_first(c) || at > 0 && is_part(c) => out.push(c),
            c => out.push_str(&format!("_x{:04X}_", u32::from(c))),
        }
    }
    out
}

/// The name of SQL that one of XML was written for.
pub fn from_xml(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let (read, length) = match escaped(rest) {
            Some(c) => (c, "_xHHHH_".len()),
            None => (c, c.len_utf8()),
        };
        out.push(read);
        rest = &rest[length..];
    }
    out
}

/// The character that an escape at the beginning stands for.
fn escaped(text: &str) -> Option<char> {
    let digits = text.strip_prefix("_x")?;
    let (digits, behind) = (digits.get(..4)?, digits.get(4..)?);
    let is_escape = behind.starts_with('_') && digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_escape.then(|| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32))?
}

/// Whether a name of the fourth edition may begin with a character.
fn is_first(c: char) -> bool {
    match c {
        c if c.is_ascii() => c.is_ascii_alphabetic() || matches!(c, '_' | ':'),
        c => is_in(FIRST, c),
    }
}

/// Whether one may have it.
pub(super) fn is_part(c: char) -> bool {
    match c {
        c if c.is_ascii() => c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '-' | '.'),
        c => is_in(FIRST, c) || is_in(MORE, c),
    }
}

fn is_in(ranges: &[(u16, u16)], c: char) -> bool {
    let Ok(c) = u16::try_from(u32::from(c)) else { return false };
    let at = ranges.partition_point(|(_, last)| *last < c);
    ranges.get(at).is_some_and(|(first, _)| *first <= c)
}
