//! How does planning end that no client waits for any more?
//!
//! Each rule of the planner's library is put into a [`Watched`], which looks whether the statement goes on before
//! each node that the rule rewrites (`super::guard`). What the library does between nodes is bounded by the
//! statement's depth.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::analyzer::AnalyzerRule;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{Analyzer, Optimizer, OptimizerConfig, OptimizerRule};

use super::guard;

/// A rule that ends with its statement.
#[derive(Debug)]
struct Watched<R: ?Sized>(Arc<R>);

/// The rules that make a plan right.
pub fn analyzers() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let rules = Analyzer::new().rules.into_iter();
    rules.map(|rule| Arc::new(Watched(rule)) as _).collect()
}

/// The rules that make a plan good.
pub fn optimizers() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let rules = Optimizer::new().rules.into_iter();
    rules.map(|rule| Arc::new(Watched(rule)) as _).collect()
}

impl AnalyzerRule for Watched<dyn AnalyzerRule + Send + Sync> {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        guard::go_on()?;
        self.0.analyze(plan, config)
    }
    fn name(&self) -> &str {
        self.0.name()
    }
}

impl OptimizerRule for Watched<dyn OptimizerRule + Send + Sync> {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }
    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        guard::go_on()?;
        self.0.rewrite(plan, config)
    }
}
