//! Are rows of tables without columns counted, kept and deleted as others?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use onlap::{
    Batch, CheckOptions, DataType, Database, Options, Predicate, Scan, SyncMode, Table,
    TableChanges, TableSpec, Value, check,
};

fn options(memtable: usize, spill: Option<u64>) -> Options {
    let mut options = Options::default().sync(SyncMode::Os);
    options.tuning.memtable_bytes = Some(memtable);
    options.tuning.spill_bytes = spill;
    options
}

fn rows(n: usize) -> Batch {
    Batch { columns: Vec::new(), rows: n }
}

fn count(db: &Database, table: &Table) -> u64 {
    let snapshot = db.snapshot().unwrap();
    let scanned: usize = snapshot.scan(table, Scan::all()).unwrap().map(|b| b.unwrap().len()).sum();
    let counted = snapshot.count(table).unwrap();
    assert_eq!(scanned as u64, counted);
    counted
}

#[test]
fn rows_survive_as_they_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    for (flush, spill) in [(false, None), (true, None), (true, Some(16 << 10))] {
        let open = || Database::open(dir.path(), options(64 << 10, spill)).unwrap();
        let db = open();
        let table = db.create_table(TableSpec::new("t")).unwrap();
        table.insert(&[]).unwrap();
        // Of these the memtable is filled several times.
        for n in [11, 12, 5000, 100_000, 70_000] {
            table.insert_batch(rows(n)).unwrap();
        }
        let mut tx = db.begin().unwrap();
        tx.insert_batch(&table, rows(30_000)).unwrap();
        tx.insert(&table, &[]).unwrap();
        assert_eq!(tx.count(&table).unwrap(), 205_025);
        tx.rollback();
        assert_eq!(count(&db, &table), 175_024);
        if flush {
            db.flush().unwrap();
        }
        drop((table, db));
        let db = open();
        let table = db.table("t").unwrap();
        assert_eq!(count(&db, &table), 175_024);
        let ids: Vec<u64> = {
            let snapshot = db.snapshot().unwrap();
            let batches = snapshot.scan(&table, Scan::all()).unwrap();
            batches.flat_map(|batch| batch.unwrap().row_ids).collect()
        };
        let mut tx = db.begin().unwrap();
        let half: Vec<u64> = ids.iter().copied().step_by(2).collect();
        assert_eq!(tx.delete_rows(&table, &half).unwrap(), half.len() as u64);
        tx.commit().unwrap();
        assert_eq!(count(&db, &table), 175_024 / 2);
        if flush {
            db.flush().unwrap();
        }
        drop((table, db));
        let db = open();
        let table = db.table("t").unwrap();
        assert_eq!(count(&db, &table), 175_024 / 2);
        let mut tx = db.begin().unwrap();
        assert_eq!(tx.delete_where(&table, &Predicate::All).unwrap(), 175_024 / 2);
        tx.commit().unwrap();
        assert_eq!(count(&db, &table), 0);
        db.drop_table("t").unwrap();
        drop((table, db));
        let found = check(dir.path(), &CheckOptions { options: Options::default() }).unwrap();
        assert!(found.findings.is_empty(), "{:?}", found.findings);
    }
}

#[test]
fn columns_go_and_come() {
    for flush in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let db = Database::open(dir.path(), options(64 << 10, None)).unwrap();
        let table = db.create_table(TableSpec::new("t").column("a", DataType::Int8)).unwrap();
        let pause = || {
            if flush {
                db.flush().unwrap();
            }
        };
        for n in 0..100 {
            table.insert(&[Value::Int(n)]).unwrap();
        }
        pause();
        db.alter_table("t", &TableChanges::new().drop_column("a")).unwrap();
        table.insert_batch(rows(50)).unwrap();
        pause();
        assert_eq!(count(&db, &table), 150);
        let added = TableChanges::new().add_column("b", DataType::Int8, Some(Value::Int(7)));
        db.alter_table("t", &added).unwrap();
        table.insert(&[Value::Int(8)]).unwrap();
        pause();
        let snapshot = db.snapshot().unwrap();
        let mut sum = 0;
        for batch in snapshot.scan(&table, Scan::all()).unwrap() {
            let batch = batch.unwrap();
            for at in 0..batch.len() {
                let Value::Int(value) = batch.row(at)[0] else { panic!("an integer") };
                sum += value;
            }
        }
        assert_eq!(sum, 150 * 7 + 8);
    }
}
