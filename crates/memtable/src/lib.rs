//! Where do rows lie before they are flushed?
//!
//! A [`Memtable`] holds the newest rows of one table, and marks and column changes of any rows of it. Rows are appended
//! to an open piece of at most [`Tuning::piece_rows`] plain columns; a full piece is sealed into a
//! chunk that never changes again. What happens to a row then:
//!
//! 1. `append` copies columns under the write lock; no index is touched, except for what unique
//!    indexes note: where keys rise, and a hash of keys that come in no order.
//! 2. A sealed piece is a source of its own ([`group`]), sorted for an index by the task that first reads
//!    it through that index.
//! 3. Background work ([`work`]) joins pieces into chunks of 16K rows and sorts those for all
//!    indexes, then merges the permutations eightfold, so that a reader meets few sources. Where it
//!    falls behind, writers take a share ([`Memtable::help`]).
//! 4. The flush ([`flush`]) takes rows in row order, and entries per index from one last merge, in
//!    bounded steps.
//!
//! A private buffer of a transaction is a memtable too: row ids from `PROVISIONAL_BASE` on, CSNs of
//! marks counted by the statement; at commit its chunks are adopted as they are, under new ids.
//!
//! What lies here is not what is visible: readers pass the end of the row ids they may see (`upto`)
//! and ask the marks ([`Memtable::drop_dead`]). The memtable knows neither snapshots nor files, nor
//! the log.
//!
//! Thread safety: one writer at a time (append, mark, adopt, truncate, freeze), any number of
//! readers and of background works next to it. Readers hold the lock to copy or compare the rows of
//! the open piece at most; everything else they read is immutable. Lock order: rows before marks,
//! never both; nothing else with changes. No wait happens inside (I9).
//!
//! Invariants: row ids ascend (I2) and name the same row for ever (I1); for every index the entries
//! that cursors give are exactly the keys of the rows (I4); [`Memtable::heap_bytes`] follows what is
//! allocated (I7).

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use onlap_base::{Csn, IndexId, RowId};
use onlap_format::{Batch, TableSchema};
use onlap_storage::entry::{Direction, EntryCursor, EntryWants, KeyBounds};
use parking_lot::{Mutex, RwLock};

mod bound;
mod changes;
mod chunk;
mod commits;
mod cursor;
mod flush;
mod group;
mod heap;
mod list_cursor;
mod list_stream;
mod lists;
mod marks;
mod merge;
mod order;
mod prefix;
mod rank;
mod read;
mod rows;
mod shape;
mod transfer;
mod unique;
mod work;

#[cfg(test)]
mod tests;

pub use cursor::MemtableCursor;
pub use flush::{Batches, DeadRows, EntryStream};
pub use list_cursor::ListCursor;
pub use list_stream::{ListRows, ListStream};
pub use marks::{Mark, MarkList};
pub use read::Piece;
pub use transfer::Renumbering;
pub use work::Work;

pub use changes::Changes;
use group::Group;
use marks::Marks;
use prefix::PlanBook;
pub use rank::{compare_rows, is_float, key_bytes, key_int, rank_numeric};
use rows::Rows;
pub use shape::{Field, IndexShape, Shape};
use work::{Choice, Job, Size};

/// Sizes that tests shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Rows of the open piece: what readers scan without an order, and copy under the lock.
    pub piece_rows: usize,
    /// Rows at the end of the open piece that every reader looks through; more are copied and sorted
    /// once for all readers.
    pub tail_rows: usize,
    /// Rows of a joined chunk: its keys and their sort fit the second-level cache.
    pub chunk_rows: usize,
    /// Bytes of a chunk where rows are large; also of the open piece.
    pub chunk_bytes: usize,
    /// Groups merged into one.
    pub fan_in: usize,
    /// Rows above which groups are not merged any more.
    pub span_rows: usize,
    /// Most entries or rows that the flush side hands out at once.
    pub flush_rows: usize,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            piece_rows: 1 << 10,
            tail_rows: 1 << 6,
            chunk_rows: 1 << 14,
            chunk_bytes: 4 << 20,
            fan_in: 8,
            span_rows: 1 << 20,
            flush_rows: 1 << 16,
        }
    }
}

