//! How are entries of an index found in its finished runs?
//!
//! A [`Run`] is an ordered list of files, each opened once ([`RunFile`]) and shared by the versions
//! that name it. Lookups go from resident fences to one block: a binary search in each. While a merge
//! is under way, entries below the run's *trim* have moved to the merge's output and no longer
//! count here. What the entries' rows look like, and who sees them, is the caller's question (I4).
//!
//! Fences name keys, row ids and blocks of this run, never blocks of segments.
//!
//! Thread safety: shared freely behind an `Arc`; cursors and scans belong to one thread each.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::{ColumnId, Error, ErrorKind, IndexId, Result, RowId, TableId};
use onlap_format::key::{KeyDef, cut_key, cut_len};
use onlap_format::{IndexSchema, Physical, TableSchema};

use crate::entry::{Direction, EntryWants, KeyBounds};

mod cursor;
mod cut;
mod file;
mod filter;
mod kept;
mod scan;
mod unit;
mod writer;

#[cfg(test)]
mod tests;

pub use cursor::RunCursor;
pub(crate) use cut::narrowed;
pub use cut::{Shortener, TIES_MAX, Ties};
pub use file::{FilterCounts, RunFile};
pub use kept::Kept;
pub use scan::RunScan;
pub use writer::{RunSpec, RunWriter};

use unit::Unit;

/// What all runs of an index have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexShape {
    /// Whose rows.
    pub table: TableId,
    /// The index.
    pub index: IndexId,
    /// Its key.
    pub key: KeyDef,
    /// Its INCLUDE columns.
    pub include: Vec<(ColumnId, Physical)>,
    /// Whether keys are looked up one by one, so that filters pay.
    pub unique: bool,
    /// Whether a row may have several entries, or none.
    pub multi_entry: bool,
}

impl IndexShape {
    /// The shape of an index of a table.
    ///
    /// # Errors
    /// `InvalidInput` where the index names a column that the table does not have.
    pub fn of(table: &TableSchema, index: &IndexSchema) -> Result<Arc<IndexShape>> {
        let missing = || {
            let text = format!("index {} names a column that is not in its table", index.name);
            Error::new(ErrorKind::InvalidInput, text)
        };
        let include = |id: &ColumnId| {
            let column = table.columns.iter().find(|c| c.id == *id)?;
            Some((*id, column.ty.physical()))
        };
        Ok(Arc::new(IndexShape {
            table: table.id,
            index: index.id,
            key: KeyDef::of_index(table, index).ok_or_else(missing)?,
            include: index
                .include
                .iter()
                .map(include)
                .collect::<Option<_>>()
                .ok_or_else(missing)?,
            unique: index.unique,
            multi_entry: index.multi_entry,
        }))
    }

    /// Forms of the columns that a reader wants, in the order of [`EntryWants`].
    pub fn forms(&self, wants: &EntryWants) -> Vec<Physical> {
        let key = wants.key_columns.iter().map(|i| self.key.columns[*i].ty.physical());
        let include = wants.include.iter().map(|i| self.include[*i].1);
        key.chain(include).collect()
    }

    /// Forms of all INCLUDE columns.
    pub fn include_forms(&self) -> Vec<Physical> {
        self.include.iter().map(|(_, form)| *form).collect()
    }
}

/// Where a unit stands: file, then unit in the file.
type Place = (usize, usize);

/// The entries of a row-id range of an index, sorted by (key, row id).
pub struct Run {
    shape: Arc<IndexShape>,
    /// In key order, none without entries.
    files: Vec<Arc<RunFile>>,
    trim: Option<Vec<u8>>,
    /// How much of each key is kept, where that is not all of it in each file.
    cut: Option<usize>,
}

impl Run {
    /// A run of these files, which are in key order; entries with key bytes below `trim` do not
    /// count.
    pub fn new(shape: Arc<IndexShape>, files: Vec<Arc<RunFile>>, trim: Option<Vec<u8>>) -> Run {
        let is_cut = files.iter().any(|f| f.packing().is_ok_and(|packing| packing.is_cut()));
        let cut = cut_len(&shape.key).filter(|_| is_cut);
        Run { shape, files, trim, cut }
    }

    /// How many bytes of each key are kept, where that is not all of it in each file: entries of such files
    /// have to be completed from their rows.
    pub fn cut(&self) -> Option<usize> {
        self.cut
    }

