//! Which figures of which engines stand next to each other?

use std::collections::BTreeMap;

use onlap_base::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use super::{RunReport, Settings, StepReport, median, medians};
use crate::figures::Better;
use crate::units;

/// All runs of a command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Comparison {
    /// The command that repeats it.
    pub command: String,
    /// When it began, in seconds since 1970.
    pub began: u64,
    /// Whether runs are missing because it was interrupted.
    pub interrupted: bool,
    /// The runs, in the order in which they ran.
    pub runs: Vec<RunReport>,
}

/// Runs of one engine under the same conditions.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// What differs between the cases of the comparison; empty where there is one.
    pub case: String,
    /// Whom.
    pub engine: &'a str,
    /// The runs that were whole.
    pub runs: Vec<&'a RunReport>,
    /// Those that ended early.
    pub failed: Vec<&'a RunReport>,
    /// Medians of the whole runs; where there is none, what the first failed one has.
    pub steps: Vec<StepReport>,
}

/// A figure's median and its least and greatest value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Middle.
    pub median: f64,
    /// Least.
    pub least: f64,
    /// Greatest.
    pub most: f64,
}

/// A figure that steps have and that can be compared.
#[derive(Clone, Copy)]
pub struct Metric {
    /// Short name, as a column's head.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Which side is good.
    pub better: Better,
    /// Its value.
    pub of: fn(&StepReport) -> Option<f64>,
}

impl std::fmt::Debug for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const KIB: f64 = 1024.0;

fn per(step: &StepReport, value: Option<f64>) -> Option<f64> {
    value.filter(|_| step.divisor() > 0).map(|v| v / step.divisor() as f64)
}

/// All figures that reports compare.
pub fn metrics() -> &'static [Metric] {
    use Better::{Higher, Lower};
    const fn metric(
        name: &'static str,
        meaning: &'static str,
        better: Better,
        of: fn(&StepReport) -> Option<f64>,
    ) -> Metric {
        Metric { name, meaning, better, of }
    }
    static ALL: [Metric; 12] = [
        metric("inserts/s", "rows inserted per second", Higher, |s| s.ips),
        metric("queries/s", "queries per second", Higher, |s| s.qps.filter(|_| s.tps.is_none())),
        metric("transactions/s", "transactions per second", Higher, |s| s.tps),
        metric("rows scanned/s", "rows read per second by scans", Higher, |s| s.scanned_per_second),
        metric("writes/op", "write I/Os of the device per operation", Lower, |s| {
            per(s, s.device.map(|d| d.writes as f64))
        }),
        metric("reads/op", "read I/Os of the device per operation", Lower, |s| {
            per(s, s.device.map(|d| d.reads as f64))
        }),
        metric("KiB written/op", "bytes that the device wrote per operation", Lower, |s| {
            per(s, s.device.map(|d| d.write_bytes as f64 / KIB))
        }),
        metric("KiB read/op", "bytes that the device read per operation", Lower, |s| {
            per(s, s.device.map(|d| d.read_bytes as f64 / KIB))
        }),
        metric("CPU us/op", "CPU time of the engine per operation", Lower, |s| {
            per(s, s.cpu_us.map(|n| n as f64))
        }),
        metric("disk MiB", "size of all files", Lower, |s| {
            s.disk_bytes.map(|n| n as f64 / (KIB * KIB))
        }),
        metric("max ms", "longest operation", Lower, |s| {
            let all = [s.max_commit_ms, s.max_query_ms];
            all.into_iter().flatten().reduce(f64::max)
        }),
        metric("p99 us", "99th percentile of operations", Lower, |s| {
            s.p99_query_us.or(s.p99_commit_us)
        }),
    ];
    &ALL
}

