//! Tables that take blind writes: what is refused, what is read, what others see, what is owed.
//!
//! The model test compares random histories, the crash test cuts the power.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

mod clients;
#[path = "../support/mod.rs"]
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use onlap::{
    Batch, CheckOptions, DataType, Database, ErrorKind, ForeignKeySpec, IndexSpec, Isolation,
    KeyRange, Options, Row, Rule, Scan, SyncMode, TableChanges, TableSpec, Transaction,
    TransactionOptions, Value, check,
};
use onlap_base::clock::{Clock, ManualClock};
use onlap_base::rng::Rng;
use onlap_base::tasks::{SimTasks, TaskHandle, Tasks, ThreadTasks};
use onlap_testkit::{for_seeds, slow};
use onlap_vfs::MemFs;

use clients::{Noted, World};
use support::{agreed_rows, rows_of, small_options};

fn spec() -> TableSpec {
    TableSpec::new("t")
        .column("id", DataType::Int8)
        .column("a", DataType::Int4)
        .nullable_column("t", DataType::Text)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
        .index(IndexSpec::new("by_t_a", ["t", "a"]).descending("a"))
        .blind_writes()
}

fn row(id: i64, a: i64) -> Row {
    vec![Value::Int(id), Value::Int(a), Value::Text(format!("text {a}"))]
}

fn batch(rows: impl IntoIterator<Item = (i64, i64)>) -> Batch {
    let types = [DataType::Int8, DataType::Int4, DataType::Text];
    let mut batch = Batch::new(types.iter().map(|ty| ty.physical()));
    for (id, a) in rows {
        for ((ty, column), value) in types.iter().zip(&mut batch.columns).zip(row(id, a)) {
            onlap::convert::push_value(*ty, &value, column, "a column").unwrap();
        }
        batch.rows += 1;
    }
    batch
}

fn in_memory(options: Options) -> Options {
    Options { fs: Arc::new(MemFs::new()), ..options }
}

