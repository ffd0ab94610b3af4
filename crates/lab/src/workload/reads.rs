//! How fast are reads, cached and cold, and updates by key, and how long does recovery take, next to
//! what the device can do in the same run?

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use onlap_base::rng::Rng;
use onlap_base::{Error, ErrorKind, Result};

use super::load;
use super::session::{Session, add_queries, engine_options};
use super::steps::Step;
use crate::drivers;
use crate::generate::Workload;
use crate::measure::device::{SyncCall, sequential_read_rate, sync_latency};
use crate::measure::rates::Recorder;
use crate::report::{StepReport, median};

/// Seconds of cached reads that are measured, and of those before that warm the cache.
const GET_SECONDS: f64 = 3.0;
const WARM_SECONDS: f64 = 1.0;

/// Seconds of updates.
const UPDATE_SECONDS: f64 = 10.0;

/// Cold reads: few compared with the blocks of a table of millions of rows, so that hardly any meets a
/// block that an earlier one fetched.
const COLD_GETS: usize = 300;

/// Reads over the whole table that come before the cold ones.
const OPENING_GETS: u64 = 64;

/// Scans of which the median counts, after one that warms the cache.
const SCANS: usize = 3;

/// Seconds for which the device's synced writes are measured at most.
const SYNC_SECONDS: f64 = 2.0;

/// Rows that recovery finds in the log at most: they stay below the default cap of the log.
const RECOVERY_ROWS_MAX: u64 = 2_000_000;

