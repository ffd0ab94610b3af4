//! Who holds the locks of one table, and who waits for them?
//!
//! Thread safety: one lock for all of a table's entries, held for a few map operations.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onlap_base::{IndexId, RowId};
use parking_lot::Mutex;
use roaring::RoaringTreemap;

use super::entry::{self, Entry};
use super::keys::{self, Packed, Packs, Reserved, Span};
use super::waits::Waits;
use super::{RowLock, Target, TxId, WaitContext};

/// A place in the queue of a row, key or name.
pub(super) type Waiter = entry::Waiter<RowLock>;
/// What came of the wish to lock one.
pub(super) type Answer = entry::Answer<RowLock>;

/// Locks of a transaction in one table from which on rows are kept in a bitmap, and keys together: an
/// entry takes some hundred bytes.
pub(super) const BULK_AT: usize = 1024;

/// The locks of a table.
#[derive(Debug, Default)]
pub(crate) struct LockSpace {
    inner: Mutex<Inner>,
    /// Whether anything is locked: if not, who reserves nothing need not look.
    used: AtomicBool,
    /// Whether a row may be held in the mode that goes together with its change.
    key_shared: AtomicBool,
}

#[derive(Debug, Default)]
struct Inner {
    /// Of the table itself.
    table: Entry<RowLock>,
    entries: HashMap<Target, Entry<RowLock>>,
    bulk: Vec<Bulk>,
    reserved: HashMap<IndexId, Reserved>,
    /// How many locks for many keys there were.
    numbers: u64,
    /// Successors of rows that a transaction had locked; it does not know of them.
    inherited: HashMap<TxId, Vec<RowId>>,
}

/// What became of the wish to lock an interval.
#[derive(Debug)]
pub(super) enum IntervalLock {
    New(Target),
    /// One that the transaction has was made longer.
    Longer,
    /// Some of the keys may be locked.
    Taken,
}

/// Rows that one transaction holds in one mode.
#[derive(Debug)]
struct Bulk {
    tx: TxId,
    mode: RowLock,
    rows: RoaringTreemap,
    /// Rows that have entries by now.
    contended: Vec<RowId>,
}

/// Who wants what.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub tx: TxId,
    pub mode: RowLock,
    /// It has many locks in this table.
    pub bulk: bool,
}

/// What became of the wish to lock a key.
pub(super) enum KeyAnswer {
    /// Another transaction's lock for many keys covers it, which is to be waited for.
    Covered(Target),
    /// It is locked from now on, with many others, of which this is the first where it is there.
    Packed(Option<Target>),
    /// It has an entry.
    Alone(Target, Answer),
}

impl LockSpace {
    /// Whether anything is locked.
    pub(crate) fn is_used(&self) -> bool {
        self.used.load(Ordering::Acquire)
    }

    fn note_use(&self, inner: &Inner) {
        let used = !inner.entries.is_empty() || !inner.bulk.is_empty();
        self.used.store(used, Ordering::Release);
        if !used {
            self.key_shared.store(false, Ordering::Release);
        }
    }

    /// Whether another transaction holds a row so that this mode could not be had.
    pub(crate) fn is_taken(&self, row: RowId, tx: TxId, mode: RowLock) -> bool {
        let inner = self.inner.lock();
        let entry = inner.entries.get(&Target::Row(row));
        entry.is_some_and(|e| e.blocked(tx, mode))
            || inner.bulk.iter().any(|b| b.blocks(row, tx, mode))
    }

    /// Whether a transaction holds a row in a mode or a stronger one.
    pub(super) fn holds(&self, tx: TxId, row: RowId, mode: RowLock) -> bool {
        let inner = self.inner.lock();
        inner.entries.get(&Target::Row(row)).is_some_and(|e| e.held(tx) >= Some(mode))
            || inner.bulk.iter().any(|b| b.tx == tx && b.mode >= mode && b.rows.contains(row))
    }

    /// Locks a target, or queues for it where `queue` says so.
    pub(super) fn try_lock(
        &self,
        target: &Target,
        request: Request,
        queue: bool,
        context: WaitContext<'_>,
    ) -> Answer {
        self.ask(&mut self.inner.lock(), target, request, queue, context)
    }

