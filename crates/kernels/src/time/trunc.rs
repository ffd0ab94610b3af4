//! What is the beginning of the unit of time that a moment is in? date_trunc and date_bin.

use onlap_pg::value::datetime::{DAY_US, Place, calendar, find_place};
use onlap_pg::value::interval::Interval as Span;
use onlap_pg::{Error, Result};

use super::by_row::prepared;
use super::parts::{
    HOUR_US, MINUTE_US, Parts, SECOND_US, in_range, interval_range, is_finite, timestamp_range,
};
use super::units::{Unit, Word, unknown, unsupported};
use crate::{Entry, Interval, Text, Timestamp, three};

/// The first year of a span of years, the last of which can be divided by its length.
fn first(year: i64, length: i64) -> i64 {
    (year - 1).div_euclid(length) * length + 1
}

/// A local time cut to a unit; `None` for units that have no beginning.
fn cut(parts: Parts, unit: Unit) -> Option<Parts> {
    let start = |year, month| Parts { year, month, day: 1, time: 0 };
    let clock = |us: i64| Parts { time: parts.time / us * us, ..parts };
    Some(match unit {
        Unit::Micros => parts,
        Unit::Millis => clock(1000),
        Unit::Second => clock(SECOND_US),
        Unit::Minute => clock(MINUTE_US),
        Unit::Hour => clock(HOUR_US),
        Unit::Day => Parts { time: 0, ..parts },
        Unit::Week => {
            let days = parts.days();
            Parts::of(0).at_day(days - (calendar::weekday(days) as i64 + 6) % 7)
        }
        Unit::Month => start(parts.year, parts.month),
        Unit::Quarter => start(parts.year, (parts.month - 1) / 3 * 3 + 1),
        Unit::Year => start(parts.year, 1),
        Unit::Decade => start(parts.year.div_euclid(10) * 10, 1),
        Unit::Century => start(first(parts.year, 100), 1),
        Unit::Millennium => start(first(parts.year, 1000), 1),
        Unit::Zone | Unit::ZoneHour | Unit::ZoneMinute => return None,
    })
}

impl Parts {
    /// The same time of another day.
    fn at_day(self, days: i64) -> Parts {
        let (year, month, day) = calendar::date(days);
        Parts { year, month, day, ..self }
    }
}

fn timestamp(word: &Word, value: i64) -> Result<i64> {
    if !is_finite(value) {
        return Ok(value);
    }
    const NAME: &str = "timestamp without time zone";
    let unit = word.unit.ok_or_else(|| unknown(word, NAME))?;
    let parts = cut(Parts::of(value), unit).ok_or_else(|| unsupported(word, NAME))?;
    in_range(parts.local())
}

/// On the clock of a zone. Units below a day keep the offset of the moment.
fn timestamptz(word: &Word, value: i64, place: Place) -> Result<i64> {
    const NAME: &str = "timestamp with time zone";
    let unit = word.unit.ok_or_else(|| unknown(word, NAME))?;
    let east = place.offset_at(value);
    let parts = Parts::of(value + i64::from(east) * SECOND_US);
    let cut = cut(parts, unit).ok_or_else(|| unsupported(word, NAME))?;
    let local = cut.local().ok_or_else(timestamp_range)?;
    let within_day =
        matches!(unit, Unit::Micros | Unit::Millis | Unit::Second | Unit::Minute | Unit::Hour);
    let east = if within_day { east } else { place.local_offset(local) };
    in_range(local.checked_sub(i64::from(east) * SECOND_US))
}

fn interval(word: &Word, value: Span) -> Result<Span> {
    let unit = word.unit.ok_or_else(|| unknown(word, "interval"))?;
    let months = |length: i32| Span { months: value.months / length * length, days: 0, time: 0 };
    let clock = |us: i64| Span { time: value.time / us * us, ..value };
    Ok(match unit {
        Unit::Micros => value,
        Unit::Millis => clock(1000),
        Unit::Second => clock(SECOND_US),
        Unit::Minute => clock(MINUTE_US),
        Unit::Hour => clock(HOUR_US),
        Unit::Day => Span { time: 0, ..value },
        Unit::Month => months(1),
        Unit::Quarter => months(3),
        Unit::Year => months(12),
        Unit::Decade => months(120),
        Unit::Century => months(1200),
        Unit::Millennium => months(12_000),
        Unit::Week => {
            return Err(
                unsupported(word, "interval").detail("Months usually have fractional weeks.")
            );
        }
        Unit::Zone | Unit::ZoneHour | Unit::ZoneMinute => {
            return Err(unsupported(word, "interval"));
        }
    })
}

fn bin(stride: Span, value: i64, origin: i64) -> Result<i64> {
    if !is_finite(value) {
        return Ok(value);
    }
    if !is_finite(origin) {
        return Err(Error::new("22008", "origin out of range"));
    }
    if stride.months != 0 {
        let text = "timestamps cannot be binned into intervals containing months or years";
        return Err(Error::new("0A000", text));
    }
    let stride =
        i64::from(stride.days).checked_mul(DAY_US).and_then(|d| d.checked_add(stride.time));
    let stride = stride.ok_or_else(interval_range)?;
    if stride <= 0 {
        return Err(Error::new("22008", "stride must be greater than zero"));
    }
    let distance = value.checked_sub(origin).ok_or_else(interval_range)?;
    let begins = origin + distance - distance % stride;
    if distance % stride >= 0 {
        return Ok(begins);
    }
    in_range(begins.checked_sub(stride))
}

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("date_trunc(text,timestamp)", |_| {
        prepared::<Word, Timestamp, Timestamp>(
            0,
            |word, _| Ok(Word::new(word)),
            |a, b, _| timestamp(a, b),
        )
    }),
    ("date_trunc(text,timestamptz)", |_| {
        prepared::<Word, Timestamp, Timestamp>(
            0,
            |word, _| Ok(Word::new(word)),
            |a, b, cx| match is_finite(b) {
                true => timestamptz(a, b, cx.settings.zone.place()),
                false => Ok(b),
            },
        )
    }),
    ("date_trunc(text,timestamptz,text)", |_| {
        three::<Text, Timestamp, Text, Timestamp>(|a, b, zone, _| match is_finite(b) {
            true => timestamptz(&Word::new(a), b, find_place(zone)?),
            false => Ok(b),
        })
    }),
    ("date_trunc(text,interval)", |_| {
        prepared::<Word, Interval, Interval>(
            0,
            |word, _| Ok(Word::new(word)),
            |a, b, _| interval(a, b),
        )
    }),
    ("date_bin(interval,timestamp,timestamp)", |_| {
        three::<Interval, Timestamp, Timestamp, Timestamp>(|a, b, c, _| bin(a, b, c))
    }),
    ("date_bin(interval,timestamptz,timestamptz)", |_| {
        three::<Interval, Timestamp, Timestamp, Timestamp>(|a, b, c, _| bin(a, b, c))
    }),
];
