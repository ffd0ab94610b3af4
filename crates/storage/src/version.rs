//! Which files does a reader see, together?
//!
//! A [`TableVersion`] is an immutable set of segments, index runs and mark runs of one table. Whoever
//! holds its `Arc` holds all its files (I5): a change makes a new version, and a file goes when the
//! last version with it goes. [`Versions`] keeps the newest version of every table in step with the
//! manifest: a change is first made durable there, then becomes a version.
//!
//! Must not know of memtables or snapshots. Thread safety: versions are immutable; [`Versions`] is
//! shared freely, changes are made one at a time.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use onlap_base::names::FileKind;
use onlap_base::{Csn, FileId, IndexId, Result, RowId, TableId};
use onlap_format::TableSchema;
use onlap_format::manifest::{
    Edit, ManifestState, MarkRunMeta, RunMeta, SegmentMeta, TableState, WrittenTotals,
};
use parking_lot::RwLock;

use crate::context::StorageContext;
use crate::files::{FileRef, Files};
use crate::manifest::{Manifest, touched_tables};
use crate::written::{Purpose, Written};

#[cfg(test)]
mod tests;

/// A segment of a version.
#[derive(Debug)]
pub struct SegmentEntry {
    /// What the manifest says of it.
    pub meta: SegmentMeta,
    /// Keeps its file.
    pub file: FileRef,
}

/// A run of a version.
#[derive(Debug)]
pub struct RunEntry {
    /// What the manifest says of it.
    pub meta: RunMeta,
    /// Keep its files, in the order of `meta.files`.
    pub files: Vec<FileRef>,
}

/// A mark run of a version.
#[derive(Debug)]
pub struct MarksEntry {
    /// What the manifest says of it.
    pub meta: MarkRunMeta,
    /// Keeps its file.
    pub file: FileRef,
}

/// The runs of an index.
#[derive(Clone, Debug)]
pub struct IndexVersion {
    /// The index.
    pub id: IndexId,
    /// By first row id; the output of a merge under way stands before its inputs.
    pub runs: Vec<Arc<RunEntry>>,
}

/// Files of a table that belong together.
#[derive(Debug)]
pub struct TableVersion {
    /// The schema.
    pub schema: Arc<TableSchema>,
    /// By row id.
    pub segments: Vec<Arc<SegmentEntry>>,
    /// In the order of the schema's indexes.
    pub indexes: Vec<IndexVersion>,
    /// In the order in which they were added.
    pub marks: Vec<Arc<MarksEntry>>,
    /// All rows below are in these files.
    pub flushed_rows: RowId,
    /// All rows and marks up to here are in these files.
    pub flushed_csn: Csn,
}

impl TableVersion {
    /// The runs of an index.
    pub fn index(&self, id: IndexId) -> Option<&IndexVersion> {
        self.indexes.iter().find(|i| i.id == id)
    }

    /// The segment that stands for a row id; ids between segments are of rows long dead.
    pub fn segment_of(&self, row: RowId) -> Option<&Arc<SegmentEntry>> {
        let at = self.segments.partition_point(|s| s.meta.rows.end <= row);
        self.segments.get(at).filter(|s| s.meta.rows.contains(&row))
    }

    /// The version that `state` describes; what `old` has of it is taken over.
    fn build(files: &Arc<Files>, state: &TableState, old: Option<&TableVersion>) -> TableVersion {
        let known = Known::of(old);
        let segment = |meta: &SegmentMeta| match known.segments.get(&meta.file) {
            Some(entry) if entry.meta == *meta => Arc::clone(entry),
            _ => {
                let file = known.pin(files, FileKind::Segment(meta.file));
                Arc::new(SegmentEntry { meta: meta.clone(), file })
            }
        };
        let marks = |meta: &MarkRunMeta| match known.marks.get(&meta.file) {
            Some(entry) if entry.meta == *meta => Arc::clone(entry),
            _ => {
                let file = known.pin(files, FileKind::Marks(meta.file));
                Arc::new(MarksEntry { meta: meta.clone(), file })
            }
        };
        let run = |meta: &RunMeta| match known.runs.get(&meta.id) {
            Some(entry) if entry.meta == *meta => Arc::clone(entry),
            _ => {
                let pins = meta.files.iter().map(|f| known.pin(files, FileKind::Run(f.file)));
                Arc::new(RunEntry { meta: meta.clone(), files: pins.collect() })
            }
        };
        let indexes = state.schema.indexes.iter().map(|i| {
            let runs = state.indexes.get(&i.id).map(|s| s.runs.iter().map(run).collect());
            IndexVersion { id: i.id, runs: runs.unwrap_or_default() }
        });
        let schema = match old {
            Some(old) if *old.schema == state.schema => Arc::clone(&old.schema),
            _ => Arc::new(state.schema.clone()),
        };
        TableVersion {
            schema,
            segments: state.segments.iter().map(segment).collect(),
            indexes: indexes.collect(),
            marks: state.marks.iter().map(marks).collect(),
            flushed_rows: state.flushed_rows,
            flushed_csn: state.flushed_csn,
        }
    }

    /// All its file references.
    fn files(&self) -> impl Iterator<Item = &FileRef> {
        let runs = self.indexes.iter().flat_map(|i| &i.runs).flat_map(|r| &r.files);
        let segments = self.segments.iter().map(|s| &s.file);
        segments.chain(runs).chain(self.marks.iter().map(|m| &m.file))
    }
}

/// What an older version has already.
#[derive(Default)]
struct Known<'a> {
    segments: HashMap<FileId, &'a Arc<SegmentEntry>>,
    runs: HashMap<u64, &'a Arc<RunEntry>>,
    marks: HashMap<FileId, &'a Arc<MarksEntry>>,
    pins: HashMap<FileKind, &'a FileRef>,
}

