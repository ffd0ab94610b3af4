//! How does a change become the newest version of a table?
//!
//! Steps: (1) the edits are tried on a copy of the tables they touch and the new versions are built
//! from it, which opens the new files: what cannot be read is never made durable; (2) the manifest
//! makes the edits durable; (3) the versions are swapped in and published; (4) files that are no
//! longer there are doomed. One change at a time, so that versions are published in the order in
//! which they were made.
//!
//! Thread safety: shared freely.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use onlap_base::names::FileKind;
use onlap_base::{Error, ErrorKind, FileId, IndexId, Result, TableId};
use onlap_format::log::LogBegun;
use onlap_format::manifest::{Edit, ManifestState, WrittenTotals};
use onlap_format::samples;
use onlap_vfs::Access;
use parking_lot::{Mutex, RwLock};

use super::{TableVersion, doom_missing};
use crate::context::StorageContext;
use crate::files::Files;
use crate::manifest::{Manifest, touched_tables};
use crate::written::{Purpose, Written};

/// A table's newest version after a change; `None` when the table was dropped.
pub type Changed = (TableId, Option<Arc<TableVersion>>);

/// The newest versions of all tables.
#[derive(Debug)]
pub struct Versions {
    manifest: Manifest,
    files: Arc<Files>,
    tables: RwLock<BTreeMap<TableId, Arc<TableVersion>>>,
    /// Held while a change is made.
    change: Mutex<()>,
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
        let samples = samples_written(context)?;
        let tables = manifest.read(|state| {
            context.skip_file_ids(FileId(state.next_file - 1));
            resume_counters(&context.written, state);
            context.written.add(Purpose::Samples, samples);
            context.written.opened();
            let version = |table| TableVersion::build(&files, table, None).map(Arc::new);
            let tables = state.tables.iter().map(|(id, table)| Ok((*id, version(table)?)));
            tables.collect::<Result<_>>()
        })?;
        let change = Mutex::new(());
        Ok(Versions { manifest, files, tables: RwLock::new(tables), change })
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

    /// The manifest's state and the versions that it describes: a caller that holds them holds all files
    /// that the state names. Waits for a change that is under way.
    pub fn pinned(&self) -> (ManifestState, Vec<Arc<TableVersion>>) {
        let _one_at_a_time = self.change.lock();
        let state = self.manifest.read(ManifestState::clone);
        (state, self.tables.read().values().map(Arc::clone).collect())
    }

    /// Makes a change durable and visible. `publish` gets the new version of every table that it
    /// touches, and returns before the next change is made, so that changes are published in order;
    /// files to be added are complete and synced.
    ///
    /// # Errors
    /// As [`Manifest::commit`]; and those of opening the new files, with nothing changed.
    pub fn commit<T>(&self, edits: &[Edit], publish: impl FnOnce(&[Changed]) -> T) -> Result<T> {
        let _one_at_a_time = self.change.lock();
        let changed = self.prepare(edits)?;
        for (id, new) in &changed {
            let Some(new) = new else { continue };
            new.assert_order();
            if let Some(old) = self.table(*id) {
                assert!(old.flushed_rows <= new.flushed_rows, "flushed rows stay flushed");
                assert!(old.flushed_csn <= new.flushed_csn, "flushed commits stay flushed");
                assert!(old.resolved <= new.resolved || new.schema.blind, "resolved rows stay so");
            }
        }
        let mut edits = edits.to_vec();
        edits.extend(counter_edits(&self.files.context().written, &edits));
        self.manifest.commit(&edits)?;
        for (id, new) in &changed {
            let old = match new {
                Some(version) => self.tables.write().insert(*id, Arc::clone(version)),
                None => self.tables.write().remove(id),
            };
            if let Some(old) = old {
                doom_missing(&old, new.as_deref());
            }
        }
        Ok(publish(&changed))
    }

    /// Notes the newest log file; no version changes, so changes under way are not waited for.
    ///
    /// # Errors
    /// As [`Manifest::commit`].
    pub fn log_begun(&self, begun: LogBegun) -> Result<()> {
        self.manifest.commit(&[Edit::LogBegun(begun)])
    }

    /// The versions that the edits lead to.
    fn prepare(&self, edits: &[Edit]) -> Result<Vec<Changed>> {
        let touched = touched_tables(edits);
        let mut state = self.manifest.read(|state| {
            let table = |id: &TableId| Some((*id, state.tables.get(id)?.clone()));
            let tables = touched.iter().filter_map(table).collect();
            ManifestState { tables, ..ManifestState::default() }
        });
        for edit in edits.iter().filter(|e| !e.is_of_sequence()) {
            let conflict = |e: Error| Error::new(ErrorKind::Conflict, e.message());
            state.apply(edit).map_err(conflict)?;
        }
        let version = |id: TableId| {
            let old = self.table(id);
            let new = state.tables.get(&id);
            let new = new.map(|table| TableVersion::build(&self.files, table, old.as_deref()));
            Ok((id, new.transpose()?.map(Arc::new)))
        };
        touched.into_iter().map(version).collect()
    }
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

/// No database has come to this number of a file of samples: a name with a larger one is planted.
const SAMPLE_FILES: u64 = 1 << 32;

/// Bytes of samples that were written so far, by the place that their files have come to: all but the newest were filled.
fn samples_written(context: &StorageContext) -> Result<u64> {
    let mut newest = 0;
    for name in context.fs.list(&context.dir)? {
        match FileKind::parse(&name) {
            Some(FileKind::Samples(number)) if number < SAMPLE_FILES => newest = number.max(newest),
            _ => {}
        }
    }
    if newest == 0 {
        return Ok(0);
    }
    let path = context.dir.join(FileKind::Samples(newest).name());
    let full = samples::offset(samples::SLOTS);
    // A name that is no file's is the task's to complain about.
    let of_newest = context.fs.open(&path, Access::Read).and_then(|file| file.len());
    Ok((newest - 1).saturating_mul(full).saturating_add(of_newest.unwrap_or(0).min(full)))
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
