//! Lengths, parts and joins of texts.

use crate::{Bool, Entry, Int4, Text, one, two};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("textcat(text,text)", |_| {
        two::<Text, Text, Text>(|a, b, cx| {
            cx.room(a.len().saturating_add(b.len()))?;
            Ok([a, b].concat())
        })
    }),
    ("length(text)", |_| one::<Text, Int4>(|a, _| Ok(a.chars().count() as i32))),
    ("texteq(text,text)", |_| two::<Text, Text, Bool>(|a, b, _| Ok(a == b))),
];
