//! How do a program's columns become those of a table?
//!
//! Whole numbers, floats, texts, bytes, dates and moments go over as vectors; what is left goes value by value, as COPY
//! takes it: a text may stand for a value of any type. The engine checks what comes out as it checks all batches.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, Time64MicrosecondType, TimestampMicrosecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, OffsetSizeTrait, RecordBatch};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType as Arrow, TimeUnit};
use onlap::{BytesVec, Column, DataType, NullMask, Numeric, Value, Vector, convert};
use onlap_pg::value::datetime;

use super::{EPOCH_DAYS, EPOCH_US};
use crate::columns::ColumnType;
use crate::error::{Result, SqlError, state};
use crate::query::Reader;

/// Rows that are taken at once, and their bytes: what is made of them is held next to them.
const ROWS: usize = 1 << 16;
const BYTES: usize = 16 << 20;

/// Rows of a batch in pieces of moderate size.
pub fn pieces(batch: &RecordBatch) -> impl Iterator<Item = RecordBatch> + '_ {
    let rows = batch.num_rows();
    let bytes: usize = batch.columns().iter().map(|column| column.get_array_memory_size()).sum();
    // A slice of a larger batch counts with all of that, so that pieces are rather too small.
    let each =
        (rows as u128 * BYTES as u128 / bytes.max(1) as u128).clamp(1, ROWS as u128) as usize;
    let each = each.max(rows.min(1024));
    (0..rows).step_by(each).map(move |from| batch.slice(from, each.min(rows - from)))
}

/// The values of an array as a column of a table keeps them.
///
/// # Errors
/// `42804`: there is no way from the one type to the other. A value is none of the column's type.
pub fn column(reader: &Reader, ty: ColumnType, name: &str, array: &dyn Array) -> Result<Column> {
    if ty.is_domain() && array.null_count() > 0 {
        reader.keep_null(ty)?;
    }
    if ty.is_native()
        && let Some(made) = whole(ty.engine, array)?
    {
        must_be_moments(ty.engine, &made)?;
        return Ok(made);
    }
    let mut column = Column::new(ty.engine.physical());
    for row in 0..array.len() {
        let value = match array.is_null(row) {
            true => Value::Null,
            false => value(reader, ty, name, array, row)?,
        };
        convert::push_value(ty.engine, &value, &mut column, name)?;
    }
    Ok(column)
}

/// Dates and timestamps end where PostgreSQL's do; both infinities are among them.
fn must_be_moments(ty: DataType, column: &Column) -> Result<()> {
    let (first, end, epoch, none) = match ty {
        DataType::Date => {
            let infinities = [i64::from(i32::MIN), i64::from(i32::MAX)];
            (datetime::MIN_DATE.into(), datetime::END_DATE.into(), EPOCH_DAYS.into(), infinities)
        }
        DataType::Timestamp | DataType::Timestamptz => {
            let infinities = [i64::MIN, i64::MAX];
            (datetime::MIN_TIMESTAMP, datetime::END_TIMESTAMP, EPOCH_US, infinities)
        }
        _ => return Ok(()),
    };
    let Vector::Int(values) = &column.data else { return Ok(()) };
    let fits = |value: &i64| {
        (first + epoch..end.saturating_add(epoch)).contains(value) || none.contains(value)
    };
    match values.iter().all(fits) {
        true => Ok(()),
        false => Err(SqlError::new("22008", format!("{ty} out of range"))),
    }
}

