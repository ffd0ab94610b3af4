//! Which row carries a key of a unique index?
//!
//! Rows whose keys rise need nothing but a note where they begin and end: they are searched where
//! they lie. Several clients that take keys from one counter commit out of its order; their rows
//! still are a few [`Stretch`]es of rising keys, 16 bytes each, and are found through the list of
//! those in key order. Keys of different stretches do not interleave: a stretch is split when a
//! later key lies within it.
//!
//! From the first key that is there already, or when keys arrive so wildly that keeping the order
//! would cost more, rows are hashed: key hash to the newest row of that key, and from there to the
//! previous one. Every hashed row is newer than every row of a stretch.
//!
//! The tables are split in [`SHARDS`], so that growing one stalls a commit for a short time only.
//! Owned by the memtable, under its lock.

use std::cmp::Ordering;
use std::ops::Range;

use hashbrown::{HashMap, HashTable};
use onlap_base::RowId;
use onlap_format::{Batch, Column, Vector};
use xxhash_rust::xxh3::xxh3_64;

use super::bound::{Bound, row_key};
use super::group::search;
use super::rank::{compare_rows, is_float};
use super::shape::IndexShape;

/// A million keys are 16K per shard, moved in a quarter of a millisecond.
const SHARDS: usize = 64;
/// Places by which stretches may be moved to let others in, at the start and for each one that
/// there is. A client that was held up for 10 ms finds some hundred commits before it; single rows in
/// random order are given up after about 650.
const MOVES: (usize, usize) = (1 << 16, 1 << 6);
/// Rows of stretches that are hashed as well when hashing begins, so that one search is enough.
const REHASHED_ROWS: RowId = 1 << 10;

