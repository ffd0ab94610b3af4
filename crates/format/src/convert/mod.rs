//! Does a value belong into a column, and how does it get in and out?
//!
//! The edge between the row-at-a-time [`Value`] and physical columns: everything that enters the
//! engine passes [`push_value`] or [`check_batch`], which refuse what the type refuses *before* the
//! log sees it, so that no layer below checks again. Orders are PostgreSQL's under the C collation.
//! Pure functions; nothing here knows of tables, keys or files.

mod check;
pub mod json;
pub mod numeric;
mod text;
mod time;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use onlap_base::limits::VALUE_BYTES;
use onlap_base::{Error, ErrorKind, Result};

pub use check::{check_batch, row_texts};
pub use text::{format_text, parse_text};
pub use time::parse_plain_timestamp;

use crate::batch::{Batch, Column, Vector};
use crate::schema::TableSchema;
use crate::types::DataType;
use crate::value::{Numeric, Row, Value};

/// Microseconds of a day; `24:00:00` is a valid time.
pub const DAY_US: i64 = 86_400_000_000;

/// A float as an integer of the same order; NaN of any kind above all.
#[inline]
pub fn order_f64(f: f64) -> i64 {
    let bits = if f.is_nan() { f64::NAN.to_bits() & !(1 << 63) } else { f.to_bits() } as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// Inverse of [`order_f64`].
#[inline]
pub fn f64_of(order: i64) -> f64 {
    f64::from_bits((order ^ ((order >> 63) as u64 >> 1) as i64) as u64)
}

/// A UUID as an integer of the same order.
#[inline]
pub fn order_uuid(bytes: [u8; 16]) -> i128 {
    (u128::from_be_bytes(bytes) ^ 1 << 127) as i128
}

/// Inverse of [`order_uuid`].
#[inline]
pub fn uuid_of(order: i128) -> [u8; 16] {
    (order as u128 ^ 1 << 127).to_be_bytes()
}

/// NaN of a numeric column with a declared scale.
pub const WIDE_NAN: i128 = i128::MAX;

/// Smallest and largest integer of an integer-like type.
pub fn int_range(ty: DataType) -> (i64, i64) {
    match ty {
        DataType::Bool => (0, 1),
        DataType::Int2 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int4 | DataType::Date => (i32::MIN.into(), i32::MAX.into()),
        DataType::Time => (0, DAY_US),
        _ => (i64::MIN, i64::MAX),
    }
}

/// Appends a value to a column of its type, or says what is wrong with it and leaves the column as
/// it was. Integers are taken for float and numeric columns too. NULL is always taken: whether a
/// column allows it is its table's business.
pub fn push_value(ty: DataType, value: &Value, column: &mut Column, name: &str) -> Result<()> {
    if *value == Value::Null {
        column.push_null();
        return Ok(());
    }
    match (&mut column.data, ty.physical()) {
        (Vector::Int(v), _) => v.push(int_of(ty, value, name)?),
        (Vector::Wide(v), _) => v.push(wide_of(ty, value, name)?),
        (Vector::Numeric(m, s), _) => {
            let n = numeric_of(ty, value, name)?;
            m.push(n.mantissa);
            s.push(n.scale);
        }
        (Vector::Bytes(v), _) => v.push(bytes_of(ty, value, name)?),
    }
    column.pushed();
    Ok(())
}

fn int_of(ty: DataType, value: &Value, name: &str) -> Result<i64> {
    let v = match (ty, value) {
        (DataType::Bool, Value::Bool(b)) => i64::from(*b),
        (DataType::Int2 | DataType::Int4 | DataType::Int8, Value::Int(v)) => *v,
        (DataType::Float8, Value::Float(f)) => order_f64(*f),
        (DataType::Float8, Value::Int(v)) => order_f64(*v as f64),
        (DataType::Float4, Value::Float(f)) => {
            let rounded = *f as f32;
            if rounded.is_infinite() && f.is_finite() {
                return Err(out_of_range(ty, value, name));
            }
            order_f64(f64::from(rounded))
        }
        (DataType::Float4, Value::Int(v)) => order_f64(f64::from(*v as f32)),
        (DataType::Date, Value::Date(d)) => i64::from(*d),
        (DataType::Time, Value::Time(t)) => *t,
        (DataType::Timestamp | DataType::Timestamptz, Value::Timestamp(t)) => *t,
        _ => return Err(wrong_type(ty, value, name)),
    };
    let (min, max) = int_range(ty);
    if v < min || v > max {
        return Err(out_of_range(ty, value, name));
    }
    Ok(v)
}

fn wide_of(ty: DataType, value: &Value, name: &str) -> Result<i128> {
    match (ty, value) {
        (DataType::Uuid, Value::Uuid(bytes)) => Ok(order_uuid(*bytes)),
        (DataType::Numeric(Some((precision, scale))), _) => {
            let n = numeric_of(ty, value, name)?;
            if n.is_nan() {
                return Ok(WIDE_NAN);
            }
            n.rescale(scale)
                .filter(|n| n.digits() <= u32::from(precision))
                .map(|n| n.mantissa)
                .ok_or_else(|| out_of_range(ty, value, name))
        }
        _ => Err(wrong_type(ty, value, name)),
    }
}

fn numeric_of(ty: DataType, value: &Value, name: &str) -> Result<Numeric> {
    match value {
        Value::Numeric(n) if n.is_valid() => Ok(n.canonical_nan()),
        Value::Numeric(_) => Err(out_of_range(ty, value, name)),
        Value::Int(v) => Ok(Numeric { mantissa: i128::from(*v), scale: 0 }),
        _ => Err(wrong_type(ty, value, name)),
    }
}

fn bytes_of<'a>(ty: DataType, value: &'a Value, name: &str) -> Result<&'a [u8]> {
    let bytes = match (ty, value) {
        (DataType::Bytea, Value::Bytes(b)) => b.as_slice(),
        (DataType::Bytea, _) => return Err(wrong_type(ty, value, name)),
        (_, Value::Text(s)) => check_text(ty, s, name)?.as_bytes(),
        _ => return Err(wrong_type(ty, value, name)),
    };
    if bytes.len() > VALUE_BYTES {
        return Err(too_long(name, format!("{} bytes, at most {VALUE_BYTES}", bytes.len())));
    }
    Ok(bytes)
}

