//! How do steps read a table of the engine?
//!
//! A scan is opened in the statement's transaction when the plan is run. Which index it goes by is chosen when the plan is
//! made, from the columns that are restricted; the values may be those of a row of an outer query, so the range is made
//! when the scan is opened.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, Float32Array, Float64Array,
    Int16Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use onlap::{Column, DataType, RowBatch, Rows, Scan, TableSchema, Value, Vector, convert};
use onlap_kernels::{Datum, Repr, arrow_type, repr};
use onlap_pg::value::numeric::{Numeric, Small};
use onlap_pg::{Oid, Result};
use onlap_query::{
    Facts, Restriction, RestrictionKind, Step, Tables, View as BoundView, stream_of,
};

use super::catalog;
use crate::plan::TableHandle;
use crate::plan::access::{Access, Bound, BoundOp, choose};
use crate::plan::scan::{external, scope_of};
use crate::scope::Scope;
use crate::types::{Cell, PgType, Style, oid};

/// The tables of a statement, by OID.
#[derive(Default)]
pub struct Known(HashMap<Oid, Table>);

struct Table {
    handle: TableHandle,
}

/// Days from 1970-01-01 to 2000-01-01, where PostgreSQL's count begins.
const EPOCH_DAYS: i64 = 10_957;
/// The same in microseconds.
const EPOCH_US: i64 = EPOCH_DAYS * 86_400_000_000;

impl Known {
    /// Adds a table.
    pub fn add(&mut self, oid: Oid, handle: TableHandle) {
        self.0.insert(oid, Table { handle });
    }

    /// A table's columns and indexes.
    pub fn schema(&self, oid: Oid) -> Option<&TableSchema> {
        self.0.get(&oid).map(|table| &*table.handle.schema)
    }
}

impl Tables for Known {
    fn facts(&self, relation: Oid) -> Facts {
        let Some(table) = self.0.get(&relation) else { return Facts::default() };
        let schema = &table.handle.schema;
        let unique = schema.indexes.iter().filter(|index| index.unique && index.key.len() == 1);
        let number = |column| schema.position(column).map(|at| at as i32 + 1);
        let unique = unique.filter_map(|index| number(index.key[0].column)).collect();
        let ready = schema.indexes.iter().filter(|index| index.ready);
        let indexed = ready.filter_map(|index| number(index.key[0].column)).collect();
        let rows = table.handle.table.approximate_rows().max(1) as f64;
        Facts { rows, unique, indexed }
    }

    fn scan(
        &self,
        relation: Oid,
        columns: &[i32],
        restrictions: Vec<Restriction>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let table = self.0.get(&relation).expect("the binder has found it").handle.clone();
        let positions: Vec<usize> = columns.iter().map(|number| *number as usize - 1).collect();
        let fields: Vec<Field> = positions
            .iter()
            .enumerate()
            .map(|(n, at)| {
                let ty = PgType::of_engine(table.schema.columns[*at].ty);
                let repr = repr(catalog(), ty.oid).expect("the engine's types have values");
                Field::new(format!("c{n}"), arrow_type(repr), true)
            })
            .collect();
        let schema = match fields.is_empty() {
            true => Schema::new(vec![Field::new("c0", arrow_type(Repr::Bool), true)]),
            false => Schema::new(fields),
        };
        let schema = Arc::new(schema);
        // Which index it is depends on the columns alone.
        let bound = |r: &Restriction| Bound {
            column: r.column as usize - 1,
            op: op_of(r.kind),
            value: Value::Null,
        };
        let bounds: Vec<Bound> = restrictions.iter().map(bound).collect();
        let shown = crate::rights::ask::shown(&table.schema);
        let (name, detail) = match choose(&table.schema, &bounds) {
            Access::Table => ("Seq Scan", format!(" on {shown}")),
            Access::Index { name, .. } => ("Index Scan", format!(" using {name} on {shown}")),
        };
        let opener = Opener { table, positions, restrictions, schema: Arc::clone(&schema) };
        let opener = Arc::new(opener);
        let run = move |_: Vec<Arc<dyn ExecutionPlan>>, context: Arc<TaskContext>| {
            let scope = scope_of(&context)?;
            let rows = opener.open(&scope).map_err(external)?;
            let reader = Reader { scope, rows, batch: None, opener: Arc::clone(&opener) };
            let stream = futures::stream::try_unfold(reader, |mut reader| async move {
                Ok(reader.next()?.map(|batch| (batch, reader)))
            });
            Ok(stream_of(Arc::clone(&opener.schema), stream))
        };
        Ok(Step::make(name, detail, Vec::new(), schema, Arc::new(run)))
    }

    fn view(&self, _: Oid) -> Result<Option<BoundView>> {
        Ok(None)
    }
}

/// What opens a scan.
struct Opener {
    table: TableHandle,
    positions: Vec<usize>,
    restrictions: Vec<Restriction>,
    schema: SchemaRef,
}

