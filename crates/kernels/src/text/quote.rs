//! How is a text written as a name or a literal of SQL?

use onlap_pg::Result;
use onlap_pg::grammar::{Class, Keyword};

use crate::text::any::kernel;
use crate::{Cx, Entry, Null, Text, one};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("quote_ident(text)", |_| one::<Text, Text>(|a, cx| identifier(a, cx))),
    ("quote_literal(text)", |_| one::<Text, Text>(quoted)),
    ("quote_nullable(text)", |_| {
        one::<Null<Text>, Text>(|a, cx| match a {
            Some(text) => quoted(text, cx),
            None => Ok("NULL".into()),
        })
    }),
    ("quote_literal(anyelement)", |types| {
        kernel(types, |args, cx| args.cast(0, cx)?.map(|text| quoted(&text, cx)).transpose())
    }),
    ("quote_nullable(anyelement)", |types| {
        kernel(types, |args, cx| match args.cast(0, cx)? {
            Some(text) => quoted(&text, cx).map(Some),
            None => Ok(Some("NULL".into())),
        })
    }),
];

fn quoted(text: &str, cx: &mut Cx<'_>) -> Result<String> {
    cx.room(text.len().saturating_mul(2).saturating_add(3))?;
    literal(text, cx)
}

/// A literal; with a backslash it is one with escapes.
///
/// # Errors
/// `57014`.
pub(super) fn literal(text: &str, cx: &Cx<'_>) -> Result<String> {
    let mut out = String::from(if text.contains('\\') { "E'" } else { "'" });
    doubled(text, &['\'', '\\'], &mut out, cx)?;
    out.push('\'');
    Ok(out)
}

/// Writes a text with some of its characters twice.
fn doubled(text: &str, which: &[char], out: &mut String, cx: &Cx<'_>) -> Result<()> {
    cx.text_pieces(text, |piece| {
        for part in piece.split_inclusive(which) {
            out.push_str(part);
            out.extend(part.chars().next_back().filter(|last| which.contains(last)));
        }
    })
}

/// A name, quoted unless it is one as it stands.
///
/// # Errors
/// `54000`, `53200`, `57014`.
pub(crate) fn identifier(name: &str, cx: &Cx<'_>) -> Result<String> {
    cx.room(name.len().saturating_mul(2).saturating_add(2))?;
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && Keyword::of(name).is_none_or(|word| word.class() == Class::Free);
    if plain {
        return Ok(name.into());
    }
    let mut out = String::from("\"");
    doubled(name, &['"'], &mut out, cx)?;
    out.push('"');
    Ok(out)
}
