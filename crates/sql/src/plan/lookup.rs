//! How is a table joined that an index finds the rows of?
//!
//! [`LookupJoinExec`] looks up, for each batch of the outer side, its distinct keys in an index of the
//! inner table, instead of reading that table whole. It stands for a hash join where the outer side is
//! small against the inner table ([`super::rules`]). The inner side may carry a filter.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatchOptions;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{JoinSide, JoinType, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;
use onlap::{Batch, KeyRange, Scan, Value};
use parking_lot::Mutex;

use super::scan::{TableHandle, external, scope_of};
use crate::assign::assign;
use crate::scope::Scope;
use crate::types::{Cell, column_to_arrow};

/// The inner side: a table by one of its indexes.
#[derive(Clone, Debug)]
pub struct Inner {
    /// The table.
    pub table: TableHandle,
    /// The index's name.
    pub index: String,
    /// Columns that are read, by position in the table.
    pub columns: Vec<usize>,
    /// Judged on these columns.
    pub filter: Option<Arc<dyn PhysicalExpr>>,
    /// Its fields.
    pub schema: SchemaRef,
}

/// Joins by lookups.
#[derive(Debug)]
pub struct LookupJoinExec {
    outer: Arc<dyn ExecutionPlan>,
    /// Which side of the join the outer one is.
    side: JoinSide,
    /// Per column of the index's key, in its order: what of the outer side it equals.
    keys: Vec<Arc<dyn PhysicalExpr>>,
    inner: Inner,
    join: JoinType,
    /// Columns of the answer among those of both sides, left ones first.
    projection: Option<Vec<usize>>,
    properties: Arc<PlanProperties>,
}

impl LookupJoinExec {
    /// A join whose answer has these fields. Of the join types, inner ones are done, those that keep the
    /// outer side's rows (left, semi, anti joins with the outer side left), and semi joins that keep the
    /// inner side's: each key is looked up once then.
    pub fn new(
        outer: Arc<dyn ExecutionPlan>,
        side: JoinSide,
        keys: Vec<Arc<dyn PhysicalExpr>>,
        inner: Inner,
        join: JoinType,
        projection: Option<Vec<usize>>,
        schema: SchemaRef,
    ) -> LookupJoinExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(outer.properties().partitioning.partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let properties = Arc::new(properties);
        LookupJoinExec { outer, side, keys, inner, join, projection, properties }
    }
}

impl DisplayAs for LookupJoinExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (index, table) = (&self.inner.index, &self.inner.table.schema.name);
        write!(f, "Index Lookup {} Join using {index} on {table}", self.join)
    }
}

impl ExecutionPlan for LookupJoinExec {
    fn name(&self) -> &'static str {
        "LookupJoinExec"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.outer]
    }
    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for key in &self.keys {
            if f(key)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }
    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(LookupJoinExec::new(
            children.swap_remove(0),
            self.side,
            self.keys.clone(),
            self.inner.clone(),
            self.join,
            self.projection.clone(),
            self.schema(),
        )))
    }
    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        use datafusion::physical_plan::execution_plan::ChildrenPropertiesMode;
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let scope = scope_of(&context)?;
        let outer = self.outer.execute(partition, context)?;
        let work = Work {
            scope,
            side: self.side,
            keys: self.keys.clone(),
            inner: self.inner.clone(),
            join: self.join,
            projection: self.projection.clone(),
            schema: self.schema(),
            seen: Mutex::default(),
        };
        let schema = self.schema();
        let joined = outer.map(move |batch| batch.and_then(|batch| work.join(&batch)));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, joined)))
    }
}

struct Work {
    scope: Arc<Scope>,
    side: JoinSide,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    inner: Inner,
    join: JoinType,
    projection: Option<Vec<usize>>,
    schema: SchemaRef,
    /// Keys that were looked up, where each is to be once.
    seen: Mutex<HashSet<Vec<u8>>>,
}

/// Rows of the inner side by key: positions in a batch.
type Found = HashMap<Vec<u8>, Vec<u32>>;

impl Work {
    fn join(&self, outer: &RecordBatch) -> Result<RecordBatch> {
        let keys = self
            .keys
            .iter()
            .map(|key| key.evaluate(outer)?.into_array(outer.num_rows()))
            .collect::<Result<Vec<ArrayRef>>>()?;
        let mut row_keys: Vec<Option<Vec<u8>>> = Vec::with_capacity(outer.num_rows());
        let mut wanted: HashMap<Vec<u8>, Vec<Value>> = HashMap::new();
        for row in 0..outer.num_rows() {
            let key = self.key_of(&keys, row);
            let bytes = key.as_ref().map(|key| format!("{key:?}").into_bytes());
            if let (Some(bytes), Some(key)) = (&bytes, key) {
                wanted.entry(bytes.clone()).or_insert(key);
            }
            row_keys.push(bytes);
        }
        if self.keeps_inner() {
            let mut seen = self.seen.lock();
            wanted.retain(|bytes, _| seen.insert(bytes.clone()));
            drop(seen);
            let (found, inner) = self.look_up(wanted).map_err(external)?;
            let mut rows: Vec<u32> = found.into_values().flatten().collect();
            rows.sort_unstable();
            return self.kept_inner(&inner, rows);
        }
        let (found, inner) = self.look_up(wanted).map_err(external)?;
        let (mut left, mut right): (Vec<u32>, Vec<Option<u32>>) = (Vec::new(), Vec::new());
        for (row, key) in row_keys.iter().enumerate() {
            let matches = key.as_ref().and_then(|key| found.get(key)).filter(|m| !m.is_empty());
            let row = row as u32;
            match (self.join, matches) {
                (JoinType::LeftSemi | JoinType::RightSemi, Some(_))
                | (JoinType::LeftAnti | JoinType::RightAnti, None) => left.push(row),
                (JoinType::Inner | JoinType::Left | JoinType::Right, Some(matches)) => {
                    left.extend(std::iter::repeat_n(row, matches.len()));
                    right.extend(matches.iter().map(|m| Some(*m)));
                }
                (JoinType::Left | JoinType::Right, None) => {
                    left.push(row);
                    right.push(None);
                }
                _ => {}
            }
        }
        self.assemble(outer, &inner, left, right)
    }

