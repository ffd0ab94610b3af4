//! Who has locked a table as a whole, because it was asked to?
//!
//! LOCK TABLE takes one of PostgreSQL's eight modes here ([`TableSpace`]). Transactions that write, which are many, take nothing
//! here as long as no table is locked against them: they share the table among its other locks (`Target::Table`), as before. Who
//! locks a table against writers
//!
//! 1. takes its mode here, and is counted ([`TableSpace::is_shut`]);
//! 2. waits for those who share the table already, by having it alone for an instant
//!    (`crate::transaction::Transaction::lock_table_in`).
//!
//! Who writes looks after it shares the table whether anything is locked against it. If so, it gives the share back, takes
//! `RowExclusive` here, which waits, and shares the table then. Either the writer shared the table before the other had it
//! alone, and is waited for; or it sees the count. Changes of a table's form do the same with `AccessExclusive`. Who shares the
//! table already does not look again: it would wait for who waits for it.
//!
//! Readers take nothing either; those that begin while a table is locked against them wait here with `AccessShare`.
//!
//! Thread safety: one lock for all tables, which is taken only where tables are locked.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onlap_base::{Error, ErrorKind, LockMode, Result, TableId};
use parking_lot::Mutex;

use super::entry::{Answer, Entry, Mode, Waiter};
use super::mode::Modes;
use super::waits::Waits;
use super::{HeldLocks, LockWait, Locks, TxId, WaitContext, await_turn};

/// A lock of a table that a transaction has, or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableLock {
    /// The table.
    pub table: TableId,
    /// The transaction: `Transaction::lock_id`.
    pub transaction: u64,
    /// How.
    pub mode: LockMode,
    /// Whether the transaction has it, and does not wait for it.
    pub granted: bool,
}

/// Locks of tables as a whole.
#[derive(Debug, Default)]
pub(crate) struct TableSpace {
    entries: Mutex<HashMap<TableId, Entry<Modes>>>,
    /// Transactions that have, or wait for, modes in which they keep writers away, and readers.
    shut: AtomicUsize,
    alone: AtomicUsize,
    /// Those that have, or wait for, any mode.
    any: AtomicUsize,
}

/// A table that a transaction has locked, and its modes before.
type Step = (TableId, Option<Modes>);

impl TableSpace {
    /// Whether any table is locked against writers.
    pub(crate) fn is_shut(&self) -> bool {
        self.shut.load(Ordering::SeqCst) > 0
    }

    /// Whether any table is locked against a mode.
    pub(crate) fn may_keep_from(&self, mode: LockMode) -> bool {
        let locked = match mode {
            LockMode::AccessShare => &self.alone,
            LockMode::RowExclusive => &self.shut,
            _ => &self.any,
        };
        locked.load(Ordering::SeqCst) > 0
    }

    /// Whether another transaction has, or waits for, a mode of this table that conflicts.
    fn may_block(&self, table: TableId, tx: TxId, mode: Modes) -> bool {
        let entries = self.entries.lock();
        let Some(entry) = entries.get(&table) else { return false };
        let waits = |w: &Arc<Waiter<Modes>>| w.tx != tx && w.mode.conflicts(mode);
        entry.blocked(tx, mode) || entry.queue.iter().any(waits)
    }

    fn count(&self, modes: Modes, up: bool) {
        let change = |counter: &AtomicUsize| match up {
            true => counter.fetch_add(1, Ordering::SeqCst),
            false => counter.fetch_sub(1, Ordering::SeqCst),
        };
        change(&self.any);
        if modes.conflicts(Modes::of(LockMode::RowExclusive)) {
            change(&self.shut);
        }
        if modes.conflicts(Modes::of(LockMode::AccessShare)) {
            change(&self.alone);
        }
    }

    /// Notes that a holder's modes are others.
    fn recount(&self, before: Option<Modes>, now: Option<Modes>) {
        if let Some(now) = now {
            self.count(now, true);
        }
        if let Some(before) = before {
            self.count(before, false);
        }
    }

    /// Takes a table back to the modes before; `waits` where the transaction goes on.
    fn restore(&self, tx: TxId, (table, before): Step, waits: Option<&Waits>) {
        let mut entries = self.entries.lock();
        let Some(entry) = entries.get_mut(&table) else { return };
        let held = entry.held(tx);
        match before {
            Some(modes) => {
                entry.holders.iter_mut().filter(|h| h.0 == tx).for_each(|h| h.1 = modes);
            }
            None => {
                entry.holders.retain(|h| h.0 != tx);
                if let Some(waits) = waits {
                    entry.queue.iter().for_each(|w| waits.leave(w.tx, tx));
                }
            }
        }
        self.recount(held, before);
        // Those who have it now were counted when they began to wait.
        entry.grant();
        if entry.is_idle() {
            entries.remove(&table);
        }
    }

