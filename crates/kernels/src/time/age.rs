//! How many years, months, days and hours are between two moments?
//!
//! Fields are subtracted one by one; what is below zero borrows from the next larger one, days from the month of the earlier
//! moment.

use onlap_pg::Result;
use onlap_pg::value::datetime::{DAY_US, calendar, offset_at, today};
use onlap_pg::value::interval::Interval as Span;

use super::casts::date_to_timestamptz;
use super::parts::{Parts, timestamp_range};
use crate::{Cx, Entry, Interval, Timestamp, one, two};

/// The parts of what a clock shows that is so many seconds before UTC. PostgreSQL 15 takes infinity for the moment that its
/// number is; that of -infinity has no date.
fn parts(value: i64, east: i32) -> Result<Parts> {
    if value == i64::MIN {
        return Err(timestamp_range());
    }
    let time = value.rem_euclid(DAY_US) + i64::from(east) * 1_000_000;
    let days = value.div_euclid(DAY_US) + time.div_euclid(DAY_US);
    let (year, month, day) = calendar::date(days);
    Ok(Parts { year, month, day, time: time.rem_euclid(DAY_US) })
}

/// The age between two moments on clocks; which moment is earlier, `before` says.
fn between(a: Parts, b: Parts, before: bool) -> Span {
    let (later, earlier) = if before { (b, a) } else { (a, b) };
    let mut months = (later.year - earlier.year) * 12 + later.month - earlier.month;
    let (mut days, mut time) = (later.day - earlier.day, later.time - earlier.time);
    if time < 0 {
        (days, time) = (days - 1, time + DAY_US);
    }
    while days < 0 {
        days += calendar::days_of(earlier.year, earlier.month);
        months -= 1;
    }
    let sign = if before { -1 } else { 1 };
    Span { months: (sign * months) as i32, days: (sign * days) as i32, time: sign * time }
}

fn local(a: i64, b: i64) -> Result<Span> {
    Ok(between(parts(a, 0)?, parts(b, 0)?, a < b))
}

fn zoned(a: i64, b: i64, cx: &Cx<'_>) -> Result<Span> {
    let shown = |value| parts(value, offset_at(cx.settings.zone, value));
    Ok(between(shown(a)?, shown(b)?, a < b))
}

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("age(timestamp,timestamp)", |_| two::<Timestamp, Timestamp, Interval>(|a, b, _| local(a, b))),
    ("age(timestamptz,timestamptz)", |_| {
        two::<Timestamp, Timestamp, Interval>(|a, b, cx| zoned(a, b, cx))
    }),
    ("age(timestamp)", |_| {
        one::<Timestamp, Interval>(|a, cx| local(today(cx.settings) * DAY_US, a))
    }),
    ("age(timestamptz)", |_| {
        one::<Timestamp, Interval>(|a, cx| {
            let midnight = date_to_timestamptz(today(cx.settings) as i32, cx.settings)?;
            zoned(midnight, a, cx)
        })
    }),
];
