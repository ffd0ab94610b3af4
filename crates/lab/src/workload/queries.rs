//! How fast are queries next to a limited rate of inserts?
//!
//! Each client is two threads: one that queries as fast as possible, one that inserts at the given
//! rate, if at any. The insert benchmark's queries read the first ten entries of one of three indexes from a
//! random place on, covered by the index.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use onlap::Value;
use onlap_base::rng::Rng;
use onlap_base::{Error, ErrorKind, Result};

use super::load::{Inserter, Load, join};
use super::progress::{Counters, Goal, Progress};
use super::steps::InsertRate;
use crate::engine::Start;
use crate::generate::{CASH_REGISTERS, PRICES, PRODUCTS};
use crate::measure::rates::Recorder;

/// Entries that a query reads.
const LIMIT: usize = 10;

/// Inserts and queries of one step.
pub(super) struct Outcome {
    /// `None` where there were no inserts to make.
    pub inserts: Option<Recorder>,
    pub queries: Recorder,
}

/// Runs clients for `duration`, each inserting at `rate` in commits of `load.commit_rows`.
pub(super) fn run(
    load: &Load<'_>,
    rate: InsertRate,
    duration: Duration,
    indexes: usize,
    cancel: &AtomicBool,
    progress: Progress,
) -> Result<Outcome> {
    let counters = Counters::default();
    let start = Instant::now();
    let (counters, over) = (&counters, &AtomicBool::new(false));
    thread::scope(|scope| {
        let inserting = if rate == InsertRate::None { 0 } else { load.clients };
        let inserters: Vec<_> = (0..inserting)
            .map(|client| {
                scope.spawn(move || insert(load, client, rate, start, duration, over, counters))
            })
            .collect();
        let queriers: Vec<_> = (0..load.clients)
            .map(|client| scope.spawn(move || query(load, client, indexes, start, over, counters)))
            .collect();
        let goal = Goal { operations: None, time: Some(duration) };
        scope.spawn(move || counters.show(load.step, goal, progress));
        while start.elapsed() < duration && !cancel.load(Relaxed) {
            thread::sleep(Duration::from_millis(10));
        }
        over.store(true, Relaxed);
        let inserts = (inserting > 0).then(|| join(inserters));
        let queries = join(queriers);
        counters.finish();
        if cancel.load(Relaxed) {
            return Err(Error::new(ErrorKind::Cancelled, "the bench was interrupted"));
        }
        Ok(Outcome { inserts: inserts.transpose()?, queries: queries? })
    })
}

fn insert(
    load: &Load<'_>,
    client: usize,
    rate: InsertRate,
    start: Instant,
    duration: Duration,
    over: &AtomicBool,
    counters: &Counters,
) -> Result<Recorder> {
    let mut inserter = Inserter::new(load, client)?;
    let mut recorder = Recorder::new(start)?;
    let period = match rate {
        InsertRate::PerSecond(rate) => load.commit_rows as f64 / rate as f64,
        InsertRate::None | InsertRate::Unlimited => 0.0,
    };
    let period = Duration::from_secs_f64(period);
    let mut due = start;
    while !over.load(Relaxed) {
        let now = Instant::now();
        if now < due {
            thread::sleep((due - now).min(Duration::from_millis(10)));
            continue;
        }
        if due >= start + duration {
            break;
        }
        let began = inserter.commit(load.commit_rows)?;
        // A commit that came late counts from when it was due: others would have waited as long.
        let from = if period.is_zero() { began } else { due };
        recorder.record(from, load.commit_rows as u64);
        counters.inserted(load.commit_rows as u64, from);
        due += period;
    }
    Ok(recorder)
}

fn query(
    load: &Load<'_>,
    client: usize,
    indexes: usize,
    start: Instant,
    over: &AtomicBool,
    counters: &Counters,
) -> Result<Recorder> {
    let mut handle = load.engine.client()?;
    let mut rng = Rng::new(load.seed ^ 0x5EED ^ (client as u64) << 32);
    let mut recorder = Recorder::new(start)?;
    while !over.load(Relaxed) {
        let (index, from) = ibench_query(&mut rng, indexes);
        let began = Instant::now();
        handle.range(index, &from, LIMIT)?;
        recorder.record(began, 1);
        counters.queried(began);
    }
    Ok(recorder)
}

/// One of the insert benchmark's queries: `productid >= ?`, `cashregisterid > ?` or `price >= ?`.
pub(crate) fn ibench_query(rng: &mut Rng, indexes: usize) -> (usize, Start) {
    let index = rng.below(indexes.max(1) as u64) as usize;
    let (range, start): (u32, fn(Value) -> Start) =
        [(PRODUCTS, Start::At as _), (CASH_REGISTERS, Start::After as _), (PRICES, Start::At as _)]
            [index];
    (index, start(Value::Int(rng.below(u64::from(range)) as i64)))
}
