//! Which rows were deleted, by which commit, and by which row were they replaced?
//!
//! Marks name any row of the table, mostly flushed ones. The newest up to [`OPEN_MARKS`] lie in a
//! tree; full, they become a sorted piece of three arrays, 16 bytes per mark and 8 more where
//! successors exist, and pieces of like size are joined in the background, eight at a time. A row has
//! one mark at most (I1), so that the order of pieces does not matter.
//!
//! A bitmap says which rows have a mark. A reader of a few rows asks it for each of them, where a search in every
//! piece would miss the cache several times per piece.
//!
//! In a private buffer the CSN of a mark is its ordinal, so that a statement sees the marks before it
//! and a savepoint is a number.
//!
//! Thread safety: owned by the memtable, behind a lock of its own; pieces are immutable.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use onlap_base::{Csn, RowId};
use roaring::RoaringTreemap;

/// Marks in the tree: at 24 bytes and the tree's slack about 40 KiB per table.
pub(crate) const OPEN_MARKS: usize = 1024;

/// Rows up to which each is looked up by itself: more of them are met with the sorted marks, in one walk over both.
pub(super) const FEW_ROWS: usize = 1024;

/// Bytes of the bitmap per mark, and per stretch of 65,536 rows with a mark.
const BITMAP_BYTES: (usize, usize) = (4, 64);

/// No row replaced the deleted one.
const NO_SUCCESSOR: RowId = RowId::MAX;

/// A row's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The row that died.
    pub row: RowId,
    /// The commit that killed it.
    pub csn: Csn,
    /// The row that replaced it, for updates.
    pub successor: Option<RowId>,
}

/// Marks in row order.
#[derive(Clone, Debug, Default)]
pub struct MarkList {
    rows: Vec<RowId>,
    csns: Vec<Csn>,
    /// Empty where no mark has a successor.
    successors: Vec<RowId>,
}

impl MarkList {
    fn of_sorted(marks: impl ExactSizeIterator<Item = Mark>) -> MarkList {
        let n = marks.len();
        let mut list = MarkList {
            rows: Vec::with_capacity(n),
            csns: Vec::with_capacity(n),
            successors: Vec::with_capacity(n),
        };
        let mut replaced = false;
        for mark in marks {
            list.rows.push(mark.row);
            list.csns.push(mark.csn);
            list.successors.push(mark.successor.unwrap_or(NO_SUCCESSOR));
            replaced |= mark.successor.is_some();
        }
        if !replaced {
            list.successors = Vec::new();
        }
        list
    }

    /// Number of marks.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The i-th mark.
    pub fn get(&self, i: usize) -> Mark {
        let successor = self.successors.get(i).copied().filter(|&s| s != NO_SUCCESSOR);
        Mark { row: self.rows[i], csn: self.csns[i], successor }
    }

    /// Marks in row order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Mark> {
        (0..self.len()).map(|i| self.get(i))
    }

    fn find(&self, row: RowId) -> Option<Mark> {
        // Rows die in clusters, and mostly the oldest or the newest: most pieces end before or begin
        // after them.
        if row < *self.rows.first()? || row > *self.rows.last()? {
            return None;
        }
        self.rows.binary_search(&row).ok().map(|i| self.get(i))
    }

    fn heap_bytes(&self) -> usize {
        (self.rows.capacity() + self.csns.capacity() + self.successors.capacity()) * 8
    }
}

/// All marks of one memtable.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    open: BTreeMap<RowId, (Csn, RowId)>,
    pieces: Vec<Arc<MarkList>>,
    /// Every row with a mark.
    marked: RoaringTreemap,
    /// The latest commit with a mark.
    newest: Csn,
    /// Whether a join is under way; pieces sealed meanwhile are behind the ones it took.
    joining: bool,
}

