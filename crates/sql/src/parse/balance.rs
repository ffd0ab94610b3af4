//! Which trees does the parser make deeper than they need be?
//!
//! It reads `a OR b OR c OR d` as `((a OR b) OR c) OR d`: as deep as it is long. AND, OR, UNION and UNION ALL may
//! be put together in any order, so a long chain of one of them becomes a tree whose depth is the logarithm of its
//! length, with its terms in the same order from left to right.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Query, SetExpr, SetOperator, SetQuantifier, Statement, Value, Values,
    VisitMut, VisitorMut,
};

/// Chains that are shorter stay as they are.
const SHORT: usize = 8;

/// Balances the long chains of a statement.
pub fn balance(statement: &mut Statement) {
    let _ = VisitMut::visit(statement, &mut Balancer);
}

struct Balancer;

impl VisitorMut for Balancer {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } = expr {
            let op = op.clone();
            if conditions(expr, &op) > SHORT {
                let mut terms = Vec::new();
                let mut rest = std::mem::replace(expr, Expr::value(Value::Null));
                rest = loop {
                    match rest {
                        Expr::BinaryOp { left, op: found, right } if found == op => {
                            terms.push(*right);
                            rest = *left;
                        }
                        other => break other,
                    }
                };
                terms.push(rest);
                let join = |left, right| Expr::BinaryOp {
                    left: Box::new(left),
                    op: op.clone(),
                    right: Box::new(right),
                };
                *expr = balanced(terms, &join);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let mut body = &mut *query.body;
        // A chain of one kind may lie below one of another.
        while let SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, .. } = body {
            let quantifier = *set_quantifier;
            if unions(body, quantifier) > SHORT {
                balance_unions(body, quantifier);
                break;
            }
            let SetExpr::SetOperation { left, .. } = body else { break };
            body = left;
        }
        ControlFlow::Continue(())
    }
}

/// Number of operators of this kind on the left edge.
fn conditions(mut expr: &Expr, op: &BinaryOperator) -> usize {
    let mut n = 0;
    while let Expr::BinaryOp { left, op: found, .. } = expr
        && found == op
    {
        n += 1;
        expr = left;
    }
    n
}

fn unions(mut body: &SetExpr, quantifier: SetQuantifier) -> usize {
    let mut n = 0;
    while let SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, left, .. } = body
        && *set_quantifier == quantifier
    {
        n += 1;
        body = left;
    }
    n
}

fn balance_unions(body: &mut SetExpr, quantifier: SetQuantifier) {
    let nothing =
        SetExpr::Values(Values { explicit_row: false, value_keyword: false, rows: vec![] });
    let mut terms = Vec::new();
    let mut rest = std::mem::replace(body, nothing);
    rest = loop {
        match rest {
            SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, left, right }
                if set_quantifier == quantifier =>
            {
                terms.push(*right);
                rest = *left;
            }
            other => break other,
        }
    };
    terms.push(rest);
    let join = |left, right| SetExpr::SetOperation {
        op: SetOperator::Union,
        set_quantifier: quantifier,
        left: Box::new(left),
        right: Box::new(right),
    };
    *body = balanced(terms, &join);
}

/// The terms, of which the last is the leftmost, as a tree of least depth.
fn balanced<T>(mut terms: Vec<T>, join: &impl Fn(T, T) -> T) -> T {
    terms.reverse();
    while terms.len() > 1 {
        let mut joined = Vec::with_capacity(terms.len().div_ceil(2));
        let mut left = terms.into_iter();
        while let Some(one) = left.next() {
            joined.push(match left.next() {
                Some(two) => join(one, two),
                None => one,
            });
        }
        terms = joined;
    }
    terms.pop().expect("there is a term")
}
