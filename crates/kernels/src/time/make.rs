//! Which date, time or interval is made of numbers?

use onlap_pg::value::Settings;
use onlap_pg::value::datetime::{
    DAY_US, END_TIMESTAMP, MIN_TIMESTAMP, Place, calendar, displacement, find_place,
};
use onlap_pg::value::interval::Interval as Span;
use onlap_pg::{Error, Result};

use super::by_row::by_row;
use super::general::general;
use super::parts::{
    HOUR_US, MINUTE_US, SECOND_US, UNIX_EPOCH, date_in_range, from_local, has_julian_day, in_range,
    interval_range, timestamp_range,
};
use crate::{Col, Date, Entry, Float8, Int4, Interval, Text, Time, Timestamp, Ty, one, three};

/// Year, month and day; years below zero are before Christ.
type Ymd = (i32, i32, i32);
/// Hours, minutes, seconds.
type Hms = (i32, i32, f64);

/// The year as the calendar counts, in which 0 is 1 BC; there is no year 0.
fn astronomical(year: i32) -> Option<i64> {
    match year {
        0 | i32::MIN => None,
        year if year < 0 => Some(i64::from(year) + 1),
        year => Some(i64::from(year)),
    }
}

fn days((year, month, day): Ymd) -> Option<i64> {
    let (year, month, day) = (astronomical(year)?, i64::from(month), i64::from(day));
    let exists = (1..=12).contains(&month) && (1..=calendar::days_of(year, month)).contains(&day);
    exists.then(|| calendar::days(year, month, day))
}

fn make_date(date: Ymd) -> Result<i32> {
    let refused = |what: &str| {
        let (year, month, day) = date;
        let year = astronomical(year).unwrap_or(year.into());
        Error::new("22008", format!("{what} out of range: {year}-{month:02}-{day:02}"))
    };
    let days = days(date).ok_or_else(|| refused("date field value"))?;
    date_in_range(Some(days)).map_err(|_| refused("date"))
}

fn make_time((hour, minute, second): Hms) -> Result<i64> {
    let us = (second * 1e6).round_ties_even();
    let clock = i64::from(hour) * HOUR_US + i64::from(minute) * MINUTE_US;
    let fits = (0..=24).contains(&hour)
        && (0..60).contains(&minute)
        && (0.0..=6e7).contains(&us)
        && clock + us as i64 <= DAY_US;
    if fits {
        return Ok(clock + us as i64);
    }
    let second = general(second, 2);
    let text = format!("time field value out of range: {hour}:{minute:02}:{second}");
    Err(Error::new("22008", text))
}

fn make_timestamp(date: Ymd, time: Hms) -> Result<i64> {
    let ((year, month, day), (hour, minute, second)) = (date, time);
    let refused = |what: &str, clock: &str| {
        let text = format!("{what} out of range: {year}-{month:02}-{day:02}{clock}");
        Error::new("22008", text)
    };
    let days = days(date).ok_or_else(|| refused("date field value", ""))?;
    if !has_julian_day(days) {
        return Err(refused("date", ""));
    }
    let clock = make_time(time)?;
    let value = days.checked_mul(DAY_US).and_then(|value| value.checked_add(clock));
    in_range(value)
        .map_err(|_| refused("timestamp", &format!(" {hour}:{minute:02}:{}", general(second, 2))))
}

/// The zone of make_timestamptz: an offset with a sign, an abbreviation, a name.
fn zone(text: &str) -> Result<Place> {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        let message = format!("invalid input syntax for type numeric time zone: \"{text}\"");
        let hint = "Numeric time zones must have \"-\" or \"+\" as first character.";
        return Err(Error::new("22023", message).hint(hint));
    }
    match displacement(text) {
        Some(Ok(east)) => Ok(Place::Fixed(east)),
        Some(Err(_)) => {
            let message = format!("numeric time zone \"{text}\" out of range");
            Err(Error::new("22023", message))
        }
        None => find_place(text),
    }
}

