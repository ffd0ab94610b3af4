//! How is an interval written, and which are equal?
//!
//! Months, days and microseconds stay apart; for order and equality a month has 30 days and a day 24 hours.

use std::fmt::Write;

use super::{IntervalStyle, Settings, fixed};
use crate::Result;

mod fields;

pub use fields::Fields;

/// A value of type interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Years are twelve.
    pub months: i32,
    /// Of any length.
    pub days: i32,
    /// Microseconds.
    pub time: i64,
}

/// The parts that are written.
struct Parts {
    years: i32,
    months: i32,
    days: i32,
    hours: i64,
    minutes: i64,
    seconds: i64,
    fraction: i64,
}

/// Writes to a text, which takes all.
macro_rules! put {
    ($out:expr, $($what:tt)*) => { write!($out, $($what)*).expect("a String takes all") };
}

impl Interval {
    /// The key: microseconds.
    pub fn key(&self) -> i128 {
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * 86_400_000_000 + i128::from(self.time)
    }

    /// interval_in, without a modifier.
    pub fn parse(text: &str, settings: &Settings) -> Result<Interval> {
        super::datetime::span::parse(text, Fields::ALL, settings)
    }

    /// interval_in.
    pub fn parse_with(text: &str, modifier: i32, settings: &Settings) -> Result<Interval> {
        super::datetime::span::parse(text, Fields::of(modifier), settings)?.with_modifier(modifier)
    }

    /// interval_send.
    pub fn send(&self) -> [u8; 16] {
        let mut out = [0; 16];
        out[..8].copy_from_slice(&self.time.to_be_bytes());
        out[8..12].copy_from_slice(&self.days.to_be_bytes());
        out[12..].copy_from_slice(&self.months.to_be_bytes());
        out
    }

    /// interval_recv.
    pub fn recv(bytes: &[u8]) -> Result<Interval> {
        let bytes: [u8; 16] = fixed(bytes)?;
        let both = u128::from_be_bytes(bytes);
        let (time, days, months) = ((both >> 64) as i64, (both >> 32) as i32, both as i32);
        Ok(Interval { months, days, time })
    }

    /// interval_out.
    pub fn print(&self, settings: &Settings) -> String {
        let parts = Parts {
            years: self.months / 12,
            months: self.months % 12,
            days: self.days,
            hours: self.time / 3_600_000_000,
            minutes: self.time / 60_000_000 % 60,
            seconds: self.time / 1_000_000 % 60,
            fraction: self.time % 1_000_000,
        };
        match settings.interval_style {
            IntervalStyle::Postgres => parts.postgres(),
            IntervalStyle::PostgresVerbose => parts.verbose(),
            IntervalStyle::SqlStandard => parts.standard(),
            IntervalStyle::Iso8601 => parts.iso(),
        }
    }
}

impl Parts {
    fn time_is_negative(&self) -> bool {
        self.hours < 0 || self.minutes < 0 || self.seconds < 0 || self.fraction < 0
    }

    fn has_time(&self) -> bool {
        self.hours != 0 || self.minutes != 0 || self.has_seconds()
    }

    fn has_seconds(&self) -> bool {
        self.seconds != 0 || self.fraction != 0
    }

    /// Hours, minutes and seconds without a sign.
    fn clock(&self, least_hours: usize, out: &mut String) {
        put!(out, "{:0least_hours$}:{:02}:", self.hours.abs(), self.minutes.abs());
        self.seconds(2, out);
    }

    /// Seconds without a sign, the fraction without zeros at its end.
    fn seconds(&self, least: usize, out: &mut String) {
        put!(out, "{:0least$}", self.seconds.abs());
        if self.fraction != 0 {
            let text = format!("{:06}", self.fraction.abs());
            put!(out, ".{}", text.trim_end_matches('0'));
        }
    }

