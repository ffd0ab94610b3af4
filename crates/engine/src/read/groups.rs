//! Which key prefixes are there, and which row of each comes first?
//!
//! A loose scan does not walk an index from end to end. Each source stands at its next visible entry;
//! the first of them all opens a group, and every source that stands in the group moves on: one entry
//! further, in case groups are small, and if that is of the same group still, past the whole group by
//! a search. So a group costs at most two entries of each source that has it, however many rows it
//! has; dead rows at its beginning have to be stepped over, and each costs an entry more.
//!
//! Must not know what groups are for. Thread safety: belongs to one thread.

use onlap_base::{Error, ErrorKind, Result, RowId, stop};
use onlap_format::key::KeyDef;
use onlap_format::{IndexSchema, Row};
use onlap_storage::{Direction, EntryBatch, EntryCursor, EntryWants, KeyBounds};

use super::bounds::{Covered, covered, types_of};
use super::counters::ReadCounters;
use super::index_scan::{EntrySource, Range};
use super::rows::{RowBatch, take_column};
use super::{ReadView, Scan};
use crate::table::key_def;

/// Entries asked of a source at once where the ones before are dead, at most.
const STEP_MAX: usize = 256;

/// A source at its next visible entry.
struct Head<'a> {
    source: EntrySource<'a>,
    cursor: Box<dyn EntryCursor>,
    batch: EntryBatch,
    /// Visible entries of the batch, of which the first `passed` are left behind.
    picks: Vec<u32>,
    passed: usize,
}

impl Head<'_> {
    /// Where the entry stands in the batch; `None` at the end.
    fn at(&self) -> Option<usize> {
        self.picks.get(self.passed).map(|&i| i as usize)
    }

    fn entry(&self) -> Option<(&[u8], RowId)> {
        self.at().map(|i| (self.batch.keys.get(i), self.batch.row_ids[i]))
    }

    fn is_in(&self, group: &[u8]) -> bool {
        self.entry().is_some_and(|(key, _)| key.starts_with(group))
    }
}

/// A loose scan.
struct Groups<'a> {
    view: &'a ReadView,
    index: &'a IndexSchema,
    def: KeyDef,
    columns: usize,
    /// What is left of the range.
    bounds: KeyBounds,
    direction: Direction,
    wants: EntryWants,
    heads: Vec<Head<'a>>,
}

impl ReadView {
    /// The first values of the keys in a range, each once.
    pub(super) fn distinct(
        &self,
        range: &Range<'_>,
        columns: usize,
        counters: &mut ReadCounters,
    ) -> Result<Vec<Row>> {
        let mut groups =
            Groups::new(self, range, columns, Direction::Forward, EntryWants::default())?;
        let mut rows = Vec::new();
        groups.start(counters)?;
        while let Some((prefix, _)) = groups.first() {
            stop::check()?;
            rows.push(groups.def.decode(&prefix)?);
            groups.pass(&prefix, counters)?;
        }
        Ok(rows)
    }

    /// The first row of each group in the direction of a scan, in the order of the groups.
    pub(super) fn first_per_group(
        &self,
        range: &Range<'_>,
        columns: usize,
        scan: &Scan,
        wanted: &[usize],
        counters: &mut ReadCounters,
    ) -> Result<RowBatch> {
        let schema = &self.view.schema;
        let found = covered(schema, range.index, wanted);
        let Covered { key_columns, include, .. } = found.clone().unwrap_or_default();
        let wants = EntryWants { keys: true, key_columns, include, ..EntryWants::default() };
        let mut groups = Groups::new(self, range, columns, scan.direction(), wants)?;
        let mut out = RowBatch::new(&types_of(schema, wanted).into());
        groups.start(counters)?;
        while out.row_ids.len() < scan.row_limit()
            && let Some((prefix, head)) = groups.first()
        {
            stop::check()?;
            let head = &groups.heads[head];
            let at = head.at().expect("the first source has an entry");
            out.row_ids.push(head.batch.row_ids[at]);
            if let Some(found) = &found {
                for (&place, to) in found.places.iter().zip(&mut out.columns.columns) {
                    take_column(&head.batch.columns.columns[place], &[at as u32], to);
                }
            }
            groups.pass(&prefix, counters)?;
        }
        match found {
            Some(_) => out.columns.rows = out.row_ids.len(),
            None => self.read_in_order(&out.row_ids, wanted, &mut out.columns, counters)?,
        }
        Ok(out)
    }
}

