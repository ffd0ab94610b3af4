//! Who may hold how much memory, and who holds it now?
//!
//! One [`Memory`] per database splits `memory_limit` into six parts that add up to it (I7). Each part
//! counts its own bytes; code that allocates charges first or at once after, and code that finds its part
//! over the limit acts on it (a memtable flushes, a cache evicts, a merge waits). Nothing here blocks
//! or frees anything. Counters are relaxed atomics: they guide, they guard no data. Safe to share.
//!
//! The largest part is empty while no client writes. What memtables leave free the cache may have until
//! they want it back ([`Memory::lend`]); memtables keep their limit, so what is lent must fit what they
//! leave.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::limits::MEMORY_LIMIT_MIN;

pub mod heap;
mod machine;

pub use machine::{machine_bytes, resident_bytes};

/// What memory is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Rows that landed and are not flushed yet, with their permutations and hashes.
    Memtables,
    /// Private buffers of open transactions.
    Transactions,
    /// Blocks of segments and runs read before.
    Cache,
    /// What stays for as long as a file is in use: fences, filters, footers, versions, catalog.
    Resident,
    /// Buffers of flushes, merges and compactions.
    Background,
    /// Log groups being assembled and written.
    Log,
}

/// All parts, in the order of reports.
pub const PARTS: [Part; 6] =
    [Part::Memtables, Part::Transactions, Part::Cache, Part::Resident, Part::Background, Part::Log];

/// Sixty-fourths of the limit per part, in the order of [`PARTS`].
///
/// * Memtables, 22: bytes written per row by merges fall with the logarithm of what one flush holds,
///   so they get the largest part; frozen ones being flushed count here too, so each table set can
///   fill 10 while 10 are on their way out and 2 are left for flushes that take longer.
/// * Transactions, 6: at three quarters of it a transaction moves to files, in parts that are worth
///   one each.
/// * Cache, 18: reads gain from every block, and nothing is lost below it.
/// * Resident, 8: a filter costs 2 bytes per unique key, fences about 20 bytes per 16-KiB block.
/// * Background, 9: two jobs of T + 1 = 9 streams with two 16-KiB blocks each take 0.6 MiB; the
///   output of 1-MiB chunks and the sort buffers of a flush take the rest.
/// * Log, 1: one group in assembly and one in flight.
const SHARES: [u64; 6] = [22, 6, 18, 8, 9, 1];
const SHARES_SUM: u64 = 64;

const _: () = {
    let mut sum = 0;
    let mut i = 0;
    while i < SHARES.len() {
        sum += SHARES[i];
        i += 1;
    }
    assert!(sum == SHARES_SUM, "the parts add up to the whole");
};

