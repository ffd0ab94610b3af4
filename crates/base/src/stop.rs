//! Is the work that this thread does still wanted?
//!
//! A statement may take as long as its time limit says, and its client may end it. What knows of that ([`Stop`]) is far
//! from the loops that take the time: it is made known to the thread ([`within`]), and loops over rows and blocks ask
//! ([`check`]). What must not end halfway, a commit above all, runs while it is not known ([`hold`]).
//!
//! What takes long within one value, a hash of 500 MB or a quotient of a hundred thousand digits, says how much it has done
//! ([`worked`]), and asks once per [`STRIDE`] of that, however the work is divided into loops and calls.
//!
//! Where no [`Stop`] is known, asking costs a look at the thread's own memory.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::clock::{Clock, SystemClock};
use crate::{Error, ErrorKind, Result};

thread_local! {
    static CURRENT: RefCell<Option<Arc<Stop>>> = const { RefCell::new(None) };
    /// Work since it was asked last.
    static SINCE: Cell<usize> = const { Cell::new(0) };
    /// How often it was asked.
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

/// Work between two questions: bytes that are read or made, digits that are multiplied, elements that are compared. The
/// slowest of them take some ten nanoseconds each, so that a statement ends within milliseconds.
pub const STRIDE: usize = 64 << 10;

/// When a statement is to end.
#[derive(Debug, Default)]
pub struct Stop {
    /// Set when the client wants its end.
    cancelled: Arc<AtomicBool>,
    /// On the monotonic clock; 0 for never.
    deadline_ns: AtomicU64,
}

impl Stop {
    /// Ends what runs within it when the flag is set; no deadline yet.
    pub fn new(cancelled: &Arc<AtomicBool>) -> Stop {
        Stop { cancelled: Arc::clone(cancelled), deadline_ns: AtomicU64::new(0) }
    }

    /// Sets the end on the monotonic clock, in nanoseconds; 0 for never.
    pub fn end_at(&self, deadline_ns: u64) {
        self.deadline_ns.store(deadline_ns, Ordering::Relaxed);
    }

    /// Whether the deadline has passed.
    pub fn is_late(&self) -> bool {
        let deadline = self.deadline_ns.load(Ordering::Relaxed);
        deadline != 0 && SystemClock.monotonic_ns() >= deadline
    }

    /// Fails when the statement is to end.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`].
    pub fn check(&self) -> Result<()> {
        let why = match self.cancelled.load(Ordering::Relaxed) {
            true => "user request",
            false if self.is_late() => "statement timeout",
            false => return Ok(()),
        };
        Err(Error::new(ErrorKind::Cancelled, format!("canceling statement due to {why}")))
    }
}

/// What the thread knew before; it knows that again when this is dropped.
#[derive(Debug)]
pub struct Before(Option<Arc<Stop>>);

impl Drop for Before {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Makes known to this thread when its work is to end, until what it gives is dropped.
pub fn within(stop: &Arc<Stop>) -> Before {
    Before(CURRENT.replace(Some(Arc::clone(stop))))
}

/// Lets this thread's work go on to its end, until what it gives is dropped.
pub fn hold() -> Before {
    Before(CURRENT.replace(None))
}

/// What says when the work of this thread is to end, for others that work for it.
pub fn known() -> Option<Arc<Stop>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Fails when the work of this thread is to end.
///
/// # Errors
/// [`ErrorKind::Cancelled`].
pub fn check() -> Result<()> {
    ASKED.set(ASKED.get() + 1);
    CURRENT.with_borrow(|stop| stop.as_ref().map_or(Ok(()), |stop| stop.check()))
}

/// Notes work of this thread; whether it is time to ask.
#[inline]
pub fn is_due(work: usize) -> bool {
    let since = SINCE.get().saturating_add(work);
    let is_due = since >= STRIDE;
    SINCE.set(if is_due { 0 } else { since });
    is_due
}

/// Notes work, and asks when there was enough of it.
///
/// # Errors
/// As of [`check`].
#[inline]
pub fn worked(work: usize) -> Result<()> {
    if is_due(work) { check() } else { Ok(()) }
}

/// How often this thread has asked: tests compare it with the work that was done.
pub fn asked() -> u64 {
    ASKED.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_ends_what_is_within_and_nothing_else() {
        let flag = Arc::new(AtomicBool::new(false));
        let stop = Arc::new(Stop::new(&flag));
        let within = within(&stop);
        check().expect("it goes on");
        flag.store(true, Ordering::Relaxed);
        let error = check().expect_err("it was cancelled");
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        {
            let _held = hold();
            check().expect("it is held");
        }
        check().expect_err("no longer");
        flag.store(false, Ordering::Relaxed);
        stop.end_at(1);
        let error = check().expect_err("it is late");
        assert!(error.to_string().contains("statement timeout"), "{error}");
        drop(within);
        check().expect("it was not meant");
    }

    #[test]
    fn work_in_small_parts_asks_as_often_as_in_large_ones() {
        let before = asked();
        for _ in 0..STRIDE {
            worked(10).expect("it goes on");
        }
        let asked = asked() - before;
        assert!((9..=10).contains(&asked), "{asked}");
    }
}
