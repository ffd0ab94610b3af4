//! Is what a transaction has read still true when it commits?
//!
//! At SERIALIZABLE a transaction notes which intervals of indexes it asked for, which rows it read by
//! id, and which tables it read whole. At commit nothing of that may have changed since its snapshot:
//! a new row in an interval is an entry whose row id is not below the snapshot's row count, a change is
//! a mark, newer than the snapshot, on a row that was read. Then the transaction might as well have
//! run at the moment of its commit, and the commit order is a serial order. This is backward
//! validation, after Kung and Robinson, "On Optimistic Methods for Concurrency Control" (1981). One
//! that changes nothing is validated by nobody: it runs at its snapshot.
//!
//! The client's thread does the work before it queues ([`ReadSet::look`]), and the leader repeats it
//! for what came since ([`ReadSet::validate`]).
//!
//! It errs on the safe side: a table that was read whole must not have changed at all, an interval is
//! noted to its end where a scan stops early, and being overwritten alone would not yet be an anomaly.
//! How often that is the reason is counted: see [`crate::Stats`].
//!
//! What is noted has a bound: a table of which very many rows or intervals were read
//! ([`ROWS_MAX`], [`RANGES_MAX`]) counts as read whole. That refuses more commits, never fewer, and
//! PostgreSQL promotes locks of its readers in the same way, from 64 of a table on.
//!
//! Thread safety: belongs to its transaction, then to the leader.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use onlap_base::{Csn, Error, ErrorKind, IndexId, Result, RowId, TableId};
use onlap_storage::{Direction, EntryBatch, EntryWants, KeyBounds};
use roaring::RoaringTreemap;

use super::Transaction;
use crate::blind;
use crate::database::{Shared, Table};
use crate::options::Rule;
use crate::read::{KeyRange, Predicate, ReadView, Registration};
use crate::table::{TableState, TableView, key_def};

/// How transactions ended that others were in the way of.
#[derive(Debug, Default)]
pub(crate) struct TransactionCounters {
    failed_reads: AtomicU64,
    coarse: AtomicU64,
}

impl TransactionCounters {
    fn count_failed_read(&self, coarse: bool) {
        self.failed_reads.fetch_add(1, Ordering::Relaxed);
        self.coarse.fetch_add(u64::from(coarse), Ordering::Relaxed);
    }

    /// Commits refused at SERIALIZABLE because of what they had read, and how many of them without a
    /// look at single rows, so that some of these could have been let through.
    pub(crate) fn failed_reads(&self) -> (u64, u64) {
        (self.failed_reads.load(Ordering::Relaxed), self.coarse.load(Ordering::Relaxed))
    }
}

/// Entries looked at in one step.
const STEP: usize = 1024;
/// Rows of a table that are noted one by one, those of intervals at the commit among them: where they
/// lie apart, they take 4 MiB in their set, and 8 MiB in a list while they are looked at.
const ROWS_MAX: u64 = 1 << 20;
/// Bytes that a noted row takes where rows lie apart.
const ROW_BYTES: usize = 4;
/// Intervals of a table that are noted one by one: about 2 MiB.
const RANGES_MAX: usize = 1 << 14;
/// Bytes that a noted interval takes: two short keys.
const RANGE_BYTES: usize = 128;

/// What a transaction has read.
pub(crate) struct ReadSet {
    /// What the reads saw.
    snapshot: Arc<Registration>,
    tables: Vec<TableReads>,
}

struct TableReads {
    state: Arc<TableState>,
    whole: bool,
    ranges: Vec<(IndexId, KeyBounds)>,
    /// Rows that were read by id, and those found in the ranges once they were looked at.
    rows: RoaringTreemap,
    /// How many of them there are at most.
    noted: u64,
    /// Rows from this id on, and marks above this CSN, have not been looked at.
    looked_at: (RowId, Csn),
}

impl ReadSet {
    pub(super) fn new(snapshot: &Arc<Registration>) -> ReadSet {
        ReadSet { snapshot: Arc::clone(snapshot), tables: Vec::new() }
    }

    /// The tables that were read.
    pub(crate) fn tables(&self) -> impl Iterator<Item = TableId> {
        self.tables.iter().map(|t| t.state.id)
    }

    fn of_table(&mut self, state: &Arc<TableState>) -> &mut TableReads {
        let at = match self.tables.iter().position(|t| t.state.id == state.id) {
            Some(at) => at,
            None => {
                self.tables.push(TableReads {
                    state: Arc::clone(state),
                    whole: false,
                    ranges: Vec::new(),
                    rows: RoaringTreemap::new(),
                    noted: 0,
                    looked_at: (0, 0),
                });
                self.tables.len() - 1
            }
        };
        &mut self.tables[at]
    }

