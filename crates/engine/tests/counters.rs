//! What statements read, as they count it themselves.

use onlap::{
    DataType, Database, IndexSpec, Isolation, KeyRange, Options, Predicate, ReadCounters, Scan,
    SyncMode, Table, TableSpec, TransactionOptions, Value,
};
use onlap_base::tasks::{Tasks, ThreadTasks};

const ROWS: i64 = 20_000;

/// Ids come in no order, so that filters are asked.
fn id(i: i64) -> Value {
    Value::Int(i * 7919 % ROWS)
}

fn open(dir: &tempfile::TempDir) -> (Database, Table) {
    let db = Database::open(dir.path(), Options::default().sync(SyncMode::Os)).unwrap();
    let spec = TableSpec::new("t")
        .column("id", DataType::Int8)
        .column("a", DataType::Int4)
        .column("b", DataType::Int4)
        .primary_key(["id"])
        .index(IndexSpec::new("xa", ["a"]));
    let table = db.create_table(spec).unwrap();
    for from in [0, ROWS / 2] {
        let row = |i| [id(i), Value::Int(i as i32 as i64 % 1000), Value::Int(0)];
        table.insert_many((from..from + ROWS / 2).map(row)).unwrap();
        db.flush().unwrap();
    }
    (db, table)
}

fn read(index_entries_read: u64, rows_read: u64, blocks_read: u64) -> ReadCounters {
    ReadCounters { index_entries_read, rows_read, blocks_read, ..ReadCounters::default() }
}

#[test]
fn a_statement_counts_what_it_alone_reads() {
    let dir = tempfile::tempdir().unwrap();
    let (db, table) = open(&dir);
    let mut tx = db.begin().unwrap();
    let total = db.stats().unwrap().reads;
    assert_eq!(tx.statement_counters(), ReadCounters::default());

    assert!(tx.delete(&table, &[id(5)]).unwrap());
    let delete = tx.statement_counters();
    assert_eq!(ReadCounters { filter_probes: 0, ..delete }, read(1, 0, 0), "no row is read");
    assert!((1..=2).contains(&delete.filter_probes), "{delete:?}");

    assert!(tx.update(&table, &[id(6)], &[("a", Value::Int(-1))]).unwrap());
    let update = tx.statement_counters();
    assert_eq!(ReadCounters { filter_probes: 0, ..update }, read(1, 1, 1), "the row is read");

    let wanted = Predicate::index("xa", KeyRange::eq([Value::Int(7)]));
    let rows = tx.row_set(&table, &wanted).unwrap();
    assert_eq!(tx.statement_counters(), read(20, 0, 0));
    assert_eq!(rows.len(), 20);
    assert_eq!(tx.delete_rows(&table, &rows.rows()).unwrap(), 20);
    assert_eq!(tx.statement_counters(), ReadCounters::default(), "ids are enough");

    tx.insert(&table, &[Value::Int(-3), Value::Int(0), Value::Int(0)]).unwrap();
    let insert = tx.statement_counters();
    assert_eq!(ReadCounters { filter_probes: 0, ..insert }, ReadCounters::default());
    assert!(insert.filter_probes > 0, "the key is looked for");
    tx.insert(&table, &[Value::Int(ROWS + 1), Value::Int(0), Value::Int(0)]).unwrap();
    assert_eq!(tx.statement_counters(), ReadCounters::default(), "it lies above all others");

    let mut scan = tx.scan(&table, Scan::all()).unwrap();
    scan.next().unwrap().unwrap();
    let first = tx.statement_counters();
    assert!(first.rows_read > 0 && first.rows_read < ROWS as u64 / 2);
    assert_eq!(tx.count(&table).unwrap(), ROWS as u64 - 21 + 2);
    let before = tx.statement_counters();
    let rest: usize = scan.map(|batch| batch.unwrap().len()).sum();
    assert!(rest > 0);
    assert_eq!(tx.statement_counters(), before, "a scan counts towards its own statement");

    let all = db.stats().unwrap().reads;
    assert!(all.filter_probes >= total.filter_probes + delete.filter_probes + insert.filter_probes);
    assert!(all.rows_read >= total.rows_read + ROWS as u64 - 21);
}

#[test]
fn a_lookup_that_misses_asks_filters_only() {
    let dir = tempfile::tempdir().unwrap();
    let (db, table) = open(&dir);
    let before = db.stats().unwrap().reads;
    let snapshot = db.snapshot().unwrap();
    for i in 0..ROWS {
        assert!(snapshot.get(&table, &[id(i)], None).unwrap().is_some());
    }
    let after = db.stats().unwrap().reads;
    assert_eq!(after.rows_read - before.rows_read, ROWS as u64);
    assert_eq!(after.index_entries_read - before.index_entries_read, ROWS as u64);
    let probes = after.filter_probes - before.filter_probes;
    assert!((ROWS as u64..=2 * ROWS as u64).contains(&probes), "{probes}");
}

#[test]
fn a_row_that_changed_meanwhile_is_counted_once() {
    let dir = tempfile::tempdir().unwrap();
    let (db, table) = open(&dir);
    let mut first = db.begin().unwrap();
    assert!(first.update(&table, &[id(9)], &[("b", Value::Int(1))]).unwrap());
    let other = {
        let (db, table) = (db.clone(), table.clone());
        move || {
            let options = TransactionOptions::at(Isolation::ReadCommitted);
            let mut tx = db.begin_with(options).unwrap();
            assert!(tx.update(&table, &[id(9)], &[("b", Value::Int(2))]).unwrap());
            let counters = tx.statement_counters();
            tx.commit().unwrap();
            assert_eq!(counters.rechecks, 1);
            assert_eq!(counters.rows_read, 0, "nothing depends on b");
        }
    };
    let waits = db.stats().unwrap().transactions.lock_waits;
    let other = ThreadTasks::new().spawn("other", Box::new(other));
    while db.stats().unwrap().transactions.lock_waits == waits {
        ThreadTasks::new().yield_now();
    }
    first.commit().unwrap();
    other.join().unwrap();
    assert_eq!(db.stats().unwrap().reads.rechecks, 1);
}