impl Tuning {
    /// Small pieces from which on writers help: two chunks, so that background work, where it has
    /// time, comes first.
    fn help_pieces(&self) -> usize {
        2 * self.chunk_rows.div_ceil(self.piece_rows) + 1
    }

    fn check(&self) {
        assert!(self.piece_rows > 0 && self.piece_rows <= self.chunk_rows);
        assert!(
            self.chunk_rows * 2 <= chunk::CHUNK_ROWS_MAX,
            "joined chunks are up to twice as long"
        );
        assert!(self.tail_rows > 0);
        assert!(self.fan_in > 1 && self.chunk_bytes > 0 && self.flush_rows > 0);
    }
}

/// Rows that unique indexes are told of at once, at about half a microsecond each: commits wait
/// meanwhile.
const NOTED_ROWS: usize = 1 << 10;
/// Dead rows that one reader passes for all who come after it.
const PREFIX_STEPS: usize = 4096;

/// The unflushed rows and marks of one table.
#[derive(Debug)]
pub struct Memtable {
    shared: Arc<Shared>,
}

/// What background work holds on to.
#[derive(Debug)]
struct Shared {
    shape: Shape,
    tuning: Tuning,
    plans: Box<[PlanBook]>,
    first: RowId,
    rows: RwLock<Rows>,
    marks: RwLock<Marks>,
    /// Whether there is any mark: most readers of most tables need not take the lock.
    marked: AtomicBool,
    changes: RwLock<Changes>,
    /// Whether there is any column change.
    has_changes: AtomicBool,
    changes_heap: AtomicUsize,
    /// Rows below are dead at this commit, as far as a reader looked.
    dead_prefix: Mutex<(RowId, Csn)>,
    /// Whether the list of groups changed since nothing was found worth doing.
    changed: AtomicBool,
    groups_seen: AtomicUsize,
    /// Groups shorter than a chunk.
    small_groups: AtomicUsize,
    rows_heap: AtomicUsize,
    marks_heap: AtomicUsize,
}

impl Memtable {
    /// Most rows of [`Memtable::drop_dead_few`].
    pub const FEW_ROWS: usize = marks::FEW_ROWS;

    /// An empty memtable whose first row gets the id `first_row`.
    pub fn new(schema: Arc<TableSchema>, first_row: RowId, tuning: Tuning) -> Memtable {
        tuning.check();
        let shape = Shape::new(schema);
        let plans = shape.indexes.iter().map(|_| PlanBook::default()).collect();
        let rows = Rows::new(&shape, first_row);
        let shared = Shared {
            shape,
            tuning,
            plans,
            first: first_row,
            rows: RwLock::new(rows),
            marks: RwLock::default(),
            marked: AtomicBool::new(false),
            changes: RwLock::default(),
            has_changes: AtomicBool::new(false),
            changes_heap: AtomicUsize::new(0),
            dead_prefix: Mutex::new((first_row, 0)),
            changed: AtomicBool::new(false),
            groups_seen: AtomicUsize::new(0),
            small_groups: AtomicUsize::new(0),
            rows_heap: AtomicUsize::new(0),
            marks_heap: AtomicUsize::new(0),
        };
        Memtable { shared: Arc::new(shared) }
    }

    /// The schema it was made with.
    pub fn schema(&self) -> &Arc<TableSchema> {
        &self.shared.shape.schema
    }

    /// Processor time that sorting for an index took so far, in nanoseconds; 0 of an index that it does not know.
    pub fn sorted_ns(&self, index: IndexId) -> u64 {
        let of = self.shared.shape.indexes.iter().find(|i| i.id == index);
        of.map_or(0, |of| of.sorted_ns.load(Ordering::Relaxed))
    }

    /// Lowest row id it may hold.
    pub fn first_row(&self) -> RowId {
        self.shared.first
    }

    /// One above the highest row id it holds: the id of the next row.
    pub fn end_row(&self) -> RowId {
        self.shared.rows.read().end()
    }

