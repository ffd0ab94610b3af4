//! What does a disk without room, and one without speed, do to a database?
//!
//! **Full.** A small file system is filled until a write is refused, again and again. Then everything
//! acknowledged is read; rows are deleted and a table is dropped, which has to go on; what a power cut would
//! leave is opened on the full disk and has everything; some room comes back, and writes go on without a
//! reopen. Nothing is lost, and at the end `check` is content.
//!
//! **Slow.** Four writers have a disk of 100 writes and syncs in a second for two minutes of the simulation's time,
//! in which a step of a task takes a microsecond: they are held back, the memory stays within its limit,
//! and of reads of what is in memory one in a hundred takes 100 ms at most.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use onlap::{
    CheckOptions, DataType, Database, ErrorKind, IndexSpec, Options, Row, Rule, SyncMode, Table,
    TableSpec, Value, check,
};
use onlap_base::clock::Clock;
use onlap_base::memory::PartReport;
use onlap_base::rng::Rng;
use onlap_base::tasks::{SimTasks, TaskHandle, Tasks};
use onlap_testkit::slow;
use onlap_vfs::{Access, Fs, MemFs};

use crate::options::{drawn, simulated};
use crate::rows::{agreed, int};
use crate::{Counts, Verdict};

mod lying;

const DIR: &str = "/db";
/// Bytes of the small file system, and of it what only comes back at the end of a cycle.
const CAPACITY: u64 = 3 << 20;
const BALLAST: u64 = 2 << 20;
/// What is left next to it, at first.
const ROOM: u64 = 256 << 10;
/// Seconds that merges may take to give room back.
const PATIENCE: u64 = 20;
/// Rows deleted one by one while it is full, and as many at once.
const DELETES: usize = 20;
/// Times that it is filled, for a seed.
const CYCLES: u64 = 5;
/// What the slow disk does in a second, and for how long.
const RATE: u32 = 100;
const SLOW_SECONDS: u64 = 120;
/// Sixteen letters so many times are what makes rows of the slow disk large compared with their log and index
/// entries.
const WIDE: usize = 20;
/// The longest that a read of what is in memory may take, except for one in a hundred.
const READ_NS: u64 = 100_000_000;

type Model = BTreeMap<i64, Row>;

fn spec(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column("id", DataType::Int8)
        .column("a", DataType::Int4)
        .column("b", DataType::Text)
        .primary_key(["id"])
        .index(IndexSpec::new("by_a", ["a"]))
        .index(IndexSpec::new("by_b_a", ["b", "a"]))
}

fn row(rng: &mut Rng, id: i64) -> Row {
    let b = Value::Text(format!("{:032x} words", rng.next_u64()));
    vec![Value::Int(id), Value::Int(rng.range(0..1000)), b]
}

/// What is wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// Nothing is kept back for deletes and drops.
    NoMargin,
    /// Log that found no room is said to be there.
    LostWrites,
    /// Writers are never held back.
    NoPressure,
    /// Reads of what is in memory wait for the disk.
    ReadsWait,
}

/// Fills a small disk some times.
///
/// # Errors
/// What was lost, or did not go on.
pub fn run_full(seed: u64) -> Verdict {
    run_full_with(seed, None)
}

/// The same with a fault.
pub fn run_full_with(seed: u64, plant: Option<Plant>) -> Verdict {
    let mut rng = Rng::new(seed);
    let mut options = drawn(&mut rng);
    // Files so small that they are mostly footers would fill the disk with what merges owe.
    options.tuning.memtable_bytes = Some(60_000);
    options.tuning.run_file_bytes = 32 << 10;
    options.tuning.block_bytes = 1000;
    options.sync = match plant {
        Some(Plant::LostWrites) => SyncMode::Fsync,
        _ => *rng.pick(&[SyncMode::Fsync, SyncMode::Os]),
    };
    let disk = MemFs::with_capacity(CAPACITY);
    let tasks = SimTasks::new(rng.next_u64());
    let fs: Arc<dyn Fs> = match plant {
        Some(Plant::LostWrites) => Arc::new(lying::disk(disk.clone(), 3)),
        _ => Arc::new(disk.clone()),
    };
    let mut options = simulated(&options, fs, &tasks);
    options.tuning.without = (plant == Some(Plant::NoMargin)).then_some(Rule::Margin);
    let mut filler =
        Filler { rng, disk, tasks, model: Model::new(), next: 0, counts: Counts::default() };
    filler.live(&options)?;
    Ok(filler.counts)
}