    fn postgres(&self) -> String {
        let mut out = String::new();
        let mut after_negative = false;
        for (value, unit) in [(self.years, "year"), (self.months, "mon"), (self.days, "day")] {
            if value == 0 {
                continue;
            }
            let blank = if out.is_empty() { "" } else { " " };
            let plus = if after_negative && value > 0 { "+" } else { "" };
            let plural = if value == 1 { "" } else { "s" };
            put!(out, "{blank}{plus}{value} {unit}{plural}");
            after_negative = value < 0;
        }
        if out.is_empty() || self.has_time() {
            let blank = if out.is_empty() { "" } else { " " };
            let sign = match self.time_is_negative() {
                true => "-",
                false if after_negative => "+",
                false => "",
            };
            put!(out, "{blank}{sign}");
            self.clock(2, &mut out);
        }
        out
    }

    fn verbose(&self) -> String {
        let mut out = String::from("@");
        // The first part that is not zero gives the sign; the others are written against it.
        let mut turned = None;
        let date = [(self.years, "year"), (self.months, "mon"), (self.days, "day")];
        let date = date.map(|(value, unit)| (i64::from(value), unit));
        for (value, unit) in date.into_iter().chain([(self.hours, "hour"), (self.minutes, "min")]) {
            if value != 0 {
                let shown = if *turned.get_or_insert(value < 0) { -value } else { value };
                put!(out, " {shown} {unit}{}", if shown == 1 { "" } else { "s" });
            }
        }
        if self.has_seconds() {
            let negative = self.seconds < 0 || self.fraction < 0;
            let turned = *turned.get_or_insert(negative);
            put!(out, " {}", if negative != turned { "-" } else { "" });
            self.seconds(1, &mut out);
            let one = self.seconds.abs() == 1 && self.fraction == 0;
            put!(out, " sec{}", if one { "" } else { "s" });
        }
        match turned {
            None => out.push_str(" 0"),
            Some(true) => out.push_str(" ago"),
            Some(false) => {}
        }
        out
    }

    fn standard(&self) -> String {
        let dated = self.years != 0 || self.months != 0;
        let signs = [i64::from(self.years), i64::from(self.months), i64::from(self.days)];
        let signs =
            signs.into_iter().chain([self.hours, self.minutes, self.seconds, self.fraction]);
        let (mut negative, mut positive) = (false, false);
        signs.for_each(|value| {
            (negative, positive) = (negative | (value < 0), positive | (value > 0))
        });
        let timed = self.days != 0 || self.has_time();
        let mut out = String::new();
        if !negative && !positive {
            return "0".to_owned();
        }
        if (negative && positive) || (dated && timed) {
            let sign = |negative: bool| if negative { '-' } else { '+' };
            let (years, months) = (self.years.unsigned_abs(), self.months.unsigned_abs());
            put!(out, "{}{years}-{months}", sign(self.years < 0 || self.months < 0));
            put!(out, " {}{}", sign(self.days < 0), self.days.unsigned_abs());
            put!(out, " {}", sign(self.time_is_negative()));
            self.clock(1, &mut out);
            return out;
        }
        if negative {
            out.push('-');
        }
        if dated {
            put!(out, "{}-{}", self.years.unsigned_abs(), self.months.unsigned_abs());
            return out;
        }
        if self.days != 0 {
            put!(out, "{} ", self.days.unsigned_abs());
        }
        self.clock(1, &mut out);
        out
    }

    fn iso(&self) -> String {
        let mut out = String::from("P");
        for (value, unit) in [(self.years, 'Y'), (self.months, 'M'), (self.days, 'D')] {
            if value != 0 {
                put!(out, "{value}{unit}");
            }
        }
        if self.has_time() {
            out.push('T');
        }
        for (value, unit) in [(self.hours, 'H'), (self.minutes, 'M')] {
            if value != 0 {
                put!(out, "{value}{unit}");
            }
        }
        if self.has_seconds() {
            if self.seconds < 0 || self.fraction < 0 {
                out.push('-');
            }
            self.seconds(1, &mut out);
            out.push('S');
        }
        if out.len() == 1 { "PT0S".to_owned() } else { out }
    }
}