/// Finds a row's columns.
pub(crate) type Locate<'a> = &'a dyn Fn(RowId) -> Option<(&'a Batch, usize)>;

/// What one unique index needs besides the rows.
#[derive(Debug)]
pub(crate) struct UniqueKeys {
    /// Position of the index.
    pub index: usize,
    first: RowId,
    /// In key order.
    stretches: Vec<Stretch>,
    /// Places by which stretches were moved.
    moves: usize,
    hashed: Option<Hashed>,
}

/// Rows of consecutive ids whose keys rise strictly, never empty.
type Stretch = Range<RowId>;

#[derive(Debug)]
struct Hashed {
    shards: Vec<HashTable<(u32, u32)>>,
    /// The next older row with the same key; rows count from the memtable's first.
    older: HashMap<u32, u32>,
}

impl UniqueKeys {
    pub(crate) fn new(index: usize, first: RowId) -> UniqueKeys {
        UniqueKeys { index, first, stretches: Vec::new(), moves: 0, hashed: None }
    }

    /// The only stretch whose keys may include this one.
    pub(crate) fn stretch(
        &self,
        index: &IndexShape,
        bound: &Bound,
        locate: Locate<'_>,
    ) -> Option<Range<RowId>> {
        let at = self.stretches.partition_point(|s| {
            let (rows, i) = noted(locate, s.start);
            bound.compare_row(index, rows, i).is_le()
        });
        Some(self.stretches[at.checked_sub(1)?].clone())
    }

    /// Whether any row must be searched by key order.
    pub(crate) fn has_stretches(&self) -> bool {
        !self.stretches.is_empty()
    }

    /// Notes rows `range` of a batch, which `locate` finds already from `first` on.
    pub(crate) fn note(
        &mut self,
        index: &IndexShape,
        rows: &Batch,
        range: Range<usize>,
        first: RowId,
        locate: Locate<'_>,
    ) {
        if range.is_empty() {
            return;
        }
        let mut from = range.start;
        // Rows without entries would stand between those that rise.
        if self.hashed.is_none() && index.filter.is_none() {
            let end = rising_end(index, rows, range.clone());
            from = self.insert(index, rows, from..end, first, locate);
            if from == range.end {
                return;
            }
        }
        if self.hashed.is_none() {
            self.hashed = Some(self.begin_hashing(index, locate));
        }
        let hashed = self.hashed.as_mut().expect("made above");
        let columns: Vec<&Column> = index.fields.iter().map(|f| &rows.columns[f.column]).collect();
        let mut key = Vec::new();
        for i in (from..range.end).filter(|&i| index.has(rows, i)) {
            let row = first + (i - range.start) as RowId;
            key.clear();
            index.def.encode_row(&columns, i, &mut key);
            hashed.insert(index, &key, row, self.first, locate);
        }
    }

    /// Puts rising rows into the gaps between stretches and within them; the place of the first row
    /// that cannot be, or the end.
    fn insert(
        &mut self,
        index: &IndexShape,
        rows: &Batch,
        range: Range<usize>,
        first: RowId,
        locate: Locate<'_>,
    ) -> usize {
        let mut from = range.start;
        while from < range.end {
            let compare = |row: RowId, i: usize| {
                let (other, at) = noted(locate, row);
                compare_rows(&index.fields, other, at, rows, i)
            };
            let Some((at, next)) = self.gap(&|row| compare(row, from)) else { break };
            let fits = |i: usize| next.is_none_or(|next| compare(next, i).is_gt());
            // Mostly all of them fit.
            let end = if fits(range.end - 1) { range.end } else { search(from..range.end, fits) };
            let new = first + (from - range.start) as RowId;
            if !self.put(at, next, new..new + (end - from) as RowId) {
                break;
            }
            from = end;
        }
        from
    }

    /// Where a key belongs, given how a row's key compares with it: how many stretches begin below
    /// it, and the row with the next key. `None` if a row has the key.
    fn gap(&self, compare: &dyn Fn(RowId) -> Ordering) -> Option<(usize, Option<RowId>)> {
        let last = self.stretches.last();
        if last.is_none_or(|s| compare(s.end - 1).is_lt()) {
            return Some((self.stretches.len(), None));
        }
        let at = self.stretches.partition_point(|s| compare(s.start).is_lt());
        let mut next = self.stretches.get(at).map(|s| s.start);
        if let Some(Range { start, end }) = at.checked_sub(1).map(|b| self.stretches[b].clone())
            && compare(end - 1).is_ge()
        {
            let rows = search(0..(end - start) as usize, |i| compare(start + i as RowId).is_lt());
            next = Some(start + rows as RowId);
        }
        next.is_none_or(|row| compare(row).is_ne()).then_some((at, next))
    }

    /// Puts rows behind the first `at` stretches, the last of which is split if the row with the next
    /// key lies in it; false when keys arrive too wildly.
    fn put(&mut self, at: usize, next: Option<RowId>, new: Stretch) -> bool {
        let before = at.checked_sub(1).map(|b| &mut self.stretches[b]);
        let split = before.as_ref().and_then(|s| next.filter(|row| s.contains(row)));
        if split.is_none()
            && let Some(before) = before
            && before.end == new.start
        {
            before.end = new.end;
            return true;
        }
        self.moves += self.stretches.len() - at;
        if self.moves > MOVES.0 + MOVES.1 * self.stretches.len() {
            return false;
        }
        match split {
            None => self.stretches.insert(at, new),
            Some(row) => {
                let end = std::mem::replace(&mut self.stretches[at - 1].end, row);
                self.stretches.splice(at..at, [new, row..end]);
            }
        }
        true
    }

    /// The hash, with what few rows there are in stretches.
    fn begin_hashing(&mut self, index: &IndexShape, locate: Locate<'_>) -> Hashed {
        let shards = (0..SHARDS).map(|_| HashTable::new()).collect();
        let mut hashed = Hashed { shards, older: HashMap::new() };
        if self.stretches.iter().map(|s| s.end - s.start).sum::<RowId>() <= REHASHED_ROWS {
            let mut key = Vec::new();
            for row in std::mem::take(&mut self.stretches).into_iter().flatten() {
                let (rows, i) = noted(locate, row);
                key.clear();
                row_key(index, rows, i, &mut key);
                hashed.insert(index, &key, row, self.first, locate);
            }
        }
        hashed
    }

    /// The newest hashed row below `below` with this key.
    pub(crate) fn newest_hashed(
        &self,
        index: &IndexShape,
        key: &[u8],
        below: RowId,
        locate: Locate<'_>,
    ) -> Option<RowId> {
        let hashed = self.hashed.as_ref()?;
        let mut row = hashed.find(index, key, self.first, locate)?;
        while self.first + RowId::from(row) >= below {
            row = *hashed.older.get(&row)?;
        }
        Some(self.first + RowId::from(row))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let stretches = self.stretches.capacity() * size_of::<Stretch>();
        let Some(hashed) = &self.hashed else { return stretches };
        let slots: usize = hashed.shards.iter().map(HashTable::capacity).sum();
        // 8 bytes and a control byte per slot, of which 7 in 8 may be used.
        stretches + slots * 9 * 8 / 7 + hashed.older.capacity() * 10
    }
}

impl Hashed {
    fn find(&self, index: &IndexShape, key: &[u8], base: RowId, locate: Locate<'_>) -> Option<u32> {
        let (shard, short) = split(xxh3_64(key));
        let found = self.shards[shard]
            .find(spread(short), |&(h, row)| h == short && has_key(index, key, base, row, locate));
        found.map(|&(_, row)| row)
    }

    fn insert(
        &mut self,
        index: &IndexShape,
        key: &[u8],
        row: RowId,
        base: RowId,
        locate: Locate<'_>,
    ) {
        let row = u32::try_from(row - base).expect("a memtable spans fewer than 2^32 row ids");
        let (shard, short) = split(xxh3_64(key));
        let table = &mut self.shards[shard];
        let same =
            |&(h, other): &(u32, u32)| h == short && has_key(index, key, base, other, locate);
        match table.find_mut(spread(short), same) {
            Some(entry) => {
                self.older.insert(row, entry.1);
                entry.1 = row;
            }
            None => {
                table.insert_unique(spread(short), (short, row), |&(h, _)| spread(h));
            }
        }
    }
}

fn has_key(index: &IndexShape, key: &[u8], base: RowId, row: u32, locate: Locate<'_>) -> bool {
    locate(base + RowId::from(row)).is_some_and(|(rows, i)| {
        let mut other = Vec::with_capacity(key.len());
        row_key(index, rows, i, &mut other);
        other == key
    })
}

fn noted<'a>(locate: Locate<'a>, row: RowId) -> (&'a Batch, usize) {
    locate(row).expect("rows stay where they were noted")
}

fn split(hash: u64) -> (usize, u32) {
    ((hash >> 32) as usize % SHARDS, hash as u32)
}

fn spread(short: u32) -> u64 {
    u64::from(short).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// End of the leading rows that rise strictly.
fn rising_end(index: &IndexShape, rows: &Batch, range: Range<usize>) -> usize {
    if let Some(end) = rising_ints(index, rows, range.clone()) {
        return end;
    }
    let falls = |&i: &usize| compare_rows(&index.fields, rows, i - 1, rows, i).is_ge();
    (range.start + 1..range.end).find(falls).unwrap_or(range.end)
}

/// End of the leading rows that rise, for keys of one number.
fn rising_ints(index: &IndexShape, rows: &Batch, range: Range<usize>) -> Option<usize> {
    let [field] = index.fields.as_slice() else { return None };
    if field.descending || is_float(field.ty) {
        return None;
    }
    let Column { data: Vector::Int(v), nulls: None } = &rows.columns[field.column] else {
        return None;
    };
    let drop = v[range.clone()].windows(2).position(|w| w[1] <= w[0]);
    Some(drop.map_or(range.end, |at| range.start + at + 1))
}
