//! What can be counted over sorted packed keys without unpacking them?
//!
//! Where prefixes change, and NULLs. Pure.

use std::ops::Range;

use onlap_base::Result;

use super::Packing;
use crate::key::bytes;
use crate::key::keys::{Keys, PackedKey, each_form};

impl Packing {
    /// Calls `each` for every position in `range`, but the first, whose key differs from the one
    /// before, with the first column that does.
    pub(crate) fn differences(
        &self,
        keys: &Keys,
        range: Range<usize>,
        mut each: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        let inner = range.start + 1..range.end.max(range.start + 1);
        if self.is_cut() {
            // Which column differs behind the cut is not known: the first nearly always does before it.
            return inner
                .filter(|&i| keys.compare(i - 1, keys, i).is_ne())
                .try_for_each(|i| each(i, 0));
        }
        each_form!(keys, v => {
            for i in inner {
                if v[i] != v[i - 1] {
                    each(i, self.first_difference(&v[i - 1], &v[i]))?;
                }
            }
        }, b => {
            for i in inner {
                if let Some(column) = self.def.first_difference(b.get(i - 1), b.get(i)) {
                    each(i, column)?;
                }
            }
        });
        Ok(())
    }

    fn first_difference<K: PackedKey>(&self, a: &K, b: &K) -> usize {
        let mut differ = K::ZERO;
        differ.or_difference(a, b);
        let top = differ.highest_bit();
        self.fields.iter().position(|f| f.offset <= top).unwrap_or(0)
    }

    /// Adds the NULLs of each column in keys `range` to `counts`; of cut keys those of the first column alone.
    pub(crate) fn count_nulls(
        &self,
        keys: &Keys,
        range: Range<usize>,
        counts: &mut [u64],
    ) -> Result<()> {
        if let Some(cut) = self.cut {
            counts[0] += cut.count_nulls(&self.def, keys, range);
            return Ok(());
        }
        each_form!(keys, v => {
            for (field, count) in self.fields.iter().zip(counts).filter(|(f, _)| f.nullable) {
                let null = u64::from(!field.descending);
                let bit = field.offset + field.bits;
                let nulls = v[range.clone()].iter().filter(|k| k.get64(bit) & 1 == null).count();
                *count += nulls as u64;
            }
        }, b => {
            for i in range {
                let mut key = b.get(i);
                for (c, count) in counts.iter_mut().enumerate() {
                    *count += u64::from(bytes::is_null(self.def.columns[c], key));
                    key = &key[self.def.column_len(c, key)..];
                }
            }
        });
        Ok(())
    }
}
