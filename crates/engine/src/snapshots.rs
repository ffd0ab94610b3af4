//! Which commits may someone still be looking at?
//!
//! The registry of open snapshots and the published CSN. A snapshot registers first, under the lock,
//! and reads the published CSN there, so that nothing it needs can be given up in between.
//! It also decides which entries of a table's (CSN, row count) list are kept.
//!
//! Thread safety: any number of threads; the lock is held for a few map operations only.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use onlap_base::{Csn, RowId};
use parking_lot::Mutex;

/// Open snapshots of a database.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    published: AtomicU64,
    open: Mutex<BTreeMap<Csn, usize>>,
}

impl Snapshots {
    pub(crate) fn new(published: Csn) -> Snapshots {
        Snapshots { published: AtomicU64::new(published), open: Mutex::default() }
    }

    /// The newest visible commit.
    pub(crate) fn published(&self) -> Csn {
        self.published.load(Ordering::Acquire)
    }

    /// Makes commits up to `csn` visible; called in CSN order after they are applied (I2).
    pub(crate) fn publish(&self, csn: Csn) {
        debug_assert!(csn >= self.published());
        self.published.store(csn, Ordering::Release);
    }

    /// Registers a snapshot of everything published.
    pub(crate) fn register(&self) -> Csn {
        let mut open = self.open.lock();
        let csn = self.published();
        *open.entry(csn).or_default() += 1;
        csn
    }

    pub(crate) fn release(&self, csn: Csn) {
        let mut open = self.open.lock();
        match open.get_mut(&csn) {
            Some(1) => {
                open.remove(&csn);
            }
            Some(n) => *n -= 1,
            None => panic!("a snapshot is released once"),
        }
    }

    /// No open or future snapshot is older than this.
    pub(crate) fn horizon(&self) -> Csn {
        let open = self.open.lock();
        open.keys().next().copied().unwrap_or_else(|| self.published())
    }

    /// Number of open snapshots.
    pub(crate) fn len(&self) -> usize {
        self.open.lock().values().sum()
    }

    /// Drops those entries of a (CSN, row count) list that no open or future snapshot needs: entry i
    /// serves the snapshots in `[csn i, csn i+1)`.
    fn prune(&self, counts: &mut Vec<(Csn, RowId)>) {
        let open = self.open.lock();
        let published = self.published();
        let mut kept = 0;
        for i in 0..counts.len() {
            let needed = match counts.get(i + 1) {
                None => true,
                Some(&(next, _)) => {
                    let from = counts[i].0;
                    (from..next).contains(&published)
                        || open.range(from..next).next().is_some()
                        || from > published
                }
            };
            if needed {
                counts[kept] = counts[i];
                kept += 1;
            }
        }
        counts.truncate(kept);
    }
}

/// A table's row counts at the commits that someone may look at, oldest first.
#[derive(Debug)]
pub(crate) struct RowCounts {
    list: Mutex<Vec<(Csn, RowId)>>,
}

/// Entries a list may gain before it is pruned; short lists are not worth the registry's lock.
const PRUNE_AT: usize = 64;

impl RowCounts {
    /// A table of `count` rows that nobody sees at an earlier commit than `csn`.
    pub(crate) fn new(csn: Csn, count: RowId) -> RowCounts {
        RowCounts { list: Mutex::new(vec![(csn, count)]) }
    }

    /// Notes that commit `csn`, not yet published, ends at `count` rows.
    pub(crate) fn push(&self, csn: Csn, count: RowId, snapshots: &Snapshots) {
        let mut list = self.list.lock();
        let published = snapshots.published();
        match list.last_mut() {
            // Recovery meets commits below the one that it publishes in the end.
            Some(last) if last.0 >= csn => last.1 = count,
            // Nobody can have seen a commit above the published one.
            Some(last) if last.0 > published => *last = (csn, count),
            _ => list.push((csn, count)),
        }
        if list.len() >= PRUNE_AT && list.len().is_power_of_two() {
            snapshots.prune(&mut list);
        }
    }

    /// Rows below this id are visible at `csn` unless deleted. `None`: below the oldest kept entry,
    /// where the table did not exist.
    pub(crate) fn at(&self, csn: Csn) -> Option<RowId> {
        let list = self.list.lock();
        let i = list.partition_point(|e| e.0 <= csn);
        (i > 0).then(|| list[i - 1].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registered_snapshot_keeps_its_count_while_commits_pass() {
        let snapshots = Snapshots::new(0);
        let counts = RowCounts::new(0, 0);
        let mut held = Vec::new();
        for csn in 1..=1000 {
            counts.push(csn, csn * 10, &snapshots);
            snapshots.publish(csn);
            if csn % 100 == 7 {
                held.push(snapshots.register());
            }
        }
        for &s in &held {
            assert_eq!(counts.at(s), Some(s * 10));
        }
        assert_eq!(snapshots.horizon(), 7);
        assert!(counts.list.lock().len() < 200);
        held.into_iter().for_each(|s| snapshots.release(s));
        assert_eq!(snapshots.horizon(), 1000);
        assert_eq!(counts.at(1000), Some(10_000));
    }

    #[test]
    fn replayed_commits_below_the_published_one_count_as_of_that() {
        let snapshots = Snapshots::new(500);
        let counts = RowCounts::new(500, 50);
        for csn in 300..=700 {
            counts.push(csn, csn, &snapshots);
        }
        snapshots.publish(700);
        assert_eq!(counts.at(700), Some(700));
    }

    #[test]
    fn commits_of_one_group_share_an_entry_until_published() {
        let snapshots = Snapshots::new(5);
        let counts = RowCounts::new(5, 50);
        counts.push(6, 60, &snapshots);
        let before = snapshots.register();
        counts.push(7, 70, &snapshots);
        snapshots.publish(7);
        assert_eq!(before, 5);
        assert_eq!(counts.at(5), Some(50));
        assert_eq!(counts.at(7), Some(70));
    }
}
