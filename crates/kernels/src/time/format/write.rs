//! How is a moment or an interval written by a template?

use std::fmt::Write;

use onlap_pg::value::datetime::calendar;
use onlap_pg::value::interval::Interval as Span;
use onlap_pg::{Error, Result, worked};

use super::super::parts::{
    EPOCH_JULIAN, HOUR_US, Parts, SECOND_US, first_monday, iso_week, iso_year,
};
use super::names;
use super::template::{Case, Field, Kind, Part};
use super::week::{Week, julian, week};

/// What is written.
pub struct Shown {
    /// The year as the calendar counts: 0 is 1 BC.
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    day_of_year: i64,
    /// Days from 2000; of an interval, where PostgreSQL's arithmetic leads with such months.
    days: i64,
    week: Week,
    /// Seconds east of UTC, and the zone's name.
    east: i32,
    zone: Option<String>,
    is_interval: bool,
}

/// Writes to a text, which takes all.
macro_rules! put {
    ($out:expr, $($what:tt)*) => { write!($out, $($what)*).expect("a String takes all") };
}

impl Shown {
    /// A moment: what a clock shows, and where it is.
    pub fn moment(local: i64, east: i32, zone: Option<String>) -> Shown {
        let parts = Parts::of(local);
        let days = parts.days();
        Shown {
            year: parts.year,
            month: parts.month,
            day: parts.day,
            hour: parts.hour(),
            minute: parts.minute(),
            second: parts.second(),
            micros: parts.micros(),
            day_of_year: days - calendar::days(parts.year, 1, 1) + 1,
            days,
            week: Week {
                year: iso_year(days),
                week: iso_week(days),
                day_of_year: days - first_monday(iso_year(days)) + 1,
            },
            east,
            zone,
            is_interval: false,
        }
    }

    /// An interval.
    pub fn interval(span: Span) -> Shown {
        let (year, month) = (i64::from(span.months / 12), i64::from(span.months % 12));
        let day = i64::from(span.days);
        let whole = i64::from(span.months).wrapping_mul(30).wrapping_add(day);
        Shown {
            year,
            month,
            day,
            hour: span.time / HOUR_US,
            minute: span.time / (60 * SECOND_US) % 60,
            second: span.time / SECOND_US % 60,
            micros: span.time % SECOND_US,
            day_of_year: i64::from(whole as i32),
            days: i64::from(julian(span.months / 12, span.months % 12, span.days)) - EPOCH_JULIAN,
            week: week(span.months / 12, span.months % 12, span.days),
            east: 0,
            zone: None,
            is_interval: true,
        }
    }

    /// The year as it is written.
    fn written(&self, year: i64) -> i64 {
        if self.is_interval || year > 0 { year } else { 1 - year }
    }

    fn weekday(&self) -> usize {
        calendar::weekday(self.days)
    }

    fn century(&self) -> i64 {
        match self.year {
            year if self.is_interval => year / 100,
            year if year > 0 => (year - 1) / 100 + 1,
            year => year / 100 - 1,
        }
    }
}

/// The letters behind an ordinal number.
fn ordinal(digits: &str, upper: bool) -> Result<&'static str> {
    let bytes = digits.as_bytes();
    let Some(last) = bytes.last().filter(|last| last.is_ascii_digit()) else {
        return Err(Error::new("22P02", format!("\"{digits}\" is not a number")));
    };
    let teen = bytes.len() > 1 && bytes[bytes.len() - 2] == b'1';
    Ok(match (last, upper) {
        (b'1', true) if !teen => "ST",
        (b'1', false) if !teen => "st",
        (b'2', true) if !teen => "ND",
        (b'2', false) if !teen => "nd",
        (b'3', true) if !teen => "RD",
        (b'3', false) if !teen => "rd",
        (_, true) => "TH",
        (_, false) => "th",
    })
}

fn cased(name: &str, case: Case) -> String {
    match case {
        Case::Upper => name.to_ascii_uppercase(),
        Case::Title => name.to_owned(),
        Case::Lower => name.to_ascii_lowercase(),
    }
}

/// Writes by a template.
///
/// # Errors
/// `22007`: a field that intervals do not have; `22P02`.
pub fn write(shown: &Shown, parts: &[Part]) -> Result<String> {
    let mut out = String::new();
    for part in parts {
        worked(1)?;
        match part {
            Part::Char(char) | Part::Separator(char) | Part::Space(char) => out.push(*char),
            Part::Field(field) => {
                if shown.is_interval && !is_of_intervals(field.kind) {
                    let text = "invalid format specification for an interval value";
                    let hint = "Intervals are not tied to specific calendar dates.";
                    return Err(Error::new("22007", text).hint(hint));
                }
                match number(shown, field) {
                    Some(digits) => {
                        out.push_str(&digits);
                        if let Some(upper) = field.ordinal {
                            out.push_str(ordinal(&digits, upper)?);
                        }
                    }
                    None => name(shown, field, &mut out),
                }
            }
        }
    }
    Ok(out)
}

fn is_of_intervals(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Era(_)
            | Kind::Day
            | Kind::ShortDay
            | Kind::DayOfWeek
            | Kind::IsoDayOfWeek
            | Kind::MonthName
            | Kind::ShortMonth
            | Kind::Zone
            | Kind::ZoneHour
            | Kind::ZoneMinute
            | Kind::Offset
    )
}