    /// Locks a key, or queues for it; what other transactions hold under locks for many keys comes first.
    /// `room`: bytes that the transaction's own locks of this kind may take in this table.
    pub(super) fn try_key(
        &self,
        (index, key): (IndexId, &[u8]),
        request: Request,
        packs: &mut Packs,
        (room, queue): (usize, bool),
        context: WaitContext<'_>,
    ) -> KeyAnswer {
        let hash = keys::hash(key);
        let mut guard = self.inner.lock();
        let inner = &mut *guard;
        let covering = inner.reserved.get(&index).and_then(|r| r.covering(request.tx, key, hash));
        if let Some(number) = covering {
            return KeyAnswer::Covered(Target::Interval(index, number));
        }
        let target = Target::Key(index, key.into());
        if !request.bulk || inner.entries.contains_key(&target) {
            let answer = self.ask(inner, &target, request, queue, context);
            return KeyAnswer::Alone(target, answer);
        }
        let (tx, next) = (request.tx, inner.numbers + 1);
        let reserved = inner.reserved.entry(index).or_default();
        match reserved.pack((index, key, hash), tx, packs, room, next) {
            Packed::Added => KeyAnswer::Packed(None),
            Packed::Behind(number) => KeyAnswer::Covered(Target::Interval(index, number)),
            Packed::New(number) => {
                inner.numbers = number;
                let target = Target::Interval(index, number);
                inner.count_in(&target);
                self.used.store(true, Ordering::Release);
                inner.entries.entry(target.clone()).or_default().hold(tx, RowLock::Update);
                KeyAnswer::Packed(Some(target))
            }
        }
    }

    fn ask(
        &self,
        inner: &mut Inner,
        target: &Target,
        request: Request,
        queue: bool,
        context: WaitContext<'_>,
    ) -> Answer {
        let Request { tx, mode, bulk } = request;
        if mode == RowLock::KeyShare && *target != Target::Table {
            self.key_shared.store(true, Ordering::Release);
        }
        if let Target::Row(row) = *target
            && !inner.bulk.is_empty()
        {
            if inner.bulk.iter().any(|b| b.tx == tx && b.mode >= mode && b.rows.contains(row)) {
                return Answer::Held;
            }
            inner.expose(row, tx, mode);
        }
        if bulk
            && !inner.entries.contains_key(target)
            && let Target::Row(row) = *target
        {
            inner.add_bulk(row, tx, mode);
            self.used.store(true, Ordering::Release);
            return Answer::Bulk;
        }
        // Writers share the table all the time: that is no use of it.
        let entry = match target {
            Target::Table => &mut inner.table,
            target => {
                if !inner.entries.contains_key(target) {
                    inner.count_in(target);
                    self.used.store(true, Ordering::Release);
                }
                inner.entries.entry(target.clone()).or_default()
            }
        };
        entry.ask(tx, mode, queue, context)
    }

    /// Leaves a queue; the mode held before where the lock was granted meanwhile.
    pub(super) fn give_up(
        &self,
        target: &Target,
        waiter: &Arc<Waiter>,
        waits: &Waits,
    ) -> Option<Option<RowLock>> {
        let mut inner = self.inner.lock();
        waits.remove(waiter.tx);
        inner.entry_mut(target).expect("who waits keeps the entry").give_up(waiter, waits)
    }

    /// Carries the locks of rows that a commit has just replaced over to their successors, before
    /// anybody sees these: who shares a key keeps it whatever becomes of the other columns.
    pub(crate) fn follow(&self, replaced: impl Iterator<Item = (RowId, RowId)>) {
        if !self.key_shared.load(Ordering::Acquire) {
            return;
        }
        let mut guard = self.inner.lock();
        let inner = &mut *guard;
        for (row, successor) in replaced {
            for bulk in inner.bulk.iter_mut().filter(|b| b.mode == RowLock::KeyShare) {
                if bulk.rows.contains(row) {
                    bulk.rows.insert(successor);
                }
            }
            let Some(entry) = inner.entries.get(&Target::Row(row)) else { continue };
            let sharing = entry.holders.iter().filter(|h| h.1 == RowLock::KeyShare);
            for tx in sharing.map(|h| h.0).collect::<Vec<_>>() {
                let heir = inner.entries.entry(Target::Row(successor)).or_default();
                heir.hold(tx, RowLock::KeyShare);
                inner.inherited.entry(tx).or_default().push(successor);
            }
        }
    }

