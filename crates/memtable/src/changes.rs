//! Which columns of landed rows were changed, by which commits?
//!
//! Changes name any row of the table, mostly flushed ones. Those of few rows lie in a tree by column and
//! row; what one statement does to many rows stays one record with a bitmap. Of one row, neighbouring
//! changes that no snapshot can look between become one as further ones come, so that a row that is
//! changed all the time costs no more than one changed once.
//!
//! In a private buffer the CSN of a change is its ordinal, as with marks.
//!
//! Thread safety: owned by the memtable, behind a lock of its own; bitmaps are immutable.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use onlap_base::{ColumnId, Csn, RowId};
use onlap_format::changes::{Change, ChangeBounds, ChangeOp, LoggedChange, Sweep};
use onlap_storage::marks::Patched;
use roaring::RoaringTreemap;

use super::Memtable;
use super::marks::ahead;

/// Rows of one change from which on they are kept in a bitmap.
const BULK_ROWS: u64 = 1024;
/// Changes of one row that are looked at whenever one comes.
const SHORT_CHAIN: usize = 8;
/// Rows that are looked up one by one.
const SINGLE_LOOKUPS: usize = 16;

/// What finding a row in the tree costs, in steps of a walk through it.
const LOOKUP: usize = 4;
/// Bytes of a row's changes in the tree: key, chain, and the slack of nodes that are two thirds full.
const ENTRY_BYTES: usize = 110;
const STEP_BYTES: usize = 48;

/// One change of one row; `place` orders those of one commit.
#[derive(Clone, Debug)]
struct Step {
    csn: Csn,
    place: u64,
    op: ChangeOp,
}

/// What one change did to many rows.
#[derive(Clone, Debug)]
struct Bulk {
    column: ColumnId,
    rows: Arc<RoaringTreemap>,
    step: Step,
}

/// All changes of one memtable.
#[derive(Debug, Default)]
pub struct Changes {
    singles: BTreeMap<(ColumnId, RowId), Vec<Step>>,
    bulk: Vec<Bulk>,
    /// What single and bulk changes of a column may do to a row.
    bounds: Vec<(ColumnId, ChangeBounds, ChangeBounds)>,
    places: u64,
    newest: Csn,
    heap: usize,
}

impl Changes {
    /// Notes what a commit did. `apart` says whether a snapshot may lie at or after one commit and before
    /// another.
    pub fn push(&mut self, csn: Csn, changes: &[LoggedChange], apart: &dyn Fn(Csn, Csn) -> bool) {
        self.newest = self.newest.max(csn);
        for change in changes {
            let rows: u64 = change.rows.iter().map(|r| r.end - r.start).sum();
            let of_op = ChangeBounds::of(&change.op);
            let at = self.bounds_at(change.column);
            if rows >= BULK_ROWS {
                let mut set = RoaringTreemap::new();
                for rows in &change.rows {
                    set.insert_range(rows.clone());
                }
                set.optimize();
                self.heap += set.serialized_size() + size_of::<Bulk>();
                self.places += 1;
                let step = Step { csn, place: self.places, op: change.op.clone() };
                self.bulk.push(Bulk { column: change.column, rows: Arc::new(set), step });
                self.bounds[at].2 = self.bounds[at].2.and(of_op);
                continue;
            }
            for row in change.rows.iter().flat_map(Clone::clone) {
                let known = self.bounds[at].1;
                let bounds = self.push_one(change.column, row, csn, &change.op, apart, known);
                self.bounds[at].1 = self.bounds[at].1.or(bounds);
            }
        }
    }

    fn bounds_at(&mut self, column: ColumnId) -> usize {
        let at = self.bounds.iter().position(|b| b.0 == column);
        at.unwrap_or_else(|| {
            self.bounds.push((column, ChangeBounds::default(), ChangeBounds::default()));
            self.bounds.len() - 1
        })
    }

