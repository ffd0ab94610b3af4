//! What the tests of faults and crashes share: options that take every path with few rows, and the
//! comparison of a table with its indexes.

use std::sync::Arc;
use std::time::Duration;

use onlap::{
    Column, Database, Formula, KeyRange, Options, Result, Row, Scan, Snapshot, SyncMode, Table,
    Value, Vector,
};
use onlap_base::tasks::{Body, Event, TaskHandle, Tasks, ThreadTasks};

/// Threads that hardly rest: a job that failed is tried again at once, and closing waits for nothing.
#[derive(Debug)]
struct Restless(ThreadTasks);

impl Tasks for Restless {
    fn spawn(&self, name: &str, body: Body) -> TaskHandle {
        self.0.spawn(name, body)
    }

    fn spawn_patient(&self, name: &str, body: Body) -> TaskHandle {
        self.0.spawn_patient(name, body)
    }

    fn event(&self) -> Arc<Event> {
        self.0.event()
    }

    fn yield_now(&self) {
        self.0.yield_now();
    }

    fn sleep(&self, time: Duration) {
        self.0.sleep(time.min(Duration::from_millis(2)));
    }
}

/// Small memtables, blocks, files and merges.
pub fn small_options(sync: SyncMode) -> Options {
    let mut options = Options::default().sync(sync).memory_limit(64 << 20);
    options.tuning.memtable_bytes = Some(40_000);
    options.tuning.spill_bytes = Some(8000);
    options.tuning.block_bytes = 600;
    options.tuning.block_rows = 64;
    options.tuning.run_file_bytes = 4000;
    options.tuning.merge_fan_in = 2;
    options.tuning.log_file_bytes = 32 << 10;
    options.log_limit = 128 << 10;
    options.tasks = Arc::new(Restless(ThreadTasks::new()));
    options
}

/// A column that is calculated of another, row by row: NULL of NULL, otherwise what `one` appends.
#[allow(dead_code, reason = "not every test calculates")]
pub fn calculated(
    of: Formula<'_>,
    from: &Column,
    rows: usize,
    mut one: impl FnMut(&Vector, usize, &mut Vector) -> Result<()>,
) -> Result<Column> {
    let mut out = Column::new(of.column.ty.physical());
    for row in 0..rows {
        if from.is_null(row) {
            out.push_null();
            continue;
        }
        one(&from.data, row, &mut out.data)?;
        if let Some(nulls) = &mut out.nulls {
            nulls.push(false);
        }
    }
    Ok(out)
}

/// All rows of a table in order of the first column; see [`rows_of`].
pub fn agreed_rows(db: &Database, table: &str) -> Result<Vec<Row>> {
    rows_of(&db.snapshot()?, &db.table(table)?)
}

/// The rows that a snapshot shows in order of the first column, after the scan, the counts and every
/// index were found to agree (I4).
pub fn rows_of(snapshot: &Snapshot, table: &Table) -> Result<Vec<Row>> {
    let mut rows = snapshot.scan(table, Scan::all())?.rows()?;
    rows.sort_by_key(|row| integer(&row[0]));
    assert_eq!(snapshot.count(table)?, rows.len() as u64, "count of {}", table.name());
    // What an index with several entries of a row should have is known to its own tests alone.
    for index in table.schema().indexes.iter().filter(|index| !index.multi_entry) {
        let found = snapshot.index_scan(table, &index.name, KeyRange::all(), Scan::all())?;
        let mut found = found.rows()?;
        found.sort_by_key(|row| integer(&row[0]));
        assert!(found == rows, "index {} of {} shows other rows", index.name, table.name());
        let n = snapshot.index_count(table, &index.name, KeyRange::all())?;
        assert_eq!(n, rows.len() as u64, "count by {}", index.name);
    }
    Ok(rows)
}

/// The integer in a value.
pub fn integer(value: &Value) -> i64 {
    match value {
        Value::Int(i) => *i,
        other => panic!("{other:?} is no integer"),
    }
}
