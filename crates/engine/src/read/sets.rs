//! Which rows does a predicate name?
//!
//! Every range of a tree is read from its index alone, no row and no block of rows is touched, and
//! the sets are put together by set algebra on row ids. NOT costs nothing where it is: a part of the
//! tree is a set of rows or *all rows but* a set, AND of the two forms is a difference, and by De Morgan
//! everything else follows; only a tree that as a whole means all rows but some asks which rows there
//! are. Who is visible is asked once, of the result (I4).
//!
//! Which rows there are, the ranges of row ids tell that segments and memtables stand for. Where a
//! flush or compaction left rows out, their ids name nothing, and no mark may know of them any more;
//! but no index has entries of them either, so the entries of the smallest *complete* index, in which each
//! row has one, say which ids are rows. A table without any has its blocks asked instead.

use std::ops::Range;

use onlap_base::{IndexId, PROVISIONAL_BASE, Result, RowId, stop};
use onlap_storage::segment::Segment;
use onlap_storage::{Direction, EntryBatch, EntryWants, KeyBounds};

use super::ReadView;
use super::bounds::index_by_name;
use super::counters::ReadCounters;
use super::dead::{DeadRows, STRETCH_ROWS};
use super::predicate::Predicate;
use super::row_set::{Collector, RowSet};
use super::rows::BATCH_ROWS;
use crate::table::key_def;

/// Rows, or all rows but these. Some of them may be dead.
pub(super) struct Named {
    pub(super) rows: RowSet,
    pub(super) all_but: bool,
}

impl Named {
    pub(super) fn and(self, other: Named) -> Named {
        let rows = match (self.all_but, other.all_but) {
            (false, false) => self.rows.intersect(other.rows),
            (false, true) => self.rows.subtract(&other.rows),
            (true, false) => other.rows.subtract(&self.rows),
            (true, true) => self.rows.unite(other.rows),
        };
        Named { rows, all_but: self.all_but && other.all_but }
    }

    fn not(self) -> Named {
        Named { all_but: !self.all_but, ..self }
    }

    /// Whether nothing can be left of it by a further AND.
    pub(super) fn is_nothing(&self) -> bool {
        !self.all_but && self.rows.is_empty()
    }

    pub(super) fn everything() -> Named {
        Named { rows: RowSet::default(), all_but: true }
    }
}

impl ReadView {
    /// The visible rows of which a predicate is true.
    pub(crate) fn row_set(
        &self,
        predicate: &Predicate,
        counters: &mut ReadCounters,
    ) -> Result<RowSet> {
        self.rows_of_predicate(predicate, false, counters)
    }

    /// All of them, and perhaps others: see [`super::near`].
    pub(crate) fn rows_near(
        &self,
        predicate: &Predicate,
        counters: &mut ReadCounters,
    ) -> Result<RowSet> {
        self.rows_of_predicate(predicate, true, counters)
    }

    fn rows_of_predicate(
        &self,
        predicate: &Predicate,
        near: bool,
        counters: &mut ReadCounters,
    ) -> Result<RowSet> {
        predicate.check_depth()?;
        // Mistakes are errors whatever the rows are.
        let schema = &*self.view.schema;
        predicate.each_range(&mut |name, range| {
            let index = index_by_name(schema, name)?;
            range.bounds(schema, index, &key_def(schema, index)).map(drop)
        })?;
        let named = self.named(predicate, near, counters)?;
        match named.all_but {
            false => self.visible_of(named.rows),
            true => {
                let all = self.all_rows(counters)?;
                if self.ledger.is_some() {
                    self.view.activity.begin_scan();
                    self.view.activity.scanned(all.len());
                }
                self.visible_of(all.subtract(&named.rows))
            }
        }
    }

