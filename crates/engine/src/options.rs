//! With which settings does a database run?
//!
//! Everything has a default that suits a laptop and a server alike; [`Tuning`] holds the sizes that
//! tests shrink so that every path is taken with few rows.

use std::sync::Arc;
use std::time::Duration;

use onlap_base::clock::{Clock, SystemClock};
use onlap_base::limits::{self, MEMORY_LIMIT_MIN};
use onlap_base::memory;
use onlap_base::tasks::{Tasks, ThreadTasks};
use onlap_base::{Error, ErrorKind, Result};
use onlap_vfs::{Fs, OsFs};

/// When a commit is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SyncMode {
    /// After `fdatasync` of the log: survives power loss.
    #[default]
    Fsync,
    /// After the write call; the log is synced at least this often. A killed process loses nothing,
    /// power loss at most the interval.
    Interval(Duration),
    /// After the write call; the operating system decides when the log reaches the disk. A killed
    /// process loses nothing.
    Os,
}

impl std::fmt::Display for SyncMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SyncMode::Fsync => f.write_str("fsync"),
            SyncMode::Interval(d) => write!(f, "interval:{}", d.as_millis()),
            SyncMode::Os => f.write_str("os"),
        }
    }
}

impl std::str::FromStr for SyncMode {
    type Err = Error;

    fn from_str(s: &str) -> Result<SyncMode> {
        match s {
            "fsync" => return Ok(SyncMode::Fsync),
            "os" => return Ok(SyncMode::Os),
            _ => {}
        }
        let millis = s.strip_prefix("interval:").and_then(|ms| ms.parse::<u64>().ok());
        match millis {
            Some(ms @ 1..=3_600_000) => Ok(SyncMode::Interval(Duration::from_millis(ms))),
            _ => Err(Error::new(
                ErrorKind::InvalidInput,
                format!("sync mode '{s}' is none of fsync, interval:MS (1 to 3600000), os"),
            )),
        }
    }
}

/// Settings of an open database.
#[derive(Clone)]
pub struct Options {
    /// Bytes for memtables, buffers, cache, filters, fences and merges together. `None` takes a
    /// quarter of the machine's memory, or of the control group's limit where that is lower.
    pub memory_limit: Option<u64>,
    /// When a commit is acknowledged.
    pub sync: SyncMode,
    /// Bytes of log kept before tables that pin it are flushed or, if small, logged again.
    pub log_limit: u64,
    /// Background tasks for flushes and merges; from two on, the first is kept for flushes.
    pub background_jobs: usize,
    /// Age at which a snapshot that does not see everything is revoked; `None`: at any age it is kept.
    pub snapshot_age_limit: Option<Duration>,
    /// Bytes that may be kept only because snapshots are open ([`crate::Stats::snapshot_debt_bytes`]);
    /// above, the oldest snapshot is revoked. `None`: four times the memory limit, at least 1 GiB and
    /// at most 16 GiB, as what merges may owe.
    pub snapshot_debt_limit: Option<u64>,
    /// Bytes of dead rows that may be kept only because tables have a history
    /// ([`crate::Stats::history_debt_bytes`]); before they are more, the oldest part of the largest history
    /// is given up. `None`: sixteen times what open snapshots may keep.
    pub history_debt_limit: Option<u64>,
    /// Create the database where there is none.
    pub create: bool,
    /// Sizes that tests shrink.
    pub tuning: Tuning,
    /// How bytes reach the disk.
    pub fs: Arc<dyn Fs>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Who runs background work and waits.
    pub tasks: Arc<dyn Tasks>,
}

