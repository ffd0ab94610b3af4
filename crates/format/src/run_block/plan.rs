//! How many entries does a block take, and in which form?
//!
//! A [`Plan`] is the layout of the first n entries, sized exactly without being written. [`fit`] tries a
//! small n first, then the n that its bytes per entry promise. Pure.

use std::ops::Range;

use onlap_base::RowId;

use super::pieces::Pieces;
use super::rising::{self, MINI, bits};
use super::{BYTES, ENTRIES_MAX, FLAT, GROUPED, Head, front};
use crate::batch::BytesVec;
use crate::key::keys::PackedKey;

/// Entries of the first trial.
const SAMPLE: usize = 256;
/// Trials after the first; two are the rule.
const TRIALS: usize = 6;
/// Front-coded keys, from their start, stay below this whatever the caller's limit.
const NEVER: usize = usize::MAX / 4096;

/// The layout of a number of entries.
pub(super) trait Plan {
    /// Bytes of all sections.
    fn len(&self) -> usize;
    fn head(&self) -> Head;
    fn write(&self, out: &mut Vec<u8>);
}

/// The plan of as many of `available` entries as fit into `budget` bytes, `extra` more bits per entry
/// counted in.
pub(super) fn fit<P: Plan>(
    available: usize,
    budget: usize,
    extra: usize,
    make: impl Fn(usize) -> P,
) -> P {
    let most = available.min(ENTRIES_MAX);
    let mut n = most.min(SAMPLE);
    let mut fits: Option<P> = None;
    for _ in 0..TRIALS {
        let plan = make(n);
        let len = plan.len() + n * extra / 8;
        let scaled = (n as u128 * budget as u128 / len.max(1) as u128).min(most as u128) as usize;
        if len <= budget + budget / 32 {
            if n == most || len >= budget - budget / 8 {
                return plan;
            }
            fits = Some(plan);
            n = scaled.clamp(n + 1, most);
        } else if n == 1 {
            return plan;
        } else {
            if len > 2 * budget && fits.is_some() {
                break;
            }
            n = scaled.clamp(1, n - 1);
        }
    }
    // Bytes per entry that jump about: what fitted last, or a single entry, is always right.
    fits.unwrap_or_else(|| make(1))
}

/// Smallest row id and the bits that distances from it need.
fn row_range(rows: &[RowId]) -> (u64, u32) {
    let low = rows.iter().copied().min().unwrap_or(0);
    let high = rows.iter().copied().max().unwrap_or(0);
    (low, bits(high - low))
}

/// Where each group begins, and every entry's (group, row) as one number; `None` where that passes 64
/// bits.
fn group(
    n: usize,
    same: impl Fn(usize) -> bool,
    rows: &[u64],
    row_bits: u32,
) -> Option<(Vec<u32>, Vec<u64>)> {
    let mut starts = Vec::with_capacity(n / 2);
    let mut numbers = Vec::with_capacity(n);
    if bits(n as u64) + row_bits > 64 {
        return None;
    }
    for (i, row) in rows.iter().enumerate() {
        if i == 0 || !same(i) {
            starts.push(i as u32);
        }
        numbers.push(((starts.len() - 1) as u64).unbounded_shl(row_bits) | row);
    }
    Some((starts, numbers))
}

/// Entries with packed keys.
pub(super) struct PackedPlan<'a, K> {
    keys: &'a [K],
    row_base: u64,
    row_bits: u32,
    /// Distances from the smallest row id.
    rows: Vec<u64>,
    vary: K,
    pieces: Pieces,
    heads: Vec<u64>,
    len: usize,
    groups: Option<Groups<K>>,
}

struct Groups<K> {
    keys: Vec<K>,
    pieces: Pieces,
    heads: Vec<u64>,
    numbers: Vec<u64>,
}

