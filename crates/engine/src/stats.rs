//! What does an open database tell of itself?
//!
//! Plain numbers for people and programs: files, forms of runs, debts, bytes written, memory, and
//! the order in which keys arrive at each index. Everything comes from the manifest and from
//! counters, except for the insert pattern, which is found by looking at the newest rows.
//!
//! Thread safety: may be called at any time; the numbers are of about the same moment.

use std::sync::Arc;
use std::time::Duration;

use onlap_base::memory::PartReport;
use onlap_base::names::FileKind;
use onlap_base::pattern::{InsertPattern, Pattern};
use onlap_base::{Csn, Error, ErrorKind, IndexId, Result, RowId, TableId};
use onlap_format::{Column, IndexSchema};
use onlap_storage::asked::BlocksAsked;
use onlap_storage::written::{IndexWritten, WrittenReport};
use onlap_vfs::Access;

use crate::activity::{IndexReads, TableActivity};
use crate::blind;
use crate::budgets::TableDebts;
use crate::commit::{CommitLockStats, CommitTimes};
use crate::compaction;
use crate::database::{Database, Shared};
use crate::debts;
use crate::ledger::{IndexSpent, IndexUse, SpentReport};
use crate::pace::PaceReport;
use crate::pressure::Stall;
use crate::read::{ReadCounters, ReadView, Registration, Scan};
use crate::table::{TableState, index_positions, key_def};

mod keys;

pub use keys::{KeyEstimates, QUANTILE_PARTS};

/// A database in numbers. Sizes are in bytes.
#[derive(Clone, Debug)]
pub struct Stats {
    /// The newest visible commit.
    pub csn: Csn,
    /// Tables by name.
    pub tables: Vec<TableStats>,
    /// Bytes passed to write calls since the database was created, by purpose.
    pub written: WrittenReport,
    /// The same when it was opened.
    pub written_before: WrittenReport,
    /// Processor time of work for no index alone, and of all jobs.
    pub spent: SpentReport,
    /// Limits and use of the parts of the memory budget.
    pub memory: Vec<PartReport>,
    /// What reads did since the database was opened.
    pub reads: ReadCounters,
    /// Blocks that were asked for and not in the cache, since the database was opened.
    pub cache_misses: u64,
    /// Blocks that were asked for of tables and indexes that are gone, since the database was opened.
    pub blocks_gone: BlocksAsked,
    /// Log that is kept.
    pub log_bytes: u64,
    /// Room that is kept for deletes and drops on a full disk.
    pub margin_bytes: u64,
    /// Part of it is used up: what adds rows is refused until it is whole again.
    pub margin_lent: bool,
    /// What merges and compactions still have to read.
    pub merge_debt_bytes: u64,
    /// Debt above which writers are paced.
    pub merge_debt_limit: u64,
    /// How long writers have been paced in all, in microseconds.
    pub delayed_us: u64,
    /// What they waited for; the sum is `delayed_us`.
    pub stalls: Vec<Stall>,
    /// How long commits took since the database was opened.
    pub commits: CommitTimes,
    /// For how long the commit lock was held since the database was opened.
    pub commit_lock: CommitLockStats,
    /// How often transactions were in each other's way since the database was opened.
    pub transactions: TransactionStats,
    /// Open snapshots.
    pub snapshots: usize,
    /// Bytes kept only because snapshots are open: dead rows, estimated, and replaced files.
    pub snapshot_debt_bytes: u64,
    /// Debt above which the oldest snapshot is revoked.
    pub snapshot_debt_limit: u64,
    /// Snapshots revoked since the database was opened.
    pub snapshots_revoked: u64,
    /// Bytes of dead rows kept only because tables have a history, estimated.
    pub history_debt_bytes: u64,
    /// Most of them: the oldest part of a history is given up before there are more.
    pub history_debt_limit: u64,
    /// How often a part of a history was given up since the database was opened.
    pub histories_shortened: u64,
    /// Commits between the newest and the oldest that an open snapshot sees.
    pub snapshot_debt_commits: u64,
    /// The last failure of a background job.
    pub background_error: Option<Error>,
    /// Why the database takes no more writes until it is opened again; reads go on.
    pub write_error: Option<Error>,
    /// Why the last sample of these figures could not be kept ([`Database::keep_samples`]).
    pub samples_error: Option<Error>,
    /// Bytes of their files.
    pub samples_bytes: u64,
    /// What the device does, and what writers may.
    pub pace: PaceReport,
    /// Bytes of log kept before a flush is forced.
    pub log_limit: u64,
    /// Age at which a snapshot that does not see everything is revoked; `None`: at none.
    pub snapshot_age_limit: Option<Duration>,
    /// For how long the oldest such snapshot is known; zero where there is none.
    pub snapshot_age: Duration,
}

