//! What has a transaction done so far?
//!
//! A private buffer per table ([`buffer`]), which no other transaction sees before the commit; locks on what it
//! changes ([`rows`]) and on the keys it brings ([`reserve`]); what it has read, where that matters
//! ([`reads`]). Values are checked as they come in ([`incoming`]).
//!
//! Every public method is a statement: it sees the triple (S, n, m) of its start, that is the commits
//! up to S, the first n own rows and the first m own marks, so it never meets its own output; and it
//! happens as a whole or not at all. S is the start of the statement at READ COMMITTED, that of the
//! transaction above. An error leaves the transaction usable.
//!
//! Thread safety: a transaction belongs to one thread at a time.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use onlap_base::memory::{Charge, Part};
use onlap_base::{Csn, Error, ErrorKind, IndexId, PROVISIONAL_BASE, Result, RowId, TableId, stop};

use crate::activity::{Did, TableActivity};
use crate::database::{Shared, Table, unknown_table};
use crate::locks::{HeldLocks, LockMark, WaitContext};
use crate::read::{ReadCounters, ReadView, Reader, Registration, Snapshot, Tally};
use crate::table::TableState;

mod actions;
mod alter;
mod altered;
mod blind;
mod buffer;
mod by_key;
mod change;
mod children;
mod column_changes;
mod columns;
mod due;
pub(crate) mod excluded;
mod incoming;
mod indexes;
mod parents;
mod read;
mod reads;
mod reserve;
mod rows;
mod schema;
mod sequences;
mod settings;
mod spilled;
mod table_lock;
mod twice;

pub use actions::{ForeignKeyOf, LostKey};
use buffer::{Buffer, BufferMark};
pub use due::DuePlace;
use due::{Due, DueMark};
pub(crate) use parents::{Parent, no_parent};
pub(crate) use reads::{ReadSet, TransactionCounters};
use schema::SchemaSteps;

/// What a transaction sees of others, and what it may do next to them: PostgreSQL's levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Each statement sees everything committed before it began. A row that another transaction
    /// changed meanwhile is looked at again in its newest version.
    ReadCommitted,
    /// All statements see what was committed when the transaction began. A row that another
    /// transaction changed since cannot be changed: [`ErrorKind::Conflict`].
    #[default]
    RepeatableRead,
    /// As if transactions ran one after the other. One whose reads are no longer true when it
    /// commits fails with [`ErrorKind::Conflict`]; one that only reads never does.
    Serializable,
}

/// How a transaction is begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransactionOptions {
    /// What it sees of others.
    pub isolation: Isolation,
    /// Whether changes are refused.
    pub read_only: bool,
    /// How long it waits for a lock; `None`: as long as it takes.
    pub lock_timeout: Option<Duration>,
}

impl TransactionOptions {
    /// At a level of isolation, otherwise as by default.
    pub fn at(isolation: Isolation) -> TransactionOptions {
        TransactionOptions { isolation, ..TransactionOptions::default() }
    }
    /// Refuses changes.
    #[must_use]
    pub fn read_only(mut self) -> TransactionOptions {
        self.read_only = true;
        self
    }
    /// Waits for no lock longer than this.
    #[must_use]
    pub fn lock_timeout(mut self, time: Duration) -> TransactionOptions {
        self.lock_timeout = Some(time);
        self
    }
}

