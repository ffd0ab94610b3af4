//! What does anybody see of a transaction that changes the form of tables, between changes of rows?
//!
//! Nothing before its commit and all of it after; nothing, not even a file, after a rollback or a power
//! cut at any operation. The transaction itself goes on with the new form from the statement on that
//! gives it; others read the old one, and wait where they write.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/power.rs"]
mod power;
mod support;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use onlap::expr::Comparison;
use onlap::{
    Action, DataType, Database, ErrorKind, Expr, ForeignKeySpec, IndexSpec, Isolation, KeyRange,
    Result, Row, Scan, SequenceSpec, SyncMode, Table, TableChanges, TableSpec, Transaction,
    TransactionOptions, Value,
};
use onlap_vfs::{Fault, FaultFs, Fs, MemFs};
use power::{assert_checked, cut_at_each_operation, open};
use support::{agreed_rows, integer, small_options};

fn spec(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column("id", DataType::Int8)
        .column("n", DataType::Int4)
        .nullable_column("note", DataType::Text)
        .primary_key(["id"])
        .index(IndexSpec::new("by_n", ["n"]))
}

fn row(id: i64) -> Row {
    vec![Value::Int(id), Value::Int(id * 7 % 10), text(&format!("{}", id * 3))]
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn key(id: i64) -> [Value; 1] {
    [Value::Int(id)]
}

fn changes() -> TableChanges {
    TableChanges::new()
}

fn filled(fs: impl Fs + 'static, rows: i64) -> (Database, Table) {
    let db = open(fs).unwrap();
    let table = db.create_table(spec("t")).unwrap();
    table.insert_many((0..rows).map(row)).unwrap();
    (db, table)
}

fn columns(table: &Table) -> Vec<String> {
    table.schema().columns.iter().map(|c| c.name.clone()).collect()
}

/// Rows as the transaction sees them, by scan and through each index.
fn own_rows(tx: &mut Transaction, name: &str) -> Vec<Row> {
    let table = tx.table(name).unwrap();
    let sorted = |mut rows: Vec<Row>| {
        rows.sort_by_key(|row| integer(&row[0]));
        rows
    };
    let rows = sorted(tx.scan(&table, Scan::all()).unwrap().rows().unwrap());
    for index in &table.schema().indexes {
        let found = tx.index_scan(&table, &index.name, KeyRange::all(), Scan::all()).unwrap();
        assert!(sorted(found.rows().unwrap()) == rows, "{} shows other rows", index.name);
    }
    rows
}

fn files(disk: &MemFs) -> Vec<String> {
    let mut names = disk.list(Path::new("/db")).unwrap();
    names.retain(|n| [".seg", ".run", ".mrk"].iter().any(|end| n.ends_with(end)));
    names.sort();
    names
}

fn positive(column: &str) -> Expr<String> {
    Expr::Compare(
        Comparison::GreaterOrEqual,
        Box::new(Expr::Column(column.into())),
        Box::new(Expr::Constant(Value::Int(0))),
    )
}

/// What a migration does: new tables with a foreign key, a column for a table with rows, changes of
/// rows in between.
fn migrate(db: &Database) -> Result<()> {
    let mut tx = db.begin_with(TransactionOptions::at(Isolation::ReadCommitted))?;
    let numbers = tx.create_sequence(&SequenceSpec::new("numbers"))?;
    let a = tx.create_table(spec("a"))?;
    let b = tx.create_table(
        TableSpec::new("b")
            .column("id", DataType::Int8)
            .nullable_column("a", DataType::Int8)
            .default_sequence("id", "numbers")
            .primary_key(["id"])
            .foreign_key(ForeignKeySpec::new("b_a", ["a"], "a")),
    )?;
    for id in 0..20 {
        tx.insert(&a, &row(id))?;
    }
    for id in 0..10 {
        tx.insert_columns(&b, &["a"], &[Value::Int(id)])?;
    }
    assert_eq!(numbers.current(), Some(10));
    let e = tx.insert(&b, &[Value::Int(100), Value::Int(99)]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::ForeignKeyViolation);
    tx.alter_table(&a, &changes().add_column("c", DataType::Int4, Some(Value::Int(5))))?;
    let a = tx.table("a")?;
    assert_eq!(tx.get(&a, &key(7))?.unwrap()[3], Value::Int(5));
    tx.update(&a, &key(7), &[("c", Value::Int(77))])?;
    tx.insert(&a, &[Value::Int(20), Value::Int(0), Value::Null, Value::Int(1)])?;
    let t = tx.table("t")?;
    tx.alter_table(&t, &changes().add_column("a", DataType::Int8, Some(Value::Int(3))))?;
    tx.add_foreign_key(&t, &ForeignKeySpec::new("t_a", ["a"], "a").on_delete(Action::Cascade))?;
    tx.add_check(&t, "n_positive", &positive("n"))?;
    let t = tx.table("t")?;
    tx.create_index(&t, IndexSpec::new("by_a", ["a", "n"]))?;
    tx.update(&t, &key(1), &[("a", Value::Int(20))])?;
    tx.delete(&a, &key(20))?;
    assert_eq!(tx.count(&t)?, 49);
    tx.commit().map(|_| ())
}

fn assert_migrated(db: &Database) {
    let names: Vec<String> = db.tables().iter().map(Table::name).collect();
    assert_eq!(names, ["a", "b", "t"]);
    let a = agreed_rows(db, "a").unwrap();
    assert_eq!((a.len(), &a[7][3], &a[8][3]), (20, &Value::Int(77), &Value::Int(5)));
    assert_eq!(agreed_rows(db, "b").unwrap().len(), 10);
    let t = agreed_rows(db, "t").unwrap();
    assert_eq!((t.len(), &t[1][3]), (49, &Value::Int(3)));
    let table = db.table("t").unwrap();
    let mut orphan = row(1000);
    orphan.push(Value::Int(555));
    assert_eq!(table.insert(&orphan).unwrap_err().kind(), ErrorKind::ForeignKeyViolation);
    orphan[3] = Value::Int(2);
    orphan[1] = Value::Int(-1);
    assert_eq!(table.insert(&orphan).unwrap_err().kind(), ErrorKind::CheckViolation);
    assert!(db.sequence("numbers").unwrap().next_value().unwrap() > 10);
}

#[test]
fn a_migration_is_there_as_a_whole() {
    let disk = MemFs::new();
    let (db, table) = filled(disk.clone(), 50);
    let before = db.snapshot().unwrap();
    migrate(&db).unwrap();
    assert_eq!(before.count(&table).unwrap(), 50);
    assert_migrated(&db);
    // A parent that goes takes the children that came to it.
    db.table("b").unwrap().delete(&key(4)).unwrap();
    assert!(db.table("a").unwrap().delete(&key(3)).unwrap());
    assert_eq!(agreed_rows(&db, "t").unwrap().len(), 0);
    drop((before, table, db));
    let db = open(disk.clone()).unwrap();
    assert_eq!(agreed_rows(&db, "a").unwrap().len(), 19);
    db.close().unwrap();
    assert_checked(&disk);
}

#[test]
fn what_rolls_back_leaves_nothing() {
    let disk = MemFs::new();
    let (db, table) = filled(disk.clone(), 50);
    db.settle().unwrap();
    let before = files(&disk);
    let mut tx = db.begin().unwrap();
    tx.create_sequence(&SequenceSpec::new("s")).unwrap();
    tx.insert(&table, &row(100)).unwrap();
    let more = changes().add_column("c", DataType::Text, Some(text("old"))).drop_column("note");
    tx.alter_table(&table, &more).unwrap();
    tx.alter_table(&table, &changes().rename("u").rename_column("n", "m")).unwrap();
    let own = tx.table("u").unwrap();
    assert_eq!(columns(&own), ["id", "m", "c"]);
    assert_eq!(tx.table("t").map(|_| ()).unwrap_err().kind(), ErrorKind::UnknownTable);
    tx.update(&own, &key(3), &[("c", text("x"))]).unwrap();
    assert_eq!(db.sequence("s").map(|_| ()).unwrap_err().kind(), ErrorKind::UnknownSequence);
    tx.rollback();
    assert_eq!(columns(&table), ["id", "n", "note"]);
    assert_eq!(agreed_rows(&db, "t").unwrap(), (0..50).map(row).collect::<Vec<_>>());
    db.settle().unwrap();
    assert_eq!(files(&disk), before);
    // The same column again, with another default: the first one left no trace.
    let mut tx = db.begin().unwrap();
    tx.create_sequence(&SequenceSpec::new("s")).unwrap();
    tx.alter_table(&table, &changes().add_column("c", DataType::Text, Some(text("new")))).unwrap();
    tx.commit().unwrap();
    assert!(agreed_rows(&db, "t").unwrap().iter().all(|row| row[3] == text("new")));
    db.drop_sequence("s").unwrap();
    drop((table, own, db));
    let db = open(disk.clone()).unwrap();
    assert_eq!(agreed_rows(&db, "t").unwrap().len(), 50);
    db.close().unwrap();
    assert_checked(&disk);
}

#[test]
fn savepoints_bring_the_old_form_back() {
    let disk = MemFs::new();
    let (db, table) = filled(disk.clone(), 30);
    let mut tx = db.begin().unwrap();
    tx.insert(&table, &row(100)).unwrap();
    tx.update(&table, &key(2), &[("note", text("mine"))]).unwrap();
    tx.update(&table, &key(100), &[("n", Value::Int(3))]).unwrap();
    let form = own_rows(&mut tx, "t");
    let first = tx.savepoint();
    tx.alter_table(&table, &changes().drop_column("note")).unwrap();
    let two = tx.table("t").unwrap();
    tx.insert(&two, &[Value::Int(101), Value::Int(1)]).unwrap();
    tx.delete(&two, &key(2)).unwrap();
    let second = tx.savepoint();
    tx.alter_table(&two, &changes().add_column("note", DataType::Int8, Some(Value::Int(9))))
        .unwrap();
    let three = tx.table("t").unwrap();
    tx.insert(&three, &[Value::Int(102), Value::Int(1), Value::Int(1)]).unwrap();
    assert_eq!(own_rows(&mut tx, "t")[5], [Value::Int(6), Value::Int(2), Value::Int(9)]);
    tx.rollback_to(&second).unwrap();
    let rows = own_rows(&mut tx, "t");
    assert_eq!((rows.len(), rows[0].len()), (31, 2));
    tx.rollback_to(&first).unwrap();
    assert!(own_rows(&mut tx, "t") == form);
    // Its locks are gone with it.
    table.insert(&row(500)).unwrap();
    tx.alter_table(&table, &changes().add_column("m", DataType::Text, Some(text("m")))).unwrap();
    let own = tx.table("t").unwrap();
    tx.update(&own, &key(5), &[("m", text("other"))]).unwrap();
    tx.commit().unwrap();
    let rows = agreed_rows(&db, "t").unwrap();
    assert_eq!((rows.len(), &rows[2][2], &rows[5][3]), (32, &text("mine"), &text("other")));
    assert_eq!(rows[31][3], text("m"));
    drop((table, own, two, three, db));
    open(disk.clone()).unwrap().close().unwrap();
    assert_checked(&disk);
}

#[test]
fn values_take_another_form() {
    let disk = MemFs::new();
    let (db, table) = filled(disk.clone(), 3000);
    db.create_index("t", IndexSpec::new("by_note", ["note"]).unique()).unwrap();
    table.delete(&key(17)).unwrap();
    let mut tx = db.begin().unwrap();
    tx.insert(&table, &row(5000)).unwrap();
    tx.update(&table, &key(1), &[("n", Value::Int(55))]).unwrap();
    let before = tx.savepoint();
    tx.alter_table(&table, &changes().set_type("note", DataType::Int8)).unwrap();
    tx.alter_table(&table, &changes().set_type("n", DataType::Int8)).unwrap();
    let own = tx.table("t").unwrap();
    let rows = own_rows(&mut tx, "t");
    assert_eq!(rows.len(), 3000);
    assert_eq!(rows[1], [Value::Int(1), Value::Int(55), Value::Int(3)]);
    assert_eq!(rows[2999], [Value::Int(5000), Value::Int(0), Value::Int(15000)]);
    let twice = [Value::Int(6000), Value::Int(0), Value::Int(3)];
    assert_eq!(tx.insert(&own, &twice).unwrap_err().kind(), ErrorKind::DuplicateKey);
    tx.rollback_to(&before).unwrap();
    assert_eq!(own_rows(&mut tx, "t")[1], [Value::Int(1), Value::Int(55), text("3")]);
    tx.alter_table(&table, &changes().set_type("note", DataType::Int8)).unwrap();
    tx.commit().unwrap();
    let rows = agreed_rows(&db, "t").unwrap();
    assert_eq!((rows.len(), &rows[1][2]), (3000, &Value::Int(3)));
    assert_eq!(table.insert(&twice).unwrap_err().kind(), ErrorKind::DuplicateKey);
    // What cannot be converted leaves everything as it was, rows that it had converted too.
    db.alter_table("t", &changes().set_type("note", DataType::Text)).unwrap();
    table.update(&key(2000), &[("note", text("no number"))]).unwrap();
    let mut tx = db.begin().unwrap();
    tx.insert(&table, &row(7000)).unwrap();
    tx.alter_table(&table, &changes().set_type("note", DataType::Int8)).unwrap_err();
    assert_eq!(own_rows(&mut tx, "t").len(), 3001);
    tx.commit().unwrap();
    assert_eq!(agreed_rows(&db, "t").unwrap().len(), 3001);
    drop((table, own, db));
    let db = open(disk.clone()).unwrap();
    db.settle().unwrap();
    db.close().unwrap();
    assert_checked(&disk);
}

#[test]
fn rules_judge_all_rows_or_are_not_there() {
    let (db, table) = filled(MemFs::new(), 30);
    let parent = db.create_table(spec("parent")).unwrap();
    parent.insert_many((0..40).map(row)).unwrap();
    table.update(&key(4), &[("note", Value::Null)]).unwrap();
    let mut tx = db.begin().unwrap();
    let e = tx.alter_table(&table, &changes().set_not_null("note")).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotNull);
    let e =
        tx.alter_table(&table, &changes().add_column("c", DataType::Int4, None).set_not_null("c"));
    assert_eq!(e.unwrap_err().kind(), ErrorKind::NotNull);
    tx.insert(&table, &[Value::Int(50), Value::Int(-1), Value::Null]).unwrap();
    let e = tx.add_check(&table, "positive", &positive("n")).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CheckViolation);
    let to_parent = || ForeignKeySpec::new("fk", ["id"], "parent");
    assert_eq!(
        tx.add_foreign_key(&table, &to_parent()).unwrap_err().kind(),
        ErrorKind::ForeignKeyViolation
    );
    assert_eq!(columns(&tx.table("t").unwrap()), ["id", "n", "note"]);
    // The way is free again: nothing is locked but the row.
    table.insert(&row(35)).unwrap();
    parent.insert(&row(60)).unwrap();
    tx.delete(&table, &key(50)).unwrap();
    tx.add_foreign_key(&table, &to_parent()).unwrap();
    tx.delete(&parent, &key(60)).unwrap();
    let e = tx.delete(&parent, &key(7)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::ForeignKeyViolation);
    assert_eq!(tx.drop_table("parent").unwrap_err().kind(), ErrorKind::InUse);
    // Nobody else takes a parent away meanwhile, nor the table.
    let wait = TransactionOptions::at(Isolation::ReadCommitted);
    let mut other = db.begin_with(wait.lock_timeout(Duration::from_millis(5))).unwrap();
    let e = other.delete(&parent, &key(8)).unwrap_err();
    assert_eq!((e.kind(), e.kind().sqlstate()), (ErrorKind::LockNotAvailable, "55P03"));
    assert_eq!(other.drop_table("parent").unwrap_err().kind(), ErrorKind::LockNotAvailable);
    assert_eq!(other.count(&parent).unwrap(), 41);
    tx.commit().unwrap();
    assert_eq!(other.delete(&parent, &key(8)).unwrap_err().kind(), ErrorKind::ForeignKeyViolation);
    drop(other);
    // A key goes, and then what it referred to.
    let mut tx = db.begin().unwrap();
    tx.drop_constraint(&table, "fk").unwrap();
    tx.drop_table("parent").unwrap();
    tx.commit().unwrap();
    table.insert(&row(70)).unwrap();
}

