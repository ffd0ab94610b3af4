//! How are the rows of a set read, a batch after the other?
//!
//! In the order of their ids, each block once per batch. What the transaction does meanwhile is not met: the view is that of the
//! scan's begin. Thread safety: as of [`super::Rows`].

use onlap_base::{Result, RowId};

use super::counters::ReadCounters;
use super::rows::RowBatch;
use super::{ReadView, RowSet};

/// A scan of the rows of a set.
pub(super) struct SetScan {
    view: ReadView,
    rows: RowSet,
    columns: Vec<usize>,
    /// The least id that was not read yet.
    next: RowId,
}

impl SetScan {
    pub(super) fn new(view: ReadView, rows: RowSet, columns: Vec<usize>) -> SetScan {
        SetScan { view, rows, columns, next: 0 }
    }

    /// Fills a batch with up to `max` rows; false at the end.
    pub(super) fn next(
        &mut self,
        max: usize,
        batch: &mut RowBatch,
        counters: &mut ReadCounters,
    ) -> Result<bool> {
        loop {
            let mut ids = Vec::with_capacity(max);
            while ids.len() < max
                && let Some(row) = self.rows.next_from(self.next)
            {
                ids.push(row);
                self.next = row + 1;
            }
            if ids.is_empty() {
                return Ok(false);
            }
            (batch.row_ids, batch.columns) = self.view.fetch(&ids, &self.columns, counters)?;
            if !batch.row_ids.is_empty() {
                return Ok(true);
            }
        }
    }
}
