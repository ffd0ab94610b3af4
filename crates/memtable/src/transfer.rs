//! How does a private buffer become part of the table, and how is it rolled back?
//!
//! At commit the rows of a buffer get their final ids: base + ordinal, rows that died inside the
//! transaction left out ([`Memtable::without_dead`], [`Renumbering`]). The order of rows stays, so
//! that sorted permutations are adopted as they are; small buffers are copied into the open piece
//! instead. A savepoint is (row id, mark ordinal); rolling back truncates to it.
//!
//! Thread safety: the buffer belongs to its transaction; adopting is an append of the table's writer.

use onlap_base::{Csn, RowId};
use parking_lot::RwLockWriteGuard;

use super::group::Group;
use super::order::Order;
use super::{Memtable, Shared};

/// Final ids of a private buffer's rows.
#[derive(Clone, Debug)]
pub struct Renumbering {
    first: RowId,
    /// Rows that get no id, ascending.
    dead: Vec<RowId>,
}

impl Renumbering {
    /// The id of a provisional row once its transaction's rows begin at `base`; `None` where the row
    /// died inside the transaction.
    pub fn map(&self, row: RowId, base: RowId) -> Option<RowId> {
        match self.dead.binary_search(&row) {
            Ok(_) => None,
            Err(before) => Some(base + (row - self.first) - before as RowId),
        }
    }

    /// Rows that died inside the transaction, ascending.
    pub fn dead(&self) -> &[RowId] {
        &self.dead
    }
}

impl Memtable {
    /// The buffer without the rows that it marks itself, with consecutive ids from its first row on
    /// and no marks; and how its ids changed. Columns of chunks without dead rows are shared.
    pub fn without_dead(&self) -> (Memtable, Renumbering) {
        let first = self.first_row();
        let dead = self.dead_rows(first..RowId::MAX, Csn::MAX);
        debug_assert!(dead.is_sorted_by(|a, b| a < b), "each dead row once");
        let numbers = Renumbering { first, dead };
        let out = Memtable::new(self.schema().clone(), first, self.shared.tuning);
        let shape = &self.shared.shape;
        let commits = self.commit_map();
        let (groups, open) = {
            let rows = self.shared.rows.read();
            (rows.groups.clone(), (rows.open.clone(), rows.open_first))
        };
        let mut to = out.shared.rows.write();
        let is_dead = |row: &RowId| numbers.dead.binary_search(row).is_ok();
        for group in groups.iter() {
            let range = group.first()..group.end();
            let at = numbers.dead.partition_point(|&d| d < range.start);
            if numbers.dead.get(at).is_none_or(|&d| d >= range.end) {
                to.push(
                    group.renumbered(|row| {
                        numbers.map(row, first).expect("the group has no dead row")
                    }),
                );
                continue;
            }
            for chunk in &group.chunks {
                let live: Vec<usize> =
                    (0..chunk.len()).filter(|&i| !is_dead(&chunk.row_id(i))).collect();
                if !live.is_empty() {
                    let renumber = |row| numbers.map(row, first).expect("dead rows were left out");
                    let kept = Group::of_chunk(chunk.selected(live), shape);
                    to.push(kept.renumbered(renumber));
                }
            }
        }
        let (batch, open_first) = open;
        for i in 0..batch.rows {
            if !is_dead(&(open_first + i as RowId)) {
                to.open.extend_range(&batch, i..i + 1);
            }
        }
        for (end, csn) in commits {
            let gone = numbers.dead.partition_point(|&d| d < end) as RowId;
            to.commits.push(end - gone, csn);
        }
        let left = self.rows() - numbers.dead.len();
        assert_eq!(to.count(), left, "what is not dead is kept");
        out.shared.count_rows(&to);
        drop(to);
        (out, numbers)
    }

    /// Appends all rows of a private buffer as one commit, and returns the id of the first. Chunks
    /// are shared with the buffer, marks are not taken over.
    pub fn adopt(&self, buffer: &Memtable, csn: Csn) -> RowId {
        self.shared.adopt(&buffer.shared, csn)
    }

    /// Rolls a private buffer back: rows from `end_row` on and marks later than `csn` are gone.
    ///
    /// # Panics
    /// When background work is under way.
    pub fn truncate(&self, end_row: RowId, csn: Csn) {
        let shared = &self.shared;
        let mut rows = shared.rows.write();
        rows.truncate(&shared.shape, shared.first, end_row);
        shared.count_rows(&rows);
        drop(rows);
        let mut marks = shared.marks.write();
        marks.truncate(csn);
        shared.count_marks(&marks);
    }
}

impl Shared {
    fn adopt(&self, buffer: &Shared, csn: Csn) -> RowId {
        let (groups, open) = {
            let rows = buffer.rows.read();
            (rows.groups.clone(), rows.open.clone())
        };
        for group in groups.iter() {
            self.absorb_plans(group);
        }
        let mut rows = self.rows.write();
        assert!(!rows.frozen, "a frozen memtable takes no rows");
        let first = rows.end();
        for group in groups.iter() {
            if group.rows() < self.tuning.piece_rows {
                for chunk in &group.chunks {
                    let at = rows.end();
                    rows.fill(
                        &self.shape,
                        self.tuning.piece_rows,
                        self.tuning.chunk_bytes,
                        &chunk.rows,
                    );
                    rows.note_unique(&self.shape, &chunk.rows, 0..chunk.len(), at);
                }
                continue;
            }
            rows.seal(&self.shape);
            let base = rows.end();
            let mut next = base;
            let renumbered = group.renumbered(|_| {
                next += 1;
                next - 1
            });
            let chunks = renumbered.chunks.clone();
            rows.push(renumbered);
            for chunk in &chunks {
                RwLockWriteGuard::bump(&mut rows);
                rows.note_chunk(&self.shape, chunk);
            }
        }
        let at = rows.end();
        rows.fill(&self.shape, self.tuning.piece_rows, self.tuning.chunk_bytes, &open);
        rows.note_unique(&self.shape, &open, 0..open.rows, at);
        let end = rows.end();
        if end > first {
            rows.commits.push(end, csn);
        }
        let adopted: usize = groups.iter().map(|g| g.rows()).sum::<usize>() + open.rows;
        assert_eq!(end, first + adopted as RowId, "each row of the buffer gets the next id (I1)");
        self.count_rows(&rows);
        first
    }

    /// Widens this memtable's plans to what a foreign group's prefixes cover, so that cursors find one
    /// plan for all.
    fn absorb_plans(&self, group: &Group) {
        for (index, shape) in self.shape.indexes.iter().enumerate() {
            if let Some(Order::Sorted { plan, .. }) = group.known_order(index).map(|o| &**o) {
                self.plans[index].absorb(&shape.fields, plan);
            }
        }
    }
}
