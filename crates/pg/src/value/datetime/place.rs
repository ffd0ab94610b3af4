//! Which zone does a text name? (The zone of AT TIME ZONE: abbreviations, names, POSIX forms.)

use chrono_tz::Tz;

use super::words::{self, Word};
use super::{DAY_US, calendar, zone};
use crate::{Error, Result};

/// What says which offset holds when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A zone of the tz database.
    Named(Tz),
    /// An offset: seconds east of UTC.
    Fixed(i32),
    /// Letters whose offset depends on the time.
    Word(Word),
    /// Summer time by a rule for all years.
    Rule(Rule),
}

/// A POSIX form with summer time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Seconds east of UTC in winter.
    winter: i32,
    /// Seconds east of UTC in summer.
    summer: i32,
    begins: Change,
    ends: Change,
}

/// When the offset changes, in every year: a day, and seconds of local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    day: Day,
    seconds: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Day {
    /// 1 to 365; February 29 is never counted.
    Julian(i64),
    /// 0 to 365.
    OfYear(i64),
    /// Month, week (5 is the last), weekday from Sunday.
    Week(i64, i64, i64),
}

impl Change {
    /// The local moment in a year, microseconds from 2000.
    fn in_year(&self, year: i64) -> i64 {
        let first = calendar::days(year, 1, 1);
        let days = match self.day {
            Day::Julian(day) => first + day - 1 + i64::from(calendar::is_leap(year) && day >= 60),
            Day::OfYear(day) => first + day,
            Day::Week(month, week, weekday) => {
                let first = calendar::days(year, month, 1);
                let to = (weekday - calendar::weekday(first) as i64).rem_euclid(7);
                let day = to + 7 * (week - 1);
                let day = if day >= calendar::days_of(year, month) { day - 7 } else { day };
                first + day
            }
        };
        days.saturating_mul(DAY_US).saturating_add(us(self.seconds))
    }
}

fn us(seconds: i32) -> i64 {
    i64::from(seconds) * 1_000_000
}

impl Rule {
    fn offset_at(&self, utc: i64) -> i32 {
        let (year, ..) = calendar::date((utc.saturating_add(us(self.winter))).div_euclid(DAY_US));
        let begins = self.begins.in_year(year).saturating_sub(us(self.winter));
        let ends = self.ends.in_year(year).saturating_sub(us(self.summer));
        let summer = match begins < ends {
            true => (begins..ends).contains(&utc),
            false => !(ends..begins).contains(&utc),
        };
        if summer { self.summer } else { self.winter }
    }
}

impl Place {
    /// The offset that holds at a moment, in seconds east of UTC.
    pub fn offset_at(&self, utc: i64) -> i32 {
        match self {
            Place::Named(zone) => zone::offset_at(*zone, utc),
            Place::Fixed(east) => *east,
            Place::Word(word) => word.offset_at(utc),
            Place::Rule(rule) => rule.offset_at(utc),
        }
    }

    /// The offset of a zone that has had one at all times.
    pub(super) fn fixed(&self) -> Option<i32> {
        match self {
            Place::Named(zone) => zone::is_fixed(*zone).then(|| zone::offset_at(*zone, 0)),
            Place::Fixed(east) => Some(*east),
            Place::Word(_) => None,
            Place::Rule(rule) => (rule.winter == rule.summer).then_some(rule.winter),
        }
    }

    /// Whether an offset is that of summer; of a rule.
    pub(super) fn is_summer(&self, east: i32) -> bool {
        matches!(self, Place::Rule(rule) if rule.summer == east && rule.winter != east)
    }

    /// The offset that holds at a local time: before a gap its first one, after an overlap its second.
    pub fn local_offset(&self, local: i64) -> i32 {
        match self {
            Place::Named(zone) => zone::local_offset(*zone, local),
            Place::Fixed(east) => *east,
            Place::Word(word) => word.local_offset(local),
            Place::Rule(rule) => {
                let summer = rule.offset_at(local.saturating_sub(us(rule.summer))) == rule.summer;
                let winter = rule.offset_at(local.saturating_sub(us(rule.winter))) == rule.winter;
                if summer && !winter { rule.summer } else { rule.winter }
            }
        }
    }
}

/// The zone that a text names.
///
/// # Errors
/// `22023`: none.
pub fn find_place(name: &str) -> Result<Place> {
    if let Some(word) = words::word(name) {
        return Ok(Place::Word(word));
    }
    if let Some((east, _)) = zone::abbreviation(&name.to_ascii_lowercase()) {
        return Ok(Place::Fixed(east));
    }
    if let Some(zone) = zone::find_zone(name) {
        return Ok(Place::Named(zone));
    }
    posix(name)
        .map(|(place, _)| place)
        .ok_or_else(|| Error::new("22023", format!("time zone \"{name}\" not recognized")))
}

