//! What is there after a table has changed its columns?
//!
//! Every change against what readers, old snapshots, older transactions and the next open see, and a
//! power cut or a fault at every file operation of it: the table is as before, or changed as a whole.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/power.rs"]
mod power;
mod support;

use std::sync::Arc;

use onlap::{
    Column, Conversion, Convert, DataType, Database, Error, ErrorKind, IndexSpec, KeyRange, Result,
    Row, Scan, Table, TableChanges, TableSpec, Value, convert,
};
use onlap_vfs::{Fault, FaultFs, Fs, MemFs};
use power::{assert_checked, cut_at_each_operation, open};
use support::agreed_rows;

fn spec() -> TableSpec {
    TableSpec::new("t")
        .column("id", DataType::Int8)
        .column("n", DataType::Int4)
        .nullable_column("s", DataType::Varchar(40))
        .primary_key(["id"])
        .index(IndexSpec::new("by_n", ["n", "id"]).unique().include(["s"]))
        .index(IndexSpec::new("by_s", ["s"]))
}

fn text(s: impl ToString) -> Value {
    Value::Text(s.to_string())
}

fn row(id: i64) -> Row {
    vec![Value::Int(id), Value::Int(id * 31 % 500 - 250), text(id * 7919 % 1000)]
}

/// Rows in segments, frozen and active memtables; some updated, some deleted.
fn filled(fs: impl Fs + 'static, rows: i64) -> (Database, Table) {
    let db = open(fs).unwrap();
    let table = db.create_table(spec()).unwrap();
    for first in (1..=rows).step_by(50) {
        table.insert_many((first..first + 50).map(row)).unwrap();
    }
    for id in (1..=rows).step_by(17) {
        table.delete(&[Value::Int(id)]).unwrap();
        table.update(&[Value::Int(id + 1)], &[("s", text("changed"))]).unwrap();
    }
    (db, table)
}

fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorKind {
    result.unwrap_err().kind()
}

fn changes() -> TableChanges {
    TableChanges::new()
}

/// Closes, opens again and compares.
fn assert_kept(db: Database, table: Table, disk: &MemFs) -> Database {
    let name = table.name();
    let rows = agreed_rows(&db, &name).unwrap();
    drop(table);
    db.close().unwrap();
    assert_checked(disk);
    let db = open(disk.clone()).unwrap();
    assert!(agreed_rows(&db, &name).unwrap() == rows);
    db.settle().unwrap();
    assert!(agreed_rows(&db, &name).unwrap() == rows);
    db
}

#[test]
fn an_added_column_reads_its_default_in_rows_from_before() {
    let disk = MemFs::new();
    let (db, table) = filled(disk.clone(), 1000);
    let before = agreed_rows(&db, "t").unwrap();
    let old = db.snapshot().unwrap();
    let mut tx = db.begin().unwrap();
    tx.insert(&table, &row(5001)).unwrap();
    let added = changes()
        .add_column("x", DataType::Int4, Some(Value::Int(7)))
        .set_not_null("x")
        .add_column("y", DataType::Text, None);
    db.alter_table("t", &added).unwrap();
    let wider = |mut row: Row| {
        row.extend([Value::Int(7), Value::Null]);
        row
    };
    let expected: Vec<Row> = before.iter().cloned().map(wider).collect();
    assert!(agreed_rows(&db, "t").unwrap() == expected);
    assert_eq!(old.count(&table).unwrap(), expected.len() as u64);
    assert!(old.scan(&table, Scan::all()).unwrap().rows().unwrap().len() == expected.len());
    // A transaction from before goes on with the new columns.
    assert_eq!(kind(tx.insert(&table, &row(5002))), ErrorKind::InvalidInput);
    tx.insert(&table, &[row(5002), vec![Value::Int(8), text("z")]].concat()).unwrap();
    tx.commit().unwrap();
    let read = db.snapshot().unwrap().get(&table, &[Value::Int(5001)], None).unwrap();
    assert_eq!(read, Some(wider(row(5001))));
    let mut null = wider(row(5003));
    null[3] = Value::Null;
    assert_eq!(kind(table.insert(&null)), ErrorKind::NotNull);
    // Indexes over it, and updates of rows that do not have it.
    db.create_index("t", IndexSpec::new("by_x", ["x", "id"]).include(["y"])).unwrap();
    table.update(&[Value::Int(20)], &[("x", Value::Int(-1)), ("y", text("!"))]).unwrap();
    let range = KeyRange::eq([Value::Int(7)]);
    let n = db.snapshot().unwrap().index_count(&table, "by_x", range).unwrap();
    assert_eq!(n as usize, expected.len());
    drop(old);
    let db = assert_kept(db, table, &disk);
    db.alter_table("t", &changes().drop_column_cascade("x").drop_column("y")).unwrap();
    let left = agreed_rows(&db, "t").unwrap();
    assert_eq!(left.len(), before.len() + 2);
    assert!(left.iter().zip(&before).filter(|(a, b)| a == b).count() > 50);
    db.alter_table("t", &changes().add_column("x", DataType::Bool, None)).unwrap();
    assert!(agreed_rows(&db, "t").unwrap().iter().all(|r| r[3] == Value::Null));
}

