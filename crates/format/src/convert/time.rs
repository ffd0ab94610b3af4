//! Which day, time and instant does a text mean, and how is one printed?
//!
//! PostgreSQL's ISO forms on the proleptic Gregorian calendar: `2024-02-29`, `20240229`,
//! `0044-03-15 BC`, `04:05:06.789`, `4:05 PM`, `2024-02-29 04:05:06+02`, `epoch`, `infinity`. There is
//! no session time zone: a timestamptz without one means UTC, and prints as UTC.

use super::DAY_US;

/// `infinity` and `-infinity` of dates.
pub(super) const DATE_INFINITY: (i32, i32) = (i32::MIN, i32::MAX);
/// `infinity` and `-infinity` of timestamps.
pub(super) const TIMESTAMP_INFINITY: (i64, i64) = (i64::MIN, i64::MAX);

const SECOND_US: i64 = 1_000_000;

/// Days in four centuries, after which the calendar repeats.
const ERA_DAYS: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

/// Days since 1970-01-01 of a day that exists. Years begin in March, so that the leap day is last.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH_DAYS
}

/// Year (0 is 1 BC), month and day.
fn civil_of(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH_DAYS;
    let (era, of_era) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
    // Take the leap days out before dividing by 365.
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

fn month_days(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Why a text means no date or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It does not look like one.
    Syntax,
    /// It names a day or time that does not exist or lies too far off.
    Range,
}

/// The rest of a text while it is taken apart.
struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    fn blanks(&mut self) {
        self.0 = self.0.trim_start();
    }

    fn take(&mut self, c: char) -> bool {
        match self.0.strip_prefix(c) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    /// Takes a word, whatever its case.
    fn word(&mut self, word: &str) -> bool {
        match self.0.get(..word.len()) {
            Some(head) if head.eq_ignore_ascii_case(word) => {
                self.0 = &self.0[word.len()..];
                true
            }
            _ => false,
        }
    }

    fn digits(&mut self) -> &'a str {
        let n = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at(n);
        self.0 = rest;
        digits
    }

    fn number(&mut self, digits: std::ops::RangeInclusive<usize>) -> Result<i64, Refusal> {
        let text = self.digits();
        if !digits.contains(&text.len()) {
            return Err(Refusal::Syntax);
        }
        text.parse().map_err(|_| Refusal::Range)
    }

    fn end(&mut self) -> Result<(), Refusal> {
        self.blanks();
        if self.0.is_empty() { Ok(()) } else { Err(Refusal::Syntax) }
    }

    /// Year, month and day; the era comes at the end of the text.
    fn date(&mut self) -> Result<(i64, i64, i64), Refusal> {
        let digits = self.digits();
        if digits.len() == 8 && !self.0.starts_with(['-', '/']) {
            let part = |range: std::ops::Range<usize>| digits[range].parse().expect("digits");
            return Ok((part(0..4), part(4..6), part(6..8)));
        }
        if !(3..=7).contains(&digits.len()) {
            return Err(Refusal::Syntax);
        }
        let year = digits.parse().map_err(|_| Refusal::Range)?;
        let separator = if self.take('-') {
            '-'
        } else if self.take('/') {
            '/'
        } else {
            return Err(Refusal::Syntax);
        };
        let month = self.number(1..=2)?;
        if !self.take(separator) {
            return Err(Refusal::Syntax);
        }
        Ok((year, month, self.number(1..=2)?))
    }

    /// Microseconds since midnight.
    fn time(&mut self) -> Result<i64, Refusal> {
        let mut hour = self.number(1..=2)?;
        if !self.take(':') {
            return Err(Refusal::Syntax);
        }
        let minute = self.number(2..=2)?;
        let (mut second, mut fraction_us) = (0, 0);
        if self.take(':') {
            second = self.number(2..=2)?;
            if self.take('.') {
                fraction_us = micros(self.digits());
            }
        }
        self.blanks();
        let (am, pm) = (self.word("am"), self.word("pm"));
        if am || pm {
            if !(1..=12).contains(&hour) {
                return Err(Refusal::Range);
            }
            hour = hour % 12 + if pm { 12 } else { 0 };
        }
        if hour > 24 || minute > 59 || second > 60 {
            return Err(Refusal::Range);
        }
        let us = (hour * 3600 + minute * 60 + second) * SECOND_US + fraction_us;
        if us > DAY_US { Err(Refusal::Range) } else { Ok(us) }
    }

    /// Seconds east of UTC.
    fn zone(&mut self) -> Result<Option<i64>, Refusal> {
        self.blanks();
        if self.word("utc") || self.word("gmt") || self.word("z") {
            return Ok(Some(0));
        }
        let sign = match (self.take('+'), self.take('-')) {
            (true, _) => 1,
            (_, true) => -1,
            _ => return Ok(None),
        };
        let digits = self.digits();
        let number = |s: &str| s.parse::<i64>().map_err(|_| Refusal::Syntax);
        let (hours, mut minutes, mut seconds) = match digits.len() {
            1 | 2 => (number(digits)?, 0, 0),
            4 => (number(&digits[..2])?, number(&digits[2..])?, 0),
            _ => return Err(Refusal::Syntax),
        };
        if digits.len() < 4 && self.take(':') {
            minutes = self.number(2..=2)?;
            if self.take(':') {
                seconds = self.number(2..=2)?;
            }
        }
        if hours > 15 || minutes > 59 || seconds > 59 {
            return Err(Refusal::Range);
        }
        Ok(Some(sign * (hours * 3600 + minutes * 60 + seconds)))
    }

    /// `BC`, `AD` or nothing, then the end; the year as a number with a year 0.
    fn era(&mut self, year: i64) -> Result<i64, Refusal> {
        self.blanks();
        let bc = self.word("bc");
        if !bc {
            self.word("ad");
        }
        self.end()?;
        match year {
            0 => Err(Refusal::Range),
            year if bc => Ok(1 - year),
            year => Ok(year),
        }
    }
}

