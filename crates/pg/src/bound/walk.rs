//! What is an expression made of, and a query?

use super::{
    Bound, EntryKind, Expr, ExprId, FrameEdge, JoinTree, OnConflict, Query, QueryId, Target,
};
use crate::catalog::{Catalog, Volatility};

/// A part of an expression or of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// An expression.
    Expr(ExprId),
    /// A query.
    Query(QueryId),
}

/// One list of what an expression is of, for those who look and those who change.
macro_rules! see_children {
    ($expr:expr, $see:expr, $iter:ident $(, $mut:tt)?) => {{
        let see = $see;
        match $expr {
            Expr::Var { .. }
            | Expr::Literal(_)
            | Expr::Param(_)
            | Expr::SubColumn(_)
            | Expr::RowColumn(..)
            | Expr::Placeholder
            | Expr::SqlValue(..)
            | Expr::Default
            | Expr::CurrentOf(..) => {}
            Expr::Call(call) => call.args.$iter().for_each(|(_, arg)| see(arg)),
            Expr::Op(op) | Expr::Distinct(op) | Expr::NullIf(op) | Expr::ArrayOp(op, _) => {
                op.args.$iter().for_each(see)
            }
            Expr::And(all)
            | Expr::Or(all)
            | Expr::Coalesce(all)
            | Expr::Greatest(all, _)
            | Expr::Array(all, _)
            | Expr::Row(all, _)
            | Expr::Grouping(all, ..) => all.$iter().for_each(see),
            Expr::Not(one)
            | Expr::Field(one, _)
            | Expr::Relabel(one)
            | Expr::ViaText(one)
            | Expr::ConvertRow(one)
            | Expr::BoolTest(one, ..)
            | Expr::Domain(one)
            | Expr::Collate(one, _) => see(one),
            Expr::Elements(one, each) => {
                see(one);
                see(each);
            }
            Expr::Xml(xml) => {
                let super::Xml { args, .. } = &$($mut)? **xml;
                args.$iter().for_each(see);
            }
            Expr::NullTest(test) => {
                let super::NullTest { value, .. } = test;
                see(value);
            }
            Expr::StoreFields(one, values, _) => {
                see(one);
                values.$iter().for_each(see);
            }
            Expr::Aggregate(call) => {
                let super::Aggregate { direct, args, filter, .. } = &$($mut)? **call;
                direct.$iter().for_each(&mut *see);
                args.$iter().for_each(|Target { value, .. }| see(value));
                filter.$iter().for_each(see);
            }
            Expr::WindowCall(call) => {
                let super::WindowCall { args, filter, .. } = &$($mut)? **call;
                args.$iter().for_each(&mut *see);
                filter.$iter().for_each(see);
            }
            Expr::SubQuery(sub) => {
                let super::SubQuery { test, .. } = &$($mut)? **sub;
                test.$iter().for_each(see);
            }
            Expr::Case(operand, arms, otherwise) => {
                operand.$iter().for_each(&mut *see);
                for (condition, result) in arms.$iter() {
                    see(condition);
                    see(result);
                }
                see(otherwise);
            }
            Expr::RowCompare(_, _, left, right) => {
                left.$iter().for_each(&mut *see);
                right.$iter().for_each(see);
            }
            Expr::Subscript(part) => {
                let super::Subscript { container, upper, lower, assigned, .. } =
                    &$($mut)? **part;
                upper.$iter().flatten().for_each(&mut *see);
                lower.$iter().flatten().for_each(&mut *see);
                see(container);
                assigned.$iter().for_each(see);
            }
        }
    }};
}

impl Expr {
    /// The expressions that an expression is of, not those of queries in it, in the order of PostgreSQL's walk.
    pub fn children(&self) -> Vec<ExprId> {
        let mut all = Vec::new();
        self.each_child(&mut |id| all.push(*id));
        all
    }

    /// Shows each child, in the order of [`Expr::children`].
    fn each_child(&self, see: &mut dyn FnMut(&ExprId)) {
        see_children!(self, see, iter);
    }

    /// Shows each child to be changed, in the order of [`Expr::children`].
    pub fn children_mut(&mut self, see: &mut dyn FnMut(&mut ExprId)) {
        see_children!(self, see, iter_mut, mut);
    }

    /// The expressions that an expression is of, and its query.
    pub fn parts(&self) -> Vec<Part> {
        let mut all: Vec<Part> = self.children().into_iter().map(Part::Expr).collect();
        if let Expr::SubQuery(sub) = self {
            all.push(Part::Query(sub.query));
        }
        all
    }
}

impl Bound {
    /// The expressions that an expression is of.
    pub fn children(&self, id: ExprId) -> Vec<ExprId> {
        self.expr(id).children()
    }