    /// Number of rows it holds, dead or not.
    pub fn rows(&self) -> usize {
        self.shared.rows.read().count()
    }

    /// Number of marks it holds.
    pub fn marks(&self) -> usize {
        self.shared.marks.read().len()
    }

    /// Whether there are marks; takes no lock.
    pub fn has_marks(&self) -> bool {
        self.shared.marked.load(Ordering::Acquire)
    }

    /// Whether it holds neither rows nor marks nor column changes.
    pub fn is_empty(&self) -> bool {
        self.rows() == 0 && self.marks() == 0 && !self.has_changes()
    }

    /// Heap bytes in use: columns, permutations, hashes, marks. Cheap.
    pub fn heap_bytes(&self) -> usize {
        self.shared.rows_heap.load(Ordering::Relaxed)
            + self.shared.marks_heap.load(Ordering::Relaxed)
            + self.shared.changes_heap.load(Ordering::Relaxed)
    }

    /// Appends the rows of a commit, columns in schema order, and returns the id of the first.
    /// Readers that pass a smaller `upto` never see them.
    ///
    /// # Panics
    /// When frozen.
    pub fn append(&self, batch: &Batch, csn: Csn) -> RowId {
        debug_assert_eq!(batch.columns.len(), self.shared.shape.forms.len());
        self.shared.append(batch, &[(batch.rows, csn)], self.shared.tuning.piece_rows)
    }

    /// Appends rows of commits of the log, before the first reader: pieces may be as long as chunks, so that none of
    /// them has to be joined. [`Memtable::end_load`] before the first reader. `commits`: number of rows up to
    /// and with a commit, and its CSN.
    pub fn load(&self, batch: &Batch, commits: &[(usize, Csn)]) -> RowId {
        self.shared.append(batch, commits, self.shared.tuning.chunk_rows)
    }

    /// Makes the open piece as short again as readers expect it, and tells unique indexes of all rows.
    pub fn end_load(&self) {
        let mut rows = self.shared.rows.write();
        if !rows.is_lazy() && !rows.is_noted(RowId::MAX) {
            rows.note_more(&self.shared.shape, usize::MAX);
        }
        if rows.open.rows >= self.shared.tuning.piece_rows {
            rows.seal(&self.shared.shape);
            self.shared.count_rows(&rows);
        }
    }

    /// Leaves row ids out: the next row gets `next_row`, which is not below [`Memtable::end_row`].
    pub fn skip_to(&self, next_row: RowId) {
        let mut rows = self.shared.rows.write();
        assert!(next_row >= rows.end(), "row ids ascend (I2)");
        rows.skip_to(&self.shared.shape, next_row);
    }

    /// Marks a row, of this memtable or older, as deleted by commit `csn`.
    pub fn mark(&self, row: RowId, csn: Csn, successor: Option<RowId>) {
        self.mark_all([Mark { row, csn, successor }]);
    }

    /// Marks many rows.
    pub fn mark_all(&self, all: impl IntoIterator<Item = Mark>) {
        let mut all = all.into_iter().peekable();
        if all.peek().is_none() {
            return;
        }
        let mut marks = self.shared.marks.write();
        all.for_each(|mark| marks.insert(mark));
        self.shared.count_marks(&marks);
    }

    /// Marks many rows, in row order and each of them once.
    pub fn mark_sorted(&self, all: Vec<Mark>) {
        if !all.is_empty() {
            let mut marks = self.shared.marks.write();
            marks.insert_sorted(all);
            self.shared.count_marks(&marks);
        }
    }

    /// The commit that deleted a row, and the row that replaced it.
    pub fn mark_of(&self, row: RowId) -> Option<(Csn, Option<RowId>)> {
        if !self.shared.marked.load(Ordering::Acquire) {
            return None;
        }
        self.shared.marks.read().find(row).map(|m| (m.csn, m.successor))
    }

    /// Clears `keep[i]` where row `rows[i]` (ascending) was deleted at or before `csn`.
    pub fn drop_dead(&self, rows: &[RowId], csn: Csn, keep: &mut [bool]) {
        debug_assert_eq!(rows.len(), keep.len());
        debug_assert!(rows.is_sorted());
        if self.shared.marked.load(Ordering::Acquire) {
            self.shared.marks.read().drop_dead(rows, csn, keep);
        }
    }