/// A number with so many digits, and room for a sign where `negative` says so.
fn padded(value: i64, digits: usize, negative: bool, fill: bool) -> String {
    let width = if fill { 0 } else { digits + usize::from(negative) };
    format!("{value:0width$}")
}

/// A field that is a number.
fn number(shown: &Shown, field: &Field) -> Option<String> {
    let fill = field.fill;
    let signed = |value: i64| padded(value, 2, value < 0, fill);
    let plain = |value: i64, digits: usize| padded(value, digits, false, fill);
    let year = |digits: u32, iso: bool| {
        let own = shown.written(shown.year);
        let value = if iso { shown.written(shown.week.year) } else { own };
        let value = if digits < 4 { value % 10_i64.pow(digits) } else { value };
        // A single digit is never given zeros.
        padded(value, digits as usize, own < 0 && digits > 1, fill)
    };
    let fraction = |digits: u32| {
        let value = shown.micros / 10_i64.pow(6 - digits);
        padded(value, digits as usize, false, false)
    };
    Some(match field.kind {
        Kind::Hour12 => {
            let hour = if shown.hour % 12 == 0 { 12 } else { shown.hour % 12 };
            padded(hour, 2, shown.hour < 0, fill)
        }
        Kind::Hour24 => signed(shown.hour),
        Kind::Minute => signed(shown.minute),
        Kind::Second => signed(shown.second),
        Kind::Fraction(digits) => fraction(digits),
        Kind::Millis => fraction(3),
        Kind::Micros => fraction(6),
        Kind::SecondOfDay => (shown.hour * 3600 + shown.minute * 60 + shown.second).to_string(),
        Kind::Month => signed(shown.month),
        Kind::DayOfYear => plain(shown.day_of_year, 3),
        Kind::IsoDayOfYear => plain(shown.week.day_of_year, 3),
        Kind::DayOfMonth => plain(shown.day, 2),
        Kind::DayOfWeek => (shown.weekday() + 1).to_string(),
        Kind::IsoDayOfWeek => ((shown.weekday() + 6) % 7 + 1).to_string(),
        Kind::Week => plain((shown.day_of_year - 1) / 7 + 1, 2),
        Kind::IsoWeek => plain(shown.week.week, 2),
        Kind::WeekOfMonth => ((shown.day - 1) / 7 + 1).to_string(),
        Kind::Quarter if shown.month == 0 => return None,
        Kind::Quarter => ((shown.month - 1) / 3 + 1).to_string(),
        Kind::Century => match shown.century() {
            value @ -99..=99 => signed(value),
            value => value.to_string(),
        },
        Kind::YearWithComma => {
            let value = shown.written(shown.year);
            format!("{},{}", value / 1000, padded(value % 1000, 3, false, false))
        }
        Kind::Year(digits) => year(digits, false),
        Kind::IsoYear(digits) => year(digits, true),
        Kind::Julian => (shown.days + EPOCH_JULIAN).to_string(),
        _ => return None,
    })
}

/// A field that is no number.
fn name(shown: &Shown, field: &Field, out: &mut String) {
    let blanks = |width: usize| if field.fill || field.translated { 0 } else { width };
    let mut put = |name: &str, width: usize| {
        put!(out, "{:width$}", cased(name, field.case), width = blanks(width));
    };
    let hours = shown.east.unsigned_abs() / 3600;
    let minutes = shown.east.unsigned_abs() / 60 % 60;
    let sign = if shown.east >= 0 { '+' } else { '-' };
    match field.kind {
        Kind::Half(dots) => {
            let at = usize::from(shown.hour % 24 >= 12);
            put(if dots { names::DOTTED_HALVES[at] } else { names::HALVES[at] }, 0);
        }
        Kind::Era(dots) => {
            let at = usize::from(shown.year <= 0);
            put(if dots { names::DOTTED_ERAS[at] } else { names::ERAS[at] }, 0);
        }
        Kind::Day => put(names::DAYS[shown.weekday()], 9),
        Kind::ShortDay => put(names::SHORT_DAYS[shown.weekday()], 0),
        Kind::MonthName => put(names::MONTHS[shown.month as usize - 1], 9),
        Kind::ShortMonth => put(names::SHORT_MONTHS[shown.month as usize - 1], 0),
        Kind::Roman if shown.month == 0 && shown.year == 0 => {}
        Kind::Roman => {
            let at = match shown.month {
                0 => {
                    if shown.year >= 0 {
                        0
                    } else {
                        11
                    }
                }
                month if month < 0 => -month - 1,
                month => 12 - month,
            };
            let width = if field.fill { 0 } else { 4 };
            put!(out, "{:width$}", cased(names::ROMAN[at as usize], field.case));
        }
        Kind::Zone => put(shown.zone.as_deref().unwrap_or(""), 0),
        Kind::ZoneHour => put!(out, "{sign}{hours:02}"),
        Kind::ZoneMinute => put!(out, "{minutes:02}"),
        Kind::Offset => {
            let width = if field.fill { 0 } else { 2 };
            put!(out, "{sign}{hours:0width$}");
            if shown.east % 3600 != 0 {
                put!(out, ":{minutes:02}");
            }
        }
        _ => {}
    }
}
