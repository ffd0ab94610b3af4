//! Which rows, without their values?
//!
//! [`RowSet`] is what a [`super::Predicate`] gives: ids, ascending, each once. Few are a sorted list:
//! one row costs one small allocation, a tenth of a bitmap's upkeep. Many are compressed bitmaps: ten
//! million of twenty million rows take 2.5 MB instead of 80, and two such sets meet in half a
//! millisecond. [`Collector`] makes sets of ids that come in any order, in bounded memory (I7).
//!
//! Knows nothing of visibility. Thread safety: plain data.

use std::ops::Range;

use onlap_base::{PROVISIONAL_BASE, RowId};
use roaring::RoaringTreemap;

/// Ids that a set keeps as a list: 512 KiB of them.
const LISTED: usize = 1 << 16;

/// Ids that a collector sorts at once: 2 MiB of them. Where they lie apart, larger stretches make
/// fewer passes over the bitmaps.
const SORTED: usize = 1 << 18;

/// A set of row ids.
#[derive(Clone, Debug, Default)]
pub struct RowSet {
    ids: Ids,
}

#[derive(Clone, Debug)]
enum Ids {
    /// Ascending, each once.
    Few(Vec<RowId>),
    Many(RoaringTreemap),
}

impl Default for Ids {
    fn default() -> Ids {
        Ids::Few(Vec::new())
    }
}

impl RowSet {
    /// Number of rows.
    pub fn len(&self) -> u64 {
        match &self.ids {
            Ids::Few(ids) => ids.len() as u64,
            Ids::Many(ids) => ids.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        match &self.ids {
            Ids::Few(ids) => ids.is_empty(),
            Ids::Many(ids) => ids.is_empty(),
        }
    }

    /// Whether a row is among them.
    pub fn contains(&self, row: RowId) -> bool {
        match &self.ids {
            Ids::Few(ids) => ids.binary_search(&row).is_ok(),
            Ids::Many(ids) => ids.contains(row),
        }
    }

    /// The ids, ascending.
    pub fn iter(&self) -> impl Iterator<Item = RowId> + '_ {
        let (few, many) = match &self.ids {
            Ids::Few(ids) => (Some(ids.iter().copied()), None),
            Ids::Many(ids) => (None, Some(ids.iter())),
        };
        few.into_iter().flatten().chain(many.into_iter().flatten())
    }

    /// All ids, ascending.
    pub fn rows(&self) -> Vec<RowId> {
        match &self.ids {
            Ids::Few(ids) => ids.clone(),
            Ids::Many(ids) => ids.iter().collect(),
        }
    }

    /// Own rows of a transaction, which come last, and the others.
    pub(crate) fn split_own(&self) -> (RoaringTreemap, Vec<RowId>) {
        match &self.ids {
            Ids::Few(ids) => {
                let at = ids.partition_point(|&id| id < PROVISIONAL_BASE);
                (ids[..at].iter().copied().collect(), ids[at..].to_vec())
            }
            Ids::Many(ids) => {
                let mut landed = ids.clone();
                landed.remove_range(PROVISIONAL_BASE..);
                let mut own = ids.iter();
                own.advance_to(PROVISIONAL_BASE);
                let own = own.collect();
                (landed, own)
            }
        }
    }

    /// The ids as a list, where they are one.
    pub(super) fn as_list(&self) -> Option<&[RowId]> {
        match &self.ids {
            Ids::Few(ids) => Some(ids),
            Ids::Many(_) => None,
        }
    }

    /// The lowest id that is not below `row`.
    pub(super) fn next_from(&self, row: RowId) -> Option<RowId> {
        match &self.ids {
            Ids::Few(ids) => ids.get(ids.partition_point(|&id| id < row)).copied(),
            Ids::Many(ids) => {
                let mut ids = ids.iter();
                ids.advance_to(row);
                ids.next()
            }
        }
    }

    /// The rows of both.
    #[must_use]
    pub fn and(self, other: RowSet) -> RowSet {
        self.intersect(other)
    }

    /// The rows of both.
    pub(super) fn intersect(self, other: RowSet) -> RowSet {
        match (self.ids, other.ids) {
            (Ids::Many(a), Ids::Many(b)) => RowSet::of_bitmaps(a & b),
            (Ids::Few(mut few), ids) | (ids, Ids::Few(mut few)) => {
                let other = RowSet { ids };
                few.retain(|&row| other.contains(row));
                RowSet { ids: Ids::Few(few) }
            }
        }
    }

    /// The rows of either.
    pub(super) fn unite(self, other: RowSet) -> RowSet {
        match (self.ids, other.ids) {
            (Ids::Few(mut a), Ids::Few(b)) => {
                a.extend(b);
                // Two ascending stretches, which a stable sort finds and merges.
                a.sort();
                a.dedup();
                RowSet::of_sorted(a)
            }
            (Ids::Many(mut many), Ids::Few(few)) | (Ids::Few(few), Ids::Many(mut many)) => {
                many.extend(few);
                RowSet { ids: Ids::Many(many) }
            }
            (Ids::Many(a), Ids::Many(b)) => RowSet { ids: Ids::Many(a | b) },
        }
    }

