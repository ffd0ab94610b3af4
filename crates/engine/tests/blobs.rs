//! Long values through the whole engine: flushed, compacted, reopened, read in every way, and out of
//! the way of whoever does not want them.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use std::sync::Arc;

use onlap::{
    CheckOptions, DataType, Database, IndexSpec, KeyRange, Options, Row, Scan, SyncMode, Table,
    TableSpec, Value, check,
};
use onlap_base::limits::{INLINE_VALUE_BYTES, VALUE_BYTES};
use onlap_base::rng::Rng;
use onlap_vfs::{Fs, OsFs};

const EDGE: usize = INLINE_VALUE_BYTES;

fn options() -> (Options, Arc<OsFs>) {
    let fs = Arc::new(OsFs::new());
    let mut options = Options::default().sync(SyncMode::Os).memory_limit(256 << 20);
    options.fs = fs.clone();
    (options, fs)
}

fn spec() -> TableSpec {
    TableSpec::new("docs")
        .column("id", DataType::Int8)
        .column("kind", DataType::Int4)
        .nullable_column("body", DataType::Bytea)
        .nullable_column("title", DataType::Text)
        .primary_key(["id"])
        .index(IndexSpec::new("by_kind", ["kind"]))
}

fn row(id: i64, lens: &[usize]) -> Row {
    let rng = &mut Rng::new(id as u64);
    let len = lens[id as usize % lens.len()];
    let random = rng.below(2) == 0;
    let body = match rng.below(6) {
        0 => Value::Null,
        _ if random => Value::Bytes((0..len).map(|_| rng.next_u64() as u8).collect()),
        _ => Value::Bytes(vec![id as u8; len]),
    };
    let title = match id % 7 {
        0 => Value::Null,
        1 => Value::Text("a long title ".repeat(300)),
        _ => Value::Text(format!("title {id}")),
    };
    vec![Value::Int(id), Value::Int(id % 10), body, title]
}

fn check_rows(db: &Database, table: &Table, live: &[Row]) {
    let snapshot = db.snapshot().unwrap();
    assert_eq!(snapshot.scan(table, Scan::all()).unwrap().rows().unwrap(), live);
    let mut back = snapshot.scan(table, Scan::all().reverse()).unwrap().rows().unwrap();
    back.reverse();
    assert_eq!(back, live);
    for row in live.iter().step_by(7) {
        assert_eq!(snapshot.get(table, &row[..1], None).unwrap().as_ref(), Some(row));
        let title = snapshot.get(table, &row[..1], Some(&["title"])).unwrap();
        assert_eq!(title, Some(vec![row[3].clone()]));
    }
    for kind in (0..10).map(Value::Int) {
        let range = KeyRange::eq([kind.clone()]);
        let found = snapshot.index_scan(table, "by_kind", range, Scan::all()).unwrap();
        let expected: Vec<Row> = live.iter().filter(|r| r[1] == kind).cloned().collect();
        assert_eq!(found.rows().unwrap(), expected);
    }
}

#[test]
fn long_values_survive_flush_compaction_and_reopen() {
    let dir = tempfile::tempdir().unwrap();
    let lens = [10, EDGE, EDGE + 1, 5000, 0, 40_000];
    let mut live: Vec<Row> = (0..1500).map(|id| row(id, &lens)).collect();
    live[700][2] = Value::Bytes(vec![7; VALUE_BYTES]);
    {
        let db = Database::open(dir.path(), options().0).unwrap();
        let table = db.create_table(spec()).unwrap();
        for part in live.chunks(100) {
            table.insert_many(part).unwrap();
        }
        db.flush().unwrap();
        check_rows(&db, &table, &live);
        let before = db.stats().unwrap().tables[0].segment_bytes;

        let mut tx = db.begin().unwrap();
        for row in live.extract_if(.., |r| matches!(r[0], Value::Int(id) if id % 5 > 2)) {
            assert!(tx.delete(&table, &row[..1]).unwrap());
        }
        tx.commit().unwrap();
        db.settle().unwrap();
        let after = db.stats().unwrap().tables[0].clone();
        assert!(after.segment_bytes < before / 4 * 3, "{} of {before}", after.segment_bytes);
        assert_eq!(after.segment_rows as usize, live.len(), "compacted");
        check_rows(&db, &table, &live);
        db.close().unwrap();
    }
    let db = Database::open(dir.path(), options().0).unwrap();
    let table = db.table("docs").unwrap();
    check_rows(&db, &table, &live);
    // An index built later reads around them.
    db.create_index("docs", IndexSpec::new("later", ["kind", "id"])).unwrap();
    drop(table);
    db.close().unwrap();
    let report = check(dir.path(), &CheckOptions { options: options().0 }).unwrap();
    assert_eq!(report.findings, []);
    assert_eq!(report.rows, live.len() as u64);
}

#[test]
fn a_scan_of_a_small_column_reads_few_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let live: Vec<Row> = (0..2000).map(|id| row(id, &[12_000])).collect();
    {
        let db = Database::open(dir.path(), options().0).unwrap();
        let table = db.create_table(spec()).unwrap();
        for part in live.chunks(100) {
            table.insert_many(part).unwrap();
        }
        db.close().unwrap();
    }
    let (options, fs) = options();
    let db = Database::open(dir.path(), options).unwrap();
    let table = db.table("docs").unwrap();
    let snapshot = db.snapshot().unwrap();
    let read_bytes = || fs.counters().now().read_bytes;
    let bytes = db.stats().unwrap().tables[0].segment_bytes;
    assert!(bytes > 8 << 20, "{bytes}");
    let before = read_bytes();
    let kinds = snapshot.scan(&table, Scan::all().columns(["kind"])).unwrap().rows().unwrap();
    assert!(kinds.iter().zip(&live).all(|(kind, row)| kind[0] == row[1]));
    let read = read_bytes() - before;
    assert!(read < bytes / 50, "{read} of {bytes} bytes");
    let before = read_bytes();
    snapshot.scan(&table, Scan::all()).unwrap().for_each(|batch| drop(batch.unwrap()));
    let read = read_bytes() - before;
    assert!(read < bytes / 10 * 11, "{read} of {bytes} bytes");
}

#[test]
fn a_check_finds_damage_in_a_blob() {
    let dir = tempfile::tempdir().unwrap();
    {
        let db = Database::open(dir.path(), options().0).unwrap();
        let table = db.create_table(spec()).unwrap();
        table.insert_many((0..50).map(|id| row(id, &[30_000]))).unwrap();
        db.close().unwrap();
    }
    let is_segment = |p: &std::path::PathBuf| p.extension().is_some_and(|e| e == "seg");
    let files = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path());
    let path = files.into_iter().find(is_segment).expect("a segment");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[100_000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let report = check(dir.path(), &CheckOptions { options: options().0 }).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let found = |f: &onlap::Finding| f.text.contains("blob checksum") && f.text.contains(name);
    assert!(report.findings.iter().any(found), "{:?}", report.findings);
}
