//! What do accounts of indexes, times of commits, figures of the past and counts of statements cost inserts, and how far off is what advice
//! foretells of an index?
//!
//! Loads with them and without alternate, each in a database of its own, or over the wire in a table of its own; which of both comes
//! first alternates as well. With them samples of the figures are kept, and a second thread reads all figures and samples every second, as a
//! console or a monitor does. The medians are compared.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use onlap::{IndexSpec, PREDICTION_ROWS};
use onlap_base::Result;
use onlap_base::clock::keep_accounts;

use super::{COMMIT_ROWS, MEMORY, Stage, figure, purchases};
use crate::figures::{Better, Figure};
use crate::generate::Workload;
use crate::report::median;

/// What they may cost, in percent: floor and target.
const BOUNDS: (f64, f64) = (2.0, 1.0);
/// What predictions may err by, in percent: floor and target.
const ERRORS: (f64, f64) = (20.0, 10.0);
/// How often figures are read.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A reader ends within this time.
const SLICE: Duration = Duration::from_millis(20);

/// Rates with what is measured, and without; percent that it costs.
fn compared(
    stage: &Stage<'_>,
    what: &str,
    load: &mut dyn FnMut(usize, bool) -> Result<f64>,
) -> Result<Figure> {
    let mut rates = [Vec::new(), Vec::new()];
    for run in 0..stage.plan.repeat * 2 {
        let first = run % 2 == 0;
        for with in [first, !first] {
            rates[usize::from(with)].push(load(run, with)?);
        }
    }
    let [without, with] = rates.map(|mut of| median(&mut of));
    let percent = (without / with - 1.0) * 100.0;
    let note = format!(
        "{with:.0} against {without:.0} rows/s without; {} rows, {} runs of each",
        stage.plan.rows,
        stage.plan.repeat * 2
    );
    Ok(figure(what, percent, BOUNDS, Better::Lower, "%").noting(note))
}

/// Predicts the secondary indexes of the insert benchmark as advice does, and builds them: how far off the worst prediction is, of their
/// size and of the bytes that were written for them.
pub(super) fn predicted(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let db = stage.open("predicted", MEMORY)?;
    let table = purchases(&db, 0)?;
    stage.load(stage.plan.rows, COMMIT_ROWS, &mut |batch| table.insert_batch(batch).map(drop))?;
    let shape = Workload::Ibench.shape();
    let (mut of_size, mut of_writes, mut notes) = (0.0f64, 0.0f64, Vec::new());
    for index in shape.indexes {
        stage.check()?;
        let key = index.columns.iter().map(|at| shape.columns[*at].0);
        let spec = IndexSpec::new(index.name, key);
        let foretold = db.predict_index(&table, &spec, PREDICTION_ROWS)?.bytes;
        db.create_index(shape.name, spec)?;
        let stats = db.stats_without_keys()?;
        let mut all = stats.tables.iter().flat_map(|table| &table.indexes);
        let built = all.find(|built| built.name == index.name).expect("it was just created");
        let written = built.written.flushed + built.written.merged;
        let percent = |bytes: u64| (foretold as f64 / bytes as f64 - 1.0) * 100.0;
        let (size, writes) = (percent(built.bytes), percent(written));
        of_size = of_size.max(size.abs());
        of_writes = of_writes.max(writes.abs());
        notes.push(format!("{} {size:+.1} % of {} bytes", index.name, built.bytes));
    }
    db.close()?;
    let note = format!("{} rows; {}", stage.plan.rows, notes.join(", "));
    let sizes = "size of an advised index: worst error of the prediction";
    let writes = "bytes written for an advised index: worst error of the prediction";
    Ok(vec![
        figure(sizes, of_size, ERRORS, Better::Lower, "%").noting(note),
        figure(writes, of_writes, ERRORS, Better::Lower, "%"),
    ])
}

/// Inserts into the embedded engine with accounts, and without.
pub(super) fn accounts(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let mut load = |run: usize, with: bool| {
        keep_accounts(with);
        let loaded = accounted(stage, &format!("accounts{run}-{with}"), with);
        keep_accounts(true);
        loaded
    };
    let what = "inserts, 3 indexes: accounts, times of commits, samples and reading them cost";
    Ok(vec![compared(stage, what, &mut load)?])
}

fn accounted(stage: &Stage<'_>, name: &str, with: bool) -> Result<f64> {
    let db = stage.open(name, MEMORY)?;
    let table = purchases(&db, 3)?;
    let ended = AtomicBool::new(false);
    if with {
        db.keep_samples(Box::new(|| 0));
    }
    let rate = std::thread::scope(|scope| {
        scope.spawn(|| {
            while with && !ended.load(Ordering::Relaxed) {
                std::hint::black_box(db.stats_without_keys().is_ok());
                std::hint::black_box(db.samples().is_ok());
                let mut waited = Duration::ZERO;
                while waited < LOOK_EVERY && !ended.load(Ordering::Relaxed) {
                    std::thread::sleep(SLICE);
                    waited += SLICE;
                }
            }
        });
        let rows = stage.plan.rows;
        let rate = stage.load(rows, COMMIT_ROWS, &mut |batch| table.insert_batch(batch).map(drop));
        ended.store(true, Ordering::Relaxed);
        rate
    })?;
    db.close()?;
    std::fs::remove_dir_all(stage.dir.join(name))?;
    Ok(rate)
}

/// Multi-row INSERT over the wire with statements counted, and not.
#[cfg(feature = "wire")]
pub(super) fn counted(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    use super::wire::start_onlap;
    use crate::wire::{insert_text, of_client};

    let server = start_onlap(stage, "counted", MEMORY)?;
    let mut client = server.connect()?;
    let mut load = |_: usize, with: bool| {
        let track = if with { "top" } else { "none" };
        let shape = Workload::Ibench.shape();
        let mut all = vec![
            format!("SET pg_stat_statements.track = {track}"),
            format!("DROP TABLE IF EXISTS {}", shape.name),
        ];
        all.extend(crate::wire::create_table(shape, 3, server.kind()));
        for sql in all {
            client.batch_execute(&sql).map_err(|e| of_client(&e))?;
        }
        let mut text = String::new();
        stage.load(stage.plan.rows, COMMIT_ROWS, &mut |batch| {
            insert_text(shape, &batch, &mut text);
            client.batch_execute(&text).map_err(|e| of_client(&e))
        })
    };
    let what = "multi-row INSERT, 100 per statement, 3 indexes: counting statements costs";
    let figure = compared(stage, what, &mut load)?;
    drop(client);
    server.stop()?;
    Ok(vec![figure])
}
