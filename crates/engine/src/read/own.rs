//! What does a transaction see of its own work?
//!
//! Its rows lie in a private memtable under provisional ids, which are above all others, so they come
//! last in row order, some of them in files where memory had no room ([`crate::spill`]); its marks lie there too, numbered in the order of its statements. A statement
//! sees the rows and marks that were there when it began, and so never meets its own output.
//!
//! Thread safety: immutable except for the memtable, which grows at its end.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::{Csn, IndexId, PROVISIONAL_BASE, Result, RowId};
use onlap_storage::version::TableVersion;

use super::ReadView;
use onlap_memtable::Memtable;

/// A transaction's own rows and marks as of a statement.
#[derive(Debug)]
pub(crate) struct OwnRows {
    pub memtable: Arc<Memtable>,
    /// Rows and marks that memory had no room for.
    pub files: Option<Arc<TableVersion>>,
    /// Rows below are seen.
    pub end: RowId,
    /// Marks up to this number are seen.
    pub marks: Csn,
    /// Column changes up to this number are seen.
    pub changes: Csn,
    /// Rows, the table's and own ones, that own blind rows replace, ascending.
    pub hidden: Vec<RowId>,
    /// Whether the newest own row of a key decides, dead or not: some were written blindly.
    pub decides: bool,
}

/// What a transaction's own rows say of a key.
pub(super) enum OwnRow {
    /// Its living row.
    Found(RowId),
    /// Nobody has it.
    Gone,
    /// Nothing: the table knows.
    Unknown,
}

impl OwnRows {
    /// The living row with a whole key (key bytes) of a unique index.
    pub(super) fn row_by_key(
        &self,
        index: IndexId,
        key: &[u8],
        probes: &mut u64,
    ) -> Result<OwnRow> {
        // A row that died before there was the index may stand before one that lives.
        let mut below = self.end;
        while let Some(row) = self.memtable.newest_with_key(index, key, below) {
            if !self.is_dead(row)? {
                return Ok(OwnRow::Found(row));
            }
            if self.decides {
                return Ok(OwnRow::Gone);
            }
            below = row;
        }
        let Some(files) = &self.files else { return Ok(OwnRow::Unknown) };
        below = self.end;
        while let Some(row) = files.newest_with_key(index, key, below, probes)? {
            if !self.is_dead(row)? {
                return Ok(OwnRow::Found(row));
            }
            below = row;
        }
        Ok(OwnRow::Unknown)
    }

    pub(super) fn is_dead(&self, row: RowId) -> Result<bool> {
        let seen = |(number, _): (Csn, Option<RowId>)| number <= self.marks;
        if let Some(mark) = self.memtable.mark_of(row) {
            return Ok(seen(mark));
        }
        let Some(files) = &self.files else { return Ok(false) };
        Ok(files.mark_of(row)?.is_some_and(seen))
    }

    /// Rows of a range of ids, the table's or its own, that the transaction deleted, in any order.
    pub(super) fn dead_rows(&self, rows: Range<RowId>) -> Result<Vec<RowId>> {
        let mut dead = self.memtable.dead_rows(rows.clone(), self.marks);
        if let Some(files) = &self.files {
            dead.extend(files.dead_rows(rows.clone(), self.marks)?);
        }
        let from = self.hidden.partition_point(|&r| r < rows.start);
        let to = self.hidden.partition_point(|&r| r < rows.end).max(from);
        dead.extend_from_slice(&self.hidden[from..to]);
        Ok(dead)
    }

    pub(super) fn has_marks(&self) -> bool {
        !self.hidden.is_empty()
            || self.memtable.has_marks()
            || self.files.as_ref().is_some_and(|files| files.has_marks())
    }
}

impl ReadView {
    /// Whether a row was there, dead or not.
    pub(super) fn in_sight(&self, row: RowId) -> bool {
        row < self.count
            || row >= PROVISIONAL_BASE && self.own.as_ref().is_some_and(|own| row < own.end)
    }

    /// Rows of a memtable that may be seen.
    pub(super) fn rows_of(&self, memtable: &Memtable) -> Range<RowId> {
        match &self.own {
            Some(own) if memtable.first_row() >= PROVISIONAL_BASE => PROVISIONAL_BASE..own.end,
            _ => memtable.dead_prefix(self.csn)..self.count,
        }
    }

    /// Whether any row is marked as deleted.
    pub(super) fn has_marks(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.has_marks()) || self.view.has_marks()
    }

    /// Clears `keep[i]` where row `rows[i]` (ascending) is deleted.
    pub(super) fn drop_dead(&self, rows: &[RowId], keep: &mut [bool]) -> Result<()> {
        self.view.drop_dead(rows, self.csn, keep)?;
        if let Some(own) = &self.own {
            own.memtable.drop_dead(rows, own.marks, keep);
            if let Some(files) = &own.files {
                files.drop_dead(rows, own.marks, keep)?;
            }
            if !own.hidden.is_empty() {
                let hidden = |row: &RowId| own.hidden.binary_search(row).is_ok();
                rows.iter().zip(keep).for_each(|(row, keep)| *keep &= !hidden(row));
            }
        }
        Ok(())
    }
}
