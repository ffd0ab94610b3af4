//! What can be asked of a table at one moment?
//!
//! The reads that snapshots and transactions have in common, on a [`ReadView`]. Names and values are
//! resolved here; what was read is counted here.
//!
//! Thread safety: shared freely; each read is one thread's.

use std::borrow::Cow;
use std::sync::Arc;

use onlap_base::{Error, ErrorKind, Result, RowId};
use onlap_format::{IndexSchema, Row, Value};

use super::bounds::{index_by_name, ordered_index, projection, types_of};
use super::counters::ReadCounters;
use super::index_scan::{IndexScan, Range};
use super::judge::Unresolved;
use super::rows::{RowBatch, Rows, Source};
use super::set_scan::SetScan;
use super::snapshot::Registration;
use super::{KeyRange, Predicate, ReadView, RowSet, Scan};
use crate::table::TableState;

/// A table as a snapshot or a statement sees it.
pub(crate) struct Reader {
    view: ReadView,
    pin: Arc<Registration>,
    /// Where not everything that the view shows is resolved.
    unresolved: Option<Unresolved>,
}

impl Reader {
    pub(crate) fn new(view: ReadView, pin: Arc<Registration>) -> Reader {
        Reader { view, pin, unresolved: None }
    }

    /// Of a table at a snapshot; what is pending is resolved when a read needs it.
    pub(super) fn at(state: &Arc<TableState>, pin: Arc<Registration>) -> Result<Reader> {
        let (view, unresolved) = Unresolved::view(state, &pin)?;
        Ok(Reader { view, pin, unresolved })
    }

