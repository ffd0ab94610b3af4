//! How does a query keep a large value that it was given?
//!
//! As a call without arguments that gives it. The planner's library copies literals with every plan that it makes, prints
//! them into the names of columns and keeps them in statistics: a parameter of 14 MB took 140 MB.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use crate::plan::guard;

/// Values of fewer bytes are literals.
const LARGE: usize = 64 << 10;

struct LargeValue {
    name: String,
    value: ScalarValue,
    signature: Signature,
}

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
    let signature = Signature::exact(Vec::new(), Volatility::Immutable);
    let large = LargeValue { name: format!("onlap_value_{number}"), value, signature };
    Arc::new(ScalarUDF::new_from_impl(large)).call(Vec::new())
}

impl fmt::Debug for LargeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

// Each has a number of its own in its name.
impl PartialEq for LargeValue {
    fn eq(&self, other: &LargeValue) -> bool {
        self.name == other.name
    }
}

impl Eq for LargeValue {}

impl Hash for LargeValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for LargeValue {
    fn name(&self) -> &str {
        &self.name
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.value.data_type())
    }
    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if guard::is_planning() {
            // The planner leaves a call that fails as it is.
            return exec_err!("left to the running query");
        }
        Ok(ColumnarValue::Scalar(self.value.clone()))
    }
}
