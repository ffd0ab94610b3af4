//! How does a reader receive rows?
//!
//! [`Rows`] hands out batches: small ones first, so that a reader of ten rows pays for few, then
//! larger ones. It holds its snapshot open and its files pinned until it is dropped.
//!
//! Thread safety: belongs to one thread at a time; may be sent to another.

use std::sync::Arc;

use onlap_base::{Result, RowId};
use onlap_format::{Batch, Column, DataType, NullMask, Row, TableSchema, Value, Vector, convert};

use super::counters::{ReadCounters, Tally};
use super::index_scan::IndexScan;
use super::set_scan::SetScan;
use super::snapshot::Registration;
use super::table_scan::TableScan;

#[cfg(test)]
mod tests;

/// Rows of the first batch.
pub(super) const FIRST_ROWS: usize = 16;

/// Rows of later batches, at most: enough to forget the cost of a batch. A table scan hands out the
/// rows of a block instead, when it has no limit.
pub(super) const BATCH_ROWS: usize = 1024;

/// Rows in column form, with their ids.
#[derive(Clone, Debug, PartialEq)]
pub struct RowBatch {
    /// One id per row.
    pub row_ids: Vec<RowId>,
    /// The columns asked for, in that order, in physical form.
    pub columns: Batch,
    types: Arc<[DataType]>,
}

impl RowBatch {
    pub(crate) fn new(types: &Arc<[DataType]>) -> RowBatch {
        let columns = Batch::new(types.iter().map(|t| t.physical()));
        RowBatch { row_ids: Vec::new(), columns, types: Arc::clone(types) }
    }
    pub(super) fn of(types: &Arc<[DataType]>, row_ids: Vec<RowId>, columns: Batch) -> RowBatch {
        RowBatch { row_ids, columns, types: Arc::clone(types) }
    }
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.row_ids.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.row_ids.is_empty()
    }
    /// Types of the columns.
    pub fn types(&self) -> &[DataType] {
        &self.types
    }
    /// One value.
    pub fn value(&self, row: usize, column: usize) -> Value {
        convert::read_value(self.types[column], &self.columns.columns[column], row)
    }
    /// One row.
    pub fn row(&self, row: usize) -> Row {
        (0..self.types.len()).map(|column| self.value(row, column)).collect()
    }
}

/// Where rows come from.
pub(super) enum Source {
    Index(Box<IndexScan>),
    Table(Box<TableScan>),
    Set(Box<SetScan>),
    /// Everything was given up.
    Nowhere,
}

/// The rows of a scan: an iterator over batches.
pub struct Rows {
    source: Source,
    schema: Arc<TableSchema>,
    columns: Vec<usize>,
    types: Arc<[DataType]>,
    /// Rows still to hand out.
    left: usize,
    /// Rows of the next batch.
    size: usize,
    counters: ReadCounters,
    /// Of these, what was added to the sums.
    counted: ReadCounters,
    tally: Option<Arc<Tally>>,
    pin: Option<Arc<Registration>>,
}

impl Rows {
    pub(super) fn new(
        source: Source,
        schema: Arc<TableSchema>,
        columns: Vec<usize>,
        limit: usize,
        tally: Option<Arc<Tally>>,
        pin: Option<Arc<Registration>>,
    ) -> Rows {
        let types = columns.iter().map(|&c| schema.columns[c].ty).collect();
        Rows {
            source,
            schema,
            columns,
            types,
            left: limit,
            size: FIRST_ROWS,
            counters: ReadCounters::default(),
            counted: ReadCounters::default(),
            tally,
            pin,
        }
    }

    /// Names and types of the columns.
    pub fn columns(&self) -> impl Iterator<Item = (&str, DataType)> {
        self.columns
            .iter()
            .map(|&c| (self.schema.columns[c].name.as_str(), self.schema.columns[c].ty))
    }

    /// What the scan has cost so far.
    pub fn counters(&self) -> ReadCounters {
        self.counters
    }

    /// Adds to the sums what has come since the last time.
    fn count_up(&mut self) {
        let more = self.counters.since(&self.counted);
        self.counted = self.counters;
        match (&self.tally, &self.pin) {
            (Some(tally), _) => tally.add(&more),
            (None, Some(pin)) => pin.shared.counters.add(&more),
            (None, None) => {}
        }
    }

