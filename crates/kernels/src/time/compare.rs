//! Which date, time or interval is before which?
//!
//! Types of one form are compared as columns. Of a mix, the date or the local time becomes a moment first; one that no
//! timestamp can hold is after every finite timestamp.

use std::cmp::Ordering;

use onlap_pg::value::Settings;
use onlap_pg::value::datetime::{DAY_US, local_offset};

use super::parts::{is_finite, is_finite_date};
use super::timetz::order;
use crate::{Bool, Date, Entry, Int4, Interval, Time, TimeTz, Timestamp, map2, test2, two};

/// A moment that may lie beyond the range of timestamps; infinities are at the ends.
fn moment(value: i64) -> i128 {
    match value {
        i64::MIN => i128::MIN,
        i64::MAX => i128::MAX,
        value => i128::from(value),
    }
}

/// A date's beginning.
fn of_date(days: i32) -> i128 {
    match days {
        i32::MIN => i128::MIN,
        i32::MAX => i128::MAX,
        days => i128::from(days) * i128::from(DAY_US),
    }
}

/// The moment when a clock of the session's zone shows this.
fn in_zone(local: i128, settings: &Settings) -> i128 {
    match i64::try_from(local) {
        Ok(value) if is_finite(value) => {
            local - i128::from(local_offset(settings.zone, value)) * 1_000_000
        }
        _ => local,
    }
}

/// The six comparisons of one type.
macro_rules! same {
    ($($name:literal $args:literal $ty:ident),*) => { &[$(
        (concat!($name, "_eq", $args), |_| test2::<$ty, $ty, _>(|a, b| a == b)),
        (concat!($name, "_ne", $args), |_| test2::<$ty, $ty, _>(|a, b| a != b)),
        (concat!($name, "_lt", $args), |_| test2::<$ty, $ty, _>(|a, b| a < b)),
        (concat!($name, "_le", $args), |_| test2::<$ty, $ty, _>(|a, b| a <= b)),
        (concat!($name, "_gt", $args), |_| test2::<$ty, $ty, _>(|a, b| a > b)),
        (concat!($name, "_ge", $args), |_| test2::<$ty, $ty, _>(|a, b| a >= b)),
    )*] };
}

/// The six comparisons of two types and the one that gives a number, by an order of their values.
macro_rules! ordered {
    ($name:literal $with:literal $args:literal, $a:ty, $b:ty, $order:expr) => {
        &[
            (concat!($name, "_eq", $with, $args), |_| {
                two::<$a, $b, Bool>(|a, b, cx| Ok($order(a, b, cx.settings).is_eq()))
            }),
            (concat!($name, "_ne", $with, $args), |_| {
                two::<$a, $b, Bool>(|a, b, cx| Ok($order(a, b, cx.settings).is_ne()))
            }),
            (concat!($name, "_lt", $with, $args), |_| {
                two::<$a, $b, Bool>(|a, b, cx| Ok($order(a, b, cx.settings).is_lt()))
            }),
            (concat!($name, "_le", $with, $args), |_| {
                two::<$a, $b, Bool>(|a, b, cx| Ok($order(a, b, cx.settings).is_le()))
            }),
            (concat!($name, "_gt", $with, $args), |_| {
                two::<$a, $b, Bool>(|a, b, cx| Ok($order(a, b, cx.settings).is_gt()))
            }),
            (concat!($name, "_ge", $with, $args), |_| {
                two::<$a, $b, Bool>(|a, b, cx| Ok($order(a, b, cx.settings).is_ge()))
            }),
            (concat!($name, "_cmp", $with, $args), |_| {
                two::<$a, $b, Int4>(|a, b, cx| Ok($order(a, b, cx.settings) as i32))
            }),
        ]
    };
}

/// Dates, times of day and timestamps.
pub const SAME: &[Entry] = same!(
    "date" "(date,date)" Date,
    "time" "(time,time)" Time,
    "timestamp" "(timestamp,timestamp)" Timestamp,
    "timestamptz" "(timestamptz,timestamptz)" Timestamp
);
/// Comparisons of these that give a number.
pub const NUMBERS: &[Entry] = &[
    ("date_cmp(date,date)", |_| map2::<Date, Date, Int4, _>(|a, b| a.cmp(&b) as i32)),
    ("time_cmp(time,time)", number),
    ("timestamp_cmp(timestamp,timestamp)", number),
    ("timestamptz_cmp(timestamptz,timestamptz)", number),
    ("isfinite(date)", |_| crate::one::<Date, Bool>(|a, _| Ok(is_finite_date(a)))),
    ("isfinite(timestamp)", |_| crate::one::<Timestamp, Bool>(|a, _| Ok(is_finite(a)))),
    ("isfinite(timestamptz)", |_| crate::one::<Timestamp, Bool>(|a, _| Ok(is_finite(a)))),
    ("isfinite(interval)", |_| crate::one::<Interval, Bool>(|_, _| Ok(true))),
];

fn number(_: &crate::Types) -> Box<dyn crate::Kernel> {
    map2::<Timestamp, Timestamp, Int4, _>(|a, b| a.cmp(&b) as i32)
}

type Span = onlap_pg::value::interval::Interval;

/// timetz.
pub const TIMETZ: &[Entry] =
    ordered!("timetz" "" "(timetz,timetz)", TimeTz, TimeTz, |a, b, _: &Settings| order(a, b));
/// interval.
pub const INTERVALS: &[Entry] = ordered!(
    "interval" "" "(interval,interval)", Interval, Interval,
    |a: Span, b: Span, _: &Settings| a.key().cmp(&b.key())
);
/// Dates with timestamps.
pub const DATE_TIMESTAMP: &[Entry] = ordered!(
    "date" "_timestamp" "(date,timestamp)", Date, Timestamp,
    |a, b, _: &Settings| of_date(a).cmp(&moment(b))
);
/// Timestamps with dates.
pub const TIMESTAMP_DATE: &[Entry] = ordered!(
    "timestamp" "_date" "(timestamp,date)", Timestamp, Date,
    |a, b, _: &Settings| moment(a).cmp(&of_date(b))
);
/// Dates with timestamptz.
pub const DATE_TIMESTAMPTZ: &[Entry] = ordered!(
    "date" "_timestamptz" "(date,timestamptz)", Date, Timestamp,
    |a, b, settings| in_zone(of_date(a), settings).cmp(&moment(b))
);
/// timestamptz with dates.
pub const TIMESTAMPTZ_DATE: &[Entry] = ordered!(
    "timestamptz" "_date" "(timestamptz,date)", Timestamp, Date,
    |a, b, settings| moment(a).cmp(&in_zone(of_date(b), settings))
);
/// timestamp with timestamptz.
pub const TIMESTAMP_TIMESTAMPTZ: &[Entry] = ordered!(
    "timestamp" "_timestamptz" "(timestamp,timestamptz)", Timestamp, Timestamp,
    by_zone
);
/// timestamptz with timestamp.
pub const TIMESTAMPTZ_TIMESTAMP: &[Entry] = ordered!(
    "timestamptz" "_timestamp" "(timestamptz,timestamp)", Timestamp, Timestamp,
    |a, b, settings| by_zone(b, a, settings).reverse()
);

/// The order of a local time and a moment.
fn by_zone(local: i64, value: i64, settings: &Settings) -> Ordering {
    in_zone(moment(local), settings).cmp(&moment(value))
}
