//! How many bytes of the block cache are of which file?
//!
//! One counter per file, found when a block comes in, which costs a read or a decompression anyway, and held by the block
//! until it goes: blocks that are evicted, removed or let go by their last reader need no look at anything. Counters
//! without a block are swept out when there are many, so there are at most twice as many as files with blocks, and
//! [`SWEPT_FROM`] more.
//!
//! Invariant: the counters add up to what blocks charge [`onlap_base::memory::Part::Cache`]. Thread safety: shared freely.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hashbrown::HashMap;
use onlap_base::FileId;
use parking_lot::RwLock;

/// Counters that are kept in any case.
const SWEPT_FROM: usize = 1024;

/// The counters.
#[derive(Default)]
pub(super) struct ByFile(RwLock<Counters>);

#[derive(Default)]
struct Counters {
    files: HashMap<FileId, Arc<AtomicU64>>,
    /// How many stayed at the last sweep.
    kept: usize,
}

/// The bytes of one block, counted as long as this lives.
pub(super) struct Held {
    of: Arc<AtomicU64>,
    bytes: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        let before = self.of.fetch_sub(self.bytes, Relaxed);
        debug_assert!(before >= self.bytes, "a block gives back what it took");
    }
}

impl ByFile {
    /// Counts a block.
    pub(super) fn hold(&self, file: FileId, bytes: u64) -> Held {
        let known = self.0.read().files.get(&file).cloned();
        let of = known.unwrap_or_else(|| self.0.write().counter(file));
        debug_assert!(bytes > 0, "a block takes room, and so keeps its counter");
        of.fetch_add(bytes, Relaxed);
        Held { of, bytes }
    }

    /// Bytes of a file.
    pub(super) fn held(&self, file: FileId) -> u64 {
        self.0.read().files.get(&file).map_or(0, |of| of.load(Relaxed))
    }

    #[cfg(test)]
    pub(super) fn counters(&self) -> usize {
        self.0.read().files.len()
    }
}

impl Counters {
    fn counter(&mut self, file: FileId) -> Arc<AtomicU64> {
        if self.files.len() >= 2 * self.kept + SWEPT_FROM {
            // What a block holds, or is about to, has a second owner.
            self.files.retain(|_, of| Arc::strong_count(of) > 1);
            self.kept = self.files.len();
        }
        Arc::clone(self.files.entry(file).or_default())
    }
}