/// All values at once, where they lie in the array as in the column.
pub(super) fn whole(ty: DataType, array: &dyn Array) -> Result<Option<Column>> {
    let data = match (ty, array.data_type()) {
        (DataType::Int2 | DataType::Int4 | DataType::Int8, Arrow::Int8) => {
            numbers::<Int8Type>(array, i64::from)
        }
        (DataType::Int2 | DataType::Int4 | DataType::Int8, Arrow::Int16) => {
            numbers::<Int16Type>(array, i64::from)
        }
        (DataType::Int2 | DataType::Int4 | DataType::Int8, Arrow::Int32) => {
            numbers::<Int32Type>(array, i64::from)
        }
        (DataType::Int2 | DataType::Int4 | DataType::Int8, Arrow::Int64) => {
            numbers::<Int64Type>(array, |v| v)
        }
        (DataType::Int2 | DataType::Int4 | DataType::Int8, Arrow::UInt8) => {
            numbers::<UInt8Type>(array, i64::from)
        }
        (DataType::Int2 | DataType::Int4 | DataType::Int8, Arrow::UInt16) => {
            numbers::<UInt16Type>(array, i64::from)
        }
        (DataType::Int2 | DataType::Int4 | DataType::Int8, Arrow::UInt32) => {
            numbers::<UInt32Type>(array, i64::from)
        }
        (DataType::Float8, Arrow::Float64) => numbers::<Float64Type>(array, convert::order_f64),
        (DataType::Float8 | DataType::Float4, Arrow::Float32) => {
            numbers::<Float32Type>(array, |v| convert::order_f64(f64::from(v)))
        }
        (DataType::Date, Arrow::Date32) => numbers::<Date32Type>(array, i64::from),
        (DataType::Time, Arrow::Time64(TimeUnit::Microsecond)) => {
            numbers::<Time64MicrosecondType>(array, |v| v)
        }
        (DataType::Timestamp, Arrow::Timestamp(TimeUnit::Microsecond, None))
        | (DataType::Timestamptz, Arrow::Timestamp(TimeUnit::Microsecond, Some(_))) => {
            numbers::<TimestampMicrosecondType>(array, |v| v)
        }
        (DataType::Bool, Arrow::Boolean) => {
            let values = array.as_boolean();
            let one = |row: usize| i64::from(values.is_valid(row) && values.value(row));
            Vector::Int((0..values.len()).map(one).collect())
        }
        (DataType::Text | DataType::Varchar(_) | DataType::Folded, Arrow::Utf8) => {
            let values = array.as_string::<i32>();
            bytes(values.offsets(), values.value_data(), values.nulls())?
        }
        (DataType::Text | DataType::Varchar(_) | DataType::Folded, Arrow::LargeUtf8) => {
            let values = array.as_string::<i64>();
            bytes(values.offsets(), values.value_data(), values.nulls())?
        }
        (DataType::Text | DataType::Varchar(_) | DataType::Folded, Arrow::Utf8View) => {
            let values = array.as_string_view();
            strings(values.iter().map(|text| text.unwrap_or_default().as_bytes()))?
        }
        (DataType::Bytea, Arrow::Binary) => {
            let values = array.as_binary::<i32>();
            bytes(values.offsets(), values.value_data(), values.nulls())?
        }
        _ => return Ok(None),
    };
    Ok(Some(Column { data, nulls: array.nulls().filter(|n| n.null_count() > 0).map(mask) }))
}

/// Numbers as the engine has them, zero where there is none.
fn numbers<T: ArrowPrimitiveType>(array: &dyn Array, make: impl Fn(T::Native) -> i64) -> Vector {
    let values = array.as_primitive::<T>();
    let mut made: Vec<i64> = values.values().iter().map(|v| make(*v)).collect();
    if let Some(nulls) = values.nulls().filter(|nulls| nulls.null_count() > 0) {
        made.iter_mut()
            .enumerate()
            .filter(|(row, _)| nulls.is_null(*row))
            .for_each(|(_, v)| *v = 0);
    }
    Vector::Int(made)
}

/// Strings as the engine has them, empty where there is none.
fn bytes<O: OffsetSizeTrait>(
    offsets: &OffsetBuffer<O>,
    data: &[u8],
    nulls: Option<&NullBuffer>,
) -> Result<Vector> {
    let at = |row: usize| offsets[row].as_usize();
    let rows = offsets.len() - 1;
    let is_hollow =
        |nulls: &NullBuffer| (0..rows).all(|row| nulls.is_valid(row) || at(row) == at(row + 1));
    if !nulls.is_none_or(is_hollow) {
        let one = |row| nulls.is_none_or(|nulls| nulls.is_valid(row)).then(|| at(row)..at(row + 1));
        return strings((0..rows).map(|row| one(row).map_or(&[][..], |range| &data[range])));
    }
    let (from, to) = (at(0), at(rows));
    must_fit(to - from)?;
    // Offsets of an array rise.
    let offsets = offsets.iter().map(|offset| (offset.as_usize() - from) as u32).collect();
    Ok(Vector::Bytes(BytesVec { offsets, data: data[from..to].to_vec() }))
}

