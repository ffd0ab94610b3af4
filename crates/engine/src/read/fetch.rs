//! Which rows are visible, and how are rows read by id?
//!
//! Rows are read in the order of their ids, each block once; whoever wants them in another order
//! ([`ReadView::read_in_order`]) gets them put back into it. A row that is visible lies in exactly one
//! place: a segment, a frozen memtable or the active one.

use onlap_base::{ColumnId, Error, PROVISIONAL_BASE, Result, RowId, stop};
use onlap_format::{Batch, DataType, Row, convert};
use onlap_memtable::Memtable;
use onlap_storage::marks::ChangeScratch;

use super::ReadView;
use super::counters::ReadCounters;
use super::rows::take;
use crate::table::TableView;

impl TableView {
    /// Whether any row is marked as deleted.
    pub(super) fn has_marks(&self) -> bool {
        self.version.has_marks() || self.memtables_newest_first().any(|m| m.has_marks())
    }
}

impl ReadView {
    /// Appends the rows with these ids (ascending) to `out`, whose columns are those at positions
    /// `columns` of the table, and the ids of those found to `found`. Asks no mark.
    pub(crate) fn read_rows(
        &self,
        rows: &[RowId],
        columns: &[usize],
        out: &mut Batch,
        found: &mut Vec<RowId>,
        counters: &mut ReadCounters,
    ) -> Result<()> {
        let (before, at) = (found.len(), out.rows);
        self.read_stored(rows, columns, out, found, counters)?;
        counters.rows_read += (found.len() - before) as u64;
        let mut scratch = ChangeScratch::default();
        self.lay_changes(columns, &found[before..], &mut out.columns, at, &mut scratch)
    }

    /// The rows as they landed, or as their segments have them.
    fn read_stored(
        &self,
        rows: &[RowId],
        columns: &[usize],
        out: &mut Batch,
        found: &mut Vec<RowId>,
        counters: &mut ReadCounters,
    ) -> Result<()> {
        let view = &self.view;
        let flushed = rows.partition_point(|&r| r < view.version.flushed_rows);
        let (in_files, mut rest) = rows.split_at(flushed);
        if !in_files.is_empty() {
            let ids: Vec<ColumnId> = columns.iter().map(|&c| view.schema.columns[c].id).collect();
            counters.blocks_read += view.version.read_rows(in_files, &ids, out, found)?;
        }
        if rest.is_empty() {
            return Ok(());
        }
        if let Some(own) = &self.own
            && let Some(files) = &own.files
        {
            let of_table = rest.partition_point(|&r| r < PROVISIONAL_BASE);
            let spilled = rest.partition_point(|&r| r < own.memtable.first_row());
            if of_table < spilled {
                // Own rows are the last: those of the table come first, then those in files.
                let (table, own_memory) = (&rest[..of_table], &rest[spilled..]);
                self.read_memory(table, columns, out, found);
                let ids: Vec<ColumnId> =
                    columns.iter().map(|&c| view.schema.columns[c].id).collect();
                let spilled = &rest[of_table..spilled];
                counters.blocks_read += files.read_rows(spilled, &ids, out, found)?;
                rest = own_memory;
            }
        }
        self.read_memory(rest, columns, out, found);
        Ok(())
    }

    /// The part of [`ReadView::read_rows`] that memtables have.
    fn read_memory(
        &self,
        rows: &[RowId],
        columns: &[usize],
        out: &mut Batch,
        found: &mut Vec<RowId>,
    ) {
        let mut rest = rows;
        let mut places = Vec::new();
        let mut memtables: Vec<_> = self.view.memtables_newest_first().collect();
        memtables.reverse();
        memtables.extend(self.own.iter().map(|own| &own.memtable));
        for (i, memtable) in memtables.iter().enumerate() {
            let end = memtables.get(i + 1).map_or(RowId::MAX, |next| next.first_row());
            let (here, later) = rest.split_at(rest.partition_point(|&r| r < end));
            rest = later;
            if !here.is_empty() {
                places.clear();
                memtable.read_rows(here, columns, out, &mut places);
                found.extend(places.iter().map(|&i| here[i]));
            }
        }
    }

    /// Counts what was read towards the statement that reads.
    pub(crate) fn count_up(&self, counters: &ReadCounters) {
        if let Some(tally) = &self.tally {
            tally.add(counters);
        }
    }

    /// Those of the rows (ascending) that are visible.
    pub(crate) fn visible(&self, rows: &[RowId]) -> Result<Vec<RowId>> {
        let mut keep: Vec<bool> = rows.iter().map(|&r| self.in_sight(r)).collect();
        self.drop_dead(rows, &mut keep)?;
        let kept = rows.iter().zip(keep).filter(|(_, keep)| *keep);
        Ok(kept.map(|(&row, _)| row).collect())
    }

    /// Those of visible rows (ascending) that are there: an id whose row a compaction has left out
    /// carries no mark any more. Reads only from segments that have such gaps.
    pub(crate) fn existing(&self, rows: Vec<RowId>) -> Result<Vec<RowId>> {
        let gaps = |r: &RowId| self.view.version.has_gaps_at(*r);
        if !rows.iter().any(gaps) {
            return Ok(rows);
        }
        let (unsure, mut found): (Vec<RowId>, Vec<RowId>) = rows.into_iter().partition(gaps);
        let mut nothing = Batch::new(std::iter::empty());
        let blocks_read = self.view.version.read_rows(&unsure, &[], &mut nothing, &mut found)?;
        self.count_up(&ReadCounters { blocks_read, ..ReadCounters::default() });
        found.sort_unstable();
        Ok(found)
    }

