//! What is a date or time as another type, or with less precision?

use onlap_pg::value::Settings;
use onlap_pg::value::datetime::{DAY_US, END_TIMESTAMP, local_offset, offset_at, today};
use onlap_pg::value::interval::Interval as Span;
use onlap_pg::value::timetz;
use onlap_pg::{Error, Result};

use super::parts::{from_local, is_finite, to_local};
use super::with_precision;
use crate::{Bytes, Date, Entry, Int4, Interval, Null, Time, TimeTz, Timestamp, one, two};

/// A date's midnight.
///
/// # Errors
/// `22008`
pub fn date_to_timestamp(days: i32) -> Result<i64> {
    match days {
        i32::MIN => Ok(i64::MIN),
        i32::MAX => Ok(i64::MAX),
        days if i64::from(days) < END_TIMESTAMP / DAY_US => Ok(i64::from(days) * DAY_US),
        _ => Err(Error::new("22008", "date out of range for timestamp")),
    }
}

/// A date's midnight in the session's zone.
///
/// # Errors
/// `22008`
pub fn date_to_timestamptz(days: i32, settings: &Settings) -> Result<i64> {
    let local = date_to_timestamp(days)?;
    if !is_finite(local) {
        return Ok(local);
    }
    from_local(Some(local), settings)
        .map_err(|_| Error::new("22008", "date out of range for timestamp"))
}

/// The moment when a clock of the session's zone shows this.
///
/// # Errors
/// `22008`
pub fn timestamp_to_timestamptz(local: i64, settings: &Settings) -> Result<i64> {
    if is_finite(local) { from_local(Some(local), settings) } else { Ok(local) }
}

/// What a clock of the session's zone shows.
fn timestamptz_to_timestamp(value: i64, settings: &Settings) -> Result<i64> {
    if !is_finite(value) {
        return Ok(value);
    }
    super::parts::in_range(Some(to_local(value, settings)))
}

fn to_date(local: i64) -> i32 {
    match local {
        i64::MIN => i32::MIN,
        i64::MAX => i32::MAX,
        local => local.div_euclid(DAY_US) as i32,
    }
}

/// The time of day; infinity has none.
fn to_time(local: i64) -> Option<i64> {
    is_finite(local).then(|| local.rem_euclid(DAY_US))
}

/// A time of day with the offset of the session's zone today.
pub(crate) fn with_offset(time: i64, settings: &Settings) -> (i64, i32) {
    (time, -local_offset(settings.zone, today(settings) * DAY_US + time))
}

/// timestamp(p): a precision that there is not is an error, other than in a time's.
fn scaled(value: i64, modifier: i32) -> Result<i64> {
    if is_finite(value) && modifier != -1 && !(0..=6).contains(&modifier) {
        let text = format!("timestamp({modifier}) precision must be between 0 and 6");
        return Err(Error::new("22023", text));
    }
    Ok(with_precision(value, modifier))
}

/// Between types.
pub const BETWEEN: &[Entry] = &[
    ("date(timestamp)", |_| one::<Timestamp, Date>(|a, _| Ok(to_date(a)))),
    ("date(timestamptz)", |_| {
        one::<Timestamp, Date>(|a, cx| match is_finite(a) {
            true => Ok(to_date(to_local(a, cx.settings))),
            false => Ok(to_date(a)),
        })
    }),
    ("timestamp(date)", |_| one::<Date, Timestamp>(|a, _| date_to_timestamp(a))),
    ("timestamp(timestamptz)", |_| {
        one::<Timestamp, Timestamp>(|a, cx| timestamptz_to_timestamp(a, cx.settings))
    }),
    ("timestamptz(date)", |_| one::<Date, Timestamp>(|a, cx| date_to_timestamptz(a, cx.settings))),
    ("timestamptz(timestamp)", |_| {
        one::<Timestamp, Timestamp>(|a, cx| timestamp_to_timestamptz(a, cx.settings))
    }),
    ("time(timestamp)", |_| one::<Timestamp, Null<Time>>(|a, _| Ok(to_time(a)))),
    ("time(timestamptz)", |_| {
        one::<Timestamp, Null<Time>>(|a, cx| match is_finite(a) {
            true => Ok(to_time(to_local(a, cx.settings))),
            false => Ok(None),
        })
    }),
    ("time(timetz)", |_| one::<TimeTz, Time>(|(time, _), _| Ok(time))),
    ("time(interval)", |_| one::<Interval, Time>(|a, _| Ok(a.time.rem_euclid(DAY_US)))),
    ("timetz(time)", |_| one::<Time, TimeTz>(|a, cx| Ok(with_offset(a, cx.settings)))),
    ("timetz(timestamptz)", |_| {
        one::<Timestamp, Null<TimeTz>>(|a, cx| {
            if !is_finite(a) {
                return Ok(None);
            }
            let east = offset_at(cx.settings.zone, a);
            Ok(Some(((a + i64::from(east) * 1_000_000).rem_euclid(DAY_US), -east)))
        })
    }),
    ("interval(time)", |_| one::<Time, Interval>(|time, _| Ok(Span { months: 0, days: 0, time }))),
];

/// To a precision.
pub const PRECISION: &[Entry] = &[
    ("timestamp(timestamp,int4)", |_| two::<Timestamp, Int4, Timestamp>(|a, b, _| scaled(a, b))),
    ("timestamptz(timestamptz,int4)", |_| {
        two::<Timestamp, Int4, Timestamp>(|a, b, _| scaled(a, b))
    }),
    ("time(time,int4)", |_| two::<Time, Int4, Time>(|a, b, _| Ok(with_precision(a, b)))),
    ("timetz(timetz,int4)", |_| {
        two::<TimeTz, Int4, TimeTz>(|(time, west), b, _| Ok((with_precision(time, b), west)))
    }),
    ("interval(interval,int4)", |_| two::<Interval, Int4, Interval>(|a, b, _| a.with_modifier(b))),
];

/// In binary.
pub const SENT: &[Entry] = &[
    ("date_send(date)", |_| one::<Date, Bytes>(|a, _| Ok(a.to_be_bytes().to_vec()))),
    ("time_send(time)", |_| one::<Time, Bytes>(|a, _| Ok(a.to_be_bytes().to_vec()))),
    ("timestamp_send(timestamp)", |_| one::<Timestamp, Bytes>(|a, _| Ok(a.to_be_bytes().to_vec()))),
    ("timestamptz_send(timestamptz)", |_| {
        one::<Timestamp, Bytes>(|a, _| Ok(a.to_be_bytes().to_vec()))
    }),
    ("timetz_send(timetz)", |_| {
        one::<TimeTz, Bytes>(|(time, west), _| Ok(timetz::TimeTz { time, west }.send().to_vec()))
    }),
    ("interval_send(interval)", |_| one::<Interval, Bytes>(|a, _| Ok(a.send().to_vec()))),
];
