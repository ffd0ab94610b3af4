//! What did the database do in the last day?
//!
//! A task takes a [`Sample`] of [`Stats`] every ten seconds: what was done since the one before, and how things stand. It
//! begins when a program asks for it ([`Database::keep_samples`]), and ends with the database. What lies in files
//! ([`store`]) survives restarts.
//!
//! 1. The task waits for ten seconds by the monotonic clock, so a machine whose clock is set takes no other number of
//!    samples. They lie in the order in which they were taken, whatever their times say.
//! 2. It takes [`Stats`], which holds the commit lock for the length of two loads, and subtracts what it had before. The part of
//!    a span before a close is not kept.
//! 3. It writes the sample behind the last one. No sync waits for it and nothing waits for the task, so commits pay nothing.
//!    What fails is noted ([`Stats::samples_error`]) and tried again with the next sample: history is not worth a refusal (I6
//!    is for the log and the manifest).
//!
//! A table of the system was thought of for it: each sample would be a commit, with a row in the log and merges of its own,
//! and take part in what it measures.
//!
//! Memory (I7): one sample, and for a reader those of a day, 2.5 MB.
//!
//! Thread safety: one task writes; any thread reads.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use onlap_base::{Error, Result, TableId};
use onlap_format::samples::Sample;
use parking_lot::Mutex;

use crate::commit::CommitTimes;
use crate::database::{Database, Shared};
use crate::read::ReadCounters;
use crate::stats::{self, Stats};

mod store;
#[cfg(test)]
mod tests;

use store::Store;
pub(crate) use store::check;

/// Between two samples.
pub const SAMPLE_EVERY: Duration = Duration::from_secs(10);

/// Says how many statements have ended well so far: the engine knows of none.
pub type StatementCount = Box<dyn Fn() -> u64 + Send + Sync>;

/// The state of the task.
#[derive(Default)]
pub(crate) struct Samples {
    begun: AtomicBool,
    failure: Mutex<Option<Error>>,
    /// Bytes of their files, once the task has looked.
    bytes: AtomicU64,
}

impl Samples {
    /// Why the last sample could not be kept.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.failure.lock().clone()
    }

    /// Bytes of their files; 0 where none are kept.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl Database {
    /// Keeps a sample of the database's figures every [`SAMPLE_EVERY`], until it is closed; a second call changes nothing.
    /// Where the process has no thread left, none are kept.
    pub fn keep_samples(&self, statements: StatementCount) {
        let shared = self.shared();
        if shared.samples.begun.swap(true, Ordering::AcqRel) {
            return;
        }
        let own = Arc::clone(shared);
        let body = Box::new(move || run(&own, &*statements));
        if let Some(handle) = shared.tasks.try_spawn("onlap-samples", body) {
            shared.background.also(handle);
        }
    }

    /// Samples that [`Database::samples`] gives, at most.
    pub fn samples_most(&self) -> usize {
        let bytes = self.shared().samples.bytes();
        (bytes as usize / onlap_format::samples::SLOT_BYTES).min(onlap_base::limits::SAMPLES_KEPT)
    }

    /// The samples of the last day in which the database was open, in the order in which they were taken. Those that a crash
    /// or a damaged file took are left out.
    ///
    /// # Errors
    /// The database is closed; its directory or a file of it cannot be read.
    pub fn samples(&self) -> Result<Vec<Sample>> {
        self.shared().check_open()?;
        store::read(&self.shared().storage)
    }
}

fn run(shared: &Arc<Shared>, statements: &dyn Fn() -> u64) {
    let Ok(stats) = stats::report(shared, false) else { return };
    let mut before = Totals::of(shared, &stats, statements());
    let mut store = shared.check_writable().and_then(|()| Store::open(&shared.storage)).ok();
    note_bytes(shared, store.as_ref());
    while wait(shared) {
        let Ok(stats) = stats::report(shared, false) else { return };
        let now = Totals::of(shared, &stats, statements());
        let sample = now.since(&before, &stats, shared.clock.unix_us());
        before = now;
        let kept = shared.check_writable().and_then(|()| keep(shared, &mut store, &sample));
        *shared.samples.failure.lock() = kept.err();
        note_bytes(shared, store.as_ref());
    }
}

