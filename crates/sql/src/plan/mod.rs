//! How does a query become batches?
//!
//! The full tier: the planner of DataFusion over our tables. [`Planner`] is made once for all sessions;
//! what differs between statements comes with their [`View`] and [`Scope`].

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, FieldRef, SchemaRef};
use datafusion::common::ParamValues;
use datafusion::common::config::Dialect;
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{
    SendableRecordBatchStream, SessionState, SessionStateBuilder, TaskContext,
};
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionConfig;
use datafusion::sql::planner::{NullOrdering, ParserOptions, PlannerContext, SqlToRel};
use datafusion::sql::sqlparser::ast::Statement;
use futures::StreamExt;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

pub mod access;
mod aliases;
mod alone;
mod blanks;
mod called;
mod context;
mod digits;
mod groups;
pub mod growth;
pub mod guard;
mod held;
mod large_sorts;
mod largest;
mod lookup;
mod memory;
pub mod needs;
mod operators;
mod paced;
mod parts;
mod patience;
mod per_row;
mod provider;
mod ranks;
pub mod room;
mod rules;
pub mod scan;
mod series;
mod sql_types;
mod steps;
#[cfg(test)]
mod tests;
pub mod texts;
mod tuples;
mod watch;
mod weight;
mod whole_rows;
mod width;
mod windows;

pub use context::{Known, TARGET};
pub use held::Held;
pub use scan::{ROW_ID, TableHandle};
pub use sql_types::pg_type;

use crate::deep::{self, Deep, Depth};
use crate::error::Result;
use crate::parse::Tree;
use crate::rights::Need;
use crate::scope::Scope;
use crate::session::Parameter;
use crate::view::View;
use guard::Guard;
use room::{Room, Running};

/// Plans and runs queries.
pub struct Planner {
    state: SessionState,
    runtime: Runtime,
    types: Arc<dyn TypePlanner>,
    digits: digits::Digits,
    /// A query works on its next batch when it has one of these.
    turns: Arc<Semaphore>,
    /// Bytes that all queries may use together.
    memory: usize,
    /// What the process has for them.
    room: Arc<Room>,
}

/// What a query may hold besides what it has asked for: batches on their way from step to step. So many
/// queries work at a time as there is room for that; others wait for their turn.
const TURN_BYTES: usize = 4 << 20;
/// Queries that work at a time: at least and at most.
const TURNS: std::ops::RangeInclusive<usize> = 3..=64;
/// Rows of a batch, and of one with strings, which may be long.
const BATCH_ROWS: usize = 8192;
const BATCH_ROWS_WIDE: usize = 2048;
/// Memory of all queries below which batches with strings are smaller still.
const SMALL_MEMORY: usize = 256 << 20;

/// The steps that a plan takes.
pub type Steps = Deep<Arc<dyn ExecutionPlan>>;

/// A planned query.
#[derive(Clone, Debug)]
pub struct Query {
    /// The plan, with placeholders.
    pub plan: Deep<LogicalPlan>,
    /// Whether later statements of the same text may use it, as long as the catalog stays the same.
    pub lasting: bool,
    /// What it reads.
    pub needs: Vec<Need>,
}

impl Query {
    /// Columns of the answer.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(self.plan.schema().inner())
    }

    /// With values for its parameters.
    ///
    /// # Errors
    /// A value that is none of its type.
    pub fn with_values(self, values: &[Parameter]) -> Result<Query> {
        if values.is_empty() {
            return Ok(self);
        }
        let depth = self.plan.depth();
        deep::run(depth, || {
            let mut values = values.iter().map(Parameter::scalar).collect::<Result<Vec<_>>>()?;
            let plan = self.plan.into_inner();
            let plan = crate::functions::large_values::place(plan, &mut values)?;
            let values = values.into_iter().map(ScalarAndMetadata::from).collect();
            let plan = plan.with_param_values(ParamValues::List(values))?;
            Ok(Query { plan: Deep::new(plan, depth), ..self })
        })
    }

    /// Types of the parameters `$1`, `$2`, as far as the query tells.
    ///
    /// # Errors
    /// One parameter is used with several types.
    pub fn parameters(&self) -> Result<HashMap<usize, FieldRef>> {
        let fields = deep::run(self.plan.depth(), || self.plan.get_parameter_fields())?;
        let known = fields
            .into_iter()
            .filter_map(|(name, field)| Some((name.strip_prefix('$')?.parse().ok()?, field?)));
        Ok(known.collect())
    }
}

