//! The whole engine, one task at a time, interleaved by a seed.
//!
//! Writers at all levels of isolation, readers and one task that flushes, settles and changes the
//! schema run next to the engine's own tasks under `SimTasks`: virtual time, files in memory, and at
//! every wait and every write or sync of a file the seed picks who goes on. So a seed replays a run to
//! the last step. `ONLAP_SEED=n cargo test -p onlap --test simulation` does.
//!
//! While they run, every snapshot's indexes must agree with its table (I4) and held snapshots stay
//! what they were; afterwards the commits are replayed into a model, which every scan and every look
//! must match. Then the database is opened again.

mod clients;
mod history;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use onlap::{CheckOptions, Database, ErrorKind, Options, SyncMode, check};
use onlap_base::rng::Rng;
use onlap_base::tasks::{SimTasks, TaskHandle, Tasks};
use onlap_testkit::{for_seeds, slow};
use onlap_vfs::MemFs;

use clients::{World, look, look_after, read, write};
use history::History;

const SEEDS: u64 = 48;

/// Small sizes, which take every path with few rows.
fn options(tasks: &SimTasks, rng: &mut Rng) -> Options {
    let modes = [SyncMode::Fsync, SyncMode::Os, SyncMode::Interval(Duration::from_millis(20))];
    let mut options = Options::default().sync(*rng.pick(&modes)).memory_limit(32 << 20);
    options.background_jobs = 1 + rng.index(3);
    options.log_limit = 64 << 10;
    options.tuning.log_file_bytes = *rng.pick(&[8 << 10, 32 << 10]);
    options.tuning.memtable_bytes = Some(*rng.pick(&[6_000, 20_000, 60_000]));
    options.tuning.block_bytes = *rng.pick(&[300, 1000]);
    options.tuning.block_rows = 64;
    options.tuning.run_file_bytes = *rng.pick(&[1000, 8000]);
    options.tuning.merge_fan_in = *rng.pick(&[2, 4]);
    options.tuning.compact_dead_percent = *rng.pick(&[5, 20]);
    options.fs = Arc::new(slow::disk(Arc::new(MemFs::new()), tasks.clone()));
    options.clock = Arc::new(tasks.clone());
    options.tasks = Arc::new(tasks.clone());
    options
}

/// What runs came to, so that none is empty by mistake.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    conflicts: usize,
    duplicates: usize,
    deadlocks: u64,
    lock_waits: u64,
    merged_bytes: u64,
    compacted_bytes: u64,
    steps: u64,
}

/// One simulation; also gives everything that its clients noted.
fn simulate(rng: &mut Rng) -> (Met, String) {
    let tasks = SimTasks::new(rng.next_u64());
    let options = options(&tasks, rng);
    let db = Database::open("/db", options.clone()).unwrap();
    let world = Arc::new(World {
        table: db.create_table(clients::spec()).unwrap(),
        db,
        tasks: tasks.clone(),
        history: History::default(),
        next_id: AtomicI64::new(100),
        rising: rng.chance(0.5),
        writers: AtomicUsize::new(0),
    });
    for _ in 0..2 {
        work(&world, rng);
        // Long enough for the database to find it quiet.
        tasks.sleep(Duration::from_secs(3));
    }
    let world = Arc::into_inner(world).expect("the tasks have ended");
    let mut met = finish(world, rng, &options);
    met.0.steps = tasks.steps();
    met
}

/// Writers, readers and the keeper, until the writers have done their part.
fn work(world: &Arc<World>, rng: &mut Rng) {
    let spawn = |name: &str, rng: Rng, body: Box<dyn FnOnce(&World, Rng) + Send>| {
        let world = Arc::clone(world);
        world.tasks.clone().spawn(name, Box::new(move || body(&world, rng)))
    };
    let writers = 2 + rng.index(3);
    world.writers.store(writers, Ordering::Relaxed);
    let mut handles: Vec<TaskHandle> = Vec::new();
    for _ in 0..writers {
        handles.push(spawn("writer", rng.fork(), Box::new(|w, rng| write(w, rng, 120))));
    }
    for _ in 0..1 + rng.index(2) {
        handles.push(spawn("reader", rng.fork(), Box::new(read)));
    }
    handles.push(spawn("keeper", rng.fork(), Box::new(look_after)));
    handles.into_iter().for_each(|task| task.join().unwrap());
}

/// Settles, compares with the model, opens the database again and compares once more.
fn finish(world: World, rng: &mut Rng, options: &Options) -> (Met, String) {
    if rng.chance(0.5) {
        world.db.settle().unwrap();
    }
    let snapshot = world.db.snapshot().unwrap();
    let rows = look(&world, rng, &snapshot);
    world.history.scanned(snapshot.csn(), rows.clone());
    world.history.check();
    let stats = world.db.stats().unwrap();
    assert!(stats.background_error.is_none(), "{:?}", stats.background_error);
    let met = Met {
        conflicts: world.history.count_refused(ErrorKind::Conflict),
        duplicates: world.history.count_refused(ErrorKind::DuplicateKey),
        deadlocks: stats.transactions.deadlocks,
        lock_waits: stats.transactions.lock_waits,
        merged_bytes: stats.written.indexes.values().map(|i| i.merged).sum(),
        compacted_bytes: stats.written.compaction,
        steps: 0,
    };
    drop(snapshot);
    let World { db, table, tasks, history, next_id, rising, writers } = world;
    drop(table);
    if rng.chance(0.5) {
        db.close().unwrap()
    } else {
        drop(db)
    }
    let db = Database::open("/db", options.clone()).unwrap();
    let table = db.table("t").unwrap();
    let world = World { db, table, tasks, history, next_id, rising, writers };
    let again = look(&world, rng, &world.db.snapshot().unwrap());
    assert!(again == rows, "other rows after the reopen");
    let World { db, table, history, .. } = world;
    drop((db, table));
    let report = check("/db", &CheckOptions { options: options.clone() }).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    (met, history.text())
}

#[test]
fn no_interleaving_shows_what_cannot_be() {
    let all = RefCell::new(Met::default());
    for_seeds("no_interleaving_shows_what_cannot_be", SEEDS, |mut rng| {
        let (met, _) = simulate(&mut rng);
        let mut all = all.borrow_mut();
        all.conflicts += met.conflicts;
        all.duplicates += met.duplicates;
        all.deadlocks += met.deadlocks;
        all.lock_waits += met.lock_waits;
        all.merged_bytes += met.merged_bytes;
        all.compacted_bytes += met.compacted_bytes;
        all.steps += met.steps;
    });
    let all = all.into_inner();
    println!("{all:?}");
    if std::env::var_os("ONLAP_SEED").is_none() {
        let least = (all.conflicts.min(all.duplicates) as u64).min(all.deadlocks);
        assert!(least.min(all.merged_bytes).min(all.compacted_bytes) > 0, "{all:?}");
    }
}

#[test]
fn a_seed_replays_a_run() {
    for_seeds("a_seed_replays_a_run", 3, |rng| {
        let (first, noted) = simulate(&mut rng.clone());
        let (second, again) = simulate(&mut rng.clone());
        assert_eq!(first.steps, second.steps);
        assert!(noted == again, "equal seeds, but the clients saw other things");
    });
}
