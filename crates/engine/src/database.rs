//! What is an open database?
//!
//! [`Database`] and [`Table`] are cheap handles on one [`Shared`] state, which wires the parts
//! together: commit queue, catalog, storage, background tasks. The last `Database` handle stops the
//! background when it goes; [`Database::close`] does the same, flushes first and reports failures.
//!
//! Thread safety: handles may be cloned and used from any number of threads.

use std::path::Path;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use onlap_base::clock::Clock;
use onlap_base::memory::{Part, PartReport};
use onlap_base::tasks::Tasks;
use onlap_base::{Csn, Error, ErrorKind, Result};
use onlap_format::manifest::Edit;
use onlap_format::{Batch, Expr, Row, TableSchema, Value};
use onlap_storage::StorageContext;
use onlap_storage::pace::Pace;
use onlap_storage::version::{Changed, TableVersion, Versions};

use crate::activity;
use crate::background::Background;
use crate::catalog::Catalog;
use crate::commit::Commits;
use crate::debts::SnapshotDebt;
use crate::derive::{Calculator, Formulas};
use crate::history::Timeline;
use crate::index_build::{BuildControl, Builds};
use crate::ledger::Ledger;
use crate::locks::Locks;
use crate::log::{LogSync, LogWriter};
use crate::margin::{self, Margin};
use crate::options::{Options, Rule};
use crate::pace::Pacer;
use crate::pressure::Pressure;
use crate::quiet::Quiet;
use crate::read::Snapshot;
use crate::rules::{self, References};
use crate::samples::Samples;
use crate::schema_change::{ChangeLock, WhichTable};
use crate::sequences::{self, Sequence, Sequences};
use crate::snapshots::Snapshots;
use crate::spec::{ForeignKeySpec, IndexSpec, SequenceSpec, TableChanges, TableSpec};
use crate::stats::TransactionStats;
use crate::table::{Highs, TableState};
use crate::transaction::{Transaction, TransactionCounters, TransactionOptions};
use crate::{flush, recovery, schema_change};

/// What histories may keep, in what open snapshots may: a history was asked for by name.
const HISTORY_FACTOR: u64 = 16;

/// Everything that the parts of an open database share.
pub(crate) struct Shared {
    pub options: Options,
    pub storage: Arc<StorageContext>,
    pub clock: Arc<dyn Clock>,
    pub tasks: Arc<dyn Tasks>,
    pub versions: Arc<Versions>,
    pub catalog: Catalog,
    pub snapshots: Snapshots,
    pub timeline: Timeline,
    pub snapshot_debt: SnapshotDebt,
    /// Bytes above which the oldest snapshot is revoked.
    pub snapshot_debt_limit: u64,
    pub history_debt_limit: u64,
    /// How often a part of a history was given up for its limit.
    pub histories_shortened: AtomicU64,
    pub sequences: Sequences,
    pub references: References,
    pub locks: Locks,
    pub transactions: TransactionCounters,
    /// Set when recovery has found the end of the log.
    commits: OnceLock<Commits>,
    log_sync: OnceLock<Arc<LogSync>>,
    pub pressure: Pressure,
    pub pace: Arc<Pacer>,
    pub margin: Margin,
    pub background: Background,
    /// A memtable is frozen at this many bytes.
    pub memtable_bytes: usize,
    /// Held while ids of tables, indexes and sequences are given.
    pub schema_lock: ChangeLock,
    pub quiet: Quiet,
    pub calculator: Calculator,
    pub counters: crate::read::ReadTotals,
    pub ledger: Arc<Ledger>,
    pub samples: Samples,
    /// Whether the close keeps what was counted of tables: not where the database was opened to be looked at.
    pub counts_activity: AtomicBool,
    pub builds: Builds,
    closed: AtomicBool,
    poisoned: OnceLock<Error>,
    /// Keeps other processes out until the last handle goes.
    _lock: Box<dyn Send + Sync>,
}

