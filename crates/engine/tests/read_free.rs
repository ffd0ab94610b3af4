//! Do read-free writes read nothing, and do the same as writes that read?
//!
//! The counters of statements are asserted here, not claimed. A metamorphic run carries out the same
//! history twice: once by changes and predicates, once by updates and deletes that read every row;
//! both tables are equal at the end and at every snapshot in between.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use onlap::{
    Change, DataType, Database, ErrorKind, IndexSpec, Isolation, KeyRange, Options, Predicate, Row,
    Scan, Snapshot, SyncMode, Table, TableSpec, Transaction, TransactionOptions, Value,
};
use onlap_base::Rng;

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
        .primary_key(["id"])
        .index(IndexSpec::new("xa", ["a"]))
}

fn row(id: i64, kinds: i64) -> Vec<Value> {
    vec![Value::Int(id), Value::Int(id % kinds), Value::Int(id * 3), Value::Text(format!("c{id}"))]
}

fn int(v: i64) -> Value {
    Value::Int(v)
}

fn xa(a: i64) -> Predicate {
    Predicate::index("xa", KeyRange::eq([int(a)]))
}

fn begin(db: &Database) -> Transaction {
    db.begin_with(TransactionOptions::at(Isolation::ReadCommitted)).unwrap()
}

/// A table in files, whose rows nobody has read.
fn cold(kinds: i64) -> (tempfile::TempDir, Database, Table) {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), options()).unwrap();
    let table = db.create_table(spec("t")).unwrap();
    table.insert_many((0..20_000).map(|id| row(id, kinds))).unwrap();
    db.settle().unwrap();
    (dir, db, table)
}

