use std::path::Path;

use onlap_format::{DataType, Value, Vector};
use onlap_vfs::{Fs, MemFs};

use super::*;
use crate::check::{CheckOptions, check};
use crate::database::{Database, Table};
use crate::options::{Options, SyncMode};
use crate::read::{KeyRange, Scan};
use crate::spec::{IndexSpec, TableSpec};
use onlap_format::marks::Mark;
use onlap_format::{Batch, Column};

fn options(fs: &Arc<dyn Fs>) -> Options {
    let mut options = Options::default().sync(SyncMode::Os).memory_limit(64 << 20);
    options.fs = Arc::clone(fs);
    options.tuning.block_bytes = 600;
    options.tuning.block_rows = 64;
    options.tuning.run_file_bytes = 4000;
    options
}

fn spec() -> TableSpec {
    TableSpec::new("t")
        .column("id", DataType::Int8)
        .column("a", DataType::Int4)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
}

fn rows(ids: impl Iterator<Item = i64>) -> Batch {
    let ids: Vec<i64> = ids.collect();
    let n = ids.len();
    let a = ids.iter().map(|id| id * 7919 % 1000).collect();
    let int = |v| Column { data: Vector::Int(v), nulls: None };
    Batch { columns: vec![int(ids), int(a)], rows: n }
}

fn part(db: &Database, table: &Table, batches: Vec<Batch>) -> Part {
    let schema = table.schema();
    let mut spill = Spill::new(Arc::clone(db.shared()), Arc::clone(&schema));
    for batch in batches {
        spill.push(batch, Vec::new()).unwrap();
    }
    let state = Arc::clone(&table.state);
    Part {
        state,
        schema,
        spill,
        marked: RoaringTreemap::new(),
        dead: RoaringTreemap::new(),
        counter_only: false,
        changed: Vec::new(),
        indexes: None,
    }
}

fn adopt_all(db: &Database, parts: Vec<Part>) -> Result<Csn> {
    commit(db.shared(), parts, Further::default())
}

/// Keys of the live rows, after scan and indexes were found to agree.
fn keys(db: &Database) -> Vec<i64> {
    let table = db.table("t").unwrap();
    let snapshot = db.snapshot().unwrap();
    let ids = |rows: Vec<onlap_format::Row>| {
        let mut ids: Vec<i64> = rows
            .iter()
            .map(|row| match row[0] {
                Value::Int(id) => id,
                _ => panic!("an integer"),
            })
            .collect();
        ids.sort_unstable();
        ids
    };
    let scanned = ids(snapshot.scan(&table, Scan::all()).unwrap().rows().unwrap());
    for index in ["by_a", "t_pkey"] {
        let Some(index) = table.schema().index_by_name(index).map(|i| i.name.clone()) else {
            continue;
        };
        let found = snapshot.index_scan(&table, &index, KeyRange::all(), Scan::all()).unwrap();
        assert_eq!(ids(found.rows().unwrap()), scanned, "{index}");
    }
    assert_eq!(snapshot.count(&table).unwrap(), scanned.len() as u64);
    for id in scanned.iter().step_by(97) {
        let row = snapshot.get(&table, &[Value::Int(*id)], None).unwrap().unwrap();
        assert_eq!(row[1], Value::Int(id * 7919 % 1000));
    }
    scanned
}

fn files(fs: &Arc<dyn Fs>) -> usize {
    let names = fs.list(Path::new("/db")).unwrap();
    names
        .iter()
        .filter(|n| n.ends_with(".seg") || n.ends_with(".run") || n.ends_with(".mrk"))
        .count()
}

