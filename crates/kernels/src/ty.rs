//! Which type of Rust does a kernel get for a type, and how does it come out of a column and into one?
//!
//! A [`Ty`] is a marker. A kernel of `Int4` and `Text` is a function of `i32` and `&str`; one of `Null<Int4>` is asked for
//! NULLs too and gets an `Option<i32>`. As a result `Null<T>` lets a kernel give NULL.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, PrimitiveBuilder, StringBuilder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt32Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, StringArray,
};
use onlap_pg::value::interval;
use onlap_pg::value::numeric::Numeric;
use onlap_pg::{Error, Result};

/// A type as kernels see it.
pub trait Ty: 'static {
    /// A column of it.
    type Column<'a>;
    /// A value that a kernel gets.
    type Value<'a>;
    /// A value that a kernel gives.
    type Owned;
    /// What collects results.
    type Builder;
    /// Whether a kernel is called for NULL.
    const NULLS: bool = false;

    /// The column that an array is.
    ///
    /// # Panics
    /// The array is of another representation.
    fn column(array: &ArrayRef) -> Self::Column<'_>;
    /// The value of a row; not asked for NULL unless [`Ty::NULLS`].
    fn get<'a>(column: &Self::Column<'a>, row: usize) -> Self::Value<'a>;
    /// Begins a column of results.
    fn builder(rows: usize) -> Self::Builder;
    /// Adds a result.
    ///
    /// # Errors
    /// The results are too large together for one column (`54000`).
    fn push(builder: &mut Self::Builder, value: Self::Owned) -> Result<()>;
    /// Adds NULL.
    fn push_null(builder: &mut Self::Builder);
    /// Bytes of results of any length that are collected so far; 0 of types whose values have one length.
    #[inline]
    fn held(builder: &Self::Builder) -> usize {
        let _ = builder;
        0
    }
    /// The column.
    fn finish(builder: Self::Builder) -> ArrayRef;
}

macro_rules! primitives {
    ($($(#[$doc:meta])* $name:ident: $native:ty, $arrow:ty;)*) => {
        $($(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl Ty for $name {
            type Column<'a> = &'a PrimitiveArray<$arrow>;
            type Value<'a> = $native;
            type Owned = $native;
            type Builder = PrimitiveBuilder<$arrow>;
            fn column(array: &ArrayRef) -> Self::Column<'_> {
                array.as_primitive()
            }
            #[inline]
            fn get<'a>(column: &Self::Column<'a>, row: usize) -> Self::Value<'a> {
                column.value(row)
            }
            fn builder(rows: usize) -> Self::Builder {
                PrimitiveBuilder::with_capacity(rows)
            }
            #[inline]
            fn push(builder: &mut Self::Builder, value: $native) -> Result<()> {
                builder.append_value(value);
                Ok(())
            }
            fn push_null(builder: &mut Self::Builder) {
                builder.append_null();
            }
            fn finish(mut builder: Self::Builder) -> ArrayRef {
                Arc::new(builder.finish())
            }
        })*
    };
}

primitives! {
    /// int2
    Int2: i16, Int16Type;
    /// int4
    Int4: i32, Int32Type;
    /// int8, money
    Int8: i64, Int64Type;
    /// oid, reg*, xid
    OidTy: u32, UInt32Type;
    /// "char"
    Char: u8, UInt8Type;
    /// float4
    Float4: f32, Float32Type;
    /// float8
    Float8: f64, Float64Type;
    /// date: days from 2000-01-01; the ends of the range are infinities.
    Date: i32, Int32Type;
    /// timestamp and timestamptz: microseconds from 2000-01-01; the ends of the range are infinities.
    Timestamp: i64, Int64Type;
    /// time: microseconds from midnight.
    Time: i64, Int64Type;
}

/// boolean
#[derive(Debug)]
pub struct Bool;

impl Ty for Bool {
    type Column<'a> = &'a BooleanArray;
    type Value<'a> = bool;
    type Owned = bool;
    type Builder = BooleanBuilder;
    fn column(array: &ArrayRef) -> &BooleanArray {
        array.as_boolean()
    }
    #[inline]
    fn get<'a>(column: &Self::Column<'a>, row: usize) -> Self::Value<'a> {
        column.value(row)
    }
    fn builder(rows: usize) -> BooleanBuilder {
        BooleanBuilder::with_capacity(rows)
    }
    #[inline]
    fn push(builder: &mut BooleanBuilder, value: bool) -> Result<()> {
        builder.append_value(value);
        Ok(())
    }
    fn push_null(builder: &mut BooleanBuilder) {
        builder.append_null();
    }
    fn finish(mut builder: BooleanBuilder) -> ArrayRef {
        Arc::new(builder.finish())
    }
}

