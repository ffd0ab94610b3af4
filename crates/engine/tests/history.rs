//! Can a table be read as it was, and for no longer than it is to be?
//!
//! Random changes with flushes, merges and reopens between them: every past commit in the history
//! shows what it showed then, in every order, and none below it is answered. Snapshots that keep too
//! much are revoked, whatever they are doing.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use onlap::{
    AsOf, Csn, DataType, Database, ErrorKind, IndexSpec, Isolation, KeyRange, Options, Result, Row,
    Scan, SyncMode, Table, TableSpec, TransactionOptions, Value,
};
use onlap_base::clock::{Clock, ManualClock};
use onlap_base::rng::Rng;
use onlap_vfs::MemFs;
use support::{agreed_rows, rows_of, small_options};

const SECOND: i64 = 1_000_000;
const HISTORY: Duration = Duration::from_secs(100);

fn options(disk: &MemFs) -> Options {
    let mut options = small_options(SyncMode::Fsync);
    options.fs = Arc::new(disk.clone());
    options
}

fn spec() -> TableSpec {
    spec_of("t")
}

fn spec_of(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column("id", DataType::Int8)
        .column("a", DataType::Int4)
        .column("b", DataType::Text)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]).include(["id"]))
        .index(IndexSpec::new("by_b_a", ["b", "a"]))
}

fn row(id: i64, a: i64) -> Row {
    vec![Value::Int(id), Value::Int(a), Value::Text("some words ".repeat(1 + id as usize % 5))]
}

type Model = BTreeMap<i64, i64>;

/// A database with one table, and what it showed at each commit.
struct World {
    rng: Rng,
    disk: MemFs,
    clock: Arc<ManualClock>,
    db: Database,
    table: Table,
    model: Model,
    past: BTreeMap<Csn, (i64, Model)>,
    next: i64,
}

impl World {
    fn new(rng: Rng) -> World {
        let (disk, clock) = (MemFs::new(), Arc::new(ManualClock::new(1000 * SECOND)));
        let db = open(&disk, &clock);
        let table = db.create_table(spec().history(HISTORY)).unwrap();
        let (model, past) = (Model::new(), BTreeMap::new());
        World { rng, disk, clock, db, table, model, past, next: 0 }
    }

    fn commit(&mut self) {
        let mut tx = self.db.begin().unwrap();
        for _ in 0..1 + self.rng.below(30) {
            if self.model.len() < 40 || self.rng.chance(0.4) {
                self.next += 1;
                let a = self.rng.below(100) as i64;
                tx.insert(&self.table, &row(self.next, a)).unwrap();
                self.model.insert(self.next, a);
                continue;
            }
            let at = self.rng.index(self.model.len());
            let id = *self.model.keys().nth(at).unwrap();
            if self.rng.chance(0.5) {
                assert!(tx.delete(&self.table, &[Value::Int(id)]).unwrap());
                self.model.remove(&id);
            } else {
                let a = self.rng.below(100) as i64;
                assert!(
                    tx.update(&self.table, &[Value::Int(id)], &[("a", Value::Int(a))]).unwrap()
                );
                self.model.insert(id, a);
            }
        }
        let csn = tx.commit().unwrap();
        self.past.insert(csn, (self.clock.unix_us(), self.model.clone()));
        self.clock.advance(Duration::from_secs(1));
    }

    fn reopen(&mut self, sealed: bool) {
        let other = MemFs::new();
        let unused = Database::open("/none", options(&other)).unwrap();
        // Tables keep their database's directory locked.
        self.table = unused.create_table(spec()).unwrap();
        let db = std::mem::replace(&mut self.db, unused);
        if sealed {
            db.close().unwrap();
        } else {
            drop(db);
        }
        self.db = open(&self.disk, &self.clock);
        self.table = self.db.table("t").unwrap();
    }

