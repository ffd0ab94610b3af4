//! Is everything on disk what it says it is?
//!
//! Opens the database (which replays the log) and reads every file: checksums and footers by
//! reading, the order of rows and entries, counts against the manifest, marks in range, keys of
//! unique indexes once among live rows, that every index holds exactly the keys of the live rows
//! (I4), both ways, and that every row obeys the checks and has the parents of its table.
//!
//! The comparison of an index with its table needs no sorting: both sides add up a hash of (row id,
//! key, INCLUDE values) over live rows, per stretch of row ids ([`sums`]).
//!
//! Thread safety: the files of a table are read by as many tasks as the database has background jobs
//! ([`table`]); it is open nowhere else.

use std::path::Path;

use onlap_base::{ErrorKind, Result};

use crate::activity;
use crate::blind;
use crate::database::Database;
use crate::options::Options;
use crate::rules::alter;
use crate::samples;

mod short;
mod sums;
mod table;
#[cfg(test)]
mod tests;

use table::TableCheck;

/// How a check is run.
#[derive(Clone, Default)]
pub struct CheckOptions {
    /// With which settings the database is opened; it is never created.
    pub options: Options,
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The table, where it concerns one.
    pub table: Option<String>,
    /// What is wrong, with file and offset where known.
    pub text: String,
}

/// What a check saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// What is wrong; empty when all is well.
    pub findings: Vec<Finding>,
    /// Tables read.
    pub tables: u64,
    /// Live rows read.
    pub rows: u64,
    /// Index entries read.
    pub entries: u64,
    /// Marks read.
    pub marks: u64,
    /// Column changes read.
    pub changes: u64,
    /// Bytes of the files read.
    pub bytes: u64,
    /// Indexes that were not compared with their rows, because no formulas were set that calculate for them.
    pub unchecked: u64,
}

/// Findings after which a check gives up: the rest would repeat them.
const FINDINGS_MAX: usize = 100;

/// Checks the database in a directory.
///
/// # Errors
/// There is none, another process has it open, or a newer release wrote it. Damage is a finding.
pub fn check(dir: impl AsRef<Path>, options: &CheckOptions) -> Result<CheckReport> {
    check_with(dir, options, &|_| ())
}

/// The same; `prepare` gets the open database before anything is looked at, and may say who calculates for
/// indexes ([`Database::set_formulas`]).
///
/// # Errors
/// As [`check`].
pub fn check_with(
    dir: impl AsRef<Path>,
    options: &CheckOptions,
    prepare: &dyn Fn(&Database),
) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    let opened = Database::open_still(dir.as_ref(), options.options.clone().create(false));
    let db = match opened {
        Ok(db) => db,
        Err(e) if e.kind() == ErrorKind::Corruption => {
            report.findings.push(Finding { table: None, text: e.to_string() });
            return Ok(report);
        }
        Err(e) => return Err(e),
    };
    prepare(&db);
    if let Err(e) = db.flush() {
        report.findings.push(Finding { table: None, text: e.to_string() });
    }
    for (name, state) in db.shared().catalog.named() {
        let view = state.view();
        let shared = db.shared();
        let check = TableCheck::new(&name, &view, shared);
        check.run(&*shared.tasks, shared.options.background_jobs, &mut report);
        match blind::unmarked(&view, FINDINGS_MAX) {
            Ok(found) => report
                .findings
                .extend(found.into_iter().map(|text| Finding { table: Some(name.clone()), text })),
            Err(e) => {
                report.findings.push(Finding { table: Some(name.clone()), text: e.to_string() });
            }
        }
        for broken in alter::broken(db.shared(), &state) {
            report.findings.push(Finding { table: Some(name.clone()), text: broken.to_string() });
        }
        report.tables += 1;
    }
    let samples = samples::check(&db.shared().storage)?;
    let counters = activity::check(db.shared());
    let others = samples.into_iter().chain(counters);
    report.findings.extend(others.map(|text| Finding { table: None, text }));
    db.close()?;
    Ok(report)
}
