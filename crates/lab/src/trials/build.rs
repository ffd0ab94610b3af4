//! Three indexes built in one scan, and the inserts next to it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use onlap::{Database, Table};
use onlap_base::Result;

use super::{COMMIT_ROWS, ROOMY_MEMORY, Stage, figure, purchases};
use crate::drivers;
use crate::figures::{Better, Figure};
use crate::generate::Workload;

/// Time of inserts before the build, and after it.
const AROUND: Duration = Duration::from_secs(3);

pub(super) fn run(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let rows = stage.plan.rows;
    let (db, table) = loaded(stage, "alone")?;
    let began = Instant::now();
    build(&db, &table)?;
    let rate = rows as f64 / began.elapsed().as_secs_f64();
    db.close()?;
    let (db, table) = loaded(stage, "beside")?;
    let Beside { before, during, after, took } = beside(stage, &db, &table)?;
    db.close()?;
    let grouped = crate::units::grouped(rows);
    Ok(vec![
        figure(
            &format!("three indexes on {grouped} rows, in one scan"),
            rate / 1e6,
            (4.0, 8.0),
            Better::Higher,
            "M rows/s",
        ),
        figure(
            "inserts while they build / before",
            during / before,
            (0.6, 0.8),
            Better::Higher,
            "x",
        )
        .noting(format!(
            "{during:.0} against {before:.0} rows/s, with the indexes {after:.0}; the build took \
             {took:.1} s"
        )),
    ])
}

fn loaded(stage: &Stage<'_>, name: &str) -> Result<(Database, Table)> {
    let db = stage.open(name, ROOMY_MEMORY)?;
    let table = purchases(&db, 0)?;
    stage.load(stage.plan.rows, COMMIT_ROWS, &mut |batch| table.insert_batch(batch).map(drop))?;
    db.settle()?;
    Ok((db, table))
}

fn build(db: &Database, table: &Table) -> Result<()> {
    let shape = Workload::Ibench.shape();
    let specs = shape.indexes.iter().map(|index| drivers::onlap_index(shape, index));
    db.create_indexes(&table.name(), specs.collect::<Vec<_>>())
}

/// Rows inserted per second around a build, and its seconds.
struct Beside {
    before: f64,
    during: f64,
    after: f64,
    took: f64,
}

fn beside(stage: &Stage<'_>, db: &Database, table: &Table) -> Result<Beside> {
    let (inserted, done) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let writer = scope.spawn(|| -> Result<()> {
            let mut generator = Workload::Ibench.generator(1, 1);
            while !done.load(Ordering::Relaxed) {
                stage.check()?;
                table.insert_batch(generator.batch(COMMIT_ROWS, 1_700_000_000_000_000))?;
                inserted.fetch_add(COMMIT_ROWS as u64, Ordering::Relaxed);
            }
            Ok(())
        });
        let rate = |from: u64, began: Instant| {
            (inserted.load(Ordering::Relaxed) - from) as f64 / began.elapsed().as_secs_f64()
        };
        let began = Instant::now();
        thread::sleep(AROUND);
        let before = rate(0, began);
        let (from, began) = (inserted.load(Ordering::Relaxed), Instant::now());
        let built = build(db, table);
        let (during, took) = (rate(from, began), began.elapsed().as_secs_f64());
        let (from, began) = (inserted.load(Ordering::Relaxed), Instant::now());
        thread::sleep(AROUND);
        let after = rate(from, began);
        done.store(true, Ordering::Relaxed);
        writer.join().expect("the writer does not panic")?;
        built.map(|()| Beside { before, during, after, took })
    })
}
