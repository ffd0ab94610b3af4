//! `onlap bench` and `onlap-lab bench`: which flags, and what runs what?
//!
//! Both programs have the same flags. `onlap` has the embedded engine alone; `onlap-lab` is built with the clients of
//! other servers, and starts the `onlap` next to it as the engine `onlap-wire`.

use std::path::{Path, PathBuf};

use onlap_base::{Error, ErrorKind, Result};
use onlap_process::exit::Outcome;

use crate::names;
use crate::report::{Comparison, compare, html, markdown, svg};

mod figures;
mod process;
mod runs;

/// What can be benched, and what can be done with reports.
const WORKLOADS: [&str; 14] = [
    "ibench",
    "six",
    "linkbench",
    "sysbench",
    "tsbs",
    "keyed",
    "sync",
    "micro",
    "transactions",
    "changes",
    "wire",
    "ledger-cost",
    "compare",
    "report",
];

/// The program that benches.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// What one types.
    pub name: &'static str,
    /// What it is built from.
    pub commit: &'static str,
}

/// Flags of `bench`
#[derive(clap::Args)]
pub struct Args {
    /// What to run: ibench (the insert benchmark), six (six indexes over random UUIDs), linkbench (a
    /// social graph), sysbench (its tables: load, scans, points, ranges, updates), tsbs (time series),
    /// keyed (keys in random order), sync (how long synced writes take on the device), micro (all figures
    /// next to their floors and targets), transactions (those of concurrent transactions, index builds and
    /// odd tables), changes (those of deletes and updates that read no row), wire (the server next to
    /// PostgreSQL 15), ledger-cost (inserts with accounts of indexes and counts of statements, and without); or what to do with reports: compare A.json B.json, report A.json…
    workload: String,
    /// Reports, for compare and report
    files: Vec<PathBuf>,
    /// Engines to measure, separated by commas: onlap (embedded), onlap-short (with
    /// short keys), onlap-wire, postgres, innodb, innodb-change-buffer, innodb-compressed, myrocks, myrocks-zstd, rocksdb (embedded, where built
    /// in), url (with --url)
    #[arg(long, default_value = "onlap")]
    engine: String,
    /// The server of the engine url: postgres://… or mysql://…
    #[arg(long)]
    url: Option<String>,
    /// Rows of a load step (ids of linkbench); units k, M, B, or a multiple of memory such as 3x; several
    /// separated by commas [default: 1M, for micro 5M, for transactions and changes 20M]
    #[arg(long)]
    rows: Option<String>,
    /// Secondary indexes [default: all of the workload]
    #[arg(long)]
    secondary: Option<usize>,
    /// Rows of a commit [default: the step's own: 100 for l.i0, 50 for l.i1, 5 for l.i2]
    #[arg(long)]
    commit_rows: Option<usize>,
    /// Client threads; several numbers separated by commas
    #[arg(long, default_value = "1")]
    clients: String,
    /// Longest duration of a step in seconds [default: none for loads, 10 for queries, 3 for
    /// sync, 60 for transactions and changes]
    #[arg(long)]
    seconds: Option<f64>,
    /// Steps, separated by commas: l.i0 load with the key only, l.x create indexes, l.i1 load,
    /// l.i2 load a tenth in small commits, settle, qN.M query next to N inserts per second (0, max),
    /// c.M count through each index, u.M update by key, get, get.cold, scan.1, scan.all, scan.cold, recover, fdatasync;
    /// for linkbench load, 2013.M, 2017.M, jdbc.M; for sysbench load, create, scan.M, update, points, ranges and more;
    /// for tsbs load, last, groups, top; for micro its sections: load, row, long, marginal, six, fsync,
    /// clients, get, range, scan, recover; for transactions its trials: updates, hot, build, queue, tables,
    /// large; for changes: deletes, adds, cold, all, blind, changed, space, readers, groups, entries; for
    /// ledger-cost: predicted, accounts, counted (over the wire, with onlap-lab); for
    /// wire: inserts, copy, sums, sysbench, pgbench, point, start, statements, replaced,
    /// documents, shards, temporary
    #[arg(long)]
    steps: Option<String>,
    /// The engine's memory budget; units k, M, G [default: 256MiB, or 60 percent of --cgroup-memory]
    #[arg(long)]
    memory: Option<String>,
    /// A memory cgroup around the engine, page cache included; needs root on Linux [default: none]
    #[arg(long, value_name = "SIZE")]
    cgroup_memory: Option<String>,
    /// Give each run a volume of so many I/Os per second of so many bytes at most, reads and writes each
    /// for themselves, such as 1000x16KiB; several separated by commas, none is an ordinary directory;
    /// needs root on Linux
    #[arg(long, value_name = "NxSIZE", default_value = "none")]
    io_limit: String,
    /// Count the I/O of the directory's device; with --io-limit it always is
    #[arg(long)]
    device_stats: bool,
    /// When a commit is acknowledged: fsync, interval:MS or os
    #[arg(long, default_value = "os")]
    sync: String,
    /// Directory for the data, kept afterwards [default: a temporary one]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Runs per engine; the report has the medians [default: 1, with --vs, for micro, transactions and
    /// changes 3]
    #[arg(long)]
    repeat: Option<usize>,
    /// Write the report as JSON to this file, after every run
    #[arg(long)]
    json: Option<PathBuf>,
    /// Write the report as a page to this file
    #[arg(long)]
    report: Option<PathBuf>,
    /// Write the report's main figures as Markdown to this file
    #[arg(long)]
    markdown: Option<PathBuf>,
    /// With report: draw the first rate of one report as bars into this file
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// With --svg: what stands above the bars
    #[arg(long, requires = "svg", default_value = "")]
    title: String,
    /// Go on where an earlier command with the same --json was interrupted
    #[arg(long)]
    resume: bool,
    /// The same as --engine onlap,X --repeat 3
    #[arg(long, value_name = "X")]
    vs: Option<String>,
    /// With report: the engine that others are compared with [default: the one that ran first]
    #[arg(long, value_name = "ENGINE")]
    first: Option<String>,
    /// How a commit's rows are handed over: batch (columns) or row (one by one)
    #[arg(long, default_value = "batch")]
    api: String,
    /// Of a run that another bench starts: what is around it
    #[arg(long, hide = true)]
    around_io_limit: Option<String>,
    #[arg(long, hide = true)]
    around_group: Option<PathBuf>,
    #[arg(long, hide = true)]
    around_cgroup_memory: Option<u64>,
}

