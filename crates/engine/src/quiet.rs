//! What is done when writers fall silent?
//!
//! Rows in memory cost readers more than rows in files, and a log that nobody cuts makes the next
//! open slow. So when a database has had no commit for a while, it is flushed without being asked (I10);
//! what merges make of it is the merge policy's business. A small memtable stays: it costs readers
//! little, the log keeps it, and a file for every few rows of a trickle would be dearer than both.
//!
//! Thread safety: called by background tasks between jobs.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use onlap_storage::merge::Calm;

use crate::database::Shared;
use crate::{flush, relog};

/// Silence after which memtables are flushed: long compared with the pauses of a busy client, short compared with
/// what a person waits for.
const QUIET_US: i64 = 2_000_000;

/// When the last commit was noticed.
#[derive(Debug, Default)]
pub(crate) struct Quiet {
    csn: AtomicU64,
    since_us: AtomicI64,
    quiet: AtomicBool,
    forced: AtomicBool,
}

impl Quiet {
    /// Has work done now that only makes reads cheaper, whatever writers do.
    pub(crate) fn force(&self, forced: bool) {
        self.forced.store(forced, Ordering::Relaxed);
    }
}

/// How much time there is for work that only makes reads cheaper. A commit ends the silence at once,
/// not with the next look.
pub(crate) fn calm(shared: &Shared) -> Calm {
    let quiet = &shared.quiet;
    if quiet.forced.load(Ordering::Relaxed) {
        return Calm::Settle;
    }
    let silent = quiet.quiet.load(Ordering::Acquire);
    if silent && quiet.csn.load(Ordering::Acquire) == shared.snapshots.published() {
        return Calm::Quiet;
    }
    Calm::Busy
}

/// Memtables below this stay in memory.
const SMALL_BYTES: usize = relog::RELOG_BYTES;

/// Freezes the memtables of a database that has had no commit for a while.
pub(crate) fn look(shared: &Shared) {
    if shared.check_writable().is_err() {
        return;
    }
    let tidied = flush::cut_log(shared).and_then(|()| shared.versions.files().sweep());
    if let Err(e) = tidied {
        shared.background.note_error(e);
    }
    let quiet = &shared.quiet;
    let (now, csn) = (shared.clock.unix_us(), shared.snapshots.published());
    if quiet.csn.load(Ordering::Acquire) != csn {
        quiet.since_us.store(now, Ordering::Release);
        quiet.quiet.store(false, Ordering::Release);
        quiet.csn.store(csn, Ordering::Release);
        return;
    }
    if now - quiet.since_us.load(Ordering::Acquire) < QUIET_US {
        return;
    }
    if !quiet.quiet.swap(true, Ordering::AcqRel) {
        shared.background.wake();
    }
    let mut worth_it = shared.catalog.all();
    worth_it.retain(|t| t.view().active.heap_bytes() > SMALL_BYTES);
    // Small ones are logged again instead, so that they do not keep old log files.
    if shared.commits().if_free(|leader| leader.log.oldest_closed_csn()).flatten().is_some() {
        shared.commits().exclusively(|leader| {
            if let Some(oldest) = leader.log.oldest_closed_csn() {
                flush::relieve_log(shared, leader, oldest);
            }
        });
    }
    if !worth_it.is_empty() {
        shared.commits().exclusively(|leader| {
            let csn = leader.next_csn - 1;
            worth_it.iter().for_each(|t| flush::freeze(shared, t, csn));
        });
    }
}
