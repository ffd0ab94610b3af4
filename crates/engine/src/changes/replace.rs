//! What becomes of column changes whose column something depends on by the time of the commit?
//!
//! An index or a rule may come between the statement and the commit. The transaction holds the rows
//! locked, so that they still are what they were: they are read now, and replaced by new rows, as the
//! statement would have done had it come later.

use std::sync::Arc;

use onlap_base::{Result, RowId};
use onlap_format::changes::{LoggedChange, apply};
use onlap_format::{Batch, convert};

use super::{is_free, no_longer_free};
use crate::commit::{PendingMark, TableWrite};
use crate::database::Shared;
use crate::derive::{self, Calculator};
use crate::read::{ReadCounters, ReadView, Registration};
use crate::rules::not_null;
use crate::unique;

/// Rows that are replaced at a commit; a transaction with more is to be run again.
const ROWS_MAX: u64 = 1 << 16;

/// Whether something depends on a column that a transaction changes.
pub(crate) fn is_due(w: &TableWrite) -> bool {
    let landing = &w.state.view_now().landing;
    w.changes.iter().any(|c| !is_free(landing, c.column) || w.state.fixed.has(c.column))
}

/// Replaces rows whose columns may not be changed in place any more. The write has the form of the
/// table's schema of the moment.
///
/// # Errors
/// `Conflict` where there are too many; what the new rules say.
pub(crate) fn replace(shared: &Arc<Shared>, w: &mut TableWrite) -> Result<()> {
    let landing = Arc::clone(&w.state.view_now().landing);
    let stays = |c: &LoggedChange| is_free(&landing, c.column) && !w.state.fixed.has(c.column);
    let due = || w.changes.iter().filter(|c| !stays(c)).flat_map(|c| &c.rows);
    if due().map(|rows| rows.end - rows.start).sum::<u64>() > ROWS_MAX {
        return Err(no_longer_free(&w.schema));
    }
    let mut rows: Vec<RowId> = due().flat_map(Clone::clone).collect();
    rows.sort_unstable();
    rows.dedup();
    let now = Registration::new(shared);
    let view = ReadView::new(&w.state, &now)?;
    if view.view.schema.version != w.schema.version {
        return Err(no_longer_free(&w.schema));
    }
    let all: Vec<usize> = (0..w.schema.columns.len()).collect();
    let (found, mut batch) = view.fetch(&rows, &all, &mut ReadCounters::default())?;
    for change in &w.changes {
        let at = w.schema.position(change.column).expect("changes of columns that are there");
        for stretch in &change.rows {
            let from = found.partition_point(|r| *r < stretch.start);
            let to = found.partition_point(|r| *r < stretch.end);
            apply(&mut batch.columns[at], from..to, &[(from..to, &change.op)]);
        }
    }
    derive::generate(&shared.calculator, &w.schema, &mut batch)?;
    judge(&shared.calculator, w, &batch)?;
    if !w.schema.derived.is_empty() {
        derive::fill(&shared.calculator, &w.schema, &mut batch)?;
    }
    for (i, &row) in found.iter().enumerate() {
        let successor = u32::try_from(w.rows.rows).ok();
        w.marks.push(PendingMark { row, successor });
        if w.rows.columns.is_empty() {
            w.rows = Batch::new(w.schema.all_columns().map(|c| c.ty.physical()));
        }
        w.rows.extend_range(&batch, i..i + 1);
    }
    w.marks.sort_unstable_by_key(|m| m.row);
    w.changes = without(&w.changes, &rows);
    unique::check_key_lengths(&w.schema, &w.rows)?;
    w.unique = unique::claims(&w.schema, &w.rows, None)?;
    Ok(())
}

/// New rows obey the rules of the moment.
fn judge(calculator: &Calculator, w: &TableWrite, batch: &Batch) -> Result<()> {
    let columns = &w.schema.columns;
    for (column, values) in columns.iter().zip(&batch.columns) {
        if let Some(row) = (0..batch.rows).find(|i| !column.nullable && values.is_null(*i)) {
            return Err(not_null(&w.schema, &column.name, |at| {
                convert::read_value(columns[at].ty, &batch.columns[at], row)
            }));
        }
    }
    match w.state.checks(&w.schema)? {
        Some(checks) => checks.judge(calculator, &w.schema, batch, 0..batch.rows),
        None => Ok(()),
    }
}

/// Changes of other rows than these, which rise.
fn without(changes: &[LoggedChange], rows: &[RowId]) -> Vec<LoggedChange> {
    let mut out = Vec::new();
    for change in changes {
        let mut left = Vec::new();
        for stretch in &change.rows {
            let mut from = stretch.start;
            let first = rows.partition_point(|r| *r < stretch.start);
            for &row in rows[first..].iter().take_while(|r| **r < stretch.end) {
                if from < row {
                    left.push(from..row);
                }
                from = row + 1;
            }
            if from < stretch.end {
                left.push(from..stretch.end);
            }
        }
        if !left.is_empty() {
            out.push(LoggedChange { rows: left, ..change.clone() });
        }
    }
    out
}