    /// Ends all locks of a transaction.
    pub(super) fn release(&self, tx: TxId, targets: impl Iterator<Item = Target>) {
        let mut inner = self.inner.lock();
        for target in targets {
            inner.end(tx, &target);
        }
        for row in inner.inherited.remove(&tx).unwrap_or_default() {
            inner.end(tx, &Target::Row(row));
        }
        while let Some(at) = inner.bulk.iter().position(|b| b.tx == tx) {
            let bulk = inner.bulk.swap_remove(at);
            for row in bulk.contended {
                inner.end(tx, &Target::Row(row));
            }
        }
        self.note_use(&inner);
    }

    /// Locks many rows at once, and says how many of them are new to the transaction's bitmap; `None`,
    /// and nothing is locked, where anybody else has any of them.
    pub(super) fn try_bulk(&self, tx: TxId, mode: RowLock, rows: &RoaringTreemap) -> Option<u64> {
        let mut inner = self.inner.lock();
        let taken = |(target, entry): (&Target, &Entry<RowLock>)| match target {
            Target::Row(row) => {
                rows.contains(*row) && (entry.blocked(tx, mode) || !entry.queue.is_empty())
            }
            Target::Table
            | Target::Schema
            | Target::Name(_)
            | Target::Key(..)
            | Target::Interval(..) => false,
        };
        let others = |b: &Bulk| b.tx != tx && b.mode.conflicts(mode) && !b.rows.is_disjoint(rows);
        if inner.entries.iter().any(taken) || inner.bulk.iter().any(others) {
            return None;
        }
        let held = inner.bulk_of(tx, mode);
        let before = held.len();
        *held |= rows;
        let more = held.len() - before;
        self.used.store(true, Ordering::Release);
        Some(more)
    }

    /// Takes locks back to the modes before.
    pub(super) fn restore(
        &self,
        tx: TxId,
        targets: impl Iterator<Item = (Target, Option<RowLock>)>,
        waits: &Waits,
    ) {
        let mut inner = self.inner.lock();
        for (target, before) in targets {
            let Some(mode) = before else {
                inner.end(tx, &target);
                if let Some(entry) = inner.entry_mut(&target) {
                    entry.queue.iter().for_each(|w| waits.leave(w.tx, tx));
                }
                continue;
            };
            if let Some(entry) = inner.entry_mut(&target) {
                entry.holders.iter_mut().filter(|h| h.0 == tx).for_each(|h| h.1 = mode);
                entry.grant();
            }
        }
    }

    /// Locks all keys from `min` to `max`, provided that they lie above every locked one.
    pub(super) fn try_interval(
        &self,
        tx: TxId,
        index: IndexId,
        min: &[u8],
        max: &[u8],
    ) -> IntervalLock {
        let mut guard = self.inner.lock();
        let inner = &mut *guard;
        if let Some(reserved) = inner.reserved.get_mut(&index) {
            if *min <= *reserved.high {
                return IntervalLock::Taken;
            }
            // Many single rows that rise need one entry together; what lies between them waits, too.
            if reserved.lengthen(tx, max) {
                return IntervalLock::Longer;
            }
        }
        inner.numbers += 1;
        let number = inner.numbers;
        let target = Target::Interval(index, number);
        inner.count_in(&target);
        self.used.store(true, Ordering::Release);
        let reserved = inner.reserved.get_mut(&index).expect("counted above");
        reserved.push_interval(number, tx, min, max);
        inner.entries.entry(target.clone()).or_default().hold(tx, RowLock::Update);
        IntervalLock::New(target)
    }