#[test]
fn others_read_and_writers_wait() {
    let (db, table) = filled(MemFs::new(), 30);
    let mut tx = db.begin().unwrap();
    tx.alter_table(&table, &changes().add_column("c", DataType::Int4, Some(Value::Int(1))))
        .unwrap();
    // Readers see the old form.
    let snapshot = db.snapshot().unwrap();
    assert_eq!(snapshot.get(&table, &key(3), None).unwrap(), Some(row(3)));
    let mut reader = db.begin().unwrap();
    assert_eq!(reader.count(&table).unwrap(), 30);
    let at = TransactionOptions::at(Isolation::ReadCommitted);
    let mut writer = db.begin_with(at.lock_timeout(Duration::from_millis(5))).unwrap();
    let e = writer.insert(&table, &row(31)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::LockNotAvailable);
    // Who waits goes on with the new form, and needs its columns.
    let waiting = std::thread::spawn({
        let (db, table) = (db.clone(), table.clone());
        move || {
            let mut tx = db.begin_with(TransactionOptions::at(Isolation::ReadCommitted)).unwrap();
            tx.begin_statement().unwrap();
            let outdated = tx.update(&table, &key(3), &[("n", Value::Int(50))]).unwrap_err();
            assert_eq!(outdated.kind(), ErrorKind::Conflict);
            assert!(tx.is_outdated());
            tx.begin_statement().unwrap();
            assert!(tx.update(&table, &key(3), &[("c", Value::Int(50))]).unwrap());
            tx.commit().unwrap();
        }
    });
    while db.stats().unwrap().transactions.lock_waits < 2 {
        std::thread::yield_now();
    }
    tx.commit().unwrap();
    waiting.join().unwrap();
    let rows = agreed_rows(&db, "t").unwrap();
    assert_eq!((&rows[3][3], &rows[4][3]), (&Value::Int(50), &Value::Int(1)));
    // Two who write and want the form wait for each other, and one is told.
    let mut one = db.begin_with(at).unwrap();
    let mut two = db.begin_with(at).unwrap();
    one.update(&table, &key(1), &[("c", Value::Int(2))]).unwrap();
    two.update(&table, &key(2), &[("c", Value::Int(2))]).unwrap();
    let t = table.clone();
    let second = std::thread::spawn(move || {
        let done = two.alter_table(&t, &changes().add_column("d", DataType::Int4, None));
        done.and_then(|()| two.commit().map(|_| ()))
    });
    let first = one.alter_table(&table, &changes().add_column("d", DataType::Int4, None));
    let first = match first {
        Ok(()) => one.commit().map(|_| ()),
        Err(e) => {
            drop(one);
            Err(e)
        }
    };
    let outcomes = [first, second.join().unwrap()].map(|r| r.map_err(|e| e.kind()));
    assert!(outcomes.contains(&Ok(())) && outcomes.contains(&Err(ErrorKind::Deadlock)));
}