    /// Reads as of a random commit: as it was, or too old to ask.
    fn look_back(&mut self) {
        let now = self.clock.unix_us();
        let Some((&csn, (when, model))) =
            self.past.iter().nth(self.rng.index(self.past.len().max(1)))
        else {
            return;
        };
        let moment = if self.rng.chance(0.5) { AsOf::Csn(csn) } else { AsOf::Time(*when) };
        let history = HISTORY.as_micros() as i64;
        let answer = self.db.snapshot_as_of(moment).and_then(|s| {
            assert_eq!(s.csn(), csn, "{moment:?}");
            let some = model.iter().next().map(|(id, a)| (*id, *a));
            if let Some((id, a)) = some {
                let found = s.get(&self.table, &[Value::Int(id)], None)?;
                assert_eq!(found, Some(row(id, a)), "as of {csn}");
            }
            rows_of(&s, &self.table)
        });
        match answer {
            Ok(found) => {
                let expected: Vec<Row> = model.iter().map(|(&id, &a)| row(id, a)).collect();
                assert!(found == expected, "as of {csn}, {} s ago", (now - when) / SECOND);
                // The commit that was the newest when the history begins can be asked for, too.
                assert!(now - when <= history + SECOND, "{} s ago", (now - when) / SECOND);
            }
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::SnapshotTooOld, "{e}");
                assert!(now - when > history, "{} s ago: {e}", (now - when) / SECOND);
            }
        }
    }
}

fn open(disk: &MemFs, clock: &Arc<ManualClock>) -> Database {
    let mut options = options(disk);
    options.clock = Arc::clone(clock) as Arc<dyn Clock>;
    Database::open("/db", options).unwrap()
}

#[test]
fn every_commit_in_the_history_can_be_read_as_it_was_and_none_below() {
    for seed in 0..8 {
        let mut world = World::new(Rng::new(seed));
        for _ in 0..260 {
            match world.rng.below(40) {
                0..24 => world.commit(),
                24..26 => world.db.flush().unwrap(),
                26 => world.db.settle().unwrap(),
                27 => {
                    let sealed = world.rng.chance(0.5);
                    world.reopen(sealed);
                }
                _ => world.look_back(),
            }
        }
        world.db.settle().unwrap();
        assert!(world.db.stats().unwrap().history_debt_bytes > 0);
        // A history that is over costs nothing.
        world.clock.advance(2 * HISTORY);
        world.db.settle().unwrap();
        let stats = world.db.stats().unwrap();
        assert_eq!((stats.history_debt_bytes, stats.snapshots), (0, 0));
        let live = agreed_rows(&world.db, "t").unwrap();
        assert_eq!(live.len(), world.model.len());
        let newest = world.db.snapshot_as_of(AsOf::Csn(stats.csn)).unwrap();
        assert!(rows_of(&newest, &world.table).unwrap() == live);
        world.look_back();
    }
}

#[test]
fn a_snapshot_of_the_past_stays_while_its_history_goes_by() {
    let mut world = World::new(Rng::new(3));
    (0..30).for_each(|_| world.commit());
    let (&csn, (_, model)) = world.past.iter().nth(10).unwrap();
    let expected: Vec<Row> = model.iter().map(|(&id, &a)| row(id, a)).collect();
    let held = world.db.snapshot_as_of(AsOf::Csn(csn)).unwrap();
    assert!(rows_of(&held, &world.table).unwrap() == expected);
    for _ in 0..10 {
        world.clock.advance(HISTORY);
        world.commit();
        world.db.settle().unwrap();
        assert!(rows_of(&held, &world.table).unwrap() == expected);
    }
    let before = world.db.snapshot_as_of(AsOf::Csn(csn - 1));
    let e = before.and_then(|s| rows_of(&s, &world.table)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::SnapshotTooOld);
    drop(held);
    world.db.settle().unwrap();
    let again = world.db.snapshot_as_of(AsOf::Csn(csn)).and_then(|s| rows_of(&s, &world.table));
    assert_eq!(again.unwrap_err().kind(), ErrorKind::SnapshotTooOld);
}

