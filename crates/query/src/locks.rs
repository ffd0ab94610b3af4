//! How are the rows locked that a query with FOR UPDATE or its like gives?
//!
//! A step above the sort and below LIMIT asks for the locks of each row's tables, in the order in which rows come, and for no
//! more rows than LIMIT lets through. It never waits: how a row is locked, and what happens where another transaction has it
//! or has changed it, is the caller's business ([`crate::Tables::locker`]), who may end the run and begin the query anew. Of a view that is locked all tables are, as in PostgreSQL.
//!
//! Thread safety: belongs to one run.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use datafusion_common::Result as Run;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::ExecutionPlan;
use futures::StreamExt;
use onlap_pg::bind::{check_lock, lock_name};
use onlap_pg::bound::{EntryKind, Lock, QueryId};
use onlap_pg::{Error, Result};

use crate::build::Fetch;
use crate::compile::Compiler;
use crate::env::{Locker, ROW_ID, Read};
use crate::error::external;
use crate::members::Members;
use crate::step::{Step, stream_of};

/// A table whose rows are locked: where their ids are, and what locks them.
type Locked = (usize, Locker);

impl Compiler<'_> {
    /// The locks of the query that is being made, of its own and of a lock of the view that it belongs to.
    ///
    /// # Errors
    /// `0A000`: a view's rows are not a table's.
    pub fn row_locks(&self) -> Result<Vec<Lock>> {
        let frame = self.frames.last().expect("a query is being made");
        let query = self.bound.query(frame.query);
        let mut locks = query.locks.clone();
        if let Some(outer) = frame.lock {
            check_lock(query, outer.strength)?;
            let entries = query.entries.iter().enumerate().filter(|(_, entry)| entry.in_from);
            for (n, _) in entries {
                match locks.iter_mut().find(|lock| lock.entry == n + 1) {
                    Some(lock) => {
                        lock.strength = lock.strength.max(outer.strength);
                        lock.wait = lock.wait.max(outer.wait);
                    }
                    None => locks.push(Lock { entry: n + 1, ..outer }),
                }
            }
        }
        Ok(locks)
    }

    /// The lock that a view, or a query in FROM of a view, gets from the query that is being made.
    ///
    /// # Errors
    /// As of [`Compiler::row_locks`].
    pub fn lock_within(&self, entry: usize) -> Result<Option<Lock>> {
        Ok(self.row_locks()?.into_iter().find(|lock| lock.entry == entry))
    }

    /// Whether rows of an entry, which is a table, are locked.
    pub fn locks_rows_of(&self, entry: usize) -> bool {
        self.row_locks().is_ok_and(|locks| locks.iter().any(|lock| lock.entry == entry))
    }

    /// Refuses to lock rows of a join's side that may be missing.
    ///
    /// # Errors
    /// `0A000`.
    pub fn refuse_nullable(&self, side: &Members) -> Result<()> {
        match self.row_locks()?.iter().find(|lock| side.contains(lock.entry)) {
            None => Ok(()),
            Some(lock) => {
                let name = lock_name(lock.strength);
                let text =
                    format!("{name} cannot be applied to the nullable side of an outer join");
                Err(Error::new("0A000", text))
            }
        }
    }

    /// The rows of a query, locked.
    ///
    /// # Errors
    /// `0A000`: rows of what is locked have no locks.
    pub fn locked(
        &mut self,
        id: QueryId,
        plan: Arc<dyn ExecutionPlan>,
        fetch: &Fetch,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let query = self.bound.query(id);
        let mut locked: Vec<Locked> = Vec::new();
        for lock in self.row_locks()? {
            let EntryKind::Relation { oid, inherited, .. } = &query.entries[lock.entry - 1].kind
            else {
                continue;
            };
            if self.tables.view(*oid)?.is_some() {
                continue;
            }
            let at = self.layout().vars[&(lock.entry, ROW_ID)];
            let of = Read { relation: *oid, inherited: *inherited };
            locked.push((at, self.tables.locker(of, lock.strength, lock.wait)?));
        }
        if locked.is_empty() {
            return Ok(plan);
        }
        let (most, late) = match query.ties {
            true => (None, None),
            false => (fetch.sort_fetch(), fetch.late.clone()),
        };
        let (schema, locked) = (plan.schema(), Arc::new(locked));
        let run = move |inputs: Vec<Arc<dyn ExecutionPlan>>, context: Arc<TaskContext>| {
            let left = match &late {
                Some(counts) => counts.needed().map_err(external)?,
                None => most,
            };
            let input = inputs[0].execute(0, Arc::clone(&context))?;
            let locked = Arc::clone(&locked);
            let locking = Locking { input, context, locked, left, batch: None };
            let schema = inputs[0].schema();
            let stream = futures::stream::try_unfold(locking, |mut locking| async move {
                Ok(locking.next().await?.map(|batch| (batch, locking)))
            });
            Ok(stream_of(schema, stream))
        };
        Ok(Step::make("LockRows", "", vec![plan], schema, Arc::new(run)))
    }
}

/// Rows on their way to be locked.
struct Locking {
    input: SendableRecordBatchStream,
    context: Arc<TaskContext>,
    locked: Arc<Vec<Locked>>,
    /// How many rows are still wanted; none if all are.
    left: Option<usize>,
    /// Rows that came and were not wanted yet.
    batch: Option<RecordBatch>,
}

impl Locking {
    async fn next(&mut self) -> Run<Option<RecordBatch>> {
        loop {
            if self.left == Some(0) {
                return Ok(None);
            }
            let batch = match self.batch.take() {
                Some(batch) => batch,
                None => match self.input.next().await.transpose()? {
                    Some(batch) => batch,
                    None => return Ok(None),
                },
            };
            let rows = batch.num_rows().min(self.left.unwrap_or(usize::MAX));
            if rows < batch.num_rows() {
                self.batch = Some(batch.slice(rows, batch.num_rows() - rows));
            }
            let locked = self.lock(batch.slice(0, rows))?;
            if let Some(left) = &mut self.left {
                *left -= locked.num_rows();
            }
            if locked.num_rows() > 0 {
                return Ok(Some(locked));
            }
        }
    }

    /// Those of the rows that could be locked.
    fn lock(&self, mut rows: RecordBatch) -> Run<RecordBatch> {
        for (at, locker) in self.locked.iter() {
            let ids = rows.column(*at).as_primitive::<Int64Type>();
            let there: Vec<i64> = ids.iter().flatten().collect();
            let mut answers = locker(&self.context, &there)?.into_iter();
            // A row that a join has filled up has none to lock.
            let kept = |row: usize| ids.is_null(row) || answers.next() == Some(true);
            let kept: Vec<bool> = (0..rows.num_rows()).map(kept).collect();
            if !kept.iter().all(|kept| *kept) {
                rows = filter_record_batch(&rows, &BooleanArray::from(kept))?;
            }
        }
        Ok(rows)
    }
}
