//! In which steps is a query carried out?
//!
//! FROM and WHERE ([`crate::joins`]), groups and HAVING ([`crate::group`]), windows ([`crate::windows`]), targets with sets,
//! DISTINCT, ORDER BY, LIMIT; or, for UNION and its like, [`crate::sets`]. Each step adds columns to the layout; the last one
//! leaves the query's targets alone.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, SortOptions};
use datafusion_execution::TaskContext;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::limit::GlobalLimitExec;
use futures::StreamExt;
use onlap_kernels::Datum;
use onlap_pg::ast::SetKind;
use onlap_pg::bound::{Bound, Expr, ExprId, Query, QueryId, SetNode, SortItem, Target};
use onlap_pg::catalog::Volatility;
use onlap_pg::{Error, Result, TypeRef};
use parking_lot::Mutex;

use crate::carried::Carried;
use crate::columns::{column, schema_of};
use crate::compile::{Compiler, Frame};
use crate::effects;
use crate::env::{Env, Tables};
use crate::error::{external, ours};
use crate::node::{Node, Rows};
use crate::physical::Computed;
use crate::sorted::sorted;
use crate::step::{Step, stream_of};

/// A query's steps.
#[derive(Clone)]
pub struct Rel {
    /// The last of them; its columns are the query's.
    pub plan: Arc<dyn ExecutionPlan>,
    /// Their types.
    pub types: Vec<TypeRef>,
}

/// A column of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: TypeRef,
}

/// A statement's steps and the columns of its answer.
pub struct Output {
    /// The steps.
    pub plan: Arc<dyn ExecutionPlan>,
    /// The columns.
    pub columns: Vec<OutputColumn>,
}

/// The steps of a query; `carried` is what the parts of the statement share, where its WITH changes rows.
///
/// # Errors
/// `0A000` for what has no kernel or no step; errors of constants.
pub fn compile(
    bound: &Bound,
    query: QueryId,
    tables: &dyn Tables,
    env: &Arc<Env>,
    carried: Option<&Carried>,
) -> Result<Output> {
    let frames = Vec::new();
    env.sets.get_or_init(|| effects::may_set(bound, &env.catalog));
    let mut compiler = Compiler { bound, env: Arc::clone(env), tables, carried, frames };
    compiler.frames.push(Frame::new(query, None));
    let rel = compiler.query(query)?;
    let named = visible(bound.query(query)).zip(&rel.types).map(|(target, ty)| OutputColumn {
        name: target.name.as_deref().unwrap_or("?column?").to_string(),
        ty: *ty,
    });
    Ok(Output { columns: named.collect(), plan: rel.plan })
}

/// Of this many rows or fewer a sort keeps the first ones in a heap, which is never written to files; more are sorted like
/// all rows, which may be.
const HEAP_ROWS: usize = 8192;

/// The targets that are part of the result.
pub fn visible(query: &Query) -> impl Iterator<Item = &Target> {
    query.targets.iter().filter(|target| !target.hidden)
}

/// The values of expressions, of which some are calculated row by row.
fn partly_by_row(
    exprs: &[Arc<dyn PhysicalExpr>],
    by_row: &[bool],
    batch: &RecordBatch,
) -> datafusion_common::Result<Vec<ArrayRef>> {
    let (mut ordered, mut all) = (Vec::new(), Vec::with_capacity(exprs.len()));
    for (expr, by_row) in exprs.iter().zip(by_row) {
        match expr.downcast_ref::<Computed>().filter(|_| *by_row) {
            Some(computed) => {
                ordered.push(computed);
                all.push(None);
            }
            None => all.push(Some(expr.evaluate(batch)?.into_array(batch.num_rows())?)),
        }
    }
    let rows = Rows { columns: batch.columns(), count: batch.num_rows() };
    let mut made = effects::row_by_row(&ordered, &rows).map_err(external)?.into_iter();
    Ok(all.into_iter().filter_map(|whole| whole.or_else(|| made.next())).collect())
}

