//! What does a flush take from a memtable, and in which steps?
//!
//! Rows leave in row order ([`Batches`]), entries of each index in index order ([`EntryStream`]), at
//! most [`super::Tuning::flush_rows`] at a time, so that a flush needs memory for a step only. Rows
//! that no snapshot can see any more ([`DeadRows`]) are left out of both, consistently: the caller decides
//! once, from marks at the horizon, which those are.
//!
//! The last merge is cut into steps by splitters: samples of every source, sorted; between two
//! splitters lie at most as many entries as a step may have, and each step merges slices that fit the
//! cache.
//!
//! Thread safety: works on a snapshot of the groups of a frozen memtable.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::{IndexId, RowId};
use onlap_format::key::{Entries, Packing};
use onlap_format::{Batch, Column};

use super::chunk::{Chunk, Gather, Pick, picked};
use super::group::{Group, common_plan, compare_picks, covering, extract, search};
use super::merge::{Runs, Sorted};
use super::order::Order;
use super::prefix::Plan;
use super::rank::compare_rows;
use super::{Memtable, Shared};

/// Rows that no snapshot can see any more, ascending.
#[derive(Clone, Debug, Default)]
pub struct DeadRows(Vec<RowId>);

impl DeadRows {
    /// None.
    pub fn none() -> DeadRows {
        DeadRows::default()
    }

    /// These, ascending.
    pub fn new(rows: Vec<RowId>) -> DeadRows {
        debug_assert!(rows.is_sorted());
        DeadRows(rows)
    }

    /// Whether the row is one of them.
    pub fn contains(&self, row: RowId) -> bool {
        self.0.binary_search(&row).is_ok()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn in_range(&self, range: Range<RowId>) -> &[RowId] {
        let from = self.0.partition_point(|&r| r < range.start);
        let to = self.0.partition_point(|&r| r < range.end);
        &self.0[from..to]
    }
}

/// Rows of a frozen memtable in row order.
#[derive(Debug)]
pub struct Batches {
    chunks: Vec<Chunk>,
    at: (usize, usize),
    dead: DeadRows,
    step: usize,
}

impl Iterator for Batches {
    /// Rows and their ids.
    type Item = (Batch, Vec<RowId>);

    fn next(&mut self) -> Option<(Batch, Vec<RowId>)> {
        loop {
            let chunk = self.chunks.get(self.at.0)?;
            let range = self.at.1..chunk.len().min(self.at.1 + self.step);
            let rows = chunk.row_id(range.start)..chunk.row_id(range.end - 1) + 1;
            self.at =
                if range.end == chunk.len() { (self.at.0 + 1, 0) } else { (self.at.0, range.end) };
            let dead = self.dead.in_range(rows);
            let part = if dead.is_empty() {
                let mut ids = Vec::with_capacity(range.len());
                chunk.extend_ids(range.clone(), &mut ids);
                let mut batch = Batch::new(chunk.rows.columns.iter().map(|c| c.data.physical()));
                batch.extend_range(&chunk.rows, range);
                (batch, ids)
            } else {
                let live: Vec<usize> =
                    range.filter(|&i| dead.binary_search(&chunk.row_id(i)).is_err()).collect();
                if live.is_empty() {
                    continue;
                }
                let kept = chunk.selected(live);
                let mut ids = Vec::with_capacity(kept.len());
                kept.extend_ids(0..kept.len(), &mut ids);
                (Arc::unwrap_or_clone(kept.rows), ids)
            };
            return Some(part);
        }
    }
}

/// Entries of one index of a frozen memtable, sorted by (key, row id).
#[derive(Debug)]
pub struct EntryStream {
    shared: Arc<Shared>,
    index: usize,
    packing: Packing,
    dead: DeadRows,
    sources: Vec<Source>,
    plan: Option<Arc<Plan>>,
    /// Where each step ends, per source.
    steps: std::vec::IntoIter<Vec<usize>>,
}

#[derive(Debug)]
struct Source {
    group: Arc<Group>,
    order: Arc<Order>,
    first_chunk: usize,
    at: usize,
}

impl Source {
    fn entries(&self) -> usize {
        self.order.entries(self.group.rows())
    }
}

impl Memtable {
    /// Rows in row order with their ids, without dead ones.
    ///
    /// # Panics
    /// When not frozen.
    pub fn batches(&self, dead: DeadRows) -> Batches {
        let groups = self.frozen_groups();
        let chunks = groups.iter().flat_map(|g| g.chunks.iter().cloned()).collect();
        Batches { chunks, at: (0, 0), dead, step: self.shared.tuning.flush_rows }
    }

