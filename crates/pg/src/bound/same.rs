//! Do two expressions mean the same, or two queries? Places do not count.

use super::{
    Bound, Cte, Entry, EntryKind, Expr, ExprId, FrameEdge, JoinTree, Query, QueryId, Target,
    Window, literals,
};
use crate::Oid;

/// The next level begins with so much stack left, or on a piece of its own.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;

impl Bound {
    /// Whether two expressions of one query mean the same; places do not count.
    pub fn same(&self, one: ExprId, other: ExprId) -> bool {
        one == other
            || stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
                self.same_head(one, other) && self.same_children(one, other)
            })
    }

    fn same_children(&self, one: ExprId, other: ExprId) -> bool {
        self.same_list(&self.children(one), &self.children(other))
    }

    /// Whether two expressions are alike, without what they are of.
    fn same_head(&self, one: ExprId, other: ExprId) -> bool {
        if self.ty(one) != self.ty(other) {
            return false;
        }
        match (self.expr(one), self.expr(other)) {
            (Expr::SubQuery(a), Expr::SubQuery(b)) => {
                a.kind == b.kind && self.same_query(a.query, b.query)
            }
            (a, b) => alike(self.ty(one).oid, a, b, self.children(one).is_empty()),
        }
    }

    /// Whether an expression means what one of another tree does. `vars` says which columns are the same: entry and
    /// column of this one, then of the other. Queries, and what only a place in a query gives a meaning, are like nothing.
    pub fn is_like(
        &self,
        one: ExprId,
        of: &Bound,
        other: ExprId,
        vars: &dyn Fn((usize, i32), (usize, i32)) -> bool,
    ) -> bool {
        if self.ty(one) != of.ty(other) {
            return false;
        }
        let (mine, theirs) = (self.children(one), of.children(other));
        let is_same = match (self.expr(one), of.expr(other)) {
            (
                Expr::Var { entry, column, up: 0 },
                Expr::Var { entry: entry2, column: column2, up: 0 },
            ) => vars((*entry, *column), (*entry2, *column2)),
            (
                Expr::SubQuery(_)
                | Expr::Aggregate(_)
                | Expr::WindowCall(_)
                | Expr::Grouping(..)
                | Expr::Var { .. }
                | Expr::Param(_)
                | Expr::SubColumn(_)
                | Expr::RowColumn(..)
                | Expr::Default
                | Expr::CurrentOf(..),
                _,
            ) => false,
            (a, b) => alike(self.ty(one).oid, a, b, mine.is_empty()),
        };
        is_same
            && mine.len() == theirs.len()
            && stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
                mine.iter().zip(&theirs).all(|(a, b)| self.is_like(*a, of, *b, vars))
            })
    }

    fn same_list(&self, one: &[ExprId], other: &[ExprId]) -> bool {
        one.len() == other.len() && one.iter().zip(other).all(|(a, b)| self.same(*a, *b))
    }

    fn same_option(&self, one: Option<ExprId>, other: Option<ExprId>) -> bool {
        match (one, other) {
            (Some(a), Some(b)) => self.same(a, b),
            (a, b) => a.is_none() && b.is_none(),
        }
    }

    fn same_query(&self, one: QueryId, other: QueryId) -> bool {
        if one == other {
            return true;
        }
        let (a, b) = (self.query(one), self.query(other));
        let flags =
            |q: &Query| (q.recursive, q.groups_distinct, q.distinct_on, q.ties, q.modify.is_some());
        flags(a) == flags(b)
            && a.modify.is_none()
            && (&a.groups, &a.sets, &a.distinct, &a.order, &a.locks)
                == (&b.groups, &b.sets, &b.distinct, &b.order, &b.locks)
            && all(&a.targets, &b.targets, |a, b| self.same_target(a, b))
            && self.same_option(a.filter, b.filter)
            && self.same_option(a.having, b.having)
            && self.same_option(a.offset, b.offset)
            && self.same_option(a.limit, b.limit)
            && all(&a.windows, &b.windows, |a, b| self.same_window(a, b))
            && all(&a.ctes, &b.ctes, |a, b| self.same_cte(a, b))
            && all(&a.entries, &b.entries, |a, b| self.same_entry(a, b))
            && all(&a.from, &b.from, |a, b| self.same_tree(a, b))
            && a.set == b.set
    }

    fn same_target(&self, one: &Target, other: &Target) -> bool {
        let rest = |target: &Target| (target.number, target.reference, target.hidden);
        rest(one) == rest(other) && one.name == other.name && self.same(one.value, other.value)
    }

    fn same_window(&self, one: &Window, other: &Window) -> bool {
        let edge = |a: FrameEdge, b: FrameEdge| match (a, b) {
            (FrameEdge::Before(a), FrameEdge::Before(b))
            | (FrameEdge::After(a), FrameEdge::After(b)) => self.same(a, b),
            (a, b) => a == b,
        };
        let (a, b) = (&one.frame, &other.frame);
        (&one.name, &one.base, &one.partition, &one.order)
            == (&other.name, &other.base, &other.partition, &other.order)
            && (a.written, a.between, a.unit, a.exclude)
                == (b.written, b.between, b.unit, b.exclude)
            && edge(a.from, b.from)
            && edge(a.to, b.to)
    }

    fn same_cte(&self, one: &Cte, other: &Cte) -> bool {
        let rest = |cte: &Cte| (cte.kind, cte.recursive, cte.references);
        rest(one) == rest(other)
            && (&one.name, &one.names, &one.types) == (&other.name, &other.names, &other.types)
            && self.same_query(one.query, other.query)
    }

    fn same_entry(&self, one: &Entry, other: &Entry) -> bool {
        let rest = (&one.alias, &one.name, &one.names, one.lateral, one.in_from)
            == (&other.alias, &other.name, &other.names, other.lateral, other.in_from);
        rest && self.same_list(&one.guards, &other.guards)
            && match (&one.kind, &other.kind) {
                (EntryKind::Query(a), EntryKind::Query(b)) => self.same_query(*a, *b),
                (
                    EntryKind::Join { kind, merged, columns, using, .. },
                    EntryKind::Join {
                        kind: kind2,
                        merged: merged2,
                        columns: columns2,
                        using: using2,
                        ..
                    },
                ) => {
                    (kind, merged, using) == (kind2, merged2, using2)
                        && self.same_list(columns, columns2)
                }
                (
                    EntryKind::Functions { calls, ordinality },
                    EntryKind::Functions { calls: calls2, ordinality: ordinality2 },
                ) => {
                    ordinality == ordinality2
                        && all(calls, calls2, |a, b| {
                            a.defined == b.defined && self.same(a.call, b.call)
                        })
                }
                (EntryKind::Values(a), EntryKind::Values(b)) => {
                    all(a, b, |a, b| self.same_list(a, b))
                }
                (
                    EntryKind::Relation { oid, inherited, sample: None, .. },
                    EntryKind::Relation { oid: oid2, inherited: inherited2, sample: None, .. },
                ) => oid == oid2 && inherited == inherited2,
                (a @ EntryKind::Cte { .. }, b) => a == b,
                _ => false,
            }
    }

    fn same_tree(&self, one: &JoinTree, other: &JoinTree) -> bool {
        match (one, other) {
            (JoinTree::Join(a), JoinTree::Join(b)) => {
                (a.kind, a.natural, a.entry, &a.using) == (b.kind, b.natural, b.entry, &b.using)
                    && self.same_tree(&a.left, &b.left)
                    && self.same_tree(&a.right, &b.right)
                    && self.same_option(a.condition, b.condition)
            }
            (a, b) => a == b,
        }
    }
}

