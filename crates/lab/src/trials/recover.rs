//! How long does a database take to come back from a whole log, and to be checked as a whole?

use std::time::Instant;

use onlap::{CheckOptions, Database, Options, SyncMode};
use onlap_base::{Error, ErrorKind, Result};

use super::{COMMIT_ROWS, ROOMY_MEMORY, Stage, figure, purchases};
use crate::figures::{Better, Figure};
use crate::generate::Workload;
use crate::report::median;
use crate::units;
use crate::workload::copy_files;

/// How full the log is made, in percent of its default limit: beyond that, flushes would make room.
const FULL: u64 = 95;
/// Memory in which a full log's rows need no flush.
const FILL_MEMORY: u64 = 8 << 30;
/// A log that does not fill up with so many rows is cut by flushes.
const ROWS_MAX: u64 = 50_000_000;
/// Commits between two looks at the log.
const COMMITS: usize = 500;

/// Opens copies of a database whose log is as long as it may become by itself.
pub(super) fn recover(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, commit_rows) in [("hundreds", COMMIT_ROWS), ("ones", 1)] {
        let (rows, bytes) = fill_log(stage, name, commit_rows)?;
        let mut seconds = Vec::new();
        for round in 0..stage.plan.repeat {
            let copy = format!("{name}-copy-{round}");
            copy_files(&stage.dir.join(name), &stage.dir.join(&copy))?;
            // What is timed is recovery, not the end of the copy.
            for file in std::fs::read_dir(stage.dir.join(&copy))? {
                std::fs::File::open(file?.path())?.sync_all()?;
            }
            let began = Instant::now();
            let db = stage.open(&copy, ROOMY_MEMORY)?;
            seconds.push(began.elapsed().as_secs_f64());
            let found = db.snapshot()?.count(&db.table(Workload::Ibench.shape().name)?)?;
            if found != rows {
                let text = format!("recovery found {found} of {rows} rows");
                return Err(Error::new(ErrorKind::Corruption, text));
            }
        }
        let took = median(&mut seconds);
        let work = match commit_rows {
            1 => "commits of a row".to_owned(),
            n => format!("commits of {n} rows"),
        };
        let note = format!("{} rows, {}", units::grouped(rows), units::size(bytes));
        let per_row = took * 1e6 / rows as f64;
        figures.push(
            figure(&format!("open with a full log, {work}"), took, (5.0, 5.0), Better::Lower, "s")
                .noting(note),
        );
        let work = format!("recovery per logged row, {work}");
        figures.push(figure(&work, per_row, (0.5, 0.3), Better::Lower, "us"));
    }
    Ok(figures)
}

/// Loads without a flush until the log is full; the rows, and the bytes of the log. The database is left behind
/// as a crash of the process would leave it.
fn fill_log(stage: &Stage<'_>, name: &str, commit_rows: usize) -> Result<(u64, u64)> {
    let mut options = Options::default().memory_limit(FILL_MEMORY).sync(SyncMode::Os);
    // Memtables that are full would be flushed, and the log be cut, long before.
    options.tuning.memtable_bytes = Some(FILL_MEMORY as usize);
    let db = Database::open(stage.dir.join(name), options)?;
    let table = purchases(&db, Workload::Ibench.shape().indexes.len())?;
    let mut generator = Workload::Ibench.generator(1, 0);
    let (limit, mut rows) = (Options::default().log_limit / 100 * FULL, 0);
    loop {
        stage.check()?;
        for _ in 0..COMMITS {
            table.insert_batch(generator.batch(commit_rows, 1_700_000_000_000_000))?;
        }
        rows += (COMMITS * commit_rows) as u64;
        let bytes = db.stats()?.log_bytes;
        if rows > ROWS_MAX {
            let text = format!("the log has {bytes} bytes after {rows} rows: it is flushed early");
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        if bytes >= limit {
            let copy = format!("{name}-open");
            copy_files(&stage.dir.join(name), &stage.dir.join(&copy))?;
            drop((table, db));
            std::fs::remove_dir_all(stage.dir.join(name))?;
            std::fs::rename(stage.dir.join(&copy), stage.dir.join(name))?;
            return Ok((rows, bytes));
        }
    }
}

/// Checks every byte, entry and mark of a settled table.
pub(super) fn check(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let db = stage.open("check", ROOMY_MEMORY)?;
    let table = purchases(&db, Workload::Ibench.shape().indexes.len())?;
    stage
        .load(stage.plan.rows / 2, COMMIT_ROWS, &mut |batch| table.insert_batch(batch).map(drop))?;
    db.settle()?;
    drop(table);
    db.close()?;
    let (mut rates, mut bytes) = (Vec::new(), 0);
    for _ in 0..stage.plan.repeat {
        let began = Instant::now();
        let report = onlap::check(stage.dir.join("check"), &CheckOptions::default())?;
        rates.push(report.bytes as f64 / 1e6 / began.elapsed().as_secs_f64());
        if let Some(finding) = report.findings.first() {
            return Err(Error::new(ErrorKind::Corruption, finding.text.clone()));
        }
        bytes = report.bytes;
    }
    let note = format!("{} of files", units::size(bytes));
    let rate = median(&mut rates);
    Ok(vec![figure("onlap check", rate, (200.0, 400.0), Better::Higher, "MB/s").noting(note)])
}
