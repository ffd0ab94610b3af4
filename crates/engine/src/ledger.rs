//! What did each index cost, and what was it good for?
//!
//! One [`Account`] per index, since the database was opened: processor time of the work that was done for it alone
//! (sorting in memory, runs of flushes, merges, builds), the rows that it was told of, and the reads that it
//! answered. Work for no index alone (rows, marks, compactions) is in [`Ledger`] next to them, so that the sum is
//! what background work took. Bytes are counted by `onlap_storage::written`, which this adds nothing to.
//!
//! Work is measured around runs and sorts, never around rows: two system calls for thousands of entries. A read adds
//! to the account once when it begins and once per batch.
//!
//! What a commit spends on looking up unique keys is in no account: it is the price of the rule, not of the order.
//!
//! Accounts of indexes that are gone are folded into one, so that there are as many as indexes.
//!
//! Thread safety: shared freely; adding is a relaxed atomic addition.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use onlap_base::clock::{Clock, keeps_accounts, with_cpu_ns};
use onlap_base::{IndexId, RowId, TableId};
use onlap_format::manifest::Edit;
use parking_lot::RwLock;

/// What an index cost since the database was opened. Times are of processors, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexSpent {
    /// Sorting rows in memory.
    pub sorted_ns: u64,
    /// Writing runs of rows that leave memory.
    pub flushed_ns: u64,
    /// Merging runs.
    pub merged_ns: u64,
    /// Building the index for rows that were there.
    pub built_ns: u64,
    /// Rows of the table that flushes and builds told the index of.
    pub rows: u64,
}

impl IndexSpent {
    /// All times together.
    pub fn cpu_ns(&self) -> u64 {
        self.sorted_ns + self.flushed_ns + self.merged_ns + self.built_ns
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: IndexSpent) -> IndexSpent {
        IndexSpent {
            sorted_ns: self.sorted_ns + other.sorted_ns,
            flushed_ns: self.flushed_ns + other.flushed_ns,
            merged_ns: self.merged_ns + other.merged_ns,
            built_ns: self.built_ns + other.built_ns,
            rows: self.rows + other.rows,
        }
    }
}

/// What an index was good for since the database was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexUse {
    /// Reads that it answered: intervals, whole keys, walks along it.
    pub scans: u64,
    /// Entries that they took.
    pub entries_read: u64,
    /// Rows that the table had beyond those entries, summed over the reads: what a scan of the table would have
    /// looked at besides. Rows that are dead count.
    pub rows_not_read: u64,
    /// When it was read last, in microseconds since 1970; 0 where it never was.
    pub last_us: i64,
}

/// Processor time of work for the database's files, in nanoseconds, since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpentReport {
    /// Writing segments of rows.
    pub segments_ns: u64,
    /// Rewriting segments.
    pub compaction_ns: u64,
    /// Writing and merging mark runs.
    pub marks_ns: u64,
    /// Indexes that are gone.
    pub gone: IndexSpent,
    /// Entries that were read of indexes that are gone.
    pub gone_entries_read: u64,
    /// All jobs in the background; the work above that was done by jobs is in it, and their own planning.
    pub jobs_ns: u64,
}

/// The counters of one index.
pub(crate) struct Account {
    clock: Arc<dyn Clock>,
    sorted_ns: AtomicU64,
    flushed_ns: AtomicU64,
    merged_ns: AtomicU64,
    built_ns: AtomicU64,
    rows: AtomicU64,
    scans: AtomicU64,
    entries_read: AtomicU64,
    /// Rows of the table when reads began, summed over them.
    rows_there: AtomicU64,
    last_us: AtomicI64,
}

/// What work was done for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Sort,
    Flush,
    Merge,
    Build,
}

impl Account {
    fn new(clock: &Arc<dyn Clock>) -> Account {
        Account {
            clock: Arc::clone(clock),
            sorted_ns: AtomicU64::new(0),
            flushed_ns: AtomicU64::new(0),
            merged_ns: AtomicU64::new(0),
            built_ns: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            scans: AtomicU64::new(0),
            entries_read: AtomicU64::new(0),
            rows_there: AtomicU64::new(0),
            last_us: AtomicI64::new(0),
        }
    }

    /// Notes processor time.
    pub(crate) fn spend(&self, work: Work, ns: u64) {
        let of = match work {
            Work::Sort => &self.sorted_ns,
            Work::Flush => &self.flushed_ns,
            Work::Merge => &self.merged_ns,
            Work::Build => &self.built_ns,
        };
        of.fetch_add(ns, Relaxed);
    }

    /// Notes rows that the index was told of.
    pub(crate) fn told(&self, rows: u64) {
        if !keeps_accounts() {
            return;
        }
        self.rows.fetch_add(rows, Relaxed);
    }

    /// Notes reads that begin, of a table of this number of rows.
    pub(crate) fn begin(&self, scans: u64, rows: RowId) {
        self.scans.fetch_add(scans, Relaxed);
        self.rows_there.fetch_add(scans.saturating_mul(rows), Relaxed);
        self.last_us.store(self.clock.unix_us(), Relaxed);
    }