impl Opener {
    fn open(&self, scope: &Scope) -> crate::error::Result<Rows> {
        let schema = &self.table.schema;
        let names = self.positions.iter().map(|at| schema.columns[*at].name.clone());
        let scan = Scan::all().columns(names);
        let mut bounds = Vec::with_capacity(self.restrictions.len());
        for restriction in &self.restrictions {
            bounds.extend(self.bound(restriction)?);
        }
        let table = &self.table.table;
        let past = scope.past();
        Ok(match (choose(schema, &bounds), past) {
            (Access::Table, None) => scope.tx()?.scan(table, scan)?,
            (Access::Table, Some(past)) => past.scan(table, scan)?,
            (Access::Index { name, range, .. }, None) => {
                scope.tx()?.index_scan(table, &name, range, scan)?
            }
            (Access::Index { name, range, .. }, Some(past)) => {
                past.index_scan(table, &name, range, scan)?
            }
        })
    }

    /// The bound that a restriction is for the engine; none if its value is not one of the column's type.
    fn bound(&self, restriction: &Restriction) -> crate::error::Result<Option<Bound>> {
        let column = restriction.column as usize - 1;
        let ty = self.table.schema.columns[column].ty;
        let value = (restriction.value)().map_err(|e| super::sql_error(&e, ""))?;
        let Some(value) = engine_value(&value, ty) else { return Ok(None) };
        Ok(Some(Bound { column, op: op_of(restriction.kind), value }))
    }
}

fn op_of(kind: RestrictionKind) -> BoundOp {
    match kind {
        RestrictionKind::Equal => BoundOp::Equal,
        RestrictionKind::Less => BoundOp::Less,
        RestrictionKind::LessOrEqual => BoundOp::LessOrEqual,
        RestrictionKind::Greater => BoundOp::Greater,
        RestrictionKind::GreaterOrEqual => BoundOp::GreaterOrEqual,
    }
}

/// A value as one of the engine's type; `None` where the engine's index may order it otherwise.
fn engine_value(value: &Datum<'_>, ty: DataType) -> Option<Value> {
    let int = match value {
        Datum::Int2(v) => Some(i64::from(*v)),
        Datum::Int4(v) => Some(i64::from(*v)),
        Datum::Int8(v) => Some(*v),
        _ => None,
    };
    Some(match (ty, value) {
        (DataType::Int2, _) => Value::Int(i64::from(i16::try_from(int?).ok()?)),
        (DataType::Int4, _) => Value::Int(i64::from(i32::try_from(int?).ok()?)),
        (DataType::Int8, _) => Value::Int(int?),
        (DataType::Bool, Datum::Bool(v)) => Value::Bool(*v),
        (DataType::Text | DataType::Varchar(_), Datum::Text(text)) => {
            Value::Text(text.as_ref().into())
        }
        (DataType::Bytea, Datum::Bytes(bytes)) => Value::Bytes(bytes.as_ref().into()),
        (DataType::Uuid, Datum::Bytes(bytes)) => Value::Uuid(bytes.as_ref().try_into().ok()?),
        (DataType::Date, Datum::Int4(days @ (i32::MIN | i32::MAX))) => Value::Date(*days),
        (DataType::Date, Datum::Int4(days)) => Value::Date(days.checked_add(EPOCH_DAYS as i32)?),
        (DataType::Time, Datum::Int8(us)) => Value::Time(*us),
        (DataType::Timestamp | DataType::Timestamptz, Datum::Int8(us)) => match *us {
            i64::MIN | i64::MAX => Value::Timestamp(*us),
            us => Value::Timestamp(us.checked_add(EPOCH_US)?),
        },
        _ => return None,
    })
}

/// A scan at work.
struct Reader {
    scope: Arc<Scope>,
    rows: Rows,
    batch: Option<RowBatch>,
    opener: Arc<Opener>,
}

impl Reader {
    fn next(&mut self) -> std::result::Result<Option<RecordBatch>, DataFusionError> {
        self.scope.plan_goes_on().map_err(external)?;
        let engine = |e: onlap::Error| external(e.into());
        let batch = match self.batch.take() {
            Some(mut batch) => match self.rows.next_into(&mut batch).map_err(engine)? {
                true => batch,
                false => return Ok(None),
            },
            None => match self.rows.next() {
                Some(batch) => batch.map_err(engine)?,
                None => return Ok(None),
            },
        };
        let mut columns: Vec<ArrayRef> = batch
            .types()
            .iter()
            .zip(&batch.columns.columns)
            .map(|(ty, column)| to_arrow(*ty, column))
            .collect();
        if columns.is_empty() {
            columns.push(Arc::new(BooleanArray::from(vec![true; batch.len()])));
        }
        let made = RecordBatch::try_new(Arc::clone(&self.opener.schema), columns)?;
        self.batch = Some(batch);
        Ok(Some(made))
    }
}

/// Days from 2000 of those from 1970; the ends of their type are the infinities in both.
fn days_from_2000(days: i64) -> i32 {
    match days as i32 {
        infinite @ (i32::MIN | i32::MAX) => infinite,
        _ => (days - EPOCH_DAYS) as i32,
    }
}

