//! What does a commit pay, in time?
//!
//! Pure functions. Thread safety: plain data.

/// A slice of a commit never pays more than this for what memory is left. The hard limit follows.
pub(crate) const SHARE_MAX_NS: u64 = 20_000_000;

/// Nanoseconds in which `bytes` pass at a rate per second.
pub(crate) fn time_of(bytes: u64, rate: u64) -> u64 {
    (bytes as f64 * 1e9 / rate.max(1) as f64) as u64
}

/// A flush may take this many times as long as expected.
const LATE: f64 = 2.0;
/// This part of what the next flush gives back is not planned with before it has ended.
const KEPT_PART: u64 = 16;

/// What `bytes` pay so that `room` lasts until the next flush ends, in `next_ns`, and with the `freed` bytes that it gives
/// back until all do, in `all_ns`. The last of the room has to last until then without them: a device may have become
/// slow just now.
pub(crate) fn share_of_room(bytes: u64, room: u64, freed: u64, next_ns: u64, all_ns: u64) -> u64 {
    let next = share(bytes, room.saturating_sub(freed / KEPT_PART), (next_ns as f64 * LATE) as u64);
    let planned = next.max(share(bytes, room + freed, all_ns));
    planned.min(share(bytes, room, all_ns.max(next_ns)))
}

/// The share of `time_ns` that `bytes` of the `room` take, at most [`SHARE_MAX_NS`]: room that is shared out like this
/// lasts for that time.
pub(crate) fn share(bytes: u64, room: u64, time_ns: u64) -> u64 {
    let share = time_ns as f64 * bytes as f64 / room.max(1) as f64;
    (share as u64).min(SHARE_MAX_NS)
}
