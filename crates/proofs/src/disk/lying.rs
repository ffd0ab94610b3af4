//! A file system that lies about room: what finds none in a log reports success, some times.
//!
//! A fault planted for the rig of full disks. Afterwards the truth is told, so that the disk does fill up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use onlap_base::names::FileKind;
use onlap_base::{ErrorKind, Result};
use onlap_testkit::WrappedFs;
use onlap_vfs::{File, MemFs, ReadBuf};

/// Passes everything on, except for so many allocations of logs that fail, and what is written behind their ends.
pub fn disk(disk: MemFs, lies: u32) -> WrappedFs {
    let lies = Arc::new(AtomicU32::new(lies));
    WrappedFs::new(Arc::new(disk), move |kind, inner| match kind {
        FileKind::Log(_) => {
            Arc::new(LyingFile { inner, lies: Arc::clone(&lies), lied: AtomicBool::new(false) })
        }
        _ => inner,
    })
}

struct LyingFile {
    inner: Arc<dyn File>,
    lies: Arc<AtomicU32>,
    lied: AtomicBool,
}

impl File for LyingFile {
    fn read_at(&self, offset: u64, len: usize) -> Result<ReadBuf> {
        self.inner.read_at(offset, len)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        match self.inner.write_at(bytes, offset) {
            Err(e) if e.kind() == ErrorKind::DiskFull && self.lied.load(Ordering::Relaxed) => {
                Ok(())
            }
            done => done,
        }
    }
    fn sync_data(&self) -> Result<()> {
        self.inner.sync_data()
    }
    fn sync_all(&self) -> Result<()> {
        self.inner.sync_all()
    }
    fn len(&self) -> Result<u64> {
        self.inner.len()
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.inner.set_len(len)
    }
    fn allocate(&self, len: u64) -> Result<()> {
        let done = self.inner.allocate(len);
        let less = |lies: u32| lies.checked_sub(1);
        if done.as_ref().is_err_and(|e| e.kind() == ErrorKind::DiskFull)
            && self.lies.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
        {
            self.lied.store(true, Ordering::Relaxed);
            return Ok(());
        }
        done
    }
    fn prefetch(&self, offset: u64, len: u64) {
        self.inner.prefetch(offset, len);
    }
    fn write_back(&self, offset: u64, len: u64) {
        self.inner.write_back(offset, len);
    }
    fn drop_cache(&self) {
        self.inner.drop_cache();
    }
}
