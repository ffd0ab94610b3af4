//! The newest row of each of ten groups, by a loose scan.

use std::time::Instant;

use onlap::{DataType, Database, IndexSpec, KeyRange, Scan, Table, TableSpec, Value};
use onlap_base::Result;

use super::{MEMORY, Stage, figure};
use crate::figures::{Better, Figure};
use crate::report::median;

const ROWS: i64 = 82_170;
const GROUPS: i64 = 10;
/// Runs of which the median counts; the first ones warm the cache.
const RUNS: usize = 101;

pub(super) fn run(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let db = stage.open("groups", MEMORY)?;
    let spec = TableSpec::new("groups")
        .column("pk", DataType::Int8)
        .column("j", DataType::Int4)
        .column("x", DataType::Int4)
        .primary_key(["pk"])
        .index(IndexSpec::new("newest", ["j", "pk"]).descending("pk"));
    let table = db.create_table(spec)?;
    table.insert_many((1..=ROWS).map(|pk| [pk, pk * 7919 % GROUPS, pk % 100].map(Value::Int)))?;
    db.settle()?;
    let work = format!("last row per group, {ROWS} rows in {GROUPS} groups: ");
    let (entries, keys_us) = measure(&db, &table, &["j", "pk"])?;
    let (_, rows_us) = measure(&db, &table, &["j", "pk", "x"])?;
    Ok(vec![
        figure(&format!("{work}index entries per group"), entries, (3.0, 3.0), Better::Lower, ""),
        figure(&format!("{work}time"), keys_us, (100.0, 100.0), Better::Lower, "µs")
            .noting(format!("{rows_us:.0} µs with a column that the index does not have")),
    ])
}

/// Entries read per group, and microseconds.
fn measure(db: &Database, table: &Table, columns: &[&str]) -> Result<(f64, f64)> {
    let snapshot = db.snapshot()?;
    let before = db.stats()?.reads.index_entries_read;
    let mut took = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let scan = Scan::all().columns(columns.iter().copied());
        let began = Instant::now();
        let found = snapshot.first_per_group(table, "newest", 1, KeyRange::all(), scan)?;
        took.push(began.elapsed().as_secs_f64() * 1e6);
        assert_eq!(found.len() as i64, GROUPS, "every group is found");
    }
    let entries = db.stats()?.reads.index_entries_read - before;
    Ok((entries as f64 / (RUNS as i64 * GROUPS) as f64, median(&mut took)))
}
