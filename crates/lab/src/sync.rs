//! How long does a synced write take on the device below a directory?
//!
//! One and two writes of 8 KiB into a preallocated file, each time followed by `fsync` or
//! `fdatasync`, or through `O_DSYNC`. This is the floor of a commit in mode `fsync`.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use onlap_base::{Error, ErrorKind, Result};
use serde::Serialize;

use crate::measure::device::{SyncCall, WRITE_BYTES, sync_latency};
use crate::measure::environment::Environment;
use crate::report::text_table;

/// Seconds per row of the report where none are given: six rows in half a minute.
const SECONDS: f64 = 3.0;

/// All measurements of one device.
#[derive(Clone, Debug, Serialize)]
pub struct SyncReport {
    /// Where.
    pub environment: Environment,
    /// Bytes of one write.
    pub write_bytes: usize,
    /// One per call and number of writes.
    pub steps: Vec<SyncStep>,
}

/// One kind of synced write.
#[derive(Clone, Debug, Serialize)]
pub struct SyncStep {
    /// fsync, fdatasync or O_DSYNC.
    pub call: &'static str,
    /// Writes before the call.
    pub writes: usize,
    /// How many were measured.
    pub operations: u64,
    /// Per second.
    pub rate: f64,
    /// Mean duration.
    pub mean_us: f64,
    /// Median duration.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Longest.
    pub max_ms: f64,
}

/// Measures every call with one and two writes, `seconds` each.
pub fn run(
    dir: &Path,
    seconds: Option<f64>,
    commit: &str,
    cancel: &AtomicBool,
) -> Result<SyncReport> {
    let seconds = seconds.unwrap_or(SECONDS);
    if !seconds.is_finite() || seconds <= 0.0 {
        return Err(Error::new(ErrorKind::InvalidInput, "--seconds must be above zero"));
    }
    let cases = SyncCall::ALL.iter().flat_map(|call| [(*call, 1), (*call, 2)]);
    let mut steps = Vec::new();
    for (call, writes) in cases {
        let r = sync_latency(dir, call, writes, Duration::from_secs_f64(seconds), cancel)?;
        if cancel.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Cancelled, "the bench was interrupted"));
        }
        steps.push(SyncStep {
            call: call.name(),
            writes,
            operations: r.operations(),
            rate: r.rate(),
            mean_us: 1e6 / r.rate(),
            p50_us: r.latency_us(50.0),
            p99_us: r.latency_us(99.0),
            max_ms: r.longest_ms(),
        });
    }
    Ok(SyncReport { environment: Environment::of(dir, commit), write_bytes: WRITE_BYTES, steps })
}

impl SyncReport {
    /// For people.
    pub fn table(&self) -> String {
        let header = ["call", "writes", "per second", "mean us", "p50 us", "p99 us", "max ms"];
        let mut rows = vec![header.map(str::to_owned).to_vec()];
        for s in &self.steps {
            rows.push(vec![
                s.call.to_owned(),
                format!("{} x {} KiB", s.writes, self.write_bytes >> 10),
                format!("{:.0}", s.rate),
                format!("{:.0}", s.mean_us),
                format!("{:.0}", s.p50_us),
                format!("{:.0}", s.p99_us),
                format!("{:.1}", s.max_ms),
            ]);
        }
        text_table(&rows)
    }

    /// For programs.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("reports have string keys and finite numbers")
    }
}
