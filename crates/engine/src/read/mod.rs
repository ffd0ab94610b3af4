//! How are rows read?
//!
//! Every read is a function of a [`ReadView`]: the files and memtables of a table pinned together, a
//! CSN, and the row count at that CSN. Row r is visible when r < count and no mark of r has a CSN at
//! or below it; so a snapshot costs nothing until it is used, and entries of
//! indexes need one test each, no look at the row (I4).
//!
//! * a row by its key: the newest version below the count decides ([`get`])
//! * entries of an index range, merged from all sources ([`index_scan`], [`merge`])
//! * the set of rows that a tree of index ranges names ([`predicate`], [`row_set`], [`sets`])
//! * rows by their ids, each block once ([`fetch`])
//! * prefixes of keys, and the first row of each, by a loose scan ([`groups`])
//! * all rows in order of their ids ([`table_scan`])
//! * rows that differ between two snapshots ([`difference`])
//!
//! Nothing here writes, waits or takes the commit lock. A reader never blocks a writer: the locks it
//! takes are those of lists and open pieces, for the time it takes to copy.

use std::sync::Arc;

use onlap_base::{Csn, Error, ErrorKind, IndexId, Result, RowId};
use onlap_format::IndexSchema;

use crate::blind;
use crate::history::count_of_past;
use crate::index_build::NOT_YET;
use crate::ledger::{Account, Ledger};
use crate::table::{TableState, TableView};
use onlap_memtable::Memtable;

mod bounds;
mod changes;
mod count;
mod counters;
mod dead;
mod difference;
mod fetch;
mod get;
mod groups;
mod index_scan;
mod judge;
pub(crate) mod merge;
mod near;
mod own;
mod predicate;
mod reader;
mod row_set;
mod rows;
mod set_scan;
mod sets;
mod several;
mod snapshot;
mod table_scan;

pub use bounds::{KeyRange, Scan};
pub use counters::ReadCounters;
pub(crate) use counters::{ReadTotals, Tally};
pub use difference::{ChangedRows, Difference};
pub(crate) use merge::merge_cursors;
pub(crate) use own::OwnRows;
pub use predicate::Predicate;
pub(crate) use reader::Reader;
pub use row_set::RowSet;
pub use rows::{RowBatch, Rows};
pub(crate) use snapshot::Registration;
pub use snapshot::Snapshot;

use rows::Source;
use table_scan::TableScan;

/// A table as one snapshot sees it.
#[derive(Clone, Debug)]
pub(crate) struct ReadView {
    pub view: Arc<TableView>,
    pub csn: Csn,
    /// Rows from this id on came later.
    pub count: RowId,
    /// What the reading transaction itself has done so far.
    pub own: Option<Arc<OwnRows>>,
    /// The statement of a transaction that reads.
    pub tally: Option<Arc<Tally>>,
    /// Where reads of indexes are noted; not those that the engine makes for itself.
    pub ledger: Option<Arc<Ledger>>,
}

impl ReadView {
    /// The table at a registered CSN: nothing that it needs is given up meanwhile.
    ///
    /// # Errors
    /// The table was created later, or cannot be read at so old a commit; the snapshot was revoked.
    pub(crate) fn new(state: &TableState, at: &Registration) -> Result<ReadView> {
        let view = ReadView::of_keys(state, at)?;
        if !view.view.schema.blind {
            return Ok(view);
        }
        blind::resolve(at.shared(), state, view.count)?;
        // Marks that were made meanwhile may lie in memtables that this view does not have.
        ReadView::of_keys(state, at)
    }

    /// The same for those who only look up whole primary keys.
    pub(crate) fn of_keys(state: &TableState, at: &Registration) -> Result<ReadView> {
        // What the view gains after it was loaded lies above every registered snapshot.
        let csn = at.csn();
        let mut view = state.view();
        while let Some(past) = view.past.clone().filter(|p| csn < p.csn) {
            view = past.view.clone().ok_or_else(|| truncated_since(&view))?;
        }
        let count = match at.is_past() {
            true => Some(count_of_past(state, &view, csn)?),
            false => state.counts.at(csn),
        };
        at.check()?;
        let Some(count) = count else {
            let text = format!("table {} was created after this snapshot", view.schema.name);
            return Err(Error::new(ErrorKind::UnknownTable, text));
        };
        hide_younger_indexes(&mut view, csn);
        let ledger = Some(Arc::clone(&at.shared().ledger));
        Ok(ReadView { view, csn, count, own: None, tally: None, ledger })
    }

    /// The account of an index, where its reads are noted.
    fn account(&self, index: IndexId) -> Option<Arc<Account>> {
        self.tally.iter().for_each(|tally| tally.uses(index));
        self.ledger.as_ref().map(|ledger| ledger.account(self.view.schema.id, index))
    }

    /// Notes that an index answered.
    pub(crate) fn note_use(&self, index: IndexId, scans: u64, entries: u64) {
        if let Some(account) = self.account(index) {
            account.begin(scans, self.count);
            account.read(entries);
        }
    }

    /// The memtables that may hold rows of this view, oldest first.
    fn memtables(&self) -> Vec<&Arc<Memtable>> {
        let mut memtables: Vec<_> = self.view.memtables_newest_first().collect();
        memtables.retain(|m| m.first_row() < self.count);
        memtables.reverse();
        memtables.extend(self.own.iter().map(|own| &own.memtable));
        memtables
    }

    /// All rows, for those who keep the CSN registered while they read.
    ///
    /// # Errors
    /// An unknown column.
    pub(crate) fn scan(&self, scan: Scan) -> Result<Rows> {
        self.clone().scan_pinned(&scan, None)
    }

    fn scan_pinned(self, scan: &Scan, pin: Option<Arc<Registration>>) -> Result<Rows> {
        let columns = scan.projection(&self.view.schema)?;
        let schema = Arc::clone(&self.view.schema);
        let tally = self.tally.clone();
        if pin.is_some() && scan.row_range().start == 0 {
            // Parts of a table that several tasks read are one read of it.
            self.view.activity.begin_scan();
        }
        let source = Source::Table(Box::new(TableScan::new(self, &columns, scan)));
        Ok(Rows::new(source, schema, columns, scan.row_limit(), tally, pin))
    }
}

/// Indexes that do not answer for a snapshot are none for who reads by it.
fn hide_younger_indexes(view: &mut Arc<TableView>, csn: Csn) {
    let is_younger =
        |i: &IndexSchema| i.only_since && i.since != NOT_YET && csn < i.since && i.ready;
    if view.schema.indexes.iter().any(is_younger) {
        let mut schema = (*view.schema).clone();
        let younger = schema.indexes.iter_mut().filter(|i| is_younger(i));
        younger.for_each(|index| index.ready = false);
        Arc::make_mut(view).schema = Arc::new(schema);
    }
}

fn truncated_since(view: &TableView) -> Error {
    let text = format!("table {} was truncated after this snapshot", view.schema.name);
    Error::new(ErrorKind::SnapshotTooOld, text)
}
