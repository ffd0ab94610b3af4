//! Which runs does a command make, and what is put around each?
//!
//! Engines alternate within each repetition of each case (I/O limit, rows, clients). Every run gets a fresh
//! directory, where asked for on a throttled volume ([`crate::volume`]) and in a cgroup ([`crate::confine`]),
//! which are taken down after it. What one run did is saved before the next begins, so that an interrupted
//! command leaves a report and can be resumed. How a run is executed is the caller's business.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use onlap_base::limits::MEMORY_LIMIT_MIN;
use onlap_base::{Error, ErrorKind, Result};

use crate::cleaner::Cleaner;
use crate::confine::Limit;
use crate::drivers;
use crate::report::{Comparison, RunReport};
use crate::units;
use crate::volume::{IoLimit, Volume};
use crate::workload::Surroundings;

#[cfg(test)]
mod tests;

/// All runs of a command.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Name of the workload.
    pub workload: String,
    /// Whom.
    pub engines: Vec<String>,
    /// Numbers of rows.
    pub rows: Vec<u64>,
    /// Numbers of clients.
    pub clients: Vec<usize>,
    /// I/O budgets.
    pub io_limits: Vec<Option<IoLimit>>,
    /// A cgroup around each engine.
    pub cgroup_memory: Option<u64>,
    /// The engine's own budget.
    pub memory: u64,
    /// Runs of each engine in each case.
    pub repeat: usize,
    /// Where directories are made.
    pub dir: Option<PathBuf>,
    /// Where the engine `url` listens.
    pub url: Option<String>,
    /// Whether the I/O of an ordinary directory's device is counted; a volume's always is.
    pub device_stats: bool,
    /// The command that repeats it.
    pub command: String,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Job {
    /// Whom.
    pub engine: String,
    /// Rows of a load step.
    pub rows: u64,
    /// Client threads.
    pub clients: usize,
    /// Which I/O budget.
    pub io_limit: Option<IoLimit>,
    /// From 0.
    pub repetition: usize,
    /// Where its directory is made.
    pub dir: Option<PathBuf>,
    /// What is around it.
    pub around: Surroundings,
}

/// What the caller does.
pub trait Runner {
    /// Executes a run; a process of its own starts in the group where one is given.
    fn run(&mut self, job: &Job, group: Option<&Path>) -> Result<RunReport>;
    /// Keeps what was done so far.
    fn save(&mut self, so_far: &Comparison) -> Result<()>;
    /// Tells the user.
    fn say(&mut self, text: &str);
}

/// Bytes that PostgreSQL takes for a row of a workload with its index entries, about.
pub fn row_bytes(workload: &str) -> u64 {
    match workload {
        "six" => 1060,
        "keyed" => 90,
        "linkbench" => 1500,
        "sysbench" => 260,
        "tsbs" => 900,
        _ => 230,
    }
}

/// Numbers of rows of a list such as `1M,3x`; `3x` is data of three times the memory.
pub fn parse_rows(list: &str, workload: &str, memory: u64) -> Result<Vec<u64>> {
    let one = |text: &str| match text.trim().strip_suffix('x') {
        None => units::parse_count(text),
        Some(times) => {
            let times: f64 = times.parse().map_err(|_| {
                let text = format!("'{text}' is not a multiple of memory, such as 3x");
                Error::new(ErrorKind::InvalidInput, text)
            })?;
            Ok((times * memory as f64 / row_bytes(workload) as f64).round() as u64)
        }
    };
    list.split(',').map(one).collect()
}

/// With less around it no server starts.
const CGROUP_MIN: u64 = 64 << 20;

/// Room next to the data: logs, system tables, merges.
const ROOM_BYTES: u64 = 3 << 30;
/// Share of the largest engine's size above PostgreSQL's.
const ROOM_TIMES: u64 = 2;

