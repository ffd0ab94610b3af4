//! Where do commit records go, and when may they be forgotten?
//!
//! The log is a row of preallocated files of equal size. Records never span files. A file whose
//! commits are all flushed is renamed to be the next one: its blocks are written already, so that a
//! sync of the log writes data only and no file-system metadata. Stale records of its previous life
//! carry the old file number and are not taken for new ones (`onlap_format::log`).
//!
//! Invariants: bytes are reserved before a commit is assigned; in the modes that promise anything
//! about power loss a file is synced before its successor gets a record, so that what a crash keeps
//! is a prefix (I3). After a failed write or sync the writer is never used again (I6).
//!
//! Thread safety: owned by the commit leader; [`LogSync`] is shared with the interval syncer.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onlap_base::names::{self, FileKind};
use onlap_base::{Csn, Error, ErrorKind, Result};
use onlap_format::log::{self as format, FileHeader, GroupPart, LogPosition};
use onlap_storage::StorageContext;
use onlap_storage::written::Purpose;
use onlap_vfs::{Access, File};
use parking_lot::Mutex;

use crate::options::SyncMode;

/// Obsolete files kept for reuse; more are deleted.
const SPARES: usize = 2;
/// Size of the file that an open begins where the disk is full: some hundred deletes.
const SMALL_FILE_BYTES: u64 = 64 << 10;
/// Bytes of zeros written per call when a spare file is prepared.
const FILL_BYTES: usize = 1 << 20;

/// A file that gets no more records.
#[derive(Debug)]
struct ClosedFile {
    number: u64,
    last_csn: Csn,
    bytes: u64,
}

/// A file that nobody needs any more.
#[derive(Debug)]
pub(crate) struct ObsoleteFile(ClosedFile);

/// What the interval syncer shares with the writer.
pub(crate) struct LogSync {
    storage: Arc<StorageContext>,
    state: Mutex<SyncState>,
}

struct SyncState {
    current: Arc<dyn File>,
    /// Files before it that were never synced, by number; in mode `os` alone.
    unsynced: Vec<(u64, Arc<dyn File>)>,
    written: LogPosition,
    durable: LogPosition,
    /// Number of the newest file whose name is durable; behind that of the current one in mode `os` alone.
    named: u64,
}

impl LogSync {
    /// Syncs what has been written so far. The lock is not held while the disk works.
    pub(crate) fn sync(&self) -> Result<()> {
        let (file, unsynced, written, named) = {
            let state = self.state.lock();
            if state.durable >= state.written {
                return Ok(());
            }
            (Arc::clone(&state.current), state.unsynced.clone(), state.written, state.named)
        };
        unsynced.iter().try_for_each(|(_, file)| file.sync_data())?;
        file.sync_data()?;
        if named < written.file() {
            self.storage.sync_dir()?;
        }
        let mut state = self.state.lock();
        state.named = state.named.max(written.file());
        state.unsynced.retain(|(number, _)| *number >= written.file());
        state.durable = state.durable.max(written);
        Ok(())
    }

    fn durable(&self) -> LogPosition {
        self.state.lock().durable
    }
}

/// Appends commit groups.
pub(crate) struct LogWriter {
    storage: Arc<StorageContext>,
    mode: SyncMode,
    file_bytes: u64,
    file: Arc<dyn File>,
    at: LogPosition,
    capacity: u64,
    last_csn: Csn,
    closed: VecDeque<ClosedFile>,
    spares: Vec<PathBuf>,
    /// An empty file for commits that only delete.
    margin: Option<PathBuf>,
    keeps_margin: bool,
    began_full: bool,
    sync: Arc<LogSync>,
    /// Oldest files that someone is reading; they and all later ones stay.
    held: Vec<u64>,
}

/// What recovery found of the log.
#[derive(Debug, Default)]
pub(crate) struct LogTail {
    /// Files with records that may be needed: number, last CSN, bytes.
    pub files: Vec<(u64, Csn, u64)>,
    /// Number of the first file that may be created.
    pub next_file: u64,
    /// Where the log ends.
    pub end: LogPosition,
    /// The last commit in it.
    pub csn: Csn,
}

