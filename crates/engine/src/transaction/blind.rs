//! How does a transaction write without reading?
//!
//! An upsert appends a row to the buffer, a delete appends a row with the key alone that is dead at
//! once; neither looks at anything, locks anything or reserves its key. So whoever commits last wins,
//! and that two transactions write the same key is no conflict. That is READ COMMITTED at most: above,
//! an update would have to fail where somebody changed the row since the snapshot.
//!
//! Inside the transaction the newest own row of a key decides as well, alive or dead. For reads that
//! walk rows or entries, the rows that own blind ones replace are worked out per statement
//! ([`Transaction::replaced_by_own`]); so a transaction that writes much blindly and reads between
//! pays for all its rows each time.
//!
//! Blind rows stay in memory: a transaction with any of them does not spill.

use std::collections::HashMap;
use std::sync::Arc;

use onlap_base::{Error, ErrorKind, PROVISIONAL_BASE, Result, RowId};
use onlap_format::{
    Batch, BytesVec, Column, ColumnSchema, IndexSchema, TableSchema, Value, Vector, convert,
};

use super::buffer::{Buffer, Found};
use super::incoming::row_bytes;
use super::{Isolation, MARK_BYTES, Transaction};
use crate::database::Table;
use crate::read::ReadView;
use crate::table::{index_positions, key_def};

impl Transaction {
    /// Puts a row in the place of whichever has its primary key when the transaction commits, if any
    /// has; reads nothing. The row before dies with the commit of this one. The newest row of a key
    /// wins, whoever brought it: no lock keeps it, and nobody waits.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`]: the table was not declared for it
    /// ([`crate::TableSpec::blind_writes`]), the transaction is above READ COMMITTED, or has spilled
    /// rows, or changes tables. Those of [`Transaction::insert`] that concern the row alone;
    /// [`ErrorKind::LimitExceeded`] where the transaction outgrows its memory.
    pub fn upsert(&mut self, table: &Table, row: &[Value]) -> Result<()> {
        self.writing(table)?;
        self.check_blind(table)?;
        self.check_room(row_bytes(row))?;
        let buffer = self.buffer(table)?;
        buffer.push_row(row, true)?;
        buffer.did.insert(1);
        buffer.blind.insert(buffer.end() as u64 - 1);
        self.charge();
        Ok(())
    }

    /// The same for many rows in column form, as [`Transaction::insert_batch`] takes them. Of rows
    /// with the same key the last one stays.
    ///
    /// # Errors
    /// As [`Transaction::upsert`]; nothing of the batch is kept.
    pub fn upsert_batch(&mut self, table: &Table, batch: Batch) -> Result<()> {
        self.writing(table)?;
        self.check_blind(table)?;
        self.check_room(batch.heap_bytes())?;
        let buffer = self.buffer(table)?;
        let from = buffer.end() as u64;
        let rows = batch.rows as u64;
        buffer.push_batch(batch)?;
        buffer.did.insert(rows);
        buffer.blind.insert_range(from..buffer.end() as u64);
        self.charge();
        Ok(())
    }

