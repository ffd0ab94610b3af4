//! Do transactions, schema changes, odd tables, and writes that read nothing reach their figures?
//!
//! Each [`Trial`] is a small program on the embedded API, with RocksDB next to it where a figure is a
//! ratio. The caller runs each in a process of its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use onlap::{Batch, Database, Options, SyncMode, Table};
use onlap_base::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use crate::drivers;
use crate::figures::{Better, Figure, table_of};
use crate::generate::Workload;
use crate::measure::environment::Environment;
use crate::measure::process::warm_memory;
use crate::names;
use crate::workload::RunDir;

mod all;
mod blind;
mod build;
mod changed;
mod cold;
mod entries;
mod groups;
mod hot;
mod keyed;
mod large;
mod ledger;
mod queue;
mod readers;
mod recover;
mod sales;
mod space;
mod tables;
mod updates;
#[cfg(feature = "wire")]
mod wire;

/// Trials that are run by one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// Concurrent transactions, index builds and odd tables.
    Transactions,
    /// Deletes and updates that read no row, sets and groups.
    Changes,
    /// The server next to PostgreSQL.
    Wire,
    /// What accounts and counts of statements cost, and whether advice foretells sizes.
    Ledger,
}

/// What is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// Four clients, five updates per transaction.
    Updates,
    /// One row that everybody updates.
    Hot,
    /// Three indexes in one scan, and inserts meanwhile.
    Build,
    /// Insert, read the oldest, delete it.
    Queue,
    /// Many small tables.
    Tables,
    /// All rows in one transaction.
    Large,
    /// A full log, and the open after it.
    Recover,
    /// `onlap check`.
    Check,
    /// Random deletes by key.
    Deletes,
    /// Random `b = b + 1` by key.
    Adds,
    /// `b = 5` of cold rows, by an index.
    Cold,
    /// `b = 5` of all rows.
    All,
    /// Blind upserts.
    Blind,
    /// Reads of a table of which every row was changed.
    Changed,
    /// Space under random deletes and updates.
    Space,
    /// Reads at the limits of what a table may owe.
    Readers,
    /// The newest row of each group.
    Groups,
    /// Bytes of index entries by the number of different keys.
    Entries,
    /// Multi-row INSERT over the wire.
    Inserts,
    /// COPY over the wire.
    Copy,
    /// count and sum over the wire.
    Sums,
    /// sysbench's transactions.
    Sysbench,
    /// pgbench's transactions.
    Pgbench,
    /// A point select over the wire, in CPU.
    Point,
    /// Start of the server on data that is there.
    Start,
    /// Statements as text, next to PostgreSQL.
    Statements,
    /// Rows that come as the oldest leave, next to PostgreSQL.
    Replaced,
    /// Documents with indexes of their parts, next to PostgreSQL.
    Documents,
    /// Inserts through a PostgreSQL with two shards, next to one with one.
    Shards,
    /// A temporary table's life, next to PostgreSQL's.
    Temporary,
    /// Sizes of indexes as they are predicted, next to what they become.
    Predicted,
    /// Inserts with accounts of indexes and without.
    Accounts,
    /// The same over the wire, with statements counted and not.
    Counted,
}

const TRIALS: [(Suite, &str, Trial); 33] = [
    (Suite::Transactions, "updates", Trial::Updates),
    (Suite::Transactions, "hot", Trial::Hot),
    (Suite::Transactions, "build", Trial::Build),
    (Suite::Transactions, "queue", Trial::Queue),
    (Suite::Transactions, "tables", Trial::Tables),
    (Suite::Transactions, "large", Trial::Large),
    (Suite::Transactions, "recover", Trial::Recover),
    (Suite::Transactions, "check", Trial::Check),
    (Suite::Changes, "deletes", Trial::Deletes),
    (Suite::Changes, "adds", Trial::Adds),
    (Suite::Changes, "cold", Trial::Cold),
    (Suite::Changes, "all", Trial::All),
    (Suite::Changes, "blind", Trial::Blind),
    (Suite::Changes, "changed", Trial::Changed),
    (Suite::Changes, "space", Trial::Space),
    (Suite::Changes, "readers", Trial::Readers),
    (Suite::Changes, "groups", Trial::Groups),
    (Suite::Changes, "entries", Trial::Entries),
    (Suite::Wire, "inserts", Trial::Inserts),
    (Suite::Wire, "copy", Trial::Copy),
    (Suite::Wire, "sums", Trial::Sums),
    (Suite::Wire, "sysbench", Trial::Sysbench),
    (Suite::Wire, "pgbench", Trial::Pgbench),
    (Suite::Wire, "point", Trial::Point),
    (Suite::Wire, "start", Trial::Start),
    (Suite::Wire, "statements", Trial::Statements),
    (Suite::Wire, "replaced", Trial::Replaced),
    (Suite::Wire, "documents", Trial::Documents),
    (Suite::Wire, "shards", Trial::Shards),
    (Suite::Wire, "temporary", Trial::Temporary),
    (Suite::Ledger, "predicted", Trial::Predicted),
    (Suite::Ledger, "accounts", Trial::Accounts),
    (Suite::Ledger, "counted", Trial::Counted),
];