/// Strings one by one.
fn strings<'a>(all: impl Iterator<Item = &'a [u8]> + Clone) -> Result<Vector> {
    must_fit(all.clone().map(<[u8]>::len).sum())?;
    let mut made = BytesVec::default();
    all.for_each(|one| made.push(one));
    Ok(Vector::Bytes(made))
}

/// Offsets of the engine's columns have 32 bits.
fn must_fit(bytes: usize) -> Result<()> {
    match u32::try_from(bytes) {
        Ok(_) => Ok(()),
        Err(_) => Err(SqlError::new(state::TOO_LARGE, "values of a batch are too long together")),
    }
}

/// Which rows are NULL.
fn mask(nulls: &NullBuffer) -> NullMask {
    let mut made = NullMask::none(nulls.len());
    let chunks = nulls.inner().bit_chunks();
    let words = chunks.iter_padded();
    for (to, valid) in made.words.iter_mut().zip(words) {
        *to = !valid;
    }
    let rest = nulls.len() % 64;
    if let (Some(last), 1..) = (made.words.last_mut(), rest) {
        *last &= (1 << rest) - 1;
    }
    made
}

/// One value, as a column of a type keeps it.
fn value(
    reader: &Reader,
    ty: ColumnType,
    name: &str,
    array: &dyn Array,
    row: usize,
) -> Result<Value> {
    let value = one(array, row).ok_or_else(|| {
        let text = format!(
            "column \"{name}\" is of type {} but its values are Arrow's {}",
            ty.shown(),
            array.data_type()
        );
        SqlError::new(state::MISMATCH, text)
    })?;
    let fits = matches!(
        (&value, ty.engine),
        (Value::Text(_), _)
            | (Value::Bytes(_), DataType::Bytea)
            | (Value::Uuid(_), DataType::Uuid)
            | (Value::Bool(_), DataType::Bool)
            | (Value::Int(_), DataType::Int2 | DataType::Int4 | DataType::Int8)
            | (Value::Int(_) | Value::Float(_), DataType::Float4 | DataType::Float8)
            | (Value::Int(_) | Value::Numeric(_), DataType::Numeric(_))
            | (Value::Date(_), DataType::Date)
            | (Value::Time(_), DataType::Time)
            | (Value::Timestamp(_), DataType::Timestamp | DataType::Timestamptz)
    );
    match value {
        Value::Text(text) if !is_text(ty) => reader.column_value(ty, &text),
        value if ty.is_native() && fits => Ok(value),
        // What is of another type goes as the text that PostgreSQL has of it.
        value => {
            let own = of_value(&value);
            let mut text = String::new();
            convert::format_text(own, &value, &mut text);
            reader.column_value(ty, &text)
        }
    }
}

/// Whether a text is a value as it is; the engine checks its length and characters.
fn is_text(ty: ColumnType) -> bool {
    let texts = |ty| matches!(ty, DataType::Text | DataType::Varchar(_) | DataType::Char(_));
    ty.is_native() && (texts(ty.engine) || matches!(ty.engine, DataType::Json | DataType::Folded))
}

/// The engine's type that a value has by itself.
fn of_value(value: &Value) -> DataType {
    match value {
        Value::Null | Value::Text(_) => DataType::Text,
        Value::Bool(_) => DataType::Bool,
        Value::Int(_) => DataType::Int8,
        Value::Float(_) => DataType::Float8,
        Value::Numeric(_) => DataType::Numeric(None),
        Value::Bytes(_) => DataType::Bytea,
        Value::Uuid(_) => DataType::Uuid,
        Value::Date(_) => DataType::Date,
        Value::Time(_) => DataType::Time,
        Value::Timestamp(_) => DataType::Timestamp,
    }
}

/// A value as PostgreSQL reads it; `None` for NULL.
///
/// # Errors
/// `42804`: no column takes values of this type.
pub fn text(array: &dyn Array, row: usize) -> Result<Option<String>> {
    if array.is_null(row) {
        return Ok(None);
    }
    let value = one(array, row).ok_or_else(|| {
        let text = format!("no column takes Arrow's {}", array.data_type());
        SqlError::new(state::MISMATCH, text)
    })?;
    let mut text = String::new();
    convert::format_text(of_value(&value), &value, &mut text);
    Ok(Some(text))
}

