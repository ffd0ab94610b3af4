//! Which indexes are being built?
//!
//! A list of builds, for those who watch; each stands in it while its rows are read and sorted. Nothing relies on it.
//!
//! Thread safety: shared freely; a lock is held for a moment when a build begins and ends.

use std::sync::Arc;

use onlap_base::{IndexId, TableId};
use onlap_format::{IndexSchema, TableSchema};
use parking_lot::Mutex;

use super::{BuildControl, BuildProgress};
use crate::database::{Database, Shared};

/// Indexes that are being built in one pass over their table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexBuild {
    /// The table.
    pub table: TableId,
    /// They.
    pub indexes: Vec<IndexId>,
    /// Blocks of rows that are read.
    pub blocks: u64,
    /// How far it is.
    pub progress: BuildProgress,
}

/// Builds under way.
#[derive(Debug, Default)]
pub(crate) struct Builds(Mutex<Vec<(IndexBuild, BuildControl)>>);

/// A build that is listed for as long as this lives.
pub(super) struct Listed<'a> {
    shared: &'a Shared,
    indexes: Vec<IndexId>,
}

impl<'a> Listed<'a> {
    /// Lists a build.
    pub(super) fn new(
        shared: &'a Arc<Shared>,
        schema: &TableSchema,
        indexes: &[IndexSchema],
        (blocks, control): (u64, &BuildControl),
    ) -> Listed<'a> {
        let ids: Vec<IndexId> = indexes.iter().map(|index| index.id).collect();
        let build = IndexBuild {
            table: schema.id,
            indexes: ids.clone(),
            blocks,
            progress: BuildProgress::default(),
        };
        shared.builds.0.lock().push((build, control.clone()));
        Listed { shared, indexes: ids }
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        // No index is built twice at the same time.
        self.shared.builds.0.lock().retain(|(build, _)| build.indexes != self.indexes);
    }
}

impl Database {
    /// Indexes that are being built now.
    pub fn builds(&self) -> Vec<IndexBuild> {
        let all = self.shared().builds.0.lock();
        let now = |(build, control): &(IndexBuild, BuildControl)| IndexBuild {
            progress: control.progress(),
            ..build.clone()
        };
        all.iter().map(now).collect()
    }
}
