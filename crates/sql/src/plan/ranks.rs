//! `SELECT … FROM (SELECT …, rank() OVER (PARTITION BY a ORDER BY b) AS r FROM t) WHERE r = 1`
//!
//! The first row of each partition, which an index finds without reading the others. Where no two rows can
//! share the first place (row_number(), or a unique key among the columns), the subquery becomes
//! `SELECT *, 1 AS r FROM (SELECT DISTINCT ON (a) … FROM t ORDER BY a, b)`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, GroupByExpr, Query, Select, SelectItem, SetExpr, Statement,
    TableFactor, VisitMut, VisitorMut, WindowSpec, WindowType,
};

use crate::catalog::names::{fold, parts};
use crate::parse::{self, Tree};
use crate::view::{Relation, View};

/// Rewrites all such subqueries of a statement.
pub fn rewrite(view: &View, statement: &mut Statement) {
    let flow = statement.visit(&mut Ranks { view });
    debug_assert!(flow.is_continue());
}

struct Ranks<'a> {
    view: &'a View,
}

impl VisitorMut for Ranks<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = &mut *query.body {
            let _ = self.outer(select);
        }
        ControlFlow::Continue(())
    }
}

impl Ranks<'_> {
    /// A SELECT from one subquery with a condition on its rank.
    fn outer(&self, select: &mut Select) -> Option<()> {
        let [from] = &mut select.from[..] else { return None };
        if !from.joins.is_empty() {
            return None;
        }
        let TableFactor::Derived { lateral: false, subquery, alias, .. } = &mut from.relation
        else {
            return None;
        };
        let alias = alias.as_ref().map(|a| fold(&a.name));
        let rank = self.ranked(subquery)?;
        let wanted = |expr: &Expr| is_first(expr, alias.as_deref(), &rank.name);
        select.selection.as_ref().filter(|s| conjunct(s, &wanted))?;
        **subquery = rank.distinct;
        Some(())
    }

    /// A subquery that ranks the rows of one table.
    fn ranked(&self, query: &Query) -> Option<Ranked> {
        let SetExpr::Select(inner) = &*query.body else { return None };
        let plain = query.with.is_none()
            && query.order_by.is_none()
            && query.limit_clause.is_none()
            && inner.selection.is_none()
            && inner.distinct.is_none()
            && inner.having.is_none()
            && inner.qualify.is_none();
        let ungrouped = matches!(&inner.group_by, GroupByExpr::Expressions(g, m) if g.is_empty() && m.is_empty());
        if !plain || !ungrouped {
            return None;
        }
        let [from] = &inner.from[..] else { return None };
        let TableFactor::Table { name: table, args: None, .. } = &from.relation else {
            return None;
        };
        let mut items = Vec::new();
        let mut found = None;
        for item in &inner.projection {
            match item {
                SelectItem::ExprWithAlias { expr: Expr::Function(f), alias }
                    if f.over.is_some() =>
                {
                    if found.is_some() {
                        return None;
                    }
                    found = Some((f, alias));
                }
                // The rank is given behind the other columns.
                _ if found.is_some() => return None,
                other => items.push(other.to_string()),
            }
        }
        let (function, rank) = found?;
        let window = window_of(function)?;
        let columns: Vec<String> = (window.partition_by.iter())
            .chain(window.order_by.iter().map(|o| &o.expr))
            .map(column_name)
            .collect::<Option<_>>()?;
        let single = function.name.to_string().eq_ignore_ascii_case("row_number")
            || self.is_unique(&parts(table).ok()?, &columns);
        if !single || !from.joins.is_empty() {
            return None;
        }
        let list = |exprs: &mut dyn Iterator<Item = String>| exprs.collect::<Vec<_>>().join(", ");
        let partition = list(&mut window.partition_by.iter().map(ToString::to_string));
        let order = list(&mut window.order_by.iter().map(ToString::to_string));
        let text = format!(
            "SELECT \"onlap first\".*, 1 AS {rank} FROM (SELECT DISTINCT ON ({partition}) {} FROM {from} \
             ORDER BY {partition}, {order}) AS \"onlap first\"",
            items.join(", ")
        );
        let Ok(Statement::Query(distinct)) = parse::one(&text).map(Tree::into_inner) else {
            return None;
        };
        Some(Ranked { name: fold(rank), distinct: *distinct })
    }

    /// Whether no two rows agree in these columns.
    fn is_unique(&self, table: &[String], columns: &[String]) -> bool {
        let Ok(Some(Relation::Table(_, table))) = self.view.find(table) else { return false };
        let schema = table.schema();
        schema.indexes.iter().filter(|index| index.unique).any(|index| {
            index.key.iter().all(|part| {
                let at = schema.position(part.column);
                at.is_some_and(|at| {
                    !schema.columns[at].nullable && columns.contains(&schema.columns[at].name)
                })
            })
        })
    }
}

struct Ranked {
    name: String,
    distinct: Query,
}

fn window_of(function: &Function) -> Option<&WindowSpec> {
    let name = function.name.to_string().to_lowercase();
    if !matches!(name.as_str(), "rank" | "dense_rank" | "row_number") {
        return None;
    }
    match &function.over {
        Some(WindowType::WindowSpec(window))
            if window.window_frame.is_none()
                && window.window_name.is_none()
                && !window.partition_by.is_empty()
                && !window.order_by.is_empty() =>
        {
            Some(window)
        }
        _ => None,
    }
}

fn column_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(ident) => Some(fold(ident)),
        Expr::CompoundIdentifier(idents) => idents.last().map(fold),
        _ => None,
    }
}

/// Whether one of the conditions that are joined by AND is wanted.
fn conjunct(expr: &Expr, wanted: &dyn Fn(&Expr) -> bool) -> bool {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            conjunct(left, wanted) || conjunct(right, wanted)
        }
        Expr::Nested(inner) => conjunct(inner, wanted),
        expr => wanted(expr),
    }
}

/// `r = 1`
fn is_first(expr: &Expr, alias: Option<&str>, name: &str) -> bool {
    let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = expr else { return false };
    let is_rank = |e: &Expr| match e {
        Expr::Identifier(ident) => fold(ident) == name,
        Expr::CompoundIdentifier(idents) => match &idents[..] {
            [table, column] => Some(fold(table).as_str()) == alias && fold(column) == name,
            _ => false,
        },
        _ => false,
    };
    let is_one = |e: &Expr| e.to_string() == "1";
    is_rank(left) && is_one(right) || is_one(left) && is_rank(right)
}
