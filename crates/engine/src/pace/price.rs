//! What does a commit pay, in time?
//!
//! Pure functions. Thread safety: plain data.

/// A slice of a commit never pays more than this for what memory is left. The hard limit follows.
pub(crate) const SHARE_MAX_NS: u64 = 20_000_000;

/// Nanoseconds in which `bytes` pass at a rate per second.
pub(crate) fn time_of(bytes: u64, rate: u64) -> u64 {
    (bytes as f64 * 1e9 / rate.max(1) as f64) as u64
}

/// The share of `time_ns` that `bytes` of the `room` take, at most [`SHARE_MAX_NS`]: room that is shared out like this
/// lasts for that time.
pub(crate) fn share(bytes: u64, room: u64, time_ns: u64) -> u64 {
    let share = time_ns as f64 * bytes as f64 / room.max(1) as f64;
    (share as u64).min(SHARE_MAX_NS)
}
