//! How do the engine's rows become a plan's batches, and back?

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array,
    Int16Array, Int32Array, Int64Array, StringArray, Time64MicrosecondArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use onlap::{Column, DataType, Numeric, Value, Vector, convert};

use super::FREE_SCALE;
use super::cell::Cell;

/// A column of a plan's batch; copies the values, but for int8 that nobody else has.
pub fn column_to_arrow(ty: DataType, column: &Column) -> ArrayRef {
    let n = column.len();
    let nulls = (0..n)
        .any(|i| column.is_null(i))
        .then(|| NullBuffer::from_iter((0..n).map(|i| !column.is_null(i))));
    match &column.data {
        Vector::Int(v) => ints(ty, v, nulls),
        Vector::Wide(v) => match ty {
            DataType::Numeric(Some((p, s))) => decimals(v.clone(), nulls, p, s),
            _ => {
                let text = (0..n).map(|i| match Cell::of_column(ty, column, i) {
                    Cell::Uuid(u) => Some(uuid_text(u)),
                    _ => None,
                });
                Arc::new(StringArray::from_iter(text))
            }
        },
        Vector::Numeric(mantissa, scale) => {
            let fixed = mantissa.iter().zip(scale).map(|(&mantissa, &scale)| {
                Numeric { mantissa, scale }.rescale(FREE_SCALE).map_or(0, |n| n.mantissa)
            });
            decimals(fixed.collect(), nulls, 38, FREE_SCALE)
        }
        Vector::Bytes(bytes) => {
            let offsets: Vec<i32> = bytes.offsets.iter().map(|o| *o as i32).collect();
            let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
            let data = Buffer::from(bytes.data.as_slice());
            match ty {
                DataType::Bytea => Arc::new(BinaryArray::new(offsets, data, nulls)),
                _ => Arc::new(StringArray::new(offsets, data, nulls)),
            }
        }
    }
}

fn ints(ty: DataType, v: &[i64], nulls: Option<NullBuffer>) -> ArrayRef {
    match ty {
        DataType::Bool => {
            let values = v.iter().map(|v| *v != 0).collect();
            Arc::new(BooleanArray::new(values, nulls))
        }
        DataType::Int2 => {
            let values: Vec<i16> = v.iter().map(|v| *v as i16).collect();
            Arc::new(Int16Array::new(values.into(), nulls))
        }
        DataType::Int4 => {
            let values: Vec<i32> = v.iter().map(|v| *v as i32).collect();
            Arc::new(Int32Array::new(values.into(), nulls))
        }
        DataType::Date => {
            let values: Vec<i32> = v.iter().map(|v| *v as i32).collect();
            Arc::new(Date32Array::new(values.into(), nulls))
        }
        DataType::Float4 => {
            let values: Vec<f32> = v.iter().map(|v| convert::f64_of(*v) as f32).collect();
            Arc::new(Float32Array::new(values.into(), nulls))
        }
        DataType::Float8 => {
            let values: Vec<f64> = v.iter().map(|v| convert::f64_of(*v)).collect();
            Arc::new(Float64Array::new(values.into(), nulls))
        }
        DataType::Time => Arc::new(Time64MicrosecondArray::new(v.to_vec().into(), nulls)),
        DataType::Timestamp => Arc::new(TimestampMicrosecondArray::new(v.to_vec().into(), nulls)),
        DataType::Timestamptz => Arc::new(
            TimestampMicrosecondArray::new(v.to_vec().into(), nulls).with_timezone("+00:00"),
        ),
        _ => Arc::new(Int64Array::new(v.to_vec().into(), nulls)),
    }
}

fn decimals(v: Vec<i128>, nulls: Option<NullBuffer>, p: u8, s: u8) -> ArrayRef {
    let array = Decimal128Array::new(v.into(), nulls);
    match array.clone().with_precision_and_scale(p, s as i8) {
        Ok(array) => Arc::new(array),
        Err(_) => Arc::new(array),
    }
}

fn uuid_text(bytes: [u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    convert::format_text(DataType::Uuid, &Value::Uuid(bytes), &mut text);
    text
}
