//! Is what concurrent clients saw possible at all?
//!
//! Clients note when they began and ended a commit or took a snapshot, on one logical clock.
//! [`History::check`] then asks for what the commit protocol promises: commit numbers are unique; a
//! commit that was acknowledged before another began has the lower number (I2); a snapshot sees every
//! commit acknowledged before it was asked for, none that began after it was given, and all of each or
//! nothing. Safe to share between clients.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use onlap_base::Csn;

/// What clients did and saw.
#[derive(Debug, Default)]
pub struct History {
    clock: AtomicU64,
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    commits: Vec<Commit>,
    snapshots: Vec<Snapshot>,
}

#[derive(Clone, Copy, Debug)]
struct Commit {
    began: u64,
    ended: u64,
    csn: Csn,
    rows: u64,
}

#[derive(Clone, Copy, Debug)]
struct Snapshot {
    began: u64,
    ended: u64,
    csn: Csn,
    rows: u64,
}

impl History {
    /// An empty history.
    pub fn new() -> History {
        History::default()
    }

    /// The moment before a call; hand it to the method that notes the call's result.
    pub fn begin(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// A commit that began at `began` was just acknowledged as `csn`; it added `rows` rows.
    pub fn committed(&self, began: u64, csn: Csn, rows: u64) {
        let commit = Commit { began, ended: self.begin(), csn, rows };
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).commits.push(commit);
    }

    /// A snapshot asked for at `began` was just given as `csn`, and `rows` rows were counted in it at
    /// any later time.
    pub fn counted(&self, began: u64, ended: u64, csn: Csn, rows: u64) {
        let snapshot = Snapshot { began, ended, csn, rows };
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).snapshots.push(snapshot);
    }

    /// Checks everything noted; no client may be at work.
    ///
    /// # Errors
    /// The first impossibility, in words.
    pub fn check(&self) -> Result<(), String> {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut by_csn = BTreeMap::new();
        for commit in &noted.commits {
            if let Some(other) = by_csn.insert(commit.csn, *commit) {
                return Err(format!("two commits have the number {}: {other:?}", commit.csn));
            }
        }
        check_real_time(&by_csn)?;
        // Rows below each commit number, so that every snapshot is one look.
        let mut sum = 0;
        let rows_up_to: BTreeMap<Csn, u64> = by_csn
            .values()
            .map(|commit| {
                sum += commit.rows;
                (commit.csn, sum)
            })
            .collect();
        for snapshot in &noted.snapshots {
            check_snapshot(snapshot, &noted.commits)?;
            let expected = rows_up_to.range(..=snapshot.csn).next_back().map_or(0, |(_, sum)| *sum);
            if snapshot.rows != expected {
                return Err(format!("{snapshot:?} should count {expected} rows"));
            }
        }
        Ok(())
    }
}

/// No commit was acknowledged before one with a lower number began. Going down the numbers it is
/// enough to remember the earliest acknowledgement among the higher ones.
fn check_real_time(by_csn: &BTreeMap<Csn, Commit>) -> Result<(), String> {
    let mut earliest_end: Option<Commit> = None;
    for commit in by_csn.values().rev() {
        if let Some(later) = earliest_end
            && later.ended < commit.began
        {
            return Err(format!("{later:?} was acknowledged before {commit:?} began"));
        }
        if earliest_end.is_none_or(|later| commit.ended < later.ended) {
            earliest_end = Some(*commit);
        }
    }
    Ok(())
}

fn check_snapshot(snapshot: &Snapshot, commits: &[Commit]) -> Result<(), String> {
    for commit in commits {
        if commit.ended < snapshot.began && commit.csn > snapshot.csn {
            return Err(format!("{snapshot:?} misses {commit:?}, acknowledged before it"));
        }
        if commit.began > snapshot.ended && commit.csn <= snapshot.csn {
            return Err(format!("{snapshot:?} covers {commit:?}, which began after it"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
