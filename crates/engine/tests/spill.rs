//! Do transactions larger than memory commit, roll back, and read what they wrote?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[allow(dead_code, reason = "some of it is for other tests")]
mod support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use onlap::{
    Batch, BytesVec, Change, CheckOptions, Column, DataType, Database, ErrorKind, IndexSpec,
    KeyRange, Options, Row, Scan, SyncMode, Table, TableSpec, Value, Vector, check,
};
use onlap_base::memory::Part;
use support::{agreed_rows, integer};

const MIB: u64 = 1 << 20;

fn options(limit: u64) -> Options {
    Options::default().sync(SyncMode::Os).memory_limit(limit)
}

fn spec(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column("id", DataType::Int8)
        .column("a", DataType::Int4)
        .nullable_column("b", DataType::Text)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
        .index(IndexSpec::new("by_a_id", ["a", "id"]).descending("a").unique())
}

fn text(id: i64) -> String {
    // Some of them are too long for a block.
    let more = if id % 500 == 0 { 3000 } else { 1000 + id.rem_euclid(900) as usize };
    format!("{:08}{}", (id * 7919).rem_euclid(100_000), "x".repeat(more))
}

fn row(id: i64) -> Row {
    vec![Value::Int(id), Value::Int(id % 1000), Value::Text(text(id))]
}

fn batch(ids: impl Iterator<Item = i64>) -> Batch {
    let ids: Vec<i64> = ids.collect();
    let (rows, a) = (ids.len(), ids.iter().map(|id| id % 1000).collect());
    let mut b = BytesVec::default();
    ids.iter().for_each(|id| b.push(text(*id).as_bytes()));
    let int = |v| Column { data: Vector::Int(v), nulls: None };
    Batch { columns: vec![int(ids), int(a), Column { data: Vector::Bytes(b), nulls: None }], rows }
}

/// Ids in an order that does not rise.
fn mixed(ids: std::ops::Range<i64>) -> Vec<i64> {
    let n = ids.end - ids.start;
    (0..n).map(|i| ids.start + i * 7919 % n).collect()
}

fn checked(dir: &std::path::Path) {
    let report = check(dir, &CheckOptions { options: options(64 * MIB) }).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

fn files_in(dir: &std::path::Path) -> usize {
    let names = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name());
    let ours = |n: &str| n.ends_with(".seg") || n.ends_with(".run") || n.ends_with(".mrk");
    names.filter(|n| n.to_str().is_some_and(ours)).count()
}

fn most_used(db: &Database, part: Part) -> u64 {
    db.memory().iter().find(|p| p.part == part).unwrap().used
}

#[test]
fn four_times_the_memory_commits() {
    let dir = tempfile::tempdir().unwrap();
    let limit = 32 * MIB;
    let db = Database::open(dir.path(), options(limit)).unwrap();
    let table = db.create_table(spec("t")).unwrap();
    table.insert_batch(batch(0..1000)).unwrap();
    let before = db.snapshot().unwrap();
    let mut tx = db.begin().unwrap();
    let (mut bytes, mut next) = (0, 1000);
    while bytes < 4 * limit {
        let rows = batch(next..next + 1000);
        bytes += rows.heap_bytes() as u64;
        tx.insert_batch(&table, rows).unwrap();
        next += 1000;
        let used = most_used(&db, Part::Transactions);
        assert!(used <= limit / 64 * 6, "{used} bytes");
    }
    // It sees its own rows wherever they lie, others do not.
    assert_eq!(tx.count(&table).unwrap(), next as u64);
    for id in [5, 1000, 2500, next / 2, next - 1] {
        assert_eq!(tx.get(&table, &[Value::Int(id)]).unwrap(), Some(row(id)));
    }
    assert_eq!(
        tx.index_count(&table, "by_a", KeyRange::eq([Value::Int(7)])).unwrap(),
        next as u64 / 1000
    );
    let e = tx.insert_batch(&table, batch(1500..1501)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::DuplicateKey);
    table.insert(&row(-1)).unwrap();
    assert_eq!(db.snapshot().unwrap().count(&table).unwrap(), 1001);
    tx.commit().unwrap();
    assert_eq!(before.count(&table).unwrap(), 1000);
    let rows = agreed_rows(&db, "t").unwrap();
    assert!(rows.iter().map(|r| integer(&r[0])).eq(-1..next));
    assert!(rows.iter().skip(1).zip(0..).all(|(found, id)| *found == row(id)));
    table.insert(&row(next)).unwrap();
    drop((before, table, db));
    let db = Database::open(dir.path(), options(64 * MIB)).unwrap();
    assert_eq!(agreed_rows(&db, "t").unwrap().len() as i64, next + 2);
    db.settle().unwrap();
    assert_eq!(agreed_rows(&db, "t").unwrap().len() as i64, next + 2);
    db.close().unwrap();
    checked(dir.path());
}

