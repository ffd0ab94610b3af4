//! At which rate may writers go, for good?
//!
//! A byte of a commit costs the device more than itself: the log, its share of the flush, and all merges that its
//! entries will go through. The cores cost time besides, which tasks spend between two spans ([`super::cores`]). So the
//! rate that can be kept up is the one at which merges have the time that they need, on the device as flushes leave it
//! and on cores ([`sustained`]), from the first second on and not when a limit is reached. Three things correct it,
//! slowly, because all that is known is estimated:
//!
//! * A device that idles while writers are held back, and merges at times have nothing to do, can take more. Where merges
//!   are at work all the time the device idles for want of cores.
//! * Merges may owe about twice what they owe on average ([`super::owed`]), so that a load is not slowed down for
//!   merges that can come later. While they owe less writers go faster, up to what flushes take; while they owe more,
//!   slower.
//! * Flushes need more of the device when memory fills up.
//!
//! While costs are a guess, right after an open, the flush under way knows better how long memory lasts.
//!
//! On top there is a *credit*: memory takes in a while of commits at any speed. It is given out over some seconds, so
//! that its end is no cliff, and earned back while writers are slower than the device.
//!
//! Rates are in bytes of commit bodies per second. Changes are slow enough not to be seen in the rates of two
//! seconds next to each other. A pure function of what was measured, tried on devices of all kinds in its tests;
//! must not know clocks, files or tables. Thread safety: plain data.

#[cfg(test)]
mod tests;

/// The law is asked this often.
pub(crate) const STEP_NS: u64 = 100_000_000;
/// Most that the rate changes in a step.
const CHANGE_MAX: f64 = 0.02;
/// The same while costs are a guess.
const CHANGE_MAX_NEW: f64 = 0.1;
/// Seconds over which a credit is given out.
const CREDIT_SECONDS: f64 = 2.0;
/// Share of the memtables' part that writers may plan with: the rest is for what many of them add at once.
pub(crate) const PLANNED: f64 = 0.97;
/// Seconds for which memory has room for commits while the device is silent.
const RESERVE_SECONDS: f64 = 2.4;
/// For the sake of that, writers go at this share of what the device keeps up, at least.
const ROOM_LEAST: f64 = 0.85;
/// The same while costs are a guess: then the flush under way knows better.
const ROOM_LEAST_NEW: f64 = 0.3;
/// Nor is a memtable frozen below this share of the memtables' part.
const FREEZE_LEAST: f64 = 0.25;
/// Device and merges count as idle below this share of busy time: the next span is made meanwhile.
const BUSY_SHARE: f64 = 0.9;
/// Merges may owe this many times what they owe on average: all tiers full, and one of each being merged.
const OWED_MOST: f64 = 2.2;
/// Memory is short above this share of the memtables' part.
const FILLED_MOST: f64 = 0.88;
/// Flushes and the log get this share of the device, and of their task's time, at most: nothing would be merged beyond,
/// and no flush would catch up.
const FLUSHES_SHARE: f64 = 0.9;
/// A device that is silent for a larger part of the time is a slow one, not one that stalls.
const STALLED_MOST: f64 = 0.5;
/// A credit is earned below this share.
const FILLED_EARNS: f64 = 0.4;
/// How fast the correction follows: per second, and for a whole of the quantity.
const IDLE_GAIN: f64 = 0.02;
const OWED_GAIN: f64 = 0.006;
const FILLED_GAIN: f64 = 0.5;
/// The correction stays between the two: what is known of costs is not further off.
const CORRECTIONS: (f64, f64) = (0.4, 1.6);
/// The rate is never below this: a commit of 64 KiB takes a second then.
const RATE_MIN: f64 = 65536.0;

/// Bytes at which a memtable is frozen, so that two of them and the reserve fit a part of `part` bytes, of which
/// writers take `rate` bytes per second.
pub(crate) fn freeze_at(part: f64, rate: f64) -> f64 {
    ((PLANNED * part - RESERVE_SECONDS * rate) / 2.0).max(FREEZE_LEAST * part)
}

/// The rate at which merges keep up, in bytes of commits per second, where flushes and the log go first. A byte costs a
/// device of `device` bytes per second `flush` bytes for these and `merge` for merges, which take `cores` seconds for it
/// besides. That is where the time of merges is used up: `rate * (cores + merge / (device - rate * flush)) = 1`.
pub(crate) fn sustained(device: f64, flush: f64, merge: f64, cores: f64) -> f64 {
    let work = cores * device;
    let all = work + flush + merge;
    let apart = (all * all - 4.0 * work * flush).max(0.0).sqrt();
    2.0 * device / (all + apart)
}

