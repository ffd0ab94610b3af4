//! What is a value outside of a column?

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt32Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, StringArray,
    builder::FixedSizeBinaryBuilder,
};
use onlap_pg::{Error, Result};

use crate::Repr;

/// A value in its representation; which type it is of, the context knows.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum<'a> {
    /// NULL
    Null,
    /// [`Repr::Bool`]
    Bool(bool),
    /// [`Repr::Int2`]
    Int2(i16),
    /// [`Repr::Int4`]
    Int4(i32),
    /// [`Repr::Int8`]
    Int8(i64),
    /// [`Repr::Oid`]
    Oid(u32),
    /// [`Repr::Char`]
    Char(u8),
    /// [`Repr::Float4`]
    Float4(f32),
    /// [`Repr::Float8`]
    Float8(f64),
    /// [`Repr::Text`]
    Text(Cow<'a, str>),
    /// [`Repr::Bytes`] and [`Repr::Fixed`]
    Bytes(Cow<'a, [u8]>),
}

impl<'a> Datum<'a> {
    /// A text of its own.
    pub fn text(text: impl Into<String>) -> Datum<'static> {
        Datum::Text(Cow::Owned(text.into()))
    }

    /// Bytes of its own.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Datum<'static> {
        Datum::Bytes(Cow::Owned(bytes.into()))
    }

    /// Whether a column of a representation may have it.
    pub fn is_of(&self, repr: Repr) -> bool {
        match self {
            Datum::Null => true,
            Datum::Bool(_) => repr == Repr::Bool,
            Datum::Char(_) => repr == Repr::Char,
            Datum::Int2(_) => repr == Repr::Int2,
            Datum::Int4(_) => repr == Repr::Int4,
            Datum::Int8(_) => repr == Repr::Int8,
            Datum::Oid(_) => repr == Repr::Oid,
            Datum::Float4(_) => repr == Repr::Float4,
            Datum::Float8(_) => repr == Repr::Float8,
            Datum::Text(_) => repr == Repr::Text,
            Datum::Bytes(bytes) => match repr {
                Repr::Fixed(width) => bytes.len() == width as usize,
                repr => repr == Repr::Bytes,
            },
        }
    }

    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// A copy that borrows nothing.
    pub fn into_owned(self) -> Datum<'static> {
        match self {
            Datum::Null => Datum::Null,
            Datum::Bool(v) => Datum::Bool(v),
            Datum::Int2(v) => Datum::Int2(v),
            Datum::Int4(v) => Datum::Int4(v),
            Datum::Int8(v) => Datum::Int8(v),
            Datum::Oid(v) => Datum::Oid(v),
            Datum::Char(v) => Datum::Char(v),
            Datum::Float4(v) => Datum::Float4(v),
            Datum::Float8(v) => Datum::Float8(v),
            Datum::Text(v) => Datum::Text(Cow::Owned(v.into_owned())),
            Datum::Bytes(v) => Datum::Bytes(Cow::Owned(v.into_owned())),
        }
    }

    /// The bytes that it has outside of itself.
    pub fn size(&self) -> usize {
        match self {
            Datum::Text(text) => text.len(),
            Datum::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
    }

    /// The value in a row of a column.
    ///
    /// # Panics
    /// There is no such row, or the column has another representation.
    pub fn at(array: &'a dyn Array, repr: Repr, row: usize) -> Datum<'a> {
        if array.is_null(row) {
            return Datum::Null;
        }
        match repr {
            Repr::Bool => Datum::Bool(array.as_boolean().value(row)),
            Repr::Int2 => Datum::Int2(array.as_primitive::<Int16Type>().value(row)),
            Repr::Int4 => Datum::Int4(array.as_primitive::<Int32Type>().value(row)),
            Repr::Int8 => Datum::Int8(array.as_primitive::<Int64Type>().value(row)),
            Repr::Oid => Datum::Oid(array.as_primitive::<UInt32Type>().value(row)),
            Repr::Char => Datum::Char(array.as_primitive::<UInt8Type>().value(row)),
            Repr::Float4 => Datum::Float4(array.as_primitive::<Float32Type>().value(row)),
            Repr::Float8 => Datum::Float8(array.as_primitive::<Float64Type>().value(row)),
            Repr::Text => Datum::Text(Cow::Borrowed(array.as_string::<i32>().value(row))),
            Repr::Bytes => Datum::Bytes(Cow::Borrowed(array.as_binary::<i32>().value(row))),
            Repr::Fixed(_) => Datum::Bytes(Cow::Borrowed(array.as_fixed_size_binary().value(row))),
        }
    }

    /// A column of these values.
    ///
    /// # Errors
    /// The values are too large together for one column (`54000`).
    ///
    /// # Panics
    /// A value has another representation.
    pub fn column<'b>(
        repr: Repr,
        values: impl ExactSizeIterator<Item = &'b Datum<'a>> + Clone,
    ) -> Result<ArrayRef>
    where
        'a: 'b,
    {
        use std::sync::Arc;
        macro_rules! fixed {
            ($array:ty, $kind:path) => {
                Arc::new(
                    values
                        .map(|value| match value {
                            Datum::Null => None,
                            $kind(v) => Some(*v),
                            other => unreachable!("{other:?} in a column of {repr:?}"),
                        })
                        .collect::<$array>(),
                ) as ArrayRef
            };
        }
        let bytes: usize = values.clone().map(Datum::size).sum();
        if matches!(repr, Repr::Text | Repr::Bytes) && bytes > i32::MAX as usize {
            return Err(Error::new("54000", "values of a batch are too large together"));
        }
        Ok(match repr {
            Repr::Bool => fixed!(BooleanArray, Datum::Bool),
            Repr::Int2 => fixed!(PrimitiveArray<Int16Type>, Datum::Int2),
            Repr::Int4 => fixed!(PrimitiveArray<Int32Type>, Datum::Int4),
            Repr::Int8 => fixed!(PrimitiveArray<Int64Type>, Datum::Int8),
            Repr::Oid => fixed!(PrimitiveArray<UInt32Type>, Datum::Oid),
            Repr::Char => fixed!(PrimitiveArray<UInt8Type>, Datum::Char),
            Repr::Float4 => fixed!(PrimitiveArray<Float32Type>, Datum::Float4),
            Repr::Float8 => fixed!(PrimitiveArray<Float64Type>, Datum::Float8),
            Repr::Text => Arc::new(
                values
                    .map(|value| match value {
                        Datum::Null => None,
                        Datum::Text(text) => Some(text.as_ref()),
                        other => unreachable!("{other:?} in a column of texts"),
                    })
                    .collect::<StringArray>(),
            ),
            Repr::Bytes => Arc::new(values.map(as_bytes).collect::<BinaryArray>()),
            Repr::Fixed(width) => fixed_column(width, values.map(as_bytes))?,
        })
    }
}

fn as_bytes<'b>(value: &'b Datum<'_>) -> Option<&'b [u8]> {
    match value {
        Datum::Null => None,
        Datum::Bytes(bytes) => Some(bytes.as_ref()),
        other => unreachable!("{other:?} in a column of bytes"),
    }
}

fn fixed_column<'b>(
    width: i32,
    values: impl ExactSizeIterator<Item = Option<&'b [u8]>>,
) -> Result<ArrayRef> {
    let mut builder = FixedSizeBinaryBuilder::with_capacity(values.len(), width);
    for value in values {
        match value {
            Some(bytes) => builder.append_value(bytes).expect("a value has its type's width"),
            None => builder.append_null(),
        }
    }
    let column: FixedSizeBinaryArray = builder.finish();
    Ok(std::sync::Arc::new(column))
}