/// The text as it is stored, or why its type refuses it.
pub(crate) fn check_text<'a>(ty: DataType, s: &'a str, name: &str) -> Result<&'a str> {
    if s.as_bytes().contains(&0) {
        return Err(Error::new(
            ErrorKind::InvalidText,
            format!("column \"{name}\": text cannot hold a NUL byte"),
        ));
    }
    match ty {
        DataType::Varchar(n) => cut(s, n as usize, ty, name),
        DataType::Char(n) => Ok(cut(s, n as usize, ty, name)?.trim_end_matches(' ')),
        DataType::Json => text::check_json(s, name).map(|()| s),
        _ => Ok(s),
    }
}

/// At most `n` characters; as in SQL, blanks past them are dropped silently, nothing else is.
fn cut<'a>(s: &'a str, n: usize, ty: DataType, name: &str) -> Result<&'a str> {
    if s.len() <= n {
        return Ok(s);
    }
    match s.char_indices().nth(n) {
        None => Ok(s),
        Some((at, _)) if s[at..].bytes().all(|b| b == b' ') => Ok(&s[..at]),
        Some(_) => Err(too_long(name, format!("{} characters do not fit {ty}", s.chars().count()))),
    }
}

/// The value of a row of a column of this type. Char values come padded with blanks.
pub fn read_value(ty: DataType, column: &Column, row: usize) -> Value {
    if column.is_null(row) {
        return Value::Null;
    }
    match &column.data {
        Vector::Int(v) => int_value(ty, v[row]),
        Vector::Wide(v) => wide_value(ty, v[row]),
        Vector::Numeric(m, s) => {
            Value::Numeric(Numeric { mantissa: m[row], scale: s[row] }.canonical_nan())
        }
        Vector::Bytes(v) => bytes_value(ty, v.get(row)),
    }
}

