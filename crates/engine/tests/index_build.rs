//! What do readers and writers notice of an index that is being built?
//!
//! Builds of several indexes at once, unique ones included, while writers insert, update and delete:
//! afterwards every index agrees with the table, and so does a check of the files. Cancels, duplicates,
//! faults and power cuts at every file operation leave nothing behind. Snapshots and transactions from
//! before go on.

#![allow(clippy::disallowed_methods, reason = "these tests are about real threads")]

#[path = "support/power.rs"]
mod power;
mod support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;

use onlap::{
    BuildControl, DataType, Database, ErrorKind, IndexSpec, KeyRange, Result, Row, Scan, Table,
    TableSpec, Value,
};
use onlap_base::rng::Rng;
use onlap_base::stop as statement;
use onlap_vfs::{Fault, FaultFs, Fs, MemFs};
use power::{DIR, assert_checked, cut_at_each_operation, open};
use support::agreed_rows;

fn spec() -> TableSpec {
    TableSpec::new("t")
        .column("id", DataType::Int8)
        .nullable_column("a", DataType::Int4)
        .nullable_column("b", DataType::Text)
        .column("code", DataType::Int8)
        .primary_key(["id"])
}

fn row(id: i64) -> Row {
    let a = if id % 11 == 0 { Value::Null } else { Value::Int(id * 7919 % 1000) };
    let b = Value::Text("a few words".repeat(1 + id as usize % 5));
    // Scattered, and different for every id below 2^31.
    let code = (id * 2_654_435_761) % (1 << 31);
    vec![Value::Int(id), a, b, Value::Int(code)]
}

fn specs() -> [IndexSpec; 4] {
    [
        IndexSpec::new("by_a", ["a"]),
        IndexSpec::new("by_b_a", ["b", "a"]).descending("a").include(["code"]),
        IndexSpec::new("by_code", ["code"]).unique(),
        IndexSpec::new("by_a_id", ["a", "id"]).unique(),
    ]
}

fn filled(fs: impl Fs + 'static, rows: i64) -> (Database, Table) {
    let db = open(fs).unwrap();
    let table = db.create_table(spec()).unwrap();
    table.insert_many((1..=rows).map(row)).unwrap();
    (db, table)
}

fn files(disk: &MemFs) -> Vec<String> {
    let mut names = disk.list(Path::new(DIR)).unwrap();
    names.retain(|n| n.ends_with(".run"));
    names.sort();
    names
}

/// Tells writers to stop, also when the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Inserts, updates and deletes rows of its own until told to stop; how many changes it made.
fn scribble(db: &Database, table: &Table, rng: &mut Rng, first: i64, stop: &AtomicBool) -> i64 {
    let mut next = first;
    let mut changes = 0;
    while !stop.load(Ordering::Relaxed) {
        let mut tx = db.begin().unwrap();
        for _ in 0..1 + rng.below(30) {
            if next > first && rng.chance(0.3) {
                let id = first + rng.below((next - first) as u64) as i64;
                let key = [Value::Int(id)];
                if rng.chance(0.3) {
                    tx.delete(table, &key).unwrap();
                } else {
                    tx.update(table, &key, &[("a", Value::Int(rng.below(500) as i64))]).unwrap();
                }
            } else {
                tx.insert(table, &row(next)).unwrap();
                next += 1;
            }
            changes += 1;
        }
        tx.commit().unwrap();
    }
    changes
}

#[test]
fn indexes_that_were_built_under_writers_agree_with_the_table() {
    for round in 0..4 {
        let disk = MemFs::new();
        let (db, table) = filled(disk.clone(), 3000);
        let stop = AtomicBool::new(false);
        let made = AtomicI64::new(0);
        thread::scope(|scope| {
            let _stop = Stop(&stop);
            for writer in 0..3 {
                let (db, table, stop, made) = (&db, &table, &stop, &made);
                scope.spawn(move || {
                    let mut rng = Rng::new(round * 10 + writer);
                    let first = 1_000_000 * (writer as i64 + 1);
                    made.fetch_add(scribble(db, table, &mut rng, first, stop), Ordering::Relaxed);
                });
            }
            let control = BuildControl::new();
            db.build_indexes("t", &specs(), &control).unwrap();
            let progress = control.progress();
            assert_eq!(progress.rows_done, progress.rows_total);
            assert!(progress.rows_done >= 3000);
            // More rows come through the indexes as they are now.
            agreed_rows(&db, "t").unwrap();
        });
        assert!(made.load(Ordering::Relaxed) > 0);
        let rows = agreed_rows(&db, "t").unwrap();
        let e = table.insert(&[Value::Int(-1), Value::Null, Value::Null, rows[7][3].clone()]);
        assert_eq!(e.unwrap_err().kind(), ErrorKind::DuplicateKey);
        drop(table);
        if round % 2 == 0 {
            db.close().unwrap();
        } else {
            drop(db);
        }
        let db = open(disk.clone()).unwrap();
        assert!(agreed_rows(&db, "t").unwrap() == rows);
        db.close().unwrap();
        assert_checked(&disk);
    }
}

