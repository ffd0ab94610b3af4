//! Which bytes are rows of composite types, and arrays of them?
//!
//! Each field is kept as a column of its type would keep it, so that another label of an enum or another name of a type
//! changes nothing here.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | 1: this form |
//! | 2 | number of fields; of an array the number of dimensions |
//! | 4 each | of an array, their lengths, then their lower bounds |
//! | 1, … | each field or element: its kind, the value |
//!
//! | kind | value |
//! |---|---|
//! | 0, 1, 2 | none: NULL, false, true |
//! | 3, 4 | 8: a whole number, a float |
//! | 5 | 16: a number's mantissa; 1: its decimals, 255 for NaN |
//! | 6, 7 | 4: length; a text, bytes: rows, too |
//! | 8 | 16: a uuid |
//! | 9 | 4: days |
//! | 10, 11 | 8: a time, a timestamp |
//!
//! Numbers are little-endian.
//!
//! ```text
//! ROW(7, 'x')::(a int, b text)  01  02 00  03 07 00 00 00 00 00 00 00  06 01 00 00 00 78
//! ```
//!
//! Thread safety: pure functions.

use onlap::{Column, Numeric, Value, convert};
use onlap_kernels::array::record::{Record, build_named};
use onlap_kernels::array::{Array, Builder, Dim};
use onlap_kernels::{Datum, Repr, repr};
use onlap_pg::Oid;
use onlap_pg::catalog::{Catalog, Kind};

use super::{ColumnType, decode, encode};
use crate::error::{Result, SqlError};
use crate::types::PgType;

/// This form.
const FORM: u8 = 1;
/// PostgreSQL's MAXDIM.
const DIMENSIONS: u16 = 6;

/// Whether a type is a composite one whose fields all are kept.
pub(super) fn is_kept(catalog: &Catalog, oid: Oid) -> bool {
    let ty = catalog.get_type(oid).filter(|ty| ty.kind == Kind::Composite && !ty.fields.is_empty());
    ty.is_some() && fields(catalog, oid).is_some()
}

/// The names of a type's fields, and how each is kept.
fn fields(catalog: &Catalog, oid: Oid) -> Option<Vec<(&str, ColumnType)>> {
    let mut made = Vec::new();
    for (name, ty) in &catalog.get_type(oid)?.fields {
        let pg = PgType { oid: ty.oid, modifier: ty.modifier };
        made.push((name.as_str(), ColumnType::of(catalog, pg)?));
    }
    Some(made)
}

fn put_value(value: &Value, out: &mut Vec<u8>) {
    let mut long = |kind: u8, bytes: &[u8]| {
        out.push(kind);
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(bytes);
    };
    match value {
        Value::Text(text) => return long(6, text.as_bytes()),
        Value::Bytes(bytes) => return long(7, bytes),
        _ => {}
    }
    let mut fixed = |kind: u8, bytes: &[u8]| {
        out.push(kind);
        out.extend_from_slice(bytes);
    };
    match value {
        Value::Bool(false) => fixed(1, &[]),
        Value::Bool(true) => fixed(2, &[]),
        Value::Int(v) => fixed(3, &v.to_le_bytes()),
        Value::Float(v) => fixed(4, &v.to_le_bytes()),
        Value::Numeric(v) => {
            fixed(5, &v.mantissa.to_le_bytes());
            out.push(v.scale);
        }
        Value::Uuid(v) => fixed(8, v),
        Value::Date(v) => fixed(9, &v.to_le_bytes()),
        Value::Time(v) => fixed(10, &v.to_le_bytes()),
        Value::Timestamp(v) => fixed(11, &v.to_le_bytes()),
        Value::Null | Value::Text(_) | Value::Bytes(_) => fixed(0, &[]),
    }
}

/// Takes `N` bytes off the front.
fn fixed<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = bytes.split_first_chunk::<N>()?;
    *bytes = tail;
    Some(*head)
}

fn long<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = u32::from_le_bytes(fixed(bytes)?) as usize;
    let (head, tail) = bytes.split_at_checked(length)?;
    *bytes = tail;
    Some(head)
}

fn take_value(bytes: &mut &[u8]) -> Option<Value> {
    let [kind] = fixed(bytes)?;
    Some(match kind {
        0 => Value::Null,
        1 | 2 => Value::Bool(kind == 2),
        3 => Value::Int(i64::from_le_bytes(fixed(bytes)?)),
        4 => Value::Float(f64::from_le_bytes(fixed(bytes)?)),
        5 => {
            let mantissa = i128::from_le_bytes(fixed(bytes)?);
            let [scale] = fixed(bytes)?;
            Value::Numeric(Numeric { mantissa, scale })
        }
        6 => Value::Text(std::str::from_utf8(long(bytes)?).ok()?.into()),
        7 => Value::Bytes(long(bytes)?.into()),
        8 => Value::Uuid(fixed(bytes)?),
        9 => Value::Date(i32::from_le_bytes(fixed(bytes)?)),
        10 => Value::Time(i64::from_le_bytes(fixed(bytes)?)),
        11 => Value::Timestamp(i64::from_le_bytes(fixed(bytes)?)),
        _ => return None,
    })
}

