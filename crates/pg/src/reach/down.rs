//! Which conditions may be asked within a query in FROM, or before its groups are made?
//!
//! A condition on columns of one such query alone, if the query gives the same rows to it either way: PostgreSQL's
//! `subquery_is_pushdown_safe` and `qual_is_pushdown_safe`. It goes through GROUP BY by keys, DISTINCT, windows by what all of
//! them are divided by, and into each part of a set operation but EXCEPT. What is volatile, or asks a query, stays.

use super::Reach;
use super::moved::Moved;
use crate::TypeRef;
use crate::ast::{JoinKind, SetKind};
use crate::bound::{EntryKind, Expr, ExprId, JoinTree, Part, Query, QueryId, SetNode, SortItem};

/// Stack that is left where the next level begins without a piece of its own, and such a piece, in bytes.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;

impl Reach<'_> {
    /// Moves conditions of a query, and of all queries within it, to where they reach fewest rows.
    pub(super) fn push(&mut self, query: QueryId) {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
            self.ask_before_groups(query);
            if self.tree.query(query).modify.is_none() {
                self.push_from(query);
            }
            for inner in self.queries_in(query) {
                self.push(inner);
            }
        });
    }

    /// Conditions of HAVING that hold for all rows of a group or for none become conditions of WHERE.
    fn ask_before_groups(&mut self, query: QueryId) {
        let of = self.tree.query(query);
        let Some(having) = of.having.filter(|_| of.sets.is_empty()) else { return };
        let (grouped, one) = (!of.groups.is_empty(), of.has_aggregates && of.groups.is_empty());
        if !grouped && !one {
            return;
        }
        let mut all = Vec::new();
        self.split(having, &mut all);
        let (before, after): (Vec<ExprId>, Vec<ExprId>) =
            all.iter().partition(|id| self.is_of_rows(**id));
        if before.is_empty() {
            return;
        }
        self.changed = true;
        let filter = self.tree.query(query).filter;
        let filter = self.all_of(filter.into_iter().chain(before).collect());
        // The one group without keys is there without rows, too.
        let having = if grouped { self.all_of(after) } else { Some(having) };
        let of = self.tree.query_mut(query);
        (of.filter, of.having) = (filter, having);
    }

    /// Whether a condition of HAVING may be asked of each row.
    fn is_of_rows(&self, id: ExprId) -> bool {
        let mut plain = true;
        self.tree.visit(id, 0, &mut |id, _| {
            plain &= !matches!(
                self.tree.expr(id),
                Expr::Aggregate(_) | Expr::WindowCall(_) | Expr::Grouping(..) | Expr::SubQuery(_)
            );
            plain
        });
        plain && !self.is_volatile(Part::Expr(id))
    }

    fn push_from(&mut self, query: QueryId) {
        let of = self.tree.query(query);
        let mut conditions = Vec::new();
        if let Some(filter) = of.filter {
            self.split(filter, &mut conditions);
        }
        let mut from = of.from.clone();
        let before = conditions.len();
        let mut moved = false;
        let mut lists = vec![conditions];
        for tree in &mut from {
            moved |= self.push_into((query, tree), &mut lists, &[0]);
        }
        let conditions = lists.pop().unwrap_or_default();
        if moved || conditions.len() < before {
            self.changed = true;
            let filter = self.all_of(conditions);
            let of = self.tree.query_mut(query);
            (of.from, of.filter) = (from, filter);
        }
    }

    /// Moves conditions that all rows of an item must meet, those of some of the lists, into it; whether the item is another one
    /// then. Each item is looked at once, with the conditions of all joins that it stands in.
    fn push_into(
        &mut self,
        (query, tree): (QueryId, &mut JoinTree),
        lists: &mut Vec<Vec<ExprId>>,
        asked: &[usize],
    ) -> bool {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
            let join = match tree {
                JoinTree::Entry(entry) => {
                    if let EntryKind::Query(child) = self.entry(query, *entry).kind {
                        for at in asked {
                            lists[*at].retain(|id| !self.push_one(child, *entry, *id));
                        }
                    }
                    return false;
                }
                JoinTree::Join(join) => join,
            };
            let mut on = Vec::new();
            if let Some(condition) = join.condition {
                self.split(condition, &mut on);
            }
            let (before, own) = (on.len(), lists.len());
            lists.push(on);
            let both = [asked, &[own]].concat();
            // Of a side whose rows may be missing it is the condition of the join that says which there are.
            let (left, right): (&[usize], &[usize]) = match join.kind {
                JoinKind::Inner => (&both, &both),
                JoinKind::Left => (asked, &[own]),
                JoinKind::Right => (&[own], asked),
                JoinKind::Full => (&[], &[]),
            };
            let mut changed = self.push_into((query, &mut join.left), lists, left);
            changed |= self.push_into((query, &mut join.right), lists, right);
            let on = lists.pop().unwrap_or_default();
            debug_assert_eq!(lists.len(), own, "each join takes its list along");
            if on.len() < before {
                join.condition = self.all_of(on);
                // An outer join has a condition.
                if join.condition.is_none() && join.kind != JoinKind::Inner {
                    let (literal, bool) =
                        (crate::bound::Literal::Bool(true), crate::catalog::oids::BOOL);
                    join.condition = Some(self.tree.literal(literal, TypeRef::new(bool)));
                }
                changed = true;
            }
            changed
        })
    }

    /// Moves a condition on an entry into its query, if that may be done.
    fn push_one(&mut self, child: QueryId, entry: usize, id: ExprId) -> bool {
        let Some(columns) = self.columns_asked(entry, id) else { return false };
        let Some(into) = self.takers(child) else { return false };
        let safe =
            into.iter().all(|of| columns.iter().all(|column| self.is_safe(child, *of, *column)));
        if !safe || self.is_volatile(Part::Expr(id)) || self.tree.exprs() > self.most {
            return false;
        }
        for of in into {
            let targets = self.tree.query(of).targets.iter().filter(|target| !target.hidden);
            let columns = Some(targets.map(|target| target.value).collect());
            let same = Moved::same(&mut self.tree);
            // A part of a set operation stands within it.
            let lift = if of == child { 1 } else { 2 };
            let made = Moved { columns, lift, ..same }.expr(id, 0);
            let query = self.tree.query(of);
            let grouped = query.has_aggregates || !query.groups.is_empty();
            let late = grouped || query.having.is_some();
            let known = if late { query.having } else { query.filter };
            let asked = self.all_of(known.into_iter().chain([made]).collect());
            let query = self.tree.query_mut(of);
            *(if late { &mut query.having } else { &mut query.filter }) = asked;
        }
        true
    }

    /// The columns of an entry that a condition asks for, if it names this entry alone, and no query.
    fn columns_asked(&self, entry: usize, id: ExprId) -> Option<Vec<usize>> {
        let (mut columns, mut own) = (Vec::new(), true);
        self.tree.visit(id, 0, &mut |id, _| {
            own &= match self.tree.expr(id) {
                Expr::Var { entry: of, column, up: 0 } => {
                    columns.push(usize::try_from(*column).unwrap_or(0));
                    *of == entry && *column > 0
                }
                Expr::SubQuery(_) | Expr::Aggregate(_) | Expr::WindowCall(_) => false,
                Expr::Grouping(..) => false,
                _ => true,
            };
            own
        });
        (own && !columns.is_empty()).then_some(columns)
    }

    /// The queries that take a condition on a query's rows: itself, or the parts of a set operation.
    fn takers(&self, child: QueryId) -> Option<Vec<QueryId>> {
        let of = self.tree.query(child);
        let Some(set) = &of.set else {
            return is_open(of).then(|| vec![child]);
        };
        if !is_open(of) {
            return None;
        }
        let (mut open, mut found) = (vec![set], Vec::new());
        while let Some(node) = open.pop() {
            match node {
                SetNode::Both { kind: SetKind::Except, .. } => return None,
                SetNode::Both { left, right, .. } => open.extend([&**right, &**left]),
                SetNode::Entry(entry) => {
                    let EntryKind::Query(part) = of.entries[entry - 1].kind else { return None };
                    let query = self.tree.query(part);
                    if query.set.is_some() || !is_open(query) {
                        return None;
                    }
                    found.push(part);
                }
            }
        }
        Some(found)
    }

    /// Whether a column is the same in all rows that a query makes one of, or looks at together.
    fn is_safe(&self, whole: QueryId, part: QueryId, column: usize) -> bool {
        let of = |query: QueryId| {
            let mut targets = self.tree.query(query).targets.iter().filter(|t| !t.hidden);
            targets.nth(column - 1)
        };
        let (Some(target), Some(shown)) = (of(part), of(whole)) else { return false };
        let query = self.tree.query(part);
        let is_key = |items: &[SortItem]| {
            target.reference > 0 && items.iter().any(|item| item.reference == target.reference)
        };
        self.tree.ty(target.value).oid == self.tree.ty(shown.value).oid
            && !self.gives_sets(target.value)
            && !self.is_volatile(Part::Expr(target.value))
            && (!query.distinct_on || is_key(&query.distinct))
            && (!query.has_windows || query.windows.iter().all(|window| is_key(&window.partition)))
    }

    fn gives_sets(&self, value: ExprId) -> bool {
        let mut gives = false;
        self.tree.visit(value, 0, &mut |id, inside| {
            gives |= match self.tree.expr(id) {
                Expr::Call(call) => inside == 0 && call.set,
                Expr::Op(op) => inside == 0 && op.set,
                _ => false,
            };
            !gives
        });
        gives
    }
}

/// Whether leaving rows out before a query's last steps leaves out no others.
fn is_open(query: &Query) -> bool {
    let limited = query.limit.is_some() || query.offset.is_some() || query.ties;
    let changes = query.modify.is_some() || query.changes_within;
    !limited && !changes && !query.recursive && query.sets.is_empty() && query.locks.is_empty()
}
