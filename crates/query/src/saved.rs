//! How are rows of a few columns written as bytes, while a group waits on disk?
//!
//! Rows come one after another; a row is its number of columns, then of each its kind, whether it is there, and its value.
//! These bytes live as long as a statement's temporary files and are read by the program that wrote them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt32Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, PrimitiveArray, StringArray, new_null_array,
};
use arrow_schema::DataType;
use onlap_kernels::{Datum, Repr, arrow_type};

/// The kinds of columns, by their number in the bytes.
const KINDS: [Repr; 12] = [
    Repr::Bool,
    Repr::Int2,
    Repr::Int4,
    Repr::Int8,
    Repr::Oid,
    Repr::Char,
    Repr::Float4,
    Repr::Float8,
    Repr::Text,
    Repr::Bytes,
    Repr::Fixed(12),
    Repr::Fixed(16),
];

fn kind(array: &ArrayRef) -> usize {
    let ty = array.data_type();
    let found = KINDS.iter().position(|kind| arrow_type(*kind) == *ty);
    found.expect("columns are of the kinds that values have")
}

/// Appends rows of columns.
pub fn save(columns: &[ArrayRef], rows: &[usize], out: &mut Vec<u8>) {
    for row in rows {
        out.extend((columns.len() as u32).to_le_bytes());
        for column in columns {
            out.push(kind(column) as u8);
            let before = out.len();
            out.extend([0; 5]);
            if column.is_null(*row) {
                continue;
            }
            put(column, *row, out);
            let length = (out.len() - before - 5) as u32;
            out[before] = 1;
            out[before + 1..before + 5].copy_from_slice(&length.to_le_bytes());
        }
    }
}

fn put(column: &ArrayRef, row: usize, out: &mut Vec<u8>) {
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
            out.extend(column.as_primitive::<Float32Type>().value(row).to_le_bytes());
        }
        DataType::Float64 => {
            out.extend(column.as_primitive::<Float64Type>().value(row).to_le_bytes());
        }
        DataType::Utf8 => out.extend(column.as_string::<i32>().value(row).as_bytes()),
        DataType::Binary => out.extend(column.as_binary::<i32>().value(row)),
        _ => out.extend(column.as_fixed_size_binary().value(row)),
    }
}

/// The columns of a single row.
pub fn load(bytes: &[u8]) -> Vec<ArrayRef> {
    load_rows(bytes).next().expect("a row was saved")
}

/// The columns of each row, of one row each.
pub fn load_rows(mut bytes: &[u8]) -> impl Iterator<Item = Vec<ArrayRef>> {
    let mut take = move |n: usize| {
        let (first, rest) = bytes.split_at(n);
        bytes = rest;
        (first, rest.is_empty())
    };
    let mut is_at_end = false;
    std::iter::from_fn(move || {
        if is_at_end {
            return None;
        }
        let (width, end) = take(4);
        is_at_end = end;
        let width = u32::from_le_bytes(width.try_into().expect("four bytes"));
        let mut columns = Vec::with_capacity(width as usize);
        for _ in 0..width {
            let kind = KINDS[usize::from(take(1).0[0])];
            let is_there = take(1).0[0] == 1;
            let (length, end) = take(4);
            let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
            is_at_end = end;
            if !is_there {
                columns.push(new_null_array(&arrow_type(kind), 1));
                continue;
            }
            let (value, end) = take(length);
            is_at_end = end;
            columns.push(get(kind, value));
        }
        Some(columns)
    })
}

fn get(kind: Repr, value: &[u8]) -> ArrayRef {
    macro_rules! number {
        ($ty:ty, $native:ty) => {
            Arc::new(PrimitiveArray::<$ty>::from_iter_values([<$native>::from_le_bytes(
                value.try_into().expect("a value has its type's width"),
            )]))
        };
    }
    match kind {
        Repr::Bool => Arc::new(BooleanArray::from(vec![value[0] == 1])),
        Repr::Int2 => number!(Int16Type, i16),
        Repr::Int4 => number!(Int32Type, i32),
        Repr::Int8 => number!(Int64Type, i64),
        Repr::Oid => number!(UInt32Type, u32),
        Repr::Char => number!(UInt8Type, u8),
        Repr::Float4 => number!(Float32Type, f32),
        Repr::Float8 => number!(Float64Type, f64),
        Repr::Text => {
            let text = std::str::from_utf8(value).expect("a text was saved");
            Arc::new(StringArray::from(vec![text]))
        }
        Repr::Bytes => Arc::new(BinaryArray::from(vec![value])),
        Repr::Fixed(_) => {
            let value = Datum::bytes(value);
            Datum::column(kind, [value].iter()).expect("one value fits a column")
        }
    }
}
