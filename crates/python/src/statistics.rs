//! What do a database's own numbers look like to Python?
//!
//! Dicts and lists; `onlap._stats` gives them names and a table.

use std::collections::HashMap;

use onlap::{IndexId, IndexStats, Stats, TableStats, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// For each index the median time of the statements that read by it, in nanoseconds.
pub type Medians = HashMap<IndexId, u64>;

/// A database in numbers.
pub fn of<'py>(py: Python<'py>, stats: &Stats, medians: &Medians) -> PyResult<Bound<'py, PyAny>> {
    let made = PyDict::new(py);
    made.set_item("csn", stats.csn)?;
    made.set_item("log_bytes", stats.log_bytes)?;
    made.set_item("merge_debt_bytes", stats.merge_debt_bytes)?;
    made.set_item("merge_debt_limit", stats.merge_debt_limit)?;
    made.set_item("written_bytes", stats.written.total())?;
    made.set_item("snapshots", stats.snapshots)?;
    let tables = stats.tables.iter().map(|one| table(py, one, medians));
    made.set_item("tables", PyList::new(py, tables.collect::<PyResult<Vec<_>>>()?)?)?;
    Ok(made.into_any())
}

fn table<'py>(
    py: Python<'py>,
    stats: &TableStats,
    medians: &Medians,
) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    made.set_item("name", &stats.name)?;
    made.set_item("row_ids", stats.row_ids)?;
    made.set_item("unflushed_rows", stats.unflushed_rows)?;
    made.set_item("segments", stats.segments)?;
    made.set_item("segment_rows", stats.segment_rows)?;
    made.set_item("segment_bytes", stats.segment_bytes)?;
    made.set_item("memtable_bytes", stats.memtable_bytes)?;
    made.set_item("marks", stats.marks)?;
    made.set_item("live_rows", stats.live_rows)?;
    made.set_item("dead_rows", stats.dead_rows)?;
    let done = &stats.activity;
    made.set_item("inserted", done.inserted)?;
    made.set_item("updated", done.updated)?;
    made.set_item("updated_in_place", done.updated_in_place)?;
    made.set_item("deleted", done.deleted)?;
    made.set_item("scans", done.scans)?;
    made.set_item("scanned_rows", done.scanned_rows)?;
    made.set_item("cached_bytes", stats.segment_cached_bytes + stats.mark_cached_bytes)?;
    let indexes = stats.indexes.iter().map(|one| index(py, one, medians));
    made.set_item("indexes", PyList::new(py, indexes.collect::<PyResult<Vec<_>>>()?)?)?;
    Ok(made)
}

fn index<'py>(
    py: Python<'py>,
    stats: &IndexStats,
    medians: &Medians,
) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    made.set_item("name", &stats.name)?;
    made.set_item("pattern", stats.pattern.to_string())?;
    made.set_item("entries", stats.entries)?;
    made.set_item("bytes", stats.bytes)?;
    made.set_item("runs", stats.runs.len())?;
    let (spent, used) = (stats.spent, stats.used);
    let since = |now: u64, before: u64| now.saturating_sub(before);
    let (now, before) = (stats.written, stats.written_before);
    let written = since(now.flushed, before.flushed) + since(now.merged, before.merged);
    let per_row = |sum: u64| (spent.rows > 0).then(|| sum as f64 / spent.rows as f64);
    made.set_item("cpu_ns_per_row", per_row(spent.cpu_ns()))?;
    made.set_item("bytes_per_row", per_row(written))?;
    made.set_item("scans", used.scans)?;
    made.set_item("entries_read", used.entries_read)?;
    made.set_item("rows_not_read", used.rows_not_read)?;
    made.set_item("last_use_us", (used.last_us > 0).then_some(used.last_us))?;
    made.set_item("flushed_bytes", stats.written.flushed)?;
    made.set_item("merged_bytes", stats.written.merged)?;
    made.set_item("cached_bytes", stats.cached_bytes)?;
    made.set_item("p50_ms", medians.get(&stats.id).map(|ns| *ns as f64 / 1e6))?;
    made.set_item("distinct", stats.keys.distinct.first().copied())?;
    let quantiles = stats.keys.quantiles.iter().filter_map(text);
    made.set_item("quantiles", quantiles.collect::<Vec<String>>())?;
    Ok(made)
}

/// A key as PostgreSQL writes it.
fn text(value: &Value) -> Option<String> {
    let ty = match value {
        Value::Null => return None,
        Value::Timestamp(_) => onlap::DataType::Timestamptz,
        Value::Bytes(_) => onlap::DataType::Bytea,
        _ => onlap::DataType::Text,
    };
    let mut out = String::new();
    onlap::convert::format_text(ty, value, &mut out);
    Some(out)
}
