//! How does a report look on a terminal?

use std::fmt::Write as _;

use super::columns::published;
use super::comparison::ratios;
use super::{Entry, StepReport, storage};
use crate::units;

/// Rows of cells with aligned columns: the first to the left, the others to the right. The first
/// row is the header.
pub fn text_table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| {
        rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (c, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[c].saturating_sub(cell.chars().count()));
            let _ = match c {
                0 => write!(line, "{cell}{pad}"),
                _ => write!(line, "  {pad}{cell}"),
            };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The steps of a run, or medians of several.
pub fn print_steps(engine: &str, steps: &[StepReport]) -> String {
    let mut out = String::new();
    let inserting: Vec<&StepReport> =
        steps.iter().filter(|s| s.cpu_us_per_insert.is_some() && s.qps.is_none()).collect();
    if !inserting.is_empty() {
        out.push_str(&insert_table(engine, &inserting));
        out.push_str(&bytes_table(&inserting));
    }
    let querying: Vec<&StepReport> = steps.iter().filter(|s| s.qps.is_some()).collect();
    if !querying.is_empty() {
        out.push_str(&query_table(engine, &querying));
    }
    steps.iter().for_each(|s| out.push_str(&other_lines(s)));
    out
}

fn insert_table(engine: &str, steps: &[&StepReport]) -> String {
    let header = [
        engine,
        "rows",
        "s",
        "rows/s",
        "p50",
        "p1/p50",
        "1-s of trend",
        "last/first",
        "max ms",
        "p99 us",
        "CPU us",
        "of gen",
        "bytes/row",
        "disk/row",
        "debt",
        "peak RSS",
    ];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for s in steps {
        rows.push(vec![
            s.step.clone(),
            units::grouped(s.rows),
            format!("{:.2}", s.seconds),
            whole(s.ips),
            whole(s.p50_ips),
            digits(s.p1_over_p50, 2),
            digits(s.trend_p1_over_p50, 2),
            digits(s.last_tenth_over_first, 2),
            digits(s.max_commit_ms, 1),
            digits(s.p99_commit_us, 0),
            digits(s.cpu_us_per_insert, 3),
            digits(s.generator_us_per_insert, 3),
            digits(s.written_bytes_per_insert, 1),
            digits(s.disk_bytes_per_row, 1),
            s.merge_debt_bytes.map_or_else(dash, units::size),
            s.peak_rss_bytes.map_or_else(dash, units::size),
        ]);
    }
    text_table(&rows)
}

/// Bytes written per row, by purpose; empty where no engine tells.
fn bytes_table(steps: &[&StepReport]) -> String {
    let steps: Vec<&&StepReport> =
        steps.iter().filter(|s| s.wal_bytes_per_insert.is_some()).collect();
    if steps.is_empty() {
        return String::new();
    }
    let mut names: Vec<&String> =
        steps.iter().flat_map(|s| s.index_bytes_per_insert.keys()).collect();
    names.sort();
    names.dedup();
    let mut header: Vec<String> =
        ["bytes/row", "all", "kernel", "device", "log", "rows"].map(str::to_owned).to_vec();
    header.extend(names.iter().map(|n| (*n).clone()));
    let mut rows = vec![header];
    for s in steps {
        let mut row = vec![
            s.step.clone(),
            digits(s.written_bytes_per_insert, 1),
            digits(s.kernel_written_bytes_per_insert, 1),
            digits(s.device_written_bytes_per_insert, 1),
            digits(s.wal_bytes_per_insert, 1),
            digits(s.segment_bytes_per_insert, 1),
        ];
        row.extend(names.iter().map(|n| digits(s.index_bytes_per_insert.get(*n).copied(), 1)));
        rows.push(row);
    }
    format!("\n{}", text_table(&rows))
}

fn query_table(engine: &str, steps: &[&StepReport]) -> String {
    let header = [
        engine,
        "queries/s",
        "p50 us",
        "p99 us",
        "max ms",
        "CPU us",
        "read B/q",
        "rows/s",
        "of",
        "max commit ms",
        "",
    ];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for s in steps {
        rows.push(vec![
            s.step.clone(),
            whole(s.qps),
            digits(s.p50_query_us, 1),
            digits(s.p99_query_us, 1),
            digits(s.max_query_ms, 1),
            digits(s.cpu_us_per_query, 1),
            digits(s.read_bytes_per_query, 0),
            digits(s.read_calls_per_query, 2),
            whole(s.ips),
            whole(s.target_ips),
            digits(s.max_commit_ms, 1),
            if s.void == Some(true) { "void: target missed".to_owned() } else { String::new() },
        ]);
    }
    format!("\n{}", text_table(&rows))
}

/// What only few steps have, a line each.
fn other_lines(s: &StepReport) -> String {
    let mebibytes = |n: Option<f64>| n.map(|n| n / f64::from(1 << 20));
    let mut out = String::new();
    let mut line = |text: String| out.push_str(&format!("{}: {text}\n", s.step));
    if !s.size_bytes.is_empty() {
        let of = |(name, bytes): (&String, &u64)| format!("{name} {}", units::size(*bytes));
        line(s.size_bytes.iter().map(of).collect::<Vec<_>>().join(", "));
    }
    if let Some(us) = s.recovery_us_per_row {
        line(format!("{us:.3} us per logged row, {} rows", units::grouped(s.rows)));
    }
    if s.device_fdatasync_per_second.is_some() {
        line(format!("device: {} fdatasync/s", whole(s.device_fdatasync_per_second)));
    }
    if s.scanned_per_second.is_some() {
        line(format!("{} rows/s in {:.3} s", whole(s.scanned_per_second), s.seconds));
    }
    if s.read_bytes_per_second.is_some() {
        line(format!(
            "{} MiB/s read, device {} MiB/s",
            whole(mebibytes(s.read_bytes_per_second)),
            whole(mebibytes(s.device_read_bytes_per_second))
        ));
    }
    out
}

/// All engines of all cases, and their ratios to the first.
pub fn print_entries(workload: &str, entries: &[Entry<'_>]) -> String {
    let mut out = String::new();
    for entry in entries {
        let title = match entry.case.as_str() {
            "" => entry.engine.to_owned(),
            case => format!("{}, {case}", entry.engine),
        };
        out.push_str(&print_steps(&title, &entry.steps));
        out.push_str(&published_table(workload, entry));
        for failed in &entry.failed {
            let why = failed.failure.as_deref().unwrap_or("unknown");
            let _ = writeln!(out, "{}: ended early: {why}", entry.engine);
            failed.log_tail.lines().for_each(|line| {
                let _ = writeln!(out, "    {line}");
            });
        }
        out.push('\n');
    }
    out.push_str(&ratio_tables(entries));
    if let Some(lines) = storage::lines(entries) {
        let _ = write!(out, "as storage slows\n{}", text_table(&lines));
    }
    out
}

/// The columns that published tests print.
fn published_table(workload: &str, entry: &Entry<'_>) -> String {
    let mut out = String::new();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for step in &entry.steps {
        let columns = published(workload, step);
        let header: Vec<String> =
            std::iter::once(String::new()).chain(columns.iter().map(|c| c.0.to_owned())).collect();
        if rows.first() != Some(&header) {
            if !rows.is_empty() {
                let _ = write!(out, "\n{}", text_table(&rows));
            }
            rows = vec![header];
        }
        let cells = columns.into_iter().map(|(_, cell)| cell);
        rows.push(std::iter::once(step.step.clone()).chain(cells).collect());
    }
    let _ = write!(out, "\n{}", text_table(&rows));
    out
}

/// The first engine of each case over the others.
fn ratio_tables(entries: &[Entry<'_>]) -> String {
    let mut out = String::new();
    for ratio in ratios(entries) {
        let title = format!("{} / {}{}", ratio.engine, ratio.peer, ratio.of_case());
        let mut rows = vec![vec![title, "step".into(), "ratio".into(), String::new()]];
        for line in &ratio.lines {
            let verdict =
                if line.verdict().class() == "better" { "" } else { line.verdict().words() };
            rows.push(vec![
                line.metric.to_owned(),
                line.step.clone(),
                format!("{:.3}", line.ratio.median),
                verdict.to_owned(),
            ]);
        }
        let _ = writeln!(out, "{}", text_table(&rows));
    }
    out
}

fn dash() -> String {
    "-".to_owned()
}

fn digits(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(dash, |v| format!("{v:.digits$}"))
}

fn whole(value: Option<f64>) -> String {
    value.map_or_else(dash, |v| units::grouped(v.round() as u64))
}