#[test]
fn tables_exchange_their_names() {
    let disk = MemFs::new();
    let (db, _) = filled(disk.clone(), 10);
    db.create_table(spec("u")).unwrap();
    let mut tx = db.begin().unwrap();
    for (from, to) in [("t", "x"), ("u", "t"), ("x", "u")] {
        let table = tx.table(from).unwrap();
        let e = tx.alter_table(&table, &changes().rename(if from == "t" { "u" } else { "t" }));
        assert_eq!(e.is_err(), from == "t" || from == "x");
        if from != "u" {
            tx.alter_table(&table, &changes().rename(to)).unwrap();
        }
    }
    tx.create_table(spec("x")).unwrap();
    tx.commit().unwrap();
    let counts = |db: &Database| ["t", "u", "x"].map(|n| agreed_rows(db, n).unwrap().len());
    assert_eq!(counts(&db), [0, 10, 0]);
    drop(db);
    assert_eq!(counts(&open(disk).unwrap()), [0, 10, 0]);
}

#[test]
fn rows_in_files_follow() {
    let disk = MemFs::new();
    let mut options = small_options(SyncMode::Fsync);
    options.fs = Arc::new(disk.clone());
    options.tuning.spill_bytes = Some(4 << 10);
    let db = Database::open("/db", options).unwrap();
    let table = db.create_table(spec("t")).unwrap();
    table.insert_many((0..100).map(row)).unwrap();
    let mut tx = db.begin().unwrap();
    for id in 1000..3000 {
        tx.insert(&table, &row(id)).unwrap();
    }
    tx.alter_table(&table, &changes().add_column("c", DataType::Int4, Some(Value::Int(4))))
        .unwrap();
    let own = tx.table("t").unwrap();
    tx.create_index(&own, IndexSpec::new("by_c", ["c"])).unwrap();
    for id in 3000..5000 {
        tx.insert(&own, &[Value::Int(id), Value::Int(1), Value::Null, Value::Int(8)]).unwrap();
    }
    tx.alter_table(&own, &changes().set_type("c", DataType::Text).drop_column("note")).unwrap();
    assert_eq!(own_rows(&mut tx, "t").len(), 4100);
    tx.commit().unwrap();
    let rows = agreed_rows(&db, "t").unwrap();
    assert_eq!((&rows[0][2], &rows[100][2], &rows[4000][2]), (&text("4"), &text("4"), &text("8")));
    drop((table, own, db));
    open(disk.clone()).unwrap().close().unwrap();
    assert_checked(&disk);
}

