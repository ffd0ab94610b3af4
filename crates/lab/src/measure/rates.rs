//! How steady was a load, and how long did single operations take?

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use onlap_base::{Error, ErrorKind, Result};

#[cfg(test)]
mod tests;

/// Length of an interval.
pub const INTERVAL: Duration = Duration::from_millis(100);

/// Seconds over which a trend is taken.
const TREND_SECONDS: usize = 60;

/// Longest run whose intervals are counted: a day. What comes later counts for the last interval.
const INTERVALS_MAX: usize = 24 * 3600 * 10;

/// Longest operation that a histogram tells apart: an hour.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;

/// Operations of one client: how many in which interval, and how long each took.
pub struct Recorder {
    start: Instant,
    intervals: Vec<u64>,
    /// Longest operation that ended in each.
    longest_us: Vec<u64>,
    latency_ns: Histogram<u64>,
    operations: u64,
    last: Instant,
}

impl Recorder {
    /// Counts from `start`, which all clients of a step share.
    pub fn new(start: Instant) -> Result<Recorder> {
        let latency_ns = Histogram::new_with_max(LATENCY_NS_MAX, 3)
            .map_err(|e| Error::new(ErrorKind::InvalidInput, e.to_string()))?;
        Ok(Recorder {
            start,
            intervals: Vec::new(),
            longest_us: Vec::new(),
            latency_ns,
            operations: 0,
            last: start,
        })
    }

    /// An operation on `rows` rows that began at `began` and has just ended.
    pub fn record(&mut self, began: Instant, rows: u64) {
        self.record_at(began, Instant::now(), rows);
    }

    /// An operation on `rows` rows.
    pub fn record_at(&mut self, began: Instant, ended: Instant, rows: u64) {
        self.last = self.last.max(ended);
        self.operations += 1;
        self.latency_ns.saturating_record((ended - began).as_nanos() as u64);
        let interval = ((ended - self.start).as_nanos() / INTERVAL.as_nanos()) as usize;
        let interval = interval.min(INTERVALS_MAX - 1);
        if interval >= self.intervals.len() {
            self.intervals.resize(interval + 1, 0);
            self.longest_us.resize(interval + 1, 0);
        }
        self.intervals[interval] += rows;
        let longest = &mut self.longest_us[interval];
        *longest = (*longest).max((ended - began).as_micros() as u64);
    }

    /// Adds what another client did.
    pub fn merge(&mut self, other: &Recorder) {
        if other.intervals.len() > self.intervals.len() {
            self.intervals.resize(other.intervals.len(), 0);
            self.longest_us.resize(other.intervals.len(), 0);
        }
        self.longest_us.iter_mut().zip(&other.longest_us).for_each(|(a, b)| *a = (*a).max(*b));
        self.intervals.iter_mut().zip(&other.intervals).for_each(|(a, b)| *a += b);
        self.latency_ns.add(&other.latency_ns).expect("histograms have the same bounds");
        self.operations += other.operations;
        self.last = self.last.max(other.last);
    }

    /// Adds what came after this, as if without a pause.
    pub fn append(&mut self, later: &Recorder) {
        let mine = self.elapsed();
        let intervals = mine.as_nanos().div_ceil(INTERVAL.as_nanos()) as usize;
        self.intervals.resize(intervals, 0);
        self.longest_us.resize(intervals, 0);
        self.intervals.extend(&later.intervals);
        self.longest_us.extend(&later.longest_us);
        self.latency_ns.add(&later.latency_ns).expect("histograms have the same bounds");
        self.operations += later.operations;
        self.last = self.start + mine + later.elapsed();
    }

    /// Rows of all operations.
    pub fn rows(&self) -> u64 {
        self.intervals.iter().sum()
    }

    /// Number of operations.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// From the start to the end of the last operation.
    pub fn elapsed(&self) -> Duration {
        self.last - self.start
    }

    /// Rows per second, to the end of the last operation.
    pub fn rate(&self) -> f64 {
        self.rows() as f64 / self.elapsed().as_secs_f64().max(1e-9)
    }

    /// Rates per second of the intervals, in order.
    pub fn interval_rates(&self) -> impl Iterator<Item = u64> {
        let per_second = 1000 / INTERVAL.as_millis() as u64;
        self.intervals.iter().map(move |rows| rows * per_second)
    }

