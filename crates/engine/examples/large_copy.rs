//! What does one transaction with ten million random keys take beyond its memory limit?
//!
//! ```text
//! cargo run --release -p onlap --example large_copy -- [rows] [memory limit in MiB]
//! ```

#![allow(clippy::disallowed_methods, reason = "examples stand outside the simulation")]

use std::ops::Range;
use std::time::Instant;

use onlap::{Batch, Column, DataType, Database, Options, Result, SyncMode, TableSpec, Vector};
use onlap_base::rng::splitmix;

/// Rows of one batch.
const STEP: u64 = 10_000;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1).map(|n| n.parse::<u64>().expect("a number"));
    let (rows, limit) = (args.next().unwrap_or(10_000_000), args.next().unwrap_or(256));
    let dir = tempfile::tempdir().expect("a directory");
    let options = Options::default().sync(SyncMode::Os).memory_limit(limit << 20);
    let db = Database::open(dir.path(), options)?;
    let spec = TableSpec::new("t").column("k", DataType::Uuid).column("n", DataType::Int8);
    let table = db.create_table(spec.primary_key(["k"]))?;
    let began = Instant::now();
    let (mut tx, mut state) = (db.begin()?, 1);
    for first in (0..rows).step_by(STEP as usize) {
        tx.insert_batch(&table, batch(&mut state, first..rows.min(first + STEP)))?;
    }
    println!("{rows} rows inserted in {:.1} s", began.elapsed().as_secs_f64());
    report(limit);
    tx.commit()?;
    println!("committed after {:.1} s", began.elapsed().as_secs_f64());
    report(limit);
    assert_eq!(db.snapshot()?.count(&table)?, rows);
    db.close()
}

/// The largest resident memory so far.
fn report(limit: u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|p| p.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0);
    println!(
        "peak of {} MiB, {} MiB above the limit",
        kib >> 10,
        (kib >> 10) as i64 - limit as i64
    );
}

/// Rows with random UUIDs, in physical form.
fn batch(state: &mut u64, rows: Range<u64>) -> Batch {
    let mut half = || u128::from(splitmix(state));
    let keys = rows.clone().map(|_| (half() << 64 | half()) as i128).collect();
    let numbers = rows.clone().map(|n| n as i64).collect();
    let column = |data| Column { data, nulls: None };
    let columns = vec![column(Vector::Wide(keys)), column(Vector::Int(numbers))];
    Batch { rows: (rows.end - rows.start) as usize, columns }
}