impl LogWriter {
    /// Begins a new file behind what recovery has read.
    pub(crate) fn start(
        storage: Arc<StorageContext>,
        mode: SyncMode,
        file_bytes: u64,
        tail: LogTail,
    ) -> Result<LogWriter> {
        let path = storage.dir.join(FileKind::Log(tail.next_file).name());
        if storage.fs.exists(&path)? {
            storage.fs.remove(&path)?;
        }
        let kept = kept_file(&storage, file_bytes)?;
        let had = kept.is_some();
        let (file, capacity, margin) = first_file(&storage, &path, mode, file_bytes, kept)?;
        let began_full = capacity < file_bytes || had && margin.is_none();
        let state = SyncState {
            current: Arc::clone(&file),
            unsynced: Vec::new(),
            written: tail.end,
            durable: tail.end,
            // Recovery has synced the names of the files before.
            named: tail.next_file - 1,
        };
        let closed = tail.files.into_iter();
        let mut writer = LogWriter {
            sync: Arc::new(LogSync { storage: Arc::clone(&storage), state: Mutex::new(state) }),
            storage,
            mode,
            file_bytes,
            file: Arc::clone(&file),
            at: tail.end,
            capacity,
            last_csn: tail.csn,
            closed: closed
                .map(|(number, last_csn, bytes)| ClosedFile { number, last_csn, bytes })
                .collect(),
            spares: Vec::new(),
            margin,
            keeps_margin: true,
            began_full,
            held: Vec::new(),
        };
        writer.write_header(&*file, tail.next_file)?;
        writer.go_on(file, tail.next_file);
        Ok(writer)
    }

    pub(crate) fn sync_handle(&self) -> Arc<LogSync> {
        Arc::clone(&self.sync)
    }

    /// Where the next record will stand.
    pub(crate) fn position(&self) -> LogPosition {
        self.at
    }

    /// The group part of a group written now.
    pub(crate) fn group_part(&self, unix_us: i64) -> GroupPart {
        GroupPart { durable: self.sync.durable(), unix_us }
    }