#[test]
fn columns_that_something_uses_stay() {
    let (db, table) = filled(MemFs::new(), 100);
    let bad = [
        (changes().drop_column("nope"), ErrorKind::UnknownColumn),
        (changes().drop_column("s"), ErrorKind::InUse),
        (changes().drop_column_cascade("id"), ErrorKind::InUse),
        (changes().rename_column("s", "n"), ErrorKind::AlreadyExists),
        (changes().rename_index("by_s", "by_n"), ErrorKind::AlreadyExists),
        (changes().add_column("n", DataType::Bool, None), ErrorKind::AlreadyExists),
        (changes().add_column("m", DataType::Int2, Some(text("x"))), ErrorKind::WrongType),
        (changes().add_column("m", DataType::Int2, None).set_not_null("m"), ErrorKind::NotNull),
        (changes().drop_not_null("id"), ErrorKind::Unsupported),
        (changes().set_type("s", DataType::Json), ErrorKind::WrongType),
        (changes().rename_column("s", "t").drop_column("s"), ErrorKind::UnknownColumn),
    ];
    let before = table.schema();
    for (change, expected) in bad {
        assert_eq!(kind(db.alter_table("t", &change)), expected, "{change:?}");
        assert_eq!(table.schema(), before);
    }
    db.alter_table("t", &changes().drop_column_cascade("s")).unwrap();
    assert_eq!(table.schema().indexes.len(), 1);
    agreed_rows(&db, "t").unwrap();
}

#[test]
fn names_and_rules_change_without_a_rewrite() {
    let disk = MemFs::new();
    let (db, table) = filled(disk.clone(), 300);
    let mut tx = db.begin().unwrap();
    tx.insert(&table, &row(900)).unwrap();
    let all = changes()
        .rename_column("s", "label")
        .rename_index("by_s", "by_label")
        .set_default("label", text("none"))
        .rename("things");
    db.alter_table("t", &all).unwrap();
    assert_eq!(kind(db.table("t").map(|_| ())), ErrorKind::UnknownTable);
    assert_eq!(table.name(), "things");
    tx.commit().unwrap();
    let mut tx = db.begin().unwrap();
    tx.insert_columns(&table, &["id", "n"], &[Value::Int(901), Value::Int(1)]).unwrap();
    tx.commit().unwrap();
    let snapshot = db.snapshot().unwrap();
    let found = snapshot.get(&table, &[Value::Int(901)], Some(&["label"])).unwrap();
    assert_eq!(found, Some(vec![text("none")]));
    assert_eq!(
        kind(db.alter_table("things", &changes().set_not_null("nope"))),
        ErrorKind::UnknownColumn
    );
    table.insert(&[Value::Int(902), Value::Int(2), Value::Null]).unwrap();
    assert_eq!(
        kind(db.alter_table("things", &changes().set_not_null("label"))),
        ErrorKind::NotNull
    );
    table.delete(&[Value::Int(902)]).unwrap();
    db.alter_table("things", &changes().set_not_null("label").drop_default("label")).unwrap();
    let e = table.insert(&[Value::Int(903), Value::Int(2), Value::Null]);
    assert_eq!(kind(e), ErrorKind::NotNull);
    drop(snapshot);
    assert_kept(db, table, &disk);
}

