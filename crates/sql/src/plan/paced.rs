//! How many rows go into a step whose results may be wide?
//!
//! A batch has thousands of rows; `repeat(x, 100000)` makes a gigabyte of it. [`PacedExec`] below a step with such a
//! function hands on few rows at first, and then as many as fit into [`STEP_BYTES`] by what the rows so far came
//! to (`super::guard`). One with patterns of regular expressions that differ from row to row gets a row at a time.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, replace_children_if_necessary,
};
use futures::StreamExt;

use super::guard;
use crate::functions::bounded::is_growing;

/// What a step's results of one batch should take at most: a quarter of what a query has for batches on their way.
const STEP_BYTES: u64 = 1 << 20;
/// Bytes of constants from which on a step that has them is paced.
const LONG: u64 = 4 << 10;
/// Bytes of a compiled pattern, at most.
const PATTERN_BYTES: u64 = 10 << 20;
/// Each batch has at most this multiple of the rows of the last.
const FASTER: usize = 16;

/// Puts a [`PacedExec`] below each step that has a function whose results may be wide.
#[derive(Debug)]
pub struct Paced;

impl PhysicalOptimizerRule for Paced {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let paced = plan.transform_up(|plan| {
            let (grows, constants) = growth(plan.as_ref())?;
            if plan.children().is_empty() || !grows && constants < LONG {
                return Ok(Transformed::no(plan));
            }
            let children = plan.children().into_iter();
            let pace = |input: &Arc<dyn ExecutionPlan>| {
                Arc::new(PacedExec { input: Arc::clone(input), constants })
                    as Arc<dyn ExecutionPlan>
            };
            let children = children.map(pace).collect();
            Ok(Transformed::yes(replace_children_if_necessary(plan, children)?))
        })?;
        Ok(paced.data)
    }
    fn name(&self) -> &'static str {
        "pace"
    }
    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether a step has a function that makes much of little, and the bytes of its constants: each row may repeat them.
fn growth(plan: &dyn ExecutionPlan) -> Result<(bool, u64)> {
    let (mut grows, mut constants) = (false, 0);
    plan.apply_expressions(&mut |expr| {
        expr.apply(|part| {
            let part = part.as_ref() as &dyn std::any::Any;
            if let Some(call) = part.downcast_ref::<ScalarFunctionExpr>() {
                grows |= is_growing(call.fun());
                let pattern = call.args().get(1).filter(|_| call.name().starts_with("regexp_"));
                constants += pattern.map_or(0, pattern_bytes);
            } else if let Some(binary) = part.downcast_ref::<BinaryExpr>() {
                let is_match = matches!(
                    binary.op(),
                    Operator::RegexMatch
                        | Operator::RegexIMatch
                        | Operator::RegexNotMatch
                        | Operator::RegexNotIMatch
                );
                constants += if is_match { pattern_bytes(binary.right()) } else { 0 };
            } else if let Some(literal) = part.downcast_ref::<Literal>() {
                constants += literal.value().size() as u64;
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok((grows, constants))
}

/// What a pattern may take in each row: nothing where it is the same in all, else what the library lets one take, which
/// keeps all of a batch.
fn pattern_bytes(pattern: &Arc<dyn PhysicalExpr>) -> u64 {
    let pattern = pattern.as_ref() as &dyn std::any::Any;
    if pattern.is::<Literal>() { 0 } else { PATTERN_BYTES }
}

/// Hands on batches of as many rows as go well.
#[derive(Debug)]
struct PacedExec {
    input: Arc<dyn ExecutionPlan>,
    /// Bytes that each row of the step above may take at least.
    constants: u64,
}

impl DisplayAs for PacedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pace")
    }
}

impl ExecutionPlan for PacedExec {
    fn name(&self) -> &'static str {
        "PacedExec"
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
        Ok(Arc::new(PacedExec { input: children.swap_remove(0), constants: self.constants }))
    }
    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(PacedExec { input: children.swap_remove(0), constants: self.constants }))
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let schema = input.schema();
        let (begun, constants) = ((input, None, 1), self.constants);
        let paced = futures::stream::unfold(begun, move |(mut input, left, rows)| async move {
            // A step that collects all batches gives no other step a chance to look.
            if let Err(e) = guard::plan_goes_on() {
                return Some((Err(e), (input, None, rows)));
            }
            let batch: RecordBatch = match left {
                Some(batch) => batch,
                None => match input.next().await? {
                    Ok(batch) => batch,
                    Err(e) => return Some((Err(e), (input, None, rows))),
                },
            };
            let fitting = usize::try_from(STEP_BYTES / guard::widest().max(constants).max(1))
                .unwrap_or(usize::MAX);
            let rows = rows.min(fitting).max(1);
            let (now, rest) = match batch.num_rows() > rows {
                true => (batch.slice(0, rows), Some(batch.slice(rows, batch.num_rows() - rows))),
                false => (batch, None),
            };
            Some((Ok(now), (input, rest, rows.saturating_mul(FASTER))))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, paced)))
    }
}
