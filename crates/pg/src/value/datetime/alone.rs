//! What is the time of day that a text gives, perhaps with a date that says which offset its zone has? (DecodeTimeOnly.)
//!
//! PostgreSQL keeps a set of what was read and refuses what comes twice; so does this. A date may stand first, or come by
//! letters that announce its parts; names of months and of days are refused.

use super::decode::{self, Announced, Bad, Decode, State, Unit};
use super::numbers::{clock, fraction, integer, offset};
use super::split::{Field, Look};
use super::words::{self, Word};
use super::{DAY_US, Zone, find_zone, zone};
use crate::value::Settings;

// What was read: parts of the date and of the time, and what is said only once.
const YEAR: u32 = 1;
const MONTH: u32 = 2;
const DAY: u32 = 4;
const DATE: u32 = YEAR | MONTH | DAY;
const HOUR: u32 = 8;
const MINUTE: u32 = 16;
const SECOND: u32 = 32;
/// Digits behind the seconds, which letters must bring.
const FRACTION: u32 = 64;
const TIME: u32 = HOUR | MINUTE | SECOND | FRACTION;
const ZONE: u32 = 128;
/// Letters that mean summer time, or DST behind an offset.
const SUMMER: u32 = 256;
/// DST behind an offset.
const SUMMER_WORD: u32 = 512;
const HALF: u32 = 1024;
const ERA: u32 = 2048;

/// A zone whose offset is found when the date is known.
enum Later {
    Named(Zone),
    Letters(Word),
}

/// What was read so far.
struct Alone<'a> {
    /// The date.
    date: State<'a>,
    seen: u32,
    time: [i64; 4],
    afternoon: Option<bool>,
    east: i32,
    zone: Option<Later>,
    /// What a letter says the next number is: `Nothing` is what no time has.
    announced: Option<Announced>,
}

/// A time of day, and its offset in seconds east of UTC.
pub(super) fn time_and_offset(fields: &[Field], settings: &Settings) -> Decode<(i64, i32)> {
    let mut read = Alone {
        date: State::new(settings),
        seen: 0,
        time: [0; 4],
        afternoon: None,
        east: 0,
        zone: None,
        announced: None,
    };
    for at in 0..fields.len() {
        let found = read.field(fields, at)?;
        if read.seen & found != 0 {
            return Err(Bad::Format);
        }
        read.seen |= found;
    }
    read.finish()
}