fn parser_options() -> ParserOptions {
    ParserOptions::new()
        .with_parse_float_as_decimal(true)
        .with_support_varchar_with_length(true)
        .with_map_string_types_to_utf8view(false)
        .with_default_null_ordering(NullOrdering::NullsMax)
}

impl Planner {
    /// A planner whose queries may use so much memory together, in bytes.
    ///
    /// # Errors
    /// Threads or a directory for spilled data cannot be made.
    pub fn new(memory: usize, room: Arc<Room>) -> Result<Planner> {
        guard::carry();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(std::thread::available_parallelism().map_or(2, usize::from))
            .thread_name("onlap-query")
            .enable_time()
            .build()
            .map_err(|e| crate::SqlError::new("58000", format!("cannot start threads: {e}")))?;
        let mut config = SessionConfig::new()
            .with_information_schema(false)
            .with_batch_size(BATCH_ROWS)
            .with_target_partitions(1)
            .with_default_catalog_and_schema("postgres", "public");
        let options = config.options_mut();
        options.sql_parser.dialect = Dialect::PostgreSQL;
        options.sql_parser.parse_float_as_decimal = true;
        options.sql_parser.map_string_types_to_utf8view = false;
        options.sql_parser.enable_subquery_sort_elimination = false;
        options.execution.collect_statistics = false;
        // What a sort sets aside to merge what it spilled.
        let aside = (memory / 16).clamp(1 << 20, options.execution.sort_spill_reservation_bytes);
        options.execution.sort_spill_reservation_bytes = aside;
        let env = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(memory::Shared::new(memory, Arc::clone(&room))))
            .build_arc()?;
        let mut builder = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(env)
            .with_default_features()
            .with_analyzer_rules(patience::analyzers())
            .with_analyzer_rule(Arc::new(blanks::Blanks))
            .with_optimizer_rules(patience::optimizers())
            .with_physical_optimizer_rule(Arc::new(series::Series))
            .with_physical_optimizer_rule(Arc::new(rules::Rules))
            .with_physical_optimizer_rule(Arc::new(large_sorts::LargeSorts))
            .with_physical_optimizer_rule(Arc::new(paced::Paced))
            .with_physical_optimizer_rule(Arc::new(parts::Parts))
            .with_physical_optimizer_rule(Arc::new(width::Widths))
            .with_physical_optimizer_rule(Arc::new(watch::Watch));
        crate::functions::register(&mut builder);
        operators::first(builder.expr_planners());
        let state = builder.build();
        let aggregate = |name: &str| {
            let found = state.aggregate_functions().get(name);
            Arc::clone(found.expect("the planner's library has it"))
        };
        let digits = digits::Digits { sum: aggregate("sum"), count: aggregate("count") };
        let turns = (memory / TURN_BYTES).clamp(*TURNS.start(), *TURNS.end());
        let (turns, types) = (Arc::new(Semaphore::new(turns)), Arc::new(sql_types::Types));
        Ok(Planner { state, runtime, types, digits, turns, memory, room })
    }

    /// What queries have of their memory.
    pub fn memory(&self) -> Arc<dyn MemoryPool> {
        Arc::clone(&self.state.runtime_env().memory_pool)
    }

    /// What the process has for queries.
    pub fn room(&self) -> &Arc<Room> {
        &self.room
    }

    /// Waits until there is room for what takes this number of bytes.
    ///
    /// # Errors
    /// `53200`: there is none, now or ever; those of `go_on`.
    pub fn admit(&self, bytes: u64, go_on: impl Fn() -> Result<()>) -> Result<Running> {
        self.room.check(bytes)?;
        self.room.admit(self.runtime.handle(), go_on, |place| self.room.begin(place, bytes))
    }

    /// Plans a query, or a target's query of UPDATE and DELETE.
    ///
    /// # Errors
    /// Names and types that do not go together; what the planner does not do.
    pub fn plan(
        &self,
        view: &View,
        statement: impl Into<Tree>,
        parameters: Vec<Option<FieldRef>>,
        known: &Known,
    ) -> Result<Query> {
        let statement = statement.into();
        let weight = deep::run(statement.depth(), || weight::weigh(view, &statement))?;
        let depth = statement.depth().plus(weight);
        depth.check()?;
        guard::within(&self.guard(&view.scope, depth), || {
            self.plan_tree(view, statement.into_inner(), parameters, known, depth)
        })
    }

    /// What a query in this scope may take while it is planned.
    fn guard(&self, scope: &Arc<Scope>, depth: Depth) -> Arc<Guard> {
        Guard::new(scope, &self.state.runtime_env().memory_pool, depth)
    }

    fn plan_tree(
        &self,
        view: &View,
        mut statement: Statement,
        mut parameters: Vec<Option<FieldRef>>,
        known: &Known,
        depth: Depth,
    ) -> Result<Query> {
        crate::rewrite::parameters(&statement, &mut parameters);
        tuples::rewrite(&mut statement)?;
        crate::rewrite::windows::write_out(&mut statement)?;
        largest::rewrite(view, &mut statement);
        whole_rows::rewrite(view, &mut statement)?;
        ranks::rewrite(view, &mut statement);
        aliases::rewrite(view, &mut statement);
        crate::rewrite::statement(&mut statement);
        called::rewrite(view, &self.state, &mut statement);
        let (lasting, inner) = (Cell::new(true), RefCell::default());
        let context = context::Context {
            view,
            state: &self.state,
            known,
            lasting: &lasting,
            types: &self.types,
            depth: 0,
            within: None,
            inner: &inner,
        };
        let mut names = PlannerContext::new().with_prepare_param_data_types(parameters);
        let plan = SqlToRel::new_with_options(&context, parser_options())
            .sql_statement_to_plan_with_context(statement, &mut names)?;
        let mut needs = needs::collect(&plan, known)?;
        needs.append(&mut inner.take());
        let plan = self.digits.show(needs::expand(plan)?)?;
        let mut plan = crate::functions::print_names(view, plan)?;
        if per_row::is_needed(&plan) {
            lasting.set(false);
            let runner = per_row::Runner {
                state: self.state.clone(),
                handle: self.runtime.handle().clone(),
                scope: Arc::clone(&view.scope),
            };
            plan = per_row::rewrite(plan, &runner)?;
        }
        Ok(Query { plan: Deep::new(plan, depth), lasting: lasting.get(), needs })
    }

    /// The steps that a query takes, if the role may read what it reads: no query runs without them.
    ///
    /// # Errors
    /// `42501`; what the planner does not do.
    pub fn physical(&self, view: &View, query: &Query) -> Result<Steps> {
        view.judge.must(&query.needs)?;
        let _entered = self.runtime.enter();
        let depth = query.plan.depth();
        guard::within(&self.guard(&view.scope, depth), || {
            Ok(Deep::new(steps::of(&self.state, self.runtime.handle(), &query.plan)?, depth))
        })
    }

    /// Where plans run.
    pub fn handle(&self) -> &tokio::runtime::Handle {
        self.runtime.handle()
    }

    /// Runs a plan in a scope.
    ///
    /// # Errors
    /// Those of opening its scans.
    pub fn run(&self, plan: Steps, scope: &Arc<Scope>) -> Result<Batches> {
        self.run_with(plan, scope, |_| {})
    }

    /// Runs a plan in a scope; what the plan runs with is shown before.
    ///
    /// # Errors
    /// Those of opening its scans.
    pub fn run_with(
        &self,
        plan: Steps,
        scope: &Arc<Scope>,
        show: impl FnOnce(&Arc<TaskContext>),
    ) -> Result<Batches> {
        let _entered = self.runtime.enter();
        let config = self.state.config().clone().with_extension(Arc::clone(scope));
        let config = match deep::run(plan.depth(), || has_strings(&plan)) {
            true if self.memory < SMALL_MEMORY => config.with_batch_size(BATCH_ROWS_WIDE / 4),
            true => config.with_batch_size(BATCH_ROWS_WIDE),
            false => config,
        };
        // Steps bring their functions; a copy of all that there are would cost more than most queries.
        let env = memory::confined(self.state.runtime_env(), scope.memory());
        let memory = Arc::clone(&env.memory_pool);
        let context = Arc::new(TaskContext::new(
            None,
            String::new(),
            config,
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            env,
        ));
        show(&context);
        let guard = Guard::new(scope, &memory, plan.depth());
        let stream =
            guard::within(&guard, || execute_stream(Arc::clone(&plan), Arc::clone(&context)))?;
        let stream = Deep::new(stream, plan.depth());
        let (scope, turns) = (Arc::clone(scope), Arc::clone(&self.turns));
        let handle = self.runtime.handle().clone();
        let (running, given, is_alone) = (None, false, false);
        Ok(Batches {
            plan,
            context,
            stream,
            guard,
            handle,
            scope,
            turns,
            memory,
            running,
            given,
            is_alone,
        })
    }
}

