//! Who may change what, before it is committed?
//!
//! A transaction locks the rows that it marks, the keys that it brings to unique indexes and those
//! that it relies on, until it ends. Locks are kept per table ([`LockSpace`]); waits go through
//! events of [`onlap_base::tasks`] (I9), first come, first served, and the ended transaction hands its
//! locks over. Whoever begins to wait looks for a cycle first ([`Waits`]): the last of a deadlock to
//! arrive always sees the whole of it, so no detector runs in the background.
//!
//! Locks are in memory only: a crash ends all transactions that hold any.
//!
//! Names of tables and sequences are locked likewise, in a space of the database ([`HeldLocks::lock_name`]):
//! who creates, drops or renames one has its name alone, who relies on it shares it. So transactions that
//! change the catalog wait for each other where they want the same thing, and nowhere else.
//!
//! A transaction that locks many rows of a table keeps them in one bitmap; such a row gets an entry
//! and a queue of its own once another transaction wants it. One that brings many keys holds them under
//! one lock, in bounded memory ([`keys`]).
//!
//! Thread safety: any number of transactions; each belongs to one thread at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use onlap_base::clock::Clock;
use onlap_base::tasks::Tasks;
use onlap_base::{Error, ErrorKind, IndexId, Result, RowId, Subject, TableId};
use roaring::RoaringTreemap;

use crate::table::TableState;

mod advisory;
mod entry;
mod keys;
mod mode;
mod space;
mod tables;
#[cfg(test)]
mod tests;
mod waits;

use advisory::AdvisorySpace;
pub use advisory::{AdvisoryKey, AdvisoryLock, AdvisoryMark, AdvisoryOwner, AdvisoryWish};
use entry::Mode;
pub(crate) use keys::Span;
use keys::{Packed, Packs};
pub use mode::{LockWait, RowLock};
pub(crate) use space::LockSpace;
use space::{Answer, IntervalLock, KeyAnswer, Request, Waiter};
use tables::OfTables;
pub use tables::TableLock;
pub(crate) use tables::TableSpace;
use waits::Waits;

/// A running transaction; never reused while the database is open.
pub(crate) type TxId = u64;

/// What can be locked in a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    /// The table itself: whoever writes to it shares it (`KeyShare`), who changes its form has it alone
    /// (`Update`).
    Table,
    /// What the table looks like: who changes it keeps others from that; rows come and go.
    Schema,
    /// A name of tables and sequences, whether something has it or not.
    Name(Arc<str>),
    /// A row version.
    Row(RowId),
    /// A key of a unique index, whether a row has it or not.
    Key(IndexId, Arc<[u8]>),
    /// Keys of a unique index that one transaction brings under one lock, or a span of an exclusion constraint, by a
    /// number of its own.
    Interval(IndexId, u64),
}

/// What the locks of all tables have in common.
pub(crate) struct Locks {
    next: AtomicU64,
    lock_waits: AtomicU64,
    deadlocks: AtomicU64,
    waits: Waits,
    /// Names of tables and sequences.
    names: Arc<LockSpace>,
    /// What programs name by numbers.
    advisory: AdvisorySpace,
    /// Tables that were locked as a whole.
    pub(crate) tables: Arc<TableSpace>,
}

impl Locks {
    pub(crate) fn new() -> Locks {
        Locks {
            next: AtomicU64::new(1),
            lock_waits: AtomicU64::new(0),
            deadlocks: AtomicU64::new(0),
            waits: Waits::default(),
            names: Arc::default(),
            advisory: AdvisorySpace::default(),
            tables: Arc::default(),
        }
    }

    /// How many waits and deadlocks there were.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.lock_waits.load(Ordering::Relaxed), self.deadlocks.load(Ordering::Relaxed))
    }

    pub(crate) fn next_id(&self) -> TxId {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

/// What came of asking for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locked {
    /// At once.
    Free,
    /// Somebody held it: what it protects may have changed.
    Waited,
    /// Somebody holds it, and nobody wanted to wait.
    Skipped,
}

/// Time and tasks for those who wait.
#[derive(Clone, Copy)]
pub(crate) struct WaitContext<'a> {
    pub locks: &'a Locks,
    pub tasks: &'a dyn Tasks,
    pub clock: &'a dyn Clock,
    /// Whether the wait makes sense any more: looked at from time to time.
    pub go_on: &'a dyn Fn() -> Result<()>,
    /// How long to wait at most.
    pub timeout: Option<Duration>,
}

