//! What is a batch of index entries?
//!
//! Keys, row ids and INCLUDE columns side by side, of equal length. Plain data, safe to share.

use std::ops::Range;

use onlap_base::RowId;

use super::keys::Keys;
use super::sort::sort_permutation;
use crate::batch::Batch;

/// Index entries; sorted by (key, row id) wherever they are written into a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entries {
    /// Keys of one packing.
    pub keys: Keys,
    /// The rows.
    pub row_ids: Vec<RowId>,
    /// INCLUDE columns; without columns, `rows` still counts the entries.
    pub include: Batch,
}

impl Entries {
    /// No entries; `include` gives the shape of the INCLUDE columns.
    pub fn new(keys: Keys, include: Batch) -> Entries {
        debug_assert!(keys.is_empty() && include.rows == 0);
        Entries { keys, row_ids: Vec::new(), include }
    }
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.row_ids.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.row_ids.is_empty()
    }
    /// Removes all entries and keeps the memory.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.row_ids.clear();
        self.include.truncate(0);
    }
    /// Appends entries `range` of entries of the same packing and shape.
    pub fn extend_range(&mut self, other: &Entries, range: Range<usize>) {
        self.keys.extend_range(&other.keys, range.clone());
        self.row_ids.extend_from_slice(&other.row_ids[range.clone()]);
        self.include.extend_range(&other.include, range);
    }
    /// Appends the entries at these positions.
    pub fn extend_selected(&mut self, other: &Entries, positions: &[u32]) {
        self.keys.extend_selected(&other.keys, positions);
        self.row_ids.extend(positions.iter().map(|&i| other.row_ids[i as usize]));
        self.include.extend_selected(&other.include, positions);
    }
    /// The same entries sorted by key; entries of equal keys keep their order, so that row ids which
    /// rose before rise inside each key.
    #[must_use]
    pub fn sorted(&self) -> Entries {
        let order = sort_permutation(&self.keys);
        let empty = Batch::new(self.include.columns.iter().map(|c| c.data.physical()));
        let mut out = Entries::new(Keys::new(self.keys.form()), empty);
        out.extend_selected(self, &order);
        out
    }
    /// Whether the entries rise by (key, row id).
    pub fn is_sorted(&self) -> bool {
        (1..self.len()).all(|i| {
            let order = self.keys.compare(i - 1, &self.keys, i);
            order.then(self.row_ids[i - 1].cmp(&self.row_ids[i])).is_lt()
        })
    }
    /// Heap bytes in use, by capacity.
    pub fn heap_bytes(&self) -> usize {
        self.keys.heap_bytes() + self.row_ids.capacity() * 8 + self.include.heap_bytes()
    }
}
