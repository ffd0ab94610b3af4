//! How much was done in a database since the server began?
//!
//! What pg_stat_database tells. Sessions of a database add to one [`Counts`]; the figures of indexes and of all databases together are
//! the engine's.
//!
//! Invariants: as many are kept as databases have sessions, and of others at most [`MOST`].
//!
//! Thread safety: counters are added to without a lock.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use onlap_base::clock::{Clock, SystemClock};
use parking_lot::Mutex;

use crate::calls::Call;

/// Databases without sessions whose counts are kept: where more come, all of these are forgotten.
const MOST: usize = 256;

/// What was done in a database.
#[derive(Debug, Default)]
pub struct Counts {
    /// Sessions that began.
    pub sessions: AtomicU64,
    /// Transactions that were committed.
    pub commits: AtomicU64,
    /// Transactions that were rolled back, or failed.
    pub rollbacks: AtomicU64,
    /// Transactions that ended because others waited for them, and they for others.
    pub deadlocks: AtomicU64,
    /// Rows that statements inserted.
    pub inserted: AtomicU64,
    /// Rows that statements updated.
    pub updated: AtomicU64,
    /// Rows that statements deleted.
    pub deleted: AtomicU64,
    /// Entries of indexes, and rows, that statements read.
    pub returned: AtomicU64,
    /// Rows that statements read.
    pub fetched: AtomicU64,
    /// Blocks that these were in.
    pub blocks: AtomicU64,
    /// Statements that put something into temporary files.
    pub temp_files: AtomicU64,
    /// Bytes of that.
    pub temp_bytes: AtomicU64,
    /// When they began to count anew, in microseconds since 1970-01-01 UTC; 0: never.
    pub reset_us: AtomicI64,
}

impl Counts {
    /// Counts from zero.
    pub fn reset(&self) {
        let all = [
            &self.sessions,
            &self.commits,
            &self.rollbacks,
            &self.deadlocks,
            &self.inserted,
            &self.updated,
            &self.deleted,
            &self.returned,
            &self.fetched,
            &self.blocks,
            &self.temp_files,
            &self.temp_bytes,
        ];
        all.iter().for_each(|counter| counter.store(0, Relaxed));
        self.reset_us.store(SystemClock.unix_us(), Relaxed);
    }

    /// Counts a statement that has ended well, by its tag and its text.
    pub fn changed(&self, tag: &str, text: &str) {
        let (word, rows) = tag.split_once(' ').unwrap_or((tag, ""));
        let counter = match word {
            "INSERT" => &self.inserted,
            "UPDATE" => &self.updated,
            "DELETE" => &self.deleted,
            "COPY" if copies_in(text) => &self.inserted,
            _ => return,
        };
        let rows = rows.rsplit(' ').next().and_then(|rows| rows.parse().ok()).unwrap_or(0);
        counter.fetch_add(rows, Relaxed);
    }

    /// Counts what a statement read.
    pub fn read(&self, call: &Call) {
        let (entries, rows) = (call.read.index_entries_read, call.read.rows_read);
        // Sessions share the counters: what adds nothing does not touch them.
        let add = |counter: &AtomicU64, number: u64| {
            if number > 0 {
                counter.fetch_add(number, Relaxed);
            }
        };
        add(&self.returned, entries + rows);
        add(&self.fetched, rows);
        add(&self.blocks, call.read.blocks_read);
        if call.temp_bytes > 0 {
            self.temp_files.fetch_add(1, Relaxed);
            self.temp_bytes.fetch_add(call.temp_bytes, Relaxed);
        }
    }
}

/// Whether a COPY brings rows: FROM stands before the options, and none stands within parentheses before it.
fn copies_in(text: &str) -> bool {
    let mut depth = 0usize;
    for word in text.split_whitespace() {
        match word.to_ascii_lowercase().as_str() {
            "from" if depth == 0 => return true,
            "to" if depth == 0 => return false,
            _ => {}
        }
        let count = |c| word.matches(c).count();
        depth = (depth + count('(')).saturating_sub(count(')'));
    }
    false
}

/// Those of all databases, by name.
#[derive(Debug, Default)]
pub struct AllCounts(Mutex<HashMap<String, Arc<Counts>>>);

impl AllCounts {
    /// Those of a database.
    pub fn of(&self, database: &str) -> Arc<Counts> {
        let mut all = self.0.lock();
        if let Some(known) = all.get(database) {
            return Arc::clone(known);
        }
        if all.len() >= MOST {
            all.retain(|_, counts| Arc::strong_count(counts) > 1);
        }
        Arc::clone(all.entry(database.to_owned()).or_default())
    }

    /// Those of a database in which something was done.
    pub fn known(&self, database: &str) -> Option<Arc<Counts>> {
        self.0.lock().get(database).cloned()
    }

    /// The database has another name.
    pub fn rename(&self, from: &str, to: &str) {
        let mut all = self.0.lock();
        if let Some(counts) = all.remove(from) {
            all.insert(to.to_owned(), counts);
        }
    }

    /// The database is gone.
    pub fn forget(&self, database: &str) {
        self.0.lock().remove(database);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_say_what_changed() {
        let counts = Counts::default();
        for (tag, text) in [
            ("INSERT 0 3", "insert into t"),
            ("UPDATE 5", "update t"),
            ("DELETE 7", "delete from t"),
            ("SELECT 100", "select"),
            ("COPY 11", "copy t (a, b) from stdin"),
            ("COPY 13", "COPY t TO stdout"),
            ("COPY 17", "copy (select a from t) to stdout"),
            ("CREATE TABLE", "create table t"),
        ] {
            counts.changed(tag, text);
        }
        let all = [&counts.inserted, &counts.updated, &counts.deleted];
        assert_eq!(all.map(|n| n.load(Relaxed)), [14, 5, 7]);
    }

    #[test]
    fn databases_without_sessions_make_way() {
        let all = AllCounts::default();
        let kept = all.of("kept");
        kept.commits.fetch_add(1, Relaxed);
        (0..10 * MOST).for_each(|n| drop(all.of(&n.to_string())));
        assert_eq!(all.of("kept").commits.load(Relaxed), 1);
        assert!(all.0.lock().len() <= MOST);
        all.rename("kept", "new");
        assert_eq!(all.of("new").commits.load(Relaxed), 1);
        all.forget("new");
        assert_eq!(all.of("new").commits.load(Relaxed), 0);
    }
}
