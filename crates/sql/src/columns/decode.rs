//! How do values come out of a column?

use std::sync::Arc;

use arrow_array::{ArrayRef, UInt8Array, UInt32Array};
use onlap::{Column, Vector};
use onlap_kernels::{Datum, Repr, input, recv, repr};
use onlap_pg::TypeRef;
use onlap_pg::catalog::Catalog;

use super::{ColumnType, Form, arrays, damaged, ordered, ranges, rows, with_cx};
use crate::error::Result;
use crate::query::tables::to_arrow;

/// Kept values as a column of steps.
pub(super) fn column(catalog: &Catalog, ty: ColumnType, column: &Column) -> Result<ArrayRef> {
    let own = repr(catalog, ty.pg.oid).expect("a column's type has values");
    match (ty.form, &column.data) {
        (Form::Own, _) => Ok(to_arrow(ty.engine, column)),
        (Form::Named, Vector::Int(values)) if matches!(own, Repr::Oid | Repr::Char) => {
            let present = |row: usize| (!column.is_null(row)).then(|| values[row]);
            let all = (0..column.len()).map(present);
            Ok(match own {
                Repr::Oid => Arc::new(UInt32Array::from_iter(all.map(|v| v.map(|v| v as u32)))),
                _ => Arc::new(UInt8Array::from_iter(all.map(|v| v.map(|v| v as u8)))),
            })
        }
        (Form::Named | Form::Enum, _) => Ok(to_arrow(ty.engine, column)),
        (_, Vector::Bytes(bytes)) => {
            let value = |row: usize| match column.is_null(row) {
                true => Ok(Datum::Null),
                false => value(catalog, ty, bytes.get(row)),
            };
            let values = (0..column.len()).map(value).collect::<Result<Vec<Datum<'_>>>>()?;
            let made = Datum::column(own, values.iter());
            made.map_err(|e| crate::query::sql_error(&e, ""))
        }
        _ => Err(damaged(ty)),
    }
}

/// A value that bytes are.
fn value(catalog: &Catalog, ty: ColumnType, bytes: &[u8]) -> Result<Datum<'static>> {
    let read = match ty.form {
        Form::Jsonb => {
            let text = std::str::from_utf8(bytes).map_err(|_| damaged(ty))?;
            return with_cx(catalog, |cx| input(cx, TypeRef::new(ty.pg.oid), text));
        }
        Form::Interval => ordered::take_interval(bytes),
        Form::TimeTz => ordered::take_timetz(bytes),
        Form::Bits => ordered::take_bits(bytes),
        Form::Numeric => ordered::take_numeric(bytes, ty.base.modifier).map(|number| {
            let mut stored = Vec::new();
            number.store(&mut stored);
            stored
        }),
        Form::Row => rows::take(catalog, ty, bytes),
        Form::Rows(element) => rows::take_array(catalog, element, bytes),
        Form::Array(element) => repr(catalog, element).and_then(|own| arrays::take(bytes, own)),
        Form::Range(width) => {
            let sent = ranges::take_range(bytes, usize::from(width));
            return received(catalog, ty, &sent.ok_or_else(|| damaged(ty))?);
        }
        Form::Multirange(width) => {
            let sent = ranges::take_all(bytes, usize::from(width));
            return received(catalog, ty, &sent.ok_or_else(|| damaged(ty))?);
        }
        _ => return received(catalog, ty, bytes),
    };
    read.map(Datum::bytes).ok_or_else(|| damaged(ty))
}

/// A value as it travelled.
fn received(catalog: &Catalog, ty: ColumnType, bytes: &[u8]) -> Result<Datum<'static>> {
    with_cx(catalog, |cx| recv(cx, TypeRef::new(ty.base.oid), bytes))
}
