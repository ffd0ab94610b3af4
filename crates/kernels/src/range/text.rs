//! How are ranges and multiranges written, as text and in binary?
//!
//! The text of a multirange is gone over for the texts of its ranges, each of which is read as one.
//! Thread safety: pure functions.

use onlap_pg::{Error, Oid, Result, TypeRef, worked};

use super::form::{
    Bound, EMPTY, LOWER_IN, NO_LOWER, NO_UPPER, Range, Ranges, UPPER_IN, store, store_all,
};
use super::line::{Line, On};
use super::sets::merged;
use crate::array::row_text::{is_blank, quote, unquoted};
use crate::array::text::{Message, is_space};
use crate::misc::growth::Growth;
use crate::{Cx, Datum};

/// The word for the empty range.
const EMPTY_WORD: &str = "empty";

/// What the ranges of a type are of, if it is one of ranges or multiranges.
fn line(cx: &Cx<'_>, oid: Oid) -> Option<(Line, bool)> {
    let is_multi = cx.catalog.multirange_range(oid).is_some();
    Line::of(cx.catalog, oid).map(|line| (line, is_multi))
}

/// range_in and multirange_in; `None` for another type.
pub(crate) fn input(cx: &mut Cx<'_>, oid: Oid, text: &str) -> Result<Option<Datum<'static>>> {
    Ok(match line(cx, oid) {
        None => None,
        Some((line, false)) => Some(store(read(cx, line, text)?.as_ref())),
        Some((line, true)) => Some(read_all(cx, line, text)?),
    })
}

/// range_out and multirange_out; whether the type is one of theirs.
pub(crate) fn output(cx: &mut Cx<'_>, oid: Oid, bytes: &[u8], out: &mut String) -> Result<bool> {
    let Some((line, is_multi)) = line(cx, oid) else { return Ok(false) };
    let mut ranges = Ranges::load(bytes, line.repr);
    if !is_multi {
        match ranges.next() {
            Some(range) => write(cx, line, &range, out)?,
            None => out.push_str(EMPTY_WORD),
        }
        return Ok(true);
    }
    let mut growth = Growth::new();
    out.push('{');
    for (at, range) in ranges.enumerate() {
        if at % 1024 == 0 {
            cx.go_on()?;
            growth.value(cx, out.len())?;
        }
        if at > 0 {
            out.push(',');
        }
        write(cx, line, &range, out)?;
    }
    out.push('}');
    Ok(true)
}

fn write(cx: &mut Cx<'_>, line: Line, range: &Range<'_>, out: &mut String) -> Result<()> {
    let mut held = String::new();
    out.push(if range.lower.inclusive { '[' } else { '(' });
    for bound in [&range.lower, &range.upper] {
        if !bound.lower {
            out.push(',');
        }
        if let Some(value) = &bound.value {
            held.clear();
            crate::output(cx, line.element, value, &mut held)?;
            quote(&held, b"()[],", out);
        }
    }
    out.push(if range.upper.inclusive { ']' } else { ')' });
    Ok(())
}

/// Whether a text begins with the word for the empty range, in letters of any case.
fn begins_empty(text: &str) -> Option<&str> {
    let (word, rest) = text.split_at_checked(EMPTY_WORD.len())?;
    word.eq_ignore_ascii_case(EMPTY_WORD).then_some(rest)
}

/// The range that a text is; `None` for the empty one.
fn read(cx: &mut Cx<'_>, line: Line, text: &str) -> Result<Option<Range<'static>>> {
    let bad = |detail: &str| {
        Error::new("22P02", format!("malformed range literal: \"{text}\"")).detail(detail)
    };
    let begin = text.trim_start_matches(is_blank);
    if let Some(rest) = begins_empty(begin) {
        return match rest.trim_start_matches(is_blank).is_empty() {
            true => Ok(None),
            false => Err(bad("Junk after \"empty\" key word.")),
        };
    }
    let lower_in = begin.starts_with('[');
    let rest = begin
        .strip_prefix(['[', '('])
        .ok_or_else(|| bad("Missing left parenthesis or bracket."))?;
    let ended = || bad("Unexpected end of input.");
    let (lower, rest) = bound(rest).ok_or_else(ended)?;
    let rest = rest.strip_prefix(',').ok_or_else(|| bad("Missing comma after lower bound."))?;
    let (upper, rest) = bound(rest).ok_or_else(ended)?;
    let upper_in = rest.starts_with(']');
    let rest = rest.strip_prefix([']', ')']).ok_or_else(|| bad("Too many commas."))?;
    if !rest.trim_start_matches(is_blank).is_empty() {
        return Err(bad("Junk after right parenthesis or bracket."));
    }
    let mut value = |text: Option<String>| match text {
        Some(text) => crate::input(cx, TypeRef::new(line.element), &text).map(Some),
        None => Ok(None),
    };
    let (lower, upper) = (value(lower)?, value(upper)?);
    let lower = Bound { value: lower, inclusive: lower_in, lower: true };
    let upper = Bound { value: upper, inclusive: upper_in, lower: false };
    On { line, catalog: cx.catalog }.make(lower, upper)
}

/// A bound without its quotes, nothing where there is none, and what follows it; `None` where the text ends in it.
fn bound(text: &str) -> Option<(Option<String>, &str)> {
    const ENDS: [char; 3] = [',', ')', ']'];
    if text.starts_with(ENDS) {
        return Some((None, text));
    }
    unquoted(text, &ENDS).map(|(held, rest)| (Some(held), rest))
}

/// What was read of a multirange.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A range is to come.
    Before,
    /// In a range.
    In,
    /// In a range, behind a backslash.
    Escaped,
    /// In quotes in a range.
    Quoted,
    /// In quotes, behind a backslash.
    QuotedEscaped,
    /// Behind a range.
    After,
}

/// Where the texts of the ranges begin and end that are not the word for the empty one.
fn split(text: &str) -> Result<Vec<(usize, usize)>> {
    let bad = |detail: &str| {
        Error::new("22P02", format!("malformed multirange literal: \"{text}\"")).detail(detail)
    };
    let bytes = text.as_bytes();
    let mut at = text.len() - text.trim_start_matches(is_blank).len();
    if bytes.get(at) != Some(&b'{') {
        return Err(bad("Missing left brace."));
    }
    at += 1;
    let (mut place, mut found, mut start, mut seen) = (Place::Before, Vec::new(), 0, false);
    loop {
        worked(1)?;
        let byte = *bytes.get(at).ok_or_else(|| bad("Unexpected end of input."))?;
        let next = bytes.get(at + 1);
        // Blanks count for nothing, not even behind a backslash.
        place = match place {
            place if is_space(byte) => place,
            Place::Before if matches!(byte, b'[' | b'(') => {
                start = at;
                Place::In
            }
            Place::Before if byte == b'}' && !seen => break,
            Place::Before => {
                let rest = text.get(at..).and_then(begins_empty);
                let rest = rest.ok_or_else(|| bad("Expected range start."))?;
                at = text.len() - rest.len() - 1;
                seen = true;
                Place::After
            }
            Place::In if matches!(byte, b']' | b')') => {
                found.push((start, at + 1));
                seen = true;
                Place::After
            }
            Place::In if byte == b'"' => Place::Quoted,
            Place::In if byte == b'\\' => Place::Escaped,
            Place::In | Place::Escaped => Place::In,
            Place::Quoted if byte == b'"' && next == Some(&b'"') => {
                at += 1;
                Place::Quoted
            }
            Place::Quoted if byte == b'"' => Place::In,
            Place::Quoted if byte == b'\\' => Place::QuotedEscaped,
            Place::Quoted | Place::QuotedEscaped => Place::Quoted,
            Place::After if byte == b',' => Place::Before,
            Place::After if byte == b'}' => break,
            Place::After => return Err(bad("Expected comma or end of multirange.")),
        };
        at += 1;
    }
    match bytes[at + 1..].iter().all(|byte| is_space(*byte)) {
        true => Ok(found),
        false => Err(bad("Junk after closing right brace.")),
    }
}

/// The multirange that a text is.
fn read_all(cx: &mut Cx<'_>, line: Line, text: &str) -> Result<Datum<'static>> {
    let most = text.bytes().filter(|byte| matches!(byte, b']' | b')')).count();
    let each = size_of::<Range<'_>>() + size_of::<(usize, usize)>();
    Growth::new().memory(cx, text.len().saturating_add(most.saturating_mul(each)))?;
    let mut ranges = Vec::new();
    for (at, (start, end)) in split(text)?.into_iter().enumerate() {
        if at % 1024 == 0 {
            cx.go_on()?;
        }
        ranges.extend(read(cx, line, &text[start..end])?);
    }
    store_all(&merged(cx, line, ranges)?)
}

/// range_send and multirange_send; whether the type is one of theirs.
pub(crate) fn send(cx: &mut Cx<'_>, oid: Oid, bytes: &[u8], out: &mut Vec<u8>) -> Result<bool> {
    let Some((line, is_multi)) = line(cx, oid) else { return Ok(false) };
    let mut ranges = Ranges::load(bytes, line.repr);
    if !is_multi {
        match ranges.next() {
            Some(range) => send_one(cx, line, &range, out)?,
            None => out.push(EMPTY),
        }
        return Ok(true);
    }
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let mut count = 0_u32;
    for range in ranges {
        if count.is_multiple_of(1024) {
            cx.go_on()?;
        }
        counted(cx, out, |cx, out| send_one(cx, line, &range, out))?;
        count += 1;
    }
    out[start..start + 4].copy_from_slice(&count.to_be_bytes());
    Ok(true)
}

/// Appends something with its length before it.
fn counted(
    cx: &mut Cx<'_>,
    out: &mut Vec<u8>,
    put: impl FnOnce(&mut Cx<'_>, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    put(cx, out)?;
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

fn send_one(cx: &mut Cx<'_>, line: Line, range: &Range<'_>, out: &mut Vec<u8>) -> Result<()> {
    out.push(range.flags());
    for bound in [&range.lower, &range.upper] {
        if let Some(value) = &bound.value {
            counted(cx, out, |cx, out| crate::send(cx, line.element, value, out))?;
        }
    }
    Ok(())
}

/// range_recv and multirange_recv; `None` for another type.
pub(crate) fn recv(cx: &mut Cx<'_>, oid: Oid, bytes: &[u8]) -> Result<Option<Datum<'static>>> {
    let Some((line, is_multi)) = line(cx, oid) else { return Ok(None) };
    let mut message = Message(bytes);
    if !is_multi {
        let range = recv_one(cx, line, &mut message)?;
        ended(&message)?;
        return Ok(Some(store(range.as_ref())));
    }
    let count = message.int4()? as u32 as usize;
    // Each range has at least a length and its flags in the message.
    if count > message.0.len() / 5 {
        return Err(Error::new("08P01", "insufficient data left in message"));
    }
    Growth::new().memory(cx, count.saturating_mul(size_of::<Range<'_>>()))?;
    let mut ranges = Vec::new();
    for at in 0..count {
        if at % 1024 == 0 {
            cx.go_on()?;
        }
        let length = message.int4()?;
        let mut part = Message(message.take(usize::try_from(length).map_err(|_| short())?)?);
        let range = recv_one(cx, line, &mut part)?;
        ended(&part)?;
        ranges.extend(range);
    }
    ended(&message)?;
    store_all(&merged(cx, line, ranges)?).map(Some)
}

fn short() -> Error {
    Error::new("08P01", "insufficient data left in message")
}

fn ended(message: &Message<'_>) -> Result<()> {
    match message.0.is_empty() {
        true => Ok(()),
        false => Err(Error::new("08P01", "invalid message format")),
    }
}

fn recv_one(
    cx: &mut Cx<'_>,
    line: Line,
    message: &mut Message<'_>,
) -> Result<Option<Range<'static>>> {
    let flags = message.take(1).map_err(|_| Error::new("08P01", "no data left in message"))?[0];
    let mut value = |none: u8| {
        if flags & (EMPTY | none) != 0 {
            return Ok(None);
        }
        let length = usize::try_from(message.int4()?).map_err(|_| short())?;
        crate::recv(cx, TypeRef::new(line.element), message.take(length)?).map(Some)
    };
    let (lower, upper) = (value(NO_LOWER)?, value(NO_UPPER)?);
    if flags & EMPTY != 0 {
        return Ok(None);
    }
    let lower = Bound { value: lower, inclusive: flags & LOWER_IN != 0, lower: true };
    let upper = Bound { value: upper, inclusive: flags & UPPER_IN != 0, lower: false };
    On { line, catalog: cx.catalog }.make(lower, upper)
}