    /// Notes entries that were read.
    pub(crate) fn read(&self, entries: u64) {
        self.entries_read.fetch_add(entries, Relaxed);
    }

    pub(crate) fn spent(&self) -> IndexSpent {
        IndexSpent {
            sorted_ns: self.sorted_ns.load(Relaxed),
            flushed_ns: self.flushed_ns.load(Relaxed),
            merged_ns: self.merged_ns.load(Relaxed),
            built_ns: self.built_ns.load(Relaxed),
            rows: self.rows.load(Relaxed),
        }
    }

    pub(crate) fn used(&self) -> IndexUse {
        let entries_read = self.entries_read.load(Relaxed);
        IndexUse {
            scans: self.scans.load(Relaxed),
            entries_read,
            rows_not_read: self.rows_there.load(Relaxed).saturating_sub(entries_read),
            last_us: self.last_us.load(Relaxed),
        }
    }
}

/// All accounts of a database.
pub(crate) struct Ledger {
    clock: Arc<dyn Clock>,
    accounts: RwLock<BTreeMap<(TableId, IndexId), Arc<Account>>>,
    gone: RwLock<(IndexSpent, u64)>,
    segments_ns: AtomicU64,
    compaction_ns: AtomicU64,
    marks_ns: AtomicU64,
    jobs_ns: AtomicU64,
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger")
            .field("accounts", &self.accounts.read().len())
            .finish_non_exhaustive()
    }
}

impl Ledger {
    pub(crate) fn new(clock: &Arc<dyn Clock>) -> Ledger {
        Ledger {
            clock: Arc::clone(clock),
            accounts: RwLock::default(),
            gone: RwLock::default(),
            segments_ns: AtomicU64::new(0),
            compaction_ns: AtomicU64::new(0),
            marks_ns: AtomicU64::new(0),
            jobs_ns: AtomicU64::new(0),
        }
    }

    /// The account of an index.
    pub(crate) fn account(&self, table: TableId, index: IndexId) -> Arc<Account> {
        if let Some(account) = self.known(table, index) {
            return account;
        }
        let new = || Arc::new(Account::new(&self.clock));
        Arc::clone(self.accounts.write().entry((table, index)).or_insert_with(new))
    }

    /// The account of an index that anything was noted of.
    pub(crate) fn known(&self, table: TableId, index: IndexId) -> Option<Arc<Account>> {
        self.accounts.read().get(&(table, index)).cloned()
    }

    /// Does work for one index.
    pub(crate) fn doing<T>(
        &self,
        table: TableId,
        index: IndexId,
        work: Work,
        f: impl FnOnce() -> T,
    ) -> T {
        let (made, ns) = with_cpu_ns(f);
        self.account(table, index).spend(work, ns);
        made
    }

    /// Writes rows.
    pub(crate) fn writing_rows<T>(&self, f: impl FnOnce() -> T) -> T {
        noting(&self.segments_ns, f)
    }

    /// Rewrites rows.
    pub(crate) fn compacting<T>(&self, f: impl FnOnce() -> T) -> T {
        noting(&self.compaction_ns, f)
    }

    /// Writes or merges marks.
    pub(crate) fn marking<T>(&self, f: impl FnOnce() -> T) -> T {
        noting(&self.marks_ns, f)
    }

    /// Does a job, whatever it is for.
    pub(crate) fn working<T>(&self, f: impl FnOnce() -> T) -> T {
        noting(&self.jobs_ns, f)
    }

    /// Folds the accounts of indexes that these changes took away.
    pub(crate) fn follow(&self, edits: &[Edit]) {
        for edit in edits {
            match edit {
                Edit::DropTable(table) => self.keep(*table, &|_| false),
                Edit::ChangeTable(schema) => {
                    self.keep(schema.id, &|index| schema.index(index).is_some());
                }
                _ => {}
            }
        }
    }

    fn keep(&self, table: TableId, stays: &dyn Fn(IndexId) -> bool) {
        let mut accounts = self.accounts.write();
        let mut gone = self.gone.write();
        let of_table = (table, IndexId(0))..=(table, IndexId(u32::MAX));
        let went = accounts.range(of_table).filter(|(of, _)| !stays(of.1));
        for of in went.map(|(of, _)| *of).collect::<Vec<_>>() {
            let account = accounts.remove(&of).expect("it was just found");
            *gone = (gone.0.and(account.spent()), gone.1 + account.used().entries_read);
        }
    }

    pub(crate) fn report(&self) -> SpentReport {
        let (gone, gone_entries_read) = *self.gone.read();
        SpentReport {
            segments_ns: self.segments_ns.load(Relaxed),
            compaction_ns: self.compaction_ns.load(Relaxed),
            marks_ns: self.marks_ns.load(Relaxed),
            gone,
            gone_entries_read,
            jobs_ns: self.jobs_ns.load(Relaxed),
        }
    }
}

fn noting<T>(of: &AtomicU64, f: impl FnOnce() -> T) -> T {
    let (made, ns) = with_cpu_ns(f);
    of.fetch_add(ns, Relaxed);
    made
}