/// Runs `bench`.
///
/// # Errors
/// Wrong usage, and what a run could not do; a run that missed its figure is a finding.
pub fn run(args: &Args, program: &Program) -> Result<Outcome> {
    let workload = names::choose("workload", &args.workload, &WORKLOADS)?;
    if !args.files.is_empty() && !matches!(workload, "compare" | "report") {
        let text = format!("{workload} takes no files; did you mean --json?");
        return Err(Error::new(ErrorKind::InvalidInput, text));
    }
    match workload {
        "sync" => figures::run_sync(args, program),
        "micro" => figures::run_figures(args, program),
        "transactions" | "changes" | "wire" | "ledger-cost" => figures::run_trials(args, program),
        "compare" => run_compare(&args.files),
        "report" => run_report(args),
        _ => runs::run(args, program),
    }
}

fn run_compare(files: &[PathBuf]) -> Result<Outcome> {
    let [before, after] = files else {
        let text = "compare takes two reports: onlap bench compare A.json B.json";
        return Err(Error::new(ErrorKind::InvalidInput, text));
    };
    let (text, worse) = compare::compare(&read_report(before)?, &read_report(after)?)?;
    print!("{text}");
    Ok(if worse { Outcome::Finding } else { Outcome::Good })
}

/// Makes tables and pages of reports that are there; without a file to write to, Markdown is printed.
fn run_report(args: &Args) -> Result<Outcome> {
    if args.files.is_empty() {
        let text = "report takes reports: onlap bench report A.json … [--report FILE.html]";
        return Err(Error::new(ErrorKind::InvalidInput, text));
    }
    let mut reports = args.files.iter().map(|f| read_report(f)).collect::<Result<Vec<_>>>()?;
    if let Some(first) = &args.first {
        let engines: Vec<&str> =
            reports.iter().flat_map(|r| &r.runs).map(|run| run.engine.as_str()).collect();
        let first = crate::names::choose("engine", first, &engines)?.to_owned();
        reports.iter_mut().for_each(|r| r.runs.sort_by_key(|run| run.engine != first));
    }
    let text = reports.iter().map(markdown::table).collect::<Result<Vec<_>>>()?.join("\n");
    match &args.markdown {
        Some(path) => write_text(path, &text)?,
        None if args.report.is_none() && args.svg.is_none() => print!("{text}"),
        None => {}
    }
    if args.report.is_none() && args.svg.is_none() {
        return Ok(Outcome::Good);
    }
    let [one] = &reports[..] else {
        let text = "--report and --svg show one report";
        return Err(Error::new(ErrorKind::InvalidInput, text));
    };
    if let Some(path) = &args.report {
        write_text(path, &html::page(one)?)?;
    }
    if let Some(path) = &args.svg {
        write_text(path, &svg::picture(one, &args.title)?)?;
    }
    Ok(Outcome::Good)
}

fn read_report(path: &Path) -> Result<Comparison> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        let text = format!("cannot read {}: {e}", path.display());
        Error::new(ErrorKind::NotFound, text)
    })?;
    Comparison::from_json(&text)
        .map_err(|e| Error::new(e.kind(), format!("{}: {}", path.display(), e.message())))
}

fn write_text(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text)
        .map_err(|e| Error::new(ErrorKind::Io, format!("cannot write {}: {e}", path.display())))
}
