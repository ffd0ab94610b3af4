//! Which moment do fields that were read from a text mean?

use onlap_pg::value::datetime::{DAY_US, calendar};
use onlap_pg::{Error, Result};

use super::super::parts::{
    EPOCH_JULIAN, HOUR_US, MINUTE_US, Parts, SECOND_US, date_in_range, first_monday, has_julian_day,
};
use super::read::Fields;

/// A moment that was read.
#[derive(Debug)]
pub struct Read {
    parts: Parts,
    /// Seconds east of UTC, if the text says.
    pub east: Option<i32>,
    /// The decimals of a second if FF says so.
    pub precision: Option<i32>,
}

impl Read {
    /// Microseconds from midnight.
    pub fn time(&self) -> i64 {
        self.parts.time
    }

    /// The date, if it is one.
    pub fn date(&self) -> Option<i32> {
        self.has_day().then(|| date_in_range(Some(self.parts.days())).ok())?
    }

    /// The local timestamp, if a number holds it.
    pub fn local(&self) -> Option<i64> {
        self.has_day().then(|| self.parts.local())?
    }

    fn has_day(&self) -> bool {
        let Parts { year, month, .. } = self.parts;
        has_julian_day(calendar::days(year, month, calendar::days_of(year, month)))
    }
}

/// The date as far as it is known; a year that is not is 0, months and days are 1.
struct Date {
    year: i64,
    month: i64,
    day: i64,
    has_year: bool,
    has_month: bool,
    has_day: bool,
}

impl Date {
    /// Takes a day for all of it.
    fn become_day(&mut self, days: i64) {
        (self.year, self.month, self.day) = calendar::date(days);
        (self.has_year, self.has_month, self.has_day) = (true, true, true);
    }

    fn exists(&self) -> bool {
        let month = !self.has_month || (1..=12).contains(&self.month);
        let day = !self.has_day || (1..=31).contains(&self.day);
        let all = self.has_year && self.has_month && self.has_day;
        month && day && (!all || self.day <= calendar::days_of(self.year, self.month))
    }
}

/// Makes a moment of fields.
///
/// # Errors
/// `22007`, `22008`, `22009`
pub fn settle(fields: Fields, text: &str) -> Result<Read> {
    let refused = || Error::new("22008", format!("date/time field value out of range: \"{text}\""));
    let [hour, minute, second] = clock(&fields)?;
    let date = date(&fields)?;
    let micros = i64::from(fields.millis) * 1000 + i64::from(fields.micros);
    let fits = (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second)
        && (0..SECOND_US).contains(&micros);
    if !date.exists() || !fits {
        return Err(refused());
    }
    let east = match fields.zone_sign {
        0 => None,
        sign => {
            let (hour, minute) = (fields.zone_hour, fields.zone_minute);
            if !(0..=15).contains(&hour) || !(0..60).contains(&minute) {
                let text = format!("time zone displacement out of range: \"{text}\"");
                return Err(Error::new("22009", text));
            }
            Some(sign * (hour * 3600 + minute * 60))
        }
    };
    let time = hour * HOUR_US + minute * MINUTE_US + second * SECOND_US + micros;
    debug_assert!(time < DAY_US);
    let parts = Parts { year: date.year, month: date.month, day: date.day, time };
    Ok(Read { parts, east, precision: fields.precision })
}

fn clock(fields: &Fields) -> Result<[i64; 3]> {
    let whole = i64::from(fields.second_of_day);
    let other = |value: i32, otherwise: i64| if value == 0 { otherwise } else { i64::from(value) };
    let mut hour = other(fields.hour, whole / 3600);
    let minute = other(fields.minute, whole % 3600 / 60);
    let second = other(fields.second, whole % 60);
    if fields.twelve_hours {
        if !(1..=12).contains(&hour) {
            let text = format!("hour \"{hour}\" is invalid for the 12-hour clock");
            let hint = "Use the 24-hour clock, or give an hour between 1 and 12.";
            return Err(Error::new("22007", text).hint(hint));
        }
        hour = hour % 12 + if fields.afternoon != 0 { 12 } else { 0 };
    }
    Ok([hour, minute, second])
}

/// The year as the calendar counts, from year and century; `None` if neither was read.
fn year(fields: &Fields) -> Option<i64> {
    let bc = fields.before_christ != 0;
    let (year, century) = (i64::from(fields.year), i64::from(fields.century));
    let century = if bc { -century } else { century };
    match (year, century) {
        (0, 0) => None,
        (0, century) if century >= 0 => Some((century - 1) * 100 + 1),
        (0, century) => Some(century * 100 + 1),
        (year, century) if century != 0 && fields.year_digits <= 2 => Some(match year % 100 {
            0 => century * 100 + i64::from(century < 0),
            year if century >= 0 => year + (century - 1) * 100,
            year => (century + 1) * 100 - year + 1,
        }),
        (year, _) => {
            let year = if bc { -year } else { year };
            Some(if year < 0 { year + 1 } else { year })
        }
    }
}

fn date(fields: &Fields) -> Result<Date> {
    let is_iso = fields.is_iso == Some(true);
    let known = year(fields);
    let mut date = Date {
        year: known.unwrap_or(0),
        month: 1,
        day: 1,
        has_year: known.is_some(),
        has_month: false,
        has_day: false,
    };
    if fields.julian != 0 {
        date.become_day(i64::from(fields.julian) - EPOCH_JULIAN);
    }
    let mut day_of_year = i64::from(fields.day_of_year);
    let week = i64::from(fields.week);
    if week != 0 && is_iso {
        let monday = first_monday(date.year) + (week - 1) * 7;
        date.become_day(match i64::from(fields.weekday) {
            0 => monday,
            1 => monday + 6,
            weekday => monday + weekday - 2,
        });
    } else if week != 0 {
        day_of_year = (week - 1) * 7 + 1;
    }
    let of_month = match i64::from(fields.week_of_month) {
        0 => i64::from(fields.day),
        week => (week - 1) * 7 + 1,
    };
    if of_month != 0 {
        (date.day, date.has_day) = (of_month, true);
    }
    if fields.month != 0 {
        (date.month, date.has_month) = (fields.month.into(), true);
    }
    if day_of_year != 0 && (date.month <= 1 || date.day <= 1) {
        if date.year == 0 && fields.before_christ == 0 {
            let text = "cannot calculate day of year without year information";
            return Err(Error::new("22007", text));
        }
        if is_iso {
            date.become_day(first_monday(date.year) + day_of_year - 1);
        } else {
            from_day_of_year(&mut date, day_of_year);
        }
    }
    Ok(date)
}

/// Month and day by the day of the year, as far as they are not known.
fn from_day_of_year(date: &mut Date, day_of_year: i64) {
    let (mut month, mut before) = (1, 0);
    while month <= 12 && day_of_year > before + calendar::days_of(date.year, month) {
        before += calendar::days_of(date.year, month);
        month += 1;
    }
    if date.month <= 1 {
        date.month = month;
    }
    if date.day <= 1 {
        date.day = day_of_year - before;
    }
    (date.has_month, date.has_day) = (true, true);
}