#[test]
fn a_cancelled_build_leaves_nothing() {
    let disk = MemFs::new();
    let (db, table) = filled(disk.clone(), 4000);
    db.settle().unwrap();
    let before = files(&disk);
    let control = BuildControl::new();
    control.cancel();
    let e = db.build_indexes("t", &specs(), &control).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Cancelled);
    assert_eq!(files(&disk), before);
    assert_eq!(table.schema().indexes.len(), 1);

    // Likewise with the statement that it belongs to, for which its tasks work.
    let ended = Arc::new(statement::Stop::new(&Arc::new(AtomicBool::new(true))));
    let known = statement::within(&ended);
    let e = db.build_indexes("t", &specs(), &BuildControl::new()).unwrap_err();
    drop(known);
    assert_eq!(e.kind(), ErrorKind::Cancelled);
    assert_eq!(files(&disk), before);
    assert_eq!(table.schema().indexes.len(), 1);

    // In the middle, with writers.
    let stop = AtomicBool::new(false);
    let mut cancelled = 0;
    thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| scribble(&db, &table, &mut Rng::new(1), 1_000_000, &stop));
        for round in 0..20 {
            let control = BuildControl::new();
            let watch = control.clone();
            scope.spawn(move || {
                while watch.progress().rows_done < round * 200 {
                    thread::yield_now();
                }
                watch.cancel();
            });
            match db.build_indexes("t", &specs(), &control) {
                Ok(()) => specs().iter().for_each(|s| db.drop_index("t", s.name()).unwrap()),
                Err(e) => {
                    assert_eq!(e.kind(), ErrorKind::Cancelled);
                    cancelled += 1;
                }
            }
            control.cancel();
        }
    });
    assert!(cancelled > 0);
    db.build_indexes("t", &specs(), &BuildControl::new()).unwrap();
    agreed_rows(&db, "t").unwrap();
    drop(table);
    db.close().unwrap();
    assert_checked(&disk);
}

#[test]
fn duplicates_fail_a_unique_build_and_only_that() {
    let disk = MemFs::new();
    let (db, table) = filled(disk.clone(), 2000);
    let mut twin = row(5000);
    twin[3] = row(17)[3].clone();
    table.insert(&twin).unwrap();
    let before = table.schema();
    let e = db.create_indexes("t", specs()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::DuplicateKey);
    assert!(e.message().contains("by_code"), "{e}");
    assert_eq!(table.schema().indexes, before.indexes);
    // An update of a key is no duplicate, nor is a row that died, nor NULL.
    table.delete(&[Value::Int(17)]).unwrap();
    table.update(&[Value::Int(18)], &[("b", Value::Null)]).unwrap();
    db.create_indexes("t", specs()).unwrap();
    agreed_rows(&db, "t").unwrap();
    drop(table);
    db.close().unwrap();
    assert_checked(&disk);
}

#[test]
fn of_rows_with_one_key_from_before_the_one_that_lives_is_found() {
    for flushed in [false, true] {
        let (db, table) = filled(MemFs::new(), 200);
        let mut twin = row(5000);
        twin[3] = row(17)[3].clone();
        table.insert(&twin).unwrap();
        db.flush().unwrap();
        table.delete(&[Value::Int(5000)]).unwrap();
        if flushed {
            db.settle().unwrap();
        }
        db.create_indexes("t", specs()).unwrap();
        let code = [row(17)[3].clone()];
        let found = db.snapshot().unwrap().get_by(&table, "by_code", &code, None).unwrap();
        assert_eq!(found, Some(row(17)));
        let e = table.insert(&twin).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::DuplicateKey);
        let mut tx = db.begin().unwrap();
        assert_eq!(tx.insert(&table, &twin).unwrap_err().kind(), ErrorKind::DuplicateKey);
        assert_eq!(tx.get_by(&table, "by_code", &code, None).unwrap(), Some(row(17)));
        agreed_rows(&db, "t").unwrap();
    }
}

#[test]
fn writers_who_bring_duplicates_meanwhile_make_the_build_fail() {
    let (db, table) = filled(MemFs::new(), 3000);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| {
            // Pairs of one code.
            let mut id = 1_000_000;
            while !stop.load(Ordering::Relaxed) {
                let mut twin = row(id + 1);
                twin[3] = row(id)[3].clone();
                for row in [row(id), twin] {
                    // Refused while the duplicates from before are looked for.
                    if let Err(e) = table.insert(&row) {
                        assert_eq!(e.kind(), ErrorKind::DuplicateKey);
                    }
                }
                id += 2;
            }
        });
        for _ in 0..5 {
            let e = db.create_indexes("t", specs()).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::DuplicateKey);
            assert_eq!(table.schema().indexes.len(), 1);
        }
    });
    db.create_indexes("t", [specs()[0].clone(), specs()[3].clone()]).unwrap();
    agreed_rows(&db, "t").unwrap();
}

