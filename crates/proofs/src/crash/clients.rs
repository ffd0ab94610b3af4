//! Who works on the database while every file operation is a moment at which the power may go?
//!
//! Writers at all levels of isolation, with reading, read-free and blind writes, savepoints and transactions
//! larger than their memory; a reader that holds snapshots; and a keeper that flushes, merges, changes
//! schemas, builds indexes and applies retention. All are tasks of one simulation.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onlap::{
    Change, Csn, DataType, Database, Error, ErrorKind, IndexSpec, Isolation, Result, Row, Snapshot,
    SyncMode, Table, TableSpec, Transaction, TransactionOptions, Value,
};
use onlap_base::rng::Rng;
use onlap_base::tasks::{SimTasks, Tasks};

use super::model::{Noted, Op};
use crate::letters;
use crate::rows::{Rows, agreed};

pub const FIRST: &str = "first";
pub const BLIND: &str = "blind";
/// Places of columns that nothing else depends on.
const N: usize = 4;
const C: usize = 5;

pub fn first_spec() -> TableSpec {
    TableSpec::new(FIRST)
        .column("id", DataType::Int8)
        .nullable_column("a", DataType::Int4)
        .column("b", DataType::Text)
        .column("u", DataType::Int8)
        .column("n", DataType::Int8)
        .nullable_column("c", DataType::Text)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
        .index(IndexSpec::new("by_b_a", ["b", "a"]).descending("a").include(["u"]))
        .index(IndexSpec::new("by_u", ["u"]).unique())
        .index(letters::index("by_letter", "b"))
}

pub fn blind_spec() -> TableSpec {
    TableSpec::new(BLIND)
        .column("id", DataType::Int8)
        .column("a", DataType::Int4)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
        .blind_writes()
}

/// What the tasks of a history share.
pub struct World {
    pub db: Database,
    pub first: Table,
    pub blind: Table,
    pub tasks: SimTasks,
    pub sync: SyncMode,
    pub noted: std::sync::Arc<Mutex<Noted>>,
    pub next_id: std::sync::Arc<AtomicI64>,
    /// Keys arrive in rising order.
    pub rising: bool,
    pub writers: AtomicUsize,
}

impl World {
    pub fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody knows that this commit happened.
    fn promise(&self, csn: Csn) {
        if self.sync == SyncMode::Fsync {
            let mut noted = self.noted();
            noted.promised = noted.promised.max(csn);
        }
    }

    fn snapshot(&self) -> Snapshot {
        let snapshot = self.db.snapshot().expect("an open database has snapshots");
        self.promise(snapshot.csn());
        snapshot
    }

    pub fn rest(&self, rng: &mut Rng) {
        match rng.below(12) {
            0 => self.tasks.sleep(Duration::from_micros(rng.below(60))),
            1..5 => self.tasks.yield_now(),
            _ => {}
        }
    }

    fn new_id(&self, rng: &mut Rng) -> i64 {
        let next = self.next_id.fetch_add(1, Ordering::Relaxed);
        match rng.below(12) {
            0 => rng.range(0..30),
            _ if self.rising => next,
            _ => 100 + (next * 7919) % 100_000,
        }
    }

    fn some_id(&self, rng: &mut Rng) -> i64 {
        let next = self.next_id.load(Ordering::Relaxed);
        match rng.below(3) {
            0 => rng.range(0..30),
            _ if self.rising => rng.range(100..next.max(101)),
            _ => 100 + (rng.range(100..next.max(101)) * 7919) % 100_000,
        }
    }

    fn row(&self, rng: &mut Rng, id: i64) -> Row {
        let a = if rng.chance(0.1) { Value::Null } else { Value::Int(rng.range(-10..10)) };
        let texts = ["", "a", "ab", "the same long text again and again, 35 bytes"];
        let u = if rng.chance(0.02) { rng.range(0..50) } else { (rng.next_u64() >> 8) as i64 };
        let b = Value::Text((*rng.pick(&texts)).into());
        let c = match rng.below(40) {
            0 => Value::Text("long enough to leave its block ".repeat(80)),
            1..10 => Value::Null,
            n => Value::Text(format!("text {n}")),
        };
        vec![Value::Int(id), a, b, Value::Int(u), Value::Int(0), c]
    }
}

/// A transaction that notes what it does.
struct Noting<'a> {
    world: &'a World,
    tx: Transaction,
    ops: Vec<Op>,
    blind: bool,
}

pub fn write(world: &World, mut rng: Rng, transactions: u64) {
    for _ in 0..transactions {
        world.rest(&mut rng);
        use Isolation::{ReadCommitted, RepeatableRead, Serializable};
        let level = *rng.pick(&[ReadCommitted, ReadCommitted, RepeatableRead, Serializable]);
        let blind = level == ReadCommitted && rng.chance(0.7);
        let tx = world.db.begin_with(TransactionOptions::at(level));
        let tx = tx.expect("an open database begins transactions");
        let mut noting = Noting { world, tx, ops: Vec::new(), blind };
        match noting.work(&mut rng) {
            Err(e) => refused(&e),
            Ok(()) if rng.chance(0.1) => noting.tx.rollback(),
            Ok(()) => noting.commit(),
        }
    }
    world.writers.fetch_sub(1, Ordering::Relaxed);
}

