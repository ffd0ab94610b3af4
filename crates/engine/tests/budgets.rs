//! Do debts stay below their limits while writers add to them as fast as they can?
//!
//! Each test drives one debt towards its limit under load, watches it all the time, and sees that it is
//! paid when writers stop. What readers pay at the limit is measured by `onlap bench changes`.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use onlap::{
    Change, DataType, Database, IndexSpec, Isolation, Options, SyncMode, Table, TableDebts,
    TableSpec, TransactionOptions, Value,
};
use onlap_base::Rng;

const ROWS: i64 = 40_000;

fn open(dir: &tempfile::TempDir) -> (Database, Table) {
    let mut options = Options { sync: SyncMode::Os, ..Options::default() };
    // Files come and go every few thousand changes.
    options.tuning.memtable_bytes = Some(256 << 10);
    let db = Database::open(dir.path(), options).unwrap();
    let spec = TableSpec::new("t")
        .column("id", DataType::Int8)
        .column("a", DataType::Int4)
        .column("b", DataType::Int8)
        .primary_key(["id"])
        .index(IndexSpec::new("xa", ["a"]));
    let table = db.create_table(spec).unwrap();
    let row = |id| [Value::Int(id), Value::Int(id % 100), Value::Int(0)];
    table.insert_many((0..ROWS).map(row)).unwrap();
    db.settle().unwrap();
    (db, table)
}

fn debts(db: &Database) -> TableDebts {
    db.stats().unwrap().tables[0].debts
}

/// Watches the debts while `load` runs on two threads.
fn watch(db: &Database, load: impl Fn(&mut Rng, u64) + Sync) -> Vec<TableDebts> {
    let stop = AtomicBool::new(false);
    let mut seen = Vec::new();
    thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|n| {
                let load = &load;
                scope.spawn(move || load(&mut Rng::new(n), n))
            })
            .collect();
        let watching = scope.spawn(|| {
            let mut seen = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                seen.push(debts(db));
                thread::yield_now();
            }
            seen
        });
        writers.into_iter().for_each(|w| w.join().unwrap());
        stop.store(true, Ordering::Relaxed);
        seen = watching.join().unwrap();
    });
    seen
}

#[test]
fn column_changes_are_folded_before_there_are_too_many() {
    let dir = tempfile::tempdir().unwrap();
    let (db, table) = open(&dir);
    // In turns: what the snapshot of a transaction keeps is not for others to pay, and on a busy machine
    // a thread may stand still in the middle of one.
    let turn = Mutex::new(());
    let seen = watch(&db, |rng, _| {
        for _ in 0..1500 {
            let _turn = turn.lock().unwrap();
            let options = TransactionOptions::at(Isolation::ReadCommitted);
            let mut tx = db.begin_with(options).unwrap();
            // Rising keys, so that two writers do not wait for each other in a circle.
            let mut keys: Vec<i64> = (0..40).map(|_| rng.below(ROWS as u64) as i64).collect();
            keys.sort_unstable();
            for key in keys {
                let one = [("b", Change::Add(Value::Int(1)))];
                assert!(tx.change(&table, &[Value::Int(key)], &one).unwrap());
            }
            tx.commit().unwrap();
        }
    });
    let most = seen.iter().map(|d| d.pending_changes).max().unwrap();
    assert!(most > 0, "the load has to make debts");
    // One flush may come on top of what was counted when its commits were let in.
    let flush = 1 << 14;
    for d in &seen {
        assert!(d.pending_changes <= d.pending_changes_limit + flush, "{d:?}");
    }
    db.settle().unwrap();
    assert_eq!(debts(&db).pending_changes, 0);
    let sum: i64 = db
        .snapshot()
        .unwrap()
        .scan(&table, onlap::Scan::all())
        .unwrap()
        .rows()
        .unwrap()
        .iter()
        .map(|row| if let Value::Int(b) = row[2] { b } else { panic!("a number") })
        .sum();
    assert_eq!(sum, 2 * 1500 * 40, "every addition counts once");
}

