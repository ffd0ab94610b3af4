//! The fast way in, rows as columns: `cargo run --release -p onlap --example batch_load`.
//!
//! A batch holds one vector per column of the table. It is checked as a whole and lands as it is:
//! nothing is built per row.

use onlap::{
    Batch, BytesVec, Column, DataType, Database, IndexSpec, KeyRange, Options, Result, SyncMode,
    TableSpec, Value, Vector,
};

const ROWS: i64 = 200_000;
const BATCH: i64 = 1_000;

fn main() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let db = Database::open(dir.path(), Options::default().sync(SyncMode::Os))?;
    let readings = db.create_table(
        TableSpec::new("readings")
            .column("at", DataType::Int8)
            .column("sensor", DataType::Text)
            .column("value", DataType::Int4)
            .primary_key(["at"])
            .index(IndexSpec::new("by_sensor", ["sensor", "at"]).include(["value"]))
            .index(IndexSpec::new("by_value", ["value"])),
    )?;
    for first in (0..ROWS).step_by(BATCH as usize) {
        readings.insert_batch(batch(first))?;
    }
    // Rows in memory become files; merges are done before this returns.
    db.settle()?;

    let sensor = KeyRange::eq([Value::Text("s-07".into())]);
    println!("readings of s-07: {}", db.snapshot()?.index_count(&readings, "by_sensor", sensor)?);
    let stats = db.stats()?;
    let table = &stats.tables[0];
    println!("{} rows in {} bytes of segments", table.segment_rows, table.segment_bytes);
    for index in &table.indexes {
        println!("{}: {} bytes, keys arrive {}", index.name, index.bytes, index.pattern);
    }
    db.close()
}

/// Rows `first .. first + BATCH`. Integers of every width are `i64`, texts bytes with offsets.
fn batch(first: i64) -> Batch {
    let rows = first..first + BATCH;
    let mut sensors = BytesVec::default();
    rows.clone().for_each(|at| sensors.push(format!("s-{:02}", at % 10).as_bytes()));
    let values = rows.clone().map(|at| (at * 7919) % 1000).collect();
    let column = |data| Column { data, nulls: None };
    Batch {
        rows: BATCH as usize,
        columns: vec![
            column(Vector::Int(rows.collect())),
            column(Vector::Bytes(sensors)),
            column(Vector::Int(values)),
        ],
    }
}
