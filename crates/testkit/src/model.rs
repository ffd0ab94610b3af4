//! What would the simplest possible table answer?
//!
//! Every version of every row, in a vector, found by looking at all of them. Row ids are positions
//! (I1), commits come in order (I2), a snapshot sees a prefix of the commits. Whatever the engine
//! answers must equal what this answers. Not synchronised: one test thread owns it.

use std::collections::BTreeSet;
use std::fmt::Debug;

use onlap_base::{Csn, RowId};

/// A table as a list of row versions.
#[derive(Clone, Debug, Default)]
pub struct ModelTable<R> {
    versions: Vec<RowVersion<R>>,
    last: Csn,
}

#[derive(Clone, Debug)]
struct RowVersion<R> {
    row: R,
    born: Csn,
    died: Option<Csn>,
    successor: Option<RowId>,
}

impl<R: Clone + PartialEq + Debug> ModelTable<R> {
    /// A table without rows.
    pub fn new() -> ModelTable<R> {
        ModelTable { versions: Vec::new(), last: 0 }
    }

    /// Adds a row in commit `csn`; its row id is how many rows there were before.
    ///
    /// # Panics
    /// When `csn` is below that of an earlier change.
    pub fn insert(&mut self, csn: Csn, row: R) -> RowId {
        self.advance(csn);
        self.versions.push(RowVersion { row, born: csn, died: None, successor: None });
        self.versions.len() as RowId - 1
    }

    /// Deletes a row in commit `csn`; false when it was gone before.
    ///
    /// # Panics
    /// When there was never such a row, or `csn` is below that of an earlier change.
    pub fn delete(&mut self, csn: Csn, id: RowId) -> bool {
        self.advance(csn);
        let version = &mut self.versions[id as usize];
        let alive = version.died.is_none();
        version.died.get_or_insert(csn);
        alive
    }

    /// Replaces a row in commit `csn`: a delete with a successor. `None` when it was gone before.
    ///
    /// # Panics
    /// As [`ModelTable::delete`].
    pub fn update(&mut self, csn: Csn, id: RowId, row: R) -> Option<RowId> {
        if !self.delete(csn, id) {
            return None;
        }
        let new = self.insert(csn, row);
        self.versions[id as usize].successor = Some(new);
        Some(new)
    }

    /// The row that replaced this one.
    pub fn successor(&self, id: RowId) -> Option<RowId> {
        self.versions.get(id as usize)?.successor
    }

    /// Rows ever inserted, which is the next row id.
    pub fn next_row_id(&self) -> RowId {
        self.versions.len() as RowId
    }

    /// The rows a snapshot sees, by row id.
    pub fn rows(&self, snapshot: Csn) -> impl DoubleEndedIterator<Item = (RowId, &R)> {
        let versions = self.versions.iter().enumerate();
        let visible = versions.filter(move |(_, version)| version.sees(snapshot));
        visible.map(|(id, version)| (id as RowId, &version.row))
    }

    /// How many rows a snapshot sees.
    pub fn count(&self, snapshot: Csn) -> u64 {
        self.rows(snapshot).count() as u64
    }

    /// A row, if the snapshot sees it.
    pub fn row(&self, snapshot: Csn, id: RowId) -> Option<&R> {
        let version = self.versions.get(id as usize)?;
        version.sees(snapshot).then_some(&version.row)
    }

    /// The first visible row for which `wanted` holds.
    pub fn find(&self, snapshot: Csn, wanted: impl Fn(&R) -> bool) -> Option<(RowId, &R)> {
        self.rows(snapshot).find(|(_, row)| wanted(row))
    }

    /// The visible entries of an index: (key, row id) in index order, for keys that `inside` accepts.
    pub fn entries<K: Ord>(
        &self,
        snapshot: Csn,
        key: impl Fn(&R) -> K,
        inside: impl Fn(&K) -> bool,
    ) -> Vec<(K, RowId)> {
        let all = self.rows(snapshot).map(|(id, row)| (key(row), id));
        let mut entries: Vec<(K, RowId)> = all.filter(|(key, _)| inside(key)).collect();
        entries.sort();
        entries
    }

    /// Checks what the engine says a snapshot's table holds.
    ///
    /// # Errors
    /// The first difference, in words.
    pub fn compare(&self, snapshot: Csn, found: &[(RowId, R)]) -> Result<(), String> {
        let mut expected = self.rows(snapshot);
        for (at, (id, row)) in found.iter().enumerate() {
            match expected.next() {
                Some((want_id, want)) if (want_id, want) == (*id, row) => {}
                want => {
                    return Err(format!(
                        "snapshot {snapshot}, place {at}: found row {id} {row:?}, expected {want:?}"
                    ));
                }
            }
        }
        match expected.next() {
            None => Ok(()),
            Some(want) => Err(format!(
                "snapshot {snapshot}: found {} rows, then nothing; expected {want:?}",
                found.len()
            )),
        }
    }

    /// Checks rule I4 for an index whose entries a snapshot shows as `found`.
    ///
    /// # Errors
    /// The first entry that is missing, that should not be there, or that is out of order.
    pub fn compare_index<K: Ord + Debug>(
        &self,
        snapshot: Csn,
        key: impl Fn(&R) -> K,
        found: &[(K, RowId)],
    ) -> Result<(), String> {
        if let Some(pair) = found.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(format!("snapshot {snapshot}: {:?} stands before {:?}", pair[0], pair[1]));
        }
        let expected = self.entries(snapshot, key, |_| true);
        let (want, got): (BTreeSet<_>, BTreeSet<_>) =
            (expected.iter().collect(), found.iter().collect());
        if let Some(entry) = want.difference(&got).next() {
            return Err(format!("snapshot {snapshot}: entry {entry:?} is missing"));
        }
        match got.difference(&want).next() {
            Some(entry) => Err(format!("snapshot {snapshot}: entry {entry:?} has no visible row")),
            None => Ok(()),
        }
    }

    fn advance(&mut self, csn: Csn) {
        assert!(csn >= self.last, "commits come in order: {csn} after {}", self.last);
        self.last = csn;
    }
}

impl<R> RowVersion<R> {
    fn sees(&self, snapshot: Csn) -> bool {
        self.born <= snapshot && self.died.is_none_or(|died| died > snapshot)
    }
}

#[cfg(test)]
mod tests;
