//! What is one source of sorted entries in memory?
//!
//! A [`Group`] is a stretch of neighbouring chunks with one sorted permutation per index. A freshly
//! sealed chunk is a group of its own and is sorted for an index when someone first asks: a reader of
//! that index, or the background job that joins it, so that a commit pays for no index at all. Groups
//! grow eightfold by merging permutations; the columns stay where they are.
//!
//! Immutable except for orders that are filled in once; safe to share.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use onlap_base::RowId;
use onlap_format::Batch;

use super::bound::Bound;
use super::chunk::{Chunk, Pick, pick, picked};
use super::lists::posting_bytes;
use super::merge::Runs;
use super::order::Order;
use super::prefix::{Plan, PlanBook};
use super::rank::compare_rows;
use super::shape::{IndexShape, Shape};

/// Neighbouring chunks, sorted together.
#[derive(Debug)]
pub(crate) struct Group {
    pub chunks: Vec<Chunk>,
    /// Rows before each chunk, then all rows.
    starts: Vec<u32>,
    /// Heap bytes of the columns.
    pub data_bytes: usize,
    /// Bytes that postings of lists take, or will.
    pub posting_bytes: usize,
    orders: Box<[OnceLock<Arc<Order>>]>,
}

impl Group {
    fn new(chunks: Vec<Chunk>, orders: Box<[OnceLock<Arc<Order>>]>, posting_bytes: usize) -> Group {
        debug_assert!(chunks.windows(2).all(|w| w[0].end() <= w[1].first()));
        let mut starts = vec![0];
        for chunk in &chunks {
            debug_assert!(chunk.len() > 0);
            starts.push(starts[starts.len() - 1] + chunk.len() as u32);
        }
        let data_bytes = chunks.iter().map(Chunk::heap_bytes).sum();
        Group { chunks, starts, data_bytes, posting_bytes, orders }
    }

    /// One chunk, not sorted yet.
    pub(crate) fn of_chunk(chunk: Chunk, shape: &Shape) -> Group {
        let posting_bytes = posting_bytes(&chunk.rows, &shape.lists);
        Group::of_counted(chunk, shape, posting_bytes)
    }

    /// The same of a chunk whose postings take this number of bytes.
    pub(crate) fn of_counted(chunk: Chunk, shape: &Shape, posting_bytes: usize) -> Group {
        let orders = shape.indexes.iter().map(|_| OnceLock::new()).collect();
        Group::new(vec![chunk], orders, posting_bytes)
    }

    /// The same rows and orders under other row ids.
    pub(crate) fn renumbered(&self, mut renumber: impl FnMut(RowId) -> RowId) -> Group {
        let chunk = |chunk: &Chunk| {
            let ids = (0..chunk.len()).map(|i| renumber(chunk.row_id(i))).collect();
            chunk.renumbered(ids)
        };
        let chunks = self.chunks.iter().map(chunk).collect();
        Group::new(chunks, self.orders.clone(), self.posting_bytes)
    }

    pub(crate) fn rows(&self) -> usize {
        self.starts[self.chunks.len()] as usize
    }

    pub(crate) fn first(&self) -> RowId {
        self.chunks[0].first()
    }

    /// One above the last row id.
    pub(crate) fn end(&self) -> RowId {
        self.chunks[self.chunks.len() - 1].end()
    }

    /// The rows of each chunk.
    pub(crate) fn batches(&self) -> Vec<&Batch> {
        self.chunks.iter().map(|c| &*c.rows).collect()
    }

    /// The chunk that holds a row, and the row's place in it.
    pub(crate) fn find(&self, row: RowId) -> Option<(&Chunk, usize)> {
        let at = self.chunks.partition_point(|c| c.end() <= row);
        let chunk = self.chunks.get(at)?;
        chunk.find(row).map(|i| (chunk, i))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let orders = self.orders.iter().filter_map(OnceLock::get);
        let orders = orders.map(|o| o.heap_bytes()).sum::<usize>();
        self.data_bytes + self.posting_bytes + orders
    }

    /// The order of an index, sorted now if no reader asked before.
    pub(crate) fn order(&self, shape: &Shape, books: &[PlanBook], index: usize) -> &Arc<Order> {
        self.orders[index].get_or_init(|| {
            debug_assert_eq!(self.chunks.len(), 1, "larger groups are made sorted");
            debug_assert!(!shape.indexes[index].multi_entry, "lists have postings, not orders");
            let rows = &self.chunks[0].rows;
            let of = &shape.indexes[index];
            Arc::new(of.sorting(|| Order::of_rows(of, &books[index], &shape.forms, rows)))
        })
    }

    /// The order of an index where someone asked for it before.
    pub(crate) fn known_order(&self, index: usize) -> Option<&Arc<Order>> {
        self.orders[index].get()
    }

    /// Sorts for every index.
    pub(crate) fn sort_all(&self, shape: &Shape, books: &[PlanBook]) {
        for (at, index) in shape.indexes.iter().enumerate() {
            if index.multi_entry {
                let postings = |chunk: &Chunk| drop(chunk.postings(index.fields[0].column));
                index.sorting(|| self.chunks.iter().for_each(postings));
            } else {
                self.order(shape, books, at);
            }
        }
    }