#[test]
fn what_cannot_be_right_is_refused() {
    let db = Database::open("/db", in_memory(small_options(SyncMode::Os))).unwrap();
    let refused = |spec: TableSpec, part: &str| {
        let e = db.create_table(spec).map(|t| t.name()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");
        assert!(e.to_string().contains(part), "{e}");
    };
    let keyless = TableSpec::new("x").column("id", DataType::Int8).blind_writes();
    refused(keyless, "needs a primary key");
    let unique = IndexSpec::new("by_t", ["t"]).unique();
    refused(spec().index(unique.clone()), "no unique index but its primary");
    let plain = TableSpec::new("p").column("id", DataType::Int8).primary_key(["id"]);
    let p = db.create_table(plain).unwrap();
    refused(spec().foreign_key(ForeignKeySpec::new("f", ["id"], "p")), "no foreign key");
    let t = db.create_table(spec()).unwrap();
    let child = TableSpec::new("c").column("id", DataType::Int8);
    refused(child.foreign_key(ForeignKeySpec::new("f", ["id"], "t")), "takes blind writes");
    for (from, to) in [("t", "p"), ("p", "t")] {
        let e = db.add_foreign_key(from, &ForeignKeySpec::new("f", ["id"], to)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");
    }
    let e = db.create_index("t", unique).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");
    let e = db.alter_table("t", &TableChanges::new().set_type("id", DataType::Text)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");

    let e = p.upsert(&[Value::Int(1)]).unwrap_err();
    assert!(e.kind() == ErrorKind::Unsupported && e.to_string().contains("not declared"), "{e}");
    for level in [Isolation::RepeatableRead, Isolation::Serializable] {
        let mut tx = db.begin_with(TransactionOptions::at(level)).unwrap();
        let e = tx.upsert(&t, &row(1, 1)).unwrap_err();
        assert!(e.kind() == ErrorKind::Unsupported && e.to_string().contains("READ COMM"), "{e}");
        assert_eq!(tx.delete_blind(&t, &[Value::Int(1)]).unwrap_err().kind(), e.kind());
    }
    let no_null = t.delete_blind(&[Value::Null]).unwrap_err();
    assert_eq!(no_null.kind(), ErrorKind::NotNull, "{no_null}");
    let e = t.delete_blind(&[]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidInput, "{e}");
    assert_eq!(db.snapshot().unwrap().count(&t).unwrap(), 0);
}

#[test]
fn every_index_has_the_key() {
    let db = Database::open("/db", in_memory(small_options(SyncMode::Os))).unwrap();
    let t = db.create_table(spec()).unwrap();
    db.create_index("t", IndexSpec::new("later", ["a"]).include(["t"])).unwrap();
    db.create_index("t", IndexSpec::new("with", ["a", "id"])).unwrap();
    let included = |name: &str| t.schema().index_by_name(name).unwrap().include.len();
    let all = ["t_pkey", "by_a", "by_t_a", "later", "with"].map(included);
    assert_eq!(all, [0, 1, 1, 2, 0]);
}

/// Not a filter, not an entry, not a block: nothing is read from any file, nor counted.
#[test]
fn blind_writes_read_nothing() {
    let mut options = in_memory(Options::default().sync(SyncMode::Os).memory_limit(64 << 20));
    options.tuning.memtable_bytes = Some(16 << 20);
    // The clock stands while blind writes come, so work that waits for quiet moments never does.
    let clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
    options.clock = Arc::clone(&clock) as Arc<dyn Clock>;
    let files = Arc::clone(&options.fs);
    let db = Database::open("/db", options).unwrap();
    let t = db.create_table(spec()).unwrap();
    t.insert_batch(batch((0..20_000).map(|i| (i, i)))).unwrap();
    db.settle().unwrap();
    // The insert read the table, and a table with readers gets its pending rows resolved sooner.
    clock.advance(Duration::from_secs(10));
    let (reads, io) = (db.stats().unwrap().reads, files.counters().now());
    t.upsert_batch(batch((0..5000).map(|i| (i * 7919 % 30_000, -i)))).unwrap();
    let mut tx = db.begin_with(TransactionOptions::at(Isolation::ReadCommitted)).unwrap();
    for i in 0..500 {
        tx.upsert(&t, &row(i * 31 % 20_000, 5)).unwrap();
        tx.delete_blind(&t, &[Value::Int(i * 37 % 20_000)]).unwrap();
    }
    tx.commit().unwrap();
    assert_eq!(db.stats().unwrap().reads, reads);
    assert_eq!(files.counters().now().since(io).reads, 0, "file reads");
    assert_eq!(db.stats().unwrap().tables[0].pending_rows, 6000);
    agreed_rows(&db, "t").unwrap();
    assert_eq!(db.stats().unwrap().tables[0].pending_rows, 0);
}

/// The same history once blindly, once by statements that read: equal at every snapshot.
#[test]
fn blind_and_reading_statements_lead_to_the_same() {
    for_seeds("blind_and_reading", 12, |mut rng| {
        let db = Database::open("/db", in_memory(small_options(SyncMode::Os))).unwrap();
        let blind = db.create_table(spec()).unwrap();
        let reading = TableSpec::new("r")
            .column("id", DataType::Int8)
            .column("a", DataType::Int4)
            .nullable_column("t", DataType::Text)
            .primary_key(["id"])
            .index(IndexSpec::new("by_a", ["a"]));
        let reading = db.create_table(reading).unwrap();
        let mut held = Vec::new();
        for _ in 0..400 {
            let mut tx = db.begin_with(TransactionOptions::at(Isolation::ReadCommitted)).unwrap();
            for _ in 0..1 + rng.below(12) {
                let id = rng.below(300) as i64;
                let (key, new) = ([Value::Int(id)], row(id, rng.below(40) as i64));
                if rng.chance(0.3) {
                    tx.delete_blind(&blind, &key).unwrap();
                    tx.delete(&reading, &key).unwrap();
                    continue;
                }
                tx.upsert(&blind, &new).unwrap();
                let set = [("a", new[1].clone()), ("t", new[2].clone())];
                if !tx.update(&reading, &key, &set).unwrap() {
                    tx.insert(&reading, &new).unwrap();
                }
            }
            match rng.chance(0.1) {
                true => tx.rollback(),
                false => assert!(tx.commit().unwrap() > 0),
            }
            match rng.below(40) {
                0 => db.flush().unwrap(),
                1 => db.settle().unwrap(),
                2..6 => held.push(db.snapshot().unwrap()),
                6 => held.clear(),
                _ => {}
            }
            if rng.chance(0.05) {
                for snapshot in &held {
                    assert!(
                        rows_of(snapshot, &blind).unwrap() == rows_of(snapshot, &reading).unwrap()
                    );
                }
            }
        }
        assert!(agreed_rows(&db, "t").unwrap() == agreed_rows(&db, "r").unwrap());
    });
}

/// Walks over a part of an index ask about what they meet, and resolve nothing; long ones end that.
#[test]
fn short_walks_leave_rows_pending() {
    let db = Database::open("/db", in_memory(small_options(SyncMode::Os))).unwrap();
    let t = db.create_table(spec()).unwrap();
    t.insert_batch(batch((0..3000).map(|i| (i, i)))).unwrap();
    db.flush().unwrap();
    let before = db.snapshot().unwrap();
    t.upsert_batch(batch((0..3000).step_by(2).map(|i| (i, i + 1)))).unwrap();
    db.flush().unwrap();
    let between = db.snapshot().unwrap();
    t.upsert_batch(batch((0..3000).step_by(3).map(|i| (i, i + 2)))).unwrap();
    for i in (0..3000).step_by(5) {
        t.delete_blind(&[Value::Int(i)]).unwrap();
    }
    let expected = |at: usize, id: i64| match at {
        0 => Some(id),
        1 => Some(id + 1 - id % 2),
        _ if id % 5 == 0 => None,
        _ if id % 3 == 0 => Some(id + 2),
        _ => Some(id + 1 - id % 2),
    };
    let pending = || db.stats().unwrap().tables[0].pending_rows;
    let now = db.snapshot().unwrap();
    for (at, snapshot) in [&before, &between, &now].into_iter().enumerate() {
        for index in ["t_pkey", "by_a"] {
            let wanted =
                |id: i64| expected(at, id).map(|a| (if index == "by_a" { a } else { id }, id, a));
            let mut all: Vec<_> = (0..3000).filter_map(wanted).collect();
            all.sort_unstable_by_key(|row| row.0);
            for columns in [&["id", "a"][..], &["id", "a", "t"]] {
                for reverse in [false, true] {
                    let range = KeyRange::between([Value::Int(1000)], [Value::Int(1040)]);
                    let scan = Scan::all().columns(columns.iter().copied());
                    let scan = if reverse { scan.reverse() } else { scan };
                    let rows = snapshot.index_scan(&t, index, range, scan).unwrap().rows().unwrap();
                    let mut found: Vec<_> = rows.iter().map(|r| (int(&r[0]), int(&r[1]))).collect();
                    found.sort_unstable();
                    let inside = all.iter().filter(|row| (1000..=1040).contains(&row.0));
                    let mut inside: Vec<_> = inside.map(|row| (row.1, row.2)).collect();
                    inside.sort_unstable();
                    assert_eq!(found, inside, "{index} {at} {columns:?} {reverse}");
                }
            }
        }
    }
    assert_eq!(pending(), 1500 + 1000 + 600);
    let whole = now.index_scan(&t, "by_a", KeyRange::all(), Scan::all()).unwrap().rows().unwrap();
    assert_eq!((whole.len(), pending()), (2400, 0));
    assert_eq!(agreed_rows(&db, "t").unwrap().len(), 2400);
}

fn int(value: &Value) -> i64 {
    support::integer(value)
}

#[test]
fn what_is_owed_stays_within_its_limit() {
    const LIMIT: u64 = 3000;
    let mut options = in_memory(small_options(SyncMode::Os));
    options.tuning.pending_rows = LIMIT;
    let db = Database::open("/db", options).unwrap();
    let t = db.create_table(spec()).unwrap();
    let done = AtomicBool::new(false);
    let most = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|w| {
                let t = t.clone();
                scope.spawn(move || {
                    let mut rng = Rng::new(w);
                    for _ in 0..120 {
                        let rows: Vec<_> = (0..200).map(|_| (rng.below(5000) as i64, 1)).collect();
                        t.upsert_batch(batch(rows)).unwrap();
                    }
                })
            })
            .collect();
        let watcher = scope.spawn(|| {
            let mut most = 0;
            while !done.load(Ordering::Relaxed) {
                let table = db.stats().unwrap().tables.remove(0);
                assert!(table.pending_rows <= table.pending_rows_limit, "{table:?}");
                most = most.max(table.pending_rows);
                std::thread::sleep(Duration::from_micros(200));
            }
            most
        });
        writers.into_iter().for_each(|w| w.join().unwrap());
        done.store(true, Ordering::Relaxed);
        watcher.join().unwrap()
    });
    assert!(most > LIMIT / 4, "only {most} were ever pending");
    assert!(agreed_rows(&db, "t").unwrap().len() > 4900);
    // Quiet times leave nothing.
    t.upsert_batch(batch((0..500).map(|i| (i, 3)))).unwrap();
    db.settle().unwrap();
    assert_eq!(db.stats().unwrap().tables[0].pending_rows, 0);
}

