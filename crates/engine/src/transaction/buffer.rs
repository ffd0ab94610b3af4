//! What does a transaction do to one table, before anybody sees it?
//!
//! New rows in column form with provisional ids (ordinals), marks on committed rows, and the set of
//! own rows that died again. Rows that die inside the transaction get no row id: the buffer is
//! compacted before it is handed to [`crate::commit`].
//!
//! Thread safety: belongs to its transaction.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use onlap_base::{PROVISIONAL_BASE, Result, RowId};
use onlap_format::{Batch, Column, TableSchema};

use super::MARK_BYTES;
use crate::commit::{PendingMark, TableWrite};
use crate::database::Table;
use crate::table::{index_positions, key_def};
use crate::unique;

/// The changes to one table.
pub(super) struct Buffer {
    pub(super) table: Table,
    pub(super) schema: Arc<TableSchema>,
    pub(super) rows: Batch,
    /// Ordinals of own rows that died again.
    pub(super) dead: HashSet<usize>,
    pub(super) marks: Vec<PendingMark>,
    /// Position in `marks` of a marked row.
    pub(super) marked: HashMap<RowId, usize>,
    /// Position in `marks` by the ordinal of the successor.
    successors: HashMap<usize, usize>,
    /// Own live rows by primary key, built when first asked for, and how many rows it covers.
    by_key: HashMap<Vec<u8>, usize>,
    by_key_rows: usize,
    /// Every value of the serial column so far came from the counter.
    pub(super) counter_only: bool,
    pub(super) bytes: usize,
}

/// A row as a transaction sees it.
#[derive(Clone, Copy)]
pub(super) enum Found {
    Committed(RowId),
    Own(usize),
}

impl Buffer {
    pub(super) fn new(table: Table) -> Buffer {
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

    pub(super) fn delete(&mut self, found: Found) {
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
    pub(super) fn succeed(&mut self, found: Found, ordinal: usize) {
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
    pub(super) fn own_row(&mut self, key: &[u8]) -> Option<usize> {
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
    pub(super) fn finish(mut self) -> Result<TableWrite> {
        if !self.dead.is_empty() {
            self.compact();
        }
        let counter = self.schema.serial();
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
