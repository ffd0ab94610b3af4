//! How does a value get into a column?

use onlap::Value;
use onlap_kernels::{Datum, output, repr, send};
use onlap_pg::catalog::Catalog;
use onlap_pg::value::numeric::Numeric;

use super::{ColumnType, Form, arrays, ordered, ranges, rows, spans, with_cx};
use crate::error::{Result, SqlError};
use crate::query::stored::stored;

/// A value of steps as a column keeps it.
pub(super) fn value(catalog: &Catalog, ty: ColumnType, value: &Datum<'_>) -> Result<Value> {
    let bytes = match value {
        Datum::Null => return Ok(Value::Null),
        Datum::Oid(number) => return Ok(Value::Int(i64::from(*number))),
        Datum::Char(byte) => return Ok(Value::Int(i64::from(*byte))),
        value if matches!(ty.form, Form::Own | Form::Named | Form::Enum) => {
            return stored(value, ty.engine);
        }
        Datum::Bytes(bytes) => bytes,
        _ => return Err(none(ty)),
    };
    let mut out = Vec::new();
    let made = match ty.form {
        Form::Jsonb => {
            let mut text = String::new();
            with_cx(catalog, |cx| output(cx, ty.pg.oid, value, &mut text))?;
            return Ok(Value::Text(text));
        }
        Form::Interval => ordered::put_interval(bytes, &mut out),
        Form::TimeTz => ordered::put_timetz(bytes, &mut out),
        Form::Bits => ordered::put_bits(bytes, &mut out),
        Form::Numeric => ordered::put_numeric(&Numeric::load(bytes), &mut out),
        Form::Range(width) => {
            let sent = sent(catalog, ty, value)?;
            ranges::put(&sent, usize::from(width), &mut out)
        }
        Form::Multirange(width) => {
            let sent = sent(catalog, ty, value)?;
            ranges::put_all(&sent, usize::from(width), &mut out)
        }
        Form::Row => return rows::put(catalog, ty, bytes),
        Form::Rows(element) => return rows::put_array(catalog, element, bytes),
        Form::Array(element) => repr(catalog, element).map(|own| arrays::put(bytes, own, &mut out)),
        _ => {
            out = sent(catalog, ty, value)?;
            Some(())
        }
    };
    made.map(|()| Value::Bytes(out)).ok_or_else(|| none(ty))
}

/// The span of a range or network; `None` of the empty range, which has no points.
pub(super) fn span(
    catalog: &Catalog,
    ty: ColumnType,
    value: &Datum<'_>,
) -> Result<Option<Vec<u8>>> {
    let sent = sent(catalog, ty, value)?;
    let made = match catalog.range_element(ty.base.oid) {
        Some(over) => spans::of_range(&sent, over),
        None => spans::of_network(&sent).map(Some),
    };
    made.ok_or_else(|| none(ty))
}

/// A value as it travels.
fn sent(catalog: &Catalog, ty: ColumnType, value: &Datum<'_>) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    with_cx(catalog, |cx| send(cx, ty.base.oid, value, &mut out))?;
    Ok(out)
}

fn none(ty: ColumnType) -> SqlError {
    SqlError::defect(format!("no value of type {}", ty.shown()))
}
