//! How is the largest row of each group found?
//!
//! [`GroupEndsExec`] reads the first or last entry of each group from an index that begins with the
//! group's columns: a loose scan of two or three entries per group. It stands for an aggregation by
//! these columns whose aggregates are all taken from that one row ([`super::rules`]).

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use onlap::{KeyRange, Scan};

use super::scan::{TableHandle, external, scope_of};
use crate::scope::Scope;
use crate::types::column_to_arrow;

/// Reads one row per group.
#[derive(Clone, Debug)]
pub struct GroupEndsExec {
    table: TableHandle,
    index: String,
    /// So many columns of the index are the group's.
    prefix: usize,
    /// The last row of each group instead of the first.
    last: bool,
    /// Columns of the answer, by position in the table.
    columns: Vec<usize>,
    properties: Arc<PlanProperties>,
}

impl GroupEndsExec {
    /// One row per group, as these fields.
    pub fn new(
        table: TableHandle,
        index: String,
        prefix: usize,
        last: bool,
        columns: Vec<usize>,
        schema: SchemaRef,
    ) -> GroupEndsExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        GroupEndsExec { table, index, prefix, last, columns, properties: Arc::new(properties) }
    }

    fn read(&self, scope: &Scope) -> crate::error::Result<RecordBatch> {
        let schema = &self.table.schema;
        // A column may be asked for twice.
        let mut distinct: Vec<usize> = self.columns.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let mut scan =
            Scan::all().columns(distinct.iter().map(|c| schema.columns[*c].name.clone()));
        if self.last {
            scan = scan.reverse();
        }
        let table = &self.table.table;
        let (index, range) = (&self.index, KeyRange::all());
        let rows = match scope.past() {
            Some(past) => past.first_per_group(table, index, self.prefix, range, scan)?,
            None => scope.tx()?.first_per_group(table, index, self.prefix, range, scan)?,
        };
        let column = |c: &usize| {
            let at = distinct.iter().position(|d| d == c).expect("all columns are read");
            let array: ArrayRef = column_to_arrow(rows.types()[at], &rows.columns.columns[at]);
            array
        };
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let columns = self.columns.iter().map(column).collect();
        RecordBatch::try_new_with_options(self.schema(), columns, &options)
            .map_err(|e| datafusion::common::DataFusionError::from(e).into())
    }
}

impl DisplayAs for GroupEndsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.last { "Last" } else { "First" };
        write!(f, "{end} Row per Group using {} on {}", self.index, self.table.schema.name)
    }
}

impl ExecutionPlan for GroupEndsExec {
    fn name(&self) -> &'static str {
        "GroupEndsExec"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }
    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }
    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }
    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let scope = scope_of(&context)?;
        let this = self.clone();
        let stream = futures::stream::once(async move { this.read(&scope).map_err(external) });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }
}