struct Filler {
    rng: Rng,
    disk: MemFs,
    tasks: SimTasks,
    model: Model,
    next: i64,
    counts: Counts,
}

fn told<T>(what: &str, done: onlap::Result<T>) -> Result<T, String> {
    done.map_err(|e| format!("{what}: {:?}: {e}", e.kind()))
}

impl Filler {
    fn live(&mut self, options: &Options) -> Result<(), String> {
        let db = told("open", Database::open(DIR, options.clone()))?;
        let table = told("create", db.create_table(spec("t")))?;
        for cycle in 0..CYCLES {
            let side = told("create", db.create_table(spec("side")))?;
            told("insert", side.insert_many((0..50).map(|id| row(&mut self.rng, id))))?;
            let ballast = Path::new("/ballast");
            let file = told("ballast", self.disk.create(ballast, Access::ReadWrite))?;
            let free = told("ballast", self.disk.free_bytes(Path::new("/")))?;
            told("ballast", file.allocate(BALLAST.min(free.saturating_sub(ROOM))))?;
            self.fill(&table).map_err(|e| format!("cycle {cycle}: {e}"))?;
            self.compare(&db, &table).map_err(|e| format!("cycle {cycle}, full: {e}"))?;
            self.shrink(&db, &table).map_err(|e| format!("cycle {cycle}: {e}"))?;
            self.power_cut(options).map_err(|e| format!("cycle {cycle}, power cut: {e}"))?;
            told("drop on a full disk", db.drop_table("side"))
                .map_err(|e| format!("cycle {cycle}: {e}"))?;
            self.counts.add("drops on a full disk", 1);
            told("ballast", self.disk.remove(ballast))?;
            self.tasks.sleep(Duration::from_secs(2));
            for _ in 0..20 {
                let row = row(&mut self.rng, self.next);
                told("insert with room again", table.insert(&row))?;
                self.model.insert(self.next, row);
                self.next += 1;
            }
            self.make_room(&db, &table)?;
            self.compare(&db, &table).map_err(|e| format!("cycle {cycle}, room again: {e}"))?;
            self.counts.add("fill cycles", 1);
        }
        drop(table);
        if self.rng.chance(0.5) {
            told("close", db.close())?
        } else {
            drop(db)
        }
        let db = told("reopen", Database::open(DIR, options.clone()))?;
        self.compare(&db, &told("table", db.table("t"))?).map_err(|e| format!("reopened: {e}"))?;
        drop(db);
        let report = told("check", check(DIR, &CheckOptions { options: options.clone() }))?;
        report.findings.first().map_or(Ok(()), |finding| Err(format!("check: {finding:?}")))
    }

    /// Inserts until there is no room for even one row.
    fn fill(&mut self, table: &Table) -> Result<(), String> {
        let mut most = 40;
        loop {
            let many = 1 + self.rng.range(0..most);
            let rows: Vec<Row> =
                (self.next..self.next + many).map(|id| row(&mut self.rng, id)).collect();
            self.next += many;
            match table.insert_many(&rows) {
                Ok(_) => self.model.extend(rows.into_iter().map(|row| (int(&row[0]), row))),
                Err(e) if e.kind() == ErrorKind::DiskFull && many == 1 => {
                    self.counts.add("inserts refused", 1);
                    return Ok(());
                }
                Err(e) if e.kind() == ErrorKind::DiskFull => most = 1,
                Err(e) => return Err(format!("a full disk says {e:?}")),
            }
            if self.model.len() > 100_000 {
                return Err("the disk never fills up".into());
            }
        }
    }