/// The same of microseconds.
fn us_from_2000(us: i64) -> i64 {
    if matches!(us, i64::MIN | i64::MAX) { us } else { us.saturating_sub(EPOCH_US) }
}

/// A column of the engine in the representation of its type.
fn to_arrow(ty: DataType, column: &Column) -> ArrayRef {
    let n = column.len();
    match (&column.data, ty) {
        (Vector::Int(v), DataType::Bool) => present(column, n, |i| v[i] != 0, BooleanArray::from),
        (Vector::Int(v), DataType::Int2) => present(column, n, |i| v[i] as i16, Int16Array::from),
        (Vector::Int(v), DataType::Int4) => present(column, n, |i| v[i] as i32, Int32Array::from),
        (Vector::Int(v), DataType::Date) => {
            present(column, n, |i| days_from_2000(v[i]), Int32Array::from)
        }
        (Vector::Int(v), DataType::Timestamp | DataType::Timestamptz) => {
            present(column, n, |i| us_from_2000(v[i]), Int64Array::from)
        }
        (Vector::Int(v), DataType::Float4) => {
            present(column, n, |i| convert::f64_of(v[i]) as f32, Float32Array::from)
        }
        (Vector::Int(v), DataType::Float8) => {
            present(column, n, |i| convert::f64_of(v[i]), Float64Array::from)
        }
        (Vector::Int(v), _) => present(column, n, |i| v[i], Int64Array::from),
        (Vector::Wide(v), DataType::Uuid) => {
            let bytes = |i: usize| match convert::wide_value(ty, v[i]) {
                Value::Uuid(uuid) => uuid.to_vec(),
                _ => vec![0; 16],
            };
            fixed(column, n, bytes)
        }
        (Vector::Wide(v), _) => numerics(column, n, |i| match convert::wide_value(ty, v[i]) {
            Value::Numeric(numeric) => numeric,
            _ => onlap::Numeric { mantissa: 0, scale: 0 },
        }),
        (Vector::Numeric(mantissa, scale), _) => {
            numerics(column, n, |i| onlap::Numeric { mantissa: mantissa[i], scale: scale[i] })
        }
        (Vector::Bytes(bytes), DataType::Bytea) => {
            let values = (0..n).map(|i| (!column.is_null(i)).then(|| bytes.get(i)));
            Arc::new(BinaryArray::from_iter(values))
        }
        (Vector::Bytes(bytes), DataType::Char(length)) => {
            let values = (0..n).map(|i| (!column.is_null(i)).then(|| padded(bytes.get(i), length)));
            Arc::new(StringArray::from_iter(values))
        }
        (Vector::Bytes(bytes), _) => {
            let text = |i| std::str::from_utf8(bytes.get(i)).unwrap_or_default();
            let values = (0..n).map(|i| (!column.is_null(i)).then(|| text(i)));
            Arc::new(StringArray::from_iter(values))
        }
    }
}

fn present<T, A: datafusion::arrow::array::Array + 'static>(
    column: &Column,
    rows: usize,
    value: impl Fn(usize) -> T,
    make: impl Fn(Vec<Option<T>>) -> A,
) -> ArrayRef {
    Arc::new(make((0..rows).map(|i| (!column.is_null(i)).then(|| value(i))).collect()))
}

fn fixed(column: &Column, rows: usize, bytes: impl Fn(usize) -> Vec<u8>) -> ArrayRef {
    let values = (0..rows).map(|i| (!column.is_null(i)).then(|| bytes(i)));
    let made = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, 16);
    Arc::new(made.expect("a uuid has 16 bytes"))
}

fn numerics(column: &Column, rows: usize, value: impl Fn(usize) -> onlap::Numeric) -> ArrayRef {
    let stored = |i: usize| {
        let numeric = value(i);
        let small = Small::new(numeric.mantissa, numeric.scale);
        let made = match small.filter(|_| !numeric.is_nan()) {
            Some(small) => Numeric::from(small),
            // What is not small is NaN, or has more decimals; its text says both.
            None => {
                let mut text = Vec::new();
                let cell = Cell::Numeric(numeric);
                cell.write_text(PgType::new(oid::NUMERIC), Style::default(), &mut text);
                let text = String::from_utf8_lossy(&text);
                Numeric::parse(&text).unwrap_or_else(|_| Numeric::nan())
            }
        };
        let mut bytes = Vec::with_capacity(16);
        made.store(&mut bytes);
        bytes
    };
    let values = (0..rows).map(|i| (!column.is_null(i)).then(|| stored(i)));
    Arc::new(BinaryArray::from_iter(values))
}

/// char(n) has its blanks again.
fn padded(text: &[u8], length: u32) -> String {
    let text = std::str::from_utf8(text).unwrap_or_default();
    let missing = (length as usize).saturating_sub(text.chars().count());
    let mut out = String::with_capacity(text.len() + missing);
    out.push_str(text);
    out.extend(std::iter::repeat_n(' ', missing));
    out
}
