//! Space of a table whose rows are deleted, inserted and changed at random, next to that of its live rows.

use std::time::{Duration, Instant};

use onlap::{Change, Database, Value};
use onlap_base::Result;
use onlap_base::rng::Rng;

use super::{COMMIT_ROWS, Stage, figure, sales};
use crate::figures::{Better, Figure};

/// The figure is of ten minutes where other trials take their one.
const LONGER: f64 = 10.0;
const SAMPLE_EVERY: Duration = Duration::from_millis(500);

pub(super) fn run(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let rows = stage.plan.rows / 4;
    let db = stage.open("space", stage.scarce_memory())?;
    let table = sales::create(&db)?;
    sales::load(stage, rows, &mut |batch| table.insert_batch(batch).map(drop))?;
    db.settle()?;
    let clean = Parts::of(&db)?;
    let live = clean.sum();
    let mut generator = crate::generate::Workload::Ibench.generator(1, 3);
    let mut rng = Rng::new(3);
    let mut keys: Vec<i64> = (1..=rows as i64).collect();
    let mut next = rows as i64 + 1;
    let (mut most, mut done) = (clean, 0u64);
    let began = Instant::now();
    let mut sampled = began;
    while began.elapsed().as_secs_f64() < LONGER * stage.plan.seconds {
        stage.check()?;
        let mut tx = db.begin()?;
        let mut batch = generator.batch(COMMIT_ROWS / 4, 1_700_000_000_000_000);
        let column = onlap::Vector::Int(vec![0; batch.rows]);
        batch.columns.push(onlap::Column { data: column, nulls: None });
        tx.insert_batch(&table, batch)?;
        // As many rows go as come.
        for _ in 0..COMMIT_ROWS / 4 {
            let at = rng.index(keys.len());
            assert!(tx.delete(&table, &[Value::Int(keys[at])])?, "the row is there");
            keys[at] = next;
            next += 1;
        }
        tx.commit()?;
        let mut tx = db.begin()?;
        for _ in 0..COMMIT_ROWS / 2 {
            let key = [Value::Int(keys[rng.index(keys.len())])];
            let change = [("quantity", Change::Add(Value::Int(1)))];
            assert!(tx.change(&table, &key, &change)?, "the row is there");
        }
        tx.commit()?;
        done += COMMIT_ROWS as u64;
        if sampled.elapsed() >= SAMPLE_EVERY {
            let now = Parts::of(&db)?;
            if now.sum() > most.sum() {
                most = now;
            }
            sampled = Instant::now();
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    let work = format!("random deletes and updates for {seconds:.0} s: most space / live data");
    let note = format!(
        "{:.0} changes/s of {} rows, {} MiB; files of the table, without log; at the most rows {:.2}, \
         indexes {:.2}, marks {:.2} x",
        done as f64 / seconds,
        crate::units::grouped(rows),
        live >> 20,
        most.rows as f64 / clean.rows as f64,
        most.indexes as f64 / clean.indexes as f64,
        most.marks as f64 / live as f64
    );
    let most = most.sum() as f64 / live as f64;
    Ok(vec![figure(&work, most, (1.5, 1.3), Better::Lower, "x").noting(note)])
}

/// Bytes of the table's files.
#[derive(Clone, Copy)]
struct Parts {
    rows: u64,
    indexes: u64,
    marks: u64,
}

impl Parts {
    fn of(db: &Database) -> Result<Parts> {
        let stats = db.stats()?;
        let table = &stats.tables[0];
        let indexes = table.indexes.iter().map(|index| index.bytes).sum();
        Ok(Parts { rows: table.segment_bytes, indexes, marks: table.mark_bytes })
    }

    fn sum(&self) -> u64 {
        self.rows + self.indexes + self.marks
    }
}
