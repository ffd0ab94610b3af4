//! What does a table show, and do its indexes say the same?

use crate::letters;
use onlap::{KeyRange, Result, Row, RowId, Scan, Snapshot, Table, Value};

/// Rows with their ids, in the order of the ids.
pub type Rows = Vec<(RowId, Row)>;

/// The integer in a value.
///
/// # Panics
/// When it is none.
pub fn int(value: &Value) -> i64 {
    match value {
        Value::Int(i) => *i,
        other => panic!("{other:?} is no integer"),
    }
}

fn collect(batches: onlap::Rows) -> Result<Rows> {
    let mut rows = Vec::new();
    for batch in batches {
        let batch = batch?;
        rows.extend((0..batch.len()).map(|i| (batch.row_ids[i], batch.row(i))));
    }
    Ok(rows)
}

/// The rows that a snapshot shows of a table, after the count and every index were found to agree (I4).
///
/// # Errors
/// Of reading; the inner one says what disagrees.
pub fn agreed(snapshot: &Snapshot, table: &Table) -> Result<Result<Rows, String>> {
    let rows = collect(snapshot.scan(table, Scan::all())?)?;
    let name = table.name();
    let n = snapshot.count(table)?;
    if n != rows.len() as u64 {
        return Ok(Err(format!("{name}: counted {n} rows, found {}", rows.len())));
    }
    for index in &table.schema().indexes {
        if index.multi_entry {
            match letters::differs(snapshot, table, &index.name, &rows)? {
                Some(text) => return Ok(Err(format!("{name}: {text}"))),
                None => continue,
            }
        }
        let mut found =
            collect(snapshot.index_scan(table, &index.name, KeyRange::all(), Scan::all())?)?;
        found.sort_by_key(|(id, _)| *id);
        if found != rows {
            let odd = found.iter().find(|row| !rows.contains(row));
            let lost = rows.iter().find(|row| !found.contains(row));
            let text = format!(
                "{name}: index {} shows {} rows, the table {}; for one {odd:?} is not in the table, {lost:?} not in the index",
                index.name,
                found.len(),
                rows.len()
            );
            return Ok(Err(text));
        }
        let ids = snapshot.index_row_ids(table, &index.name, KeyRange::all())?;
        if !ids.iter().eq(rows.iter().map(|(id, _)| id)) {
            return Ok(Err(format!("{name}: ids by {} are others than the table's", index.name)));
        }
    }
    Ok(Ok(rows))
}
