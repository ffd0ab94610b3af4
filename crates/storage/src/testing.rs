//! What do this crate's tests share? Contexts over a temporary directory.

use std::path::PathBuf;
use std::sync::Arc;

use onlap_base::{Memory, ThreadTasks};
use onlap_vfs::{Access, Fs, MemFs, OsFs};
use tempfile::TempDir;

use crate::StorageContext;

/// A context on a fresh directory of the real file system.
pub(crate) fn disk(memory: u64) -> (TempDir, Arc<StorageContext>) {
    let dir = TempDir::new().expect("a temporary directory");
    let context = StorageContext::new(
        Arc::new(OsFs::new()),
        dir.path().to_owned(),
        Arc::new(Memory::new(memory)),
        Arc::new(ThreadTasks::new()),
    );
    (dir, context)
}

/// A context on an empty file system in memory.
pub(crate) fn memory(limit: u64) -> Arc<StorageContext> {
    on(Arc::new(MemFs::new()), limit)
}

/// A context on an empty file system.
pub(crate) fn on(fs: Arc<dyn Fs>, limit: u64) -> Arc<StorageContext> {
    let dir = PathBuf::from("/db");
    fs.create_dir_all(&dir).expect("the file system is empty and works");
    let memory = Arc::new(Memory::new(limit));
    StorageContext::new(fs, dir, memory, Arc::new(ThreadTasks::new()))
}

/// Inverts one byte of a file and forgets cached blocks; doing it twice undoes it.
pub(crate) fn damage(context: &StorageContext, name: &str, offset: u64) {
    let path = context.dir.join(name);
    let old = context.fs.open(&path, Access::Read).expect("the file is there");
    let mut bytes =
        old.read_at(0, old.len().expect("a length") as usize).expect("readable").to_vec();
    bytes[offset as usize] ^= 0x5a;
    let file = context.fs.create(&path, Access::ReadWrite).expect("can be made again");
    file.write_at(&bytes, 0).expect("writable");
    context.cache.clear();
}
