//! What are Arrow's values to Python, and which types of Arrow's does a table take?

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, UInt8Type, UInt32Type,
};
use arrow_array::{Array, RecordBatch, RecordBatchOptions};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use onlap_sql::columnar::TYPE_KEY;
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

/// Makes Python's values.
pub struct Maker<'py> {
    py: Python<'py>,
    decimal: Bound<'py, PyAny>,
    uuid: Bound<'py, PyAny>,
    loads: Bound<'py, PyAny>,
    delta: Bound<'py, PyAny>,
    /// 1970-01-01 as a date, a time of it, and as moments without and with a zone.
    date: Bound<'py, PyAny>,
    moment: Bound<'py, PyAny>,
    zoned: Bound<'py, PyAny>,
}

/// What a column is made of.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    Numeric,
    Json,
    Uuid,
}

impl<'py> Maker<'py> {
    /// With Python's classes.
    pub fn new(py: Python<'py>) -> PyResult<Maker<'py>> {
        let datetime = py.import("datetime")?;
        let class = datetime.getattr("datetime")?;
        let utc = datetime.getattr("timezone")?.getattr("utc")?;
        let zoned = class.call1((1970, 1, 1, 0, 0, 0, 0, utc))?;
        Ok(Maker {
            py,
            decimal: py.import("decimal")?.getattr("Decimal")?,
            uuid: py.import("uuid")?.getattr("UUID")?,
            loads: py.import("json")?.getattr("loads")?,
            delta: datetime.getattr("timedelta")?,
            date: datetime.getattr("date")?.call1((1970, 1, 1))?,
            moment: class.call1((1970, 1, 1))?,
            zoned,
        })
    }

    /// The rows of a batch.
    pub fn tuples(
        &self,
        batch: &RecordBatch,
        mut push: impl FnMut(Bound<'py, PyTuple>) -> PyResult<()>,
    ) -> PyResult<()> {
        let schema = batch.schema();
        let kinds: Vec<Kind> = schema.fields().iter().map(|field| kind(field)).collect();
        for row in 0..batch.num_rows() {
            let values = batch.columns().iter().zip(&kinds);
            let values = values.map(|(column, kind)| self.value(column, *kind, row));
            push(PyTuple::new(self.py, values.collect::<PyResult<Vec<_>>>()?)?)?;
        }
        Ok(())
    }

    fn value(&self, array: &dyn Array, kind: Kind, row: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        if array.is_null(row) {
            return Ok(py.None().into_bound(py));
        }
        match array.data_type() {
            DataType::Boolean => array.as_boolean().value(row).into_bound_py_any(py),
            DataType::Int16 => array.as_primitive::<Int16Type>().value(row).into_bound_py_any(py),
            DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into_bound_py_any(py),
            DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into_bound_py_any(py),
            DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row).into_bound_py_any(py),
            DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into_bound_py_any(py),
            DataType::Float32 => {
                array.as_primitive::<Float32Type>().value(row).into_bound_py_any(py)
            }
            DataType::Float64 => {
                array.as_primitive::<Float64Type>().value(row).into_bound_py_any(py)
            }
            DataType::Utf8 => {
                let text = array.as_string::<i32>().value(row);
                match kind {
                    Kind::Numeric => self.decimal.call1((text,)),
                    Kind::Json => self.loads.call1((text,)),
                    _ => text.into_bound_py_any(py),
                }
            }
            DataType::Binary => {
                Ok(PyBytes::new(py, array.as_binary::<i32>().value(row)).into_any())
            }
            DataType::FixedSizeBinary(_) => {
                let bytes = PyBytes::new(py, array.as_fixed_size_binary().value(row));
                match kind {
                    Kind::Uuid => self.uuid.call1((py.None(), bytes)),
                    _ => Ok(bytes.into_any()),
                }
            }
            DataType::Decimal128(_, _) => {
                let text = array.as_primitive::<Decimal128Type>().value_as_string(row);
                self.decimal.call1((text,))
            }
            DataType::Date32 => {
                let days = array.as_primitive::<Date32Type>().value(row);
                self.date.add(self.delta.call1((days,)).map_err(beyond)?).map_err(beyond)
            }
            DataType::Time64(_) => {
                // The end of a day is no time of Python's.
                let us = array.as_primitive::<Time64MicrosecondType>().value(row);
                match us {
                    86_400_000_000.. => Err(beyond(PyOverflowError::new_err("24:00:00"))),
                    us => self.moment.add(self.delta.call1((0, 0, us))?)?.call_method0("time"),
                }
            }
            DataType::Timestamp(_, zone) => {
                let us = array.as_primitive::<TimestampMicrosecondType>().value(row);
                let from = if zone.is_some() { &self.zoned } else { &self.moment };
                from.add(self.delta.call1((0, 0, us)).map_err(beyond)?).map_err(beyond)
            }
            DataType::List(item) => {
                let (items, kind) = (array.as_list::<i32>().value(row), kind_of(item, kind));
                let values = (0..items.len()).map(|at| self.value(&items, kind, at));
                Ok(PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_any())
            }
            other => Err(pyo3::exceptions::PyTypeError::new_err(format!("values of {other}"))),
        }
    }
}

/// A date or moment that PostgreSQL has and Python has not: infinity above all.
fn beyond(e: PyErr) -> PyErr {
    let text = format!("a date, time or timestamp is beyond Python's: {e}; cast it to text");
    PyOverflowError::new_err(text)
}

fn kind(field: &Field) -> Kind {
    match field.metadata().get(TYPE_KEY).map_or("", String::as_str) {
        "json" | "jsonb" => Kind::Json,
        "uuid" | "uuid[]" => Kind::Uuid,
        ty if ty == "numeric" || ty.starts_with("numeric(") && !ty.ends_with(']') => Kind::Numeric,
        _ => Kind::Plain,
    }
}

fn kind_of(_item: &Field, list: Kind) -> Kind {
    if list == Kind::Uuid { Kind::Uuid } else { Kind::Plain }
}

/// A batch in types that tables take.
///
/// # Errors
/// A value does not fit.
pub fn normal(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let wanted: Vec<DataType> =
        batch.columns().iter().map(|column| normal_type(column.data_type())).collect();
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let columns = batch.columns().iter().zip(&wanted).map(|(column, wanted)| {
        if column.data_type() == wanted {
            return Ok(std::sync::Arc::clone(column));
        }
        cast_with_options(column, wanted, &options)
    });
    let columns = columns.collect::<Result<Vec<_>, ArrowError>>()?;
    let schema = batch.schema();
    let fields = schema.fields().iter().zip(&wanted);
    let fields: Vec<Field> =
        fields.map(|(field, ty)| Field::new(field.name(), ty.clone(), true)).collect();
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(std::sync::Arc::new(Schema::new(fields)), columns, &rows)
}

/// The type that a table takes in another's place; the same where there is none.
fn normal_type(ty: &DataType) -> DataType {
    let item = |field: &Field| {
        DataType::List(std::sync::Arc::new(Field::new_list_field(
            normal_type(field.data_type()),
            true,
        )))
    };
    match ty {
        DataType::Null => DataType::Utf8,
        DataType::Dictionary(_, values) => normal_type(values),
        DataType::RunEndEncoded(_, values) => normal_type(values.data_type()),
        DataType::Float16 => DataType::Float32,
        DataType::Date64 => DataType::Date32,
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Microsecond),
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        DataType::Decimal32(digits, scale)
        | DataType::Decimal64(digits, scale)
        | DataType::Decimal256(digits, scale) => DataType::Decimal128((*digits).min(38), *scale),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::ListView(field)
        | DataType::LargeListView(field) => item(field),
        other => other.clone(),
    }
}
