//! What does a bench run, step by step?
//!
//! [`Plan`] says what; [`run`] opens the engine in an empty directory, takes the steps in order and
//! measures each. A step knows engines only through their trait.
//!
//! Measuring rule: the rate of a load ends with its last commit; its CPU time and bytes include the
//! flush that follows, because work put off is work. `settle` gives the same figures again, counted
//! from the begin of the load before it to the end of all background work.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use onlap_base::{Error, ErrorKind, Result};

use crate::engine::SyncMode;
use crate::generate::{Workload, patterns};
use crate::measure::environment::Environment;
use crate::names;
use crate::report::{RunReport, Settings};

mod load;
mod progress;
mod queries;
mod reads;
mod session;
mod steps;
#[cfg(test)]
mod tests;

pub use progress::Progress;
#[cfg(feature = "wire")]
pub(crate) use progress::{Counters, Goal};
pub(crate) use reads::copy_files;
pub use steps::{InsertRate, Step, parse_steps};

/// How rows are handed to the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// A commit's rows as one columnar batch.
    Batch,
    /// A commit's rows one by one.
    Row,
}

impl Api {
    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Api::Batch => "batch",
            Api::Row => "row",
        }
    }
}

impl std::str::FromStr for Api {
    type Err = Error;

    fn from_str(text: &str) -> Result<Api> {
        let name = names::choose("API", text, &["batch", "row"])?;
        Ok(if name == "batch" { Api::Batch } else { Api::Row })
    }
}

/// One run of one engine.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Whose rows.
    pub workload: Workload,
    /// Name of the engine.
    pub engine: String,
    /// Rows of a load step.
    pub rows: u64,
    /// Secondary indexes, at most as many as the workload has.
    pub secondary: usize,
    /// Rows of a commit; `None` takes the step's own.
    pub commit_rows: Option<usize>,
    /// Client threads; query steps have as many again for inserts.
    pub clients: usize,
    /// Longest duration of a step; query steps take 10 where there is none.
    pub seconds: Option<f64>,
    /// What to do, in order.
    pub steps: Vec<Step>,
    /// The engine's memory budget in bytes.
    pub memory: u64,
    /// When a commit is acknowledged.
    pub sync: SyncMode,
    /// Where the engine's directory is made; `None` takes the temporary directory and removes it
    /// after the run.
    pub dir: Option<PathBuf>,
    /// How rows are handed over.
    pub api: Api,
    /// Commit the binary was built from.
    pub commit: String,
    /// What was put around the engine.
    pub around: Surroundings,
}

/// What somebody else put around an engine, for a run to use and to report.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The I/O budget of the volume that the directory lies on.
    pub io_limit: Option<String>,
    /// Bytes of the cgroup.
    pub cgroup_memory: Option<u64>,
    /// A cgroup that a server starts in.
    pub group: Option<PathBuf>,
    /// Where the engine `url` listens.
    pub url: Option<String>,
    /// Whether the I/O of the directory's device is counted.
    pub device_stats: bool,
}

impl Plan {
    /// Refuses what makes no sense, before any file is made.
    pub fn check(&self) -> Result<()> {
        names::choose("engine", &self.engine, &crate::drivers::ENGINES)?;
        let bad = |text: String| Err(Error::new(ErrorKind::InvalidInput, text));
        let most = self.workload.shape().indexes.len();
        if self.secondary > most {
            return bad(format!("--secondary {}: this workload has {most}", self.secondary));
        }
        if self.rows == 0 || self.clients == 0 || self.commit_rows == Some(0) {
            return bad("rows, clients and rows of a commit must be above zero".into());
        }
        if self.clients > CLIENTS_MAX {
            return bad(format!("--clients {}: at most {CLIENTS_MAX}", self.clients));
        }
        if self.seconds.is_some_and(|s| s <= 0.0 || !s.is_finite()) {
            return bad("--seconds must be above zero".into());
        }
        if self.steps.is_empty() {
            return bad("--steps names no step".into());
        }
        Ok(())
    }

    /// What the report says of it.
    pub fn settings(&self) -> Settings {
        Settings {
            rows: self.rows,
            secondary: self.secondary,
            commit_rows: self.commit_rows,
            clients: self.clients,
            seconds: self.seconds,
            memory_bytes: self.memory,
            sync: self.sync.to_string(),
            api: self.api.name().to_owned(),
            io_limit: self.around.io_limit.clone(),
            cgroup_memory: self.around.cgroup_memory,
        }
    }
}

/// Client threads; more than any machine has use for.
pub const CLIENTS_MAX: usize = 1024;

/// Runs all steps of a plan. `cancel` ends it early with [`ErrorKind::Cancelled`].
pub fn run(plan: &Plan, cancel: &AtomicBool, progress: Progress) -> Result<RunReport> {
    plan.check()?;
    let dir = RunDir::create(plan.dir.as_deref(), &plan.engine)?;
    let environment = Environment::of(dir.path(), &plan.commit);
    let mut report = RunReport {
        environment,
        workload: plan.workload.name().to_owned(),
        engine: plan.engine.clone(),
        settings: plan.settings(),
        patterns: patterns(plan.workload, plan.secondary),
        ..RunReport::default()
    };
    let outcome = session::run_steps(plan, dir.path(), cancel, progress, &mut report);
    outcome.map(|()| report.clone()).or_else(|e| report.failed(e))
}

/// The empty directory that an engine gets: `onlap-bench-ENGINE` below the given one, replaced by
/// every run and kept after it, or a temporary one, removed when dropped.
pub struct RunDir {
    path: PathBuf,
    temporary: bool,
}

impl RunDir {
    /// Makes it.
    pub fn create(parent: Option<&Path>, engine: &str) -> Result<RunDir> {
        let temporary = parent.is_none();
        let name = match parent {
            Some(_) => format!("onlap-bench-{engine}"),
            None => format!("onlap-bench-{engine}-{}", std::process::id()),
        };
        // Servers begin in a directory of their own, from which a relative path leads elsewhere.
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        let path = std::path::absolute(parent)?.join(name);
        if path.exists() {
            std::fs::remove_dir_all(&path)?;
        }
        std::fs::create_dir_all(&path).map_err(|e| {
            Error::new(ErrorKind::Io, format!("cannot create {}: {e}", path.display()))
        })?;
        Ok(RunDir { path, temporary })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        if self.temporary {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
