//! Which rows of key columns are equal, and which comes first?
//!
//! Key columns are those of `onlap_kernels::key_column`: equality and order of their values as they stand are PostgreSQL's.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt32Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, SortOptions};
use onlap_kernels::key_column;
use onlap_pg::{Oid, Result};

use crate::env::Env;

/// The key column of a column, which may be the column itself.
pub fn keys(env: &Env, oid: Oid, column: &ArrayRef) -> Result<ArrayRef> {
    Ok(key_column(&env.catalog, oid, column)?.unwrap_or_else(|| Arc::clone(column)))
}

/// Appends a key so that equal keys, and no others, give equal bytes, whatever follows. NULL equals NULL.
pub fn key_bytes(column: &ArrayRef, row: usize, out: &mut Vec<u8>) {
    if column.is_null(row) {
        out.push(0);
        return;
    }
    out.push(1);
    let mut sized = |bytes: &[u8]| {
        out.extend((bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(bytes);
    };
    match column.data_type() {
        DataType::Boolean => out.push(u8::from(column.as_boolean().value(row))),
        DataType::Int16 => out.extend(column.as_primitive::<Int16Type>().value(row).to_le_bytes()),
        DataType::Int32 => out.extend(column.as_primitive::<Int32Type>().value(row).to_le_bytes()),
        DataType::Int64 => out.extend(column.as_primitive::<Int64Type>().value(row).to_le_bytes()),
        DataType::UInt32 => {
            out.extend(column.as_primitive::<UInt32Type>().value(row).to_le_bytes())
        }
        DataType::UInt8 => out.push(column.as_primitive::<UInt8Type>().value(row)),
        DataType::Float32 => {
            out.extend(column.as_primitive::<Float32Type>().value(row).to_bits().to_le_bytes());
        }
        DataType::Float64 => {
            out.extend(column.as_primitive::<Float64Type>().value(row).to_bits().to_le_bytes());
        }
        DataType::Utf8 => sized(column.as_string::<i32>().value(row).as_bytes()),
        DataType::Binary => sized(column.as_binary::<i32>().value(row)),
        DataType::FixedSizeBinary(_) => sized(column.as_fixed_size_binary().value(row)),
        other => unreachable!("no key column is of {other}"),
    }
}

/// The order of two keys of one type as ORDER BY says it.
pub fn compare_sorted(
    a: &ArrayRef,
    row: usize,
    b: &ArrayRef,
    other: usize,
    how: SortOptions,
) -> Ordering {
    match (a.is_null(row), b.is_null(other)) {
        (true, true) => Ordering::Equal,
        (true, false) if how.nulls_first => Ordering::Less,
        (true, false) => Ordering::Greater,
        (false, true) if how.nulls_first => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => {
            let order = compare_keys(a, row, b, other);
            if how.descending { order.reverse() } else { order }
        }
    }
}

/// The order of two keys of one type; NULL comes last, equal to itself.
pub fn compare_keys(a: &ArrayRef, row: usize, b: &ArrayRef, other: usize) -> Ordering {
    match (a.is_null(row), b.is_null(other)) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    macro_rules! primitive {
        ($ty:ty) => {
            a.as_primitive::<$ty>().value(row).cmp(&b.as_primitive::<$ty>().value(other))
        };
    }
    match a.data_type() {
        DataType::Boolean => a.as_boolean().value(row).cmp(&b.as_boolean().value(other)),
        DataType::Int16 => primitive!(Int16Type),
        DataType::Int32 => primitive!(Int32Type),
        DataType::Int64 => primitive!(Int64Type),
        DataType::UInt32 => primitive!(UInt32Type),
        DataType::UInt8 => primitive!(UInt8Type),
        DataType::Utf8 => a.as_string::<i32>().value(row).cmp(b.as_string::<i32>().value(other)),
        DataType::Binary => a.as_binary::<i32>().value(row).cmp(b.as_binary::<i32>().value(other)),
        DataType::FixedSizeBinary(_) => {
            a.as_fixed_size_binary().value(row).cmp(b.as_fixed_size_binary().value(other))
        }
        other => unreachable!("no key column is of {other}"),
    }
}

/// Integers of any width as those of 64 bits.
pub fn wide(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Int16 => {
            let column = column.as_primitive::<Int16Type>();
            Arc::new(column.unary::<_, Int64Type>(i64::from))
        }
        DataType::Int32 => {
            let column = column.as_primitive::<Int32Type>();
            Arc::new(column.unary::<_, Int64Type>(i64::from))
        }
        _ => Arc::clone(column),
    }
}

/// An int4 as an oid with the same bits, or the other way; others as they are.
pub fn same_bits(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Int32 => {
            let column = column.as_primitive::<Int32Type>();
            Arc::new(column.unary::<_, UInt32Type>(|value| value as u32))
        }
        DataType::UInt32 => {
            let column = column.as_primitive::<UInt32Type>();
            Arc::new(column.unary::<_, Int32Type>(|value| value as i32))
        }
        _ => Arc::clone(column),
    }
}

/// Keys that a value may be one of.
#[derive(Debug, Default)]
pub struct KeySet {
    /// Integers, whatever their width.
    ints: HashSet<i64>,
    /// Others as [`key_bytes`].
    others: HashSet<Box<[u8]>>,
    /// Whether one is NULL.
    pub has_null: bool,
    bytes: usize,
}

/// What an integer takes in a set, and another key beside its own bytes.
const INT_BYTES: usize = 18;
const OTHER_BYTES: usize = 48;

impl KeySet {
    /// Adds the keys of a column.
    pub fn add(&mut self, keys: &ArrayRef) {
        self.add_rows(std::slice::from_ref(keys));
    }

    /// Adds the keys of rows; of several columns, those that together are a key.
    pub fn add_rows(&mut self, columns: &[ArrayRef]) {
        let mut bytes = Vec::new();
        for row in 0..columns.first().map_or(0, |column| column.len()) {
            if columns.iter().any(|column| column.is_null(row)) {
                self.has_null = true;
            } else if let Some(value) = int(columns, row) {
                self.bytes += usize::from(self.ints.insert(value)) * INT_BYTES;
            } else {
                bytes.clear();
                columns.iter().for_each(|column| key_bytes(column, row, &mut bytes));
                if !self.others.contains(&bytes[..]) {
                    self.bytes += bytes.len() + OTHER_BYTES;
                    self.others.insert(bytes.as_slice().into());
                }
            }
        }
    }

    /// Bytes that the keys take, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether a key that is not NULL is among them; the bytes are room to work in.
    pub fn contains(&self, keys: &ArrayRef, row: usize, bytes: &mut Vec<u8>) -> bool {
        self.contains_row(std::slice::from_ref(keys), row, bytes)
    }

    /// The same of a key of several columns.
    pub fn contains_row(&self, columns: &[ArrayRef], row: usize, bytes: &mut Vec<u8>) -> bool {
        if let Some(value) = int(columns, row) {
            return self.ints.contains(&value);
        }
        bytes.clear();
        columns.iter().for_each(|column| key_bytes(column, row, bytes));
        self.others.contains(&bytes[..])
    }
}

/// A key that is an integer.
pub fn int(columns: &[ArrayRef], row: usize) -> Option<i64> {
    let [keys] = columns else { return None };
    Some(match keys.data_type() {
        DataType::Int16 => keys.as_primitive::<Int16Type>().value(row).into(),
        DataType::Int32 => keys.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => keys.as_primitive::<Int64Type>().value(row),
        _ => return None,
    })
}
