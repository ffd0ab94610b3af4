//! Which rows do the blocks of a mark run name?
//!
//! A reader of few rows asks each file about each of them, mostly in vain. A stretch of blocks that
//! was asked as often as it has blocks is read once, and from then on a set of its rows answers, exactly:
//! most questions end here, without a block. Sets are charged as filters are, and left out where there
//! is no room for them.
//!
//! Thread safety: shared freely. Two who come at once may both read a stretch; one set is kept.

use std::ops::Range;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use onlap_base::memory::Memory;
use onlap_base::{Charge, Part, Result, RowId};
use roaring::RoaringBitmap;

/// Blocks of a stretch: some 32,000 rows, read in about a millisecond.
const STRETCH_BLOCKS: usize = 16;
/// Bytes of a set next to its content, about.
const SET_BYTES: u64 = 256;

/// Sets of the rows that stretches of blocks name.
pub(super) struct NamedRows {
    stretches: Box<[Stretch]>,
    blocks: usize,
}

struct Stretch {
    first: RowId,
    asked: AtomicU32,
    /// Rows less the first; `None` inside: there is to be no set.
    rows: OnceLock<Option<(RoaringBitmap, Charge)>>,
}

/// Rows of a stretch, as they are read.
pub(super) struct Names {
    first: RowId,
    rows: RoaringBitmap,
}

impl Names {
    /// Adds rows of a range; false where they lie too far apart for a set.
    #[must_use]
    pub(super) fn add(&mut self, rows: Range<RowId>) -> bool {
        let place = |row: RowId| row.checked_sub(self.first).and_then(|r| u32::try_from(r).ok());
        let (Some(start), Some(end)) = (place(rows.start), place(rows.end)) else { return false };
        self.rows.insert_range(start..end);
        true
    }
}

impl NamedRows {
    /// Of blocks with these first rows, nothing else of which is known.
    pub(super) fn of(firsts: impl ExactSizeIterator<Item = RowId>) -> NamedRows {
        let blocks = firsts.len();
        let stretch = |first| Stretch { first, asked: AtomicU32::new(0), rows: OnceLock::new() };
        NamedRows { stretches: firsts.step_by(STRETCH_BLOCKS).map(stretch).collect(), blocks }
    }

    /// Heap bytes without the sets.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.stretches)
    }

    /// Whether any block names a row; `None` where only the blocks tell. What blocks name rises, and where
    /// two of them name a row the second begins with what the first ends with. `read` adds the rows of
    /// blocks, and says whether a set of them is worth its memory.
    pub(super) fn has(
        &self,
        memory: &Arc<Memory>,
        row: RowId,
        read: impl FnOnce(Range<usize>, &mut Names) -> Result<bool>,
    ) -> Result<Option<bool>> {
        let next = self.stretches.partition_point(|s| s.first <= row);
        let Some(n) = next.checked_sub(1) else { return Ok(Some(false)) };
        let stretch = &self.stretches[n];
        let known = match stretch.rows.get() {
            Some(known) => known,
            None => {
                let first = n * STRETCH_BLOCKS;
                let blocks = first..self.blocks.min(first + STRETCH_BLOCKS);
                if (stretch.asked.fetch_add(1, Ordering::Relaxed) as usize) < blocks.len() {
                    return Ok(None);
                }
                let mut names = Names { first: stretch.first, rows: RoaringBitmap::new() };
                let found = read(blocks, &mut names)?.then_some(names.rows);
                stretch.rows.get_or_init(|| found.and_then(|rows| charged(memory, rows)))
            }
        };
        let place = u32::try_from(row - stretch.first).ok();
        let has = |rows: &RoaringBitmap| place.is_some_and(|place| rows.contains(place));
        Ok(known.as_ref().map(|(rows, _)| has(rows)))
    }
}

fn charged(memory: &Arc<Memory>, rows: RoaringBitmap) -> Option<(RoaringBitmap, Charge)> {
    let bytes = rows.serialized_size() as u64 + SET_BYTES;
    Some((rows, memory.try_charge(Part::Resident, bytes)?))
}
