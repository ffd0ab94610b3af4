//! Which snapshots may other sessions take over?
//!
//! `pg_export_snapshot()` gives a snapshot a name, `SET TRANSACTION SNAPSHOT` takes it over: dumps and readers of several
//! connections see the same commits so. A name counts for as long as the transaction that gave it.
//!
//! Thread safety: a lock, held for as long as it takes to look a name up.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use onlap::Snapshot;
use parking_lot::Mutex;

use crate::error::{Result, SqlError};

/// Snapshots by their names.
#[derive(Default)]
pub struct Exported {
    known: Mutex<HashMap<String, Known>>,
    given: AtomicU64,
}

/// A snapshot that has a name.
#[derive(Clone)]
pub struct Known {
    /// What it sees.
    pub snapshot: Snapshot,
    /// The database that it was exported in.
    pub database: String,
    /// Whether its transaction is a serializable one.
    pub serializable: bool,
}

/// A name, which is taken away when this goes.
pub struct Named {
    name: String,
    of: Arc<Exported>,
}

impl Drop for Named {
    fn drop(&mut self) {
        self.of.known.lock().remove(&self.name);
    }
}

/// Snapshots of one transaction that have names.
const MOST: usize = 1000;

impl Exported {
    /// Gives a snapshot a name, by the session that has it; `held` are those of its transaction.
    ///
    /// # Errors
    /// `54000`: they are too many.
    pub fn add(
        self: &Arc<Exported>,
        pid: i32,
        known: Known,
        held: &mut Vec<Named>,
    ) -> Result<String> {
        if held.len() >= MOST {
            return Err(SqlError::new("54000", "the transaction has exported too many snapshots"));
        }
        let number = self.given.fetch_add(1, Ordering::Relaxed);
        let name = format!("{pid:08X}-{number:08X}-1");
        self.known.lock().insert(name.clone(), known);
        held.push(Named { name: name.clone(), of: Arc::clone(self) });
        Ok(name)
    }

    /// The snapshot of a name.
    ///
    /// # Errors
    /// `22023`: there is none.
    pub fn find(&self, name: &str) -> Result<Known> {
        let known = self.known.lock().get(name).cloned();
        known.ok_or_else(|| {
            SqlError::new("22023", format!("invalid snapshot identifier: \"{name}\""))
        })
    }
}