    pub(super) fn named(
        &self,
        predicate: &Predicate,
        near: bool,
        counters: &mut ReadCounters,
    ) -> Result<Named> {
        match predicate {
            Predicate::All => Ok(Named::everything()),
            Predicate::Not(of) => Ok(self.named(of, false, counters)?.not()),
            Predicate::And(parts) if near => self.all_near(parts, counters),
            Predicate::And(parts) => {
                let mut all = Named::everything();
                for part in parts {
                    all = all.and(self.named(part, near, counters)?);
                    if all.is_nothing() {
                        break;
                    }
                }
                Ok(all)
            }
            Predicate::Or(parts) => {
                let mut none = Named::everything();
                for part in parts {
                    none = none.and(self.named(part, near, counters)?.not());
                    if none.is_nothing() {
                        break;
                    }
                }
                Ok(none.not())
            }
            Predicate::Index { name, ranges } => {
                let index = index_by_name(&self.view.schema, name)?.id;
                let before = counters.index_entries_read;
                let rows = self.in_ranges(name, ranges, counters);
                let entries = counters.index_entries_read - before;
                self.note_use(index, ranges.len() as u64, entries);
                let rows = rows?;
                Ok(Named { rows, all_but: false })
            }
        }
    }

    /// Rows, dead or not, with entries in any of these ranges of an index.
    fn in_ranges(
        &self,
        name: &str,
        ranges: &[super::KeyRange],
        counters: &mut ReadCounters,
    ) -> Result<RowSet> {
        let schema = &*self.view.schema;
        let index = index_by_name(schema, name)?;
        let def = key_def(schema, index);
        let bounds = ranges.iter().map(|r| r.bounds(schema, index, &def));
        let mut bounds = bounds.collect::<Result<Vec<KeyBounds>>>()?;
        // Neighbours share blocks.
        bounds.sort_unstable_by(|a, b| a.lower.cmp(&b.lower));
        bounds.dedup();
        let judged = index.unique && self.csn >= index.since;
        let mut out = Collector::default();
        let mut batch = EntryBatch::default();
        for bounds in bounds {
            stop::check()?;
            if judged && let Some(key) = whole_key(&bounds, &def) {
                let row = self.row_by_key(index.id, key, counters)?;
                row.iter().for_each(|&row| out.push(&[row]));
                continue;
            }
            let wants = EntryWants::row_ids();
            let cursors = self.sources(index.id, &bounds, Direction::Forward, &wants, false)?;
            for mut cursor in cursors {
                while cursor.next(BATCH_ROWS, &mut batch)? {
                    stop::check()?;
                    counters.entries(&batch);
                    out.push(&batch.row_ids);
                }
            }
        }
        Ok(out.finish())
    }

    /// Those of the rows that are visible.
    fn visible_of(&self, rows: RowSet) -> Result<RowSet> {
        if let Some(list) = rows.as_list() {
            return Ok(RowSet::of_sorted(self.visible(list)?));
        }
        let own_end = self.own.as_ref().map_or(PROVISIONAL_BASE, |own| own.end);
        let rows = rows.without(self.count..PROVISIONAL_BASE).without(own_end..RowId::MAX);
        if !self.has_marks() {
            return Ok(rows);
        }
        let (mut hidden, mut dead) = (Collector::default(), DeadRows::default());
        let mut at = rows.next_from(0);
        while let Some(row) = at {
            let end = row.saturating_add(STRETCH_ROWS);
            hidden.push(dead.within(self, Direction::Forward, row..end)?);
            at = rows.next_from(end);
        }
        Ok(rows.subtract(&hidden.finish()))
    }

    /// The rows that are there, dead or not, as far as they may be seen.
    fn all_rows(&self, counters: &mut ReadCounters) -> Result<RowSet> {
        let mut out = Collector::default();
        let mut unsure = Vec::new();
        for segment in self.view.version.segments() {
            stored(segment, self.count, &mut out, &mut unsure);
        }
        if !unsure.is_empty() {
            self.fill_gaps(&unsure, &mut out, counters)?;
        }
        if let Some(own) = &self.own {
            for segment in own.files.iter().flat_map(|files| files.segments()) {
                unsure.clear();
                stored(segment, own.end, &mut out, &mut unsure);
                self.ask_blocks(segment, &unsure, &mut out, counters)?;
            }
        }
        for memtable in self.memtables() {
            for piece in memtable.pieces(self.rows_of(memtable), &[]) {
                let places = piece.range();
                let ids = piece.row_id(places.start)..piece.row_id(places.end - 1) + 1;
                if ids.end - ids.start == places.len() as RowId {
                    out.push_range(ids);
                } else {
                    let mut ids = Vec::with_capacity(places.len());
                    piece.extend_ids(&mut ids);
                    out.push(&ids);
                }
            }
        }
        Ok(out.finish())
    }

