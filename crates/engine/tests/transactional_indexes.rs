//! What does anybody see of a transaction that creates and drops indexes, between changes of rows?
//!
//! Nothing before its commit and all of it after; nothing, not even a file, after a rollback, a refused
//! commit or a power cut at any operation. The transaction itself reads through a new index from the
//! statement on that creates it.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/power.rs"]
mod power;
mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use onlap::{
    DataType, Database, ErrorKind, IndexSpec, Isolation, KeyRange, Result, Row, Rule, Scan,
    SyncMode, Table, TableSpec, Transaction, TransactionOptions, Value,
};
use onlap_vfs::{Fault, FaultFs, Fs, MemFs};
use power::{DIR, assert_checked, cut_at_each_operation, open};
use support::{agreed_rows, integer, small_options};

fn open_without(fs: impl Fs + 'static, rule: Option<Rule>) -> Result<Database> {
    let mut options = small_options(SyncMode::Fsync);
    options.fs = Arc::new(fs);
    options.tuning.without = rule;
    Database::open(DIR, options)
}

fn spec(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column("id", DataType::Int8)
        .column("n", DataType::Int4)
        .column("code", DataType::Int8)
        .nullable_column("note", DataType::Text)
        .primary_key(["id"])
        .index(IndexSpec::new("by_n", ["n"]))
}

/// Different `n` for every row in ten, a `code` of its own for each.
fn row(id: i64) -> Row {
    let note = if id % 3 == 0 { Value::Null } else { Value::Text(format!("note {id}")) };
    // Scattered codes, different for every id below 2^31.
    vec![
        Value::Int(id),
        Value::Int(id * 7 % 10),
        Value::Int((id * 2_654_435_761) % (1 << 31)),
        note,
    ]
}

fn twin(id: i64, of: i64) -> Row {
    let mut twin = row(id);
    twin[2] = row(of)[2].clone();
    twin
}

fn by_code() -> IndexSpec {
    IndexSpec::new("by_code", ["code"]).unique()
}

fn by_note() -> IndexSpec {
    IndexSpec::new("by_note", ["note", "n"]).descending("n").include(["code"])
}

fn key(id: i64) -> [Value; 1] {
    [Value::Int(id)]
}

fn filled(fs: impl Fs + 'static, rows: i64) -> (Database, Table) {
    let db = open(fs).unwrap();
    let table = db.create_table(spec("t")).unwrap();
    table.insert_many((0..rows).map(row)).unwrap();
    (db, table)
}

fn index_names(table: &Table) -> Vec<String> {
    table.schema().indexes.iter().map(|i| i.name.clone()).collect()
}

fn files(disk: &MemFs) -> Vec<String> {
    let mut names = disk.list(Path::new("/db")).unwrap();
    names.retain(|n| [".seg", ".run", ".mrk"].iter().any(|end| n.ends_with(end)));
    names.sort();
    names
}

/// Rows as the transaction sees them, by scan and through each of the indexes.
fn own_rows(tx: &mut Transaction, table: &Table, indexes: &[&str]) -> Vec<Row> {
    let sorted = |mut rows: Vec<Row>| {
        rows.sort_by_key(|row| integer(&row[0]));
        rows
    };
    let rows = sorted(tx.scan(table, Scan::all()).unwrap().rows().unwrap());
    for index in indexes {
        let found = tx.index_scan(table, index, KeyRange::all(), Scan::all()).unwrap();
        assert!(sorted(found.rows().unwrap()) == rows, "{index} shows other rows");
        let n = tx.index_count(table, index, KeyRange::all()).unwrap();
        assert_eq!(n, rows.len() as u64, "count by {index}");
    }
    rows
}

