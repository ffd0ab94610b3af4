//! What has a transaction done so far?
//!
//! A private buffer per table ([`buffer`]), which nobody else sees before the commit. Values are
//! checked as they come in ([`incoming`]).
//!
//! A transaction reads at the snapshot of its start, and its own rows above that. Two transactions
//! that mark the same row conflict; the first to commit wins.
//!
//! Thread safety: a transaction belongs to one thread at a time.

use std::sync::Arc;

use onlap_base::memory::{Charge, Part};
use onlap_base::{Csn, Error, ErrorKind, Result, RowId};
use onlap_format::convert;
use onlap_format::{Batch, Row, Value};

use crate::database::{Shared, Table};
use crate::read::ReadView;
use crate::table::key_def;

mod buffer;
mod incoming;

use buffer::{Buffer, Found};
use incoming::{changed_bytes, row_bytes};

/// A set of changes that becomes visible as a whole, or not at all. Dropping it rolls it back.
pub struct Transaction {
    shared: Arc<Shared>,
    csn: Csn,
    tables: Vec<Buffer>,
    memory: Charge,
}

/// Memory that a transaction may use however much the others have: none is refused its first rows.
const ROOM_OF_EACH: u64 = 64 << 10;
/// Bytes that a mark takes with the tables that find it.
const MARK_BYTES: usize = 64;

impl Transaction {
    pub(crate) fn new(shared: Arc<Shared>) -> Transaction {
        let csn = shared.snapshots.register();
        let memory = shared.storage.memory.charge(Part::Transactions, 0);
        Transaction { shared, csn, tables: Vec::new(), memory }
    }

    /// Inserts one row: one value per column; NULL in a serial column takes the next counter value.
    ///
    /// # Errors
    /// Wrong number or type of values, a value above a limit or outside its type's range, NULL where
    /// the column refuses it. The transaction stays usable. A duplicate key is reported by
    /// [`Transaction::commit`].
    pub fn insert(&mut self, table: &Table, row: &[Value]) -> Result<()> {
        let room = self.make_room(row_bytes(row));
        let buffer = self.buffer(table)?;
        buffer.push_row(row, true)?;
        if room.is_err() {
            buffer.pop_row(row);
            return room;
        }
        self.charge();
        Ok(())
    }

    /// Inserts many rows in column form. The batch has the table's columns in order, in physical
    /// form; NULLs in a serial column take counter values.
    ///
    /// # Errors
    /// As [`Transaction::insert`]; nothing of the batch is kept.
    pub fn insert_batch(&mut self, table: &Table, batch: Batch) -> Result<()> {
        self.make_room(batch.heap_bytes())?;
        self.buffer(table)?.push_batch(batch)?;
        self.charge();
        Ok(())
    }