/// Sizes that tests shrink; the defaults are what production runs with.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// A memtable is flushed at this many bytes. `None` derives it from the memory limit.
    pub memtable_bytes: Option<usize>,
    /// A transaction's rows leave memory at this many bytes. `None` derives it from the memory limit.
    pub spill_bytes: Option<u64>,
    /// Rows after which a segment block is closed, whatever its bytes.
    pub block_rows: usize,
    /// Bytes after which a block of a run is closed.
    pub block_bytes: usize,
    /// Sizes inside a memtable.
    pub memtable: onlap_memtable::Tuning,
    /// Bytes after which a file of a run is closed.
    pub run_file_bytes: u64,
    /// Runs of a level that are merged into one of the next.
    pub merge_fan_in: usize,
    /// Share of dead rows, in percent, at which a segment is rewritten.
    pub compact_dead_percent: u8,
    /// Size of one log file.
    pub log_file_bytes: u64,
    /// Rows of a table that were written blindly and have not met the rows before them yet, at most:
    /// 64 MiB at 16 bits each. One percent of the rows where that is more.
    pub pending_rows: u64,
    /// What merges may owe before writers are paced for it; `None`: four times the memory limit, at least
    /// 1 GiB.
    pub merge_debt_bytes: Option<u64>,
    /// A rule that tests switch off, to see that they notice.
    #[doc(hidden)]
    pub without: Option<Rule>,
}

/// What keeps transactions apart, and a database going; see [`Tuning::without`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Above READ COMMITTED nobody changes a row that was changed since the snapshot.
    FirstUpdaterWins,
    /// At READ COMMITTED rows that were changed meanwhile are looked at again.
    Recheck,
    /// At SERIALIZABLE reads are validated at commit.
    ReadValidation,
    /// No two live rows have one unique key.
    UniqueKeys,
    /// A child row's parent is locked.
    ForeignKeys,
    /// Rows that blind ones replaced get marks.
    BlindMarks,
    /// Writers are held back where flushes and merges are behind.
    BackPressure,
    /// Room is kept for deletes and drops on a full disk.
    Margin,
    /// An index that a transaction creates has the rows that others commit meanwhile.
    NewIndexes,
    /// The log file that the manifest calls the newest must be there.
    LogChain,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            memtable_bytes: None,
            spill_bytes: None,
            block_rows: limits::BLOCK_ROWS_MAX,
            block_bytes: limits::BLOCK_BYTES,
            memtable: onlap_memtable::Tuning::default(),
            run_file_bytes: limits::RUN_FILE_BYTES,
            merge_fan_in: 8,
            compact_dead_percent: 20,
            log_file_bytes: limits::LOG_FILE_BYTES,
            pending_rows: limits::PENDING_ROWS,
            merge_debt_bytes: None,
            without: None,
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            memory_limit: None,
            sync: SyncMode::Fsync,
            log_limit: limits::LOG_LIMIT_DEFAULT,
            background_jobs: 2,
            snapshot_age_limit: None,
            snapshot_debt_limit: None,
            history_debt_limit: None,
            create: true,
            tuning: Tuning::default(),
            fs: Arc::new(OsFs::new()),
            clock: Arc::new(SystemClock),
            tasks: Arc::new(ThreadTasks::new()),
        }
    }
}

impl Options {
    /// Sets the memory limit in bytes.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Options {
        self.memory_limit = Some(bytes);
        self
    }
    /// Sets when a commit is acknowledged.
    #[must_use]
    pub fn sync(mut self, mode: SyncMode) -> Options {
        self.sync = mode;
        self
    }
    /// Sets whether a missing database is created.
    #[must_use]
    pub fn create(mut self, create: bool) -> Options {
        self.create = create;
        self
    }

    /// Refuses what the engine cannot work with.
    pub(crate) fn check(&self) -> Result<()> {
        let least = limits::LOG_LIMIT_MIN.min(2 * self.tuning.log_file_bytes);
        if self.log_limit < least {
            let text = format!("log_limit of {} bytes is below the least, {least}", self.log_limit);
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        if self.background_jobs > limits::BACKGROUND_JOBS {
            let text = format!(
                "{} background jobs are more than the most, {}",
                self.background_jobs,
                limits::BACKGROUND_JOBS
            );
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        Ok(())
    }

    /// The limit in force, checked.
    pub(crate) fn resolved_memory_limit(&self) -> Result<u64> {
        let bytes = self.memory_limit.unwrap_or_else(memory::default_limit).max(1);
        if self.memory_limit.is_some() && bytes < MEMORY_LIMIT_MIN {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                format!("memory_limit of {bytes} bytes is below the least, {MEMORY_LIMIT_MIN}"),
            ));
        }
        Ok(bytes.max(MEMORY_LIMIT_MIN))
    }
}
