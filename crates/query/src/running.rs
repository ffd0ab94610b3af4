//! How are windows carried out whose calls need no row that comes later?
//!
//! `row_number`, `rank` and `dense_rank`, and aggregates over frames that end with the current row or its peers, are known as
//! rows come: what was counted goes from batch to batch ([`Running`]), and of the rows only the peers of the last one wait.
//! Other windows hold whole partitions ([`crate::windows`]).
//!
//! Thread safety: belongs to one run.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, UInt32Array};
use datafusion_execution::memory_pool::MemoryReservation;
use onlap_kernels::{Asking, Col};
use onlap_pg::Result;
use onlap_pg::ast::FrameUnit;

use crate::distinct::are_equal;
use crate::env::{self, Env};
use crate::error::external;
use crate::frames::{Edge, Frame};
use crate::node::{Rows, Spread, arrow};
use crate::over::{Over, What};
use crate::picked::{concat, take};
use crate::shared::bytes_of;
use onlap_kernels::aggregate::Aggregate;

/// What goes from batch to batch.
pub struct Running {
    /// Rows whose peers may follow.
    waiting: Option<RecordBatch>,
    memory: MemoryReservation,
    /// The keys of the last row: of its partition, and of its order.
    last: Option<(Vec<ArrayRef>, Vec<ArrayRef>)>,
    /// What was counted for the last row.
    counts: Counts,
    /// Per call the state of its partition, if it is an aggregate.
    states: Vec<Option<Box<dyn Aggregate>>>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    row_number: i64,
    rank: i64,
    dense_rank: i64,
}

/// How rows lie: what begins with each.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begins {
    Partition,
    Peers,
    Nothing,
}

/// Whether calls over a frame need no row that comes later, except peers.
pub fn suits(frame: &Frame, calls: &[Over]) -> bool {
    let grows = matches!((&frame.from, &frame.to), (Edge::First, Edge::Current));
    calls.iter().all(|call| match call.what {
        What::RowNumber | What::Rank | What::DenseRank => true,
        What::Aggregate(_) => grows && frame.exclude.is_none(),
        _ => false,
    })
}

impl Running {
    /// Nothing has come yet.
    pub fn new(memory: MemoryReservation) -> Running {
        let (counts, states) = (Counts::default(), Vec::new());
        Running { waiting: None, memory, last: None, counts, states }
    }

    /// Takes rows, or the end of them; gives those whose values are known.
    ///
    /// # Errors
    /// Those of the calls; the memory's.
    pub fn take(
        &mut self,
        batch: Option<RecordBatch>,
        window: &Keys<'_>,
        env: &Env,
    ) -> datafusion_common::Result<Option<(RecordBatch, Vec<ArrayRef>)>> {
        let is_end = batch.is_none();
        let all = match (self.waiting.take(), batch) {
            (None, None) => return Ok(None),
            (Some(rows), None) | (None, Some(rows)) => rows,
            (Some(waiting), Some(rows)) => {
                let schema = rows.schema();
                let joined = arrow_select::concat::concat_batches(&schema, [&waiting, &rows]);
                joined.map_err(|e| external(arrow(e)))?
            }
        };
        let rows = all.num_rows();
        if rows == 0 {
            return Ok(None);
        }
        let (partition, order) =
            (window.columns(&all, window.partition), window.columns(&all, window.order));
        let begins = self.begins(&partition, &order, rows);
        let known = match is_end || !window.waits_for_peers() {
            true => rows,
            false => (0..rows).rev().find(|row| begins[*row] != Begins::Nothing).unwrap_or(0),
        };
        if known < rows {
            let waiting = all.slice(known, rows - known);
            self.memory.try_resize(2 * bytes_of(&waiting)?)?;
            self.waiting = Some(waiting);
        } else {
            self.memory.free();
        }
        if known == 0 {
            return Ok(None);
        }
        let ready = all.slice(0, known);
        let made = self.values(&ready, &begins[..known], window, env).map_err(external)?;
        env.batch_done().map_err(external)?;
        let at = |keys: &[ArrayRef]| keys.iter().map(|key| key.slice(known - 1, 1)).collect();
        self.last = Some((at(&partition), at(&order)));
        Ok(Some((ready, made)))
    }

