//! How do steps read the system's catalogs?
//!
//! Rows are made in memory when the step runs, as the statement sees the database, and put into the representations of the
//! types that PostgreSQL's columns have. Thread safety: what a step holds is shared and read only.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use datafusion_execution::TaskContext;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion_physical_plan::ExecutionPlan;
use onlap_kernels::array::Builder;
use onlap_kernels::{Cx, Datum, Repr, arrow_type, input, repr};
use onlap_pg::bind::{Column, Relation};
use onlap_pg::bound::DEFAULT_COLLATION;
use onlap_pg::catalog::Catalog;
use onlap_pg::value::Settings;
use onlap_pg::{Error, Oid, Result, TypeRef};
use onlap_query::{Facts, Step, stream_of};
use parking_lot::Mutex;

use super::session::Asked;
use super::stored;
use crate::catalog::oids;
use crate::plan::scan::external;
use crate::system::definitions::Definition;
use crate::system::rows;
use crate::view::View;

/// Rows of a batch.
const BATCH_ROWS: usize = 4096;
/// Rows that a catalog is thought to have: some hundred relations are the system's.
const ROWS: f64 = 400.0;
/// Columns, of which there are many for each relation.
const MANY_ROWS: f64 = 4000.0;

/// The collation of a column: texts of the system's tables are ordered as in every database.
pub fn collation(ty: TypeRef, of_view: bool) -> u32 {
    match Catalog::new().collation(ty.oid) {
        DEFAULT_COLLATION if !of_view => 950,
        own => own,
    }
}

/// A table or view of the system as names find it.
pub fn relation(definition: &Definition) -> Relation {
    let columns = definition.columns.iter().zip(&definition.types);
    let column = |((name, _), ty): (&(&str, _), &TypeRef)| Column {
        name: (*name).into(),
        ty: *ty,
        collation: collation(*ty, definition.is_view),
        dropped: false,
    };
    Relation {
        oid: definition.oid,
        row: oids::of_row(definition.oid),
        name: definition.name.into(),
        kind: if definition.is_view { b'v' } else { b'r' },
        columns: columns.map(column).collect(),
        // PostgreSQL's catalogs have unique indexes and primary keys of these names.
        key: match (definition.is_view, definition.columns.iter().position(|c| c.0 == "oid")) {
            (false, Some(at)) => vec![at as i32 + 1],
            _ => Vec::new(),
        },
    }
}

/// What is known of it.
pub fn facts(definition: &Definition) -> Facts {
    let many = matches!(definition.name, "pg_attribute" | "pg_proc" | "columns");
    let unique = match definition.is_view {
        false => relation(definition).key,
        true => Vec::new(),
    };
    let rows = if many { MANY_ROWS } else { ROWS };
    Facts { rows, unique: unique.into(), frozen: true, ..Facts::default() }
}

/// A scan.
struct Scan {
    definition: Arc<Definition>,
    view: View,
    catalog: Arc<Catalog>,
    /// Positions of the columns, with their types and representations.
    columns: Vec<(usize, TypeRef, Repr)>,
    schema: SchemaRef,
    /// Its rows, once they were made: a query that is run for each row of another reads them each time.
    made: Mutex<Option<(RecordBatch, MemoryReservation)>>,
}

/// A step that makes columns of a table of the system, by their numbers from 1.
///
/// # Errors
/// `0A000`: a column's type has no values here.
pub fn scan(
    definition: &Arc<Definition>,
    view: &View,
    catalog: &Arc<Catalog>,
    numbers: &[i32],
) -> Result<Arc<dyn ExecutionPlan>> {
    let mut columns = Vec::with_capacity(numbers.len());
    for number in numbers {
        let at = *number as usize - 1;
        let ty = definition.types[at];
        let unserved = || {
            let shown = catalog.shown(ty.oid);
            Error::unserved(format!("values of type {shown} are not supported yet"))
        };
        columns.push((at, ty, repr(catalog, ty.oid).ok_or_else(unserved)?));
    }
    let field = |(n, column): (usize, &(usize, TypeRef, Repr))| {
        Field::new(format!("c{n}"), arrow_type(column.2), true)
    };
    let schema = match columns.is_empty() {
        true => Schema::new(vec![Field::new("c0", arrow_type(Repr::Bool), true)]),
        false => Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>()),
    };
    let schema = Arc::new(schema);
    let work = Arc::new(Scan {
        definition: Arc::clone(definition),
        view: view.clone(),
        catalog: Arc::clone(catalog),
        columns,
        schema: Arc::clone(&schema),
        made: Mutex::default(),
    });
    let out = Arc::clone(&schema);
    let run = move |_: Vec<Arc<dyn ExecutionPlan>>, context: Arc<TaskContext>| {
        let batch = work.rows(&context)?;
        let starts = (0..batch.num_rows()).step_by(BATCH_ROWS);
        let slices: Vec<_> =
            starts.map(|at| Ok(batch.slice(at, BATCH_ROWS.min(batch.num_rows() - at)))).collect();
        Ok(stream_of(Arc::clone(&out), futures::stream::iter(slices)))
    };
    let detail = format!(" on {}", definition.name);
    Ok(Step::make("Seq Scan", detail, Vec::new(), schema, Arc::new(run)))
}