impl Shared {
    /// The state before recovery has read the log; nothing can commit yet.
    pub(crate) fn new(
        options: Options,
        storage: Arc<StorageContext>,
        versions: Arc<Versions>,
        lock: Box<dyn Send + Sync>,
        csn: Csn,
    ) -> Shared {
        let memory = &storage.memory;
        // One that fills, one in the flush, and a little for flushes that take longer.
        let memtable_bytes = (memory.limit(Part::Memtables) / 20 * 9) as usize;
        // What merges may owe before writers are paced: they get what flushes leave of the machine,
        // and a load of some tens of millions of rows should be over before its debt is due.
        let merge_debt_limit = (memory.total_limit() * 4).clamp(1 << 30, 16 << 30);
        let samples = options.tuning.memtable_bytes.is_none();
        let (clock, tasks) = (Arc::clone(&options.clock), Arc::clone(&options.tasks));
        let pace = Pacer::new(clock, tasks, samples, options.background_jobs);
        if options.tuning.without != Some(Rule::BackPressure) {
            storage.set_pace(Arc::clone(&pace) as Arc<dyn Pace>);
        }
        let snapshot_debt_limit = options.snapshot_debt_limit.unwrap_or(merge_debt_limit);
        Shared {
            clock: Arc::clone(&options.clock),
            tasks: Arc::clone(&options.tasks),
            versions,
            catalog: Catalog::default(),
            sequences: Sequences::default(),
            references: References::default(),
            snapshots: Snapshots::new(csn),
            timeline: Timeline::default(),
            snapshot_debt: SnapshotDebt::default(),
            snapshot_debt_limit,
            history_debt_limit: options
                .history_debt_limit
                .unwrap_or(snapshot_debt_limit.saturating_mul(HISTORY_FACTOR)),
            histories_shortened: AtomicU64::new(0),
            locks: Locks::new(),
            transactions: TransactionCounters::default(),
            log_sync: OnceLock::new(),
            commits: OnceLock::new(),
            pressure: Pressure::new(options.tuning.merge_debt_bytes.unwrap_or(merge_debt_limit)),
            pace,
            margin: Margin::default(),
            background: Background::new(&*options.tasks),
            memtable_bytes: options.tuning.memtable_bytes.unwrap_or(memtable_bytes),
            schema_lock: ChangeLock::new(&*options.tasks),
            quiet: Quiet::default(),
            calculator: Calculator::default(),
            counters: crate::read::ReadTotals::default(),
            ledger: Arc::new(Ledger::new(&options.clock)),
            samples: Samples::default(),
            counts_activity: AtomicBool::new(false),
            builds: Builds::default(),
            closed: AtomicBool::new(false),
            poisoned: OnceLock::new(),
            _lock: lock,
            options,
            storage,
        }
    }

    /// Lets commits begin.
    pub(crate) fn start_commits(&self, next_csn: Csn, log: LogWriter) {
        let sync = log.sync_handle();
        self.pace.follow(&sync);
        let _ = self.log_sync.set(sync);
        let commits = Commits::new(&*self.tasks, Arc::clone(&self.clock), next_csn, log);
        assert!(self.commits.set(commits).is_ok(), "commits begin once");
    }

    /// The commit queue.
    pub(crate) fn commits(&self) -> &Commits {
        self.commits.get().expect("recovery ends before anything else begins")
    }

    /// Whether recovery has ended.
    pub(crate) fn has_commits(&self) -> bool {
        self.commits.get().is_some()
    }

    /// Syncs the log; for mode `interval`.
    pub(crate) fn sync_log(&self) -> Result<()> {
        self.log_sync.get().map_or(Ok(()), |sync| sync.sync())
    }

    /// A table whose rows are all in files.
    pub(crate) fn new_table(
        &self,
        version: Arc<TableVersion>,
        csn: Csn,
        serial: i64,
        highs: Highs,
    ) -> Arc<TableState> {
        let tuning = self.options.tuning.memtable;
        TableState::new(&self.storage, tuning, version, csn, serial, highs)
    }

