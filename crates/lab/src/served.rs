//! What do clients of a server do that is more than rows of one table?
//!
//! Workloads in SQL: [`linkbench`], [`sysbench`], [`tsbs`]. Each has named steps; a step is a number of
//! client threads with a session each ([`clients`]), or a few statements. The same text runs on every
//! server of a protocol; what differs between the two protocols is in one place per workload.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use onlap_base::{Error, ErrorKind, Result};

use crate::drivers;
use crate::engine::{EngineOptions, SyncMode, Written};
use crate::measure::device::{DeviceIo, write_back};
use crate::measure::environment::Environment;
use crate::measure::process::{Resident, Usage, disk_bytes};
use crate::names;
use crate::report::{Latency, RunReport, Settings, StepReport};
use crate::wire::{Dialect, Kind, Server, Session};
use crate::workload::{CLIENTS_MAX, Progress, RunDir, Surroundings};

mod clients;
mod linkbench;
mod sysbench;
#[cfg(test)]
mod tests;
mod tsbs;

use clients::Tally;

/// Which workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// A social graph: nodes, links, counts.
    Linkbench,
    /// sysbench's tables.
    Sysbench,
    /// Time series of hosts.
    Tsbs,
}

impl Served {
    /// The workload of this name.
    pub fn named(name: &str) -> Option<Served> {
        match name {
            "linkbench" => Some(Served::Linkbench),
            "sysbench" => Some(Served::Sysbench),
            "tsbs" => Some(Served::Tsbs),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Served::Linkbench => "linkbench",
            Served::Sysbench => "sysbench",
            Served::Tsbs => "tsbs",
        }
    }

    /// Its steps, in the order in which they run where none are named.
    pub fn steps(self) -> &'static [&'static str] {
        match self {
            Served::Linkbench => &linkbench::STEPS,
            Served::Sysbench => &sysbench::STEPS,
            Served::Tsbs => &tsbs::STEPS,
        }
    }

    /// Steps that only run where they are named.
    fn further_steps(self) -> &'static [&'static str] {
        match self {
            Served::Linkbench => &linkbench::JDBC,
            Served::Sysbench | Served::Tsbs => &[],
        }
    }
}

/// One run of one engine.
#[derive(Clone, Debug)]
pub struct ServedPlan {
    /// Which workload.
    pub workload: Served,
    /// Name of the engine, a server.
    pub engine: String,
    /// Rows in all; ids of linkbench.
    pub rows: u64,
    /// Client threads.
    pub clients: usize,
    /// Duration of timed steps.
    pub seconds: f64,
    /// What to do, in order.
    pub steps: Vec<String>,
    /// Rows of a commit of a load.
    pub commit_rows: usize,
    /// The engine's memory budget in bytes.
    pub memory: u64,
    /// When a commit is acknowledged.
    pub sync: SyncMode,
    /// Where the engine's directory is made.
    pub dir: Option<PathBuf>,
    /// Commit the binary was built from.
    pub commit: String,
    /// What was put around the engine.
    pub around: Surroundings,
}

impl ServedPlan {
    /// Refuses what makes no sense, before any file is made.
    pub fn check(&self) -> Result<()> {
        let bad = |text: String| Err(Error::new(ErrorKind::InvalidInput, text));
        let name = self.workload.name();
        names::choose("engine", &self.engine, &drivers::ENGINES)?;
        if !drivers::takes_sql(&self.engine) {
            let hint = "of Onlap it is onlap-wire";
            return bad(format!("{name} is SQL: engine {} has none; {hint}", self.engine));
        }
        if self.rows < ROWS_MIN || self.clients == 0 || self.clients > CLIENTS_MAX {
            return bad(format!("{name} needs {ROWS_MIN} rows and 1 to {CLIENTS_MAX} clients"));
        }
        if self.seconds <= 0.0 || !self.seconds.is_finite() || self.commit_rows == 0 {
            return bad("--seconds and --commit-rows must be above zero".into());
        }
        let known = [self.workload.steps(), self.workload.further_steps()].concat();
        for step in &self.steps {
            names::choose("step", step, &known)?;
        }
        Ok(())
    }
}

