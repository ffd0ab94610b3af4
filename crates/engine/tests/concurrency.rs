//! What do threads see of each other?
//!
//! Writers commit over two tables at once while readers take snapshots: a snapshot shows all of a
//! commit or nothing of it, in the tables and in every index, and never changes. Contended keys have
//! exactly one winner. Sizes are small, so that flushes and merges run all the time in between.

#![allow(clippy::disallowed_methods, reason = "these tests are about real threads")]

mod support;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};

use onlap::{
    DataType, Database, ErrorKind, IndexSpec, Isolation, KeyRange, Row, Scan, Snapshot, SyncMode,
    Table, TableSpec, TransactionOptions, Value,
};
use onlap_base::rng::Rng;
use onlap_vfs::MemFs;
use support::{agreed_rows, integer, small_options};

fn open() -> Database {
    let mut options = small_options(SyncMode::Fsync);
    options.fs = Arc::new(MemFs::new());
    Database::open("/db", options).unwrap()
}

fn member_spec(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column("id", DataType::Int8)
        .column("batch", DataType::Int8)
        .column("size", DataType::Int8)
        .primary_key(["id"])
        .index(IndexSpec::new("by_batch", ["batch"]).include(["size"]))
        .index(IndexSpec::new("by_size", ["size", "batch"]))
}

/// Every batch in these rows has as many members as each of them says.
fn assert_whole(rows: &[Row], what: &str) {
    let mut counts: HashMap<i64, (i64, i64)> = HashMap::new();
    for row in rows {
        counts.entry(integer(&row[1])).or_insert((0, integer(&row[2]))).0 += 1;
    }
    for (batch, (found, size)) in counts {
        assert_eq!(found, size, "{what}: batch {batch} is there by half");
    }
}

fn read_all(snapshot: &Snapshot, table: &Table, index: Option<&str>) -> Vec<Row> {
    let rows = match index {
        None => snapshot.scan(table, Scan::all()),
        Some(index) => snapshot.index_scan(table, index, KeyRange::all(), Scan::all()),
    };
    let mut rows = rows.unwrap().rows().unwrap();
    rows.sort_by_key(|row| integer(&row[0]));
    rows
}

/// Commits batches over both tables and takes some of them away again.
fn write_batches(db: &Database, thread: u64, batches: u64) {
    let mut rng = Rng::new(thread);
    let tables = [db.table("one").unwrap(), db.table("two").unwrap()];
    let mut kept: Vec<(i64, i64)> = Vec::new();
    for n in 0..batches {
        let batch = (thread * 1_000_000 + n) as i64;
        let size = 1 + rng.below(12) as i64;
        let mut tx = db.begin().unwrap();
        for ordinal in 0..size {
            let row = [Value::Int(batch * 16 + ordinal), Value::Int(batch), Value::Int(size)];
            tables.iter().for_each(|t| tx.insert(t, &row).unwrap());
        }
        if kept.len() > 20 {
            let (old, size) = kept.swap_remove(rng.index(kept.len()));
            for ordinal in 0..size {
                let key = [Value::Int(old * 16 + ordinal)];
                tables.iter().for_each(|t| assert!(tx.delete(t, &key).unwrap()));
            }
        }
        tx.commit().unwrap();
        kept.push((batch, size));
    }
}

