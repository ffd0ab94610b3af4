//! How often is a row repeated beside the items of its list?
//!
//! The step that unnests lists makes one batch of one batch: a row of ten thousand bytes with a list of a hundred thousand
//! items is a gigabyte. [`PartsExec`] below it hands on such rows one by one, each as often as its list has parts, with a
//! part of the list, so that what is made of each takes little.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, RecordBatch, new_null_array};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, replace_children_if_necessary,
};
use futures::StreamExt;

use super::guard;
use super::width::{BATCH_BYTES, longest};

/// Puts a [`PartsExec`] below each step that unnests lists.
#[derive(Debug)]
pub struct Parts;

impl PhysicalOptimizerRule for Parts {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let parted = plan.transform_up(|plan| {
            let unnest = (plan.as_ref() as &dyn std::any::Any).downcast_ref::<UnnestExec>();
            let Some(unnest) = unnest else { return Ok(Transformed::no(plan)) };
            // A list within a list keeps its place in both.
            if unnest.list_column_indices().iter().any(|list| list.depth != 1) {
                return Ok(Transformed::no(plan));
            }
            let lists = unnest.list_column_indices().iter().map(|list| list.index_in_input_schema);
            let (input, lists) = (Arc::clone(unnest.input()), lists.collect());
            let child: Arc<dyn ExecutionPlan> = Arc::new(PartsExec { input, lists });
            Ok(Transformed::yes(replace_children_if_necessary(plan, vec![child])?))
        })?;
        Ok(parted.data)
    }
    fn name(&self) -> &'static str {
        "parts"
    }
    fn schema_check(&self) -> bool {
        true
    }
}

/// A batch, and where its next part begins: row, and item of the row's lists.
type Left = (RecordBatch, usize, usize);

/// Hands on rows with parts of their lists.
#[derive(Clone, Debug)]
struct PartsExec {
    input: Arc<dyn ExecutionPlan>,
    /// Places of the lists among the columns.
    lists: Vec<usize>,
}

impl PartsExec {
    fn of(&self, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Arc<dyn ExecutionPlan> {
        Arc::new(PartsExec { input: children.swap_remove(0), lists: self.lists.clone() })
    }
}

fn items(array: &ArrayRef, row: usize) -> usize {
    match array.as_list_opt::<i32>() {
        Some(list) if list.is_valid(row) => list.value_length(row) as usize,
        _ => 0,
    }
}

/// The next part of a batch, and what is left of it.
fn next_part(lists: &[usize], (batch, row, from): Left) -> Result<(RecordBatch, Option<Left>)> {
    let others = (0..batch.num_columns()).filter(|at| !lists.contains(at));
    let wide: u64 = others.map(|at| longest(batch.column(at))).sum();
    let most = |row: usize| lists.iter().map(|at| items(batch.column(*at), row)).max().unwrap_or(0);
    let are_lists =
        lists.iter().all(|at| matches!(batch.column(*at).data_type(), DataType::List(_)));
    let all: u64 = (row..batch.num_rows()).map(|row| most(row) as u64).sum();
    if from == 0 && (!are_lists || all.saturating_mul(wide) <= BATCH_BYTES) {
        return Ok((batch.slice(row, batch.num_rows() - row), None));
    }
    let step = usize::try_from(BATCH_BYTES / wide.max(1)).unwrap_or(usize::MAX).max(1);
    let mut columns = Vec::with_capacity(batch.num_columns());
    for (at, column) in batch.columns().iter().enumerate() {
        columns.push(match lists.contains(&at) {
            true => part_of(column, row, from, step)?,
            false => column.slice(row, 1),
        });
    }
    let part = RecordBatch::try_new(batch.schema(), columns)?;
    let (row, from) = match from.saturating_add(step) < most(row) {
        true => (row, from + step),
        false => (row + 1, 0),
    };
    let left = (row < batch.num_rows()).then_some((batch, row, from));
    Ok((part, left))
}

/// A row's list, from an item on, of so many items at most.
fn part_of(column: &ArrayRef, row: usize, from: usize, step: usize) -> Result<ArrayRef> {
    let DataType::List(field) = column.data_type() else { return Ok(column.slice(row, 1)) };
    if column.is_null(row) {
        return Ok(match from {
            0 => column.slice(row, 1),
            _ => new_null_array(column.data_type(), 1),
        });
    }
    let items = column.as_list::<i32>().value(row);
    let from = from.min(items.len());
    let length = step.min(items.len() - from);
    let offsets = OffsetBuffer::from_lengths([length]);
    let list = ListArray::try_new(Arc::clone(field), offsets, items.slice(from, length), None)?;
    Ok(Arc::new(list))
}

impl DisplayAs for PartsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Parts")
    }
}

impl ExecutionPlan for PartsExec {
    fn name(&self) -> &'static str {
        "PartsExec"
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
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self.of(children))
    }
    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self.of(children))
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let (schema, lists) = (input.schema(), self.lists.clone());
        let parts = futures::stream::unfold((input, None), move |(mut input, left)| {
            let lists = lists.clone();
            async move {
                if let Err(e) = guard::plan_goes_on() {
                    return Some((Err(e), (input, None)));
                }
                let left: Left = match left {
                    Some(left) => left,
                    None => match input.next().await? {
                        Ok(batch) => (batch, 0, 0),
                        Err(e) => return Some((Err(e), (input, None))),
                    },
                };
                Some(match next_part(&lists, left) {
                    Ok((part, left)) => (Ok(part), (input, left)),
                    Err(e) => (Err(e), (input, None)),
                })
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, parts)))
    }
}
