//! What do clients do? Transactions of a few steps each, and notes of them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onlap::{Database, ErrorKind, Isolation, Result, Savepoint, TransactionOptions};
use onlap_base::rng::Rng;
use onlap_base::tasks::Tasks;
use onlap_testkit::cycles::{Level, Noted, Op, Outcome};

use super::objects::{Doing, REGISTERS, Tables};

/// What the clients of a run share.
pub struct World {
    pub tasks: Arc<dyn Tasks>,
    pub level: Option<Level>,
    pub lists: bool,
    pub slots: bool,
    pub time: AtomicU64,
    /// Tags and elements.
    pub unique: AtomicU64,
    pub running: AtomicUsize,
    /// And whether they were refused at their commit.
    pub noted: Mutex<Vec<(Noted, bool)>>,
}

impl World {
    fn now(&self) -> u64 {
        self.time.fetch_add(1, Ordering::SeqCst)
    }

    fn unique(&self) -> u64 {
        self.unique.fetch_add(1, Ordering::Relaxed)
    }

    /// Blind writes need READ COMMITTED: at the other levels there are some of them to read.
    fn level_of(&self, rng: &mut Rng) -> Level {
        match self.level {
            Some(level) if self.slots && rng.chance(0.1) => level.min(Level::ReadCommitted),
            Some(level) => level,
            None => *rng.pick(&super::LEVELS),
        }
    }

    fn rest(&self, rng: &mut Rng) {
        match rng.below(10) {
            0 => self.tasks.sleep(Duration::from_micros(rng.below(60))),
            1..7 => self.tasks.yield_now(),
            _ => {}
        }
    }

    fn note(&self, noted: Noted, refused_at_commit: bool) {
        self.noted.lock().unwrap().push((noted, refused_at_commit));
    }
}

fn isolation(level: Level) -> Isolation {
    match level {
        Level::ReadCommitted => Isolation::ReadCommitted,
        Level::RepeatableRead => Isolation::RepeatableRead,
        Level::Serializable => Isolation::Serializable,
    }
}

pub fn client(world: &World, db: &Database, tables: &Tables, mut rng: Rng, transactions: usize) {
    let session = rng.next_u32() as usize;
    for _ in 0..transactions {
        let level = world.level_of(&mut rng);
        let began = world.now();
        let options = TransactionOptions::at(isolation(level));
        let tx = db.begin_with(options).unwrap();
        let mut doing = Doing { tables, tx, ops: Vec::new() };
        let done = if rng.chance(0.15) {
            look_twice(world, &mut doing, &mut rng)
        } else {
            steps(world, &mut doing, &mut rng)
        };
        let Doing { tx, ops, .. } = doing;
        let (outcome, refused) = match done {
            Ok(()) if rng.chance(0.05) => {
                tx.rollback();
                (Outcome::Aborted, false)
            }
            Ok(()) => match tx.commit() {
                Ok(csn) => (Outcome::Committed(changes(&ops).then_some(csn)), false),
                Err(e) => (refusal(&e), e.kind() == ErrorKind::Conflict),
            },
            Err(e) => {
                tx.rollback();
                (refusal(&e), false)
            }
        };
        let time = (began, world.now());
        world.note(Noted { session, level, time, outcome, ops }, refused);
        world.rest(&mut rng);
    }
    world.running.fetch_sub(1, Ordering::Relaxed);
}

fn changes(ops: &[Op]) -> bool {
    let changes = |op: &Op| {
        !matches!(op, Op::Read(..) | Op::ReadList(..) | Op::ReadSet(..) | Op::ReadSlot(..))
    };
    ops.iter().any(changes)
}

fn refusal(e: &onlap::Error) -> Outcome {
    let kinds = [ErrorKind::Conflict, ErrorKind::DuplicateKey, ErrorKind::Deadlock];
    assert!(kinds.contains(&e.kind()), "{e}");
    Outcome::Aborted
}