    fn begins(&self, partition: &[ArrayRef], order: &[ArrayRef], rows: usize) -> Vec<Begins> {
        let begins = |row: usize| {
            let (before, peers, at) = match (row, &self.last) {
                (0, None) => return Begins::Partition,
                (0, Some((before, peers))) => (&before[..], &peers[..], 0),
                (row, _) => (partition, order, row - 1),
            };
            match () {
                () if !are_equal(partition, row, before, at) => Begins::Partition,
                () if !are_equal(order, row, peers, at) => Begins::Peers,
                () => Begins::Nothing,
            }
        };
        (0..rows).map(begins).collect()
    }

    /// A column per call.
    fn values(
        &mut self,
        batch: &RecordBatch,
        begins: &[Begins],
        window: &Keys<'_>,
        env: &Env,
    ) -> Result<Vec<ArrayRef>> {
        env.cx().go_on()?;
        let rows = Rows { columns: batch.columns(), count: batch.num_rows() };
        let counts = self.counted(begins);
        let column = |of: fn(&Counts) -> i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(counts.iter().map(of)))
        };
        self.states.resize_with(window.calls.len(), || None);
        let mut made = Vec::with_capacity(window.calls.len());
        for (call, state) in window.calls.iter().zip(&mut self.states) {
            made.push(match &call.what {
                What::RowNumber => column(|counts| counts.row_number),
                What::Rank => column(|counts| counts.rank),
                What::DenseRank => column(|counts| counts.dense_rank),
                _ => totals(call, state, &rows, begins, window.frame, env)?,
            });
        }
        Ok(made)
    }

    fn counted(&mut self, begins: &[Begins]) -> Vec<Counts> {
        let next = |begins: &Begins| {
            let counts = &mut self.counts;
            if *begins == Begins::Partition {
                *counts = Counts::default();
            }
            counts.row_number += 1;
            if *begins != Begins::Nothing {
                counts.rank = counts.row_number;
                counts.dense_rank += 1;
            }
            *counts
        };
        begins.iter().map(next).collect()
    }
}

/// What a window is of.
pub struct Keys<'a> {
    /// Columns that it is partitioned by.
    pub partition: &'a [usize],
    /// Columns that it is ordered by.
    pub order: &'a [usize],
    /// Its frame.
    pub frame: &'a Frame,
    /// What is called over it.
    pub calls: &'a [Over],
}

impl Keys<'_> {
    fn columns(&self, batch: &RecordBatch, at: &[usize]) -> Vec<ArrayRef> {
        at.iter().map(|at| Arc::clone(batch.column(*at))).collect()
    }

    /// Whether the values of a row depend on its peers behind it.
    fn waits_for_peers(&self) -> bool {
        let is_aggregate = |call: &Over| matches!(call.what, What::Aggregate(_));
        self.frame.unit != FrameUnit::Rows && self.calls.iter().any(is_aggregate)
    }
}

/// The values of an aggregate: each row, or each group of peers, is taken and then asked for.
fn totals(
    call: &Over,
    state: &mut Option<Box<dyn Aggregate>>,
    rows: &Rows<'_>,
    begins: &[Begins],
    frame: &Frame,
    env: &Env,
) -> Result<ArrayRef> {
    let What::Aggregate(make) = &call.what else { unreachable!("other calls are counted") };
    let kept = call.kept(rows, env)?;
    let mut args = Vec::with_capacity(call.args.len());
    for arg in &call.args {
        args.push(arg.eval_at(&kept, rows, env)?.spread(kept.len(), env)?);
    }
    let (mut results, mut which) = (Vec::new(), Vec::with_capacity(rows.count));
    let (mut at, mut row, mut memory) = (0, 0, Asking::new(&env.cx()));
    while row < rows.count {
        let mut to = row + 1;
        while frame.unit != FrameUnit::Rows && to < rows.count && begins[to] == Begins::Nothing {
            to += 1;
        }
        if begins[row] == Begins::Partition || state.is_none() {
            let mut fresh = make();
            fresh.grow(1);
            *state = Some(fresh);
        }
        let state = state.as_mut().expect("it was just made");
        let upto = at + kept[at..].partition_point(|kept| (*kept as usize) < to);
        if at < upto {
            let args: Vec<Col> = args.iter().map(|a| Col::new(a.slice(at, upto - at))).collect();
            state.update(&args, &vec![0; upto - at], &mut env.cx())?;
        }
        results.push(state.finish(1, &mut env.cx())?);
        memory.add(env::bytes_of(results.last().expect("it was just added")), &env.cx())?;
        if results.len() % 1024 == 0 {
            env.cx().go_on()?;
        }
        which.resize(to, results.len() as u32 - 1);
        (at, row) = (upto, to);
    }
    take(&concat(&results, env)?, &UInt32Array::from(which), env)
}
