//! Where are the elements in the text of an array?
//!
//! Thread safety: pure functions.

use std::borrow::Cow;

use onlap_pg::{Result, worked};

use super::form::{MAX_DIMENSIONS, MAX_ITEMS, too_large};
use super::text::{is_space, malformed, too_many};

/// An element.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    Null,
    Text(Cow<'a, str>),
}

/// What was read last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// `{`
    Open,
    /// `}`
    Close,
    /// A comma after `}`.
    CommaAfterClose,
    /// A comma after an element.
    Comma,
    /// An element.
    Item,
}

/// The braces around a place.
struct Braces<'a> {
    text: &'a str,
    /// What is between elements.
    delimiter: u8,
    /// Elements or sub-arrays so far, for each open brace.
    counts: Vec<usize>,
    /// How long each dimension was when it was first closed.
    lengths: [Option<usize>; MAX_DIMENSIONS],
    /// For each depth, the inner braces that were closed in the last brace there.
    closed: [usize; MAX_DIMENSIONS + 1],
    /// How deep elements are, once there is one; and whether others are elsewhere.
    depth: Option<usize>,
    differ: bool,
    last: Last,
}

/// The lengths of the dimensions and the elements of a text that has its first brace at a place, with this mark between elements.
pub(crate) fn split(
    text: &str,
    start: usize,
    delimiter: u8,
) -> Result<(Vec<usize>, Vec<Item<'_>>)> {
    let mut braces = Braces {
        text,
        delimiter,
        counts: vec![0],
        lengths: [None; MAX_DIMENSIONS],
        closed: [0; MAX_DIMENSIONS + 1],
        depth: None,
        differ: false,
        last: Last::Open,
    };
    let mut items = Vec::new();
    let bytes = text.as_bytes();
    let mut at = start + 1;
    while !braces.counts.is_empty() {
        let Some(byte) = bytes.get(at) else {
            return Err(malformed(text, "Unexpected end of input."));
        };
        match byte {
            b'{' => braces.open()?,
            b'}' => braces.close()?,
            byte if *byte == delimiter => braces.comma()?,
            byte if is_space(*byte) => worked(1)?,
            _ => {
                braces.item()?;
                if items.len() >= MAX_ITEMS {
                    return Err(too_large());
                }
                let (item, end) = element(text, at, delimiter)?;
                items.push(item);
                at = end;
                continue;
            }
        }
        at += 1;
    }
    if !bytes[at..].iter().all(|byte| is_space(*byte)) {
        return Err(malformed(text, "Junk after closing right brace."));
    }
    let lengths: Vec<usize> = braces.lengths.iter().map_while(|length| *length).collect();
    // PostgreSQL counts inner braces: where the last brace has elements in place of braces, there are none.
    if items.is_empty() || braces.differ && braces.closed[..lengths.len() - 1].contains(&0) {
        return Ok((Vec::new(), Vec::new()));
    }
    // It takes elements in too few braces, too, where their number is right.
    if braces.differ && lengths.iter().product::<usize>() != items.len() {
        return Err(braces.uneven());
    }
    Ok((lengths, items))
}

