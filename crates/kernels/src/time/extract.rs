//! Which number is a field of a date, a time or an interval? extract gives it as numeric, date_part as float8.

use onlap_pg::Result;
use onlap_pg::value::datetime::{DAY_US, calendar, offset_at};
use onlap_pg::value::interval::Interval as Span;
use onlap_pg::value::numeric::Numeric;

use super::by_row::prepared;
use super::casts::date_to_timestamp;
use super::parts::{
    EPOCH_JULIAN, HOUR_US, MINUTE_US, Parts, SECOND_US, UNIX_EPOCH, is_finite, is_finite_date,
    iso_week, iso_year, to_local,
};
use super::units::{Field, Unit, Word, unknown, unsupported};
use crate::{Date, Entry, Float8, Interval, Null, Num, Time, TimeTz, Timestamp};

const TIME: &str = "time without time zone";
const TIMETZ: &str = "time with time zone";
const TIMESTAMP: &str = "timestamp without time zone";
const TIMESTAMPTZ: &str = "timestamp with time zone";

/// What a field is.
enum Value {
    Nothing,
    Infinite(bool),
    Int(i64),
    /// Seconds and microseconds, in units of 10^-scale seconds with the decimals that are left.
    Part(i64, i64, u32),
    /// Microseconds as seconds; the float8 has roundings of its own.
    Seconds(i128, f64),
    /// The same, of more microseconds than 64 bits hold: PostgreSQL divides them, which rounds.
    Rounded(i128, f64),
    /// A day and the time of it.
    Julian(i64, i64),
}

impl Value {
    fn numeric(self) -> Result<Option<Numeric>> {
        Ok(Some(match self {
            Value::Nothing => return Ok(None),
            Value::Infinite(negative) => Numeric::infinity(negative),
            Value::Int(value) => Numeric::from(value),
            Value::Part(seconds, micros, scale) => {
                Numeric::from_units(i128::from(seconds * SECOND_US + micros), scale)
            }
            Value::Seconds(micros, _) => Numeric::from_units(micros, 6),
            Value::Rounded(micros, _) => {
                // An i128 of this size is the sum of two i64.
                let half = (micros / 2) as i64;
                let micros =
                    Numeric::from(half).add(&Numeric::from((micros - i128::from(half)) as i64))?;
                micros.div(&Numeric::from(SECOND_US))?.round(6)?
            }
            Value::Julian(day, time) => {
                Numeric::from(day).add(&Numeric::from(time).div(&Numeric::from(DAY_US))?)?
            }
        }))
    }

    fn float(self) -> Option<f64> {
        Some(match self {
            Value::Nothing => return None,
            Value::Infinite(true) => f64::NEG_INFINITY,
            Value::Infinite(false) => f64::INFINITY,
            Value::Int(value) => value as f64,
            Value::Part(seconds, micros, 3) => seconds as f64 * 1000.0 + micros as f64 / 1000.0,
            Value::Part(seconds, micros, _) => seconds as f64 + micros as f64 / 1e6,
            Value::Seconds(_, value) | Value::Rounded(_, value) => value,
            Value::Julian(day, time) => {
                let seconds = (time / SECOND_US) as f64 + (time % SECOND_US) as f64 / 1e6;
                day as f64 + seconds / 86_400.0
            }
        })
    }
}

/// Fields of a clock.
fn clock_field(unit: Unit, time: i64) -> Option<Value> {
    let (seconds, micros) = (time / SECOND_US % 60, time % SECOND_US);
    Some(match unit {
        Unit::Micros => Value::Int(seconds * SECOND_US + micros),
        Unit::Millis => Value::Part(seconds, micros, 3),
        Unit::Second => Value::Part(seconds, micros, 6),
        Unit::Minute => Value::Int(time / MINUTE_US % 60),
        Unit::Hour => Value::Int(time / HOUR_US),
        _ => return None,
    })
}

/// The years of a unit before or after Christ, counted from 1 on either side.
fn ages(year: i64, length: i64) -> i64 {
    if year > 0 { (year + length - 1) / length } else { -((length - year) / length) }
}

fn shown_year(year: i64) -> i64 {
    if year > 0 { year } else { year - 1 }
}

/// Fields of a calendar.
fn date_field(what: Field, parts: &Parts) -> Option<Value> {
    let days = parts.days();
    let value = match what {
        Field::Unit(Unit::Day) => parts.day,
        Field::Unit(Unit::Week) => iso_week(days),
        Field::Unit(Unit::Month) => parts.month,
        Field::Unit(Unit::Quarter) => (parts.month - 1) / 3 + 1,
        Field::Unit(Unit::Year) => shown_year(parts.year),
        Field::Unit(Unit::Decade) => parts.year.div_euclid(10),
        Field::Unit(Unit::Century) => ages(parts.year, 100),
        Field::Unit(Unit::Millennium) => ages(parts.year, 1000),
        Field::Weekday => calendar::weekday(days) as i64,
        Field::IsoWeekday => (calendar::weekday(days) as i64 + 6) % 7 + 1,
        Field::DayOfYear => days - calendar::days(parts.year, 1, 1) + 1,
        Field::IsoYear => shown_year(iso_year(days)),
        _ => return None,
    };
    Some(Value::Int(value))
}