/// Changes of every kind, which the model follows.
fn change(tx: &mut Transaction, table: &Table, from: i64, model: &mut Vec<Row>) {
    for id in from..from + 150 {
        tx.insert(table, &row(id)).unwrap();
        model.push(row(id));
    }
    for id in (0..from + 150).step_by(7) {
        let there = model.iter_mut().find(|row| row[0] == Value::Int(id));
        let found = tx.update(table, &key(id), &[("n", Value::Int(77))]).unwrap();
        assert_eq!(found, there.is_some());
        there.into_iter().for_each(|row| row[1] = Value::Int(77));
    }
    for id in (3..from + 150).step_by(11) {
        let before = model.len();
        model.retain(|row| row[0] != Value::Int(id));
        assert_eq!(tx.delete(table, &key(id)).unwrap(), model.len() < before);
    }
}

#[test]
fn indexes_come_with_the_changes_of_their_transaction() {
    use Isolation::{ReadCommitted, RepeatableRead, Serializable};
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        let disk = MemFs::new();
        let (db, table) = filled(disk.clone(), 300);
        let mut model: Vec<Row> = (0..300).map(row).collect();
        let mut tx = db.begin_with(TransactionOptions::at(level)).unwrap();
        change(&mut tx, &table, 300, &mut model);
        tx.create_index(&table, by_code()).unwrap();
        assert!(own_rows(&mut tx, &table, &["by_n", "by_code"]) == model, "{level:?}");
        change(&mut tx, &table, 450, &mut model);
        tx.create_index(&table, by_note()).unwrap();
        change(&mut tx, &table, 600, &mut model);
        assert!(own_rows(&mut tx, &table, &["by_n", "by_code", "by_note"]) == model);
        let code = [row(601)[2].clone()];
        assert_eq!(tx.get_by(&table, "by_code", &code, None).unwrap(), Some(row(601)));
        let e = tx.create_index(&table, by_note()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::AlreadyExists);
        // Others see nothing of it.
        assert_eq!(index_names(&table), ["t_pkey", "by_n"]);
        let before = db.snapshot().unwrap();
        let e = before.index_count(&table, "by_code", KeyRange::all()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::UnknownIndex);
        tx.commit().unwrap();
        assert_eq!(index_names(&table), ["t_pkey", "by_n", "by_code", "by_note"]);
        assert!(agreed_rows(&db, "t").unwrap() == model, "{level:?}");
        // The older snapshot reads through them too.
        assert_eq!(before.index_count(&table, "by_code", KeyRange::all()).unwrap(), 300);
        let e = table.insert(&twin(5000, 601)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::DuplicateKey);
        table.insert(&row(5000)).unwrap();
        drop((before, table, db));
        let db = open(disk.clone()).unwrap();
        assert_eq!(agreed_rows(&db, "t").unwrap().len(), model.len() + 1);
        db.close().unwrap();
        assert_checked(&disk);
    }
}

