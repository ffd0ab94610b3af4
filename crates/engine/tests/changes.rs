//! Do updates that read nothing say the same as those that read?
//!
//! Each test keeps the values that rows should have next to the table, in memory, in files, folded or
//! not, across flushes, merges, compactions and reopens, and at snapshots in between.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use onlap::{
    Change, DataType, Database, ErrorKind, IndexSpec, Isolation, KeyRange, Numeric, Options, Scan,
    SyncMode, Table, TableSpec, TransactionOptions, Value,
};
use onlap_base::Rng;
use onlap_vfs::MemFs;

mod support;

const ROWS: i64 = 3000;

fn options() -> Options {
    let mut options = Options { sync: SyncMode::Os, ..Options::default() };
    options.tuning.block_rows = 64;
    options
}

fn spec(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column("id", DataType::Int8)
        .column("a", DataType::Int4)
        .nullable_column("b", DataType::Int4)
        .nullable_column("c", DataType::Text)
        .column("n", DataType::Numeric(Some((9, 2))))
        .primary_key(["id"])
        .index(IndexSpec::new("xa", ["a"]))
}

fn cents(v: i64) -> Value {
    Value::Numeric(Numeric { mantissa: v.into(), scale: 2 })
}

fn row(id: i64) -> Vec<Value> {
    let b = if id % 11 == 0 { Value::Null } else { Value::Int(id) };
    vec![Value::Int(id), Value::Int(id % 10), b, Value::Text(format!("row {id}")), cents(id)]
}

type Model = BTreeMap<i64, Vec<Value>>;

fn filled(db: &Database) -> (Table, Model) {
    let table = db.create_table(spec("t")).unwrap();
    let rows: Vec<Vec<Value>> = (0..ROWS).map(row).collect();
    table.insert_many(rows.clone()).unwrap();
    (table, rows.into_iter().enumerate().map(|(i, row)| (i as i64, row)).collect())
}

fn add(value: &Value, delta: i64) -> Value {
    match value {
        Value::Int(v) => Value::Int(v + delta),
        Value::Numeric(n) => {
            Value::Numeric(Numeric { mantissa: n.mantissa + i128::from(delta), ..*n })
        }
        other => other.clone(),
    }
}

fn check(db: &Database, table: &Table, model: &Model) {
    let snapshot = db.snapshot().unwrap();
    let rows = snapshot.scan(table, Scan::all()).unwrap().rows().unwrap();
    let mut found: Vec<_> = rows.into_iter().collect();
    found.sort_by_key(|row| match row[0] {
        Value::Int(id) => id,
        _ => panic!("an id"),
    });
    assert_eq!(found.len(), model.len());
    for (found, wanted) in found.iter().zip(model.values()) {
        assert_eq!(found, wanted);
    }
    let backward = snapshot.scan(table, Scan::all().columns(["c", "b"]).reverse()).unwrap();
    let backward = backward.rows().unwrap();
    let wanted: BTreeMap<_, _> = model
        .values()
        .map(|row| (row[3].clone(), row[2].clone()))
        .map(|(c, b)| (format!("{c:?}{b:?}"), ()))
        .collect();
    for row in &backward {
        assert!(wanted.contains_key(&format!("{:?}{:?}", row[0], row[1])));
    }
    for id in [0, 1, 11, 500, ROWS - 1] {
        let found = snapshot.get(table, &[Value::Int(id)], None).unwrap();
        assert_eq!(found.as_ref(), model.get(&id));
    }
    let by_index =
        snapshot.index_scan(table, "xa", KeyRange::eq([Value::Int(3)]), Scan::all()).unwrap();
    let by_index = by_index.rows().unwrap();
    let wanted: Vec<_> = model.values().filter(|row| row[1] == Value::Int(3)).collect();
    assert_eq!(by_index.len(), wanted.len());
    for row in &by_index {
        assert!(wanted.contains(&row));
    }
}

/// Changes rows as the model does.
fn change_some(rng: &mut Rng, db: &Database, table: &Table, model: &mut Model) {
    let level = [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];
    let mut tx = db.begin_with(TransactionOptions::at(level[rng.index(3)])).unwrap();
    let mut trial = model.clone();
    for _ in 0..1 + rng.below(20) {
        let id = rng.below(ROWS as u64) as i64;
        let there = trial.contains_key(&id);
        let key = [Value::Int(id)];
        let delta = rng.below(7) as i64 - 3;
        let done = match rng.below(6) {
            0 => tx.change(table, &key, &[("b", Change::Set(Value::Int(delta)))]),
            1 => tx.change(table, &key, &[("b", Change::Set(Value::Null))]),
            2 => tx.change(table, &key, &[("n", Change::Add(cents(delta)))]),
            3 => tx.change(table, &key, &[("c", Change::Set(Value::Text(format!("v{delta}"))))]),
            4 => tx.change(
                table,
                &key,
                &[("b", Change::Add(Value::Int(delta))), ("a", Change::Add(Value::Int(0)))],
            ),
            _ => tx.change(table, &key, &[("b", Change::Add(Value::Int(delta)))]),
        };
        assert_eq!(done.unwrap(), there);
        // The same numbers again.
        let row = trial.get_mut(&id);
        if let Some(row) = row {
            let now = tx.get(table, &key).unwrap().expect("it is there");
            *row = now;
        }
    }
    if rng.chance(0.2) {
        tx.rollback();
    } else {
        tx.commit().unwrap();
        *model = trial;
    }
}

