//! What do all readers and writers of one database share?
//!
//! The directory, the file system behind it, the memory budget, the block cache, the task
//! scheduler, the counters of bytes written and the supply of file ids.
//!
//! Thread safety: shared freely behind an `Arc`.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use onlap_base::memory::Memory;
use onlap_base::tasks::Tasks;
use onlap_base::{FileId, Result};
use onlap_vfs::Fs;

use crate::asked::AllAsked;
use crate::cache::BlockCache;
use crate::pace::{Pace, Unpaced};
use crate::written::Written;

/// What readers and writers share.
pub struct StorageContext {
    /// The file system.
    pub fs: Arc<dyn Fs>,
    /// The data directory.
    pub dir: PathBuf,
    /// Blocks in memory.
    pub cache: BlockCache,
    /// The budget.
    pub memory: Arc<Memory>,
    /// The scheduler, for read-ahead.
    pub tasks: Arc<dyn Tasks>,
    /// Blocks that were asked for, by table and index.
    pub asked: AllAsked,
    /// Bytes written per purpose.
    pub written: Written,
    /// Who paces writers of files, from [`StorageContext::set_pace`] on.
    pace: OnceLock<Arc<dyn Pace>>,
    next_file: AtomicU64,
}

impl std::fmt::Debug for StorageContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StorageContext").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl StorageContext {
    /// A context for a directory. File ids start at 1 until [`StorageContext::skip_file_ids`].
    pub fn new(
        fs: Arc<dyn Fs>,
        dir: PathBuf,
        memory: Arc<Memory>,
        tasks: Arc<dyn Tasks>,
    ) -> Arc<StorageContext> {
        Arc::new(StorageContext {
            fs,
            dir,
            cache: BlockCache::new(memory.clone()),
            memory,
            tasks,
            asked: AllAsked::default(),
            written: Written::default(),
            pace: OnceLock::new(),
            next_file: AtomicU64::new(1),
        })
    }

    /// Lets writers of files be paced from now on; the first call counts.
    pub fn set_pace(&self, pace: Arc<dyn Pace>) {
        let _ = self.pace.set(pace);
    }

    /// Who paces writers of files.
    pub fn pace(&self) -> &dyn Pace {
        self.pace.get().map_or(&Unpaced, |pace| &**pace)
    }

    /// A file id that no other file has.
    pub fn new_file_id(&self) -> FileId {
        FileId(self.next_file.fetch_add(1, Relaxed))
    }

    /// Keeps ids up to `last` out of use: they belong to files that are in the directory.
    pub fn skip_file_ids(&self, last: FileId) {
        self.next_file.fetch_max(last.0 + 1, Relaxed);
    }

    /// The id that the next file will have; the manifest keeps it.
    pub fn next_file_id(&self) -> FileId {
        FileId(self.next_file.load(Relaxed))
    }

    /// Makes the names of finished files durable. A writer's `finish` makes the bytes durable; call
    /// this before a manifest edit names the files.
    pub fn sync_dir(&self) -> Result<()> {
        self.fs.sync_dir(&self.dir)
    }
}
