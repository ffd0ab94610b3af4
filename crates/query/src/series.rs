//! How do calls that give sets become rows?
//!
//! A call is started with the values of its arguments and asked for its rows one by one, so that a long series takes no
//! memory. Calls side by side advance together; those that have ended give NULL. In FROM ([`crate::functions`]) a row of
//! several values is several columns; in targets (here) it is one row value. A set within another's arguments is a step of
//! its own below.
//!
//! It must not know what the functions give; that is `onlap_kernels`'. Thread safety: a stream belongs to one thread.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{DataType, SchemaRef};
use datafusion_common::DataFusionError;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::ExecutionPlan;
use futures::{StreamExt, TryStreamExt};
use onlap_kernels::array::record;
use onlap_kernels::series::{Rows as Series, Series as Start};
use onlap_kernels::{Col, Datum, Repr, Types, find_series};
use onlap_pg::bound::{Expr, ExprId, Query, QueryId};
use onlap_pg::{Oid, Result, resolve};

use crate::columns::schema_of;
use crate::compile::{Compiler, unsupported};
use crate::env::Env;
use crate::error::external;
use crate::node::{Node, Rows, arrow};
use crate::step::{Step, stream_of};

type Plan = Arc<dyn ExecutionPlan>;

/// A batch of what a series gives ends after so many rows, or bytes of values.
pub const BATCH_ROWS: usize = 8192;
/// See [`BATCH_ROWS`].
pub const BATCH_BYTES: usize = 1 << 20;

/// A call that gives a set.
pub struct SetCall {
    series: Box<dyn Start>,
    args: Vec<Node>,
    reprs: Vec<Repr>,
    /// Whether a NULL among the arguments makes an empty set.
    pub strict: bool,
    /// The types of the values of a row, where it has several.
    pub several: Option<Vec<Oid>>,
}

impl SetCall {
    /// A call whose rows are a value each.
    pub fn new(series: Box<dyn Start>, args: Vec<Node>, reprs: Vec<Repr>) -> SetCall {
        SetCall { series, args, reprs, strict: false, several: None }
    }

    /// The arguments of rows.
    ///
    /// # Errors
    /// Those of the arguments.
    pub fn values(&self, rows: &Rows<'_>, env: &Env) -> Result<Vec<Col>> {
        self.args.iter().map(|arg| arg.eval(rows, env)).collect()
    }

    /// The set for a row's arguments.
    ///
    /// # Errors
    /// Those of the function.
    pub fn start(&self, args: &[Col], row: usize, env: &Env) -> Result<Series> {
        let values = args.iter().zip(&self.reprs);
        let values = values.map(|(col, repr)| Datum::at(&col.array, *repr, col.at(row)));
        let values: Vec<Datum<'_>> = values.collect();
        if self.strict && values.iter().any(Datum::is_null) {
            return Ok(Box::new(std::iter::empty()));
        }
        self.series.start(&values, &mut env.cx())
    }
}

