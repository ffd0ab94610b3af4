//! How are calls over windows carried out?
//!
//! Window after window: rows are sorted by what the window is partitioned and ordered by, unless they are already, and each
//! call becomes a column. Windows of more keys come first, so that one whose keys begin another's needs no sort of its own.
//! Of a window, whole partitions are held ([`Held`]), many small ones at a time, except where no value depends on rows that
//! come later ([`crate::running`]).
//!
//! Thread safety: a stream belongs to one thread.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef, SortOptions};
use datafusion_common::DataFusionError;
use datafusion_execution::TaskContext;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion_physical_plan::ExecutionPlan;
use futures::{StreamExt, TryStreamExt};
use onlap_kernels::{Datum, Types, find, find_aggregate};
use onlap_pg::ast::FrameUnit;
use onlap_pg::bound::{Expr, ExprId, FrameEdge, Query, QueryId, SortItem, Window, WindowCall};
use onlap_pg::catalog::{ProcKind, oids};
use onlap_pg::{Oid, Result, TypeRef};

use crate::columns::schema_of;
use crate::compile::{Compiler, unsupported};
use crate::distinct::are_equal;
use crate::env::Env;
use crate::error::external;
use crate::frames::{Distance, Distances, Edge, Frame, Partition};
use crate::node::{Node, Rows, Spread, arrow};
use crate::over::{Chunk, Over, What};
use crate::running::{self, Keys, Running};
use crate::series::BATCH_ROWS;
use crate::shared::bytes_of;
use crate::step::{Step, stream_of};

type Plan = Arc<dyn ExecutionPlan>;

/// What rows are sorted by: targets, and how.
type Order = Vec<(u32, SortOptions)>;

