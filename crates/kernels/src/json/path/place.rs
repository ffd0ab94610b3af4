//! Where would a part of a value lie in PostgreSQL? The ids of `.keyvalue()` say so.
//!
//! Its form of a container is a word for the kind and the count, a word per element, key and value, then these, where
//! numbers and containers begin at whole words. An id counts bytes from the beginning of a value, and says which value.
//! Thread safety: pure functions.

use std::collections::HashMap;

use onlap_pg::value::numeric::Numeric;

use crate::json::form::{Node, node};

/// What the ids of different values differ by.
pub(super) const VALUE: i64 = 10_000_000_000;

const WORD: i64 = 4;

/// The beginning of a whole word.
fn aligned(at: i64) -> i64 {
    (at + WORD - 1) / WORD * WORD
}

/// Bytes of a number: its length, one or two words of what it is, and two bytes per digit of base 10,000.
fn number_size(number: &Numeric) -> i64 {
    const SHORT_SCALE: i32 = 63;
    let sent = number.send();
    let half = |at: usize| i16::from_be_bytes([sent[at], sent[at + 1]]);
    let (digits, weight) = (i64::from(half(0)), half(2));
    let is_short = number.dscale() <= SHORT_SCALE && (-64..=63).contains(&weight);
    WORD + if is_short { 2 } else { WORD } + 2 * digits
}

/// Calls `see` with the containers in one that begins somewhere and where they begin, the inner ones too; gives where it
/// ends.
fn walk<'a>(value: &'a [u8], at: i64, see: &mut dyn FnMut(&'a [u8], i64)) -> i64 {
    let values: Vec<&[u8]>;
    let mut end = match node(value) {
        Node::Array(items) => {
            values = items.iter().collect();
            at + WORD + WORD * items.len() as i64
        }
        Node::Object(pairs) => {
            values = pairs.iter().map(|pair| pair.1).collect();
            let keys: i64 = pairs.iter().map(|pair| pair.0.len() as i64).sum();
            at + WORD + 2 * WORD * pairs.len() as i64 + keys
        }
        _ => return at,
    };
    for value in values {
        end = match node(value) {
            Node::Null | Node::Bool(_) => end,
            Node::Text(text) => end + text.len() as i64,
            Node::Number(number) => aligned(end) + number_size(&Numeric::load(number)),
            Node::Array(_) | Node::Object(_) => {
                see(value, aligned(end));
                walk(value, aligned(end), see)
            }
        };
    }
    end
}

/// Where a part of a container lies in it; 0 for one that is none of its containers.
pub(super) fn within(value: &[u8], part: &[u8]) -> i64 {
    let mut found = 0;
    walk(value, 0, &mut |other, at| {
        if std::ptr::eq(other, part) {
            found = at;
        }
    });
    found
}

/// What tells a container apart from those in it: where its last byte is, which says what it is. Its first may be that of
/// the first one in it.
pub(super) fn end_of(value: &[u8]) -> usize {
    value.as_ptr_range().end as usize
}

/// Where all containers in a value lie, by their ends.
pub(super) fn all(value: &[u8]) -> HashMap<usize, i64> {
    let mut found = HashMap::from([(end_of(value), 0)]);
    walk(value, 0, &mut |part, at| _ = found.insert(end_of(part), at));
    found
}
