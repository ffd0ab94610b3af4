//! How are places of rows and snapshots of transactions read and written?
//!
//! tid is the number of a block and of a place in it, 4 and 2 bytes; pg_snapshot is PostgreSQL's binary form: how many
//! transactions were under way, the first that was, the first that was not begun yet, and those between. Thread safety: pure
//! functions.

use std::cmp::Ordering;

use onlap_pg::{Error, Result};

use crate::aggregate::AggregateEntry;
use crate::array::extreme;
use crate::{Bool, Bytes, Entry, Int4, two};

/// Aggregates.
pub(super) const AGGREGATES: &[AggregateEntry] = &[
    ("max(tid)", |types| extreme(types, Ordering::Greater)),
    ("min(tid)", |types| extreme(types, Ordering::Less)),
];

/// Functions. The binary form of places is in their order.
pub(super) const ENTRIES: &[Entry] = &[
    ("tideq(tid,tid)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a == b))),
    ("tidne(tid,tid)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a != b))),
    ("tidlt(tid,tid)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a < b))),
    ("tidle(tid,tid)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a <= b))),
    ("tidgt(tid,tid)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a > b))),
    ("tidge(tid,tid)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a >= b))),
    ("bttidcmp(tid,tid)", |_| two::<Bytes, Bytes, Int4>(|a, b, _| Ok(a.cmp(b) as i32))),
    ("tidlarger(tid,tid)", |_| two::<Bytes, Bytes, Bytes>(|a, b, _| Ok(a.max(b).to_vec()))),
    ("tidsmaller(tid,tid)", |_| two::<Bytes, Bytes, Bytes>(|a, b, _| Ok(a.min(b).to_vec()))),
];

fn bad_tid(text: &str) -> Error {
    Error::new("22P02", format!("invalid input syntax for type tid: \"{text}\""))
}

/// tidin: the bracket may come later, what stands behind the other one counts for nothing, and either number may be missing.
pub(crate) fn tid_input(text: &str) -> Result<[u8; 6]> {
    let bad = || bad_tid(text);
    let (_, inner) = text.split_once('(').ok_or_else(bad)?;
    let (block, inner) = inner.split_once(',').ok_or_else(bad)?;
    let (place, _) = inner.split_once(')').ok_or_else(bad)?;
    let number = |part: &str, most: i64| -> Option<i64> {
        let part = part.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
        let value = if part.is_empty() { 0 } else { part.parse().ok()? };
        (value <= most).then_some(value)
    };
    let block = number(block, u32::MAX.into()).filter(|b| *b >= i32::MIN.into());
    let place = number(place, u16::MAX.into()).filter(|place| *place >= 0);
    let (Some(block), Some(place)) = (block, place) else { return Err(bad()) };
    let mut out = [0; 6];
    // A negative block counts down from 2^32.
    out[..4].copy_from_slice(&(block as u32).to_be_bytes());
    out[4..].copy_from_slice(&(place as u16).to_be_bytes());
    Ok(out)
}

/// tidout.
pub(crate) fn tid_output(bytes: &[u8], out: &mut String) {
    if let [a, b, c, d, e, f] = *bytes {
        let (block, place) = (u32::from_be_bytes([a, b, c, d]), u16::from_be_bytes([e, f]));
        out.push_str(&format!("({block},{place})"));
    }
}

fn bad_snapshot(text: &str) -> Error {
    Error::new("22P02", format!("invalid input syntax for type pg_snapshot: \"{text}\""))
}

fn stored(first: u64, next: u64, between: &[u64]) -> Vec<u8> {
    let mut out = (between.len() as i32).to_be_bytes().to_vec();
    let numbers = [first, next].into_iter().chain(between.iter().copied());
    numbers.for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
    out
}

/// What is under way has to lie between the two, and rise; one that comes twice counts once. `None`: it does not.
fn judged(first: u64, next: u64, between: impl Iterator<Item = u64>) -> Option<Vec<u64>> {
    if first == 0 || next < first {
        return None;
    }
    let mut out: Vec<u64> = Vec::new();
    for number in between {
        let last = out.last().copied().unwrap_or(0);
        if number < first || number >= next || number < last {
            return None;
        }
        if number != last {
            out.push(number);
        }
    }
    Some(out)
}

/// pg_snapshot_in.
pub(crate) fn snapshot_input(text: &str) -> Result<Vec<u8>> {
    let bad = || bad_snapshot(text);
    let mut parts = text.splitn(3, ':');
    let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok()).ok_or_else(bad);
    let (first, next) = (number()?, number()?);
    let list = parts.next().ok_or_else(bad)?;
    let items = list.split(',').filter(|_| !list.is_empty());
    let numbers: std::result::Result<Vec<u64>, _> = items.map(str::parse).collect();
    let numbers = numbers.map_err(|_| bad())?;
    let between = judged(first, next, numbers.into_iter()).ok_or_else(bad)?;
    Ok(stored(first, next, &between))
}

fn numbers(bytes: &[u8]) -> Vec<u64> {
    let (numbers, _) = bytes.get(4..).unwrap_or_default().as_chunks::<8>();
    numbers.iter().map(|bytes| u64::from_be_bytes(*bytes)).collect()
}

/// pg_snapshot_out.
pub(crate) fn snapshot_output(bytes: &[u8], out: &mut String) {
    if let [first, next, between @ ..] = &numbers(bytes)[..] {
        let between: Vec<String> = between.iter().map(u64::to_string).collect();
        out.push_str(&format!("{first}:{next}:{}", between.join(",")));
    }
}

/// pg_snapshot_recv.
pub(crate) fn snapshot_recv(bytes: &[u8]) -> Result<Vec<u8>> {
    let bad = || Error::new("22P03", "invalid external pg_snapshot data");
    let count = bytes.first_chunk::<4>().map(|count| i32::from_be_bytes(*count));
    let count = count.and_then(|count| usize::try_from(count).ok()).ok_or_else(bad)?;
    let all = numbers(bytes);
    let [first, next, between @ ..] = &all[..] else { return Err(bad()) };
    if between.len() != count || bytes.len() != 20 + 8 * count {
        return Err(bad());
    }
    let between = judged(*first, *next, between.iter().copied()).ok_or_else(bad)?;
    Ok(stored(*first, *next, &between))
}