impl Session<'_> {
    /// Reads random rows by key, one client.
    pub fn get(&mut self, step: Step) -> Result<StepReport> {
        let seconds = self.plan.seconds.unwrap_or(GET_SECONDS);
        let mut rng = Rng::new(self.rows);
        let warm = Duration::from_secs_f64(WARM_SECONDS.min(seconds));
        self.get_some(&mut rng, warm, usize::MAX)?;
        let before = self.counted()?;
        let gets = self.get_some(&mut rng, Duration::from_secs_f64(seconds), usize::MAX)?;
        let now = self.counted()?;
        let mut report = self.charge(step, &before, 0)?;
        add_queries(&mut report, &gets, &now, &before);
        Ok(report)
    }

    /// Opens the database again and reads a few random rows by key.
    pub fn get_cold(&mut self, step: Step) -> Result<StepReport> {
        self.reopen()?;
        let mut rng = Rng::new(!self.rows);
        // What opening puts off (fences, filters, the footers of files) belongs to opening.
        let mut client = self.engine().client()?;
        for place in 0..OPENING_GETS {
            let key = self.plan.workload.key(self.rows / OPENING_GETS * place);
            let found = client.get(key)?;
            self.expect_found(key, found)?;
        }
        drop(client);
        let before = self.counted()?;
        let gets = self.get_some(&mut rng, Duration::MAX, COLD_GETS)?;
        let now = self.counted()?;
        let mut report = self.charge(step, &before, 0)?;
        add_queries(&mut report, &gets, &now, &before);
        Ok(report)
    }

    fn get_some(&self, rng: &mut Rng, duration: Duration, most: usize) -> Result<Recorder> {
        let mut client = self.engine().client()?;
        let start = Instant::now();
        let mut gets = Recorder::new(start)?;
        let mut n = 0;
        while n < most && start.elapsed() < duration && !self.cancel.load(Relaxed) {
            let key = self.plan.workload.key(rng.below(self.rows.max(1)));
            let began = Instant::now();
            let found = client.get(key)?;
            gets.record(began, 1);
            n += 1;
            self.expect_found(key, found)?;
        }
        Ok(gets)
    }

    /// Updates random rows by key, one client, one commit each.
    pub fn update(&mut self, step: Step) -> Result<StepReport> {
        let workload = self.plan.workload;
        if workload == Workload::Ibench && self.indexes > 0 {
            let text = format!("step {}: every integer column of ibench is indexed", step.name());
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        let column = workload.scan_column();
        let duration = Duration::from_secs_f64(self.plan.seconds.unwrap_or(UPDATE_SECONDS));
        let mut rng = Rng::new(self.rows);
        let before = self.counted()?;
        let mut client = self.engine().client()?;
        let start = Instant::now();
        let mut updates = Recorder::new(start)?;
        while start.elapsed() < duration && !self.cancel.load(Relaxed) {
            let key = workload.key(rng.below(self.rows.max(1)));
            let began = Instant::now();
            let found = client.increment(key, column)?;
            updates.record(began, 1);
            self.expect_found(key, found)?;
        }
        drop(client);
        self.updates += updates.operations();
        let now = self.counted()?;
        let mut report = self.charge(step, &before, 0)?;
        add_queries(&mut report, &updates, &now, &before);
        Ok(report)
    }

    /// With one client every key up to the number of rows was given.
    fn expect_found(&self, key: i64, found: bool) -> Result<()> {
        if found || self.plan.clients > 1 {
            return Ok(());
        }
        let text = format!("the row with key {key} is missing");
        Err(Error::new(ErrorKind::Corruption, text))
    }

    /// Scans the table several times.
    pub fn scan_cached(&mut self, step: Step) -> Result<StepReport> {
        let one = [self.plan.workload.scan_column()];
        let all: Vec<usize> = (0..self.plan.workload.shape().columns.len()).collect();
        let columns: &[usize] = if step == Step::ScanOne { &one } else { &all };
        self.scan(columns)?;
        let before = self.counted()?;
        let mut seconds = Vec::new();
        for _ in 0..SCANS {
            seconds.push(self.scan(columns)?.as_secs_f64());
        }
        let mut report = self.charge(step, &before, 0)?;
        report.seconds = median(&mut seconds);
        report.scanned_per_second = Some(self.rows as f64 / report.seconds);
        Ok(report)
    }

    /// Opens the database again and scans the table once, between two readings of the same files
    /// from the device.
    pub fn scan_cold(&mut self, step: Step) -> Result<StepReport> {
        self.reopen()?;
        let columns: Vec<usize> = (0..self.plan.workload.shape().columns.len()).collect();
        let files = data_files(self.dir);
        let device_before = sequential_read_rate(&files, u64::MAX)?;
        let before = self.counted()?;
        let took = self.scan(&columns)?.as_secs_f64();
        let read = self.counted()?.usage.since(&before.usage).read_from_device;
        let mut report = self.charge(step, &before, 0)?;
        let device_after = sequential_read_rate(&files, u64::MAX)?;
        report.seconds = took;
        report.scanned_per_second = Some(self.rows as f64 / took);
        report.read_bytes_per_second = Some(read as f64 / took);
        report.device_read_bytes_per_second = Some(f64::midpoint(device_before, device_after));
        Ok(report)
    }

    fn scan(&self, columns: &[usize]) -> Result<Duration> {
        let start = Instant::now();
        let found = self.engine().client()?.scan(columns)?;
        if found != self.rows {
            let text = format!("a scan found {found} of {} rows", self.rows);
            return Err(Error::new(ErrorKind::Corruption, text));
        }
        Ok(start.elapsed())
    }

    /// Loads without flushing, copies the files next to the open database, opens the copy.
    pub fn recover(&mut self, step: Step) -> Result<StepReport> {
        let before = self.counted()?;
        let name = step.name();
        let mut plan = self.load_of(step, &name);
        plan.rows = plan.rows.min(RECOVERY_ROWS_MAX);
        let rows = load::run(&plan, self.cancel, self.progress)?.rows();
        self.rows += rows;
        let mut copy_name = self.dir.file_name().unwrap_or_default().to_owned();
        copy_name.push("-recover");
        let copy = Copy(self.dir.with_file_name(copy_name));
        copy_files(self.dir, &copy.0)?;
        let start = Instant::now();
        let engine = drivers::open(&self.plan.engine, &engine_options(self.plan, &copy.0))?;
        let took = start.elapsed();
        engine.use_table(self.plan.workload.shape(), self.indexes)?;
        let found = engine.count()?;
        engine.close()?;
        if found != self.rows {
            let text = format!("recovery found {found} of {} rows", self.rows);
            return Err(Error::new(ErrorKind::Corruption, text));
        }
        let mut report = self.charge(step, &before, 0)?;
        report.rows = rows;
        report.seconds = took.as_secs_f64();
        report.recovery_us_per_row = Some(took.as_secs_f64() * 1e6 / rows as f64);
        Ok(report)
    }

    /// Measures the device's synced writes in the data directory's file system.
    pub fn fdatasync(&mut self, step: Step) -> Result<StepReport> {
        let parent = self.dir.parent().unwrap_or(self.dir);
        let seconds = self.plan.seconds.unwrap_or(SYNC_SECONDS).min(SYNC_SECONDS);
        let duration = Duration::from_secs_f64(seconds);
        let writes = sync_latency(parent, SyncCall::Fdatasync, 1, duration, self.cancel)?;
        Ok(StepReport {
            step: step.name(),
            seconds: writes.elapsed().as_secs_f64(),
            device_fdatasync_per_second: Some(writes.rate()),
            ..StepReport::default()
        })
    }
}

/// All files below a directory but logs.
fn data_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(data_files(&path));
        } else if path.extension().is_none_or(|e| e != "log") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// A directory that is removed when dropped, whatever happened to the engine in it.
struct Copy(PathBuf);

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Copies a directory. A file that goes away meanwhile is not part of the state.
pub(crate) fn copy_files(from: &Path, to: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)?.flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_files(&entry.path(), &target)?;
        } else if let Err(e) = fs::copy(entry.path(), target)
            && e.kind() != std::io::ErrorKind::NotFound
        {
            return Err(e.into());
        }
    }
    Ok(())
}