impl Compiler<'_> {
    /// The call of an expression, if it gives a set.
    ///
    /// # Errors
    /// `0A000`: the function has no kernel.
    pub fn set_call(&mut self, id: ExprId) -> Result<Option<SetCall>> {
        let bound = self.bound;
        let call = match bound.expr(id) {
            Expr::Call(call) if call.set => call,
            Expr::Op(op) if op.set => return Err(unsupported("an operator that gives a set")),
            _ => return Ok(None),
        };
        if self.is_made(call.proc) {
            return self.made_set(call, bound.ty(id)).map(Some);
        }
        let catalog = Arc::clone(&self.env.catalog);
        let proc = catalog.proc(call.proc).expect("the resolver has found it");
        let Some(make) = find_series(call.proc) else {
            let shown = onlap_kernels::signature(&self.env.catalog, proc);
            return Err(unsupported(format!("function {shown}")));
        };
        let (args, types) = self.arguments(call)?;
        let given: Vec<Oid> = types.iter().map(|ty| ty.oid).collect();
        let outputs = match proc.result {
            onlap_pg::catalog::oids::RECORD => resolve::outputs(&self.env.catalog, proc, &given),
            _ => None,
        };
        let several = outputs.map(|columns| columns.into_iter().map(|(_, oid)| oid).collect());
        let reprs = given.iter().map(|oid| self.repr(*oid)).collect::<Result<_>>()?;
        let result = bound.ty(id);
        let series = make(&Types { args: types, result, catalog: Arc::clone(&self.env.catalog) });
        Ok(Some(SetCall { series, args, reprs, strict: proc.strict, several }))
    }

    /// Targets that give sets.
    ///
    /// # Errors
    /// `0A000`: a function has no kernel.
    pub fn sets_in_targets(&mut self, id: QueryId, plan: Plan) -> Result<Plan> {
        let query = self.bound.query(id);
        let mut plan = plan;
        // An order that does not need the sets comes first, so that the rows of each set stay as they come.
        let ordered = query.order.iter().map(|item| self.target_of(query, item).value);
        let ordered: Vec<ExprId> = ordered.collect();
        if !ordered.is_empty() && query.distinct.is_empty() && self.levels(&ordered).is_empty() {
            plan = self.sort(query, plan, &query.order, None)?;
            self.frame().sorted = true;
        }
        let distinct = query.distinct.iter().map(|item| self.target_of(query, item).value);
        let distinct: Vec<ExprId> = distinct.collect();
        let is_free = self.levels(&ordered).is_empty() && self.levels(&distinct).is_empty();
        if query.distinct_on && !ordered.is_empty() && is_free {
            // So do rows that are left out.
            plan = self.distinct(query, plan)?;
            (self.frame().sorted, self.frame().is_distinct) = (true, true);
        }
        let roots: Vec<ExprId> = query.targets.iter().map(|target| target.value).collect();
        self.sets_in(&roots, plan)
    }

    /// Sets in what is grouped by, or in what windows are made of: they come before.
    ///
    /// # Errors
    /// `0A000`: a function has no kernel.
    pub fn sets_below(&mut self, query: &Query, plan: Plan) -> Result<Plan> {
        let windows = query.windows.iter().flat_map(|w| w.partition.iter().chain(&w.order));
        let is_grouped = query.has_aggregates || !query.groups.is_empty();
        let roots: Vec<ExprId> = match is_grouped {
            true => query.groups.iter().map(|item| self.target_of(query, item).value).collect(),
            false => windows.map(|item| self.target_of(query, item).value).collect(),
        };
        self.sets_in(&roots, plan)
    }

    fn sets_in(&mut self, roots: &[ExprId], mut plan: Plan) -> Result<Plan> {
        for level in self.levels(roots) {
            plan = self.project_sets(&level, plan)?;
        }
        Ok(plan)
    }

    /// Calls that give sets, those without others in their arguments first; each once.
    fn levels(&self, roots: &[ExprId]) -> Vec<Vec<ExprId>> {
        let mut found: Vec<ExprId> = Vec::new();
        for root in roots {
            self.sets_of(*root, &mut found);
        }
        // Those within others come after them: so the last are the first to be known.
        let mut depths: Vec<(ExprId, usize)> = Vec::new();
        for id in found.iter().rev() {
            let mut within = Vec::new();
            self.bound.children(*id).into_iter().for_each(|child| self.sets_of(child, &mut within));
            let depth = |id: &ExprId| depths.iter().find(|known| known.0 == *id).map(|d| d.1);
            let below = within.iter().filter_map(depth).max();
            depths.push((*id, below.map_or(0, |below| below + 1)));
        }
        let mut levels: Vec<Vec<ExprId>> = Vec::new();
        for (id, depth) in depths.into_iter().rev() {
            if levels.len() <= depth {
                levels.resize(depth + 1, Vec::new());
            }
            if !levels[depth].iter().any(|known| self.bound.same(*known, id)) {
                levels[depth].push(id);
            }
        }
        levels
    }

    fn sets_of(&self, root: ExprId, found: &mut Vec<ExprId>) {
        let layout = &self.frames.last().expect("a query is being made").layout;
        self.bound.visit(root, 0, &mut |id, inside| {
            let is_set = match self.bound.expr(id) {
                Expr::Call(call) => call.set,
                Expr::Op(op) => op.set,
                _ => false,
            };
            if inside > 0 || layout.exprs.iter().any(|known| self.bound.same(known.0, id)) {
                return false;
            }
            if is_set && !found.contains(&id) {
                found.push(id);
            }
            true
        });
    }

    /// A step that has a row per row of the sets.
    fn project_sets(&mut self, ids: &[ExprId], plan: Plan) -> Result<Plan> {
        let mut calls = Vec::new();
        for id in ids {
            let call = self.set_call(*id)?;
            calls.push(call.expect("only sets were looked for"));
        }
        let mut types: Vec<DataType> =
            plan.schema().fields().iter().map(|field| field.data_type().clone()).collect();
        let mut reprs = Vec::new();
        for id in ids {
            let ty = self.bound.ty(*id);
            reprs.push(self.repr(ty.oid)?);
            types.push(self.arrow(ty.oid)?);
            self.frame().layout.add_expr(*id, ty);
        }
        let schema = schema_of(&types);
        let env = Arc::clone(&self.env);
        let work = Arc::new(ProjectSet { calls, reprs, env, schema: Arc::clone(&schema) });
        let run = move |inputs: Vec<Plan>, context: Arc<TaskContext>| {
            let input = inputs[0].execute(0, Arc::clone(&context))?;
            let (work, schema) = (Arc::clone(&work), Arc::clone(&work.schema));
            let most = context.session_config().batch_size().min(BATCH_ROWS);
            let batches = input.map(move |batch| {
                let open = batch.and_then(|batch| work.open(batch).map_err(external))?;
                let work = Arc::clone(&work);
                Ok::<_, DataFusionError>(futures::stream::try_unfold(open, move |mut open| {
                    let made = work.next(&mut open, most).map_err(external);
                    futures::future::ready(made.map(|batch| batch.map(|batch| (batch, open))))
                }))
            });
            Ok(stream_of(schema, batches.try_flatten()))
        };
        Ok(Step::make("Project Set", "", vec![plan], schema, Arc::new(run)))
    }
}

