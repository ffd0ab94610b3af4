//! Which rows does a workload insert?
//!
//! Deterministic generators, one per client: the same seed and client give the same rows, whether
//! taken row by row or as columnar batches. The key column is left NULL, as a statement leaves a
//! bigserial column out; the engine gives keys in the order of its commits. A generator must know
//! nothing of engines. Its own cost is measured ([`cost_ns_per_row`]) and reported apart.
//!
//! Thread safety: a generator belongs to one client thread.

use std::time::Instant;

use onlap::{Batch, Column, DataType, NullMask, Row, Vector};
use onlap_base::rng::Rng;

mod ibench;
mod keyed;
mod six;
mod streams;
#[cfg(test)]
mod tests;

pub use ibench::{CASH_REGISTERS, CUSTOMERS, Ibench, PRICES, PRODUCTS};
pub use keyed::Keyed;
pub use six::Six;
pub use streams::patterns;

/// A table as a workload wants it.
#[derive(Clone, Copy, Debug)]
pub struct TableShape {
    /// Name.
    pub name: &'static str,
    /// Columns; the first is the bigserial primary key.
    pub columns: &'static [(&'static str, DataType)],
    /// Whether rows come with their keys; else the engine gives them.
    pub gives_keys: bool,
    /// Secondary indexes: name and column positions.
    pub indexes: &'static [IndexShape],
}

/// A secondary index as a workload wants it.
#[derive(Clone, Copy, Debug)]
pub struct IndexShape {
    /// Name.
    pub name: &'static str,
    /// Positions of the key columns.
    pub columns: &'static [usize],
}

/// A workload's rows.
pub trait Generator: Send {
    /// The next `rows` rows in columns. `now_us` is the statement's time.
    fn batch(&mut self, rows: usize, now_us: i64) -> Batch;

    /// Replaces `out` by the next `rows` rows, reusing its memory. `now_us` is the statement's time.
    fn rows(&mut self, rows: usize, now_us: i64, out: &mut Vec<Row>);
}

/// The workloads that have generators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// The insert benchmark.
    Ibench,
    /// Six indexes over three random UUIDs.
    Six,
    /// Small rows whose keys are given and arrive in random order.
    Keyed,
}

impl Workload {
    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Ibench => "ibench",
            Workload::Six => "six",
            Workload::Keyed => "keyed",
        }
    }

    /// Its table.
    pub fn shape(self) -> &'static TableShape {
        match self {
            Workload::Ibench => &ibench::SHAPE,
            Workload::Six => &six::SHAPE,
            Workload::Keyed => &keyed::SHAPE,
        }
    }

    /// The generator of one client. `seed` is the number of rows that are in the table already, so
    /// that every step goes on with rows of its own.
    pub fn generator(self, seed: u64, client: usize) -> Box<dyn Generator> {
        match self {
            Workload::Ibench => Box::new(Ibench::new(seed, client)),
            Workload::Six => Box::new(Six::new(seed, client)),
            Workload::Keyed => Box::new(Keyed::new(seed, client)),
        }
    }

    /// The key of the n-th row (from 0) that one client loads into an empty table.
    pub fn key(self, n: u64) -> i64 {
        match self {
            Workload::Keyed => keyed::key(n),
            _ => n as i64 + 1,
        }
    }

    /// An integer column that scans of one column read and that updates, where it is in no index.
    pub fn scan_column(self) -> usize {
        match self {
            Workload::Ibench => 5,
            Workload::Six => 4,
            Workload::Keyed => 1,
        }
    }
}

/// What a generator costs per row, in nanoseconds: the best of several short runs, as it runs next to
/// an engine that leaves it warm caches.
pub fn cost_ns_per_row(workload: Workload, commit_rows: usize, row_by_row: bool) -> f64 {
    const RUNS: usize = 5;
    let commits = 20_000usize.div_ceil(commit_rows);
    let mut generator = workload.generator(1, 0);
    let mut rows = Vec::new();
    let mut best = f64::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        for _ in 0..commits {
            if row_by_row {
                generator.rows(commit_rows, 0, &mut rows);
                std::hint::black_box(&rows);
            } else {
                std::hint::black_box(generator.batch(commit_rows, 0));
            }
        }
        best = best.min(start.elapsed().as_nanos() as f64 / (commits * commit_rows) as f64);
    }
    best
}

/// The random numbers of one client.
fn client_rng(seed: u64, client: usize) -> Rng {
    Rng::new(seed ^ (client as u64).wrapping_mul(0xD6E8_FEB8_6659_FD93))
}

/// A key column that the engine fills: NULL in every row.
pub(crate) fn null_key(rows: usize) -> Column {
    let mut words = vec![u64::MAX; rows.div_ceil(64)];
    if !rows.is_multiple_of(64) {
        *words.last_mut().expect("some rows are left over") = (1 << (rows % 64)) - 1;
    }
    Column { data: Vector::Int(vec![0; rows]), nulls: Some(NullMask { words, len: rows }) }
}
