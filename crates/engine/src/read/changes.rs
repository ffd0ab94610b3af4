//! Which values do rows have, after what was done to their columns?
//!
//! Whoever has read columns of rows lays the column changes up to its snapshot over them: those in
//! files, which know what the segments have already, then those in memtables, the oldest first, then the
//! transaction's own. A table without changes costs a look at a few flags.
//!
//! Thread safety: scratch belongs to one reader.

use onlap_base::{PROVISIONAL_BASE, Result, RowId};
use onlap_format::Column;
use onlap_storage::marks::{ChangeScratch, Patched};

use super::ReadView;

impl ReadView {
    /// Whether any row may have column changes that are not in a segment.
    pub(super) fn has_changes(&self) -> bool {
        !self.view.version.changed().is_empty()
            || self.view.memtables_newest_first().any(|m| m.has_changes())
            || self.own.as_ref().is_some_and(|own| own.memtable.has_changes())
    }

    /// Lays changes over rows `ids`, whose columns, those at positions `columns` of the table, stand in
    /// `out` from place `at` on, in the order of the ids. These rise, or fall as a whole.
    pub(super) fn lay_changes(
        &self,
        columns: &[usize],
        ids: &[RowId],
        out: &mut [Column],
        at: usize,
        scratch: &mut ChangeScratch,
    ) -> Result<()> {
        if !self.has_changes() || ids.is_empty() {
            return Ok(());
        }
        let backward = ids[0] > ids[ids.len() - 1];
        let turned: Vec<RowId>;
        let ids = match backward {
            false => ids,
            true => {
                turned = ids.iter().rev().copied().collect();
                &turned
            }
        };
        // Own rows are replaced, not changed; they come last.
        let landed = ids.partition_point(|r| *r < PROVISIONAL_BASE);
        let at = if backward { at + ids.len() - landed } else { at };
        let ids = &ids[..landed];
        for (&position, to) in columns.iter().zip(out) {
            let column = self.view.schema.columns[position].id;
            self.view.version.lay_changes(column, self.csn, ids, to, at, backward, scratch)?;
            let mut memtables: Vec<_> = self.view.memtables_newest_first().collect();
            memtables.retain(|m| m.has_changes());
            let own = self.own.as_ref().filter(|own| own.memtable.has_changes());
            if memtables.is_empty() && own.is_none() {
                continue;
            }
            let mut rows = Patched::new(to, at, ids, backward);
            for memtable in memtables.into_iter().rev() {
                memtable.lay_changes(column, self.csn, &mut rows);
            }
            if let Some(own) = own {
                own.memtable.lay_changes(column, own.changes, &mut rows);
            }
            rows.finish();
        }
        Ok(())
    }
}
