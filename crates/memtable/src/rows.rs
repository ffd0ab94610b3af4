//! How do rows enter, and how is one found?
//!
//! [`Rows`] is what lies behind the memtable's lock: the open piece, the list of groups (replaced,
//! never changed, so that readers take it with one count), the commits, the hashes.
//!
//! Every method runs under the lock and does work bounded by the open piece. Unique indexes are told of
//! few rows at once: of the rows of a large commit they hear afterwards, in steps, from the writer that
//! brought them, or from the transaction that looks for keys first.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::{Csn, RowId};
use onlap_format::{Batch, Column};
use parking_lot::Mutex;

use super::bound::Bound;
use super::chunk::{Chunk, picked};
use super::commits::Commits;
use super::group::{Group, search};
use super::lists::posting_bytes;
use super::shape::{IndexShape, Shape};
use super::unique::UniqueKeys;
use super::work::{Choice, choose};
use super::{NOTED_ROWS, Shared, Size, Tuning};

/// Groups in row order.
pub(super) type Groups = Arc<Vec<Arc<Group>>>;

#[derive(Debug)]
pub(super) struct Rows {
    pub groups: Groups,
    /// The open piece; its row ids are dense.
    pub open: Batch,
    pub open_first: RowId,
    pub commits: Commits,
    pub frozen: bool,
    unique: Vec<UniqueKeys>,
    /// Whether unique indexes hear of rows at the first lookup of a key. Blind writers look up none, so most of
    /// these memtables are flushed without having told them.
    lazy: bool,
    /// Rows below are known to unique indexes.
    noted: RowId,
    /// A copy of the first rows of the open piece, columns of indexes only, that readers share.
    tail: Mutex<Option<Arc<Group>>>,
    /// Groups that work was taken for.
    busy: Vec<Arc<Group>>,
    sealed_rows: usize,
    sealed_heap: usize,
    /// String bytes of the last full piece, per column: what the next one will take.
    expected: Option<Vec<usize>>,
}

impl Rows {
    pub(super) fn new(shape: &Shape, first: RowId) -> Rows {
        let unique = shape.indexes.iter().enumerate().filter(|(_, i)| i.unique);
        Rows {
            groups: Groups::default(),
            open: Batch::new(shape.forms.iter().copied()),
            open_first: first,
            commits: Commits::default(),
            frozen: false,
            unique: unique.map(|(at, _)| UniqueKeys::new(at, first)).collect(),
            lazy: shape.schema.blind,
            noted: first,
            tail: Mutex::default(),
            busy: Vec::new(),
            sealed_rows: 0,
            sealed_heap: 0,
            expected: None,
        }
    }

    pub(super) fn end(&self) -> RowId {
        self.open_first + self.open.rows as RowId
    }

    pub(super) fn count(&self) -> usize {
        self.sealed_rows + self.open.rows
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let unique: usize = self.unique.iter().map(UniqueKeys::heap_bytes).sum();
        let tail = self.tail.lock().as_ref().map_or(0, |t| t.heap_bytes());
        self.sealed_heap + tail + self.open.heap_bytes() + unique + self.commits.heap_bytes()
    }

    /// The open piece as readers of an index see it: a copy of its first rows, sorted by the reader that
    /// first asks and shared until it is too short, and the number of rows in it. The rest is short
    /// enough to be looked through.
    pub(super) fn tail(&self, shape: &Shape, tail_rows: usize) -> (Option<Arc<Group>>, usize) {
        let mut tail = self.tail.lock();
        let covered = tail.as_ref().map_or(0, |t| t.rows());
        let rest = self.open.rows - covered;
        if rest > tail_rows.max(covered / 4) {
            let mut rows = Batch::new(shape.forms.iter().copied());
            for &column in &shape.indexed {
                rows.columns[column].extend_range(&self.open.columns[column], 0..self.open.rows);
            }
            rows.rows = self.open.rows;
            let chunk = Chunk::dense(rows, self.open_first);
            *tail = Some(Arc::new(Group::of_chunk(chunk, shape)));
        }
        (tail.clone(), tail.as_ref().map_or(0, |t| t.rows()))
    }

