//! For how long was the commit lock held?
//!
//! Everything that waits for a commit waits for this lock, so the longest time that it was held bounds
//! what one transaction costs the others.
//!
//! Thread safety: relaxed atomics; the holder alone adds.

use std::sync::atomic::{AtomicU64, Ordering};

/// How often and for how long the commit lock was held since the database was opened, by commits and by
/// everything else that wants it to itself. One hold of a leader serves the commits of some groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitLockStats {
    /// How often.
    pub holds: u64,
    /// All of them together, in nanoseconds.
    pub total_ns: u64,
    /// The longest, in nanoseconds. In mode `fsync` the syncs of its groups are part of it.
    pub longest_ns: u64,
}

/// What [`CommitLockStats`] tells.
#[derive(Debug, Default)]
pub(super) struct HoldTimes {
    holds: AtomicU64,
    total_ns: AtomicU64,
    longest_ns: AtomicU64,
}

impl HoldTimes {
    /// Notes one hold.
    pub(super) fn add(&self, ns: u64) {
        self.holds.fetch_add(1, Ordering::Relaxed);
        self.total_ns.fetch_add(ns, Ordering::Relaxed);
        self.longest_ns.fetch_max(ns, Ordering::Relaxed);
    }

    pub(super) fn report(&self) -> CommitLockStats {
        CommitLockStats {
            holds: self.holds.load(Ordering::Relaxed),
            total_ns: self.total_ns.load(Ordering::Relaxed),
            longest_ns: self.longest_ns.load(Ordering::Relaxed),
        }
    }
}
