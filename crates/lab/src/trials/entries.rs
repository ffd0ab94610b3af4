//! What an entry of an index takes, by how many different keys there are.
//!
//! The bound is H(key) + 1.44 bits: rows with one key lie as far apart as there are keys,
//! so a row id next to the one before it takes H(key) bits, and log2(e) more because distances vary.

use onlap::{Batch, Column, DataType, IndexSpec, TableSpec, Vector};
use onlap_base::Result;
use onlap_base::rng::Rng;

use super::{ROOMY_MEMORY, Stage, figure};
use crate::figures::{Better, Figure};

const KEYS: [u64; 4] = [2, 100, 10_000, 1_000_000];
const BATCH_ROWS: u64 = 10_000;
/// Entries are to take at most so many times the bound.
const FACTOR: f64 = 1.3;

pub(super) fn run(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let rows = stage.plan.rows / 5;
    let db = stage.open("entries", ROOMY_MEMORY)?;
    let mut spec = TableSpec::new("entries").serial("id").primary_key(["id"]);
    for keys in KEYS {
        let name = format!("of_{keys}");
        spec =
            spec.column(&name, DataType::Int4).index(IndexSpec::new(format!("by_{keys}"), [name]));
    }
    let table = db.create_table(spec)?;
    let mut rng = Rng::new(1);
    let mut left = rows;
    while left > 0 {
        stage.check()?;
        let n = left.min(BATCH_ROWS) as usize;
        let mut columns = vec![crate::generate::null_key(n)];
        for keys in KEYS {
            let values = (0..n).map(|_| rng.below(keys) as i64).collect();
            columns.push(Column { data: Vector::Int(values), nulls: None });
        }
        table.insert_batch(Batch { columns, rows: n })?;
        left -= n as u64;
    }
    db.settle()?;
    let stats = db.stats()?;
    let indexes = &stats.tables[0].indexes;
    let of = |keys: u64| {
        let name = format!("by_{keys}");
        let index = indexes.iter().find(|i| i.name == name).expect("it was created");
        let bytes = index.bytes as f64 / index.entries as f64;
        let bound = ((keys as f64).log2() + std::f64::consts::LOG2_E) / 8.0;
        let work = format!("bytes per entry, {} keys", crate::units::grouped(keys));
        figure(&work, bytes, (FACTOR * bound, FACTOR * bound), Better::Lower, "B").noting(format!(
            "{} rows in {} run(s); H(key) + 1.44 bits are {bound:.3} B",
            crate::units::grouped(rows),
            index.runs.len()
        ))
    };
    Ok(KEYS.map(of).to_vec())
}
