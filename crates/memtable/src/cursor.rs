//! How does a reader walk the entries of an index in memory?
//!
//! A [`MemtableCursor`] merges one source per group, found by binary search, and one for the open
//! piece: its rows are filtered by the bounds under the lock, copied and sorted. Sources lie in row
//! order, so that equal keys come in the order of row ids by taking the earlier source first. Heads
//! compare by prefix while one plan covers all sources, else by their rows.
//!
//! The cursor holds everything it needs: rows appended later are not met, groups merged away stay.
//! It belongs to one thread at a time.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use onlap_base::{Result, RowId};
use onlap_format::{Batch, Column, Physical};
use onlap_storage::entry::{Direction, EntryBatch, EntryCursor, EntryWants, KeyBounds};

use super::Shared;
use super::bound::Bound;
use super::chunk::{Chunk, Gather, Pick, gather_columns, pick, picked};
use super::group::{Group, common_plan};
use super::heap;
use super::order::Order;
use super::prefix::Plan;
use super::rank::compare_rows;
use super::rows::Groups;

/// Most entries handed out at once, whatever the caller asks for: picks of them stay in the cache.
const BATCH_MAX: usize = 4096;

/// Entries in a row of one source from which on the rest of it is asked for at once: a run is probably
/// longer then, and a merge of sources that alternate does not pay for the question.
const RUN: usize = 2;

/// Entries of one index of a memtable, in index order.
#[derive(Debug)]
pub struct MemtableCursor {
    shared: Arc<Shared>,
    index: usize,
    backward: bool,
    upto: RowId,
    wants: EntryWants,
    /// Positions in the table of the wanted columns, and their forms.
    columns: Vec<usize>,
    forms: Vec<Physical>,
    sources: Vec<Source>,
    /// Sources with entries left, the one with the next entry on top: a binary heap.
    heap: Vec<Head>,
    /// The plan of all prefixes; `None` where rows are compared.
    plan: Option<Arc<Plan>>,
    picks: Vec<Pick>,
}

#[derive(Debug)]
struct Source {
    group: Arc<Group>,
    order: Arc<Order>,
    /// Places left.
    places: Range<usize>,
    /// Number of the first chunk among all chunks of the cursor.
    first_chunk: usize,
    /// Whether some rows lie at or above `upto`.
    cut: bool,
}

impl Source {
    /// The id of the row at a place.
    fn row_at(&self, at: usize) -> RowId {
        let (chunk, row) = picked(self.group.pick_at(&self.order, at));
        self.group.chunks[chunk].row_id(row)
    }
}

/// The next entry of a source.
#[derive(Clone, Copy, Debug)]
struct Head {
    prefix: u64,
    source: u32,
    pick: Pick,
}

impl MemtableCursor {
    pub(super) fn open(
        shared: &Arc<Shared>,
        index: usize,
        bounds: &KeyBounds,
        direction: Direction,
        wants: &EntryWants,
        rows: Range<RowId>,
    ) -> MemtableCursor {
        let Range { start: from, end: upto } = rows;
        let shape = &shared.shape.indexes[index];
        let field = |&at: &usize| shape.fields[at].column;
        let include = |&at: &usize| shape.include[at];
        let columns: Vec<usize> =
            wants.key_columns.iter().map(field).chain(wants.include.iter().map(include)).collect();
        let mut cursor = MemtableCursor {
            shared: Arc::clone(shared),
            index,
            backward: direction == Direction::Backward,
            upto,
            wants: wants.clone(),
            forms: columns.iter().map(|&c| shared.shape.forms[c]).collect(),
            columns,
            sources: Vec::new(),
            heap: Vec::new(),
            plan: None,
            picks: Vec::new(),
        };
        let limits = Limits::new(shared, index, bounds);
        let (groups, tail, rest) = cursor.snapshot(&limits, from);
        let groups = groups.iter().chain(&tail).skip_while(|g| g.end() <= from);
        for group in groups.take_while(|g| g.first() < upto) {
            cursor.add(&limits, group, from);
        }
        if let Some(rest) = rest {
            cursor.add(&Limits::none(), &Arc::new(rest), from);
        }
        cursor.choose_plan();
        for source in 0..cursor.sources.len() {
            if let Some(head) = cursor.advance(source) {
                cursor.heap.push(head);
            }
        }
        (0..cursor.heap.len() / 2).rev().for_each(|at| cursor.sift(at));
        cursor
    }

