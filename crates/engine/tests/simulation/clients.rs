//! The tasks of a simulation: writers, readers, and one that looks after the database.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use onlap::{
    DataType, Database, Error, ErrorKind, IndexSpec, Isolation, KeyRange, LockWait, Result, Row,
    RowLock, Scan, Snapshot, Table, TableSpec, Transaction, TransactionOptions, Value,
};
use onlap_base::rng::Rng;
use onlap_base::tasks::{SimTasks, Tasks};

use crate::history::{Changes, History, Rows, int};

pub fn spec() -> TableSpec {
    TableSpec::new("t")
        .column("id", DataType::Int8)
        .nullable_column("a", DataType::Int4)
        .column("b", DataType::Text)
        .column("u", DataType::Int8)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
        .index(IndexSpec::new("by_b_a", ["b", "a"]).include(["u"]))
        .index(IndexSpec::new("by_u", ["u"]).unique())
}

/// Positions of the key columns of an index.
fn key_columns(index: &str) -> &'static [usize] {
    match index {
        "by_a" => &[1],
        "by_b_a" => &[2, 1],
        "by_u" => &[3],
        "extra" => &[1, 3],
        _ => &[0],
    }
}

/// A value of a key as it sorts: NULL last.
type Part = (bool, i64, String);

fn key(row: &Row, index: &str) -> Vec<Part> {
    let part = |&at: &usize| match &row[at] {
        Value::Null => (true, 0, String::new()),
        Value::Int(v) => (false, *v, String::new()),
        Value::Text(v) => (false, 0, v.to_string()),
        other => panic!("{other:?} is in no key"),
    };
    key_columns(index).iter().map(part).collect()
}

/// What the tasks of a run share.
pub struct World {
    pub db: Database,
    pub table: Table,
    pub tasks: SimTasks,
    pub history: History,
    pub next_id: AtomicI64,
    /// Keys arrive in rising order.
    pub rising: bool,
    pub writers: AtomicUsize,
}

impl World {
    fn rest(&self, rng: &mut Rng) {
        match rng.below(20) {
            0..3 => self.tasks.sleep(Duration::from_micros(rng.below(60))),
            3..12 => self.tasks.yield_now(),
            _ => {}
        }
    }

    /// A new id, or one of few that everybody wants.
    fn id(&self, rng: &mut Rng, contested: f64) -> i64 {
        let next = self.next_id.load(Ordering::Relaxed);
        if rng.chance(contested) {
            rng.range(0..40)
        } else if self.rising {
            self.next_id.fetch_add(1, Ordering::Relaxed)
        } else {
            self.next_id.store(next + 1, Ordering::Relaxed);
            100 + (next * 7919) % 100_000
        }
    }

    fn row(&self, rng: &mut Rng, id: i64) -> Row {
        let a = if rng.chance(0.1) { Value::Null } else { Value::Int(rng.range(-10..10)) };
        let texts = ["", "a", "ab", "the same long text again and again, 35 bytes"];
        let u =
            if rng.chance(0.02) { rng.range(0..50) } else { 1000 + (rng.next_u64() >> 8) as i64 };
        vec![Value::Int(id), a, Value::Text((*rng.pick(&texts)).into()), Value::Int(u)]
    }
}

/// A transaction that notes what it does.
struct Noting<'a> {
    world: &'a World,
    tx: Transaction,
    changes: Changes,
}