    /// Refuses work on a closed handle.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Closed, "the database was closed"));
        }
        Ok(())
    }

    /// Refuses writes on a closed or poisoned handle.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        self.write_error().map_or(Ok(()), Err)
    }

    /// Why the database takes no more writes, where it does not.
    pub(crate) fn write_error(&self) -> Option<Error> {
        self.poisoned.get().cloned()
    }

    /// Ends all writing until the database is reopened (I6), and returns the error that says so.
    pub(crate) fn poison(&self, doing: &str, cause: Error) -> Error {
        let text = format!(
            "{doing} failed ({cause}): the database takes no more writes; close it and open it \
             again, what was acknowledged is kept"
        );
        self.poisoned.get_or_init(|| Error::new(ErrorKind::ReadOnly, text)).clone()
    }

    pub(crate) fn transaction_stats(&self) -> TransactionStats {
        let (lock_waits, deadlocks) = self.locks.counts();
        let (failed_reads, coarse_failed_reads) = self.transactions.failed_reads();
        TransactionStats { lock_waits, deadlocks, failed_reads, coarse_failed_reads }
    }

    /// Whether a rule holds: all do but one that a test switches off.
    pub(crate) fn obeys(&self, rule: Rule) -> bool {
        self.options.tuning.without != Some(rule)
    }

    /// Makes a change of the set of files durable. "Disk full" and a conflict leave everything as it
    /// was; after any other failure nothing is known about the manifest's last record (I6).
    pub(crate) fn commit_edits<T>(
        &self,
        edits: &[Edit],
        publish: impl FnOnce(&[Changed]) -> T,
    ) -> Result<T> {
        if let Some(e) = self.write_error() {
            return Err(e);
        }
        let mut floors = self.history_floors(edits);
        if !floors.is_empty() {
            floors.splice(0..0, edits.iter().cloned());
        }
        let edits = if floors.is_empty() { edits } else { &floors };
        let done = self.versions.commit(edits, publish).map_err(|e| match e.kind() {
            ErrorKind::Conflict | ErrorKind::DiskFull => e,
            _ => self.poison("writing the manifest", e),
        })?;
        self.ledger.follow(edits);
        self.storage.asked.follow(edits);
        Ok(done)
    }

    pub(crate) fn has_frozen(&self) -> bool {
        self.catalog.all().iter().any(|t| !t.view().frozen.is_empty())
    }

    pub(crate) fn wants_log_spare(&self) -> bool {
        !self.margin.is_lent()
            && self.commits().if_free(|leader| leader.log.wants_spare()).unwrap_or(false)
    }

    pub(crate) fn prepare_log_spare(&self) -> Result<()> {
        let path = LogWriter::prepare_spare(&self.storage, self.options.tuning.log_file_bytes)?;
        self.commits().exclusively(|leader| leader.log.add_spare(path));
        Ok(())
    }
}

/// An open database: a handle to clone and share.
///
/// ```
/// use onlap::{Database, DataType, IndexSpec, KeyRange, Options, Scan, TableSpec, Value};
/// let dir = tempfile::tempdir().unwrap();
/// let db = Database::open(dir.path(), Options::default())?;
/// let cities = db.create_table(
///     TableSpec::new("cities")
///         .serial("id")
///         .column("name", DataType::Text)
///         .column("people", DataType::Int4)
///         .primary_key(["id"])
///         .index(IndexSpec::new("by_people", ["people"]).include(["name"])),
/// )?;
/// for (name, people) in [("Ulm", 126_000), ("Bath", 94_000), ("Cork", 224_000)] {
///     cities.insert(&[Value::Null, Value::Text(name.into()), Value::Int(people)])?;
/// }
/// let large = db.snapshot()?.index_scan(
///     &cities,
///     "by_people",
///     KeyRange::from([Value::Int(100_000)]),
///     Scan::all().columns(["name"]),
/// )?;
/// let names: Vec<_> = large.rows()?.into_iter().flatten().collect();
/// assert_eq!(names, [Value::Text("Ulm".into()), Value::Text("Cork".into())]);
/// db.close()?;
/// # Ok::<(), onlap::Error>(())
/// ```
#[derive(Clone)]
pub struct Database {
    shared: Arc<Shared>,
    _owner: Arc<Owner>,
}

