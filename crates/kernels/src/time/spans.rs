//! What do intervals give when they are added, multiplied, divided and brought into shape?
//!
//! Products and quotients carry what is left of months into days and of days into the time, by 30 days and 24 hours, in
//! floating point with PostgreSQL's roundings.

use onlap_pg::value::datetime::DAY_US;
use onlap_pg::value::interval::Interval as Span;
use onlap_pg::{Error, Result};

use super::parts::interval_range;
use crate::{Entry, Float8, Interval, one, two};

const DAY_S: f64 = 86_400.0;

/// The sum of two.
///
/// # Errors
/// `22008`
pub fn sum(a: Span, b: Span) -> Result<Span> {
    let months = a.months.checked_add(b.months);
    let (days, time) = (a.days.checked_add(b.days), a.time.checked_add(b.time));
    span(months, days, time)
}

fn span(months: Option<i32>, days: Option<i32>, time: Option<i64>) -> Result<Span> {
    match (months, days, time) {
        (Some(months), Some(days), Some(time)) => Ok(Span { months, days, time }),
        _ => Err(interval_range()),
    }
}

/// The difference of two.
///
/// # Errors
/// `22008`
pub fn minus(a: Span, b: Span) -> Result<Span> {
    let months = a.months.checked_sub(b.months);
    span(months, a.days.checked_sub(b.days), a.time.checked_sub(b.time))
}

fn negated(a: Span) -> Result<Span> {
    span(a.months.checked_neg(), a.days.checked_neg(), a.time.checked_neg())
}

/// A number of seconds or days to the microsecond.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round_ties_even() / 1e6
}

/// A product or quotient: `scaled` is how a field becomes one.
fn scale(a: Span, scaled: impl Fn(f64) -> f64) -> Result<Span> {
    let (month, day) = (scaled(f64::from(a.months)), scaled(f64::from(a.days)));
    let (months, mut days) = (fits(month)?, fits(day)?);
    let of_month = rounded((month - f64::from(months)) * 30.0);
    let whole = of_month as i32;
    let mut seconds = rounded((day - f64::from(days) + of_month - f64::from(whole)) * DAY_S);
    if seconds.abs() >= DAY_S {
        let more = (seconds / DAY_S) as i32;
        days = days.checked_add(more).ok_or_else(interval_range)?;
        seconds -= f64::from(more) * DAY_S;
    }
    days = days.checked_add(whole).ok_or_else(interval_range)?;
    let time = (scaled(a.time as f64) + seconds * 1e6).round_ties_even();
    if !(-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&time) {
        return Err(interval_range());
    }
    Ok(Span { months, days, time: time as i64 })
}

fn fits(value: f64) -> Result<i32> {
    match (-2_147_483_648.0..2_147_483_648.0).contains(&value) {
        true => Ok(value as i32),
        false => Err(interval_range()),
    }
}

/// The product with a number.
///
/// # Errors
/// `22008`
pub fn times(a: Span, factor: f64) -> Result<Span> {
    scale(a, |field| field * factor)
}

/// The quotient by a number.
///
/// # Errors
/// `22012`, `22008`
pub fn divided(a: Span, by: f64) -> Result<Span> {
    if by == 0.0 {
        return Err(Error::new("22012", "division by zero"));
    }
    scale(a, |field| field / by)
}

fn justify_hours(a: Span) -> Result<Span> {
    let (mut days, mut time) = (a.days.checked_add((a.time / DAY_US) as i32), a.time % DAY_US);
    match days {
        Some(d) if d > 0 && time < 0 => (days, time) = (Some(d - 1), time + DAY_US),
        Some(d) if d < 0 && time > 0 => (days, time) = (Some(d + 1), time - DAY_US),
        _ => {}
    }
    span(Some(a.months), days, Some(time))
}

fn justify_days(a: Span) -> Result<Span> {
    let (mut months, mut days) = (a.months.checked_add(a.days / 30), a.days % 30);
    match months {
        Some(m) if m > 0 && days < 0 => (months, days) = (Some(m - 1), days + 30),
        Some(m) if m < 0 && days > 0 => (months, days) = (Some(m + 1), days - 30),
        _ => {}
    }
    span(months, Some(days), Some(a.time))
}

fn justify_interval(a: Span) -> Result<Span> {
    let mut a = a;
    let carry = |days: &mut i32, months: &mut i32| {
        *months = months.checked_add(*days / 30).ok_or_else(interval_range)?;
        *days %= 30;
        Ok::<(), Error>(())
    };
    if (a.days > 0 && a.time > 0) || (a.days < 0 && a.time < 0) {
        carry(&mut a.days, &mut a.months)?;
    }
    a.days += (a.time / DAY_US) as i32;
    a.time %= DAY_US;
    carry(&mut a.days, &mut a.months)?;
    if a.months > 0 && (a.days < 0 || (a.days == 0 && a.time < 0)) {
        (a.days, a.months) = (a.days + 30, a.months - 1);
    } else if a.months < 0 && (a.days > 0 || (a.days == 0 && a.time > 0)) {
        (a.days, a.months) = (a.days - 30, a.months + 1);
    }
    if a.days > 0 && a.time < 0 {
        (a.days, a.time) = (a.days - 1, a.time + DAY_US);
    } else if a.days < 0 && a.time > 0 {
        (a.days, a.time) = (a.days + 1, a.time - DAY_US);
    }
    Ok(a)
}

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("interval_um(interval)", |_| one::<Interval, Interval>(|a, _| negated(a))),
    ("interval_pl(interval,interval)", |_| {
        two::<Interval, Interval, Interval>(|a, b, _| sum(a, b))
    }),
    ("interval_mi(interval,interval)", |_| {
        two::<Interval, Interval, Interval>(|a, b, _| minus(a, b))
    }),
    ("interval_mul(interval,float8)", |_| two::<Interval, Float8, Interval>(|a, b, _| times(a, b))),
    ("mul_d_interval(float8,interval)", |_| {
        two::<Float8, Interval, Interval>(|a, b, _| times(b, a))
    }),
    ("interval_div(interval,float8)", |_| {
        two::<Interval, Float8, Interval>(|a, b, _| divided(a, b))
    }),
    ("justify_hours(interval)", |_| one::<Interval, Interval>(|a, _| justify_hours(a))),
    ("justify_days(interval)", |_| one::<Interval, Interval>(|a, _| justify_days(a))),
    ("justify_interval(interval)", |_| one::<Interval, Interval>(|a, _| justify_interval(a))),
];
