//! How are the steps of a query run?
//!
//! Steps are of `onlap_query` and of DataFusion's library. [`Runner`] is made once for all sessions; what differs between
//! statements comes with their [`Scope`]: memory, time, what they see.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use datafusion_execution::config::SessionConfig;
use datafusion_execution::memory_pool::MemoryPool;
use datafusion_execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::{EmptyRecordBatchStream, ExecutionPlan, execute_stream};
use futures::StreamExt;
use onlap_query::Spilled;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

pub mod access;
mod alone;
pub mod defects;
pub mod growth;
pub mod guard;
mod held;
pub mod hypothetical;
mod memory;
pub mod room;
pub mod scan;
pub mod texts;
pub mod turn;

pub use held::Held;
pub use scan::TableHandle;

use crate::deep::{self, Deep};
use crate::error::Result;
use crate::scope::Scope;
use defects::Planted;
use guard::Guard;
use room::{Room, Running};

/// Runs queries.
pub struct Runner {
    config: SessionConfig,
    env: Arc<RuntimeEnv>,
    runtime: Runtime,
    /// A query works on its next batch when it has one of these.
    turns: Arc<Semaphore>,
    /// Bytes that all queries may use together.
    memory: usize,
    /// What the process has for them.
    room: Arc<Room>,
    /// What tests let the next one meet.
    pub planted: Planted,
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

impl Runner {
    /// One whose queries may use so much memory together, in bytes.
    ///
    /// # Errors
    /// Threads or a directory for spilled data cannot be made.
    pub fn new(memory: usize, room: Arc<Room>) -> Result<Runner> {
        guard::carry();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(std::thread::available_parallelism().map_or(2, usize::from))
            .thread_name("onlap-query")
            .enable_time()
            .build()
            .map_err(|e| crate::SqlError::new("58000", format!("cannot start threads: {e}")))?;
        let mut config = SessionConfig::new().with_batch_size(BATCH_ROWS).with_target_partitions(1);
        let options = config.options_mut();
        // What a sort sets aside to merge what it spilled.
        let aside = (memory / 16).clamp(1 << 20, options.execution.sort_spill_reservation_bytes);
        options.execution.sort_spill_reservation_bytes = aside;
        let env = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(memory::Shared::new(memory, Arc::clone(&room))))
            .build_arc()?;
        let turns = (memory / TURN_BYTES).clamp(*TURNS.start(), *TURNS.end());
        let turns = Arc::new(Semaphore::new(turns));
        Ok(Runner { config, env, runtime, turns, memory, room, planted: Planted::default() })
    }

    /// What queries have of their memory.
    pub fn memory(&self) -> Arc<dyn MemoryPool> {
        Arc::clone(&self.env.memory_pool)
    }

    /// What a statement has of it.
    pub fn memory_of(&self, scope: &Scope) -> Arc<dyn MemoryPool> {
        Arc::clone(&memory::confined(&self.env, scope.memory()).memory_pool)
    }

    /// What the process has for queries.
    pub fn room(&self) -> &Arc<Room> {
        &self.room
    }

    /// Waits until there is room for what takes this number of bytes; `holds` as for [`Room::admit`].
    ///
    /// # Errors
    /// `53200`: there is none, now or ever; those of `go_on`.
    pub fn admit(
        &self,
        bytes: u64,
        holds: bool,
        go_on: impl Fn() -> Result<()>,
    ) -> Result<Running> {
        self.room.check(bytes)?;
        self.room.admit(self.runtime.handle(), holds, go_on, |place| self.room.begin(place, bytes))
    }

    /// Where plans run.
    pub fn handle(&self) -> &tokio::runtime::Handle {
        self.runtime.handle()
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
        let spilled = Arc::new(Spilled::default());
        let config = self.config.clone().with_extension(Arc::clone(scope));
        let config = config.with_extension(Arc::clone(&spilled));
        let config = match deep::run(plan.depth(), || has_strings(&plan)) {
            true if self.memory < SMALL_MEMORY => config.with_batch_size(BATCH_ROWS_WIDE / 4),
            true => config.with_batch_size(BATCH_ROWS_WIDE),
            false => config,
        };
        // Steps bring their functions; a copy of all that there are would cost more than most queries.
        let env = memory::confined(&self.env, scope.memory());
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
        let guard = Guard::new(scope, plan.depth());
        let begin = || execute_stream(Arc::clone(&plan), Arc::clone(&context));
        let begun = catch_unwind(AssertUnwindSafe(|| guard::within(&guard, begin)))
            .unwrap_or_else(|panic| defects::goes_on(panic, &plan));
        let stream = begun.map_err(|e| defects::told(e.into(), &plan))?;
        let stream = Deep::new(self.planted.instead_of(stream), plan.depth());
        let (scope, turns) = (Arc::clone(scope), Arc::clone(&self.turns));
        let handle = self.runtime.handle().clone();
        let (running, given, is_alone, noted) = (None, false, false, false);
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
            noted,
            spilled,
        })
    }
}

