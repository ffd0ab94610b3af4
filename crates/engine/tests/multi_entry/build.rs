//! Do indexes that come to a table with rows, and go, have the entries of all of them?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use onlap::{
    DataType, Database, ErrorKind, IndexSpec, KeyRange, Options, Predicate, TableChanges, Value,
    WhichTable, entries,
};
use onlap_base::rng::Rng;
use onlap_vfs::{Fault, FaultFs, MemFs};

use super::double::{
    DIR, Double, agree, by_high_words, by_words, check, indexes, key, open, options, row, spec,
    words,
};
use super::follow::scribble;

#[test]
fn built_next_to_writers() {
    let disk = MemFs::new();
    let db = open(&disk);
    let table = db.create_table(spec()).unwrap();
    let mut rng = Rng::new(7);
    let rows: Vec<_> = (1..3000).map(|id| row(id, &mut rng)).collect();
    table.insert_many(rows).unwrap();
    db.flush().unwrap();
    for round in 0..3 {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let (db, table, stop) = (&db, &table, &stop);
            scope.spawn(move || {
                let (mut rng, mut next) = (Rng::new(round), 10_000 * (round as i64 + 1));
                while !stop.load(Ordering::Relaxed) {
                    // A large transaction next to a change of columns is to be run again.
                    if let Err(e) = scribble(db, table, &mut rng, &mut next, false) {
                        assert_eq!(e.kind(), ErrorKind::Conflict, "{e}");
                    }
                }
            });
            let older = db.snapshot().unwrap();
            let built = db.create_indexes("t", indexes());
            stop.store(true, Ordering::Relaxed);
            built.unwrap();
            drop(older);
        });
        agree(&mut db.snapshot().unwrap(), &table);
        for index in indexes() {
            db.drop_index("t", index.name()).unwrap();
        }
        assert_eq!(table.schema().derived, []);
    }
    db.create_indexes("t", indexes()).unwrap();
    drop(table);
    db.close().unwrap();
    check(&disk);
}

#[test]
fn created_by_transactions_with_rows_of_their_own() {
    let disk = MemFs::new();
    let db = open(&disk);
    let mut rng = Rng::new(8);
    let table = db.create_table(spec()).unwrap();
    table.insert_many((1..400).map(|id| row(id, &mut rng)).collect::<Vec<_>>()).unwrap();
    let mut tx = db.begin().unwrap();
    tx.insert(&table, &row(400, &mut rng)).unwrap();
    let before = tx.savepoint();
    tx.create_index(&table, by_words()).unwrap();
    // More than fits a transaction's memory.
    for id in 401..1400 {
        tx.insert(&table, &row(id, &mut rng)).unwrap();
    }
    let found = tx.row_set(&table, &Predicate::index("by_word", key(b"w1"))).unwrap();
    assert!(found.len() > 50, "{}", found.len());
    tx.rollback_to(&before).unwrap();
    tx.create_index(&table, by_words()).unwrap();
    tx.create_index(&table, by_high_words()).unwrap();
    for id in 401..800 {
        tx.insert(&table, &row(id, &mut rng)).unwrap();
    }
    assert!(tx.delete(&table, &[Value::Int(5)]).unwrap());
    tx.commit().unwrap();
    agree(&mut db.snapshot().unwrap(), &table);
    let mut tx = db.begin().unwrap();
    tx.drop_index(&table, "by_word").unwrap();
    drop(tx);
    agree(&mut db.snapshot().unwrap(), &table);
    assert_eq!(table.schema().indexes.iter().filter(|i| i.multi_entry).count(), 2);
    drop(table);
    db.close().unwrap();
    check(&disk);
}

/// A table comes with its index, and rows by every way before its first flush.
#[test]
fn from_the_first_row_on() {
    let disk = MemFs::new();
    let db = open(&disk);
    let mut rng = Rng::new(9);
    let table = db.create_table(spec().index(by_words())).unwrap();
    for id in 1..60 {
        table.insert(&row(id, &mut rng)).unwrap();
        if id % 7 == 0 {
            agree(&mut db.snapshot().unwrap(), &table);
        }
    }
    drop(table);
    drop(db);
    let db = open(&disk);
    agree(&mut db.snapshot().unwrap(), &db.table("t").unwrap());
    db.close().unwrap();
    check(&disk);
}

#[test]
fn columns_and_rows_go() {
    let disk = MemFs::new();
    let db = open(&disk);
    let mut rng = Rng::new(10);
    let table = db.create_table(spec()).unwrap();
    db.create_indexes("t", indexes()).unwrap();
    table.insert_many((1..500).map(|id| row(id, &mut rng)).collect::<Vec<_>>()).unwrap();
    db.flush().unwrap();
    let older = db.snapshot().unwrap();
    table.retain("id", &Value::Int(200)).unwrap();
    agree(&mut db.snapshot().unwrap(), &table);
    agree(&mut older.clone(), &table);
    drop(older);
    let kept = TableChanges::new().set_type("text", DataType::Varchar(4000));
    let refused = db.alter_table("t", &kept).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InUse);
    db.truncate_table("t").unwrap();
    let snapshot = db.snapshot().unwrap();
    assert_eq!(snapshot.index_count(&table, "by_word", KeyRange::all()).unwrap(), 0);
    drop(snapshot);
    table.insert_many((500..700).map(|id| row(id, &mut rng)).collect::<Vec<_>>()).unwrap();
    agree(&mut db.snapshot().unwrap(), &table);
    db.alter_table("t", &TableChanges::new().drop_column_cascade("text")).unwrap();
    assert!(table.schema().indexes.iter().all(|i| !i.multi_entry));
    assert_eq!(table.schema().derived, []);
    drop(table);
    db.close().unwrap();
    check(&disk);
}