impl Compiler<'_> {
    /// The windows of a query.
    ///
    /// # Errors
    /// `0A000`: a function has no kernel, or the values of a type no order.
    pub fn windows(&mut self, id: QueryId, plan: Plan) -> Result<Plan> {
        let bound = self.bound;
        let query = bound.query(id);
        let mut calls: Vec<(ExprId, &WindowCall)> = Vec::new();
        let asked = query.targets.iter().filter(|target| !self.is_unused(query, target.value));
        for target in asked {
            bound.visit(target.value, 0, &mut |id, inside| {
                if let Expr::WindowCall(call) = bound.expr(id)
                    && inside == 0
                    && !calls.iter().any(|known| known.0 == id)
                    && (!calls.iter().any(|known| bound.same(known.0, id)) || self.is_volatile(id))
                {
                    calls.push((id, call));
                }
                inside == 0
            });
        }
        let mut order: Vec<usize> = (0..query.windows.len()).collect();
        order.sort_by(|a, b| by_keys(&keys_of(&query.windows[*a]), &keys_of(&query.windows[*b])));
        let (mut plan, mut sorted) = (plan, Vec::new());
        for at in order {
            let own = calls.iter().filter(|(_, call)| call.window == at + 1);
            let own: Vec<(ExprId, &WindowCall)> = own.copied().collect();
            if !own.is_empty() {
                plan = self.window(query, &query.windows[at], &own, plan, &mut sorted)?;
            }
        }
        Ok(plan)
    }

    fn window(
        &mut self,
        query: &Query,
        window: &Window,
        calls: &[(ExprId, &WindowCall)],
        plan: Plan,
        sorted: &mut Order,
    ) -> Result<Plan> {
        let (mut nodes, mut wanted, mut partition_keys) = (Vec::new(), Order::new(), 0);
        for (n, item) in window.partition.iter().chain(&window.order).enumerate() {
            let value = self.target_of(query, item).value;
            let ty = self.bound.ty(value);
            let node = self.node(value)?;
            if matches!(node, Node::Const(_)) {
                continue;
            }
            nodes.push((self.key_node(node, ty)?.0, ty));
            let descending = self.is_descending(item);
            let how = SortOptions { descending, nulls_first: item.nulls_first };
            wanted.push((item.reference, how));
            partition_keys += usize::from(n < window.partition.len());
        }
        let (mut plan, at) = self.extend_keys(plan, nodes)?;
        if !sorted.starts_with(&wanted) {
            let keys = at.iter().zip(&wanted).map(|(at, (_, how))| (*at, *how));
            plan = crate::sorted::sorted(plan, &keys.collect::<Vec<_>>(), None);
            *sorted = wanted;
        }
        let frame = self.window_frame(query, window)?;
        let mut overs = Vec::with_capacity(calls.len());
        let mut types: Vec<DataType> =
            plan.schema().fields().iter().map(|field| field.data_type().clone()).collect();
        for (id, call) in calls {
            let over = self.over(*id, call)?;
            types.push(over.ty.clone());
            overs.push(over);
        }
        for (id, _) in calls {
            let ty = self.bound.ty(*id);
            self.frame().layout.add_expr(*id, ty);
        }
        let (partition, order) = at.split_at(partition_keys);
        let work = Work {
            partition: partition.to_vec(),
            order: order.to_vec(),
            frame,
            calls: overs,
            env: Arc::clone(&self.env),
            schema: schema_of(&types),
        };
        Ok(work.step(plan))
    }

    fn window_frame(&mut self, query: &Query, window: &Window) -> Result<Frame> {
        let frame = &window.frame;
        let from = self.edge(frame.from, frame.in_range[0], query, window)?;
        let to = self.edge(frame.to, frame.in_range[1], query, window)?;
        let is_far = |edge: &Edge<Distance>| matches!(edge, Edge::Before(_) | Edge::After(_));
        let value = match &window.order[..] {
            [item] if frame.unit == FrameUnit::Range && (is_far(&from) || is_far(&to)) => {
                Some(self.node(self.target_of(query, item).value)?)
            }
            _ => None,
        };
        let (unit, exclude, ascending) = (frame.unit, frame.exclude, frame.ascending);
        Ok(Frame { unit, from, to, exclude, value, ascending })
    }

    fn edge(
        &mut self,
        edge: FrameEdge,
        in_range: Oid,
        query: &Query,
        window: &Window,
    ) -> Result<Edge<Distance>> {
        let mut distance = |id: ExprId| -> Result<Distance> {
            let node = self.node(id)?;
            let Some(proc) = self.env.catalog.proc(in_range) else {
                return Ok(Distance { node, within: None });
            };
            let Some(make) = find(in_range) else {
                let shown = onlap_kernels::signature(&self.env.catalog, proc);
                return Err(unsupported(format!("function {shown}")));
            };
            let value = self.bound.ty(self.target_of(query, &window.order[0]).value);
            let flag = TypeRef::new(oids::BOOL);
            let args = vec![value, value, self.bound.ty(id), flag, flag];
            let catalog = Arc::clone(&self.env.catalog);
            let within = Some(make(&Types { args, result: flag, catalog }));
            Ok(Distance { node, within })
        };
        Ok(match edge {
            FrameEdge::First => Edge::First,
            FrameEdge::Before(id) => Edge::Before(distance(id)?),
            FrameEdge::Current => Edge::Current,
            FrameEdge::After(id) => Edge::After(distance(id)?),
            FrameEdge::Last => Edge::Last,
        })
    }

    fn over(&mut self, id: ExprId, call: &WindowCall) -> Result<Over> {
        let bound = self.bound;
        let result = bound.ty(id);
        let proc = self.env.catalog.proc(call.proc).expect("the resolver has found it");
        let shown = || onlap_kernels::signature(&self.env.catalog, proc);
        let what = match call.kind {
            ProcKind::Window => What::named(&proc.name),
            _ => {
                let args: Vec<TypeRef> = call.args.iter().map(|arg| bound.ty(*arg)).collect();
                let made = proc.made.as_ref().and_then(|made| made.aggregate.as_ref());
                match (find_aggregate(call.proc), made) {
                    (Some(make), _) => Some(What::Aggregate(self.ready(make, id, call.proc, args))),
                    (None, Some(made)) => {
                        let states = self.custom(proc, made, (&args, result), false)?;
                        Some(What::Aggregate(states))
                    }
                    (None, None) => None,
                }
            }
        };
        let Some(what) = what else {
            return Err(unsupported(format!("function {}", shown())));
        };
        let mut args = self.nodes(&call.args)?;
        if args.is_empty() && matches!(what, What::Aggregate(_)) {
            // count(*) counts rows, of which it needs a column.
            args.push(self.constant(oids::BOOL, &Datum::Bool(true))?);
        }
        let filter = call.filter.map(|filter| self.node(filter)).transpose()?;
        let args = args.into_iter().map(Node::into_arm).collect();
        Ok(Over { what, args, filter: filter.map(Node::into_arm), ty: self.arrow(result.oid)? })
    }
}