#[test]
fn a_unique_index_finds_equal_keys_wherever_they_are() {
    let disk = MemFs::new();
    let (db, table) = filled(disk.clone(), 200);
    table.insert(&twin(1000, 17)).unwrap();
    db.settle().unwrap();
    let before = files(&disk);
    let duplicate = |e: onlap::Error| {
        assert_eq!(e.kind(), ErrorKind::DuplicateKey);
        assert_eq!(e.kind().sqlstate(), "23505");
        assert!(e.message().contains("by_code"), "{e}");
    };
    // Committed rows; the transaction goes on.
    let mut tx = db.begin().unwrap();
    duplicate(tx.create_index(&table, by_code()).unwrap_err());
    // A committed one and an own one.
    tx.delete(&table, &key(1000)).unwrap();
    tx.insert(&table, &twin(1001, 18)).unwrap();
    duplicate(tx.create_index(&table, by_code()).unwrap_err());
    // Own ones.
    tx.update(&table, &key(1001), &[("code", Value::Int(-1))]).unwrap();
    tx.insert(&table, &twin(1002, 0)).unwrap();
    tx.update(&table, &key(1002), &[("code", Value::Int(-1))]).unwrap();
    duplicate(tx.create_index(&table, by_code()).unwrap_err());
    tx.delete(&table, &key(1001)).unwrap();
    // What the transaction has deleted, its own and others', is in nobody's way.
    tx.create_index(&table, by_code()).unwrap();
    for (id, of) in [(1003, 17), (1003, 199)] {
        duplicate(tx.insert(&table, &twin(id, of)).unwrap_err());
    }
    let mut own = row(1003);
    own[2] = Value::Int(-1);
    duplicate(tx.insert(&table, &own).unwrap_err());
    let code = [("code", row(5)[2].clone())];
    duplicate(tx.update(&table, &key(6), &code).unwrap_err());
    tx.rollback();
    assert_eq!(files(&disk), before);

    // Keys that others bring meanwhile, to the table and to each other.
    for (first, second) in [(twin(2000, 2002), None), (twin(2000, 0), Some(twin(2001, 1)))] {
        let mut tx = db.begin().unwrap();
        tx.delete(&table, &key(1000)).unwrap();
        tx.create_index(&table, by_code()).unwrap();
        tx.insert(&table, &row(2002)).unwrap();
        table.insert(&first).unwrap();
        if let Some(row) = second {
            table.insert(&row).unwrap();
        }
        duplicate(tx.commit().unwrap_err());
        assert_eq!(index_names(&table), ["t_pkey", "by_n"]);
        for id in [2000, 2001] {
            table.delete(&key(id)).unwrap();
        }
    }
    assert_eq!(agreed_rows(&db, "t").unwrap().len(), 201);
    let mut tx = db.begin().unwrap();
    tx.create_index(&table, by_note()).unwrap();
    tx.delete(&table, &key(1000)).unwrap();
    tx.create_index(&table, by_code()).unwrap();
    tx.insert(&table, &row(2002)).unwrap();
    table.insert(&row(2003)).unwrap();
    tx.commit().unwrap();
    // The row that lives is found behind one that died before.
    let found = db.snapshot().unwrap().get_by(&table, "by_code", &[row(17)[2].clone()], None);
    assert_eq!(found.unwrap(), Some(row(17)));
    duplicate(table.insert(&twin(3000, 17)).unwrap_err());
    duplicate(table.insert(&twin(3000, 2003)).unwrap_err());
    assert_eq!(agreed_rows(&db, "t").unwrap().len(), 202);
    drop(table);
    db.close().unwrap();
    assert_checked(&disk);
}

#[test]
fn columns_that_were_changed_in_place_stand_in_a_new_index() {
    for (code, unique) in [(-8, true), (-7, false)] {
        let disk = MemFs::new();
        let (db, table) = filled(disk.clone(), 100);
        let set = |code: i64| [("code", Value::Int(code))];
        table.update(&key(4), &set(-4)).unwrap();
        let mut tx = db.begin().unwrap();
        tx.update(&table, &key(5), &set(-7)).unwrap();
        let before = tx.savepoint();
        for _ in 0..2 {
            tx.rollback_to(&before).unwrap();
            tx.create_index(&table, by_code()).unwrap();
            tx.update(&table, &key(9), &set(-9)).unwrap();
            for id in [4, 9] {
                let found = tx.get_by(&table, "by_code", &key(-id), None).unwrap();
                assert_eq!(found.unwrap()[0], Value::Int(id));
            }
            let taken = tx.update(&table, &key(10), &set(-4)).unwrap_err();
            assert_eq!(taken.kind(), ErrorKind::DuplicateKey);
            own_rows(&mut tx, &table, &["by_code"]);
        }
        // Another transaction changes the column meanwhile.
        table.update(&key(6), &set(code)).unwrap();
        assert_eq!(tx.commit().is_ok(), unique, "{code}");
        let rows = agreed_rows(&db, "t").unwrap();
        assert_eq!(rows[6][2], Value::Int(code));
        assert_eq!(rows[9][2] == Value::Int(-9), unique);
        drop(table);
        db.close().unwrap();
        assert_checked(&disk);
    }
}

