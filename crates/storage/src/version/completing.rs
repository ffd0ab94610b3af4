//! How are the entries of a run of cut keys read?
//!
//! Such a run has the first part of each key and the row id. A [`Completing`] cursor takes entries until it
//! has all with the same part, reads the key columns of their rows, some thousand rows at a time and each
//! block once, drops those whose key does not belong, and puts the rest into the order of whole keys.
//! Rows that are in no segment any more have no entry; no snapshot could see them (I4). Above the cursor
//! nothing differs from a run of whole keys.
//!
//! Where row ids alone are wanted, in any order, an entry whose part lies inside the interval belongs: rows
//! are read only of those that cannot be told from an end of it ([`TableVersion::run_cursor`]).
//!
//! Rows have their keys for ever: no column of an index is changed in place, and an index whose columns
//! were before it was built is never cut.
//!
//! Must not know who sees the rows. Thread safety: belongs to one thread.

use std::sync::Arc;

use onlap_base::{ColumnId, Result, RowId};
use onlap_format::key::cut_key;
use onlap_format::{Batch, BytesVec, Column, Physical};

use super::TableVersion;
use crate::entry::{Direction, EntryBatch, EntryCursor, EntryWants, KeyBounds};
use crate::run::{IndexShape, Run, RunCursor, narrowed};
use crate::segment::Segment;

/// Entries that are completed at once, unless more have the same part: with their keys some 300 KiB.
const COMPLETED_MAX: usize = 4096;

/// Walks whole entries of a run of cut keys.
struct Completing {
    shape: Arc<IndexShape>,
    cut: usize,
    bounds: KeyBounds,
    direction: Direction,
    wants: EntryWants,
    inner: RunCursor,
    ended: bool,
    /// Those of the run's rows, by row id.
    segments: Vec<Arc<Segment>>,
    /// The key columns, then the wanted included columns.
    projection: Vec<ColumnId>,
    /// Entries as the run gave them, not completed yet.
    ahead: EntryBatch,
    batch: EntryBatch,
    whole: Whole,
    given: usize,
    /// Rows read since the last batch was given.
    completed: u64,
}

/// Completed entries: where they stand among rows that were read, in the order of the walk.
#[derive(Default)]
struct Whole {
    rows: Batch,
    row_ids: Vec<RowId>,
    keys: BytesVec,
    picks: Vec<u32>,
}

/// Cursors one after the other, the last one first.
struct Chain {
    parts: Vec<Box<dyn EntryCursor>>,
    /// Of the columns that are wanted.
    forms: Vec<Physical>,
}

impl TableVersion {
    /// Walks the entries of a run that has files of cut keys.
    pub(super) fn complete(
        &self,
        run: &Run,
        bounds: KeyBounds,
        direction: Direction,
        wants: EntryWants,
    ) -> Box<dyn EntryCursor> {
        let mut parts: Vec<Box<dyn EntryCursor>> = Vec::new();
        for part in run.parts() {
            let (bounds, wants) = (bounds.clone(), wants.clone());
            parts.push(match part.cut() {
                Some(cut) => self.complete_part(&part, cut, bounds, direction, wants),
                None => Box::new(part.cursor(bounds, direction, wants)),
            });
        }
        if direction == Direction::Forward {
            parts.reverse();
        }
        match parts.len() {
            1 => parts.swap_remove(0),
            _ => Box::new(Chain { parts, forms: run.shape().forms(&wants) }),
        }
    }

    /// The same where all files are of cut keys, of each of which `cut` bytes are kept.
    fn complete_part(
        &self,
        run: &Arc<Run>,
        cut: usize,
        bounds: KeyBounds,
        direction: Direction,
        wants: EntryWants,
    ) -> Box<dyn EntryCursor> {
        debug_assert!(
            run.trim().is_none_or(|trim| trim.len() <= cut),
            "a trim of cut keys is one: no key is below it in part"
        );
        if !wants.is_row_ids() {
            return Box::new(self.completing(run, cut, bounds, direction, wants));
        }
        let mut ends: Vec<KeyBounds> = Vec::new();
        let prefixes = [&bounds.lower, &bounds.upper].map(|end| end.as_ref().map(|(p, _)| p));
        for prefix in prefixes.into_iter().flatten().filter(|p| p.len() > cut) {
            // Both conditions of the bounds hold for what is found at one end.
            let end = KeyBounds::prefix(&prefix[..cut]);
            if !ends.contains(&end) {
                ends.push(end);
            }
        }
        let between = (!is_one_part(&bounds, cut)).then(|| narrowed(&bounds, cut));
        let mut parts: Vec<Box<dyn EntryCursor>> = Vec::with_capacity(3);
        for end in ends {
            let mut part = self.completing(run, cut, end, direction, wants.clone());
            part.bounds = bounds.clone();
            parts.push(Box::new(part));
        }
        if let Some(between) = between {
            parts.push(Box::new(run.cursor(between, direction, wants)));
        }
        Box::new(Chain { parts, forms: Vec::new() })
    }

    fn completing(
        &self,
        run: &Arc<Run>,
        cut: usize,
        bounds: KeyBounds,
        direction: Direction,
        wants: EntryWants,
    ) -> Completing {
        let shape = Arc::clone(run.shape());
        let index = self.schema.index(shape.index).expect("a run's index is in the schema");
        let key = index.key.iter().map(|part| part.column);
        let include = wants.include.iter().map(|&i| shape.include[i].0);
        let rows = run.rows();
        let first = self.segments.partition_point(|s| s.meta.rows.end <= rows.start);
        let of_run = self.segments[first..].iter().take_while(|s| s.meta.rows.start < rows.end);
        let parts = EntryWants { keys: true, ..EntryWants::default() };
        Completing {
            cut,
            projection: key.chain(include).collect(),
            segments: of_run.map(|s| Arc::clone(&s.segment)).collect(),
            inner: run.cursor(bounds.clone(), direction, parts),
            shape,
            bounds,
            direction,
            wants,
            ended: false,
            ahead: EntryBatch::default(),
            batch: EntryBatch::default(),
            whole: Whole::default(),
            given: 0,
            completed: 0,
        }
    }
}

