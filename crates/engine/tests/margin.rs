//! What goes on when the disk is full, and from what?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use onlap::{
    DataType, Database, ErrorKind, IndexSpec, Options, Row, SyncMode, Table, TableSpec, Value,
};
use onlap_vfs::{Access, Fault, FaultFs, Fs, MemFs, Operation};
use support::{agreed_rows, small_options};

const DIR: &str = "/db";

fn options(fs: impl Fs + 'static, mode: SyncMode) -> Options {
    let mut options = small_options(mode);
    options.fs = Arc::new(fs);
    options
}

fn spec(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column("id", DataType::Int8)
        .column("a", DataType::Int8)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
}

fn row(id: i64) -> Row {
    vec![Value::Int(id), Value::Int(id * 7 % 100)]
}

/// Waits until something is so; a deadlock of the test ends it.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{what}: not in ten seconds");
}

fn margin(db: &Database) -> (u64, bool) {
    let stats = db.stats().unwrap();
    (stats.margin_bytes, stats.margin_lent)
}

/// Takes all of a disk but so many bytes.
fn take(disk: &MemFs, name: &str, but: u64) {
    let file = disk.create(Path::new(name), Access::ReadWrite).unwrap();
    let free = disk.free_bytes(Path::new("/")).unwrap();
    file.allocate(free.saturating_sub(but)).unwrap();
}

/// Inserts single rows from an id on until the disk is full; returns the first id that was refused.
fn fill(table: &Table, mut id: i64) -> i64 {
    loop {
        match table.insert(&row(id)) {
            Ok(_) => id += 1,
            Err(e) if e.kind() == ErrorKind::DiskFull => return id,
            Err(e) => panic!("{e}"),
        }
    }
}

#[test]
fn deletes_and_drops_go_on_and_inserts_wait_for_room() {
    for mode in [SyncMode::Fsync, SyncMode::Os] {
        let disk = MemFs::with_capacity(4 << 20);
        let db = Database::open(DIR, options(disk.clone(), mode)).unwrap();
        let (table, side) = (db.create_table(spec("t")).unwrap(), spec("side"));
        db.create_table(side).unwrap().insert_many((0..50).map(row)).unwrap();
        until("a margin", || margin(&db).0 > 32 << 10);
        take(&disk, "/ballast", 200 << 10);
        let next = fill(&table, 1);
        for id in 1..=300 {
            assert!(table.delete(&[Value::Int(id)]).unwrap(), "{id}");
        }
        assert!(table.retain("id", &Value::Int(401)).unwrap() == 100);
        assert!(agreed_rows(&db, "t").unwrap() == (401..next).map(row).collect::<Vec<_>>());
        db.drop_table("side").unwrap();
        disk.remove(Path::new("/ballast")).unwrap();
        // Nobody has to wait for the background.
        table.insert(&row(next)).unwrap();
        until("a whole margin", || !margin(&db).1 && margin(&db).0 > 32 << 10);
        table.insert_many((next + 1..next + 500).map(row)).unwrap();
        db.settle().unwrap();
        let rows: Vec<Row> = (401..next + 500).map(row).collect();
        assert!(agreed_rows(&db, "t").unwrap() == rows);
        drop(table);
        db.close().unwrap();
        let left = disk.list(Path::new(DIR)).unwrap();
        assert!(!left.iter().any(|name| name.starts_with("margin")), "{left:?}");
        let db = Database::open(DIR, options(disk, mode)).unwrap();
        assert!(agreed_rows(&db, "t").unwrap() == rows);
    }
}

#[test]
fn inserts_are_refused_while_deletes_use_the_margin() {
    let disk = MemFs::with_capacity(4 << 20);
    let db = Database::open(DIR, options(disk.clone(), SyncMode::Fsync)).unwrap();
    let table = db.create_table(spec("t")).unwrap();
    until("a margin", || margin(&db).0 > 32 << 10);
    take(&disk, "/ballast", 200 << 10);
    let next = fill(&table, 1);
    let mut id = 0;
    while !margin(&db).1 {
        // Others take whatever flushes and merges give back; else the deletes might never need the margin.
        if id % 50 == 0 {
            take(&disk, &format!("/others-{id}"), 0);
        }
        id += 1;
        assert!(id < next, "the margin is never used");
        assert!(table.delete(&[Value::Int(id)]).unwrap());
    }
    // What deletes make free is not for these, but room that came back may have ended it.
    let refused = [
        table.insert(&row(next)).err(),
        table.update(&[Value::Int(next - 1)], &[("a", Value::Int(1))]).err(),
        db.create_table(spec("u")).err(),
    ];
    for e in refused {
        assert!(e.is_none_or(|e| e.kind() == ErrorKind::DiskFull));
    }
    assert!(table.delete(&[Value::Int(id + 1)]).unwrap());
}

#[test]
fn a_full_disk_is_opened_read_and_deleted_from() {
    let disk = MemFs::with_capacity(4 << 20);
    let db = Database::open(DIR, options(disk.clone(), SyncMode::Fsync)).unwrap();
    let table = db.create_table(spec("t")).unwrap();
    until("a margin", || margin(&db).0 > 32 << 10);
    take(&disk, "/ballast", 100 << 10);
    let next = fill(&table, 1);
    drop((table, db));
    // Others have taken what was left.
    take(&disk, "/others", 0);
    let db = Database::open(DIR, options(disk.clone(), SyncMode::Fsync)).unwrap();
    assert!(agreed_rows(&db, "t").unwrap() == (1..next).map(row).collect::<Vec<_>>());
    let table = db.table("t").unwrap();
    for id in 1..=20 {
        assert!(table.delete(&[Value::Int(id)]).unwrap());
    }
    assert!(agreed_rows(&db, "t").unwrap() == (21..next).map(row).collect::<Vec<_>>());
    disk.remove(Path::new("/ballast")).unwrap();
    until("room again", || table.insert(&row(next)).is_ok());
}

#[test]
fn a_margin_that_cannot_be_taken_stands_in_nobodys_way() {
    let fs = FaultFs::new(Arc::new(MemFs::new()));
    fs.fail(Fault::on(Operation::Create).named("margin").with(ErrorKind::DiskFull).for_ever());
    let db = Database::open(DIR, options(fs.clone(), SyncMode::Fsync)).unwrap();
    let table = db.create_table(spec("t")).unwrap();
    until("an attempt", || fs.struck() > 0);
    table.insert_many((1..=2000).map(row)).unwrap();
    db.flush().unwrap();
    let stats = db.stats().unwrap();
    assert!(stats.background_error.is_none() && !stats.margin_lent);
    fs.heal();
    until("a margin", || margin(&db).0 > 32 << 10);
}
