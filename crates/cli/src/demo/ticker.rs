//! What does the demo tell each second?
//!
//! One line per second on stderr: what is being done, how many rows are in, at which rate, and how
//! many queries were answered meanwhile. Plain lines, so that they can be kept in a file.
//!
//! Thread safety: counters are atomics, relaxed because no decision depends on them.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use onlap_lab::measure::process::Resident;
use onlap_lab::units;

/// What the demo does, in order.
const PHASES: [&str; 5] =
    ["loading", "cost, key only", "cost, six indexes", "inserting + asking", "checking answers"];

/// The phases by name.
#[derive(Clone, Copy)]
pub enum Phase {
    /// Loads the five files.
    Load,
    /// Loads a table without secondary indexes.
    CostPlain,
    /// Loads a table with them.
    CostIndexed,
    /// Inserts and queries.
    Grow,
    /// Compares answers.
    Check,
}

/// Counts what happens and tells it.
#[derive(Default)]
pub struct Ticker {
    phase: AtomicUsize,
    rows: AtomicU64,
    queries: AtomicU64,
    done: AtomicBool,
}

impl Ticker {
    /// Begins a phase.
    pub fn begin(&self, phase: Phase) {
        self.phase.store(phase as usize, Relaxed);
    }

    /// Counts committed rows.
    pub fn committed(&self, rows: usize) {
        self.rows.fetch_add(rows as u64, Relaxed);
    }

    /// Counts answered queries.
    pub fn answered(&self, queries: u64) {
        self.queries.fetch_add(queries, Relaxed);
    }

    /// Rows and queries so far.
    pub fn counts(&self) -> (u64, u64) {
        (self.rows.load(Relaxed), self.queries.load(Relaxed))
    }

    /// Runs `work` and tells of it until it ends, by a panic too.
    pub fn during<T>(&self, began: Instant, work: impl FnOnce() -> T) -> T {
        struct Done<'a>(&'a AtomicBool);
        impl Drop for Done<'_> {
            fn drop(&mut self) {
                self.0.store(true, Relaxed);
            }
        }
        std::thread::scope(|scope| {
            let _done = Done(&self.done);
            scope.spawn(|| self.tell(began));
            work()
        })
    }

    fn tell(&self, began: Instant) {
        let (mut last, mut at) = (self.counts(), began);
        let mut next = began + Duration::from_secs(1);
        while !self.done.load(Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
            let now = Instant::now();
            if now < next {
                continue;
            }
            let counts = self.counts();
            let seconds = now.duration_since(at).as_secs_f64();
            let rate = |n: u64| units::grouped((n as f64 / seconds) as u64);
            eprintln!(
                "{:>3} s  {:<18} {:>12} rows {:>10} rows/s {:>6} queries/s {:>10} resident",
                now.duration_since(began).as_secs(),
                PHASES[self.phase.load(Relaxed)],
                units::grouped(counts.0),
                rate(counts.0 - last.0),
                rate(counts.1 - last.1),
                units::size(Resident::now().now)
            );
            (last, at) = (counts, now);
            next += Duration::from_secs(1);
        }
    }
}
