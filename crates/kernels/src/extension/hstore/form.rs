//! How does an hstore lie in a column, and how is it read and written?
//!
//! As it travels: the number of pairs, then of each the length of the key, the key, the length of the value or -1 for NULL,
//! and the value; numbers have 32 bits, big-endian. Shorter keys come first, keys of one length by their bytes, each once.

use onlap_pg::value::utf8;
use onlap_pg::{Error, Result};

use crate::Cx;
use crate::array::item::in_quotes;
use crate::misc::growth::Growth;

/// A pair: a key and a value, which may be NULL.
pub type Pair<'a> = (&'a str, Option<&'a str>);

/// The most pairs of a value: what PostgreSQL has memory for.
const MAX_PAIRS: i32 = 26_843_545;

/// A value's pairs.
///
/// # Panics
/// The bytes are no value.
pub fn pairs(bytes: &[u8]) -> Vec<Pair<'_>> {
    let mut rest = Rest(bytes);
    let count = rest.number().expect("a value has a count");
    let pair = |_| {
        let length = rest.number().expect("a key has a length");
        let key = rest.text(length).expect("a key is there").expect("a key is UTF-8");
        let value = match rest.number().expect("a value has a length") {
            -1 => None,
            length => Some(rest.text(length).expect("a value is there").expect("it is UTF-8")),
        };
        (key, value)
    };
    (0..count).map(pair).collect()
}

/// The place of a key among pairs.
pub fn find<'a>(pairs: &[Pair<'a>], key: &str) -> Option<Pair<'a>> {
    let order = |of: &Pair<'_>| (of.0.len(), of.0).cmp(&(key.len(), key));
    pairs.binary_search_by(order).ok().map(|at| pairs[at])
}

/// A value of pairs in any order; of those with one key the first counts.
pub fn store(mut pairs: Vec<Pair<'_>>) -> Vec<u8> {
    pairs.sort_by(|a, b| (a.0.len(), a.0).cmp(&(b.0.len(), b.0)));
    pairs.dedup_by(|later, first| later.0 == first.0);
    stored(&pairs)
}

/// A value of pairs in order, each key once.
pub fn stored(pairs: &[Pair<'_>]) -> Vec<u8> {
    let size = |pair: &Pair<'_>| 8 + pair.0.len() + pair.1.map_or(0, str::len);
    let mut out = Vec::with_capacity(4 + pairs.iter().map(size).sum::<usize>());
    // A text has less than 2^30 bytes, and a value fewer pairs.
    out.extend((pairs.len() as i32).to_be_bytes());
    for (key, value) in pairs {
        out.extend((key.len() as i32).to_be_bytes());
        out.extend_from_slice(key.as_bytes());
        match value {
            Some(value) => {
                out.extend((value.len() as i32).to_be_bytes());
                out.extend_from_slice(value.as_bytes());
            }
            None => out.extend((-1_i32).to_be_bytes()),
        }
    }
    out
}

/// Reads the binary form.
///
/// # Errors
/// `08P01`, `22004`, `22021`, `53200`, `54000`, `57014`.
pub fn recv(bytes: &[u8], cx: &Cx<'_>) -> Result<Vec<u8>> {
    let short = || Error::new("08P01", "insufficient data left in message");
    let mut rest = Rest(bytes);
    let count = rest.number().ok_or_else(short)?;
    if !(0..=MAX_PAIRS).contains(&count) {
        let text = format!("number of pairs ({count}) exceeds the maximum allowed ({MAX_PAIRS})");
        return Err(Error::new("54000", text));
    }
    let mut pairs: Vec<Pair<'_>> = Vec::new();
    let mut growth = Growth::new();
    for at in 0..count {
        if at % 1024 == 0 {
            cx.go_on()?;
            growth.memory(cx, pairs.capacity() * size_of::<Pair<'_>>() * 2)?;
        }
        let length = rest.number().ok_or_else(short)?;
        if length < 0 {
            return Err(Error::new("22004", "null value not allowed for hstore key"));
        }
        let key = rest.text(length).ok_or_else(short)??;
        let length = rest.number().ok_or_else(short)?;
        let value = match length < 0 {
            true => None,
            false => Some(rest.text(length).ok_or_else(short)??),
        };
        pairs.push((key, value));
    }
    match rest.0.is_empty() {
        true => Ok(store(pairs)),
        false => Err(Error::new("22P03", "incorrect binary data format")),
    }
}

/// What is left of bytes.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn number(&mut self) -> Option<i32> {
        let (number, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(i32::from_be_bytes(*number))
    }

    fn text(&mut self, length: i32) -> Option<Result<&'a str>> {
        let (text, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(utf8::text(text))
    }
}

/// Writes a value.
///
/// # Errors
/// `53200`, `57014`.
pub fn print(bytes: &[u8], cx: &Cx<'_>, out: &mut String) -> Result<()> {
    let pairs = pairs(bytes);
    let mut growth = Growth::new();
    for (at, (key, value)) in pairs.iter().enumerate() {
        if at % 1024 == 0 {
            cx.go_on()?;
            growth.memory(cx, pairs.len() * size_of::<Pair<'_>>() + out.len())?;
        }
        out.push_str(if at > 0 { ", " } else { "" });
        in_quotes(key, out);
        out.push_str("=>");
        match value {
            Some(value) => in_quotes(value, out),
            None => out.push_str("NULL"),
        }
    }
    Ok(())
}

/// Appends bytes that sort as values do: by all keys and values one behind the other, then by how many pairs there are and
/// where each text ends, a value before NULL. None is the beginning of another; a value without pairs comes first.
pub fn key(bytes: &[u8], out: &mut Vec<u8>) {
    let pairs = pairs(bytes);
    if pairs.is_empty() {
        return out.push(0);
    }
    out.push(1);
    let texts = || pairs.iter().flat_map(|(key, value)| [Some(*key), *value]);
    for byte in texts().flatten().flat_map(str::bytes) {
        out.push(byte);
    }
    // No text has a zero.
    out.push(0);
    out.extend((pairs.len() as u32).to_be_bytes());
    let mut end = 0;
    for text in texts() {
        end += text.map_or(0, str::len) as u32;
        out.extend(end.to_be_bytes());
        out.push(u8::from(text.is_none()));
    }
}
