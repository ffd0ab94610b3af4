//! How do the marks of a transaction get into files before it has a CSN?
//!
//! Two mark runs: of committed rows, whose successors count from the transaction's first row, and of
//! the transaction's own rows that died after they were spilled, which count from there themselves.
//! The manifest's metas hold what is missing ([`MarkShift`]).
//!
//! Thread safety: plain data.

use onlap_base::names::FileKind;
use onlap_base::{Csn, Result, RowId, TableId};
use onlap_format::manifest::{Edit, MarkRunMeta};
use onlap_format::marks::{Mark, MarkShift};
use onlap_storage::marks::{MarkRunSpec, MarkRunWriter};

use super::Part;
use crate::database::Shared;
use crate::spill;

/// Mark runs of one table; removed with this unless kept.
pub(super) struct WrittenMarks<'a> {
    shared: &'a Shared,
    committed: Option<MarkRunMeta>,
    own: Option<MarkRunMeta>,
}

impl WrittenMarks<'_> {
    pub(super) fn write<'a>(shared: &'a Shared, part: &Part) -> Result<WrittenMarks<'a>> {
        let mut written = WrittenMarks { shared, committed: None, own: None };
        let table = part.schema.id;
        let mark = |row, successor| Mark { row, csn: 0, successor };
        let committed = part.marks.iter().map(|&(row, successor)| mark(row, successor));
        written.committed = write(shared, table, committed)?;
        let own = part.dead.iter().map(|row| mark(row, None));
        written.own = write(shared, table, own)?;
        Ok(written)
    }

    /// What makes them mark runs of the table, when the transaction's first row is `base`.
    pub(super) fn edits(&self, table: TableId, base: RowId, csn: Csn) -> Vec<Edit> {
        let place = |meta: &MarkRunMeta, rows: RowId| {
            let meta = MarkRunMeta {
                rows: rows + meta.rows.start..rows + meta.rows.end,
                csns: csn..csn + 1,
                adopted: Some(MarkShift { rows, successors: base, csn }),
                ..meta.clone()
            };
            Edit::AddMarks(table, meta)
        };
        let committed = self.committed.iter().map(|meta| place(meta, 0));
        committed.chain(self.own.iter().map(|meta| place(meta, base))).collect()
    }

    /// The files are the table's now, or nobody knows whether they are.
    pub(super) fn keep(&mut self) {
        (self.committed, self.own) = (None, None);
    }
}

impl Drop for WrittenMarks<'_> {
    fn drop(&mut self) {
        let left = self.committed.iter().chain(&self.own);
        spill::discard(self.shared, left.map(|meta| FileKind::Marks(meta.file)));
    }
}

/// One mark run, if there is a mark.
fn write(
    shared: &Shared,
    table: TableId,
    marks: impl DoubleEndedIterator<Item = Mark> + Clone,
) -> Result<Option<MarkRunMeta>> {
    let ends = marks.clone().next().zip(marks.clone().next_back());
    let Some((first, last)) = ends else { return Ok(None) };
    let spec = MarkRunSpec { table, rows: first.row..last.row + 1, csns: 0..1 };
    let mut writer = MarkRunWriter::create(&shared.storage, spec)?;
    for mark in marks {
        writer.push(&[mark])?;
    }
    writer.finish().map(Some)
}
