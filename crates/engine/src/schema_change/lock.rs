//! Who may change a schema now?
//!
//! One at a time per database for ids, which is over in an instant, one at a time per table for what may
//! take long. Names are locks like those of rows ([`crate::locks`]). Waits go through the scheduler seam (I9), because the holder of a lock may wait for
//! background work.
//!
//! Thread safety: any thread. Lock order: a table's before the database's.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use onlap_base::clock::Clock;
use onlap_base::tasks::{Event, Tasks};
use onlap_base::{Error, ErrorKind, Result};

/// A wait looks this often whether it still makes sense.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A lock that may be held for long.
#[derive(Clone)]
pub(crate) struct ChangeLock(Arc<Inner>);

struct Inner {
    held: AtomicBool,
    freed: Arc<Event>,
}

impl ChangeLock {
    pub(crate) fn new(tasks: &dyn Tasks) -> ChangeLock {
        ChangeLock(Arc::new(Inner { held: AtomicBool::new(false), freed: tasks.event() }))
    }

    /// Takes the lock, waiting for it.
    pub(crate) fn lock(&self) -> ChangeGuard {
        loop {
            let seen = self.0.freed.epoch();
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            self.0.freed.wait(seen, None);
        }
    }

    /// Takes the lock, waiting for it as long as `go_on` says so.
    ///
    /// # Errors
    /// What `go_on` says.
    pub(crate) fn lock_while(&self, go_on: &dyn Fn() -> Result<()>) -> Result<ChangeGuard> {
        loop {
            let seen = self.0.freed.epoch();
            if let Some(guard) = self.try_lock() {
                return Ok(guard);
            }
            go_on()?;
            self.0.freed.wait(seen, Some(LOOK_EVERY));
        }
    }

    /// Takes the lock, waiting for it no longer than `limit`; `what` names what is locked.
    ///
    /// # Errors
    /// [`ErrorKind::LockNotAvailable`].
    pub(crate) fn lock_within(
        &self,
        limit: Duration,
        clock: &dyn Clock,
        what: &str,
    ) -> Result<ChangeGuard> {
        let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        let end = clock.monotonic_ns().saturating_add(limit);
        loop {
            let seen = self.0.freed.epoch();
            if let Some(guard) = self.try_lock() {
                return Ok(guard);
            }
            let left = end.saturating_sub(clock.monotonic_ns());
            if left == 0 {
                let text = format!("another schema change holds {what}");
                return Err(Error::new(ErrorKind::LockNotAvailable, text));
            }
            self.0.freed.wait(seen, Some(Duration::from_nanos(left)));
        }
    }

    fn try_lock(&self) -> Option<ChangeGuard> {
        let free = !self.0.held.swap(true, Ordering::AcqRel);
        free.then(|| ChangeGuard(Arc::clone(&self.0)))
    }
}

impl fmt::Debug for ChangeLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChangeLock({})", self.0.held.load(Ordering::Relaxed))
    }
}

/// The lock, held until dropped.
pub(crate) struct ChangeGuard(Arc<Inner>);

impl Drop for ChangeGuard {
    fn drop(&mut self) {
        self.0.held.store(false, Ordering::Release);
        self.0.freed.notify();
    }
}