    /// The view with everything resolved.
    fn resolved(&self) -> Result<Cow<'_, ReadView>> {
        match &self.unresolved {
            Some(unresolved) => unresolved.resolve(&self.view).map(Cow::Owned),
            None => Ok(Cow::Borrowed(&self.view)),
        }
    }

    fn count_up(&self, counters: &ReadCounters) {
        match &self.view.tally {
            Some(tally) => tally.add(counters),
            None => self.pin.shared.counters.add(counters),
        }
    }

    /// The same of reads of one index.
    fn count_up_of(&self, index: &IndexSchema, scans: usize, counters: &ReadCounters) {
        self.view.note_use(index.id, scans as u64, counters.index_entries_read);
        self.count_up(counters);
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
        let index = ordered_index(&self.view.view.schema, index)?;
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
        // Of a whole primary key the newest version decides.
        let view = match index.primary && key.len() == index.key.len() {
            true => Cow::Borrowed(&self.view),
            false => self.resolved()?,
        };
        let row = view.get_by(index, key, &columns, &mut counters);
        self.count_up_of(index, 1, &counters);
        row
    }

    pub(crate) fn rows_with_keys(
        &self,
        index: &str,
        keys: &[KeyRange],
        columns: Option<&[&str]>,
    ) -> Result<Option<RowBatch>> {
        let index = ordered_index(&self.view.view.schema, index)?;
        let columns = self.positions(columns)?;
        let types = types_of(&self.view.view.schema, &columns).into();
        // Of a whole primary key the newest version decides.
        let view = if index.primary { Cow::Borrowed(&self.view) } else { self.resolved()? };
        let mut counters = ReadCounters::default();
        let found = view.rows_with_keys(index, keys, &columns, &mut counters);
        // Where it did not answer another read does.
        let scans = if matches!(found, Ok(None)) { 0 } else { keys.len() };
        self.count_up_of(index, scans, &counters);
        Ok(found?.map(|(row_ids, columns)| RowBatch::of(&types, row_ids, columns)))
    }

    pub(crate) fn scan(self, scan: &Scan) -> Result<Rows> {
        self.resolved()?.into_owned().scan_pinned(scan, Some(self.pin))
    }

    pub(crate) fn index_scan(self, index: &str, range: &KeyRange, scan: &Scan) -> Result<Rows> {
        let columns = scan.projection(&self.view.view.schema)?;
        let schema = Arc::clone(&self.view.view.schema);
        let tally = self.view.tally.clone();
        let source =
            IndexScan::new(self.view, self.unresolved.as_ref(), index, range, scan, &columns)?;
        let source = Source::Index(Box::new(source));
        Ok(Rows::new(source, schema, columns, scan.row_limit(), tally, Some(self.pin)))
    }

    pub(crate) fn set_scan(self, rows: RowSet, scan: &Scan) -> Result<Rows> {
        let columns = scan.projection(&self.view.view.schema)?;
        let schema = Arc::clone(&self.view.view.schema);
        let tally = self.view.tally.clone();
        let source = SetScan::new(self.resolved()?.into_owned(), rows, columns.clone());
        let source = Source::Set(Box::new(source));
        Ok(Rows::new(source, schema, columns, scan.row_limit(), tally, Some(self.pin)))
    }

    pub(crate) fn index_row_ids(&self, index: &str, range: &KeyRange) -> Result<Vec<RowId>> {
        if index_by_name(&self.view.view.schema, index)?.multi_entry {
            return Ok(self.row_set(&Predicate::index(index, range.clone()))?.rows());
        }
        let view = self.resolved()?;
        let range = Range::resolve(&view, index, range)?;
        let mut counters = ReadCounters::default();
        let rows = view.index_row_ids(&range, &mut counters);
        self.count_up_of(range.index, 1, &counters);
        rows
    }

    pub(crate) fn index_count(&self, index: &str, range: &KeyRange) -> Result<u64> {
        if index_by_name(&self.view.view.schema, index)?.multi_entry {
            return Ok(self.row_set(&Predicate::index(index, range.clone()))?.len());
        }
        let view = self.resolved()?;
        let range = Range::resolve(&view, index, range)?;
        let mut counters = ReadCounters::default();
        let n = view.index_count(&range, &mut counters);
        self.count_up_of(range.index, 1, &counters);
        n
    }

    pub(crate) fn distinct(
        &self,
        index: &str,
        prefix_columns: usize,
        range: &KeyRange,
    ) -> Result<Vec<Row>> {
        let view = self.resolved()?;
        let range = Range::resolve(&view, index, range)?;
        let mut counters = ReadCounters::default();
        let rows = view.distinct(&range, prefix_columns, &mut counters);
        self.count_up_of(range.index, 1, &counters);
        rows
    }

    pub(crate) fn first_per_group(
        &self,
        index: &str,
        prefix_columns: usize,
        range: &KeyRange,
        scan: &Scan,
    ) -> Result<RowBatch> {
        let view = self.resolved()?;
        let columns = scan.projection(&view.view.schema)?;
        let range = Range::resolve(&view, index, range)?;
        let mut counters = ReadCounters::default();
        let rows = view.first_per_group(&range, prefix_columns, scan, &columns, &mut counters);
        self.count_up_of(range.index, 1, &counters);
        rows
    }

    pub(crate) fn row_set(&self, predicate: &Predicate) -> Result<RowSet> {
        let mut counters = ReadCounters::default();
        let rows = self.resolved()?.row_set(predicate, &mut counters);
        self.count_up(&counters);
        rows
    }

    pub(crate) fn rows_near(&self, predicate: &Predicate) -> Result<RowSet> {
        let mut counters = ReadCounters::default();
        let rows = self.resolved()?.rows_near(predicate, &mut counters);
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
        let fetched = self.resolved()?.fetch(rows, &columns, &mut counters);
        self.count_up(&counters);
        let mut batch = RowBatch::new(&types_of(&self.view.view.schema, &columns).into());
        (batch.row_ids, batch.columns) = fetched?;
        Ok(batch)
    }

    pub(crate) fn count(&self) -> Result<u64> {
        let rows = self.resolved()?.count_rows()?;
        let activity = &self.view.view.activity;
        activity.begin_scan();
        activity.scanned(rows);
        Ok(rows)
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