/// A field of infinity: those that always grow are infinite, others are NULL.
fn of_infinity(what: Field, negative: bool) -> Option<Value> {
    match what {
        Field::Unit(Unit::Year | Unit::Decade | Unit::Century | Unit::Millennium)
        | Field::Julian
        | Field::IsoYear
        | Field::Epoch => Some(Value::Infinite(negative)),
        Field::Other => None,
        _ => Some(Value::Nothing),
    }
}

fn of_timestamp(word: &Word, value: i64) -> Result<Value> {
    let what = word.field.ok_or_else(|| unknown(word, TIMESTAMP))?;
    let found = match what {
        _ if !is_finite(value) => of_infinity(what, value == i64::MIN),
        Field::Epoch => Some(epoch(value)),
        what => of_local(what, value),
    };
    found.ok_or_else(|| unsupported(word, TIMESTAMP))
}

fn of_local(what: Field, local: i64) -> Option<Value> {
    let parts = Parts::of(local);
    match what {
        Field::Julian => Some(Value::Julian(parts.days() + EPOCH_JULIAN, parts.time)),
        Field::Unit(unit) => clock_field(unit, parts.time).or_else(|| date_field(what, &parts)),
        _ => date_field(what, &parts),
    }
}

fn epoch(value: i64) -> Value {
    let micros = i128::from(value) - i128::from(UNIX_EPOCH);
    match value < i64::MAX + UNIX_EPOCH {
        true => Value::Seconds(micros, (value - UNIX_EPOCH) as f64 / 1e6),
        false => Value::Rounded(micros, (value as f64 - UNIX_EPOCH as f64) / 1e6),
    }
}

/// Fields of an offset.
fn zone_field(unit: Unit, east: i32) -> Option<Value> {
    let east = i64::from(east);
    Some(Value::Int(match unit {
        Unit::Zone => east,
        Unit::ZoneHour => east / 3600,
        Unit::ZoneMinute => east / 60 % 60,
        _ => return None,
    }))
}

fn of_timestamptz(word: &Word, value: i64, cx: &crate::Cx<'_>) -> Result<Value> {
    let what = word.field.ok_or_else(|| unknown(word, TIMESTAMPTZ))?;
    let found = match what {
        _ if !is_finite(value) => of_infinity(what, value == i64::MIN),
        Field::Epoch => Some(epoch(value)),
        Field::Unit(unit @ (Unit::Zone | Unit::ZoneHour | Unit::ZoneMinute)) => {
            zone_field(unit, offset_at(cx.settings.zone, value))
        }
        what => of_local(what, to_local(value, cx.settings)),
    };
    found.ok_or_else(|| unsupported(word, TIMESTAMPTZ))
}

fn of_date(word: &Word, value: i32) -> Result<Value> {
    let what = word.field.ok_or_else(|| unknown(word, "date"))?;
    let days = i64::from(value);
    let found = match what {
        Field::Unit(
            Unit::Micros
            | Unit::Millis
            | Unit::Second
            | Unit::Minute
            | Unit::Hour
            | Unit::Zone
            | Unit::ZoneHour
            | Unit::ZoneMinute,
        ) => None,
        _ if !is_finite_date(value) => of_infinity(what, value == i32::MIN),
        Field::Epoch => Some(Value::Int(days * 86_400 - UNIX_EPOCH / SECOND_US)),
        Field::Julian => Some(Value::Int(days + EPOCH_JULIAN)),
        what => {
            let (year, month, day) = calendar::date(days);
            date_field(what, &Parts { year, month, day, time: 0 })
        }
    };
    found.ok_or_else(|| unsupported(word, "date"))
}

fn of_time(word: &Word, time: i64) -> Result<Value> {
    match word.field {
        Some(Field::Epoch) => Ok(Value::Seconds(i128::from(time), time as f64 / 1e6)),
        Some(Field::Unit(unit)) => clock_field(unit, time).ok_or_else(|| unsupported(word, TIME)),
        Some(Field::Weekday | Field::IsoWeekday | Field::DayOfYear) => Err(unsupported(word, TIME)),
        Some(Field::IsoYear | Field::Julian) => Err(unsupported(word, TIME)),
        _ => Err(unknown(word, TIME)),
    }
}

