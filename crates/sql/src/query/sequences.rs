//! How is a sequence read as a relation?
//!
//! It has one row: the last value and whether it was taken ([`onlap::Sequence::standing`]), and PostgreSQL's number of values
//! logged ahead, which is 0 here. The row is made when the step runs. Thread safety: pure functions.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field, Schema};
use datafusion_common::DataFusionError;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::ExecutionPlan;
use onlap_pg::bind::{Column, Relation};
use onlap_pg::bound::{EntryKind, QueryId};
use onlap_pg::catalog::oids;
use onlap_pg::{Error, Oid, Result, TypeRef};
use onlap_query::{Facts, Step, TABLE_OID, stream_of};

use super::Bound;
use crate::catalog::Name;
use crate::plan::scan::{external, scope_of};

/// Its columns.
const COLUMNS: [(&str, Oid); 3] =
    [("last_value", oids::INT8), ("log_cnt", oids::INT8), ("is_called", oids::BOOL)];

impl Bound {
    /// Whether it reads the row of a sequence.
    pub fn reads_sequence(&self) -> bool {
        !self.others.sequences.is_empty()
    }

    /// The name of the sequence that an entry of a query is, from 1.
    pub fn sequence(&self, query: QueryId, entry: usize) -> Option<String> {
        match &self.tree.query(query).entries[entry - 1].kind {
            EntryKind::Relation { oid, .. } => {
                self.others.sequences.get(oid).map(|engine| Name::of_engine(engine).1.name)
            }
            _ => None,
        }
    }
}

/// A sequence as names find it.
pub fn relation(oid: Oid, row: Oid, name: &str) -> Relation {
    let column = |(name, ty): (&str, Oid)| Column {
        name: name.into(),
        ty: TypeRef::new(ty),
        collation: 0,
        dropped: false,
    };
    Relation {
        oid,
        row,
        name: name.into(),
        kind: b'S',
        columns: COLUMNS.map(column).to_vec(),
        key: Vec::new(),
    }
}

/// What is known of it.
pub fn facts() -> Facts {
    Facts { rows: 1.0, frozen: true, ..Facts::default() }
}

/// That its row cannot be locked.
pub fn no_locks(engine: &str) -> Error {
    let name = Name::of_engine(engine).1.name;
    Error::new("42809", format!("cannot lock rows in sequence \"{name}\""))
}

/// A step that gives columns of a sequence, by their numbers from 1.
///
/// # Errors
/// `0A000`: rows' ids are asked for.
pub fn scan(engine: &str, oid: Oid, numbers: &[i32]) -> Result<Arc<dyn ExecutionPlan>> {
    let mut fields = Vec::with_capacity(numbers.len().max(1));
    for (n, number) in numbers.iter().enumerate() {
        let ty = match *number {
            1 | 2 => DataType::Int64,
            3 => DataType::Boolean,
            TABLE_OID => DataType::UInt32,
            _ => return Err(no_locks(engine)),
        };
        fields.push(Field::new(format!("c{n}"), ty, true));
    }
    if fields.is_empty() {
        fields.push(Field::new("c0", DataType::Boolean, true));
    }
    let schema = Arc::new(Schema::new(fields));
    let detail = format!(" on {}", Name::of_engine(engine).1.name);
    let (engine, numbers, out) = (engine.to_string(), numbers.to_vec(), Arc::clone(&schema));
    let run = move |_: Vec<Arc<dyn ExecutionPlan>>, context: Arc<TaskContext>| {
        let scope = scope_of(&context)?;
        let sequence = scope.tx().and_then(|tx| Ok(tx.sequence(&engine)?)).map_err(external)?;
        let (last, called) = sequence.standing();
        let value = |number: &i32| -> ArrayRef {
            match *number {
                1 => Arc::new(Int64Array::from(vec![last])),
                2 => Arc::new(Int64Array::from(vec![0])),
                3 => Arc::new(BooleanArray::from(vec![called])),
                _ => Arc::new(UInt32Array::from(vec![oid])),
            }
        };
        let mut columns: Vec<ArrayRef> = numbers.iter().map(value).collect();
        if columns.is_empty() {
            columns.push(Arc::new(BooleanArray::from(vec![true])));
        }
        let batch = RecordBatch::try_new(Arc::clone(&out), columns)?;
        let batches = futures::stream::iter([Ok::<_, DataFusionError>(batch)]);
        Ok(stream_of(Arc::clone(&out), batches))
    };
    Ok(Step::make("Seq Scan", detail, Vec::new(), schema, Arc::new(run)))
}