/// One value of an array that is not NULL; `None` for arrays of types that no column takes.
fn one(array: &dyn Array, row: usize) -> Option<Value> {
    macro_rules! int {
        ($ty:ty) => {
            Value::Int(i64::from(array.as_primitive::<$ty>().value(row)))
        };
    }
    Some(match array.data_type() {
        Arrow::Boolean => Value::Bool(array.as_boolean().value(row)),
        Arrow::Int8 => int!(Int8Type),
        Arrow::Int16 => int!(Int16Type),
        Arrow::Int32 => int!(Int32Type),
        Arrow::Int64 => int!(Int64Type),
        Arrow::UInt8 => int!(UInt8Type),
        Arrow::UInt16 => int!(UInt16Type),
        Arrow::UInt32 => int!(UInt32Type),
        Arrow::UInt64 => {
            let number = array.as_primitive::<UInt64Type>().value(row);
            match i64::try_from(number) {
                Ok(number) => Value::Int(number),
                Err(_) => Value::Numeric(Numeric { mantissa: i128::from(number), scale: 0 }),
            }
        }
        Arrow::Float32 => Value::Float(f64::from(array.as_primitive::<Float32Type>().value(row))),
        Arrow::Float64 => Value::Float(array.as_primitive::<Float64Type>().value(row)),
        Arrow::Decimal128(_, scale) => {
            let units = array.as_primitive::<Decimal128Type>().value(row);
            decimal(units, *scale)?
        }
        Arrow::Utf8 => Value::Text(array.as_string::<i32>().value(row).to_owned()),
        Arrow::LargeUtf8 => Value::Text(array.as_string::<i64>().value(row).to_owned()),
        Arrow::Utf8View => Value::Text(array.as_string_view().value(row).to_owned()),
        Arrow::BinaryView => Value::Bytes(array.as_binary_view().value(row).to_vec()),
        Arrow::Binary => Value::Bytes(array.as_binary::<i32>().value(row).to_vec()),
        Arrow::LargeBinary => Value::Bytes(array.as_binary::<i64>().value(row).to_vec()),
        Arrow::FixedSizeBinary(width) => {
            let bytes = array.as_fixed_size_binary().value(row);
            match <[u8; 16]>::try_from(bytes) {
                Ok(uuid) if *width == 16 => Value::Uuid(uuid),
                _ => Value::Bytes(bytes.to_vec()),
            }
        }
        Arrow::Date32 => Value::Date(array.as_primitive::<Date32Type>().value(row)),
        Arrow::Time64(TimeUnit::Microsecond) => {
            Value::Time(array.as_primitive::<Time64MicrosecondType>().value(row))
        }
        Arrow::Timestamp(TimeUnit::Microsecond, _) => {
            Value::Timestamp(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        Arrow::List(_) => {
            let items = array.as_list::<i32>().value(row);
            Value::Text(array_text(&*items)?)
        }
        _ => return None,
    })
}

/// A decimal; `None` for one that has more digits than the engine's.
fn decimal(units: i128, scale: i8) -> Option<Value> {
    let (mantissa, scale) = match u8::try_from(scale) {
        Ok(scale) => (units, scale),
        Err(_) => (units.checked_mul(10_i128.checked_pow(u32::from(scale.unsigned_abs()))?)?, 0),
    };
    let number = Numeric { mantissa, scale };
    number.is_valid().then_some(Value::Numeric(number))
}

/// PostgreSQL's text of an array.
fn array_text(items: &dyn Array) -> Option<String> {
    let mut out = String::from("{");
    for row in 0..items.len() {
        if row > 0 {
            out.push(',');
        }
        if items.is_null(row) {
            out.push_str("NULL");
            continue;
        }
        if let Some(inner) = items.as_list_opt::<i32>() {
            out.push_str(&array_text(&*inner.value(row))?);
            continue;
        }
        let value = one(items, row)?;
        let mut text = String::new();
        convert::format_text(of_value(&value), &value, &mut text);
        out.push('"');
        for character in text.chars() {
            if matches!(character, '"' | '\\') {
                out.push('\\');
            }
            out.push(character);
        }
        out.push('"');
    }
    out.push('}');
    Some(out)
}
