//! Which columns do published tests print?

use super::StepReport;
use crate::units;

/// Name and text of each column of a step.
pub(super) type Columns = Vec<(&'static str, String)>;

/// The columns of a workload's step, exactly as published.
pub(super) fn published(workload: &str, step: &StepReport) -> Columns {
    match workload {
        "linkbench" if step.tps.is_some() => linkbench_transactions(step),
        "linkbench" => linkbench_load(step),
        "sysbench" => sysbench(step),
        _ => insert_benchmark(step),
    }
}

const KB: f64 = 1024.0;
const MB: f64 = 1024.0 * 1024.0;
const GB: f64 = 1024.0 * 1024.0 * 1024.0;

/// A number of a device's counters, divided.
fn device(
    step: &StepReport,
    of: fn(&crate::measure::device::DeviceIo) -> u64,
    by: f64,
) -> Option<f64> {
    step.device.as_ref().map(of).filter(|_| by > 0.0).map(|n| n as f64 / by)
}

fn text(value: Option<f64>, digits: usize) -> String {
    match value {
        None => "-".to_owned(),
        Some(v) if digits == 0 => units::grouped(v.round() as u64),
        Some(v) => format!("{v:.digits$}"),
    }
}

/// `ips qps rps rmbps wps wmbps rpq rkbpq wpi wkbpi csps cpups cspq cpupq dbgb rss maxop p50 p99 tag`;
/// `rpi`, of the fixed budget, next to `wpi`; sizes in GiB and MiB, times in µs but `maxop`, in seconds.
fn insert_benchmark(step: &StepReport) -> Columns {
    let seconds = step.seconds;
    let queries = step.queries.unwrap_or(0) as f64;
    let (rows, operations) = (step.rows as f64, step.divisor() as f64);
    let over = |n: Option<u64>, by: f64| n.filter(|_| by > 0.0).map(|n| n as f64 / by);
    let longest = [step.max_commit_ms, step.max_query_ms].into_iter().flatten().reduce(f64::max);
    let rpi = device(step, |d| d.reads, rows);
    vec![
        ("ips", text(step.ips, 0)),
        ("qps", text(step.qps, 0)),
        ("rps", text(device(step, |d| d.reads, seconds), 0)),
        ("rmbps", text(device(step, |d| d.read_bytes, seconds * MB), 1)),
        ("wps", text(device(step, |d| d.writes, seconds), 0)),
        ("wmbps", text(device(step, |d| d.write_bytes, seconds * MB), 1)),
        ("rpq", text(device(step, |d| d.reads, queries), 3)),
        ("rkbpq", text(device(step, |d| d.read_bytes, queries * KB), 3)),
        ("rpi", text(rpi, 4)),
        ("wpi", text(device(step, |d| d.writes, rows), 4)),
        ("wkbpi", text(device(step, |d| d.write_bytes, rows * KB), 3)),
        ("csps", text(over(step.context_switches, seconds), 0)),
        ("cpups", text(over(step.cpu_us, seconds), 0)),
        ("cspq", text(over(step.context_switches, operations), 3)),
        ("cpupq", text(over(step.cpu_us, operations), 2)),
        ("dbgb", text(step.disk_bytes.map(|n| n as f64 / GB), 3)),
        ("rss", text(step.rss_bytes.map(|n| n as f64 / MB), 0)),
        ("maxop", text(longest.map(|ms| ms / 1e3), 3)),
        ("p50", text(step.second_p50, 0)),
        ("p99", text(step.second_p99, 0)),
        ("p1/p50", text(step.second_p1_over_p50, 2)),
        ("of trend", text(step.trend_p1_over_p50, 2)),
        ("stall s", text(step.stall_seconds, 1)),
        ("client us", text(step.client_cpu_us_per_insert, 2)),
        ("tag", if step.void == Some(true) { "void".into() } else { step.step.clone() }),
    ]
}

/// What both of Linkbench's tables end with.
fn linkbench_end(step: &StepReport) -> Columns {
    let cores = step.cpu_us.filter(|_| step.seconds > 0.0).map(|us| us as f64 / 1e6 / step.seconds);
    vec![
        ("size GB", text(step.disk_bytes.map(|n| n as f64 / GB), 3)),
        ("rss MB", text(step.rss_bytes.map(|n| n as f64 / MB), 0)),
        ("rMB/s", text(device(step, |d| d.read_bytes, step.seconds * MB), 1)),
        ("wMB/s", text(device(step, |d| d.write_bytes, step.seconds * MB), 1)),
        ("cpu", text(cores, 2)),
    ]
}

/// `ips wKB/i Mcpu/i size rss rMB/s wMB/s cpu`.
fn linkbench_load(step: &StepReport) -> Columns {
    let rows = step.rows as f64;
    let mut columns = vec![
        ("ips", text(step.ips, 0)),
        ("wKB/i", text(device(step, |d| d.write_bytes, rows * KB), 3)),
        ("Mcpu/i", text(step.cpu_us.filter(|_| rows > 0.0).map(|us| us as f64 / rows), 2)),
    ];
    columns.extend(linkbench_end(step));
    columns
}

/// `tps r/t rKB/t wKB/t Mcpu/t size rss rMB/s wMB/s cpu un gn ul gl`.
fn linkbench_transactions(step: &StepReport) -> Columns {
    let n = step.queries.unwrap_or(0) as f64;
    let mut columns = vec![
        ("tps", text(step.tps, 0)),
        ("r/t", text(device(step, |d| d.reads, n), 3)),
        ("rKB/t", text(device(step, |d| d.read_bytes, n * KB), 3)),
        ("wKB/t", text(device(step, |d| d.write_bytes, n * KB), 3)),
        ("Mcpu/t", text(step.cpu_us.filter(|_| n > 0.0).map(|us| us as f64 / n), 1)),
    ];
    columns.extend(linkbench_end(step));
    for (name, operation) in
        [("un", "updatenode"), ("gn", "getnode"), ("ul", "updatelink"), ("gl", "getlinklist")]
    {
        let p99 = step.operations.get(operation).map(|o| o.p99_us / 1e3);
        columns.push((name, text(p99, 2)));
    }
    columns
}

fn sysbench(step: &StepReport) -> Columns {
    let operations = step.divisor() as f64;
    let mut columns = vec![
        ("s", text(Some(step.seconds), 2)),
        ("rows/s", text(step.ips.or(step.scanned_per_second), 0)),
        ("tps", text(step.tps, 0)),
        ("p50 us", text(step.p50_query_us, 0)),
        ("p99 us", text(step.p99_query_us, 0)),
        ("max ms", text(step.max_query_ms, 1)),
        ("r/o", text(device(step, |d| d.reads, operations), 3)),
        ("w/o", text(device(step, |d| d.writes, operations), 3)),
        ("cpu us/o", {
            let cpu = step.cpu_us.filter(|_| operations > 0.0);
            text(cpu.map(|us| us as f64 / operations), 2)
        }),
    ];
    columns.extend(linkbench_end(step));
    columns
}
