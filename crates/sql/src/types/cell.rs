//! How does a value look on the wire?
//!
//! A [`Cell`] is one value of an answer, borrowed from where it lies: a block of the engine, a row of a
//! plan's batch. It writes itself in text or binary form. Binary forms: PostgreSQL's `*_send` functions.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{
    DataType as Arrow, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNanoType, IntervalUnit,
    Time64MicrosecondType, Time64NanosecondType, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type, i256,
};
use onlap::{Column, DataType, Numeric, Value, Vector, convert};

use super::{PgType, names, oid};

/// Days from 1970-01-01 to 2000-01-01, where PostgreSQL's days begin.
const EPOCH_DAYS: i32 = 10_957;
/// The same in microseconds.
const EPOCH_US: i64 = EPOCH_DAYS as i64 * 86_400_000_000;

/// What a session's settings say of text forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// The time zone of timestamptz; `None` for UTC.
    pub zone: Option<chrono_tz::Tz>,
}

/// One value.
#[derive(Clone, Debug)]
pub enum Cell<'a> {
    /// NULL
    Null,
    /// bool
    Bool(bool),
    /// integers and OIDs
    Int(i64),
    /// float4, float8
    Float(f64),
    /// numeric
    Numeric(Numeric),
    /// text and everything that is kept as text
    Text(&'a str),
    /// bytea
    Bytes(&'a [u8]),
    /// uuid
    Uuid([u8; 16]),
    /// days since 1970-01-01
    Date(i32),
    /// microseconds since midnight
    Time(i64),
    /// microseconds since 1970-01-01 (UTC)
    Timestamp(i64),
    /// months, days, microseconds
    Interval(i32, i32, i64),
    /// elements of an array, all of one type
    List(ArrayRef),
}

impl<'a> Cell<'a> {
    /// A value of the engine.
    pub fn of_value(value: &'a Value) -> Cell<'a> {
        match value {
            Value::Null => Cell::Null,
            Value::Bool(b) => Cell::Bool(*b),
            Value::Int(v) => Cell::Int(*v),
            Value::Float(f) => Cell::Float(*f),
            Value::Numeric(n) => Cell::Numeric(*n),
            Value::Text(s) => Cell::Text(s),
            Value::Bytes(b) => Cell::Bytes(b),
            Value::Uuid(u) => Cell::Uuid(*u),
            Value::Date(d) => Cell::Date(*d),
            Value::Time(t) => Cell::Time(*t),
            Value::Timestamp(t) => Cell::Timestamp(*t),
        }
    }

    /// A value in a batch of the engine.
    pub fn of_column(ty: DataType, column: &'a Column, row: usize) -> Cell<'a> {
        if column.is_null(row) {
            return Cell::Null;
        }
        match &column.data {
            Vector::Int(v) => match ty {
                DataType::Int2 | DataType::Int4 | DataType::Int8 => Cell::Int(v[row]),
                _ => match convert::int_value(ty, v[row]) {
                    Value::Bool(b) => Cell::Bool(b),
                    Value::Float(f) => Cell::Float(f),
                    Value::Date(d) => Cell::Date(d),
                    Value::Time(t) => Cell::Time(t),
                    Value::Timestamp(t) => Cell::Timestamp(t),
                    _ => Cell::Int(v[row]),
                },
            },
            Vector::Wide(v) => match convert::wide_value(ty, v[row]) {
                Value::Uuid(u) => Cell::Uuid(u),
                Value::Numeric(n) => Cell::Numeric(n),
                _ => Cell::Null,
            },
            Vector::Numeric(mantissa, scale) => {
                Cell::Numeric(Numeric { mantissa: mantissa[row], scale: scale[row] })
            }
            Vector::Bytes(bytes) => match ty {
                DataType::Bytea => Cell::Bytes(bytes.get(row)),
                // The engine takes valid UTF-8 only.
                _ => Cell::Text(std::str::from_utf8(bytes.get(row)).unwrap_or_default()),
            },
        }
    }

    /// A value in a batch of a plan.
    pub fn of_array(array: &'a dyn Array, row: usize) -> Cell<'a> {
        if array.is_null(row) {
            return Cell::Null;
        }
        match array.data_type() {
            Arrow::Boolean => Cell::Bool(array.as_boolean().value(row)),
            Arrow::Int8 => Cell::Int(array.as_primitive::<Int8Type>().value(row).into()),
            Arrow::Int16 => Cell::Int(array.as_primitive::<Int16Type>().value(row).into()),
            Arrow::Int32 => Cell::Int(array.as_primitive::<Int32Type>().value(row).into()),
            Arrow::Int64 => Cell::Int(array.as_primitive::<Int64Type>().value(row)),
            Arrow::UInt8 => Cell::Int(array.as_primitive::<UInt8Type>().value(row).into()),
            Arrow::UInt16 => Cell::Int(array.as_primitive::<UInt16Type>().value(row).into()),
            Arrow::UInt32 => Cell::Int(array.as_primitive::<UInt32Type>().value(row).into()),
            Arrow::UInt64 => Cell::Int(array.as_primitive::<UInt64Type>().value(row) as i64),
            Arrow::Float32 => Cell::Float(array.as_primitive::<Float32Type>().value(row).into()),
            Arrow::Float64 => Cell::Float(array.as_primitive::<Float64Type>().value(row)),
            Arrow::Decimal128(_, scale) => {
                let mantissa = array.as_primitive::<Decimal128Type>().value(row);
                // A literal like 1e10 has a scale below zero.
                let zeros = 10i128.saturating_pow(u32::from((*scale).min(0).unsigned_abs()));
                let mantissa = mantissa.saturating_mul(zeros);
                Cell::Numeric(Numeric { mantissa, scale: (*scale).max(0) as u8 })
            }
            Arrow::Utf8 => Cell::Text(array.as_string::<i32>().value(row)),
            Arrow::Decimal256(_, scale) => {
                wide_numeric(array.as_primitive::<Decimal256Type>().value(row), *scale)
            }
            Arrow::LargeUtf8 => {
                let text = array.as_string::<i64>().value(row);
                match convert::parse_text(DataType::Numeric(None), text) {
                    Ok(Value::Numeric(n)) => Cell::Numeric(n),
                    _ => Cell::Null,
                }
            }
            Arrow::Utf8View => Cell::Text(array.as_string_view().value(row)),
            Arrow::Binary => Cell::Bytes(array.as_binary::<i32>().value(row)),
            Arrow::LargeBinary => Cell::Bytes(array.as_binary::<i64>().value(row)),
            Arrow::BinaryView => Cell::Bytes(array.as_binary_view().value(row)),
            Arrow::Date32 => Cell::Date(array.as_primitive::<Date32Type>().value(row)),
            Arrow::Time64(TimeUnit::Microsecond) => {
                Cell::Time(array.as_primitive::<Time64MicrosecondType>().value(row))
            }
            Arrow::Time64(_) => {
                Cell::Time(array.as_primitive::<Time64NanosecondType>().value(row) / 1000)
            }
            Arrow::Timestamp(unit, _) => Cell::Timestamp(timestamp_us(array, *unit, row)),
            Arrow::Interval(IntervalUnit::MonthDayNano) => {
                let v = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
                Cell::Interval(v.months, v.days, v.nanoseconds / 1000)
            }
            Arrow::List(_) => Cell::List(array.as_list::<i32>().value(row)),
            Arrow::LargeList(_) => Cell::List(array.as_list::<i64>().value(row)),
            Arrow::FixedSizeList(..) => Cell::List(array.as_fixed_size_list().value(row)),
            _ => Cell::Null,
        }
    }

    /// Appends the text form; nothing for NULL.
    pub fn write_text(&self, ty: PgType, style: Style, out: &mut Vec<u8>) {
        match self {
            Cell::Int(v) if ty.oid == oid::BOOL => out.push(if *v != 0 { b't' } else { b'f' }),
            Cell::Int(v) => out.extend_from_slice(itoa::Buffer::new().format(*v).as_bytes()),
            Cell::Text(s) => {
                out.extend_from_slice(s.as_bytes());
                pad(ty, s, out);
            }
            Cell::Interval(months, days, us) => {
                out.extend_from_slice(interval_text(*months, *days, *us).as_bytes());
            }
            Cell::List(items) => write_list(items, ty, style, out),
            Cell::Timestamp(us) if ty.oid == oid::TIMESTAMPTZ && style.zone.is_some() => {
                out.extend_from_slice(zoned_text(*us, style).as_bytes());
            }
            other => {
                let mut text = String::new();
                convert::format_text(engine_of(ty), &other.to_value(), &mut text);
                out.extend_from_slice(text.as_bytes());
            }
        }
    }

    /// Appends the binary form; nothing for NULL.
    pub fn write_binary(&self, ty: PgType, style: Style, out: &mut Vec<u8>) {
        match self {
            Cell::Null => {}
            Cell::Bool(b) => out.push(u8::from(*b)),
            Cell::Int(v) => match ty.oid {
                oid::INT2 => out.extend_from_slice(&(*v as i16).to_be_bytes()),
                oid::INT8 => out.extend_from_slice(&v.to_be_bytes()),
                oid::BOOL => out.push(u8::from(*v != 0)),
                _ => out.extend_from_slice(&(*v as i32).to_be_bytes()),
            },
            Cell::Float(f) if ty.oid == oid::FLOAT4 => {
                out.extend_from_slice(&(*f as f32).to_be_bytes());
            }
            Cell::Float(f) => out.extend_from_slice(&f.to_be_bytes()),
            Cell::Numeric(n) => write_numeric(*n, out),
            Cell::Text(s) => {
                match ty.oid {
                    oid::UUID => {
                        let parsed = convert::parse_text(DataType::Uuid, s);
                        if let Ok(Value::Uuid(bytes)) = parsed {
                            return out.extend_from_slice(&bytes);
                        }
                    }
                    oid::JSONB => out.push(1),
                    _ => {}
                }
                out.extend_from_slice(s.as_bytes());
                pad(ty, s, out);
            }
            Cell::Bytes(bytes) => out.extend_from_slice(bytes),
            Cell::Uuid(bytes) => out.extend_from_slice(bytes),
            Cell::Date(days) => {
                let days = match *days {
                    i32::MIN | i32::MAX => *days,
                    days => days.saturating_sub(EPOCH_DAYS),
                };
                out.extend_from_slice(&days.to_be_bytes());
            }
            Cell::Time(us) => out.extend_from_slice(&us.to_be_bytes()),
            Cell::Timestamp(us) => {
                let us = match *us {
                    i64::MIN | i64::MAX => *us,
                    us => us.saturating_sub(EPOCH_US),
                };
                out.extend_from_slice(&us.to_be_bytes());
            }
            Cell::Interval(months, days, us) => {
                out.extend_from_slice(&us.to_be_bytes());
                out.extend_from_slice(&days.to_be_bytes());
                out.extend_from_slice(&months.to_be_bytes());
            }
            Cell::List(items) => write_binary_list(items, ty, style, out),
        }
    }

    /// The engine's value.
    pub fn to_value(&self) -> Value {
        match self {
            Cell::Null | Cell::Interval(..) | Cell::List(_) => Value::Null,
            Cell::Bool(b) => Value::Bool(*b),
            Cell::Int(v) => Value::Int(*v),
            Cell::Float(f) => Value::Float(*f),
            Cell::Numeric(n) => Value::Numeric(*n),
            Cell::Text(s) => Value::Text((*s).to_string()),
            Cell::Bytes(b) => Value::Bytes(b.to_vec()),
            Cell::Uuid(u) => Value::Uuid(*u),
            Cell::Date(d) => Value::Date(*d),
            Cell::Time(t) => Value::Time(*t),
            Cell::Timestamp(t) => Value::Timestamp(*t),
        }
    }
}

fn engine_of(ty: PgType) -> DataType {
    ty.engine().unwrap_or(DataType::Text)
}

fn timestamp_us(array: &dyn Array, unit: TimeUnit, row: usize) -> i64 {
    match unit {
        TimeUnit::Second => {
            array.as_primitive::<TimestampSecondType>().value(row).saturating_mul(1_000_000)
        }
        TimeUnit::Millisecond => {
            array.as_primitive::<TimestampMillisecondType>().value(row).saturating_mul(1000)
        }
        TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().value(row),
        TimeUnit::Nanosecond => {
            array.as_primitive::<TimestampNanosecondType>().value(row).div_euclid(1000)
        }
    }
}

/// A quotient whose operands are not known any more: sixteen digits and more that count, in groups of
/// four, as PostgreSQL chooses them.
fn wide_numeric(value: i256, scale: i8) -> Cell<'static> {
    let digits = value.to_string().trim_start_matches('-').len() as i32;
    let before = if value == i256::ZERO { 0 } else { digits - i32::from(scale) };
    let group = (before - 1).div_euclid(4);
    let shown = (16 - 4 * group).clamp(0, i32::from(scale.max(0)));
    // A numeric has 38 digits: those after the point give way.
    let shown = shown.min((38 - before.max(0)).max(0));
    let drop = i256::from_i128(10).checked_pow((i32::from(scale) - shown).max(0) as u32);
    let Some(drop) = drop else { return Cell::Null };
    let two = i256::from_i128(2);
    let half = drop / two;
    let rounded = match value < i256::ZERO {
        true => (value - half) / drop,
        false => (value + half) / drop,
    };
    match rounded.to_i128() {
        Some(mantissa) => Cell::Numeric(Numeric { mantissa, scale: shown as u8 }),
        None => Cell::Null,
    }
}

/// char(n) is kept without the blanks that it ends with.
fn pad(ty: PgType, text: &str, out: &mut Vec<u8>) {
    if ty.oid == oid::BPCHAR && ty.modifier > 4 {
        let have = text.chars().count();
        let want = (ty.modifier - 4) as usize;
        out.resize(out.len() + want.saturating_sub(have), b' ');
    }
}

fn zoned_text(us: i64, style: Style) -> String {
    use chrono::{Offset, TimeZone};
    let plain = || {
        let mut text = String::new();
        convert::format_text(DataType::Timestamptz, &Value::Timestamp(us), &mut text);
        text
    };
    let Some(zone) = style.zone else { return plain() };
    let Some(at) = chrono::DateTime::from_timestamp_micros(us) else { return plain() };
    let offset = zone.offset_from_utc_datetime(&at.naive_utc()).fix().local_minus_utc();
    let mut text = String::new();
    let local = us.saturating_add(i64::from(offset) * 1_000_000);
    convert::format_text(DataType::Timestamp, &Value::Timestamp(local), &mut text);
    let (sign, seconds) = (if offset < 0 { '-' } else { '+' }, offset.unsigned_abs());
    text += &format!("{sign}{:02}", seconds / 3600);
    if !seconds.is_multiple_of(3600) {
        text += &format!(":{:02}", seconds / 60 % 60);
    }
    text
}

/// As PostgreSQL's IntervalStyle postgres.
fn interval_text(months: i32, days: i32, us: i64) -> String {
    let mut parts = Vec::new();
    let mut unit = |n: i64, one: &str| {
        if n != 0 {
            parts.push(format!("{n} {one}{}", if n == 1 { "" } else { "s" }));
        }
    };
    unit(i64::from(months / 12), "year");
    unit(i64::from(months % 12), "mon");
    unit(i64::from(days), "day");
    if us != 0 || parts.is_empty() {
        let (sign, rest) = (if us < 0 { "-" } else { "" }, us.unsigned_abs());
        let (seconds, fraction) = (rest / 1_000_000, rest % 1_000_000);
        let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let mut text = format!("{sign}{h:02}:{m:02}:{s:02}");
        if fraction != 0 {
            text += format!(".{fraction:06}").trim_end_matches('0');
        }
        parts.push(text);
    }
    parts.join(" ")
}

fn write_list(items: &ArrayRef, ty: PgType, style: Style, out: &mut Vec<u8>) {
    let element = PgType::new(names::element_of(ty.oid).unwrap_or(oid::TEXT));
    // int2vector is printed as 1 2 3.
    let (open, comma, close) = if matches!(ty.oid, oid::INT2VECTOR | oid::OIDVECTOR) {
        ("", b' ', "")
    } else {
        ("{", b',', "}")
    };
    out.extend_from_slice(open.as_bytes());
    for row in 0..items.len() {
        if row > 0 {
            out.push(comma);
        }
        let cell = Cell::of_array(items, row);
        if let Cell::Null = cell {
            out.extend_from_slice(b"NULL");
            continue;
        }
        let mut text = Vec::new();
        cell.write_text(element, style, &mut text);
        let special =
            |b: &u8| matches!(b, b'{' | b'}' | b',' | b'"' | b'\\') || b.is_ascii_whitespace();
        let quoted =
            text.is_empty() || text.iter().any(special) || text.eq_ignore_ascii_case(b"null");
        if quoted && !matches!(cell, Cell::List(_)) {
            out.push(b'"');
            for b in text {
                if matches!(b, b'"' | b'\\') {
                    out.push(b'\\');
                }
                out.push(b);
            }
            out.push(b'"');
        } else {
            out.extend_from_slice(&text);
        }
    }
    out.extend_from_slice(close.as_bytes());
}

fn write_binary_list(items: &ArrayRef, ty: PgType, style: Style, out: &mut Vec<u8>) {
    let element = PgType::new(names::element_of(ty.oid).unwrap_or(oid::TEXT));
    let dimensions = i32::from(!items.is_empty());
    out.extend_from_slice(&dimensions.to_be_bytes());
    out.extend_from_slice(&i32::from(items.null_count() > 0).to_be_bytes());
    out.extend_from_slice(&element.oid.to_be_bytes());
    if dimensions == 0 {
        return;
    }
    out.extend_from_slice(&(items.len() as i32).to_be_bytes());
    out.extend_from_slice(&1i32.to_be_bytes());
    for row in 0..items.len() {
        let cell = Cell::of_array(items, row);
        if let Cell::Null = cell {
            out.extend_from_slice(&(-1i32).to_be_bytes());
            continue;
        }
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        cell.write_binary(element, style, out);
        let length = (out.len() - at - 4) as u32;
        out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }
}

/// Groups of four decimal digits, the weight of the first, sign, scale: numeric_send.
fn write_numeric(n: Numeric, out: &mut Vec<u8>) {
    let mut put = |digits: &[i16], weight: i16, sign: u16, scale: u16| {
        out.extend_from_slice(&(digits.len() as i16).to_be_bytes());
        out.extend_from_slice(&weight.to_be_bytes());
        out.extend_from_slice(&sign.to_be_bytes());
        out.extend_from_slice(&scale.to_be_bytes());
        digits.iter().for_each(|d| out.extend_from_slice(&d.to_be_bytes()));
    };
    if n.is_nan() {
        return put(&[], 0, 0xC000, 0);
    }
    let sign = if n.mantissa < 0 { 0x4000 } else { 0 };
    let scale = u32::from(n.scale);
    // Digits after the point come in groups of four, so the last group is filled up with zeros.
    let mut rest = n.mantissa.unsigned_abs();
    let missing = (4 - scale % 4) % 4;
    let mut groups: Vec<i16> = Vec::new();
    if missing > 0 {
        let low = 10u128.pow(4 - missing);
        groups.push((rest % low) as i16 * 10i16.pow(missing));
        rest /= low;
    }
    while rest > 0 {
        groups.push((rest % 10_000) as i16);
        rest /= 10_000;
    }
    let after = scale.div_ceil(4) as i16;
    let mut weight = groups.len() as i16 - after - 1;
    groups.reverse();
    let leading = groups.iter().take_while(|g| **g == 0).count();
    groups.drain(..leading);
    weight -= leading as i16;
    while groups.last() == Some(&0) {
        groups.pop();
    }
    if groups.is_empty() {
        weight = 0;
    }
    put(&groups, weight, sign, scale as u16);
}
