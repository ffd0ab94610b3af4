//! All rows in one transaction, several times larger than memory.

use onlap_base::Result;

use super::{COMMIT_ROWS, MEMORY, Stage, figure, purchases};
use crate::figures::{Better, Figure};
use crate::generate::Workload;
use crate::measure::process::{Resident, reset_peak};
use crate::report::median;

pub(super) fn run(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let rows = stage.plan.rows / 2;
    let indexes = Workload::Ibench.shape().indexes.len();
    let (mut ratios, mut peak) = (Vec::new(), 0);
    let (mut large, mut small) = (Vec::new(), Vec::new());
    for round in 0..stage.plan.repeat {
        let db = stage.open(&format!("small-{round}"), MEMORY)?;
        let table = purchases(&db, indexes)?;
        let began = std::time::Instant::now();
        stage.load(rows, COMMIT_ROWS, &mut |batch| table.insert_batch(batch).map(drop))?;
        small.push(rows as f64 / began.elapsed().as_secs_f64());
        db.close()?;
        let db = stage.open(&format!("large-{round}"), MEMORY)?;
        let table = purchases(&db, indexes)?;
        reset_peak();
        let began = std::time::Instant::now();
        let mut tx = db.begin()?;
        stage.load(rows, COMMIT_ROWS, &mut |batch| tx.insert_batch(&table, batch))?;
        tx.commit()?;
        large.push(rows as f64 / began.elapsed().as_secs_f64());
        peak = peak.max(Resident::now().peak);
        assert_eq!(db.snapshot()?.count(&table)?, rows, "every row is there");
        db.close()?;
        ratios.push(large[round] / small[round]);
    }
    let work = format!(
        "one transaction of {} rows in {} MiB / commits of {COMMIT_ROWS} rows",
        crate::units::grouped(rows),
        MEMORY >> 20
    );
    let note = format!(
        "{:.0} against {:.0} rows/s; peak {} MiB resident",
        median(&mut large),
        median(&mut small),
        peak >> 20
    );
    Ok(vec![figure(&work, median(&mut ratios), (0.5, 0.8), Better::Higher, "x").noting(note)])
}
