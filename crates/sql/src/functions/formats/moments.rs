//! How is a moment written by a template, and read?

use chrono::{Datelike, NaiveDate, Timelike};

use crate::error::{Result, SqlError};

/// Fields, the longer ones before those that they begin with.
const FIELDS: &[&str] = &[
    "HH24", "HH12", "HH", "MI", "SSSSS", "SSSS", "SS", "MS", "US", "Y,YYY", "YYYY", "YYY", "YY",
    "IYYY", "IYY", "IY", "A.M.", "P.M.", "AM", "PM", "MONTH", "MON", "MM", "DAY", "DDD", "DD",
    "DY", "IDDD", "ID", "IW", "WW", "CC", "TZH", "TZM", "TZ", "OF", "RM", "Q", "D", "W", "J", "Y",
    "I",
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const ROMAN: [&str; 12] =
    ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// A part of a template.
#[derive(Debug, PartialEq)]
enum Part<'a> {
    Text(&'a str),
    Field(Field<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Field<'a> {
    /// As [`FIELDS`] has it.
    name: &'static str,
    /// As it was written, which says upper or lower case.
    written: &'a str,
    /// FM: no blanks and zeros are added.
    bare: bool,
    /// TH or th behind it.
    ordinal: Option<bool>,
}

fn begins(text: &str, with: &str) -> bool {
    text.get(..with.len()).is_some_and(|head| head.eq_ignore_ascii_case(with))
}

fn parts(template: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix('"') {
            let end = quoted.find('"').unwrap_or(quoted.len());
            parts.push(Part::Text(&quoted[..end]));
            rest = quoted.get(end + 1..).unwrap_or("");
            continue;
        }
        let bare = begins(rest, "FM");
        let field = if bare { &rest[2..] } else { rest };
        if let Some(name) = FIELDS.iter().find(|name| begins(field, name)) {
            let (written, after) = field.split_at(name.len());
            let ordinal = match after.get(..2) {
                Some("TH") => Some(true),
                Some("th") => Some(false),
                _ => None,
            };
            parts.push(Part::Field(Field { name, written, bare, ordinal }));
            rest = if ordinal.is_some() { &after[2..] } else { after };
            continue;
        }
        let length = rest.chars().next().map_or(1, char::len_utf8);
        parts.push(Part::Text(&rest[..length]));
        rest = &rest[length..];
    }
    parts
}

/// A name in the case in which its field was written.
fn cased(name: &str, written: &str) -> String {
    let mut letters = written.chars().filter(|c| c.is_alphabetic());
    let (first, second) = (letters.next(), letters.next());
    match (first.is_some_and(char::is_uppercase), second.is_some_and(char::is_uppercase)) {
        (true, true) => name.to_uppercase(),
        (true, false) => name.to_string(),
        _ => name.to_lowercase(),
    }
}

fn ordinal(n: i64) -> &'static str {
    match (n % 100, n % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    }
}

