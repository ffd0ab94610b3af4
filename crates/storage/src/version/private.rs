//! Which files belong to a transaction that has not committed yet?
//!
//! Their row ids count from the transaction's first row in the table (ordinals), as no task knows its
//! row id before the commit, and no CSN is in them. They become part of the table by one edit each,
//! which names base and CSN ([`PrivateFiles::edits`]); until then [`TableVersion::private`] shows them
//! to the transaction under provisional ids. No manifest names them: a crash leaves orphans.
//!
//! Thread safety: plain data.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::names::FileKind;
use onlap_base::{Csn, IndexId, PROVISIONAL_BASE, Result, RowId, TableId};
use onlap_format::manifest::{Adopted, Edit, ManifestState, MarkRunMeta, RunMeta, SegmentMeta};
use onlap_format::marks::MarkShift;
use onlap_format::{IndexSchema, TableSchema};

use super::{IndexVersion, Known, TableVersion};
use crate::files::Files;

#[cfg(test)]
mod tests;

/// Files of one table, in the order in which they were written.
#[derive(Clone, Debug, Default)]
pub struct PrivateFiles {
    /// Rows, by ordinal.
    pub segments: Vec<SegmentMeta>,
    /// Entries of the rows of each segment.
    pub runs: Vec<(IndexId, RunMeta)>,
    /// Marks on rows of the table and on own rows, in the order of the transaction's statements:
    /// their CSNs are its count of marks.
    pub marks: Vec<PrivateMarks>,
    /// The other way round: which row, by its provisional id where it is an own one, each successor
    /// replaced. Of no use to other transactions.
    pub before: Vec<MarkRunMeta>,
}

/// A mark run of a transaction. Successors are ordinals.
#[derive(Clone, Debug)]
pub struct PrivateMarks {
    /// Whether the marked rows are ordinals too.
    pub own: bool,
    /// What the manifest will say of it, with the file's own row ids.
    pub meta: MarkRunMeta,
}

impl PrivateMarks {
    fn placed(&self, base: RowId, csn: Csn) -> MarkRunMeta {
        debug_assert!(csn == 0 || base < PROVISIONAL_BASE, "a commit gives real row ids");
        let rows = if self.own { base } else { 0 };
        MarkRunMeta {
            rows: rows + self.meta.rows.start..rows + self.meta.rows.end,
            csns: if csn == 0 { self.meta.csns.clone() } else { csn..csn + 1 },
            adopted: Some(MarkShift { rows, successors: base, csn }),
            ..self.meta.clone()
        }
    }
}

impl PrivateFiles {
    /// One behind the last ordinal that is in files.
    pub fn end(&self) -> RowId {
        self.segments.last().map_or(0, |s| s.rows.end)
    }

    /// Names of all files.
    pub fn files(&self) -> impl Iterator<Item = FileKind> {
        let segments = self.segments.iter().map(|s| FileKind::Segment(s.file));
        let runs = self.runs.iter().flat_map(|(_, run)| &run.files);
        let marks = self.marks.iter().map(|m| &m.meta).chain(&self.before);
        let marks = marks.map(|meta| FileKind::Marks(meta.file));
        segments.chain(runs.map(|f| FileKind::Run(f.file))).chain(marks)
    }

    /// What makes them files of the table, with ordinal 0 as row `base`, from commit `csn` on; 0:
    /// marks keep the CSNs that they were written with.
    pub fn edits(&self, table: TableId, base: RowId, csn: Csn) -> impl Iterator<Item = Edit> {
        let place = move |rows: &Range<RowId>| base + rows.start..base + rows.end;
        let segment = move |s: &SegmentMeta| {
            let adopted = Some(Adopted { base, csn });
            Edit::AddSegment(table, SegmentMeta { rows: place(&s.rows), adopted, ..s.clone() })
        };
        let run = move |(index, run): &(IndexId, RunMeta)| {
            let mut run = RunMeta { rows: place(&run.rows), ..run.clone() };
            run.files.iter_mut().for_each(|f| f.base = base);
            Edit::AddRun(table, *index, run)
        };
        let marks = self.marks.iter().map(move |m| Edit::AddMarks(table, m.placed(base, csn)));
        self.segments.iter().map(segment).chain(self.runs.iter().map(run)).chain(marks)
    }
}

impl TableVersion {
    /// A table without files, which no manifest knows yet.
    ///
    /// # Errors
    /// Those of a schema that makes no sense.
    pub fn empty(files: &Arc<Files>, schema: &TableSchema) -> Result<TableVersion> {
        let mut state = ManifestState::default();
        state.apply(&Edit::CreateTable(schema.clone()))?;
        TableVersion::build(files, &state.tables[&schema.id], None)
    }

    /// The files as their transaction sees them: row ids count from [`PROVISIONAL_BASE`]. What
    /// `old`, an earlier such version, has open is taken over.
    ///
    /// # Errors
    /// Those of opening files.
    pub fn private(
        files: &Arc<Files>,
        schema: &TableSchema,
        private: &PrivateFiles,
        old: Option<&TableVersion>,
    ) -> Result<TableVersion> {
        let mut state = ManifestState::default();
        state.apply(&Edit::CreateTable(schema.clone()))?;
        for edit in private.edits(schema.id, PROVISIONAL_BASE, 0) {
            state.apply(&edit)?;
        }
        state.apply(&Edit::Flushed(schema.id, PROVISIONAL_BASE + private.end(), 0))?;
        TableVersion::build(files, &state.tables[&schema.id], old)
    }

    /// The same files under another schema, of which values have the same forms in files: an index that
    /// this version knows keeps its runs, others have those of `runs`. What `old`, an earlier such version, has open is taken over.
    ///
    /// # Errors
    /// Those of opening files.
    pub fn with_indexes(
        &self,
        files: &Arc<Files>,
        schema: &Arc<TableSchema>,
        runs: &[(IndexId, RunMeta)],
        old: Option<&TableVersion>,
    ) -> Result<TableVersion> {
        let known = Known { is_private: true, ..Known::of(old) };
        let same = Known::of(Some(self));
        super::note_missing(schema, &self.segments)?;
        let index = |index: &IndexSchema| {
            if let Some(version) = self.index(index.id) {
                let shape = same.shape(schema, index)?;
                return Ok(IndexVersion { id: index.id, runs: version.runs.clone(), shape });
            }
            let shape = known.shape(schema, index)?;
            let runs = runs.iter().filter(|(id, _)| *id == index.id);
            let runs = runs.map(|(_, meta)| known.run(files, (index.id, &shape), meta));
            let mut runs = runs.collect::<Result<Vec<_>>>()?;
            runs.sort_by_key(|run| run.meta.rows.start);
            Ok(IndexVersion { id: index.id, runs, shape })
        };
        Ok(TableVersion {
            indexes: schema.indexes.iter().map(index).collect::<Result<_>>()?,
            schema: Arc::clone(schema),
            segments: self.segments.clone(),
            marks: self.marks.clone(),
            changed: self.changed.clone(),
            flushed_rows: self.flushed_rows,
            flushed_csn: self.flushed_csn,
            resolved: self.resolved,
        })
    }
}