    /// Memory in use.
    pub(super) fn heap_bytes(&self) -> usize {
        let of = |t: &TableReads| t.ranges.len() * RANGE_BYTES + t.noted as usize * ROW_BYTES;
        self.tables.iter().map(of).sum()
    }

    /// Looks at everything that was committed so far.
    pub(crate) fn look(&mut self, shared: &Arc<Shared>) -> Result<()> {
        let (since, now) = (&self.snapshot, Registration::new(shared));
        self.tables.iter_mut().try_for_each(|reads| reads.look(shared, since, &now))
    }

    /// Looks at what came since, under the commit lock.
    pub(crate) fn validate(&self, shared: &Shared) -> Result<()> {
        self.tables.iter().try_for_each(|reads| reads.validate(shared, self.snapshot.csn()))
    }
}

impl TableReads {
    /// Whether the table as a whole has changed since a commit.
    fn is_changed_since(&self, csn: Csn) -> bool {
        self.state.writer.lock().last_csn > csn
    }

    /// From now on the table as a whole counts as read.
    fn note_whole(&mut self) {
        self.whole = true;
        self.ranges = Vec::new();
        self.rows = RoaringTreemap::new();
        self.noted = 0;
    }

    fn note_range(&mut self, index: IndexId, bounds: KeyBounds) {
        if self.whole {
            return;
        }
        if self.ranges.len() >= RANGES_MAX {
            // The same keys are often read again and again.
            let of = |r: &(IndexId, KeyBounds)| (r.0, r.1.lower.clone(), r.1.upper.clone());
            self.ranges.sort_by_cached_key(of);
            self.ranges.dedup();
            if self.ranges.len() > RANGES_MAX / 2 {
                return self.note_whole();
            }
        }
        self.ranges.push((index, bounds));
    }

    fn note_rows(&mut self, rows: impl Iterator<Item = RowId>) {
        for row in rows {
            if self.whole {
                return;
            }
            self.noted += u64::from(self.rows.insert(row));
            if self.noted > ROWS_MAX {
                self.note_whole();
            }
        }
    }

    /// Adds the rows that the ranges held at the snapshot, unless there are too many.
    fn note_rows_of_ranges(&mut self, before: &ReadView) -> Result<()> {
        for (index, bounds) in std::mem::take(&mut self.ranges) {
            let mut seen = Vec::new();
            each_entry(before, index, &bounds, &mut |rows| {
                seen.extend_from_slice(rows);
                seen.len() as u64 <= ROWS_MAX
            })?;
            if seen.len() as u64 > ROWS_MAX {
                self.note_whole();
                return Ok(());
            }
            seen.sort_unstable();
            self.note_rows(before.visible(&seen)?.into_iter());
            if self.whole {
                return Ok(());
            }
            self.ranges.push((index, bounds));
        }
        Ok(())
    }

    fn look(&mut self, shared: &Shared, since: &Registration, now: &Registration) -> Result<()> {
        let view = ReadView::new(&self.state, now)?;
        if self.has_lost(&view.view, since.csn()) {
            return Err(self.failed(shared, true));
        }
        // Two walks over each range: each leaves out what is dead at its own commit.
        let before = ReadView::new(&self.state, since)?;
        self.note_rows_of_ranges(&before)?;
        let range = before.count..view.count;
        let changed = self.is_changed_since(since.csn());
        if self.whole && changed {
            return Err(self.failed(shared, true));
        }
        for (index, bounds) in self.ranges.iter().filter(|_| changed) {
            let mut new = false;
            each_entry(&view, *index, bounds, &mut |rows| {
                new |= rows.iter().any(|row| range.contains(row));
                !new
            })?;
            if new {
                return Err(self.failed(shared, false));
            }
        }
        let rows: Vec<RowId> = self.rows.iter().collect();
        if view.visible(&rows)?.len() < rows.len()
            || view.view.newest_change(&rows, since.csn())?.is_some()
        {
            return Err(self.failed(shared, false));
        }
        self.looked_at = (view.count, now.csn());
        Ok(())
    }

