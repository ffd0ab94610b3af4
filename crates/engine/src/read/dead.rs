//! Which rows of a stretch of ids are dead?
//!
//! Walks over many rows in the order of their ids ask for the dead rows of a long stretch once, and
//! look nothing up for single rows; most stretches have none.
//!
//! Thread safety: belongs to one walk.

use std::ops::Range;

use onlap_base::{Csn, Result, RowId};
use onlap_storage::Direction;
use onlap_storage::segment::ScanBlock;

use super::ReadView;
use crate::table::TableView;

/// Row ids whose dead rows are asked for at once: a list of 512 KiB at worst.
pub(super) const STRETCH_ROWS: RowId = 1 << 16;

impl TableView {
    /// Rows of a range of ids that are dead at a CSN, ascending.
    pub(super) fn dead_rows(&self, rows: Range<RowId>, csn: Csn) -> Result<Vec<RowId>> {
        let mut dead = self.version.dead_rows(rows.clone(), csn)?;
        for memtable in self.memtables_newest_first() {
            dead.extend(memtable.dead_rows(rows.clone(), csn));
        }
        dead.sort_unstable();
        Ok(dead)
    }
}

/// Dead rows of the stretch that a walk is in.
#[derive(Default)]
pub(super) struct DeadRows {
    stretch: Range<RowId>,
    rows: Vec<RowId>,
}

impl DeadRows {
    /// Dead rows of a range of ids, ascending. Ranges are asked for in the walk's direction.
    pub(super) fn within(
        &mut self,
        view: &ReadView,
        direction: Direction,
        ids: Range<RowId>,
    ) -> Result<&[RowId]> {
        let Range { start, end } = ids;
        if start < self.stretch.start || end > self.stretch.end {
            self.stretch = match direction {
                Direction::Forward => start..end.max(start.saturating_add(STRETCH_ROWS)),
                Direction::Backward => start.min(end.saturating_sub(STRETCH_ROWS))..end,
            };
            self.rows = view.view.dead_rows(self.stretch.clone(), view.csn)?;
            if let Some(own) = &view.own {
                self.rows.extend(own.dead_rows(self.stretch.clone())?);
                self.rows.sort_unstable();
                self.rows.dedup();
            }
        }
        let from = self.rows.partition_point(|&r| r < start);
        let to = from + self.rows[from..].partition_point(|&r| r < end);
        Ok(&self.rows[from..to])
    }

    /// Whether all rows of a block that a walk came to are dead.
    pub(super) fn all(
        &mut self,
        view: &ReadView,
        direction: Direction,
        found: &ScanBlock,
    ) -> Result<bool> {
        let (block, rows) = (&found.block, block_rows(found));
        let dead = self.within(view, direction, rows)?;
        // Marks of rows that the segment no longer has may be among them.
        let enough = dead.len() >= found.rows.len();
        let is_dead = |i| dead.binary_search(&block.row_id(i)).is_ok();
        Ok(enough && found.rows.clone().all(is_dead))
    }
}

/// Ids from the first to the last row of a block that are in the scan's range.
fn block_rows(found: &ScanBlock) -> Range<RowId> {
    let Range { start, end } = found.rows;
    found.block.row_id(start)..found.block.row_id(end - 1) + 1
}

/// Row ids of a page, whose bits take 8 KiB.
const PAGE_ROWS: RowId = 1 << 16;
const PAGE_WORDS: usize = (PAGE_ROWS / 64) as usize;
/// Most pages of a walk: 16 MiB of bits, for 128 million rows.
const PAGES_MAX: RowId = 1 << 11;

/// Dead rows of a whole table, looked up page by page as they are asked for. A long walk in the order of
/// keys comes to rows from everywhere, and again and again to the same pages.
pub(super) struct DeadPages(Vec<Page>);

enum Page {
    Unknown,
    /// No row is dead.
    Clear,
    Bits(Box<[u64; PAGE_WORDS]>),
}

impl DeadPages {
    /// `None`: there are no marks, or more rows than bits may be kept for, or own ones.
    pub(super) fn of(view: &ReadView) -> Option<DeadPages> {
        let pages = view.count.div_ceil(PAGE_ROWS);
        if view.own.is_some() || pages > PAGES_MAX || !view.has_marks() {
            return None;
        }
        Some(DeadPages((0..pages).map(|_| Page::Unknown).collect()))
    }

    /// As [`ReadView::pick_visible`].
    pub(super) fn pick_visible(
        &mut self,
        view: &ReadView,
        rows: &[RowId],
        picks: &mut Vec<u32>,
    ) -> Result<bool> {
        picks.clear();
        for (&row, place) in rows.iter().zip(0..) {
            if row < view.count && !self.is_dead(view, row)? {
                picks.push(place);
            }
        }
        Ok(picks.len() < rows.len())
    }

    #[inline]
    fn is_dead(&mut self, view: &ReadView, row: RowId) -> Result<bool> {
        let (page, bit) = ((row / PAGE_ROWS) as usize, row % PAGE_ROWS);
        match &self.0[page] {
            Page::Clear => Ok(false),
            Page::Bits(bits) => Ok(bits[(bit / 64) as usize] >> (bit % 64) & 1 == 1),
            Page::Unknown => {
                self.0[page] = look_up(view, page as RowId * PAGE_ROWS)?;
                self.is_dead(view, row)
            }
        }
    }
}

#[cold]
fn look_up(view: &ReadView, first: RowId) -> Result<Page> {
    let dead = view.view.dead_rows(first..first + PAGE_ROWS, view.csn)?;
    if dead.is_empty() {
        return Ok(Page::Clear);
    }
    let mut bits = Box::new([0; PAGE_WORDS]);
    for row in dead {
        let bit = row - first;
        bits[(bit / 64) as usize] |= 1 << (bit % 64);
    }
    Ok(Page::Bits(bits))
}
