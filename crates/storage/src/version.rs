//! Which files does a reader see, together?
//!
//! A [`TableVersion`] is an immutable set of segments, index runs and mark runs of one table, open
//! and ready to be read. A reader that holds its `Arc` holds all its files (I5): a change makes a new
//! version, and a file goes when the last version with it goes. [`Versions`] keeps the newest version
//! of every table in step with the manifest: a change is first made durable there, then becomes a
//! version.
//!
//! Must not know of memtables or snapshots. Thread safety: versions are immutable; [`Versions`] is
//! shared freely, changes are made one at a time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use onlap_base::names::FileKind;
use onlap_base::{Csn, Error, FileId, IndexId, PROVISIONAL_BASE, Result, RowId, TableId};
use onlap_format::manifest::{MarkRunMeta, RunMeta, SegmentMeta, TableState};
use onlap_format::{IndexSchema, TableSchema};
use parking_lot::Mutex;

use crate::asked::Asked;
use crate::context::StorageContext;
use crate::files::{FileRef, Files};
use crate::marks::MarkRun;
use crate::merge::dead::Sample;
use crate::run::{IndexShape, Run, RunFile};
use crate::segment::Segment;

mod changes;
mod completing;
mod private;
mod read;
mod row_cursor;
mod set;
#[cfg(test)]
mod tests;

pub use private::{PrivateFiles, PrivateMarks};
pub use read::InOrder;
pub use set::{Changed, Versions};

/// A segment of a version.
#[derive(Clone)]
pub struct SegmentEntry {
    /// What the manifest says of it.
    pub meta: SegmentMeta,
    /// Keeps its file.
    pub file: FileRef,
    /// Reads it.
    pub segment: Arc<Segment>,
    /// How many of its rows are dead, as counted last.
    pub(crate) dead: Arc<Mutex<Option<(DeadKey, u64)>>>,
}

/// A run of a version.
pub struct RunEntry {
    /// What the manifest says of it.
    pub meta: RunMeta,
    /// Keep its files, in the order of `meta.files`.
    pub files: Vec<FileRef>,
    /// Reads it.
    pub run: Arc<Run>,
    /// How many of its entries are dead, as counted last, and what that was counted from.
    pub(crate) dead: Mutex<Option<(DeadKey, u64)>>,
    /// The same by a sample, where a row may have several entries.
    pub(crate) sample: Mutex<Option<Sample>>,
}

/// The marks from which dead rows were counted: number of mark runs, the newest one's id, and the
/// highest CSN that counted.
pub(crate) type DeadKey = (usize, FileId, Csn);

/// A mark run of a version.
#[derive(Clone)]
pub struct MarksEntry {
    /// What the manifest says of it.
    pub meta: MarkRunMeta,
    /// Keeps its file.
    pub file: FileRef,
    /// Reads it.
    pub run: Arc<MarkRun>,
}

/// The runs of an index.
#[derive(Clone)]
pub struct IndexVersion {
    /// The index.
    pub id: IndexId,
    /// What its runs have in common.
    pub shape: Arc<IndexShape>,
    /// By first row id; the output of a merge under way stands before its inputs.
    pub runs: Vec<Arc<RunEntry>>,
}

/// Files of a table that belong together.
pub struct TableVersion {
    /// The schema.
    pub schema: Arc<TableSchema>,
    /// By row id.
    pub segments: Vec<SegmentEntry>,
    /// In the order of the schema's indexes.
    pub indexes: Vec<IndexVersion>,
    /// By the CSN of their first mark.
    pub marks: Vec<MarksEntry>,
    /// Those of them with column changes, by the commits that made these.
    changed: Vec<Arc<MarkRun>>,
    /// All rows below are in these files.
    pub flushed_rows: RowId,
    /// All rows and marks up to here are in these files.
    pub flushed_csn: Csn,
    /// Rows from here on may have replaced rows that have no mark yet, and are kept, dead or not.
    /// The highest id where the table takes no blind writes.
    pub resolved: RowId,
}

