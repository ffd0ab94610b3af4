//! Who may change the set of files?
//!
//! The seam between the workers that reorganise files and the engine, which publishes what they did
//! together with its memtables. The double in the tests is a bare [`crate::version::Versions`].

use std::sync::Arc;

use onlap_base::{Csn, Result, TableId};
use onlap_format::manifest::Edit;

use crate::context::StorageContext;
use crate::version::TableVersion;

#[cfg(test)]
pub(crate) mod double;

/// Lets a worker see and change the files of a database. Called without locks held.
pub trait Editor: Send + Sync {
    /// What readers and writers share.
    fn context(&self) -> &Arc<StorageContext>;

    /// A table's newest version; `None` when it was dropped.
    fn version(&self, table: TableId) -> Option<Arc<TableVersion>>;

    /// Makes a change durable and visible. Files that it adds are complete, and their names durable.
    ///
    /// # Errors
    /// `Conflict` when the version that the worker worked from is outdated; then nothing happened
    /// and the worker's files are to be removed.
    fn commit(&self, edits: &[Edit]) -> Result<()>;

    /// No snapshot that may ask the table is older, nor will be: what died in it at or below this CSN
    /// is dead for everyone.
    fn horizon(&self, table: TableId) -> Csn;

    /// Whether the worker should stop at the next occasion; it is resumed later, or after a reopen.
    fn is_stopping(&self) -> bool;
}
