//! Who has what programs name by numbers?
//!
//! Advisory locks mean what the programs that take them agree on; the database only says who has which. An
//! [`AdvisoryOwner`] (a session) has them for as long as it lives, counted, or until the end of its transaction. Both kinds
//! are of one owner, so they never keep each other out.
//!
//! Waits are of the same graph as those for rows: while an owner has any lock, the transaction that it uses stands for it
//! ([`super::waits::Waits::serve`]). All are in one map, whose size is bounded.
//!
//! Thread safety: shared; an owner is used by one thread at a time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use onlap_base::limits::ADVISORY_LOCKS;
use onlap_base::{Error, ErrorKind, LockMode, Result};
use parking_lot::Mutex;

use super::entry::{Answer, Entry, Waiter};
use super::mode::Modes;
use super::{TxId, WaitContext, await_turn};
use crate::database::{Database, Shared};
use crate::transaction::Transaction;

/// What is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AdvisoryKey {
    /// The database to which it belongs.
    pub database: u32,
    /// The upper half of a number, or the first of two.
    pub high: u32,
    /// The lower half, or the second.
    pub low: u32,
    /// Whether there were two numbers.
    pub pair: bool,
}

/// A lock that an owner has, or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvisoryLock {
    /// What is locked.
    pub key: AdvisoryKey,
    /// Whose it is: [`AdvisoryOwner::id`].
    pub owner: u64,
    /// How: `Share` or `Exclusive`.
    pub mode: LockMode,
    /// Whether the owner has it, and does not wait for it.
    pub granted: bool,
}

#[derive(Debug, Default)]
pub(super) struct AdvisorySpace(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    all: HashMap<AdvisoryKey, Entry<Modes>>,
    /// Keys that owners have, each counted once for each of them.
    held: usize,
}

impl AdvisorySpace {
    fn ask(
        &self,
        owner: TxId,
        key: AdvisoryKey,
        mode: Modes,
        queue: bool,
        context: WaitContext<'_>,
    ) -> Result<Answer<Modes>> {
        let mut entries = self.0.lock();
        let known = entries.all.get(&key);
        let has = known.is_some_and(|entry| entry.held(owner).is_some());
        if !has && entries.held >= ADVISORY_LOCKS {
            let text = format!("there are {ADVISORY_LOCKS} advisory locks already");
            return Err(Error::new(ErrorKind::LimitExceeded, text));
        }
        let answer = entries.all.entry(key).or_default().ask(owner, mode, queue, context);
        // Who waits is counted as who has it: it may be handed over at any moment.
        if !has && !matches!(answer, Answer::Taken) {
            entries.held += 1;
        }
        Ok(answer)
    }

    fn give_up(
        &self,
        key: AdvisoryKey,
        waiter: &Arc<Waiter<Modes>>,
        context: WaitContext<'_>,
    ) -> Option<Option<Modes>> {
        let mut entries = self.0.lock();
        let waits = &context.locks.waits;
        waits.remove(waiter.tx());
        let entry = entries.all.get_mut(&key).expect("who waits keeps the entry");
        let before = entry.give_up(waiter, waits);
        if before.is_none() && entry.held(waiter.tx()).is_none() {
            entries.held -= 1;
        }
        before
    }

    /// Takes modes of a key away from an owner.
    fn release(&self, owner: TxId, key: AdvisoryKey, gone: Modes, context: WaitContext<'_>) {
        let mut guard = self.0.lock();
        let entries = &mut *guard;
        let Some(entry) = entries.all.get_mut(&key) else { return };
        let Some(at) = entry.holders.iter().position(|h| h.0 == owner) else { return };
        match entry.holders[at].1.without(gone) {
            Some(left) => entry.holders[at].1 = left,
            None => {
                entry.holders.swap_remove(at);
                entries.held -= 1;
                let waits = &context.locks.waits;
                entry.queue.iter().for_each(|w| waits.leave(w.tx, owner));
            }
        }
        entry.grant();
        if entry.is_idle() {
            entries.all.remove(&key);
        }
    }

