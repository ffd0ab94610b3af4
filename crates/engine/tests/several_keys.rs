//! Rows by several keys of a unique index: each must be the row that its key alone finds.

mod support;

use onlap::{
    DataType, Database, IndexSpec, KeyRange, Row, SyncMode, Table, TableSpec, Transaction, Value,
};
use onlap_base::rng::Rng;
use support::{agreed_rows, small_options};

const IDS: u64 = 400;

fn spec() -> TableSpec {
    TableSpec::new("t")
        .column("id", DataType::Int8)
        .nullable_column("code", DataType::Text)
        .column("note", DataType::Text)
        .column("n", DataType::Int4)
        .primary_key(["id"])
        .index(IndexSpec::new("by_code", ["code"]).unique())
        .index(IndexSpec::new("by_n", ["n"]))
}

fn row(rng: &mut Rng, id: u64) -> Row {
    let code = if rng.chance(0.2) { Value::Null } else { Value::Text(format!("code {id}")) };
    vec![Value::Int(id as i64), code, Value::Text(format!("note {id}")), Value::Int(id as i64 % 9)]
}

/// A change of a random row, if that can be.
fn change(rng: &mut Rng, tx: &mut Transaction, table: &Table) {
    let id = rng.below(IDS);
    let key = [Value::Int(id as i64)];
    let there = tx.get(table, &key).unwrap().is_some();
    match (there, rng.below(3)) {
        (false, _) => tx.insert(table, &row(rng, id)).unwrap(),
        (true, 0) => drop(tx.delete(table, &key).unwrap()),
        (true, 1) => drop(tx.update(table, &key, &[("note", Value::Text("x".into()))]).unwrap()),
        (true, _) => drop(tx.update(table, &key, &[("code", Value::Null)]).unwrap()),
    }
}

#[test]
fn several_keys_find_what_each_finds() {
    let seed = 20261126;
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), small_options(SyncMode::Os)).unwrap();
    let table = db.create_table(spec()).unwrap();
    let mut found = 0;
    for round in 0..120 {
        let mut tx = db.begin().unwrap();
        for _ in 0..rng.below(30) {
            change(&mut rng, &mut tx, &table);
        }
        for (index, columns) in [
            ("t_pkey", vec!["id"]),
            ("t_pkey", vec!["note", "id", "n"]),
            ("by_code", vec!["code"]),
            ("by_code", vec!["id", "code", "note", "n"]),
            ("t_pkey", vec![]),
        ] {
            let key = |rng: &mut Rng| {
                let id = rng.below(IDS + 5);
                match index {
                    "t_pkey" => Value::Int(id as i64),
                    _ => Value::Text(format!("code {id}")),
                }
            };
            // A key that comes again finds nothing more.
            let mut keys: Vec<Value> = Vec::new();
            for _ in 0..rng.below(20) {
                let key = key(&mut rng);
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
            let ranges: Vec<KeyRange> =
                keys.iter().chain(keys.last()).map(|k| KeyRange::eq([k.clone()])).collect();
            let batch = tx.rows_with_keys(&table, index, &ranges, Some(&columns)).unwrap();
            let batch = batch.expect("the keys are whole");
            let one = |k: &Value| {
                tx.get_by(&table, index, std::slice::from_ref(k), Some(&columns)).unwrap()
            };
            let each: Vec<Row> = keys.iter().filter_map(one).collect();
            assert_eq!(batch.len(), each.len(), "round {round}, seed {seed}");
            if !columns.is_empty() {
                let rows: Vec<Row> = (0..batch.len()).map(|at| batch.row(at)).collect();
                assert_eq!(rows, each, "round {round}, seed {seed}: {index} {keys:?}");
            }
            found += each.len();
        }
        match rng.chance(0.8) {
            true => drop(tx.commit().unwrap()),
            false => drop(tx),
        }
        if rng.chance(0.1) {
            db.flush().unwrap();
        }
    }
    assert!(!agreed_rows(&db, "t").unwrap().is_empty());
    assert!(found > 2000, "{found} rows were found");
}

#[test]
fn other_ranges_are_left_to_scans() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), small_options(SyncMode::Os)).unwrap();
    let table = db.create_table(spec()).unwrap();
    let mut tx = db.begin().unwrap();
    let mut ask = |index: &str, range: KeyRange| {
        tx.rows_with_keys(&table, index, &[range], Some(&["id"])).unwrap().is_none()
    };
    assert!(ask("by_n", KeyRange::eq([Value::Int(1)])), "an index that is not unique");
    assert!(ask("t_pkey", KeyRange::from([Value::Int(1)])), "an interval of several keys");
    assert!(ask("by_code", KeyRange::eq([Value::Null])), "NULL, which several rows may have");
}