    /// All rows that are left.
    pub fn rows(self) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for batch in self {
            let batch = batch?;
            rows.extend((0..batch.len()).map(|i| batch.row(i)));
        }
        Ok(rows)
    }

    /// Fills `batch`, whose memory is used again, with the next rows; false at the end.
    pub fn next_into(&mut self, batch: &mut RowBatch) -> Result<bool> {
        batch.row_ids.clear();
        clear(&mut batch.columns, &self.types);
        batch.types = Arc::clone(&self.types);
        if self.left == 0 {
            return Ok(false);
        }
        if let Some(Err(e)) = self.pin.as_ref().map(|pin| pin.check()) {
            // What is pinned goes now, whatever becomes of this.
            (self.left, self.source) = (0, Source::Nowhere);
            return Err(e);
        }
        let max = self.size.min(self.left);
        let result = match &mut self.source {
            Source::Nowhere => Ok(false),
            Source::Index(scan) => scan.next(max, batch, &mut self.counters),
            Source::Set(scan) => scan.next(max, batch, &mut self.counters),
            Source::Table(scan) => {
                // A block at a time where nobody stops early.
                let max = if self.left == usize::MAX { self.left } else { max };
                scan.next(max, batch, &mut self.counters)
            }
        };
        self.size = (self.size * 4).min(BATCH_ROWS);
        self.count_up();
        match result {
            Ok(true) => {
                debug_assert_eq!(batch.row_ids.len(), batch.columns.rows);
                if self.left != usize::MAX {
                    self.left -= batch.len();
                }
                Ok(true)
            }
            Ok(false) => {
                self.left = 0;
                Ok(false)
            }
            Err(e) => {
                self.left = 0;
                Err(e)
            }
        }
    }
}

impl Iterator for Rows {
    type Item = Result<RowBatch>;

    fn next(&mut self) -> Option<Result<RowBatch>> {
        let mut batch = RowBatch::new(&self.types);
        match self.next_into(&mut batch) {
            Ok(true) => Some(Ok(batch)),
            Ok(false) => None,
            Err(e) => Some(Err(e)),
        }
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        self.count_up();
        if let (Source::Table(scan), Some(_)) = (&self.source, &self.pin) {
            scan.activity().scanned(self.counters.rows_read);
        }
    }
}

/// Empties a batch; columns of the right form keep their memory.
fn clear(batch: &mut Batch, types: &[DataType]) {
    let forms = || types.iter().map(|t| t.physical());
    if batch.columns.len() != types.len()
        || batch.columns.iter().zip(forms()).any(|(c, f)| c.data.physical() != f)
    {
        *batch = Batch::new(forms());
        return;
    }
    batch.truncate(0);
    batch.rows = 0;
    batch.columns.iter_mut().for_each(|c| c.nulls = None);
}

/// Appends the rows at `picks` of a batch of the same shape.
pub(super) fn take(from: &Batch, picks: &[u32], out: &mut Batch) {
    for (from, to) in from.columns.iter().zip(&mut out.columns) {
        take_column(from, picks, to);
    }
    out.rows += picks.len();
}

/// Appends the values at `picks` of a column of the same form.
pub(super) fn take_column(from: &Column, picks: &[u32], out: &mut Column) {
    let before = out.len();
    let at = |i: &u32| *i as usize;
    match (&from.data, &mut out.data) {
        (Vector::Int(v), Vector::Int(out)) => out.extend(picks.iter().map(|i| v[at(i)])),
        (Vector::Wide(v), Vector::Wide(out)) => out.extend(picks.iter().map(|i| v[at(i)])),
        (Vector::Numeric(m, s), Vector::Numeric(out, scales)) => {
            out.extend(picks.iter().map(|i| m[at(i)]));
            scales.extend(picks.iter().map(|i| s[at(i)]));
        }
        (Vector::Bytes(v), Vector::Bytes(out)) => out.extend(picks.iter().map(|i| v.get(at(i)))),
        _ => panic!("columns of different physical form are never joined"),
    }
    if from.nulls.is_some() || out.nulls.is_some() {
        let mask = out.nulls.get_or_insert_with(|| NullMask::none(before));
        picks.iter().for_each(|i| mask.push(from.is_null(at(i))));
    }
}
