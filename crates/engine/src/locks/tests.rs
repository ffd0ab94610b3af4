//! Locks by hand, with transactions as tasks of the simulation where they wait.

use std::sync::Arc;
use std::time::Duration;

use onlap_base::clock::{Clock, ManualClock};
use onlap_base::tasks::{Tasks, ThreadTasks};
use onlap_base::{ErrorKind, IndexId, Result};

use super::space::{Answer, BULK_AT, LockSpace, Request};
use super::*;

fn context<'a>(locks: &'a Locks, tasks: &'a dyn Tasks, clock: &'a dyn Clock) -> WaitContext<'a> {
    WaitContext { locks, tasks, clock, go_on: &|| Ok(()), timeout: None }
}

struct Stage {
    locks: Locks,
    tasks: ThreadTasks,
    clock: ManualClock,
    space: LockSpace,
}

impl Stage {
    fn new() -> Stage {
        Stage {
            locks: Locks::new(),
            tasks: ThreadTasks::new(),
            clock: ManualClock::new(0),
            space: LockSpace::default(),
        }
    }

    fn ask(&self, tx: TxId, target: &Target, mode: RowLock) -> Answer {
        let context = context(&self.locks, &self.tasks, &self.clock);
        self.space.try_lock(target, Request { tx, mode, bulk: false }, true, context)
    }

    fn got(&self, tx: TxId, target: &Target, mode: RowLock) -> bool {
        matches!(self.ask(tx, target, mode), Answer::Granted(_) | Answer::Held)
    }
}

/// The table of conflicts, from the documentation of PostgreSQL's row locks.
#[test]
fn modes_conflict_as_in_postgresql() {
    use RowLock::{KeyShare, NoKeyUpdate, Share, Update};
    let all = [KeyShare, Share, NoKeyUpdate, Update];
    let conflicts = [
        [false, false, false, true],
        [false, false, true, true],
        [false, true, true, true],
        [true, true, true, true],
    ];
    for (i, a) in all.into_iter().enumerate() {
        for (k, b) in all.into_iter().enumerate() {
            assert_eq!(a.conflicts(b), conflicts[i][k], "{a:?} {b:?}");
        }
    }
}

#[test]
fn the_first_in_the_queue_gets_the_lock_and_nobody_overtakes() {
    let stage = Stage::new();
    let row = Target::Row(7);
    assert!(stage.got(1, &row, RowLock::Share));
    let Answer::Queued(writer) = stage.ask(2, &row, RowLock::Update) else { panic!("conflicts") };
    let Answer::Queued(reader) = stage.ask(3, &row, RowLock::Share) else { panic!("overtakes") };
    assert_eq!(writer.granted(), None);
    stage.space.release(1, [row.clone()].into_iter());
    assert_eq!(writer.granted(), Some(None));
    assert_eq!(reader.granted(), None);
    stage.space.release(2, [row.clone()].into_iter());
    assert_eq!(reader.granted(), Some(None));
    stage.space.release(3, [row].into_iter());
    assert_eq!(stage.space.entries(), 0);
}

#[test]
fn a_holder_goes_before_the_queue() {
    let stage = Stage::new();
    let row = Target::Row(7);
    assert!(stage.got(1, &row, RowLock::KeyShare));
    assert!(stage.got(2, &row, RowLock::NoKeyUpdate));
    let Answer::Queued(third) = stage.ask(3, &row, RowLock::Update) else { panic!("conflicts") };
    let Answer::Queued(first) = stage.ask(1, &row, RowLock::Update) else { panic!("conflicts") };
    stage.space.release(2, [row.clone()].into_iter());
    assert_eq!(first.granted(), Some(Some(RowLock::KeyShare)));
    assert_eq!(third.granted(), None);
    stage.space.release(1, [row].into_iter());
    assert_eq!(third.granted(), Some(None));
}

#[test]
fn the_last_to_arrive_sees_the_cycle() {
    let stage = Stage::new();
    let (a, b) = (Target::Row(1), Target::Row(2));
    assert!(stage.got(1, &a, RowLock::Update));
    assert!(stage.got(2, &b, RowLock::Update));
    assert!(matches!(stage.ask(1, &b, RowLock::Update), Answer::Queued(_)));
    assert!(!stage.locks.waits.closes_cycle(1));
    let Answer::Queued(last) = stage.ask(2, &a, RowLock::Update) else { panic!("conflicts") };
    assert!(stage.locks.waits.closes_cycle(2));
    assert_eq!(stage.space.give_up(&a, &last, &stage.locks.waits), None);
    assert!(!stage.locks.waits.closes_cycle(1));
}

#[test]
fn rows_locked_in_bulk_get_a_queue_when_somebody_wants_them() {
    let stage = Stage::new();
    let bulk = |row| {
        let context = context(&stage.locks, &stage.tasks, &stage.clock);
        let request = Request { tx: 1, mode: RowLock::Update, bulk: true };
        stage.space.try_lock(&Target::Row(row), request, true, context)
    };
    for row in 0..BULK_AT as u64 {
        assert!(matches!(bulk(row), Answer::Bulk));
    }
    assert_eq!(stage.space.entries(), 0);
    assert!(matches!(bulk(5), Answer::Held));
    assert!(stage.space.is_taken(5, 2, RowLock::KeyShare));
    let Answer::Queued(waiter) = stage.ask(2, &Target::Row(5), RowLock::Update) else {
        panic!("conflicts")
    };
    assert!(stage.got(2, &Target::Row(5000), RowLock::Update));
    stage.space.release(1, std::iter::empty());
    assert_eq!(waiter.granted(), Some(None));
}

