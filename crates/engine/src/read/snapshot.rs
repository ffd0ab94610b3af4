//! What does a reader hold on to?
//!
//! A [`Snapshot`] is a registered CSN: it sees every commit up to and including it, whatever happens
//! later. Taking one costs a map operation; the files of a table are pinned by each read for itself.
//! Scans keep the registration beyond the life of the snapshot.
//!
//! Thread safety: a snapshot may be shared between threads.

use std::ops::Deref;
use std::sync::Arc;

use onlap_base::{Csn, Result, RowId};
use onlap_format::{Row, Value};

use super::difference::{self, ChangedRows};
use super::reader::Reader;
use super::rows::{RowBatch, Rows};
use super::{KeyRange, Predicate, ReadView, RowSet, Scan};
use crate::database::{Shared, Table};
use crate::snapshots::Held;

/// Keeps a CSN registered.
pub(crate) struct Registration {
    pub(super) shared: Arc<Shared>,
    held: Arc<Held>,
}

impl Registration {
    /// Registers everything committed.
    pub(crate) fn new(shared: &Arc<Shared>) -> Arc<Registration> {
        Registration::of(shared, shared.snapshots.register())
    }

    /// The database.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn of(shared: &Arc<Shared>, held: Arc<Held>) -> Arc<Registration> {
        Arc::new(Registration { shared: Arc::clone(shared), held })
    }
}

impl Deref for Registration {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.held
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.shared.snapshots.release(&self.held);
    }
}

/// A consistent view of the whole database at one commit.
///
/// Every method fails with [`crate::ErrorKind::Closed`] after the database was closed, with
/// [`crate::ErrorKind::UnknownTable`] for a table that was created after the snapshot, and with
/// [`crate::ErrorKind::SnapshotTooOld`] once the snapshot was revoked because it kept too much for too
/// long ([`crate::Options::snapshot_debt_limit`]).
#[derive(Clone)]
pub struct Snapshot {
    registration: Arc<Registration>,
}

impl Snapshot {
    pub(crate) fn new(shared: &Arc<Shared>) -> Snapshot {
        Snapshot { registration: Registration::new(shared) }
    }

    pub(crate) fn registered(registration: Arc<Registration>) -> Snapshot {
        Snapshot { registration }
    }

    pub(crate) fn registration(&self) -> &Arc<Registration> {
        &self.registration
    }

    pub(crate) fn of(shared: &Arc<Shared>, held: Arc<Held>) -> Snapshot {
        Snapshot { registration: Registration::of(shared, held) }
    }

    /// The newest commit that it sees.
    pub fn csn(&self) -> Csn {
        self.registration.csn()
    }

    fn reader(&self, table: &Table) -> Result<Reader> {
        table.check_same(&self.registration.shared)?;
        Reader::at(&table.state, Arc::clone(&self.registration))
    }

    /// The row with this primary key: all columns, or those named.
    ///
    /// # Errors
    /// The table has no primary key; a key or column that does not fit ([`KeyRange`]).
    pub fn get(
        &self,
        table: &Table,
        key: &[Value],
        columns: Option<&[&str]>,
    ) -> Result<Option<Row>> {
        self.reader(table)?.get(key, columns)
    }

    /// The row with this key of an index: all columns, or those named. Where several rows fit,
    /// because the index is not unique or the key names only its leading columns, the first in the
    /// order of the index.
    ///
    /// # Errors
    /// No such index; a key or column that does not fit ([`KeyRange`]).
    pub fn get_by(
        &self,
        table: &Table,
        index: &str,
        key: &[Value],
        columns: Option<&[&str]>,
    ) -> Result<Option<Row>> {
        self.reader(table)?.get_by(index, key, columns)
    }

    /// Which rows differ from what an older snapshot sees, in at most `most` ranges of row ids. Rows that were deleted, and
    /// the values that changed ones had, are read with the older snapshot, all others with this one.
    ///
    /// # Errors
    /// `since` is the newer one; the table was created, truncated or rewritten in between; more ranges.
    pub fn changed_rows(
        &self,
        table: &Table,
        since: &Snapshot,
        most: usize,
    ) -> Result<Vec<ChangedRows>> {
        self.changed_rows_within(table, since, most, &mut |_| Ok(()))
    }