#[test]
fn a_dropped_index_is_gone_for_its_transaction_first() {
    let disk = MemFs::new();
    let (db, table) = filled(disk.clone(), 200);
    db.create_index("t", by_code()).unwrap();
    let mut tx = db.begin().unwrap();
    tx.insert(&table, &row(300)).unwrap();
    tx.drop_index(&table, "by_code").unwrap();
    let e = tx.index_count(&table, "by_code", KeyRange::all()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::UnknownIndex);
    assert_eq!(tx.drop_index(&table, "by_code").unwrap_err().kind(), ErrorKind::UnknownIndex);
    assert_eq!(tx.drop_index(&table, "t_pkey").unwrap_err().kind(), ErrorKind::Unsupported);
    tx.insert(&table, &twin(301, 5)).unwrap();
    own_rows(&mut tx, &table, &["t_pkey", "by_n"]);
    // Others go on with it.
    let e = table.insert(&twin(400, 5)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::DuplicateKey);
    agreed_rows(&db, "t").unwrap();
    tx.commit().unwrap();
    assert_eq!(index_names(&table), ["t_pkey", "by_n"]);
    table.insert(&twin(400, 5)).unwrap();
    // Another of the same name takes its place.
    let mut tx = db.begin().unwrap();
    tx.drop_index(&table, "by_n").unwrap();
    tx.create_index(&table, IndexSpec::new("by_n", ["code", "n"])).unwrap();
    let n = tx.index_count(&table, "by_n", KeyRange::eq([row(5)[2].clone()])).unwrap();
    assert_eq!(n, 3);
    tx.commit().unwrap();
    assert_eq!(index_names(&table), ["t_pkey", "by_n"]);
    assert_eq!(agreed_rows(&db, "t").unwrap().len(), 203);
    drop(table);
    drop(db);
    let db = open(disk.clone()).unwrap();
    assert_eq!(agreed_rows(&db, "t").unwrap().len(), 203);
    db.close().unwrap();
    assert_checked(&disk);
}

#[test]
fn savepoints_bring_indexes_back_and_take_them_away() {
    let disk = MemFs::new();
    let (db, table) = filled(disk.clone(), 100);
    let mut model: Vec<Row> = (0..100).map(row).collect();
    let mut tx = db.begin().unwrap();
    change(&mut tx, &table, 100, &mut model);
    let first = tx.savepoint();
    tx.create_index(&table, by_code()).unwrap();
    let (second, at_second) = (tx.savepoint(), model.clone());
    tx.drop_index(&table, "by_code").unwrap();
    tx.drop_index(&table, "by_n").unwrap();
    change(&mut tx, &table, 250, &mut model);
    tx.create_index(&table, by_note()).unwrap();
    change(&mut tx, &table, 400, &mut model);
    own_rows(&mut tx, &table, &["t_pkey", "by_note"]);
    tx.rollback_to(&second).unwrap();
    assert!(own_rows(&mut tx, &table, &["by_n", "by_code"]) == at_second);
    let e = tx.insert(&table, &twin(9000, 5)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::DuplicateKey);
    model = at_second.clone();
    change(&mut tx, &table, 250, &mut model);
    assert!(own_rows(&mut tx, &table, &["by_n", "by_code"]) == model);
    tx.rollback_to(&first).unwrap();
    assert!(own_rows(&mut tx, &table, &["by_n"]) == at_second);
    // The table's schema is free again.
    db.create_index("t", IndexSpec::new("other", ["n", "id"])).unwrap();
    db.drop_index("t", "other").unwrap();
    model = at_second;
    tx.rollback();

    let mut tx = db.begin().unwrap();
    let mut changed: Vec<Row> = (0..100).map(row).collect();
    tx.create_index(&table, by_code()).unwrap();
    let before = tx.savepoint();
    tx.drop_index(&table, "by_code").unwrap();
    tx.rollback_to(&before).unwrap();
    change(&mut tx, &table, 100, &mut changed);
    tx.commit().unwrap();
    assert!(changed == model);
    assert!(agreed_rows(&db, "t").unwrap() == model);
    assert_eq!(index_names(&table), ["t_pkey", "by_n", "by_code"]);
    drop(table);
    db.close().unwrap();
    assert_checked(&disk);
}

