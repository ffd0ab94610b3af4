//! What does a reader hold on to?
//!
//! A [`Snapshot`] is a registered CSN: it sees every commit up to and including it, whatever happens
//! later. Taking one costs a map operation; the files of a table are pinned by each read for itself.
//! Scans keep the registration beyond the life of the snapshot.
//!
//! Thread safety: a snapshot may be shared between threads.

use std::sync::Arc;

use onlap_base::{Csn, Error, ErrorKind, Result, RowId};
use onlap_format::{Row, Value};

use super::bounds::{index_by_name, projection, types_of};
use super::counters::ReadCounters;
use super::index_scan::{IndexScan, Range};
use super::rows::{RowBatch, Rows, Source};
use super::{KeyRange, ReadView, Scan};
use crate::database::{Shared, Table};

/// Keeps a CSN registered.
pub(super) struct Registration {
    pub(super) shared: Arc<Shared>,
    csn: Csn,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.shared.snapshots.release(self.csn);
    }
}

/// A consistent view of the whole database at one commit.
///
/// Every method fails with [`ErrorKind::Closed`] after the database was closed, and with
/// [`ErrorKind::UnknownTable`] for a table that was created after the snapshot.
#[derive(Clone)]
pub struct Snapshot {
    registration: Arc<Registration>,
}

impl Snapshot {
    pub(crate) fn new(shared: Arc<Shared>) -> Snapshot {
        let csn = shared.snapshots.register();
        Snapshot { registration: Arc::new(Registration { shared, csn }) }
    }

    /// The newest commit that it sees.
    pub fn csn(&self) -> Csn {
        self.registration.csn
    }

    fn view(&self, table: &Table) -> Result<ReadView> {
        table.check_same(&self.registration.shared)?;
        ReadView::new(&table.state, self.registration.csn)
    }

    fn count_up(&self, counters: &ReadCounters) {
        self.registration.shared.counters.add(counters);
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
        let view = self.view(table)?;
        let primary = view.view.schema.primary().ok_or_else(|| {
            let text = format!(
                "table {} has no primary key; use get_by with the name of an index",
                view.view.schema.name
            );
            Error::new(ErrorKind::UnknownIndex, text)
        })?;
        if key.len() != primary.key.len() {
            let text = format!(
                "the primary key of table {} has {} columns; {} values were given",
                view.view.schema.name,
                primary.key.len(),
                key.len()
            );
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        self.get_in(&view, primary, key, columns)
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
        let view = self.view(table)?;
        let index = index_by_name(&view.view.schema, index)?;
        self.get_in(&view, index, key, columns)
    }

    fn get_in(
        &self,
        view: &ReadView,
        index: &onlap_format::IndexSchema,
        key: &[Value],
        columns: Option<&[&str]>,
    ) -> Result<Option<Row>> {
        let columns = positions(view, columns)?;
        let mut counters = ReadCounters::default();
        let row = view.get_by(index, key, &columns, &mut counters);
        self.count_up(&counters);
        row
    }

    /// All rows in the order of their ids, which is the order of their commits.
    ///
    /// # Errors
    /// An unknown column.
    pub fn scan(&self, table: &Table, scan: Scan) -> Result<Rows> {
        self.view(table)?.scan_pinned(&scan, Some(Arc::clone(&self.registration)))
    }

    /// The rows of an index range in the order of the index, rows with equal keys in the order of
    /// their ids. Where the index holds all wanted columns, in its key (of types whose keys are
    /// exact) or its INCLUDE list, rows are never touched.
    ///
    /// # Errors
    /// An unknown index or column; a bound that does not fit the key ([`KeyRange`]).
    pub fn index_scan(
        &self,
        table: &Table,
        index: &str,
        range: KeyRange,
        scan: Scan,
    ) -> Result<Rows> {
        let view = self.view(table)?;
        let columns = scan.projection(&view.view.schema)?;
        let schema = Arc::clone(&view.view.schema);
        let source = IndexScan::new(view, index, &range, &scan, &columns)?;
        let pin = Some(Arc::clone(&self.registration));
        let source = Source::Index(Box::new(source));
        Ok(Rows::new(source, schema, columns, scan.row_limit(), pin))
    }

    /// Ids of the rows of an index range, ascending. Touches no row.
    ///
    /// # Errors
    /// As [`Snapshot::index_scan`].
    pub fn index_row_ids(&self, table: &Table, index: &str, range: KeyRange) -> Result<Vec<RowId>> {
        let view = self.view(table)?;
        let range = Range::resolve(&view, index, &range)?;
        let mut counters = ReadCounters::default();
        let rows = view.index_row_ids(&range, &mut counters);
        self.count_up(&counters);
        rows
    }

    /// Number of rows of an index range. Touches no row.
    ///
    /// # Errors
    /// As [`Snapshot::index_scan`].
    pub fn index_count(&self, table: &Table, index: &str, range: KeyRange) -> Result<u64> {
        let view = self.view(table)?;
        let range = Range::resolve(&view, index, &range)?;
        let mut counters = ReadCounters::default();
        let n = view.index_count(&range, &mut counters);
        self.count_up(&counters);
        n
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
        let view = self.view(table)?;
        let columns = positions(&view, columns)?;
        let mut sorted = rows.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut counters = ReadCounters::default();
        let fetched = view.fetch(&sorted, &columns, &mut counters);
        self.count_up(&counters);
        let mut batch = RowBatch::new(&types_of(&view.view.schema, &columns).into());
        (batch.row_ids, batch.columns) = fetched?;
        Ok(batch)
    }

    /// Number of rows of a table. Reads no row.
    pub fn count(&self, table: &Table) -> Result<u64> {
        self.view(table)?.count_rows()
    }
}

/// Positions of the named columns, or of all.
fn positions(view: &ReadView, names: Option<&[&str]>) -> Result<Vec<usize>> {
    match names {
        Some(names) => projection(&view.view.schema, names),
        None => Ok((0..view.view.schema.columns.len()).collect()),
    }
}