#[test]
fn types_widen_in_place() {
    let disk = MemFs::new();
    let (db, table) = filled(disk.clone(), 600);
    let before = agreed_rows(&db, "t").unwrap();
    let segments = segments(&disk);
    let wider = changes().set_type("n", DataType::Int8).set_type("s", DataType::Text);
    db.alter_table("t", &wider).unwrap();
    assert!(segments.iter().all(|s| self::segments(&disk).contains(s)));
    assert!(agreed_rows(&db, "t").unwrap() == before);
    table.insert(&[Value::Int(9000), Value::Int(1 << 40), text("x".repeat(100))]).unwrap();
    let twice = table.insert(&[Value::Int(9001), Value::Int(1 << 40), text("y")]);
    twice.unwrap();
    let range = KeyRange::from([Value::Int(1 << 20)]);
    assert_eq!(db.snapshot().unwrap().index_count(&table, "by_n", range).unwrap(), 2);
    assert_kept(db, table, &disk);
}

fn segments(disk: &MemFs) -> Vec<String> {
    let mut names = disk.list(std::path::Path::new("/db")).unwrap();
    names.retain(|n| n.ends_with(".seg"));
    names
}

#[test]
fn types_that_differ_are_rewritten_or_refused() {
    let disk = MemFs::new();
    let (db, table) = filled(disk.clone(), 600);
    let before = agreed_rows(&db, "t").unwrap();
    let mut tx = db.begin().unwrap();
    tx.insert(&table, &row(7000)).unwrap();
    let old = db.snapshot().unwrap();
    // "changed" is no number.
    assert_eq!(
        kind(db.alter_table("t", &changes().set_type("s", DataType::Int8))),
        ErrorKind::InvalidText
    );
    assert!(agreed_rows(&db, "t").unwrap() == before);
    db.alter_table("t", &changes().set_type("n", DataType::Text)).unwrap();
    let as_text = |mut row: Row| {
        let Value::Int(n) = row[1] else { panic!("a number") };
        row[1] = text(n);
        row
    };
    let expected: Vec<Row> = before.iter().cloned().map(as_text).collect();
    assert!(agreed_rows(&db, "t").unwrap() == expected);
    assert_eq!(old.count(&table).unwrap() as usize, expected.len());
    assert_eq!(kind(tx.commit()), ErrorKind::Conflict);
    // And back again, now that the words are gone, which old snapshots still see.
    for row in &before {
        if row[2] == text("changed") {
            table.update(&row[..1], &[("s", text(5))]).unwrap();
        }
    }
    let back = changes().set_type("n", DataType::Int2).set_type("s", DataType::Int4);
    db.alter_table("t", &back).unwrap();
    let rows = agreed_rows(&db, "t").unwrap();
    assert!(rows.iter().zip(&before).all(|(a, b)| a[..2] == b[..2]));
    let was = old.scan(&table, Scan::all().columns(["s"])).unwrap().rows().unwrap();
    assert!(was.contains(&vec![Value::Null]) && was.len() == before.len());
    drop(old);
    assert_kept(db, table, &disk);
}

/// Adds up what it reads; fails above a thousand.
struct Sum;