/// How often transactions were in each other's way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionStats {
    /// Waits for a lock.
    pub lock_waits: u64,
    /// Transactions that had to end because of a deadlock.
    pub deadlocks: u64,
    /// Commits at SERIALIZABLE that were refused because of what they had read.
    pub failed_reads: u64,
    /// Those of them that were refused without a look at single rows: of a table read whole, or
    /// flushed meanwhile. Some of these are false alarms.
    pub coarse_failed_reads: u64,
}

/// A table in numbers.
#[derive(Clone, Debug)]
pub struct TableStats {
    /// Its name.
    pub name: String,
    /// Row ids given so far; dead rows count.
    pub row_ids: RowId,
    /// Rows in memory.
    pub unflushed_rows: u64,
    /// Rows that were written blindly and have not met the rows before them, and the most of them.
    pub pending_rows: u64,
    /// Most rows that may be so.
    pub pending_rows_limit: u64,
    /// Bytes of memtables.
    pub memtable_bytes: u64,
    /// Segment files.
    pub segments: usize,
    /// Rows in them.
    pub segment_rows: u64,
    /// Blocks of rows in them.
    pub segment_blocks: u64,
    /// Their size.
    pub segment_bytes: u64,
    /// Mark runs.
    pub mark_runs: usize,
    /// Marks in them.
    pub marks: u64,
    /// Their size.
    pub mark_bytes: u64,
    /// Bytes of the block cache that blocks of segments take.
    pub segment_cached_bytes: u64,
    /// Those of mark runs.
    pub mark_cached_bytes: u64,
    /// Bytes of dead rows kept only because of the table's history, estimated.
    pub history_debt_bytes: u64,
    /// Column changes in memory.
    pub unflushed_changes: u64,
    /// Deferred work in files, and the limits that it has.
    pub debts: TableDebts,
    /// What was done to it.
    pub activity: TableActivity,
    /// Blocks of its segments and mark runs that were asked for, since counting began.
    pub blocks: BlocksAsked,
    /// Rows that are there: those that are stored, less those that are dead.
    pub live_rows: u64,
    /// Rows that are dead and still stored, estimated where files have few of them.
    pub dead_rows: u64,
    /// Indexes in creation order.
    pub indexes: Vec<IndexStats>,
    /// Its id.
    pub id: TableId,
}

/// An index in numbers.
#[derive(Clone, Debug)]
pub struct IndexStats {
    /// Its id, by which [`Stats::written`] counts.
    pub id: IndexId,
    /// Its name.
    pub name: String,
    /// Runs, newest level first.
    pub runs: Vec<RunStats>,
    /// Entries in them; those of dead rows count.
    pub entries: u64,
    /// Their size.
    pub bytes: u64,
    /// Bytes of the block cache that their blocks take; a run without entries of its own (`fences-only`) has none, its
    /// readers go to the blocks of rows.
    pub cached_bytes: u64,
    /// Bytes written for it since creation.
    pub written: IndexWritten,
    /// What was written before the database was opened.
    pub written_before: IndexWritten,
    /// What it cost since the database was opened.
    pub spent: IndexSpent,
    /// What it was good for since the database was opened.
    pub used: IndexUse,
    /// The same of what counts over clean restarts.
    pub reads: IndexReads,
    /// Blocks of its runs that were asked for, since counting began.
    pub blocks: BlocksAsked,
    /// The order in which the newest keys arrived.
    pub pattern: InsertPattern,
    /// Estimates about the keys in runs, from what stays in memory of them.
    pub keys: KeyEstimates,
}

/// A run in numbers.
#[derive(Clone, Debug)]
pub struct RunStats {
    /// 0 as flushed; merges move entries up.
    pub level: u32,
    /// Row ids it stands for.
    pub rows: std::ops::Range<RowId>,
    /// Its files.
    pub files: usize,
    /// Its entries.
    pub entries: u64,
    /// Its size.
    pub bytes: u64,
    /// explicit, affine or fences-only.
    pub form: &'static str,
    /// It is input or output of a merge under way, which goes on slice by slice.
    pub is_merging: bool,
}

/// Rows at the end of the table from which insert patterns are told: a window of the classifier.
const PATTERN_ROWS: u64 = onlap_base::pattern::WINDOW_KEYS;

/// What all tables are looked at with.
struct Look<'a> {
    shared: &'a Arc<Shared>,
    written: WrittenReport,
    /// The same when the database was opened.
    before: &'a WrittenReport,
    /// Whether keys are read.
    keys: bool,
}

impl Database {
    /// Numbers about everything. For patterns and estimates of keys it reads the newest rows of each
    /// table once per index: thousands, so ask [`Database::stats_without_keys`] where that is often.
    pub fn stats(&self) -> Result<Stats> {
        self.stats_with(true)
    }

