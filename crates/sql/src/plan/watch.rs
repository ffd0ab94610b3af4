//! How does a plan end that nobody wants any more?
//!
//! Scans look at each batch whether the statement goes on. A join can make many batches of few, so
//! [`WatchExec`] above it looks as well.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;

use super::scan::{external, scope_of};

/// Puts a [`WatchExec`] above each join.
#[derive(Debug)]
pub struct Watch;

impl PhysicalOptimizerRule for Watch {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let watched = plan.transform_up(|plan| {
            let joins = matches!(
                plan.name(),
                "CrossJoinExec" | "NestedLoopJoinExec" | "HashJoinExec" | "SortMergeJoinExec"
            );
            Ok(match joins {
                true => Transformed::yes(Arc::new(WatchExec { input: plan }) as _),
                false => Transformed::no(plan),
            })
        })?;
        Ok(watched.data)
    }
    fn name(&self) -> &'static str {
        "watch"
    }
    fn schema_check(&self) -> bool {
        true
    }
}

/// Hands on batches for as long as the statement goes on.
#[derive(Debug)]
struct WatchExec {
    input: Arc<dyn ExecutionPlan>,
}

impl DisplayAs for WatchExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

impl ExecutionPlan for WatchExec {
    fn name(&self) -> &'static str {
        "WatchExec"
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
        Ok(Arc::new(WatchExec { input: children.swap_remove(0) }))
    }
    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(WatchExec { input: children.swap_remove(0) }))
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let scope = scope_of(&context)?;
        let input = self.input.execute(partition, context)?;
        let schema = input.schema();
        let watched = input.map(move |batch| {
            scope.plan_goes_on().map_err(external)?;
            batch
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, watched)))
    }
}
