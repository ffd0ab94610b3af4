//! Which commits may someone still be looking at?
//!
//! The registry of open snapshots and the published CSN. A snapshot registers first, under the lock,
//! and reads the published CSN there, so that nothing it needs can be given up in between.
//! It also decides which entries of a table's (CSN, row count) list are kept.
//!
//! The **horizon** of a table is the CSN at or below which its dead are dead for everyone: the oldest
//! open snapshot's, or the beginning of the table's history ([`crate::history`]) where that is older.
//! Whoever asks for it in order to throw something away raises the table's **floor** to it, under the
//! registry's lock. A snapshot of the past is registered like any other, but holds a table back only
//! where it is not below the floor already; there it is refused when it reads.
//!
//! A snapshot may be **revoked**, the oldest first ([`crate::debts`]): it leaves the registry, and every
//! later read of it fails. A reader loads the view of a table and looks *then* whether its snapshot
//! was revoked: if not, the view was loaded while everything was still there, and stays whole as long
//! as it is held. Whoever throws something away does so in a view that comes later.
//!
//! Thread safety: any number of threads; the lock is held for a few map operations only.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use onlap_base::{Csn, Error, ErrorKind, Result, RowId};
use parking_lot::Mutex;

/// Open snapshots of a database.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    published: AtomicU64,
    open: Mutex<Open>,
    revoked: AtomicU64,
}

#[derive(Debug, Default)]
struct Open {
    held: BTreeMap<(Csn, u64), Arc<Held>>,
    next: u64,
}

/// A registered snapshot.
#[derive(Debug)]
pub(crate) struct Held {
    csn: Csn,
    number: u64,
    /// It was asked for when newer commits were visible already.
    past: bool,
    revoked: AtomicBool,
    /// When [`Snapshots::oldest_since`] first met it, in microseconds since 1970; 0: not yet.
    since_us: AtomicI64,
}

impl Held {
    /// The newest commit that it sees.
    pub(crate) fn csn(&self) -> Csn {
        self.csn
    }

    /// Whether it was asked for when newer commits were visible already.
    pub(crate) fn is_past(&self) -> bool {
        self.past
    }

    /// Fails once the snapshot was revoked. Asked after a view was loaded.
    pub(crate) fn check(&self) -> Result<()> {
        if !self.revoked.load(Ordering::Acquire) {
            return Ok(());
        }
        let text = format!(
            "the snapshot of commit {} was open for too long and kept too much; take a new one",
            self.csn
        );
        Err(Error::new(ErrorKind::SnapshotTooOld, text))
    }
}

impl Snapshots {
    pub(crate) fn new(published: Csn) -> Snapshots {
        Snapshots { published: AtomicU64::new(published), ..Snapshots::default() }
    }

    /// The newest visible commit.
    pub(crate) fn published(&self) -> Csn {
        self.published.load(Ordering::Acquire)
    }

    /// Makes commits up to `csn` visible; called in CSN order after they are applied (I2).
    pub(crate) fn publish(&self, csn: Csn) {
        assert!(csn >= self.published(), "what was visible stays visible (I2)");
        self.published.store(csn, Ordering::Release);
    }

    /// Registers a snapshot of everything published.
    pub(crate) fn register(&self) -> Arc<Held> {
        self.open.lock().add(self.published(), |_| false)
    }

    /// Registers a snapshot of a commit; `None`: it is not published yet.
    pub(crate) fn register_past(&self, csn: Csn) -> Option<Arc<Held>> {
        let mut open = self.open.lock();
        let published = self.published();
        (csn <= published).then(|| open.add(csn, |csn| csn < published))
    }

    pub(crate) fn release(&self, held: &Held) {
        // A revoked one has left already.
        self.open.lock().held.remove(&(held.csn, held.number));
    }

    /// No open or future snapshot is older than this, those of the past left aside.
    pub(crate) fn oldest(&self) -> Csn {
        self.open.lock().oldest().unwrap_or_else(|| self.published())
    }

    /// The horizon of a table. `begin` is where its history begins; `None`: it keeps none. The caller
    /// may throw away what died at or below it: no later snapshot will ask.
    pub(crate) fn horizon(&self, floor: &AtomicU64, begin: Option<Csn>) -> Csn {
        let open = self.open.lock();
        let mut horizon = open.oldest().unwrap_or_else(|| self.published());
        if let Some(begin) = begin {
            let least = floor.load(Ordering::Acquire);
            let past = open.held.range((least, 0)..).map(|(_, h)| h).find(|h| h.past);
            let past = past.map_or(Csn::MAX, |h| h.csn);
            horizon = horizon.min(begin.min(past).max(least));
        }
        let before = floor.fetch_max(horizon, Ordering::AcqRel);
        debug_assert!(begin.is_none() || horizon >= before, "a history's floor does not fall");
        assert!(horizon <= self.published(), "no horizon lies above what is visible");
        horizon
    }