#[test]
fn what_does_not_commit_leaves_no_file() {
    let disk = MemFs::new();
    let (db, table) = filled(disk.clone(), 500);
    db.settle().unwrap();
    let before = files(&disk);
    for way in 0..3 {
        let mut tx = db.begin().unwrap();
        let mut model: Vec<Row> = (0..500).map(row).collect();
        let mark = tx.savepoint();
        change(&mut tx, &table, 500, &mut model);
        tx.create_index(&table, by_code()).unwrap();
        change(&mut tx, &table, 650, &mut model);
        tx.create_index(&table, by_note()).unwrap();
        tx.drop_index(&table, "by_n").unwrap();
        assert!(files(&disk).len() > before.len());
        match way {
            0 => tx.rollback(),
            1 => drop(tx),
            _ => {
                tx.rollback_to(&mark).unwrap();
                tx.commit().unwrap();
            }
        }
        assert_eq!(files(&disk), before, "way {way}");
        assert_eq!(index_names(&table), ["t_pkey", "by_n"]);
    }
    assert_eq!(agreed_rows(&db, "t").unwrap().len(), 500);
}

/// Tells writers to stop, also when the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn others_read_and_write_meanwhile_and_change_no_schema() {
    for level in [Isolation::ReadCommitted, Isolation::RepeatableRead] {
        let (db, table) = filled(MemFs::new(), 300);
        let stop = AtomicBool::new(false);
        let mut written = 0;
        std::thread::scope(|scope| {
            let stopping = Stop(&stop);
            let mut tx = db.begin_with(TransactionOptions::at(level)).unwrap();
            let writer = scope.spawn(|| {
                let mut id = 10_000;
                while !stop.load(Ordering::Relaxed) {
                    table.insert_many((id..id + 5).map(row)).unwrap();
                    table.update(&key(id), &[("n", Value::Int(50))]).unwrap();
                    table.delete(&key(id + 1)).unwrap();
                    id += 5;
                    std::thread::sleep(Duration::from_millis(1));
                }
                (id - 10_000) / 5 * 4
            });
            tx.create_index(&table, by_code()).unwrap();
            let short = TransactionOptions::default().lock_timeout(Duration::from_millis(5));
            let mut other = db.begin_with(short).unwrap();
            for _ in 0..10 {
                own_rows_at_once(&mut tx, &table, level);
                agreed_rows(&db, "t").unwrap();
                let e = other.create_index(&table, by_note()).unwrap_err();
                assert_eq!(e.kind(), ErrorKind::LockNotAvailable);
                assert_eq!(other.drop_table("t").unwrap_err().kind(), ErrorKind::LockNotAvailable);
            }
            tx.insert(&table, &row(1000)).unwrap();
            tx.commit().unwrap();
            other.create_index(&table, by_note()).unwrap();
            other.commit().unwrap();
            drop(stopping);
            written = writer.join().unwrap();
        });
        assert_eq!(index_names(&table), ["t_pkey", "by_n", "by_code", "by_note"]);
        assert_eq!(agreed_rows(&db, "t").unwrap().len() as i64, 301 + written);
        assert_eq!(table.insert(&twin(-1, 10_000)).unwrap_err().kind(), ErrorKind::DuplicateKey);
    }
}

/// Reads through the index while others write: at READ COMMITTED each statement sees more.
fn own_rows_at_once(tx: &mut Transaction, table: &Table, level: Isolation) {
    if level == Isolation::RepeatableRead {
        assert_eq!(own_rows(tx, table, &["by_code"]).len(), 300);
        return;
    }
    let found = tx.index_scan(table, "by_code", KeyRange::all(), Scan::all()).unwrap();
    let found = found.rows().unwrap();
    assert!(found.is_sorted_by_key(|row| integer(&row[2])));
    let old = found.iter().filter(|row| integer(&row[0]) < 300).count();
    assert_eq!(old, 300);
    let later = tx.scan(table, Scan::all()).unwrap().rows().unwrap();
    assert_eq!(later.iter().filter(|row| integer(&row[0]) < 300).count(), 300);
}

