//! How does one column's value become key bytes, and back?
//!
//! The table is in [`super`]. Knows nothing of whole keys or packing. Pure functions. Bytes that are
//! no key give an error, never a panic (I8).

use std::borrow::Cow;

use onlap_base::{Error, ErrorKind, Result};

use super::{KeyColumn, decimal};
use crate::batch::{Column, Vector};
use crate::convert;
use crate::types::{DataType, Physical};
use crate::value::{Numeric, Value};

const VALUE: u8 = 1;
const NULL: u8 = 2;

/// A value in physical form.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Null,
    Int(i64),
    Wide(i128),
    Numeric(Numeric),
    Bytes(Vec<u8>),
}

/// Whether integers of this type are float order numbers, whose -0 (-1) equals 0.
pub(super) fn is_float(ty: DataType) -> bool {
    matches!(ty, DataType::Float4 | DataType::Float8)
}

/// The integer that a key holds for a column's integer.
#[inline]
pub(super) fn key_int(float: bool, v: i64) -> i64 {
    if float && v == -1 { 0 } else { v }
}

/// A char's trailing blanks do not count, and neither does the case of a folded text.
#[inline]
pub(super) fn key_text(ty: DataType, s: &[u8]) -> Cow<'_, [u8]> {
    match ty {
        DataType::Char(_) => {
            let end = s.iter().rposition(|&b| b != b' ').map_or(0, |p| p + 1);
            Cow::Borrowed(&s[..end])
        }
        DataType::Folded => Cow::Owned(s.to_ascii_lowercase()),
        _ => Cow::Borrowed(s),
    }
}

/// Bytes of an integer type in a key.
fn int_width(ty: DataType) -> usize {
    match ty {
        DataType::Bool => 1,
        DataType::Int2 => 2,
        DataType::Int4 | DataType::Date => 4,
        _ => 8,
    }
}

/// Appends the marker of NULL.
pub(super) fn append_null(flip: u8, out: &mut Vec<u8>) {
    out.push(NULL ^ flip);
}

/// Appends the marker of a value.
#[inline]
pub(super) fn append_marker(flip: u8, out: &mut Vec<u8>) {
    out.push(VALUE ^ flip);
}

#[inline]
pub(super) fn append_int(ty: DataType, v: i64, flip: u8, out: &mut Vec<u8>) {
    let width = int_width(ty);
    let biased = (v as u64).wrapping_add(1 << (8 * width - 1));
    let mask = u64::from_ne_bytes([flip; 8]);
    out.extend_from_slice(&(biased ^ mask).to_be_bytes()[8 - width..]);
}

pub(super) fn append_bytes(ty: DataType, s: &[u8], flip: u8, out: &mut Vec<u8>) {
    let s = &*key_text(ty, s);
    if ty == DataType::Bytea {
        for &b in s {
            out.push(b ^ flip);
            if b == 0 {
                out.push(0xff ^ flip);
            }
        }
        return out.extend_from_slice(&[flip, 1 ^ flip]);
    }
    if flip == 0 {
        out.extend_from_slice(s);
    } else {
        out.extend(s.iter().map(|b| b ^ flip));
    }
    out.push(flip);
}

/// Appends row `row` of a column.
pub(super) fn encode_cell(def: KeyColumn, column: &Column, row: usize, out: &mut Vec<u8>) {
    let flip = if def.descending { 0xff } else { 0 };
    if column.is_null(row) {
        return out.push(NULL ^ flip);
    }
    out.push(VALUE ^ flip);
    match &column.data {
        Vector::Int(v) => append_int(def.ty, key_int(is_float(def.ty), v[row]), flip, out),
        Vector::Wide(v) => append_wide(v[row], flip, out),
        Vector::Numeric(m, s) => {
            decimal::encode(Numeric { mantissa: m[row], scale: s[row] }, flip, out);
        }
        Vector::Bytes(v) => append_bytes(def.ty, v.get(row), flip, out),
    }
}

pub(super) fn append_wide(v: i128, flip: u8, out: &mut Vec<u8>) {
    let mask = u128::from_ne_bytes([flip; 16]);
    out.extend_from_slice(&(v as u128 ^ 1 << 127 ^ mask).to_be_bytes());
}

