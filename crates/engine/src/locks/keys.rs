//! Which keys of a unique index are reserved under one lock for many?
//!
//! A key that is locked alone has an entry of some hundred bytes ([`super::space`]). A transaction that
//! brings many has one lock for all of them, and what is kept of the keys grows coarser as they get
//! more ([`Keys`]):
//!
//! 1. keys that rise above every locked one are an *interval*;
//! 2. from [`super::space::BULK_AT`] locks on, of other keys a *hash* of 64 bits is kept, 9 to 18 bytes a
//!    key: two keys with one hash are met once in many billion pairs;
//! 3. when hashes have taken their part of the transaction's room, further keys set two bits each in a
//!    *filter* of fixed size, which says of more and more other keys that they are taken, in the end of
//!    all of them.
//!
//! Who wants a key that others' locks of this kind cover waits for the transaction that holds them, and
//! holds nothing of the key meanwhile. A filter errs, so two transactions with filters over one index
//! would wait for each other's keys in a circle; hence one transaction alone has a filter over an index,
//! and another one that needs one waits for its end. It can be waited for without harm: what it asks
//! for itself is answered by entries, intervals and hashes, which do not err.
//!
//! Of an exclusion constraint whose keys may overlap a transaction locks *spans*: a group, which is the bytes of the parts
//! that have to be equal, and two ends. They conflict as the keys do, so that transactions wait for each other where
//! one's row could be in the way of the other's, and nowhere else. From [`SPANS_MAX`] on it locks all of the
//! index instead, behind all others that have anything of it.
//!
//! Thread safety: pure data, behind the lock of the table's locks.

use std::sync::Arc;

use hashbrown::HashTable;
use onlap_base::IndexId;
use xxhash_rust::xxh3::xxh3_64;

use super::TxId;

/// Locks for many keys that a transaction has in one table, at most: savepoints begin new ones, so that
/// going back gives up what came since.
const PACKS_MAX: usize = 32;
/// The smallest filter.
const FILTER_BYTES_MIN: usize = 1 << 10;
/// The largest: at ten million keys it errs for one other key in fifty.
const FILTER_BYTES_MAX: usize = 16 << 20;
/// Bytes of a place in a table of hashes: the hash and a control byte.
const PLACE_BYTES: usize = 9;

/// What is locked of the keys of one unique index.
#[derive(Debug, Default)]
pub(super) struct Reserved {
    /// Entries of keys and of locks for many keys.
    pub entries: usize,
    /// No key that was ever locked since the first of them is above.
    pub high: Arc<[u8]>,
    many: Vec<Many>,
}

/// Intervals of a transaction in one index from which on the last one grows over the keys between: until then
/// no transaction waits for a key that was not locked.
const EXACT_INTERVALS: usize = 32;

/// Keys that a transaction holds under one lock.
#[derive(Debug)]
struct Many {
    number: u64,
    tx: TxId,
    keys: Keys,
}

#[derive(Debug)]
enum Keys {
    Interval {
        min: Arc<[u8]>,
        max: Arc<[u8]>,
    },
    Hashes(HashTable<u64>),
    Filter(Filter),
    /// Of an exclusion constraint: group, lower and upper end.
    Span(Box<[Box<[u8]>; 3]>),
    /// Everything of an exclusion constraint.
    All,
}

/// Spans that a transaction has locked of one exclusion constraint from which on it locks all: each takes some hundred bytes, and
/// the next one is compared with it.
const SPANS_MAX: usize = 1024;

/// What a row has of an exclusion constraint: the bytes of what has to be equal, and both ends, of which the upper
/// one does not belong to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'a> {
    pub group: &'a [u8],
    pub lower: &'a [u8],
    pub upper: &'a [u8],
}

impl Keys {
    fn cover(&self, key: &[u8], hash: u64) -> bool {
        match self {
            Keys::Interval { min, max } => **min <= *key && *key <= **max,
            Keys::Hashes(hashes) => hashes.find(hash, |h| *h == hash).is_some(),
            Keys::Filter(filter) => filter.has(hash),
            Keys::Span(_) | Keys::All => unreachable!("spans are of indexes that lock no keys"),
        }
    }