#[test]
fn an_index_without_the_rows_of_others_is_found_out() {
    for rule in [None, Some(Rule::NewIndexes)] {
        let db = open_without(MemFs::new(), rule).unwrap();
        let table = db.create_table(spec("t")).unwrap();
        table.insert_many((0..100).map(row)).unwrap();
        let mut tx = db.begin().unwrap();
        tx.create_index(&table, by_note()).unwrap();
        table.insert(&row(100)).unwrap();
        tx.commit().unwrap();
        let compared = catch_unwind(AssertUnwindSafe(|| agreed_rows(&db, "t").unwrap().len()));
        assert_eq!(compared.is_ok(), rule.is_none());
    }
}

/// How many rows have the code of row 2002, which the transaction brings.
fn carriers(db: &Database) -> usize {
    let rows = agreed_rows(db, "t").unwrap();
    rows.iter().filter(|r| r[2] == row(2002)[2]).count()
}

#[test]
fn no_key_slips_in_beside_the_commit_of_a_unique_index() {
    let (mut refused, mut done) = (0, 0);
    for round in 0..400 {
        let (db, table) = filled(MemFs::new(), 20);
        let mut tx = db.begin().unwrap();
        tx.create_index(&table, by_code()).unwrap();
        tx.insert(&table, &row(2002)).unwrap();
        let committed = std::thread::scope(|scope| {
            for writer in 1..=2 {
                let table = &table;
                scope.spawn(move || {
                    // The same code as the other writer's and the transaction's, at some moment of its commit.
                    std::thread::sleep(Duration::from_micros(round % 100 * 20));
                    if let Err(e) = table.insert(&twin(10_000 * writer, 2002)) {
                        assert_eq!(e.kind(), ErrorKind::DuplicateKey);
                    }
                });
            }
            tx.commit()
        });
        match committed {
            Ok(_) => {
                assert_eq!(carriers(&db), 1, "round {round}");
                done += 1;
            }
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::DuplicateKey);
                refused += 1;
            }
        }
    }
    println!("{refused} refused, {done} done");
    assert!(refused > 0 && done > 0, "{refused} refused, {done} done");
}

#[test]
fn a_table_of_the_same_transaction_gets_indexes_too() {
    let disk = MemFs::new();
    let (db, old) = filled(disk.clone(), 50);
    let mut tx = db.begin().unwrap();
    let mut model = Vec::new();
    let new = tx.create_table(spec("new")).unwrap();
    change(&mut tx, &new, 0, &mut model);
    // One that died stands behind one with the same key that lives.
    tx.insert(&new, &twin(9000, 5)).unwrap();
    change(&mut tx, &new, 150, &mut model);
    tx.delete(&new, &key(9000)).unwrap();
    tx.create_index(&new, by_code()).unwrap();
    assert!(own_rows(&mut tx, &new, &["by_n", "by_code"]) == model);
    assert_eq!(tx.insert(&new, &twin(9000, 5)).unwrap_err().kind(), ErrorKind::DuplicateKey);
    tx.drop_index(&new, "by_n").unwrap();
    let empty = tx.create_table(spec("empty")).unwrap();
    tx.create_index(&empty, by_note()).unwrap();
    tx.create_index(&old, by_note()).unwrap();
    let gone = tx.create_table(spec("gone")).unwrap();
    tx.create_index(&gone, by_note()).unwrap();
    tx.drop_table("gone").unwrap();
    tx.commit().unwrap();
    assert_eq!(index_names(&new), ["t_pkey", "by_code"].map(|n| n.replace("t_", "new_")));
    assert_eq!(index_names(&empty), ["empty_pkey", "by_n", "by_note"]);
    assert!(agreed_rows(&db, "new").unwrap() == model);
    let code = [row(5)[2].clone()];
    let found = db.snapshot().unwrap().get_by(&new, "by_code", &code, None).unwrap();
    assert_eq!(found, Some(row(5)));
    assert_eq!(new.insert(&twin(9000, 5)).unwrap_err().kind(), ErrorKind::DuplicateKey);
    empty.insert_many((0..20).map(row)).unwrap();
    new.insert(&row(7000)).unwrap();
    assert_eq!(new.insert(&twin(7001, 7000)).unwrap_err().kind(), ErrorKind::DuplicateKey);
    let mut tx = db.begin().unwrap();
    tx.create_index(&old, by_code()).unwrap();
    tx.insert(&old, &row(7000)).unwrap();
    tx.drop_table("t").unwrap();
    tx.commit().unwrap();
    assert_eq!(db.tables().len(), 2);
    drop((new, empty, gone, old));
    drop(db);
    let db = open(disk.clone()).unwrap();
    assert_eq!(agreed_rows(&db, "new").unwrap().len(), model.len() + 1);
    assert_eq!(agreed_rows(&db, "empty").unwrap().len(), 20);
    db.close().unwrap();
    assert_checked(&disk);
}