    /// Makes room for `bytes` of records; afterwards [`LogWriter::append`] needs no new space.
    ///
    /// # Errors
    /// `DiskFull` with nothing changed: the writer goes on when there is space. Any other error ends
    /// its life (I6), as that of a sync may be among them.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<()> {
        if self.at.offset() + bytes as u64 <= self.capacity {
            return Ok(());
        }
        self.roll(bytes as u64, false)
    }

    /// As [`LogWriter::reserve`], for commits that only delete: what was kept for them is used where
    /// nothing else is left. True when it was.
    pub(crate) fn reserve_for_deletes(&mut self, bytes: usize) -> Result<bool> {
        if self.at.offset() + bytes as u64 <= self.capacity {
            return Ok(false);
        }
        let before = self.margin.is_some();
        self.roll(bytes as u64, true)?;
        Ok(before && self.margin.is_none())
    }

    /// Writes the records of a group, and syncs them in mode `fsync`.
    pub(crate) fn append(&mut self, records: &[u8], last_csn: Csn) -> Result<()> {
        let offset = self.at.offset();
        assert!(offset + records.len() as u64 <= self.capacity, "space was reserved");
        self.file.write_at(records, offset)?;
        self.storage.written.add(Purpose::Log, records.len() as u64);
        self.at = self.at.forward(records.len());
        self.last_csn = last_csn;
        self.sync.state.lock().written = self.at;
        if self.mode == SyncMode::Fsync {
            self.sync.sync()?;
        }
        Ok(())
    }

    /// Syncs whatever the mode left unsynced and notes in the log that it is durable; for a clean
    /// close.
    pub(crate) fn seal(&mut self, unix_us: i64) -> Result<()> {
        self.sync.sync()?;
        let mut note = Vec::new();
        format::put_note(&mut note, self.at, self.last_csn, self.group_part(unix_us));
        self.reserve_for_deletes(note.len())?;
        if note.len() as u64 + self.at.offset() <= self.capacity {
            note.clear();
            format::put_note(&mut note, self.at, self.last_csn, self.group_part(unix_us));
            self.append(&note, self.last_csn)?;
        }
        self.sync.sync()
    }

    /// Bytes of all files that may hold unflushed commits.
    pub(crate) fn bytes(&self) -> u64 {
        self.at.offset() + self.closed.iter().map(|c| c.bytes).sum::<u64>()
    }

    /// Last CSN of the oldest closed file: flushing up to it lets the log shrink. None while someone
    /// reads that file.
    pub(crate) fn oldest_closed_csn(&self) -> Option<Csn> {
        let held = |number| self.held.iter().any(|h| *h <= number);
        self.closed.front().filter(|c| !held(c.number)).map(|c| c.last_csn)
    }

    /// Takes the closed files whose commits are all at or below `flushed` off the list; also returns
    /// the number of the oldest file that is still needed.
    pub(crate) fn take_flushed(&mut self, flushed: Csn) -> (Vec<ObsoleteFile>, u64) {
        let mut files = Vec::new();
        let held = self.held.iter().copied().min().unwrap_or(u64::MAX);
        while self.closed.front().is_some_and(|c| c.last_csn <= flushed && c.number < held) {
            files.extend(self.closed.pop_front().map(ObsoleteFile));
        }
        let oldest = self.closed.front().map_or(self.at.file(), |c| c.number);
        self.sync.state.lock().unsynced.retain(|(number, _)| *number >= oldest);
        (files, oldest)
    }

    /// Keeps every file from the oldest that is needed on until [`LogWriter::release`]. Returns their
    /// numbers and the bytes of each that belong to the log so far, oldest first.
    pub(crate) fn hold(&mut self) -> Vec<(u64, u64)> {
        let mut files: Vec<_> = self.closed.iter().map(|c| (c.number, c.bytes)).collect();
        files.push((self.at.file(), self.at.offset()));
        self.held.push(files[0].0);
        files
    }

    /// Ends a [`LogWriter::hold`] that began with this file.
    pub(crate) fn release(&mut self, oldest: u64) {
        let at =
            self.held.iter().position(|n| *n == oldest).expect("what is held is released once");
        self.held.swap_remove(at);
    }

    /// Takes files back on the list that [`LogWriter::take_flushed`] took off it.
    pub(crate) fn take_back(&mut self, files: Vec<ObsoleteFile>) {
        for ObsoleteFile(file) in files.into_iter().rev() {
            self.closed.push_front(file);
        }
    }

    /// Keeps obsolete files for reuse, or removes them.
    pub(crate) fn recycle(&mut self, files: Vec<ObsoleteFile>) -> Result<()> {
        for ObsoleteFile(file) in files {
            let path = self.storage.dir.join(FileKind::Log(file.number).name());
            if self.wants_margin() && file.bytes == self.file_bytes {
                self.margin = Some(path);
            } else if self.spares.len() < SPARES && file.bytes == self.file_bytes {
                self.spares.push(path);
            } else {
                self.storage.fs.remove(&path)?;
            }
        }
        Ok(())
    }

    /// Whether a spare file should be prepared ahead of need.
    pub(crate) fn wants_spare(&self) -> bool {
        self.mode == SyncMode::Fsync
            && self.spares.is_empty()
            && self.at.offset() > self.capacity / 4
    }

    /// Takes a prepared file over.
    pub(crate) fn add_spare(&mut self, path: PathBuf) {
        self.spares.push(path);
    }

    /// Whether it had to begin without the room that it should have.
    pub(crate) fn began_full(&self) -> bool {
        self.began_full
    }

    /// Whether the file for deletes is missing.
    pub(crate) fn wants_margin(&self) -> bool {
        self.keeps_margin && self.margin.is_none()
    }

    /// For tests that see what becomes of a database without it.
    pub(crate) fn keep_no_margin(&mut self) {
        self.keeps_margin = false;
    }

    /// Keeps a prepared file for deletes, unless there is one by now.
    pub(crate) fn add_margin(&mut self, prepared: PathBuf) {
        let path = self.storage.dir.join(FileKind::MarginLog.name());
        if self.margin.is_none() && self.storage.fs.rename(&prepared, &path).is_ok() {
            self.margin = Some(path);
        } else {
            // What stays behind goes with the next open.
            let _ = self.storage.fs.remove(&prepared);
        }
    }

    /// Removes the file for deletes.
    pub(crate) fn drop_margin(&mut self) {
        if let Some(path) = self.margin.take() {
            let _ = self.storage.fs.remove(&path);
        }
    }

    /// Bytes of the file for deletes.
    pub(crate) fn margin_bytes(&self) -> u64 {
        if self.margin.is_some() { self.file_bytes } else { 0 }
    }

    /// Prepares a file for deletes; runs without the commit lock. Its zeros are not written, as it is
    /// rarely used.
    pub(crate) fn prepare_margin(storage: &StorageContext, bytes: u64) -> Result<PathBuf> {
        let path = storage.dir.join(names::temporary(names::MARGIN_LOG));
        allocated(storage, &path, bytes).map(|_| path)
    }

    /// Writes a spare file full of zeros, so that syncs of the log write no metadata; runs without
    /// the commit lock.
    pub(crate) fn prepare_spare(storage: &StorageContext, bytes: u64) -> Result<PathBuf> {
        let path = storage.dir.join(names::temporary("log"));
        let file = storage.fs.create(&path, Access::ReadWrite)?;
        if let Err(e) = fill(&*file, bytes).and_then(|()| file.sync_all()) {
            // Others need the space more.
            let _ = storage.fs.remove(&path);
            return Err(e);
        }
        storage.written.add(Purpose::Log, bytes);
        Ok(path)
    }

    /// Goes on in a new file. The writer changes once everything that can fail has succeeded.
    fn roll(&mut self, bytes: u64, deletes: bool) -> Result<()> {
        let capacity = self.file_bytes.max(bytes + format::HEADER_BYTES as u64);
        let number = self.at.file() + 1;
        let path = self.storage.dir.join(FileKind::Log(number).name());
        let file = match self.create_file(&path, capacity) {
            Err(e) if e.kind() == ErrorKind::DiskFull && deletes && capacity == self.file_bytes => {
                self.take_margin(&path)?.ok_or(e)?
            }
            created => created?,
        };
        if self.mode != SyncMode::Os {
            self.sync.sync().map_err(beyond_space)?;
        }
        self.write_header(&*file, number)?;
        let closed =
            ClosedFile { number: self.at.file(), last_csn: self.last_csn, bytes: self.capacity };
        self.closed.push_back(closed);
        self.capacity = capacity;
        self.go_on(file, number);
        Ok(())
    }

    /// A file with room for `capacity` bytes. Nothing is left of it when the disk is full.
    fn create_file(&mut self, path: &Path, capacity: u64) -> Result<Arc<dyn File>> {
        let fs = &self.storage.fs;
        let spare = if capacity == self.file_bytes { self.spares.pop() } else { None };
        if let Some(spare) = spare {
            fs.rename(&spare, path)?;
            return fs.open(path, Access::ReadWrite);
        }
        allocated(&self.storage, path, capacity)
    }

    /// The file that was kept for deletes, under another name.
    fn take_margin(&mut self, path: &Path) -> Result<Option<Arc<dyn File>>> {
        let Some(kept) = self.margin.take() else { return Ok(None) };
        self.storage.fs.rename(&kept, path).map_err(beyond_space)?;
        self.storage.fs.open(path, Access::ReadWrite).map(Some)
    }

    /// Writes the header of file `number`, which has its bytes already.
    fn write_header(&self, file: &dyn File, number: u64) -> Result<()> {
        let durable = self.sync.durable();
        let header =
            FileHeader { file: number, previous_end: self.at, durable, csn: self.last_csn };
        let header = header.encode();
        file.write_at(&header, 0).map_err(beyond_space)?;
        if self.mode != SyncMode::Os {
            file.sync_all().map_err(beyond_space)?;
            self.storage.sync_dir().map_err(beyond_space)?;
        }
        self.storage.written.add(Purpose::Log, header.len() as u64);
        Ok(())
    }

    /// The next record goes into file `number`, whose header is written.
    fn go_on(&mut self, file: Arc<dyn File>, number: u64) {
        self.file = file;
        let before = self.at.file();
        self.at = LogPosition::new(number, format::HEADER_BYTES as u64);
        let mut state = self.sync.state.lock();
        if self.mode == SyncMode::Os && state.durable < state.written {
            let file = Arc::clone(&state.current);
            state.unsynced.push((before, file));
        }
        state.current = Arc::clone(&self.file);
        state.written = self.at;
        if self.mode != SyncMode::Os {
            (state.durable, state.named) = (self.at, number);
        }
    }
}

