//! Do exactly the rows below a bound go, and cheaply?
//!
//! Against a model, over values that rise, that rise roughly and that come in any order, with NULLs, gaps
//! and other types; next to writers that move rows over the bound; and what is left of the files.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onlap::{
    AsOf, DataType, Database, ErrorKind, IndexSpec, Numeric, Options, Row, SyncMode, Table,
    TableSpec, Value,
};
use onlap_base::rng::Rng;
use onlap_vfs::MemFs;
use support::{agreed_rows, integer, rows_of, small_options};

fn options(disk: &MemFs) -> Options {
    let mut options = small_options(SyncMode::Fsync);
    options.fs = Arc::new(disk.clone());
    options
}

fn spec() -> TableSpec {
    TableSpec::new("t")
        .column("id", DataType::Int8)
        .nullable_column("at", DataType::Timestamp)
        .nullable_column("amount", DataType::Numeric(None))
        .nullable_column("name", DataType::Text)
        .primary_key(["id"])
        .index(IndexSpec::new("by_at", ["at"]))
        .index(IndexSpec::new("by_name", ["name", "at"]))
}

fn numeric(n: i64) -> Value {
    Value::Numeric(Numeric { mantissa: i128::from(n) * 10 + 5, scale: 1 })
}

fn row(id: i64, at: Option<i64>, n: i64) -> Row {
    let name = Value::Text(format!("{n:05} name that is longer than a zone keeps of it"));
    vec![Value::Int(id), at.map_or(Value::Null, Value::Timestamp), numeric(n), name]
}

/// How the values of `at` come.
#[derive(Clone, Copy, Debug)]
enum Order {
    Rising,
    Roughly,
    Random,
}

fn value(rng: &mut Rng, order: Order, n: i64) -> Option<i64> {
    match order {
        Order::Rising => Some(n),
        Order::Roughly => Some(n + rng.below(50) as i64),
        Order::Random if rng.chance(0.1) => None,
        Order::Random => Some(rng.below(3000) as i64),
    }
}

#[test]
fn exactly_the_rows_below_the_bound_go() {
    for (seed, order) in [Order::Rising, Order::Roughly, Order::Random].into_iter().enumerate() {
        let mut rng = Rng::new(seed as u64);
        let disk = MemFs::new();
        let db = Database::open("/db", options(&disk)).unwrap();
        let table = db.create_table(spec()).unwrap();
        let mut model: BTreeMap<i64, Row> = BTreeMap::new();
        let mut next = 0;
        for round in 1..=12 {
            for _ in 0..250 {
                next += 1;
                let values = row(next, value(&mut rng, order, next), rng.below(3000) as i64);
                table.insert(&values).unwrap();
                model.insert(next, values);
            }
            if rng.chance(0.5) {
                db.flush().unwrap();
            }
            // Gaps, where compaction has left rows out.
            for id in (1..next).step_by(7 + round as usize) {
                assert_eq!(table.delete(&[Value::Int(id)]).unwrap(), model.remove(&id).is_some());
            }
            if rng.chance(0.3) {
                db.settle().unwrap();
            }
            let open = db.snapshot().unwrap();
            let before: Vec<Row> = model.values().cloned().collect();
            let bound = (next - 400).max(0);
            let (column, at, bound) = match rng.below(if round > 6 { 8 } else { 5 }) {
                0..5 => ("at", 1, Value::Timestamp(bound)),
                5 => ("id", 0, Value::Int(bound)),
                6 => ("amount", 2, numeric(200)),
                _ => ("name", 3, Value::Text("00200 name that is longer than a zone".into())),
            };
            let total = model.len();
            model.retain(|_, row| row[at] == Value::Null || !is_below(&row[at], &bound));
            let removed = table.retain(column, &bound).unwrap();
            assert_eq!(removed, (total - model.len()) as u64, "{order:?}: {column} from {bound:?}");
            let expected: Vec<Row> = model.values().cloned().collect();
            assert!(agreed_rows(&db, "t").unwrap() == expected, "{order:?}: {column}");
            assert!(rows_of(&open, &table).unwrap() == before, "an open snapshot stays");
            assert_eq!(table.retain(column, &bound).unwrap(), 0);
        }
        db.close().unwrap();
    }
}

