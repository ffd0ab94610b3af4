//! Do concurrent transactions see anything that their levels forbid?
//!
//! Clients read and write registers, lists, sets and slots, kept in rows so that every way to read and to
//! write is taken (see [`objects`]), and note what they did; `onlap_testkit::cycles` judges. In the
//! simulation a seed replays a run. The same clients also run as threads. Flushes, merges, long snapshots and
//! a reopen happen in between.
//!
//! The controls: with a rule switched off, or with a reader that an index leads astray, the same histories must
//! be found guilty.

mod clients;
mod objects;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use onlap::{Database, Options, Rule, SyncMode};
use onlap_base::clock::{Clock, SystemClock};
use onlap_base::rng::Rng;
use onlap_base::tasks::{SimTasks, TaskHandle, Tasks, ThreadTasks};
use onlap_testkit::cycles::{Anomaly, Kind, Level, Noted, Outcome, check, would_close_a_cycle};
use onlap_testkit::slow;
use onlap_vfs::MemFs;

use crate::{Counts, Verdict};
use clients::{World, client, keep, read_everything};
pub use objects::IndexFault;
use objects::Tables;

/// The levels.
pub const LEVELS: [Level; 3] = [Level::ReadCommitted, Level::RepeatableRead, Level::Serializable];

/// What runs have in common and in what they differ.
#[derive(Clone, Copy, Debug)]
struct Setting {
    /// `None`: each transaction picks one.
    level: Option<Level>,
    without: Option<Rule>,
    fault: Option<IndexFault>,
    clients: usize,
    transactions: usize,
    /// Lists and slots as well; they are left out where refusals are counted.
    all: bool,
}

impl Setting {
    fn at(level: Option<Level>) -> Setting {
        Setting { level, without: None, fault: None, clients: 4, transactions: 40, all: true }
    }
}

/// What came of a run.
struct Told {
    history: Vec<Noted>,
    /// Places in it of those that were refused at their commit.
    refused_at_commit: Vec<usize>,
    /// The engine's count of refusals without a look at single rows.
    coarse: u64,
}

/// Small sizes, which take every path with few rows.
fn options(rng: &mut Rng, tasks: Arc<dyn Tasks>, clock: Arc<dyn Clock>) -> Options {
    let sync = *rng.pick(&[SyncMode::Os, SyncMode::Fsync]);
    let mut options = Options::default().sync(sync).memory_limit(32 << 20);
    options.background_jobs = 1 + rng.index(2);
    options.log_limit = 64 << 10;
    options.tuning.log_file_bytes = 16 << 10;
    options.tuning.memtable_bytes = Some(*rng.pick(&[4_000, 30_000]));
    options.tuning.spill_bytes = *rng.pick(&[None, Some(1), Some(1000)]);
    options.tuning.block_bytes = 300;
    options.tuning.block_rows = 64;
    options.tuning.run_file_bytes = 1000;
    options.tuning.merge_fan_in = 2;
    options.tuning.compact_dead_percent = 10;
    options.clock = clock;
    options.tasks = tasks;
    options
}

fn simulate(setting: Setting, rng: &mut Rng) -> Told {
    let tasks = SimTasks::new(rng.next_u64());
    let mut options = options(rng, Arc::new(tasks.clone()), Arc::new(tasks.clone()));
    options.fs = Arc::new(slow::disk(Arc::new(MemFs::new()), tasks.clone()));
    run(setting, rng, options)
}

fn run_threads(setting: Setting, rng: &mut Rng) -> Told {
    let mut options = options(rng, Arc::new(ThreadTasks::new()), Arc::new(SystemClock));
    options.fs = Arc::new(MemFs::new());
    run(setting, rng, options)
}

/// Two rounds of clients with a reopen in between, then a reader of everything.
fn run(setting: Setting, rng: &mut Rng, mut options: Options) -> Told {
    options.tuning.without = setting.without;
    let world = World {
        tasks: Arc::clone(&options.tasks),
        level: setting.level,
        lists: setting.all,
        slots: setting.all,
        time: AtomicU64::new(0),
        unique: AtomicU64::new(1),
        running: AtomicUsize::new(0),
        noted: Mutex::default(),
    };
    let mut world = Arc::new(world);
    let mut coarse = 0;
    for round in 0..2 {
        let db = Database::open("/db", options.clone()).unwrap();
        if round == 0 {
            Tables::create(&db);
        }
        let tables = Tables::open(&db, setting.fault);
        work(setting, rng, &db, &tables, &world);
        coarse += db.stats().unwrap().transactions.coarse_failed_reads;
        if round == 1 {
            read_everything(&world, &db, &tables);
        }
        drop(tables);
        if rng.chance(0.5) { db.close().unwrap() } else { drop(db) }
    }
    let world = Arc::get_mut(&mut world).expect("the clients have ended");
    let noted = std::mem::take(&mut *world.noted.lock().unwrap());
    let at_commit = noted.iter().enumerate().filter(|(_, (_, at_commit))| *at_commit);
    let refused_at_commit = at_commit.map(|(at, _)| at).collect();
    Told { history: noted.into_iter().map(|(n, _)| n).collect(), refused_at_commit, coarse }
}

