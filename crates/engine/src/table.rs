//! What is the current state of one table?
//!
//! [`TableState`] holds what changes with every commit; [`TableView`] is the immutable set of files
//! and memtables that a reader pins in one step. A view is replaced, never changed: rows and marks
//! that it gains later lie above every snapshot that could have loaded it, so that a reader may load
//! the view after it has registered its snapshot (I4, I5).
//!
//! Thread safety: views are loaded without a lock. They are replaced under `change`, which the
//! commit leader (freeze), flushes, merges and schema changes take for a moment each. Whoever holds
//! the commit lock may take `change`; never the other way round.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use onlap_base::memory::Part;
use onlap_base::{Csn, Error, ErrorKind, IndexId, Result, RowId, TableId};
use onlap_format::key::{KeyColumn, KeyDef};
use onlap_format::manifest::Edit;
use onlap_format::{Batch, IndexSchema, TableSchema, Vector};
use onlap_storage::StorageContext;
use onlap_storage::version::{InOrder, TableVersion};
use parking_lot::Mutex;

use crate::activity::Activity;
use crate::blind::Pending;
use crate::budgets::Owed;
use crate::changes::FixedColumns;
use crate::compaction::NothingDue;
use crate::database::Shared;
use crate::index_build::Building;
use crate::locks::LockSpace;
use crate::rules::Checks;
use crate::schema_change::ChangeLock;
use crate::schema_change::truncate::Past;
use crate::snapshots::RowCounts;
use onlap_memtable::{self as memtable, Mark, Memtable};

/// A memtable that gets no more rows.
#[derive(Clone, Debug)]
pub(crate) struct Frozen {
    pub memtable: Arc<Memtable>,
    /// The first and the last commit in it.
    pub csns: (Csn, Csn),
    /// Its bytes when it was frozen.
    pub bytes: u64,
    /// Rows below were resolved when it was frozen: see [`crate::blind`].
    pub resolved: RowId,
}

/// Everything a reader needs of a table, pinned together.
#[derive(Clone, Debug)]
pub(crate) struct TableView {
    pub schema: Arc<TableSchema>,
    /// The schema of new memtables: that of the table, and the indexes that are being built.
    pub landing: Arc<TableSchema>,
    /// Files: all rows below `version.flushed_rows`.
    pub version: Arc<TableVersion>,
    /// Memtables that are being written to files, oldest first.
    pub frozen: Vec<Frozen>,
    /// Where commits append.
    pub active: Arc<Memtable>,
    /// What the table was before it was truncated.
    pub past: Option<Arc<Past>>,
    /// Where reads of the whole table are counted: the table's.
    pub activity: Arc<Activity>,
}

impl TableView {
    /// What a reader relies on: files, frozen memtables and the active one follow each other in row-id order, and a
    /// row is in one of them.
    fn assert_order(&self) {
        let mut end = self.version.flushed_rows;
        let mut csn = self.version.flushed_csn;
        for frozen in &self.frozen {
            assert!(frozen.memtable.first_row() >= end, "memtables follow the files");
            assert!(frozen.csns.0 <= frozen.csns.1 && csn <= frozen.csns.1, "commits rise");
            (end, csn) = (frozen.memtable.end_row(), frozen.csns.1);
        }
        assert!(self.active.first_row() >= end, "the active memtable comes last");
    }

    /// Memtables from the newest to the oldest.
    pub(crate) fn memtables_newest_first(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(self.frozen.iter().rev().map(|f| &f.memtable))
    }

    /// The newest row version that carries a key of a unique index, among rows below `below`; a deleted
    /// one too, unless it says nothing ([`TableView::says_nothing`]). Adds to `probes` how many filters
    /// were asked.
    pub(crate) fn newest_with_key(
        &self,
        index: IndexId,
        key: &[u8],
        below: RowId,
        probes: &mut u64,
    ) -> Result<Option<RowId>> {
        let Some(since) = self.schema.index(index).map(|i| i.since) else {
            // It was dropped.
            return Ok(None);
        };
        let mut newest = self.carrier(index, key, 0..below, probes)?;
        while let Some(row) = newest.filter(|_| since > 0) {
            if !self.says_nothing(since, row)? {
                break;
            }
            newest = self.carrier(index, key, 0..row, probes)?;
        }
        Ok(newest)
    }

    /// Whether a row died before a unique index was built at commit `since`: several rows had its key
    /// then, perhaps, and another of them lives.
    pub(crate) fn says_nothing(&self, since: Csn, row: RowId) -> Result<bool> {
        Ok(self.mark_of(row)?.is_some_and(|(csn, _)| csn <= since))
    }

