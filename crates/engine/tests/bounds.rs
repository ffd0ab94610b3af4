//! Is what a large transaction holds bounded, and does it still keep others out of what is its own?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use onlap::{
    Batch, BytesVec, Column, DataType, Database, ErrorKind, Isolation, KeyRange, Options, Scan,
    SyncMode, Table, TableSpec, Transaction, TransactionOptions, Value, Vector,
};
use onlap_base::memory::Part;
use onlap_base::rng::Rng;
use onlap_testkit::heap::{self, CountingAllocator};

const MIB: u64 = 1 << 20;

/// The tests of this file run one after the other.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn open(dir: &tempfile::TempDir) -> Database {
    let options = Options::default().sync(SyncMode::Os).memory_limit(64 * MIB);
    Database::open(dir.path(), options).unwrap()
}

fn keys_table(db: &Database) -> Table {
    let spec = TableSpec::new("t").column("k", DataType::Text).column("n", DataType::Int8);
    db.create_table(spec.primary_key(["k"])).unwrap()
}

/// A key of 36 characters, far from that of the next number.
fn key(n: u64) -> String {
    let mut state = n;
    let (a, b) = (onlap_base::rng::splitmix(&mut state), onlap_base::rng::splitmix(&mut state));
    format!("{a:016x}-{b:016x}{:03}", n % 1000)
}

fn batch(numbers: impl IntoIterator<Item = u64>) -> Batch {
    let (mut keys, mut values) = (BytesVec::default(), Vec::new());
    for n in numbers {
        keys.push(key(n).as_bytes());
        values.push(n as i64);
    }
    let column = |data| Column { data, nulls: None };
    Batch {
        rows: values.len(),
        columns: vec![column(Vector::Bytes(keys)), column(Vector::Int(values))],
    }
}

fn used(db: &Database) -> u64 {
    let memory = db.stats_without_keys().unwrap().memory;
    memory.iter().find(|m| m.part == Part::Transactions).unwrap().used
}

fn limit(db: &Database) -> u64 {
    let memory = db.stats_without_keys().unwrap().memory;
    memory.iter().find(|m| m.part == Part::Transactions).unwrap().limit
}

/// A transaction for one statement that waits for no lock.
fn impatient(db: &Database) -> Transaction {
    let options = TransactionOptions::at(Isolation::ReadCommitted);
    db.begin_with(options.lock_timeout(Duration::from_millis(1))).unwrap()
}

fn insert(db: &Database, table: &Table, n: u64) -> Result<(), ErrorKind> {
    let mut tx = impatient(db);
    tx.insert_batch(table, batch([n])).map_err(|e| e.kind())?;
    tx.commit().map(drop).map_err(|e| e.kind())
}

fn numbers(db: &Database, table: &Table) -> Vec<u64> {
    let rows = db.snapshot().unwrap().scan(table, Scan::all()).unwrap().rows().unwrap();
    let number = |row: &Vec<Value>| match row[1] {
        Value::Int(n) => n as u64,
        _ => unreachable!("an integer"),
    };
    let mut numbers: Vec<u64> = rows.iter().map(number).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn keys_of_a_large_transaction_take_bounded_memory() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir);
    let table = keys_table(&db);
    let before = heap::begin();
    let rows = 400_000;
    let mut tx = db.begin().unwrap();
    for first in (0..rows).step_by(5000) {
        tx.insert_batch(&table, batch(first..first + 5000)).unwrap();
        assert!(used(&db) <= limit(&db), "{} of {} bytes", used(&db), limit(&db));
    }
    let peak = heap::peak() - before;
    assert!(peak < 80 << 20, "{} MiB at a limit of 64", peak >> 20);
    // Every key is its own still: in memory, in files, known by its hash or by a filter.
    for n in [0, 1, 100, rows / 2, rows - 1] {
        assert_eq!(insert(&db, &table, n), Err(ErrorKind::LockNotAvailable), "key {n}");
    }
    tx.rollback();
    assert_eq!(used(&db), 0);
    for n in [0, rows / 2, rows - 1] {
        assert_eq!(insert(&db, &table, n), Ok(()), "key {n} is free again");
    }
    db.close().unwrap();
}

