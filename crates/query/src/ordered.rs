//! When does an index give rows in the order that is asked for?
//!
//! ORDER BY with LIMIT over one table, and min or max of a column of it, need the first rows in some order alone. A scan that
//! has the order by an index ends as soon as they are found, and nothing is sorted. Conditions that no index answers leave
//! rows out on the way: an estimate says whether that is still less than to read all rows and sort them.

use std::sync::Arc;

use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::limit::GlobalLimitExec;
use onlap_pg::Result;
use onlap_pg::bound::{Aggregate, EntryKind, Expr, ExprId, JoinTree, Query, SortItem};

use crate::compile::{Compiler, unsupported};
use crate::env::{Facts, Order, Read, Restriction, RestrictionKind, Wanted};
use crate::node::Node;

/// Rows that are read and sorted in the time in which one is read by an index.
const ROWS_OF_LOOKUP: f64 = 4.0;
/// Of tables up to this size all is read fast.
const SMALL: f64 = 4000.0;

impl Compiler<'_> {
    /// What a query does with the rows of its only table.
    pub fn wanted(&mut self, query: &Query) -> Wanted {
        let [JoinTree::Entry(entry)] = query.from[..] else { return Wanted::default() };
        let EntryKind::Relation { sample: None, .. } = query.entries[entry - 1].kind else {
            return Wanted::default();
        };
        let is_plain = query.groups.is_empty()
            && query.sets.is_empty()
            && query.having.is_none()
            && query.distinct.is_empty()
            && !query.has_windows
            && !query.has_sets;
        let made = match (is_plain, query.has_aggregates) {
            (false, _) => None,
            (true, true) => self.for_extreme(entry, query),
            (true, false) => self.for_first(entry, query),
        };
        made.unwrap_or_default()
    }

    /// ORDER BY with LIMIT.
    fn for_first(&mut self, entry: usize, query: &Query) -> Option<Wanted> {
        if query.order.is_empty() {
            return None;
        }
        // What is wrong with the numbers is said where they are used.
        let first = self.limits(query).ok()?.sort_fetch()?;
        let facts = match query.entries[entry - 1].kind {
            EntryKind::Relation { oid, inherited, .. } => {
                self.tables.facts(Read { relation: oid, inherited })
            }
            _ => Facts::default(),
        };
        let order: Option<Vec<Order>> =
            query.order.iter().map(|item| self.order_of(entry, query, item, &facts)).collect();
        // A row that is locked may be left out.
        let locks = self.row_locks().is_ok_and(|locks| !locks.is_empty());
        Some(Wanted { order: order?, first, filtered: query.ties || locks, ..Wanted::default() })
    }

    fn order_of(
        &self,
        entry: usize,
        query: &Query,
        item: &SortItem,
        facts: &Facts,
    ) -> Option<Order> {
        let name = self.env.catalog.operator(item.less)?.name;
        if !matches!(name, "<" | ">") {
            return None;
        }
        let column = self.key_of(entry, self.target_of(query, item).value, facts)?;
        Some(Order { column, descending: name == ">", nulls_first: item.nulls_first })
    }

    /// min or max of a column, where nothing else is asked for.
    fn for_extreme(&mut self, entry: usize, query: &Query) -> Option<Wanted> {
        if query.filter.is_some() || !query.entries[entry - 1].guards.is_empty() {
            return None;
        }
        let call = self.bound.expr(self.only_aggregate(query)?);
        let Expr::Aggregate(call) = call else { return None };
        let (column, descending) = self.extreme_of(entry, call)?;
        let order = vec![Order { column, descending, nulls_first: descending }];
        // NULLs, of which there may be many, come first among the greatest.
        Some(Wanted { order, first: 1, filtered: descending, ..Wanted::default() })
    }

    /// The aggregate that all of a query's are which are asked for.
    fn only_aggregate(&self, query: &Query) -> Option<ExprId> {
        let mut found: Vec<ExprId> = Vec::new();
        let mut others = false;
        let asked = query.targets.iter().filter(|target| !self.is_unused(query, target.value));
        for target in asked {
            self.bound.visit(target.value, 0, &mut |id, inside| {
                match self.bound.expr(id) {
                    Expr::Aggregate(call) if call.up == inside => {
                        found.push(id);
                        return false;
                    }
                    Expr::SubQuery(_) => others = true,
                    _ => {}
                }
                true
            });
        }
        let first = *found.first()?;
        let same = found.iter().all(|other| self.bound.same(first, *other));
        (same && !others).then_some(first)
    }

    /// The column, and whether its greatest value is asked for.
    fn extreme_of(&self, entry: usize, call: &Aggregate) -> Option<(i32, bool)> {
        let [value] = &call.args[..] else { return None };
        let is_plain = call.order.is_empty() && call.distinct.is_empty() && call.filter.is_none();
        let descending = match self.env.catalog.proc(call.proc)?.name.as_ref() {
            "max" => true,
            "min" => false,
            _ => return None,
        };
        let column = self.column_of(entry, value.value)?;
        is_plain.then_some((column, descending))
    }

    /// The first row that has a value, of rows in the order of a column.
    ///
    /// # Errors
    /// `0A000`: the scan does not read the column.
    pub fn extreme(&mut self, plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let order = self.frame().wanted.order[0];
        let mut plan = plan;
        if order.nulls_first {
            let vars = &self.layout().vars;
            let at = vars.iter().find(|(var, _)| var.1 == order.column).map(|(_, at)| *at);
            let at = at.ok_or_else(|| unsupported("max of a column that is not read"))?;
            plan = self.filter(plan, Node::NullTest(Box::new(Node::Column(at)), true))?;
        }
        Ok(Arc::new(GlobalLimitExec::new(plan, 0, Some(1))))
    }
}

/// What a scan is asked for, while its conditions are looked at.
pub struct Sought {
    wanted: Wanted,
    /// The share of rows that is expected to be left by conditions which no index answers.
    share: f64,
}

impl Sought {
    /// Without conditions yet.
    pub fn new(wanted: Wanted) -> Sought {
        Sought { wanted, share: 1.0 }
    }

    /// Another condition, with what it is to an index.
    pub fn narrow(&mut self, restriction: Option<&Restriction>, facts: &Facts) {
        self.wanted.filtered = true;
        self.share *= match restriction {
            Some(known) if facts.indexed.contains(&known.column) => 1.0,
            Some(known) if known.kind == RestrictionKind::Equal => 0.01,
            _ => 0.2,
        };
    }

    /// What is wanted of this number of rows.
    pub fn end(self, rows: f64) -> Wanted {
        let read = self.wanted.first as f64 / self.share;
        match read * ROWS_OF_LOOKUP <= rows.max(SMALL) {
            true => self.wanted,
            false => Wanted::default(),
        }
    }
}