    /// [`TableView::newest_with_key`] for one of many keys that are looked up in their order; `kept` goes
    /// from one to the next.
    pub(crate) fn newest_in_order(
        &self,
        index: &IndexSchema,
        key: &[u8],
        below: RowId,
        kept: &mut InOrder,
    ) -> Result<Option<RowId>> {
        match index.since {
            0 => self.carrier_in_order(index.id, key, 0..below, kept, &mut 0),
            _ => self.newest_with_key(index.id, key, below, &mut 0),
        }
    }

    /// The newest row version of a range of ids with a key.
    pub(crate) fn carrier(
        &self,
        index: IndexId,
        key: &[u8],
        rows: Range<RowId>,
        probes: &mut u64,
    ) -> Result<Option<RowId>> {
        self.carrier_in_order(index, key, rows, &mut InOrder::default(), probes)
    }

    fn carrier_in_order(
        &self,
        index: IndexId,
        key: &[u8],
        rows: Range<RowId>,
        kept: &mut InOrder,
        probes: &mut u64,
    ) -> Result<Option<RowId>> {
        // A memtable of newer rows alone would be walked along all versions of the key.
        for memtable in self.memtables_newest_first().filter(|m| m.first_row() < rows.end) {
            if let Some(row) = memtable.newest_with_key(index, key, rows.end) {
                return Ok(Some(row).filter(|row| rows.contains(row)));
            }
            if memtable.first_row() <= rows.start {
                return Ok(None);
            }
        }
        self.version.newest_in_order(index, key, rows, kept, probes)
    }

    /// The CSN at which a row was deleted, and the row that replaced it.
    pub(crate) fn mark_of(&self, row: RowId) -> Result<Option<(Csn, Option<RowId>)>> {
        for memtable in self.memtables_newest_first() {
            if let Some(mark) = memtable.mark_of(row) {
                return Ok(Some(mark));
            }
        }
        self.version.mark_of(row)
    }

    /// Clears `keep[i]` where row `rows[i]` (ascending) is deleted at `csn`.
    pub(crate) fn drop_dead(&self, rows: &[RowId], csn: Csn, keep: &mut [bool]) -> Result<()> {
        for memtable in self.memtables_newest_first() {
            memtable.drop_dead(rows, csn, keep);
        }
        self.version.drop_dead(rows, csn, keep)
    }
}

/// What the commit leader knows of a table; touched under the commit lock only.
#[derive(Debug)]
pub(crate) struct TableWriter {
    /// Next row id.
    pub next_row: RowId,
    /// The first commit in the active memtable.
    pub active_since: Option<Csn>,
    /// The last commit that changed the table.
    pub last_csn: Csn,
    /// Per unique index the largest key bytes ever committed: a key above needs no lookup.
    pub highs: Highs,
}

/// Largest known keys of unique indexes.
pub(crate) type Highs = Vec<(IndexId, Option<Vec<u8>>)>;

/// One table of an open database.
#[derive(Debug)]
pub(crate) struct TableState {
    pub id: TableId,
    view: ArcSwap<TableView>,
    /// Serialises replacements of `view`.
    change: Mutex<()>,
    pub counts: RowCounts,
    pub writer: Mutex<TableWriter>,
    /// Rows and keys that open transactions have locked.
    pub locks: LockSpace,
    /// Rows that were written blindly and have not met the rows before them.
    pub pending: Pending,
    /// Next value of the serial column.
    serial: AtomicI64,
    /// A value below the counter was inserted by hand, so counter values are checked for duplicates
    /// like any other.
    pub serial_mixed: AtomicBool,
    /// What died at or below this CSN may be gone.
    pub history_floor: AtomicU64,
    /// Of the table's history, what lies before this commit was given up.
    pub history_given_up: AtomicU64,
    /// The checks of the newest schema, when somebody asked for them.
    checks: Mutex<Option<Arc<Checks>>>,
    /// Set by DROP TABLE; writes that come later are refused.
    pub dropped: AtomicBool,
    /// Created by a transaction that has not committed: it belongs to that alone.
    pub unborn: AtomicBool,
    /// Ids of columns below were given by transactions, which may have rolled back.
    pub columns_taken: AtomicU32,
    /// Share of what it may owe in files.
    pub owed: Owed,
    /// Columns that are not changed in place for now.
    pub fixed: FixedColumns,
    /// What was done to it.
    pub activity: Arc<Activity>,
    /// What its merges owe, in bytes.
    pub merge_debt: AtomicU64,
    /// When no merge or compaction was due.
    pub nothing_due: Mutex<Option<NothingDue>>,
    /// Held while its schema changes.
    pub changing: ChangeLock,
    /// Indexes under construction. Who installs flushed files or changes the schema holds it from the
    /// look at the schema to the new view.
    pub building: Mutex<Building>,
    storage: Arc<StorageContext>,
    /// Bytes of its memtables counted against the budget.
    charged: Mutex<u64>,
    tuning: memtable::Tuning,
}