#[test]
fn a_mark_that_was_left_out_is_found() {
    for planted in [false, true] {
        let mut options = in_memory(small_options(SyncMode::Os));
        options.tuning.without = planted.then_some(Rule::BlindMarks);
        let db = Database::open("/db", options.clone()).unwrap();
        let t = db.create_table(spec()).unwrap();
        t.insert_batch(batch((0..1000).map(|i| (i, i)))).unwrap();
        db.flush().unwrap();
        t.upsert_batch(batch((0..10).map(|i| (i * 50, -1)))).unwrap();
        db.settle().unwrap();
        drop(t);
        db.close().unwrap();
        options.tuning.without = None;
        let report = check("/db", &CheckOptions { options }).unwrap();
        let found = report.findings.iter().filter(|f| f.text.contains("has no mark of that"));
        assert_eq!(found.count(), if planted { 10 } else { 0 }, "{:?}", report.findings);
        assert_eq!(report.findings.is_empty(), !planted, "{:?}", report.findings);
    }
}

#[test]
fn what_was_read_is_judged_against_blind_writes() {
    let db = Database::open("/db", in_memory(small_options(SyncMode::Os))).unwrap();
    let t = db.create_table(spec()).unwrap();
    t.insert_batch(batch((0..100).map(|i| (i, i)))).unwrap();
    let key = [Value::Int(5)];
    for level in [Isolation::RepeatableRead, Isolation::Serializable, Isolation::ReadCommitted] {
        let mut tx = db.begin_with(TransactionOptions::at(level)).unwrap();
        tx.update(&t, &key, &[("a", Value::Int(77))]).unwrap();
        t.upsert(&row(5, 78)).unwrap();
        assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::Conflict, "{level:?}");
    }
    let mut tx = db.begin_with(TransactionOptions::at(Isolation::Serializable)).unwrap();
    let range = KeyRange::between([Value::Int(10)], [Value::Int(12)]);
    let found = tx.index_scan(&t, "by_a", range, Scan::all()).unwrap().rows().unwrap();
    assert_eq!(found.len(), 3);
    t.delete_blind(&[Value::Int(11)]).unwrap();
    tx.insert(&t, &row(500, 1)).unwrap();
    assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::Conflict);
    // A single statement runs again.
    assert!(t.update(&key, &[("a", Value::Int(1))]).unwrap());
    assert!(t.delete(&key).unwrap() && !t.delete(&[Value::Int(11)]).unwrap());
    t.insert(&row(11, 4)).unwrap();
    assert_eq!(t.insert(&row(11, 4)).unwrap_err().kind(), ErrorKind::DuplicateKey);
    t.upsert(&row(900, 4)).unwrap();
    assert_eq!(t.insert(&row(900, 4)).unwrap_err().kind(), ErrorKind::DuplicateKey);
    assert_eq!(agreed_rows(&db, "t").unwrap().len(), 100);
}

