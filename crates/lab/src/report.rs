//! What came out, for programs and for people?
//!
//! [`StepReport`] is one step of one run; [`Report`] is what `--json` writes: the medians of all
//! runs of an engine, the runs, and where there was a peer its medians and the ratios. Everything
//! "per insert" is divided by the rows of the step; nothing here measures.

use std::collections::BTreeMap;

use onlap_base::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::measure::environment::Environment;

mod table;
#[cfg(test)]
mod tests;

pub use table::{print_ratios, print_steps, text_table};

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
}

/// One run of one engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Where.
    pub environment: Environment,
    /// What.
    pub workload: String,
    /// Whom.
    pub engine: String,
    /// How.
    pub settings: Settings,
    /// The outcome.
    pub steps: Vec<StepReport>,
}

/// All runs of an engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Where.
    pub environment: Environment,
    /// What.
    pub workload: String,
    /// Whom.
    pub engine: String,
    /// How.
    pub settings: Settings,
    /// How often.
    pub repeat: usize,
    /// Medians over the runs, field by field.
    pub steps: Vec<StepReport>,
    /// The runs, where there were several.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub runs: Vec<Vec<StepReport>>,
    /// The peer's runs, which alternated with these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versus: Option<Versus>,
}

/// A peer beside an engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Versus {
    /// The peer.
    pub engine: String,
    /// Its medians.
    pub steps: Vec<StepReport>,
    /// Its runs.
    pub runs: Vec<Vec<StepReport>>,
    /// Engine over peer, of the medians.
    pub ratios: Vec<Ratios>,
}

/// An engine's figures over a peer's, of one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ratios {
    /// Name of the step.
    pub step: String,
    /// Rate of inserts; above 1 is better.
    pub ips: Option<f64>,
    /// CPU time; below 1 is better.
    pub cpu_us_per_insert: Option<f64>,
    /// Bytes written; below 1 is better.
    pub written_bytes_per_insert: Option<f64>,
    /// Size; below 1 is better.
    pub disk_bytes_per_row: Option<f64>,
    /// Rate of queries; above 1 is better.
    pub qps: Option<f64>,
}

impl Report {
    /// Of one or more runs of an engine and, where there was one, as many of a peer.
    pub fn of(runs: Vec<RunReport>, peer: Vec<RunReport>) -> Result<Report> {
        let first = runs.first().cloned().ok_or_else(|| {
            Error::new(ErrorKind::InvalidInput, "a report needs at least one run")
        })?;
        let all = |runs: Vec<RunReport>| runs.into_iter().map(|r| r.steps).collect::<Vec<_>>();
        let peer_engine = peer.first().map(|r| r.engine.clone());
        let repeat = runs.len();
        let (runs, peer) = (all(runs), all(peer));
        let steps = medians(&runs)?;
        let versus = match peer_engine {
            None => None,
            Some(engine) => {
                let peer_steps = medians(&peer)?;
                let ratios = ratios(&steps, &peer_steps);
                Some(Versus { engine, steps: peer_steps, runs: peer, ratios })
            }
        };
        Ok(Report {
            environment: first.environment,
            workload: first.workload,
            engine: first.engine,
            settings: first.settings,
            repeat,
            steps,
            runs: if repeat > 1 { runs } else { Vec::new() },
            versus,
        })
    }

    /// As JSON, for `--json`.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("reports have string keys and finite numbers")
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

fn ratios(mine: &[StepReport], theirs: &[StepReport]) -> Vec<Ratios> {
    let over = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) if b > 0.0 => Some(a / b),
        _ => None,
    };
    mine.iter()
        .filter_map(|m| theirs.iter().find(|t| t.step == m.step).map(|t| (m, t)))
        .map(|(m, t)| Ratios {
            step: m.step.clone(),
            ips: over(m.ips, t.ips),
            cpu_us_per_insert: over(m.cpu_us_per_insert, t.cpu_us_per_insert),
            written_bytes_per_insert: over(m.written_bytes_per_insert, t.written_bytes_per_insert),
            disk_bytes_per_row: over(m.disk_bytes_per_row, t.disk_bytes_per_row),
            qps: over(m.qps, t.qps),
        })
        .collect()
}