/// Reads and writes at random; some of it is undone.
fn steps(world: &World, doing: &mut Doing<'_>, rng: &mut Rng) -> Result<()> {
    let mut savepoint: Option<(Savepoint, usize)> = None;
    let reads_only = rng.chance(0.2);
    for _ in 0..1 + rng.below(6) {
        world.rest(rng);
        match &savepoint {
            None if rng.chance(0.2) => {
                savepoint = Some((doing.tx.savepoint(), doing.ops.len()));
            }
            Some((place, ops)) if rng.chance(0.3) => {
                doing.tx.rollback_to(place)?;
                doing.ops.truncate(*ops);
            }
            _ => {}
        }
        if let Err(e) = step(world, doing, rng, reads_only) {
            // A client may go back to a savepoint and try something else.
            let Some((place, ops)) = savepoint.as_ref().filter(|_| rng.chance(0.5)) else {
                return Err(e);
            };
            refusal(&e);
            doing.tx.rollback_to(place)?;
            doing.ops.truncate(*ops);
        }
    }
    Ok(())
}

fn step(world: &World, doing: &mut Doing<'_>, rng: &mut Rng, reads_only: bool) -> Result<()> {
    let blind = world.slots && doing.tx.isolation() == Isolation::ReadCommitted;
    let kind = if reads_only { rng.below(6) } else { rng.below(13 + 2 * u64::from(blind)) };
    match kind {
        0..2 => doing.read_register(rng.range(0..REGISTERS)),
        2 => doing.read_registers(rng),
        3 if world.lists => doing.read_lists(rng),
        4 if world.slots => doing.read_slots(rng),
        3..6 => doing.read_set(rng),
        6..9 => {
            let key = rng.range(0..REGISTERS);
            doing.write_register(rng, key, world.unique())
        }
        9 if world.lists => doing.append(rng, world.unique()),
        10 => doing.remove(rng),
        12.. if world.slots => doing.put(rng, world.unique()),
        _ => doing.add(rng, world.unique()),
    }
}

/// A long reader: the same things at the beginning and at the end.
fn look_twice(world: &World, doing: &mut Doing<'_>, rng: &mut Rng) -> Result<()> {
    let again = rng.clone();
    for mut rng in [again, rng.fork()] {
        doing.read_registers(&mut rng)?;
        doing.read_set(&mut rng)?;
        if world.lists {
            doing.read_lists(&mut rng)?;
        }
        if world.slots {
            doing.read_slots(&mut rng)?;
        }
        for _ in 0..3 {
            world.tasks.sleep(Duration::from_micros(300));
        }
    }
    Ok(())
}

/// Flushes and merges while the clients run.
pub fn keep(world: &World, db: &Database, _: &Tables, mut rng: Rng, _: usize) {
    while world.running.load(Ordering::Relaxed) > 0 {
        world.tasks.sleep(Duration::from_micros(rng.below(5000)));
        match rng.below(4) {
            0 => db.settle().unwrap(),
            _ => db.flush().unwrap(),
        }
    }
}

/// Notes a last transaction that reads all there is, in every way.
pub fn read_everything(world: &World, db: &Database, tables: &Tables) {
    let began = world.now();
    let tx = db.begin_with(TransactionOptions::at(Isolation::Serializable)).unwrap();
    let mut doing = Doing { tables, tx, ops: Vec::new() };
    let mut rng = Rng::new(0);
    for _ in 0..20 {
        doing.read_registers(&mut rng).unwrap();
        doing.read_lists(&mut rng).unwrap();
        doing.read_set(&mut rng).unwrap();
        doing.read_slots(&mut rng).unwrap();
    }
    let Doing { tx, ops, .. } = doing;
    tx.commit().unwrap();
    let (level, outcome) = (Level::Serializable, Outcome::Committed(None));
    world.note(Noted { session: 0, level, time: (began, world.now()), outcome, ops }, false);
}
