//! What do readers of sorted index entries agree on?
//!
//! Memtable chunks, the private buffer of a transaction and runs all hand out index entries in the
//! same order, (key, row id), through [`EntryCursor`]; the read path merges them without knowing
//! which is which. An entry names a row, it does not say whether the row is visible: that is the
//! caller's question (I4). This module must not know where entries are kept.
//!
//! Keys are compared as *key bytes* (`onlap_format::key`), whose byte order is the order of the
//! index. A bound may be a prefix of key bytes: all of the leading columns of a key.
//!
//! Thread safety: plain data; a cursor belongs to one thread at a time.

use std::cmp::Ordering;

use onlap_base::{Result, RowId};
use onlap_format::{Batch, BytesVec, Physical};

#[cfg(test)]
mod tests;

/// Which way a cursor walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Rising key, then rising row id.
    Forward,
    /// The exact reverse: falling key, then falling row id.
    Backward,
}

/// Entries in the order of their cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryBatch {
    /// Key bytes, one per entry; empty where [`EntryWants::keys`] is off.
    pub keys: BytesVec,
    /// Row ids, one per entry.
    pub row_ids: Vec<RowId>,
    /// The wanted key columns, then the wanted included columns, in the order of [`EntryWants`].
    pub columns: Batch,
    /// Entries for which rows were read, as their runs keep the first part of each key alone.
    pub completed: u64,
}

impl EntryBatch {
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.row_ids.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.row_ids.is_empty()
    }
    /// Empties the batch and gives it columns of these forms; memory is kept where the forms stay.
    pub fn reset(&mut self, forms: &[Physical]) {
        self.keys.clear();
        self.row_ids.clear();
        self.completed = 0;
        let same = self.columns.columns.len() == forms.len()
            && self.columns.columns.iter().zip(forms).all(|(c, f)| c.data.physical() == *f);
        if same {
            self.columns.truncate(0);
            self.columns.columns.iter_mut().for_each(|c| c.nulls = None);
        } else {
            self.columns = Batch::new(forms.iter().copied());
        }
    }
    /// Empties the batch and gives it the columns of another.
    pub fn reset_like(&mut self, other: &EntryBatch) {
        let mut forms = other.columns.columns.iter().map(|c| c.data.physical());
        if self.columns.columns.len() == other.columns.columns.len()
            && self.columns.columns.iter().all(|c| Some(c.data.physical()) == forms.next())
        {
            self.keys.clear();
            self.row_ids.clear();
            self.completed = 0;
            self.columns.truncate(0);
            self.columns.columns.iter_mut().for_each(|c| c.nulls = None);
        } else {
            let forms: Vec<Physical> =
                other.columns.columns.iter().map(|c| c.data.physical()).collect();
            self.reset(&forms);
        }
    }
    /// Appends entries `range` of a batch of the same shape.
    pub fn extend_range(&mut self, other: &EntryBatch, range: std::ops::Range<usize>) {
        if !other.keys.is_empty() {
            self.keys.extend_range(&other.keys, range.clone());
        }
        self.row_ids.extend_from_slice(&other.row_ids[range.clone()]);
        self.columns.extend_range(&other.columns, range);
        debug_assert!(self.keys.is_empty() || self.keys.len() == self.row_ids.len());
    }
    /// Appends all entries of a batch of the same shape in reverse order.
    pub fn extend_reversed(&mut self, other: &EntryBatch) {
        for i in (0..other.keys.len()).rev() {
            self.keys.push(other.keys.get(i));
        }
        self.row_ids.extend(other.row_ids.iter().rev());
        let positions: Vec<u32> = (0..other.len() as u32).rev().collect();
        self.columns.extend_selected(&other.columns, &positions);
        debug_assert!(self.keys.is_empty() || self.keys.len() == self.row_ids.len());
    }
    /// Keeps the first `n` entries.
    pub fn truncate(&mut self, n: usize) {
        if self.keys.len() > n {
            self.keys.truncate(n);
        }
        self.row_ids.truncate(n);
        self.columns.truncate(n);
    }
}

/// What a reader wants of each entry besides its row id; nothing else is decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryWants {
    /// Key bytes. Needed wherever cursors are merged.
    pub keys: bool,
    /// Positions in the index's key.
    pub key_columns: Vec<usize>,
    /// Positions in the index's INCLUDE list.
    pub include: Vec<usize>,
    /// Whether entries may come in any order. Where nothing but row ids is wanted then, a run of cut
    /// keys has to ask rows at the ends of the interval alone.
    pub unordered: bool,
}

impl EntryWants {
    /// Row ids, in whatever order.
    pub fn row_ids() -> EntryWants {
        EntryWants { unordered: true, ..EntryWants::default() }
    }
    /// Whether nothing but row ids is wanted, in whatever order.
    pub fn is_row_ids(&self) -> bool {
        self.unordered && !self.keys && self.key_columns.is_empty() && self.include.is_empty()
    }
}

/// Interval of keys. A bound is the key bytes of all or of the leading columns and stands for every
/// key that begins with it: an inclusive bound takes all of those in, an exclusive one leaves all of
/// them out, on both sides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyBounds {
    /// Bytes and whether keys that begin with them belong to the interval. `None`: from the start.
    pub lower: Option<(Vec<u8>, bool)>,
    /// Bytes and whether keys that begin with them belong to the interval. `None`: to the end.
    pub upper: Option<(Vec<u8>, bool)>,
}

/// Compares a key with a prefix; equal when the key begins with it.
#[inline]
pub fn compare_prefix(key: &[u8], prefix: &[u8]) -> Ordering {
    key[..key.len().min(prefix.len())].cmp(prefix)
}

impl KeyBounds {
    /// Every key.
    pub fn all() -> KeyBounds {
        KeyBounds::default()
    }
    /// Every key that begins with `prefix`.
    pub fn prefix(prefix: &[u8]) -> KeyBounds {
        KeyBounds { lower: Some((prefix.to_vec(), true)), upper: Some((prefix.to_vec(), true)) }
    }
    /// Whether the key lies before the interval.
    #[inline]
    pub fn is_below(&self, key: &[u8]) -> bool {
        self.lower.as_ref().is_some_and(|(prefix, inclusive)| match compare_prefix(key, prefix) {
            Ordering::Less => true,
            Ordering::Equal => !inclusive,
            Ordering::Greater => false,
        })
    }
    /// Whether the key lies behind the interval.
    #[inline]
    pub fn is_above(&self, key: &[u8]) -> bool {
        self.upper.as_ref().is_some_and(|(prefix, inclusive)| match compare_prefix(key, prefix) {
            Ordering::Less => false,
            Ordering::Equal => !inclusive,
            Ordering::Greater => true,
        })
    }
    /// Whether the key lies in the interval.
    #[inline]
    pub fn contains(&self, key: &[u8]) -> bool {
        !self.is_below(key) && !self.is_above(key)
    }
}

/// Walks entries in index order.
pub trait EntryCursor: Send {
    /// Empties `out` and fills it with the next entries, at most `max` (which is above 0). A cursor
    /// may return fewer than `max` while there are more, so that nothing is decoded beyond a block
    /// that may not be asked for; it never returns true with an empty batch. False: the end, `out` is
    /// empty, and stays so.
    fn next(&mut self, max: usize, out: &mut EntryBatch) -> Result<bool>;

    /// About how many entries are to come, found out without reading them; a cursor that cannot tell says the most.
    ///
    /// # Errors
    /// A block that is damaged or cannot be read.
    fn about(&mut self) -> Result<u64> {
        Ok(u64::MAX)
    }
}