    /// Notes one change of one row; what all of its changes may do to it, and `known`, what those of the
    /// column may do to any, where they are too many to be added up each time.
    fn push_one(
        &mut self,
        column: ColumnId,
        row: RowId,
        csn: Csn,
        op: &ChangeOp,
        apart: &dyn Fn(Csn, Csn) -> bool,
        known: ChangeBounds,
    ) -> ChangeBounds {
        self.places += 1;
        let step = Step { csn, place: self.places, op: op.clone() };
        let chain = self.singles.entry((column, row)).or_default();
        self.heap += if chain.is_empty() { ENTRY_BYTES } else { 0 };
        self.heap += STEP_BYTES + op.scalar().heap_bytes();
        // A bulk change in between keeps its place.
        let bulk = &self.bulk;
        let split = |a: &Step, b: &Step| {
            let between = |s: &Step| (a.csn, a.place) < (s.csn, s.place) && s.place < b.place;
            bulk.iter().any(|x| x.column == column && between(&x.step) && x.rows.contains(row))
        };
        chain.push(step);
        // Of a long chain, which a history or many snapshots keep, the end alone is looked at, and all
        // of it from time to time.
        let all = chain.len() <= SHORT_CHAIN || chain.len().is_power_of_two();
        let mut i = if all { 0 } else { chain.len() - SHORT_CHAIN };
        while i + 1 < chain.len() {
            let (a, b) = (&chain[i], &chain[i + 1]);
            let one = (a.csn == b.csn || !apart(a.csn, b.csn)) && !split(a, b);
            match if one { a.op.then(&b.op) } else { None } {
                Some(both) => {
                    self.heap -= STEP_BYTES + a.op.scalar().heap_bytes();
                    chain[i + 1].op = both;
                    chain.remove(i);
                }
                None => i += 1,
            }
        }
        if chain.len() > SHORT_CHAIN {
            return known.and(ChangeBounds::of(op));
        }
        let each = chain.iter().map(|s| ChangeBounds::of(&s.op));
        each.fold(ChangeBounds::default(), ChangeBounds::and)
    }

    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.singles.is_empty() && self.bulk.is_empty()
    }

    /// Rows with changes of their own, and changes of many rows.
    pub fn len(&self) -> usize {
        self.singles.len() + self.bulk.len()
    }

    /// Heap bytes in use.
    pub fn heap_bytes(&self) -> usize {
        self.heap
    }

    /// Columns with changes.
    pub fn columns(&self) -> impl Iterator<Item = ColumnId> {
        self.bounds.iter().map(|b| b.0)
    }

    /// What the changes of a column may do to a row.
    pub fn bounds(&self, column: ColumnId) -> ChangeBounds {
        let of = self.bounds.iter().find(|b| b.0 == column);
        of.map_or(ChangeBounds::default(), |(_, single, bulk)| single.and(*bulk))
    }

    /// Applies the changes of a column up to `csn`.
    pub fn lay_over(&self, column: ColumnId, csn: Csn, rows: &mut Patched<'_>) {
        let ids = rows.ids();
        let (Some(&first), Some(&last)) = (ids.first(), ids.last()) else { return };
        let of_column = |b: &&Bulk| b.column == column && b.step.csn <= csn;
        let bulk: Vec<&Bulk> = self.bulk.iter().filter(of_column).collect();
        let mut steps: Vec<(&Step, Range<RowId>)> = Vec::new();
        if ids.len() <= SINGLE_LOOKUPS || ids.len() * LOOKUP < self.singles.len() {
            let mut at = 0;
            while at < ids.len()
                && let Some((&(_, row), chain)) =
                    self.singles.range((column, ids[at])..=(column, last)).next()
            {
                at += ahead(&ids[at..], row);
                if ids[at] == row {
                    steps.extend(chain.iter().map(|s| (s, row..row + 1)));
                    at += 1;
                }
            }
        } else {
            for ((_, row), chain) in self.singles.range((column, first)..=(column, last)) {
                steps.extend(chain.iter().map(|s| (s, *row..row + 1)));
            }
        }
        steps.retain(|(s, _)| s.csn <= csn);
        for bulk in &bulk {
            let mut found = Vec::new();
            stretches(&bulk.rows, first..last + 1, &mut found);
            steps.extend(found.into_iter().map(|rows| (&bulk.step, rows)));
        }
        if !bulk.is_empty() {
            steps.sort_unstable_by_key(|(s, _)| (s.csn, s.place));
        }
        steps.into_iter().for_each(|(step, range)| rows.apply(range, &step.op));
    }

    /// The newest commit after `since` that changed any of the rows `ids` (rising).
    pub fn newest_of(&self, ids: &[RowId], since: Csn) -> Option<Csn> {
        if self.newest <= since {
            return None;
        }
        let mut newest = None;
        for &(column, ..) in &self.bounds {
            for &row in ids {
                let chain = self.singles.get(&(column, row));
                newest = newest.max(chain.and_then(|c| c.last()).map(|s| s.csn));
            }
        }
        for bulk in self.bulk.iter().filter(|b| b.step.csn > since) {
            if ids.iter().any(|row| bulk.rows.contains(*row)) {
                newest = newest.max(Some(bulk.step.csn));
            }
        }
        newest.filter(|csn| *csn > since)
    }

    /// First and last row that any change of a column names, and first and last commit.
    pub fn extent(&self) -> Option<(Range<RowId>, Range<Csn>)> {
        let singles = self
            .singles
            .iter()
            .map(|((_, row), chain)| (*row, *row, chain[0].csn, chain[chain.len() - 1].csn));
        let bulk = self
            .bulk
            .iter()
            .filter_map(|b| Some((b.rows.min()?, b.rows.max()?, b.step.csn, b.step.csn)));
        let all = singles.chain(bulk);
        let all = all.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1), a.2.min(b.2), a.3.max(b.3)));
        all.map(|(first, last, from, to)| (first..last + 1, from..to + 1))
    }

    /// The first row from `from` on that has a change of a column.
    pub fn next_row(&self, column: ColumnId, from: RowId) -> Option<RowId> {
        let single = self.singles.range((column, from)..=(column, RowId::MAX)).next();
        let single = single.map(|((_, row), _)| *row);
        let bulk = self.bulk.iter().filter(|b| b.column == column).filter_map(|b| {
            let mut rows = b.rows.iter();
            rows.advance_to(from);
            rows.next()
        });
        single.into_iter().chain(bulk).min()
    }

    /// Hands the changes of a column in a window of row ids to a sweep.
    pub fn gather(&self, column: ColumnId, window: Range<RowId>, sweep: &mut Sweep) {
        let mut steps: Vec<(&Step, Range<RowId>)> = Vec::new();
        for ((_, row), chain) in self.singles.range((column, window.start)..(column, window.end)) {
            steps.extend(chain.iter().map(|s| (s, *row..row + 1)));
        }
        for bulk in self.bulk.iter().filter(|b| b.column == column) {
            let mut found = Vec::new();
            stretches(&bulk.rows, window.clone(), &mut found);
            steps.extend(found.into_iter().map(|rows| (&bulk.step, rows)));
        }
        steps.sort_unstable_by_key(|(s, _)| (s.csn, s.place));
        for (step, rows) in steps {
            let (len, op) = (rows.end - rows.start, step.op.clone());
            sweep.push(Change { first: rows.start, len, csn: step.csn, op }, &window);
        }
    }

    /// Every change in the order of commits, as they are logged.
    pub fn logged(&self) -> Vec<(Csn, Vec<LoggedChange>)> {
        let mut all: Vec<(Csn, u64, LoggedChange)> = Vec::new();
        for ((column, row), chain) in &self.singles {
            all.extend(chain.iter().map(|s| {
                let rows = std::iter::once(*row..row + 1).collect();
                (s.csn, s.place, LoggedChange { column: *column, op: s.op.clone(), rows })
            }));
        }
        for bulk in &self.bulk {
            let mut rows = Vec::new();
            stretches(&bulk.rows, 0..RowId::MAX, &mut rows);
            let op = bulk.step.op.clone();
            let change = LoggedChange { column: bulk.column, op, rows };
            all.push((bulk.step.csn, bulk.step.place, change));
        }
        all.sort_unstable_by_key(|(csn, place, _)| (*csn, *place));
        let mut out: Vec<(Csn, Vec<LoggedChange>)> = Vec::new();
        for (csn, _, change) in all {
            match out.last_mut() {
                Some((last, list)) if *last == csn => list.push(change),
                _ => out.push((csn, vec![change])),
            }
        }
        out
    }
}

