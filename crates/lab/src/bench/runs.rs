//! Engines side by side: the runs of one command, each in a process of its own where there are several.

use std::io::IsTerminal;
use std::path::Path;

use onlap_base::{Error, ErrorKind, Result};
use onlap_process::exit::Outcome;
use onlap_process::interrupt;

use crate::campaign::{Campaign, Job, Runner, parse_rows};
use crate::engine::SyncMode;
use crate::generate::Workload;
use crate::report::{self, Comparison, RunReport, html, markdown};
#[cfg(feature = "wire")]
use crate::served::{self, Served, ServedPlan};
use crate::workload::{self, Api, Plan, Progress, Surroundings, parse_steps};
use crate::{names, units, volume};

use super::process::{Flags, child};
use super::{Args, Program, read_report, write_text};

/// Steps where `--steps` is not given.
const IBENCH_STEPS: &str = "l.i0,l.x,l.i1,l.i2,settle,q100.1,q1000.1";
const SIX_STEPS: &str = "l.i1,settle,c.1,c.2,u.1";
const KEYED_STEPS: &str = "l.i1,settle,get,get.cold";

/// Duration of a timed step of statements, and rows of a commit of its loads.
#[cfg(feature = "wire")]
const SERVED_SECONDS: f64 = 60.0;
#[cfg(feature = "wire")]
const SERVED_COMMIT_ROWS: usize = 100;

/// Rows where they are not given.
const ROWS: &str = "1M";
/// Memory where neither it nor a cgroup is given.
const MEMORY: u64 = 256 << 20;
/// Share of a cgroup that is the engine's own, in percent.
const SHARE: u64 = 60;
/// Runs with `--vs`.
const VERSUS_RUNS: usize = 3;

pub(super) fn run(args: &Args, program: &Program) -> Result<Outcome> {
    let campaign = args.campaign(program)?;
    // What is wrong with a single run is found before the first.
    for job in campaign.jobs() {
        args.check(&job, program)?;
    }
    campaign.check()?;
    // Hours of work are not lost for a folder that is not there.
    for file in [&args.json, &args.report, &args.markdown].into_iter().flatten() {
        let folder = file.parent().filter(|p| !p.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) {
            let text = format!("cannot write {}: there is no such folder", file.display());
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
    }
    let before = match (&args.json, args.resume) {
        (Some(path), true) if path.exists() => Some(read_report(path)?),
        (None, true) => {
            let text = "--resume needs the --json of the interrupted command";
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        _ => None,
    };
    let simple = campaign.jobs().len() == 1
        && campaign.cgroup_memory.is_none()
        && campaign.io_limits == [None];
    let mut here = Here { args, program, apart: !simple };
    let done = campaign.run(before, interrupt::flag(), &mut here)?;
    let entries = done.entries()?;
    if !done.runs.is_empty() {
        println!("{}\n", done.machines().join("\n"));
        print!("{}", report::print_entries(&args.workload, &entries));
    }
    let different = done.disagreements();
    different.iter().for_each(|text| println!("answers differ: {text}"));
    if done.interrupted {
        return Err(Error::new(ErrorKind::Cancelled, "the bench was interrupted"));
    }
    let failed = done.runs.iter().any(|run| run.failure.is_some());
    Ok(if failed || !different.is_empty() { Outcome::Finding } else { Outcome::Good })
}

/// Executes jobs here or in processes of their own, and writes the files.
struct Here<'a> {
    args: &'a Args,
    program: &'a Program,
    apart: bool,
}

impl Runner for Here<'_> {
    fn run(&mut self, job: &Job, group: Option<&Path>) -> Result<RunReport> {
        if self.apart {
            let text = child(&self.args.workload, self.args.flags(job)?, group)?;
            return Comparison::from_json(&text)?.into_run();
        }
        let progress = match std::io::stderr().is_terminal() {
            true => Progress::Shown,
            false => Progress::Silent,
        };
        self.args.run_here(job, self.program, progress)
    }

    fn save(&mut self, so_far: &Comparison) -> Result<()> {
        if so_far.runs.is_empty() {
            return Ok(());
        }
        if let Some(path) = &self.args.json {
            write_text(path, &format!("{}\n", so_far.to_json()))?;
        }
        if let Some(path) = &self.args.report {
            write_text(path, &html::page(so_far)?)?;
        }
        if let Some(path) = &self.args.markdown {
            write_text(path, &markdown::table(so_far)?)?;
        }
        Ok(())
    }

    fn say(&mut self, text: &str) {
        eprintln!("{text}");
    }
}

