//! How many bytes went to disk, and what for?
//!
//! Every write call of this database is counted here under one purpose; the sum is checked against
//! the counters of the file system layer. The counters know nothing of files.
//!
//! Thread safety: shared freely; adding is one relaxed atomic addition.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, OnceLock};

use onlap_base::IndexId;
use parking_lot::RwLock;

#[cfg(test)]
mod tests;

/// What bytes were written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// The log.
    Log,
    /// Rows, at flush.
    Segment,
    /// Rows, when segments are compacted.
    Compaction,
    /// Entries of an index, at flush or index build.
    Index(IndexId),
    /// Entries of an index, when runs are merged.
    Merge(IndexId),
    /// Marks, at flush and merge.
    Marks,
    /// The manifest and what stands next to it.
    Manifest,
    /// Samples of the database's figures.
    Samples,
}

/// Bytes written for one index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexWritten {
    /// At flush or index build.
    pub flushed: u64,
    /// By merges.
    pub merged: u64,
}

/// All counters at one moment, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenReport {
    /// [`Purpose::Log`]
    pub log: u64,
    /// [`Purpose::Segment`]
    pub segments: u64,
    /// [`Purpose::Compaction`]
    pub compaction: u64,
    /// [`Purpose::Marks`]
    pub marks: u64,
    /// [`Purpose::Manifest`]
    pub manifest: u64,
    /// [`Purpose::Samples`]
    pub samples: u64,
    /// [`Purpose::Index`] and [`Purpose::Merge`] per index.
    pub indexes: BTreeMap<IndexId, IndexWritten>,
}

impl WrittenReport {
    /// Sum of all purposes.
    pub fn total(&self) -> u64 {
        let indexes: u64 = self.indexes.values().map(|i| i.flushed + i.merged).sum();
        let others = self.log + self.segments + self.compaction + self.marks;
        others + self.manifest + self.samples + indexes
    }
}

#[derive(Debug, Default)]
struct IndexCounters {
    flushed: AtomicU64,
    merged: AtomicU64,
}

/// The counters.
#[derive(Debug, Default)]
pub struct Written {
    log: AtomicU64,
    segments: AtomicU64,
    compaction: AtomicU64,
    marks: AtomicU64,
    manifest: AtomicU64,
    samples: AtomicU64,
    indexes: RwLock<BTreeMap<IndexId, Arc<IndexCounters>>>,
    before: OnceLock<WrittenReport>,
}

impl Written {
    /// Counts bytes.
    pub fn add(&self, purpose: Purpose, bytes: u64) {
        match purpose {
            Purpose::Log => self.log.fetch_add(bytes, Relaxed),
            Purpose::Segment => self.segments.fetch_add(bytes, Relaxed),
            Purpose::Compaction => self.compaction.fetch_add(bytes, Relaxed),
            Purpose::Marks => self.marks.fetch_add(bytes, Relaxed),
            Purpose::Manifest => self.manifest.fetch_add(bytes, Relaxed),
            Purpose::Samples => self.samples.fetch_add(bytes, Relaxed),
            Purpose::Index(index) => self.index(index).flushed.fetch_add(bytes, Relaxed),
            Purpose::Merge(index) => self.index(index).merged.fetch_add(bytes, Relaxed),
        };
    }

    /// Says that what was counted so far was written before the database was opened; the first call counts.
    pub fn opened(&self) {
        let _ = self.before.set(self.report());
    }

    /// What was written before the database was opened.
    pub fn before(&self) -> &WrittenReport {
        static NOTHING: LazyLock<WrittenReport> = LazyLock::new(WrittenReport::default);
        self.before.get().unwrap_or(&NOTHING)
    }

    fn index(&self, index: IndexId) -> Arc<IndexCounters> {
        if let Some(counters) = self.indexes.read().get(&index) {
            return counters.clone();
        }
        self.indexes.write().entry(index).or_default().clone()
    }

    /// All counters now.
    pub fn report(&self) -> WrittenReport {
        WrittenReport {
            log: self.log.load(Relaxed),
            segments: self.segments.load(Relaxed),
            compaction: self.compaction.load(Relaxed),
            marks: self.marks.load(Relaxed),
            manifest: self.manifest.load(Relaxed),
            samples: self.samples.load(Relaxed),
            indexes: self
                .indexes
                .read()
                .iter()
                .map(|(id, c)| {
                    let (flushed, merged) = (c.flushed.load(Relaxed), c.merged.load(Relaxed));
                    (*id, IndexWritten { flushed, merged })
                })
                .collect(),
        }
    }
}
