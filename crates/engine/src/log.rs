//! Where do commit records go, and when may they be forgotten?
//!
//! The log is a row of preallocated files of equal size. Records never span files. A file whose
//! commits are all flushed is renamed to be the next one: its blocks are written already, so that a
//! sync of the log writes data only and no file-system metadata. Stale records of its previous life
//! carry the old file number and are not taken for new ones (`onlap_format::log`).
//!
//! Invariants: bytes are reserved before a commit is assigned; in the modes that promise anything
//! about power loss a file is synced before its successor gets a record, so that what a crash keeps
//! is a prefix (I3), and the manifest knows of a file before a commit in it is acknowledged ([`chain`]).
//! After a failed write or sync the writer is never used again (I6).
//!
//! Thread safety: owned by the commit leader; [`LogSync`] is shared with the interval syncer.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onlap_base::names::{self, FileKind};
use onlap_base::{Csn, ErrorKind, Result};
use onlap_format::log::{self as format, FileHeader, GroupPart, LogBegun, LogPosition};
use onlap_storage::StorageContext;
use onlap_storage::written::Purpose;
use onlap_vfs::{Access, File};
use parking_lot::Mutex;

use crate::options::SyncMode;

mod chain;
mod files;

pub(crate) use chain::LogChain;
use files::{allocated, beyond_space, fill, first_file, kept_file};

/// Obsolete files kept for reuse; more are deleted.
const SPARES: usize = 2;

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

/// Bytes that are worth a call that writes them back, and most of one call: what follows waits behind them.
const WRITE_BACK_BYTES: u64 = 128 << 10;
const WRITE_BACK_BYTES_MAX: u64 = 1 << 20;
/// A page that is still written to is not written back. The first write to one covers it.
const PAGE_BYTES: u64 = 4096;

/// What the interval syncer shares with the writer.
pub(crate) struct LogSync {
    /// Commits do not wait for syncs.
    lazy: bool,
    file_bytes: u64,
    storage: Arc<StorageContext>,
    chain: LogChain,
    state: Mutex<SyncState>,
}

struct SyncState {
    current: Arc<dyn File>,
    begun: LogBegun,
    /// Files before it that were never synced, by number; in mode `os` alone.
    unsynced: Vec<(u64, Arc<dyn File>)>,
    written: LogPosition,
    /// So far the device has been told to take what was written.
    written_back: LogPosition,
    durable: LogPosition,
    /// Number of the newest file whose name is durable and in the manifest; behind that of the current one in
    /// mode `os` alone.
    named: u64,
}

impl LogSync {
    /// Syncs what has been written so far. The lock is not held while the disk works.
    pub(crate) fn sync(&self) -> Result<()> {
        let (file, begun, unsynced, written) = {
            let state = self.state.lock();
            if state.durable >= state.written {
                return Ok(());
            }
            let begun = (state.named < state.written.file()).then_some(state.begun);
            (Arc::clone(&state.current), begun, state.unsynced.clone(), state.written)
        };
        unsynced.iter().try_for_each(|(_, file)| file.sync_data())?;
        file.sync_data()?;
        let mut named = 0;
        if let Some(begun) = begun {
            self.storage.sync_dir()?;
            match self.chain.note(begun) {
                Ok(()) => named = begun.file,
                // The next sync tells it.
                Err(e) if e.kind() == ErrorKind::DiskFull => {}
                Err(e) => return Err(e),
            }
        }
        let mut state = self.state.lock();
        state.named = state.named.max(named);
        state.unsynced.retain(|(number, _)| *number >= written.file());
        state.durable = state.durable.max(written);
        assert!(state.durable <= state.written, "no more is durable than was written");
        Ok(())
    }