impl<'a> Groups<'a> {
    fn new(
        view: &'a ReadView,
        range: &'a Range<'_>,
        columns: usize,
        direction: Direction,
        wants: EntryWants,
    ) -> Result<Groups<'a>> {
        let def = key_def(&view.view.schema, range.index);
        if columns > def.columns.len() {
            let text = format!(
                "index {} has {} key columns; groups of {columns} were asked for",
                range.index.name,
                def.columns.len()
            );
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        let wants = EntryWants { keys: true, ..wants };
        let bounds = range.bounds.clone();
        let index = range.index;
        Ok(Groups { view, index, def, columns, bounds, direction, wants, heads: Vec::new() })
    }

    /// Brings every source to its first entry.
    fn start(&mut self, counters: &mut ReadCounters) -> Result<()> {
        for source in self.view.entry_sources(self.index.id) {
            let cursor = self.open(&source);
            let (batch, picks) = (EntryBatch::default(), Vec::new());
            let mut head = Head { source, cursor, batch, picks, passed: 0 };
            if self.view.next_visible(&mut head, counters)? {
                self.heads.push(head);
            }
        }
        Ok(())
    }

    fn open(&self, source: &EntrySource<'_>) -> Box<dyn EntryCursor> {
        self.view.open_source(source, self.index.id, &self.bounds, self.direction, &self.wants)
    }

    /// The next group and the source that has its first entry.
    fn first(&self) -> Option<(Vec<u8>, usize)> {
        let entries = self.heads.iter().enumerate();
        let entries = entries.filter_map(|(i, head)| head.entry().map(|entry| (entry, i)));
        let ((key, _), head) = match self.direction {
            Direction::Forward => entries.min()?,
            Direction::Backward => entries.max()?,
        };
        let mut end = 0;
        for column in 0..self.columns {
            end += self.def.column_len(column, &key[end..]);
        }
        Some((key[..end].to_vec(), head))
    }

    /// Leaves a group behind.
    fn pass(&mut self, group: &[u8], counters: &mut ReadCounters) -> Result<()> {
        if group.is_empty() {
            // All entries were one group.
            self.heads.clear();
            return Ok(());
        }
        let behind = Some((group.to_vec(), false));
        match self.direction {
            Direction::Forward => self.bounds.lower = behind,
            Direction::Backward => self.bounds.upper = behind,
        }
        let mut heads = std::mem::take(&mut self.heads);
        for head in heads.iter_mut().filter(|head| head.is_in(group)) {
            if self.view.next_visible(head, counters)? && head.is_in(group) {
                head.cursor = self.open(&head.source);
                head.picks.clear();
                self.view.next_visible(head, counters)?;
            }
        }
        heads.retain(|head| head.at().is_some());
        self.heads = heads;
        Ok(())
    }
}

impl ReadView {
    /// Moves a source on to its next visible entry; false at the end.
    fn next_visible(&self, head: &mut Head<'_>, counters: &mut ReadCounters) -> Result<bool> {
        head.passed += 1;
        let mut ask = 1;
        while head.at().is_none() {
            head.passed = 0;
            head.picks.clear();
            if !head.cursor.next(ask, &mut head.batch)? {
                return Ok(false);
            }
            counters.entries(&head.batch);
            if !self.pick_visible(&head.batch.row_ids, &mut head.picks)? {
                head.picks.extend(0..head.batch.len() as u32);
            }
            ask = (2 * ask).min(STEP_MAX);
        }
        Ok(true)
    }
}