impl Campaign {
    /// Refuses what cannot be done, before anything is started.
    pub fn check(&self) -> Result<()> {
        let bad = |text: String| Err(Error::new(ErrorKind::InvalidInput, text));
        self.engines.iter().try_for_each(|engine| drivers::check(engine))?;
        for (at, engine) in self.engines.iter().enumerate() {
            if self.engines[..at].contains(engine) {
                return bad(format!("--engine names {engine} twice"));
            }
        }
        if self.engines.is_empty() || self.rows.is_empty() || self.clients.is_empty() {
            return bad("there is nothing to run".into());
        }
        if self.repeat == 0 {
            return bad("--repeat must be above zero".into());
        }
        if self.url.is_some() != self.engines.iter().any(|e| e == "url") {
            return bad("--url and --engine url come together".into());
        }
        if self.io_limits.iter().any(Option::is_some) {
            crate::volume::check()?;
        }
        let (own, cgroup) = (self.memory, self.cgroup_memory.unwrap_or(u64::MAX));
        for (flag, given, least) in
            [("--cgroup-memory", cgroup, CGROUP_MIN), ("--memory", own, MEMORY_LIMIT_MIN)]
        {
            if given < least {
                let (given, least) = (units::size(given), units::size(least));
                return bad(format!(
                    "{flag} of {given} is too little for an engine: {least} at least"
                ));
            }
        }
        let machine = onlap_base::memory::machine_bytes();
        let most = self.cgroup_memory.unwrap_or(0).max(self.memory);
        if most > machine {
            let (most, machine) = (units::size(most), units::size(machine));
            return bad(format!("{most} of memory are asked for, the machine has {machine}"));
        }
        if self.cgroup_memory.is_some_and(|all| self.memory > all) {
            return bad("--memory is above --cgroup-memory".into());
        }
        self.check_space()
    }

    fn needed_bytes(&self) -> u64 {
        let rows = self.rows.iter().max().copied().unwrap_or(0);
        rows.saturating_mul(row_bytes(&self.workload) * ROOM_TIMES).saturating_add(ROOM_BYTES)
    }

    /// Size of a volume, with what the file system takes for itself.
    fn volume_bytes(&self) -> u64 {
        (self.needed_bytes() / 4 * 5).max(4 << 30)
    }

    fn check_space(&self) -> Result<()> {
        let parent = self.parent();
        let local = || self.engines.iter().filter(|e| *e != "url");
        let needed = match local().all(|e| e.starts_with("onlap")) {
            // Packed rows and entries, and what merges have in hand.
            true => self.needed_bytes().saturating_sub(ROOM_BYTES) / ROOM_TIMES / 2,
            false => self.needed_bytes(),
        };
        let free = free_bytes(&parent)?;
        if needed <= free || local().next().is_none() {
            return Ok(());
        }
        let text = format!(
            "{} has {} free, and about {} may be needed; take fewer --rows or another --dir",
            parent.display(),
            units::size(free),
            units::size(needed)
        );
        Err(Error::new(ErrorKind::InvalidInput, text))
    }

    fn parent(&self) -> PathBuf {
        self.dir.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// All runs in order.
    pub fn jobs(&self) -> Vec<Job> {
        let mut jobs = Vec::new();
        for io_limit in &self.io_limits {
            for rows in &self.rows {
                for clients in &self.clients {
                    for repetition in 0..self.repeat {
                        jobs.extend(self.engines.iter().map(|engine| Job {
                            engine: engine.clone(),
                            rows: *rows,
                            clients: *clients,
                            io_limit: *io_limit,
                            repetition,
                            dir: self.dir.clone(),
                            around: self.around(*io_limit),
                        }));
                    }
                }
            }
        }
        jobs
    }

    fn around(&self, io_limit: Option<IoLimit>) -> Surroundings {
        Surroundings {
            io_limit: io_limit.map(|limit| limit.to_string()),
            cgroup_memory: self.cgroup_memory,
            group: None,
            url: self.url.clone(),
            device_stats: self.device_stats || io_limit.is_some(),
        }
    }

    /// Runs all of them but those that `before` has. Ends early, with what there is, when cancelled.
    pub fn run(
        &self,
        before: Option<Comparison>,
        cancel: &AtomicBool,
        runner: &mut dyn Runner,
    ) -> Result<Comparison> {
        let jobs = self.jobs();
        let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut done = Comparison { command: self.command.clone(), began, ..Comparison::default() };
        let earlier = before.map_or_else(Vec::new, |c| c.runs);
        let mut took: Vec<Duration> = Vec::new();
        for (at, job) in jobs.iter().enumerate() {
            if let Some(run) = earlier.iter().find(|run| is_of(run, job)) {
                done.runs.push(run.clone());
                continue;
            }
            if cancel.load(Ordering::Relaxed) {
                break;
            }
            if jobs.len() > 1 {
                runner.say(&progress(at, &jobs, &took));
            }
            let start = Instant::now();
            let report = self.run_one(job, runner);
            took.push(start.elapsed());
            match report {
                Ok(mut report) => {
                    report.repetition = job.repetition;
                    done.runs.push(report);
                }
                Err(e) if e.kind() == ErrorKind::Cancelled => break,
                Err(e) if is_for_all(&e) => return Err(e),
                // The others go on, and the report says what happened to this one.
                Err(e) => done.runs.push(lost(self, job, &e)),
            }
            done.interrupted = done.runs.len() < jobs.len();
            runner.save(&done)?;
        }
        done.interrupted = done.runs.len() < jobs.len() || cancel.load(Ordering::Relaxed);
        runner.save(&done)?;
        Ok(done)
    }

    fn run_one(&self, job: &Job, runner: &mut dyn Runner) -> Result<RunReport> {
        let mut job = job.clone();
        let volume = match job.io_limit {
            None => None,
            Some(limit) => {
                let volume = Volume::create(&self.parent(), limit, self.volume_bytes())?;
                job.dir = Some(volume.path().to_owned());
                Some(volume)
            }
        };
        let device = volume.as_ref().zip(job.io_limit).map(|(v, l)| (v.number(), l.per_second));
        // Where groups limit devices, there is one also without a limit of memory.
        let grouped =
            self.cgroup_memory.is_some() || (device.is_some() && crate::confine::limits_devices());
        let limit = grouped.then(|| Limit::with(self.cgroup_memory, device)).transpose()?;
        let _cleaner =
            limit.as_ref().map(|l| Cleaner::start(CLEAN_GROUP, &[l.path()])).transpose()?;
        let group = limit.as_ref().map(Limit::path);
        match drivers::is_server(&job.engine) {
            true => {
                job.around.group = group.map(Path::to_owned);
                runner.run(&job, None)
            }
            false => runner.run(&job, group),
        }
    }
}

/// `$1` is the cgroup; whatever is still in it belongs to a run that is over.
const CLEAN_GROUP: &str = r#"
n=0
while [ -d "$1" ] && ! rmdir "$1" 2>/dev/null && [ $n -lt 200 ]; do
    n=$((n + 1))
    [ $n -lt 50 ] || while read -r process; do kill -9 "$process"; done < "$1/cgroup.procs"
    sleep 0.05
done
"#;

/// Wrong usage is wrong for every engine.
fn is_for_all(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported)
}