/// Appends a user's value.
pub(super) fn encode_value(def: KeyColumn, value: &Value, out: &mut Vec<u8>) -> Result<()> {
    let flip = if def.descending { 0xff } else { 0 };
    if *value == Value::Null {
        out.push(NULL ^ flip);
        return Ok(());
    }
    out.push(VALUE ^ flip);
    let ty = def.ty;
    let int = match (ty, value) {
        (DataType::Bool, Value::Bool(b)) => i64::from(*b),
        (DataType::Int2, Value::Int(v)) => in_range(i16::try_from(*v).ok(), *v, ty)?,
        (DataType::Int4, Value::Int(v)) => in_range(i32::try_from(*v).ok(), *v, ty)?,
        (DataType::Int8, Value::Int(v)) | (DataType::Time, Value::Time(v)) => *v,
        (DataType::Timestamp | DataType::Timestamptz, Value::Timestamp(v)) => *v,
        (DataType::Date, Value::Date(v)) => i64::from(*v),
        (DataType::Float4 | DataType::Float8, Value::Float(f)) => {
            key_int(true, convert::order_f64(*f))
        }
        (DataType::Float4 | DataType::Float8, Value::Int(v)) => convert::order_f64(*v as f64),
        (DataType::Uuid, Value::Uuid(u)) => {
            append_wide((u128::from_be_bytes(*u) ^ 1 << 127) as i128, flip, out);
            return Ok(());
        }
        (DataType::Numeric(Some((_, scale))), Value::Numeric(n)) => {
            append_wide(fixed(*n, scale)?, flip, out);
            return Ok(());
        }
        (DataType::Numeric(None), Value::Numeric(n)) => {
            decimal::encode(*n, flip, out);
            return Ok(());
        }
        (DataType::Numeric(None), Value::Int(v)) => {
            decimal::encode(Numeric { mantissa: i128::from(*v), scale: 0 }, flip, out);
            return Ok(());
        }
        (DataType::Numeric(Some((_, scale))), Value::Int(v)) => {
            let n = Numeric { mantissa: i128::from(*v), scale: 0 };
            append_wide(fixed(n, scale)?, flip, out);
            return Ok(());
        }
        (
            DataType::Text | DataType::Varchar(_) | DataType::Char(_) | DataType::Folded,
            Value::Text(s),
        ) => {
            append_bytes(ty, s.as_bytes(), flip, out);
            return Ok(());
        }
        (DataType::Bytea, Value::Bytes(b)) => {
            append_bytes(ty, b, flip, out);
            return Ok(());
        }
        _ => {
            return Err(Error::new(
                ErrorKind::WrongType,
                format!("a value of another type in a key column of type {ty}"),
            ));
        }
    };
    append_int(ty, int, flip, out);
    Ok(())
}

fn in_range<T: Into<i64>>(narrow: Option<T>, v: i64, ty: DataType) -> Result<i64> {
    narrow
        .map(Into::into)
        .ok_or_else(|| Error::new(ErrorKind::OutOfRange, format!("{v} is out of range for {ty}")))
}

/// The `Wide` form of a number at a scale, where that is exact.
fn fixed(n: Numeric, scale: u8) -> Result<i128> {
    if n.scale == Numeric::NAN_SCALE {
        return Ok(i128::MAX);
    }
    let n = decimal::normalize(n.mantissa, n.scale);
    // No number of digits holds an infinity, whose scale is above all.
    u32::from(scale)
        .checked_sub(u32::from(n.scale))
        .and_then(|up| n.mantissa.checked_mul(10i128.checked_pow(up)?))
        .ok_or_else(|| {
            let text = format!("a number has more digits than numeric with scale {scale} holds");
            Error::new(ErrorKind::OutOfRange, text)
        })
}

fn take<'a>(bytes: &mut &'a [u8], n: usize) -> Result<&'a [u8]> {
    let (head, tail) =
        bytes.split_at_checked(n).ok_or_else(|| Error::damaged("a key ends early"))?;
    *bytes = tail;
    Ok(head)
}