    /// The CSN of the oldest open snapshot that does not see everything, and since when it is known to
    /// be open.
    pub(crate) fn oldest_since(&self, now_us: i64) -> Option<(Csn, i64)> {
        let open = self.open.lock();
        let published = self.published();
        let mut oldest = None;
        for held in open.held.values().take_while(|h| h.csn < published) {
            let since = match held.since_us.load(Ordering::Relaxed) {
                0 => {
                    held.since_us.store(now_us.max(1), Ordering::Relaxed);
                    now_us
                }
                since => since,
            };
            // A snapshot of the past may be younger than those above it.
            let older = |(_, s): &(Csn, i64)| since < *s;
            if oldest.is_none() || !held.past && oldest.as_ref().is_some_and(older) {
                oldest = Some((held.csn, since));
            }
        }
        oldest
    }

    /// Revokes every snapshot of this commit.
    pub(crate) fn revoke(&self, csn: Csn) {
        let mut open = self.open.lock();
        let keys: Vec<_> = open.held.range((csn, 0)..=(csn, u64::MAX)).map(|(k, _)| *k).collect();
        for key in keys {
            if let Some(held) = open.held.remove(&key) {
                held.revoked.store(true, Ordering::Release);
                self.revoked.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Number of snapshots revoked so far.
    pub(crate) fn revoked(&self) -> u64 {
        self.revoked.load(Ordering::Relaxed)
    }

    /// Number of open snapshots.
    pub(crate) fn len(&self) -> usize {
        self.open.lock().held.len()
    }

    /// Whether an open or future snapshot may lie at or after commit `from` and before `to`; those of the
    /// past left aside. Asked by whoever publishes.
    pub(crate) fn may_lie_between(&self, from: Csn, to: Csn) -> bool {
        (from..to).contains(&self.published())
            || self.open.lock().held.range((from, 0)..(to, 0)).next().is_some()
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
                        || open.held.range((from, 0)..(next, 0)).next().is_some()
                        || from > published
                }
            };
            if needed {
                counts[kept] = counts[i];
                kept += 1;
            }
        }
        assert!(kept > 0, "the newest count stays");
        counts.truncate(kept);
    }
}

impl Open {
    fn add(&mut self, csn: Csn, is_past: impl Fn(Csn) -> bool) -> Arc<Held> {
        let number = self.next;
        self.next += 1;
        let held = Arc::new(Held {
            csn,
            number,
            past: is_past(csn),
            revoked: AtomicBool::new(false),
            since_us: AtomicI64::new(0),
        });
        self.held.insert((csn, number), Arc::clone(&held));
        held
    }

    fn oldest(&self) -> Option<Csn> {
        self.held.values().find(|h| !h.past).map(|h| h.csn)
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
        debug_assert!(list.is_sorted_by(|a, b| a.0 < b.0), "commits rise (I2)");
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
        for s in &held {
            assert_eq!(counts.at(s.csn()), Some(s.csn() * 10));
        }
        assert_eq!(snapshots.oldest(), 7);
        assert!(counts.list.lock().len() < 200);
        held.into_iter().for_each(|s| snapshots.release(&s));
        assert_eq!(snapshots.oldest(), 1000);
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
        assert_eq!(before.csn(), 5);
        assert_eq!(counts.at(5), Some(50));
        assert_eq!(counts.at(7), Some(70));
    }

    #[test]
    fn a_history_and_snapshots_of_the_past_hold_a_table_back_above_its_floor() {
        let snapshots = Snapshots::new(100);
        let (with, without) = (AtomicU64::new(40), AtomicU64::new(0));
        let early = snapshots.register();
        snapshots.publish(200);
        assert_eq!(snapshots.horizon(&without, None), 100);
        assert_eq!(snapshots.horizon(&with, Some(60)), 60);
        let past = snapshots.register_past(80).expect("published");
        let lost = snapshots.register_past(50).expect("published");
        assert!(past.is_past() && lost.csn() < with.load(Ordering::Relaxed));
        assert!(snapshots.register_past(201).is_none());
        assert_eq!(snapshots.horizon(&with, Some(90)), 80);
        assert_eq!(snapshots.horizon(&without, None), 100, "it has no history to hold");
        snapshots.release(&past);
        assert_eq!(snapshots.horizon(&with, Some(150)), 100);
        snapshots.revoke(100);
        assert!(early.check().is_err());
        assert_eq!(snapshots.horizon(&with, Some(150)), 150);
        assert_eq!(snapshots.horizon(&without, None), 200);
        snapshots.release(&early);
        assert_eq!((snapshots.len(), snapshots.revoked()), (1, 1));
    }

    #[test]
    fn a_floor_above_an_open_snapshot_does_not_take_from_it() {
        let snapshots = Snapshots::new(10);
        let open = snapshots.register();
        snapshots.publish(50);
        // A history begins now.
        let floor = AtomicU64::new(50);
        assert_eq!(snapshots.horizon(&floor, Some(50)), 10);
        snapshots.release(&open);
        assert_eq!(snapshots.horizon(&floor, Some(50)), 50);
    }
}
