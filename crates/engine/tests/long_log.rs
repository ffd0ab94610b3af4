//! Does a log come back that holds more than a memtable does?

mod support;

use std::sync::Arc;

use onlap::{
    CheckOptions, DataType, Database, ErrorKind, IndexSpec, Options, Row, SyncMode, Table,
    TableSpec, Value,
};
use onlap_vfs::MemFs;
use support::{agreed_rows, small_options};

const DIR: &str = "/db";
/// Of one memtable in which all rows fit.
const LARGE: usize = 16 << 20;

fn options(disk: MemFs, memtable_bytes: usize) -> Options {
    let mut options = small_options(SyncMode::Fsync);
    options.tuning.memtable_bytes = Some(memtable_bytes);
    options.tuning.spill_bytes = None;
    options.log_limit = 64 << 20;
    options.background_jobs = 0;
    options.fs = Arc::new(disk);
    options
}

fn spec(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column("id", DataType::Int8)
        .column("a", DataType::Int8)
        .nullable_column("text", DataType::Text)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
}

fn row(id: i64) -> Row {
    let text = if id % 7 == 0 { Value::Null } else { Value::Text(format!("row {id}")) };
    vec![Value::Int(id), Value::Int(id * 7919 % 1000), text]
}

/// Commits of one row, of some and of many, with deletes and updates between them; the rows at the end.
fn write(table: &Table, round: i64) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut next = round * 100_000;
    for step in 0..600 {
        let count = match step % 50 {
            49 => 1500,
            48 => 70,
            47 => 3,
            _ => 1,
        };
        let new: Vec<Row> = (next..next + count).map(row).collect();
        table.insert_many(new.clone()).unwrap();
        rows.extend(new);
        next += count;
        if step % 40 == 39 {
            let gone = rows.remove(rows.len() / 2);
            assert!(table.delete(&gone[..1]).unwrap());
            let changed = rows.len() / 3;
            rows[changed][1] = Value::Int(5000 + step);
            let key = [rows[changed][0].clone()];
            assert!(table.update(&key, &[("a", Value::Int(5000 + step))]).unwrap());
        }
    }
    rows
}

#[test]
fn a_log_of_several_memtables_is_replayed_whole() {
    let disk = MemFs::new();
    let db = Database::open(DIR, options(disk.clone(), LARGE)).unwrap();
    let (one, two) = (db.create_table(spec("one")).unwrap(), db.create_table(spec("two")).unwrap());
    let mut expected = [write(&one, 0), write(&two, 0)];
    expected[0].extend(write(&one, 1));
    let stats = db.stats().unwrap();
    assert!(stats.tables.iter().all(|t| t.segments == 0), "the log holds everything");
    let image = disk.crash(1, 1.0);
    drop((one, two, db));
    for (memtable_bytes, flushed) in [(LARGE, false), (3 << 20, false), (200_000, true)] {
        let disk = image.crash(2, 1.0);
        let db = Database::open(DIR, options(disk.clone(), memtable_bytes)).unwrap();
        for (name, rows) in ["one", "two"].iter().zip(&expected) {
            assert!(agreed_rows(&db, name).unwrap() == *rows, "{name}, {memtable_bytes}");
            let stats = db.stats().unwrap();
            let stats = stats.tables.iter().find(|t| t.name == *name).unwrap();
            assert_eq!(stats.segments > 0, flushed, "{name}, {memtable_bytes}");
            assert!(stats.unflushed_rows > 0, "the newest rows stay in memory");
            let table = db.table(name).unwrap();
            for known in [&rows[0], &rows[rows.len() / 2], &rows[rows.len() - 1]] {
                let e = table.insert(known).unwrap_err();
                assert_eq!(e.kind(), ErrorKind::DuplicateKey);
            }
            let more: Vec<Row> = (900_000..900_100).map(row).collect();
            more.iter().for_each(|row| table.insert(row).map(drop).unwrap());
            let all = [&rows[..], &more].concat();
            assert!(agreed_rows(&db, name).unwrap() == all, "{name}, {memtable_bytes}");
        }
        db.close().unwrap();
        let check = CheckOptions { options: options(disk, LARGE) };
        let report = onlap::check(DIR, &check).unwrap();
        assert_eq!(report.findings, []);
        let live = expected.iter().map(|rows| rows.len() as u64 + 100).sum::<u64>();
        assert_eq!((report.rows, report.entries >= 2 * live), (live, true));
    }
}