/// A wait looks this often whether it still makes sense.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The locks of one transaction. They go when this is dropped.
pub(crate) struct HeldLocks {
    id: TxId,
    tables: Vec<OfTable>,
    names: Option<OfNames>,
    whole: Option<OfTables>,
}

/// Names that a transaction has locked, and the mode in which each was held before.
struct OfNames {
    space: Arc<LockSpace>,
    targets: Vec<(Target, Option<RowLock>)>,
}

struct OfTable {
    state: Arc<TableState>,
    /// How the table itself is locked.
    table: Option<RowLock>,
    /// Targets, and the mode in which each was held before it was locked (again).
    targets: Vec<(Target, Option<RowLock>)>,
    /// Those of them that stand for many keys.
    packs: Packs,
    /// Rows in bitmaps.
    bulk_rows: u64,
}

/// Bytes that a lock with an entry takes here and there: key, holders, places in two tables.
const TARGET_BYTES: usize = 300;
/// Bytes that a row in a bitmap takes, where rows lie apart.
const BULK_ROW_BYTES: u64 = 4;

/// How many locks a transaction had in each table, and on names.
#[derive(Clone, Debug, Default)]
pub(crate) struct LockMark {
    tables: Vec<usize>,
    names: usize,
    whole: usize,
}

impl HeldLocks {
    pub(crate) fn new(id: TxId) -> HeldLocks {
        HeldLocks { id, tables: Vec::new(), names: None, whole: None }
    }

    pub(crate) fn id(&self) -> TxId {
        self.id
    }

    /// Locks in a table that have entries of their own.
    pub(crate) fn count_in(&self, table: TableId) -> usize {
        self.tables.iter().find(|t| t.state.id == table).map_or(0, |t| t.targets.len())
    }

    fn of_table(&mut self, state: &Arc<TableState>) -> &mut OfTable {
        let at = match self.tables.iter().position(|t| t.state.id == state.id) {
            Some(at) => at,
            None => {
                self.tables.push(OfTable {
                    state: Arc::clone(state),
                    table: None,
                    targets: Vec::new(),
                    packs: Packs::default(),
                    bulk_rows: 0,
                });
                self.tables.len() - 1
            }
        };
        &mut self.tables[at]
    }

    /// Locks a target of a table, and waits for its holder.
    ///
    /// # Errors
    /// [`ErrorKind::LockNotAvailable`] after the timeout or where waiting was not wanted;
    /// [`ErrorKind::Deadlock`]; what `go_on` says.
    pub(crate) fn lock(
        &mut self,
        state: &Arc<TableState>,
        target: Target,
        mode: RowLock,
        wait: LockWait,
        context: WaitContext<'_>,
    ) -> Result<Locked> {
        let id = self.id;
        let of_table = self.of_table(state);
        let request = Request { tx: id, mode, bulk: of_table.has_many() };
        let space = &state.locks;
        let answer = space.try_lock(&target, request, wait == LockWait::Block, context);
        of_table.settle(target, answer, wait, context)
    }

    /// Whether a row is locked by this transaction, in a mode or a stronger one.
    pub(crate) fn has_row(&self, state: &TableState, row: RowId, mode: RowLock) -> bool {
        state.locks.holds(self.id, row, mode)
    }

    /// Gives up the locks with entries of their own that were taken in a table since there were `keep` of them
    /// ([`HeldLocks::count_in`]): what they were to protect is gone.
    pub(crate) fn give_back(&mut self, state: &Arc<TableState>, keep: usize, locks: &Locks) {
        let (id, of_table) = (self.id, self.of_table(state));
        if keep < of_table.targets.len() {
            let targets = of_table.targets.drain(keep..).rev();
            of_table.state.locks.restore(id, targets, &locks.waits);
        }
    }

    /// Whether a table itself is locked in a mode, or a stronger one.
    pub(crate) fn has_table(&self, state: &TableState, mode: RowLock) -> bool {
        let of = self.tables.iter().find(|t| t.state.id == state.id);
        of.is_some_and(|t| t.table >= Some(mode))
    }

