//! Where is the set of files written down, and when does a change of it count?
//!
//! `CURRENT` names the manifest file in force. A change is one record appended to it and synced; it
//! counts when the sync has returned. When the file has grown far beyond what a snapshot of the
//! state takes, the state is written to a manifest file of the next number, which takes over when
//! `CURRENT` is renamed into place. Both cost in proportion to the change.
//!
//! Steps of a commit: (1) the edits are applied to the state in memory, which refuses what does not
//! fit: the one compare-and-set point of the database, so a job that worked from an outdated version
//! loses here; (2) append, (3) sync. Steps of a turnover: (1) write and sync the new file, (2) write
//! and sync `CURRENT.tmp`, (3) rename it, (4) sync the directory, (5) remove the old file. A crash
//! before (3) leaves an orphan that the next turnover overwrites.
//!
//! The state is changed before the bytes land, so a failure in between leaves it ahead of the disk;
//! from then on the manifest refuses everything (I6), as nothing is known about bytes whose sync
//! failed. "Disk full" comes before that: room for the record is allocated before the state changes,
//! and a turnover that finds no room leaves the old file in force and is tried again by a later
//! commit. So a full disk ends by itself.
//!
//! Must not know of open readers ([`crate::version`]). Thread safety: one lock, held across the
//! sync; callers are flushes, merges and schema changes, never commits of rows.

use std::path::Path;
use std::sync::Arc;

use onlap_base::names::{CURRENT, FileKind, temporary};
use onlap_base::{Error, ErrorKind, Result, TableId};
use onlap_format::manifest::{self as format, Edit, ManifestState, TableState};
use onlap_vfs::{Access, File, Fs};
use parking_lot::Mutex;

use crate::context::StorageContext;
use crate::written::Purpose;

#[cfg(test)]
mod tests;

/// A manifest file is replaced when the edits behind its snapshot take more than this many bytes and
/// more than [`TURNOVER_RATIO`] times the snapshot. An edit is some 100 to 300 bytes, so a small
/// database turns over every few thousand changes.
const TURNOVER_BYTES: u64 = 256 << 10;
/// With this ratio a byte of edits costs at most half a byte of snapshots.
const TURNOVER_RATIO: u64 = 2;
/// Bytes allocated ahead of the records: some hundred edits per call, and nothing compared with a table.
const AHEAD_BYTES: u64 = 32 << 10;
/// Bytes of them that only records may use which give files up: a hundred drops, flushes and merges on a
/// full disk.
const KEPT_BYTES: u64 = 32 << 10;

/// The manifest of an open database.
pub struct Manifest {
    context: Arc<StorageContext>,
    inner: Mutex<Inner>,
}

struct Inner {
    number: u64,
    file: Arc<dyn File>,
    end: u64,
    /// Up to here the file has its bytes; zeros behind `end`, which are no record.
    allocated: u64,
    snapshot_bytes: u64,
    state: ManifestState,
    broken: Option<Error>,
}

impl Inner {
    /// Allocates up to `wanted` and more; what is there has to do if it reaches up to `needed`.
    fn make_room(&mut self, wanted: u64, needed: u64) -> Result<()> {
        if wanted <= self.allocated {
            return Ok(());
        }
        match self.file.allocate(wanted + AHEAD_BYTES) {
            Ok(()) => self.allocated = wanted + AHEAD_BYTES,
            Err(e) if e.kind() == ErrorKind::DiskFull && needed <= self.allocated => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }
}

impl Manifest {
    /// Whether the directory holds a database.
    pub fn exists(context: &StorageContext) -> Result<bool> {
        context.fs.exists(&context.dir.join(CURRENT))
    }

    /// Begins the manifest of a new database.
    ///
    /// # Errors
    /// `AlreadyExists` where there is one.
    pub fn create(context: &Arc<StorageContext>) -> Result<Manifest> {
        if Manifest::exists(context)? {
            let text = format!("there is a database in {} already", context.dir.display());
            return Err(Error::new(ErrorKind::AlreadyExists, text));
        }
        let state = ManifestState::default();
        let (file, end) = begin_file(&*context.fs, &context.dir, 1, &state)?;
        context.written.add(Purpose::Manifest, end);
        let (allocated, snapshot_bytes) = (end, end);
        let inner = Inner { number: 1, file, end, allocated, snapshot_bytes, state, broken: None };
        Ok(Manifest { context: Arc::clone(context), inner: Mutex::new(inner) })
    }

