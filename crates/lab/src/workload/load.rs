//! How are rows loaded as fast as an engine takes them?

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use onlap::Vector;
use onlap_base::{Error, ErrorKind, Result};

use super::Api;
use super::progress::{Counters, Goal, Progress};
use crate::engine::{Client, Engine};
use crate::generate::{Generator, Workload};
use crate::measure::rates::Recorder;

/// A load.
pub(super) struct Load<'a> {
    pub engine: &'a dyn Engine,
    pub workload: Workload,
    pub seed: u64,
    pub rows: u64,
    pub commit_rows: usize,
    pub clients: usize,
    pub limit: Option<Duration>,
    pub api: Api,
    pub step: &'a str,
    /// Where the sum of a column of all committed rows is kept.
    pub sum_column: usize,
    pub sum: &'a AtomicI64,
}

/// Runs a load with one thread per client; all commits of all clients together.
pub(super) fn run(load: &Load<'_>, cancel: &AtomicBool, progress: Progress) -> Result<Recorder> {
    let left = AtomicU64::new(load.rows);
    let counters = Counters::default();
    let barrier = Barrier::new(load.clients);
    let body = |client: usize| {
        let prepared = Inserter::new(load, client);
        // Every client passes the barrier, whether it was prepared or not.
        barrier.wait();
        let mut inserter = prepared?;
        let start = Instant::now();
        let mut recorder = Recorder::new(start)?;
        let deadline = load.limit.map(|limit| start + limit);
        while deadline.is_none_or(|d| Instant::now() < d) && !cancel.load(Relaxed) {
            let rows = take(&left, load.commit_rows as u64);
            if rows == 0 {
                break;
            }
            let began = inserter.commit(rows as usize)?;
            recorder.record(began, rows);
            counters.inserted(rows, began);
        }
        Ok(recorder)
    };
    let (body, counters) = (&body, &counters);
    let all = thread::scope(|scope| {
        let clients: Vec<_> =
            (0..load.clients).map(|client| scope.spawn(move || body(client))).collect();
        let goal = Goal { operations: Some(load.rows), time: load.limit };
        scope.spawn(move || counters.show(load.step, goal, progress));
        let all = join(clients);
        counters.finish();
        all
    });
    if cancel.load(Relaxed) {
        return Err(Error::new(ErrorKind::Cancelled, "the bench was interrupted"));
    }
    all
}

/// Waits for all threads and adds their records up; the first error, if there was one.
pub(super) fn join(
    threads: Vec<thread::ScopedJoinHandle<'_, Result<Recorder>>>,
) -> Result<Recorder> {
    let mut all: Option<Recorder> = None;
    let mut failed = None;
    for thread in threads {
        match (thread.join().expect("client threads report errors as results"), &mut all) {
            (Err(e), _) => failed = failed.or(Some(e)),
            (Ok(recorder), None) => all = Some(recorder),
            (Ok(recorder), Some(all)) => all.merge(&recorder),
        }
    }
    match failed {
        Some(e) => Err(e),
        None => Ok(all.expect("there is at least one client")),
    }
}

/// Takes up to `n` from what is left.
fn take(left: &AtomicU64, n: u64) -> u64 {
    let before = left.fetch_update(Relaxed, Relaxed, |l| Some(l.saturating_sub(n)));
    before.expect("the update always gives a number").min(n)
}

/// One client's generator and handle.
pub(super) struct Inserter<'a> {
    client: Box<dyn Client + 'a>,
    generator: Box<dyn Generator>,
    api: Api,
    rows: Vec<onlap::Row>,
    sum_column: usize,
    sum: &'a AtomicI64,
}

impl<'a> Inserter<'a> {
    pub fn new(load: &Load<'a>, client: usize) -> Result<Inserter<'a>> {
        Ok(Inserter {
            client: load.engine.client()?,
            generator: load.workload.generator(load.seed, client),
            api: load.api,
            rows: Vec::new(),
            sum_column: load.sum_column,
            sum: load.sum,
        })
    }

    /// Makes rows and commits them; when the commit proper began.
    pub fn commit(&mut self, rows: usize) -> Result<Instant> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_us = now.as_micros() as i64;
        match self.api {
            Api::Batch => {
                let batch = self.generator.batch(rows, now_us);
                let sum = match &batch.columns[self.sum_column].data {
                    Vector::Int(values) => values.iter().sum(),
                    _ => 0,
                };
                let began = Instant::now();
                self.client.insert_batch(batch)?;
                self.sum.fetch_add(sum, Relaxed);
                Ok(began)
            }
            Api::Row => {
                self.generator.rows(rows, now_us, &mut self.rows);
                let began = Instant::now();
                self.client.insert_rows(&self.rows).map(|()| began)
            }
        }
    }
}
