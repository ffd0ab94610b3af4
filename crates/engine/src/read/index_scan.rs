//! How are the entries of an index range read?
//!
//! Every memtable and every run holds part of the entries. One source is read as it is; several are
//! merged by key bytes ([`super::merge`]), for which all of them hand those out. Where order does not
//! matter (row ids, counts) sources are read one after the other and no key bytes are made.
//!
//! A scan is covered when the index holds every wanted column exactly: then rows are never touched.
//! Otherwise the visible row ids of a batch are read in the order of their ids, each block once, and
//! the index's order is restored.

use std::sync::Arc;

use onlap_base::{IndexId, Result, RowId, stop};
use onlap_format::{Batch, IndexSchema};
use onlap_storage::run::Run;
use onlap_storage::version::TableVersion;
use onlap_storage::{Direction, EntryBatch, EntryCursor, EntryWants, KeyBounds};

use super::ReadView;
use super::bounds::{Covered, covered, ordered_index};
use super::counters::ReadCounters;
use super::dead::DeadPages;
use super::judge::{Judge, Unresolved};
use super::merge::Merge;
use super::rows::{BATCH_ROWS, FIRST_ROWS, RowBatch, take_column};
use super::{KeyRange, Scan};
use crate::ledger::Account;
use crate::table::key_def;
use onlap_memtable::Memtable;

/// A range of an index, resolved against the schema.
pub(super) struct Range<'a> {
    pub index: &'a IndexSchema,
    pub bounds: KeyBounds,
}

impl<'a> Range<'a> {
    pub(super) fn resolve(view: &'a ReadView, index: &str, range: &KeyRange) -> Result<Range<'a>> {
        let schema = &*view.view.schema;
        let index = ordered_index(schema, index)?;
        let def = key_def(schema, index);
        let bounds = range.bounds(schema, index, &def)?;
        Ok(Range { index, bounds })
    }
}

/// What holds entries of an index.
pub(super) enum EntrySource<'a> {
    Memory(&'a Arc<Memtable>),
    /// A run and the files that it belongs to.
    Run(&'a TableVersion, &'a Arc<Run>),
}

impl ReadView {
    /// What holds entries of an index, newest first.
    pub(super) fn entry_sources(&self, index: IndexId) -> Vec<EntrySource<'_>> {
        let mut memtables = self.memtables();
        memtables.retain(|m| m.rows() > 0);
        let mut sources: Vec<_> = memtables.into_iter().rev().map(EntrySource::Memory).collect();
        let own = self.own.as_ref().and_then(|own| own.files.as_ref().map(|f| (f, own.end)));
        for (files, upto) in own.into_iter().chain([(&self.view.version, self.count)]) {
            let runs = files.runs_below(index, upto);
            sources.extend(runs.map(|entry| EntrySource::Run(files, &entry.run)));
        }
        sources
    }

    /// Walks the entries of one source.
    pub(super) fn open_source(
        &self,
        source: &EntrySource<'_>,
        index: IndexId,
        bounds: &KeyBounds,
        direction: Direction,
        wants: &EntryWants,
    ) -> Box<dyn EntryCursor> {
        match source {
            EntrySource::Memory(memtable) => {
                let rows = self.rows_of(memtable);
                memtable.cursor(index, bounds, direction, wants, rows)
            }
            EntrySource::Run(files, run) => {
                files.run_cursor(run, bounds.clone(), direction, wants.clone())
            }
        }
    }

    /// A cursor per source of an index, newest first, whose batches have key bytes where `wants` says
    /// so, and where `merged` and there is more than one source.
    pub(crate) fn sources(
        &self,
        index: IndexId,
        bounds: &KeyBounds,
        direction: Direction,
        wants: &EntryWants,
        merged: bool,
    ) -> Result<Vec<Box<dyn EntryCursor>>> {
        let sources = self.entry_sources(index);
        let keyed;
        let wants = if merged && sources.len() > 1 && !wants.keys {
            keyed = EntryWants { keys: true, ..wants.clone() };
            &keyed
        } else {
            wants
        };
        let open = |source| self.open_source(source, index, bounds, direction, wants);
        Ok(sources.iter().map(open).collect())
    }

