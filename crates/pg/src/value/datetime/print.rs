//! How is a date or time written in each DateStyle?

use std::fmt::Write;

use super::{DAY_US, calendar};
use crate::value::{DateOrder, DateStyle, Settings};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/// Writes to a text, which takes all.
macro_rules! put {
    ($out:expr, $($what:tt)*) => { write!($out, $($what)*).expect("a String takes all") };
}

/// The year as it is written, and whether BC follows.
fn shown(year: i64) -> (i64, &'static str) {
    if year > 0 { (year, "") } else { (1 - year, " BC") }
}

pub(super) fn date(days: i64, settings: &Settings) -> String {
    let (year, month, day) = calendar::date(days);
    let (year, bc) = shown(year);
    let dmy = settings.date_order == DateOrder::Dmy;
    let (first, second) = if dmy { (day, month) } else { (month, day) };
    match settings.date_style {
        DateStyle::Iso => format!("{year:04}-{month:02}-{day:02}{bc}"),
        DateStyle::Sql => format!("{first:02}/{second:02}/{year:04}{bc}"),
        DateStyle::German => format!("{day:02}.{month:02}.{year:04}{bc}"),
        DateStyle::Postgres => format!("{first:02}-{second:02}-{year:04}{bc}"),
    }
}

/// The most letters of a zone that are written: PostgreSQL's MAXTZLEN.
const MOST_LETTERS: usize = 10;

/// A local timestamp, and the offset that made it so.
pub(super) fn timestamp(local: i64, zone: Option<(i32, String)>, settings: &Settings) -> String {
    let (days, time) = (local.div_euclid(DAY_US), local.rem_euclid(DAY_US));
    let mut out = String::with_capacity(40);
    if settings.date_style == DateStyle::Postgres {
        let (year, month, day) = calendar::date(days);
        let (year, bc) = shown(year);
        let month = MONTHS[month as usize - 1];
        put!(out, "{} ", WEEKDAYS[calendar::weekday(days)]);
        match settings.date_order {
            DateOrder::Dmy => put!(out, "{day:02} {month} "),
            _ => put!(out, "{month} {day:02} "),
        }
        clock(time, &mut out);
        put!(out, " {year:04}");
        zone_of(zone, settings, &mut out);
        out.push_str(bc);
        return out;
    }
    let text = date(days, settings);
    let (text, bc) = match text.strip_suffix(" BC") {
        Some(text) => (text, " BC"),
        None => (text.as_str(), ""),
    };
    out.push_str(text);
    out.push(' ');
    clock(time, &mut out);
    zone_of(zone, settings, &mut out);
    out.push_str(bc);
    out
}

fn zone_of(zone: Option<(i32, String)>, settings: &Settings, out: &mut String) {
    match zone {
        None => {}
        Some((east, _)) if settings.date_style == DateStyle::Iso => offset(east, out),
        Some((_, name)) if !name.is_empty() => put!(out, " {name:.MOST_LETTERS$}"),
        Some((east, _)) => {
            if settings.date_style == DateStyle::Postgres {
                out.push(' ');
            }
            offset(east, out);
        }
    }
}

/// An offset from UTC with as many parts as it needs.
pub(super) fn offset(east: i32, out: &mut String) {
    let size = east.unsigned_abs();
    put!(out, "{}{:02}", if east < 0 { '-' } else { '+' }, size / 3600);
    let (minutes, seconds) = (size / 60 % 60, size % 60);
    if seconds != 0 {
        put!(out, ":{minutes:02}:{seconds:02}");
    } else if minutes != 0 {
        put!(out, ":{minutes:02}");
    }
}

/// Hours, minutes, seconds; the fraction without zeros at its end.
pub(super) fn clock(time: i64, out: &mut String) {
    let seconds = time / 1_000_000;
    put!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = time % 1_000_000;
    if fraction != 0 {
        let text = format!("{fraction:06}");
        put!(out, ".{}", text.trim_end_matches('0'));
    }
}
