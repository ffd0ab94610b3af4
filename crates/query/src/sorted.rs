//! How are rows sorted?
//!
//! Few rows are gathered and sorted at once, ties as PostgreSQL leaves them ([`crate::ties`]). As soon as there are more,
//! DataFusion's sort goes on with all of them: it keeps to the query's memory and writes runs to files.
//!
//! Thread safety: a stream belongs to one thread.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{SchemaRef, SortOptions};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use datafusion_common::Result;
use datafusion_execution::memory_pool::MemoryConsumer;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::sorts::sort::SortExec;
use futures::{StreamExt, TryStreamExt};
use parking_lot::Mutex;

use crate::columns::column;
use crate::keys::compare_sorted;
use crate::shared::bytes_of;
use crate::step::{Step, stream_of};
use crate::ties;

type Plan = Arc<dyn ExecutionPlan>;

/// More rows are sorted by DataFusion.
const FEW_ROWS: usize = 4096;
/// More bytes, too.
const FEW_BYTES: usize = 1 << 20;

/// Columns of keys, and how each is sorted.
type Keys = Arc<[(usize, SortOptions)]>;

/// A step that sorts rows by columns; of the order the first `fetch` alone, if that is given.
pub fn sorted(plan: Plan, keys: &[(usize, SortOptions)], fetch: Option<usize>) -> Plan {
    if keys.is_empty() {
        return plan;
    }
    let (keys, schema): (Keys, SchemaRef) = (keys.into(), plan.schema());
    let out = Arc::clone(&schema);
    let run = move |inputs: Vec<Plan>, context: Arc<TaskContext>| {
        let input = inputs[0].execute(0, Arc::clone(&context))?;
        let work = sort(input, Arc::clone(&out), Arc::clone(&keys), fetch, context);
        Ok(stream_of(Arc::clone(&out), futures::stream::once(work).try_flatten()))
    };
    Step::make("Sort", "", vec![plan], schema, Arc::new(run))
}

async fn sort(
    mut input: SendableRecordBatchStream,
    schema: SchemaRef,
    keys: Keys,
    fetch: Option<usize>,
    context: Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let memory = MemoryConsumer::new("Sort").register(context.memory_pool());
    let (mut batches, mut rows) = (Vec::new(), 0);
    while let Some(batch) = input.next().await {
        let batch = batch?;
        rows += batch.num_rows();
        let refused = memory.try_grow(bytes_of(&batch)?).is_err();
        batches.push(batch);
        if refused || rows > FEW_ROWS || memory.size() > FEW_BYTES {
            drop(memory);
            return many(batches, input, &schema, &keys, fetch, context);
        }
    }
    let all = concat_batches(&schema, &batches)?;
    drop(batches);
    let order = few(&all, &keys, fetch);
    let most = context.session_config().batch_size();
    let parts: Vec<UInt32Array> =
        order.chunks(most).map(|rows| UInt32Array::from(rows.to_vec())).collect();
    let batches = parts.into_iter().map(move |rows| {
        let _held = &memory;
        Ok(take_record_batch(&all, &rows)?)
    });
    Ok(stream_of(schema, futures::stream::iter(batches)))
}

/// The rows of a batch in order.
fn few(batch: &RecordBatch, keys: &[(usize, SortOptions)], fetch: Option<usize>) -> Vec<u32> {
    let keys: Vec<(&ArrayRef, SortOptions)> =
        keys.iter().map(|(at, how)| (batch.column(*at), *how)).collect();
    let compare = |a: u32, b: u32| {
        let of = |(column, how): &(&ArrayRef, SortOptions)| {
            compare_sorted(column, a as usize, column, b as usize, *how)
        };
        keys.iter().map(of).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    let mut rows: Vec<u32> = (0..batch.num_rows() as u32).collect();
    match fetch {
        Some(bound) => ties::first(&mut rows, bound, &compare),
        None => ties::sort(&mut rows, &compare),
    }
    rows
}

/// Rows that came, and those that are still to come, sorted within the query's memory.
fn many(
    came: Vec<RecordBatch>,
    rest: SendableRecordBatchStream,
    schema: &SchemaRef,
    keys: &[(usize, SortOptions)],
    fetch: Option<usize>,
    context: Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let all = futures::stream::iter(came.into_iter().map(Ok)).chain(rest);
    let once = Mutex::new(Some(stream_of(Arc::clone(schema), all)));
    let run = move |_: Vec<Plan>, _: Arc<TaskContext>| {
        Ok(once.lock().take().expect("a sort reads its input once"))
    };
    let source = Step::make("Rows", "", Vec::new(), Arc::clone(schema), Arc::new(run));
    let exprs =
        keys.iter().map(|(at, options)| PhysicalSortExpr { expr: column(*at), options: *options });
    let order = LexOrdering::new(exprs).expect("there are keys");
    let sort = Arc::new(SortExec::new(order, source).with_fetch(fetch));
    let spilled = context.session_config().get_extension::<Spilled>();
    let told = spilled.map(|spilled| Told { sort: Arc::clone(&sort), spilled });
    let rows = sort.execute(0, context)?;
    // It is told when the rows have gone, whether all of them were read or not.
    let rows = rows.inspect(move |_| {
        let _ = &told;
    });
    Ok(stream_of(Arc::clone(schema), rows))
}

/// Bytes that the sorts of a query have put into temporary files. Who runs it brings one in the context.
#[derive(Debug, Default)]
pub struct Spilled(AtomicU64);

impl Spilled {
    /// What was put there since it was asked last.
    pub fn take(&self) -> u64 {
        self.0.swap(0, Relaxed)
    }
}

/// A sort that tells at its end what it has put into temporary files.
struct Told {
    sort: Arc<SortExec>,
    spilled: Arc<Spilled>,
}

impl Drop for Told {
    fn drop(&mut self) {
        let bytes = self.sort.metrics().and_then(|metrics| metrics.spilled_bytes());
        self.spilled.0.fetch_add(bytes.unwrap_or(0) as u64, Relaxed);
    }
}