    /// Has no row with this primary key be there when the transaction commits; reads nothing, and so
    /// does not tell whether there was one.
    ///
    /// # Errors
    /// As [`Transaction::upsert`]; a key of other types, or NULL.
    pub fn delete_blind(&mut self, table: &Table, key: &[Value]) -> Result<()> {
        self.writing(table)?;
        self.check_blind(table)?;
        let schema = Arc::clone(&self.buffer(table)?.schema);
        let key_schema = key_columns(&schema)?;
        if key.len() != key_schema.columns.len() {
            let text = format!(
                "the primary key of table {} has {} columns; {} values were given",
                schema.name,
                key_schema.columns.len(),
                key.len()
            );
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        let mut keys = Batch::new(key_schema.columns.iter().map(|c| c.ty.physical()));
        for ((column, to), value) in key_schema.columns.iter().zip(&mut keys.columns).zip(key) {
            match value {
                Value::Null => to.push_null(),
                value => convert::push_value(column.ty, value, to, &column.name)?,
            }
        }
        keys.rows = 1;
        self.push_gone(table, &schema, &key_schema, keys)
    }

    /// The same for many keys: the columns of the primary key, in its order.
    ///
    /// # Errors
    /// As [`Transaction::delete_blind`]; nothing of the batch is kept.
    pub fn delete_blind_batch(&mut self, table: &Table, keys: Batch) -> Result<()> {
        self.writing(table)?;
        self.check_blind(table)?;
        let schema = Arc::clone(&self.buffer(table)?.schema);
        let key_schema = key_columns(&schema)?;
        self.push_gone(table, &schema, &key_schema, keys)
    }

    fn push_gone(
        &mut self,
        table: &Table,
        schema: &TableSchema,
        key_schema: &TableSchema,
        keys: Batch,
    ) -> Result<()> {
        convert::check_batch(key_schema, &keys)?;
        let batch = gone_rows(schema, key_schema, keys);
        let n = batch.rows;
        self.check_room(batch.heap_bytes() + n * MARK_BYTES)?;
        let buffer = self.buffer(table)?;
        let from = buffer.end();
        buffer.bytes += batch.heap_bytes();
        buffer.rows.extend_range(&batch, 0..n);
        buffer.blind.insert_range(from as u64..(from + n) as u64);
        (from..from + n).for_each(|ordinal| buffer.delete(Found::Own(ordinal)));
        self.charge();
        Ok(())
    }

    /// Refuses blind writes where they cannot be right.
    fn check_blind(&mut self, table: &Table) -> Result<()> {
        let refuse = |text: String| Err(Error::new(ErrorKind::Unsupported, text));
        let schema = Arc::clone(&self.buffer(table)?.schema);
        if !schema.blind {
            return refuse(format!(
                "table {} was not declared for blind writes (TableSpec::blind_writes)",
                schema.name
            ));
        }
        if self.options.isolation != Isolation::ReadCommitted {
            return refuse(format!(
                "blind writes go with READ COMMITTED alone; this transaction is at {:?}",
                self.options.isolation
            ));
        }
        if !self.schema.is_empty() || self.tables.iter().any(|b| b.spill.is_some()) {
            return refuse(
                "a transaction that changes tables, or has outgrown its memory, writes nothing \
                 blindly"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Whether anything was written blindly.
    pub(super) fn has_blind(&self) -> bool {
        self.tables.iter().any(|b| !b.blind.is_empty())
    }

    /// Refuses the commit of a transaction that adopts files and has blind rows.
    pub(super) fn check_adoptable(&self) -> Result<()> {
        if !self.has_blind() {
            return Ok(());
        }
        let text = "a transaction that wrote blindly cannot change tables as well";
        Err(Error::new(ErrorKind::Unsupported, text))
    }

    /// Rows, the table's and own ones, that own rows of a table with blind writes replace, ascending. Own rows
    /// that are not blind have the table's row marked already, except for one that another transaction has put
    /// under their key blindly since, with which this one cannot commit.
    pub(super) fn replaced_by_own(buffer: &Buffer, view: &ReadView) -> Result<Vec<RowId>> {
        let Some(primary) = buffer.schema.primary().filter(|_| buffer.schema.blind) else {
            return Ok(Vec::new());
        };
        let mut newest: HashMap<Vec<u8>, (usize, bool)> = HashMap::new();
        let mut hidden = Vec::new();
        let (positions, _) = index_positions(&buffer.schema, primary);
        let def = key_def(&buffer.schema, primary);
        let columns: Vec<&Column> = positions.iter().map(|&p| &buffer.rows.columns[p]).collect();
        for row in 0..buffer.rows.rows {
            let mut key = Vec::new();
            def.encode_row(&columns, row, &mut key);
            let ordinal = buffer.first + row;
            let blind = buffer.blind.contains(ordinal as u64);
            let before = newest.get(&key).copied();
            hidden.extend(before.map(|(ordinal, _)| PROVISIONAL_BASE + ordinal as RowId));
            newest.insert(key, (ordinal, blind || before.is_some_and(|b| b.1)));
        }
        let lives = |ordinal: usize| !buffer.dead.contains(ordinal as u64);
        for (key, _) in newest.into_iter().filter(|(_, (at, blind))| *blind || lives(*at)) {
            hidden.extend(view.view.newest_with_key(primary.id, &key, view.count, &mut 0)?);
        }
        hidden.sort_unstable();
        hidden.dedup();
        Ok(hidden)
    }
}

impl Buffer {
    /// Whether own rows decide that a key of the primary key is free: the newest own row with it is
    /// dead, and some own row with it was written blindly, or took the place of the table's.
    /// Asked of the first `end` rows.
    pub(super) fn has_ended(&mut self, primary: &IndexSchema, key: &[u8], end: usize) -> bool {
        if self.blind.is_empty() || !primary.primary {
            return false;
        }
        let newest = self.row_in_memory(primary, key, end);
        newest.is_some_and(|row| self.dead.contains(row as u64))
    }
}

/// A table of the columns of the primary key alone.
fn key_columns(schema: &TableSchema) -> Result<TableSchema> {
    let primary = schema.primary().ok_or_else(|| {
        Error::new(ErrorKind::UnknownIndex, format!("table {} has no primary key", schema.name))
    })?;
    let (positions, _) = index_positions(schema, primary);
    let columns = positions.iter().map(|&p| schema.columns[p].clone()).collect();
    Ok(TableSchema { name: schema.name.clone(), columns, ..TableSchema::default() })
}

/// Rows with these keys; the other columns hold NULL, zero or nothing, which nobody reads.
fn gone_rows(schema: &TableSchema, key_schema: &TableSchema, keys: Batch) -> Batch {
    let n = keys.rows;
    let mut keys: Vec<Option<Column>> = keys.columns.into_iter().map(Some).collect();
    let column = |c: &ColumnSchema| {
        if let Some(at) = key_schema.position(c.id) {
            return keys[at].take().expect("a key names a column once");
        }
        let mut column = Column::new(c.ty.physical());
        if c.nullable {
            (0..n).for_each(|_| column.push_null());
            return column;
        }
        match &mut column.data {
            Vector::Int(v) => v.resize(n, 0),
            Vector::Wide(v) => v.resize(n, 0),
            Vector::Numeric(m, s) => {
                m.resize(n, 0);
                s.resize(n, 0);
            }
            Vector::Bytes(v) => {
                *v = BytesVec::default();
                (0..n).for_each(|_| v.push(b""));
            }
        }
        column
    };
    Batch { columns: schema.columns.iter().map(column).collect(), rows: n }
}