impl Scan {
    /// The rows, which are those that the statement saw first.
    fn rows(&self, context: &TaskContext) -> datafusion_common::Result<RecordBatch> {
        if let Some((made, _)) = &*self.made.lock() {
            return Ok(made.clone());
        }
        let kept = MemoryConsumer::new("rows of a catalog").register(context.memory_pool());
        kept.try_grow(crate::system::bytes_ahead(&self.view, &self.definition))?;
        let batch = self.batch().map_err(external)?;
        kept.try_resize(batch.get_array_memory_size())?;
        *self.made.lock() = Some((batch.clone(), kept));
        Ok(batch)
    }

    fn batch(&self) -> crate::error::Result<RecordBatch> {
        self.view.scope.plan_goes_on()?;
        let rows = crate::system::rows_of(&self.view, &self.definition)?;
        let (settings, asked) = (Settings::default(), Asked::new(&self.view));
        let mut cx = Cx { catalog: &self.catalog, settings: &settings, session: &asked };
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for (at, ty, repr) in &self.columns {
            let column = rows.column(self.definition.columns[*at].0);
            let made = column.map(|value| datum(&mut cx, *ty, *repr, value));
            let made: Result<Vec<Datum<'_>>> = made.collect();
            let array = made.and_then(|values| Datum::column(*repr, values.iter()));
            arrays.push(array.map_err(|e| super::sql_error(&e, ""))?);
        }
        if arrays.is_empty() {
            arrays.push(Arc::new(BooleanArray::from(vec![true; rows.len()])));
        }
        let made = RecordBatch::try_new(Arc::clone(&self.schema), arrays);
        made.map_err(|e| datafusion_common::DataFusionError::from(e).into())
    }
}

/// A value of a catalog in the representation of its column's type.
///
/// # Errors
/// It is none of the type.
pub fn datum<'a>(
    cx: &mut Cx<'_>,
    ty: TypeRef,
    repr: Repr,
    value: &'a rows::Datum,
) -> Result<Datum<'a>> {
    Ok(match (value, repr) {
        (rows::Datum::Null, _) => Datum::Null,
        (rows::Datum::Bool(v), Repr::Bool) => Datum::Bool(*v),
        (rows::Datum::Int(v), Repr::Int2) => Datum::Int2(*v as i16),
        (rows::Datum::Int(v), Repr::Int4) => Datum::Int4(*v as i32),
        (rows::Datum::Int(v), Repr::Oid) => Datum::Oid(*v as u32),
        (rows::Datum::Int(v), Repr::Int8) if matches!(ty.oid, 1114 | 1184) => {
            Datum::Int8(stored::moment_of(*v))
        }
        (rows::Datum::Int(v), Repr::Int8) => Datum::Int8(*v),
        (rows::Datum::Float(v), Repr::Float4) => Datum::Float4(*v as f32),
        (rows::Datum::Float(v), Repr::Float8) => Datum::Float8(*v),
        (rows::Datum::Text(v), Repr::Text) => Datum::Text(v.as_str().into()),
        (rows::Datum::Text(v), Repr::Char) => Datum::Char(v.bytes().next().unwrap_or(0)),
        (rows::Datum::Ints(all), Repr::Bytes) => {
            list(cx, ty.oid, all, |v, element| match element {
                Repr::Int2 => Datum::Int2(*v as i16),
                Repr::Int4 => Datum::Int4(*v as i32),
                Repr::Oid => Datum::Oid(*v as u32),
                _ => Datum::Int8(*v),
            })?
        }
        (rows::Datum::Texts(all), Repr::Bytes) => {
            list(cx, ty.oid, all, |v, _| Datum::Text(v.as_str().into()))?
        }
        (other, _) => input(cx, ty, &other.text())?,
    })
}

/// An array, or a vector of the system's.
fn list<T>(
    cx: &Cx<'_>,
    ty: Oid,
    all: &[T],
    value: impl for<'v> Fn(&'v T, Repr) -> Datum<'v>,
) -> Result<Datum<'static>> {
    let element = cx.catalog.element(ty).and_then(|element| repr(cx.catalog, element));
    let element = element.unwrap_or(Repr::Text);
    let mut builder = Builder::new(element);
    for item in all {
        builder.push(&value(item, element))?;
    }
    Ok(Datum::bytes(match ty {
        // int2vector, oidvector
        22 | 30 => builder.finish_vector(),
        _ => builder.finish(),
    }))
}