    /// Has the device take what was written so far, where commits do not wait for that; returns its bytes. The
    /// kernel would do so half a minute later, all at once. Nothing is more durable by it.
    pub(crate) fn write_back(&self) -> u64 {
        if !self.lazy {
            return 0;
        }
        let mut state = self.state.lock();
        let (from, at) = (state.written_back, state.written);
        // The oldest file that was not written back to its end; its rest, where it is not the current one.
        let older = state.unsynced.iter().find(|(number, _)| *number == from.file());
        let older = older.filter(|_| from.file() < at.file()).map(|(_, file)| Arc::clone(file));
        let (file, begin, end, last) = match older {
            Some(file) => (file, from.offset(), self.file_bytes, false),
            None if from.file() == at.file() => (
                Arc::clone(&state.current),
                from.offset(),
                at.offset() / PAGE_BYTES * PAGE_BYTES,
                true,
            ),
            None => {
                state.written_back = LogPosition::new(from.file() + 1, 0);
                return 0;
            }
        };
        let bytes = end.saturating_sub(begin).min(WRITE_BACK_BYTES_MAX);
        if last && bytes < WRITE_BACK_BYTES {
            return 0;
        }
        state.written_back = match bytes == 0 {
            true => LogPosition::new(from.file() + 1, 0),
            false => from.forward(bytes as usize),
        };
        drop(state);
        if bytes > 0 {
            file.write_back(begin, bytes);
        }
        bytes
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
    /// Pages of the file up to here were written in this life of it.
    covered: u64,
    capacity: u64,
    stamp: u64,
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
    /// Stamp of the file in which it ends.
    pub stamp: u64,
}

impl LogWriter {
    /// Begins a new file behind what recovery has read.
    pub(crate) fn start(
        storage: Arc<StorageContext>,
        chain: LogChain,
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
            // Has its stamp before anything is synced.
            begun: LogBegun { file: tail.next_file, stamp: 0, bytes: capacity },
            unsynced: Vec::new(),
            written: tail.end,
            written_back: LogPosition::new(tail.next_file, 0),
            durable: tail.end,
            // Recovery has synced the names of the files before.
            named: tail.next_file - 1,
        };
        let closed = tail.files.into_iter();
        let mut writer = LogWriter {
            sync: Arc::new(LogSync {
                lazy: mode != SyncMode::Fsync,
                file_bytes,
                storage: Arc::clone(&storage),
                chain,
                state: Mutex::new(state),
            }),
            storage,
            mode,
            file_bytes,
            file: Arc::clone(&file),
            at: tail.end,
            covered: 0,
            capacity,
            stamp: tail.stamp,
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
        // All before it is durable by now, in every mode.
        let begun = writer.begin(&*file, tail.next_file, capacity, true)?;
        writer.go_on(file, begun, true);
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
    ///
    /// Into a page that was not written yet in this life of the file go zeros behind them, to its end: for a part of a
    /// page that a file had before, the kernel reads the rest from the device, and the commit waits.
    pub(crate) fn append(&mut self, records: &mut Vec<u8>, last_csn: Csn) -> Result<()> {
        let (offset, bytes) = (self.at.offset(), records.len());
        let end = offset + bytes as u64;
        assert!(end <= self.capacity, "space was reserved");
        assert!(last_csn >= self.last_csn, "the log is in commit order (I2)");
        debug_assert!(bytes > 0, "a group has records");
        let to = if end > self.covered { self.page_end(end) } else { end };
        records.resize((to - offset) as usize, 0);
        let written = self.file.write_at(records, offset);
        records.truncate(bytes);
        written?;
        self.covered = self.covered.max(to);
        self.storage.written.add(Purpose::Log, bytes as u64);
        self.at = self.at.forward(bytes);
        self.last_csn = last_csn;
        self.sync.state.lock().written = self.at;
        if self.mode == SyncMode::Fsync {
            self.sync.sync()?;
        }
        Ok(())
    }

    /// The end of the page in which the file's first `end` bytes end.
    fn page_end(&self, end: u64) -> u64 {
        end.next_multiple_of(PAGE_BYTES).min(self.capacity)
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
            self.append(&mut note, self.last_csn)?;
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
        assert!(oldest <= self.at.file(), "the current file is needed");
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

    /// Stamp of the current file.
    pub(crate) fn stamp(&self) -> u64 {
        self.stamp
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
            let first = self.closed.front();
            assert!(first.is_none_or(|c| file.number < c.number), "files stand in their order");
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
        let durably = self.mode != SyncMode::Os;
        let begun = self.begin(&*file, number, capacity, durably)?;
        let closed =
            ClosedFile { number: self.at.file(), last_csn: self.last_csn, bytes: self.capacity };
        assert!(
            self.closed
                .back()
                .is_none_or(|c| c.number < closed.number && c.last_csn <= closed.last_csn),
            "files and their commits rise"
        );
        self.closed.push_back(closed);
        self.capacity = capacity;
        self.go_on(file, begun, durably);
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

    /// Writes the header of file `number`, which has its bytes already, and makes the file known. Nothing is
    /// left of it when the disk is full.
    fn begin(&self, file: &dyn File, number: u64, bytes: u64, durably: bool) -> Result<LogBegun> {
        let header = FileHeader {
            file: number,
            previous_end: self.at,
            durable: self.sync.durable(),
            csn: self.last_csn,
            stamp: self.sync.chain.stamp(number, self.stamp),
            previous_stamp: self.stamp,
        };
        let begun = LogBegun { file: number, stamp: header.stamp, bytes };
        let mut page = header.encode().to_vec();
        page.resize(PAGE_BYTES.min(bytes) as usize, 0);
        file.write_at(&page, 0).map_err(beyond_space)?;
        if durably {
            file.sync_all().map_err(beyond_space)?;
            self.storage.sync_dir().map_err(beyond_space)?;
            if let Err(e) = self.sync.chain.note(begun) {
                if e.kind() == ErrorKind::DiskFull {
                    self.withdraw(file, number).map_err(beyond_space)?;
                }
                return Err(e);
            }
        }
        self.storage.written.add(Purpose::Log, format::HEADER_BYTES as u64);
        Ok(begun)
    }

    /// Takes a header back, which would end the log at a place behind which the file before goes on.
    fn withdraw(&self, file: &dyn File, number: u64) -> Result<()> {
        file.write_at(&[0; format::HEADER_BYTES], 0)?;
        file.sync_all()?;
        self.storage.fs.remove(&self.storage.dir.join(FileKind::Log(number).name()))
    }

    /// The next record goes into a file that was begun.
    fn go_on(&mut self, file: Arc<dyn File>, begun: LogBegun, durably: bool) {
        assert!(begun.bytes >= format::HEADER_BYTES as u64, "a file has room for its header");
        assert!(begun.file > self.at.file() || self.closed.is_empty(), "numbers of files rise");
        self.file = file;
        self.stamp = begun.stamp;
        let before = self.at.file();
        self.at = LogPosition::new(begun.file, format::HEADER_BYTES as u64);
        self.covered = PAGE_BYTES.min(begun.bytes);
        let mut state = self.sync.state.lock();
        if !durably && state.durable < state.written {
            let file = Arc::clone(&state.current);
            state.unsynced.push((before, file));
        }
        (state.current, state.begun) = (Arc::clone(&self.file), begun);
        state.written = self.at;
        if durably {
            (state.durable, state.named) = (self.at, begun.file);
        }
    }
}