    /// Whether a span that another transaction wants conflicts.
    fn meets(&self, span: &Span<'_>) -> bool {
        match self {
            Keys::Span(own) => {
                let [group, lower, upper] = &**own;
                **group == *span.group && **lower < *span.upper && *span.lower < **upper
            }
            _ => true,
        }
    }

    /// Whether who has them has a span already.
    fn holds(&self, span: &Span<'_>) -> bool {
        match self {
            Keys::Span(own) => {
                let [group, lower, upper] = &**own;
                **group == *span.group && **lower <= *span.lower && *span.upper <= **upper
            }
            Keys::All => true,
            _ => false,
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Keys::Interval { min, max } => min.len() + max.len(),
            Keys::Hashes(hashes) => table_bytes(hashes.capacity()),
            Keys::Filter(filter) => filter.words.len() * 8,
            Keys::Span(own) => own.iter().map(|part| part.len()).sum(),
            Keys::All => 0,
        }
    }
}

/// Two bits for each key.
#[derive(Debug)]
struct Filter {
    words: Box<[u64]>,
}

impl Filter {
    fn new(bytes: usize) -> Filter {
        let bytes = bytes.clamp(FILTER_BYTES_MIN, FILTER_BYTES_MAX);
        Filter { words: vec![0; bytes / 8].into_boxed_slice() }
    }

    fn places(&self, hash: u64) -> [usize; 2] {
        let bits = self.words.len() as u64 * 64;
        [hash & u64::from(u32::MAX), hash >> 32].map(|half| ((half * bits) >> 32) as usize)
    }

    fn has(&self, hash: u64) -> bool {
        self.places(hash).iter().all(|bit| self.words[bit / 64] >> (bit % 64) & 1 == 1)
    }

    fn add(&mut self, hash: u64) {
        for bit in self.places(hash) {
            self.words[bit / 64] |= 1 << (bit % 64);
        }
    }
}

/// What a table of this number of hashes takes.
fn table_bytes(capacity: usize) -> usize {
    // Seven places of eight are used, and their number is a power of two.
    (capacity * 8).div_ceil(7).next_power_of_two().max(4) * PLACE_BYTES
}

pub(super) fn hash(key: &[u8]) -> u64 {
    xxh3_64(key)
}

/// A lock for many keys, as the transaction that has it knows it.
#[derive(Clone, Copy, Debug)]
struct Pack {
    index: IndexId,
    number: u64,
    bytes: usize,
}

/// The locks for many keys that a transaction has in one table.
#[derive(Debug, Default)]
pub(super) struct Packs {
    list: Vec<Pack>,
    /// The first ones, which get no further keys: a savepoint lies behind them.
    closed: usize,
}

impl Packs {
    pub(super) fn heap_bytes(&self) -> usize {
        self.list.iter().map(|p| p.bytes).sum()
    }

    /// Further keys get a lock that a savepoint made now does not keep.
    pub(super) fn close(&mut self) {
        self.closed = self.list.len();
    }

    /// Forgets a lock that was given up.
    pub(super) fn forget(&mut self, number: u64) {
        self.list.retain(|p| p.number != number);
        self.closed = self.closed.min(self.list.len());
    }

    /// The lock that further keys of an index go to; where there are too many already, one from before
    /// a savepoint, which then gives up fewer keys than came since.
    fn open(&mut self, index: IndexId) -> Option<&mut Pack> {
        let from = if self.list.len() >= PACKS_MAX { 0 } else { self.closed };
        self.list[from..].iter_mut().rev().find(|p| p.index == index)
    }
}

/// What became of the wish to lock one more key with many others.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Packed {
    Added,
    /// Under a new lock, with this number.
    New(u64),
    /// Another transaction has to end first, whose lock has this number.
    Behind(u64),
}

impl Reserved {
    /// The lock of another transaction that covers a key.
    pub(super) fn covering(&self, tx: TxId, key: &[u8], hash: u64) -> Option<u64> {
        let covers = |m: &&Many| m.tx != tx && m.keys.cover(key, hash);
        self.many.iter().find(covers).map(|m| m.number)
    }