    /// The expressions of a query, and the queries in its FROM and WITH.
    pub fn parts(&self, query: QueryId) -> Vec<Part> {
        parts_of(self.query(query))
    }

    /// Visits an expression and all in it, queries included; `up` counts those that are entered. The visitor says whether
    /// to go into what it was shown.
    pub fn visit(&self, id: ExprId, up: u32, see: &mut dyn FnMut(ExprId, u32) -> bool) {
        self.visit_part(Part::Expr(id), up, see);
    }

    /// Whether a part calls a function that may give something else each time; the queries of views are not looked into.
    pub fn calls_volatile(&self, part: Part, catalog: &Catalog) -> bool {
        let mut found = false;
        self.visit_part(part, 0, &mut |id, _| {
            let proc = match self.expr(id) {
                Expr::Call(call) => Some(call.proc),
                Expr::Op(op) | Expr::Distinct(op) | Expr::NullIf(op) | Expr::ArrayOp(op, _) => {
                    Some(op.proc)
                }
                _ => None,
            };
            let proc = proc.and_then(|proc| catalog.proc(proc));
            found |= proc.is_some_and(|proc| proc.volatility == Volatility::Volatile);
            !found
        });
        found
    }

    /// Visits a part; the expressions of a query are one level further in.
    pub fn visit_part(&self, part: Part, up: u32, see: &mut dyn FnMut(ExprId, u32) -> bool) {
        let mut open = vec![(part, up)];
        while let Some((part, up)) = open.pop() {
            // The first child is looked at next.
            let first = open.len();
            match part {
                Part::Expr(id) if !see(id, up) => continue,
                Part::Expr(id) => {
                    let expr = self.expr(id);
                    expr.each_child(&mut |child| open.push((Part::Expr(*child), up)));
                    if let Expr::SubQuery(sub) = expr {
                        open.push((Part::Query(sub.query), up));
                    }
                }
                Part::Query(query) => {
                    open.extend(self.parts(query).into_iter().map(|part| (part, up + 1)));
                }
            }
            open[first..].reverse();
        }
    }

    /// Visits the expressions of a query.
    pub fn visit_query(&self, query: QueryId, up: u32, see: &mut dyn FnMut(ExprId, u32) -> bool) {
        self.parts(query).into_iter().for_each(|part| self.visit_part(part, up, see));
    }
}

/// What a query is of, in the order of PostgreSQL's walk.
pub(crate) fn parts_of(query: &Query) -> Vec<Part> {
    let mut all = Vec::new();
    let add = |id: ExprId| Part::Expr(id);
    all.extend(query.targets.iter().map(|target| add(target.value)));
    if let Some(modify) = &query.modify {
        all.extend(modify.conflict.iter().flat_map(conflict_parts).map(add));
        all.extend(modify.returning.iter().map(|target| add(target.value)));
        for action in &modify.actions {
            all.extend(action.condition.map(add));
            all.extend(action.set.iter().map(|target| add(target.value)));
        }
        all.extend(modify.checks.iter().map(|check| add(check.value)));
    }
    for tree in &query.from {
        conditions(tree, &mut |id| all.push(add(id)));
    }
    all.extend(query.filter.into_iter().chain(query.having).map(add));
    all.extend(query.offset.into_iter().chain(query.limit).map(add));
    for window in &query.windows {
        for edge in [window.frame.from, window.frame.to] {
            if let FrameEdge::Before(id) | FrameEdge::After(id) = edge {
                all.push(add(id));
            }
        }
    }
    all.extend(query.ctes.iter().map(|cte| Part::Query(cte.query)));
    for entry in &query.entries {
        all.extend(entry.guards.iter().copied().map(add));
        match &entry.kind {
            EntryKind::Query(inner) => all.push(Part::Query(*inner)),
            EntryKind::Functions { calls, .. } => {
                all.extend(calls.iter().map(|function| add(function.call)));
            }
            EntryKind::Values(rows) => all.extend(rows.iter().flatten().map(|id| add(*id))),
            EntryKind::Relation { sample: Some(sample), .. } => {
                all.extend(sample.1.iter().copied().chain(sample.2).map(add));
            }
            EntryKind::Relation { .. } | EntryKind::Join { .. } | EntryKind::Cte { .. } => {}
        }
    }
    all
}

fn conflict_parts(conflict: &OnConflict) -> Vec<ExprId> {
    let elements = conflict.elements.iter().map(|element| element.value);
    let set = conflict.set.iter().map(|target| target.value);
    elements.chain(conflict.index_filter).chain(set).chain(conflict.filter).collect()
}

fn conditions(tree: &JoinTree, add: &mut dyn FnMut(ExprId)) {
    if let JoinTree::Join(join) = tree {
        conditions(&join.left, add);
        conditions(&join.right, add);
        join.condition.into_iter().for_each(add);
    }
}
