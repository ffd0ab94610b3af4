//! Statements over more rows than a batch holds, which change what they walk over: each meets what was
//! there when it began, wherever that lies, and nothing else.

use std::sync::Arc;

use onlap::{
    DataType, Database, IndexSpec, Isolation, KeyRange, Options, Result, Row, Rows, Scan, Table,
    TableSpec, Transaction, TransactionOptions, Value,
};
use onlap_base::tasks::SimTasks;
use onlap_vfs::MemFs;

const LEVELS: [Isolation; 3] =
    [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];
/// Rows in files, in memory and in the transaction's own buffer.
const EACH: i64 = 3000;

fn int(value: &Value) -> i64 {
    match value {
        Value::Int(v) => *v,
        other => panic!("{other:?} is no integer"),
    }
}

fn row(id: i64, value: i64) -> Row {
    vec![Value::Int(id), Value::Int(value)]
}

/// A database with rows whose values are their ids, and a transaction that has added some.
fn begin(level: Isolation, spill: bool) -> (Database, Table, Transaction) {
    let tasks = SimTasks::new(1);
    let mut options = Options::default().memory_limit(64 << 20);
    options.tuning.spill_bytes = spill.then_some(50_000);
    options.fs = Arc::new(MemFs::new());
    options.clock = Arc::new(tasks.clone());
    options.tasks = Arc::new(tasks);
    let db = Database::open("/db", options).unwrap();
    let spec = TableSpec::new("t").column("id", DataType::Int8).column("value", DataType::Int8);
    let spec = spec.primary_key(["id"]).index(IndexSpec::new("by_value", ["value"]));
    let table = db.create_table(spec).unwrap();
    table.insert_many((0..EACH).map(|id| row(id, id))).unwrap();
    db.flush().unwrap();
    table.insert_many((EACH..2 * EACH).map(|id| row(id, id))).unwrap();
    let mut tx = db.begin_with(TransactionOptions::at(level)).unwrap();
    for id in 2 * EACH..3 * EACH {
        tx.insert(&table, &row(id, id)).unwrap();
    }
    (db, table, tx)
}

/// Hands the rows of a scan on one by one, while more of them are to come.
fn walk(rows: Rows, mut f: impl FnMut(Row) -> Result<()>) -> i64 {
    let mut n = 0;
    for batch in rows {
        let batch = batch.unwrap();
        for i in 0..batch.len() {
            f(batch.row(i)).unwrap();
            n += 1;
        }
    }
    n
}

/// All rows as (id, value), by the primary key, after index, scan and count were found to agree.
fn all(db: &Database, table: &Table) -> Vec<(i64, i64)> {
    let snapshot = db.snapshot().unwrap();
    let pairs = |rows: Rows| {
        let rows = rows.rows().unwrap();
        let mut pairs: Vec<_> = rows.iter().map(|r| (int(&r[0]), int(&r[1]))).collect();
        pairs.sort_unstable();
        pairs
    };
    let scanned = pairs(snapshot.scan(table, Scan::all()).unwrap());
    for index in ["t_pkey", "by_value"] {
        let found = snapshot.index_scan(table, index, KeyRange::all(), Scan::all()).unwrap();
        assert!(pairs(found) == scanned, "index {index} shows other rows");
    }
    assert_eq!(snapshot.count(table).unwrap() as usize, scanned.len());
    scanned
}

fn open(tx: &mut Transaction, table: &Table, way: usize) -> Rows {
    let (all, scan) = (KeyRange::all(), Scan::all());
    match way {
        0 => tx.scan(table, scan),
        1 => tx.index_scan(table, "t_pkey", all, scan),
        2 => tx.index_scan(table, "by_value", all, scan),
        _ => tx.index_scan(table, "by_value", all, scan.reverse()),
    }
    .unwrap()
}

