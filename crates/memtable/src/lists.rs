//! In which order do the keys of packed lists lie?
//!
//! An index with several entries of a row has no permutation of rows, but one of entries: [`Postings`] of a chunk names
//! each of them by the place where it begins among the bytes of its column, four bytes each, sorted by (key, row id).
//! No key is copied. The writer only counts entries, as a chunk is sealed, so that the memory is charged before it is
//! taken ([`super::Memtable::heap_bytes`]); the first reader of the index sorts, or the background job that joins the
//! chunk. Postings of chunks are never joined to larger ones: a memtable has as many chunks as its bytes need, and a
//! search in each of them costs less than sorting all their entries again.
//!
//! [`ListMerge`] walks the entries of several chunks in the order of the index; readers and flushes share it.
//!
//! Lists were looked at as rows came in; what is no list is read as far as it looks like one (I8). Immutable, shared
//! freely; a merge belongs to one thread.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use onlap_base::RowId;
use onlap_format::entries::{self, entry};
use onlap_format::{Batch, BytesVec, Column, Vector};
use onlap_storage::entry::{KeyBounds, compare_prefix};

use super::bound::Bound;
use super::chunk::Chunk;
use super::group::search;
use super::heap;
use super::shape::IndexShape;

/// Bytes per entry.
pub(crate) const POSTING_BYTES: usize = size_of::<u32>();
/// Entries that are sorted at once: with their prefixes they take 1 MiB; sorted stretches are merged.
const SLICE: usize = 1 << 16;

/// The entries of one column of lists of a chunk, sorted by (key, row id).
#[derive(Debug)]
pub(crate) struct Postings(Vec<u32>);

/// Those of each column of a chunk that someone asked for.
#[derive(Debug, Default)]
pub(crate) struct PostingCells(OnceLock<Box<[OnceLock<Arc<Postings>>]>>);

impl PostingCells {
    /// The postings of a column, sorted now if no reader asked before.
    pub(crate) fn get(&self, rows: &Batch, column: usize) -> Arc<Postings> {
        debug_assert!(column < rows.columns.len(), "lists are a column of the chunk");
        let cells = self.0.get_or_init(|| rows.columns.iter().map(|_| OnceLock::new()).collect());
        let made = || Arc::new(Postings::of_lists(lists(&rows.columns[column])));
        Arc::clone(cells[column].get_or_init(made))
    }
}

/// Bytes that the postings of some columns take once they are made.
pub(crate) fn posting_bytes(rows: &Batch, columns: &[usize]) -> usize {
    let count = |&column: &usize| entries::count(&rows.columns[column], 0..rows.rows) as usize;
    columns.iter().map(count).sum::<usize>() * POSTING_BYTES
}

/// The lists of a column.
pub(crate) fn lists(column: &Column) -> &BytesVec {
    let Vector::Bytes(lists) = &column.data else { panic!("lists of keys are bytes") };
    lists
}

/// The entry at a place where one begins.
#[inline]
fn key_at(lists: &BytesVec, start: u32) -> &[u8] {
    entry(&lists.data, start as usize).expect("postings name entries").0
}

