//! How does a query keep a large value that it was given?
//!
//! As a call without arguments that gives it. The planner's library copies literals with every plan that it makes, prints
//! them into the names of columns and keeps them in statistics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, ScalarUDF};

use super::constant::Constant;

/// Values of fewer bytes are literals.
const LARGE: usize = 64 << 10;

/// The plan with its large parameters in place, which are taken out of `values`; the others are left.
///
/// # Errors
/// Those of the planner's library.
pub fn place(plan: LogicalPlan, values: &mut [ScalarValue]) -> Result<LogicalPlan> {
    let large = |value: &mut ScalarValue| match length(value) > LARGE {
        true => Some(call(std::mem::replace(value, ScalarValue::Null))),
        false => None,
    };
    let calls: Vec<Option<Expr>> = values.iter_mut().map(large).collect();
    if calls.iter().all(Option::is_none) {
        return Ok(plan);
    }
    let call_for = |id: &str| {
        let number: usize = id.strip_prefix('$')?.parse().ok()?;
        calls.get(number.checked_sub(1)?)?.clone()
    };
    let placed = plan.transform_up_with_subqueries(|node| {
        let names = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            let new = expr.transform_up(|e| match &e {
                Expr::Placeholder(place) => match call_for(&place.id) {
                    Some(call) => Ok(Transformed::yes(call)),
                    None => Ok(Transformed::no(e)),
                },
                _ => Ok(Transformed::no(e)),
            })?;
            Ok(new.update_data(|e| name.restore(e)))
        })
    })?;
    Ok(placed.data)
}

/// Bytes of a text. Lists are literals, whose elements may be looked up in an index.
fn length(value: &ScalarValue) -> usize {
    match value {
        ScalarValue::Utf8(Some(text)) => text.len(),
        ScalarValue::Binary(Some(bytes)) => bytes.len(),
        _ => 0,
    }
}

fn call(value: ScalarValue) -> Expr {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // Each has a name of its own, by which calls are told apart.
    let large = Constant::left_to_run(format!("onlap_value_{number}"), value);
    Arc::new(ScalarUDF::new_from_impl(large)).call(Vec::new())
}