/// Letters, or anything in angle brackets, and what follows; PostgreSQL lets them be missing.
fn letters(text: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = text.strip_prefix('<') {
        return quoted.split_once('>');
    }
    let end = text.find(|c: char| c.is_ascii_digit() || matches!(c, ',' | '-' | '+'));
    Some(text.split_at(end.unwrap_or(text.len())))
}

/// A whole number up to a limit.
fn number(text: &str, least: i64, most: i64) -> Option<(i64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let value: i64 = text[..digits.min(9)].parse().ok()?;
    (digits <= 9 && (least..=most).contains(&value)).then_some((value, &text[digits..]))
}

/// Hours, minutes and seconds with a sign.
fn seconds(text: &str) -> Option<(i32, &str)> {
    let (sign, text) = match text.as_bytes().first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    let (hours, mut rest) = number(text, 0, 167)?;
    let mut total = hours * 3600;
    for (unit, most) in [(60, 59), (1, 60)] {
        let Some(after) = rest.strip_prefix(':') else { break };
        let (value, after) = number(after, 0, most)?;
        total += value * unit;
        rest = after;
    }
    Some((sign * total as i32, rest))
}

fn change(text: &str) -> Option<(Change, &str)> {
    let (day, rest) = if let Some(text) = text.strip_prefix('J') {
        let (day, rest) = number(text, 1, 365)?;
        (Day::Julian(day), rest)
    } else if let Some(text) = text.strip_prefix('M') {
        let (month, rest) = number(text, 1, 12)?;
        let (week, rest) = number(rest.strip_prefix('.')?, 1, 5)?;
        let (weekday, rest) = number(rest.strip_prefix('.')?, 0, 6)?;
        (Day::Week(month, week, weekday), rest)
    } else {
        let (day, rest) = number(text, 0, 365)?;
        (Day::OfYear(day), rest)
    };
    let (seconds, rest) = match rest.strip_prefix('/') {
        Some(rest) => seconds(rest)?,
        None => (7200, rest),
    };
    Some((Change { day, seconds }, rest))
}

/// As POSIX writes zones: its sign means west. With the letters of winter and of summer.
pub(super) fn posix(text: &str) -> Option<(Place, [&str; 2])> {
    let (winter_letters, rest) = letters(text).filter(|(_, rest)| !rest.is_empty())?;
    let (west, rest) = seconds(rest)?;
    if rest.is_empty() {
        return Some((Place::Fixed(-west), [winter_letters; 2]));
    }
    let (summer_letters, after) = letters(rest).filter(|(_, after)| after.len() < rest.len())?;
    let (summer, after) = match after.as_bytes().first() {
        None | Some(b',') => (west - 3600, after),
        _ => seconds(after)?,
    };
    let dates = if after.is_empty() { ",M3.2.0,M11.1.0" } else { after };
    let (begins, after) = change(dates.strip_prefix(',')?)?;
    let (ends, after) = change(after.strip_prefix(',')?)?;
    let rule = Rule { winter: -west, summer: -summer, begins, ends };
    after.is_empty().then_some((Place::Rule(rule), [winter_letters, summer_letters]))
}

/// An offset as texts of dates have it, `+05:30`: seconds east of UTC.
///
/// # Errors
/// `None` if it has another form; `22009` if it is too large.
pub fn displacement(text: &str) -> Option<Result<i32>> {
    let signed = text.strip_prefix(['+', '-'])?;
    let (hours, minutes, seconds) = match *signed.split(':').collect::<Vec<_>>() {
        [digits] if digits.len() > 2 => {
            let (value, rest) = number(digits, 0, i64::MAX)?;
            rest.is_empty().then_some(())?;
            (value / 100, value % 100, 0)
        }
        ref parts if parts.len() <= 3 => {
            let mut values = [0; 3];
            for (value, part) in values.iter_mut().zip(parts) {
                // Nothing is no hours, minutes or seconds.
                if !part.is_empty() {
                    let (read, rest) = number(part, 0, i64::MAX)?;
                    rest.is_empty().then_some(())?;
                    *value = read;
                }
            }
            (values[0], values[1], values[2])
        }
        _ => return None,
    };
    if hours > 15 || minutes > 59 || seconds > 59 {
        let text = format!("time zone displacement out of range: \"{text}\"");
        return Some(Err(Error::new("22009", text)));
    }
    let east = (hours * 3600 + minutes * 60 + seconds) as i32;
    Some(Ok(if text.starts_with('-') { -east } else { east }))
}
