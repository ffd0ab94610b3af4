//! Where do commit records go, and when may they be forgotten?
//!
//! The log is a row of preallocated files of equal size. Records never span files. A file whose
//! commits are all flushed is renamed to be the next one: its blocks are written already, so that a
//! sync of the log writes data only and no file-system metadata. Stale records of its previous life
//! carry the old file number and are not taken for new ones (`onlap_format::log`).
//!
//! Invariants: bytes are reserved before a commit is assigned; files are synced before their
//! successor gets a record, in every mode, so that what a crash keeps is a prefix (I3). After a
//! failed write or sync the writer is never used again (I6).
//!
//! Thread safety: owned by the commit leader; [`LogSync`] is shared with the interval syncer.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use onlap_base::{Csn, Result, names};
use onlap_format::log as format;
use onlap_storage::written::{Purpose, Written};
use onlap_vfs::{Access, File, Fs};
use parking_lot::Mutex;

use crate::options::SyncMode;

/// Obsolete files kept for reuse; more are deleted.
const SPARES: usize = 2;
/// Bytes of zeros written per call when a spare file is prepared.
const FILL_BYTES: usize = 1 << 20;

/// A file that gets no more records.
#[derive(Debug)]
struct ClosedFile {
    number: u64,
    last_csn: Csn,
    bytes: u64,
}

/// What the interval syncer needs: the current file, and how far it is known to be on disk.
#[derive(Debug)]
pub(crate) struct LogSync {
    current: Mutex<Arc<dyn File>>,
    written_csn: AtomicU64,
    durable_csn: AtomicU64,
}

impl LogSync {
    /// Syncs what has been written so far.
    pub(crate) fn sync(&self) -> Result<()> {
        let csn = self.written_csn.load(Ordering::Acquire);
        if csn > self.durable_csn.load(Ordering::Acquire) {
            let file = Arc::clone(&self.current.lock());
            file.sync_data()?;
            self.durable_csn.fetch_max(csn, Ordering::AcqRel);
        }
        Ok(())
    }
}

/// Appends commit groups.
pub(crate) struct LogWriter {
    fs: Arc<dyn Fs>,
    dir: PathBuf,
    mode: SyncMode,
    file_bytes: u64,
    written: Arc<Written>,
    number: u64,
    file: Arc<dyn File>,
    at: u64,
    capacity: u64,
    last_csn: Csn,
    closed: VecDeque<ClosedFile>,
    spares: Vec<PathBuf>,
    sync: Arc<LogSync>,
}

impl LogWriter {
    /// Begins a new file after the numbered ones that recovery has read (`closed`: number, last
    /// CSN, bytes).
    pub(crate) fn start(
        fs: Arc<dyn Fs>,
        dir: &Path,
        mode: SyncMode,
        file_bytes: u64,
        written: Arc<Written>,
        closed: Vec<(u64, Csn, u64)>,
        last_csn: Csn,
    ) -> Result<LogWriter> {
        let number = closed.last().map_or(1, |c| c.0 + 1);
        let path = dir.join(names::log_file(number));
        if fs.exists(&path)? {
            fs.remove(&path)?;
        }
        let file = fs.create(&path, Access::ReadWrite)?;
        if mode == SyncMode::Fsync {
            fill(&*file, file_bytes)?;
        }
        let mut writer = LogWriter {
            sync: Arc::new(LogSync {
                current: Mutex::new(Arc::clone(&file)),
                written_csn: AtomicU64::new(last_csn),
                durable_csn: AtomicU64::new(last_csn),
            }),
            fs,
            dir: dir.to_owned(),
            mode,
            file_bytes,
            written,
            number,
            file,
            at: 0,
            capacity: file_bytes,
            last_csn,
            closed: closed
                .into_iter()
                .map(|(number, last_csn, bytes)| ClosedFile { number, last_csn, bytes })
                .collect(),
            spares: Vec::new(),
        };
        writer.begin_file()?;
        Ok(writer)
    }

    pub(crate) fn file_number(&self) -> u64 {
        self.number
    }

    pub(crate) fn sync_handle(&self) -> Arc<LogSync> {
        Arc::clone(&self.sync)
    }

    /// CSN up to which the log is known to be on disk.
    pub(crate) fn durable_csn(&self) -> Csn {
        self.sync.durable_csn.load(Ordering::Acquire)
    }

