//! Where does each of many strings begin?
//!
//! Lengths as an integer stream, and the start of every 32nd string as another, so that finding one
//! string sums at most 31 lengths. (Packed end offsets would take one load; they cost twice the
//! bits, and summing 31 packed numbers takes some 20 ns, once per fetched value.) Units are the
//! caller's: bytes, characters or codes.
//!
//! | part | bytes |
//! |---|---|
//! | lengths | integer stream, one per string |
//! | total | where lengths differ: their sum (varint) |
//! | anchors | where lengths differ and there are more than 32 strings: integer stream of the starts of strings 32, 64, … |

use std::ops::Range;

use onlap_base::Result;

use super::super::Effort;
use super::super::int::{self, IntView};
use crate::wire::{self, Reader};

/// Strings between two anchors.
const ANCHOR_ROWS: usize = 32;

/// Appends lengths, and anchors where they are needed.
pub(super) fn put(lengths: &[i64], out: &mut Vec<u8>) {
    int::encode(lengths, Effort::Fast, out);
    if lengths.iter().all(|n| *n == lengths[0]) {
        return;
    }
    wire::put_varint(out, lengths.iter().sum::<i64>() as u64);
    if lengths.len() <= ANCHOR_ROWS {
        return;
    }
    let mut sum = 0;
    let starts = lengths.chunks(ANCHOR_ROWS).map(|group| {
        sum += group.iter().sum::<i64>();
        sum
    });
    let anchors: Vec<i64> = starts.take((lengths.len() - 1) / ANCHOR_ROWS).collect();
    int::encode(&anchors, Effort::Fast, out);
}

/// Lengths and anchors, parsed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'a> {
    lengths: IntView<'a>,
    /// Start of strings 32, 64, …; meaningless where lengths are equal or strings few.
    anchors: IntView<'a>,
    total: usize,
}

impl<'a> Places<'a> {
    /// Takes the places of `len` strings off the reader.
    #[inline]
    pub(super) fn parse(r: &mut Reader<'a>, len: usize) -> Result<Places<'a>> {
        let lengths = IntView::parse(r, len)?;
        let mut places = Places { lengths, anchors: lengths, total: 0 };
        if let Some(n) = lengths.constant() {
            places.total = (n as usize).saturating_mul(len);
            return Ok(places);
        }
        places.total = r.varint_max(usize::MAX / 64, "the length of all strings")?;
        if len > ANCHOR_ROWS {
            places.anchors = IntView::parse(r, (len - 1) / ANCHOR_ROWS)?;
        }
        Ok(places)
    }

    /// Units of all strings together.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// First unit of string `i`.
    #[inline]
    fn start(&self, i: usize) -> usize {
        if let Some(n) = self.lengths.constant() {
            return (n as usize).saturating_mul(i);
        }
        let group = i / ANCHOR_ROWS;
        let mut start = if group > 0 { self.anchors.get(group - 1) as usize } else { 0 };
        for k in group * ANCHOR_ROWS..i {
            start = start.saturating_add(self.lengths.get(k) as usize);
        }
        start
    }

    /// Units of string `i`. Damaged lengths give a range outside of the units, never a panic.
    #[inline]
    pub(super) fn range(&self, i: usize) -> Range<usize> {
        let start = self.start(i);
        start..start.saturating_add(self.lengths.get(i) as usize)
    }

    /// The start of the first string of the range, and the lengths of all of it. `None` where they
    /// do not lie within the units one after the other (damage).
    pub(super) fn lengths(&self, range: Range<usize>) -> Option<(usize, Vec<i64>)> {
        let mut lengths = vec![0; range.len()];
        if range.is_empty() {
            return Some((0, lengths));
        }
        let start = self.start(range.start);
        self.lengths.fill(range.start, &mut lengths);
        let mut end = start as u64;
        for n in &lengths {
            end = end.checked_add(u64::try_from(*n).ok()?)?;
        }
        (end <= self.total as u64).then_some((start, lengths))
    }
}
