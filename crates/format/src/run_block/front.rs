//! How do distinct key bytes lie in a block?
//!
//! Front coding: each key keeps what differs from the one before; every 16th is whole, so that a
//! search begins there.
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 4 | bytes of this section |
//! | 4 | 4 x ceil(keys / 16) | place of each whole key, from the section's start |
//! | then | per key | varint: bytes shared with the key before (whole keys: left out), varint: bytes of its own, those bytes |
//!
//! Pure. Reading checks every length (I8).

use onlap_base::{Error, Result};

use crate::batch::BytesVec;
use crate::key::bound_is_before;
use crate::wire::{Reader, put_bytes, put_varint};

const STRETCH: usize = 16;

/// Bytes that two keys share at their front.
pub(super) fn shared(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// Appends a section of distinct rising keys.
pub(super) fn encode<'a>(keys: impl ExactSizeIterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    let start = out.len();
    let wholes = keys.len().div_ceil(STRETCH);
    out.resize(start + 4 + 4 * wholes, 0);
    let mut last: &[u8] = &[];
    for (i, key) in keys.enumerate() {
        let same = if i % STRETCH == 0 {
            let place = (out.len() - start) as u32;
            let at = start + 4 + 4 * (i / STRETCH);
            out[at..at + 4].copy_from_slice(&place.to_le_bytes());
            0
        } else {
            let same = shared(last, key);
            put_varint(out, same as u64);
            same
        };
        put_bytes(out, &key[same..]);
        last = key;
    }
    let len = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&len.to_le_bytes());
}

fn varint_len(v: usize) -> usize {
    (usize::BITS - (v | 1).leading_zeros()).div_ceil(7) as usize
}

/// Bytes of a section.
pub(super) fn encoded_len<'a>(keys: impl ExactSizeIterator<Item = &'a [u8]>) -> usize {
    let mut len = 4 + 4 * keys.len().div_ceil(STRETCH);
    let mut last: &[u8] = &[];
    for (i, key) in keys.enumerate() {
        let mut same = 0;
        if i % STRETCH != 0 {
            same = shared(last, key);
            len += varint_len(same);
        }
        len += varint_len(key.len() - same) + key.len() - same;
        last = key;
    }
    len
}

/// Where a section lies in its block.
#[derive(Debug, Default)]
pub(super) struct Front {
    at: usize,
    end: usize,
    len: usize,
}

impl Front {
    /// Stands for a section until it is parsed.
    pub fn none() -> Front {
        Front::default()
    }

    pub fn parse(bytes: &[u8], at: usize, len: usize) -> Result<Front> {
        let damaged = || Error::corruption("", at as u64, "a key section ends early");
        let head = bytes.get(at..).and_then(|b| b.first_chunk()).ok_or_else(damaged)?;
        let size = u32::from_le_bytes(*head) as usize;
        let end = at.checked_add(size).filter(|e| *e <= bytes.len()).ok_or_else(damaged)?;
        if size < 4 + 4 * len.div_ceil(STRETCH) {
            return Err(damaged());
        }
        Ok(Front { at, end, len })
    }

    pub fn len(&self) -> usize {
        self.len
    }
    pub fn end(&self) -> usize {
        self.end
    }

    /// A reader at whole key `stretch`.
    fn reader<'a>(&self, bytes: &'a [u8], stretch: usize) -> Result<Reader<'a>> {
        let at = self.at + 4 + 4 * stretch;
        let raw = bytes[at..at + 4].try_into().expect("the table was checked");
        let place = self.at + u32::from_le_bytes(raw) as usize;
        if place > self.end {
            return Err(Error::corruption("", at as u64, "a whole key lies outside its section"));
        }
        Ok(Reader::new(&bytes[place..self.end]))
    }

    /// Calls `each` with keys from `first` on while it returns true.
    pub fn walk(
        &self,
        bytes: &[u8],
        first: usize,
        mut each: impl FnMut(usize, &[u8]) -> bool,
    ) -> Result<()> {
        if first >= self.len {
            return Ok(());
        }
        let mut reader = self.reader(bytes, first / STRETCH)?;
        let mut key = Vec::new();
        for i in first / STRETCH * STRETCH..self.len {
            let same = if i % STRETCH == 0 { 0 } else { reader.varint()? as usize };
            if same > key.len() {
                return Err(reader.error("a key shares more than there is"));
            }
            key.truncate(same);
            key.extend_from_slice(reader.bytes()?);
            if i >= first && !each(i, &key) {
                break;
            }
        }
        Ok(())
    }

    /// Appends keys `range`.
    pub fn decode(
        &self,
        bytes: &[u8],
        range: std::ops::Range<usize>,
        out: &mut BytesVec,
    ) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        self.walk(bytes, range.start, |i, key| {
            out.push(key);
            i + 1 < range.end
        })
    }

    /// Position of the first key not before the bound.
    pub fn lower_bound(&self, bytes: &[u8], prefix: &[u8], after: bool) -> Result<usize> {
        let (mut low, mut high) = (0, self.len.div_ceil(STRETCH));
        while low < high {
            let middle = low.midpoint(high);
            if bound_is_before(self.reader(bytes, middle)?.bytes()?, prefix, after) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let Some(stretch) = low.checked_sub(1) else { return Ok(0) };
        let mut found = self.len;
        self.walk(bytes, stretch * STRETCH, |i, key| {
            let before = bound_is_before(key, prefix, after);
            if !before {
                found = i;
            }
            before
        })?;
        Ok(found)
    }
}
