//! How much deferred work may a table owe?
//!
//! Changes that no segment has yet, rows that are dead and still stored, entries of dead rows: each is
//! put off until it is worth a rewrite of a file, and each costs readers something meanwhile. Background
//! work begins at a share of the table ([`crate::compaction`]); a table may owe half as much again
//! ([`Owed`]), which keeps what readers pay below twice the price of a clean table. On the way from the one
//! to the other, commits that add to the debt wait for a little, longer and longer, and at the limit for
//! work that gets done. What snapshots or a history keep is not the writers' to pay: it has limits of its
//! own ([`crate::debts`]).
//!
//! The counts are of files, as they were when these last changed; writers count column changes in frozen
//! memtables too, which become files whatever they do. What lies in the active memtable is limited by its
//! size.
//!
//! Thread safety: atomics; waits hold nothing but the locks of the transaction.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Duration;

use onlap_base::Result;
use onlap_storage::version::TableVersion;

use crate::commit::TableWrite;
use crate::database::Shared;
use crate::pressure::Why;
use crate::table::{Frozen, TableState, TableView};

/// A table may owe so many times the share from which on files are rewritten. At twice the share, two rows
/// of five dead or changed, short reads took more than twice their time.
const LIMIT_FACTOR: f64 = 1.5;
/// The share of its limit at which a table owes enough for work to begin.
const BEGINS: f64 = 1.0 / LIMIT_FACTOR;
/// What small tables may owe: rewriting less often costs less than reading it.
const LEAST: u64 = 1 << 14;
/// Longest delay of a commit below the limit.
const DELAY_MAX: Duration = Duration::from_millis(20);
/// At the limit, how long a commit waits at most for something to be done.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// What a table owes, in changes, rows and entries, and what it may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableDebts {
    /// Column changes in files that no segment has.
    pub pending_changes: u64,
    /// Most of them.
    pub pending_changes_limit: u64,
    /// Rows in segments that are dead for everybody, as far as they were counted.
    pub dead_rows: u64,
    /// Most of them.
    pub dead_rows_limit: u64,
    /// Index entries of such rows, as far as they were counted.
    pub dead_entries: u64,
    /// Most of them.
    pub dead_entries_limit: u64,
}

impl TableDebts {
    /// What the files of a table owe; `share`: of its rows, from which on one is rewritten.
    fn of(version: &TableVersion, share: f64) -> TableDebts {
        let rows: u64 = version.segments.iter().map(|s| s.meta.count).sum();
        let runs = version.indexes.iter().flat_map(|i| &i.runs);
        let entries: u64 = runs.map(|r| r.meta.entries()).sum();
        let limit = |n: u64| ((n as f64 * share * LIMIT_FACTOR) as u64).max(LEAST);
        TableDebts {
            pending_changes: version.pending_changes(),
            pending_changes_limit: limit(rows),
            dead_rows: version.known_dead_rows(),
            dead_rows_limit: limit(rows),
            dead_entries: version.known_dead_entries(),
            dead_entries_limit: limit(entries),
        }
    }

    /// The largest debt as a share of its limit, when what waits to be flushed is there too.
    fn share(&self, frozen: &[Frozen]) -> f64 {
        let coming: u64 = frozen.iter().map(|f| f.memtable.changes() as u64).sum();
        let share = |n: u64, limit: u64| n as f64 / limit.max(1) as f64;
        share(self.pending_changes + coming, self.pending_changes_limit)
            .max(share(self.dead_rows, self.dead_rows_limit))
            .max(share(self.dead_entries, self.dead_entries_limit))
    }
}

/// What a table owed when somebody last looked: the share of its limit, in thousandths.
#[derive(Debug, Default)]
pub(crate) struct Owed(AtomicU64);

impl Owed {
    /// Looks again, after files or memtables came or went.
    pub(crate) fn look(&self, view: &TableView, share: f64) -> TableDebts {
        let debts = TableDebts::of(&view.version, share);
        self.0.store((debts.share(&view.frozen) * 1000.0) as u64, Relaxed);
        debts
    }

    fn share(&self) -> f64 {
        self.0.load(Relaxed) as f64 / 1000.0
    }
}

/// Waits that are shorter were none: the shortest that is given is as long.
const STALL_NS: u64 = 50_000;

/// Lets a transaction that adds to the debts of tables wait.
pub(crate) fn hold_back(shared: &Shared, writes: &[TableWrite]) -> Result<()> {
    for w in writes.iter().filter(|w| !w.marks.is_empty() || !w.changes.is_empty()) {
        if w.state.owed.share() > BEGINS {
            let began = shared.clock.monotonic_ns();
            let waited = wait_for(shared, &w.state);
            let took = shared.clock.monotonic_ns().saturating_sub(began);
            if took >= STALL_NS {
                shared.pressure.stalled(Why::TableDebt, took);
            }
            waited?;
        }
    }
    Ok(())
}

fn wait_for(shared: &Shared, state: &TableState) -> Result<()> {
    let background = &shared.background;
    let began = shared.clock.monotonic_ns();
    loop {
        let share = state.owed.share();
        let version = Arc::as_ptr(&state.view_now().version);
        let nothing = state.nothing_due.lock();
        let held = nothing.as_ref().is_some_and(|(at, ..)| Weak::as_ptr(at) == version);
        drop(nothing);
        if share <= BEGINS || held || background.stopping() || shared.margin.is_lent() {
            // What is left is kept by snapshots, or nobody does it any more, or not before there is room.
            return Ok(());
        }
        shared.check_writable()?;
        let seen = background.idle_event().epoch();
        background.wake();
        if share < 1.0 {
            let delay = DELAY_MAX.mul_f64(((share - BEGINS) / (1.0 - BEGINS)).powi(2));
            background.idle_event().wait(seen, Some(delay.max(Duration::from_micros(50))));
            return Ok(());
        }
        background.idle_event().wait(seen, Some(DELAY_MAX));
        if shared.clock.monotonic_ns().saturating_sub(began) > WAIT_MAX.as_nanos() as u64 {
            return Ok(());
        }
    }
}