/// Whether a query takes all rows of those within it before it gives one.
fn takes_all(query: &Query) -> bool {
    let grouped = query.has_aggregates || !query.groups.is_empty() || !query.sets.is_empty();
    let ordered = !query.order.is_empty() || !query.distinct.is_empty() || query.has_windows;
    let mut open: Vec<&SetNode> = query.set.iter().collect();
    let mut is_appended = true;
    while let Some(SetNode::Both { kind, all, left, right, .. }) = open.pop() {
        is_appended &= *all && *kind == SetKind::Union;
        open.extend([&**left, &**right]);
    }
    grouped || ordered || query.modify.is_some() || !is_appended
}

impl Compiler<'_> {
    /// An expression among steps that are not ours.
    pub fn physical(&self, node: Node, ty: TypeRef) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(match node {
            Node::Column(at) => column(at),
            node => {
                let (node, env) = (Arc::new(node), Arc::clone(&self.env));
                Arc::new(Computed { node, env, ty: self.arrow(ty.oid)? })
            }
        })
    }

    /// A step that gives these expressions.
    pub fn project(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        exprs: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let from = plan.schema();
        let types = exprs.iter().map(|expr| expr.data_type(&from));
        let types = types.collect::<datafusion_common::Result<Vec<DataType>>>().map_err(ours)?;
        let by_row: Arc<[bool]> = effects::by_row_of(&exprs).into();
        let (schema, exprs) = (schema_of(&types), Arc::new(exprs));
        let (out, env) = (Arc::clone(&schema), Arc::clone(&self.env));
        let run = move |inputs: Vec<Arc<dyn ExecutionPlan>>, context: Arc<TaskContext>| {
            let (exprs, schema) = (Arc::clone(&exprs), Arc::clone(&out));
            let (env, by_row) = (Arc::clone(&env), Arc::clone(&by_row));
            let made = inputs[0].execute(0, context)?.map(move |batch| {
                // A join of the library gives batches for hours between two looks of its own.
                env.session.go_on().map_err(external)?;
                let batch = batch?;
                let value = |expr: &Arc<dyn PhysicalExpr>| {
                    expr.evaluate(&batch)?.into_array(batch.num_rows())
                };
                let columns = match by_row.is_empty() || batch.num_rows() < 2 {
                    true => exprs.iter().map(value).collect::<datafusion_common::Result<_>>()?,
                    false => partly_by_row(&exprs, &by_row, &batch)?,
                };
                Ok(RecordBatch::try_new(Arc::clone(&schema), columns)?)
            });
            Ok(stream_of(Arc::clone(&out), made))
        };
        Ok(Step::make("Project", "", vec![plan], schema, Arc::new(run)))
    }

    /// Adds calculated columns behind those that there are, which the layout gets as hidden ones.
    pub fn extend(
        &mut self,
        plan: Arc<dyn ExecutionPlan>,
        nodes: Vec<(Node, TypeRef)>,
    ) -> Result<(Arc<dyn ExecutionPlan>, Vec<usize>)> {
        let width = self.frame().layout.width();
        let mut exprs: Vec<Arc<dyn PhysicalExpr>> = (0..width).map(column).collect();
        let mut at = Vec::with_capacity(nodes.len());
        let before = exprs.len();
        for (node, ty) in nodes {
            if let Node::Column(known) = node {
                at.push(known);
                continue;
            }
            exprs.push(self.physical(node, ty)?);
            at.push(self.frame().layout.add_hidden(ty));
        }
        match exprs.len() == before {
            true => Ok((plan, at)),
            false => Ok((self.project(plan, exprs)?, at)),
        }
    }

    /// A step that keeps rows for which a condition is true.
    pub fn filter(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        condition: Node,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let condition = self.physical(condition, TypeRef::new(onlap_pg::catalog::oids::BOOL))?;
        Ok(crate::filter::filter(plan, condition, false))
    }

    /// A value's key as a node: what is compared for equality and order.
    pub fn key_node(&self, node: Node, ty: TypeRef) -> Result<(Node, DataType)> {
        let own = self.arrow(ty.oid)?;
        let key = onlap_kernels::key_repr(&self.env.catalog, ty.oid);
        let key = key.ok_or_else(|| crate::node::unserved(&self.env, ty.oid))?;
        let key = onlap_kernels::arrow_type(key);
        let is_same = onlap_kernels::is_own_key(&self.env.catalog, ty.oid);
        Ok(if is_same { (node, own) } else { (Node::Key(Box::new(node), ty.oid), key) })
    }

    /// The steps of a query.
    ///
    /// # Errors
    /// `0A000` for what has no kernel or no step; errors of constants.
    pub fn query(&mut self, id: QueryId) -> Result<Rel> {
        stacker::maybe_grow(128 << 10, 2 << 20, || {
            let bound = self.bound;
            let query = bound.query(id);
            self.with_queries(id)?;
            let rel = match &query.set {
                Some(_) => self.set_query(id)?,
                None => self.select(id)?,
            };
            Ok(self.sealed(rel))
        })
    }

    fn select(&mut self, id: QueryId) -> Result<Rel> {
        let bound = self.bound;
        let query = bound.query(id);
        self.frame().wanted = self.wanted(query);
        let mut plan = self.from(id)?;
        if query.has_aggregates && std::mem::take(&mut self.frame().sorted) {
            plan = self.extreme(plan)?;
        }
        let is_bare = self.is_bare(query);
        let has_groups = !query.groups.is_empty() && !is_bare;
        let is_grouped = query.has_aggregates || has_groups || !query.sets.is_empty();
        if query.has_sets && (is_grouped || query.has_windows) {
            plan = self.sets_below(query, plan)?;
        }
        if is_grouped {
            plan = self.group(id, plan)?;
        } else if query.having.is_some() {
            // One group, of which nothing is asked: its rows are not looked at.
            let one = self.one_row()?;
            (plan, self.frame().layout) = (one.plan, one.layout);
        }
        if let Some(having) = query.having {
            let mut all = Vec::new();
            self.conditions_in(having, &mut all);
            let written = all.clone();
            self.cheapest_first(&mut all);
            let node = match all == written {
                true => match self.node(having)? {
                    Node::And(arms) => Node::All(arms),
                    node => node,
                },
                false => self.conjunction(&all)?,
            };
            plan = self.filter(plan, node)?;
        }
        if query.has_windows {
            plan = self.windows(id, plan)?;
        }
        if query.has_sets {
            plan = self.sets_in_targets(id, plan)?;
        }
        self.finish(id, plan)
    }

    /// The conditions that a conjunction is of.
    pub fn conditions_in(&self, id: ExprId, out: &mut Vec<ExprId>) {
        match self.bound.expr(id) {
            Expr::And(all) => all.iter().for_each(|part| self.conditions_in(*part, out)),
            _ => out.push(id),
        }
    }

    /// DISTINCT, ORDER BY, LIMIT, and the targets.
    ///
    /// # Errors
    /// `0A000` for what has no kernel or no step; errors of constants.
    pub fn finish(&mut self, id: QueryId, plan: Arc<dyn ExecutionPlan>) -> Result<Rel> {
        let bound = self.bound;
        let query = bound.query(id);
        let mut plan = plan;
        // Targets that may differ at each call, or cost much, are calculated for the rows that are left alone; and so are all
        // where LIMIT takes rows as they come.
        let may_be_late = query.distinct.is_empty() || query.distinct_on && !query.order.is_empty();
        let is_cut = query.order.is_empty() && (query.limit.is_some() || query.offset.is_some());
        let late = may_be_late && (is_cut || self.has_late_targets(query));
        if !late {
            plan = self.target_columns(query, plan, |_| true)?;
        } else {
            let items = query.order.iter().chain(&query.distinct);
            let sorted: Vec<u32> = items.map(|item| item.reference).collect();
            plan = self.target_columns(query, plan, |t| sorted.contains(&t.reference))?;
        }
        let is_bare = self.is_bare(query);
        if !query.distinct.is_empty() && !self.frame().is_distinct && !is_bare {
            plan = self.distinct(query, plan)?;
        }
        let fetch = self.limits(query)?;
        let locks = !self.row_locks()?.is_empty();
        let is_sorted = self.frame().sorted || query.distinct_on && !query.distinct.is_empty();
        if !query.order.is_empty() && !is_sorted && !is_bare {
            let most = if query.ties || locks { None } else { fetch.sort_fetch() };
            plan = self.sort(query, plan, &query.order, most)?;
        }
        if locks {
            plan = self.locked(id, plan, &fetch)?;
        }
        plan = match query.ties {
            true => self.ties(query, plan, &fetch)?,
            false => fetch.apply(plan),
        };
        self.outputs(query, plan)
    }

    /// The columns that a query gives: its targets, or keys.
    fn outputs(&mut self, query: &Query, plan: Arc<dyn ExecutionPlan>) -> Result<Rel> {
        let bound = self.bound;
        let mut exprs = Vec::new();
        let mut types = Vec::new();
        let keys: Vec<ExprId> = self.frame().links.iter().map(|link| link.key).collect();
        for key in &keys {
            let ty = bound.ty(*key);
            let node = self.node(*key)?;
            exprs.push(self.physical(node, ty)?);
            types.push(ty);
        }
        for (var, ty) in self.asked_outside() {
            let node = self.var(var, 0, ty)?;
            exprs.push(self.physical(node, ty)?);
            types.push(ty);
        }
        for target in visible(query).filter(|_| keys.is_empty()) {
            let ty = bound.ty(target.value);
            let node = match self.is_unused(query, target.value) {
                true => {
                    // Its error comes when the plan is made, as that of any constant.
                    if self.frame().told.of_set()
                        && !query.has_sets
                        && self.is_constant(target.value)
                    {
                        self.node(target.value)?;
                    }
                    self.nothing(ty)?
                }
                false => self.node(target.value)?,
            };
            exprs.push(self.physical(node, ty)?);
            types.push(ty);
        }
        // A batch without columns has no rows to DataFusion's steps.
        if exprs.is_empty() {
            let none = self.constant(onlap_pg::catalog::oids::BOOL, &Datum::Null)?;
            exprs.push(self.physical(none, TypeRef::new(onlap_pg::catalog::oids::BOOL))?);
        }
        let plan = self.wanted_singly(query, plan, |target| !target.hidden && keys.is_empty());
        Ok(Rel { plan: self.project(plan, exprs)?, types })
    }

    /// The rows of which targets are calculated: one by one where that does something and a query around this one may want no
    /// more rows, by its LIMIT or since it asks whether there are any. Queries of WITH that are shared, and views with a
    /// security barrier, do not know who reads them, and are calculated as they come.
    fn wanted_singly(
        &self,
        query: &Query,
        plan: Arc<dyn ExecutionPlan>,
        wanted: impl Fn(&Target) -> bool,
    ) -> Arc<dyn ExecutionPlan> {
        let layout = &self.frames.last().expect("a query is being made").layout;
        let acts = |target: &Target| {
            wanted(target)
                && !layout.exprs.iter().any(|(id, _)| *id == target.value)
                && !self.is_unused(query, target.value)
                && self.acts(target.value)
        };
        let made = |target: &Target| self.calls_made(target.value);
        let mut acting = query.targets.iter().filter(|target| acts(target));
        let is_wanted = match self.may_stop() {
            true => acting.next().is_some(),
            false => self.is_source() && acting.any(made),
        };
        match is_wanted {
            true => crate::filter::singly(plan),
            false => plan,
        }
    }

    /// Whether INSERT takes the rows of the query that is being made, and writes each before it asks for the next.
    fn is_source(&self) -> bool {
        let mut around = self.frames.iter().rev().skip(1);
        around
            .find(|frame| takes_all(self.bound.query(frame.query)))
            .is_some_and(|frame| frame.one_by_one)
    }

    /// Whether a query around the one that is being made may want no more of its rows, with no step in between that takes all.
    fn may_stop(&self) -> bool {
        let (last, around) = self.frames.split_last().expect("a query is being made");
        let mut inner = last;
        for frame in around.iter().rev() {
            let query = self.bound.query(frame.query);
            if inner.told.is_rows_only() {
                return true;
            }
            if takes_all(query) {
                return false;
            }
            if query.limit.is_some() {
                return true;
            }
            inner = frame;
        }
        inner.told.is_rows_only()
    }

    fn has_late_targets(&self, query: &Query) -> bool {
        query.targets.iter().any(|target| {
            let mut late = false;
            self.bound.visit(target.value, 0, &mut |id, _| {
                late |= self.is_late(id);
                !late
            });
            late
        })
    }

    fn is_late(&self, id: ExprId) -> bool {
        let volatile = |proc: onlap_pg::Oid| {
            let proc = self.env.catalog.proc(proc);
            proc.is_some_and(|proc| proc.volatility == Volatility::Volatile)
        };
        match self.bound.expr(id) {
            Expr::SubQuery(_) => true,
            Expr::Call(call) => volatile(call.proc),
            Expr::Op(op) => volatile(op.proc),
            _ => false,
        }
    }

    /// Calculates targets, which later steps then find as columns.
    fn target_columns(
        &mut self,
        query: &Query,
        plan: Arc<dyn ExecutionPlan>,
        wanted: impl Fn(&Target) -> bool,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut nodes = Vec::new();
        let mut ids = Vec::new();
        // What is calculated before rows are sorted, for one, is calculated for all of them.
        let plan = match takes_all(query) {
            true => plan,
            false => self.wanted_singly(query, plan, &wanted),
        };
        for target in query.targets.iter().filter(|target| wanted(target)) {
            if self.is_unused(query, target.value) {
                continue;
            }
            let node = self.node(target.value)?;
            if !matches!(node, Node::Column(_) | Node::Const(_)) {
                nodes.push((node, self.bound.ty(target.value)));
                ids.push(target.value);
            }
        }
        let (plan, at) = self.extend(plan, nodes)?;
        self.frame().layout.exprs.extend(ids.into_iter().zip(at));
        Ok(plan)
    }

    /// The target that an item of ORDER BY and its like names.
    pub fn target_of<'q>(&self, query: &'q Query, item: &SortItem) -> &'q Target {
        let found = query.targets.iter().find(|target| target.reference == item.reference);
        found.expect("the binder has numbered the targets that clauses name")
    }

    /// Whether an item goes down.
    pub fn is_descending(&self, item: &SortItem) -> bool {
        let operator = self.env.catalog.operator(item.less);
        // hstore's order has names of its own.
        operator.is_some_and(|operator| matches!(operator.name, ">" | "#>#"))
    }

    /// The order of some items, with the columns that it needs.
    pub fn ordering(
        &mut self,
        query: &Query,
        plan: Arc<dyn ExecutionPlan>,
        items: &[SortItem],
    ) -> Result<(Arc<dyn ExecutionPlan>, Vec<(usize, SortOptions)>)> {
        let mut nodes = Vec::new();
        let mut how = Vec::new();
        for item in items {
            let target = self.target_of(query, item);
            let ty = self.bound.ty(target.value);
            let node = self.node(target.value)?;
            if matches!(node, Node::Const(_)) {
                continue;
            }
            let (key, _) = self.key_node(node, ty)?;
            nodes.push((key, ty));
            let descending = self.is_descending(item);
            how.push(SortOptions { descending, nulls_first: item.nulls_first });
        }
        let (plan, at) = self.extend_keys(plan, nodes)?;
        Ok((plan, at.into_iter().zip(how).collect()))
    }

    /// Adds key columns, which have a type of their own.
    pub fn extend_keys(
        &mut self,
        plan: Arc<dyn ExecutionPlan>,
        nodes: Vec<(Node, TypeRef)>,
    ) -> Result<(Arc<dyn ExecutionPlan>, Vec<usize>)> {
        let width = self.frame().layout.width();
        let mut exprs: Vec<Arc<dyn PhysicalExpr>> = (0..width).map(column).collect();
        let mut at = Vec::with_capacity(nodes.len());
        for (node, ty) in nodes {
            if let Node::Column(known) = node {
                at.push(known);
                continue;
            }
            let arrow = match &node {
                Node::Key(_, oid) => {
                    let key = onlap_kernels::key_repr(&self.env.catalog, *oid);
                    onlap_kernels::arrow_type(key.expect("the key was made"))
                }
                _ => self.arrow(ty.oid)?,
            };
            let env = Arc::clone(&self.env);
            exprs.push(Arc::new(Computed { node: Arc::new(node), env, ty: arrow }));
            at.push(self.frame().layout.add_hidden(ty));
        }
        match exprs.len() == width {
            true => Ok((plan, at)),
            false => Ok((self.project(plan, exprs)?, at)),
        }
    }

    /// A sort by some items.
    pub fn sort(
        &mut self,
        query: &Query,
        plan: Arc<dyn ExecutionPlan>,
        items: &[SortItem],
        fetch: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (plan, keys) = self.ordering(query, plan, items)?;
        // A sort keeps one row at least; what is to be left of them is the business of the limit.
        let fetch = fetch.filter(|rows| *rows <= HEAP_ROWS).map(|rows| rows.max(1));
        Ok(sorted(plan, &keys, fetch))
    }

    /// The numbers of LIMIT and OFFSET.
    pub fn limits(&mut self, query: &Query) -> Result<Fetch> {
        // No column is in sight here, not that of a group by the same number either.
        let layout = std::mem::take(&mut self.frame().layout);
        let mut node = |expr: Option<ExprId>| expr.map(|expr| self.node(expr)).transpose();
        let made = (node(query.limit), node(query.offset));
        self.frame().layout = layout;
        let (limit, offset) = (made.0?, made.1?);
        // A query runs with what the plan is run with, and what is volatile is calculated once.
        let waits = |node: &Node| node.asks_outside() || !node.is_repeatable();
        let is_late = [&limit, &offset].into_iter().flatten().any(waits);
        let last = Mutex::default();
        let counts = Counts { limit, offset, env: Arc::clone(&self.env), last };
        if is_late {
            return Ok(Fetch { skip: 0, fetch: None, late: Some(Arc::new(counts)) });
        }
        let (skip, fetch) = counts.values()?;
        Ok(Fetch { skip, fetch, late: None })
    }
}