impl Marks {
    /// Marks a row. A row that has a mark keeps it: replay may meet a mark twice.
    pub fn insert(&mut self, mark: Mark) {
        if !self.note(&mark) {
            return;
        }
        let value = (mark.csn, mark.successor.unwrap_or(NO_SUCCESSOR));
        self.open.insert(mark.row, value);
        if self.open.len() >= OPEN_MARKS {
            self.seal();
        }
    }

    /// Marks rows in row order; many become a piece of their own at once.
    pub fn insert_sorted(&mut self, mut marks: Vec<Mark>) {
        debug_assert!(marks.is_sorted_by(|a, b| a.row < b.row));
        if marks.len() < OPEN_MARKS {
            return marks.into_iter().for_each(|mark| self.insert(mark));
        }
        marks.retain(|mark| self.note(mark));
        self.pieces.push(Arc::new(MarkList::of_sorted(marks.into_iter())));
    }

    /// Whether the row had no mark before.
    fn note(&mut self, mark: &Mark) -> bool {
        let fresh = self.marked.insert(mark.row);
        if fresh {
            self.newest = self.newest.max(mark.csn);
        }
        fresh
    }

    fn seal(&mut self) {
        let open = std::mem::take(&mut self.open);
        self.pieces.push(Arc::new(MarkList::of_sorted(open.into_iter().map(as_mark))));
    }

    pub fn len(&self) -> usize {
        self.open.len() + self.pieces.iter().map(|p| p.len()).sum::<usize>()
    }

    pub fn find(&self, row: RowId) -> Option<Mark> {
        if !self.marked.contains(row) {
            return None;
        }
        let open = self.open.get_key_value(&row).map(|(&row, &value)| as_mark((row, value)));
        open.or_else(|| self.pieces.iter().find_map(|p| p.find(row)))
    }

    /// Clears `keep[i]` where row `rows[i]` (ascending) died at or before `csn`.
    pub fn drop_dead(&self, rows: &[RowId], csn: Csn, keep: &mut [bool]) {
        assert_eq!(rows.len(), keep.len(), "a flag per row");
        let (Some(&first), Some(&last)) = (rows.first(), rows.last()) else { return };
        if rows.len() <= FEW_ROWS {
            return self.drop_dead_few(rows, csn, keep);
        }
        let mut at = 0;
        for (&row, &(c, _)) in self.open.range(first..=last) {
            at += rows[at..].partition_point(|&r| r < row);
            if rows.get(at) == Some(&row) && c <= csn {
                keep[at] = false;
            }
        }
        for piece in &self.pieces {
            let from = piece.rows.partition_point(|&r| r < first);
            let to = from + piece.rows[from..].partition_point(|&r| r <= last);
            meet(&piece.rows[from..to], rows, |mark, row| {
                if piece.csns[from + mark] <= csn {
                    keep[row] = false;
                }
            });
        }
    }

    /// Clears `keep[i]` where row `rows[i]`, of few in any order, died at or before `csn`.
    pub fn drop_dead_few(&self, rows: &[RowId], csn: Csn, keep: &mut [bool]) {
        assert_eq!(rows.len(), keep.len(), "a flag per row");
        let seen = |row| self.newest <= csn || self.find(row).is_some_and(|m| m.csn <= csn);
        for (&row, keep) in rows.iter().zip(keep) {
            *keep &= !(self.marked.contains(row) && seen(row));
        }
    }

    /// Rows from `first` up to `end` that died at or before `csn`, ascending.
    pub fn dead(&self, first: RowId, end: RowId, csn: Csn) -> Vec<RowId> {
        if first >= end {
            return Vec::new();
        }
        let open = self.open.range(first..end).filter(|(_, v)| v.0 <= csn).map(|(&row, _)| row);
        let mut dead: Vec<RowId> = open.collect();
        for piece in &self.pieces {
            let from = piece.rows.partition_point(|&r| r < first);
            let to = piece.rows.partition_point(|&r| r < end);
            dead.extend((from..to).filter(|&i| piece.csns[i] <= csn).map(|i| piece.rows[i]));
        }
        dead.sort_unstable();
        dead
    }