/// A set of changes that becomes visible as a whole, or not at all. Dropping it rolls it back.
///
/// ```
/// use onlap::{Database, DataType, Isolation, Options, TableSpec, TransactionOptions, Value};
/// let dir = tempfile::tempdir().unwrap();
/// let db = Database::open(dir.path(), Options::default())?;
/// let accounts = db.create_table(
///     TableSpec::new("accounts").column("id", DataType::Int8).column("cents", DataType::Int8)
///         .primary_key(["id"]),
/// )?;
/// accounts.insert_many([[Value::Int(1), Value::Int(500)], [Value::Int(2), Value::Int(0)]])?;
/// let mut tx = db.begin_with(TransactionOptions::at(Isolation::Serializable))?;
/// tx.update(&accounts, &[Value::Int(1)], &[("cents", Value::Int(400))])?;
/// let before = tx.savepoint();
/// tx.delete(&accounts, &[Value::Int(2)])?;
/// tx.rollback_to(&before)?;
/// tx.update(&accounts, &[Value::Int(2)], &[("cents", Value::Int(100))])?;
/// tx.commit()?;
/// let paid = db.snapshot()?.get(&accounts, &[Value::Int(2)], Some(&["cents"]))?;
/// assert_eq!(paid, Some(vec![Value::Int(100)]));
/// # Ok::<(), onlap::Error>(())
/// ```
pub struct Transaction {
    shared: Arc<Shared>,
    options: TransactionOptions,
    /// S.
    snapshot: Arc<Registration>,
    /// What the statement under way saw when it began, where it sees newer rows of the table that it changes.
    first: Option<Arc<Registration>>,
    /// That of the first statement that deleted, replaced or changed rows of a table with blind writes. Its
    /// locks do not keep these rows: one that dies meanwhile has to stay, with its mark, until the
    /// commit has judged it.
    pinned: Option<Arc<Registration>>,
    tables: Vec<Buffer>,
    schema: SchemaSteps,
    locks: HeldLocks,
    due: Due,
    reads: Option<ReadSet>,
    /// What the statement under way, or the last one, has read.
    tally: Arc<Tally>,
    /// Unique keys are judged by the statement that brings them, not by the commit alone.
    eager: bool,
    /// A statement of several calls is under way.
    in_statement: bool,
    /// A statement has looked at committed rows.
    looked: bool,
    /// A table changed while the statement under way waited to write to it.
    outdated: bool,
    /// The same, because it does not have any more what the statement reads it by: at any level it is read in another way.
    without_index: bool,
    /// How much was written when the statement under way began.
    written_before: usize,
    /// With what the names of tables begin whose rows it may change though it was begun read-only.
    always_changes: Option<Box<str>>,
    /// Own rows and marks that came later are not read.
    look_back: Option<Savepoint>,
    /// Set by whoever wants the statement under way to end.
    cancel: Option<Arc<AtomicBool>>,
    /// Number of the next savepoint, and those that were undone.
    savepoints: u64,
    undone: Vec<Range<u64>>,
    /// Bytes that the caller keeps for it.
    kept: usize,
    memory: Charge,
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.count_rolled_back();
    }
}

/// A statement that was set aside: [`Transaction::set_aside`].
pub struct Aside {
    snapshot: Arc<Registration>,
    first: Option<Arc<Registration>>,
    in_statement: bool,
    outdated: bool,
    written_before: usize,
    look_back: Option<Savepoint>,
    due: due::Suspended,
    lock_timeout: Option<Duration>,
    tally: Arc<Tally>,
}

impl Aside {
    /// Lets the statement see, of what the transaction itself did, no more than it had done at a savepoint; one that saw less
    /// goes on so.
    pub fn sees_to(&mut self, savepoint: Savepoint) {
        self.look_back.get_or_insert(savepoint);
    }
}

/// A place in a transaction to go back to: [`Transaction::rollback_to`].
#[derive(Clone, Debug)]
pub struct Savepoint {
    transaction: u64,
    number: u64,
    tables: Vec<BufferMark>,
    schema: usize,
    locks: LockMark,
    due: DueMark,
    kept: usize,
}

/// Memory that a transaction may use however much the others have: none is refused its first rows.
const ROOM_OF_EACH: u64 = 64 << 10;
/// Rows between two looks whether the statement is still wanted.
const STEPS: usize = 256;
/// Bytes that a mark takes with the sets that know it, and with its lock.
const MARK_BYTES: usize = 64;
/// Bytes that a mark in a file takes in these sets: bitmaps.
const SPILLED_MARK_BYTES: usize = 4;

