//! Do the rows that changed lead from an older snapshot to a newer one, and are they no more than those?
//!
//! Random changes with flushes, merges and reopens between them, of rows that are replaced and of columns that are changed in
//! their place. What two snapshots show is compared with what their difference says.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use onlap::{
    AsOf, ChangedRows, DataType, Database, Difference, ErrorKind, IndexSpec, Options, Row, Scan,
    Snapshot, SyncMode, Table, TableSpec, Value,
};
use onlap_base::rng::Rng;
use onlap_vfs::MemFs;
use support::{agreed_rows, rows_of, small_options};

const MOST: usize = 100_000;

fn options(disk: &MemFs) -> Options {
    let mut options = small_options(SyncMode::Fsync);
    options.fs = Arc::new(disk.clone());
    options
}

/// `n` is in no index, so that it is changed in its place.
fn spec(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column("id", DataType::Int8)
        .column("a", DataType::Int4)
        .column("n", DataType::Int8)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
        .history(Duration::from_hours(1))
}

struct World {
    rng: Rng,
    next: i64,
    ids: Vec<i64>,
}

impl World {
    fn commit(&mut self, db: &Database, table: &Table) {
        let mut tx = db.begin().unwrap();
        for _ in 0..1 + self.rng.below(20) {
            if self.ids.len() < 30 || self.rng.chance(0.3) {
                self.next += 1;
                self.ids.push(self.next);
                let a = Value::Int(self.rng.below(50) as i64);
                tx.insert(table, &[Value::Int(self.next), a, Value::Int(0)]).unwrap();
                continue;
            }
            let at = self.rng.index(self.ids.len());
            let key = [Value::Int(self.ids[at])];
            let value = Value::Int(self.rng.below(50) as i64);
            match self.rng.below(3) {
                0 => {
                    assert!(tx.delete(table, &key).unwrap());
                    self.ids.swap_remove(at);
                }
                1 => assert!(tx.update(table, &key, &[("a", value)]).unwrap()),
                _ => assert!(tx.update(table, &key, &[("n", value)]).unwrap()),
            }
        }
        tx.commit().unwrap();
    }
}

fn read(snapshot: &Snapshot, table: &Table, rows: &ChangedRows) -> Vec<Row> {
    let scan = snapshot.scan(table, Scan::all().row_ids(rows.rows.clone())).unwrap();
    scan.flat_map(|batch| {
        let batch = batch.unwrap();
        (0..batch.len()).map(|at| batch.row(at)).collect::<Vec<Row>>()
    })
    .collect()
}

/// Takes rows from others, each once.
fn take(from: &mut Vec<Row>, rows: Vec<Row>) {
    for row in rows {
        let at = from.iter().position(|of| *of == row);
        from.swap_remove(at.unwrap_or_else(|| panic!("{row:?} was not there")));
    }
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| format!("{row:?}"));
    rows
}

/// Goes from one snapshot to another by what is said to differ, and counts the rows that that are.
fn follow(then: &Snapshot, now: &Snapshot, table: &Table) -> usize {
    let changed = now.changed_rows(table, then, MOST).unwrap();
    let (mut rows, mut count) = (rows_of(then, table).unwrap(), 0);
    for some in &changed {
        if some.what != Difference::Inserted {
            let gone = read(then, table, some);
            count += gone.len();
            take(&mut rows, gone);
        }
        if some.what != Difference::Deleted {
            let come = read(now, table, some);
            count += come.len();
            rows.extend(come);
        }
    }
    let expected = rows_of(now, table).unwrap();
    assert_eq!(sorted(rows), sorted(expected), "{} to {}: {changed:?}", then.csn(), now.csn());
    count
}

#[test]
fn what_differs_leads_from_a_snapshot_to_any_later_one() {
    for seed in 0..6 {
        println!("seed {seed}");
        let disk = MemFs::new();
        let mut world = World { rng: Rng::new(seed), next: 0, ids: Vec::new() };
        let mut db = Database::open("/db", options(&disk)).unwrap();
        drop(db.create_table(spec("t")).unwrap());
        let first = db.snapshot().unwrap().csn();
        for _ in 0..12 {
            let table = db.table("t").unwrap();
            for _ in 0..12 {
                match world.rng.below(10) {
                    0 => db.flush().unwrap(),
                    1 => db.settle().unwrap(),
                    _ => world.commit(&db, &table),
                }
            }
            let newest = db.snapshot().unwrap().csn();
            let mut of = |from, to| {
                let csn = from + world.rng.below(to - from + 1);
                db.snapshot_as_of(AsOf::Csn(csn)).unwrap()
            };
            for _ in 0..10 {
                let then = of(first, newest);
                let now = of(then.csn(), newest);
                follow(&then, &now, &table);
                assert_eq!(now.changed_rows(&table, &now, 0).unwrap(), [], "nothing happened");
            }
            assert_eq!(agreed_rows(&db, "t").unwrap().len(), world.ids.len());
            drop(table);
            db.close().unwrap();
            db = Database::open("/db", options(&disk)).unwrap();
        }
    }
}

#[test]
fn few_changes_of_many_rows_are_few_ranges() {
    let db = Database::open("/db", options(&MemFs::new())).unwrap();
    let table = db.create_table(spec("t")).unwrap();
    let row = |id: i64| vec![Value::Int(id), Value::Int(id % 7), Value::Int(0)];
    table.insert_many((0..10_000).map(row)).unwrap();
    db.settle().unwrap();
    let then = db.snapshot().unwrap();
    for id in 4000..4100 {
        table.delete(&[Value::Int(id)]).unwrap();
    }
    table.update(&[Value::Int(9000)], &[("n", Value::Int(1))]).unwrap();
    table.insert_many((10_000..10_500).map(row)).unwrap();
    let now = db.snapshot().unwrap();
    let changed = now.changed_rows(&table, &then, 3).unwrap();
    let named = |what, rows| ChangedRows { what, rows };
    assert_eq!(
        changed,
        [
            named(Difference::Deleted, 4000..4100),
            named(Difference::Changed, 9000..9001),
            named(Difference::Inserted, 10_000..10_500),
        ]
    );
    assert_eq!(follow(&then, &now, &table), 100 + 2 + 500);
    let refused = now.changed_rows(&table, &then, 2).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::LimitExceeded, "{refused}");
    let mut asked = 0;
    let mut room = |bytes| {
        asked += bytes;
        Err(onlap::Error::new(ErrorKind::LimitExceeded, "no room"))
    };
    let refused = now.changed_rows_within(&table, &then, 3, &mut room).unwrap_err();
    assert_eq!((&*refused.to_string(), asked > 0), ("no room", true));
    let refused = then.changed_rows(&table, &now, MOST).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{refused}");
}

#[test]
fn a_table_that_began_anew_has_no_difference() {
    let db = Database::open("/db", options(&MemFs::new())).unwrap();
    let table = db.create_table(spec("t")).unwrap();
    table.insert(&[Value::Int(1), Value::Int(1), Value::Int(1)]).unwrap();
    let then = db.snapshot().unwrap();
    db.truncate_table("t").unwrap();
    table.insert(&[Value::Int(2), Value::Int(1), Value::Int(1)]).unwrap();
    let now = db.snapshot().unwrap();
    let refused = now.changed_rows(&table, &then, MOST).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::SnapshotTooOld, "{refused}");
}
