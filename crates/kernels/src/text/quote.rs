//! How is a text written as a name or a literal of SQL?

use onlap_pg::Result;
use onlap_pg::grammar::{Class, Keyword};

use crate::text::any::kernel;
use crate::{Cx, Entry, Null, Text, one};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("quote_ident(text)", |_| one::<Text, Text>(|a, _| Ok(identifier(a)))),
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
    Ok(literal(text))
}

/// A literal; with a backslash it is one with escapes.
pub(super) fn literal(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    match doubled.contains('\\') {
        true => format!("E'{}'", doubled.replace('\\', "\\\\")),
        false => format!("'{doubled}'"),
    }
}

/// A name, quoted unless it is one as it stands.
pub(crate) fn identifier(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && Keyword::of(name).is_none_or(|word| word.class() == Class::Free);
    match plain {
        true => name.into(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}