/// What a run that left no report has for a report.
fn lost(campaign: &Campaign, job: &Job, error: &Error) -> RunReport {
    let mut report = RunReport {
        workload: campaign.workload.clone(),
        engine: job.engine.clone(),
        repetition: job.repetition,
        failure: Some(error.to_string()),
        ..RunReport::default()
    };
    report.settings.rows = job.rows;
    report.settings.clients = job.clients;
    report.settings.memory_bytes = campaign.memory;
    report.settings.io_limit = job.around.io_limit.clone();
    report.settings.cgroup_memory = campaign.cgroup_memory;
    report
}

/// Whether a run of an earlier report is this one, and whole.
fn is_of(run: &RunReport, job: &Job) -> bool {
    run.failure.is_none()
        && run.engine == job.engine
        && run.repetition == job.repetition
        && run.settings.rows == job.rows
        && run.settings.clients == job.clients
        && run.settings.io_limit == job.around.io_limit
        && run.settings.cgroup_memory == job.around.cgroup_memory
}

fn progress(at: usize, jobs: &[Job], took: &[Duration]) -> String {
    let job = &jobs[at];
    let limit = job.around.io_limit.as_ref().map_or(String::new(), |l| format!(", {l}"));
    let left = match took.len() {
        0 => String::new(),
        n => {
            let mean = took.iter().sum::<Duration>().as_secs_f64() / n as f64;
            let seconds = mean * (jobs.len() - at) as f64;
            format!("; about {} left", duration(seconds))
        }
    };
    format!(
        "run {} of {}: {}, {} rows, {} client(s){limit}{left}",
        at + 1,
        jobs.len(),
        job.engine,
        units::grouped(job.rows),
        job.clients
    )
}

/// For people.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Bytes free where a directory is or will be made.
fn free_bytes(dir: &Path) -> Result<u64> {
    let there = dir.ancestors().find(|d| d.exists()).unwrap_or(Path::new("/"));
    let path = std::ffi::CString::new(there.as_os_str().as_encoded_bytes())
        .map_err(|_| Error::new(ErrorKind::InvalidInput, "a path has no NUL"))?;
    let mut stat = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: both pointers are valid; all-zero is a valid value, read only where the call filled it.
    let stat = unsafe {
        match libc::statvfs(path.as_ptr(), stat.as_mut_ptr()) {
            0 => stat.assume_init(),
            _ => return Err(std::io::Error::last_os_error().into()),
        }
    };
    #[allow(clippy::unnecessary_cast, reason = "the fields' types differ between machines")]
    Ok(stat.f_bavail as u64 * stat.f_frsize as u64)
}