fn note_bytes(shared: &Shared, store: Option<&Store>) {
    shared.samples.bytes.store(store.map_or(0, Store::bytes), Ordering::Relaxed);
}

fn keep(shared: &Shared, store: &mut Option<Store>, sample: &Sample) -> Result<()> {
    let store = match store {
        Some(store) => store,
        None => store.insert(Store::open(&shared.storage)?),
    };
    store.append(sample)
}

/// Waits for the next sample; false where the database is closing.
fn wait(shared: &Shared) -> bool {
    let end = shared.clock.monotonic_ns() + SAMPLE_EVERY.as_nanos() as u64;
    loop {
        let seen = shared.background.closing_event().epoch();
        let left = end.saturating_sub(shared.clock.monotonic_ns());
        if shared.background.stopping() || left == 0 {
            return !shared.background.stopping();
        }
        shared.background.closing_event().wait(seen, Some(Duration::from_nanos(left)));
    }
}

/// Counters that only grow, as they were at a time.
struct Totals {
    at_ns: u64,
    commits: CommitTimes,
    rows: HashMap<TableId, u64>,
    statements: u64,
    reads: ReadCounters,
    written: u64,
    stalled_us: [u64; onlap_format::samples::STALLS],
    stalls: u64,
}

impl Totals {
    fn of(shared: &Shared, stats: &Stats, statements: u64) -> Totals {
        let mut stalled_us = [0; onlap_format::samples::STALLS];
        let all = stalled_us.iter_mut().zip(&stats.stalls);
        all.for_each(|(us, stall)| *us = stall.total_us);
        let (written, before) = (stats.written.total(), stats.written_before.total());
        Totals {
            at_ns: shared.clock.monotonic_ns(),
            commits: stats.commits.clone(),
            rows: stats.tables.iter().map(|t| (t.id, t.row_ids)).collect(),
            statements,
            reads: stats.reads,
            written: written.saturating_sub(before),
            stalled_us,
            stalls: stats.stalls.iter().map(|stall| stall.count).sum(),
        }
    }

    fn since(&self, before: &Totals, stats: &Stats, at_us: i64) -> Sample {
        assert!(self.at_ns >= before.at_ns, "the monotonic clock never goes back");
        let commits = self.commits.since(&before.commits);
        // A table that is gone took its count with it.
        let rows = self.rows.iter().map(|(id, rows)| {
            let had = before.rows.get(id).copied().unwrap_or(0);
            rows.saturating_sub(had)
        });
        let sum = |of: fn(&crate::TableStats) -> u64| stats.tables.iter().map(of).sum();
        let indexes = |t: &crate::TableStats| t.indexes.iter().map(|index| index.bytes).sum();
        let mut memory = [0; onlap_format::samples::PARTS];
        memory.iter_mut().zip(&stats.memory).for_each(|(used, part)| *used = part.used);
        Sample {
            at_us,
            span_us: (self.at_ns - before.at_ns) / 1000,
            commits: commits.commits(),
            rows: rows.sum(),
            statements: self.statements.saturating_sub(before.statements),
            entries_read: self.reads.index_entries_read - before.reads.index_entries_read,
            rows_read: self.reads.rows_read - before.reads.rows_read,
            blocks_read: self.reads.blocks_read - before.reads.blocks_read,
            written: self.written.saturating_sub(before.written),
            p50_ns: commits.quantile_ns(0.5).unwrap_or(0),
            p99_ns: commits.quantile_ns(0.99).unwrap_or(0),
            longest_ns: commits.longest_ns,
            stalled_us: std::array::from_fn(|at| self.stalled_us[at] - before.stalled_us[at]),
            stalls: self.stalls - before.stalls,
            merge_debt: stats.merge_debt_bytes,
            merge_debt_limit: stats.merge_debt_limit,
            snapshot_debt: stats.snapshot_debt_bytes,
            history_debt: stats.history_debt_bytes,
            memory,
            memory_limit: stats.memory.iter().map(|part| part.limit).sum(),
            disk: [
                sum(|t| t.segment_bytes),
                sum(indexes),
                sum(|t| t.mark_bytes),
                stats.log_bytes,
                stats.margin_bytes,
            ],
            written_ever: stats.written.total(),
        }
    }
}