impl Braces<'_> {
    fn unexpected(&self, what: char) -> onlap_pg::Error {
        malformed(self.text, &format!("Unexpected \"{what}\" character."))
    }

    fn uneven(&self) -> onlap_pg::Error {
        let detail = "Multidimensional arrays must have sub-arrays with matching dimensions.";
        malformed(self.text, detail)
    }

    fn open(&mut self) -> Result<()> {
        if !matches!(self.last, Last::Open | Last::CommaAfterClose) {
            return Err(self.unexpected('{'));
        }
        if self.counts.len() >= MAX_DIMENSIONS {
            return Err(too_many(self.counts.len() + 1));
        }
        *self.counts.last_mut().expect("a brace is open") += 1;
        self.closed[self.counts.len()] = 0;
        self.counts.push(0);
        self.last = Last::Open;
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        let whole_is_empty = self.counts.len() == 1 && self.last == Last::Open;
        if !matches!(self.last, Last::Close | Last::Item) && !whole_is_empty {
            return Err(self.unexpected('}'));
        }
        let count = self.counts.pop().expect("a brace is open");
        let length = &mut self.lengths[self.counts.len()];
        if length.is_some_and(|length| length != count) {
            return Err(self.uneven());
        }
        *length = Some(count);
        if let Some(outer) = self.counts.len().checked_sub(1) {
            self.closed[outer] += 1;
        }
        self.last = Last::Close;
        Ok(())
    }

    fn comma(&mut self) -> Result<()> {
        self.last = match self.last {
            Last::Close => Last::CommaAfterClose,
            Last::Item => Last::Comma,
            _ => return Err(self.unexpected(char::from(self.delimiter))),
        };
        Ok(())
    }

    fn item(&mut self) -> Result<()> {
        if !matches!(self.last, Last::Open | Last::Comma) {
            return Err(malformed(self.text, "Unexpected array element."));
        }
        let depth = self.counts.len();
        self.differ |= *self.depth.get_or_insert(depth) != depth;
        *self.counts.last_mut().expect("a brace is open") += 1;
        self.last = Last::Item;
        Ok(())
    }
}

/// The element that begins at a place, and where it ends.
fn element(text: &str, start: usize, delimiter: u8) -> Result<(Item<'_>, usize)> {
    let bytes = text.as_bytes();
    let ended = || malformed(text, "Unexpected end of input.");
    let quoted = bytes[start] == b'"';
    let first = start + usize::from(quoted);
    let mut out: Cow<'_, str> = Cow::Borrowed("");
    let mut escaped = false;
    let (mut from, mut at) = (first, first);
    // What an escape made is kept, though it may be white space.
    let mut kept = 0;
    loop {
        worked(1)?;
        match bytes.get(at).ok_or_else(ended)? {
            b'\\' => {
                out.to_mut().push_str(&text[from..at]);
                let c = text[at + 1..].chars().next().ok_or_else(ended)?;
                out.to_mut().push(c);
                kept = out.len();
                escaped = true;
                at += 1 + c.len_utf8();
                from = at;
            }
            b'"' if quoted => break,
            b'"' => return Err(malformed(text, "Unexpected array element.")),
            b'{' if !quoted => return Err(malformed(text, "Unexpected \"{\" character.")),
            b'}' if !quoted => break,
            byte if !quoted && *byte == delimiter => break,
            _ => at += 1,
        }
    }
    if escaped {
        out.to_mut().push_str(&text[from..at]);
    } else {
        out = Cow::Borrowed(&text[from..at]);
    }
    if quoted {
        return Ok((Item::Text(out), at + 1));
    }
    let length = out.len() - out.bytes().rev().take_while(|byte| is_space(*byte)).count();
    let length = length.max(kept);
    match &mut out {
        Cow::Borrowed(part) => *part = &part[..length],
        Cow::Owned(whole) => whole.truncate(length),
    }
    if !escaped && out.eq_ignore_ascii_case("null") {
        return Ok((Item::Null, at));
    }
    Ok((Item::Text(out), at))
}

/// Writes an element of an array, in quotes if it would be read otherwise without them.
pub(crate) fn quote(text: &str, delimiter: u8, out: &mut String) {
    let special = |byte: u8| {
        matches!(byte, b'"' | b'\\' | b'{' | b'}') || byte == delimiter || is_space(byte)
    };
    let plain =
        !text.is_empty() && !text.eq_ignore_ascii_case("null") && !text.bytes().any(special);
    if plain {
        out.push_str(text);
        return;
    }
    in_quotes(text, out);
}

/// Writes a text in double quotes, with a backslash before quotes and backslashes.
pub(crate) fn in_quotes(text: &str, out: &mut String) {
    out.reserve(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}