/// Fewer make no step meaningful.
const ROWS_MIN: u64 = 1000;

/// Runs all steps of a plan. `cancel` ends it early with [`ErrorKind::Cancelled`].
pub fn run(plan: &ServedPlan, cancel: &AtomicBool, progress: Progress) -> Result<RunReport> {
    plan.check()?;
    drivers::check(&plan.engine)?;
    let dir = RunDir::create(plan.dir.as_deref(), &plan.engine)?;
    let options = EngineOptions {
        dir: dir.path().to_owned(),
        memory: plan.memory,
        sync: plan.sync,
        group: plan.around.group.clone(),
        url: plan.around.url.clone(),
        clients: plan.clients,
    };
    let server = drivers::start_server(&plan.engine, &options)?;
    let mut report = RunReport {
        environment: Environment::of(dir.path(), &plan.commit),
        workload: plan.workload.name().to_owned(),
        engine: plan.engine.clone(),
        settings: Settings {
            rows: plan.rows,
            commit_rows: Some(plan.commit_rows),
            clients: plan.clients,
            seconds: Some(plan.seconds),
            memory_bytes: plan.memory,
            sync: plan.sync.to_string(),
            io_limit: plan.around.io_limit.clone(),
            cgroup_memory: plan.around.cgroup_memory,
            ..Settings::default()
        },
        config: server.config().to_vec(),
        ..RunReport::default()
    };
    let made = Mutex::default();
    let stage = Stage { plan, dir: dir.path(), server, made, cancel, progress };
    let done = match plan.workload {
        Served::Linkbench => linkbench::run(&stage, &mut report),
        Served::Sysbench => sysbench::run(&stage, &mut report),
        Served::Tsbs => tsbs::run(&stage, &mut report),
    };
    if done.is_err() {
        report.log_tail = stage.log_tail();
    }
    let cleaned = stage.clean();
    match done.and(cleaned).and_then(|()| stage.server.stop()) {
        Ok(()) => Ok(report),
        Err(e) => report.failed(e),
    }
}

/// A server and what is done with it.
struct Stage<'a> {
    plan: &'a ServedPlan,
    dir: &'a Path,
    server: Server,
    /// Tables that were created.
    made: Mutex<Vec<String>>,
    cancel: &'a AtomicBool,
    progress: Progress,
}

/// Counters that a step is charged with.
struct Counted {
    server: Option<Usage>,
    own: Usage,
    device: Option<DeviceIo>,
    written: Written,
}