    /// Locks a table itself, and waits for its holder.
    ///
    /// # Errors
    /// As [`HeldLocks::lock`].
    pub(crate) fn lock_table(
        &mut self,
        state: &Arc<TableState>,
        mode: RowLock,
        context: WaitContext<'_>,
    ) -> Result<Locked> {
        if self.has_table(state, mode) {
            return Ok(Locked::Free);
        }
        let locked = self.lock(state, Target::Table, mode, LockWait::Block, context)?;
        self.of_table(state).table = Some(mode);
        Ok(locked)
    }

    /// Locks a name of tables and sequences, and waits for its holder.
    ///
    /// # Errors
    /// As [`HeldLocks::lock`].
    pub(crate) fn lock_name(
        &mut self,
        name: &str,
        mode: RowLock,
        wait: LockWait,
        context: WaitContext<'_>,
    ) -> Result<Locked> {
        let space = Arc::clone(&context.locks.names);
        let target = Target::Name(name.into());
        let request = Request { tx: self.id, mode, bulk: false };
        let queue = wait == LockWait::Block;
        let taken = || {
            let text = format!("another transaction holds the name {name}");
            Error::new(ErrorKind::LockNotAvailable, text)
        };
        let (before, locked) = match space.try_lock(&target, request, queue, context) {
            space::Answer::Held | space::Answer::Bulk => return Ok(Locked::Free),
            space::Answer::Granted(before) => (before, Locked::Free),
            space::Answer::Taken => return Err(taken()),
            space::Answer::Queued(waiter) => {
                let granted = await_grant(&space, &target, &waiter, context);
                let granted = granted.map_err(|e| match e.kind() {
                    ErrorKind::LockNotAvailable => taken(),
                    _ => e,
                });
                (granted?, Locked::Waited)
            }
        };
        let names = self.names.get_or_insert_with(|| OfNames { space, targets: Vec::new() });
        names.targets.push((target, before));
        Ok(locked)
    }

    /// Locks many rows of a table at once; false, and nothing is locked, where anybody else has any of
    /// them. They stay locked to the end of the transaction.
    pub(crate) fn lock_bulk(
        &mut self,
        state: &Arc<TableState>,
        rows: &RoaringTreemap,
        mode: RowLock,
    ) -> bool {
        let id = self.id;
        let of_table = self.of_table(state);
        let locked = of_table.state.locks.try_bulk(id, mode, rows);
        of_table.bulk_rows += locked.unwrap_or(0);
        locked.is_some()
    }

    /// Locks a key of a unique index, and waits for its holder.
    ///
    /// # Errors
    /// As [`HeldLocks::lock`].
    pub(crate) fn lock_key(
        &mut self,
        state: &Arc<TableState>,
        index: IndexId,
        key: &[u8],
        (mode, wait): (RowLock, LockWait),
        context: WaitContext<'_>,
    ) -> Result<Locked> {
        let request = Request { tx: self.id, mode, bulk: false };
        self.ask_key(state, (index, key), request, (0, wait), context)
    }

    /// Locks a key that the transaction brings, to its end; one of many together with others, of which
    /// so much is kept as fits, with that of its other keys, into `room` bytes.
    ///
    /// # Errors
    /// As [`HeldLocks::lock`].
    pub(crate) fn reserve_key(
        &mut self,
        state: &Arc<TableState>,
        index: IndexId,
        key: &[u8],
        room: usize,
        context: WaitContext<'_>,
    ) -> Result<Locked> {
        let all: usize = self.tables.iter().map(|t| t.packs.heap_bytes()).sum();
        let of_table = self.of_table(state);
        let room = room.saturating_sub(all - of_table.packs.heap_bytes());
        let bulk = of_table.has_many();
        let request = Request { tx: self.id, mode: RowLock::Update, bulk };
        self.ask_key(state, (index, key), request, (room, LockWait::Block), context)
    }

    fn ask_key(
        &mut self,
        state: &Arc<TableState>,
        key: (IndexId, &[u8]),
        request: Request,
        (room, wait): (usize, LockWait),
        context: WaitContext<'_>,
    ) -> Result<Locked> {
        let mut locked = Locked::Free;
        loop {
            let of_table = self.of_table(state);
            let packs = &mut of_table.packs;
            match state.locks.try_key(key, request, packs, (room, wait == LockWait::Block), context)
            {
                KeyAnswer::Covered(many) => {
                    // Its holder ends, and the keys are to be looked at again.
                    if self.lock(state, many, RowLock::KeyShare, wait, context)? == Locked::Skipped
                    {
                        return Ok(Locked::Skipped);
                    }
                    locked = Locked::Waited;
                }
                KeyAnswer::Packed(first) => {
                    of_table.targets.extend(first.map(|target| (target, None)));
                    return Ok(locked);
                }
                KeyAnswer::Alone(target, answer) => {
                    let alone = of_table.settle(target, answer, wait, context)?;
                    return Ok(if alone == Locked::Free { locked } else { alone });
                }
            }
        }
    }

