//! How fast may writers go while background work is behind?
//!
//! A rule of I10: delay grows smoothly with what is owed, and there is no switch that stops the
//! world. Two debts count: bytes in memtables over their soft limit, and merge debt over its limit.
//! Between soft and hard limit a writer is paced to a falling share of the rate at which flushes
//! have been draining memtables; at the hard limit of the memtables, which memory depends on, it
//! waits in short steps until a flush has finished. When flushes fail, it is told why instead: a full
//! disk is an error that the caller can do something about, a wait without end is not.
//!
//! Thread safety: atomics and a lock held for an instant; waits go through
//! [`onlap_base::tasks::Tasks`] and hold no lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use onlap_base::memory::Part;
use onlap_base::{Error, Result};
use parking_lot::Mutex;

use crate::database::Shared;

/// Share of the memtables' limit, in percent, at which pacing begins. Half of the part is the active
/// memtables' and half is being flushed, so that an ordinary flush ends before this.
const SOFT_PERCENT: u64 = 80;
/// Drain rate assumed before the first flush was measured: a slow disk's.
const DRAIN_RATE_START: u64 = 20 << 20;
/// A paced writer never waits longer than this for one commit.
const DELAY_MAX: Duration = Duration::from_millis(20);
/// Step in which the hard limit is waited out.
const HARD_STEP: Duration = Duration::from_millis(2);
/// Bytes of memtable per byte of log body, about: vectors are wider than packed bits.
const MEMTABLE_PER_BODY: u64 = 3;

/// Pacing of writers.
#[derive(Debug)]
pub(crate) struct Pressure {
    /// Memtable bytes per second that recent flushes drained.
    drain_rate: AtomicU64,
    merge_debt: AtomicU64,
    merge_debt_limit: u64,
    delayed_us: AtomicU64,
    /// Why the last flush failed; nothing once one has succeeded.
    stuck: Mutex<Option<Error>>,
}

impl Pressure {
    pub(crate) fn new(merge_debt_limit: u64) -> Pressure {
        Pressure {
            drain_rate: AtomicU64::new(DRAIN_RATE_START),
            merge_debt: AtomicU64::new(0),
            merge_debt_limit,
            delayed_us: AtomicU64::new(0),
            stuck: Mutex::new(None),
        }
    }

    /// Notes that a flush drained `bytes` of memtable in `nanos`.
    pub(crate) fn drained(&self, bytes: u64, nanos: u64) {
        *self.stuck.lock() = None;
        let rate = (bytes as f64 * 1e9 / nanos.max(1) as f64) as u64;
        let old = self.drain_rate.load(Ordering::Relaxed);
        self.drain_rate.store((old + rate) / 2, Ordering::Relaxed);
    }

    /// Notes that a flush failed.
    pub(crate) fn flush_failed(&self, e: Error) {
        *self.stuck.lock() = Some(e);
    }

    /// Notes what a table's merges owed and now owe, in bytes.
    pub(crate) fn change_merge_debt(&self, before: u64, now: u64) {
        self.merge_debt.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
    }

    pub(crate) fn merge_debt(&self) -> u64 {
        self.merge_debt.load(Ordering::Relaxed)
    }

    pub(crate) fn merge_debt_limit(&self) -> u64 {
        self.merge_debt_limit
    }

    /// Microseconds that writers have been held back in all.
    pub(crate) fn delayed_us(&self) -> u64 {
        self.delayed_us.load(Ordering::Relaxed)
    }

    /// Holds a writer of a commit of `body_bytes` back for its share.
    ///
    /// # Errors
    /// Memory is full and the last flush failed: its error.
    pub(crate) fn admit(&self, shared: &Shared, body_bytes: usize) -> Result<()> {
        let memory = &shared.storage.memory;
        let limit = memory.limit(Part::Memtables);
        let (mut used, merge_debt) = (memory.used(Part::Memtables), self.merge_debt());
        if used <= limit / 100 * SOFT_PERCENT && merge_debt <= self.merge_debt_limit {
            return Ok(());
        }
        let started = shared.clock.monotonic_ns();
        let delay = delay(
            body_bytes as u64 * MEMTABLE_PER_BODY,
            self.drain_rate.load(Ordering::Relaxed),
            over(used, limit / 100 * SOFT_PERCENT, limit).max(over(
                merge_debt,
                self.merge_debt_limit,
                2 * self.merge_debt_limit,
            )),
        );
        if !delay.is_zero() {
            shared.tasks.sleep(delay);
        }
        while used > limit && shared.check_writable().is_ok() && shared.has_frozen() {
            if let Some(e) = self.stuck.lock().clone() {
                return Err(e);
            }
            shared.background.wake();
            shared.tasks.sleep(HARD_STEP);
            used = memory.used(Part::Memtables);
        }
        let waited = shared.clock.monotonic_ns().saturating_sub(started) / 1000;
        self.delayed_us.fetch_add(waited, Ordering::Relaxed);
        Ok(())
    }
}

/// How far `used` lies between two limits: 0 at the soft one, 1 at the hard one and above.
fn over(used: u64, soft: u64, hard: u64) -> f64 {
    if used <= soft {
        return 0.0;
    }
    ((used - soft) as f64 / (hard - soft).max(1) as f64).min(1.0)
}

/// The time in which `bytes` pass at the share of the drain rate that is left: twice the rate at the
/// soft limit, nothing at the hard one.
fn delay(bytes: u64, drain_rate: u64, over: f64) -> Duration {
    if over <= 0.0 {
        return Duration::ZERO;
    }
    let rate = drain_rate as f64 * 2.0 * (1.0 - over);
    let seconds = bytes as f64 / rate.max(1.0);
    Duration::from_secs_f64(seconds.min(DELAY_MAX.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_grows_smoothly_from_nothing_to_the_longest() {
        let rate = 100 << 20;
        let mut last = Duration::ZERO;
        for percent in 0..=100 {
            let over = over(8000 + percent * 20, 8000, 10_000);
            let d = delay(10 << 10, rate, over);
            assert!(d >= last, "delay falls at {percent} percent");
            assert!(percent > 97 || d < Duration::from_millis(5), "{percent} percent: {d:?}");
            last = d;
        }
        assert_eq!(delay(1, rate, 0.0), Duration::ZERO);
        assert_eq!(last, DELAY_MAX);
    }
}
