//! One row that four clients update all the time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use onlap::{DataType, IndexSpec, TableSpec, Value};
use onlap_base::Result;

use super::{MEMORY, Stage, figure};
use crate::figures::{Better, Figure};
use crate::measure::process::Resident;

const CLIENTS: usize = 4;

pub(super) fn run(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let db = stage.open("hot", MEMORY)?;
    let spec = TableSpec::new("hot")
        .column("id", DataType::Int8)
        .column("n", DataType::Int8)
        .primary_key(["id"])
        .index(IndexSpec::new("by_n", ["n"]));
    let table = db.create_table(spec)?;
    table.insert(&[Value::Int(1), Value::Int(0)])?;
    let seconds = stage.plan.seconds.max(3.0) as usize;
    let counts: Vec<AtomicU64> = (0..=seconds).map(|_| AtomicU64::new(0)).collect();
    let began = Instant::now();
    let client = || -> Result<()> {
        while began.elapsed() < Duration::from_secs(seconds as u64) {
            stage.check()?;
            table.update_with(&[Value::Int(1)], &["n"], |row| {
                if let Value::Int(n) = &mut row[1] {
                    *n += 1;
                }
                Ok(())
            })?;
            let second = began.elapsed().as_secs() as usize;
            counts[second.min(seconds)].fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    let mut resident = Vec::new();
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        for _ in 0..seconds {
            thread::sleep(Duration::from_secs(1));
            resident.push(Resident::now().now);
        }
        clients.into_iter().try_for_each(|c| c.join().expect("a client does not panic"))
    })?;
    let count = |second: usize| counts[second].load(Ordering::Relaxed) as f64;
    let all: u64 = counts.iter().map(|c| c.load(Ordering::Relaxed)).sum();
    let row = db.snapshot()?.get(&table, &[Value::Int(1)], Some(&["n"]))?;
    assert_eq!(row, Some(vec![Value::Int(all as i64)]), "every update counts once");
    // Memory rises while the memtable fills and falls with each flush.
    let (first_half, second_half) = resident.split_at(resident.len() / 2);
    let peak = |half: &[u64]| half.iter().copied().max().unwrap_or(0);
    let (first, last) = (peak(first_half), peak(second_half));
    let work = format!("one row updated by 4 clients for {seconds} s: ");
    Ok(vec![
        figure(
            &format!("{work}rate of the last second / the first"),
            count(seconds - 1) / count(0),
            (0.9, 1.0),
            Better::Higher,
            "x",
        )
        .noting(format!("{:.0} updates/s on average", all as f64 / seconds as f64)),
        figure(
            &format!("{work}most memory of the second half / of the first"),
            last as f64 / first as f64,
            (1.1, 1.0),
            Better::Lower,
            "x",
        )
        .noting(format!("{} MiB resident", last >> 20)),
    ])
}