/// The first bytes of a key as a number; what it leaves equal, keys tell apart.
#[inline]
fn prefix_of(key: &[u8]) -> u64 {
    let mut prefix = [0; 8];
    let len = key.len().min(8);
    prefix[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(prefix)
}

/// Whether the prefix of a key is that of no other key of which this is true, so that equal prefixes are equal keys.
#[inline]
fn is_told_by_prefix(key: &[u8]) -> bool {
    key.len() <= 8 && key.last() != Some(&0)
}

impl Postings {
    fn of_lists(lists: &BytesVec) -> Postings {
        let mut starts: Vec<u32> = Vec::new();
        let mut ends = Vec::new();
        let mut slice: Vec<(u64, u32)> = Vec::new();
        let mut sort = |slice: &mut Vec<(u64, u32)>, told: bool| {
            match told {
                // Keys need not be looked at: trigrams, hashes, short words.
                true => slice.sort_unstable(),
                false => slice.sort_unstable_by(|a, b| {
                    let by_key = || key_at(lists, a.1).cmp(key_at(lists, b.1));
                    a.0.cmp(&b.0).then_with(by_key).then(a.1.cmp(&b.1))
                }),
            }
            starts.extend(slice.drain(..).map(|(_, start)| start));
            ends.push(starts.len());
        };
        let mut told = true;
        for row in 0..lists.len() {
            let first = lists.offsets[row];
            let mut keys = entries::walk(lists.get(row));
            let mut at = 0;
            while let Some(key) = keys.next() {
                slice.push((prefix_of(key), first + at as u32));
                told &= is_told_by_prefix(key);
                at = keys.position();
                if slice.len() == SLICE {
                    sort(&mut slice, std::mem::replace(&mut told, true));
                }
            }
        }
        if !slice.is_empty() {
            sort(&mut slice, told);
        }
        let all = merge_stretches(lists, starts, ends);
        debug_assert!(
            all.is_sorted_by(|&a, &b| (key_at(lists, a), a) < (key_at(lists, b), b)),
            "entries rise by key and row"
        );
        Postings(all)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Makes one of sorted stretches that end at these places, neighbours first.
fn merge_stretches(lists: &BytesVec, mut all: Vec<u32>, mut ends: Vec<usize>) -> Vec<u32> {
    if ends.len() < 2 {
        all.shrink_to_fit();
        return all;
    }
    let mut other: Vec<u32> = Vec::with_capacity(all.len());
    while ends.len() > 1 {
        let (mut from, mut merged) = (0, Vec::with_capacity(ends.len().div_ceil(2)));
        for pair in ends.chunks(2) {
            let (middle, to) = (pair[0], pair[pair.len() - 1]);
            merge_two(lists, &all[from..middle], &all[middle..to], &mut other);
            merged.push(to);
            from = to;
        }
        ends = merged;
        std::mem::swap(&mut all, &mut other);
        other.clear();
    }
    all
}

fn merge_two(lists: &BytesVec, a: &[u32], b: &[u32], out: &mut Vec<u32>) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        // Entries of the left side belong to rows before, or to the same row.
        if key_at(lists, a[i]) <= key_at(lists, b[j]) {
            out.push(a[i]);
            i += 1;
        } else {
            out.push(b[j]);
            j += 1;
        }
    }
    out.extend_from_slice(&a[i..]);
    out.extend_from_slice(&b[j..]);
}

/// Part of the entries of a chunk.
#[derive(Debug)]
pub(crate) struct ListSource {
    chunk: Chunk,
    column: usize,
    postings: Arc<Postings>,
    /// Places left.
    places: Range<usize>,
}

impl ListSource {
    /// The entries of a chunk within bounds.
    pub(crate) fn new(chunk: &Chunk, column: usize, bounds: &ListBounds) -> ListSource {
        let postings = chunk.postings(column);
        let lists = lists(&chunk.rows.columns[column]);
        let at = |place: usize| key_at(lists, postings.0[place]);
        let start = search(0..postings.len(), |place| bounds.is_below(at(place)));
        let end = search(start..postings.len(), |place| !bounds.is_above(at(place)));
        debug_assert!(start <= end && end <= postings.len(), "bounds are in order");
        ListSource { chunk: chunk.clone(), column, postings, places: start..end }
    }

    /// All entries of a chunk.
    pub(crate) fn whole(chunk: &Chunk, column: usize) -> ListSource {
        let postings = chunk.postings(column);
        let places = 0..postings.len();
        ListSource { chunk: chunk.clone(), column, postings, places }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(crate) fn key(&self, place: usize) -> &[u8] {
        key_at(lists(&self.chunk.rows.columns[self.column]), self.postings.0[place])
    }

    pub(crate) fn row_id(&self, place: usize) -> RowId {
        let lists = lists(&self.chunk.rows.columns[self.column]);
        let start = self.postings.0[place];
        let row = lists.offsets.partition_point(|&offset| offset <= start) - 1;
        self.chunk.row_id(row)
    }
}

/// The next entry of a source.
#[derive(Clone, Copy, Debug)]
struct Head {
    prefix: u64,
    source: u32,
    place: u32,
    told: bool,
}

/// The entries of several chunks, given in row order, as one.
#[derive(Debug)]
pub(crate) struct ListMerge {
    pub sources: Vec<ListSource>,
    backward: bool,
    /// Sources with entries left, the one with the next entry on top: a binary heap.
    heap: Vec<Head>,
}

impl ListMerge {
    pub(crate) fn new(sources: Vec<ListSource>, backward: bool) -> ListMerge {
        debug_assert!(
            sources.windows(2).all(|w| w[0].chunk.end() <= w[1].chunk.first()),
            "an earlier source has older rows"
        );
        let mut merge = ListMerge { sources, backward, heap: Vec::new() };
        for source in 0..merge.sources.len() {
            let head = merge.advance(source);
            merge.heap.extend(head);
        }
        (0..merge.heap.len() / 2).rev().for_each(|at| merge.sift(at));
        merge
    }

    /// The next entry: its source, and its place there.
    pub(crate) fn next(&mut self) -> Option<(usize, usize)> {
        let top = *self.heap.first()?;
        match self.advance(top.source as usize) {
            Some(head) => self.heap[0] = head,
            None => {
                self.heap.swap_remove(0);
            }
        }
        self.sift(0);
        Some((top.source as usize, top.place as usize))
    }

    /// How many entries are to come.
    pub(crate) fn left(&self) -> usize {
        self.heap.len() + self.sources.iter().map(|source| source.places.len()).sum::<usize>()
    }

    fn advance(&mut self, number: usize) -> Option<Head> {
        let source = &mut self.sources[number];
        let place =
            if self.backward { source.places.next_back()? } else { source.places.next()? };
        let key = source.key(place);
        let (prefix, told) = (prefix_of(key), is_told_by_prefix(key));
        Some(Head { prefix, source: number as u32, place: place as u32, told })
    }

    /// Whether the entry of `a` comes before that of `b`.
    fn before(&self, a: &Head, b: &Head) -> bool {
        let key = |head: &Head| self.sources[head.source as usize].key(head.place as usize);
        let by_key = || if a.told && b.told { Ordering::Equal } else { key(a).cmp(key(b)) };
        let order = a.prefix.cmp(&b.prefix).then_with(by_key);
        let order = order.then(a.source.cmp(&b.source));
        if self.backward { order == Ordering::Greater } else { order == Ordering::Less }
    }

    /// Lets a head sink to its place in the heap.
    fn sift(&mut self, at: usize) {
        let mut heap = std::mem::take(&mut self.heap);
        heap::sift(&mut heap, at, |a, b| self.before(a, b));
        self.heap = heap;
    }
}

/// Bounds of an index of lists, decoded so that keys are compared as they lie in lists.
pub(crate) struct ListBounds {
    lower: Option<(Edge, bool)>,
    upper: Option<(Edge, bool)>,
    key: KeyBytes,
}

/// Where a bound lies among keys.
enum Edge {
    /// Every key begins with it.
    Empty,
    Key(Vec<u8>),
    /// NULL, behind every key.
    Null,
    /// Ends inside a key: compared as key bytes.
    Part(Vec<u8>),
}

/// Makes key bytes.
struct KeyBytes(onlap_format::key::KeyDef);

impl KeyBytes {
    fn of(&self, key: &[u8]) -> Vec<u8> {
        let mut one = BytesVec::default();
        one.push(key);
        let column = Column { data: Vector::Bytes(one), nulls: None };
        let mut out = Vec::with_capacity(key.len() + 4);
        self.0.encode_row(&[&column], 0, &mut out);
        out
    }
}

impl ListBounds {
    pub(crate) fn new(index: &IndexShape, bounds: &KeyBounds) -> ListBounds {
        let edge = |bound: &Option<(Vec<u8>, bool)>| {
            let (bytes, inclusive) = bound.as_ref()?;
            let edge = match Bound::new(index, bytes).values.as_deref() {
                None => Edge::Part(bytes.clone()),
                Some([value, ..]) if value.is_null(0) => Edge::Null,
                Some([value, ..]) => Edge::Key(lists(value).get(0).to_vec()),
                Some([]) => Edge::Empty,
            };
            Some((edge, *inclusive))
        };
        let key = KeyBytes(index.def.clone());
        ListBounds { lower: edge(&bounds.lower), upper: edge(&bounds.upper), key }
    }

    fn compare(&self, key: &[u8], edge: &Edge) -> Ordering {
        match edge {
            Edge::Empty => Ordering::Equal,
            Edge::Key(other) => key.cmp(other),
            Edge::Null => Ordering::Less,
            Edge::Part(bytes) => compare_prefix(&self.key.of(key), bytes),
        }
    }

    /// Whether a key lies before them.
    pub(crate) fn is_below(&self, key: &[u8]) -> bool {
        self.lower.as_ref().is_some_and(|(edge, inclusive)| match self.compare(key, edge) {
            Ordering::Less => true,
            Ordering::Equal => !inclusive,
            Ordering::Greater => false,
        })
    }

    /// Whether a key lies behind them.
    pub(crate) fn is_above(&self, key: &[u8]) -> bool {
        self.upper.as_ref().is_some_and(|(edge, inclusive)| match self.compare(key, edge) {
            Ordering::Less => false,
            Ordering::Equal => !inclusive,
            Ordering::Greater => true,
        })
    }
}
