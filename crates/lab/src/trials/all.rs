//! `update set b = 5` of all rows in one statement.

use std::time::Instant;

use onlap::{Change, Predicate, Value};
use onlap_base::Result;

use super::{Stage, figure, sales};
use crate::figures::{Better, Figure};
use crate::measure::process::{Resident, reset_peak};

pub(super) fn run(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let (rows, memory) = (stage.plan.rows, stage.scarce_memory());
    let db = stage.open("all", memory)?;
    let table = sales::create(&db)?;
    sales::load(stage, rows, &mut |batch| table.insert_batch(batch).map(drop))?;
    db.settle()?;
    reset_peak();
    let before = Resident::now().peak;
    let began = Instant::now();
    let mut tx = db.begin()?;
    let change = [("quantity", Change::Set(Value::Int(5)))];
    let changed = tx.update_where(&table, &Predicate::All, &change)?;
    let read = tx.statement_counters();
    tx.commit()?;
    let took = began.elapsed().as_secs_f64();
    assert_eq!(changed, rows, "every row is changed");
    let peak = Resident::now().peak;
    let work = format!("b = 5 of all {} rows", crate::units::grouped(rows));
    let mib = f64::from(1 << 20);
    let slack = (64 << 20) as f64 / mib;
    let limit = memory as f64 / mib + slack;
    Ok(vec![
        figure(&format!("{work} in one statement"), took, (2.0, 0.5), Better::Lower, "s").noting(
            format!(
                "{} blocks of rows and {} entries read",
                read.blocks_read, read.index_entries_read
            ),
        ),
        figure(
            &format!("{work}: peak resident memory"),
            peak as f64 / mib,
            (limit, limit),
            Better::Lower,
            "MiB",
        )
        .noting(format!("memory_limit {} MiB; {} MiB before", memory >> 20, before >> 20)),
    ])
}
