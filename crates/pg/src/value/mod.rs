//! What are values, how are they written, and which of them are equal?
//!
//! One module per type (or per family that shares a text form). Each has PostgreSQL 15's input function
//! (`parse`), its output function under the session's [`Settings`] (`print`), its binary form (`send`, `recv`)
//! and its **key**: a value or bytes whose equality and order are PostgreSQL's equality and order, for hashes,
//! sorts, groups, joins and indexes alike.
//!
//! Values know nothing of columns, of Arrow or of statements. Nothing here panics on any text or bytes, and what
//! a value may grow to is checked before memory is taken for it.

pub mod bits;
pub mod boolean;
pub mod bytea;
pub mod chars;
pub mod datetime;
pub mod float;
pub mod int;
pub mod interval;
pub mod money;
pub mod numeric;
mod scan;
mod settings;
pub mod timetz;
pub mod utf8;
pub mod uuid;
pub mod xml;

pub use settings::{DateOrder, DateStyle, IntervalStyle, Settings};

use crate::Error;

/// The most bytes that a value may have: PostgreSQL's MaxAllocSize.
pub const MAX_BYTES: usize = 0x3fff_ffff;

/// "invalid input syntax for type …".
pub(crate) fn invalid(type_name: &str, text: &str) -> Error {
    Error::new("22P02", format!("invalid input syntax for type {type_name}: \"{text}\""))
}

/// "value … is out of range for type …".
pub(crate) fn out_of_range(type_name: &str, text: &str) -> Error {
    Error::new("22003", format!("value \"{text}\" is out of range for type {type_name}"))
}

/// What a client sent in binary is shorter than the type has it.
pub(crate) fn bad_binary() -> Error {
    Error::new("08P01", "insufficient data left in message")
}

/// What a client sent in binary goes on behind the value. What the value is a part of says so in its own words.
pub fn left_over() -> Error {
    Error::new("22P03", "incorrect binary data format")
}

/// As many bytes as the binary form of a type has.
pub(crate) fn fixed<const N: usize>(bytes: &[u8]) -> super::Result<[u8; N]> {
    bytes.try_into().map_err(|_| if bytes.len() < N { bad_binary() } else { left_over() })
}