#[test]
fn changes_are_seen_by_whoever_comes_later_and_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let mut db = Database::open(dir.path(), options()).unwrap();
    let (mut table, mut model) = filled(&db);
    let mut rng = Rng::new(11);
    let mut held = Vec::new();
    for round in 0..120 {
        change_some(&mut rng, &db, &table, &mut model);
        if rng.chance(0.1) {
            let id = rng.below(ROWS as u64) as i64;
            if table.delete(&[Value::Int(id)]).unwrap() {
                model.remove(&id);
            }
        }
        match rng.below(12) {
            0 => held.push((db.snapshot().unwrap(), model.clone())),
            1 => db.flush().unwrap(),
            2 => db.settle().unwrap(),
            3 if round % 3 == 0 => {
                for (snapshot, then) in held.drain(..) {
                    let rows = snapshot.scan(&table, Scan::all()).unwrap().rows().unwrap();
                    assert_eq!(rows.len(), then.len());
                    for row in rows {
                        let Value::Int(id) = row[0] else { panic!("an id") };
                        assert_eq!(Some(&row), then.get(&id), "round {round}");
                    }
                }
            }
            4 if round % 5 == 0 => {
                held.clear();
                drop(table);
                db.close().unwrap();
                db = Database::open(dir.path(), options()).unwrap();
                table = db.table("t").unwrap();
            }
            _ => {}
        }
        if round % 8 == 0 {
            check(&db, &table, &model);
        }
    }
    held.clear();
    db.settle().unwrap();
    check(&db, &table, &model);
}

#[test]
fn a_number_counts_up_one_change_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), options()).unwrap();
    let (table, mut model) = filled(&db);
    let mut rng = Rng::new(3);
    for i in 0..4000 {
        let id = rng.below(20) as i64 + 1;
        let mut tx = db.begin().unwrap();
        assert!(
            tx.change(&table, &[Value::Int(id)], &[("b", Change::Add(Value::Int(1)))]).unwrap()
        );
        tx.commit().unwrap();
        let row = model.get_mut(&id).unwrap();
        row[2] = add(&row[2], 1);
        if i % 1000 == 700 {
            db.flush().unwrap();
            check(&db, &table, &model);
        }
    }
    db.settle().unwrap();
    check(&db, &table, &model);
}

#[test]
fn what_a_column_refuses_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), options()).unwrap();
    let (table, model) = filled(&db);
    db.flush().unwrap();
    let mut tx = db.begin().unwrap();
    let kind = |tx: &mut onlap::Transaction, name: &str, change: Change| {
        tx.change(&table, &[Value::Int(5)], &[(name, change)]).unwrap_err().kind()
    };
    assert_eq!(kind(&mut tx, "n", Change::Set(Value::Null)), ErrorKind::NotNull);
    assert_eq!(
        kind(&mut tx, "b", Change::Add(Value::Int(i64::from(i32::MAX)))),
        ErrorKind::OutOfRange
    );
    assert_eq!(kind(&mut tx, "n", Change::Add(cents(999_999_999))), ErrorKind::OutOfRange);
    assert_eq!(kind(&mut tx, "b", Change::Set(Value::Int(1 << 40))), ErrorKind::OutOfRange);
    assert_eq!(kind(&mut tx, "c", Change::Add(Value::Int(1))), ErrorKind::WrongType);
    assert_eq!(kind(&mut tx, "b", Change::Set(Value::Text("x".into()))), ErrorKind::WrongType);
    assert_eq!(kind(&mut tx, "z", Change::Set(Value::Null)), ErrorKind::UnknownColumn);
    // Up to the edge, in two steps that each leave room.
    let most = i64::from(i32::MAX) - 5;
    assert!(tx.change(&table, &[Value::Int(5)], &[("b", Change::Add(Value::Int(most)))]).unwrap());
    assert_eq!(kind(&mut tx, "b", Change::Add(Value::Int(1))), ErrorKind::OutOfRange);
    tx.rollback();
    check(&db, &table, &model);
}