fn refused(e: &Error) {
    let kinds = [ErrorKind::Conflict, ErrorKind::DuplicateKey, ErrorKind::Deadlock];
    assert!(kinds.contains(&e.kind()), "{e}");
}

impl Noting<'_> {
    fn work(&mut self, rng: &mut Rng) -> Result<()> {
        if !self.blind && rng.below(25) == 0 {
            for _ in 0..20 + rng.below(60) {
                self.insert(rng)?;
            }
        }
        for _ in 0..1 + rng.below(6) {
            if rng.below(10) == 0 {
                let (savepoint, ops) = (self.tx.savepoint(), self.ops.len());
                self.step(rng)?;
                self.tx.rollback_to(&savepoint)?;
                self.ops.truncate(ops);
            }
            self.step(rng)?;
            self.world.rest(rng);
        }
        Ok(())
    }

    fn step(&mut self, rng: &mut Rng) -> Result<()> {
        let id = self.world.some_id(rng);
        match rng.below(12) {
            0..4 => self.insert(rng),
            4 | 5 => self.delete(id),
            6 => self.put(rng, id),
            7 => {
                let text = Value::Text(format!("set {}", rng.below(1000)));
                self.change(id, "c", Change::Set(text.clone()), Op::Set(id, C, text))
            }
            8 => {
                let n = rng.range(-5..20);
                self.change(id, "n", Change::Add(Value::Int(n)), Op::Add(id, N, n))
            }
            _ if !self.blind => self.insert(rng),
            9 | 10 => {
                let a = rng.range(-10..10);
                self.tx.upsert(&self.world.blind, &[Value::Int(id), Value::Int(a)])?;
                self.ops.push(Op::Upsert(id, a));
                Ok(())
            }
            _ => {
                self.tx.delete_blind(&self.world.blind, &[Value::Int(id)])?;
                self.ops.push(Op::Erase(id));
                Ok(())
            }
        }
    }

    fn insert(&mut self, rng: &mut Rng) -> Result<()> {
        let id = self.world.new_id(rng);
        if self.tx.get(&self.world.first, &[Value::Int(id)])?.is_none() {
            let row = self.world.row(rng, id);
            self.tx.insert(&self.world.first, &row)?;
            self.ops.push(Op::Insert(row));
        }
        Ok(())
    }

    fn delete(&mut self, id: i64) -> Result<()> {
        if self.tx.delete(&self.world.first, &[Value::Int(id)])? {
            self.ops.push(Op::Delete(id));
        }
        Ok(())
    }

    fn put(&mut self, rng: &mut Rng, id: i64) -> Result<()> {
        let (a, mut new) = (Value::Int(rng.range(-10..10)), None);
        let set = |row: &mut Row| {
            row[1] = a.clone();
            new = Some(row.clone());
            Ok(())
        };
        if self.tx.update_with(&self.world.first, &[Value::Int(id)], &["a"], set)? {
            self.ops.push(Op::Put(new.expect("the row was given to the closure")));
        }
        Ok(())
    }

    fn change(&mut self, id: i64, column: &str, change: Change, op: Op) -> Result<()> {
        if self.tx.change(&self.world.first, &[Value::Int(id)], &[(column, change)])? {
            self.ops.push(op);
        }
        Ok(())
    }

    fn commit(self) {
        let Noting { world, tx, ops, .. } = self;
        if super::model::is_nothing(&ops) {
            // Such a commit has no number of its own.
            return tx.rollback();
        }
        match tx.commit() {
            Ok(csn) => {
                // No task comes in between, and who has seen it before notes no less.
                world.noted().commit(csn, ops);
                world.promise(csn);
            }
            Err(e) => refused(&e),
        }
    }
}

/// Looks at snapshots, again and again at those that it holds, one of them to the end.
pub fn read(world: &World, mut rng: Rng) {
    let look = |snapshot: &Snapshot| -> (Rows, Rows) {
        let rows = |table| agreed(snapshot, table).expect("reads work").expect("indexes agree");
        (rows(&world.first), rows(&world.blind))
    };
    let first = world.snapshot();
    let mut held = vec![(look(&first), first)];
    while world.writers.load(Ordering::Relaxed) > 0 {
        world.tasks.sleep(Duration::from_micros(rng.below(3000)));
        if held.len() == 3 {
            let (seen, snapshot) = held.swap_remove(1 + rng.index(2));
            assert!(look(&snapshot) == seen, "snapshot {} changed", snapshot.csn());
        }
        let snapshot = world.snapshot();
        held.push((look(&snapshot), snapshot));
    }
    for (seen, snapshot) in held {
        assert!(look(&snapshot) == seen, "snapshot {} changed", snapshot.csn());
    }
}