#[test]
fn histories_begin_when_they_are_set_and_moments_that_will_not_do_are_refused() {
    let (disk, clock) = (MemFs::new(), Arc::new(ManualClock::new(1000 * SECOND)));
    let db = open(&disk, &clock);
    let table = db.create_table(spec()).unwrap();
    let first = table.insert(&row(1, 1)).unwrap();
    let refused = |moment: AsOf| {
        let answer = db.snapshot_as_of(moment).and_then(|s| s.count(&table));
        answer.unwrap_err().kind()
    };
    let second = table.insert(&row(2, 2)).unwrap();
    assert_eq!(refused(AsOf::Csn(first)), ErrorKind::SnapshotTooOld, "no history");
    assert_eq!(refused(AsOf::Time(clock.unix_us())), ErrorKind::SnapshotTooOld);
    table.set_history(HISTORY).unwrap();
    let set = clock.unix_us();
    clock.advance(Duration::from_secs(5));
    assert!(table.delete(&[Value::Int(1)]).unwrap());
    db.settle().unwrap();
    let count = |moment: AsOf| db.snapshot_as_of(moment).unwrap().count(&table).unwrap();
    assert_eq!(count(AsOf::Csn(second)), 2);
    assert_eq!(count(AsOf::Time(set)), 2);
    assert_eq!(count(AsOf::Time(clock.unix_us())), 1);
    assert_eq!(refused(AsOf::Csn(first)), ErrorKind::SnapshotTooOld, "before it was set");
    assert_eq!(refused(AsOf::Time(set - SECOND)), ErrorKind::SnapshotTooOld);
    assert_eq!(refused(AsOf::Csn(1000)), ErrorKind::InvalidInput);
    assert_eq!(refused(AsOf::Time(clock.unix_us() + 1)), ErrorKind::InvalidInput);
    let other = db.create_table(TableSpec::new("other").column("x", DataType::Int4)).unwrap();
    other.insert(&[Value::Int(1)]).unwrap();
    other.insert(&[Value::Int(2)]).unwrap();
    let e = db.snapshot_as_of(AsOf::Csn(second)).unwrap().count(&other).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::SnapshotTooOld);
    assert_eq!(count(AsOf::Csn(second)), 2, "one table's does not depend on another's");
    table.set_history(Duration::ZERO).unwrap();
    assert_eq!(refused(AsOf::Csn(second)), ErrorKind::SnapshotTooOld);
}

#[test]
fn the_timeline_outlives_the_log_and_goes_with_a_backup() {
    let mut world = World::new(Rng::new(9));
    (0..60).for_each(|_| world.commit());
    world.db.settle().unwrap();
    (0..60).for_each(|_| world.commit());
    world.db.flush().unwrap();
    world.db.backup("/backup").unwrap();
    world.reopen(true);
    world.reopen(false);
    let mut copy = options(&world.disk);
    copy.clock = Arc::clone(&world.clock) as Arc<dyn Clock>;
    let backup = Database::open("/backup", copy).unwrap();
    for db in [&world.db, &backup] {
        let table = db.table("t").unwrap();
        let (mut found, now) = (0, world.clock.unix_us());
        for (csn, (when, model)) in &world.past {
            if now - when > 99 * SECOND {
                continue;
            }
            let snapshot = db.snapshot_as_of(AsOf::Time(when + SECOND / 2)).unwrap();
            assert_eq!(snapshot.csn(), *csn);
            assert_eq!(snapshot.count(&table).unwrap(), model.len() as u64);
            found += 1;
        }
        assert!(found > 90, "{found}");
    }
}

#[test]
fn a_truncation_ends_a_history_and_a_transaction_may_begin_one() {
    let (disk, clock) = (MemFs::new(), Arc::new(ManualClock::new(1000 * SECOND)));
    let mut db = open(&disk, &clock);
    let before = {
        let table = db.create_table(spec().history(HISTORY)).unwrap();
        table.insert(&row(1, 1)).unwrap();
        let before = table.insert(&row(2, 1)).unwrap();
        db.truncate_table("t").unwrap();
        table.insert(&row(3, 1)).unwrap();
        let mut tx = db.begin().unwrap();
        let late = tx.create_table(spec_of("late").history(HISTORY)).unwrap();
        tx.insert(&late, &row(1, 1)).unwrap();
        tx.commit().unwrap();
        before
    };
    for _ in 0..2 {
        let (table, late) = (db.table("t").unwrap(), db.table("late").unwrap());
        let now = db.snapshot().unwrap().csn();
        late.insert(&row(now as i64 + 10, 1)).unwrap();
        for (table, csn) in [(&table, before), (&late, before)] {
            let e = db.snapshot_as_of(AsOf::Csn(csn)).and_then(|s| s.count(table)).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::SnapshotTooOld, "{e}");
        }
        let then = db.snapshot_as_of(AsOf::Csn(now)).unwrap();
        assert_eq!(then.count(&table).unwrap(), 1);
        assert_eq!(then.count(&late).unwrap() + 1, late_rows(&db));
        drop((table, late, then));
        db.close().unwrap();
        db = open(&disk, &clock);
    }
}