impl Trial {
    /// Its name in a list.
    pub fn name(self) -> &'static str {
        TRIALS.iter().find(|(.., t)| *t == self).expect("every trial has a name").1
    }
}

/// Trials of a list such as `hot,queue`; all of the suite where there is none.
pub fn parse_trials(suite: Suite, list: Option<&str>) -> Result<Vec<Trial>> {
    // Servers are for programs with their clients.
    let is_there = |trial| cfg!(feature = "wire") || trial != Trial::Counted;
    let of_suite: Vec<_> =
        TRIALS.iter().filter(|(s, _, trial)| *s == suite && is_there(*trial)).collect();
    let Some(list) = list else { return Ok(of_suite.iter().map(|(.., trial)| *trial).collect()) };
    let valid: Vec<&str> = of_suite.iter().map(|(_, name, _)| *name).collect();
    let trial = |text: &str| {
        let name = names::choose("trial", text, &valid)?;
        Ok(of_suite.iter().find(|(_, n, _)| *n == name).expect("chosen from the table").2)
    };
    list.split(',').map(str::trim).filter(|s| !s.is_empty()).map(trial).collect()
}

/// What is tried, and on what scale.
#[derive(Clone, Debug)]
pub struct TrialPlan {
    /// Rows of the large tables; the queue and the large transaction take half.
    pub rows: u64,
    /// Seconds of timed parts, in all; the hot row takes all of them.
    pub seconds: f64,
    /// Alternating runs of which medians are taken.
    pub repeat: usize,
    /// All that a server may take where data is to be larger than memory, with its page cache; it is
    /// told to take 60 percent of it.
    pub cgroup_memory: Option<u64>,
    /// Where directories are made.
    pub dir: Option<PathBuf>,
    /// Commit the binary was built from.
    pub commit: String,
}

/// Figures of trials.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TrialReport {
    /// Where.
    pub environment: Environment,
    /// The figures.
    pub figures: Vec<Figure>,
}

impl TrialReport {
    /// For people.
    pub fn table(&self) -> String {
        table_of(&self.figures)
    }

    /// For programs.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("reports have string keys and finite numbers")
    }
}

/// Runs a trial in a directory of its own.
pub fn run(plan: &TrialPlan, trial: Trial, cancel: &AtomicBool) -> Result<TrialReport> {
    if plan.rows < ROWS_MIN || plan.repeat == 0 || plan.seconds <= 0.0 {
        let text = format!("trials need at least {ROWS_MIN} rows, some time and one run");
        return Err(Error::new(ErrorKind::InvalidInput, text));
    }
    let dir = RunDir::create(plan.dir.as_deref(), trial.name())?;
    warm_memory(WARM_BYTES);
    let stage = Stage { plan, dir: dir.path(), cancel };
    let figures = match trial {
        Trial::Updates => updates::run(&stage),
        Trial::Hot => hot::run(&stage),
        Trial::Build => build::run(&stage),
        Trial::Queue => queue::run(&stage),
        Trial::Tables => tables::run(&stage),
        Trial::Large => large::run(&stage),
        Trial::Recover => recover::recover(&stage),
        Trial::Check => recover::check(&stage),
        Trial::Deletes => keyed::deletes(&stage),
        Trial::Adds => keyed::adds(&stage),
        Trial::Cold => cold::run(&stage),
        Trial::All => all::run(&stage),
        Trial::Blind => blind::run(&stage),
        Trial::Changed => changed::run(&stage),
        Trial::Space => space::run(&stage),
        Trial::Readers => readers::run(&stage),
        Trial::Groups => groups::run(&stage),
        Trial::Entries => entries::run(&stage),
        Trial::Predicted => ledger::predicted(&stage),
        Trial::Accounts => ledger::accounts(&stage),
        trial => over_the_wire(&stage, trial),
    }?;
    Ok(TrialReport { environment: Environment::of(dir.path(), &plan.commit), figures })
}