/// Digits after the point as microseconds, rounded.
fn micros(digits: &str) -> i64 {
    let digit = |i: usize| digits.as_bytes().get(i).map_or(0, |b| i64::from(b - b'0'));
    let us = (0..6).fold(0, |us, i| us * 10 + digit(i));
    us + i64::from(digit(6) >= 5)
}

fn checked_days((year, month, day): (i64, i64, i64)) -> Result<i64, Refusal> {
    let exists = (1..=12).contains(&month) && (1..=month_days(year, month)).contains(&day);
    if exists { Ok(days_of(year, month, day)) } else { Err(Refusal::Range) }
}

fn special(s: &str) -> Option<&'static str> {
    ["epoch", "infinity", "-infinity"].into_iter().find(|word| s.eq_ignore_ascii_case(word))
}

/// Days since 1970-01-01.
pub(super) fn parse_date(s: &str) -> Result<i32, Refusal> {
    let s = s.trim();
    match special(s) {
        Some("epoch") => return Ok(0),
        Some("infinity") => return Ok(DATE_INFINITY.1),
        Some(_) => return Ok(DATE_INFINITY.0),
        None => {}
    }
    let mut text = Text(s);
    let (year, month, day) = text.date()?;
    let year = text.era(year)?;
    i32::try_from(checked_days((year, month, day))?).map_err(|_| Refusal::Range)
}

/// Microseconds since midnight.
pub(super) fn parse_time(s: &str) -> Result<i64, Refusal> {
    let mut text = Text(s.trim());
    let us = text.time()?;
    text.end()?;
    Ok(us)
}

/// Microseconds since 1970-01-01; with `zoned` a zone counts, otherwise it is read over.
pub(super) fn parse_timestamp(s: &str, zoned: bool) -> Result<i64, Refusal> {
    let s = s.trim();
    match special(s) {
        Some("epoch") => return Ok(0),
        Some("infinity") => return Ok(TIMESTAMP_INFINITY.1),
        Some(_) => return Ok(TIMESTAMP_INFINITY.0),
        None => {}
    }
    let mut text = Text(s);
    let (year, month, day) = text.date()?;
    let t = text.take('T') || text.take('t');
    text.blanks();
    let mut us = 0;
    let mut zone = None;
    if t || text.0.starts_with(|c: char| c.is_ascii_digit()) {
        us = text.time()?;
        zone = text.zone()?;
    }
    let year = text.era(year)?;
    let days = checked_days((year, month, day))?;
    let east_us = if zoned { zone.unwrap_or(0) * SECOND_US } else { 0 };
    let total = i128::from(days) * i128::from(DAY_US) + i128::from(us - east_us);
    match i64::try_from(total) {
        Ok(us) if us > TIMESTAMP_INFINITY.0 && us < TIMESTAMP_INFINITY.1 => Ok(us),
        _ => Err(Refusal::Range),
    }
}

