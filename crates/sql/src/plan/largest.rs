//! `SELECT a.… FROM t a LEFT JOIN t b ON b.g = a.g AND b.x > a.x WHERE b.x IS NULL`
//!
//! The row with the largest `x` of each `g`, said as the row that none is larger than. Compared pair by pair
//! that takes the square of a group's rows; here `a` becomes the first row of each partition, which
//! [`super::ranks`] takes from an index where there is one. Only where neither column can be NULL, and
//! nothing else is asked of `b`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, JoinConstraint, JoinOperator, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, Statement, TableFactor, TableWithJoins, Visit,
    VisitMut, Visitor, VisitorMut,
};
use onlap::TableSchema;

use crate::catalog::names::{fold, parts};
use crate::parse::{self, Tree};
use crate::view::{Relation, View};

/// Rewrites all such queries of a statement.
pub fn rewrite(view: &View, statement: &mut Statement) {
    let flow = statement.visit(&mut Largest { view });
    debug_assert!(flow.is_continue());
}

struct Largest<'a> {
    view: &'a View,
}

impl VisitorMut for Largest<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = &*query.body
            && let Some((from, rest)) = self.replaced(query, select)
            && let SetExpr::Select(select) = &mut *query.body
        {
            select.from = vec![from];
            select.selection = rest;
        }
        ControlFlow::Continue(())
    }
}

impl Largest<'_> {
    /// What stands for the join, and what is left of the conditions.
    fn replaced(&self, query: &Query, select: &Select) -> Option<(TableWithJoins, Option<Expr>)> {
        let [from] = &select.from[..] else { return None };
        let [join] = &from.joins[..] else { return None };
        let (JoinOperator::Left(on) | JoinOperator::LeftOuter(on)) = &join.join_operator else {
            return None;
        };
        let JoinConstraint::On(on) = on else { return None };
        let (name, a) = table_of(&from.relation)?;
        let (other, b) = table_of(&join.relation)?;
        if name != other || a == b {
            return None;
        }
        let Relation::Table(_, table) = self.view.find(&name).ok()?? else { return None };
        let schema = table.schema();
        let sides = Sides { schema: &schema, a: &a, b: &b };
        let (groups, ordered) = sides.joined(on)?;
        let mut rest = Vec::new();
        let mut absent = false;
        for condition in conjuncts(select.selection.as_ref()?) {
            match condition {
                Expr::IsNull(inner) if sides.column(inner).is_some_and(|(of_b, _)| of_b) => {
                    absent = true;
                }
                other => rest.push(other.clone()),
            }
        }
        let alone = rest.iter().all(|e| sides.is_alone(e))
            && select.projection.iter().all(|item| sides.is_item_alone(item))
            && is_plain(select)
            && query.order_by.as_ref().is_none_or(|order| !sides.mentions_b(order));
        if !absent || !alone {
            return None;
        }
        let columns: Vec<String> = schema.columns.iter().map(|c| quoted(&c.name)).collect();
        let columns = columns.join(", ");
        let (column, direction) = ordered;
        let text = format!(
            "SELECT * FROM (SELECT {columns} FROM (SELECT *, rank() OVER (PARTITION BY {} ORDER BY {} \
             {direction}) AS \"onlap rank\" FROM {}) AS \"onlap ranked\" WHERE \"onlap rank\" = 1) AS {}",
            groups.iter().map(|g| quoted(g)).collect::<Vec<_>>().join(", "),
            quoted(&column),
            name.iter().map(|part| quoted(part)).collect::<Vec<_>>().join("."),
            quoted(&a),
        );
        let Ok(Statement::Query(made)) = parse::one(&text).map(Tree::into_inner) else {
            return None;
        };
        let SetExpr::Select(made) = *made.body else { return None };
        let rest = rest.into_iter().reduce(|left, right| Expr::BinaryOp {
            left: Box::new(left),
            op: BinaryOperator::And,
            right: Box::new(right),
        });
        Some((made.from.into_iter().next()?, rest))
    }
}

