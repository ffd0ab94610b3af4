//! The insert benchmark's table with a column more that no index has.

use onlap::{Batch, Column, DataType, Database, Table, Vector};
use onlap_base::Result;

use super::{COMMIT_ROWS, Stage};
use crate::drivers;
use crate::engine::{Engine, EngineOptions, SyncMode};
use crate::generate::{IndexShape, TableShape};

/// Position of the column that no index has.
pub(super) const QUANTITY: usize = 7;

pub(super) static SALES: TableShape = TableShape {
    name: "sales",
    columns: &[
        ("transactionid", DataType::Int8),
        ("dateandtime", DataType::Timestamp),
        ("cashregisterid", DataType::Int4),
        ("customerid", DataType::Int4),
        ("productid", DataType::Int4),
        ("price", DataType::Int4),
        ("data", DataType::Varchar(4000)),
        ("quantity", DataType::Int4),
    ],
    gives_keys: false,
    indexes: &[
        IndexShape { name: "marketsegment", columns: &[4, 3, 5] },
        IndexShape { name: "registersegment", columns: &[2, 3, 5] },
        IndexShape { name: "pdc", columns: &[5, 1, 3] },
    ],
};

pub(super) fn create(db: &Database) -> Result<Table> {
    drivers::create_onlap_table(db, &SALES, SALES.indexes.len())
}

/// Loads rows in commits of a hundred, keys from 1 on; rows per second.
pub(super) fn load(
    stage: &Stage<'_>,
    rows: u64,
    f: &mut dyn FnMut(Batch) -> Result<()>,
) -> Result<f64> {
    stage.load(rows, COMMIT_ROWS, &mut |mut batch| {
        let column = Column { data: Vector::Int(vec![0; batch.rows]), nulls: None };
        batch.columns.push(column);
        f(batch)
    })
}

/// An engine with the table, loaded and settled, at scarce memory. `None` where it is not built in.
pub(super) fn loaded(stage: &Stage<'_>, engine: &str) -> Result<Option<Box<dyn Engine>>> {
    if !drivers::is_built_in(engine) {
        return Ok(None);
    }
    let dir = stage.dir.join(engine);
    let options = EngineOptions {
        dir,
        memory: stage.scarce_memory(),
        sync: SyncMode::Os,
        group: None,
        url: None,
        clients: 1,
    };
    let engine = drivers::open(engine, &options)?;
    engine.create_table(&SALES, SALES.indexes.len())?;
    let mut client = engine.client()?;
    load(stage, stage.plan.rows, &mut |batch| client.insert_batch(batch))?;
    drop(client);
    engine.settle()?;
    Ok(Some(engine))
}
