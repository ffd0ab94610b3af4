//! How long did clients wait for their commits?
//!
//! From the moment a client commits until its rows are visible, and durable where the mode says so: encoding, what
//! holds writers back, the queue, the write and the sync. Transactions that changed nothing, and those that become
//! files of their tables at once (`crate::adopt`), are not counted.
//!
//! Thread safety: relaxed atomics; each client adds.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use onlap_base::clock::keeps_accounts;
use onlap_base::times::{BUCKETS, bucket, end_ns, quantile_ns};

/// How long commits took since the database was opened. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitTimes {
    /// All of them together.
    pub total_ns: u64,
    /// The longest.
    pub longest_ns: u64,
    /// How many took how long.
    counts: [u64; BUCKETS],
}

impl CommitTimes {
    /// Those that came after another report of the same database.
    pub(crate) fn since(&self, before: &CommitTimes) -> CommitTimes {
        let counts: [u64; BUCKETS] =
            std::array::from_fn(|at| self.counts[at].saturating_sub(before.counts[at]));
        let longest_ns = match counts.iter().rposition(|n| *n > 0) {
            None => 0,
            Some(_) if self.longest_ns > before.longest_ns => self.longest_ns,
            // It was not longer than the longest before: within a part of a doubling.
            Some(last) => end_ns(last).min(self.longest_ns),
        };
        debug_assert!(self.longest_ns >= before.longest_ns, "the longest only grows");
        let total_ns = self.total_ns.saturating_sub(before.total_ns);
        CommitTimes { total_ns, longest_ns, counts }
    }

    /// How many there were.
    pub fn commits(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// What this share of them did not exceed, within a tenth.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let found = quantile_ns(self.counts.iter().copied(), share);
        found.map(|ns| ns.min(self.longest_ns))
    }

    /// Below how many nanoseconds, and above what the pair before says, how many were; none where there were none.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        let all = self.counts.iter().enumerate().map(|(at, n)| (end_ns(at), *n));
        all.filter(|(_, n)| *n > 0)
    }
}

/// What [`CommitTimes`] tells.
#[derive(Debug)]
pub(super) struct Took {
    total_ns: AtomicU64,
    longest_ns: AtomicU64,
    counts: [AtomicU64; BUCKETS],
}

impl Default for Took {
    fn default() -> Took {
        let counts = std::array::from_fn(|_| AtomicU64::new(0));
        Took { total_ns: AtomicU64::new(0), longest_ns: AtomicU64::new(0), counts }
    }
}

impl Took {
    /// Notes one commit.
    pub(super) fn add(&self, ns: u64) {
        if !keeps_accounts() {
            return;
        }
        self.total_ns.fetch_add(ns, Relaxed);
        self.longest_ns.fetch_max(ns, Relaxed);
        self.counts[bucket(ns)].fetch_add(1, Relaxed);
    }

    pub(super) fn report(&self) -> CommitTimes {
        CommitTimes {
            total_ns: self.total_ns.load(Relaxed),
            longest_ns: self.longest_ns.load(Relaxed),
            counts: std::array::from_fn(|at| self.counts[at].load(Relaxed)),
        }
    }
}