/// The cases of entries in their order, each once: an engine's entries may stand apart.
pub fn cases_of<'a>(entries: &'a [Entry<'_>]) -> Vec<&'a str> {
    let mut cases: Vec<&str> = Vec::new();
    for entry in entries {
        if !cases.contains(&entry.case.as_str()) {
            cases.push(&entry.case);
        }
    }
    cases
}

/// The steps of entries in their order, each once.
pub fn steps_of<'a>(entries: impl IntoIterator<Item = &'a Entry<'a>>) -> Vec<&'a str> {
    let mut steps: Vec<&str> = Vec::new();
    for step in entries.into_iter().flat_map(|e| &e.steps) {
        if !steps.contains(&step.step.as_str()) {
            steps.push(&step.step);
        }
    }
    steps
}

impl Comparison {
    /// A line for each machine and build that runs are from, with its engines where there are several.
    pub fn machines(&self) -> Vec<String> {
        let mut found: Vec<(String, Vec<&str>)> = Vec::new();
        for run in &self.runs {
            let line = run.environment.line();
            let at = found.iter().position(|(other, _)| *other == line).unwrap_or(found.len());
            if at == found.len() {
                found.push((line, Vec::new()));
            }
            if !found[at].1.contains(&run.engine.as_str()) {
                found[at].1.push(&run.engine);
            }
        }
        let several = found.len() > 1;
        let tell = |(line, engines): (String, Vec<&str>)| match several {
            true => format!("{}: {line}", engines.join(", ")),
            false => line,
        };
        found.into_iter().map(tell).collect()
    }

    /// As JSON, for `--json`.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("reports have string keys and finite numbers")
    }

    /// Reads what [`Comparison::to_json`] wrote.
    pub fn from_json(text: &str) -> Result<Comparison> {
        let bad = |text: String| Error::new(ErrorKind::InvalidInput, text);
        let read: Comparison =
            serde_json::from_str(text).map_err(|e| bad(format!("not a report: {e}")))?;
        match read.runs.is_empty() {
            true => Err(bad("not a report: it has no runs".into())),
            false => Ok(read),
        }
    }

    /// The only run.
    pub fn into_run(mut self) -> Result<RunReport> {
        let none = || Error::new(ErrorKind::Io, "a run left no report");
        self.runs.pop().ok_or_else(none)
    }

    /// What differs between runs, as a label for each.
    fn cases(&self) -> Vec<String> {
        let labels: [fn(&Settings) -> String; 3] = [
            |s| s.io_limit.clone().unwrap_or_else(|| "no I/O limit".into()),
            |s| format!("{} rows", units::grouped(s.rows)),
            |s| format!("{} clients", s.clients),
        ];
        let differs: Vec<_> = labels
            .into_iter()
            .filter(|label| {
                let mut all = self.runs.iter().map(|r| label(&r.settings));
                all.next().is_some_and(|first| all.any(|other| other != first))
            })
            .collect();
        let text = |run: &RunReport| {
            let parts: Vec<String> = differs.iter().map(|label| label(&run.settings)).collect();
            parts.join(", ")
        };
        self.runs.iter().map(text).collect()
    }

    /// The engines of each case, in the order in which they ran first.
    pub fn entries(&self) -> Result<Vec<Entry<'_>>> {
        let mut entries: Vec<Entry<'_>> = Vec::new();
        for (run, case) in self.runs.iter().zip(self.cases()) {
            let same = |e: &&mut Entry<'_>| e.case == case && e.engine == run.engine;
            let at = match entries.iter_mut().find(same) {
                Some(entry) => entry,
                None => {
                    entries.push(Entry {
                        case: case.clone(),
                        engine: &run.engine,
                        runs: Vec::new(),
                        failed: Vec::new(),
                        steps: Vec::new(),
                    });
                    entries.last_mut().expect("was just pushed")
                }
            };
            let list = if run.failure.is_none() { &mut at.runs } else { &mut at.failed };
            list.push(run);
        }
        for entry in &mut entries {
            let runs = if entry.runs.is_empty() { &entry.failed[..1] } else { &entry.runs[..] };
            let steps: Vec<Vec<StepReport>> = runs.iter().map(|r| r.steps.clone()).collect();
            entry.steps = medians(&steps)?;
        }
        Ok(entries)
    }

    /// Where engines that ran the same rows with one client answered differently.
    pub fn disagreements(&self) -> Vec<String> {
        let mut first: BTreeMap<(String, &str), (&str, i64)> = BTreeMap::new();
        let mut found = Vec::new();
        for (run, case) in self.runs.iter().zip(self.cases()) {
            if run.settings.clients > 1 || run.settings.seconds.is_some() || run.failure.is_some() {
                continue;
            }
            for (name, value) in &run.answers {
                let seen = first.entry((case.clone(), name)).or_insert((&run.engine, *value));
                if seen.1 != *value {
                    found.push(format!(
                        "{name}: {value} of {}, {} of {}",
                        run.engine, seen.1, seen.0
                    ));
                }
            }
        }
        found
    }
}

