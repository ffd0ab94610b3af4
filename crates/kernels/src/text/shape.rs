//! Texts that are padded, trimmed, repeated, replaced, reversed, or written in another case.
//!
//! Letters are those of ASCII where case is asked for: that is collation C.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use onlap_pg::value::MAX_BYTES;
use onlap_pg::{Error, Result};

use crate::text::compare::bools;
use crate::text::parts::offset;
use crate::{Cx, Entry, Int4, Text, one, three, two};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("starts_with(text,text)", |_| bools::<Text, Text>(|a, b| a.starts_with(b))),
    ("lower(text)", |_| one::<Text, Text>(|a, cx| in_case(a, str::make_ascii_lowercase, cx))),
    ("upper(text)", |_| one::<Text, Text>(|a, cx| in_case(a, str::make_ascii_uppercase, cx))),
    ("initcap(text)", |_| one::<Text, Text>(|a, cx| initcap(a, cx))),
    ("reverse(text)", |_| one::<Text, Text>(|a, cx| reverse(a, cx))),
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
    ("btrim(text,text)", |_| two::<Text, Text, Text>(|a, set, cx| trim(a, set, (true, true), cx))),
    ("ltrim(text,text)", |_| two::<Text, Text, Text>(|a, set, cx| trim(a, set, (true, false), cx))),
    ("rtrim(text,text)", |_| two::<Text, Text, Text>(|a, set, cx| trim(a, set, (false, true), cx))),
];

fn in_case(text: &str, change: fn(&mut str), cx: &Cx<'_>) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    cx.text_pieces(text, |piece| {
        let before = out.len();
        out.push_str(piece);
        change(&mut out[before..]);
    })?;
    Ok(out)
}

/// The first letter of each word in upper case, the others in lower case; words are letters and digits.
fn initcap(text: &str, cx: &Cx<'_>) -> Result<String> {
    let mut within = false;
    let mut out = String::with_capacity(text.len());
    cx.text_pieces(text, |piece| {
        out.extend(piece.chars().map(|c| {
            let shown = if within { c.to_ascii_lowercase() } else { c.to_ascii_uppercase() };
            within = c.is_ascii_alphanumeric();
            shown
        }));
    })?;
    Ok(out)
}

fn reverse(text: &str, cx: &Cx<'_>) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().rev() {
        cx.worked(1)?;
        out.push(c);
    }
    Ok(out)
}

/// Without the characters of a set at its front and its back.
fn trim(text: &str, set: &str, ends: (bool, bool), cx: &Cx<'_>) -> Result<String> {
    /// A set of more bytes is looked up by a hash.
    const FEW: usize = 32;
    let many: Option<HashSet<char>> = match set.len() > FEW {
        true => {
            cx.worked(set.len())?;
            Some(set.chars().collect())
        }
        false => None,
    };
    let goes = |c: char| many.as_ref().map_or_else(|| set.contains(c), |many| many.contains(&c));
    let mut text = text;
    let mut chars = text.chars();
    while ends.0 && chars.next().is_some_and(&goes) {
        cx.worked(1)?;
        text = chars.as_str();
    }
    let mut chars = text.chars();
    while ends.1 && chars.next_back().is_some_and(&goes) {
        cx.worked(1)?;
        text = chars.as_str();
    }
    Ok(text.into())
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
    let finder = memchr::memmem::Finder::new(from);
    if to.len() > from.len() {
        let mut found = 0_usize;
        for _ in finder.find_iter(text.as_bytes()) {
            cx.worked(from.len())?;
            found += 1;
        }
        let grown = (to.len() - from.len()).saturating_mul(found);
        cx.room(text.len().saturating_add(grown))?;
    }
    let (mut out, mut end) = (String::with_capacity(text.len()), 0);
    for at in finder.find_iter(text.as_bytes()) {
        cx.worked(at - end + to.len())?;
        out.push_str(&text[end..at]);
        out.push_str(to);
        end = at + from.len();
    }
    out.push_str(&text[end..]);
    Ok(out)
}

/// Each character that stands in one text becomes that at its place in the other, or goes if there is none.
fn translate(text: &str, from: &str, to: &str, cx: &mut Cx<'_>) -> Result<String> {
    cx.room(text.len().saturating_mul(4).min(MAX_BYTES))?;
    let mut to = to.chars();
    let mut map = HashMap::new();
    for c in from.chars() {
        cx.worked(1)?;
        let new = to.next();
        map.entry(c).or_insert(new);
    }
    let mut out = String::with_capacity(text.len());
    cx.text_pieces(text, |piece| {
        out.extend(piece.chars().filter_map(|c| map.get(&c).copied().unwrap_or(Some(c))));
    })?;
    Ok(out)
}

/// A text of so many characters: cut, or filled up before or behind it.
fn pad(text: &str, length: i32, fill: &str, before: bool, cx: &mut Cx<'_>) -> Result<String> {
    let length = length.max(0) as usize;
    // A character may take four bytes; a value's header takes four, too.
    if !fill.is_empty() && length > (MAX_BYTES - 4) / 4 {
        return Err(too_large());
    }
    if text.len() > length && offset(text, length) < text.len() {
        return Ok(text[..offset(text, length)].into());
    }
    let missing = if fill.is_empty() { 0 } else { length - text.chars().count() };
    let most = fill.chars().take(missing).map(char::len_utf8).max().unwrap_or(0);
    cx.room(text.len().saturating_add(missing.saturating_mul(most)))?;
    let filling = fill.chars().cycle().take(missing);
    let (front, back) = if before { ("", text) } else { (text, "") };
    let mut out = String::from(front);
    for c in filling {
        cx.worked(1)?;
        out.push(c);
    }
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
