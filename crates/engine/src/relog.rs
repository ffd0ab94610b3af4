//! How does a small table let go of an old log file?
//!
//! A table with a trickle of writes would pin the log for ever, or be flushed into one tiny file
//! after another. Instead its few unflushed rows and marks are logged again, with their own CSNs,
//! at the end of the log; the old file is then no longer needed for them.
//!
//! Invariant: after relogging, the table pins the file that holds the new record. Files are given up
//! by the last CSN in them, and the record's file holds at least the last CSN assigned before it.
//!
//! Thread safety: under the commit lock; applying runs in recovery alone.

use std::sync::Arc;

use onlap_base::{Csn, Error, ErrorKind, Result, RowId};
use onlap_format::Batch;
use onlap_format::log::{RelogBody, RelogMark, RelogTable};

use crate::changes;
use crate::commit::Leader;
use crate::database::Shared;
use crate::table::TableState;
use onlap_memtable::Mark;

/// Memtables up to this size are relogged rather than flushed: a tenth of what a flush should write
/// to be worth its files, and at most a tenth of a log file.
pub(crate) const RELOG_BYTES: usize = 256 << 10;

/// Logs a small table's memtable again; false when it has to be flushed instead.
pub(crate) fn relog(leader: &mut Leader, state: &TableState) -> Result<bool> {
    let view = state.view();
    let active = Arc::clone(&view.active);
    if !view.frozen.is_empty() || active.heap_bytes() > RELOG_BYTES {
        return Ok(false);
    }
    let (first, end) = (active.first_row(), active.end_row());
    let columns: Vec<usize> = (0..view.schema.width()).collect();
    let mut rows = Batch::new(view.schema.all_columns().map(|c| c.ty.physical()));
    for piece in active.pieces(first..end, &columns) {
        rows.extend_range(piece.batch(), piece.range());
    }
    if rows.rows as RowId != end - first {
        return Ok(false);
    }
    let marks = active.mark_list();
    let marks = marks.iter().map(|m| RelogMark { row: m.row, csn: m.csn, successor: m.successor });
    let body = RelogBody::new(&RelogTable {
        table: state.id,
        schema: view.schema.version,
        first_row: first,
        row_ids: None,
        commits: active.commit_map(),
        rows,
        marks: marks.collect(),
        changes: active.change_log(),
    });
    let csn = leader.next_csn - 1;
    match leader.log.reserve(body.record_bytes()) {
        Err(e) if e.kind() == ErrorKind::DiskFull => return Ok(false),
        reserved => reserved?,
    }
    let mut record = Vec::with_capacity(body.record_bytes());
    body.append_to(&mut record, leader.log.position(), csn);
    leader.log.append(&mut record, csn)?;
    leader.relogged = true;
    state.writer.lock().active_since = Some(csn);
    Ok(true)
}

/// Puts relogged rows and marks into the memtable, as far as recovery has not met them before.
pub(crate) fn apply(shared: &Shared, mut relogged: RelogTable) -> Result<()> {
    let Some(state) = shared.catalog.by_id(relogged.table) else { return Ok(()) };
    let view = state.view();
    // What a full memtable has counts as if it were in files already.
    let had = view.frozen.last().map_or(view.version.flushed_csn, |f| f.csns.1);
    let mut writer = state.writer.lock();
    let mut start = relogged.first_row;
    for &(end, csn) in &relogged.commits {
        if end > writer.next_row && csn > had {
            if start > writer.next_row {
                let text = format!(
                    "table {}: relogged rows from id {start}, {} expected",
                    view.schema.name, writer.next_row
                );
                return Err(Error::damaged(text));
            }
            let skip = writer.next_row - start;
            if view.schema.blind {
                state.pending.push(start + skip..end);
            }
            append(&view.active, &relogged, start + skip..end, csn);
            crate::unique::raise_highs_of_rows(&view.schema, &relogged.rows, &mut writer.highs);
            writer.next_row = end;
            writer.active_since.get_or_insert(csn);
            state.counts.push(csn, end, &shared.snapshots);
        }
        start = end;
    }
    for mark in &relogged.marks {
        if mark.csn > had && view.active.mark_of(mark.row).is_none() {
            view.active.mark_all([Mark {
                row: mark.row,
                csn: mark.csn,
                successor: mark.successor,
            }]);
            writer.active_since.get_or_insert(mark.csn);
        }
    }
    if !relogged.changes.is_empty() {
        // The record has all changes of its time, joined where nobody could look between them: what
        // commits before it brought is among them.
        view.active.clear_changes();
    }
    let history = view.schema.history_us > 0;
    for (csn, changes) in std::mem::take(&mut relogged.changes) {
        if csn <= had {
            continue;
        }
        let changes = changes::of_log(&view.schema, changes)?;
        if changes.iter().flat_map(|c| &c.rows).any(|rows| rows.end > writer.next_row) {
            return Err(Error::damaged("relogged changes of rows that are not there"));
        }
        view.active.change_all(csn, &changes, &|_, _| history);
        writer.active_since.get_or_insert(csn);
    }
    drop(writer);
    state.note_serials(&relogged.rows);
    Ok(())
}

fn append(
    memtable: &onlap_memtable::Memtable,
    relogged: &RelogTable,
    rows: std::ops::Range<RowId>,
    csn: Csn,
) {
    let at = |row: RowId| (row - relogged.first_row) as usize;
    let mut part = Batch::new(relogged.rows.columns.iter().map(|column| column.data.physical()));
    part.extend_range(&relogged.rows, at(rows.start)..at(rows.end));
    memtable.load(&part, &[(part.rows, csn)]);
}