#[test]
fn nothing_is_left_of_what_was_rolled_back() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), options(32 * MIB)).unwrap();
    let (table, other) = (db.create_table(spec("t")).unwrap(), db.create_table(spec("u")).unwrap());
    table.insert_batch(batch(0..1000)).unwrap();
    db.settle().unwrap();
    let before = files_in(dir.path());
    let mut tx = db.begin().unwrap();
    tx.insert_batch(&table, batch(1000..7000)).unwrap();
    tx.insert_batch(&other, batch(0..10)).unwrap();
    assert_eq!(tx.count(&table).unwrap(), 7000);
    assert!(files_in(dir.path()) > before);
    let read = tx.scan(&table, Scan::all()).unwrap();
    tx.rollback();
    assert_eq!(files_in(dir.path()), before);
    assert_eq!(read.rows().unwrap().len(), 7000, "who had them open goes on");

    // A key that others bring meanwhile, or that stands twice.
    let mut tx = db.begin().unwrap();
    tx.insert_batch(&table, batch(mixed(1000..7000).into_iter())).unwrap();
    let e = tx.insert_batch(&table, batch(7000..7010)).and_then(|()| tx.insert(&table, &row(1234)));
    assert_eq!(e.unwrap_err().kind(), ErrorKind::DuplicateKey);
    drop(tx);
    assert_eq!(agreed_rows(&db, "t").unwrap().len(), 1000);
    assert_eq!(files_in(dir.path()), before);
    drop((table, other));
    db.close().unwrap();
    checked(dir.path());
}

#[test]
fn spilled_rows_change_like_any_others() {
    changes_of_every_kind(options(32 * MIB));
}

/// Marks go to files as well, many times over.
#[test]
fn spilled_marks_count_like_any_others() {
    let mut options = options(64 * MIB);
    options.tuning.spill_bytes = Some(200_000);
    changes_of_every_kind(options);
}

/// Changes against a model, with savepoints.
fn changes_of_every_kind(options: Options) {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), options.clone()).unwrap();
    let (table, small) = (db.create_table(spec("t")).unwrap(), db.create_table(spec("u")).unwrap());
    let mut model: BTreeMap<i64, Row> = (0..3000).map(|id| (id, row(id))).collect();
    table.insert_batch(batch(0..3000)).unwrap();
    let mut tx = db.begin().unwrap();
    tx.insert(&small, &row(1)).unwrap();
    let insert = |tx: &mut onlap::Transaction, model: &mut BTreeMap<i64, Row>, ids: Vec<i64>| {
        model.extend(ids.iter().map(|id| (*id, row(*id))));
        tx.insert_batch(&table, batch(ids.into_iter())).unwrap();
    };
    insert(&mut tx, &mut model, mixed(10_000..16_000));
    let set = |tx: &mut onlap::Transaction, model: &mut BTreeMap<i64, Row>, id: i64, a: i64| {
        assert!(tx.update(&table, &[Value::Int(id)], &[("a", Value::Int(a))]).unwrap());
        model.get_mut(&id).unwrap()[1] = Value::Int(a);
    };
    for id in (0..3000).step_by(7).chain((10_000..16_000).step_by(31)) {
        set(&mut tx, &mut model, id, -5);
    }
    for id in (0..3000).step_by(11).chain((10_000..16_000).step_by(37)) {
        assert!(tx.delete(&table, &[Value::Int(id)]).unwrap());
        model.remove(&id);
    }
    let middle = tx.savepoint();
    let kept = model.clone();
    for round in 0..2 {
        // Rows of before the savepoint, of after it, and both in one file.
        insert(&mut tx, &mut model, mixed(30_000..36_000 + round));
        for id in (30_000..36_000).step_by(101) {
            set(&mut tx, &mut model, id, -6);
        }
        for id in (1..3000).step_by(77 * 7).chain((10_001..16_000).step_by(31 * 37)) {
            set(&mut tx, &mut model, id, -7 - round);
            set(&mut tx, &mut model, id, -9 - round);
        }
        assert_eq!(tx.count(&table).unwrap(), model.len() as u64);
        let seen = tx.scan(&table, Scan::all()).unwrap().rows().unwrap();
        let seen: BTreeMap<i64, Row> = seen.into_iter().map(|r| (integer(&r[0]), r)).collect();
        assert!(seen == model);
        if round == 0 {
            tx.rollback_to(&middle).unwrap();
            model = kept.clone();
            assert_eq!(tx.count(&table).unwrap(), model.len() as u64);
        }
    }
    let by_a = tx.index_row_ids(&table, "by_a", KeyRange::eq([Value::Int(-6)])).unwrap();
    let deleted = tx.delete_rows(&table, &by_a).unwrap();
    assert_eq!(deleted, by_a.len() as u64);
    model.retain(|_, r| r[1] != Value::Int(-6));
    tx.commit().unwrap();
    let same = |db: &Database| {
        let rows = agreed_rows(db, "t").unwrap();
        assert!(rows.iter().eq(model.values()), "{} rows, {} expected", rows.len(), model.len());
        assert_eq!(agreed_rows(db, "u").unwrap(), [row(1)]);
    };
    same(&db);
    db.settle().unwrap();
    same(&db);
    drop((table, small));
    db.close().unwrap();
    checked(dir.path());
    same(&Database::open(dir.path(), options).unwrap());
}

