//! Who holds one thing, and who waits for it?
//!
//! An [`Entry`] is the same for rows, keys, tables and what programs name by numbers; what differs is the modes in which
//! they are held ([`Mode`]). First come, first served, except that who holds a thing already goes before those who do not.
//!
//! Thread safety: pure data, behind the lock of the space that it is in.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;

use onlap_base::tasks::Event;
use parking_lot::Mutex;

use super::waits::Waits;
use super::{RowLock, TxId, WaitContext};

/// In what mode a thing is held.
pub(crate) trait Mode: Copy + PartialEq + Debug {
    /// Whether one that does not have to wait for the first in the queue may overtake it.
    const OVERTAKES: bool;
    /// Whether two owners cannot have these at once.
    fn conflicts(self, other: Self) -> bool;
    /// Whether who holds this has no need to ask for the other.
    fn covers(self, other: Self) -> bool;
    /// Both.
    fn with(self, other: Self) -> Self;

    /// Whether it waits behind one that came before and waits.
    fn waits_behind(self, before: Self) -> bool {
        !Self::OVERTAKES || self.conflicts(before)
    }
}

impl Mode for RowLock {
    const OVERTAKES: bool = false;

    fn conflicts(self, other: RowLock) -> bool {
        RowLock::conflicts(self, other)
    }

    fn covers(self, other: RowLock) -> bool {
        self >= other
    }

    fn with(self, other: RowLock) -> RowLock {
        self.max(other)
    }
}

#[derive(Debug)]
pub(super) struct Entry<M> {
    pub holders: Vec<(TxId, M)>,
    pub queue: VecDeque<Arc<Waiter<M>>>,
}

impl<M> Default for Entry<M> {
    fn default() -> Entry<M> {
        Entry { holders: Vec::new(), queue: VecDeque::new() }
    }
}

/// A place in a queue.
#[derive(Debug)]
pub(crate) struct Waiter<M> {
    pub tx: TxId,
    pub mode: M,
    /// Set once: the mode held before, if any.
    granted: Mutex<Option<Option<M>>>,
    event: Arc<Event>,
}

impl<M: Mode> Waiter<M> {
    pub(super) fn tx(&self) -> TxId {
        self.tx
    }

    pub(super) fn event(&self) -> &Event {
        &self.event
    }

    pub(super) fn granted(&self) -> Option<Option<M>> {
        *self.granted.lock()
    }
}

pub(super) enum Answer<M> {
    /// It was held in this mode or a stronger one.
    Held,
    /// It is held from now on, with many others.
    Bulk,
    /// It is held from now on; the mode before.
    Granted(Option<M>),
    /// Another one has it.
    Taken,
    /// Wait.
    Queued(Arc<Waiter<M>>),
}

impl<M: Mode> Entry<M> {
    pub(super) fn held(&self, tx: TxId) -> Option<M> {
        self.holders.iter().find(|h| h.0 == tx).map(|h| h.1)
    }

    pub(super) fn blocked(&self, tx: TxId, mode: M) -> bool {
        self.holders.iter().any(|h| h.0 != tx && h.1.conflicts(mode))
    }

    /// Notes a holder; the mode before.
    pub(super) fn hold(&mut self, tx: TxId, mode: M) -> Option<M> {
        match self.holders.iter_mut().find(|h| h.0 == tx) {
            Some(held) => {
                let before = held.1;
                held.1 = before.with(mode);
                Some(before)
            }
            None => {
                self.holders.push((tx, mode));
                None
            }
        }
    }

    /// Asks for it, and queues where that is wanted.
    pub(super) fn ask(
        &mut self,
        tx: TxId,
        mode: M,
        queue: bool,
        context: WaitContext<'_>,
    ) -> Answer<M> {
        let held = self.held(tx);
        if held.is_some_and(|h| h.covers(mode)) {
            return Answer::Held;
        }
        // Who holds it already goes before those who wait.
        let waits_its_turn = held.is_none() && self.queue.iter().any(|w| mode.waits_behind(w.mode));
        if !waits_its_turn && !self.blocked(tx, mode) {
            let before = self.hold(tx, mode);
            self.make_wait(tx, mode, &context.locks.waits);
            return Answer::Granted(before);
        }
        if !queue {
            return Answer::Taken;
        }
        let event = context.tasks.event();
        let waiter = Arc::new(Waiter { tx, mode, granted: Mutex::default(), event });
        let waits = &context.locks.waits;
        let others = self.holders.iter().filter(|h| h.0 != tx);
        let blockers = others.filter(|h| !M::OVERTAKES || h.1.conflicts(mode));
        let mut blockers: Vec<TxId> = blockers.map(|h| h.0).collect();
        if held.is_some() {
            self.make_wait(tx, mode, waits);
            self.queue.push_front(Arc::clone(&waiter));
        } else {
            let before = self.queue.iter().filter(|w| mode.waits_behind(w.mode));
            blockers.extend(before.map(|w| w.tx));
            self.queue.push_back(Arc::clone(&waiter));
        }
        waits.insert(tx, blockers);
        Answer::Queued(waiter)
    }

    /// Those who wait already wait for one more.
    fn make_wait(&self, tx: TxId, mode: M, waits: &Waits) {
        let later = self.queue.iter().filter(|w| w.mode.waits_behind(mode));
        later.for_each(|w| waits.add(w.tx, tx));
    }

    /// Hands the lock to those first in the queue who can have it now.
    pub(super) fn grant(&mut self) {
        let mut at = 0;
        while let Some(waiter) = self.queue.get(at) {
            let behind = self.queue.iter().take(at).any(|w| waiter.mode.waits_behind(w.mode));
            if behind || self.blocked(waiter.tx, waiter.mode) {
                if !M::OVERTAKES {
                    return;
                }
                at += 1;
                continue;
            }
            let waiter = self.queue.remove(at).expect("looked at above");
            let before = self.hold(waiter.tx, waiter.mode);
            *waiter.granted.lock() = Some(before);
            waiter.event.notify();
        }
    }

    /// Whether there is nothing to remember.
    pub(super) fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.queue.is_empty()
    }

    /// Takes a waiter out of the queue, unless it was granted meanwhile: then the mode held before.
    pub(super) fn give_up(&mut self, waiter: &Arc<Waiter<M>>, waits: &Waits) -> Option<Option<M>> {
        if let Some(before) = waiter.granted() {
            return Some(before);
        }
        self.queue.retain(|w| !Arc::ptr_eq(w, waiter));
        if self.held(waiter.tx).is_none() {
            self.queue.iter().for_each(|w| waits.leave(w.tx, waiter.tx));
        }
        self.grant();
        None
    }
}
