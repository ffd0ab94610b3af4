//! What must an engine do to be measured?
//!
//! The smallest surface that the workloads need, so that a foreign engine is a small driver. A
//! driver must count nothing that [`crate::measure`] reads from the process; it tells only what no
//! one else can know: bytes by purpose, debts, its budget.
//!
//! Thread safety: an [`Engine`] is shared by all clients of a run; each client thread has a
//! [`Client`] of its own.

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use onlap::SyncMode;
use onlap::{Batch, Row, Value};
use onlap_base::Result;

use crate::generate::{IndexShape, TableShape};
use crate::measure::process::{Resident, Usage};

/// How an engine is opened.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Directory for its files, empty or left by the same engine.
    pub dir: PathBuf,
    /// Its memory budget in bytes, everything included.
    pub memory: u64,
    /// When a commit is acknowledged.
    pub sync: SyncMode,
    /// A cgroup that a server starts in.
    pub group: Option<PathBuf>,
    /// Where the engine `url` listens.
    pub url: Option<String>,
    /// Clients that will work at once.
    pub clients: usize,
}

/// Name of the rows among the sizes that an engine tells.
pub const ROWS: &str = "rows";

/// Where a range of an index begins: the least value of its first column.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// With this value.
    At(Value),
    /// Behind it.
    After(Value),
}

/// Bytes written since the engine was opened, by purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The log; `None` where the engine does not tell.
    pub log: Option<u64>,
    /// Rows, at flush and compaction; `None` where rows and indexes cannot be told apart.
    pub rows: Option<u64>,
    /// Entries per index, at flush and by merges.
    pub indexes: BTreeMap<String, u64>,
    /// Everything: the above and manifests, marks and whatever else. `None` where the engine does
    /// not count; then the process's write calls are taken.
    pub total: Option<u64>,
}

/// An open engine with at most one table.
pub trait Engine: Sync {
    /// Creates the table with its first `indexes` secondary indexes.
    fn create_table(&self, shape: &'static TableShape, indexes: usize) -> Result<()>;

    /// Names the table that an earlier [`Engine::create_table`] made in the same directory.
    fn use_table(&self, shape: &'static TableShape, indexes: usize) -> Result<()>;

    /// Adds a secondary index to the table that was created.
    fn create_index(&self, index: &'static IndexShape) -> Result<()>;

    /// A handle for one client thread.
    fn client(&self) -> Result<Box<dyn Client + '_>>;

    /// Writes all rows and index entries that are only in memory and log to their files.
    fn flush(&self) -> Result<()>;

    /// Waits until no background work is due.
    fn settle(&self) -> Result<()>;

    /// Bytes written by purpose.
    fn written(&self) -> Result<Written>;

    /// Bytes that rows and every index take now, where the engine tells.
    fn sizes(&self) -> Result<BTreeMap<String, u64>> {
        Ok(BTreeMap::new())
    }

    /// Bytes that background work still has to rewrite.
    fn merge_debt_bytes(&self) -> Result<u64>;

    /// Bytes of memory in use by part, where the engine says so.
    fn memory_parts(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }

    /// Number of live rows, by a scan or an exact count.
    fn count(&self) -> Result<u64>;

    /// Sum of an integer column of all rows; `None` where the driver has no way to ask.
    fn sum(&self, column: usize) -> Result<Option<i64>> {
        let _ = column;
        Ok(None)
    }

    /// What the engine's own processes have used; `None` where it runs in this one.
    fn usage(&self) -> Option<Usage> {
        None
    }

    /// Memory of the engine's own processes; `None` where it runs in this one.
    fn resident(&self) -> Option<Resident> {
        None
    }

    /// The settings that it runs with.
    fn config(&self) -> Vec<String> {
        Vec::new()
    }

    /// The last lines of its log.
    fn log_tail(&self) -> String {
        String::new()
    }

    /// Closes it.
    fn close(self: Box<Self>) -> Result<()>;
}

/// One client's handle.
pub trait Client: Send {
    /// One commit of a batch; the engine fills the key column where it is NULL, counting from 1.
    fn insert_batch(&mut self, rows: Batch) -> Result<()>;

    /// One commit of rows handed over one by one.
    fn insert_rows(&mut self, rows: &[Row]) -> Result<()>;

    /// Reads a row by key; whether it is there.
    fn get(&mut self, key: i64) -> Result<bool>;

    /// Adds one to an integer column, which is in no index, of the row with this key, in a commit of
    /// its own; whether the row is there.
    fn increment(&mut self, key: i64, column: usize) -> Result<bool>;

    /// Deletes the rows with these keys, which rise, and their index entries, in one commit; how many
    /// there were.
    fn delete(&mut self, keys: &[i64]) -> Result<u64>;

    /// Adds one to an integer column, which is in no index, of the rows with these keys, which rise,
    /// in one commit, by the cheapest way there is; how many there were.
    fn add(&mut self, keys: &[i64], column: usize) -> Result<u64>;

    /// Reads the first `limit` entries of an index from a value of its first key column on, without
    /// touching rows; how many there were. `index` counts from 0 in the table's shape.
    fn range(&mut self, index: usize, from: &Start, limit: usize) -> Result<usize>;

    /// Counts all entries of an index by reading them.
    fn count_index(&mut self, index: usize) -> Result<u64>;

    /// Reads the given columns of all rows; how many rows there were.
    fn scan(&mut self, columns: &[usize]) -> Result<u64>;
}
