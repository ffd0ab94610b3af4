//! How do the tables of FROM come together, and which conditions are asked where?
//!
//! Inner joins and the items of FROM are one set of items with one set of conditions: a condition on one item is asked where
//! the item is read, an equality of two is the key of a hash join, the rest is asked as soon as all that it names is there.
//! Outer joins are items of their own; a condition in WHERE that NULL cannot meet makes an inner join of them. LATERAL items
//! come after what they name, and are run once per distinct set of the values that they use.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use datafusion_common::{JoinSide, JoinType, NullEquality};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use datafusion_physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, PartitionMode};
use onlap_pg::ast::JoinKind;
use onlap_pg::bound::{EntryKind, Expr, ExprId, JoinNode, JoinTree, Op, QueryId};
use onlap_pg::catalog::oids;
use onlap_pg::{Result, TypeRef};

use crate::compile::{Compiler, Frame, constant_bool};
use crate::env::Read;
use crate::error::ours;
use crate::estimates::OF_A_QUERY;
use crate::layout::Layout;
use crate::members::Members;
use crate::node::Node;
use crate::physical::Computed;

type Plan = Arc<dyn ExecutionPlan>;

/// A step with where its columns lie.
pub struct Part {
    /// The step.
    pub plan: Plan,
    /// Its columns.
    pub layout: Layout,
    /// How many rows it may give.
    pub rows: f64,
}

/// A condition that all rows must meet, and the entries that it names.
#[derive(Clone, Debug)]
struct Condition {
    id: ExprId,
    entries: Members,
    /// Whether it can be asked at one place only: it gives something else each time.
    volatile: bool,
}

/// Something that is joined with the others.
#[derive(Clone)]
struct Item<'t> {
    tree: &'t JoinTree,
    entries: Members,
    /// Entries outside of it that it names (LATERAL).
    needs: Members,
}

/// Up to this number of rows of the left, those of the right are looked up by an index.
const FEW: f64 = 100.0;
/// A share of rows that a condition leaves, where nothing else is known.
const SELECTIVITY: f64 = 0.2;

