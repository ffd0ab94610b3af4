//! How many bytes and calls went to the file system?
//!
//! Bytes as passed to the calls, whatever the page cache or the device make of them; the lab checks
//! them against the kernel's own counters. Relaxed atomics: figures, not synchronisation.

use std::sync::atomic::{AtomicU64, Ordering};

/// Running counts of one file system.
#[derive(Debug, Default)]
pub struct IoCounters {
    reads: AtomicU64,
    read_bytes: AtomicU64,
    writes: AtomicU64,
    written_bytes: AtomicU64,
    syncs: AtomicU64,
}

/// [`IoCounters`] at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoCounts {
    /// Calls that read.
    pub reads: u64,
    /// Bytes they returned, rounding for alignment included.
    pub read_bytes: u64,
    /// Calls that wrote.
    pub writes: u64,
    /// Bytes they took.
    pub written_bytes: u64,
    /// Syncs of files and directories.
    pub syncs: u64,
}

impl IoCounters {
    /// The counts now. Each is exact; together they may be a moment apart.
    pub fn now(&self) -> IoCounts {
        IoCounts {
            reads: self.reads.load(Ordering::Relaxed),
            read_bytes: self.read_bytes.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
            written_bytes: self.written_bytes.load(Ordering::Relaxed),
            syncs: self.syncs.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn read(&self, bytes: usize) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.read_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn wrote(&self, bytes: usize) {
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn synced(&self) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
    }
}

impl IoCounts {
    /// What happened since `before`.
    #[must_use]
    pub fn since(self, before: IoCounts) -> IoCounts {
        IoCounts {
            reads: self.reads - before.reads,
            read_bytes: self.read_bytes - before.read_bytes,
            writes: self.writes - before.writes,
            written_bytes: self.written_bytes - before.written_bytes,
            syncs: self.syncs - before.syncs,
        }
    }
}