    /// The rows of the first that are not of the second.
    pub(super) fn subtract(self, other: &RowSet) -> RowSet {
        match (self.ids, &other.ids) {
            (Ids::Few(mut few), _) => {
                few.retain(|&row| !other.contains(row));
                RowSet { ids: Ids::Few(few) }
            }
            (Ids::Many(mut many), Ids::Few(few)) => {
                few.iter().for_each(|&row| {
                    many.remove(row);
                });
                RowSet::of_bitmaps(many)
            }
            (Ids::Many(a), Ids::Many(b)) => RowSet::of_bitmaps(a - b),
        }
    }

    /// The rows whose ids lie in any of these ranges, which ascend.
    pub(super) fn within(mut self, ranges: &[Range<RowId>]) -> RowSet {
        let inside = |row: RowId| {
            let at = ranges.partition_point(|r| r.end <= row);
            ranges.get(at).is_some_and(|r| r.contains(&row))
        };
        match &mut self.ids {
            Ids::Few(ids) => ids.retain(|&row| inside(row)),
            Ids::Many(ids) => {
                let mut wanted = RoaringTreemap::new();
                ranges.iter().for_each(|r| {
                    wanted.insert_range(r.clone());
                });
                *ids &= wanted;
            }
        }
        self
    }

    /// The rows whose ids do not lie in a range.
    pub(super) fn without(mut self, range: Range<RowId>) -> RowSet {
        match &mut self.ids {
            Ids::Few(ids) => ids.retain(|row| !range.contains(row)),
            Ids::Many(ids) => {
                ids.remove_range(range);
            }
        }
        self
    }

    /// A set of ids that ascend.
    pub(super) fn of_sorted(ids: Vec<RowId>) -> RowSet {
        debug_assert!(ids.is_sorted_by(|a, b| a < b), "each id once, in order");
        if ids.len() <= LISTED {
            return RowSet { ids: Ids::Few(ids) };
        }
        let many = RoaringTreemap::from_sorted_iter(ids).expect("ids ascend");
        RowSet { ids: Ids::Many(many) }
    }

    fn of_bitmaps(many: RoaringTreemap) -> RowSet {
        if many.len() <= LISTED as u64 {
            return RowSet { ids: Ids::Few(many.iter().collect()) };
        }
        RowSet { ids: Ids::Many(many) }
    }
}

/// Equal where they have the same rows, however they are kept.
impl PartialEq for RowSet {
    fn eq(&self, other: &RowSet) -> bool {
        match (&self.ids, &other.ids) {
            (Ids::Few(a), Ids::Few(b)) => a == b,
            (Ids::Many(a), Ids::Many(b)) => a == b,
            _ => self.len() == other.len() && self.iter().eq(other.iter()),
        }
    }
}

impl Eq for RowSet {}

/// Ids in any order, any number of times.
impl FromIterator<RowId> for RowSet {
    fn from_iter<I: IntoIterator<Item = RowId>>(ids: I) -> RowSet {
        let mut collector = Collector::default();
        ids.into_iter().for_each(|row| collector.push(&[row]));
        collector.finish()
    }
}

/// Makes a set of ids that come in any order.
#[derive(Default)]
pub(super) struct Collector {
    loose: Vec<RowId>,
    set: RoaringTreemap,
}

impl Collector {
    pub fn push(&mut self, ids: &[RowId]) {
        for ids in ids.chunks(SORTED) {
            if self.loose.len() + ids.len() > SORTED {
                self.store();
            }
            self.loose.extend_from_slice(ids);
        }
    }

    pub fn push_range(&mut self, ids: Range<RowId>) {
        if ids.end - ids.start <= 16 {
            let mut list = [0; 16];
            let n = (ids.end - ids.start) as usize;
            list.iter_mut().zip(ids).for_each(|(to, id)| *to = id);
            self.push(&list[..n]);
        } else {
            self.set.insert_range(ids);
        }
    }

    fn sort(&mut self) {
        // Entries of one key, and of one source, come in ascending stretches.
        self.loose.sort();
        self.loose.dedup();
    }

    fn store(&mut self) {
        self.sort();
        let sorted = RoaringTreemap::from_sorted_iter(self.loose.drain(..)).expect("ids ascend");
        if self.set.is_empty() {
            self.set = sorted;
        } else {
            self.set |= sorted;
        }
    }

    pub fn finish(mut self) -> RowSet {
        if self.set.is_empty() && self.loose.len() <= LISTED {
            self.sort();
            return RowSet::of_sorted(self.loose);
        }
        self.store();
        RowSet::of_bitmaps(self.set)
    }
}