    /// Locks a span of an exclusion constraint, behind those of others that share a point with it.
    ///
    /// # Errors
    /// As [`HeldLocks::lock`].
    pub(crate) fn reserve_span(
        &mut self,
        state: &Arc<TableState>,
        index: IndexId,
        span: (&Span<'_>, usize),
        context: WaitContext<'_>,
    ) -> Result<()> {
        loop {
            let number = match state.locks.try_span(self.id, index, span) {
                Packed::Added => return Ok(()),
                Packed::New(number) => number,
                Packed::Behind(number) => {
                    let target = Target::Interval(index, number);
                    self.lock(state, target, RowLock::KeyShare, LockWait::Block, context)?;
                    continue;
                }
            };
            let target = Target::Interval(index, number);
            self.of_table(state).targets.push((target, None));
            return Ok(());
        }
    }

    /// Memory that the locks take.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.tables.iter().map(OfTable::heap_bytes).sum()
    }

    /// Locks rising keys of a unique index at once; false where some may be locked already.
    pub(crate) fn lock_interval(
        &mut self,
        state: &Arc<TableState>,
        index: IndexId,
        min: &[u8],
        max: &[u8],
    ) -> bool {
        match state.locks.try_interval(self.id, index, min, max) {
            IntervalLock::New(target) => self.of_table(state).targets.push((target, None)),
            // Its place among the locks is that of its first keys, which a savepoint may keep.
            IntervalLock::Longer => {}
            IntervalLock::Taken => return false,
        }
        true
    }

    /// The place to come back to.
    pub(crate) fn mark(&mut self) -> LockMark {
        self.tables.iter_mut().for_each(|t| t.packs.close());
        LockMark {
            tables: self.tables.iter().map(|t| t.targets.len()).collect(),
            names: self.names.as_ref().map_or(0, |names| names.targets.len()),
            whole: self.whole_count(),
        }
    }

    /// Gives up the locks taken since. Rows that were locked in bulk stay locked, and so do keys where
    /// very many savepoints lie between.
    pub(crate) fn release_since(&mut self, mark: &LockMark, locks: &Locks) {
        for (i, table) in self.tables.iter_mut().enumerate() {
            let keep = mark.tables.get(i).copied().unwrap_or(0);
            if keep < table.targets.len() {
                let of_table = |(t, before): &(Target, _)| (*t == Target::Table).then_some(*before);
                if let Some(before) = table.targets[keep..].iter().find_map(of_table) {
                    table.table = before;
                }
                for (target, _) in &table.targets[keep..] {
                    if let Target::Interval(_, number) = target {
                        table.packs.forget(*number);
                    }
                }
                let targets = table.targets.drain(keep..).rev();
                table.state.locks.restore(self.id, targets, &locks.waits);
            }
        }
        self.unlock_whole(mark.whole, Some(locks));
        if let Some(names) = &mut self.names {
            let targets = names.targets.drain(mark.names.min(names.targets.len())..).rev();
            names.space.restore(self.id, targets, &locks.waits);
        }
    }

    /// Gives up all locks.
    pub(crate) fn release(&mut self) {
        for table in self.tables.drain(..) {
            let targets = table.targets.into_iter().map(|(target, _)| target);
            table.state.locks.release(self.id, targets);
        }
        self.release_names();
        self.unlock_whole(0, None);
    }

    /// Gives up that a table itself is locked, where it was not before.
    pub(crate) fn unlock_table(&mut self, state: &Arc<TableState>, keep: usize, locks: &Locks) {
        self.give_back(state, keep, locks);
        self.of_table(state).table = None;
    }

    /// Gives up all names.
    pub(crate) fn release_names(&mut self) {
        if let Some(names) = self.names.take() {
            names.space.release(self.id, names.targets.into_iter().map(|(target, _)| target));
        }
    }
}

impl OfTable {
    /// Whether further rows and keys have no entries of their own.
    fn has_many(&self) -> bool {
        self.targets.len() >= space::BULK_AT
    }