    /// Whether the answer has the inner side's rows alone.
    fn keeps_inner(&self) -> bool {
        matches!(
            (self.join, self.side),
            (JoinType::LeftSemi, JoinSide::Right) | (JoinType::RightSemi, JoinSide::Left)
        )
    }

    fn kept_inner(&self, inner: &RecordBatch, rows: Vec<u32>) -> Result<RecordBatch> {
        let n = rows.len();
        let rows = UInt32Array::from(rows);
        let all = inner.columns().iter().map(|c| Ok(take(c, &rows, None)?));
        let all = all.collect::<Result<Vec<ArrayRef>>>()?;
        self.finish(all, n)
    }

    /// The key to look up; `None` where no row has it.
    fn key_of(&self, keys: &[ArrayRef], row: usize) -> Option<Vec<Value>> {
        let schema = &self.inner.table.schema;
        let index = schema.index_by_name(&self.inner.index)?;
        let mut key = Vec::with_capacity(keys.len());
        for (array, part) in keys.iter().zip(&index.key) {
            let ty = schema.columns[schema.position(part.column)?].ty;
            match Cell::of_array(array, row) {
                Cell::Null => return None,
                cell => key.push(assign(cell, ty).ok()?),
            }
        }
        Some(key)
    }

    fn look_up(
        &self,
        wanted: HashMap<Vec<u8>, Vec<Value>>,
    ) -> crate::error::Result<(Found, RecordBatch)> {
        let schema = &self.inner.table.schema;
        let names: Vec<String> =
            self.inner.columns.iter().map(|c| schema.columns[*c].name.clone()).collect();
        let types: Vec<_> = self.inner.columns.iter().map(|c| schema.columns[*c].ty).collect();
        let mut rows = Batch::new(types.iter().map(|ty| ty.physical()));
        let mut found = Found::with_capacity(wanted.len());
        // In the order of keys, so that neighbours share blocks.
        let mut wanted: Vec<_> = wanted.into_iter().collect();
        wanted.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (bytes, key) in wanted {
            self.scope.plan_goes_on()?;
            let range = KeyRange::eq(key);
            let scan = Scan::all().columns(names.clone());
            let (table, index) = (&self.inner.table.table, &self.inner.index);
            let read = match self.scope.past() {
                Some(past) => past.index_scan(table, index, range, scan)?,
                None => self.scope.tx()?.index_scan(table, index, range, scan)?,
            };
            let from = rows.rows;
            for batch in read {
                let batch = batch?;
                rows.extend_range(&batch.columns, 0..batch.len());
            }
            found.insert(bytes, (from as u32..rows.rows as u32).collect());
        }
        let columns = types.iter().zip(&rows.columns).map(|(ty, c)| column_to_arrow(*ty, c));
        let options = RecordBatchOptions::new().with_row_count(Some(rows.rows));
        let columns = columns.collect();
        let fields = Arc::clone(&self.inner.schema);
        let inner = RecordBatch::try_new_with_options(fields, columns, &options)
            .map_err(datafusion::common::DataFusionError::from)?;
        if let Some(filter) = &self.inner.filter {
            let kept = filter.evaluate(&inner)?.into_array(inner.num_rows())?;
            let kept: &BooleanArray = kept.as_boolean();
            let holds = |row: &u32| kept.is_valid(*row as usize) && kept.value(*row as usize);
            found.values_mut().for_each(|rows| rows.retain(|row| holds(row)));
        }
        Ok((found, inner))
    }

    fn assemble(
        &self,
        outer: &RecordBatch,
        inner: &RecordBatch,
        left: Vec<u32>,
        right: Vec<Option<u32>>,
    ) -> Result<RecordBatch> {
        let rows = left.len();
        let (left, right) = (UInt32Array::from(left), UInt32Array::from(right));
        let take_all = |batch: &RecordBatch, rows: &UInt32Array| {
            let columns = batch.columns().iter();
            columns.map(|c| Ok(take(c, rows, None)?)).collect::<Result<Vec<ArrayRef>>>()
        };
        let outer = take_all(outer, &left)?;
        let inner = match self.join {
            JoinType::Inner | JoinType::Left | JoinType::Right => take_all(inner, &right)?,
            _ => Vec::new(),
        };
        let all: Vec<ArrayRef> = match self.side {
            JoinSide::Right => inner.into_iter().chain(outer).collect(),
            _ => outer.into_iter().chain(inner).collect(),
        };
        self.finish(all, rows)
    }

    fn finish(&self, all: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let columns = match &self.projection {
            Some(projection) => projection.iter().map(|i| Arc::clone(&all[*i])).collect(),
            None => all,
        };
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}
