//! What does a flush take of an index that has several entries of a row?
//!
//! Entries in index order, at most [`super::Tuning::flush_rows`] at a time: one merge of the chunks' postings
//! ([`super::lists`]), which were charged as the rows came in, so that a flush needs memory for a step only. What the
//! keys have in common is found out before, in the same steps ([`Memtable::observe_lists`]).
//!
//! Rows that lie in no memtable are sorted in the same way ([`ListRows`]).
//!
//! Thread safety: works on a snapshot of the groups of a frozen memtable, and on rows of its own.

use onlap_base::{IndexId, RowId};
use onlap_format::key::{ColumnStats, Entries, Packing};
use onlap_format::{Batch, BytesVec, Column, Vector, entries};

use super::Memtable;
use super::chunk::Chunk;
use super::flush::DeadRows;
use super::lists::{ListMerge, ListSource, POSTING_BYTES, lists};

/// Keys that are looked at together.
const OBSERVED: usize = 1 << 12;

/// Entries of one index of lists of a frozen memtable, sorted by (key, row id).
#[derive(Debug)]
pub struct ListStream {
    merge: ListMerge,
    packing: Packing,
    dead: DeadRows,
    step: usize,
}

impl Memtable {
    /// What all keys of an index of lists have in common, those of dead rows too.
    ///
    /// # Panics
    /// When not frozen.
    pub fn observe_lists(&self, index: IndexId, stats: &mut ColumnStats) {
        let at = self.shared.shape.index(index);
        let column = self.shared.shape.indexes[at].fields[0].column;
        let groups = self.frozen_groups();
        let chunks = groups.iter().flat_map(|g| &g.chunks);
        observe(chunks.map(|c| lists(&c.rows.columns[column])), stats);
    }

    /// The number of entries of all indexes of lists, those of dead rows too.
    pub fn list_entries(&self) -> usize {
        let rows = self.shared.rows.read();
        rows.groups.iter().map(|g| g.posting_bytes).sum::<usize>() / POSTING_BYTES
    }

    pub(super) fn list_stream(
        &self,
        index: usize,
        packing: &Packing,
        dead: DeadRows,
    ) -> ListStream {
        let column = self.shared.shape.indexes[index].fields[0].column;
        let groups = self.frozen_groups();
        let chunks = groups.iter().flat_map(|g| &g.chunks);
        let sources = chunks.map(|c| ListSource::whole(c, column)).collect();
        ListStream {
            merge: ListMerge::new(sources, false),
            packing: packing.clone(),
            dead,
            step: self.shared.tuning.flush_rows,
        }
    }
}

/// What the keys of lists have in common.
fn observe<'a>(all: impl Iterator<Item = &'a BytesVec>, stats: &mut ColumnStats) {
    let mut keys = BytesVec::default();
    let mut observe = |keys: &mut BytesVec| {
        let column = Column { data: Vector::Bytes(std::mem::take(keys)), nulls: None };
        stats.observe(&column, 0..column.len());
    };
    for key in all.flat_map(BytesVec::iter).flat_map(entries::walk) {
        keys.push(key);
        if keys.len() == OBSERVED {
            observe(&mut keys);
        }
    }
    observe(&mut keys);
}

/// Rows by their lists alone, whose entries are to be sorted.
#[derive(Debug)]
pub struct ListRows(Chunk);

impl ListRows {
    /// Rows with their lists, by rising id; there are some.
    pub fn new(lists: Column, row_ids: Vec<RowId>) -> ListRows {
        assert!(!row_ids.is_empty() && lists.len() == row_ids.len(), "a list for each row");
        ListRows(Chunk::with_ids(Batch { rows: row_ids.len(), columns: vec![lists] }, row_ids))
    }

    /// What all keys have in common.
    pub fn observe(&self, stats: &mut ColumnStats) {
        observe(std::iter::once(lists(&self.0.rows.columns[0])), stats);
    }

    /// The entries, sorted by (key, row id), at most `step` at a time.
    pub fn entries(&self, packing: &Packing, step: usize) -> ListStream {
        assert!(step > 0, "entries come in steps");
        let merge = ListMerge::new(vec![ListSource::whole(&self.0, 0)], false);
        ListStream { merge, packing: packing.clone(), dead: DeadRows::none(), step }
    }
}

impl Iterator for ListStream {
    type Item = Entries;

    fn next(&mut self) -> Option<Entries> {
        let (mut keys, mut row_ids) = (BytesVec::default(), Vec::new());
        while row_ids.len() < self.step
            && let Some((source, place)) = self.merge.next()
        {
            let source = &self.merge.sources[source];
            let row = source.row_id(place);
            if self.dead.is_empty() || !self.dead.contains(row) {
                keys.push(source.key(place));
                row_ids.push(row);
            }
        }
        if row_ids.is_empty() {
            return None;
        }
        debug_assert_eq!(keys.len(), row_ids.len(), "a key for each entry");
        let column = Column { data: Vector::Bytes(keys), nulls: None };
        let mut keys = self.packing.new_keys();
        let fits = self.packing.pack(&[&column], 0..row_ids.len(), &mut keys);
        assert!(fits, "the packing was made for every key of the memtable");
        let include = Batch { columns: Vec::new(), rows: row_ids.len() };
        Some(Entries { keys, row_ids, include })
    }
}
