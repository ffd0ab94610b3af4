//! A table used as a queue: insert a row, read the oldest, delete it.

use std::time::Instant;

use onlap::{DataType, Scan, TableSpec, Value};
use onlap_base::{Error, Result};

use super::{MEMORY, Stage, figure};
use crate::figures::{Better, Figure};

/// Rows that wait in the queue.
const WAITING: i64 = 100;

pub(super) fn run(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let db = stage.open("queue", MEMORY)?;
    let spec =
        TableSpec::new("queue").serial("id").column("work", DataType::Text).primary_key(["id"]);
    let table = db.create_table(spec)?;
    let row = |n: i64| [Value::Null, Value::Text(format!("work number {n} of the queue"))];
    (0..WAITING).try_for_each(|n| table.insert(&row(n)).map(drop))?;
    let times = stage.plan.rows as i64 / 2;
    let tenth = (times / 10).max(1);
    let mut rates = Vec::new();
    let mut began = Instant::now();
    for n in 0..times {
        table.insert(&row(n))?;
        let mut oldest = db.snapshot()?.scan(&table, Scan::all().columns(["id"]).limit(1))?;
        let oldest = oldest.next().transpose()?.map(|batch| batch.row(0));
        let Some([Value::Int(id)]) = oldest.as_deref() else {
            return Err(Error::damaged("the queue is empty"));
        };
        if *id != n + 1 || !table.delete(&[Value::Int(*id)])? {
            return Err(Error::damaged(format!(
                "{id} came out of the queue in place of {}",
                n + 1
            )));
        }
        if (n + 1) % tenth == 0 {
            stage.check()?;
            rates.push(tenth as f64 / began.elapsed().as_secs_f64());
            began = Instant::now();
        }
    }
    let (first, last) = (rates[0], rates[rates.len() - 1]);
    let work = format!(
        "queue, {} times: rate of the last tenth / the first",
        crate::units::grouped(times as u64)
    );
    let figure = figure(&work, last / first, (0.9, 1.0), Better::Higher, "x");
    Ok(vec![figure.noting(format!("{first:.0} and {last:.0} per second"))])
}