/// Writes microseconds since 1970-01-01.
///
/// # Errors
/// A moment that no calendar has; a field of time zones.
pub fn write(us: i64, template: &str) -> Result<String> {
    let at = chrono::DateTime::from_timestamp_micros(us)
        .ok_or_else(|| SqlError::new("22008", "timestamp out of range"))?
        .naive_utc();
    let (date, time) = (at.date(), at.time());
    let mut out = String::new();
    for part in parts(template) {
        let field = match part {
            Part::Text(text) => {
                out += text;
                continue;
            }
            Part::Field(field) => field,
        };
        let week = date.iso_week();
        let year = i64::from(date.year());
        let half = time.hour() % 12;
        let of_day = i64::from(date.weekday().num_days_from_sunday());
        let number = |n: i64, width: usize| Some((n, width));
        let value = match field.name {
            "HH24" => number(time.hour().into(), 2),
            "HH12" | "HH" => number(if half == 0 { 12 } else { half }.into(), 2),
            "MI" => number(time.minute().into(), 2),
            "SS" => number(time.second().into(), 2),
            "SSSS" | "SSSSS" => number(time.num_seconds_from_midnight().into(), 1),
            "MS" => number((time.nanosecond() / 1_000_000).into(), 3),
            "US" => number((time.nanosecond() / 1000).into(), 6),
            "YYYY" => number(year, 4),
            "YYY" => number(year % 1000, 3),
            "YY" => number(year % 100, 2),
            "Y" => number(year % 10, 1),
            "IYYY" => number(week.year().into(), 4),
            "IYY" => number(i64::from(week.year()) % 1000, 3),
            "IY" => number(i64::from(week.year()) % 100, 2),
            "I" => number(i64::from(week.year()) % 10, 1),
            "MM" => number(date.month().into(), 2),
            "DDD" => number(date.ordinal().into(), 3),
            "DD" => number(date.day().into(), 2),
            "D" => number(of_day + 1, 1),
            "ID" => number(date.weekday().number_from_monday().into(), 1),
            "IW" => number(week.week().into(), 2),
            "WW" => number(i64::from((date.ordinal() - 1) / 7 + 1), 2),
            "W" => number(i64::from((date.day() - 1) / 7 + 1), 1),
            "Q" => number(i64::from((date.month() - 1) / 3 + 1), 1),
            "CC" => number((year + 99).div_euclid(100), 2),
            "J" => number(i64::from(date.num_days_from_ce()) + 1_721_425, 1),
            "TZH" | "TZM" | "TZ" | "OF" | "IDDD" | "Y,YYY" => {
                return Err(SqlError::unsupported(format!("{} in a template", field.name)));
            }
            _ => None,
        };
        if let Some((n, width)) = value {
            let width = if field.bare { 1 } else { width };
            out += &format!("{n:0width$}");
            if let Some(upper) = field.ordinal {
                let suffix = ordinal(n);
                out += &if upper { suffix.to_uppercase() } else { suffix.to_string() };
            }
            continue;
        }
        let month = date.month0() as usize;
        let (name, width) = match field.name {
            "AM" | "PM" => (if time.hour() < 12 { "AM" } else { "PM" }, 0),
            "A.M." | "P.M." => (if time.hour() < 12 { "A.M." } else { "P.M." }, 0),
            "MONTH" => (MONTHS[month], 9),
            "MON" => (&MONTHS[month][..3], 0),
            "DAY" => (DAYS[of_day as usize], 9),
            "DY" => (&DAYS[of_day as usize][..3], 0),
            _ => (ROMAN[month], 4),
        };
        let name = match field.name {
            "AM" | "PM" | "A.M." | "P.M." if field.written.starts_with(char::is_lowercase) => {
                name.to_lowercase()
            }
            "AM" | "PM" | "A.M." | "P.M." => name.to_string(),
            _ => cased(name, field.written),
        };
        let width = if field.bare { 0 } else { width };
        out += &format!("{name:<width$}");
    }
    Ok(out)
}

/// What was read so far.
struct Fields {
    year: i64,
    month: i64,
    day: i64,
    of_year: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    us: i64,
    afternoon: Option<bool>,
}

/// Reads a text: microseconds since 1970-01-01.
///
/// # Errors
/// The text does not go with the template; there is no such day; a field that is only written.
pub fn read(text: &str, template: &str) -> Result<i64> {
    let mut fields = Fields {
        year: 1,
        month: 1,
        day: 1,
        of_year: None,
        hour: 0,
        minute: 0,
        second: 0,
        us: 0,
        afternoon: None,
    };
    let mut rest = text;
    let all = parts(template);
    for (i, part) in all.iter().enumerate() {
        match part {
            Part::Text(expected) => {
                // Any separator stands for any other; blanks may be more or missing.
                let first = expected.chars().next().unwrap_or(' ');
                if first.is_alphanumeric() {
                    let skipped = expected.chars().count();
                    let at = rest.char_indices().nth(skipped).map_or(rest.len(), |(at, _)| at);
                    rest = &rest[at..];
                } else {
                    rest = rest.trim_start();
                    let is_separator = |c: char| c.is_ascii_punctuation() && c != '-' && c != '+';
                    match rest.chars().next() {
                        Some(c) if is_separator(c) || c == first => {
                            rest = &rest[c.len_utf8()..];
                        }
                        _ => {}
                    }
                }
            }
            Part::Field(field) => {
                rest = rest.trim_start();
                let next_is_field = matches!(all.get(i + 1), Some(Part::Field(_)));
                rest = fields.take(*field, rest, next_is_field)?;
            }
        }
    }
    fields.moment()
}