impl<'a> Noting<'a> {
    fn begin(world: &'a World, rng: &mut Rng) -> Noting<'a> {
        use Isolation::{ReadCommitted, RepeatableRead, Serializable};
        let level = *rng.pick(&[ReadCommitted, RepeatableRead, RepeatableRead, Serializable]);
        // No task comes in between, so both see the same commits.
        let began = world.db.snapshot().unwrap().csn();
        let tx = world.db.begin_with(TransactionOptions::at(level)).unwrap();
        Noting { world, tx, changes: Changes { level, began, ..Changes::default() } }
    }

    fn own(&mut self, id: i64) -> Option<&mut Option<Row>> {
        let is = |row: &Option<Row>| row.as_ref().is_some_and(|r| int(r, 0) == id);
        self.changes.inserted.iter_mut().find(|row| is(row))
    }

    fn insert(&mut self, row: Row) -> Result<()> {
        if self.own(int(&row, 0)).is_none() {
            self.tx.insert(&self.world.table, &row)?;
            self.changes.inserted.push(Some(row));
        }
        Ok(())
    }

    /// Notes that a row is gone for this transaction; false when there was none.
    fn end(&mut self, id: i64, found: bool) {
        if let Some(own) = self.own(id) {
            assert!(found, "the transaction's own row {id} is gone");
            *own = None;
        } else if self.changes.ended.contains(&id) {
            assert!(!found, "row {id} is back after its delete");
        } else {
            if self.changes.level != Isolation::ReadCommitted {
                self.world.history.looked(self.changes.began, id, found);
            }
            self.changes.ended.extend(found.then_some(id));
        }
    }

    fn delete(&mut self, id: i64) -> Result<()> {
        let found = self.tx.delete(&self.world.table, &[Value::Int(id)]);
        self.tried(id, &found);
        self.end(id, found?);
        Ok(())
    }

    fn update(&mut self, rng: &mut Rng, id: i64) -> Result<()> {
        let a = Value::Int(rng.range(-10..10));
        let mut new = None;
        let set = |row: &mut Row| {
            row[1] = a.clone();
            new = Some(row.clone());
            Ok(())
        };
        let found = self.tx.update_with(&self.world.table, &[Value::Int(id)], &["a"], set);
        self.tried(id, &found);
        self.end(id, found?);
        self.changes.inserted.extend(new.map(Some));
        Ok(())
    }

    /// Locks a row, and finds it as it was, whatever the others do meanwhile.
    fn lock(&mut self, rng: &mut Rng, id: i64) -> Result<()> {
        use RowLock::{KeyShare, NoKeyUpdate, Share, Update};
        let mode = *rng.pick(&[KeyShare, KeyShare, Share, NoKeyUpdate, Update]);
        let wait = *rng.pick(&[LockWait::Block, LockWait::NoWait, LockWait::SkipLocked]);
        let (table, key) = (&self.world.table, [Value::Int(id)]);
        let range = KeyRange::eq(key.clone());
        let rows = self.tx.index_row_ids(table, "t_pkey", range)?;
        let locked = self.tx.lock_rows(table, &rows, mode, wait, &mut |_, _| Ok(true));
        let locked = match locked {
            Err(e) if e.kind() == ErrorKind::LockNotAvailable => return Ok(()),
            locked => locked.inspect_err(|_| self.changes.ended.push(id))?,
        };
        let before = self.tx.get(table, &key)?;
        for _ in 0..3 {
            self.world.rest(rng);
        }
        let after = self.tx.get(table, &key)?;
        if mode == KeyShare {
            assert!(locked.is_empty() || after.is_some(), "{id} is gone, but its key is locked");
        } else if !locked.is_empty() {
            assert_eq!(before, after, "{id} changed, but it is locked");
        }
        Ok(())
    }

    /// Does something and takes it back.
    fn try_out(&mut self, rng: &mut Rng) -> Result<()> {
        let (savepoint, changes) = (self.tx.savepoint(), self.changes.clone());
        for _ in 0..1 + rng.below(3) {
            let id = some_id(self.world, rng);
            match rng.below(3) {
                0 => self.delete(id)?,
                1 => self.update(rng, id)?,
                _ => self.insert(self.world.row(rng, id))?,
            }
            self.world.rest(rng);
        }
        self.tx.rollback_to(&savepoint)?;
        self.changes = changes;
        Ok(())
    }

    /// A row that could not be changed is the reason of what follows.
    fn tried(&mut self, id: i64, found: &Result<bool>) {
        if found.is_err() {
            self.changes.ended.push(id);
        }
    }

    fn commit(self) {
        let nothing =
            self.changes.ended.is_empty() && self.changes.inserted.iter().all(|r| r.is_none());
        match self.tx.commit() {
            Ok(_) if nothing => {}
            Ok(csn) => self.world.history.committed(csn, self.changes),
            Err(e) => refused(self.world, self.changes, &e),
        }
    }
}

fn refused(world: &World, changes: Changes, e: &Error) {
    let kinds = [ErrorKind::Conflict, ErrorKind::DuplicateKey, ErrorKind::Deadlock];
    assert!(kinds.contains(&e.kind()), "{e}");
    // A schema change in between is a conflict with nobody.
    if !e.message().contains("schema") {
        world.history.refused(changes, e.kind());
    }
}

pub fn write(world: &World, mut rng: Rng, transactions: u64) {
    for _ in 0..transactions {
        if rng.chance(0.5) {
            world.rest(&mut rng);
        }
        let mut tx = Noting::begin(world, &mut rng);
        let done =
            if rng.chance(0.4) { contend(&mut tx, &mut rng) } else { change(&mut tx, &mut rng) };
        match done {
            Err(e) => {
                let Noting { tx, changes, .. } = tx;
                tx.rollback();
                refused(world, changes, &e);
            }
            Ok(()) if rng.chance(0.1) => tx.tx.rollback(),
            Ok(()) => tx.commit(),
        }
    }
    world.writers.fetch_sub(1, Ordering::Relaxed);
}

fn change(tx: &mut Noting<'_>, rng: &mut Rng) -> Result<()> {
    let world = tx.world;
    let many = if rng.chance(0.1) { 60 } else { 8 };
    for _ in 0..rng.below(many) {
        match rng.below(12) {
            10 => {
                let id = some_id(world, rng);
                tx.lock(rng, id)?;
            }
            11 => tx.try_out(rng)?,
            0..6 => {
                let id = world.id(rng, 0.04);
                tx.insert(world.row(rng, id))?;
            }
            6..8 => tx.delete(some_id(world, rng))?,
            _ => {
                let id = some_id(world, rng);
                tx.update(rng, id)?;
            }
        }
        world.rest(rng);
    }
    Ok(())
}

/// Takes one of few rows on, without a rest, so that several do so in one commit group.
fn contend(tx: &mut Noting<'_>, rng: &mut Rng) -> Result<()> {
    let id = rng.range(0..4);
    match rng.below(8) {
        0 => tx.delete(id),
        1 => tx.insert(tx.world.row(rng, id)),
        _ => tx.update(rng, id),
    }
}

fn some_id(world: &World, rng: &mut Rng) -> i64 {
    let next = world.next_id.load(Ordering::Relaxed);
    match rng.below(4) {
        0..2 => rng.range(0..40),
        _ if world.rising => rng.range(0..next),
        _ => 100 + (rng.range(0..next) * 7919) % 100_000,
    }
}

pub fn read(world: &World, mut rng: Rng) {
    let mut held: Vec<(Snapshot, Rows)> = Vec::new();
    let mut last = 0;
    while world.writers.load(Ordering::Relaxed) > 0 {
        world.rest(&mut rng);
        if held.len() == 3 {
            let (snapshot, rows) = held.swap_remove(rng.index(3));
            assert!(
                look(world, &mut rng, &snapshot) == rows,
                "snapshot {} changed",
                snapshot.csn()
            );
        }
        let snapshot = world.db.snapshot().unwrap();
        assert!(snapshot.csn() >= last, "snapshots go forward");
        last = snapshot.csn();
        let rows = look(world, &mut rng, &snapshot);
        world.history.scanned(last, rows.clone());
        if rng.chance(0.3) {
            held.push((snapshot, rows));
        }
        world.tasks.sleep(Duration::from_micros(rng.below(1500)));
    }
    for (snapshot, rows) in held {
        assert!(look(world, &mut rng, &snapshot) == rows, "snapshot {} changed", snapshot.csn());
    }
}

/// The rows of a snapshot, after every index was found to agree with them (I4).
pub fn look(world: &World, rng: &mut Rng, snapshot: &Snapshot) -> Rows {
    let (table, csn) = (&world.table, snapshot.csn());
    let rows = collect(world, rng, snapshot.scan(table, Scan::all()).unwrap());
    world.rest(rng);
    assert_eq!(snapshot.count(table).unwrap() as usize, rows.len(), "count at {csn}");
    for index in &table.schema().indexes {
        world.rest(rng);
        let name = &index.name;
        let found = match snapshot.index_scan(table, name, KeyRange::all(), Scan::all()) {
            Err(e) if name == "extra" && e.kind() == ErrorKind::UnknownIndex => continue,
            found => collect(world, rng, found.unwrap()),
        };
        let mut expected = rows.clone();
        expected.sort_by_cached_key(|(id, row)| (key(row, name), *id));
        assert!(found == expected, "snapshot {csn}: index {name} disagrees with the table");
    }
    let id = some_id(world, rng);
    let got = snapshot.get(table, &[Value::Int(id)], None).unwrap();
    let expected = rows.iter().find(|(_, row)| int(row, 0) == id).map(|(_, row)| row);
    assert_eq!(got.as_ref(), expected, "snapshot {csn}: id {id}");
    rows
}

fn collect(world: &World, rng: &mut Rng, batches: onlap::Rows) -> Rows {
    let mut rows = Vec::new();
    for batch in batches {
        let batch = batch.unwrap();
        rows.extend((0..batch.len()).map(|i| (batch.row_ids[i], batch.row(i))));
        if rng.chance(0.3) {
            world.tasks.yield_now();
        }
    }
    rows
}

/// Flushes, settles and changes the schema; alone, since a schema change keeps its lock while it waits.
pub fn look_after(world: &World, mut rng: Rng) {
    while world.writers.load(Ordering::Relaxed) > 0 {
        world.tasks.sleep(Duration::from_micros(rng.below(4000)));
        let extra = world.table.schema().indexes.iter().any(|i| i.name == "extra");
        match rng.below(10) {
            0..3 => world.db.flush().unwrap(),
            3 => world.db.settle().unwrap(),
            4 if extra => world.db.drop_index("t", "extra").unwrap(),
            4 => world.db.create_index("t", IndexSpec::new("extra", ["a", "u"])).unwrap(),
            5 => drop(world.db.stats().unwrap()),
            _ => {}
        }
    }
}