    /// Turns the open piece into a group.
    pub(super) fn seal(&mut self, shape: &Shape) {
        if self.open.rows == 0 {
            return;
        }
        *self.tail.get_mut() = None;
        let next = self.end();
        debug_assert!(self.open_first >= self.groups_end(), "the open piece comes last");
        let fresh = Batch::new(shape.forms.iter().copied());
        let rows = std::mem::replace(&mut self.open, fresh);
        self.expected = Some(rows.columns.iter().map(Column::string_bytes).collect());
        let first = std::mem::replace(&mut self.open_first, next);
        self.push(Group::of_chunk(Chunk::dense(rows, first), shape));
    }

    /// Adds a group behind all others. The open piece is empty and comes after it.
    pub(super) fn push(&mut self, group: Group) {
        debug_assert!(self.open.rows == 0 && group.first() >= self.groups_end());
        self.sealed_rows += group.rows();
        self.sealed_heap += group.heap_bytes();
        self.open_first = self.open_first.max(group.end());
        debug_assert!(group.rows() > 0, "a group has rows");
        let mut groups = Vec::with_capacity(self.groups.len() + 1);
        groups.extend(self.groups.iter().cloned());
        groups.push(Arc::new(group));
        self.groups = Arc::new(groups);
    }

    fn groups_end(&self) -> RowId {
        self.groups.last().map_or(0, |g| g.end())
    }

    /// Gives the open piece room for as many rows as the last one had.
    fn prepare(&mut self, piece_rows: usize) {
        let Some(expected) = &self.expected else { return };
        if self.open.rows > 0 {
            return;
        }
        for (column, bytes) in self.open.columns.iter_mut().zip(expected) {
            column.reserve(piece_rows, bytes + bytes / 8);
        }
    }

    /// Copies rows into the open piece, sealing it whenever it has `piece_rows` or the bytes of a chunk.
    pub(super) fn fill(
        &mut self,
        shape: &Shape,
        piece_rows: usize,
        chunk_bytes: usize,
        batch: &Batch,
    ) {
        let mut from = 0;
        while from < batch.rows {
            self.prepare(piece_rows);
            let count = piece_rows.saturating_sub(self.open.rows).min(batch.rows - from);
            self.open.extend_range(batch, from..from + count);
            from += count;
            if self.open.rows >= piece_rows || self.open.heap_bytes() >= chunk_bytes {
                self.seal(shape);
            }
        }
    }

    /// Tells the unique indexes of rows that lie in place already, unless that is put off: for these, or
    /// for rows before them.
    pub(super) fn note_unique(
        &mut self,
        shape: &Shape,
        batch: &Batch,
        range: Range<usize>,
        first: RowId,
    ) {
        if !self.lazy && self.noted == first {
            self.noted = first + range.len() as RowId;
            self.note(shape, Some(batch), range, first);
        }
    }

    /// Whether it is for those who look for keys to tell unique indexes of rows.
    pub(super) fn is_lazy(&self) -> bool {
        self.lazy || self.unique.is_empty()
    }

    /// Tells them of rows of a batch, or of the open piece.
    fn note(&mut self, shape: &Shape, batch: Option<&Batch>, range: Range<usize>, first: RowId) {
        let mut unique = std::mem::take(&mut self.unique);
        for keys in &mut unique {
            let (index, batch) = (&shape.indexes[keys.index], batch.unwrap_or(&self.open));
            keys.note(index, batch, range.clone(), first, &|row| self.locate(row));
        }
        self.unique = unique;
    }

    /// Whether unique indexes know all rows below `below`.
    pub(super) fn is_noted(&self, below: RowId) -> bool {
        self.noted >= below.min(self.end())
    }

