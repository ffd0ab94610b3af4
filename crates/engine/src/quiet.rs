//! What is done when writers fall silent?
//!
//! Rows in memory cost readers more than rows in files, and a log that nobody cuts makes the next
//! open slow. So when a database has had no commit for a while, it is flushed without being asked (I10);
//! what merges make of it is the merge policy's business. A small memtable stays: it costs readers
//! little, the log keeps it, and a file for every few rows of a trickle would be dearer than both.
//!
//! Thread safety: called by background tasks between jobs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use onlap_storage::merge::Calm;
use parking_lot::Mutex;

use crate::database::Shared;
use crate::{flush, relog};

/// Silence after which memtables are flushed: long compared with the pauses of a busy client, short compared with
/// what a person waits for.
const QUIET_US: i64 = 2_000_000;

/// No commit has this number.
const NEVER: u64 = u64::MAX;

/// When the last commit was noticed.
#[derive(Debug)]
pub(crate) struct Quiet {
    /// One task at a time compares and writes down: two that mix their looks would find a silence that
    /// there was not.
    noticed: Mutex<Noticed>,
    /// The commit since which there is silence, `NEVER` while there is none.
    silent_at: AtomicU64,
    forced: AtomicBool,
}

#[derive(Debug)]
struct Noticed {
    csn: u64,
    at_us: i64,
}

impl Default for Quiet {
    fn default() -> Quiet {
        let noticed = Mutex::new(Noticed { csn: NEVER, at_us: 0 });
        Quiet { noticed, silent_at: AtomicU64::new(NEVER), forced: AtomicBool::new(false) }
    }
}

impl Quiet {
    /// Has work done now that only makes reads cheaper, whatever writers do.
    pub(crate) fn force(&self, forced: bool) {
        self.forced.store(forced, Ordering::Relaxed);
    }

    /// Whether writers have been silent since this commit, by what was noticed last.
    fn is_silent(&self, csn: u64) -> bool {
        self.silent_at.load(Ordering::Acquire) == csn
    }

    /// Writes down that `csn` is the newest commit at `now_us`. Returns whether writers have fallen silent;
    /// the first look begins to count.
    fn notice(&self, now_us: i64, csn: u64) -> bool {
        let mut noticed = self.noticed.lock();
        if noticed.csn != csn {
            *noticed = Noticed { csn, at_us: now_us };
            self.silent_at.store(NEVER, Ordering::Release);
            return false;
        }
        let silent = now_us - noticed.at_us >= QUIET_US;
        if silent {
            self.silent_at.store(csn, Ordering::Release);
        }
        silent
    }
}

/// How much time there is for work that only makes reads cheaper. A commit ends the silence at once,
/// not with the next look.
pub(crate) fn calm(shared: &Shared) -> Calm {
    let quiet = &shared.quiet;
    if quiet.forced.load(Ordering::Relaxed) {
        return Calm::Settle;
    }
    if quiet.is_silent(shared.snapshots.published()) {
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
    let csn = shared.snapshots.published();
    let was_silent = shared.quiet.is_silent(csn);
    if !shared.quiet.notice(shared.clock.unix_us(), csn) {
        return;
    }
    if !was_silent {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_counted_from_the_first_look_and_ends_with_a_commit() {
        let quiet = Quiet::default();
        let begin = 1_700_000_000_000_000;
        assert!(!quiet.notice(begin, 0), "a look at an opened database is no silence");
        assert!(!quiet.notice(begin + QUIET_US - 1, 0));
        assert!(quiet.notice(begin + QUIET_US, 0) && quiet.is_silent(0) && !quiet.is_silent(1));
        assert!(!quiet.notice(begin + QUIET_US, 1) && !quiet.is_silent(1) && !quiet.is_silent(0));
        assert!(quiet.notice(begin + 2 * QUIET_US, 1) && quiet.is_silent(1));
    }
}