/// Whether any step has columns of strings.
fn has_strings(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let wide = |ty: &DataType| matches!(ty, DataType::Utf8 | DataType::Binary | DataType::List(_));
    plan.schema().fields().iter().any(|f| wide(f.data_type()))
        || plan.children().into_iter().any(has_strings)
}

/// The batches of a running plan; the caller's thread waits for each.
pub struct Batches {
    plan: Steps,
    context: Arc<TaskContext>,
    stream: Deep<SendableRecordBatchStream>,
    guard: Arc<Guard>,
    handle: tokio::runtime::Handle,
    scope: Arc<Scope>,
    turns: Arc<Semaphore>,
    memory: Arc<dyn MemoryPool>,
    running: Option<Arc<Running>>,
    /// Whether it has given rows.
    given: bool,
    /// Whether it has begun anew, without others beside it.
    is_alone: bool,
}

/// A plan that gives nothing is asked this often whether it is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(50);

impl Batches {
    /// The next batch.
    ///
    /// # Errors
    /// Those of the query.
    pub fn next(&mut self) -> Result<Option<RecordBatch>> {
        let batch = loop {
            match self.try_next() {
                Err(error) => match self.guard.take_too_wide() {
                    Some(width) => self.begin_narrow(width)?,
                    None if self.may_begin_anew(&error) => self.begin_anew(error)?,
                    None => return Err(error),
                },
                Ok(batch) => break batch,
            }
        };
        if batch.is_some() {
            self.given = true;
            self.guard.has_given();
        }
        Ok(batch)
    }

