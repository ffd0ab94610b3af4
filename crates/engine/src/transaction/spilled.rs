//! What becomes of rows that a transaction has no memory for?
//!
//! When a transaction has used up its share of the memory of transactions, and when all of them
//! together have, the rows of its largest buffer are spilled ([`crate::spill`]); ordinals go on behind
//! them. So are its marks, of which bitmaps stay. A savepoint may lie before what was spilled since:
//! going back to it removes the files behind it, and reads back the rows before it of the file that
//! it cuts, and the marks of such a file.
//!
//! What is spilled is committed by adoption ([`crate::adopt`]), and with it the small buffers of the
//! same transaction, as a whole.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::memory::Part;
use onlap_base::{ColumnId, Csn, Error, IndexId, PROVISIONAL_BASE, Result, RowId, limits};
use onlap_format::marks::Mark;
use onlap_format::{Batch, Column, ColumnSchema, Row, convert};

use super::buffer::{Buffer, BufferMark, Event};
use super::{MARK_BYTES, ROOM_OF_EACH, Transaction};
use crate::adopt;
use crate::database::Shared;
use crate::derive;
use crate::margin;
use crate::spill::Spill;

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
        self.check_key_lengths()?;
        margin::check_room(shared)?;
        let new = || Spill::new(Arc::clone(shared), Arc::clone(&self.schema));
        let spill = self.spill.get_or_insert_with(new);
        spill.wait()?;
        let empty = Batch::new(self.schema.all_columns().map(|c| c.ty.physical()));
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

    /// Moves the marks in memory to files.
    fn spill_marks(&mut self, shared: &Arc<Shared>) -> Result<()> {
        let new = || Spill::new(Arc::clone(shared), Arc::clone(&self.schema));
        let spill = self.spill.get_or_insert_with(new);
        let numbers = self.first_event as Csn + 1..;
        let (mut committed, mut own) = (Vec::new(), Vec::new());
        for (event, csn) in self.events.iter().zip(numbers) {
            match *event {
                Event::Marked { row, successor } => {
                    committed.push(Mark { row, csn, successor: successor.map(RowId::from) });
                }
                Event::Died { ordinal, successor } => {
                    let row = ordinal.into();
                    own.push(Mark { row, csn, successor: successor.map(RowId::from) });
                }
            }
        }
        let before = self.before.iter().map(|(&ordinal, &row)| (ordinal.into(), row)).collect();
        spill.push_marks(committed, own, before)?;
        self.before.clear();
        self.first_event += self.events.len();
        self.events = Vec::new();
        self.own = None;
        Ok(())
    }

    /// Takes marks back into memory, so that none after the `from`-th is in a file.
    pub(super) fn recall_events(&mut self, from: usize) {
        let Some(spill) = &mut self.spill else { return };
        // An error is kept for whoever asks next.
        let mut events = std::mem::take(&mut self.events);
        let recalled = spill.recall_marks(from as Csn);
        self.first_event -= recalled.len();
        let event = |(own, mark): (bool, Mark)| {
            let successor = mark.successor.map(|s| s as u32);
            match own {
                true => Event::Died { ordinal: mark.row as u32, successor },
                false => Event::Marked { row: mark.row, successor },
            }
        };
        self.events = recalled.into_iter().map(event).collect();
        self.before.extend(self.events.iter().filter_map(|event| match *event {
            Event::Marked { row, successor } => Some((successor?, row)),
            Event::Died { ordinal, successor } => {
                Some((successor?, PROVISIONAL_BASE + RowId::from(ordinal)))
            }
        }));
        self.events.append(&mut events);
    }

    /// Takes spilled rows back into memory, so that none from after the mark is in a file: undone rows
    /// that stayed there would stand for newer ones of their keys.
    pub(super) fn recall_rows(&mut self, to: BufferMark) {
        let Some(spill) = self.spill.as_mut().filter(|s| s.end() > to.rows as RowId) else {
            return;
        };
        let start = spill.begin_of_last().expect("it ends somewhere");
        match self.read_range(start, to.rows as RowId) {
            Ok(rows) => {
                let spill = self.spill.as_mut().expect("just read");
                spill.cut(start);
                self.first = start as usize;
                self.bytes = rows.heap_bytes();
                self.rows = rows;
            }
            Err(e) => self.spill.as_mut().expect("asked to read").fail(e),
        }
    }

    /// Spilled rows of a range of ordinals.
    fn read_range(&mut self, from: RowId, to: RowId) -> Result<Batch> {
        let spill = self.spill.as_mut().expect("they are spilled");
        let files = spill.version()?;
        let columns = &self.schema.columns;
        let ids: Vec<_> = columns.iter().map(|c| c.id).collect();
        let mut rows = Batch::new(columns.iter().map(|c| c.ty.physical()));
        let wanted: Vec<RowId> = (from..to).map(|row| PROVISIONAL_BASE + row).collect();
        files.read_rows(&wanted, &ids, &mut rows, &mut Vec::new())?;
        if !self.schema.derived.is_empty() {
            derive::fill(&self.table.shared.calculator, &self.schema, &mut rows)?;
        }
        match rows.rows as RowId == to - from {
            true => Ok(rows),
            false => Err(Error::damaged("rows are not in their segment".to_owned())),
        }
    }

    /// The live spilled row with a whole key (key bytes) of a unique index.
    pub(super) fn spilled_row(&mut self, index: IndexId, key: &[u8]) -> Result<Option<usize>> {
        let Some(spill) = &mut self.spill else { return Ok(None) };
        let files = spill.version()?;
        let mut below = RowId::MAX;
        while let Some(row) = files.newest_with_key(index, key, below, &mut 0)? {
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

    /// Some columns of those own rows of a range of ordinals that are alive.
    pub(super) fn living_values(
        &mut self,
        rows: Range<usize>,
        columns: &[ColumnId],
    ) -> Result<Vec<Row>> {
        let at =
            |id: &ColumnId| self.schema.position(*id).expect("rules name columns of the table");
        let places: Vec<usize> = columns.iter().map(at).collect();
        debug_assert!(rows.start <= rows.end && rows.end <= self.end());
        let (spilled, end) = (rows.start..rows.end.min(self.first), rows.end.min(self.end()));
        let alive = |rows: Range<usize>| rows.filter(|ordinal| self.is_alive(*ordinal));
        let wanted: Vec<RowId> = alive(spilled).map(|o| PROVISIONAL_BASE + o as RowId).collect();
        let in_memory: Vec<usize> = alive(rows.start.max(self.first)..end).collect();
        let mut all = Vec::with_capacity(wanted.len() + in_memory.len());
        if !wanted.is_empty() {
            let spill = self.spill.as_mut().expect("rows before the first in memory are spilled");
            let types = places.iter().map(|at| self.schema.columns[*at].ty);
            let mut read = Batch::new(types.map(|ty| ty.physical()));
            spill.version()?.read_rows(&wanted, columns, &mut read, &mut Vec::new())?;
            if read.rows != wanted.len() {
                return Err(Error::damaged("rows are not in their segment".to_owned()));
            }
            let columns: Vec<&Column> = read.columns.iter().collect();
            all.extend((0..read.rows).map(|row| self.values_of(&places, &columns, row)));
        }
        let columns: Vec<&Column> = places.iter().map(|at| &self.rows.columns[*at]).collect();
        let row = |ordinal: usize| self.values_of(&places, &columns, ordinal - self.first);
        all.extend(in_memory.into_iter().map(row));
        Ok(all)
    }

    fn values_of(&self, places: &[usize], columns: &[&Column], row: usize) -> Row {
        debug_assert_eq!(places.len(), columns.len());
        let ty = |at: &usize| self.schema.columns[*at].ty;
        let value = |(at, column)| convert::read_value(ty(at), column, row);
        places.iter().zip(columns.iter().copied()).map(value).collect()
    }

    /// Moves what is left to files, and makes everything ready for adoption.
    pub(super) fn finish_spilled(
        mut self,
        shared: &Arc<Shared>,
        indexes: Option<adopt::IndexChange>,
    ) -> Result<adopt::Part> {
        self.spill(shared)?;
        self.spill_marks(shared)?;
        let mut spill = self.spill.take().expect("just spilled");
        let changes = self.joined_changes();
        spill.push_changes(&changes)?;
        // Entries in all indexes, before names of files are made durable.
        spill.files()?;
        Ok(adopt::Part {
            changed: changes.iter().map(|c| c.column).collect(),
            state: Arc::clone(&self.table.state),
            schema: self.schema,
            spill,
            marked: self.marked,
            dead: self.dead,
            counter_only: self.counter_only,
            indexes,
        })
    }
}

impl Transaction {
    /// Makes room for a change, by spilling rows where it is needed.
    ///
    /// # Errors
    /// There is no room for the change alone.
    pub(super) fn make_room(&mut self, more: usize) -> Result<()> {
        if self.is_full(more) {
            self.spill_largest(ROOM_OF_EACH.min(share(&self.shared) / 8))?;
            self.charge();
        }
        self.check_room(more)
    }

    /// Whether rows are to be spilled before a change.
    pub(super) fn is_full(&self, more: usize) -> bool {
        let memory = &self.shared.storage.memory;
        let limit = memory.limit(Part::Transactions);
        let own = self.memory.bytes() + more as u64;
        let all = memory.used(Part::Transactions) + more as u64;
        let share = share(&self.shared);
        let full = own.saturating_sub(self.kept_bytes() as u64) > share
            || own > ROOM_OF_EACH.min(limit) && all > limit;
        // What is adopted has no blind rows.
        let blind = |b: &Buffer| b.schema.blind && !b.is_untouched();
        full && !self.tables.iter().any(blind)
    }

    /// Spills what takes most memory, if that is more than `least`.
    fn spill_largest(&mut self, least: u64) -> Result<()> {
        let largest = self.tables.iter_mut().max_by_key(|b| b.heap_bytes());
        let Some(buffer) = largest else { return Ok(()) };
        let marks = (buffer.events.len() * MARK_BYTES) as u64;
        if buffer.bytes as u64 > least {
            buffer.spill(&self.shared)?;
        }
        if marks > least {
            buffer.spill_marks(&self.shared)?;
        }
        Ok(())
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
                parts.push(buffer.finish_spilled(&self.shared, None)?);
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
