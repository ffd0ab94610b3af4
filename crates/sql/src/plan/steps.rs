//! How do steps come from a bound query?
//!
//! By the planner's library, which calculates constants meanwhile. Large ones are left to the running query
//! ([`guard::planning`]), but VALUES knows no such rest: the library calculates its rows while it plans, and a row that fails
//! is an error. So they are calculated here, between the two halves of planning.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::Schema;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{ColumnarValue, Expr, LogicalPlan};
use datafusion::physical_expr::create_physical_expr;
use datafusion::physical_plan::ExecutionPlan;
use tokio::runtime::Handle;

use super::{guard, windows};
use crate::functions::patterns;

/// The steps of a query. The thread must be one that may wait for the runtime.
///
/// # Errors
/// Those of the planner's library; those of calculating VALUES.
pub fn of(
    state: &SessionState,
    handle: &Handle,
    plan: &LogicalPlan,
) -> Result<Arc<dyn ExecutionPlan>> {
    let simple = guard::planning(|| state.optimize(plan))?;
    let ready = simple.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Values(_) => node.map_expressions(|expr| calculated(state, expr)),
        LogicalPlan::Window(_) => windows::looking(node),
        LogicalPlan::Aggregate(_) => {
            let node = patterns::measured(node)?.data;
            node.map_expressions(|expr| with_separator(state, expr))
        }
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Join(_) => patterns::measured(node),
        node => Ok(Transformed::no(node)),
    })?;
    let planner = state.query_planner();
    guard::planning(|| handle.block_on(planner.create_physical_plan(&ready.data, state)))
}

/// string_agg takes a constant to put between texts, also one that was left to the running query.
fn with_separator(state: &SessionState, expr: Expr) -> Result<Transformed<Expr>> {
    let name = expr.schema_name().to_string();
    match expr {
        Expr::AggregateFunction(mut call) if has_open_separator(&call) => {
            let separator = call.params.args.swap_remove(1);
            call.params.args.insert(1, calculated(state, separator)?.data);
            // Who reads it knows it by this name.
            Ok(Transformed::yes(Expr::AggregateFunction(call).alias(name)))
        }
        Expr::Alias(mut alias) => {
            let inner = std::mem::take(&mut *alias.expr);
            Ok(with_separator(state, inner)?.update_data(|inner| {
                *alias.expr = inner.unalias();
                Expr::Alias(alias)
            }))
        }
        other => Ok(Transformed::no(other)),
    }
}

fn has_open_separator(call: &AggregateFunction) -> bool {
    let separator = call.params.args.get(1).filter(|_| call.func.name() == "string_agg");
    separator.is_some_and(|s| !matches!(s, Expr::Literal(..)) && s.column_refs().is_empty())
}

/// A value of a row of VALUES.
fn calculated(state: &SessionState, expr: Expr) -> Result<Transformed<Expr>> {
    let is_query =
        |e: &Expr| Ok(matches!(e, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_)));
    if matches!(expr, Expr::Literal(..)) || expr.exists(is_query)? {
        return Ok(Transformed::no(expr));
    }
    let (nothing, known) = (DFSchema::empty(), PhysicalPlanningContext::default());
    let value = create_physical_expr(&expr, &nothing, state.execution_props(), &known)?;
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
    let value = match value.evaluate(&row)? {
        ColumnarValue::Scalar(value) => value,
        ColumnarValue::Array(array) => ScalarValue::try_from_array(&array, 0)?,
    };
    Ok(Transformed::yes(Expr::Literal(value, None)))
}