#[test]
fn going_back_to_a_savepoint_gives_up_the_keys_since() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir);
    let table = keys_table(&db);
    let mut tx = db.begin().unwrap();
    tx.insert_batch(&table, batch(0..5000)).unwrap();
    let savepoint = tx.savepoint();
    tx.insert_batch(&table, batch(5000..9000)).unwrap();
    for n in [0, 4000, 5000, 8999] {
        assert_eq!(insert(&db, &table, n), Err(ErrorKind::LockNotAvailable), "key {n}");
    }
    tx.rollback_to(&savepoint).unwrap();
    assert_eq!(insert(&db, &table, 8999), Ok(()));
    assert_eq!(insert(&db, &table, 4000), Err(ErrorKind::LockNotAvailable));
    // It can take them again, except for what another has taken.
    tx.insert_batch(&table, batch(5000..8000)).unwrap();
    assert_eq!(insert(&db, &table, 6000), Err(ErrorKind::LockNotAvailable));
    let taken = tx.insert_batch(&table, batch(8990..9000)).unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::DuplicateKey);
    tx.commit().unwrap();
    assert_eq!(insert(&db, &table, 6000), Err(ErrorKind::DuplicateKey));
    assert_eq!(numbers(&db, &table), (0..8000).chain([8999]).collect::<Vec<_>>());
    db.close().unwrap();
}

#[test]
fn who_waits_for_one_of_many_keys_gets_it_or_learns_that_it_is_taken() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    for commits in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let db = open(&dir);
        let table = keys_table(&db);
        let mut large = db.begin().unwrap();
        large.insert_batch(&table, batch(0..5000)).unwrap();
        let waits = db.stats_without_keys().unwrap().transactions.lock_waits;
        let outcome = thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let mut tx = db.begin().unwrap();
                tx.insert_batch(&table, batch([4999]))?;
                tx.commit()
            });
            while db.stats_without_keys().unwrap().transactions.lock_waits == waits {
                thread::sleep(Duration::from_millis(1));
            }
            if commits {
                large.commit().map(drop).unwrap()
            } else {
                large.rollback()
            }
            waiter.join().unwrap()
        });
        let expected = if commits { Some(ErrorKind::DuplicateKey) } else { None };
        assert_eq!(outcome.err().map(|e| e.kind()), expected);
        db.close().unwrap();
    }
}

#[test]
fn two_large_transactions_that_want_each_others_keys_do_not_wait_for_ever() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir);
    let table = keys_table(&db);
    let begin = |keys: Range<u64>| {
        let mut tx = db.begin_with(TransactionOptions::at(Isolation::ReadCommitted)).unwrap();
        tx.insert_batch(&table, batch(keys)).unwrap();
        tx
    };
    let (one, other) = (begin(0..3000), begin(3000..6000));
    let outcomes = thread::scope(|scope| {
        let goes_on = |mut tx: Transaction, n| {
            let table = &table;
            scope.spawn(move || {
                tx.insert_batch(table, batch([n]))?;
                tx.commit()
            })
        };
        let both = [goes_on(one, 5999), goes_on(other, 2999)];
        both.map(|t| t.join().unwrap().err().map(|e| e.kind()))
    });
    let deadlocks = outcomes.iter().filter(|o| **o == Some(ErrorKind::Deadlock)).count();
    assert_eq!(deadlocks, 1, "{outcomes:?}");
    assert!(outcomes.contains(&None), "{outcomes:?}: the other gets what it waits for");
    db.close().unwrap();
}

/// Transactions of thousands of keys out of one range, with savepoints: no key is ever there twice, and
/// what was committed is there.
#[test]
fn keys_stay_unique_among_large_transactions() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    for seed in 0..4 {
        let dir = tempfile::tempdir().unwrap();
        let db = open(&dir);
        let table = keys_table(&db);
        let committed = Mutex::new(BTreeSet::new());
        thread::scope(|scope| {
            for client in 0..3 {
                let (db, table, committed) = (&db, &table, &committed);
                scope.spawn(move || {
                    let mut rng = Rng::new(seed * 10 + client);
                    for _ in 0..8 {
                        if let Some(keys) = large_transaction(db, table, &mut rng) {
                            let mut all = committed.lock().unwrap();
                            for n in keys {
                                assert!(all.insert(n), "seed {seed}: key {n} was let in twice");
                            }
                        }
                    }
                });
            }
        });
        let all: Vec<u64> = committed.into_inner().unwrap().into_iter().collect();
        assert_eq!(numbers(&db, &table), all, "seed {seed}");
        let entries = db.snapshot().unwrap().index_count(&table, "t_pkey", KeyRange::all());
        assert_eq!(entries.unwrap(), all.len() as u64, "seed {seed}");
        assert_eq!(used(&db), 0);
        db.close().unwrap();
    }
}

