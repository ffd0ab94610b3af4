//! What came out, for programs and for people?
//!
//! [`StepReport`] is one step of one run, [`RunReport`] the run of one engine; [`Comparison`] is what
//! `--json` writes: all runs of a command. Medians and ratios are made of it where they are shown: as text
//! (`table`), for the README ([`markdown`]), as a page ([`html`]), next to another one ([`compare`]).
//! Everything "per insert" is divided by the rows of the step; nothing here measures.

use std::collections::BTreeMap;

use onlap_base::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::measure::device::DeviceIo;
use crate::measure::environment::Environment;

mod columns;
pub mod compare;
mod comparison;
pub mod html;
pub mod markdown;
mod storage;
pub mod svg;
mod table;
#[cfg(test)]
mod tests;

pub use comparison::{Comparison, Entry, Metric, Spread, metrics};
pub use table::{print_entries, print_steps, text_table};

/// What a run was asked to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Rows of a load step.
    pub rows: u64,
    /// Secondary indexes.
    pub secondary: usize,
    /// Rows of a commit, where they do not follow from the step.
    pub commit_rows: Option<usize>,
    /// Client threads.
    pub clients: usize,
    /// Longest duration of a step.
    pub seconds: Option<f64>,
    /// The engine's memory budget in bytes.
    pub memory_bytes: u64,
    /// When a commit is acknowledged.
    pub sync: String,
    /// `batch` or `row`.
    pub api: String,
    /// The I/O budget, such as `1000x16KiB`, in each direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_limit: Option<String>,
    /// Bytes of the cgroup around the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup_memory: Option<u64>,
}

/// How long operations of one kind took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// How many.
    pub count: u64,
    /// Median.
    pub p50_us: f64,
    /// 95th percentile.
    pub p95_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Longest.
    pub max_us: f64,
}

/// One step. Fields that a step does not have are left out of the JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepReport {
    /// Name of the step.
    pub step: String,
    /// Rows inserted in it; for `settle` those of the load before it.
    pub rows: u64,
    /// Its duration; for loads to the end of the last commit.
    pub seconds: f64,
    /// Rows inserted per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ips: Option<f64>,
    /// CPU time of the whole process, generator and final flush included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_us_per_insert: Option<f64>,
    /// CPU time of the generator alone, measured before the run; part of the former.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generator_us_per_insert: Option<f64>,
    /// All bytes passed to write calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_bytes_per_insert: Option<f64>,
    /// Of these the log's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wal_bytes_per_insert: Option<f64>,
    /// Of these the rows', at flush and compaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment_bytes_per_insert: Option<f64>,
    /// Of these every index's, at flush and by merges.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub index_bytes_per_insert: BTreeMap<String, f64>,
    /// What the process passed to write calls as the kernel counted it (`wchar`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_written_bytes_per_insert: Option<f64>,
    /// What the kernel sent or will send to the device (`write_bytes`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_written_bytes_per_insert: Option<f64>,
    /// Size of all files but the log, over all rows of the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_bytes_per_row: Option<f64>,
    /// Size of the log's files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_disk_bytes: Option<u64>,
    /// Rates in intervals of 100 ms, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interval_ips: Vec<u64>,
    /// Median of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ips: Option<f64>,
    /// First percentile of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p1_ips: Option<f64>,
    /// The latter over the former.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p1_over_p50: Option<f64>,
    /// Rate of the last tenth of the rows over that of the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_tenth_over_first: Option<f64>,
    /// Number of commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// Median commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_commit_us: Option<f64>,
    /// 99th percentile of the commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_commit_us: Option<f64>,
    /// Longest commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_commit_ms: Option<f64>,
    /// Bytes that background work still has to rewrite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_debt_bytes: Option<u64>,
    /// Resident at the end of the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
    /// Most that was resident during the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_rss_bytes: Option<u64>,
    /// CPU time that a hypervisor took away during the step, of all cores, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stolen_cpu_ms: Option<u64>,
    /// Memory in use at the end of the step, by part, as the engine counts it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub memory_bytes: BTreeMap<String, u64>,
    /// Context switches of the whole process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_switches_per_insert: Option<f64>,
    /// Queries per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qps: Option<f64>,
    /// CPU time of the whole process per query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_us_per_query: Option<f64>,
    /// Median query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_query_us: Option<f64>,
    /// 99th percentile of the queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_query_us: Option<f64>,
    /// Longest query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_query_ms: Option<f64>,
    /// Bytes fetched from the device per query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_bytes_per_query: Option<f64>,
    /// Read calls per query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_calls_per_query: Option<f64>,
    /// Rows read per second by scans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scanned_per_second: Option<f64>,
    /// Bytes per second that scans fetched from the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_bytes_per_second: Option<f64>,
    /// What the device itself gave in sequential direct reads of the same files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_read_bytes_per_second: Option<f64>,
    /// Synced writes of 8 KiB that the device itself did per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_fdatasync_per_second: Option<f64>,
    /// Time to open after a crash, per row in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_us_per_row: Option<f64>,
    /// Inserts per second that the step was to keep up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ips: Option<f64>,
    /// Whether less than 95 percent of the target was kept up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub void: Option<bool>,
    /// CPU time of this process per insert, where the engine is another one: generator, text and sockets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cpu_us_per_insert: Option<f64>,
    /// CPU time of the engine's processes in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_us: Option<u64>,
    /// Context switches of the engine's processes in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_switches: Option<u64>,
    /// Queries or transactions in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<u64>,
    /// I/O of the directory's device during the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceIo>,
    /// Size of all files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    /// The same by kind of file.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub disk_bytes_by_kind: BTreeMap<String, u64>,
    /// Size of the rows and of every index, as the engine tells after `settle`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub size_bytes: BTreeMap<String, u64>,
    /// Rates of queries in intervals of 100 ms, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interval_qps: Vec<u64>,
    /// Longest operation that ended in each interval of 100 ms.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interval_max_us: Vec<u64>,
    /// Median rate of inserts per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_p50: Option<f64>,
    /// 99th percentile of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_p99: Option<f64>,
    /// First percentile over the median of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_p1_over_p50: Option<f64>,
    /// The same of these rates divided by their trend, the median of the minute around each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trend_p1_over_p50: Option<f64>,
    /// Longest stretch with less than a tenth of the median rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall_seconds: Option<f64>,
    /// Transactions per second of workloads that have several operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tps: Option<f64>,
    /// Of each operation.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub operations: BTreeMap<String, Latency>,
    /// Transactions that were run again after a conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u64>,
}