    /// Ids of the visible rows in the range, ascending.
    pub(super) fn index_row_ids(
        &self,
        range: &Range<'_>,
        counters: &mut ReadCounters,
    ) -> Result<Vec<RowId>> {
        let mut rows = Vec::new();
        self.each_entry(range, counters, |ids| {
            rows.extend_from_slice(ids);
            Ok(())
        })?;
        // Sources, and the entries of each key, come in ascending stretches, which a stable sort
        // finds and merges.
        rows.sort();
        self.visible(&rows)
    }

    /// Number of visible rows in the range.
    pub(super) fn index_count(
        &self,
        range: &Range<'_>,
        counters: &mut ReadCounters,
    ) -> Result<u64> {
        let marks = self.has_marks();
        let (mut n, mut rows) = (0, Vec::new());
        self.each_entry(range, counters, |ids| {
            if !marks {
                n += ids.iter().filter(|&&r| self.in_sight(r)).count() as u64;
                return Ok(());
            }
            rows.extend_from_slice(ids);
            if rows.len() >= COUNTED_ROWS {
                rows.sort();
                n += self.visible(&rows)?.len() as u64;
                rows.clear();
            }
            Ok(())
        })?;
        rows.sort();
        Ok(n + self.visible(&rows)?.len() as u64)
    }

    fn each_entry(
        &self,
        range: &Range<'_>,
        counters: &mut ReadCounters,
        mut f: impl FnMut(&[RowId]) -> Result<()>,
    ) -> Result<()> {
        let wants = EntryWants::row_ids();
        let mut batch = EntryBatch::default();
        for mut cursor in
            self.sources(range.index.id, &range.bounds, Direction::Forward, &wants, false)?
        {
            while cursor.next(BATCH_ROWS, &mut batch)? {
                stop::check()?;
                counters.entries(&batch);
                f(&batch.row_ids)?;
            }
        }
        Ok(())
    }
}

/// Rows of a count that marks are asked about at once: 8 MiB of ids with what sorts them.
const COUNTED_ROWS: usize = 1 << 19;
/// Entries from which on a walk keeps which rows are dead.
const LONG_WALK: u64 = 1 << 12;

/// Where the wanted columns come from.
enum Output {
    /// Columns of the entries; per wanted column its place among them.
    Entries(Vec<usize>),
    /// Columns of the rows, by position in the table.
    Rows(Vec<usize>),
}

/// A walk over an index range.
pub(super) struct IndexScan {
    view: ReadView,
    judge: Option<Judge>,
    cursor: Box<dyn EntryCursor>,
    entries: EntryBatch,
    output: Output,
    picks: Vec<u32>,
    row_ids: Vec<RowId>,
    /// Entries so far, and once they are many, which rows are dead.
    walked: u64,
    dead: Option<DeadPages>,
    account: Option<Arc<Account>>,
}

impl IndexScan {
    /// `columns` are the wanted ones, by position in the table.
    pub(super) fn new(
        view: ReadView,
        unresolved: Option<&Unresolved>,
        index: &str,
        range: &KeyRange,
        scan: &Scan,
        columns: &[usize],
    ) -> Result<IndexScan> {
        let by = ordered_index(&view.view.schema, index)?;
        let is_covered = covered(&view.view.schema, by, columns).is_some();
        let of_entries = if is_covered { columns } else { &[] };
        let long = scan.row_limit() == usize::MAX && *range == KeyRange::all();
        let judged = unresolved.and_then(|u| Judge::new(u, &view.view, by, of_entries, long));
        let view = match (unresolved, &judged) {
            (Some(unresolved), None) => unresolved.resolve(&view)?,
            _ => view,
        };
        let resolved = Range::resolve(&view, index, range)?;
        let direction = scan.direction();
        let (judge, wanted) = match judged {
            Some((judge, found)) => (Some(judge), found),
            None => {
                (None, covered(&view.view.schema, resolved.index, of_entries).unwrap_or_default())
            }
        };
        let output = match is_covered {
            true => Output::Entries(wanted.places.clone()),
            false => Output::Rows(columns.to_vec()),
        };
        let first = FIRST_ROWS.min(scan.row_limit());
        let cursor = open(&view, &resolved, direction, wanted, first)?;
        let account = view.account(resolved.index.id);
        account.iter().for_each(|account| account.begin(1, view.count));
        Ok(IndexScan {
            view,
            judge,
            cursor,
            entries: EntryBatch::default(),
            output,
            picks: Vec::new(),
            row_ids: Vec::new(),
            walked: 0,
            dead: None,
            account,
        })
    }

