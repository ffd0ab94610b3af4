//! Which texts are intervals? (DecodeInterval; `iso` has ISO 8601.)

use super::split::{Look, split};
use crate::value::interval::{Fields, Interval};
use crate::value::{IntervalStyle, Settings};
use crate::{Error, Result};

/// Units by their spellings, each cut to ten letters as PostgreSQL cuts them.
const UNITS: [(&str, Unit); 12] = [
    ("us usec usecs usecond useconds microsecon", Unit::Time(1)),
    ("ms msec msecs msecond mseconds millisecon", Unit::Time(1_000)),
    ("s sec secs second seconds", Unit::Time(1_000_000)),
    ("m min mins minute minutes", Unit::Time(60_000_000)),
    ("h hr hrs hour hours", Unit::Time(3_600_000_000)),
    ("d day days", Unit::Days(1)),
    ("w week weeks", Unit::Days(7)),
    ("mon mons month months", Unit::Months),
    ("y yr yrs year years", Unit::Years(1)),
    ("dec decs decade decades", Unit::Years(10)),
    ("c cent century centuries", Unit::Years(100)),
    ("mil mils millennium millennia", Unit::Years(1000)),
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Time(i64),
    Days(i32),
    Months,
    Years(i32),
}

/// Words that are units, but not of intervals; a number before one is refused.
const OTHERS: [&str; 5] = ["qtr", "quarter", "timezone", "timezone_h", "timezone_m"];

fn unit(word: &str) -> Option<usize> {
    let word = &word[..word.len().min(10)];
    if OTHERS.contains(&word) {
        return Some(UNITS.len());
    }
    UNITS.iter().position(|(names, _)| names.split(' ').any(|name| name == word))
}

/// What was read so far.
#[derive(Default)]
pub(super) struct Sum {
    years: i32,
    months: i32,
    days: i32,
    time: i64,
    seen: u32,
}

pub(super) enum Bad {
    Format,
    Range,
    Total,
}

pub(super) type Read<T> = std::result::Result<T, Bad>;

/// interval_in; the fields that the type is restricted to say what numbers without units are.
pub(crate) fn parse(text: &str, fields: Fields, settings: &Settings) -> Result<Interval> {
    let read = match decode(text, fields, settings) {
        Err(Bad::Format) => super::iso::decode(text),
        other => other,
    };
    read.and_then(|sum| sum.total().ok_or(Bad::Total)).map_err(|bad| match bad {
        Bad::Format => {
            Error::new("22007", format!("invalid input syntax for type interval: \"{text}\""))
        }
        Bad::Total => Error::new("22008", "interval out of range"),
        Bad::Range => Error::new("22015", format!("interval field value out of range: \"{text}\"")),
    })
}

/// The unit of the last number if none stands behind it.
fn last_unit(fields: Fields) -> usize {
    match fields {
        Fields::YEAR => 8,
        Fields::MONTH | Fields::YEAR_TO_MONTH => 7,
        Fields::DAY => 5,
        Fields::HOUR | Fields::DAY_TO_HOUR => 4,
        Fields::MINUTE | Fields::HOUR_TO_MINUTE | Fields::DAY_TO_MINUTE => 3,
        _ => 2,
    }
}

fn decode(text: &str, range: Fields, settings: &Settings) -> Read<Sum> {
    let fields = split(text, super::decode::is_word).ok_or(Bad::Format)?;
    let mut sum = Sum::default();
    let (mut current, mut ago) = (None, false);
    let signed = |text: &str| text.starts_with(['-', '+']);
    let all_negative = settings.interval_style == IntervalStyle::SqlStandard
        && fields.first().is_some_and(|(_, first)| first.starts_with('-'))
        && !fields[1..].iter().any(|(_, text)| signed(text));
    for (look, field) in fields.iter().rev() {
        let digits = field.trim_start_matches(['-', '+']);
        let negative = field.starts_with('-');
        match look {
            Look::Time | Look::Zone if digits.contains(':') => {
                match sum.clock(digits, range, negative || all_negative) {
                    // With a sign it may be another thing, but there is none that has colons.
                    Err(Bad::Range) if *look == Look::Zone => return Err(Bad::Format),
                    read => read?,
                }
                current = Some(5);
            }
            Look::Number | Look::Zone | Look::Date => {
                let at = *current.get_or_insert_with(|| last_unit(range));
                let is_hours = sum.number(digits, negative || all_negative, at)? == 4;
                if is_hours {
                    current = Some(5);
                }
            }
            _ if field == "ago" => (ago, current) = (true, Some(UNITS.len())),
            _ => current = Some(unit(field).ok_or(Bad::Format)?),
        }
    }
    if sum.seen == 0 {
        return Err(Bad::Format);
    }
    if ago {
        sum = Sum {
            years: sum.years.checked_neg().ok_or(Bad::Range)?,
            months: sum.months.checked_neg().ok_or(Bad::Range)?,
            days: sum.days.checked_neg().ok_or(Bad::Range)?,
            time: sum.time.checked_neg().ok_or(Bad::Range)?,
            ..sum
        };
    }
    Ok(sum)
}

/// A whole number; digits beyond its type are out of range.
fn whole<T: std::str::FromStr>(digits: &str) -> Read<T> {
    match digits.bytes().all(|b| b.is_ascii_digit()) {
        true if digits.is_empty() => Err(Bad::Format),
        true => digits.parse().map_err(|_| Bad::Range),
        false => Err(Bad::Format),
    }
}

/// The same, of a part of a clock: nothing is 0.
fn part<T: std::str::FromStr + Default>(digits: &str) -> Read<T> {
    if digits.is_empty() { Ok(T::default()) } else { whole(digits) }
}

