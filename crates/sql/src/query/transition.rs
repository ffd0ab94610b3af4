//! What are the tables of changed rows that a trigger's function reads?
//!
//! A statement keeps the rows that it changes, where triggers name them by REFERENCING, in the columns of the table that it
//! names. The function of such a trigger finds them by that name before any table, and nothing that it calls does.
//! They are kept in memory that counts among that of queries.
//!
//! Thread safety: rows come by one thread, before any reads them.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use datafusion_common::DataFusionError;
use datafusion_execution::TaskContext;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion_physical_plan::ExecutionPlan;
use onlap::Row;
use onlap_kernels::arrow_type;
use onlap_pg::{Error, Oid};
use onlap_query::{Facts, Step, stream_of};
use parking_lot::Mutex;

use crate::error::Result;
use crate::fast::bytes_of;
use crate::plan::TableHandle;
use crate::plan::scan::external;
use crate::view::View;

/// Rows of a batch.
const BATCH_ROWS: usize = 1024;

/// A table of changed rows by the name that a trigger gives it.
#[derive(Clone)]
pub struct Transition {
    /// The name.
    pub name: String,
    /// What stands for it in a bound query: one of [`crate::catalog::oids::TRANSITIONS`].
    pub oid: Oid,
    /// Its rows.
    pub rows: Arc<Rows>,
}

/// Rows that a statement has changed.
pub struct Rows {
    /// The table whose columns they have.
    pub table: TableHandle,
    kept: Mutex<Kept>,
}

struct Kept {
    /// Those of no batch yet, and what they take.
    last: Vec<Row>,
    last_bytes: usize,
    batches: Vec<RecordBatch>,
    count: usize,
    memory: MemoryReservation,
}

impl Rows {
    /// None yet, of a table.
    pub fn new(view: &View, table: TableHandle) -> Rows {
        let pool = view.instance.runner.memory();
        let kept = Kept {
            last: Vec::new(),
            last_bytes: 0,
            batches: Vec::new(),
            count: 0,
            memory: MemoryConsumer::new("changed rows for triggers").register(&pool),
        };
        Rows { table, kept: Mutex::new(kept) }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// `53200`.
    pub fn push(&self, row: Row) -> Result<()> {
        let mut kept = self.kept.lock();
        let bytes = bytes_of(&row);
        kept.memory.try_grow(bytes)?;
        kept.last_bytes += bytes;
        kept.count += 1;
        kept.last.push(row);
        match kept.last.len() < BATCH_ROWS {
            true => Ok(()),
            false => self.pack(&mut kept),
        }
    }

    /// All of them.
    fn batches(&self) -> Result<Vec<RecordBatch>> {
        let mut kept = self.kept.lock();
        self.pack(&mut kept)?;
        Ok(kept.batches.clone())
    }

    fn schema(&self) -> SchemaRef {
        let types = &self.table.types;
        let field = |at| Field::new(format!("c{at}"), arrow_type(types.repr(at)), true);
        let all = 0..self.table.schema.columns.len();
        Arc::new(Schema::new(all.map(field).collect::<Vec<_>>()))
    }

    /// Makes a batch of the rows that are in none.
    fn pack(&self, kept: &mut Kept) -> Result<()> {
        if kept.last.is_empty() {
            return Ok(());
        }
        let rows = &kept.last;
        let column = |(at, column): (usize, &onlap::ColumnSchema)| -> Result<ArrayRef> {
            self.table.types.decode_values(at, &column.name, rows.iter().map(|row| &row[at]))
        };
        let columns = self.table.schema.columns.iter().enumerate().map(column);
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let made = RecordBatch::try_new_with_options(self.schema(), columns, &options);
        let made = made.map_err(DataFusionError::from)?;
        // Where there is no room the rows stay as they are.
        kept.memory.try_grow(made.get_array_memory_size())?;
        kept.last.clear();
        kept.memory.shrink(std::mem::take(&mut kept.last_bytes));
        kept.batches.push(made);
        Ok(())
    }
}

fn rows_of(view: &View, oid: Oid) -> Option<&Arc<Rows>> {
    view.transitions.iter().find(|of| of.oid == oid).map(|of| &of.rows)
}

/// What is known of one.
pub fn facts(view: &View, oid: Oid) -> Facts {
    let rows = rows_of(view, oid).map_or(0, |rows| rows.kept.lock().count);
    Facts { rows: rows as f64, frozen: true, ..Facts::default() }
}

/// A step that gives columns of one, by their numbers from 1.
///
/// # Errors
/// `0A000`: another column than one of its own is asked for; `42P01`: the call that it belonged to has ended.
pub fn scan(view: &View, oid: Oid, numbers: &[i32]) -> onlap_pg::Result<Arc<dyn ExecutionPlan>> {
    let rows = rows_of(view, oid).cloned();
    let rows = rows.ok_or_else(|| Error::new("42P01", "a table of changed rows is not there"))?;
    let unserved = || Error::unserved("system columns of a table of changed rows");
    let place = |number: &i32| usize::try_from(number - 1).map_err(|_| unserved());
    let places = numbers.iter().map(place).collect::<onlap_pg::Result<Vec<usize>>>()?;
    let field = |(n, at): (usize, &usize)| {
        Field::new(format!("c{n}"), arrow_type(rows.table.types.repr(*at)), true)
    };
    let schema = match places.is_empty() {
        true => vec![Field::new("c0", arrow_schema::DataType::Boolean, true)],
        false => places.iter().enumerate().map(field).collect::<Vec<_>>(),
    };
    let schema = Arc::new(Schema::new(schema));
    let out = Arc::clone(&schema);
    let run = move |_: Vec<Arc<dyn ExecutionPlan>>, _: Arc<TaskContext>| {
        let all = rows.batches().map_err(external)?;
        let (places, given) = (places.clone(), Arc::clone(&out));
        let batches = all.into_iter().map(move |batch| {
            let count = batch.num_rows();
            let columns: Vec<ArrayRef> = match places.is_empty() {
                true => vec![Arc::new(arrow_array::BooleanArray::from(vec![true; count]))],
                false => places.iter().map(|at| Arc::clone(batch.column(*at))).collect(),
            };
            Ok::<_, DataFusionError>(RecordBatch::try_new(Arc::clone(&given), columns)?)
        });
        Ok(stream_of(Arc::clone(&out), futures::stream::iter(batches)))
    };
    Ok(Step::make("Named Tuplestore Scan", String::new(), Vec::new(), schema, Arc::new(run)))
}
