//! How does a transaction read?
//!
//! As a snapshot does, with its own rows and marks above the commits that the statement sees. At
//! SERIALIZABLE, what was asked is noted, whether an answer was found or not.

use onlap_base::{Error, ErrorKind, Result, RowId};
use onlap_format::{Row, Value};

use super::Transaction;
use crate::database::Table;
use crate::read::{KeyRange, Predicate, RowBatch, RowSet, Rows, Scan};

impl Transaction {
    /// Reads the row with this primary key as this statement sees it.
    ///
    /// # Errors
    /// As [`crate::Snapshot::get`].
    pub fn get(&mut self, table: &Table, key: &[Value]) -> Result<Option<Row>> {
        self.statement()?;
        match self.find(table, key)? {
            Some(found) => self.read_found(table, found).map(Some),
            None => Ok(None),
        }
    }

    /// As [`crate::Snapshot::get_by`].
    pub fn get_by(
        &mut self,
        table: &Table,
        index: &str,
        key: &[Value],
        columns: Option<&[&str]>,
    ) -> Result<Option<Row>> {
        self.reading(table, |tx| {
            if tx.isolation() == super::Isolation::Serializable {
                tx.note_range(table, index, &KeyRange::eq(key.to_vec()))?;
            }
            tx.reader(table)?.get_by(index, key, columns)
        })
    }

    /// The rows with these keys of a unique index as this statement sees them, in the order of the keys; `None` where they are
    /// not whole keys without NULL, or the index does not tell by itself: then [`Transaction::index_scan`] does.
    ///
    /// # Errors
    /// As [`crate::Snapshot::index_scan`].
    pub fn rows_with_keys(
        &mut self,
        table: &Table,
        index: &str,
        keys: &[KeyRange],
        columns: Option<&[&str]>,
    ) -> Result<Option<RowBatch>> {
        self.reading(table, |tx| {
            for key in keys {
                tx.note_range(table, index, key)?;
            }
            tx.reader(table)?.rows_with_keys(index, keys, columns)
        })
    }

    /// As [`crate::Snapshot::scan`]; own rows come last. What the transaction does later is not met.
    pub fn scan(&mut self, table: &Table, scan: Scan) -> Result<Rows> {
        self.reading(table, |tx| {
            tx.note_table(table)?;
            tx.reader(table)?.scan(&scan)
        })
    }

    /// As [`crate::Snapshot::index_scan`]. What the transaction does later is not met.
    pub fn index_scan(
        &mut self,
        table: &Table,
        index: &str,
        range: KeyRange,
        scan: Scan,
    ) -> Result<Rows> {
        self.reading(table, |tx| {
            tx.note_range(table, index, &range)?;
            tx.reader(table)?.index_scan(index, &range, &scan)
        })
    }

    /// As [`crate::Snapshot::index_row_ids`]. Own rows have ids from 2^63 on, which change with the
    /// commit.
    pub fn index_row_ids(
        &mut self,
        table: &Table,
        index: &str,
        range: KeyRange,
    ) -> Result<Vec<RowId>> {
        self.reading(table, |tx| {
            tx.note_range(table, index, &range)?;
            tx.reader(table)?.index_row_ids(index, &range)
        })
    }

    /// As [`crate::Snapshot::index_count`].
    pub fn index_count(&mut self, table: &Table, index: &str, range: KeyRange) -> Result<u64> {
        self.reading(table, |tx| {
            tx.note_range(table, index, &range)?;
            tx.reader(table)?.index_count(index, &range)
        })
    }

    /// As [`crate::Snapshot::distinct`], own rows included.
    pub fn distinct(
        &mut self,
        table: &Table,
        index: &str,
        prefix_columns: usize,
        range: KeyRange,
    ) -> Result<Vec<Row>> {
        self.reading(table, |tx| {
            tx.note_range(table, index, &range)?;
            tx.reader(table)?.distinct(index, prefix_columns, &range)
        })
    }