    /// Locks a span of an exclusion constraint, unless others have locked one that shares a point with it.
    pub(super) fn try_span(&self, tx: TxId, index: IndexId, span: (&Span<'_>, usize)) -> Packed {
        let mut guard = self.inner.lock();
        let inner = &mut *guard;
        let next = inner.numbers + 1;
        // What is counted below is there before something is held in it.
        let answer = match inner.reserved.get_mut(&index) {
            Some(reserved) => reserved.span(tx, span, next),
            None => {
                let mut reserved = Reserved::default();
                let answer = reserved.span(tx, span, next);
                inner.reserved.insert(index, reserved);
                answer
            }
        };
        if let Packed::New(number) = answer {
            inner.numbers = number;
            let target = Target::Interval(index, number);
            inner.count_in(&target);
            self.used.store(true, Ordering::Release);
            inner.entries.entry(target).or_default().hold(tx, RowLock::Update);
        }
        answer
    }

    /// Whether another transaction's lock for many keys covers a key.
    #[cfg(test)]
    pub(super) fn covers(&self, tx: TxId, index: IndexId, key: &[u8]) -> bool {
        let inner = self.inner.lock();
        let reserved = inner.reserved.get(&index);
        reserved.is_some_and(|r| r.covering(tx, key, keys::hash(key)).is_some())
    }

    #[cfg(test)]
    pub(super) fn entries(&self) -> usize {
        self.inner.lock().entries.len()
    }
}

impl Bulk {
    fn blocks(&self, row: RowId, tx: TxId, mode: RowLock) -> bool {
        self.tx != tx && self.mode.conflicts(mode) && self.rows.contains(row)
    }
}

impl Inner {
    fn entry_mut(&mut self, target: &Target) -> Option<&mut Entry<RowLock>> {
        match target {
            Target::Table => Some(&mut self.table),
            target => self.entries.get_mut(target),
        }
    }

    fn end(&mut self, tx: TxId, target: &Target) {
        let Some(entry) = self.entry_mut(target) else { return };
        entry.holders.retain(|h| h.0 != tx);
        entry.grant();
        let gone = entry.is_idle();
        if gone {
            self.entries.remove(target);
        }
        let (Target::Key(index, _) | Target::Interval(index, _)) = target else { return };
        let reserved = self.reserved.get_mut(index).expect("a locked key is counted");
        if let Target::Interval(_, number) = target {
            reserved.remove(*number, tx);
        }
        if gone {
            reserved.entries -= 1;
            if reserved.entries == 0 {
                self.reserved.remove(index);
            }
        }
    }

    /// Counts a key or interval that gets an entry.
    fn count_in(&mut self, target: &Target) {
        let (Target::Key(index, _) | Target::Interval(index, _)) = target else { return };
        let reserved = self.reserved.entry(*index).or_default();
        reserved.entries += 1;
        if let Target::Key(_, key) = target {
            reserved.raise(key);
        }
    }

    /// Gives a row that others hold in bulk an entry, where the request has to wait for it.
    fn expose(&mut self, row: RowId, tx: TxId, mode: RowLock) {
        for bulk in self.bulk.iter_mut().filter(|b| b.blocks(row, tx, mode)) {
            bulk.rows.remove(row);
            bulk.contended.push(row);
            self.entries.entry(Target::Row(row)).or_default().hold(bulk.tx, bulk.mode);
        }
    }

    fn add_bulk(&mut self, row: RowId, tx: TxId, mode: RowLock) {
        self.bulk_of(tx, mode).insert(row);
    }

    /// Rows that a transaction holds in a mode.
    fn bulk_of(&mut self, tx: TxId, mode: RowLock) -> &mut RoaringTreemap {
        let at = self.bulk.iter().position(|b| b.tx == tx && b.mode == mode);
        let at = at.unwrap_or_else(|| {
            let (rows, contended) = (RoaringTreemap::new(), Vec::new());
            self.bulk.push(Bulk { tx, mode, rows, contended });
            self.bulk.len() - 1
        });
        &mut self.bulk[at].rows
    }
}
