//! How do rows in memory become files?
//!
//! The protocol, per table:
//!
//! 1. **Freeze**, under the commit lock: the active memtable joins the frozen ones and a new one
//!    takes its place, between two commits.
//! 2. **Write**, in the background, the oldest frozen memtable: one segment with its rows, one run
//!    per index, one mark run. Rows that were dead below the horizon are left out, with their
//!    entries; their ids stay unused for ever.
//! 3. **Install**: one manifest record adds the files and moves the table's flushed rows and CSN;
//!    the new version and the shorter list of frozen memtables become visible in one step (I4).
//! 4. **Cut the log** below what every table has flushed.
//!
//! A crash before 3 leaves orphans that the next open removes; after 3 replay skips what was
//! flushed. Files are synced before the record names them (I3, I5).
//!
//! Invariants: frozen memtables are written in order, by one job per table. A table without
//! unflushed rows or marks does not pin the log.
//!
//! Thread safety: any thread; `Claim::Flush` keeps two jobs off one table.

use std::sync::Arc;

use onlap_base::memory::Part;
use onlap_base::{Csn, Result, RowId, TableId};
use onlap_format::key::{ColumnStats, Packing};
use onlap_format::manifest::{Edit, RunMeta};
use onlap_format::{Column, IndexSchema, TableSchema};
use onlap_storage::marks::{MarkRunSpec, MarkRunWriter};
use onlap_storage::run::{RunSpec, RunWriter};
use onlap_storage::segment::{SegmentSpec, SegmentWriter};
use onlap_storage::written::Purpose;

use crate::background::Claim;
use crate::database::Shared;
use crate::memtable::Memtable;
use crate::table::{TableState, TableView, index_positions, key_def};

/// Rows per piece that goes from a memtable to a segment.
const PIECE_ROWS: usize = 16 << 10;

/// Step 1. The caller holds the commit lock; `csn` is the last applied commit.
pub(crate) fn freeze(shared: &Shared, state: &TableState, csn: Csn) {
    state.change_view(|old| {
        if old.active.is_empty() {
            return old.clone();
        }
        old.active.freeze(csn);
        let mut frozen = old.frozen.clone();
        frozen.push(Arc::clone(&old.active));
        TableView {
            schema: Arc::clone(&old.schema),
            version: Arc::clone(&old.version),
            active: state.new_memtable(shared, &old.schema, old.active.end_row()),
            frozen,
        }
    });
    shared.background.wake();
}

pub(crate) fn has_frozen(state: &TableState) -> bool {
    !state.view().frozen.is_empty()
}

/// Steps 2 to 4 for the oldest frozen memtable of a table.
pub(crate) fn flush_oldest(shared: &Shared, table: TableId) -> Result<()> {
    let Some(state) = shared.catalog.by_id(table) else { return Ok(()) };
    let view = state.view();
    let Some(frozen) = view.frozen.first().cloned() else { return Ok(()) };
    let started = shared.clock.monotonic_ns();
    let bytes = frozen.heap_bytes() as u64;
    let horizon = shared.snapshots.horizon();
    let csn = frozen.frozen_csn().expect("a frozen memtable knows its last commit");
    let mut edits = Vec::new();
    write_rows(shared, &view.schema, table, &frozen, horizon, csn, &mut edits)?;
    for index in &view.schema.indexes {
        if let Some(run) = write_index(shared, &view.schema, table, index, &frozen, horizon)? {
            edits.push(Edit::AddRun(table, index.id, run));
        }
    }
    write_marks(shared, table, &frozen, &mut edits)?;
    edits.push(Edit::Flushed(table, frozen.end_row(), csn));
    if let Some(serial) = view.schema.columns.iter().find(|c| c.serial) {
        edits.push(Edit::Serial(table, serial.id, state.serial_now()));
    }
    shared.storage.sync_dir()?;
    install(shared, &state, &frozen, &edits)?;
    shared.pressure.drained(bytes, shared.clock.monotonic_ns().saturating_sub(started));
    cut_log(shared)
}

/// Step 3.
fn install(
    shared: &Shared,
    state: &TableState,
    frozen: &Arc<Memtable>,
    edits: &[Edit],
) -> Result<()> {
    let installed = shared.versions.commit(edits, |changed| {
        let version = changed[0].1.clone().expect("a flushed table has a version");
        state.change_view(|old| TableView {
            schema: Arc::clone(&old.schema),
            version,
            frozen: old.frozen.iter().filter(|m| !Arc::ptr_eq(m, frozen)).cloned().collect(),
            active: Arc::clone(&old.active),
        });
    });
    installed.map_err(|e| match e.kind() {
        onlap_base::ErrorKind::Conflict => e,
        _ => shared.poison("writing the manifest", e),
    })
}

