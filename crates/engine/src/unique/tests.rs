//! How much work is judging the keys of a large update?

use std::cell::Cell;

use crate::{
    Change, DataType, Database, IndexSpec, KeyRange, Options, Predicate, SyncMode, TableSpec, Value,
};

thread_local! {
    /// Comparisons of rows that have a key with the transaction's marks, on this thread.
    pub(super) static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Comparisons for giving each of so many rows the unique key of the next one.
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
