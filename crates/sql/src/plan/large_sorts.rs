//! Which sorts with a limit may spill?
//!
//! The planner's library keeps the first rows of a sort with a limit in memory, however many they are; a sort
//! without one spills. So a limit of many rows is a step of its own above the sort.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;

/// Rows that a sort may keep: a batch, some MiB where rows are long.
const ROWS: usize = super::BATCH_ROWS;

/// Parts large limits from their sorts.
#[derive(Debug)]
pub struct LargeSorts;

impl PhysicalOptimizerRule for LargeSorts {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let parted = plan.transform_up(|plan| {
            let sort = (plan.as_ref() as &dyn Any).downcast_ref::<SortExec>();
            let limited = sort.and_then(|sort| Some((sort, sort.fetch().filter(|n| *n > ROWS)?)));
            Ok(match limited {
                Some((sort, rows)) => {
                    let all: Arc<dyn ExecutionPlan> = Arc::new(sort.with_fetch(None));
                    Transformed::yes(Arc::new(GlobalLimitExec::new(all, 0, Some(rows))) as _)
                }
                None => Transformed::no(plan),
            })
        })?;
        Ok(parted.data)
    }
    fn name(&self) -> &'static str {
        "large sorts"
    }
    fn schema_check(&self) -> bool {
        true
    }
}