impl Convert for Sum {
    fn convert(&self, inputs: &[Column], rows: usize) -> Result<Column> {
        let mut out = Column::new(DataType::Int8.physical());
        for row in 0..rows {
            let read = |column: &Column| match convert::read_value(DataType::Int8, column, row) {
                Value::Int(n) => n,
                _ => 0,
            };
            let sum = inputs.iter().map(read).sum::<i64>();
            if sum > 1000 {
                return Err(Error::new(ErrorKind::OutOfRange, "too much"));
            }
            convert::push_value(DataType::Int8, &Value::Int(sum), &mut out, "n")?;
        }
        Ok(out)
    }
}

#[test]
fn a_conversion_calculates_values_of_the_column_or_of_rows() {
    let disk = MemFs::new();
    let (db, table) = filled(disk.clone(), 600);
    let before = agreed_rows(&db, "t").unwrap();
    let by = |reads: &[&str], strict| {
        let reads = reads.iter().map(|name| name.to_string()).collect();
        changes().convert("n", DataType::Int8, Conversion { reads, strict, by: Arc::new(Sum) })
    };
    assert_eq!(kind(db.alter_table("t", &by(&["n", "id"], true))), ErrorKind::Unsupported);
    assert_eq!(kind(db.alter_table("t", &by(&["n"], false))), ErrorKind::Unsupported);
    db.alter_table("t", &by(&["n"], true)).unwrap();
    assert!(agreed_rows(&db, "t").unwrap() == before);
    let mut tx = db.begin().unwrap();
    tx.alter_table(&table, &by(&["id", "n"], true)).unwrap();
    tx.commit().unwrap();
    let sum = |row: &Row| match (&row[0], &row[1]) {
        (Value::Int(id), Value::Int(n)) => Value::Int(id + n),
        _ => panic!("numbers"),
    };
    let rows = agreed_rows(&db, "t").unwrap();
    assert_eq!(rows.len(), before.len());
    assert!(rows.iter().zip(&before).all(|(row, old)| row[1] == sum(old) && row[2] == old[2]));
    // What fails leaves everything as it was, unless only what is dead fails.
    table.insert(&[Value::Int(9000), Value::Int(2000), Value::Null]).unwrap();
    assert_eq!(kind(db.alter_table("t", &by(&["n"], true))), ErrorKind::OutOfRange);
    let mut tx = db.begin().unwrap();
    assert_eq!(kind(tx.alter_table(&table, &by(&["n", "id"], true))), ErrorKind::OutOfRange);
    tx.rollback();
    table.delete(&[Value::Int(9000)]).unwrap();
    db.alter_table("t", &by(&["n"], true)).unwrap();
    assert!(agreed_rows(&db, "t").unwrap() == rows);
    assert_kept(db, table, &disk);
}

#[test]
fn a_conversion_that_makes_keys_equal_is_refused() {
    let (db, table) = filled(MemFs::new(), 50);
    db.alter_table("t", &changes().add_column("f", DataType::Float8, None)).unwrap();
    table.update(&[Value::Int(5)], &[("f", Value::Float(1.00000001))]).unwrap();
    table.update(&[Value::Int(6)], &[("f", Value::Float(1.00000002))]).unwrap();
    db.create_index("t", IndexSpec::new("by_f", ["f"]).unique()).unwrap();
    let before = agreed_rows(&db, "t").unwrap();
    let narrow = changes().set_type("f", DataType::Float4);
    assert_eq!(kind(db.alter_table("t", &narrow)), ErrorKind::DuplicateKey);
    assert!(agreed_rows(&db, "t").unwrap() == before);
    table.delete(&[Value::Int(6)]).unwrap();
    db.alter_table("t", &narrow).unwrap();
    agreed_rows(&db, "t").unwrap();
}

