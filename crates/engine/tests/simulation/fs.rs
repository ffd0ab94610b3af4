//! A file system at whose operations the simulation may let another task go on.
//!
//! A disk takes its time, and what the engine does meanwhile is what the simulation is about. Writes
//! and syncs of logs, segments, runs and mark runs are such moments. The manifest is left out: its
//! record is written under the lock that orders changes, which another task would wait for outside
//! the scheduler. Reads are left out too; readers give way between the batches that they ask for.

use std::path::Path;
use std::sync::Arc;

use onlap::Result;
use onlap_base::names::FileKind;
use onlap_base::tasks::{SimTasks, Tasks};
use onlap_vfs::{Access, File, Fs, IoCounters, LockGuard, ReadBuf};

/// Passes everything on to `inner`.
pub struct SlowFs {
    pub inner: Arc<dyn Fs>,
    pub tasks: SimTasks,
}

impl SlowFs {
    fn file(&self, path: &Path, inner: Arc<dyn File>) -> Arc<dyn File> {
        let name = path.file_name().and_then(|n| n.to_str()).and_then(FileKind::parse);
        match name {
            Some(
                FileKind::Log(_) | FileKind::Segment(_) | FileKind::Run(_) | FileKind::Marks(_),
            ) => Arc::new(SlowFile { inner, tasks: self.tasks.clone() }),
            _ => inner,
        }
    }
}

impl Fs for SlowFs {
    fn create(&self, path: &Path, access: Access) -> Result<Arc<dyn File>> {
        Ok(self.file(path, self.inner.create(path, access)?))
    }
    fn open(&self, path: &Path, access: Access) -> Result<Arc<dyn File>> {
        Ok(self.file(path, self.inner.open(path, access)?))
    }
    fn remove(&self, path: &Path) -> Result<()> {
        self.inner.remove(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.inner.rename(from, to)
    }
    fn list(&self, dir: &Path) -> Result<Vec<String>> {
        self.inner.list(dir)
    }
    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        self.inner.create_dir_all(dir)
    }
    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.inner.sync_dir(dir)
    }
    fn exists(&self, path: &Path) -> Result<bool> {
        self.inner.exists(path)
    }
    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        self.inner.hard_link(from, to)
    }
    fn remove_dir(&self, dir: &Path) -> Result<()> {
        self.inner.remove_dir(dir)
    }
    fn lock(&self, path: &Path) -> Result<LockGuard> {
        self.inner.lock(path)
    }
    fn free_bytes(&self, dir: &Path) -> Result<u64> {
        self.inner.free_bytes(dir)
    }
    fn counters(&self) -> &IoCounters {
        self.inner.counters()
    }
}

struct SlowFile {
    inner: Arc<dyn File>,
    tasks: SimTasks,
}

impl SlowFile {
    /// Others go on before the operation happens and before its caller knows that it did.
    fn slowly(&self, operation: impl FnOnce() -> Result<()>) -> Result<()> {
        self.tasks.yield_now();
        let done = operation();
        self.tasks.yield_now();
        done
    }
}

impl File for SlowFile {
    fn read_at(&self, offset: u64, len: usize) -> Result<ReadBuf> {
        self.inner.read_at(offset, len)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.slowly(|| self.inner.write_at(bytes, offset))
    }
    fn sync_data(&self) -> Result<()> {
        self.slowly(|| self.inner.sync_data())
    }
    fn sync_all(&self) -> Result<()> {
        self.slowly(|| self.inner.sync_all())
    }
    fn len(&self) -> Result<u64> {
        self.inner.len()
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.inner.set_len(len)
    }
    fn allocate(&self, len: u64) -> Result<()> {
        self.inner.allocate(len)
    }
    fn prefetch(&self, offset: u64, len: u64) {
        self.inner.prefetch(offset, len);
    }
    fn drop_cache(&self) {
        self.inner.drop_cache();
    }
}
