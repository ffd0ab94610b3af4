//! How does an index get entries for rows that are there already?
//!
//! Segments are read in row order, only the index's columns, a piece at a time; each piece is sorted
//! and written as one run. Merges join the runs later like any others, so memory is bounded by the
//! piece and nothing is sorted twice. Rows that are dead to everybody get entries too; merges drop
//! them.
//!
//! A unique index is judged afterwards: a walk over the new runs in key order must not meet a key
//! twice among rows that are alive (and without a NULL in the key).
//!
//! Thread safety: writers are held off by the caller.

use std::sync::Arc;

use onlap_base::memory::Part;
use onlap_base::{ColumnId, IndexId, Result, RowId};
use onlap_format::key::{ColumnStats, Entries, Packing};
use onlap_format::manifest::{Edit, RunMeta};
use onlap_format::{Batch, Column, IndexSchema};
use onlap_storage::run::{IndexShape, Run, RunFile, RunWriter};
use onlap_storage::segment::SegmentScan;
use onlap_storage::{Direction, EntryCursor, EntryWants, KeyBounds};

use crate::database::Shared;
use crate::read::merge_cursors;
use crate::table::{TableState, TableView, index_positions, key_def};
use crate::{flush, unique};

/// Rows per piece at most: a run of this many is worth its file.
const PIECE_ROWS: usize = 1 << 20;

/// Entries looked at in a step of the search for duplicates.
const JUDGE_BATCH: usize = 1024;

/// Rows gathered for one run.
struct Piece {
    first: RowId,
    rows: Batch,
    row_ids: Vec<RowId>,
}

/// Writes the runs of a new index over all rows of a table, which are all in files. `edits` name what
/// is written, also when it is not to be.
pub(crate) fn build(
    shared: &Shared,
    state: &TableState,
    index: &IndexSchema,
    edits: &mut Vec<Edit>,
) -> Result<()> {
    let mut add = |run| edits.push(Edit::AddRun(state.id, index.id, run));
    let view = state.view();
    let (mut positions, include) = index_positions(&view.schema, index);
    let keys = positions.len();
    positions.extend(include);
    let forms = || positions.iter().map(|&p| view.schema.columns[p].ty.physical());
    let ids: Vec<ColumnId> = positions.iter().map(|&p| view.schema.columns[p].id).collect();
    let limit = shared.storage.memory.limit(Part::Background) as usize / 3;
    let mut piece = Piece { first: 0, rows: Batch::new(forms()), row_ids: Vec::new() };
    let (mut block, mut block_ids) = (Batch::new(forms()), Vec::new());
    for segment in view.version.segments() {
        let mut scan = SegmentScan::new(segment, segment.row_ids(), Direction::Forward);
        while scan.next(&ids, &mut block, &mut block_ids)? {
            if piece.row_ids.len() >= PIECE_ROWS || piece.rows.heap_bytes() > limit {
                let end = block_ids[0];
                add(write_piece(shared, &view, index, keys, &piece, end)?);
                piece = Piece { first: end, rows: Batch::new(forms()), row_ids: Vec::new() };
            }
            piece.rows.extend_range(&block, 0..block.rows);
            piece.row_ids.extend_from_slice(&block_ids);
        }
    }
    if !piece.row_ids.is_empty() {
        let end = view.version.flushed_rows;
        add(write_piece(shared, &view, index, keys, &piece, end)?);
    }
    shared.storage.sync_dir()?;
    if index.unique {
        judge(shared, &view, index, edits)?;
    }
    Ok(())
}

fn write_piece(
    shared: &Shared,
    view: &TableView,
    index: &IndexSchema,
    keys: usize,
    piece: &Piece,
    end: RowId,
) -> Result<RunMeta> {
    let columns: Vec<&Column> = piece.rows.columns[..keys].iter().collect();
    let n = piece.row_ids.len();
    let def = key_def(&view.schema, index);
    let mut stats: Vec<ColumnStats> = def.columns.iter().map(|c| ColumnStats::new(c.ty)).collect();
    stats.iter_mut().zip(&columns).for_each(|(s, c)| s.observe(c, 0..n));
    let packing = Packing::fit(&def, &stats);
    let include = Batch { columns: piece.rows.columns[keys..].to_vec(), rows: n };
    let mut entries = Entries { keys: packing.new_keys(), row_ids: piece.row_ids.clone(), include };
    let packed = packing.pack(&columns, 0..n, &mut entries.keys);
    assert!(packed, "a packing that was fitted to the columns holds them");
    let spec = flush::run_spec(shared, &view.schema, index, packing, piece.first..end, n as u64)?;
    let mut writer = RunWriter::new(&shared.storage, spec);
    writer.push(&entries.sorted())?;
    flush::run_meta(shared, writer, piece.first..end)
}

/// Refuses two live rows with equal keys.
fn judge(shared: &Shared, view: &TableView, index: &IndexSchema, edits: &[Edit]) -> Result<()> {
    let shape = IndexShape::of(&view.schema, index)?;
    let wants =
        EntryWants { keys: true, key_columns: (0..index.key.len()).collect(), include: Vec::new() };
    let mut cursors: Vec<Box<dyn EntryCursor>> = Vec::new();
    for edit in edits {
        let Edit::AddRun(_, _, meta) = edit else { continue };
        let open = |f: &onlap_format::manifest::RunFileMeta| {
            RunFile::open(&shared.storage, &shape, f.file, f.base).map(Arc::new)
        };
        let files = meta.files.iter().map(open).collect::<Result<Vec<_>>>()?;
        let run = Arc::new(Run::new(Arc::clone(&shape), files, None));
        cursors.push(Box::new(run.cursor(KeyBounds::all(), Direction::Forward, wants.clone())));
    }
    let mut last: Option<Vec<u8>> = None;
    let mut merged = merge_cursors(cursors, Direction::Forward);
    let mut batch = onlap_storage::EntryBatch::default();
    while merged.next(JUDGE_BATCH, &mut batch)? {
        for i in 0..batch.len() {
            if batch.columns.columns.iter().any(|c| c.is_null(i))
                || view.mark_of(batch.row_ids[i])?.is_some()
            {
                continue;
            }
            let key = batch.keys.get(i);
            if last.as_deref() == Some(key) {
                return Err(unique::duplicate(&view.schema, index, key));
            }
            last = Some(key.to_vec());
        }
    }
    Ok(())
}

/// The largest key in files.
pub(crate) fn high(state: &TableState, index: IndexId) -> Option<Vec<u8>> {
    let view = state.view();
    let runs = view.version.index(index).map_or(&[][..], |i| &i.runs);
    runs.iter().flat_map(|r| &r.meta.files).map(|f| f.last_key.clone()).max()
}
