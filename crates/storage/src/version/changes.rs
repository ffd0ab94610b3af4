//! Which column changes that were flushed are not in the segments yet?
//!
//! A segment has the changes of its rows up to its `folded_csn`; mark runs have the rest. Everything
//! here concerns rows and changes in files; the caller asks memtables for the rest.
//!
//! Thread safety: versions are immutable.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::{ColumnId, Csn, Result, RowId};
use onlap_format::Column;
use onlap_format::changes::ChangeBounds;

use super::{SegmentEntry, TableVersion};
use crate::marks::{ChangeScratch, MarkRun, Patched};

impl TableVersion {
    /// Mark runs with changes, by the commits that made them.
    pub(super) fn sort_changed(&mut self) {
        let runs = self.marks.iter().filter(|m| m.run.footer().change_count() > 0);
        self.changed = runs.map(|m| Arc::clone(&m.run)).collect();
        self.changed.sort_by_key(|run| run.footer().change_csns.start);
    }

    /// Mark runs with changes, from the oldest on.
    pub fn changed(&self) -> &[Arc<MarkRun>] {
        &self.changed
    }

    /// Whether rows of a column may have changes that no segment has.
    pub fn changes_column(&self, column: ColumnId) -> bool {
        self.changed.iter().any(|run| run.changes_column(column))
    }

    /// What pending changes of a column may do to a row.
    pub fn change_bounds(&self, column: ColumnId) -> ChangeBounds {
        let bounds = self.changed.iter().flat_map(|run| &run.footer().bounds);
        let bounds = bounds.filter(|(id, _)| *id == column).map(|(_, bounds)| *bounds);
        bounds.fold(ChangeBounds::default(), ChangeBounds::and)
    }

    /// Lays the changes up to `csn` over rows `ids` (rising) of a column, which stand in `to` from place
    /// `at` on, or the other way round where `backward` says so. Rows that no segment has stay as they
    /// are.
    pub fn lay_changes(
        &self,
        column: ColumnId,
        csn: Csn,
        ids: &[RowId],
        to: &mut Column,
        at: usize,
        backward: bool,
        scratch: &mut ChangeScratch,
    ) -> Result<()> {
        if !self.changes_column(column) {
            return Ok(());
        }
        let mut from = 0;
        while from < ids.len() && ids[from] < self.flushed_rows {
            let i = self.segments.partition_point(|s| s.meta.rows.end <= ids[from]);
            let Some(entry) = self.segments.get(i) else { return Ok(()) };
            let end = from + ids[from..].partition_point(|r| *r < entry.meta.rows.end);
            let folded = entry.segment.footer().folded_csn;
            let place = if backward { at + ids.len() - end } else { at + from };
            let mut rows = Patched::new(to, place, &ids[from..end], backward);
            for run in &self.changed {
                run.apply_changes(column, (folded, csn), &mut rows, scratch)?;
            }
            rows.finish();
            from = end;
        }
        Ok(())
    }

    /// The newest commit after `since` that changed any column of any of the rows `ids` (rising).
    pub fn newest_change(&self, ids: &[RowId], since: Csn) -> Result<Option<Csn>> {
        let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return Ok(None) };
        let (mut found, mut newest) = (Vec::new(), None);
        for run in self.changed.iter().filter(|r| r.footer().change_csns.end > since + 1) {
            for (column, _) in &run.footer().bounds {
                let Some(p) = self.schema.position(*column) else { continue };
                let form = self.schema.columns[p].ty.physical();
                found.clear();
                run.read_changes(*column, form, *first..last + 1, &mut found)?;
                for change in found.iter().filter(|c| c.csn > since) {
                    let at = ids.partition_point(|r| *r < change.first);
                    if ids.get(at).is_some_and(|r| *r < change.end()) {
                        newest = newest.max(Some(change.csn));
                    }
                }
            }
        }
        Ok(newest)
    }

    /// Up to which commit the segment of a row has its changes, and where the ids for which that holds
    /// end. `None`: the row is in no segment, and no snapshot sees it.
    pub(crate) fn folded_at(&self, row: RowId) -> (Option<Csn>, RowId) {
        let at = self.segments.partition_point(|s| s.meta.rows.end <= row);
        match self.segments.get(at) {
            Some(s) if s.meta.rows.contains(&row) => {
                (Some(s.segment.footer().folded_csn), s.meta.rows.end)
            }
            Some(s) => (None, s.meta.rows.start),
            None => (None, RowId::MAX),
        }
    }

    /// How many changes of rows of a range, estimated by blocks, a fold of everything up to `csn` would
    /// put into their segment, which has those up to `folded`.
    pub fn foldable_changes(&self, rows: &Range<RowId>, folded: Csn, csn: Csn) -> u64 {
        let mut sum = 0.0;
        for run in &self.changed {
            let footer = run.footer();
            if footer.change_csns.end <= folded + 1
                || footer.change_csns.end > csn.saturating_add(1)
            {
                continue;
            }
            let blocks = footer.bounds.iter().flat_map(|b| footer.change_blocks(b.0, rows));
            for block in blocks.map(|i| &footer.changes[i]) {
                let inside = block.end.min(rows.end) - block.first.max(rows.start);
                let share = inside as f64 / (block.end - block.first) as f64;
                sum += (f64::from(block.count) * share).max(1.0);
            }
        }
        sum as u64
    }

    /// Changes in files that the segments do not have, estimated by blocks.
    pub fn pending_changes(&self) -> u64 {
        let of = |s: &SegmentEntry| {
            self.foldable_changes(&s.meta.rows, s.segment.footer().folded_csn, Csn::MAX)
        };
        if self.changed.is_empty() { 0 } else { self.segments.iter().map(of).sum() }
    }

    /// Whether the segments have every change of a mark run, so that rewriting it makes it smaller.
    pub fn all_folded(&self, run: &MarkRun) -> bool {
        let footer = run.footer();
        if footer.changes.is_empty() {
            return false;
        }
        let (first, end) = footer
            .changes
            .iter()
            .fold((RowId::MAX, 0), |(first, end), b| (first.min(b.first), end.max(b.end)));
        let concerned =
            self.segments.iter().filter(|s| s.meta.rows.start < end && first < s.meta.rows.end);
        let mut folded = concerned.map(|s| s.segment.footer().folded_csn);
        folded.all(|folded| folded + 1 >= footer.change_csns.end)
    }
}
