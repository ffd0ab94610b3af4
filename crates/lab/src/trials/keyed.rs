//! Random deletes and updates by key, beside RocksDB doing the same with its entries.
//!
//! RocksDB has to get the row to know its entries, or to add one to a column; then it deletes the row and
//! three entries, or puts the row. Both commit a hundred rows at a time, whose keys rise.

use std::time::Instant;

use onlap_base::Result;
use onlap_base::rng::Rng;

use super::{COMMIT_ROWS, Stage, figure, sales};
use crate::engine::{Client, Engine};
use crate::figures::{Better, Figure};
use crate::report::median;

/// Of so many rows, one is changed.
const SHARE: u64 = 20;

/// Changes that a client makes to the rows with these keys, in one commit; how many there were.
type Change<'a> = &'a dyn Fn(&mut dyn Client, &[i64]) -> Result<u64>;

pub(super) fn deletes(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    beside(stage, "random deletes by key", (5.0, 20.0), &|client, keys| client.delete(keys))
}

pub(super) fn adds(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let add = |client: &mut dyn Client, keys: &[i64]| client.add(keys, sales::QUANTITY);
    beside(stage, "random b = b + 1 by key", (3.0, 10.0), &add)
}

/// Rates of changes, in as many alternating parts as there are repeats.
fn beside(
    stage: &Stage<'_>,
    what: &str,
    bounds: (f64, f64),
    change: Change<'_>,
) -> Result<Vec<Figure>> {
    let keys = shuffled(stage.plan.rows, stage.plan.rows / SHARE);
    let work = format!("{} {what}: / RocksDB", crate::units::grouped(keys.len() as u64));
    let own = sales::loaded(stage, "onlap")?.expect("onlap is built in");
    let peer = sales::loaded(stage, "rocksdb")?;
    let (mut owns, mut peers, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for part in keys.chunks(keys.len().div_ceil(stage.plan.repeat)) {
        let a = rate(stage, &*own, part, change)?;
        owns.push(a);
        if let Some(peer) = &peer {
            let b = rate(stage, &**peer, part, change)?;
            peers.push(b);
            ratios.push(a / b);
        }
    }
    own.close()?;
    let value = if ratios.is_empty() { f64::NAN } else { median(&mut ratios) };
    let note = match peers.is_empty() {
        true => format!(
            "{:.0} rows/s; the peer needs onlap-lab with --features rocksdb",
            median(&mut owns)
        ),
        false => format!("{:.0} against {:.0} rows/s", median(&mut owns), median(&mut peers)),
    };
    if let Some(peer) = peer {
        peer.close()?;
    }
    Ok(vec![figure(&work, value, bounds, Better::Higher, "x").noting(note)])
}

/// Rows changed per second.
fn rate(stage: &Stage<'_>, engine: &dyn Engine, keys: &[i64], change: Change<'_>) -> Result<f64> {
    let mut client = engine.client()?;
    let began = Instant::now();
    for commit in keys.chunks(COMMIT_ROWS) {
        stage.check()?;
        let mut commit = commit.to_vec();
        commit.sort_unstable();
        assert_eq!(change(&mut *client, &commit)?, commit.len() as u64, "every row is there");
    }
    Ok(keys.len() as f64 / began.elapsed().as_secs_f64())
}

/// So many different keys out of 1 to `rows`, in random order.
fn shuffled(rows: u64, wanted: u64) -> Vec<i64> {
    let mut rng = Rng::new(rows);
    let mut keys: Vec<i64> = (1..=rows as i64).collect();
    for i in 0..wanted as usize {
        let other = i + rng.index(keys.len() - i);
        keys.swap(i, other);
    }
    keys.truncate(wanted as usize);
    keys
}