impl TableVersion {
    /// The version that `state` describes; what `old` has of it is taken over, the rest is opened.
    fn build(
        files: &Arc<Files>,
        state: &TableState,
        old: Option<&TableVersion>,
    ) -> Result<TableVersion> {
        let is_private = state.flushed_rows >= PROVISIONAL_BASE;
        let known = Known { table: state.schema.id, is_private, ..Known::of(old) };
        let segments = state.segments.iter().map(|meta| known.segment(files, meta));
        let marks = state.marks.iter().map(|meta| known.marks(files, meta));
        let index = |index: &IndexSchema| {
            let shape = known.shape(&state.schema, index)?;
            let runs = state.indexes.get(&index.id).map_or(&[][..], |i| &i.runs);
            let runs = runs.iter().map(|meta| known.run(files, (index.id, &shape), meta));
            Ok(IndexVersion { id: index.id, runs: runs.collect::<Result<_>>()?, shape })
        };
        let schema = match old {
            Some(old) if *old.schema == state.schema => Arc::clone(&old.schema),
            _ => Arc::new(state.schema.clone()),
        };
        let segments: Vec<SegmentEntry> = segments.collect::<Result<_>>()?;
        note_missing(&schema, &segments)?;
        let mut version = TableVersion {
            segments,
            indexes: schema.indexes.iter().map(index).collect::<Result<_>>()?,
            marks: marks.collect::<Result<_>>()?,
            resolved: if schema.blind { state.resolved } else { RowId::MAX },
            changed: Vec::new(),
            schema,
            flushed_rows: state.flushed_rows,
            flushed_csn: state.flushed_csn,
        };
        version.sort_changed();
        Ok(version)
    }

    /// What must hold of every version that is about to be made durable: a reader finds a row by the order of the
    /// segments, and an entry by the order of the runs.
    fn assert_order(&self) {
        let rows = |s: &SegmentEntry| s.meta.rows.clone();
        let apart = |pair: &[SegmentEntry]| rows(&pair[0]).end <= rows(&pair[1]).start;
        assert!(
            self.segments.windows(2).all(apart),
            "segments come in row-id order and share no row"
        );
        for entry in &self.segments {
            let ids = entry.meta.rows.end - entry.meta.rows.start;
            assert!(entry.meta.count <= ids, "a segment has no more rows than ids");
        }
        let by_commit = |pair: &[MarksEntry]| pair[0].meta.csns.start <= pair[1].meta.csns.start;
        assert!(self.marks.windows(2).all(by_commit), "mark runs come in commit order");
        assert_eq!(self.indexes.len(), self.schema.indexes.len(), "every index has its runs");
        for index in &self.indexes {
            let by_row = |p: &[Arc<RunEntry>]| p[0].meta.rows.start <= p[1].meta.rows.start;
            assert!(index.runs.windows(2).all(by_row), "runs come in row-id order");
            let whole = |r: &Arc<RunEntry>| r.files.len() == r.meta.files.len();
            assert!(index.runs.iter().all(whole), "a run keeps each of its files");
        }
    }

    /// All its file references.
    fn files(&self) -> impl Iterator<Item = &FileRef> {
        let runs = self.indexes.iter().flat_map(|i| &i.runs).flat_map(|r| &r.files);
        let segments = self.segments.iter().map(|s| &s.file);
        segments.chain(runs).chain(self.marks.iter().map(|m| &m.file))
    }
}

impl std::fmt::Debug for TableVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let files: Vec<&FileRef> = self.files().collect();
        write!(f, "TableVersion({}, {files:?})", self.schema.name)
    }
}

/// Tells segments what their rows read in columns that were added later.
fn note_missing(schema: &TableSchema, segments: &[SegmentEntry]) -> Result<()> {
    segments.iter().try_for_each(|entry| entry.segment.read_as(schema))
}

/// What an older version has already.
#[derive(Default)]
struct Known<'a> {
    table: TableId,
    /// Whether it is a transaction's: its blocks are counted for no table.
    is_private: bool,
    segments: HashMap<FileId, &'a SegmentEntry>,
    shapes: Vec<&'a Arc<IndexShape>>,
    runs: HashMap<u64, &'a Arc<RunEntry>>,
    run_files: HashMap<FileId, (&'a FileRef, &'a Arc<RunFile>)>,
    marks: HashMap<FileId, &'a MarksEntry>,
}

