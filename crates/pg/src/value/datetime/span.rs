//! Which texts are intervals? (DecodeInterval, without ISO 8601.)

use super::numbers::clock_parts;
use super::split::{Look, split};
use crate::value::interval::Interval;
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
enum Unit {
    Time(i64),
    Days(i32),
    Months,
    Years(i32),
}

fn unit(word: &str) -> Option<usize> {
    let word = &word[..word.len().min(10)];
    UNITS.iter().position(|(names, _)| names.split(' ').any(|name| name == word))
}

#[derive(Default)]
struct Sum {
    months: i32,
    days: i32,
    time: i64,
    seen: u32,
}

enum Bad {
    Format,
    Range,
    Total,
}

/// interval_in without a modifier.
pub(crate) fn parse(text: &str, settings: &Settings) -> Result<Interval> {
    decode(text, settings)
        .map_err(|bad| match bad {
            Bad::Format => crate::value::invalid("interval", text),
            Bad::Total => Error::new("22008", "interval out of range"),
            Bad::Range => {
                Error::new("22015", format!("interval field value out of range: \"{text}\""))
            }
        })
        .map_err(|e| if e.state == "22P02" { Error { state: "22007", ..e } } else { e })
}

fn decode(text: &str, settings: &Settings) -> std::result::Result<Interval, Bad> {
    let fields = split(text, |word| unit(word).is_some() || word == "ago").ok_or(Bad::Format)?;
    let mut sum = Sum::default();
    let (mut current, mut ago) = (None, false);
    let signed = |text: &str| text.starts_with(['-', '+']);
    let all_negative = settings.interval_style == IntervalStyle::SqlStandard
        && fields.first().is_some_and(|(_, first)| first.starts_with('-'))
        && !fields[1..].iter().any(|(_, text)| signed(text));
    for (look, field) in fields.iter().rev() {
        let negative = field.starts_with('-') || all_negative;
        let digits = field.trim_start_matches(['-', '+']);
        match look {
            Look::Time | Look::Zone if digits.contains(':') => {
                let time = clock_parts(digits).ok_or(Bad::Format)?;
                sum.clock(time, negative)?;
                current = Some(5);
            }
            Look::Number | Look::Zone | Look::Date => {
                sum.number(digits, negative, current.unwrap_or(2))?;
                if matches!(current, Some(3 | 4)) {
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
    let sign = |value: i32| if ago { value.checked_neg() } else { Some(value) };
    let time = if ago { sum.time.checked_neg() } else { Some(sum.time) };
    Ok(Interval {
        months: sign(sum.months).ok_or(Bad::Range)?,
        days: sign(sum.days).ok_or(Bad::Range)?,
        time: time.ok_or(Bad::Range)?,
    })
}

impl Sum {
    fn see(&mut self, bits: u32) -> std::result::Result<(), Bad> {
        if self.seen & bits != 0 {
            return Err(Bad::Format);
        }
        self.seen |= bits;
        Ok(())
    }

    fn clock(
        &mut self,
        [hours, minutes, seconds, fraction]: [i64; 4],
        negative: bool,
    ) -> std::result::Result<(), Bad> {
        self.see(0b11111)?;
        if minutes > 59 || seconds > 60 {
            return Err(Bad::Range);
        }
        let time = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + fraction;
        self.time += if negative { -time } else { time };
        Ok(())
    }

    fn number(&mut self, text: &str, negative: bool, at: usize) -> std::result::Result<(), Bad> {
        let sign = if negative { -1 } else { 1 };
        if let Some((years, months)) = text.split_once('-') {
            let years: i32 = years.parse().map_err(|_| Bad::Format)?;
            let months: i32 = months.parse().map_err(|_| Bad::Format)?;
            self.see(1 << 7)?;
            if months >= 12 {
                return Err(Bad::Range);
            }
            let total =
                years.checked_mul(12).and_then(|m| m.checked_add(months)).ok_or(Bad::Range)?;
            return self.add_months(sign * total);
        }
        let unit = UNITS.get(at).ok_or(Bad::Format)?.1;
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
            return Err(Bad::Format);
        }
        let whole = if whole.is_empty() { "0" } else { whole };
        let value: i32 = whole.parse().map_err(|_| Bad::Range)?;
        let value = sign * value;
        let rest: f64 = format!("0.{fraction}0").parse().map_err(|_| Bad::Format)?;
        let rest = rest * f64::from(sign);
        self.see(if at == 2 && rest != 0.0 { 0b111 } else { 1 << at })?;
        match unit {
            Unit::Time(scale) => {
                self.add_time(i64::from(value).checked_mul(scale).ok_or(Bad::Range)?)?;
                self.add_time(near(rest * scale as f64))
            }
            Unit::Days(scale) => {
                self.add_days(value.checked_mul(scale).ok_or(Bad::Range)?)?;
                self.part_of_days(rest * f64::from(scale))
            }
            Unit::Months => {
                self.add_months(value)?;
                self.part_of_days(rest * 30.0)
            }
            Unit::Years(scale) => {
                let years = value.checked_mul(scale).ok_or(Bad::Range)?;
                self.add_months(years.checked_mul(12).ok_or(Bad::Total)?)?;
                self.add_months((rest * f64::from(scale) * 12.0).round_ties_even() as i32)
            }
        }
    }

    fn part_of_days(&mut self, days: f64) -> std::result::Result<(), Bad> {
        self.add_days(days as i32)?;
        self.add_time(near(days.fract() * 86_400_000_000.0))
    }

    fn add_months(&mut self, more: i32) -> std::result::Result<(), Bad> {
        self.months = self.months.checked_add(more).ok_or(Bad::Range)?;
        Ok(())
    }

    fn add_days(&mut self, more: i32) -> std::result::Result<(), Bad> {
        self.days = self.days.checked_add(more).ok_or(Bad::Range)?;
        Ok(())
    }

    fn add_time(&mut self, more: i64) -> std::result::Result<(), Bad> {
        self.time = self.time.checked_add(more).ok_or(Bad::Range)?;
        Ok(())
    }
}

/// The nearest whole number, halves towards zero.
fn near(value: f64) -> i64 {
    let whole = value.trunc();
    whole as i64 + (value - whole > 0.5) as i64 - (value - whole < -0.5) as i64
}
