//! How are the entries of a fences-only run read?
//!
//! Such a run has none of its own: its fences say in which row ids a range of keys lies, and there
//! the rows of the segments are in the order of the index, because keys do not fall as row ids rise.
//! So a walk over the rows is a walk over the entries, in both directions. Rows that a compaction has
//! taken away have no entry; no snapshot could see them (I4).
//!
//! Must not know who sees the rows. Thread safety: belongs to one thread.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use onlap_base::{ColumnId, Result, RowId};
use onlap_format::{Batch, BytesVec, Column};

use super::TableVersion;
use crate::entry::{Direction, EntryBatch, EntryCursor, EntryWants, KeyBounds};
use crate::run::{IndexShape, Run};
use crate::segment::{Segment, SegmentScan};

/// Walks the rows in which the entries of a fences-only run lie.
struct RowCursor {
    shape: Arc<IndexShape>,
    bounds: KeyBounds,
    /// Entries with keys below no longer count.
    trim: Option<Vec<u8>>,
    direction: Direction,
    wants: EntryWants,
    /// What is left, by row id.
    parts: VecDeque<(Arc<Segment>, Range<RowId>)>,
    scan: Option<SegmentScan>,
    /// The key columns, then the wanted included columns.
    projection: Vec<ColumnId>,
    /// Rows of the current block in the direction of the walk, and their keys.
    block: Batch,
    rows: Vec<RowId>,
    keys: BytesVec,
    /// Those within bounds, of which the first `given` were given.
    picks: Vec<u32>,
    given: usize,
}

impl TableVersion {
    /// Walks the entries of a run of this version within bounds, whatever its form.
    pub fn run_cursor(
        &self,
        run: &Arc<Run>,
        bounds: KeyBounds,
        direction: Direction,
        wants: EntryWants,
    ) -> Box<dyn EntryCursor> {
        if run.cut().is_some() {
            return self.complete(run, bounds, direction, wants);
        }
        let Some(stretches) = run.stretches(&bounds) else {
            return Box::new(run.cursor(bounds, direction, wants));
        };
        let shape = Arc::clone(run.shape());
        let index = self.schema.index(shape.index).expect("a run's index is in the schema");
        let key = index.key.iter().map(|part| part.column);
        let include = wants.include.iter().map(|&i| shape.include[i].0);
        let key_forms = shape.key.columns.iter().map(|c| c.ty.physical());
        let include_forms = wants.include.iter().map(|&i| shape.include[i].1);
        Box::new(RowCursor {
            parts: self.parts(&stretches),
            projection: key.chain(include).collect(),
            block: Batch::new(key_forms.chain(include_forms)),
            trim: run.trim().map(<[u8]>::to_vec),
            shape,
            bounds,
            direction,
            wants,
            scan: None,
            rows: Vec::new(),
            keys: BytesVec::default(),
            picks: Vec::new(),
            given: 0,
        })
    }

    /// The segments of some row-id ranges.
    fn parts(&self, stretches: &[Range<RowId>]) -> VecDeque<(Arc<Segment>, Range<RowId>)> {
        let mut parts = VecDeque::new();
        for rows in stretches {
            let first = self.segments.partition_point(|s| s.meta.rows.end <= rows.start);
            for entry in &self.segments[first..] {
                if entry.meta.rows.start >= rows.end {
                    break;
                }
                parts.push_back((Arc::clone(&entry.segment), rows.clone()));
            }
        }
        parts
    }
}

impl RowCursor {
    /// Looks at the next block; false at the end.
    fn fill(&mut self) -> Result<bool> {
        self.picks.clear();
        self.given = 0;
        if self.scan.is_none() {
            let part = match self.direction {
                Direction::Forward => self.parts.pop_front(),
                Direction::Backward => self.parts.pop_back(),
            };
            let Some((segment, rows)) = part else { return Ok(false) };
            self.scan = Some(SegmentScan::new(&segment, rows, self.direction));
        }
        let scan = self.scan.as_mut().expect("just begun");
        if !scan.next(&self.projection, &mut self.block, &mut self.rows)? {
            self.scan = None;
            return Ok(true);
        }
        let columns = &self.block.columns[..self.shape.key.columns.len()];
        let columns: Vec<&Column> = columns.iter().collect();
        self.keys.clear();
        let mut key = Vec::new();
        for row in 0..self.rows.len() {
            key.clear();
            self.shape.key.encode_row(&columns, row, &mut key);
            self.keys.push(&key);
            let trimmed = self.trim.as_ref().is_some_and(|trim| key < *trim);
            if !trimmed && !self.bounds.is_below(&key) && !self.bounds.is_above(&key) {
                self.picks.push(row as u32);
            }
        }
        Ok(true)
    }
}

impl EntryCursor for RowCursor {
    fn next(&mut self, max: usize, out: &mut EntryBatch) -> Result<bool> {
        out.reset(&self.shape.forms(&self.wants));
        while self.given == self.picks.len() {
            if !self.fill()? {
                return Ok(false);
            }
        }
        let end = self.picks.len().min(self.given + max);
        let picks = &self.picks[self.given..end];
        self.given = end;
        if self.wants.keys {
            picks.iter().for_each(|&i| out.keys.push(self.keys.get(i as usize)));
        }
        out.row_ids.extend(picks.iter().map(|&i| self.rows[i as usize]));
        let included = self.shape.key.columns.len()..self.block.columns.len();
        let from = self.wants.key_columns.iter().copied().chain(included);
        for (to, from) in out.columns.columns.iter_mut().zip(from) {
            to.extend_selected(&self.block.columns[from], picks);
        }
        out.columns.rows = picks.len();
        Ok(true)
    }
}