impl Transaction {
    pub(crate) fn new(shared: &Arc<Shared>, options: TransactionOptions) -> Transaction {
        let memory = shared.storage.memory.charge(Part::Transactions, 0);
        let snapshot = Registration::new(shared);
        let serializable = options.isolation == Isolation::Serializable;
        Transaction {
            reads: serializable.then(|| ReadSet::new(&snapshot)),
            tally: Tally::new(shared),
            snapshot,
            first: None,
            pinned: None,
            options,
            tables: Vec::new(),
            schema: SchemaSteps::default(),
            locks: HeldLocks::new(shared.locks.next_id()),
            due: Due::default(),
            eager: true,
            in_statement: false,
            looked: false,
            outdated: false,
            without_index: false,
            written_before: 0,
            always_changes: None,
            look_back: None,
            cancel: None,
            savepoints: 0,
            undone: Vec::new(),
            kept: 0,
            memory,
            shared: Arc::clone(shared),
        }
    }

    /// One for a single statement that is committed at once. Unless others have reserved keys, it
    /// leaves unique keys to the commit, where it would not have to wait for another.
    pub(crate) fn of_statement(shared: &Arc<Shared>) -> Transaction {
        let options = TransactionOptions::at(Isolation::ReadCommitted);
        let mut transaction = Transaction::new(shared, options);
        transaction.eager = false;
        transaction
    }

    /// Makes the changes visible to everybody and returns their CSN. What that promises about power
    /// loss is the database's sync mode.
    ///
    /// # Errors
    /// [`ErrorKind::DuplicateKey`], [`ErrorKind::ForeignKeyViolation`]; [`ErrorKind::Conflict`] when another
    /// transaction changed what this one relied on; [`ErrorKind::DiskFull`]; [`ErrorKind::ReadOnly`] after a failed write.
    /// Nothing of a failed commit is visible.
    pub fn commit(mut self) -> Result<Csn> {
        self.judge_all()?;
        let did = self.tables.iter_mut().map(|buffer| {
            (Arc::clone(&buffer.table.state.activity), std::mem::take(&mut buffer.did))
        });
        let mut did: Vec<_> = did.filter(|(_, did)| *did != Did::default()).collect();
        let committed = self.commit_judged();
        // Whether it was committed is known now.
        did.iter_mut().for_each(|(activity, did)| activity.take(did, committed.is_ok()));
        committed
    }

    fn commit_judged(mut self) -> Result<Csn> {
        // The leader commits for others as well.
        let _held = stop::hold();
        let changes = self.tables.iter().any(|b| !b.is_untouched());
        if changes && self.options.isolation != Isolation::ReadCommitted {
            self.snapshot.check()?;
        }
        self.pinned.as_ref().map_or(Ok(()), |pinned| pinned.check())?;
        if !self.schema.is_empty() {
            self.check_adoptable()?;
            return self.commit_schema();
        }
        if self.tables.iter().any(|b| b.spill.is_some()) {
            return self.commit_spilled();
        }
        let mut writes = Vec::with_capacity(self.tables.len());
        for buffer in std::mem::take(&mut self.tables) {
            if !buffer.is_untouched() {
                writes.push(buffer.finish()?);
            }
        }
        let mut reads = self.reads.take().filter(|_| !writes.is_empty());
        if let Some(reads) = &mut reads {
            reads.look(&self.shared)?;
        }
        self.shared.commits().commit(&self.shared, writes, reads)
    }

    /// Forgets the changes.
    pub fn rollback(self) {}

    /// What it has done to tables so far, whether it was taken back or not: to those that it changed, by their ids.
    pub fn activity(&self) -> impl Iterator<Item = (TableId, TableActivity)> {
        self.tables.iter().map(|buffer| (buffer.table.state.id, (&buffer.did).into()))
    }

    /// Adds what it did to what was done to the tables.
    fn count_rolled_back(&mut self) {
        for buffer in &mut self.tables {
            buffer.table.state.activity.take(&mut buffer.did, false);
        }
    }

