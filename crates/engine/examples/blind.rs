//! What do blind upserts cost, and what do they cost readers?
//!
//! `cargo run --release -p onlap --example blind [ROWS]`: a table of random keys with two indexes is
//! filled; then a twentieth of the rows is replaced, once by blind upserts, and read as it is then,
//! and again when everything is resolved. Rates and times are of this machine, ratios of one run.

#![allow(clippy::disallowed_methods, reason = "it measures")]

use std::time::{Duration, Instant};

use onlap::{
    Batch, DataType, Database, IndexSpec, KeyRange, Options, Result, Scan, SyncMode, Table,
    TableSpec, Value, Vector,
};

const PART: u64 = 1000;
/// Ranges and keys that are read.
const READS: u64 = 300;

fn main() -> Result<()> {
    let rows = std::env::args().nth(1).map_or(1_000_000, |n| n.parse().expect("a number of rows"));
    let dir = tempfile::tempdir().expect("a directory for the database");
    let mut options = Options::default().sync(SyncMode::Os).memory_limit(1 << 30);
    options.tuning.pending_rows = rows / 20;
    let db = Database::open(dir.path(), options)?;
    let spec = TableSpec::new("t")
        .column("id", DataType::Int8)
        .column("a", DataType::Int8)
        .column("b", DataType::Int8)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
        .index(IndexSpec::new("by_b", ["b"]).include(["a"]))
        .blind_writes();
    let table = db.create_table(spec)?;
    let fill = timed(|| (0..rows / PART).try_for_each(|i| insert(&table, i * PART)))?;
    println!("inserts            {:>10.0} rows/s", rows as f64 / fill.as_secs_f64());
    db.settle()?;
    println!("clean");
    let clean = Reads::of(&db, &table, rows)?;
    let replaced = rows / 20;
    let time = timed(|| (0..replaced / PART).try_for_each(|i| upsert(&table, i, rows)))?;
    println!("blind upserts      {:>10.0} rows/s", replaced as f64 / time.as_secs_f64());
    let owed = db.stats()?.tables[0].pending_rows;
    println!("with {owed} rows not resolved");
    Reads::of(&db, &table, rows)?.beside(&clean);
    let time = timed(|| db.settle())?;
    println!("settled in {time:?}");
    Reads::of(&db, &table, rows)?.beside(&clean);
    db.close()
}

fn timed(f: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    f()?;
    Ok(start.elapsed())
}

/// Spreads numbers over 64 bits, one to one.
fn mixed(n: u64) -> i64 {
    let n = (n ^ n >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (n ^ n >> 29) as i64
}

fn batch(ids: impl Iterator<Item = u64>, salt: u64) -> Batch {
    let mut batch = Batch::new([DataType::Int8.physical(); 3]);
    for id in ids {
        let row = [mixed(id), mixed(id ^ salt) >> 20, mixed(id + salt) >> 20];
        for (column, value) in batch.columns.iter_mut().zip(row) {
            let Vector::Int(values) = &mut column.data else { unreachable!("an integer column") };
            values.push(value);
        }
        batch.rows += 1;
    }
    batch
}

fn insert(table: &Table, from: u64) -> Result<()> {
    table.insert_batch(batch(from..from + PART, 1)).map(|_| ())
}

fn upsert(table: &Table, part: u64, rows: u64) -> Result<()> {
    let ids = (0..PART).map(|i| (mixed(part * PART + i) as u64) % rows);
    table.upsert_batch(batch(ids, 7)).map(|_| ())
}

/// Mean times.
struct Reads(Vec<(&'static str, Duration)>);

impl Reads {
    fn of(db: &Database, table: &Table, rows: u64) -> Result<Reads> {
        let mut times = Vec::new();
        let snapshot = db.snapshot()?;
        let mut note = |name, n: u32, f: &mut dyn FnMut(u64) -> Result<()>| -> Result<()> {
            let time = timed(|| (0..u64::from(n)).try_for_each(f))?;
            times.push((name, time / n));
            Ok(())
        };
        let reads = READS as u32;
        note("key", reads, &mut |i| {
            let key = mixed(mixed(i) as u64 % rows);
            snapshot.get(table, &[Value::Int(key)], None).map(|_| ())
        })?;
        for (name, index, columns) in [
            ("range of 10, covered", "by_b", ["b", "a"]),
            ("range of 10, rows", "by_a", ["a", "b"]),
        ] {
            note(name, reads, &mut |i| {
                let from = KeyRange::from([Value::Int(mixed(i + 5) >> 20)]);
                let scan = Scan::all().columns(columns).limit(10);
                snapshot.index_scan(table, index, from, scan)?.rows().map(|_| ())
            })?;
        }
        note("covered scan of an index", 1, &mut |_| {
            let scan = Scan::all().columns(["b", "a"]);
            drain(snapshot.index_scan(table, "by_b", KeyRange::all(), scan)?)
        })?;
        note("scan of the table, first", 1, &mut |_| drain(snapshot.scan(table, Scan::all())?))?;
        note("scan of the table", 3, &mut |_| drain(snapshot.scan(table, Scan::all())?))?;
        for (name, time) in &times {
            println!("  {name:<26} {time:>12.3?}");
        }
        Ok(Reads(times))
    }

    fn beside(&self, clean: &Reads) {
        for ((name, now), (_, before)) in self.0.iter().zip(&clean.0) {
            println!("  {name:<26} {:>11.2} x", now.as_secs_f64() / before.as_secs_f64());
        }
    }
}

fn drain(rows: onlap::Rows) -> Result<()> {
    for batch in rows {
        batch?;
    }
    Ok(())
}