    /// Opens the manifest in force.
    ///
    /// # Errors
    /// `NotFound` where there is no database; `Corruption`, `NewerFormat`.
    pub fn open(context: &Arc<StorageContext>) -> Result<Manifest> {
        if !Manifest::exists(context)? {
            let text = format!("there is no database in {}", context.dir.display());
            return Err(Error::new(ErrorKind::NotFound, text));
        }
        let number = read_current(&*context.fs, &context.dir)?;
        let name = FileKind::Manifest(number).name();
        let path = context.dir.join(&name);
        let opened = context.fs.open(&path, Access::ReadWrite);
        let file = opened.map_err(|e| missing(e, &name))?;
        let length = file.len()?;
        let bytes = file.read_at(0, length as usize)?;
        let loaded = format::load(&name, number, &bytes)?;
        assert!(
            loaded.snapshot_end <= loaded.end && loaded.end <= length,
            "what was read is there"
        );
        // A torn tail would stand in the way of the next record's torn tail check. Room that was allocated
        // ahead stays: an open on a full disk has a record to write.
        let allocated = length.min(loaded.end + AHEAD_BYTES + KEPT_BYTES);
        if loaded.end < length {
            file.set_len(allocated)?;
            file.write_at(&vec![0; (allocated - loaded.end) as usize], loaded.end)?;
        }
        // What was read may be in the page cache alone, and after a failed sync the kernel takes it
        // for written: only bytes that are written again are certain to reach the disk.
        file.write_at(&bytes[..loaded.end as usize], 0)?;
        file.sync_all()?;
        // CURRENT may have been renamed without having become durable; until it is, the manifest
        // that it named before must stay.
        context.sync_dir()?;
        remove_others(context, number)?;
        let inner = Inner {
            number,
            file,
            end: loaded.end,
            allocated,
            snapshot_bytes: loaded.snapshot_end,
            state: loaded.state,
            broken: None,
        };
        Ok(Manifest { context: Arc::clone(context), inner: Mutex::new(inner) })
    }

    /// Looks at the state.
    pub fn read<T>(&self, f: impl FnOnce(&ManifestState) -> T) -> T {
        f(&self.inner.lock().state)
    }

    /// Makes a change durable: all of the edits or none.
    ///
    /// # Errors
    /// `Conflict` when an edit does not fit the state, and `DiskFull`, with nothing changed; anything
    /// else means that the manifest is unusable until reopened (I6).
    pub fn commit(&self, edits: &[Edit]) -> Result<()> {
        self.commit_with(edits, |_| ())
    }

    /// Like [`Manifest::commit`]; `then` sees the new state before any later change.
    pub fn commit_with<T>(
        &self,
        edits: &[Edit],
        then: impl FnOnce(&ManifestState) -> T,
    ) -> Result<T> {
        let inner = &mut *self.inner.lock();
        if let Some(e) = &inner.broken {
            let text = format!("the manifest failed earlier, reopen the database: {e}");
            return Err(Error::new(ErrorKind::ReadOnly, text));
        }
        let record = format::encode_record(inner.number, inner.end, edits);
        assert!(inner.end >= inner.snapshot_bytes, "records come behind the snapshot");
        let needed = inner.end + record.len() as u64;
        let kept = if edits.iter().any(Edit::gives_up) { 0 } else { KEPT_BYTES };
        inner.make_room(needed + KEPT_BYTES, needed + kept)?;
        apply_all(&mut inner.state, edits)?;
        if let Err(e) = self.append(inner, &record) {
            let e = beyond_space(e);
            inner.broken = Some(e.clone());
            return Err(e);
        }
        Ok(then(&inner.state))
    }

    fn append(&self, inner: &mut Inner, record: &[u8]) -> Result<()> {
        assert!(inner.broken.is_none(), "a manifest that failed takes no record (I6)");
        inner.file.write_at(record, inner.end)?;
        inner.file.sync_data()?;
        inner.end += record.len() as u64;
        self.context.written.add(Purpose::Manifest, record.len() as u64);
        let edits_bytes = inner.end - inner.snapshot_bytes;
        if edits_bytes > TURNOVER_BYTES && edits_bytes > TURNOVER_RATIO * inner.snapshot_bytes {
            self.turn_over(inner)?;
        }
        Ok(())
    }

    fn turn_over(&self, inner: &mut Inner) -> Result<()> {
        let number = inner.number + 1;
        let begun = begin_file(&*self.context.fs, &self.context.dir, number, &inner.state);
        let (file, end) = match begun {
            // The record is in the old file, which stays in force.
            Err(e) if e.kind() == ErrorKind::DiskFull => return Ok(()),
            begun => begun?,
        };
        let old = FileKind::Manifest(inner.number).name();
        self.context.written.add(Purpose::Manifest, end);
        (inner.number, inner.file, inner.end, inner.snapshot_bytes) = (number, file, end, end);
        inner.allocated = end;
        self.context.fs.remove(&self.context.dir.join(old))
    }
}

impl std::fmt::Debug for Manifest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Manifest({})", self.context.dir.display())
    }
}