/// This command as one would type it.
fn typed(program: &Program) -> String {
    let quoted = |word: String| match word.contains([' ', '"', '\'', '$', '*']) {
        true => format!("'{}'", word.replace('\'', "'\\''")),
        false => word,
    };
    let words = std::env::args().skip(1).map(quoted);
    std::iter::once(program.name.to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|s| !s.is_empty()).map(str::to_owned).collect()
}

impl Args {
    fn cgroup_bytes(&self) -> Result<Option<u64>> {
        self.cgroup_memory.as_deref().map(units::parse_size).transpose()
    }

    /// The engine's own budget.
    pub(super) fn memory_bytes(&self) -> Result<u64> {
        match (&self.memory, self.cgroup_bytes()?) {
            (Some(memory), _) => units::parse_size(memory),
            (None, Some(all)) => Ok(all * SHARE / 100),
            (None, None) => Ok(MEMORY),
        }
    }

    fn campaign(&self, program: &Program) -> Result<Campaign> {
        let (memory, cgroup_memory) = (self.memory_bytes()?, self.cgroup_bytes()?);
        let mut engines = list(&self.engine);
        if let Some(peer) = &self.vs {
            engines.push(peer.clone());
        }
        if self.url.is_some() && !engines.iter().any(|e| e == "url") {
            match self.engine.as_str() {
                // The default is for those who name nothing.
                "onlap" => engines = vec!["url".into()],
                _ => engines.push("url".into()),
            }
        }
        let clients = list(&self.clients)
            .iter()
            .map(|n| units::parse_count(n).map(|n| n as usize))
            .collect::<Result<Vec<_>>>()?;
        let rows = self.rows.as_deref().unwrap_or(ROWS);
        let rows = parse_rows(rows, &self.workload, cgroup_memory.unwrap_or(memory))?;
        Ok(Campaign {
            workload: self.workload.clone(),
            engines,
            rows,
            clients,
            io_limits: volume::parse_limits(&self.io_limit)?,
            cgroup_memory,
            memory,
            repeat: self.repeat.unwrap_or(if self.vs.is_some() { VERSUS_RUNS } else { 1 }),
            dir: self.dir.clone(),
            url: self.url.clone(),
            device_stats: self.device_stats,
            command: typed(program),
        })
    }

    /// What is around this run, where another bench started it.
    fn around(&self, job: &Job) -> Surroundings {
        let mut around = job.around.clone();
        if self.around_io_limit.is_some() {
            around.io_limit = self.around_io_limit.clone();
        }
        around.cgroup_memory = around.cgroup_memory.or(self.around_cgroup_memory);
        around.group = around.group.or_else(|| self.around_group.clone());
        around
    }

    /// The plan of a run of rows.
    fn plan(&self, job: &Job, workload: Workload, program: &Program) -> Result<Plan> {
        let default_steps = match workload {
            Workload::Ibench => IBENCH_STEPS,
            Workload::Six => SIX_STEPS,
            Workload::Keyed => KEYED_STEPS,
        };
        Ok(Plan {
            workload,
            engine: job.engine.clone(),
            rows: job.rows,
            secondary: self.secondary.unwrap_or(workload.shape().indexes.len()),
            commit_rows: self.commit_rows,
            clients: job.clients,
            seconds: self.seconds,
            steps: parse_steps(self.steps.as_deref().unwrap_or(default_steps))?,
            memory: self.memory_bytes()?,
            sync: self.sync_mode()?,
            dir: job.dir.clone(),
            api: self.api.parse::<Api>()?,
            commit: program.commit.to_owned(),
            around: self.around(job),
        })
    }

    fn sync_mode(&self) -> Result<SyncMode> {
        self.sync
            .parse::<SyncMode>()
            .map_err(|_| names::unknown("sync mode", &self.sync, &["fsync", "interval:MS", "os"]))
    }

    fn row_workload(&self) -> Option<Workload> {
        match self.workload.as_str() {
            "ibench" => Some(Workload::Ibench),
            "six" => Some(Workload::Six),
            "keyed" => Some(Workload::Keyed),
            _ => None,
        }
    }