/// The numbers of LIMIT and OFFSET, before they are calculated.
pub struct Counts {
    limit: Option<Node>,
    offset: Option<Node>,
    env: Arc<crate::env::Env>,
    /// What they came to when the limit began, for the step below it that locks rows.
    last: Mutex<Option<(usize, Option<usize>)>>,
}

impl Counts {
    /// How many rows are left out, and how many are given then.
    ///
    /// # Errors
    /// Those of the expressions; a number is negative.
    pub fn values(&self) -> Result<(usize, Option<usize>)> {
        let value = |node: &Option<Node>, clause: &str, state: &'static str| {
            let Some(node) = node else { return Ok(None) };
            let value = node.eval(&Rows { columns: &[], count: 1 }, &self.env)?;
            match Datum::at(&value.array, onlap_kernels::Repr::Int8, 0) {
                Datum::Int8(n) if n < 0 => {
                    Err(Error::new(state, format!("{clause} must not be negative")))
                }
                Datum::Int8(n) => Ok(Some(usize::try_from(n).expect("it is not negative"))),
                _ => Ok(None),
            }
        };
        let limit = value(&self.limit, "LIMIT", "2201W")?;
        let made = (value(&self.offset, "OFFSET", "2201X")?.unwrap_or(0), limit);
        *self.last.lock() = Some(made);
        Ok(made)
    }

    /// How many rows are needed, with those that are left out, by what the limit above has calculated.
    ///
    /// # Errors
    /// Those of the expressions; a number is negative.
    pub fn needed(&self) -> Result<Option<usize>> {
        let known = self.last.lock().take();
        let (skip, fetch) = known.map_or_else(|| self.values(), Ok)?;
        Ok(fetch.map(|fetch| fetch.saturating_add(skip)))
    }
}