    /// Tells unique indexes of the next rows that they do not know, at most `most`.
    pub(super) fn note_more(&mut self, shape: &Shape, most: usize) {
        let groups = Arc::clone(&self.groups);
        let mut left = most;
        let unknown = groups.partition_point(|g| g.end() <= self.noted);
        for chunk in groups[unknown..].iter().flat_map(|g| &g.chunks) {
            let mut from = chunk.lower_bound(self.noted);
            while from < chunk.len() {
                if left == 0 {
                    return;
                }
                let to = consecutive(chunk, from).min(from.saturating_add(left));
                let first = chunk.row_id(from);
                self.note(shape, Some(&chunk.rows), from..to, first);
                left -= to - from;
                self.noted = first + (to - from) as RowId;
                from = to;
            }
        }
        let first = self.noted.max(self.open_first);
        debug_assert!(first <= self.end(), "no more rows are noted than there are");
        let from = (first - self.open_first) as usize;
        self.note(shape, None, from..self.open.rows, first);
        self.noted = self.end();
    }

    pub(super) fn skip_to(&mut self, shape: &Shape, next: RowId) {
        if next > self.end() {
            if self.noted == self.end() {
                self.noted = next;
            }
            self.seal(shape);
            self.open_first = next;
        }
    }

    /// The columns that hold a row, and its place in them.
    pub(super) fn locate(&self, row: RowId) -> Option<(&Batch, usize)> {
        if row >= self.open_first {
            let i = (row - self.open_first) as usize;
            return (i < self.open.rows).then_some((&self.open, i));
        }
        let at = self.groups.partition_point(|g| g.end() <= row);
        let (chunk, i) = self.groups.get(at)?.find(row)?;
        Some((&chunk.rows, i))
    }

    pub(super) fn newest_with_key(
        &self,
        shape: &Shape,
        index: usize,
        key: &[u8],
        below: RowId,
    ) -> Option<RowId> {
        let keys = self.unique.iter().find(|u| u.index == index);
        let keys = keys.expect("keys are looked up in unique indexes");
        let shape = &shape.indexes[index];
        if let Some(row) = keys.newest_hashed(shape, key, below, &|row| self.locate(row)) {
            return Some(row);
        }
        if !keys.has_stretches() {
            return None;
        }
        let bound = Bound::new(shape, key);
        if let Some(row) = self.guess(shape, &bound, below) {
            return Some(row);
        }
        let stretch = keys.stretch(shape, &bound, &|row| self.locate(row))?;
        self.find_rising(shape, &bound, stretch.start..stretch.end.min(below))
    }

    /// The row with a key among rows that rise; that of the first one is not above it.
    fn find_rising(
        &self,
        index: &IndexShape,
        bound: &Bound,
        Range { start, end }: Range<RowId>,
    ) -> Option<RowId> {
        if start >= end {
            return None;
        }
        let above = |rows: &Batch, i: usize| bound.compare_row(index, rows, i).is_gt();
        let same = |rows: &Batch, i: usize| bound.compare_row(index, rows, i).is_eq();
        if self.open_first < end && (self.open_first <= start || !above(&self.open, 0)) {
            let from = start.saturating_sub(self.open_first) as usize;
            let at = search(from..(end - self.open_first) as usize, |i| !above(&self.open, i)) - 1;
            return same(&self.open, at).then_some(self.open_first + at as RowId);
        }
        let begins =
            |g: &Arc<Group>| g.first() <= start || g.first() < end && !above(&g.chunks[0].rows, 0);
        let group = self.groups.partition_point(begins);
        let group = &self.groups[group.checked_sub(1)?];
        let count = search(0..group.rows(), |at| {
            let (chunk, i) = picked(group.pick_row(at));
            let chunk = &group.chunks[chunk];
            let row = chunk.row_id(i);
            row < start || row < end && !above(&chunk.rows, i)
        });
        let (chunk, i) = picked(group.pick_row(count.checked_sub(1)?));
        let chunk = &group.chunks[chunk];
        same(&chunk.rows, i).then(|| chunk.row_id(i))
    }

