//! How far is an index build, and how is it ended early?
//!
//! A [`BuildControl`] is shared between the thread that builds, the tasks that work for it, and those that watch. The
//! statement of the thread that makes it ends the build, too, where there is one ([`stop`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use onlap_base::stop::{self, Stop};
use onlap_base::{Error, ErrorKind, Result};

/// How far a build has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BuildProgress {
    /// Rows of the table that were read, sorted and written, for all indexes together.
    pub rows_done: u64,
    /// Rows to read; 0 until that is known. May grow when large transactions commit meanwhile.
    pub rows_total: u64,
}

/// Watches a build and ends it; clones are of the same build.
#[derive(Clone, Debug)]
pub struct BuildControl(Arc<State>);

#[derive(Debug, Default)]
struct State {
    cancelled: AtomicBool,
    /// The statement that the build is of.
    statement: Option<Arc<Stop>>,
    done: AtomicU64,
    total: AtomicU64,
}

impl Default for BuildControl {
    fn default() -> BuildControl {
        BuildControl::new()
    }
}

impl BuildControl {
    /// For one build, which ends with the statement that this thread works for.
    pub fn new() -> BuildControl {
        BuildControl(Arc::new(State { statement: stop::known(), ..State::default() }))
    }

    /// How far the build is.
    pub fn progress(&self) -> BuildProgress {
        BuildProgress {
            rows_done: self.0.done.load(Ordering::Relaxed),
            rows_total: self.0.total.load(Ordering::Relaxed),
        }
    }

    /// Ends the build soon, with [`ErrorKind::Cancelled`]; nothing of it is left. A build that is
    /// done by then stays.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    /// The statement that the build is of.
    pub(super) fn statement(&self) -> Option<&Arc<Stop>> {
        self.0.statement.as_ref()
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.0.cancelled.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Cancelled, "the index build was cancelled"));
        }
        self.0.statement.as_ref().map_or(Ok(()), |statement| statement.check())
    }

    pub(super) fn expect(&self, rows: u64) {
        self.0.total.fetch_add(rows, Ordering::Relaxed);
    }

    pub(super) fn advance(&self, rows: u64) {
        self.0.done.fetch_add(rows, Ordering::Relaxed);
    }
}
