//! Why were writers held back, how often, and for how long?
//!
//! Thread safety: relaxed atomics.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What holds a writer back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The device does not keep up with writers and merges together.
    Device,
    /// Flushes do not keep up.
    Flushes,
    /// Merges owe more than they may.
    MergeDebt,
    /// The memtables' part of the memory is full.
    Memory,
    /// A table's dead rows or column changes are more than they may be.
    TableDebt,
}

const ALL: [(Why, &str); 5] = [
    (Why::Device, "device"),
    (Why::Flushes, "flushes"),
    (Why::MergeDebt, "merge debt"),
    (Why::Memory, "memory full"),
    (Why::TableDebt, "debt of a table"),
];

/// Writers that were held back for one reason, since the database was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Why, in a few words.
    pub why: &'static str,
    /// How often one was.
    pub count: u64,
    /// All waits together, in microseconds.
    pub total_us: u64,
    /// The longest.
    pub longest_us: u64,
}

/// What [`Stall`] tells, by reason.
#[derive(Debug, Default)]
pub(super) struct Stalls([[AtomicU64; 3]; ALL.len()]);

impl Stalls {
    pub(super) fn add(&self, why: Why, us: u64) {
        let [count, total, longest] = &self.0[why as usize];
        count.fetch_add(1, Relaxed);
        total.fetch_add(us, Relaxed);
        longest.fetch_max(us, Relaxed);
    }

    pub(super) fn total_us(&self) -> u64 {
        self.0.iter().map(|[_, total, _]| total.load(Relaxed)).sum()
    }

    pub(super) fn report(&self) -> Vec<Stall> {
        let one = |(why, name): &(Why, &'static str)| {
            let [count, total_us, longest_us] =
                [0, 1, 2].map(|at: usize| self.0[*why as usize][at].load(Relaxed));
            Stall { why: name, count, total_us, longest_us }
        };
        ALL.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_add_up() {
        let stalls = Stalls::default();
        for (us, (why, _)) in ALL.iter().enumerate() {
            stalls.add(*why, us as u64 + 1);
            stalls.add(*why, 10);
        }
        assert_eq!(stalls.total_us(), 15 + 50);
        let all = stalls.report();
        assert_eq!(all.iter().map(|s| s.total_us).sum::<u64>(), 65);
        assert_eq!((all[2].why, all[2].count, all[2].longest_us), ("merge debt", 2, 10));
    }
}
