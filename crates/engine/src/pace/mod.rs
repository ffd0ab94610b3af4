//! How fast may writers and merges go on the device that is there?
//!
//! [`device`] knows the device from spans of files that were written, [`cores`] how long jobs take between two of them,
//! [`owed`] what merges will have to do, and [`law`] makes a rate of all that. This module gathers what the law goes by,
//! asks it every tenth of a second while there are commits, and keeps its answer for [`crate::pressure`], which lets
//! commits pay.
//!
//! **Who goes first.** Memory waits for flushes, nothing waits for merges. Where the device is what everything waits
//! for, a span of a merge waits until no span of a flush is under way, though not for long: merges go on in any case,
//! and spans of theirs are shorter. So a flush has most of the device while it runs, and merges have all of it between
//! two.
//!
//! **The log** in the modes that do not sync commits: where the device is slow, who has just written a span, and the
//! background task that looks for work, have what came to the log written back too, in parts of a span or two.
//! Otherwise the kernel does it half a minute later, in a lump.
//!
//! A device that takes more than [`FAST`] is left alone: the cores limit writers then, and flushes pace them.
//!
//! Simpler, and worse: shares of the device per kind of work, as they leave it idle when one kind has nothing to write;
//! and the law alone, as a merge then takes half of the device from a flush at times and nothing at others.
//!
//! Thread safety: shared by all tasks; locks are held for an instant, and waits go through
//! [`onlap_base::tasks::Tasks`] (I9).

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use onlap_base::TableId;
use onlap_base::clock::Clock;
use onlap_base::memory::{Memory, Part};
use onlap_base::tasks::Tasks;
use onlap_storage::file::WRITE_CHUNK_BYTES;
use onlap_storage::pace::Pace;
use onlap_storage::written::Purpose;
use onlap_vfs::ALIGN;
use parking_lot::Mutex;

use crate::log::LogSync;

pub(crate) mod cores;
pub(crate) mod device;
pub(crate) mod law;
pub(crate) mod owed;
pub(crate) mod price;

use cores::Cores;
use device::Device;
use law::{Law, Measured};
use owed::Owed;

/// Bytes per second from which on the device is not what writers wait for: cores make not many more bytes of files.
const FAST: f64 = 100e6;
/// How long a span keeps the device busy: a sync of the log or a read waits for one of each kind at most.
const FLUSH_SPAN: f64 = 0.016;
const MERGE_SPAN: f64 = 0.008;
/// Shorter spans cost more calls than they help.
const SPAN_BYTES_MIN: usize = 64 << 10;
/// The first spans, while the device is not known.
const SPAN_BYTES_START: usize = 256 << 10;
/// Shorter spans, and syncs, tell more of a device's delay than of its rate.
const TELLING_BYTES: u64 = SPAN_BYTES_MIN as u64;
/// A span of a merge waits for spans of flushes as long as this number of its own take.
const MERGE_PATIENCE: f64 = 8.0;
/// In steps of this.
const MERGE_STEP: Duration = Duration::from_millis(2);
/// Weight of earlier flushes in what flushes cost.
const KEPT_SHARE: f64 = 0.75;
/// What is taken to have been flushed before the first flush, and its files: a small flush says little.
const MEMTABLES_START: f64 = 2e6;
const FILES_START: f64 = MEMTABLES_START;
/// Flushes after which costs are no guess any more.
const FLUSHES_NEW: u64 = 4;
/// Bytes that the device gets for a byte of the log.
const LOG_COST: f64 = 1.05;
/// Share of the memtables' part that commits may take at any speed.
const CREDIT_SHARE: u64 = 4;

/// The first memtable is flushed at this size, which is worth some spans.
const SAMPLE_BYTES: usize = 2 << 20;

/// What flushes cost the device, in bytes; older ones fade.
#[derive(Clone, Copy, Debug)]
struct Costs {
    memtables: f64,
    files: f64,
    merges: f64,
    flushes: u64,
}

impl Default for Costs {
    fn default() -> Costs {
        Costs { memtables: MEMTABLES_START, files: FILES_START, merges: 0.0, flushes: 0 }
    }
}

