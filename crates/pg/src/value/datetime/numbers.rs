//! Which part of a date, a time or an offset is a number? (DecodeDate, DecodeNumber, DecodeNumberField, DecodeTime,
//! DecodeTimezone.)

use super::DAY_US;
use super::decode::{Announced, Bad, Decode, State, Unit, month};
use crate::value::DateOrder;

pub(super) fn integer(digits: &str) -> Decode<i64> {
    match digits.parse::<i32>() {
        Ok(value) => Ok(i64::from(value)),
        Err(_) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            Err(Bad::Range)
        }
        Err(_) => Err(Bad::Format),
    }
}

/// Microseconds of the digits after a point.
pub(super) fn fraction(digits: &str) -> Decode<i64> {
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Bad::Format);
    }
    let value: f64 = format!("0.{digits}0").parse().map_err(|_| Bad::Format)?;
    Ok((value * 1e6).round_ties_even() as i64)
}

/// A whole number at the beginning, perhaps with a sign, and what follows; nothing is 0. `None` beyond 32 bits.
fn leading(text: &str) -> Option<(i64, &str)> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (digits, rest) = digits.split_at(digits.bytes().take_while(u8::is_ascii_digit).count());
    if digits.is_empty() {
        return Some((0, text));
    }
    let value = i64::from(digits.parse::<i32>().ok()?);
    Some((if negative { -value } else { value }, rest))
}

/// DecodeTime.
pub(super) fn clock(text: &str) -> Decode<[i64; 4]> {
    let number = |text| leading(text).ok_or(Bad::Range);
    let (hours, rest) = number(text)?;
    let (minutes, rest) = number(rest.strip_prefix(':').ok_or(Bad::Format)?)?;
    let time = if let Some(after) = rest.strip_prefix('.') {
        [0, hours, minutes, fraction(after)?]
    } else if let Some(rest) = rest.strip_prefix(':') {
        let (seconds, rest) = number(rest)?;
        let after = if rest.is_empty() { "" } else { rest.strip_prefix('.').ok_or(Bad::Format)? };
        [hours, minutes, seconds, fraction(after)?]
    } else if rest.is_empty() {
        [hours, minutes, 0, 0]
    } else {
        return Err(Bad::Format);
    };
    if !(0..60).contains(&time[1]) || !(0..=60).contains(&time[2]) {
        return Err(Bad::Range);
    }
    Ok(time)
}

/// DecodeTimezone: seconds east of UTC. A part that is too large is refused before what follows is looked at.
pub(super) fn offset(text: &str) -> Decode<i32> {
    let leading = |text| leading(text).ok_or(Bad::Offset);
    let (mut hours, mut rest) = leading(&text[1..])?;
    let (mut minutes, mut seconds) = (0, 0);
    if let Some(after) = rest.strip_prefix(':') {
        (minutes, rest) = leading(after)?;
        if let Some(after) = rest.strip_prefix(':') {
            (seconds, rest) = leading(after)?;
        }
    } else if rest.is_empty() && text.len() > 3 {
        (hours, minutes) = (hours / 100, hours % 100);
    }
    let within = |value: i64, end: i64| (0..end).contains(&value);
    if !within(hours, 16) || !within(minutes, 60) || !within(seconds, 60) {
        return Err(Bad::Offset);
    }
    if !rest.is_empty() {
        return Err(Bad::Format);
    }
    let east = (hours * 3600 + minutes * 60 + seconds) as i32;
    Ok(if text.starts_with('-') { -east } else { east })
}

