//! `(a, b) IN (SELECT x, y …)`
//!
//! The planner compares single columns with subqueries. Of several columns a condition is made that says
//! the same of rows: EXISTS (SELECT … WHERE a = x AND b = y). Only where it is true do the two agree, so
//! this is for conditions that rows have to meet, not for their negation.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Query, Statement, visit_expressions_mut};

use crate::error::{Result, SqlError};
use crate::parse;

/// Rewrites all such conditions of a statement.
///
/// # Errors
/// NOT IN; lists of different lengths.
pub fn rewrite(statement: &mut Statement) -> Result<()> {
    let flow = visit_expressions_mut(statement, |expr| {
        if let Expr::InSubquery { expr: tuple, subquery, negated } = expr
            && let Expr::Tuple(columns) = &**tuple
        {
            match exists(columns, subquery, *negated) {
                Ok(exists) => *expr = exists,
                Err(e) => return ControlFlow::Break(e),
            }
        }
        ControlFlow::Continue(())
    });
    match flow {
        ControlFlow::Break(e) => Err(e),
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn exists(columns: &[Expr], subquery: &Query, negated: bool) -> Result<Expr> {
    if negated {
        return Err(SqlError::unsupported("NOT IN with several columns")
            .hint("Write NOT EXISTS (SELECT … WHERE …)."));
    }
    let names: Vec<String> = (0..columns.len()).map(|i| format!("c{i}")).collect();
    let conditions: Vec<String> = columns
        .iter()
        .zip(&names)
        .map(|(column, name)| format!("{column} = \"onlap tuple\".{name}"))
        .collect();
    let text = format!(
        "SELECT EXISTS (SELECT 1 FROM ({subquery}) AS \"onlap tuple\" ({}) WHERE {})",
        names.join(", "),
        conditions.join(" AND ")
    );
    expression(&text)
}

/// The one expression that a query selects.
pub fn expression(text: &str) -> Result<Expr> {
    use datafusion::sql::sqlparser::ast::{SelectItem, SetExpr};
    if let Statement::Query(query) = parse::one(text)?.into_inner()
        && let SetExpr::Select(select) = *query.body
        && let Some(SelectItem::UnnamedExpr(expr)) = select.projection.into_iter().next()
    {
        return Ok(expr);
    }
    Err(SqlError::new(crate::error::state::INTERNAL, "an expression was expected"))
}
