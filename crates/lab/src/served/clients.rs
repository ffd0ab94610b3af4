//! How do several clients work at once, and what came of it?

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use onlap_base::rng::Rng;
use onlap_base::{Error, ErrorKind, Result};

use super::{Stage, latency};
use crate::measure::rates::Recorder;
use crate::report::StepReport;
use crate::wire::{Session, is_retryable};
use crate::workload::{Counters, Goal};

/// What a step did.
pub(super) struct Tally {
    /// All operations.
    all: Recorder,
    /// By their names.
    operations: BTreeMap<&'static str, Recorder>,
    start: Instant,
    /// Rows inserted.
    pub rows: u64,
    /// Rows that scans read.
    pub scanned: u64,
    retries: u64,
    /// Duration where it is not that of the operations.
    pub seconds: Option<f64>,
}

impl Tally {
    pub(super) fn new() -> Result<Tally> {
        Tally::since(Instant::now())
    }

    /// Of a step that began at `start`.
    pub(super) fn since(start: Instant) -> Result<Tally> {
        Ok(Tally::from(start, Recorder::new(start)?))
    }

    fn from(start: Instant, all: Recorder) -> Tally {
        let operations = BTreeMap::new();
        Tally { all, operations, start, rows: 0, scanned: 0, retries: 0, seconds: None }
    }

    fn record(&mut self, act: Act, began: Instant) -> Result<()> {
        self.record_at(act, began, Instant::now())
    }

    /// Adds what a client did.
    pub(super) fn record_at(&mut self, act: Act, began: Instant, ended: Instant) -> Result<()> {
        // Loads are measured in rows, everything else in operations.
        self.all.record_at(began, ended, act.rows.max(1));
        if !self.operations.contains_key(act.name) {
            self.operations.insert(act.name, Recorder::new(self.start)?);
        }
        let of = self.operations.get_mut(act.name).expect("was just made");
        of.record_at(began, ended, 1);
        self.rows += act.rows;
        self.scanned += act.scanned;
        Ok(())
    }

    /// Adds what came after this.
    pub(super) fn append(&mut self, other: Tally) {
        self.all.append(&other.all);
        for (name, record) in other.operations {
            self.operations.entry(name).or_insert(record);
        }
        self.rows += other.rows;
        self.scanned += other.scanned;
        self.retries += other.retries;
    }

    fn merge(&mut self, other: Tally) {
        self.all.merge(&other.all);
        for (name, record) in other.operations {
            match self.operations.get_mut(name) {
                Some(mine) => mine.merge(&record),
                None => drop(self.operations.insert(name, record)),
            }
        }
        self.rows += other.rows;
        self.scanned += other.scanned;
        self.retries += other.retries;
    }

    /// Adds the figures to a step's report.
    pub(super) fn report(&self, report: &mut StepReport) {
        let seconds = self.seconds.unwrap_or_else(|| self.all.elapsed().as_secs_f64());
        report.seconds = seconds;
        if self.all.operations() == 0 {
            return;
        }
        report.retries = (self.retries > 0).then_some(self.retries);
        report.interval_max_us = self.all.interval_longest_us().to_vec();
        report.second_p50 = self.all.second_rate(50.0);
        report.second_p99 = self.all.second_rate(99.0);
        report.stall_seconds = Some(self.all.longest_stall());
        report.operations =
            self.operations.iter().map(|(name, r)| ((*name).to_owned(), latency(r))).collect();
        report.p50_query_us = Some(self.all.latency_us(50.0));
        report.p99_query_us = Some(self.all.latency_us(99.0));
        report.max_query_ms = Some(self.all.longest_ms());
        if self.scanned > 0 {
            report.scanned_per_second = Some(self.scanned as f64 / seconds);
        }
        if self.rows > 0 {
            report.ips = Some(self.rows as f64 / seconds);
            report.interval_ips = self.all.interval_rates().collect();
        } else {
            report.queries = Some(self.all.operations());
            report.tps = Some(self.all.operations() as f64 / seconds);
            report.interval_qps = self.all.interval_rates().collect();
        }
    }
}

