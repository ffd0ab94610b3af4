//! What becomes of a query that finds no memory next to others?
//!
//! What it holds may be little, and what others hold will be free when they have ended. So it gives back what it has,
//! waits until it has all the room, and begins anew. It sees the same rows: its snapshot is the statement's.
//! Only a query that has given no rows yet can do so, and only once. Its functions are called again; those with effects
//! (nextval) may skip values by that, as they may anyway.

use std::sync::Arc;

use datafusion_physical_plan::EmptyRecordBatchStream;
use datafusion_physical_plan::execute_stream;
use datafusion_physical_plan::execution_plan::reset_plan_states;

use super::{Batches, guard};
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
        let begun = room.admit(
            &self.handle,
            scope.holds_much(),
            || scope.go_on(),
            |place| scope.begin_alone(place),
        );
        self.running = Some(begun.map_err(|e| match e.state() {
            state::OUT_OF_MEMORY => error,
            _ => e,
        })?);
        self.is_alone = true;
        self.restart()
    }

    fn restart(&mut self) -> Result<()> {
        self.scope.between().undo_statement();
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
