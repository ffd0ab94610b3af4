//! Which blanks count in comparisons with char(n)?
//!
//! None at the end. The engine keeps char(n) without them, so the other side of a comparison loses them
//! too, where it is a literal.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ExprSchema, Result, ScalarValue};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;

use crate::types::{PgType, oid};

/// Takes blanks off literals that are compared with char(n).
#[derive(Debug)]
pub struct Blanks;

impl AnalyzerRule for Blanks {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let inputs = plan.inputs();
            if inputs.is_empty() {
                return Ok(Transformed::no(plan));
            }
            let schema = merge_schema(&inputs);
            plan.map_expressions(|expr| expr.transform_up(|expr| trimmed(expr, &schema)))
        })
        .map(|t| t.data)
    }
    fn name(&self) -> &'static str {
        "blanks"
    }
}

fn trimmed(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if op.supports_propagation() => {
            let (l, r) = (is_char(&left, schema), is_char(&right, schema));
            if l == r {
                return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })));
            }
            let (left, right) = match l {
                true => (left, Box::new(trim(*right))),
                false => (Box::new(trim(*left)), right),
            };
            Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right })))
        }
        Expr::InList(mut list) if is_char(&list.expr, schema) => {
            list.list = list.list.into_iter().map(trim).collect();
            Ok(Transformed::yes(Expr::InList(list)))
        }
        Expr::Between(mut between) if is_char(&between.expr, schema) => {
            between.low = Box::new(trim(*between.low));
            between.high = Box::new(trim(*between.high));
            Ok(Transformed::yes(Expr::Between(between)))
        }
        other => Ok(Transformed::no(other)),
    }
}

fn is_char(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::Column(column) => schema
            .field_from_column(column)
            .is_ok_and(|field| PgType::of_field(field).oid == oid::BPCHAR),
        _ => false,
    }
}

fn trim(expr: Expr) -> Expr {
    match expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)), meta) => {
            Expr::Literal(ScalarValue::Utf8(Some(text.trim_end_matches(' ').into())), meta)
        }
        other => other,
    }
}