    /// The groups, the shared copy of the open piece, and those of its other rows that lie within
    /// the bounds, with the columns in use.
    fn snapshot(
        &self,
        limits: &Limits,
        from: RowId,
    ) -> (Groups, Option<Arc<Group>>, Option<Group>) {
        let shape = &self.shared.shape.indexes[self.index];
        let rows = self.shared.rows.read();
        let (tail, covered) = rows.tail(&self.shared.shape, self.shared.tuning.tail_rows);
        let len = self.upto.saturating_sub(rows.open_first).min(rows.open.rows as u64) as usize;
        let first = covered.max(from.saturating_sub(rows.open_first) as usize);
        let wanted = |&i: &usize| shape.has(&rows.open, i) && limits.contain(shape, &rows.open, i);
        let inside = (first..len).filter(wanted);
        let picks: Vec<Pick> = inside.map(|i| pick(0, i)).collect();
        if picks.is_empty() {
            return (rows.groups.clone(), tail, None);
        }
        let mut batch = Batch::new(self.shared.shape.forms.iter().copied());
        let keys = shape.fields.iter().map(|f| f.column);
        for column in keys.chain(self.columns.iter().copied()).chain(shape.filter) {
            let out = &mut batch.columns[column];
            if out.is_empty() {
                gather_columns(&[&rows.open.columns[column]], &picks, out);
            }
        }
        batch.rows = picks.len();
        let ids = picks.iter().map(|&p| rows.open_first + p as RowId).collect();
        // Without the columns of other indexes.
        let rest = Group::of_counted(Chunk::with_ids(batch, ids), &self.shared.shape, 0);
        (rows.groups.clone(), tail, Some(rest))
    }

    fn add(&mut self, limits: &Limits, group: &Arc<Group>, from: RowId) {
        let shape = &self.shared.shape;
        let order = group.order(shape, &self.shared.plans, self.index);
        let mut places = limits.places(&shape.indexes[self.index], group, order);
        if group.first() < from && matches!(**order, Order::Rising) {
            let before: usize = group.chunks.iter().map(|c| c.lower_bound(from)).sum();
            places.start = places.start.max(before);
        }
        if !places.is_empty() {
            let first_chunk =
                self.sources.last().map_or(0, |s| s.first_chunk + s.group.chunks.len());
            let cut = group.end() > self.upto;
            let (group, order) = (Arc::clone(group), Arc::clone(order));
            self.sources.push(Source { group, order, places, first_chunk, cut });
        }
    }

    fn choose_plan(&mut self) {
        if self.sources.len() < 2 {
            return;
        }
        let orders: Vec<&Arc<Order>> = self.sources.iter().map(|s| &s.order).collect();
        self.plan = common_plan(&orders).or_else(|| {
            let planned = orders.iter().all(|o| matches!(***o, Order::Sorted { .. }));
            if planned && !orders.is_empty() {
                self.shared.plans[self.index].current()
            } else {
                None
            }
        });
    }

    /// Takes the next entry off a source.
    fn advance(&mut self, number: usize) -> Option<Head> {
        loop {
            let source = &mut self.sources[number];
            let at =
                if self.backward { source.places.next_back()? } else { source.places.next()? };
            if !source.cut || source.row_at(at) < self.upto {
                return Some(self.head_at(number, at));
            }
        }
    }

    /// The entry at a place of a source.
    fn head_at(&self, number: usize, at: usize) -> Head {
        let source = &self.sources[number];
        let own = source.group.pick_at(&source.order, at);
        let prefix = match (&self.plan, &*source.order) {
            (None, _) => 0,
            (Some(plan), Order::Sorted { plan: own, prefixes, .. }) if Arc::ptr_eq(plan, own) => {
                prefixes[at]
            }
            (Some(plan), _) => {
                let (chunk, row) = picked(own);
                plan.prefix(&source.group.chunks[chunk].rows, row)
            }
        };
        Head { prefix, source: number as u32, pick: own }
    }

    /// Whether the entry of `a` comes before that of `b`.
    fn before(&self, a: &Head, b: &Head) -> bool {
        let mut order = a.prefix.cmp(&b.prefix);
        if order.is_eq() && !self.plan.as_ref().is_some_and(|p| p.exact) {
            let fields = &self.shared.shape.indexes[self.index].fields;
            let ((x, i), (y, j)) = (picked(a.pick), picked(b.pick));
            let rows = |head: &Head, chunk: usize| {
                &*self.sources[head.source as usize].group.chunks[chunk].rows
            };
            order = compare_rows(fields, rows(a, x), i, rows(b, y), j);
        }
        let order = order.then(a.source.cmp(&b.source));
        if self.backward { order == Ordering::Greater } else { order == Ordering::Less }
    }

    /// Takes entries of the source on top of the heap for as long as they come before all others,
    /// and leaves its next head on top: rows that arrive in clusters cost one comparison each, and
    /// two in all where the source's entries come before all others to the last.
    fn take_run(&mut self, mut top: Head, max: usize) {
        let number = top.source as usize;
        let first_chunk = pick(self.sources[number].first_chunk, 0);
        let second = match (self.heap.get(1), self.heap.get(2)) {
            (Some(a), Some(b)) => Some(if self.before(b, a) { *b } else { *a }),
            (a, _) => a.copied(),
        };
        let leads = |cursor: &MemtableCursor, head: &Head| {
            second.as_ref().is_none_or(|second| cursor.before(head, second))
        };
        for taken in 1.. {
            self.picks.push(top.pick + first_chunk);
            if taken == RUN {
                let places = self.ahead(number, max);
                if !places.is_empty() {
                    let last = if self.backward { places.start } else { places.end - 1 };
                    if leads(self, &self.head_at(number, last)) {
                        self.take_all(number, places);
                    }
                }
            }
            let Some(head) = self.advance(number) else {
                self.heap.swap_remove(0);
                if self.heap.len() == 1 {
                    // Nothing is compared any more.
                    self.plan = None;
                }
                return;
            };
            top = head;
            if !leads(self, &top) || self.picks.len() >= max {
                self.heap[0] = top;
                return;
            }
        }
    }

