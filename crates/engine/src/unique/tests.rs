//! How much work is judging the keys of a large update? Is a key free when a commit that was refused for another
//! table's sake is tried again?

use std::cell::Cell;
use std::sync::Arc;

use onlap_base::ErrorKind;
use onlap_format::{Batch, Column, DataType, Value, Vector};
use onlap_vfs::MemFs;
use roaring::RoaringTreemap;

use super::{claims, look_up};
use crate::commit::TableWrite;
use crate::database::Database;
use crate::options::{Options, SyncMode};
use crate::spec::TableSpec;
use crate::{
    Change, ForeignKeySpec, IndexSpec, Isolation, KeyRange, Predicate, TransactionOptions,
};

thread_local! {
    /// Comparisons of rows that have a key with the transaction's marks, on this thread.
    pub(super) static STEPS: Cell<u64> = const { Cell::new(0) };
    /// What others do on this thread between the look for a row and the look for its mark, once.
    static MEANWHILE: Cell<Option<Box<dyn FnOnce()>>> = const { Cell::new(None) };
}

pub(super) fn between_looks() {
    if let Some(others) = MEANWHILE.take() {
        others();
    }
}

/// Comparisons for giving each of the rows the unique key of the next one.
fn steps(db: &Database, rows: i64) -> u64 {
    let spec = TableSpec::new(format!("t{rows}"))
        .column("k", DataType::Int8)
        .column("u", DataType::Int8)
        .primary_key(["k"])
        .index(IndexSpec::new("by_u", ["u"]).unique());
    let table = db.create_table(spec).expect("a new table");
    // In no order, so that keys do not rise with the rows.
    let row = |k: i64| [Value::Int(k), Value::Int(k * 7919 % rows)];
    table.insert_many((0..rows).map(row)).expect("keys are apart");
    let mut tx = db.begin().expect("open");
    let all = Predicate::index("by_u", KeyRange::all());
    let next = [("u", Change::Add(Value::Int(1)))];
    assert_eq!(tx.update_where(&table, &all, &next).expect("updates"), rows as u64);
    STEPS.set(0);
    tx.commit().expect("keys are apart");
    STEPS.get()
}

/// Each key is another row's, which the same transaction marks: to find that among its marks must not
/// take a walk through all of them.
#[test]
fn judging_an_update_takes_few_steps_per_row() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = Options::default().sync(SyncMode::Os).memory_limit(256 << 20);
    let db = Database::open(dir.path(), options).expect("opens");
    let (some, twice) = (steps(&db, 10_000), steps(&db, 20_000));
    assert!(some >= 10_000, "{some} steps: the test does not see the judgement");
    assert!(twice < some * 5 / 2, "{some} steps for 10,000 rows, {twice} for twice as many");
}

/// What was found at the first try is forgotten at the second, at which other keys have rows: one with a smaller
/// key than what was found before is still seen to be taken.
#[test]
fn a_second_look_forgets_what_the_first_found() {
    let mut options = Options::default().sync(SyncMode::Os).memory_limit(64 << 20);
    options.fs = Arc::new(MemFs::new());
    let db = Database::open("/db", options).unwrap();
    let spec = TableSpec::new("t").column("id", DataType::Int8).primary_key(["id"]);
    let table = db.create_table(spec).unwrap();
    table.insert_many([[Value::Int(7)], [Value::Int(100)]]).unwrap();
    db.flush().unwrap();
    let schema = table.schema();
    // In no order, so that each key is looked up.
    let rows =
        Batch { columns: vec![Column { data: Vector::Int(vec![3, 7, 5]), nulls: None }], rows: 3 };
    let mut write = TableWrite {
        state: Arc::clone(&table.state),
        unique: claims(&schema, &rows, None).unwrap(),
        schema,
        rows,
        marks: Vec::new(),
        unmarked_at: None,
        changes: Vec::new(),
        kept: Vec::new(),
        blind: RoaringTreemap::new(),
        gone: Vec::new(),
    };
    look_up(&mut write).unwrap();
    assert!(table.delete(&[Value::Int(7)]).unwrap());
    table.insert_many([[Value::Int(3)]]).unwrap();
    db.flush().unwrap();
    let admitted = db.shared().commits().commit(db.shared(), vec![write], None);
    assert_eq!(admitted.expect_err("there is a row 3").kind(), ErrorKind::DuplicateKey);
    assert_eq!(db.snapshot().unwrap().count(&table).unwrap(), 2);
}

/// A row that is replaced keeps its key: who brings the key, or refers to it, finds the successor where the commit comes
/// between the two looks.
#[test]
fn a_key_is_taken_while_its_row_is_replaced() {
    let mut options = Options::default().sync(SyncMode::Os).memory_limit(64 << 20);
    options.fs = Arc::new(MemFs::new());
    let db = Database::open("/db", options).unwrap();
    let spec = TableSpec::new("parent")
        .column("id", DataType::Int8)
        .column("n", DataType::Int8)
        .primary_key(["id"])
        .index(IndexSpec::new("by_n", ["n"]));
    let parent = db.create_table(spec).unwrap();
    parent.insert(&[Value::Int(7), Value::Int(0)]).unwrap();
    let spec = TableSpec::new("child")
        .column("parent", DataType::Int8)
        .foreign_key(ForeignKeySpec::new("child_parent", ["parent"], "parent"));
    let child = db.create_table(spec).unwrap();
    let replaced = |n: i64| {
        let parent = parent.clone();
        let replace = move || {
            assert!(parent.update(&[Value::Int(7)], &[("n", Value::Int(n))]).unwrap());
        };
        MEANWHILE.set(Some(Box::new(replace)));
    };
    let options = || TransactionOptions::at(Isolation::ReadCommitted);
    let mut tx = db.begin_with(options()).unwrap();
    replaced(1);
    let refused = tx.insert(&parent, &[Value::Int(7), Value::Int(9)]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::DuplicateKey);
    assert!(MEANWHILE.take().is_none(), "the row was replaced between the looks");
    drop(tx);
    let mut tx = db.begin_with(options()).unwrap();
    replaced(2);
    tx.insert(&child, &[Value::Int(7)]).expect("the parent is there");
    assert!(MEANWHILE.take().is_none(), "the row was replaced between the looks");
    tx.commit().unwrap();
}