    /// Rate per second at a percentile of the complete intervals, by nearest rank. `None` where no
    /// interval was complete.
    pub fn interval_rate(&self, percentile: f64) -> Option<f64> {
        // The last interval ends when the load does, somewhere in its middle.
        let mut complete = self.intervals[..self.intervals.len().saturating_sub(1)].to_vec();
        complete.sort_unstable();
        let rank = (percentile / 100.0 * complete.len() as f64).ceil() as usize;
        let rows = *complete.get(rank.clamp(1, complete.len().max(1)) - 1)?;
        Some(rows as f64 / INTERVAL.as_secs_f64())
    }

    /// Longest operation of each interval, in microseconds.
    pub fn interval_longest_us(&self) -> &[u64] {
        &self.longest_us
    }

    /// Rows of each complete second.
    fn seconds(&self) -> Vec<u64> {
        let per_second = (1000 / INTERVAL.as_millis()) as usize;
        let complete = &self.intervals[..self.intervals.len().saturating_sub(1)];
        complete.chunks_exact(per_second).map(|second| second.iter().sum()).collect()
    }

    /// Rate at a percentile of the complete seconds, by nearest rank. `None` where there was none.
    pub fn second_rate(&self, percentile: f64) -> Option<f64> {
        let mut seconds = self.seconds();
        seconds.sort_unstable();
        let rank = (percentile / 100.0 * seconds.len() as f64).ceil() as usize;
        let rows = *seconds.get(rank.clamp(1, seconds.len().max(1)) - 1)?;
        Some(rows as f64)
    }

    /// First percentile over the median of the complete seconds' rates, each divided by the trend: the median of
    /// the [`TREND_SECONDS`] around it. A rate that falls slowly as data grows is steady by it. `None` below
    /// two seconds.
    pub fn steadiness(&self) -> Option<f64> {
        let seconds = self.seconds();
        let middle = |mut some: Vec<u64>| {
            some.sort_unstable();
            some[some.len() / 2] as f64
        };
        let share = |i: usize| {
            let last = seconds.len().saturating_sub(TREND_SECONDS);
            let from = i.saturating_sub(TREND_SECONDS / 2).min(last);
            let to = seconds.len().min(from + TREND_SECONDS);
            seconds[i] as f64 / middle(seconds[from..to].to_vec()).max(1.0)
        };
        let mut shares: Vec<f64> = (0..seconds.len()).map(share).collect();
        shares.sort_by(f64::total_cmp);
        let rank = shares.len().div_ceil(100).max(1);
        let (p1, p50) = (shares.get(rank - 1)?, shares.get(shares.len().div_ceil(2) - 1)?);
        (shares.len() > 1 && *p50 > 0.0).then(|| p1 / p50)
    }

    /// Longest stretch, in seconds, in which every interval had less than a tenth of the median
    /// interval's rows.
    pub fn longest_stall(&self) -> f64 {
        let median = self.interval_rate(50.0).unwrap_or(0.0) * INTERVAL.as_secs_f64();
        let complete = &self.intervals[..self.intervals.len().saturating_sub(1)];
        let stalls = complete.split(|rows| *rows as f64 >= median / 10.0);
        stalls.map(<[u64]>::len).max().unwrap_or(0) as f64 * INTERVAL.as_secs_f64()
    }

    /// Rate of the last tenth of the rows divided by that of the first tenth. `None` where a tenth
    /// lasted less than five intervals.
    pub fn last_tenth_over_first(&self) -> Option<f64> {
        let tenth = self.rows() as f64 / 10.0;
        let first = self.intervals_until(tenth);
        let total = self.elapsed().as_secs_f64() / INTERVAL.as_secs_f64();
        let last = total - self.intervals_until(tenth * 9.0);
        (first >= 5.0 && last >= 5.0).then(|| first / last)
    }

    /// Intervals, with a fraction, until so many rows were there.
    fn intervals_until(&self, rows: f64) -> f64 {
        let mut before = 0.0;
        for (i, n) in self.intervals.iter().enumerate() {
            let n = *n as f64;
            if before + n >= rows {
                return i as f64 + if n > 0.0 { (rows - before) / n } else { 0.0 };
            }
            before += n;
        }
        self.intervals.len() as f64
    }

    /// Duration at a percentile, in microseconds.
    pub fn latency_us(&self, percentile: f64) -> f64 {
        self.latency_ns.value_at_percentile(percentile) as f64 / 1e3
    }

    /// Longest operation in milliseconds.
    pub fn longest_ms(&self) -> f64 {
        self.latency_ns.max() as f64 / 1e6
    }
}