#[test]
fn a_truncated_table_is_empty_for_those_who_come_later() {
    let disk = MemFs::new();
    let (db, table) = filled(disk.clone(), 900);
    let before = agreed_rows(&db, "t").unwrap();
    let old = db.snapshot().unwrap();
    let mut deleting = db.begin().unwrap();
    deleting.delete(&table, &before[40][..1]).unwrap();
    let mut inserting = db.begin().unwrap();
    inserting.insert(&table, &row(5000)).unwrap();
    db.truncate_table("t").unwrap();
    assert!(agreed_rows(&db, "t").unwrap().is_empty());
    let mut seen = old.scan(&table, Scan::all()).unwrap().rows().unwrap();
    seen.sort_by_key(|r| support::integer(&r[0]));
    assert!(seen == before);
    let through = old.index_scan(&table, "by_n", KeyRange::all(), Scan::all()).unwrap();
    assert_eq!(through.rows().unwrap().len(), before.len());
    assert_eq!(kind(deleting.commit()), ErrorKind::Conflict);
    inserting.commit().unwrap();
    // Keys are free again.
    table.insert(&before[3]).unwrap();
    table.insert_many(before[50..80].iter()).unwrap();
    assert_eq!(agreed_rows(&db, "t").unwrap().len(), 32);
    assert_eq!(old.count(&table).unwrap() as usize, before.len());
    db.flush().unwrap();
    db.truncate_table("t").unwrap();
    let between = db.snapshot().unwrap();
    table.insert(&row(1)).unwrap();
    assert_eq!(old.get(&table, &before[3][..1], None).unwrap().as_ref(), Some(&before[3]));
    assert_eq!(between.count(&table).unwrap(), 0);
    drop((old, between));
    table.insert(&row(2)).unwrap();
    db.settle().unwrap();
    assert!(segments(&disk).len() <= 2, "{:?}", segments(&disk));
    assert_kept(db, table, &disk);
}

/// One of each kind, with commits in between; how far it came.
fn change_all(db: &Database) -> Result<()> {
    let table = db.table("t")?;
    table.insert(&row(2001))?;
    let add =
        changes().add_column("x", DataType::Int4, Some(Value::Int(3))).rename_column("s", "r");
    db.alter_table("t", &add)?;
    table.insert(&[row(2002), vec![Value::Int(4)]].concat())?;
    db.alter_table("t", &changes().set_type("n", DataType::Int8))?;
    db.alter_table("t", &changes().set_type("x", DataType::Text))?;
    table.update(&[Value::Int(2002)], &[("x", text("five"))])?;
    db.alter_table("t", &changes().drop_column_cascade("r").rename("u"))?;
    table.insert(&[Value::Int(2003), Value::Int(1 << 40), text("six")])?;
    db.truncate_table("u")?;
    table.insert(&[Value::Int(2004), Value::Int(0), Value::Null]).map(|_| ())
}

/// The table has one of the forms that it went through, with rows to match.
fn assert_some_form(db: &Database) {
    let tables = db.tables();
    let [table] = &tables[..] else { panic!("{} tables", tables.len()) };
    let rows = agreed_rows(db, &table.name()).unwrap();
    let schema = table.schema();
    let names: Vec<&str> = schema.columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(table.name() == "u", names == ["id", "n", "x"], "{names:?}");
    let x = names.iter().position(|n| *n == "x");
    for row in rows.iter().filter(|r| support::integer(&r[0]) <= 2001) {
        match x.map(|x| &row[x]) {
            None | Some(Value::Int(3)) => {}
            Some(Value::Text(t)) if t == "3" => {}
            other => panic!("{other:?}"),
        }
    }
    let old = rows.iter().filter(|r| support::integer(&r[0]) <= 2000).count();
    assert!(old == 282 || old == 0 && table.name() == "u", "{old} rows");
}

#[test]
fn the_power_may_go_at_any_operation() {
    let disk = MemFs::new();
    filled(disk.clone(), 300).0.close().unwrap();
    cut_at_each_operation(&disk, change_all, |db, _| {
        assert_some_form(db);
    });
}

#[test]
fn a_fault_leaves_the_table_as_it_was_or_changed() {
    let disk = MemFs::new();
    filled(disk.clone(), 300).0.close().unwrap();
    for n in 0.. {
        let after = disk.crash(n, 1.0);
        let fs = FaultFs::new(Arc::new(after.clone()));
        let db = open(fs.clone()).unwrap();
        fs.fail(Fault::any().after(n));
        let changed = change_all(&db);
        let struck = fs.struck() > 0;
        assert_some_form(&db);
        drop(db);
        if !struck {
            changed.unwrap();
            break;
        }
        let db = open(after.clone()).unwrap();
        assert_some_form(&db);
        db.close().unwrap();
        assert_checked(&after);
    }
}

