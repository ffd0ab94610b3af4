//! What does each step do, and what is it charged with?

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use onlap_base::{Error, ErrorKind, Result};

use super::load::{self, Load};
use super::progress::Progress;
use super::steps::{InsertRate, Step};
use super::{Api, Plan, queries};
use crate::drivers;
use crate::engine::{Engine, EngineOptions, Written};
use crate::generate::{Workload, cost_ns_per_row};
use crate::measure::device::{DeviceIo, write_back};
use crate::measure::process::{Resident, Usage, disk_bytes, reset_peak, warm_memory};
use crate::measure::rates::Recorder;
use crate::report::{RunReport, StepReport};

/// Seconds of a query step where `--seconds` is not given.
pub(super) const QUERY_SECONDS: f64 = 10.0;

/// Share of the insert target below which a query step is void.
const TARGET_SHARE: f64 = 0.95;

/// Rows of a commit for which the generator's cost is measured where the steps differ.
const GENERATOR_COMMIT_ROWS: usize = 100;

/// An engine and what was done with it so far.
pub(super) struct Session<'a> {
    pub plan: &'a Plan,
    pub dir: &'a Path,
    pub cancel: &'a AtomicBool,
    pub progress: Progress,
    /// `None` only while it is opened again.
    engine: Option<Box<dyn Engine>>,
    /// Rows in the table, and secondary indexes.
    pub rows: u64,
    pub indexes: usize,
    /// Sum of a column of all committed rows, and what updates added to it.
    pub inserted: AtomicI64,
    pub updates: u64,
    /// Counters when the last load began, and its rows.
    last_load: Option<(Counted, u64)>,
    generator_us: f64,
}

/// Counters that a step is charged with.
#[derive(Clone)]
pub(super) struct Counted {
    /// Of the engine, wherever it runs.
    pub usage: Usage,
    /// Of this process, where the engine is another one.
    client: Option<Usage>,
    written: Written,
    device: Option<DeviceIo>,
}

/// Loads of so many rows begin with memory that the machine has at hand: several times what an engine
/// uses with its files in the page cache, since the kernel hands out other pages than the last ones.
const WARM_FROM_ROWS: u64 = 1_000_000;
const WARM_BYTES: u64 = 3 << 30;

/// Runs the steps of a plan in a directory and checks at the end that every row is there.
pub(super) fn run_steps(
    plan: &Plan,
    dir: &Path,
    cancel: &AtomicBool,
    progress: Progress,
    report: &mut RunReport,
) -> Result<()> {
    let commit_rows = plan.commit_rows.unwrap_or(GENERATOR_COMMIT_ROWS);
    let generator_ns = cost_ns_per_row(plan.workload, commit_rows, plan.api == Api::Row);
    if plan.rows >= WARM_FROM_ROWS {
        warm_memory(WARM_BYTES);
    }
    let engine = drivers::open(&plan.engine, &engine_options(plan, dir))?;
    let deferred = plan.steps.iter().any(|s| matches!(s, Step::LoadKeyOnly | Step::CreateIndexes));
    let indexes = if deferred { 0 } else { plan.secondary };
    report.config = engine.config();
    engine.create_table(plan.workload.shape(), indexes)?;
    let mut session = Session {
        plan,
        dir,
        cancel,
        progress,
        engine: Some(engine),
        rows: 0,
        indexes,
        last_load: None,
        generator_us: generator_ns / 1e3,
        inserted: AtomicI64::new(0),
        updates: 0,
    };
    let outcome = session.all_steps(report);
    if outcome.is_err() {
        report.log_tail = session.engine.as_ref().map_or_else(String::new, |e| e.log_tail());
    }
    outcome
}

/// How a plan opens its engine.
pub(super) fn engine_options(plan: &Plan, dir: &Path) -> EngineOptions {
    EngineOptions {
        dir: dir.to_owned(),
        memory: plan.memory,
        sync: plan.sync,
        group: plan.around.group.clone(),
        url: plan.around.url.clone(),
        clients: plan.clients,
    }
}

