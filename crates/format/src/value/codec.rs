//! How does a single value lie in a record?
//!
//! Values of rows lie in columns; this is for the few that stand alone: defaults, constants in
//! expressions. One byte of kind, then:
//!
//! | kind | value | bytes |
//! |---|---|---|
//! | 0 | NULL | |
//! | 1, 2 | false, true | |
//! | 3 | integer | signed varint |
//! | 4 | float | 8, the IEEE bits |
//! | 5 | numeric | scale (1; 255 NaN, 254 an infinity), mantissa (16) |
//! | 6, 7 | text, bytes | behind their length |
//! | 8 | uuid | 16 |
//! | 9, 10, 11 | date, time, timestamp | signed varint |

use onlap_base::{Result, limits};

use super::{Numeric, Value};
use crate::wire::{Reader, put_bytes, put_signed};

/// Appends a value.
pub(crate) fn put_value(out: &mut Vec<u8>, value: &Value) {
    let mut signed = |kind: u8, v: i64| {
        out.push(kind);
        put_signed(out, v);
    };
    match value {
        Value::Null => out.push(0),
        Value::Bool(b) => out.push(1 + u8::from(*b)),
        Value::Int(v) => signed(3, *v),
        Value::Float(f) => {
            out.push(4);
            out.extend(f.to_bits().to_le_bytes());
        }
        Value::Numeric(n) => {
            out.extend([5, n.scale]);
            out.extend(n.mantissa.to_le_bytes());
        }
        Value::Text(s) => {
            out.push(6);
            put_bytes(out, s.as_bytes());
        }
        Value::Bytes(b) => {
            out.push(7);
            put_bytes(out, b);
        }
        Value::Uuid(u) => {
            out.push(8);
            out.extend(u);
        }
        Value::Date(d) => signed(9, i64::from(*d)),
        Value::Time(t) => signed(10, *t),
        Value::Timestamp(t) => signed(11, *t),
    }
}

/// Reads a value.
pub(crate) fn read_value(r: &mut Reader<'_>) -> Result<Value> {
    Ok(match r.u8()? {
        0 => Value::Null,
        1 => Value::Bool(false),
        2 => Value::Bool(true),
        3 => Value::Int(r.signed()?),
        4 => Value::Float(f64::from_bits(r.u64()?)),
        5 => {
            let n = Numeric { scale: r.u8()?, mantissa: i128::from_le_bytes(r.array()?) };
            if !n.is_valid() {
                return Err(r.error("a numeric of more than 38 digits"));
            }
            Value::Numeric(n)
        }
        6 => Value::Text(limited(r, Reader::text)?.to_owned()),
        7 => Value::Bytes(limited(r, Reader::bytes)?.to_vec()),
        8 => Value::Uuid(r.array()?),
        9 => {
            let days = r.signed()?;
            Value::Date(i32::try_from(days).map_err(|_| r.error("a date above 32 bits"))?)
        }
        10 => Value::Time(r.signed()?),
        11 => Value::Timestamp(r.signed()?),
        _ => return Err(r.error("an unknown kind of value")),
    })
}

fn limited<'a, T: ?Sized + AsRef<[u8]>>(
    r: &mut Reader<'a>,
    read: impl FnOnce(&mut Reader<'a>) -> Result<&'a T>,
) -> Result<&'a T> {
    let value = read(r)?;
    if value.as_ref().len() > limits::VALUE_BYTES {
        return Err(r.error("a value above the limit"));
    }
    Ok(value)
}
