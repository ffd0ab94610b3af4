//! How do values become the rows of a system table?

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, BooleanBuilder, Date32Builder, Float32Builder, Float64Builder, Int16Builder,
    Int32Builder, Int64Builder, ListBuilder, RecordBatch, RecordBatchOptions, StringBuilder,
    TimestampMicrosecondBuilder, new_null_array,
};
use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::common::Result;

use super::definitions::Definition;
use crate::types::{Cell, PgType, Style};

/// One value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Datum {
    /// NULL
    #[default]
    Null,
    /// bool
    Bool(bool),
    /// integers, OIDs, microseconds of a time
    Int(i64),
    /// float4, float8
    Float(f64),
    /// text, name, "char"
    Text(String),
    /// arrays of integers
    Ints(Vec<i64>),
    /// arrays of texts
    Texts(Vec<String>),
}

impl From<bool> for Datum {
    fn from(v: bool) -> Datum {
        Datum::Bool(v)
    }
}
impl From<i64> for Datum {
    fn from(v: i64) -> Datum {
        Datum::Int(v)
    }
}
impl From<i32> for Datum {
    fn from(v: i32) -> Datum {
        Datum::Int(v.into())
    }
}
impl From<u32> for Datum {
    fn from(v: u32) -> Datum {
        Datum::Int(v.into())
    }
}
impl From<usize> for Datum {
    fn from(v: usize) -> Datum {
        Datum::Int(v as i64)
    }
}
impl From<f64> for Datum {
    fn from(v: f64) -> Datum {
        Datum::Float(v)
    }
}
impl From<&str> for Datum {
    fn from(v: &str) -> Datum {
        Datum::Text(v.to_string())
    }
}
impl From<String> for Datum {
    fn from(v: String) -> Datum {
        Datum::Text(v)
    }
}
impl From<&String> for Datum {
    fn from(v: &String) -> Datum {
        Datum::Text(v.clone())
    }
}
impl<T: Into<Datum>> From<Option<T>> for Datum {
    fn from(v: Option<T>) -> Datum {
        v.map_or(Datum::Null, Into::into)
    }
}
impl From<Vec<i64>> for Datum {
    fn from(v: Vec<i64>) -> Datum {
        Datum::Ints(v)
    }
}
impl From<Vec<String>> for Datum {
    fn from(v: Vec<String>) -> Datum {
        Datum::Texts(v)
    }
}

impl Datum {
    /// A value in a batch of a plan.
    pub fn of_array(array: &dyn Array, row: usize) -> Datum {
        match Cell::of_array(array, row) {
            Cell::Null => Datum::Null,
            Cell::Bool(b) => Datum::Bool(b),
            Cell::Int(v) | Cell::Time(v) | Cell::Timestamp(v) => Datum::Int(v),
            Cell::Float(f) => Datum::Float(f),
            Cell::Text(s) => Datum::from(s),
            Cell::List(items) => {
                let cells = (0..items.len()).map(|i| Datum::of_array(&items, i));
                match items.data_type().is_integer() {
                    true => Datum::Ints(cells.filter_map(|d| d.int()).collect()),
                    false => Datum::Texts(cells.map(|d| d.text()).collect()),
                }
            }
            other => {
                let mut text = Vec::new();
                other.write_text(PgType::of_arrow(array.data_type()), Style::default(), &mut text);
                Datum::Text(String::from_utf8_lossy(&text).into_owned())
            }
        }
    }

    /// As an integer; texts of digits too.
    pub fn int(&self) -> Option<i64> {
        match self {
            Datum::Int(v) => Some(*v),
            Datum::Text(s) => s.parse().ok(),
            _ => None,
        }
    }

    /// As text; empty for NULL.
    pub fn text(&self) -> String {
        let list = |items: Vec<String>| format!("{{{}}}", items.join(","));
        match self {
            Datum::Null => String::new(),
            Datum::Bool(b) => if *b { "t" } else { "f" }.to_string(),
            Datum::Int(v) => v.to_string(),
            Datum::Float(f) => f.to_string(),
            Datum::Text(s) => s.clone(),
            Datum::Ints(items) => list(items.iter().map(ToString::to_string).collect()),
            Datum::Texts(items) => list(items.clone()),
        }
    }
}

