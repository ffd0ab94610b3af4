//! What has the planner to be told in other words?
//!
//! Passes over a statement's tree before it is planned, for what PostgreSQL says and the planner does not
//! know: names of unnamed columns ([`names`]), types of numbers ([`numbers`]), operators and casts
//! ([`expressions`]), arrays ([`lists`]), intervals ([`moments`]), functions that give rows ([`series`]), columns
//! that each of the system's tables has ([`system_columns`]), named windows ([`windows`]). Nothing is looked up
//! here.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Query, Select, Statement, TableFactor, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::parser::Parser;

use crate::parse;

mod expressions;
mod lists;
mod moments;
mod names;
mod numbers;
mod series;
mod system_columns;
pub mod windows;

pub use lists::{LIST_LIKE, parameters};
pub use names::shown;

/// Rewrites a statement in place.
pub fn statement(statement: &mut Statement) {
    let _ = VisitMut::visit(statement, &mut Rewriter);
}

struct Rewriter;

impl VisitorMut for Rewriter {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        names::name_columns(select);
        system_columns::replace(select);
        ControlFlow::Continue(())
    }
    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        series::in_projection(select);
        numbers::type_columns(select);
        ControlFlow::Continue(())
    }
    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        numbers::type_values(query);
        ControlFlow::Continue(())
    }
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        numbers::type_operands(expr);
        expressions::rewrite(expr);
        lists::rewrite(expr);
        moments::rewrite(expr);
        ControlFlow::Continue(())
    }
    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        series::in_from(factor);
        ControlFlow::Continue(())
    }
}

/// Longest text that is read anew. Some forms are said with an argument written twice, which doubles the text
/// with each level.
const LONGEST: usize = 16 << 20;

/// An expression of this text; `None` where it is none.
fn expr(text: &str) -> Option<Expr> {
    reader(text)?.parse_expr().ok()
}

/// A query of this text; `None` where it is none.
fn query(text: &str) -> Option<Box<Query>> {
    reader(text)?.parse_query().ok()
}

fn reader(text: &str) -> Option<Parser<'static>> {
    let fits = text.len() <= LONGEST;
    let parser = fits.then(|| parse::parser(text.len()));
    parser.and_then(|parser| parser.try_with_sql(text).ok())
}

/// The name of a function without its schema, as it is looked up.
fn function_name(name: &datafusion::sql::sqlparser::ast::ObjectName) -> Option<String> {
    let ident = name.0.last()?.as_ident()?;
    Some(crate::catalog::names::fold(ident))
}
