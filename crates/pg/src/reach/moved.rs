//! How does an expression, or a query, come to stand at another place of a statement?
//!
//! It is copied: what stood once may be wanted in several places. Columns count how many queries up their entry is, so they
//! are counted anew, and so are queries of WITH, aggregates and GROUPING of queries further out.
//!
//! Thread safety: pure.

use crate::bound::{Bound, EntryKind, Expr, ExprId, FrameEdge, JoinTree, Query, QueryId};

/// Stack that is left where the next level begins without a piece of its own, and such a piece, in bytes.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;

/// A copy under way. The level that an expression is copied from is its own level; levels further out are free.
pub struct Moved<'a> {
    /// The tree that is copied; none for the tree itself.
    pub from: Option<&'a Bound>,
    /// Where the copy comes to stand.
    pub to: &'a mut Bound,
    /// What is added to entries of the own level.
    pub by: usize,
    /// How many queries deeper than its own level the copy stands.
    pub within: u32,
    /// How many queries more there are between the copy and the free levels.
    pub lift: i64,
    /// What stands in the place of columns of the own level, by number from 1. The expressions are not changed by that.
    pub columns: Option<Vec<ExprId>>,
}

impl<'a> Moved<'a> {
    /// A copy at the same place.
    pub fn same(to: &'a mut Bound) -> Moved<'a> {
        Moved { from: None, to, by: 0, within: 0, lift: 0, columns: None }
    }

    fn source(&self) -> &Bound {
        self.from.unwrap_or(self.to)
    }

    /// How many queries up something is that was `up` queries up, at a depth below the own level.
    fn level(&self, up: u32, depth: u32) -> u32 {
        match up.cmp(&depth) {
            std::cmp::Ordering::Less => up,
            std::cmp::Ordering::Equal => up + self.within,
            std::cmp::Ordering::Greater => {
                let level = i64::from(up) + self.lift;
                u32::try_from(level).expect("a free level stays above the own one")
            }
        }
    }

    /// Copies an expression that stands `depth` queries below the own level.
    pub fn expr(&mut self, id: ExprId, depth: u32) -> ExprId {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || self.expr_here(id, depth))
    }

    fn expr_here(&mut self, id: ExprId, depth: u32) -> ExprId {
        let source = self.source();
        let (mut expr, ty, place) = (source.expr(id).clone(), source.ty(id), source.place(id));
        match &mut expr {
            Expr::Var { entry, column, up } => {
                if *up == depth {
                    if let Some(columns) = &self.columns {
                        assert_eq!(depth, 0, "a condition that is moved has no query");
                        let value = columns[*column as usize - 1];
                        return Moved::same(self.to).expr(value, 0);
                    }
                    *entry += self.by;
                }
                *up = self.level(*up, depth);
            }
            Expr::Aggregate(call) => call.up = self.level(call.up, depth),
            Expr::Grouping(_, _, up) => *up = self.level(*up, depth),
            Expr::SubQuery(sub) => sub.query = self.query(sub.query, depth + 1),
            _ => {}
        }
        expr.children_mut(&mut |child| *child = self.expr(*child, depth));
        let place = place.filter(|_| self.from.is_none());
        let made = self.to.add(expr, ty, place);
        match self.from {
            Some(from) => self.to.copy_collation(from, id, made),
            None => self.to.note_like(id, made),
        }
        made
    }

    /// Copies a query whose expressions stand `depth` queries below the own level.
    pub fn query(&mut self, id: QueryId, depth: u32) -> QueryId {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
            let mut query = self.source().query(id).clone();
            assert!(query.modify.is_none(), "what is copied only reads");
            self.parts(&mut query, depth);
            self.to.add_query(query)
        })
    }

    fn parts(&mut self, query: &mut Query, depth: u32) {
        let Query { targets, from, filter, having, offset, limit, windows, ctes, entries, .. } =
            query;
        targets.iter_mut().for_each(|target| target.value = self.expr(target.value, depth));
        from.iter_mut().for_each(|tree| self.join(tree, depth));
        for id in [filter, having, offset, limit].into_iter().flatten() {
            *id = self.expr(*id, depth);
        }
        for window in windows {
            for edge in [&mut window.frame.from, &mut window.frame.to] {
                if let FrameEdge::Before(id) | FrameEdge::After(id) = edge {
                    *id = self.expr(*id, depth);
                }
            }
        }
        for cte in ctes {
            cte.query = self.query(cte.query, depth + 1);
            if let Some((_, ids)) = &mut cte.cycle {
                ids.iter_mut().for_each(|id| *id = self.expr(*id, depth));
            }
        }
        for entry in entries {
            self.entry(&mut entry.kind, depth);
            entry.guards.iter_mut().for_each(|id| *id = self.expr(*id, depth));
        }
    }

    /// Copies what an entry is of.
    pub fn entry(&mut self, kind: &mut EntryKind, depth: u32) {
        let mut one = |id: &mut ExprId| *id = self.expr(*id, depth);
        match kind {
            EntryKind::Query(inner) => *inner = self.query(*inner, depth + 1),
            EntryKind::Functions { calls, .. } => calls.iter_mut().for_each(|of| one(&mut of.call)),
            EntryKind::Values(rows) => rows.iter_mut().flatten().for_each(one),
            EntryKind::Join { columns, .. } => columns.iter_mut().for_each(one),
            EntryKind::Relation { sample: Some(sample), .. } => {
                sample.1.iter_mut().chain(&mut sample.2).for_each(one);
            }
            EntryKind::Cte { up, .. } => *up = self.level(*up, depth),
            EntryKind::Relation { .. } => {}
        }
    }

    /// Copies an item of FROM.
    pub fn join(&mut self, tree: &mut JoinTree, depth: u32) {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
            let by = if depth == 0 { self.by } else { 0 };
            match tree {
                JoinTree::Entry(entry) => *entry += by,
                JoinTree::Join(join) => {
                    join.entry += by;
                    self.join(&mut join.left, depth);
                    self.join(&mut join.right, depth);
                    if let Some(condition) = &mut join.condition {
                        *condition = self.expr(*condition, depth);
                    }
                }
            }
        });
    }
}