#[test]
fn a_table_is_inserted_into_itself() {
    for (way, level) in (0..4).zip(LEVELS.into_iter().cycle()) {
        let (db, table, mut tx) = begin(level, way % 2 == 1);
        let rows = open(&mut tx, &table, way);
        let n = walk(rows, |r| {
            // In the order of the walk, these come behind, or before where it goes backward.
            let (id, value) = (int(&r[0]), int(&r[1]));
            tx.insert(&table, &row(id + 10 * EACH, if way == 3 { -1 - value } else { value + 1 }))
        });
        assert_eq!(n, 3 * EACH, "way {way} at {level:?}");
        tx.commit().unwrap();
        assert_eq!(all(&db, &table).len() as i64, 6 * EACH);
    }
}

/// The update that an index leads back to its own output (Halloween): each row once.
#[test]
fn rows_that_move_forward_are_met_once() {
    for (way, level) in (0..4).zip(LEVELS.into_iter().cycle()) {
        let (db, table, mut tx) = begin(level, way % 2 == 1);
        let rows = open(&mut tx, &table, way);
        let by = if way == 3 { -5 * EACH } else { 5 * EACH };
        let n = walk(rows, |r| {
            let key = [r[0].clone()];
            let found = tx.update_with(&table, &key, &["value"], |row| {
                row[1] = Value::Int(int(&row[1]) + by);
                Ok(())
            })?;
            assert!(found, "{r:?} is there");
            Ok(())
        });
        assert_eq!(n, 3 * EACH, "way {way} at {level:?}");
        tx.commit().unwrap();
        let moved: Vec<_> = (0..3 * EACH).map(|id| (id, id + by)).collect();
        assert!(all(&db, &table) == moved, "way {way} at {level:?}");
    }
}

/// A scan goes on over rows that were deleted, or brought back by a savepoint, since it began.
#[test]
fn a_scan_keeps_what_it_began_with() {
    for (way, level) in (0..4).zip(LEVELS.into_iter().cycle()) {
        let (db, table, mut tx) = begin(level, way % 2 == 1);
        let before = tx.savepoint();
        for id in (0..3 * EACH).filter(|id| id % 3 == 0) {
            assert!(tx.delete(&table, &[Value::Int(id)]).unwrap());
        }
        let (without, also_without) = (open(&mut tx, &table, way), open(&mut tx, &table, way));
        tx.rollback_to(&before).unwrap();
        let with = open(&mut tx, &table, way);
        assert_eq!(walk(without, |_| Ok(())), 2 * EACH, "way {way} at {level:?}");
        let n = walk(with, |r| tx.delete(&table, &[r[0].clone()]).map(|found| assert!(found)));
        assert_eq!(n, 3 * EACH, "way {way} at {level:?}");
        assert_eq!(tx.count(&table).unwrap(), 0);
        tx.commit().unwrap();
        assert_eq!(walk(also_without, |_| Ok(())), 2 * EACH, "after the end");
        assert!(all(&db, &table).is_empty());
    }
}

#[test]
fn a_snapshot_is_renewed_until_something_was_seen_or_done() {
    let (db, table, tx) = begin(Isolation::RepeatableRead, false);
    drop(tx);
    let is_refused = |tx: &mut Transaction| {
        let e = tx.renew_snapshot().expect_err("the snapshot stands");
        assert_eq!(e.kind(), onlap::ErrorKind::InvalidInput, "{e}");
    };
    for (id, level) in (-10..).zip(LEVELS) {
        let mut tx = db.begin_with(TransactionOptions::at(level)).unwrap();
        let savepoint = tx.savepoint();
        table.insert(&row(id, id)).unwrap();
        tx.renew_snapshot().unwrap();
        assert!(tx.get(&table, &[Value::Int(id)]).unwrap().is_some(), "{level:?}");
        is_refused(&mut tx);
        tx.rollback_to(&savepoint).unwrap();
        assert!(tx.update(&table, &[Value::Int(id)], &[("value", Value::Int(1))]).unwrap());
        tx.commit().unwrap();

        let mut tx = db.begin_with(TransactionOptions::at(level)).unwrap();
        tx.insert(&table, &row(id - 100, 0)).unwrap();
        is_refused(&mut tx);
    }
}
