//! A table used as a queue: scans from its start do not look at what was worked off long ago.

use onlap::{
    DataType, Database, Options, ReadCounters, Scan, Snapshot, SyncMode, Table, TableSpec, Value,
};

const ROWS: i64 = 6000;

fn open(dir: &tempfile::TempDir) -> (Database, Table) {
    let mut options = Options::default().sync(SyncMode::Os);
    options.tuning.block_rows = 150;
    let db = Database::open(dir.path(), options).unwrap();
    let spec = TableSpec::new("jobs")
        .column("id", DataType::Int8)
        .column("what", DataType::Text)
        .primary_key(["id"]);
    let table = db.create_table(spec).unwrap();
    (db, table)
}

fn insert(table: &Table, ids: std::ops::Range<i64>) {
    let text =
        |id: i64| Value::Text(format!("{:032x}", ((id as u128 + 1) << 90) | (77 * id as u128)));
    table.insert_many(ids.map(|id| vec![Value::Int(id), text(id)])).unwrap();
}

fn delete(db: &Database, table: &Table, ids: std::ops::Range<i64>) {
    let mut tx = db.begin().unwrap();
    for id in ids {
        assert!(tx.delete(table, &[Value::Int(id)]).unwrap());
    }
    tx.commit().unwrap();
}

/// Ids that a scan finds, and what it read.
fn scan(snapshot: &Snapshot, table: &Table, scan: Scan) -> (Vec<i64>, ReadCounters) {
    let mut rows = snapshot.scan(table, scan.columns(["id"])).unwrap();
    let mut ids = Vec::new();
    for batch in &mut rows {
        let batch = batch.unwrap();
        ids.extend((0..batch.len()).map(|i| match batch.value(i, 0) {
            Value::Int(id) => id,
            other => panic!("{other:?}"),
        }));
    }
    (ids, rows.counters())
}

#[test]
fn a_scan_from_the_start_reads_dead_blocks_once() {
    let dir = tempfile::tempdir().unwrap();
    let (db, table) = open(&dir);
    for part in 0..3 {
        insert(&table, part * ROWS / 3..(part + 1) * ROWS / 3);
        db.flush().unwrap();
    }
    let old = db.snapshot().unwrap();
    let (all, whole) = scan(&old, &table, Scan::all());
    assert_eq!(all.len() as i64, ROWS);
    assert!(whole.blocks_read > 20, "{whole:?}");

    // A segment and a half are dead.
    delete(&db, &table, 0..ROWS / 2);
    let left: Vec<i64> = (ROWS / 2..ROWS).collect();
    let now = db.snapshot().unwrap();
    let (ids, first) = scan(&now, &table, Scan::all());
    assert_eq!(ids, left);
    assert_eq!(first.blocks_read, whole.blocks_read, "nobody knew");
    for snapshot in [&now, &db.snapshot().unwrap()] {
        let (ids, again) = scan(snapshot, &table, Scan::all());
        assert_eq!(ids, left);
        assert!(again.blocks_read <= first.blocks_read / 2 + 1, "{again:?} of {first:?}");
        let (mut ids, back) = scan(snapshot, &table, Scan::all().reverse());
        ids.reverse();
        assert_eq!((ids, back.blocks_read), (left.clone(), again.blocks_read));
        let (ids, head) = scan(snapshot, &table, Scan::all().limit(1));
        assert_eq!(ids, left[..1]);
        assert_eq!(head.blocks_read, 1);
    }

    // An older snapshot sees the rows as before, and takes nothing from the newer ones.
    assert_eq!(scan(&old, &table, Scan::all()), (all, whole));
    let (ids, _) = scan(&now, &table, Scan::all());
    assert_eq!(ids, left);

    // Marks in files say the same as marks in memory did.
    db.flush().unwrap();
    delete(&db, &table, ROWS / 2..ROWS);
    insert(&table, ROWS..ROWS + 3);
    let last = db.snapshot().unwrap();
    let three: Vec<i64> = (ROWS..ROWS + 3).collect();
    assert_eq!(scan(&last, &table, Scan::all()).0, three);
    let (ids, again) = scan(&last, &table, Scan::all());
    assert_eq!((ids, again.blocks_read), (three, 0));
    assert_eq!(scan(&now, &table, Scan::all()).0, left);
}