    /// Fills `picks` with the places in `rows`, which come in any order, of those that are visible.
    /// False, and `picks` untouched, where all are: the common case, which costs one look at each id.
    pub(crate) fn pick_visible(&self, rows: &[RowId], picks: &mut Vec<u32>) -> Result<bool> {
        let all_below = rows.iter().fold(true, |all, &r| all & self.in_sight(r));
        if !self.has_marks() {
            if !all_below {
                picks.clear();
                picks.extend(places_where(rows, |r| self.in_sight(r)));
            }
            return Ok(!all_below);
        }
        if rows.len() <= Memtable::FEW_ROWS && !self.has_marks_elsewhere() {
            return Ok(self.pick_of_few(rows, picks));
        }
        let mut order: Vec<(RowId, u32)> =
            rows.iter().zip(0..).map(|(&row, i)| (row, i)).filter(|e| self.in_sight(e.0)).collect();
        order.sort_unstable();
        let sorted: Vec<RowId> = order.iter().map(|e| e.0).collect();
        let mut keep = vec![true; sorted.len()];
        self.drop_dead(&sorted, &mut keep)?;
        if all_below && keep.iter().all(|&k| k) {
            return Ok(false);
        }
        picks.clear();
        picks.extend(order.iter().zip(keep).filter(|(_, keep)| *keep).map(|(e, _)| e.1));
        picks.sort_unstable();
        Ok(true)
    }

    /// Whether rows are marked in files or by the transaction itself, which are asked in the order of ids.
    fn has_marks_elsewhere(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.has_marks()) || self.view.version.has_marks()
    }

    /// [`ReadView::pick_visible`] of few rows, where the memtables of the table alone have marks.
    fn pick_of_few(&self, rows: &[RowId], picks: &mut Vec<u32>) -> bool {
        let mut keep = [true; Memtable::FEW_ROWS];
        let keep = &mut keep[..rows.len()];
        for (keep, &row) in keep.iter_mut().zip(rows) {
            *keep = self.in_sight(row);
        }
        for memtable in self.view.memtables_newest_first() {
            memtable.drop_dead_few(rows, self.csn, keep);
        }
        if keep.iter().all(|&keep| keep) {
            return false;
        }
        picks.clear();
        picks.extend(keep.iter().zip(0..).filter(|(keep, _)| **keep).map(|(_, i)| i));
        true
    }

    /// Appends the rows with these ids, which are visible and ascend.
    pub(super) fn read_sorted(
        &self,
        rows: &[RowId],
        columns: &[usize],
        out: &mut Batch,
        counters: &mut ReadCounters,
    ) -> Result<()> {
        let mut found = Vec::with_capacity(rows.len());
        self.read_rows(rows, columns, out, &mut found, counters)?;
        if found.len() == rows.len() {
            return Ok(());
        }
        let missing = rows.iter().find(|r| found.binary_search(r).is_err());
        let missing = missing.expect("fewer rows were found than asked for");
        let name = &self.view.schema.name;
        Err(Error::damaged(format!("row {missing} of table {name} is in no segment")))
    }

    /// Appends the rows with these ids, which are visible and come in any order, in that order.
    pub(super) fn read_in_order(
        &self,
        rows: &[RowId],
        columns: &[usize],
        out: &mut Batch,
        counters: &mut ReadCounters,
    ) -> Result<()> {
        if rows.is_sorted_by(|a, b| a < b) {
            return self.read_sorted(rows, columns, out, counters);
        }
        let mut order: Vec<(RowId, u32)> = rows.iter().zip(0..).map(|(&r, i)| (r, i)).collect();
        order.sort_unstable();
        let sorted: Vec<RowId> = order.iter().map(|e| e.0).collect();
        let mut batch = Batch::new(out.columns.iter().map(|c| c.data.physical()));
        self.read_sorted(&sorted, columns, &mut batch, counters)?;
        let mut places = vec![0; rows.len()];
        for (place, &(_, i)) in order.iter().enumerate() {
            places[i as usize] = place as u32;
        }
        take(&batch, &places, out);
        Ok(())
    }

    /// Reads the rows with these ids (ascending) that are visible: their ids and the columns.
    pub(crate) fn fetch(
        &self,
        rows: &[RowId],
        columns: &[usize],
        counters: &mut ReadCounters,
    ) -> Result<(Vec<RowId>, Batch)> {
        stop::check()?;
        let visible = self.visible(rows)?;
        let schema = &self.view.schema;
        let mut out = Batch::new(columns.iter().map(|&c| schema.columns[c].ty.physical()));
        let mut found = Vec::with_capacity(visible.len());
        // An id that a compaction has forgotten is not visible, so what is missing is left out.
        self.read_rows(&visible, columns, &mut out, &mut found, counters)?;
        Ok((found, out))
    }

    /// Reads the rows with these ids (ascending) that are visible, whole.
    pub(crate) fn fetch_rows(&self, rows: &[RowId]) -> Result<(Vec<RowId>, Vec<Row>)> {
        let all: Vec<usize> = (0..self.view.schema.columns.len()).collect();
        let mut counters = ReadCounters::default();
        let fetched = self.fetch(rows, &all, &mut counters);
        self.count_up(&counters);
        let (found, batch) = fetched?;
        let types: Vec<DataType> = self.view.schema.columns.iter().map(|c| c.ty).collect();
        let row = |i| {
            let values = types.iter().zip(&batch.columns);
            values.map(|(&ty, column)| convert::read_value(ty, column, i)).collect()
        };
        Ok((found, (0..batch.rows).map(row).collect()))
    }
}

fn places_where(rows: &[RowId], keep: impl Fn(RowId) -> bool) -> impl Iterator<Item = u32> {
    rows.iter().zip(0..).filter(move |(r, _)| keep(**r)).map(|(_, i)| i)
}