/// Stops the background when the last handle goes. Without it nobody would make room for writers, so
/// tables and transactions that are still held are closed with it.
struct Owner(Arc<Shared>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.closed.store(true, Ordering::Release);
        self.0.background.stop();
    }
}

impl Database {
    /// Opens the database in a directory, and creates it where there is none.
    ///
    /// # Errors
    /// [`ErrorKind::Locked`] when another process has it open (the text names its pid);
    /// [`ErrorKind::NotFound`] when there is none and creating is off; [`ErrorKind::Corruption`]
    /// with file and offset; [`ErrorKind::NewerFormat`].
    pub fn open(dir: impl AsRef<Path>, options: Options) -> Result<Database> {
        let jobs = options.background_jobs;
        let shared = Arc::new(recovery::open(dir.as_ref(), options)?);
        activity::take_up(&shared);
        Background::start(&shared, jobs);
        schema_change::forget_derived(&shared)?;
        Ok(Database::of(shared))
    }

    /// The same, without merges: what is in the files is to be looked at, and a merge might take it away before.
    pub(crate) fn open_still(dir: &Path, options: Options) -> Result<Database> {
        let shared = Arc::new(recovery::open(dir, options)?);
        Background::start_still(&shared);
        Ok(Database::of(shared))
    }

    fn of(shared: Arc<Shared>) -> Database {
        shared.background.wake();
        Database { _owner: Arc::new(Owner(Arc::clone(&shared))), shared }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Says who calculates for indexes on expressions and partial indexes. Before, rows of tables that have
    /// such indexes can be read and deleted, but not inserted or changed.
    pub fn set_formulas(&self, formulas: Arc<dyn Formulas>) {
        self.shared.calculator.set(formulas);
    }

    /// Creates a table with its indexes.
    ///
    /// # Errors
    /// A name that is taken, unknown or empty; a limit; a type without order in a key.
    pub fn create_table(&self, spec: TableSpec) -> Result<Table> {
        self.shared.check_writable()?;
        let state = schema_change::create_table(&self.shared, &spec)?;
        Ok(self.handle(state))
    }

    /// Drops a table with its indexes; snapshots that are open go on reading it through handles they
    /// have.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        self.shared.check_writable()?;
        schema_change::drop_table(&self.shared, name)
    }