/// Keys between single ones are free, until these are too many for memory.
#[test]
fn many_rising_keys_take_few_entries() {
    let stage = Stage::new();
    let index = IndexId(1);
    let key = |n: u32| n.to_be_bytes();
    let mut targets = Vec::new();
    for n in 0..1000 {
        match stage.space.try_interval(1, index, &key(10 * n), &key(10 * n)) {
            IntervalLock::New(target) => targets.push(target),
            IntervalLock::Longer => assert!(targets.len() >= 16, "key {n}"),
            IntervalLock::Taken => panic!("key {n} is above all"),
        }
    }
    assert_eq!((targets.len(), stage.space.entries()), (32, 32));
    assert!(!stage.space.covers(2, index, &key(5)));
    assert!(stage.space.covers(2, index, &key(9985)));
    stage.space.release(1, targets.into_iter());
    assert!(!stage.space.covers(2, index, &key(9985)));
}

#[test]
fn keys_within_a_reserved_interval_belong_to_its_owner() {
    let stage = Stage::new();
    let index = IndexId(1);
    let lock = |tx, min, max| stage.space.try_interval(tx, index, min, max);
    let IntervalLock::New(interval) = lock(1, b"c", b"e") else { panic!("nothing is locked") };
    let IntervalLock::New(single) = lock(1, b"f", b"f") else { panic!("it is above all") };
    assert!(stage.space.covers(2, index, b"d"));
    assert!(!stage.space.covers(2, index, b"ee"), "it is free");
    assert!(!stage.space.covers(2, index, b"g"));
    assert!(!stage.space.covers(1, index, b"d"));
    assert!(matches!(lock(2, b"e", b"k"), IntervalLock::Taken));
    let IntervalLock::New(next) = lock(2, b"g", b"k") else { panic!("it is above all") };
    assert!(stage.space.is_used());
    stage.space.release(1, [interval, single].into_iter());
    assert!(!stage.space.covers(2, index, b"d"));
    stage.space.release(2, [next].into_iter());
    assert!(!stage.space.is_used());
    assert!(matches!(lock(2, b"a", b"b"), IntervalLock::New(_)));
}

#[test]
fn who_waits_too_long_or_for_nothing_is_told() {
    let stage = Stage::new();
    let row = Target::Row(1);
    assert!(stage.got(1, &row, RowLock::Update));
    let Answer::Queued(waiter) = stage.ask(2, &row, RowLock::Share) else { panic!("conflicts") };
    let go_on = || -> Result<()> { Err(Error::new(ErrorKind::Cancelled, "enough")) };
    let given_up = WaitContext {
        go_on: &go_on,
        timeout: Some(Duration::from_secs(3600)),
        ..context(&stage.locks, &stage.tasks, &stage.clock)
    };
    let e = await_grant(&stage.space, &row, &waiter, given_up).expect_err("cancelled");
    assert_eq!(e.kind(), ErrorKind::Cancelled);
    let Answer::Queued(waiter) = stage.ask(2, &row, RowLock::Share) else { panic!("conflicts") };
    let late = WaitContext {
        timeout: Some(Duration::ZERO),
        ..context(&stage.locks, &stage.tasks, &stage.clock)
    };
    let e = await_grant(&stage.space, &row, &waiter, late).expect_err("too late");
    assert_eq!(e.kind(), ErrorKind::LockNotAvailable);
    stage.space.release(1, [row].into_iter());
    assert_eq!(stage.space.entries(), 0);
}

#[test]
fn a_lock_is_handed_over_between_threads() {
    let stage = Arc::new(Stage::new());
    let row = Target::Row(1);
    assert!(stage.got(1, &row, RowLock::Update));
    let (other, wanted) = (Arc::clone(&stage), row.clone());
    let waiting = stage.tasks.spawn(
        "waits",
        Box::new(move || {
            let Answer::Queued(waiter) = other.ask(2, &wanted, RowLock::Update) else {
                return;
            };
            let context = context(&other.locks, &other.tasks, &other.clock);
            await_grant(&other.space, &wanted, &waiter, context).expect("granted in the end");
        }),
    );
    stage.tasks.sleep(Duration::from_millis(20));
    stage.space.release(1, [row.clone()].into_iter());
    waiting.join().expect("the task ends");
    stage.space.release(2, [row].into_iter());
    assert_eq!(stage.space.entries(), 0);
}

/// A key that is shared stays so in the next version of the row, until the one that shares it ends.
#[test]
fn shared_keys_follow_successors() {
    let stage = Stage::new();
    let (row, bulk) = (Target::Row(1), Target::Row(2));
    assert!(stage.got(1, &row, RowLock::KeyShare));
    let context = context(&stage.locks, &stage.tasks, &stage.clock);
    let many = Request { tx: 1, mode: RowLock::KeyShare, bulk: true };
    assert!(matches!(stage.space.try_lock(&bulk, many, true, context), Answer::Bulk));
    assert!(stage.got(2, &row, RowLock::NoKeyUpdate));
    assert!(stage.got(2, &bulk, RowLock::NoKeyUpdate));
    stage.space.follow([(1, 11), (2, 12), (3, 13)].into_iter());
    stage.space.release(2, [row.clone(), bulk.clone()].into_iter());
    stage.space.follow([(11, 21)].into_iter());
    for row in [1, 2, 11, 12, 21] {
        assert!(stage.space.is_taken(row, 3, RowLock::Update), "row {row}");
        assert!(!stage.space.is_taken(row, 3, RowLock::NoKeyUpdate), "row {row}");
    }
    assert!(!stage.space.is_taken(13, 3, RowLock::Update));
    stage.space.release(1, [row].into_iter());
    assert_eq!(stage.space.entries(), 0);
    assert!(!stage.space.is_used());
}
