//! How are names and texts quoted?

use std::borrow::Cow;

use crate::grammar::{Class, Keyword};

/// A name as SQL has it: in quotes unless it is of small letters, digits and `_`, and no keyword that means something.
pub fn name(name: &str) -> Cow<'_, str> {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.bytes().all(|c| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'_'))
        && Keyword::of(name).is_none_or(|keyword| keyword.class() == Class::Free);
    match plain {
        true => Cow::Borrowed(name),
        false => Cow::Owned(format!("\"{}\"", name.replace('"', "\"\""))),
    }
}

/// A text as a literal.
pub fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