    /// Entries of an index in index order without those of dead rows, packed by `packing`, which must
    /// hold every key of the memtable.
    ///
    /// # Panics
    /// When not frozen.
    pub fn entries(
        &self,
        index: IndexId,
        packing: &Packing,
        dead: DeadRows,
    ) -> Box<dyn Iterator<Item = Entries>> {
        let index = self.shared.shape.index(index);
        match self.shared.shape.indexes[index].multi_entry {
            true => Box::new(self.list_stream(index, packing, dead)),
            false => Box::new(self.order_stream(index, packing, dead)),
        }
    }

    fn order_stream(&self, index: usize, packing: &Packing, dead: DeadRows) -> EntryStream {
        let mut sources: Vec<Source> = Vec::new();
        for group in self.frozen_groups().iter() {
            let first_chunk = sources.last().map_or(0, |s| s.first_chunk + s.group.chunks.len());
            let order = group.order(&self.shared.shape, &self.shared.plans, index);
            let (group, order) = (Arc::clone(group), Arc::clone(order));
            sources.push(Source { group, order, first_chunk, at: 0 });
        }
        let mut stream = EntryStream {
            shared: Arc::clone(&self.shared),
            index,
            packing: packing.clone(),
            dead,
            plan: None,
            sources,
            steps: Vec::new().into_iter(),
        };
        stream.choose_plan();
        stream.steps = stream.split().into_iter();
        stream
    }

    pub(super) fn frozen_groups(&self) -> Arc<Vec<Arc<Group>>> {
        let rows = self.shared.rows.read();
        assert!(rows.frozen, "a memtable is frozen before it is flushed");
        rows.groups.clone()
    }
}

impl EntryStream {
    fn choose_plan(&mut self) {
        let orders: Vec<&Arc<Order>> = self.sources.iter().map(|s| &s.order).collect();
        if orders.len() < 2 {
            self.plan = common_plan(&orders);
            return;
        }
        let plan = common_plan(&orders).unwrap_or_else(|| {
            let groups = self.sources.iter().map(|s| (&s.group, &s.order));
            covering(&self.shared.shape, &self.shared.plans[self.index], self.index, groups)
        });
        for source in &mut self.sources {
            source.order = source.group.with_plan(&source.order, &plan);
        }
        self.plan = Some(plan);
    }

    /// Ends of steps of at most `flush_rows` entries: every `stride`-th entry of every source is a
    /// sample; between two samples of one source lie fewer than `stride` of its entries.
    fn split(&self) -> Vec<Vec<usize>> {
        let step = self.shared.tuning.flush_rows;
        let ends: Vec<usize> = self.sources.iter().map(Source::entries).collect();
        let total: usize = ends.iter().sum();
        let mut steps = Vec::new();
        if ends.is_empty() {
            return steps;
        }
        if ends.len() == 1 {
            steps.extend((step..total).step_by(step).map(|end| vec![end]));
        } else if total > step {
            let stride = (step / (2 * self.sources.len())).max(1);
            let samples = ends.iter().enumerate().flat_map(|(source, &end)| {
                (stride..end).step_by(stride).map(move |at| (source, at))
            });
            let mut samples: Vec<(usize, usize)> = samples.collect();
            samples.sort_by(|&a, &b| self.compare_places(a, b));
            // A step of c samples has at most (c + sources) x stride entries.
            let per_step = (step / stride).saturating_sub(self.sources.len()).max(1);
            for sample in samples.iter().skip(per_step).step_by(per_step) {
                steps.push((0..self.sources.len()).map(|s| self.lower_bound(s, *sample)).collect());
            }
        }
        steps.push(ends);
        steps
    }

    fn row(&self, (source, at): (usize, usize)) -> (&Batch, usize) {
        let source = &self.sources[source];
        let (chunk, row) = picked(source.group.pick_at(&source.order, at));
        (&source.group.chunks[chunk].rows, row)
    }

