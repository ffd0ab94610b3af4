//! How fast may writers go while background work is behind?
//!
//! A rule of I10: delay grows smoothly with what is owed, and there is no switch that stops the
//! world. Three things count.
//!
//! **The device.** Where it is what everything waits for, writers go at the rate that it keeps up for good, flushes and
//! merges included ([`crate::pace`]), long before memory or a debt is at its limit.
//!
//! **Memtables.** While frozen memtables are being flushed, writers share what is left of the
//! memtables' part so that it lasts until the flush is expected to end: a writer that fills memory
//! faster than flushes drain it settles at the rate of the flushes from their first moment on,
//! instead of running into a wall at their end. Where several are frozen, what is left has to last until the first of
//! them is flushed, and from then on there is its memory too. Flushes take now more, now less time; so that this
//! does not show, writers do not go faster meanwhile than the last few flushes on average, and
//! memory has room for more than the active memtable and one in the flush. Should it come to that all the same, it waits in
//! short steps until a flush has finished. When flushes fail, it is told why instead: a full disk is
//! an error that the caller can do something about, a wait without end is not.
//!
//! **Merges.** Over its limit, merge debt paces writers to a falling share of the rate of flushes, in the
//! end to a share at which merges get on faster than the debt grows ([`LEAST_SHARE`]). No hard limit
//! stands behind this debt, so a large commit pays for all of its bytes, however long that takes; it
//! stops waiting as soon as the debt is below its limit.
//!
//! Delays of single commits are far shorter than a thread can sleep. So they are added up on a clock
//! of what writers have paid for, and a writer sleeps when that is ahead of the time. Large commits pay slice by slice,
//! in proportion to their bytes, so that a small one waits for a slice of each other writer at most.
//!
//! Thread safety: atomics and locks held for an instant; waits go through
//! [`onlap_base::tasks::Tasks`] and hold no lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use onlap_base::memory::Part;
use onlap_base::{Error, Result};
use parking_lot::Mutex;

use crate::database::Shared;
use crate::options::Rule;
use crate::pace::Writers;
use crate::pace::price::{SHARE_MAX_NS, share_of_room, time_of};

mod stalls;

pub use stalls::Stall;
use stalls::Stalls;
pub(crate) use stalls::Why;

/// Bytes of memtable per second that a flush is expected to drain before the first was measured.
const DRAIN_RATE_START: u64 = 100 << 20;
/// Share of the memtables' limit, in percent, that writers may plan with: the rest is for what many
/// of them add at once.
const PLANNED_PERCENT: u64 = 97;
/// Share of a flush's work from which on its progress tells when it will end.
const EARLY: f64 = 0.05;
/// A flush that takes longer than expected is given this share of its expected time again.
const OVERTIME_SHARE: u64 = 10;
/// Weight of what was before in the averages that writers follow, at each flush.
const KEPT_SHARE: f64 = 0.75;
/// The same where the next flush is foretold.
const KEPT_SHARE_NEXT: f64 = 0.5;
/// A writer that slept too long may catch up with as much.
const CATCH_UP_NS: u64 = 4_000_000;
/// Writers sleep when they are ahead of what they have paid for by this much.
const STEP_NS: u64 = 500_000;
/// Bytes of a commit that pay at once: a hundred commits of a hundred rows are a few of it.
const SLICE_BYTES: u64 = 64 << 10;
/// At its worst, merge debt leaves writers this share of the rate of flushes: merges read a byte that
/// was flushed some times in its life, at about the rate at which flushes write it.
const LEAST_SHARE: f64 = 1.0 / 16.0;
/// At most this number of writers of large commits share the rate; beyond, each of them has what it would have then.
const SHARERS: u64 = 16;
/// Deletes on a full disk may pass the limit by this share of it.
const DELETES_SHARE: u64 = 8;
/// Step in which the hard limit is waited out.
const HARD_STEP: Duration = Duration::from_millis(1);
/// Bytes of memtable per byte of log body, before it was measured: vectors are wider than packed bits.
const GROWTH_START: f64 = 3.0;