impl State<'_> {
    /// DecodeDate: up to three parts, the month's name first.
    pub(super) fn date(&mut self, text: &str) -> Decode<()> {
        let is_break = |c: char| !c.is_ascii_alphanumeric();
        let mut parts: Vec<&str> = Vec::new();
        for part in text.split(is_break).filter(|part| !part.is_empty()) {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            let letters = part.bytes().take_while(u8::is_ascii_alphabetic).count();
            let cut = digits.max(letters);
            parts.extend([&part[..cut], &part[cut..]].iter().filter(|p| !p.is_empty()));
        }
        if parts.len() > 3 {
            return Err(Bad::Format);
        }
        for part in &parts {
            if part.as_bytes()[0].is_ascii_alphabetic() {
                let found = month(part).ok_or(Bad::Format)?;
                if self.month.replace(found).is_some() {
                    return Err(Bad::Format);
                }
                self.text_month = true;
            }
        }
        for part in parts.iter().filter(|part| part.as_bytes()[0].is_ascii_digit()) {
            self.date_number(part)?;
        }
        if self.has_date() { Ok(()) } else { Err(Bad::Format) }
    }

    /// DecodeNumber: which part of a date a number is.
    fn date_number(&mut self, text: &str) -> Decode<()> {
        let value = integer(text)?;
        let long = text.len() >= 3;
        let order = self.settings.date_order;
        // The day of a year is the date's last number.
        if self.day_of_year.is_some() {
            return self.time_digits(text, 0);
        }
        let only_year = self.year.is_some() && self.month.is_none() && self.day.is_none();
        if text.len() == 3 && only_year && (1..=366).contains(&value) {
            self.day_of_year = Some(value);
            return Ok(());
        }
        match (self.year, self.month, self.day) {
            (None, None, None) if long || order == DateOrder::Ymd => self.set_year(text, value),
            (None, None, None) if order == DateOrder::Dmy => self.day = Some(value),
            (None, None, None) => self.month = Some(value),
            (Some(_), None, None) | (None, None, Some(_)) => self.month = Some(value),
            (None, Some(_), None) if self.text_month && (long || order == DateOrder::Ymd) => {
                self.set_year(text, value);
            }
            (None, Some(_), None) => self.day = Some(value),
            (Some(year), Some(_), None) if self.text_month && long && self.two_digits => {
                self.day = Some(year);
                self.year = Some(value);
                self.two_digits = false;
            }
            (Some(_), Some(_), None) => self.day = Some(value),
            (None, Some(_), Some(_)) => self.set_year(text, value),
            (Some(_), None, Some(_)) => return Err(Bad::Format),
            (Some(_), Some(_), Some(_)) => return self.time_digits(text, 0),
        }
        Ok(())
    }

    fn set_year(&mut self, text: &str, value: i64) {
        self.year = Some(value);
        self.two_digits = text.len() <= 2;
    }

    pub(super) fn number(&mut self, text: &str) -> Decode<()> {
        let (whole, after) = match text.split_once('.') {
            Some((whole, after)) => (whole, Some(after)),
            None => (text, None),
        };
        match std::mem::replace(&mut self.announced, Announced::Nothing) {
            Announced::Julian => {
                self.julian = Some(integer(whole)?);
                if let Some(after) = after.filter(|after| !after.is_empty()) {
                    let day: f64 = format!("0.{after}").parse().map_err(|_| Bad::Format)?;
                    let time = (day * DAY_US as f64) as i64;
                    self.time = Some([0, 0, time / 1_000_000, time % 1_000_000]);
                }
                return Ok(());
            }
            Announced::Time => return self.time_digits(whole, fraction(after.unwrap_or(""))?),
            Announced::Unit(unit) => return self.by_unit(unit, integer(whole)?, after),
            Announced::Nothing => {}
        }
        let dated = self.has_date();
        if let Some(after) = after {
            if !dated && (self.month.is_none() || !self.text_month) {
                return self.date(text);
            }
            if whole.len() > 2 {
                return self.time_digits(whole, fraction(after)?);
            }
            return Err(Bad::Format);
        }
        let begun = dated || self.year.is_some() || self.month.is_some() || self.day.is_some();
        if text.len() >= 6 && (!begun || self.time.is_none()) {
            return if dated { self.time_digits(text, 0) } else { self.date_digits(text) };
        }
        self.date_number(text)
    }

    /// A number that a letter announced.
    fn by_unit(&mut self, unit: Unit, value: i64, after: Option<&str>) -> Decode<()> {
        if after.is_some() && unit != Unit::Second {
            return Err(Bad::Format);
        }
        let held = match unit {
            Unit::Year => &mut self.year,
            Unit::Month if self.month.is_some() && self.by_units[0] => {
                return self.time_part(1, value);
            }
            Unit::Month => &mut self.month,
            Unit::Day => &mut self.day,
            Unit::Hour => return self.time_part(0, value),
            Unit::Minute => return self.time_part(1, value),
            Unit::Second => {
                self.time_part(2, value)?;
                let after = fraction(after.unwrap_or(""))?;
                self.time.get_or_insert_default()[3] = after;
                return Ok(());
            }
        };
        match held.replace(value) {
            None => Ok(()),
            Some(_) => Err(Bad::Format),
        }
    }

    /// Hours, minutes or seconds alone.
    fn time_part(&mut self, at: usize, value: i64) -> Decode<()> {
        let by_units = self.by_units.contains(&true);
        if self.by_units[at] || self.time.is_some() && !by_units {
            return Err(Bad::Format);
        }
        self.by_units[at] = true;
        self.time.get_or_insert_default()[at] = value;
        Ok(())
    }

    /// YYYYMMDD and YYMMDD.
    fn date_digits(&mut self, text: &str) -> Decode<()> {
        if self.year.is_some() || self.month.is_some() || self.day.is_some() {
            return Err(Bad::Format);
        }
        let (year, rest) = text.split_at(text.len() - 4);
        self.year = Some(integer(year)?);
        self.two_digits = year.len() == 2;
        self.month = Some(integer(&rest[..2])?);
        self.day = Some(integer(&rest[2..])?);
        Ok(())
    }

    /// HHMMSS and HHMM.
    pub(super) fn time_digits(&mut self, text: &str, fraction: i64) -> Decode<()> {
        let seconds = match text.len() {
            4 => 0,
            6 => integer(&text[4..])?,
            _ => return Err(Bad::Format),
        };
        self.set_time([integer(&text[..2])?, integer(&text[2..4])?, seconds, fraction])
    }

    pub(super) fn clock(&mut self, text: &str) -> Decode<()> {
        self.announced = Announced::Nothing;
        let time = clock(text)?;
        self.set_time(time)
    }

    pub(super) fn set_time(&mut self, time: [i64; 4]) -> Decode<()> {
        if self.time.is_some() {
            return Err(Bad::Format);
        }
        if !(0..60).contains(&time[1]) || !(0..=60).contains(&time[2]) {
            return Err(Bad::Range);
        }
        self.time = Some(time);
        Ok(())
    }

    pub(super) fn numeric_zone(&mut self, text: &str) -> Decode<()> {
        self.add_offset(offset(text)?)
    }

    pub(super) fn add_offset(&mut self, east: i32) -> Decode<()> {
        if self.offset.replace(east).is_some() || self.zone.is_some() {
            return Err(Bad::Format);
        }
        Ok(())
    }
}
