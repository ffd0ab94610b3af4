//! How do rows of an answer become a record batch?

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Int32Type, Int64Type, Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{
    Array as _, ArrayRef, Decimal128Array, ListArray, RecordBatch, RecordBatchOptions, StringArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use onlap::{Row, RowBatch, Value, convert};
use onlap_kernels::array::Array;
use onlap_kernels::{Datum, Repr, repr};
use onlap_pg::catalog::Catalog;
use onlap_pg::value::numeric::{Numeric, Small};
use onlap_pg::{Oid, TypeRef};

use super::{Column, EPOCH_DAYS, EPOCH_US, Form, Shape, item, kept};
use crate::columns::{self, ColumnType};
use crate::error::{Result, SqlError, state};
use crate::session::answer::Chunk;
use crate::types::{Cell, Style};

/// What prints the value of a row.
type Print<'a> = &'a dyn Fn(usize) -> Result<Option<String>>;

impl Shape {
    /// Some rows of the answer.
    ///
    /// # Errors
    /// Arrow has no place for a value: NaN as a decimal, an array of several dimensions.
    pub fn batch(&self, style: &Style, chunk: Chunk) -> Result<RecordBatch> {
        let catalog = &*self.catalog;
        let rows = chunk.len();
        let mut arrays = Vec::with_capacity(self.columns.len());
        match chunk {
            Chunk::Engine(batch, picked) => return self.kept(batch, &picked),
            Chunk::Bound(batch, encoder) => {
                for (at, column) in self.columns.iter().enumerate() {
                    let print = |row: usize| encoder.text(&batch, row, at);
                    arrays.push(column.array(catalog, batch.column(at), &print)?);
                }
            }
            Chunk::Rows(rows) => {
                for (at, column) in self.columns.iter().enumerate() {
                    arrays.push(column.of_rows(catalog, style, &rows, at)?);
                }
            }
        }
        self.made(rows, arrays)
    }

    /// Some columns of rows that the engine keeps; their memory becomes Arrow's where it may.
    ///
    /// # Errors
    /// As [`Shape::batch`].
    pub fn kept(&self, mut batch: RowBatch, picked: &[usize]) -> Result<RecordBatch> {
        kept::must_fit(&batch.columns.columns, kept::BYTES_MOST)?;
        let catalog = &*self.catalog;
        let rows = batch.len();
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (nth, (column, at)) in self.columns.iter().zip(picked).enumerate() {
            let engine = batch.types()[*at];
            let known = ColumnType::of(catalog, column.ty);
            let known = known.filter(|ty| ty.engine == engine);
            let ty = known.unwrap_or(ColumnType::own(engine));
            let values = &mut batch.columns.columns[*at];
            if !picked[nth + 1..].contains(at) {
                let taken = std::mem::replace(values, onlap::Column::new(engine.physical()));
                match kept::moved(ty, &column.form, taken) {
                    Ok(array) => {
                        arrays.push(array);
                        continue;
                    }
                    Err(back) => *values = back,
                }
            }
            arrays.push(column.kept(catalog, ty, values)?);
        }
        self.made(rows, arrays)
    }

    fn made(&self, rows: usize, arrays: Vec<ArrayRef>) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
            .map_err(|e| SqlError::defect(e.to_string()))
    }
}

impl Column {
    /// A column that the engine keeps.
    fn kept(&self, catalog: &Catalog, ty: ColumnType, values: &onlap::Column) -> Result<ArrayRef> {
        let array = columns::decode(catalog, ty, values)?;
        let own = repr(catalog, ty.pg.oid).ok_or_else(|| unknown(ty.pg.oid))?;
        let print = |row: usize| match Datum::at(&array, own, row) {
            Datum::Null => Ok(None),
            value => columns::print_kept(catalog, TypeRef::new(ty.pg.oid), &value).map(Some),
        };
        self.array(catalog, &array, &print)
    }

    /// A column of rows that have the engine's values.
    fn of_rows(
        &self,
        catalog: &Catalog,
        style: &Style,
        rows: &[Row],
        at: usize,
    ) -> Result<ArrayRef> {
        if let Some(ty) = ColumnType::of(catalog, self.ty) {
            let mut column = onlap::Column::new(ty.engine.physical());
            let push = |row: &Row| convert::push_value(ty.engine, &row[at], &mut column, "");
            if rows.iter().try_for_each(push).is_ok() {
                return self.kept(catalog, ty, &column);
            }
        }
        let text = |value: &Value| match Cell::of_value(value) {
            Cell::Null => None,
            cell => {
                let mut out = Vec::new();
                cell.write_text(self.ty, style, &mut out);
                Some(String::from_utf8_lossy(&out).into_owned())
            }
        };
        match self.form {
            Form::Printed => printed(rows.len(), &|row| Ok(text(&rows[row][at]))),
            _ => Err(SqlError::defect("a value is none of its column's type")),
        }
    }

    fn array(&self, catalog: &Catalog, array: &ArrayRef, print: Print<'_>) -> Result<ArrayRef> {
        public(catalog, self.ty.oid, &self.form, array, print)
    }
}

