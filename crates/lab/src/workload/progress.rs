//! What does a running step show?
//!
//! A line per second on standard error with the insert benchmark's columns: seconds of this
//! interval and in total, inserts and queries per second in both, longest insert and query of this
//! interval in microseconds, inserts and queries in total; and the time that the step will take still,
//! by its rate so far.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::campaign::duration;

/// Whether progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A line per second.
    Shown,
    /// Nothing.
    Silent,
}

/// When a step is over, as far as one knows before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Goal {
    /// After so many inserts or queries.
    pub operations: Option<u64>,
    /// After so long at the latest.
    pub time: Option<Duration>,
}

impl Goal {
    /// What is left after so many operations in a time; `None` where nobody can tell.
    fn left(&self, operations: u64, elapsed: Duration) -> Option<Duration> {
        let by_rate = self.operations.filter(|_| operations > 0).map(|goal| {
            let share = goal.saturating_sub(operations) as f64 / operations as f64;
            Duration::from_secs_f64(elapsed.as_secs_f64() * share)
        });
        let by_time = self.time.map(|time| time.saturating_sub(elapsed));
        by_rate.into_iter().chain(by_time).min()
    }
}

/// Lines between two headers.
const HEADER_EVERY: u64 = 20;

/// Counters that client threads add to and the ticker shows.
#[derive(Default)]
pub(crate) struct Counters {
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
    pub fn show(&self, step: &str, goal: Goal, progress: Progress) {
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
                    "{step}\n{:>6}{:>7}{:>12}{:>12}{:>10}{:>10}{:>10}{:>10}{:>14}{:>12}{:>9}",
                    "i_sec",
                    "t_sec",
                    "i_ips",
                    "t_ips",
                    "i_qps",
                    "t_qps",
                    "max_i",
                    "max_q",
                    "t_ins",
                    "t_query",
                    "left"
                );
            }
            shown += 1;
            let now = Instant::now();
            let (inserts, queries) = (self.inserts.load(Relaxed), self.queries.load(Relaxed));
            let (interval, total) = (now - last.0, now - start);
            let left = goal.left(inserts + queries, total);
            let rate = |n: u64, over: Duration| (n as f64 / over.as_secs_f64()).round();
            eprintln!(
                "{:>6.1}{:>7.0}{:>12}{:>12}{:>10}{:>10}{:>10}{:>10}{:>14}{:>12}{:>9}",
                interval.as_secs_f64(),
                total.as_secs_f64(),
                rate(inserts - last.1, interval),
                rate(inserts, total),
                rate(queries - last.2, interval),
                rate(queries, total),
                self.longest_insert_us.swap(0, Relaxed),
                self.longest_query_us.swap(0, Relaxed),
                inserts,
                queries,
                left.map_or_else(|| "-".to_owned(), |left| duration(left.as_secs_f64()))
            );
            last = (now, inserts, queries);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_from_the_rate_and_the_end() {
        let seconds = Duration::from_secs;
        let both = Goal { operations: Some(400), time: Some(seconds(100)) };
        assert_eq!(both.left(100, seconds(10)), Some(seconds(30)));
        assert_eq!(both.left(0, seconds(10)), Some(seconds(90)));
        assert_eq!(both.left(500, seconds(10)), Some(seconds(0)));
        assert_eq!(Goal::default().left(5, seconds(1)), None);
    }
}
