//! Which moment does a text mean by a template of SQL's standard, and how do such moments compare?
//!
//! The template says what the text is: a date, a time, a timestamp, with a zone or without. What `datetime()` of jsonpath asks.

use std::cmp::Ordering;

use onlap_pg::value::DateStyle;
use onlap_pg::value::datetime::{self, DAY_US};
use onlap_pg::value::{Settings, timetz};
use onlap_pg::{Error, Result};

use super::super::casts::with_offset;
use super::super::parts::{SECOND_US, from_local, in_range};
use super::super::with_precision;
use super::read::read_standard;
use super::settle::settle;
use super::template::{Kind, Part, parse_standard};

/// A moment, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Days from 2000.
    Date(i32),
    /// Microseconds from midnight.
    Time(i64),
    /// The same, and seconds east of UTC.
    TimeTz(i64, i32),
    /// Microseconds from 2000.
    Timestamp(i64),
    /// The same in UTC, and seconds east of UTC that it was written with.
    TimestampTz(i64, i32),
}

/// Reads a text by a template.
///
/// # Errors
/// `22007`, `22008`, `22009`, `0A000`
pub fn read(text: &str, template: &str) -> Result<Moment> {
    let parts = parse_standard(template)?;
    let (mut dated, mut timed, mut zoned) = (false, false, false);
    for part in &parts {
        let Part::Field(field) = part else { continue };
        match field.kind {
            Kind::Exact => {}
            Kind::Half(_)
            | Kind::Hour12
            | Kind::Hour24
            | Kind::Minute
            | Kind::Second
            | Kind::Millis
            | Kind::Micros
            | Kind::Fraction(_)
            | Kind::SecondOfDay => timed = true,
            Kind::Zone | Kind::ZoneHour | Kind::ZoneMinute | Kind::Offset => zoned = true,
            _ => dated = true,
        }
    }
    let refused = |text: String| Error::new("22007", text);
    let read = settle(read_standard(text, &parts)?, text)?;
    let precision = read.precision.unwrap_or(-1);
    let zone = |ty: &str| {
        let missing = format!("missing time zone in input string for type {ty}");
        read.east.ok_or_else(|| refused(missing))
    };
    Ok(match (dated, timed, zoned) {
        (true, true, true) => {
            let east = zone("timestamptz")?;
            let utc = read.local().and_then(|l| l.checked_sub(i64::from(east) * SECOND_US));
            let utc = in_range(utc).map_err(|_| Error::new("22008", "timestamptz out of range"))?;
            Moment::TimestampTz(with_precision(utc, precision), east)
        }
        (true, true, false) => {
            Moment::Timestamp(with_precision(in_range(read.local())?, precision))
        }
        (true, false, true) => {
            return Err(refused("datetime format is zoned but not timed".into()));
        }
        (true, false, false) => {
            let range = || Error::new("22008", format!("date out of range: \"{text}\""));
            Moment::Date(read.date().ok_or_else(range)?)
        }
        (false, true, true) => {
            Moment::TimeTz(with_precision(read.time(), precision), zone("timetz")?)
        }
        (false, true, false) => Moment::Time(with_precision(read.time(), precision)),
        (false, false, _) => {
            return Err(refused("datetime format is not dated and not timed".into()));
        }
    })
}

/// Templates that a text without one is tried with, in turn.
const KNOWN: &[&str] = &[
    "yyyy-mm-dd",
    "HH24:MI:SS.USTZH:TZM",
    "HH24:MI:SS.USTZH",
    "HH24:MI:SSTZH:TZM",
    "HH24:MI:SSTZH",
    "HH24:MI:SS.US",
    "HH24:MI:SS",
    "yyyy-mm-dd HH24:MI:SS.USTZH:TZM",
    "yyyy-mm-dd HH24:MI:SS.USTZH",
    "yyyy-mm-dd HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd HH24:MI:SSTZH",
    "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH:TZM",
    "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH",
    "yyyy-mm-dd HH24:MI:SS.US",
    "yyyy-mm-dd HH24:MI:SS",
    "yyyy-mm-dd\"T\"HH24:MI:SS.US",
    "yyyy-mm-dd\"T\"HH24:MI:SS",
];