impl Costs {
    fn add(&mut self, memtable: u64, files: u64, merges: u64) {
        self.memtables = self.memtables * KEPT_SHARE + memtable as f64;
        self.files = self.files * KEPT_SHARE + files as f64;
        self.merges = self.merges * KEPT_SHARE + merges as f64;
        self.flushes += 1;
    }

    /// Bytes that flushes and merges write per byte of a commit, which takes `growth` bytes of memtable.
    fn per_byte(&self, growth: f64) -> (f64, f64) {
        let per_byte = |files: f64| growth * files / self.memtables.max(1.0);
        (per_byte(self.files), per_byte(self.merges))
    }
}

/// Time of jobs between spans.
#[derive(Debug, Default)]
struct AllCores {
    flushes: Cores,
    merges: Cores,
}

impl AllCores {
    fn of(&mut self, is_urgent: bool) -> &mut Cores {
        if is_urgent { &mut self.flushes } else { &mut self.merges }
    }
}

/// A job that writes files; ends with this.
pub(crate) struct AtWork<'a> {
    pace: &'a Pacer,
    is_urgent: bool,
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.pace.cores.lock().of(self.is_urgent).end(self.pace.clock.monotonic_ns());
    }
}

/// What all tables owe together.
#[derive(Debug, Default)]
struct OwedByAll {
    tables: HashMap<TableId, Owed>,
    sum: Owed,
}

/// Paces writers and merges by the device.
pub(crate) struct Pacer {
    clock: Arc<dyn Clock>,
    tasks: Arc<dyn Tasks>,
    device: Mutex<Device>,
    /// The device's rate, in bytes per second; 0 while it is not known.
    device_rate: AtomicU64,
    law: Mutex<Law>,
    next_step: AtomicU64,
    /// Bytes of commits per second; 0 for any number.
    rate: AtomicU64,
    costs: Mutex<Costs>,
    cores: Mutex<AllCores>,
    /// Background tasks.
    jobs: usize,
    owed: Mutex<OwedByAll>,
    /// Spans of flushes under way.
    flushing: AtomicU32,
    /// A memtable is frozen at this many bytes, for the sake of a reserve.
    freeze_at: AtomicU64,
    /// The device was tried with a small flush, or is not to be.
    sampled: AtomicBool,
    log: OnceLock<Weak<LogSync>>,
}

/// What commits and memory say to the law.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writers {
    /// Bytes of commits so far.
    pub admitted: u64,
    /// Bytes of memtable per byte of a commit.
    pub growth: f64,
    /// When what is frozen is expected to be flushed, on the monotonic clock; 0 when nothing is.
    pub drained_at: u64,
    /// When the flush that ends next is expected to, and the bytes of memtable that it gives back.
    pub next_at: u64,
    pub freed: u64,
}

/// What the device is known to do, and what writers may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PaceReport {
    /// Bytes per second that the device was seen to take, at most 100 million; 0 while it is not known.
    pub device_bytes_per_s: u64,
    /// Whether flushes and merges wait for the device, and not for cores.
    pub is_device_slow: bool,
    /// Bytes of commits per second that writers may go at now; `None`: as fast as they can.
    pub writers_bytes_per_s: Option<u64>,
}

impl Pacer {
    /// In numbers.
    pub(crate) fn report(&self) -> PaceReport {
        let rate = self.rate.load(Relaxed);
        PaceReport {
            device_bytes_per_s: self.device_rate.load(Relaxed),
            is_device_slow: self.limiting().is_some(),
            writers_bytes_per_s: (rate > 0).then_some(rate),
        }
    }