    fn try_next(&mut self) -> Result<Option<RecordBatch>> {
        self.begin()?;
        let turns = Arc::clone(&self.turns);
        let _turn = loop {
            self.scope.go_on()?;
            if let Ok(turn) = turns.try_acquire() {
                break turn;
            }
            let turn = async { tokio::time::timeout(LOOK_EVERY, turns.acquire()).await };
            if let Ok(turn) = self.handle.block_on(turn) {
                break turn.expect("nobody closes it");
            }
        };
        loop {
            self.scope.plan_goes_on()?;
            let next = self.stream.next();
            let next = async { tokio::time::timeout(LOOK_EVERY, next).await };
            if let Ok(batch) = guard::within(&self.guard, || self.handle.block_on(next)) {
                return Ok(batch.transpose()?);
            }
        }
    }

    /// Waits for room before the first batch.
    fn begin(&mut self) -> Result<()> {
        if self.running.is_none() {
            let (scope, room) = (&self.scope, self.scope.room());
            let begun =
                room.admit(&self.handle, || scope.go_on(), |place| scope.begin_query(place))?;
            self.running = Some(begun);
        }
        Ok(())
    }

    /// All that is left.
    ///
    /// # Errors
    /// Those of the query.
    pub fn all(mut self) -> Result<Held> {
        let mut held = Held::new(&self.memory);
        while let Some(batch) = self.next()? {
            held.add(batch)?;
        }
        held.keep_running(self.running.take());
        Ok(held)
    }
}