/// A new file with room for so many bytes. Nothing is left of it when the disk is full.
fn allocated(storage: &StorageContext, path: &Path, bytes: u64) -> Result<Arc<dyn File>> {
    let file = storage.fs.create(path, Access::ReadWrite)?;
    if let Err(e) = file.allocate(bytes) {
        storage.fs.remove(path)?;
        return Err(e);
    }
    Ok(file)
}

/// The file for deletes that another life has left.
fn kept_file(storage: &StorageContext, bytes: u64) -> Result<Option<PathBuf>> {
    let path = storage.dir.join(FileKind::MarginLog.name());
    if !storage.fs.exists(&path)? {
        return Ok(None);
    }
    if storage.fs.open(&path, Access::Read)?.len()? == bytes {
        return Ok(Some(path));
    }
    storage.fs.remove(&path)?;
    Ok(None)
}

/// A file, its size, and what is kept for deletes now.
type First = (Arc<dyn File>, u64, Option<PathBuf>);

/// The file that an open begins: where the disk is full the one that is kept for deletes, or a small one, so
/// that what is there can be read, and deleted.
fn first_file(
    storage: &StorageContext,
    path: &Path,
    mode: SyncMode,
    bytes: u64,
    kept: Option<PathBuf>,
) -> Result<First> {
    let file = storage.fs.create(path, Access::ReadWrite)?;
    let made = match mode {
        SyncMode::Fsync => fill(&*file, bytes),
        _ => file.allocate(bytes),
    };
    match made {
        Ok(()) => {
            let written = if mode == SyncMode::Fsync { bytes } else { 0 };
            storage.written.add(Purpose::Log, written);
            Ok((file, bytes, kept))
        }
        Err(e) if e.kind() == ErrorKind::DiskFull => {
            storage.fs.remove(path)?;
            if let Some(kept) = kept {
                storage.fs.rename(&kept, path)?;
                return Ok((storage.fs.open(path, Access::ReadWrite)?, bytes, None));
            }
            let small = SMALL_FILE_BYTES.min(bytes / 4);
            Ok((allocated(storage, path, small)?, small, None))
        }
        Err(e) => Err(e),
    }
}

/// A full disk met after bytes may have landed is a failure like any other (I6).
fn beyond_space(e: Error) -> Error {
    match e.kind() {
        ErrorKind::DiskFull => Error::new(ErrorKind::Io, e.message()),
        _ => e,
    }
}

fn fill(file: &dyn File, bytes: u64) -> Result<()> {
    let zeros = vec![0; FILL_BYTES.min(bytes as usize)];
    let mut at = 0;
    while at < bytes {
        let n = zeros.len().min((bytes - at) as usize);
        file.write_at(&zeros[..n], at)?;
        at += n as u64;
    }
    Ok(())
}