/// Microseconds since 1970-01-01 of a text of the form `2024-02-29 04:05:06.789`, which most are, with a blank or a T;
/// `None` for all others, right or wrong.
pub fn parse_plain_timestamp(text: &[u8]) -> Option<i64> {
    let (head, fraction) = text.split_at_checked(19)?;
    let two = |at: usize| {
        let (tens, ones) = (head[at].wrapping_sub(b'0'), head[at + 1].wrapping_sub(b'0'));
        (tens < 10 && ones < 10).then(|| i64::from(tens * 10 + ones))
    };
    let separators = [head[4], head[7], head[13], head[16]];
    if separators != *b"--::" || !matches!(head[10], b' ' | b'T') {
        return None;
    }
    let year = two(0)? * 100 + two(2)?;
    let (hour, minute, second) = (two(11)?, two(14)?, two(17)?);
    if year == 0 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let fraction_us = match fraction {
        [] => 0,
        [b'.', digits @ ..] if (1..=6).contains(&digits.len()) => {
            let mut us = 0;
            for place in 0..6 {
                let digit = digits.get(place).map_or(0, |b| b.wrapping_sub(b'0'));
                us = us * 10 + Some(i64::from(digit)).filter(|digit| *digit < 10)?;
            }
            us
        }
        _ => return None,
    };
    let days = checked_days((year, two(5)?, two(8)?)).ok()?;
    Some(days * DAY_US + (hour * 3600 + minute * 60 + second) * SECOND_US + fraction_us)
}

fn put_padded(v: i64, digits: usize, out: &mut String) {
    let text = v.to_string();
    out.extend(std::iter::repeat_n('0', digits.saturating_sub(text.len())));
    out.push_str(&text);
}

/// Appends the day; whether it lies before Christ.
fn put_civil(days: i64, out: &mut String) -> bool {
    let (year, month, day) = civil_of(days);
    put_padded(if year <= 0 { 1 - year } else { year }, 4, out);
    out.push('-');
    put_padded(month, 2, out);
    out.push('-');
    put_padded(day, 2, out);
    year <= 0
}

/// Appends a date.
pub(super) fn format_date(days: i32, out: &mut String) {
    match days {
        i32::MIN => out.push_str("-infinity"),
        i32::MAX => out.push_str("infinity"),
        _ => {
            if put_civil(i64::from(days), out) {
                out.push_str(" BC");
            }
        }
    }
}

/// Appends a time of day, without trailing zeros of the fraction.
pub(super) fn format_time(us: i64, out: &mut String) {
    let (seconds, fraction) = (us.div_euclid(SECOND_US), us.rem_euclid(SECOND_US));
    put_padded(seconds / 3600, 2, out);
    out.push(':');
    put_padded(seconds / 60 % 60, 2, out);
    out.push(':');
    put_padded(seconds % 60, 2, out);
    if fraction != 0 {
        out.push('.');
        put_padded(fraction, 6, out);
        out.truncate(out.trim_end_matches('0').len());
    }
}

/// Appends a timestamp; `zone` is `+00` for timestamptz.
pub(super) fn format_timestamp(us: i64, zone: &str, out: &mut String) {
    match us {
        i64::MIN => return out.push_str("-infinity"),
        i64::MAX => return out.push_str("infinity"),
        _ => {}
    }
    let bc = put_civil(us.div_euclid(DAY_US), out);
    out.push(' ');
    format_time(us.rem_euclid(DAY_US), out);
    out.push_str(zone);
    if bc {
        out.push_str(" BC");
    }
}
