//! What does a running step show?
//!
//! A line per second on standard error with the insert benchmark's columns: seconds of this
//! interval and in total, inserts and queries per second in both, longest insert and query of this
//! interval in microseconds, inserts and queries in total.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Whether progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A line per second.
    Shown,
    /// Nothing.
    Silent,
}

/// Lines between two headers.
const HEADER_EVERY: u64 = 20;

/// Counters that client threads add to and the ticker shows.
#[derive(Default)]
pub(super) struct Counters {
    inserts: AtomicU64,
    queries: AtomicU64,
    longest_insert_us: AtomicU64,
    longest_query_us: AtomicU64,
    done: AtomicBool,
}

impl Counters {
    /// A commit of so many rows.
    pub fn inserted(&self, rows: u64, began: Instant) {
        self.inserts.fetch_add(rows, Relaxed);
        self.longest_insert_us.fetch_max(began.elapsed().as_micros() as u64, Relaxed);
    }

    /// A query.
    pub fn queried(&self, began: Instant) {
        self.queries.fetch_add(1, Relaxed);
        self.longest_query_us.fetch_max(began.elapsed().as_micros() as u64, Relaxed);
    }

    /// The step is over.
    pub fn finish(&self) {
        self.done.store(true, Relaxed);
    }

    /// Prints until [`Counters::finish`].
    pub fn show(&self, step: &str, progress: Progress) {
        if progress == Progress::Silent {
            return;
        }
        let start = Instant::now();
        let (mut shown, mut last) = (0u64, (start, 0, 0));
        loop {
            while last.0.elapsed() < Duration::from_secs(1) {
                if self.done.load(Relaxed) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            if shown.is_multiple_of(HEADER_EVERY) {
                eprintln!(
                    "{step}\n{:>6}{:>7}{:>12}{:>12}{:>10}{:>10}{:>10}{:>10}{:>14}{:>12}",
                    "i_sec",
                    "t_sec",
                    "i_ips",
                    "t_ips",
                    "i_qps",
                    "t_qps",
                    "max_i",
                    "max_q",
                    "t_ins",
                    "t_query"
                );
            }
            shown += 1;
            let now = Instant::now();
            let (inserts, queries) = (self.inserts.load(Relaxed), self.queries.load(Relaxed));
            let (interval, total) = (now - last.0, now - start);
            let rate = |n: u64, over: Duration| (n as f64 / over.as_secs_f64()).round();
            eprintln!(
                "{:>6.1}{:>7.0}{:>12}{:>12}{:>10}{:>10}{:>10}{:>10}{:>14}{:>12}",
                interval.as_secs_f64(),
                total.as_secs_f64(),
                rate(inserts - last.1, interval),
                rate(inserts, total),
                rate(queries - last.2, interval),
                rate(queries, total),
                self.longest_insert_us.swap(0, Relaxed),
                self.longest_query_us.swap(0, Relaxed),
                inserts,
                queries
            );
            last = (now, inserts, queries);
        }
    }
}