fn checked(fs: &Arc<dyn Fs>) {
    let options = CheckOptions { options: options(fs) };
    let report = check("/db", &options).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[test]
fn rows_in_files_become_rows_of_the_table() {
    let fs: Arc<dyn Fs> = Arc::new(MemFs::new());
    let db = Database::open("/db", options(&fs)).unwrap();
    let table = db.create_table(spec()).unwrap();
    table.insert_batch(rows(5..105)).unwrap();
    let before = db.snapshot().unwrap();
    let big = part(&db, &table, vec![rows(1000..3000), rows(3000..3005), rows(200..900)]);
    table.insert_batch(rows(105..110)).unwrap();
    let csn = adopt_all(&db, vec![big]).unwrap();
    assert_eq!(csn, db.shared().snapshots.published());
    assert_eq!(before.count(&table).unwrap(), 100);
    let expected: Vec<i64> = (5..110).chain(200..900).chain(1000..3005).collect();
    assert_eq!(keys(&db), expected);
    table.insert_batch(rows(110..115)).unwrap();
    assert_eq!(table.insert_batch(rows(2000..2001)).unwrap_err().kind(), ErrorKind::DuplicateKey);
    let expected: Vec<i64> = (5..115).chain(200..900).chain(1000..3005).collect();
    assert_eq!(keys(&db), expected);
    drop(before);
    // Without a close: what is in the log goes on behind the adopted rows.
    drop((table, db));
    let db = Database::open("/db", options(&fs)).unwrap();
    assert_eq!(keys(&db), expected);
    let table = db.table("t").unwrap();
    table.delete(&[Value::Int(2500)]).unwrap();
    db.settle().unwrap();
    assert_eq!(keys(&db).len(), expected.len() - 1);
    drop(table);
    db.close().unwrap();
    checked(&fs);
}

#[test]
fn files_go_with_a_transaction_that_does_not_commit() {
    let fs: Arc<dyn Fs> = Arc::new(MemFs::new());
    let db = Database::open("/db", options(&fs)).unwrap();
    let table = db.create_table(spec()).unwrap();
    table.insert_batch(rows(0..100)).unwrap();
    db.settle().unwrap();
    let before = files(&fs);
    let mut big = part(&db, &table, vec![rows(1000..3000), rows(3000..3005)]);
    big.spill.wait().unwrap();
    assert!(files(&fs) > before);
    drop(big);
    assert_eq!(files(&fs), before);
    // Its keys are there already, or stand twice.
    for batches in [vec![rows(1000..1010), rows(50..51)], vec![rows(1000..1010), rows(1005..1006)]]
    {
        let e = adopt_all(&db, vec![part(&db, &table, batches)]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::DuplicateKey);
    }
    db.settle().unwrap();
    assert_eq!(files(&fs), before);
    let big = part(&db, &table, vec![rows(1000..1010)]);
    db.drop_table("t").unwrap();
    assert_eq!(adopt_all(&db, vec![big]).unwrap_err().kind(), ErrorKind::UnknownTable);
}

#[test]
fn a_transaction_replaces_rows_and_loses_some_of_its_own() {
    let fs: Arc<dyn Fs> = Arc::new(MemFs::new());
    let db = Database::open("/db", options(&fs)).unwrap();
    let table = db.create_table(spec()).unwrap();
    table.insert_batch(rows(0..1000)).unwrap();
    let old = db.snapshot().unwrap();
    let mut big = part(&db, &table, vec![rows(0..500), rows(0..500), rows(2000..2100)]);
    // The first version of each key died again; rows 0 to 499 are replaced, 700 to 799 deleted.
    big.dead = (0..500).collect();
    big.marked = (0..500).chain(700..800).collect();
    let mark = |row, successor| Mark { row, csn: 1, successor };
    let replaced = (0..500).map(|row| mark(row, Some(row)));
    let marks = replaced.chain((700..800).map(|row| mark(row, None))).collect();
    let own = (0..500).map(|row| mark(row, Some(500 + row))).collect();
    big.spill.push_marks(marks, own, Vec::new()).unwrap();
    let csn = adopt_all(&db, vec![big]).unwrap();
    let expected: Vec<i64> = (0..700).chain(800..1000).chain(2000..2100).collect();
    assert_eq!(keys(&db), expected);
    let view = table.state.view();
    assert_eq!(view.mark_of(3).unwrap(), Some((csn, Some(1003))));
    assert_eq!(view.mark_of(1003).unwrap(), Some((csn, Some(1503))));
    assert_eq!(view.mark_of(1503).unwrap(), None);
    assert_eq!(old.count(&table).unwrap(), 1000);
    drop(view);

    // Who marks one of the same rows is too late.
    let mut late = part(&db, &table, vec![rows(3000..3001)]);
    late.marked = [600].into_iter().collect();
    late.spill
        .push_marks(vec![Mark { row: 600, csn: 1, successor: None }], Vec::new(), Vec::new())
        .unwrap();
    table.delete(&[Value::Int(600)]).unwrap();
    assert_eq!(adopt_all(&db, vec![late]).unwrap_err().kind(), ErrorKind::Conflict);
    drop((old, table));
    db.settle().unwrap();
    db.close().unwrap();
    checked(&fs);
    let db = Database::open("/db", options(&fs)).unwrap();
    assert_eq!(keys(&db), expected.into_iter().filter(|k| *k != 600).collect::<Vec<_>>());
}