    /// The row of a key that counts with the rows, as serial keys do: looked up at its distance from
    /// the first key. No key lies in two stretches, so that a hit is the only one.
    fn guess(&self, index: &IndexShape, bound: &Bound, end: RowId) -> Option<RowId> {
        let first = self.first_row()?;
        let (rows, at) = self.locate(first)?;
        let row = first.checked_add(bound.distance(index, rows, at)?)?;
        if row >= end {
            return None;
        }
        let (rows, at) = self.locate(row)?;
        bound.compare_row(index, rows, at).is_eq().then_some(row)
    }

    /// The first row there is.
    fn first_row(&self) -> Option<RowId> {
        match self.groups.first() {
            Some(group) => Some(group.first()),
            None => (self.open.rows > 0).then_some(self.open_first),
        }
    }

    /// Picks work by the policy and reserves its groups.
    pub(super) fn take_work(&mut self, tuning: &Tuning) -> Option<(Choice, Vec<Arc<Group>>)> {
        if self.groups.len() < 2 {
            return None;
        }
        let size = |g: &Arc<Group>| {
            // Large rows weigh as much as the rows that would take their bytes.
            let by_bytes = g.data_bytes / tuning.chunk_bytes.div_ceil(tuning.chunk_rows);
            Size {
                weight: g.rows().max(by_bytes),
                busy: self.busy.iter().any(|b| Arc::ptr_eq(b, g)),
                single: g.chunks.len() == 1,
            }
        };
        let sizes: Vec<Size> = self.groups.iter().map(size).collect();
        let choice = choose(&sizes, tuning)?;
        let (Choice::Join(range) | Choice::Merge(range)) = &choice;
        let groups = self.groups[range.clone()].to_vec();
        self.busy.extend(groups.iter().cloned());
        Some((choice, groups))
    }

    /// Ends work on groups; with an outcome, that takes their place.
    pub(super) fn replace(&mut self, groups: &[Arc<Group>], outcome: Option<Group>) {
        self.busy.retain(|b| !groups.iter().any(|g| Arc::ptr_eq(b, g)));
        let Some(outcome) = outcome else { return };
        let at = self.groups.iter().position(|g| Arc::ptr_eq(g, &groups[0]));
        let at = at.expect("reserved groups stay in the list until their work ends");
        debug_assert!(groups.iter().zip(&self.groups[at..]).all(|(a, b)| Arc::ptr_eq(a, b)));
        debug_assert_eq!(outcome.rows(), groups.iter().map(|g| g.rows()).sum::<usize>());
        let mut list = self.groups.to_vec();
        list.splice(at..at + groups.len(), [Arc::new(outcome)]);
        self.set_groups(list);
    }

    fn set_groups(&mut self, list: Vec<Arc<Group>>) {
        self.sealed_heap = list.iter().map(|g| g.heap_bytes()).sum();
        self.sealed_rows = list.iter().map(|g| g.rows()).sum();
        debug_assert!(
            list.windows(2).all(|w| w[0].end() <= w[1].first()),
            "groups in row-id order"
        );
        self.groups = Arc::new(list);
    }

    /// Forgets rows from `end` on.
    pub(super) fn truncate(&mut self, shape: &Shape, first: RowId, end: RowId) {
        assert!(self.busy.is_empty(), "private buffers have no background work");
        if end >= self.end() {
            return;
        }
        let old = std::mem::replace(self, Rows::new(shape, first));
        self.commits = old.commits;
        self.commits.truncate(end);
        let whole = old.groups.iter().filter(|g| g.end() <= end);
        self.set_groups(whole.cloned().collect());
        let cut = old.groups.iter().find(|g| g.first() < end && g.end() > end);
        let tail = cut.iter().flat_map(|g| &g.chunks).filter(|c| c.first() < end);
        let chunks: Vec<Chunk> = tail.map(|c| c.cut(end)).collect();
        for chunk in chunks {
            self.push(Group::of_chunk(chunk, shape));
        }
        if old.open_first < end {
            self.open = old.open;
            self.open.truncate((end - old.open_first) as usize);
            self.open_first = old.open_first;
        } else {
            self.open_first = end;
        }
        assert!(self.end() <= end, "rows from there on are gone");
        self.note_all(shape);
    }

