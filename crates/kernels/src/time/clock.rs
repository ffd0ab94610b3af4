//! What time is it? now() and its like, and what SQL writes without parentheses (CURRENT_DATE, LOCALTIME …).
//!
//! All but [`ENTRIES`]' clock_timestamp and timeofday stand still: at the begin of the transaction or of the statement.

use onlap_pg::Result;
use onlap_pg::value::Settings;
use onlap_pg::value::datetime::{DAY_US, calendar, offset_and_name, offset_at, today};

use super::parts::{Parts, to_local};
use super::with_precision;
use crate::{Cx, Entry, Float8, Interval, Text, Timestamp, none, one};

/// CURRENT_DATE
pub fn current_date(settings: &Settings) -> i32 {
    today(settings) as i32
}

/// CURRENT_TIME, CURRENT_TIME(p): microseconds from midnight, seconds west of UTC.
pub fn current_time(settings: &Settings, precision: i32) -> (i64, i32) {
    let time = with_precision(to_local(settings.now, settings).rem_euclid(DAY_US), precision);
    (time, -offset_at(settings.zone, settings.now))
}

/// CURRENT_TIMESTAMP, CURRENT_TIMESTAMP(p)
pub fn current_timestamp(settings: &Settings, precision: i32) -> i64 {
    with_precision(settings.now, precision)
}

/// LOCALTIME, LOCALTIME(p)
pub fn localtime(settings: &Settings, precision: i32) -> i64 {
    with_precision(to_local(settings.now, settings).rem_euclid(DAY_US), precision)
}

/// LOCALTIMESTAMP, LOCALTIMESTAMP(p)
pub fn localtimestamp(settings: &Settings, precision: i32) -> i64 {
    with_precision(to_local(settings.now, settings), precision)
}

fn timeofday(cx: &Cx<'_>) -> String {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let now = cx.session.clock();
    let (east, zone) = offset_and_name(cx.settings.zone, now);
    let parts = Parts::of(now + i64::from(east) * 1_000_000);
    let (hour, minute, second) = (parts.hour(), parts.minute(), parts.second());
    let weekday = DAYS[calendar::weekday(parts.days())];
    let month = MONTHS[parts.month as usize - 1];
    let (day, micros, year) = (parts.day, parts.micros(), parts.year);
    format!(
        "{weekday} {month} {day:02} {hour:02}:{minute:02}:{second:02}.{micros:06} {year} {zone}"
    )
}

/// Waits; gives the text of void.
fn sleep(us: f64, cx: &Cx<'_>) -> Result<String> {
    // A number beyond the range is its end, and NaN no wait.
    cx.session.wait(us as i64)?;
    Ok(String::new())
}

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("now()", |_| none::<Timestamp>(|cx| Ok(cx.settings.now))),
    ("transaction_timestamp()", |_| none::<Timestamp>(|cx| Ok(cx.settings.now))),
    ("statement_timestamp()", |_| none::<Timestamp>(|cx| Ok(cx.session.statement_began()))),
    ("clock_timestamp()", |_| none::<Timestamp>(|cx| Ok(cx.session.clock()))),
    ("pg_sleep(float8)", |_| one::<Float8, Text>(|seconds, cx| sleep(seconds * 1e6, cx))),
    ("pg_sleep_for(interval)", |_| {
        one::<Interval, Text>(|span, cx| {
            let us = span.key();
            sleep(us as f64, cx)
        })
    }),
    ("timeofday()", |_| none::<Text>(|cx| Ok(timeofday(cx)))),
];
