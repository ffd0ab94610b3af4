//! A file system at whose operations the simulation may let another task go on.
//!
//! A disk takes its time, and what the engine does meanwhile is what the simulation is about. Writes
//! and syncs of logs, segments, runs and mark runs are such moments. The manifest is left out: its
//! record is written under the lock that orders changes, which another task would wait for outside
//! the scheduler. Reads are left out too; readers give way between the batches that they ask for.
//!
//! A disk of few operations in a second ([`disk_at_rate`]) makes each of those moments as long as the
//! disk takes, in the simulation's time. Operations queue: one that comes while others wait is served
//! after them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use onlap_base::Result;
use onlap_base::clock::Clock;
use onlap_base::names::FileKind;
use onlap_base::tasks::{SimTasks, Tasks};
use onlap_vfs::{File, Fs, ReadBuf};

use crate::wrapped::WrappedFs;

#[derive(Clone)]
struct Disk {
    tasks: SimTasks,
    /// What an operation takes; zero gives way and no more.
    takes: Duration,
    /// When the last operation that is queued will have been served, in the clock's nanoseconds.
    busy_until: Arc<AtomicU64>,
}

/// Gives way to other tasks before and after each write and sync.
pub fn disk(inner: Arc<dyn Fs>, tasks: SimTasks) -> WrappedFs {
    Disk { tasks, takes: Duration::ZERO, busy_until: Arc::default() }.before(inner)
}

/// Serves so many writes and syncs in a second.
///
/// # Panics
/// When the rate is zero.
pub fn disk_at_rate(inner: Arc<dyn Fs>, tasks: SimTasks, per_second: u32) -> WrappedFs {
    let takes = Duration::from_secs(1) / per_second;
    Disk { tasks, takes, busy_until: Arc::default() }.before(inner)
}

struct SlowFile {
    inner: Arc<dyn File>,
    disk: Disk,
}

impl Disk {
    fn before(self, inner: Arc<dyn Fs>) -> WrappedFs {
        WrappedFs::new(inner, move |kind, inner| match kind {
            FileKind::Log(_) | FileKind::Segment(_) | FileKind::Run(_) | FileKind::Marks(_) => {
                Arc::new(SlowFile { inner, disk: self.clone() })
            }
            _ => inner,
        })
    }

    /// Others go on before the operation happens and before its caller knows that it did.
    fn slowly(&self, operation: impl FnOnce() -> Result<()>) -> Result<()> {
        self.tasks.yield_now();
        if self.takes > Duration::ZERO {
            let now = self.tasks.monotonic_ns();
            let takes = u64::try_from(self.takes.as_nanos()).unwrap_or(u64::MAX);
            // One task at a time runs, so nobody comes in between.
            let served = self.busy_until.load(Ordering::Relaxed).max(now) + takes;
            self.busy_until.store(served, Ordering::Relaxed);
            self.tasks.sleep(Duration::from_nanos(served - now));
        }
        let done = operation();
        self.tasks.yield_now();
        done
    }
}

impl File for SlowFile {
    fn read_at(&self, offset: u64, len: usize) -> Result<ReadBuf> {
        self.inner.read_at(offset, len)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.disk.slowly(|| self.inner.write_at(bytes, offset))
    }
    fn sync_data(&self) -> Result<()> {
        self.disk.slowly(|| self.inner.sync_data())
    }
    fn sync_all(&self) -> Result<()> {
        self.disk.slowly(|| self.inner.sync_all())
    }
    fn len(&self) -> Result<u64> {
        self.inner.len()
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.inner.set_len(len)
    }
    fn allocate(&self, len: u64) -> Result<()> {
        self.inner.allocate(len)
    }
    fn prefetch(&self, offset: u64, len: u64) {
        self.inner.prefetch(offset, len);
    }
    fn write_back(&self, offset: u64, len: u64) {
        self.inner.write_back(offset, len);
    }
    fn drop_cache(&self) {
        self.inner.drop_cache();
    }
}
