//! How are rows kept that several places of a plan read?
//!
//! A [`Store`] runs its plan once, as far as its readers ask, and keeps the batches. Readers may stand anywhere in the plan,
//! in queries of expressions too, and each begins with the first batch. [`Store::reset`] forgets all, for the next run.
//!
//! Whoever asks for a batch that is not there yet polls the plan; no lock is held while it waits. When the plan can go on,
//! all that wait are told: the one that asked first may be gone by then.
//!
//! Thread safety: readers may be on different threads.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion_common::Result;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::execution_plan::reset_plan_states;
use datafusion_physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;
use parking_lot::Mutex;

use crate::step::{Step, stream_of};

type Plan = Arc<dyn ExecutionPlan>;

/// Rows that are read in several places.
pub struct Store {
    plan: Plan,
    kept: Mutex<Kept>,
    waiting: Arc<Waiting>,
}

#[derive(Default)]
struct Kept {
    source: Source,
    batches: Vec<RecordBatch>,
    memory: Option<MemoryReservation>,
}

#[derive(Default)]
enum Source {
    #[default]
    New,
    Running(SendableRecordBatchStream),
    Ended,
}

/// Readers that wait for a batch.
#[derive(Default)]
struct Waiting(Mutex<Vec<Waker>>);

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        std::mem::take(&mut *self.0.lock()).into_iter().for_each(Waker::wake);
    }
}

impl Store {
    /// The rows of a plan, which has not run yet.
    pub fn new(plan: Plan) -> Arc<Store> {
        Arc::new(Store { plan, kept: Mutex::default(), waiting: Arc::default() })
    }

    /// Forgets the rows: the plan runs anew when it is asked.
    pub fn reset(&self) {
        *self.kept.lock() = Kept::default();
    }

    /// A step that reads them.
    pub fn scan(self: &Arc<Store>) -> Plan {
        let (store, schema) = (Arc::clone(self), self.plan.schema());
        let out = Arc::clone(&schema);
        let run = move |_: Vec<Plan>, context: Arc<TaskContext>| {
            let (store, mut at) = (Arc::clone(&store), 0);
            let batches = futures::stream::poll_fn(move |cx| {
                let polled = store.poll(at, &context, cx);
                at += usize::from(polled.is_ready());
                polled
            });
            Ok(stream_of(Arc::clone(&out), batches))
        };
        Step::make("CTE Scan", "", Vec::new(), schema, Arc::new(run))
    }

    fn poll(
        &self,
        at: usize,
        context: &Arc<TaskContext>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<RecordBatch>>> {
        let mut kept = self.kept.lock();
        loop {
            if let Some(batch) = kept.batches.get(at) {
                return Poll::Ready(Some(Ok(batch.clone())));
            }
            match &mut kept.source {
                Source::Ended => return Poll::Ready(None),
                Source::New => {
                    let plan = reset_plan_states(Arc::clone(&self.plan))?;
                    kept.source = Source::Running(execute_stream(plan, Arc::clone(context))?);
                    let consumer = MemoryConsumer::new("WITH");
                    kept.memory = Some(consumer.register(context.memory_pool()));
                }
                Source::Running(stream) => {
                    self.waiting.0.lock().push(cx.waker().clone());
                    let waker = Waker::from(Arc::clone(&self.waiting));
                    let polled = stream.poll_next_unpin(&mut Context::from_waker(&waker));
                    let Poll::Ready(next) = polled else { return Poll::Pending };
                    let others = std::mem::take(&mut *self.waiting.0.lock());
                    others
                        .iter()
                        .filter(|other| !other.will_wake(cx.waker()))
                        .for_each(Waker::wake_by_ref);
                    match next.map(|batch| kept.add(batch?)) {
                        None => kept.source = Source::Ended,
                        Some(Ok(())) => {}
                        Some(Err(e)) => {
                            // A run that begins anew finds none of the rows of this one.
                            *kept = Kept::default();
                            return Poll::Ready(Some(Err(e)));
                        }
                    }
                }
            }
        }
    }
}

impl Kept {
    fn add(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() > 0 {
            if let Some(memory) = &mut self.memory {
                memory.try_grow(bytes_of(&batch)?)?;
            }
            self.batches.push(batch);
        }
        Ok(())
    }
}

/// The bytes of a batch's rows, whatever they are a part of.
///
/// # Errors
/// A column has no bytes of its own.
pub fn bytes_of(batch: &RecordBatch) -> Result<usize> {
    let sizes = batch.columns().iter().map(|column| column.to_data().get_slice_memory_size());
    Ok(sizes.sum::<std::result::Result<usize, _>>()?)
}

/// A plan before each run of which the rows of stores are forgotten.
pub fn with_stores(plan: Plan, stores: Vec<Arc<Store>>) -> Plan {
    let schema: SchemaRef = plan.schema();
    let run = move |inputs: Vec<Plan>, context: Arc<TaskContext>| {
        stores.iter().for_each(|store| store.reset());
        inputs[0].execute(0, context)
    };
    Step::make("With", "", vec![plan], schema, Arc::new(run))
}