/// LIMIT and OFFSET.
pub struct Fetch {
    /// Rows that are left out first.
    pub skip: usize,
    /// Rows that are given then.
    pub fetch: Option<usize>,
    /// In their place, numbers that are known when the plan runs: of a query, or of one around this one.
    pub late: Option<Arc<Counts>>,
}

impl Fetch {
    /// How many rows of a sort are needed.
    pub fn sort_fetch(&self) -> Option<usize> {
        self.fetch.map(|fetch| fetch.saturating_add(self.skip))
    }

    /// The rows that are left.
    pub fn apply(&self, plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        match self {
            Fetch { late: Some(counts), .. } => late_limit(plan, Arc::clone(counts)),
            Fetch { skip: 0, fetch: None, .. } => plan,
            Fetch { fetch: Some(0), .. } => no_rows(plan),
            Fetch { skip, fetch, .. } => Arc::new(GlobalLimitExec::new(plan, *skip, *fetch)),
        }
    }
}

/// None of a step's rows, which does not begin.
fn no_rows(plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    let schema = plan.schema();
    let out = Arc::clone(&schema);
    let run = move |_: Vec<Arc<dyn ExecutionPlan>>, _: Arc<TaskContext>| {
        Ok(stream_of(Arc::clone(&out), futures::stream::empty()))
    };
    Step::make("Limit", "", vec![plan], schema, Arc::new(run))
}