/// Pacing of writers.
#[derive(Debug)]
pub(crate) struct Pressure {
    flushes: Mutex<Flushes>,
    /// When all frozen memtables are expected to be flushed; 0 when there are none. In nanoseconds of
    /// the monotonic clock, as is `paid_until`.
    drained_at: AtomicU64,
    /// The average rate of recent flushes, in memtable bytes per second, while it binds writers:
    /// until `bound_until`. 0 before the first flush.
    average: AtomicU64,
    bound_until: AtomicU64,
    /// Until when writers have paid, and until when for merge debt.
    paid_until: AtomicU64,
    debt_paid_until: AtomicU64,
    /// Bytes of log bodies admitted so far.
    bodies: AtomicU64,
    merge_debt: AtomicU64,
    merge_debt_limit: u64,
    stalls: Stalls,
    /// Why the last flush failed; nothing once one has succeeded.
    stuck: Mutex<Option<Error>>,
}

/// What is known of flushes.
#[derive(Clone, Copy, Debug)]
struct Flushes {
    /// Memtable bytes per second that recent ones drained.
    drain_rate: u64,
    /// Bytes and nanoseconds of the last one or two.
    last: Fraction,
    /// Bytes and nanoseconds of the last few.
    few: Fraction,
    /// Bytes of memtables that are frozen.
    frozen: u64,
    /// Those of the flush that ends next, and when that is expected.
    next: u64,
    next_at: u64,
    /// Memtable bytes per byte of log body.
    growth: f64,
    /// Bytes of recently frozen memtables, and of the log bodies meanwhile.
    grown: Fraction,
    /// `bodies` at the last freeze.
    bodies: u64,
}

impl Flushes {
    /// What `bytes` pay so that `room` lasts until the next flush ends, and with what that gives back until all do.
    fn share_of_room(&self, bytes: u64, room: u64, drained_at: u64, now: u64) -> u64 {
        let left = |flushed: u64, at: u64| {
            at.saturating_sub(now).max(time_of(flushed, self.drain_rate) / OVERTIME_SHARE)
        };
        let (next, all) = (left(self.next, self.next_at), left(self.frozen, drained_at));
        share_of_room(bytes, room, self.next, next, all)
    }
}

/// Two sums whose older parts fade, so that the weight of an event is its size: the flush of a small
/// memtable, which is all syncs, tells little about that of a large one.
#[derive(Clone, Copy, Debug, Default)]
struct Fraction {
    over: f64,
    under: f64,
}

impl Fraction {
    fn add(&mut self, kept: f64, over: u64, under: u64) -> f64 {
        self.over = self.over * kept + over as f64;
        self.under = self.under * kept + under as f64;
        self.over / self.under.max(1.0)
    }
}

impl Pressure {
    pub(crate) fn new(merge_debt_limit: u64) -> Pressure {
        Pressure {
            flushes: Mutex::new(Flushes {
                drain_rate: DRAIN_RATE_START,
                last: Fraction::default(),
                few: Fraction::default(),
                frozen: 0,
                next: 0,
                next_at: 0,
                growth: GROWTH_START,
                grown: Fraction::default(),
                bodies: 0,
            }),
            drained_at: AtomicU64::new(0),
            average: AtomicU64::new(0),
            bound_until: AtomicU64::new(0),
            paid_until: AtomicU64::new(0),
            debt_paid_until: AtomicU64::new(0),
            bodies: AtomicU64::new(0),
            merge_debt: AtomicU64::new(0),
            merge_debt_limit,
            stalls: Stalls::default(),
            stuck: Mutex::new(None),
        }
    }

    /// Notes that a memtable of `bytes` was frozen.
    pub(crate) fn frozen(&self, bytes: u64, now_ns: u64) {
        let mut flushes = self.flushes.lock();
        flushes.frozen += bytes;
        let bodies = self.bodies.load(Ordering::Relaxed);
        let admitted = bodies - std::mem::replace(&mut flushes.bodies, bodies);
        let growth = flushes.grown.add(KEPT_SHARE, bytes, admitted);
        flushes.growth = growth.clamp(0.5, 20.0);
        let begun = self.drained_at.load(Ordering::Relaxed).max(now_ns);
        let drained_at = begun + time_of(bytes, flushes.drain_rate);
        self.drained_at.store(drained_at, Ordering::Relaxed);
        if flushes.frozen == bytes {
            (flushes.next, flushes.next_at) = (bytes, drained_at);
        }
    }