    /// `samples`: the first memtable may be frozen early, to try the device. `jobs`: background tasks.
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        tasks: Arc<dyn Tasks>,
        samples: bool,
        jobs: usize,
    ) -> Arc<Pacer> {
        let now = clock.monotonic_ns();
        Arc::new(Pacer {
            clock,
            tasks,
            device: Mutex::default(),
            device_rate: AtomicU64::new(0),
            law: Mutex::new(Law::new(now)),
            next_step: AtomicU64::new(0),
            rate: AtomicU64::new(0),
            costs: Mutex::default(),
            cores: Mutex::default(),
            jobs,
            owed: Mutex::default(),
            flushing: AtomicU32::new(0),
            freeze_at: AtomicU64::new(u64::MAX),
            sampled: AtomicBool::new(!samples),
            log: OnceLock::new(),
        })
    }

    /// Has the log written back from now on.
    pub(crate) fn follow(&self, log: &Arc<LogSync>) {
        let _ = self.log.set(Arc::downgrade(log));
    }

    /// Whether a memtable of `bytes` is frozen before it is full: where memory needs a reserve, and the
    /// first one, so that the device is known long before memory is full.
    pub(crate) fn freezes(&self, bytes: usize) -> bool {
        bytes as u64 >= self.freeze_at.load(Relaxed)
            || bytes >= SAMPLE_BYTES
                && !self.sampled.load(Relaxed)
                && !self.sampled.swap(true, Relaxed)
    }

    /// The device's rate, in bytes per second, where writers wait for it.
    fn limiting(&self) -> Option<f64> {
        let rate = self.device_rate.load(Relaxed) as f64;
        (rate > 0.0 && rate < FAST).then_some(rate)
    }

    /// Whether commits are held back for the device.
    pub(crate) fn holds_back(&self) -> bool {
        self.limiting().is_some() || self.rate.load(Relaxed) > 0
    }

    /// Nanoseconds so far in which the device was silent, far longer than it should be.
    pub(crate) fn stalled_ns(&self) -> u64 {
        self.device.lock().stalled_ns()
    }

    /// The rate at which writers may go, in bytes of commits per second.
    pub(crate) fn rate(&self, now: u64, memory: &Memory, writers: &Writers) -> Option<f64> {
        let due = self.next_step.load(Relaxed);
        let claim = |next| self.next_step.compare_exchange(due, next, Relaxed, Relaxed).is_ok();
        if now >= due && claim(now + law::STEP_NS) {
            let measured = self.measure(now, memory, writers);
            let rate = self.law.lock().step(&measured);
            self.rate.store(rate.map_or(0, |rate| rate.max(1.0) as u64), Relaxed);
            let part = memory.limit(Part::Memtables) as f64;
            let at = rate.map_or(u64::MAX, |r| law::freeze_at(part, r * writers.growth) as u64);
            self.freeze_at.store(at, Relaxed);
        }
        match self.rate.load(Relaxed) {
            0 => None,
            rate => Some(rate as f64),
        }
    }

    fn measure(&self, now: u64, memory: &Memory, writers: &Writers) -> Measured {
        let (limit, used) = (memory.limit(Part::Memtables), memory.used(Part::Memtables));
        let growth = writers.growth.max(0.1);
        let until = |at: u64| match at {
            0 => 0.0,
            at => (at.saturating_sub(now) as f64 / 1e9).max(0.1),
        };
        let costs = *self.costs.lock();
        let (flushed, merged) = costs.per_byte(growth);
        let flush_cost = LOG_COST + flushed;
        let (owed, owing) = {
            let all = self.owed.lock();
            (all.sum.share(), all.tables.len())
        };
        let (flush_cores, merge_cores, merging_share) = {
            let mut cores = self.cores.lock();
            let flushes = flushed * cores.flushes.seconds_per_byte();
            let merges = merged * cores.merges.seconds_per_byte();
            let merging_share = cores.merges.busy_share(now);
            match self.jobs {
                // One task does all, one after the other.
                0 | 1 => (flushes, flushes + merges, merging_share),
                // Each merges for another table.
                jobs => (flushes, merges / owing.clamp(1, jobs - 1) as f64, merging_share),
            }
        };
        let mut device = self.device.lock();
        Measured {
            now_ns: now,
            device_rate: self.limiting().unwrap_or(0.0),
            is_stalled: device.is_stalled(now),
            busy_share: device.busy_share(now),
            stalled_share: device.stalled_share(),
            cost: flush_cost + merged,
            flush_cost,
            merge_cores,
            flush_cores,
            merging_share,
            is_new: costs.flushes < FLUSHES_NEW,
            owed,
            filled: used as f64 / limit.max(1) as f64,
            room: (law::PLANNED * limit as f64 - used as f64).max(0.0) / growth,
            drained_in: until(writers.drained_at),
            next_in: until(writers.next_at),
            freed: writers.freed as f64 / growth,
            admitted: writers.admitted,
            credit_max: (limit / CREDIT_SHARE) as f64 / growth,
        }
    }

    /// Notes that a flush made `files` bytes of `memtable` bytes, for which merges will write `merges`.
    pub(crate) fn flushed(&self, memtable: u64, files: u64, merges: u64) {
        self.costs.lock().add(memtable, files, merges);
    }

    /// Notes that a job that flushes, or merges, is at work until the answer goes.
    pub(crate) fn at_work(&self, is_urgent: bool) -> AtWork<'_> {
        self.cores.lock().of(is_urgent).begin(self.clock.monotonic_ns());
        AtWork { pace: self, is_urgent }
    }

    /// Notes what a table's merges owe; nothing when it is gone.
    pub(crate) fn owes(&self, table: TableId, owed: Owed) {
        let mut all = self.owed.lock();
        let before = match owed.all {
            0 => all.tables.remove(&table),
            _ => all.tables.insert(table, owed),
        };
        let before = before.unwrap_or_default();
        all.sum = Owed {
            bytes: all.sum.bytes - before.bytes + owed.bytes,
            all: all.sum.all - before.all + owed.all,
        };
    }

    /// Lets the next part of the log go to the device, where that is slow and has nothing else to do: otherwise who
    /// keeps it busy will.
    pub(crate) fn write_idle_log_back(&self) {
        if self.limiting().is_some() && !self.device.lock().is_busy() {
            self.write_log_back();
        }
    }

    fn write_log_back(&self) {
        let Some(log) = self.log.get().and_then(Weak::upgrade) else { return };
        let bytes = log.write_back();
        if bytes > 0 {
            self.device.lock().add(self.clock.monotonic_ns(), bytes);
        }
    }

    /// A merge waits for flushes.
    fn give_way(&self) {
        let Some(rate) = self.limiting() else { return };
        let span = self.span_of(MERGE_SPAN) as f64 / rate;
        let until = self.clock.monotonic_ns() + (span * MERGE_PATIENCE * 1e9) as u64;
        while self.flushing.load(Relaxed) > 0 && self.clock.monotonic_ns() < until {
            self.tasks.sleep(MERGE_STEP);
        }
    }

    fn span_of(&self, seconds: f64) -> usize {
        let bytes = match self.device_rate.load(Relaxed) {
            0 => SPAN_BYTES_START,
            rate => (rate as f64 * seconds) as usize,
        };
        bytes.clamp(SPAN_BYTES_MIN, WRITE_CHUNK_BYTES) / ALIGN * ALIGN
    }
}