    /// Creates an index on a table and fills it from the rows that are there. Writers go on.
    ///
    /// # Errors
    /// As [`Database::build_indexes`].
    pub fn create_index<'a>(
        &self,
        table: impl Into<WhichTable<'a>>,
        spec: IndexSpec,
    ) -> Result<()> {
        self.create_indexes(table, [spec])
    }

    /// Creates several indexes on a table, which are filled in one scan of it. Writers go on.
    ///
    /// # Errors
    /// As [`Database::build_indexes`].
    pub fn create_indexes<'a>(
        &self,
        table: impl Into<WhichTable<'a>>,
        specs: impl IntoIterator<Item = IndexSpec>,
    ) -> Result<()> {
        let specs: Vec<IndexSpec> = specs.into_iter().collect();
        self.build_indexes(table, &specs, &BuildControl::new())
    }

    /// Creates several indexes on a table in one scan of it, watched and ended through `control`. All
    /// of them appear at once when all are filled; a transaction that began before may commit after.
    ///
    /// # Errors
    /// As for [`Database::create_table`]; [`ErrorKind::DuplicateKey`] when a unique index finds two
    /// rows with equal keys, which writers may insert until the index is there;
    /// [`ErrorKind::Cancelled`]. Nothing changes then.
    pub fn build_indexes<'a>(
        &self,
        table: impl Into<WhichTable<'a>>,
        specs: &[IndexSpec],
        control: &BuildControl,
    ) -> Result<()> {
        self.shared.check_writable()?;
        schema_change::build_indexes(&self.shared, table.into(), specs, control)
    }

    /// Drops an index. A primary key cannot be dropped.
    pub fn drop_index<'a>(&self, table: impl Into<WhichTable<'a>>, index: &str) -> Result<()> {
        self.shared.check_writable()?;
        schema_change::drop_index(&self.shared, table.into(), index)
    }

    /// Adds a condition on each row to a table. Writers wait only while the last few rows are judged.
    ///
    /// # Errors
    /// [`ErrorKind::CheckViolation`] when a row breaks it, in which case nothing changes; an unknown
    /// column, types that do not go together, a name that is taken.
    pub fn add_check(&self, table: &str, name: &str, condition: &Expr<String>) -> Result<()> {
        self.shared.check_writable()?;
        rules::alter::add_check(&self.shared, table, name, condition)
    }

    /// Adds a foreign key to a table. Writers wait only while the last few rows are judged;
    /// transactions that have brought rows to the child and not committed get
    /// [`ErrorKind::Conflict`].
    ///
    /// # Errors
    /// [`ErrorKind::ForeignKeyViolation`] when a row has no parent, in which case nothing changes;
    /// a parent without a unique index over the columns, types that do not fit.
    pub fn add_foreign_key(&self, table: &str, key: &ForeignKeySpec) -> Result<()> {
        self.shared.check_writable()?;
        rules::alter::add_foreign_key(&self.shared, table, key)
    }

    /// Drops a check or a foreign key.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownConstraint`].
    pub fn drop_constraint(&self, table: &str, name: &str) -> Result<()> {
        self.shared.check_writable()?;
        rules::alter::drop_constraint(&self.shared, table, name)
    }

    /// Creates a sequence.
    ///
    /// # Errors
    /// A name that is taken or empty; an increment of 0, a start outside the range; a limit.
    pub fn create_sequence(&self, spec: SequenceSpec) -> Result<Sequence> {
        self.shared.check_writable()?;
        let state = sequences::create(&self.shared, &spec)?;
        Ok(Sequence::new(&self.shared, state))
    }

    /// Gives a sequence another increment, range, cycle or cache; what comes next follows the
    /// last value. A start other than that is for [`Sequence::set_value`].
    ///
    /// # Errors
    /// [`ErrorKind::UnknownSequence`]; [`ErrorKind::OutOfRange`] when the last value is outside the new
    /// range; as [`Database::create_sequence`].
    pub fn change_sequence(&self, spec: SequenceSpec) -> Result<()> {
        self.shared.check_writable()?;
        sequences::change(&self.shared, &spec)
    }

    /// Drops a sequence.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownSequence`]; [`ErrorKind::InUse`] while a column takes its default from it.
    pub fn drop_sequence(&self, name: &str) -> Result<()> {
        self.shared.check_writable()?;
        sequences::drop_sequence(&self.shared, name)
    }

    /// The sequence of a name.
    pub fn sequence(&self, name: &str) -> Result<Sequence> {
        self.shared.check_open()?;
        let state = self.shared.sequences.by_name(name);
        let state = state.ok_or_else(|| sequences::unknown_sequence(name))?;
        Ok(Sequence::new(&self.shared, state))
    }

    /// All sequences, by name.
    pub fn sequences(&self) -> Vec<Sequence> {
        let all = self.shared.sequences.all().into_iter();
        let mut all: Vec<_> = all.map(|state| Sequence::new(&self.shared, state)).collect();
        all.sort_by(|a, b| a.name().cmp(b.name()));
        all
    }

    /// Changes columns, names and rules of a table, all of it or nothing. Transactions that began
    /// before may commit after: their rows get the values that rows from before have in new columns.
    ///
    /// # Errors
    /// Unknown or taken names; [`ErrorKind::InUse`] for a column that something else has;
    /// [`ErrorKind::NotNull`] and errors of single values when rows do not fit the change.
    pub fn alter_table<'a>(
        &self,
        table: impl Into<WhichTable<'a>>,
        changes: &TableChanges,
    ) -> Result<()> {
        self.shared.check_writable()?;
        schema_change::alter_table(&self.shared, table.into(), changes)
    }

    /// Takes all rows of a table away at once. Snapshots from before go on reading them; counters go
    /// on.
    ///
    /// # Errors
    /// [`ErrorKind::InUse`] when another table refers to it.
    pub fn truncate_table<'a>(&self, table: impl Into<WhichTable<'a>>) -> Result<()> {
        self.shared.check_writable()?;
        schema_change::truncate_table(&self.shared, table.into())
    }

    /// The table of a name.
    pub fn table(&self, name: &str) -> Result<Table> {
        self.shared.check_open()?;
        let state = self.shared.catalog.by_name(name);
        state.map(|s| self.handle(s)).ok_or_else(|| unknown_table(name))
    }

    /// All tables, by name.
    pub fn tables(&self) -> Vec<Table> {
        self.shared.catalog.named().into_iter().map(|(_, s)| self.handle(s)).collect()
    }

    /// Begins a transaction at REPEATABLE READ.
    pub fn begin(&self) -> Result<Transaction> {
        self.begin_with(TransactionOptions::default())
    }

    /// Begins a transaction.
    pub fn begin_with(&self, options: TransactionOptions) -> Result<Transaction> {
        self.shared.check_open()?;
        Ok(Transaction::new(&self.shared, options))
    }

    /// A snapshot of everything committed.
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.shared.check_open()?;
        Ok(Snapshot::new(&self.shared))
    }

    /// The memory budget: limits and use of its parts; the limits add up to `memory_limit`.
    pub fn memory(&self) -> Vec<PartReport> {
        self.shared.storage.memory.report()
    }

    /// Writes all rows in memory to segments and runs, so that the log can be cut.
    pub fn flush(&self) -> Result<()> {
        self.shared.check_writable()?;
        flush::flush_all(&self.shared)
    }

    /// Flushes, then waits until no merge or compaction is left to do.
    pub fn settle(&self) -> Result<()> {
        crate::blind::settle(&self.shared)?;
        self.flush()?;
        crate::compaction::settle(&self.shared)
    }

    /// Waits for running work, flushes, and releases the directory once all handles are gone. Every
    /// later call on any handle fails with [`ErrorKind::Closed`].
    ///
    /// # Errors
    /// A flush that failed; what was acknowledged is in the log all the same.
    pub fn close(self) -> Result<()> {
        self.shared.check_open()?;
        let flushed = match self.shared.check_writable() {
            Ok(()) => flush::flush_all(&self.shared).and(sequences::close(&self.shared)),
            Err(_) => Ok(()),
        };
        self.shared.closed.store(true, Ordering::Release);
        self.shared.background.stop();
        let sealed = self.shared.commits().exclusively(|leader| {
            if self.shared.poisoned.get().is_some() {
                return Ok(());
            }
            margin::give_up(&self.shared, &mut leader.log);
            leader.log.seal(self.shared.clock.unix_us())
        });
        if self.shared.write_error().is_none() {
            // Without them counting begins anew, which is no reason to fail.
            let _ = activity::keep(&self.shared);
        }
        flushed.and(sealed)
    }

    fn handle(&self, state: Arc<TableState>) -> Table {
        Table::new(state, &self.shared)
    }
}