    /// Notes how far a flush of `bytes` has come: `share` of its work in `took_ns`.
    pub(crate) fn progress(&self, bytes: u64, share: f64, took_ns: u64, now_ns: u64) {
        if share < EARLY {
            return;
        }
        let mut flushes = self.flushes.lock();
        if flushes.frozen == 0 {
            // Its table was dropped.
            return;
        }
        // The further it has come, the more its own speed counts, and the less that of those before it: a device
        // that is silent for a moment says little at its beginning.
        let rest = match flushes.last.under > 0.0 {
            true => {
                let before = time_of(bytes, flushes.drain_rate) as f64;
                (1.0 - share) * (took_ns as f64 + (1.0 - share) * before)
            }
            false => took_ns as f64 * (1.0 / share - 1.0),
        };
        let others = time_of(flushes.frozen.saturating_sub(bytes), flushes.drain_rate);
        (flushes.next, flushes.next_at) = (bytes, now_ns + rest as u64);
        self.drained_at.store(now_ns + rest as u64 + others, Ordering::Relaxed);
    }

    /// Notes that a flush drained `bytes` of memtable in `took_ns`.
    pub(crate) fn drained(&self, bytes: u64, took_ns: u64, now_ns: u64) {
        *self.stuck.lock() = None;
        let mut flushes = self.flushes.lock();
        let per_second = |per_ns: f64| ((per_ns * 1e9) as u64).max(1 << 20);
        flushes.drain_rate = per_second(flushes.last.add(KEPT_SHARE_NEXT, bytes, took_ns));
        let average = per_second(flushes.few.add(KEPT_SHARE, bytes, took_ns));
        self.average.store(average, Ordering::Relaxed);
        // Flushes that follow each other at such distances keep writers bound.
        self.bound_until.store(now_ns + took_ns / 8, Ordering::Relaxed);
        self.given_up(&mut flushes, bytes, now_ns);
    }

    /// Notes that `bytes` of frozen memtable went away with their table.
    pub(crate) fn dropped(&self, bytes: u64, now_ns: u64) {
        *self.stuck.lock() = None;
        self.given_up(&mut self.flushes.lock(), bytes, now_ns);
    }

    fn given_up(&self, flushes: &mut Flushes, bytes: u64, now_ns: u64) {
        flushes.frozen = flushes.frozen.saturating_sub(bytes);
        let at = match flushes.frozen {
            0 => 0,
            left => now_ns + time_of(left, flushes.drain_rate),
        };
        // Which of those that are left comes next is known when it has begun.
        (flushes.next, flushes.next_at) = (flushes.frozen, at);
        self.drained_at.store(at, Ordering::Relaxed);
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
        self.stalls.total_us()
    }

    /// Why, how often and for how long, by reason.
    pub(crate) fn stalls(&self) -> Vec<Stall> {
        self.stalls.report()
    }

    /// Notes that a writer was held back.
    pub(crate) fn stalled(&self, why: Why, ns: u64) {
        self.stalls.add(why, ns / 1000);
    }

    /// Holds a writer of a commit of `body_bytes` back for its share.
    ///
    /// # Errors
    /// Memory is full and the last flush failed: its error. Commits that only delete go on for a while.
    pub(crate) fn admit(&self, shared: &Shared, body_bytes: usize, deletes: bool) -> Result<()> {
        let mut left = body_bytes as u64;
        if !shared.obeys(Rule::BackPressure) || !self.is_holding(shared) {
            self.bodies.fetch_add(left, Ordering::Relaxed);
            return Ok(());
        }
        loop {
            let slice = left.min(SLICE_BYTES);
            self.bodies.fetch_add(slice, Ordering::Relaxed);
            self.pay_for(shared, slice);
            left -= slice;
            if left == 0 || shared.background.stopping() {
                break;
            }
        }
        self.bodies.fetch_add(left, Ordering::Relaxed);
        let debt = self.debt_share();
        if debt > 0.0 {
            let flushes = *self.flushes.lock();
            let bytes = (body_bytes as f64 * flushes.growth) as u64;
            self.pay_for_debt(shared, debt_delay(bytes, debt, flushes.drain_rate));
        }
        self.wait_for_room(shared, shared.storage.memory.limit(Part::Memtables), deletes)
    }