    /// Finds the rows within ranges of ids, ascending, of which some name no row.
    fn fill_gaps(
        &self,
        unsure: &[Range<RowId>],
        out: &mut Collector,
        counters: &mut ReadCounters,
    ) -> Result<()> {
        let version = &self.view.version;
        let Some(index) = self.smallest_index() else {
            return version
                .segments()
                .try_for_each(|segment| self.ask_blocks(segment, unsure, out, counters));
        };
        let runs = version.index(index).map_or(&[][..], |i| &i.runs);
        let mut batch = EntryBatch::default();
        let mut found = Collector::default();
        for entry in runs {
            let rows = &entry.meta.rows;
            if !unsure.iter().any(|r| r.start < rows.end && rows.start < r.end) {
                continue;
            }
            let wants = EntryWants::row_ids();
            let mut cursor =
                version.run_cursor(&entry.run, KeyBounds::all(), Direction::Forward, wants);
            while cursor.next(BATCH_ROWS, &mut batch)? {
                stop::check()?;
                let entries = batch.len() as u64;
                counters.entries(&batch);
                self.account(index).iter().for_each(|account| account.read(entries));
                found.push(&batch.row_ids);
            }
        }
        let found = found.finish().within(unsure);
        found.iter().for_each(|row| out.push(&[row]));
        Ok(())
    }

    /// The index, complete for this view, whose entries take the fewest bytes.
    fn smallest_index(&self) -> Option<IndexId> {
        let version = &self.view.version;
        let bytes = |id: IndexId| -> u64 {
            let runs = version.index(id).map_or(&[][..], |i| &i.runs);
            runs.iter().flat_map(|entry| entry.run.files()).map(|file| file.bytes()).sum()
        };
        let indexes = self.view.schema.indexes.iter();
        let whole = indexes.filter(|i| i.ready && !i.fences_only && i.is_complete());
        whole.map(|i| i.id).min_by_key(|&id| bytes(id))
    }

    /// As [`ReadView::fill_gaps`], from the blocks of rows of one segment.
    fn ask_blocks(
        &self,
        segment: &Segment,
        unsure: &[Range<RowId>],
        out: &mut Collector,
        counters: &mut ReadCounters,
    ) -> Result<()> {
        let blocks = &segment.footer().blocks;
        for ids in unsure {
            stop::check()?;
            let Ok(i) = blocks.binary_search_by_key(&ids.start, |b| b.first_row_id) else {
                continue;
            };
            let block = segment.block(i)?;
            counters.blocks_read += 1;
            let mut rows = Vec::new();
            block.row_ids(0..block.lower_bound(ids.end), &mut rows);
            out.push(&rows);
        }
        Ok(())
    }
}

/// Notes the rows of a segment with ids below `count`: whole blocks in `out`, in `unsure` the ids of
/// blocks that have fewer rows than ids.
fn stored(segment: &Segment, count: RowId, out: &mut Collector, unsure: &mut Vec<Range<RowId>>) {
    let Range { start, end } = segment.row_ids();
    let footer = segment.footer();
    if start >= count {
        return;
    }
    if footer.rows == end - start {
        return out.push_range(start..end.min(count));
    }
    for (i, block) in footer.blocks.iter().enumerate() {
        let first = block.first_row_id;
        if first >= count {
            break;
        }
        let next = footer.blocks.get(i + 1).map_or(end, |b| b.first_row_id);
        if u64::from(block.rows) == next - first {
            out.push_range(first..next.min(count));
        } else {
            unsure.push(first..next.min(count));
        }
    }
}

/// The key, where an interval is that of one whole key without NULL.
pub(super) fn whole_key<'a>(
    bounds: &'a KeyBounds,
    def: &onlap_format::key::KeyDef,
) -> Option<&'a [u8]> {
    match (&bounds.lower, &bounds.upper) {
        (Some((lower, true)), Some((upper, true))) if lower == upper => {
            def.is_whole_without_null(lower).then_some(lower.as_slice())
        }
        _ => None,
    }
}
