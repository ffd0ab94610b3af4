//! Which transaction does a statement run in?
//!
//! A [`Scope`] is a transaction that the session's statement and the streams of its plan share: scans are
//! opened when a plan runs, on whatever thread that is. It also knows whether somebody wants the statement
//! to end.
//!
//! Thread safety: shared; one thread uses the transaction at a time.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use onlap::{LockMode, ReadCounters, Snapshot, Table, Transaction};
use onlap_base::clock::{Clock, SystemClock};
use onlap_base::stop::Stop;
use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};

use crate::between::Between;
use crate::calls::Call;
use crate::change::deferred::Deferrals;
use crate::error::{Result, SqlError, state};
use crate::exported::Named;
use crate::instance::Instance;
use crate::plan::room::{Place, QUERY_BYTES, Room, Running};
use crate::plan::turn::Turns;
use crate::session::lent::Lent;
use crate::waits::Waits;

/// Changes of a transaction that are worth hurrying for.
const MUCH_BYTES: u64 = 64 << 10;

/// A transaction that is shared, and a flag that ends its statement.
pub struct Scope {
    tx: Mutex<Option<Transaction>>,
    cancel: Arc<AtomicBool>,
    room: Arc<Room>,
    /// The place that its queries have together: one that has begun need not wait for another.
    running: Mutex<Weak<Running>>,
    /// Reads of the past (`AS OF`) look here instead.
    past: Mutex<Option<Arc<Snapshot>>>,
    /// When the transaction began, in microseconds since 1970-01-01 UTC.
    began_us: i64,
    /// Whether the session's time zone is another than UTC.
    away: AtomicBool,
    /// Bytes of memory that a query may take; 0 for its usual share.
    memory: AtomicUsize,
    /// Bytes that the statement's queries put into temporary files.
    spilled: AtomicU64,
    /// When the statement is to end.
    stop: Arc<Stop>,
    /// Rows that its steps could not lock.
    waits: Waits,
    /// The turns that its queries have.
    turns: Turns,
    /// The session's locks and channels.
    between: Arc<Between>,
    /// What routines within it go by.
    lent: Lent,
    /// Calls of triggers that wait for its end.
    deferred: Deferrals,
    /// The number that it has, once it was asked for.
    number: OnceLock<u64>,
    /// Its snapshots that others may take over.
    exported: Mutex<Vec<Named>>,
}

impl Scope {
    /// Shares a transaction.
    pub fn new(
        mut tx: Transaction,
        cancel: &Arc<AtomicBool>,
        room: &Arc<Room>,
        between: &Arc<Between>,
    ) -> Arc<Scope> {
        tx.set_cancel(Arc::clone(cancel));
        between.begin(&tx);
        Arc::new(Scope {
            tx: Mutex::new(Some(tx)),
            cancel: Arc::clone(cancel),
            room: Arc::clone(room),
            running: Mutex::default(),
            past: Mutex::default(),
            began_us: SystemClock.unix_us(),
            away: AtomicBool::new(false),
            memory: AtomicUsize::new(0),
            spilled: AtomicU64::new(0),
            stop: Arc::new(Stop::new(cancel)),
            waits: Waits::default(),
            turns: Turns::default(),
            between: Arc::clone(between),
            lent: Lent::default(),
            deferred: Deferrals::default(),
            number: OnceLock::new(),
            exported: Mutex::default(),
        })
    }

    /// Calls of triggers that wait for its end.
    pub fn deferred(&self) -> &Deferrals {
        &self.deferred
    }

    /// The transaction's number, as txid_current gives it.
    pub fn number(&self, instance: &Instance) -> u64 {
        *self.number.get_or_init(|| instance.next_transaction())
    }

