//! What did reads cost?
//!
//! [`ReadCounters`] belong to one read; [`ReadTotals`] add them up over a database. What filters
//! were asked is counted by the runs that they belong to.
//!
//! Thread safety: counters belong to one reader, totals are shared freely.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Work that reads did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounters {
    /// Entries taken from sources of an index, visible or not.
    pub index_entries_read: u64,
    /// Rows decoded from segments and memtables. A covering read leaves it at 0.
    pub rows_read: u64,
    /// Blocks of segments that rows were decoded from, cached or not.
    pub blocks_read: u64,
}

/// Sums over all reads of a database.
#[derive(Debug, Default)]
pub(crate) struct ReadTotals {
    index_entries_read: AtomicU64,
    rows_read: AtomicU64,
    blocks_read: AtomicU64,
}

impl ReadTotals {
    pub(crate) fn add(&self, read: &ReadCounters) {
        let add = |total: &AtomicU64, n: u64| {
            if n > 0 {
                total.fetch_add(n, Relaxed);
            }
        };
        add(&self.index_entries_read, read.index_entries_read);
        add(&self.rows_read, read.rows_read);
        add(&self.blocks_read, read.blocks_read);
    }

    /// The sums now.
    pub(crate) fn report(&self) -> ReadCounters {
        ReadCounters {
            index_entries_read: self.index_entries_read.load(Relaxed),
            rows_read: self.rows_read.load(Relaxed),
            blocks_read: self.blocks_read.load(Relaxed),
        }
    }
}