impl<'a> Known<'a> {
    fn of(old: Option<&'a TableVersion>) -> Known<'a> {
        let Some(old) = old else { return Known::default() };
        let runs = old.indexes.iter().flat_map(|i| &i.runs);
        Known {
            segments: old.segments.iter().map(|s| (s.meta.file, s)).collect(),
            runs: runs.map(|r| (r.meta.id, r)).collect(),
            marks: old.marks.iter().map(|m| (m.meta.file, m)).collect(),
            pins: old.files().map(|f| (f.kind(), f)).collect(),
        }
    }

    /// The one reference of a file.
    fn pin(&self, files: &Arc<Files>, kind: FileKind) -> FileRef {
        self.pins.get(&kind).map_or_else(|| files.pin(kind), |f| (*f).clone())
    }
}

/// A table's newest version after a change; `None` when the table was dropped.
pub type Changed = (TableId, Option<Arc<TableVersion>>);

/// The newest versions of all tables.
#[derive(Debug)]
pub struct Versions {
    manifest: Manifest,
    files: Arc<Files>,
    tables: RwLock<BTreeMap<TableId, Arc<TableVersion>>>,
}

impl Versions {
    /// Begins a new database.
    ///
    /// # Errors
    /// As [`Manifest::create`].
    pub fn create(context: &Arc<StorageContext>) -> Result<Versions> {
        Versions::new(Manifest::create(context)?, context)
    }

    /// Opens a database. Files that its manifest does not name are removed; the supply of file ids
    /// and the counters of bytes written go on where they were.
    ///
    /// # Errors
    /// As [`Manifest::open`].
    pub fn open(context: &Arc<StorageContext>) -> Result<Versions> {
        Versions::new(Manifest::open(context)?, context)
    }

    fn new(manifest: Manifest, context: &Arc<StorageContext>) -> Result<Versions> {
        let files = Files::new(context);
        let live = manifest.read(|state| state.files().collect());
        files.remove_orphans(&live)?;
        let tables = manifest.read(|state| {
            context.skip_file_ids(FileId(state.next_file - 1));
            resume_counters(&context.written, state);
            let version = |table| Arc::new(TableVersion::build(&files, table, None));
            state.tables.iter().map(|(id, table)| (*id, version(table))).collect()
        });
        Ok(Versions { manifest, files, tables: RwLock::new(tables) })
    }

    /// The files.
    pub fn files(&self) -> &Arc<Files> {
        &self.files
    }

    /// Looks at the manifest's state.
    pub fn state<T>(&self, f: impl FnOnce(&ManifestState) -> T) -> T {
        self.manifest.read(f)
    }

    /// A table's newest version.
    pub fn table(&self, table: TableId) -> Option<Arc<TableVersion>> {
        self.tables.read().get(&table).cloned()
    }

    /// The newest versions of all tables.
    pub fn tables(&self) -> Vec<(TableId, Arc<TableVersion>)> {
        self.tables.read().iter().map(|(id, version)| (*id, Arc::clone(version))).collect()
    }

    /// Makes a change durable and visible. `publish` gets the new version of every table that it
    /// touches, and returns before the next change is made, so that changes are published in order;
    /// files to be added are complete and synced.
    ///
    /// # Errors
    /// As [`Manifest::commit`].
    pub fn commit<T>(&self, edits: &[Edit], publish: impl FnOnce(&[Changed]) -> T) -> Result<T> {
        let mut edits = edits.to_vec();
        edits.extend(counter_edits(&self.files.context().written, &edits));
        self.manifest.commit_with(&edits, |state| {
            let mut changed = Vec::new();
            for id in touched_tables(&edits) {
                let old = self.table(id);
                let new = state
                    .tables
                    .get(&id)
                    .map(|t| Arc::new(TableVersion::build(&self.files, t, old.as_deref())));
                match &new {
                    Some(version) => self.tables.write().insert(id, Arc::clone(version)),
                    None => self.tables.write().remove(&id),
                };
                if let Some(old) = &old {
                    doom_missing(old, new.as_deref());
                }
                changed.push((id, new));
            }
            publish(&changed)
        })
    }
}

/// Dooms the files that the newer version no longer has.
fn doom_missing(old: &TableVersion, new: Option<&TableVersion>) {
    let kept: HashSet<FileKind> =
        new.map(|v| v.files().map(FileRef::kind).collect()).unwrap_or_default();
    old.files().filter(|f| !kept.contains(&f.kind())).for_each(FileRef::doom);
}

/// Puts what the manifest says of bytes written into fresh counters.
fn resume_counters(written: &Written, state: &ManifestState) {
    let totals = state.written;
    written.add(Purpose::Log, totals.log);
    written.add(Purpose::Segment, totals.segments);
    written.add(Purpose::Compaction, totals.compaction);
    written.add(Purpose::Marks, totals.marks);
    written.add(Purpose::Manifest, totals.manifest);
    for (index, (flushed, merged)) in &state.written_indexes {
        written.add(Purpose::Index(*index), *flushed);
        written.add(Purpose::Merge(*index), *merged);
    }
}

/// The counters as edits; of the indexes only those that the other edits concern.
fn counter_edits(written: &Written, edits: &[Edit]) -> Vec<Edit> {
    let report = written.report();
    let mut out = vec![Edit::Written(WrittenTotals {
        log: report.log,
        segments: report.segments,
        compaction: report.compaction,
        marks: report.marks,
        manifest: report.manifest,
    })];
    let concerned: BTreeSet<IndexId> = edits.iter().filter_map(Edit::index).collect();
    for index in concerned {
        let bytes = report.indexes.get(&index).copied().unwrap_or_default();
        out.push(Edit::WrittenIndex(index, bytes.flushed, bytes.merged));
    }
    out
}
