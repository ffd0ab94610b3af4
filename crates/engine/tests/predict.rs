//! Is an index as large as was predicted?

use onlap::{DataType, Database, IndexSpec, Options, SyncMode, Table, TableSpec, Value};
use onlap_base::rng::Rng;

const ROWS: u64 = 200_000;
/// What predictions may err by.
const ERROR: f64 = 0.2;

const NAMES: [&str; 5] = ["serial", "random", "few", "text", "pair"];

fn key(name: &str) -> Vec<&str> {
    match name {
        "pair" => vec!["few", "random"],
        name => vec![name],
    }
}

fn filled(db: &Database) -> Table {
    let spec = TableSpec::new("t")
        .column("serial", DataType::Int8)
        .column("random", DataType::Int8)
        .column("few", DataType::Int4)
        .column("text", DataType::Text);
    let table = db.create_table(spec).unwrap();
    let mut rng = Rng::new(11);
    let rows = (0..ROWS).map(|i| {
        let random = rng.next_u64() as i64;
        let word = format!("user-{:08x}@example.org", rng.below(1 << 28));
        [
            Value::Int(i as i64 * 3),
            Value::Int(random),
            Value::Int(rng.below(40) as i64),
            Value::Text(word),
        ]
    });
    table.insert_many(rows).unwrap();
    db.flush().unwrap();
    table
}

/// What is predicted next to what is measured, by all rows and by an eighth of them.
#[test]
fn indexes_are_as_large_as_predicted() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), Options::default().sync(SyncMode::Os)).unwrap();
    let table = filled(&db);
    for name in NAMES {
        let spec = IndexSpec::new(format!("by_{name}"), key(name));
        let of = |most| db.predict_index(&table, &spec, most).unwrap();
        let (all, part) = (of(usize::MAX), of(ROWS as usize / 8));
        assert_eq!((all.rows_seen, all.entries), (ROWS, ROWS), "{name}");
        assert_eq!((part.rows_seen, part.entries), (ROWS / 8, ROWS), "{name}");
        assert!(all.cpu_ns_per_row > 0.0);
        db.create_index(&table, spec).unwrap();
        db.settle().unwrap();
        let stats = db.stats_without_keys().unwrap();
        let index =
            &stats.tables[0].indexes.iter().find(|i| i.name == format!("by_{name}")).unwrap();
        let error = |bytes: u64| bytes as f64 / index.bytes as f64 - 1.0;
        println!(
            "{name}: {} bytes measured, {:+.3} by all rows, {:+.3} by an eighth",
            index.bytes,
            error(all.bytes),
            error(part.bytes)
        );
        assert!(error(all.bytes).abs() < ERROR, "{name}: {all:?} {}", index.bytes);
        assert!(error(part.bytes).abs() < ERROR, "{name}: {part:?} {}", index.bytes);
    }
}

#[test]
fn nothing_is_made_of_a_prediction() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), Options::default().sync(SyncMode::Os)).unwrap();
    let table = filled(&db);
    let before = db.stats_without_keys().unwrap();
    let predicted = db.predict_index(&table, &IndexSpec::new("x", ["few"]), usize::MAX).unwrap();
    assert!(predicted.bytes > 0);
    let after = db.stats_without_keys().unwrap();
    assert_eq!(after.written.total(), before.written.total());
    assert!(after.tables[0].indexes.is_empty() && table.schema().indexes.is_empty());
    assert!(db.predict_index(&table, &IndexSpec::new("x", ["missing"]), 10).is_err());
    // A table without rows has an index of no bytes.
    let spec = TableSpec::new("empty").column("a", DataType::Int8);
    let empty = db.create_table(spec).unwrap();
    let none = db.predict_index(&empty, &IndexSpec::new("x", ["a"]), usize::MAX).unwrap();
    assert_eq!((none.entries, none.bytes), (0, 0));
}