#[test]
fn no_snapshot_sees_half_a_commit() {
    let db = open();
    let one = db.create_table(member_spec("one")).unwrap();
    let two = db.create_table(member_spec("two")).unwrap();
    let done = AtomicBool::new(false);
    let read = || {
        let mut last = 0;
        loop {
            let ended = done.load(Ordering::Acquire);
            let snapshot = db.snapshot().unwrap();
            assert!(snapshot.csn() >= last, "snapshots go forward");
            last = snapshot.csn();
            let rows = read_all(&snapshot, &one, None);
            assert_whole(&rows, "scan");
            for (table, index) in [
                (&two, None),
                (&one, Some("by_batch")),
                (&two, Some("by_size")),
                (&one, Some("id")),
                (&one, None),
            ] {
                let index = index.map(|i| if i == "id" { primary_name(table) } else { i.into() });
                let found = read_all(&snapshot, table, index.as_deref());
                assert!(found == rows, "snapshot {last}: {} by {index:?}", table.name());
            }
            assert_eq!(snapshot.count(&one).unwrap(), rows.len() as u64);
            if ended {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let readers = [scope.spawn(read), scope.spawn(read)];
        let db = &db;
        let writers: Vec<_> =
            (1..=4).map(|thread| scope.spawn(move || write_batches(db, thread, 250))).collect();
        let ended: Vec<_> = writers.into_iter().map(|w| w.join()).collect();
        done.store(true, Ordering::Release);
        readers.into_iter().for_each(|r| r.join().unwrap());
        ended.into_iter().for_each(|w| w.unwrap());
    });
    db.settle().unwrap();
    assert_eq!(agreed_rows(&db, "one").unwrap(), agreed_rows(&db, "two").unwrap());
    db.close().unwrap();
}

fn primary_name(table: &Table) -> String {
    table.schema().primary().expect("the table has a primary key").name.clone()
}

#[test]
fn every_contended_key_has_one_winner() {
    const THREADS: u64 = 6;
    const KEYS: i64 = 150;
    let db = open();
    let spec = TableSpec::new("t")
        .column("id", DataType::Int8)
        .column("name", DataType::Text)
        .column("owner", DataType::Int8)
        .primary_key(["id"])
        .index(IndexSpec::new("by_name", ["name"]).unique());
    let table = db.create_table(spec).unwrap();
    let start = Barrier::new(THREADS as usize);
    let claim = |thread: u64| {
        let mut won = Vec::new();
        for key in 0..KEYS {
            start.wait();
            // Even keys collide in the primary key, odd ones in the unique index alone.
            let id = if key % 2 == 0 { key } else { 1000 + key * 100 + thread as i64 };
            let name = if key % 2 == 0 { format!("{key} of {thread}") } else { key.to_string() };
            let owner = Value::Int(thread as i64);
            match table.insert(&[Value::Int(id), Value::Text(name), owner]) {
                Ok(_) => won.push(key),
                Err(e) => assert_eq!(e.kind(), ErrorKind::DuplicateKey, "{e}"),
            }
        }
        won
    };
    let wins: Vec<Vec<i64>> = std::thread::scope(|scope| {
        let claim = &claim;
        let threads: Vec<_> = (0..THREADS).map(|t| scope.spawn(move || claim(t))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let mut all: Vec<i64> = wins.concat();
    all.sort_unstable();
    assert_eq!(all, (0..KEYS).collect::<Vec<_>>(), "one winner for each key");
    let rows = agreed_rows(&db, "t").unwrap();
    assert_eq!(rows.len(), KEYS as usize);
    for (thread, won) in wins.iter().enumerate() {
        let owned = rows.iter().filter(|row| integer(&row[2]) == thread as i64).count();
        assert_eq!(owned, won.len(), "thread {thread} owns what it won");
    }
}

#[test]
fn a_contended_row_has_one_next_version_at_a_time() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 120;
    let db = open();
    let spec = TableSpec::new("t")
        .column("id", DataType::Int8)
        .column("n", DataType::Int8)
        .primary_key(["id"])
        .index(IndexSpec::new("by_n", ["n"]));
    let table = db.create_table(spec).unwrap();
    table.insert_many((0..3).map(|id| [Value::Int(id), Value::Int(0)])).unwrap();
    let conflicts = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (db, table, conflicts) = (&db, &table, &conflicts);
            scope.spawn(move || {
                let key = [Value::Int((thread % 3) as i64)];
                let mut done = 0;
                while done < ROUNDS {
                    let mut tx = db.begin().unwrap();
                    let n = integer(&tx.get(table, &key).unwrap().expect("the row is there")[1]);
                    let updated = tx.update(table, &key, &[("n", Value::Int(n + 1))]);
                    match updated.and_then(|found| tx.commit().map(|_| found)) {
                        Ok(found) => {
                            assert!(found);
                            done += 1;
                        }
                        Err(e) => {
                            assert_eq!(e.kind(), ErrorKind::Conflict, "{e}");
                            conflicts.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    // Threads 0 and 3 share row 0; no increment is lost, whatever the number of conflicts.
    println!("{} conflicts", conflicts.load(Ordering::Relaxed));
    let counts: Vec<i64> =
        agreed_rows(&db, "t").unwrap().iter().map(|row| integer(&row[1])).collect();
    assert_eq!(counts, [2 * ROUNDS as i64, ROUNDS as i64, ROUNDS as i64]);
}

/// Sessions bring the same rising keys, each in a transaction of its own: who finds a key taken learns it from the
/// insert, and never from the commit.
#[test]
fn a_reserved_key_is_not_refused_by_the_commit() {
    const SESSIONS: usize = 4;
    const KEYS: i64 = 4000;
    let mut options = small_options(SyncMode::Os);
    options.fs = Arc::new(MemFs::new());
    let db = Database::open("/db", options).unwrap();
    let spec = TableSpec::new("t").column("id", DataType::Int8).primary_key(["id"]);
    let t = db.create_table(spec).unwrap();
    let (together, refused) = (Barrier::new(SESSIONS), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..SESSIONS {
            scope.spawn(|| {
                for key in 0..KEYS {
                    together.wait();
                    let options = TransactionOptions::at(Isolation::ReadCommitted);
                    let mut tx = db.begin_with(options).unwrap();
                    let inserted = tx.insert(&t, &[Value::Int(key)]);
                    if inserted.is_ok() && tx.commit().is_err() {
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(refused.into_inner(), 0, "commits refused");
    assert_eq!(db.snapshot().unwrap().count(&t).unwrap(), KEYS as u64);
}
