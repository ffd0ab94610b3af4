//! Builds three indexes in one scan of a table while a writer goes on, and shows how far it is.
//!
//! `cargo run --release -p onlap --example index_build -- DIR [ROWS] [MEMORY_MIB] [1]`
//!
//! A last argument of 1 leaves the writer out.

#![allow(clippy::disallowed_methods, reason = "a program that uses the library")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use onlap::{
    Batch, BuildControl, Column, DataType, Database, IndexSpec, Options, Result, Table, TableSpec,
    Vector,
};

const COMMIT_ROWS: u64 = 100;

/// Purchases numbered from `first` on, every number scattered over its range.
fn purchases(first: u64, rows: u64) -> Batch {
    let draw = |i: u64, salt: u64, below: u64| {
        let mixed =
            (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ salt).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        ((u128::from(mixed) * u128::from(below)) >> 64) as i64
    };
    let column = |f: &dyn Fn(u64) -> i64| Column {
        data: Vector::Int((first..first + rows).map(f).collect()),
        nulls: None,
    };
    let columns = vec![
        column(&|i| i as i64),
        column(&|i| 1_700_000_000_000_000 + i as i64 * 37),
        column(&|i| draw(i, 1, 1_000)),
        column(&|i| draw(i, 2, 100_000)),
        column(&|i| draw(i, 3, 10_000)),
        column(&|i| draw(i, 4, 500)),
    ];
    Batch { columns, rows: rows as usize }
}

fn insert(table: &Table, first: u64, rows: u64, commit_rows: u64) -> Result<()> {
    for start in (first..first + rows).step_by(commit_rows as usize) {
        table.insert_batch(purchases(start, commit_rows))?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let dir = PathBuf::from(args.next().expect("the directory of the database comes first"));
    let mut number = |or: u64| args.next().map_or(or, |n| n.parse().expect("a number"));
    let (rows, memory, quiet) = (number(2_000_000), number(1024), number(0) == 1);
    let options = Options::default().memory_limit(memory << 20).sync(onlap::SyncMode::Os);
    let db = Database::open(&dir, options)?;
    let mut spec = TableSpec::new("purchases").column("id", DataType::Int8);
    spec = spec.column("at", DataType::Timestamp);
    for name in ["register", "customer", "product", "price"] {
        spec = spec.column(name, DataType::Int4);
    }
    let table = db.create_table(spec.primary_key(["id"]))?;
    insert(&table, 0, rows, 10_000)?;
    db.settle()?;

    let next = AtomicU64::new(rows);
    let stop = AtomicBool::new(false);
    let write = || -> Result<()> {
        while !stop.load(Ordering::Relaxed) {
            let first = next.load(Ordering::Relaxed);
            insert(&table, first, COMMIT_ROWS, COMMIT_ROWS)?;
            next.store(first + COMMIT_ROWS, Ordering::Relaxed);
        }
        Ok(())
    };
    let rate = |rows: u64, since: Instant| rows as f64 / since.elapsed().as_secs_f64() / 1e6;
    if quiet {
        build(&db, rows, &rate)?;
        return db.close();
    }
    thread::scope(|scope| {
        let writer = scope.spawn(write);
        let (first, since) = (next.load(Ordering::Relaxed), Instant::now());
        thread::sleep(Duration::from_secs(6));
        let before = rate(next.load(Ordering::Relaxed) - first, since);
        let (first, since) = (next.load(Ordering::Relaxed), Instant::now());
        build(&db, first, &rate)?;
        let during = rate(next.load(Ordering::Relaxed) - first, since);
        println!("inserts: {before:.2}M rows/s before, {during:.2}M while the indexes were built");
        stop.store(true, Ordering::Relaxed);
        writer.join().expect("the writer does not panic")
    })?;
    db.close()
}

fn build(db: &Database, rows: u64, rate: &dyn Fn(u64, Instant) -> f64) -> Result<()> {
    let index = |name: &str, columns: [&str; 3]| IndexSpec::new(name, columns);
    let specs = [
        index("market", ["product", "customer", "price"]),
        index("register", ["register", "customer", "price"]),
        index("pdc", ["price", "at", "customer"]),
    ];
    let control = BuildControl::new();
    let since = Instant::now();
    db.build_indexes("purchases", &specs, &control)?;
    let progress = control.progress();
    println!(
        "indexes: {} of {} rows, {:.2}M rows/s",
        progress.rows_done,
        progress.rows_total,
        rate(rows, since)
    );
    Ok(())
}