fn all<T>(one: &[T], other: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| same(a, b))
}

/// Whether two expressions of a type are alike, without what they are of.
fn alike(ty: Oid, a: &Expr, b: &Expr, is_leaf: bool) -> bool {
    match (a, b) {
        (Expr::Literal(a), Expr::Literal(b)) => literals::same(ty, a, b),
        (Expr::Call(a), Expr::Call(b)) => {
            let places = a.args.iter().map(|arg| arg.0).eq(b.args.iter().map(|arg| arg.0));
            a.proc == b.proc && a.variadic == b.variadic && places
        }
        (Expr::Op(a), Expr::Op(b))
        | (Expr::Distinct(a), Expr::Distinct(b))
        | (Expr::NullIf(a), Expr::NullIf(b)) => a.operator == b.operator,
        (Expr::ArrayOp(a, all), Expr::ArrayOp(b, all2)) => a.operator == b.operator && all == all2,
        (Expr::Field(_, a), Expr::Field(_, b)) => a == b,
        (Expr::NullTest(a), Expr::NullTest(b)) => a.not == b.not && a.row == b.row,
        (Expr::BoolTest(_, a, not), Expr::BoolTest(_, b, not2)) => a == b && not == not2,
        (Expr::Greatest(_, a), Expr::Greatest(_, b)) => a == b,
        (Expr::Xml(a), Expr::Xml(b)) => {
            let parts = |xml: &super::Xml| (xml.op, xml.document, xml.args.len());
            parts(a) == parts(b) && a.name == b.name && a.names == b.names
        }
        (Expr::Array(_, a), Expr::Array(_, b)) => a == b,
        (Expr::Row(_, a), Expr::Row(_, b)) => a == b,
        (Expr::Collate(_, a), Expr::Collate(_, b)) => a == b,
        (Expr::RowCompare(a, ops, ..), Expr::RowCompare(b, ops2, ..)) => a == b && ops == ops2,
        (Expr::Grouping(_, a, up), Expr::Grouping(_, b, up2)) => a == b && up == up2,
        (Expr::Aggregate(a), Expr::Aggregate(b)) => {
            let parts =
                |call: &super::Aggregate| (call.proc, call.star, call.variadic, call.direct.len());
            parts(a) == parts(b)
                && a.order == b.order
                && a.distinct == b.distinct
                && a.args.iter().map(|t| t.reference).eq(b.args.iter().map(|t| t.reference))
                && a.filter.is_some() == b.filter.is_some()
                && a.up == b.up
        }
        (Expr::WindowCall(a), Expr::WindowCall(b)) => {
            (a.proc, a.window, a.star, a.filter.is_some())
                == (b.proc, b.window, b.star, b.filter.is_some())
        }
        (Expr::Subscript(a), Expr::Subscript(b)) => {
            let shape = |part: &super::Subscript| {
                let shape = |of: &[Option<ExprId>]| -> Vec<bool> {
                    of.iter().map(Option::is_some).collect()
                };
                (part.container_type, shape(&part.upper), shape(&part.lower))
            };
            shape(a) == shape(b)
        }
        (Expr::Case(a, arms, _), Expr::Case(b, arms2, _)) => {
            a.is_some() == b.is_some() && arms.len() == arms2.len()
        }
        (a, b) if is_leaf => a == b,
        (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}