    fn check(&self, job: &Job, program: &Program) -> Result<()> {
        match self.row_workload() {
            Some(workload) => self.plan(job, workload, program)?.check(),
            None => self.check_served(job, program),
        }
    }

    fn run_here(&self, job: &Job, program: &Program, progress: Progress) -> Result<RunReport> {
        match self.row_workload() {
            Some(workload) => {
                workload::run(&self.plan(job, workload, program)?, interrupt::flag(), progress)
            }
            None => self.run_served(job, program, progress),
        }
    }

    /// The plan of a run of statements.
    #[cfg(feature = "wire")]
    fn served_plan(&self, job: &Job, program: &Program) -> Result<ServedPlan> {
        let workload = Served::named(&self.workload).expect("workloads were chosen from the list");
        let steps = match &self.steps {
            Some(steps) => list(steps),
            None => workload.steps().iter().map(|s| (*s).to_owned()).collect(),
        };
        Ok(ServedPlan {
            workload,
            engine: job.engine.clone(),
            rows: job.rows,
            clients: job.clients,
            seconds: self.seconds.unwrap_or(SERVED_SECONDS),
            steps,
            commit_rows: self.commit_rows.unwrap_or(SERVED_COMMIT_ROWS),
            memory: self.memory_bytes()?,
            sync: self.sync_mode()?,
            dir: job.dir.clone(),
            commit: program.commit.to_owned(),
            around: self.around(job),
        })
    }

    #[cfg(feature = "wire")]
    fn check_served(&self, job: &Job, program: &Program) -> Result<()> {
        self.served_plan(job, program)?.check()
    }

    #[cfg(feature = "wire")]
    fn run_served(&self, job: &Job, program: &Program, progress: Progress) -> Result<RunReport> {
        served::run(&self.served_plan(job, program)?, interrupt::flag(), progress)
    }

    #[cfg(not(feature = "wire"))]
    fn check_served(&self, _: &Job, _: &Program) -> Result<()> {
        let text = format!("{} needs other engines: onlap-lab bench", self.workload);
        Err(Error::new(ErrorKind::Unsupported, text))
    }

    #[cfg(not(feature = "wire"))]
    fn run_served(&self, job: &Job, program: &Program, _: Progress) -> Result<RunReport> {
        self.check_served(job, program).map(|()| RunReport::default())
    }

    /// The flags that make this job of this command.
    fn flags(&self, job: &Job) -> Result<Flags> {
        let mut flags: Flags = vec![
            ("--engine", job.engine.clone().into()),
            ("--rows", job.rows.to_string().into()),
            ("--clients", job.clients.to_string().into()),
            ("--memory", self.memory_bytes()?.to_string().into()),
            ("--sync", self.sync.clone().into()),
            ("--api", self.api.clone().into()),
        ];
        let mut add = |flag, value: Option<String>| {
            flags.extend(value.map(|value| (flag, value.into())));
        };
        add("--secondary", self.secondary.map(|n| n.to_string()));
        add("--commit-rows", self.commit_rows.map(|n| n.to_string()));
        add("--seconds", self.seconds.map(|n| n.to_string()));
        add("--steps", self.steps.clone());
        add("--url", self.url.clone().filter(|_| job.engine == "url"));
        add("--around-io-limit", job.around.io_limit.clone());
        add("--around-cgroup-memory", job.around.cgroup_memory.map(|n| n.to_string()));
        add("--device-stats", job.around.device_stats.then(String::new));
        let paths = [("--dir", &job.dir), ("--around-group", &job.around.group)];
        for (flag, path) in paths {
            flags.extend(path.as_ref().map(|p| (flag, p.clone().into_os_string())));
        }
        Ok(flags)
    }
}

/// One run of one engine in a process of its own, by its plan.
pub(super) fn run_plan(plan: &Plan) -> Result<RunReport> {
    let text = child(plan.workload.name(), plan_flags(plan), None)?;
    Comparison::from_json(&text)?.into_run()?.whole()
}

/// The flags that make a plan.
fn plan_flags(plan: &Plan) -> Flags {
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
    let mut flags: Flags = flags.into_iter().map(|(flag, value)| (flag, value.into())).collect();
    flags.extend(plan.dir.as_ref().map(|dir| ("--dir", dir.clone().into_os_string())));
    flags
}
