//! Does a transaction see each of its own rows once, in its newest form, whatever it does to them and
//! wherever they lie: in memory, in files, or in both?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use std::collections::BTreeMap;
use std::sync::Arc;

use onlap::{
    DataType, Database, ErrorKind, IndexSpec, Isolation, KeyRange, LockWait, Options, Row, RowId,
    RowLock, Scan, Table, TableSpec, Transaction, TransactionOptions, Value,
};
use onlap_base::rng::Rng;
use onlap_base::tasks::SimTasks;
use onlap_testkit::for_seeds;
use onlap_vfs::MemFs;

const KEYS: i64 = 4;

type Model = BTreeMap<i64, String>;

fn text(row: &Row) -> String {
    match &row[2] {
        Value::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    }
}

fn longer(row: &Row, element: u64) -> Value {
    Value::Text(format!("{}{element},", text(row)))
}

fn row(key: i64, text: String) -> Row {
    vec![Value::Int(key), Value::Int(key % 2), Value::Text(text)]
}

fn key(id: i64) -> [Value; 1] {
    [Value::Int(id)]
}

struct Doing {
    table: Table,
    tx: Transaction,
    model: Model,
}

impl Doing {
    /// The row, locked.
    fn locked(&mut self, id: i64) -> Option<RowId> {
        let ids = self.tx.index_row_ids(&self.table, "t_pkey", KeyRange::eq(key(id))).unwrap();
        assert!(ids.len() <= 1, "{} rows with key {id}", ids.len());
        let mut any = |_: RowId, _: &Row| Ok(true);
        let lock = (RowLock::Update, LockWait::Block);
        let ids = self.tx.lock_rows(&self.table, &ids, lock.0, lock.1, &mut any).unwrap();
        ids.first().copied()
    }

    /// Appends to a text, or begins it.
    fn append(&mut self, rng: &mut Rng, id: i64, element: u64) {
        let table = self.table.clone();
        let before = self.model.get(&id).cloned();
        let after = format!("{}{element},", before.clone().unwrap_or_default());
        match rng.below(3) {
            0 => {
                let set = |row: &mut Row| {
                    row[2] = longer(row, element);
                    Ok(())
                };
                let found = self.tx.update_with(&table, &key(id), &["items"], set).unwrap();
                assert_eq!(found, before.is_some());
                if !found {
                    self.tx.insert(&table, &row(id, after.clone())).unwrap();
                }
            }
            1 => {
                let savepoint = self.tx.savepoint();
                if let Err(e) = self.tx.insert(&table, &row(id, format!("{element},"))) {
                    assert_eq!(e.kind(), ErrorKind::DuplicateKey);
                    self.tx.rollback_to(&savepoint).unwrap();
                    let at = self.locked(id).expect("its key is taken");
                    let set = [("items", Value::Text(after.clone()))];
                    assert_eq!(self.tx.update_rows(&table, &[at], &set).unwrap(), 1);
                }
            }
            _ => {
                if self.locked(id).is_some() {
                    assert!(self.tx.delete(&table, &key(id)).unwrap());
                }
                self.tx.insert(&table, &row(id, after.clone())).unwrap();
            }
        }
        self.model.insert(id, after);
    }

    fn compare(&mut self, rng: &mut Rng) {
        let table = &self.table;
        let rows: Vec<Row> = match rng.below(4) {
            0 => self.tx.scan(table, Scan::all()).unwrap().rows().unwrap(),
            1 => self.tx.scan(table, Scan::all().reverse()).unwrap().rows().unwrap(),
            2 => {
                let range = KeyRange::all();
                self.tx.index_scan(table, "by_part", range, Scan::all()).unwrap().rows().unwrap()
            }
            _ => (0..KEYS).filter_map(|id| self.tx.get(table, &key(id)).unwrap()).collect(),
        };
        let mut found: Vec<(i64, String)> = rows
            .iter()
            .map(|row| match &row[0] {
                Value::Int(id) => (*id, text(row)),
                other => panic!("{other:?}"),
            })
            .collect();
        found.sort();
        assert_eq!(found, Vec::from_iter(self.model.clone()));
    }
}

fn live(rng: &mut Rng) {
    let tasks = SimTasks::new(rng.next_u64());
    let mut options = Options::default().memory_limit(32 << 20);
    options.tuning.memtable_bytes = Some(4000);
    options.tuning.spill_bytes = *rng.pick(&[None, Some(1), Some(1000)]);
    options.fs = Arc::new(MemFs::new());
    options.clock = Arc::new(tasks.clone());
    options.tasks = Arc::new(tasks);
    let db = Database::open("/db", options).unwrap();
    let spec = TableSpec::new("t").column("id", DataType::Int8).column("part", DataType::Int8);
    let spec = spec.column("items", DataType::Text).primary_key(["id"]);
    let table = db.create_table(spec.index(IndexSpec::new("by_part", ["part"]))).unwrap();
    let (mut model, mut element) = (Model::new(), 0);
    for _ in 0..6 {
        let level = *rng.pick(&[Isolation::ReadCommitted, Isolation::RepeatableRead]);
        let tx = db.begin_with(TransactionOptions::at(level)).unwrap();
        let mut doing = Doing { table: table.clone(), tx, model: model.clone() };
        let mut savepoint = None;
        for _ in 0..1 + rng.below(12) {
            match rng.below(8) {
                0 => savepoint = Some((doing.tx.savepoint(), doing.model.clone())),
                1 => {
                    if let Some((place, model)) = &savepoint {
                        doing.tx.rollback_to(place).unwrap();
                        doing.model = model.clone();
                    }
                }
                2 => {
                    let id = rng.range(0..KEYS);
                    let there = doing.tx.delete(&table, &key(id)).unwrap();
                    assert_eq!(there, doing.model.remove(&id).is_some());
                }
                _ => {
                    element += 1;
                    let id = rng.range(0..KEYS);
                    doing.append(rng, id, element);
                }
            }
            doing.compare(rng);
        }
        if rng.chance(0.8) {
            model = doing.model;
            doing.tx.commit().unwrap();
        }
        if rng.chance(0.5) {
            db.flush().unwrap();
        }
    }
}

#[test]
fn own_rows_are_seen_once() {
    for_seeds("own_rows", 400, |mut rng| live(&mut rng));
}

#[test]
fn keys_from_before_a_savepoint_stay_reserved() {
    let options = Options { fs: Arc::new(MemFs::new()), ..Options::default() };
    let db = Database::open("/db", options).unwrap();
    let spec = TableSpec::new("t").column("id", DataType::Int8).primary_key(["id"]);
    let table = db.create_table(spec).unwrap();
    let mut tx = db.begin().unwrap();
    tx.insert(&table, &[Value::Int(5)]).unwrap();
    let savepoint = tx.savepoint();
    // A key of its own, and one that rises above all.
    tx.insert(&table, &[Value::Int(1)]).unwrap();
    tx.insert(&table, &[Value::Int(7)]).unwrap();
    tx.rollback_to(&savepoint).unwrap();
    let again = tx.insert(&table, &[Value::Int(5)]).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::DuplicateKey);
    tx.insert(&table, &[Value::Int(7)]).unwrap();
    tx.commit().unwrap();
    let snapshot = db.snapshot().unwrap();
    assert_eq!(snapshot.scan(&table, Scan::all()).unwrap().rows().unwrap().len(), 2);
}