#[test]
fn the_power_may_go_at_any_operation() {
    let disk = MemFs::new();
    filled(disk.clone(), 50).0.close().unwrap();
    let mut seen = [0, 0];
    cut_at_each_operation(&disk, migrate, |db, migrated| {
        if db.table("a").is_ok() {
            assert_migrated(db);
            seen[1] += 1;
        } else {
            assert!(migrated.is_err());
            let names: Vec<String> = db.tables().iter().map(Table::name).collect();
            assert_eq!(names, ["t"]);
            assert_eq!(columns(&db.table("t").unwrap()), ["id", "n", "note"]);
            assert_eq!(agreed_rows(db, "t").unwrap(), (0..50).map(row).collect::<Vec<_>>());
            assert!(db.sequence("numbers").is_err());
            // Nothing is in the way of another try.
            migrate(db).unwrap();
            seen[0] += 1;
        }
    });
    assert!(seen[0] > 20 && seen[1] > 0, "{seen:?}");
}

#[test]
fn a_fault_leaves_all_or_nothing() {
    let disk = MemFs::new();
    filled(disk.clone(), 50).0.close().unwrap();
    for n in 0.. {
        let before = disk.crash(n, 1.0);
        let fs = FaultFs::new(Arc::new(before.clone()));
        let db = open(fs.clone()).unwrap();
        fs.fail(Fault::any().after(n));
        let migrated = migrate(&db);
        if fs.struck() == 0 {
            migrated.unwrap();
            break;
        }
        // The database may refuse to write from then on, and reads are right.
        let there = db.table("a").is_ok();
        assert_eq!(columns(&db.table("t").unwrap()).len(), if there { 4 } else { 3 });
        drop(db);
        let db = open(before.clone()).unwrap();
        assert!(!there || db.table("a").is_ok());
        if db.table("a").is_err() {
            migrate(&db).unwrap();
        }
        assert_migrated(&db);
        db.close().unwrap();
        assert_checked(&before);
    }
}