/// The table, and what the query calls it.
fn table_of(factor: &TableFactor) -> Option<(Vec<String>, String)> {
    match factor {
        TableFactor::Table {
            name,
            alias,
            args: None,
            version: None,
            sample: None,
            with_ordinality: false,
            ..
        } => {
            let name = parts(name).ok()?;
            if alias.as_ref().is_some_and(|a| !a.columns.is_empty()) {
                return None;
            }
            let called =
                alias.as_ref().map_or_else(|| name.last().cloned(), |a| Some(fold(&a.name)));
            Some((name, called?))
        }
        _ => None,
    }
}

/// A SELECT without anything whose columns would have to be looked at, too.
fn is_plain(select: &Select) -> bool {
    use datafusion::sql::sqlparser::ast::GroupByExpr;
    let ungrouped =
        matches!(&select.group_by, GroupByExpr::Expressions(g, m) if g.is_empty() && m.is_empty());
    ungrouped && select.having.is_none() && select.distinct.is_none() && select.qualify.is_none()
}

fn conjuncts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            let mut all = conjuncts(left);
            all.extend(conjuncts(right));
            all
        }
        Expr::Nested(inner) => conjuncts(inner),
        other => vec![other],
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The table under its two names.
struct Sides<'a> {
    schema: &'a TableSchema,
    a: &'a str,
    b: &'a str,
}

impl Sides<'_> {
    /// A column that cannot be NULL, and whether it is one of `b`.
    fn column(&self, expr: &Expr) -> Option<(bool, String)> {
        let Expr::CompoundIdentifier(idents) = expr else { return None };
        let [table, column] = &idents[..] else { return None };
        let (table, column) = (fold(table), fold(column));
        let at = self.schema.position_by_name(&column)?;
        if self.schema.columns[at].nullable || (table != self.a && table != self.b) {
            return None;
        }
        Some((table == self.b, column))
    }

    /// Columns that are equal on both sides, and the one that `b` has more or less of: its direction is that
    /// in which the rows sought come first.
    fn joined(&self, on: &Expr) -> Option<(Vec<String>, (String, &'static str))> {
        let (mut groups, mut ordered) = (Vec::new(), None);
        for condition in conjuncts(on) {
            let Expr::BinaryOp { left, op, right } = condition else { return None };
            let ((left_is_b, column), (right_is_b, other)) =
                (self.column(left)?, self.column(right)?);
            if left_is_b == right_is_b || column != other {
                return None;
            }
            match (op, left_is_b) {
                (BinaryOperator::Eq, _) => groups.push(column),
                (BinaryOperator::Gt, true) | (BinaryOperator::Lt, false) if ordered.is_none() => {
                    ordered = Some((column, "DESC"));
                }
                (BinaryOperator::Lt, true) | (BinaryOperator::Gt, false) if ordered.is_none() => {
                    ordered = Some((column, "ASC"));
                }
                _ => return None,
            }
        }
        (!groups.is_empty()).then_some((groups, ordered?))
    }

    /// Whether an expression names columns of `a` alone, and by its name.
    fn is_alone(&self, expr: &Expr) -> bool {
        let mut names = Names { of: self.a, others: false };
        let _ = expr.visit(&mut names);
        !names.others
    }

    fn is_item_alone(&self, item: &SelectItem) -> bool {
        match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                self.is_alone(expr)
            }
            SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(name),
                options,
            ) => parts(name).is_ok_and(|parts| parts == [self.a]) && *options == Default::default(),
            _ => false,
        }
    }

    fn mentions_b(&self, node: &impl Visit) -> bool {
        let mut found = Mentions { name: self.b, found: false };
        let _ = node.visit(&mut found);
        found.found
    }
}

struct Names<'a> {
    of: &'a str,
    others: bool,
}

impl Visitor for Names<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.others = true;
        ControlFlow::Break(())
    }
    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.others |= match expr {
            Expr::Identifier(_) => true,
            Expr::CompoundIdentifier(idents) => idents.len() != 2 || fold(&idents[0]) != self.of,
            _ => false,
        };
        ControlFlow::Continue(())
    }
}

struct Mentions<'a> {
    name: &'a str,
    found: bool,
}

impl Visitor for Mentions<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(idents) = expr {
            self.found |= fold(&idents[0]) == self.name;
        }
        ControlFlow::Continue(())
    }
}