#[test]
fn read_free_statements_read_index_entries_and_nothing_else() {
    let (dir, db, table) = cold(200);
    let mut tx = begin(&db);
    let expect = |tx: &Transaction, what: &str, entries: u64| {
        let read = tx.statement_counters();
        assert_eq!((read.rows_read, read.blocks_read), (0, 0), "{what}");
        assert!(read.index_entries_read <= entries, "{what}: {read:?}");
    };
    assert!(tx.change(&table, &[int(3)], &[("b", Change::Set(int(5)))]).unwrap());
    expect(&tx, "set by key", 1);
    assert!(tx.change(&table, &[int(3)], &[("b", Change::Add(int(1)))]).unwrap());
    expect(&tx, "add by key", 1);
    assert!(tx.update(&table, &[int(4)], &[("c", Value::Text("x".into()))]).unwrap());
    expect(&tx, "update by key", 1);
    assert!(!tx.change(&table, &[int(-1)], &[("b", Change::Set(int(5)))]).unwrap());
    assert_eq!(tx.update_where(&table, &xa(7), &[("b", Change::Set(int(5)))]).unwrap(), 100);
    expect(&tx, "set by index", 100);
    assert_eq!(tx.update_where(&table, &xa(8), &[("b", Change::Add(int(1)))]).unwrap(), 100);
    expect(&tx, "add by index", 100);
    let two = Predicate::any_of("xa", [9, 10].map(|a| KeyRange::eq([int(a)])));
    assert_eq!(tx.delete_where(&table, &two).unwrap(), 200);
    expect(&tx, "delete by a list", 200);
    assert_eq!(tx.delete_where(&table, &two).unwrap(), 0);
    assert!(tx.delete(&table, &[int(3)]).unwrap());
    expect(&tx, "delete by key", 1);
    let range = Predicate::index("xa", KeyRange::between([int(11)], [int(13)]));
    assert_eq!(tx.delete_where(&table, &range).unwrap(), 300);
    expect(&tx, "delete by a range", 300);
    // What a depends on is read.
    assert!(tx.update(&table, &[int(14)], &[("a", int(5))]).unwrap());
    assert_eq!(tx.statement_counters().rows_read, 1);
    assert_eq!(tx.update_where(&table, &xa(15), &[("a", Change::Add(int(1)))]).unwrap(), 100);
    assert!(tx.statement_counters().rows_read >= 100);
    tx.commit().unwrap();
    let snapshot = db.snapshot().unwrap();
    assert_eq!(snapshot.count(&table).unwrap(), 20_000 - 200 - 1 - 300);
    let found = snapshot.get(&table, &[int(207)], Some(&["b"])).unwrap();
    assert_eq!(found, Some(vec![int(5)]));
    let found = snapshot.get(&table, &[int(208)], Some(&["b"])).unwrap();
    assert_eq!(found, Some(vec![int(625)]));
    assert_eq!(snapshot.index_count(&table, "xa", KeyRange::eq([int(16)])).unwrap(), 200);
    drop(snapshot);
    drop((table, db));
    let report = onlap::check(dir.path(), &onlap::CheckOptions::default()).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[test]
fn long_walks_over_an_index_leave_out_the_dead() {
    let (_dir, db, table) = cold(7);
    let all = |snapshot: &Snapshot, scan: Scan| -> Vec<i64> {
        let rows =
            snapshot.index_scan(&table, "xa", KeyRange::all(), scan.columns(["id"])).unwrap();
        let id = |row: Row| if let Value::Int(id) = row[0] { id } else { panic!("an id") };
        let mut ids: Vec<i64> = rows.rows().unwrap().into_iter().map(id).collect();
        ids.sort_unstable();
        ids
    };
    let before = db.snapshot().unwrap();
    let mut wanted: Vec<i64> = (0..20_000).collect();
    for round in 0..3 {
        let gone = |id: &i64| id % 11 == round;
        let mut tx = begin(&db);
        wanted.iter().filter(|id| gone(id)).for_each(|&id| {
            assert!(tx.delete(&table, &[int(id)]).unwrap());
        });
        tx.commit().unwrap();
        wanted.retain(|id| !gone(id));
        if round == 1 {
            db.flush().unwrap();
        }
        let now = db.snapshot().unwrap();
        assert_eq!(all(&now, Scan::all()), wanted);
        assert_eq!(all(&now, Scan::all().reverse()), wanted);
        assert_eq!(all(&before, Scan::all()).len(), 20_000);
    }
}

#[test]
fn all_rows_of_a_table_change_by_one_record() {
    let (_dir, db, table) = cold(7);
    table.delete(&[int(77)]).unwrap();
    let mut tx = begin(&db);
    let n = tx.update_where(&table, &Predicate::All, &[("b", Change::Set(int(5)))]).unwrap();
    assert_eq!(n, 19_999);
    assert_eq!(tx.statement_counters().blocks_read, 0);
    let before = db.snapshot().unwrap();
    tx.commit().unwrap();
    let ones = |snapshot: &Snapshot| {
        let rows = snapshot.scan(&table, Scan::all().columns(["b"])).unwrap().rows().unwrap();
        rows.iter().filter(|row| row[0] == int(5)).count()
    };
    assert_eq!(ones(&before), 0);
    assert_eq!(ones(&db.snapshot().unwrap()), 19_999);
    db.flush().unwrap();
    assert_eq!(ones(&before), 0);
    drop(before);
    db.settle().unwrap();
    assert_eq!(ones(&db.snapshot().unwrap()), 19_999);
}

/// What one step does to both tables.
fn step(rng: &mut Rng, free: &mut Transaction, reading: &mut Transaction, f: &Table, r: &Table) {
    let id = int(rng.below(2000) as i64);
    let a = rng.below(40) as i64;
    let v = rng.below(100) as i64 - 50;
    let add = |column: usize| {
        move |row: &mut Row| {
            if let Value::Int(old) = row[column] {
                row[column] = int(old + v);
            }
            Ok(())
        }
    };
    let of_a = |tx: &mut Transaction, table: &Table| -> Vec<Value> {
        let rows = tx.index_scan(table, "xa", KeyRange::eq([int(a)]), Scan::all()).unwrap();
        rows.rows().unwrap().into_iter().map(|row| row[0].clone()).collect()
    };
    match rng.below(7) {
        0 => {
            let set = Change::Set(int(v));
            let done = free.change(f, std::slice::from_ref(&id), &[("b", set)]).unwrap();
            let set = |row: &mut Row| {
                row[2] = int(v);
                Ok(())
            };
            assert_eq!(reading.update_with(r, &[id], &["b"], set).unwrap(), done);
        }
        1 | 2 => {
            let done =
                free.change(f, std::slice::from_ref(&id), &[("b", Change::Add(int(v)))]).unwrap();
            assert_eq!(reading.update_with(r, &[id], &["b"], add(2)).unwrap(), done);
        }
        3 => {
            let changes = [("b", Change::Add(int(v))), ("c", Change::Set(Value::Null))];
            let n = free.update_where(f, &xa(a), &changes).unwrap();
            let keys = of_a(reading, r);
            assert_eq!(n, keys.len() as u64);
            for key in keys {
                let set = |row: &mut Row| {
                    row[3] = Value::Null;
                    add(2)(row)
                };
                assert!(reading.update_with(r, &[key], &["b", "c"], set).unwrap());
            }
        }
        4 => {
            let n = free.delete_where(f, &xa(a)).unwrap();
            let keys = of_a(reading, r);
            assert_eq!(n, keys.len() as u64);
            keys.iter()
                .for_each(|key| assert!(reading.delete(r, std::slice::from_ref(key)).unwrap()));
        }
        5 => {
            let done =
                free.change(f, std::slice::from_ref(&id), &[("a", Change::Set(int(a)))]).unwrap();
            let set = |row: &mut Row| {
                row[1] = int(a);
                Ok(())
            };
            assert_eq!(reading.update_with(r, &[id], &["a"], set).unwrap(), done);
        }
        _ => {
            let new = 2000 + rng.below(1 << 24) as i64;
            free.insert(f, &row(new, 40)).unwrap();
            reading.insert(r, &row(new, 40)).unwrap();
        }
    }
}

fn rows_of(snapshot: &Snapshot, table: &Table) -> Vec<Row> {
    let mut rows = snapshot.scan(table, Scan::all()).unwrap().rows().unwrap();
    rows.sort_by_key(|row| match row[0] {
        Value::Int(id) => id,
        _ => panic!("an id"),
    });
    rows
}

#[test]
fn histories_by_changes_and_by_reading_are_the_same() {
    for seed in 0..4 {
        let dir = tempfile::tempdir().unwrap();
        let mut db = Database::open(dir.path(), options()).unwrap();
        let specs = ["free", "reading"].map(spec);
        let [mut f, mut r] = specs.map(|spec| db.create_table(spec).unwrap());
        for table in [&f, &r] {
            table.insert_many((0..2000).map(|id| row(id, 40))).unwrap();
        }
        let mut rng = Rng::new(seed);
        let mut held: Vec<Snapshot> = Vec::new();
        for round in 0..60 {
            let level = [Isolation::ReadCommitted, Isolation::RepeatableRead][rng.index(2)];
            let mut free = db.begin_with(TransactionOptions::at(level)).unwrap();
            let mut reading = db.begin_with(TransactionOptions::at(level)).unwrap();
            for _ in 0..1 + rng.below(12) {
                let places = (free.savepoint(), reading.savepoint());
                step(&mut rng, &mut free, &mut reading, &f, &r);
                if rng.chance(0.2) {
                    free.rollback_to(&places.0).unwrap();
                    reading.rollback_to(&places.1).unwrap();
                }
            }
            if rng.chance(0.9) {
                free.commit().unwrap();
                reading.commit().unwrap();
            } else {
                free.rollback();
                reading.rollback();
            }
            match rng.below(10) {
                0 => held.push(db.snapshot().unwrap()),
                1 => db.flush().unwrap(),
                2 => db.settle().unwrap(),
                3 => {
                    for snapshot in held.drain(..) {
                        let rows = rows_of(&snapshot, &f);
                        assert_eq!(rows, rows_of(&snapshot, &r), "seed {seed}, round {round}");
                    }
                }
                4 if held.is_empty() => {
                    drop((f, r));
                    db.close().unwrap();
                    db = Database::open(dir.path(), options()).unwrap();
                    f = db.table("free").unwrap();
                    r = db.table("reading").unwrap();
                }
                _ => {}
            }
            let now = db.snapshot().unwrap();
            assert_eq!(rows_of(&now, &f), rows_of(&now, &r), "seed {seed}, round {round}");
        }
        held.clear();
        db.settle().unwrap();
        let now = db.snapshot().unwrap();
        assert_eq!(rows_of(&now, &f), rows_of(&now, &r), "seed {seed}, settled");
    }
}

#[test]
fn who_changes_a_row_second_waits_or_gives_up() {
    let (_dir, db, table) = cold(200);
    let mut first = db.begin().unwrap();
    let mut second = db.begin().unwrap();
    let one = [("b", Change::Add(int(1)))];
    assert!(first.change(&table, &[int(9)], &one).unwrap());
    first.commit().unwrap();
    let e = second.change(&table, &[int(9)], &one).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Conflict, "the first updater wins");
    let e = second.update_where(&table, &xa(9), &one).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Conflict);
    second.rollback();
    // At READ COMMITTED the second sees what the first did.
    let mut tx = begin(&db);
    assert!(tx.change(&table, &[int(9)], &one).unwrap());
    let set = |row: &mut Row| {
        assert_eq!(row[2], int(29), "27, and twice 1");
        Ok(())
    };
    assert!(tx.update_with(&table, &[int(9)], &["b"], set).unwrap());
    tx.commit().unwrap();
}

