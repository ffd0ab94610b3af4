//! What did the database do in the last day?
//!
//! `onlap_stat.history`: a row for each sample that the engine kept ([`onlap::Database::samples`]), in the order in which they
//! were taken. They are of all databases together, as what they are made of.

use onlap::Sample;

use super::int;
use crate::error::Result;
use crate::row;
use crate::system::rows::{Datum, Rows};
use crate::view::View;

const COLUMNS: &str = "at seconds commits rows statements entries_read rows_read blocks_read bytes_written \
     p50_us p99_us longest_us stalls stalled_us stalled_device_us stalled_flushes_us \
     stalled_merge_debt_us stalled_memory_us stalled_table_debt_us merge_debt_bytes \
     merge_debt_limit_bytes snapshot_debt_bytes history_debt_bytes memory_bytes \
     memory_memtables_bytes memory_transactions_bytes memory_cache_bytes memory_resident_bytes \
     memory_background_bytes memory_log_bytes memory_limit_bytes disk_bytes disk_rows_bytes \
     disk_indexes_bytes disk_marks_bytes disk_log_bytes disk_kept_bytes bytes_written_ever";

/// Bytes that the rows take while they are made, with the samples that they are made of.
pub fn bytes_ahead(view: &View) -> usize {
    let values = COLUMNS.split_whitespace().count();
    let row = size_of::<Sample>() + size_of::<Vec<Datum>>() + values * size_of::<Datum>();
    // The columns that are made of them, a value at a time.
    view.instance.db.samples_most() * (row + values * size_of::<i64>())
}

/// The rows.
///
/// # Errors
/// The database is closed; its directory cannot be read.
pub fn rows(view: &View) -> Result<Rows> {
    let mut rows = Rows::of(COLUMNS);
    for sample in view.instance.db.samples()? {
        rows.push(row(&sample));
    }
    Ok(rows)
}

fn row(of: &Sample) -> Vec<Datum> {
    // Without commits none took any time.
    let us = |ns: u64| (of.commits > 0).then_some(ns as f64 / 1e3);
    let sum = |parts: &[u64]| int(parts.iter().sum());
    let mut row = row![
        of.at_us,
        of.span_us as f64 / 1e6,
        int(of.commits),
        int(of.rows),
        int(of.statements),
        int(of.entries_read),
        int(of.rows_read),
        int(of.blocks_read),
        int(of.written),
        us(of.p50_ns),
        us(of.p99_ns),
        us(of.longest_ns),
        int(of.stalls),
        sum(&of.stalled_us),
    ];
    let mut put = |all: &[u64]| row.extend(all.iter().map(|n| int(*n).into()));
    put(&of.stalled_us);
    put(&[of.merge_debt, of.merge_debt_limit, of.snapshot_debt, of.history_debt]);
    put(&[of.memory.iter().sum()]);
    put(&of.memory);
    put(&[of.memory_limit, of.disk.iter().sum()]);
    put(&of.disk);
    put(&[of.written_ever]);
    row
}