impl Memtable {
    /// Notes column changes of a commit. `apart` says whether a snapshot may lie at or after one commit
    /// and before another.
    pub fn change_all(&self, csn: Csn, changes: &[LoggedChange], apart: &dyn Fn(Csn, Csn) -> bool) {
        if changes.is_empty() {
            return;
        }
        let mut all = self.shared.changes.write();
        all.push(csn, changes, apart);
        self.shared.changes_heap.store(all.heap_bytes(), Ordering::Relaxed);
        self.shared.has_changes.store(!all.is_empty(), Ordering::Release);
    }

    /// Forgets all column changes.
    pub fn clear_changes(&self) {
        *self.shared.changes.write() = Changes::default();
        self.shared.changes_heap.store(0, Ordering::Relaxed);
        self.shared.has_changes.store(false, Ordering::Release);
    }

    /// Whether there is any column change.
    pub fn has_changes(&self) -> bool {
        self.shared.has_changes.load(Ordering::Acquire)
    }

    /// Rows with column changes of their own, and changes of many rows.
    pub fn changes(&self) -> usize {
        if self.has_changes() { self.shared.changes.read().len() } else { 0 }
    }

    /// Whether a column has changes.
    pub fn changes_column(&self, column: ColumnId) -> bool {
        self.has_changes() && self.shared.changes.read().columns().any(|c| c == column)
    }

