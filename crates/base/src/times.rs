//! How long did something take, most of the time?
//!
//! A histogram of durations: parts of doublings from a microsecond on, so that quantiles err by a tenth and a histogram
//! is some hundred counters. Pure; who counts keeps the counters.

/// Parts of each doubling of the time.
const STEPS: usize = 4;
/// Buckets of a histogram: 26 doublings, more than a minute is one.
pub const BUCKETS: usize = 26 * STEPS;

/// Where a duration is counted.
pub fn bucket(ns: u64) -> usize {
    let octaves = (ns.max(1000) as f64 / 1000.0).log2();
    ((octaves * STEPS as f64) as usize).min(BUCKETS - 1)
}

/// Below how many nanoseconds a bucket's durations are; those of the last one may be longer.
pub fn end_ns(bucket: usize) -> u64 {
    (1000.0 * 2f64.powf((bucket + 1) as f64 / STEPS as f64)).ceil() as u64
}

/// What this share of the durations did not exceed, within a tenth; nothing where none was counted.
pub fn quantile_ns(counts: impl Iterator<Item = u64> + Clone, share: f64) -> Option<u64> {
    let all: u64 = counts.clone().sum();
    if all == 0 {
        return None;
    }
    let wanted = ((all as f64 * share).ceil() as u64).max(1);
    let mut passed = 0;
    let at = counts.clone().position(|n| {
        passed += n;
        passed >= wanted
    });
    let middle = at.unwrap_or(BUCKETS - 1) as f64 + 0.5;
    Some((1000.0 * 2f64.powf(middle / STEPS as f64)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_ends_where_the_next_begins() {
        assert_eq!(bucket(0), 0);
        for at in 0..BUCKETS - 1 {
            let end = end_ns(at);
            assert_eq!((bucket(end - 2), bucket(end + 2)), (at, at + 1), "{end} ns");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_err_by_a_tenth() {
        let mut counts = [0u64; BUCKETS];
        (1..=1000u64).for_each(|i| counts[bucket(i * 10_000)] += 1);
        for (share, exact) in [(0.5, 5_000_000f64), (0.99, 9_900_000.0)] {
            let found = quantile_ns(counts.iter().copied(), share).unwrap() as f64;
            assert!((found / exact - 1.0).abs() < 0.11, "{found} of {exact}");
        }
        assert_eq!(quantile_ns([0; BUCKETS].iter().copied(), 0.5), None);
    }
}