    /// Compares two entries by (key, row id); sources lie in row order.
    fn compare_places(&self, a: (usize, usize), b: (usize, usize)) -> std::cmp::Ordering {
        let fields = &self.shared.shape.indexes[self.index].fields;
        let ((rows, i), (other, j)) = (self.row(a), self.row(b));
        compare_rows(fields, rows, i, other, j).then(a.cmp(&b))
    }

    /// First place of a source at or behind an entry.
    fn lower_bound(&self, source: usize, entry: (usize, usize)) -> usize {
        if source == entry.0 {
            return entry.1;
        }
        let entries = self.sources[source].entries();
        search(0..entries, |at| self.compare_places((source, at), entry).is_lt())
    }

    /// Entries of the next step in index order; without prefixes where rows arrived in order.
    fn merge_step(&mut self, ends: &[usize]) -> Sorted {
        let Some(plan) = &self.plan else {
            let source = &mut self.sources[0];
            let range = source.at..ends[0];
            source.at = range.end;
            let picks = range.map(|at| source.group.pick_row(at)).collect();
            return Sorted { prefixes: Vec::new(), picks };
        };
        let mut parts = Runs::with_capacity(self.shared.tuning.flush_rows);
        for (source, &end) in self.sources.iter_mut().zip(ends) {
            let range = source.at..end;
            source.at = end;
            if !range.is_empty() {
                extract(&source.order, range, source.first_chunk, &mut parts);
            }
        }
        let batches: Vec<&Batch> = self.sources.iter().flat_map(|s| s.group.batches()).collect();
        let compare =
            |a: Pick, b: Pick| compare_picks(&self.shared.shape, self.index, &batches, a, b);
        parts.merge(if plan.exact { None } else { Some(&compare) })
    }

    fn pack(&self, entries: &Sorted) -> Entries {
        let shape = &self.shared.shape;
        let index = &shape.indexes[self.index];
        let picks = &entries.picks;
        let chunks: Vec<&Chunk> = self.sources.iter().flat_map(|s| &s.group.chunks).collect();
        let gather = Gather::of(&chunks, picks);
        let take = |column: usize| {
            let mut out = Column::new(shape.forms[column]);
            gather.column(column, &mut out);
            out
        };
        // Reading numbers out of prefixes is sequential; reading columns in index order is not.
        let whole = self.plan.as_ref().filter(|_| !entries.prefixes.is_empty());
        let key: Vec<Column> = match whole.and_then(|plan| plan.unpack(&entries.prefixes)) {
            Some(key) => key,
            None => index.fields.iter().map(|f| take(f.column)).collect(),
        };
        let mut keys = self.packing.new_keys();
        let fits = self.packing.pack(&key.iter().collect::<Vec<_>>(), 0..picks.len(), &mut keys);
        assert!(fits, "the packing was made for every key of the memtable");
        let row_ids = picks.iter().map(|&p| {
            let (chunk, row) = picked(p);
            chunks[chunk].row_id(row)
        });
        let columns = index.include.iter().map(|&c| take(c)).collect();
        Entries { keys, row_ids: row_ids.collect(), include: Batch { columns, rows: picks.len() } }
    }

    /// Drops entries of dead rows.
    fn bury(&self, entries: &mut Sorted) {
        if self.dead.is_empty() {
            return;
        }
        let chunks: Vec<(&Chunk, bool)> = self
            .sources
            .iter()
            .flat_map(|s| &s.group.chunks)
            .map(|c| (c, !self.dead.in_range(c.first()..c.end()).is_empty()))
            .collect();
        let live = |p: Pick| {
            let (chunk, row) = picked(p);
            let (chunk, some_dead) = chunks[chunk];
            !some_dead || !self.dead.contains(chunk.row_id(row))
        };
        if !entries.prefixes.is_empty() {
            let mut picks = entries.picks.iter();
            entries.prefixes.retain(|_| live(*picks.next().expect("as many picks as prefixes")));
        }
        entries.picks.retain(|&p| live(p));
    }
}

impl Iterator for EntryStream {
    type Item = Entries;

    fn next(&mut self) -> Option<Entries> {
        loop {
            let ends = self.steps.next()?;
            let mut entries = self.merge_step(&ends);
            self.bury(&mut entries);
            if !entries.picks.is_empty() {
                return Some(self.pack(&entries));
            }
        }
    }
}