/// Reads one column off the front of `bytes`.
pub(super) fn decode_cell(def: KeyColumn, bytes: &mut &[u8]) -> Result<Cell> {
    let flip = if def.descending { 0xff } else { 0 };
    match take(bytes, 1)?[0] ^ flip {
        NULL => return Ok(Cell::Null),
        VALUE => {}
        _ => return Err(Error::damaged("a key column begins with an unknown marker")),
    }
    Ok(match def.ty.physical() {
        Physical::Int => Cell::Int(decode_int(def.ty, bytes, flip)?),
        Physical::Wide => {
            let mut raw = [0; 16];
            raw.copy_from_slice(take(bytes, 16)?);
            let mask = u128::from_ne_bytes([flip; 16]);
            Cell::Wide((u128::from_be_bytes(raw) ^ mask ^ 1 << 127) as i128)
        }
        Physical::Numeric => Cell::Numeric(decimal::decode(bytes, flip)?),
        Physical::Bytes => Cell::Bytes(decode_bytes(def.ty, bytes, flip)?),
    })
}

fn decode_int(ty: DataType, bytes: &mut &[u8], flip: u8) -> Result<i64> {
    let width = int_width(ty);
    let mut raw = [0; 8];
    for (to, from) in raw[8 - width..].iter_mut().zip(take(bytes, width)?) {
        *to = from ^ flip;
    }
    Ok(u64::from_be_bytes(raw).wrapping_sub(1 << (8 * width - 1)) as i64)
}

fn decode_bytes(ty: DataType, bytes: &mut &[u8], flip: u8) -> Result<Vec<u8>> {
    let end = |rest: &[u8]| {
        rest.iter().position(|&b| b == flip).ok_or_else(|| Error::damaged("a text key has no end"))
    };
    if ty != DataType::Bytea {
        let text = take(bytes, end(bytes)?)?.iter().map(|b| b ^ flip).collect();
        take(bytes, 1)?;
        return Ok(text);
    }
    let mut out = Vec::new();
    loop {
        out.extend(take(bytes, end(bytes)?)?.iter().map(|b| b ^ flip));
        match take(bytes, 2)?[1] ^ flip {
            1 => return Ok(out),
            0xff => out.push(0),
            _ => return Err(Error::damaged("a bytea key has an unknown escape")),
        }
    }
}

/// Bytes of the column at the front of `key`; `None` where they are no key.
pub(super) fn cell_len(def: KeyColumn, key: &[u8]) -> Option<usize> {
    let flip = if def.descending { 0xff } else { 0 };
    let (marker, rest) = key.split_first()?;
    if marker ^ flip == NULL {
        return Some(1);
    }
    let len = match (def.ty.physical(), def.ty) {
        (Physical::Int, ty) => int_width(ty),
        (Physical::Wide, _) => 16,
        (Physical::Numeric, _) => {
            let mut tail = rest;
            decimal::decode(&mut tail, flip).ok()?;
            rest.len() - tail.len()
        }
        (Physical::Bytes, DataType::Bytea) => {
            let mut at = 0;
            loop {
                at += rest.get(at..)?.iter().position(|&b| b == flip)? + 2;
                if rest.get(at - 1)? ^ flip == 1 {
                    break at;
                }
            }
        }
        (Physical::Bytes, _) => rest.iter().position(|&b| b == flip)? + 1,
    };
    (len <= rest.len()).then_some(len + 1)
}

/// Whether key bytes begin with NULL.
pub(super) fn is_null(def: KeyColumn, key: &[u8]) -> bool {
    key.first() == Some(if def.descending { &!NULL } else { &NULL })
}

/// Appends a decoded cell to a column of its form.
pub(super) fn push_cell(cell: Cell, column: &mut Column) -> Result<()> {
    match (cell, &mut column.data) {
        (Cell::Null, _) => {
            column.push_null();
            return Ok(());
        }
        (Cell::Int(x), Vector::Int(v)) => v.push(x),
        (Cell::Wide(x), Vector::Wide(v)) => v.push(x),
        (Cell::Numeric(n), Vector::Numeric(m, s)) => {
            m.push(n.mantissa);
            s.push(n.scale);
        }
        (Cell::Bytes(b), Vector::Bytes(v)) => v.push(&b),
        _ => return Err(Error::damaged("a key column of another form than its type")),
    }
    column.pushed();
    Ok(())
}

/// A decoded cell as a user's value.
pub(super) fn cell_value(ty: DataType, cell: Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Int(v) => convert::int_value(ty, v),
        Cell::Wide(v) => convert::wide_value(ty, v),
        Cell::Numeric(n) => Value::Numeric(n),
        Cell::Bytes(b) => convert::bytes_value(ty, &b),
    }
}
