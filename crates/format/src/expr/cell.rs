//! What does an expression see of a row?
//!
//! [`Cell`] is a value that borrows what it can. Rows come as columns of a batch or as values.

use std::borrow::Cow;

use crate::batch::{Batch, Vector};
use crate::convert;
use crate::schema::TableSchema;
use crate::types::DataType;
use crate::value::{Numeric, Value};

/// A value of a row, or of a part of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// SQL NULL
    Null,
    /// bool
    Bool(bool),
    /// int2, int4, int8
    Int(i64),
    /// float4, float8
    Float(f64),
    /// numeric
    Numeric(Numeric),
    /// text, varchar, char (padded), json
    Text(Cow<'a, str>),
    /// bytea
    Bytes(Cow<'a, [u8]>),
    /// uuid
    Uuid([u8; 16]),
    /// date, in days
    Date(i32),
    /// time, in microseconds
    Time(i64),
    /// timestamp and timestamptz, in microseconds
    Timestamp(i64),
}

impl<'a> From<&'a Value> for Cell<'a> {
    fn from(value: &'a Value) -> Cell<'a> {
        match value {
            Value::Null => Cell::Null,
            Value::Bool(b) => Cell::Bool(*b),
            Value::Int(v) => Cell::Int(*v),
            Value::Float(f) => Cell::Float(*f),
            Value::Numeric(n) => Cell::Numeric(*n),
            Value::Text(s) => Cell::Text(Cow::Borrowed(s)),
            Value::Bytes(b) => Cell::Bytes(Cow::Borrowed(b)),
            Value::Uuid(u) => Cell::Uuid(*u),
            Value::Date(d) => Cell::Date(*d),
            Value::Time(t) => Cell::Time(*t),
            Value::Timestamp(t) => Cell::Timestamp(*t),
        }
    }
}

impl From<Value> for Cell<'static> {
    fn from(value: Value) -> Cell<'static> {
        match value {
            Value::Text(s) => Cell::Text(Cow::Owned(s)),
            Value::Bytes(b) => Cell::Bytes(Cow::Owned(b)),
            Value::Null => Cell::Null,
            Value::Bool(b) => Cell::Bool(b),
            Value::Int(v) => Cell::Int(v),
            Value::Float(f) => Cell::Float(f),
            Value::Numeric(n) => Cell::Numeric(n),
            Value::Uuid(u) => Cell::Uuid(u),
            Value::Date(d) => Cell::Date(d),
            Value::Time(t) => Cell::Time(t),
            Value::Timestamp(t) => Cell::Timestamp(t),
        }
    }
}

/// A row as an expression sees it.
pub trait Cells {
    /// The value of the column at a position of the table.
    fn cell(&self, position: usize) -> Cell<'_>;
}

impl Cells for [Value] {
    fn cell(&self, position: usize) -> Cell<'_> {
        Cell::from(&self[position])
    }
}

/// A row of a batch whose columns are the table's.
#[derive(Clone, Copy, Debug)]
pub struct BatchRow<'a> {
    /// The table.
    pub schema: &'a TableSchema,
    /// The rows.
    pub batch: &'a Batch,
    /// Which of them.
    pub row: usize,
}

impl Cells for BatchRow<'_> {
    fn cell(&self, position: usize) -> Cell<'_> {
        let (ty, column) = (self.schema.columns[position].ty, &self.batch.columns[position]);
        if column.is_null(self.row) {
            return Cell::Null;
        }
        match (&column.data, ty) {
            (Vector::Bytes(v), DataType::Bytea) => Cell::Bytes(Cow::Borrowed(v.get(self.row))),
            (Vector::Bytes(v), DataType::Text | DataType::Varchar(_) | DataType::Json) => {
                Cell::Text(String::from_utf8_lossy(v.get(self.row)))
            }
            _ => Cell::from(convert::read_value(ty, column, self.row)),
        }
    }
}