    /// Notes that a key is locked.
    pub(super) fn raise(&mut self, key: &[u8]) {
        if *key > *self.high {
            self.high = key.into();
        }
    }

    /// Makes the interval that a transaction has at the top longer, where it has many.
    pub(super) fn lengthen(&mut self, tx: TxId, to: &[u8]) -> bool {
        let is_own = |m: &&Many| m.tx == tx && matches!(m.keys, Keys::Interval { .. });
        if self.many.iter().filter(is_own).count() < EXACT_INTERVALS {
            return false;
        }
        let high = &self.high;
        let last = self.many.iter_mut().rev().find_map(|m| match &mut m.keys {
            Keys::Interval { max, .. } if m.tx == tx && *max == *high => Some(max),
            _ => None,
        });
        let Some(max) = last else { return false };
        *max = to.into();
        self.high = Arc::clone(max);
        true
    }

    /// Notes an interval above all locked keys.
    pub(super) fn push_interval(&mut self, number: u64, tx: TxId, min: &[u8], max: &[u8]) {
        self.high = max.into();
        let keys = Keys::Interval { min: min.into(), max: Arc::clone(&self.high) };
        self.many.push(Many { number, tx, keys });
    }

    /// Locks a span, or all, unless another transaction's lock is in the way; `next` is the number of the lock. `coming`: how
    /// many spans the transaction wants at once, with this one. Where these would be too many it asks for all before it has
    /// the first, so that loads stand in line.
    pub(super) fn span(
        &mut self,
        tx: TxId,
        (span, coming): (&Span<'_>, usize),
        next: u64,
    ) -> Packed {
        let own = self.many.iter().rev().filter(|m| m.tx == tx);
        if own.clone().any(|m| m.keys.holds(span)) {
            return Packed::Added;
        }
        let all = own.count() + coming > SPANS_MAX;
        let is_behind = |m: &&Many| m.tx != tx && (all || m.keys.meets(span));
        if let Some(other) = self.many.iter().find(is_behind) {
            return Packed::Behind(other.number);
        }
        let parts = || Box::new([span.group.into(), span.lower.into(), span.upper.into()]);
        let keys = if all { Keys::All } else { Keys::Span(parts()) };
        self.many.push(Many { number: next, tx, keys });
        Packed::New(next)
    }

    /// Forgets a lock for many keys, if it is this transaction's.
    pub(super) fn remove(&mut self, number: u64, tx: TxId) {
        self.many.retain(|m| m.number != number || m.tx != tx);
    }

    /// Adds a key to those that a transaction holds under one lock; `next` is the number of a new one.
    /// `room`: bytes that all of its locks for many keys may take.
    pub(super) fn pack(
        &mut self,
        (index, key, hash): (IndexId, &[u8], u64),
        tx: TxId,
        packs: &mut Packs,
        room: usize,
        next: u64,
    ) -> Packed {
        let used = packs.heap_bytes();
        let mut full = false;
        if let Some(pack) = packs.open(index) {
            let many = self.many.iter_mut().find(|m| m.number == pack.number);
            let keys = &mut many.expect("a transaction's locks are there").keys;
            if add(keys, hash, room / 2, used) {
                pack.bytes = keys.heap_bytes();
                self.raise(key);
                return Packed::Added;
            }
            full = true;
        }
        let mut keys = Keys::Hashes(HashTable::new());
        if full || !add(&mut keys, hash, room / 2, used) {
            let filter = |m: &&Many| m.tx != tx && matches!(m.keys, Keys::Filter(_));
            if let Some(other) = self.many.iter().find(filter) {
                return Packed::Behind(other.number);
            }
            // Other indexes and tables may need one as well.
            let mut filter = Filter::new(room.saturating_sub(used) / 4 * 3);
            filter.add(hash);
            keys = Keys::Filter(filter);
        }
        packs.list.push(Pack { index, number: next, bytes: keys.heap_bytes() });
        self.many.push(Many { number: next, tx, keys });
        self.raise(key);
        Packed::New(next)
    }
}

/// Adds a key's hash; false where the table of hashes would outgrow its room.
fn add(keys: &mut Keys, hash: u64, room: usize, used: usize) -> bool {
    match keys {
        Keys::Interval { .. } | Keys::Span(_) | Keys::All => {
            unreachable!("intervals and spans are no packs")
        }
        Keys::Filter(filter) => filter.add(hash),
        Keys::Hashes(hashes) => {
            if hashes.find(hash, |h| *h == hash).is_some() {
                return true;
            }
            let full = hashes.len() == hashes.capacity();
            let more = table_bytes(hashes.capacity() + 1);
            if full && used + more > room {
                return false;
            }
            hashes.insert_unique(hash, hash, |h| *h);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use onlap_base::rng::Rng;

    use super::*;

    const INDEX: IndexId = IndexId(1);

    fn key(i: u64) -> [u8; 8] {
        i.to_be_bytes()
    }

    fn pack(reserved: &mut Reserved, packs: &mut Packs, tx: TxId, i: u64, room: usize) -> Packed {
        let (key, next) = (key(i), tx * 1000 + packs.list.len() as u64);
        reserved.pack((INDEX, &key, hash(&key)), tx, packs, room, next)
    }

    fn covers(reserved: &Reserved, tx: TxId, i: u64) -> bool {
        reserved.covering(tx, &key(i), hash(&key(i))).is_some()
    }

    /// Nothing that was packed is ever free for another, whatever the room; and what is kept stays in
    /// the room except for the smallest filter.
    #[test]
    fn no_key_is_lost_and_memory_is_bounded() {
        for (seed, room) in [(1, 0), (2, 4 << 10), (3, 64 << 10), (4, 1 << 20)] {
            let (mut reserved, mut packs) = (Reserved::default(), Packs::default());
            let mut rng = Rng::new(seed);
            let keys: Vec<u64> = (0..100_000).map(|_| rng.next_u64()).collect();
            for &i in &keys {
                pack(&mut reserved, &mut packs, 1, i, room);
                assert!(packs.heap_bytes() <= room + FILTER_BYTES_MIN, "{room}");
            }
            assert!(keys.iter().all(|&i| covers(&reserved, 2, i)), "room {room}");
            assert!(!keys.iter().any(|&i| covers(&reserved, 1, i)), "its own are no hindrance");
            let others = (0..10_000).filter(|_| covers(&reserved, 2, rng.next_u64())).count();
            match room {
                0 | 4096 => assert!(others > 9_000, "{others}: a full filter covers all"),
                65_536 => assert!(others < 9_000, "{others}"),
                _ => assert!(others < 600, "{others} of 10,000 other keys are covered"),
            }
        }
    }

    #[test]
    fn hashes_do_not_err() {
        let (mut reserved, mut packs) = (Reserved::default(), Packs::default());
        for i in 0..50_000 {
            pack(&mut reserved, &mut packs, 1, i, 8 << 20);
        }
        assert!((50_000..150_000).all(|i| !covers(&reserved, 2, i)));
    }

    #[test]
    fn spans_wait_for_those_that_share_a_point_with_them() {
        let mut reserved = Reserved::default();
        let span = |group: &'static [u8], lower: &'static [u8], upper: &'static [u8]| Span {
            group,
            lower,
            upper,
        };
        let lock =
            |reserved: &mut Reserved, tx, of: Span<'_>, next| reserved.span(tx, (&of, 1), next);
        let all = &mut reserved;
        assert_eq!(lock(all, 1, span(b"a", b"1", b"3"), 1), Packed::New(1));
        assert_eq!(lock(all, 1, span(b"a", b"2", b"5"), 2), Packed::New(2), "its own");
        assert_eq!(lock(all, 1, span(b"a", b"2", b"4"), 3), Packed::Added, "it has that already");
        assert_eq!(lock(all, 2, span(b"a", b"2", b"4"), 3), Packed::Behind(1));
        assert_eq!(lock(all, 2, span(b"a", b"4", b"9"), 3), Packed::Behind(2));
        assert_eq!(lock(all, 2, span(b"a", b"5", b"9"), 3), Packed::New(3), "touches");
        assert_eq!(lock(all, 2, span(b"b", b"1", b"9"), 4), Packed::New(4), "elsewhere");
        all.remove(2, 1);
        assert_eq!(lock(all, 2, span(b"a", b"4", b"5"), 5), Packed::New(5));
    }

    #[test]
    fn many_spans_are_all() {
        let (mut reserved, mut number) = (Reserved::default(), 0);
        let mut lock = |reserved: &mut Reserved, tx, at: u64| {
            number += 1;
            let (lower, upper) = (at.to_be_bytes(), (at + 1).to_be_bytes());
            reserved.span(tx, (&Span { group: &[], lower: &lower, upper: &upper }, 1), number)
        };
        assert_eq!(lock(&mut reserved, 2, 1 << 40), Packed::New(1));
        for at in 0..SPANS_MAX as u64 {
            assert!(matches!(lock(&mut reserved, 1, at), Packed::New(_)));
        }
        assert_eq!(lock(&mut reserved, 1, 1 << 20), Packed::Behind(1), "who wants all waits");
        reserved.remove(1, 2);
        assert!(matches!(lock(&mut reserved, 1, 1 << 20), Packed::New(_)));
        assert_eq!(lock(&mut reserved, 1, 1 << 21), Packed::Added);
        assert!(matches!(lock(&mut reserved, 2, 1 << 40), Packed::Behind(_)));
        assert_eq!(reserved.many.len(), SPANS_MAX + 1, "their number is bounded");
    }

    #[test]
    fn who_brings_many_asks_for_all_first() {
        let mut reserved = Reserved::default();
        let span = Span { group: b"a", lower: b"1", upper: b"2" };
        let other = Span { group: b"b", ..span };
        assert_eq!(reserved.span(1, (&span, SPANS_MAX), 1), Packed::New(1), "they have room");
        assert_eq!(reserved.span(2, (&other, SPANS_MAX + 1), 2), Packed::Behind(1));
        assert_eq!(reserved.many.len(), 1, "and holds nothing meanwhile");
        reserved.remove(1, 1);
        assert_eq!(reserved.span(2, (&other, SPANS_MAX + 1), 2), Packed::New(2));
        assert_eq!(reserved.span(1, (&span, 1), 3), Packed::Behind(2));
    }

    #[test]
    fn one_transaction_alone_has_a_filter() {
        let mut reserved = Reserved::default();
        let (mut a, mut b) = (Packs::default(), Packs::default());
        assert_eq!(pack(&mut reserved, &mut a, 1, 1, 0), Packed::New(1000));
        assert_eq!(pack(&mut reserved, &mut b, 2, 2, 0), Packed::Behind(1000));
        assert_eq!(pack(&mut reserved, &mut b, 2, 3, 1 << 20), Packed::New(2000), "hashes");
        reserved.remove(1000, 1);
        // The table of hashes has some places left.
        let mut after = (2..).map(|i| pack(&mut reserved, &mut b, 2, i, 0));
        assert_eq!(after.find(|p| *p != Packed::Added), Some(Packed::New(2001)));
    }

    #[test]
    fn locks_from_after_a_savepoint_are_their_own() {
        let (mut reserved, mut packs) = (Reserved::default(), Packs::default());
        pack(&mut reserved, &mut packs, 1, 1, 1 << 20);
        packs.close();
        let Packed::New(number) = pack(&mut reserved, &mut packs, 1, 2, 1 << 20) else {
            panic!("a savepoint begins a new lock")
        };
        assert_eq!(pack(&mut reserved, &mut packs, 1, 3, 1 << 20), Packed::Added);
        reserved.remove(number, 1);
        packs.forget(number);
        assert_eq!([1, 2, 3].map(|i| covers(&reserved, 2, i)), [true, false, false]);
        for i in 0..10 * PACKS_MAX as u64 {
            packs.close();
            pack(&mut reserved, &mut packs, 1, i, 1 << 20);
        }
        assert_eq!(packs.list.len(), PACKS_MAX, "their number is bounded");
    }
}