#[test]
fn dead_rows_and_entries_go_before_there_are_too_many() {
    let dir = tempfile::tempdir().unwrap();
    let (db, table) = open(&dir);
    let seen = watch(&db, |rng, writer| {
        for round in 0..600 {
            let mut tx = db.begin().unwrap();
            for i in 0..20 {
                let fresh = ROWS + (writer as i64) * 1_000_000 + round * 20 + i;
                tx.insert(&table, &[Value::Int(fresh), Value::Int(1), Value::Int(0)]).unwrap();
            }
            tx.commit().unwrap();
            let mut keys: Vec<i64> = (0..30).map(|_| rng.below(ROWS as u64) as i64).collect();
            keys.sort_unstable();
            for key in keys {
                table.delete(&[Value::Int(key)]).unwrap();
            }
        }
    });
    for d in &seen {
        assert!(d.dead_rows <= d.dead_rows_limit + (1 << 14), "{d:?}");
        assert!(d.dead_entries <= d.dead_entries_limit + (1 << 15), "{d:?}");
    }
    // Whatever was counted: of the rows that are stored, so many live.
    db.flush().unwrap();
    let stored = db.stats().unwrap().tables[0].segment_rows;
    let live = db.snapshot().unwrap().count(&table).unwrap();
    let limit = debts(&db).dead_rows_limit + (1 << 14);
    assert!(stored - live <= limit, "{stored} rows stored, {live} of them live");
    assert!(ROWS as u64 + 24_000 - live > limit / 2, "the load has to make debts");
    db.settle().unwrap();
    let left = debts(&db);
    assert!(left.dead_rows < left.dead_rows_limit, "{left:?}");
    assert_eq!(db.snapshot().unwrap().count(&table).unwrap(), {
        let rows = db.snapshot().unwrap().scan(&table, onlap::Scan::all()).unwrap();
        rows.rows().unwrap().len() as u64
    });
}

#[test]
fn writers_are_held_back_where_merges_owe_too_much() {
    const LIMIT: u64 = 200 << 10;
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options { sync: SyncMode::Os, ..Options::default() };
    options.tuning.memtable_bytes = Some(64 << 10);
    options.tuning.merge_debt_bytes = Some(LIMIT);
    let db = Database::open(dir.path(), options).unwrap();
    let spec = TableSpec::new("t")
        .column("id", DataType::Int8)
        .column("a", DataType::Int8)
        .primary_key(["id"])
        .index(IndexSpec::new("xa", ["a"]));
    let table = db.create_table(spec).unwrap();
    let stop = AtomicBool::new(false);
    assert_eq!(db.stats().unwrap().merge_debt_limit, LIMIT);
    let (mut passed, mut above) = (0, None);
    thread::scope(|scope| {
        for writer in 0..2 {
            let (table, stop) = (&table, &stop);
            scope.spawn(move || {
                let mut rng = Rng::new(writer);
                while !stop.load(Ordering::Relaxed) {
                    // Keys in no order: every run overlaps all others.
                    let row =
                        |_| [rng.next_u64() as i64 >> 1, rng.next_u64() as i64].map(Value::Int);
                    table.insert_many((0..200).map(row)).unwrap();
                }
            });
        }
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(30) && passed < 20 {
            let stats = db.stats().unwrap();
            // One flush may fill a tier whose merge fills the next, and so on: what it makes due at once is
            // below twice the files, since each tier is several times the one below.
            let files: u64 = stats.tables[0].indexes.iter().map(|i| i.bytes).sum();
            // Writers end before anything is asserted: a panic here would wait for them for ever.
            if stats.merge_debt_bytes > 2 * LIMIT + 2 * files {
                above = Some((stats.merge_debt_bytes, files));
                break;
            }
            if stats.merge_debt_bytes > LIMIT {
                thread::sleep(Duration::from_millis(50));
                passed += 1;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(above.is_none(), "{above:?}");
    assert!(passed > 0, "the load has to make debts");
    let stats = db.stats().unwrap();
    assert!(stats.delayed_us > 0, "nobody was held back: {stats:?}");
    db.settle().unwrap();
    assert_eq!(db.stats().unwrap().merge_debt_bytes, 0);
}
