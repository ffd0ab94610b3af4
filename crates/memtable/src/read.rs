//! How are rows read by id?
//!
//! Sealed rows are handed out where they lie ([`Piece`]); of the open piece readers get a copy of the
//! columns they want. Rows are found by id, whatever index or mark says of them.
//!
//! Thread safety: the lock is held for finding the list of groups and for the copy.

use std::ops::Range;

use onlap_base::RowId;
use onlap_format::{Batch, Column};

use super::Memtable;
use super::chunk::{Chunk, Pick, gather_columns, pick};

/// Neighbouring rows in memory.
#[derive(Clone, Debug)]
pub struct Piece {
    chunk: Chunk,
    range: Range<usize>,
    /// Whether columns that were not asked for are missing.
    copied: bool,
}

impl Piece {
    /// The rows lie at these places of [`Piece::batch`].
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Columns in schema order. Those that were not asked for may be empty.
    pub fn batch(&self) -> &Batch {
        &self.chunk.rows
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Id of the row at a place of [`Piece::batch`].
    pub fn row_id(&self, i: usize) -> RowId {
        self.chunk.row_id(i)
    }

    /// Appends the ids of all rows.
    pub fn extend_ids(&self, out: &mut Vec<RowId>) {
        self.chunk.extend_ids(self.range.clone(), out);
    }

    /// Whether the rows were copied from the open piece.
    pub fn is_copy(&self) -> bool {
        self.copied
    }
}

impl Memtable {
    /// Rows of a range of ids, in row order. `projection` names the columns wanted of the open piece;
    /// sealed rows come with all columns, uncopied.
    pub fn pieces(&self, range: Range<RowId>, projection: &[usize]) -> Vec<Piece> {
        let mut copy = None;
        let groups = {
            let rows = self.shared.rows.read();
            let from = range.start.max(rows.open_first);
            let to = range.end.min(rows.end());
            if from < to {
                let places = (from - rows.open_first) as usize..(to - rows.open_first) as usize;
                let mut batch = Batch::new(self.shared.shape.forms.iter().copied());
                for &column in projection {
                    batch.columns[column].extend_range(&rows.open.columns[column], places.clone());
                }
                batch.rows = places.len();
                copy = Some(Chunk::dense(batch, from));
            }
            rows.groups.clone()
        };
        let mut pieces = Vec::new();
        let first = groups.partition_point(|g| g.end() <= range.start);
        let in_range = groups[first..].iter().take_while(|g| g.first() < range.end);
        for chunk in in_range.flat_map(|g| &g.chunks) {
            let places = chunk.lower_bound(range.start)..chunk.lower_bound(range.end);
            if !places.is_empty() {
                pieces.push(Piece { chunk: chunk.clone(), range: places, copied: false });
            }
        }
        if let Some(chunk) = copy {
            pieces.push(Piece { range: 0..chunk.len(), chunk, copied: true });
        }
        pieces
    }

    /// Appends the rows with these ids (ascending), columns `projection` in that order, to `out`, and
    /// the places in `rows` of those found to `found`.
    pub fn read_rows(
        &self,
        rows: &[RowId],
        projection: &[usize],
        out: &mut Batch,
        found: &mut Vec<usize>,
    ) {
        debug_assert!(rows.is_sorted());
        debug_assert_eq!(projection.len(), out.columns.len());
        let state = self.shared.rows.read();
        let groups = state.groups.clone();
        let sealed = rows.partition_point(|&row| row < state.open_first);
        let (before, from_open) = rows.split_at(sealed);
        let mut picks: Vec<Pick> = Vec::new();
        let mut open_found = Vec::new();
        // The open piece is read under the lock, into columns of its own: rows of sealed chunks,
        // which come first, are read without it.
        let mut open = Batch::new(out.columns.iter().map(|c| c.data.physical()));
        for (i, &row) in from_open.iter().enumerate() {
            let at = (row - state.open_first) as usize;
            if at < state.open.rows {
                picks.push(pick(0, at));
                open_found.push(sealed + i);
            }
        }
        copy_picks(&[&state.open], &picks, projection, &mut open);
        drop(state);

        picks.clear();
        let mut chunks: Vec<&Chunk> = Vec::new();
        let mut group = 0;
        for (i, &row) in before.iter().enumerate() {
            if chunks.last().is_none_or(|c| row >= c.end()) {
                group += groups[group..].partition_point(|g| g.end() <= row);
                let Some(g) = groups.get(group) else { break };
                let at = g.chunks.partition_point(|c| c.end() <= row);
                if row < g.chunks[at].first() {
                    continue;
                }
                chunks.push(&g.chunks[at]);
            }
            let last = chunks.len() - 1;
            if let Some(at) = chunks[last].find(row) {
                picks.push(pick(last, at));
                found.push(i);
            }
        }
        let batches: Vec<&Batch> = chunks.iter().map(|c| &*c.rows).collect();
        copy_picks(&batches, &picks, projection, out);
        out.extend_range(&open, 0..open.rows);
        found.extend(open_found);
    }
}

/// Appends picked rows of several batches.
fn copy_picks(batches: &[&Batch], picks: &[Pick], projection: &[usize], out: &mut Batch) {
    if !picks.is_empty() {
        for (&column, out) in projection.iter().zip(&mut out.columns) {
            let columns: Vec<&Column> = batches.iter().map(|b| &b.columns[column]).collect();
            gather_columns(&columns, picks, out);
        }
        out.rows += picks.len();
    }
}