/// A column has 32-bit offsets.
fn fits(held: usize, more: usize) -> Result<()> {
    match held.checked_add(more) {
        Some(bytes) if bytes <= i32::MAX as usize => Ok(()),
        _ => Err(Error::new("54000", "values of a batch are too large together")),
    }
}

/// text, varchar, name, json; padded char(n)
#[derive(Debug)]
pub struct Text;

impl Ty for Text {
    type Column<'a> = &'a StringArray;
    type Value<'a> = &'a str;
    type Owned = String;
    type Builder = StringBuilder;
    fn column(array: &ArrayRef) -> &StringArray {
        array.as_string()
    }
    #[inline]
    fn get<'a>(column: &Self::Column<'a>, row: usize) -> &'a str {
        column.value(row)
    }
    fn builder(rows: usize) -> StringBuilder {
        StringBuilder::with_capacity(rows, rows * 8)
    }
    fn push(builder: &mut StringBuilder, value: String) -> Result<()> {
        fits(builder.values_slice().len(), value.len())?;
        builder.append_value(value);
        Ok(())
    }
    fn push_null(builder: &mut StringBuilder) {
        builder.append_null();
    }
    #[inline]
    fn held(builder: &StringBuilder) -> usize {
        builder.values_slice().len()
    }
    fn finish(mut builder: StringBuilder) -> ArrayRef {
        Arc::new(builder.finish())
    }
}

/// bytea, and every type whose values are bytes in a form of their own.
#[derive(Debug)]
pub struct Bytes;

impl Ty for Bytes {
    type Column<'a> = &'a BinaryArray;
    type Value<'a> = &'a [u8];
    type Owned = Vec<u8>;
    type Builder = BinaryBuilder;
    fn column(array: &ArrayRef) -> &BinaryArray {
        array.as_binary()
    }
    #[inline]
    fn get<'a>(column: &Self::Column<'a>, row: usize) -> &'a [u8] {
        column.value(row)
    }
    fn builder(rows: usize) -> BinaryBuilder {
        BinaryBuilder::with_capacity(rows, rows * 8)
    }
    fn push(builder: &mut BinaryBuilder, value: Vec<u8>) -> Result<()> {
        fits(builder.values_slice().len(), value.len())?;
        builder.append_value(value);
        Ok(())
    }
    fn push_null(builder: &mut BinaryBuilder) {
        builder.append_null();
    }
    #[inline]
    fn held(builder: &BinaryBuilder) -> usize {
        builder.values_slice().len()
    }
    fn finish(mut builder: BinaryBuilder) -> ArrayRef {
        Arc::new(builder.finish())
    }
}

/// numeric
#[derive(Debug)]
pub struct Num;

impl Ty for Num {
    type Column<'a> = &'a BinaryArray;
    type Value<'a> = Numeric;
    type Owned = Numeric;
    type Builder = BinaryBuilder;
    fn column(array: &ArrayRef) -> &BinaryArray {
        array.as_binary()
    }
    fn get<'a>(column: &Self::Column<'a>, row: usize) -> Self::Value<'a> {
        Numeric::load(column.value(row))
    }
    fn builder(rows: usize) -> BinaryBuilder {
        BinaryBuilder::with_capacity(rows, rows * 12)
    }
    fn push(builder: &mut BinaryBuilder, value: Numeric) -> Result<()> {
        let mut bytes = Vec::with_capacity(16);
        value.store(&mut bytes);
        Bytes::push(builder, bytes)
    }
    fn push_null(builder: &mut BinaryBuilder) {
        builder.append_null();
    }
    #[inline]
    fn held(builder: &BinaryBuilder) -> usize {
        builder.values_slice().len()
    }
    fn finish(mut builder: BinaryBuilder) -> ArrayRef {
        Arc::new(builder.finish())
    }
}

/// A type whose values are so many bytes.
pub trait FixedForm: 'static {
    /// A value.
    type Value;
    /// Its bytes.
    const WIDTH: usize;
    /// From bytes.
    fn load(bytes: &[u8]) -> Self::Value;
    /// To bytes.
    fn store(value: &Self::Value, out: &mut [u8]);
}

/// A type of fixed width that is no number.
#[derive(Debug)]
pub struct Fixed<F>(PhantomData<F>);