    /// Whether anything holds writers back.
    fn is_holding(&self, shared: &Shared) -> bool {
        if shared.pace.holds_back()
            || self.drained_at.load(Ordering::Relaxed) > 0
            || self.debt_share() > 0.0
        {
            return true;
        }
        let bound_until = self.bound_until.load(Ordering::Relaxed);
        if bound_until == 0 || bound_until >= shared.clock.monotonic_ns() {
            return bound_until > 0;
        }
        self.bound_until.store(0, Ordering::Relaxed);
        false
    }

    /// Lets a writer pay for a slice of a commit, by the device, by recent flushes and by the room that is left.
    fn pay_for(&self, shared: &Shared, body_bytes: u64) {
        let now = shared.clock.monotonic_ns();
        let memory = &shared.storage.memory;
        let limit = memory.limit(Part::Memtables);
        let used = memory.used(Part::Memtables);
        let flushes = *self.flushes.lock();
        let bytes = (body_bytes as f64 * flushes.growth) as u64;
        let (mut delay, mut why) = (0, Why::Flushes);
        let drained_at = self.drained_at.load(Ordering::Relaxed);
        let is_paced = shared.pace.holds_back();
        let is_bound = drained_at > 0 || self.bound_until.load(Ordering::Relaxed) >= now;
        // On a slow device flushes go faster or slower with what merges leave them; the law knows both.
        if is_bound && !is_paced {
            let average = self.average.load(Ordering::Relaxed);
            delay = if average > 0 { time_of(bytes, average) } else { 0 };
        }
        if drained_at > 0 {
            let room = (limit / 100 * PLANNED_PERCENT).saturating_sub(used);
            delay = delay.max(flushes.share_of_room(bytes, room, drained_at, now));
        }
        if is_paced {
            let admitted = self.bodies.load(Ordering::Relaxed);
            let writers = Writers {
                admitted,
                growth: flushes.growth,
                drained_at,
                next_at: flushes.next_at,
                freed: flushes.next,
            };
            let rate = shared.pace.rate(now, memory, &writers);
            let by_device = rate.map_or(0, |rate| time_of(body_bytes, rate as u64));
            if by_device > delay {
                (delay, why) = (by_device, Why::Device);
            }
        }
        self.pay(shared, now, delay, why);
    }

    /// Adds a delay to what writers owe, and sleeps where that is ahead of the time.
    fn pay(&self, shared: &Shared, now: u64, delay: u64, why: Why) {
        // Others owe a slice each at most. Beyond some of them what is owed is bounded, so that many writers at once
        // do not hold up those that come long after.
        let most = debt_wait_max(delay);
        let paid = |until: u64| until.clamp(now.saturating_sub(CATCH_UP_NS), now + most) + delay;
        let add = |until: u64| Some(paid(until));
        let before = self.paid_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        let ahead = paid(before.unwrap_or(0)).saturating_sub(now);
        if ahead >= STEP_NS {
            shared.tasks.sleep(Duration::from_nanos(ahead));
            self.stalled(why, ahead);
        }
    }

    /// How far merge debt lies between its limit and twice that.
    fn debt_share(&self) -> f64 {
        over(self.merge_debt(), self.merge_debt_limit, 2 * self.merge_debt_limit)
    }

    /// The same where merges are behind. The time is given in steps, after each of which the debt may be
    /// paid by merges.
    fn pay_for_debt(&self, shared: &Shared, delay: u64) {
        let now = shared.clock.monotonic_ns();
        let most = debt_wait_max(delay);
        let paid = |until: u64| until.clamp(now.saturating_sub(CATCH_UP_NS), now + most) + delay;
        let add = |until: u64| Some(paid(until));
        let before = self.debt_paid_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        let until = paid(before.unwrap_or(0)).min(now + most);
        if until < now + STEP_NS {
            return;
        }
        let mut at = now;
        while at < until && self.debt_share() > 0.0 && !shared.background.stopping() {
            let step = (until - at).min(SHARE_MAX_NS);
            shared.tasks.sleep(Duration::from_nanos(step));
            at = shared.clock.monotonic_ns().max(at + step);
        }
        self.stalled(Why::MergeDebt, at - now);
    }

