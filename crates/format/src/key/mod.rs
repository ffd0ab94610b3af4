//! How do index keys compare, and how do they lie in memory?
//!
//! A key has two forms. *Key bytes* ([`KeyDef`]) are a byte string whose `memcmp` order is the
//! index's order; prefixes of columns are prefixes of bytes. They serve lookups, fences, filters and
//! keys that fit nowhere else. *Packed keys* ([`Packing`], [`Keys`]) hold all key columns of an entry
//! as bit fields of one fixed-width integer whose order is the same order; they serve sorting,
//! merging and run blocks.
//!
//! # Key bytes
//!
//! Per column, one after the other, without padding:
//!
//! | part | bytes | meaning |
//! |---|---|---|
//! | marker | 1 | `01` a value follows, `02` NULL and nothing follows |
//! | bool | 1 | value + 2^7 |
//! | int2 | 2 | value + 2^15, big-endian |
//! | int4, date | 4 | value + 2^31, big-endian |
//! | int8, time, timestamp(tz) | 8 | value + 2^63, big-endian |
//! | float4, float8 | 8 | the order number of [`crate::types`] + 2^63, big-endian, with -0 made 0 |
//! | uuid, numeric(p, s) | 16 | the `Wide` form + 2^127, big-endian |
//! | numeric | 1 to 20 | see `decimal` |
//! | text, varchar, char, json | n + 1 | the bytes (char without trailing blanks), then `00` |
//! | bytea | n + 2 + zeros | the bytes with `00` written as `00 ff`, then `00 01` |
//!
//! A descending column has all its bytes, marker included, inverted: larger values and NULL come
//! first.
//!
//! ```
//! use onlap_format::{DataType, Value, key::{KeyColumn, KeyDef}};
//! let def = KeyDef::new(vec![
//!     KeyColumn { ty: DataType::Int4, descending: false },
//!     KeyColumn { ty: DataType::Text, descending: true },
//! ]);
//! let bytes = def.encode_values(&[Value::Int(-2), Value::Text("ab".into())]).unwrap();
//! assert_eq!(bytes, [0x01, 0x7f, 0xff, 0xff, 0xfe, !0x01, !b'a', !b'b', !0x00]);
//! let null = def.encode_values(&[Value::Int(-2), Value::Null]).unwrap();
//! assert_eq!(null, [0x01, 0x7f, 0xff, 0xff, 0xfe, !0x02]);
//! assert!(null < bytes, "descending: NULL first");
//! ```
//!
//! This module knows nothing of files or row visibility. All types are plain data, safe to share.

mod bytes;
mod decimal;
mod entries;
pub(crate) mod keys;
mod packing;
mod sort;
mod stats;
pub(crate) mod uuid_text;

#[cfg(test)]
mod tests;

use onlap_base::{Error, Result};

use crate::batch::Column;
use crate::schema::{IndexSchema, TableSchema};
use crate::types::DataType;
use crate::value::Value;

pub use entries::Entries;
pub use keys::{KeyForm, Keys};
pub(crate) use packing::is_before as bound_is_before;
pub use packing::{KeyBound, Packing, cut_key, cut_len};
pub use sort::sort_permutation;
pub use stats::ColumnStats;

/// One column of an index key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyColumn {
    /// Type of the column; must be ordered.
    pub ty: DataType,
    /// Larger first, NULL first.
    pub descending: bool,
}

/// The columns of an index key, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct KeyDef {
    /// Most significant first.
    pub columns: Vec<KeyColumn>,
}

impl KeyDef {
    /// A key of these columns.
    pub fn new(columns: Vec<KeyColumn>) -> KeyDef {
        KeyDef { columns }
    }