fn is_below(value: &Value, bound: &Value) -> bool {
    match (value, bound) {
        (Value::Numeric(a), Value::Numeric(b)) => a.mantissa < b.mantissa,
        (Value::Text(a), Value::Text(b)) => a < b,
        (Value::Timestamp(a), Value::Timestamp(b)) | (Value::Int(a), Value::Int(b)) => a < b,
        other => panic!("{other:?}"),
    }
}

fn load(db: &Database, rows: i64) -> Table {
    let table = db.create_table(spec()).unwrap();
    for first in (0..rows).step_by(500) {
        table.insert_many((first..first + 500).map(|n| row(n, Some(n), n))).unwrap();
    }
    db.settle().unwrap();
    table
}

#[test]
fn files_of_rows_below_go_without_being_read_or_written_again() {
    let disk = MemFs::new();
    let db = Database::open("/db", options(&disk)).unwrap();
    let table = load(&db, 20_000);
    let before = db.stats().unwrap();
    let open = db.snapshot().unwrap();
    assert_eq!(table.retain("at", &Value::Timestamp(15_003)).unwrap(), 15_003);
    let read = db.stats().unwrap().reads;
    let looked = read.rows_read - before.reads.rows_read;
    assert!(looked < 700, "{looked} rows were read to find 15,003");
    db.settle().unwrap();
    assert_eq!(open.count(&table).unwrap(), 20_000);
    drop(open);
    db.settle().unwrap();
    let after = db.stats().unwrap();
    let (then, now) = (&before.tables[0], &after.tables[0]);
    assert!(now.segment_bytes * 3 < then.segment_bytes, "{} segments", now.segments);
    assert!(now.segment_rows < 6_000, "{}", now.segment_rows);
    for (then, now) in then.indexes.iter().zip(&now.indexes) {
        assert!(now.entries < 6_500, "{}: {} of {}", now.name, now.entries, then.entries);
    }
    // At most the segment on the border was written again.
    let written = after.written.compaction - before.written.compaction;
    assert!(written < 2 * then.segment_bytes / then.segments as u64, "{written} bytes");
    drop(table);
    db.close().unwrap();
    let db = Database::open("/db", options(&disk)).unwrap();
    let ids: Vec<i64> = agreed_rows(&db, "t").unwrap().iter().map(|r| integer(&r[0])).collect();
    assert_eq!(ids, (15_003..20_000).collect::<Vec<_>>());
}

#[test]
fn rows_that_move_over_the_bound_meanwhile_are_asked_again() {
    let db = Database::open("/db", options(&MemFs::new())).unwrap();
    let table = load(&db, 3000);
    let stop = AtomicBool::new(false);
    let removed = std::thread::scope(|scope| {
        let (mover, stop) = (&table, &stop);
        let moved = scope.spawn(move || {
            let mut moved = 0;
            for id in (0..1000).rev() {
                // Those that are gone already are not found.
                let new = [("at", Value::Timestamp(100_000))];
                moved += u64::from(mover.update(&[Value::Int(id)], &new).unwrap());
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
            moved
        });
        let mut removed = 0;
        for bound in (0..=1000).step_by(10) {
            removed += table.retain("at", &Value::Timestamp(bound)).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        removed + moved.join().unwrap()
    });
    assert_eq!(removed, 1000, "each row was either moved or removed");
    assert_eq!(table.retain("at", &Value::Timestamp(1000)).unwrap(), 0);
}

#[test]
fn the_past_keeps_what_was_removed_and_bad_bounds_are_refused() {
    let db = Database::open("/db", options(&MemFs::new())).unwrap();
    let table = load(&db, 2000);
    table.set_history(std::time::Duration::from_secs(3600)).unwrap();
    let csn = db.snapshot().unwrap().csn();
    assert_eq!(table.retain("id", &Value::Int(1500)).unwrap(), 1500);
    db.settle().unwrap();
    let past = db.snapshot_as_of(AsOf::Csn(csn)).unwrap();
    assert_eq!(rows_of(&past, &table).unwrap().len(), 2000);
    assert!(db.stats().unwrap().history_debt_bytes > 0);
    let refused = |column: &str, bound: Value| table.retain(column, &bound).unwrap_err().kind();
    assert_eq!(refused("none", Value::Int(1)), ErrorKind::UnknownColumn);
    assert_eq!(refused("id", Value::Null), ErrorKind::InvalidInput);
    assert_eq!(refused("id", Value::Text("x".into())), ErrorKind::WrongType);
}
