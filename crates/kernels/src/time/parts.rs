//! Which year, month, day and time of day is a moment, and the other way round?
//!
//! Values beyond a type's range are PostgreSQL's errors; nothing wraps.

use onlap_pg::value::Settings;
use onlap_pg::value::datetime::{
    DAY_US, END_DATE, END_TIMESTAMP, MIN_DATE, MIN_TIMESTAMP, calendar, local_offset, offset_at,
};
use onlap_pg::{Error, Result};

/// Microseconds of a second, a minute, an hour.
pub const SECOND_US: i64 = 1_000_000;
pub const MINUTE_US: i64 = 60 * SECOND_US;
pub const HOUR_US: i64 = 60 * MINUTE_US;
/// 1970-01-01, in microseconds from 2000.
pub const UNIX_EPOCH: i64 = -946_684_800 * SECOND_US;
/// The Julian day of 2000-01-01.
pub const EPOCH_JULIAN: i64 = 2_451_545;

/// A moment of a local calendar and clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// 0 is 1 BC.
    pub year: i64,
    pub month: i64,
    pub day: i64,
    /// Microseconds from midnight.
    pub time: i64,
}

impl Parts {
    /// Those of a local timestamp that is not infinite.
    pub fn of(local: i64) -> Parts {
        let (year, month, day) = calendar::date(local.div_euclid(DAY_US));
        Parts { year, month, day, time: local.rem_euclid(DAY_US) }
    }

    /// Days from 2000.
    pub fn days(&self) -> i64 {
        calendar::days(self.year, self.month, self.day)
    }

    /// The local timestamp, if a number holds it.
    pub fn local(&self) -> Option<i64> {
        self.days().checked_mul(DAY_US)?.checked_add(self.time)
    }

    pub fn hour(&self) -> i64 {
        self.time / HOUR_US
    }

    pub fn minute(&self) -> i64 {
        self.time / MINUTE_US % 60
    }

    pub fn second(&self) -> i64 {
        self.time / SECOND_US % 60
    }

    /// Microseconds of the second.
    pub fn micros(&self) -> i64 {
        self.time % SECOND_US
    }
}

/// Whether a timestamp is not infinite.
#[inline]
pub fn is_finite(value: i64) -> bool {
    value != i64::MIN && value != i64::MAX
}

/// Whether a date is not infinite.
#[inline]
pub fn is_finite_date(value: i32) -> bool {
    value != i32::MIN && value != i32::MAX
}

/// "timestamp out of range".
pub fn timestamp_range() -> Error {
    Error::new("22008", "timestamp out of range")
}

/// "date out of range".
pub fn date_range() -> Error {
    Error::new("22008", "date out of range")
}

/// "interval out of range".
pub fn interval_range() -> Error {
    Error::new("22008", "interval out of range")
}

/// A timestamp, if it is one.
pub fn in_range(value: Option<i64>) -> Result<i64> {
    value.filter(|v| (MIN_TIMESTAMP..END_TIMESTAMP).contains(v)).ok_or_else(timestamp_range)
}

/// A date, if it is one.
pub fn date_in_range(days: Option<i64>) -> Result<i32> {
    match days {
        Some(days) if (i64::from(MIN_DATE)..i64::from(END_DATE)).contains(&days) => Ok(days as i32),
        _ => Err(date_range()),
    }
}

/// Whether PostgreSQL's calendar has a day: it begins before the first date and goes on for some months after the last.
pub fn has_julian_day(days: i64) -> bool {
    (calendar::days(-4713, 11, 1)..calendar::days(5_874_898, 6, 1)).contains(&days)
}

/// What a clock of the session's zone shows; of a timestamp that is not infinite.
pub fn to_local(value: i64, settings: &Settings) -> i64 {
    value + i64::from(offset_at(settings.zone, value)) * SECOND_US
}

/// The moment when a clock of the session's zone shows this.
pub fn from_local(local: Option<i64>, settings: &Settings) -> Result<i64> {
    let value = local.and_then(|local| {
        local.checked_sub(i64::from(local_offset(settings.zone, local)) * SECOND_US)
    });
    in_range(value)
}

/// Monday of the first week of an ISO year, in days from 2000.
pub fn first_monday(year: i64) -> i64 {
    let fourth = calendar::days(year, 1, 4);
    fourth - iso_weekday(fourth)
}

/// 0 is Monday.
fn iso_weekday(days: i64) -> i64 {
    (calendar::weekday(days) as i64 + 6) % 7
}

/// The year that a day's week belongs to.
pub fn iso_year(days: i64) -> i64 {
    calendar::date(days - iso_weekday(days) + 3).0
}

/// The number of a day's week in its ISO year.
pub fn iso_week(days: i64) -> i64 {
    (days - first_monday(iso_year(days))) / 7 + 1
}
