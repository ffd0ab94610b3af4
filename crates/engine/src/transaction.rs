//! What has a transaction done so far?
//!
//! A private buffer per table: new rows in column form with provisional ids (ordinals), marks on
//! committed rows, and the set of own rows that died again. Nothing of it is seen by others before
//! the commit. Rows that die inside the transaction get no row id: the buffer is compacted before it
//! is handed to [`crate::commit`].
//!
//! A transaction reads at the snapshot of its start, and its own rows above that. Two transactions
//! that mark the same row conflict; the first to commit wins.
//!
//! Thread safety: a transaction belongs to one thread at a time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use onlap_base::memory::{Charge, Part};
use onlap_base::{Csn, Error, ErrorKind, PROVISIONAL_BASE, Result, RowId, limits};
use onlap_format::convert;
use onlap_format::{Batch, Column, Row, TableSchema, Value, Vector};

use crate::commit::{PendingMark, TableWrite};
use crate::database::{Shared, Table};
use crate::read::ReadView;
use crate::table::{index_positions, key_def};
use crate::unique;

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

/// The changes to one table.
struct Buffer {
    table: Table,
    schema: Arc<TableSchema>,
    rows: Batch,
    /// Ordinals of own rows that died again.
    dead: HashSet<usize>,
    marks: Vec<PendingMark>,
    /// Position in `marks` of a marked row.
    marked: HashMap<RowId, usize>,
    /// Position in `marks` by the ordinal of the successor.
    successors: HashMap<usize, usize>,
    /// Own live rows by primary key, built when first asked for, and how many rows it covers.
    by_key: HashMap<Vec<u8>, usize>,
    by_key_rows: usize,
    /// Every value of the serial column so far came from the counter.
    counter_only: bool,
    bytes: usize,
}

/// A row as a transaction sees it.
#[derive(Clone, Copy)]
enum Found {
    Committed(RowId),
    Own(usize),
}

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
        let serial = buffer.schema.columns.iter().find(|c| c.serial).map(|c| c.name.as_str());
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

impl Buffer {
    fn new(table: Table) -> Buffer {
        let schema = table.state.schema();
        let rows = Batch::new(schema.columns.iter().map(|c| c.ty.physical()));
        Buffer {
            table,
            schema,
            rows,
            dead: HashSet::new(),
            marks: Vec::new(),
            marked: HashMap::new(),
            successors: HashMap::new(),
            by_key: HashMap::new(),
            by_key_rows: 0,
            counter_only: true,
            bytes: 0,
        }
    }

    /// `chosen`: a value in the serial column is the caller's, not that of the row's old version,
    /// which no counter gives again.
    fn push_row(&mut self, row: &[Value], chosen: bool) -> Result<()> {
        let result = self.try_push_row(row, chosen);
        if result.is_err() {
            let n = self.rows.rows;
            self.rows.truncate(n);
        }
        result
    }

    /// Takes the last row back.
    fn pop_row(&mut self, row: &[Value]) {
        self.rows.truncate(self.rows.rows - 1);
        self.bytes -= row_bytes(row);
    }

