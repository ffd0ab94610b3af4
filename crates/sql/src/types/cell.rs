//! How does a value look on the wire?
//!
//! A [`Cell`] is one value of an answer of the native tier, borrowed from where it lies: a block or a value of the engine.
//! It writes itself in text or binary form. Binary forms: PostgreSQL's `*_send` functions.

use onlap::{Column, DataType, Numeric, Value, Vector, convert};
use onlap_pg::value::datetime::{Zone, offset_at};

use super::{PgType, oid};

/// Days from 1970-01-01 to 2000-01-01, where PostgreSQL's days begin.
const EPOCH_DAYS: i32 = 10_957;
/// The same in microseconds.
const EPOCH_US: i64 = EPOCH_DAYS as i64 * 86_400_000_000;

/// What a session's settings say of text forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// The time zone of timestamptz; `None` for UTC.
    pub zone: Option<Zone>,
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

    /// Appends the text form; nothing for NULL.
    pub fn write_text(&self, ty: PgType, style: &Style, out: &mut Vec<u8>) {
        match self {
            Cell::Int(v) if ty.oid == oid::BOOL => out.push(if *v != 0 { b't' } else { b'f' }),
            Cell::Int(v) => out.extend_from_slice(itoa::Buffer::new().format(*v).as_bytes()),
            Cell::Text(s) => {
                out.extend_from_slice(s.as_bytes());
                pad(ty, s, out);
            }
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
    pub fn write_binary(&self, ty: PgType, out: &mut Vec<u8>) {
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
        }
    }

    /// The engine's value.
    pub fn to_value(&self) -> Value {
        match self {
            Cell::Null => Value::Null,
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

/// char(n) is kept without the blanks that it ends with.
fn pad(ty: PgType, text: &str, out: &mut Vec<u8>) {
    if ty.oid == oid::BPCHAR && ty.modifier > 4 {
        let have = text.chars().count();
        let want = (ty.modifier - 4) as usize;
        out.resize(out.len() + want.saturating_sub(have), b' ');
    }
}

fn zoned_text(us: i64, style: &Style) -> String {
    let mut text = String::new();
    let Some(zone) = style.zone.filter(|_| !matches!(us, i64::MIN | i64::MAX)) else {
        convert::format_text(DataType::Timestamptz, &Value::Timestamp(us), &mut text);
        return text;
    };
    let offset = offset_at(zone, us.saturating_sub(EPOCH_US));
    let local = us.saturating_add(i64::from(offset) * 1_000_000);
    convert::format_text(DataType::Timestamp, &Value::Timestamp(local), &mut text);
    let (sign, seconds) = (if offset < 0 { '-' } else { '+' }, offset.unsigned_abs());
    text += &format!("{sign}{:02}", seconds / 3600);
    if !seconds.is_multiple_of(3600) {
        text += &format!(":{:02}", seconds / 60 % 60);
    }
    if !seconds.is_multiple_of(60) {
        text += &format!(":{:02}", seconds % 60);
    }
    text
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
    if n.is_infinite() {
        // What PostgreSQL reads as scale out of the header of an infinity.
        return put(&[], 0, if n.mantissa < 0 { 0xF000 } else { 0xD000 }, 0x20);
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
