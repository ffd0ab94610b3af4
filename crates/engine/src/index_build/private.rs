//! How does an index get entries that a transaction creates?
//!
//! No memtable maintains it and no manifest knows it before the commit. The table's rows are flushed,
//! and the segments up to there are scanned as in any build ([`pieces`]); whoever needs later rows in
//! the index has them flushed and scanned in turn ([`NewIndex::cover`]), the commit at last, which holds
//! writers off for what came since. So rows below `covered` have entries, all others none. Segments
//! keep their row ids for ever (I1), so entries stay right whatever is compacted meanwhile.
//!
//! The transaction's own rows get entries as they are spilled, or when they were spilled before
//! ([`fill`]).
//!
//! Maintaining such an index in memtables, as builds next to writers do, was left out: flushes would
//! write runs for it that a rollback has to take back, for the sake of transactions that should be short.
//!
//! Thread safety: belongs to its transaction.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::{Csn, IndexId, Result, RowId};
use onlap_format::manifest::{Edit, RunMeta};
use onlap_format::{IndexSchema, TableSchema};
use onlap_storage::segment::Segment;
use onlap_storage::version::TableVersion;

use super::{BuildControl, pieces};
use crate::changes::Fixed;
use crate::database::Shared;
use crate::flush;
use crate::table::{TableState, TableView};

/// `since` of an index whose commit nobody knows yet.
pub(crate) const NOT_YET: Csn = Csn::MAX;

/// An index that a transaction creates, with its files. Unless they are kept, they go with it.
pub(crate) struct NewIndex {
    shared: Arc<Shared>,
    state: Arc<TableState>,
    index: IndexSchema,
    runs: Vec<(IndexId, RunMeta)>,
    /// Rows of the table below have entries.
    covered: RowId,
    /// Rows with entries keep their keys.
    _fixed: Fixed,
}

impl NewIndex {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        state: &Arc<TableState>,
        schema: &TableSchema,
        index: IndexSchema,
    ) -> NewIndex {
        debug_assert_eq!(index.since, NOT_YET);
        let (shared, state) = (Arc::clone(shared), Arc::clone(state));
        let mut columns = schema.columns_of(&index);
        columns.extend(&index.include);
        let _fixed = Fixed::new(&shared, &state, columns);
        NewIndex { shared, state, index, runs: Vec::new(), covered: 0, _fixed }
    }

    pub(crate) fn index(&self) -> &IndexSchema {
        &self.index
    }

    pub(crate) fn runs(&self) -> &[(IndexId, RunMeta)] {
        &self.runs
    }

    pub(crate) fn covered(&self) -> RowId {
        self.covered
    }

    /// Writes entries of all rows that are in the files of a view.
    pub(crate) fn cover(&mut self, view: &TableView) -> Result<()> {
        let rows = self.covered..view.version.flushed_rows;
        if rows.is_empty() {
            return Ok(());
        }
        let segments: Vec<Arc<Segment>> = view.version.segments().cloned().collect();
        segments.iter().try_for_each(|segment| segment.read_as(&view.schema))?;
        let end = rows.end;
        let indexes = std::slice::from_ref(&self.index);
        let version = Some(&view.version);
        let runs = fill(&self.shared, &view.schema, version, &segments, indexes, rows)?;
        self.runs.extend(runs);
        self.covered = end;
        Ok(())
    }

    /// What makes its runs files of the table.
    pub(crate) fn edits(&self) -> impl Iterator<Item = Edit> {
        let table = self.state.id;
        self.runs.iter().map(move |(index, run)| Edit::AddRun(table, *index, run.clone()))
    }

    /// The files are the table's now, or nobody knows whether they are.
    pub(crate) fn keep(&mut self) {
        self.runs.clear();
    }
}

impl Drop for NewIndex {
    fn drop(&mut self) {
        flush::discard(&self.shared, &self.edits().collect::<Vec<_>>());
    }
}

/// Writes runs of several indexes for the rows of a range, which lie in these segments; their names are
/// durable. After an error nothing is left.
pub(crate) fn fill(
    shared: &Arc<Shared>,
    schema: &TableSchema,
    version: Option<&Arc<TableVersion>>,
    segments: &[Arc<Segment>],
    indexes: &[IndexSchema],
    rows: Range<RowId>,
) -> Result<Vec<(IndexId, RunMeta)>> {
    let mut runs = Vec::new();
    let ranges = std::slice::from_ref(&rows);
    let control = BuildControl::new();
    let written =
        pieces::write(shared, schema, version, segments, indexes, ranges, &control, &mut runs);
    if let Err(e) = written.and_then(|()| shared.storage.sync_dir()) {
        let edits = runs.into_iter().map(|(index, run)| Edit::AddRun(schema.id, index, run));
        flush::discard(shared, &edits.collect::<Vec<_>>());
        return Err(e);
    }
    Ok(runs)
}

/// The files of a table with indexes that a transaction creates and drops.
pub(crate) fn with_indexes<'a>(
    shared: &Shared,
    version: &TableVersion,
    schema: &Arc<TableSchema>,
    new: impl Iterator<Item = &'a NewIndex>,
    old: Option<&TableVersion>,
) -> Result<Arc<TableVersion>> {
    let runs: Vec<(IndexId, RunMeta)> = new.flat_map(|n| n.runs.iter().cloned()).collect();
    version.with_indexes(shared.versions.files(), schema, &runs, old).map(Arc::new)
}
