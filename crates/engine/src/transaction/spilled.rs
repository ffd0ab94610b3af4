//! What becomes of rows that a transaction has no memory for?
//!
//! When a transaction has used up its share of the memory of transactions, and when all of them
//! together have, the rows of its largest buffer are spilled ([`crate::spill`]); ordinals go on behind
//! them. Marks stay in memory. A savepoint may lie before rows that were spilled since: going back to
//! it removes the files behind it, and erases the rows behind it in the file that it cuts.
//!
//! What is spilled is committed by adoption ([`crate::adopt`]), and with it the small buffers of the
//! same transaction, as a whole.

use std::sync::Arc;

use onlap_base::memory::Part;
use onlap_base::{Csn, Error, IndexId, PROVISIONAL_BASE, Result, RowId, limits};
use onlap_format::{Batch, ColumnSchema, Row, convert};

use super::buffer::Buffer;
use super::{ROOM_OF_EACH, Transaction};
use crate::adopt;
use crate::database::Shared;
use crate::spill::Spill;
use crate::unique;

/// The memory that a transaction may use before it spills.
fn share(shared: &Shared) -> u64 {
    // Others are there, and what is logged in one piece has a limit of its own.
    let limit = shared.storage.memory.limit(Part::Transactions);
    let derived = (limit / 4 * 3).min(limits::LOG_RECORD_BYTES as u64 / 2);
    shared.options.tuning.spill_bytes.unwrap_or(derived)
}

impl Buffer {
    /// Moves the rows in memory to files.
    pub(super) fn spill(&mut self, shared: &Arc<Shared>) -> Result<()> {
        unique::check_key_lengths(&self.schema, &self.rows)?;
        let new = || Spill::new(Arc::clone(shared), Arc::clone(&self.schema));
        let spill = self.spill.get_or_insert_with(new);
        spill.wait()?;
        let empty = Batch::new(self.schema.columns.iter().map(|c| c.ty.physical()));
        let rows = std::mem::replace(&mut self.rows, empty);
        self.first += rows.rows;
        self.bytes = 0;
        self.keys.clear();
        // Readers may still be on their way through the copy, which stays theirs.
        self.own = None;
        let pushed = spill.push(rows, Vec::new());
        debug_assert_eq!(self.first as RowId, spill.end());
        pushed
    }

    /// Undoes the spilled rows from ordinal `from` on. Nothing is in memory.
    pub(super) fn erase(&mut self, from: usize) {
        let spill = self.spill.as_mut().expect("rows before the first in memory are spilled");
        spill.cut(from as RowId);
        self.first = spill.end() as usize;
        self.erased.remove_range(self.first as RowId..);
        self.erased.insert_range(from as RowId..self.first as RowId);
    }

    /// The live spilled row with a whole key (key bytes) of a unique index.
    pub(super) fn spilled_row(&mut self, index: IndexId, key: &[u8]) -> Result<Option<usize>> {
        let Some(spill) = &mut self.spill else { return Ok(None) };
        let files = spill.version()?;
        let mut below = RowId::MAX;
        while let Some(row) = files.newest_with_key(index, key, below)? {
            let ordinal = (row - PROVISIONAL_BASE) as usize;
            if self.is_alive(ordinal) {
                return Ok(Some(ordinal));
            }
            below = row;
        }
        Ok(None)
    }

    /// A spilled row, whole.
    pub(super) fn read_spilled(&mut self, ordinal: usize) -> Result<Row> {
        let spill = self.spill.as_mut().expect("rows before the first in memory are spilled");
        let files = spill.version()?;
        let columns = &self.schema.columns;
        let ids: Vec<_> = columns.iter().map(|c| c.id).collect();
        let mut rows = Batch::new(columns.iter().map(|c| c.ty.physical()));
        let row = PROVISIONAL_BASE + ordinal as RowId;
        files.read_rows(&[row], &ids, &mut rows, &mut Vec::new())?;
        if rows.rows == 0 {
            return Err(Error::damaged(format!("row {row} is not in its segment")));
        }
        let value = |(s, c): (&ColumnSchema, _)| convert::read_value(s.ty, c, 0);
        Ok(columns.iter().zip(&rows.columns).map(value).collect())
    }

    /// Moves what is left to files, and makes everything ready for adoption.
    pub(super) fn finish_spilled(mut self, shared: &Arc<Shared>) -> Result<adopt::Part> {
        self.spill(shared)?;
        let mark = |m: &crate::commit::PendingMark| (m.row, m.successor.map(RowId::from));
        let mut marks: Vec<_> = self.marks.iter().map(mark).collect();
        marks.sort_unstable();
        Ok(adopt::Part {
            state: Arc::clone(&self.table.state),
            schema: self.schema,
            spill: self.spill.take().expect("just spilled"),
            marks,
            dead: self.dead | self.erased,
            counter_only: self.counter_only,
        })
    }
}

impl Transaction {
    /// Makes room for a change, by spilling rows where it is needed.
    ///
    /// # Errors
    /// There is no room for the change alone.
    pub(super) fn make_room(&mut self, more: usize) -> Result<()> {
        let memory = &self.shared.storage.memory;
        let limit = memory.limit(Part::Transactions);
        let own = self.memory.bytes() + more as u64;
        let all = memory.used(Part::Transactions) + more as u64;
        let share = share(&self.shared);
        if own > share || own > ROOM_OF_EACH.min(limit) && all > limit {
            self.spill_largest(ROOM_OF_EACH.min(share / 2))?;
            self.charge();
        }
        self.check_room(more)
    }

    /// Spills the rows that take most memory, if that is more than `least`.
    fn spill_largest(&mut self, least: u64) -> Result<()> {
        let largest = self.tables.iter_mut().max_by_key(|b| b.bytes);
        match largest.filter(|b| b.bytes as u64 > least) {
            Some(buffer) => buffer.spill(&self.shared),
            None => Ok(()),
        }
    }

    /// How many rows of a batch are taken at once.
    pub(super) fn rows_at_once(&self, batch: &Batch) -> usize {
        let (bytes, share) = (batch.heap_bytes() as u64, share(&self.shared));
        match bytes > share {
            true => batch.rows.div_ceil(bytes.div_ceil((share / 4).max(1)) as usize),
            false => batch.rows.max(1),
        }
    }

    /// Commits a transaction some of whose rows are in files.
    pub(super) fn commit_spilled(mut self) -> Result<Csn> {
        let mut parts = Vec::with_capacity(self.tables.len());
        for buffer in std::mem::take(&mut self.tables) {
            if !buffer.is_untouched() {
                parts.push(buffer.finish_spilled(&self.shared)?);
            }
        }
        let mut reads = self.reads.take();
        if let Some(reads) = &mut reads {
            reads.look(&self.shared)?;
        }
        let shared = Arc::clone(&self.shared);
        let mut validate = || reads.as_ref().map_or(Ok(()), |reads| reads.validate(&shared));
        let further = adopt::Further { validate: Some(&mut validate), ..adopt::Further::default() };
        adopt::commit(&self.shared, parts, further)
    }
}
