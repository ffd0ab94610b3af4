//! Which columns of the engine are Arrow's already, except for their name?
//!
//! Numbers of eight bytes, moments and texts lie in the engine's batches as Arrow has them, or nearly so: their memory is handed
//! over, and at most changed in its place. All others are made by [`super::out`], which copies. A long answer is half scan and
//! half this, so each pass over a column that is not made counts.
//!
//! Pure.

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, PrimitiveArray, StringArray};
use arrow_buffer::{Buffer, OffsetBuffer};
use onlap::{BytesVec, Column, DataType, Vector, convert};

use super::Form;
use crate::columns::{self, ColumnType};
use crate::error::SqlError;
use crate::query::tables::nulls;
use crate::types::oid;

/// Bytes of a column that offsets of 32 bits reach.
pub(super) const BYTES_MOST: usize = i32::MAX as usize;

/// Fails where texts or bytes of a column are more than Arrow's offsets can tell: 2 GiB. Values are 16 MiB at most and batches have some
/// thousand rows, so this takes a table of very long values.
///
/// # Errors
/// `54000`.
pub(super) fn must_fit(columns: &[Column], bytes_most: usize) -> Result<(), SqlError> {
    let is_long = |column: &Column| match &column.data {
        Vector::Bytes(bytes) => bytes.data.len() > bytes_most,
        _ => false,
    };
    if columns.iter().any(is_long) {
        let text = "texts of one batch of rows are longer than 2 GiB together";
        let hint = "Read fewer rows at a time, or parts of the values.";
        return Err(SqlError::new("54000", text).hint(hint));
    }
    Ok(())
}

/// The column as Arrow has it, or itself where it has to be made.
pub(super) fn moved(ty: ColumnType, form: &Form, column: Column) -> Result<ArrayRef, Column> {
    if ty.form != columns::Form::Own {
        return Err(column);
    }
    let valid = nulls(&column);
    match (ty.engine, form, column.data) {
        (DataType::Int8, Form::Same, Vector::Int(values)) if ty.pg.oid == oid::INT8 => {
            Ok(numbers::<Int64Type>(values, valid))
        }
        (DataType::Float8, Form::Same, Vector::Int(values)) if ty.pg.oid == oid::FLOAT8 => {
            // It takes the place of what it is made of.
            let values = values.into_iter().map(convert::f64_of).collect();
            Ok(numbers::<Float64Type>(values, valid))
        }
        // Both count from 1970; from 2000 on, steps do.
        (DataType::Timestamp | DataType::Timestamptz, Form::Moment(zoned), Vector::Int(values)) => {
            let made = PrimitiveArray::<TimestampMicrosecondType>::new(values.into(), valid);
            Ok(Arc::new(made.with_timezone_opt(zoned.then_some("UTC"))))
        }
        (DataType::Text | DataType::Varchar(_), Form::Same, Vector::Bytes(bytes))
            if matches!(ty.pg.oid, oid::TEXT | oid::VARCHAR) =>
        {
            Ok(texts(bytes, valid))
        }
        (_, _, data) => Err(Column { data, nulls: column.nulls }),
    }
}

fn numbers<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    valid: Option<arrow_buffer::NullBuffer>,
) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(values.into(), valid))
}

fn texts(bytes: BytesVec, valid: Option<arrow_buffer::NullBuffer>) -> ArrayRef {
    assert!(bytes.data.len() <= BYTES_MOST, "it was looked at before");
    let offsets: Vec<i32> = bytes.offsets.into_iter().map(|offset| offset as i32).collect();
    let (offsets, data) = (OffsetBuffer::new(offsets.into()), Buffer::from_vec(bytes.data));
    match StringArray::try_new(offsets.clone(), data.clone(), valid.clone()) {
        Ok(texts) => Arc::new(texts),
        // Texts are checked when they are written: one that is none is damage, and empty here.
        Err(_) => {
            let is_null = |row: usize| valid.as_ref().is_some_and(|valid| valid.is_null(row));
            let text = |(row, ends): (usize, &[i32])| {
                let bytes = &data[ends[0] as usize..ends[1] as usize];
                (!is_null(row)).then(|| std::str::from_utf8(bytes).unwrap_or_default())
            };
            Arc::new(StringArray::from_iter(offsets.windows(2).enumerate().map(text)))
        }
    }
}