    fn list(&self) -> Vec<AdvisoryLock> {
        let entries = self.0.lock();
        let mut all = Vec::new();
        for (key, entry) in &entries.all {
            let held = entry.holders.iter().map(|h| (h.0, h.1, true));
            let wanted = entry.queue.iter().map(|w| (w.tx, w.mode, false));
            for (owner, modes, granted) in held.chain(wanted) {
                let one = |mode| AdvisoryLock { key: *key, owner, mode, granted };
                all.extend(modes.each().map(one));
            }
        }
        drop(entries);
        all.sort_by_key(|lock| (lock.key, lock.owner, lock.mode));
        all
    }
}

/// Where a transaction's locks stood.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdvisoryMark(usize);

/// Who has advisory locks. They go when this is dropped.
pub struct AdvisoryOwner {
    shared: Arc<Shared>,
    id: TxId,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// How often each was taken for as long as the owner lives.
    counted: HashMap<(AdvisoryKey, LockMode), u64>,
    /// Those of the transaction, in the order in which they came.
    of_transaction: Vec<(AdvisoryKey, LockMode)>,
    /// The same, to look one up.
    in_transaction: HashSet<(AdvisoryKey, LockMode)>,
    /// The transaction that stands for the owner.
    served_by: Option<TxId>,
}

impl Held {
    fn has(&self, what: &(AdvisoryKey, LockMode)) -> bool {
        self.counted.contains_key(what) || self.in_transaction.contains(what)
    }

    fn is_empty(&self) -> bool {
        self.counted.is_empty() && self.of_transaction.is_empty()
    }
}

/// How long a lock is wanted, and how long to wait for it.
#[derive(Clone, Copy)]
pub struct AdvisoryWish<'a> {
    /// Until the end of the transaction.
    pub of_transaction: bool,
    /// Fails when the wait is not wanted any more; looked at from time to time. None: no wait.
    pub go_on: Option<&'a dyn Fn() -> Result<()>>,
    /// The longest wait.
    pub timeout: Option<Duration>,
}

impl Database {
    /// An owner of advisory locks, which has none yet.
    pub fn advisory_owner(&self) -> AdvisoryOwner {
        let shared = Arc::clone(self.shared());
        let id = shared.locks.next_id();
        AdvisoryOwner { shared, id, held: Mutex::default() }
    }

    /// All locks of tables as a whole, by table.
    pub fn table_locks(&self) -> Vec<super::TableLock> {
        self.shared().locks.tables.list()
    }

    /// Whether any table is locked against writers, or readers too.
    pub fn has_locked_tables(&self) -> bool {
        self.shared().locks.tables.is_shut()
    }

    /// Which transactions, or owners of advisory locks, wait, and for which others, by their numbers ([`AdvisoryOwner::id`],
    /// `onlap::Transaction::lock_id`). One that has ended since may be among those that are waited for.
    pub fn lock_waits(&self) -> Vec<(u64, Vec<u64>)> {
        self.shared().locks.waits.all()
    }

    /// All advisory locks, by key.
    pub fn advisory_locks(&self) -> Vec<AdvisoryLock> {
        self.shared().locks.advisory.list()
    }
}

impl AdvisoryOwner {
    /// Its number among all owners.
    pub fn id(&self) -> u64 {
        self.id
    }