    /// Waits at the hard limit.
    fn wait_for_room(&self, shared: &Shared, limit: u64, deletes: bool) -> Result<()> {
        let full = || shared.storage.memory.used(Part::Memtables) > limit;
        let started = shared.clock.monotonic_ns();
        let mut waited = false;
        while full() && shared.check_writable().is_ok() && shared.has_frozen() {
            if let Some(e) = self.stuck.lock().clone() {
                // The log that is kept for deletes bounds what they add.
                let used = shared.storage.memory.used(Part::Memtables);
                let goes_on = deletes && used <= limit + limit / DELETES_SHARE;
                return if goes_on { Ok(()) } else { Err(e) };
            }
            shared.background.wake();
            shared.tasks.sleep(HARD_STEP);
            waited = true;
        }
        if waited {
            let took = shared.clock.monotonic_ns().saturating_sub(started);
            self.stalled(Why::Memory, took);
        }
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

/// What a commit of `bytes` of memtable pays at a share of the merge debt.
fn debt_delay(bytes: u64, debt: f64, drain_rate: u64) -> u64 {
    let share = (2.0 * (1.0 - debt)).max(LEAST_SHARE);
    time_of(bytes, (drain_rate as f64 * share) as u64)
}

/// How long one commit waits at most that pays so much, with what others pay at the same time.
fn debt_wait_max(delay: u64) -> u64 {
    delay.saturating_mul(SHARERS).max(SHARE_MAX_NS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::price::share;

    /// A writer that pays its delays, against a flush of `flush_ns`: when a hundredth of the room is
    /// left, and how much is left at the end.
    fn writer(room: u64, commit: u64, natural_ns: u64, flush_ns: u64) -> (u64, u64) {
        let (mut now, mut left, mut short_at) = (0, room, flush_ns);
        while now < flush_ns {
            now += natural_ns.max(share(commit, left, flush_ns - now));
            left = left.saturating_sub(commit);
            if left < room / 100 {
                short_at = short_at.min(now);
            }
        }
        (short_at, left)
    }

    #[test]
    fn room_lasts_until_the_flush_ends() {
        let (room, flush) = (48 << 20, 250_000_000);
        let (short_at, left) = writer(room, 5000, 10_000, flush);
        assert!(short_at > flush / 100 * 97, "room is short after {short_at} ns of {flush}");
        assert!(left < room / 100, "{left} bytes left: the writer was held back for nothing");
        // A writer that is slower than the flush is not held back: it uses what it would use anyway.
        let (short_at, left) = writer(room, 5000, 50_000, flush);
        assert_eq!((short_at, room - left), (flush, flush / 50_000 * 5000));
    }

    #[test]
    fn room_lasts_from_flush_to_flush() {
        let pressure = Pressure::new(1 << 30);
        pressure.frozen(20 << 20, 0);
        pressure.drained(20 << 20, 1_000_000_000, 0);
        // One is to be flushed in 0.1 s, another one a second later.
        pressure.frozen(20 << 20, 0);
        pressure.frozen(20 << 20, 0);
        pressure.progress(20 << 20, 0.9, 900_000_000, 900_000_000);
        let (now, drained_at) = (900_000_000, pressure.drained_at.load(Ordering::Relaxed));
        let flushes = *pressure.flushes.lock();
        assert!((1_050_000_000..1_150_000_000).contains(&(drained_at - now)), "{drained_at}");
        let pays = |room: u64| flushes.share_of_room(10 << 10, room, drained_at, now);
        // What is left is enough for the first, and then there are 20 MiB more.
        let alone = share(10 << 10, 5 << 20, drained_at - now);
        assert!(pays(5 << 20) * 3 < alone, "{} of {alone}", pays(5 << 20));
        // It has to last for 0.1 s in any case.
        assert!(pays(1 << 20) >= share(10 << 10, 1 << 20, 90_000_000));
        // When the first has ended nothing is known of the other one but that there is its time.
        pressure.drained(20 << 20, 1_000_000_000, 1_000_000_000);
        let flushes = *pressure.flushes.lock();
        assert_eq!((flushes.next, flushes.next_at), (20 << 20, 2_000_000_000));
    }

    #[test]
    fn delay_grows_as_room_shrinks_and_has_an_end() {
        let mut last = 0;
        for room in (0..=100).rev() {
            let delay = share(5000, room << 20, 200_000_000);
            assert!(delay >= last, "less delay with {room} MiB left");
            last = delay;
        }
        assert_eq!(last, SHARE_MAX_NS);
        assert_eq!(share(5000, 1 << 20, 0), 0);
    }

    /// Writers next to merges that read `merged` bytes a second, each byte of memtable `depth` times: the
    /// most that merges owe in ten minutes, as a share of the limit.
    fn worst_debt(commit: u64, drain_rate: u64, merged: u64, depth: u64) -> f64 {
        let limit = 1u64 << 30;
        let (mut debt, mut worst) = (0u64, 0);
        let mut now = 0;
        while now < 600_000_000_000u64 {
            let share = over(debt, limit, 2 * limit);
            let natural = time_of(commit, drain_rate);
            let paid = if share > 0.0 { debt_delay(commit, share, drain_rate) } else { 0 };
            let took = natural + paid.min(debt_wait_max(paid));
            now += took;
            let done = (merged as f64 * took as f64 / 1e9) as u64;
            debt = (debt + commit * depth).saturating_sub(done);
            worst = worst.max(debt);
        }
        worst as f64 / limit as f64
    }

    #[test]
    fn merge_debt_has_a_bound_whatever_the_size_of_commits() {
        for commit in [10 << 10, 1 << 20, 64 << 20, 256 << 20] {
            let worst = worst_debt(commit, 100 << 20, 50 << 20, 4);
            assert!(worst < 2.6, "commits of {commit} bytes: {worst} times the limit");
        }
    }

    #[test]
    fn small_commits_wait_no_longer_than_before() {
        assert_eq!(debt_wait_max(debt_delay(5000, 1.0, 100 << 20)), SHARE_MAX_NS);
        assert!(debt_wait_max(debt_delay(64 << 20, 1.0, 100 << 20)) > 10_000_000_000);
    }

    #[test]
    fn small_memtables_say_little_about_large_ones() {
        let pressure = Pressure::new(1 << 30);
        pressure.bodies.store(10 << 20, Ordering::Relaxed);
        pressure.frozen(40 << 20, 0);
        pressure.drained(40 << 20, 100_000_000, 0);
        for _ in 0..5 {
            pressure.bodies.fetch_add(1000, Ordering::Relaxed);
            pressure.frozen(300 << 10, 0);
            pressure.drained(300 << 10, 5_000_000, 0);
        }
        let average = pressure.average.load(Ordering::Relaxed);
        assert!(average > 250 << 20, "{average} of 400 MiB a second");
        assert!((3.5..5.5).contains(&pressure.flushes.lock().growth));
    }

    #[test]
    fn expectations_follow_freezes_and_flushes() {
        let pressure = Pressure::new(1 << 30);
        pressure.frozen(100 << 20, 7);
        assert_eq!(pressure.drained_at.load(Ordering::Relaxed), 7 + 1_000_000_000);
        pressure.frozen(50 << 20, 9);
        assert_eq!(pressure.drained_at.load(Ordering::Relaxed), 7 + 1_500_000_000);
        pressure.drained(100 << 20, 500_000_000, 600_000_000);
        let rate = pressure.flushes.lock().drain_rate;
        assert_eq!(rate, 200 << 20);
        let left = pressure.drained_at.load(Ordering::Relaxed) - 600_000_000;
        assert_eq!(left, time_of(50 << 20, rate));
        pressure.dropped(50 << 20, 700_000_000);
        assert_eq!(pressure.drained_at.load(Ordering::Relaxed), 0);
    }
}