#[test]
fn a_row_that_died_under_its_lock_is_there_until_that_is_judged() {
    let db = Database::open("/db", in_memory(small_options(SyncMode::Os))).unwrap();
    let t = db.create_table(spec()).unwrap();
    t.insert_batch(batch((0..100).map(|i| (i, i)))).unwrap();
    let begin = || db.begin_with(TransactionOptions::at(Isolation::ReadCommitted)).unwrap();
    let set = [("a", Value::Int(77))];
    let (mut updates, mut deletes) = (begin(), begin());
    updates.update(&t, &[Value::Int(5)], &set).unwrap();
    deletes.delete(&t, &[Value::Int(6)]).unwrap();
    t.upsert_batch(batch([(5, 78), (6, 78)])).unwrap();
    // Statements that see what is new; nobody else could ask for the rows before.
    for tx in [&mut updates, &mut deletes] {
        assert!(tx.get(&t, &[Value::Int(7)]).unwrap().is_some());
    }
    assert_eq!(agreed_rows(&db, "t").unwrap().len(), 100);
    db.flush().unwrap();
    assert_eq!(updates.commit().unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(deletes.commit().unwrap_err().kind(), ErrorKind::Conflict);
    let rows = agreed_rows(&db, "t").unwrap();
    assert!(rows.len() == 100 && rows[5] == row(5, 78) && rows[6] == row(6, 78));
}

#[test]
fn a_key_has_one_row_for_whoever_wrote_it() {
    let options = Options::default().memory_limit(32 << 20);
    let db = Database::open("/db", in_memory(options)).unwrap();
    let table = db.create_table(spec()).unwrap();
    table.insert_many((0..4).map(|id| row(id, id))).unwrap();
    let begin = || db.begin_with(TransactionOptions::at(Isolation::ReadCommitted)).unwrap();
    let mut tx = begin();
    assert!(tx.update(&table, &[Value::Int(1)], &[("a", Value::Int(10))]).unwrap());
    tx.insert(&table, &row(7, 70)).unwrap();
    tx.insert(&table, &row(8, 80)).unwrap();
    assert!(tx.delete(&table, &[Value::Int(8)]).unwrap());
    table.upsert_batch(batch([(1, 11), (7, 71), (8, 81)])).unwrap();
    let found = |tx: &mut Transaction| -> Vec<(i64, i64)> {
        let rows = tx.index_scan(&table, "by_a", KeyRange::all(), Scan::all()).unwrap();
        let batches = rows.map(|batch| batch.unwrap());
        let rows = batches.flat_map(|b| (0..b.len()).map(|i| b.row(i)).collect::<Vec<Row>>());
        rows.map(|row| (int(&row[0]), int(&row[1]))).collect()
    };
    assert_eq!(found(&mut tx), [(0, 0), (2, 2), (3, 3), (1, 10), (7, 70), (8, 81)]);
    // Its rows would not be the newest of their keys.
    tx.commit().expect_err("the keys were taken meanwhile");
    assert_eq!(found(&mut begin()), [(0, 0), (2, 2), (3, 3), (1, 11), (7, 71), (8, 81)]);
}

#[test]
fn a_truncated_table_is_read_as_it_was() {
    let db = Database::open("/db", in_memory(small_options(SyncMode::Os))).unwrap();
    let t = db.create_table(spec()).unwrap();
    t.insert_batch(batch((0..500).map(|i| (i, i)))).unwrap();
    t.upsert_batch(batch((0..500).map(|i| (i / 2, 1)))).unwrap();
    let before = db.snapshot().unwrap();
    db.truncate_table("t").unwrap();
    t.upsert_batch(batch((0..50).map(|i| (i / 2, 2)))).unwrap();
    assert_eq!(rows_of(&before, &t).unwrap().len(), 500);
    assert_eq!(agreed_rows(&db, "t").unwrap().len(), 25);
}

fn work(world: &Arc<World>, rng: &mut Rng, transactions: usize) {
    type Client = fn(&World, Rng, usize);
    let clients: [(&str, Client, usize); 6] = [
        ("writer", clients::write, transactions),
        ("writer", clients::write, transactions),
        ("writer", clients::write, transactions),
        ("reader", clients::read, transactions / 4),
        ("reader", clients::read, transactions / 4),
        ("keeper", clients::look_after, transactions / 8),
    ];
    let spawn = |(name, client, n): (&str, Client, usize)| -> TaskHandle {
        let (world, rng) = (Arc::clone(world), rng.fork());
        world.tasks.clone().spawn(name, Box::new(move || client(&world, rng, n)))
    };
    let handles: Vec<TaskHandle> = clients.into_iter().map(spawn).collect();
    handles.into_iter().for_each(|task| task.join().unwrap());
}

/// Ends a run: everything seen fits one order of commits, also after a reopen.
fn finish(world: Arc<World>, options: &Options, rng: &mut Rng) {
    let Ok(world) = Arc::try_unwrap(world) else { panic!("the tasks have ended") };
    let World { db, table, noted, .. } = world;
    let mut noted: Noted = noted.into_inner().unwrap();
    let expected = clients::judge(&mut noted);
    assert!(agreed_rows(&db, "t").unwrap() == expected);
    let error = db.stats().unwrap().background_error;
    assert!(error.is_none(), "{error:?}");
    drop(table);
    if rng.chance(0.5) {
        db.close().unwrap()
    } else {
        drop(db)
    }
    let db = Database::open("/db", options.clone()).unwrap();
    assert!(agreed_rows(&db, "t").unwrap() == expected, "other rows after the reopen");
    drop(db);
    let report = check("/db", &CheckOptions { options: options.clone() }).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

fn run(options: Options, tasks: Arc<dyn Tasks>, rng: &mut Rng, transactions: usize) {
    let db = Database::open("/db", options.clone()).unwrap();
    let table = db.create_table(spec()).unwrap();
    let world = Arc::new(World { db, table, tasks, noted: std::sync::Mutex::default() });
    work(&world, rng, transactions);
    finish(world, &options, rng);
}

#[test]
fn threads_agree_on_an_order() {
    for_seeds("threads_agree_on_an_order", 4, |mut rng| {
        let mut options = in_memory(small_options(SyncMode::Os));
        options.tuning.pending_rows = 50;
        run(options, Arc::new(ThreadTasks::new()), &mut rng, 400);
    });
}

#[test]
fn no_interleaving_shows_what_cannot_be() {
    for_seeds("blind, no_interleaving_shows_what_cannot_be", 24, |mut rng| {
        let tasks = SimTasks::new(rng.next_u64());
        let mut options = small_options(*rng.pick(&[SyncMode::Fsync, SyncMode::Os]));
        options.tuning.memtable_bytes = Some(*rng.pick(&[6000, 20_000, 60_000]));
        options.tuning.compact_dead_percent = *rng.pick(&[5, 20]);
        options.tuning.pending_rows = *rng.pick(&[10, 100, 1 << 20]);
        options.background_jobs = 1 + rng.index(3);
        options.fs = Arc::new(slow::disk(Arc::new(MemFs::new()), tasks.clone()));
        options.clock = Arc::new(tasks.clone());
        options.tasks = Arc::new(tasks.clone());
        run(options, Arc::new(tasks), &mut rng, 100);
    });
}
