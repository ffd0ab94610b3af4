//! Random concurrent transactions, whose histories contain nothing that their levels forbid.
//!
//! Clients read and write registers, lists and sets, kept in rows so that every way to read and to
//! write is taken (see [`objects`]), and note what they did; `onlap_testkit::cycles` judges. In the
//! simulation a seed replays a run: `ONLAP_SEED=n cargo test -p onlap --test histories`. The same
//! clients also run as threads. Flushes, merges, long snapshots and a reopen happen in between.
//!
//! The controls: with a rule switched off, the same histories must be found guilty.

mod clients;
#[path = "../simulation/fs.rs"]
mod fs;
mod objects;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use onlap::{Database, Options, Rule, SyncMode};
use onlap_base::clock::{Clock, SystemClock};
use onlap_base::rng::Rng;
use onlap_base::tasks::{SimTasks, TaskHandle, Tasks, ThreadTasks};
use onlap_testkit::cycles::{Anomaly, Kind, Level, Noted, Outcome, check, would_close_a_cycle};
use onlap_testkit::for_seeds;
use onlap_vfs::MemFs;

use clients::{World, client, keep, read_everything};
use fs::SlowFs;
use objects::Tables;

const SEEDS: u64 = 16;
const CONTROL_SEEDS: u64 = 6;

const LEVELS: [Level; 3] = [Level::ReadCommitted, Level::RepeatableRead, Level::Serializable];

/// What runs have in common and in what they differ.
#[derive(Clone, Copy, Debug)]
struct Setting {
    /// `None`: each transaction picks one.
    level: Option<Level>,
    without: Option<Rule>,
    clients: usize,
    transactions: usize,
    /// Lists as well; they are left out where refusals are counted.
    lists: bool,
}

impl Setting {
    fn at(level: Option<Level>) -> Setting {
        Setting { level, without: None, clients: 4, transactions: 25, lists: true }
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
    options.fs = Arc::new(SlowFs { inner: Arc::new(MemFs::new()), tasks: tasks.clone() });
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
        lists: setting.lists,
        time: AtomicU64::new(0),
        unique: AtomicU64::new(1),
        running: AtomicUsize::new(0),
        noted: Mutex::default(),
    };
    let mut world = Arc::new(world);
    let mut coarse = 0;
    for round in 0..2 {
        let db = Database::open("/db", options.clone()).unwrap();
        let tables = if round == 0 { Tables::create(&db) } else { Tables::open(&db) };
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

fn judge(told: &Told) {
    let found = check(&told.history);
    if !found.is_empty() {
        for (tx, noted) in told.history.iter().enumerate() {
            eprintln!("T{tx}: {noted:?}");
        }
        panic!("{}", found.iter().map(Anomaly::to_string).collect::<Vec<_>>().join("\n"));
    }
}

/// How transactions ended, so that no history is empty by mistake.
#[derive(Debug, Default)]
struct Ended {
    committed: usize,
    aborted: usize,
}

impl Ended {
    fn add(&mut self, told: &Told) {
        let committed = told.history.iter().filter(|n| matches!(n.outcome, Outcome::Committed(_)));
        let committed = committed.count();
        self.committed += committed;
        self.aborted += told.history.len() - committed;
    }
}

fn simulated(name: &str, level: Option<Level>, seeds: u64) {
    let ended = Mutex::new(Ended::default());
    for_seeds(name, seeds, |mut rng| {
        let told = simulate(Setting::at(level), &mut rng);
        judge(&told);
        ended.lock().unwrap().add(&told);
    });
    let ended = ended.into_inner().unwrap();
    println!("{name}: {seeds} seeds, {ended:?}");
    if std::env::var_os("ONLAP_SEED").is_none() {
        assert!(ended.committed > ended.aborted && ended.aborted > 0, "{ended:?}");
    }
}

#[test]
fn read_committed() {
    simulated("read_committed", Some(Level::ReadCommitted), SEEDS);
}

#[test]
fn repeatable_read() {
    simulated("repeatable_read", Some(Level::RepeatableRead), SEEDS);
}

#[test]
fn serializable() {
    simulated("serializable", Some(Level::Serializable), SEEDS);
}

#[test]
fn mixed_levels() {
    simulated("mixed_levels", None, SEEDS);
}

#[test]
fn threads() {
    for (seed, level) in LEVELS.into_iter().map(Some).chain([None]).enumerate() {
        let setting = Setting { transactions: 60, ..Setting::at(level) };
        let told = run_threads(setting, &mut Rng::new(seed as u64));
        judge(&told);
        let mut ended = Ended::default();
        ended.add(&told);
        println!("threads, {level:?}: {ended:?}");
    }
}

/// Kinds that are found in histories when a rule is switched off.
fn kinds_without(rule: Rule, level: Level) -> HashSet<Kind> {
    let mut kinds = HashSet::new();
    for seed in 0..CONTROL_SEEDS {
        let setting = Setting { without: Some(rule), ..Setting::at(Some(level)) };
        let told = simulate(setting, &mut Rng::new(seed));
        kinds.extend(check(&told.history).into_iter().map(|a| a.kind));
    }
    println!("without {rule:?} at {level:?}: {kinds:?}");
    kinds
}

#[test]
fn without_validation_of_reads_there_is_write_skew() {
    let kinds = kinds_without(Rule::ReadValidation, Level::Serializable);
    assert!(kinds.contains(&Kind::WriteSkew) || kinds.contains(&Kind::Phantom), "{kinds:?}");
}

#[test]
fn without_the_first_updater_updates_are_lost() {
    let kinds = kinds_without(Rule::FirstUpdaterWins, Level::RepeatableRead);
    assert!(kinds.contains(&Kind::LostUpdate), "{kinds:?}");
}

#[test]
fn without_a_second_look_updates_are_lost() {
    let kinds = kinds_without(Rule::Recheck, Level::ReadCommitted);
    assert!(kinds.contains(&Kind::LostUpdate), "{kinds:?}");
}

#[test]
fn without_unique_keys_there_are_two_first_versions() {
    let kinds = kinds_without(Rule::UniqueKeys, Level::ReadCommitted);
    assert!(kinds.contains(&Kind::LostUpdate), "{kinds:?}");
}

/// How many of those that SERIALIZABLE refused would have closed no cycle. A figure, and a bound on it.
#[test]
fn false_alarms_at_serializable() {
    let (mut transactions, mut refused, mut needless, mut coarse) = (0, 0, 0, 0);
    for seed in 0..SEEDS {
        let setting = Setting { lists: false, ..Setting::at(Some(Level::Serializable)) };
        let told = simulate(setting, &mut Rng::new(seed));
        judge(&told);
        transactions += told.history.len();
        refused += told.refused_at_commit.len();
        let closes = |tx: &&usize| would_close_a_cycle(&told.history, **tx);
        needless +=
            told.refused_at_commit.len() - told.refused_at_commit.iter().filter(closes).count();
        coarse += told.coarse;
    }
    println!(
        "of {transactions} transactions {refused} were refused for what they had read, {needless} of \
         them without need; the engine counted {coarse} without a look at rows"
    );
    assert!(refused > 0 && needless < refused, "{needless} of {refused}");
}
