//! How is an index compared with its table where runs keep the first part of each key alone?
//!
//! Both sides hash what is kept: of the rows that such runs stand for, and of their entries. While a merge
//! is under way its output and inputs stand for the same rows, so all runs over rows of such a run count
//! with it.
//!
//! Pure data.

use std::ops::Range;

use onlap_base::RowId;
use onlap_format::Column;
use onlap_format::key::{KeyDef, cut_key, cut_len};
use onlap_storage::version::IndexVersion;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The rows whose entries have cut keys, or count with such.
pub(super) struct CutRows {
    def: KeyDef,
    len: usize,
    rows: Vec<Range<RowId>>,
}

impl CutRows {
    /// Those of an index; `None` without any.
    pub(super) fn of(index: &IndexVersion) -> Option<CutRows> {
        let def = index.shape.key.clone();
        let len = cut_len(&def)?;
        let all = |cut: bool| {
            let runs = index.runs.iter().filter(move |r| !cut || r.run.cut().is_some());
            runs.map(|r| r.meta.rows.clone())
        };
        let mut rows: Vec<Range<RowId>> = all(true).collect();
        let overlap = |a: &Range<RowId>, b: &Range<RowId>| a.start < b.end && b.start < a.end;
        loop {
            let more: Vec<_> = all(false)
                .filter(|r| !rows.contains(r) && rows.iter().any(|known| overlap(known, r)))
                .collect();
            if more.is_empty() {
                break;
            }
            rows.extend(more);
        }
        rows.sort_unstable_by_key(|r| r.start);
        (!rows.is_empty()).then_some(CutRows { def, len, rows })
    }

    /// Whether entries of a row count so.
    pub(super) fn contains(&self, row: RowId) -> bool {
        let upto = self.rows.partition_point(|r| r.start <= row);
        self.rows[..upto].iter().any(|r| row < r.end)
    }

    /// The hash of an entry with these key bytes, whole or cut.
    pub(super) fn hash(&self, row: RowId, key: &[u8]) -> u64 {
        xxh3_64_with_seed(cut_key(key, self.len), row)
    }

    /// Puts hashes of kept parts in the place of those of whole keys; `columns` are the key's.
    pub(super) fn rehash(&self, rows: &[RowId], columns: &[&Column], hashes: &mut [u64]) {
        let mut key = Vec::new();
        for (at, (&row, hash)) in rows.iter().zip(hashes).enumerate() {
            if self.contains(row) {
                key.clear();
                self.def.encode_row(columns, at, &mut key);
                *hash = self.hash(row, &key);
            }
        }
    }
}