impl Session<'_> {
    /// Takes all steps, then compares what is there with what was committed.
    fn all_steps(&mut self, report: &mut RunReport) -> Result<()> {
        for step in &self.plan.steps {
            report.steps.push(self.step(*step)?);
        }
        let (rows, sum) = (self.engine().count()?, self.sum()?);
        self.engine.take().expect("no step is running").close()?;
        if rows != self.rows {
            let text = format!("{} rows were committed, {rows} are there", self.rows);
            return Err(Error::new(ErrorKind::Corruption, text));
        }
        let expected = self.inserted.load(Ordering::Relaxed) + self.updates as i64;
        if sum.is_some_and(|sum| sum != expected) {
            let name = self.plan.workload.shape().columns[self.plan.workload.scan_column()].0;
            let text = format!("the sum of {name} is to be {expected}, not {sum:?}");
            return Err(Error::new(ErrorKind::Corruption, text));
        }
        report.answers = [("rows".to_owned(), rows as i64)].into();
        // How many updates there was time for differs between engines.
        let inserted = sum.map(|sum| sum - self.updates as i64);
        report.answers.extend(inserted.map(|sum| ("sum".to_owned(), sum)));
        Ok(())
    }

    /// Sum of a column, where the engine tells and the generator knows: row by row it does not.
    fn sum(&self) -> Result<Option<i64>> {
        match self.plan.api {
            Api::Batch => self.engine().sum(self.plan.workload.scan_column()),
            Api::Row => Ok(None),
        }
    }

    fn step(&mut self, step: Step) -> Result<StepReport> {
        reset_peak();
        match step {
            Step::LoadKeyOnly | Step::Load | Step::LoadSmall => self.load(step),
            Step::CreateIndexes => self.create_indexes(step),
            Step::Settle => self.settle(step),
            Step::Query(rate, _) => self.query(step, rate),
            Step::Count(_) => self.count(step),
            Step::Update(_) => self.update(step),
            Step::Get => self.get(step),
            Step::GetCold => self.get_cold(step),
            Step::ScanOne | Step::ScanAll => self.scan_cached(step),
            Step::ScanCold => self.scan_cold(step),
            Step::Recover => self.recover(step),
            Step::Fdatasync => self.fdatasync(step),
        }
    }

    /// The engine.
    pub fn engine(&self) -> &dyn Engine {
        &**self.engine.as_ref().expect("it is gone only inside reopen")
    }

    /// Closes the engine and opens it again, so that its caches are empty.
    pub fn reopen(&mut self) -> Result<()> {
        self.engine.take().expect("it is gone only inside reopen").close()?;
        let engine = drivers::open(&self.plan.engine, &engine_options(self.plan, self.dir))?;
        engine.use_table(self.plan.workload.shape(), self.indexes)?;
        self.engine = Some(engine);
        // The engine's own counters begin anew.
        self.last_load = None;
        Ok(())
    }

    /// All counters now.
    pub fn counted(&self) -> Result<Counted> {
        let written = self.engine().written()?;
        let device = || DeviceIo::of(self.dir);
        let device = self.plan.around.device_stats.then(device).flatten();
        let own = Usage::now();
        let server = drivers::is_server(&self.plan.engine);
        let usage = match self.engine().usage() {
            Some(usage) => usage,
            // Nothing is known of a server that somebody else runs.
            None if server => Usage::default(),
            None => own,
        };
        Ok(Counted { usage, client: server.then_some(own), written, device })
    }

    /// The load that a step does.
    pub fn load_of<'b>(&'b self, step: Step, name: &'b str) -> Load<'b> {
        Load {
            engine: self.engine(),
            workload: self.plan.workload,
            seed: self.rows,
            rows: if step == Step::LoadSmall {
                self.plan.rows.div_ceil(10)
            } else {
                self.plan.rows
            },
            commit_rows: self.plan.commit_rows.unwrap_or(step.commit_rows()),
            clients: self.plan.clients,
            limit: self.plan.seconds.map(Duration::from_secs_f64),
            api: self.plan.api,
            step: name,
            sum_column: self.plan.workload.scan_column(),
            sum: &self.inserted,
        }
    }

    fn load(&mut self, step: Step) -> Result<StepReport> {
        let before = self.counted()?;
        let name = step.name();
        let commits = load::run(&self.load_of(step, &name), self.cancel, self.progress)?;
        self.engine().flush()?;
        self.rows += commits.rows();
        let mut report = self.charge(step, &before, commits.rows())?;
        add_commits(&mut report, &commits);
        self.last_load = Some((before, commits.rows()));
        Ok(report)
    }

    fn create_indexes(&mut self, step: Step) -> Result<StepReport> {
        let before = self.counted()?;
        let start = Instant::now();
        let indexes = &self.plan.workload.shape().indexes[self.indexes..self.plan.secondary];
        for (at, index) in indexes.iter().enumerate() {
            self.say_part(step, at, indexes.len(), start);
            self.engine().create_index(index)?;
        }
        self.indexes = self.plan.secondary;
        let seconds = start.elapsed().as_secs_f64();
        let report = self.charge(step, &before, self.rows)?;
        Ok(StepReport { seconds, ips: Some(self.rows as f64 / seconds), ..report })
    }

    fn settle(&mut self, step: Step) -> Result<StepReport> {
        let start = Instant::now();
        self.engine().settle()?;
        if self.plan.around.device_stats {
            write_back(self.dir)?;
        }
        let seconds = start.elapsed().as_secs_f64();
        let (before, rows) = match &self.last_load {
            Some(load) => load.clone(),
            None => (self.counted()?, 0),
        };
        let report = self.charge(step, &before, rows)?;
        // Asked for last: to count pages is work, too.
        Ok(StepReport { seconds, size_bytes: self.engine().sizes()?, ..report })
    }

    fn query(&mut self, step: Step, rate: InsertRate) -> Result<StepReport> {
        if self.plan.workload != Workload::Ibench || self.indexes == 0 {
            let text = format!("step {} needs ibench and secondary indexes", step.name());
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        let before = self.counted()?;
        let name = step.name();
        let duration = Duration::from_secs_f64(self.plan.seconds.unwrap_or(QUERY_SECONDS));
        let load = self.load_of(step, &name);
        let (cancel, progress) = (self.cancel, self.progress);
        let outcome = queries::run(&load, rate, duration, self.indexes, cancel, progress)?;
        let inserts = outcome.inserts.as_ref().map_or(0, Recorder::rows);
        self.rows += inserts;
        let now = self.counted()?;
        let mut report = self.charge(step, &before, inserts)?;
        if let Some(inserts) = &outcome.inserts {
            add_commits(&mut report, inserts);
        }
        add_queries(&mut report, &outcome.queries, &now, &before);
        let inserted_per_second = inserts as f64 / duration.as_secs_f64();
        report.seconds = duration.as_secs_f64();
        report.ips = Some(inserted_per_second);
        // Nearly all of it is the queries'.
        report.client_cpu_us_per_insert = None;
        if let InsertRate::PerSecond(rate) = rate {
            let target = (rate * self.plan.clients as u64) as f64;
            report.target_ips = Some(target);
            report.void = Some(inserted_per_second < target * TARGET_SHARE);
        }
        Ok(report)
    }

    /// A query is the count through one index; all must find every row.
    fn count(&mut self, step: Step) -> Result<StepReport> {
        let before = self.counted()?;
        let mut client = self.engine().client()?;
        let started = Instant::now();
        let mut queries = Recorder::new(started)?;
        for index in 0..self.indexes {
            self.say_part(step, index, self.indexes, started);
            let began = Instant::now();
            let found = client.count_index(index)?;
            queries.record(began, 1);
            if found != self.rows {
                let name = self.plan.workload.shape().indexes[index].name;
                let text = format!("index {name} has {found} entries of {} rows", self.rows);
                return Err(Error::new(ErrorKind::Corruption, text));
            }
        }
        drop(client);
        let now = self.counted()?;
        let mut report = self.charge(step, &before, 0)?;
        report.seconds = queries.elapsed().as_secs_f64();
        add_queries(&mut report, &queries, &now, &before);
        Ok(report)
    }

    /// Says how far a step of a few long parts is, and what the rest will take by the parts before it.
    fn say_part(&self, step: Step, at: usize, of: usize, began: Instant) {
        if self.progress == Progress::Silent {
            return;
        }
        let seconds = began.elapsed().as_secs_f64();
        let left = match at {
            0 => String::new(),
            done => {
                let left = seconds / done as f64 * (of - done) as f64;
                format!("; about {} left", crate::campaign::duration(left))
            }
        };
        eprintln!("{}: {} of {of}{left}", step.name(), at + 1);
    }

    /// What was used since `before`, divided by `rows`.
    pub fn charge(&self, step: Step, before: &Counted, rows: u64) -> Result<StepReport> {
        let now = self.counted()?;
        let usage = now.usage.since(&before.usage);
        let resident = self.engine().resident().unwrap_or_else(Resident::now);
        let disk = disk_bytes(self.dir);
        let per_row = |n: u64| (rows > 0).then(|| n as f64 / rows as f64);
        let total = match (now.written.total, before.written.total) {
            (Some(now), Some(before)) => now - before,
            _ => usage.written_to_calls,
        };
        let indexes = now.written.indexes.iter().filter_map(|(name, bytes)| {
            let before = before.written.indexes.get(name).copied().unwrap_or(0);
            Some((name.clone(), per_row(bytes - before)?))
        });
        let client = now.client.zip(before.client).map(|(now, then)| now.since(&then));
        let device = now.device.zip(before.device).map(|(now, then)| now.since(&then));
        let log = now.written.log.map(|n| n - before.written.log.unwrap_or(0));
        let segments = now.written.rows.map(|n| n - before.written.rows.unwrap_or(0));
        Ok(StepReport {
            step: step.name(),
            rows,
            cpu_us_per_insert: per_row(usage.cpu_us),
            generator_us_per_insert: (rows > 0 && step != Step::CreateIndexes)
                .then_some(self.generator_us),
            written_bytes_per_insert: per_row(total),
            wal_bytes_per_insert: log.and_then(per_row),
            segment_bytes_per_insert: segments.and_then(per_row),
            index_bytes_per_insert: indexes.collect(),
            kernel_written_bytes_per_insert: per_row(usage.written_to_calls),
            device_written_bytes_per_insert: per_row(usage.written_to_device),
            disk_bytes_per_row: (self.rows > 0).then(|| disk.data as f64 / self.rows as f64),
            log_disk_bytes: Some(disk.log),
            merge_debt_bytes: Some(self.engine().merge_debt_bytes()?),
            rss_bytes: Some(resident.now),
            stolen_cpu_ms: Some(usage.stolen_ms),
            memory_bytes: self.engine().memory_parts(),
            peak_rss_bytes: Some(resident.peak),
            context_switches_per_insert: per_row(usage.context_switches),
            // Settling, this process only waits and asks.
            client_cpu_us_per_insert: client
                .filter(|_| step != Step::Settle)
                .and_then(|c| per_row(c.cpu_us)),
            cpu_us: Some(usage.cpu_us),
            context_switches: Some(usage.context_switches),
            device,
            disk_bytes: Some(disk.log + disk.data),
            disk_bytes_by_kind: disk.kinds,
            ..StepReport::default()
        })
    }
}

