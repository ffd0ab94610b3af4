//! Which queries in FROM are merged with the query around them?
//!
//! Those that have no more than FROM, WHERE and targets that always give the same: PostgreSQL's `is_simple_subquery`. A query
//! of WITH that is named once, and a view, stand in the place of their names first. On the side of an outer join whose rows
//! may be missing, a target must be NULL where all columns of its query are; PostgreSQL has place holders for others, here
//! such a query is left alone.

use std::collections::HashSet;

use super::Reach;
use super::moved::Moved;
use crate::ast::JoinKind;
use crate::bound::{
    CteKind, EntryKind, Expr, ExprId, JoinNode, JoinTree, ModifyKind, Part, Query, QueryId,
};

/// Stack that is left where the next level begins without a piece of its own, and such a piece, in bytes.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;

/// Entries that a query may come to have: each merge looks at all of it.
const MOST_ENTRIES: usize = 256;

/// Items of FROM, and what their rows must meet.
type Items = (Vec<JoinTree>, Vec<ExprId>);

/// Where an item of FROM stands.
#[derive(Clone, Copy, Default)]
struct Under {
    /// Below an outer join.
    outer: bool,
    /// On a side whose rows may be missing.
    nullable: bool,
    /// Below a full join.
    full: bool,
}

impl Reach<'_> {
    /// Merges what may be merged in a query and all queries within it. `around`: those that it stands in, the innermost last.
    pub(super) fn merge(&mut self, query: QueryId, around: &mut Vec<QueryId>) {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
            around.push(query);
            // Before they are put in the place of their names.
            let ctes: Vec<QueryId> = self.tree.query(query).ctes.iter().map(|c| c.query).collect();
            ctes.iter().for_each(|cte| self.merge(*cte, around));
            for entry in 1..=self.tree.query(query).entries.len() {
                self.put_query(query, entry, around);
            }
            for inner in self.queries_in(query).into_iter().filter(|inner| !ctes.contains(inner)) {
                self.merge(inner, around);
            }
            around.pop();
            if !self.is_closed(query) {
                let mut left = HashSet::new();
                while let Some((entry, child)) = self.next_merged(query, &mut left)
                    && self.tree.query(query).entries.len() <= MOST_ENTRIES
                {
                    self.take_in(query, entry, child);
                    self.changed = true;
                }
            }
        });
    }

    /// Whether nothing may be merged with a query.
    fn is_closed(&self, query: QueryId) -> bool {
        let query = self.tree.query(query);
        let merges = query.modify.as_deref().is_some_and(|modify| modify.kind == ModifyKind::Merge);
        !query.sets.is_empty() || merges || query.entries.len() > MOST_ENTRIES
    }

    /// Puts the query of a view, or of WITH, in the place of its name.
    fn put_query(&mut self, query: QueryId, entry: usize, around: &[QueryId]) {
        let of = self.entry(query, entry);
        let is_target = |modify: &crate::bound::Modify| modify.entry == entry;
        if !of.in_from || self.tree.query(query).modify.as_deref().is_some_and(is_target) {
            return;
        }
        let made = match &of.kind {
            EntryKind::Relation { oid, kind: b'v', sample: None, .. } => {
                let Some((tree, view)) = (self.views)(*oid) else { return };
                let locks = tree.query_ids().any(|id| !tree.query(id).locks.is_empty());
                if locks || self.tree.exprs() + tree.exprs() > self.most {
                    return;
                }
                let same = Moved::same(&mut self.tree);
                Moved { from: Some(tree), ..same }.query(view, 1)
            }
            EntryKind::Cte { name, up, own: false } => {
                let (name, up) = (name.clone(), *up);
                let Some(definer) = around.len().checked_sub(1 + up as usize) else { return };
                match self.cte(around[definer], &name, up) {
                    Some(made) => made,
                    None => return,
                }
            }
            _ => return,
        };
        self.tree.query_mut(query).entries[entry - 1].kind = EntryKind::Query(made);
        self.changed = true;
    }

    /// The query of a WITH, if it stands where it is named, `up` queries within the one that has the WITH.
    fn cte(&mut self, definer: QueryId, name: &str, up: u32) -> Option<QueryId> {
        let of = self.tree.query(definer);
        let at = of.ctes.iter().position(|cte| &*cte.name == name)?;
        let cte = &of.ctes[at];
        let inline = match cte.kind {
            CteKind::Materialized => false,
            CteKind::Default => cte.references == 1,
            CteKind::Inline => true,
        };
        let (query, once) = (cte.query, cte.references == 1);
        let plain = !cte.recursive && cte.search.is_none() && cte.cycle.is_none();
        let changes = of.changes_within || self.tree.query(query).modify.is_some();
        if !inline || !plain || changes || self.is_volatile(Part::Query(query)) {
            return None;
        }
        let mut size = 0;
        self.tree.visit_part(Part::Query(query), 0, &mut |_, _| {
            size += 1;
            true
        });
        if self.tree.exprs() + size > self.most {
            return None;
        }
        let same = Moved::same(&mut self.tree);
        let made = Moved { within: up, lift: i64::from(up), ..same }.query(query, 1);
        if once {
            self.tree.query_mut(definer).ctes.remove(at);
        }
        Some(made)
    }

    /// An entry whose query is to be merged next. Those that may not be are `left`, and are not asked about again.
    fn next_merged(
        &self,
        query: QueryId,
        left: &mut HashSet<usize>,
    ) -> Option<(usize, Option<QueryId>)> {
        let mut open: Vec<(&JoinTree, Under)> = Vec::new();
        let from = &self.tree.query(query).from;
        open.extend(from.iter().rev().map(|tree| (tree, Under::default())));
        while let Some((tree, under)) = open.pop() {
            match tree {
                JoinTree::Entry(entry) if left.contains(entry) => {}
                JoinTree::Entry(entry) => match self.entry(query, *entry).kind {
                    EntryKind::Query(child) if self.may_merge(query, *entry, child, under) => {
                        return Some((*entry, Some(child)));
                    }
                    EntryKind::Values(_) if self.is_one_row(query, *entry) => {
                        return Some((*entry, None));
                    }
                    _ => {
                        left.insert(*entry);
                    }
                },
                JoinTree::Join(join) => {
                    let side = |kinds: &[JoinKind]| Under {
                        outer: under.outer || join.kind != JoinKind::Inner,
                        nullable: under.nullable || kinds.contains(&join.kind),
                        full: under.full || join.kind == JoinKind::Full,
                    };
                    open.push((&join.right, side(&[JoinKind::Left, JoinKind::Full])));
                    open.push((&join.left, side(&[JoinKind::Right, JoinKind::Full])));
                }
            }
        }
        None
    }

    /// Whether an entry is one row of VALUES that is all that its query reads.
    fn is_one_row(&self, query: QueryId, entry: usize) -> bool {
        let of = self.tree.query(query);
        let EntryKind::Values(rows) = &of.entries[entry - 1].kind else { return false };
        let [row] = &rows[..] else { return false };
        let alone = of.entries.len() == 1 && of.from.len() == 1 && of.modify.is_none();
        let uses = self.uses(query, entry);
        alone
            && row.iter().all(|id| !self.is_volatile(Part::Expr(*id)))
            && self.may_stand(query, entry, row, &uses)
    }

    fn may_merge(&self, query: QueryId, entry: usize, child: QueryId, under: Under) -> bool {
        let (around, of) = (self.tree.query(query), self.tree.query(child));
        let taken = &around.entries[entry - 1];
        let is_target = |modify: &crate::bound::Modify| modify.entry == entry;
        let targeted = around.modify.as_deref().is_some_and(is_target);
        if !is_simple(of) || targeted || !taken.in_from || !taken.guards.is_empty() {
            return false;
        }
        if under.outer && (of.from.is_empty() || self.uses_outside(child)) {
            return false;
        }
        if of.filter.is_some_and(|id| under.full || self.is_volatile(Part::Expr(id))) {
            return false;
        }
        let values = self.values_of(child);
        let uses = self.uses(query, entry);
        // A key of the groups is known again where it stands alone, and not in a query within.
        let grouped = !around.groups.is_empty() || around.has_aggregates || around.having.is_some();
        let of_column = |(_, column, inside): &(ExprId, i32, u32)| {
            let value = usize::try_from(*column - 1).ok().and_then(|at| values.get(at));
            *inside == 0
                || value.is_some_and(|id| {
                    matches!(self.tree.expr(*id), Expr::Var { up: 0, .. } | Expr::Literal(_))
                })
        };
        if grouped && !uses.iter().all(of_column) {
            return false;
        }
        values.iter().all(|id| !self.is_volatile(Part::Expr(*id)))
            && self.may_stand(query, entry, &values, &uses)
            && (!under.nullable
                || uses.iter().all(|(_, column, _)| {
                    self.is_null_without(child, values[*column as usize - 1])
                }))
    }

    fn values_of(&self, query: QueryId) -> Vec<ExprId> {
        let targets = self.tree.query(query).targets.iter().filter(|target| !target.hidden);
        targets.map(|target| target.value).collect()
    }

    /// Whether values may stand in the place of an entry's columns, where these are used.
    fn may_stand(
        &self,
        query: QueryId,
        entry: usize,
        values: &[ExprId],
        uses: &[(ExprId, i32, u32)],
    ) -> bool {
        let types = &self.entry(query, entry).types;
        let same = types.len() == values.len()
            && types.iter().zip(values).all(|(ty, id)| ty.oid == self.tree.ty(*id).oid);
        let known =
            |(_, column, _): &(ExprId, i32, u32)| *column > 0 && *column as usize <= values.len();
        if !same || !uses.iter().all(known) {
            return false;
        }
        let mut counts = vec![0_usize; values.len()];
        uses.iter().for_each(|(_, column, _)| counts[*column as usize - 1] += 1);
        let counted = || counts.iter().zip(values).filter(|(count, _)| **count > 0);
        // A query that is asked in several places would run in each.
        let asks_once = counted().all(|(count, id)| *count == 1 || !self.tree.has_queries(*id));
        let more: usize = counted().map(|(count, id)| count * self.size(*id)).sum();
        asks_once && self.tree.exprs() + more <= self.most
    }

    /// Whether a query uses columns of the one around it.
    fn uses_outside(&self, child: QueryId) -> bool {
        let mut found = false;
        self.each_column(child, &mut |_, (_, _, up), inside| found |= up == inside + 1);
        found
    }

    /// Whether an expression of a query is NULL wherever all columns of the query are.
    fn is_null_without(&self, query: QueryId, id: ExprId) -> bool {
        let strict = |proc: crate::Oid| self.catalog.proc(proc).is_some_and(|proc| proc.strict);
        let (mut all_strict, mut has_column) = (true, false);
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            let expr = self.tree.expr(id);
            match expr {
                Expr::Var { entry, column, up: 0 } => {
                    match &self.tree.query(query).entries[*entry - 1].kind {
                        EntryKind::Join { columns, .. } if *column > 0 => {
                            open.push(columns[*column as usize - 1]);
                        }
                        EntryKind::Join { .. } => all_strict = false,
                        // The row as a whole is there where its columns are NULL.
                        _ if *column == 0 => all_strict = false,
                        _ => has_column = true,
                    }
                }
                Expr::Var { .. } | Expr::Literal(_) | Expr::Param(_) => {}
                Expr::Op(op) if strict(op.proc) => open.extend(&op.args),
                Expr::Call(call) if strict(call.proc) => {
                    open.extend(call.args.iter().map(|arg| arg.1));
                }
                Expr::Relabel(one) | Expr::Collate(one, _) | Expr::ViaText(one) => open.push(*one),
                _ => all_strict = false,
            }
        }
        all_strict && has_column
    }

    /// Merges an entry's query, or its one row, with the query around it.
    fn take_in(&mut self, query: QueryId, entry: usize, child: Option<QueryId>) {
        let by = self.tree.query(query).entries.len();
        let uses = self.uses(query, entry);
        let lateral = self.entry(query, entry).lateral;
        let kind = EntryKind::Values(Vec::new());
        let taken = &mut self.tree.query_mut(query).entries[entry - 1];
        let before = std::mem::replace(&mut taken.kind, kind);
        taken.in_from = false;
        let (values, put) = match (child, before) {
            (Some(child), _) => (self.values_of(child), self.moved_in(query, child, lateral)),
            (None, EntryKind::Values(mut rows)) => (rows.remove(0), (Vec::new(), Vec::new())),
            (None, _) => unreachable!("only VALUES has rows of its own"),
        };
        // One row of VALUES stands in the query already.
        let (by, out) = if child.is_some() { (by, 1) } else { (0, 0) };
        for (id, column, inside) in uses {
            let lift = i64::from(inside) - out;
            let same = Moved::same(&mut self.tree);
            let mut moved = Moved { by, within: inside, lift, ..same };
            let made = moved.expr(values[column as usize - 1], 0);
            let expr = self.tree.expr(made).clone();
            self.tree.set_expr(id, expr);
            self.tree.note_like(made, id);
        }
        let from = std::mem::take(&mut self.tree.query_mut(query).from);
        let (mut trees, mut conditions) = (Vec::new(), Vec::new());
        let mut put = Some(put);
        for tree in from {
            let (made, more) = self.put_items(tree, entry, &mut put);
            trees.extend(made);
            conditions.extend(more);
        }
        assert!(put.is_none(), "the entry stood in FROM");
        conditions.extend(self.tree.query(query).filter);
        let filter = self.all_of(conditions);
        let of = self.tree.query_mut(query);
        (of.from, of.filter) = (trees, filter);
    }

    /// A query's entries come behind those of the query around it; its items and its condition.
    fn moved_in(&mut self, query: QueryId, child: QueryId, lateral: bool) -> Items {
        let by = self.tree.query(query).entries.len();
        let Query { mut entries, from: mut trees, filter, has_subqueries, .. } =
            self.tree.query(child).clone();
        let same = Moved::same(&mut self.tree);
        let mut moved = Moved { by, lift: -1, ..same };
        trees.iter_mut().for_each(|tree| moved.join(tree, 0));
        for entry in &mut entries {
            moved.entry(&mut entry.kind, 0);
            entry.guards.iter_mut().for_each(|id| *id = moved.expr(*id, 0));
            entry.lateral |= lateral && matches!(entry.kind, EntryKind::Query(_));
        }
        let condition = filter.map(|id| moved.expr(id, 0));
        let of = self.tree.query_mut(query);
        of.entries.extend(entries);
        of.has_subqueries |= has_subqueries;
        (trees, condition.into_iter().collect())
    }

    /// Puts items in the place of an entry. A condition goes up to where it may stand.
    fn put_items(&mut self, tree: JoinTree, entry: usize, put: &mut Option<Items>) -> Items {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || self.put_within(tree, entry, put))
    }

    fn put_within(&mut self, tree: JoinTree, entry: usize, put: &mut Option<Items>) -> Items {
        let mut join = match tree {
            JoinTree::Entry(at) if at == entry => {
                return put.take().expect("an entry stands in one place");
            }
            JoinTree::Join(join) => join,
            tree => return (vec![tree], Vec::new()),
        };
        let nothing = JoinTree::Entry(0);
        let left = std::mem::replace(&mut join.left, nothing.clone());
        let right = std::mem::replace(&mut join.right, nothing);
        let (mut left, mut on_left) = self.put_items(left, entry, put);
        let (mut right, mut on_right) = self.put_items(right, entry, put);
        if join.kind == JoinKind::Inner && (left.len(), right.len()) != (1, 1) {
            left.append(&mut right);
            on_left.append(&mut on_right);
            on_left.extend(join.condition);
            return (left, on_left);
        }
        join.left = self.folded(&mut left, &mut on_left);
        join.right = self.folded(&mut right, &mut on_right);
        let (own, up) = match join.kind {
            JoinKind::Inner => ([on_left, on_right].concat(), Vec::new()),
            JoinKind::Left => (on_right, on_left),
            JoinKind::Right => (on_left, on_right),
            JoinKind::Full => {
                assert!(on_left.is_empty() && on_right.is_empty(), "it was asked before");
                (Vec::new(), Vec::new())
            }
        };
        join.condition = self.all_of(own.into_iter().chain(join.condition).collect());
        (vec![JoinTree::Join(join)], up)
    }

    /// Several items as one; their condition stands with them then.
    fn folded(&mut self, items: &mut Vec<JoinTree>, conditions: &mut Vec<ExprId>) -> JoinTree {
        let mut items = std::mem::take(items).into_iter();
        let mut tree = items.next().expect("a side of a join has an item");
        let mut more = items.peekable();
        while let Some(right) = more.next() {
            let own = if more.peek().is_none() { std::mem::take(conditions) } else { Vec::new() };
            let condition = self.all_of(own);
            let (kind, left, using) = (JoinKind::Inner, tree, Vec::new());
            let join = JoinNode { kind, natural: false, left, right, using, condition, entry: 0 };
            tree = JoinTree::Join(Box::new(join));
        }
        tree
    }
}

/// Whether a query has no more than FROM, WHERE and targets.
fn is_simple(query: &Query) -> bool {
    let Query { modify, ctes, groups, sets, having, windows, distinct, order, .. } = query;
    let Query { offset, limit, ties, locks, set, .. } = query;
    let grouped = !groups.is_empty() || !sets.is_empty() || having.is_some();
    let calculated = query.has_aggregates || query.has_windows || query.has_sets;
    let shaped = !windows.is_empty() || !distinct.is_empty() || !order.is_empty() || set.is_some();
    let limited = offset.is_some() || limit.is_some() || *ties || !locks.is_empty();
    let more = modify.is_some() || !ctes.is_empty();
    !(grouped || calculated || shaped || limited || more)
}