    /// Deletes the row with this primary key; false when there is none.
    ///
    /// # Errors
    /// The table has no primary key, or the key does not have its types.
    pub fn delete(&mut self, table: &Table, key: &[Value]) -> Result<bool> {
        match self.find(table, key)? {
            Some(found) => {
                self.make_room(MARK_BYTES)?;
                self.buffer(table)?.delete(found);
                self.charge();
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Deletes rows by row id, as index scans return them; returns how many were visible.
    pub fn delete_rows(&mut self, table: &Table, rows: &[RowId]) -> Result<u64> {
        let mut sorted: Vec<RowId> = rows.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let view = self.view(table)?;
        let visible = view.existing(view.visible(&sorted)?)?;
        self.make_room(visible.len() * MARK_BYTES)?;
        let buffer = self.buffer(table)?;
        let mut deleted = 0;
        for row in visible {
            if !buffer.marked.contains_key(&row) {
                buffer.delete(Found::Committed(row));
                deleted += 1;
            }
        }
        self.charge();
        Ok(deleted)
    }

    /// Changes columns of the row with this primary key; false when there is none. The new version
    /// is a new row; the old one is marked with it as successor.
    ///
    /// # Errors
    /// As [`Transaction::delete`] and [`Transaction::insert`].
    pub fn update(
        &mut self,
        table: &Table,
        key: &[Value],
        changes: &[(&str, Value)],
    ) -> Result<bool> {
        let Some(found) = self.find(table, key)? else { return Ok(false) };
        let row = self.read_found(table, found)?;
        self.make_room(MARK_BYTES + changed_bytes(&row, changes))?;
        self.replace(table, found, row, changes)?;
        self.charge();
        Ok(true)
    }

    /// Changes columns of rows given by row id, as index scans return them; returns how many were
    /// visible. Each row is read.
    pub fn update_rows(
        &mut self,
        table: &Table,
        rows: &[RowId],
        changes: &[(&str, Value)],
    ) -> Result<u64> {
        let mut sorted: Vec<RowId> = rows.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let buffer = self.buffer(table)?;
        sorted.retain(|r| !buffer.marked.contains_key(r));
        let view = self.view(table)?;
        let (found, values) = view.fetch_rows(&sorted)?;
        let n = found.len() as u64;
        self.make_room(values.iter().map(|row| MARK_BYTES + changed_bytes(row, changes)).sum())?;
        for (row_id, row) in found.into_iter().zip(values) {
            self.replace(table, Found::Committed(row_id), row, changes)?;
        }
        self.charge();
        Ok(n)
    }

    /// Reads the row with this primary key as this transaction sees it.
    pub fn get(&mut self, table: &Table, key: &[Value]) -> Result<Option<Row>> {
        match self.find(table, key)? {
            Some(found) => self.read_found(table, found).map(Some),
            None => Ok(None),
        }
    }

    /// Makes the changes visible to everybody and returns their CSN. What that promises about power
    /// loss is the database's sync mode.
    ///
    /// # Errors
    /// [`ErrorKind::DuplicateKey`]; [`ErrorKind::Conflict`] when another transaction changed one of
    /// the rows since this one began; [`ErrorKind::DiskFull`]; [`ErrorKind::ReadOnly`] after a failed
    /// write. Nothing of a failed commit is visible.
    pub fn commit(mut self) -> Result<Csn> {
        let mut writes = Vec::with_capacity(self.tables.len());
        for buffer in std::mem::take(&mut self.tables) {
            writes.push(buffer.finish()?);
        }
        self.shared.commits().commit(&self.shared, writes)
    }

    /// Forgets the changes.
    pub fn rollback(self) {}

    fn view(&self, table: &Table) -> Result<ReadView> {
        ReadView::new(&table.state, self.csn)
    }

    fn buffer(&mut self, table: &Table) -> Result<&mut Buffer> {
        table.check_same(&self.shared)?;
        let id = table.state.id;
        let at = match self.tables.iter().position(|b| b.table.state.id == id) {
            Some(at) => at,
            None => {
                self.tables.push(Buffer::new(table.clone()));
                self.tables.len() - 1
            }
        };
        Ok(&mut self.tables[at])
    }

    /// Refuses a change that would outgrow the memory of transactions, before any of it is made.
    fn make_room(&self, more: usize) -> Result<()> {
        let own = self.memory.bytes() + more as u64;
        let memory = &self.shared.storage.memory;
        let limit = memory.limit(Part::Transactions);
        let all = memory.used(Part::Transactions) + more as u64;
        if own <= ROOM_OF_EACH.min(limit) || all <= limit {
            return Ok(());
        }
        let text = format!(
            "the transaction's changes would take {own} bytes, those of all open transactions {all}; \
             at most {limit} fit in memory: commit in smaller parts or raise memory_limit"
        );
        Err(Error::new(ErrorKind::LimitExceeded, text))
    }

    /// Counts the buffers' memory.
    fn charge(&mut self) {
        let bytes: usize = self.tables.iter().map(|b| b.bytes).sum();
        self.memory.resize(bytes as u64);
    }

    fn find(&mut self, table: &Table, key: &[Value]) -> Result<Option<Found>> {
        let view = self.view(table)?;
        let buffer = self.buffer(table)?;
        let primary = buffer.schema.primary().cloned().ok_or_else(|| {
            let text = format!("table {} has no primary key", buffer.schema.name);
            Error::new(ErrorKind::UnknownIndex, text)
        })?;
        let def = key_def(&buffer.schema, &primary);
        if key.len() != def.columns.len() {
            let text = format!(
                "the primary key of table {} has {} columns; {} values were given",
                buffer.schema.name,
                def.columns.len(),
                key.len()
            );
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        let bytes = def.encode_values(key)?;
        if let Some(ordinal) = buffer.own_row(&bytes) {
            return Ok(Some(Found::Own(ordinal)));
        }
        let row = view.row_by_key(primary.id, &bytes)?;
        Ok(row.filter(|r| !buffer.marked.contains_key(r)).map(Found::Committed))
    }

    fn read_found(&mut self, table: &Table, found: Found) -> Result<Row> {
        match found {
            Found::Own(ordinal) => {
                let buffer = self.buffer(table)?;
                let columns = buffer.schema.columns.iter().zip(&buffer.rows.columns);
                Ok(columns.map(|(s, c)| convert::read_value(s.ty, c, ordinal)).collect())
            }
            Found::Committed(row) => {
                let (_, mut rows) = self.view(table)?.fetch_rows(&[row])?;
                rows.pop().ok_or_else(|| Error::damaged(format!("row {row} is not in its segment")))
            }
        }
    }

    fn replace(
        &mut self,
        table: &Table,
        found: Found,
        mut row: Row,
        changes: &[(&str, Value)],
    ) -> Result<()> {
        let buffer = self.buffer(table)?;
        for (name, value) in changes {
            let at = buffer.schema.position_by_name(name).ok_or_else(|| {
                let text = format!("table {} has no column {name}", buffer.schema.name);
                Error::new(ErrorKind::UnknownColumn, text)
            })?;
            row[at] = value.clone();
        }
        let serial = buffer.schema.serial().map(|c| buffer.schema.columns[c].name.as_str());
        let chosen = changes.iter().any(|(name, _)| Some(*name) == serial);
        buffer.push_row(&row, chosen)?;
        buffer.succeed(found, buffer.rows.rows - 1);
        Ok(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.shared.snapshots.release(self.csn);
    }
}
