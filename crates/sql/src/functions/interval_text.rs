//! What does the text of an interval say?
//!
//! PostgreSQL's own form (`1 year 2 mons -3 days 04:05:06`, with units of any spelling and `ago`), and ISO's
//! with letters (`P1Y2M3DT4H5M6S`).

use super::intervals::{Parts, negative, times};
use crate::error::{Result, SqlError};

/// Reads one.
///
/// # Errors
/// It is none, or too large.
pub fn read(text: &str) -> Result<Parts> {
    let wrong = || {
        let message = format!("invalid input syntax for type interval: \"{text}\"");
        SqlError::new("22007", message)
    };
    let trimmed = text.trim();
    let parts = match trimmed.strip_prefix('P') {
        Some(rest) => iso(rest),
        None => words(trimmed),
    };
    parts?.ok_or_else(wrong)
}

/// One of a unit.
fn unit(name: &str) -> Option<Parts> {
    Some(match name {
        "microsecond" | "microseconds" | "us" | "usec" | "usecs" => (0, 0, 1),
        "millisecond" | "milliseconds" | "ms" | "msec" | "msecs" => (0, 0, 1000),
        "second" | "seconds" | "s" | "sec" | "secs" => (0, 0, 1_000_000),
        "minute" | "minutes" | "m" | "min" | "mins" => (0, 0, 60_000_000),
        "hour" | "hours" | "h" | "hr" | "hrs" => (0, 0, 3_600_000_000),
        "day" | "days" | "d" => (0, 1, 0),
        "week" | "weeks" | "w" => (0, 7, 0),
        "month" | "months" | "mon" | "mons" => (1, 0, 0),
        "year" | "years" | "y" | "yr" | "yrs" => (12, 0, 0),
        "decade" | "decades" => (120, 0, 0),
        "century" | "centuries" => (1200, 0, 0),
        "millennium" | "millennia" => (12_000, 0, 0),
        _ => return None,
    })
}

fn add(a: Parts, b: Parts) -> Result<Parts> {
    let sum = || Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?, a.2.checked_add(b.2)?));
    sum().ok_or_else(out_of_range)
}

fn out_of_range() -> SqlError {
    SqlError::new("22015", "interval field value out of range")
}

/// `None` where it is no interval.
fn words(text: &str) -> Result<Option<Parts>> {
    let lower = text.to_lowercase();
    let mut rest = lower.trim_start_matches('@').trim();
    let ago = rest.strip_suffix("ago");
    rest = ago.unwrap_or(rest).trim_end();
    let mut sum = (0, 0, 0);
    let mut any = false;
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| !matches!(c, '0'..='9' | '.' | ':' | '-' | '+'))
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at(end);
        let tail = tail.trim_start();
        if number.contains(':') {
            let Some(us) = time(number) else { return Ok(None) };
            sum = add(sum, (0, 0, us))?;
            rest = tail;
        } else {
            let end = tail.find(|c: char| !c.is_alphabetic()).unwrap_or(tail.len());
            let (name, after) = tail.split_at(end);
            let Ok(n) = number.parse::<f64>() else { return Ok(None) };
            // A number alone counts seconds.
            let name = if name.is_empty() && after.is_empty() { "s" } else { name };
            let Some(one) = unit(name) else { return Ok(None) };
            sum = add(sum, times(one, n)?)?;
            rest = after.trim_start();
        }
        any = true;
    }
    if ago.is_some() {
        sum = negative(sum).ok_or_else(out_of_range)?;
    }
    Ok(any.then_some(sum))
}

/// `[-]hh:mm[:ss[.ffffff]]`
fn time(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut fields = digits.split(':');
    let hours: i64 = fields.next()?.parse().ok()?;
    let minutes: i64 = fields.next()?.parse().ok().filter(|m| (0..60).contains(m))?;
    let seconds: f64 = fields.next().map_or(Some(0.0), |s| s.parse().ok())?;
    if fields.next().is_some() || !(0.0..=60.0).contains(&seconds) || hours < 0 {
        return None;
    }
    let us = hours.checked_mul(3_600_000_000)?.checked_add(minutes * 60_000_000)?;
    us.checked_add((seconds * 1e6).round() as i64).map(|us| sign * us)
}

/// What follows a P.
fn iso(text: &str) -> Result<Option<Parts>> {
    let (mut sum, mut in_time, mut number, mut any) = ((0, 0, 0), false, String::new(), false);
    for c in text.chars() {
        let one = match (in_time, c) {
            (false, 'T') if number.is_empty() => {
                in_time = true;
                continue;
            }
            (_, '0'..='9' | '.' | '-' | '+') => {
                number.push(c);
                continue;
            }
            (false, 'Y') => (12, 0, 0),
            (false, 'M') => (1, 0, 0),
            (false, 'W') => (0, 7, 0),
            (false, 'D') => (0, 1, 0),
            (true, 'H') => (0, 0, 3_600_000_000),
            (true, 'M') => (0, 0, 60_000_000),
            (true, 'S') => (0, 0, 1_000_000),
            _ => return Ok(None),
        };
        let Ok(n) = number.parse::<f64>() else { return Ok(None) };
        sum = add(sum, times(one, n)?)?;
        number.clear();
        any = true;
    }
    Ok((any && number.is_empty()).then_some(sum))
}