/// Bytes that the steps of a plan have put into temporary files.
fn spilled(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let own = plan.metrics().and_then(|metrics| metrics.spilled_bytes()).unwrap_or(0) as u64;
    own + plan.children().into_iter().map(spilled).sum::<u64>()
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
    /// Whether the statement knows what other steps have put into temporary files.
    noted: bool,
    /// What its sorts have put there, and the statement does not know yet.
    spilled: Arc<Spilled>,
}

impl Drop for Batches {
    fn drop(&mut self) {
        // The stream tells when it goes.
        let none = EmptyRecordBatchStream::new(self.plan.schema());
        self.stream = Deep::new(Box::pin(none), self.plan.depth());
        self.note_spilled();
    }
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
            match self.watched_next() {
                Err(error) if self.may_begin_anew(&error) => self.begin_anew(error)?,
                Err(error) => return Err(defects::told(error, &self.plan)),
                Ok(batch) => break batch,
            }
        };
        match batch.is_some() {
            true => self.given = true,
            false => self.note_spilled(),
        }
        Ok(batch)
    }

    fn watched_next(&mut self) -> Result<Option<RecordBatch>> {
        catch_unwind(AssertUnwindSafe(|| self.try_next()))
            .unwrap_or_else(|panic| defects::goes_on(panic, &self.plan))
    }

    /// Tells the statement what steps have put into temporary files.
    fn note_spilled(&mut self) {
        let of_steps = match std::mem::replace(&mut self.noted, true) {
            true => 0,
            false => deep::run(self.plan.depth(), || spilled(&self.plan)),
        };
        self.scope.note_spilled(self.spilled.take() + of_steps);
    }

    fn try_next(&mut self) -> Result<Option<RecordBatch>> {
        self.begin()?;
        let turns = Arc::clone(&self.turns);
        let scope = Arc::clone(&self.scope);
        let turn = loop {
            self.scope.go_on()?;
            // What called the routine that runs this has a turn already.
            if self.scope.lent().depth() > 0 {
                break None;
            }
            if let Ok(turn) = Arc::clone(&turns).try_acquire_owned() {
                break Some(turn);
            }
            let turn = Arc::clone(&turns).acquire_owned();
            let turn = async { tokio::time::timeout(LOOK_EVERY, turn).await };
            if let Ok(turn) = self.handle.block_on(turn) {
                break Some(turn.expect("turns are never closed"));
            }
        };
        let _turn = turn.map(|turn| scope.turns().hold(turn));
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
            let begun = room.admit(
                &self.handle,
                scope.holds_much(),
                || scope.go_on(),
                |place| scope.begin_query(place),
            )?;
            self.running = Some(begun);
        }
        Ok(())
    }

    /// All that is left; none where it takes more bytes than that.
    ///
    /// # Errors
    /// Those of the query.
    pub fn all_within(mut self, bytes: usize) -> Result<Option<Held>> {
        let mut held = Some(Held::new(&self.memory));
        while let Some(batch) = self.next()? {
            if let Some(rows) = &mut held {
                rows.add(batch)?;
                held = held.filter(|rows| rows.bytes() <= bytes);
            }
        }
        Ok(held)
    }

    /// Nothing yet, charged to the memory of the query.
    pub fn nothing_held(&self) -> Held {
        Held::new(&self.memory)
    }

    /// What comes until there are `most` rows, and how many there are; `usize::MAX` for all of them, 0 for their number alone.
    ///
    /// # Errors
    /// Those of the query.
    pub fn first(mut self, most: usize) -> Result<(Held, u64)> {
        let (mut held, mut count) = (Held::new(&self.memory), 0_u64);
        while let Some(batch) = self.next()? {
            count += batch.num_rows() as u64;
            if most > 0 {
                held.add(batch)?;
            }
            if most > 0 && count >= most as u64 {
                break;
            }
        }
        Ok((held, count))
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