    /// The row at a place of an order.
    #[inline]
    pub(crate) fn pick_at(&self, order: &Order, at: usize) -> Pick {
        match order {
            Order::Sorted { picks, .. } => picks[at],
            Order::Rising => self.pick_row(at),
        }
    }

    /// The row at a place in row order.
    #[inline]
    pub(crate) fn pick_row(&self, at: usize) -> Pick {
        if self.chunks.len() == 1 {
            return at as Pick;
        }
        let chunk = self.starts.partition_point(|&start| start as usize <= at) - 1;
        pick(chunk, at - self.starts[chunk] as usize)
    }

    /// First place of an order whose key is not below `bound`; `after`: whose key is above every key
    /// that begins with it. `near`: it is at or behind this place, and expected to be near it, as the end of a range is.
    pub(crate) fn seek(
        &self,
        index: &IndexShape,
        order: &Order,
        bound: &Bound,
        after: bool,
        near: Option<usize>,
    ) -> usize {
        let from = near.unwrap_or(0);
        let mut places = from..order.entries(self.rows()).max(from);
        if let Order::Sorted { plan, prefixes, .. } = order
            && let Some(range) = bound.range(plan)
        {
            let below = |end: u128| move |at: usize| u128::from(prefixes[at]) < end;
            if range.certain {
                let end = if after { range.high } else { range.low };
                return find(places, near.is_some(), below(end));
            }
            let low = find(places.clone(), near.is_some(), below(range.low));
            places = low..search_near(low..places.end, below(range.high));
        }
        find(places, near.is_some(), |at| {
            let (chunk, row) = picked(self.pick_at(order, at));
            match bound.compare_row(index, &self.chunks[chunk].rows, row) {
                Ordering::Less => true,
                Ordering::Equal => after,
                Ordering::Greater => false,
            }
        })
    }

    /// An order with prefixes of `plan`, which covers the rows.
    pub(crate) fn with_plan(&self, order: &Arc<Order>, plan: &Arc<Plan>) -> Arc<Order> {
        if matches!(&**order, Order::Sorted { plan: own, .. } if Arc::ptr_eq(own, plan)) {
            return Arc::clone(order);
        }
        if let Order::Sorted { picks, .. } = &**order
            && picks.len() < self.rows()
        {
            // The plan may not cover the other rows.
            let prefix = |&p: &Pick| {
                let (chunk, row) = picked(p);
                plan.prefix(&self.chunks[chunk].rows, row)
            };
            let prefixes = picks.iter().map(prefix).collect();
            return Arc::new(Order::Sorted {
                plan: Arc::clone(plan),
                prefixes,
                picks: picks.clone(),
            });
        }
        // Prefixes are made in row order, column by column, and then put in order: reading columns in
        // index order would miss the cache at every step.
        let by_row: Vec<Vec<u64>> = self.chunks.iter().map(|c| plan.prefixes(&c.rows)).collect();
        let picks: Vec<Pick> = match &**order {
            Order::Sorted { picks, .. } => picks.clone(),
            Order::Rising => (0..self.rows()).map(|at| self.pick_row(at)).collect(),
        };
        let prefix = |&p: &Pick| {
            let (chunk, row) = picked(p);
            by_row[chunk][row]
        };
        let prefixes = picks.iter().map(prefix).collect();
        Arc::new(Order::Sorted { plan: Arc::clone(plan), prefixes, picks })
    }
}

/// Adds the entries at `places` of an order that has prefixes, with picks that count chunks from
/// `first_chunk`.
pub(crate) fn extract(order: &Order, places: Range<usize>, first_chunk: usize, out: &mut Runs) {
    let Order::Sorted { prefixes, picks, .. } = order else {
        panic!("merges work on orders with prefixes")
    };
    out.push(&prefixes[places.clone()], &picks[places], pick(first_chunk, 0));
}