/// Rows from before the index that have more than it takes are the build's error, and then gone.
#[test]
fn a_build_names_what_no_list_can_hold() {
    let disk = MemFs::new();
    let db = open(&disk);
    let mut rng = Rng::new(11);
    let table = db.create_table(spec()).unwrap();
    table.insert_many((1..50).map(|id| row(id, &mut rng)).collect::<Vec<_>>()).unwrap();
    let long = "x".repeat(entries::KEY_BYTES + 1);
    let wrong = vec![Value::Int(50), Value::Text(long), Value::Int(1), Value::Null];
    table.insert(&wrong).unwrap();
    let refused = db.create_index("t", by_words()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    assert_eq!(table.schema().derived, []);
    // The partial one does not calculate it.
    db.create_index("t", by_high_words()).unwrap();
    table.delete(&[Value::Int(50)]).unwrap();
    db.create_index("t", by_words()).unwrap();
    agree(&mut db.snapshot().unwrap(), &table);
    let refused = table.insert(&wrong).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    let which: WhichTable<'_> = "t".into();
    let refused = db.create_index(which, IndexSpec::new("twice", ["id"]).entries(words()));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidInput);
    drop(table);
    db.close().unwrap();
    check(&disk);
}

/// Rows that a large transaction brings lie in files before a build has seen them, in more runs than one.
#[test]
fn a_large_transaction_commits_next_to_a_build() {
    let disk = MemFs::new();
    let db = open(&disk);
    let mut rng = Rng::new(12);
    let table = db.create_table(spec()).unwrap();
    let rows: Vec<_> = (1..20_000).map(|id| row(id, &mut rng)).collect();
    table.insert_many(rows).unwrap();
    db.flush().unwrap();
    // The columns are there, so that none of the builds changes them.
    let kept = IndexSpec::new("kept", [] as [&str; 0]);
    db.create_index("t", kept.entries(words())).unwrap();
    for round in 1..5 {
        let mut tx = db.begin().unwrap();
        for id in 0..3000 {
            tx.insert(&table, &row(100_000 * round + id, &mut rng)).unwrap();
        }
        thread::scope(|scope| {
            let built = scope.spawn(|| db.create_index("t", by_words()));
            thread::sleep(std::time::Duration::from_millis(15 * round as u64));
            if let Err(e) = tx.commit() {
                // It came to the very end of the build.
                assert_eq!(e.kind(), ErrorKind::Conflict, "{e}");
            }
            built.join().unwrap().unwrap();
        });
        agree(&mut db.snapshot().unwrap(), &table);
        db.drop_index("t", "by_word").unwrap();
    }
}

#[test]
fn the_power_goes_while_it_is_built() {
    let disk = MemFs::new();
    {
        let db = open(&disk);
        let mut rng = Rng::new(13);
        let table = db.create_table(spec()).unwrap();
        table.insert_many((1..200).map(|id| row(id, &mut rng)).collect::<Vec<_>>()).unwrap();
        db.flush().unwrap();
        table.insert_many((200..230).map(|id| row(id, &mut rng)).collect::<Vec<_>>()).unwrap();
        drop(table);
        db.close().unwrap();
    }
    for n in 0.. {
        let before = disk.crash(n, 1.0);
        let fs = FaultFs::new(Arc::new(before.clone()));
        let db =
            Database::open(DIR, Options { fs: Arc::new(fs.clone()), ..options(&disk) }).unwrap();
        db.set_formulas(Arc::new(Double));
        fs.fail(Fault::any().after(n).for_ever().torn());
        let built = db.create_indexes("t", indexes());
        drop(db);
        if fs.struck() == 0 {
            built.unwrap();
            break;
        }
        let after = before.crash(n, [0.0, 0.5, 1.0][n as usize % 3]);
        let db = open(&after);
        let table = db.table("t").unwrap();
        assert_eq!(db.snapshot().unwrap().count(&table).unwrap(), 229);
        agree(&mut db.snapshot().unwrap(), &table);
        let there = table.schema().indexes.iter().filter(|i| i.multi_entry).count();
        assert!(there == 2 || there == 0 && built.is_err(), "{there}");
        drop(table);
        db.close().unwrap();
        check(&after);
    }
}

#[test]
fn a_backup_has_the_entries() {
    let disk = MemFs::new();
    let db = open(&disk);
    let mut rng = Rng::new(14);
    let table = db.create_table(spec()).unwrap();
    db.create_indexes("t", indexes()).unwrap();
    table.insert_many((1..400).map(|id| row(id, &mut rng)).collect::<Vec<_>>()).unwrap();
    db.flush().unwrap();
    table.insert_many((400..450).map(|id| row(id, &mut rng)).collect::<Vec<_>>()).unwrap();
    db.backup("/backup").unwrap();
    let copy = Database::open("/backup", options(&disk)).unwrap();
    copy.set_formulas(Arc::new(Double));
    let table = copy.table("t").unwrap();
    assert_eq!(copy.snapshot().unwrap().count(&table).unwrap(), 449);
    agree(&mut copy.snapshot().unwrap(), &table);
}
