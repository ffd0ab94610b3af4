//! What do the lengths of char(n), varchar(n), name and "char" do to a text?
//!
//! char(n) keeps its blanks as payload; its key is [`key`], without the blanks at the end. Lengths are those of
//! pg_attribute: n plus 4, or -1 for none.

use super::MAX_BYTES;
use crate::{Error, Result};

/// The most bytes of a name.
pub const NAME_BYTES: usize = 63;

const HEADER: i32 = 4;

/// Which conversion asks for a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cast {
    /// Written in the statement: what is too long is cut.
    Explicit,
    /// Into a column: what is too long is refused, unless only blanks go.
    Assignment,
}

/// bpchar with a length: padded, cut or refused.
pub fn to_bpchar(text: &str, modifier: i32, cast: Cast) -> Result<String> {
    if modifier < HEADER {
        return Ok(text.to_owned());
    }
    let length = (modifier - HEADER) as usize;
    let kept = within(text, length, cast, "character")?;
    let missing = length - kept.chars().count();
    if kept.len() + missing > MAX_BYTES {
        return Err(Error::new("54000", "invalid memory alloc request size"));
    }
    let mut out = String::with_capacity(kept.len() + missing);
    out.push_str(kept);
    out.extend(std::iter::repeat_n(' ', missing));
    Ok(out)
}

/// varchar with a length: cut or refused.
pub fn to_varchar(text: &str, modifier: i32, cast: Cast) -> Result<&str> {
    if modifier < HEADER {
        return Ok(text);
    }
    within(text, (modifier - HEADER) as usize, cast, "character varying")
}

fn within<'a>(text: &'a str, length: usize, cast: Cast, type_name: &str) -> Result<&'a str> {
    let Some((end, _)) = text.char_indices().nth(length) else { return Ok(text) };
    if cast == Cast::Assignment && text[end..].bytes().any(|b| b != b' ') {
        let message = format!("value too long for type {type_name}({length})");
        return Err(Error::new("22001", message));
    }
    Ok(&text[..end])
}

/// What char(n) is compared by, and what it becomes as text: no blanks at its end.
pub fn key(bpchar: &str) -> &str {
    bpchar.trim_end_matches(' ')
}

/// namein: cut to 63 bytes, between characters.
pub fn to_name(text: &str) -> &str {
    let mut end = text.len().min(NAME_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// charin of "char": the first byte; a backslash and three octal digits mean a byte.
pub fn parse_char(text: &str) -> u8 {
    match text.as_bytes() {
        [b'\\', a @ b'0'..=b'7', b @ b'0'..=b'7', c @ b'0'..=b'7'] => {
            (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0')
        }
        bytes => bytes.first().copied().unwrap_or(0),
    }
}

/// charout of "char".
pub fn print_char(value: u8) -> String {
    match value {
        0 => String::new(),
        1..0x80 => char::from(value).to_string(),
        _ => format!("\\{value:03o}"),
    }
}
