//! Blind upserts of random keys over a table's rows, next to plain inserts into a table without the
//! promise, and what readers pay for keys that are not resolved yet.

use std::time::Instant;

use onlap::{Batch, Column, Database, Table, Vector};
use onlap_base::Result;
use onlap_base::rng::Rng;

use super::{COMMIT_ROWS, Stage, figure, sales};
use crate::drivers;
use crate::figures::{Better, Figure};
use crate::generate::Workload;
use crate::report::median;

/// Of so many rows, one is upserted in each run.
const SHARE: u64 = 20;

pub(super) fn run(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let rows = stage.plan.rows;
    let plain = loaded(stage, "plain", false)?;
    let blind = loaded(stage, "blind", true)?;
    let part = rows / SHARE;
    let mut rng = Rng::new(2);
    let (mut inserts, mut upserts, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut next_key = rows as i64;
    for _ in 0..stage.plan.repeat {
        // Each begins with nothing in memory, and with nothing to do for the other.
        blind.0.flush()?;
        let a = rate(
            stage,
            part,
            &mut |n| {
                next_key += n as i64;
                ((next_key - n as i64 + 1)..=next_key).collect()
            },
            &mut |batch| plain.1.insert_batch(batch).map(drop),
        )?;
        plain.0.flush()?;
        let b = rate(
            stage,
            part,
            &mut |n| (0..n).map(|_| 1 + rng.below(rows) as i64).collect(),
            &mut |batch| blind.1.upsert_batch(batch).map(drop),
        )?;
        inserts.push(a);
        upserts.push(b);
        ratios.push(b / a);
    }
    assert_eq!(blind.0.snapshot()?.count(&blind.1)?, rows, "an upsert replaces a row");
    let work = format!(
        "blind upserts of random keys over {} rows, {} indexes / inserts",
        crate::units::grouped(rows),
        sales::SALES.indexes.len()
    );
    let note = format!("{:.0} against {:.0} rows/s", median(&mut upserts), median(&mut inserts));
    Ok(vec![figure(&work, median(&mut ratios), (0.7, 0.9), Better::Higher, "x").noting(note)])
}

fn loaded(stage: &Stage<'_>, name: &str, blind: bool) -> Result<(Database, Table)> {
    let db = stage.open(name, stage.scarce_memory())?;
    let mut spec = drivers::onlap_spec(&sales::SALES, sales::SALES.indexes.len());
    if blind {
        spec = spec.blind_writes();
    }
    let table = db.create_table(spec)?;
    sales::load(stage, stage.plan.rows, &mut |batch| table.insert_batch(batch).map(drop))?;
    db.settle()?;
    Ok((db, table))
}

/// Rows written per second, with the keys that `keys` gives for so many rows.
fn rate(
    stage: &Stage<'_>,
    rows: u64,
    keys: &mut dyn FnMut(usize) -> Vec<i64>,
    write: &mut dyn FnMut(Batch) -> Result<()>,
) -> Result<f64> {
    let mut generator = Workload::Ibench.generator(1, 7);
    let began = Instant::now();
    for _ in 0..rows / COMMIT_ROWS as u64 {
        stage.check()?;
        let mut batch = generator.batch(COMMIT_ROWS, 1_700_000_000_000_000);
        let mut chosen = keys(COMMIT_ROWS);
        chosen.sort_unstable();
        chosen.dedup();
        batch.truncate(chosen.len());
        batch.rows = chosen.len();
        batch.columns.push(Column { data: Vector::Int(vec![1; chosen.len()]), nulls: None });
        batch.columns[0] = Column { data: Vector::Int(chosen), nulls: None };
        write(batch)?;
    }
    Ok(rows as f64 / began.elapsed().as_secs_f64())
}