    /// The same, where the caller counts memory: `room` is asked for the bytes before the answer grows.
    ///
    /// # Errors
    /// As [`Snapshot::changed_rows`]; those of `room`.
    pub fn changed_rows_within(
        &self,
        table: &Table,
        since: &Snapshot,
        most: usize,
        room: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Vec<ChangedRows>> {
        table.check_same(&self.registration.shared)?;
        let then = ReadView::new(&table.state, &since.registration)?;
        let now = ReadView::new(&table.state, &self.registration)?;
        difference::differences(&then, &now, most, room)
    }

    /// All rows in the order of their ids, which is the order of their commits.
    ///
    /// # Errors
    /// An unknown column.
    pub fn scan(&self, table: &Table, scan: Scan) -> Result<Rows> {
        self.reader(table)?.scan(&scan)
    }

    /// The rows of an index range in the order of the index, rows with equal keys in the order of
    /// their ids. Where the index holds all wanted columns, in its key (of types whose keys are
    /// exact) or its INCLUDE list, rows are never touched.
    ///
    /// # Errors
    /// An unknown index or column; a bound that does not fit the key ([`KeyRange`]); an index with several entries of
    /// a row.
    pub fn index_scan(
        &self,
        table: &Table,
        index: &str,
        range: KeyRange,
        scan: Scan,
    ) -> Result<Rows> {
        self.reader(table)?.index_scan(index, &range, &scan)
    }

    /// Ids of the rows of an index range, ascending and each once. Touches no row.
    ///
    /// # Errors
    /// As [`Snapshot::index_scan`].
    pub fn index_row_ids(&self, table: &Table, index: &str, range: KeyRange) -> Result<Vec<RowId>> {
        self.reader(table)?.index_row_ids(index, &range)
    }

    /// Number of rows of an index range. Touches no row.
    ///
    /// # Errors
    /// As [`Snapshot::index_scan`].
    pub fn index_count(&self, table: &Table, index: &str, range: KeyRange) -> Result<u64> {
        self.reader(table)?.index_count(index, &range)
    }

    /// The different values of the first `prefix_columns` columns of an index, in the order of the index,
    /// among visible rows in a range. A loose scan: it reads about two entries of each run and memtable
    /// per answer, however many rows have it, and one more for each dead row that it meets first.
    /// Values come in a normal form where equal keys may read differently: -0 as 0, `char` without
    /// trailing blanks, `numeric` without trailing zeros.
    ///
    /// # Errors
    /// As [`Snapshot::index_scan`]; more columns than the key has.
    pub fn distinct(
        &self,
        table: &Table,
        index: &str,
        prefix_columns: usize,
        range: KeyRange,
    ) -> Result<Vec<Row>> {
        self.reader(table)?.distinct(index, prefix_columns, &range)
    }

    /// The first row of each group in the order of an index; groups are rows with the same values in
    /// its first `prefix_columns` columns. `Scan::reverse` gives the last row of each group, groups in
    /// reverse order; a limit counts groups. On an index over (j, pk descending) this is the newest row
    /// of each j. Reads entries as [`Snapshot::distinct`] does, and rows only where the index does not
    /// hold the wanted columns.
    ///
    /// # Errors
    /// As [`Snapshot::index_scan`]; more columns than the key has.
    pub fn first_per_group(
        &self,
        table: &Table,
        index: &str,
        prefix_columns: usize,
        range: KeyRange,
        scan: Scan,
    ) -> Result<RowBatch> {
        self.reader(table)?.first_per_group(index, prefix_columns, &range, &scan)
    }

    /// The rows of which a predicate is true. Read from index entries alone, no row is touched; what
    /// all rows but some are, from row ids. (An index of the fences-only form has no entries but
    /// its rows.)
    ///
    /// # Errors
    /// An unknown index; a bound that does not fit the key ([`KeyRange`]); a tree too deep.
    pub fn row_set(&self, table: &Table, predicate: &Predicate) -> Result<RowSet> {
        self.reader(table)?.row_set(predicate)
    }

    /// All of these rows, and perhaps others that it takes less time to fetch and judge than to leave out: those that the shorter
    /// ranges of an AND name. For who judges rows in any case.
    ///
    /// # Errors
    /// As [`Snapshot::row_set`].
    pub fn rows_near(&self, table: &Table, predicate: &Predicate) -> Result<RowSet> {
        self.reader(table)?.rows_near(predicate)
    }

    /// The rows with these ids, in the order of their ids, each block read once: all columns, or
    /// those named. Rows that are not there or not visible, and ids given twice, are left out.
    ///
    /// # Errors
    /// An unknown column.
    pub fn fetch(
        &self,
        table: &Table,
        rows: &[RowId],
        columns: Option<&[&str]>,
    ) -> Result<RowBatch> {
        self.reader(table)?.fetch(rows, columns)
    }

    /// The rows of a set, as [`Snapshot::fetch`].
    ///
    /// # Errors
    /// An unknown column.
    pub fn fetch_set(
        &self,
        table: &Table,
        rows: &RowSet,
        columns: Option<&[&str]>,
    ) -> Result<RowBatch> {
        self.reader(table)?.fetch_set(rows, columns)
    }

    /// The rows of a set, in the order of their ids, a batch after the other. Rows that are not there or not visible are left
    /// out.
    ///
    /// # Errors
    /// An unknown column.
    pub fn set_scan(&self, table: &Table, rows: RowSet, scan: Scan) -> Result<Rows> {
        self.reader(table)?.set_scan(rows, &scan)
    }

    /// Number of rows of a table. Reads no row.
    pub fn count(&self, table: &Table) -> Result<u64> {
        self.reader(table)?.count()
    }
}