    fn heap_bytes(&self) -> usize {
        let bulk = (self.bulk_rows * BULK_ROW_BYTES) as usize;
        self.targets.len() * TARGET_BYTES + bulk + self.packs.heap_bytes()
    }

    /// Notes what was locked, or waits for it.
    fn settle(
        &mut self,
        target: Target,
        answer: Answer,
        wait: LockWait,
        context: WaitContext<'_>,
    ) -> Result<Locked> {
        let waiter = match answer {
            Answer::Held => return Ok(Locked::Free),
            Answer::Bulk => {
                self.bulk_rows += 1;
                return Ok(Locked::Free);
            }
            Answer::Granted(before) => {
                self.targets.push((target, before));
                return Ok(Locked::Free);
            }
            Answer::Taken if wait == LockWait::SkipLocked => return Ok(Locked::Skipped),
            Answer::Taken => return Err(not_available(&self.state, &target, None)),
            Answer::Queued(waiter) => waiter,
        };
        match await_grant(&self.state.locks, &target, &waiter, context) {
            Ok(before) => {
                self.targets.push((target, before));
                Ok(Locked::Waited)
            }
            Err(e) if e.kind() == ErrorKind::LockNotAvailable => {
                Err(not_available(&self.state, &target, context.timeout))
            }
            Err(e) => Err(e),
        }
    }
}

impl Drop for HeldLocks {
    fn drop(&mut self) {
        self.release();
    }
}

/// Waits in the queue of a row, key or name; the mode held before.
fn await_grant(
    space: &LockSpace,
    target: &Target,
    waiter: &Arc<Waiter>,
    context: WaitContext<'_>,
) -> Result<Option<RowLock>> {
    await_turn(waiter, context, || space.give_up(target, waiter, &context.locks.waits))
}

/// Waits in a queue, which `give_up` leaves; the mode held before.
fn await_turn<M: Mode>(
    waiter: &Arc<entry::Waiter<M>>,
    context: WaitContext<'_>,
    give_up: impl Fn() -> Option<Option<M>>,
) -> Result<Option<M>> {
    let began = context.clock.monotonic_ns();
    let waits = &context.locks.waits;
    context.locks.lock_waits.fetch_add(1, Ordering::Relaxed);
    if waits.closes_cycle(waiter.tx()) {
        return match give_up() {
            // Granted in the same moment.
            Some(before) => Ok(before),
            None => {
                context.locks.deadlocks.fetch_add(1, Ordering::Relaxed);
                Err(deadlock())
            }
        };
    }
    loop {
        let seen = waiter.event().epoch();
        if let Some(before) = waiter.granted() {
            waits.remove(waiter.tx());
            return Ok(before);
        }
        let waited = Duration::from_nanos(context.clock.monotonic_ns().saturating_sub(began));
        let left = context.timeout.map(|t| t.saturating_sub(waited));
        // A statement whose time is over says so, though the wait may be as long.
        let ended = (context.go_on)().and_then(|()| match left {
            Some(Duration::ZERO) => Err(Error::new(ErrorKind::LockNotAvailable, String::new())),
            _ => Ok(()),
        });
        if let Err(e) = ended {
            return match give_up() {
                Some(before) => Ok(before),
                None => Err(e),
            };
        }
        waiter.event().wait(seen, Some(left.map_or(LOOK_EVERY, |l| l.min(LOOK_EVERY))));
    }
}

fn deadlock() -> Error {
    let detail = "Two or more transactions wait for each other; this one was chosen to end: roll it \
                  back and run it again.";
    Error::new(ErrorKind::Deadlock, "deadlock detected").with_detail(Some(detail.into()))
}

fn not_available(state: &TableState, target: &Target, timeout: Option<Duration>) -> Error {
    let what = match target {
        Target::Table | Target::Schema | Target::Name(_) => "the form",
        Target::Row(_) => "a row",
        Target::Key(..) | Target::Interval(..) => "a key",
    };
    let name = &state.schema().name;
    let text = match timeout {
        Some(time) => format!(
            "{what} of table {name} was still locked by another transaction after {} ms",
            time.as_millis()
        ),
        None => format!("{what} of table {name} is locked by another transaction"),
    };
    let error = Error::new(ErrorKind::LockNotAvailable, text);
    match timeout {
        Some(_) => error,
        None => error.about(Subject { table: name.clone(), ..Subject::default() }),
    }
}