    /// Fills an empty batch with the next visible rows, at most `max`; false at the end.
    pub(super) fn next(
        &mut self,
        max: usize,
        out: &mut RowBatch,
        counters: &mut ReadCounters,
    ) -> Result<bool> {
        // Entries are handed out as they come; rows are gathered first, so that each of their blocks
        // is read once for many of them.
        self.row_ids.clear();
        while self.row_ids.len() < max
            && self.cursor.next(max - self.row_ids.len(), &mut self.entries)?
        {
            stop::check()?;
            counters.entries(&self.entries);
            self.account.iter().for_each(|account| account.read(self.entries.len() as u64));
            let mut some_hidden = self.pick_visible()?;
            if let Some(judge) = &mut self.judge {
                if !some_hidden {
                    self.picks.clear();
                    self.picks.extend(0..self.entries.len() as u32);
                }
                let probes = &mut counters.filter_probes;
                judge.pick(&self.view, &self.entries, &mut self.picks, probes)?;
                some_hidden = self.picks.len() < self.entries.len();
                if let Some(resolved) = judge.end(&self.view)? {
                    (self.view, self.judge, self.dead) = (resolved, None, None);
                }
            }
            if some_hidden && self.picks.is_empty() {
                continue;
            }
            let picks = some_hidden.then_some(self.picks.as_slice());
            match &self.output {
                Output::Entries(places) => {
                    hand_out(&mut self.entries, places, picks, out);
                    return Ok(true);
                }
                Output::Rows(_) => pick_ids(&self.entries.row_ids, picks, &mut self.row_ids),
            }
        }
        if let Output::Rows(columns) = &self.output {
            self.view.read_in_order(&self.row_ids, columns, &mut out.columns, counters)?;
            out.row_ids.extend_from_slice(&self.row_ids);
        }
        Ok(!out.is_empty())
    }

    /// Picks the visible ones among the entries at hand.
    fn pick_visible(&mut self) -> Result<bool> {
        let (view, rows) = (&self.view, &self.entries.row_ids);
        let was_short = self.walked <= LONG_WALK;
        self.walked += rows.len() as u64;
        if self.walked > LONG_WALK && (was_short || self.dead.is_none()) {
            self.dead = DeadPages::of(view);
        }
        match &mut self.dead {
            Some(dead) => dead.pick_visible(view, rows, &mut self.picks),
            None => view.pick_visible(rows, &mut self.picks),
        }
    }
}

/// One cursor over all sources, in order.
fn open(
    view: &ReadView,
    range: &Range<'_>,
    direction: Direction,
    wanted: Covered,
    first: usize,
) -> Result<Box<dyn EntryCursor>> {
    let wants = EntryWants {
        keys: false,
        key_columns: wanted.key_columns,
        include: wanted.include,
        ..EntryWants::default()
    };
    let mut cursors = view.sources(range.index.id, &range.bounds, direction, &wants, true)?;
    match cursors.len() {
        1 => Ok(cursors.swap_remove(0)),
        _ => Ok(Box::new(Merge::new(cursors, direction, false, first))),
    }
}

fn pick_ids(from: &[RowId], picks: Option<&[u32]>, out: &mut Vec<RowId>) {
    match picks {
        Some(picks) => out.extend(picks.iter().map(|&i| from[i as usize])),
        None => out.extend_from_slice(from),
    }
}

/// Moves entries into a batch of rows: whole columns change hands where nothing is left out.
fn hand_out(entries: &mut EntryBatch, places: &[usize], picks: Option<&[u32]>, out: &mut RowBatch) {
    pick_ids(&entries.row_ids, picks, &mut out.row_ids);
    let from: &mut Batch = &mut entries.columns;
    for (i, &place) in places.iter().enumerate() {
        let to = &mut out.columns.columns[i];
        match picks {
            Some(picks) => take_column(&from.columns[place], picks, to),
            // A column that is wanted twice is moved the last time only.
            None if places[i + 1..].contains(&place) => to.clone_from(&from.columns[place]),
            None => std::mem::swap(&mut from.columns[place], to),
        }
    }
    out.columns.rows = out.row_ids.len();
}