/// Single rows while a large transaction goes on; readers see all of it or nothing.
/// The change lies in a file that was written before its commit had a number.
#[test]
fn a_check_knows_the_commit_of_spilled_changes() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(64 * MIB);
    options.tuning.spill_bytes = Some(3000);
    let db = Database::open(dir.path(), options.clone()).unwrap();
    let spec = TableSpec::new("t").column("id", DataType::Int8).column("n", DataType::Int8);
    let table = db.create_table(spec.primary_key(["id"])).unwrap();
    table.insert_many((0..50).map(|id| [Value::Int(id), Value::Int(0)])).unwrap();
    let mut tx = db.begin().unwrap();
    for id in 0..50 {
        let five = [("n", Change::Add(Value::Int(5)))];
        assert!(tx.change(&table, &[Value::Int(id)], &five).unwrap());
    }
    (100..400).for_each(|id| tx.insert(&table, &[Value::Int(id), Value::Int(1)]).unwrap());
    tx.commit().unwrap();
    let sum: i64 = agreed_rows(&db, "t").unwrap().iter().map(|row| integer(&row[1])).sum();
    assert_eq!(sum, 50 * 5 + 300);
    db.close().unwrap();
    drop(table);
    let report = check(dir.path(), &CheckOptions { options }).unwrap();
    assert!(report.findings.is_empty() && report.changes > 0, "{report:?}");
}

#[test]
fn others_go_on_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), options(32 * MIB)).unwrap();
    let table = db.create_table(spec("t")).unwrap();
    table.insert_batch(batch(0..2000)).unwrap();
    let stop = AtomicBool::new(false);
    let written = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut next = 1_000_000;
            while !stop.load(Ordering::Relaxed) {
                table.insert_batch(batch(next..next + 3)).unwrap();
                next += 3;
            }
            next
        });
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let snapshot = db.snapshot().unwrap();
                let range = KeyRange::between([Value::Int(10_000)], [Value::Int(900_000)]);
                let n = snapshot.index_count(&table, "t_pkey", range).unwrap();
                assert!(n == 0 || n == 6000, "{n} rows");
                let old = snapshot.get(&table, &[Value::Int(5)], Some(&["a"])).unwrap().unwrap();
                assert_eq!(old[0] == Value::Int(-1), n > 0);
            }
        });
        let mut tx = db.begin().unwrap();
        tx.update(&table, &[Value::Int(5)], &[("a", Value::Int(-1))]).unwrap();
        for part in mixed(10_000..16_000).chunks(700) {
            tx.insert_batch(&table, batch(part.iter().copied())).unwrap();
        }
        tx.commit().unwrap();
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    let rows = agreed_rows(&db, "t").unwrap();
    assert_eq!(rows.len() as i64, 2000 + 6000 + written - 1_000_000);
    drop(table);
    db.close().unwrap();
    checked(dir.path());
}

#[test]
fn two_that_bring_the_same_key() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), options(32 * MIB)).unwrap();
    let table: Table = db.create_table(spec("t")).unwrap();
    let large = |from: i64| {
        let mut tx = db.begin().unwrap();
        tx.insert_batch(&table, batch(from..from + 6000)).unwrap();
        tx
    };
    let (first, second) = (large(0), large(20_000));
    first.commit().unwrap();
    second.commit().unwrap();
    assert_eq!(agreed_rows(&db, "t").unwrap().len(), 12_000);
    drop(large(50_000));
    let late = large(90_000);
    assert_eq!(table.insert(&row(19_999)).map(|_| ()), Ok(()));
    late.commit().unwrap();
    assert_eq!(agreed_rows(&db, "t").unwrap().len(), 18_001);
}