/// The part of one that digits behind a point are.
fn fraction(digits: &str) -> Read<f64> {
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Bad::Format);
    }
    format!("0.{digits}0").parse().map_err(|_| Bad::Format)
}

impl Sum {
    /// The interval, unless its months are too many.
    fn total(&self) -> Option<Interval> {
        let months = i64::from(self.years) * 12 + i64::from(self.months);
        Some(Interval { months: months.try_into().ok()?, days: self.days, time: self.time })
    }

    fn see(&mut self, bits: u32) -> Read<()> {
        if self.seen & bits != 0 {
            return Err(Bad::Format);
        }
        self.seen |= bits;
        Ok(())
    }

    /// Hours, minutes, seconds with colons. They take the place of what parts of days gave.
    fn clock(&mut self, text: &str, range: Fields, negative: bool) -> Read<()> {
        let parts: Vec<&str> = text.split(':').collect();
        let (hours, minutes, seconds, rest): (i64, i64, i64, _) = match parts[..] {
            [first, last] => {
                let (second, rest) =
                    last.split_once('.').map_or((last, None), |(s, r)| (s, Some(r)));
                let (first, second) = (part::<i64>(first)?, i64::from(part::<i32>(second)?));
                match rest.is_some() || range == Fields::MINUTE_TO_SECOND {
                    true if first > i64::from(i32::MAX) => return Err(Bad::Range),
                    true => (0, first, second, rest.unwrap_or("")),
                    false => (first, second, 0, ""),
                }
            }
            [hours, minutes, last] => {
                let (seconds, rest) = last.split_once('.').unwrap_or((last, ""));
                let (minutes, seconds) = (part::<i32>(minutes)?, part::<i32>(seconds)?);
                (part(hours)?, minutes.into(), seconds.into(), rest)
            }
            _ => return Err(Bad::Format),
        };
        let micros = (fraction(rest)? * 1e6).round_ties_even() as i64;
        if minutes > 59 || seconds > 60 {
            return Err(Bad::Range);
        }
        let small = (minutes * 60 + seconds) * 1_000_000 + micros;
        let time = hours.checked_mul(3_600_000_000).and_then(|time| time.checked_add(small));
        let time = time.ok_or(Bad::Range)?;
        self.see(0b11111)?;
        self.time = if negative { -time } else { time };
        Ok(())
    }

    /// Adds a number of a unit; which unit it was.
    fn number(&mut self, text: &str, negative: bool, at: usize) -> Read<usize> {
        let sign = if negative { -1 } else { 1 };
        if let Some((years, months)) = text.split_once('-') {
            let years: i64 = whole(years)?;
            let digits = months.bytes().take_while(u8::is_ascii_digit).count();
            let of_year: i64 = whole(&months[..digits])?;
            if of_year >= 12 {
                return Err(Bad::Range);
            }
            if digits < months.len() {
                return Err(Bad::Format);
            }
            let total = years.checked_mul(12).and_then(|m| m.checked_add(of_year));
            self.add_months(sign * total.ok_or(Bad::Range)?)?;
            self.see(1 << 7)?;
            return Ok(7);
        }
        let (digits, rest) = text.split_once('.').unwrap_or((text, ""));
        let size: u64 = if digits.is_empty() { 0 } else { whole(digits)? };
        let value = match negative {
            true => 0_i64.checked_sub_unsigned(size).ok_or(Bad::Range)?,
            false => i64::try_from(size).map_err(|_| Bad::Range)?,
        };
        let rest = fraction(rest)? * sign as f64;
        self.add(value, rest, UNITS.get(at).ok_or(Bad::Format)?.1)?;
        self.see(if at == 2 && rest != 0.0 { 0b111 } else { 1 << at })?;
        Ok(at)
    }

    /// Adds a whole number of a unit and a part of one.
    pub(super) fn add(&mut self, value: i64, rest: f64, unit: Unit) -> Read<()> {
        match unit {
            Unit::Time(scale) => {
                self.add_time(value.checked_mul(scale).ok_or(Bad::Range)?)?;
                self.add_time(near(rest * scale as f64))
            }
            Unit::Days(scale) => {
                let value = i32::try_from(value).map_err(|_| Bad::Range)?;
                self.add_days(value.checked_mul(scale).ok_or(Bad::Range)?)?;
                self.part_of_days(rest * f64::from(scale))
            }
            Unit::Months => {
                self.add_months(value)?;
                self.part_of_days(rest * 30.0)
            }
            Unit::Years(scale) => {
                let value = i32::try_from(value).map_err(|_| Bad::Range)?;
                let years = value.checked_mul(scale).ok_or(Bad::Range)?;
                self.years = self.years.checked_add(years).ok_or(Bad::Range)?;
                self.add_months((rest * f64::from(scale) * 12.0).round_ties_even() as i64)
            }
        }
    }

    fn part_of_days(&mut self, days: f64) -> Read<()> {
        self.add_days(days as i32)?;
        self.add_time(near(days.fract() * 86_400_000_000.0))
    }

    fn add_months(&mut self, more: i64) -> Read<()> {
        let more = i32::try_from(more).map_err(|_| Bad::Range)?;
        self.months = self.months.checked_add(more).ok_or(Bad::Range)?;
        Ok(())
    }

    fn add_days(&mut self, more: i32) -> Read<()> {
        self.days = self.days.checked_add(more).ok_or(Bad::Range)?;
        Ok(())
    }

    fn add_time(&mut self, more: i64) -> Read<()> {
        self.time = self.time.checked_add(more).ok_or(Bad::Range)?;
        Ok(())
    }
}

/// The nearest whole number, halves towards zero.
fn near(value: f64) -> i64 {
    let whole = value.trunc();
    whole as i64 + (value - whole > 0.5) as i64 - (value - whole < -0.5) as i64
}