impl Fields {
    /// Reads one field; what is left.
    fn take<'t>(&mut self, field: Field<'_>, rest: &'t str, tight: bool) -> Result<&'t str> {
        let wrong = || {
            let text = format!("invalid value \"{rest}\" for \"{}\"", field.written);
            SqlError::new("22007", text)
        };
        let name_of = |names: &[&str], short: bool| {
            let found =
                names.iter().position(|name| begins(rest, if short { &name[..3] } else { name }));
            let at = found.ok_or_else(wrong)?;
            let length = if short { 3 } else { names[at].len() };
            Ok::<_, SqlError>((at as i64, &rest[length..]))
        };
        match field.name {
            "MONTH" | "MON" => {
                let (at, left) = name_of(&MONTHS, field.name == "MON")?;
                self.month = at + 1;
                return Ok(left);
            }
            "DAY" => return Ok(name_of(&DAYS, false)?.1),
            "DY" => return Ok(name_of(&DAYS, true)?.1),
            "AM" | "PM" | "A.M." | "P.M." => {
                let length = field.name.len();
                let half = rest.get(..length).ok_or_else(wrong)?;
                self.afternoon = Some(half.starts_with(['p', 'P']));
                return Ok(&rest[length..]);
            }
            _ => {}
        }
        let width = match field.name {
            "YYYY" if tight => 4,
            "YYYY" => 9,
            "YYY" | "DDD" | "MS" => 3,
            "US" => 6,
            "HH24" | "HH12" | "HH" | "MI" | "SS" | "MM" | "DD" | "YY" => 2,
            other => return Err(SqlError::unsupported(format!("{other} in a template to read"))),
        };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count().min(width);
        let n: i64 = rest[..digits].parse().map_err(|_| wrong())?;
        match field.name {
            "YYYY" | "YYY" => self.year = n,
            "YY" => self.year = if n < 70 { 2000 + n } else { 1900 + n },
            "MM" => self.month = n,
            "DD" => self.day = n,
            "DDD" => self.of_year = Some(n),
            "HH24" => self.hour = n,
            "HH12" | "HH" => {
                self.hour = n;
                self.afternoon.get_or_insert(false);
            }
            "MI" => self.minute = n,
            "SS" => self.second = n,
            "MS" => self.us += n * 10i64.pow(6 - digits as u32),
            _ => self.us += n * 10i64.pow(6 - digits as u32),
        }
        Ok(&rest[digits..])
    }

    fn moment(&self) -> Result<i64> {
        let out_of_range = || SqlError::new("22008", "date/time field value out of range");
        let year = i32::try_from(self.year).map_err(|_| out_of_range())?;
        let small = |n: i64| u32::try_from(n).map_err(|_| out_of_range());
        let date = match self.of_year {
            Some(day) => NaiveDate::from_yo_opt(year, small(day)?),
            None => NaiveDate::from_ymd_opt(year, small(self.month)?, small(self.day)?),
        };
        let date = date.ok_or_else(out_of_range)?;
        let hour = match self.afternoon {
            Some(afternoon) if self.hour <= 12 => self.hour % 12 + if afternoon { 12 } else { 0 },
            Some(_) => return Err(out_of_range()),
            None => self.hour,
        };
        if hour > 24 || self.minute > 59 || self.second > 60 {
            return Err(out_of_range());
        }
        let seconds = (hour * 60 + self.minute) * 60 + self.second;
        let days = i64::from(date.num_days_from_ce() - 719_163);
        Ok(days * super::DAY_US + seconds * 1_000_000 + self.us)
    }
}