impl Entry<'_> {
    /// Under which conditions its runs ran.
    pub fn settings(&self) -> Option<&Settings> {
        self.runs.first().or(self.failed.first()).map(|run| &run.settings)
    }

    /// A step by its name.
    pub fn step(&self, name: &str) -> Option<&StepReport> {
        self.steps.iter().find(|s| s.step == name)
    }

    /// A figure over all whole runs.
    pub fn spread(&self, step: &str, of: fn(&StepReport) -> Option<f64>) -> Option<Spread> {
        let whole = if self.runs.is_empty() { &self.failed } else { &self.runs };
        let values = whole.iter().filter_map(|r| r.steps.iter().find(|s| s.step == step));
        let mut values: Vec<f64> = values.filter_map(of).filter(|v| v.is_finite()).collect();
        let median = (!values.is_empty()).then(|| median(&mut values))?;
        Some(Spread { median, least: values[0], most: *values.last()? })
    }

    /// Rate of the load with indexes over that without.
    pub fn index_tax(&self) -> Option<f64> {
        let rate = |name: &str| self.step(name)?.ips;
        Some(rate("l.i1")? / rate("l.i0").filter(|r| *r > 0.0)?)
    }
}

/// One engine over another in one case.
#[derive(Clone, Debug, Serialize)]
pub struct Ratios {
    /// What differs between cases.
    pub case: String,
    /// The first engine.
    pub engine: String,
    /// The other one.
    pub peer: String,
    /// The figures that both have.
    pub lines: Vec<RatioLine>,
}

/// A figure of one engine over that of another.
#[derive(Clone, Debug, Serialize)]
pub struct RatioLine {
    /// Of which step.
    pub step: String,
    /// Name of the figure.
    pub metric: &'static str,
    /// Which side is good.
    pub better: Better,
    /// The ratio of the medians, and the least and greatest that the runs allow.
    pub ratio: Spread,
}

impl Ratios {
    /// Behind a title.
    pub fn of_case(&self) -> String {
        if self.case.is_empty() { String::new() } else { format!(", {}", self.case) }
    }
}

impl RatioLine {
    /// What it says.
    pub fn verdict(&self) -> Verdict {
        let ratio = &self.ratio;
        let overlap = ratio.least < 1.0 && ratio.most > 1.0;
        match (self.is_loss(), overlap) {
            _ if (ratio.median - 1.0).abs() <= EVEN => Verdict::Even,
            (false, false) => Verdict::Better,
            (false, true) => Verdict::BetterInNoise,
            (true, true) => Verdict::WorseInNoise,
            (true, false) => Verdict::Worse,
        }
    }

    /// Whether the first engine is worse.
    pub fn is_loss(&self) -> bool {
        match self.better {
            Better::Higher => self.ratio.median < 1.0,
            Better::Lower => self.ratio.median > 1.0,
        }
    }
}

/// What a ratio says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// By more than the spread of the runs, where there are several.
    Better,
    /// In the median, but the spreads overlap.
    BetterInNoise,
    /// The same within three percent.
    Even,
    /// As [`Verdict::BetterInNoise`], on the other side.
    WorseInNoise,
    /// As [`Verdict::Better`], on the other side.
    Worse,
}

impl Verdict {
    /// `better`, `worse` or `even`.
    pub fn class(self) -> &'static str {
        match self {
            Verdict::Better | Verdict::BetterInNoise => "better",
            Verdict::Even => "even",
            Verdict::Worse | Verdict::WorseInNoise => "worse",
        }
    }

    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::BetterInNoise => "better, in noise",
            Verdict::WorseInNoise => "worse, in noise",
            other => other.class(),
        }
    }
}

/// Medians that differ by less say nothing.
const EVEN: f64 = 0.03;

/// The first engine of each case over every other.
pub fn ratios(entries: &[Entry<'_>]) -> Vec<Ratios> {
    let mut all = Vec::new();
    for (at, peer) in entries.iter().enumerate() {
        let first = entries[..at].iter().find(|e| e.case == peer.case);
        let Some(first) = first else { continue };
        let mut lines = Vec::new();
        for step in &peer.steps {
            for metric in metrics() {
                let mine = first.spread(&step.step, metric.of);
                let theirs = peer.spread(&step.step, metric.of);
                let Some((mine, theirs)) = mine.zip(theirs) else { continue };
                if theirs.least <= 0.0 {
                    continue;
                }
                let ratio = Spread {
                    median: mine.median / theirs.median,
                    least: mine.least / theirs.most,
                    most: mine.most / theirs.least,
                };
                let (step, better) = (step.step.clone(), metric.better);
                lines.push(RatioLine { step, metric: metric.name, better, ratio });
            }
        }
        all.push(Ratios {
            case: peer.case.clone(),
            engine: first.engine.to_owned(),
            peer: peer.engine.to_owned(),
            lines,
        });
    }
    all
}