impl<F: FixedForm> Ty for Fixed<F> {
    type Column<'a> = &'a FixedSizeBinaryArray;
    type Value<'a> = F::Value;
    type Owned = F::Value;
    type Builder = FixedSizeBinaryBuilder;
    fn column(array: &ArrayRef) -> &FixedSizeBinaryArray {
        array.as_fixed_size_binary()
    }
    fn get<'a>(column: &Self::Column<'a>, row: usize) -> Self::Value<'a> {
        F::load(column.value(row))
    }
    fn builder(rows: usize) -> FixedSizeBinaryBuilder {
        FixedSizeBinaryBuilder::with_capacity(rows, F::WIDTH as i32)
    }
    fn push(builder: &mut FixedSizeBinaryBuilder, value: F::Value) -> Result<()> {
        let mut bytes = [0; 16];
        let bytes = &mut bytes[..F::WIDTH];
        F::store(&value, bytes);
        builder.append_value(bytes).expect("a value has its type's width");
        Ok(())
    }
    fn push_null(builder: &mut FixedSizeBinaryBuilder) {
        builder.append_null();
    }
    fn finish(mut builder: FixedSizeBinaryBuilder) -> ArrayRef {
        Arc::new(builder.finish())
    }
}

/// The form of uuid.
#[derive(Debug)]
pub struct UuidForm;

impl FixedForm for UuidForm {
    type Value = [u8; 16];
    const WIDTH: usize = 16;
    fn load(bytes: &[u8]) -> [u8; 16] {
        bytes.try_into().expect("a uuid has 16 bytes")
    }
    fn store(value: &[u8; 16], out: &mut [u8]) {
        out.copy_from_slice(value);
    }
}

/// The form of interval: microseconds, days, months, big-endian as interval_send has them.
#[derive(Debug)]
pub struct IntervalForm;

impl FixedForm for IntervalForm {
    type Value = interval::Interval;
    const WIDTH: usize = 16;
    fn load(bytes: &[u8]) -> interval::Interval {
        interval::Interval::recv(bytes).expect("an interval has 16 bytes")
    }
    fn store(value: &interval::Interval, out: &mut [u8]) {
        out.copy_from_slice(&value.send());
    }
}

/// The form of timetz: microseconds from midnight, seconds west of UTC, big-endian as timetz_send has them.
#[derive(Debug)]
pub struct TimeTzForm;

impl FixedForm for TimeTzForm {
    type Value = (i64, i32);
    const WIDTH: usize = 12;
    fn load(bytes: &[u8]) -> (i64, i32) {
        let (time, zone) = bytes.split_at(8);
        let time = i64::from_be_bytes(time.try_into().expect("a timetz has 12 bytes"));
        (time, i32::from_be_bytes(zone.try_into().expect("a timetz has 12 bytes")))
    }
    fn store(value: &(i64, i32), out: &mut [u8]) {
        out[..8].copy_from_slice(&value.0.to_be_bytes());
        out[8..].copy_from_slice(&value.1.to_be_bytes());
    }
}

/// uuid
pub type Uuid = Fixed<UuidForm>;
/// interval
pub type Interval = Fixed<IntervalForm>;
/// timetz: microseconds from midnight, seconds west of UTC.
pub type TimeTz = Fixed<TimeTzForm>;

/// A type with NULL.
#[derive(Debug)]
pub struct Null<T>(PhantomData<T>);

impl<T: Ty> Ty for Null<T> {
    type Column<'a> = (T::Column<'a>, &'a ArrayRef);
    type Value<'a> = Option<T::Value<'a>>;
    type Owned = Option<T::Owned>;
    type Builder = T::Builder;
    const NULLS: bool = true;
    fn column(array: &ArrayRef) -> Self::Column<'_> {
        (T::column(array), array)
    }
    fn get<'a>(column: &Self::Column<'a>, row: usize) -> Option<T::Value<'a>> {
        (!column.1.is_null(row)).then(|| T::get(&column.0, row))
    }
    fn builder(rows: usize) -> T::Builder {
        T::builder(rows)
    }
    fn push(builder: &mut T::Builder, value: Option<T::Owned>) -> Result<()> {
        match value {
            Some(value) => T::push(builder, value),
            None => {
                T::push_null(builder);
                Ok(())
            }
        }
    }
    fn push_null(builder: &mut T::Builder) {
        T::push_null(builder);
    }
    #[inline]
    fn held(builder: &T::Builder) -> usize {
        T::held(builder)
    }
    fn finish(builder: T::Builder) -> ArrayRef {
        T::finish(builder)
    }
}
