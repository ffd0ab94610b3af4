//! Which rows does a statement hold while it changes others?

use std::ops::Deref;
use std::sync::Arc;

use arrow_array::RecordBatch;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};

use super::room::Running;
use crate::error::Result;

/// Rows that a statement holds, which count among the memory of queries; the query runs as long.
pub struct Held {
    batches: Vec<RecordBatch>,
    memory: MemoryReservation,
    running: Option<Arc<Running>>,
}

impl Held {
    /// None yet; they are charged to a pool.
    pub(super) fn new(memory: &Arc<dyn MemoryPool>) -> Held {
        let memory = MemoryConsumer::new("rows of a statement").register(memory);
        Held { batches: Vec::new(), memory, running: None }
    }

    /// Adds rows.
    ///
    /// # Errors
    /// `53200`.
    pub fn add(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() > 0 {
            self.memory.try_grow(batch.get_array_memory_size())?;
            self.batches.push(batch);
        }
        Ok(())
    }

    /// What they take.
    pub fn bytes(&self) -> usize {
        self.memory.size()
    }

    /// Their query has given all, and counts as one that runs for as long as they are held.
    pub(super) fn keep_running(&mut self, running: Option<Arc<Running>>) {
        self.running = running;
    }

    /// None yet, charged to the same memory.
    pub fn another(&self) -> Held {
        Held { batches: Vec::new(), memory: self.memory.new_empty(), running: None }
    }

    /// Charges for what is made of rows and held as long.
    ///
    /// # Errors
    /// `53200`.
    pub fn charge(&mut self, bytes: usize) -> Result<()> {
        Ok(self.memory.try_grow(bytes)?)
    }

    /// The same rows, or fewer.
    ///
    /// # Errors
    /// Those of `f`.
    pub fn keep(
        mut self,
        f: impl FnOnce(Vec<RecordBatch>) -> Result<Vec<RecordBatch>>,
    ) -> Result<Held> {
        self.batches = f(std::mem::take(&mut self.batches))?;
        Ok(self)
    }

    /// Lets other queries run before the statement waits for locks: who holds these may wait to run.
    pub fn let_others_run(&mut self) {
        self.running = None;
    }
}

impl<'a> IntoIterator for &'a Held {
    type Item = &'a RecordBatch;
    type IntoIter = std::slice::Iter<'a, RecordBatch>;
    fn into_iter(self) -> Self::IntoIter {
        self.batches.iter()
    }
}

impl Deref for Held {
    type Target = [RecordBatch];
    fn deref(&self) -> &[RecordBatch] {
        &self.batches
    }
}