impl<'a> Known<'a> {
    fn of(old: Option<&'a TableVersion>) -> Known<'a> {
        let Some(old) = old else { return Known::default() };
        let runs = || old.indexes.iter().flat_map(|i| &i.runs);
        let run_files = runs().flat_map(|r| r.files.iter().zip(r.run.files()));
        Known {
            table: old.schema.id,
            is_private: false,
            segments: old.segments.iter().map(|s| (s.meta.file, s)).collect(),
            shapes: old.indexes.iter().map(|i| &i.shape).collect(),
            runs: runs().map(|r| (r.meta.id, r)).collect(),
            run_files: run_files.map(|(pin, file)| (file.id(), (pin, file))).collect(),
            marks: old.marks.iter().map(|m| (m.meta.file, m)).collect(),
        }
    }

    fn shape(&self, schema: &TableSchema, index: &IndexSchema) -> Result<Arc<IndexShape>> {
        let shape = IndexShape::of(schema, index)?;
        let same = self.shapes.iter().find(|s| ***s == shape);
        Ok(same.map_or(shape, |s| Arc::clone(s)))
    }

    /// Where blocks of a file are counted.
    fn asked(&self, context: &StorageContext, index: Option<IndexId>) -> Arc<Asked> {
        match self.is_private {
            true => Arc::default(),
            false => context.asked.of(self.table, index),
        }
    }

    fn segment(&self, files: &Arc<Files>, meta: &SegmentMeta) -> Result<SegmentEntry> {
        if let Some(entry) = self.segments.get(&meta.file) {
            return Ok(SegmentEntry { meta: meta.clone(), ..(*entry).clone() });
        }
        let context = files.context();
        let asked = self.asked(context, None);
        let segment = Arc::new(Segment::open_counted(context, meta.file, meta.adopted, asked)?);
        let footer = segment.footer();
        let same = (footer.first_row_id..footer.end_row_id, footer.rows, footer.table)
            == (meta.rows.clone(), meta.count, self.table);
        expect_same(FileKind::Segment(meta.file), same && segment.bytes() == meta.bytes)?;
        let file = files.pin(FileKind::Segment(meta.file), meta.bytes);
        Ok(SegmentEntry { meta: meta.clone(), file, segment, dead: Arc::default() })
    }

    fn marks(&self, files: &Arc<Files>, meta: &MarkRunMeta) -> Result<MarksEntry> {
        if let Some(entry) = self.marks.get(&meta.file) {
            return Ok(MarksEntry { meta: meta.clone(), ..(*entry).clone() });
        }
        let context = files.context();
        let asked = self.asked(context, None);
        let run = Arc::new(MarkRun::open_counted(context, meta.file, meta.adopted, asked)?);
        let same = (run.bytes(), run.footer().table) == (meta.bytes, self.table);
        expect_same(FileKind::Marks(meta.file), same && run.footer().rows == meta.rows)?;
        let file = files.pin(FileKind::Marks(meta.file), meta.bytes);
        Ok(MarksEntry { meta: meta.clone(), file, run })
    }

    fn run(
        &self,
        files: &Arc<Files>,
        (index, shape): (IndexId, &Arc<IndexShape>),
        meta: &RunMeta,
    ) -> Result<Arc<RunEntry>> {
        let same = |e: &&&Arc<RunEntry>| e.meta == *meta && e.run.shape() == shape;
        if let Some(entry) = self.runs.get(&meta.id).filter(same) {
            return Ok(Arc::clone(entry));
        }
        let (mut pins, mut open) = (Vec::new(), Vec::new());
        for file in &meta.files {
            match self.run_files.get(&file.file) {
                Some((pin, known)) => {
                    pins.push((*pin).clone());
                    open.push(Arc::clone(known));
                }
                None => {
                    let (context, at) = (files.context(), (file.file, file.base));
                    let asked = self.asked(context, Some(index));
                    let run = RunFile::open_counted(context, shape, at, asked)?;
                    let same = (run.bytes(), run.entries()) == (file.bytes, file.entries);
                    let within =
                        meta.rows.start <= run.rows().start && run.rows().end <= meta.rows.end;
                    // Files of one run differ in nothing else.
                    let (first, last) = (&run.stats().min, &run.stats().max);
                    let keys = (first, last) == (&file.first_key, &file.last_key);
                    expect_same(FileKind::Run(file.file), same && within && keys)?;
                    open.push(Arc::new(run));
                    pins.push(files.pin(FileKind::Run(file.file), file.bytes));
                }
            }
        }
        let run = Arc::new(Run::new(Arc::clone(shape), open, meta.trim.clone()));
        let (dead, sample) = (Mutex::new(None), Mutex::new(None));
        Ok(Arc::new(RunEntry { meta: meta.clone(), files: pins, run, dead, sample }))
    }
}

/// Refuses a file that is whole but not the one that the manifest means: another one has its name.
fn expect_same(file: FileKind, same: bool) -> Result<()> {
    match same {
        true => Ok(()),
        false => {
            let text = "another file than the manifest says, under its name";
            Err(Error::corruption(file.name(), 0, text))
        }
    }
}

/// Dooms the files that the newer version no longer has.
fn doom_missing(old: &TableVersion, new: Option<&TableVersion>) {
    let kept: HashSet<FileKind> =
        new.map(|v| v.files().map(FileRef::kind).collect()).unwrap_or_default();
    old.files().filter(|f| !kept.contains(&f.kind())).for_each(FileRef::doom);
}