    /// The transaction.
    ///
    /// # Errors
    /// It has ended.
    pub fn tx(&self) -> Result<MappedMutexGuard<'_, Transaction>> {
        MutexGuard::try_map(self.tx.lock(), Option::as_mut)
            .map_err(|_| SqlError::new(state::NO_TRANSACTION, "the transaction has ended"))
    }

    /// Waits for transactions that have locked tables against those who read them, or write to them. What they committed is
    /// seen then.
    ///
    /// # Errors
    /// Those of waits for locks.
    pub fn await_tables(&self, tables: &[Table], mode: LockMode) -> Result<()> {
        // Most of the time none is locked, which two loads tell.
        if !tables.iter().any(|table| table.may_be_locked(mode)) || self.past().is_some() {
            return Ok(());
        }
        let mut waited = false;
        for table in tables {
            waited |= self.tx()?.await_table(table, mode)?;
        }
        if waited {
            self.tx()?.begin_statement()?;
        }
        Ok(())
    }

    /// Whether the transaction has changes in memory that others may wait for.
    pub fn holds_much(&self) -> bool {
        let tx = self.tx.try_lock();
        tx.is_some_and(|tx| tx.as_ref().is_some_and(|tx| tx.memory_bytes() >= MUCH_BYTES))
    }

    /// Takes the transaction out, to end it.
    pub fn take(&self) -> Option<Transaction> {
        self.lent.end();
        self.deferred.end();
        self.exported.lock().clear();
        self.tx.lock().take()
    }

    /// Its snapshots that others may take over, until it ends.
    pub fn exported(&self) -> MutexGuard<'_, Vec<Named>> {
        self.exported.lock()
    }

    /// What routines within it go by.
    pub fn lent(&self) -> &Lent {
        &self.lent
    }

    /// Whether the transaction is in use at this moment, so that no statement can run within it.
    pub fn is_in_use(&self) -> bool {
        self.tx.try_lock().is_none()
    }

    /// Lets reads see the database as it was.
    pub fn look_at(&self, past: Option<Snapshot>) {
        *self.past.lock() = past.map(Arc::new);
    }

    /// The past that reads see.
    pub fn past(&self) -> Option<Arc<Snapshot>> {
        self.past.lock().clone()
    }

    /// When the transaction began, in microseconds since 1970-01-01 UTC: what now() gives.
    pub fn began_us(&self) -> i64 {
        self.began_us
    }

    /// Says whether the session's clocks show UTC.
    pub fn set_utc(&self, utc: bool) {
        self.away.store(!utc, Ordering::Relaxed);
    }

    /// Whether the session's clocks show another time than UTC.
    pub fn is_away(&self) -> bool {
        self.away.load(Ordering::Relaxed)
    }

    /// What now() gives as text of a type with or without a time zone; `None` where the time zone has to be
    /// looked up.
    pub fn now(&self, zoned: bool) -> Option<i64> {
        (zoned || !self.is_away()).then_some(self.began_us)
    }

    /// Lets each query of the statement take so many bytes of memory; 0 for its usual share.
    pub fn confine(&self, memory: usize) {
        self.memory.store(memory, Ordering::Relaxed);
    }

    /// Bytes of memory that a query may take, if that was said.
    pub fn memory(&self) -> Option<usize> {
        Some(self.memory.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0)
    }

    /// Gives the statement so much time from now on; `None`: as long as it takes.
    pub fn limit(&self, time: Option<Duration>) {
        let at = time.map_or(0, |time| SystemClock.monotonic_ns() + time.as_nanos() as u64);
        self.stop.end_at(at);
    }

    /// When the statement is to end, for the loops of those that work for it.
    pub fn stop(&self) -> &Arc<Stop> {
        &self.stop
    }

    /// Whether the statement has taken too long.
    pub fn is_late(&self) -> bool {
        self.stop.is_late()
    }

    /// Fails when the statement is to end, or holds too much while the process has no room.
    ///
    /// # Errors
    /// `57014`; `53200`.
    pub fn go_on(&self) -> Result<()> {
        if self.cancel.load(Ordering::Relaxed) {
            let text = "canceling statement due to user request";
            return Err(SqlError::new(state::CANCELLED, text));
        }
        if self.is_late() {
            return Err(too_late());
        }
        self.room.bear()
    }

    /// The same for a planned query, which also ends where the process has no room for it.
    ///
    /// # Errors
    /// `57014`; `53200`.
    pub fn plan_goes_on(&self) -> Result<()> {
        self.go_on()?;
        self.room.go_on()
    }

    /// Begins a planned query, if the process has room for it or another one of this transaction goes on.
    pub fn begin_query(&self, place: Option<&Place>) -> Option<Arc<Running>> {
        let running = self.running.lock();
        if let Some(running) = running.upgrade() {
            return Some(running);
        }
        self.begin_with(running, place, QUERY_BYTES)
    }

    /// Begins a planned query that is to have all the room.
    pub fn begin_alone(&self, place: Option<&Place>) -> Option<Arc<Running>> {
        self.begin_with(self.running.lock(), place, self.room.total())
    }

    fn begin_with(
        &self,
        mut running: MutexGuard<'_, Weak<Running>>,
        place: Option<&Place>,
        bytes: u64,
    ) -> Option<Arc<Running>> {
        let begun = Arc::new(self.room.begin(place, bytes)?);
        *running = Arc::downgrade(&begun);
        Some(begun)
    }

    /// The place that its queries have now, if one runs.
    pub fn running(&self) -> Option<Arc<Running>> {
        self.running.lock().upgrade()
    }

    /// Lets queries run in the place that the statement's text has.
    pub fn adopt(&self, text: &Arc<Running>) {
        *self.running.lock() = Arc::downgrade(text);
    }

    /// The turns that its queries have.
    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    /// The session's locks and channels.
    pub fn between(&self) -> &Between {
        &self.between
    }

    /// Rows that its steps could not lock.
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// The process's room for queries.
    pub fn room(&self) -> &Arc<Room> {
        &self.room
    }

    /// A statement begins, and has put nothing into temporary files.
    pub fn begin_measuring(&self) {
        self.spilled.store(0, Ordering::Relaxed);
    }

    /// Notes bytes that one of the statement's queries put into temporary files.
    pub fn note_spilled(&self, bytes: u64) {
        self.spilled.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Says what the statement read and put into temporary files.
    pub fn measure(&self, call: &mut Call) {
        call.temp_bytes = self.spilled.load(Ordering::Relaxed);
        if let Some(tx) = self.tx.lock().as_ref() {
            call.read = tx.statement_counters();
            call.indexes.extend(tx.statement_indexes());
        }
    }

    /// What the statement has read.
    pub fn counters(&self) -> ReadCounters {
        self.tx.lock().as_ref().map(Transaction::statement_counters).unwrap_or_default()
    }
}

impl std::fmt::Debug for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scope")
    }
}

/// `57014`: statement_timeout.
pub fn too_late() -> SqlError {
    SqlError::new(state::CANCELLED, "canceling statement due to statement timeout")
}