fn make_interval(fields: [i32; 6], seconds: f64) -> Result<Span> {
    let [years, months, weeks, days, hours, minutes] = fields;
    let us = (seconds * 1e6).round_ties_even();
    if !seconds.is_finite() {
        return Err(interval_range());
    }
    let whole = i64::from(hours) * HOUR_US + i64::from(minutes) * MINUTE_US;
    let fits = us > i64::MIN as f64 - 1.0 && us < -(i64::MIN as f64);
    Ok(Span {
        months: years.wrapping_mul(12).wrapping_add(months),
        days: weeks.wrapping_mul(7).wrapping_add(days),
        time: whole.wrapping_add(if fits { us as i64 } else { i64::MIN }),
    })
}

/// Seconds from 1970, as to_timestamp has them.
fn from_epoch(seconds: f64) -> Result<i64> {
    if seconds.is_infinite() {
        return Ok(if seconds < 0.0 { i64::MIN } else { i64::MAX });
    }
    if seconds.is_nan() {
        return Err(Error::new("22008", "timestamp cannot be NaN"));
    }
    let refused =
        || Error::new("22008", format!("timestamp out of range: \"{}\"", general(seconds, 0)));
    let epoch = (UNIX_EPOCH / SECOND_US) as f64;
    let least = (MIN_TIMESTAMP / SECOND_US) as f64 - epoch;
    let end = (END_TIMESTAMP / SECOND_US) as f64 - epoch;
    if !(least..end).contains(&seconds) {
        return Err(refused());
    }
    let value = ((seconds + epoch) * 1e6).round_ties_even();
    in_range(Some(value as i64)).map_err(|_| refused())
}

fn int(args: &[Col], at: usize, row: usize) -> i32 {
    Int4::get(&Int4::column(&args[at].array), args[at].at(row))
}

fn float(args: &[Col], at: usize, row: usize) -> f64 {
    Float8::get(&Float8::column(&args[at].array), args[at].at(row))
}

fn timestamp_of(args: &[Col], row: usize) -> Result<i64> {
    let date = (int(args, 0, row), int(args, 1, row), int(args, 2, row));
    make_timestamp(date, (int(args, 3, row), int(args, 4, row), float(args, 5, row)))
}

fn in_session(local: i64, settings: &Settings) -> Result<i64> {
    from_local(Some(local), settings)
}

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("make_date(int4,int4,int4)", |_| {
        three::<Int4, Int4, Int4, Date>(|a, b, c, _| make_date((a, b, c)))
    }),
    ("make_time(int4,int4,float8)", |_| {
        three::<Int4, Int4, Float8, Time>(|a, b, c, _| make_time((a, b, c)))
    }),
    ("make_timestamp(int4,int4,int4,int4,int4,float8)", |_| {
        by_row::<Timestamp>(|args, row, _| timestamp_of(args, row))
    }),
    ("make_timestamptz(int4,int4,int4,int4,int4,float8)", |_| {
        by_row::<Timestamp>(|args, row, cx| in_session(timestamp_of(args, row)?, cx.settings))
    }),
    ("make_timestamptz(int4,int4,int4,int4,int4,float8,text)", |_| {
        by_row::<Timestamp>(|args, row, _| {
            let local = timestamp_of(args, row)?;
            let place = zone(Text::get(&Text::column(&args[6].array), args[6].at(row)))?;
            let east = i64::from(place.local_offset(local)) * SECOND_US;
            in_range(local.checked_sub(east)).map_err(|_| timestamp_range())
        })
    }),
    ("make_interval(int4,int4,int4,int4,int4,int4,float8)", |_| {
        by_row::<Interval>(|args, row, _| {
            make_interval(std::array::from_fn(|at| int(args, at, row)), float(args, 6, row))
        })
    }),
    ("to_timestamp(float8)", |_| one::<Float8, Timestamp>(|a, _| from_epoch(a))),
];
