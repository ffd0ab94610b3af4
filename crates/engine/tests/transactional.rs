//! What does anybody see of a transaction that creates and drops tables?
//!
//! Nothing before its commit and all of it after, rows included; nothing after a rollback, a refused
//! commit, or a power cut at any operation of the commit.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/power.rs"]
mod power;
mod support;

use std::time::Duration;

use onlap::{
    DataType, Database, ErrorKind, IndexSpec, Result, TableSpec, TransactionOptions, Value,
};
use onlap_vfs::{Fs, MemFs};
use power::{cut_at_each_operation, open};
use support::agreed_rows;

fn spec(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column("id", DataType::Int8)
        .column("n", DataType::Int4)
        .primary_key(["id"])
        .index(IndexSpec::new("by_n", ["n"]))
}

fn row(id: i64) -> [Value; 2] {
    [Value::Int(id), Value::Int(id * 7 % 10)]
}

fn names(db: &Database) -> Vec<String> {
    db.tables().iter().map(|t| t.name()).collect()
}

/// Replaces table `old` by table `new` with as many rows, and notes it in a third.
fn swap(db: &Database) -> Result<()> {
    let log = db.table("log")?;
    let mut tx = db.begin()?;
    let new = tx.create_table(spec("new"))?;
    let old = tx.table("old")?;
    for id in 0..tx.count(&old)? as i64 {
        tx.insert(&new, &row(id))?;
    }
    tx.insert(&log, &row(1))?;
    tx.drop_table("old")?;
    tx.commit()?;
    new.insert(&row(1000)).map(|_| ())
}

fn filled(fs: impl Fs + 'static) -> Database {
    let db = open(fs).unwrap();
    let old = db.create_table(spec("old")).unwrap();
    old.insert_many((0..100).map(row)).unwrap();
    db.create_table(spec("log")).unwrap();
    db
}

#[test]
fn tables_come_and_go_with_the_rows_of_their_transaction() {
    let disk = MemFs::new();
    let db = filled(disk.clone());
    let mut tx = db.begin().unwrap();
    let mine = tx.create_table(spec("mine")).unwrap();
    tx.insert(&mine, &row(1)).unwrap();
    tx.insert(&mine, &row(2)).unwrap();
    assert_eq!(tx.insert(&mine, &row(2)).unwrap_err().kind(), ErrorKind::DuplicateKey);
    assert_eq!(tx.get(&mine, &[Value::Int(2)]).unwrap(), Some(row(2).to_vec()));
    assert_eq!(tx.count(&mine).unwrap(), 2);
    let old = db.table("old").unwrap();
    tx.drop_table("old").unwrap();
    assert_eq!(tx.table("old").map(|_| ()).unwrap_err().kind(), ErrorKind::UnknownTable);
    assert_eq!(tx.count(&old).unwrap_err().kind(), ErrorKind::UnknownTable);
    // Others see nothing of it, and cannot use a handle that came to them.
    assert_eq!(names(&db), ["log", "old"]);
    old.insert(&row(500)).unwrap();
    assert_eq!(mine.insert(&row(3)).unwrap_err().kind(), ErrorKind::UnknownTable);
    let mut other = db
        .begin_with(TransactionOptions::default().lock_timeout(Duration::from_millis(5)))
        .unwrap();
    for name in ["mine", "old"] {
        let e = other.drop_table(name).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::LockNotAvailable);
    }
    let e = other.create_table(spec("mine")).map(|_| ()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::LockNotAvailable);
    // What is not the same thing does not wait.
    other.create_table(spec("other")).unwrap();
    tx.commit().unwrap();
    assert_eq!(names(&db), ["log", "mine"]);
    assert_eq!(old.insert(&row(501)).unwrap_err().kind(), ErrorKind::UnknownTable);
    mine.insert(&row(3)).unwrap();
    assert_eq!(mine.insert(&row(1)).unwrap_err().kind(), ErrorKind::DuplicateKey);
    assert_eq!(agreed_rows(&db, "mine").unwrap().len(), 3);
    drop((mine, old, other));
    drop(db);
    let db = open(disk.clone()).unwrap();
    assert_eq!(agreed_rows(&db, "mine").unwrap().len(), 3);
    db.close().unwrap();
}

#[test]
fn a_rollback_leaves_nothing() {
    let db = filled(MemFs::new());
    let mut tx = db.begin().unwrap();
    let keep = tx.create_table(spec("keep")).unwrap();
    tx.insert(&keep, &row(1)).unwrap();
    let before = tx.savepoint();
    let gone = tx.create_table(spec("gone")).unwrap();
    tx.insert(&gone, &row(1)).unwrap();
    tx.drop_table("old").unwrap();
    tx.drop_table("keep").unwrap();
    tx.rollback_to(&before).unwrap();
    assert_eq!(tx.table("gone").map(|_| ()).unwrap_err().kind(), ErrorKind::UnknownTable);
    let old = tx.table("old").unwrap();
    tx.insert(&old, &row(700)).unwrap();
    tx.commit().unwrap();
    assert_eq!(names(&db), ["keep", "log", "old"]);
    assert_eq!(agreed_rows(&db, "keep").unwrap().len(), 1);
    assert_eq!(agreed_rows(&db, "old").unwrap().len(), 101);
    let mut tx = db.begin().unwrap();
    tx.drop_table("old").unwrap();
    tx.create_table(spec("old")).unwrap();
    tx.rollback();
    assert_eq!(agreed_rows(&db, "old").unwrap().len(), 101);
    db.create_table(spec("free")).unwrap();
}

#[test]
fn the_power_may_go_at_any_operation() {
    let disk = MemFs::new();
    filled(disk.clone()).close().unwrap();
    let mut seen = [0, 0];
    cut_at_each_operation(&disk, swap, |db, _| {
        let log = agreed_rows(db, "log").unwrap().len();
        if log == 0 {
            assert_eq!(names(db), ["log", "old"]);
            assert_eq!(agreed_rows(db, "old").unwrap().len(), 100);
        } else {
            assert_eq!(names(db), ["log", "new"]);
            assert!(agreed_rows(db, "new").unwrap().len() >= 100);
        }
        seen[log] += 1;
    });
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}
