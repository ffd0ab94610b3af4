//! Which part of a text is meant, and where does one text lie in another?
//!
//! Positions count characters from 1.

use memchr::memmem::{self, Finder};
use onlap_base::stop::STRIDE;
use onlap_pg::{Error, Result};

use crate::{Cx, Entry, Int4, Text, four, three, two};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("substr(text,int4)", |_| two::<Text, Int4, Text>(|a, from, _| Ok(rest(a, from).into()))),
    ("substring(text,int4)", |_| two::<Text, Int4, Text>(|a, from, _| Ok(rest(a, from).into()))),
    ("substr(text,int4,int4)", |_| three::<Text, Int4, Int4, Text>(part)),
    ("substring(text,int4,int4)", |_| three::<Text, Int4, Int4, Text>(part)),
    ("overlay(text,text,int4)", |_| {
        three::<Text, Text, Int4, Text>(|a, new, from, cx| {
            overlay(a, new, from, new.chars().count() as i32, cx)
        })
    }),
    ("overlay(text,text,int4,int4)", |_| four::<Text, Text, Int4, Int4, Text>(overlay)),
    ("position(text,text)", |_| two::<Text, Text, Int4>(position)),
    ("strpos(text,text)", |_| two::<Text, Text, Int4>(position)),
    ("left(text,int4)", |_| two::<Text, Int4, Text>(|a, n, _| Ok(split(a, n).0.into()))),
    ("right(text,int4)", |_| two::<Text, Int4, Text>(|a, n, _| Ok(right(a, n).into()))),
    ("split_part(text,text,int4)", |_| three::<Text, Text, Int4, Text>(split_part)),
];

/// The offset of a character counted from 0; the length of the text if there is none.
pub(super) fn offset(text: &str, at: usize) -> usize {
    if at >= text.len() {
        return text.len();
    }
    let mut rest = text.chars();
    if at > 0 {
        rest.nth(at - 1);
    }
    text.len() - rest.as_str().len()
}

/// Which elements a substring takes of those that are there, counted from 0; `None` for none.
///
/// # Errors
/// `22011`: a length below 0.
pub(super) fn range(from: i32, length: i32) -> Result<Option<(usize, usize)>> {
    if length < 0 {
        return Err(Error::new("22011", "negative substring length not allowed"));
    }
    let end = match from.checked_add(length) {
        Some(end) if end < 1 => return Ok(None),
        Some(end) => end as usize - 1,
        None => usize::MAX,
    };
    Ok(Some((from.max(1) as usize - 1, end)))
}

/// From a character on.
pub(super) fn rest(text: &str, from: i32) -> &str {
    &text[offset(text, from.max(1) as usize - 1)..]
}

fn part(text: &str, from: i32, length: i32, _: &mut Cx<'_>) -> Result<String> {
    let Some((start, end)) = range(from, length)? else { return Ok(String::new()) };
    let rest = &text[offset(text, start)..];
    Ok(rest[..offset(rest, end.saturating_sub(start))].into())
}

/// Where an overlay begins and what it leaves of the rest, counted from 1.
///
/// # Errors
/// `22011`: it begins before the first; `22003`.
pub(super) fn laid(from: i32, length: i32) -> Result<(i32, i32)> {
    if from <= 0 {
        return Err(Error::new("22011", "negative substring length not allowed"));
    }
    let after =
        from.checked_add(length).ok_or_else(|| Error::new("22003", "integer out of range"))?;
    Ok((from, after))
}

fn overlay(text: &str, new: &str, from: i32, length: i32, cx: &mut Cx<'_>) -> Result<String> {
    let (from, after) = laid(from, length)?;
    let (before, after) = (&text[..offset(text, from as usize - 1)], rest(text, after));
    cx.room(before.len().saturating_add(new.len()).saturating_add(after.len()))?;
    Ok([before, new, after].concat())
}

/// Where a text begins in another, 0 if it is not there.
fn position(text: &str, part: &str, cx: &mut Cx<'_>) -> Result<i32> {
    let Some(at) = find_first(part.as_bytes(), text.as_bytes(), cx)? else { return Ok(0) };
    let mut before = 0;
    cx.text_pieces(&text[..at], |piece| before += piece.chars().count())?;
    Ok(before as i32 + 1)
}

/// Where bytes lie in others.
pub(super) fn find_first(part: &[u8], bytes: &[u8], cx: &Cx<'_>) -> Result<Option<usize>> {
    // Of few bytes no search is prepared.
    if bytes.len() <= STRIDE {
        cx.worked(bytes.len())?;
        return Ok(memmem::find(bytes, part));
    }
    find(&Finder::new(part), bytes, 0, cx)
}

/// Where bytes lie in others, from a place on. It looks at stretches, and asks between them.
fn find(finder: &Finder<'_>, bytes: &[u8], from: usize, cx: &Cx<'_>) -> Result<Option<usize>> {
    let part = finder.needle().len();
    let (mut from, stretch) = (from, STRIDE.max(part));
    loop {
        // What begins in a stretch may end behind it.
        let end = bytes.len().min(from + stretch + part);
        if let Some(at) = finder.find(&bytes[from..end]) {
            cx.worked(at + part)?;
            return Ok(Some(from + at));
        }
        cx.worked(stretch)?;
        if end == bytes.len() {
            return Ok(None);
        }
        from += stretch;
    }
}

/// Splits after so many characters, or before so many of the last ones.
fn split(text: &str, n: i32) -> (&str, &str) {
    if n >= 0 {
        return text.split_at(offset(text, n as usize));
    }
    let back = n.unsigned_abs() as usize;
    let mut rest = text.chars();
    rest.nth_back(back - 1);
    let at = rest.as_str().len();
    text.split_at(at)
}

/// The last characters, or all but some of the first ones.
fn right(text: &str, n: i32) -> &str {
    match n {
        0 => "",
        // As PostgreSQL, where this number has no opposite.
        i32::MIN => text,
        n => split(text, -n).1,
    }
}

fn split_part(text: &str, by: &str, n: i32, cx: &mut Cx<'_>) -> Result<String> {
    if n == 0 {
        return Err(Error::new("22023", "field position must not be zero"));
    }
    if by.is_empty() {
        return Ok(if matches!(n, 1 | -1) { text.into() } else { String::new() });
    }
    let (at, finder) = (n.unsigned_abs() as usize - 1, Finder::new(by));
    let at = match n > 0 {
        true => at,
        // Fields are those that are found from the beginning on.
        false => {
            let (mut fields, mut from) = (1_usize, 0);
            while let Some(at) = find(&finder, text.as_bytes(), from, cx)? {
                (fields, from) = (fields + 1, at + by.len());
            }
            match fields.checked_sub(at + 1) {
                Some(at) => at,
                None => return Ok(String::new()),
            }
        }
    };
    let (mut begin, mut field) = (0, 0);
    while let Some(end) = find(&finder, text.as_bytes(), begin, cx)? {
        if field == at {
            return Ok(text[begin..end].into());
        }
        (begin, field) = (end + by.len(), field + 1);
    }
    Ok(if field == at { text[begin..].into() } else { String::new() })
}