    /// Makes room for `bytes` of records; afterwards [`LogWriter::append`] needs no new space.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<()> {
        if self.at + bytes as u64 <= self.capacity {
            return Ok(());
        }
        self.roll(bytes as u64)
    }

    /// Writes the records of a group, and syncs them in mode `fsync`.
    pub(crate) fn append(&mut self, records: &[u8], last_csn: Csn) -> Result<()> {
        assert!(self.at + records.len() as u64 <= self.capacity, "space was reserved");
        self.file.write_at(records, self.at)?;
        self.written.add(Purpose::Log, records.len() as u64);
        self.at += records.len() as u64;
        self.last_csn = last_csn;
        self.sync.written_csn.store(last_csn, Ordering::Release);
        if self.mode == SyncMode::Fsync {
            self.sync.sync()?;
        }
        Ok(())
    }

    /// Syncs whatever the mode left unsynced.
    pub(crate) fn sync(&self) -> Result<()> {
        self.sync.sync()
    }

    /// Bytes of all files that may hold unflushed commits.
    pub(crate) fn bytes(&self) -> u64 {
        self.at + self.closed.iter().map(|c| c.bytes).sum::<u64>()
    }

    /// Last CSN of the oldest closed file: flushing up to it lets the log shrink.
    pub(crate) fn oldest_closed_csn(&self) -> Option<Csn> {
        self.closed.front().map(|c| c.last_csn)
    }

    /// Gives up closed files whose commits are all at or below `flushed`.
    pub(crate) fn cut(&mut self, flushed: Csn) -> Result<()> {
        while self.closed.front().is_some_and(|c| c.last_csn <= flushed) {
            let file = self.closed.pop_front().expect("there is a first");
            let path = self.dir.join(names::log_file(file.number));
            if self.spares.len() < SPARES && file.bytes == self.file_bytes {
                self.spares.push(path);
            } else {
                self.fs.remove(&path)?;
            }
        }
        Ok(())
    }

    /// Whether a spare file should be prepared ahead of need.
    pub(crate) fn wants_spare(&self) -> bool {
        self.mode == SyncMode::Fsync && self.spares.is_empty() && self.at > self.capacity / 4
    }

    /// Takes a prepared file over.
    pub(crate) fn add_spare(&mut self, path: PathBuf) {
        self.spares.push(path);
    }

    /// Writes a spare file full of zeros; runs without the commit lock.
    pub(crate) fn prepare_spare(
        fs: &dyn Fs,
        dir: &Path,
        bytes: u64,
        written: &Written,
    ) -> Result<PathBuf> {
        let path = dir.join(names::SPARE_LOG);
        if fs.exists(&path)? {
            fs.remove(&path)?;
        }
        let file = fs.create(&path, Access::ReadWrite)?;
        fill(&*file, bytes)?;
        file.sync_all()?;
        written.add(Purpose::Log, bytes);
        Ok(path)
    }

    fn roll(&mut self, bytes: u64) -> Result<()> {
        let needed = bytes + format::FILE_HEADER_BYTES as u64;
        let capacity = self.file_bytes.max(needed);
        let number = self.number + 1;
        let path = self.dir.join(names::log_file(number));
        let spare = if capacity == self.file_bytes { self.spares.pop() } else { None };
        let file = match spare {
            Some(spare) => {
                self.fs.rename(&spare, &path)?;
                self.fs.open(&path, Access::ReadWrite)?
            }
            None => {
                let file = self.fs.create(&path, Access::ReadWrite)?;
                if let Err(e) = file.allocate(capacity) {
                    self.fs.remove(&path)?;
                    return Err(e);
                }
                file
            }
        };
        self.sync.sync()?;
        let closed =
            ClosedFile { number: self.number, last_csn: self.last_csn, bytes: self.capacity };
        self.closed.push_back(closed);
        self.number = number;
        self.file = Arc::clone(&file);
        self.capacity = capacity;
        *self.sync.current.lock() = file;
        self.begin_file()
    }

    fn begin_file(&mut self) -> Result<()> {
        let header = format::encode_file_header(self.number);
        self.file.write_at(&header, 0)?;
        self.file.sync_all()?;
        self.fs.sync_dir(&self.dir)?;
        self.written.add(Purpose::Log, header.len() as u64);
        self.at = header.len() as u64;
        Ok(())
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
