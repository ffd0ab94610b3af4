//! What is in an expression?

use super::Binder;
use crate::bound::{self, Expr, ExprId, Part, Query};

impl Binder<'_> {
    /// The expressions that an expression is of, not those of queries in it.
    pub(super) fn children(&self, id: ExprId) -> Vec<ExprId> {
        self.out.children(id)
    }

    /// Visits an expression and all in it, queries included; `up` counts those that are entered. The visitor says whether
    /// to go into what it was shown.
    pub(super) fn visit(&self, id: ExprId, up: u32, see: &mut dyn FnMut(ExprId, u32) -> bool) {
        self.visit_part(Part::Expr(id), up, see);
    }

    /// Visits a part; the expressions of a query are one level further in.
    pub(super) fn visit_part(&self, part: Part, up: u32, see: &mut dyn FnMut(ExprId, u32) -> bool) {
        let mut open = vec![(part, up)];
        while let Some((part, up)) = open.pop() {
            let (parts, up) = match part {
                Part::Expr(id) if !see(id, up) => continue,
                Part::Expr(id) => (self.out.expr(id).parts(), up),
                Part::Query(query) => (self.out.parts(query), up + 1),
            };
            open.extend(parts.into_iter().rev().map(|part| (part, up)));
        }
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
        self.same_shifted(one, 0, other)
    }

    /// The same, where columns of the first are so many levels further in.
    pub(super) fn same_shifted(&self, one: ExprId, shift: u32, other: ExprId) -> bool {
        if one == other && shift == 0 {
            return true;
        }
        if self.out.ty(one) != self.out.ty(other) {
            return false;
        }
        let (a, b) = (self.out.expr(one), self.out.expr(other));
        let alike = match (a, b) {
            (
                Expr::Var { entry, column, up },
                Expr::Var { entry: entry2, column: column2, up: up2 },
            ) => return entry == entry2 && column == column2 && *up == up2 + shift,
            (Expr::Literal(a), Expr::Literal(b)) => return a == b,
            (Expr::Call(a), Expr::Call(b)) => {
                let places = a.args.iter().map(|arg| arg.0).eq(b.args.iter().map(|arg| arg.0));
                a.proc == b.proc && a.variadic == b.variadic && places
            }
            (Expr::Op(a), Expr::Op(b))
            | (Expr::Distinct(a), Expr::Distinct(b))
            | (Expr::NullIf(a), Expr::NullIf(b)) => a.operator == b.operator,
            (Expr::ArrayOp(a, all), Expr::ArrayOp(b, all2)) => {
                a.operator == b.operator && all == all2
            }
            (Expr::Field(_, a), Expr::Field(_, b)) => a == b,
            (Expr::NullTest(a), Expr::NullTest(b)) => a.not == b.not && a.row == b.row,
            (Expr::BoolTest(_, a, not), Expr::BoolTest(_, b, not2)) => a == b && not == not2,
            (Expr::Greatest(_, a), Expr::Greatest(_, b)) => a == b,
            (Expr::Array(_, a), Expr::Array(_, b)) => a == b,
            (Expr::Row(_, a), Expr::Row(_, b)) => a == b,
            (Expr::Collate(_, a), Expr::Collate(_, b)) => a == b,
            (Expr::RowCompare(a, ops, ..), Expr::RowCompare(b, ops2, ..)) => a == b && ops == ops2,
            (Expr::Grouping(_, a, up), Expr::Grouping(_, b, up2)) => a == b && *up == up2 + shift,
            (Expr::Aggregate(a), Expr::Aggregate(b)) => {
                let parts = |call: &crate::bound::Aggregate| {
                    (call.proc, call.star, call.variadic, call.direct.len())
                };
                parts(a) == parts(b)
                    && a.order == b.order
                    && a.distinct == b.distinct
                    && a.filter.is_some() == b.filter.is_some()
                    && a.up == b.up + shift
            }
            (Expr::WindowCall(a), Expr::WindowCall(b)) => {
                (a.proc, a.window, a.star, a.filter.is_some())
                    == (b.proc, b.window, b.star, b.filter.is_some())
            }
            (Expr::Subscript(a), Expr::Subscript(b)) => {
                let shape = |part: &crate::bound::Subscript| {
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
            // Queries are the same only where they are one.
            (Expr::SubQuery(a), Expr::SubQuery(b)) => a.query == b.query && a.kind == b.kind,
            (a, b) if self.children(one).is_empty() => return a == b,
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        };
        if !alike {
            return false;
        }
        let (a, b) = (self.children(one), self.children(other));
        a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| self.same_shifted(*a, shift, *b))
    }
}

fn is_aggregate(expr: &Expr, level: u32) -> bool {
    match expr {
        Expr::Aggregate(call) => call.up == level,
        Expr::Grouping(_, _, up) => *up == level,
        _ => false,
    }
}
