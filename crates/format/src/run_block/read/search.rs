//! Where in a block does a range of keys begin?
//!
//! Works on heads and decodes single keys only where heads do not decide. Pure.

use onlap_base::Result;

use super::{Body, RunBlock, copy_key, damaged};
use crate::key::keys::{Keys, PackedKey, each_form};
use crate::key::{KeyBound, bound_is_before};
use crate::run_block::rising::Rising;

impl RunBlock {
    /// First entry that is not before the bound; [`RunBlock::len`] where all are.
    pub fn lower_bound(&self, bound: &KeyBound) -> Result<usize> {
        match (bound, &self.first) {
            (KeyBound::End, _) => Ok(self.len),
            (KeyBound::Word(t), Keys::Word(v)) => self.search(t, &v[0]),
            (KeyBound::Narrow(t), Keys::Narrow(v)) => self.search(t, &v[0]),
            (KeyBound::Wide4(t), Keys::Wide4(v)) => self.search(t, &v[0]),
            (KeyBound::Wide8(t), Keys::Wide8(v)) => self.search(t, &v[0]),
            (KeyBound::Bytes { prefix, after }, _) => self.search_bytes(prefix, *after),
            _ => panic!("a bound of another packing"),
        }
    }

    /// The first entry of a group.
    fn group_start(&self, numbers: &Rising, group: usize, groups: usize) -> usize {
        if group >= groups {
            return self.len;
        }
        numbers.lower_bound(&self.bytes, (group as u64).unbounded_shl(self.row_bits))
    }

    fn search<K: PackedKey>(&self, target: &K, first: &K) -> Result<usize> {
        let vary: K = each_form!(&self.vary, v => copy_key(&v[0]), _b => K::ZERO);
        let (pieces, heads, tails_at, numbers) = match &self.body {
            Body::Flat { pieces, heads, tails_at } => (pieces, heads, *tails_at, None),
            Body::Grouped { pieces, heads, tails_at, numbers } => {
                (pieces, heads, *tails_at, Some(numbers))
            }
            Body::Bytes { .. } => return Err(damaged(0, "a packed bound in a block of key bytes")),
        };
        // Keys differ from `first` in varying bits only, so the highest other bit in which the target
        // differs decides: it lies above or below all keys that share the bits before it.
        let (clamped, above) = clamp(target, first, &vary);
        let head = pieces.head_of(&clamped, if above { u64::MAX } else { 0 });
        let mut low = heads.lower_bound(&self.bytes, head);
        if above || pieces.tail_bits > 0 {
            let mut high = match head.checked_add(1) {
                Some(next) => heads.lower_bound(&self.bytes, next),
                None => heads.len(),
            };
            let mut key = Vec::with_capacity(1);
            while low < high {
                let middle = low.midpoint(high);
                key.clear();
                self.packed_keys(pieces, heads, tails_at, first, middle..middle + 1, &mut key);
                if key[0] < *target {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
        }
        Ok(match numbers {
            None => low,
            Some(numbers) => self.group_start(numbers, low, heads.len()),
        })
    }

    fn search_bytes(&self, prefix: &[u8], after: bool) -> Result<usize> {
        if let Body::Bytes { keys, numbers } = &self.body {
            let group = keys.lower_bound(&self.bytes, prefix, after)?;
            return Ok(self.group_start(numbers, group, keys.len()));
        }
        let (mut low, mut high) = (0, self.len);
        let mut one = self.packing.new_keys();
        let mut key = Vec::new();
        while low < high {
            let middle = low.midpoint(high);
            one.clear();
            self.keys(middle..middle + 1, &mut one)?;
            key.clear();
            self.packing.key_bytes(&one, 0, &mut key)?;
            if bound_is_before(&key, prefix, after) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}

/// The target with the constant bits made those of the block, and whether it lies above all keys that
/// share its varying bits down to where it left them (its lower bits are then all ones).
fn clamp<K: PackedKey>(target: &K, first: &K, vary: &K) -> (K, bool) {
    let mut out = K::ZERO;
    let mut above = None;
    for w in (0..K::BITS / 64).rev() {
        let (t, f, v) = (target.get64(w * 64), first.get64(w * 64), vary.get64(w * 64));
        let word = match above {
            Some(true) => u64::MAX,
            Some(false) => 0,
            None => {
                let differ = (t ^ f) & !v;
                if differ == 0 {
                    t
                } else {
                    let bit = 63 - differ.leading_zeros();
                    let is_above = t >> bit & 1 == 1;
                    above = Some(is_above);
                    let low = (1u64 << bit) - 1;
                    if is_above { t | low } else { t & !low }
                }
            }
        };
        out.put64(w * 64, word);
    }
    (out, above == Some(true))
}
