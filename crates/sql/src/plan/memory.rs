//! How much memory may one query take?
//!
//! All queries share a pool ([`Shared`]); each has a limit within it ([`QueryMemory`]). What asks for more spills to disk where it can
//! (sorts, most joins and groups), or else the query ends with `53200`.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion_common::{DataFusionError, Result};
use datafusion_execution::memory_pool::{
    GreedyMemoryPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use datafusion_execution::runtime_env::RuntimeEnv;

use super::room::Room;

/// What each may hold where the process is short of memory: whoever spilled less at a time would need thousands
/// of files.
const LEAST: usize = 2 << 20;

/// Eighths of the memory that rows to sort may fill. When they fill it they are merged, and written: for that each
/// row's key is in memory once more, of another consumer, which cannot write anything and would fail.
const SORTED_EIGHTHS: usize = 5;
/// What DataFusion calls rows to sort.
const SORTER: &str = "ExternalSorter[";

/// Whether rows to sort should be written rather than take more of `limit` bytes, of which `used` are taken. Those that
/// are few are not, for then there would be many files.
fn is_to_spill(reservation: &MemoryReservation, more: usize, used: usize, limit: usize) -> bool {
    reservation.size() >= LEAST.max(limit / 8)
        && used.saturating_add(more) > limit / 8 * SORTED_EIGHTHS
        && reservation.consumer().name().starts_with(SORTER)
}

fn to_spill() -> DataFusionError {
    DataFusionError::ResourcesExhausted("rows to sort leave memory to merge them".to_owned())
}

/// The pool of all queries, which gives nothing where the process has no room.
#[derive(Debug)]
pub struct Shared {
    pool: GreedyMemoryPool,
    bytes: usize,
    room: Arc<Room>,
}

impl Shared {
    /// A pool of so many bytes.
    pub fn new(bytes: usize, room: Arc<Room>) -> Shared {
        Shared { pool: GreedyMemoryPool::new(bytes), bytes, room }
    }
}

impl MemoryPool for Shared {
    fn name(&self) -> &str {
        self.pool.name()
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.pool.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.pool.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        if reservation.size() >= LEAST && self.room.is_short() {
            return Err(DataFusionError::ResourcesExhausted(
                self.room.refusal().message().to_owned(),
            ));
        }
        if is_to_spill(reservation, additional, self.pool.reserved(), self.bytes) {
            return Err(to_spill());
        }
        self.pool.try_grow(reservation, additional).map_err(|_| {
            let left = self.bytes.saturating_sub(self.pool.reserved());
            let text = format!(
                "the query needs {additional} bytes of memory more, and {left} of the {} of all queries are left",
                self.bytes
            );
            DataFusionError::ResourcesExhausted(text)
        })
    }

    fn reserved(&self) -> usize {
        self.pool.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.pool.memory_limit()
    }
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pool.fmt(f)
    }
}

/// One query's part of the pool.
#[derive(Debug)]
struct QueryMemory {
    all: Arc<dyn MemoryPool>,
    limit: usize,
    used: AtomicUsize,
}

/// The surroundings of one query, which may take `limit` bytes of memory; `None` for all that queries may
/// take together.
pub fn confined(all: &Arc<RuntimeEnv>, limit: Option<usize>) -> Arc<RuntimeEnv> {
    let Some(limit) = limit else { return Arc::clone(all) };
    let pool = QueryMemory { all: Arc::clone(&all.memory_pool), limit, used: AtomicUsize::new(0) };
    Arc::new(RuntimeEnv { memory_pool: Arc::new(pool), ..RuntimeEnv::clone(all) })
}

impl MemoryPool for QueryMemory {
    fn name(&self) -> &str {
        "query"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.all.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.all.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.used.fetch_add(additional, Ordering::Relaxed);
        self.all.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.used.fetch_sub(shrink, Ordering::Relaxed);
        self.all.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        if is_to_spill(reservation, additional, self.reserved(), self.limit) {
            return Err(to_spill());
        }
        let fits = |used: usize| Some(used + additional).filter(|n| *n <= self.limit);
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        taken.map_err(|used| {
            let text = format!(
                "the query needs {} bytes of memory, and {} is its limit",
                used + additional,
                self.limit
            );
            DataFusionError::ResourcesExhausted(text)
        })?;
        self.all.try_grow(reservation, additional).inspect_err(|_| {
            self.used.fetch_sub(additional, Ordering::Relaxed);
        })
    }

    fn reserved(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.limit)
    }
}

impl fmt::Display for QueryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "query ({} of {} bytes)", self.reserved(), self.limit)
    }
}