impl Drop for TableState {
    fn drop(&mut self) {
        self.storage.memory.sub(Part::Memtables, *self.charged.get_mut());
    }
}

impl TableState {
    /// A table whose rows are all in files; nobody sees it at a commit before `csn`.
    pub(crate) fn new(
        storage: &Arc<StorageContext>,
        tuning: memtable::Tuning,
        version: Arc<TableVersion>,
        csn: Csn,
        serial: i64,
        highs: Highs,
    ) -> Arc<TableState> {
        let schema = Arc::clone(&version.schema);
        let rows = version.flushed_rows;
        let active = Arc::new(Memtable::new(Arc::clone(&schema), rows, tuning));
        let id = schema.id;
        let pending = Pending::default();
        if schema.blind {
            pending.push(version.resolved..rows);
        }
        let landing = Arc::clone(&schema);
        let activity = Arc::<Activity>::default();
        let view = TableView {
            schema,
            landing,
            version,
            frozen: Vec::new(),
            active,
            past: None,
            activity: Arc::clone(&activity),
        };
        Arc::new(TableState {
            id,
            view: ArcSwap::from_pointee(view),
            change: Mutex::default(),
            counts: RowCounts::new(csn, rows),
            writer: Mutex::new(TableWriter {
                next_row: rows,
                active_since: None,
                last_csn: csn,
                highs,
            }),
            locks: LockSpace::default(),
            pending,
            serial: AtomicI64::new(serial),
            serial_mixed: AtomicBool::new(false),
            history_floor: AtomicU64::new(csn),
            history_given_up: AtomicU64::new(0),
            checks: Mutex::default(),
            dropped: AtomicBool::new(false),
            unborn: AtomicBool::new(false),
            columns_taken: AtomicU32::new(0),
            owed: Owed::default(),
            fixed: FixedColumns::default(),
            activity,
            merge_debt: AtomicU64::new(0),
            nothing_due: Mutex::new(None),
            changing: ChangeLock::new(&*storage.tasks),
            building: Mutex::default(),
            storage: Arc::clone(storage),
            charged: Mutex::new(0),
            tuning,
        })
    }

    /// Marks rows that blind ones replaced, in row order, and calls `then` before the active memtable can be another
    /// one. `csn` is the last published commit.
    pub(crate) fn mark_replaced(&self, marks: Vec<Mark>, csn: Csn, then: impl FnOnce()) {
        let some = !marks.is_empty();
        let serial = self.change.lock();
        self.view.load().active.mark_sorted(marks);
        then();
        drop(serial);
        if some {
            // A memtable of such marks alone is worth a flush too.
            self.writer.lock().active_since.get_or_insert(csn);
            self.count_memory();
        }
    }

    /// The memtable that takes the place of an active one whose rows are all in files. Marks that
    /// readers put there meanwhile move on; the caller holds `change`.
    pub(crate) fn successor_of(
        &self,
        old: &Memtable,
        schema: &Arc<TableSchema>,
        first_row: RowId,
    ) -> Arc<Memtable> {
        let new = self.new_memtable(schema, first_row);
        new.mark_all(old.mark_list().iter());
        new
    }

    /// An empty memtable for rows from `first_row` on.
    pub(crate) fn new_memtable(
        &self,
        schema: &Arc<TableSchema>,
        first_row: RowId,
    ) -> Arc<Memtable> {
        Arc::new(Memtable::new(Arc::clone(schema), first_row, self.tuning))
    }

    /// The first commit that is not in files.
    pub(crate) fn oldest_unflushed(&self) -> Option<Csn> {
        let view = self.view.load();
        let frozen = view.frozen.first().map(|f| f.csns.0);
        frozen.or_else(|| self.writer.lock().active_since)
    }

    /// Counts the memtables' bytes of the moment against the budget, and lets the cache make way for them;
    /// returns those of the active one.
    pub(crate) fn count_memory(&self) -> usize {
        // From the look at the view to the charge, so that nobody charges what was before.
        let mut charged = self.charged.lock();
        let view = self.view.load();
        let active = view.active.heap_bytes();
        let frozen: usize = view.frozen.iter().map(|f| f.memtable.heap_bytes()).sum();
        let now = (active + frozen) as u64;
        let before = std::mem::replace(&mut *charged, now);
        let memory = &self.storage.memory;
        if now >= before {
            memory.add(Part::Memtables, now - before);
        } else {
            memory.sub(Part::Memtables, before - now);
        }
        drop(charged);
        self.storage.cache.make_way();
        active
    }