#[test]
fn changes_survive_being_logged_again() {
    let disk = MemFs::new();
    let open = |disk: &MemFs| {
        let mut options = support::small_options(SyncMode::Fsync);
        options.fs = Arc::new(disk.clone());
        Database::open("/db", options).unwrap()
    };
    let db = open(&disk);
    let quiet = db.create_table(spec("quiet")).unwrap();
    let busy = db.create_table(spec("busy")).unwrap();
    quiet.insert_many((0..20).map(row)).unwrap();
    db.flush().unwrap();
    let (mut id, mut wanted) = (0, [0i64; 20]);
    for round in 0..300 {
        // A few changes at a time, so that old log files are kept for them alone.
        let row = round % 3 + 1;
        let mut tx = db.begin().unwrap();
        let one = [("b", Change::Add(Value::Int(1)))];
        assert!(tx.change(&quiet, &[Value::Int(row)], &one).unwrap());
        tx.commit().unwrap();
        wanted[row as usize] += 1;
        busy.insert_many((id..id + 40).map(super_row)).unwrap();
        id += 40;
        if round % 60 == 59 {
            let live = support::agreed_rows(&db, "quiet").unwrap();
            for (row, more) in live.iter().zip(wanted).skip(1).take(3) {
                let id = support::integer(&row[0]);
                assert_eq!(support::integer(&row[2]), id + more, "row {id}, round {round}");
            }
            let after = disk.crash(round as u64, 1.0);
            let db = open(&after);
            assert_eq!(
                db.snapshot().unwrap().count(&db.table("busy").unwrap()).unwrap(),
                id as u64
            );
            let found = support::agreed_rows(&db, "quiet").unwrap();
            for (row, more) in found.iter().zip(wanted).skip(1).take(3) {
                let id = support::integer(&row[0]);
                assert_eq!(support::integer(&row[2]), id + more, "row {id}, round {round}");
            }
            db.close().unwrap();
        }
    }
}

/// Rows as those of a crowd, whose text fills logs.
fn super_row(id: i64) -> Vec<Value> {
    let mut row = row(id);
    row[3] = Value::Text(format!("{id:0100}"));
    row
}

#[test]
fn a_row_with_many_changes_in_its_history_is_recovered() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), options()).unwrap();
    let table = db.create_table(spec("t").history(Duration::from_secs(3600))).unwrap();
    table.insert_many((0..20).map(row)).unwrap();
    let mut half = 0;
    for i in 0..4000 {
        let mut tx = db.begin().unwrap();
        tx.change(&table, &[Value::Int(1)], &[("b", Change::Add(Value::Int(1)))]).unwrap();
        let csn = tx.commit().unwrap();
        half = if i == 1999 { csn } else { half };
    }
    for flushed in [false, true] {
        let b = |snapshot: onlap::Snapshot| {
            snapshot.get(&table, &[Value::Int(1)], Some(&["b"])).unwrap().unwrap()[0].clone()
        };
        assert_eq!(b(db.snapshot().unwrap()), Value::Int(4001), "flushed: {flushed}");
        assert_eq!(b(db.snapshot_as_of(onlap::AsOf::Csn(half)).unwrap()), Value::Int(2001));
        db.settle().unwrap();
    }
}

#[test]
fn a_statement_that_fails_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), options()).unwrap();
    let (table, model) = filled(&db);
    db.flush().unwrap();
    let mut tx = db.begin().unwrap();
    let most = Change::Add(Value::Int(i64::from(i32::MAX)));
    // b is read, as the sum may leave its type, and so is n; the second of them fails.
    for names in [["n", "b"], ["b", "n"]] {
        let of = |name| if name == "b" { most.clone() } else { Change::Add(cents(999_999_000)) };
        let both = names.map(|name| (name, of(name)));
        let e = tx.change(&table, &[Value::Int(3000 - 1)], &both).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::OutOfRange);
    }
    tx.commit().unwrap();
    check(&db, &table, &model);
}

#[test]
fn long_values_take_the_place_of_their_rows() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), options()).unwrap();
    let (table, mut model) = filled(&db);
    for (id, len) in [(5, 2000), (6, 3000), (7, 1 << 20)] {
        let text = Value::Text("x".repeat(len));
        assert!(table.update(&[Value::Int(id)], &[("c", text.clone())]).unwrap());
        model.get_mut(&id).unwrap()[3] = text;
    }
    check(&db, &table, &model);
    db.settle().unwrap();
    check(&db, &table, &model);
}

#[test]
fn a_row_that_a_blind_write_replaced_is_not_changed() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), options()).unwrap();
    let spec = TableSpec::new("t").column("id", DataType::Int8).column("b", DataType::Int4);
    let table = db.create_table(spec.primary_key(["id"]).blind_writes()).unwrap();
    table.insert_many((0..10).map(|id| [Value::Int(id), Value::Int(0)])).unwrap();
    let mut tx = db.begin_with(TransactionOptions::at(Isolation::ReadCommitted)).unwrap();
    let one = [("b", Change::Add(Value::Int(1)))];
    assert!(tx.change(&table, &[Value::Int(3)], &one).unwrap());
    table.upsert(&[Value::Int(3), Value::Int(50)]).unwrap();
    assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::Conflict);
    let found = db.snapshot().unwrap().get(&table, &[Value::Int(3)], None).unwrap();
    assert_eq!(found, Some(vec![Value::Int(3), Value::Int(50)]));
}
