//! How far is what sessions do for long?
//!
//! A statement that takes long says what it does and counts on ([`Work`]); the views `pg_stat_progress_…` look at it from other
//! sessions. How far an index build is the engine knows ([`onlap::Database::builds`]).
//!
//! Thread safety: counters are stored and read without a lock; a lock is held for a moment when work begins and ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// COPY, to or from the client.
    Copy {
        /// From the client.
        is_in: bool,
    },
    /// CREATE INDEX.
    Build {
        /// Writers go on meanwhile, as with CONCURRENTLY.
        concurrently: bool,
    },
}

/// Work under way.
#[derive(Debug)]
pub struct Work {
    /// What it is.
    pub kind: Kind,
    /// The OID of the table; 0 where it is of a query.
    pub relation: u32,
    /// Bytes that came or went, of a COPY.
    pub bytes: AtomicU64,
    /// Rows that came or went.
    pub rows: AtomicU64,
    /// Rows that its condition left out.
    pub excluded: AtomicU64,
}

impl Work {
    /// Work that begins.
    pub fn new(kind: Kind, relation: u32) -> Arc<Work> {
        Arc::new(Work {
            kind,
            relation,
            bytes: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            excluded: AtomicU64::new(0),
        })
    }

    /// Counts bytes.
    pub fn add_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Says how many rows it is so far.
    pub fn at_row(&self, rows: u64) {
        self.rows.store(rows, Relaxed);
    }
}

/// What a session does.
#[derive(Debug, Default)]
pub struct Progress(Mutex<Option<Arc<Work>>>);

impl Progress {
    /// Shows work until the guard goes. Work within work is part of that.
    pub fn show(self: &Arc<Progress>, work: &Arc<Work>) -> Shown {
        let mut at = self.0.lock();
        let is_first = at.is_none();
        if is_first {
            *at = Some(Arc::clone(work));
        }
        Shown(is_first.then(|| Arc::clone(self)))
    }

    /// What is done now.
    pub fn work(&self) -> Option<Arc<Work>> {
        self.0.lock().clone()
    }
}

/// Work that is shown for as long as this lives.
#[derive(Debug)]
pub struct Shown(Option<Arc<Progress>>);

impl Drop for Shown {
    fn drop(&mut self) {
        if let Some(progress) = &self.0 {
            *progress.0.lock() = None;
        }
    }
}