/// A limit whose numbers are calculated when it starts.
fn late_limit(plan: Arc<dyn ExecutionPlan>, counts: Arc<Counts>) -> Arc<dyn ExecutionPlan> {
    let schema = plan.schema();
    let out = Arc::clone(&schema);
    let run = move |inputs: Vec<Arc<dyn ExecutionPlan>>, context: Arc<TaskContext>| {
        let (mut skip, fetch) = counts.values().map_err(external)?;
        if fetch == Some(0) {
            return Ok(stream_of(Arc::clone(&out), futures::stream::empty()));
        }
        let mut left = fetch.unwrap_or(usize::MAX);
        let input = inputs[0].execute(0, context)?;
        let some = input.map(move |batch| {
            let batch = batch?;
            let skipped = skip.min(batch.num_rows());
            let taken = left.min(batch.num_rows() - skipped);
            (skip, left) = (skip - skipped, left - taken);
            Ok((batch.slice(skipped, taken), left == 0))
        });
        // The batch that fills the limit is the last.
        let until = some.scan(false, |ended, batch| {
            let next = match (&batch, *ended) {
                (_, true) => None,
                (Ok((_, last)), _) => {
                    *ended = *last;
                    Some(batch.map(|(batch, _)| batch))
                }
                (Err(_), _) => Some(batch.map(|(batch, _)| batch)),
            };
            futures::future::ready(next)
        });
        Ok(stream_of(Arc::clone(&out), until))
    };
    Step::make("Limit", "", vec![plan], schema, Arc::new(run))
}
