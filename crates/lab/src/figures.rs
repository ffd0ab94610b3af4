//! Does the build reach its figures?
//!
//! One command measures every figure of the write path and prints it next to its floor and target.
//! A [`Section`] is a group of runs that belong together; every run is one [`Plan`], which the caller
//! executes, each in a process of its own. Peers alternate with the engine; medians count.

use std::path::PathBuf;

use onlap_base::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use crate::drivers;
use crate::engine::SyncMode;
use crate::generate::Workload;
use crate::measure::environment::Environment;
use crate::names;
use crate::report::{RunReport, text_table};
use crate::workload::{Api, Plan, Surroundings, parse_steps};

mod sections;
#[cfg(test)]
mod tests;

/// Resident memory above the budget that is allowed, in bytes.
const MEMORY_SLACK: f64 = (64 << 20) as f64;

/// A group of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Insert benchmark, batch API.
    Load,
    /// The same row by row.
    Row,
    /// Ten times the rows.
    Long,
    /// What an index entry costs.
    Marginal,
    /// Six UUID indexes.
    Six,
    /// Synced commits of one row.
    Fsync,
    /// Four clients against one.
    Clients,
    /// Rows by key.
    Get,
    /// Covering ranges.
    Range,
    /// Full scans of four times the rows.
    Scan,
    /// Opening after a crash.
    Recover,
}

const SECTIONS: [(&str, Section); 11] = [
    ("load", Section::Load),
    ("row", Section::Row),
    ("long", Section::Long),
    ("marginal", Section::Marginal),
    ("six", Section::Six),
    ("fsync", Section::Fsync),
    ("clients", Section::Clients),
    ("get", Section::Get),
    ("range", Section::Range),
    ("scan", Section::Scan),
    ("recover", Section::Recover),
];

/// Sections of a list such as `load,six`; all of them where there is none.
pub fn parse_sections(list: Option<&str>) -> Result<Vec<Section>> {
    let valid = SECTIONS.map(|(name, _)| name);
    let Some(list) = list else { return Ok(SECTIONS.map(|(_, section)| section).to_vec()) };
    let section = |text: &str| {
        let name = names::choose("section", text, &valid)?;
        let found = SECTIONS.iter().find(|(n, _)| *n == name);
        Ok(found.expect("the name was chosen from the table").1)
    };
    list.split(',').map(str::trim).filter(|s| !s.is_empty()).map(section).collect()
}

/// What is measured, and on what scale.
#[derive(Clone, Debug)]
pub struct FigurePlan {
    /// The engine.
    pub engine: String,
    /// Rows of the insert benchmark; other sections take multiples of it.
    pub rows: u64,
    /// Alternating runs of which medians are taken.
    pub repeat: usize,
    /// The engine's memory budget in bytes.
    pub memory: u64,
    /// Where directories are made.
    pub dir: Option<PathBuf>,
    /// Which sections.
    pub sections: Vec<Section>,
    /// Commit the binary was built from.
    pub commit: String,
}

impl FigurePlan {
    /// A run of the insert benchmark with this plan's sizes.
    fn base(&self, steps: &str) -> Plan {
        Plan {
            workload: Workload::Ibench,
            engine: self.engine.clone(),
            rows: self.rows,
            secondary: Workload::Ibench.shape().indexes.len(),
            commit_rows: Some(100),
            clients: 1,
            seconds: None,
            steps: parse_steps(steps).expect("the sections' steps are valid"),
            memory: self.memory,
            sync: SyncMode::Os,
            dir: self.dir.clone(),
            api: Api::Batch,
            commit: self.commit.clone(),
            around: Surroundings::default(),
        }
    }
}

/// Which side of a bound is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// At least the bound.
    Higher,
    /// At most the bound.
    Lower,
}

/// One figure compared with its bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What was done and measured.
    pub work: String,
    /// The value; none where it could not be measured.
    pub value: Option<f64>,
    /// What it must reach.
    pub floor: f64,
    /// What it is to reach.
    pub target: f64,
    /// On which side of them.
    pub better: Better,
    /// Unit of all three.
    pub unit: String,
    /// What else to know, or why there is no value.
    pub note: String,
}

impl Figure {
    /// `target`, `floor`, `MISSED` or `-`.
    pub fn verdict(&self) -> &'static str {
        let reaches = |value: f64, bound: f64| match self.better {
            Better::Higher => value >= bound,
            Better::Lower => value <= bound,
        };
        match self.value {
            None => "-",
            Some(v) if reaches(v, self.target) => "target",
            Some(v) if reaches(v, self.floor) => "floor",
            Some(_) => "MISSED",
        }
    }
}

/// All figures of a run, and the runs they come from.
#[derive(Clone, Debug, Serialize)]
pub struct FigureReport {
    /// Where.
    pub environment: Environment,
    /// The figures, by section.
    pub figures: Vec<Figure>,
    /// Every run.
    pub runs: Vec<RunReport>,
}

impl FigureReport {
    /// For people.
    pub fn table(&self) -> String {
        table_of(&self.figures)
    }

    /// For programs.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("reports have string keys and finite numbers")
    }
}

/// Figures compared with their bounds.
pub(crate) fn table_of(figures: &[Figure]) -> String {
    let header = ["work", "value", "floor", "target", "unit", "reaches", "note"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for f in figures {
        let sign = if f.better == Better::Higher { "≥" } else { "≤" };
        rows.push(vec![
            f.work.clone(),
            f.value.map_or_else(|| "-".to_owned(), short),
            format!("{sign} {}", short(f.floor)),
            format!("{sign} {}", short(f.target)),
            f.unit.clone(),
            f.verdict().to_owned(),
            f.note.clone(),
        ]);
    }
    text_table(&rows)
}

/// Three significant digits or a whole number.
fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => crate::units::grouped(value.round() as u64),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Executes one plan; a process of its own where that is possible.
pub type RunOne<'a> = dyn FnMut(&Plan) -> Result<RunReport> + 'a;

/// Runs all sections. A section whose runs fail leaves figures without values that say why; only an
/// interruption ends it all.
pub fn run(plan: &FigurePlan, run_one: &mut RunOne<'_>) -> Result<FigureReport> {
    names::choose("engine", &plan.engine, &drivers::ENGINES)?;
    if plan.rows < ROWS_MIN || plan.repeat == 0 {
        let text = format!("figures need at least {ROWS_MIN} rows and one run");
        return Err(Error::new(ErrorKind::InvalidInput, text));
    }
    let mut bench = sections::Bench::new(plan, run_one);
    for section in &plan.sections {
        bench.section(*section)?;
    }
    Ok(bench.report())
}

/// Fewer rows make no section meaningful.
const ROWS_MIN: u64 = 1_000;
