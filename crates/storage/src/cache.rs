//! Which blocks of finished files are in memory?
//!
//! One cache for the blocks of all segments, runs and mark runs. A cached block is decompressed,
//! its checksum was verified when it came in, and its header is parsed; so a hit costs one lookup
//! and no check. The cache knows nothing of what blocks mean: it keeps them behind `Any`.
//!
//! Memory (I7): the capacity is the limit of [`Part::Cache`]. It grows, as misses come in, into what
//! memtables have left free for a while, and is back in its part before they need the room: the task that
//! fills them calls [`BlockCache::make_way`]. Each block carries its charge and
//! gives it back when the last reader lets go, so the part's counter also covers blocks that were
//! evicted while being read. Files are never modified (I5) and ids never reused, so nothing is
//! ever invalidated. Writers put their blocks in while there is room, and a closed file's blocks
//! leave: so what a merge replaces makes room for what replaces it. What each file holds of the part is counted where
//! blocks come and go ([`held`]).
//!
//! Thread safety: shared freely. A miss does not block other readers of the same block: two threads
//! may read it at once and one result wins, which keeps waiting out of this module (I9).

use std::any::Any;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use onlap_base::FileId;
use onlap_base::memory::{Charge, Memory, Part};
use parking_lot::Mutex;
use quick_cache::{OptionsBuilder, Weighter};

mod held;
#[cfg(test)]
mod tests;

use held::{ByFile, Held};

/// Bytes that the cache and the allocator need for a block besides its content: key, value, two
/// reference counts, the file's counter, and 21 bytes of state in a table that is at most two thirds full.
const ENTRY_OVERHEAD_BYTES: usize = 176;

/// Few shards, so that small capacities still hold whole blocks; lookups take a shard's read lock
/// for some tens of nanoseconds.
const SHARDS_MAX: u64 = 16;

/// A shard smaller than this would hold too few blocks of 16 KiB to choose among.
const SHARD_BYTES_MIN: u64 = 1 << 20;

/// The cache takes and gives back room in steps of this share of the memtables' part, or of [`STEP_BYTES_MAX`]
/// where that is less: each looks at every shard, and a step back evicts while a commit waits, some hundred
/// blocks at most.
const STEPS: u64 = 16;
const STEP_BYTES_MAX: u64 = 8 << 20;

/// The cache asks for more room whenever it took in this share of its capacity.
const TAKEN_SHARE: u64 = 8;

/// What the most that memtables held loses each time the cache asks: they fill and empty many times a
/// second, and room that is given for an instant costs more than it brings.
const FADING: u64 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct BlockKey {
    file: FileId,
    offset: u64,
}

#[derive(Clone)]
struct Slot {
    weight: u64,
    block: Arc<dyn Any + Send + Sync>,
}

#[derive(Clone, Copy)]
struct SlotWeight;

impl Weighter<BlockKey, Slot> for SlotWeight {
    fn weight(&self, _: &BlockKey, slot: &Slot) -> u64 {
        slot.weight
    }
}

/// A block in memory together with its charge.
pub struct Loaded<T> {
    block: T,
    _charge: Charge,
    _held: Held,
}

impl<T> Deref for Loaded<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.block
    }
}

/// The block cache.
pub struct BlockCache {
    slots: quick_cache::sync::Cache<BlockKey, Slot, SlotWeight>,
    memory: Arc<Memory>,
    by_file: ByFile,
    misses: AtomicU64,
    /// Bytes taken in since the last time more room was asked for.
    taken: AtomicU64,
    /// The most that memtables held lately.
    memtables: AtomicU64,
    /// Held by the task that changes the capacity.
    resizing: Mutex<()>,
}

impl BlockCache {
    /// An empty cache as large as [`Part::Cache`] allows.
    pub fn new(memory: Arc<Memory>) -> BlockCache {
        let capacity = memory.limit(Part::Cache);
        let shards = (capacity / SHARD_BYTES_MIN).clamp(1, SHARDS_MAX);
        let shards = 1usize << shards.ilog2();
        let options = OptionsBuilder::new()
            .shards(shards)
            .weight_capacity(capacity)
            .estimated_items_capacity((capacity / (16 << 10)).max(16) as usize)
            .build()
            .expect("every required option is set");
        let slots = quick_cache::sync::Cache::with_options(
            options,
            SlotWeight,
            Default::default(),
            Default::default(),
        );
        BlockCache {
            slots,
            memory,
            by_file: ByFile::default(),
            misses: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            memtables: AtomicU64::new(0),
            resizing: Mutex::new(()),
        }
    }

    /// Gives back what memtables want: call after they grew.
    #[inline]
    pub fn make_way(&self) {
        let used = self.memory.used(Part::Memtables);
        if used > self.memtables.load(Relaxed) {
            self.memtables.store(used, Relaxed);
        }
        if self.memory.lent() > self.memory.lendable(used) {
            self.resize(used);
        }
    }

