//! Which steps are there?

use onlap_base::Result;

use crate::names;

/// How many rows each client inserts per second next to queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertRate {
    /// None.
    None,
    /// So many.
    PerSecond(u64),
    /// As many as the engine takes.
    Unlimited,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `l.i0`: load with the key only.
    LoadKeyOnly,
    /// `l.x`: create the secondary indexes.
    CreateIndexes,
    /// `l.i1`: load with indexes.
    Load,
    /// `l.i2`: load with indexes, few rows per commit, a tenth of the rows.
    LoadSmall,
    /// `settle`: wait for background work.
    Settle,
    /// `qN.M`: queries next to N inserts per second and client (0 for none, `max` for no limit), for
    /// the M-th time.
    Query(InsertRate, u32),
    /// `c.M`: count all rows through each secondary index, for the M-th time.
    Count(u32),
    /// `u.M`: add one to a column that is in no index, rows by random keys, for the M-th time.
    Update(u32),
    /// `get`: rows by random keys, cached as far as they fit.
    Get,
    /// `get.cold`: the same after opening the database again, few enough that most blocks are new.
    GetCold,
    /// `scan.1`: one integer column of all rows, cached as far as it fits.
    ScanOne,
    /// `scan.all`: all columns of all rows, cached as far as they fit.
    ScanAll,
    /// `scan.cold`: the same after opening the database again, next to the device's own rate.
    ScanCold,
    /// `recover`: load into the log only, copy the files as a crash would leave them, open them.
    Recover,
    /// `fdatasync`: the device's own rate of synced writes.
    Fdatasync,
}

const PLAIN: [(&str, Step); 12] = [
    ("l.i0", Step::LoadKeyOnly),
    ("l.x", Step::CreateIndexes),
    ("l.i1", Step::Load),
    ("l.i2", Step::LoadSmall),
    ("settle", Step::Settle),
    ("get", Step::Get),
    ("get.cold", Step::GetCold),
    ("scan.1", Step::ScanOne),
    ("scan.all", Step::ScanAll),
    ("scan.cold", Step::ScanCold),
    ("recover", Step::Recover),
    ("fdatasync", Step::Fdatasync),
];

impl Step {
    /// As on the command line.
    pub fn name(self) -> String {
        match self {
            Step::Query(InsertRate::None, pass) => format!("q0.{pass}"),
            Step::Query(InsertRate::PerSecond(rate), pass) => format!("q{rate}.{pass}"),
            Step::Query(InsertRate::Unlimited, pass) => format!("qmax.{pass}"),
            Step::Count(pass) => format!("c.{pass}"),
            Step::Update(pass) => format!("u.{pass}"),
            _ => {
                let plain = PLAIN.iter().find(|(_, step)| *step == self);
                plain.expect("every step without numbers is in the table").0.to_owned()
            }
        }
    }

    /// Rows of a commit where `--commit-rows` is not given: 100, 50 and 5, as published.
    pub(super) fn commit_rows(self) -> usize {
        match self {
            Step::LoadKeyOnly => 100,
            Step::LoadSmall => 5,
            _ => 50,
        }
    }
}

/// Steps of a list such as `l.i0,l.x,l.i1,settle,q100.1`.
pub fn parse_steps(list: &str) -> Result<Vec<Step>> {
    list.split(',').map(str::trim).filter(|s| !s.is_empty()).map(parse_step).collect()
}

fn parse_step(text: &str) -> Result<Step> {
    let plain = || PLAIN.iter().find(|(name, _)| *name == text).map(|(_, step)| *step);
    let query = || {
        let (rate, pass) = text.strip_prefix('q')?.split_once('.')?;
        let rate = match rate {
            "0" => InsertRate::None,
            "max" => InsertRate::Unlimited,
            rate => InsertRate::PerSecond(rate.parse().ok()?),
        };
        Some(Step::Query(rate, pass.parse().ok()?))
    };
    let count = || Some(Step::Count(text.strip_prefix("c.")?.parse().ok()?));
    let update = || Some(Step::Update(text.strip_prefix("u.")?.parse().ok()?));
    plain().or_else(query).or_else(count).or_else(update).ok_or_else(|| {
        let mut valid: Vec<&str> = PLAIN.iter().map(|(name, _)| *name).collect();
        valid.extend(["q100.1", "qmax.1", "c.1", "u.1"]);
        names::unknown("step", text, &valid)
    })
}