#[test]
fn a_table_with_a_history_is_dropped() {
    let (disk, clock) = (MemFs::new(), Arc::new(ManualClock::new(1000 * SECOND)));
    let db = open(&disk, &clock);
    for name in ["at_once", "in_a_transaction", "by_one_that_made_another"] {
        let table = db.create_table(spec_of(name).history(HISTORY)).unwrap();
        table.insert(&row(1, 1)).unwrap();
        db.flush().unwrap();
        table.insert(&row(2, 1)).unwrap();
    }
    db.drop_table("at_once").unwrap();
    let mut tx = db.begin().unwrap();
    tx.drop_table("in_a_transaction").unwrap();
    tx.commit().unwrap();
    let mut tx = db.begin().unwrap();
    tx.drop_table("by_one_that_made_another").unwrap();
    let next = tx.create_table(spec_of("by_one_that_made_another").history(HISTORY)).unwrap();
    tx.insert(&next, &row(7, 1)).unwrap();
    tx.commit().unwrap();
    drop(next);
    db.close().unwrap();
    let db = open(&disk, &clock);
    assert_eq!(db.tables().len(), 1);
    assert_eq!(agreed_rows(&db, "by_one_that_made_another").unwrap(), [row(7, 1)]);
}

fn late_rows(db: &Database) -> u64 {
    db.snapshot().unwrap().count(&db.table("late").unwrap()).unwrap()
}