    /// Whether all of its files have cut keys.
    pub(crate) fn is_all_cut(&self) -> bool {
        self.files.iter().all(|f| f.packing().is_ok_and(|packing| packing.is_cut()))
    }

    /// The trim as searches in units need it: of a run of cut keys, cut.
    fn search_trim(&self) -> Option<&[u8]> {
        let trim = self.trim.as_deref()?;
        Some(self.cut.map_or(trim, |len| cut_key(trim, len)))
    }

    /// Its files by whether they have cut keys, each part a run of its own, in key order. Keys of two parts
    /// differ in what is kept of them.
    pub fn parts(&self) -> Vec<Arc<Run>> {
        let is_cut = |file: &Arc<RunFile>| file.packing().is_ok_and(|packing| packing.is_cut());
        let parts = self.files.chunk_by(|a, b| is_cut(a) == is_cut(b));
        let part = |files: &[Arc<RunFile>]| {
            Arc::new(Run::new(Arc::clone(&self.shape), files.to_vec(), self.trim.clone()))
        };
        parts.map(part).collect()
    }

    /// Row ids that some file stands for.
    pub(crate) fn rows(&self) -> Range<RowId> {
        let rows = self.files.iter().map(|f| f.rows());
        rows.cloned().reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0)
    }

    /// What all runs of the index have in common.
    pub fn shape(&self) -> &Arc<IndexShape> {
        &self.shape
    }

    /// The files in key order.
    pub fn files(&self) -> &[Arc<RunFile>] {
        &self.files
    }

    /// Entries below these key bytes do not count.
    pub fn trim(&self) -> Option<&[u8]> {
        self.trim.as_deref()
    }

    /// Entries of all files; with a trim some of the first file's do not count.
    pub fn entries(&self) -> u64 {
        self.files.iter().map(|f| f.entries()).sum()
    }

    /// Row ids of the entries of some blocks that lie apart, at most `blocks` of them.
    pub(crate) fn sampled_rows(
        &self,
        blocks: usize,
    ) -> impl Iterator<Item = Result<Vec<RowId>>> + '_ {
        let first = self.ends(&KeyBounds::all()).map_or((self.files.len(), 0), |ends| ends.0);
        let units = move |at: usize| match at == first.0 {
            true => first.1..self.files[at].units(),
            false => 0..self.files[at].units(),
        };
        let total: usize = (first.0..self.files.len()).map(|at| units(at).len()).sum();
        let stride = total.div_ceil(blocks.max(1)).max(1);
        let places =
            (first.0..self.files.len()).flat_map(move |at| units(at).map(move |u| (at, u)));
        places.step_by(stride).map(|(at, number)| {
            let unit = self.files[at].unit(number, None)?;
            let mut rows = Vec::new();
            self.files[at].row_ids(number, &unit, 0..unit.len(), &mut rows)?;
            Ok(rows)
        })
    }

    /// Walks the entries within bounds. Of a run of cut keys: those of which the kept part may belong.
    pub fn cursor(
        self: &Arc<Self>,
        bounds: KeyBounds,
        direction: Direction,
        wants: EntryWants,
    ) -> RunCursor {
        let bounds = match self.cut {
            Some(len) => cut::widened(bounds, len),
            None => bounds,
        };
        RunCursor::new(self.clone(), bounds, direction, wants)
    }

    /// Appends the row ids of the entries with this whole key, rising. On a unique index the filters
    /// are asked first; returns how many files were asked.
    pub fn probe(&self, key: &[u8], out: &mut Vec<RowId>) -> Result<u64> {
        self.probe_in_order(key, &mut Kept::default(), out)
    }

    /// The same for one of many keys that are looked up in their order: what was read last is kept, as
    /// the next ones may lie there.
    pub fn probe_in_order(&self, key: &[u8], kept: &mut Kept, out: &mut Vec<RowId>) -> Result<u64> {
        if self.cut.is_some() {
            return Err(Error::damaged("whole keys are asked of a run that has parts of them"));
        }
        if self.files.is_empty() || self.trim.as_ref().is_some_and(|trim| key < &trim[..]) {
            return Ok(0);
        }
        let file_of = |after| self.files.partition_point(|f| f.begins_before(key, after));
        let first = file_of(false).saturating_sub(1);
        let last = file_of(true).saturating_sub(1);
        for number in first..=last {
            // One question per file: its key range, then its filter.
            let file = &self.files[number];
            if !file.may_contain(key)? {
                continue;
            }
            let before = out.len();
            let from = if number == first { file.unit_of(key, false) } else { 0 };
            let to = if number == last { file.unit_of(key, true) } else { file.units() - 1 };
            for i in from..=to {
                kept.find(file, (number, i), key, out)?;
            }
            if out.len() == before {
                file.count_false_positive();
            }
        }
        Ok((last - first + 1) as u64)
    }

    /// For a run of the fences-only form, which has no entries of its own: the stretches of row ids,
    /// rising, that hold every row whose key lies within bounds, and rows around them. `None` where
    /// the run has entries.
    pub fn stretches(&self, bounds: &KeyBounds) -> Option<Vec<Range<RowId>>> {
        if !self.files.iter().all(|f| f.row_fences().is_some()) || self.files.is_empty() {
            return None;
        }
        let mut stretches: Vec<Range<RowId>> = Vec::new();
        let Some((mut at, last)) = self.ends(bounds) else { return Some(stretches) };
        loop {
            let fences = self.files[at.0].row_fences()?;
            let start = fences.entries[at.1].first_row;
            let next = self.place_after(at);
            let end = match self.files.get(next.0) {
                Some(file) => file.row_fences()?.entries[next.1].first_row,
                None => self.files[at.0].rows().end,
            };
            match stretches.last_mut() {
                Some(stretch) if stretch.end == start => stretch.end = end,
                _ => stretches.push(start..end),
            }
            if at >= last {
                return Some(stretches);
            }
            at = next;
        }
    }

    /// The last unit that begins before a bound, or the first unit: the first entry that is not
    /// before the bound stands in it or opens the next one. `None` without entries.
    fn place(&self, prefix: &[u8], after: bool) -> Option<Place> {
        let file = self.files.partition_point(|f| f.begins_before(prefix, after));
        let file = file.saturating_sub(1);
        Some((file, self.files.get(file)?.unit_of(prefix, after)))
    }

    /// First and last unit that may hold entries within bounds.
    fn ends(&self, bounds: &KeyBounds) -> Option<(Place, Place)> {
        let mut first = (0, 0);
        if let Some((prefix, inclusive)) = &bounds.lower {
            first = self.place(prefix, !inclusive)?;
        }
        if let Some(trim) = self.search_trim() {
            first = first.max(self.place(trim, false)?);
        }
        let last = match &bounds.upper {
            Some((prefix, inclusive)) => self.place(prefix, *inclusive)?,
            None => (self.files.len().checked_sub(1)?, self.files.last()?.units() - 1),
        };
        debug_assert!(last.0 < self.files.len(), "a unit of this run");
        (first <= last).then_some((first, last))
    }

    /// Position of the first entry within bounds in the unit that [`Run::ends`] named first.
    fn start_in(&self, place: Place, unit: &Unit, bounds: &KeyBounds) -> Result<usize> {
        let file = &self.files[place.0];
        let mut start = 0;
        if let Some((prefix, inclusive)) = &bounds.lower {
            start = file.lower_bound(place.1, unit, prefix, !inclusive)?;
        }
        if let Some(trim) = self.search_trim() {
            start = start.max(file.lower_bound(place.1, unit, trim, false)?);
        }
        Ok(start)
    }

    /// Position behind the last entry within bounds in the unit that [`Run::ends`] named last.
    fn end_in(&self, place: Place, unit: &Unit, bounds: &KeyBounds) -> Result<usize> {
        match &bounds.upper {
            Some((prefix, inclusive)) => {
                self.files[place.0].lower_bound(place.1, unit, prefix, *inclusive)
            }
            None => Ok(unit.len()),
        }
    }

    fn place_after(&self, (file, unit): Place) -> Place {
        if unit + 1 < self.files[file].units() { (file, unit + 1) } else { (file + 1, 0) }
    }

    fn place_before(&self, (file, unit): Place) -> Place {
        match unit.checked_sub(1) {
            Some(unit) => (file, unit),
            None => (file - 1, self.files[file - 1].units() - 1),
        }
    }
}
