//! For which rows is an expression calculated?
//!
//! A statement says what its answer is, not which rows a target or a condition is calculated for; but an error of one that
//! meets no wanted row should not come. This is what PostgreSQL's planner does before it looks for a plan, so that the same
//! rows are reached: queries in FROM, views and queries of WITH that add nothing but names are merged with the query around
//! them (`up`): their targets are calculated where they are used, and their conditions stand with its own. Into others
//! conditions are moved (`down`), and from HAVING to WHERE.
//!
//! A statement is changed after its rights were asked for, and for its carrying out alone: what prints it or says what it
//! reads sees it as it was bound. Entries keep their numbers; one that was merged stays as a list without rows.
//!
//! Knows nothing of rows, indexes and steps. Pure.

mod down;
mod moved;
mod sound;
mod up;

use std::collections::HashSet;

use crate::TypeRef;
use crate::bound::{Bound, Entry, EntryKind, Expr, ExprId, Part, QueryId};
use crate::catalog::{Catalog, oids};

/// Expressions that a statement may come to have more. Views that use each of their columns twice double with each level.
const MOST: usize = 20_000;

/// Finds the query of a view whose conditions may be asked in any order with those of the query around it.
pub type Views<'a> = &'a dyn Fn(crate::Oid) -> Option<(&'a Bound, QueryId)>;

/// A statement whose queries are merged where that may be done; `None` where nothing was to be done.
///
/// # Panics
/// In builds with debug assertions, where a column of the statement, or of what it became, names no rows.
pub fn settled<'a>(
    bound: &'a Bound,
    query: QueryId,
    catalog: &'a Catalog,
    views: Views<'a>,
) -> Option<Bound> {
    if !has_work(bound, views) {
        return None;
    }
    let most = bound.exprs() + MOST;
    let mut reach = Reach { tree: bound.clone(), catalog, views, most, changed: false };
    reach.merge(query, &mut Vec::new());
    reach.push(query);
    if !reach.changed {
        return None;
    }
    debug_assert_eq!(sound::flaw(bound, query), None, "as it was bound");
    let flaw = sound::flaw(&reach.tree, query);
    debug_assert_eq!(flaw, None, "as it was merged");
    flaw.is_none().then_some(reach.tree)
}

fn has_work(bound: &Bound, views: Views<'_>) -> bool {
    let mut found = false;
    for query in bound.query_ids().map(|id| bound.query(id)) {
        // Rows that are locked are those of the queries as they were written.
        if !query.locks.is_empty() {
            return false;
        }
        found |= query.having.is_some() && query.sets.is_empty();
        found |= query.entries.iter().filter(|entry| entry.in_from).any(|entry| match entry.kind {
            EntryKind::Query(_) | EntryKind::Cte { own: false, .. } => true,
            EntryKind::Relation { oid, kind, .. } => kind == b'v' && views(oid).is_some(),
            EntryKind::Values(ref rows) => rows.len() == 1,
            _ => false,
        });
    }
    found
}

/// A statement that is changed.
struct Reach<'a> {
    tree: Bound,
    catalog: &'a Catalog,
    views: Views<'a>,
    /// Expressions that it may have.
    most: usize,
    changed: bool,
}

impl Reach<'_> {
    fn entry(&self, query: QueryId, entry: usize) -> &Entry {
        &self.tree.query(query).entries[entry - 1]
    }

    /// The conditions that a conjunction is of.
    fn split(&self, id: ExprId, out: &mut Vec<ExprId>) {
        match self.tree.expr(id) {
            Expr::And(all) => all.iter().for_each(|part| self.split(*part, out)),
            _ => out.push(id),
        }
    }

    fn all_of(&mut self, all: Vec<ExprId>) -> Option<ExprId> {
        match &all[..] {
            [] => None,
            [one] => Some(*one),
            _ => Some(self.tree.add(Expr::And(all), TypeRef::new(oids::BOOL), None)),
        }
    }

    /// The queries in a query's FROM, WITH and expressions, not those within these.
    fn queries_in(&self, query: QueryId) -> Vec<QueryId> {
        let mut found = Vec::new();
        for part in self.tree.parts(query) {
            match part {
                Part::Query(inner) => found.push(inner),
                Part::Expr(id) => self.tree.visit(id, 0, &mut |id, inside| {
                    if let (Expr::SubQuery(sub), 0) = (self.tree.expr(id), inside) {
                        found.push(sub.query);
                    }
                    inside == 0
                }),
            }
        }
        found
    }

    /// Whether a part may give something else each time, or do something. What a view does is not known here.
    fn is_volatile(&self, part: Part) -> bool {
        if self.tree.calls_volatile(part, self.catalog) {
            return true;
        }
        let mut open = match part {
            Part::Query(query) => vec![query],
            Part::Expr(id) => self.asked_in(id),
        };
        while let Some(query) = open.pop() {
            let is_view =
                |entry: &Entry| matches!(entry.kind, EntryKind::Relation { kind: b'v', .. });
            if self.tree.query(query).entries.iter().any(is_view) {
                return true;
            }
            open.extend(self.queries_in(query));
        }
        false
    }

    /// The queries that an expression asks, not those within these.
    fn asked_in(&self, id: ExprId) -> Vec<QueryId> {
        let mut found = Vec::new();
        self.tree.visit(id, 0, &mut |id, inside| {
            if let (Expr::SubQuery(sub), 0) = (self.tree.expr(id), inside) {
                found.push(sub.query);
            }
            inside == 0
        });
        found
    }

    /// Shows each column that a query and the queries within it name, with how many of these it stands in. What the columns
    /// of joins are of counts too, whether something names these or not.
    fn each_column(&self, query: QueryId, see: &mut dyn FnMut(ExprId, (usize, i32, u32), u32)) {
        let mut open = vec![(query, 0)];
        while let Some((query, inside)) = open.pop() {
            let mut look = |id: ExprId, open: &mut Vec<(QueryId, u32)>| {
                self.tree.visit(id, inside, &mut |id, at| {
                    match self.tree.expr(id) {
                        _ if at > inside => return false,
                        Expr::Var { entry, column, up } => see(id, (*entry, *column, *up), inside),
                        Expr::SubQuery(sub) => open.push((sub.query, inside + 1)),
                        _ => {}
                    }
                    true
                });
            };
            for part in self.tree.parts(query) {
                match part {
                    Part::Query(inner) => open.push((inner, inside + 1)),
                    Part::Expr(id) => look(id, &mut open),
                }
            }
            for entry in &self.tree.query(query).entries {
                if let EntryKind::Join { columns, .. } = &entry.kind {
                    columns.iter().for_each(|id| look(*id, &mut open));
                }
            }
        }
    }

    /// Where columns of an entry are used: the expression, the column, and how many queries within the entry's.
    fn uses(&self, query: QueryId, entry: usize) -> Vec<(ExprId, i32, u32)> {
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        self.each_column(query, &mut |id, (of, column, up), inside| {
            if up == inside && of == entry && seen.insert(id) {
                found.push((id, column, inside));
            }
        });
        found
    }

    /// How many expressions one is of, with those of its queries.
    fn size(&self, id: ExprId) -> usize {
        let mut size = 0;
        self.tree.visit(id, 0, &mut |_, _| {
            size += 1;
            true
        });
        size
    }
}