#[test]
fn a_history_that_keeps_too_much_loses_its_oldest_part() {
    const LIMIT: u64 = 2 << 20;
    let mut options = Options::default().sync(SyncMode::Os);
    options.fs = Arc::new(MemFs::new());
    options.history_debt_limit = Some(LIMIT);
    options.tuning.memtable_bytes = Some(1 << 20);
    let db = Database::open("/db", options).unwrap();
    let table = db.create_table(spec().history(Duration::from_secs(86_400))).unwrap();
    table.insert_many((0..200).map(|id| row(id, id % 50))).unwrap();
    let first = db.snapshot().unwrap().csn();
    let (mut most, mut next) = (0, 200);
    let start = Instant::now();
    while db.stats().unwrap().histories_shortened < 8 {
        for _ in 0..10 {
            let mut tx = db.begin().unwrap();
            for id in next - 200..next {
                assert!(tx.delete(&table, &[Value::Int(id)]).unwrap());
                tx.insert(&table, &row(id + 200, id % 50)).unwrap();
            }
            tx.commit().unwrap();
            next += 200;
        }
        let debt = db.stats().unwrap().history_debt_bytes;
        assert!(debt <= LIMIT, "{debt} bytes of history");
        most = most.max(debt);
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", db.stats().unwrap());
        // Background work has to come to look.
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(most > LIMIT / 2, "the load has to make debts: {most}");
    let old = db.snapshot_as_of(AsOf::Csn(first)).unwrap();
    assert_eq!(old.count(&table).unwrap_err().kind(), ErrorKind::SnapshotTooOld);
    // What is left of it is whole.
    let late = db.snapshot().unwrap().csn() - 3;
    let late = db.snapshot_as_of(AsOf::Csn(late)).unwrap();
    assert_eq!(late.count(&table).unwrap(), 200);
    db.settle().unwrap();
    assert!(db.stats().unwrap().tables[0].segment_rows < next as u64, "rows are given up, too");
}

// Revoked snapshots.

fn wait_for_revoked(db: &Database) {
    let start = Instant::now();
    while db.stats().unwrap().snapshots_revoked == 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", db.stats().unwrap());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_snapshot_that_keeps_too_much_fails_whatever_it_is_doing() {
    let disk = MemFs::new();
    let mut options = options(&disk);
    options.snapshot_debt_limit = Some(30_000);
    let db = Database::open("/db", options).unwrap();
    let table = db.create_table(spec()).unwrap();
    let other = db.create_table(TableSpec::new("other").column("x", DataType::Int4)).unwrap();
    table.insert_many((0..5000).map(|id| row(id, id % 50))).unwrap();
    db.settle().unwrap();
    let snapshot = db.snapshot().unwrap();
    let mut scan = snapshot.scan(&table, Scan::all()).unwrap();
    let mut index = snapshot.index_scan(&table, "by_a", KeyRange::all(), Scan::all()).unwrap();
    assert!(scan.next().unwrap().is_ok() && index.next().unwrap().is_ok());
    let begin = |level| db.begin_with(TransactionOptions::at(level)).unwrap();
    let mut fixed = begin(Isolation::RepeatableRead);
    let mut serial = begin(Isolation::Serializable);
    let mut moving = begin(Isolation::ReadCommitted);
    for tx in [&mut fixed, &mut serial, &mut moving] {
        tx.insert(&other, &[Value::Int(1)]).unwrap();
    }
    for first in (0..5000).step_by(500) {
        let mut tx = db.begin().unwrap();
        for id in first..first + 500 {
            assert!(tx.delete(&table, &[Value::Int(id)]).unwrap());
        }
        tx.commit().unwrap();
    }
    let debt = db.stats().unwrap().snapshot_debt_bytes;
    wait_for_revoked(&db);
    assert!(debt > 0);
    let gone = |kind| assert_eq!(kind, ErrorKind::SnapshotTooOld);
    gone(snapshot.count(&table).unwrap_err().kind());
    gone(snapshot.get(&table, &[Value::Int(1)], None).unwrap_err().kind());
    gone(scan.next().unwrap().unwrap_err().kind());
    gone(index.next().unwrap().unwrap_err().kind());
    assert!(scan.next().is_none());
    gone(fixed.insert(&other, &[Value::Int(2)]).unwrap_err().kind());
    gone(fixed.commit().unwrap_err().kind());
    gone(serial.commit().unwrap_err().kind());
    moving.commit().unwrap();
    assert_eq!(db.snapshot().unwrap().count(&other).unwrap(), 1);
    db.settle().unwrap();
    let stats = db.stats().unwrap();
    assert_eq!(stats.snapshot_debt_bytes, 0);
    let left =
        |t: &onlap::TableStats| t.segment_rows + t.indexes.iter().map(|i| i.entries).sum::<u64>();
    assert!(stats.tables.iter().map(left).sum::<u64>() < 10, "{:?}", stats.tables);
}

#[test]
fn an_age_limit_revokes_what_is_older_and_nothing_else() {
    let mut options = options(&MemFs::new());
    options.snapshot_age_limit = Some(Duration::from_millis(1));
    let db = Database::open("/db", options).unwrap();
    let table = db.create_table(spec()).unwrap();
    table.insert(&row(1, 1)).unwrap();
    let newest = db.snapshot().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(newest.count(&table).unwrap(), 1, "one that sees everything keeps nothing");
    table.insert(&row(2, 1)).unwrap();
    wait_for_revoked(&db);
    assert_eq!(newest.count(&table).unwrap_err().kind(), ErrorKind::SnapshotTooOld);
    assert_eq!(db.snapshot().unwrap().count(&table).unwrap(), 2);
}

#[test]
fn readers_that_are_revoked_never_see_a_wrong_answer() {
    let mut options = options(&MemFs::new());
    options.snapshot_debt_limit = Some(2_000);
    options.tuning.memtable_bytes = Some(20_000);
    let db = Database::open("/db", options).unwrap();
    let table = db.create_table(spec()).unwrap();
    const ROWS: i64 = 400;
    table.insert_many((0..ROWS).map(|id| row(id, id))).unwrap();
    let (stop, revoked, read) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for seed in 0..2 {
            let (table, stop) = (&table, &stop);
            scope.spawn(move || {
                let mut rng = Rng::new(seed);
                while !stop.load(Ordering::Relaxed) {
                    let id = rng.below(ROWS as u64) as i64;
                    let a = Value::Int(rng.below(1000) as i64);
                    assert!(table.update(&[Value::Int(id)], &[("a", a)]).unwrap());
                }
            });
        }
        for n in 0..2 {
            let (db, table, stop, revoked, read) = (&db, &table, &stop, &revoked, &read);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    match slow_read(db, table, n == 0) {
                        Ok(rows) => {
                            assert_eq!(rows, ROWS as usize);
                            read.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(e) => {
                            assert_eq!(e.kind(), ErrorKind::SnapshotTooOld, "{e}");
                            revoked.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
        while start.elapsed() < Duration::from_secs(20)
            && (revoked.load(Ordering::Relaxed) < 3 || read.load(Ordering::Relaxed) < 3)
        {
            std::thread::sleep(Duration::from_millis(50));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(revoked.into_inner() >= 3 && read.into_inner() >= 3);
}

/// Reads the same snapshot several times with pauses; the rows it showed each time.
fn slow_read(db: &Database, table: &Table, by_index: bool) -> Result<usize> {
    let snapshot = db.snapshot()?;
    let mut seen = None;
    for _ in 0..3 {
        let mut found = 0;
        let rows = match by_index {
            true => snapshot.index_scan(table, "by_b_a", KeyRange::all(), Scan::all())?,
            false => snapshot.scan(table, Scan::all())?,
        };
        for batch in rows {
            found += batch?.len();
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(*seen.get_or_insert(found), found);
    }
    Ok(seen.unwrap_or(0))
}
