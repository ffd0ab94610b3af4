//! What is a date or time plus an interval, a number of days or a time of day?
//!
//! Months come first and keep within the month's end; then days; then the time. With a zone, months and days are counted on
//! its clock.

use onlap_pg::value::Settings;
use onlap_pg::value::datetime::{DAY_US, END_DATE, MIN_DATE, calendar};
use onlap_pg::value::interval::Interval as Span;
use onlap_pg::{Error, Result};

use super::casts::date_to_timestamp;
use super::parts::{Parts, date_range, from_local, in_range, is_finite, is_finite_date, to_local};
use crate::{Date, Entry, Int4, Interval, Time, TimeTz, Timestamp, check2, two};

/// With the sign of each field turned; the least number stays, as in PostgreSQL.
pub fn turned(span: Span) -> Span {
    Span {
        months: span.months.wrapping_neg(),
        days: span.days.wrapping_neg(),
        time: span.time.wrapping_neg(),
    }
}

/// A timestamp plus an interval; on the clock of a zone if settings are given.
///
/// # Errors
/// `22008`
pub fn plus(value: i64, span: Span, zone: Option<&Settings>) -> Result<i64> {
    if !is_finite(value) {
        return Ok(value);
    }
    let show = |value| zone.map_or(value, |settings| to_local(value, settings));
    let back = |local| match zone {
        Some(settings) => from_local(local, settings),
        None => in_range(local),
    };
    let mut value = value;
    if span.months != 0 {
        let parts = Parts::of(show(value));
        let months = parts.year * 12 + parts.month - 1 + i64::from(span.months);
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
        let day = parts.day.min(calendar::days_of(year, month));
        value = back(Parts { year, month, day, ..parts }.local())?;
    }
    if span.days != 0 {
        // Together they may be a moment though the days alone are more than a number holds.
        let moved = i128::from(span.days) * i128::from(DAY_US) + i128::from(show(value));
        value = back(i64::try_from(moved).ok())?;
    }
    in_range(value.checked_add(span.time))
}

/// A time of day plus microseconds, around the clock.
fn turn(time: i64, by: i64) -> i64 {
    time.wrapping_add(by).rem_euclid(DAY_US)
}

/// A date plus a number of days, and whether that is no date.
#[inline]
fn date_plus(days: i32, more: i32) -> (i32, bool) {
    let (sum, wraps) = days.overflowing_add(more);
    match is_finite_date(days) {
        true => (sum, wraps || !(MIN_DATE..END_DATE).contains(&sum)),
        false => (days, false),
    }
}

/// A date less a number of days, and whether that is no date.
#[inline]
fn date_minus(days: i32, less: i32) -> (i32, bool) {
    let (rest, wraps) = days.overflowing_sub(less);
    match is_finite_date(days) {
        true => (rest, wraps || !(MIN_DATE..END_DATE).contains(&rest)),
        false => (days, false),
    }
}

fn date_span(days: i32, span: Span) -> Result<i64> {
    plus(date_to_timestamp(days)?, span, None)
}

fn date_time(days: i32, time: i64) -> Result<i64> {
    let value = date_to_timestamp(days)?;
    if is_finite(value) { in_range(value.checked_add(time)) } else { Ok(value) }
}

/// A date and a timetz, as a moment.
fn date_timetz(days: i32, (time, west): (i64, i32)) -> Result<i64> {
    let value = date_to_timestamp(days)?;
    let time = time + i64::from(west) * 1_000_000;
    if !is_finite(value) {
        return Ok(value);
    }
    in_range(value.checked_add(time))
        .map_err(|_| Error::new("22008", "date out of range for timestamp"))
}

fn difference(a: i64, b: i64) -> Result<Span> {
    if !is_finite(a) || !is_finite(b) {
        return Err(Error::new("22008", "cannot subtract infinite timestamps"));
    }
    // PostgreSQL 15 does not look whether the number holds the difference.
    let time = a.wrapping_sub(b);
    Ok(Span { months: 0, days: (time / DAY_US) as i32, time: time % DAY_US })
}