    /// Every mark in row order.
    pub fn list(&self) -> MarkList {
        let mut all: Vec<Mark> = self.open.iter().map(|(&r, &v)| as_mark((r, v))).collect();
        all.extend(self.pieces.iter().flat_map(|p| p.iter()));
        all.sort_unstable_by_key(|m| m.row);
        debug_assert_eq!(all.len() as u64, self.marked.len(), "the bitmap has every row once");
        MarkList::of_sorted(all.into_iter())
    }

    /// Forgets marks later than `csn`.
    pub fn truncate(&mut self, csn: Csn) {
        let kept: Vec<Mark> = self.list().iter().filter(|m| m.csn <= csn).collect();
        debug_assert!(!self.joining, "private buffers have no background work");
        *self = Marks::default();
        kept.into_iter().for_each(|m| self.insert(m));
    }

    pub fn heap_bytes(&self) -> usize {
        // A tree node of 11 entries is about two thirds full.
        let lists =
            self.open.len() * 40 + self.pieces.iter().map(|p| p.heap_bytes()).sum::<usize>();
        let (Some(first), Some(last)) = (self.marked.min(), self.marked.max()) else {
            return lists;
        };
        let stretches = (((last - first) >> 16) + 1).min(self.len() as u64) as usize;
        lists + self.len() * BITMAP_BYTES.0 + stretches * BITMAP_BYTES.1
    }

    /// Pieces worth joining: `fan_in` of like size.
    pub fn take_join(&mut self, fan_in: usize) -> Option<Vec<Arc<MarkList>>> {
        if self.joining {
            return None;
        }
        let tier = |p: &Arc<MarkList>| (p.len() / OPEN_MARKS).max(1).ilog(fan_in);
        for t in 0..=usize::BITS {
            let like: Vec<_> = self.pieces.iter().filter(|p| tier(p) == t).cloned().collect();
            if like.len() >= fan_in {
                self.joining = true;
                return Some(like);
            }
            if self.pieces.iter().all(|p| tier(p) <= t) {
                break;
            }
        }
        None
    }

    /// Puts a joined piece in the place of its sources; `None` gives the join up.
    pub fn finish_join(&mut self, sources: &[Arc<MarkList>], joined: Option<MarkList>) {
        self.joining = false;
        if let Some(joined) = joined {
            self.pieces.retain(|p| !sources.iter().any(|s| Arc::ptr_eq(s, p)));
            self.pieces.push(Arc::new(joined));
        }
    }
}

/// Joins pieces into one.
pub fn join_lists(pieces: &[Arc<MarkList>]) -> MarkList {
    let mut all: Vec<Mark> = pieces.iter().flat_map(|p| p.iter()).collect();
    all.sort_by_key(|m| m.row);
    MarkList::of_sorted(all.into_iter())
}

fn as_mark((row, (csn, successor)): (RowId, (Csn, RowId))) -> Mark {
    Mark { row, csn, successor: (successor != NO_SUCCESSOR).then_some(successor) }
}

/// Calls `found` with the places of every row that both ascending lists hold. Each list is searched ahead
/// for the next row of the other, so that rows in clusters cost a step per cluster.
fn meet(a: &[RowId], b: &[RowId], mut found: impl FnMut(usize, usize)) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            Ordering::Less => i += ahead(&a[i..], b[j]),
            Ordering::Greater => j += ahead(&b[j..], a[i]),
            Ordering::Equal => {
                found(i, j);
                (i, j) = (i + 1, j + 1);
            }
        }
    }
}

/// Place of the first of ascending rows that is not below `row`, looked for from the front in growing steps.
pub(super) fn ahead(rows: &[RowId], row: RowId) -> usize {
    let (mut low, mut step) = (0, 1);
    while low + step < rows.len() && rows[low + step] < row {
        low += step;
        step *= 2;
    }
    let high = (low + step + 1).min(rows.len());
    low + rows[low..high].partition_point(|r| *r < row)
}
