//! How do bytes reach a disk?
//!
//! [`Fs`] and [`File`] say what the layers above may rely on; [`OsFs`] keeps those promises with the
//! operating system, [`MemFs`] in memory with everything unsynced lost at a crash, and [`FaultFs`]
//! breaks one of them at a chosen moment. The crate knows paths and bytes, nothing of what they mean.
//!
//! What the layers above may rely on, and nothing more:
//!
//! * Bytes written are visible to every later read of this process, and survive power loss once
//!   [`File::sync_data`] or [`File::sync_all`] on the file returned `Ok` after the write. Without
//!   that, any part of them at a grain of 512 bytes may be there or not.
//! * A name made, replaced or removed survives power loss once [`Fs::sync_dir`] on its directory
//!   returned `Ok`; before, the change may be there or not. A rename is atomic: the new name means
//!   the old file or the new one, never neither.
//! * After a failed sync nothing is known about the bytes it was for; syncing again proves nothing
//!   (rule I6 is the answer).
//!
//! All types are safe to share between threads. No file descriptor position exists: reads and writes
//! name their offsets.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests stand outside the simulation"))]

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use onlap_base::Result;

mod buffer;
mod counters;
mod fault;
mod mem;
mod os;

pub use buffer::{ALIGN, AlignedBuf};
pub use counters::{IoCounters, IoCounts};
pub use fault::{Fault, FaultFs, Operation, Watcher};
pub use mem::{Grain, MemFs, Survival};
pub use os::OsFs;

/// How a file will be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Read and written through the page cache.
    ReadWrite,
    /// Read through the page cache.
    Read,
    /// Read past the page cache, so that blocks are cached once; through it where the file system
    /// cannot do without.
    ReadDirect,
    /// Written once from front to back, past the page cache where the file system can: a write returns when the
    /// device has the bytes, and a sync has little left to do. What begins or ends between two multiples of
    /// [`ALIGN`], and everything after it, goes through the page cache.
    WriteDirect,
}

/// A held lock; dropping it releases the lock.
pub type LockGuard = Box<dyn Send + Sync>;

/// A file system.
///
/// # Errors
/// Every operation: `Io`, naming the operation and the path; `NotFound` for a missing file;
/// `DiskFull` when there is no space.
pub trait Fs: Send + Sync {
    /// Makes a file, or empties the one of that name.
    fn create(&self, path: &Path, access: Access) -> Result<Arc<dyn File>>;

    /// Opens a file that exists.
    fn open(&self, path: &Path, access: Access) -> Result<Arc<dyn File>>;

    /// Removes a name. A task that has the file open goes on using it.
    fn remove(&self, path: &Path) -> Result<()>;

    /// Gives a file another name, atomically replacing what had it.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Names in a directory, sorted; files and directories alike.
    fn list(&self, dir: &Path) -> Result<Vec<String>>;

    /// Makes a directory and those above it, durably: no [`Fs::sync_dir`] is needed for them.
    fn create_dir_all(&self, dir: &Path) -> Result<()>;

    /// Makes the names of a directory durable as they are now.
    fn sync_dir(&self, dir: &Path) -> Result<()>;

    /// Whether a file or directory of that name exists.
    fn exists(&self, path: &Path) -> Result<bool>;

    /// Gives a file a second name, which must not exist. Both names lead to the same bytes from then
    /// on, and removing one leaves the other. The new name is as durable as any other new one.
    ///
    /// # Errors
    /// `Unsupported` where the two places cannot share a file: copy it instead.
    fn hard_link(&self, from: &Path, to: &Path) -> Result<()>;

    /// Removes an empty directory.
    fn remove_dir(&self, dir: &Path) -> Result<()>;

    /// Takes the lock file `path`, making it when missing, until the guard is dropped.
    ///
    /// # Errors
    /// `Locked`, naming the owner's process id, when someone has it, this process included.
    fn lock(&self, path: &Path) -> Result<LockGuard>;

    /// Bytes that may still be written to the file system that holds `dir`.
    fn free_bytes(&self, dir: &Path) -> Result<u64>;

    /// What passed through this file system so far.
    fn counters(&self) -> &IoCounters;
}

/// An open file.
///
/// # Errors
/// Every operation: `Io`, naming the operation and the path; `DiskFull` when there is no space.
#[expect(clippy::len_without_is_empty, reason = "a length can fail; no caller asks for emptiness")]
pub trait File: Send + Sync {
    /// Exactly `len` bytes from `offset`. Any alignment: direct files round outwards inside.
    ///
    /// # Errors
    /// `Corruption` with file and offset when the file ends before.
    fn read_at(&self, offset: u64, len: usize) -> Result<ReadBuf>;

    /// Writes all of `bytes` at `offset`, extending the file as needed. When it fails, any part of
    /// them may have landed.
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()>;

    /// Makes the bytes, and the length needed to read them, durable.
    fn sync_data(&self) -> Result<()>;

    /// Makes the bytes and everything known about the file durable.
    fn sync_all(&self) -> Result<()>;

    /// Length in bytes.
    fn len(&self) -> Result<u64>;

    /// Cuts the file or extends it with zeros that may take no space yet.
    fn set_len(&self, len: u64) -> Result<()>;

    /// Reserves space for the first `len` bytes, extending the file with zeros when it is shorter:
    /// later writes below `len` find space.
    fn allocate(&self, len: u64) -> Result<()>;

    /// A hint that these bytes will be read soon. Direct files ignore it.
    fn prefetch(&self, offset: u64, len: u64);

    /// A hint that these bytes may go to the device now, so that they do not come as a lump with a later sync. They
    /// are no more durable than before.
    fn write_back(&self, offset: u64, len: u64);

    /// Lets go of the page cache's copy of what was synced: who reads it next reads directly.
    fn drop_cache(&self);
}

/// Bytes read from a file.
#[derive(Clone, Default)]
pub struct ReadBuf {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl ReadBuf {
    /// The `len` bytes of `bytes` from `start`.
    ///
    /// # Panics
    /// When `bytes` is shorter.
    pub fn part(bytes: Vec<u8>, start: usize, len: usize) -> ReadBuf {
        assert!(start <= bytes.len() && len <= bytes.len() - start, "the part lies inside");
        ReadBuf { bytes, start, len }
    }

    /// The bytes alone; copies only where alignment made the buffer larger.
    pub fn into_vec(mut self) -> Vec<u8> {
        self.bytes.truncate(self.start + self.len);
        self.bytes.drain(..self.start);
        self.bytes
    }

    /// Bytes of heap behind the buffer: up to two pages more than it shows.
    pub fn heap_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}

impl From<Vec<u8>> for ReadBuf {
    fn from(bytes: Vec<u8>) -> ReadBuf {
        let len = bytes.len();
        ReadBuf { bytes, start: 0, len }
    }
}

impl Deref for ReadBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len]
    }
}

impl std::fmt::Debug for ReadBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ReadBuf({} bytes)", self.len)
    }
}

/// The directory that holds `path`; `.` for a bare name.
pub fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}