fn work(setting: Setting, rng: &mut Rng, db: &Database, tables: &Tables, world: &Arc<World>) {
    world.running.store(setting.clients, Ordering::Relaxed);
    let spawn = |name: &str, rng: Rng, body: fn(&World, &Database, &Tables, Rng, usize)| {
        let (db, tables, own) = (db.clone(), tables.clone(), Arc::clone(world));
        let body = move || body(&own, &db, &tables, rng, setting.transactions);
        world.tasks.spawn(name, Box::new(body))
    };
    let mut handles: Vec<TaskHandle> =
        (0..setting.clients).map(|_| spawn("client", rng.fork(), client)).collect();
    handles.push(spawn("keeper", rng.fork(), keep));
    handles.into_iter().for_each(|handle| handle.join().unwrap());
}

/// One history at each level and one at mixed levels: in the simulation, of every fourth seed with threads.
///
/// # Errors
/// The anomalies that a level forbids.
pub fn run_seed(seed: u64) -> Verdict {
    if seed % 4 == 3 { run_with_threads(seed) } else { run_all(seed, simulate) }
}

/// With threads a seed repeats the operations, not the moments at which threads meet.
///
/// # Errors
/// As [`run_seed`].
pub fn run_with_threads(seed: u64) -> Verdict {
    let mut counts = run_all(seed, run_threads)?;
    let all: u64 = LEVELS.into_iter().map(|level| counts.of(name_of(level))).sum();
    counts.add("of them with threads", all);
    Ok(counts)
}

fn run_all(seed: u64, run: fn(Setting, &mut Rng) -> Told) -> Verdict {
    let mut counts = Counts::default();
    for level in LEVELS.into_iter().map(Some).chain([None]) {
        let told = run(Setting::at(level), &mut Rng::new(seed));
        judge(&told).map_err(|e| format!("{level:?}: {e}"))?;
        told.count(&mut counts);
    }
    Ok(counts)
}

fn name_of(level: Level) -> &'static str {
    match level {
        Level::ReadCommitted => "transactions at READ COMMITTED",
        Level::RepeatableRead => "transactions at REPEATABLE READ",
        Level::Serializable => "transactions at SERIALIZABLE",
    }
}

/// What the checker says of a history; prints a guilty one.
fn judge(told: &Told) -> Result<(), String> {
    let found = check(&told.history);
    if found.is_empty() {
        return Ok(());
    }
    for (tx, noted) in told.history.iter().enumerate() {
        eprintln!("T{tx}: {noted:?}");
    }
    Err(found.iter().map(Anomaly::to_string).collect::<Vec<_>>().join("\n"))
}

impl Told {
    fn count(&self, counts: &mut Counts) {
        for noted in &self.history {
            counts.add(name_of(noted.level), 1);
            counts.add("committed", u64::from(matches!(noted.outcome, Outcome::Committed(_))));
        }
    }
}

/// Kinds of anomalies that are found in histories of the seeds below `seeds` when a rule is switched off.
pub fn kinds_without(rule: Rule, level: Level, seeds: u64) -> HashSet<Kind> {
    kinds_with(Setting { without: Some(rule), ..Setting::at(Some(level)) }, seeds)
}

/// The same where what an index leads a reader to is spoilt.
pub fn kinds_with_fault(fault: IndexFault, level: Level, seeds: u64) -> HashSet<Kind> {
    kinds_with(Setting { fault: Some(fault), ..Setting::at(Some(level)) }, seeds)
}

fn kinds_with(setting: Setting, seeds: u64) -> HashSet<Kind> {
    let mut kinds = HashSet::new();
    for seed in 0..seeds {
        let told = simulate(setting, &mut Rng::new(seed));
        kinds.extend(check(&told.history).into_iter().map(|a| a.kind));
    }
    let Setting { level, without, fault, .. } = setting;
    println!("without {without:?}, with {fault:?} at {level:?}: {kinds:?}");
    kinds
}

/// Transactions at SERIALIZABLE that were refused for what they had read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Refusals {
    /// All transactions.
    pub transactions: usize,
    /// Those refused.
    pub refused: usize,
    /// Those of them that would have closed no cycle.
    pub needless: usize,
    /// Those that the engine counted without a look at rows.
    pub coarse: u64,
}

/// Counts refusals in the histories of the seeds below `seeds`.
///
/// # Panics
/// When a history is guilty.
pub fn refusals(seeds: u64) -> Refusals {
    let mut all = Refusals::default();
    for seed in 0..seeds {
        let setting = Setting { all: false, ..Setting::at(Some(Level::Serializable)) };
        let told = simulate(setting, &mut Rng::new(seed));
        judge(&told).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        all.transactions += told.history.len();
        all.refused += told.refused_at_commit.len();
        let closes = |tx: &&usize| would_close_a_cycle(&told.history, **tx);
        all.needless +=
            told.refused_at_commit.len() - told.refused_at_commit.iter().filter(closes).count();
        all.coarse += told.coarse;
    }
    all
}