    /// All of them, by table.
    pub(crate) fn list(&self) -> Vec<TableLock> {
        let entries = self.entries.lock();
        let mut all = Vec::new();
        for (table, entry) in entries.iter() {
            let held = entry.holders.iter().map(|h| (h.0, h.1, true));
            let wanted = entry.queue.iter().map(|w| (w.tx, w.mode, false));
            for (transaction, modes, granted) in held.chain(wanted) {
                let one = |mode| TableLock { table: *table, transaction, mode, granted };
                all.extend(modes.each().map(one));
            }
        }
        drop(entries);
        all.sort_by_key(|lock| (lock.table, lock.transaction, lock.mode));
        all
    }
}

impl HeldLocks {
    /// Locks a table as a whole, and waits for its holders.
    ///
    /// # Errors
    /// [`ErrorKind::LockNotAvailable`] after the timeout, or where no wait was wanted; [`ErrorKind::Deadlock`]; what `go_on`
    /// says.
    pub(crate) fn lock_whole(
        &mut self,
        table: TableId,
        mode: LockMode,
        wait: LockWait,
        context: WaitContext<'_>,
    ) -> Result<()> {
        let (tables, modes) = (&context.locks.tables, Modes::of(mode));
        let queue = wait == LockWait::Block;
        let mut entries = tables.entries.lock();
        let entry = entries.entry(table).or_default();
        let held = entry.held(self.id);
        let before = match entry.ask(self.id, modes, queue, context) {
            Answer::Held | Answer::Bulk => return Ok(()),
            Answer::Granted(before) => {
                tables.recount(before, Some(held.map_or(modes, |held| held.with(modes))));
                before
            }
            Answer::Taken => {
                let text = "the table is locked by another transaction";
                return Err(Error::new(ErrorKind::LockNotAvailable, text));
            }
            Answer::Queued(waiter) => {
                tables.count(modes, true);
                drop(entries);
                let got = await_turn(&waiter, context, || tables.give_up(table, &waiter, context));
                let entries = tables.entries.lock();
                if let Ok(before) = got {
                    let now = entries.get(&table).and_then(|entry| entry.held(self.id));
                    tables.recount(before, now);
                }
                drop(entries);
                tables.count(modes, false);
                got.map_err(|e| match e.kind() {
                    ErrorKind::LockNotAvailable => {
                        let text = "canceling statement due to lock timeout";
                        Error::new(ErrorKind::LockNotAvailable, text)
                    }
                    _ => e,
                })?
            }
        };
        let space = || OfTables { space: Arc::clone(tables), steps: Vec::new() };
        self.whole.get_or_insert_with(space).steps.push((table, before));
        Ok(())
    }

    /// Whether another transaction keeps this one from a mode of a table, or waits for one that does.
    pub(crate) fn is_kept_from(&self, table: TableId, mode: LockMode, locks: &Locks) -> bool {
        locks.tables.may_block(table, self.id, Modes::of(mode))
    }

    /// Gives back what was locked as a whole since there was this number of them ([`HeldLocks::whole_count`]).
    pub(crate) fn unlock_whole(&mut self, keep: usize, locks: Option<&Locks>) {
        let Some(OfTables { space, steps }) = &mut self.whole else { return };
        for step in steps.drain(keep.min(steps.len())..).rev() {
            space.restore(self.id, step, locks.map(|locks| &locks.waits));
        }
    }

    /// How many times tables were locked as a whole.
    pub(crate) fn whole_count(&self) -> usize {
        self.whole.as_ref().map_or(0, |whole| whole.steps.len())
    }
}

/// Tables that a transaction has locked as a whole.
pub(super) struct OfTables {
    space: Arc<TableSpace>,
    steps: Vec<Step>,
}

impl TableSpace {
    fn give_up(
        &self,
        table: TableId,
        waiter: &Arc<Waiter<Modes>>,
        context: WaitContext<'_>,
    ) -> Option<Option<Modes>> {
        let mut entries = self.entries.lock();
        let waits = &context.locks.waits;
        waits.remove(waiter.tx());
        entries.get_mut(&table).expect("who waits keeps the entry").give_up(waiter, waits)
    }
}
