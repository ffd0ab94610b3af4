//! How fast do rows in column form go in, and out again? What `crates/python/benches/speed.py` compares itself with.
//!
//! ```text
//! cargo run --release -p onlap --example columns_speed -- load DIR ROWS COMMIT
//! cargo run --release -p onlap --example columns_speed -- scan DIR TABLE
//! ```
//!
//! The rows are the insert benchmark's: seven columns, a rising key and three indexes. All are made before the clock starts.

#![allow(clippy::disallowed_methods, reason = "examples stand outside the simulation")]

use std::time::Instant;

use onlap::{
    Batch, BytesVec, Column, DataType, Database, IndexSpec, Options, Result, Scan, SyncMode,
    TableSpec, Vector,
};

/// Memory of the database, and rows of a batch.
const MEMORY: u64 = 1 << 30;
const STEP: usize = 1 << 16;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| args[at].parse::<usize>().expect("a number");
    match args.first().map(String::as_str) {
        Some("load") => load(&args[1], number(2), number(3)),
        Some("scan") => scan(&args[1], &args[2]),
        _ => panic!("load DIR ROWS COMMIT, or scan DIR TABLE"),
    }
}

fn open(dir: &str) -> Result<Database> {
    Database::open(dir, Options::default().sync(SyncMode::Os).memory_limit(MEMORY))
}

/// Loads rows, `commit` of them at a time; 0 for all at once.
fn load(dir: &str, rows: usize, commit: usize) -> Result<()> {
    let db = open(dir)?;
    let mut spec = TableSpec::new("bench").column("id", DataType::Int8);
    for name in ["register", "customer", "product"] {
        spec = spec.column(name, DataType::Int4);
    }
    let spec = spec.column("price", DataType::Float8).column("at", DataType::Timestamptz);
    let table = db.create_table(
        spec.column("data", DataType::Text)
            .primary_key(["id"])
            .index(IndexSpec::new("by_register", ["price", "at", "customer"]))
            .index(IndexSpec::new("by_customer", ["price", "customer"]))
            .index(IndexSpec::new("by_product", ["product"])),
    )?;
    let step = if commit == 0 { STEP } else { STEP.min(commit) };
    let batches: Vec<Batch> =
        (0..rows).step_by(step).map(|first| batch(first, step.min(rows - first))).collect();
    let began = Instant::now();
    let (mut tx, mut pending) = (db.begin()?, 0);
    for batch in batches {
        pending += batch.rows;
        tx.insert_batch(&table, batch)?;
        if commit > 0 && pending >= commit {
            std::mem::replace(&mut tx, db.begin()?).commit()?;
            pending = 0;
        }
    }
    tx.commit()?;
    println!("{:.3}", began.elapsed().as_secs_f64());
    db.close()
}

/// The same rows as the benchmark in Python makes.
fn batch(first: usize, rows: usize) -> Batch {
    let all = first as i64..(first + rows) as i64;
    let scattered = |factor: i64, n: i64| all.clone().map(|at| at * factor % n).collect();
    let mut data = BytesVec::default();
    all.clone().for_each(|at| data.push(format!("row {:06}", at % 1_000_000).as_bytes()));
    let price = |at: i64| onlap::convert::order_f64((at * 7919 % 100_003) as f64 / 100.0);
    let column = |data| Column { data, nulls: None };
    let columns = vec![
        column(Vector::Int(all.clone().collect())),
        column(Vector::Int(scattered(31, 1009))),
        column(Vector::Int(scattered(7919, 100_003))),
        column(Vector::Int(scattered(104_729, 10_007))),
        column(Vector::Int(all.clone().map(price).collect())),
        column(Vector::Int(all.clone().map(|at| 1_700_000_000_000_000 + at * 1000).collect())),
        column(Vector::Bytes(data)),
    ];
    Batch { rows, columns }
}

fn scan(dir: &str, table: &str) -> Result<()> {
    let db = open(dir)?;
    let table = db.table(table)?;
    for _ in 0..3 {
        let began = Instant::now();
        let (mut rows, mut sum) = (0, 0_i64);
        for batch in db.snapshot()?.scan(&table, Scan::all())? {
            let batch = batch?;
            rows += batch.len();
            if let Vector::Int(keys) = &batch.columns.columns[0].data {
                sum += keys.iter().sum::<i64>();
            }
        }
        println!("{:.3} {rows} {sum}", began.elapsed().as_secs_f64());
    }
    db.close()
}
