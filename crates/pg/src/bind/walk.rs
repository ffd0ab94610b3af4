//! What is in an expression?

use super::Binder;
use crate::bound::{self, Expr, ExprId, Part, Query};

impl Binder<'_> {
    /// The expressions that an expression is of, not those of queries in it.
    pub(super) fn children(&self, id: ExprId) -> Vec<ExprId> {
        self.out.children(id)
    }

    /// Visits an expression and all in it.
    pub(super) fn visit(&self, id: ExprId, up: u32, see: &mut dyn FnMut(ExprId, u32) -> bool) {
        self.out.visit(id, up, see);
    }

    /// Visits a part; the expressions of a query are one level further in.
    pub(super) fn visit_part(&self, part: Part, up: u32, see: &mut dyn FnMut(ExprId, u32) -> bool) {
        self.out.visit_part(part, up, see);
    }

    fn first(
        &self,
        parts: impl IntoIterator<Item = Part>,
        is: impl Fn(&Expr, u32) -> bool,
    ) -> Option<ExprId> {
        let mut found = None;
        for part in parts {
            self.visit_part(part, 0, &mut |id, up| {
                if found.is_none() && is(self.out.expr(id), up) {
                    found = Some(id);
                }
                found.is_none()
            });
        }
        found
    }

    /// The first column of a level.
    pub(super) fn var_of_level(&self, ids: &[ExprId], level: u32) -> Option<ExprId> {
        let parts = ids.iter().map(|id| Part::Expr(*id));
        self.first(
            parts,
            |expr, inside| matches!(expr, Expr::Var { up, .. } if *up == level + inside),
        )
    }

    /// The first aggregate of a level.
    pub(super) fn aggregate_of_level(&self, ids: &[ExprId], level: u32) -> Option<ExprId> {
        let parts = ids.iter().map(|id| Part::Expr(*id));
        self.first(parts, |expr, inside| is_aggregate(expr, level + inside))
    }

    /// The first aggregate of a query that is being finished.
    pub(super) fn aggregate_in_query(&self, query: &Query) -> Option<ExprId> {
        self.first(bound::parts_of(query), is_aggregate)
    }

    /// A call over a window.
    pub(super) fn window_in(&self, id: ExprId) -> Option<ExprId> {
        self.find(id, &|b, id| matches!(b.out.expr(id), Expr::WindowCall(_)))
    }

    /// Notes what an argument was before it was converted.
    pub(super) fn note_uncast(&mut self, made: ExprId, original: ExprId) {
        let mut at = made;
        while at != original {
            at = match self.out.expr(at) {
                Expr::Relabel(one)
                | Expr::ViaText(one)
                | Expr::ConvertRow(one)
                | Expr::Domain(one)
                | Expr::Elements(one, _) => *one,
                Expr::Call(call) => match call.args.first() {
                    Some((_, first)) => *first,
                    None => break,
                },
                _ => break,
            };
        }
        if at != made {
            self.casts.insert(made, at);
        }
    }

    /// An argument of an aggregate before it was converted.
    pub(super) fn uncast(&self, id: ExprId) -> ExprId {
        self.casts.get(&id).copied().unwrap_or(id)
    }

    fn any(&self, id: ExprId, is: impl Fn(&Expr, u32) -> bool) -> bool {
        let mut found = false;
        self.visit(id, 0, &mut |id, up| {
            found |= is(self.out.expr(id), up);
            !found
        });
        found
    }

    /// Whether a column of the query that is being bound is in it.
    pub(super) fn has_vars(&self, id: ExprId) -> bool {
        self.any(id, |expr, inside| matches!(expr, Expr::Var { up, .. } if *up == inside))
    }

    /// Whether it gives a set itself.
    pub(super) fn gives_set(&self, id: ExprId) -> bool {
        matches!(
            self.out.expr(id),
            Expr::Call(crate::bound::Call { set: true, .. })
                | Expr::Op(crate::bound::Op { set: true, .. })
        )
    }

    /// The first expression that is such a one, not within queries.
    pub(super) fn find(&self, id: ExprId, is: &dyn Fn(&Self, ExprId) -> bool) -> Option<ExprId> {
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if is(self, id) {
                return Some(id);
            }
            open.extend(self.children(id).into_iter().rev());
        }
        None
    }

    /// Where an expression begins in the text, as PostgreSQL counts it.
    pub(super) fn start_of(&self, id: ExprId) -> Option<u32> {
        stacker::maybe_grow(super::RED_ZONE, super::MORE_STACK, || self.start_here(id))
    }

    fn start_here(&self, id: ExprId) -> Option<u32> {
        let own = self.out.place(id);
        let first = |ids: &[ExprId]| ids.iter().find_map(|id| self.start_of(*id));
        let inner = match self.out.expr(id) {
            Expr::Collate(one, _) | Expr::Field(one, _) | Expr::StoreFields(one, ..) => {
                return self.start_of(*one);
            }
            Expr::Subscript(part) => return self.start_of(part.container),
            Expr::RowCompare(_, _, left, _) => return first(left),
            Expr::SubQuery(sub) => sub.test.and_then(|test| self.start_of(test)),
            Expr::Op(_)
            | Expr::Distinct(_)
            | Expr::NullIf(_)
            | Expr::ArrayOp(..)
            | Expr::Call(_)
            | Expr::And(_)
            | Expr::Or(_) => first(&self.children(id)),
            Expr::Relabel(one)
            | Expr::ViaText(one)
            | Expr::Elements(one, _)
            | Expr::ConvertRow(one)
            | Expr::Domain(one)
            | Expr::Not(one)
            | Expr::BoolTest(one, ..) => self.start_of(*one),
            Expr::NullTest(test) => self.start_of(test.value),
            _ => None,
        };
        own.into_iter().chain(inner).min()
    }

    /// Where the first of a list begins that begins anywhere.
    pub(super) fn start_of_all(&self, ids: &[ExprId]) -> Option<u32> {
        ids.iter().find_map(|id| self.start_of(*id))
    }

    /// Whether two expressions of one query mean the same; places do not count.
    pub(super) fn same(&self, one: ExprId, other: ExprId) -> bool {
        self.out.same(one, other)
    }
}

fn is_aggregate(expr: &Expr, level: u32) -> bool {
    match expr {
        Expr::Aggregate(call) => call.up == level,
        Expr::Grouping(_, _, up) => *up == level,
        _ => false,
    }
}