impl Stage<'_> {
    fn check(&self) -> Result<()> {
        match self.cancel.load(Ordering::Relaxed) {
            true => Err(Error::new(ErrorKind::Cancelled, "the bench was interrupted")),
            false => Ok(()),
        }
    }

    fn dialect(&self) -> Dialect {
        self.server.dialect()
    }

    fn kind(&self) -> Kind {
        self.server.kind()
    }

    /// Whether the engine works in this process.
    fn embedded(&self) -> bool {
        !drivers::is_server(&self.plan.engine)
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        self.server.session()
    }

    fn log_tail(&self) -> String {
        self.server.log_tail()
    }

    /// Runs statements, one after the other.
    fn run(&self, statements: &[String]) -> Result<()> {
        let mut session = self.session()?;
        for sql in statements {
            session.run(sql)?;
            let made = sql.strip_prefix("CREATE TABLE ").and_then(|rest| rest.split(' ').next());
            self.made.lock().expect("no holder panics").extend(made.map(str::to_owned));
        }
        Ok(())
    }

    /// Leaves somebody else's server as it was.
    fn clean(&self) -> Result<()> {
        let made = std::mem::take(&mut *self.made.lock().expect("no holder panics"));
        if made.is_empty() || !self.server.is_others() {
            return Ok(());
        }
        let mut session = self.session()?;
        made.iter().try_for_each(|table| session.run(&format!("DROP TABLE {table}")))
    }

    fn counted(&self) -> Result<Counted> {
        let device = || DeviceIo::of(self.dir);
        Ok(Counted {
            server: self.server.usage().or_else(|| self.embedded().then(Usage::now)),
            own: Usage::now(),
            device: self.plan.around.device_stats.then(device).flatten(),
            written: drivers::written_by(&self.server)?,
        })
    }

    /// Runs a step and charges it with what was used meanwhile.
    fn measure(&self, step: &str, work: impl FnOnce() -> Result<Tally>) -> Result<StepReport> {
        self.check()?;
        if self.progress == Progress::Shown {
            eprintln!("{}: {step}", self.plan.engine);
        }
        let before = self.counted()?;
        let tally = work()?;
        self.check()?;
        let now = self.counted()?;
        let mut report = self.charge(&before, &now, tally.rows);
        report.step = step.to_owned();
        tally.report(&mut report);
        Ok(report)
    }

    fn charge(&self, before: &Counted, now: &Counted, rows: u64) -> StepReport {
        let usage = now.server.zip(before.server).map(|(now, then)| now.since(&then));
        let client = now.own.since(&before.own);
        let per_row = |n: u64| (rows > 0).then(|| n as f64 / rows as f64);
        let disk = disk_bytes(self.dir);
        let total = now.written.total.zip(before.written.total).map(|(now, then)| now - then);
        let own = self.embedded().then(Resident::now);
        let resident = self.server.resident().or(own);
        let split =
            |n: Option<u64>, then: Option<u64>| per_row(n?.saturating_sub(then.unwrap_or(0)));
        let indexes = now.written.indexes.iter().filter_map(|(name, bytes)| {
            let before = before.written.indexes.get(name).copied().unwrap_or(0);
            Some((name.clone(), per_row(bytes.saturating_sub(before))?))
        });
        StepReport {
            rows,
            cpu_us: usage.map(|u| u.cpu_us),
            context_switches: usage.map(|u| u.context_switches),
            cpu_us_per_insert: usage.and_then(|u| per_row(u.cpu_us)),
            client_cpu_us_per_insert: per_row(client.cpu_us).filter(|_| !self.embedded()),
            written_bytes_per_insert: total.and_then(per_row),
            wal_bytes_per_insert: split(now.written.log, before.written.log),
            segment_bytes_per_insert: split(now.written.rows, before.written.rows),
            index_bytes_per_insert: indexes.collect(),
            device: now.device.zip(before.device).map(|(now, then)| now.since(&then)),
            disk_bytes: Some(disk.log + disk.data),
            disk_bytes_by_kind: disk.kinds,
            rss_bytes: resident.map(|r| r.now),
            stolen_cpu_ms: Some(client.stolen_ms),
            ..StepReport::default()
        }
    }

    /// Waits for the background work of these tables.
    fn settle(&self, tables: &[&str]) -> Result<StepReport> {
        let report = self.measure("settle", || {
            let mut tally = Tally::new()?;
            let began = std::time::Instant::now();
            drivers::settle_server(&self.server, tables)?;
            if self.plan.around.device_stats {
                write_back(self.dir)?;
            }
            tally.seconds = Some(began.elapsed().as_secs_f64());
            Ok(tally)
        })?;
        Ok(StepReport { size_bytes: drivers::sizes_of(&self.server, tables)?, ..report })
    }
}

/// How long the operations of a record took.
fn latency(record: &crate::measure::rates::Recorder) -> Latency {
    Latency {
        count: record.operations(),
        p50_us: record.latency_us(50.0),
        p95_us: record.latency_us(95.0),
        p99_us: record.latency_us(99.0),
        max_us: record.longest_ms() * 1e3,
    }
}
