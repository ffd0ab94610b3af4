//! How are rows grouped, and aggregates calculated?
//!
//! Groups are told apart by keys; the values that are shown are those of a group's first row. GROUPING SETS, ROLLUP and CUBE
//! become copies of each row ([`group_sets`]). What is calculated for groups becomes
//! columns that the targets, HAVING and ORDER BY find by the expressions that they are.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::Int32Array;
use arrow_schema::{DataType, SortOptions};
use datafusion_expr::AggregateUDF;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::aggregate::{AggregateExprBuilder, AggregateFunctionExpr};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use onlap_kernels::aggregate::MakeAggregate;
use onlap_kernels::{Types, find_aggregate};
use onlap_pg::bound::{Aggregate, EntryKind, Expr, ExprId, Query, QueryId};
use onlap_pg::catalog::oids;
use onlap_pg::{Oid, Result, TypeRef};

use crate::aggregates::{Called, Collected, MakeStates, Within};
use crate::collation::Colliding;
use crate::columns::column;
use crate::compile::{Compiler, unsupported};
use crate::error::ours;
use crate::group_parts::Parts;
use crate::group_sets;
use crate::layout::Layout;
use crate::node::Node;
use crate::physical::Computed;

type Plan = Arc<dyn ExecutionPlan>;

/// Where a grouped value is found.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// Among the keys.
    Key(usize),
    /// Among the calls.
    Call(usize),
}

impl Found {
    /// The column of the step of groups, which begins with so many keys.
    pub fn at(self, keys: usize) -> usize {
        match self {
            Found::Key(at) => at,
            Found::Call(at) => keys + at,
        }
    }
}

/// Groups that have been made.
pub struct Grouped {
    /// The step.
    pub plan: Plan,
    /// What it is made of.
    pub parts: Parts,
    /// Where its values are found, with their types.
    pub found: Vec<(ExprId, TypeRef, Found)>,
}