    fn try_push_row(&mut self, row: &[Value], chosen: bool) -> Result<()> {
        if row.len() != self.schema.columns.len() {
            let text = format!(
                "table {} has {} columns; {} values were given",
                self.schema.name,
                self.schema.columns.len(),
                row.len()
            );
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        for ((schema, column), value) in
            self.schema.columns.iter().zip(&mut self.rows.columns).zip(row)
        {
            match value {
                Value::Null if schema.serial => {
                    let next = self.table.state.take_serial(1)?;
                    convert::push_value(schema.ty, &Value::Int(next), column, &schema.name)?;
                }
                Value::Null if !schema.nullable => return Err(not_null(&self.schema, schema)),
                Value::Null => column.push_null(),
                value => {
                    convert::push_value(schema.ty, value, column, &schema.name)?;
                    if let (true, Value::Int(v)) = (schema.serial, value) {
                        self.counter_only = false;
                        if chosen {
                            self.table.state.note_serial(*v, *v);
                        }
                    }
                }
            }
        }
        let bytes = row_bytes(row);
        if bytes > limits::ROW_BYTES {
            let text = format!("row of {bytes} bytes; at most {} fit", limits::ROW_BYTES);
            return Err(Error::new(ErrorKind::TooLong, text));
        }
        self.rows.rows += 1;
        self.bytes += bytes;
        Ok(())
    }

    fn push_batch(&mut self, mut batch: Batch) -> Result<()> {
        self.fill_serial(&mut batch)?;
        convert::check_batch(&self.schema, &batch)?;
        self.bytes += batch.heap_bytes();
        if self.rows.rows == 0 {
            self.rows = batch;
        } else {
            self.rows.extend_range(&batch, 0..batch.rows);
        }
        Ok(())
    }

    /// Gives counter values to the NULLs of a serial column.
    fn fill_serial(&mut self, batch: &mut Batch) -> Result<()> {
        let Some(at) = self.schema.columns.iter().position(|c| c.serial) else { return Ok(()) };
        let rows = batch.rows;
        let Some(column) = batch.columns.get_mut(at) else { return Ok(()) };
        let Vector::Int(values) = &mut column.data else { return Ok(()) };
        if values.len() != rows {
            return Ok(());
        }
        let nulls = column.nulls.take();
        let missing = nulls.as_ref().map_or(0, |n| n.count());
        let first = self.table.state.take_serial(missing as i64)?;
        let mut next = first;
        let (mut min, mut max) = (i64::MAX, i64::MIN);
        for (i, v) in values.iter_mut().enumerate() {
            if nulls.as_ref().is_some_and(|n| n.get(i)) {
                *v = next;
                next += 1;
            } else {
                (min, max) = (min.min(*v), max.max(*v));
            }
        }
        if missing < rows {
            self.counter_only = false;
            self.table.state.note_serial(min, max);
        }
        Ok(())
    }

    fn delete(&mut self, found: Found) {
        match found {
            Found::Committed(row) => {
                self.marked.insert(row, self.marks.len());
                self.marks.push(PendingMark { row, successor: None });
                self.bytes += MARK_BYTES;
            }
            Found::Own(ordinal) => {
                self.forget(ordinal);
                if let Some(mark) = self.successors.remove(&ordinal) {
                    self.marks[mark].successor = None;
                }
            }
        }
    }

    /// Replaces a row by own row `ordinal`.
    fn succeed(&mut self, found: Found, ordinal: usize) {
        let mark = match found {
            Found::Committed(row) => {
                self.delete(Found::Committed(row));
                Some(self.marks.len() - 1)
            }
            Found::Own(old) => {
                self.forget(old);
                self.successors.remove(&old)
            }
        };
        if let Some(mark) = mark {
            self.marks[mark].successor = Some(ordinal as u32);
            self.successors.insert(ordinal, mark);
        }
    }

    fn forget(&mut self, ordinal: usize) {
        self.dead.insert(ordinal);
    }

    /// The own live row with a primary key.
    fn own_row(&mut self, key: &[u8]) -> Option<usize> {
        if self.rows.rows > self.by_key_rows {
            let primary = self.schema.primary()?;
            let def = key_def(&self.schema, primary);
            let (positions, _) = index_positions(&self.schema, primary);
            let columns: Vec<&Column> = positions.iter().map(|&p| &self.rows.columns[p]).collect();
            for row in self.by_key_rows..self.rows.rows {
                if !self.dead.contains(&row) {
                    let mut bytes = Vec::new();
                    def.encode_row(&columns, row, &mut bytes);
                    self.by_key.insert(bytes, row);
                }
            }
            self.by_key_rows = self.rows.rows;
        }
        self.by_key.get(key).copied().filter(|o| !self.dead.contains(o))
    }

    /// Leaves dead rows out and makes everything ready for the commit queue.
    fn finish(mut self) -> Result<TableWrite> {
        if !self.dead.is_empty() {
            self.compact();
        }
        let counter = self.schema.columns.iter().position(|c| c.serial);
        unique::check_key_lengths(&self.schema, &self.rows)?;
        let unique =
            unique::claims(&self.schema, &self.rows, counter.filter(|_| self.counter_only))?;
        Ok(TableWrite {
            state: Arc::clone(&self.table.state),
            schema: self.schema,
            rows: self.rows,
            marks: self.marks,
            unique,
        })
    }

    fn compact(&mut self) {
        let mut rows = Batch::new(self.schema.columns.iter().map(|c| c.ty.physical()));
        let mut moved: HashMap<usize, usize> = HashMap::new();
        for old in (0..self.rows.rows).filter(|o| !self.dead.contains(o)) {
            moved.insert(old, rows.rows);
            rows.extend_range(&self.rows, old..old + 1);
        }
        for mark in &mut self.marks {
            mark.successor = mark.successor.map(|s| moved[&(s as usize)] as u32);
            debug_assert!(mark.row < PROVISIONAL_BASE);
        }
        self.rows = rows;
    }
}

fn row_bytes(row: &[Value]) -> usize {
    8 + row.iter().map(value_bytes).sum::<usize>()
}

/// Bytes, at most, of a row after changes.
fn changed_bytes(row: &[Value], changes: &[(&str, Value)]) -> usize {
    row_bytes(row) + changes.iter().map(|(_, value)| value_bytes(value)).sum::<usize>()
}

fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Text(s) => s.len() + 4,
        Value::Bytes(b) => b.len() + 4,
        Value::Numeric(_) | Value::Uuid(_) => 17,
        _ => 8,
    }
}

fn not_null(table: &TableSchema, column: &onlap_format::ColumnSchema) -> Error {
    let text = format!("column {} of table {} does not take NULL", column.name, table.name);
    Error::new(ErrorKind::NotNull, text)
}