#[cfg(feature = "wire")]
fn over_the_wire(stage: &Stage<'_>, trial: Trial) -> Result<Vec<Figure>> {
    match trial {
        Trial::Copy => wire::copy(stage),
        Trial::Sums => wire::sums(stage),
        Trial::Sysbench => wire::sysbench(stage),
        Trial::Pgbench => wire::pgbench(stage),
        Trial::Point => wire::point(stage),
        Trial::Start => wire::open(stage),
        Trial::Statements => wire::statements(stage),
        Trial::Replaced => wire::replaced(stage),
        Trial::Documents => wire::documents(stage),
        Trial::Shards => wire::shards(stage),
        Trial::Temporary => wire::temporary(stage),
        Trial::Counted => ledger::counted(stage),
        _ => wire::inserts(stage),
    }
}

#[cfg(not(feature = "wire"))]
fn over_the_wire(_: &Stage<'_>, trial: Trial) -> Result<Vec<Figure>> {
    let text = format!("trial {} needs a server: onlap-lab bench", trial.name());
    Err(Error::new(ErrorKind::Unsupported, text))
}

/// Fewer rows make no trial meaningful.
const ROWS_MIN: u64 = 10_000;
const WARM_BYTES: u64 = 3 << 30;
/// Rows of a commit of a load.
const COMMIT_ROWS: usize = 100;
/// Memory where everything is to be cached, and where it is not.
const ROOMY_MEMORY: u64 = 4 << 30;
const MEMORY: u64 = 256 << 20;
/// The least memory with which either engine works as it does with more.
const SCARCE_MEMORY_MIN: u64 = 32 << 20;

/// Where a trial runs.
struct Stage<'a> {
    plan: &'a TrialPlan,
    dir: &'a Path,
    cancel: &'a AtomicBool,
}

impl Stage<'_> {
    fn check(&self) -> Result<()> {
        match self.cancel.load(Ordering::Relaxed) {
            true => Err(Error::new(ErrorKind::Cancelled, "the bench was interrupted")),
            false => Ok(()),
        }
    }

    /// Memory of which data is a multiple, whatever the number of rows: 256 MiB for the 20 million that
    /// figures are defined on.
    fn scarce_memory(&self) -> u64 {
        (MEMORY * self.plan.rows / 20_000_000).clamp(SCARCE_MEMORY_MIN, MEMORY)
    }

    fn open(&self, name: &str, memory: u64) -> Result<Database> {
        let options = Options::default().memory_limit(memory).sync(SyncMode::Os);
        Database::open(self.dir.join(name), options)
    }

    /// Inserts rows of the insert benchmark, so many per commit; rows per second.
    fn load(
        &self,
        rows: u64,
        commit_rows: usize,
        f: &mut dyn FnMut(Batch) -> Result<()>,
    ) -> Result<f64> {
        let mut generator = Workload::Ibench.generator(1, 0);
        let began = Instant::now();
        let mut left = rows;
        while left > 0 {
            self.check()?;
            let n = left.min(commit_rows as u64);
            f(generator.batch(n as usize, 1_700_000_000_000_000))?;
            left -= n;
        }
        Ok(rows as f64 / began.elapsed().as_secs_f64())
    }
}

/// The table of the insert benchmark, with its first `indexes` secondary indexes.
fn purchases(db: &Database, indexes: usize) -> Result<Table> {
    drivers::create_onlap_table(db, Workload::Ibench.shape(), indexes)
}

fn figure(work: &str, value: f64, bounds: (f64, f64), better: Better, unit: &str) -> Figure {
    Figure {
        work: work.to_owned(),
        value: Some(value).filter(|v| v.is_finite()),
        floor: bounds.0,
        target: bounds.1,
        better,
        unit: unit.to_owned(),
        note: String::new(),
    }
}

impl Figure {
    fn noting(mut self, note: impl Into<String>) -> Figure {
        self.note = note.into();
        self
    }
}
