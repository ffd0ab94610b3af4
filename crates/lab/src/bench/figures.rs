//! Benches that are not a comparison of engines: figures compared with their targets, trials, the device's syncs.

use std::ffi::OsString;
use std::io::IsTerminal;

use onlap_base::{Error, ErrorKind, Result};
use onlap_process::exit::Outcome;
use onlap_process::interrupt;

use crate::figures::{self, FigurePlan};
use crate::measure::environment::Environment;
use crate::trials::{self, Suite, Trial, TrialPlan, TrialReport};
use crate::units;

use super::process::child;
use super::runs::run_plan;
use super::{Args, Program, write_text};

/// Rows and runs where they are not given; figures are defined on more than a quick look takes.
const FIGURE_ROWS: &str = "5M";
const FIGURE_RUNS: usize = 3;
const TRIAL_ROWS: &str = "20M";
const TRIAL_SECONDS: f64 = 60.0;

pub(super) fn run_figures(args: &Args, program: &Program) -> Result<Outcome> {
    let plan = FigurePlan {
        engine: args.engine.clone(),
        rows: units::parse_count(args.rows.as_deref().unwrap_or(FIGURE_ROWS))?,
        repeat: args.repeat.unwrap_or(FIGURE_RUNS),
        memory: args.memory_bytes()?,
        dir: args.dir.clone(),
        sections: figures::parse_sections(args.steps.as_deref())?,
        commit: program.commit.to_owned(),
    };
    let shown = std::io::stderr().is_terminal();
    let report = figures::run(&plan, &mut |run| {
        if shown {
            let steps: Vec<String> = run.steps.iter().map(|s| s.name()).collect();
            eprintln!("{} {} {}", run.engine, run.workload.name(), steps.join(","));
        }
        run_plan(run)
    })?;
    show(args, &report.environment, &report.table(), &report.to_json())?;
    let missed = report.figures.iter().any(|f| f.verdict() == "MISSED");
    Ok(if missed { Outcome::Finding } else { Outcome::Good })
}

/// Several trials are processes of their own.
pub(super) fn run_trials(args: &Args, program: &Program) -> Result<Outcome> {
    let suite = match args.workload.as_str() {
        "transactions" => Suite::Transactions,
        "changes" => Suite::Changes,
        "ledger-cost" => Suite::Ledger,
        _ => Suite::Wire,
    };
    let plan = TrialPlan {
        rows: units::parse_count(args.rows.as_deref().unwrap_or(TRIAL_ROWS))?,
        seconds: args.seconds.unwrap_or(TRIAL_SECONDS),
        repeat: args.repeat.unwrap_or(FIGURE_RUNS),
        cgroup_memory: args.cgroup_memory.as_deref().map(units::parse_size).transpose()?,
        dir: args.dir.clone(),
        commit: program.commit.to_owned(),
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
    show(args, &report.environment, &report.table(), &report.to_json())?;
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
    serde_json::from_str(&child(suite, flags, None)?)
        .map_err(|e| Error::new(ErrorKind::Io, format!("a run's report: {e}")))
}

pub(super) fn run_sync(args: &Args, program: &Program) -> Result<Outcome> {
    let dir = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let report = crate::sync::run(&dir, args.seconds, program.commit, interrupt::flag())?;
    let environment = Environment::of(&dir, program.commit);
    show(args, &environment, &report.table(), &report.to_json())?;
    Ok(Outcome::Good)
}

/// A report on the screen, and in a file where one is wanted.
fn show(args: &Args, environment: &Environment, table: &str, json: &str) -> Result<()> {
    println!("{}\n", environment.line());
    print!("{table}");
    match &args.json {
        Some(path) => write_text(path, &format!("{json}\n")),
        None => Ok(()),
    }
}