/// What a window is sorted by, each item once.
fn keys_of(window: &Window) -> Vec<SortItem> {
    let mut keys = window.partition.clone();
    keys.extend(window.order.iter().filter(|item| !window.partition.contains(item)));
    keys
}

/// Which of two windows comes first: the one with later targets, or with more keys, as in PostgreSQL. The order of rows
/// that a window without an order sees depends on it.
fn by_keys(a: &[SortItem], b: &[SortItem]) -> Ordering {
    let of = |item: &SortItem| (item.reference, item.less, item.nulls_first);
    let differ = a.iter().zip(b).map(|(a, b)| of(b).cmp(&of(a))).find(|order| order.is_ne());
    differ.unwrap_or_else(|| b.len().cmp(&a.len()))
}

/// A window at work.
struct Work {
    /// Columns of keys.
    partition: Vec<usize>,
    order: Vec<usize>,
    frame: Frame,
    calls: Vec<Over>,
    env: Arc<Env>,
    schema: SchemaRef,
}

/// Rows that wait for the end of their partition.
struct Held {
    batches: Vec<RecordBatch>,
    rows: usize,
    /// How many of the first rows are whole partitions.
    whole: usize,
    memory: MemoryReservation,
    distances: Option<Distances>,
}

impl Work {
    fn step(self, plan: Plan) -> Plan {
        if running::suits(&self.frame, &self.calls) {
            return self.running_step(plan);
        }
        let (schema, work) = (Arc::clone(&self.schema), Arc::new(self));
        let run = move |inputs: Vec<Plan>, context: Arc<TaskContext>| {
            let memory = MemoryConsumer::new("window").register(context.memory_pool());
            let (batches, rows, whole) = (Vec::new(), 0, 0);
            let mut held = Held { batches, rows, whole, memory, distances: None };
            let input = inputs[0].execute(0, context)?;
            let input = input.map_ok(Some).chain(futures::stream::once(async { Ok(None) }));
            let (work, schema) = (Arc::clone(&work), Arc::clone(&work.schema));
            let batches = input.map(move |batch| {
                let made = work.take(&mut held, batch?)?;
                let made = made.into_iter().map(Ok::<_, DataFusionError>);
                Ok::<_, DataFusionError>(futures::stream::iter(made))
            });
            Ok(stream_of(schema, batches.try_flatten()))
        };
        Step::make("WindowAgg", "", vec![plan], schema, Arc::new(run))
    }

    /// The same without holding partitions.
    fn running_step(self, plan: Plan) -> Plan {
        let (schema, work) = (Arc::clone(&self.schema), Arc::new(self));
        let run = move |inputs: Vec<Plan>, context: Arc<TaskContext>| {
            let memory = MemoryConsumer::new("window").register(context.memory_pool());
            let mut running = Running::new(memory);
            let input = inputs[0].execute(0, context)?;
            let input = input.map_ok(Some).chain(futures::stream::once(async { Ok(None) }));
            let (work, schema) = (Arc::clone(&work), Arc::clone(&work.schema));
            let batches = input.map(move |batch| {
                let keys = Keys {
                    partition: &work.partition,
                    order: &work.order,
                    frame: &work.frame,
                    calls: &work.calls,
                };
                let Some((rows, made)) = running.take(batch?, &keys, &work.env)? else {
                    return Ok(None);
                };
                let mut columns = rows.columns().to_vec();
                columns.extend(made);
                let made = RecordBatch::try_new(Arc::clone(&work.schema), columns)?;
                Ok::<_, DataFusionError>(Some(made))
            });
            let batches = batches.try_filter_map(|made| async { Ok(made) });
            Ok(stream_of(schema, batches))
        };
        Step::make("WindowAgg", "", vec![plan], schema, Arc::new(run))
    }

