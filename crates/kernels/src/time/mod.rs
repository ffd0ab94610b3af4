//! What do functions of dates, times and intervals give?
//!
//! date, time, timetz, timestamp, timestamptz, interval; extract, date_trunc, to_char and their like.

mod age;
mod aggregates;
mod by_row;
mod casts;
pub mod clock;
mod compare;
mod extract;
pub(crate) mod format;
mod general;
mod make;
mod overlaps;
mod parts;
mod rows;
mod shift;
pub(crate) mod spans;
mod timetz;
mod trunc;
mod units;
mod zones;

use crate::Entry;
use crate::aggregate::AggregateEntry;
use crate::series::SeriesEntry;

/// Functions.
pub const ENTRIES: &[&[Entry]] = &[
    age::ENTRIES,
    casts::BETWEEN,
    casts::PRECISION,
    casts::SENT,
    clock::ENTRIES,
    compare::SAME,
    compare::NUMBERS,
    compare::TIMETZ,
    compare::INTERVALS,
    compare::DATE_TIMESTAMP,
    compare::TIMESTAMP_DATE,
    compare::DATE_TIMESTAMPTZ,
    compare::TIMESTAMPTZ_DATE,
    compare::TIMESTAMP_TIMESTAMPTZ,
    compare::TIMESTAMPTZ_TIMESTAMP,
    extract::ENTRIES,
    format::ENTRIES,
    make::ENTRIES,
    overlaps::TIMES,
    overlaps::TIMESTAMPS,
    overlaps::TIMESTAMPTZS,
    overlaps::OTHERS,
    shift::DATES,
    shift::TIMESTAMPS,
    shift::TIMES,
    spans::ENTRIES,
    trunc::ENTRIES,
    zones::ENTRIES,
];
/// Aggregates.
pub const AGGREGATES: &[AggregateEntry] = aggregates::AGGREGATES;
/// Functions that give sets.
pub const SERIES: &[SeriesEntry] = rows::SERIES;

/// A time or timestamp rounded to a type's precision, 0 to 6 decimals of a second; -1 for all.
pub fn with_precision(value: i64, modifier: i32) -> i64 {
    if !(0..6).contains(&modifier) || value == i64::MIN || value == i64::MAX {
        return value;
    }
    let unit = 10_i64.pow(6 - modifier as u32);
    let half = unit / 2;
    if value >= 0 {
        value.saturating_add(half) / unit * unit
    } else {
        -(value.saturating_neg().saturating_add(half) / unit * unit)
    }
}
