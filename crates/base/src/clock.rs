//! What time is it?
//!
//! The seam through which every layer reads time, so that a run replays. [`SystemClock`] asks the
//! operating system; [`ManualClock`] is its double and moves only when told. Both are safe to share.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Two clocks: one that people read and that may jump, one that only ever goes forward.
pub trait Clock: Send + Sync {
    /// Microseconds since 1970-01-01 00:00 UTC; may jump either way when the machine's clock is set.
    fn unix_us(&self) -> i64;

    /// Nanoseconds since some fixed moment; never goes back. For durations.
    fn monotonic_ns(&self) -> u64;
}

/// The machine's clocks. The monotonic one counts from the first time it was asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

static START: OnceLock<Instant> = OnceLock::new();

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the seam the other layers use")]
    fn unix_us(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the seam the other layers use")]
    fn monotonic_ns(&self) -> u64 {
        let start = *START.get_or_init(Instant::now);
        u64::try_from(Instant::now().duration_since(start).as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Nanoseconds of processor time that the calling thread has used. For accounts of what work cost: it is
/// no part of a decision, so a replay needs no double of it. A call is a system call.
pub fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let (seconds, ns) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec));
    seconds.unwrap_or(0).saturating_mul(1_000_000_000).saturating_add(ns.unwrap_or(0))
}

/// Whether accounts are not kept: for benches of what keeping them costs.
static UNCOUNTED: AtomicBool = AtomicBool::new(false);

/// Lets the process keep accounts of processor time, or none: [`with_cpu_ns`] then says 0. For benches of what that costs; whatever
/// is not told so keeps them.
pub fn keep_accounts(keep: bool) {
    UNCOUNTED.store(!keep, Ordering::Relaxed);
}

/// Whether accounts are kept.
pub fn keeps_accounts() -> bool {
    !UNCOUNTED.load(Ordering::Relaxed)
}

/// Runs `f` and says how much processor time of this thread it took.
pub fn with_cpu_ns<T>(f: impl FnOnce() -> T) -> (T, u64) {
    if !keeps_accounts() {
        return (f(), 0);
    }
    let before = thread_cpu_ns();
    let made = f();
    (made, thread_cpu_ns().saturating_sub(before))
}

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock {
    start_us: i64,
    passed_ns: AtomicU64,
}

impl ManualClock {
    /// Shows `unix_us` until moved; its monotonic side begins at 0.
    pub fn new(unix_us: i64) -> ManualClock {
        ManualClock { start_us: unix_us, passed_ns: AtomicU64::new(0) }
    }

    /// Moves both sides forward.
    pub fn advance(&self, by: Duration) {
        let ns = u64::try_from(by.as_nanos()).expect("tests move the clock by less than 500 years");
        self.passed_ns.fetch_add(ns, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn unix_us(&self) -> i64 {
        self.start_us + (self.monotonic_ns() / 1000) as i64
    }

    fn monotonic_ns(&self) -> u64 {
        self.passed_ns.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests;
