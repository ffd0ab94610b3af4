//! What can be asked of a table at one moment?
//!
//! The reads that snapshots and transactions have in common, on a [`ReadView`]. Names and values are
//! resolved here; what was read is counted here.
//!
//! Thread safety: shared freely; each read is one thread's.

use std::sync::Arc;

use onlap_base::{Error, ErrorKind, Result, RowId};
use onlap_format::{IndexSchema, Row, Value};

use super::bounds::{index_by_name, projection, types_of};
use super::counters::ReadCounters;
use super::index_scan::{IndexScan, Range};
use super::rows::{RowBatch, Rows, Source};
use super::snapshot::Registration;
use super::{KeyRange, Predicate, ReadView, RowSet, Scan};

/// A table as a snapshot or a statement sees it.
pub(crate) struct Reader {
    view: ReadView,
    pin: Arc<Registration>,
}

impl Reader {
    pub(crate) fn new(view: ReadView, pin: Arc<Registration>) -> Reader {
        Reader { view, pin }
    }

    fn count_up(&self, counters: &ReadCounters) {
        match &self.view.tally {
            Some(tally) => tally.add(counters),
            None => self.pin.shared.counters.add(counters),
        }
    }

    pub(crate) fn get(&self, key: &[Value], columns: Option<&[&str]>) -> Result<Option<Row>> {
        let schema = &self.view.view.schema;
        let primary = schema.primary().ok_or_else(|| {
            let text = format!(
                "table {} has no primary key; use get_by with the name of an index",
                schema.name
            );
            Error::new(ErrorKind::UnknownIndex, text)
        })?;
        if key.len() != primary.key.len() {
            let text = format!(
                "the primary key of table {} has {} columns; {} values were given",
                schema.name,
                primary.key.len(),
                key.len()
            );
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        self.get_in(primary, key, columns)
    }

    pub(crate) fn get_by(
        &self,
        index: &str,
        key: &[Value],
        columns: Option<&[&str]>,
    ) -> Result<Option<Row>> {
        let index = index_by_name(&self.view.view.schema, index)?;
        self.get_in(index, key, columns)
    }

    fn get_in(
        &self,
        index: &IndexSchema,
        key: &[Value],
        columns: Option<&[&str]>,
    ) -> Result<Option<Row>> {
        let columns = self.positions(columns)?;
        let mut counters = ReadCounters::default();
        let row = self.view.get_by(index, key, &columns, &mut counters);
        self.count_up(&counters);
        row
    }

    pub(crate) fn scan(self, scan: &Scan) -> Result<Rows> {
        self.view.scan_pinned(scan, Some(self.pin))
    }

    pub(crate) fn index_scan(self, index: &str, range: &KeyRange, scan: &Scan) -> Result<Rows> {
        let columns = scan.projection(&self.view.view.schema)?;
        let schema = Arc::clone(&self.view.view.schema);
        let tally = self.view.tally.clone();
        let source = IndexScan::new(self.view, index, range, scan, &columns)?;
        let source = Source::Index(Box::new(source));
        Ok(Rows::new(source, schema, columns, scan.row_limit(), tally, Some(self.pin)))
    }

    pub(crate) fn index_row_ids(&self, index: &str, range: &KeyRange) -> Result<Vec<RowId>> {
        let range = Range::resolve(&self.view, index, range)?;
        let mut counters = ReadCounters::default();
        let rows = self.view.index_row_ids(&range, &mut counters);
        self.count_up(&counters);
        rows
    }

    pub(crate) fn index_count(&self, index: &str, range: &KeyRange) -> Result<u64> {
        let range = Range::resolve(&self.view, index, range)?;
        let mut counters = ReadCounters::default();
        let n = self.view.index_count(&range, &mut counters);
        self.count_up(&counters);
        n
    }

    pub(crate) fn distinct(
        &self,
        index: &str,
        prefix_columns: usize,
        range: &KeyRange,
    ) -> Result<Vec<Row>> {
        let range = Range::resolve(&self.view, index, range)?;
        let mut counters = ReadCounters::default();
        let rows = self.view.distinct(&range, prefix_columns, &mut counters);
        self.count_up(&counters);
        rows
    }

    pub(crate) fn first_per_group(
        &self,
        index: &str,
        prefix_columns: usize,
        range: &KeyRange,
        scan: &Scan,
    ) -> Result<RowBatch> {
        let columns = scan.projection(&self.view.view.schema)?;
        let range = Range::resolve(&self.view, index, range)?;
        let mut counters = ReadCounters::default();
        let rows = self.view.first_per_group(&range, prefix_columns, scan, &columns, &mut counters);
        self.count_up(&counters);
        rows
    }

    pub(crate) fn row_set(&self, predicate: &Predicate) -> Result<RowSet> {
        let mut counters = ReadCounters::default();
        let rows = self.view.row_set(predicate, &mut counters);
        self.count_up(&counters);
        rows
    }

    pub(crate) fn fetch(&self, rows: &[RowId], columns: Option<&[&str]>) -> Result<RowBatch> {
        let mut sorted = rows.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        self.fetch_sorted(&sorted, columns)
    }

    pub(crate) fn fetch_set(&self, rows: &RowSet, columns: Option<&[&str]>) -> Result<RowBatch> {
        match rows.as_list() {
            Some(list) => self.fetch_sorted(list, columns),
            None => self.fetch_sorted(&rows.rows(), columns),
        }
    }

    fn fetch_sorted(&self, rows: &[RowId], columns: Option<&[&str]>) -> Result<RowBatch> {
        let columns = self.positions(columns)?;
        let mut counters = ReadCounters::default();
        let fetched = self.view.fetch(rows, &columns, &mut counters);
        self.count_up(&counters);
        let mut batch = RowBatch::new(&types_of(&self.view.view.schema, &columns).into());
        (batch.row_ids, batch.columns) = fetched?;
        Ok(batch)
    }

    pub(crate) fn count(&self) -> Result<u64> {
        self.view.count_rows()
    }

    /// Positions of the named columns, or of all.
    fn positions(&self, names: Option<&[&str]>) -> Result<Vec<usize>> {
        let schema = &self.view.view.schema;
        match names {
            Some(names) => projection(schema, names),
            None => Ok((0..schema.columns.len()).collect()),
        }
    }
}