#[test]
fn an_index_or_a_rule_ends_changes_of_its_columns() {
    let (_dir, db, table) = cold(200);
    let mut early = begin(&db);
    assert!(early.change(&table, &[int(9)], &[("b", Change::Set(int(1)))]).unwrap());
    let mut other = begin(&db);
    assert!(other.change(&table, &[int(10)], &[("b", Change::Set(int(-7)))]).unwrap());
    other.commit().unwrap();
    db.create_index("t", IndexSpec::new("xb", ["b"])).unwrap();
    let e = early.change(&table, &[int(8)], &[("b", Change::Set(int(1)))]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Conflict, "what it did stands in no index");
    early.commit().unwrap();
    let snapshot = db.snapshot().unwrap();
    assert_eq!(snapshot.index_count(&table, "xb", KeyRange::eq([int(-7)])).unwrap(), 1);
    assert_eq!(snapshot.index_count(&table, "xb", KeyRange::eq([int(1)])).unwrap(), 1);
    assert_eq!(snapshot.index_count(&table, "xb", KeyRange::eq([int(27)])).unwrap(), 0);
    drop(snapshot);
    let mut tx = begin(&db);
    assert!(tx.change(&table, &[int(11)], &[("b", Change::Set(int(-7)))]).unwrap());
    assert_eq!(tx.statement_counters().rows_read, 1, "b stands in an index now");
    // An index of the same transaction comes after a change.
    assert!(
        tx.change(&table, &[int(12)], &[("c", Change::Set(Value::Text("new".into())))]).unwrap()
    );
    tx.create_index(&table, IndexSpec::new("xc", ["c"])).unwrap();
    tx.commit().unwrap();
    let snapshot = db.snapshot().unwrap();
    assert_eq!(snapshot.index_count(&table, "xb", KeyRange::eq([int(-7)])).unwrap(), 2);
    let new = KeyRange::eq([Value::Text("new".into())]);
    assert_eq!(snapshot.index_count(&table, "xc", new).unwrap(), 1);
    let old = KeyRange::eq([Value::Text("c12".into())]);
    assert_eq!(snapshot.index_count(&table, "xc", old).unwrap(), 0);
}
