//! Which texts are intervals of ISO 8601? (DecodeISO8601Interval.) Units may stand behind numbers (P1Y2DT3H), or the parts
//! are in the forms of dates and times (P0001-02-03T04:05:06, P00010203T040506).

use super::span::{Bad, Read, Sum, Unit};

struct Reader<'a> {
    rest: &'a str,
}

/// A number: its whole part and the rest.
type Value = (i64, f64);

const HOUR: Unit = Unit::Time(3_600_000_000);
const MINUTE: Unit = Unit::Time(60_000_000);
const SECOND: Unit = Unit::Time(1_000_000);

impl Reader<'_> {
    /// The next character, 0 at the end.
    fn next(&mut self) -> u8 {
        let Some(byte) = self.rest.bytes().next() else { return 0 };
        // What is not ASCII fits no place.
        self.rest = self.rest.get(1..).unwrap_or("");
        byte
    }

    /// Digits with a point and an exponent, as C reads them.
    fn number(&mut self) -> Read<Value> {
        let bytes = self.rest.as_bytes();
        if !bytes.first().is_some_and(|b| b.is_ascii_digit() || matches!(b, b'-' | b'.')) {
            return Err(Bad::Format);
        }
        let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let sign = usize::from(bytes[0] == b'-');
        let whole = digits(sign);
        let mut end = sign + whole;
        let mut some = whole > 0;
        if bytes.get(end) == Some(&b'.') {
            let after = digits(end + 1);
            some |= after > 0;
            end += 1 + after;
        }
        if !some {
            return Err(Bad::Format);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = bytes.get(end + 1 + sign..).map_or(0, |_| digits(end + 1 + sign));
            end += if exponent > 0 { 1 + sign + exponent } else { 0 };
        }
        let value: f64 = self.rest[..end].parse().map_err(|_| Bad::Format)?;
        let mantissa = self.rest[..end].split(['e', 'E']).next().unwrap_or("");
        let no_zero = mantissa.bytes().any(|b| (b'1'..=b'9').contains(&b));
        self.rest = &self.rest[end..];
        // Too large or too small for the type is not a number to C.
        if value.is_infinite() || value.is_subnormal() || (value == 0.0 && no_zero) {
            return Err(Bad::Format);
        }
        if !(-1e15..=1e15).contains(&value) {
            return Err(Bad::Range);
        }
        Ok((value.trunc() as i64, value.fract()))
    }
}

/// The digits that a text begins with.
fn width(text: &str) -> usize {
    text.strip_prefix('-').unwrap_or(text).bytes().take_while(u8::is_ascii_digit).count()
}

pub(super) fn decode(text: &str) -> Read<Sum> {
    let rest = text.strip_prefix('P').filter(|rest| !rest.is_empty()).ok_or(Bad::Format)?;
    let (mut reader, mut sum) = (Reader { rest }, Sum::default());
    let (mut in_date, mut has_field) = (true, false);
    while !reader.rest.is_empty() {
        if let Some(rest) = reader.rest.strip_prefix('T') {
            (reader.rest, in_date, has_field) = (rest, false, false);
            continue;
        }
        let begins = reader.rest;
        let (value, part) = reader.number()?;
        let unit = reader.next();
        let known = match (in_date, unit) {
            (true, b'Y') => Some(Unit::Years(1)),
            (true, b'M') => Some(Unit::Months),
            (true, b'W') => Some(Unit::Days(7)),
            (true, b'D') => Some(Unit::Days(1)),
            (false, b'H') => Some(HOUR),
            (false, b'M') => Some(MINUTE),
            (false, b'S') => Some(SECOND),
            _ => None,
        };
        match known {
            Some(unit) => {
                sum.add(value, part, unit)?;
                has_field = true;
                continue;
            }
            None if in_date => date(&mut reader, &mut sum, (value, part), unit, begins, has_field)?,
            None => {
                clock(&mut reader, &mut sum, (value, part), unit, begins, has_field)?;
                return Ok(sum);
            }
        }
        (in_date, has_field) = (false, false);
    }
    Ok(sum)
}

/// A date without letters, behind its first number; ends behind the T if there is one.
fn date(
    reader: &mut Reader<'_>,
    sum: &mut Sum,
    (value, part): Value,
    mut unit: u8,
    begins: &str,
    has_field: bool,
) -> Read<()> {
    if !matches!(unit, b'T' | b'-' | 0) {
        return Err(Bad::Format);
    }
    if unit != b'-' && width(begins) == 8 && !has_field {
        sum.add(value / 10_000, 0.0, Unit::Years(1))?;
        sum.add(value / 100 % 100, 0.0, Unit::Months)?;
        return sum.add(value % 100, part, Unit::Days(1));
    }
    if has_field {
        return Err(Bad::Format);
    }
    sum.add(value, part, Unit::Years(1))?;
    for next in [Unit::Months, Unit::Days(1)] {
        if matches!(unit, 0 | b'T') {
            return Ok(());
        }
        if unit != b'-' {
            return Err(Bad::Format);
        }
        let (value, part) = reader.number()?;
        sum.add(value, part, next)?;
        unit = reader.next();
    }
    if matches!(unit, 0 | b'T') { Ok(()) } else { Err(Bad::Format) }
}

/// A time without letters, behind its first number.
fn clock(
    reader: &mut Reader<'_>,
    sum: &mut Sum,
    (value, part): Value,
    mut unit: u8,
    begins: &str,
    has_field: bool,
) -> Read<()> {
    if !matches!(unit, b':' | 0) {
        return Err(Bad::Format);
    }
    if unit == 0 && width(begins) == 6 && !has_field {
        sum.add(value / 10_000, 0.0, HOUR)?;
        sum.add(value / 100 % 100, 0.0, MINUTE)?;
        sum.add(value % 100, 0.0, SECOND)?;
        return sum.add(0, part, Unit::Time(1));
    }
    if has_field {
        return Err(Bad::Format);
    }
    sum.add(value, part, HOUR)?;
    for next in [MINUTE, SECOND] {
        if unit == 0 {
            return Ok(());
        }
        if unit != b':' {
            return Err(Bad::Format);
        }
        let (value, part) = reader.number()?;
        sum.add(value, part, next)?;
        unit = reader.next();
    }
    if unit == 0 { Ok(()) } else { Err(Bad::Format) }
}