    /// As [`crate::Snapshot::first_per_group`], own rows included.
    pub fn first_per_group(
        &mut self,
        table: &Table,
        index: &str,
        prefix_columns: usize,
        range: KeyRange,
        scan: Scan,
    ) -> Result<RowBatch> {
        self.reading(table, |tx| {
            tx.note_range(table, index, &range)?;
            tx.reader(table)?.first_per_group(index, prefix_columns, &range, &scan)
        })
    }

    /// As [`crate::Snapshot::row_set`], own rows included.
    pub fn row_set(&mut self, table: &Table, predicate: &Predicate) -> Result<RowSet> {
        self.reading(table, |tx| {
            tx.note_predicate(table, predicate)?;
            tx.reader(table)?.row_set(predicate)
        })
    }

    /// As [`crate::Snapshot::rows_near`], own rows included.
    pub fn rows_near(&mut self, table: &Table, predicate: &Predicate) -> Result<RowSet> {
        self.reading(table, |tx| {
            tx.note_predicate(table, predicate)?;
            tx.reader(table)?.rows_near(predicate)
        })
    }

    /// As [`crate::Snapshot::fetch`], own rows included.
    pub fn fetch(
        &mut self,
        table: &Table,
        rows: &[RowId],
        columns: Option<&[&str]>,
    ) -> Result<RowBatch> {
        self.reading(table, |tx| {
            let found = tx.reader(table)?.fetch(rows, columns)?;
            tx.note_rows(table, &found.row_ids)?;
            Ok(found)
        })
    }

    /// As [`crate::Snapshot::fetch_set`], own rows included.
    pub fn fetch_set(
        &mut self,
        table: &Table,
        rows: &RowSet,
        columns: Option<&[&str]>,
    ) -> Result<RowBatch> {
        self.reading(table, |tx| {
            let found = tx.reader(table)?.fetch_set(rows, columns)?;
            tx.note_rows(table, &found.row_ids)?;
            Ok(found)
        })
    }

    /// As [`crate::Snapshot::set_scan`], own rows included. What the transaction does later is not met.
    pub fn set_scan(&mut self, table: &Table, rows: RowSet, scan: Scan) -> Result<Rows> {
        self.reading(table, |tx| {
            if tx.isolation() == super::Isolation::Serializable {
                tx.note_rows(table, &rows.rows())?;
            }
            tx.reader(table)?.set_scan(rows, &scan)
        })
    }

    /// As [`crate::Snapshot::count`].
    pub fn count(&mut self, table: &Table) -> Result<u64> {
        self.reading(table, |tx| {
            tx.note_table(table)?;
            tx.reader(table)?.count()
        })
    }

    /// Reads as a part of the statement under way. Where another transaction took what it reads by from the table, since the
    /// statement looked which indexes and columns there are, it has to begin anew.
    fn reading<T>(
        &mut self,
        table: &Table,
        read: impl FnOnce(&mut Transaction) -> Result<T>,
    ) -> Result<T> {
        self.statement()?;
        let read = read(self);
        self.or_begin_anew(table, read)
    }

    pub(super) fn or_begin_anew<T>(&mut self, table: &Table, read: Result<T>) -> Result<T> {
        match read {
            Err(e) if is_of_form(&e) && table.check_seen().is_err() => {
                let error = self.begin_anew(table);
                self.outdated &= self.written() == self.written_before;
                self.without_index = self.outdated;
                Err(error)
            }
            read => read,
        }
    }

    /// How much the transaction has written, in any unit: more with each row and mark.
    pub(super) fn written(&self) -> usize {
        let all = self.tables.iter();
        all.map(|b| b.end() + b.events_end() + b.changes.len()).sum()
    }
}

/// Whether an error says that a table has not what it was to be read by.
fn is_of_form(e: &Error) -> bool {
    matches!(e.kind(), ErrorKind::UnknownIndex | ErrorKind::UnknownColumn)
}