/// What the law goes by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    /// On any clock that does not go back.
    pub now_ns: u64,
    /// Bytes that the device takes in a busy second; 0 while that is not known.
    pub device_rate: f64,
    /// It has been silent for far longer than it should.
    pub is_stalled: bool,
    /// Share of the time in which it was busy, and in which it was silent and nothing got on.
    pub busy_share: f64,
    pub stalled_share: f64,
    /// Bytes for the device per byte of a commit, merges for good included.
    pub cost: f64,
    /// The same without merges.
    pub flush_cost: f64,
    /// Seconds that merges take for it besides, and flushes.
    pub merge_cores: f64,
    pub flush_cores: f64,
    /// Share of the time in which merges were at work.
    pub merging_share: f64,
    /// So few flushes have ended that costs are a guess.
    pub is_new: bool,
    /// What merges owe, in what they owe on average.
    pub owed: f64,
    /// Share of the memtables' part that is in use.
    pub filled: f64,
    /// Bytes of commits that still fit, and seconds until what is frozen is flushed; 0 when nothing is.
    pub room: f64,
    pub drained_in: f64,
    /// Seconds until the flush that ends next has ended, and how many more fit then.
    pub next_in: f64,
    pub freed: f64,
    /// Bytes of commits admitted so far.
    pub admitted: u64,
    /// Bytes of commits that memory takes in at any speed.
    pub credit_max: f64,
}

impl Measured {
    /// The rate at which memory keeps this reserve, in bytes of commits, from flush to flush until all is flushed.
    fn lasts(&self, reserve: f64) -> f64 {
        if self.drained_in <= 0.0 {
            return f64::INFINITY;
        }
        let by = |room: f64, seconds: f64| (room - reserve) / seconds.max(1.0);
        by(self.room, self.next_in).min(by(self.room + self.freed, self.drained_in))
    }
}

/// What the law remembers.
#[derive(Clone, Debug)]
pub(crate) struct Law {
    at_ns: u64,
    admitted: u64,
    correction: f64,
    /// What can be kept up; 0 before the device is known.
    rate: f64,
    credit: f64,
}

impl Law {
    pub(crate) fn new(now_ns: u64) -> Law {
        Law { at_ns: now_ns, admitted: 0, correction: 1.0, rate: 0.0, credit: f64::MAX }
    }

    /// Looks at what was measured since the last step; the rate at which writers may go. Nothing: as fast as they can.
    pub(crate) fn step(&mut self, m: &Measured) -> Option<f64> {
        let seconds = m.now_ns.saturating_sub(self.at_ns) as f64 / 1e9;
        let admitted = m.admitted.saturating_sub(self.admitted) as f64;
        (self.at_ns, self.admitted) = (m.now_ns, m.admitted);
        self.credit = self.credit.min(m.credit_max);
        if m.device_rate <= 0.0 || m.flush_cost <= 0.0 {
            self.credit = (self.credit - admitted).max(0.0);
            return None;
        }
        // What writers did not take for want of room is no credit.
        let earned = if m.filled < FILLED_EARNS { self.rate * seconds } else { 0.0 };
        // What a long pause says is over.
        let seconds = seconds.min(1.0);
        let is_held = admitted >= 0.9 * self.rate * seconds;
        self.correct(m, seconds, is_held);
        // At this rate memory keeps its reserve until what is frozen is flushed.
        let lasts = m.lasts(RESERVE_SECONDS * self.rate);
        let by_flushes = FLUSHES_SHARE / (m.flush_cores + m.flush_cost / m.device_rate);
        let merge_cost = (m.cost - m.flush_cost).max(0.0);
        let sustained = sustained(m.device_rate, m.flush_cost, merge_cost, m.merge_cores);
        // What is missed in stalls has to be made up for between them.
        let moving = 1.0 - m.stalled_share.clamp(0.0, STALLED_MOST);
        let (sustained, by_flushes) = (sustained * moving, by_flushes * moving);
        let mut target = sustained * self.correction;
        if !m.is_stalled {
            let least = if m.is_new { ROOM_LEAST_NEW } else { ROOM_LEAST };
            target = target.min(lasts.max(least * target));
        }
        let target = target.min(by_flushes).max(RATE_MIN);
        let change = if m.is_new { CHANGE_MAX_NEW } else { CHANGE_MAX };
        let most = change * seconds * 1e9 / STEP_NS as f64;
        self.rate = match self.rate > 0.0 {
            // Memory has a reserve for this.
            true if m.is_stalled => self.rate,
            true => target.clamp(self.rate * (1.0 - most).max(0.5), self.rate * (1.0 + most)),
            false => target,
        };
        self.credit = (self.credit + earned - admitted.min(self.credit + earned)).min(m.credit_max);
        let extra = (self.credit / CREDIT_SECONDS).min((lasts - self.rate).max(0.0));
        Some(self.rate + extra)
    }

    fn correct(&mut self, m: &Measured, seconds: f64, is_held: bool) {
        let over = |now: f64, most: f64| (now - most).max(0.0);
        let mut change = -FILLED_GAIN * over(m.filled, FILLED_MOST);
        let busy_share = m.busy_share.max(m.merging_share);
        let is_busy = busy_share >= BUSY_SHARE;
        if m.owed > OWED_MOST && is_busy || is_held && change == 0.0 {
            change += OWED_GAIN * (OWED_MOST - m.owed).max(-2.0);
        }
        if is_held && change >= 0.0 && !is_busy {
            change += IDLE_GAIN * (BUSY_SHARE - busy_share);
        }
        let (least, most) = CORRECTIONS;
        self.correction = (self.correction * (1.0 + change * seconds)).clamp(least, most);
    }
}