    /// Takes rows, or the end of them; gives those whose partitions have ended, when they are many.
    fn take(
        &self,
        held: &mut Held,
        batch: Option<RecordBatch>,
    ) -> datafusion_common::Result<Vec<RecordBatch>> {
        if held.distances.is_none() {
            held.distances = Some(self.frame.distances(&self.env).map_err(external)?);
        }
        match batch {
            None => held.whole = held.rows,
            Some(batch) if batch.num_rows() == 0 => return Ok(Vec::new()),
            Some(batch) => {
                // What is calculated is held once more beside the rows themselves.
                held.memory.try_grow(2 * bytes_of(&batch)?)?;
                if let Some(at) = self.last_start(held, &batch) {
                    held.whole = held.rows + at;
                }
                held.rows += batch.num_rows();
                held.batches.push(batch);
                if held.whole < BATCH_ROWS {
                    return Ok(Vec::new());
                }
            }
        }
        if held.whole == 0 {
            return Ok(Vec::new());
        }
        let first = held.batches[0].schema();
        let all = arrow_select::concat::concat_batches(&first, &held.batches);
        let all = all.map_err(|e| external(arrow(e)))?;
        let (whole, left) = (held.whole, held.rows - held.whole);
        let made = self.calculated(&all.slice(0, whole), held).map_err(external)?;
        self.env.batch_done().map_err(external)?;
        held.batches = if left > 0 { vec![all.slice(whole, left)] } else { Vec::new() };
        (held.rows, held.whole) = (left, 0);
        let bytes = held.batches.iter().map(bytes_of).sum::<datafusion_common::Result<usize>>()?;
        held.memory.try_resize(2 * bytes)?;
        Ok(made)
    }

    fn columns(batch: &RecordBatch, at: &[usize]) -> Vec<ArrayRef> {
        at.iter().map(|at| Arc::clone(batch.column(*at))).collect()
    }

    /// The last row of a batch that begins a partition.
    fn last_start(&self, held: &Held, batch: &RecordBatch) -> Option<usize> {
        let own = Self::columns(batch, &self.partition);
        let within = (1..batch.num_rows()).rev().find(|row| !are_equal(&own, *row, &own, row - 1));
        within.or_else(|| {
            let last = held.batches.last()?;
            let before = Self::columns(last, &self.partition);
            (!are_equal(&own, 0, &before, last.num_rows() - 1)).then_some(0)
        })
    }

    /// Rows of whole partitions with what is calculated.
    fn calculated(&self, batch: &RecordBatch, held: &Held) -> Result<Vec<RecordBatch>> {
        self.env.cx().go_on()?;
        let rows = Rows { columns: batch.columns(), count: batch.num_rows() };
        let partitions = self.partitions(batch);
        let mut bounds = Vec::new();
        if self.calls.iter().any(|call| call.what.has_frame()) {
            let value = self.frame.value.as_ref();
            let values =
                value.map(|node| node.eval(&rows, &self.env)?.spread(rows.count, &self.env));
            let values = values.transpose()?;
            let distances = held.distances.as_ref().expect("they are known before any row");
            for of in &partitions {
                self.frame.bounds(of, distances, values.as_ref(), &self.env, &mut bounds)?;
            }
        }
        let chunk = Chunk { rows, partitions, bounds, frame: &self.frame };
        let mut columns = batch.columns().to_vec();
        for call in &self.calls {
            columns.push(call.eval(&chunk, &self.env)?);
        }
        let made = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(arrow)?;
        let starts = (0..made.num_rows()).step_by(BATCH_ROWS);
        let part = |start: usize| made.slice(start, BATCH_ROWS.min(made.num_rows() - start));
        Ok(starts.map(part).collect())
    }

    fn partitions(&self, batch: &RecordBatch) -> Vec<Partition> {
        let partition = Self::columns(batch, &self.partition);
        let order = Self::columns(batch, &self.order);
        let mut made: Vec<Partition> = Vec::new();
        for row in 0..batch.num_rows() {
            let is_new = row == 0 || !are_equal(&partition, row, &partition, row - 1);
            if is_new {
                let (groups, group_of) = (Vec::new(), Vec::new());
                made.push(Partition { start: row, end: row, groups, group_of });
            }
            let of = made.last_mut().expect("the first row begins one");
            if is_new || !are_equal(&order, row, &order, row - 1) {
                of.groups.push(row);
            }
            of.group_of.push(of.groups.len() as u32 - 1);
            of.end = row + 1;
        }
        made
    }
}
