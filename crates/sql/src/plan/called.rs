//! By which of its names is a function called?
//!
//! The planner's library knows many functions by several names, and puts an alias around each call by another name
//! than the first. An alias inside an expression is asked twice what it is, so that thirty calls within each other
//! would be asked a thousand million times. Hence each call is given the first name; columns of the answer have
//! theirs by then (`crate::rewrite`).

use std::ops::ControlFlow;

use datafusion::execution::{FunctionRegistry as _, SessionState};
use datafusion::sql::sqlparser::ast::{Expr, Ident, ObjectName, Statement, VisitMut, VisitorMut};

use crate::catalog::names::parts;
use crate::functions;
use crate::view::View;

/// Calls functions by their first names.
pub(super) fn rewrite(view: &View, state: &SessionState, statement: &mut Statement) {
    let _ = VisitMut::visit(statement, &mut Calling { view, state });
}

struct Calling<'a> {
    view: &'a View,
    state: &'a SessionState,
}

impl VisitorMut for Calling<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(call) = expr
            && let Some(first) = self.first_name(&call.name, call.over.is_some())
        {
            call.name = ObjectName::from(vec![Ident::with_quote('"', first)]);
        }
        ControlFlow::Continue(())
    }
}

impl Calling<'_> {
    /// The first name of a function that is called by another one, or with its schema.
    fn first_name(&self, name: &ObjectName, window: bool) -> Option<String> {
        let given = parts(name).ok()?;
        let (last, schema) = given.split_last()?;
        if !matches!(schema, [] | [_]) || schema.first().is_some_and(|s| s != "pg_catalog") {
            return None;
        }
        if functions::of_session(self.view, last).is_some() {
            return None;
        }
        let first = match self.state.udf(last) {
            Ok(function) => function.name().to_owned(),
            Err(_) if window && self.state.udwf(last).is_ok() => {
                self.state.udwf(last).ok()?.name().to_owned()
            }
            Err(_) => self.state.udaf(last).ok()?.name().to_owned(),
        };
        (first != *last || !schema.is_empty()).then_some(first)
    }
}
