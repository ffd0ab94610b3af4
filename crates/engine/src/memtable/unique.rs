//! Which row carries a key of a unique index?
//!
//! Rows whose keys rise from the first on need nothing: they are searched where they lie. From the
//! first row that does not rise, rows are hashed: key hash to the newest row of that key, and from
//! there to the previous one. Tables with counters for keys never hash.
//!
//! The tables are split in [`SHARDS`], so that growing one stalls a commit for a short time only.
//! Owned by the memtable, under its lock.

use std::ops::Range;

use hashbrown::{HashMap, HashTable};
use onlap_base::RowId;
use onlap_format::{Batch, Column, Vector};
use xxhash_rust::xxh3::xxh3_64;

use super::bound::row_key;
use super::rank::is_float;
use super::shape::IndexShape;

/// A million keys are 16K per shard, moved in a quarter of a millisecond.
const SHARDS: usize = 64;

/// Finds a row's columns.
pub(crate) type Locate<'a> = &'a dyn Fn(RowId) -> Option<(&'a Batch, usize)>;

/// What one unique index needs besides the rows.
#[derive(Debug)]
pub(crate) struct UniqueKeys {
    /// Position of the index.
    pub index: usize,
    first: RowId,
    /// Rows below this rise strictly by key.
    rising_end: RowId,
    /// Key bytes of the last of them.
    last: Vec<u8>,
    hashed: Option<Hashed>,
}

#[derive(Debug)]
struct Hashed {
    shards: Vec<HashTable<(u32, u32)>>,
    /// The next older row with the same key; rows count from the memtable's first.
    older: HashMap<u32, u32>,
}

impl UniqueKeys {
    pub(crate) fn new(index: usize, first: RowId) -> UniqueKeys {
        UniqueKeys { index, first, rising_end: first, last: Vec::new(), hashed: None }
    }

    /// End of the rows that must be searched by key order.
    pub(crate) fn rising_end(&self) -> RowId {
        self.rising_end
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
        if self.hashed.is_none() {
            from = self.rise(index, rows, range.clone());
            let end = first + (from - range.start) as RowId;
            if from == range.end {
                self.rising_end = end;
                return;
            }
            self.rising_end = self.rising_end.max(end);
            let shards = (0..SHARDS).map(|_| HashTable::new()).collect();
            self.hashed = Some(Hashed { shards, older: HashMap::new() });
        }
        let hashed = self.hashed.as_mut().expect("made above");
        let mut key = Vec::new();
        for i in from..range.end {
            key.clear();
            row_key(index, rows, i, &mut key);
            let row = u32::try_from(first + (i - range.start) as RowId - self.first)
                .expect("a memtable spans fewer than 2^32 row ids");
            hashed.insert(index, &key, row, self.first, locate);
        }
    }

    /// End of the leading rows that go on rising; remembers the last of them.
    fn rise(&mut self, index: &IndexShape, rows: &Batch, range: Range<usize>) -> usize {
        let mut key = Vec::new();
        row_key(index, rows, range.start, &mut key);
        if !self.last.is_empty() && key <= self.last {
            return range.start;
        }
        let end = match rising_ints(index, rows, range.clone()) {
            Some(end) => end,
            None => {
                let mut before = key.clone();
                let mut end = range.start + 1;
                while end < range.end {
                    key.clear();
                    row_key(index, rows, end, &mut key);
                    if key <= before {
                        break;
                    }
                    std::mem::swap(&mut before, &mut key);
                    end += 1;
                }
                end
            }
        };
        self.last.clear();
        row_key(index, rows, end - 1, &mut self.last);
        end
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
        let Some(hashed) = &self.hashed else { return 0 };
        let slots: usize = hashed.shards.iter().map(HashTable::capacity).sum();
        // 8 bytes and a control byte per slot, of which 7 in 8 may be used.
        slots * 9 * 8 / 7 + hashed.older.capacity() * 10
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
        row: u32,
        base: RowId,
        locate: Locate<'_>,
    ) {
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

fn split(hash: u64) -> (usize, u32) {
    ((hash >> 32) as usize % SHARDS, hash as u32)
}

fn spread(short: u32) -> u64 {
    u64::from(short).wrapping_mul(0x9E37_79B9_7F4A_7C15)
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