    fn context<'a>(
        &'a self,
        go_on: &'a dyn Fn() -> Result<()>,
        timeout: Option<Duration>,
    ) -> WaitContext<'a> {
        let Shared { locks, tasks, clock, .. } = &*self.shared;
        WaitContext { locks, tasks: &**tasks, clock: &**clock, go_on, timeout }
    }

    /// Whether it has any.
    pub fn has_any(&self) -> bool {
        !self.held.lock().is_empty()
    }

    /// Says which transaction the owner uses, where it has locks: what that waits for the owner waits for.
    pub fn use_in(&self, tx: &Transaction) {
        let mut held = self.held.lock();
        if !held.is_empty() {
            self.serve(&mut held, Some(tx.lock_id()));
        }
    }

    fn serve(&self, held: &mut Held, tx: Option<TxId>) {
        if held.served_by != tx {
            self.shared.locks.waits.serve(tx, self.id, held.served_by);
            held.served_by = tx;
        }
    }

    /// Takes a lock (`Share` or `Exclusive`) while it uses a transaction; false where another owner has it and no wait is
    /// wanted.
    ///
    /// # Errors
    /// [`ErrorKind::LockNotAvailable`] after the timeout; [`ErrorKind::Deadlock`]; [`ErrorKind::LimitExceeded`]: there are
    /// too many; what `go_on` says.
    pub fn lock(
        &self,
        tx: TxId,
        key: AdvisoryKey,
        mode: LockMode,
        wish: AdvisoryWish<'_>,
    ) -> Result<bool> {
        let locks = &self.shared.locks;
        let what = (key, mode);
        {
            let mut held = self.held.lock();
            self.serve(&mut held, Some(tx));
            if held.has(&what) {
                held.note(what, wish.of_transaction);
                return Ok(true);
            }
        }
        let stay = || Ok(());
        let go_on = wish.go_on.unwrap_or(&stay);
        let open = || self.shared.check_open().and_then(|()| go_on());
        let context = self.context(&open, wish.timeout);
        let queue = wish.go_on.is_some();
        match locks.advisory.ask(self.id, key, Modes::of(mode), queue, context)? {
            Answer::Taken => return Ok(false),
            Answer::Held | Answer::Bulk | Answer::Granted(_) => {}
            Answer::Queued(waiter) => {
                await_turn(&waiter, context, || locks.advisory.give_up(key, &waiter, context))?;
            }
        }
        self.held.lock().note(what, wish.of_transaction);
        Ok(true)
    }

    /// Gives one back that was taken for as long as the owner lives; false where it has none.
    pub fn unlock(&self, key: AdvisoryKey, mode: LockMode) -> bool {
        let mut held = self.held.lock();
        let what = (key, mode);
        let Some(count) = held.counted.get_mut(&what) else { return false };
        *count -= 1;
        if *count == 0 {
            held.counted.remove(&what);
            self.let_go(&held, [what]);
        }
        true
    }

    /// Gives all of them back.
    pub fn unlock_all(&self) {
        let mut held = self.held.lock();
        let gone = std::mem::take(&mut held.counted);
        self.let_go(&held, gone.into_keys());
    }

    /// Where the transaction's locks stand.
    pub fn mark(&self) -> AdvisoryMark {
        AdvisoryMark(self.held.lock().of_transaction.len())
    }

    /// Gives back what the transaction took since.
    pub fn back_to(&self, mark: AdvisoryMark) {
        let mut held = self.held.lock();
        if mark.0 < held.of_transaction.len() {
            let gone = held.of_transaction.split_off(mark.0);
            for what in &gone {
                held.in_transaction.remove(what);
            }
            self.let_go(&held, gone);
        }
    }

    /// The transaction has ended, and its locks with it.
    pub fn end_transaction(&self) {
        self.back_to(AdvisoryMark::default());
        let mut held = self.held.lock();
        self.serve(&mut held, None);
    }

    fn let_go(&self, held: &Held, gone: impl IntoIterator<Item = (AdvisoryKey, LockMode)>) {
        let stay = || Ok(());
        let context = self.context(&stay, None);
        for (key, mode) in gone.into_iter().filter(|what| !held.has(what)) {
            self.shared.locks.advisory.release(self.id, key, Modes::of(mode), context);
        }
    }
}

impl Held {
    fn note(&mut self, what: (AdvisoryKey, LockMode), of_transaction: bool) {
        match of_transaction {
            true if !self.in_transaction.insert(what) => {}
            true => self.of_transaction.push(what),
            false => *self.counted.entry(what).or_default() += 1,
        }
    }
}

impl Drop for AdvisoryOwner {
    fn drop(&mut self) {
        self.end_transaction();
        self.unlock_all();
    }
}
