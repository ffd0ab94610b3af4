//! `onlap bench`: which flags, and who runs what?
//!
//! With `--repeat` or `--vs` every run is a process of its own (this binary with the same flags and
//! one engine), so that one run's memory, caches and threads do not weigh on the next; engines
//! alternate.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use onlap_base::{Error, ErrorKind, Result};
use onlap_lab::engine::SyncMode;
use onlap_lab::figures::{self, FigurePlan};
use onlap_lab::generate::Workload;
use onlap_lab::measure::environment::Environment;
use onlap_lab::report::{self, Report, RunReport};
use onlap_lab::trials::{self, Suite, Trial, TrialPlan, TrialReport};
use onlap_lab::workload::{self, Api, Plan, Progress, parse_steps};
use onlap_lab::{drivers, names, units};

use crate::{Outcome, interrupt, version};

/// What can be benched.
const WORKLOADS: [&str; 8] =
    ["ibench", "six", "keyed", "sync", "micro", "transactions", "changes", "wire"];

/// Steps where `--steps` is not given.
const IBENCH_STEPS: &str = "l.i0,l.x,l.i1,l.i2,settle,q100.1,q1000.1";
const SIX_STEPS: &str = "l.i1,settle,c.1,c.2,u.1";
const KEYED_STEPS: &str = "l.i1,settle,get,get.cold";

/// Rows and runs where they are not given; figures are defined on more than a quick look takes.
const ROWS: &str = "1M";
const FIGURE_ROWS: &str = "5M";
const FIGURE_RUNS: usize = 3;
const TRIAL_ROWS: &str = "20M";
const TRIAL_SECONDS: f64 = 60.0;

/// Flags of `onlap bench`
#[derive(clap::Args)]
pub struct Args {
    /// What to run: ibench (the insert benchmark), six (six indexes over random UUIDs), keyed (keys
    /// in random order), sync (how long synced writes take on the device), micro (all figures beside
    /// their floors and targets), transactions (those of concurrent transactions, index builds and odd
    /// tables), changes (those of deletes and updates that read no row), wire (the server beside
    /// PostgreSQL 15)
    workload: String,
    /// Engine to measure: onlap, or a peer that is built in
    #[arg(long, default_value = "onlap")]
    engine: String,
    /// Rows of a load step; units k, M, B [default: 1M, for micro 5M, for
    /// transactions and changes 20M]
    #[arg(long)]
    rows: Option<String>,
    /// Secondary indexes [default: all of the workload]
    #[arg(long)]
    secondary: Option<usize>,
    /// Rows of a commit [default: the step's own: 100 for l.i0, 50 for l.i1, 5 for l.i2]
    #[arg(long)]
    commit_rows: Option<usize>,
    /// Client threads
    #[arg(long, default_value_t = 1)]
    clients: usize,
    /// Longest duration of a step in seconds [default: none for loads, 10 for queries, 3 for
    /// sync, 60 for transactions and changes]
    #[arg(long)]
    seconds: Option<f64>,
    /// Steps, separated by commas: l.i0 load with the key only, l.x create indexes, l.i1 load,
    /// l.i2 load a tenth in small commits, settle, qN.M query beside N inserts per second (0, max),
    /// c.M count through each index, u.M update by key, get, get.cold, scan.1, scan.all, scan.cold, recover, fdatasync;
    /// for micro its sections: load, row, long, marginal, six, fsync, clients, get, range, scan,
    /// recover; for transactions its trials: updates, hot, build, queue, tables, large; for changes:
    /// deletes, adds, cold, all, blind, changed, space, readers, groups, entries; for wire: inserts,
    /// copy, sums, sysbench, pgbench, point, start
    #[arg(long)]
    steps: Option<String>,
    /// The engine's memory budget; units k, M, G
    #[arg(long, default_value = "256MiB")]
    memory: String,
    /// For wire, a memory cgroup around each server whose data is to be larger than memory, page cache
    /// included; the server is told to take 60 percent [default: none]
    #[arg(long, value_name = "SIZE")]
    cgroup_memory: Option<String>,
    /// When a commit is acknowledged: fsync, interval:MS or os
    #[arg(long, default_value = "os")]
    sync: String,
    /// Directory for the data, kept afterwards [default: a temporary one]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Runs per engine; the report has the medians [default: 1, for micro, transactions and
    /// changes 3]
    #[arg(long)]
    repeat: Option<usize>,
    /// Write the report as JSON to this file
    #[arg(long)]
    json: Option<PathBuf>,
    /// Alternate with this engine and print ratios
    #[arg(long)]
    vs: Option<String>,
    /// How a commit's rows are handed over: batch (columns) or row (one by one)
    #[arg(long, default_value = "batch")]
    api: String,
}

/// Runs `onlap bench`.
pub fn run(args: &Args) -> Result<Outcome> {
    match names::choose("workload", &args.workload, &WORKLOADS)? {
        "sync" => run_sync(args),
        "micro" => run_figures(args),
        "transactions" => run_trials(args, Suite::Transactions),
        "changes" => run_trials(args, Suite::Changes),
        "wire" => run_trials(args, Suite::Wire),
        "six" => run_workload(args, Workload::Six),
        "keyed" => run_workload(args, Workload::Keyed),
        _ => run_workload(args, Workload::Ibench),
    }
}