    /// Lets a writer take its share of the sorting, where background work is behind.
    pub(crate) fn help_sort(&self) {
        self.view.load().active.help();
    }

    /// The view of the moment.
    pub(crate) fn view(&self) -> Arc<TableView> {
        self.view.load_full()
    }

    /// The view of the moment for a short look, which counts no user.
    pub(crate) fn view_now(&self) -> arc_swap::Guard<Arc<TableView>> {
        self.view.load()
    }

    /// The schema of the moment.
    pub(crate) fn schema(&self) -> Arc<TableSchema> {
        Arc::clone(&self.view.load().schema)
    }

    /// Replaces the view by what `f` makes of it.
    pub(crate) fn change_view(&self, f: impl FnOnce(&TableView) -> TableView) {
        let serial = self.change.lock();
        let old = self.view.load_full();
        let new = f(&old);
        new.assert_order();
        assert!(new.version.flushed_rows >= old.version.flushed_rows, "flushed rows stay flushed");
        self.view.store(Arc::new(new));
        drop(serial);
        self.count_memory();
    }

    /// Makes a schema durable and visible, together with further edits of the table; memtables and
    /// their columns stay. The caller holds the commit lock and `building`.
    pub(crate) fn change_schema(
        &self,
        shared: &Shared,
        schema: TableSchema,
        further: Vec<Edit>,
    ) -> Result<()> {
        let schema = Arc::new(schema);
        let mut edits = vec![Edit::ChangeTable((*schema).clone())];
        edits.extend(further);
        shared.commit_edits(&edits, |changed| {
            let version = changed[0].1.clone().expect("a changed table has a version");
            self.change_view(|old| TableView {
                schema: Arc::clone(&schema),
                landing: Arc::clone(&schema),
                version,
                ..old.clone()
            });
        })
    }

    /// The checks of a schema of the table, ready to judge rows; `None` where there are none.
    pub(crate) fn checks(&self, schema: &TableSchema) -> Result<Option<Arc<Checks>>> {
        if schema.checks.is_empty() {
            return Ok(None);
        }
        let mut known = self.checks.lock();
        if let Some(checks) = known.as_ref().filter(|c| c.version == schema.version) {
            return Ok(Some(Arc::clone(checks)));
        }
        let checks = Arc::new(Checks::of(schema)?);
        *known = Some(Arc::clone(&checks));
        Ok(Some(checks))
    }

    /// Takes `n` counter values and returns the first.
    ///
    /// # Errors
    /// The counter has come to its end.
    pub(crate) fn take_serial(&self, n: i64) -> Result<i64> {
        let next = |now: i64| now.checked_add(n);
        self.serial.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).map_err(|now| {
            let text = format!(
                "the serial column of table {} has no {n} values left after {now}; give the values \
                 yourself",
                self.schema().name
            );
            Error::new(ErrorKind::OutOfRange, text)
        })
    }

    /// The next counter value.
    pub(crate) fn serial_now(&self) -> i64 {
        self.serial.load(Ordering::Relaxed)
    }

    /// Keeps the counter above every value of logged rows.
    pub(crate) fn note_serials(&self, rows: &Batch) {
        let Some(at) = self.schema().serial() else { return };
        if let Some(Vector::Int(values)) = rows.columns.get(at).map(|c| &c.data)
            && let Some(&max) = values.iter().max()
        {
            self.serial.fetch_max(max.saturating_add(1), Ordering::Relaxed);
        }
    }

    /// Notes values that a caller chose for the serial column.
    pub(crate) fn note_serial(&self, min: i64, max: i64) {
        let before = self.serial.fetch_max(max.saturating_add(1), Ordering::Relaxed);
        if min < before || max == i64::MAX {
            self.serial_mixed.store(true, Ordering::Relaxed);
        }
    }
}

/// The key definition of an index.
pub(crate) fn key_def(schema: &TableSchema, index: &onlap_format::IndexSchema) -> KeyDef {
    let columns = index.key.iter().map(|part| {
        let at = schema.position(part.column).expect("an index names columns of its table");
        KeyColumn { ty: schema.column_at(at).ty, descending: part.descending }
    });
    KeyDef::new(columns.collect())
}

/// Positions of an index's key columns, then of its INCLUDE columns, in the table.
pub(crate) fn index_positions(
    schema: &TableSchema,
    index: &onlap_format::IndexSchema,
) -> (Vec<usize>, Vec<usize>) {
    let at = |id| schema.position(id).expect("an index names columns of its table");
    (
        index.key.iter().map(|p| at(p.column)).collect(),
        index.include.iter().map(|&c| at(c)).collect(),
    )
}