pub(crate) fn unknown_table(name: &str) -> Error {
    Error::new(ErrorKind::UnknownTable, format!("there is no table named {name}"))
}

/// A table: a handle to clone and share.
#[derive(Clone)]
pub struct Table {
    pub(crate) state: Arc<TableState>,
    pub(crate) shared: Arc<Shared>,
    /// As the transaction sees it that the handle is of, where that has changed it.
    pub(crate) private: Option<Arc<TableSchema>>,
    /// The version of the schema that others see, when a transaction gave the handle.
    pub(crate) seen: Option<u32>,
}

impl Table {
    pub(crate) fn new(state: Arc<TableState>, shared: &Arc<Shared>) -> Table {
        Table { state, shared: Arc::clone(shared), private: None, seen: None }
    }

    /// The table's name.
    pub fn name(&self) -> String {
        self.own_schema().name.clone()
    }

    fn own_schema(&self) -> Arc<TableSchema> {
        self.private.clone().unwrap_or_else(|| self.state.schema())
    }

    /// About how many rows there are: without a look at memory's deletes, for plans.
    pub fn approximate_rows(&self) -> u64 {
        let view = self.state.view();
        let version = &view.version;
        let stored: u64 = version.segments.iter().map(|s| s.meta.count).sum();
        let unflushed = view.active.end_row().saturating_sub(version.flushed_rows);
        (stored + unflushed).saturating_sub(version.known_dead_rows())
    }
    /// Columns and indexes.
    pub fn schema(&self) -> Arc<TableSchema> {
        let schema = self.own_schema();
        if schema.indexes.iter().all(|i| i.ready) {
            return schema;
        }
        let mut ready = (*schema).clone();
        ready.indexes.retain(|i| i.ready);
        Arc::new(ready)
    }