impl<'a, K: PackedKey> PackedPlan<'a, K> {
    pub fn new(keys: &'a [K], row_ids: &[RowId]) -> Self {
        let (row_base, row_bits) = row_range(row_ids);
        let rows: Vec<u64> = row_ids.iter().map(|r| r - row_base).collect();
        let mut vary = K::ZERO;
        keys.iter().for_each(|k| vary.or_difference(&keys[0], k));
        let pieces = Pieces::new(&vary, row_bits);
        let mut heads = Vec::with_capacity(keys.len());
        pieces.heads(keys, &rows, &mut heads);
        let masks = K::BITS as usize / 64 * 16;
        let len = rising::encoded_len(keys.len(), |i| heads[i]) + pieces.tail_bytes(keys.len());
        let mut plan = PackedPlan {
            keys,
            row_base,
            row_bits,
            rows,
            vary,
            pieces,
            heads,
            len: masks + len,
            groups: None,
        };
        let repeats = keys.windows(2).filter(|w| w[0] == w[1]).count();
        if repeats * 2 >= keys.len() && keys.len() > MINI {
            plan.try_groups(masks);
        }
        plan
    }

    /// Takes the grouped form where it is smaller.
    fn try_groups(&mut self, masks: usize) {
        let same = |i: usize| self.keys[i] == self.keys[i - 1];
        let Some((starts, numbers)) = group(self.keys.len(), same, &self.rows, self.row_bits)
        else {
            return;
        };
        let keys: Vec<K> = starts.iter().map(|&s| self.keys[s as usize]).collect();
        let pieces = Pieces::new(&self.vary, 0);
        let mut heads = Vec::new();
        pieces.heads(&keys, &[], &mut heads);
        let len = masks
            + rising::encoded_len(keys.len(), |i| heads[i])
            + pieces.tail_bytes(keys.len())
            + rising::encoded_len(numbers.len(), |i| numbers[i]);
        if len < self.len {
            self.len = len;
            self.groups = Some(Groups { keys, pieces, heads, numbers });
        }
    }
}

impl<K: PackedKey> Plan for PackedPlan<'_, K> {
    fn len(&self) -> usize {
        self.len
    }

    fn head(&self) -> Head {
        let (form, distinct) = match &self.groups {
            Some(g) => (GROUPED, g.keys.len()),
            None => (FLAT, 0),
        };
        Head {
            form,
            words: (K::BITS / 64) as u8,
            row_bits: self.row_bits,
            entries: self.keys.len(),
            distinct,
            row_base: self.row_base,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        for number in [&self.keys[0], &self.vary] {
            for word in 0..K::BITS / 64 {
                out.extend_from_slice(&number.get64(word * 64).to_le_bytes());
            }
        }
        match &self.groups {
            None => {
                rising::encode(&self.heads, out);
                self.pieces.encode_tails(self.keys, &self.rows, out);
            }
            Some(g) => {
                rising::encode(&g.heads, out);
                g.pieces.encode_tails(&g.keys, &[], out);
                rising::encode(&g.numbers, out);
            }
        }
    }
}

/// Entries with key bytes.
pub(super) struct BytesPlan<'a> {
    keys: &'a BytesVec,
    first: usize,
    row_base: u64,
    row_bits: u32,
    starts: Vec<u32>,
    numbers: Vec<u64>,
    len: usize,
}

impl<'a> BytesPlan<'a> {
    pub fn new(keys: &'a BytesVec, range: Range<usize>, row_ids: &[RowId]) -> Self {
        let (row_base, row_bits) = row_range(row_ids);
        let rows: Vec<u64> = row_ids.iter().map(|r| r - row_base).collect();
        let first = range.start;
        let same = |i: usize| keys.get(first + i) == keys.get(first + i - 1);
        let grouped = group(range.len(), same, &rows, row_bits);
        let wide = grouped.is_none();
        let (starts, numbers) = grouped.unwrap_or_default();
        let mut plan = BytesPlan { keys, first, row_base, row_bits, starts, numbers, len: NEVER };
        if !wide {
            let numbers = &plan.numbers;
            plan.len = front::encoded_len(plan.distinct())
                + rising::encoded_len(numbers.len(), |i| numbers[i]);
        }
        plan
    }

    fn distinct(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'_, 'a> {
        self.starts.iter().map(|&s| self.keys.get(self.first + s as usize))
    }
}

impl Plan for BytesPlan<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn head(&self) -> Head {
        Head {
            form: BYTES,
            words: 0,
            row_bits: self.row_bits,
            entries: self.numbers.len(),
            distinct: self.starts.len(),
            row_base: self.row_base,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        front::encode(self.distinct(), out);
        rising::encode(&self.numbers, out);
    }
}