/// First place in `places` for which `before` no longer holds.
pub(crate) fn search(places: Range<usize>, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (places.start, places.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// The same, by the way that suits a place that is expected to be near the start, or may be anywhere.
fn find(places: Range<usize>, near: bool, before: impl Fn(usize) -> bool) -> usize {
    if near { search_near(places, before) } else { search(places, before) }
}

/// The same, in steps that double from the start on: a place that is near it is found by few looks.
fn search_near(places: Range<usize>, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut step) = (places.start, 1);
    while low < places.end {
        let at = (low + step - 1).min(places.end - 1);
        if !before(at) {
            return search(low..at, before);
        }
        (low, step) = (at + 1, step * 2);
    }
    places.end
}

/// Joins small groups into one of a single chunk: columns are copied, then sorted anew, which costs
/// less than merging what has not been sorted yet.
pub(crate) fn join(groups: &[Arc<Group>], shape: &Shape, books: &[PlanBook]) -> Group {
    let mut rows = Batch::new(shape.forms.iter().copied());
    let chunks = || groups.iter().flat_map(|g| &g.chunks);
    let count = chunks().map(Chunk::len).sum();
    for (i, column) in rows.columns.iter_mut().enumerate() {
        column.reserve(count, chunks().map(|c| c.rows.columns[i].string_bytes()).sum());
    }
    let mut ids = Vec::with_capacity(count);
    for chunk in chunks() {
        rows.extend_range(&chunk.rows, 0..chunk.len());
        chunk.extend_ids(0..chunk.len(), &mut ids);
    }
    let group = Group::of_chunk(Chunk::with_ids(rows, ids), shape);
    group.sort_all(shape, books);
    group
}

/// Merges neighbouring groups: permutations only.
pub(crate) fn merge_groups(groups: &[Arc<Group>], shape: &Shape, books: &[PlanBook]) -> Group {
    let chunks: Vec<Chunk> = groups.iter().flat_map(|g| g.chunks.iter().cloned()).collect();
    let orders = shape.indexes.iter().enumerate().map(|(at, index)| {
        // Postings stay with their chunks.
        if index.multi_entry {
            return OnceLock::new();
        }
        OnceLock::from(Arc::new(merge_orders(groups, shape, books, at)))
    });
    let orders = orders.collect();
    Group::new(chunks, orders, groups.iter().map(|g| g.posting_bytes).sum())
}

fn merge_orders(groups: &[Arc<Group>], shape: &Shape, books: &[PlanBook], index: usize) -> Order {
    let orders: Vec<&Arc<Order>> = groups.iter().map(|g| g.order(shape, books, index)).collect();
    shape.indexes[index].sorting(|| merged_order(groups, &orders, shape, books, index))
}

fn merged_order(
    groups: &[Arc<Group>],
    orders: &[&Arc<Order>],
    shape: &Shape,
    books: &[PlanBook],
    index: usize,
) -> Order {
    let fields = &shape.indexes[index].fields;
    if orders.iter().all(|o| matches!(***o, Order::Rising)) {
        let in_order = groups.windows(2).all(|w| {
            let (a, b) = (&w[0].chunks[w[0].chunks.len() - 1], &w[1].chunks[0]);
            compare_rows(fields, &a.rows, a.len() - 1, &b.rows, 0).is_le()
        });
        if in_order {
            return Order::Rising;
        }
    }
    let batches: Vec<&Batch> = groups.iter().flat_map(|g| g.batches()).collect();
    let plan = common_plan(orders).unwrap_or_else(|| {
        let pairs = groups.iter().zip(orders.iter().copied());
        covering(shape, &books[index], index, pairs)
    });
    let mut first_chunk = 0;
    let entries = groups.iter().zip(orders).map(|(g, order)| order.entries(g.rows()));
    let mut runs = Runs::with_capacity(entries.sum());
    for (group, order) in groups.iter().zip(orders) {
        let order = group.with_plan(order, &plan);
        extract(&order, 0..order.entries(group.rows()), first_chunk, &mut runs);
        first_chunk += group.chunks.len();
    }
    let compare = |a: Pick, b: Pick| compare_picks(shape, index, &batches, a, b);
    let merged = runs.merge(if plan.exact { None } else { Some(&compare) });
    Order::Sorted { plan, prefixes: merged.prefixes, picks: merged.picks }
}

/// A plan for the entries of groups.
pub(crate) fn covering<'a>(
    shape: &Shape,
    book: &PlanBook,
    index: usize,
    groups: impl Iterator<Item = (&'a Arc<Group>, &'a Arc<Order>)>,
) -> Arc<Plan> {
    let index = &shape.indexes[index];
    let (mut whole, mut parts): (Vec<&Batch>, Vec<Batch>) = (Vec::new(), Vec::new());
    for (group, order) in groups {
        match &**order {
            Order::Sorted { picks, .. } if picks.len() < group.rows() => {
                parts.push(index.keys_of(&group.batches(), &shape.forms, picks));
            }
            _ => whole.extend(group.batches()),
        }
    }
    whole.extend(&parts);
    book.covering(&index.fields, &whole)
}

/// The plan that all orders share.
pub(crate) fn common_plan(orders: &[&Arc<Order>]) -> Option<Arc<Plan>> {
    let mut shared: Option<&Arc<Plan>> = None;
    for order in orders {
        let Order::Sorted { plan, .. } = &***order else { return None };
        match shared {
            Some(other) if !Arc::ptr_eq(plan, other) => return None,
            _ => shared = Some(plan),
        }
    }
    shared.cloned()
}

/// Compares the keys of two rows of a list of batches.
#[inline]
pub(crate) fn compare_picks(
    shape: &Shape,
    index: usize,
    batches: &[&Batch],
    a: Pick,
    b: Pick,
) -> Ordering {
    let ((c, i), (d, j)) = (picked(a), picked(b));
    compare_rows(&shape.indexes[index].fields, batches[c], i, batches[d], j)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_a_search_find_the_same_place() {
        for len in 0..40 {
            for from in 0..=len {
                for end in from..=len {
                    let before = |at: usize| {
                        assert!((from..len).contains(&at), "a look outside of the places");
                        at < end
                    };
                    assert_eq!(search(from..len, before), end);
                    assert_eq!(search_near(from..len, before), end);
                }
            }
        }
    }
}