fn run_workload(args: &Args, workload: Workload) -> Result<Outcome> {
    let plan = args.plan(workload)?;
    plan.check()?;
    let repeat = args.repeat.unwrap_or(1);
    if repeat == 0 {
        return Err(Error::new(ErrorKind::InvalidInput, "--repeat must be above zero"));
    }
    if let Some(peer) = &args.vs {
        names::choose("engine", peer, &drivers::ENGINES)?;
        if *peer == plan.engine {
            let text = format!("--vs {peer} is the engine itself");
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
    }
    let (mut runs, mut peer_runs) = (Vec::new(), Vec::new());
    if repeat == 1 && args.vs.is_none() {
        let progress = match std::io::stderr().is_terminal() {
            true => Progress::Shown,
            false => Progress::Silent,
        };
        runs.push(workload::run(&plan, interrupt::flag(), progress)?);
    } else {
        for _ in 0..repeat {
            runs.push(run_child(&plan)?);
            if let Some(peer) = &args.vs {
                peer_runs.push(run_child(&Plan { engine: peer.clone(), ..plan.clone() })?);
            }
        }
    }
    let report = Report::of(runs, peer_runs)?;
    print(&report);
    if let Some(path) = &args.json {
        write_json(path, &report.to_json())?;
    }
    Ok(Outcome::Good)
}

fn print(report: &Report) {
    println!("{}", report.environment.line());
    let s = &report.settings;
    println!(
        "{}: {} rows, {} secondary indexes, {} clients, {} of memory, sync {}, API {}, {}\n",
        report.workload,
        units::grouped(s.rows),
        s.secondary,
        s.clients,
        units::size(s.memory_bytes),
        s.sync,
        s.api,
        if report.repeat == 1 { "1 run".into() } else { format!("medians of {}", report.repeat) },
    );
    print!("{}", report::print_steps(&report.engine, &report.steps));
    if let Some(versus) = &report.versus {
        println!();
        print!("{}", report::print_steps(&versus.engine, &versus.steps));
        println!();
        print!("{}", report::print_ratios(&report.engine, &versus.engine, &versus.ratios));
    }
}

fn write_json(path: &Path, json: &str) -> Result<()> {
    std::fs::write(path, format!("{json}\n"))
        .map_err(|e| Error::new(ErrorKind::Io, format!("cannot write {}: {e}", path.display())))
}

impl Args {
    fn plan(&self, workload: Workload) -> Result<Plan> {
        let default_steps = match workload {
            Workload::Ibench => IBENCH_STEPS,
            Workload::Six => SIX_STEPS,
            Workload::Keyed => KEYED_STEPS,
        };
        Ok(Plan {
            workload,
            engine: self.engine.clone(),
            rows: units::parse_count(self.rows.as_deref().unwrap_or(ROWS))?,
            secondary: self.secondary.unwrap_or(workload.shape().indexes.len()),
            commit_rows: self.commit_rows,
            clients: self.clients,
            seconds: self.seconds,
            steps: parse_steps(self.steps.as_deref().unwrap_or(default_steps))?,
            memory: units::parse_size(&self.memory)?,
            sync: self.sync.parse::<SyncMode>().map_err(|_| {
                names::unknown("sync mode", &self.sync, &["fsync", "interval:MS", "os"])
            })?,
            dir: self.dir.clone(),
            api: self.api.parse::<Api>()?,
            commit: version::COMMIT.to_owned(),
        })
    }
}

/// One run of one engine in a process of its own.
fn run_child(plan: &Plan) -> Result<RunReport> {
    let text = child(plan.workload.name(), flags(plan))?;
    let report: Report = serde_json::from_str(&text).map_err(unreadable)?;
    Ok(RunReport {
        environment: report.environment,
        workload: report.workload,
        engine: report.engine,
        settings: report.settings,
        steps: report.steps,
    })
}

/// What a process of its own reports of a workload. One that missed a figure has a report, too.
fn child(workload: &str, flags: Vec<(&'static str, OsString)>) -> Result<String> {
    let io = |what: &str, e: std::io::Error| Error::new(ErrorKind::Io, format!("{what}: {e}"));
    let json = std::env::temp_dir().join(format!("onlap-run-{}.json", std::process::id()));
    let program = std::env::current_exe().map_err(|e| io("cannot find this program", e))?;
    let mut command = Command::new(program);
    command.arg("bench").arg(workload).arg("--json").arg(&json);
    for (flag, value) in flags {
        command.arg(flag).arg(value);
    }
    command.stdout(Stdio::null());
    let status = command.status().map_err(|e| io("cannot start a run", e))?;
    let text = std::fs::read_to_string(&json);
    let _ = std::fs::remove_file(&json);
    match status.code() {
        Some(0) => {}
        Some(1) if text.is_ok() => {}
        Some(130) => return Err(Error::new(ErrorKind::Cancelled, "the bench was interrupted")),
        // The run has said why.
        Some(2) => return Err(Error::new(ErrorKind::InvalidInput, "the run was refused")),
        _ => return Err(Error::new(ErrorKind::Io, format!("a run of {workload} failed"))),
    }
    text.map_err(|e| io("a run left no report", e))
}

fn unreadable(e: serde_json::Error) -> Error {
    Error::new(ErrorKind::Io, format!("a run's report: {e}"))
}

/// The flags that make a plan.
fn flags(plan: &Plan) -> Vec<(&'static str, OsString)> {
    let steps: Vec<String> = plan.steps.iter().map(|s| s.name()).collect();
    let mut flags = vec![
        ("--engine", plan.engine.clone()),
        ("--rows", plan.rows.to_string()),
        ("--secondary", plan.secondary.to_string()),
        ("--clients", plan.clients.to_string()),
        ("--steps", steps.join(",")),
        ("--memory", plan.memory.to_string()),
        ("--sync", plan.sync.to_string()),
        ("--api", plan.api.name().to_owned()),
    ];
    flags.extend(plan.commit_rows.map(|n| ("--commit-rows", n.to_string())));
    flags.extend(plan.seconds.map(|n| ("--seconds", n.to_string())));
    let mut flags: Vec<(&str, OsString)> =
        flags.into_iter().map(|(flag, value)| (flag, value.into())).collect();
    flags.extend(plan.dir.as_ref().map(|dir| ("--dir", dir.clone().into_os_string())));
    flags
}

fn run_figures(args: &Args) -> Result<Outcome> {
    let plan = FigurePlan {
        engine: args.engine.clone(),
        rows: units::parse_count(args.rows.as_deref().unwrap_or(FIGURE_ROWS))?,
        repeat: args.repeat.unwrap_or(FIGURE_RUNS),
        memory: units::parse_size(&args.memory)?,
        dir: args.dir.clone(),
        sections: figures::parse_sections(args.steps.as_deref())?,
        commit: version::COMMIT.to_owned(),
    };
    let shown = std::io::stderr().is_terminal();
    let report = figures::run(&plan, &mut |run| {
        if shown {
            let steps: Vec<String> = run.steps.iter().map(|s| s.name()).collect();
            eprintln!("{} {} {}", run.engine, run.workload.name(), steps.join(","));
        }
        run_child(run)
    })?;
    println!("{}\n", report.environment.line());
    print!("{}", report.table());
    if let Some(path) = &args.json {
        write_json(path, &report.to_json())?;
    }
    let missed = report.figures.iter().any(|f| f.verdict() == "MISSED");
    Ok(if missed { Outcome::Finding } else { Outcome::Good })
}

/// Several trials are processes of their own.
fn run_trials(args: &Args, suite: Suite) -> Result<Outcome> {
    let plan = TrialPlan {
        rows: units::parse_count(args.rows.as_deref().unwrap_or(TRIAL_ROWS))?,
        seconds: args.seconds.unwrap_or(TRIAL_SECONDS),
        repeat: args.repeat.unwrap_or(FIGURE_RUNS),
        cgroup_memory: args.cgroup_memory.as_deref().map(units::parse_size).transpose()?,
        dir: args.dir.clone(),
        commit: version::COMMIT.to_owned(),
    };
    let trials = trials::parse_trials(suite, args.steps.as_deref())?;
    let mut report = TrialReport::default();
    for trial in &trials {
        if std::io::stderr().is_terminal() && trials.len() > 1 {
            eprintln!("{}", trial.name());
        }
        let one = match trials.len() {
            1 => trials::run(&plan, *trial, interrupt::flag())?,
            _ => trial_child(&args.workload, &plan, *trial)?,
        };
        report.environment = one.environment;
        report.figures.extend(one.figures);
    }
    println!("{}\n", report.environment.line());
    print!("{}", report.table());
    if let Some(path) = &args.json {
        write_json(path, &report.to_json())?;
    }
    let missed = report.figures.iter().any(|f| f.verdict() == "MISSED");
    Ok(if missed { Outcome::Finding } else { Outcome::Good })
}

fn trial_child(suite: &str, plan: &TrialPlan, trial: Trial) -> Result<TrialReport> {
    let mut flags = vec![
        ("--steps", OsString::from(trial.name())),
        ("--rows", plan.rows.to_string().into()),
        ("--seconds", plan.seconds.to_string().into()),
        ("--repeat", plan.repeat.to_string().into()),
    ];
    flags.extend(plan.cgroup_memory.map(|n| ("--cgroup-memory", n.to_string().into())));
    flags.extend(plan.dir.as_ref().map(|dir| ("--dir", dir.clone().into_os_string())));
    serde_json::from_str(&child(suite, flags)?).map_err(unreadable)
}

fn run_sync(args: &Args) -> Result<Outcome> {
    let dir = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let report = onlap_lab::sync::run(&dir, args.seconds, version::COMMIT, interrupt::flag())?;
    println!("{}\n", Environment::of(&dir, version::COMMIT).line());
    print!("{}", report.table());
    if let Some(path) = &args.json {
        write_json(path, &report.to_json())?;
    }
    Ok(Outcome::Good)
}