/// Values in the order of their columns.
#[macro_export]
macro_rules! row {
    ($($value:expr),* $(,)?) => { vec![$($crate::system::rows::Datum::from($value)),*] };
}

/// Rows of some columns; the other columns of the table are NULL.
#[derive(Debug, Default)]
pub struct Rows {
    columns: Vec<&'static str>,
    rows: Vec<Vec<Datum>>,
}

impl Rows {
    /// No rows yet; columns by name, separated by blanks.
    pub fn of(columns: &'static str) -> Rows {
        Rows { columns: columns.split_whitespace().collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<Datum>) {
        debug_assert_eq!(row.len(), self.columns.len(), "{:?}", self.columns);
        self.rows.push(row);
    }

    /// The values of a column; NULLs where the table has one that is not given here.
    pub fn column(&self, name: &str) -> impl Iterator<Item = &Datum> {
        let at = self.columns.iter().position(|column| *column == name);
        self.rows.iter().map(move |row| at.and_then(|at| row.get(at)).unwrap_or(&Datum::Null))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows as a batch with a table's columns.
    ///
    /// # Errors
    /// A list of columns that do not go together: a defect.
    pub fn batch(&self, table: &Definition) -> Result<RecordBatch> {
        let column = |field: &Arc<Field>| {
            let at = self.columns.iter().position(|c| c == field.name());
            let value = |row: usize| at.and_then(|at| self.rows[row].get(at));
            array(field.data_type(), self.rows.len(), value)
        };
        let arrays = table.fields.fields().iter().map(column).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&table.fields), arrays, &options)?)
    }
}

/// Fills a builder with what a pattern takes out of each value, and with NULL for others.
macro_rules! build {
    ($builder:expr, $n:expr, $value:expr, $pattern:pat => $taken:expr) => {{
        let mut builder = $builder;
        for row in 0..$n {
            match $value(row) {
                Some($pattern) => builder.append_value($taken),
                _ => builder.append_null(),
            }
        }
        Arc::new(builder.finish()) as ArrayRef
    }};
}

macro_rules! build_list {
    ($builder:expr, $item:expr, $n:expr, $value:expr, $pattern:pat => $taken:expr) => {{
        let mut builder = ListBuilder::new($builder).with_field(Arc::clone($item));
        for row in 0..$n {
            match $value(row) {
                Some($pattern) => {
                    $taken.for_each(|item| builder.values().append_value(item));
                    builder.append(true);
                }
                _ => builder.append(false),
            }
        }
        Arc::new(builder.finish()) as ArrayRef
    }};
}

/// Values as a column of a plan; NULL where a value is of another type.
pub fn array<'a>(ty: &DataType, n: usize, value: impl Fn(usize) -> Option<&'a Datum>) -> ArrayRef {
    match ty {
        DataType::Boolean => build!(BooleanBuilder::new(), n, value, Datum::Bool(v) => *v),
        DataType::Int16 => build!(Int16Builder::new(), n, value, Datum::Int(v) => *v as i16),
        DataType::Int32 => build!(Int32Builder::new(), n, value, Datum::Int(v) => *v as i32),
        DataType::Int64 => build!(Int64Builder::new(), n, value, Datum::Int(v) => *v),
        DataType::Date32 => build!(Date32Builder::new(), n, value, Datum::Int(v) => *v as i32),
        DataType::Float32 => build!(Float32Builder::new(), n, value, Datum::Float(v) => *v as f32),
        DataType::Float64 => build!(Float64Builder::new(), n, value, Datum::Float(v) => *v),
        DataType::Utf8 => build!(StringBuilder::new(), n, value, Datum::Text(v) => v),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let builder = TimestampMicrosecondBuilder::new().with_timezone_opt(zone.clone());
            build!(builder, n, value, Datum::Int(v) => *v)
        }
        DataType::List(item) => match item.data_type() {
            DataType::Int16 => build_list!(
                Int16Builder::new(), item, n, value,
                Datum::Ints(v) => v.iter().map(|v| *v as i16)
            ),
            DataType::Int64 => build_list!(
                Int64Builder::new(), item, n, value,
                Datum::Ints(v) => v.iter().copied()
            ),
            DataType::Utf8 => build_list!(
                StringBuilder::new(), item, n, value,
                Datum::Texts(v) => v.iter()
            ),
            _ => new_null_array(ty, n),
        },
        _ => new_null_array(ty, n),
    }
}