fn add_commits(report: &mut StepReport, commits: &Recorder) {
    let (p1, p50) = (commits.interval_rate(1.0), commits.interval_rate(50.0));
    report.seconds = commits.elapsed().as_secs_f64();
    report.ips = Some(commits.rate());
    report.interval_ips = commits.interval_rates().collect();
    report.interval_max_us = commits.interval_longest_us().to_vec();
    report.second_p50 = commits.second_rate(50.0);
    report.second_p99 = commits.second_rate(99.0);
    report.second_p1_over_p50 = commits
        .second_rate(1.0)
        .zip(commits.second_rate(50.0))
        .filter(|(_, p50)| *p50 > 0.0)
        .map(|(p1, p50)| p1 / p50);
    report.trend_p1_over_p50 = commits.steadiness();
    report.stall_seconds = Some(commits.longest_stall());
    report.p50_ips = p50;
    report.p1_ips = p1;
    report.p1_over_p50 = p1.zip(p50).filter(|(_, p50)| *p50 > 0.0).map(|(p1, p50)| p1 / p50);
    report.last_tenth_over_first = commits.last_tenth_over_first();
    report.commits = Some(commits.operations());
    report.p50_commit_us = Some(commits.latency_us(50.0));
    report.p99_commit_us = Some(commits.latency_us(99.0));
    report.max_commit_ms = Some(commits.longest_ms());
}

/// Adds what queries took; `before` is when they began.
pub(super) fn add_queries(
    report: &mut StepReport,
    queries: &Recorder,
    now: &Counted,
    before: &Counted,
) {
    let usage = now.usage.since(&before.usage);
    let per_query = |n: u64| n as f64 / queries.operations().max(1) as f64;
    report.queries = Some(queries.operations());
    report.interval_qps = queries.interval_rates().collect();
    if report.interval_max_us.is_empty() {
        report.interval_max_us = queries.interval_longest_us().to_vec();
    }
    report.seconds = queries.elapsed().as_secs_f64();
    report.qps = Some(queries.rate());
    report.cpu_us_per_query = Some(per_query(usage.cpu_us));
    report.p50_query_us = Some(queries.latency_us(50.0));
    report.p99_query_us = Some(queries.latency_us(99.0));
    report.max_query_ms = Some(queries.longest_ms());
    report.read_bytes_per_query = Some(per_query(usage.read_from_device));
    report.read_calls_per_query = Some(per_query(usage.read_calls));
}
