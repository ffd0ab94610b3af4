//! What becomes of a query that finds no memory beside others, or whose batches would be too large?
//!
//! What it holds may be little, and what others hold will be free when they have ended. So it gives back what it has,
//! waits until it has all the room, and begins anew. It sees the same rows: its snapshot is the statement's.
//! Only a query that has given no rows yet can do so, and only once. One whose rows are too wide for a join (`super::width`)
//! begins anew with fewer of them in a batch. Its functions are called again; those with
//! effects (nextval) may skip values by that, as they may anyway.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::execution::TaskContext;
use datafusion::physical_plan::EmptyRecordBatchStream;
use datafusion::physical_plan::execute_stream;
use datafusion::physical_plan::execution_plan::reset_plan_states;

use super::{Batches, guard, width};
use crate::deep::Deep;
use crate::error::{Result, SqlError, state};

impl Batches {
    /// Whether an error says no more than that others have the memory.
    pub(super) fn may_begin_anew(&self, error: &SqlError) -> bool {
        // One with a limit of its own would meet it again.
        let confined = self.scope.memory().is_some();
        error.state() == state::OUT_OF_MEMORY && !self.given && !self.is_alone && !confined
    }

    /// Begins anew, alone.
    ///
    /// # Errors
    /// `error` where it cannot be alone; those of waiting.
    pub(super) fn begin_anew(&mut self, error: SqlError) -> Result<()> {
        let none = EmptyRecordBatchStream::new(self.plan.schema());
        self.stream = Deep::new(Box::pin(none), self.plan.depth());
        self.running = None;
        if self.scope.running().is_some() {
            // Another query of the transaction, or the statement's long text.
            return Err(error);
        }
        let (scope, room) = (&self.scope, self.scope.room());
        let begun = room.admit(&self.handle, || scope.go_on(), |place| scope.begin_alone(place));
        self.running = Some(begun.map_err(|e| match e.state() {
            state::OUT_OF_MEMORY => error,
            _ => e,
        })?);
        self.is_alone = true;
        self.restart()
    }

    /// Begins anew with as few rows in a batch as rows of this width want.
    ///
    /// # Errors
    /// Those of opening its scans.
    pub(super) fn begin_narrow(&mut self, row: u64) -> Result<()> {
        let config = self.context.session_config();
        let fitting = usize::try_from(width::BATCH_BYTES / row.max(1)).unwrap_or(usize::MAX);
        // Fewer each time, so that it ends.
        let rows = fitting.min(config.batch_size() / 2).max(1);
        self.context = Arc::new(TaskContext::new(
            None,
            String::new(),
            config.clone().with_batch_size(rows),
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            HashMap::new(),
            self.context.runtime_env(),
        ));
        let none = EmptyRecordBatchStream::new(self.plan.schema());
        self.stream = Deep::new(Box::pin(none), self.plan.depth());
        self.restart()
    }

    fn restart(&mut self) -> Result<()> {
        let _entered = self.handle.enter();
        let depth = self.plan.depth();
        guard::within(&self.guard, || {
            self.plan = Deep::new(reset_plan_states(Arc::clone(&self.plan))?, depth);
            let stream = execute_stream(Arc::clone(&self.plan), Arc::clone(&self.context))?;
            self.stream = Deep::new(stream, depth);
            Ok(())
        })
    }
}