impl StepReport {
    /// Operations that its costs are divided by: inserts, or queries where there are more of them.
    pub fn divisor(&self) -> u64 {
        match self.queries {
            Some(queries) if queries > self.rows => queries,
            _ => self.rows,
        }
    }
}

/// One run of one engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunReport {
    /// Where.
    pub environment: Environment,
    /// What.
    pub workload: String,
    /// Whom.
    pub engine: String,
    /// How.
    pub settings: Settings,
    /// The engine's own settings.
    pub config: Vec<String>,
    /// In which order keys arrive at the key and at each index: the insert benchmark's code.
    pub patterns: BTreeMap<String, String>,
    /// The outcome, as far as the run came.
    pub steps: Vec<StepReport>,
    /// What the engine had to agree with others about: counts and sums.
    pub answers: BTreeMap<String, i64>,
    /// Why it ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The last lines of the engine's log where it ended early.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub log_tail: String,
    /// Repetition, from 0.
    pub repetition: usize,
}

impl RunReport {
    /// The report of a run that ended early, if it came to measure anything or has a log to show; else the
    /// error.
    pub fn failed(mut self, error: Error) -> Result<RunReport> {
        if self.steps.is_empty() && self.log_tail.is_empty() {
            return Err(error);
        }
        self.failure = Some(error.to_string());
        Ok(self)
    }

    /// Fails where the run did.
    pub fn whole(self) -> Result<RunReport> {
        match &self.failure {
            None => Ok(self),
            Some(text) => {
                let text = format!("{}: {text}\n{}", self.engine, self.log_tail);
                Err(Error::new(ErrorKind::Io, text))
            }
        }
    }
}

/// Medians over runs, step by step and field by field. What is no number is taken from the first.
fn medians(runs: &[Vec<StepReport>]) -> Result<Vec<StepReport>> {
    let steps = runs.iter().map(Vec::len).min().unwrap_or(0);
    let to_value = |step: &StepReport| {
        serde_json::to_value(step).expect("reports have string keys and finite numbers")
    };
    (0..steps)
        .map(|i| {
            let values: Vec<Value> = runs.iter().map(|run| to_value(&run[i])).collect();
            serde_json::from_value(median_value(&values)).map_err(|e| {
                Error::new(ErrorKind::InvalidInput, format!("runs that do not fit together: {e}"))
            })
        })
        .collect()
}

fn median_value(values: &[Value]) -> Value {
    match &values[0] {
        Value::Object(first) => {
            let field = |name: &String| {
                let of: Vec<Value> = values.iter().filter_map(|v| v.get(name).cloned()).collect();
                (name.clone(), median_value(&of))
            };
            Value::Object(first.keys().map(field).collect::<Map<_, _>>())
        }
        Value::Number(first) => {
            let mut numbers: Vec<f64> = values.iter().filter_map(Value::as_f64).collect();
            let median = median(&mut numbers);
            if first.is_f64() { Value::from(median) } else { Value::from(median as u64) }
        }
        other => other.clone(),
    }
}

/// The middle number, or the mean of the middle two; 0 of none.
pub fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    match numbers.len() {
        0 => 0.0,
        n if n % 2 == 1 => numbers[n / 2],
        n => f64::midpoint(numbers[n / 2 - 1], numbers[n / 2]),
    }
}