impl Alone<'_> {
    fn has(&self, what: u32) -> bool {
        self.seen & what == what
    }

    /// Reads a field, and says what it was.
    fn field(&mut self, fields: &[Field], at: usize) -> Decode<u32> {
        let (look, text) = &fields[at];
        match look {
            Look::Date => self.date_or_zone(fields, at),
            Look::Time => {
                self.time = clock(text)?;
                Ok(TIME)
            }
            Look::Zone => {
                self.east = offset(text)?;
                Ok(ZONE)
            }
            Look::Number => match self.announced.take() {
                Some(announced) => self.announced_number(announced, text),
                None => {
                    let before_date = fields.len() > 1 && fields[fields.len() - 1].0 == Look::Date;
                    if at == 0 && before_date && text.contains('.') {
                        self.date.date(text)?;
                        return Ok(DATE);
                    }
                    self.digits(text)
                }
            },
            Look::Word | Look::Special => {
                let next = fields.get(at + 1).map(|(look, _)| *look);
                self.word(text, next)
            }
        }
    }

    fn date_or_zone(&mut self, fields: &[Field], at: usize) -> Decode<u32> {
        let text = &fields[at].1;
        let is_date = |last: &Field| last.0 == Look::Date || fields[1].0 == Look::Time;
        if at == 0 && fields.len() > 1 && fields.last().is_some_and(is_date) {
            self.date.date(text)?;
            return Ok(DATE);
        }
        if !text.as_bytes()[0].is_ascii_digit() {
            let zone = find_zone(text).ok_or_else(|| Bad::Zone(text.to_owned()))?;
            self.zone = Some(Later::Named(zone));
            return Ok(ZONE);
        }
        if self.has(TIME) {
            return Err(Bad::Format);
        }
        let dash = text.find('-').ok_or(Bad::Format)?;
        self.east = offset(&text[dash..])?;
        Ok(self.digits(&text[..dash])? | ZONE)
    }

    /// HHMMSS and HHMM, perhaps with a fraction.
    fn digits(&mut self, text: &str) -> Decode<u32> {
        let (whole, after) = text.split_once('.').unwrap_or((text, ""));
        let seconds = match whole.len() {
            _ if self.has(TIME) => return Err(Bad::Format),
            4 => 0,
            6 => integer(&whole[4..])?,
            _ => return Err(Bad::Format),
        };
        self.time = [integer(&whole[..2])?, integer(&whole[2..4])?, seconds, fraction(after)?];
        Ok(TIME)
    }

    fn announced_number(&mut self, announced: Announced, text: &str) -> Decode<u32> {
        let (whole, after) = match text.split_once('.') {
            Some((whole, after)) => (whole, Some(after)),
            None => (text, None),
        };
        let value = if whole.is_empty() { 0 } else { integer(whole)? };
        let unit = match announced {
            Announced::Nothing => return Err(Bad::Format),
            Announced::Time => return self.digits(text),
            Announced::Julian => {
                self.date.julian = Some(value);
                let Some(after) = after else { return Ok(DATE) };
                let day: f64 = format!("0.{after}0").parse().map_err(|_| Bad::Format)?;
                let us = (day * DAY_US as f64) as i64;
                let seconds = us / 1_000_000;
                self.time = [seconds / 3600, seconds / 60 % 60, seconds % 60, us % 1_000_000];
                return Ok(DATE | TIME);
            }
            Announced::Unit(unit) => unit,
        };
        if after.is_some() && unit != Unit::Second {
            return Err(Bad::Format);
        }
        // Where there are a month and an hour, it is a minute.
        let is_minute = unit == Unit::Month && self.has(MONTH | HOUR);
        let (part, what) = match unit {
            Unit::Year => (&mut self.date.year, YEAR),
            Unit::Month if !is_minute => (&mut self.date.month, MONTH),
            Unit::Day => (&mut self.date.day, DAY),
            Unit::Hour => return Ok(self.part(0, value, HOUR)),
            Unit::Month | Unit::Minute => return Ok(self.part(1, value, MINUTE)),
            Unit::Second => {
                let found = self.part(2, value, SECOND);
                let Some(after) = after else { return Ok(found) };
                self.time[3] = fraction(after)?;
                return Ok(found | FRACTION);
            }
        };
        *part = Some(value);
        Ok(what)
    }

    fn part(&mut self, at: usize, value: i64, what: u32) -> u32 {
        self.time[at] = value;
        what
    }

    fn word(&mut self, text: &str, next: Option<Look>) -> Decode<u32> {
        if let Some(word) = words::word(text) {
            self.zone = Some(Later::Letters(word));
            return Ok(ZONE);
        }
        if let Some((east, is_summer)) = zone::abbreviation(text) {
            self.east = east;
            return Ok(if is_summer { ZONE | SUMMER } else { ZONE });
        }
        match text {
            "at" | "on" => Ok(0),
            "dst" => {
                self.east += 3600;
                Ok(SUMMER | SUMMER_WORD)
            }
            "now" => {
                let us = decode::now(self.date.settings).rem_euclid(DAY_US);
                let seconds = us / 1_000_000;
                self.time = [seconds / 3600, seconds / 60 % 60, seconds % 60, us % 1_000_000];
                Ok(TIME)
            }
            "allballs" => {
                self.time = [0; 4];
                Ok(TIME | ZONE)
            }
            "am" | "pm" => {
                self.afternoon = Some(text == "pm");
                Ok(HALF)
            }
            "bc" | "ad" => {
                self.date.before_christ = Some(text == "bc");
                Ok(ERA)
            }
            "t" if !matches!(next, Some(Look::Number | Look::Time | Look::Date)) => {
                Err(Bad::Format)
            }
            "dow" | "doy" | "isodow" | "isoyear" => {
                self.announced = Some(Announced::Nothing);
                Ok(0)
            }
            _ => match decode::announcement(text) {
                Some(announced) => {
                    self.announced = Some(announced);
                    Ok(0)
                }
                None if decode::is_word(text) => Err(Bad::Format),
                None => {
                    self.zone = Some(Later::Named(find_zone(text).ok_or(Bad::Format)?));
                    Ok(ZONE)
                }
            },
        }
    }

    fn finish(self) -> Decode<(i64, i32)> {
        let day = self.date.validated()?;
        let [hours, minutes, seconds, fraction] = self.time;
        let hours = match self.afternoon {
            Some(_) if hours > 12 => return Err(Bad::Range),
            Some(false) if hours == 12 => 0,
            Some(true) if hours != 12 => hours + 12,
            _ => hours,
        };
        let time = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + fraction;
        if hours > 24 || minutes > 59 || seconds > 60 || time > DAY_US {
            return Err(Bad::Range);
        }
        if !self.has(TIME) {
            return Err(Bad::Format);
        }
        Ok((time, self.offset(day, time)?))
    }

    fn offset(&self, day: Option<i64>, time: i64) -> Decode<i32> {
        if self.zone.is_none() && self.has(ZONE) {
            return Ok(self.east);
        }
        // Summer time is said of an offset only.
        if self.has(SUMMER_WORD) {
            return Err(Bad::Format);
        }
        let local = |day: i64| day.saturating_mul(DAY_US).saturating_add(time);
        // A part of a date says no offset; without one it is today's.
        let known = || match day {
            Some(day) => Ok(local(day)),
            None if self.seen & DATE != 0 => Err(Bad::Format),
            None => Ok(local(super::today(self.date.settings))),
        };
        Ok(match &self.zone {
            None => super::local_offset(self.date.settings.zone, known()?),
            Some(Later::Letters(word)) => word.local_offset(known()?),
            Some(Later::Named(zone)) => match (zone.fixed(), day) {
                (Some(east), _) => east,
                (None, Some(day)) => super::local_offset(*zone, local(day)),
                (None, None) => return Err(Bad::Format),
            },
        })
    }
}
