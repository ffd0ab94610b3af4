//! How long does one commit of 100,000 rows keep the others out?
//!
//! Each kind of commit runs alone in a database of its own, with half of the rows in files, and the longest
//! time that it held the commit lock is printed, with the time of the whole statement and its commit.
//!
//! ```text
//! cargo run --release -p onlap --example commit_lock -- [os|fsync] [rows]
//! ```

#![allow(clippy::disallowed_methods, reason = "examples stand outside the simulation")]

use std::ops::Range;
use std::time::{Duration, Instant};

use onlap::{
    Batch, BytesVec, Change, Column, DataType, Database, IndexSpec, KeyRange, Options, Predicate,
    Result, SyncMode, Table, TableSpec, Value, Vector,
};

/// Rows of the commits that fill a table.
const STEP: i64 = 1000;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let sync = match args.next().as_deref() {
        Some("fsync") => SyncMode::Fsync,
        _ => SyncMode::Os,
    };
    let rows: i64 = args.next().and_then(|n| n.parse().ok()).unwrap_or(100_000);
    println!("{:<44} {:>12} {:>12}", format!("{rows} rows, {sync:?}"), "lock held", "in all");
    let all = || Predicate::index("by_u", KeyRange::all());
    let add = |column: &'static str, by| [(column, Change::Add(Value::Int(by)))];
    run("insert, keys in no order", sync, false, rows, &|_, t| {
        t.insert_batch(batch(rows..2 * rows, rows)).map(drop)
    })?;
    run("insert, rising keys", sync, false, rows, &|_, t| {
        let mut rising = batch(rows..2 * rows, rows);
        rising.columns[0].data = Vector::Int((0..rows).map(|at| (1 << 40) + at).collect());
        t.insert_batch(rising).map(drop)
    })?;
    run("update of a column with a unique index", sync, false, rows, &|db, t| {
        let mut tx = db.begin()?;
        tx.update_where(t, &all(), &add("u", 1))?;
        tx.commit().map(drop)
    })?;
    run("update of a column with an index", sync, false, rows, &|db, t| {
        let mut tx = db.begin()?;
        tx.update_where(t, &all(), &add("a", 1))?;
        tx.commit().map(drop)
    })?;
    run("delete", sync, false, rows, &|db, t| {
        let mut tx = db.begin()?;
        tx.delete_where(t, &all())?;
        tx.commit().map(drop)
    })?;
    run("blind upsert", sync, true, rows, &|_, t| t.upsert_batch(batch(0..rows, rows)).map(drop))?;
    run("delete behind as many pending blind rows", sync, true, rows, &|db, t| {
        let mut tx = db.begin()?;
        tx.delete_where(t, &all())?;
        t.upsert_batch(batch(rows..2 * rows, rows))?;
        tx.commit().map(drop)
    })
}

fn run(
    what: &str,
    sync: SyncMode,
    blind: bool,
    rows: i64,
    commit: &dyn Fn(&Database, &Table) -> Result<()>,
) -> Result<()> {
    let dir = tempfile::tempdir().expect("a directory");
    let db = Database::open(dir.path(), Options::default().sync(sync).memory_limit(2 << 30))?;
    let spec = TableSpec::new("t")
        .column("k", DataType::Int8)
        .column("u", DataType::Int8)
        .column("a", DataType::Int8)
        .column("note", DataType::Text)
        .primary_key(["k"]);
    let by_u = IndexSpec::new("by_u", ["u"]);
    let table = db.create_table(match blind {
        true => spec.index(by_u).index(IndexSpec::new("by_a", ["a"])).blind_writes(),
        false => spec.index(by_u.unique()).index(IndexSpec::new("by_a", ["a"])),
    })?;
    for first in (0..rows).step_by(STEP as usize) {
        let part = batch(first..rows.min(first + STEP), rows);
        match blind {
            true => table.upsert_batch(part)?,
            false => table.insert_batch(part)?,
        };
        if first == rows / 2 / STEP * STEP {
            db.flush()?;
        }
    }
    std::thread::sleep(Duration::from_millis(300));
    let began = Instant::now();
    commit(&db, &table)?;
    let took = began.elapsed();
    let held = Duration::from_nanos(db.stats_without_keys()?.commit_lock.longest_ns);
    println!("{what:<44} {:>9.1} ms {:>9.1} ms", ms(held), ms(took));
    db.close()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Rows with scattered keys, that of each its own among those below twice `rows`.
fn batch(of: Range<i64>, rows: i64) -> Batch {
    let prime = |n: &i64| (2..).take_while(|d| d * d <= *n).all(|d| n % d != 0);
    let modulus = (2 * rows + 1..).find(prime).expect("there is always a next prime");
    let scattered = |at: i64| at * 7919 % modulus;
    let mut notes = BytesVec::default();
    of.clone().for_each(|at| notes.push(format!("note {at} of a row").as_bytes()));
    let column = |data| Column { data, nulls: None };
    Batch {
        rows: (of.end - of.start) as usize,
        columns: vec![
            column(Vector::Int(of.clone().map(scattered).collect())),
            column(Vector::Int(of.clone().map(scattered).collect())),
            column(Vector::Int(of.map(|at| at * 31 % 1000).collect())),
            column(Vector::Bytes(notes)),
        ],
    }
}