    /// The same from counters and the manifest alone: [`IndexStats::pattern`] is unknown,
    /// [`IndexStats::keys`] is empty.
    pub fn stats_without_keys(&self) -> Result<Stats> {
        self.stats_with(false)
    }

    /// Files of the log and their bytes, by name.
    ///
    /// # Errors
    /// The database is closed; its directory cannot be read.
    pub fn log_files(&self) -> Result<Vec<(String, u64)>> {
        let shared = self.shared();
        shared.check_open()?;
        let storage = &shared.storage;
        let mut found = Vec::new();
        for name in storage.fs.list(&storage.dir)? {
            if !matches!(FileKind::parse(&name), Some(FileKind::Log(_))) {
                continue;
            }
            match storage.fs.open(&storage.dir.join(&name), Access::Read).and_then(|f| f.len()) {
                Ok(bytes) => found.push((name, bytes)),
                // It was given up meanwhile.
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        found.sort();
        Ok(found)
    }

    fn stats_with(&self, keys: bool) -> Result<Stats> {
        report(self.shared(), keys)
    }
}

/// What [`Database::stats`] says.
pub(crate) fn report(shared: &Arc<Shared>, keys: bool) -> Result<Stats> {
    shared.check_open()?;
    let named = shared.catalog.named();
    let written = &shared.storage.written;
    let look = Look { shared, written: written.report(), before: written.before(), keys };
    let tables = named.iter().map(|(name, t)| look.table(name, t)).collect::<Result<_>>()?;
    let csn = shared.snapshots.published();
    let (log_bytes, log_margin) =
        shared.commits().exclusively(|leader| (leader.log.bytes(), leader.log.margin_bytes()));
    Ok(Stats {
        csn,
        tables,
        written: look.written,
        written_before: look.before.clone(),
        spent: shared.ledger.report(),
        memory: shared.storage.memory.report(),
        reads: shared.counters.report(),
        cache_misses: shared.storage.cache.misses(),
        blocks_gone: shared.storage.asked.gone(),
        log_bytes,
        margin_bytes: log_margin + shared.margin.room_bytes(),
        margin_lent: shared.margin.is_lent(),
        merge_debt_bytes: shared.pressure.merge_debt(),
        merge_debt_limit: shared.pressure.merge_debt_limit(),
        delayed_us: shared.pressure.delayed_us(),
        stalls: shared.pressure.stalls(),
        commits: shared.commits().commit_times(),
        commit_lock: shared.commits().hold_times(),
        transactions: shared.transaction_stats(),
        snapshots: shared.snapshots.len(),
        snapshot_debt_bytes: debts::snapshot_debt(shared),
        snapshot_debt_limit: shared.snapshot_debt_limit,
        snapshots_revoked: shared.snapshots.revoked(),
        history_debt_bytes: named.iter().map(|(_, t)| debts::kept(shared, t).history).sum(),
        history_debt_limit: shared.history_debt_limit,
        histories_shortened: shared.histories_shortened.load(std::sync::atomic::Ordering::Relaxed),
        snapshot_debt_commits: csn - shared.snapshots.oldest().min(csn),
        background_error: shared.background.last_error(),
        write_error: shared.write_error(),
        samples_error: shared.samples.failure(),
        samples_bytes: shared.samples.bytes(),
        pace: shared.pace.report(),
        log_limit: shared.options.log_limit,
        snapshot_age_limit: shared.options.snapshot_age_limit,
        snapshot_age: snapshot_age(shared),
    })
}

fn snapshot_age(shared: &Shared) -> Duration {
    let now = shared.clock.unix_us();
    let since = shared.snapshots.oldest_since(now).map_or(now, |(_, since)| since);
    Duration::from_micros(u64::try_from(now.saturating_sub(since)).unwrap_or(0))
}

impl Look<'_> {
    fn table(&self, name: &str, state: &TableState) -> Result<TableStats> {
        let shared = self.shared;
        let view = state.view();
        let version = &view.version;
        let frozen: usize = view.frozen.iter().map(|f| f.memtable.heap_bytes()).sum();
        let mut indexes = Vec::new();
        for index in &view.schema.indexes {
            indexes.push(self.index(state, index)?);
        }
        let debts = state.owed.look(&view, compaction::dead_share(shared));
        let rows_in = version.segments.iter().map(|s| s.meta.count).sum::<u64>();
        let stored = rows_in + view.memtables_newest_first().map(|m| m.rows() as u64).sum::<u64>();
        let marked = view.memtables_newest_first().map(|m| m.marks() as u64).sum::<u64>();
        let dead = version.expected_dead_rows() + marked;
        Ok(TableStats {
            name: name.to_owned(),
            row_ids: view.active.end_row(),
            unflushed_rows: view.active.end_row() - version.flushed_rows,
            pending_rows: state.pending.rows(),
            pending_rows_limit: blind::limit(shared, state),
            memtable_bytes: (view.active.heap_bytes() + frozen) as u64,
            segments: version.segments.len(),
            segment_rows: rows_in,
            segment_blocks: version.segments().map(|s| s.footer().blocks.len() as u64).sum(),
            segment_bytes: version.segments.iter().map(|s| s.meta.bytes).sum(),
            mark_runs: version.marks.len(),
            marks: version.marks.iter().map(|m| m.meta.marks).sum(),
            mark_bytes: version.marks.iter().map(|m| m.meta.bytes).sum(),
            segment_cached_bytes: version.segments().map(|s| s.cached_bytes()).sum(),
            mark_cached_bytes: version.marks.iter().map(|m| m.run.cached_bytes()).sum(),
            history_debt_bytes: debts::kept(shared, state).history,
            unflushed_changes: view.memtables_newest_first().map(|m| m.changes() as u64).sum(),
            debts,
            activity: state.activity.report(),
            blocks: state.activity.blocks_of(None, shared.storage.asked.report(state.id, None)),
            live_rows: stored.saturating_sub(dead),
            dead_rows: dead.min(stored),
            indexes,
            id: state.id,
        })
    }

    fn index(&self, state: &TableState, index: &IndexSchema) -> Result<IndexStats> {
        let view = state.view();
        let files = view.version.index(index.id);
        let entries = files.map_or(&[][..], |i| &i.runs);
        let mut runs = Vec::with_capacity(entries.len());
        let mut cached_bytes = 0;
        for run in entries {
            cached_bytes += run.run.files().iter().map(|f| f.cached_bytes()).sum::<u64>();
            let form = run.run.files().first().map_or("empty", |f| f.form());
            runs.push(RunStats {
                level: run.meta.level,
                rows: run.meta.rows.clone(),
                files: run.meta.files.len(),
                entries: run.meta.entries(),
                bytes: run.meta.bytes(),
                form,
                is_merging: run.meta.group.is_some(),
            });
        }
        runs.sort_by_key(|r| r.level);
        let account = self.shared.ledger.known(index.id);
        let mut spent = account.as_ref().map(|account| account.spent()).unwrap_or_default();
        // What lies in memory was sorted as well.
        spent.sorted_ns +=
            view.memtables_newest_first().map(|m| m.sorted_ns(index.id)).sum::<u64>();
        let used = account.map(|account| account.used()).unwrap_or_default();
        let (pattern, keys) = match self.keys {
            false => (InsertPattern::Unknown, KeyEstimates::default()),
            true => (
                insert_pattern(self.shared, state, index)?,
                files.map(keys::key_estimates).transpose()?.unwrap_or_default(),
            ),
        };
        Ok(IndexStats {
            id: index.id,
            name: index.name.clone(),
            entries: runs.iter().map(|r| r.entries).sum(),
            bytes: runs.iter().map(|r| r.bytes).sum(),
            cached_bytes,
            runs,
            written: self.written.indexes.get(&index.id).copied().unwrap_or_default(),
            written_before: self.before.indexes.get(&index.id).copied().unwrap_or_default(),
            spent,
            used,
            reads: state.activity.reads_of(index.id, &used),
            blocks: state.activity.blocks_of(
                Some(index.id),
                self.shared.storage.asked.report(state.id, Some(index.id)),
            ),
            pattern,
            keys,
        })
    }
}

/// Shows the classifier the keys of the newest rows in the order in which they arrived, after a
/// sample of what the index held before.
fn insert_pattern(
    shared: &Arc<Shared>,
    state: &TableState,
    index: &IndexSchema,
) -> Result<InsertPattern> {
    pattern_at(state, index, &Registration::new(shared))
}

fn pattern_at(state: &TableState, index: &IndexSchema, at: &Registration) -> Result<InsertPattern> {
    // In which order keys came does not depend on who replaced whom since.
    let view = ReadView::of_keys(state, at)?;
    let schema = Arc::clone(&view.view.schema);
    let (positions, _) = index_positions(&schema, index);
    let def = key_def(&schema, index);
    let mut pattern: Pattern<Vec<u8>> = Pattern::new();
    if index.filter.is_some() || positions.iter().any(|p| *p >= schema.columns.len()) {
        // Its keys stand in no row.
        return Ok(pattern.report());
    }
    let names = positions.iter().map(|&p| schema.columns[p].name.clone());
    let rows = view.count.saturating_sub(2 * PATTERN_ROWS)..view.count;
    for batch in view.scan(Scan::all().columns(names).row_ids(rows))? {
        let batch = batch?;
        let columns: Vec<&Column> = batch.columns.columns.iter().collect();
        for row in 0..batch.len() {
            let mut key = Vec::new();
            def.encode_row(&columns, row, &mut key);
            pattern.observe(&key);
        }
    }
    Ok(pattern.report())
}