/// The keys that it committed, if it did.
fn large_transaction(db: &Database, table: &Table, rng: &mut Rng) -> Option<Vec<u64>> {
    let mut tx = db.begin_with(TransactionOptions::at(Isolation::ReadCommitted)).unwrap();
    let mut keys: Vec<u64> = Vec::new();
    for _ in 0..3 + rng.below(4) {
        let known: BTreeSet<u64> = keys.iter().copied().collect();
        let fresh: BTreeSet<u64> = (0..1200).map(|_| rng.below(1_000_000)).collect();
        let fresh: Vec<u64> = fresh.difference(&known).copied().collect();
        let savepoint = tx.savepoint();
        match tx.insert_batch(table, batch(fresh.iter().copied())) {
            Ok(()) if rng.chance(0.2) => tx.rollback_to(&savepoint).unwrap(),
            Ok(()) => keys.extend(fresh),
            // Another transaction's key is among them; the transaction can go on without.
            Err(e) if e.kind() == ErrorKind::DuplicateKey => tx.rollback_to(&savepoint).unwrap(),
            Err(e) if e.kind() == ErrorKind::Deadlock => return None,
            Err(e) => panic!("{e}"),
        }
    }
    if rng.chance(0.2) {
        tx.rollback();
        return None;
    }
    tx.commit().unwrap();
    Some(keys)
}

fn serializable(db: &Database) -> Transaction {
    db.begin_with(TransactionOptions::at(Isolation::Serializable)).unwrap()
}

/// Reads the rows with these numbers by key, and writes a row of its own.
fn reader(db: &Database, table: &Table, read: Range<u64>) -> Transaction {
    let mut tx = serializable(db);
    for n in read {
        assert!(tx.get(table, &[Value::Text(key(n))]).unwrap().is_some());
    }
    tx
}

#[test]
fn what_a_serializable_transaction_has_read_is_bounded_and_still_judged() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir);
    let table = keys_table(&db);
    let rows = 40_000;
    table.insert_batch(batch(0..rows)).unwrap();
    let write = |tx: &mut Transaction, n| tx.insert_batch(&table, batch([n])).unwrap();

    let mut few = reader(&db, &table, 0..1000);
    let some = used(&db);
    let mut many = reader(&db, &table, 0..rows);
    assert!(used(&db) - some < 3 << 20, "{} bytes for what was read", used(&db) - some);
    // A row that was read is deleted: neither may commit. Before that, a change elsewhere lets the one
    // commit that knows what it read.
    table.delete(&[Value::Text(key(rows - 1))]).unwrap();
    write(&mut few, rows);
    few.commit().unwrap();
    write(&mut many, rows + 1);
    assert_eq!(many.commit().unwrap_err().kind(), ErrorKind::Conflict);

    let (mut few, mut many) = (reader(&db, &table, 0..1000), reader(&db, &table, 0..rows - 1));
    table.delete(&[Value::Text(key(0))]).unwrap();
    write(&mut few, rows + 2);
    write(&mut many, rows + 3);
    assert_eq!(few.commit().unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(many.commit().unwrap_err().kind(), ErrorKind::Conflict);

    let mut many = reader(&db, &table, 1..rows - 1);
    write(&mut many, rows + 4);
    many.commit().unwrap();
    db.close().unwrap();
}

/// In mode `interval` the log is synced as often as was asked for, not more often.
#[test]
fn the_log_is_synced_at_the_interval() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let dir = tempfile::tempdir().unwrap();
    let every = Duration::from_secs(2);
    let options = Options::default().sync(SyncMode::Interval(every)).memory_limit(64 * MIB);
    let fs = Arc::clone(&options.fs);
    let db = Database::open(dir.path(), options).unwrap();
    let table = keys_table(&db);
    let (before, began) = (fs.counters().now().syncs, std::time::Instant::now());
    for n in 0..50 {
        table.insert_batch(batch([n])).unwrap();
        thread::sleep(Duration::from_millis(20));
    }
    let (syncs, took) = (fs.counters().now().syncs - before, began.elapsed());
    let due = took.as_millis() / every.as_millis() + 1;
    assert!(u128::from(syncs) <= due, "{syncs} syncs in {} ms", took.as_millis());
    db.close().unwrap();
}