    /// Does what reports do not count as done to the rows of a table.
    fn uncounted<T>(
        &mut self,
        table: &Table,
        f: impl FnOnce(&mut Transaction) -> Result<T>,
    ) -> Result<T> {
        let id = table.state.id;
        let of = |b: &&mut Buffer| b.table.state.id == id;
        let before = self.tables.iter_mut().find(of).map(|b| b.did).unwrap_or_default();
        let done = f(self);
        if let Some(buffer) = self.tables.iter_mut().find(of) {
            buffer.did = before;
        }
        done
    }

    /// Whether it refuses changes.
    pub fn is_read_only(&self) -> bool {
        self.options.read_only
    }

    /// The place that the transaction has come to.
    pub fn savepoint(&mut self) -> Savepoint {
        self.savepoints += 1;
        Savepoint {
            transaction: self.locks.id(),
            number: self.savepoints - 1,
            tables: self.tables.iter().map(Buffer::mark).collect(),
            schema: self.schema.len(),
            locks: self.locks.mark(),
            due: self.due.mark(),
            kept: self.kept,
        }
    }

    /// Undoes what was done since the savepoint, which can be gone back to again. Locks taken since
    /// are given up; what was read since still counts at SERIALIZABLE.
    ///
    /// # Errors
    /// The savepoint is of another transaction, or was made after one that was gone back to.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        // They are in their order, and apart.
        let at = self.undone.partition_point(|range| range.end <= savepoint.number);
        let undone = self.undone.get(at).is_some_and(|range| range.contains(&savepoint.number));
        if savepoint.transaction != self.locks.id() || undone {
            let text = "the savepoint is not one of this transaction, or was undone itself";
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        let mark = |i: usize| savepoint.tables.get(i).copied().unwrap_or_default();
        self.tables.iter_mut().enumerate().for_each(|(i, buffer)| buffer.undo(mark(i)));
        self.undo_steps(savepoint.schema);
        self.tables.iter_mut().enumerate().for_each(|(i, buffer)| buffer.recall_rows(mark(i)));
        self.undo_due(&savepoint.due);
        self.locks.release_since(&savepoint.locks, &self.shared.locks);
        let first = self.undone.partition_point(|range| range.start <= savepoint.number);
        self.undone.truncate(first);
        let undone = savepoint.number + 1..self.savepoints;
        if !undone.is_empty() {
            self.undone.push(undone);
        }
        self.kept = savepoint.kept;
        self.charge();
        Ok(())
    }

    /// Its level.
    pub fn isolation(&self) -> Isolation {
        self.options.isolation
    }

    /// Bytes that its changes and locks have of the memory of transactions.
    pub fn memory_bytes(&self) -> u64 {
        self.memory.bytes()
    }

    /// The newest commit that the transaction has seen.
    pub fn csn(&self) -> Csn {
        self.snapshot.csn()
    }

    /// Begins a statement that takes several calls: all of them see the same commits, and their counters
    /// add up. It ends with [`Transaction::end_statement`], or when another one begins.
    ///
    /// # Errors
    /// The database was closed; the snapshot was revoked.
    pub fn begin_statement(&mut self) -> Result<()> {
        self.first = None;
        self.in_statement = false;
        self.statement()?;
        self.in_statement = true;
        Ok(())
    }

    /// Lets the statement under way see what was committed up to now of rows that it has waited for. What it saw when it began
    /// is what [`Transaction::as_first_seen`] reads.
    ///
    /// # Errors
    /// As [`Transaction::begin_statement`].
    pub fn see_newer(&mut self) -> Result<()> {
        let first = self.first.take().unwrap_or_else(|| Arc::clone(&self.snapshot));
        let written = self.written_before;
        self.begin_statement()?;
        self.written_before = written;
        assert!(first.csn() <= self.snapshot.csn(), "what a statement saw first is no newer");
        self.first = Some(first);
        Ok(())
    }