    /// The key of an index of a table. `None` where a key column is not in the table.
    pub fn of_index(table: &TableSchema, index: &IndexSchema) -> Option<KeyDef> {
        let column = |part: &crate::schema::KeyPart| {
            let ty = table.column_at(table.position(part.column)?).ty;
            Some(KeyColumn { ty, descending: part.descending })
        };
        Some(KeyDef { columns: index.key.iter().map(column).collect::<Option<_>>()? })
    }

    /// Key bytes of the first `values.len()` columns: a whole key, or a prefix for a range bound.
    ///
    /// # Errors
    /// `InvalidInput` for more values than columns, `WrongType`, and `OutOfRange` for a number that
    /// the column's type cannot hold exactly (no row can have it).
    pub fn encode_values(&self, values: &[Value]) -> Result<Vec<u8>> {
        if values.len() > self.columns.len() {
            return Err(Error::new(
                onlap_base::ErrorKind::InvalidInput,
                format!("{} values for a key of {} columns", values.len(), self.columns.len()),
            ));
        }
        let mut out = Vec::with_capacity(values.len() * 9);
        for (column, value) in self.columns.iter().zip(values) {
            bytes::encode_value(*column, value, &mut out)?;
        }
        Ok(out)
    }

    /// Appends the key bytes of one row; `columns` are the key's columns in its order.
    pub fn encode_row(&self, columns: &[&Column], row: usize, out: &mut Vec<u8>) {
        debug_assert_eq!(columns.len(), self.columns.len());
        for (def, column) in self.columns.iter().zip(columns) {
            bytes::encode_cell(*def, column, row, out);
        }
    }

    /// The values of a key or of a prefix that ends between columns. Values come back in a normal
    /// form where equal keys may read differently ([`DataType::key_is_lossy`]).
    ///
    /// # Errors
    /// `Corruption` when the bytes are no key.
    pub fn decode(&self, key: &[u8]) -> Result<Vec<Value>> {
        let mut rest = key;
        let mut values = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            if rest.is_empty() {
                break;
            }
            let cell = bytes::decode_cell(*column, &mut rest)?;
            values.push(bytes::cell_value(column.ty, cell));
        }
        if rest.is_empty() {
            Ok(values)
        } else {
            Err(Error::damaged("bytes after the end of a key"))
        }
    }

    /// Appends the values of a whole key to one column per key column.
    ///
    /// # Errors
    /// `Corruption` when the bytes are no whole key; the columns may then differ in length.
    pub fn decode_into(&self, key: &[u8], columns: &mut [Column]) -> Result<()> {
        debug_assert_eq!(columns.len(), self.columns.len());
        let mut rest = key;
        for (def, column) in self.columns.iter().zip(columns) {
            let cell = bytes::decode_cell(*def, &mut rest)?;
            bytes::push_cell(cell, column)?;
        }
        if rest.is_empty() { Ok(()) } else { Err(Error::damaged("bytes after the end of a key")) }
    }

    /// Bytes of column `c` at the front of `key`; all of them where they are no key.
    pub fn column_len(&self, c: usize, key: &[u8]) -> usize {
        bytes::cell_len(self.columns[c], key).unwrap_or(key.len())
    }

    /// Whether these key bytes, of leading columns, are of all columns, and none of them is NULL.
    pub fn is_whole_without_null(&self, key: &[u8]) -> bool {
        let mut rest = key;
        let all = self.columns.iter().enumerate().all(|(c, column)| {
            let is_value = !rest.is_empty() && !bytes::is_null(*column, rest);
            rest = &rest[self.column_len(c, rest)..];
            is_value
        });
        all && rest.is_empty()
    }

    /// The first column in which two whole keys differ.
    pub fn first_difference(&self, a: &[u8], b: &[u8]) -> Option<usize> {
        let shared = a.iter().zip(b).take_while(|(x, y)| x == y).count();
        if shared == a.len() && shared == b.len() {
            return None;
        }
        let mut end = 0;
        (0..self.columns.len()).find(|&c| {
            end += self.column_len(c, &b[end..]);
            end > shared
        })
    }
}