impl Compiler<'_> {
    /// Groups and aggregates of a query.
    pub fn group(&mut self, id: QueryId, plan: Plan) -> Result<Plan> {
        let bound = self.bound;
        let query = bound.query(id);
        let mut parts = Parts::default();
        let sets = group_sets::expand(&query.sets, query);
        let mut aggregates = Vec::new();
        self.aggregates_of(query, &mut aggregates);
        let plan = self.volatile_first(query, &aggregates, plan)?;
        if let Some(call) = self.distinct_count(query, &aggregates) {
            let made = self.count_distinct(query, aggregates[0], call, plan)?;
            return self.after(query, made.plan, &made.parts, made.found, Vec::new(), None, None);
        }
        let mut found = Vec::new();
        for item in &query.groups {
            let target = self.target_of(query, item);
            let ty = bound.ty(target.value);
            let (node, again) = (self.node(target.value)?, self.node(target.value)?);
            found.push((target.value, ty, self.keyed(&mut parts, node, again, ty)?));
        }
        for id in &aggregates {
            let Expr::Aggregate(call) = bound.expr(*id) else { continue };
            let before = std::mem::replace(&mut self.frame().deeper, call.up);
            let made = self.aggregate(*id, call, &mut parts);
            self.frame().deeper = before;
            let at = made?;
            found.push((*id, bound.ty(*id), Found::Call(at)));
        }
        let dependent =
            if query.depends_on_keys { self.dependent(&mut parts)? } else { Vec::new() };
        if parts.input.is_empty() {
            // One group, of which nothing is asked.
            let one = self.constant(oids::BOOL, &onlap_kernels::Datum::Bool(true))?;
            parts.first(one, DataType::Boolean);
        }
        let (plan, set_at) = self.grouped(plan, &parts, sets.as_deref(), query)?;
        self.after(query, plan, &parts, found, dependent, sets, set_at)
    }

    /// Calculates volatile keys, arguments and filters once: grouping asks for a value in several places, by its key and as it
    /// is, and for a filter with the argument and without.
    fn volatile_first(&mut self, query: &Query, aggregates: &[ExprId], plan: Plan) -> Result<Plan> {
        let bound = self.bound;
        let keys = query.groups.iter().map(|item| self.target_of(query, item).value);
        let keys = keys.filter(|value| self.is_volatile(*value));
        let mut values: Vec<(ExprId, Option<ExprId>)> = keys.map(|value| (value, None)).collect();
        let mut filters = Vec::new();
        for id in aggregates {
            // What an aggregate of a query within is given is calculated there.
            let Expr::Aggregate(call) = bound.expr(*id) else { continue };
            if call.up > 0 {
                continue;
            }
            let before = values.len();
            let given = call.args.iter().map(|target| target.value);
            let given = given.filter(|value| self.is_volatile(*value));
            values.extend(given.map(|value| (value, call.filter)));
            let filter = call.filter.filter(|f| values.len() > before || self.is_volatile(*f));
            filters.extend(filter.map(|filter| (filter, None)));
        }
        let plan = self.first(plan, filters)?;
        self.first(plan, values)
    }

    /// Calculates values, each for the rows of its filter.
    fn first(&mut self, plan: Plan, values: Vec<(ExprId, Option<ExprId>)>) -> Result<Plan> {
        let (mut ids, mut nodes) = (Vec::new(), Vec::new());
        for (id, filter) in values {
            if !ids.contains(&id) {
                let (node, ty) = (self.node(id)?, self.bound.ty(id));
                nodes.push((self.where_counted(node, ty, filter)?, ty));
                ids.push(id);
            }
        }
        let (plan, at) = self.extend(plan, nodes)?;
        self.frame().layout.exprs.extend(ids.into_iter().zip(at));
        Ok(plan)
    }

    /// Adds what is grouped by: the key, and where that is not the value itself, the first value, whose node is given again.
    pub fn keyed(
        &mut self,
        parts: &mut Parts,
        node: Node,
        again: Node,
        ty: TypeRef,
    ) -> Result<Found> {
        let own = self.arrow(ty.oid)?;
        let (key, key_ty) = self.key_node(node, ty)?;
        let is_own = !matches!(key, Node::Key(..));
        let at = parts.add(key, key_ty);
        parts.keys.push(at);
        Ok(match is_own {
            true => Found::Key(parts.keys.len() - 1),
            false => Found::Call(parts.first(again, own)),
        })
    }

    /// The layout of groups.
    #[expect(clippy::too_many_arguments, reason = "all that the groups are made of")]
    fn after(
        &mut self,
        query: &Query,
        plan: Plan,
        parts: &Parts,
        found: Vec<(ExprId, TypeRef, Found)>,
        dependent: Vec<((usize, i32), TypeRef, usize)>,
        sets: Option<Vec<Vec<u32>>>,
        set_at: Option<usize>,
    ) -> Result<Plan> {
        let keys = parts.keys.len() + usize::from(set_at.is_some());
        let width = keys + parts.calls.len();
        let mut layout = Layout { types: vec![TypeRef::new(0); width], ..Layout::default() };
        for (id, ty, place) in found {
            let at = place.at(keys);
            layout.types[at] = ty;
            layout.exprs.push((id, at));
            self.name_column(query, id, at, &mut layout);
        }
        for (var, ty, call) in dependent {
            layout.types[keys + call] = ty;
            layout.vars.insert(var, keys + call);
        }
        self.frame().layout = layout;
        self.grouping_calls(query, plan, sets.zip(set_at))
    }

    /// A column that is grouped by has its name in subqueries, too, also the one that it has behind a join.
    fn name_column(&self, query: &Query, id: ExprId, at: usize, layout: &mut Layout) {
        let Expr::Var { entry, column, up: 0 } = self.bound.expr(id) else { return };
        layout.vars.insert((*entry, *column), at);
        if let EntryKind::Join { columns, .. } = &query.entries[*entry - 1].kind
            && *column > 0
        {
            self.name_column(query, columns[*column as usize - 1], at, layout);
        }
    }

    /// GROUPING(…): which of its arguments a row's set leaves out.
    fn grouping_calls(
        &mut self,
        query: &Query,
        plan: Plan,
        sets: Option<(Vec<Vec<u32>>, usize)>,
    ) -> Result<Plan> {
        let bound = self.bound;
        let mut ids = Vec::new();
        self.roots(query, &mut |id, inside| {
            if let Expr::Grouping(.., up) = bound.expr(id)
                && *up == inside
            {
                ids.push(id);
            }
        });
        let mut nodes = Vec::new();
        for id in &ids {
            let Expr::Grouping(_, references, _) = bound.expr(*id) else { continue };
            let Some((sets, set_at)) = &sets else {
                // One set, that leaves out none.
                let none = self.constant(oids::INT4, &onlap_kernels::Datum::Int4(0))?;
                nodes.push((none, TypeRef::new(oids::INT4)));
                continue;
            };
            let bits = |set: &Vec<u32>| {
                references.iter().fold(0, |bits, r| bits << 1 | i32::from(!set.contains(r)))
            };
            let table = Arc::new(Int32Array::from_iter_values(sets.iter().map(bits)));
            nodes.push((
                Node::Pick(Box::new(Node::Column(*set_at)), table),
                TypeRef::new(oids::INT4),
            ));
        }
        let (plan, at) = self.extend(plan, nodes)?;
        self.frame().layout.exprs.extend(ids.into_iter().zip(at));
        Ok(plan)
    }

    /// Visits all that is asked for of the groups.
    fn roots(&self, query: &Query, see: &mut dyn FnMut(ExprId, u32)) {
        let targets = query.targets.iter().map(|target| target.value);
        let targets = targets.filter(|value| !self.is_unused(query, *value));
        for root in targets.chain(query.having) {
            self.bound.visit(root, 0, &mut |id, inside| {
                see(id, inside);
                true
            });
        }
    }

    /// The aggregates of a query, each once.
    fn aggregates_of(&self, query: &Query, out: &mut Vec<ExprId>) {
        self.roots(query, &mut |id, inside| {
            if let Expr::Aggregate(call) = self.bound.expr(id)
                && call.up == inside
                && !out.contains(&id)
                && (!out.iter().any(|known| self.bound.same(*known, id)) || self.is_volatile(id))
            {
                out.push(id);
            }
        });
    }

    /// Columns that the groups' keys decide.
    fn dependent(&mut self, parts: &mut Parts) -> Result<Vec<((usize, i32), TypeRef, usize)>> {
        let layout = self.frame().layout.clone();
        let mut out = Vec::new();
        for (var, at) in &layout.vars {
            let ty = layout.types[*at];
            let arrow = self.arrow(ty.oid)?;
            out.push((*var, ty, parts.first(Node::Column(*at), arrow)));
        }
        Ok(out)
    }

    /// A call of an aggregate.
    fn aggregate(&mut self, id: ExprId, call: &Aggregate, parts: &mut Parts) -> Result<usize> {
        let result = self.bound.ty(id);
        if call.kind == b'h' {
            let (states, at) = self.hypothetical(call, parts)?;
            let filter = self.filter_of(call, parts)?;
            parts.calls.push((states, at, filter, self.arrow(result.oid)?));
            return Ok(parts.calls.len() - 1);
        }
        let bound = self.bound;
        let row = self.env.catalog.proc(call.proc).expect("the resolver has found it");
        let custom = row.made.as_ref().and_then(|made| made.aggregate.clone());
        let make = find_aggregate(call.proc);
        if make.is_none() && custom.is_none() {
            let shown = onlap_kernels::signature(&self.env.catalog, row);
            return Err(unsupported(format!("aggregate {shown}")));
        }
        let mut types = Vec::new();
        let mut at = Vec::new();
        let given = call.args.iter().filter(|target| !target.hidden).map(|target| target.value);
        for id in call.direct.iter().copied().chain(given) {
            let ty = bound.ty(id);
            types.push(ty);
            let node = self.node(id)?;
            let node = self.where_counted(node, ty, call.filter)?;
            at.push(parts.add(node, self.arrow(ty.oid)?));
        }
        parts.direct.extend(call.direct.iter().copied().zip(at.iter().copied()));
        if at.is_empty() {
            // count(*) counts rows, of which it needs a column.
            let one = self.constant(oids::BOOL, &onlap_kernels::Datum::Bool(true))?;
            at.push(parts.add(one, DataType::Boolean));
        }
        let mut states = match (make, custom) {
            (Some(make), _) => self.ready(make, id, call.proc, types),
            (None, Some(made)) => {
                // Rows that are sorted are kept as rows.
                let keeps = call.order.is_empty() && call.distinct.is_empty();
                let has_groups = keeps && !parts.keys.is_empty();
                let row = self.env.catalog.proc(call.proc).expect("the resolver has found it");
                self.custom(row, &made, (&types, result), has_groups)?
            }
            (None, None) => unreachable!("refused before"),
        };
        let order = if call.distinct.is_empty() { &call.order } else { &call.distinct };
        if !order.is_empty() {
            let within = self.order_within(call, order, at.len(), &mut at, parts)?;
            let inner = Arc::clone(&states);
            states = Arc::new(move || Box::new(Collected::new(Arc::clone(&inner), within.clone())));
        }
        let filter = self.filter_of(call, parts)?;
        parts.calls.push((states, at, filter, self.arrow(result.oid)?));
        Ok(parts.calls.len() - 1)
    }

    /// What makes the states of an aggregate that has a kernel.
    pub fn ready(
        &self,
        make: MakeAggregate,
        id: ExprId,
        proc: Oid,
        args: Vec<TypeRef>,
    ) -> MakeStates {
        let result = self.bound.ty(id);
        let types = Types { args, result, catalog: Arc::clone(&self.env.catalog) };
        match self.extreme_collides(id, proc) {
            Some(how) => Arc::new(move || Box::new(Colliding::new(make(&types), how))),
            None => Arc::new(move || make(&types)),
        }
    }

    /// The column of FILTER.
    fn filter_of(&mut self, call: &Aggregate, parts: &mut Parts) -> Result<Option<usize>> {
        let Some(filter) = call.filter else { return Ok(None) };
        let node = self.node(filter)?;
        Ok(Some(parts.add(node, DataType::Boolean)))
    }

    /// An argument that is calculated for the rows that FILTER keeps alone: for others it may fail.
    ///
    /// # Errors
    /// `0A000`.
    pub fn where_counted(
        &mut self,
        node: Node,
        ty: TypeRef,
        filter: Option<ExprId>,
    ) -> Result<Node> {
        let Some(filter) = filter.filter(|_| !matches!(node, Node::Column(_) | Node::Const(_)))
        else {
            return Ok(node);
        };
        let kept = self.node(filter)?;
        let none = self.constant(ty.oid, &onlap_kernels::Datum::Null)?;
        let arm = (kept.into_arm(), node.into_arm());
        Ok(Node::Case(vec![arm], Box::new(none.into_arm()), self.arrow(ty.oid)?))
    }

    /// A key of the order of a call's rows; adds it to the columns.
    ///
    /// # Errors
    /// `0A000`.
    pub fn within_order(
        &mut self,
        call: &Aggregate,
        item: &onlap_pg::bound::SortItem,
        parts: &mut Parts,
    ) -> Result<(usize, SortOptions)> {
        let target = call.args.iter().find(|target| target.reference == item.reference);
        let value = target.expect("the binder has numbered them").value;
        let node = self.node(value)?;
        let (key, ty) = self.key_node(node, self.bound.ty(value))?;
        let descending = self.is_descending(item);
        let how = SortOptions { descending, nulls_first: item.nulls_first };
        Ok((parts.add(key, ty), how))
    }

    fn order_within(
        &mut self,
        call: &Aggregate,
        order: &[onlap_pg::bound::SortItem],
        args: usize,
        at: &mut Vec<usize>,
        parts: &mut Parts,
    ) -> Result<Within> {
        let mut within = Within { args, order: Vec::new(), distinct: !call.distinct.is_empty() };
        for item in order {
            let (column, how) = self.within_order(call, item, parts)?;
            at.push(column);
            within.order.push(how);
        }
        Ok(within)
    }

    /// The step: its columns are the keys, the number of the set if there are sets, the calls.
    pub fn grouped(
        &mut self,
        plan: Plan,
        parts: &Parts,
        sets: Option<&[Vec<u32>]>,
        query: &Query,
    ) -> Result<(Plan, Option<usize>)> {
        let mut exprs: Vec<Arc<dyn PhysicalExpr>> = Vec::new();
        for (node, ty) in &parts.input {
            exprs.push(self.shared(node, ty));
        }
        let mut plan = match exprs.is_empty() {
            true => plan,
            false => self.project(plan, exprs)?,
        };
        let mut keys = parts.keys.clone();
        let mut set_at = None;
        if let Some(sets) = sets {
            plan = self.copies(plan, parts, sets, query)?;
            set_at = Some(keys.len());
            keys.push(parts.input.len());
        }
        let schema = plan.schema();
        let named = keys.iter().enumerate().map(|(n, at)| (column(*at), format!("g{n}")));
        let groups = PhysicalGroupBy::new_single(named.collect());
        let mut calls = Vec::new();
        let mut filters: Vec<Option<Arc<dyn PhysicalExpr>>> = Vec::new();
        for (states, at, filter, ty) in &parts.calls {
            calls.push(Arc::new(self.library_call(states, at, ty, &schema)?));
            filters.push(filter.map(column));
        }
        let mode = AggregateMode::Single;
        let input_schema = plan.schema();
        let step = AggregateExec::try_new(mode, groups, calls, filters, plan, input_schema);
        let plan: Plan = Arc::new(step.map_err(ours)?);
        let none = |(set, references): (usize, &Vec<u32>)| references.is_empty().then_some(set);
        let empty: Vec<usize> =
            sets.unwrap_or_default().iter().enumerate().filter_map(none).collect();
        let plan = match empty.is_empty() {
            true => plan,
            false => self.never_empty(plan, parts, empty)?,
        };
        let renamed = (0..plan.schema().fields().len()).map(|at| {
            let name = plan.schema().field(at).name().clone();
            let column = datafusion_physical_expr::expressions::Column::new(&name, at);
            Arc::new(column) as Arc<dyn PhysicalExpr>
        });
        let renamed = renamed.collect();
        Ok((self.project(plan, renamed)?, set_at))
    }

    /// An expression that several places own.
    fn shared(&self, node: &Arc<Node>, ty: &DataType) -> Arc<dyn PhysicalExpr> {
        match **node {
            Node::Column(at) => column(at),
            _ => {
                let (node, env) = (Arc::clone(node), Arc::clone(&self.env));
                Arc::new(Computed { node, env, ty: ty.clone() })
            }
        }
    }

    fn library_call(
        &self,
        states: &MakeStates,
        at: &[usize],
        ty: &DataType,
        schema: &arrow_schema::SchemaRef,
    ) -> Result<AggregateFunctionExpr> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("a{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let env = Arc::clone(&self.env);
        let called = Called::new(name.clone(), Arc::clone(states), ty.clone(), env);
        let function = Arc::new(AggregateUDF::new_from_impl(called));
        let args = at.iter().map(|at| column(*at)).collect();
        let built =
            AggregateExprBuilder::new(function, args).schema(Arc::clone(schema)).alias(name);
        built.build().map_err(ours)
    }
}