/// Changes rows of a table of 100 and replaces an index by two others, one of them unique.
fn replace_indexes(db: &Database) -> Result<()> {
    let table = db.table("t")?;
    let mut tx = db.begin()?;
    for id in 100..130 {
        tx.insert(&table, &row(id))?;
    }
    tx.create_index(&table, by_code())?;
    tx.delete(&table, &key(3))?;
    for id in 130..150 {
        tx.insert(&table, &row(id))?;
    }
    tx.create_index(&table, by_note())?;
    tx.drop_index(&table, "by_n")?;
    table.insert(&row(150))?;
    tx.commit()?;
    table.insert(&row(151))?;
    db.flush()
}

const BEFORE: [&str; 2] = ["t_pkey", "by_n"];
const AFTER: [&str; 3] = ["t_pkey", "by_code", "by_note"];

/// Whether the transaction is there, as a whole.
fn is_replaced(db: &Database, rows: &[Row]) -> bool {
    let names = index_names(&db.table("t").unwrap());
    let own = rows.iter().filter(|row| (100..150).contains(&integer(&row[0]))).count();
    let third = rows.iter().any(|row| row[0] == Value::Int(3));
    match own {
        0 => assert!(names == BEFORE && third, "{names:?}"),
        50 => assert!(names == AFTER && !third, "{names:?}"),
        n => panic!("{n} rows of the transaction"),
    }
    own > 0
}

#[test]
fn the_power_may_go_at_any_operation() {
    let disk = MemFs::new();
    let (db, _) = filled(disk.clone(), 100);
    db.close().unwrap();
    let mut seen = [0, 0];
    cut_at_each_operation(&disk, replace_indexes, |db, _| {
        let rows = agreed_rows(db, "t").unwrap();
        seen[usize::from(is_replaced(db, &rows))] += 1;
        let free = db.table("t").unwrap().insert(&twin(9000, 9)).is_ok();
        assert_eq!(free, index_names(&db.table("t").unwrap()) == BEFORE);
    });
    assert!(seen[0] > 20 && seen[1] > 0, "{seen:?}");
}

#[test]
fn a_fault_leaves_all_or_nothing() {
    let disk = MemFs::new();
    let (db, _) = filled(disk.clone(), 100);
    db.close().unwrap();
    for n in 0.. {
        let after = disk.crash(n, 1.0);
        let fs = FaultFs::new(Arc::new(after.clone()));
        let db = open(fs.clone()).unwrap();
        fs.fail(Fault::any().after(n));
        let replaced = replace_indexes(&db);
        let struck = fs.struck() > 0;
        fs.heal();
        let rows = agreed_rows(&db, "t").unwrap();
        let there = is_replaced(&db, &rows);
        assert!(there || replaced.is_err());
        drop(db);
        if !struck {
            replaced.unwrap();
            break;
        }
        let db = open(after.clone()).unwrap();
        let rows = agreed_rows(&db, "t").unwrap();
        assert!(is_replaced(&db, &rows) || !there);
        db.close().unwrap();
        assert_checked(&after);
    }
}