/// Reads a text that is written in one of the forms of ISO 8601.
pub fn read_any(text: &str) -> Option<Moment> {
    KNOWN.iter().find_map(|template| read(text, template).ok())
}

impl Moment {
    /// The name of its type.
    pub fn type_name(self) -> &'static str {
        match self {
            Moment::Date(_) => "date",
            Moment::Time(_) => "time without time zone",
            Moment::TimeTz(..) => "time with time zone",
            Moment::Timestamp(_) => "timestamp without time zone",
            Moment::TimestampTz(..) => "timestamp with time zone",
        }
    }

    /// As XML writes it, in the zone that it was written in.
    pub fn shown(self) -> String {
        let iso = Settings { date_style: DateStyle::Iso, ..Settings::default() };
        let timestamp = |value| datetime::print_timestamp(value, &iso).replacen(' ', "T", 1);
        match self {
            Moment::Date(days) => datetime::print_date(days, &iso),
            Moment::Time(time) => datetime::print_time(time),
            Moment::TimeTz(time, east) => datetime::print_time(time) + &offset(east),
            Moment::Timestamp(value) => timestamp(value),
            Moment::TimestampTz(utc, east) => {
                let text = timestamp(utc.saturating_add(i64::from(east) * SECOND_US));
                match text.strip_suffix(" BC") {
                    Some(text) => format!("{text}{} BC", offset(east)),
                    None => text + &offset(east),
                }
            }
        }
    }

    /// The order of two moments; `None` where there is none. The session's zone stands for a zone that one of them has not,
    /// if it may.
    ///
    /// # Errors
    /// `0A000`: it may not.
    pub fn compare(self, other: Moment, zone: Option<&Settings>) -> Result<Option<Ordering>> {
        use Moment::*;
        let needs = |from: &str, to: &str| match zone {
            Some(settings) => Ok(settings),
            None => {
                let text =
                    format!("cannot convert value from {from} to {to} without time zone usage");
                let hint = "Use *_tz() function for time zone support.";
                Err(Error::new("0A000", text).hint(hint))
            }
        };
        let start = |days: i32| i128::from(days) * i128::from(DAY_US);
        let utc_of_day = |days: i32, settings: &Settings| {
            let local = i64::from(days).checked_mul(DAY_US);
            match from_local(local, settings) {
                Ok(utc) => i128::from(utc),
                Err(_) => start(days),
            }
        };
        let clock = |time, east: i32| timetz::TimeTz { time, west: -east };
        let same = match (self, other) {
            (Date(a), Date(b)) => a.cmp(&b),
            (Date(a), Timestamp(b)) => start(a).cmp(&i128::from(b)),
            (Timestamp(a), Timestamp(b)) | (TimestampTz(a, _), TimestampTz(b, _)) => a.cmp(&b),
            (Time(a), Time(b)) => a.cmp(&b),
            (TimeTz(a, x), TimeTz(b, y)) => clock(a, x).cmp(&clock(b, y)),
            (Date(a), TimestampTz(b, _)) => {
                utc_of_day(a, needs("date", "timestamptz")?).cmp(&i128::from(b))
            }
            (Timestamp(a), TimestampTz(b, _)) => {
                from_local(Some(a), needs("timestamp", "timestamptz")?)?.cmp(&b)
            }
            (Time(a), TimeTz(b, east)) => {
                let (time, west) = with_offset(a, needs("time", "timetz")?);
                timetz::TimeTz { time, west }.cmp(&clock(b, east))
            }
            (Timestamp(_), Date(_))
            | (TimestampTz(..), Date(_) | Timestamp(_))
            | (TimeTz(..), Time(_)) => {
                return Ok(other.compare(self, zone)?.map(Ordering::reverse));
            }
            _ => return Ok(None),
        };
        Ok(Some(same))
    }
}

/// Hours and minutes of a zone, seconds where there are some.
fn offset(east: i32) -> String {
    let sign = if east < 0 { '-' } else { '+' };
    let seconds = east.abs();
    let text = format!("{sign}{:02}:{:02}", seconds / 3600, seconds / 60 % 60);
    match seconds % 60 {
        0 => text,
        seconds => format!("{text}:{seconds:02}"),
    }
}
