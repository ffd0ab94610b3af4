//! How does a value lie inside of an array or a record?
//!
//! Numbers little-endian in their width, booleans as a byte, texts and bytes as they are. NULLs are told apart outside.
//! Thread safety: pure functions.

use std::borrow::Cow;

use crate::{Datum, Repr};

/// The bytes that every value of a representation has; `None` if they differ.
pub fn width(repr: Repr) -> Option<usize> {
    Some(match repr {
        Repr::Bool | Repr::Char => 1,
        Repr::Int2 => 2,
        Repr::Int4 | Repr::Oid | Repr::Float4 => 4,
        Repr::Int8 | Repr::Float8 => 8,
        Repr::Fixed(width) => width as usize,
        Repr::Text | Repr::Bytes => return None,
    })
}

/// Appends a value that is not NULL.
pub fn put(value: &Datum<'_>, out: &mut Vec<u8>) {
    match value {
        Datum::Null => {}
        Datum::Bool(v) => out.push(u8::from(*v)),
        Datum::Char(v) => out.push(*v),
        Datum::Int2(v) => out.extend_from_slice(&v.to_le_bytes()),
        Datum::Int4(v) => out.extend_from_slice(&v.to_le_bytes()),
        Datum::Int8(v) => out.extend_from_slice(&v.to_le_bytes()),
        Datum::Oid(v) => out.extend_from_slice(&v.to_le_bytes()),
        Datum::Float4(v) => out.extend_from_slice(&v.to_le_bytes()),
        Datum::Float8(v) => out.extend_from_slice(&v.to_le_bytes()),
        Datum::Text(v) => out.extend_from_slice(v.as_bytes()),
        Datum::Bytes(v) => out.extend_from_slice(v),
    }
}

/// The value that bytes are.
///
/// # Panics
/// The bytes are none that [`put`] made of a value of this representation.
#[inline]
pub fn get(repr: Repr, bytes: &[u8]) -> Datum<'_> {
    match repr {
        Repr::Bool => Datum::Bool(bytes[0] != 0),
        Repr::Char => Datum::Char(bytes[0]),
        Repr::Int2 => Datum::Int2(i16::from_le_bytes(fixed(bytes))),
        Repr::Int4 => Datum::Int4(i32::from_le_bytes(fixed(bytes))),
        Repr::Int8 => Datum::Int8(i64::from_le_bytes(fixed(bytes))),
        Repr::Oid => Datum::Oid(u32::from_le_bytes(fixed(bytes))),
        Repr::Float4 => Datum::Float4(f32::from_le_bytes(fixed(bytes))),
        Repr::Float8 => Datum::Float8(f64::from_le_bytes(fixed(bytes))),
        Repr::Text => {
            Datum::Text(Cow::Borrowed(std::str::from_utf8(bytes).expect("a text is UTF-8")))
        }
        Repr::Bytes | Repr::Fixed(_) => Datum::Bytes(Cow::Borrowed(bytes)),
    }
}

#[inline]
fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("a value has its type's width")
}

/// The number of 32 bits at a place.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(fixed(&bytes[at..at + 4]))
}