    /// Takes room that memtables have not used for a while.
    #[cold]
    fn ask_for_room(&self) {
        let used = self.memory.used(Part::Memtables);
        let most = self.memtables.load(Relaxed);
        let most = used.max(most / FADING * (FADING - 1));
        self.memtables.store(most, Relaxed);
        if self.memory.lendable(most) > self.memory.lent() {
            self.resize(most);
        }
    }

    fn resize(&self, memtables: u64) {
        let _resizing = self.resizing.lock();
        let memtables = memtables.max(self.memory.used(Part::Memtables));
        let step = (self.memory.limit(Part::Memtables) / STEPS).clamp(1, STEP_BYTES_MAX);
        let lent = self.memory.lendable(memtables) / step * step;
        assert!(lent <= self.memory.lendable(memtables), "no more is lent than is idle");
        if lent != self.memory.lent() {
            self.memory.lend(lent);
            self.slots.set_capacity(self.capacity());
        }
    }

    /// The block at an offset of a file, if it is in memory.
    #[inline]
    pub fn get<T: Send + Sync + 'static>(
        &self,
        file: FileId,
        offset: u64,
    ) -> Option<Arc<Loaded<T>>> {
        let slot = self.slots.get(&BlockKey { file, offset })?;
        slot.block.downcast::<Loaded<T>>().ok()
    }

    /// Puts a block in; `bytes` is what it takes on the heap. Counts a miss.
    pub fn insert<T: Send + Sync + 'static>(
        &self,
        file: FileId,
        offset: u64,
        block: T,
        bytes: usize,
    ) -> Arc<Loaded<T>> {
        self.misses.fetch_add(1, Relaxed);
        let loaded = self.charged(file, block, bytes);
        let weight = (bytes + ENTRY_OVERHEAD_BYTES) as u64;
        debug_assert!(weight < u64::from(u32::MAX), "a block is near 16 KiB");
        let slot = Slot { weight, block: loaded.clone() };
        self.slots.insert(BlockKey { file, offset }, slot);
        if self.taken.fetch_add(weight, Relaxed) > self.capacity() / TAKEN_SHARE {
            self.taken.store(0, Relaxed);
            self.ask_for_room();
        }
        loaded
    }

    /// As [`BlockCache::insert`] while there is free space; never evicts, so that a scan of a table
    /// larger than the cache leaves the blocks that are read again and again where they are.
    pub fn insert_if_room<T: Send + Sync + 'static>(
        &self,
        file: FileId,
        offset: u64,
        block: T,
        bytes: usize,
    ) -> Arc<Loaded<T>> {
        if self.has_room(bytes) {
            self.insert(file, offset, block, bytes)
        } else {
            self.uncached(file, block, bytes)
        }
    }

    /// Whether a block of `bytes` fits without evicting another.
    pub fn has_room(&self, bytes: usize) -> bool {
        // Shards fill unevenly; the last eighth is left to insertions that may evict.
        let capacity = self.capacity();
        let room = capacity - capacity / 8;
        self.memory.used(Part::Cache) + bytes as u64 <= room
    }

    /// Lets a block go whose file no reader will need again.
    pub fn remove(&self, file: FileId, offset: u64) {
        self.slots.remove(&BlockKey { file, offset });
    }

    /// Lets all blocks of a file go, at the cost of a look at every block.
    pub fn remove_file(&self, file: FileId) {
        self.slots.retain(|key, _| key.file != file);
    }

    /// A block that counts as long as its reader has it and is not kept. Counts a miss.
    pub fn uncached<T>(&self, file: FileId, block: T, bytes: usize) -> Arc<Loaded<T>> {
        self.misses.fetch_add(1, Relaxed);
        self.charged(file, block, bytes)
    }

    fn charged<T>(&self, file: FileId, block: T, bytes: usize) -> Arc<Loaded<T>> {
        let bytes = (bytes + ENTRY_OVERHEAD_BYTES) as u64;
        let charge = self.memory.charge(Part::Cache, bytes);
        Arc::new(Loaded { block, _charge: charge, _held: self.by_file.hold(file, bytes) })
    }

    /// Bytes of [`Part::Cache`] that the blocks of a file take now; those that were evicted while they are read count
    /// as well.
    pub fn held(&self, file: FileId) -> u64 {
        self.by_file.held(file)
    }

    /// Largest sum of block sizes, now.
    pub fn capacity(&self) -> u64 {
        self.memory.limit(Part::Cache)
    }

    /// Blocks that had to be read since the start.
    pub fn misses(&self) -> u64 {
        self.misses.load(Relaxed)
    }

    /// Number of blocks in memory.
    pub fn blocks(&self) -> usize {
        self.slots.len()
    }

    /// Lets every block go (tests and cold measurements).
    pub fn clear(&self) {
        self.slots.clear();
    }
}