/// A row as it lies in a column.
pub(super) fn put(catalog: &Catalog, ty: ColumnType, bytes: &[u8]) -> Result<Value> {
    put_row(catalog, ty.base.oid, bytes).map(Value::Bytes)
}

fn put_row(catalog: &Catalog, oid: Oid, bytes: &[u8]) -> Result<Vec<u8>> {
    let none = || SqlError::defect("a row of another type");
    let record = Record::load(bytes);
    let fields = fields(catalog, oid).filter(|f| f.len() == record.len()).ok_or_else(none)?;
    let mut out = vec![FORM];
    out.extend_from_slice(&(fields.len() as u16).to_le_bytes());
    for (at, (_, ty)) in fields.into_iter().enumerate() {
        let repr = repr(catalog, ty.pg.oid).ok_or_else(none)?;
        put_value(&encode::value(catalog, ty, &record.get(at, repr))?, &mut out);
    }
    Ok(out)
}

/// The row that bytes are, as it lies in a column of steps.
pub(super) fn take(catalog: &Catalog, ty: ColumnType, bytes: &[u8]) -> Option<Vec<u8>> {
    take_row(catalog, ty.base.oid, bytes)
}

fn take_row(catalog: &Catalog, oid: Oid, mut bytes: &[u8]) -> Option<Vec<u8>> {
    let fields = fields(catalog, oid)?;
    let bytes = &mut bytes;
    let (form, count) = (fixed(bytes)?, usize::from(u16::from_le_bytes(fixed(bytes)?)));
    if form != [FORM] || count > fields.len() {
        return None;
    }
    let mut values = Vec::with_capacity(fields.len());
    for (at, (_, ty)) in fields.iter().enumerate() {
        // Fields that the type got later are NULL.
        let value = if at < count { take_value(bytes)? } else { Value::Null };
        values.push((ty.pg.oid, taken(catalog, *ty, &value)?));
    }
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    bytes.is_empty().then(|| build_named(&names, &values).ok()).flatten()
}

/// A kept value as one of steps.
fn taken(catalog: &Catalog, ty: ColumnType, value: &Value) -> Option<Datum<'static>> {
    if *value == Value::Null {
        return Some(Datum::Null);
    }
    let mut column = Column::new(ty.engine.physical());
    convert::push_value(ty.engine, value, &mut column, "").ok()?;
    let made = decode::column(catalog, ty, &column).ok()?;
    Some(Datum::at(&made, repr(catalog, ty.pg.oid)?, 0).into_owned())
}

/// An array of rows as it lies in a column.
pub(super) fn put_array(catalog: &Catalog, element: Oid, bytes: &[u8]) -> Result<Value> {
    let array = Array::load(bytes, Repr::Bytes);
    let dims = array.dims();
    let mut out = vec![FORM];
    out.extend_from_slice(&(dims.len() as u16).to_le_bytes());
    dims.iter().for_each(|dim| out.extend_from_slice(&dim.length.to_le_bytes()));
    dims.iter().for_each(|dim| out.extend_from_slice(&dim.lower.to_le_bytes()));
    for value in array.iter() {
        let kept = match &value {
            Datum::Bytes(bytes) => Value::Bytes(put_row(catalog, element, bytes)?),
            _ => Value::Null,
        };
        put_value(&kept, &mut out);
    }
    Ok(Value::Bytes(out))
}

/// The array of rows that bytes are.
pub(super) fn take_array(catalog: &Catalog, element: Oid, mut bytes: &[u8]) -> Option<Vec<u8>> {
    let bytes = &mut bytes;
    let (form, count) = (fixed(bytes)?, u16::from_le_bytes(fixed(bytes)?));
    if form != [FORM] || count > DIMENSIONS {
        return None;
    }
    let mut numbers = || {
        let number = |_| Some(i32::from_le_bytes(fixed(bytes)?));
        (0..count).map(number).collect::<Option<Vec<i32>>>()
    };
    let (lengths, lowers) = (numbers()?, numbers()?);
    let whole = lengths.iter().try_fold(usize::from(count > 0), |all, length| {
        all.checked_mul(usize::try_from(*length).ok()?)
    })?;
    let mut builder = Builder::new(Repr::Bytes);
    while !bytes.is_empty() {
        let value = match take_value(bytes)? {
            Value::Bytes(row) => Datum::bytes(take_row(catalog, element, &row)?),
            Value::Null => Datum::Null,
            _ => return None,
        };
        builder.push(&value).ok()?;
    }
    if whole != builder.len() {
        return None;
    }
    let dims = lengths.into_iter().zip(lowers).map(|(length, lower)| Dim { length, lower });
    Some(builder.finish_as(&dims.collect::<Vec<Dim>>()))
}
