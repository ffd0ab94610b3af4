//! Which distinct strings does a column have, and which of them has each row?

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::super::int;
use super::super::{Effort, bits};
use crate::batch::BytesVec;

/// Distinct strings in order of their first appearance, and an index per row.
pub(super) struct Plan {
    pub(super) strings: BytesVec,
    indexes: Vec<i64>,
}

impl Plan {
    /// Appends the indexes.
    pub(super) fn put_indexes(&self, out: &mut Vec<u8>) {
        int::encode(&self.indexes, Effort::Fast, out);
    }
}

/// A plan, given up as soon as it cannot be smaller than `size` bytes: columns without repetition
/// are left after a fraction of their rows.
pub(super) fn plan(values: &BytesVec, range: Range<usize>, size: usize) -> Option<Plan> {
    let rows = range.len();
    // At most three quarters full, since every row may be distinct.
    let mask = (rows * 4 / 3 + 1).next_power_of_two() - 1;
    let mut slots = vec![0u32; mask + 1];
    let mut plan = Plan { strings: BytesVec::default(), indexes: Vec::with_capacity(rows) };
    for i in range {
        let s = values.get(i);
        let mut slot = xxh3_64(s) as usize & mask;
        let k = loop {
            match slots[slot] as usize {
                0 => {
                    plan.strings.push(s);
                    let k = plan.strings.len();
                    let index_bytes = bits::packed_len(rows, bits::width_of(k as u64 - 1));
                    // A sample without any repetition foretells too many strings.
                    let sample = if rows <= 256 { 16 } else { 64 };
                    let unlike = k == sample && plan.indexes.len() + 1 == sample;
                    if unlike || plan.strings.data.len() + k / 2 + index_bytes >= size {
                        return None;
                    }
                    slots[slot] = k as u32;
                    break k;
                }
                k if plan.strings.get(k - 1) == s => break k,
                _ => slot = (slot + 1) & mask,
            }
        };
        plan.indexes.push(k as i64 - 1);
    }
    Some(plan)
}