    /// Deletes some rows, one by one, and some at once.
    fn shrink(&mut self, db: &Database, table: &Table) -> Result<(), String> {
        let ids: Vec<i64> = self.model.keys().copied().take(DELETES).collect();
        for id in ids {
            if !told("delete on a full disk", table.delete(&[Value::Int(id)]))? {
                return Err(format!("row {id} is not there"));
            }
            self.model.remove(&id);
            self.counts.add("deletes on a full disk", 1);
        }
        if let Some(&bound) = self.model.keys().nth(DELETES) {
            let gone = told("retain on a full disk", table.retain("id", &Value::Int(bound)))?;
            self.model.retain(|id, _| *id >= bound);
            self.counts.add("deletes on a full disk", gone);
        }
        self.compare(db, table)
    }

    /// What is found on the full disk after a power cut, where nothing may be lost.
    fn power_cut(&mut self, options: &Options) -> Result<(), String> {
        if options.sync != SyncMode::Fsync {
            return Ok(());
        }
        let share = *self.rng.pick(&[0.0, 0.5, 1.0]);
        let image = self.disk.crash(self.rng.next_u64(), share);
        let tasks = SimTasks::new(self.rng.next_u64());
        let options = simulated(options, Arc::new(image.clone()), &tasks);
        let db = match Database::open(DIR, options.clone()) {
            // Deletes have used what was kept.
            Err(e) if e.kind() == ErrorKind::DiskFull => {
                self.counts.add("full disks that wait for room to be opened", 1);
                told("ballast", image.remove(Path::new("/ballast")))?;
                told("open with room again", Database::open(DIR, options))?
            }
            db => told("open", db)?,
        };
        self.compare(&db, &told("table", db.table("t"))?)?;
        self.counts.add("full disks opened", 1);
        Ok(())
    }

    /// Leaves few rows, so that the next cycle has something to fill.
    fn make_room(&mut self, db: &Database, table: &Table) -> Result<(), String> {
        let bound = self.next - 200;
        // Merges that were late may take the room that came back, and give it back themselves.
        let mut seconds = 0;
        loop {
            match table.retain("id", &Value::Int(bound)) {
                Err(e) if e.kind() == ErrorKind::DiskFull && seconds < PATIENCE => {
                    seconds += 1;
                    self.tasks.sleep(Duration::from_secs(1));
                }
                done => {
                    told("retain", done)
                        .map_err(|e| format!("{e}; there is {}", self.what_is_there()))?;
                    break;
                }
            }
        }
        self.model.retain(|id, _| *id >= bound);
        told("settle", db.settle())
    }

    /// Bytes by kind of file.
    fn what_is_there(&self) -> String {
        let mut kinds: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for name in self.disk.list(Path::new(DIR)).unwrap_or_default() {
            let file = self.disk.open(&Path::new(DIR).join(&name), Access::Read);
            let bytes = file.and_then(|file| file.len()).unwrap_or(0);
            let kind = name.rsplit('.').next().unwrap_or_default().to_owned();
            let sum = kinds.entry(kind).or_default();
            *sum = (sum.0 + 1, sum.1 + bytes);
        }
        format!("{kinds:?} of {} bytes", self.disk.used_bytes())
    }

    fn compare(&self, db: &Database, table: &Table) -> Result<(), String> {
        let snapshot = told("snapshot", db.snapshot())?;
        let rows = told("read", agreed(&snapshot, table))??;
        let found: Model = rows.into_iter().map(|(_, row)| (int(&row[0]), row)).collect();
        match found == self.model {
            true => Ok(()),
            false => Err(format!("{} rows, {} were acknowledged", found.len(), self.model.len())),
        }
    }
}

/// Writes to a slow disk, and reads next to.
///
/// # Errors
/// A part of the memory above its limit, or reads that wait for the disk.
pub fn run_slow(seed: u64) -> Verdict {
    run_slow_with(seed, None)
}