fn write_rows(
    shared: &Shared,
    schema: &TableSchema,
    table: TableId,
    frozen: &Memtable,
    horizon: Csn,
    csn: Csn,
    edits: &mut Vec<Edit>,
) -> Result<()> {
    let spec = SegmentSpec {
        table,
        schema_version: schema.version,
        columns: schema.columns.iter().map(|c| (c.id, c.ty.physical())).collect(),
        row_ids: frozen.first_row()..frozen.end_row(),
        folded_csn: csn,
        compress: false,
        block_rows: shared.options.tuning.block_rows,
        purpose: Purpose::Segment,
    };
    if spec.row_ids.is_empty() {
        return Ok(());
    }
    let mut writer = None;
    for (batch, row_ids) in frozen.batches(horizon, PIECE_ROWS) {
        if writer.is_none() {
            writer = Some(SegmentWriter::create(&shared.storage, spec.clone())?);
        }
        writer.as_mut().expect("just made").push(&batch, &row_ids)?;
    }
    if let Some(mut writer) = writer {
        writer.push_commits(&frozen.commits());
        edits.push(Edit::AddSegment(table, writer.finish()?));
    }
    Ok(())
}

fn write_index(
    shared: &Shared,
    schema: &TableSchema,
    table: TableId,
    index: &IndexSchema,
    frozen: &Memtable,
    horizon: Csn,
) -> Result<Option<RunMeta>> {
    let def = key_def(schema, index);
    let (positions, _) = index_positions(schema, index);
    let mut stats = vec![ColumnStats::default(); positions.len()];
    for (batch, _) in frozen.batches(horizon, PIECE_ROWS) {
        for (stats, &p) in stats.iter_mut().zip(&positions) {
            let column: &Column = &batch.columns[p];
            stats.observe(column, 0..batch.rows);
        }
    }
    let packing = Packing::fit(&def, &stats);
    let mut writer = None;
    for entries in frozen.entries(index.id, &packing, horizon) {
        if writer.is_none() {
            let spec = RunSpec {
                table,
                index: index.clone(),
                packing: packing.clone(),
                rows: frozen.first_row()..frozen.end_row(),
                level: 0,
                purpose: Purpose::Index(index.id),
                file_bytes: shared.options.tuning.run_file_bytes,
                block_bytes: shared.options.tuning.block_bytes,
            };
            writer = Some(RunWriter::create(&shared.storage, spec)?);
        }
        writer.as_mut().expect("just made").push(&entries)?;
    }
    writer.map(RunWriter::finish).transpose()
}

fn write_marks(
    shared: &Shared,
    table: TableId,
    frozen: &Memtable,
    edits: &mut Vec<Edit>,
) -> Result<()> {
    let marks = frozen.marks();
    if marks.is_empty() {
        return Ok(());
    }
    let mut writer = MarkRunWriter::create(&shared.storage, MarkRunSpec { table, level: 0 })?;
    for mark in marks.iter() {
        writer.push(mark.row, mark.csn, mark.successor)?;
    }
    edits.push(Edit::AddMarks(table, writer.finish()?));
    Ok(())
}

/// Step 4.
pub(crate) fn cut_log(shared: &Shared) -> Result<()> {
    if !shared.has_commits() {
        return Ok(());
    }
    shared.commits().exclusively(|leader| {
        let last = leader.next_csn - 1;
        let pinned = shared.catalog.all().iter().filter_map(|t| t.oldest_unflushed()).min();
        let flushed = pinned.map_or(last, |csn| csn - 1);
        leader.log.cut(flushed)
    })
}

/// Freezes and flushes one table.
pub(crate) fn flush_table(shared: &Shared, state: &Arc<TableState>) -> Result<()> {
    shared.commits().exclusively(|leader| freeze(shared, state, leader.next_csn - 1));
    while has_frozen(state) {
        let seen = shared.background.idle_event().epoch();
        shared.check_writable()?;
        if shared.background.claim(Claim::Flush(state.id)) {
            shared.background.run_claimed(shared, Claim::Flush(state.id))?;
        } else {
            shared.background.idle_event().wait(seen, None);
        }
    }
    Ok(())
}

/// Freezes and flushes every table.
pub(crate) fn flush_all(shared: &Shared) -> Result<()> {
    shared.catalog.all().iter().try_for_each(|state| flush_table(shared, state))
}

/// Freezes tables that keep the log above its limit. The caller holds the commit lock.
pub(crate) fn relieve_log(shared: &Shared, oldest_needed: Csn, csn: Csn) {
    for state in shared.catalog.all() {
        if state.oldest_unflushed().is_some_and(|c| c <= oldest_needed) {
            freeze(shared, &state, csn);
        }
    }
}

/// Bytes of memtables that are on their way to files.
pub(crate) fn frozen_bytes(shared: &Shared) -> u64 {
    let tables = shared.catalog.all();
    let frozen = tables.iter().flat_map(|t| t.view().frozen.clone());
    frozen.map(|m| m.heap_bytes() as u64).sum::<u64>().min(shared.storage.memory.used(Part::Memtables))
}

/// Rows that a table has in memory.
pub(crate) fn unflushed_rows(view: &TableView) -> RowId {
    view.active.end_row() - view.version.flushed_rows
}
