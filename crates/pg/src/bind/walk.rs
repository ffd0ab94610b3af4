//! What is in an expression?

use super::Binder;
use crate::bound::{Expr, ExprId, QueryId, SetNode};

impl Binder<'_> {
    /// The expressions that an expression is of, not those of queries in it.
    pub(super) fn children(&self, id: ExprId) -> Vec<ExprId> {
        match self.out.expr(id) {
            Expr::Var { .. }
            | Expr::Literal(_)
            | Expr::Param(_)
            | Expr::SubColumn(_)
            | Expr::RowColumn(_)
            | Expr::Placeholder
            | Expr::SqlValue(..)
            | Expr::Default
            | Expr::CurrentOf(..) => Vec::new(),
            Expr::Call(call) => call.args.iter().map(|arg| arg.1).collect(),
            Expr::Op(op) | Expr::Distinct(op) | Expr::NullIf(op) | Expr::ArrayOp(op, _) => {
                op.args.clone()
            }
            Expr::And(all)
            | Expr::Or(all)
            | Expr::Coalesce(all)
            | Expr::Greatest(all, _)
            | Expr::Array(all, _)
            | Expr::Row(all, _)
            | Expr::Grouping(all, ..) => all.clone(),
            Expr::Not(one)
            | Expr::Field(one, _)
            | Expr::Relabel(one)
            | Expr::ViaText(one)
            | Expr::ConvertRow(one)
            | Expr::BoolTest(one, ..)
            | Expr::Domain(one)
            | Expr::Collate(one, _) => vec![*one],
            Expr::Elements(one, each) => vec![*one, *each],
            Expr::NullTest(test) => vec![test.value],
            Expr::StoreFields(one, values, _) => [&[*one], &values[..]].concat(),
            Expr::Aggregate(call) => {
                let args = call.args.iter().map(|target| target.value);
                call.direct.iter().copied().chain(args).chain(call.filter).collect()
            }
            Expr::WindowCall(call) => call.args.iter().copied().chain(call.filter).collect(),
            Expr::SubQuery(sub) => sub.test.into_iter().collect(),
            Expr::Case(operand, arms, otherwise) => {
                let arms = arms.iter().flat_map(|arm| [arm.0, arm.1]);
                operand.iter().copied().chain(arms).chain([*otherwise]).collect()
            }
            Expr::RowCompare(_, _, left, right) => [&left[..], &right[..]].concat(),
            Expr::Subscript(part) => {
                let bounds = part.upper.iter().chain(&part.lower).flatten().copied();
                [part.container].into_iter().chain(bounds).chain(part.assigned).collect()
            }
        }
    }

    /// Visits an expression and all in it, queries included; `up` counts those that are entered. The visitor says whether
    /// to go into what it was shown.
    pub(super) fn visit(&self, id: ExprId, up: u32, see: &mut dyn FnMut(ExprId, u32) -> bool) {
        let mut open = vec![(id, up)];
        while let Some((id, up)) = open.pop() {
            if !see(id, up) {
                continue;
            }
            if let Expr::SubQuery(sub) = self.out.expr(id) {
                self.roots(sub.query, up + 1, &mut open);
            }
            open.extend(self.children(id).into_iter().rev().map(|child| (child, up)));
        }
    }

    /// Visits the expressions of a query.
    pub(super) fn visit_query(
        &self,
        query: QueryId,
        up: u32,
        see: &mut dyn FnMut(ExprId, u32) -> bool,
    ) {
        let mut open = Vec::new();
        self.roots(query, up, &mut open);
        for (id, up) in open {
            self.visit(id, up, see);
        }
    }

    /// The expressions of a query and of those in its FROM and WITH.
    fn roots(&self, query: QueryId, up: u32, open: &mut Vec<(ExprId, u32)>) {
        let mut queries = vec![(query, up)];
        while let Some((query, up)) = queries.pop() {
            let query = self.out.query(query);
            let mut add = |id: ExprId| open.push((id, up));
            query.targets.iter().for_each(|target| add(target.value));
            query.filter.into_iter().chain(query.having).for_each(&mut add);
            query.limit.into_iter().chain(query.offset).for_each(&mut add);
            for window in &query.windows {
                use crate::bound::FrameEdge::{After, Before};
                for edge in [window.frame.from, window.frame.to] {
                    if let Before(id) | After(id) = edge {
                        add(id);
                    }
                }
            }
            for tree in &query.from {
                conditions(tree, &mut add);
            }
            for entry in &query.entries {
                use crate::bound::EntryKind;
                match &entry.kind {
                    EntryKind::Query(inner) => queries.push((*inner, up + 1)),
                    EntryKind::Functions { calls, .. } => {
                        calls.iter().for_each(|function| add(function.call));
                    }
                    EntryKind::Values(rows) => rows.iter().flatten().for_each(|id| add(*id)),
                    EntryKind::Relation { sample: Some(sample), .. } => {
                        sample.1.iter().copied().chain(sample.2).for_each(&mut add);
                    }
                    EntryKind::Relation { .. } | EntryKind::Join { .. } | EntryKind::Cte { .. } => {}
                }
            }
            query.ctes.iter().for_each(|cte| queries.push((cte.query, up + 1)));
        }
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

    /// Whether a call in it gives a set; queries in it are of their own.
    pub(super) fn contains_set(&self, id: ExprId) -> bool {
        self.find(id, &|b, id| b.gives_set(id)).is_some()
    }

    /// Where a call that gives a set stands.
    pub(super) fn set_place(&self, id: ExprId) -> Option<u32> {
        self.find(id, &|b, id| b.gives_set(id)).and_then(|found| self.out.place(found))
    }

    /// Whether a call over a window is in it.
    pub(super) fn contains_window(&self, id: ExprId) -> bool {
        self.find(id, &|b, id| matches!(b.out.expr(id), Expr::WindowCall(_))).is_some()
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

    /// Where an expression begins in the text: the leftmost of its parts.
    pub(super) fn start_of(&self, id: ExprId) -> Option<u32> {
        let own = self.out.place(id);
        let inner = match self.out.expr(id) {
            Expr::Op(_)
            | Expr::Distinct(_)
            | Expr::NullIf(_)
            | Expr::ArrayOp(..)
            | Expr::Call(_)
            | Expr::Relabel(_)
            | Expr::ViaText(_)
            | Expr::Elements(..)
            | Expr::ConvertRow(_)
            | Expr::Domain(_)
            | Expr::Collate(..)
            | Expr::And(_)
            | Expr::Or(_)
            | Expr::Not(_)
            | Expr::NullTest(_)
            | Expr::BoolTest(..)
            | Expr::Subscript(_) => {
                self.children(id).into_iter().filter_map(|child| self.start_of(child)).min()
            }
            _ => None,
        };
        own.into_iter().chain(inner).min()
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

fn conditions(tree: &crate::bound::JoinTree, add: &mut dyn FnMut(ExprId)) {
    if let crate::bound::JoinTree::Join(join) = tree {
        join.condition.into_iter().for_each(&mut *add);
        conditions(&join.left, add);
        conditions(&join.right, add);
    }
}

/// The entries of the queries that are put together.
pub(super) fn leaves(node: &SetNode) -> Vec<usize> {
    match node {
        SetNode::Entry(entry) => vec![*entry],
        SetNode::Both { left, right, .. } => [leaves(left), leaves(right)].concat(),
    }
}