/// A whole row of a batch whose columns are the schema's.
pub fn read_row(schema: &TableSchema, batch: &Batch, row: usize) -> Row {
    let columns = schema.columns.iter().zip(&batch.columns);
    columns.map(|(described, column)| read_value(described.ty, column, row)).collect()
}

/// The value that an integer stands for.
pub fn int_value(ty: DataType, v: i64) -> Value {
    match ty {
        DataType::Bool => Value::Bool(v != 0),
        DataType::Float4 | DataType::Float8 => Value::Float(f64_of(v)),
        DataType::Date => Value::Date(v as i32),
        DataType::Time => Value::Time(v),
        DataType::Timestamp | DataType::Timestamptz => Value::Timestamp(v),
        _ => Value::Int(v),
    }
}

/// The value that a 128-bit integer stands for.
pub fn wide_value(ty: DataType, v: i128) -> Value {
    match ty {
        DataType::Numeric(Some(_)) if v == WIDE_NAN => Value::Numeric(Numeric::NAN),
        DataType::Numeric(Some((_, scale))) => Value::Numeric(Numeric { mantissa: v, scale }),
        _ => Value::Uuid(uuid_of(v)),
    }
}

/// The value that a byte string stands for; damaged text reads with replacement characters.
pub fn bytes_value(ty: DataType, s: &[u8]) -> Value {
    if ty == DataType::Bytea {
        return Value::Bytes(s.to_vec());
    }
    let mut text = String::from_utf8_lossy(s).into_owned();
    if let DataType::Char(n) = ty {
        let missing = (n as usize).saturating_sub(text.chars().count());
        text.extend(std::iter::repeat_n(' ', missing));
    }
    Value::Text(text)
}

/// PostgreSQL's order of two values of a type: NaN above all numbers, -0 equal to 0, text by bytes,
/// char without trailing blanks, folded text in small letters, NULL above all. Values of another type than `ty` compare as equal.
pub fn compare_values(ty: DataType, a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Greater,
        (_, Value::Null) => Ordering::Less,
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => order_f64(a + 0.0).cmp(&order_f64(b + 0.0)),
        (Value::Numeric(a), Value::Numeric(b)) => a.compare(b),
        (Value::Numeric(a), Value::Int(b)) => a.compare(&Numeric::from(*b)),
        (Value::Int(a), Value::Numeric(b)) => Numeric::from(*a).compare(b),
        (Value::Text(a), Value::Text(b)) if matches!(ty, DataType::Char(_)) => {
            a.trim_end_matches(' ').cmp(b.trim_end_matches(' '))
        }
        (Value::Text(a), Value::Text(b)) if ty == DataType::Folded => {
            a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
        }
        (Value::Text(a), Value::Text(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (Value::Uuid(a), Value::Uuid(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b)) | (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

/// What a value is called in messages.
fn kind_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "NULL",
        Value::Bool(_) => "a bool",
        Value::Int(_) => "an integer",
        Value::Float(_) => "a float",
        Value::Numeric(_) => "a numeric",
        Value::Text(_) => "text",
        Value::Bytes(_) => "bytes",
        Value::Uuid(_) => "a uuid",
        Value::Date(_) => "a date",
        Value::Time(_) => "a time",
        Value::Timestamp(_) => "a timestamp",
    }
}

#[cold]
fn wrong_type(ty: DataType, value: &Value, name: &str) -> Error {
    let message = format!("column \"{name}\" is {ty}, the value is {}", kind_name(value));
    Error::new(ErrorKind::WrongType, message)
}

#[cold]
fn out_of_range(ty: DataType, value: &Value, name: &str) -> Error {
    let message = format!("column \"{name}\": {value:?} is out of range for {ty}");
    Error::new(ErrorKind::OutOfRange, message)
}

#[cold]
fn too_long(name: &str, message: String) -> Error {
    Error::new(ErrorKind::TooLong, format!("column \"{name}\": {message}"))
}