    /// Reads as the statement under way saw the database when it began.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn as_first_seen<T>(
        &mut self,
        read: impl FnOnce(&mut Transaction) -> Result<T>,
    ) -> Result<T> {
        let Some(first) = self.first.clone().filter(|_| self.in_statement) else {
            return read(self);
        };
        let now = std::mem::replace(&mut self.snapshot, first);
        let found = read(self);
        self.snapshot = now;
        found
    }

    /// Sets the statement under way aside, so that others may run within it: routines that it calls.
    pub fn set_aside(&mut self) -> Aside {
        Aside {
            snapshot: Arc::clone(&self.snapshot),
            first: self.first.take(),
            in_statement: self.in_statement,
            outdated: self.outdated,
            written_before: self.written_before,
            look_back: self.look_back.take(),
            due: self.due.set_aside(),
            lock_timeout: self.options.lock_timeout,
            // Those within count in one of their own, as this is shared.
            tally: Arc::clone(&self.tally),
        }
    }

    /// Goes on with a statement that was set aside: it sees the commits that it saw before.
    pub fn take_up(&mut self, aside: Aside) {
        self.snapshot = aside.snapshot;
        self.first = aside.first;
        self.in_statement = aside.in_statement;
        self.outdated = aside.outdated;
        self.written_before = aside.written_before;
        // One that was undone meanwhile is not gone back to: what was done since is undone, too.
        self.look_back = aside.look_back;
        self.due.take_up(aside.due);
        self.options.lock_timeout = aside.lock_timeout;
        self.tally = aside.tally;
    }

    /// Ends a statement of several calls; from now on each call is one again.
    pub fn end_statement(&mut self) {
        self.in_statement = false;
    }

    /// Sees what was committed up to now, if nothing was read or changed before: for callers to whom a
    /// transaction begins with its first statement, as in PostgreSQL. Locks and savepoints stay.
    ///
    /// # Errors
    /// Something was read or changed ([`ErrorKind::InvalidInput`]); the database was closed.
    pub fn renew_snapshot(&mut self) -> Result<()> {
        self.shared.check_open()?;
        let changed = !self.schema.is_empty() || self.tables.iter().any(|b| !b.is_untouched());
        if self.looked || changed {
            let text = "the transaction has read or changed something at its snapshot";
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        self.snapshot = Registration::new(&self.shared);
        self.reads = self.reads.as_ref().map(|_| ReadSet::new(&self.snapshot));
        Ok(())
    }

    /// What the transaction sees of others now, for as long as the snapshot is there; its own changes are not in it.
    ///
    /// # Errors
    /// The database was closed.
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.shared.check_open()?;
        Ok(Snapshot::registered(match self.options.isolation {
            // Each statement sees what was committed when it began.
            Isolation::ReadCommitted => Registration::new(&self.shared),
            _ => Arc::clone(&self.snapshot),
        }))
    }

    /// Sees what a snapshot sees, if nothing was read or changed before. Locks and savepoints stay.
    ///
    /// # Errors
    /// As [`Transaction::renew_snapshot`]; the snapshot was revoked ([`ErrorKind::SnapshotTooOld`]), or is one of the past
    /// or of another database ([`ErrorKind::InvalidInput`]).
    pub fn see(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.renew_snapshot()?;
        let held = snapshot.registration();
        if held.is_past() || !Arc::ptr_eq(held.shared(), &self.shared) {
            let text = "a transaction sees what another of its database sees, and not the past";
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        held.check()?;
        self.snapshot = Arc::clone(held);
        self.reads = self.reads.as_ref().map(|_| ReadSet::new(&self.snapshot));
        Ok(())
    }

    /// Lets reads see, of what the transaction itself did, only what it had done at a savepoint: so parts of one
    /// statement do not meet each other's output. What changes rows goes by all that was done. `None`: reads see all again.
    ///
    /// ```
    /// use onlap::{Database, DataType, Options, TableSpec, Value};
    /// let dir = tempfile::tempdir().unwrap();
    /// let db = Database::open(dir.path(), Options::default())?;
    /// let t = db.create_table(TableSpec::new("t").column("id", DataType::Int8).primary_key(["id"]))?;
    /// let mut tx = db.begin()?;
    /// tx.insert(&t, &[Value::Int(1)])?;
    /// let before = tx.savepoint();
    /// tx.look_back_to(Some(before.clone()));
    /// tx.insert(&t, &[Value::Int(2)])?;
    /// assert_eq!(tx.count(&t)?, 1);
    /// assert!(tx.insert(&t, &[Value::Int(2)]).is_err());
    /// tx.look_back_to(None);
    /// assert_eq!(tx.count(&t)?, 2);
    /// # Ok::<(), onlap::Error>(())
    /// ```
    pub fn look_back_to(&mut self, savepoint: Option<Savepoint>) {
        debug_assert!(savepoint.as_ref().is_none_or(|at| at.transaction == self.locks.id()));
        self.look_back = savepoint;
    }

    /// Whether a row is one that the transaction has written since a savepoint.
    pub fn is_own_since(&self, table: &Table, row: RowId, savepoint: &Savepoint) -> bool {
        let at = self.tables.iter().position(|b| b.table.state.id == table.state.id);
        let Some(at) = at else { return false };
        let before = savepoint.tables.get(at).map_or(0, |mark| mark.rows);
        row >= PROVISIONAL_BASE + before as RowId
    }

    /// Waits for locks no longer than this from now on; `None`: as long as it takes.
    pub fn set_lock_timeout(&mut self, time: Option<Duration>) {
        self.options.lock_timeout = time;
    }

    /// Lets it change rows of tables whose names begin so, though it was begun read-only: those that it shares with
    /// no other.
    ///
    /// ```
    /// use onlap::{Database, DataType, ErrorKind, Options, TableSpec, TransactionOptions, Value};
    /// let dir = tempfile::tempdir().unwrap();
    /// let db = Database::open(dir.path(), Options::default())?;
    /// let own = db.create_table(TableSpec::new("own.t").column("id", DataType::Int8))?;
    /// let shared = db.create_table(TableSpec::new("t").column("id", DataType::Int8))?;
    /// let mut tx = db.begin_with(TransactionOptions::default().read_only())?;
    /// tx.always_changes("own.");
    /// tx.insert(&own, &[Value::Int(1)])?;
    /// let refused = tx.insert(&shared, &[Value::Int(1)]).unwrap_err();
    /// assert_eq!(refused.kind(), ErrorKind::ReadOnlyTransaction);
    /// tx.commit()?;
    /// # Ok::<(), onlap::Error>(())
    /// ```
    pub fn always_changes(&mut self, prefix: &str) {
        self.always_changes = Some(prefix.into());
    }

    /// The longest wait for a lock.
    pub fn lock_timeout(&self) -> Option<Duration> {
        self.options.lock_timeout
    }

    /// Its number among those who have locks.
    pub fn lock_id(&self) -> u64 {
        self.locks.id()
    }

    /// Lets waits for locks end with [`ErrorKind::Cancelled`] when the flag is set.
    pub fn set_cancel(&mut self, flag: Arc<AtomicBool>) {
        self.cancel = Some(flag);
    }

    /// What the last statement has read, of rows that it changed too: a public method that was called
    /// last. Commits, which judge the keys of single statements, are not among them.
    pub fn statement_counters(&self) -> ReadCounters {
        self.tally.report()
    }

    /// The indexes that it read, the first eight of them.
    pub fn statement_indexes(&self) -> impl Iterator<Item = IndexId> {
        self.tally.indexes()
    }

    /// Begins a statement: at READ COMMITTED it sees everything committed so far. Tables have the form
    /// of its begin to its end.
    fn statement(&mut self) -> Result<()> {
        self.shared.check_open()?;
        if self.in_statement {
            return self.snapshot.check();
        }
        self.tally.next();
        (self.outdated, self.without_index) = (false, false);
        self.written_before = self.written();
        self.tables.iter_mut().try_for_each(Buffer::upgrade)?;
        if self.options.isolation == Isolation::ReadCommitted
            && self.snapshot.csn() != self.shared.snapshots.published()
        {
            self.renew();
        }
        self.snapshot.check()
    }

    pub(super) fn renew(&mut self) {
        if self.pinned.is_none() && self.tables.iter().any(Buffer::is_judged_after_blind) {
            self.pinned = Some(Arc::clone(&self.snapshot));
        }
        self.snapshot = Registration::new(&self.shared);
    }

    /// Begins a statement that changes rows of a table.
    pub(crate) fn writing(&mut self, table: &Table) -> Result<()> {
        match self.options.read_only && self.may_always_change(table) {
            true => self.shared.check_writable()?,
            false => self.check_changes()?,
        }
        self.share(table)?;
        self.statement()
    }

    /// Begins a statement that changes something.
    pub(crate) fn changing(&mut self) -> Result<()> {
        self.check_changes()?;
        self.statement()
    }

    fn may_always_change(&self, table: &Table) -> bool {
        let own = self.always_changes.as_ref();
        own.is_some_and(|prefix| table.state.schema().name.starts_with(&**prefix))
    }

    fn check_changes(&self) -> Result<()> {
        if self.options.read_only {
            let text = "the transaction was begun read-only";
            return Err(Error::new(ErrorKind::ReadOnlyTransaction, text));
        }
        self.shared.check_writable()
    }

    /// Runs a statement; what it did is undone when it fails, in child tables too.
    fn atomically<T>(&mut self, f: impl FnOnce(&mut Transaction) -> Result<T>) -> Result<T> {
        let before: Vec<BufferMark> = self.tables.iter().map(Buffer::mark).collect();
        let due = self.due.mark();
        let result = f(self);
        if result.is_err() {
            let before = before.into_iter().chain(std::iter::repeat(BufferMark::default()));
            self.tables.iter_mut().zip(before).for_each(|(buffer, mark)| buffer.rewind(mark));
            self.undo_due(&due);
        }
        self.charge();
        result
    }

    /// What is to be judged is again what it was, once own rows are.
    fn undo_due(&mut self, to: &DueMark) {
        let (due, tables) = (&mut self.due, &self.tables);
        due.undo(to, &|id| tables.iter().find(|b| b.table.state.id == id).map_or(0, Buffer::end));
    }

    /// The committed rows that the statement sees, in the form that the buffer has.
    pub(crate) fn view(&mut self, table: &Table) -> Result<ReadView> {
        let snapshot = Arc::clone(&self.snapshot);
        self.view_at(table, &snapshot)
    }

    /// The same for those who only look up whole primary keys.
    fn view_of_keys(&mut self, table: &Table) -> Result<ReadView> {
        let snapshot = Arc::clone(&self.snapshot);
        self.view_by(table, &snapshot, ReadView::of_keys)
    }

    /// A view, and with it what the transaction itself did.
    fn with_own(&mut self, table: &Table, mut view: ReadView) -> Result<ReadView> {
        let buffer = self.buffer(table)?;
        let hidden = Transaction::replaced_by_own(buffer, &view)?;
        view.own = buffer.own_rows(hidden)?;
        Ok(view)
    }

    /// The same, and the changes of the transaction itself.
    fn view_with_own(&mut self, table: &Table) -> Result<ReadView> {
        let view = self.view(table)?;
        match self.buffer(table)?.changes.is_empty() {
            true => Ok(view),
            false => self.with_own(table, view),
        }
    }

    /// Sees everything that was committed so far, where the level of isolation lets it.
    fn refresh(&mut self) {
        if self.options.isolation == Isolation::ReadCommitted {
            self.renew();
        }
    }

    /// The same at another registered snapshot.
    fn view_at(&mut self, table: &Table, at: &Registration) -> Result<ReadView> {
        self.view_by(table, at, ReadView::new)
    }

    fn view_by(
        &mut self,
        table: &Table,
        at: &Registration,
        new: fn(&TableState, &Registration) -> Result<ReadView>,
    ) -> Result<ReadView> {
        self.looked = true;
        loop {
            let version = self.buffer(table)?.schema.version;
            let mut view = new(&table.state, at)?;
            if view.view.schema.version == version {
                self.schema.show(&self.shared, &table.state, &mut view)?;
                view.tally = Some(Arc::clone(&self.tally));
                return Ok(view);
            }
            let buffer = self.buffer(table)?;
            buffer.follow()?;
            if table.state.view_now().past.as_ref().is_some_and(|p| at.csn() < p.csn) {
                let text = format!(
                    "table {} was truncated meanwhile; run the transaction again",
                    table.name()
                );
                return Err(Error::new(ErrorKind::Conflict, text));
            }
        }
    }

    /// Everything that the statement sees.
    fn reader(&mut self, table: &Table) -> Result<Reader> {
        self.cover(table)?;
        let mut view = self.view(table)?;
        let at = self.tables.iter().position(|b| b.table.state.id == table.state.id);
        if let Some(at) = at {
            let buffer = &mut self.tables[at];
            let hidden = Transaction::replaced_by_own(buffer, &view)?;
            let back = self.look_back.as_ref();
            let back = back.map(|to| to.tables.get(at).copied().unwrap_or_default());
            view.own = buffer.own_rows_until(hidden, back)?;
        }
        self.charge();
        Ok(Reader::new(view, Arc::clone(&self.snapshot)))
    }

    /// The changes to a table.
    fn buffer(&mut self, table: &Table) -> Result<&mut Buffer> {
        table.check_same(&self.shared)?;
        if self.schema.has_dropped(&table.state) {
            return Err(unknown_table(&table.name()));
        }
        let id = table.state.id;
        let at = match self.tables.iter().position(|b| b.table.state.id == id) {
            Some(at) => at,
            None => {
                let schema = self.schema.schema_of(&table.state).cloned();
                let table = Table::new(Arc::clone(&table.state), &self.shared);
                self.tables.push(Buffer::new(table, schema));
                self.tables.len() - 1
            }
        };
        Ok(&mut self.tables[at])
    }

    /// Refuses a change that would outgrow the memory of transactions, before any of it is made.
    fn check_room(&self, more: usize) -> Result<()> {
        let own = self.memory.bytes() + more as u64;
        let memory = &self.shared.storage.memory;
        let limit = memory.limit(Part::Transactions);
        let all = memory.used(Part::Transactions) + more as u64;
        if own <= ROOM_OF_EACH.min(limit) || all <= limit {
            return Ok(());
        }
        let text = format!(
            "the transaction's changes would take {own} bytes, those of all open transactions {all}; \
             at most {limit} fit in memory: commit in smaller parts or raise memory_limit"
        );
        Err(Error::new(ErrorKind::LimitExceeded, text))
    }

    /// Counts the memory of buffers, locks and what was read.
    fn charge(&mut self) {
        let bytes: usize = self.tables.iter().map(Buffer::heap_bytes).sum();
        self.memory.resize((bytes + self.kept_bytes()) as u64);
    }

    /// Memory that no spilling frees.
    fn kept_bytes(&self) -> usize {
        self.locks.heap_bytes()
            + self.due.heap_bytes()
            + self.kept
            + self.undone.capacity() * size_of::<Range<u64>>()
            + self.reads.as_ref().map_or(0, ReadSet::heap_bytes)
    }
}

/// Says from time to time whether a wait for a lock still makes sense.
fn may_wait<'a>(
    shared: &'a Shared,
    cancel: &'a Option<Arc<AtomicBool>>,
) -> impl Fn() -> Result<()> + 'a {
    move || {
        if cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            let text = "canceling statement due to user request";
            return Err(Error::new(ErrorKind::Cancelled, text));
        }
        stop::check()?;
        shared.check_open()
    }
}

/// What a wait for a lock needs.
fn wait_context<'a>(
    shared: &'a Shared,
    options: &TransactionOptions,
    go_on: &'a dyn Fn() -> Result<()>,
) -> WaitContext<'a> {
    WaitContext {
        locks: &shared.locks,
        tasks: &*shared.tasks,
        clock: &*shared.clock,
        go_on,
        timeout: options.lock_timeout,
    }
}
