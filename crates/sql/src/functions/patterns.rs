//! How long may the pattern of an operator be?
//!
//! `~` and LIKE are no functions, so that no bound is asked for what they understand. A pattern that is calculated while the
//! query runs goes through [`measured`], which gives it back as it is ([`super::bounded`]).

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};

use super::bounded;

/// The argument itself.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Same {
    signature: Signature,
}

impl ScalarUDFImpl for Same {
    fn name(&self) -> &str {
        "onlap_pattern"
    }
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        // Columns have their names by then.
        Ok(args.iter().map(|pattern| pattern.schema_name().to_string()).collect())
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [ty] => Ok(ty.clone()),
            _ => plan_err!("a pattern is one value"),
        }
    }
    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(args.args.swap_remove(0))
    }
}

/// Measures the patterns of a node's expressions that are no constants.
///
/// # Errors
/// An expression that cannot be changed: a defect.
pub fn measured(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    node.map_expressions(|expr| {
        expr.transform_up(|mut expr| {
            let pattern = match &mut expr {
                Expr::Like(like) | Expr::SimilarTo(like) => &mut like.pattern,
                Expr::BinaryExpr(binary) if is_match(binary.op) => &mut binary.right,
                _ => return Ok(Transformed::no(expr)),
            };
            if !matches!(**pattern, Expr::ScalarFunction(_)) {
                return Ok(Transformed::no(expr));
            }
            let inner = std::mem::take(&mut **pattern);
            **pattern = function().call(vec![inner]);
            Ok(Transformed::yes(expr))
        })
    })
}

fn is_match(op: Operator) -> bool {
    use Operator::{RegexIMatch, RegexMatch, RegexNotIMatch, RegexNotMatch};
    matches!(op, RegexMatch | RegexIMatch | RegexNotMatch | RegexNotIMatch)
}

fn function() -> Arc<ScalarUDF> {
    static MADE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::any(1, Volatility::Immutable);
        let same = Arc::new(ScalarUDF::new_from_impl(Same { signature }));
        bounded::bounded(same, bounded::Growth::Lone)
    });
    Arc::clone(&MADE)
}
