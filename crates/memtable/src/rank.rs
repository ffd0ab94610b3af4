//! How do two rows compare, and which integer stands for a value's place in the order?
//!
//! [`compare_rows`] is the order of an index on typed columns, the same as the order of key bytes. A
//! *rank* is an integer that never falls when the value rises; prefixes ([`super::prefix`]) are made
//! of ranks, and `compare_rows` is asked only about ties.
//!
//! Pure functions.

use std::borrow::Cow;
use std::cmp::Ordering;

use onlap_format::{Batch, Column, DataType, Numeric, Vector};

use super::shape::Field;

/// Bytes of a string that take part in its rank.
pub const RANKED_BYTES: usize = 16;

/// -0 in the integer form of floats; its key is that of 0.
const NEGATIVE_ZERO: i64 = -1;

/// Whether values are floats, in whose integer form -0 is not 0.
pub fn is_float(ty: DataType) -> bool {
    matches!(ty, DataType::Float4 | DataType::Float8)
}

/// The integer of an int column's value as keys see it.
#[inline]
pub fn key_int(value: i64, float: bool) -> i64 {
    if float && value == NEGATIVE_ZERO { 0 } else { value }
}

/// A string as keys see it: trailing blanks of char do not count, nor does the case of a folded text.
#[inline]
pub fn key_bytes(ty: DataType, value: &[u8]) -> Cow<'_, [u8]> {
    match ty {
        DataType::Char(_) => {
            let end = value.iter().rposition(|&b| b != b' ').map_or(0, |p| p + 1);
            Cow::Borrowed(&value[..end])
        }
        DataType::Folded => Cow::Owned(value.to_ascii_lowercase()),
        _ => Cow::Borrowed(value),
    }
}

#[inline]
pub fn rank_int(value: i64) -> u128 {
    u128::from(value as u64 ^ 1 << 63)
}

#[inline]
pub fn rank_wide(value: i128) -> u128 {
    value as u128 ^ 1 << 127
}

/// The bytes after the first `skip`, as a big-endian number of `width` bytes.
#[inline]
pub fn rank_bytes(value: &[u8], skip: usize, width: usize) -> u128 {
    if width == 0 {
        return 0;
    }
    let rest = value.get(skip..).unwrap_or(&[]);
    let padded = match rest.first_chunk::<RANKED_BYTES>() {
        Some(whole) => *whole,
        None => {
            let mut padded = [0u8; RANKED_BYTES];
            padded[..rest.len()].copy_from_slice(rest);
            padded
        }
    };
    u128::from_be_bytes(padded) >> (8 * (RANKED_BYTES - width))
}

/// Place of a decimal number: sign, exponent of ten and leading digits, exact up to the digits that
/// no longer fit. The second part holds all digits.
pub fn rank_numeric(mantissa: i128, scale: u8) -> (u128, u128) {
    if scale == Numeric::NAN_SCALE {
        return (u128::MAX, u128::MAX);
    }
    if scale == Numeric::INFINITE_SCALE {
        // Digits end below the last place, and never reach the first.
        return if mantissa < 0 { (0, 0) } else { (u128::MAX - 1, 0) };
    }
    if mantissa == 0 {
        return (1 << 127, 0);
    }
    let mut digits = mantissa.unsigned_abs();
    let count = digits.ilog10() as i32 + 1;
    // 0.ddd x 10^exponent with 38 digits; i128 holds no more than 39.
    let exponent = count - i32::from(scale);
    match count {
        ..38 => digits *= 10u128.pow(38 - count as u32),
        _ => debug_assert!(count == 38, "a numeric has at most 38 digits"),
    }
    let biased = (exponent + 160) as u128;
    debug_assert!(biased < 1 << 9);
    let place = 1 << 127 | biased << 118 | digits >> 9;
    if mantissa < 0 { (!place, !digits) } else { (place, digits) }
}

#[inline]
fn compare_values(field: &Field, a: &Column, i: usize, b: &Column, j: usize) -> Ordering {
    match (&a.data, &b.data) {
        (Vector::Int(a), Vector::Int(b)) => {
            let float = is_float(field.ty);
            key_int(a[i], float).cmp(&key_int(b[j], float))
        }
        (Vector::Wide(a), Vector::Wide(b)) => a[i].cmp(&b[j]),
        (Vector::Numeric(a, s), Vector::Numeric(b, t)) => {
            rank_numeric(a[i], s[i]).cmp(&rank_numeric(b[j], t[j]))
        }
        (Vector::Bytes(a), Vector::Bytes(b)) => {
            key_bytes(field.ty, a.get(i)).cmp(&key_bytes(field.ty, b.get(j)))
        }
        _ => panic!("columns of different physical form are never compared"),
    }
}

/// Compares one key column of two rows: NULL last, everything reversed where descending.
#[inline]
pub fn compare_field(field: &Field, a: &Column, i: usize, b: &Column, j: usize) -> Ordering {
    let order = if a.nulls.is_none() && b.nulls.is_none() {
        compare_values(field, a, i, b, j)
    } else {
        match (a.is_null(i), b.is_null(j)) {
            (false, false) => compare_values(field, a, i, b, j),
            (x, y) => x.cmp(&y),
        }
    };
    if field.descending { order.reverse() } else { order }
}

/// Compares the keys of two rows.
#[inline]
pub fn compare_rows(fields: &[Field], a: &Batch, i: usize, b: &Batch, j: usize) -> Ordering {
    for field in fields {
        let order = compare_field(field, &a.columns[field.column], i, &b.columns[field.column], j);
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// Whether the rows lie in the order of the index already; equal keys are in order of row ids.
pub fn is_rising(fields: &[Field], rows: &Batch) -> bool {
    (1..rows.rows).all(|i| compare_rows(fields, rows, i - 1, rows, i).is_le())
}
