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
    fn dead_rows(&self, rows: Range<RowId>, csn: Csn) -> Result<Vec<RowId>> {
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