#[test]
fn snapshots_from_before_read_through_the_index_too() {
    let (db, table) = filled(MemFs::new(), 1000);
    let mut twin = row(5000);
    twin[3] = row(17)[3].clone();
    table.insert(&twin).unwrap();
    let old = db.snapshot().unwrap();
    table.delete(&[Value::Int(5000)]).unwrap();
    table.update(&[Value::Int(17)], &[("a", Value::Int(-1))]).unwrap();
    db.create_indexes("t", specs()).unwrap();
    let code = [row(17)[3].clone()];
    let of = |found: Option<Row>| found.map(|row| (row[0].clone(), row[1].clone()));
    // Both rows were visible; the first in the order of the index answers.
    let seen = of(old.get_by(&table, "by_code", &code, None).unwrap());
    assert_eq!(seen, Some((Value::Int(17), row(17)[1].clone())));
    let all = old.index_scan(&table, "by_code", KeyRange::eq(code.clone()), Scan::all()).unwrap();
    assert_eq!(all.rows().unwrap().len(), 2);
    let now = db.snapshot().unwrap().get_by(&table, "by_code", &code, None).unwrap();
    assert_eq!(of(now), Some((Value::Int(17), Value::Int(-1))));
    assert_eq!(old.count(&table).unwrap(), 1001);
    // A row's column was changed in place before, and entries have what it is since.
    let through = old.index_scan(&table, "by_a_id", KeyRange::all(), Scan::all());
    assert_eq!(through.err().unwrap().kind(), ErrorKind::SnapshotTooOld);
}

#[test]
fn transactions_from_before_commit_after() {
    let (db, table) = filled(MemFs::new(), 500);
    let mut good = db.begin().unwrap();
    good.insert(&table, &row(1001)).unwrap();
    good.update(&table, &[Value::Int(3)], &[("a", Value::Int(77))]).unwrap();
    let mut bad = db.begin().unwrap();
    let mut twin = row(1002);
    twin[3] = row(4)[3].clone();
    bad.insert(&table, &twin).unwrap();
    let mut reads = db.begin().unwrap();
    reads.insert(&table, &row(1003)).unwrap();
    db.create_indexes("t", specs()).unwrap();
    // Statements of an older transaction see its own rows through the new indexes.
    let own = reads.index_count(&table, "by_code", KeyRange::eq([row(1003)[3].clone()])).unwrap();
    assert_eq!(own, 1);
    good.commit().unwrap();
    assert_eq!(bad.commit().unwrap_err().kind(), ErrorKind::DuplicateKey);
    db.drop_index("t", "by_code").unwrap();
    reads.insert(&table, &row(1004)).unwrap();
    reads.commit().unwrap();
    let rows = agreed_rows(&db, "t").unwrap();
    assert_eq!(rows.len(), 503);
    assert_eq!(rows[2][1], Value::Int(77));
}

/// A build, with a flush and a few commits in the middle of everything.
fn build(db: &Database) -> Result<()> {
    let table = db.table("t")?;
    table.insert(&row(2001))?;
    db.create_indexes("t", specs())?;
    table.insert(&row(2002))?;
    db.flush()?;
    db.drop_index("t", "by_a")?;
    table.insert(&row(2003)).map(|_| ())
}

#[test]
fn the_power_may_go_at_any_operation() {
    let disk = MemFs::new();
    filled(disk.clone(), 700).0.close().unwrap();
    let mut left = Vec::new();
    cut_at_each_operation(&disk, build, |db, _| {
        let rows = agreed_rows(db, "t").unwrap();
        assert!((700..=703).contains(&rows.len()), "{} rows", rows.len());
        left.push(db.table("t").unwrap().schema().indexes.len());
    });
    // Background work shifts the operations between one build and the next.
    assert!(left.iter().all(|n| [1, 4, 5].contains(n)), "all indexes come at once: {left:?}");
    assert!(left.contains(&1) && left.contains(&5), "{left:?}");
}

#[test]
fn a_fault_leaves_no_index_or_all() {
    let disk = MemFs::new();
    filled(disk.clone(), 700).0.close().unwrap();
    for n in 0.. {
        let after = disk.crash(n, 1.0);
        let fs = FaultFs::new(Arc::new(after.clone()));
        let db = open(fs.clone()).unwrap();
        fs.fail(Fault::any().after(n));
        let built = build(&db);
        let struck = fs.struck() > 0;
        let rows = agreed_rows(&db, "t").unwrap().len();
        assert!((700..=703).contains(&rows), "{rows} rows");
        drop(db);
        if !struck {
            built.unwrap();
            break;
        }
        let db = open(after.clone()).unwrap();
        assert!(agreed_rows(&db, "t").unwrap().len() >= rows);
        db.close().unwrap();
        assert_checked(&after);
    }
}