    /// Commits one row. NULL in a serial column takes the next counter value.
    pub fn insert(&self, row: &[Value]) -> Result<Csn> {
        let mut tx = Transaction::of_statement(&self.shared);
        tx.insert(self, row)?;
        tx.commit()
    }

    /// Commits rows together.
    pub fn insert_many<R: AsRef<[Value]>>(&self, rows: impl IntoIterator<Item = R>) -> Result<Csn> {
        let mut tx = Transaction::of_statement(&self.shared);
        for row in rows {
            tx.insert(self, row.as_ref())?;
        }
        tx.commit()
    }

    /// Commits rows in column form.
    pub fn insert_batch(&self, batch: Batch) -> Result<Csn> {
        let mut tx = Transaction::of_statement(&self.shared);
        tx.insert_batch(self, batch)?;
        tx.commit()
    }

    /// Deletes a row by primary key and commits; false when there is none. Waits for transactions
    /// that have the row locked.
    pub fn delete(&self, key: &[Value]) -> Result<bool> {
        self.at_once(|tx| tx.delete(self, key))
    }

    /// Changes columns of a row by primary key and commits; false when there is none. Waits for
    /// transactions that have the row locked.
    pub fn update(&self, key: &[Value], changes: &[(&str, Value)]) -> Result<bool> {
        self.at_once(|tx| tx.update(self, key, changes))
    }

    /// Changes a row by primary key as `set` does, which gets its newest version and sets no other
    /// columns than those named, and commits; false when there is none. `set` may be called again.
    pub fn update_with(
        &self,
        key: &[Value],
        columns: &[&str],
        mut set: impl FnMut(&mut Row) -> Result<()>,
    ) -> Result<bool> {
        self.at_once(|tx| tx.update_with(self, key, columns, &mut set))
    }

    /// Commits one statement. It runs again where it met a schema change, or a deadlock: nothing was
    /// done before it that could not be done again.
    fn at_once(&self, mut f: impl FnMut(&mut Transaction) -> Result<bool>) -> Result<bool> {
        loop {
            let mut tx = Transaction::of_statement(&self.shared);
            let result = f(&mut tx).and_then(|found| tx.commit().map(|_| found));
            match result {
                Err(e) if matches!(e.kind(), ErrorKind::Conflict | ErrorKind::Deadlock) => {}
                result => return result,
            }
        }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Refuses a table of another database, or of a closed one.
    pub(crate) fn check_same(&self, shared: &Arc<Shared>) -> Result<()> {
        if !Arc::ptr_eq(&self.shared, shared) {
            let text = format!("table {} belongs to another database handle", self.name());
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        self.shared.check_open()
    }
}