/// Sets in targets at work.
struct ProjectSet {
    calls: Vec<SetCall>,
    reprs: Vec<Repr>,
    env: Arc<Env>,
    schema: SchemaRef,
}

/// Rows whose sets are being read.
struct Open {
    batch: RecordBatch,
    args: Vec<Vec<Col>>,
    row: usize,
    /// What a row of the batch takes, one with another.
    row_bytes: usize,
    running: Option<Vec<Option<Series>>>,
}

impl ProjectSet {
    fn open(&self, batch: RecordBatch) -> Result<Open> {
        let rows = Rows { columns: batch.columns(), count: batch.num_rows() };
        let args = match rows.count {
            0 => Vec::new(),
            _ => self
                .calls
                .iter()
                .map(|call| call.values(&rows, &self.env))
                .collect::<Result<_>>()?,
        };
        let bytes = |column: &ArrayRef| column.to_data().get_slice_memory_size().unwrap_or(0);
        let row_bytes = batch.columns().iter().map(bytes).sum::<usize>() / rows.count.max(1);
        Ok(Open { batch, args, row: 0, row_bytes, running: None })
    }

    /// The next rows, `most` of them at most; `None` when all sets of the batch have ended.
    fn next(&self, open: &mut Open, most: usize) -> Result<Option<RecordBatch>> {
        let (mut at, mut bytes, mut asked) = (Vec::new(), 0, 0_usize);
        let mut made: Vec<Vec<Datum<'static>>> = vec![Vec::new(); self.calls.len()];
        while open.row < open.batch.num_rows() && at.len() < most && bytes < BATCH_BYTES {
            if asked.is_multiple_of(1024) {
                self.env.cx().go_on()?;
            }
            asked += 1;
            let running = match &mut open.running {
                Some(running) => running,
                None => {
                    let calls = self.calls.iter().zip(&open.args);
                    let started = calls.map(|(call, args)| call.start(args, open.row, &self.env));
                    let started = started.map(|series| series.map(Some));
                    open.running.insert(started.collect::<Result<_>>()?)
                }
            };
            let row = advance(running)?;
            if row.iter().all(Option::is_none) {
                open.running = None;
                open.row += 1;
                continue;
            }
            at.push(open.row as u32);
            bytes += open.row_bytes;
            for ((out, values), call) in made.iter_mut().zip(row).zip(&self.calls) {
                let value = one_value(values, call)?;
                bytes += value.size();
                out.push(value);
            }
        }
        if at.is_empty() {
            return Ok(None);
        }
        let at = UInt32Array::from(at);
        let take = |column: &ArrayRef| arrow_select::take::take(column, &at, None).map_err(arrow);
        let mut columns: Vec<ArrayRef> =
            open.batch.columns().iter().map(take).collect::<Result<_>>()?;
        for (values, repr) in made.iter().zip(&self.reprs) {
            columns.push(Datum::column(*repr, values.iter())?);
        }
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map(Some).map_err(arrow)
    }
}

/// The next row of each series that has not ended.
///
/// # Errors
/// Those of the series.
pub fn advance(running: &mut [Option<Series>]) -> Result<Vec<Option<Vec<Datum<'static>>>>> {
    let mut rows = Vec::with_capacity(running.len());
    for series in running {
        let row = series.as_mut().and_then(Iterator::next).transpose()?;
        if row.is_none() {
            *series = None;
        }
        rows.push(row);
    }
    Ok(rows)
}

/// A row as one value.
fn one_value(values: Option<Vec<Datum<'static>>>, call: &SetCall) -> Result<Datum<'static>> {
    let Some(mut values) = values else { return Ok(Datum::Null) };
    match &call.several {
        None => Ok(values.pop().unwrap_or(Datum::Null)),
        Some(types) => {
            let fields: Vec<(Oid, Datum<'_>)> = types.iter().copied().zip(values).collect();
            record::build(&fields).map(Datum::bytes)
        }
    }
}