    /// The next places of a source, as many as there is room for.
    fn ahead(&self, number: usize, max: usize) -> Range<usize> {
        let Range { start, end } = self.sources[number].places.clone();
        let room = max.saturating_sub(self.picks.len());
        if self.backward {
            end.saturating_sub(room).max(start)..end
        } else {
            start..start.saturating_add(room).min(end)
        }
    }

    /// Takes the entries at the next places of a source.
    fn take_all(&mut self, number: usize, places: Range<usize>) {
        let (source, picks) = (&mut self.sources[number], &mut self.picks);
        if self.backward {
            source.places.end = places.start;
        } else {
            source.places.start = places.end;
        }
        let (source, upto) = (&*source, self.upto);
        let seen = |at: &usize| !source.cut || source.row_at(*at) < upto;
        let first_chunk = pick(source.first_chunk, 0);
        let of = |at: usize| source.group.pick_at(&source.order, at) + first_chunk;
        if self.backward {
            picks.extend(places.rev().filter(seen).map(of));
        } else {
            picks.extend(places.filter(seen).map(of));
        }
    }

    /// Lets a head sink to its place in the heap.
    fn sift(&mut self, at: usize) {
        let mut heap = std::mem::take(&mut self.heap);
        heap::sift(&mut heap, at, |a, b| self.before(a, b));
        self.heap = heap;
    }

    fn fill(&self, out: &mut EntryBatch) {
        let chunks: Vec<&Chunk> = self.sources.iter().flat_map(|s| &s.group.chunks).collect();
        let gather = Gather::of(&chunks, &self.picks);
        out.row_ids.extend(self.picks.iter().map(|&p| {
            let (chunk, row) = picked(p);
            chunks[chunk].row_id(row)
        }));
        for (&column, out) in self.columns.iter().zip(&mut out.columns.columns) {
            gather.column(column, out);
        }
        out.columns.rows = self.picks.len();
        if self.wants.keys {
            let shape = &self.shared.shape.indexes[self.index];
            let mut key = Vec::new();
            let mut columns: Vec<&Column> = Vec::with_capacity(shape.fields.len());
            for &p in &self.picks {
                let (chunk, row) = picked(p);
                columns.clear();
                columns.extend(shape.fields.iter().map(|f| &chunks[chunk].rows.columns[f.column]));
                key.clear();
                shape.def.encode_row(&columns, row, &mut key);
                out.keys.push(&key);
            }
        }
    }
}

impl EntryCursor for MemtableCursor {
    fn next(&mut self, max: usize, out: &mut EntryBatch) -> Result<bool> {
        out.reset(&self.forms);
        self.picks.clear();
        let max = max.min(BATCH_MAX);
        while self.picks.len() < max
            && let Some(&top) = self.heap.first()
        {
            self.take_run(top, max);
            self.sift(0);
        }
        self.fill(out);
        Ok(!self.picks.is_empty())
    }
}

/// Bounds, decoded.
struct Limits {
    lower: Option<(Bound, bool)>,
    upper: Option<(Bound, bool)>,
}

impl Limits {
    fn new(shared: &Shared, index: usize, bounds: &KeyBounds) -> Limits {
        let shape = &shared.shape.indexes[index];
        let decode = |bound: &Option<(Vec<u8>, bool)>| {
            bound.as_ref().map(|(bytes, inclusive)| (Bound::new(shape, bytes), *inclusive))
        };
        Limits { lower: decode(&bounds.lower), upper: decode(&bounds.upper) }
    }

    fn none() -> Limits {
        Limits { lower: None, upper: None }
    }

    fn contain(&self, index: &super::shape::IndexShape, rows: &Batch, i: usize) -> bool {
        let inside = |bound: &Option<(Bound, bool)>, outside: Ordering| match bound {
            None => true,
            Some((bound, inclusive)) => match bound.compare_row(index, rows, i) {
                Ordering::Equal => *inclusive,
                order => order != outside,
            },
        };
        inside(&self.lower, Ordering::Less) && inside(&self.upper, Ordering::Greater)
    }

    fn places(
        &self,
        index: &super::shape::IndexShape,
        group: &Group,
        order: &Order,
    ) -> Range<usize> {
        let start = self
            .lower
            .as_ref()
            .map_or(0, |(bound, inclusive)| group.seek(index, order, bound, !inclusive, None));
        let end = self.upper.as_ref().map_or(order.entries(group.rows()), |(bound, inclusive)| {
            let near = self.lower.as_ref().map(|_| start);
            group.seek(index, order, bound, *inclusive, near)
        });
        start..end
    }
}
