//! A thousand tables of ten columns with a trickle of writes.

use std::time::{Duration, Instant};

use onlap::{DataType, TableSpec, Value};
use onlap_base::Result;
use onlap_base::rng::Rng;

use super::{MEMORY, Stage, figure};
use crate::figures::{Better, Figure};
use crate::measure::process::{Resident, reset_peak};

const TABLES: usize = 1000;
const COLUMNS: usize = 10;
/// Bytes of a row: eight of the key, and texts.
const ROW_BYTES: usize = 100;
/// Rows per table and second of the trial's time: some log files' worth in all.
const ROWS_PER_SECOND: f64 = 20.0;

pub(super) fn run(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let db = stage.open("tables", MEMORY)?;
    let mut tables = Vec::with_capacity(TABLES);
    for n in 0..TABLES {
        stage.check()?;
        let mut spec = TableSpec::new(format!("table_{n}")).serial("id");
        for column in 1..COLUMNS {
            spec = spec.column(format!("c{column}"), DataType::Text);
        }
        tables.push(db.create_table(spec.primary_key(["id"]))?);
    }
    reset_peak();
    let before = db.stats()?.written.total();
    let mut rng = Rng::new(1);
    let rows = (TABLES as f64 * ROWS_PER_SECOND * stage.plan.seconds) as u64;
    let pause = Duration::from_secs_f64(stage.plan.seconds / 100.0);
    let began = Instant::now();
    let text = (ROW_BYTES - 8) / (COLUMNS - 1);
    for n in 0..rows {
        let mut row = vec![Value::Null];
        for _ in 1..COLUMNS {
            let letter = |_| char::from(b'a' + rng.below(26) as u8);
            row.push(Value::Text((0..text).map(letter).collect()));
        }
        tables[rng.index(TABLES)].insert(&row)?;
        if n % (rows / 100).max(1) == 0 {
            stage.check()?;
            // A trickle: quiet times are part of it.
            std::thread::sleep(pause.saturating_sub(began.elapsed() / (n as u32 / 1000 + 1)));
        }
    }
    drop(tables);
    db.close()?;
    let peak = Resident::now().peak;
    let db = stage.open("tables", MEMORY)?;
    let written = db.stats()?.written.total() - before;
    let mib = f64::from(1 << 20);
    let work = format!("{TABLES} tables of {COLUMNS} columns: ");
    let amplification = written as f64 / (rows as f64 * ROW_BYTES as f64);
    Ok(vec![
        figure(
            &format!("{work}peak resident memory"),
            peak as f64 / mib,
            (256.0, 256.0),
            Better::Lower,
            "MiB",
        )
        .noting(format!("memory_limit {} MiB", MEMORY >> 20)),
        figure(
            &format!("{work}bytes written, closed, / bytes of rows"),
            amplification,
            (10.0, 10.0),
            Better::Lower,
            "x",
        )
        .noting(format!("{} rows of {ROW_BYTES} bytes", crate::units::grouped(rows))),
    ])
}
