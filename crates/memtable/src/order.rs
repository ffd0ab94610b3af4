//! In which order do the rows of a chunk sort by an index?
//!
//! An [`Order`] is the sorted permutation of a group of chunks: per entry a 64-bit key prefix
//! ([`super::prefix`]) and a [`Pick`], 12 bytes, no key copied. Rows that arrived in key order need
//! neither. Rows that a partial index does not have are left out. A chunk is sorted by a radix sort on the leading bits of its prefixes; what those leave
//! equal is sorted by comparing.
//!
//! Pure functions on immutable data.

use std::cmp::Ordering;
use std::sync::Arc;

use onlap_format::{Batch, Physical};

use super::chunk::{Pick, pick};
use super::prefix::{Plan, PlanBook};
use super::rank::{compare_rows, is_rising};
use super::shape::IndexShape;

/// Entries of one index over a group of chunks, sorted by (key, row id).
#[derive(Debug)]
pub(crate) enum Order {
    /// The rows arrived in this order, and all of them have entries.
    Rising,
    /// Prefixes and rows, of equal length: those that have entries.
    Sorted {
        /// What the prefixes mean.
        plan: Arc<Plan>,
        prefixes: Vec<u64>,
        picks: Vec<Pick>,
    },
}

impl Order {
    /// Sorts one chunk.
    pub(crate) fn of_rows(
        index: &IndexShape,
        book: &PlanBook,
        forms: &[Physical],
        rows: &Batch,
    ) -> Order {
        if let Some(members) = index.members(rows) {
            let keys = index.keys_of(&[rows], forms, &members);
            return match Order::of_all(index, book, &keys) {
                Order::Sorted { plan, prefixes, mut picks } => {
                    picks.iter_mut().for_each(|p| *p = members[*p as usize]);
                    Order::Sorted { plan, prefixes, picks }
                }
                Order::Rising => {
                    let plan = book.covering(&index.fields, &[&keys]);
                    let prefixes = plan.prefixes(&keys);
                    Order::Sorted { plan, prefixes, picks: members }
                }
            };
        }
        Order::of_all(index, book, rows)
    }

    fn of_all(index: &IndexShape, book: &PlanBook, rows: &Batch) -> Order {
        if is_rising(&index.fields, rows) {
            return Order::Rising;
        }
        let plan = book.covering(&index.fields, &[rows]);
        let prefixes = plan.prefixes(rows);
        let compare = |a, b| compare_rows(&index.fields, rows, a, rows, b);
        let order = sort(&prefixes, plan.bits, plan.exact, compare);
        let picks = order.iter().map(|&row| pick(0, row as usize)).collect();
        let prefixes = order.iter().map(|&row| prefixes[row as usize]).collect();
        Order::Sorted { plan, prefixes, picks }
    }

    /// How many entries there are for this number of rows.
    pub(crate) fn entries(&self, rows: usize) -> usize {
        match self {
            Order::Rising => rows,
            Order::Sorted { picks, .. } => picks.len(),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Order::Rising => 0,
            Order::Sorted { prefixes, picks, .. } => prefixes.capacity() * 8 + picks.capacity() * 4,
        }
    }
}

/// Bits of a packed element that hold the row.
const ROW_BITS: u32 = 16;
/// Leading bits of a prefix that fit next to it.
const HEAD_BITS: u32 = 64 - ROW_BITS;

/// Stable argsort of prefixes of `bits` bits, rows with equal prefixes by `compare` unless `exact`.
fn sort(
    prefixes: &[u64],
    bits: u32,
    exact: bool,
    compare: impl Fn(usize, usize) -> Ordering,
) -> Vec<u32> {
    let drop = bits.saturating_sub(HEAD_BITS);
    let mut packed: Vec<u64> =
        prefixes.iter().enumerate().map(|(i, &p)| (p >> drop) << ROW_BITS | i as u64).collect();
    sort_heads(&mut packed, bits - drop);
    let row = |e: u64| (e & ((1 << ROW_BITS) - 1)) as usize;
    if !exact || drop > 0 {
        for ties in packed.chunk_by_mut(|a, b| a >> ROW_BITS == b >> ROW_BITS) {
            if ties.len() > 1 {
                ties.sort_unstable_by(|&a, &b| {
                    let order = prefixes[row(a)].cmp(&prefixes[row(b)]);
                    let order =
                        if exact { order } else { order.then_with(|| compare(row(a), row(b))) };
                    order.then(a.cmp(&b))
                });
            }
        }
    }
    packed.iter().map(|&e| row(e) as u32).collect()
}

/// Below this many elements a comparing sort is faster than clearing the counters.
const RADIX_MIN: usize = 256;

/// Sorts elements of `bits` significant bits above the row.
fn sort_heads(packed: &mut Vec<u64>, bits: u32) {
    let n = packed.len();
    if n < RADIX_MIN {
        packed.sort_unstable();
        return;
    }
    // Three passes tell almost all of n random rows apart: 24 bits for 1K rows, 33 for 16K.
    let digit = if n <= 2048 { 8 } else { 11 };
    let passes = bits.div_ceil(digit).min(3);
    let radix_bits = (passes * digit).min(bits);
    let low = ROW_BITS + bits - radix_bits;
    radix(packed, low, digit, passes);
    if radix_bits < bits {
        for ties in packed.chunk_by_mut(|a, b| a >> low == b >> low) {
            if ties.len() > 1 {
                ties.sort_unstable();
            }
        }
    }
}

/// Stable least-significant-digit radix sort on `passes` digits from bit `low` up.
fn radix(packed: &mut Vec<u64>, low: u32, digit: u32, passes: u32) {
    let buckets = 1usize << digit;
    let mask = buckets as u64 - 1;
    let mut counts = vec![0u32; buckets * passes as usize];
    for &e in packed.iter() {
        for (pass, counts) in counts.chunks_exact_mut(buckets).enumerate() {
            counts[(e >> (low + pass as u32 * digit) & mask) as usize] += 1;
        }
    }
    let mut other = vec![0u64; packed.len()];
    for (pass, counts) in counts.chunks_exact_mut(buckets).enumerate() {
        let shift = low + pass as u32 * digit;
        let first = (packed[0] >> shift & mask) as usize;
        if counts[first] as usize == packed.len() {
            continue;
        }
        let mut sum = 0;
        for count in counts.iter_mut() {
            sum += std::mem::replace(count, sum);
        }
        for &e in packed.iter() {
            let at = &mut counts[(e >> shift & mask) as usize];
            other[*at as usize] = e;
            *at += 1;
        }
        std::mem::swap(packed, &mut other);
    }
}
