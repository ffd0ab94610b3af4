//! In which order do keys sort?
//!
//! [`sort_permutation`] is a stable argsort: keys keep their place, positions are sorted. Each position
//! is packed under the key's leading bits into one integer, so that the sort moves plain integers and
//! compares nothing else; keys that share those bits are ordered by a second, comparing pass. Pure.

use std::cmp::Ordering;

use super::keys::{Keys, PackedKey};
use crate::batch::BytesVec;

/// Positions of the keys in key order; equal keys keep their order.
pub fn sort_permutation(keys: &Keys) -> Vec<u32> {
    assert!(keys.len() <= u32::MAX as usize, "positions are 32-bit");
    match keys {
        Keys::Word(v) => sort_packed(v),
        Keys::Narrow(v) => sort_packed(v),
        Keys::Wide4(v) => sort_packed(v),
        Keys::Wide8(v) => sort_packed(v),
        Keys::Bytes(v) => sort_bytes(v),
    }
}

fn bits_of(n: usize) -> u32 {
    usize::BITS - n.saturating_sub(1).leading_zeros()
}

fn sort_packed<K: PackedKey>(keys: &[K]) -> Vec<u32> {
    let n = keys.len();
    if keys.is_sorted() {
        return (0..n as u32).collect();
    }
    // Leading bits that all keys share say nothing.
    let mut vary = K::ZERO;
    keys.iter().for_each(|k| vary.or_difference(&keys[0], k));
    let used = (0..K::BITS.div_ceil(64))
        .rev()
        .map(|w| (w, vary.get64(w * 64)))
        .find(|(_, word)| *word != 0)
        .map_or(0, |(w, word)| w * 64 + 64 - word.leading_zeros());
    let ordinal = bits_of(n);
    let head = used.min(64 - ordinal);
    let shift = used - head;
    let mask = if head == 64 { u64::MAX } else { (1 << head) - 1 };
    let order = sort_heads(keys.iter().map(|k| k.get64(shift) & mask), ordinal);
    let mut out = positions(&order, ordinal);
    if shift > 0 {
        let mut start = 0;
        for ties in order.chunk_by(|a, b| a >> ordinal == b >> ordinal) {
            sort_ties(keys, &mut out[start..start + ties.len()]);
            start += ties.len();
        }
    }
    out
}

/// Sorts (head, ordinal) pairs as integers.
fn sort_heads(heads: impl Iterator<Item = u64>, ordinal: u32) -> Vec<u64> {
    let mut pairs: Vec<u64> = if ordinal == 64 {
        heads.collect()
    } else {
        heads.enumerate().map(|(i, h)| h << ordinal | i as u64).collect()
    };
    sort_pairs(&mut pairs, ordinal);
    pairs
}

/// Numbers below which the standard library's sort is faster than counting.
const RADIX_MIN: usize = 2048;
/// Bits of a counting pass: 2048 counters stay in the first-level cache.
const DIGIT_BITS: u32 = 11;

/// Sorts pairs of a head (above bit `ordinal`) and a rising ordinal. Large inputs are distributed by
/// their leading varying bits, lowest digit first, so that each keeps its place among equals; the few
/// that share all of those are then sorted by comparison, which bounds the cost for any input.
fn sort_pairs(pairs: &mut Vec<u64>, ordinal: u32) {
    let n = pairs.len();
    if n < RADIX_MIN {
        return pairs.sort_unstable();
    }
    let vary = pairs.iter().fold(0, |v, p| v | (p ^ pairs[0])) >> ordinal;
    let used = 64 - vary.leading_zeros();
    // Five bits more than there are pairs leave few that share them, where keys are spread evenly.
    let sorted = used.min(bits_of(n) + 5);
    let passes = sorted.div_ceil(DIGIT_BITS).max(1);
    let digit = sorted.div_ceil(passes);
    let low = ordinal + used - sorted;
    let mask = (1u64 << digit) - 1;
    let mut counts = vec![0u32; (passes as usize) << digit];
    for p in pairs.iter() {
        for (pass, counts) in (0..).zip(counts.chunks_exact_mut(1 << digit)) {
            counts[(p >> (low + pass * digit) & mask) as usize] += 1;
        }
    }
    let mut other = vec![0u64; n];
    for (pass, counts) in (0..).zip(counts.chunks_exact_mut(1 << digit)) {
        let mut next = 0;
        for count in counts.iter_mut() {
            (*count, next) = (next, next + *count);
        }
        for p in pairs.iter() {
            let place = &mut counts[(p >> (low + pass * digit) & mask) as usize];
            other[*place as usize] = *p;
            *place += 1;
        }
        std::mem::swap(pairs, &mut other);
    }
    if sorted < used {
        for ties in pairs.chunk_by_mut(|a, b| a >> low == b >> low) {
            if ties.len() > 1 {
                ties.sort_unstable();
            }
        }
    }
}

/// Orders rising positions of keys that share their leading bits: few by comparison, many by their next
/// bits.
fn sort_ties<K: PackedKey>(keys: &[K], ties: &mut [u32]) {
    const FEW: usize = 64;
    if ties.len() <= 1 {
        return;
    }
    if ties.len() <= FEW {
        return ties.sort_by_key(|&i| keys[i as usize]);
    }
    let some: Vec<K> = ties.iter().map(|&i| keys[i as usize]).collect();
    let before = ties.to_vec();
    for (place, i) in ties.iter_mut().zip(sort_packed(&some)) {
        *place = before[i as usize];
    }
}

fn positions(order: &[u64], ordinal: u32) -> Vec<u32> {
    let low = (1u64 << ordinal) - 1;
    order.iter().map(|p| (p & low) as u32).collect()
}

/// Orders stretches of equal heads by the whole key.
fn fix_ties(order: &mut [u64], ordinal: u32, compare: impl Fn(usize, usize) -> Ordering) {
    let low = (1u64 << ordinal) - 1;
    for ties in order.chunk_by_mut(|a, b| a >> ordinal == b >> ordinal) {
        if ties.len() > 1 {
            ties.sort_by(|a, b| compare((a & low) as usize, (b & low) as usize).then(a.cmp(b)));
        }
    }
}

fn sort_bytes(keys: &BytesVec) -> Vec<u32> {
    let n = keys.len();
    if (1..n).all(|i| keys.get(i - 1) <= keys.get(i)) {
        return (0..n as u32).collect();
    }
    let first = keys.get(0);
    let shared = keys
        .iter()
        .fold(first.len(), |len, k| first[..len].iter().zip(k).take_while(|(a, b)| a == b).count());
    let ordinal = bits_of(n);
    let head = |k: &[u8]| {
        let mut raw = [0u8; 8];
        let tail = &k[shared..];
        let used = tail.len().min(8);
        raw[..used].copy_from_slice(&tail[..used]);
        u64::from_be_bytes(raw) >> ordinal
    };
    let mut order = sort_heads(keys.iter().map(head), ordinal);
    fix_ties(&mut order, ordinal, |a, b| keys.get(a)[shared..].cmp(&keys.get(b)[shared..]));
    positions(&order, ordinal)
}
