//! What may a step of a running query ask, wherever it runs?
//!
//! A [`Guard`] is what the statement allows: whether it goes on, how much memory is left to it, how deep its
//! expressions are. Kernels get no context from the planner, so the guard is known to the thread: it is set
//! while a query is planned and while one of its batches is made ([`within`]), and goes along with the tasks that
//! the planner's library starts ([`carry`]).
//!
//! Thread safety: shared by all tasks of a query.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use datafusion::common::Result;
use datafusion::common::runtime::{JoinSetTracer, set_join_set_tracer};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use onlap_base::stop;
use parking_lot::Mutex;

use super::scan::external;
use super::width;
use crate::deep::{self, Depth};
use crate::scope::Scope;

/// What a statement allows to those who work for it.
pub struct Guard {
    scope: Arc<Scope>,
    memory: Arc<dyn MemoryPool>,
    depth: Depth,
    /// What the last results of calls take, by the call's number.
    held: Mutex<HashMap<usize, MemoryReservation>>,
    /// Bytes of the widest row that a call has given, on average over a batch.
    widest: AtomicU64,
    /// Bytes of a row that is too wide for batches of as many rows as there are; 0 for none.
    too_wide: AtomicU64,
    /// Whether the query has given rows, and cannot begin anew.
    given: AtomicBool,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Guard>>> = const { RefCell::new(None) };
    static PLANNING: Cell<bool> = const { Cell::new(false) };
}

impl Guard {
    /// Of a query in this scope, which takes its memory from this pool.
    pub fn new(scope: &Arc<Scope>, memory: &Arc<dyn MemoryPool>, depth: Depth) -> Arc<Guard> {
        let (scope, memory) = (Arc::clone(scope), Arc::clone(memory));
        let (held, widest, too_wide) = (Mutex::default(), AtomicU64::new(0), AtomicU64::new(0));
        let given = AtomicBool::new(false);
        Arc::new(Guard { scope, memory, depth, held, widest, too_wide, given })
    }

    /// Notes that the query has given rows.
    pub fn has_given(&self) {
        self.given.store(true, Ordering::Relaxed);
    }

    /// Bytes of the row for which the query has ended, if that was what it ended for; asked once.
    pub fn take_too_wide(&self) -> Option<u64> {
        Some(self.too_wide.swap(0, Ordering::Relaxed)).filter(|width| *width > 0)
    }

    /// Charges the result of a call, `bytes` long, in the place of the same call's last one: a step asks for its
    /// next batch when it has passed on the last.
    fn hold(&self, call: usize, bytes: usize) -> Result<()> {
        let mut held = self.held.lock();
        let reservation = held
            .entry(call)
            .or_insert_with(|| MemoryConsumer::new("results of functions").register(&self.memory));
        reservation.try_resize(bytes)
    }
}

/// Runs for a statement, on a stack that holds its trees.
pub fn within<T>(guard: &Arc<Guard>, f: impl FnOnce() -> T) -> T {
    struct Back(Option<Arc<Guard>>);
    impl Drop for Back {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }
    let _back = Back(CURRENT.replace(Some(Arc::clone(guard))));
    let _stop = stop::within(guard.scope.stop());
    deep::run(guard.depth, f)
}

/// Plans for a statement: what is calculated meanwhile becomes a constant of the plan.
pub fn planning<T>(f: impl FnOnce() -> T) -> T {
    struct Back(bool);
    impl Drop for Back {
        fn drop(&mut self) {
            PLANNING.set(self.0);
        }
    }
    let _back = Back(PLANNING.replace(true));
    f()
}

/// Whether this thread plans.
pub fn is_planning() -> bool {
    PLANNING.get()
}

fn current() -> Option<Arc<Guard>> {
    CURRENT.with_borrow(Option::clone)
}

/// Fails when the statement that this thread works for is to end.
///
/// # Errors
/// `57014`.
pub fn go_on() -> Result<()> {
    CURRENT.with_borrow(|guard| match guard {
        Some(guard) => guard.scope.go_on().map_err(external),
        None => Ok(()),
    })
}

/// The same for what a planned query holds, which ends where the process has no room for it.
///
/// # Errors
/// `57014`; `53200`.
pub fn plan_goes_on() -> Result<()> {
    CURRENT.with_borrow(|guard| match guard {
        Some(guard) => guard.scope.plan_goes_on().map_err(external),
        None => Ok(()),
    })
}

/// Ends the query, for it to begin anew with smaller batches, where so many rows of this width are too much for one.
///
/// # Errors
/// `53200`.
pub fn repeats(width: u64, rows: u64) -> Result<()> {
    CURRENT.with_borrow(|guard| match guard {
        Some(guard)
            if width.saturating_mul(rows) > width::BATCH_BYTES
                && rows > 1
                && !guard.given.load(Ordering::Relaxed) =>
        {
            guard.too_wide.fetch_max(width, Ordering::Relaxed);
            Err(external(guard.scope.room().refusal()))
        }
        _ => Ok(()),
    })
}

/// Charges the result of a call to the statement that this thread works for.
///
/// # Errors
/// `53200`.
pub fn hold(call: usize, bytes: usize) -> Result<()> {
    CURRENT.with_borrow(|guard| match guard {
        Some(guard) => guard.hold(call, bytes),
        None => Ok(()),
    })
}

/// Notes how many bytes a call gives for each row.
pub fn wide(bytes: u64) {
    CURRENT.with_borrow(|guard| {
        if let Some(guard) = guard {
            guard.widest.fetch_max(bytes, Ordering::Relaxed);
        }
    });
}

/// Bytes of the widest row that calls of this thread's statement have given.
pub fn widest() -> u64 {
    CURRENT.with_borrow(|guard| guard.as_ref().map_or(0, |g| g.widest.load(Ordering::Relaxed)))
}

/// Lets tasks of the planner's library have the guard of what starts them; once for the process.
pub fn carry() {
    // Fails where it was done before, which is what is wanted.
    let _ = set_join_set_tracer(&Carrier);
}

struct Carrier;

type Task = Pin<Box<dyn Future<Output = Box<dyn Any + Send>> + Send>>;

/// A task that runs for a statement.
struct Carried {
    guard: Arc<Guard>,
    task: Task,
}

impl Future for Carried {
    type Output = Box<dyn Any + Send>;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Carried { guard, task } = &mut *self;
        within(guard, || task.as_mut().poll(context))
    }
}

impl JoinSetTracer for Carrier {
    fn trace_future(&self, task: Task) -> Task {
        match current() {
            Some(guard) => Box::pin(Carried { guard, task }),
            None => task,
        }
    }
    fn trace_block(
        &self,
        f: Box<dyn FnOnce() -> Box<dyn Any + Send> + Send>,
    ) -> Box<dyn FnOnce() -> Box<dyn Any + Send> + Send> {
        match current() {
            Some(guard) => Box::new(move || within(&guard, f)),
            None => f,
        }
    }
}