    /// What the changes of a column may do to a row.
    pub fn change_bounds(&self, column: ColumnId) -> ChangeBounds {
        if !self.has_changes() {
            return ChangeBounds::default();
        }
        self.shared.changes.read().bounds(column)
    }

    /// Applies the changes of a column up to `csn` to the given rows.
    pub fn lay_changes(&self, column: ColumnId, csn: Csn, rows: &mut Patched<'_>) {
        if self.has_changes() {
            self.shared.changes.read().lay_over(column, csn, rows);
        }
    }

    /// The newest commit after `since` that changed any of the rows `ids` (rising).
    pub fn newest_change(&self, ids: &[RowId], since: Csn) -> Option<Csn> {
        if self.has_changes() { self.shared.changes.read().newest_of(ids, since) } else { None }
    }

    /// Every column change in the order of commits.
    pub fn change_log(&self) -> Vec<(Csn, Vec<LoggedChange>)> {
        if self.has_changes() { self.shared.changes.read().logged() } else { Vec::new() }
    }

    /// Looks at all column changes of a memtable that gets no more.
    pub fn with_changes<T>(&self, f: impl FnOnce(&Changes) -> T) -> T {
        f(&self.shared.changes.read())
    }
}

/// Appends the stretches of consecutive rows of a set that lie in a window.
fn stretches(set: &RoaringTreemap, window: Range<RowId>, out: &mut Vec<Range<RowId>>) {
    for (high, bitmap) in set.bitmaps() {
        let base = u64::from(high) << 32;
        if base >= window.end || base + (1 << 32) <= window.start {
            continue;
        }
        let mut iter = bitmap.iter();
        iter.advance_to(window.start.saturating_sub(base) as u32);
        while let Some(range) = iter.next_range() {
            let (start, end) =
                (base + u64::from(*range.start()), base + u64::from(*range.end()) + 1);
            if start >= window.end {
                return;
            }
            let end = end.min(window.end);
            match out.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => out.push(start..end),
            }
        }
    }
}