impl Part {
    /// The word reports use.
    pub fn name(self) -> &'static str {
        match self {
            Part::Memtables => "memtables",
            Part::Transactions => "transactions",
            Part::Cache => "cache",
            Part::Resident => "resident",
            Part::Background => "background",
            Part::Log => "log",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One line of a memory report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartReport {
    /// What the memory is for.
    pub part: Part,
    /// Bytes the part may use.
    pub limit: u64,
    /// Bytes it uses now.
    pub used: u64,
}

/// The budget when none is given: a quarter of what the machine, or the control group this process is
/// in, has.
pub fn default_limit() -> u64 {
    (machine_bytes() / 4).max(MEMORY_LIMIT_MIN)
}

/// The memory budget of one database.
#[derive(Debug)]
pub struct Memory {
    limit: u64,
    limits: [u64; 6],
    used: [AtomicU64; 6],
    /// Bytes of the memtables' part that the cache may use.
    lent: AtomicU64,
}

impl Memory {
    /// A budget of `limit` bytes, raised to [`MEMORY_LIMIT_MIN`] when below it.
    pub fn new(limit: u64) -> Memory {
        let limit = limit.max(MEMORY_LIMIT_MIN);
        let mut limits = SHARES.map(|share| limit / SHARES_SUM * share);
        // What the division leaves over goes to the cache, which can use any number of bytes.
        limits[Part::Cache as usize] += limit - limits.iter().sum::<u64>();
        Memory { limit, limits, used: Default::default(), lent: AtomicU64::new(0) }
    }

    /// The whole budget in bytes.
    pub fn total_limit(&self) -> u64 {
        self.limit
    }

    /// Bytes in use, all parts together.
    pub fn total_used(&self) -> u64 {
        PARTS.iter().map(|&part| self.used(part)).sum()
    }

    /// Bytes the part may use; the cache's with what is lent to it.
    pub fn limit(&self, part: Part) -> u64 {
        match part {
            Part::Cache => self.limits[part as usize] + self.lent(),
            _ => self.limits[part as usize],
        }
    }

    /// Bytes that memtables could spare if they used `used`: all but a quarter of their part, which is
    /// there for what comes before the cache has given back.
    pub fn lendable(&self, used: u64) -> u64 {
        let limit = self.limit(Part::Memtables);
        (limit - limit / 4).saturating_sub(used)
    }

    /// Bytes of the memtables' part that the cache has now.
    pub fn lent(&self) -> u64 {
        self.lent.load(Ordering::Relaxed)
    }

    /// Lets the cache have `bytes` of the memtables' part, instead of what it had of it.
    pub fn lend(&self, bytes: u64) {
        self.lent.store(bytes, Ordering::Relaxed);
    }

    /// Bytes the part uses now.
    pub fn used(&self, part: Part) -> u64 {
        self.used[part as usize].load(Ordering::Relaxed)
    }

    /// Bytes the part may still take; 0 when it is over its limit.
    pub fn free(&self, part: Part) -> u64 {
        self.limit(part).saturating_sub(self.used(part))
    }

    /// Counts `bytes` more for the part, whether they fit or not.
    pub fn add(&self, part: Part, bytes: u64) {
        self.used[part as usize].fetch_add(bytes, Ordering::Relaxed);
    }

    /// Takes back `bytes` counted by [`Memory::add`].
    pub fn sub(&self, part: Part, bytes: u64) {
        let before = self.used[part as usize].fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "{part}: {bytes} bytes given back, {before} were counted");
    }

    /// Counts `bytes` for as long as the charge lives, whether they fit or not.
    pub fn charge(self: &Arc<Self>, part: Part, bytes: u64) -> Charge {
        self.add(part, bytes);
        Charge { memory: Arc::clone(self), part, bytes }
    }

    /// Counts `bytes` if they fit the part's limit.
    pub fn try_charge(self: &Arc<Self>, part: Part, bytes: u64) -> Option<Charge> {
        let limit = self.limit(part);
        self.used[part as usize]
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(bytes).filter(|&sum| sum <= limit)
            })
            .ok()?;
        Some(Charge { memory: Arc::clone(self), part, bytes })
    }

    /// Limits and use per part, in the order of [`PARTS`]; the limits add up to
    /// [`Memory::total_limit`], what is lent counts for the cache.
    pub fn report(&self) -> Vec<PartReport> {
        let lent = self.lent();
        let limit = |part| match part {
            Part::Cache => self.limits[part as usize] + lent,
            Part::Memtables => self.limits[part as usize].saturating_sub(lent),
            _ => self.limits[part as usize],
        };
        let line = |part| PartReport { part, limit: limit(part), used: self.used(part) };
        PARTS.iter().map(|&part| line(part)).collect()
    }
}

/// Bytes counted against a part until dropped.
#[derive(Debug)]
pub struct Charge {
    memory: Arc<Memory>,
    part: Part,
    bytes: u64,
}

impl Charge {
    /// Bytes counted now.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Counts `bytes` from now on, whether they fit or not.
    pub fn resize(&mut self, bytes: u64) {
        if bytes >= self.bytes {
            self.memory.add(self.part, bytes - self.bytes);
        } else {
            self.memory.sub(self.part, self.bytes - bytes);
        }
        self.bytes = bytes;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.memory.sub(self.part, self.bytes);
    }
}

#[cfg(test)]
mod tests;
