//! What if some files behaved otherwise?
//!
//! A file system that passes everything on, and lets a test stand before the files of some kinds.

use std::path::Path;
use std::sync::Arc;

use onlap_base::Result;
use onlap_base::names::FileKind;
use onlap_vfs::{Access, File, Fs, IoCounters, LockGuard};

/// Gives a file of the engine, or one that stands before it.
pub type Wrap = dyn Fn(FileKind, Arc<dyn File>) -> Arc<dyn File> + Send + Sync;

/// Passes everything on to a file system, except for files that `wrap` stands before.
pub struct WrappedFs {
    inner: Arc<dyn Fs>,
    wrap: Box<Wrap>,
}

impl WrappedFs {
    /// Asks `wrap` for each file that is made or opened under a name of the engine's.
    pub fn new(
        inner: Arc<dyn Fs>,
        wrap: impl Fn(FileKind, Arc<dyn File>) -> Arc<dyn File> + Send + Sync + 'static,
    ) -> WrappedFs {
        WrappedFs { inner, wrap: Box::new(wrap) }
    }

    fn file(&self, path: &Path, file: Arc<dyn File>) -> Arc<dyn File> {
        let kind = path.file_name().and_then(|name| name.to_str()).and_then(FileKind::parse);
        match kind {
            Some(kind) => (self.wrap)(kind, file),
            None => file,
        }
    }
}

impl Fs for WrappedFs {
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