#[test]
fn a_unique_index_becomes_the_primary_key_and_back() {
    let fs = MemFs::new();
    let db = open(fs.clone()).unwrap();
    let spec = TableSpec::new("t")
        .nullable_column("id", DataType::Int8)
        .nullable_column("s", DataType::Text)
        .index(IndexSpec::new("by_s", ["s"]));
    let table = db.create_table(spec).unwrap();
    for id in 0..500 {
        table.insert(&[Value::Int(id), text(id % 7)]).unwrap();
    }
    let make = TableChanges::new().make_primary("t_pkey");
    assert_eq!(kind(db.alter_table("t", &make)), ErrorKind::UnknownIndex);
    assert_eq!(
        kind(db.alter_table("t", &TableChanges::new().make_primary("by_s"))),
        ErrorKind::Unsupported
    );
    db.create_index("t", IndexSpec::new("t_pkey", ["id"]).unique()).unwrap();
    table.insert(&[Value::Null, text("none")]).unwrap();
    assert_eq!(kind(db.alter_table("t", &make)), ErrorKind::NotNull);
    let mut tx = db.begin().unwrap();
    let last = db.snapshot().unwrap().count(&table).unwrap() - 1;
    tx.delete_rows(&table, &[last]).unwrap();
    tx.commit().unwrap();
    db.alter_table("t", &make).unwrap();
    assert_eq!(kind(db.alter_table("t", &make)), ErrorKind::AlreadyExists);
    assert_eq!(kind(table.insert(&[Value::Int(3), text("again")])), ErrorKind::DuplicateKey);
    assert_eq!(kind(table.insert(&[Value::Null, text("none")])), ErrorKind::NotNull);
    assert!(table.update(&[Value::Int(4)], &[("s", text("four"))]).unwrap());
    assert!(table.delete(&[Value::Int(5)]).unwrap());
    table.insert(&[Value::Int(1000), text("after")]).unwrap();
    drop(table);
    db.close().unwrap();

    let db = open(fs).unwrap();
    let table = db.table("t").unwrap();
    let snapshot = db.snapshot().unwrap();
    let four = snapshot.get(&table, &[Value::Int(4)], None).unwrap();
    assert_eq!(four, Some(vec![Value::Int(4), text("four")]));
    assert_eq!(snapshot.get(&table, &[Value::Int(5)], None).unwrap(), None);
    assert_eq!(agreed_rows(&db, "t").unwrap().len(), 500);
    db.alter_table("t", &TableChanges::new().make_secondary("t_pkey")).unwrap();
    db.drop_index("t", "t_pkey").unwrap();
    table.insert(&[Value::Int(3), text("again")]).unwrap();
    assert_eq!(kind(table.insert(&[Value::Null, text("none")])), ErrorKind::NotNull);
}

#[test]
fn a_column_takes_its_default_from_a_sequence_later() {
    let fs = MemFs::new();
    let (db, table) = filled(fs, 50);
    let change = TableChanges::new().set_default_sequence("n", "numbers");
    assert_eq!(kind(db.alter_table("t", &change)), ErrorKind::UnknownSequence);
    db.create_sequence(onlap::SequenceSpec::new("numbers").start(9000)).unwrap();
    db.alter_table("t", &change).unwrap();
    assert_eq!(db.sequences().len(), 1);
    table.insert_columns(&["id"], &[Value::Int(900)]).unwrap();
    let row = db.snapshot().unwrap().get(&table, &[Value::Int(900)], None).unwrap();
    assert_eq!(row.unwrap()[1], Value::Int(9000));
    assert_eq!(kind(db.drop_sequence("numbers")), ErrorKind::InUse);
}
