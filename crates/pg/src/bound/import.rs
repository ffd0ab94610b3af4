//! How does an expression of one statement become one of another?
//!
//! Nodes name each other by number within their own statement, so all that an expression is of is copied, queries in it
//! too. Columns of one entry of the query that it stood in become columns of an entry of the query that it comes to.

use super::{Bound, EntryKind, Expr, ExprId, FrameEdge, JoinTree, Query, QueryId};

/// A copy under way.
pub struct Import<'a> {
    from: &'a Bound,
    to: &'a mut Bound,
    /// The entry that columns were of, and the one that they become columns of.
    entries: (usize, usize),
    /// How many queries the expression comes to stand within the one that has the entry.
    within: u32,
}

/// An expression begins with so much stack left, or on a piece of its own.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;

impl<'a> Import<'a> {
    /// From one statement to another.
    pub fn new(
        from: &'a Bound,
        to: &'a mut Bound,
        entries: (usize, usize),
        within: u32,
    ) -> Import<'a> {
        Import { from, to, entries, within }
    }

    /// Copies an expression that stands `up` queries within the one whose entry it names.
    pub fn expr(&mut self, id: ExprId, up: u32) -> ExprId {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
            let mut expr = self.from.expr(id).clone();
            match &mut expr {
                Expr::Var { entry, up: of, .. } if *of == up && *entry == self.entries.0 => {
                    *entry = self.entries.1;
                    *of += self.within;
                }
                Expr::SubQuery(sub) => sub.query = self.query(sub.query, up + 1),
                _ => {}
            }
            expr.children_mut(&mut |child| *child = self.expr(*child, up));
            let made = self.to.add(expr, self.from.ty(id), None);
            self.to.copy_collation(self.from, id, made);
            made
        })
    }

    fn query(&mut self, id: QueryId, up: u32) -> QueryId {
        let mut query = self.from.query(id).clone();
        let Query { targets, from, filter, having, offset, limit, windows, ctes, entries, .. } =
            &mut query;
        targets.iter_mut().for_each(|target| target.value = self.expr(target.value, up));
        from.iter_mut().for_each(|tree| self.join(tree, up));
        for id in [filter, having, offset, limit].into_iter().flatten() {
            *id = self.expr(*id, up);
        }
        for window in windows {
            for edge in [&mut window.frame.from, &mut window.frame.to] {
                if let FrameEdge::Before(id) | FrameEdge::After(id) = edge {
                    *id = self.expr(*id, up);
                }
            }
        }
        ctes.iter_mut().for_each(|cte| cte.query = self.query(cte.query, up + 1));
        for entry in entries {
            self.entry(&mut entry.kind, up);
            entry.guards.iter_mut().for_each(|id| *id = self.expr(*id, up));
        }
        self.to.add_query(query)
    }

    fn entry(&mut self, kind: &mut EntryKind, up: u32) {
        match kind {
            EntryKind::Query(inner) => *inner = self.query(*inner, up + 1),
            EntryKind::Functions { calls, .. } => {
                calls.iter_mut().for_each(|of| of.call = self.expr(of.call, up));
            }
            EntryKind::Values(rows) => {
                rows.iter_mut().flatten().for_each(|id| *id = self.expr(*id, up));
            }
            EntryKind::Join { columns, .. } => {
                columns.iter_mut().for_each(|id| *id = self.expr(*id, up));
            }
            EntryKind::Relation { sample: Some(sample), .. } => {
                sample.1.iter_mut().chain(&mut sample.2).for_each(|id| *id = self.expr(*id, up));
            }
            EntryKind::Relation { .. } | EntryKind::Cte { .. } => {}
        }
    }

    fn join(&mut self, tree: &mut JoinTree, up: u32) {
        if let JoinTree::Join(join) = tree {
            self.join(&mut join.left, up);
            self.join(&mut join.right, up);
            if let Some(condition) = &mut join.condition {
                *condition = self.expr(*condition, up);
            }
        }
    }
}
