//! Texts that are padded, trimmed, repeated, replaced, reversed, or written in another case.
//!
//! Letters are those of ASCII where case is asked for: that is collation C.

use std::borrow::Cow;
use std::collections::HashMap;

use onlap_pg::value::MAX_BYTES;
use onlap_pg::{Error, Result};

use crate::text::compare::bools;
use crate::{Cx, Entry, Int4, Text, one, three, two};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("starts_with(text,text)", |_| bools::<Text, Text>(|a, b| a.starts_with(b))),
    ("lower(text)", |_| one::<Text, Text>(|a, _| Ok(a.to_ascii_lowercase()))),
    ("upper(text)", |_| one::<Text, Text>(|a, _| Ok(a.to_ascii_uppercase()))),
    ("initcap(text)", |_| one::<Text, Text>(|a, _| Ok(initcap(a)))),
    ("reverse(text)", |_| one::<Text, Text>(|a, _| Ok(a.chars().rev().collect()))),
    ("repeat(text,int4)", |_| two::<Text, Int4, Text>(repeat)),
    ("replace(text,text,text)", |_| three::<Text, Text, Text, Text>(replace)),
    ("translate(text,text,text)", |_| three::<Text, Text, Text, Text>(translate)),
    ("lpad(text,int4)", |_| two::<Text, Int4, Text>(|a, n, cx| pad(a, n, " ", true, cx))),
    ("lpad(text,int4,text)", |_| {
        three::<Text, Int4, Text, Text>(|a, n, fill, cx| pad(a, n, fill, true, cx))
    }),
    ("rpad(text,int4)", |_| two::<Text, Int4, Text>(|a, n, cx| pad(a, n, " ", false, cx))),
    ("rpad(text,int4,text)", |_| {
        three::<Text, Int4, Text, Text>(|a, n, fill, cx| pad(a, n, fill, false, cx))
    }),
    ("btrim(text)", |_| one::<Text, Text>(|a, _| Ok(a.trim_matches(' ').into()))),
    ("ltrim(text)", |_| one::<Text, Text>(|a, _| Ok(a.trim_start_matches(' ').into()))),
    ("rtrim(text)", |_| one::<Text, Text>(|a, _| Ok(a.trim_end_matches(' ').into()))),
    ("btrim(text,text)", |_| {
        two::<Text, Text, Text>(|a, set, _| Ok(a.trim_matches(|c| set.contains(c)).into()))
    }),
    ("ltrim(text,text)", |_| {
        two::<Text, Text, Text>(|a, set, _| Ok(a.trim_start_matches(|c| set.contains(c)).into()))
    }),
    ("rtrim(text,text)", |_| {
        two::<Text, Text, Text>(|a, set, _| Ok(a.trim_end_matches(|c| set.contains(c)).into()))
    }),
];

/// The first letter of each word in upper case, the others in lower case; words are letters and digits.
fn initcap(text: &str) -> String {
    let mut within = false;
    text.chars()
        .map(|c| {
            let shown = if within { c.to_ascii_lowercase() } else { c.to_ascii_uppercase() };
            within = c.is_ascii_alphanumeric();
            shown
        })
        .collect()
}

fn too_large() -> Error {
    Error::new("54000", "requested length too large")
}

fn repeat(text: &str, times: i32, cx: &mut Cx<'_>) -> Result<String> {
    let times = times.max(0) as usize;
    let bytes = text.len().checked_mul(times).ok_or_else(too_large)?;
    cx.room(bytes)?;
    Ok(text.repeat(times))
}

fn replace(text: &str, from: &str, to: &str, cx: &mut Cx<'_>) -> Result<String> {
    if from.is_empty() || text.len() < from.len() {
        return Ok(text.into());
    }
    if to.len() > from.len() {
        let found = text.matches(from).count();
        let grown = (to.len() - from.len()).saturating_mul(found);
        cx.room(text.len().saturating_add(grown))?;
    }
    Ok(text.replace(from, to))
}

/// Each character that stands in one text becomes that at its place in the other, or goes if there is none.
fn translate(text: &str, from: &str, to: &str, cx: &mut Cx<'_>) -> Result<String> {
    cx.room(text.len().saturating_mul(4).min(MAX_BYTES))?;
    let mut to = to.chars();
    let mut map = HashMap::new();
    for c in from.chars() {
        let new = to.next();
        map.entry(c).or_insert(new);
    }
    Ok(text.chars().filter_map(|c| map.get(&c).copied().unwrap_or(Some(c))).collect())
}

/// A text of so many characters: cut, or filled up before or behind it.
fn pad(text: &str, length: i32, fill: &str, before: bool, cx: &mut Cx<'_>) -> Result<String> {
    let length = length.max(0) as usize;
    // A character may take four bytes; a value's header takes four, too.
    if !fill.is_empty() && length > (MAX_BYTES - 4) / 4 {
        return Err(too_large());
    }
    if let Some((end, _)) = text.char_indices().nth(length) {
        return Ok(text[..end].into());
    }
    let missing = if fill.is_empty() { 0 } else { length - text.chars().count() };
    let most = fill.chars().map(char::len_utf8).max().unwrap_or(0);
    cx.room(text.len().saturating_add(missing.saturating_mul(most)))?;
    let filling = fill.chars().cycle().take(missing);
    let (front, back) = if before { ("", text) } else { (text, "") };
    let mut out = String::from(front);
    out.extend(filling);
    out.push_str(back);
    Ok(out)
}

/// ASCII's capitals in lower case; borrowed where there are none.
pub(super) fn lower(text: &str) -> Cow<'_, str> {
    match text.bytes().any(|b| b.is_ascii_uppercase()) {
        true => Cow::Owned(text.to_ascii_lowercase()),
        false => Cow::Borrowed(text),
    }
}
