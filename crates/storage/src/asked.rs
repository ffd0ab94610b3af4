//! Of which table or index were blocks asked for, and were they in memory?
//!
//! One pair of counters per table, for blocks of its segments and mark runs, and one per index, for those of its runs, since the
//! database was opened. Files of a version count towards them; a file that no version has (a transaction's own, or one that is
//! being built) counts for itself alone. Merges and compactions ask for blocks as statements do, and are counted.
//!
//! Invariants: there are as many pairs as tables and indexes; those of what is gone are added up.
//!
//! Thread safety: shared freely; counting is a relaxed atomic addition per block.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use onlap_base::{IndexId, TableId};
use onlap_format::manifest::Edit;
use parking_lot::RwLock;

/// Blocks that were asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlocksAsked {
    /// They were in the cache.
    pub hits: u64,
    /// They had to be read.
    pub reads: u64,
}

impl BlocksAsked {
    /// Both together.
    #[must_use]
    pub fn and(self, other: BlocksAsked) -> BlocksAsked {
        BlocksAsked { hits: self.hits + other.hits, reads: self.reads + other.reads }
    }
}

/// The counters of a table or an index.
#[derive(Debug, Default)]
pub struct Asked {
    hits: AtomicU64,
    reads: AtomicU64,
}

impl Asked {
    /// A block was in the cache.
    #[inline]
    pub fn hit(&self) {
        self.hits.fetch_add(1, Relaxed);
    }

    /// A block had to be read.
    #[inline]
    pub fn read(&self) {
        self.reads.fetch_add(1, Relaxed);
    }

    /// The counts now.
    pub fn report(&self) -> BlocksAsked {
        BlocksAsked { hits: self.hits.load(Relaxed), reads: self.reads.load(Relaxed) }
    }
}

/// Whose blocks: a table's, or those of an index of it.
type Owner = (TableId, Option<IndexId>);

/// The counters of all tables and indexes.
#[derive(Debug, Default)]
pub struct AllAsked {
    known: RwLock<BTreeMap<Owner, Arc<Asked>>>,
    gone: RwLock<BlocksAsked>,
}

impl AllAsked {
    /// Those of a table, or of an index of it.
    pub fn of(&self, table: TableId, index: Option<IndexId>) -> Arc<Asked> {
        if let Some(known) = self.known.read().get(&(table, index)) {
            return Arc::clone(known);
        }
        Arc::clone(self.known.write().entry((table, index)).or_default())
    }

    /// What was counted of a table, or of an index of it.
    pub fn report(&self, table: TableId, index: Option<IndexId>) -> BlocksAsked {
        self.known.read().get(&(table, index)).map_or(BlocksAsked::default(), |a| a.report())
    }

    /// What was counted of tables and indexes that are gone.
    pub fn gone(&self) -> BlocksAsked {
        *self.gone.read()
    }

    /// Folds the counters of what these changes took away.
    pub fn follow(&self, edits: &[Edit]) {
        for edit in edits {
            match edit {
                Edit::DropTable(table) => self.keep(*table, &|_| false),
                Edit::ChangeTable(schema) => self.keep(schema.id, &|index| {
                    index.is_none_or(|index| schema.index(index).is_some())
                }),
                _ => {}
            }
        }
    }

    fn keep(&self, table: TableId, stays: &dyn Fn(Option<IndexId>) -> bool) {
        let mut known = self.known.write();
        let mut gone = self.gone.write();
        known.retain(|owner, asked| {
            let stays = owner.0 != table || stays(owner.1);
            if !stays {
                *gone = gone.and(asked.report());
            }
            stays
        });
        let is_gone = |owner: &Owner| owner.0 == table && !stays(owner.1);
        debug_assert!(!known.keys().any(is_gone), "what is gone is in one sum");
    }
}
