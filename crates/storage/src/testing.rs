//! What do this crate's tests share? Contexts over a temporary directory.

use std::sync::Arc;

use onlap_base::{Memory, ThreadTasks};
use onlap_vfs::OsFs;
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