/// The same with a fault.
pub fn run_slow_with(seed: u64, plant: Option<Plant>) -> Verdict {
    let mut rng = Rng::new(seed);
    let mut options = Options::default().sync(SyncMode::Fsync).memory_limit(32 << 20);
    options.tuning.memtable_bytes = Some(400_000);
    options.tuning.log_file_bytes = 256 << 10;
    options.log_limit = 1 << 20;
    options.tuning.run_file_bytes = 64 << 10;
    let tasks = SimTasks::new(rng.next_u64());
    let slow = slow::disk_at_rate(Arc::new(MemFs::new()), tasks.clone(), RATE);
    let disk = told("disk", slow.create(Path::new("/00000001.log"), Access::ReadWrite))?;
    let mut options = simulated(&options, Arc::new(slow), &tasks);
    options.tuning.without = (plant == Some(Plant::NoPressure)).then_some(Rule::BackPressure);
    let db = told("open", Database::open(DIR, options))?;
    let wide = spec("t").column("c", DataType::Text);
    let table = told("create", db.create_table(wide))?;
    let row = |rng: &mut Rng, id: i64| {
        let mut row = row(rng, id);
        row.push(Value::Text(format!("{:016x}", rng.next_u64()).repeat(WIDE)));
        row
    };
    told("insert", table.insert_many((0..200).map(|id| row(&mut rng, id))))?;
    let (next, stop) = (Arc::new(AtomicI64::new(200)), Arc::new(AtomicBool::new(false)));
    let writers: Vec<TaskHandle> = (0..4)
        .map(|_| {
            let (table, next, stop) = (table.clone(), Arc::clone(&next), Arc::clone(&stop));
            let mut rng = rng.fork();
            let write = move || {
                while !stop.load(Ordering::Relaxed) {
                    let from = next.fetch_add(100, Ordering::Relaxed);
                    let rows = (from..from + 100).map(|id| row(&mut rng, id));
                    table.insert_many(rows).expect("a disk that is slow and nothing else");
                }
            };
            tasks.spawn("writer", Box::new(write))
        })
        .collect();
    let mut times = Vec::new();
    let seconds = if plant.is_some() { SLOW_SECONDS / 4 } else { SLOW_SECONDS };
    let until = tasks.monotonic_ns() + seconds * 1_000_000_000;
    let mut finding = None;
    while tasks.monotonic_ns() < until && finding.is_none() {
        tasks.sleep(Duration::from_millis(50 + rng.below(100)));
        let before = tasks.monotonic_ns();
        let row =
            told("snapshot", db.snapshot())?.get(&table, &[Value::Int(rng.range(0..200))], None);
        if told("get", row)?.is_none() {
            finding = Some("a row is gone".to_owned());
        }
        if plant == Some(Plant::ReadsWait) {
            // A lookup without a cache: some files, and of each a fence, a filter and a block.
            (0..8).try_for_each(|_| told("wait", disk.sync_data()))?;
        }
        times.push(tasks.monotonic_ns() - before);
        // A part may borrow from others for a while; together they stay within the limit.
        let parts = db.memory();
        let sum = |of: fn(&PartReport) -> u64| parts.iter().map(of).sum::<u64>();
        if sum(|part| part.used) > sum(|part| part.limit) {
            finding = Some(format!("memory above its limit: {parts:?}"));
        }
    }
    stop.store(true, Ordering::Relaxed);
    writers.into_iter().for_each(|task| task.join().unwrap_or_else(|e| panic!("{e}")));
    times.sort_unstable();
    if told("stats", db.stats())?.delayed_us == 0 {
        finding = Some("writers were never held back".to_owned());
    }
    let p99 = times[times.len() * 99 / 100];
    if p99 > READ_NS {
        finding = Some(format!("of reads beside a slow disk one in a hundred takes {p99} ns"));
    }
    let mut counts = Counts::default();
    counts.add("seconds on a slow disk", seconds);
    counts.add("reads beside it", times.len() as u64);
    counts.add("rows written to it", next.load(Ordering::Relaxed) as u64);
    finding.map_or(Ok(counts), Err)
}