/// What a client did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Act {
    /// Of which kind it was.
    pub name: &'static str,
    /// Rows inserted, where the step is a load.
    pub rows: u64,
    /// Rows read by a scan.
    pub scanned: u64,
}

impl Act {
    pub(super) fn of(name: &'static str) -> Act {
        Act { name, rows: 0, scanned: 0 }
    }
}

/// One client of a step.
pub(super) trait Actor: Send {
    /// Does one thing; `None` when there is nothing left to do. Called again after a conflict that is
    /// worth another try, with the same state of `rng`.
    fn act(&mut self, session: &mut dyn Session, rng: &mut Rng) -> Result<Option<Act>>;
}

/// When a step ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    /// After a time.
    Seconds(f64),
    /// When no client has anything left to do, about after so many rows or operations.
    Done(u64),
}

/// Tries of a transaction before its error is the step's.
const TRIES_MAX: usize = 100;

/// Runs clients side by side. `seed` differs between steps.
pub(super) fn run<A: Actor>(
    stage: &Stage<'_>,
    clients: usize,
    until: Until,
    seed: u64,
    make: &(dyn Fn(usize) -> A + Sync),
) -> Result<Tally> {
    let barrier = Barrier::new(clients);
    let failed = AtomicU64::new(0);
    let counters = &Counters::default();
    let goal = match until {
        Until::Seconds(seconds) => {
            Goal { operations: None, time: Some(Duration::from_secs_f64(seconds)) }
        }
        Until::Done(operations) => Goal { operations: Some(operations), time: None },
    };
    let client = |n: usize| {
        let session = stage.session();
        // Every client passes the barrier, connected or not.
        barrier.wait();
        let outcome = session.and_then(|mut session| {
            let mut rng = Rng::new(seed ^ ((n as u64 + 1) << 40));
            one(stage, &mut *session, until, &mut rng, make(n), &failed, counters)
        });
        if outcome.is_err() {
            failed.fetch_add(1, Relaxed);
        }
        outcome
    };
    let client = &client;
    thread::scope(|scope| {
        scope.spawn(move || counters.show(&stage.plan.engine, goal, stage.progress));
        let threads: Vec<_> = (0..clients).map(|n| scope.spawn(move || client(n))).collect();
        let mut all: Option<Tally> = None;
        let mut error = None;
        for thread in threads {
            match (thread.join().expect("clients report errors as results"), &mut all) {
                (Err(e), _) => error = error.or(Some(e)),
                (Ok(tally), None) => all = Some(tally),
                (Ok(tally), Some(all)) => all.merge(tally),
            }
        }
        counters.finish();
        match error {
            Some(e) => Err(e),
            None => Ok(all.expect("there is at least one client")),
        }
    })
}

fn one<A: Actor>(
    stage: &Stage<'_>,
    session: &mut dyn Session,
    until: Until,
    rng: &mut Rng,
    mut actor: A,
    failed: &AtomicU64,
    counters: &Counters,
) -> Result<Tally> {
    let mut tally = Tally::new()?;
    let deadline = match until {
        Until::Seconds(seconds) => Some(tally.start + Duration::from_secs_f64(seconds)),
        Until::Done(_) => None,
    };
    while deadline.is_none_or(|d| Instant::now() < d) && failed.load(Relaxed) == 0 {
        stage.check()?;
        let began = Instant::now();
        let mut tries = 0;
        let act = loop {
            let mut same = rng.clone();
            match actor.act(session, &mut same) {
                Ok(act) => {
                    *rng = same;
                    break act;
                }
                Err(e) if is_retryable(&e) && tries < TRIES_MAX => {
                    // A statement outside a transaction block has nothing to roll back.
                    let _ = session.run("ROLLBACK");
                    tries += 1;
                    tally.retries += 1;
                }
                Err(e) => return Err(Error::new(kind(&e), e.message())),
            }
        };
        match act {
            Some(act) => {
                match act.rows {
                    0 => counters.queried(began),
                    rows => counters.inserted(rows, began),
                }
                tally.record(act, began)?;
            }
            None => break,
        }
    }
    Ok(tally)
}

/// What could be tried again in a smaller number is a failure of the run.
fn kind(error: &Error) -> ErrorKind {
    if is_retryable(error) { ErrorKind::Io } else { error.kind() }
}