impl Compiler<'_> {
    /// FROM and WHERE of a query.
    pub fn from(&mut self, id: QueryId) -> Result<Plan> {
        let bound = self.bound;
        let query = bound.query(id);
        let mut conditions = Vec::new();
        if let Some(filter) = query.filter {
            self.split(filter, &mut conditions);
            let Frame { links, rest, .. } = self.frame();
            let is_link = |id: ExprId| links.iter().any(|link| link.condition == id);
            conditions.retain(|asked| !is_link(asked.id) && !rest.contains(&asked.id));
            self.cut(&mut conditions)?;
        }
        // What names none of the entries is the same for all rows.
        let once = |condition: &Condition| condition.entries.is_empty() && !condition.volatile;
        let (once, conditions): (Vec<_>, Vec<_>) = conditions.into_iter().partition(once);
        // A scan is not told of all of them: of none that is volatile, for one.
        self.frame().wanted.filtered |= !conditions.is_empty();
        let part = match query.from.is_empty() {
            true => {
                let part = self.one_row()?;
                self.asked(part, &conditions)?
            }
            false => {
                let trees: Vec<&JoinTree> = query.from.iter().collect();
                self.inner(&trees, conditions)?
            }
        };
        self.frame().layout = part.layout;
        self.asked_once(part.plan, once.iter().map(|condition| condition.id).collect())
    }

    /// The conditions that a conjunction is of.
    fn split(&self, id: ExprId, out: &mut Vec<Condition>) {
        match self.bound.expr(id) {
            Expr::And(all) => all.iter().for_each(|part| self.split(*part, out)),
            _ => out.push(Condition {
                id,
                entries: self.entries_of(id),
                volatile: self.is_volatile(id),
            }),
        }
    }

    /// What comes after a constant that is false is not looked at, as in PostgreSQL.
    fn cut(&mut self, conditions: &mut Vec<Condition>) -> Result<()> {
        for at in 0..conditions.len() {
            let Condition { id, entries, volatile } = &conditions[at];
            let is_constant = entries.is_empty() && !volatile && self.is_plain(*id);
            if is_constant && constant_bool(&self.node(conditions[at].id)?) == Some(false) {
                conditions.truncate(at + 1);
                break;
            }
        }
        Ok(())
    }

    /// Whether an expression asks no query and names no column.
    pub fn is_plain(&self, id: ExprId) -> bool {
        let mut plain = true;
        self.bound.visit(id, 0, &mut |id, _| {
            plain &= !matches!(self.bound.expr(id), Expr::SubQuery(_) | Expr::Var { .. });
            plain
        });
        plain
    }

    /// The entries of the query that an expression names, those behind columns of joins included.
    pub fn entries_of(&self, id: ExprId) -> Members {
        let mut found = Members::default();
        self.bound.visit(id, 0, &mut |id, inside| {
            if let Expr::Var { entry, column, up } = self.bound.expr(id)
                && *up == inside
            {
                self.add_entry(*entry, *column, &mut found);
            }
            true
        });
        found
    }

    fn add_entry(&self, entry: usize, column: i32, found: &mut Members) {
        let query = self.bound.query(self.frames.last().expect("a query is being made").query);
        match &query.entries[entry - 1].kind {
            EntryKind::Join { columns, .. } if column > 0 => {
                found.add(&self.entries_of(columns[column as usize - 1]));
            }
            EntryKind::Join { columns, .. } => {
                columns.iter().for_each(|column| found.add(&self.entries_of(*column)));
            }
            _ => {
                found.insert(entry);
            }
        }
    }

    /// The entries in a tree, without joins.
    fn entries_in(tree: &JoinTree, out: &mut Members) {
        match tree {
            JoinTree::Entry(entry) => {
                out.insert(*entry);
            }
            JoinTree::Join(join) => {
                Self::entries_in(&join.left, out);
                Self::entries_in(&join.right, out);
            }
        }
    }

    /// The entries that the parts of a tree name, in its functions and lateral queries.
    fn needs_of(&self, tree: &JoinTree, out: &mut Members) {
        match tree {
            JoinTree::Join(join) => {
                self.needs_of(&join.left, out);
                self.needs_of(&join.right, out);
                if let Some(condition) = join.condition {
                    out.add(&self.entries_of(condition));
                }
            }
            JoinTree::Entry(entry) => {
                let query = self.frames.last().expect("a query is being made").query;
                let entry = &self.bound.query(query).entries[*entry - 1];
                let mut see = |id: ExprId, inside: u32| {
                    if let Expr::Var { entry, column, up } = self.bound.expr(id)
                        && *up == inside
                    {
                        self.add_entry(*entry, *column, out);
                    }
                    true
                };
                match &entry.kind {
                    EntryKind::Query(query) if entry.lateral => {
                        self.bound.visit_query(*query, 1, &mut see);
                    }
                    EntryKind::Functions { calls, .. } => {
                        calls.iter().for_each(|call| self.bound.visit(call.call, 0, &mut see));
                    }
                    EntryKind::Values(rows) => {
                        rows.iter().flatten().for_each(|id| self.bound.visit(*id, 0, &mut see));
                    }
                    _ => {}
                }
            }
        }
    }

    /// Flattens inner joins into items and conditions.
    fn flatten<'t>(
        &self,
        tree: &'t JoinTree,
        items: &mut Vec<Item<'t>>,
        conditions: &mut Vec<Condition>,
    ) {
        match tree {
            JoinTree::Join(join) if join.kind == JoinKind::Inner => {
                self.flatten(&join.left, items, conditions);
                self.flatten(&join.right, items, conditions);
                if let Some(condition) = join.condition {
                    self.split(condition, conditions);
                }
            }
            tree => {
                let (mut entries, mut needs) = (Members::default(), Members::default());
                Self::entries_in(tree, &mut entries);
                self.needs_of(tree, &mut needs);
                needs.remove(&entries);
                items.push(Item { tree, entries, needs });
            }
        }
    }

    /// Items joined by conditions.
    fn inner(&mut self, trees: &[&JoinTree], mut conditions: Vec<Condition>) -> Result<Part> {
        let mut items = Vec::new();
        for tree in trees {
            self.flatten(tree, &mut items, &mut conditions);
        }
        let mut joined: Option<(Part, Members)> = None;
        while !items.is_empty() {
            let at = self.next_item(&items, joined.as_ref(), &conditions);
            let item = items.remove(at);
            joined = Some(match joined.take() {
                None => {
                    let own = take(&mut conditions, &item.entries);
                    (self.item(item.tree, own)?, item.entries)
                }
                Some((left, entries)) if !item.needs.is_disjoint(&entries) => {
                    let both = entries.with(&item.entries);
                    let on = take(&mut conditions, &both);
                    (self.lateral(left, &item, JoinKind::Inner, on)?, both)
                }
                Some((left, entries)) if self.is_lookup(&left, &entries, &item, &conditions) => {
                    let both = entries.with(&item.entries);
                    let mut on = take(&mut conditions, &item.entries);
                    on.extend(take(&mut conditions, &both));
                    (self.lateral(left, &item, JoinKind::Inner, on)?, both)
                }
                Some((left, entries)) => {
                    let own = take(&mut conditions, &item.entries);
                    let right = self.item(item.tree, own)?;
                    let both = entries.with(&item.entries);
                    let on = take(&mut conditions, &both);
                    (self.join(left, right, JoinKind::Inner, on)?, both)
                }
            });
        }
        let (part, _) = joined.expect("FROM has an item");
        self.asked(part, &conditions)
    }

    /// The next item: one that is joined by an equality with those before it, else the first that may come.
    fn next_item(
        &self,
        items: &[Item<'_>],
        joined: Option<&(Part, Members)>,
        conditions: &[Condition],
    ) -> usize {
        let none = Members::default();
        let there = joined.map_or(&none, |(_, entries)| entries);
        let may = |item: &Item<'_>| {
            let others = items.iter().any(|other| !item.needs.is_disjoint(&other.entries));
            item.needs.is_subset(there) || !others
        };
        let linked = |item: &Item<'_>| {
            conditions.iter().any(|condition| {
                self.is_equality(condition.id)
                    && !condition.entries.is_disjoint(there)
                    && !condition.entries.is_disjoint(&item.entries)
            })
        };
        let fewest = |items: &[Item<'_>]| {
            let counted = items.iter().enumerate().filter(|(_, item)| may(item));
            let counted = counted.map(|(at, item)| (at, self.rows_about(item, conditions)));
            counted.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
        };
        let first = || match joined {
            None => fewest(items),
            Some(_) => items.iter().position(may),
        };
        items.iter().position(|item| may(item) && linked(item)).or_else(first).unwrap_or(0)
    }

    /// How many rows an item may give, by the conditions on it alone.
    fn rows_about(&self, item: &Item<'_>, conditions: &[Condition]) -> f64 {
        let JoinTree::Entry(entry) = item.tree else { return OF_A_QUERY };
        let query = self.bound.query(self.frames.last().expect("a query is being made").query);
        let read = match &query.entries[*entry - 1].kind {
            EntryKind::Relation { oid, inherited, .. }
                if matches!(self.tables.view(*oid), Ok(None)) =>
            {
                Read { relation: *oid, inherited: *inherited }
            }
            EntryKind::Values(rows) => return rows.len() as f64,
            EntryKind::Query(query) => return self.rows_of_query(*query),
            _ => return OF_A_QUERY,
        };
        let own = conditions.iter().filter(|c| c.entries == item.entries).map(|c| c.id);
        self.rows_left(*entry, read, &own.collect::<Vec<_>>())
    }

    /// Whether an item is a table whose rows are best looked up by an index, for each of few rows.
    fn is_lookup(
        &self,
        left: &Part,
        there: &Members,
        item: &Item<'_>,
        conditions: &[Condition],
    ) -> bool {
        let JoinTree::Entry(entry) = item.tree else { return false };
        let query = self.bound.query(self.frames.last().expect("a query is being made").query);
        let EntryKind::Relation { oid, inherited, .. } = query.entries[*entry - 1].kind else {
            return false;
        };
        if left.rows > FEW || conditions.iter().any(|condition| condition.volatile) {
            return false;
        }
        let facts = self.tables.facts(Read { relation: oid, inherited });
        facts.rows > left.rows * 10.0
            && conditions.iter().any(|condition| {
                let (op, is_list) = match self.bound.expr(condition.id) {
                    Expr::Op(op) => (op, false),
                    Expr::ArrayOp(op, false) => (op, true),
                    _ => return false,
                };
                let [a, b] = op.args[..] else { return false };
                let is_indexed = |column: ExprId, other: ExprId| {
                    let number = self.column_of(*entry, column);
                    number.is_some_and(|number| facts.indexed.contains(&number))
                        && self.entries_of(other).is_subset(there)
                };
                self.is_equal(op)
                    && condition.entries.contains(*entry)
                    && (is_indexed(a, b) || !is_list && is_indexed(b, a))
            })
    }

    pub fn is_equality(&self, id: ExprId) -> bool {
        matches!(self.bound.expr(id), Expr::Op(op)
            if self.is_equal(op) && self.undetermined(id, op.proc).is_none())
    }

    fn is_equal(&self, op: &Op) -> bool {
        let operator = self.env.catalog.operator(op.operator);
        operator.is_some_and(|operator| operator.name == "=" && operator.can_hash)
    }

    /// An item with the conditions that are on it alone.
    fn item(&mut self, tree: &JoinTree, conditions: Vec<Condition>) -> Result<Part> {
        match tree {
            JoinTree::Entry(entry) => {
                let ids: Vec<ExprId> = conditions.iter().map(|c| c.id).collect();
                let part = self.entry(*entry, &ids)?;
                self.asked(part, &conditions)
            }
            JoinTree::Join(join) => self.outer(join, conditions),
        }
    }

    /// An outer join, with conditions on its rows.
    fn outer(&mut self, join: &JoinNode, mut conditions: Vec<Condition>) -> Result<Part> {
        let (mut left, mut right) = (Members::default(), Members::default());
        Self::entries_in(&join.left, &mut left);
        Self::entries_in(&join.right, &mut right);
        let refused = |side: &Members| {
            conditions.iter().any(|c| !c.volatile && self.refuses_null(c.id, side))
        };
        let (no_left, no_right) = (refused(&left), refused(&right));
        let kind = match join.kind {
            JoinKind::Left if no_right => JoinKind::Inner,
            JoinKind::Right if no_left => JoinKind::Inner,
            JoinKind::Full if no_left && no_right => JoinKind::Inner,
            JoinKind::Full if no_left => JoinKind::Left,
            JoinKind::Full if no_right => JoinKind::Right,
            kind => kind,
        };
        if matches!(kind, JoinKind::Left | JoinKind::Full) {
            self.refuse_nullable(&right)?;
        }
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            self.refuse_nullable(&left)?;
        }
        let mut on = Vec::new();
        if let Some(condition) = join.condition {
            self.split(condition, &mut on);
        }
        if kind == JoinKind::Inner {
            conditions.extend(on);
            return self.inner(&[&join.left, &join.right], conditions);
        }
        // Conditions on the side whose rows all stay are asked there; those of ON on the other side likewise.
        let (left_own, right_own) = match kind {
            JoinKind::Left => (take(&mut conditions, &left), take(&mut on, &right)),
            JoinKind::Right => (take(&mut on, &left), take(&mut conditions, &right)),
            _ => (Vec::new(), Vec::new()),
        };
        let mut needs = Members::default();
        self.needs_of(&join.right, &mut needs);
        needs.keep(&left);
        let sides = [(left, left_own), (right, right_own)];
        let part = self.outer_sides((join, kind), needs, sides, on)?;
        self.asked(part, &conditions)
    }

    /// The sides of an outer join, each with its entries and the conditions on it alone, joined by others. A table is looked up
    /// where few rows of the side that stays come to it.
    fn outer_sides(
        &mut self,
        (join, kind): (&JoinNode, JoinKind),
        needs: Members,
        [(left, left_own), (right, right_own)]: [(Members, Vec<Condition>); 2],
        mut on: Vec<Condition>,
    ) -> Result<Part> {
        if !needs.is_empty() {
            let left_part = self.inner(&[&join.left], left_own)?;
            on.extend(right_own);
            let item = Item { tree: &join.right, entries: right, needs };
            return self.lateral(left_part, &item, kind, on);
        }
        if kind == JoinKind::Right {
            // The rows that all stay come first: they may be few.
            let right_part = self.inner(&[&join.right], right_own)?;
            let other = Item { tree: &join.left, entries: left, needs };
            if self.is_lookup(&right_part, &right, &other, &on) {
                on.extend(left_own);
                return self.lateral(right_part, &other, JoinKind::Left, on);
            }
            let left_part = self.inner(&[&join.left], left_own)?;
            return self.join(left_part, right_part, kind, on);
        }
        let left_part = self.inner(&[&join.left], left_own)?;
        let other = Item { tree: &join.right, entries: right, needs };
        if kind == JoinKind::Left && self.is_lookup(&left_part, &left, &other, &on) {
            on.extend(right_own);
            return self.lateral(left_part, &other, kind, on);
        }
        let right_part = self.inner(&[&join.right], right_own)?;
        self.join(left_part, right_part, kind, on)
    }

    /// Whether a condition is never true where all columns of these entries are NULL.
    fn refuses_null(&self, id: ExprId, side: &Members) -> bool {
        let strict = |proc: onlap_pg::Oid| self.env.catalog.proc(proc).is_some_and(|p| p.strict);
        match self.bound.expr(id) {
            Expr::Op(op) if strict(op.proc) => {
                op.args.iter().any(|arg| self.is_null_with(*arg, side))
            }
            Expr::ArrayOp(op, false) => self.is_null_with(op.args[0], side),
            Expr::NullTest(test) if test.not && !test.row => self.is_null_with(test.value, side),
            Expr::Or(all) => all.iter().all(|part| self.refuses_null(*part, side)),
            Expr::And(all) => all.iter().any(|part| self.refuses_null(*part, side)),
            Expr::Var { .. } => self.is_null_with(id, side),
            _ => false,
        }
    }

    /// Whether an expression is NULL where all columns of these entries are.
    fn is_null_with(&self, id: ExprId, side: &Members) -> bool {
        let strict = |proc: onlap_pg::Oid| self.env.catalog.proc(proc).is_some_and(|p| p.strict);
        match self.bound.expr(id) {
            Expr::Var { entry, column, up: 0 } => {
                let query = self.frames.last().expect("a query is being made").query;
                match &self.bound.query(query).entries[*entry - 1].kind {
                    EntryKind::Join { columns, .. } if *column > 0 => {
                        self.is_null_with(columns[*column as usize - 1], side)
                    }
                    EntryKind::Join { .. } => false,
                    _ => *column > 0 && side.contains(*entry),
                }
            }
            Expr::Relabel(one) | Expr::Collate(one, _) | Expr::ViaText(one) => {
                self.is_null_with(*one, side)
            }
            Expr::Op(op) if strict(op.proc) => {
                op.args.iter().any(|arg| self.is_null_with(*arg, side))
            }
            Expr::Call(call) if strict(call.proc) => {
                call.args.iter().any(|(_, arg)| self.is_null_with(*arg, side))
            }
            _ => false,
        }
    }

    /// A step behind which only rows are left that meet the guards of their entry. It stands right above the scan: what the
    /// query asks is asked of no other rows.
    ///
    /// # Errors
    /// `0A000` for what has no kernel; errors of constants.
    pub fn guarded(&mut self, part: Part, guards: &[ExprId]) -> Result<Part> {
        let mut conditions = Vec::new();
        guards.iter().for_each(|id| self.split(*id, &mut conditions));
        self.asked(part, &conditions)
    }

    /// A step behind which only rows are left that meet conditions.
    fn asked(&mut self, part: Part, conditions: &[Condition]) -> Result<Part> {
        if conditions.is_empty() {
            return Ok(part);
        }
        let Part { plan, layout, rows } = part;
        let before = std::mem::replace(&mut self.frame().layout, layout);
        let mut ids: Vec<ExprId> = conditions.iter().map(|c| c.id).collect();
        // What comes before a condition that does something is asked of many rows together.
        let acts = ids.iter().position(|id| self.acts(*id)).unwrap_or(ids.len());
        self.cheapest_first(&mut ids[..acts]);
        let plan = self.asked_in_parts(plan, ids.split_at(acts));
        let layout = std::mem::replace(&mut self.frame().layout, before);
        let plan = plan?;
        let rows = rows * SELECTIVITY.powi(conditions.len().min(3) as i32);
        Ok(Part { plan, layout, rows: rows.max(1.0) })
    }

    fn asked_in_parts(
        &mut self,
        plan: Plan,
        (first, rest): (&[ExprId], &[ExprId]),
    ) -> Result<Plan> {
        let mut plan = plan;
        for (ids, acts) in [(first, false), (rest, true)] {
            if !ids.is_empty() {
                let node = self.conjunction(ids)?;
                let condition = self.physical(node, TypeRef::new(oids::BOOL))?;
                plan = crate::filter::filter(plan, condition, acts);
            }
        }
        Ok(plan)
    }

    /// All of some conditions as one.
    pub fn conjunction(&mut self, ids: &[ExprId]) -> Result<Node> {
        let mut nodes = self.nodes(ids)?;
        Ok(match nodes.len() {
            1 => nodes.remove(0),
            _ => Node::All(nodes.into_iter().map(Node::into_arm).collect()),
        })
    }

    /// Two steps joined.
    fn join(
        &mut self,
        left: Part,
        right: Part,
        kind: JoinKind,
        conditions: Vec<Condition>,
    ) -> Result<Part> {
        // The library keeps the left side in memory. Of pairs without a condition it gives all of a row of that side
        // together, so that rows come in the order of FROM.
        let pairs = conditions.is_empty() && left.rows <= right.rows;
        if right.rows > left.rows * 2.0 || kind == JoinKind::Full || pairs {
            return self.join_in_order(left, right, kind, conditions);
        }
        let turned = match kind {
            JoinKind::Left => JoinKind::Right,
            JoinKind::Right => JoinKind::Left,
            other => other,
        };
        self.join_in_order(right, left, turned, conditions)
    }

    fn join_in_order(
        &mut self,
        left: Part,
        right: Part,
        kind: JoinKind,
        conditions: Vec<Condition>,
    ) -> Result<Part> {
        let (mut keys, mut rest) = (Vec::new(), Vec::new());
        for condition in conditions {
            match self.key_sides(&condition, &left.layout, &right.layout)? {
                Some(sides) => keys.push(sides),
                None => rest.push(condition.id),
            }
        }
        let rows = match kind {
            JoinKind::Inner if keys.is_empty() => left.rows * right.rows,
            _ => left.rows.max(right.rows),
        };
        let (mut left_keys, mut right_keys) = (Vec::new(), Vec::new());
        for (a, b) in keys {
            left_keys.push(a);
            right_keys.push(b);
        }
        let (left_plan, left_layout, left_at) = self.with_keys(left, left_keys)?;
        let (right_plan, right_layout, right_at) = self.with_keys(right, right_keys)?;
        let width = left_layout.width();
        let layout = left_layout.beside(&right_layout);
        let before = std::mem::replace(&mut self.frame().layout, layout);
        self.cheapest_first(&mut rest);
        let filter = match rest.is_empty() {
            true => Ok(None),
            false => self
                .conjunction(&rest)
                .and_then(|node| self.join_filter(node, width, &left_plan, &right_plan).map(Some)),
        };
        let layout = std::mem::replace(&mut self.frame().layout, before);
        let kind = match kind {
            JoinKind::Inner => JoinType::Inner,
            JoinKind::Left => JoinType::Left,
            JoinKind::Right => JoinType::Right,
            JoinKind::Full => JoinType::Full,
        };
        let filter = filter?;
        let plan: Plan = if left_at.is_empty() {
            let join = NestedLoopJoinExec::try_new(left_plan, right_plan, filter, &kind, None);
            Arc::new(join.map_err(ours)?)
        } else {
            let on = left_at.iter().zip(&right_at);
            let on = on.map(|(a, b)| (crate::columns::column(*a), crate::columns::column(*b)));
            let on = on.collect();
            let mode = PartitionMode::CollectLeft;
            let nulls = NullEquality::NullEqualsNothing;
            let join = HashJoinExec::try_new(
                left_plan, right_plan, on, filter, &kind, None, mode, nulls, false,
            );
            Arc::new(join.map_err(ours)?)
        };
        // Both sides number their columns from 0; the join's are numbered anew.
        let types: Vec<DataType> =
            plan.schema().fields().iter().map(|field| field.data_type().clone()).collect();
        let exprs = (0..types.len()).map(|at| renamed(&plan, at)).collect();
        let plan = self.project(plan, exprs)?;
        Ok(Part { plan, layout, rows: rows.max(1.0) })
    }

    /// The two sides of an equality, each of one side of the join.
    fn key_sides(
        &mut self,
        condition: &Condition,
        left: &Layout,
        right: &Layout,
    ) -> Result<Option<((Node, DataType), (Node, DataType))>> {
        if condition.volatile || !self.is_equality(condition.id) {
            return Ok(None);
        }
        let Expr::Op(op) = self.bound.expr(condition.id) else { return Ok(None) };
        let [a, b] = op.args[..] else { return Ok(None) };
        let here = |layout: &Layout, entries: &Members| {
            !entries.is_empty() && entries.iter().all(|entry| layout.has_entry(entry))
        };
        let (of_a, of_b) = (self.entries_of(a), self.entries_of(b));
        let (a, b) = if here(left, &of_a) && here(right, &of_b) {
            (a, b)
        } else if here(left, &of_b) && here(right, &of_a) {
            (b, a)
        } else {
            return Ok(None);
        };
        let (ta, tb) = (self.bound.ty(a), self.bound.ty(b));
        let same = self.env.catalog.base_type(ta.oid) == self.env.catalog.base_type(tb.oid);
        let widths = [ta.oid, tb.oid].map(|oid| matches!(oid, 20 | 21 | 23));
        if !same && widths != [true, true] {
            return Ok(None);
        }
        let left_key = self.key_over(a, ta, left, same)?;
        let right_key = self.key_over(b, tb, right, same)?;
        Ok(Some((left_key, right_key)))
    }

    fn key_over(
        &mut self,
        id: ExprId,
        ty: TypeRef,
        layout: &Layout,
        same: bool,
    ) -> Result<(Node, DataType)> {
        let before = std::mem::replace(&mut self.frame().layout, layout.clone());
        let node = self.node(id);
        self.frame().layout = before;
        let node = node?;
        match same {
            true => self.key_node(node, ty),
            // Integers of two widths meet as the widest.
            false => Ok((Node::Wide(Box::new(node)), DataType::Int64)),
        }
    }

    /// A step with key columns.
    fn with_keys(
        &mut self,
        part: Part,
        keys: Vec<(Node, DataType)>,
    ) -> Result<(Plan, Layout, Vec<usize>)> {
        let Part { plan, mut layout, .. } = part;
        let width = layout.width();
        let mut exprs: Vec<_> = (0..width).map(crate::columns::column).collect();
        let mut at = Vec::new();
        for (node, ty) in keys {
            if let Node::Column(known) = node {
                at.push(known);
                continue;
            }
            let env = Arc::clone(&self.env);
            exprs.push(Arc::new(Computed { node: Arc::new(node), env, ty }));
            at.push(layout.add_hidden(TypeRef::new(0)));
        }
        let plan = if exprs.len() > width { self.project(plan, exprs)? } else { plan };
        Ok((plan, layout, at))
    }

    /// A condition on pairs of rows.
    fn join_filter(
        &self,
        node: Node,
        left_width: usize,
        left: &Plan,
        right: &Plan,
    ) -> Result<JoinFilter> {
        // Columns beyond those of both sides are the expression's own.
        let width = left_width + right.schema().fields().len();
        let mut used = node.columns();
        used.retain(|at| *at < width);
        let (mut indices, mut fields) = (Vec::new(), Vec::new());
        for (n, at) in used.iter().enumerate() {
            let (side, index, schema) = match *at < left_width {
                true => (JoinSide::Left, *at, left.schema()),
                false => (JoinSide::Right, at - left_width, right.schema()),
            };
            indices.push(ColumnIndex { index, side });
            fields.push(Field::new(format!("c{n}"), schema.field(index).data_type().clone(), true));
        }
        let node = Arc::new(Node::Moved(Box::new(node), used));
        let ty = DataType::Boolean;
        let expression = Arc::new(Computed { node, env: Arc::clone(&self.env), ty });
        Ok(JoinFilter::new(expression, indices, Arc::new(Schema::new(fields))))
    }

    /// A step whose right side is run for the values of each row of the left.
    fn lateral(
        &mut self,
        left: Part,
        item: &Item<'_>,
        kind: JoinKind,
        conditions: Vec<Condition>,
    ) -> Result<Part> {
        let ids: Vec<ExprId> = conditions.iter().map(|c| c.id).collect();
        self.lateral_join(left, item.tree, kind, &ids)
    }

    /// The right side of a lateral join, with conditions that may name columns of the left.
    pub fn lateral_tree(&mut self, tree: &JoinTree, conditions: &[ExprId]) -> Result<Part> {
        let mut own = Vec::new();
        conditions.iter().for_each(|id| self.split(*id, &mut own));
        match tree {
            JoinTree::Entry(_) => self.item(tree, own),
            tree => self.inner(&[tree], own),
        }
    }

    /// A conjunction over the columns of a layout.
    pub fn condition_over(&mut self, ids: &[ExprId], layout: &Layout) -> Result<Option<Node>> {
        if ids.is_empty() {
            return Ok(None);
        }
        let mut ids = ids.to_vec();
        self.cheapest_first(&mut ids);
        let before = std::mem::replace(&mut self.frame().layout, layout.clone());
        let node = self.conjunction(&ids);
        self.frame().layout = before;
        node.map(Some)
    }
}

fn renamed(plan: &Plan, at: usize) -> Arc<dyn datafusion_physical_expr::PhysicalExpr> {
    let name = plan.schema().field(at).name().clone();
    Arc::new(datafusion_physical_expr::expressions::Column::new(&name, at))
}

/// Takes the conditions that name these entries alone, each at least one of them.
fn take(conditions: &mut Vec<Condition>, entries: &Members) -> Vec<Condition> {
    let is_own =
        |c: &Condition| !c.volatile && !c.entries.is_empty() && c.entries.is_subset(entries);
    let (own, rest) = conditions.drain(..).partition(is_own);
    *conditions = rest;
    own
}