/// Whether memory, or a client, waits for it.
fn is_urgent(purpose: Purpose) -> bool {
    match purpose {
        Purpose::Log | Purpose::Manifest | Purpose::Samples => true,
        Purpose::Segment | Purpose::Index(_) | Purpose::Marks => true,
        Purpose::Merge(_) | Purpose::Compaction => false,
    }
}

impl Pace for Pacer {
    fn span_bytes(&self, purpose: Purpose) -> usize {
        self.span_of(if is_urgent(purpose) { FLUSH_SPAN } else { MERGE_SPAN })
    }

    fn begin(&self, purpose: Purpose) {
        self.cores.lock().of(is_urgent(purpose)).begin_span(self.clock.monotonic_ns());
        match is_urgent(purpose) {
            true => _ = self.flushing.fetch_add(1, Relaxed),
            false => self.give_way(),
        }
        let now = self.clock.monotonic_ns();
        self.device.lock().begin(now, is_urgent(purpose));
    }

    fn end(&self, purpose: Purpose, bytes: u64) {
        if is_urgent(purpose) {
            self.flushing.fetch_sub(1, Relaxed);
        }
        let now = self.clock.monotonic_ns();
        self.cores.lock().of(is_urgent(purpose)).end_span(now, bytes);
        let mut device = self.device.lock();
        device.end(now, bytes, bytes >= TELLING_BYTES, is_urgent(purpose));
        let rate =
            if device.is_faster_than(FAST) { FAST.max(device.rate()) } else { device.rate() };
        self.device_rate.store(rate as u64, Relaxed);
        drop(device);
        if self.limiting().is_some() {
            self.write_log_back();
        }
    }
}
