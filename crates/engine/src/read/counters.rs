//! What did reads cost?
//!
//! [`ReadCounters`] belong to one read; [`ReadTotals`] add them up over a database, a [`Tally`] over
//! the statements of a transaction, one after the other. Reads count in numbers of their own and add
//! them up once, at their end, so that nothing is shared where a filter is asked. Which filter it was is counted
//! by the runs that they belong to.
//!
//! Thread safety: counters belong to one reader, totals are shared freely.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use onlap_base::IndexId;
use onlap_storage::EntryBatch;

use crate::database::Shared;

/// Indexes that are remembered of a statement: those that it reads first. Few read more, and what lists them is read by people.
const INDEXES_OF_STATEMENT: usize = 8;

/// Work that reads did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounters {
    /// Entries taken from sources of an index, visible or not.
    pub index_entries_read: u64,
    /// Rows decoded from segments and memtables. A covering read leaves it at 0.
    pub rows_read: u64,
    /// Blocks of segments that rows were decoded from, cached or not.
    pub blocks_read: u64,
    /// Files of runs that were asked, by their key range and then their filter, whether they may
    /// hold a key. For each that may, a block of entries is looked into.
    pub filter_probes: u64,
    /// Rows looked at again because another transaction had changed them meanwhile.
    pub rechecks: u64,
    /// Entries for which rows were read because runs keep the first part of each key alone
    /// ([`crate::KeysKept`]).
    pub entries_completed: u64,
}

/// Sums over all reads of a database, or of a statement.
#[derive(Debug, Default)]
pub(crate) struct ReadTotals {
    index_entries_read: AtomicU64,
    rows_read: AtomicU64,
    blocks_read: AtomicU64,
    filter_probes: AtomicU64,
    rechecks: AtomicU64,
    entries_completed: AtomicU64,
}

impl ReadTotals {
    /// Each sum next to what counts towards it.
    fn each<'a>(&'a self, read: &'a ReadCounters) -> [(&'a AtomicU64, u64); 6] {
        [
            (&self.index_entries_read, read.index_entries_read),
            (&self.rows_read, read.rows_read),
            (&self.blocks_read, read.blocks_read),
            (&self.filter_probes, read.filter_probes),
            (&self.rechecks, read.rechecks),
            (&self.entries_completed, read.entries_completed),
        ]
    }

    pub(crate) fn add(&self, read: &ReadCounters) {
        for (total, n) in self.each(read) {
            if n > 0 {
                total.fetch_add(n, Relaxed);
            }
        }
    }

    fn clear(&self) {
        self.each(&ReadCounters::default()).iter().for_each(|(total, _)| total.store(0, Relaxed));
    }

    /// The sums now.
    pub(crate) fn report(&self) -> ReadCounters {
        ReadCounters {
            index_entries_read: self.index_entries_read.load(Relaxed),
            rows_read: self.rows_read.load(Relaxed),
            blocks_read: self.blocks_read.load(Relaxed),
            filter_probes: self.filter_probes.load(Relaxed),
            rechecks: self.rechecks.load(Relaxed),
            entries_completed: self.entries_completed.load(Relaxed),
        }
    }
}

/// What a statement of a transaction has read, counted towards the database too.
pub(crate) struct Tally {
    shared: Arc<Shared>,
    statement: ReadTotals,
    /// Indexes that it read, as their ids and 1; 0 is a free place.
    indexes: [AtomicU32; INDEXES_OF_STATEMENT],
}

impl Tally {
    pub(crate) fn new(shared: &Arc<Shared>) -> Arc<Tally> {
        let (shared, statement) = (Arc::clone(shared), ReadTotals::default());
        Arc::new(Tally { shared, statement, indexes: Default::default() })
    }

    /// Begins the next statement. A scan of the last one that goes on has it to itself.
    pub(crate) fn next(self: &mut Arc<Tally>) {
        match Arc::get_mut(self) {
            Some(tally) => {
                tally.statement.clear();
                tally.indexes.iter_mut().for_each(|place| *place.get_mut() = 0);
            }
            None => *self = Tally::new(&self.shared),
        }
    }

    pub(crate) fn add(&self, read: &ReadCounters) {
        self.shared.counters.add(read);
        self.statement.add(read);
    }

    /// Notes an index that the statement reads.
    pub(crate) fn uses(&self, index: IndexId) {
        let wanted = index.0.wrapping_add(1);
        for place in &self.indexes {
            let held = place.load(Relaxed);
            if held == wanted
                || held == 0 && place.compare_exchange(0, wanted, Relaxed, Relaxed).is_ok()
            {
                return;
            }
        }
    }

    /// The indexes that the statement has read so far, at most [`INDEXES_OF_STATEMENT`].
    pub(crate) fn indexes(&self) -> impl Iterator<Item = IndexId> {
        let held = self.indexes.iter().map(|place| place.load(Relaxed));
        held.take_while(|held| *held != 0).map(|held| IndexId(held - 1))
    }

    /// What the statement has read so far.
    pub(crate) fn report(&self) -> ReadCounters {
        self.statement.report()
    }
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.statement.fmt(f)
    }
}

impl ReadCounters {
    /// Counts a batch of entries.
    pub(super) fn entries(&mut self, batch: &EntryBatch) {
        self.index_entries_read += batch.len() as u64;
        self.entries_completed += batch.completed;
    }

    /// What came since.
    pub(super) fn since(&self, before: &ReadCounters) -> ReadCounters {
        ReadCounters {
            index_entries_read: self.index_entries_read - before.index_entries_read,
            rows_read: self.rows_read - before.rows_read,
            blocks_read: self.blocks_read - before.blocks_read,
            filter_probes: self.filter_probes - before.filter_probes,
            rechecks: self.rechecks - before.rechecks,
            entries_completed: self.entries_completed - before.entries_completed,
        }
    }
}
