//! Transactions of five updates by random key, four clients, beside RocksDB's TransactionDB.
//!
//! The rows lie in the cache of either. An update adds one to a column; what RocksDB does is what a
//! program on it has to: lock and read the row, write it, and of each index over the column delete the
//! old entry and put the new one. Keys of a transaction rise, so that none deadlocks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use onlap::{Isolation, TransactionOptions, Value};
use onlap_base::Result;
use onlap_base::rng::Rng;

use super::{COMMIT_ROWS, ROOMY_MEMORY, Stage, figure, purchases};
use crate::drivers::{self, Updates};
use crate::engine::{EngineOptions, SyncMode};
use crate::figures::{Better, Figure};
use crate::generate::Workload;
use crate::report::median;

const CLIENTS: u64 = 4;
const UPDATES: usize = 5;

/// Columns that are counted up, and how many indexes each is in.
const COLUMNS: [(usize, &str); 2] = [(4, "one"), (5, "three")];

pub(super) fn run(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let shape = Workload::Ibench.shape();
    let db = stage.open("onlap", ROOMY_MEMORY)?;
    let table = purchases(&db, shape.indexes.len())?;
    let rows = stage.plan.rows;
    stage.load(rows, COMMIT_ROWS, &mut |batch| table.insert_batch(batch).map(drop))?;
    db.settle()?;
    let mine = move |keys: &[i64], column: usize| {
        let name = shape.columns[column].0;
        let mut tx = db.begin_with(TransactionOptions::at(Isolation::ReadCommitted))?;
        for &key in keys {
            tx.update_with(&table, &[Value::Int(key)], &[name], |row| {
                if let Value::Int(n) = &mut row[column] {
                    *n += 1;
                }
                Ok(())
            })?;
        }
        tx.commit().map(drop)
    };
    let peer = peer(stage)?;
    let mut figures = Vec::new();
    for (column, indexes) in COLUMNS {
        let (mut own, mut peers, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        // The first run of each warms the caches.
        for round in 0..=stage.plan.repeat {
            let seconds = stage.plan.seconds / 10.0;
            let a = rate(stage, seconds, round, &|keys| mine(keys, column))?;
            let Some(peer) = &peer else {
                own.push(a);
                continue;
            };
            let b = rate(stage, seconds, round, &|keys| peer.transaction(keys, column))?;
            if round > 0 {
                own.push(a);
                peers.push(b);
                ratios.push(a / b);
            }
        }
        let work = format!("4 clients, 5 updates of a column in {indexes} index(es): / RocksDB");
        let value = if ratios.is_empty() { f64::NAN } else { median(&mut ratios) };
        let note = match peers.is_empty() {
            true => "the peer needs onlap-lab with --features rocksdb".to_owned(),
            false => {
                format!("{:.0} against {:.0} transactions/s", median(&mut own), median(&mut peers))
            }
        };
        figures.push(figure(&work, value, (2.0, 5.0), Better::Higher, "x").noting(note));
    }
    Ok(figures)
}

/// The peer with the same rows, opened for transactions.
fn peer(stage: &Stage<'_>) -> Result<Option<Box<dyn Updates>>> {
    if !drivers::is_built_in("rocksdb") {
        return Ok(None);
    }
    let shape = Workload::Ibench.shape();
    let dir = stage.dir.join("rocksdb");
    let options = EngineOptions {
        dir,
        memory: ROOMY_MEMORY,
        sync: SyncMode::Os,
        group: None,
        url: None,
        clients: 1,
    };
    let engine = drivers::open("rocksdb", &options)?;
    engine.create_table(shape, shape.indexes.len())?;
    let mut client = engine.client()?;
    stage.load(stage.plan.rows, COMMIT_ROWS, &mut |batch| client.insert_batch(batch))?;
    drop(client);
    engine.settle()?;
    engine.close()?;
    drivers::open_for_updates("rocksdb", &options, shape).map(Some)
}

/// Transactions per second of all clients.
fn rate(
    stage: &Stage<'_>,
    seconds: f64,
    round: usize,
    transaction: &(dyn Fn(&[i64]) -> Result<()> + Sync),
) -> Result<f64> {
    let done = AtomicU64::new(0);
    let began = Instant::now();
    let until = began + Duration::from_secs_f64(seconds);
    let client = |number: u64| -> Result<()> {
        let mut rng = Rng::new(number + 100 * round as u64);
        while Instant::now() < until {
            stage.check()?;
            let mut keys: Vec<i64> =
                (0..UPDATES).map(|_| 1 + rng.below(stage.plan.rows) as i64).collect();
            keys.sort_unstable();
            keys.dedup();
            transaction(&keys)?;
            done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    let client = &client;
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|n| scope.spawn(move || client(n))).collect();
        clients.into_iter().try_for_each(|c| c.join().expect("a client does not panic"))
    })?;
    Ok(done.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64())
}
