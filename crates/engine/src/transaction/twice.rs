//! Do two rows have equal keys, in an index that does not keep them apart by itself?
//!
//! An index that is [`onlap_format::Judged`] is an ordinary one to files and memtables. A transaction that brings keys to it locks
//! each, as for a unique index ([`super::reserve`]), when they are judged, and then looks which rows have them
//! in the newest committed state and among its own. So several rows may have a key in between, and NULL may be
//! equal to NULL. Nothing relies on such an index for a row of its own: no foreign key, and no look-up by key.
//!
//! A row that another transaction is about to delete is waited for, and then looked for again.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use onlap_base::{ColumnId, ErrorKind, PROVISIONAL_BASE, Result, RowId};
use onlap_format::{IndexSchema, Value};

use super::Transaction;
use crate::database::Table;
use crate::locks::RowLock;
use crate::options::Rule;
use crate::read::{KeyRange, ReadView, Reader, Registration};
use crate::table::key_def;
use crate::unique;

impl Transaction {
    /// Refuses own rows of a range of ordinals that have a key which another row has.
    pub(super) fn judge_twice(
        &mut self,
        table: &Table,
        index: &IndexSchema,
        rows: Range<usize>,
    ) -> Result<()> {
        if !self.shared.obeys(Rule::UniqueKeys) {
            return Ok(());
        }
        debug_assert!(index.judged.is_some() && !index.unique, "an index keeps keys in one way");
        let schema = Arc::clone(&self.buffer(table)?.schema);
        let def = key_def(&schema, index);
        let columns: Vec<ColumnId> = index.key.iter().map(|part| part.column).collect();
        let mut brought: BTreeMap<Vec<u8>, Vec<Value>> = BTreeMap::new();
        for values in self.buffer(table)?.living_values(rows, &columns)? {
            if index.nulls_equal() || !values.contains(&Value::Null) {
                brought.insert(def.encode_values(&values)?, values);
            }
        }
        // Transactions lock many keys in one order, so that two do not wait for each other.
        for key in brought.keys() {
            self.lock_key(table, index, key)?;
        }
        let mut reader = self.newest_reader(table)?;
        for (key, values) in brought {
            while let Some(found) = self.rows_with(table, index, &reader, &values)? {
                match found {
                    Holder::Living => return Err(unique::duplicate(&schema, index, &key)),
                    Holder::Going(row) => self.wait_for_row(table, row)?,
                    Holder::Gone => {}
                }
                reader = self.newest_reader(table)?;
            }
        }
        Ok(())
    }

    /// The newest row with a key, whichever there is, once no other transaction is about to delete it.
    pub(super) fn row_with_judged_key(
        &mut self,
        table: &Table,
        index: &IndexSchema,
        values: &[Value],
    ) -> Result<Option<RowId>> {
        debug_assert!(index.judged.is_some());
        debug_assert_eq!(index.key.len(), values.len());
        if !index.nulls_equal() && values.contains(&Value::Null) {
            return Ok(None);
        }
        let reader = self.newest_reader(table)?;
        let range = KeyRange::eq(values.to_vec());
        match reader.index_row_ids(&index.name, &range) {
            // No row holds a value that its column's type cannot.
            Err(e) if e.kind() == ErrorKind::OutOfRange => Ok(None),
            rows => Ok(rows?.last().copied()),
        }
    }

    fn newest_reader(&mut self, table: &Table) -> Result<Reader> {
        let (view, now) = self.newest_covered(table)?;
        Ok(Reader::new(view, now))
    }

    /// Everything committed and what the transaction did itself, in indexes that it has made as well.
    pub(super) fn newest_covered(
        &mut self,
        table: &Table,
    ) -> Result<(ReadView, Arc<Registration>)> {
        self.cover(table)?;
        self.newest(table)
    }

    /// What stands in the way where more than one row has a key.
    fn rows_with(
        &mut self,
        table: &Table,
        index: &IndexSchema,
        reader: &Reader,
        values: &[Value],
    ) -> Result<Option<Holder>> {
        let rows = reader.index_row_ids(&index.name, &KeyRange::eq(values.to_vec()))?;
        if rows.len() < 2 {
            return Ok(None);
        }
        for &row in rows.iter().filter(|row| **row < PROVISIONAL_BASE) {
            if table.state.locks.is_taken(row, self.locks.id(), RowLock::KeyShare) {
                return Ok(Some(Holder::Going(row)));
            }
            // Its end may have come between the two looks.
            if table.state.view_now().mark_of(row)?.is_some() {
                return Ok(Some(Holder::Gone));
            }
        }
        Ok(Some(Holder::Living))
    }
}

/// What becomes of a row that has a key.
enum Holder {
    Living,
    /// Another transaction may be about to delete it.
    Going(RowId),
    /// It was deleted since it was found.
    Gone,
}