/// Whether all keys within bounds have the same kept part.
fn is_one_part(bounds: &KeyBounds, cut: usize) -> bool {
    match (&bounds.lower, &bounds.upper) {
        (Some((lower, _)), Some((upper, _))) => {
            lower.len() > cut && upper.len() > cut && lower[..cut] == upper[..cut]
        }
        _ => false,
    }
}

impl Completing {
    /// Takes entries until a part is behind them, and completes those of whole parts; false at the end.
    fn fill(&mut self, max: usize) -> Result<bool> {
        self.whole.picks.clear();
        self.given = 0;
        loop {
            let whole = match self.ended {
                true => self.ahead.len(),
                false => self.last_part(),
            };
            if whole > 0 {
                self.complete(whole)?;
                return Ok(true);
            }
            if self.ended {
                return Ok(false);
            }
            self.ended = !self.inner.next(max.min(COMPLETED_MAX), &mut self.batch)?;
            let n = self.batch.len();
            self.ahead.extend_range(&self.batch, 0..n);
        }
    }

    /// Where the entries with the last part begin, more of which may follow.
    fn last_part(&self) -> usize {
        let part = |i: usize| cut_key(self.ahead.keys.get(i), self.cut);
        let Some(last) = self.ahead.len().checked_sub(1) else { return 0 };
        (0..last).rev().find(|&i| part(i) != part(last)).map_or(0, |i| i + 1)
    }

    /// Reads the rows of the first `n` entries and picks those that belong, in order.
    fn complete(&mut self, n: usize) -> Result<()> {
        let mut rows = self.ahead.row_ids[..n].to_vec();
        rows.sort_unstable();
        let left = self.ahead.len() - n;
        let mut rest = EntryBatch::default();
        rest.extend_range(&self.ahead, n..n + left);
        self.ahead = rest;
        let forms = self.shape.key.columns.iter().map(|c| c.ty.physical());
        let include = self.wants.include.iter().map(|&i| self.shape.include[i].1);
        let whole = &mut self.whole;
        whole.rows = Batch::new(forms.chain(include));
        whole.row_ids.clear();
        whole.keys.clear();
        read(&self.segments, &rows, &self.projection, whole)?;
        self.completed += whole.row_ids.len() as u64;
        let columns: Vec<&Column> =
            whole.rows.columns[..self.shape.key.columns.len()].iter().collect();
        let mut key = Vec::new();
        for at in 0..whole.row_ids.len() {
            key.clear();
            self.shape.key.encode_row(&columns, at, &mut key);
            whole.keys.push(&key);
            if self.bounds.contains(&key) {
                whole.picks.push(at as u32);
            }
        }
        let (keys, row_ids) = (&whole.keys, &whole.row_ids);
        let entry = |i: u32| (keys.get(i as usize), row_ids[i as usize]);
        match self.direction {
            Direction::Forward => whole.picks.sort_unstable_by(|&a, &b| entry(a).cmp(&entry(b))),
            Direction::Backward => whole.picks.sort_unstable_by(|&a, &b| entry(b).cmp(&entry(a))),
        }
        Ok(())
    }
}

/// Reads columns of the rows with these ids (rising) that are there.
fn read(
    segments: &[Arc<Segment>],
    rows: &[RowId],
    projection: &[ColumnId],
    out: &mut Whole,
) -> Result<()> {
    let mut rest = rows;
    while let Some(first) = rest.first() {
        let at = segments.partition_point(|s| s.row_ids().end <= *first);
        let Some(segment) = segments.get(at) else { break };
        let (here, later) = rest.split_at(rest.partition_point(|r| *r < segment.row_ids().end));
        rest = later;
        segment.read_rows(here, projection, &mut out.rows, &mut out.row_ids)?;
    }
    Ok(())
}

impl EntryCursor for Completing {
    fn next(&mut self, max: usize, out: &mut EntryBatch) -> Result<bool> {
        out.reset(&self.shape.forms(&self.wants));
        while self.given == self.whole.picks.len() {
            if !self.fill(max)? {
                out.completed = std::mem::take(&mut self.completed);
                return Ok(false);
            }
        }
        let end = self.whole.picks.len().min(self.given + max);
        let picks = &self.whole.picks[self.given..end];
        self.given = end;
        if self.wants.keys {
            picks.iter().for_each(|&i| out.keys.push(self.whole.keys.get(i as usize)));
        }
        out.row_ids.extend(picks.iter().map(|&i| self.whole.row_ids[i as usize]));
        let included = self.shape.key.columns.len()..self.whole.rows.columns.len();
        let from = self.wants.key_columns.iter().copied().chain(included);
        for (to, from) in out.columns.columns.iter_mut().zip(from) {
            to.extend_selected(&self.whole.rows.columns[from], picks);
        }
        out.columns.rows = picks.len();
        out.completed = std::mem::take(&mut self.completed);
        Ok(true)
    }
}

impl EntryCursor for Chain {
    fn next(&mut self, max: usize, out: &mut EntryBatch) -> Result<bool> {
        let mut completed = 0;
        while let Some(part) = self.parts.last_mut() {
            let more = part.next(max, out)?;
            out.completed += completed;
            if more {
                return Ok(true);
            }
            completed = out.completed;
            self.parts.pop();
        }
        out.reset(&self.forms);
        out.completed = completed;
        Ok(false)
    }
}