    /// Builds the state of unique indexes anew.
    fn note_all(&mut self, shape: &Shape) {
        let groups = Arc::clone(&self.groups);
        for chunk in groups.iter().flat_map(|g| &g.chunks) {
            self.note_chunk(shape, chunk);
        }
        if self.open.rows > 0 {
            let open = self.open.clone();
            self.note_unique(shape, &open, 0..open.rows, self.open_first);
        }
    }

    /// Notes the rows of a chunk in stretches of consecutive ids.
    pub(super) fn note_chunk(&mut self, shape: &Shape, chunk: &Chunk) {
        let mut from = 0;
        while from < chunk.len() && !self.unique.is_empty() {
            let to = consecutive(chunk, from);
            self.note_unique(shape, &chunk.rows, from..to, chunk.row_id(from));
            from = to;
        }
    }
}

/// Where the rows of a chunk that follow each other from a place on end.
fn consecutive(chunk: &Chunk, from: usize) -> usize {
    let first = chunk.row_id(from);
    let same = |i: &usize| chunk.row_id(*i) - first == (*i - from) as RowId;
    (from..chunk.len()).take_while(same).last().map_or(from, |i| i + 1)
}

impl Shared {
    /// Appends a batch, through an open piece of up to `piece_rows` rows. `commits`: number of rows up to and with a
    /// commit, and its CSN.
    pub(super) fn append(
        &self,
        batch: &Batch,
        commits: &[(usize, Csn)],
        piece_rows: usize,
    ) -> RowId {
        // Large batches become chunks before the lock is taken: only the list changes under it.
        let large = batch.rows >= piece_rows || batch.heap_bytes() >= self.tuning.chunk_bytes;
        let mut chunks = if large { self.cut(batch) } else { Vec::new() };
        let mut rows = self.rows.write();
        assert!(!rows.frozen, "a frozen memtable takes no rows");
        let first = rows.end();
        debug_assert!(commits.last().is_none_or(|c| c.0 == batch.rows), "a commit for each row");
        if large {
            rows.seal(&self.shape);
            let mut at = first;
            for (part, postings) in chunks.drain(..) {
                let next = at + part.rows as RowId;
                rows.push(Group::of_counted(Chunk::dense(part, at), &self.shape, postings));
                at = next;
            }
        } else {
            rows.fill(&self.shape, piece_rows, self.tuning.chunk_bytes, batch);
        }
        if batch.rows > 0 {
            for &(count, csn) in commits {
                rows.commits.push(first + count as RowId, csn);
            }
        }
        if batch.rows <= NOTED_ROWS {
            rows.note_unique(&self.shape, batch, 0..batch.rows, first);
        }
        assert_eq!(rows.end(), first + batch.rows as RowId, "row ids have no gap (I1)");
        self.count_rows(&rows);
        first
    }

    /// Copies a batch into parts that are chunks by rows and bytes, each with the bytes that its postings will take.
    fn cut(&self, batch: &Batch) -> Vec<(Batch, usize)> {
        let row_bytes = batch.heap_bytes().div_ceil(batch.rows.max(1)).max(1);
        let step = (self.tuning.chunk_bytes / row_bytes).clamp(1, self.tuning.chunk_rows);
        let parts = (0..batch.rows).step_by(step).map(|from| {
            let mut part = Batch::new(self.shape.forms.iter().copied());
            part.extend_range(batch, from..batch.rows.min(from + step));
            let postings = posting_bytes(&part, &self.shape.lists);
            (part, postings)
        });
        parts.collect()
    }
}