fn of_timetz(word: &Word, (time, west): (i64, i32)) -> Result<Value> {
    match word.field {
        Some(Field::Epoch) => {
            let micros = time + i64::from(west) * SECOND_US;
            Ok(Value::Seconds(i128::from(micros), time as f64 / 1e6 + f64::from(west)))
        }
        Some(Field::Unit(unit)) => clock_field(unit, time)
            .or_else(|| zone_field(unit, west.wrapping_neg()))
            .ok_or_else(|| unsupported(word, TIMETZ)),
        None | Some(Field::Other) => Err(unknown(word, TIMETZ)),
        Some(_) => Err(unsupported(word, TIMETZ)),
    }
}

fn of_interval(word: &Word, value: Span) -> Result<Value> {
    let (years, months) = (i64::from(value.months / 12), i64::from(value.months % 12));
    match word.field {
        Some(Field::Epoch) => {
            // A year has 365.25 days; a quarter of a day is whole.
            let quarters = years * 1461 + months * 120 + i64::from(value.days) * 4;
            let micros = i128::from(quarters * 21_600) * 1_000_000 + i128::from(value.time);
            let seconds = value.time as f64 / 1e6
                + 31_557_600.0 * years as f64
                + 2_592_000.0 * months as f64
                + 86_400.0 * f64::from(value.days);
            Ok(Value::Seconds(micros, seconds))
        }
        Some(Field::Unit(unit)) => Ok(match unit {
            Unit::Day => Value::Int(value.days.into()),
            Unit::Month => Value::Int(months),
            Unit::Quarter => Value::Int(months / 3 + 1),
            Unit::Year => Value::Int(years),
            Unit::Decade => Value::Int(years / 10),
            Unit::Century => Value::Int(years / 100),
            Unit::Millennium => Value::Int(years / 1000),
            unit => clock_field(unit, value.time).ok_or_else(|| unsupported(word, "interval"))?,
        }),
        None | Some(Field::Other) => Err(unknown(word, "interval")),
        Some(_) => Err(unsupported(word, "interval")),
    }
}

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("extract(text,date)", |_| {
        prepared::<Word, Date, Null<Num>>(
            0,
            |word, _| Ok(Word::new(word)),
            |a, b, _| of_date(a, b)?.numeric(),
        )
    }),
    ("extract(text,time)", |_| {
        prepared::<Word, Time, Null<Num>>(
            0,
            |word, _| Ok(Word::new(word)),
            |a, b, _| of_time(a, b)?.numeric(),
        )
    }),
    ("extract(text,timetz)", |_| {
        prepared::<Word, TimeTz, Null<Num>>(
            0,
            |word, _| Ok(Word::new(word)),
            |a, b, _| of_timetz(a, b)?.numeric(),
        )
    }),
    ("extract(text,timestamp)", |_| {
        prepared::<Word, Timestamp, Null<Num>>(
            0,
            |word, _| Ok(Word::new(word)),
            |a, b, _| of_timestamp(a, b)?.numeric(),
        )
    }),
    ("extract(text,timestamptz)", |_| {
        prepared::<Word, Timestamp, Null<Num>>(
            0,
            |word, _| Ok(Word::new(word)),
            |a, b, cx| of_timestamptz(a, b, cx)?.numeric(),
        )
    }),
    ("extract(text,interval)", |_| {
        prepared::<Word, Interval, Null<Num>>(
            0,
            |word, _| Ok(Word::new(word)),
            |a, b, _| of_interval(a, b)?.numeric(),
        )
    }),
    ("date_part(text,date)", |_| {
        prepared::<Word, Date, Null<Float8>>(
            0,
            |word, _| Ok(Word::new(word)),
            |a, b, _| Ok(of_timestamp(a, date_to_timestamp(b)?)?.float()),
        )
    }),
    ("date_part(text,time)", |_| {
        prepared::<Word, Time, Null<Float8>>(
            0,
            |word, _| Ok(Word::new(word)),
            |a, b, _| Ok(of_time(a, b)?.float()),
        )
    }),
    ("date_part(text,timetz)", |_| {
        prepared::<Word, TimeTz, Null<Float8>>(
            0,
            |word, _| Ok(Word::new(word)),
            |a, b, _| Ok(of_timetz(a, b)?.float()),
        )
    }),
    ("date_part(text,timestamp)", |_| {
        prepared::<Word, Timestamp, Null<Float8>>(
            0,
            |word, _| Ok(Word::new(word)),
            |a, b, _| Ok(of_timestamp(a, b)?.float()),
        )
    }),
    ("date_part(text,timestamptz)", |_| {
        prepared::<Word, Timestamp, Null<Float8>>(
            0,
            |word, _| Ok(Word::new(word)),
            |a, b, cx| Ok(of_timestamptz(a, b, cx)?.float()),
        )
    }),
    ("date_part(text,interval)", |_| {
        prepared::<Word, Interval, Null<Float8>>(
            0,
            |word, _| Ok(Word::new(word)),
            |a, b, _| Ok(of_interval(a, b)?.float()),
        )
    }),
];