/// Dates.
pub const DATES: &[Entry] = &[
    ("date_pli(date,int4)", |_| check2::<Date, Int4, Date, _>(date_plus, |_, _| date_range())),
    ("date_mii(date,int4)", |_| check2::<Date, Int4, Date, _>(date_minus, |_, _| date_range())),
    ("integer_pl_date(int4,date)", |_| {
        check2::<Int4, Date, Date, _>(|a, b| date_plus(b, a), |_, _| date_range())
    }),
    ("date_mi(date,date)", |_| {
        check2::<Date, Date, Int4, _>(
            |a, b| (a.wrapping_sub(b), !is_finite_date(a) || !is_finite_date(b)),
            |_, _| Error::new("22008", "cannot subtract infinite dates"),
        )
    }),
    ("date_pl_interval(date,interval)", |_| {
        two::<Date, Interval, Timestamp>(|a, b, _| date_span(a, b))
    }),
    ("date_mi_interval(date,interval)", |_| {
        two::<Date, Interval, Timestamp>(|a, b, _| date_span(a, turned(b)))
    }),
    ("interval_pl_date(interval,date)", |_| {
        two::<Interval, Date, Timestamp>(|a, b, _| date_span(b, a))
    }),
    ("datetime_pl(date,time)", |_| two::<Date, Time, Timestamp>(|a, b, _| date_time(a, b))),
    ("timestamp(date,time)", |_| two::<Date, Time, Timestamp>(|a, b, _| date_time(a, b))),
    ("timedate_pl(time,date)", |_| two::<Time, Date, Timestamp>(|a, b, _| date_time(b, a))),
    ("datetimetz_pl(date,timetz)", |_| two::<Date, TimeTz, Timestamp>(|a, b, _| date_timetz(a, b))),
    ("timestamptz(date,timetz)", |_| two::<Date, TimeTz, Timestamp>(|a, b, _| date_timetz(a, b))),
    ("timetzdate_pl(timetz,date)", |_| two::<TimeTz, Date, Timestamp>(|a, b, _| date_timetz(b, a))),
    ("timestamptz(date,time)", |_| {
        two::<Date, Time, Timestamp>(|a, b, cx| {
            super::casts::timestamp_to_timestamptz(date_time(a, b)?, cx.settings)
        })
    }),
];

/// Timestamps.
pub const TIMESTAMPS: &[Entry] = &[
    ("timestamp_pl_interval(timestamp,interval)", |_| {
        two::<Timestamp, Interval, Timestamp>(|a, b, _| plus(a, b, None))
    }),
    ("timestamp_mi_interval(timestamp,interval)", |_| {
        two::<Timestamp, Interval, Timestamp>(|a, b, _| plus(a, turned(b), None))
    }),
    ("interval_pl_timestamp(interval,timestamp)", |_| {
        two::<Interval, Timestamp, Timestamp>(|a, b, _| plus(b, a, None))
    }),
    ("timestamptz_pl_interval(timestamptz,interval)", |_| {
        two::<Timestamp, Interval, Timestamp>(|a, b, cx| plus(a, b, Some(cx.settings)))
    }),
    ("timestamptz_mi_interval(timestamptz,interval)", |_| {
        two::<Timestamp, Interval, Timestamp>(|a, b, cx| plus(a, turned(b), Some(cx.settings)))
    }),
    ("interval_pl_timestamptz(interval,timestamptz)", |_| {
        two::<Interval, Timestamp, Timestamp>(|a, b, cx| plus(b, a, Some(cx.settings)))
    }),
    ("timestamp_mi(timestamp,timestamp)", |_| {
        two::<Timestamp, Timestamp, Interval>(|a, b, _| difference(a, b))
    }),
    ("timestamptz_mi(timestamptz,timestamptz)", |_| {
        two::<Timestamp, Timestamp, Interval>(|a, b, _| difference(a, b))
    }),
];

/// Times of day.
pub const TIMES: &[Entry] = &[
    ("time_pl_interval(time,interval)", |_| {
        two::<Time, Interval, Time>(|a, b, _| Ok(turn(a, b.time)))
    }),
    ("time_mi_interval(time,interval)", |_| {
        two::<Time, Interval, Time>(|a, b, _| Ok(turn(a, b.time.wrapping_neg())))
    }),
    ("interval_pl_time(interval,time)", |_| {
        two::<Interval, Time, Time>(|a, b, _| Ok(turn(b, a.time)))
    }),
    ("timetz_pl_interval(timetz,interval)", |_| {
        two::<TimeTz, Interval, TimeTz>(|(time, west), b, _| Ok((turn(time, b.time), west)))
    }),
    ("timetz_mi_interval(timetz,interval)", |_| {
        two::<TimeTz, Interval, TimeTz>(|(time, west), b, _| {
            Ok((turn(time, b.time.wrapping_neg()), west))
        })
    }),
    ("interval_pl_timetz(interval,timetz)", |_| {
        two::<Interval, TimeTz, TimeTz>(|a, (time, west), _| Ok((turn(time, a.time), west)))
    }),
    ("time_mi_time(time,time)", |_| {
        two::<Time, Time, Interval>(|a, b, _| Ok(Span { months: 0, days: 0, time: a - b }))
    }),
];