/// Applies edits, all or none.
fn apply_all(state: &mut ManifestState, edits: &[Edit]) -> Result<()> {
    let touched: Vec<(TableId, Option<TableState>)> =
        touched_tables(edits).into_iter().map(|id| (id, state.tables.get(&id).cloned())).collect();
    let globals = ManifestState {
        tables: Default::default(),
        written_indexes: state.written_indexes.clone(),
        sequences: Default::default(),
        timeline: Arc::clone(&state.timeline),
        ..*state
    };
    let sequences = edits.iter().any(Edit::is_of_sequence).then(|| state.sequences.clone());
    for edit in edits {
        if let Err(e) = state.apply(edit) {
            let tables = std::mem::take(&mut state.tables);
            let sequences = sequences.unwrap_or_else(|| std::mem::take(&mut state.sequences));
            *state = ManifestState { tables, sequences, ..globals };
            for (id, table) in touched {
                match table {
                    Some(table) => state.tables.insert(id, table),
                    None => state.tables.remove(&id),
                };
            }
            return Err(Error::new(ErrorKind::Conflict, e.message()));
        }
    }
    Ok(())
}

/// The tables that edits change, each once.
pub(crate) fn touched_tables(edits: &[Edit]) -> Vec<TableId> {
    let mut tables: Vec<TableId> = edits.iter().filter_map(Edit::table).collect();
    tables.sort_unstable();
    tables.dedup();
    tables
}

/// Writes manifest file `number` with a snapshot and makes it the one in force; returns it and its
/// length.
pub(crate) fn begin_file(
    fs: &dyn Fs,
    dir: &Path,
    number: u64,
    state: &ManifestState,
) -> Result<(Arc<dyn File>, u64)> {
    let name = FileKind::Manifest(number).name();
    let file = fs.create(&dir.join(&name), Access::ReadWrite)?;
    let mut bytes = format::encode_header(number).to_vec();
    bytes.extend(format::encode_record(number, bytes.len() as u64, &state.to_edits()));
    file.write_at(&bytes, 0)?;
    file.sync_all()?;
    let current = format!("{name}\n");
    let temporary = dir.join(temporary(CURRENT));
    let pointer = fs.create(&temporary, Access::ReadWrite)?;
    pointer.write_at(current.as_bytes(), 0)?;
    pointer.sync_all()?;
    // The new file's name must be durable before anything points to it.
    fs.sync_dir(dir)?;
    fs.rename(&temporary, &dir.join(CURRENT)).map_err(beyond_space)?;
    fs.sync_dir(dir).map_err(beyond_space)?;
    Ok((file, bytes.len() as u64))
}

/// A full disk met after bytes may have landed is a failure like any other (I6).
fn beyond_space(e: Error) -> Error {
    match e.kind() {
        ErrorKind::DiskFull => Error::new(ErrorKind::Io, e.message()),
        _ => e,
    }
}

/// The state that the manifest of a directory describes, for those who only look.
///
/// # Errors
/// `NotFound` where there is no database; `Corruption`, `NewerFormat`.
pub fn load_state(fs: &dyn Fs, dir: &Path) -> Result<ManifestState> {
    let number = read_current(fs, dir)?;
    let name = FileKind::Manifest(number).name();
    let file = fs.open(&dir.join(&name), Access::Read).map_err(|e| missing(e, &name))?;
    let bytes = file.read_at(0, file.len()? as usize)?;
    Ok(format::load(&name, number, &bytes)?.state)
}

/// A manifest that `CURRENT` names and that is not there is damage.
fn missing(e: Error, name: &str) -> Error {
    match e.kind() {
        ErrorKind::NotFound => {
            Error::corruption(CURRENT, 0, format!("CURRENT names {name}, which is missing"))
        }
        _ => e,
    }
}

fn read_current(fs: &dyn Fs, dir: &Path) -> Result<u64> {
    let file = fs.open(&dir.join(CURRENT), Access::Read)?;
    // Longer than any name it may hold; whatever it is, it is not read whole.
    let bytes = file.read_at(0, file.len()?.min(64) as usize)?;
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    match text.strip_suffix('\n').and_then(FileKind::parse) {
        Some(FileKind::Manifest(number)) => Ok(number),
        _ => Err(Error::corruption(CURRENT, 0, "CURRENT does not name a manifest")),
    }
}

/// Removes manifest files that a crash left behind.
fn remove_others(context: &StorageContext, number: u64) -> Result<()> {
    for name in context.fs.list(&context.dir)? {
        if matches!(FileKind::parse(&name), Some(FileKind::Manifest(n)) if n != number) {
            context.fs.remove(&context.dir.join(name))?;
        }
    }
    Ok(())
}
