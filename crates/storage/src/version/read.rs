//! What do readers ask the files of a table?
//!
//! Rows by id, and which rows are dead. Everything here concerns rows below
//! [`TableVersion::flushed_rows`] and marks that were flushed; the caller asks memtables for the rest.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::{ColumnId, Csn, IndexId, Result, RowId};
use onlap_format::Batch;

use super::{DeadKey, IndexVersion, MarksEntry, RunEntry, SegmentEntry, TableVersion};
use crate::entry::{Direction, EntryCursor, EntryWants, KeyBounds};
use crate::run::Kept;
use crate::segment::Segment;

/// What lookups of many keys of one index, in the order of keys, hand on.
#[derive(Default)]
pub struct InOrder {
    runs: Vec<Kept>,
    found: Vec<RowId>,
}

impl TableVersion {
    /// The runs of an index.
    pub fn index(&self, id: IndexId) -> Option<&IndexVersion> {
        self.indexes.iter().find(|i| i.id == id)
    }

    /// The segments, by row id.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &Arc<Segment>> {
        self.segments.iter().map(|s| &s.segment)
    }

    /// The segment that stands for a row id; ids between segments are of rows long dead.
    pub fn segment_of(&self, row: RowId) -> Option<&SegmentEntry> {
        let at = self.segments.partition_point(|s| s.meta.rows.end <= row);
        self.segments.get(at).filter(|s| s.meta.rows.contains(&row))
    }

    /// Whether a row id may be of a row that was left out when files were written.
    pub fn has_gaps_at(&self, row: RowId) -> bool {
        row < self.flushed_rows
            && self
                .segment_of(row)
                .is_none_or(|s| s.meta.count < s.meta.rows.end - s.meta.rows.start)
    }

    /// Appends the rows with these ids (rising) to `out`, whose columns are those of the projection,
    /// and the ids of those found to `found`; returns how many blocks were read, each once. Asks no mark.
    pub fn read_rows(
        &self,
        rows: &[RowId],
        projection: &[ColumnId],
        out: &mut Batch,
        found: &mut Vec<RowId>,
    ) -> Result<u64> {
        debug_assert!(rows.is_sorted_by(|a, b| a < b), "row ids rise");
        let mut blocks = 0;
        let mut rest = rows;
        while let Some(first) = rest.first() {
            let at = self.segments.partition_point(|s| s.meta.rows.end <= *first);
            let Some(entry) = self.segments.get(at) else { break };
            let (here, later) = rest.split_at(rest.partition_point(|r| *r < entry.meta.rows.end));
            rest = later;
            blocks += entry.segment.read_rows(here, projection, out, found)?;
        }
        Ok(blocks)
    }

    /// Whether any row is marked as deleted.
    pub fn has_marks(&self) -> bool {
        self.marks.iter().any(|m| m.run.has_deletes())
    }

    /// Whether any row of a range may be marked as deleted.
    pub fn has_marks_in(&self, rows: &Range<RowId>) -> bool {
        self.marks.iter().any(|m| m.run.overlaps(rows))
    }

    /// What a count of the rows of a range that are dead at a horizon depends on, and a number that
    /// it cannot exceed. `None`: no row is dead.
    pub(crate) fn dead_key(&self, rows: &Range<RowId>, horizon: Csn) -> Option<(DeadKey, u64)> {
        let runs = || self.marks.iter().filter(|m| m.run.overlaps(rows));
        let newest = runs().next_back()?;
        let last = runs().map(|m| m.meta.csns.end.saturating_sub(1)).max().unwrap_or(0);
        let bound = runs().map(|m| m.meta.marks).sum();
        Some(((runs().count(), newest.meta.file, horizon.min(last)), bound))
    }

    /// Bytes of the table's files.
    pub fn file_bytes(&self) -> u64 {
        let segments: u64 = self.segments.iter().map(|s| s.meta.bytes).sum();
        let marks: u64 = self.marks.iter().map(|m| m.meta.bytes).sum();
        let runs = self.indexes.iter().flat_map(|i| &i.runs);
        segments + marks + runs.map(|r| r.meta.bytes()).sum::<u64>()
    }

    /// Rows in segments that were found to be dead at the last count.
    pub fn known_dead_rows(&self) -> u64 {
        self.segments.iter().filter_map(|s| Some(s.dead.lock().as_ref()?.1)).sum()
    }

    /// Rows in segments that are dead: as they were counted, where no marks came since, and else as many as marks let expect. Of a
    /// run's marks each segment has those of its share of the run's ids, less the ids whose rows have gone already.
    pub fn expected_dead_rows(&self) -> u64 {
        self.segments.iter().map(|entry| self.expected_dead(entry)).sum()
    }

    fn expected_dead(&self, entry: &SegmentEntry) -> u64 {
        let (rows, count) = (&entry.meta.rows, entry.meta.count);
        let Some((key, _)) = self.dead_key(rows, Csn::MAX) else { return 0 };
        if let Some((_, dead)) = entry.dead.lock().filter(|(of, _)| *of == key) {
            assert!(dead <= count, "no more rows are dead than there are");
            return dead;
        }
        let share = |marks: &MarksEntry| {
            let of = &marks.meta.rows;
            let common = rows.end.min(of.end).saturating_sub(rows.start.max(of.start));
            debug_assert!(common <= of.end - of.start, "a part is no larger than the whole");
            marks.meta.marks as f64 * common as f64 / (of.end - of.start).max(1) as f64
        };
        let marks: f64 = self.marks.iter().filter(|m| m.run.overlaps(rows)).map(share).sum();
        debug_assert!(rows.end - rows.start >= count, "each row has an id of its own");
        let gone = (rows.end - rows.start).saturating_sub(count);
        (marks.round() as u64).saturating_sub(gone).min(count)
    }

    /// Entries of dead rows in runs, counted in the same way.
    pub fn known_dead_entries(&self) -> u64 {
        let dead = |run: &Arc<RunEntry>| {
            if run.run.shape().multi_entry {
                return run.sample.lock().map(|sample| sample.dead());
            }
            let (_, dead) = (*run.dead.lock())?;
            let missing =
                (run.meta.rows.end - run.meta.rows.start).saturating_sub(run.meta.entries());
            Some(dead.saturating_sub(missing).min(run.meta.entries()))
        };
        self.indexes.iter().flat_map(|i| &i.runs).filter_map(dead).sum()
    }

    /// When a row was deleted, and which row took its place; CSN 0 where no snapshot is old enough to
    /// ask when.
    pub fn mark_of(&self, row: RowId) -> Result<Option<(Csn, Option<RowId>)>> {
        for entry in self.marks.iter().rev().filter(|m| m.meta.rows.contains(&row)) {
            if let Some(mark) = entry.run.deleted(row)? {
                return Ok(Some(mark));
            }
        }
        Ok(None)
    }

    /// Clears `keep[i]` where row `rows[i]` (rising) is deleted at `csn`.
    pub fn drop_dead(&self, rows: &[RowId], csn: Csn, keep: &mut [bool]) -> Result<()> {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(()) };
        assert_eq!(rows.len(), keep.len(), "one answer per row");
        debug_assert!(rows.is_sorted(), "row ids rise");
        let asked = *first..last + 1;
        let mut runs = self.marks.iter().filter(|m| m.run.overlaps(&asked)).peekable();
        if runs.peek().is_none() {
            return Ok(());
        }
        let mut dead = vec![false; rows.len()];
        for entry in runs {
            entry.run.filter_dead(rows, csn, &mut dead)?;
        }
        keep.iter_mut().zip(dead).for_each(|(keep, dead)| *keep &= !dead);
        Ok(())
    }

    /// Ids in `rows` that are dead at `csn`, rising.
    pub fn dead_rows(&self, rows: Range<RowId>, csn: Csn) -> Result<Vec<RowId>> {
        // Marks in files may be of rows that are not, where a transaction has spilled only its marks.
        let end = self.marks.iter().map(|m| m.meta.rows.end).max().unwrap_or(0);
        let rows = rows.start..rows.end.min(end);
        if rows.is_empty() || !self.has_marks_in(&rows) {
            return Ok(Vec::new());
        }
        let mut bits = vec![0u64; (rows.end - rows.start).div_ceil(64) as usize];
        let mut any = false;
        for entry in &self.marks {
            any |= entry.run.dead_in(rows.clone(), csn, &mut bits)?;
        }
        let mut dead = Vec::new();
        if any {
            for (word, mut bits) in bits.into_iter().enumerate() {
                while bits != 0 {
                    let bit = word as u64 * 64 + u64::from(bits.trailing_zeros());
                    dead.push(rows.start + bit);
                    bits &= bits - 1;
                }
            }
        }
        Ok(dead)
    }

    /// The newest row below `below` that carries the whole key `key` (key bytes) of an index,
    /// whether deleted or not. Adds to `probes` how many filters were asked.
    pub fn newest_with_key(
        &self,
        index: IndexId,
        key: &[u8],
        below: RowId,
        probes: &mut u64,
    ) -> Result<Option<RowId>> {
        self.newest_among(index, key, 0..below, probes)
    }

    /// The same among rows of a range.
    pub fn newest_among(
        &self,
        index: IndexId,
        key: &[u8],
        rows: Range<RowId>,
        probes: &mut u64,
    ) -> Result<Option<RowId>> {
        self.newest_in_order(index, key, rows, &mut InOrder::default(), probes)
    }

    /// The same for one of many keys that are looked up in their order; `kept` goes from one to the next.
    pub fn newest_in_order(
        &self,
        index: IndexId,
        key: &[u8],
        rows: Range<RowId>,
        kept: &mut InOrder,
        probes: &mut u64,
    ) -> Result<Option<RowId>> {
        let Some(index) = self.index(index) else { return Ok(None) };
        let may_have =
            |r: &Arc<RunEntry>| r.meta.rows.start < rows.end && rows.start < r.meta.rows.end;
        let mut newest: Option<RowId> = None;
        let InOrder { runs, found } = kept;
        if runs.len() != index.runs.len() {
            runs.resize_with(index.runs.len(), Kept::default);
        }
        for (entry, kept) in index.runs.iter().zip(runs).rev() {
            if !may_have(entry) || newest.is_some_and(|n| n >= entry.meta.rows.end) {
                continue;
            }
            found.clear();
            *probes += entry.run.probe_in_order(key, kept, found)?;
            newest = newest.max(found.iter().copied().filter(|r| rows.contains(r)).max());
        }
        Ok(newest)
    }

    /// Runs of an index that may hold rows below `upto`.
    pub fn runs_below(&self, index: IndexId, upto: RowId) -> impl Iterator<Item = &Arc<RunEntry>> {
        self.index(index).into_iter().flat_map(move |index| index.runs_below(upto))
    }

    /// One cursor per run of an index that may hold rows below `upto`; entries of rows from `upto`
    /// on may be among them.
    pub fn cursors(
        &self,
        index: IndexId,
        bounds: &KeyBounds,
        direction: Direction,
        wants: &EntryWants,
        upto: RowId,
        out: &mut Vec<Box<dyn EntryCursor>>,
    ) -> Result<()> {
        let Some(index) = self.index(index) else { return Ok(()) };
        for entry in index.runs_below(upto) {
            out.push(self.run_cursor(&entry.run, bounds.clone(), direction, wants.clone()));
        }
        Ok(())
    }
}

impl IndexVersion {
    fn runs_below(&self, upto: RowId) -> impl Iterator<Item = &Arc<RunEntry>> {
        self.runs.iter().filter(move |r| r.meta.rows.start < upto && !r.meta.files.is_empty())
    }
}