    /// Clears `keep[i]` where row `rows[i]`, of at most [`Memtable::FEW_ROWS`] in any order, was deleted at or before
    /// `csn`.
    pub fn drop_dead_few(&self, rows: &[RowId], csn: Csn, keep: &mut [bool]) {
        assert!(rows.len() <= Self::FEW_ROWS, "more rows are looked up in order");
        if self.shared.marked.load(Ordering::Acquire) {
            self.shared.marks.read().drop_dead_few(rows, csn, keep);
        }
    }

    /// Rows of a range of ids that were deleted at or before `csn`, ascending.
    pub fn dead_rows(&self, rows: Range<RowId>, csn: Csn) -> Vec<RowId> {
        if !self.shared.marked.load(Ordering::Acquire) {
            return Vec::new();
        }
        self.shared.marks.read().dead(rows.start, rows.end, csn)
    }

    /// Rows below this id are all dead at `csn`. In a queue, where the oldest rows go first, a reader
    /// begins here and meets no dead row; each is passed once, not by every reader.
    pub fn dead_prefix(&self, csn: Csn) -> RowId {
        let shared = &self.shared;
        if !shared.marked.load(Ordering::Acquire) {
            return shared.first;
        }
        let mut prefix = shared.dead_prefix.lock();
        let (mut row, mut newest) = *prefix;
        if csn < newest {
            return shared.first;
        }
        let marks = shared.marks.read();
        for _ in 0..PREFIX_STEPS {
            let Some(mark) = marks.find(row).filter(|m| m.csn <= csn) else { break };
            row += 1;
            newest = newest.max(mark.csn);
        }
        debug_assert!(row >= prefix.0 && newest >= prefix.1, "the dead prefix only grows");
        *prefix = (row, newest);
        row
    }

    /// Every mark, in row order.
    pub fn mark_list(&self) -> MarkList {
        self.shared.marks.read().list()
    }

    /// The commit that brought a row.
    pub fn csn_of(&self, row: RowId) -> Option<Csn> {
        self.shared.rows.read().commits.csn_of(row)
    }

    /// End of the row ids that commits up to `csn` brought.
    pub fn end_at(&self, csn: Csn) -> RowId {
        self.shared.rows.read().commits.end_at(csn).unwrap_or(self.shared.first)
    }

    /// (end row id, CSN) of every commit that appended, in order.
    pub fn commit_map(&self) -> Vec<(RowId, Csn)> {
        self.shared.rows.read().commits.iter().collect()
    }

    /// Seals the open piece; nothing is appended afterwards. Marks may still arrive.
    pub fn freeze(&self) {
        let mut rows = self.shared.rows.write();
        rows.seal(&self.shared.shape);
        rows.frozen = true;
        self.shared.count_rows(&rows);
    }

    /// Whether [`Memtable::freeze`] was called.
    pub fn is_frozen(&self) -> bool {
        self.shared.rows.read().frozen
    }

    /// The newest row below `below` that carries the whole key `key` (key bytes) of a unique index,
    /// whether deleted or not. Called again with the row found, it gives the one before.
    ///
    /// # Panics
    /// When the index is not unique.
    pub fn newest_with_key(&self, index: IndexId, key: &[u8], below: RowId) -> Option<RowId> {
        let index = self.shared.shape.index(index);
        loop {
            let rows = self.shared.rows.read();
            if rows.is_noted(below) {
                return rows.newest_with_key(&self.shared.shape, index, key, below);
            }
            drop(rows);
            let mut rows = self.shared.rows.write();
            rows.note_more(&self.shared.shape, NOTED_ROWS);
            self.shared.count_rows(&rows);
        }
    }

