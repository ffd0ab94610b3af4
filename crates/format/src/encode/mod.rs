//! How does a column of a batch become few bytes, and a value be found in them again?
//!
//! Lossless to the byte, without context from outside the column, and with random access: fetching
//! one value costs a few loads, decoding a range runs at memory speed. [`mod@column`] is the door;
//! [`int`], [`wide`] and [`bytes`] encode one physical form each out of the parts in [`bits`].
//! Nothing here knows of SQL types, files or blocks. Damaged input never panics and never makes a
//! decoder allocate more than the caller's row count asks for (I8): positions past the end read as
//! zeros or as empty strings, and it is the container's checksum that tells damage from data.

pub mod bits;
pub mod bytes;
pub mod column;
pub mod int;
mod nulls;
pub mod wide;

#[cfg(test)]
mod tests;

pub use column::{ColumnEncoder, ColumnView, encode_column};

/// How hard the encoder looks for a small form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// A few nanoseconds per value: log records.
    Fast,
    /// Tens of nanoseconds per value: segments and runs, which are read for years.
    Small,
}
