//! `OVER (w …)` and `WINDOW w AS (…)`: which window does a function look through?
//!
//! A window that builds on a named one has its partitions, and its order where the named one has one. The
//! planner knows `OVER w` alone, so that each window is written out where it is used.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, Ident, NamedWindowDefinition, NamedWindowExpr, Query, Select, Statement,
    VisitMut, VisitorMut, WindowSpec, WindowType,
};

use crate::catalog::names::fold;
use crate::error::{Result, SqlError};

/// Writes the windows of all queries of a statement out.
///
/// # Errors
/// A window is not defined, or changes what it builds on.
pub fn write_out(statement: &mut Statement) -> Result<()> {
    match VisitMut::visit(statement, &mut Selects) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(e) => Err(e),
    }
}

struct Selects;

impl VisitorMut for Selects {
    type Break = SqlError;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        match definitions(&select.named_window) {
            Ok(known) => {
                select.named_window.clear();
                VisitMut::visit(&mut select.projection, &mut Functions { known, depth: 0 })
            }
            Err(e) => ControlFlow::Break(e),
        }
    }
}

type Known = Vec<(String, WindowSpec)>;

/// Named windows, none of which builds on another any more.
fn definitions(named: &[NamedWindowDefinition]) -> Result<Known> {
    let mut known = Known::new();
    for NamedWindowDefinition(name, window) in named {
        let mut spec = match window {
            NamedWindowExpr::NamedWindow(base) => find(&known, base)?.clone(),
            NamedWindowExpr::WindowSpec(spec) => spec.clone(),
        };
        build(&known, &mut spec)?;
        let name = fold(name);
        if known.iter().any(|(n, _)| *n == name) {
            return Err(SqlError::new("42P20", format!("window \"{name}\" is already defined")));
        }
        known.push((name, spec));
    }
    Ok(known)
}

fn find<'a>(known: &'a Known, name: &Ident) -> Result<&'a WindowSpec> {
    let name = fold(name);
    let found = known.iter().find(|(n, _)| *n == name).map(|(_, spec)| spec);
    found.ok_or_else(|| SqlError::new("42704", format!("window \"{name}\" does not exist")))
}

/// Puts what a window builds on into it.
fn build(known: &Known, spec: &mut WindowSpec) -> Result<()> {
    let Some(name) = spec.window_name.take() else { return Ok(()) };
    let base = find(known, &name)?;
    let refused = |what: &str| {
        let text = format!("cannot override {what} clause of window \"{}\"", fold(&name));
        Err(SqlError::new("42P20", text))
    };
    if !spec.partition_by.is_empty() {
        return refused("PARTITION BY");
    }
    if !spec.order_by.is_empty() && !base.order_by.is_empty() {
        return refused("ORDER BY");
    }
    if base.window_frame.is_some() {
        let text = format!("cannot copy window \"{}\" because it has a frame clause", fold(&name));
        return Err(SqlError::new("42P20", text));
    }
    spec.partition_by = base.partition_by.clone();
    if spec.order_by.is_empty() {
        spec.order_by = base.order_by.clone();
    }
    Ok(())
}

/// Functions of one SELECT; its subqueries have windows of their own.
struct Functions {
    known: Known,
    depth: usize,
}

impl Functions {
    fn write_out(&self, function: &mut Function) -> Result<()> {
        match &mut function.over {
            Some(WindowType::WindowSpec(spec)) => build(&self.known, spec),
            Some(WindowType::NamedWindow(name)) => {
                let spec = find(&self.known, name)?.clone();
                function.over = Some(WindowType::WindowSpec(spec));
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl VisitorMut for Functions {
    type Break = SqlError;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<SqlError> {
        self.depth += 1;
        ControlFlow::Continue(())
    }
    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<SqlError> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        if self.depth == 0
            && let Expr::Function(function) = expr
            && let Err(e) = self.write_out(function)
        {
            return ControlFlow::Break(e);
        }
        ControlFlow::Continue(())
    }
}
