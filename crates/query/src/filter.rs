//! Which rows meet a condition?
//!
//! Rows of several batches are given together once there are enough: few at first, so that a LIMIT above sees the first ones
//! soon, and twice as many each time. Where the condition does something, as a lock does, a row is asked for when it is wanted
//! and not before: a LIMIT above must not lock what it does not give.
//!
//! Thread safety: a stream belongs to one thread.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use datafusion_common::Result;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::ExecutionPlan;
use futures::{StreamExt, TryStreamExt};

use crate::step::{Step, stream_of};

type Plan = Arc<dyn ExecutionPlan>;

/// The name of the step that hands rows on one by one.
const SINGLY: &str = "Singly";

/// Rows that are given together, at most.
const TOGETHER: usize = 4096;

/// A step that leaves the rows of which a condition is true; `acts`: asking it does something.
pub fn filter(plan: Plan, condition: Arc<dyn PhysicalExpr>, acts: bool) -> Plan {
    let acts = acts || comes_singly(&plan);
    let schema = plan.schema();
    let out = Arc::clone(&schema);
    let run = move |inputs: Vec<Plan>, context: Arc<TaskContext>| {
        let input = inputs[0].execute(0, context)?;
        let condition = Arc::clone(&condition);
        let schema = Arc::clone(&out);
        let work = Work { input, condition, schema, together: 1, acts, left: None };
        let batches = futures::stream::unfold(Some(work), |work| async {
            let mut work = work?;
            match work.next().await {
                Ok(Some(batch)) => Some((Ok(batch), Some(work))),
                Ok(None) => None,
                Err(e) => Some((Err(e), None)),
            }
        });
        Ok(stream_of(Arc::clone(&out), batches))
    };
    Step::make("Filter", "", vec![plan], schema, Arc::new(run))
}

/// A step that hands rows on one by one, each when it is wanted: what stands above does something for each row that it gets, and
/// what takes its rows may stop.
pub fn singly(plan: Plan) -> Plan {
    let schema = plan.schema();
    let out = Arc::clone(&schema);
    let run = move |inputs: Vec<Plan>, context: Arc<TaskContext>| {
        let input = inputs[0].execute(0, context)?;
        let one = |batch: RecordBatch| (0..batch.num_rows()).map(move |at| Ok(batch.slice(at, 1)));
        let rows = input.map_ok(move |batch| futures::stream::iter(one(batch))).try_flatten();
        Ok(stream_of(Arc::clone(&out), rows))
    };
    Step::make(SINGLY, "", vec![plan], schema, Arc::new(run))
}

/// Whether rows are handed on one by one below; what gathers them again asks for rows that may not be wanted.
fn comes_singly(plan: &Plan) -> bool {
    let mut open = vec![plan];
    while let Some(plan) = open.pop() {
        if plan.name() == SINGLY {
            return true;
        }
        open.extend(plan.children());
    }
    false
}

struct Work {
    input: SendableRecordBatchStream,
    condition: Arc<dyn PhysicalExpr>,
    schema: SchemaRef,
    together: usize,
    acts: bool,
    /// Rows that were not asked for.
    left: Option<RecordBatch>,
}

impl Work {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        if self.acts {
            return self.next_row().await;
        }
        let (mut kept, mut rows) = (Vec::new(), 0);
        while rows < self.together {
            let Some(batch) = self.input.next().await else { break };
            let batch = self.kept(batch?)?;
            if batch.num_rows() > 0 {
                rows += batch.num_rows();
                kept.push(batch);
            }
        }
        self.together = (self.together * 2).min(TOGETHER);
        Ok(match kept.len() {
            0 => None,
            1 => kept.pop(),
            _ => Some(concat_batches(&self.schema, &kept)?),
        })
    }

    async fn next_row(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let batch = match self.left.take() {
                Some(left) => left,
                None => match self.input.next().await {
                    Some(batch) => batch?,
                    None => return Ok(None),
                },
            };
            if batch.num_rows() == 0 {
                continue;
            }
            self.left = Some(batch.slice(1, batch.num_rows() - 1));
            let row = self.kept(batch.slice(0, 1))?;
            if row.num_rows() > 0 {
                return Ok(Some(row));
            }
        }
    }

    fn kept(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let is_true = self.condition.evaluate(&batch)?.into_array(batch.num_rows())?;
        let is_true = is_true.as_boolean();
        match is_true.true_count() == batch.num_rows() {
            true => Ok(batch),
            false => Ok(filter_record_batch(&batch, is_true)?),
        }
    }
}