    /// Entries of an index within bounds, of rows in the range, as they are now. Some of rows before
    /// the range may be among them. Of an index of lists a row comes once for each of its keys.
    pub fn cursor(
        &self,
        index: IndexId,
        bounds: &KeyBounds,
        direction: Direction,
        wants: &EntryWants,
        rows: Range<RowId>,
    ) -> Box<dyn EntryCursor> {
        let index = self.shared.shape.index(index);
        match self.shared.shape.indexes[index].multi_entry {
            true => Box::new(ListCursor::open(&self.shared, index, bounds, direction, wants, rows)),
            false => {
                Box::new(MemtableCursor::open(&self.shared, index, bounds, direction, wants, rows))
            }
        }
    }

    /// A piece of work that makes reads and the flush cheaper, if any is worth doing. The caller
    /// schedules it; several may run at once.
    pub fn pending_work(&self) -> Option<Work> {
        if self.shared.changed.swap(false, Ordering::AcqRel)
            && let Some(choice) = self.shared.rows.write().take_work(&self.shared.tuning)
        {
            // There may be more.
            self.shared.changed.store(true, Ordering::Release);
            let job = match choice {
                (Choice::Join(_), groups) => Job::Join(groups),
                (Choice::Merge(_), groups) => Job::Merge(groups),
            };
            return Some(Work::new(&self.shared, job));
        }
        if !self.shared.marked.load(Ordering::Acquire) {
            return None;
        }
        let pieces = self.shared.marks.write().take_join(self.shared.tuning.fan_in)?;
        Some(Work::new(&self.shared, Job::Marks(pieces)))
    }

    /// Whether unique indexes do not know all rows yet, so that a look for a key would have to wait.
    pub fn has_unnoted(&self) -> bool {
        let rows = self.shared.rows.read();
        !rows.is_noted(rows.end())
    }

    /// Tells unique indexes of the rows of large commits.
    fn note_rest(&self) {
        loop {
            {
                let rows = self.shared.rows.read();
                if rows.is_lazy() || rows.is_noted(rows.end()) {
                    return;
                }
            }
            let mut rows = self.shared.rows.write();
            rows.note_more(&self.shared.shape, NOTED_ROWS);
            self.shared.count_rows(&rows);
        }
    }

    /// Does what was left undone of the writer's own large commit, and a piece of work if there is much
    /// of that: called by those who append, so that rows do not come in faster than they are sorted. A
    /// flush of many small pieces takes several times as long as one of chunks.
    pub fn help(&self) {
        self.note_rest();
        if self.shared.small_groups.load(Ordering::Relaxed) >= self.shared.tuning.help_pieces()
            && let Some(work) = self.pending_work()
        {
            work.run();
        }
    }

    /// Sources that a reader of an index meets, the open piece not counted.
    pub fn sources(&self) -> usize {
        self.shared.rows.read().groups.len()
    }
}

impl Shared {
    fn count_rows(&self, rows: &Rows) {
        if rows.open.rows == 0
            || rows.groups.len() != self.groups_seen.swap(rows.groups.len(), Ordering::Relaxed)
        {
            self.changed.store(true, Ordering::Release);
            let chunk_bytes = self.tuning.chunk_bytes;
            let small = |g: &&Arc<group::Group>| {
                g.rows() < self.tuning.chunk_rows && g.data_bytes < chunk_bytes
            };
            let small = rows.groups.iter().filter(small).count();
            self.small_groups.store(small, Ordering::Relaxed);
        }
        self.rows_heap.store(rows.heap_bytes(), Ordering::Relaxed);
    }

    fn count_marks(&self, marks: &Marks) {
        self.marks_heap.store(marks.heap_bytes(), Ordering::Relaxed);
        self.marked.store(marks.len() > 0, Ordering::Release);
    }

    /// Puts the outcome of work on neighbouring groups in their place; `None` gives the work up.
    fn replace(&self, groups: &[Arc<Group>], outcome: Option<Group>) {
        let mut rows = self.rows.write();
        rows.replace(groups, outcome);
        self.count_rows(&rows);
        self.changed.store(true, Ordering::Release);
    }

    fn replace_marks(&self, pieces: &[Arc<MarkList>], joined: Option<MarkList>) {
        let mut marks = self.marks.write();
        marks.finish_join(pieces, joined);
        self.count_marks(&marks);
    }
}