    fn validate(&self, shared: &Shared, since: Csn) -> Result<()> {
        let (count, csn) = self.looked_at;
        if !self.is_changed_since(csn) {
            return Ok(());
        }
        if self.whole {
            return Err(self.failed(shared, true));
        }
        if self.state.schema().blind {
            blind::resolve(shared, &self.state, RowId::MAX)?;
        }
        let view = self.state.view();
        debug_assert!(csn >= since);
        let flushed = view.version.flushed_rows > count && !self.ranges.is_empty();
        if flushed || self.has_lost(&view, since) {
            // What came since was flushed already; not worth a search under the commit lock.
            return Err(self.failed(shared, true));
        }
        for (index, bounds) in &self.ranges {
            for memtable in view.memtables_newest_first() {
                if memtable.end_row() <= count {
                    break;
                }
                let wants = EntryWants::default();
                let mut cursor =
                    memtable.cursor(*index, bounds, Direction::Forward, &wants, count..RowId::MAX);
                let mut batch = EntryBatch::default();
                while cursor.next(STEP, &mut batch)? {
                    if batch.row_ids.iter().any(|&r| r >= count) {
                        return Err(self.failed(shared, false));
                    }
                }
            }
        }
        let rows: Vec<RowId> = self.rows.iter().collect();
        let mut keep = vec![true; rows.len()];
        view.drop_dead(&rows, Csn::MAX, &mut keep)?;
        if keep.contains(&false) || view.newest_change(&rows, csn)?.is_some() {
            return Err(self.failed(shared, false));
        }
        Ok(())
    }

    /// Whether the table was truncated since, or an index that was read through dropped.
    fn has_lost(&self, view: &TableView, since: Csn) -> bool {
        view.past.as_ref().is_some_and(|past| past.csn > since)
            || self.ranges.iter().any(|(index, _)| view.schema.index(*index).is_none())
    }

    /// `coarse`: without a look at single rows.
    fn failed(&self, shared: &Shared, coarse: bool) -> Error {
        shared.transactions.count_failed_read(coarse);
        let text = format!(
            "what this transaction read of table {} was changed by another one before it could \
             commit; run it again",
            self.state.schema().name
        );
        Error::new(ErrorKind::Conflict, text)
    }
}

/// Entries of an interval, until `f` says that it has seen enough.
fn each_entry(
    view: &ReadView,
    index: IndexId,
    bounds: &KeyBounds,
    f: &mut dyn FnMut(&[RowId]) -> bool,
) -> Result<()> {
    let mut batch = EntryBatch::default();
    for mut cursor in
        view.sources(index, bounds, Direction::Forward, &EntryWants::row_ids(), false)?
    {
        while cursor.next(STEP, &mut batch)? {
            if !f(&batch.row_ids) {
                return Ok(());
            }
        }
    }
    Ok(())
}

impl Transaction {
    fn noting(&mut self, table: &Table) -> Option<&mut TableReads> {
        if !self.shared.obeys(Rule::ReadValidation) {
            return None;
        }
        self.reads.as_mut().map(|reads| reads.of_table(&table.state))
    }

    /// Notes a table that is read whole.
    pub(super) fn note_table(&mut self, table: &Table) -> Result<()> {
        if let Some(reads) = self.noting(table) {
            reads.note_whole();
        }
        Ok(())
    }

    /// Notes an interval of an index.
    pub(super) fn note_range(
        &mut self,
        table: &Table,
        index: &str,
        range: &KeyRange,
    ) -> Result<()> {
        let reindexed = self.schema.changes_schema(table.state.id);
        let Some(reads) = self.noting(table) else { return Ok(()) };
        if reindexed {
            // The commit could not ask an index that others do not know.
            reads.note_whole();
            return Ok(());
        }
        let schema = reads.state.schema();
        // An unknown index is the read's to complain about.
        if let Some(index) = schema.index_by_name(index) {
            let bounds = range.bounds(&schema, index, &key_def(&schema, index))?;
            reads.note_range(index.id, bounds);
        }
        Ok(())
    }

    /// Notes every interval that a predicate names; the table as a whole where rows belong to it that
    /// lie in none of them.
    pub(super) fn note_predicate(&mut self, table: &Table, predicate: &Predicate) -> Result<()> {
        if self.reads.is_none() {
            return Ok(());
        }
        predicate.check_depth()?;
        if predicate.is_open() {
            return self.note_table(table);
        }
        predicate.each_range(&mut |index, range| self.note_range(table, index, range))
    }

    /// Notes a key that was looked up.
    pub(super) fn note_key(&mut self, table: &Table, index: IndexId, key: &[u8]) -> Result<()> {
        if let Some(reads) = self.noting(table) {
            reads.note_range(index, KeyBounds::prefix(key));
        }
        Ok(())
    }

    /// Notes rows that were read by their ids.
    pub(super) fn note_rows(&mut self, table: &Table, rows: &[RowId]) -> Result<()> {
        if let Some(reads) = self.noting(table) {
            let landed = |row: &RowId| *row < onlap_base::PROVISIONAL_BASE;
            reads.note_rows(rows.iter().copied().filter(landed));
        }
        Ok(())
    }
}
