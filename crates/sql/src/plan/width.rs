//! How wide are the rows that a join repeats?
//!
//! A join makes batches of as many rows as a query's batches have, whatever is in them: a text of a megabyte beside
//! thousands of numbers is gigabytes, in one step. [`WidthExec`] below a join measures what comes in. Where a batch of
//! such rows would take more than [`BATCH_BYTES`], the query ends, and begins anew with as many rows in a batch as fit.
//! One that has given rows cannot do so, and goes on as far as there is memory.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, OffsetSizeTrait, RecordBatch};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType, GenericBinaryType, GenericStringType};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, replace_children_if_necessary,
};
use futures::StreamExt;

use super::guard;

/// What a batch of a join should take at most: a query has as much for each of its batches on their way.
pub const BATCH_BYTES: u64 = 4 << 20;

/// Puts a [`WidthExec`] below each side of a join.
#[derive(Debug)]
pub struct Widths;

impl PhysicalOptimizerRule for Widths {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let measured = plan.transform_up(|plan| {
            let joins = matches!(
                plan.name(),
                "CrossJoinExec" | "NestedLoopJoinExec" | "HashJoinExec" | "SortMergeJoinExec"
            );
            if !joins {
                return Ok(Transformed::no(plan));
            }
            let measure = |input: &Arc<dyn ExecutionPlan>| match is_varying(input) {
                true => Arc::new(WidthExec { input: Arc::clone(input) }) as _,
                false => Arc::clone(input),
            };
            let children = plan.children().into_iter().map(measure).collect();
            Ok(Transformed::yes(replace_children_if_necessary(plan, children)?))
        })?;
        Ok(measured.data)
    }
    fn name(&self) -> &'static str {
        "widths"
    }
    fn schema_check(&self) -> bool {
        true
    }
}

fn is_varying(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.schema().fields().iter().any(|field| !field.data_type().is_primitive())
}

/// Bytes of the widest row of a batch, at most.
pub fn widest(batch: &RecordBatch) -> u64 {
    batch.columns().iter().map(longest).sum()
}

/// Bytes of the longest value of a column, at most.
pub fn longest(array: &ArrayRef) -> u64 {
    match array.data_type() {
        DataType::Utf8 => of_offsets(array.as_bytes::<GenericStringType<i32>>().offsets()),
        DataType::LargeUtf8 => of_offsets(array.as_bytes::<GenericStringType<i64>>().offsets()),
        DataType::Binary => of_offsets(array.as_bytes::<GenericBinaryType<i32>>().offsets()),
        DataType::LargeBinary => of_offsets(array.as_bytes::<GenericBinaryType<i64>>().offsets()),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let items = of_offsets(list.offsets());
            items.saturating_mul(longest(list.values()).max(1))
        }
        DataType::Struct(_) => array.as_struct().columns().iter().map(longest).sum(),
        ty => ty.primitive_width().unwrap_or(1) as u64,
    }
}

fn of_offsets<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>) -> u64 {
    let lengths = offsets.windows(2).map(|pair| (pair[1] - pair[0]).as_usize() as u64);
    lengths.max().unwrap_or(0)
}

/// Hands on batches whose rows may be repeated.
#[derive(Debug)]
struct WidthExec {
    input: Arc<dyn ExecutionPlan>,
}

impl DisplayAs for WidthExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Width")
    }
}

impl ExecutionPlan for WidthExec {
    fn name(&self) -> &'static str {
        "WidthExec"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }
    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(WidthExec { input: children.swap_remove(0) }))
    }
    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(WidthExec { input: children.swap_remove(0) }))
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rows = context.session_config().batch_size() as u64;
        let input = self.input.execute(partition, context)?;
        let schema = input.schema();
        let measured = input.map(move |batch| {
            let batch = batch?;
            guard::repeats(widest(&batch), rows)?;
            Ok(batch)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, measured)))
    }
}