/// A column of steps as Arrow has it.
fn public(
    catalog: &Catalog,
    ty: Oid,
    form: &Form,
    array: &ArrayRef,
    print: Print<'_>,
) -> Result<ArrayRef> {
    let made: ArrayRef = match form {
        Form::Same => Arc::clone(array),
        Form::Date => {
            let days = |days: i32| match days {
                i32::MIN | i32::MAX => days,
                days => days.saturating_add(EPOCH_DAYS),
            };
            Arc::new(array.as_primitive::<Int32Type>().unary::<_, Date32Type>(days))
        }
        Form::Time => {
            Arc::new(array.as_primitive::<Int64Type>().reinterpret_cast::<Time64MicrosecondType>())
        }
        Form::Moment(zoned) => {
            let us = |us: i64| match us {
                i64::MIN | i64::MAX => us,
                us => us.saturating_add(EPOCH_US),
            };
            let made = array.as_primitive::<Int64Type>().unary::<_, TimestampMicrosecondType>(us);
            Arc::new(made.with_timezone_opt(zoned.then_some("UTC")))
        }
        Form::Decimal(digits, decimals) => decimals_of(array, *digits, *decimals)?,
        Form::List(element, own, form) => lists(catalog, (*element, *own, form), array)?,
        Form::Printed => printed(array.len(), print)?,
    };
    debug_assert_eq!(made.data_type(), &super::data_type(catalog, ty, form));
    Ok(made)
}

fn printed(rows: usize, print: Print<'_>) -> Result<ArrayRef> {
    let texts = (0..rows).map(print).collect::<Result<Vec<Option<String>>>>()?;
    let bytes: usize = texts.iter().flatten().map(String::len).sum();
    if bytes > i32::MAX as usize {
        return Err(SqlError::new(state::TOO_LARGE, "texts of a batch are too long together"));
    }
    Ok(Arc::new(StringArray::from(texts)))
}

/// Numerics of a number of digits, some of which are decimals.
fn decimals_of(array: &ArrayRef, digits: u8, decimals: u8) -> Result<ArrayRef> {
    let stored = array.as_binary::<i32>();
    let one = |bytes: &[u8]| {
        let small = Small::load(bytes).or_else(|| Numeric::load(bytes).to_small());
        let units = small.and_then(|small| small.round(decimals)).and_then(|small| {
            let missing = u32::from(decimals.checked_sub(small.scale())?);
            small.mantissa().checked_mul(10_i128.checked_pow(missing)?)
        });
        let most = 10_u128.pow(u32::from(digits));
        units.filter(|units| units.unsigned_abs() < most).ok_or_else(|| {
            let text = format!("a value is no decimal of {digits} digits: NaN or infinity");
            SqlError::new("22003", text).hint("Cast it to text or double precision.")
        })
    };
    let units = stored.iter().map(|bytes| bytes.map(one).transpose());
    let units = units.collect::<Result<Vec<Option<i128>>>>()?;
    let made = Decimal128Array::from(units).with_precision_and_scale(digits, decimals as i8);
    Ok(Arc::new(made.map_err(|e| SqlError::defect(e.to_string()))?))
}

/// Arrays of one dimension as lists.
fn lists(
    catalog: &Catalog,
    (element, own, form): (Oid, Repr, &Form),
    array: &ArrayRef,
) -> Result<ArrayRef> {
    let stored = array.as_binary::<i32>();
    let mut items: Vec<Datum<'_>> = Vec::new();
    let mut lengths = Vec::with_capacity(stored.len());
    for bytes in stored.iter() {
        let before = items.len();
        if let Some(bytes) = bytes {
            let array = Array::load(bytes, own);
            if array.ndims() > 1 {
                let text = "an array of several dimensions is no list of Arrow's";
                return Err(SqlError::unsupported(text).hint("Cast it to text."));
            }
            items.extend(array.iter());
        }
        lengths.push(items.len() - before);
    }
    if items.len() > i32::MAX as usize {
        return Err(SqlError::new(state::TOO_LARGE, "arrays of a batch are too long together"));
    }
    let values = Datum::column(own, items.iter());
    let values = values.map_err(|e| crate::query::sql_error(&e, ""))?;
    let none = |_: usize| Ok(None);
    let values = public(catalog, element, form, &values, &none)?;
    let nulls: Option<NullBuffer> = stored.nulls().cloned();
    let field = Arc::new(item(catalog, element, form));
    let made = ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), values, nulls);
    Ok(Arc::new(made.map_err(|e| SqlError::defect(e.to_string()))?))
}

/// As a column is made where it cannot be handed over.
#[cfg(test)]
pub(super) fn made_of(
    catalog: &Catalog,
    ty: crate::types::PgType,
    form: &Form,
    own: ColumnType,
    values: &onlap::Column,
) -> ArrayRef {
    let column = Column { ty, form: form.clone() };
    column.kept(catalog, own, values).expect("a column that can be made")
}

fn unknown(ty: Oid) -> SqlError {
    SqlError::defect(format!("type {ty} has no values"))
}
